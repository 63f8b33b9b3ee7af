/* layer_log.c - y = log(x), elementwise; -infinity at 0, nothing where x may be negative. The library's log is taken to be
 * within 2 units in the last place (glibc states 1). */
#include <math.h>

#include "codelets/family_curve.h"

static double log_f(double x, const void *attr)
{
	(void)attr;
	return log(x);
}

static double log_df(double x, const void *attr)
{
	(void)attr;
	return 1 / fabs(x);
}

static double log_ddf(double x, const void *attr)
{
	(void)attr;
	return -1 / x / x;
}

static bool log_range(double l, double u, const void *attr, double *lo, double *up)
{
	(void)u;
	(void)attr;
	*lo = -INFINITY;
	*up = INFINITY;
	return l < 0;
}

static void log_sample(struct bpg_rng *rng, struct bpg_sample *s)
{
	bpg_sample_box(rng, s);
	bpg_sample_domain(s, 0.05, 8);
}

BPG_CURVE_UNARY(log, .ulp = 2, .range = log_range);
static const struct bpg_curve log_curve = { .unary = &log_unary, .ddf = log_ddf, .df_ulp = 1, .df_abs = 0x1p-1073, .curl = -1 };

BPG_UNARY_LAYER(log, .ops = "Log", .traits = BPG_MONOTONE | BPG_CONCAVE | BPG_NEEDS_SMOOTH, .unary = &log_unary,
                .sample = log_sample);
