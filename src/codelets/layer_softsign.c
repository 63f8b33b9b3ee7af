/* layer_softsign.c - y = x / (1 + |x|), elementwise: three roundings, of which the first two count half a unit each. */
#include <math.h>

#include "codelets/family_curve.h"

static double softsign_f(double x, const void *attr)
{
	(void)attr;
	return isinf(x) ? copysign(1, x) : x / (1 + fabs(x));
}

static double softsign_df(double x, const void *attr)
{
	(void)attr;
	double t = 1 / (1 + fabs(x));
	return t * t;
}

static double softsign_ddf(double x, const void *attr)
{
	(void)attr;
	double t = 1 / (1 + fabs(x));
	return (x < 0 ? 2 : -2) * t * t * t;
}

static int softsign_bends(double l, double u, const void *attr, double at[BPG_BENDS], int curl[BPG_BENDS + 1])
{
	static const double inflection[] = { 0 };
	static const int piece[] = { 1, -1 };
	(void)attr;
	return bpg_curve_list(1, inflection, piece, l, u, at, curl);
}

BPG_CURVE_UNARY(softsign, .ulp = 2, .abs_err = 0x1p-1073);
static const struct bpg_curve softsign_curve = { .unary = &softsign_unary, .ddf = softsign_ddf, .df_ulp = 4, .df_abs = 0x1p-1022,
                                                 .bends = softsign_bends };

BPG_UNARY_LAYER(softsign, .ops = "Softsign", .traits = BPG_MONOTONE | BPG_NEEDS_SMOOTH, .unary = &softsign_unary);
