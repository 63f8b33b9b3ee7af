/* layer_sigmoid.c - y = 1 / (1 + exp(-x)), elementwise.
 *
 * Error of f as computed, in units of 2^-52 of the result, exp being within 2: with t = exp(-|x|) <= 1 the denominator
 * 1 + t is off by at most 2 t/(1 + t) + 1/2 <= 3/2, the numerator t by 2 (by 0 where it is 1), the quotient by 1/2: 4
 * together, 4.1 with products of errors. Below 2^-1022 exp is off by an absolute 2^-1074 at most a few times. */
#include <math.h>

#include "codelets/family_unary.h"

static double sigmoid(double x)
{
	double t = exp(-fabs(x));
	return x >= 0 ? 1 / (1 + t) : t / (1 + t);
}

static double sigmoid_slope(double x)
{
	double t = exp(-fabs(x));
	return t / ((1 + t) * (1 + t));
}

static double sigmoid_curve(double x)
{
	return -sigmoid_slope(x) * tanh(x / 2);
}

static const struct bpg_sshape sigmoid_shape = { sigmoid, sigmoid_slope, sigmoid_curve, 700 };

static double sigmoid_f(double x, const void *attr)
{
	(void)attr;
	return sigmoid(x);
}

static double sigmoid_df(double x, const void *attr)
{
	(void)attr;
	return sigmoid_slope(x);
}

static struct bpg_slopes sigmoid_slopes(double l, double u, const double alpha[2], int rule, const void *attr)
{
	(void)rule;
	(void)attr;
	return bpg_sshape_slopes(&sigmoid_shape, l, u, alpha);
}

static void sigmoid_alpha_range(double l, double u, int side, const void *attr, double *least, double *most, double *start)
{
	(void)attr;
	bpg_sshape_alpha_range(&sigmoid_shape, l, u, side, least, most, start);
}

/* f' = y (1 - y) = s: with r = sqrt(1 - 4 s) and y = (1 + r)/2, x = log(y / (1 - y)) = 2 atanh(r), and, without
 * cancellation where s is small, x = log(y^2 / s). */
static int sigmoid_extremes(double s, double l, double u, const void *attr, double at[8])
{
	(void)attr;
	if (!(s > 0 && s < 0.25))
		return 0;
	double r = sqrt(1 - 4 * s), x = s > 0x1p-4 ? 2 * atanh(r) : 2 * log((1 + r) / 2) - log(s);
	int n = 0;
	if (-x > l && -x < u)
		at[n++] = -x;
	if (x > l && x < u)
		at[n++] = x;
	return n;
}

static const struct bpg_unary sigmoid_unary = {
	.f = sigmoid_f,
	.ulp = 5,
	.abs_err = 0x1p-1070,
	.df = sigmoid_df,
	.curvature = 0.0963, /* 1/(6 sqrt 3) */
	.slopes = sigmoid_slopes,
	.alpha_range = sigmoid_alpha_range,
	.enters = BPG_ALPHA_TANGENT,
	.extremes = sigmoid_extremes,
};

BPG_UNARY_LAYER(sigmoid, .ops = "Sigmoid", .traits = BPG_MONOTONE | BPG_NEEDS_SMOOTH, .unary = &sigmoid_unary);
