/* products.c - products of tiles with packed weights: dense, over windows of convolutions, and forward. */
#include "case.h"

#include <stdlib.h>

#include "codelets/conv_sums.h"
#include "codelets/task_alpha.h"

/* A dense hop: the panel of columns c0 .. c1-1, also for pairs of opposite rows. */
CASE(gpu_dense)
{
	RUN();
	bool wide = below(r, 4) == 0;
	int strips = 1 + below(r, 17), pair = strips % 2 == 0 && below(r, 2) ? strips / 2 : 0;
	int64_t K = 1 + below(r, 600), N = 1 + below(r, 300), mixed = below(r, (int)K + 1), block = 16 * (1 + below(r, 16));
	int64_t c0 = below(r, (int)N) / BPG_GROUP * BPG_GROUP, c1 = c0 + 1 + below(r, (int)(N - c0));
	int64_t groups = (c1 - c0 + BPG_GROUP - 1) / BPG_GROUP, from = K * BPG_LANES, to = N * BPG_LANES;
	struct bpg_columns out = list(r, K, mixed), in = list(r, N, 0);
	struct bpg_hop hop = {
		.kind = BPG_HOP_DENSE, .out = &out, .nin = 1, .in = (struct bpg_columns *[]){ &in }, .block = (int)block
	};
	struct bpg_arg_gemm a = { .hop = &hop,
		                  .c0 = c0,
		                  .c1 = c1,
		                  .from = { .strips = strips, .wide = wide },
		                  .to = { .strips = strips, .wide = wide },
		                  .pair = pair };
	float *W = host(r, groups * K * BPG_GROUP, sizeof *W);
	void *A = host(r, strips * from, size_of(wide)), *C = host(r, strips * to, size_of(wide));

	fill(r, false, W, groups * K * BPG_GROUP);
	fill(r, wide, A, strips * from);
	fill(r, wide, C, strips * to);
	char *dC = put(r, C, strips * to, size_of(wide));
	struct bpg_cuda_product p = { .wide = wide,
		                      .shape = below(r, 4),
		                      .columns = c1 - c0,
		                      .A = put(r, A, strips * from, size_of(wide)),
		                      .W = put(r, W, groups * K * BPG_GROUP, sizeof *W),
		                      .C = dC + c0 * BPG_LANES * (int64_t)size_of(wide),
		                      .a_strip = from,
		                      .w_group = K * BPG_GROUP,
		                      .c_strip = to,
		                      .block = block,
		                      .cells = 1,
		                      .sets = 1 };
	if (below(r, 2)) /* blocks side by side */
		p.space = put(r, host(r, (K + block - 1) / block * strips * to, size_of(wide)),
		              (K + block - 1) / block * strips * to, size_of(wide));
	bpg_task_gemm_dense(NULL, (void *[]){ W, A, C }, &a);
	if (pair && mixed < K) { /* one product for rows that are opposite, then the columns that are not */
		p.strips = pair, p.k0 = mixed, p.k1 = K;
		started(r, "product", b->product(&p, NULL));
		struct bpg_cuda_copy minus = { .wide = wide,
			                       .negative = true,
			                       .strips = pair,
			                       .channels = c1 - c0,
			                       .from_up = { 1, 1 },
			                       .to_up = { 1, 1 },
			                       .from = p.C,
			                       .to = (char *)p.C + pair * to * (int64_t)size_of(wide),
			                       .from_strip = to,
			                       .to_strip = to };
		started(r, "copy", b->copy(&minus, NULL));
		p.accumulate = true;
	}
	if (!p.accumulate || mixed > 0) {
		p.strips = strips, p.k0 = 0, p.k1 = pair ? mixed : K;
		started(r, "product", b->product(&p, NULL));
	}
	compare(r, "dense product", wide, C, dC, strips * to);
	return case_end(r);
}

/* A convolution at random: windows of its output [0] and of its input [1]. */
static struct bpg_conv draw_conv(struct run *r, struct bpg_window w[2])
{
	int64_t groups = 1 + below(r, 3), icg = 1 + below(r, 12), ocg = 1 + below(r, below(r, 4) ? 20 : 300);
	struct bpg_conv v = { .in_channels = groups * icg, .out_channels = groups * ocg, .groups = groups };

