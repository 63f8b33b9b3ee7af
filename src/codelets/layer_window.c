/* layer_window.c - Slice that begins where a variable says and has a length that is known (net/pass_window.c): one position
 * on one axis moves. The variable is a whole number.
 *
 * Behind the end of the operand a slice is shorter, or empty. Here it keeps its shape, and what is not there is NaN as a value
 * and infinity as a bound: an index that hits nothing. The pass sees to it that such elements are used as indices of updates
 * alone, where no index and no update are the same. */
#include "codelets/family_max.h"

struct window {
	int64_t size, length, inner; /* of the axis in the operand and in the output; elements that follow */
};

static enum bpg_status window_import(const struct bpg_import *im, struct bpg_node *v)
{
	BPG_TRY(bpg_import_operands(im, v, 2, 2));
	struct window *g = bpg_import_alloc(im, 1, sizeof *g);
	if (!g)
		return bpg_import_fail(im, BPG_ENOMEM, "not enough memory");
	v->attr = g;
	int axis;
	g->length = bpg_import_int(im, "bpg_length", 0);
	if (g->length < 1 || v->in[1].n != 1 || v->in[1].value)
		return bpg_import_fail(im, BPG_EUNSUPPORTED,
		                       "the length of the slice depends on the input; re-export with fixed sizes");
	BPG_TRY(bpg_import_axis(im, bpg_import_int(im, "bpg_axis", 0), v->in[0].shape.rank, &axis));
	v->out.shape = v->in[0].shape;
	v->out.type = v->in[0].type;
	g->size = v->in[0].shape.dim[axis];
	if (g->length > g->size)
		return bpg_import_fail(im, BPG_EFILE, "a slice of %lld from an axis of size %lld", (long long)g->length,
		                       (long long)g->size);
	v->out.shape.dim[axis] = g->length;
	g->inner = 1;
	for (int a = axis + 1; a < v->in[0].shape.rank; a++)
		g->inner *= v->in[0].shape.dim[a];
	return bpg_import_pin(im, v);
}

/* Element of the operand that output i reads when the slice begins at `start`; -1: it is not there. */
static int64_t element(const struct window *g, int64_t i, int64_t start)
{
	int64_t k = i / g->inner % g->length, outer = i / g->inner / g->length;
	return start + k < g->size ? (outer * g->size + start + k) * g->inner + i % g->inner : -1;
}

/* Negative positions, which count from the end, are not understood. */
static enum bpg_status start_of(const struct window *g, const double *const *x, int64_t *start)
{
	double s = trunc(x[1][0]);
	if (!(s >= 0))
		return BPG_ENUMERIC;
	*start = s < (double)g->size ? (int64_t)s : g->size;
	return BPG_OK;
}

static enum bpg_status window_eval(const struct bpg_node *v, const double *const *x, double *y)
{
	int64_t start;
	BPG_TRY(start_of(v->attr, x, &start));
	for (int64_t i = 0; i < v->out.n; i++) {
		int64_t at = element(v->attr, i, start);
		y[i] = at < 0 ? NAN : x[0][at];
	}
	return BPG_OK;
}

static enum bpg_status window_gradient(const struct bpg_node *v, const double *const *x, const double *gy, double *const *gx)
{
	int64_t start;
	BPG_TRY(start_of(v->attr, x, &start));
	for (int64_t i = 0; gx[0] && i < v->out.n; i++) {
		int64_t at = element(v->attr, i, start);
		if (at >= 0)
			gx[0][at] += gy[i];
	}
	return BPG_OK;
}

/* What output i may be; false: anything. */
static bool collect(const struct bpg_node *v, const double *const *l, const double *const *u, int64_t i, bool least,
                    struct bpg_peak *p)
{
	const struct window *g = v->attr;
	double first = trunc(l[1][0]), last = fmin(trunc(u[1][0]), (double)g->size);
	if (!(first >= 0) || isnan(last))
		return false;
	bpg_peak_start(p, least);
	for (int64_t s = (int64_t)fmin(first, (double)g->size); s <= (int64_t)last; s++) {
		int64_t at = element(g, i, s);
		if (at < 0) {
			bpg_peak_add(p, -1, 0, INFINITY, INFINITY);
			break; /* nor is it for what follows */
		}
		struct bpg_range r = bpg_range_of(v, l, u, 0, at);
		bpg_peak_add(p, v->in[0].value ? -1 : 0, at, r.l, r.u);
	}
	return true;
}

static enum bpg_status window_interval(const struct bpg_node *v, const double *const *l, const double *const *u, int64_t first,
                                       int64_t n, double *lo, double *up)
{
	for (int64_t i = 0; i < n; i++) {
		struct bpg_peak p;
		lo[i] = collect(v, l, u, first + i, true, &p) ? bpg_peak_range(&p).l : -INFINITY;
		up[i] = collect(v, l, u, first + i, false, &p) ? bpg_peak_range(&p).u : INFINITY;
	}
	return BPG_OK;
}

static void window_planes(const struct bpg_node *v, const double *const *l, const double *const *u, int64_t i,
                          struct bpg_terms *lower, struct bpg_terms *upper)
{
	struct bpg_peak p;
	if (!collect(v, l, u, i, true, &p)) {
		bpg_plane_constant(lower, -INFINITY);
		bpg_plane_constant(upper, INFINITY);
		return;
	}
	bpg_peak_below(&p, lower);
	if (lower->bias == INFINITY) /* nothing is there: the interval says so */
		bpg_plane_constant(lower, -INFINITY);
	collect(v, l, u, i, false, &p);
	bpg_peak_above(&p, upper);
}

static bool window_others(const struct bpg_node *v, const double *const *l, const double *const *u, int64_t i, int side, int which,
			  struct bpg_terms *t)
{
	struct bpg_peak p;
	return collect(v, l, u, i, side == 0, &p) && bpg_peak_other(&p, side, which, t);
}

static void window_sample(struct bpg_rng *rng, struct bpg_sample *s)
{
	int64_t dim[3], one = 1;
	int axis = (int)bpg_rng_below(rng, 3);
	for (int a = 0; a < 3; a++)
		dim[a] = 1 + bpg_rng_below(rng, 3);
	int64_t length = 1 + bpg_rng_below(rng, 3);
	dim[axis] = length + 3;
	bpg_sample_op(s, "Slice", 13);
	bpg_sample_int(s, "bpg_length", length);
	bpg_sample_int(s, "bpg_axis", axis);
	if (bpg_rng_below(rng, 2))
		bpg_sample_variable(s, 3, dim);
	else
		bpg_sample_constant(s, 3, dim, NULL);
	bpg_sample_variable(s, 1, &one);
	bpg_sample_domain(s, 0, 3);
}

BPG_GENERAL_LAYER(window, .ops = "Slice", .traits = BPG_NEEDS_SMOOTH, .import = window_import, .eval = window_eval,
                  .interval = window_interval, .gradient = window_gradient, .planes = window_planes,
                  .others = window_others, .sample = window_sample);
