/* test_curves.c - lines, intervals and derivatives of the elementwise layers with bends, jumps and poles, against 113-bit
 * arithmetic with functions of its own; extremes are found by sampling and golden sections, without knowing any bend. */
#include <check.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "codelets/family.h"
#include "codelets/family_curve.h"
#include "net/const.h"
#include "net/import.h"

extern const struct bpg_layer bpg_layer_abs, bpg_layer_atan, bpg_layer_elu, bpg_layer_erf, bpg_layer_exp, bpg_layer_gelu,
	bpg_layer_hardsigmoid, bpg_layer_hardswish, bpg_layer_leakyrelu, bpg_layer_log, bpg_layer_mish, bpg_layer_pow,
	bpg_layer_reciprocal, bpg_layer_round, bpg_layer_sign, bpg_layer_sin, bpg_layer_softplus, bpg_layer_softsign,
	bpg_layer_sqrt, bpg_layer_swish, bpg_layer_tan, bpg_layer_thresholdedrelu;

#if __LDBL_MANT_DIG__ >= 113
typedef long double quad;
#else
__extension__ typedef __float128 quad;
#endif

/* ---- functions at 113 bits ---- */

static quad q_abs(quad x) { return x < 0 ? -x : x; }

/* pi and log 2, to 2^-165. */
static const double pi_part[] = { 0x1.921fb54442d18p+1, 0x1.1a62633145c07p-53, -0x1.f1976b7ed8fbcp-109 };
static const double ln2_part[] = { 0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56, 0x1.7b57a079a1934p-111 };

/* x - k*c */
static quad reduced(quad x, quad k, const double c[3])
{
	return ((x - k * (quad)c[0]) - k * (quad)c[1]) - k * (quad)c[2];
}

/* e^x - 1 for small x keeps its digits. */
static quad q_expm1_small(quad r)
{
	quad t = 1, sum = 0;
	r /= 64;
	for (int i = 1; i < 16; i++) {
		t *= r / i;
		sum += t;
	}
	for (int i = 0; i < 6; i++)
		sum = sum * (2 + sum);
	return sum;
}

static quad q_exp(quad x)
{
	if (x < -11000)
		return 0;
	if (x > 11000)
		return (quad)DBL_MAX * DBL_MAX;
	int k = (int)rint((double)x / M_LN2);
	quad y = q_expm1_small(reduced(x, k, ln2_part)) + 1, two = k < 0 ? 0.5 : 2;
	for (int n = abs(k); n > 0; n--)
		y *= two;
	return y;
}

static quad q_expm1(quad x) { return q_abs(x) < 0.3 ? q_expm1_small(x) : q_exp(x) - 1; }

/* log(1 + y) for |y| < 0.4: 2 atanh(y / (2 + y)). */
static quad q_log1p_small(quad y)
{
	quad z = y / (2 + y), zz = z * z, t = 1, sum = 0;
	for (int i = 1; i < 200 && t > 1e-40; i += 2) {
		sum += t / i;
		t *= zz;
	}
	return 2 * z * sum;
}

static quad q_log(quad x)
{
	int k = 0;
	while (x > 1.4)
		x /= 2, k++;
	while (x < 0.7)
		x *= 2, k--;
	return q_log1p_small(x - 1) + ((k * (quad)ln2_part[0] + k * (quad)ln2_part[1]) + k * (quad)ln2_part[2]);
}

static quad q_log1p(quad y) { return y < 0.3 ? q_log1p_small(y) : q_log(1 + y); }

static quad q_sin(quad x)
{
	quad k = rint((double)x / M_PI), r = reduced(x, k, pi_part), t = r, sum = 0;
	for (int i = 2; i < 60; i += 2) {
		sum += t;
		t *= -r * r / (i * (i + 1));
	}
	return fmod((double)k, 2) != 0 ? -sum : sum;
}

static quad q_cos(quad x)
{
	quad half = (quad)pi_part[0] / 2 + ((quad)pi_part[1] / 2 + (quad)pi_part[2] / 2);
	return q_sin(x + half);
}

/* Newton's method on tan, twice, after |x| <= 1. */
static quad q_atan(quad x)
{
	if (q_abs(x) > 1) {
		quad half = (quad)pi_part[0] / 2 + ((quad)pi_part[1] / 2 + (quad)pi_part[2] / 2), y = q_atan(1 / q_abs(x));
		return x > 0 ? half - y : y - half;
	}
	quad y = atan((double)x);
	for (int i = 0; i < 2; i++) {
		quad s = q_sin(y), c = q_cos(y);
		y -= (s - x * c) / (c + x * s);
	}
	return q_abs(x) < 1e-12 ? x - x * x * x / 3 : y;
}

static const double two_sqrtpi[] = { 0x1.20dd750429b6dp+0, 0x1.1ae3a914fed8p-56 };

/* 1 + erf(x), keeping digits left: a continued fraction there, else a series of positive terms. */
static quad q_erfc_right(quad x);
static quad q_erf(quad x)
{
	if (x < 0)
		return -q_erf(-x);
	if (x > 3)
		return 1 - q_erfc_right(x);
	quad t = x, sum = 0;
	for (int n = 0; n < 150; n++) {
		sum += t;
		t *= 2 * x * x / (2 * n + 3);
	}
	return ((quad)two_sqrtpi[0] + two_sqrtpi[1]) * q_exp(-x * x) * sum;
}

static quad q_erfc_right(quad x)
{
	if (x > 100)
		return 0;
	quad f = x;
	for (int k = 300; k > 0; k--)
		f = x + k / (2 * f);
	return q_exp(-x * x) / f * ((quad)two_sqrtpi[0] + two_sqrtpi[1]) / 2;
}

static quad q_erfc(quad x) { return x > 3 ? q_erfc_right(x) : 1 - q_erf(x); }

static quad q_sigmoid(quad x) { return x > 0 ? 1 / (1 + q_exp(-x)) : q_exp(x) / (1 + q_exp(x)); }

