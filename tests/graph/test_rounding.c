/* Every rounding term is needed: for each there is a network on which a bound is wrong when the term is left out, and
 * right with it. Exact ranges come from arithmetic in 113 bits, in which these sums and products are exact or nearly so.
 *
 * Terms are left out by the linker: bodies of tasks are wrapped here, and the wrapper removes one term from what they were
 * given or have written. The program itself knows nothing of it. */
#include <check.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "builder.h"
#include "codelets/task_alpha.h"
#include "graph/zones.h"
#include "outcome.h"
#include "require.h"
#include "spec/region.h"

#if LDBL_MANT_DIG >= 113
typedef long double quad;
#else
typedef __float128 quad;
#endif

/* ---- leaving out ---- */

enum term {
	NOTHING,
	PRODUCTS,                 /* gamma of products and sums of a linear layer */
	SEGMENTS,                 /* of these the sum over the segments of a zone */
	UNDERFLOW,
	EXTRA,                    /* error of a node's reference value, and of its coefficients as held */
	SLOPE,                    /* rounding of coefficient times slope */
	JOIN,                     /* rounding of a sum of two rows */
	PLANES,                   /* rounding of products with sparse planes */
	DEALT,                    /* what rounding leaves of a coefficient that is dealt out to several planes */
	FINISH,                   /* rounding of the last sum */
	OUTWARD,                  /* bounds stored one step outward */
	LIBRARY,                  /* error of exp and tanh as computed */
	DECIMALS,                 /* what a decimal differs from its nearest double */
};
static enum term without;

#define WRAPPED(name) \
	bpg_task_fn __real_##name, __wrap_##name; \
	void __wrap_##name(struct bpg_rt *rt, void *const *buffer, const void *arg)

WRAPPED(bpg_task_interval)
{
	const struct bpg_arg_interval *a = arg;

	__real_bpg_task_interval(rt, buffer, arg);
	for (int64_t i = 0; without == EXTRA && i < a->n; i++)
		((double *)buffer[a->hop->nin])[BPG_EXTRA * a->n + i] = 0;
}

WRAPPED(bpg_task_planes)
{
	const struct bpg_arg_planes *a = arg;
	int64_t places = bpg_columns_places(a->hop->out);

	__real_bpg_task_planes(rt, buffer, arg);
	for (int64_t i = 0; without == SLOPE && !a->producer && i < 2 * places; i++)
		((double *)buffer[2])[BPG_PRICE_NEW32 * places + i] = 0; /* both types */
}

WRAPPED(bpg_task_add)
{
	struct bpg_arg_add a = *(const struct bpg_arg_add *)arg;

	a.slack = a.slack && without != JOIN;
	__real_bpg_task_add(rt, buffer, &a);
}

WRAPPED(bpg_task_map_planes)
{
	struct bpg_arg_map_planes a = *(const struct bpg_arg_map_planes *)arg;
	double *radius = (double *)buffer[0] + BPG_RADIUS * a.map.hop->out->n, kept = radius[0];

	a.slack = a.slack && without != PLANES;
	if (without == DEALT) /* one element; its radius is needed for nothing else */
		radius[0] = 0;
	__real_bpg_task_map_planes(rt, buffer, &a);
	radius[0] = kept;
}

static float weight;              /* where weights of other planes start */

WRAPPED(bpg_task_weights_start)
{
	const struct bpg_arg_weights *a = arg;

	__real_bpg_task_weights_start(rt, buffer, arg);
	for (int64_t i = 0; i < a->tile.strips * a->others * BPG_LANES; i++)
		((float *)buffer[0])[i] = weight;
}

