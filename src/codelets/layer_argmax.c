/* layer_argmax.c - ArgMax and ArgMin: the index of the largest element along an axis. The interval spans the indices that
 * some point of the box may choose; planes are constant, the output jumps. */
#include <string.h>

#include "codelets/plane.h"

struct argmax {
	int64_t count, inner;
	bool last;                /* of equal elements */
	double sign;
};

static enum bpg_status argmax_import(const struct bpg_import *im, struct bpg_node *v)
{
	BPG_TRY(bpg_import_operands(im, v, 1, 1));
	struct argmax *g = bpg_import_alloc(im, 1, sizeof *g);
	if (!g)
		return bpg_import_fail(im, BPG_ENOMEM, "not enough memory");
	v->attr = g;
	const struct bpg_shape *s = &v->in[0].shape;
	int axis;
	BPG_TRY(bpg_import_axis(im, bpg_import_int(im, "axis", 0), s->rank, &axis));
	bool keep = bpg_import_int(im, "keepdims", 1) != 0;
	g->last = bpg_import_int(im, "select_last_index", 0) != 0;
	g->sign = !strcmp(v->op, "ArgMin") ? -1 : 1;
	g->count = s->dim[axis];
	g->inner = 1;
	if (g->count < 1)
		return bpg_import_fail(im, BPG_EFILE, "the maximum of no elements");
	v->out.shape.rank = 0;
	for (int a = 0; a < s->rank; a++) {
		if (a > axis)
			g->inner *= s->dim[a];
		if (a != axis || keep)
			v->out.shape.dim[v->out.shape.rank++] = a == axis ? 1 : s->dim[a];
	}
	v->out.type = BPG_I64;
	return BPG_OK;
}

static int64_t first_of(const struct argmax *g, int64_t i)
{
	return i / g->inner * g->count * g->inner + i % g->inner;
}

static enum bpg_status argmax_eval(const struct bpg_node *v, const double *const *x, double *y)
{
	const struct argmax *g = v->attr;
	for (int64_t i = 0; i < v->out.n; i++) {
		const double *z = x[0] + first_of(g, i);
		int64_t best = 0;
		for (int64_t k = 1; k < g->count; k++) {
			double a = g->sign * z[k * g->inner], b = g->sign * z[best * g->inner];
			if (a > b || (g->last && a == b))
				best = k;
		}
		y[i] = (double)best;
	}
	return BPG_OK;
}

static enum bpg_status argmax_gradient(const struct bpg_node *v, const double *const *x, const double *gy, double *const *gx)
{
	(void)v, (void)x, (void)gy, (void)gx;
	return BPG_OK;
}

/* Indices whose upper bound reaches the largest lower bound. Of elements that are known, ties fall as they do in eval. */
static struct bpg_range range_of(const struct bpg_node *v, const double *l, const double *u, int64_t i)
{
	const struct argmax *g = v->attr;
	int64_t first = first_of(g, i);
	struct bpg_range r = { INFINITY, -INFINITY };
	double most = -INFINITY;
	bool fixed = true;
	for (int64_t k = 0; k < g->count; k++) {
		int64_t at = first + k * g->inner;
		double low = g->sign > 0 ? l[at] : -u[at];
		most = low > most ? low : most;
	}
	for (int64_t k = 0; k < g->count; k++) {
		int64_t at = first + k * g->inner;
		double high = g->sign > 0 ? u[at] : -l[at];
		if (high < most) /* not NaN */
			continue;
		fixed = fixed && l[at] == u[at];
		r.l = fmin(r.l, (double)k);
		r.u = fmax(r.u, (double)k);
	}
	if (fixed)
		r.l = r.u = g->last ? r.u : r.l;
	return r;
}

static enum bpg_status argmax_interval(const struct bpg_node *v, const double *const *l, const double *const *u, int64_t first,
                                       int64_t n, double *lo, double *up)
{
	for (int64_t i = 0; i < n; i++) {
		struct bpg_range r = range_of(v, l[0], u[0], first + i);
		lo[i] = r.l;
		up[i] = r.u;
	}
	return BPG_OK;
}

static void argmax_planes(const struct bpg_node *v, const double *const *l, const double *const *u, int64_t i,
                          struct bpg_terms *lower, struct bpg_terms *upper)
{
	struct bpg_range r = range_of(v, l[0], u[0], i);
	bpg_plane_constant(lower, r.l);
	bpg_plane_constant(upper, r.u);
}

static void argmax_sample(struct bpg_rng *rng, struct bpg_sample *s)
{
	int64_t dim[3];
	int rank = 1 + (int)bpg_rng_below(rng, 3);
	for (int i = 0; i < 3; i++)
		dim[i] = 1 + bpg_rng_below(rng, 5);
	bpg_sample_op(s, bpg_rng_below(rng, 2) ? "ArgMax" : "ArgMin", 13);
	bpg_sample_int(s, "axis", bpg_rng_below(rng, 2 * rank) - rank);
	bpg_sample_int(s, "keepdims", bpg_rng_below(rng, 2));
	bpg_sample_int(s, "select_last_index", bpg_rng_below(rng, 2));
	bpg_sample_variable(s, rank, dim);
}

BPG_GENERAL_LAYER(argmax, .ops = "ArgMax ArgMin", .import = argmax_import, .eval = argmax_eval, .interval = argmax_interval,
                  .gradient = argmax_gradient, .planes = argmax_planes, .sample = argmax_sample);
