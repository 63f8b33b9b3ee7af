/* test_unary.c - lines, intervals and derivatives of the elementwise layers, and max-pooling, against references that share
 * nothing with them: 113-bit arithmetic with an exponential of its own, extremes found by bisection, windows by definition. */
#include <check.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "codelets/family.h"
#include "codelets/family_unary.h"
#include "net/const.h"
#include "net/import.h"

extern const struct bpg_layer bpg_layer_relu, bpg_layer_leakyrelu, bpg_layer_clip, bpg_layer_sigmoid, bpg_layer_tanh,
	bpg_layer_maxpool;

#if __LDBL_MANT_DIG__ >= 113
typedef long double quad;
#else
__extension__ typedef __float128 quad;
#endif

/* ---- nodes ---- */

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

static struct bpg_shape shape_of(int rank, const int64_t *dim)
{
	struct bpg_shape s = { .rank = rank };
	for (int i = 0; i < rank; i++)
		s.dim[i] = dim[i];
	return s;
}

struct ask {
	const struct bpg_layer *layer;
	int opset, attrs, nin, output_index;
	struct bpg_import_attr attr[8];
	struct bpg_operand in[3];
};

static enum bpg_status build(struct ask *q, struct bpg_node *v)
{
	struct bpg_import im = { .ctx = ctx, .arena = arena, .path = "test.onnx", .name = "n", .op = q->layer->ops,
		                 .opset = q->opset, .output_index = q->output_index, .output_count = q->output_index + 1,
		                 .attrs = q->attrs, .attr = q->attr };
	struct bpg_operand *in = bpg_arena_alloc(arena, 3, sizeof *in);
	ck_assert(in != NULL);
	memcpy(in, q->in, sizeof q->in);
	*v = (struct bpg_node){ .layer = q->layer, .name = "n", .op = q->layer->ops, .nin = q->nin, .in = in };
	return bpg_import_run(&im, v);
}

static struct ask ask_unary(const struct bpg_layer *layer)
{
	struct ask q = { .layer = layer, .opset = 13, .nin = 1 };
	q.in[0] = (struct bpg_operand){ .shape = shape_of(1, (int64_t[]){ 1 }), .n = 1 };
	return q;
}

static struct bpg_operand number(double x)
{
	return (struct bpg_operand){ .n = 1, .value = bpg_const_new(arena, BPG_F64, 1, &x) };
}

/* What is tested: the node, and what its function is. */
struct function {
	struct bpg_node v;
	enum { RELU, LEAKY, CLIP, SIGMOID, TANH } kind;
	double a, c, d;
};

static struct function make(int kind, double a, double c, double d)
{
	static const struct bpg_layer *const layer[] = { &bpg_layer_relu, &bpg_layer_leakyrelu, &bpg_layer_clip,
		                                         &bpg_layer_sigmoid, &bpg_layer_tanh };
	struct function f = { .kind = kind, .a = a, .c = c, .d = d };
	struct ask q = ask_unary(layer[kind]);

	if (kind == LEAKY) {
		q.attrs = 1;
		q.attr[0] = (struct bpg_import_attr){ .name = "alpha", .kind = BPG_ATTR_FLOAT, .f = a };
	} else if (kind == CLIP) {
		q.nin = 3;
		q.in[1] = isinf(c) ? (struct bpg_operand){ .absent = true } : number(c);
		q.in[2] = isinf(d) ? (struct bpg_operand){ .absent = true } : number(d);
	}
	ck_assert_msg(build(&q, &f.v) == BPG_OK, "%s", bpg_ctx_message(ctx));
	return f;
}

enum { FUNCTIONS = 14 };

static struct function function(int i)
{
	switch (i) {
	case 0: return make(RELU, 0, 0, 0);
	case 1: return make(LEAKY, 0.01f, 0, 0);
	case 2: return make(LEAKY, 0.3f, 0, 0);
	case 3: return make(LEAKY, 1.7f, 0, 0);
	case 4: return make(LEAKY, -0.5f, 0, 0);
	case 5: return make(LEAKY, 0, 0, 0);
	case 6: return make(CLIP, 0, -1, 1);
	case 7: return make(CLIP, 0, 0, 6);
	case 8: return make(CLIP, 0, -INFINITY, 0.7);
	case 9: return make(CLIP, 0, 0.3, INFINITY);
	case 10: return make(CLIP, 0, 2, -1);
	case 11: return make(CLIP, 0, -INFINITY, INFINITY);
	case 12: return make(SIGMOID, 0, 0, 0);
	default: return make(TANH, 0, 0, 0);
	}
}

/* ---- the reference ---- */

/* e^x for x <= 0, to some 2^-105: x = k log 2 + r, |r| <= 0.35, r halved six times, Taylor, squared back. */
static quad quad_exp(quad x)
{
	const double ln2_0 = 0x1.62e42fefa39efp-1, ln2_1 = 0x1.abc9e3b39803fp-56, ln2_2 = 0x1.7b57a079a1934p-111;
	if (x < -12000)
		return 0;
	int k = (int)(double)(x / (quad)ln2_0);
	quad r = ((x - k * (quad)ln2_0) - k * (quad)ln2_1) - k * (quad)ln2_2, t = 1, sum = 0;
	r /= 64;
	for (int i = 1; i < 20; i++) { /* e^r - 1, to keep its digits */
		t *= r / i;
		sum += t;
	}
	for (int i = 0; i < 6; i++)
		sum = sum * (2 + sum);
	sum += 1;
	for (; k < 0; k++)
		sum /= 2;
	return sum;
}

static quad quad_abs(quad x) { return x < 0 ? -x : x; }

static quad ref(const struct function *f, quad x)
{
	switch (f->kind) {
	case RELU: return x > 0 ? x : 0;
	case LEAKY: return x > 0 ? x : (quad)f->a * x;
	case CLIP: x = x < f->c ? (quad)f->c : x; return x > f->d ? (quad)f->d : x;
	case SIGMOID: {
		quad t = quad_exp(-quad_abs(x));
		return x >= 0 ? 1 / (1 + t) : t / (1 + t);
	}
	default: {
		if (quad_abs(x) < 0x1p-25) /* the exponential form cancels */
			return x - x * x * x / 3;
		quad t = quad_exp(-2 * quad_abs(x)), y = (1 - t) / (1 + t);
		return x >= 0 ? y : -y;
	}
	}
}