WRAPPED(bpg_task_finish)
{
	const struct bpg_arg_finish *a = arg;
	const double *s = buffer[0];

	__real_bpg_task_finish(rt, buffer, arg);
	for (int r = 0; without == FINISH && r < a->rows; r++) {
		double far = s[BPG_BOX * a->rows + r];
		if (a->norm)
			far = fmin(far, (a->norm == 2 ? sqrt(s[BPG_BALL * a->rows + r]) : s[BPG_BALL * a->rows + r]) * a->radius);
		((double *)buffer[1])[r] = s[BPG_P * a->rows + r] - far - s[BPG_SLACK * a->rows + r];
	}
}

double __real_bpg_next_down(double x), __wrap_bpg_next_down(double x);
double __wrap_bpg_next_down(double x) { return without == OUTWARD ? x : __real_bpg_next_down(x); }
double __real_bpg_next_up(double x), __wrap_bpg_next_up(double x);
double __wrap_bpg_next_up(double x) { return without == OUTWARD ? x : __real_bpg_next_up(x); }

static void poke(struct bpg_model *m, const void *arg)
{
	(void)arg;
	for (int i = 0; i < m->nodes; i++) {
		if (without == PRODUCTS)
			m->node[i].hop.gamma32 = m->node[i].hop.gamma64 = 0;
		const struct bpg_zone *z = m->node[i].zone;
		if (without == SEGMENTS && z && z->col == i)
			m->node[i].hop.gamma32 = bpg_gamma(fmin(m->node[i].hop.block, (double)z->length) + 1, BPG_U32);
		if (without == UNDERFLOW)
			m->node[i].hop.under = 0x1p-1000; /* not zero: it would be set again */
	}
}

/* ---- a network with known ranges ---- */

enum { MOST = 4096, WATCHED = 128 };

struct scene {
	struct build b;
	int64_t n;                /* inputs */
	double lo[MOST], up[MOST], zero[MOST];
	bool ball;                /* L2 about zero */
	double radius;
	struct bpg_bound_options o;
	const struct bpg_question_row *row; /* one row, null: the outputs */
	int node;                 /* tensor whose bounds are looked at; -1: rows */
	int watched;
	quad lower[WATCHED], upper[WATCHED];
};

static struct scene s;
static float W[MOST], V[MOST], bias[MOST];

static void input(double lo, double up)
{
	s.lo[s.n] = lo, s.up[s.n++] = up;
}

static void expect(quad lower, quad upper)
{
	s.lower[s.watched] = lower, s.upper[s.watched++] = upper;
}

static void fill(float *w, int n, float first, float rest)
{
	for (int i = 0; i < n; i++)
		w[i] = i ? rest : first;
}

/* Takes the nodes' functions for exact. */
static void trust_library(struct bpg_net *net)
{
	static struct bpg_layer layer[8];
	static struct bpg_unary unary[8];
	int n = 0;

	for (int i = 0; i < net->nodes; i++) {
		struct bpg_node *v = &net->node[i].v;
		if (!v->layer || !v->layer->unary)
			continue;
		layer[n] = *v->layer, unary[n] = *v->layer->unary;
		unary[n].ulp = unary[n].abs_err = 0;
		layer[n].unary = &unary[n];
		v->layer = &layer[n++];
	}
}

