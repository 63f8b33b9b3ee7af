/* values.c - values, intervals and gradients of any layer. */
#include <float.h>
#include <math.h>

#include "codelets/family_unary.h"
#include "conformance/trial.h"
#include "net/const.h"

/* The value lies in the interval. eval of layers that are not LINEAR is within a few units in the last place, and up to
 * what rounding its operands does where sums cancel. */
static enum bpg_status in_interval(struct bpg_trial *t, const double *y)
{
	for (int64_t i = 0; i < t->n; i++) {
		long double exact = y[i], slack = 16 * DBL_EPSILON * fabsl(exact) + 0x1p-1000L, magnitude, err;
		if (t->row) {
			/* 64-bit sums are 2^-64 apart per operation; the row itself is known up to err */
			exact = bpg_trial_row(t, i, &magnitude, &err);
			slack = err + magnitude * (t->row[i].n + 4) * 0x1p-63L;
			BPG_REQUIRE(t, fabsl(exact - y[i]) <= (t->row[i].n + 8) * 0x1p-52L * magnitude + err + 0x1p-1060L,
			            "eval %lld is %a, the row gives %La", (long long)i, y[i], exact);
		}
		BPG_REQUIRE(t, exact >= t->lo[i] - slack && exact <= t->up[i] + slack, "value %lld is %La, outside [%a, %a]",
		            (long long)i, exact, t->lo[i], t->up[i]);
	}
	return BPG_OK;
}

/* A float32 runtime's values are near those in double. Rounds t->x. */
static enum bpg_status near_in_float(struct bpg_trial *t, double *y)
{
	float *yf = bpg_trial_alloc(t, t->n, sizeof *yf), *xf[BPG_TRIAL_OPERANDS];
	for (int k = 0; k < t->v.nin; k++) {
		xf[k] = bpg_trial_alloc(t, t->v.in[k].n, sizeof *xf[k]);
		for (int64_t i = 0; t->x[k] && i < t->v.in[k].n; i++)
			t->x[k][i] = xf[k][i] = (float)t->x[k][i];
	}
	BPG_TRY(bpg_trial_eval(t, t->x, y));
	enum bpg_status st = bpg_node_eval_f32(&t->v, (const float *const *)xf, yf);
	BPG_REQUIRE(t, st == BPG_OK, "eval_f32 failed with %d", (int)st);
	double *move;
	BPG_TRY(bpg_trial_sway(t, 0x1p-22, &move));
	for (int64_t i = 0; i < t->n; i++) {
		long double magnitude = fabs(y[i]) + (move ? 0x1p22 * move[i] : 0), err;
		int terms = 8;
		if (t->row) {
			bpg_trial_row(t, i, &magnitude, &err);
			terms += t->row[i].n;
		}
		BPG_REQUIRE(t, fabsl((long double)yf[i] - y[i]) <= terms * 0x1p-22L * magnitude + 1e-30L,
		            "eval_f32 %lld is %a, eval %a", (long long)i, yf[i], y[i]);
	}
	for (int k = 0; k < t->v.nin; k++)   /* constants that are no floats */
		if (t->x[k] && t->v.in[k].value)
			bpg_const_read(t->v.in[k].value, 0, t->v.in[k].n, t->x[k]);
	return BPG_OK;
}

enum bpg_status bpg_keeps_values(struct bpg_trial *t)
{
	double *y = bpg_trial_alloc(t, t->n, sizeof *y);
	for (int p = 0; p < BPG_TRIAL_POINTS; p++) {
		bpg_trial_point(t, p % 2);
		BPG_TRY(bpg_trial_eval(t, t->x, y));
		BPG_TRY(in_interval(t, y));
		BPG_TRY(near_in_float(t, y));
	}
	return BPG_OK;
}

/* Work is cut differently from run to run. */
enum bpg_status bpg_keeps_pieces(struct bpg_trial *t)
{
	double *lo = bpg_trial_alloc(t, t->n, sizeof *lo), *up = bpg_trial_alloc(t, t->n, sizeof *up);
	for (int64_t first = 0; first < t->n;) {
		int64_t n = 1 + bpg_rng_below(&t->rng, t->n - first);
		BPG_TRY(bpg_trial_interval(t, t->l, t->u, first, n, lo + first, up + first));
		first += n;
	}
	for (int64_t i = 0; i < t->n; i++)
		BPG_REQUIRE(t, lo[i] == t->lo[i] && up[i] == t->up[i], "interval %lld in pieces is [%a, %a], whole [%a, %a]",
		            (long long)i, lo[i], up[i], t->lo[i], t->up[i]);
	return BPG_OK;
}

