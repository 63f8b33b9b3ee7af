/* test_layers.c - conformance: every layer of the registry, and the template, on random legal instances.
 *
 * The reference of a LINEAR layer is its `terms`, summed in long double; of the others `eval`. A failure prints the layer
 * and the seed: BPG_SEED=<seed> repeats that instance alone. */
#include <check.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/base.h"
#include "codelets/family.h"
#include "codelets/family_unary.h"
#include "net/const.h"
#include "net/net.h"
#include "net/sample.h"

extern const struct bpg_layer bpg_layer_template;

enum { INSTANCES = 80, POINTS = 12 };

static int layers(void) { return bpg_layer_count() + 1; }

static const struct bpg_layer *layer_at(int i) { return i < bpg_layer_count() ? bpg_layer_get(i) : &bpg_layer_template; }

/* ---- one instance ---- */

struct instance {
	struct bpg_ctx *ctx;
	struct bpg_arena *arena;
	const struct bpg_layer *layer;
	uint64_t seed;
	struct bpg_rng rng;
	struct bpg_sample s;
	struct bpg_node v;
	int64_t n;                /* outputs */
	double *l[32], *u[32];    /* box of every variable operand; null for others */
	double *x[32];            /* a point; constants too */
	double *lo, *up;          /* interval of the box */
	struct bpg_terms *row;    /* LINEAR: [n] */
};

#define WHERE(t) "layer %s, op %s, seed %llu: "
#define ARGS(t) (t)->layer->name, (t)->v.op, (unsigned long long)(t)->seed
#define REQUIRE(t, condition, text, ...) \
	ck_assert_msg(condition, WHERE(t) text, ARGS(t), __VA_ARGS__)

static void *get(struct instance *t, int64_t n, size_t size)
{
	void *p = bpg_arena_alloc(t->arena, (size_t)n + 1, size);
	ck_assert_ptr_nonnull(p);
	return p;
}

static bool variable(const struct instance *t, int k) { return !t->v.in[k].absent && !t->v.in[k].value; }

static double uniform(struct instance *t, double lo, double up) { return lo + (up - lo) * bpg_rng_uniform(&t->rng); }

/* A box inside the domain; some elements are points, some very narrow. */
static void draw_box(struct instance *t)
{
	for (int k = 0; k < t->v.nin; k++) {
		int64_t n = t->v.in[k].n;
		t->l[k] = t->u[k] = t->x[k] = NULL;
		if (t->v.in[k].absent)
			continue;
		t->x[k] = get(t, n, sizeof **t->x);
		if (t->v.in[k].value) {
			bpg_const_read(t->v.in[k].value, 0, n, t->x[k]);
			continue;
		}
		t->l[k] = get(t, n, sizeof **t->l);
		t->u[k] = get(t, n, sizeof **t->u);
		for (int64_t i = 0; i < n; i++) {
			static const double width[] = { 0, 1e-12, 0.1, 1, 3 };
			double a = uniform(t, t->s.lo, t->s.up), w = width[bpg_rng_below(&t->rng, 5)] * bpg_rng_uniform(&t->rng);
			t->l[k][i] = a;
			t->u[k][i] = fmin(a + w, fmax(a, t->s.up));
		}
	}
}

/* A point of the box: anywhere, or (kind 1) a corner. */
static void draw_point(struct instance *t, int kind)
{
	for (int k = 0; k < t->v.nin; k++)
		for (int64_t i = 0; variable(t, k) && i < t->v.in[k].n; i++) {
			double l = t->l[k][i], u = t->u[k][i];
			double x = kind ? (bpg_rng_below(&t->rng, 2) ? l : u) : uniform(t, l, u);
			t->x[k][i] = fmin(fmax(x, l), u);
		}
}

static void interval(struct instance *t, double *const *l, double *const *u, int64_t first, int64_t n, double *lo, double *up)
{
	enum bpg_status st = bpg_node_interval(&t->v, (const double *const *)l, (const double *const *)u, first, n, lo, up);
	REQUIRE(t, st == BPG_OK, "interval failed with %d", st);
}

static void eval(struct instance *t, double *const *x, double *y)
{
	enum bpg_status st = bpg_node_eval(&t->v, (const double *const *)x, y);
	REQUIRE(t, st == BPG_OK, "eval failed with %d", st);
}

static void draw_rows(struct instance *t)
{
	t->row = get(t, t->n, sizeof *t->row);
	for (int64_t i = 0; i < t->n; i++) {
		struct bpg_terms *r = &t->row[i];
		bpg_terms_init(r);
		t->layer->terms(&t->v, i, r);
		REQUIRE(t, !r->failed, "no memory for row %lld", (long long)i);
		for (int k = 0; k < r->n; k++) {
			bool legal = r->input[k] >= 0 && r->input[k] < t->v.nin && variable(t, r->input[k]);
			legal = legal && r->index[k] >= 0 && r->index[k] < t->v.in[r->input[k]].n && r->err[k] >= 0;
			REQUIRE(t, legal && isfinite(r->coef[k]), "term %d of row %lld is outside its operand", k, (long long)i);
		}
	}
}

/* Value of row i at the point, and the magnitude of what is summed. */
static long double row_value(const struct instance *t, int64_t i, long double *magnitude, long double *err)
{
	const struct bpg_terms *r = &t->row[i];
	long double sum = r->bias;
	*magnitude = fabsl(sum);
	*err = r->bias_err;
	for (int k = 0; k < r->n; k++) {
		long double x = t->x[r->input[k]][r->index[k]], p = (long double)r->coef[k] * x;
		sum += p;
		*magnitude += fabsl(p);
		*err += (long double)r->err[k] * fabsl(x);
	}
	return sum;
}

