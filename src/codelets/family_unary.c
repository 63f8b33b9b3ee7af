/* family_unary.c - the family of elementwise functions: what a layer leaves out is derived here.
 *
 * How intercepts are proved. The lower intercept for the slope s is the minimum of g(x) = f(x) - s*x on [l,u]. f is
 * continuous and, between the points that `extremes` knows exactly (kinks, true solutions of f'(x) = s), g is monotone;
 * so its minimum is at l, at u, at a kink or at a solution x*. A layer gives x* as c with |c - x*| <= 1e-6 (1 + |x*|).
 * Taylor at x*, where g' = 0: |g(x*) - g(c)| <= K/2 (c - x*)^2 with K = max |f''|. `extremes` is asked on a slightly
 * wider interval, and c is moved to the end it overshot: were x* inside, the end would lie between c and x*, or c within
 * the error; either way the distance, and the bound, only shrink. Every g(c) is taken with the error of f as computed,
 * and with exact products and sums (error-free transformations), rounded outward once.
 *
 * Functions that jump, or whose curvature has no bound, state `intercept` themselves (family_curve.c, family_corners.c).
 *
 * For piecewise linear functions (whose df must be exact, and f exact at kinks) an end is compared with the kink of its
 * piece by the sign of (f' - s)(end - kink), without rounding: so lines through a kink have no slack. */
#include <float.h>
#include <math.h>

#include "base/base.h"
#include "codelets/family.h"
#include "codelets/family_unary.h"

/* ---- one value, outward ---- */

/* y - s*x - err, rounded down. Products that underflow are exact up to 2^-1074. */
double bpg_line_below(double y, double err, double s, double x)
{
	double p = s * x, q = fma(s, x, -p);
	double d = y - p, z = d - y;
	double r = (y - (d - z)) + (-p - z); /* y - p = d + r exactly */

	if (!isfinite(d) || !isfinite(p) || !isfinite(err) || !isfinite(r))
		return -INFINITY;
	double t = r - q;
	if (r != 0 && q != 0)
		t = bpg_next_down(t);
	if (err > 0)
		t = bpg_next_down(t - err);
	if (fabs(p) < 0x1p-960 && s != 0 && x != 0 && fabs(s) != 1)
		t = bpg_next_down(t - 0x1p-1074);

	double b = d + t, w = b - d;
	if ((d - (b - w)) + (t - w) < 0)
		b = bpg_next_down(b);
	return b;
}

double bpg_line_above(double y, double err, double s, double x)
{
	return -bpg_line_below(-y, err, -s, x);
}

double bpg_unary_error(const struct bpg_unary *f, double y)
{
	if (f->ulp == 0 && f->abs_err == 0)
		return 0;
	return (f->ulp * fabs(y) * DBL_EPSILON + f->ulp * 0x1p-1074 + f->abs_err) * (1 + 0x1p-50);
}

/* ---- range ---- */

struct range {
	double lo, up;
};

static void range_add(struct range *r, const struct bpg_node *v, double x)
{
	const struct bpg_unary *f = v->layer->unary;
	double y = f->f(x, v->attr), err = bpg_unary_error(f, y);

	if (isnan(y)) {
		*r = (struct range){ -INFINITY, INFINITY };
		return;
	}
	double lo = y, up = y;
	if (err > 0 && isfinite(y)) {
		lo = bpg_next_down(y - err);
		up = bpg_next_up(y + err);
	} else if (isinf(y)) { /* f overflowed, or grows without limit: what is known is one-sided */
		lo = y > 0 ? DBL_MAX / 2 : y;
		up = y < 0 ? -DBL_MAX / 2 : y;
	}
	r->lo = fmin(r->lo, lo);
	r->up = fmax(r->up, up);
}

static bool is_nothing(double l, double u)
{
	return isnan(l) || isnan(u) || l > u;
}

static bool is_everything(double lo, double up)
{
	return lo == -INFINITY && up == INFINITY;
}

