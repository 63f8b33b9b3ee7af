/* layer_erf.c - y = erf(x), elementwise. The library's erf is taken to be within 4 units in the last place (glibc states 1).
 * f' = 2/sqrt(pi) exp(-x^2): x^2 is rounded, which moves exp by x^2 exp(-x^2) 2^-53 < 2^-54 at most. */
#include <math.h>

#include "codelets/family_curve.h"

static double erf_f(double x, const void *attr)
{
	(void)attr;
	return erf(x);
}

static double erf_df(double x, const void *attr)
{
	(void)attr;
	return M_2_SQRTPI * exp(-x * x);
}

static double erf_ddf(double x, const void *attr)
{
	return -2 * x * erf_df(x, attr);
}

static int erf_bends(double l, double u, const void *attr, double at[BPG_BENDS], int curl[BPG_BENDS + 1])
{
	static const double inflection[] = { 0 };
	static const int piece[] = { 1, -1 };
	(void)attr;
	return bpg_curve_list(1, inflection, piece, l, u, at, curl);
}

BPG_CURVE_UNARY(erf, .ulp = 4, .abs_err = 0x1p-1070);
static const struct bpg_curve erf_curve = { .unary = &erf_unary, .ddf = erf_ddf, .df_ulp = 5, .df_abs = 2e-16, .bends = erf_bends,
                                            .far = 6, .tail = 3e-17 }; /* 1 - erf(6) < 2.2e-17 */

BPG_UNARY_LAYER(erf, .ops = "Erf", .traits = BPG_MONOTONE | BPG_NEEDS_SMOOTH, .unary = &erf_unary);