static void open_instance(struct instance *t, const struct bpg_layer *layer, uint64_t seed, int fd)
{
	memset(t, 0, sizeof *t);
	t->layer = layer;
	t->seed = seed;
	t->ctx = bpg_ctx_new();
	t->arena = bpg_arena_new();
	bpg_rng_seed(&t->rng, seed * 3 + 1);
	enum bpg_status st = bpg_sample_node(t->ctx, t->arena, layer, seed, fd, &t->s, &t->v);
	REQUIRE(t, st == BPG_OK, "the sampled node was refused: %s", bpg_ctx_message(t->ctx));
	t->n = t->v.out.n;
	REQUIRE(t, t->n == bpg_shape_count(&t->v.out.shape), "%lld outputs do not fit the shape", (long long)t->n);
	draw_box(t);
	t->lo = get(t, t->n, sizeof *t->lo);
	t->up = get(t, t->n, sizeof *t->up);
	interval(t, t->l, t->u, 0, t->n, t->lo, t->up);
	for (int64_t i = 0; i < t->n; i++)
		REQUIRE(t, t->lo[i] <= t->up[i], "interval %lld is [%a, %a]", (long long)i, t->lo[i], t->up[i]);
	if (layer->family == BPG_LINEAR)
		draw_rows(t);
}

static void close_instance(struct instance *t)
{
	for (int64_t i = 0; t->row && i < t->n; i++)
		bpg_terms_fini(&t->row[i]);
	bpg_arena_free(t->arena);
	bpg_ctx_free(t->ctx);
}

/* How far the outputs of a GENERAL layer go when its operands move by a relative eps about the point: what rounding them
 * may do, sums that cancel included. Null for other families. */
static double *sway(struct instance *t, double eps)
{
	double *l[32] = { NULL }, *u[32] = { NULL };
	if (t->layer->family != BPG_GENERAL)
		return NULL;
	double *lo = get(t, t->n, sizeof *lo), *up = get(t, t->n, sizeof *up);
	for (int k = 0; k < t->v.nin; k++) {
		if (!variable(t, k))
			continue;
		l[k] = get(t, t->v.in[k].n, sizeof **l);
		u[k] = get(t, t->v.in[k].n, sizeof **u);
		for (int64_t i = 0; i < t->v.in[k].n; i++) {
			l[k][i] = t->x[k][i] - eps * fabs(t->x[k][i]);
			u[k][i] = t->x[k][i] + eps * fabs(t->x[k][i]);
		}
	}
	interval(t, l, u, 0, t->n, lo, up);
	for (int64_t i = 0; i < t->n; i++)
		up[i] -= lo[i];
	return up;
}

/* ---- properties ---- */

/* Sampled points: the real value lies in the interval, and eval and eval_f32 are near it. */
static void check_values(struct instance *t)
{
	double *y = get(t, t->n, sizeof *y);
	float *yf = get(t, t->n, sizeof *yf), *xf[32] = { NULL };
	for (int k = 0; k < t->v.nin; k++)
		xf[k] = get(t, t->v.in[k].n, sizeof *xf[k]);
	for (int p = 0; p < POINTS; p++) {
		draw_point(t, p % 2);
		eval(t, t->x, y);
		for (int64_t i = 0; i < t->n; i++) {
			/* eval of the others is within a few units in the last place */
			long double exact = y[i], slack = 16 * DBL_EPSILON * fabsl(exact) + 0x1p-1000L, magnitude, err;
			if (t->row) {
				/* 64-bit sums are 2^-64 apart per operation; the row itself is known up to err */
				exact = row_value(t, i, &magnitude, &err);
				slack = err + magnitude * (t->row[i].n + 4) * 0x1p-63L;
				REQUIRE(t, fabsl(exact - y[i]) <= (t->row[i].n + 8) * 0x1p-52L * magnitude + err + 0x1p-1060L,
				        "eval %lld is %a, the row gives %La", (long long)i, y[i], exact);
			}
			REQUIRE(t, exact >= t->lo[i] - slack && exact <= t->up[i] + slack, "value %lld is %La, outside [%a, %a]",
			        (long long)i, exact, t->lo[i], t->up[i]);
		}
		for (int k = 0; k < t->v.nin; k++)
			for (int64_t i = 0; t->x[k] && i < t->v.in[k].n; i++)
				t->x[k][i] = xf[k][i] = (float)t->x[k][i];
		eval(t, t->x, y);
		enum bpg_status st = bpg_node_eval_f32(&t->v, (const float *const *)xf, yf);
		REQUIRE(t, st == BPG_OK, "eval_f32 failed with %d", st);
		double *move = sway(t, 0x1p-22);
		for (int64_t i = 0; i < t->n; i++) {
			long double magnitude = fabs(y[i]) + (move ? 0x1p22 * move[i] : 0), err;
			int terms = 8;
			if (t->row) {
				row_value(t, i, &magnitude, &err);
				terms += t->row[i].n;
			}
			REQUIRE(t, fabsl((long double)yf[i] - y[i]) <= terms * 0x1p-22L * magnitude + 1e-30L,
			        "eval_f32 %lld is %a, eval %a", (long long)i, yf[i], y[i]);
		}
		for (int k = 0; k < t->v.nin; k++)   /* constants that are no floats */
			if (t->x[k] && t->v.in[k].value)
				bpg_const_read(t->v.in[k].value, 0, t->v.in[k].n, t->x[k]);
	}
}

