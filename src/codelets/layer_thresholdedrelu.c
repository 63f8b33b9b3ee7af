/* layer_thresholdedrelu.c - y = x where x > a, 0 elsewhere, elementwise: jumps from 0 to a. */
#include <math.h>

#include "codelets/family_curve.h"

static enum bpg_status thresholdedrelu_import(const struct bpg_import *im, struct bpg_node *v)
{
	BPG_TRY(bpg_import_same_shape(im, v));
	double *a = bpg_import_alloc(im, 1, sizeof *a);
	if (!a)
		return bpg_import_fail(im, BPG_ENOMEM, "not enough memory");
	*a = bpg_import_float(im, "alpha", 1);
	if (!isfinite(*a))
		return bpg_import_fail(im, BPG_EFILE, "alpha is not a finite number; re-export the network");
	v->attr = a;
	return BPG_OK;
}

static double thresholdedrelu_f(double x, const void *attr)
{
	double a = *(const double *)attr;
	return x > a || isnan(x) ? x : 0;
}

static double thresholdedrelu_df(double x, const void *attr)
{
	return x > *(const double *)attr;
}

static struct bpg_corners thresholdedrelu_corners(double l, double u, const void *attr)
{
	double a = *(const double *)attr, y = thresholdedrelu_f(l, attr), z = thresholdedrelu_f(u, attr);
	bool jumps = l == a && u > a;
	struct bpg_corners c = { 0 };

	bpg_corners_add(&c, l, jumps ? fmin(y, a) : y, jumps ? fmax(y, a) : y);
	if (l < a && a < u)
		bpg_corners_add(&c, a, fmin(0, a), fmax(0, a));
	bpg_corners_add(&c, u, z, z);
	return c;
}

static struct bpg_slopes thresholdedrelu_slopes(double l, double u, const double alpha[2], int rule, const void *attr)
{
	(void)alpha;
	(void)rule;
	struct bpg_corners c = thresholdedrelu_corners(l, u, attr);
	return bpg_corners_slopes(&c, l >= *(const double *)attr, u > *(const double *)attr);
}

static double thresholdedrelu_intercept(double s, double l, double u, int side, const void *attr)
{
	struct bpg_corners c = thresholdedrelu_corners(l, u, attr);
	return bpg_corners_intercept(&c, s, side);
}

/* With a jump down it does not rise. */
static bool thresholdedrelu_range(double l, double u, const void *attr, double *lo, double *up)
{
	double a = *(const double *)attr;
	if (!(a < 0 && l <= a && u > a))
		return false;
	*lo = a;
	*up = fmax(u, 0);
	return true;
}

static int thresholdedrelu_kinks(double l, double u, const void *attr, double at[4])
{
	at[0] = *(const double *)attr;
	return l < at[0] && at[0] < u;
}

static void thresholdedrelu_sample(struct bpg_rng *rng, struct bpg_sample *s)
{
	bpg_sample_op(s, "ThresholdedRelu", 10);
	if (bpg_rng_below(rng, 4))
		bpg_sample_float(s, "alpha", bpg_rng_uniform(rng) * 3 - 1);
	bpg_sample_box(rng, s);
}

static const struct bpg_unary thresholdedrelu_unary = {
	.f = thresholdedrelu_f,
	.df = thresholdedrelu_df,
	.slopes = thresholdedrelu_slopes,
	.range = thresholdedrelu_range,
	.intercept = thresholdedrelu_intercept,
	.kinks = thresholdedrelu_kinks,
};

BPG_UNARY_LAYER(thresholdedrelu, .ops = "ThresholdedRelu", .traits = BPG_NEEDS_KINK, .import = thresholdedrelu_import,
                .unary = &thresholdedrelu_unary, .sample = thresholdedrelu_sample);
