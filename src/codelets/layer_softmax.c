/* layer_softmax.c - Softmax and LogSoftmax along an axis (opset 13), or over all axes from one on (before).
 *
 * Interval: p_k rises with x_k and falls with every other x_j, so its extremes are p_k at two corners; exact.
 *
 * Planes (Wei et al. 2023, "Convex bounds on the softmax function", the log-sum-exp pair), proved for any float32
 * coefficients g, any c, s, w > 0 and any shift M. Let D = sum_j exp(x_j - M).
 *
 *   below  p_k = exp(x_k - M)/D. For all y and D > 0, exp(y)/D is convex in (y, D); its tangent plane of slopes s and -w is
 *            exp(y)/D >= s (2 - 2 ln s + ln w) + s y - w D.
 *          Hence p_k - sum_j g_j x_j >= s (2 - 2 ln s + ln w) - sum_j [w exp(x_j - M) + g_j x_j - [j = k] s (x_k - M)], and
 *          every bracket is convex in its x_j, at most what it is at one of the ends.
 *          ln p_k likewise: -ln D >= 1 + ln w - w D, so the constant is 1 + ln w, and s = 1.
 *   above  With t = ln p_k, exp(t) <= a + c t between the ends of the interval, a the larger of exp(t) - c t there. And
 *          t = x_k - ln sum_j exp(x_j) <= x_k - sum_j q_j x_j + sum_j q_j ln q_j for every distribution q (Gibbs). Take
 *          c q_j = -g_j for j other than k (at least 0), c q_k = c - sum of them; the coefficient of x_k is that sum,
 *          rounded by plane_add. ln p_k likewise, with a = 0 and c = 1.
 *
 * The choices make them tangent at a point of the box: to exp(x_k)/(sum of chords of exp), and to the concave bound. That point
 * is the middle, or for the other planes one where p_k is larger or smaller. */
#include <stdlib.h>
#include <string.h>

#include "codelets/plane.h"

struct softmax {
	bool log;
	int64_t count, inner;     /* elements that sum to one, and their distance */
};

static enum bpg_status softmax_import(const struct bpg_import *im, struct bpg_node *v)
{
	BPG_TRY(bpg_import_same_shape(im, v));
	struct softmax *g = bpg_import_alloc(im, 1, sizeof *g);
	if (!g)
		return bpg_import_fail(im, BPG_ENOMEM, "not enough memory");
	v->attr = g;
	const struct bpg_shape *s = &v->in[0].shape;
	bool old = bpg_import_opset(im) < 13;
	int axis, rank = s->rank > 0 ? s->rank : 1; /* a scalar is alone */
	int64_t given = bpg_import_int(im, "axis", old ? 1 : -1);
	if (old && given == s->rank) {
		axis = rank;
	} else {
		BPG_TRY(bpg_import_axis(im, given, rank, &axis));
	}
	g->log = !strcmp(v->op, "LogSoftmax");
	g->count = axis < s->rank ? s->dim[axis] : 1;
	g->inner = 1;
	for (int a = axis + 1; a < s->rank; a++)
		*(old ? &g->count : &g->inner) *= s->dim[a];
	v->out.type = v->in[0].type == BPG_I64 ? BPG_F32 : v->in[0].type;
	return BPG_OK;
}

/* The group of element i: its first element, and the place of i in it. */
static int64_t group_of(const struct softmax *g, int64_t i, int64_t *k)
{
	*k = i / g->inner % g->count;
	return i - *k * g->inner;
}

/* ---- values ---- */

static enum bpg_status softmax_eval(const struct bpg_node *v, const double *const *x, double *y)
{
	const struct softmax *g = v->attr;
	for (int64_t i = 0; i < v->out.n; i++) {
		int64_t k, top = 0;
		const double *z = x[0] + group_of(g, i, &k);
		for (int64_t j = 1; j < g->count; j++)
			if (z[j * g->inner] > z[top * g->inner])
				top = j;
		double rest = 0, most = z[top * g->inner], own = z[k * g->inner] - most;
		for (int64_t j = 0; j < g->count; j++)
			rest += j == top ? 0 : exp(z[j * g->inner] - most);
		y[i] = g->log ? own - log1p(rest) : exp(own) / (1 + rest);
	}
	return BPG_OK;
}

