/* cases.c - see cases.h. */
#include "cases.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codelets/conv_sums.h"
#include "codelets/gather_terms.h"
#include "codelets/plane_columns.h"
#include "codelets/task_alpha.h"
#include "net/const.h"

/* ---- what a case holds ---- */

enum { MOST_BLOCKS = 64 };

/* A run of one case: memory of both sides dies with it. */
struct run {
	const struct gpu_backend *b;
	struct bpg_rng *rng;
	uint64_t *hash;
	char *why;
	bool ok;
	int hosts, devices;
	void *host[MOST_BLOCKS], *device[MOST_BLOCKS];
};

static void *host(struct run *r, int64_t n, size_t size)
{
	void *p = calloc((size_t)n + 1, size);

	if (!p || r->hosts == MOST_BLOCKS)
		abort();
	return r->host[r->hosts++] = p;
}

static void *put(struct run *r, const void *from, int64_t n, size_t size)
{
	if (r->devices == MOST_BLOCKS)
		abort();
	return r->device[r->devices++] = r->b->put(from, (size_t)n * size);
}

static bool end(struct run *r)
{
	while (r->hosts > 0)
		free(r->host[--r->hosts]);
	while (r->devices > 0)
		r->b->drop(r->device[--r->devices]);
	return r->ok;
}

static int below(struct run *r, int n) { return (int)bpg_rng_below(r->rng, n); }
static double uniform(struct run *r, double lo, double up) { return lo + (up - lo) * bpg_rng_uniform(r->rng); }

/* Values of many sizes, some tiny, some zero. */
static float value(struct run *r)
{
	int kind = below(r, 16);
	double x = uniform(r, -1, 1);

	return (float)(kind == 0 ? 0 : kind == 1 ? x * 0x1p-140 : kind == 2 ? x * 0x1p-80 : kind == 3 ? x * 1e6 : x);
}

static void fill(struct run *r, bool wide, void *to, int64_t n)
{
	for (int64_t i = 0; i < n; i++)
		if (wide)
			((double *)to)[i] = value(r) * (1 + (below(r, 2) ? 0x1p-40 : 0));
		else
			((float *)to)[i] = value(r);
}

static double element(bool wide, const void *x, int64_t i)
{
	return wide ? ((const double *)x)[i] : (double)((const float *)x)[i];
}

/* Equal bits; NaN is NaN. */
static void compare(struct run *r, const char *what, bool wide, const void *must, const void *device, int64_t n)
{
	size_t size = wide ? sizeof(double) : sizeof(float);
	void *got = host(r, n, size);

	r->b->get(got, device, (size_t)n * size);
	*r->hash = bpg_hash(*r->hash, got, (size_t)n * size);
	for (int64_t i = 0; r->ok && i < n; i++) {
		double x = element(wide, got, i), y = element(wide, must, i);
		if ((x == y && signbit(x) == signbit(y)) || (isnan(x) && isnan(y)))
			continue;
		snprintf(r->why, 256, "%s, element %lld of %lld: %.17g, on the CPU %.17g", what, (long long)i, (long long)n, x, y);
		r->ok = false;
	}
}

static void started(struct run *r, const char *what, int status)
{
	if (status && r->ok) {
		snprintf(r->why, 256, "%s: error %d", what, status);
		r->ok = false;
	}
}

#define RUN(b, rng, hash, why) struct run run = { b, rng, hash, why, true, 0, 0, { NULL }, { NULL } }, *r = &run

static size_t size_of(bool wide) { return wide ? sizeof(double) : sizeof(float); }

/* All n elements are columns, the first `mixed` may have two planes. */
static struct bpg_columns list(struct run *r, int64_t n, int64_t mixed)
{
	struct bpg_columns k = { .n = n, .count = n, .mixed = mixed, .index = host(r, n, sizeof *k.index), .slot = host(r, n, sizeof *k.slot) };

	for (int64_t i = 0; i < n; i++)
		k.index[i] = k.slot[i] = (int32_t)i;
	return k;
}

static struct bpg_columns grid(struct run *r, int64_t channels, int64_t height, int64_t width)
{
	struct bpg_columns k = { .grid = true, .n = channels * height * width, .channels = (int32_t)channels, .size = { (int32_t)height, (int32_t)width } };

	if (below(r, 2))
		k.stride[0] = height * width, k.stride[1] = width, k.stride[2] = 1;
	else
		k.stride[0] = 1, k.stride[1] = channels * width, k.stride[2] = channels;
	return k;
}

/* ---- products ---- */

/* A dense hop: the panel of columns c0 .. c1-1, also for pairs of opposite rows. */
static bool dense(const struct gpu_backend *b, struct bpg_rng *rng, uint64_t *hash, char why[256])
{
	RUN(b, rng, hash, why);
	bool wide = below(r, 4) == 0;
	int strips = 1 + below(r, 17), pair = strips % 2 == 0 && below(r, 2) ? strips / 2 : 0;
	int64_t K = 1 + below(r, 600), N = 1 + below(r, 300), mixed = below(r, (int)K + 1), block = 16 * (1 + below(r, 16));
	int64_t c0 = below(r, (int)N) / BPG_GROUP * BPG_GROUP, c1 = c0 + 1 + below(r, (int)(N - c0));
	int64_t groups = (c1 - c0 + BPG_GROUP - 1) / BPG_GROUP, from = K * BPG_LANES, to = N * BPG_LANES;
	struct bpg_columns out = list(r, K, mixed), in = list(r, N, 0);
	struct bpg_hop hop = { .kind = BPG_HOP_DENSE, .out = &out, .nin = 1, .in = (struct bpg_columns *[]){ &in }, .block = (int)block };
	struct bpg_arg_gemm a = { .hop = &hop, .c0 = c0, .c1 = c1, .from = { .strips = strips, .wide = wide }, .to = { .strips = strips, .wide = wide }, .pair = pair };
	float *W = host(r, groups * K * BPG_GROUP, sizeof *W);
	void *A = host(r, strips * from, size_of(wide)), *C = host(r, strips * to, size_of(wide));

	fill(r, false, W, groups * K * BPG_GROUP);
	fill(r, wide, A, strips * from);
	fill(r, wide, C, strips * to);
	char *dC = put(r, C, strips * to, size_of(wide));
	struct bpg_cuda_product p = { .wide = wide, .shape = below(r, 4), .columns = c1 - c0, .A = put(r, A, strips * from, size_of(wide)),
		                      .W = put(r, W, groups * K * BPG_GROUP, sizeof *W), .C = dC + c0 * BPG_LANES * (int64_t)size_of(wide), .a_strip = from,
		                      .w_group = K * BPG_GROUP, .c_strip = to, .block = block, .cells = 1, .sets = 1 };
	if (below(r, 2)) /* blocks side by side */
		p.space = put(r, host(r, (K + block - 1) / block * strips * to, size_of(wide)), (K + block - 1) / block * strips * to, size_of(wide));
	bpg_task_gemm_dense(NULL, (void *[]){ W, A, C }, &a);
	if (pair && mixed < K) { /* one product for rows that are opposite, then the columns that are not */
		p.strips = pair, p.k0 = mixed, p.k1 = K;
		started(r, "product", b->product(&p));
		struct bpg_cuda_copy minus = { .wide = wide, .negative = true, .strips = pair, .channels = c1 - c0, .from_up = { 1, 1 }, .to_up = { 1, 1 }, .from = p.C,
			                       .to = (char *)p.C + pair * to * (int64_t)size_of(wide), .from_strip = to, .to_strip = to };
		started(r, "copy", b->copy(&minus));
		p.accumulate = true;
	}
	if (!p.accumulate || mixed > 0) {
		p.strips = strips, p.k0 = 0, p.k1 = pair ? mixed : K;
		started(r, "product", b->product(&p));
	}
	compare(r, "dense product", wide, C, dC, strips * to);
	return end(r);
}

