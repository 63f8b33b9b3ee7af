/* layer_reducenorm.c - ReduceL1, ReduceL2, ReduceSumSquare, ReduceLogSum, ReduceLogSumExp: convex and concave functions of the
 * elements along some axes. Planes, for any float32 coefficients g and any w > 0:
 *
 *   L1             sums of |x_j|: s x_j below for any |s| <= 1, the chord above
 *   SumSquare      sums of the planes of squares
 *   L2   below     g x for |g| <= 1 (Cauchy), g along the middle of the box
 *        above     sqrt(S) <= w S + 1/(4 w), S <= sum of what x_j^2 is at the ends, so the bias is
 *                  1/(4 w) + sum_j max over the ends of (w x_j^2 - g_j x_j)
 *   LogSum         with S = sum_j x_j > 0 and one slope g > 0: ln S - g S is concave, least at an end of S, and at most -1 - ln g
 *   LogSumExp below   sum_j q_j x_j - sum_j q_j ln q_j for every distribution q (Gibbs); q that of the middle
 *             above   with D = sum_j exp(x_j - M), ln D <= w D - 1 - ln w, and the ends as for L2 */
#include <string.h>

#include "codelets/bilinear.h"
#include "codelets/reduce.h"

enum kind { L1, L2, SUM_SQUARE, LOG_SUM, LOG_SUM_EXP };

static enum kind kind_of(const struct bpg_node *v)
{
	static const char *const name[] = { "ReduceL1", "ReduceL2", "ReduceSumSquare", "ReduceLogSum" };
	enum kind kind = L1;
	while (kind < LOG_SUM_EXP && strcmp(v->op, name[kind]))
		kind++;
	return kind;
}

static enum bpg_status reducenorm_import(const struct bpg_import *im, struct bpg_node *v)
{
	struct bpg_reduce *g;
	BPG_TRY(bpg_reduce_import(im, v, false, &g));
	if (g->count == 0)
		return bpg_import_fail(im, BPG_EFILE, "the norm of no elements");
	if (v->out.type == BPG_I64)
		v->out.type = BPG_F32;
	return BPG_OK;
}

/* ---- values ---- */

static double largest(const struct bpg_reduce *g, const double *x, int64_t base)
{
	double most = -INFINITY;
	for (int64_t k = 0; k < g->count; k++)
		most = fmax(most, x[base + bpg_reduce_offset(g, k)]);
	return isfinite(most) ? most : 0;
}

static double term(enum kind kind, double x, double shift)
{
	return kind == L1 ? fabs(x) : kind == LOG_SUM ? x : kind == LOG_SUM_EXP ? exp(x - shift) : x * x;
}

static double value(const struct bpg_node *v, const double *x, int64_t i)
{
	const struct bpg_reduce *g = v->attr;
	enum kind kind = kind_of(v);
	int64_t base = bpg_reduce_base(g, i);
	double sum = 0, shift = kind == LOG_SUM_EXP ? largest(g, x, base) : 0;
	for (int64_t k = 0; k < g->count; k++)
		sum += term(kind, x[base + bpg_reduce_offset(g, k)], shift);
	return kind == L2 ? sqrt(sum) : kind >= LOG_SUM ? shift + log(sum) : sum;
}

static enum bpg_status reducenorm_eval(const struct bpg_node *v, const double *const *x, double *y)
{
	for (int64_t i = 0; i < v->out.n; i++)
		y[i] = value(v, x[0], i);
	return BPG_OK;
}

static enum bpg_status reducenorm_gradient(const struct bpg_node *v, const double *const *x, const double *gy, double *const *gx)
{
	const struct bpg_reduce *g = v->attr;
	enum kind kind = kind_of(v);
	for (int64_t i = 0; gx[0] && i < v->out.n; i++) {
		int64_t base = bpg_reduce_base(g, i);
		double y = value(v, x[0], i);
		for (int64_t k = 0; k < g->count; k++) {
			int64_t at = base + bpg_reduce_offset(g, k);
			double z = x[0][at], d = z > 0 ? 1 : z < 0 ? -1 : 0;
			if (kind == SUM_SQUARE)
				d = 2 * z;
			else if (kind == L2)
				d = y > 0 ? z / y : 0;
			else if (kind >= LOG_SUM)
				d = exp((kind == LOG_SUM ? 0 : z) - y);
			gx[0][at] += gy[i] * d;
		}
	}
	return BPG_OK;
}

