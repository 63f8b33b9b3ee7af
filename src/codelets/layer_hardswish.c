/* layer_hardswish.c - y = x min(max(x + 3, 0), 6) / 6, elementwise: a parabola between -3 and 3, where its slopes -1/2 and
 * 3/2 meet the slopes 0 and 1 of the straight lines outside. */
#include <math.h>

#include "codelets/family_curve.h"

static double hardswish_f(double x, const void *attr)
{
	(void)attr;
	return x <= -3 ? 0 : x >= 3 ? x : x * (x + 3) / 6;
}

static double hardswish_df(double x, const void *attr)
{
	(void)attr;
	return x <= -3 ? 0 : x >= 3 ? 1 : (2 * x + 3) / 6;
}

static double hardswish_ddf(double x, const void *attr)
{
	(void)attr;
	return x <= -3 || x >= 3 ? 0 : 1.0 / 3;
}

static int hardswish_bends(double l, double u, const void *attr, double at[BPG_BENDS], int curl[BPG_BENDS + 1])
{
	static const double kink[] = { -3, 3 };
	static const int piece[] = { 0, 1, 0 };
	(void)attr;
	return bpg_curve_list(2, kink, piece, l, u, at, curl);
}

static int hardswish_turns(double l, double u, const void *attr, double at[8])
{
	(void)attr;
	at[0] = -1.5;
	at[1] = -3;
	return l < -1.5 && u > -1.5 ? 1 + (l < -3) : 0;
}

static int hardswish_kinks(double l, double u, const void *attr, double at[4])
{
	int n = 0;
	(void)attr;
	if (l < -3 && u > -3)
		at[n++] = -3;
	if (l < 3 && u > 3)
		at[n++] = 3;
	return n;
}

static void hardswish_sample(struct bpg_rng *rng, struct bpg_sample *s)
{
	bpg_sample_op(s, "HardSwish", 14);
	bpg_sample_box(rng, s);
	if (bpg_rng_below(rng, 2))
		bpg_sample_domain(s, -6, 6);
}

BPG_CURVE_UNARY(hardswish, .ulp = 2, .abs_err = 0x1p-1073, .turns = hardswish_turns, .kinks = hardswish_kinks);
static const struct bpg_curve hardswish_curve = { .unary = &hardswish_unary, .ddf = hardswish_ddf, .df_ulp = 2, .df_abs = 1e-15,
                                                  .bends = hardswish_bends };

BPG_UNARY_LAYER(hardswish, .ops = "HardSwish", .traits = BPG_NEEDS_SMOOTH, .unary = &hardswish_unary,
                .sample = hardswish_sample);
