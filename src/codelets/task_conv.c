/* task_conv.c - packing of kernels and the product of convolutions: from rows over the output to rows over the input.
 *
 * An input position sums, over the taps through which output positions read it, a run of output channels. Columns are
 * channel-last, so a run is contiguous in the tile and nothing is gathered. Blocks of the sum are fixed groups of taps
 * (or parts of one), whichever of them lie in the window: the bits do not depend on the window. */
#include <stdlib.h>
#include <string.h>

#include "codelets/tasks.h"

void bpg_task_pack_conv(struct bpg_rt *rt, void *const *buffer, const void *arg)
{
	const struct bpg_arg_pack *a = arg;
	const struct bpg_conv *v = &a->hop->conv;
	const float *w = bpg_const_pin_f32(v->weight);
	int64_t icg = v->in_channels / v->groups, ocg = v->out_channels / v->groups, groups8 = (icg + BPG_GROUP - 1) / BPG_GROUP;
	int64_t taps = v->kernel[0] * v->kernel[1];
	float *to = buffer[0];

	if (!w) {
		bpg_rt_fault(rt, BPG_ENOMEM, "memory is short for the kernel of a convolution");
		return;
	}
	for (int64_t g = 0; g < v->groups; g++)
		for (int64_t b = 0; b < groups8; b++)
			for (int64_t t = 0; t < taps; t++)
				for (int64_t oc = 0; oc < ocg; oc++)
					for (int64_t j = 0; j < BPG_GROUP; j++, to++) {
						int64_t ic = b * BPG_GROUP + j;
						*to = ic >= icg ? 0
						      : w[(g * ocg + oc) * v->w_stride[0] + ic * v->w_stride[1] + t / v->kernel[1] * v->w_stride[2] + t % v->kernel[1] * v->w_stride[3]];
					}
}

struct axis_tap {
	int tap, at;              /* tap of the kernel, output position relative to the window */
};

/* Taps along one axis through which input position x is read from inside the window. */
static int axis_taps(const struct bpg_conv *v, int axis, int64_t x, const struct bpg_window *f, struct axis_tap *to)
{
	int n = 0;

	for (int64_t k = 0; k < v->kernel[axis]; k++) {
		int64_t p = x + v->pad[axis] - k * v->dilation[axis];
		if (p < 0 || (v->stride[axis] > 1 && p % v->stride[axis]))
			continue;
		p /= v->stride[axis];
		if (p >= f->lo[axis] && p < f->up[axis])
			to[n++] = (struct axis_tap){ (int)k, (int)(p - f->lo[axis]) };
	}
	return n;
}

/* The sums of one row of input positions: block b of position x is runs end[b-1] .. end[b]-1, x's blocks are
 * first[x] .. first[x+1]-1. Runs are those of channel group 0. */
struct row_sums {
	struct bpg_run *run;
	int *end, *first;
};

/* Of all rows of the window, in one piece of memory. */
struct sums {
	struct row_sums *row;
	struct bpg_run *run;
	int *count;
	struct axis_tap *axis[2];
};

/* Taps of one axis that an input position meets, at most: those whose offsets are alike modulo the stride. */
static int64_t most_taps(const struct bpg_conv *v, int axis)
{
	int64_t apart = v->stride[axis], rest = v->dilation[axis] % apart;

	while (rest) {
		int64_t next = apart % rest;
		apart = rest;
		rest = next;
	}
	apart = v->stride[axis] / apart;
	return (v->kernel[axis] + apart - 1) / apart;
}

static bool sums_init(struct sums *s, const struct bpg_conv *v, const struct bpg_window *t, int64_t block)
{
	int64_t ocg = v->out_channels / v->groups, rows = t->up[0] - t->lo[0], width = t->up[1] - t->lo[1];
	int64_t each = width * most_taps(v, 0) * most_taps(v, 1) * ((ocg + block - 1) / block);

	s->row = malloc((size_t)(rows + 1) * sizeof *s->row);
	s->run = malloc((size_t)(rows * each + 1) * sizeof *s->run);
	s->count = malloc((size_t)(rows * (each + width + 1) + 1) * sizeof *s->count);
	for (int a = 0; a < 2; a++)
		s->axis[a] = malloc((size_t)(v->kernel[a] + 1) * sizeof *s->axis[a]);
	if (!s->row || !s->run || !s->count || !s->axis[0] || !s->axis[1])
		return false;
	for (int64_t y = 0; y < rows; y++)
		s->row[y] = (struct row_sums){ s->run + y * each, s->count + y * each, s->count + rows * each + y * (width + 1) };
	return true;
}

static void sums_fini(struct sums *s)
{
	free(s->row);
	free(s->run);
	free(s->count);
	free(s->axis[0]);
	free(s->axis[1]);
}