static quad q_sqrt(quad x)
{
	if (x == 0)
		return 0;
	if (x < 1e-200)
		return q_sqrt(x * 0x1p400) * 0x1p-200;
	quad y = sqrt((double)x);
	for (int i = 0; i < 3; i++)
		y = (y + x / y) / 2;
	return y;
}

static quad q_power(quad x, double p)
{
	if (p == rint(p) && fabs(p) < 100) {
		quad y = 1;
		for (int i = 0; i < fabs(p); i++)
			y *= x;
		return p < 0 ? 1 / y : y;
	}
	return x == 0 ? 0 : q_exp((quad)p * q_log(x));
}

/* ---- what is tested ---- */

enum kind { EXP, LOG, SQRT, RECIPROCAL, POW, ABS, SIGN, FLOOR, CEIL, ROUND, SIN, COS, TAN, ATAN, ERF, GELU, GELU_TANH, SWISH,
	    SOFTPLUS, ELU, SELU, CELU, MISH, HARDSIGMOID, HARDSWISH, PRELU, THRESHOLDED, SOFTSIGN };

static const struct spec {
	enum kind kind;
	const struct bpg_layer *layer;
	const char *op;
	double a, b;
} specs[] = {
	{ EXP, &bpg_layer_exp, "Exp", 0, 0 },
	{ LOG, &bpg_layer_log, "Log", 0, 0 },
	{ SQRT, &bpg_layer_sqrt, "Sqrt", 0, 0 },
	{ RECIPROCAL, &bpg_layer_reciprocal, "Reciprocal", 0, 0 },
	{ POW, &bpg_layer_pow, "Pow", 2, 0 },
	{ POW, &bpg_layer_pow, "Pow", 3, 0 },
	{ POW, &bpg_layer_pow, "Pow", 4, 0 },
	{ POW, &bpg_layer_pow, "Pow", 5, 0 },
	{ POW, &bpg_layer_pow, "Pow", 1, 0 },
	{ POW, &bpg_layer_pow, "Pow", 0, 0 },
	{ POW, &bpg_layer_pow, "Pow", 0.5, 0 },
	{ POW, &bpg_layer_pow, "Pow", 1.7f, 0 },
	{ POW, &bpg_layer_pow, "Pow", -1, 0 },
	{ POW, &bpg_layer_pow, "Pow", -2, 0 },
	{ POW, &bpg_layer_pow, "Pow", -0.7f, 0 },
	{ ABS, &bpg_layer_abs, "Abs", 0, 0 },
	{ SIGN, &bpg_layer_sign, "Sign", 0, 0 },
	{ FLOOR, &bpg_layer_round, "Floor", 0, 0 },
	{ CEIL, &bpg_layer_round, "Ceil", 0, 0 },
	{ ROUND, &bpg_layer_round, "Round", 0, 0 },
	{ SIN, &bpg_layer_sin, "Sin", 0, 0 },
	{ COS, &bpg_layer_sin, "Cos", 0, 0 },
	{ TAN, &bpg_layer_tan, "Tan", 0, 0 },
	{ ATAN, &bpg_layer_atan, "Atan", 0, 0 },
	{ ERF, &bpg_layer_erf, "Erf", 0, 0 },
	{ GELU, &bpg_layer_gelu, "Gelu", 0, 0 },
	{ GELU, &bpg_layer_gelu, "Gelu", 1, 1.41421353816986083984375 }, /* as exporters write it */
	{ GELU, &bpg_layer_gelu, "Gelu", 1, 7 },
	{ GELU_TANH, &bpg_layer_gelu, "Gelu", 0, 0 },
	{ SWISH, &bpg_layer_swish, "Swish", 1, 0 },
	{ SWISH, &bpg_layer_swish, "Swish", 1.702f, 0 },
	{ SWISH, &bpg_layer_swish, "Swish", 0.15f, 0 },
	{ SOFTPLUS, &bpg_layer_softplus, "Softplus", 0, 0 },
	{ ELU, &bpg_layer_elu, "Elu", 1, 0 },
	{ ELU, &bpg_layer_elu, "Elu", 0.3f, 0 },
	{ ELU, &bpg_layer_elu, "Elu", 2.5f, 0 },
	{ ELU, &bpg_layer_elu, "Elu", -0.4f, 0 },
	{ ELU, &bpg_layer_elu, "Elu", 0, 0 },
	{ SELU, &bpg_layer_elu, "Selu", 0, 0 },
	{ CELU, &bpg_layer_elu, "Celu", 0.7f, 0 },
	{ MISH, &bpg_layer_mish, "Mish", 0, 0 },
	{ HARDSIGMOID, &bpg_layer_hardsigmoid, "HardSigmoid", 0.2f, 0.5f },
	{ HARDSIGMOID, &bpg_layer_hardsigmoid, "HardSigmoid", 1 / 3.0f, 0.1f },
	{ HARDSWISH, &bpg_layer_hardswish, "HardSwish", 0, 0 },
	{ PRELU, &bpg_layer_leakyrelu, "PRelu", 0.25f, 0 },
	{ PRELU, &bpg_layer_leakyrelu, "PRelu", -1.5f, 0 },
	{ THRESHOLDED, &bpg_layer_thresholdedrelu, "ThresholdedRelu", 1, 0 },
	{ THRESHOLDED, &bpg_layer_thresholdedrelu, "ThresholdedRelu", -0.7f, 0 },
	{ THRESHOLDED, &bpg_layer_thresholdedrelu, "ThresholdedRelu", 0, 0 },
	{ SOFTSIGN, &bpg_layer_softsign, "Softsign", 0, 0 },
};

static struct bpg_ctx *ctx;
static struct bpg_arena *arena;

static void setup(void)
{
	ctx = bpg_ctx_new();
	arena = bpg_arena_new();
	ck_assert(ctx && arena);
}

static void teardown(void)
{
	bpg_arena_free(arena);
	bpg_ctx_free(ctx);
}

struct function {
	const struct spec *s;
	struct bpg_node v;
	const struct bpg_unary *u;
};

static void add_float(struct bpg_import *im, struct bpg_import_attr *attr, const char *name, double value)
{
	attr[im->attrs++] = (struct bpg_import_attr){ .name = name, .kind = BPG_ATTR_FLOAT, .f = value };
}