/* Derivative of the smooth ones. */
static quad ref_slope(const struct function *f, quad x)
{
	quad t = quad_exp((f->kind == TANH ? -2 : -1) * quad_abs(x));
	return (f->kind == TANH ? 4 : 1) * t / ((1 + t) * (1 + t));
}

struct extreme {
	quad least, most;
};

static void consider(struct extreme *e, const struct function *f, quad s, quad x)
{
	quad g = ref(f, x) - s * x;
	e->least = g < e->least ? g : e->least;
	e->most = g > e->most ? g : e->most;
}

/* f' - s changes sign at most once on [a,b], where f' is monotone. */
static void root(struct extreme *e, const struct function *f, quad s, quad a, quad b)
{
	bool rises = ref_slope(f, a) < ref_slope(f, b);
	if (!(a < b))
		return;
	for (int i = 0; i < 130; i++) {
		quad m = a + (b - a) / 2;
		if ((ref_slope(f, m) < s) == rises)
			a = m;
		else
			b = m;
	}
	consider(e, f, s, a);
	consider(e, f, s, b);
}

/* Extremes of f(x) - s*x over the finite [l,u]. */
static struct extreme extremes(const struct function *f, double s, double l, double u)
{
	struct extreme e = { (quad)INFINITY, -(quad)INFINITY };
	double kink[] = { 0, f->c, f->d };

	consider(&e, f, s, l);
	consider(&e, f, s, u);
	if (f->kind == SIGMOID || f->kind == TANH) {
		root(&e, f, s, fmax(l, -1000), fmin(u, 0)); /* where f' vanishes there are no more roots for the slopes used */
		root(&e, f, s, fmax(l, 0), fmin(u, 1000));
		return e;
	}
	for (int i = 0; i < 3; i++)
		if (kink[i] > l && kink[i] < u)
			consider(&e, f, s, kink[i]);
	return e;
}

/* ---- boxes ---- */

static double draw(struct bpg_rng *rng)
{
	static const double special[] = { 0, 1, -1, 6, 0.3, 0.7, 0.5, -0.5, 1e30, -1e30, 1e-30, -1e-30, 0x1p-1074, -0x1p-1074,
		                          40, -40, 800, -800, 1e300, -1e300, 20, -20, 3e-5, -3e-5 };
	switch (bpg_rng_below(rng, 5)) {
	case 0: return special[bpg_rng_below(rng, BPG_LEN(special))];
	case 1: return bpg_rng_normal(rng) * exp(bpg_rng_normal(rng) * 6);
	case 2: return (float)bpg_rng_normal(rng);
	default: return bpg_rng_normal(rng) * 3;
	}
}

static void draw_box(struct bpg_rng *rng, double *l, double *u)
{
	double a = draw(rng), b = draw(rng);
	switch (bpg_rng_below(rng, 8)) {
	case 0: b = nextafter(a, INFINITY); break;
	case 1: b = a + fabs(a) * 1e-9 * bpg_rng_uniform(rng); break;
	case 2: b = a + 1e-4 * bpg_rng_uniform(rng); break;
	}
	*l = fmin(a, b);
	*u = fmax(a, b);
}

static void draw_alpha(struct bpg_rng *rng, const struct function *f, double l, double u, double alpha[2])
{
	for (int side = 0; side < 2; side++) {
		double least, most, start;
		f->v.layer->unary->alpha_range(l, u, side, f->v.attr, &least, &most, &start);
		ck_assert_msg(least <= start && start <= most, "kind %d [%a,%a] side %d: %g %g %g", f->kind, l, u, side, least, start,
		              most);
		switch (bpg_rng_below(rng, 4)) {
		case 0: alpha[side] = NAN; break;
		case 1: alpha[side] = start; break;
		case 2: alpha[side] = draw(rng); break; /* also illegal ones: they are clamped */
		default: alpha[side] = least + bpg_rng_uniform(rng) * (most - least); break;
		}
	}
}

static bool is_smooth(const struct function *f) { return f->kind == SIGMOID || f->kind == TANH; }

/* ---- planes enclose, and touch ---- */

/* How far the intercept may be from the true extreme: the errors that family_unary.c states. */
static double allowance(const struct function *f, double l, double u, double s, double b)
{
	double size = fmax(fabs(l), fabs(u)) * fabs(s);
	if (!is_smooth(f)) /* one rounding of the result, and LeakyReLU's of a*x; the last term is for underflow */
		return 0x1p-51 * (f->kind == LEAKY ? 2 * fabs(b) + size : fabs(b)) + 0x1p-1071;
	double x = fmin(fmax(fabs(l), fabs(u)), 800);
	return 0x1p-48 + 0x1p-51 * fabs(b) + 2e-12 * (1 + x) * (1 + x);
}

static void check_planes(const struct function *f, double l, double u, const double alpha[2], int rule, bool wide)
{
	struct bpg_planes1 p;
	bpg_unary_planes(&f->v, l, u, alpha, rule, wide, &p);
	ck_assert(isfinite(p.lo_slope) && isfinite(p.up_slope));
	ck_assert_msg(isfinite(p.lo_bias) && isfinite(p.up_bias), "kind %d a %g [%a,%a]", f->kind, f->a, l, u);
	if (!wide)
		ck_assert(p.lo_slope == (float)p.lo_slope && p.up_slope == (float)p.up_slope);

	quad below = extremes(f, p.lo_slope, l, u).least - (quad)p.lo_bias;
	quad above = (quad)p.up_bias - extremes(f, p.up_slope, l, u).most;
	/* The reference itself rounds at 113 bits, its exponential at 105. */
	double size = fmax(fabs(l), fabs(u)), e_lo = size * fabs(p.lo_slope), e_up = size * fabs(p.up_slope), unit = 0x1p-110;
	if (is_smooth(f))
		e_lo += 0x1p8, e_up += 0x1p8;
	ck_assert_msg(below >= -(quad)(e_lo * unit),
	              "kind %d a %g c %g d %g [%a,%a] rule %d alpha %g: lower plane %a x + %a is wrong by %g", f->kind, f->a, f->c,
	              f->d, l, u, rule, alpha[0], p.lo_slope, p.lo_bias, (double)below);
	ck_assert_msg(above >= -(quad)(e_up * unit),
	              "kind %d a %g c %g d %g [%a,%a] rule %d alpha %g: upper plane %a x + %a is wrong by %g", f->kind, f->a, f->c,
	              f->d, l, u, rule, alpha[1], p.up_slope, p.up_bias, (double)above);
	double allow_lo = allowance(f, l, u, p.lo_slope, p.lo_bias), allow_up = allowance(f, l, u, p.up_slope, p.up_bias);
	ck_assert_msg(below <= allow_lo, "kind %d a %g [%a,%a] rule %d alpha %g: lower plane %g x + %g is loose by %g > %g", f->kind,
	              f->a, l, u, rule, alpha[0], p.lo_slope, p.lo_bias, (double)below, allow_lo);
	ck_assert_msg(above <= allow_up, "kind %d a %g [%a,%a] rule %d alpha %g: upper plane %g x + %g is loose by %g > %g", f->kind,
	              f->a, l, u, rule, alpha[1], p.up_slope, p.up_bias, (double)above, allow_up);
}

