/* layer_gather.c - slices of the operand along an axis, chosen by constant indices. */
#include "codelets/family.h"

struct gather {
	int64_t inner, size, count;
	int64_t *index;           /* [count], 0 .. size-1 */
};

static enum bpg_status gather_import(const struct bpg_import *im, struct bpg_node *v)
{
	BPG_TRY(bpg_import_operands(im, v, 2, 2));
	BPG_TRY(bpg_import_constant(im, v, 1, "the indices"));
	const struct bpg_shape *in = &v->in[0].shape, *at = &v->in[1].shape;
	struct gather *g = bpg_import_alloc(im, 1, sizeof *g);
	if (!g || !(g->index = bpg_import_alloc(im, (size_t)v->in[1].n + 1, sizeof *g->index)))
		return bpg_import_fail(im, BPG_ENOMEM, "not enough memory");
	v->attr = g;
	int axis;
	BPG_TRY(bpg_import_axis(im, bpg_import_int(im, "axis", 0), in->rank, &axis));
	if (in->rank - 1 + at->rank > BPG_MAX_RANK)
		return bpg_import_fail(im, BPG_EUNSUPPORTED, "the output has rank %d, at most %d is supported", in->rank - 1 + at->rank,
		                       BPG_MAX_RANK);
	g->size = in->dim[axis];
	g->count = v->in[1].n;
	for (int64_t i = 0; i < g->count; i++) {
		double x = bpg_const_at(v->in[1].value, i);
		if (!(x >= -(double)g->size && x < (double)g->size))
			return bpg_import_fail(im, BPG_EFILE, "index %g is outside an axis of size %lld", x, (long long)g->size);
		g->index[i] = (int64_t)x < 0 ? (int64_t)x + g->size : (int64_t)x;
	}
	struct bpg_shape *out = &v->out.shape;
	out->rank = 0;
	for (int a = 0; a < axis; a++)
		out->dim[out->rank++] = in->dim[a];
	for (int a = 0; a < at->rank; a++)
		out->dim[out->rank++] = at->dim[a];
	g->inner = 1;
	for (int a = axis + 1; a < in->rank; a++) {
		out->dim[out->rank++] = in->dim[a];
		g->inner *= in->dim[a];
	}
	v->out.type = v->in[0].type;
	return BPG_OK;
}

static void gather_terms(const struct bpg_node *v, int64_t i, struct bpg_terms *t)
{
	const struct gather *g = v->attr;
	int64_t inner = i % g->inner, k = i / g->inner % g->count, outer = i / g->inner / g->count;
	bpg_terms_take(v, t, 0, (outer * g->size + g->index[k]) * g->inner + inner);
}

static void gather_sample(struct bpg_rng *rng, struct bpg_sample *s)
{
	int64_t dim[3], index[4];
	int rank = 1 + (int)bpg_rng_below(rng, 3), axis = (int)bpg_rng_below(rng, rank), count = 1 + (int)bpg_rng_below(rng, 4);
	for (int i = 0; i < 3; i++)
		dim[i] = 1 + bpg_rng_below(rng, 4);
	for (int i = 0; i < count; i++)
		index[i] = bpg_rng_below(rng, 2 * dim[axis]) - dim[axis];
	bpg_sample_op(s, "Gather", 13);
	bpg_sample_int(s, "axis", bpg_rng_below(rng, 2) ? axis : axis - rank);
	bpg_sample_variable(s, rank, dim);
	if (bpg_rng_below(rng, 3))
		bpg_sample_integers(s, count, index);
	else
		bpg_sample_integers(s, -1, index);
}

BPG_LINEAR_LAYER(gather, .ops = "Gather", .traits = BPG_SELECT, .import = gather_import, .terms = gather_terms,
                 .sample = gather_sample);
