/* layer_scatter.c - ScatterND, ScatterElements, Scatter: the operand with some elements replaced by updates, or with updates
 * added, at constant indices. Where an element is replaced twice the last update stays, as in runtimes that run in order. */
#include <string.h>

#include "codelets/family.h"

/* Updates of one output element are a list: `head`, then `next`; -1 ends it. */
struct scatter {
	bool add;
	int64_t *head, *next;     /* [outputs], [updates] */
};

static enum bpg_status read_index(const struct bpg_import *im, const struct bpg_node *v, int64_t i, int64_t size, int64_t *to)
{
	double x = bpg_const_at(v->in[1].value, i);
	if (!(x >= -(double)size && x < (double)size))
		return bpg_import_fail(im, BPG_EFILE, "index %g is outside an axis of size %lld", x, (long long)size);
	*to = (int64_t)x < 0 ? (int64_t)x + size : (int64_t)x;
	return BPG_OK;
}

static void link_update(struct scatter *g, int64_t update, int64_t at)
{
	g->next[update] = g->add ? g->head[at] : -1;
	g->head[at] = update;
}

/* Updates and indices have one shape; each index replaces the position on one axis. */
static enum bpg_status place_elements(const struct bpg_import *im, struct bpg_node *v, struct scatter *g)
{
	const struct bpg_shape *in = &v->in[0].shape, *at = &v->in[1].shape;
	int64_t stride[BPG_MAX_RANK];
	int axis;
	if (in->rank != at->rank || !bpg_shape_equal(at, &v->in[2].shape))
		return bpg_import_fail(im, BPG_EFILE, "the shapes of operand, indices and updates do not fit");
	BPG_TRY(bpg_import_axis(im, bpg_import_int(im, "axis", 0), in->rank, &axis));
	for (int a = 0; a < in->rank; a++)
		if (a != axis && at->dim[a] > in->dim[a])
			return bpg_import_fail(im, BPG_EFILE, "the indices are larger than the operand on axis %d", a);
	bpg_shape_strides(in, stride);
	for (int64_t i = 0; i < v->in[1].n; i++) {
		int64_t rest = i, k, to = 0;
		BPG_TRY(read_index(im, v, i, in->dim[axis], &k));
		for (int a = at->rank - 1; a >= 0; a--) {
			to += (a == axis ? k : rest % at->dim[a]) * stride[a];
			rest /= at->dim[a];
		}
		link_update(g, i, to);
	}
	return BPG_OK;
}

/* The last axis of the indices holds a position on the first axes; updates are the slices there. */
static enum bpg_status place_nd(const struct bpg_import *im, struct bpg_node *v, struct scatter *g)
{
	const struct bpg_shape *in = &v->in[0].shape, *at = &v->in[1].shape;
	int64_t stride[BPG_MAX_RANK], inner = 1, depth = at->rank > 0 ? at->dim[at->rank - 1] : 0;
	struct bpg_shape want = { 0 };
	if (depth < 1 || depth > in->rank || at->rank - 1 + in->rank - depth > BPG_MAX_RANK)
		return bpg_import_fail(im, BPG_EFILE, "indices of depth %lld do not fit an operand of rank %d", (long long)depth,
		                       in->rank);
	bpg_shape_strides(in, stride);
	for (int a = 0; a < at->rank - 1; a++)
		want.dim[want.rank++] = at->dim[a];
	for (int a = (int)depth; a < in->rank; a++) {
		want.dim[want.rank++] = in->dim[a];
		inner *= in->dim[a];
	}
	if (!bpg_shape_equal(&want, &v->in[2].shape))
		return bpg_import_fail(im, BPG_EFILE, "the shapes of operand, indices and updates do not fit");
	for (int64_t i = 0; i < v->in[1].n / depth; i++) {
		int64_t to = 0;
		for (int64_t a = 0; a < depth; a++) {
			int64_t k;
			BPG_TRY(read_index(im, v, i * depth + a, in->dim[a], &k));
			to += k * stride[a];
		}
		for (int64_t k = 0; k < inner; k++)
			link_update(g, i * inner + k, to + k);
	}
	return BPG_OK;
}