/* Planes hold, and are no looser than their stated errors, for every function, rule, parameter, and for boxes of all sizes. */
START_TEST(test_planes)
{
	struct function f = function(_i);
	struct bpg_rng rng;
	bpg_rng_seed(&rng, 100 + (uint64_t)_i);

	int boxes = is_smooth(&f) ? 400 : 10000;
	for (int k = 0; k < boxes; k++) {
		double l, u, alpha[2];
		draw_box(&rng, &l, &u);
		draw_alpha(&rng, &f, l, u, alpha);
		check_planes(&f, l, u, alpha, (int)bpg_rng_below(&rng, 4), bpg_rng_below(&rng, 4) == 0);
	}
}
END_TEST

/* The same on a dense grid of boxes with default slopes. */
START_TEST(test_planes_grid)
{
	struct function f = function(_i);
	const double none[2] = { NAN, NAN };
	int n = is_smooth(&f) ? 12 : 40;

	for (int i = -n; i <= n; i++)
		for (int j = i; j <= n; j++)
			for (int rule = 0; rule < (is_smooth(&f) ? 1 : 4); rule++)
				check_planes(&f, i * 8.0 / n, j * 8.0 / n, none, rule, false);
}
END_TEST

/* ---- exact lines of piecewise linear functions ---- */

/* Where ReLU and LeakyReLU are linear the planes are the function itself; a lower line through the origin has no bias. */
START_TEST(test_exact)
{
	struct function f = function(_i);
	struct bpg_rng rng;
	bpg_rng_seed(&rng, 200 + (uint64_t)_i);

	for (int k = 0; k < 20000; k++) {
		double l, u, alpha[2];
		struct bpg_planes1 p;
		draw_box(&rng, &l, &u);
		draw_alpha(&rng, &f, l, u, alpha);
		if (l == u)
			continue;
		bpg_unary_planes(&f.v, l, u, alpha, (int)bpg_rng_below(&rng, 4), false, &p);
		if (l >= 0 || u <= 0) {
			double s = l >= 0 ? 1 : f.a;
			ck_assert(p.lo_slope == s && p.up_slope == s && p.lo_bias == 0 && p.up_bias == 0);
			continue;
		}
		ck_assert((f.a > 1 ? p.up_bias : p.lo_bias) == 0);
		ck_assert((f.a > 1 ? p.up_slope : p.lo_slope) >= fmin(f.a, 1) && (f.a > 1 ? p.up_slope : p.lo_slope) <= fmax(f.a, 1));
		if (f.kind == RELU) {
			quad left = -(quad)p.up_slope * l, right = u - (quad)p.up_slope * u, need = left > right ? left : right;
			ck_assert(p.up_slope == (float)(u / (u - l)) || isinf(u - l));
			ck_assert_msg(p.up_bias >= need && (need < 0x1p-900 || p.up_bias <= need * (1 + 0x1p-52)), "[%a,%a] %a %a", l, u,
			              p.up_bias, (double)need);
		}
	}
}
END_TEST

/* Rules of the lower slope of an unstable ReLU. */
START_TEST(test_relu_rules)
{
	struct function f = make(RELU, 0, 0, 0);
	struct { double l, u; int rule; double s; } const t[] = {
		{ -1, 2, BPG_SLOPE_ADAPTIVE, 1 }, { -2, 1, BPG_SLOPE_ADAPTIVE, 0 }, { -1, 1, BPG_SLOPE_ADAPTIVE, 0 },
		{ -1, 2, BPG_SLOPE_ZERO, 0 }, { -2, 1, BPG_SLOPE_ONE, 1 }, { -1, 3, BPG_SLOPE_SAME, 0.75 },
	};
	for (size_t i = 0; i < BPG_LEN(t); i++) {
		struct bpg_planes1 p;
		bpg_unary_planes(&f.v, t[i].l, t[i].u, NULL, t[i].rule, false, &p);
		ck_assert(p.lo_slope == t[i].s && p.lo_bias == 0);
	}
}
END_TEST

/* ---- intervals ---- */

/* The range encloses the reference at both ends and inside, is exact for exact functions, and nests. */
START_TEST(test_range)
{
	struct function f = function(_i);
	struct bpg_rng rng;
	bpg_rng_seed(&rng, 300 + (uint64_t)_i);

	for (int k = 0; k < (is_smooth(&f) ? 300 : 3000); k++) {
		double l, u, lo, up;
		draw_box(&rng, &l, &u);
		bpg_unary_range(&f.v, l, u, &lo, &up);
		for (int j = 0; j <= 4; j++) {
			double x = j == 0 ? l : j == 1 ? u : l + bpg_rng_uniform(&rng) * (u - l), a, b;
			if (!(x >= l && x <= u))
				continue;
			quad y = ref(&f, x);
			ck_assert_msg((quad)lo <= y && y <= (quad)up, "kind %d [%a,%a] x %a: %a %a %a", f.kind, l, u, x, lo, (double)y, up);
			bpg_unary_range(&f.v, x, u, &a, &b);
			ck_assert(a >= lo && b <= up);
		}
		struct extreme e = extremes(&f, 0, l, u);
		double allow = f.kind == LEAKY || is_smooth(&f) ? 0x1p-49 : 0;
		ck_assert((double)(e.least - (quad)lo) <= allow * fabs(lo) + 0x1p-1060 * (allow > 0));
		ck_assert((double)((quad)up - e.most) <= allow * fabs(up) + 0x1p-1060 * (allow > 0));
	}
}
END_TEST

