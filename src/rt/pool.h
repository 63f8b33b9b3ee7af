/* pool.h - memory of temporary tiles: aligned, kept for reuse by size, given back beyond a limit. */
#ifndef BPG_POOL_H
#define BPG_POOL_H

#include <stdbool.h>
#include <stddef.h>

struct bpg_pool;

/* `keep`: bytes of free blocks that are kept at most. tight: and no more than were in use at once together with those in use: free
 * blocks of other sizes are given back before a new one is taken. */
struct bpg_pool *bpg_pool_new(size_t keep, bool tight);
void bpg_pool_free(struct bpg_pool *pool);
/* Large blocks are pinned from now on, so that devices read and write them by themselves; null: no more. Blocks that are free are given
 * back first. */
typedef int bpg_pool_pin_fn(void *p, size_t bytes);
void bpg_pool_pin(struct bpg_pool *pool, bpg_pool_pin_fn *pin, bpg_pool_pin_fn *unpin);
/* 64-byte aligned; content undefined. Null when memory is short. */
void *bpg_pool_get(struct bpg_pool *pool, size_t bytes);
void bpg_pool_put(struct bpg_pool *pool, void *p, size_t bytes);

#endif
