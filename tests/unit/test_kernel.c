/* The arithmetic of tiles: products against the definition (bit by bit) and a long double sum, tasks on rows against
 * plain loops over one row at a time. Started without arguments it runs once for every instruction set. */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/base.h"
#include "codelets/tasks.h"
#include "../graph/require.h"

static struct bpg_rng rng;

static double uniform(double lo, double up) { return lo + (up - lo) * bpg_rng_uniform(&rng); }
static int below(int n) { return (int)bpg_rng_below(&rng, n); }

static void *get(int64_t n, size_t size)
{
	void *p = calloc((size_t)n + 1, size);
	ck_assert_ptr_nonnull(p);
	return p;
}

/* Values of many sizes, some of them tiny, some zero. */
static float value(void)
{
	int kind = below(16);
	double x = uniform(-1, 1);

	return (float)(kind == 0 ? 0 : kind == 1 ? x * 0x1p-140 : kind == 2 ? x * 0x1p-80 : kind == 3 ? x * 1e6 : x);
}

/* ---- products ---- */

enum { MARK = 12345 };

/* One call with everything drawn at random; `wide`: rows in double. */
static void try_product(bool wide)
{
	int strips = 1 + below(5), columns = 1 + below(BPG_GROUP), runs = below(4), total = 0;
	int64_t K = 1 + below(300), a_strip = (K + below(3)) * BPG_LANES, c_strip = (BPG_GROUP + below(3)) * BPG_LANES;
	bool accumulate = below(2);
	struct bpg_run run[4];
	float *W32 = get(K * BPG_GROUP, sizeof *W32), *A32 = get(strips * a_strip, sizeof *A32), *C32 = get(strips * c_strip,
	        sizeof *C32);
	struct bpg_ahead ahead = { A32, W32, 4 };
	double *W = get(K * BPG_GROUP, sizeof *W), *A = get(strips * a_strip, sizeof *A), *C = get(strips * c_strip, sizeof *C),
	        *before = get(strips * c_strip, sizeof *before);

	for (int64_t i = 0; i < K * BPG_GROUP; i++)
		W32[i] = value(), W[i] = W32[i] * (1 + uniform(-1, 1) * 0x1p-26); /* doubles that are no floats */
	for (int64_t i = 0; i < strips * a_strip; i++)
		A[i] = A32[i] = value();
	for (int64_t i = 0; i < strips * c_strip; i++)
		before[i] = C[i] = C32[i] = i % c_strip >= columns * BPG_LANES ? MARK : value();
	for (int r = 0; r < runs; r++) {
		run[r].n = below((int)BPG_MIN(K, (int64_t)(BPG_BLOCK - total)) + 1);
		run[r].a = below((int)K - run[r].n + 1);
		run[r].w = below((int)K - run[r].n + 1);
		total += run[r].n;
	}
	if (wide)
		bpg_product_f64(strips, A, a_strip, run, runs, W, C, c_strip, columns, accumulate);
	else
		bpg_product_f32(strips, A32, a_strip, run, runs, W32, C32, c_strip, columns, accumulate, below(2) ? &ahead : NULL);

	for (int64_t i = 0; i < strips * c_strip; i++) {
		int64_t s = i / c_strip, j = i % c_strip / BPG_LANES, lane = i % BPG_LANES;
		double got = wide ? C[i] : (double)C32[i];
		float sum32 = 0;
		double sum64 = 0;
		long double exact = 0, gross = 0;

		if (j >= columns) {
			REQUIRE(got == MARK, "column %lld of %d was written", (long long)j, columns);
			continue;
		}
		for (int r = 0; r < runs; r++)
			for (int k = 0; k < run[r].n; k++) {
				int64_t at = s * a_strip + (run[r].a + k) * BPG_LANES + lane;
				double w = wide ? W[(run[r].w + k) * BPG_GROUP + j] : W32[(run[r].w + k) * BPG_GROUP + j];
				sum32 = fmaf((float)w, A32[at], sum32);
				sum64 = fma(w, A[at], sum64);
				exact += w * (long double)A[at];
				gross += fabsl(w * (long double)A[at]);
			}
		double unit = wide ? BPG_U64 : BPG_U32, tiny = wide ? 0x1p-1070 : total * 0x1p-149;
		double must = wide ? (accumulate ? before[i] + sum64 : sum64) : (double)(accumulate ? (float)before[i] + sum32 : sum32);
		REQUIRE(!memcmp(&got, &must, sizeof got) || (got == 0 && must == 0),
		              "%s, %s: strips %d, columns %d, runs %d: element (%lld,%lld,%lld) is %.17g, by definition %.17g",
		        bpg_kernel_name(),
		              wide ? "float64" : "float32", strips, columns, runs, (long long)s, (long long)j, (long long)lane, got, must);
		if (accumulate)
			exact += before[i], gross += fabs(before[i]);
		REQUIRE(fabsl(got - exact) <= bpg_gamma(total + 1, unit) * gross + tiny, "%s: error %.3Lg is more than gamma_%d allows, %.3Lg",
		        bpg_kernel_name(),
		              fabsl(got - exact), total + 1, bpg_gamma(total + 1, unit) * gross + tiny);
	}
	free(W), free(W32), free(A32), free(C32), free(A), free(C), free(before);
}

