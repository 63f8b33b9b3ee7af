/* pool.c - see pool.h. Blocks of a size class (eighths of a power of two) are chained; fresh pages cost more than all
 * else about a tile, so a freed block is reused while it is warm. Large blocks come straight from the system and return
 * there. */
#include "rt/pool.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

enum { CLASSES = 512, LARGE = 1 << 20 };

struct block {
	struct block *next;
};

struct bpg_pool {
	pthread_mutex_t lock;
	size_t keep, kept, used, most;
	bool tight;
	bpg_pool_pin_fn *pin, *unpin;
	struct block *first[CLASSES];
};

/* Size class of a request, and its size: 64 bytes, then eight steps for each power of two. */
static int class_of(size_t bytes, size_t *size)
{
	size_t n = bytes < 64 ? 64 : bytes;
	int e = 63 - __builtin_clzll(n);
	size_t step = (size_t)1 << (e > 3 ? e - 3 : 0);
	size_t rounded = (n + step - 1) & ~(step - 1);

	rounded = (rounded + 63) & ~(size_t)63;
	*size = rounded;
	e = 63 - __builtin_clzll(rounded);
	return (e - 6) * 8 + (int)((rounded >> (e - 3)) & 7);
}

static size_t size_of_class(int c)
{
	return (size_t)(8 + c % 8) << (c / 8 + 6 - 3);
}

struct bpg_pool *bpg_pool_new(size_t keep, bool tight)
{
	struct bpg_pool *pool = calloc(1, sizeof *pool);

	if (pool) {
		pthread_mutex_init(&pool->lock, NULL);
		pool->keep = keep;
		pool->tight = tight;
	}
	return pool;
}

static void *fresh(const struct bpg_pool *pool, size_t size)
{
	if (size < LARGE)
		return aligned_alloc(64, size);
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return NULL;
	madvise(p, size, MADV_HUGEPAGE);
	if (pool->pin)
		pool->pin(p, size);
	return p;
}

static void give_back(const struct bpg_pool *pool, void *p, size_t size)
{
	if (size < LARGE) {
		free(p);
		return;
	}
	if (pool->unpin)
		pool->unpin(p, size);
	munmap(p, size);
}

static void give_all_back(struct bpg_pool *pool)
{
	for (int c = 0; c < CLASSES; c++)
		while (pool->first[c]) {
			struct block *b = pool->first[c];
			pool->first[c] = b->next;
			give_back(pool, b, size_of_class(c));
		}
	pool->kept = 0;
}

void bpg_pool_pin(struct bpg_pool *pool, bpg_pool_pin_fn *pin, bpg_pool_pin_fn *unpin)
{
	pthread_mutex_lock(&pool->lock);
	give_all_back(pool);
	pool->pin = pin;
	pool->unpin = unpin;
	pthread_mutex_unlock(&pool->lock);
}

void bpg_pool_free(struct bpg_pool *pool)
{
	if (!pool)
		return;
	give_all_back(pool);
	pthread_mutex_destroy(&pool->lock);
	free(pool);
}

/* Gives free blocks back until as many bytes are in use or kept as were in use at most. */
static void trim(struct bpg_pool *pool)
{
	for (int c = CLASSES - 1; c >= 0; c--)
		while (pool->first[c] && pool->used + pool->kept > pool->most) {
			struct block *b = pool->first[c];
			pool->first[c] = b->next;
			pool->kept -= size_of_class(c);
			give_back(pool, b, size_of_class(c));
		}
}

void *bpg_pool_get(struct bpg_pool *pool, size_t bytes)
{
	size_t size;
	int c = class_of(bytes, &size);
	struct block *b;

	pthread_mutex_lock(&pool->lock);
	b = pool->first[c];
	if (b) {
		pool->first[c] = b->next;
		pool->kept -= size;
	}
	pool->used += size;
	pool->most = pool->used > pool->most ? pool->used : pool->most;
	if (!b && pool->tight)
		trim(pool);
	pthread_mutex_unlock(&pool->lock);
	return b ? b : fresh(pool, size);
}

void bpg_pool_put(struct bpg_pool *pool, void *p, size_t bytes)
{
	size_t size;
	int c = class_of(bytes, &size);
	int keep = 0;

	pthread_mutex_lock(&pool->lock);
	pool->used -= size;
	if (pool->kept + size <= pool->keep) {
		struct block *b = p;
		b->next = pool->first[c];
		pool->first[c] = b;
		pool->kept += size;
		keep = 1;
	}
	pthread_mutex_unlock(&pool->lock);
	if (!keep)
		give_back(pool, p, size);
}
