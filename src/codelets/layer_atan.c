/* layer_atan.c - y = atan(x), elementwise. The library's atan is taken to be within 2 units in the last place (glibc: 1). */
#include <math.h>

#include "codelets/family_curve.h"

static double atan_f(double x, const void *attr)
{
	(void)attr;
	return atan(x);
}

static double atan_df(double x, const void *attr)
{
	(void)attr;
	return 1 / (1 + x * x);
}

static double atan_ddf(double x, const void *attr)
{
	(void)attr;
	double d = 1 / (1 + x * x);
	return -2 * x * d * d;
}

static int atan_bends(double l, double u, const void *attr, double at[BPG_BENDS], int curl[BPG_BENDS + 1])
{
	static const double inflection[] = { 0 };
	static const int piece[] = { 1, -1 };
	(void)attr;
	return bpg_curve_list(1, inflection, piece, l, u, at, curl);
}

BPG_CURVE_UNARY(atan, .ulp = 2, .abs_err = 0x1p-1073);
static const struct bpg_curve atan_curve = {
	.unary = &atan_unary, .ddf = atan_ddf, .df_ulp = 3, .df_abs = 0x1p-1022, .bends = atan_bends,
};

BPG_UNARY_LAYER(atan, .ops = "Atan", .traits = BPG_MONOTONE | BPG_NEEDS_SMOOTH, .unary = &atan_unary);
