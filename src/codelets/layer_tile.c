/* layer_tile.c - the operand repeated along its axes. */
#include "codelets/family.h"

static enum bpg_status tile_import(const struct bpg_import *im, struct bpg_node *v)
{
	int64_t repeats[BPG_MAX_RANK];
	int count;
	BPG_TRY(bpg_import_operands(im, v, 2, 2));
	BPG_TRY(bpg_import_list(im, v, NULL, 1, repeats, BPG_MAX_RANK, &count));
	v->out.shape = v->in[0].shape;
	v->out.type = v->in[0].type;
	if (count != v->out.shape.rank)
		return bpg_import_fail(im, BPG_EFILE, "%d repeats for a tensor of rank %d", count, v->out.shape.rank);
	for (int a = 0; a < count; a++) {
		v->out.shape.dim[a] = bpg_size_mul(v->out.shape.dim[a], repeats[a]);
		if (v->out.shape.dim[a] < 0)
			return bpg_import_fail(im, BPG_EFILE, "axis %d is repeated %lld times", a, (long long)repeats[a]);
	}
	return BPG_OK;
}

static void tile_terms(const struct bpg_node *v, int64_t i, struct bpg_terms *t)
{
	const struct bpg_shape *in = &v->in[0].shape, *out = &v->out.shape;
	int64_t at = 0, stride = 1;
	for (int a = out->rank - 1; a >= 0; a--) {
		at += i % out->dim[a] % in->dim[a] * stride;
		i /= out->dim[a];
		stride *= in->dim[a];
	}
	bpg_terms_take(v, t, 0, at);
}

static void tile_sample(struct bpg_rng *rng, struct bpg_sample *s)
{
	int64_t dim[3], repeats[3];
	int rank = 1 + (int)bpg_rng_below(rng, 3);
	for (int i = 0; i < rank; i++) {
		dim[i] = 1 + bpg_rng_below(rng, 3);
		repeats[i] = 1 + bpg_rng_below(rng, 3);
	}
	bpg_sample_op(s, "Tile", 13);
	bpg_sample_variable(s, rank, dim);
	bpg_sample_integers(s, rank, repeats);
}

BPG_LINEAR_LAYER(tile, .ops = "Tile", .traits = BPG_SELECT, .import = tile_import, .terms = tile_terms, .sample = tile_sample);