void bpg_unary_range(const struct bpg_node *v, double l, double u, double *lo, double *up)
{
	const struct bpg_unary *f = v->layer->unary;
	struct range r = { INFINITY, -INFINITY };

	if (is_nothing(l, u)) {
		l = -INFINITY;
		u = INFINITY;
	}
	if (f->range && f->range(l, u, v->attr, lo, up))
		return;
	range_add(&r, v, l);
	range_add(&r, v, u);
	if (f->turns) {
		double at[8];
		int n = f->turns(l, u, v->attr, at);
		for (int i = 0; i < n; i++)
			range_add(&r, v, fmin(fmax(at[i], l), u));
	}
	*lo = r.lo + 0.0;
	*up = r.up + 0.0;
}

/* ---- intercepts ---- */

/* Minimum of side*(f(x) - s*x); side is 1, or -1 for the upper line. */
struct intercept {
	const struct bpg_node *v;
	double s, l, u;
	int side;
	double least;
};

static void add(struct intercept *t, double g)
{
	if (!(g >= t->least))
		t->least = isnan(g) ? -INFINITY : g;
}

/* Candidate at a finite or infinite x; slack: what the true extreme may lie beyond it. */
static void add_point(struct intercept *t, double x, double slack)
{
	const struct bpg_unary *f = t->v->layer->unary;
	double y = f->f(x, t->v->attr);
	if (isinf(x)) {
		double g = t->s == 0 ? y : y - t->s * x;
		double err = t->s == 0 && isfinite(y) ? bpg_unary_error(f, y) : 0;
		add(t, err > 0 ? bpg_line_below(t->side * y, err, 0, 0) : t->side * g);
		return;
	}
	if (isinf(y))
		y = t->side * y > 0 ? copysign(DBL_MAX / 2, y) : y;
	double err = bpg_unary_error(f, y);
	add(t, bpg_line_below(t->side * y, slack > 0 ? bpg_next_up(err + slack) : err, t->side * t->s, x));
}

/* f is exact at the kinks of piecewise linear functions. */
static void add_kink(struct intercept *t, double x)
{
	add(t, bpg_line_below(t->side * t->v->layer->unary->f(x, t->v->attr), 0, t->side * t->s, x));
}

/* Slope of the piece between two kinks, at its point x, which may be infinite. */
static double piece_slope(const struct bpg_node *v, double x, double left, double right)
{
	if (isinf(x))
		x = isfinite(left) ? left + 1 + fabs(left) : isfinite(right) ? right - 1 - fabs(right) : 0;
	return v->layer->unary->df(x, v->attr);
}

/* End of the interval of a piecewise linear function; kink: all kinks, of the whole line. */
static void add_end(struct intercept *t, double x, const double *kink, int n)
{
	double left = -INFINITY, right = INFINITY;

	for (int i = 0; i < n; i++) {
		if (kink[i] == x) {
			add_kink(t, x);
			return;
		}
		if (kink[i] < x)
			left = fmax(left, kink[i]);
		else
			right = fmin(right, kink[i]);
	}
	double slope = piece_slope(t->v, x, left, right), rise = t->side * (slope > t->s ? 1 : slope < t->s ? -1 : 0);
	if (rise == 0 && (isfinite(left) || isfinite(right))) {
		add_kink(t, isfinite(left) ? left : right); /* g is constant on the closed piece */
		return;
	}
	/* Lower by, or equal at, a kink that is a candidate itself. */
	if (isfinite(left) && left >= t->l && rise >= 0)
		return;
	if (isfinite(right) && right <= t->u && rise <= 0)
		return;
	if (isinf(x))
		add(t, (x > 0) == (rise > 0) ? INFINITY : -INFINITY);
	else
		add_point(t, x, 0);
}

static int all_kinks(const struct bpg_node *v, double s, double at[8])
{
	const struct bpg_unary *f = v->layer->unary;
	if (f->extremes)
		return f->extremes(s, -INFINITY, INFINITY, v->attr, at);
	return f->kinks ? f->kinks(-INFINITY, INFINITY, v->attr, at) : 0;
}

static void piecewise(struct intercept *t)
{
	double kink[8];
	int n = all_kinks(t->v, t->s, kink);

	for (int i = 0; i < n; i++)
		if (kink[i] > t->l && kink[i] < t->u)
			add_kink(t, kink[i]);
	add_end(t, t->l, kink, n);
	add_end(t, t->u, kink, n);
}