/* Pieces of the interval are the whole, bit for bit: work is cut differently from run to run. */
static void check_pieces(struct instance *t)
{
	double *lo = get(t, t->n, sizeof *lo), *up = get(t, t->n, sizeof *up);
	for (int64_t first = 0; first < t->n;) {
		int64_t n = 1 + bpg_rng_below(&t->rng, t->n - first);
		interval(t, t->l, t->u, first, n, lo + first, up + first);
		first += n;
	}
	for (int64_t i = 0; i < t->n; i++)
		REQUIRE(t, lo[i] == t->lo[i] && up[i] == t->up[i], "interval %lld in pieces is [%a, %a], whole [%a, %a]", (long long)i,
		        lo[i], up[i], t->lo[i], t->up[i]);
}

/* What rounding may add to an interval: fast paths round sums as a whole, 2 gamma of all magnitudes. */
static double rounding(const struct instance *t, int64_t i)
{
	if (!t->row || (t->layer->traits & BPG_SELECT))
		return 0;
	const struct bpg_terms *r = &t->row[i];
	double sum = fabs(r->bias), err = r->bias_err;
	for (int k = 0; k < r->n; k++) {
		double x = fmax(fabs(t->l[r->input[k]][r->index[k]]), fabs(t->u[r->input[k]][r->index[k]]));
		sum += 3 * fabs(r->coef[k]) * x;
		err += r->err[k] * x;
	}
	return 4 * (err + (r->n + 16) * DBL_EPSILON * sum);
}

/* The interval of a sub-box lies inside; that of a point is the value. */
static void check_nested(struct instance *t)
{
	double *l[32] = { NULL }, *u[32] = { NULL }, *lo = get(t, t->n, sizeof *lo), *up = get(t, t->n, sizeof *up);
	for (int k = 0; k < t->v.nin; k++) {
		if (!variable(t, k))
			continue;
		l[k] = get(t, t->v.in[k].n, sizeof **l);
		u[k] = get(t, t->v.in[k].n, sizeof **u);
		for (int64_t i = 0; i < t->v.in[k].n; i++) {
			double a = uniform(t, t->l[k][i], t->u[k][i]), b = uniform(t, t->l[k][i], t->u[k][i]);
			l[k][i] = fmax(fmin(a, b), t->l[k][i]);
			u[k][i] = fmin(fmax(a, b), t->u[k][i]);
		}
	}
	interval(t, l, u, 0, t->n, lo, up);
	for (int64_t i = 0; i < t->n; i++)
		REQUIRE(t, lo[i] >= t->lo[i] - rounding(t, i) && up[i] <= t->up[i] + rounding(t, i),
		        "sub-interval %lld is [%a, %a], outside [%a, %a]", (long long)i, lo[i], up[i], t->lo[i], t->up[i]);

	double *y = get(t, t->n, sizeof *y);
	draw_point(t, 0);
	eval(t, t->x, y);
	for (int k = 0; k < t->v.nin; k++)
		for (int64_t i = 0; l[k] && i < t->v.in[k].n; i++)
			l[k][i] = u[k][i] = t->x[k][i];
	interval(t, l, u, 0, t->n, lo, up);
	double *move = sway(t, 16 * DBL_EPSILON);
	for (int64_t i = 0; i < t->n; i++) {
		double room = t->row ? rounding(t, i) : 64 * DBL_EPSILON * fabs(y[i]) + 1e-300 + (move ? move[i] : 0);
		REQUIRE(t, up[i] - lo[i] <= room && lo[i] <= y[i] + room && up[i] >= y[i] - room,
		        "interval %lld of a point is [%a, %a], the value %a", (long long)i, lo[i], up[i], y[i]);
	}
}

/* Infinite bounds make outputs that read them infinite, never NaN, and leave the others alone. */
static void check_infinite(struct instance *t)
{
	double *l[32] = { NULL }, *u[32] = { NULL }, *lo = get(t, t->n, sizeof *lo), *up = get(t, t->n, sizeof *up);
	for (int k = 0; k < t->v.nin; k++) {
		if (!variable(t, k))
			continue;
		l[k] = get(t, t->v.in[k].n, sizeof **l);
		u[k] = get(t, t->v.in[k].n, sizeof **u);
		for (int64_t i = 0; i < t->v.in[k].n; i++) {
			l[k][i] = bpg_rng_below(&t->rng, 8) ? t->l[k][i] : bpg_rng_below(&t->rng, 2) ? -INFINITY : -1e308;
			u[k][i] = bpg_rng_below(&t->rng, 8) ? t->u[k][i] : bpg_rng_below(&t->rng, 2) ? INFINITY : 1e308;
		}
	}
	interval(t, l, u, 0, t->n, lo, up);
	for (int64_t i = 0; i < t->n; i++) {
		REQUIRE(t, lo[i] <= t->lo[i] + rounding(t, i) && up[i] >= t->up[i] - rounding(t, i),
		        "interval %lld of an infinite box is [%a, %a], of a smaller one [%a, %a]", (long long)i, lo[i], up[i], t->lo[i],
		        t->up[i]);
		bool below = false, above = false;
		for (int k = 0; t->row && k < t->row[i].n; k++) {
			double c = t->row[i].coef[k], a = l[t->row[i].input[k]][t->row[i].index[k]];
			double b = u[t->row[i].input[k]][t->row[i].index[k]];
			below = below || (c > 0 && isinf(a)) || (c < 0 && isinf(b));
			above = above || (c > 0 && isinf(b)) || (c < 0 && isinf(a));
		}
		REQUIRE(t, (!below || lo[i] == -INFINITY) && (!above || up[i] == INFINITY), "interval %lld is [%a, %a], not infinite",
		        (long long)i, lo[i], up[i]);
	}
}