static enum bpg_status try_import(const struct bpg_layer *layer, const char *op, struct bpg_import_attr *attr, int attrs,
                                  struct bpg_operand second, int nin, struct bpg_node *v)
{
	struct bpg_import im = { .ctx = ctx, .arena = arena, .path = "test.onnx", .name = "n", .op = op, .opset = 20,
		                 .output_count = 1, .attrs = attrs, .attr = attr };
	struct bpg_operand *in = bpg_arena_alloc(arena, 2, sizeof *in);
	ck_assert(in != NULL);
	in[0] = (struct bpg_operand){ .shape = { .rank = 1, .dim = { 1 } }, .n = 1 };
	in[1] = second;
	*v = (struct bpg_node){ .layer = layer, .name = "n", .op = op, .nin = nin, .in = in };
	return bpg_import_run(&im, v);
}

static struct function make(const struct spec *s)
{
	struct function f = { .s = s, .u = s->layer->unary };
	struct bpg_import im = { .attrs = 0 };
	struct bpg_import_attr attr[2];
	struct bpg_operand second = { .n = 0 };
	int nin = 1;

	switch (s->kind) {
	case GELU_TANH:
		attr[im.attrs++] = (struct bpg_import_attr){ .name = "approximate", .kind = BPG_ATTR_STRING, .s = "tanh" };
		break;
	case GELU:
		if (s->a != 0) {
			add_float(&im, attr, "bpg_scale", s->a);
			add_float(&im, attr, "bpg_divisor", s->b);
		}
		break;
	case HARDSIGMOID:
		add_float(&im, attr, "beta", s->b);
		add_float(&im, attr, "alpha", s->a);
		break;
	case SWISH: case ELU: case CELU: case THRESHOLDED:
		add_float(&im, attr, "alpha", s->a);
		break;
	case POW: case PRELU:
		second = (struct bpg_operand){ .n = 1, .value = bpg_const_new(arena, BPG_F64, 1, &s->a) };
		nin = 2;
		break;
	default:
		break;
	}
	ck_assert_msg(try_import(s->layer, s->op, attr, im.attrs, second, nin, &f.v) == BPG_OK, "%s", bpg_ctx_message(ctx));
	return f;
}

static quad ref(const struct function *f, quad x)
{
	double a = f->s->a, b = f->s->b;
	switch (f->s->kind) {
	case EXP: return q_exp(x);
	case LOG: return q_log(x);
	case SQRT: return q_sqrt(x);
	case RECIPROCAL: return 1 / x;
	case POW: return q_power(x, a);
	case ABS: return q_abs(x);
	case SIGN: return x > 0 ? 1 : x < 0 ? -1 : 0;
	case FLOOR: return floor((double)x);
	case CEIL: return ceil((double)x);
	case ROUND: return nearbyint((double)x);
	case SIN: return q_sin(x);
	case COS: return q_cos(x);
	case TAN: return q_sin(x) / q_cos(x);
	case ATAN: return q_atan(x);
	case ERF: return q_erf(x);
	case GELU: return x * q_erfc(a == 0 ? -x / q_sqrt(2) : -x * (quad)a / b) / 2;
	case GELU_TANH: {
		quad pi = (quad)pi_part[0] + pi_part[1] + pi_part[2];
		return x * q_sigmoid(2 * q_sqrt(2 / pi) * (x + x * x * x * 44715 / 1000000));
	}
	case SWISH: return x * q_sigmoid(x * (quad)a);
	case SOFTPLUS: return (x > 0 ? x : 0) + q_log1p(q_exp(-q_abs(x)));
	case ELU: return x > 0 ? x : a * q_expm1(x);
	case SELU: return 1.05070102214813232421875 * (x > 0 ? x : 1.67326319217681884765625 * q_expm1(x));
	case CELU: return x > 0 ? x : a * q_expm1(x / a);
	case MISH: {
		if (x > 100)
			return x;
		quad e = q_exp(x), n = e * (e + 2);
		return x * n / (n + 2);
	}
	case HARDSIGMOID: {
		quad y = (quad)a * x + b;
		return y < 0 ? 0 : y > 1 ? 1 : y;
	}
	case HARDSWISH: return x < -3 ? 0 : x > 3 ? x : x * (x + 3) / 6;
	case PRELU: return x > 0 ? x : a * x;
	case THRESHOLDED: return x > a ? x : 0;
	default: return x / (1 + q_abs(x));
	}
}

/* ---- boxes ---- */

/* Where the function has values that doubles hold. */
static void domain(const struct function *f, double *lo, double *up)
{
	double p = f->s->a;
	*lo = -1e300;
	*up = 1e300;
	switch (f->s->kind) {
	case EXP: *up = 700; break;
	case LOG: *lo = 1e-300; break;
	case SQRT: *lo = 0; break;
	case SIN: case COS: *lo = -1e4, *up = 1e4; break;
	case TAN: *lo = -1.57079632, *up = 1.57079632; break;
	case POW:
		*up = p > 1 ? 1e50 : 1e300;
		*lo = p != rint(p) ? (p < 0 ? 1e-100 : 0) : -*up;
		if (p < 0)
			*lo = 1e-100, *up = 1e100;
		break;
	case RECIPROCAL: *lo = 1e-200; break;
	case ELU: case SELU: case CELU: *lo = -1e100, *up = 1e100; break;
	default: break;
	}
}

static bool has_left_branch(const struct function *f)
{
	return f->s->kind == RECIPROCAL || (f->s->kind == POW && f->s->a < 0 && f->s->a == rint(f->s->a));
}