/* ---- interval ---- */

/* One output over the box. */
struct group {
	const struct bpg_reduce *g;
	enum kind kind;
	int64_t base;
	const double *l, *u;
};

static struct bpg_range element(const struct group *s, int64_t k, int64_t *at)
{
	*at = s->base + bpg_reduce_offset(s->g, k);
	double l = s->l[*at], u = s->u[*at];
	return (struct bpg_range){ isnan(l) ? -INFINITY : l, isnan(u) ? INFINITY : u };
}

static struct bpg_range term_range(enum kind kind, struct bpg_range x, double shift)
{
	switch (kind) {
	case L1: return (struct bpg_range){ x.l > 0 ? x.l : x.u < 0 ? -x.u : 0, fmax(fabs(x.l), fabs(x.u)) };
	case LOG_SUM: return x;
	case LOG_SUM_EXP:
		return (struct bpg_range){ bpg_exp_down(bpg_add_down(x.l, -shift)), bpg_exp_up(bpg_add_up(x.u, -shift)) };
	default: return bpg_square_range(x);
	}
}

static double top_of(const struct group *s)
{
	double top = -INFINITY;
	int64_t at;
	for (int64_t k = 0; k < s->g->count; k++)
		top = fmax(top, element(s, k, &at).u);
	return isfinite(top) ? top : 0;
}

static struct bpg_range sum_range(const struct group *s, double shift)
{
	struct bpg_range sum = { 0, 0 };
	int64_t at;
	for (int64_t k = 0; k < s->g->count; k++) {
		struct bpg_range r = term_range(s->kind, element(s, k, &at), shift);
		sum.l = bpg_add_down(sum.l, r.l);
		sum.u = bpg_add_up(sum.u, r.u);
	}
	return sum;
}

static struct bpg_range range_of(const struct group *s)
{
	double shift = s->kind == LOG_SUM_EXP ? top_of(s) : 0;
	struct bpg_range sum = sum_range(s, shift);
	if (s->kind == L2)
		return (struct bpg_range){ bpg_sqrt_down(sum.l), bpg_sqrt_up(sum.u) };
	if (s->kind == LOG_SUM && !(sum.l > 0))
		return (struct bpg_range){ -INFINITY, INFINITY };
	if (s->kind >= LOG_SUM)
		return (struct bpg_range){ bpg_add_down(shift, bpg_log_down(sum.l)), bpg_add_up(shift, bpg_log_up(sum.u)) };
	return sum;
}

static struct group group_of(const struct bpg_node *v, const double *l, const double *u, int64_t i)
{
	return (struct group){ .g = v->attr, .kind = kind_of(v), .base = bpg_reduce_base(v->attr, i), .l = l, .u = u };
}

static enum bpg_status reducenorm_interval(const struct bpg_node *v, const double *const *l, const double *const *u, int64_t first,
                                           int64_t n, double *lo, double *up)
{
	for (int64_t i = 0; i < n; i++) {
		struct group s = group_of(v, l[0], u[0], first + i);
		struct bpg_range r = range_of(&s);
		lo[i] = r.l;
		up[i] = r.u;
	}
	return BPG_OK;
}

/* ---- planes ---- */

static void add_term(struct bpg_terms *t, int64_t at, double coef)
{
	if (coef != 0)
		bpg_terms_add(t, 0, at, coef, 0);
}

static void absolute(int64_t at, struct bpg_range x, struct bpg_terms *lower, struct bpg_terms *upper)
{
	bool crosses = x.l < 0 && x.u > 0;
	double sign = x.l + x.u >= 0 ? 1 : -1, slope = crosses ? bpg_plane_round((x.u + x.l) / (x.u - x.l)) : sign;
	add_term(lower, at, sign); /* |x| >= x and >= -x */
	add_term(upper, at, slope);
	if (crosses) {
		double left = bpg_add_up(-x.l, bpg_mul_up(-slope, x.l)), right = bpg_add_up(x.u, bpg_mul_up(-slope, x.u));
		bpg_plane_bias(upper, BPG_ABOVE, 0, fmax(left, right));
	}
}

