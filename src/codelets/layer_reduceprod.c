/* layer_reduceprod.c - ReduceProd: the product of all elements along some axes.
 *
 * Planes are linear in the element of the widest range, x: with c in [cl, cu] the product of the others (one constant where all
 * others are), the product of the two lies above min(cl x, cu x), which is concave, and below max(cl x, cu x); the chords. */
#include "codelets/bilinear.h"
#include "codelets/reduce.h"

static enum bpg_status reduceprod_import(const struct bpg_import *im, struct bpg_node *v)
{
	struct bpg_reduce *g;
	return bpg_reduce_import(im, v, false, &g);
}

static enum bpg_status reduceprod_eval(const struct bpg_node *v, const double *const *x, double *y)
{
	const struct bpg_reduce *g = v->attr;
	for (int64_t i = 0; i < v->out.n; i++) {
		int64_t base = bpg_reduce_base(g, i);
		y[i] = 1;
		for (int64_t k = 0; k < g->count; k++)
			y[i] *= x[0][base + bpg_reduce_offset(g, k)];
	}
	return BPG_OK;
}

static enum bpg_status reduceprod_gradient(const struct bpg_node *v, const double *const *x, const double *gy, double *const *gx)
{
	const struct bpg_reduce *g = v->attr;
	for (int64_t i = 0; gx[0] && i < v->out.n; i++) {
		int64_t base = bpg_reduce_base(g, i);
		for (int64_t k = 0; k < g->count; k++) {
			double rest = 1;
			for (int64_t j = 0; j < g->count; j++)
				rest *= j == k ? 1 : x[0][base + bpg_reduce_offset(g, j)];
			gx[0][base + bpg_reduce_offset(g, k)] += gy[i] * rest;
		}
	}
	return BPG_OK;
}

/* Range of the product of all but element `without` (-1: of all). */
static struct bpg_range range_of(const struct bpg_node *v, const double *const *l, const double *const *u, int64_t base,
                                 int64_t without)
{
	const struct bpg_reduce *g = v->attr;
	struct bpg_range r = { 1, 1 };
	for (int64_t k = 0; k < g->count; k++)
		if (k != without)
			r = bpg_product_range(r, bpg_range_of(v, l, u, 0, base + bpg_reduce_offset(g, k)));
	return r;
}

static enum bpg_status reduceprod_interval(const struct bpg_node *v, const double *const *l, const double *const *u, int64_t first,
                                           int64_t n, double *lo, double *up)
{
	for (int64_t i = 0; i < n; i++) {
		struct bpg_range r = range_of(v, l, u, bpg_reduce_base(v->attr, first + i), -1);
		lo[i] = r.l;
		up[i] = r.u;
	}
	return BPG_OK;
}

static double chord(struct bpg_range x, struct bpg_range c, int side)
{
	double left = side < 0 ? fmin(c.l * x.l, c.u * x.l) : fmax(c.l * x.l, c.u * x.l);
	double right = side < 0 ? fmin(c.l * x.u, c.u * x.u) : fmax(c.l * x.u, c.u * x.u);
	double slope = (right - left) / (x.u - x.l);
	return x.u > x.l && isfinite(slope) ? bpg_plane_round(slope) : 0;
}

static void reduceprod_planes(const struct bpg_node *v, const double *const *l, const double *const *u, int64_t i,
                              struct bpg_terms *lower, struct bpg_terms *upper)
{
	const struct bpg_reduce *g = v->attr;
	int64_t base = bpg_reduce_base(g, i), widest = -1;
	double most = 0;
	for (int64_t k = 0; k < g->count; k++) {
		struct bpg_range r = bpg_range_of(v, l, u, 0, base + bpg_reduce_offset(g, k));
		if (widest < 0 || r.u - r.l > most) {
			widest = k;
			most = r.u - r.l;
		}
	}
	struct bpg_range all = range_of(v, l, u, base, -1), c = range_of(v, l, u, base, widest);
	for (int side = -1; side <= 1; side += 2) {
		struct bpg_terms *t = side < 0 ? lower : upper;
		bpg_plane_constant(t, side < 0 ? all.l : all.u);
		if (widest < 0)
			continue;
		int64_t at = base + bpg_reduce_offset(g, widest);
		struct bpg_range x = bpg_range_of(v, l, u, 0, at);
		double slope = chord(x, c, side), bias = bpg_product_bias(x, c, slope, 0, side);
		if (slope == 0 || !isfinite(bias))
			continue;
		bpg_terms_add(t, 0, at, slope, 0);
		t->bias = bias;
	}
}

static void reduceprod_sample(struct bpg_rng *rng, struct bpg_sample *s)
{
	bool operand = bpg_rng_below(rng, 2); /* axes: an attribute until opset 17 */
	bpg_reduce_sample(rng, s, "ReduceProd", operand ? 18 : 13, operand, false);
}

BPG_GENERAL_LAYER(reduceprod, .ops = "ReduceProd", .traits = BPG_NEEDS_SMOOTH, .import = reduceprod_import, .eval = reduceprod_eval,
                  .interval = reduceprod_interval, .gradient = reduceprod_gradient, .planes = reduceprod_planes,
                  .sample = reduceprod_sample);