static double draw(const struct function *f, struct bpg_rng *rng)
{
	static const double special[] = {0,
	                                 1,
	                                 -1,
	                                 3,
	                                 -3,
	                                 0.3,
	                                 0.7,
	                                 0.5,
	                                 -0.5,
	                                 1.5,
	                                 2.5,
	                                 -2.5,
	                                 -1.5,
	                                 1e5,
	                                 -1e5,
	                                 1e30,
	                                 -1e30,
	                                 1e-30,
	                                 -1e-30,
	                                 40,
	                                 -40,
	                                 800,
	                                 -800,
	                                 1.4142135623730951,
	                                 -1.4142135623730951,
	                                 -2.3993572805154677,
	                                 20,
	                                 -20};
	double lo, up, x;
	switch (bpg_rng_below(rng, 6)) {
	case 0: x = special[bpg_rng_below(rng, BPG_LEN(special))]; break;
	case 1: x = bpg_rng_normal(rng) * exp(bpg_rng_normal(rng) * 5); break;
	case 2: x = (float)bpg_rng_normal(rng); break;
	case 3: x = bpg_rng_normal(rng) * 8; break;
	default: x = bpg_rng_normal(rng) * 3; break;
	}
	domain(f, &lo, &up);
	if (lo >= 0)
		x = fabs(x);
	if (f->s->kind == TAN)
		x = atan(x);
	return fmin(fmax(x, lo), up);
}

static void draw_box(const struct function *f, struct bpg_rng *rng, double *l, double *u)
{
	double a = draw(f, rng), b = draw(f, rng), lo, up;
	switch (bpg_rng_below(rng, 8)) {
	case 0: b = nextafter(a, INFINITY); break;
	case 1: b = a + fabs(a) * 1e-9 * bpg_rng_uniform(rng); break;
	case 2: b = a + 1e-4 * bpg_rng_uniform(rng); break;
	}
	domain(f, &lo, &up);
	*l = fmin(a, b);
	*u = fmin(fmax(a, b), up);
	if (has_left_branch(f) && bpg_rng_below(rng, 2)) {
		double t = -*l;
		*l = -*u;
		*u = t;
	}
}

static void draw_alpha(const struct function *f, struct bpg_rng *rng, double l, double u, double alpha[2])
{
	for (int side = 0; side < 2; side++) {
		double least = 0, most = 0, start = 0;
		if (f->u->alpha_range)
			f->u->alpha_range(l, u, side, f->v.attr, &least, &most, &start);
		ck_assert_msg(least <= start && start <= most, "%s [%a,%a] side %d: %g %g %g", f->s->op, l, u, side, least, start,
		              most);
		switch (bpg_rng_below(rng, 4)) {
		case 0: case 1: alpha[side] = NAN; break;
		case 2: alpha[side] = draw(f, rng); break;
		default: alpha[side] = fmin(fmax(least + bpg_rng_uniform(rng) * (most - least), least), most); break;
		}
	}
}

/* ---- extremes ---- */

static bool jumps(const struct function *f)
{
	enum kind k = f->s->kind;
	return k == SIGN || k == FLOOR || k == CEIL || k == ROUND || k == THRESHOLDED;
}

struct points {
	int n;
	double x[1200];
};

static void add_point(struct points *p, double l, double u, double x)
{
	if (x >= l && x <= u && p->n < 1200)
		p->x[p->n++] = x;
}

