/* layer_mish.c - y = x tanh(log(1 + exp x)), elementwise.
 *
 * With e = exp x, n = e (e + 2): tanh(log(1 + e)) = n/(n + 2), with no cancellation: six operations, exp within 2 units in
 * the last place. Beyond 30 it is x up to x exp(-60). f' = n/(n + 2) + x 4 e (e + 1)/(n + 2)^2, a sum of terms below 2. */
#include <math.h>

#include "codelets/family_curve.h"

static double mish_f(double x, const void *attr)
{
	(void)attr;
	double e = exp(x), n = e * (e + 2);
	return x > 30 ? x : isinf(x) ? 0 : x * (n / (n + 2));
}

static double mish_df(double x, const void *attr)
{
	(void)attr;
	double e = exp(x), n = e * (e + 2), d = n + 2;
	return x > 30 ? 1 : x < -800 ? 0 : n / d + x * (4 * e * (e + 1) / (d * d));
}

static double mish_ddf(double x, const void *attr)
{
	(void)attr;
	double e = exp(x), d = e * (e + 2) + 2, dn = 2 * e * (e + 1), ddn = 2 * e * (2 * e + 1);
	if (fabs(x) > 30)
		return x > 0 ? 0 : 2 * e + x * e;
	return 4 * dn / (d * d) + x * (2 * ddn / (d * d) - 4 * dn * dn / (d * d * d));
}

static int mish_bends(double l, double u, const void *attr, double at[BPG_BENDS], int curl[BPG_BENDS + 1])
{
	static const double inflection[] = { -2.25637639636079312, 1.4905711794854284593 };
	static const int piece[] = { -1, 1, -1 };
	(void)attr;
	return bpg_curve_list(2, inflection, piece, l, u, at, curl);
}

static int mish_turns(double l, double u, const void *attr, double at[8])
{
	(void)attr;
	at[0] = -1.1924312145154952121;
	return l < at[0] && at[0] < u;
}

static void mish_sample(struct bpg_rng *rng, struct bpg_sample *s)
{
	bpg_sample_op(s, "Mish", 18);
	bpg_sample_box(rng, s);
}

BPG_CURVE_UNARY(mish, .ulp = 8, .abs_err = 0x1p-1060, .turns = mish_turns);
static const struct bpg_curve mish_curve = {
	.unary = &mish_unary, .ddf = mish_ddf, .df_ulp = 8, .df_abs = 2e-15, .bends = mish_bends, .far = 45,
	.tail = 3e-18,
}; /* 45 exp(-45) < 1.3e-18, left; right 1e-37 */

BPG_UNARY_LAYER(mish, .ops = "Mish", .traits = BPG_NEEDS_SMOOTH, .unary = &mish_unary, .sample = mish_sample);
