/* layer_softplus.c - y = log(1 + exp x), elementwise, as max(x, 0) + log1p(exp(-|x|)): log1p and exp within 2 units in the
 * last place (glibc states 1), and the sum. */
#include <math.h>

#include "codelets/family_curve.h"

static double softplus_f(double x, const void *attr)
{
	(void)attr;
	return (x > 0 ? x : 0) + log1p(exp(-fabs(x)));
}

static double softplus_df(double x, const void *attr)
{
	(void)attr;
	double t = exp(-fabs(x));
	return x >= 0 ? 1 / (1 + t) : t / (1 + t);
}

static double softplus_ddf(double x, const void *attr)
{
	(void)attr;
	double t = exp(-fabs(x));
	return t / ((1 + t) * (1 + t));
}

BPG_CURVE_UNARY(softplus, .ulp = 5, .abs_err = 0x1p-1070);
static const struct bpg_curve softplus_curve = { .unary = &softplus_unary, .ddf = softplus_ddf, .df_ulp = 5, .df_abs = 0x1p-1070,
                                                 .curl = 1, .far = 40, .tail = 5e-18 }; /* exp(-40) < 4.3e-18 */

BPG_UNARY_LAYER(softplus, .ops = "Softplus", .traits = BPG_MONOTONE | BPG_CONVEX | BPG_NEEDS_SMOOTH, .unary = &softplus_unary);
