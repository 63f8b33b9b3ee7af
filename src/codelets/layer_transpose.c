/* layer_transpose.c - axes in another order. */
#include "codelets/strided.h"

static enum bpg_status transpose_import(const struct bpg_import *im, struct bpg_node *v)
{
	struct bpg_strided *map;
	BPG_TRY(bpg_import_operands(im, v, 1, 1));
	BPG_TRY(bpg_strided_import(im, v, &map));
	const struct bpg_shape *in = &v->in[0].shape;
	const int64_t *perm;
	int64_t stride[BPG_MAX_RANK];
	bool used[BPG_MAX_RANK] = { false };
	int n = bpg_import_ints(im, "perm", &perm);
	if (n >= 0 && n != in->rank)
		return bpg_import_fail(im, BPG_EFILE, "attribute 'perm' has %d values for a tensor of rank %d", n, in->rank);
	bpg_shape_strides(in, stride);
	v->out.shape.rank = in->rank;
	for (int a = 0; a < in->rank; a++) {
		int from = in->rank - 1 - a;
		if (n >= 0)
			BPG_TRY(bpg_import_axis(im, perm[a], in->rank, &from));
		if (used[from])
			return bpg_import_fail(im, BPG_EFILE, "attribute 'perm' names axis %d twice", from);
		used[from] = true;
		v->out.shape.dim[a] = in->dim[from];
		map->step[a] = stride[from];
	}
	return BPG_OK;
}

static void transpose_sample(struct bpg_rng *rng, struct bpg_sample *s)
{
	int64_t dim[4], perm[4];
	int rank = (int)bpg_rng_below(rng, 5);
	for (int i = 0; i < rank; i++) {
		int64_t j = bpg_rng_below(rng, i + 1);
		dim[i] = 1 + bpg_rng_below(rng, 4);
		perm[i] = j < i ? perm[j] : i;
		perm[j] = i;
	}
	bpg_sample_op(s, "Transpose", 13);
	if (bpg_rng_below(rng, 4))
		bpg_sample_ints(s, "perm", rank, perm);
	bpg_sample_variable(s, rank, dim);
}

BPG_LINEAR_LAYER(transpose, .ops = "Transpose", .traits = BPG_SELECT, .import = transpose_import, .terms = bpg_strided_terms,
                 .sample = transpose_sample);
