/* planes.c - planes of GENERAL layers, at points and over sub-boxes. */
#include <float.h>
#include <math.h>

#include "conformance/trial.h"

static struct bpg_terms *add(struct bpg_trial *t, int64_t i, int side, int which)
{
	struct bpg_trial_plane *p = &t->plane[t->planes++];
	p->i = i;
	p->side = side;
	p->which = which;
	bpg_terms_init(&p->terms);
	return &p->terms;
}

static void ask(struct bpg_trial *t)
{
	const double *const *l = (const double *const *)t->l, *const *u = (const double *const *)t->u;
	t->plane = bpg_trial_alloc(t, 2 * t->n * (1 + BPG_OTHERS), sizeof *t->plane);
	for (int64_t i = 0; i < t->n; i++) {
		struct bpg_terms *below = add(t, i, 1, -1), *above = add(t, i, -1, -1);
		t->layer->planes(&t->v, l, u, i, below, above);
		for (int side = 0; t->layer->others && side < 2; side++)
			for (int which = 0; which < BPG_OTHERS; which++)
				if (!t->layer->others(&t->v, l, u, i, side, which, add(t, i, side ? -1 : 1, which))) {
					bpg_terms_fini(&t->plane[--t->planes].terms);
					break;
				}
	}
}

#define WHERE "plane %lld%s "
#define ARGS(p) (long long)(p)->i, (p)->which < 0 ? "" : ", another one,"

/* Coefficients are float32 numbers of variable operands, stated without error; an infinite bias points outward. */
static enum bpg_status is_legal(struct bpg_trial *t, const struct bpg_trial_plane *q)
{
	const struct bpg_terms *p = &q->terms;
	BPG_REQUIRE(t, !p->failed, "no memory for plane %lld", (long long)q->i);
	BPG_REQUIRE(t, !isnan(p->bias) && (!isinf(p->bias) || q->side * p->bias < 0), WHERE "has the bias %g", ARGS(q), p->bias);
	for (int k = 0; k < p->n; k++) {
		bool there = p->input[k] >= 0 && p->input[k] < t->v.nin && bpg_trial_variable(t, p->input[k]);
		there = there && p->index[k] >= 0 && p->index[k] < t->v.in[p->input[k]].n;
		BPG_REQUIRE(t, there, WHERE "has term %d outside its operand", ARGS(q), k);
		BPG_REQUIRE(t, p->coef[k] == (float)p->coef[k] && p->err[k] == 0 && p->bias_err == 0, WHERE "has the coefficient %a",
		            ARGS(q), p->coef[k]);
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
		for (int64_t k = 0; k < t->planes; k++) {
			const struct bpg_trial_plane *q = &t->plane[k];
			long double magnitude, sum = farthest(&q->terms, q->side, t->x, t->x, &magnitude);
			long double room = 16 * DBL_EPSILON * (magnitude + fabs(y[q->i]));
			BPG_REQUIRE(t, isinf(q->terms.bias) || q->side * (y[q->i] - sum) >= -room, WHERE "gives %La, the value is %a",
			            ARGS(q), sum, y[q->i]);
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
		for (int64_t k = 0; k < t->planes; k++) {
			const struct bpg_trial_plane *q = &t->plane[k];
			long double magnitude, most = farthest(&q->terms, q->side, l, u, &magnitude);
			long double room = magnitude * (q->terms.n + 2) * 0x1p-63L;
			double end = q->side > 0 ? up[q->i] : lo[q->i];
			BPG_REQUIRE(t, isinf(q->terms.bias) || q->side * (end - most) >= -room, WHERE "reaches %La, the values end at %a",
			            ARGS(q), most, end);
		}
	}
	return BPG_OK;
}

enum bpg_status bpg_keeps_planes(struct bpg_trial *t)
{
	ask(t);
	for (int64_t k = 0; k < t->planes; k++)
		BPG_TRY(is_legal(t, &t->plane[k]));
	BPG_TRY(at_points(t));
	return over_parts(t);
}
