/* progress.h - how far a run is, for people: on standard error alone. */
#ifndef BPG_PROGRESS_H
#define BPG_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/progress.h"

struct bpg_progress {
	bool live;                /* one line that is rewritten; else lines one below the other */
	bool plain, shown;
	double start, next, searching; /* searching: when the search began, 0: it has not */
	int64_t domains;          /* there were then */
	int node, iteration;      /* where the rate of iterations is counted from, at `since` */
	double since;
};

/* live: a line on a terminal, if standard error is one. plain: lines, where it is none. */
void bpg_progress_start(struct bpg_progress *p, bool live, bool plain);
/* Takes a struct bpg_progress_point. Prints at most ten times a second. */
bpg_progress_fn bpg_progress_step;
/* A search: domains decided on, waiting and their bytes in memory and on disk, the worst of their bounds, depth reached. */
void bpg_progress_search(void *progress, int64_t domains, int64_t waiting, double worst, int depth, size_t bytes, size_t spilled);
/* Takes the live line away. */
void bpg_progress_end(struct bpg_progress *p);

#endif
