/* sliding.c - see sliding.h. */
#include "codelets/sliding.h"

#include <string.h>

#define MOST ((int64_t)1 << 20)   /* of a kernel, stride, pad or dilation: larger ones are damage */

/* A list of one number per axis (or two: pads), into to[axis]. */
static enum bpg_status read_list(const struct bpg_import *im, const char *name, int n, int64_t least, int64_t *to)
{
	const int64_t *value;
	int count = bpg_import_ints(im, name, &value);
	if (count < 0)
		return BPG_OK;
	if (count != n)
		return bpg_import_fail(im, BPG_EFILE, "attribute '%s' has %d values, expected %d", name, count, n);
	for (int i = 0; i < n; i++) {
		if (value[i] < least || value[i] > MOST)
			return bpg_import_fail(im, BPG_EUNSUPPORTED, "attribute '%s' has the value %lld, outside %lld to %lld", name,
			                       (long long)value[i], (long long)least, (long long)MOST);
		to[i] = value[i];
	}
	return BPG_OK;
}

static enum bpg_status read_mode(const struct bpg_import *im, enum bpg_auto_pad *mode)
{
	static const char *const name[] = { "NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER" };
	const char *given = bpg_import_string(im, "auto_pad", "NOTSET");
	for (int i = 0; i < 4; i++)
		if (!strcmp(given, name[i])) {
			*mode = (enum bpg_auto_pad)i;
			return BPG_OK;
		}
	return bpg_import_fail(im, BPG_EFILE, "unknown auto_pad; re-export with explicit pads");
}

enum bpg_status bpg_sliding_import(const struct bpg_import *im, const struct bpg_shape *in, const int64_t *kernel,
                                   struct bpg_sliding *s)
{
	int axes = in->rank - 2;
	if (axes < 1 || axes > 2)
		return bpg_import_fail(im, BPG_EUNSUPPORTED, "%d spatial axes, only 1 and 2 are supported", axes);
	int64_t k[2] = { 1, 1 }, stride[2] = { 1, 1 }, dilation[2] = { 1, 1 }, pads[4] = { 0 };
	if (!kernel && !bpg_import_has(im, "kernel_shape"))
		return bpg_import_fail(im, BPG_EFILE, "attribute 'kernel_shape' is missing");
	BPG_TRY(read_list(im, "kernel_shape", axes, 1, k));
	for (int a = 0; kernel && a < axes; a++) {
		if (bpg_import_has(im, "kernel_shape") && k[a] != kernel[a])
			return bpg_import_fail(im, BPG_EFILE, "attribute 'kernel_shape' differs from the shape of the weights");
		if (kernel[a] < 1 || kernel[a] > MOST)
			return bpg_import_fail(im, BPG_EFILE, "a kernel of size %lld", (long long)kernel[a]);
		k[a] = kernel[a];
	}
	BPG_TRY(read_list(im, "strides", axes, 1, stride));
	BPG_TRY(read_list(im, "dilations", axes, 1, dilation));
	BPG_TRY(read_mode(im, &s->mode));
	if (s->mode == BPG_PAD_NOTSET)
		BPG_TRY(read_list(im, "pads", 2 * axes, 0, pads));
	s->axes = axes;
	for (int a = 0; a < 2; a++)
		s->in[a] = s->out[a] = s->kernel[a] = s->stride[a] = s->dilation[a] = 1, s->pad[a] = s->pad_end[a] = 0;
	for (int a = 0; a < axes; a++) {
		int to = 2 - axes + a;
		s->in[to] = in->dim[2 + a];
		s->kernel[to] = k[a];
		s->stride[to] = stride[a];
		s->dilation[to] = dilation[a];
		s->pad[to] = pads[a];
		s->pad_end[to] = pads[axes + a];
	}
	return BPG_OK;
}

enum bpg_status bpg_sliding_place(const struct bpg_import *im, struct bpg_sliding *s, bool ceil)
{
	for (int a = 2 - s->axes; a < 2; a++) {
		int64_t span = (s->kernel[a] - 1) * s->dilation[a] + 1, stride = s->stride[a];
		if (s->mode == BPG_PAD_SAME_UPPER || s->mode == BPG_PAD_SAME_LOWER) {
			s->out[a] = (s->in[a] + stride - 1) / stride;
			int64_t total = (s->out[a] - 1) * stride + span - s->in[a];
			total = total > 0 ? total : 0;
			s->pad[a] = s->mode == BPG_PAD_SAME_UPPER ? total / 2 : total - total / 2;
			s->pad_end[a] = total - s->pad[a];
			continue;
		}
		int64_t room = s->in[a] + s->pad[a] + s->pad_end[a] - span;
		if (room < 0)
			return bpg_import_fail(im, BPG_EFILE, "the kernel spans %lld, more than the padded input of %lld", (long long)span,
			                       (long long)(s->in[a] + s->pad[a] + s->pad_end[a]));
		s->out[a] = (room + (ceil ? stride - 1 : 0)) / stride + 1;
		/* a last window that would begin past the input is left out */
		if (ceil && (s->out[a] - 1) * stride >= s->in[a] + s->pad[a])
			s->out[a]--;
	}
	return BPG_OK;
}

bool bpg_sliding_ambiguous(const struct bpg_sliding *s)
{
	for (int a = 2 - s->axes; a < 2; a++) {
		int64_t outs = (s->in[a] + s->stride[a] - 1) / s->stride[a];
		if (s->mode >= BPG_PAD_SAME_UPPER && (s->dilation[a] != 1 || (outs - 1) * s->stride[a] + s->kernel[a] < s->in[a]))
			return true;
	}
	return false;
}

void bpg_sliding_shape(const struct bpg_sliding *s, int64_t n, int64_t c, struct bpg_shape *out)
{
	*out = (struct bpg_shape){ .rank = 2 + s->axes, .dim = { n, c } };
	for (int a = 0; a < s->axes; a++)
		out->dim[2 + a] = s->out[2 - s->axes + a];
}

void bpg_sliding_sample(struct bpg_rng *rng, struct bpg_sample *s, int axes, struct bpg_sliding *g, bool pool)
{
	static const char *const mode[] = { "NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER" };
	int64_t stride[2], dilation[2], pads[4];
	*g = (struct bpg_sliding){ .axes = axes, .in = { 1, 1 }, .kernel = { 1, 1 }, .mode = (enum bpg_auto_pad)bpg_rng_below(rng, 4) };
	for (int a = 0; a < axes; a++) {
		int to = 2 - axes + a;
		g->kernel[to] = 1 + bpg_rng_below(rng, 3);
		stride[a] = g->stride[to] = 1 + bpg_rng_below(rng, 3);
		dilation[a] = g->dilation[to] = 1 + (bpg_rng_below(rng, 3) == 0);
		g->in[to] = (g->kernel[to] - 1) * dilation[a] + 1 + bpg_rng_below(rng, 5);
		for (int side = 0; side < 2; side++)
			pads[side * axes + a] = bpg_rng_below(rng, g->kernel[to]);
		g->pad[to] = pads[a];
		g->pad_end[to] = pads[axes + a];
	}
	bpg_sample_ints(s, "strides", axes, stride);
	bpg_sample_ints(s, "dilations", axes, dilation);
	if (bpg_rng_below(rng, 2) || (pool && bpg_sliding_ambiguous(g)))
		g->mode = BPG_PAD_NOTSET;
	if (g->mode == BPG_PAD_NOTSET)
		bpg_sample_ints(s, "pads", 2 * axes, pads);
	else
		bpg_sample_string(s, "auto_pad", mode[g->mode]);
}
