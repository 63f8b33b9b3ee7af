/* gather_terms.h - sparse terms by the column that they add to. The CPU scatters a tile's columns in rising order; who gathers in
 * the order of these lists makes the same sums. */
#ifndef BPG_GATHER_TERMS_H
#define BPG_GATHER_TERMS_H

#include "codelets/tasks.h"

/* Terms of column c: first[c] .. first[c+1]-1. */
struct bpg_gather_terms {
	int64_t columns, *first;
	struct bpg_plane_term *term;
};

/* Of terms that n source columns have, first[j] .. first[j+1]-1 of column j, with target columns: those of each target, with
 * source columns, in rising order. False when memory is short; bpg_gather_terms_fini is called in any case. */
bool bpg_gather_terms_turn(struct bpg_gather_terms *to, int64_t n, const int64_t *first, const struct bpg_plane_term *term,
                           int64_t targets);
/* Of a map, as bpg_task_map adds them (coefficients are `lower`). */
bool bpg_gather_terms_map(struct bpg_gather_terms *to, const struct bpg_arg_map *m);
void bpg_gather_terms_fini(struct bpg_gather_terms *t);

#endif
