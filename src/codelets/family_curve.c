/* family_curve.c - slopes and intercepts for functions with known bends.
 *
 * Slopes. The line below f that is closest on average over [l,u] is the one closest at the middle m, because a line's mean
 * is its value at m: it supports the convex envelope of f there. That is the tangent at m where this stays below f, else a
 * bridge between two points of contact left and right of m: ends, bends, or points of tangency. A bridge is found from
 * chords: of the present chord's slope s the minimum of f(x) - s*x is sought; where it lies below the chord, it replaces the
 * end on its side of m. This is Newton's method for the slope, and rises to it. Lines above are lines below -f.
 * Slopes are only proposals, so none of this needs proof.
 *
 * Intercepts. side*(f(x) - s*x) = g(x) is needed from below on [l,u], for any s. Between bends g is convex, straight or
 * concave; where it is not convex it has no minimum but at the ends of the piece, which are all candidates. On a convex
 * piece [p,q] g' = side*(f' - s) never falls. The sign of g' as computed counts where it exceeds the error of f'. If it is
 * certainly > 0 at p or < 0 at q, the minimum is at that end. Otherwise [p,q] is shrunk around the point x* where g' passes
 * zero, keeping g' not certainly positive at its left end `lo` and not certainly negative at its right end `hi`; so no
 * stationary point is ever outside. Any x in [lo,hi] will do as candidate: between x and x* g' lies between g'(x) and 0, so
 * g(x) - g(x*) <= |x - x*| |g'(x)| <= (hi - lo) (|g'(x) as computed| + its error), which is taken off. It is a product of
 * two small numbers: at a point found to a relative 1e-8, of second order.
 * At ends of pieces the sign is taken one unit in the last place inside, too, since f' jumps at kinks. Positions of bends are
 * rounded: between the rounded and the true one g deviates from convexity by no more than what f'' changes there, times the
 * square of that distance, 1e-25 of anything here, which the stated error of f covers many times over. */
#include "codelets/family_curve.h"

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "base/base.h"

/* ---- pieces ---- */

struct pieces {
	const struct bpg_curve *c;
	const void *attr;
	int side;
	double l, u;
	int n;                    /* bends; -1: too many */
	double at[BPG_BENDS];
	int curl[BPG_BENDS + 1];  /* of side * f */
};

static void cut(struct pieces *h, const struct bpg_curve *c, double l, double u, int side, const void *attr)
{
	*h = (struct pieces){ .c = c, .attr = attr, .side = side, .l = l, .u = u, .curl = { c->curl } };
	if (c->bends)
		h->n = c->bends(l, u, attr, h->at, h->curl);
	for (int i = 0; i <= h->n; i++)
		h->curl[i] *= side;
}

static double left_of(const struct pieces *h, int i) { return i > 0 ? h->at[i - 1] : h->l; }
static double right_of(const struct pieces *h, int i) { return i < h->n ? h->at[i] : h->u; }

static double value(const struct pieces *h, double x) { return h->side * h->c->unary->f(x, h->attr); }
static double slope(const struct pieces *h, double x) { return h->side * h->c->unary->df(x, h->attr); }
static double curvature(const struct pieces *h, double x) { return h->side * h->c->ddf(x, h->attr); }

int bpg_curve_list(int n, const double *point, const int *piece, double l, double u, double at[BPG_BENDS],
                   int curl[BPG_BENDS + 1])
{
	int k = 0, i = 0;
	while (i < n && point[i] <= l)
		i++;
	curl[0] = piece[i];
	for (; i < n && point[i] < u; i++) {
		at[k++] = point[i];
		curl[k] = piece[i + 1];
	}
	return k;
}

/* ---- where the slope is s, on a convex piece ---- */

/* Doubles in order of value as integers. */
static int64_t rank_of(double x)
{
	int64_t i;
	memcpy(&i, &x, sizeof i);
	return i < 0 ? INT64_MIN - i : i;
}

static double of_rank(int64_t i)
{
	double x;
	i = i < 0 ? INT64_MIN - i : i;
	memcpy(&x, &i, sizeof x);
	return x;
}

static double halfway(double a, double b)
{
	int64_t i = rank_of(a), j = rank_of(b);
	return of_rank((i & j) + ((i ^ j) >> 1));
}

struct probe {
	double w, err;            /* slope - s as computed, and its error */
};

static struct probe probe(const struct pieces *h, double s, double x)
{
	double d = slope(h, x);
	struct probe p = { .w = d - s, .err = 0 };
	if (isfinite(d)) /* the subtraction is within half a unit of w, far from where its sign is in doubt */
		p.err = 2 * h->c->df_ulp * DBL_EPSILON * fabs(d) + h->c->df_abs;
	return p;
}

