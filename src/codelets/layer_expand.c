/* layer_expand.c - the operand broadcast together with a shape. */
#include "codelets/strided.h"

static enum bpg_status expand_import(const struct bpg_import *im, struct bpg_node *v)
{
	struct bpg_strided *map;
	struct bpg_shape wish;
	int64_t stride[BPG_MAX_RANK];
	BPG_TRY(bpg_import_operands(im, v, 2, 2));
	BPG_TRY(bpg_strided_import(im, v, &map));
	const struct bpg_shape *in = &v->in[0].shape;
	BPG_TRY(bpg_import_list(im, v, NULL, 1, wish.dim, BPG_MAX_RANK, &wish.rank));
	for (int i = 0; i < wish.rank; i++)
		if (wish.dim[i] < 0)
			return bpg_import_fail(im, BPG_EFILE, "the shape has a size of %lld", (long long)wish.dim[i]);
	if (!bpg_shape_broadcast(in, &wish, &v->out.shape))
		return bpg_import_fail(im, BPG_EFILE, "the operand does not broadcast to the shape");
	bpg_shape_strides(in, stride);
	for (int a = 0; a < v->out.shape.rank; a++) {
		int from = a - (v->out.shape.rank - in->rank);
		map->step[a] = from >= 0 && in->dim[from] != 1 ? stride[from] : 0;
	}
	return BPG_OK;
}

static void expand_sample(struct bpg_rng *rng, struct bpg_sample *s)
{
	int64_t dim[3], wish[4] = { 1 + bpg_rng_below(rng, 3) };
	int rank = (int)bpg_rng_below(rng, 4), length = (int)bpg_rng_below(rng, 5);
	for (int i = 0; i < 3; i++) {
		int64_t size = 1 + bpg_rng_below(rng, 4);
		dim[i] = bpg_rng_below(rng, 2) ? 1 : size;
		wish[1 + i] = bpg_rng_below(rng, 3) ? size : 1;
	}
	bpg_sample_op(s, "Expand", 13);
	bpg_sample_variable(s, rank, dim + 3 - rank);
	bpg_sample_integers(s, length, wish + 4 - length);
}

BPG_LINEAR_LAYER(expand, .ops = "Expand", .traits = BPG_SELECT, .import = expand_import, .terms = bpg_strided_terms,
                 .sample = expand_sample);