START_TEST(test_product)
{
	for (int i = 0; i < 400; i++)
		try_product(i % 2);
}
END_TEST

/* The other way, against its definition. */
static void try_adjoint(void)
{
	int strips = 1 + below(5);
	int64_t columns = 1 + below(40), groups = (columns + BPG_GROUP - 1) / BPG_GROUP, n = 1 + below(20), outs = n + below(5);
	int64_t h_strip = (columns + below(3)) * BPG_LANES, z_strip = outs * BPG_LANES, w_group = outs * BPG_GROUP;
	bool accumulate = below(2);
	float *W = get(groups * w_group, sizeof *W), *H = get(strips * h_strip, sizeof *H), *Z = get(strips * z_strip, sizeof *Z),
	      *before = get(strips * z_strip, sizeof *before);

	for (int64_t i = 0; i < groups * w_group; i++)
		W[i] = value();
	for (int64_t i = 0; i < strips * h_strip; i++)
		H[i] = value();
	for (int64_t i = 0; i < strips * z_strip; i++)
		before[i] = Z[i] = i % z_strip >= n * BPG_LANES ? MARK : value();
	bpg_adjoint_f32(strips, H, h_strip, columns, W, w_group, n, Z, z_strip, accumulate);
	for (int64_t i = 0; i < strips * z_strip; i++) {
		int64_t s = i / z_strip, o = i % z_strip / BPG_LANES, lane = i % BPG_LANES;
		float sum = accumulate ? before[i] : 0;

		for (int64_t j = 0; j < columns; j++)
			sum = fmaf(W[j / BPG_GROUP * w_group + o * BPG_GROUP + j % BPG_GROUP], H[s * h_strip + j * BPG_LANES + lane], sum);
		if (o >= n)
			REQUIRE(Z[i] == MARK, "output %lld of %lld was written", (long long)o, (long long)n);
		else
			REQUIRE(!memcmp(&Z[i], &sum, sizeof sum) || (Z[i] == 0 && sum == 0), "%s: strips %d, columns %lld, outputs %lld: element "
			        "(%lld,%lld,%lld) is %.9g, by definition %.9g", bpg_kernel_name(), strips, (long long)columns, (long long)n,
			        (long long)s, (long long)o, (long long)lane, Z[i], sum);
	}
	free(W), free(H), free(Z), free(before);
}

START_TEST(test_adjoint)
{
	for (int i = 0; i < 200; i++)
		try_adjoint();
}
END_TEST

/* BPGRAPH_KERNEL was obeyed, or the processor lacks it and a lesser one runs. */
START_TEST(test_choice)
{
	static const char *const order[] = { "portable", "avx2", "avx512" };
	const char *asked = getenv("BPGRAPH_KERNEL"), *got = bpg_kernel_name();
	int a = 2, g = -1;

	for (int i = 0; i < 3; i++) {
		if (asked && !strcmp(asked, order[i]))
			a = i;
		if (!strcmp(got, order[i]))
			g = i;
	}
	REQUIRE(g >= 0 && g <= a, "%s runs where %s was asked", got, asked ? asked : "the best");
}
END_TEST

/* ---- a tile at a node ---- */

struct tile {
	struct bpg_columns k;
	struct bpg_view_tile view;
	int64_t columns, rows;
	void *data;
	double *exact;            /* [rows][columns] the same numbers */
	double *state;            /* [BPG_STATES][rows] */
};