/* Is side * w certainly > 0 at the end x of a piece? Where x is a kink, f' may be that of the other side: ask inside, too. */
static bool beyond(const struct pieces *h, double s, double x, double inside, int side)
{
	struct probe p = probe(h, s, x);
	if (!(side * p.w > p.err))
		return false;
	p = probe(h, s, inside);
	return side * p.w > p.err;
}

struct root {
	double x, slack;          /* value - s*x is at most this much lower somewhere on the piece */
};

/* What a slack may be: relative to s*x, and absolute. */
struct goal {
	double rel, abs;
};

/* The minimum of value - s*x inside the convex piece i; false: it is at an end. */
static bool find_root(const struct pieces *h, int i, double s, struct goal goal, struct root *r)
{
	double lo = left_of(h, i), hi = right_of(h, i);
	if (i > 0)
		lo = bpg_next_up(lo);
	if (i < h->n)
		hi = bpg_next_down(hi);
	if (!(lo < hi))
		return false;
	lo = fmax(lo, -DBL_MAX);
	hi = fmin(hi, DBL_MAX);
	if (beyond(h, s, lo, bpg_next_up(lo), 1) || beyond(h, s, hi, bpg_next_down(hi), -1))
		return false;

	double x = lo + (hi - lo) / 2;
	for (int k = 0; k < 200; k++) {
		if (!(x > lo && x < hi))
			x = halfway(lo, hi);
		struct probe p = probe(h, s, x);
		double width = fmax(hi - x, x - lo);
		bool certain = fabs(p.w) > p.err;
		if (certain) {
			width = p.w < 0 ? hi - x : x - lo;
			if (p.w < 0)
				lo = x;
			else
				hi = x;
		}
		r->x = x;
		r->slack = width * (fabs(p.w) + p.err) * (1 + 0x1p-50);
		if (isnan(r->slack))
			r->slack = INFINITY;
		if (!certain || r->slack <= goal.rel * fabs(s * x) + goal.abs || halfway(lo, hi) == lo)
			return true;
		/* Newton's step, a little beyond the root so that the bracket closes from both sides; halving now and then. */
		double step = -p.w / curvature(h, x), nudge = fmin(fabs(step) / 8, 1e-9 * fabs(x)) + fabs(x) * DBL_EPSILON;
		x = k % 4 == 3 ? (k % 8 == 3 ? lo + (hi - lo) / 2 : halfway(lo, hi)) : x + step + copysign(nudge, step);
	}
	return true;
}

/* ---- slopes ---- */

enum contact { AT_END, AT_BEND, AT_TANGENT };

struct touch {
	double x, g;
	enum contact kind;
};

static void consider(struct touch *t, const struct pieces *h, double s, double x, enum contact kind)
{
	double g = value(h, x) - s * x;
	if (g < t->g)
		*t = (struct touch){ x, g, kind };
}

/* Where value - s*x is least. */
static struct touch lowest(const struct pieces *h, double s)
{
	struct touch t = { h->l, INFINITY, AT_END };
	struct goal goal = { DBL_EPSILON, 1e-14 * fabs(s) * (h->u - h->l) + h->c->unary->abs_err };
	consider(&t, h, s, h->l, AT_END);
	consider(&t, h, s, h->u, AT_END);
	for (int i = 0; i < h->n; i++)
		consider(&t, h, s, h->at[i], AT_BEND);
	for (int i = 0; i <= h->n; i++) {
		struct root r;
		if (h->curl[i] > 0 && find_root(h, i, s, goal, &r))
			consider(&t, h, s, r.x, AT_TANGENT);
	}
	return t;
}

static int piece_of(const struct pieces *h, double x)
{
	int i = 0;
	while (i < h->n && h->at[i] < x)
		i++;
	return i;
}

/* The line that supports the envelope at x: the tangent there (a.x == b.x), or a bridge. */
struct support {
	double s;
	struct touch a, b;
};

static double noise(const struct pieces *h, double s, double a, double b)
{
	return 8 * DBL_EPSILON * (fabs(value(h, a)) + fabs(value(h, b)) + fabs(s) * fmax(fabs(a), fabs(b))) +
	       2 * h->c->unary->abs_err;
}

/* Slopes that f has: a chord's leaves them only by rounding. */
static void slopes_of(const struct pieces *h, double *least, double *most)
{
	*least = INFINITY;
	*most = -INFINITY;
	for (int i = 0; i <= h->n; i++) {
		double a = slope(h, bpg_next_up(left_of(h, i))), b = slope(h, bpg_next_down(right_of(h, i)));
		*least = fmin(*least, fmin(a, b));
		*most = fmax(*most, fmax(a, b));
	}
}