/* The interval of a box of width zero is the value, up to rounding: nothing divides by u - l. */
static enum bpg_status at_point(struct bpg_trial *t, double **l, double **u, double *lo, double *up)
{
	double *y = bpg_trial_alloc(t, t->n, sizeof *y), *move;
	bpg_trial_point(t, false);
	BPG_TRY(bpg_trial_eval(t, t->x, y));
	for (int k = 0; k < t->v.nin; k++)
		for (int64_t i = 0; l[k] && i < t->v.in[k].n; i++)
			l[k][i] = u[k][i] = t->x[k][i];
	BPG_TRY(bpg_trial_interval(t, l, u, 0, t->n, lo, up));
	BPG_TRY(bpg_trial_sway(t, 16 * DBL_EPSILON, &move));
	for (int64_t i = 0; i < t->n; i++) {
		double room = t->row ? bpg_trial_rounding(t, i) : 64 * DBL_EPSILON * fabs(y[i]) + 1e-300 + (move ? move[i] : 0);
		BPG_REQUIRE(t, up[i] - lo[i] <= room && lo[i] <= y[i] + room && up[i] >= y[i] - room,
		            "interval %lld of a point is [%a, %a], the value %a", (long long)i, lo[i], up[i], y[i]);
	}
	return BPG_OK;
}

/* What rounding may do to the ends of intervals: bounds of whole sums; for UNARY layers twice the error that f states, since
 * a computed function is not quite monotone; for GENERAL layers what moving a point of the box a little does. */
static enum bpg_status rooms(struct bpg_trial *t, double **room)
{
	double *move;
	BPG_TRY(bpg_trial_sway(t, 64 * DBL_EPSILON, &move));
	*room = bpg_trial_alloc(t, t->n, sizeof **room);
	for (int64_t i = 0; i < t->n; i++) {
		double size = fmin(fmax(fabs(t->lo[i]), fabs(t->up[i])), DBL_MAX);
		if (t->layer->family == BPG_UNARY)
			(*room)[i] = 2 * bpg_unary_error(t->layer->unary, size);
		else
			(*room)[i] = move ? move[i] + 128 * DBL_EPSILON * size : bpg_trial_rounding(t, i);
	}
	return BPG_OK;
}

enum bpg_status bpg_keeps_nesting(struct bpg_trial *t)
{
	double *l[BPG_TRIAL_OPERANDS], *u[BPG_TRIAL_OPERANDS];
	double *lo = bpg_trial_alloc(t, t->n, sizeof *lo), *up = bpg_trial_alloc(t, t->n, sizeof *up);
	double *room;
	BPG_TRY(rooms(t, &room));
	bpg_trial_part(t, 1, l, u);
	BPG_TRY(bpg_trial_interval(t, l, u, 0, t->n, lo, up));
	for (int64_t i = 0; i < t->n; i++)
		BPG_REQUIRE(t, lo[i] >= t->lo[i] - room[i] && up[i] <= t->up[i] + room[i],
		            "sub-interval %lld is [%a, %a], outside [%a, %a]", (long long)i, lo[i], up[i], t->lo[i], t->up[i]);
	return at_point(t, l, u, lo, up);
}

/* LINEAR: what reads an infinite end with a coefficient is infinite. */
static enum bpg_status reads_infinite(struct bpg_trial *t, double *const *l, double *const *u, int64_t i, double lo, double up)
{
	bool below = false, above = false;
	for (int k = 0; k < t->row[i].n; k++) {
		int input = t->row[i].input[k];
		double c = t->row[i].coef[k], a = l[input][t->row[i].index[k]], b = u[input][t->row[i].index[k]];
		below = below || (c > 0 && isinf(a)) || (c < 0 && isinf(b));
		above = above || (c > 0 && isinf(b)) || (c < 0 && isinf(a));
	}
	BPG_REQUIRE(t, (!below || lo == -INFINITY) && (!above || up == INFINITY), "interval %lld is [%a, %a], not infinite",
	            (long long)i, lo, up);
	return BPG_OK;
}