/* Equal, infinite, crossed and NaN ends: never a NaN, never a wrong bound. */
START_TEST(test_ends)
{
	struct function f = function(_i);
	const double end[] = { -INFINITY, -1e308, -3, -0.0, 0, 0.5, 0x1p-1074, 7, 1e308, INFINITY, NAN };
	const double x[] = { -1e308, -1e200, -1e10, -40, -3, -1, -0.2, 0, 0x1p-1074, 0.5, 0.7, 2, 7, 50, 1e10, 1e200, 1e308 };

	for (size_t i = 0; i < BPG_LEN(end); i++)
		for (size_t j = 0; j < BPG_LEN(end); j++)
			for (int k = 0; k < 12; k++) {
				double l = end[i], u = end[j], lo, up, alpha[2] = { NAN, NAN };
				struct bpg_planes1 p;
				if (k >= 4)
					alpha[0] = alpha[1] = (k - 8) / 2.0;
				bpg_unary_planes(&f.v, l, u, alpha, k % 4, false, &p);
				bpg_unary_range(&f.v, l, u, &lo, &up);
				ck_assert(isfinite(p.lo_slope) && isfinite(p.up_slope) && p.lo_bias < INFINITY && p.up_bias > -INFINITY);
				ck_assert(lo <= up && lo < INFINITY && up > -INFINITY);
				if (l == u && isfinite(l))
					ck_assert(p.lo_slope == 0 && p.up_slope == 0 && p.lo_bias == lo && p.up_bias == up);
				for (size_t n = 0; n < BPG_LEN(x); n++) {
					if (x[n] < l || x[n] > u)
						continue;
					quad y = ref(&f, x[n]), tol = (quad)fabs(x[n]) * 0x1p-110;
					ck_assert((quad)lo <= y && y <= (quad)up);
					ck_assert_msg(isinf(p.lo_bias) || (quad)p.lo_slope * x[n] + p.lo_bias <= y + tol, "kind %d a %g [%a,%a] at %a: %a %a",
					              f.kind, f.a, l, u, x[n], p.lo_slope, p.lo_bias);
					ck_assert_msg(isinf(p.up_bias) || (quad)p.up_slope * x[n] + p.up_bias >= y - tol, "kind %d a %g [%a,%a] at %a: %a %a",
					              f.kind, f.a, l, u, x[n], p.up_slope, p.up_bias);
				}
			}
	/* ReLU over a half line: what can be said is said. */
	struct bpg_planes1 p;
	if (f.kind == RELU) {
		bpg_unary_planes(&f.v, -INFINITY, 5, NULL, 0, false, &p);
		ck_assert(p.lo_slope == 0 && p.lo_bias == 0 && p.up_slope == 0 && p.up_bias == 5);
		bpg_unary_planes(&f.v, -5, INFINITY, NULL, 0, false, &p);
		ck_assert(p.lo_slope == 1 && p.lo_bias == 0 && p.up_slope == 0 && isinf(p.up_bias));
		bpg_unary_planes(&f.v, 2, INFINITY, NULL, 0, false, &p);
		ck_assert(p.lo_slope == 1 && p.lo_bias == 0 && p.up_slope == 1 && p.up_bias == 0);
	}
}
END_TEST

/* ---- tightness of S-shapes ---- */

/* Slope of the lower line by the rules of auto_LiRPA: chord where it is valid, else the tangent at min(d_low, middle). */
static quad ref_lower_slope(const struct function *f, quad l, quad u)
{
	quad m = (l + u) / 2, k = (ref(f, u) - ref(f, l)) / (u - l);
	if (u <= 0)
		return ref_slope(f, m);
	if (l >= 0 || k < ref_slope(f, l))
		return k;
	quad a = l, b = 0;
	for (int i = 0; i < 110; i++) {
		quad d = (a + b) / 2;
		if (ref_slope(f, d) * (u - d) + ref(f, d) <= ref(f, u))
			a = d;
		else
			b = d;
	}
	return ref_slope(f, a < m ? a : m);
}

/* The lines at the middle of the box, where their mean over it is attained, are as close as the reference's. */
START_TEST(test_sshape_tight)
{
	struct function f = function(12 + _i);
	struct bpg_rng rng;
	bpg_rng_seed(&rng, 400 + (uint64_t)_i);

	for (int k = 0; k < 150; k++) {
		double l, u;
		do
			draw_box(&rng, &l, &u);
		while (!(u - l > 1e-3 && fabs(l) < 300 && fabs(u) < 300));
		struct bpg_planes1 p;
		bpg_unary_planes(&f.v, l, u, NULL, 0, false, &p);
		quad m = ((quad)l + u) / 2, s_lo = ref_lower_slope(&f, l, u), s_up = ref_lower_slope(&f, -(quad)u, -(quad)l);
		quad want_lo = s_lo * m + extremes(&f, (double)s_lo, l, u).least, want_up = s_up * m + extremes(&f, (double)s_up, l, u).most;
		quad gap_lo = want_lo - (p.lo_slope * m + p.lo_bias), gap_up = (p.up_slope * m + p.up_bias) - want_up;
		double allow = 1e-6 * (double)(want_up - want_lo) + 2e-7 * (u - l) * fmax(p.lo_slope, p.up_slope) + 1e-9;
		ck_assert_msg((double)gap_lo <= allow && (double)gap_up <= allow, "kind %d [%.17g,%.17g]: looser by %g and %g, allowed %g",
		              f.kind, l, u, (double)gap_lo, (double)gap_up, allow);
	}
}
END_TEST

/* ---- derivatives ---- */

