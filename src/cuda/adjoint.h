/* adjoint.h - the product the other way, one block of threads: a chain of fused operations over the columns in rising order.
 *
 * Each thread has eight lanes of a strip times eight outputs in registers. The weights of a group of eight columns lie side by
 * side for each output: they are kept in two halves, so that eight threads with neighbouring outputs read from different banks.
 */
#ifndef BPG_CUDA_ADJOINT_H
#define BPG_CUDA_ADJOINT_H

#include "cuda/body.h"
#include "cuda/cuda.h"

enum { J_STRIPS = 4, J_OUTPUTS = 64, J_THREADS = 64, J_STAGES = 3, J_ACROSS = 8 };

struct adjoint_shared {
	float h[J_STAGES][J_STRIPS * (BPG_GROUP * BPG_LANES + BPG_LANES)];
	float w[J_STAGES][2][J_OUTPUTS * 4];
};

struct adjoint_own {
	float sum[8][8];          /* output, lane */
};

BODY int64_t adjoint_blocks(const struct bpg_cuda_adjoint *p)
{
	return (p->strips + J_STRIPS - 1) / J_STRIPS * ((p->n + J_OUTPUTS - 1) / J_OUTPUTS);
}

/* Columns j .. j+7 (those there are) of the strips, all eight weights of the outputs: the last group is padded. */
BODY void adjoint_load(const struct bpg_cuda_adjoint *p, int64_t strip, int64_t out, int64_t j, float *h,
                       float (*w)[J_OUTPUTS * 4])
{
	int strips = (int)BPG_LEAST((int64_t)J_STRIPS, p->strips - strip), outs = (int)BPG_LEAST((int64_t)J_OUTPUTS, p->n - out);
	int columns = (int)BPG_LEAST((int64_t)BPG_GROUP, p->columns - j);

	EACH_THREAD(J_THREADS, t) {
		UNROLL
		for (int k = 0; k < J_STRIPS * BPG_GROUP * 4 / J_THREADS; k++) {
			int i = t + k * J_THREADS, s = i / (BPG_GROUP * 4), piece = i % (BPG_GROUP * 4);
			if (s < strips && piece < columns * 4)
				COPY16(h + s * (BPG_GROUP * BPG_LANES + BPG_LANES) + piece * 4,
				       p->H + (strip + s) * p->h_strip + j * BPG_LANES + piece * 4);
		}
		UNROLL
		for (int k = 0; k < J_OUTPUTS * 2 / J_THREADS; k++) {
			int i = t + k * J_THREADS;
			if (i / 2 < outs)
				COPY16(&w[i % 2][i / 2 * 4],
				       p->W + j / BPG_GROUP * p->w_group + (out + i / 2) * BPG_GROUP + i % 2 * 4);
		}
	}
}

/* Four columns of a group. */
BODY void adjoint_fuse(const float *h, const float *w, int columns, struct adjoint_own *own)
{
	float y[8][4];

	UNROLL
	for (int o = 0; o < 8; o++)
		load4(w + o * J_ACROSS * 4, y[o]);
	UNROLL
	for (int j = 0; j < 4; j++) {
		float x[8];
		if (j >= columns)
			break;
		load4(h + j * BPG_LANES, x);
		load4(h + j * BPG_LANES + 4, x + 4);
		UNROLL
		for (int o = 0; o < 8; o++)
			UNROLL
			for (int e = 0; e < 8; e++)
				own->sum[o][e] = fmaf(y[o][j], x[e], own->sum[o][e]);
	}
}

BODY void adjoint_block(const struct bpg_cuda_adjoint *p, int64_t block, struct adjoint_shared *shared)
{
	int64_t down = (p->strips + J_STRIPS - 1) / J_STRIPS, strip = block % down * J_STRIPS, out = block / down * J_OUTPUTS;
	int64_t chunks = (p->columns + BPG_GROUP - 1) / BPG_GROUP;
	int stage = 0;
	PRIVATE(struct adjoint_own, own, J_THREADS);

	/* Thread: octet t / 8 of the strips, outputs t % 8, t % 8 + 8, ... */
	EACH_THREAD(J_THREADS, t) {
		int octet = t / J_ACROSS;
		UNROLL
		for (int o = 0; o < 8; o++) {
			int64_t at = out + t % J_ACROSS + o * J_ACROSS, s = strip + octet / 2;
			bool have = p->accumulate && at < p->n && s < p->strips;
			UNROLL
			for (int e = 0; e < 8; e++)
				OWN(own, t).sum[o][e] = have ? p->Z[s * p->z_strip + at * BPG_LANES + octet % 2 * 8 + e] : 0;
		}
	}
	for (int i = 0; i < J_STAGES - 1; i++) {
		if (i < chunks)
			adjoint_load(p, strip, out, (int64_t)i * BPG_GROUP, shared->h[i], shared->w[i]);
		COPY_END();
	}
	for (int64_t c = 0; c < chunks; c++) {
		int into = stage == 0 ? J_STAGES - 1 : stage - 1,
		    columns = (int)BPG_LEAST((int64_t)BPG_GROUP, p->columns - c * BPG_GROUP);

		COPY_WAIT(J_STAGES - 2);
		BARRIER();
		if (c + J_STAGES - 1 < chunks)
			adjoint_load(p, strip, out, (c + J_STAGES - 1) * BPG_GROUP, shared->h[into], shared->w[into]);
		COPY_END();
		EACH_THREAD(J_THREADS, t) {
			int octet = t / J_ACROSS;
			const float *h = shared->h[stage] + octet / 2 * (BPG_GROUP * BPG_LANES + BPG_LANES) + octet % 2 * 8;
			adjoint_fuse(h, shared->w[stage][0] + t % J_ACROSS * 4, columns, &OWN(own, t));
			adjoint_fuse(h + 4 * BPG_LANES, shared->w[stage][1] + t % J_ACROSS * 4, columns - 4, &OWN(own, t));
		}
		stage = stage == J_STAGES - 1 ? 0 : stage + 1;
	}
	EACH_THREAD(J_THREADS, t) {
		int octet = t / J_ACROSS;
		UNROLL
		for (int o = 0; o < 8; o++) {
			int64_t at = out + t % J_ACROSS + o * J_ACROSS, s = strip + octet / 2;
			if (at < p->n && s < p->strips) {
				float *z = p->Z + s * p->z_strip + at * BPG_LANES + octet % 2 * 8;
				store4(z, OWN(own, t).sum[o]);
				store4(z + 4, OWN(own, t).sum[o] + 4);
			}
		}
	}
}

#endif