/* Columns of a LIST node: some of its elements, in any order; of a GRID node: all, channels first or last. */
static void draw_columns(struct bpg_columns *k, bool grid)
{
	*k = (struct bpg_columns){ .grid = grid };
	if (grid) {
		k->channels = 1 + below(3), k->size[0] = 1 + below(5), k->size[1] = 1 + below(5);
		k->n = k->channels * k->size[0] * k->size[1];
		if (below(2))
			k->stride[0] = k->size[0] * k->size[1], k->stride[1] = k->size[1], k->stride[2] = 1;
		else
			k->stride[0] = 1, k->stride[1] = k->channels * k->size[1], k->stride[2] = k->channels;
		return;
	}
	k->n = 1 + below(20);
	k->slot = get(k->n, sizeof *k->slot);
	k->index = get(k->n, sizeof *k->index);
	for (int64_t i = 0; i < k->n; i++)
		k->slot[i] = -1;
	for (int64_t left = below((int)k->n + 1); left > 0; left--) {
		int i = below((int)k->n);
		if (k->slot[i] >= 0)
			continue;
		k->slot[i] = (int32_t)k->count;
		k->index[k->count++] = i;
	}
}

static void columns_fini(struct bpg_columns *k)
{
	free(k->slot);
	free(k->index);
}

static struct bpg_window draw_window(const struct bpg_columns *k)
{
	struct bpg_window w = { { 0, 0 }, { 0, 0 } };

	for (int a = 0; k->grid && a < 2; a++) {
		w.lo[a] = below(k->size[a]);
		w.up[a] = w.lo[a] + 1 + below(k->size[a] - w.lo[a]);
	}
	return w;
}

static void tile_init(struct tile *t, const struct bpg_columns *k, struct bpg_window w, int strips, bool wide)
{
	*t = (struct tile){ .k = *k, .view = { strips, wide, w }, .columns = bpg_columns_in(k, &w),
	                    .rows = (int64_t)strips * BPG_LANES };
	t->data = get(t->rows * t->columns, wide ? sizeof(double) : sizeof(float));
	t->exact = get(t->rows * t->columns, sizeof *t->exact);
	t->state = get(BPG_STATES * t->rows, sizeof *t->state);
	for (int64_t i = 0; i < BPG_STATES * t->rows; i++)
		t->state[i] = i / t->rows == BPG_P ? uniform(-2, 2) : uniform(0, 1);
	for (int64_t r = 0; r < t->rows; r++)
		for (int64_t c = 0; c < t->columns; c++) {
			int64_t at = (r / BPG_LANES * t->columns + c) * BPG_LANES + r % BPG_LANES;
			float x = value();
			t->exact[r * t->columns + c] = x;
			if (wide)
				((double *)t->data)[at] = x;
			else
				((float *)t->data)[at] = x;
		}
}

static void tile_fini(struct tile *t)
{
	free(t->data), free(t->exact), free(t->state);
}

static double tile_at(const struct tile *t, int64_t r, int64_t c)
{
	int64_t at = (r / BPG_LANES * t->columns + c) * BPG_LANES + r % BPG_LANES;

	return t->view.wide ? ((double *)t->data)[at] : (double)((float *)t->data)[at];
}

/* Element of the node that column c of the tile stands for, by the definition of columns alone. */
static int64_t element_of(const struct tile *t, int64_t c)
{
	const struct bpg_columns *k = &t->k;
	const struct bpg_window *w = &t->view.window;

	if (!k->grid)
		return k->index[c];
	int64_t ch = c % k->channels, at = c / k->channels, across = w->up[1] - w->lo[1];
	return ch * k->stride[0] + (w->lo[0] + at / across) * k->stride[1] + (w->lo[1] + at % across) * k->stride[2];
}

static int64_t column_of(const struct tile *t, int64_t element)
{
	for (int64_t c = 0; c < t->columns; c++)
		if (element_of(t, c) == element)
			return c;
	return -1;
}

/* A charge covers what it must, and is not much more. */
static void check_charge(const char *what, double got, double before, long double must)
{
	REQUIRE(got - before >= must * (1 - 1e-9) - 1e-14, "%s: charged %.17g, must be %.17Lg", what, got - before, must);
	REQUIRE(got - before <= must * 1.01L + 1e-9L, "%s: charged %.17g, needed %.17Lg only", what, got - before, must);
}

static double *draw_fields(int64_t n)
{
	double *f = get(BPG_FIELDS * n, sizeof *f);

	for (int64_t i = 0; i < n; i++) {
		double c = uniform(-2, 2), r = below(6) ? uniform(0, 1) : 0;
		f[BPG_LOWER * n + i] = c - r, f[BPG_UPPER * n + i] = c + r, f[BPG_CENTRE * n + i] = c, f[BPG_RADIUS * n + i] = r;
		f[BPG_GROSS * n + i] = uniform(0, 3), f[BPG_EXTRA * n + i] = below(2) ? uniform(0, 1e-6) : 0;
	}
	return f;
}