/* A convolution at random: windows of its output [0] and of its input [1]. */
static struct bpg_conv draw_conv(struct run *r, struct bpg_window w[2])
{
	int64_t groups = 1 + below(r, 3), icg = 1 + below(r, 12), ocg = 1 + below(r, below(r, 4) ? 20 : 300);
	struct bpg_conv v = { .in_channels = groups * icg, .out_channels = groups * ocg, .groups = groups };

	for (int x = 0; x < 2; x++) {
		v.in_size[x] = 1 + below(r, 7), v.kernel[x] = 1 + below(r, 4), v.stride[x] = 1 + below(r, 3), v.pad[x] = below(r, 3), v.dilation[x] = 1 + below(r, 2);
		int64_t span = v.in_size[x] + 2 * v.pad[x] - (v.kernel[x] - 1) * v.dilation[x] - 1;
		if (span < 0)
			v.kernel[x] = 1, span = v.in_size[x] + 2 * v.pad[x] - 1;
		v.out_size[x] = span / v.stride[x] + 1;
		w[0].lo[x] = below(r, (int)v.out_size[x]);
		w[0].up[x] = w[0].lo[x] + 1 + below(r, (int)v.out_size[x] - w[0].lo[x]);
		w[1].lo[x] = below(r, (int)v.in_size[x]);
		w[1].up[x] = w[1].lo[x] + 1 + below(r, (int)v.in_size[x] - w[1].lo[x]);
	}
	return v;
}

/* A product by the lists of `sums`, whose memory goes: from channels of one side to those of the other. */
static struct bpg_cuda_product by_lists(struct run *r, struct bpg_conv_sums *sums, const struct bpg_conv *v, bool forward)
{
	int64_t icg = v->in_channels / v->groups, ocg = v->out_channels / v->groups, taps = v->kernel[0] * v->kernel[1];
	int64_t from = forward ? icg : ocg, to = forward ? ocg : icg, groups8 = (to + BPG_GROUP - 1) / BPG_GROUP;
	struct bpg_cuda_product p = { .shape = below(r, 4), .columns = to, .w_group = taps * from * BPG_GROUP, .cells = sums->positions, .sets = v->groups,
		                      .a_set = from, .w_set = groups8 * taps * from * BPG_GROUP, .c_set = to, .c_cell = to * v->groups,
		                      .first = put(r, sums->first, sums->positions + 1, sizeof *sums->first),
		                      .end = put(r, sums->end, sums->blocks, sizeof *sums->end), .run = put(r, sums->run, sums->runs, sizeof *sums->run) };

	bpg_conv_sums_fini(sums);
	return p;
}

/* A convolution's window of input positions from a window of outputs. */
static bool conv(const struct gpu_backend *b, struct bpg_rng *rng, uint64_t *hash, char why[256])
{
	RUN(b, rng, hash, why);
	bool wide = below(r, 4) == 0;
	int strips = 1 + below(r, 9);
	struct bpg_window w[2];
	struct bpg_conv v = draw_conv(r, w);
	struct bpg_columns out = grid(r, v.out_channels, v.out_size[0], v.out_size[1]), in = grid(r, v.in_channels, v.in_size[0], v.in_size[1]);
	struct bpg_hop hop = { .kind = BPG_HOP_CONV, .out = &out, .nin = 1, .in = (struct bpg_columns *[]){ &in }, .conv = v,
		               .block = below(r, 2) ? 128 : 16 * (1 + below(r, 16)) };
	struct bpg_arg_gemm a = { .hop = &hop, .from = { .strips = strips, .wide = wide, .window = w[0] }, .to = { .strips = strips, .wide = wide, .window = w[1] } };
	int64_t icg = v.in_channels / v.groups, weights = (icg + BPG_GROUP - 1) / BPG_GROUP * v.kernel[0] * v.kernel[1] * v.out_channels * BPG_GROUP;
	int64_t from = bpg_columns_in(&out, &w[0]) * BPG_LANES, to = bpg_columns_in(&in, &w[1]) * BPG_LANES;
	float *W = host(r, weights, sizeof *W);
	void *A = host(r, strips * from, size_of(wide)), *C = host(r, strips * to, size_of(wide));
	struct bpg_conv_sums sums;

	fill(r, false, W, weights);
	fill(r, wide, A, strips * from);
	fill(r, wide, C, strips * to);
	if (!bpg_conv_sums_init(&sums, &v, &w[0], &w[1], hop.block))
		abort();
	struct bpg_cuda_product p = by_lists(r, &sums, &v, false);
	p.wide = wide, p.strips = strips, p.a_strip = from, p.c_strip = to;
	p.A = put(r, A, strips * from, size_of(wide)), p.W = put(r, W, weights, sizeof *W), p.C = put(r, C, strips * to, size_of(wide));
	bpg_task_gemm_conv(NULL, (void *[]){ W, A, C, NULL, NULL }, &a);
	started(r, "product", b->product(&p));
	compare(r, "convolution", wide, C, p.C, strips * to);
	return end(r);
}