/* ---- LINEAR: dense and conv are the rows ---- */

struct entry {
	int64_t index;
	double coef;
};

static int by_index(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;
	return x->index < y->index ? -1 : x->index > y->index;
}

/* Entries of row i for one operand, sorted, zeros left out. */
static int64_t row_entries(const struct instance *t, int64_t i, struct entry *to)
{
	int64_t n = 0;
	for (int k = 0; k < t->row[i].n; k++)
		if (t->row[i].coef[k] != 0)
			to[n++] = (struct entry){ t->row[i].index[k], t->row[i].coef[k] };
	qsort(to, (size_t)n, sizeof *to, by_index);
	return n;
}

static void compare_row(struct instance *t, int64_t i, struct entry *got, int64_t n, double bias)
{
	struct entry *want = get(t, t->row[i].n, sizeof *want);
	int64_t m = row_entries(t, i, want);
	qsort(got, (size_t)n, sizeof *got, by_index);
	REQUIRE(t, n == m, "row %lld has %lld entries, terms %lld", (long long)i, (long long)n, (long long)m);
	for (int64_t k = 0; k < n; k++)
		REQUIRE(t, got[k].index == want[k].index && fabs(got[k].coef - want[k].coef) <= 4 * DBL_EPSILON * fabs(want[k].coef),
		        "row %lld: %a at %lld, terms %a at %lld", (long long)i, got[k].coef, (long long)got[k].index, want[k].coef,
		        (long long)want[k].index);
	REQUIRE(t, fabs(bias - t->row[i].bias) <= 4 * DBL_EPSILON * fabs(bias), "row %lld: bias %a, terms %a", (long long)i, bias,
	        t->row[i].bias);
}

static void check_dense(struct instance *t)
{
	struct bpg_dense d;
	if (!t->layer->dense || !t->layer->dense(&t->v, &d))
		return;
	REQUIRE(t, d.outs == t->n && d.ins == t->v.in[d.operand].n, "dense is %lld x %lld", (long long)d.outs, (long long)d.ins);
	for (int64_t i = 0; i < t->n; i++) {
		struct entry *got = get(t, d.ins, sizeof *got);
		int64_t n = 0;
		for (int64_t k = 0; k < d.ins; k++) {
			double w = d.scale * bpg_const_at(d.weight, d.base + i * d.stride_out + k * d.stride_in);
			if (w != 0)
				got[n++] = (struct entry){ k, w };
		}
		compare_row(t, i, got, n, d.bias ? d.bias_scale * bpg_const_at(d.bias, i * d.bias_stride) : 0);
	}
}

static void check_conv(struct instance *t)
{
	struct bpg_conv c;
	if (!t->layer->conv || !t->layer->conv(&t->v, &c))
		return;
	int64_t per = c.in_channels / c.groups, outs = c.out_channels * c.out_size[0] * c.out_size[1];
	REQUIRE(t, outs == t->n, "conv has %lld outputs", (long long)outs);
	for (int64_t k = 0; k < outs; k++) {
		int64_t px = k % c.out_size[1], py = k / c.out_size[1] % c.out_size[0], oc = k / c.out_size[1] / c.out_size[0], n = 0;
		struct entry *got = get(t, per * c.kernel[0] * c.kernel[1], sizeof *got);
		for (int64_t j = 0; j < per * c.kernel[0] * c.kernel[1]; j++) {
			int64_t kx = j % c.kernel[1], ky = j / c.kernel[1] % c.kernel[0], ic = j / c.kernel[1] / c.kernel[0];
			int64_t y = py * c.stride[0] - c.pad[0] + ky * c.dilation[0], x = px * c.stride[1] - c.pad[1] + kx * c.dilation[1];
			double w = bpg_const_at(c.weight, oc * c.w_stride[0] + ic * c.w_stride[1] + ky * c.w_stride[2] + kx * c.w_stride[3]);
			int64_t channel = oc / (c.out_channels / c.groups) * per + ic;
			if (w != 0 && y >= 0 && y < c.in_size[0] && x >= 0 && x < c.in_size[1])
				got[n++] = (struct entry){ channel * c.in_stride[0] + y * c.in_stride[1] + x * c.in_stride[2], w };
		}
		int64_t i = oc * c.out_stride[0] + py * c.out_stride[1] + px * c.out_stride[2];
		REQUIRE(t, i >= 0 && i < t->n, "conv output %lld", (long long)i);
		compare_row(t, i, got, n, c.bias ? bpg_const_at(c.bias, oc) : 0);
	}
}

/* The interval by terms and the one by a fast path enclose each other up to rounding. */
static void check_ways(struct instance *t)
{
	double *lo = get(t, t->n, sizeof *lo), *up = get(t, t->n, sizeof *up);
	enum bpg_status st = bpg_linear_terms_interval(&t->v, (const double *const *)t->l, (const double *const *)t->u, 0, t->n, lo, up);
	REQUIRE(t, st == BPG_OK, "interval by terms failed with %d", st);
	for (int64_t i = 0; i < t->n; i++)
		REQUIRE(t, fabs(lo[i] - t->lo[i]) <= rounding(t, i) && fabs(up[i] - t->up[i]) <= rounding(t, i),
		        "interval %lld is [%a, %a], by terms [%a, %a]", (long long)i, t->lo[i], t->up[i], lo[i], up[i]);
}

