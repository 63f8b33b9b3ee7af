/* layer_convtranspose.c - transposed convolution: every input element adds its multiple of the kernel to the output.
 * Constant weights [C, M/groups, ...], optional constant bias [M]. */
#include <string.h>

#include "codelets/family.h"
#include "codelets/sliding.h"

struct convtranspose {
	struct bpg_sliding s;     /* in, out, pads: of the operator; the window slides over the output */
	int64_t batch, ins, outs, groups;
	const float *narrow;      /* the weights, pinned: all are read for every output */
	const double *wide;       /* or these */
};

static enum bpg_status read_sizes(const struct bpg_import *im, const char *name, int axes, int64_t least, int64_t most,
                                  int64_t to[2], bool *given)
{
	const int64_t *value;
	int n = bpg_import_ints(im, name, &value), skip = 0;
	*given = n >= 0;
	if (n == axes + 2 && !strcmp(name, "output_shape"))   /* some exporters give batch and channels, too */
		skip = 2;
	else if (n >= 0 && n != axes)
		return bpg_import_fail(im, BPG_EFILE, "attribute '%s' has %d values, expected %d", name, n, axes);
	for (int a = 0; n >= 0 && a < axes; a++) {
		to[2 - axes + a] = value[skip + a];
		if (value[skip + a] < least || value[skip + a] > most)
			return bpg_import_fail(im, BPG_EFILE, "attribute '%s' has the value %lld", name, (long long)value[skip + a]);
	}
	return BPG_OK;
}

/* Sizes and pads of the output: the formulas of the ONNX specification. */
static enum bpg_status place(const struct bpg_import *im, struct bpg_sliding *s)
{
	int64_t extra[2] = { 0 }, shape[2] = { 0 };
	bool given, fixed;
	BPG_TRY(read_sizes(im, "output_padding", s->axes, 0, (int64_t)1 << 20, extra, &given));
	BPG_TRY(read_sizes(im, "output_shape", s->axes, 1, (int64_t)1 << 33, shape, &fixed));
	bool same = s->mode == BPG_PAD_SAME_UPPER || s->mode == BPG_PAD_SAME_LOWER;
	for (int a = 2 - s->axes; a < 2; a++) {
		int64_t whole = s->stride[a] * (s->in[a] - 1) + extra[a] + (s->kernel[a] - 1) * s->dilation[a] + 1;
		if (fixed || same) {
			int64_t wish = fixed ? shape[a] : s->in[a] * s->stride[a], total = whole - wish;
			total = total > 0 ? total : 0;
			s->pad[a] = s->mode == BPG_PAD_SAME_UPPER ? total / 2 : total - total / 2;
			s->pad_end[a] = total - s->pad[a];
			s->out[a] = fixed ? wish : whole - total;
		} else {
			s->out[a] = whole - s->pad[a] - s->pad_end[a];
		}
		if (s->out[a] < 1)
			return bpg_import_fail(im, BPG_EFILE, "the pads leave no output");
	}
	return BPG_OK;
}

static enum bpg_status convtranspose_import(const struct bpg_import *im, struct bpg_node *v)
{
	BPG_TRY(bpg_import_operands(im, v, 2, 3));
	struct convtranspose *g = bpg_import_alloc(im, 1, sizeof *g);
	if (!g)
		return bpg_import_fail(im, BPG_ENOMEM, "not enough memory");
	v->attr = g;
	const struct bpg_shape *x = &v->in[0].shape, *w = &v->in[1].shape;
	if (w->rank != x->rank || x->rank < 3)
		return bpg_import_fail(im, BPG_EFILE, "input of rank %d and weights of rank %d", x->rank, w->rank);
	BPG_TRY(bpg_import_constant(im, v, 1, "the weights"));
	BPG_TRY(bpg_sliding_import(im, x, w->dim + 2, &g->s));
	BPG_TRY(place(im, &g->s));
	g->groups = bpg_import_int(im, "group", 1);
	g->batch = x->dim[0];
	g->ins = x->dim[1];
	if (g->groups < 1 || g->ins != w->dim[0] || g->ins % g->groups || bpg_size_mul(w->dim[1], g->groups) < 0)
		return bpg_import_fail(im, BPG_EFILE, "%lld input channels, %lld groups and weights of %lld x %lld do not fit",
		                       (long long)g->ins, (long long)g->groups, (long long)w->dim[0], (long long)w->dim[1]);
	g->outs = w->dim[1] * g->groups;
	if (bpg_const_type(v->in[1].value) == BPG_F32)
		g->narrow = bpg_const_pin_f32(v->in[1].value);
	else
		g->wide = bpg_const_pin(v->in[1].value);
	if (!g->narrow && !g->wide)
		return bpg_import_fail(im, BPG_ENOMEM, "not enough memory for the weights");
	if (bpg_given(v, 2)) {
		BPG_TRY(bpg_import_constant(im, v, 2, "the bias"));
		if (v->in[2].n != g->outs)
			return bpg_import_fail(im, BPG_EFILE, "a bias of %lld for %lld channels", (long long)v->in[2].n, (long long)g->outs);
	}
	bpg_sliding_shape(&g->s, g->batch, g->outs, &v->out.shape);
	return BPG_OK;
}