/* The bounds hold; names the first that does not. */
static bool encloses(struct bpg_ctx *ctx, struct bpg_rt *rt, struct bpg_net *net, enum term term, char *text, size_t room)
{
	struct bpg_region g = { .norm = s.ball ? BPG_NORM_2 : BPG_NORM_INF, .ball = s.ball, .n = s.n, .lo = s.lo, .up = s.up,
		                .center = s.ball ? s.zero : NULL, .radius = s.radius };
	struct outcome o;
	bool right = true;

	without = term;
	enum bpg_status st = outcome_poked(&o, ctx, rt, net, &g, &s.o, s.row, 1, poke, NULL);
	without = NOTHING;
	/* What is left out may also make bounds cross, which is noticed. */
	REQUIRE(!st || (term && st == BPG_ENUMERIC), "%s", bpg_ctx_message(ctx));
	if (st) {
		outcome_fini(&o);
		return false;
	}
	const struct bpg_model_node *v = s.node >= 0 ? outcome_node(&o, s.b.t[s.node].name) : NULL;
	REQUIRE(s.node < 0 || v, "no node %s", s.b.t[s.node].name);
	const double *l = v ? bpg_field(v, BPG_LOWER) : o.lower, *u = v ? bpg_field(v, BPG_UPPER) : o.upper;
	REQUIRE((v ? v->columns.n : o.rows) == s.watched, "%lld bounds, %d ranges", (long long)(v ? v->columns.n : o.rows), s.watched);
	for (int i = 0; i < s.watched && right; i++) {
		*text = 0;
		right = l[i] <= s.lower[i] && u[i] >= s.upper[i];
		snprintf(text, room, "element %d: [%.17g, %.17g] leaves out %.3Lg below, %.3Lg above", i, l[i], u[i],
		        (long double)(l[i] - s.lower[i]),
		         (long double)(s.upper[i] - u[i]));
	}
	outcome_fini(&o);
	return right;
}

/* ---- the networks ---- */

/* The bounds of a hidden node are rows in float. A ReLU behind it asks for them, its bias puts its range around zero. */
static void asked_by_relu(int z)
{
	s.node = z;
	build_output(&s.b, build_unary(&s.b, "Relu", z));
}

/* 1 + 255 times 2^-25 in one block: every addition after the first is lost. */
static void dense_products(void)
{
	input(1, 2);
	fill(W, 256, 1, 0x1p-12f);
	fill(V, 256, 1, 0x1p-13f);
	int h = build_unary(&s.b, "Relu", build_dense(&s.b, build_vector(&s.b, 1), 256, W, bias));
	asked_by_relu(build_dense(&s.b, h, 1, V, (float[]){ -1.5f }));
	quad a = 1 + (quad)255 * 0x1p-25;
	expect(a - 1.5, 2 * a - 1.5);
}

/* 1 in the first of 16 segments, 2^-24 in each of the others: every addition is lost. */
static void segments(void)
{
	input(1, 2);
	for (int i = 0; i < 128; i++)
		W[i] = V[i] = i == 0 ? 1 : i % 8 == 0 ? 0x1p-12f : 0;
	s.o.placement = BPG_PLACEMENT_TP;
	int h = build_unary(&s.b, "Relu", build_dense(&s.b, build_vector(&s.b, 1), 128, W, bias));
	asked_by_relu(build_dense(&s.b, h, 1, V, (float[]){ -1.5f }));
	quad a = 1 + (quad)15 * 0x1p-24;
	expect(a - 1.5, 2 * a - 1.5);
}

/* A block over the channels of a convolution. */
static void conv_products(void)
{
	const struct build_window one = { { 1, 1 }, { 1, 1 }, { 0 }, { 1, 1 } };

	fill(W, 64, 1, 0x1p-12f);
	fill(V, 64, 1, 0x1p-13f);
	int h = build_unary(&s.b, "Relu", build_conv(&s.b, build_input(&s.b, 4, (int64_t[]){ 1, 1, 2, 2 }), 64, 1, &one, W, bias));
	asked_by_relu(build_conv(&s.b, h, 1, 1, &one, V, (float[]){ -1.5f }));
	quad a = 1 + (quad)63 * 0x1p-25;
	for (int i = 0; i < 4; i++) {
		input(1, 2);
		expect(a - 1.5, 2 * a - 1.5);
	}
}

/* One element added to 200 constants: its coefficients add up. */
static void broadcast_sums(void)
{
	input(1, 2);
	fill(V, 200, 1, 1);
	const char *c = build_constant(&s.b, 2, (int64_t[]){ 1, 200 }, V);
	char reads[40];
	int x = build_vector(&s.b, 1);
	snprintf(reads, sizeof reads, "%s %s", s.b.t[x].name, c);
	int y = build_add(&s.b, build_node(&s.b, "Add", reads), 2, (int64_t[]){ 1, 200 });
	fill(W, 200, 1, 0x1p-25f);
	asked_by_relu(build_dense(&s.b, y, 1, W, (float[]){ -2.5f }));
	quad a = 1 + (quad)199 * 0x1p-25;
	expect(2 * a - 2.5, 3 * a - 2.5);
}