/* Points forward through a convolution. */
static bool conv_forward(const struct gpu_backend *b, struct bpg_rng *rng, uint64_t *hash, char why[256])
{
	RUN(b, rng, hash, why);
	int strips = 1 + below(r, 9);
	struct bpg_window w[2];
	struct bpg_conv v = draw_conv(r, w);
	struct bpg_columns out = grid(r, v.out_channels, v.out_size[0], v.out_size[1]), in = grid(r, v.in_channels, v.in_size[0], v.in_size[1]);
	struct bpg_hop hop = { .out = &out, .nin = 1, .in = (struct bpg_columns *[]){ &in }, .conv = v };
	struct bpg_arg_forward a = { .hop = &hop, .from = { .strips = strips, .window = w[1] }, .to = { .strips = strips, .window = w[0] } };
	int64_t ocg = v.out_channels / v.groups, weights = (ocg + BPG_GROUP - 1) / BPG_GROUP * v.kernel[0] * v.kernel[1] * v.in_channels * BPG_GROUP;
	int64_t from = bpg_columns_in(&in, &w[1]) * BPG_LANES, to = bpg_columns_in(&out, &w[0]) * BPG_LANES;
	float *W = host(r, weights, sizeof *W), *A = host(r, strips * from, sizeof *A), *C = host(r, strips * to, sizeof *C);
	struct bpg_conv_sums sums;

	fill(r, false, W, weights);
	fill(r, false, A, strips * from);
	fill(r, false, C, strips * to);
	if (!bpg_conv_sums_forward(&sums, &v, &w[1], &w[0]))
		abort();
	struct bpg_cuda_product p = by_lists(r, &sums, &v, true);
	p.strips = strips, p.a_strip = from, p.c_strip = to;
	p.A = put(r, A, strips * from, sizeof *A), p.W = put(r, W, weights, sizeof *W), p.C = put(r, C, strips * to, sizeof *C);
	bpg_task_forward_conv(NULL, (void *[]){ W, A, C }, &a);
	started(r, "product", b->product(&p));
	compare(r, "convolution of points", false, C, p.C, strips * to);
	return end(r);
}

/* Points forward through a dense panel. */
static bool adjoint(const struct gpu_backend *b, struct bpg_rng *rng, uint64_t *hash, char why[256])
{
	RUN(b, rng, hash, why);
	int strips = 1 + below(r, 17);
	int64_t K = 1 + below(r, 600), N = 1 + below(r, 300), c0 = below(r, (int)N) / BPG_GROUP * BPG_GROUP, c1 = c0 + 1 + below(r, (int)(N - c0));
	int64_t groups = (c1 - c0 + BPG_GROUP - 1) / BPG_GROUP;
	struct bpg_columns out = list(r, K, 0), in = list(r, N, 0);
	struct bpg_hop hop = { .out = &out, .nin = 1, .in = (struct bpg_columns *[]){ &in } };
	struct bpg_arg_forward a = { .hop = &hop, .from = { .strips = strips }, .to = { .strips = strips }, .c0 = c0, .c1 = c1, .first = below(r, 2) };
	float *W = host(r, groups * K * BPG_GROUP, sizeof *W), *H = host(r, strips * N * BPG_LANES, sizeof *H), *Z = host(r, strips * K * BPG_LANES, sizeof *Z);

	fill(r, false, W, groups * K * BPG_GROUP);
	fill(r, false, H, strips * N * BPG_LANES);
	fill(r, false, Z, strips * K * BPG_LANES);
	float *dH = put(r, H, strips * N * BPG_LANES, sizeof *H), *dZ = put(r, Z, strips * K * BPG_LANES, sizeof *Z);
	struct bpg_cuda_adjoint p = { .accumulate = !a.first, .strips = strips, .columns = c1 - c0, .n = K, .H = dH + c0 * BPG_LANES,
		                      .W = put(r, W, groups * K * BPG_GROUP, sizeof *W), .Z = dZ, .h_strip = N * BPG_LANES, .w_group = K * BPG_GROUP,
		                      .z_strip = K * BPG_LANES };
	bpg_task_forward_dense(NULL, (void *[]){ W, H, Z }, &a);
	started(r, "adjoint", b->adjoint(&p));
	compare(r, "adjoint product", false, Z, dZ, strips * K * BPG_LANES);
	return end(r);
}

/* ---- rows: a tile over a window of a node, in segments ---- */

struct tile {
	struct bpg_columns k;
	struct bpg_view_tile view;
	int64_t columns, rows, places;
	int segments;
	int32_t *segment;
	void *data;
	double *state, *bounds, *planes; /* of all segments */
	int32_t *element;         /* of each column */
	struct bpg_cuda_spans at;
};

static struct bpg_window window(struct run *r, const struct bpg_columns *k)
{
	struct bpg_window w = { { 0, 0 }, { 0, 0 } };

	for (int a = 0; k->grid && a < 2; a++) {
		w.lo[a] = below(r, k->size[a]);
		w.up[a] = w.lo[a] + 1 + below(r, k->size[a] - w.lo[a]);
	}
	return w;
}

static void draw_tile(struct run *r, struct tile *t, int64_t most)
{
	*t = (struct tile){ .k = below(r, 2) ? list(r, 1 + below(r, (int)most), 0) : grid(r, 1 + below(r, below(r, 3) ? 4 : 200), 1 + below(r, 5), 1 + below(r, 5)) };
	struct bpg_columns *k = &t->k;
	t->view = (struct bpg_view_tile){ .strips = 1 + below(r, 17), .wide = below(r, 3) == 0, .window = window(r, k) };
	t->columns = bpg_columns_in(k, &t->view.window);
	t->places = bpg_columns_places(k);
	t->rows = (int64_t)t->view.strips * BPG_LANES;
	t->segments = 1 + below(r, 3);
	t->segment = host(r, t->view.strips, sizeof *t->segment);
	for (int s = 0; s < t->view.strips; s++)
		t->segment[s] = below(r, t->segments);
	t->view.segment = t->segment;
	t->data = host(r, t->rows * t->columns, size_of(t->view.wide));
	fill(r, t->view.wide, t->data, t->rows * t->columns);
	if (below(r, 8) == 0 && t->view.wide)
		((double *)t->data)[below(r, (int)(t->rows * t->columns))] = below(r, 2) ? NAN : INFINITY;
	else if (below(r, 8) == 0 && !t->view.wide)
		((float *)t->data)[below(r, (int)(t->rows * t->columns))] = below(r, 2) ? NAN : INFINITY;
	t->state = host(r, BPG_STATES * t->rows, sizeof *t->state);
	for (int64_t i = 0; i < BPG_STATES * t->rows; i++)
		t->state[i] = i / t->rows == BPG_P ? uniform(r, -2, 2) : uniform(r, 0, 1);
	t->bounds = host(r, t->segments * BPG_FIELDS * k->n, sizeof *t->bounds);
	for (int64_t i = 0; i < t->segments * BPG_FIELDS * k->n; i++)
		t->bounds[i] = i / k->n % BPG_FIELDS == BPG_CENTRE ? uniform(r, -2, 2) : below(r, 6) ? uniform(r, 0, 1) : 0;
	t->planes = host(r, t->segments * BPG_PLANE_FIELDS * t->places, sizeof *t->planes);
	for (int64_t i = 0; i < t->segments * BPG_PLANE_FIELDS * t->places; i++) {
		int64_t field = i / t->places % BPG_PLANE_FIELDS;
		t->planes[i] = field == BPG_LINE ? below(r, 3) : field <= BPG_SLOPE_UP ? (double)(float)uniform(r, -1, 1)
		               : field <= BPG_TIMES_OLD_UP ? uniform(r, -1, 1) : uniform(r, 0, 1e-3);
	}
	t->element = host(r, t->columns, sizeof *t->element);
	for (int64_t j = 0; j < t->columns; j++)
		t->element[j] = (int32_t)bpg_columns_element(k, bpg_columns_at(k, &t->view.window, j));
	const struct bpg_window *w = &t->view.window;
	t->at = !k->grid ? (struct bpg_cuda_spans){ k->count, 0, 0 }
	        : (struct bpg_cuda_spans){ (int64_t)(w->up[1] - w->lo[1]) * k->channels, ((int64_t)w->lo[0] * k->size[1] + w->lo[1]) * k->channels,
		                           (int64_t)k->size[1] * k->channels };
}

