/* layer_exp.c - y = exp(x), elementwise. The library's exp is taken to be within 2 units in the last place (glibc states 1).
 *
 * The default lower tangent touches no further than 0.99 from l (auto_LiRPA): so the line is positive on the whole interval,
 * which a following Log or Reciprocal needs. */
#include <math.h>

#include "codelets/family_curve.h"

static double exp_f(double x, const void *attr)
{
	(void)attr;
	return exp(x);
}

static double exp_df(double x, const void *attr)
{
	(void)attr;
	return exp(x);
}

BPG_CURVE_UNARY(exp, .ulp = 2, .abs_err = 0x1p-1073);
static const struct bpg_curve exp_curve = {
	.unary = &exp_unary, .ddf = exp_df, .df_ulp = 2, .df_abs = 0x1p-1073, .curl = 1, .lead = 0.99,
};

BPG_UNARY_LAYER(exp, .ops = "Exp", .traits = BPG_MONOTONE | BPG_CONVEX | BPG_NEEDS_SMOOTH, .unary = &exp_unary);
