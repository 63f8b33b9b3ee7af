/* sparse.h - see sparse.c. */
#ifndef BPG_SPARSE_H
#define BPG_SPARSE_H

#include "base/base.h"
#include "codelets/hop.h"

/* The rows of a LINEAR layer, from its terms. Null when memory is short. */
struct bpg_sparse *bpg_sparse_linear(const struct bpg_node *v);
/* The planes of a GENERAL layer on boxes of its operands. False when memory is short. */
bool bpg_sparse_planes(const struct bpg_node *v, const double *const *l, const double *const *u, struct bpg_sparse **lower, struct bpg_sparse **upper);
void bpg_sparse_free(struct bpg_sparse *s);

#endif
