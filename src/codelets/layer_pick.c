/* layer_pick.c - GatherElements and GatherND: elements (or slices) of the operand, each chosen by constant indices. */
#include <string.h>

#include "codelets/family.h"

struct pick {
	int64_t inner;            /* elements that follow a chosen one */
	int64_t *from;            /* [chosen] element */
};

static enum bpg_status read_index(const struct bpg_import *im, const struct bpg_node *v, int64_t i, int64_t size, int64_t *to)
{
	double x = bpg_const_at(v->in[1].value, i);
	if (!(x >= -(double)size && x < (double)size))
		return bpg_import_fail(im, BPG_EFILE, "index %g is outside an axis of size %lld", x, (long long)size);
	*to = (int64_t)x < 0 ? (int64_t)x + size : (int64_t)x;
	return BPG_OK;
}

/* The output has the shape of the indices; each replaces the position on one axis. */
static enum bpg_status import_elements(const struct bpg_import *im, struct bpg_node *v, struct pick *g)
{
	const struct bpg_shape *in = &v->in[0].shape, *at = &v->in[1].shape;
	int64_t stride[BPG_MAX_RANK];
	int axis;
	if (in->rank != at->rank)
		return bpg_import_fail(im, BPG_EFILE, "the indices have rank %d, the operand %d", at->rank, in->rank);
	BPG_TRY(bpg_import_axis(im, bpg_import_int(im, "axis", 0), in->rank, &axis));
	for (int a = 0; a < in->rank; a++)
		if (a != axis && at->dim[a] > in->dim[a])
			return bpg_import_fail(im, BPG_EFILE, "the indices are larger than the operand on axis %d", a);
	bpg_shape_strides(in, stride);
	g->inner = 1;
	v->out.shape = *at;
	for (int64_t i = 0; i < v->in[1].n; i++) {
		int64_t rest = i, k;
		BPG_TRY(read_index(im, v, i, in->dim[axis], &k));
		for (int a = at->rank - 1; a >= 0; a--) {
			g->from[i] += (a == axis ? k : rest % at->dim[a]) * stride[a];
			rest /= at->dim[a];
		}
	}
	return BPG_OK;
}

/* The last axis of the indices holds a position on the axes that follow the batch. */
static enum bpg_status import_nd(const struct bpg_import *im, struct bpg_node *v, struct pick *g)
{
	const struct bpg_shape *in = &v->in[0].shape, *at = &v->in[1].shape;
	struct bpg_shape *out = &v->out.shape;
	int64_t stride[BPG_MAX_RANK], batch = 1, given = bpg_import_int(im, "batch_dims", 0);
	int64_t depth = at->rank > 0 ? at->dim[at->rank - 1] : 0;
	if (given < 0 || given >= at->rank || depth < 1 || given > in->rank || depth > in->rank - given ||
	    at->rank - 1 + in->rank - given - depth > BPG_MAX_RANK)
		return bpg_import_fail(im, BPG_EFILE, "indices of rank %d and depth %lld do not fit an operand of rank %d",
		                       at->rank, (long long)depth, in->rank);
	bpg_shape_strides(in, stride);
	out->rank = 0;
	for (int a = 0; a < at->rank - 1; a++)
		out->dim[out->rank++] = at->dim[a];
	for (int a = 0; a < given; a++) {
		if (at->dim[a] != in->dim[a])
			return bpg_import_fail(im, BPG_EFILE, "the batch axes of indices and operand differ");
		batch *= in->dim[a];
	}
	g->inner = 1;
	for (int a = (int)(given + depth); a < in->rank; a++) {
		out->dim[out->rank++] = in->dim[a];
		g->inner *= in->dim[a];
	}
	int64_t chosen = v->in[1].n / depth, in_batch = v->in[0].n / (batch ? batch : 1);
	for (int64_t i = 0; i < chosen; i++) {
		g->from[i] = batch ? i / (chosen / batch) * in_batch : 0;
		for (int64_t a = 0; a < depth; a++) {
			int64_t k;
			BPG_TRY(read_index(im, v, i * depth + a, in->dim[given + a], &k));
			g->from[i] += k * stride[given + a];
		}
	}
	return BPG_OK;
}

static enum bpg_status pick_import(const struct bpg_import *im, struct bpg_node *v)
{
	BPG_TRY(bpg_import_operands(im, v, 2, 2));
	BPG_TRY(bpg_import_constant(im, v, 1, "the indices"));
	struct pick *g = bpg_import_alloc(im, 1, sizeof *g);
	if (!g || !(g->from = bpg_import_alloc(im, (size_t)v->in[1].n + 1, sizeof *g->from)))
		return bpg_import_fail(im, BPG_ENOMEM, "not enough memory");
	v->attr = g;
	v->out.type = v->in[0].type;
	return !strcmp(v->op, "GatherND") ? import_nd(im, v, g) : import_elements(im, v, g);
}

static void pick_terms(const struct bpg_node *v, int64_t i, struct bpg_terms *t)
{
	const struct pick *g = v->attr;
	bpg_terms_take(v, t, 0, g->from[i / g->inner] + i % g->inner);
}

static void pick_sample(struct bpg_rng *rng, struct bpg_sample *s)
{
	int64_t dim[3], at[3];
	double index[64];
	int axis = (int)bpg_rng_below(rng, 3), depth = 1 + (int)bpg_rng_below(rng, 3);
	for (int a = 0; a < 3; a++) {
		dim[a] = 1 + bpg_rng_below(rng, 4);
		at[a] = 1 + bpg_rng_below(rng, a == axis ? 4 : dim[a]);
	}
	bool nd = bpg_rng_below(rng, 2);
	bpg_sample_op(s, nd ? "GatherND" : "GatherElements", 13);
	bpg_sample_variable(s, 3, dim);
	if (nd) {
		at[1] = depth;
		for (int i = 0; i < at[0] * depth; i++)
			index[i] = (double)(bpg_rng_below(rng, 2 * dim[i % depth]) - dim[i % depth]);
		bpg_sample_constant(s, 2, at, index);
		return;
	}
	bpg_sample_int(s, "axis", bpg_rng_below(rng, 2) ? axis : axis - 3);
	for (int i = 0; i < at[0] * at[1] * at[2]; i++)
		index[i] = (double)(bpg_rng_below(rng, 2 * dim[axis]) - dim[axis]);
	bpg_sample_constant(s, 3, at, index);
}

BPG_LINEAR_LAYER(pick, .ops = "GatherElements GatherND", .traits = BPG_SELECT, .import = pick_import, .terms = pick_terms,
                 .sample = pick_sample);