static bool tangent_at(const struct pieces *h, double x, struct support *t)
{
	int i = piece_of(h, x);
	if (h->curl[i] < 0 || !(x > left_of(h, i) || i == 0) || !(x < right_of(h, i) || i == h->n))
		return false;
	t->s = slope(h, x);
	if (!isfinite(t->s))
		return false;
	t->a = t->b = (struct touch){ x, value(h, x) - t->s * x, AT_TANGENT };
	double tolerance = noise(h, t->s, x, x);
	if (h->n == 0)
		return true;
	for (int k = 0; k <= h->n + 1; k++) { /* the cheap candidates first */
		double y = k == 0 ? h->l : k <= h->n ? h->at[k - 1] : h->u;
		if (value(h, y) - t->s * y < t->a.g - tolerance)
			return false;
	}
	return lowest(h, t->s).g >= t->a.g - tolerance;
}

static struct support support_at(const struct pieces *h, double x)
{
	struct support t;
	double least, most;

	if (tangent_at(h, x, &t))
		return t;
	t.a = (struct touch){ h->l, 0, AT_END };
	t.b = (struct touch){ h->u, 0, AT_END };
	slopes_of(h, &least, &most);
	for (int k = 0; k < 60; k++) {
		t.s = (value(h, t.b.x) - value(h, t.a.x)) / (t.b.x - t.a.x);
		t.s = fmin(fmax(t.s, least), most);
		struct touch low = lowest(h, t.s);
		if (!(low.g < value(h, t.a.x) - t.s * t.a.x - noise(h, t.s, t.a.x, t.b.x)))
			break;
		if (low.x <= x && low.x > t.a.x)
			t.a = low;
		else if (low.x > x && low.x < t.b.x)
			t.b = low;
		else
			break;
	}
	return t;
}

struct side_slope {
	double s, dl, du, dalpha;
};

static struct side_slope tangent_slope(const struct pieces *h, double d)
{
	return (struct side_slope){ .s = slope(h, d) };
}

static double middle(double l, double u)
{
	return l + (u - l) / 2;
}

/* Slope of the lower line of side * f. */
static struct side_slope choose(const struct pieces *h, double alpha)
{
	double m = middle(h->l, h->u), lead = h->side > 0 ? h->c->lead : 0;
	struct support t = support_at(h, m);
	bool arc = t.a.x == t.b.x, tangent = arc || t.a.kind == AT_TANGENT || t.b.kind == AT_TANGENT;
	struct side_slope r;

	if (!isnan(alpha) && tangent) {
		double d = fmin(fmax(alpha, h->l), h->u), bend = curvature(h, d);
		r = tangent_slope(h, d);
		r.dalpha = d == alpha ? bend : 0;
		r.dl = alpha < h->l ? bend : 0;
		r.du = alpha > h->u ? bend : 0;
		return r;
	}
	if (arc && lead > 0 && h->l + lead < m) {
		r = tangent_slope(h, h->l + lead);
		r.dl = curvature(h, h->l + lead);
		return r;
	}
	r = (struct side_slope){ .s = t.s };
	if (arc) {
		r.dl = r.du = curvature(h, m) / 2;
		return r;
	}
	double w = t.b.x - t.a.x;
	if (t.a.kind == AT_END)
		r.dl = (t.s - slope(h, h->l)) / w;
	if (t.b.kind == AT_END)
		r.du = (slope(h, h->u) - t.s) / w;
	return r;
}

/* Pieces whose slopes are worth a search. sound, not tight: horizontal lines over unbounded intervals. */
static bool prepare(struct pieces *h, const struct bpg_curve *c, double l, double u, int side, const void *attr)
{
	if (!isfinite(u - l) || !(l < u))
		return false;
	cut(h, c, l, u, side, attr);
	return h->n >= 0;
}

static double or_zero(double x)
{
	return isfinite(x) ? x : 0;
}

struct bpg_slopes bpg_curve_slopes(const struct bpg_curve *c, double l, double u, const double alpha[2], const void *attr)
{
	struct pieces h;
	double a, b;

	if (c->unary->range && c->unary->range(l, u, attr, &a, &b) && isinf(a) && isinf(b))
		return (struct bpg_slopes){ 0 };
	if (!prepare(&h, c, l, u, 1, attr))
		return (struct bpg_slopes){ 0 };
	struct side_slope lo = choose(&h, alpha[0]);
	prepare(&h, c, l, u, -1, attr);
	struct side_slope up = choose(&h, alpha[1]);
	return (struct bpg_slopes){.lo = lo.s,
	                           .dlo_dl = or_zero(lo.dl),
	                           .dlo_du = or_zero(lo.du),
	                           .dlo_dalpha = or_zero(lo.dalpha),
	                           .up = -up.s,
	                           .dup_dl = or_zero(-up.dl),
	                           .dup_du = or_zero(-up.du),
	                           .dup_dalpha = or_zero(-up.dalpha)};
}