static enum bpg_status softmax_gradient(const struct bpg_node *v, const double *const *x, const double *gy, double *const *gx)
{
	const struct softmax *g = v->attr;
	if (!gx[0])
		return BPG_OK;
	double *y = malloc((size_t)(v->out.n + 1) * sizeof *y);
	if (!y)
		return BPG_ENOMEM;
	enum bpg_status st = softmax_eval(v, x, y);
	for (int64_t i = 0; !st && i < v->out.n; i++) {
		int64_t k, first = group_of(g, i, &k);
		double p = g->log ? exp(y[i]) : y[i], sum = 0;
		for (int64_t j = first; j < first + g->count * g->inner; j += g->inner)
			sum += gy[j] * (g->log ? 1 : y[j]);
		gx[0][i] += g->log ? gy[i] - p * sum : p * (gy[i] - sum);
	}
	free(y);
	return st;
}

/* ---- interval ---- */

/* Bound of ln p_k with x_k at `own` and all others at `others`; side BPG_BELOW: rounded down. */
static double log_at(const struct softmax *g, int64_t k, double own, const double *others, int side)
{
	double most = own, rest = 0;
	int64_t top = k;
	for (int64_t j = 0; j < g->count; j++)
		if (j != k && others[j * g->inner] > most)
			most = others[(top = j) * g->inner];
	for (int64_t j = 0; j < g->count; j++) {
		if (j == top)
			continue;
		double z = j == k ? own : others[j * g->inner];
		rest = side < 0 ? bpg_add_up(rest, bpg_exp_up(bpg_add_up(z, -most)))
		                : bpg_add_down(rest, bpg_exp_down(bpg_add_down(z, -most)));
	}
	double l = log1p(rest);
	if (side < 0)
		return bpg_add_down(top == k ? 0 : bpg_add_down(own, -most), -(rest == 0 ? 0 : bpg_next_up(bpg_next_up(l))));
	return bpg_add_up(top == k ? 0 : bpg_add_up(own, -most), -(rest == 0 ? 0 : bpg_next_down(bpg_next_down(l))));
}

static double softmax_at(const struct softmax *g, int64_t k, double own, const double *others, int side)
{
	double rest = 0;
	for (int64_t j = 0; j < g->count; j++) {
		if (j == k)
			continue;
		double z = others[j * g->inner];
		rest = side < 0 ? bpg_add_up(rest, bpg_exp_up(bpg_add_up(z, -own)))
		                : bpg_add_down(rest, bpg_exp_down(bpg_add_down(z, -own)));
	}
	return side < 0 ? fmax(bpg_div_down(1, bpg_add_up(1, rest)), 0) : bpg_div_up(1, bpg_add_down(1, rest));
}

static struct bpg_range range_of(const struct bpg_node *v, const double *l, const double *u, int64_t i)
{
	const struct softmax *g = v->attr;
	int64_t k, first = group_of(g, i, &k);
	double (*at)(const struct softmax *, int64_t, double, const double *, int) = g->log ? log_at : softmax_at;
	struct bpg_range r = { at(g, k, l[i], u + first, BPG_BELOW), at(g, k, u[i], l + first, BPG_ABOVE) };
	double floor = g->log ? -INFINITY : 0, ceiling = g->log ? 0 : 1;
	r.l = r.l >= floor && r.l <= ceiling ? r.l : floor;     /* NaN bounds say nothing */
	r.u = r.u >= floor && r.u <= ceiling ? r.u : ceiling;
	return r;
}

static enum bpg_status softmax_interval(const struct bpg_node *v, const double *const *l, const double *const *u, int64_t first,
                                        int64_t n, double *lo, double *up)
{
	for (int64_t i = 0; i < n; i++) {
		struct bpg_range r = range_of(v, l[0], u[0], first + i);
		lo[i] = r.l;
		up[i] = r.u;
	}
	return BPG_OK;
}