/* Rows asked are carried in double: 4 + 1020 times 2^-54, in blocks that begin with 1. */
static void double_products(void)
{
	static int64_t index[1024];
	static double coef[1024];
	static struct bpg_question_row row = { .n = 1024, .index = index, .coef = coef };

	input(-1, 1);
	for (int i = 0; i < 1024; i++) {
		W[i] = i % 256 ? 0x1p-27f : 1;
		coef[i] = W[i];
		index[i] = i;
	}
	build_output(&s.b, build_dense(&s.b, build_vector(&s.b, 1), 1024, W, bias));
	s.row = &row;
	quad a = 4 + (quad)1020 * 0x1p-54;
	expect(-a, a);
}

/* 2^127, 2^-75, 2^-38, 2^-38: the products of the last three are below the least float, all four are not. */
static void underflow_in_a_walk(void)
{
	input(0.5, 1);
	int h = build_unary(&s.b, "Relu", build_dense(&s.b, build_vector(&s.b, 1), 1, (float[]){ 0x1p127f }, bias));
	h = build_unary(&s.b, "Relu", build_dense(&s.b, h, 1, (float[]){ 0x1p-75f }, bias));
	h = build_unary(&s.b, "Relu", build_dense(&s.b, h, 1, (float[]){ 0x1p-38f }, bias));
	asked_by_relu(build_dense(&s.b, h, 1, (float[]){ 0x1p-38f }, (float[]){ -0.75f * 0x1p-24f }));
	expect(-0.25 * 0x1p-24, 0.25 * 0x1p-24);
}

/* The first product of a walk. */
static void underflow_at_the_start(void)
{
	input(0x1p126, 0x1p127);
	int h = build_unary(&s.b, "Relu", build_dense(&s.b, build_vector(&s.b, 1), 1, (float[]){ 0x1p-75f }, bias));
	asked_by_relu(build_dense(&s.b, h, 1, (float[]){ 0x1p-76f }, (float[]){ -0.75f * 0x1p-24f }));
	expect(-0.25 * 0x1p-24, 0.25 * 0x1p-24);
}

/* A scale and weights whose product a float holds with three bits. */
static void weights_below_floats(void)
{
	input(0x1p119, 0x1p120);
	int h = build_unary(&s.b, "Relu", build_vector(&s.b, 1));
	for (int i = 0; i < 16; i++) {
		W[i] = (float)build_uniform(&s.b, 0x1p-47, 0x1p-46);
		bias[i] = (float)(-0.75 * 0x1p20 * W[i]);
		expect((quad)W[i] * 0x1p19 + bias[i], (quad)W[i] * 0x1p20 + bias[i]);
	}
	const char *w = build_constant(&s.b, 2, (int64_t[]){ 1, 16 }, W), *c = build_constant(&s.b, 1, (int64_t[]){ 16 }, bias);
	char reads[64];
	snprintf(reads, sizeof reads, "%s %s %s", s.b.t[h].name, w, c);
	struct ow node = build_node(&s.b, "Gemm", reads);
	ow_attr_float(&node, "alpha", 0x1p-100f);
	asked_by_relu(build_add(&s.b, node, 2, (int64_t[]){ 1, 16 }));
}

