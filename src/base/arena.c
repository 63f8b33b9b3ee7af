/* arena.c - things that live and die together. Blocks double up to 1 MiB; what is large gets a block of its own. */
#include "base/base.h"

#include <stdlib.h>
#include <string.h>

#define ALIGN 64
#define FIRST_BLOCK ((size_t)16 << 10)
#define LAST_BLOCK ((size_t)1 << 20)

struct block {
	struct block *next;
	char *at, *end;           /* what is free in it; at is aligned */
};

struct bpg_arena {
	struct block *blocks;     /* the first one is being filled */
	size_t next_size;
};

struct bpg_arena *bpg_arena_new(void)
{
	struct bpg_arena *arena = bpg_calloc(1, sizeof *arena);
	if (arena)
		arena->next_size = FIRST_BLOCK;
	return arena;
}

void bpg_arena_free(struct bpg_arena *arena)
{
	if (!arena)
		return;
	for (struct block *b = arena->blocks, *next; b; b = next) {
		next = b->next;
		free(b);
	}
	free(arena);
}

/* calloc, so that the pages of large arrays are not touched before they are used. */
static struct block *block_new(size_t size)
{
	if (size > PTRDIFF_MAX - sizeof(struct block) - ALIGN)
		return NULL;
	struct block *b = calloc(1, sizeof *b + ALIGN + size);
	if (!b)
		return NULL;
	uintptr_t at = (uintptr_t)(b + 1);
	b->at = (char *)(b + 1) + (ALIGN - at % ALIGN) % ALIGN;
	b->end = b->at + size;
	return b;
}

/* Puts a new block of at least `size` bytes into the list; a large one behind the one that is being filled. */
static struct block *add_block(struct bpg_arena *arena, size_t size)
{
	bool own = size > arena->next_size / 4;
	struct block *b = block_new(own ? size : arena->next_size);
	if (!b)
		return NULL;
	if (own && arena->blocks) {
		b->next = arena->blocks->next;
		arena->blocks->next = b;
		return b;
	}
	b->next = arena->blocks;
	arena->blocks = b;
	if (!own)
		arena->next_size = BPG_MIN(2 * arena->next_size, LAST_BLOCK);
	return b;
}

void *bpg_arena_alloc(struct bpg_arena *arena, size_t count, size_t size)
{
	if (size && count > (PTRDIFF_MAX - ALIGN) / size)
		return NULL;
	size_t bytes = (count * size + ALIGN - 1) / ALIGN * ALIGN;
	if (!bytes)
		bytes = ALIGN;
	struct block *b = arena->blocks;
	if (!b || (size_t)(b->end - b->at) < bytes)
		b = add_block(arena, bytes);
	if (!b)
		return NULL;
	void *p = b->at;
	b->at += bytes;
	return p;
}

char *bpg_arena_strn(struct bpg_arena *arena, const char *s, size_t n)
{
	if (n == SIZE_MAX)
		return NULL;
	char *copy = bpg_arena_alloc(arena, n + 1, 1);
	if (copy)
		memcpy(copy, s, n);
	return copy;
}

char *bpg_arena_str(struct bpg_arena *arena, const char *s)
{
	return bpg_arena_strn(arena, s, strlen(s));
}