/* ---- gradient ---- */

static double probe(struct instance *t, const double *gy, double *y)
{
	double sum = 0;
	eval(t, t->x, y);
	for (int64_t i = 0; i < t->n; i++)
		sum += gy[i] * y[i];
	return sum;
}

/* Against central differences, where the two one-sided ones agree (no kink nearby). */
static void check_gradient(struct instance *t)
{
	double *gx[32] = { NULL }, *gy = get(t, t->n, sizeof *gy), *y = get(t, t->n, sizeof *y);
	draw_point(t, 0);
	for (int64_t i = 0; i < t->n; i++)
		gy[i] = bpg_rng_normal(&t->rng);
	for (int k = 0; k < t->v.nin; k++) {
		gx[k] = variable(t, k) ? get(t, t->v.in[k].n, sizeof **gx) : NULL;
		for (int64_t i = 0; gx[k] && i < t->v.in[k].n; i++)
			gx[k][i] = 1;   /* the gradient is added */
	}
	enum bpg_status st = bpg_node_gradient(&t->v, (const double *const *)t->x, gy, gx);
	REQUIRE(t, st == BPG_OK, "gradient failed with %d", st);
	double at = probe(t, gy, y);
	for (int k = 0; k < t->v.nin; k++)
		for (int64_t i = 0; gx[k] && i < t->v.in[k].n; i += 1 + t->v.in[k].n / 16) {
			const double h = 1e-5;
			double x = t->x[k][i];
			t->x[k][i] = x + h;
			double right = (probe(t, gy, y) - at) / h;
			t->x[k][i] = x - h;
			double left = (at - probe(t, gy, y)) / h;
			t->x[k][i] = x;
			if (fabs(right - left) > 1e-3 * (1 + fabs(right)))
				continue;
			REQUIRE(t, fabs(0.5 * (left + right) - (gx[k][i] - 1)) <= 1e-4 * (1 + fabs(right)) + 2e-9 * fabs(at),
			        "gradient by element %lld of operand %d is %g, differences %g", (long long)i, k, gx[k][i] - 1,
			        0.5 * (left + right));
		}
}

/* ---- GENERAL: planes ---- */

static void check_plane(struct instance *t, const struct bpg_terms *p, int64_t i, int side, double y)
{
	if (isinf(p->bias)) {
		REQUIRE(t, side * p->bias < 0, "plane %lld has the bias %g", (long long)i, p->bias);
		return;
	}
	long double sum = p->bias, magnitude = fabs(p->bias) + fabs(y);
	for (int k = 0; k < p->n; k++) {
		REQUIRE(t, p->coef[k] == (float)p->coef[k] && p->err[k] == 0 && p->bias_err == 0, "coefficient %a of plane %lld",
		        p->coef[k], (long long)i);
		long double term = (long double)p->coef[k] * t->x[p->input[k]][p->index[k]];
		sum += term;
		magnitude += fabsl(term);
	}
	/* eval itself is within a few units in the last place */
	REQUIRE(t, side * (y - sum) >= -16 * DBL_EPSILON * magnitude, "plane %lld gives %La, the value is %a", (long long)i, sum, y);
}

static void check_planes(struct instance *t)
{
	struct bpg_terms lower, upper;
	double *y = get(t, t->n, sizeof *y);
	bpg_terms_init(&lower);
	bpg_terms_init(&upper);
	for (int p = 0; p < 4 * POINTS; p++) {
		draw_point(t, p % 2);
		eval(t, t->x, y);
		for (int64_t i = 0; i < t->n; i++) {
			bpg_terms_reset(&lower);
			bpg_terms_reset(&upper);
			t->layer->planes(&t->v, (const double *const *)t->l, (const double *const *)t->u, i, &lower, &upper);
			check_plane(t, &lower, i, 1, y[i]);
			check_plane(t, &upper, i, -1, y[i]);
		}
	}
	bpg_terms_fini(&lower);
	bpg_terms_fini(&upper);
}

/* ---- UNARY: lines ---- */

/* An interval of some kind; ends often on or near kinks and turns. */
static void draw_range(struct instance *t, double *l, double *u)
{
	static const double scale[] = { 1e-300, 1e-12, 1e-3, 1, 1, 1, 10, 1e3, 1e10, 1e30 };
	double kink[8] = { 0 };
	const struct bpg_unary *f = t->layer->unary;
	int n = f->kinks ? f->kinks(-INFINITY, INFINITY, t->v.attr, kink) : 0;
	double a = scale[bpg_rng_below(&t->rng, 10)] * bpg_rng_normal(&t->rng), b;
	if (n && bpg_rng_below(&t->rng, 3) == 0)
		a = kink[bpg_rng_below(&t->rng, n)];
	switch (bpg_rng_below(&t->rng, 4)) {
	case 0:
		b = bpg_next_up(a);
		break;
	case 1:
		b = n ? kink[bpg_rng_below(&t->rng, n)] : 0;
		break;
	default:
		b = a + scale[bpg_rng_below(&t->rng, 10)] * bpg_rng_normal(&t->rng);
	}
	*l = fmin(a, b);
	*u = fmax(a, b);
}