/* Another tile of the same shape. */
static void *like(struct run *r, const struct tile *t)
{
	void *x = host(r, t->rows * t->columns, size_of(t->view.wide));

	fill(r, t->view.wide, x, t->rows * t->columns);
	return x;
}

#define PUT_SEGMENTS(t) put(r, (t).segment, (t).view.strips, sizeof *(t).segment)
#define PUT_BOUNDS(t) put(r, (t).bounds, (t).segments * BPG_FIELDS * (t).k.n, sizeof *(t).bounds)
#define PUT_PLANES(t) put(r, (t).planes, (t).segments * BPG_PLANE_FIELDS * (t).places, sizeof *(t).planes)
#define PUT_TILE(t) put(r, (t).data, (t).rows * (t).columns, size_of((t).view.wide))
#define PUT_STATE(t) put(r, (t).state, BPG_STATES * (t).rows, sizeof *(t).state)
#define PUT_ELEMENTS(t) put(r, (t).element, (t).columns, sizeof *(t).element)

static struct bpg_cuda_relax relax_of(struct run *r, const struct tile *t, bool slack, double under)
{
	return (struct bpg_cuda_relax){ .wide = t->view.wide, .slack = slack, .strips = t->view.strips, .columns = t->columns, .at = t->at, .tile = PUT_TILE(*t),
		                        .state = PUT_STATE(*t), .segment = PUT_SEGMENTS(*t), .planes = PUT_PLANES(*t), .places = t->places, .under = under };
}

/* A relaxation; half of the time a second tile is added first. */
static bool relax(const struct gpu_backend *b, struct bpg_rng *rng, uint64_t *hash, char why[256])
{
	RUN(b, rng, hash, why);
	struct tile t;
	draw_tile(r, &t, 1500);
	struct bpg_hop hop = { .kind = BPG_HOP_UNARY, .out = &t.k };
	struct bpg_arg_relax a = { &hop, t.view, below(r, 2), 1e-9 };
	struct bpg_cuda_relax p = relax_of(r, &t, a.slack, a.under);

	if (below(r, 2)) {
		void *second = like(r, &t);
		struct bpg_cuda_relax join = p;
		join.at = (struct bpg_cuda_spans){ t.at.row, 0, t.at.row };
		join.second = put(r, second, t.rows * t.columns, size_of(t.view.wide));
		join.tile_columns = t.columns, join.bounds = PUT_BOUNDS(t), join.n = t.k.n, join.element = PUT_ELEMENTS(t);
		bpg_task_add_relax(NULL, (void *[]){ t.planes, t.data, t.state, t.bounds, second }, &a);
		started(r, "join", b->relax(&join));
	} else {
		bpg_task_relax(NULL, (void *[]){ t.planes, t.data, t.state }, &a);
	}
	started(r, "relaxation", b->relax(&p));
	compare(r, "relaxation, tile", t.view.wide, t.data, p.tile, t.rows * t.columns);
	compare(r, "relaxation, state", true, t.state, p.state, BPG_STATES * t.rows);
	return end(r);
}

/* Rows that are opposite beyond the first columns. */
static bool opposite(const struct gpu_backend *b, struct bpg_rng *rng, uint64_t *hash, char why[256])
{
	RUN(b, rng, hash, why);
	struct tile t;
	draw_tile(r, &t, 1500);
	while (t.k.grid)
		draw_tile(r, &t, 1500);
	struct bpg_hop hop = { .kind = BPG_HOP_UNARY, .out = &t.k };
	int apart = (t.view.strips + 1) / 2, pairs = t.view.strips / 2;
	struct bpg_arg_relax a = { &hop, t.view, below(r, 2), 1e-9 };
	struct bpg_cuda_relax p = relax_of(r, &t, a.slack, a.under);

	p.mixed = t.k.mixed = below(r, (int)t.columns + 1), p.pairs = pairs, p.apart = apart;
	for (int s = 0; s < pairs; s++)
		bpg_relax_opposite(&a, t.planes, t.data, s, s + apart, t.state);
	if (pairs)
		started(r, "relaxation", b->relax(&p));
	compare(r, "opposite rows, tile", t.view.wide, t.data, p.tile, t.rows * t.columns);
	compare(r, "opposite rows, state", true, t.state, p.state, BPG_STATES * t.rows);
	return end(r);
}