static void norm_below(const struct group *s, double floor, struct bpg_terms *t)
{
	double size = 0, sum = 0, reach = 0;
	int64_t at;
	for (int64_t k = 0; k < s->g->count; k++) {
		double m = bpg_range_middle(element(s, k, &at));
		size += m * m;
	}
	size = sqrt(size) * (1 + 0x1p-20);
	for (int64_t k = 0; k < s->g->count && size > 0; k++) {
		double m = bpg_range_middle(element(s, k, &at)), c = bpg_plane_round(m / size);
		add_term(t, at, c);
		sum = bpg_add_up(sum, bpg_mul_up(c, c));
		reach += c * m;
	}
	if (!(sum <= 1) || !(reach > floor)) /* not a unit vector after all, or worse than the interval */
		bpg_plane_constant(t, floor);
}

/* Sums of convex terms w f(x_j) under sums of chords: coefficients by `slope`, biases by the ends. */
static void chords(const struct group *s, double w, double shift, struct bpg_terms *t)
{
	int64_t at;
	for (int64_t k = 0; k < s->g->count; k++) {
		struct bpg_range x = element(s, k, &at);
		double a = term(s->kind, x.l, shift), b = term(s->kind, x.u, shift), width = x.u - x.l, most = -INFINITY;
		double slope = s->kind == L2 ? x.l + x.u : width > 1e-6 ? (b - a) / width : a, c = bpg_plane_round(w * slope);
		add_term(t, at, c);
		for (int e = 0; e < 2; e++) {
			double z = e ? x.u : x.l;
			double f = term_range(s->kind, (struct bpg_range){ z, z }, shift).u;
			most = fmax(most, bpg_add_up(bpg_mul_up(w, f), bpg_mul_up(-c, z)));
		}
		bpg_plane_bias(t, BPG_ABOVE, most, most);
	}
}

/* Sum of the chords in the middle of the box. */
static double chord_sum(const struct group *s, double shift)
{
	double sum = 0;
	int64_t at;
	for (int64_t k = 0; k < s->g->count; k++) {
		struct bpg_range x = element(s, k, &at);
		sum += 0.5 * (term(s->kind, x.l, shift) + term(s->kind, x.u, shift));
	}
	return sum;
}

static void gibbs_below(const struct group *s, double floor, struct bpg_terms *t)
{
	double most = -INFINITY, total = 0, down = 0, up = 0;
	int64_t at, top = 0;
	for (int64_t k = 0; k < s->g->count; k++) {
		double m = bpg_range_middle(element(s, k, &at));
		if (m > most) {
			most = m;
			top = k;
		}
	}
	for (int64_t k = 0; k < s->g->count; k++)
		total += exp(bpg_range_middle(element(s, k, &at)) - most);
	for (int64_t k = 0; k < s->g->count; k++) {
		double q = bpg_plane_round(exp(bpg_range_middle(element(s, k, &at)) - most) / total);
		if (k == top || !(q > 0))
			continue;
		bpg_terms_add(t, 0, at, q, 0);
		down = bpg_add_down(down, q);
		up = bpg_add_up(up, q);
		t->bias = bpg_add_down(t->bias, -bpg_mul_up(q, bpg_log_up(q)));
	}
	double least = bpg_add_down(1, -up), greatest = bpg_add_up(1, -down);
	if (!(least > 0)) {
		bpg_plane_constant(t, floor);
		return;
	}
	double entropy = fmax(bpg_mul_up(least, bpg_log_up(least)), bpg_mul_up(greatest, bpg_log_up(greatest)));
	t->bias = bpg_add_down(t->bias, -entropy);
	struct bpg_range x = element(s, top, &at);
	bpg_plane_add(t, BPG_BELOW, 0, at, least, greatest - least, x.l, x.u);
}

