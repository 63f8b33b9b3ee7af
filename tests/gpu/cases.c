/* cases.c - see cases.h. */
#include "cases.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codelets/conv_sums.h"
#include "codelets/tasks.h"

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

/* Equal bits; NaN is NaN, zero is zero. */
static void compare(struct run *r, const char *what, bool wide, const void *must, const void *device, int64_t n)
{
	size_t size = wide ? sizeof(double) : sizeof(float);
	void *got = host(r, n, size);

	r->b->get(got, device, (size_t)n * size);
	*r->hash = bpg_hash(*r->hash, got, (size_t)n * size);
	for (int64_t i = 0; r->ok && i < n; i++) {
		double x = element(wide, got, i), y = element(wide, must, i);
		if (x == y || (isnan(x) && isnan(y)))
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
	bpg_task_gemm_dense(NULL, (void *[]){ W, A, C }, &a);
	if (pair && mixed < K) {
		p.strips = pair, p.k0 = mixed, p.k1 = K;
		started(r, "product", b->product(&p));
		for (int s = 0; s < pair; s++) { /* for now on the host */
			int64_t n = (c1 - c0) * BPG_LANES;
			char *x = host(r, n, size_of(wide)), *y = (char *)p.C + s * to * (int64_t)size_of(wide);
			b->get(x, y, (size_t)n * size_of(wide));
			for (int64_t i = 0; i < n; i++)
				if (wide)
					((double *)(void *)x)[i] *= -1;
				else
					((float *)(void *)x)[i] *= -1;
			(void)y;
		}
		p.accumulate = true;
	}
	if (!pair) {
		p.strips = strips, p.k0 = 0, p.k1 = K;
		started(r, "product", b->product(&p));
		compare(r, "dense product", wide, C, dC, strips * to);
	}
	return end(r);
}

/* A convolution's window of input positions from a window of outputs. */
static bool conv(const struct gpu_backend *b, struct bpg_rng *rng, uint64_t *hash, char why[256])
{
	RUN(b, rng, hash, why);
	bool wide = below(r, 4) == 0;
	int strips = 1 + below(r, 9);
	int64_t groups = 1 + below(r, 3), icg = 1 + below(r, 12), ocg = 1 + below(r, below(r, 4) ? 20 : 300), block = below(r, 2) ? 128 : 16 * (1 + below(r, 16));
	struct bpg_conv v = { .in_channels = groups * icg, .out_channels = groups * ocg, .groups = groups };
	struct bpg_arg_gemm a = { .from = { .strips = strips, .wide = wide }, .to = { .strips = strips, .wide = wide } };

	for (int x = 0; x < 2; x++) {
		v.in_size[x] = 1 + below(r, 7), v.kernel[x] = 1 + below(r, 4), v.stride[x] = 1 + below(r, 3), v.pad[x] = below(r, 3), v.dilation[x] = 1 + below(r, 2);
		int64_t span = v.in_size[x] + 2 * v.pad[x] - (v.kernel[x] - 1) * v.dilation[x] - 1;
		if (span < 0)
			v.kernel[x] = 1, span = v.in_size[x] + 2 * v.pad[x] - 1;
		v.out_size[x] = span / v.stride[x] + 1;
		a.from.window.lo[x] = below(r, (int)v.out_size[x]);
		a.from.window.up[x] = a.from.window.lo[x] + 1 + below(r, (int)v.out_size[x] - a.from.window.lo[x]);
		a.to.window.lo[x] = below(r, (int)v.in_size[x]);
		a.to.window.up[x] = a.to.window.lo[x] + 1 + below(r, (int)v.in_size[x] - a.to.window.lo[x]);
	}
	struct bpg_columns out = grid(r, v.out_channels, v.out_size[0], v.out_size[1]), in = grid(r, v.in_channels, v.in_size[0], v.in_size[1]);
	struct bpg_hop hop = { .kind = BPG_HOP_CONV, .out = &out, .nin = 1, .in = (struct bpg_columns *[]){ &in }, .conv = v, .block = (int)block };
	int64_t taps = v.kernel[0] * v.kernel[1], groups8 = (icg + BPG_GROUP - 1) / BPG_GROUP, weights = groups * groups8 * taps * ocg * BPG_GROUP;
	int64_t from = bpg_columns_in(&out, &a.from.window) * BPG_LANES, to = bpg_columns_in(&in, &a.to.window) * BPG_LANES;
	float *W = host(r, weights, sizeof *W);
	void *A = host(r, strips * from, size_of(wide)), *C = host(r, strips * to, size_of(wide));
	struct bpg_conv_sums sums;

	a.hop = &hop;
	fill(r, false, W, weights);
	fill(r, wide, A, strips * from);
	fill(r, wide, C, strips * to);
	if (!bpg_conv_sums_init(&sums, &v, &a.from.window, &a.to.window, block))
		abort();
	void *dC = put(r, C, strips * to, size_of(wide));
	struct bpg_cuda_product p = { .wide = wide, .shape = below(r, 4), .strips = strips, .columns = icg, .A = put(r, A, strips * from, size_of(wide)),
		                      .W = put(r, W, weights, sizeof *W), .C = dC, .a_strip = from, .w_group = taps * ocg * BPG_GROUP, .c_strip = to,
		                      .cells = sums.positions, .sets = groups, .a_set = ocg, .w_set = groups8 * taps * ocg * BPG_GROUP, .c_set = icg,
		                      .c_cell = v.in_channels, .first = put(r, sums.first, sums.positions + 1, sizeof *sums.first),
		                      .end = put(r, sums.end, sums.blocks, sizeof *sums.end), .run = put(r, sums.run, sums.runs, sizeof *sums.run) };
	bpg_conv_sums_fini(&sums);
	bpg_task_gemm_conv(NULL, (void *[]){ W, A, C, NULL, NULL }, &a);
	started(r, "product", b->product(&p));
	compare(r, "convolution", wide, C, dC, strips * to);
	return end(r);
}

const struct gpu_case gpu_cases[] = {
	{ "dense product", dense },
	{ "convolution", conv },
};
const int gpu_case_count = (int)BPG_LEN(gpu_cases);
