/* lines.c - lines of UNARY layers, below and above, over intervals of all kinds. */
#include <float.h>
#include <math.h>

#include "codelets/family_unary.h"
#include "conformance/trial.h"

enum { GRID = 64 };

/* One interval and the lines of the layer over it. */
struct lines {
	double l, u, alpha[2];
	int rule;
	struct bpg_planes1 p;
};

static int all_kinks(const struct bpg_trial *t, double at[4])
{
	const struct bpg_unary *f = t->layer->unary;
	return f->kinks ? f->kinks(-INFINITY, INFINITY, t->v.attr, at) : 0;
}

/* Ends often on or near kinks. */
static void draw_range(struct bpg_trial *t, double *l, double *u)
{
	static const double scale[] = { 1e-300, 1e-12, 1e-3, 1, 1, 1, 10, 1e3, 1e10, 1e30 };
	double kink[4] = { 0 };
	int n = all_kinks(t, kink);
	double a = scale[bpg_rng_below(&t->rng, 10)] * bpg_rng_normal(&t->rng), b;
	if (n && bpg_rng_below(&t->rng, 3) == 0)
		a = kink[bpg_rng_below(&t->rng, n)];
	switch (bpg_rng_below(&t->rng, 4)) {
	case 0:
		b = bpg_next_up(a);
		break;
	case 1:
		b = n ? kink[bpg_rng_below(&t->rng, n)] : 0;
		break;
	default:
		b = a + scale[bpg_rng_below(&t->rng, 10)] * bpg_rng_normal(&t->rng);
	}
	*l = fmin(a, b);
	*u = fmax(a, b);
}

/* The layer's own parameters, or legal ones. */
static enum bpg_status draw_alpha(struct bpg_trial *t, struct lines *q)
{
	const struct bpg_unary *f = t->layer->unary;
	for (int side = 0; side < 2; side++) {
		double least, most, start;
		q->alpha[side] = NAN;
		if (!f->alpha_range || !(q->l < q->u) || bpg_rng_below(&t->rng, 2))
			continue;
		f->alpha_range(q->l, q->u, side, t->v.attr, &least, &most, &start);
		BPG_REQUIRE(t, least <= start && start <= most, "start %g of side %d outside [%g, %g]", start, side, least, most);
		double end = bpg_rng_below(&t->rng, 2) ? least : most;
		q->alpha[side] = bpg_rng_below(&t->rng, 3) ? bpg_trial_uniform(t, least, most) : end;
	}
	q->rule = (int)bpg_rng_below(&t->rng, 4);
	bpg_unary_planes(&t->v, q->l, q->u, q->alpha, q->rule, bpg_rng_below(&t->rng, 2), &q->p);
	return BPG_OK;
}

static double slope_of(const struct lines *q, int side) { return side > 0 ? q->p.lo_slope : q->p.up_slope; }
static double bias_of(const struct lines *q, int side) { return side > 0 ? q->p.lo_bias : q->p.up_bias; }

/* side * (f - line) at x, and the error of both: f as computed is off by what the layer states, the line in long double by
 * its own roundings. */
static long double gap(const struct bpg_trial *t, const struct lines *q, int side, double x, long double *room)
{
	const struct bpg_unary *f = t->layer->unary;
	double y = f->f(x, t->v.attr);
	long double line = (long double)slope_of(q, side) * x + bias_of(q, side);
	*room = (f->ulp + 1) * DBL_EPSILON * fabs(y) + f->abs_err + 0x1p-1070;
	*room += 0x1p-62L * (fabsl((long double)slope_of(q, side) * x) + fabs(bias_of(q, side)));
	return side * (y - line);
}

static enum bpg_status check_at(struct bpg_trial *t, const struct lines *q, int side, double x, long double *g)
{
	long double room;
	*g = gap(t, q, side, x, &room);
	BPG_REQUIRE(t, !(*g < -room), "line %a x + %a over [%a, %a] passes the value by %Lg at %a", slope_of(q, side),
	            bias_of(q, side), q->l, q->u, -*g, x);
	return BPG_OK;
}