/* A scale that is no power of two: weights as held differ from what is meant. */
static void scaled_weights(void)
{
	input(1, 2);
	int h = build_unary(&s.b, "Relu", build_vector(&s.b, 1));
	for (int i = 0; i < 16; i++) {
		W[i] = (float)build_uniform(&s.b, 1, 2);
		bias[i] = -0.15f * W[i];
		expect((quad)W[i] * 0.1f + bias[i], 2 * (quad)W[i] * 0.1f + bias[i]);
	}
	const char *w = build_constant(&s.b, 2, (int64_t[]){ 1, 16 }, W), *c = build_constant(&s.b, 1, (int64_t[]){ 16 }, bias);
	char reads[64];
	snprintf(reads, sizeof reads, "%s %s %s", s.b.t[h].name, w, c);
	struct ow node = build_node(&s.b, "Gemm", reads);
	ow_attr_float(&node, "alpha", 0.1f);
	asked_by_relu(build_add(&s.b, node, 2, (int64_t[]){ 1, 16 }));
}

/* A point; the sum in double of 16 times 1 and 4064 times 2^-54 is 16. */
static void reference_value(void)
{
	for (int i = 0; i < 4080; i++) {
		input(1, 1);
		W[i] = i < 16 ? 1 : 0x1p-54f;
	}
	build_output(&s.b, build_dense(&s.b, build_vector(&s.b, 4080), 1, W, bias));
	expect(16 + (quad)4064 * 0x1p-54, 16 + (quad)4064 * 0x1p-54);
}

/* (x - m) * f + b with f = s / (3 * 2^-20), about m. */
static void batch_norm(void)
{
	float mean[8], var[8];

	for (int i = 0; i < 8; i++) {
		W[i] = (float)build_uniform(&s.b, 0.5, 1), V[i] = (float)build_uniform(&s.b, -0.1, 0.1), mean[i] = (float)build_uniform(&s.b,
		        0.25, 1);
		var[i] = 8 * 0x1p-40f;
		input(mean[i] + 0x1p-19, mean[i] + 0x1p-18);
		quad f = (quad)W[i] / (3 * (quad)0x1p-20);
		expect((quad)0x1p-19 * f + V[i], (quad)0x1p-18 * f + V[i]);
	}
	build_output(&s.b, build_batchnorm(&s.b, build_vector(&s.b, 8), W, V, mean, var, 0x1p-40f));
}

/* Means of so many elements of [0, 1] that 1/n as a float is too small. */
static void one_over_n(void)
{
	int all = -1;

	for (int i = 0; i < 31; i++)
		input(0, 1);
	int x = build_input(&s.b, 4, (int64_t[]){ 1, 1, 1, 31 });
	for (int n = 25; n <= 31; n += n == 25 ? 4 : 2) {
		struct build_window w = { { 1, n }, { 1, 1 }, { 0 }, { 1, 1 } };
		int y = build_flatten(&s.b, build_pool(&s.b, "AveragePool", x, &w, false));
		all = all < 0 ? y : build_concat(&s.b, all, y, 1);
	}
	build_output(&s.b, all);
	for (int i = 0; i < build_count(&s.b, all); i++)
		expect(0, 1);
}

static void slopes(void)
{
	input(-2, -1);
	int x = build_vector(&s.b, 1);
	struct ow node = build_node(&s.b, "LeakyRelu", s.b.t[x].name);
	ow_attr_float(&node, "alpha", 0.1f);
	int h = build_add(&s.b, node, 2, (int64_t[]){ 1, 1 });
	for (int i = 0; i < 16; i++) {
		W[i] = (float)build_uniform(&s.b, 1, 2);
		bias[i] = 0.15f * W[i];
		expect(-2 * (quad)W[i] * 0.1f + bias[i], -(quad)W[i] * 0.1f + bias[i]);
	}
	asked_by_relu(build_dense(&s.b, h, 16, W, bias));
}

/* x + 40 times 2^-25 x, on 41 ways. */
static void joins(void)
{
	int way[41], x = build_vector(&s.b, 1), z;

	input(1, 2);
	for (int i = 0; i < 41; i++)
		way[i] = build_dense(&s.b, x, 1, (float[]){ i == 40 ? 1 : 0x1p-25f }, (float[]){ i == 40 ? -1.5f : 0 });
	z = way[40];
	for (int i = 0; i < 40; i++)
		z = build_join(&s.b, "Add", z, way[i]);
	asked_by_relu(z);
	quad a = 1 + (quad)40 * 0x1p-25;
	expect(a - 1.5, 2 * a - 1.5);
}

