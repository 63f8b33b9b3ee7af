/* layer_sin.c - Sin and Cos, elementwise. The library's are taken to be within 2 units in the last place (glibc states 1).
 *
 * Bends are the multiples of pi (Sin), or those plus pi/2 (Cos); turns the other ones. Beyond 10^6, where doubles no longer
 * tell such points to 1e-10, and over more than two periods, all that is used is that y lies between -1 and 1. */
#include <math.h>
#include <string.h>

#include "codelets/family_curve.h"

#define FAR 1e6
#define ERROR 0x1.8p-51             /* relative, of the library and of the sum with it */
static const double pi = 0x1.921fb54442d18p+1, pi_low = 0x1.1a62633145c07p-53;

static enum bpg_status sin_import(const struct bpg_import *im, struct bpg_node *v)
{
	BPG_TRY(bpg_import_same_shape(im, v));
	bool *cosine = bpg_import_alloc(im, 1, sizeof *cosine);
	if (!cosine)
		return bpg_import_fail(im, BPG_ENOMEM, "not enough memory");
	*cosine = !strcmp(v->op, "Cos");
	v->attr = cosine;
	return BPG_OK;
}

static double sin_f(double x, const void *attr)
{
	return *(const bool *)attr ? cos(x) : sin(x);
}

static double sin_df(double x, const void *attr)
{
	return *(const bool *)attr ? -sin(x) : cos(x);
}

static double sin_ddf(double x, const void *attr)
{
	return -sin_f(x, attr);
}

static bool is_near(double l, double u)
{
	return l > -FAR && u < FAR && u - l < 4 * pi;
}

/* Points k*pi + half*pi/2 of (l,u), at most 5 on two periods; *first: k of the first, or of the next one. */
static int multiples(double l, double u, bool half, double at[6], int64_t *first)
{
	int n = 0;
	int64_t k = (int64_t)floor(l / pi - (half ? 0.5 : 0)) - 1;
	for (;; k++) {
		double m = (double)k + (half ? 0.5 : 0), x = fma(m, pi, m * pi_low);
		if (x <= l)
			continue;
		if (n == 0)
			*first = k;
		if (x >= u || n == 6)
			return n;
		at[n++] = x;
	}
}

static int sin_bends(double l, double u, const void *attr, double at[BPG_BENDS], int curl[BPG_BENDS + 1])
{
	bool cosine = *(const bool *)attr;
	int64_t k;

	if (!is_near(l, u))
		return -1;
	int n = multiples(l, u, cosine, at, &k);
	for (int i = 0; i <= n; i++) { /* piece i ends at multiple k + i: sin is negative before even ones, cos positive */
		bool even = ((k + i) & 1) == 0;
		curl[i] = even == cosine ? -1 : 1;
	}
	return n;
}

/* Ends and turns, with what is true of every sine. */
static bool sin_range(double l, double u, const void *attr, double *lo, double *up)
{
	int64_t k;
	double at[8] = { l, u };
	*lo = -1;
	*up = 1;
	if (!is_near(l, u) || u - l >= 6.2831854)
		return true;
	int n = 2 + multiples(l, u, !*(const bool *)attr, at + 2, &k);
	double least = 1, most = -1;
	for (int i = 0; i < n; i++) {
		double y = sin_f(at[i], attr);
		least = fmin(least, y);
		most = fmax(most, y);
	}
	*lo = fmax(-1, least - ERROR * fabs(least));
	*up = fmin(1, most + ERROR * fabs(most));
	return true;
}

static void sin_sample(struct bpg_rng *rng, struct bpg_sample *s)
{
	bpg_sample_op(s, bpg_rng_below(rng, 2) ? "Cos" : "Sin", 13);
	bpg_sample_box(rng, s);
	if (bpg_rng_below(rng, 2))
		bpg_sample_domain(s, -20, 20);
}

BPG_CURVE_UNARY(sin, .ulp = 2, .abs_err = 0x1p-1000, .range = sin_range);
static const struct bpg_curve sin_curve = {
	.unary = &sin_unary, .ddf = sin_ddf, .df_ulp = 2, .df_abs = 1e-17, .bends = sin_bends,
};

BPG_UNARY_LAYER(sin, .ops = "Sin Cos", .traits = BPG_NEEDS_SMOOTH, .import = sin_import, .unary = &sin_unary,
                .sample = sin_sample);
