/* layer_elu.c - Elu, Selu and Celu, elementwise: y = a x for x > 0, b (exp(x/c) - 1) elsewhere.
 *
 *   Elu   a = 1, b = alpha, c = 1         Selu  a = gamma, b = gamma alpha, c = 1         Celu  a = 1, b = c = alpha > 0
 * Left of 0 the curvature has the sign of b. The slope jumps at 0 from b/c to a; where it rises and b >= 0 the function is
 * convex as a whole.
 *
 * Errors, in units e = 2^-52: expm1 within 2 e (glibc states 1), x/c within e/2, relatively, which moves exp(z) - 1 by no
 * more, relatively, as z < 0; products: 4 e together. b/c exp(z): z moves it by |z| e/2 as well, at most b/c 0.37 e/2. */
#include <math.h>
#include <string.h>

#include "codelets/family_curve.h"

struct elu {
	double a, b, c;
};

static enum bpg_status elu_import(const struct bpg_import *im, struct bpg_node *v)
{
	BPG_TRY(bpg_import_same_shape(im, v));
	struct elu *p = bpg_import_alloc(im, 1, sizeof *p);
	if (!p)
		return bpg_import_fail(im, BPG_ENOMEM, "not enough memory");
	bool selu = !strcmp(v->op, "Selu");
	double alpha = bpg_import_float(im, "alpha", selu ? 1.67326319217681884765625f : 1);
	*p = (struct elu){ 1, alpha, 1 };
	if (selu) {
		p->a = bpg_import_float(im, "gamma", 1.05070102214813232421875f);
		p->b *= p->a; /* float32 numbers: exact */
	}
	if (!strcmp(v->op, "Celu"))
		p->c = alpha;
	if (!(fabs(p->a) <= 1e6 && fabs(p->b) <= 1e6 && p->c > 1e-6))
		return bpg_import_fail(im, BPG_EUNSUPPORTED, "alpha or gamma is not in the range that is supported");
	v->attr = p;
	return BPG_OK;
}

static double elu_f(double x, const void *attr)
{
	const struct elu *p = attr;
	return x > 0 ? p->a * x : p->b * expm1(x / p->c);
}

static double elu_df(double x, const void *attr)
{
	const struct elu *p = attr;
	return x > 0 ? p->a : p->b / p->c * exp(x / p->c);
}

static double elu_ddf(double x, const void *attr)
{
	const struct elu *p = attr;
	return x > 0 ? 0 : p->b / p->c / p->c * exp(x / p->c);
}

static bool is_convex(const struct elu *p)
{
	return p->b >= 0 && p->b / p->c <= p->a;
}

static int elu_bends(double l, double u, const void *attr, double at[BPG_BENDS], int curl[BPG_BENDS + 1])
{
	const struct elu *p = attr;
	int left = p->b > 0 ? 1 : p->b < 0 ? -1 : 0;
	curl[0] = 1;
	return is_convex(p) ? 0 : bpg_curve_list(1, (double[]){ 0 }, (int[]){ left, 0 }, l, u, at, curl);
}

static int elu_kinks(double l, double u, const void *attr, double at[4])
{
	const struct elu *p = attr;
	at[0] = 0;
	return l < 0 && u > 0 && p->b / p->c != p->a;
}

static int elu_turns(double l, double u, const void *attr, double at[8])
{
	(void)attr;
	at[0] = 0;
	return l < 0 && u > 0;
}

static void elu_sample(struct bpg_rng *rng, struct bpg_sample *s)
{
	static const char *const op[] = { "Elu", "Selu", "Celu" };
	int64_t which = bpg_rng_below(rng, 3);
	bpg_sample_op(s, op[which], which == 2 ? 12 : 6);
	if (bpg_rng_below(rng, 2))
		bpg_sample_float(s, "alpha", which == 0 ? 3 * bpg_rng_uniform(rng) - 0.5 : 0.3 + bpg_rng_uniform(rng));
	if (which == 1 && bpg_rng_below(rng, 2))
		bpg_sample_float(s, "gamma", 0.5 + bpg_rng_uniform(rng));
	bpg_sample_box(rng, s);
}

BPG_CURVE_UNARY(elu, .ulp = 6, .abs_err = 0x1p-1050, .turns = elu_turns, .kinks = elu_kinks);
static const struct bpg_curve elu_curve = {
	.unary = &elu_unary, .ddf = elu_ddf, .df_ulp = 8, .df_abs = 1e-15, .bends = elu_bends,
};

BPG_UNARY_LAYER(elu, .ops = "Elu Selu Celu", .traits = BPG_NEEDS_SMOOTH, .import = elu_import, .unary = &elu_unary,
                .sample = elu_sample);