#define DRAW_TILE()                                                             \
	struct bpg_columns k;                                                   \
	struct tile t;                                                          \
	bool wide = below(2);                                                   \
	draw_columns(&k, below(2));                                             \
	tile_init(&t, &k, draw_window(&k), 1 + below(3), wide);                 \
	double *before = get(BPG_STATES * t.rows, sizeof *before);              \
	memcpy(before, t.state, (size_t)(BPG_STATES * t.rows) * sizeof *before)

/* ---- tasks ---- */

static void try_relax(void)
{
	DRAW_TILE();
	int64_t places = bpg_columns_places(&k);
	double *planes = get(BPG_PLANE_FIELDS * places, sizeof *planes);
	struct bpg_hop hop = { .kind = BPG_HOP_UNARY, .out = &k };
	struct bpg_arg_relax a = { &hop, t.view, below(2), 1e-9 };

	for (int64_t i = 0; i < BPG_PLANE_FIELDS * places; i++)
		planes[i] = i / places <= BPG_SLOPE_UP ? (float)uniform(-1, 1) : i / places <= BPG_TIMES_OLD_UP ? uniform(-1, 1) : uniform(0,
		        1e-3);
	/* Half of the time a second tile is added first. */
	struct tile other;
	double *f = draw_fields(k.n);
	bool join = below(2);
	tile_init(&other, &k, t.view.window, t.view.strips, wide);
	if (join)
		bpg_task_add_relax(NULL, (void *[]){ planes, t.data, t.state, f, other.data }, &a);
	else
		bpg_task_relax(NULL, (void *[]){ planes, t.data, t.state }, &a);
	for (int64_t r = 0; r < t.rows; r++) {
		long double p = before[BPG_P * t.rows + r], size = fabsl(p), slack = 0;

		for (int64_t c = 0; join && c < t.columns; c++) {
			double *v = &t.exact[r * t.columns + c], sum = *v + other.exact[r * t.columns + c];
			*v = wide ? sum : (double)(float)sum;
			slack += fabsl((long double)*v) * (wide ? BPG_U64 : BPG_U32) * f[BPG_RADIUS * k.n + element_of(&t, c)];
		}

		for (int64_t c = 0; c < t.columns; c++) {
			int64_t at = bpg_columns_place(&k, element_of(&t, c));
			double v = t.exact[r * t.columns + c], y = tile_at(&t, r, c);
			int up = v < 0;
			double s = planes[(BPG_SLOPE_LO + up) * places + at], n = planes[(BPG_TIMES_NEW_LO + up) * places + at],
			       o = planes[(BPG_TIMES_OLD_LO + up) * places + at];
			REQUIRE(y == (wide ? v * s : (double)((float)v * (float)s)), "relax: %.17g * %.17g is %.17g", v, s, y);
			p += (long double)y * n + (long double)v * o;
			size += fabsl((long double)y * n) + fabsl((long double)v * o);
			slack += fabsl((long double)v * planes[BPG_PRICE_OLD * places + at])
			         + fabsl((long double)y * planes[(wide ? BPG_PRICE_NEW64 : BPG_PRICE_NEW32) * places + at]);
		}
		double got = t.state[BPG_P * t.rows + r];
		REQUIRE(fabsl(got - p) <= 1e-13L * size, "relax: p is %.17g, not %.17Lg", got, p);
		double charged = t.state[BPG_SLACK * t.rows + r];
		if (a.slack)
			check_charge("relax", charged, before[BPG_SLACK * t.rows + r] + a.under, slack);
		else
			REQUIRE(charged == before[BPG_SLACK * t.rows + r], "relax: slack moves although it is off");
	}
	free(planes), free(f), free(before), tile_fini(&other), tile_fini(&t), columns_fini(&k);
}

static void try_toll(void)
{
	DRAW_TILE();
	double *f = draw_fields(k.n);
	struct bpg_hop hop = { .kind = BPG_HOP_DENSE, .out = &k, .gamma32 = 1e-5, .gamma64 = 1e-9 };
	struct bpg_arg_relax a = { &hop, t.view, true, 1e-10 };

	bpg_task_toll(NULL, (void *[]){ f, t.data, t.state }, &a);
	for (int64_t r = 0; r < t.rows; r++) {
		long double slack = a.under;
		for (int64_t c = 0; c < t.columns; c++) {
			int64_t i = element_of(&t, c);
			slack += fabsl((long double)t.exact[r * t.columns + c])
			         * ((wide ? hop.gamma64 : hop.gamma32) * (long double)f[BPG_GROSS * k.n + i] + f[BPG_EXTRA * k.n + i]);
		}
		check_charge("toll", t.state[BPG_SLACK * t.rows + r], before[BPG_SLACK * t.rows + r], slack);
	}
	free(f), free(before), tile_fini(&t), columns_fini(&k);
}