/* ln S, S the sum. */
static void log_planes(const struct group *s, struct bpg_terms *lower, struct bpg_terms *upper)
{
	struct bpg_range sum = sum_range(s, 0);
	double width = sum.u - sum.l, chord = bpg_plane_round(width > 1e-9 * sum.u ? (log(sum.u) - log(sum.l)) / width : 1 / sum.u);
	double tangent = bpg_plane_round(2 / (sum.l + sum.u)); /* S = middle */
	int64_t at;
	if (!(chord > 0) || !(tangent > 0)) {
		bpg_plane_constant(lower, bpg_log_down(sum.l));
		bpg_plane_constant(upper, bpg_log_up(sum.u));
		return;
	}
	for (int64_t k = 0; k < s->g->count; k++) {
		element(s, k, &at);
		add_term(lower, at, chord);
		add_term(upper, at, tangent);
	}
	lower->bias = fmin(bpg_add_down(bpg_log_down(sum.l), -bpg_mul_up(chord, sum.l)),
	                   bpg_add_down(bpg_log_down(sum.u), -bpg_mul_up(chord, sum.u)));
	upper->bias = bpg_add_up(-1, -bpg_log_down(tangent));
}

static void reducenorm_planes(const struct bpg_node *v, const double *const *l, const double *const *u, int64_t i,
                              struct bpg_terms *lower, struct bpg_terms *upper)
{
	struct group s = group_of(v, l[0], u[0], i);
	struct bpg_range r = range_of(&s);
	int64_t at;
	bool tame = true;
	for (int64_t k = 0; k < s.g->count; k++) {
		struct bpg_range x = element(&s, k, &at);
		tame = tame && fabs(x.l) < 0x1p100 && fabs(x.u) < 0x1p100;
	}
	bpg_plane_constant(lower, r.l);
	bpg_plane_constant(upper, r.u);
	if (!tame || !isfinite(r.l) || !isfinite(r.u))
		return;
	bpg_terms_reset(lower);
	bpg_terms_reset(upper);
	for (int64_t k = 0; k < s.g->count && (s.kind == L1 || s.kind == SUM_SQUARE); k++) {
		struct bpg_factor f = { .in = element(&s, k, &at) };
		f.index = at;
		if (s.kind == L1)
			absolute(at, f.in, lower, upper);
		else
			bpg_product_planes(&f, &f, true, lower, upper);
	}
	if (s.kind == LOG_SUM) {
		log_planes(&s, lower, upper);
		return;
	}
	if (s.kind != L2 && s.kind != LOG_SUM_EXP)
		return;
	double shift = s.kind == LOG_SUM_EXP ? top_of(&s) : 0, sum = chord_sum(&s, shift),
	       w = s.kind == L2 ? 0.5 / sqrt(sum) : 1 / sum;
	if (!(sum > 0x1p-200)) {
		bpg_plane_constant(lower, r.l);
		bpg_plane_constant(upper, r.u);
		return;
	}
	if (s.kind == L2) {
		norm_below(&s, r.l, lower);
		upper->bias = bpg_div_up(0.25, w);
	} else {
		gibbs_below(&s, r.l, lower);
		upper->bias = bpg_add_up(bpg_add_up(shift, -1), -bpg_log_down(w));
	}
	chords(&s, w, shift, upper);
}

static void reducenorm_sample(struct bpg_rng *rng, struct bpg_sample *s)
{
	static const char *const op[] = { "ReduceL1", "ReduceL2", "ReduceSumSquare", "ReduceLogSum", "ReduceLogSumExp" };
	int which = (int)bpg_rng_below(rng, 5);
	bool operand = bpg_rng_below(rng, 2); /* axes: an attribute until opset 17 */
	bpg_reduce_sample(rng, s, op[which], operand ? 18 : 13, operand, false);
	if (which == LOG_SUM)
		bpg_sample_domain(s, 0.1, 4);
}

BPG_GENERAL_LAYER(reducenorm, .ops = "ReduceL1 ReduceL2 ReduceSumSquare ReduceLogSum ReduceLogSumExp", .traits = BPG_NEEDS_SMOOTH,
                  .import = reducenorm_import, .eval = reducenorm_eval, .interval = reducenorm_interval,
                  .gradient = reducenorm_gradient, .planes = reducenorm_planes, .sample = reducenorm_sample);