static void smooth(struct intercept *t)
{
	const struct bpg_unary *f = t->v->layer->unary;

	add_point(t, t->l, 0);
	add_point(t, t->u, 0);
	if (!f->extremes)
		return;
	double at[8], l = t->l - 1e-5 * (1 + fabs(t->l)), u = t->u + 1e-5 * (1 + fabs(t->u));
	int n = f->extremes(t->s, l, u, t->v->attr, at);
	for (int i = 0; i < n; i++) {
		double x = fmin(fmax(at[i], t->l), t->u), d = 2e-6 * (1 + fabs(x));
		add_point(t, x, f->curvature > 0 ? bpg_next_up(0.5 * f->curvature * d * d * (1 + 0x1p-50)) : 0);
	}
}

/* Outward intercept: at most min g for side 1; for side -1 at least max g. */
static double intercept(const struct bpg_node *v, double s, double l, double u, int side)
{
	const struct bpg_unary *f = v->layer->unary;
	if (f->intercept)
		return f->intercept(s, l, u, side, v->attr) + 0.0;

	struct intercept t = { .v = v, .s = s, .l = l, .u = u, .side = side, .least = INFINITY };

	if (v->layer->traits & BPG_PIECEWISE)
		piecewise(&t);
	else
		smooth(&t);
	if (t.least == INFINITY)
		t.least = -INFINITY;
	return side * t.least + 0.0;
}

/* ---- planes ---- */

static double legal_slope(double s, bool wide)
{
	if (isnan(s))
		return 0;
	if (!wide)
		s = fmax(fmin(s, FLT_MAX), -FLT_MAX);
	s = wide ? fmax(fmin(s, DBL_MAX), -DBL_MAX) : (float)s;
	return s + 0.0;
}

void bpg_unary_planes(const struct bpg_node *v, double l, double u, const double alpha[2], int rule, bool wide,
                      struct bpg_planes1 *p)
{
	static const double none[2] = { NAN, NAN };
	double lo, up;

	*p = (struct bpg_planes1){ 0 };
	bpg_unary_range(v, l, u, &lo, &up);
	/* A pole hides between the candidates of any line. */
	bool pole = v->layer->unary->range && is_everything(lo, up);
	if (is_nothing(l, u) || l == u || pole) {
		p->lo_bias = lo;
		p->up_bias = up;
		return;
	}
	struct bpg_slopes s = v->layer->unary->slopes(l, u, alpha ? alpha : none, rule, v->attr);
	p->lo_slope = legal_slope(s.lo, wide);
	p->up_slope = legal_slope(s.up, wide);
	p->lo_bias = intercept(v, p->lo_slope, l, u, 1);
	p->up_bias = intercept(v, p->up_slope, l, u, -1);
	/* For a horizontal line the range is at least as good. */
	if (!isfinite(p->lo_bias) || (p->lo_slope == 0 && lo > p->lo_bias)) {
		p->lo_slope = 0;
		p->lo_bias = lo;
	}
	if (!isfinite(p->up_bias) || (p->up_slope == 0 && up < p->up_bias)) {
		p->up_slope = 0;
		p->up_bias = up;
	}
}

/* ---- defaults of the callbacks ---- */

enum bpg_status bpg_unary_default_eval(const struct bpg_node *v, const double *const *x, double *y)
{
	for (int64_t i = 0; i < v->out.n; i++)
		y[i] = v->layer->unary->f(x[0][i], v->attr);
	return BPG_OK;
}

enum bpg_status bpg_unary_default_eval_f32(const struct bpg_node *v, const float *const *x, float *y)
{
	for (int64_t i = 0; i < v->out.n; i++)
		y[i] = (float)v->layer->unary->f(x[0][i], v->attr);
	return BPG_OK;
}

enum bpg_status bpg_unary_default_interval(const struct bpg_node *v, const double *const *l, const double *const *u,
                                           int64_t first, int64_t n, double *lo, double *up)
{
	for (int64_t i = 0; i < n; i++)
		bpg_unary_range(v, l[0][first + i], u[0][first + i], &lo[i], &up[i]);
	return BPG_OK;
}

enum bpg_status bpg_unary_default_gradient(const struct bpg_node *v, const double *const *x, const double *gy,
                                           double *const *gx)
{
	if (!gx[0])
		return BPG_OK;
	for (int64_t i = 0; i < v->out.n; i++)
		gx[0][i] += v->layer->unary->df(x[0][i], v->attr) * gy[i];
	return BPG_OK;
}