/* A slope for each row at some of the columns, then the optimiser's step with it. */
static bool choice(const struct gpu_backend *b, struct bpg_rng *rng, uint64_t *hash, char why[256])
{
	RUN(b, rng, hash, why);
	struct tile t;
	draw_tile(r, &t, 1200);
	t.view.segment = NULL; /* there are none with optimised slopes */
	struct bpg_hop hop = { .kind = BPG_HOP_UNARY, .out = &t.k };
	int32_t *column = host(r, t.columns, sizeof *column), *chosen = host(r, t.columns, sizeof *chosen);
	int64_t count = 0, one_in = 1 + below(r, 40);
	struct bpg_arg_alpha a = { .hop = &hop, .tile = t.view, .free = true, .slack = below(r, 2), .under = 1e-9, .keep = below(r, 4), .rate = 0.1, .bias1 = 10,
		                   .bias2 = 1000,
		                   .weighed = below(r, 2) };

	for (int64_t j = 0; j < t.columns; j++) {
		chosen[j] = -1;
		if (below(r, (int)one_in) == 0)
			chosen[j] = (int32_t)count, column[count++] = (int32_t)j;
	}
	a.at = (struct bpg_alpha_columns){ count, column, NULL };
	int64_t n = t.view.strips * count * BPG_LANES;
	float *alpha = host(r, n, sizeof *alpha), *kept = host(r, n, sizeof *kept), *moments = host(r, 2 * n, sizeof *moments);
	float *z = host(r, t.rows * t.columns, sizeof *z);
	for (int64_t i = 0; i < n; i++)
		alpha[i] = (float)uniform(r, 0, 1), kept[i] = value(r), moments[i] = (float)uniform(r, -1, 1), moments[n + i] = (float)uniform(r, 0, 1);
	fill(r, false, z, t.rows * t.columns);
	struct bpg_cuda_relax p = relax_of(r, &t, a.slack, a.under);
	float *d_kept = put(r, kept, n, sizeof *kept);
	p.segment = NULL, p.choices = count, p.choice = put(r, chosen, t.columns, sizeof *chosen), p.alpha = put(r, alpha, n, sizeof *alpha);
	p.kept = a.keep ? d_kept : NULL;
	for (int64_t i = 0; i < t.k.n; i++) /* most are on both sides of 0 */
		t.bounds[BPG_LOWER * t.k.n + i] = uniform(r, -1, 0.2);
	p.bounds = PUT_BOUNDS(t), p.n = t.k.n, p.element = PUT_ELEMENTS(t);
	if (a.keep)
		bpg_task_relax_alpha(NULL, (void *[]){ t.planes, t.data, t.state, alpha, kept, t.bounds, NULL }, &a);
	else
		bpg_task_relax_alpha(NULL, (void *[]){ t.planes, t.data, t.state, alpha, t.bounds, NULL }, &a);
	started(r, "relaxation", b->relax(&p));
	compare(r, "chosen slopes, tile", t.view.wide, t.data, p.tile, t.rows * t.columns);
	compare(r, "chosen slopes, state", true, t.state, p.state, BPG_STATES * t.rows);
	compare(r, "chosen slopes, kept", false, kept, d_kept, n);

	float *weight = host(r, t.rows, sizeof *weight);
	for (int64_t i = 0; i < t.rows; i++)
		weight[i] = (float)uniform(r, -1, 1);
	struct bpg_cuda_step s = { .strips = t.view.strips, .columns = t.columns, .choices = count, .places = t.places, .at = t.at, .choice = p.choice,
		                   .planes = p.planes, .bounds = p.bounds, .n = p.n, .element = p.element,
		                   .weight = a.weighed ? put(r, weight, t.rows, sizeof *weight) : NULL, .z = put(r, z, t.rows * t.columns, sizeof *z),
		                   .kept = d_kept, .alpha = put(r, alpha, n, sizeof *alpha), .moments = put(r, moments, 2 * n, sizeof *moments),
		                   .rate = (float)a.rate, .bias1 = (float)a.bias1, .bias2 = (float)a.bias2 };
	bpg_task_alpha_step(NULL, (void *[]){ t.planes, t.bounds, z, kept, alpha, moments, weight }, &a);
	started(r, "step", b->step(&s));
	compare(r, "step, point", false, z, s.z, t.rows * t.columns);
	compare(r, "step, slopes", false, alpha, s.alpha, n);
	compare(r, "step, moments", false, moments, s.moments, 2 * n);
	return end(r);
}

/* Tolls, the region, its corners. */
static bool sums(const struct gpu_backend *b, struct bpg_rng *rng, uint64_t *hash, char why[256])
{
	RUN(b, rng, hash, why);
	struct tile t;
	draw_tile(r, &t, 1500);
	struct bpg_hop hop = { .kind = BPG_HOP_DENSE, .out = &t.k, .gamma32 = below(r, 2) ? 1e-5 : 0, .gamma64 = 1e-9 };
	struct bpg_arg_relax toll = { &hop, t.view, true, 1e-10 };
	struct bpg_arg_concretize region = { .hop = &hop, .tile = t.view, .norm = below(r, 3) };
	struct bpg_cuda_sums p = { .kind = BPG_SUM_TOLL, .wide = t.view.wide, .slack = true, .strips = t.view.strips, .columns = t.columns, .tile = PUT_TILE(t),
		                   .state = PUT_STATE(t), .segment = PUT_SEGMENTS(t), .element = PUT_ELEMENTS(t), .bounds = PUT_BOUNDS(t), .n = t.k.n,
		                   .gamma = t.view.wide ? hop.gamma64 : hop.gamma32, .under = toll.under };

	bpg_task_toll(NULL, (void *[]){ t.bounds, t.data, t.state }, &toll);
	started(r, "toll", b->sums(&p));
	compare(r, "toll", true, t.state, p.state, BPG_STATES * t.rows);
	bpg_task_concretize(NULL, (void *[]){ t.bounds, t.data, t.state }, &region);
	p.kind = BPG_SUM_REGION, p.norm = region.norm;
	started(r, "region", b->sums(&p));
	compare(r, "region", true, t.state, p.state, BPG_STATES * t.rows);

	struct bpg_arg_corner c = { .hop = &hop, .tile = t.view, .norm = region.norm, .radius = uniform(r, 0, 2) };
	float *z = host(r, t.rows * t.columns, sizeof *z);
	double *radius = host(r, t.columns, sizeof *radius);
	for (int64_t j = 0; j < t.columns; j++)
		radius[j] = t.bounds[BPG_RADIUS * t.k.n + t.element[j]];
	struct bpg_cuda_corner q = { .wide = t.view.wide, .norm = c.norm, .strips = t.view.strips, .columns = t.columns, .size = c.radius, .tile = p.tile,
		                     .state = p.state, .radius = put(r, radius, t.columns, sizeof *radius), .z = put(r, z, t.rows * t.columns, sizeof *z) };
	bpg_task_corner(NULL, (void *[]){ t.bounds, t.data, t.state, z }, &c);
	started(r, "corner", b->corner(&q));
	compare(r, "corner", false, z, q.z, t.rows * t.columns);
	return end(r);
}

