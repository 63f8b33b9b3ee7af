/* layer_gelu.c - Gelu: y = x (1 + erf(r x)) / 2, elementwise, r = 1/sqrt(2); and its form with tanh.
 *
 * r is a parameter, because networks spell the function out with a constant of their own (net/pass_gate.c): the quotient of
 * `bpg_scale` and `bpg_divisor`. With z = r x: f' = (1 + erf z)/2 + z exp(-z^2)/sqrt(pi), f'' = 2 r (1 - z^2) exp(-z^2)/
 * sqrt(pi): bends at z = -1, 1, one turn. The tanh form x s(t), s the sigmoid, t = 2 sqrt(2/pi) (x + 0.044715 x^3), has the
 * same shape.
 *
 * Errors, in units e = 2^-52. (1 + erf z)/2 = erfc(-z)/2 is computed, erfc within 5.5 e (glibc states 5). The rounding of z
 * would move erfc(|z|) by a relative 2 z^2 e, so it is computed, too, and taken off by the derivative; what is left is of
 * second order. Likewise the rounding of t, which would move exp by |t| e. Products and quotients: 10 e together. f' is not
 * corrected: its terms are off by at most x^2 exp(-x^2) e and the like, some e. */
#include <math.h>
#include <string.h>

#include "codelets/family_curve.h"

struct gelu {
	bool tanh;
	double r, r_low;          /* r + r_low is the true one, up to 2^-106 */
};

static enum bpg_status gelu_import(const struct bpg_import *im, struct bpg_node *v)
{
	BPG_TRY(bpg_import_same_shape(im, v));
	const char *form = bpg_import_string(im, "approximate", "none");
	struct gelu *g = bpg_import_alloc(im, 1, sizeof *g);
	if (!g)
		return bpg_import_fail(im, BPG_ENOMEM, "not enough memory");
	v->attr = g;
	g->tanh = !strcmp(form, "tanh");
	double num = bpg_import_float(im, "bpg_scale", 0), den = bpg_import_float(im, "bpg_divisor", 1);
	g->r = M_SQRT1_2;
	g->r_low = -0x1.bdd3413b26456p-55;
	if (bpg_import_has(im, "bpg_scale")) {
		g->r = num / den;
		g->r_low = fma(-g->r, den, num) / den;
	}
	if (!g->tanh && strcmp(form, "none"))
		return bpg_import_fail(im, BPG_EUNSUPPORTED, "approximate=%s; 'none' and 'tanh' are known", form);
	if (!(g->r >= 0.1 && g->r <= 10))
		return bpg_import_fail(im, BPG_EUNSUPPORTED, "scale %g is outside 0.1 .. 10", g->r);
	return BPG_OK;
}

#define C 0x1.9884533d43651p+0          /* 2 sqrt(2/pi) */
#define C_LOW -0x1.cbc0d30ebfd15p-54
#define K 0x1.6e4e26d4801f7p-5          /* 0.044715 */
#define K_LOW 0x1.441355475a31ap-59

/* C (x + K x^3) and its rounding error. */
static double tanh_argument(double x, double *low)
{
	double xx = x * x, xx_low = fma(x, x, -xx);
	double p = K * xx, p_low = fma(K, xx, -p) + K * xx_low + K_LOW * xx;
	double q = 1 + p, q_low = (p > 1 ? 1 - (q - p) : p - (q - 1)) + p_low;
	double y = x * q, y_low = fma(x, q, -y) + x * q_low, t = C * y;
	*low = fma(C, y, -t) + C * y_low + C_LOW * y;
	return t;
}

static double gelu_f(double x, const void *attr)
{
	const struct gelu *g = attr;
	double low;

	if (fabs(x) > 1000)
		return x > 0 ? x : 0;
	if (g->tanh) {
		double t = tanh_argument(x, &low);
		return x / (1 + exp(-t) * (1 - low));
	}
	double z = g->r * x;
	low = fma(g->r, x, -z) + g->r_low * x;
	return 0.5 * x * (erfc(-z) + M_2_SQRTPI * exp(-z * z) * low);
}

static double gelu_df(double x, const void *attr)
{
	const struct gelu *g = attr;
	if (fabs(x) > 1000)
		return x > 0;
	if (!g->tanh) {
		double z = g->r * x;
		return 0.5 * erfc(-z) + 0.5 * M_2_SQRTPI * z * exp(-z * z);
	}
	double low, t = tanh_argument(x, &low), dt = C * (1 + 3 * K * x * x), e = exp(-fabs(t));
	return (t >= 0 ? 1 : e) / (1 + e) + x * dt * e / ((1 + e) * (1 + e));
}

static double gelu_ddf(double x, const void *attr)
{
	const struct gelu *g = attr;
	if (fabs(x) > 1000)
		return 0;
	if (!g->tanh) {
		double z = g->r * x;
		return M_2_SQRTPI * g->r * (1 - z * z) * exp(-z * z);
	}
	double low, t = tanh_argument(x, &low), dt = C * (1 + 3 * K * x * x), e = exp(-fabs(t)), s = e / ((1 + e) * (1 + e));
	return s * (2 * dt + x * C * 6 * K * x - x * dt * dt * tanh(t / 2));
}

static int gelu_bends(double l, double u, const void *attr, double at[BPG_BENDS], int curl[BPG_BENDS + 1])
{
	static const int piece[] = { -1, 1, -1 };
	const struct gelu *g = attr;
	double x = g->tanh ? 1.4185040087908283555 : g->r == M_SQRT1_2 ? M_SQRT2 : 1 / g->r;
	return bpg_curve_list(2, (double[]){ -x, x }, piece, l, u, at, curl);
}

/* The minimum. Its value is second order in the place. */
static int gelu_turns(double l, double u, const void *attr, double at[8])
{
	const struct gelu *g = attr;
	at[0] = g->tanh ? -0.75246142207101625849 : -0.53159688514939322273 / g->r;
	return l < at[0] && at[0] < u;
}

static void gelu_sample(struct bpg_rng *rng, struct bpg_sample *s)
{
	bpg_sample_op(s, "Gelu", 20);
	if (bpg_rng_below(rng, 2))
		bpg_sample_string(s, "approximate", bpg_rng_below(rng, 2) ? "tanh" : "none");
	bpg_sample_box(rng, s);
}

BPG_CURVE_UNARY(gelu, .ulp = 12, .abs_err = 0x1p-990, .turns = gelu_turns);
/* Beyond z = 6 (x = 5 for tanh) f is within |x| exp(-36) of 0 or x. */
static const struct bpg_curve gelu_curve = {
	.unary = &gelu_unary, .ddf = gelu_ddf, .df_ulp = 8, .df_abs = 2e-15, .bends = gelu_bends, .far = 60,
	.tail = 1e-14,
};

BPG_UNARY_LAYER(gelu, .ops = "Gelu", .traits = BPG_NEEDS_SMOOTH, .import = gelu_import, .unary = &gelu_unary,
                .sample = gelu_sample);
