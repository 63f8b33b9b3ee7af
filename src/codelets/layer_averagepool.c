/* layer_averagepool.c - mean over windows of one or two spatial axes. Padding counts as zeros when count_include_pad is
 * set, else it is left out of the mean; what hangs over the padding under ceil_mode never counts. */
#include <math.h>

#include "codelets/family.h"
#include "codelets/sliding.h"

struct averagepool {
	struct bpg_sliding s;
	bool include_pad;
};

static enum bpg_status averagepool_import(const struct bpg_import *im, struct bpg_node *v)
{
	BPG_TRY(bpg_import_operands(im, v, 1, 1));
	struct averagepool *g = bpg_import_alloc(im, 1, sizeof *g);
	if (!g)
		return bpg_import_fail(im, BPG_ENOMEM, "not enough memory");
	v->attr = g;
	g->include_pad = bpg_import_int(im, "count_include_pad", 0) != 0;
	const struct bpg_shape *x = &v->in[0].shape;
	BPG_TRY(bpg_sliding_import(im, x, NULL, &g->s));
	BPG_TRY(bpg_sliding_place(im, &g->s, bpg_import_int(im, "ceil_mode", 0) != 0));
	if (bpg_sliding_ambiguous(&g->s))
		return bpg_import_fail(im, BPG_EUNSUPPORTED, "auto_pad with dilations or strides that runtimes read in two ways; re-export "
		                                             "with explicit pads");
	for (int a = 0; a < 2; a++)
		if (g->s.pad[a] > (g->s.kernel[a] - 1) * g->s.dilation[a] || g->s.pad_end[a] > (g->s.kernel[a] - 1) * g->s.dilation[a])
			return bpg_import_fail(im, BPG_EFILE, "pads are larger than the window");
	bpg_sliding_shape(&g->s, x->dim[0], x->dim[1], &v->out.shape);
	return BPG_OK;
}

/* Taps of the window at o that lie in [-before, in + after); *first is the first of them. */
static int64_t taps(const struct bpg_sliding *s, int a, int64_t o, int64_t before, int64_t after, int64_t *first)
{
	int64_t n = 0, start = o * s->stride[a] - s->pad[a];
	for (int64_t k = s->kernel[a] - 1; k >= 0; k--) {
		int64_t at = start + k * s->dilation[a];
		if (at >= -before && at < s->in[a] + after) {
			*first = k;
			n++;
		}
	}
	return n;
}

static void averagepool_terms(const struct bpg_node *v, int64_t i, struct bpg_terms *t)
{
	const struct averagepool *g = v->attr;
	const struct bpg_sliding *s = &g->s;
	int64_t at[2] = { i / s->out[1] % s->out[0], i % s->out[1] }, plane = i / s->out[1] / s->out[0];
	int64_t first[2] = { 0 }, n[2], count = 1, unused;
	for (int a = 0; a < 2; a++) {
		n[a] = taps(s, a, at[a], 0, 0, &first[a]);
		count *= g->include_pad ? taps(s, a, at[a], s->pad[a], s->pad_end[a], &unused) : n[a];
	}
	if (count == 0)   /* the window lies in the padding alone */
		return;
	double coef = 1 / (double)count, err = (count & (count - 1)) ? coef * 0x1p-53 : 0;
	for (int64_t y = first[0]; y < first[0] + n[0]; y++)
		for (int64_t x = first[1]; x < first[1] + n[1]; x++) {
			int64_t iy = at[0] * s->stride[0] - s->pad[0] + y * s->dilation[0];
			int64_t ix = at[1] * s->stride[1] - s->pad[1] + x * s->dilation[1];
			int64_t index = (plane * s->in[0] + iy) * s->in[1] + ix;
			if (v->in[0].value)
				bpg_terms_constant(t, coef, err, v->in[0].value, index);
			else
				bpg_terms_add(t, 0, index, coef, err);
		}
}

static void averagepool_sample(struct bpg_rng *rng, struct bpg_sample *s)
{
	struct bpg_sliding g;
	int axes = 1 + (int)bpg_rng_below(rng, 2);
	bpg_sample_op(s, "AveragePool", 19);
	bpg_sliding_sample(rng, s, axes, &g, true);
	bpg_sample_int(s, "ceil_mode", bpg_rng_below(rng, 2));
	bpg_sample_int(s, "count_include_pad", bpg_rng_below(rng, 2));
	bpg_sample_ints(s, "kernel_shape", axes, g.kernel + 2 - axes);
	int64_t x[4] = { 1, 1 + bpg_rng_below(rng, 3), g.in[2 - axes], g.in[1] };
	bpg_sample_variable(s, 2 + axes, x);
}

BPG_LINEAR_LAYER(averagepool, .ops = "AveragePool", .import = averagepool_import, .terms = averagepool_terms,
                 .sample = averagepool_sample);