/* On a grid, and then where it is worst: golden sections about that point. */
static enum bpg_status check_values(struct bpg_trial *t, const struct lines *q, int side)
{
	long double g, least = INFINITY;
	int at = 0;
	for (int i = 0; i <= GRID; i++) {
		double x = i == GRID ? q->u : q->l + (q->u - q->l) * (i / (double)GRID);
		BPG_TRY(check_at(t, q, side, fmin(fmax(x, q->l), q->u), &g));
		if (g < least) {
			least = g;
			at = i;
		}
	}
	double a = q->l + (q->u - q->l) * (fmax(at - 1, 0) / GRID), b = q->l + (q->u - q->l) * (fmin(at + 1, GRID) / GRID);
	for (int i = 0; i < 40 && b > a; i++) {
		const double part = 0.381966011250105;
		double x = a + part * (b - a), y = b - part * (b - a);
		long double gx, gy;
		BPG_TRY(check_at(t, q, side, fmin(fmax(x, q->l), q->u), &gx));
		BPG_TRY(check_at(t, q, side, fmin(fmax(y, q->l), q->u), &gy));
		if (gx <= gy)
			b = y;
		else
			a = x;
	}
	return BPG_OK;
}

/* Over any part of the interval the lower line passes no upper end of the outward range, and conversely. */
static enum bpg_status check_parts(struct bpg_trial *t, const struct lines *q, int side)
{
	for (int i = 0; i < 16; i++) {
		double a = bpg_trial_uniform(t, q->l, q->u), b = i < 8 ? a : bpg_trial_uniform(t, q->l, q->u), lo, up;
		a = fmin(fmax(a, q->l), q->u);
		b = fmin(fmax(b, q->l), q->u);
		double s = slope_of(q, side), x = side * s > 0 ? fmax(a, b) : fmin(a, b);
		long double most = (long double)s * x + bias_of(q, side);
		long double room = 0x1p-62L * (fabsl((long double)s * x) + fabs(bias_of(q, side)));
		bpg_unary_range(&t->v, fmin(a, b), fmax(a, b), &lo, &up);
		double end = side > 0 ? up : lo;
		BPG_REQUIRE(t, side * (end - most) >= -room, "line %a x + %a over [%a, %a] reaches %La, the values end at %a", s,
		            bias_of(q, side), q->l, q->u, most, end);
	}
	return BPG_OK;
}

static enum bpg_status check_lines(struct bpg_trial *t, const struct lines *q)
{
	for (int side = 1; side >= -1; side -= 2) {
		double b = bias_of(q, side);
		BPG_REQUIRE(t, isfinite(slope_of(q, side)) && !isnan(b) && (!isinf(b) || side * b < 0),
		            "line over [%a, %a] is %g x + %g", q->l, q->u, slope_of(q, side), b);
		if (isinf(b) || !isfinite(q->l) || !isfinite(q->u))
			continue;
		BPG_TRY(check_values(t, q, side));
		BPG_TRY(check_parts(t, q, side));
	}
	return BPG_OK;
}

enum bpg_status bpg_keeps_lines(struct bpg_trial *t)
{
	for (int p = 0; p < 40; p++) {
		struct lines q;
		draw_range(t, &q.l, &q.u);
		BPG_TRY(draw_alpha(t, &q));
		BPG_TRY(check_lines(t, &q));
	}
	return BPG_OK;
}

/* ---- extremes ---- */

/* The outward range has f at both ends in it, and is one. */
static enum bpg_status check_range(struct bpg_trial *t, double l, double u)
{
	const struct bpg_unary *f = t->layer->unary;
	double lo, up;
	bpg_unary_range(&t->v, l, u, &lo, &up);
	BPG_REQUIRE(t, lo <= up, "range over [%a, %a] is [%a, %a]", l, u, lo, up);
	for (int k = 0; k < 2; k++) {
		double y = f->f(k ? u : l, t->v.attr), room = 2 * bpg_unary_error(f, y);
		BPG_REQUIRE(t, !isfinite(y) || (y >= lo - room && y <= up + room),
		            "the value %a at %a is outside the range [%a, %a] over [%a, %a]", y, k ? u : l, lo, up, l, u);
	}
	return BPG_OK;
}