/* One element is the largest of 21 windows. */
static void max_pool(void)
{
	struct build_window w = { { 1, 21 }, { 1, 1 }, { 0 }, { 1, 1 } };
	int x = build_input(&s.b, 4, (int64_t[]){ 1, 1, 1, 41 });

	for (int i = 0; i < 41; i++)
		input(i == 20 ? 1 : -1, i == 20 ? 2 : 0);
	fill(W, 21, 1, 0x1p-25f);
	asked_by_relu(build_dense(&s.b, build_flatten(&s.b, build_pool(&s.b, "MaxPool", x, &w, false)), 1, W, (float[]){ -1.5f }));
	quad a = 1 + (quad)20 * 0x1p-25;
	expect(a - 1.5, 2 * a - 1.5);
}

/* v max(x, y) - v w x for y = 0: with a small weight w of the plane x the coefficients of x cancel, the bound is that of the
 * plane y, and what rounding has left of v takes the middle of the maximum with it. */
static void dealt_weights(void)
{
	const struct build_window whole = { { 1, 2 }, { 1, 1 }, { 0 }, { 1, 1 } };
	float v = 1.7f, part;

	input(-1, 0.5), input(0, 0);
	for (weight = 0x1p-10f;; v = nextafterf(v, 2)) { /* what is left is rounded down, by much */
		part = v * weight;
		if ((double)v - part - (float)(v - part) > 0.8 * 0x1p-24)
			break;
	}
	int x = build_input(&s.b, 4, (int64_t[]){ 1, 1, 1, 2 });
	int y = build_flatten(&s.b, build_pool(&s.b, "MaxPool", x, &whole, false)), both = build_concat(&s.b, y, build_flatten(&s.b, x), 1);
	s.o.iterations = 1;
	asked_by_relu(build_dense(&s.b, both, 1, (float[]){ v, -part, 0 }, (float[]){ 0 }));
	expect(0, ((quad)v - part) / 2);
}

/* 1 + 1999 times 2^-54 over a box, 1 + 1999 times (2^-27)^2 over a ball. */
static void last_sum(void)
{
	for (int i = 0; i < 2000; i++)
		input(-1, 1);
	fill(W, 2000, 1, 0x1p-54f);
	build_output(&s.b, build_dense(&s.b, build_vector(&s.b, 2000), 1, W, bias));
	quad a = 1 + (quad)1999 * 0x1p-54;
	expect(-a, a);
}

static void last_sum_of_a_ball(void)
{
	last_sum();
	s.watched = 0;
	s.ball = true;
	s.radius = 1;
	build_start(&s.b, 1);
	fill(W, 2000, 1, 0x1p-27f);
	build_output(&s.b, build_dense(&s.b, build_vector(&s.b, 2000), 1, W, bias));
	quad t = (quad)1999 * 0x1p-54, a = 1 + t / 2 - t * t / 8; /* sqrt(1 + t), a little less */
	expect(-a, a);
}

/* Sums of doubles that are no floats. */
static void stored_bounds(void)
{
	for (int i = 0; i < 32; i++) {
		double l = build_uniform(&s.b, 0, 1), u = l + build_uniform(&s.b, 0, 1);
		input(l, u);
		V[i] = (float)build_uniform(&s.b, 0, 1);
		expect((quad)l + V[i], (quad)u + V[i]);
	}
	build_output(&s.b, build_scale(&s.b, "Add", build_vector(&s.b, 32), 32, V));
}

