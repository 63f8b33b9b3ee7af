/* sparse.h - see sparse.c. */
#ifndef BPG_SPARSE_H
#define BPG_SPARSE_H

#include "base/base.h"
#include "codelets/hop.h"

/* The rows of a LINEAR layer, from its terms. Null when memory is short. */
struct bpg_sparse *bpg_sparse_linear(const struct bpg_node *v);
/* The planes of a GENERAL layer on boxes of its operands: l[s * operands + k] is the lower side of operand k in segment s, and
 * element i's row there is s * elements + i. False when memory is short. */
bool bpg_sparse_planes(const struct bpg_node *v, int segments, const double *const *l, const double *const *u, struct bpg_sparse **lower,
                       struct bpg_sparse **upper);
/* Its other planes, where there are finite ones beside those above: other[side] is null where the layer has none, and else has
 * `of`. The same boxes, of one segment, and the same failure. */
bool bpg_sparse_others(const struct bpg_node *v, const double *const *l, const double *const *u, const struct bpg_sparse *lower,
                       const struct bpg_sparse *upper, struct bpg_sparse *other[2]);
void bpg_sparse_free(struct bpg_sparse *s);

#endif
