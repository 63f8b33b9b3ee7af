/* progress.h - how far the work is: said by those who do it, shown by report. */
#ifndef BPG_BASE_PROGRESS_H
#define BPG_BASE_PROGRESS_H

#include <stdint.h>

struct bpg_progress_point {
	int node, nodes;          /* node whose rows are bounded; nodes: the rows asked */
	int64_t rows;             /* walked so far, each pass counted */
	int iteration, iterations; /* of these rows; iterations 0: they are not optimised */
	double worst;             /* their least lower bound so far; infinite: not known */
};

typedef void bpg_progress_fn(void *arg, const struct bpg_progress_point *at);

#endif