/* 1 + sum of 2000 ReLUs of what is below the last place of 1: the least value is 1. */
static void offset_and_small_terms(void)
{
	static const int64_t index = 0;
	static const double one = 1;
	static const struct bpg_question_row row = { .n = 1, .index = &index, .coef = &one, .offset = 1 };

	for (int i = 0; i < 2000; i++) {
		input(-0x1p-53, 0x1p-53);
		W[i] = 1;
	}
	build_output(&s.b, build_dense(&s.b, build_unary(&s.b, "Relu", build_vector(&s.b, 2000)), 1, W, bias));
	s.row = &row;
	expect(1, 1 + (quad)2000 * 0x1p-53);
}

/* Values at points, to 64 bits. What is expected leaves their last bits open. */
static void library(const char *op, long double (*f)(long double x))
{
	for (int i = 0; i < 64; i++) {
		double x = build_uniform(&s.b, -4, 4);
		long double y = f(x), open = fabsl(y) * 0x1p-60L;
		input(x, x);
		expect(y + open, y - open);
	}
	build_output(&s.b, build_unary(&s.b, op, build_vector(&s.b, 64)));
}

static long double sigmoid(long double x) { return 1 / (1 + expl(-x)); }
static void sigmoids(void) { library("Sigmoid", sigmoid); }
static void tanhs(void) { library("Tanh", tanhl); }

/* An output that is the input: its bounds are the box, as written in decimals. */
static void decimals(struct bpg_ctx *ctx, bool centred, bool widened)
{
	double nearest[9], lo[9], up[9], eps, eps_lo, eps_up;
	struct bpg_numbers c = { "center", 9, nearest, widened ? lo : NULL, widened ? up : NULL };
	struct bpg_region *g = NULL;
	char text[] = "0.0";

	bpg_decimal("0.01", &eps, &eps_lo, &eps_up);
	for (int i = 0; i < 9; i++) {
		text[2] = (char)('1' + i);
		ck_assert(bpg_decimal(text, &nearest[i], &lo[i], &up[i]));
	}
	REQUIRE(!(centred ? bpg_region_ball(ctx, BPG_NORM_INF, 9, &c, widened ? eps_up : eps, NULL, &g) : bpg_region_box(ctx, 9, &c, &c,
	        &g)), "%s",
	        bpg_ctx_message(ctx));
	for (int i = 0; i < 9; i++) {
		quad x = (quad)(i + 1) / 10, r = centred ? (quad)1 / 100 : 0;
		input(g->lo[i], g->up[i]);
		if (!widened && centred) /* without outward steps */
			s.lo[i] = nearest[i] - eps, s.up[i] = nearest[i] + eps;
		expect(x - r, x + r);
	}
	bpg_region_free(g);
	build_output(&s.b, build_flatten(&s.b, build_vector(&s.b, 9)));
}

/* x - 1000.1 at 1000. */
static void decimal_offset(bool widened)
{
	static const int64_t index = 0;
	static const double one = 1;
	static struct bpg_question_row row = { .n = 1, .index = &index, .coef = &one };
	double lo, up;

	input(1000, 1000);
	ck_assert(bpg_decimal("-1000.1", &row.offset, &lo, &up));
	row.offset_err = widened ? up - lo : 0;
	s.row = &row;
	expect(-(quad)1 / 10, -(quad)1 / 10);
	build_output(&s.b, build_flatten(&s.b, build_vector(&s.b, 1)));
}