/* A tile of a window inside that of another: copied, then added. */
static bool join(const struct gpu_backend *b, struct bpg_rng *rng, uint64_t *hash, char why[256])
{
	RUN(b, rng, hash, why);
	struct tile t;
	draw_tile(r, &t, 1500);
	struct bpg_window w = t.view.window;
	for (int x = 0; t.k.grid && x < 2; x++) {
		w.lo[x] -= below(r, w.lo[x] + 1);
		w.up[x] += below(r, t.k.size[x] - w.up[x] + 1);
	}
	struct bpg_hop hop = { .out = &t.k };
	struct bpg_view_tile view = t.view;
	view.window = w;
	struct bpg_arg_add a = { &hop, t.view, view, below(r, 2) };
	int64_t columns = bpg_columns_in(&t.k, &w), n = t.rows * columns;
	void *to = host(r, n, size_of(t.view.wide));
	struct bpg_cuda_copy p = { .wide = t.view.wide, .strips = t.view.strips, .channels = t.k.grid ? t.k.channels : t.columns, .from_up = { 1, 1 }, .to_up = { 1, 1 },
		                   .from = PUT_TILE(t), .to = put(r, to, n, size_of(t.view.wide)), .from_strip = t.columns * BPG_LANES,
		                   .to_strip = columns * BPG_LANES };
	for (int x = 0; t.k.grid && x < 2; x++)
		p.from_lo[x] = t.view.window.lo[x], p.from_up[x] = t.view.window.up[x], p.to_lo[x] = w.lo[x], p.to_up[x] = w.up[x];

	bpg_task_copy(NULL, (void *[]){ t.data, to }, &a);
	started(r, "copy", b->copy(&p));
	compare(r, "copy", t.view.wide, to, p.to, n);
	struct bpg_cuda_relax q = relax_of(r, &t, a.slack, 0);
	q.second = p.from, q.tile = p.to, q.tile_columns = columns, q.bounds = PUT_BOUNDS(t), q.n = t.k.n, q.element = PUT_ELEMENTS(t);
	q.at = !t.k.grid ? (struct bpg_cuda_spans){ t.columns, 0, 0 }
	       : (struct bpg_cuda_spans){ t.at.row, ((int64_t)(t.view.window.lo[0] - w.lo[0]) * (w.up[1] - w.lo[1]) + t.view.window.lo[1] - w.lo[1]) * t.k.channels,
		                          (int64_t)(w.up[1] - w.lo[1]) * t.k.channels };
	bpg_task_add(NULL, (void *[]){ t.bounds, t.data, to, t.state }, &a);
	started(r, "join", b->relax(&q));
	compare(r, "join, tile", t.view.wide, to, q.tile, n);
	compare(r, "join, state", true, t.state, q.state, BPG_STATES * t.rows);
	return end(r);
}

/* ---- sparse maps and planes ---- */

static struct bpg_sparse *sparse(struct run *r, int64_t rows, int64_t ins, bool bias)
{
	struct bpg_sparse *s = host(r, 1, sizeof *s);

	s->rows = rows;
	s->first = host(r, rows + 1, sizeof *s->first);
	s->operand = host(r, rows * 3, sizeof *s->operand);
	s->index = host(r, rows * 3, sizeof *s->index);
	s->coef = host(r, rows * 3, sizeof *s->coef);
	s->bias = bias ? host(r, rows, sizeof *s->bias) : NULL;
	s->most_fan = (int32_t)rows * 3;
	for (int64_t i = 0; i < rows; i++) {
		for (int n = below(r, 4); n > 0; n--, s->nonzeros++) {
			s->operand[s->nonzeros] = below(r, 2);
			s->index[s->nonzeros] = below(r, (int)ins);
			s->coef[s->nonzeros] = (float)uniform(r, -1, 1);
		}
		s->first[i + 1] = s->nonzeros;
		if (bias)
			s->bias[i] = uniform(r, -1, 1);
	}
	return s;
}

/* Other planes, up to two for each element. */
static struct bpg_sparse *others(struct run *r, int64_t elements, int64_t ins)
{
	int64_t *of = host(r, elements + 1, sizeof *of);

	for (int64_t i = 0; i < elements; i++)
		of[i + 1] = of[i] + below(r, 3);
	struct bpg_sparse *s = sparse(r, of[elements], ins, true);
	s->of = of;
	return s;
}

static struct bpg_columns target(struct run *r, struct bpg_window *w)
{
	struct bpg_columns k = below(r, 2) ? list(r, 1 + below(r, 60), 0) : grid(r, 1 + below(r, 4), 1 + below(r, 4), 1 + below(r, 4));

	*w = window(r, &k);
	return k;
}

static bool map(const struct gpu_backend *b, struct bpg_rng *rng, uint64_t *hash, char why[256])
{
	RUN(b, rng, hash, why);
	struct tile t;
	struct bpg_view_tile to;
	draw_tile(r, &t, 300);
	to = t.view;
	struct bpg_columns in = target(r, &to.window);
	struct bpg_hop hop = { .kind = BPG_HOP_TERMS, .out = &t.k, .nin = 2, .in = (struct bpg_columns *[]){ &in, &in }, .operand = (int[]){ 0, 1 },
		               .terms = sparse(r, t.k.n, in.n, false) };
	struct bpg_arg_map a = { &hop, 1, t.view, to };
	int64_t columns = bpg_columns_in(&in, &to.window);
	void *y = host(r, t.rows * columns, size_of(t.view.wide));
	struct bpg_gather_terms g;

	if (!bpg_gather_terms_map(&g, &a))
		abort();
	struct bpg_cuda_map p = { .wide = t.view.wide, .strips = t.view.strips, .from_columns = t.columns, .to_columns = columns, .from = PUT_TILE(t),
		                  .to = put(r, y, t.rows * columns, size_of(t.view.wide)), .first = put(r, g.first, columns + 1, sizeof *g.first),
		                  .term = put(r, g.term, g.first[columns], sizeof *g.term) };
	bpg_gather_terms_fini(&g);
	bpg_task_map(NULL, (void *[]){ t.data, y }, &a);
	started(r, "map", b->map(&p));
	compare(r, "map", t.view.wide, y, p.to, t.rows * columns);
	return end(r);
}

/* Points forward through a map: lists of the output's own terms. */
static bool forward_map(const struct gpu_backend *b, struct bpg_rng *rng, uint64_t *hash, char why[256])
{
	RUN(b, rng, hash, why);
	int strips = 1 + below(r, 17);
	struct bpg_window w[2];
	struct bpg_columns out = target(r, &w[0]), in = target(r, &w[1]);
	struct bpg_hop hop = { .out = &out, .nin = 2, .in = (struct bpg_columns *[]){ &in, &in }, .operand = (int[]){ 0, 1 }, .terms = sparse(r, out.n, in.n, false) };
	struct bpg_arg_forward a = { .hop = &hop, .k = 0, .from = { .strips = strips, .window = w[1] }, .to = { .strips = strips, .window = w[0] }, .first = below(r, 2) };
	int64_t oc = bpg_columns_in(&out, &w[0]), ic = bpg_columns_in(&in, &w[1]), *first = host(r, oc + 1, sizeof *first);
	struct bpg_plane_term *term = host(r, hop.terms->nonzeros, sizeof *term);
	float *x = host(r, strips * ic * BPG_LANES, sizeof *x), *z = host(r, strips * oc * BPG_LANES, sizeof *z);

	for (int64_t c = 0; c < oc; c++) {
		int64_t i = bpg_columns_element(&out, bpg_columns_at(&out, &w[0], c));
		first[c + 1] = first[c];
		for (int64_t t = hop.terms->first[i]; t < hop.terms->first[i + 1]; t++) {
			int64_t j = hop.terms->operand[t] == 0 ? bpg_columns_column(&in, &w[1], bpg_columns_place(&in, hop.terms->index[t])) : -1;
			if (j >= 0)
				term[first[c + 1]++] = (struct bpg_plane_term){ (int32_t)j, hop.terms->coef[t], 0 };
		}
	}
	fill(r, false, x, strips * ic * BPG_LANES);
	fill(r, false, z, strips * oc * BPG_LANES);
	struct bpg_cuda_map p = { .accumulate = !a.first, .strips = strips, .from_columns = ic, .to_columns = oc, .from = put(r, x, strips * ic * BPG_LANES, sizeof *x),
		                  .to = put(r, z, strips * oc * BPG_LANES, sizeof *z), .first = put(r, first, oc + 1, sizeof *first),
		                  .term = put(r, term, first[oc], sizeof *term) };
	bpg_task_forward_map(NULL, (void *[]){ x, z }, &a);
	started(r, "map", b->map(&p));
	compare(r, "map of points", false, z, p.to, strips * oc * BPG_LANES);
	return end(r);
}

