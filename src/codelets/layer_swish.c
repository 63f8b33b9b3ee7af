/* layer_swish.c - Swish, called SiLU for r = 1: y = x s(r x), elementwise, s the sigmoid.
 *
 * With z = r x, t = s(z): f' = t (1 + z (1 - t)), f'' = r t (1 - t) (2 + z (1 - 2 t)): bends where z tanh(z/2) = 2, one turn.
 *
 * Errors, in units e = 2^-52: s is within 4.1 e (layer_sigmoid.c). The rounding of z would move it by a relative |z|/2 e; so
 * it is computed, too, and taken off. f' is not corrected: |z| exp(-|z|) e and the like, some e. */
#include <math.h>

#include "codelets/family_curve.h"

static enum bpg_status swish_import(const struct bpg_import *im, struct bpg_node *v)
{
	BPG_TRY(bpg_import_same_shape(im, v));
	double *r = bpg_import_alloc(im, 1, sizeof *r);
	if (!r)
		return bpg_import_fail(im, BPG_ENOMEM, "not enough memory");
	*r = bpg_import_float(im, "alpha", 1);
	if (!(*r >= 0.1 && *r <= 10))
		return bpg_import_fail(im, BPG_EUNSUPPORTED, "alpha %g is outside 0.1 .. 10", *r);
	v->attr = r;
	return BPG_OK;
}

static double sigmoid(double z)
{
	double t = exp(-fabs(z));
	return z >= 0 ? 1 / (1 + t) : t / (1 + t);
}

static double swish_f(double x, const void *attr)
{
	double r = *(const double *)attr, z = r * x;
	if (fabs(z) > 800)
		return x > 0 ? x : 0;
	double low = fma(r, x, -z), t = exp(-fabs(z)) * (z > 0 ? 1 - low : 1 + low);
	return x * ((z >= 0 ? 1 : t) / (1 + t));
}

static double swish_df(double x, const void *attr)
{
	double z = *(const double *)attr * x, t = sigmoid(z), rest = sigmoid(-z);
	return fabs(z) > 1000 ? x > 0 : t * (1 + z * rest);
}

static double swish_ddf(double x, const void *attr)
{
	double r = *(const double *)attr, z = r * x, t = sigmoid(z), rest = sigmoid(-z);
	return fabs(z) > 1000 ? 0 : r * t * rest * (2 - z * tanh(z / 2));
}

static int swish_bends(double l, double u, const void *attr, double at[BPG_BENDS], int curl[BPG_BENDS + 1])
{
	static const int piece[] = { -1, 1, -1 };
	double x = 2.3993572805154676678 / *(const double *)attr;
	return bpg_curve_list(2, (double[]){ -x, x }, piece, l, u, at, curl);
}

static int swish_turns(double l, double u, const void *attr, double at[8])
{
	at[0] = -1.2784645427610737951 / *(const double *)attr;
	return l < at[0] && at[0] < u;
}

static void swish_sample(struct bpg_rng *rng, struct bpg_sample *s)
{
	bpg_sample_op(s, "Swish", 24);
	if (bpg_rng_below(rng, 2))
		bpg_sample_float(s, "alpha", 0.2 + 2 * bpg_rng_uniform(rng));
	bpg_sample_box(rng, s);
}

BPG_CURVE_UNARY(swish, .ulp = 8, .abs_err = 0x1p-1000, .turns = swish_turns);
/* Beyond |z| = 40 f is within |x| exp(-40) of 0 or x. */
static const struct bpg_curve swish_curve = { .unary = &swish_unary, .ddf = swish_ddf, .df_ulp = 8, .df_abs = 2e-15,
                                              .bends = swish_bends, .far = 400, .tail = 2e-15 };

BPG_UNARY_LAYER(swish, .ops = "Swish", .traits = BPG_NEEDS_SMOOTH, .import = swish_import, .unary = &swish_unary,
                .sample = swish_sample);