static const struct {
	const char *name;
	void (*make)(void);
	enum term term;           /* NOTHING: leaving out one term alone does not show it */
} scenes[] = {
	{ "products of a matrix", dense_products, PRODUCTS },
	{ "products of a convolution", conv_products, PRODUCTS },
	{ "sum over segments", segments, SEGMENTS },
	{ "sums of a broadcast", broadcast_sums, PRODUCTS },
	{ "products in double", double_products, PRODUCTS },
	{ "underflow in a walk", underflow_in_a_walk, UNDERFLOW },
	{ "underflow at the start", underflow_at_the_start, UNDERFLOW },
	{ "weights below the least float", weights_below_floats, NOTHING }, /* underflow of the relaxation would cover it */
	{ "scaled weights", scaled_weights, EXTRA },
	{ "reference value", reference_value, EXTRA },
	{ "batch norm", batch_norm, EXTRA },
	{ "1/n of pools", one_over_n, EXTRA },
	{ "slopes", slopes, SLOPE },
	{ "joins", joins, JOIN },
	{ "max pool", max_pool, PLANES },
	{ "weights of planes", dealt_weights, DEALT },
	{ "last sum", last_sum, FINISH },
	{ "last sum of a ball", last_sum_of_a_ball, FINISH },
	{ "stored bounds", stored_bounds, OUTWARD },
	{ "sigmoid", sigmoids, LIBRARY },
	{ "tanh", tanhs, LIBRARY },
	{ "offset and small terms", offset_and_small_terms, NOTHING },
};

static struct bpg_ctx *ctx;
static struct bpg_rt *rt;

static void setup(void)
{
	struct bpg_rt_options one = { .workers = 1, .owners = 1 };

	ctx = bpg_ctx_new();
	REQUIRE(!bpg_rt_start(ctx, &one, &rt), "%s", bpg_ctx_message(ctx));
}

static void teardown(void)
{
	bpg_rt_stop(rt);
	bpg_ctx_free(ctx);
}

static void begin(void)
{
	memset(&s, 0, sizeof s);
	weight = 0;
	build_start(&s.b, 1);
	s.node = -1;
	s.o = outcome_options(BPG_METHOD_CROWN, false);
}

/* Right with the outward decimals, wrong with the nearest ones. */
START_TEST(test_decimals)
{
	static const char *const name[] = { "decimal box", "centre and epsilon", "decimal offset" };
	struct bpg_net *net;
	char text[256] = "";

	for (int widened = 0; widened < 2; widened++) {
		begin();
		if (_i < 2)
			decimals(ctx, _i == 1, widened);
		else
			decimal_offset(widened);
		REQUIRE(!build_net(&s.b, ctx, &net), "%s", bpg_ctx_message(ctx));
		bool right = encloses(ctx, rt, net, widened ? NOTHING : DECIMALS, text, sizeof text);
		REQUIRE(right == widened, "%s, %s: %s", name[_i], widened ? "outward" : "nearest", text);
		bpg_net_free(net);
	}
}
END_TEST

START_TEST(test_scene)
{
	struct bpg_net *net;
	char text[256] = "";

	begin();
	scenes[_i].make();
	REQUIRE(!build_net(&s.b, ctx, &net), "%s", bpg_ctx_message(ctx));
	REQUIRE(encloses(ctx, rt, net, NOTHING, text, sizeof text), "%s: %s", scenes[_i].name, text);
	s.o.method = BPG_METHOD_IBP;
	REQUIRE(encloses(ctx, rt, net, NOTHING, text, sizeof text), "%s, ibp: %s", scenes[_i].name, text);
	s.o.method = BPG_METHOD_CROWN;
	s.o.wide = true;
	REQUIRE(encloses(ctx, rt, net, NOTHING, text, sizeof text), "%s, float64: %s", scenes[_i].name, text);
	s.o.wide = false;
	if (scenes[_i].term == LIBRARY)
		trust_library(net);
	if (scenes[_i].term)
		REQUIRE(!encloses(ctx, rt, net, scenes[_i].term, text, sizeof text), "%s: right without the term, too; last %s",
		        scenes[_i].name, text);
	bpg_net_free(net);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("rounding");
	TCase *t = tcase_create("terms");

	tcase_set_timeout(t, 60);
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_loop_test(t, test_decimals, 0, 3);
	tcase_add_loop_test(t, test_scene, 0, (int)BPG_LEN(scenes));
	suite_add_tcase(suite, t);
	SRunner *r = srunner_create(suite);
	srunner_run_all(r, CK_NORMAL);
	int failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