/* Sparse planes of several segments, or of one with weights for other planes. */
static bool planes(const struct gpu_backend *b, struct bpg_rng *rng, uint64_t *hash, char why[256])
{
	RUN(b, rng, hash, why);
	struct tile t;
	struct bpg_view_tile view;
	draw_tile(r, &t, 300);
	bool chosen = below(r, 2);
	if (chosen)
		t.segments = 1, memset(t.segment, 0, (size_t)t.view.strips * sizeof *t.segment);
	view = t.view;
	struct bpg_columns in = target(r, &view.window);
	struct bpg_hop hop = { .kind = BPG_HOP_PLANES, .out = &t.k, .nin = 2, .in = (struct bpg_columns *[]){ &in, &in }, .operand = (int[]){ 1, 0 },
		               .lower = sparse(r, t.segments * t.k.n, in.n, true), .upper = sparse(r, t.segments * t.k.n, in.n, true), .under = 1e-12 };
	if (chosen)
		hop.other[0] = others(r, t.k.n, in.n), hop.other[1] = others(r, t.k.n, in.n);
	struct bpg_arg_map_planes a = { { &hop, 0, t.view, view }, below(r, 2), chosen };
	int64_t columns = bpg_columns_in(&in, &view.window), more = chosen ? bpg_others_in(&hop, &t.view.window) : 0, all = t.columns + more;
	double *field[2];
	for (int k = 0; k < 2; k++) {
		field[k] = host(r, t.segments * BPG_FIELDS * in.n, sizeof *field[k]);
		for (int64_t i = 0; i < t.segments * BPG_FIELDS * in.n; i++)
			field[k][i] = uniform(r, 0, 1);
	}
	void *y = host(r, t.rows * columns, size_of(t.view.wide)), *dealt = host(r, t.rows * all, size_of(t.view.wide));
	float *weight = host(r, t.rows * more, sizeof *weight);
	double *lost = host(r, t.rows * t.columns, sizeof *lost);
	for (int64_t i = 0; i < t.rows * more; i++)
		weight[i] = below(r, 4) ? (float)uniform(r, 0, 0.5) : 0.5f * (float)below(r, 2);
	void *buffer[] = { t.bounds, field[0], field[1], t.data, t.state, y, weight };

	/* What a device gets: the planes' values by segment, terms by target column, where the parts of a column are. */
	struct bpg_plane_at *plane = host(r, t.segments * all, sizeof *plane);
	int64_t *first = host(r, t.segments * (columns + 1), sizeof *first), terms = 0;
	int32_t *other = host(r, t.columns + 1, sizeof *other), *under = host(r, t.columns, sizeof *under);
	struct bpg_plane_term *term = NULL;
	for (int g = 0; g < t.segments; g++) {
		struct bpg_plane_columns c = { 0 };
		struct bpg_gather_terms turned;
		if (!bpg_plane_columns_set(&c, &a, buffer, g) || !bpg_gather_terms_turn(&turned, all, c.first, c.term, columns))
			abort();
		memcpy(plane + g * all, c.plane, (size_t)all * sizeof *plane);
		term = realloc(term, (size_t)(terms + turned.first[columns] + 1) * sizeof *term);
		memcpy(term + terms, turned.term, (size_t)turned.first[columns] * sizeof *term);
		for (int64_t j = 0; j <= columns; j++)
			first[g * (columns + 1) + j] = terms + turned.first[j];
		terms += turned.first[columns];
		bpg_gather_terms_fini(&turned);
		bpg_plane_columns_free(&c);
	}
	for (int64_t j = 0; j < t.columns; j++) {
		under[j] = bpg_others_of(&hop, 0, t.element[j]);
		other[j + 1] = other[j] + under[j] + bpg_others_of(&hop, 1, t.element[j]);
	}
	void *x = PUT_TILE(t);
	double *d_lost = put(r, lost, t.rows * t.columns, sizeof *lost);
	if (more) {
		struct bpg_cuda_deal d = { .wide = t.view.wide, .strips = t.view.strips, .columns = t.columns, .others = more, .from = x,
			                   .weight = put(r, weight, t.rows * more, sizeof *weight), .to = put(r, dealt, t.rows * all, size_of(t.view.wide)),
			                   .lost = d_lost, .other = put(r, other, t.columns + 1, sizeof *other),
			                   .below = put(r, under, t.columns, sizeof *under) };
		started(r, "weights of planes", b->deal(&d));
		x = d.to;
	}
	struct bpg_cuda_map p = { .wide = t.view.wide, .two = true, .strips = t.view.strips, .from_columns = all, .to_columns = columns, .from = x,
		                  .to = put(r, y, t.rows * columns, size_of(t.view.wide)), .segment = PUT_SEGMENTS(t),
		                  .first = put(r, first, t.segments * (columns + 1), sizeof *first), .term = put(r, term, terms, sizeof *term) };
	struct bpg_cuda_sums s = { .kind = BPG_SUM_PLANES, .wide = t.view.wide, .slack = a.slack, .strips = t.view.strips, .columns = all, .tile = x,
		                   .state = PUT_STATE(t), .segment = p.segment, .element = PUT_ELEMENTS(t), .bounds = PUT_BOUNDS(t), .n = t.k.n, .under = hop.under,
		                   .plane = put(r, plane, t.segments * all, sizeof *plane), .lost_columns = t.columns, .lost = more ? d_lost : NULL };
	free(term);
	bpg_task_map_planes(NULL, buffer, &a);
	started(r, "planes", b->map(&p));
	started(r, "planes", b->sums(&s));
	compare(r, "planes, tile", t.view.wide, y, p.to, t.rows * columns);
	compare(r, "planes, state", true, t.state, s.state, BPG_STATES * t.rows);
	return end(r);
}

