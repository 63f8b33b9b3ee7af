/* layer_onehot.c - OneHot: an axis that says which index an element is. Depth and the two values are constant; indices that
 * depend on the input (from ArgMax) are known up to a range, so an element is on, off, or between. Planes are constant. */
#include "codelets/plane.h"

struct onehot {
	int64_t depth, inner;
	double off, on;
};

static enum bpg_status onehot_import(const struct bpg_import *im, struct bpg_node *v)
{
	BPG_TRY(bpg_import_operands(im, v, 3, 3));
	BPG_TRY(bpg_import_constant(im, v, 1, "the depth"));
	BPG_TRY(bpg_import_constant(im, v, 2, "the values"));
	struct onehot *g = bpg_import_alloc(im, 1, sizeof *g);
	if (!g)
		return bpg_import_fail(im, BPG_ENOMEM, "not enough memory");
	v->attr = g;
	const struct bpg_shape *in = &v->in[0].shape;
	if (v->in[1].n != 1 || v->in[2].n != 2 || in->rank >= BPG_MAX_RANK)
		return bpg_import_fail(im, BPG_EFILE, "depth, values or the rank of the indices do not fit");
	if (bpg_const_error(v->in[2].value, 0) > 0 || bpg_const_error(v->in[2].value, 1) > 0)
		return bpg_import_fail(im, BPG_EUNSUPPORTED, "the values are computed and not exact");
	double depth = bpg_const_at(v->in[1].value, 0);
	if (!(depth >= 1 && depth < 0x1p33))
		return bpg_import_fail(im, BPG_EFILE, "the depth is %g", depth);
	g->depth = (int64_t)depth;
	g->off = bpg_const_at(v->in[2].value, 0);
	g->on = bpg_const_at(v->in[2].value, 1);
	int axis;
	BPG_TRY(bpg_import_axis(im, bpg_import_int(im, "axis", -1), in->rank + 1, &axis));
	g->inner = 1;
	v->out.shape.rank = in->rank + 1;
	for (int a = 0; a <= in->rank; a++) {
		v->out.shape.dim[a] = a == axis ? g->depth : in->dim[a < axis ? a : a - 1];
		if (a > axis)
			g->inner *= v->out.shape.dim[a];
	}
	v->out.type = v->in[2].type;
	return BPG_OK;
}

/* Bit 0: element i may be off; bit 1: it may be on. Indices from -depth on count from the end. */
static int may_be(const struct onehot *g, int64_t i, double l, double u)
{
	double place = (double)(i / g->inner % g->depth), other = place - (double)g->depth;
	bool hit = (l <= place && place <= u) || (l <= other && other <= u);
	return (hit ? 2 : 0) | (hit && l == u ? 0 : 1);
}

static int64_t index_of(const struct onehot *g, int64_t i)
{
	return i / g->inner / g->depth * g->inner + i % g->inner;
}

static enum bpg_status onehot_eval(const struct bpg_node *v, const double *const *x, double *y)
{
	const struct onehot *g = v->attr;
	for (int64_t i = 0; i < v->out.n; i++) {
		double k = trunc(x[0][index_of(g, i)]);
		y[i] = may_be(g, i, k, k) == 2 ? g->on : g->off;
	}
	return BPG_OK;
}

static enum bpg_status onehot_gradient(const struct bpg_node *v, const double *const *x, const double *gy, double *const *gx)
{
	(void)v, (void)x, (void)gy, (void)gx;
	return BPG_OK;
}

static enum bpg_status onehot_interval(const struct bpg_node *v, const double *const *l, const double *const *u, int64_t first,
                                       int64_t n, double *lo, double *up)
{
	const struct onehot *g = v->attr;
	for (int64_t i = 0; i < n; i++) {
		struct bpg_range r = bpg_range_of(v, l, u, 0, index_of(g, first + i));
		int may = may_be(g, first + i, trunc(r.l), trunc(r.u));
		double off = may & 1 ? g->off : g->on, on = may & 2 ? g->on : g->off;
		lo[i] = fmin(off, on);
		up[i] = fmax(off, on);
	}
	return BPG_OK;
}

static void onehot_planes(const struct bpg_node *v, const double *const *l, const double *const *u, int64_t i,
                          struct bpg_terms *lower, struct bpg_terms *upper)
{
	double lo, up;
	onehot_interval(v, l, u, i, 1, &lo, &up);
	bpg_plane_constant(lower, lo);
	bpg_plane_constant(upper, up);
}

static void onehot_sample(struct bpg_rng *rng, struct bpg_sample *s)
{
	int64_t dim[2], depth = 1 + bpg_rng_below(rng, 4);
	double values[2] = { (float)bpg_rng_normal(rng), (float)bpg_rng_normal(rng) };
	int64_t two = 2;
	int rank = (int)bpg_rng_below(rng, 3);
	for (int i = 0; i < 2; i++)
		dim[i] = 1 + bpg_rng_below(rng, 4);
	bpg_sample_op(s, "OneHot", 11);
	bpg_sample_int(s, "axis", bpg_rng_below(rng, 2 * (rank + 1)) - (rank + 1));
	bpg_sample_variable(s, rank, dim);
	bpg_sample_integers(s, -1, &depth);
	bpg_sample_constant(s, 1, &two, values);
}

BPG_GENERAL_LAYER(onehot, .ops = "OneHot", .import = onehot_import, .eval = onehot_eval, .interval = onehot_interval,
                  .gradient = onehot_gradient, .planes = onehot_planes, .sample = onehot_sample);