enum bpg_status bpg_keeps_extremes(struct bpg_trial *t)
{
	double end[32] = { -INFINITY, -DBL_MAX, -1e300, -1e30, -700, -1, -1e-8, -1e-300, -0x1p-1074, 0,
		           INFINITY, DBL_MAX, 1e300, 1e30, 700, 1, 1e-8, 1e-300, 0x1p-1074 }, kink[4];
	int n = 19, kinks = all_kinks(t, kink);
	for (int i = 0; i < kinks; i++) {
		end[n++] = kink[i];
		end[n++] = bpg_next_down(kink[i]);
		end[n++] = bpg_next_up(kink[i]);
	}
	for (int p = 0; p < 40; p++) {
		double a = end[bpg_rng_below(&t->rng, n)], b = end[bpg_rng_below(&t->rng, n)];
		struct lines q = { .l = fmin(a, b), .u = fmax(a, b) };
		BPG_TRY(check_range(t, q.l, q.u));
		BPG_TRY(draw_alpha(t, &q));
		BPG_TRY(check_lines(t, &q));
	}
	return BPG_OK;
}

/* ---- derivatives of slopes ---- */

/* In order: lower by l, u, alpha; upper by l, u, alpha. */
static void stated(const struct bpg_slopes *s, double d[6])
{
	const double all[6] = { s->dlo_dl, s->dlo_du, s->dlo_dalpha, s->dup_dl, s->dup_du, s->dup_dalpha };
	for (int k = 0; k < 6; k++)
		d[k] = all[k];
}

/* Slopes with one of l, u, alpha (of the line in question) moved. */
static double moved(const struct bpg_trial *t, const struct lines *q, int k, double h)
{
	double l = q->l, u = q->u, alpha[2] = { q->alpha[0], q->alpha[1] };
	if (k % 3 == 0)
		l += h;
	else if (k % 3 == 1)
		u += h;
	else
		alpha[k / 3] += h;
	struct bpg_slopes s = t->layer->unary->slopes(l, u, alpha, q->rule, t->v.attr);
	return k < 3 ? s.lo : s.up;
}

/* 0 may say "not stated", but for alpha: the optimiser follows it. */
static enum bpg_status check_derivative(struct bpg_trial *t, const struct lines *q, int k, double d)
{
	const double h = 1e-6;
	double at = moved(t, q, k, 0), right = (moved(t, q, k, h) - at) / h, left = (at - moved(t, q, k, -h)) / h;
	if (fabs(right - left) > 1e-4 * (1 + fabs(right)) || (k % 3 != 2 && d == 0))
		return BPG_OK;
	BPG_REQUIRE(t, fabs(0.5 * (left + right) - d) <= 1e-3 * (1 + fabs(d)),
	            "slope over [%a, %a], alpha %g %g: derivative %d is %g, differences %g", q->l, q->u, q->alpha[0],
	            q->alpha[1], k, d, 0.5 * (left + right));
	return BPG_OK;
}

enum bpg_status bpg_keeps_slopes(struct bpg_trial *t)
{
	const struct bpg_unary *f = t->layer->unary;
	if (!f->alpha_range)
		return BPG_OK;
	for (int p = 0; p < 20; p++) {
		struct lines q = { .l = bpg_trial_uniform(t, t->s.lo, t->s.up), .rule = BPG_SLOPE_ADAPTIVE };
		double d[6], least[2], most[2], start;
		q.u = q.l + 0.01 + 3 * bpg_rng_uniform(&t->rng);
		for (int side = 0; side < 2; side++) {
			f->alpha_range(q.l, q.u, side, t->v.attr, &least[side], &most[side], &start);
			q.alpha[side] = least[side] + (0.1 + 0.8 * bpg_rng_uniform(&t->rng)) * (most[side] - least[side]);
		}
		struct bpg_slopes s = f->slopes(q.l, q.u, q.alpha, q.rule, t->v.attr);
		stated(&s, d);
		for (int k = 0; k < 6; k++)
			if (most[k / 3] - least[k / 3] > 1e-4)
				BPG_TRY(check_derivative(t, &q, k, d[k]));
	}
	return BPG_OK;
}