	for (int x = 0; x < 2; x++) {
		v.in_size[x] = 1 + below(r, 7), v.kernel[x] = 1 + below(r, 4), v.stride[x] = 1 + below(r, 3),
		v.pad[x] = below(r, 3), v.dilation[x] = 1 + below(r, 2);
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
	struct bpg_cuda_product p = { .shape = below(r, 4),
		                      .columns = to,
		                      .w_group = taps * from * BPG_GROUP,
		                      .cells = sums->positions,
		                      .sets = v->groups,
		                      .a_set = from,
		                      .w_set = groups8 * taps * from * BPG_GROUP,
		                      .c_set = to,
		                      .c_cell = to * v->groups,
		                      .first = put(r, sums->first, sums->positions + 1, sizeof *sums->first),
		                      .end = put(r, sums->end, sums->blocks, sizeof *sums->end),
		                      .run = put(r, sums->run, sums->runs, sizeof *sums->run) };

	bpg_conv_sums_fini(sums);
	return p;
}

/* A convolution's window of input positions from a window of outputs. */
CASE(gpu_conv)
{
	RUN();
	bool wide = below(r, 4) == 0;
	int strips = 1 + below(r, 9);
	struct bpg_window w[2];
	struct bpg_conv v = draw_conv(r, w);
	struct bpg_columns out = grid(r, v.out_channels, v.out_size[0], v.out_size[1]),
	                   in = grid(r, v.in_channels, v.in_size[0], v.in_size[1]);
	struct bpg_hop hop = { .kind = BPG_HOP_CONV,
		               .out = &out,
		               .nin = 1,
		               .in = (struct bpg_columns *[]){ &in },
		               .conv = v,
		               .block = below(r, 2) ? 128 : 16 * (1 + below(r, 16)) };
	struct bpg_arg_gemm a = { .hop = &hop,
		                  .from = { .strips = strips, .wide = wide, .window = w[0] },
		                  .to = { .strips = strips, .wide = wide, .window = w[1] } };
	int64_t icg = v.in_channels / v.groups,
	        weights = (icg + BPG_GROUP - 1) / BPG_GROUP * v.kernel[0] * v.kernel[1] * v.out_channels * BPG_GROUP;
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
	p.A = put(r, A, strips * from, size_of(wide)), p.W = put(r, W, weights, sizeof *W),
	p.C = put(r, C, strips * to, size_of(wide));
	bpg_task_gemm_conv(NULL, (void *[]){ W, A, C, NULL, NULL }, &a);
	started(r, "product", b->product(&p, NULL));
	compare(r, "convolution", wide, C, p.C, strips * to);
	return case_end(r);
}

/* Points forward through a convolution. */
CASE(gpu_conv_forward)
{
	RUN();
	int strips = 1 + below(r, 9);
	struct bpg_window w[2];
	struct bpg_conv v = draw_conv(r, w);
	struct bpg_columns out = grid(r, v.out_channels, v.out_size[0], v.out_size[1]),
	                   in = grid(r, v.in_channels, v.in_size[0], v.in_size[1]);
	struct bpg_hop hop = { .out = &out, .nin = 1, .in = (struct bpg_columns *[]){ &in }, .conv = v };
	struct bpg_arg_forward a = { .hop = &hop,
		                     .from = { .strips = strips, .window = w[1] },
		                     .to = { .strips = strips, .window = w[0] } };
	int64_t ocg = v.out_channels / v.groups,
	        weights = (ocg + BPG_GROUP - 1) / BPG_GROUP * v.kernel[0] * v.kernel[1] * v.in_channels * BPG_GROUP;
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
	started(r, "product", b->product(&p, NULL));
	compare(r, "convolution of points", false, C, p.C, strips * to);
	return case_end(r);
}

/* Points forward through a dense panel. */
CASE(gpu_adjoint)
{
	RUN();
	int strips = 1 + below(r, 17);
	int64_t K = 1 + below(r, 600), N = 1 + below(r, 300), c0 = below(r, (int)N) / BPG_GROUP * BPG_GROUP,
	        c1 = c0 + 1 + below(r, (int)(N - c0));
	int64_t groups = (c1 - c0 + BPG_GROUP - 1) / BPG_GROUP;
	struct bpg_columns out = list(r, K, 0), in = list(r, N, 0);
	struct bpg_hop hop = { .out = &out, .nin = 1, .in = (struct bpg_columns *[]){ &in } };
	struct bpg_arg_forward a = {
		.hop = &hop, .from = { .strips = strips }, .to = { .strips = strips }, .c0 = c0, .c1 = c1, .first = below(r, 2)
	};
	float *W = host(r, groups * K * BPG_GROUP, sizeof *W), *H = host(r, strips * N * BPG_LANES, sizeof *H),
	      *Z = host(r, strips * K * BPG_LANES, sizeof *Z);

	fill(r, false, W, groups * K * BPG_GROUP);
	fill(r, false, H, strips * N * BPG_LANES);
	fill(r, false, Z, strips * K * BPG_LANES);
	float *dH = put(r, H, strips * N * BPG_LANES, sizeof *H), *dZ = put(r, Z, strips * K * BPG_LANES, sizeof *Z);
	struct bpg_cuda_adjoint p = { .accumulate = !a.first,
		                      .strips = strips,
		                      .columns = c1 - c0,
		                      .n = K,
		                      .H = dH + c0 * BPG_LANES,
		                      .W = put(r, W, groups * K * BPG_GROUP, sizeof *W),
		                      .Z = dZ,
		                      .h_strip = N * BPG_LANES,
		                      .w_group = K * BPG_GROUP,
		                      .z_strip = K * BPG_LANES };
	bpg_task_forward_dense(NULL, (void *[]){ W, H, Z }, &a);
	started(r, "adjoint", b->adjoint(&p, NULL));
	compare(r, "adjoint product", false, Z, dZ, strips * K * BPG_LANES);
	return case_end(r);
}