/* Random rows over operands 0 and 1 (the second is the one mapped to). */
static struct bpg_sparse *draw_sparse(int64_t rows, int64_t ins, bool bias)
{
	struct bpg_sparse *s = get(1, sizeof *s);

	s->rows = rows;
	s->first = get(rows + 1, sizeof *s->first);
	s->operand = get(rows * 3, sizeof *s->operand);
	s->index = get(rows * 3, sizeof *s->index);
	s->coef = get(rows * 3, sizeof *s->coef);
	s->bias = bias ? get(rows, sizeof *s->bias) : NULL;
	s->most_fan = (int32_t)rows * 3;
	for (int64_t i = 0; i < rows; i++) {
		for (int n = below(4); n > 0; n--, s->nonzeros++) {
			s->operand[s->nonzeros] = below(2);
			s->index[s->nonzeros] = below((int)ins);
			s->coef[s->nonzeros] = (float)uniform(-1, 1);
		}
		s->first[i + 1] = s->nonzeros;
		if (bias)
			s->bias[i] = uniform(-1, 1);
	}
	return s;
}

static void sparse_free(struct bpg_sparse *s)
{
	free(s->first), free(s->operand), free(s->index), free(s->coef), free(s->bias), free(s->of), free(s);
}

/* The row's coefficient at element j of the operand mapped to; side: of the positive or of the negative part only. */
static void gather(const struct tile *t, int64_t r, const struct bpg_sparse *s, int side, int64_t j, long double *sum,
        long double *size)
{
	for (int64_t c = 0; c < t->columns; c++) {
		int64_t i = element_of(t, c);
		double v = t->exact[r * t->columns + c];
		if ((side > 0 && v < 0) || (side < 0 && v >= 0))
			continue;
		for (int64_t q = s->first[i]; q < s->first[i + 1]; q++)
			if (s->operand[q] == 1 && s->index[q] == j) {
				*sum += (long double)v * s->coef[q];
				*size += fabsl((long double)v * s->coef[q]);
			}
	}
}

static struct bpg_window whole(const struct bpg_columns *k)
{
	return (struct bpg_window){ { 0, 0 }, { k->size[0], k->size[1] } };
}

static void try_map(void)
{
	DRAW_TILE();
	struct bpg_columns in;
	struct tile to;
	draw_columns(&in, below(2));
	tile_init(&to, &in, whole(&in), t.view.strips, wide);
	struct bpg_sparse *terms = draw_sparse(k.n, in.n, false);
	struct bpg_hop hop = { .kind = BPG_HOP_TERMS, .out = &k, .nin = 2, .in = (struct bpg_columns *[]){ &in, &in },
	        .operand = (int[]){ 0, 1 }, .terms = terms };
	struct bpg_arg_map a = { &hop, 1, t.view, to.view };

	bpg_task_map(NULL, (void *[]){ t.data, to.data }, &a);
	for (int64_t r = 0; r < to.rows; r++)
		for (int64_t c = 0; c < to.columns; c++) {
			long double sum = 0, size = 0;
			double got = tile_at(&to, r, c);
			gather(&t, r, terms, 0, element_of(&to, c), &sum, &size);
			REQUIRE(fabsl(got - sum) <= 70 * (wide ? BPG_U64 : BPG_U32) * size + 0x1p-140, "map: %.17g, not %.17Lg", got, sum);
		}
	sparse_free(terms), free(before), tile_fini(&to), tile_fini(&t), columns_fini(&in), columns_fini(&k);
}

/* Up to two other planes for each element. */
static struct bpg_sparse *draw_others(int64_t elements, int64_t ins)
{
	int64_t *of = get(elements + 1, sizeof *of);

	for (int64_t i = 0; i < elements; i++)
		of[i + 1] = of[i] + below(3);
	struct bpg_sparse *s = draw_sparse(of[elements], ins, true);
	s->of = of;
	return s;
}

/* A coefficient is dealt out by weights: each part passes by its own plane, the rest by that of all; what rounding left
 * undealt is charged. */