enum bpg_status bpg_keeps_infinite(struct bpg_trial *t)
{
	double *l[BPG_TRIAL_OPERANDS], *u[BPG_TRIAL_OPERANDS];
	double *lo = bpg_trial_alloc(t, t->n, sizeof *lo), *up = bpg_trial_alloc(t, t->n, sizeof *up);
	double *room;
	BPG_TRY(rooms(t, &room));
	bpg_trial_part(t, 0, l, u);
	for (int k = 0; k < t->v.nin; k++)
		for (int64_t i = 0; l[k] && i < t->v.in[k].n; i++) {
			l[k][i] = bpg_rng_below(&t->rng, 8) ? t->l[k][i] : bpg_rng_below(&t->rng, 2) ? -INFINITY : -1e308;
			u[k][i] = bpg_rng_below(&t->rng, 8) ? t->u[k][i] : bpg_rng_below(&t->rng, 2) ? INFINITY : 1e308;
		}
	BPG_TRY(bpg_trial_interval(t, l, u, 0, t->n, lo, up));
	for (int64_t i = 0; i < t->n; i++) {
		BPG_REQUIRE(t, lo[i] <= t->lo[i] + room[i] && up[i] >= t->up[i] - room[i],
		            "interval %lld of an infinite box is [%a, %a], of a smaller one [%a, %a]", (long long)i, lo[i], up[i],
		            t->lo[i], t->up[i]);
		if (t->row)
			BPG_TRY(reads_infinite(t, l, u, i, lo[i], up[i]));
	}
	return BPG_OK;
}

/* ---- gradient ---- */

static enum bpg_status probe(struct bpg_trial *t, const double *gy, double *y, double *sum)
{
	BPG_TRY(bpg_trial_eval(t, t->x, y));
	*sum = 0;
	for (int64_t i = 0; i < t->n; i++)
		*sum += gy[i] * y[i];
	return BPG_OK;
}

/* Element i of operand k, where the differences on both sides agree (no kink nearby). */
static enum bpg_status compare(struct bpg_trial *t, const double *gy, double *y, double at, int k, int64_t i, double g)
{
	const double h = 1e-5;
	double x = t->x[k][i], more, less;
	t->x[k][i] = x + h;
	BPG_TRY(probe(t, gy, y, &more));
	t->x[k][i] = x - h;
	BPG_TRY(probe(t, gy, y, &less));
	t->x[k][i] = x;
	double right = (more - at) / h, left = (at - less) / h;
	if (fabs(right - left) > 1e-3 * (1 + fabs(right)))
		return BPG_OK;
	BPG_REQUIRE(t, fabs(0.5 * (left + right) - g) <= 1e-4 * (1 + fabs(right)) + 2e-9 * fabs(at),
	            "gradient by element %lld of operand %d is %g, differences %g", (long long)i, k, g, 0.5 * (left + right));
	return BPG_OK;
}

enum bpg_status bpg_keeps_gradient(struct bpg_trial *t)
{
	double *gx[BPG_TRIAL_OPERANDS], *gy = bpg_trial_alloc(t, t->n, sizeof *gy), *y = bpg_trial_alloc(t, t->n, sizeof *y), at;
	bpg_trial_point(t, false);
	for (int64_t i = 0; i < t->n; i++)
		gy[i] = bpg_rng_normal(&t->rng);
	for (int k = 0; k < t->v.nin; k++) {
		gx[k] = bpg_trial_variable(t, k) ? bpg_trial_alloc(t, t->v.in[k].n, sizeof **gx) : NULL;
		for (int64_t i = 0; gx[k] && i < t->v.in[k].n; i++)
			gx[k][i] = 1;   /* the gradient is added */
	}
	enum bpg_status st = bpg_node_gradient(&t->v, (const double *const *)t->x, gy, gx);
	BPG_REQUIRE(t, st == BPG_OK, "gradient failed with %d", (int)st);
	BPG_TRY(probe(t, gy, y, &at));
	for (int k = 0; k < t->v.nin; k++)
		for (int64_t i = 0; gx[k] && i < t->v.in[k].n; i += 1 + t->v.in[k].n / 16)
			BPG_TRY(compare(t, gy, y, at, k, i, gx[k][i] - 1));
	return BPG_OK;
}