/* The input whose kernel tap k falls on output o of an axis; -1: none. */
static int64_t source(const struct bpg_sliding *s, int a, int64_t o, int64_t k)
{
	int64_t at = o + s->pad[a] - k * s->dilation[a];
	return at >= 0 && at % s->stride[a] == 0 && at / s->stride[a] < s->in[a] ? at / s->stride[a] : -1;
}

static void convtranspose_terms(const struct bpg_node *v, int64_t i, struct bpg_terms *t)
{
	const struct convtranspose *g = v->attr;
	const struct bpg_sliding *s = &g->s;
	int64_t x = i % s->out[1], y = i / s->out[1] % s->out[0], oc = i / s->out[1] / s->out[0] % g->outs;
	int64_t batch = i / s->out[1] / s->out[0] / g->outs, per_out = g->outs / g->groups, per_in = g->ins / g->groups;
	int64_t ic0 = oc / per_out * per_in, m = oc % per_out, area = s->kernel[0] * s->kernel[1];
	for (int64_t ky = 0; ky < s->kernel[0]; ky++) {
		int64_t iy = source(s, 0, y, ky);
		for (int64_t kx = 0; iy >= 0 && kx < s->kernel[1]; kx++) {
			int64_t ix = source(s, 1, x, kx);
			for (int64_t ic = ic0; ix >= 0 && ic < ic0 + per_in; ic++) {
				int64_t tap = (ic * per_out + m) * area + ky * s->kernel[1] + kx;
				double w = g->narrow ? g->narrow[tap] : g->wide[tap], err = bpg_const_error(v->in[1].value, tap);
				int64_t at = ((batch * g->ins + ic) * s->in[0] + iy) * s->in[1] + ix;
				if (v->in[0].value)
					bpg_terms_constant(t, w, err, v->in[0].value, at);
				else
					bpg_terms_add(t, 0, at, w, err);
			}
		}
	}
	if (bpg_given(v, 2))
		bpg_terms_constant(t, 1, 0, v->in[2].value, oc);
}

static void convtranspose_sample(struct bpg_rng *rng, struct bpg_sample *s)
{
	struct bpg_sliding g;
	int axes = 1 + (int)bpg_rng_below(rng, 2);
	int64_t groups = 1 + bpg_rng_below(rng, 2), per = 1 + bpg_rng_below(rng, 3), outs = 1 + bpg_rng_below(rng, 3);
	bpg_sample_op(s, "ConvTranspose", 11);
	bpg_sliding_sample(rng, s, axes, &g, false);
	bpg_sample_int(s, "group", groups);
	int64_t extra[2] = { bpg_rng_below(rng, g.stride[2 - axes]), bpg_rng_below(rng, g.stride[1]) }, shape[2];
	for (int a = 0; a < axes; a++)
		shape[a] = 1 + bpg_rng_below(rng, g.in[2 - axes + a] * g.stride[2 - axes + a]);
	if (bpg_rng_below(rng, 2))
		bpg_sample_ints(s, "output_padding", axes, axes == 1 ? extra + 1 : extra);
	if (bpg_rng_below(rng, 4) == 0)
		bpg_sample_ints(s, "output_shape", axes, shape);
	int64_t x[4] = { 1, groups * per, g.in[2 - axes] + 2, g.in[1] + 2 };
	int64_t w[4] = { groups * per, outs, g.kernel[2 - axes], g.kernel[1] };
	int64_t bias = outs * groups;
	bpg_sample_variable(s, 2 + axes, x);
	bpg_sample_constant(s, 2 + axes, w, NULL);
	if (bpg_rng_below(rng, 2))
		bpg_sample_constant(s, 1, &bias, NULL);
}

BPG_LINEAR_LAYER(convtranspose, .ops = "ConvTranspose", .import = convtranspose_import, .terms = convtranspose_terms,
                 .sample = convtranspose_sample);