/* ---- planes ---- */

/* One group over the box. */
struct group {
	int64_t count, inner, first, k;
	const double *l, *u;      /* of the first element */
	double part;              /* the point: so far up is x_k in its range, and so far down are the others */
	double shift;             /* M: the largest upper bound */
	double *slope, *prob;     /* [count] slope of the chord of exp(x - M); softmax of the point */
	double sum;               /* of the chords at the point */
};

static double point(const struct group *s, int64_t j)
{
	double part = j == s->k ? s->part : 1 - s->part;
	return (1 - part) * s->l[j * s->inner] + part * s->u[j * s->inner];
}

/* False: a bound is infinite, or so far from the others that nothing but the interval is worth while. */
static bool group_set(struct group *s)
{
	double total = 0;
	s->shift = -INFINITY;
	for (int64_t j = 0; j < s->count; j++)
		s->shift = fmax(s->shift, s->u[j * s->inner]);
	s->sum = 0;
	for (int64_t j = 0; j < s->count; j++) {
		double l = s->l[j * s->inner], u = s->u[j * s->inner];
		if (!(fabs(l) < 0x1p100) || !(fabs(u) < 0x1p100))
			return false;
		double a = exp(l - s->shift), b = exp(u - s->shift), width = u - l;
		double part = j == s->k ? s->part : 1 - s->part;
		s->prob[j] = exp(point(s, j) - s->shift);
		s->slope[j] = width > 1e-6 ? (b - a) / width : s->prob[j];
		s->sum += (1 - part) * a + part * b;
		total += s->prob[j];
	}
	for (int64_t j = 0; j < s->count; j++)
		s->prob[j] /= total;
	return total > 0x1p-900;
}

static void plane_below(const struct group *s, bool log, double floor, struct bpg_terms *t)
{
	double top = log ? 1 : exp(point(s, s->k) - s->shift) / s->sum, w = top / s->sum, constant;
	if (log)
		constant = bpg_add_down(1, bpg_log_down(w));
	else
		constant = bpg_mul_down(top, bpg_add_down(bpg_add_down(2, -2 * bpg_log_up(top)), bpg_log_down(w)));
	/* Under the least value already at the point: the interval is the better bound. */
	if (!(top > 0x1p-500) || !(w > 0x1p-500) || (!log && top <= floor) || !isfinite(constant)) {
		bpg_plane_constant(t, floor);
		return;
	}
	for (int64_t j = 0; j < s->count; j++) {
		double coef = bpg_plane_round((j == s->k ? top : 0) - w * s->slope[j]), most = -INFINITY;
		for (int e = 0; e < 2; e++) {
			double x = e ? s->u[j * s->inner] : s->l[j * s->inner];
			double y = bpg_add_up(bpg_mul_up(w, bpg_exp_up(bpg_add_up(x, -s->shift))), bpg_mul_up(coef, x));
			if (j == s->k)
				y = bpg_add_up(y, -bpg_mul_down(top, bpg_add_down(x, -s->shift)));
			most = fmax(most, y);
		}
		constant = bpg_add_down(constant, -most);
		if (coef != 0)
			bpg_terms_add(t, 0, s->first + j * s->inner, coef, 0);
	}
	t->bias = constant;
}

/* r ln(r/c), rounded up. */
static double entropy(double r, double c)
{
	return r > 0 ? bpg_mul_up(r, bpg_add_up(bpg_log_up(r), -bpg_log_down(c))) : 0;
}

