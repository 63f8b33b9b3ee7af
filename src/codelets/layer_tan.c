/* layer_tan.c - y = tan(x), elementwise, on one branch; nothing is known across a pole, and beyond 10^6, where the place of
 * the inflection is not known well enough. The library's tan is taken to be within 2 units in the last place (glibc: 1).
 *
 * Two points less than pi apart are on one branch when, and only when, tan rises from one to the other: were there a pole
 * between l and u, then u - pi < l on the branch of l, and tan(u) = tan(u - pi) < tan(l). */
#include <math.h>

#include "codelets/family_curve.h"

static double tan_f(double x, const void *attr)
{
	(void)attr;
	return tan(x);
}

static double tan_df(double x, const void *attr)
{
	(void)attr;
	double y = tan(x);
	return 1 + y * y;
}

static double tan_ddf(double x, const void *attr)
{
	(void)attr;
	double y = tan(x);
	return 2 * y * (1 + y * y);
}

/* 3.1415 and not more, so that the errors of tan do not matter. */
static bool tan_range(double l, double u, const void *attr, double *lo, double *up)
{
	(void)attr;
	*lo = -INFINITY;
	*up = INFINITY;
	return !(l > -1e6 && u < 1e6 && u - l < 3.1415 && tan(l) <= tan(u));
}

static int tan_bends(double l, double u, const void *attr, double at[BPG_BENDS], int curl[BPG_BENDS + 1])
{
	(void)attr;
	const double pi = 0x1.921fb54442d18p+1, pi_low = 0x1.1a62633145c07p-53;
	double k = rint((l + (u - l) / 2) / pi), x = fma(k, pi, k * pi_low);

	curl[0] = u <= x ? -1 : 1;
	if (!(l < x && x < u))
		return 0;
	at[0] = x;
	curl[0] = -1;
	curl[1] = 1;
	return 1;
}

static void tan_sample(struct bpg_rng *rng, struct bpg_sample *s)
{
	bpg_sample_box(rng, s);
	bpg_sample_domain(s, -1.4, 1.4);
}

BPG_CURVE_UNARY(tan, .ulp = 2, .abs_err = 0x1p-1000, .range = tan_range);
static const struct bpg_curve tan_curve = {
	.unary = &tan_unary, .ddf = tan_ddf, .df_ulp = 6, .df_abs = 1e-17, .bends = tan_bends,
};

BPG_UNARY_LAYER(tan, .ops = "Tan", .traits = BPG_NEEDS_SMOOTH, .unary = &tan_unary, .sample = tan_sample);