/* Value number k of a lower/upper slope, with end or parameter number `by` moved by h. */
static double moved(const struct function *f, double l, double u, const double alpha[2], int rule, int by, double h, int side)
{
	double a[2] = { alpha[0] + (by == 2 ? h : 0), alpha[1] + (by == 2 ? h : 0) };
	struct bpg_slopes s = f->v.layer->unary->slopes(l + (by == 0 ? h : 0), u + (by == 1 ? h : 0), a, rule, f->v.attr);
	return side ? s.up : s.lo;
}

/* Derivatives of the slopes equal central differences wherever the two one-sided differences agree (no change of case). */
START_TEST(test_derivatives)
{
	struct function f = function(_i);
	struct bpg_rng rng;
	bpg_rng_seed(&rng, 500 + (uint64_t)_i);
	int compared = 0;

	for (int k = 0; k < 4000; k++) {
		double a = bpg_rng_normal(&rng) * 3, b = bpg_rng_normal(&rng) * 3, l = fmin(a, b), u = fmax(a, b), alpha[2];
		if (u - l < 0.1)
			continue;
		draw_alpha(&rng, &f, l, u, alpha);
		int rule = (int)bpg_rng_below(&rng, 4);
		struct bpg_slopes s = f.v.layer->unary->slopes(l, u, alpha, rule, f.v.attr);
		double stated[2][3] = { { s.dlo_dl, s.dlo_du, s.dlo_dalpha }, { s.dup_dl, s.dup_du, s.dup_dalpha } };
		for (int side = 0; side < 2; side++)
			for (int by = 0; by < 3; by++) {
				if (by == 2 && isnan(alpha[side])) {
					ck_assert(stated[side][by] == 0);
					continue;
				}
				double h = 1e-4, mid = side ? s.up : s.lo;
				double right = (moved(&f, l, u, alpha, rule, by, h, side) - mid) / h;
				double left = (mid - moved(&f, l, u, alpha, rule, by, -h, side)) / h;
				if (fabs(right - left) > 1e-2 * (1e-2 + fabs(right) + fabs(left)))
					continue;
				ck_assert_msg(fabs((right + left) / 2 - stated[side][by]) <= 1e-3 * (1e-2 + fabs(right)),
				              "kind %d [%.17g,%.17g] rule %d alpha %g %g side %d by %d: %g, differences %g %g", f.kind, l, u, rule,
				              alpha[0], alpha[1], side, by, stated[side][by], left, right);
				compared++;
			}
	}
	ck_assert_int_gt(compared, 5000);
}
END_TEST

/* f as computed, its derivative, and the family's callbacks. */
START_TEST(test_values)
{
	struct function f = function(_i);
	const struct bpg_unary *un = f.v.layer->unary;
	struct bpg_rng rng;
	bpg_rng_seed(&rng, 600 + (uint64_t)_i);

	for (int k = 0; k < 3000; k++) {
		double x = draw(&rng), y, gy = 2, gx = 1, lo, up;
		float x32 = (float)x, y32;
		const double *in[3] = { &x }, *const box[3] = { &x };
		const float *in32[3] = { &x32 };
		double *out[3] = { &gx };
		ck_assert(bpg_unary_default_eval(&f.v, in, &y) == BPG_OK);
		double err = un->ulp * 0x1p-52 * fabs(y) + un->abs_err + 0x1p-1074 * un->ulp;
		ck_assert_msg((double)quad_abs((quad)y - ref(&f, x)) <= err, "kind %d x %a: %a", f.kind, x, y);
		ck_assert(bpg_unary_default_interval(&f.v, box, box, 0, 1, &lo, &up) == BPG_OK && lo <= y && y <= up);
		ck_assert(bpg_unary_default_gradient(&f.v, in, &gy, out) == BPG_OK && gx == 1 + 2 * un->df(x, f.v.attr));
		if (isinf(x32))
			continue;
		ck_assert(bpg_unary_default_eval_f32(&f.v, in32, &y32) == BPG_OK && y32 == (float)un->f(x32, f.v.attr));
		double h = 1e-5, d = (un->f(x + h, f.v.attr) - un->f(x - h, f.v.attr)) / (2 * h);
		double kink = fmin(fabs(x), fmin(fabs(x - f.c), fabs(x - f.d)));
		if (fabs(x) < 100 && (is_smooth(&f) || kink > h))
			ck_assert(fabs(d - un->df(x, f.v.attr)) < 1e-8);
	}
}
END_TEST

/* ---- what import refuses ---- */

START_TEST(test_import)
{
	struct bpg_node v;
	struct ask q = ask_unary(&bpg_layer_clip);

	/* Attributes before opset 11. */
	q.opset = 6;
	q.attrs = 2;
	q.attr[0] = (struct bpg_import_attr){ .name = "min", .kind = BPG_ATTR_FLOAT, .f = -2 };
	q.attr[1] = (struct bpg_import_attr){ .name = "max", .kind = BPG_ATTR_FLOAT, .f = 3 };
	ck_assert(build(&q, &v) == BPG_OK);
	ck_assert(v.layer->unary->f(-9, v.attr) == -2 && v.layer->unary->f(9, v.attr) == 3 && v.layer->unary->f(1, v.attr) == 1);

	/* A variable limit, several limits, NaN. */
	q = ask_unary(&bpg_layer_clip);
	q.nin = 2;
	q.in[1] = (struct bpg_operand){ .n = 1 };
	ck_assert(build(&q, &v) != BPG_OK && strstr(bpg_ctx_message(ctx), "min"));
	q.in[1] = (struct bpg_operand){ .n = 2, .shape = shape_of(1, (int64_t[]){ 2 }),
		                        .value = bpg_const_new(arena, BPG_F64, 2, (double[]){ 1, 2 }) };
	ck_assert(build(&q, &v) != BPG_OK);
	q.in[1] = number(NAN);
	ck_assert(build(&q, &v) != BPG_OK);

	q = ask_unary(&bpg_layer_leakyrelu);
	ck_assert(build(&q, &v) == BPG_OK && v.layer->unary->df(-1, v.attr) == 0.01f);
	q.attrs = 1;
	q.attr[0] = (struct bpg_import_attr){ .name = "alpha", .kind = BPG_ATTR_FLOAT, .f = INFINITY };
	ck_assert(build(&q, &v) != BPG_OK);
}
END_TEST

/* ---- max-pooling ---- */