static void try_deal_planes(void)
{
	DRAW_TILE();
	struct bpg_columns in;
	struct tile to;
	draw_columns(&in, false);
	tile_init(&to, &in, whole(&in), t.view.strips, wide);
	struct bpg_sparse *side[2] = { draw_sparse(k.n, in.n, true), draw_sparse(k.n, in.n, true) };
	struct bpg_sparse *other[2] = { draw_others(k.n, in.n), draw_others(k.n, in.n) };
	struct bpg_hop hop = { .kind = BPG_HOP_PLANES, .out = &k, .nin = 2, .in = (struct bpg_columns *[]){ &in, &in }, .operand = (int[]){ 1, 0 },
		               .lower = side[0], .upper = side[1], .other = { other[0], other[1] } };
	struct bpg_arg_map_planes a = { { &hop, 0, t.view, to.view }, true, true };
	double *own = draw_fields(k.n), *field[2] = { draw_fields(in.n), draw_fields(in.n) };
	int64_t others = bpg_others_in(&hop, &t.view.window), at = 0;
	float *weight = get(t.rows * (others + 1), sizeof *weight);

	for (int64_t n = 0; n < t.rows * others; n++) /* at most two on a side: together no more than 1 */
		weight[n] = below(4) ? (float)uniform(0, 0.5) : 0.5f * (float)below(2);
	bpg_task_map_planes(NULL, (void *[]){ own, field[0], field[1], t.data, t.state, to.data, weight, NULL }, &a);
	long double *sum = get(t.rows * to.columns, sizeof *sum), *gross = get(t.rows * to.columns, sizeof *gross);
	long double *p = get(t.rows, sizeof *p), *size = get(t.rows, sizeof *size);
	for (int64_t c = 0; c < t.columns; c++) {
		int64_t i = element_of(&t, c);
		for (int s = 0, skip = 0; s < 2; skip += bpg_others_of(&hop, s, i), s++)
			for (int64_t r = 0; r < t.rows; r++) {
				double v = t.exact[r * t.columns + c];
				long double left = 1, each = 0;
				int n = bpg_others_of(&hop, s, i);
				if ((v < 0) != s)
					continue;
				for (int o = n; o >= 0; o--) { /* the others, then the plane of all takes what they leave */
					const struct bpg_sparse *y = o ? other[s] : side[s];
					int64_t row = o ? other[s]->of[i] + o - 1 : i, place = (r / 16 * others + at + skip + o - 1) * 16 + r % 16;
					long double w = o ? weight[place] : left, value = y->bias[row] - (long double)own[BPG_CENTRE * k.n + i];
					left -= o ? w : 0;
					for (int64_t q = y->first[row]; q < y->first[row + 1]; q++) {
						value += (long double)y->coef[q] * field[y->operand[q] == 1 ? 0 : 1][BPG_CENTRE * in.n + y->index[q]];
						int64_t column = y->operand[q] == 1 ? column_of(&to, y->index[q]) : -1;
						if (column >= 0) {
							sum[r * to.columns + column] += w * v * y->coef[q];
							gross[r * to.columns + column] += fabsl(w * v * y->coef[q]);
						}
					}
					each += w * value;
				}
				p[r] += v * each;
				size[r] += 8 * fabsl(v);
			}
		at += bpg_others_of(&hop, 0, i) + bpg_others_of(&hop, 1, i);
	}
	for (int64_t r = 0; r < t.rows; r++) {
		double unit = wide ? BPG_U64 : BPG_U32;
		REQUIRE(fabsl(t.state[BPG_P * t.rows + r] - before[BPG_P * t.rows + r] - p[r]) <= (4 * unit + 1e-12L) * (size[r] + fabsl((long double)before[BPG_P * t.rows + r])),
		        "dealt planes: p is %.17g, not %.17Lg", t.state[BPG_P * t.rows + r], before[BPG_P * t.rows + r] + p[r]);
		for (int64_t c = 0; c < to.columns; c++) {
			double got = tile_at(&to, r, c);
			REQUIRE(fabsl(got - sum[r * to.columns + c]) <= 70 * unit * gross[r * to.columns + c] + 0x1p-140, "dealt planes: %.17g, not %.17Lg", got,
			        sum[r * to.columns + c]);
		}
	}
	free(sum), free(gross), free(p), free(size), free(weight), free(own), free(field[0]), free(field[1]), free(before);
	for (int s = 0; s < 2; s++)
		sparse_free(side[s]), sparse_free(other[s]);
	tile_fini(&to), tile_fini(&t), columns_fini(&in), columns_fini(&k);
}