static void check_line(struct instance *t, double s, double b, int side, double l, double u)
{
	const struct bpg_unary *f = t->layer->unary;
	if (isinf(b)) {
		REQUIRE(t, side * b < 0, "line over [%a, %a] has the bias %g", l, u, b);
		return;
	}
	for (int i = 0; i <= 64; i++) {
		double x = i == 64 ? u : l + (u - l) * (i / 64.0);
		x = fmin(fmax(x, l), u);
		double y = f->f(x, t->v.attr);
		/* f as computed is off by its stated error, the line in long double by its own roundings */
		long double line = (long double)s * x + b, room = (f->ulp + 1) * DBL_EPSILON * fabs(y) + f->abs_err + 0x1p-1070;
		room += 0x1p-62L * (fabsl((long double)s * x) + fabs(b));
		REQUIRE(t, side * (y - line) >= -room, "line %a x + %a over [%a, %a] gives %La at %a, the value is %a", s, b, l, u, line,
		        x, y);
	}
}

static void check_lines(struct instance *t)
{
	const struct bpg_unary *f = t->layer->unary;
	for (int p = 0; p < 40; p++) {
		double l, u, alpha[2] = { NAN, NAN };
		struct bpg_planes1 planes;
		draw_range(t, &l, &u);
		int rule = (int)bpg_rng_below(&t->rng, 4);
		for (int side = 0; side < 2; side++) {
			double least, most, start;
			if (!f->alpha_range || l == u || bpg_rng_below(&t->rng, 2))
				continue;
			f->alpha_range(l, u, side, t->v.attr, &least, &most, &start);
			REQUIRE(t, least <= start && start <= most, "start %g outside [%g, %g]", start, least, most);
			alpha[side] = bpg_rng_below(&t->rng, 3) ? uniform(t, least, most) : bpg_rng_below(&t->rng, 2) ? least : most;
		}
		bpg_unary_planes(&t->v, l, u, alpha, rule, bpg_rng_below(&t->rng, 2), &planes);
		check_line(t, planes.lo_slope, planes.lo_bias, 1, l, u);
		check_line(t, planes.up_slope, planes.up_bias, -1, l, u);
	}
}

/* ---- all ---- */

static void check_instance(const struct bpg_layer *layer, uint64_t seed, int fd)
{
	struct instance t;
	open_instance(&t, layer, seed, fd);
	check_values(&t);
	if (t.n > 0)
		check_pieces(&t);
	check_nested(&t);
	if (layer->family == BPG_LINEAR) {
		check_infinite(&t);
		check_dense(&t);
		check_conv(&t);
		check_ways(&t);
	}
	check_gradient(&t);
	if (layer->family == BPG_GENERAL)
		check_planes(&t);
	if (layer->family == BPG_UNARY)
		check_lines(&t);
	close_instance(&t);
}

/* Every layer keeps what layer.h promises. */
START_TEST(conformance)
{
	const struct bpg_layer *layer = layer_at(_i);
	if (layer->family == BPG_CONSTANT)
		return;
	ck_assert_msg(layer->sample || layer->family == BPG_UNARY, "layer %s has no sampler", layer->name);
	FILE *file = tmpfile();
	ck_assert_ptr_nonnull(file);
	const char *one = getenv("BPG_SEED");
	uint64_t seed = bpg_hash_str(BPG_HASH_START, layer->name) >> 16;
	for (int i = 0; i < INSTANCES; i++)
		check_instance(layer, one ? strtoull(one, NULL, 10) : seed + (uint64_t)i, fileno(file));
	fclose(file);
}
END_TEST

/* ---- damage ---- */

/* A CONSTANT layer has no sampler: any of its operators, with operands of small integers. */
static void draw_constant(struct instance *t)
{
	int words = 0;
	for (const char *p = t->layer->ops; *p; p++)
		words += *p == ' ';
	const char *op = t->layer->ops;
	for (int64_t skip = bpg_rng_below(&t->rng, words + 1); skip > 0; skip--)
		op = strchr(op, ' ') + 1;
	t->s = (struct bpg_sample){ .arena = t->arena, .fd = -1, .opset = 15, .output_count = 1, .lo = -3, .up = 3,
		                    .op = bpg_arena_strn(t->arena, op, strcspn(op, " ")) };
	static const char *const name[] = { "value_int", "value_ints", "start", "end" };
	for (int k = 0; k < 4; k++) {
		int64_t values[3] = { bpg_rng_below(&t->rng, 4), bpg_rng_below(&t->rng, 4), bpg_rng_below(&t->rng, 4) };
		if (k == 1)
			bpg_sample_ints(&t->s, name[k], 3, values);
		else if (bpg_rng_below(&t->rng, 2))
			bpg_sample_int(&t->s, name[k], values[0]);
		if (k < 3 && bpg_rng_below(&t->rng, 3))
			bpg_sample_integers(&t->s, (int)bpg_rng_below(&t->rng, 4) - 1, values);
	}
}

static int64_t odd_number(struct bpg_rng *rng)
{
	static const int64_t odd[] = { 0, -1, 1, 2, 3, 7, -3, 100, -100, 4096, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN,
		                       (int64_t)1 << 20, (int64_t)1 << 33, (int64_t)1 << 40, -((int64_t)1 << 62) };
	return odd[bpg_rng_below(rng, (int64_t)BPG_LEN(odd))];
}