static int rising(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static void sample_points(const struct function *f, double l, double u, struct points *p)
{
	p->n = 0;
	for (int i = 0; i <= 200; i++)
		add_point(p, l, u, i == 200 ? u : l + (u - l) * (i / 200.0));
	for (int i = -80; i <= 80; i++)
		add_point(p, l, u, i / 4.0);
	for (int k = -60; k <= 60; k++) {
		add_point(p, l, u, ldexp(1, 5 * k));
		add_point(p, l, u, -ldexp(1, 5 * k));
	}
	if (jumps(f)) { /* values on either side */
		double at[4];
		int n = p->n;
		for (int i = 0; i < n && p->n < 1000; i++) {
			add_point(p, l, u, nextafter(rint(p->x[i] * 2) / 2, INFINITY));
			add_point(p, l, u, nextafter(rint(p->x[i] * 2) / 2, -INFINITY));
		}
		n = f->u->kinks(l, u, f->v.attr, at);
		for (int i = 0; i < n; i++) {
			add_point(p, l, u, at[i]);
			add_point(p, l, u, nextafter(at[i], INFINITY));
			add_point(p, l, u, nextafter(at[i], -INFINITY));
		}
	}
	qsort(p->x, (size_t)p->n, sizeof *p->x, rising);
	int n = 0;
	for (int i = 0; i < p->n; i++)
		if (n == 0 || p->x[i] > p->x[n - 1])
			p->x[n++] = p->x[i];
	p->n = n;
}

/* The least side*(f(x) - s*x) around a sample. */
static quad golden(const struct function *f, double s, int side, quad a, quad b)
{
	const quad g = 0.6180339887498949;
	quad c = b - g * (b - a), d = a + g * (b - a);
	quad fc = side * (ref(f, c) - s * c), fd = side * (ref(f, d) - s * d);
	for (int i = 0; i < 45; i++) {
		if (fc < fd) {
			b = d;
			d = c;
			fd = fc;
			c = b - g * (b - a);
			fc = side * (ref(f, c) - s * c);
		} else {
			a = c;
			c = d;
			fc = fd;
			d = a + g * (b - a);
			fd = side * (ref(f, d) - s * d);
		}
	}
	return fc < fd ? fc : fd;
}

static quad extreme(const struct function *f, double s, double l, double u, int side)
{
	static struct points p;
	static double g[BPG_LEN(p.x)], promise[BPG_LEN(p.x)];
	quad a = side * (ref(f, l) - (quad)s * l), b = side * (ref(f, u) - (quad)s * u), least = a < b ? a : b;

	sample_points(f, l, u, &p);
	for (int i = 0; i < p.n; i++)
		g[i] = side * (f->u->f(p.x[i], f->v.attr) - s * p.x[i]);
	/* Around the dips of the samples that may be deepest. */
	for (int i = 0; i < p.n; i++) {
		double before = i > 0 ? g[i - 1] : INFINITY, after = i + 1 < p.n ? g[i + 1] : INFINITY;
		double depth = fmax(i > 0 ? before - g[i] : 0, i + 1 < p.n ? after - g[i] : 0);
		promise[i] = g[i] <= before && g[i] <= after ? g[i] - depth : INFINITY;
	}
	for (int k = 0; k < 4; k++) {
		int i = 0;
		for (int j = 1; j < p.n; j++)
			if (promise[j] < promise[i])
				i = j;
		if (promise[i] == INFINITY)
			break;
		promise[i] = INFINITY;
		quad y = side * (ref(f, p.x[i]) - (quad)s * p.x[i]);
		least = y < least ? y : least;
		if (jumps(f) || p.n < 2)
			continue;
		y = golden(f, s, side, p.x[i > 0 ? i - 1 : 0], p.x[i + 1 < p.n ? i + 1 : i]);
		least = y < least ? y : least;
	}
	return least;
}

/* ---- planes ---- */

/* What the stated errors come to, generously; far above what a wrong rule would cost. */
static double allowance(const struct function *f, double l, double u, double s, double b)
{
	double size = fmin(fmax(fabs(l), fabs(u)) * fabs(s), 1e305);
	double room = 1e-13 * (fabs(b) + size) + 1e-300;
	if (f->s->kind == FLOOR || f->s->kind == CEIL || f->s->kind == ROUND) /* limits are sampled */
		return room + (fmax(fabs(l), fabs(u)) > 20 ? 2 : 1e-9);
	if ((f->s->kind == SIN || f->s->kind == COS) && u - l > 12) /* sound, not tight */
		return room + 2;
	switch (f->s->kind) {
	case EXP: case LOG: case SQRT: case RECIPROCAL: case POW: case ABS: case PRELU: return room;
	default: return room + 1e-12;
	}
}

static void check_planes(const struct function *f, double l, double u, const double alpha[2], int rule, bool wide)
{
	struct bpg_planes1 p;
	bpg_unary_planes(&f->v, l, u, alpha, rule, wide, &p);
	ck_assert(isfinite(p.lo_slope) && isfinite(p.up_slope));
	ck_assert_msg(isfinite(p.lo_bias) && isfinite(p.up_bias), "%s %g [%a,%a] slopes %g %g", f->s->op, f->s->a, l, u,
	              p.lo_slope, p.up_slope);
	if (!wide)
		ck_assert(p.lo_slope == (float)p.lo_slope && p.up_slope == (float)p.up_slope);
	double size = fmax(fabs(l), fabs(u));
	for (int side = 1; side >= -1; side -= 2) {
		double s = side > 0 ? p.lo_slope : p.up_slope, b = side > 0 ? p.lo_bias : p.up_bias;
		quad gap = extreme(f, s, l, u, side) - side * (quad)b,
		     tiny = (quad)(size * fabs(s) + fabs(b)) * 0x1p-106 + 0x1p-1074;
		ck_assert_msg(gap >= -tiny, "%s %g [%.17g,%.17g] rule %d alpha %g side %d: plane %.17g x + %.17g is wrong by %g",
		              f->s->op, f->s->a, l, u, rule, alpha[side < 0], side, s, b, (double)gap);
		ck_assert_msg(gap <= allowance(f, l, u, s, b),
		              "%s %g [%.17g,%.17g] rule %d alpha %g side %d: plane %.17g x + %.17g is loose by %g", f->s->op,
		              f->s->a, l, u, rule, alpha[side < 0], side, s, b, (double)gap);
	}
}

/* Planes hold and touch, for every function, parameter, and for boxes of all sizes. */
START_TEST(test_planes)
{
	struct function f = make(&specs[_i]);
	struct bpg_rng rng;
	bpg_rng_seed(&rng, 1000 + (uint64_t)_i);

	for (int k = 0; k < (f.s->kind == GELU ? 60 : 150); k++) {
		double l, u, alpha[2];
		draw_box(&f, &rng, &l, &u);
		draw_alpha(&f, &rng, l, u, alpha);
		check_planes(&f, l, u, alpha, (int)bpg_rng_below(&rng, 4), bpg_rng_below(&rng, 4) == 0);
	}
}
END_TEST

/* The same on a grid of boxes with the default slopes. */
START_TEST(test_grid)
{
	struct function f = make(&specs[_i]);
	const double none[2] = { NAN, NAN };
	double lo, up;
	domain(&f, &lo, &up);

	for (int i = -4; i <= 4; i++)
		for (int j = i; j <= 4; j++)
			if (i * 1.25 >= lo && j * 1.25 <= up)
				check_planes(&f, i * 1.25, j * 1.25, none, 0, false);
}
END_TEST

/* Planes of any slope: the intercept is the extreme, also where no rule would choose that slope. */
START_TEST(test_any_slope)
{
	struct function f = make(&specs[_i]);
	struct bpg_rng rng;
	bpg_rng_seed(&rng, 2000 + (uint64_t)_i);

	for (int k = 0; f.u->intercept && k < (f.s->kind == GELU ? 40 : 100); k++) {
		double l, u, s = (float)(bpg_rng_normal(&rng) * exp(2 * bpg_rng_normal(&rng)));
		draw_box(&f, &rng, &l, &u);
		for (int side = 1; side >= -1; side -= 2) {
			double b = f.u->intercept(s, l, u, side, f.v.attr);
			if (isinf(b))
				continue;
			quad gap = extreme(&f, s, l, u, side) - side * (quad)b;
			double tiny = 0x1p-106 * (fmax(fabs(l), fabs(u)) * fabs(s) + fabs(b)) + 0x1p-1074;
			ck_assert_msg(gap >= -(quad)tiny && gap <= allowance(&f, l, u, s, b),
			              "%s %g [%.17g,%.17g] slope %.17g side %d: off by %g", f.s->op, f.s->a, l, u, s, side,
			              (double)gap);
		}
	}
}
END_TEST

/* The default lines are the closest on average: in the middle of the box no other slope gives more. */
START_TEST(test_best)
{
	struct function f = make(&specs[_i]);
	const double none[2] = { NAN, NAN };
	struct bpg_rng rng;
	bpg_rng_seed(&rng, 3000 + (uint64_t)_i);

	for (int k = 0; f.u->intercept && k < 400; k++) {
		double l, u;
		draw_box(&f, &rng, &l, &u);
		if (!(u - l > 1e-3 && fabs(l) < 1e3 && fabs(u) < 1e3))
			continue;
		struct bpg_slopes s = f.u->slopes(l, u, none, 0, f.v.attr);
		for (int side = 1; side >= -1; side -= 2) {
			double m = l + (u - l) / 2, t = side > 0 ? s.lo : s.up;
			double mine = side * (t * m + f.u->intercept(t, l, u, side, f.v.attr));
			if (f.s->kind == EXP && side > 0 && m > l + 0.99)
				continue;
			for (int j = 0; j < 6; j++) {
				double other = t + (j & 1 ? -1 : 1) * (fabs(t) + 0.1) * (j < 2 ? 1e-5 : j < 4 ? 1e-2 : 0.5);
				double theirs = side * (other * m + f.u->intercept(other, l, u, side, f.v.attr));
				ck_assert_msg(theirs <= mine + 1e-11 * (1 + fabs(mine) + fabs(t * m)),
				              "%s %g [%.17g,%.17g] side %d: slope %g gives %.17g, %g gives %.17g", f.s->op,
				              f.s->a, l, u, side, t, mine, other, theirs);
			}
		}
	}
}
END_TEST

/* ---- intervals and values ---- */

START_TEST(test_range)
{
	struct function f = make(&specs[_i]);
	struct bpg_rng rng;
	bpg_rng_seed(&rng, 4000 + (uint64_t)_i);

	for (int k = 0; k < 100; k++) {
		double l, u, lo, up;
		draw_box(&f, &rng, &l, &u);
		bpg_unary_range(&f.v, l, u, &lo, &up);
		quad least = extreme(&f, 0, l, u, 1), most = -extreme(&f, 0, l, u, -1);
		quad tiny = 1e-30 * (q_abs(least) + q_abs(most)); /* of the reference */
		ck_assert_msg((quad)lo <= least + tiny && most <= (quad)up + tiny,
		              "%s %g [%.17g,%.17g]: [%.17g,%.17g] off by %g %g", f.s->op, f.s->a, l, u, lo, up,
		              (double)(least - lo), (double)(up - most));
		double room = f.s->kind == THRESHOLDED ? 1e-9 : 0; /* limits are sampled */
		ck_assert_msg((double)(least - lo) <= 1e-14 * fabs(lo) + 1e-250 + room &&
		                      (double)(up - most) <= 1e-14 * fabs(up) + 1e-250 + room,
		              "%s %g [%.17g,%.17g]: [%.17g,%.17g] loose by %g %g", f.s->op, f.s->a, l, u, lo, up,
		              (double)(least - lo), (double)(up - most));
		double a, b, x = l + (u - l) * bpg_rng_uniform(&rng);
		x = fmin(fmax(x, l), u);
		bpg_unary_range(&f.v, x, u, &a, &b);
		ck_assert(a >= lo && b <= up);
	}
}
END_TEST

/* f as computed is within its stated error; df is its derivative. */
START_TEST(test_values)
{
	struct function f = make(&specs[_i]);
	struct bpg_rng rng;
	double lo, up;
	bpg_rng_seed(&rng, 5000 + (uint64_t)_i);
	domain(&f, &lo, &up);

	for (int k = 0; k < 1500; k++) {
		double x = draw(&f, &rng);
		if (has_left_branch(&f) && bpg_rng_below(&rng, 2))
			x = -x;
		double y = f.u->f(x, f.v.attr);
		ck_assert_msg((double)q_abs((quad)y - ref(&f, x)) <= bpg_unary_error(f.u, y),
		              "%s %g at %.17g: %.17g, off by %g, stated %g", f.s->op, f.s->a, x, y,
		              (double)q_abs((quad)y - ref(&f, x)), bpg_unary_error(f.u, y));
		if (jumps(&f) || fabs(x) > 1e3 || fabs(x) < 1e-2 || fabs(y) > 100)
			continue;
		quad h = fabs(x) * 1e-8, left = ref(&f, x - h), mid = ref(&f, x), right = ref(&f, x + h);
		double d = (double)((right - left) / (2 * h)), bend = (double)((right - 2 * mid + left) / (h * h));
		double e = f.u->df(x, f.v.attr);
		if (fabs(bend) < 1e4 * (1 + fabs(d)))
			ck_assert_msg(fabs(d - e) <= 1e-9 * (1 + fabs(d)), "%s %g at %.17g: slope %.17g, difference %.17g",
			              f.s->op, f.s->a, x, e, d);
	}
}
END_TEST

/* Error of f' as computed: the certified part of the search for stationary points rests on it. Differences at 113 bits. */
START_TEST(test_slope_errors)
{
	struct function f = make(&specs[_i]);
	struct bpg_rng rng;
	bpg_rng_seed(&rng, 6000 + (uint64_t)_i);
	if (jumps(&f) || f.s->kind == HARDSIGMOID)
		return;

	for (int k = 0; k < 300; k++) {
		double x = bpg_rng_normal(&rng) * 3, lo, up, d;
		domain(&f, &lo, &up);
		if (lo >= 0 || f.s->kind == TAN)
			x = lo >= 0 ? fabs(x) + 0.01 : atan(x);
		if (fabs(fabs(x) - 3) < 1e-6 || fabs(x) < 1e-6)
			continue;
		/* Richardson, to h^6 */
		quad h = 1e-7 * fabs(x), e[3];
		for (int j = 0; j < 3; j++, h *= 2)
			e[j] = (ref(&f, x + h) - ref(&f, x - h)) / (2 * h);
		quad a = (4 * e[0] - e[1]) / 3, b = (4 * e[1] - e[2]) / 3, slope = (16 * a - b) / 15;
		d = f.u->df(x, f.v.attr);
		/* The weakest statement of all layers, and the differences' own error. */
		double room = 8 * 0x1p-52 * fabs(d) + 2e-15 + 1e-24;
		if (f.s->kind <= POW || f.s->kind == TAN || f.s->kind == ATAN || f.s->kind == SOFTPLUS || f.s->kind == SOFTSIGN)
			room = 5 * 0x1p-52 * fabs(d) + 1e-24;
		ck_assert_msg((double)q_abs(slope - d) <= room, "%s %g at %.17g: slope %.17g is off by %g", f.s->op, f.s->a, x, d,
		              (double)q_abs(slope - d));
	}
}
END_TEST

/* ---- derivatives of the slopes ---- */

static double moved(const struct function *f, double l, double u, const double alpha[2], int by, double h, int side)
{
	double a[2] = { alpha[0] + (by == 2 ? h : 0), alpha[1] + (by == 2 ? h : 0) };
	struct bpg_slopes s = f->u->slopes(l + (by == 0 ? h : 0), u + (by == 1 ? h : 0), a, 0, f->v.attr);
	return side ? s.up : s.lo;
}

/* Derivatives equal central differences wherever the one-sided ones agree (no change of case). */
START_TEST(test_derivatives)
{
	struct function f = make(&specs[_i]);
	struct bpg_rng rng;
	bpg_rng_seed(&rng, 7000 + (uint64_t)_i);
	int compared = 0;
	double lo, up;
	domain(&f, &lo, &up);

	for (int k = 0; k < 1500; k++) {
		double a = bpg_rng_normal(&rng) * 3, b = bpg_rng_normal(&rng) * 3, l, u, alpha[2];
		if (lo >= 0)
			a = fabs(a) + 0.2, b = fabs(b) + 0.2;
		if (f.s->kind == TAN)
			a = atan(a) * 0.9, b = atan(b) * 0.9;
		l = fmin(a, b);
		u = fmax(a, b);
		if (u - l < 0.1)
			continue;
		draw_alpha(&f, &rng, l, u, alpha);
		struct bpg_slopes s = f.u->slopes(l, u, alpha, 0, f.v.attr);
		double stated[2][3] = { { s.dlo_dl, s.dlo_du, s.dlo_dalpha }, { s.dup_dl, s.dup_du, s.dup_dalpha } };
		for (int side = 0; side < 2; side++)
			for (int by = 0; by < 3; by++) {
				if (by == 2 && isnan(alpha[side])) {
					ck_assert(stated[side][by] == 0);
					continue;
				}
				double h = 1e-5, mid = side ? s.up : s.lo;
				double right = (moved(&f, l, u, alpha, by, h, side) - mid) / h,
				       left = (mid - moved(&f, l, u, alpha, by, -h, side)) / h;
				if (fabs(right - left) > 1e-2 * (1e-2 + fabs(right) + fabs(left)))
					continue;
				ck_assert_msg(fabs((right + left) / 2 - stated[side][by]) <= 2e-3 * (1e-2 + fabs(right)),
				              "%s %g [%.17g,%.17g] alpha %g %g side %d by %d: %g, differences %g %g", f.s->op,
				              f.s->a, l, u, alpha[0], alpha[1], side, by, stated[side][by], left, right);
				compared++;
			}
	}
	ck_assert_int_gt(compared, 2000);
}
END_TEST

/* ---- ends ---- */

/* Equal, infinite, crossed and NaN ends, poles and places outside the domain: no NaN, no wrong bound, and nothing is claimed
 * where there is no value. */
START_TEST(test_ends)
{
	struct function f = make(&specs[_i]);
	const double end[] = { -INFINITY, -1e308, -3, -0.0, 0, 0.5, 0x1p-1074, 7, 1e6, 1e308, INFINITY, NAN };
	const double x[] = {-1e308, -1e200, -1e10, -40, -3, -1.2, -1, -0.2, 0, 0x1p-1074, 0.5, 0.7, 2, 7, 50, 1e10, 1e200, 1e308};

	for (size_t i = 0; i < BPG_LEN(end); i++)
		for (size_t j = 0; j < BPG_LEN(end); j++)
			for (int k = 0; k < 6; k++) {
				double l = end[i], u = end[j], lo, up, alpha[2] = { NAN, NAN };
				struct bpg_planes1 p;
				if (k >= 3)
					alpha[0] = alpha[1] = k - 4;
				bpg_unary_planes(&f.v, l, u, alpha, k % 4, false, &p);
				bpg_unary_range(&f.v, l, u, &lo, &up);
				ck_assert_msg(isfinite(p.lo_slope) && isfinite(p.up_slope) && p.lo_bias < INFINITY &&
				                      p.up_bias > -INFINITY,
				              "%s %g [%a,%a]: %g %g %g %g", f.s->op, f.s->a, l, u, p.lo_slope, p.lo_bias,
				              p.up_slope, p.up_bias);
				ck_assert_msg(lo <= up && lo < INFINITY && up > -INFINITY, "%s %g [%a,%a]: %g %g", f.s->op,
				              f.s->a, l, u, lo, up);
				for (size_t n = 0; n < BPG_LEN(x); n++) {
					if (x[n] < l || x[n] > u)
						continue;
					double y = f.u->f(x[n], f.v.attr), room = bpg_unary_error(f.u, y) +
					                                          0x1p-50 * fabs(p.lo_slope * x[n]) +
					                                          0x1p-50 * fabs(p.up_slope * x[n]);
					if (isnan(y)) {
						ck_assert(lo == -INFINITY && up == INFINITY && p.lo_bias == -INFINITY &&
						          p.up_bias == INFINITY);
						continue;
					}
					if (isinf(y))
						y = copysign(DBL_MAX, y);
					ck_assert_msg(lo <= y && y <= up, "%s %g [%a,%a] at %a: %g, [%g,%g]", f.s->op, f.s->a, l,
					              u, x[n], y, lo, up);
					ck_assert_msg(isinf(p.lo_bias) || p.lo_slope * x[n] + p.lo_bias <= y + room,
					              "%s %g [%a,%a] at %a: %g, line %g", f.s->op, f.s->a, l, u, x[n], y,
					              p.lo_slope * x[n] + p.lo_bias);
					ck_assert_msg(isinf(p.up_bias) || p.up_slope * x[n] + p.up_bias >= y - room,
					              "%s %g [%a,%a] at %a: %g, line %g", f.s->op, f.s->a, l, u, x[n], y,
					              p.up_slope * x[n] + p.up_bias);
				}
			}
}
END_TEST

/* Intervals that contain a pole, touch one or leave the domain are unbounded. */
START_TEST(test_unbounded)
{
	static const struct { enum kind kind; double a, l, u;
	} t[] = {
	        {RECIPROCAL, 0, -1, 2},
	        {RECIPROCAL, 0, 0, 2},
	        {RECIPROCAL, 0, -2, 0},
	        {RECIPROCAL, 0, -0.0, 2},
	        {LOG, 0, -1, 2},
	        {SQRT, 0, -1e-30, 2},
	        {POW, -1, -1, 2},
	        {POW, -2, -1, 2},
	        {POW, -2, 0, 2},
	        {POW, 0.5, -1, 2},
	        {TAN, 0, 1, 2},
	        {TAN, 0, -2, 2},
	        {TAN, 0, 1.5707963267948966, 1.5707963267948968},
	        {TAN, 0, -1.6, -1.5},
	};
	for (size_t i = 0; i < BPG_LEN(t); i++)
		for (size_t j = 0; j < BPG_LEN(specs); j++) {
			struct bpg_planes1 p;
			double lo, up;
			if (specs[j].kind != t[i].kind || specs[j].a != t[i].a)
				continue;
			struct function f = make(&specs[j]);
			bpg_unary_range(&f.v, t[i].l, t[i].u, &lo, &up);
			bpg_unary_planes(&f.v, t[i].l, t[i].u, NULL, 0, false, &p);
			ck_assert_msg(lo == -INFINITY && up == INFINITY && p.lo_bias == -INFINITY && p.up_bias == INFINITY &&
			                      p.lo_slope == 0 && p.up_slope == 0,
			              "%s [%g,%g]: [%g,%g]", f.s->op, t[i].l, t[i].u, lo, up);
		}
}
END_TEST

/* The lower line of Exp is positive where the function is. */
START_TEST(test_exp_positive)
{
	struct function f = make(&specs[0]);
	for (int i = -20; i < 20; i++)
		for (int w = 1; w < 20; w++) {
			struct bpg_planes1 p;
			bpg_unary_planes(&f.v, i, i + w, NULL, 0, false, &p);
			ck_assert(p.lo_slope * i + p.lo_bias > 0);
		}
}
END_TEST

START_TEST(test_refuses)
{
	struct bpg_node v;
	struct bpg_operand none = { .n = 0 }, variable = { .n = 1 };
	struct bpg_operand two = {
	        .n = 2, .shape = {.rank = 1, .dim = {2}}, .value = bpg_const_new(arena, BPG_F64, 2, (double[]){2, 3})};
	struct bpg_operand nan = { .n = 1, .value = bpg_const_new(arena, BPG_F64, 1, (double[]){ NAN }) };
	struct bpg_import_attr form = { .name = "approximate", .kind = BPG_ATTR_STRING, .s = "half" };
	struct bpg_import_attr zero = { .name = "alpha", .kind = BPG_ATTR_FLOAT, .f = 0 }, bad = zero;
	bad.f = NAN;

	ck_assert(try_import(&bpg_layer_pow, "Pow", NULL, 0, variable, 2, &v) != BPG_OK &&
	          strstr(bpg_ctx_message(ctx), "exponent"));
	ck_assert(try_import(&bpg_layer_pow, "Pow", NULL, 0, two, 2, &v) != BPG_OK &&
	          strstr(bpg_ctx_message(ctx), "exponents 2 and 3"));
	ck_assert(try_import(&bpg_layer_pow, "Pow", NULL, 0, nan, 2, &v) != BPG_OK);
	ck_assert(try_import(&bpg_layer_pow, "Pow", NULL, 0, none, 1, &v) != BPG_OK);
	ck_assert(try_import(&bpg_layer_gelu, "Gelu", &form, 1, none, 1, &v) != BPG_OK &&
	          strstr(bpg_ctx_message(ctx), "approximate=half"));
	ck_assert(try_import(&bpg_layer_swish, "Swish", &zero, 1, none, 1, &v) != BPG_OK);
	ck_assert(try_import(&bpg_layer_elu, "Celu", &zero, 1, none, 1, &v) != BPG_OK);
	ck_assert(try_import(&bpg_layer_elu, "Elu", &bad, 1, none, 1, &v) != BPG_OK);
	ck_assert(try_import(&bpg_layer_hardsigmoid, "HardSigmoid", &bad, 1, none, 1, &v) != BPG_OK);
	ck_assert(try_import(&bpg_layer_thresholdedrelu, "ThresholdedRelu", &bad, 1, none, 1, &v) != BPG_OK);
	ck_assert(try_import(&bpg_layer_leakyrelu, "PRelu", NULL, 0, variable, 2, &v) != BPG_OK &&
	          strstr(bpg_ctx_message(ctx), "slope"));
	ck_assert(try_import(&bpg_layer_leakyrelu, "PRelu", NULL, 0, nan, 2, &v) != BPG_OK);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("curves");
	TCase *t = tcase_create("curves");
	int n = BPG_LEN(specs);

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_set_timeout(t, 120);
	tcase_add_loop_test(t, test_values, 0, n);
	tcase_add_loop_test(t, test_slope_errors, 0, n);
	tcase_add_loop_test(t, test_range, 0, n);
	tcase_add_loop_test(t, test_planes, 0, n);
	tcase_add_loop_test(t, test_grid, 0, n);
	tcase_add_loop_test(t, test_any_slope, 0, n);
	tcase_add_loop_test(t, test_best, 0, n);
	tcase_add_loop_test(t, test_derivatives, 0, n);
	tcase_add_loop_test(t, test_ends, 0, n);
	tcase_add_test(t, test_unbounded);
	tcase_add_test(t, test_exp_positive);
	tcase_add_test(t, test_refuses);
	suite_add_tcase(s, t);

	SRunner *r = srunner_create(s);
	srunner_run_all(r, CK_ENV);
	int failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