static void try_map_planes(void)
{
	DRAW_TILE();
	struct bpg_columns in[2];
	struct tile to;
	draw_columns(&in[0], false);
	in[1] = in[0];
	tile_init(&to, &in[1], whole(&in[1]), t.view.strips, wide);
	struct bpg_sparse *lower = draw_sparse(k.n, in[0].n, true), *upper = draw_sparse(k.n, in[0].n, true);
	struct bpg_hop hop = { .kind = BPG_HOP_PLANES, .out = &k, .nin = 2, .in = (struct bpg_columns *[]){ &in[0], &in[1] },
	        .operand = (int[]){ 1, 0 },
		               .lower = lower, .upper = upper };
	struct bpg_arg_map_planes a = { { &hop, 0, t.view, to.view }, true, false }; /* number 0 is operand 1 */
	double *own = draw_fields(k.n), *field[2] = { draw_fields(in[0].n), draw_fields(in[0].n) }; /* of number 0, 1 */

	bpg_task_map_planes(NULL, (void *[]){ own, field[0], field[1], t.data, t.state, to.data, NULL }, &a);
	for (int64_t r = 0; r < to.rows; r++) {
		long double p = before[BPG_P * t.rows + r], size = fabsl(p);
		for (int64_t c = 0; c < t.columns; c++) {
			int64_t i = element_of(&t, c), n = in[0].n;
			double v = t.exact[r * t.columns + c];
			const struct bpg_sparse *s = v >= 0 ? lower : upper;
			long double at = s->bias[i] - (long double)own[BPG_CENTRE * k.n + i];
			for (int64_t q = s->first[i]; q < s->first[i + 1]; q++)
				at += (long double)s->coef[q] * field[s->operand[q] == 1 ? 0 : 1][BPG_CENTRE * n + s->index[q]];
			p += v * at;
			size += fabsl(v) * 8;
		}
		REQUIRE(fabsl(t.state[BPG_P * t.rows + r] - p) <= 1e-12L * size, "planes: p is %.17g, not %.17Lg", t.state[BPG_P * t.rows + r],
		        p);
		ck_assert_double_ge(t.state[BPG_SLACK * t.rows + r], before[BPG_SLACK * t.rows + r]);
		for (int64_t c = 0; c < to.columns; c++) {
			long double sum = 0, gross = 0;
			double got = tile_at(&to, r, c);
			gather(&t, r, lower, 1, element_of(&to, c), &sum, &gross);
			gather(&t, r, upper, -1, element_of(&to, c), &sum, &gross);
			REQUIRE(fabsl(got - sum) <= 70 * (wide ? BPG_U64 : BPG_U32) * gross + 0x1p-140, "planes: %.17g, not %.17Lg", got, sum);
		}
	}
	sparse_free(lower), sparse_free(upper), free(own), free(field[0]), free(field[1]), free(before);
	tile_fini(&to), tile_fini(&t), columns_fini(&in[0]), columns_fini(&k);
}

/* The smaller window lies in the larger one; columns meet by element. */
static void try_add(void)
{
	DRAW_TILE();
	struct tile big;
	double *f = draw_fields(k.n);
	struct bpg_hop hop = { .out = &k };
	tile_init(&big, &k, below(2) ? whole(&k) : t.view.window, t.view.strips, wide);
	struct bpg_arg_add a = { &hop, t.view, big.view, true };
	struct tile copy;
	tile_init(&copy, &k, big.view.window, t.view.strips, wide);

	bpg_task_copy(NULL, (void *[]){ t.data, copy.data }, &a);
	bpg_task_add(NULL, (void *[]){ f, t.data, big.data, t.state }, &a);
	for (int64_t r = 0; r < t.rows; r++) {
		long double slack = 0;
		for (int64_t c = 0; c < big.columns; c++) {
			int64_t from = column_of(&t, element_of(&big, c));
			double x = from < 0 ? 0 : t.exact[r * t.columns + from], y = big.exact[r * big.columns + c];
			double got = tile_at(&big, r, c), must = wide ? y + x : (double)((float)y + (float)x);
			REQUIRE(got == must, "add: %.17g + %.17g is %.17g", y, x, got);
			REQUIRE(tile_at(&copy, r, c) == x, "copy: %.17g, not %.17g", tile_at(&copy, r, c), x);
			if (from >= 0)
				slack += fabsl((long double)must) * (wide ? BPG_U64 : BPG_U32) * f[BPG_RADIUS * k.n + element_of(&big, c)];
		}
		check_charge("add", t.state[BPG_SLACK * t.rows + r], before[BPG_SLACK * t.rows + r], slack);
	}
	free(f), free(before), tile_fini(&copy), tile_fini(&big), tile_fini(&t), columns_fini(&k);
}