static void damage_attribute(struct bpg_rng *rng, struct bpg_sample *s, struct bpg_import_attr *a)
{
	static const char *const name[] = { "axis", "axes", "pads", "to", "group", "ceil_mode", "auto_pad", "alpha" };
	int64_t *ints = bpg_arena_alloc(s->arena, (size_t)a->n + 4, sizeof *ints);
	switch (bpg_rng_below(rng, 5)) {
	case 0:
		a->i = odd_number(rng);
		a->f = bpg_rng_below(rng, 2) ? (double)odd_number(rng) : NAN;
		break;
	case 1:
		a->kind = (enum bpg_attr_kind)bpg_rng_below(rng, 7);
		break;
	case 2:
		a->name = name[bpg_rng_below(rng, (int64_t)BPG_LEN(name))];
		break;
	default:   /* the list: longer, shorter, another number */
		if (a->kind != BPG_ATTR_INTS)
			break;
		for (int i = 0; i < a->n; i++)
			ints[i] = a->ints[i];
		if (bpg_rng_below(rng, 3) == 0)
			a->n += (int)bpg_rng_below(rng, 3) - (a->n > 0);
		if (a->n > 0)
			ints[bpg_rng_below(rng, a->n)] = odd_number(rng);
		a->ints = ints;
	}
	if (a->kind == BPG_ATTR_INTS && !a->ints)
		a->n = 0;
	if (a->kind == BPG_ATTR_FLOATS && !a->floats)
		a->n = 0;
	if (a->kind == BPG_ATTR_TENSOR && !a->tensor)
		a->kind = BPG_ATTR_OTHER;
}

/* Shapes of variables are anything a file may say; constants keep their number of elements. */
static void damage_operand(struct bpg_rng *rng, struct bpg_sample *s, struct bpg_operand *in)
{
	if (bpg_rng_below(rng, 4) == 0) {   /* other values, or none */
		double values[8];
		for (int i = 0; i < 8; i++)
			values[i] = (double)odd_number(rng);
		in->n = bpg_rng_below(rng, 9);
		in->shape = (struct bpg_shape){ .rank = 1, .dim = { in->n } };
		in->type = bpg_rng_below(rng, 2) ? BPG_I64 : BPG_F64;
		in->value = bpg_const_from_double(s->arena, in->type, in->n, values);
		in->absent = false;
		return;
	}
	if (in->value) {
		int64_t n = in->n;
		in->shape.rank = (int)bpg_rng_below(rng, BPG_MAX_RANK + 1);
		for (int i = 0; i < in->shape.rank; i++)
			in->shape.dim[i] = 1;
		if (in->shape.rank == 0 && n != 1)
			in->shape.rank = 1;
		if (in->shape.rank > 0)
			in->shape.dim[bpg_rng_below(rng, in->shape.rank)] = n;
		return;
	}
	if (bpg_rng_below(rng, 3) == 0)
		in->shape.rank = (int)bpg_rng_below(rng, BPG_MAX_RANK + 1);
	for (int i = 0; i < in->shape.rank; i++)
		in->shape.dim[i] = bpg_rng_below(rng, 3) ? 1 + bpg_rng_below(rng, 4) : bpg_rng_below(rng, 2) ? 0 : 1 + bpg_rng_below(rng, 64);
	in->n = bpg_shape_count(&in->shape);
	in->absent = in->absent && bpg_rng_below(rng, 2);
	if (in->absent)
		in->n = 0;
}

static void run_damaged(struct instance *t)
{
	int64_t total = t->v.out.n;
	for (int k = 0; k < t->v.nin; k++)
		total += t->v.in[k].n;
	if (total > 20000)
		return;
	t->n = t->v.out.n;
	draw_box(t);
	t->lo = get(t, t->n, sizeof *t->lo);
	t->up = get(t, t->n, sizeof *t->up);
	double *y = get(t, t->n, sizeof *y);
	if (t->layer->family == BPG_CONSTANT) {
		ck_assert_int_le(t->layer->eval(&t->v, (const double *const *)t->x, y), BPG_ECANCELLED);
		return;
	}
	bool folded = true;   /* nothing variable: the builder asks for the value alone */
	for (int k = 0; k < t->v.nin; k++)
		folded = folded && !variable(t, k);
	if (!folded)
		interval(t, t->l, t->u, 0, t->n, t->lo, t->up);
	eval(t, t->x, y);
}

/* A damaged node is refused with a message, or works: no crash, no absurd size. (Sanitizers see the rest.) */
START_TEST(damage)
{
	const struct bpg_layer *layer = layer_at(_i);
	uint64_t seed = bpg_hash_str(BPG_HASH_START, layer->name) >> 16;
	for (int i = 0; i < 400; i++) {
		struct instance t = { .layer = layer, .seed = seed + (uint64_t)i, .ctx = bpg_ctx_new(), .arena = bpg_arena_new() };
		bpg_rng_seed(&t.rng, t.seed * 5 + 2);
		if (layer->family == BPG_CONSTANT)
			draw_constant(&t);
		else
			bpg_sample_node(t.ctx, t.arena, layer, t.seed, -1, &t.s, &t.v);
		for (int64_t k = bpg_rng_below(&t.rng, 3); k >= 0; k--) {
			if (t.s.attrs && bpg_rng_below(&t.rng, 2))
				damage_attribute(&t.rng, &t.s, &t.s.attr[bpg_rng_below(&t.rng, t.s.attrs)]);
			else if (t.s.nin && bpg_rng_below(&t.rng, 5))
				damage_operand(&t.rng, &t.s, &t.s.in[bpg_rng_below(&t.rng, t.s.nin)]);
			else
				t.s.nin += t.s.nin ? (int)bpg_rng_below(&t.rng, 2) * 2 - 1 : 1;
		}
		enum bpg_status st = bpg_sample_import(t.ctx, &t.s, &t.v, layer);
		if (st == BPG_OK) {
			run_damaged(&t);
		} else {
			REQUIRE(&t, *bpg_ctx_message(t.ctx), "refused with %d without a message", st);
		}
		bpg_arena_free(t.arena);
		bpg_ctx_free(t.ctx);
	}
}
END_TEST

