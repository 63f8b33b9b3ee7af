/* conv_sums.c - see conv_sums.h. */
#include "codelets/conv_sums.h"

#include <stdlib.h>

#include "base/base.h"

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

static void add_run(struct bpg_conv_sums *s, int64_t a, int64_t w, int64_t n)
{
	s->run[s->runs++] = (struct bpg_run){ a, w, (int)n };
}

static void end_block(struct bpg_conv_sums *s)
{
	s->end[s->blocks++] = (int)s->runs;
}

/* One position: its taps in order, cut into blocks. */
static void add_position(struct bpg_conv_sums *s, const struct bpg_conv *v, struct axis_tap *const axis[2], int ny, int nx,
                         int64_t width, int64_t block)
{
	int64_t ocg = v->out_channels / v->groups, each = BPG_MAX((int64_t)1, block / ocg), part = -1;

	s->first[s->positions++] = (int)s->blocks;
	for (int i = 0; i < ny; i++)
		for (int j = 0; j < nx; j++) {
			int64_t tap = axis[0][i].tap * v->kernel[1] + axis[1][j].tap;
			int64_t a = (axis[0][i].at * width + axis[1][j].at) * v->out_channels;

			if (ocg <= block) {
				if (part >= 0 && tap / each != part)
					end_block(s);
				part = tap / each;
				add_run(s, a, tap * ocg, ocg);
				continue;
			}
			for (int64_t k = 0; k < ocg; k += block) {
				add_run(s, a + k, tap * ocg + k, BPG_MIN(ocg - k, block));
				end_block(s);
			}
		}
	if (part >= 0)
		end_block(s);
}

bool bpg_conv_sums_init(struct bpg_conv_sums *s, const struct bpg_conv *v, const struct bpg_window *f, const struct bpg_window *t,
                        int64_t block)
{
	int64_t ocg = v->out_channels / v->groups, positions = (int64_t)(t->up[0] - t->lo[0]) * (t->up[1] - t->lo[1]);
	int64_t most = positions * most_taps(v, 0) * most_taps(v, 1) * ((ocg + block - 1) / block);
	struct axis_tap *axis[2] = { malloc((size_t)(v->kernel[0] + 1) * sizeof **axis),
		                     malloc((size_t)(v->kernel[1] + 1) * sizeof **axis) };
	bool ok;

	*s = (struct bpg_conv_sums){ .first = malloc((size_t)(positions + 1) * sizeof *s->first),
		                     .end = malloc((size_t)(most + 1) * sizeof *s->end),
		                     .run = malloc((size_t)(most + 1) * sizeof *s->run) };
	ok = s->first && s->end && s->run && axis[0] && axis[1];
	for (int64_t y = t->lo[0]; ok && y < t->up[0]; y++) {
		int ny = axis_taps(v, 0, y, f, axis[0]);
		for (int64_t x = t->lo[1]; x < t->up[1]; x++)
			add_position(s, v, axis, ny, axis_taps(v, 1, x, f, axis[1]), f->up[1] - f->lo[1], block);
	}
	if (ok)
		s->first[s->positions] = (int)s->blocks;
	free(axis[0]);
	free(axis[1]);
	return ok;
}

bool bpg_conv_sums_forward(struct bpg_conv_sums *s, const struct bpg_conv *v, const struct bpg_window *f,
                           const struct bpg_window *t)
{
	int64_t icg = v->in_channels / v->groups, taps = v->kernel[0] * v->kernel[1];
	int64_t positions = (int64_t)(t->up[0] - t->lo[0]) * (t->up[1] - t->lo[1]);

	*s = (struct bpg_conv_sums){ .first = malloc((size_t)(positions + 1) * sizeof *s->first),
		                     .end = malloc((size_t)(positions + 1) * sizeof *s->end),
		                     .run = malloc((size_t)(positions * taps + 1) * sizeof *s->run) };
	if (!s->first || !s->end || !s->run)
		return false;
	for (int64_t y = t->lo[0]; y < t->up[0]; y++)
		for (int64_t x = t->lo[1]; x < t->up[1]; x++) {
			int64_t before = s->runs;
			s->first[s->positions++] = (int)s->blocks;
			for (int64_t k = 0; k < taps; k++) {
				int64_t iy = y * v->stride[0] - v->pad[0] + k / v->kernel[1] * v->dilation[0];
				int64_t ix = x * v->stride[1] - v->pad[1] + k % v->kernel[1] * v->dilation[1];
				if (iy >= f->lo[0] && iy < f->up[0] && ix >= f->lo[1] && ix < f->up[1])
					add_run(s, ((iy - f->lo[0]) * (f->up[1] - f->lo[1]) + ix - f->lo[1]) * v->in_channels,
					        k * icg, icg);
			}
			if (s->runs > before)
				end_block(s);
		}
	s->first[s->positions] = (int)s->blocks;
	return true;
}

void bpg_conv_sums_fini(struct bpg_conv_sums *s)
{
	free(s->first);
	free(s->end);
	free(s->run);
}