struct pool {
	int n;                    /* spatial axes */
	int64_t in[2], kernel[2], stride[2], dilation[2], pads[4];
	bool ceiling;
	const char *mode;
};

static enum bpg_status build_pool(const struct pool *p, struct bpg_node *v)
{
	struct ask q = { .layer = &bpg_layer_maxpool, .opset = 12, .nin = 1 };
	int64_t dim[4] = { 1, 2, p->in[0], p->in[1] }, n = 2 * p->in[0] * (p->n == 2 ? p->in[1] : 1);

	q.in[0] = (struct bpg_operand){ .shape = shape_of(2 + p->n, dim), .n = n };
	q.attr[q.attrs++] = (struct bpg_import_attr){ .name = "kernel_shape", .kind = BPG_ATTR_INTS, .n = p->n, .ints = p->kernel };
	q.attr[q.attrs++] = (struct bpg_import_attr){ .name = "strides", .kind = BPG_ATTR_INTS, .n = p->n, .ints = p->stride };
	q.attr[q.attrs++] = (struct bpg_import_attr){ .name = "dilations", .kind = BPG_ATTR_INTS, .n = p->n, .ints = p->dilation };
	q.attr[q.attrs++] = (struct bpg_import_attr){ .name = "ceil_mode", .kind = BPG_ATTR_INT, .i = p->ceiling };
	if (p->mode)
		q.attr[q.attrs++] = (struct bpg_import_attr){ .name = "auto_pad", .kind = BPG_ATTR_STRING, .s = p->mode };
	else
		q.attr[q.attrs++] = (struct bpg_import_attr){ .name = "pads", .kind = BPG_ATTR_INTS, .n = 2 * p->n, .ints = p->pads };
	return build(&q, v);
}

static struct pool draw_pool(struct bpg_rng *rng)
{
	struct pool p = { .n = 1 + (int)bpg_rng_below(rng, 2), .in = { 1, 1 }, .kernel = { 1, 1 }, .stride = { 1, 1 },
		          .dilation = { 1, 1 }, .ceiling = bpg_rng_below(rng, 2) };
	for (int i = 0; i < p.n; i++) {
		p.kernel[i] = 1 + bpg_rng_below(rng, 3);
		p.stride[i] = 1 + bpg_rng_below(rng, 3);
		p.dilation[i] = 1 + bpg_rng_below(rng, 2);
		p.pads[i] = bpg_rng_below(rng, p.kernel[i]);
		p.pads[p.n + i] = bpg_rng_below(rng, p.kernel[i]);
		p.in[i] = (p.kernel[i] - 1) * p.dilation[i] + 1 + bpg_rng_below(rng, 3);
	}
	return p;
}

/* Inputs of output element o by definition: every kernel position, kept where it lies on the input. */
static int window_by_definition(const struct pool *p, const struct bpg_node *v, int64_t o, int64_t at[9])
{
	int64_t h = p->in[0], w = p->n == 2 ? p->in[1] : 1, ow = p->n == 2 ? v->out.shape.dim[3] : 1, oh = v->out.shape.dim[2];
	int64_t x = o % ow, y = o / ow % oh, c = o / (ow * oh);
	int n = 0;
	for (int64_t i = 0; i < p->kernel[0]; i++)
		for (int64_t j = 0; j < (p->n == 2 ? p->kernel[1] : 1); j++) {
			int64_t row = y * p->stride[0] - p->pads[0] + i * p->dilation[0];
			int64_t col = p->n == 2 ? x * p->stride[1] - p->pads[1] + j * p->dilation[1] : 0;
			if (row >= 0 && row < h && col >= 0 && col < w)
				at[n++] = (c * h + row) * w + col;
		}
	return n;
}

static void draw_boxes(struct bpg_rng *rng, int64_t n, double *l, double *u)
{
	double spread = exp(3 * bpg_rng_normal(rng)), width = exp(2 * bpg_rng_normal(rng));
	for (int64_t i = 0; i < n; i++) {
		l[i] = bpg_rng_normal(rng) * spread;
		u[i] = bpg_rng_below(rng, 4) ? l[i] + bpg_rng_uniform(rng) * width * spread : l[i];
		if (bpg_rng_below(rng, 6) == 0 && i > 0) { /* ties */
			l[i] = l[i - 1];
			u[i] = u[i - 1];
		}
	}
}

/* Coefficient of input j in a plane. */
static double coefficient(const struct bpg_terms *t, int64_t j)
{
	for (int k = 0; k < t->n; k++)
		if (t->index[k] == j)
			return t->coef[k];
	return 0;
}

static void check_pool_planes(const struct bpg_node *v, const double *l, const double *u, int64_t o, const int64_t *at, int n,
                              struct bpg_terms *lower, struct bpg_terms *upper)
{
	bpg_terms_reset(lower);
	bpg_terms_reset(upper);
	bpg_layer_maxpool.planes(v, &l, &u, o, lower, upper);
	for (int k = 0; k < lower->n; k++)
		ck_assert(lower->coef[k] == (float)lower->coef[k] && lower->err[k] == 0);
	for (int k = 0; k < upper->n; k++)
		ck_assert(upper->coef[k] == (float)upper->coef[k] && upper->err[k] == 0);

	/* Lower: the maximum is at least any convex combination, and coefficients are one-hot. */
	ck_assert(lower->n == 1 && lower->coef[0] == 1 && lower->bias == 0);
	/* Upper: max_j x_j - c x is convex, so its largest value is at a vertex. */
	double most_l = -INFINITY, most_u = -INFINITY;
	quad excess = -(quad)INFINITY, centre = upper->bias;
	for (int corner = 0; corner < 1 << n; corner++) {
		quad top = -(quad)INFINITY, plane = upper->bias, floor_ = 0;
		for (int k = 0; k < n; k++) {
			double x = corner >> k & 1 ? u[at[k]] : l[at[k]];
			top = x > top ? (quad)x : top;
			plane += (quad)coefficient(upper, at[k]) * x;
			floor_ += (quad)coefficient(lower, at[k]) * x;
		}
		ck_assert_msg(plane >= top, "upper plane is wrong by %g", (double)(top - plane));
		ck_assert(floor_ <= top);
		excess = top - plane > excess ? top - plane : excess;
	}
	for (int k = 0; k < n; k++) {
		most_l = fmax(most_l, l[at[k]]);
		most_u = fmax(most_u, u[at[k]]);
		centre += (quad)coefficient(upper, at[k]) * ((quad)l[at[k]] + u[at[k]]) / 2;
	}
	double size = fmax(fabs(most_l), fabs(most_u)) + fabs(upper->bias);
	ck_assert((double)-excess <= size * 0x1p-52);                  /* it touches */
	ck_assert((double)(centre - (quad)most_u) <= size * 0x1p-23);  /* never above the constant bound */
}

