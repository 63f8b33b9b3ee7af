/* planes.c - planes of GENERAL layers, at points and over sub-boxes. */
#include <float.h>
#include <math.h>

#include "conformance/trial.h"

static enum bpg_status ask(struct bpg_trial *t)
{
	for (int k = 0; k < 2; k++) {
		t->side[k] = bpg_trial_alloc(t, t->n, sizeof *t->side[k]);
		for (int64_t i = 0; i < t->n; i++)
			bpg_terms_init(&t->side[k][i]);
	}
	for (int64_t i = 0; i < t->n; i++)
		t->layer->planes(&t->v, (const double *const *)t->l, (const double *const *)t->u, i, &t->side[0][i],
		                 &t->side[1][i]);
	return BPG_OK;
}

/* Side 1: the plane below, -1: above. */
static const struct bpg_terms *plane(const struct bpg_trial *t, int64_t i, int side)
{
	return &t->side[side < 0][i];
}

/* Coefficients are float32 numbers of variable operands, stated without error; an infinite bias points outward. */
static enum bpg_status is_legal(struct bpg_trial *t, int64_t i, int side)
{
	const struct bpg_terms *p = plane(t, i, side);
	BPG_REQUIRE(t, !p->failed, "no memory for plane %lld", (long long)i);
	BPG_REQUIRE(t, !isnan(p->bias) && (!isinf(p->bias) || side * p->bias < 0), "plane %lld has the bias %g", (long long)i,
	            p->bias);
	for (int k = 0; k < p->n; k++) {
		bool there = p->input[k] >= 0 && p->input[k] < t->v.nin && bpg_trial_variable(t, p->input[k]);
		there = there && p->index[k] >= 0 && p->index[k] < t->v.in[p->input[k]].n;
		BPG_REQUIRE(t, there, "term %d of plane %lld is outside its operand", k, (long long)i);
		BPG_REQUIRE(t, p->coef[k] == (float)p->coef[k] && p->err[k] == 0 && p->bias_err == 0, "coefficient %a of plane %lld",
		            p->coef[k], (long long)i);
	}
	return BPG_OK;
}

/* Greatest (side 1) or least (-1) value of the plane over a box, and the magnitude of what is summed. */
static long double farthest(const struct bpg_terms *p, int side, double *const *l, double *const *u, long double *magnitude)
{
	long double sum = p->bias;
	*magnitude = fabsl(sum);
	for (int k = 0; k < p->n; k++) {
		double x = (side * p->coef[k] > 0 ? u : l)[p->input[k]][p->index[k]];
		long double term = (long double)p->coef[k] * x;
		sum += term;
		*magnitude += fabsl(term);
	}
	return sum;
}

/* eval itself is within a few units in the last place. */
static enum bpg_status at_points(struct bpg_trial *t)
{
	double *y = bpg_trial_alloc(t, t->n, sizeof *y);
	for (int p = 0; p < 4 * BPG_TRIAL_POINTS; p++) {
		bpg_trial_point(t, p % 2);
		BPG_TRY(bpg_trial_eval(t, t->x, y));
		for (int64_t i = 0; i < t->n; i++)
			for (int side = 1; side >= -1; side -= 2) {
				long double magnitude, sum = farthest(plane(t, i, side), side, t->x, t->x, &magnitude);
				long double room = 16 * DBL_EPSILON * (magnitude + fabs(y[i]));
				BPG_REQUIRE(t, isinf(plane(t, i, side)->bias) || side * (y[i] - sum) >= -room,
				            "plane %lld gives %La, the value is %a", (long long)i, sum, y[i]);
			}
	}
	return BPG_OK;
}

/* Over any part of the box the lower plane stays below the greatest value, so it passes no upper end of an outward
 * interval: no tolerance but that of the sum here. Likewise the upper plane. */
static enum bpg_status over_parts(struct bpg_trial *t)
{
	static const double part[] = { 0, 0, 1e-9, 1e-3, 0.1, 1 };
	double *l[BPG_TRIAL_OPERANDS], *u[BPG_TRIAL_OPERANDS];
	double *lo = bpg_trial_alloc(t, t->n, sizeof *lo), *up = bpg_trial_alloc(t, t->n, sizeof *up);
	for (int p = 0; p < (int)(2 * BPG_LEN(part)); p++) {
		bpg_trial_part(t, part[p / 2], l, u);
		BPG_TRY(bpg_trial_interval(t, l, u, 0, t->n, lo, up));
		for (int64_t i = 0; i < t->n; i++)
			for (int side = 1; side >= -1; side -= 2) {
				const struct bpg_terms *q = plane(t, i, side);
				long double magnitude, most = farthest(q, side, l, u, &magnitude);
				long double room = magnitude * (q->n + 2) * 0x1p-63L;
				double end = side > 0 ? up[i] : lo[i];
				BPG_REQUIRE(t, isinf(q->bias) || side * (end - most) >= -room,
				            "plane %lld reaches %La, the values end at %a", (long long)i, most, end);
			}
	}
	return BPG_OK;
}

enum bpg_status bpg_keeps_planes(struct bpg_trial *t)
{
	BPG_TRY(ask(t));
	for (int64_t i = 0; i < t->n; i++) {
		BPG_TRY(is_legal(t, i, 1));
		BPG_TRY(is_legal(t, i, -1));
	}
	BPG_TRY(at_points(t));
	return over_parts(t);
}