/* ---- starts ---- */

/* Unit rows of some elements of a node; one that is no column is its reference value. */
static bool unit_rows(const struct gpu_backend *b, struct bpg_rng *rng, uint64_t *hash, char why[256])
{
	RUN(b, rng, hash, why);
	struct tile t;
	draw_tile(r, &t, 300);
	struct bpg_hop hop = { .out = &t.k };
	int sides = 1 + below(r, 3), half = t.view.strips / 2;
	if (sides == 3 && half == 0)
		sides = 1;
	int count = 1 + below(r, (sides == 3 ? half : t.view.strips) * BPG_LANES);
	int64_t *element = host(r, count, sizeof *element), *column = host(r, count, sizeof *column);
	struct bpg_arg_start a = { .hop = &hop, .element = element, .count = count, .sides = sides, .minus = sides == 3 ? half * BPG_LANES : 0, .tile = t.view };

	for (int i = 0; i < count; i++) {
		column[i] = below(r, (int)t.columns);
		element[i] = t.element[column[i]];
		if (!t.k.grid && below(r, 8) == 0)
			t.k.slot[element[i]] = -1;
	}
	for (int i = 0; i < count; i++)
		column[i] = bpg_columns_column(&t.k, &t.view.window, bpg_columns_place(&t.k, element[i]));
	struct bpg_cuda_start p = { .wide = t.view.wide, .strips = t.view.strips, .columns = t.columns, .count = count, .sides = sides, .minus = a.minus, .c1 = t.columns,
		                    .upper_columns = t.columns, .element = put(r, element, count, sizeof *element), .column = put(r, column, count, sizeof *column),
		                    .tile = PUT_TILE(t), .state = PUT_STATE(t), .segment = PUT_SEGMENTS(t), .bounds = PUT_BOUNDS(t), .n = t.k.n };
	bpg_task_start_unit(NULL, (void *[]){ t.bounds, t.data, t.state }, &a);
	started(r, "start", b->start(&p));
	compare(r, "unit rows, tile", t.view.wide, t.data, p.tile, t.rows * t.columns);
	compare(r, "unit rows, state", true, t.state, p.state, BPG_STATES * t.rows);
	return end(r);
}

/* Rows of a matrix, from two panels as the products read them. */
static bool matrix_rows(const struct gpu_backend *b, struct bpg_rng *rng, uint64_t *hash, char why[256])
{
	RUN(b, rng, hash, why);
	int64_t K = 1 + below(r, 200), N = 1 + below(r, 200), cut[3] = { 0, (1 + below(r, (int)N)) / BPG_GROUP * BPG_GROUP, N };
	int sides = 1 + below(r, 3), count = 1 + below(r, (int)K), strips = (count + BPG_LANES - 1) / BPG_LANES * (sides == 3 ? 2 : 1);
	bool wide = below(r, 3) == 0;
	int64_t rows = strips * BPG_LANES;
	struct bpg_columns out = list(r, K, 0), in = list(r, N, below(r, (int)N + 1));
	float *weight = host(r, K * N, sizeof *weight);
	struct bpg_const held = { .type = BPG_F32, .n = K * N, .mem = weight };
	struct bpg_hop hop = { .kind = BPG_HOP_DENSE, .out = &out, .nin = 1, .in = (struct bpg_columns *[]){ &in },
		               .dense = { .weight = &held, .outs = K, .ins = N, .stride_out = N, .stride_in = 1, .scale = below(r, 2) ? 1 : 0.3 } };
	int64_t *element = host(r, count, sizeof *element);
	double *bounds = host(r, BPG_FIELDS * K, sizeof *bounds), *state = host(r, BPG_STATES * rows, sizeof *state);
	void *tile = host(r, rows * N, size_of(wide));
	struct bpg_arg_start a = { .hop = &hop, .element = element, .count = count, .sides = sides, .minus = sides == 3 ? (int)(rows / 2) : 0,
		                   .tile = { .strips = strips, .wide = wide }, .slack = below(r, 2) };

	fill(r, false, weight, K * N);
	fill(r, wide, tile, rows * N);
	for (int i = 0; i < count; i++)
		element[i] = below(r, (int)K);
	for (int64_t i = 0; i < BPG_FIELDS * K; i++)
		bounds[i] = uniform(r, -1, 1);
	struct bpg_cuda_start p = { .wide = wide, .slack = a.slack, .strips = strips, .columns = N, .count = count, .sides = sides, .minus = a.minus,
		                    .upper_columns = N, .element = put(r, element, count, sizeof *element), .w_group = K * BPG_GROUP,
		                    .tile = put(r, tile, rows * N, size_of(wide)), .state = put(r, state, BPG_STATES * rows, sizeof *state),
		                    .bounds = put(r, bounds, BPG_FIELDS * K, sizeof *bounds), .n = K };
	double *d_state = p.state;
	p.column = p.element; /* every output is a summed column, in order */
	bpg_task_start_dense(NULL, (void *[]){ bounds, tile, state }, &a);
	for (int c = 0; c < 2; c++) {
		struct bpg_arg_pack pack = { &hop, cut[c], cut[c + 1], (cut[c + 1] - cut[c] + BPG_GROUP - 1) / BPG_GROUP * BPG_GROUP };
		float *panel = host(r, pack.width * K, sizeof *panel);
		if (cut[c] == cut[c + 1])
			continue;
		bpg_task_pack_dense(NULL, (void *[]){ panel }, &pack);
		p.c0 = cut[c], p.c1 = cut[c + 1], p.W = put(r, panel, pack.width * K, sizeof *panel);
		started(r, "start", b->start(&p));
		p.state = NULL;
	}
	compare(r, "rows of a matrix, tile", wide, tile, p.tile, rows * N);
	compare(r, "rows of a matrix, state", true, state, d_state, BPG_STATES * rows);
	return end(r);
}

const struct gpu_case gpu_cases[] = {
	{ "dense product", dense },
	{ "convolution", conv },
	{ "convolution of points", conv_forward },
	{ "adjoint product", adjoint },
	{ "relaxation", relax },
	{ "opposite rows", opposite },
	{ "chosen slopes, step", choice },
	{ "tolls, region, corners", sums },
	{ "copy, join", join },
	{ "map", map },
	{ "map of points", forward_map },
	{ "planes", planes },
	{ "unit rows", unit_rows },
	{ "rows of a matrix", matrix_rows },
};
const int gpu_case_count = (int)BPG_LEN(gpu_cases);
