/* layer_relu.c - y = max(x, 0), elementwise.
 * Slopes: Zhang et al. 2018 (CROWN); free lower slope alpha in [0,1]: Xu et al. 2021 (alpha-CROWN). */
#include <math.h>

#include "codelets/family_unary.h"

static double relu_f(double x, const void *attr)
{
	(void)attr;
	return x > 0 || isnan(x) ? x : 0;
}

static double relu_df(double x, const void *attr)
{
	(void)attr;
	return x > 0;
}

static int relu_kinks(double l, double u, const void *attr, double at[4])
{
	(void)attr;
	if (!(l < 0 && u > 0))
		return 0;
	at[0] = 0;
	return 1;
}

static int relu_extremes(double s, double l, double u, const void *attr, double at[8])
{
	(void)s;
	return relu_kinks(l, u, attr, at);
}

/* relu(x) - s x at an end of the interval, rounded down (side 1) or up. */
static double relu_above_line(double s, double x, int side)
{
	if (s == 0 || x == 0)
		return x > 0 ? x : 0;
	if (x > 0 && s == 1)
		return 0;
	if (isinf(x))
		return x > 0 ? (1 - s) * x : -s * x;
	return side > 0 ? bpg_line_below(x > 0 ? x : 0, 0, s, x) : bpg_line_above(x > 0 ? x : 0, 0, s, x);
}

/* Straight on both sides of 0: the extreme is at an end or there. */
static double relu_intercept(double s, double l, double u, int side, const void *attr)
{
	(void)attr;
	if (side > 0 && l < 0 && u > 0 && s >= 0 && s <= 1)
		return 0;
	double a = relu_above_line(s, l, side), b = relu_above_line(s, u, side);
	if (l < 0 && u > 0)
		return side > 0 ? fmin(0, fmin(a, b)) : fmax(0, fmax(a, b));
	return side > 0 ? fmin(a, b) : fmax(a, b);
}

/* The lower line of an unstable neuron passes through the origin: any slope in [0,1] is valid. The upper is the chord. */
static struct bpg_slopes relu_slopes(double l, double u, const double alpha[2], int rule, const void *attr)
{
	(void)attr;
	if (l >= 0)
		return (struct bpg_slopes){ .lo = 1, .up = 1 };
	if (u <= 0)
		return (struct bpg_slopes){ 0 };

	double w = u - l, a = alpha[0];
	struct bpg_slopes s = { .up = u / w, .dup_dl = u / w / w, .dup_du = -l / w / w };
	if (!isnan(a)) {
		s.lo = a < 0 ? 0 : a > 1 ? 1 : a;
		s.dlo_dalpha = a >= 0 && a <= 1;
	} else if (rule == BPG_SLOPE_SAME) {
		s.lo = s.up;
		s.dlo_dl = s.dup_dl;
		s.dlo_du = s.dup_du;
	} else if (rule == BPG_SLOPE_ONE) {
		s.lo = 1;
	} else if (rule == BPG_SLOPE_ADAPTIVE) {
		s.lo = u > -l;
	}
	return s;
}

static void relu_alpha_range(double l, double u, int side, const void *attr, double *least, double *most, double *start)
{
	(void)attr;
	bool free_slope = side == 0 && l < 0 && u > 0;
	*least = 0;
	*most = free_slope;
	*start = free_slope && u > -l;
}

static const struct bpg_unary relu_unary = {
	.f = relu_f,
	.df = relu_df,
	.slopes = relu_slopes,
	.alpha_range = relu_alpha_range,
	.enters = BPG_ALPHA_SLOPE,
	.extremes = relu_extremes,
	.intercept = relu_intercept,
	.kinks = relu_kinks,
};

BPG_UNARY_LAYER(relu, .ops = "Relu",
                .traits = BPG_MONOTONE | BPG_CONVEX | BPG_PIECEWISE | BPG_FREE_SLOPE | BPG_NEEDS_KINK,
                .unary = &relu_unary);
