/* checkpoint.h - a decision that is saved while it goes on, and gone on with later.
 *
 * A checkpoint holds which boxes of the property are settled, and the search of the one that is at work: every domain that waits or is
 * being bounded, and for splits of neurons their parameters. It is written beside the old one, flushed to the disk, and takes its place
 * whole; a sum over all of it tells a torn one. Only the question it was made for can go on from it (fingerprint.h). */
#ifndef BPG_CHECKPOINT_H
#define BPG_CHECKPOINT_H

#include "bab/record.h"
#include "bab/search.h"

/* How far a decision is. */
struct bpg_position {
	int64_t first;            /* disjunct; those before it are settled, or given up */
	bool attacked, unsure;    /* the attack is over; see bpg_witness */
	bool all;                 /* all before `first` are refuted */
	int64_t domains;          /* of their searches */
	int64_t rows;             /* of the disjuncts before `first` */
	const double *lower, *upper; /* [rows] of the caller, not changed any more */
};

struct bpg_saver_options {
	const char *path;
	double every;             /* seconds; sooner at the beginning */
	uint64_t fingerprint;
	const volatile int *interrupt; /* not zero: the run ends by an interrupt; null: never */
};

/* Writes a first checkpoint, then one as often as asked, from a thread of its own. The position may be changed with
 * bpg_saver_position alone. search: that of the position, until it is at work again; null: none. BPG_EFILE: it cannot be written. */
enum bpg_status bpg_saver_start(struct bpg_ctx *ctx, const struct bpg_saver_options *options, const struct bpg_position *position,
                                const struct bpg_snapshot *search, struct bpg_saver **saver);
/* All of these may be called with a null saver. */
void bpg_saver_position(struct bpg_saver *saver, const struct bpg_position *position);
/* The search that is at work; null: none is. The one of the start is not needed any more. */
void bpg_saver_search(struct bpg_saver *saver, struct bpg_searching *search);
/* One more and no other, as the run is about to end early; out of time only where it takes no time to speak of. The first call counts. */
void bpg_saver_last(struct bpg_saver *saver);
/* Ends the thread. The last failure to write, if nothing could be written after it. */
enum bpg_status bpg_saver_stop(struct bpg_ctx *ctx, struct bpg_saver *saver);

struct bpg_resume {
	int64_t first, rows, domains;
	bool attacked, unsure, all;
	struct bpg_snapshot *search; /* null: none was at work. The caller's */
};

/* Reads a checkpoint. lower, upper: [rows], the first resume->rows are written. BPG_EFILE: torn, or of another question. */
enum bpg_status bpg_resume_read(struct bpg_ctx *ctx, const char *path, uint64_t fingerprint, int64_t rows, double *lower, double *upper,
                                struct bpg_resume *resume);

#endif