static void plane_above(const struct group *s, bool log, struct bpg_range p, struct bpg_terms *t)
{
	double c = 1, a = 0, left = p.l > 0 ? bpg_log_down(p.l) : -INFINITY, right = bpg_log_down(p.u);
	if (!log) {
		c = right - left > 1e-6 ? (p.u - p.l) / (right - left) : p.u;
		a = fmax(bpg_add_up(p.l, bpg_mul_up(c, -left)), bpg_add_up(p.u, bpg_mul_up(c, -right)));
	}
	if (!isfinite(a) || !(c > 0x1p-90)) { /* the ends of t are too far apart */
		bpg_plane_constant(t, p.u);
		return;
	}
	double down = 0, up = 0;
	t->bias = a;
	for (int64_t j = 0; j < s->count; j++) {
		double r = bpg_plane_round(bpg_float_down(c * s->prob[j] * (1 - 0x1p-45)));
		if (j == s->k || !(r > 0))
			continue;
		bpg_terms_add(t, 0, s->first + j * s->inner, -r, 0);
		down = bpg_add_down(down, r);
		up = bpg_add_up(up, r);
		t->bias = bpg_add_up(t->bias, entropy(r, c));
	}
	double least = bpg_add_down(c, -up), most = bpg_add_up(c, -down);
	if (!(least >= 0)) {
		bpg_plane_constant(t, p.u);
		return;
	}
	t->bias = bpg_add_up(t->bias, fmax(entropy(least, c), entropy(most, c)));
	bpg_plane_add(t, BPG_ABOVE, 0, s->first + s->k * s->inner, down, up - down, s->l[s->k * s->inner], s->u[s->k * s->inner]);

	double at = t->bias;
	for (int n = 0; n < t->n; n++)
		at += t->coef[n] * point(s, (t->index[n] - s->first) / s->inner);
	if (!(at < p.u))
		bpg_plane_constant(t, p.u);
}

/* Plane i on both sides, tangent where `part` says; null: not asked. */
static void planes_at(const struct bpg_node *v, const double *l, const double *u, int64_t i, double part, struct bpg_terms *lower,
                      struct bpg_terms *upper)
{
	const struct softmax *g = v->attr;
	struct group s = { .count = g->count, .inner = g->inner, .part = part };
	struct bpg_range p = range_of(v, l, u, i);
	s.first = group_of(g, i, &s.k);
	s.l = l + s.first;
	s.u = u + s.first;
	s.slope = malloc((size_t)(2 * s.count + 1) * sizeof *s.slope);
	if (!s.slope) {
		(lower ? lower : upper)->failed = true;
		return;
	}
	s.prob = s.slope + s.count;
	bool tame = group_set(&s);
	if (lower && tame)
		plane_below(&s, g->log, p.l, lower);
	else if (lower)
		bpg_plane_constant(lower, p.l);
	if (upper && tame)
		plane_above(&s, g->log, p, upper);
	else if (upper)
		bpg_plane_constant(upper, p.u);
	free(s.slope);
}

static void softmax_planes(const struct bpg_node *v, const double *const *l, const double *const *u, int64_t i,
                           struct bpg_terms *lower, struct bpg_terms *upper)
{
	planes_at(v, l[0], u[0], i, 0.5, lower, upper);
}

static bool softmax_others(const struct bpg_node *v, const double *const *l, const double *const *u, int64_t i, int side, int which,
                           struct bpg_terms *t)
{
	static const double part[] = { 0.25, 0.75 };
	if (which >= (int)BPG_LEN(part))
		return false;
	planes_at(v, l[0], u[0], i, part[which], side ? NULL : t, side ? t : NULL);
	return true;
}

static void softmax_sample(struct bpg_rng *rng, struct bpg_sample *s)
{
	int64_t dim[3];
	int rank = 1 + (int)bpg_rng_below(rng, 3);
	for (int i = 0; i < 3; i++)
		dim[i] = 1 + bpg_rng_below(rng, 4);
	bpg_sample_op(s, bpg_rng_below(rng, 3) ? "Softmax" : "LogSoftmax", bpg_rng_below(rng, 2) ? 13 : 11);
	if (rank == 1 || bpg_rng_below(rng, 2))
		bpg_sample_int(s, "axis", bpg_rng_below(rng, 2 * rank) - rank);
	bpg_sample_variable(s, rank, dim);
}

BPG_GENERAL_LAYER(softmax, .ops = "Softmax LogSoftmax", .traits = BPG_NEEDS_SMOOTH, .import = softmax_import,
                  .eval = softmax_eval, .interval = softmax_interval, .gradient = softmax_gradient, .planes = softmax_planes,
                  .others = softmax_others,
                  .sample = softmax_sample);
