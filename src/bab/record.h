/* record.h - bytes of a checkpoint: written and read in pieces, with a sum over all of them. */
#ifndef BPG_RECORD_H
#define BPG_RECORD_H

#include <stdio.h>

#include "base/base.h"

/* A change of any single piece changes the sum. */
uint64_t bpg_record_sum(uint64_t sum, const void *data, size_t n);

struct bpg_sink {
	FILE *to;
	uint64_t sum;             /* starts as BPG_HASH_START */
	bool bad;                 /* a write failed; errno says why */
};
/* Each piece takes a multiple of 8 bytes in the file. */
void bpg_put(struct bpg_sink *s, const void *data, size_t n);

struct bpg_source {
	FILE *from;
	int64_t left;             /* bytes that may still be read */
	bool bad;                 /* more was asked for than there is, or what was read makes no sense */
	bool short_of_memory;     /* for what was read */
};
/* False, and zeros, when there is no more; then the source is bad. */
bool bpg_get(struct bpg_source *s, void *data, size_t n);
/* Whether `count` things of `size` bytes may still come: to be asked before memory is taken for them. */
bool bpg_get_room(struct bpg_source *s, int64_t count, size_t size);

#endif
