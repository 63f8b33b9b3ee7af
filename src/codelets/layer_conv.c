/* layer_conv.c - convolution over one or two spatial axes: constant weights [M, C/groups, ...], optional constant bias [M]. */
#include "codelets/family.h"
#include "codelets/sliding.h"

#define PINNED ((int64_t)1 << 20)

struct conv {
	struct bpg_sliding s;
	int64_t batch, ins, outs, groups;
};

static enum bpg_status conv_import(const struct bpg_import *im, struct bpg_node *v)
{
	BPG_TRY(bpg_import_operands(im, v, 2, 3));
	struct conv *g = bpg_import_alloc(im, 1, sizeof *g);
	if (!g)
		return bpg_import_fail(im, BPG_ENOMEM, "not enough memory");
	v->attr = g;
	const struct bpg_shape *x = &v->in[0].shape, *w = &v->in[1].shape;
	if (w->rank != x->rank || x->rank < 3)
		return bpg_import_fail(im, BPG_EFILE, "input of rank %d and weights of rank %d", x->rank, w->rank);
	BPG_TRY(bpg_import_constant(im, v, 1, "the weights"));
	BPG_TRY(bpg_sliding_import(im, x, w->dim + 2, &g->s));
	BPG_TRY(bpg_sliding_place(im, &g->s, false));
	g->groups = bpg_import_int(im, "group", 1);
	g->batch = x->dim[0];
	g->ins = x->dim[1];
	g->outs = w->dim[0];
	if (g->groups < 1 || g->ins % g->groups || g->outs % g->groups || g->ins / g->groups != w->dim[1])
		return bpg_import_fail(im, BPG_EFILE, "%lld input channels, %lld groups and weights of %lld x %lld do not fit",
		                       (long long)g->ins, (long long)g->groups, (long long)w->dim[0], (long long)w->dim[1]);
	/* terms reads element by element; the rest of the library by rows, so that a large kernel may stay in its file */
	bool pin = v->in[1].n <= PINNED || g->batch != 1;
	if (pin && bpg_const_type(v->in[1].value) == BPG_F32 && !bpg_const_pin_f32(v->in[1].value))
		return bpg_import_fail(im, BPG_ENOMEM, "not enough memory for the weights");
	if (bpg_given(v, 2)) {
		BPG_TRY(bpg_import_constant(im, v, 2, "the bias"));
		if (v->in[2].n != g->outs)
			return bpg_import_fail(im, BPG_EFILE, "a bias of %lld for %lld channels", (long long)v->in[2].n, (long long)g->outs);
	}
	bpg_sliding_shape(&g->s, g->batch, g->outs, &v->out.shape);
	return BPG_OK;
}

static void conv_terms(const struct bpg_node *v, int64_t i, struct bpg_terms *t)
{
	const struct conv *g = v->attr;
	const struct bpg_sliding *s = &g->s;
	int64_t x = i % s->out[1], y = i / s->out[1] % s->out[0], oc = i / s->out[1] / s->out[0] % g->outs;
	int64_t batch = i / s->out[1] / s->out[0] / g->outs, per = g->ins / g->groups, ic0 = oc / (g->outs / g->groups) * per;
	for (int64_t ic = 0; ic < per; ic++)
		for (int64_t ky = 0; ky < s->kernel[0]; ky++)
			for (int64_t kx = 0; kx < s->kernel[1]; kx++) {
				int64_t iy = y * s->stride[0] - s->pad[0] + ky * s->dilation[0];
				int64_t ix = x * s->stride[1] - s->pad[1] + kx * s->dilation[1];
				if (iy < 0 || iy >= s->in[0] || ix < 0 || ix >= s->in[1])
					continue;
				int64_t tap = ((oc * per + ic) * s->kernel[0] + ky) * s->kernel[1] + kx;
				double w = bpg_const_at(v->in[1].value, tap), err = bpg_const_error(v->in[1].value, tap);
				int64_t at = ((batch * g->ins + ic0 + ic) * s->in[0] + iy) * s->in[1] + ix;
				if (v->in[0].value)
					bpg_terms_constant(t, w, err, v->in[0].value, at);
				else
					bpg_terms_add(t, 0, at, w, err);
			}
	if (bpg_given(v, 2))
		bpg_terms_constant(t, 1, 0, v->in[2].value, oc);
}

/* A window that covers the whole input, once: a matrix. */
static bool conv_dense(const struct bpg_node *v, struct bpg_dense *d)
{
	const struct conv *g = v->attr;
	if (g->batch != 1 || g->groups != 1 || v->in[0].value)
		return false;
	for (int a = 0; a < 2; a++)
		if (g->s.out[a] != 1 || g->s.kernel[a] != g->s.in[a] || g->s.pad[a] != 0 || (g->s.dilation[a] != 1 && g->s.kernel[a] > 1))
			return false;
	int64_t ins = v->in[0].n;
	*d = (struct bpg_dense){ .operand = 0, .weight = v->in[1].value, .outs = g->outs, .ins = ins, .stride_out = ins,
		                 .stride_in = 1, .scale = 1, .bias = bpg_given(v, 2) ? v->in[2].value : NULL, .bias_stride = 1,
		                 .bias_scale = 1 };
	return true;
}

static bool conv_conv(const struct bpg_node *v, struct bpg_conv *c)
{
	const struct conv *g = v->attr;
	const struct bpg_sliding *s = &g->s;
	if (g->batch != 1 || v->in[0].value)
		return false;
	int64_t area = s->kernel[0] * s->kernel[1];
	*c = (struct bpg_conv){ .operand = 0, .weight = v->in[1].value, .bias = bpg_given(v, 2) ? v->in[2].value : NULL,
		                .in_channels = g->ins, .in_size = { s->in[0], s->in[1] },
		                .in_stride = { s->in[0] * s->in[1], s->in[1], 1 },
		                .out_channels = g->outs, .out_size = { s->out[0], s->out[1] },
		                .out_stride = { s->out[0] * s->out[1], s->out[1], 1 },
		                .kernel = { s->kernel[0], s->kernel[1] }, .stride = { s->stride[0], s->stride[1] },
		                .pad = { s->pad[0], s->pad[1] }, .dilation = { s->dilation[0], s->dilation[1] }, .groups = g->groups,
		                .w_stride = { g->ins / g->groups * area, area, s->kernel[1], 1 } };
	return true;
}

static void conv_sample(struct bpg_rng *rng, struct bpg_sample *s)
{
	struct bpg_sliding g;
	int axes = 1 + (int)bpg_rng_below(rng, 2);
	int64_t groups = 1 + bpg_rng_below(rng, 3), per = 1 + bpg_rng_below(rng, 3), outs = groups * (1 + bpg_rng_below(rng, 3));
	bpg_sample_op(s, "Conv", 11);
	bpg_sliding_sample(rng, s, axes, &g, false);
	bpg_sample_int(s, "group", groups);
	int64_t batch = bpg_rng_below(rng, 4) ? 1 : 2;
	int64_t x[4] = { batch, groups * per, g.in[2 - axes], g.in[1] }, w[4] = { outs, per, g.kernel[2 - axes], g.kernel[1] };
	bpg_sample_variable(s, 2 + axes, x);
	bpg_sample_constant(s, 2 + axes, w, NULL);
	if (bpg_rng_below(rng, 2))
		bpg_sample_constant(s, 1, &outs, NULL);
}

BPG_LINEAR_LAYER(conv, .ops = "Conv", .import = conv_import, .terms = conv_terms, .dense = conv_dense, .conv = conv_conv,
                 .sample = conv_sample);
