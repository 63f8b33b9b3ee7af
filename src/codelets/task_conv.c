/* task_conv.c - packing of kernels and the product of convolutions: from rows over the output to rows over the input.
 * What a position sums is listed by conv_sums.c. */
#include <stdlib.h>
#include <string.h>

#include "codelets/conv_sums.h"
#include "codelets/tasks.h"
#include "net/const.h"

void bpg_task_pack_conv(struct bpg_rt *rt, void *const *buffer, const void *arg)
{
	const struct bpg_arg_pack *a = arg;
	const struct bpg_conv *v = &a->hop->conv;
	float *copy;
	const float *w = bpg_const_lend_f32(v->weight, &copy);
	int64_t icg = v->in_channels / v->groups, ocg = v->out_channels / v->groups, groups8 = (icg + BPG_GROUP - 1) / BPG_GROUP;
	int64_t taps = v->kernel[0] * v->kernel[1];
	float *to = buffer[0];

	if (!w) {
		bpg_rt_fault(rt, BPG_ENOMEM, "memory is short for the kernel of a convolution");
		return;
	}
	w += a->hop->kernel_at;
	for (int64_t g = 0; g < v->groups; g++)
		for (int64_t b = 0; b < groups8; b++)
			for (int64_t t = 0; t < taps; t++)
				for (int64_t oc = 0; oc < ocg; oc++)
					for (int64_t j = 0; j < BPG_GROUP; j++, to++) {
						int64_t ic = b * BPG_GROUP + j;
						*to = ic >= icg ? 0
						      : w[(g * ocg + oc) * v->w_stride[0] + ic * v->w_stride[1] + t / v->kernel[1] * v->w_stride[2] + t % v->kernel[1] * v->w_stride[3]];
					}
	free(copy);
}

/* One input position, strips s .. s+strips-1 of the tile. A, C: these strips at column 0 / at the position. add: to what is there. */
static void position(const struct bpg_conv *v, bool wide, int strips, const char *A, int64_t from, const struct bpg_conv_sums *r, int64_t x,
                     const char *kernel, char *C, int64_t to, bool add)
{
	int64_t size = wide ? sizeof(double) : sizeof(float), lane = BPG_LANES * size;
	int64_t icg = v->in_channels / v->groups, ocg = v->out_channels / v->groups, taps = v->kernel[0] * v->kernel[1];
	int64_t groups8 = (icg + BPG_GROUP - 1) / BPG_GROUP;

	for (int64_t g = 0; g < v->groups; g++)
		for (int64_t b = 0; b < groups8; b++) {
			const char *W = kernel + (g * groups8 + b) * taps * ocg * BPG_GROUP * size;
			char *D = C + (g * icg + b * BPG_GROUP) * lane;
			int columns = (int)BPG_MIN(icg - b * BPG_GROUP, (int64_t)BPG_GROUP);

			for (int k = r->first[x]; k < r->first[x + 1]; k++) {
				int begin = k ? r->end[k - 1] : 0;
				bpg_product(wide, strips, A + g * ocg * lane, from, r->run + begin, r->end[k] - begin, W, D, to, columns, add || k > r->first[x], NULL);
			}
			if (!add && r->first[x] == r->first[x + 1])
				for (int s = 0; s < strips; s++)
					memset(D + s * to * size, 0, (size_t)(columns * lane));
		}
}

void bpg_task_gemm_conv(struct bpg_rt *rt, void *const *buffer, const void *arg)
{
	const struct bpg_arg_gemm *a = arg;
	const struct bpg_conv *v = &a->hop->conv;
	const struct bpg_window *f = &a->from.window, *t = &a->to.window;
	bool wide = a->from.wide;
	int64_t size = wide ? sizeof(double) : sizeof(float), block = a->hop->block;
	int64_t from = bpg_columns_in(a->hop->out, f) * BPG_LANES, to = bpg_columns_in(a->hop->in[0], t) * BPG_LANES;
	int64_t icg = v->in_channels / v->groups, ocg = v->out_channels / v->groups;
	int64_t weights = v->groups * ((icg + BPG_GROUP - 1) / BPG_GROUP) * v->kernel[0] * v->kernel[1] * ocg * BPG_GROUP;
	double *exact = wide ? malloc((size_t)(weights + 1) * sizeof *exact) : NULL; /* the kernel for a wide tile */
	double *price = NULL;
	struct bpg_arg_relax relax = { a->relax, a->from, a->slack, a->under };
	struct bpg_conv_sums sums;

	if (!bpg_conv_sums_init(&sums, v, f, t, block) || (wide && !exact)) {
		bpg_rt_fault(rt, BPG_ENOMEM, "memory is short for the taps of a convolution");
		goto out;
	}
	for (int64_t i = 0; wide && i < weights; i++)
		exact[i] = ((const float *)buffer[0])[i];
	/* A few strips at a time: neighbours share most of what they read, and all of it has just been relaxed. */
	int few = icg <= BPG_GROUP / 2 ? 4 : 2;
	for (int s = 0; s < a->from.strips; s += few) {
		int strips = BPG_MIN(few, a->from.strips - s);

		for (int q = s; a->relax && q < s + strips; q++) {
			if (a->second && !(price = bpg_join_prices(rt, a->relax->out, &a->from, q, buffer[6], a->slack, price)))
				goto out;
			bpg_add_relax_strip(&relax, buffer[5], buffer[1], q, buffer[4], a->second ? buffer[7] : NULL, price);
		}
		for (int64_t x = 0; x < sums.positions; x++)
			position(v, wide, strips, (const char *)buffer[1] + s * from * size, from, &sums, x, wide ? (const char *)exact : buffer[0],
			         (char *)buffer[2] + (s * to + x * v->in_channels * BPG_LANES) * size, to, a->add);
	}
	if (a->toll) {
		struct bpg_arg_relax toll = { a->hop, a->from, true, a->hop->under };
		bpg_task_toll(rt, (void *[]){ buffer[3], buffer[1], buffer[4] }, &toll);
	}
out:
	bpg_conv_sums_fini(&sums);
	free(exact);
	free(price);
}
