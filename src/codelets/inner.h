/* inner.h - sums of products of two tensors: y[o] = sum_k A[a(o) + sa(k)] B[b(o) + sb(k)]. Matrix products and Einsum are
 * such. With one operand B is the number 1. */
#ifndef BPG_INNER_H
#define BPG_INNER_H

#include "codelets/family.h"

struct bpg_inner {
	int64_t count;            /* products of one output element */
	int64_t *step[2];         /* [count] */
	int axes;                 /* of the output; strides in the operands */
	int64_t dim[BPG_MAX_RANK], stride[2][BPG_MAX_RANK];
};

/* Sets v->attr, the output shape and type. Matrix product as numpy has it: operands of rank 1 are a row (left) or a
 * column (right), leading axes broadcast. */
enum bpg_status bpg_inner_matmul(const struct bpg_import *im, struct bpg_node *v);
/* Einstein sum of one or two operands; repeated labels and an ellipsis are understood. */
enum bpg_status bpg_inner_einsum(const struct bpg_import *im, struct bpg_node *v);

/* First elements that output element i reads. */
static inline void bpg_inner_start(const struct bpg_inner *g, int64_t i, int64_t at[2])
{
	at[0] = at[1] = 0;
	for (int a = g->axes - 1; a >= 0; a--) {
		int64_t x = i % g->dim[a];
		i /= g->dim[a];
		at[0] += x * g->stride[0][a];
		at[1] += x * g->stride[1][a];
	}
}

/* A random Einsum node of one or two operands. */
void bpg_inner_sample_einsum(struct bpg_rng *rng, struct bpg_sample *s, int operands, bool left_constant, bool right_constant);

#endif
