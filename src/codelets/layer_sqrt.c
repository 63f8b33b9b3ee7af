/* layer_sqrt.c - y = sqrt(x), elementwise; nothing where x may be negative. sqrt is correctly rounded. */
#include <math.h>

#include "codelets/family_curve.h"

static double sqrt_f(double x, const void *attr)
{
	(void)attr;
	return sqrt(x);
}

static double sqrt_df(double x, const void *attr)
{
	(void)attr;
	return 0.5 / fabs(sqrt(x));
}

static double sqrt_ddf(double x, const void *attr)
{
	(void)attr;
	return -0.25 / x / sqrt(x);
}

static bool sqrt_range(double l, double u, const void *attr, double *lo, double *up)
{
	(void)u;
	(void)attr;
	*lo = -INFINITY;
	*up = INFINITY;
	return l < 0;
}

static void sqrt_sample(struct bpg_rng *rng, struct bpg_sample *s)
{
	bpg_sample_box(rng, s);
	bpg_sample_domain(s, 0, 8);
}

BPG_CURVE_UNARY(sqrt, .ulp = 1, .range = sqrt_range);
static const struct bpg_curve sqrt_curve = { .unary = &sqrt_unary, .ddf = sqrt_ddf, .df_ulp = 2, .curl = -1 };

BPG_UNARY_LAYER(sqrt, .ops = "Sqrt", .traits = BPG_MONOTONE | BPG_CONCAVE | BPG_NEEDS_SMOOTH, .unary = &sqrt_unary,
                .sample = sqrt_sample);