static enum bpg_status scatter_import(const struct bpg_import *im, struct bpg_node *v)
{
	BPG_TRY(bpg_import_operands(im, v, 3, 3));
	BPG_TRY(bpg_import_constant(im, v, 1, "the indices"));
	const char *reduction = bpg_import_string(im, "reduction", "none");
	struct scatter *g = bpg_import_alloc(im, 1, sizeof *g);
	if (!g || !(g->head = bpg_import_alloc(im, (size_t)v->in[0].n + 1, sizeof *g->head)) ||
	    !(g->next = bpg_import_alloc(im, (size_t)v->in[2].n + 1, sizeof *g->next)))
		return bpg_import_fail(im, BPG_ENOMEM, "not enough memory");
	v->attr = g;
	g->add = !strcmp(reduction, "add");
	if (!g->add && strcmp(reduction, "none"))
		return bpg_import_fail(im, BPG_EUNSUPPORTED, "reduction=%s is not supported", reduction);
	for (int64_t i = 0; i < v->in[0].n; i++)
		g->head[i] = -1;
	v->out.shape = v->in[0].shape;
	v->out.type = v->in[0].type;
	BPG_TRY(!strcmp(v->op, "ScatterND") ? place_nd(im, v, g) : place_elements(im, v, g));
	return bpg_import_pin(im, v);
}

static void scatter_terms(const struct bpg_node *v, int64_t i, struct bpg_terms *t)
{
	const struct scatter *g = v->attr;
	if (g->add || g->head[i] < 0)
		bpg_terms_take(v, t, 0, i);
	for (int64_t k = g->head[i]; k >= 0; k = g->next[k])
		bpg_terms_take(v, t, 2, k);
}

static void scatter_sample(struct bpg_rng *rng, struct bpg_sample *s)
{
	int64_t dim[3], at[3], updates[4];
	double index[64];
	int axis = (int)bpg_rng_below(rng, 3), depth = 1 + (int)bpg_rng_below(rng, 3), rank = 3,
	    constant = (int)bpg_rng_below(rng, 3);
	for (int a = 0; a < 3; a++) {
		dim[a] = 1 + bpg_rng_below(rng, 4);
		updates[a] = at[a] = 1 + bpg_rng_below(rng, a == axis ? 4 : dim[a]);
	}
	bool nd = bpg_rng_below(rng, 2), add = bpg_rng_below(rng, 2);
	bpg_sample_op(s, nd ? "ScatterND" : "ScatterElements", 16);
	if (add)
		bpg_sample_string(s, "reduction", "add");
	if (constant == 1)
		bpg_sample_constant(s, 3, dim, NULL);
	else
		bpg_sample_variable(s, 3, dim);
	if (nd) {
		at[1] = depth;
		for (int i = 0; i < at[0] * depth; i++)
			index[i] = (double)(bpg_rng_below(rng, 2 * dim[i % depth]) - dim[i % depth]);
		bpg_sample_constant(s, 2, at, index);
		rank = 1;
		for (int a = depth; a < 3; a++)
			updates[rank++] = dim[a];
	} else {
		bpg_sample_int(s, "axis", bpg_rng_below(rng, 2) ? axis : axis - 3);
		for (int i = 0; i < at[0] * at[1] * at[2]; i++)
			index[i] = (double)(bpg_rng_below(rng, 2 * dim[axis]) - dim[axis]);
		bpg_sample_constant(s, 3, at, index);
	}
	if (constant == 2)
		bpg_sample_constant(s, rank, updates, NULL);
	else
		bpg_sample_variable(s, rank, updates);
}

BPG_LINEAR_LAYER(scatter, .ops = "ScatterND ScatterElements Scatter", .import = scatter_import, .terms = scatter_terms,
                 .sample = scatter_sample);