START_TEST(test_pool)
{
	struct bpg_rng rng;
	struct bpg_terms lower, upper;
	bpg_rng_seed(&rng, 700);
	bpg_terms_init(&lower);
	bpg_terms_init(&upper);

	for (int k = 0; k < 400; k++) {
		struct pool p = draw_pool(&rng);
		struct bpg_node v;
		double l[200], u[200], y[800], lo[800], up[800], gy[800] = { 0 }, gx[200];
		float x32[200], y32[800];
		
		enum bpg_status st = build_pool(&p, &v);
		ck_assert_msg(st == BPG_OK, "%s", bpg_ctx_message(ctx));
		int64_t n = v.in[0].n;
		ck_assert(n <= 200 && v.out.n <= 800);

		draw_boxes(&rng, n, l, u);
		const double *lp[1] = { l }, *up_[1] = { u };
		double *gp[1] = { gx };
		for (int64_t i = 0; i < n; i++)
			x32[i] = (float)l[i];
		const float *x32p[1] = { x32 };
		ck_assert(bpg_layer_maxpool.eval(&v, lp, y) == BPG_OK);
		ck_assert(bpg_layer_maxpool.eval_f32(&v, x32p, y32) == BPG_OK);
		ck_assert(bpg_layer_maxpool.interval(&v, lp, up_, 0, v.out.n, lo, up) == BPG_OK);
		for (int64_t o = 0; o < v.out.n; o++) {
			int64_t at[9];
			int m = window_by_definition(&p, &v, o, at), above = 0;
			double top = -INFINITY, high = -INFINITY;
			ck_assert_int_gt(m, 0);
			for (int j = 0; j < m; j++) {
				top = fmax(top, l[at[j]]);
				high = fmax(high, u[at[j]]);
			}
			ck_assert(y[o] == top && y32[o] == (float)top && lo[o] == top && up[o] == high);
			check_pool_planes(&v, l, u, o, at, m, &lower, &upper);

			/* Some input is at least as large as all others everywhere: the window is that input. */
			bool settled = false;
			for (int i = 0; i < m; i++) {
				above = 0;
				for (int j = 0; j < m; j++)
					above += j != i && u[at[j]] > l[at[i]];
				settled |= above == 0;
			}
			if (settled)
				ck_assert(upper.n == 1 && upper.coef[0] == 1 && upper.bias == 0 && upper.index[0] == lower.index[0]);

			memset(gx, 0, sizeof gx);
			gy[o] = 3;
			ck_assert(bpg_layer_maxpool.gradient(&v, lp, gy, gp) == BPG_OK);
			gy[o] = 0;
			double sum = 0, at_top = 0;
			for (int64_t i = 0; i < n; i++) {
				sum += gx[i];
				at_top += gx[i] * l[i];
			}
			ck_assert(sum == 3 && at_top == 3 * top);
		}
	}
	bpg_terms_fini(&lower);
	bpg_terms_fini(&upper);
}
END_TEST

/* Infinite and NaN bounds give no NaN and no wrong plane. */
START_TEST(test_pool_ends)
{
	const double end[] = { -INFINITY, -1, 0, 2, INFINITY, NAN };
	struct pool p = { .n = 1, .in = { 2, 1 }, .kernel = { 2, 1 }, .stride = { 1, 1 }, .dilation = { 1, 1 } };
	struct bpg_node v;
	struct bpg_terms lower, upper;
	ck_assert(build_pool(&p, &v) == BPG_OK);
	bpg_terms_init(&lower);
	bpg_terms_init(&upper);

	for (int c = 0; c < 6 * 6 * 6 * 6; c++) {
		double l[4] = { end[c % 6], end[c / 6 % 6], 0, 0 }, u[4] = { end[c / 36 % 6], end[c / 216], 0, 0 }, lo, up;
		if (l[0] > u[0] || l[1] > u[1])
			continue;
		const double *lp[1] = { l }, *up_[1] = { u };
		bpg_terms_reset(&lower);
		bpg_terms_reset(&upper);
		bpg_layer_maxpool.planes(&v, lp, up_, 0, &lower, &upper);
		ck_assert(bpg_layer_maxpool.interval(&v, lp, up_, 0, 1, &lo, &up) == BPG_OK);
		ck_assert(lo <= up && lower.bias < INFINITY && upper.bias > -INFINITY);
		for (int i = 0; i < 25; i++) {
			double x[2] = { i % 5 - 2, i / 5 - 2 }, top = fmax(x[0], x[1]);
			if (x[0] < l[0] || x[0] > u[0] || x[1] < l[1] || x[1] > u[1])
				continue;
			ck_assert(lo <= top && top <= up);
			ck_assert(coefficient(&lower, 0) * x[0] + coefficient(&lower, 1) * x[1] + lower.bias <= top);
			ck_assert(coefficient(&upper, 0) * x[0] + coefficient(&upper, 1) * x[1] + upper.bias >= top);
		}
	}
	bpg_terms_fini(&lower);
	bpg_terms_fini(&upper);
}
END_TEST