static void try_concretize(void)
{
	DRAW_TILE();
	double *f = draw_fields(k.n), *lb = get(t.rows, sizeof *lb);
	struct bpg_hop hop = { .out = &k };
	int norm = below(3);
	struct bpg_arg_concretize a = { .hop = &hop, .tile = t.view, .norm = norm };
	struct bpg_arg_finish end = { .rows = (int)t.rows, .norm = norm, .radius = 0.25, .slack = true, .terms = t.columns };

	memset(t.state + BPG_BOX * t.rows, 0, (size_t)(2 * t.rows) * sizeof *t.state);
	bpg_task_concretize(NULL, (void *[]){ f, t.data, t.state }, &a);
	bpg_task_finish(NULL, (void *[]){ t.state, lb }, &end);
	for (int64_t r = 0; r < t.rows; r++) {
		long double box = 0, two = 0, most = 0;
		for (int64_t c = 0; c < t.columns; c++) {
			long double v = fabsl((long double)t.exact[r * t.columns + c]);
			box += v * f[BPG_RADIUS * k.n + element_of(&t, c)];
			two += v * v;
			most = v > most ? v : most;
		}
		long double ball = (norm == 2 ? sqrtl(two) : most) * end.radius, far = norm && ball < box ? ball : box;
		long double must = t.state[BPG_P * t.rows + r] - far - t.state[BPG_SLACK * t.rows + r];
		REQUIRE(lb[r] <= must, "finish: %.17g is over %.20Lg", lb[r], must);
		REQUIRE(lb[r] >= must - 1e-5L * t.state[BPG_SLACK * t.rows + r] - 1e-13L * (far + 10), "finish: %.17g is far below %.17Lg",
		        lb[r], must);
	}
	free(f), free(lb), free(before), tile_fini(&t), columns_fini(&k);
}

static void (*const tries[])(void) = { try_relax, try_toll, try_map, try_map_planes, try_deal_planes, try_add, try_concretize };

START_TEST(test_rows)
{
	for (int i = 0; i < 200; i++)
		tries[_i]();
}
END_TEST

/* NaN says nothing about a row: the bound is -infinity. */
START_TEST(test_finish_nan)
{
	double state[BPG_STATES * BPG_LANES] = { 0 }, lb[BPG_LANES];
	struct bpg_arg_finish a = { .rows = BPG_LANES, .slack = true };

	state[BPG_P * BPG_LANES] = NAN;
	state[BPG_SLACK * BPG_LANES + 1] = NAN;
	state[BPG_BOX * BPG_LANES + 2] = NAN;
	state[BPG_P * BPG_LANES + 3] = INFINITY, state[BPG_BOX * BPG_LANES + 3] = INFINITY;
	bpg_task_finish(NULL, (void *[]){ state, lb }, &a);
	for (int i = 0; i < 4; i++)
		ck_assert(lb[i] == -INFINITY);
	ck_assert(lb[4] <= 0 && lb[4] > -1e-300);
}
END_TEST

static void seed(void) { bpg_rng_seed(&rng, 20); }

static int run(void)
{
	Suite *s = suite_create("kernel");
	TCase *t = tcase_create(bpg_kernel_name());

	tcase_add_checked_fixture(t, seed, NULL);
	tcase_add_test(t, test_choice);
	tcase_add_test(t, test_product);
	tcase_add_test(t, test_adjoint);
	tcase_add_loop_test(t, test_rows, 0, (int)BPG_LEN(tries));
	tcase_add_test(t, test_finish_nan);
	suite_add_tcase(s, t);
	SRunner *r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	int failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}

/* The instruction set is chosen when the process starts. */
int main(int argc, char **argv)
{
	static const char *const kernel[] = { "portable", "avx2", "avx512" };
	int bad = 0;

	if (argc > 1)
		return run();
	for (size_t i = 0; i < BPG_LEN(kernel); i++) {
		int status = 1;
		pid_t pid = fork();
		if (pid == 0) {
			setenv("BPGRAPH_KERNEL", kernel[i], 1);
			execl(argv[0], argv[0], "run", (char *)NULL);
			_exit(1);
		}
		if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
			bad = 1;
	}
	return bad;
}
