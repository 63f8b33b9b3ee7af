/* layer_hardsigmoid.c - y = min(max(a x + b, 0), 1), elementwise; a x + b is rounded once. The corners -b/a and (1 - b)/a are
 * rounded, by a relative 2^-52 or less, so that y there is off by at most 2^-52 (1 + |b|); twice that is counted. */
#include <float.h>
#include <math.h>

#include "codelets/family_curve.h"

struct hardsigmoid {
	double a, b;
};

static enum bpg_status hardsigmoid_import(const struct bpg_import *im, struct bpg_node *v)
{
	BPG_TRY(bpg_import_same_shape(im, v));
	struct hardsigmoid *p = bpg_import_alloc(im, 1, sizeof *p);
	if (!p)
		return bpg_import_fail(im, BPG_ENOMEM, "not enough memory");
	*p = (struct hardsigmoid){ bpg_import_float(im, "alpha", 0.2f), bpg_import_float(im, "beta", 0.5f) };
	if (!(p->a > 1e-6 && p->a < 1e6 && fabs(p->b) < 1e3))
		return bpg_import_fail(im, BPG_EUNSUPPORTED, "alpha %g or beta %g is not in the range that is supported", p->a,
		                       p->b);
	v->attr = p;
	return BPG_OK;
}

static double hardsigmoid_f(double x, const void *attr)
{
	const struct hardsigmoid *p = attr;
	double y = fma(p->a, x, p->b);
	return y < 0 ? 0 : y > 1 ? 1 : y;
}

static double hardsigmoid_df(double x, const void *attr)
{
	const struct hardsigmoid *p = attr;
	double y = fma(p->a, x, p->b);
	return y > 0 && y < 1 ? p->a : 0;
}

static int hardsigmoid_kinks(double l, double u, const void *attr, double at[4])
{
	const struct hardsigmoid *p = attr;
	double kink[2] = { -p->b / p->a, (1 - p->b) / p->a };
	int n = 0;
	for (int i = 0; i < 2; i++)
		if (l < kink[i] && kink[i] < u)
			at[n++] = kink[i];
	return n;
}

static struct bpg_corners hardsigmoid_corners(double l, double u, const void *attr)
{
	const struct hardsigmoid *p = attr;
	double a = hardsigmoid_f(l, attr), b = hardsigmoid_f(u, attr), kink[4];
	int n = hardsigmoid_kinks(l, u, attr, kink);
	struct bpg_corners c = { .err = n ? 2 * DBL_EPSILON * (1 + fabs(p->b)) : (b > 0 && a < 1) * DBL_EPSILON };

	bpg_corners_add(&c, l, a, a);
	for (int i = 0; i < n; i++) {
		double y = hardsigmoid_f(kink[i], attr);
		bpg_corners_add(&c, kink[i], y, y);
	}
	bpg_corners_add(&c, u, b, b);
	return c;
}

static struct bpg_slopes hardsigmoid_slopes(double l, double u, const double alpha[2], int rule, const void *attr)
{
	(void)alpha;
	(void)rule;
	struct bpg_corners c = hardsigmoid_corners(l, u, attr);
	return bpg_corners_slopes(&c, hardsigmoid_df(l, attr), hardsigmoid_df(u, attr));
}

static double hardsigmoid_intercept(double s, double l, double u, int side, const void *attr)
{
	struct bpg_corners c = hardsigmoid_corners(l, u, attr);
	return bpg_corners_intercept(&c, s, side);
}

static void hardsigmoid_sample(struct bpg_rng *rng, struct bpg_sample *s)
{
	bpg_sample_op(s, "HardSigmoid", 6);
	if (bpg_rng_below(rng, 2))
		bpg_sample_float(s, "alpha", 0.1 + bpg_rng_uniform(rng));
	if (bpg_rng_below(rng, 2))
		bpg_sample_float(s, "beta", bpg_rng_uniform(rng));
	bpg_sample_box(rng, s);
}

static const struct bpg_unary hardsigmoid_unary = {
	.f = hardsigmoid_f,
	.ulp = 1,
	.df = hardsigmoid_df,
	.slopes = hardsigmoid_slopes,
	.intercept = hardsigmoid_intercept,
	.kinks = hardsigmoid_kinks,
};

BPG_UNARY_LAYER(hardsigmoid, .ops = "HardSigmoid", .traits = BPG_MONOTONE | BPG_NEEDS_SMOOTH, .import = hardsigmoid_import,
                .unary = &hardsigmoid_unary, .sample = hardsigmoid_sample);
