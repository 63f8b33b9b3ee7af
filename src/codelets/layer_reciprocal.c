/* layer_reciprocal.c - y = 1/x, elementwise, on either side of the pole; nothing where x may be 0. */
#include <math.h>

#include "codelets/family_curve.h"

static double reciprocal_f(double x, const void *attr)
{
	(void)attr;
	return 1 / x;
}

static double reciprocal_df(double x, const void *attr)
{
	(void)attr;
	return -(1 / x) * (1 / x);
}

static double reciprocal_ddf(double x, const void *attr)
{
	(void)attr;
	return 2 / x / x / x;
}

static bool reciprocal_range(double l, double u, const void *attr, double *lo, double *up)
{
	(void)attr;
	*lo = -INFINITY;
	*up = INFINITY;
	return l <= 0 && u >= 0;
}

/* Convex right of the pole, concave left of it. */
static int reciprocal_bends(double l, double u, const void *attr, double at[BPG_BENDS], int curl[BPG_BENDS + 1])
{
	(void)u;
	(void)attr;
	(void)at;
	curl[0] = l > 0 ? 1 : -1;
	return 0;
}

static void reciprocal_sample(struct bpg_rng *rng, struct bpg_sample *s)
{
	bpg_sample_box(rng, s);
	if (bpg_rng_below(rng, 2))
		bpg_sample_domain(s, 0.05, 4);
	else
		bpg_sample_domain(s, -4, -0.05);
}

BPG_CURVE_UNARY(reciprocal, .ulp = 1, .abs_err = 0x1p-1073, .range = reciprocal_range);
static const struct bpg_curve reciprocal_curve = { .unary = &reciprocal_unary, .ddf = reciprocal_ddf, .df_ulp = 3,
                                                   .df_abs = 0x1p-1073, .bends = reciprocal_bends };

BPG_UNARY_LAYER(reciprocal, .ops = "Reciprocal", .traits = BPG_NEEDS_SMOOTH, .unary = &reciprocal_unary,
                .sample = reciprocal_sample);
