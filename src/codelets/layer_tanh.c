/* layer_tanh.c - y = tanh(x), elementwise. The library's tanh is taken to be within 4 units in the last place (glibc
 * states 2). */
#include <math.h>

#include "codelets/family_unary.h"

static double tanh_slope(double x)
{
	double t = exp(-2 * fabs(x));
	return 4 * t / ((1 + t) * (1 + t));
}

static double tanh_curve(double x)
{
	return -2 * tanh(x) * tanh_slope(x);
}

static const struct bpg_sshape tanh_shape = { tanh, tanh_slope, tanh_curve, 350 };

static double tanh_f(double x, const void *attr)
{
	(void)attr;
	return tanh(x);
}

static double tanh_df(double x, const void *attr)
{
	(void)attr;
	return tanh_slope(x);
}

static struct bpg_slopes tanh_slopes(double l, double u, const double alpha[2], int rule, const void *attr)
{
	(void)rule;
	(void)attr;
	return bpg_sshape_slopes(&tanh_shape, l, u, alpha);
}

static void tanh_alpha_range(double l, double u, int side, const void *attr, double *least, double *most, double *start)
{
	(void)attr;
	bpg_sshape_alpha_range(&tanh_shape, l, u, side, least, most, start);
}

/* f' = 1 - y^2 = s: with y = sqrt(1 - s), x = atanh(y), and, without cancellation where s is small, x = log((1 + y) /
 * sqrt(s)). */
static int tanh_extremes(double s, double l, double u, const void *attr, double at[8])
{
	(void)attr;
	if (!(s > 0 && s < 1))
		return 0;
	double y = sqrt(1 - s), x = s > 0.25 ? atanh(y) : log1p(y) - 0.5 * log(s);
	int n = 0;
	if (-x > l && -x < u)
		at[n++] = -x;
	if (x > l && x < u)
		at[n++] = x;
	return n;
}

static const struct bpg_unary tanh_unary = {
	.f = tanh_f,
	.ulp = 4,
	.abs_err = 0x1p-1070,
	.df = tanh_df,
	.curvature = 0.7699, /* 4/(3 sqrt 3) */
	.slopes = tanh_slopes,
	.alpha_range = tanh_alpha_range,
	.enters = BPG_ALPHA_TANGENT,
	.extremes = tanh_extremes,
};

BPG_UNARY_LAYER(tanh, .ops = "Tanh", .traits = BPG_MONOTONE | BPG_NEEDS_SMOOTH, .unary = &tanh_unary);
