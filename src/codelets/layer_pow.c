/* layer_pow.c - y = x^p, elementwise; p one constant. The library's pow is taken to be within 2 units in the last place
 * (glibc states 1).
 *
 *   p even, >= 2            convex; turns at 0
 *   p odd, >= 3             concave left of 0, convex right of it
 *   p negative, even, odd   convex on either side of the pole at 0; concave left of it and convex right of it
 *   other p                 for x >= 0 alone; convex for p > 1 and for p < 0 (pole at 0), concave between
 * p = 0 and p = 1 are straight. */
#include <math.h>

#include "codelets/elementwise.h"
#include "codelets/family_curve.h"

struct power {
	double p;
	bool whole, odd;
};

static enum bpg_status exponent(const struct bpg_import *im, const struct bpg_node *v, double *to)
{
	double block[256];
	*to = bpg_const_at(v->in[1].value, 0);
	for (int64_t i = 0; i < v->in[1].n; i += 256) {
		int64_t n = v->in[1].n - i < 256 ? v->in[1].n - i : 256;
		bpg_const_read(v->in[1].value, i, n, block);
		for (int64_t k = 0; k < n; k++)
			if (block[k] != *to && !v->in[0].value)
				return bpg_import_fail(
				        im, BPG_EUNSUPPORTED,
				        "exponents %g and %g in one tensor; split the node into one of each exponent", *to,
				        block[k]);
	}
	if (!isfinite(*to) && !v->in[0].value)
		return bpg_import_fail(im, BPG_EFILE, "the exponent is not a finite number; re-export the network");
	return BPG_OK;
}

static enum bpg_status pow_import(const struct bpg_import *im, struct bpg_node *v)
{
	BPG_TRY(bpg_elementwise_import(im, v));
	BPG_TRY(bpg_import_constant(im, v, 1, "the exponent"));
	v->out.type = v->in[0].type;
	struct power *q = bpg_import_alloc(im, 1, sizeof *q);
	if (!q)
		return bpg_import_fail(im, BPG_ENOMEM, "not enough memory");
	v->attr = q;
	if (v->in[1].n < 1)
		return BPG_OK;
	BPG_TRY(exponent(im, v, &q->p));
	q->whole = q->p == rint(q->p);
	q->odd = q->whole && fabs(fmod(q->p, 2)) == 1;
	if (!v->in[0].value && !bpg_shape_equal(&v->in[0].shape, &v->out.shape) && v->in[0].n != v->out.n)
		return bpg_import_fail(im, BPG_EUNSUPPORTED, "the exponent is larger than the base; expand the base before it");
	return BPG_OK;
}

/* Base and exponent may both be tensors where all is constant. */
static enum bpg_status pow_eval(const struct bpg_node *v, const double *const *x, double *y)
{
	const struct power *q = v->attr;
	for (int64_t i = 0; i < v->out.n; i++) {
		double a = x[0][bpg_elementwise_index(v, 0, i)];
		y[i] = pow(a, v->in[0].value ? x[1][bpg_elementwise_index(v, 1, i)] : q->p);
	}
	return BPG_OK;
}

static double pow_f(double x, const void *attr)
{
	const struct power *q = attr;
	return q->p == 2 ? x * x : q->p == 1 ? x : pow(x, q->p);
}

/* Where p - 1 is rounded, x^(p-1) would be far off. */
static double pow_df(double x, const void *attr)
{
	const struct power *q = attr;
	if (q->p == 0 || q->p == 1)
		return q->p;
	if (q->p == 2)
		return 2 * x;
	if (x == 0 || (q->p - 1) + 1 == q->p)
		return q->p * pow(x, q->p - 1);
	return q->p * (pow(x, q->p) / x);
}

static double pow_ddf(double x, const void *attr)
{
	const struct power *q = attr;
	return q->p == 2 ? 2 : q->p * (q->p - 1) * pow(x, q->p - 2);
}

static bool pow_range(double l, double u, const void *attr, double *lo, double *up)
{
	const struct power *q = attr;
	*lo = -INFINITY;
	*up = INFINITY;
	if (!q->whole && l < 0)
		return true;
	return q->p < 0 && l <= 0 && u >= 0;
}

static int pow_turns(double l, double u, const void *attr, double at[8])
{
	const struct power *q = attr;
	if (!(q->whole && !q->odd && q->p > 0 && l < 0 && u > 0))
		return 0;
	at[0] = 0;
	return 1;
}

static int pow_bends(double l, double u, const void *attr, double at[BPG_BENDS], int curl[BPG_BENDS + 1])
{
	const struct power *q = attr;
	double p = q->p;

	curl[0] = p == 0 || p == 1 ? 0 : p > 0 && p < 1 ? -1 : 1;
	if (!q->odd || p == 1)
		return 0;
	if (l < 0)
		curl[0] = -1;
	if (!(l < 0 && u > 0))
		return 0;
	at[0] = 0;
	curl[1] = 1;
	return 1;
}

static void pow_sample(struct bpg_rng *rng, struct bpg_sample *s)
{
	static const double exponents[] = { 2, 3, 4, 5, 1, 0, 0.5, 1.7, -1, -2, -0.5 };
	int64_t dim[2] = { 1, 1 + bpg_rng_below(rng, 6) };
	double p = exponents[bpg_rng_below(rng, 11)];

	bpg_sample_op(s, "Pow", 13);
	bpg_sample_variable(s, 2, dim);
	bpg_sample_constant(s, bpg_rng_below(rng, 2) ? 0 : 1, (int64_t[]){ 1 }, &p);
	if (p < 0 || p != rint(p))
		bpg_sample_domain(s, p < 0 ? 0.1 : 0, 4);
}

BPG_CURVE_UNARY(pow, .ulp = 2, .abs_err = 0x1p-1073, .turns = pow_turns, .range = pow_range);
static const struct bpg_curve pow_curve = {
	.unary = &pow_unary, .ddf = pow_ddf, .df_ulp = 4, .df_abs = 0x1p-1022, .bends = pow_bends,
};

BPG_UNARY_LAYER(pow, .ops = "Pow", .traits = BPG_NEEDS_SMOOTH, .import = pow_import, .eval = pow_eval, .unary = &pow_unary,
                .sample = pow_sample);
