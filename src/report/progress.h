/* progress.h - how far a run is, for people: on standard error alone. */
#ifndef BPG_PROGRESS_H
#define BPG_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct bpg_progress {
	bool live;                /* one line that is rewritten; else lines one below the other */
	bool plain, shown;
	double start, next;
};

/* live: a line on a terminal, if standard error is one. plain: lines, where it is none. */
void bpg_progress_start(struct bpg_progress *p, bool live, bool plain);
/* Node `node` of `nodes` has been begun, `rows` rows have been propagated so far. Prints at most ten times a second. */
void bpg_progress_step(void *progress, int node, int nodes, int64_t rows);
/* Takes the live line away. */
void bpg_progress_end(struct bpg_progress *p);

#endif