/* Output sizes, as ONNX Runtime 1.32 computes them (along one axis: in, kernel, stride, dilation, pads, ceil_mode, mode). */
START_TEST(test_pool_sizes)
{
	const struct { int64_t in, kernel, stride, dilation, begin, end; bool ceiling; const char *mode; int64_t out; } t[] = {
		{ 7, 2, 4, 2, 0, 0, true, NULL, 2 },
		{ 5, 3, 3, 1, 2, 0, false, NULL, 2 },
		{ 4, 2, 3, 1, 1, 1, false, NULL, 2 },
		{ 7, 3, 3, 3, 2, 1, false, NULL, 2 },
		{ 4, 2, 2, 1, 0, 1, true, NULL, 2 },
		{ 9, 3, 4, 3, 2, 2, true, NULL, 3 },
		{ 5, 4, 2, 1, 0, 3, true, NULL, 3 },
		{ 6, 2, 2, 1, 1, 0, true, NULL, 4 },
		{ 8, 2, 3, 2, 1, 1, false, NULL, 3 },
		{ 5, 3, 2, 1, 0, 0, false, "SAME_LOWER", 3 },
		{ 8, 3, 2, 1, 0, 0, false, "VALID", 3 },
		{ 11, 4, 3, 2, 2, 1, true, NULL, 4 },
		{ 5, 3, 3, 1, 1, 1, true, NULL, 2 },
		{ 13, 4, 3, 3, 0, 3, true, NULL, 3 },
		{ 6, 2, 4, 1, 0, 0, false, "SAME_UPPER", 2 },
		{ 9, 4, 4, 1, 0, 0, false, "SAME_UPPER", 3 },
		{ 4, 4, 2, 1, 0, 0, false, "SAME_LOWER", 2 },
		{ 4, 4, 4, 1, 0, 0, false, "VALID", 1 },
	};
	for (size_t i = 0; i < BPG_LEN(t); i++) {
		struct pool p = { .n = 1, .in = { t[i].in, 1 }, .kernel = { t[i].kernel, 1 }, .stride = { t[i].stride, 1 },
			          .dilation = { t[i].dilation, 1 }, .pads = { t[i].begin, t[i].end }, .ceiling = t[i].ceiling,
			          .mode = t[i].mode };
		struct bpg_node v;
		ck_assert_msg(build_pool(&p, &v) == BPG_OK, "%s", bpg_ctx_message(ctx));
		ck_assert_int_eq(v.out.shape.dim[2], t[i].out);
	}
}
END_TEST

START_TEST(test_pool_refuses)
{
	struct bpg_node v;
	struct pool p = { .n = 2, .in = { 4, 4 }, .kernel = { 2, 2 }, .stride = { 2, 2 }, .dilation = { 1, 1 } }, bad;

	ck_assert(build_pool(&p, &v) == BPG_OK);
	bad = p, bad.kernel[0] = 9;
	ck_assert(build_pool(&bad, &v) != BPG_OK);
	bad = p, bad.stride[1] = 0;
	ck_assert(build_pool(&bad, &v) != BPG_OK);
	bad = p, bad.pads[0] = 2;
	ck_assert(build_pool(&bad, &v) != BPG_OK);
	bad = p, bad.pads[3] = INT64_MAX;
	ck_assert(build_pool(&bad, &v) != BPG_OK);
	bad = p, bad.dilation[0] = INT64_MAX;
	ck_assert(build_pool(&bad, &v) != BPG_OK);
	bad = p, bad.kernel[0] = -1;
	ck_assert(build_pool(&bad, &v) != BPG_OK);
	bad = p, bad.mode = "ELSE";
	ck_assert(build_pool(&bad, &v) != BPG_OK);
	/* Where the standard and its runtimes disagree. */
	bad = p, bad.mode = "SAME_UPPER", bad.dilation[0] = 2;
	ck_assert(build_pool(&bad, &v) != BPG_OK);
	bad = p, bad.mode = "VALID", bad.ceiling = true;
	ck_assert(build_pool(&bad, &v) == BPG_OK);
	bad.in[1] = 5;
	ck_assert(build_pool(&bad, &v) != BPG_OK);
	/* A window between whose taps the whole input disappears. */
	bad = p, bad.n = 1, bad.in[0] = 1, bad.dilation[0] = 3, bad.stride[0] = 1, bad.pads[0] = 2, bad.pads[1] = 1;
	ck_assert(build_pool(&bad, &v) != BPG_OK && strstr(bpg_ctx_message(ctx), "padding alone"));

	struct ask q = { .layer = &bpg_layer_maxpool, .opset = 12, .nin = 1, .attrs = 1, .output_index = 1 };
	q.in[0] = (struct bpg_operand){ .shape = shape_of(4, (int64_t[]){ 1, 1, 4, 4 }), .n = 16 };
	q.attr[0] = (struct bpg_import_attr){ .name = "kernel_shape", .kind = BPG_ATTR_INTS, .n = 2, .ints = p.kernel };
	ck_assert(build(&q, &v) != BPG_OK && strstr(bpg_ctx_message(ctx), "indices"));
	q.output_index = 0;
	ck_assert(build(&q, &v) == BPG_OK && v.out.n == 9);
	q.attrs = 2;
	q.attr[1] = (struct bpg_import_attr){ .name = "storage_order", .kind = BPG_ATTR_INT, .i = 1 };
	ck_assert(build(&q, &v) != BPG_OK);
	q.attrs = 0;
	ck_assert(build(&q, &v) != BPG_OK && strstr(bpg_ctx_message(ctx), "kernel_shape"));
}
END_TEST

int main(void)
{
	Suite *s = suite_create("unary");
	TCase *t = tcase_create("unary");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_set_timeout(t, 120);
	tcase_add_loop_test(t, test_values, 0, FUNCTIONS);
	tcase_add_loop_test(t, test_range, 0, FUNCTIONS);
	tcase_add_loop_test(t, test_planes, 0, FUNCTIONS);
	tcase_add_loop_test(t, test_planes_grid, 0, FUNCTIONS);
	tcase_add_loop_test(t, test_exact, 0, 6);
	tcase_add_test(t, test_relu_rules);
	tcase_add_loop_test(t, test_ends, 0, FUNCTIONS);
	tcase_add_loop_test(t, test_sshape_tight, 0, 2);
	tcase_add_loop_test(t, test_derivatives, 0, FUNCTIONS);
	tcase_add_test(t, test_import);
	tcase_add_test(t, test_pool);
	tcase_add_test(t, test_pool_ends);
	tcase_add_test(t, test_pool_sizes);
	tcase_add_test(t, test_pool_refuses);
	suite_add_tcase(s, t);

	SRunner *r = srunner_create(s);
	srunner_run_all(r, CK_ENV);
	int failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