/* ---- coefficients that are rounded ---- */

/* Interval of element 0 of a node at a point x of its operand 0. */
static void at_point(struct instance *t, const double *x, double *lo, double *up)
{
	const struct bpg_layer *layer = bpg_layer_find("", t->s.op);
	ck_assert_ptr_nonnull(layer);
	ck_assert_msg(bpg_sample_import(t->ctx, &t->s, &t->v, layer) == BPG_OK, "%s", bpg_ctx_message(t->ctx));
	const double *l[8] = { x };
	ck_assert_int_eq(bpg_node_interval(&t->v, l, l, 0, 1, lo, up), BPG_OK);
}

static double draw_float(struct bpg_rng *rng) { return (float)bpg_rng_normal(rng); }

/* 1/n, 1/c and scale/sqrt(var + eps) are no doubles: the interval of a point contains the true quotient, computed here in
 * long double from the constants of the model. */
START_TEST(quotients)
{
	static const char *const op[] = { "ReduceMean", "Div", "BatchNormalization", "AveragePool" };
	for (int i = 0; i < 4000; i++) {
		struct instance t = { .ctx = bpg_ctx_new(), .arena = bpg_arena_new() };
		t.s = (struct bpg_sample){ .arena = t.arena, .fd = -1, .opset = 13, .output_count = 1, .op = op[_i] };
		bpg_rng_seed(&t.rng, (uint64_t)i);
		double x[9] = { draw_float(&t.rng) }, c[4], lo, up;
		for (int k = 0; k < 4; k++)
			c[k] = k == 3 ? fabs(draw_float(&t.rng)) : draw_float(&t.rng);
		int64_t n = 2 + bpg_rng_below(&t.rng, 7), one[3] = { 1, 1, 1 }, line[3] = { 1, 1, n };
		long double exact;
		if (_i == 1) {
			bpg_sample_variable(&t.s, 1, one);
			bpg_sample_constant(&t.s, 1, one, c);
			exact = x[0] / (long double)c[0];
		} else if (_i == 2) {
			bpg_sample_float(&t.s, "epsilon", 1e-5f);
			bpg_sample_variable(&t.s, 2, one);
			for (int k = 0; k < 4; k++)
				bpg_sample_constant(&t.s, 1, one, &c[k]);
			exact = (long double)c[0] * ((long double)x[0] - c[2]) / sqrtl((long double)c[3] + 1e-5f) + c[1];
		} else {
			if (_i == 3)
				bpg_sample_ints(&t.s, "kernel_shape", 1, &n);
			bpg_sample_variable(&t.s, 3, line);
			exact = x[0] / (long double)n;
		}
		at_point(&t, x, &lo, &up);
		long double slack = 0x1p-62L * (fabsl(exact) + (_i == 2) * (fabs(c[1]) + fabsl(exact - c[1])));
		ck_assert_msg(exact >= lo - slack && exact <= up + slack, "%s, seed %d: %La is outside [%a, %a]", op[_i], i, exact, lo, up);
		bpg_arena_free(t.arena);
		bpg_ctx_free(t.ctx);
	}
}
END_TEST

/* Does the search for an operator come to this layer, once? */
static bool is_found(const struct bpg_layer *layer, const char *op)
{
	int times = 0;
	for (const struct bpg_layer *y = strncmp(op, "bpgraph:", 8) ? bpg_layer_find("", op) : bpg_layer_internal(op); y; y = bpg_layer_next(y, op))
		times += y == layer;
	return times == 1;
}

/* Descriptions are complete, and every layer is found by its operators. */
START_TEST(description)
{
	const struct bpg_layer *layer = layer_at(_i);
	ck_assert(layer->name && layer->ops && *layer->ops);
	if (layer->family == BPG_LINEAR)
		ck_assert_ptr_nonnull(layer->terms);
	if (layer->family == BPG_UNARY)
		ck_assert(layer->unary && layer->unary->f && layer->unary->df && layer->unary->slopes);
	if (layer->family == BPG_GENERAL)
		ck_assert(layer->eval && layer->interval && layer->gradient && layer->planes);
	if (layer->family == BPG_CONSTANT)
		ck_assert_ptr_nonnull(layer->eval);
	if (_i == bpg_layer_count())
		return;
	char ops[512];
	snprintf(ops, sizeof ops, "%s", layer->ops);
	for (char *save, *op = strtok_r(ops, " ", &save); op; op = strtok_r(NULL, " ", &save))
		ck_assert_msg(is_found(layer, op), "%s does not lead to %s", op, layer->name);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("layers");
	TCase *tc = tcase_create("conformance");
	tcase_set_timeout(tc, 120);
	tcase_add_loop_test(tc, description, 0, layers());
	tcase_add_loop_test(tc, conformance, 0, layers());
	tcase_add_loop_test(tc, damage, 0, layers());
	tcase_add_loop_test(tc, quotients, 0, 4);
	suite_add_tcase(suite, tc);
	SRunner *runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
