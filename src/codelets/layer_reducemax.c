/* layer_reducemax.c - ReduceMax, ReduceMin, GlobalMaxPool: the true maximum over some axes, whichever element has it. */
#include <string.h>

#include "codelets/family_max.h"
#include "codelets/reduce.h"

static bool is_least(const struct bpg_node *v) { return !strcmp(v->op, "ReduceMin"); }

static enum bpg_status reducemax_import(const struct bpg_import *im, struct bpg_node *v)
{
	struct bpg_reduce *g;
	BPG_TRY(bpg_reduce_import(im, v, !strcmp(v->op, "GlobalMaxPool"), &g));
	if (g->count == 0)
		return bpg_import_fail(im, BPG_EFILE, "the maximum of no elements");
	return BPG_OK;
}

/* The first largest element; a NaN counts as the largest. */
static int64_t winner(const struct bpg_node *v, const double *x, int64_t i)
{
	const struct bpg_reduce *g = v->attr;
	double sign = is_least(v) ? -1 : 1;
	int64_t base = bpg_reduce_base(g, i), best = base;
	for (int64_t k = 0; k < g->count; k++) {
		int64_t at = base + bpg_reduce_offset(g, k);
		if (!(sign * x[at] <= sign * x[best]) && !isnan(x[best]))
			best = at;
	}
	return best;
}

static enum bpg_status reducemax_eval(const struct bpg_node *v, const double *const *x, double *y)
{
	for (int64_t i = 0; i < v->out.n; i++)
		y[i] = x[0][winner(v, x[0], i)];
	return BPG_OK;
}

static enum bpg_status reducemax_gradient(const struct bpg_node *v, const double *const *x, const double *gy, double *const *gx)
{
	for (int64_t i = 0; gx[0] && i < v->out.n; i++)
		gx[0][winner(v, x[0], i)] += gy[i];
	return BPG_OK;
}

static void collect(const struct bpg_node *v, const double *l, const double *u, int64_t i, struct bpg_peak *p)
{
	const struct bpg_reduce *g = v->attr;
	int64_t base = bpg_reduce_base(g, i);
	bpg_peak_start(p, is_least(v));
	for (int64_t k = 0; k < g->count; k++) {
		int64_t at = base + bpg_reduce_offset(g, k);
		bpg_peak_add(p, 0, at, l[at], u[at]);
	}
}

static enum bpg_status reducemax_interval(const struct bpg_node *v, const double *const *l, const double *const *u, int64_t first,
                                          int64_t n, double *lo, double *up)
{
	for (int64_t i = 0; i < n; i++) {
		struct bpg_peak p;
		collect(v, l[0], u[0], first + i, &p);
		struct bpg_range r = bpg_peak_range(&p);
		lo[i] = r.l;
		up[i] = r.u;
	}
	return BPG_OK;
}

static void reducemax_planes(const struct bpg_node *v, const double *const *l, const double *const *u, int64_t i,
                             struct bpg_terms *lower, struct bpg_terms *upper)
{
	struct bpg_peak p;
	collect(v, l[0], u[0], i, &p);
	bpg_peak_below(&p, lower);
	bpg_peak_above(&p, upper);
}

static bool reducemax_others(const struct bpg_node *v, const double *const *l, const double *const *u, int64_t i, int side, int which,
			     struct bpg_terms *t)
{
	struct bpg_peak p;
	collect(v, l[0], u[0], i, &p);
	return bpg_peak_other(&p, side, which, t);
}

static void reducemax_sample(struct bpg_rng *rng, struct bpg_sample *s)
{
	static const char *const op[] = { "ReduceMax", "ReduceMin", "GlobalMaxPool" };
	int which = (int)bpg_rng_below(rng, 3);
	bool operand = bpg_rng_below(rng, 2); /* axes: an attribute until opset 17 */
	bpg_reduce_sample(rng, s, op[which], operand ? 18 : 13, operand, which == 2);
}

BPG_GENERAL_LAYER(reducemax, .ops = "ReduceMax ReduceMin GlobalMaxPool", .traits = BPG_PIECEWISE | BPG_NEEDS_SMOOTH,
                  .import = reducemax_import, .eval = reducemax_eval, .interval = reducemax_interval,
                  .gradient = reducemax_gradient, .planes = reducemax_planes,
                  .others = reducemax_others, .sample = reducemax_sample);
