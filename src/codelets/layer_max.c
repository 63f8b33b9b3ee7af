/* layer_max.c - Max and Min of any number of tensors, with broadcasting; any of them may be constant. */
#include <string.h>

#include "codelets/elementwise.h"
#include "codelets/family_max.h"

static bool is_least(const struct bpg_node *v) { return !strcmp(v->op, "Min"); }

/* Operand of the largest element (the first of equals); a NaN counts as the largest. */
static int winner(const struct bpg_node *v, const double *const *x, int64_t i, double *y)
{
	double sign = is_least(v) ? -1 : 1;
	int best = 0;
	*y = x[0][bpg_elementwise_index(v, 0, i)];
	for (int k = 1; k < v->nin; k++) {
		double z = x[k][bpg_elementwise_index(v, k, i)];
		if (!(sign * z <= sign * *y) && !isnan(*y)) {
			*y = z;
			best = k;
		}
	}
	return best;
}

static enum bpg_status max_eval(const struct bpg_node *v, const double *const *x, double *y)
{
	for (int64_t i = 0; i < v->out.n; i++)
		winner(v, x, i, &y[i]);
	return BPG_OK;
}

static enum bpg_status max_gradient(const struct bpg_node *v, const double *const *x, const double *gy, double *const *gx)
{
	for (int64_t i = 0; i < v->out.n; i++) {
		double y;
		int k = winner(v, x, i, &y);
		if (gx[k])
			gx[k][bpg_elementwise_index(v, k, i)] += gy[i];
	}
	return BPG_OK;
}

static void collect(const struct bpg_node *v, const double *const *l, const double *const *u, int64_t i, struct bpg_peak *p)
{
	bpg_peak_start(p, is_least(v));
	for (int k = 0; k < v->nin; k++) {
		int64_t at = bpg_elementwise_index(v, k, i);
		struct bpg_range r = bpg_range_of(v, l, u, k, at);
		bpg_peak_add(p, v->in[k].value ? -1 : k, at, r.l, r.u);
	}
}

static enum bpg_status max_interval(const struct bpg_node *v, const double *const *l, const double *const *u, int64_t first,
                                    int64_t n, double *lo, double *up)
{
	for (int64_t i = 0; i < n; i++) {
		struct bpg_peak p;
		collect(v, l, u, first + i, &p);
		struct bpg_range r = bpg_peak_range(&p);
		lo[i] = r.l;
		up[i] = r.u;
	}
	return BPG_OK;
}

static void max_planes(const struct bpg_node *v, const double *const *l, const double *const *u, int64_t i,
                       struct bpg_terms *lower, struct bpg_terms *upper)
{
	struct bpg_peak p;
	collect(v, l, u, i, &p);
	bpg_peak_below(&p, lower);
	bpg_peak_above(&p, upper);
}

static bool max_others(const struct bpg_node *v, const double *const *l, const double *const *u, int64_t i, int side, int which,
		       struct bpg_terms *t)
{
	struct bpg_peak p;
	collect(v, l, u, i, &p);
	return bpg_peak_other(&p, side, which, t);
}

static void max_sample(struct bpg_rng *rng, struct bpg_sample *s)
{
	bpg_sample_op(s, bpg_rng_below(rng, 2) ? "Max" : "Min", 13);
	bpg_variadic_sample(rng, s);
}

BPG_GENERAL_LAYER(max, .ops = "Max Min", .traits = BPG_PIECEWISE | BPG_NEEDS_SMOOTH, .import = bpg_variadic_import, .eval = max_eval,
                  .interval = max_interval, .gradient = max_gradient, .planes = max_planes, .others = max_others,
                  .sample = max_sample);
