/* spill.h - domains that wait on disk while memory is short: a temporary file of chunks.
 *
 * The file has no name, so it goes with the process. A chunk is written once, is read by whoever holds it, and its place is taken by
 * others when nobody does. Safe for several threads. */
#ifndef BPG_SPILL_H
#define BPG_SPILL_H

#include "bab/frontier.h"

struct bpg_spill;

/* A file in `folder`; null: TMPDIR's, or /tmp. `now`: it is made at once, so that a folder that cannot be written to is known before any
 * work; else when it is first needed. BPG_EFILE. */
enum bpg_status bpg_spill_new(struct bpg_ctx *ctx, const char *folder, bool now, struct bpg_spill **spill);
/* When no chunk is held any more. */
void bpg_spill_free(struct bpg_spill *spill);
/* One line about the first failure to write or to read. */
const char *bpg_spill_message(const struct bpg_spill *spill);
/* Bytes of the file that were in use at most. */
size_t bpg_spill_peak(struct bpg_spill *spill);

struct bpg_chunk {
	atomic_int holders;
	struct bpg_spill *spill;
	int64_t at;               /* in the file */
	size_t bytes;
	uint64_t sum;             /* of its words */
	int64_t count;            /* domains */
	double bound;             /* of the one that comes first, and its number */
	int64_t number;
};

/* Writes domains, in order, which stay the caller's. Held once. Null: it cannot be written, or memory is short. */
struct bpg_chunk *bpg_chunk_write(struct bpg_spill *spill, struct bpg_domain *const *d, int64_t count);
/* d: [chunk->count] written, each held once. False, and nothing written: it cannot be read, is not what was written, or memory is short. */
bool bpg_chunk_read(const struct bpg_chunk *chunk, struct bpg_domain **d);
void bpg_chunk_hold(struct bpg_chunk *chunk);
void bpg_chunk_drop(struct bpg_chunk *chunk);

#endif
