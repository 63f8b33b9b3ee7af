/* layer_concat.c - operands one after the other along an axis; each variable or constant. */
#include "codelets/family.h"

struct concat {
	int64_t inner;            /* elements behind one index of the axis */
	int64_t *first;           /* [nin + 1] index on the axis where an operand begins */
};

static enum bpg_status concat_import(const struct bpg_import *im, struct bpg_node *v)
{
	if (v->nin < 1)
		return bpg_import_fail(im, BPG_EFILE, "no operands");
	BPG_TRY(bpg_import_operands(im, v, v->nin, v->nin));
	struct concat *g = bpg_import_alloc(im, 1, sizeof *g);
	if (!g || !(g->first = bpg_import_alloc(im, (size_t)v->nin + 1, sizeof *g->first)))
		return bpg_import_fail(im, BPG_ENOMEM, "not enough memory");
	v->attr = g;
	const struct bpg_shape *in = &v->in[0].shape;
	int axis;
	BPG_TRY(bpg_import_axis(im, bpg_import_int(im, "axis", 1), in->rank, &axis));
	v->out.shape = *in;
	for (int k = 0; k < v->nin; k++) {
		struct bpg_shape part = v->in[k].shape;
		if (part.rank == in->rank) {
			g->first[k + 1] = g->first[k] + part.dim[axis];
			part.dim[axis] = in->dim[axis];
		}
		if (!bpg_shape_equal(&part, in) || g->first[k + 1] > (int64_t)1 << 40)
			return bpg_import_fail(im, BPG_EFILE, "operand %d does not fit the others", k);
	}
	v->out.shape.dim[axis] = g->first[v->nin];
	g->inner = 1;
	for (int a = axis + 1; a < in->rank; a++)
		g->inner *= in->dim[a];
	v->out.type = bpg_common_type(v, 0, v->nin - 1);
	return bpg_import_pin(im, v);
}

static void concat_terms(const struct bpg_node *v, int64_t i, struct bpg_terms *t)
{
	const struct concat *g = v->attr;
	int64_t all = g->first[v->nin], inner = i % g->inner, at = i / g->inner % all, outer = i / g->inner / all;
	int low = 0, high = v->nin;   /* operands low .. high-1 may hold it */
	while (high - low > 1) {
		int middle = (low + high) / 2;
		if (at < g->first[middle])
			high = middle;
		else
			low = middle;
	}
	int64_t size = g->first[low + 1] - g->first[low];
	bpg_terms_take(v, t, low, (outer * size + at - g->first[low]) * g->inner + inner);
}

static void concat_sample(struct bpg_rng *rng, struct bpg_sample *s)
{
	int64_t dim[3];
	int rank = 1 + (int)bpg_rng_below(rng, 3), parts = 1 + (int)bpg_rng_below(rng, 4), axis = (int)bpg_rng_below(rng, rank);
	for (int i = 0; i < 3; i++)
		dim[i] = 1 + bpg_rng_below(rng, 4);
	bpg_sample_op(s, "Concat", 13);
	bpg_sample_int(s, "axis", bpg_rng_below(rng, 2) ? axis : axis - rank);
	for (int k = 0; k < parts; k++) {
		dim[axis] = bpg_rng_below(rng, 4);
		if (k == 0)
			dim[axis]++;
		if (k > 0 && bpg_rng_below(rng, 3) == 0)
			bpg_sample_constant(s, rank, dim, NULL);
		else
			bpg_sample_variable(s, rank, dim);
	}
}

BPG_LINEAR_LAYER(concat, .ops = "Concat", .traits = BPG_SELECT, .import = concat_import, .terms = concat_terms,
                 .sample = concat_sample);