/* Valid tangents of a convex piece touch between the bridges over its ends. */
void bpg_curve_alpha_range(const struct bpg_curve *c, double l, double u, int side, const void *attr, double *least,
                           double *most, double *start)
{
	struct pieces h;
	double m = middle(l, u), a, b;

	*least = *most = *start = isfinite(m) ? m : 0;
	if (c->unary->range && c->unary->range(l, u, attr, &a, &b) && isinf(a) && isinf(b))
		return;
	if (!prepare(&h, c, l, u, side == 0 ? 1 : -1, attr))
		return;
	struct support t = support_at(&h, m);
	if (t.a.x != t.b.x && t.a.kind != AT_TANGENT && t.b.kind != AT_TANGENT)
		return;
	double d = t.a.kind == AT_TANGENT ? t.a.x : t.b.x;
	int i = piece_of(&h, d);
	*least = left_of(&h, i);
	*most = right_of(&h, i);
	if (i > 0)
		*least = fmin(fmax(support_at(&h, *least).b.x, *least), d);
	if (i < h.n)
		*most = fmax(fmin(support_at(&h, *most).a.x, *most), d);
	*start = side == 0 && c->lead > 0 ? fmax(*least, fmin(d, l + c->lead)) : d;
}

/* ---- intercepts ---- */

/* Least value - s*x found so far, outward; s is that of side * f. */
static void lower_to(double *least, double g)
{
	if (!(g >= *least))
		*least = isnan(g) ? -INFINITY : g;
}

static void candidate(double *least, const struct pieces *h, double s, double x, double slack)
{
	double y = value(h, x);
	if (isinf(x)) {
		double err = s == 0 && isfinite(y) ? bpg_unary_error(h->c->unary, y) : 0;
		lower_to(least, err > 0 ? bpg_line_below(y, err, 0, 0) : s == 0 ? y : y - s * x);
		return;
	}
	if (isinf(y) && y > 0) /* overflowed, or a pole */
		y = DBL_MAX / 2;
	double err = bpg_unary_error(h->c->unary, y);
	lower_to(least, bpg_line_below(y, slack > 0 ? bpg_next_up(err + slack) : err, s, x));
}

/* More bends than are worth a search: by the range of f. */
static double by_range(const struct pieces *h, double s)
{
	double lo, up, least = INFINITY;
	if (!h->c->unary->range || !h->c->unary->range(h->l, h->u, h->attr, &lo, &up))
		return -INFINITY;
	double y = h->side > 0 ? lo : -up;
	lower_to(&least, s == 0 ? y : bpg_line_below(y, 0, s, h->l));
	lower_to(&least, s == 0 ? y : bpg_line_below(y, 0, s, h->u));
	return least;
}

/* [from,to] lies beyond `far`. */
static void straight_tail(double *least, const struct pieces *h, double s, double from, double to)
{
	candidate(least, h, s, from, 2 * h->c->tail);
	candidate(least, h, s, to, 2 * h->c->tail);
}

static double below(const struct bpg_curve *c, double s, double l, double u, int side, const void *attr)
{
	const struct goal goal = { DBL_EPSILON / 4, c->unary->abs_err / 4 };
	double least = INFINITY;
	struct pieces h;

	cut(&h, c, l, u, side, attr);
	if (h.n < 0)
		return by_range(&h, s);
	candidate(&least, &h, s, l, 0);
	candidate(&least, &h, s, u, 0);
	if (c->far > 0 && u > c->far) {
		straight_tail(&least, &h, s, fmax(l, c->far), u);
		u = fmax(l, c->far);
	}
	if (c->far > 0 && l < -c->far) {
		straight_tail(&least, &h, s, l, fmin(u, -c->far));
		l = fmin(u, -c->far);
	}
	if (!(l < u))
		return least;
	cut(&h, c, l, u, side, attr);
	for (int i = 0; i < h.n; i++)
		candidate(&least, &h, s, h.at[i], 0);
	for (int i = 0; i <= h.n; i++) {
		struct root r;
		if (h.curl[i] > 0 && find_root(&h, i, s, goal, &r))
			candidate(&least, &h, s, r.x, r.slack);
	}
	return least;
}

double bpg_curve_intercept(const struct bpg_curve *c, double s, double l, double u, int side, const void *attr)
{
	double least = below(c, side * s, l, u, side, attr);
	return side * (least == INFINITY ? -INFINITY : least);
}