static void row_fill(struct row_sums *r, struct axis_tap *const axis[2], const struct bpg_conv *v, int64_t y, const struct bpg_window *f,
                     const struct bpg_window *t, int64_t block)
{
	int64_t ocg = v->out_channels / v->groups, each = BPG_MAX((int64_t)1, block / ocg), width = f->up[1] - f->lo[1];
	int ny = axis_taps(v, 0, y, f, axis[0]), runs = 0, blocks = 0;

	for (int64_t x = t->lo[1]; x < t->up[1]; x++) {
		int nx = axis_taps(v, 1, x, f, axis[1]);
		int64_t part = -1;

		r->first[x - t->lo[1]] = blocks;
		for (int i = 0; i < ny; i++)
			for (int j = 0; j < nx; j++) {
				int64_t tap = axis[0][i].tap * v->kernel[1] + axis[1][j].tap;
				int64_t a = (axis[0][i].at * width + axis[1][j].at) * v->out_channels;

				if (ocg <= block) {
					if (part >= 0 && tap / each != part)
						r->end[blocks++] = runs;
					part = tap / each;
					r->run[runs++] = (struct bpg_run){ a, tap * ocg, (int)ocg };
					continue;
				}
				for (int64_t k = 0; k < ocg; k += block) {
					r->run[runs++] = (struct bpg_run){ a + k, tap * ocg + k, (int)BPG_MIN(ocg - k, block) };
					r->end[blocks++] = runs;
				}
			}
		if (part >= 0)
			r->end[blocks++] = runs;
	}
	r->first[t->up[1] - t->lo[1]] = blocks;
}

/* One input position, strips s .. s+strips-1 of the tile. A, C: these strips at column 0 / at the position. */
static void position(const struct bpg_conv *v, bool wide, int strips, const char *A, int64_t from, const struct row_sums *r, int64_t x,
                     const char *kernel, char *C, int64_t to)
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
				bpg_product(wide, strips, A + g * ocg * lane, from, r->run + begin, r->end[k] - begin, W, D, to, columns, k > r->first[x], NULL);
			}
			if (r->first[x] == r->first[x + 1])
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
	int64_t size = wide ? sizeof(double) : sizeof(float), block = a->hop->block, width = t->up[1] - t->lo[1];
	int64_t from = bpg_columns_in(a->hop->out, f) * BPG_LANES, to = bpg_columns_in(a->hop->in[0], t) * BPG_LANES;
	int64_t icg = v->in_channels / v->groups, ocg = v->out_channels / v->groups;
	int64_t weights = v->groups * ((icg + BPG_GROUP - 1) / BPG_GROUP) * v->kernel[0] * v->kernel[1] * ocg * BPG_GROUP;
	double *exact = wide ? malloc((size_t)(weights + 1) * sizeof *exact) : NULL; /* the kernel for a wide tile */
	double *price = NULL;
	struct bpg_arg_relax relax = { a->relax, a->from, a->slack, a->under };
	struct sums sums = { 0 };

	if (!sums_init(&sums, v, t, block) || (wide && !exact)) {
		bpg_rt_fault(rt, BPG_ENOMEM, "memory is short for the taps of a convolution");
		goto out;
	}
	for (int64_t i = 0; wide && i < weights; i++)
		exact[i] = ((const float *)buffer[0])[i];
	for (int64_t y = t->lo[0]; y < t->up[0]; y++)
		row_fill(&sums.row[y - t->lo[0]], sums.axis, v, y, f, t, block);
	/* A few strips at a time: neighbours share most of what they read, and all of it has just been relaxed. */
	int few = icg <= BPG_GROUP / 2 ? 4 : 2;
	for (int s = 0; s < a->from.strips; s += few) {
		int strips = BPG_MIN(few, a->from.strips - s);

		for (int q = s; a->relax && q < s + strips; q++) {
			if (a->second && !(price = bpg_join_prices(rt, a->relax->out, &a->from, q, buffer[6], a->slack, price)))
				goto out;
			bpg_add_relax_strip(&relax, buffer[5], buffer[1], q, buffer[4], a->second ? buffer[7] : NULL, price);
		}
		for (int64_t y = 0; y < t->up[0] - t->lo[0]; y++)
			for (int64_t x = 0; x < width; x++)
				position(v, wide, strips, (const char *)buffer[1] + s * from * size, from, &sums.row[y], x, wide ? (const char *)exact : buffer[0],
				         (char *)buffer[2] + (s * to + (y * width + x) * v->in_channels * BPG_LANES) * size, to);
	}
	if (a->toll) {
		struct bpg_arg_relax toll = { a->hop, a->from, true, a->hop->under };
		bpg_task_toll(rt, (void *[]){ buffer[3], buffer[1], buffer[4] }, &toll);
	}
out:
	sums_fini(&sums);
	free(exact);
	free(price);
}
