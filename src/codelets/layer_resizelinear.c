/* layer_resizelinear.c - Resize and Upsample, linear interpolation: every output element is a mean of the two nearest
 * positions on each axis that changes its size. Coordinates are what double makes of the formulas of the standard (runtimes take
 * float32 and differ among each other); what products of weights are off is stated. */
#include <math.h>
#include <string.h>

#include "codelets/resize.h"

/* Positions on one axis; null: the same. */
struct taps {
	int64_t *low;             /* [out size]; the other tap is the next position */
	double *part;             /* [out size] weight of the other tap, 0: none */
	double err;               /* of the weights */
};

struct resizelinear {
	struct taps axis[BPG_MAX_RANK];
};

static double coordinate(enum bpg_coordinates how, double x, double scale, int64_t in, int64_t out)
{
	switch (how) {
	case BPG_HALF_PIXEL: return (x + 0.5) / scale - 0.5;
	case BPG_PYTORCH_HALF_PIXEL: return out > 1 ? (x + 0.5) / scale - 0.5 : 0;
	case BPG_ALIGN_CORNERS: return out == 1 ? 0 : x * (double)(in - 1) / (double)(out - 1);
	default: return x / scale;
	}
}

static bool set_taps(const struct bpg_import *im, struct taps *t, enum bpg_coordinates how, double scale, int64_t in, int64_t out)
{
	t->low = bpg_import_alloc(im, (size_t)out + 1, sizeof *t->low);
	t->part = bpg_import_alloc(im, (size_t)out + 1, sizeof *t->part);
	t->err = 0x1p-50 * (double)(in + 2);
	for (int64_t i = 0; t->low && t->part && i < out; i++) {
		double x = fmin(fmax(coordinate(how, (double)i, scale, in, out), 0), (double)(in - 1));
		t->low[i] = (int64_t)x;
		t->part[i] = x - floor(x);
		if (t->low[i] == in - 1 && in > 1) { /* the last position has no next one */
			t->low[i] = in - 2;
			t->part[i] += 1;
		}
	}
	return t->low && t->part;
}

static enum bpg_status resizelinear_import(const struct bpg_import *im, struct bpg_node *v)
{
	static const char *const mode[] = { "linear", "bilinear", "trilinear", NULL };
	bool simple = !strcmp(v->op, "Upsample") || bpg_import_opset(im) < 11;
	double scale[BPG_MAX_RANK];
	int unused, how;
	BPG_TRY(bpg_import_operands(im, v, 1, 4));
	struct resizelinear *g = bpg_import_alloc(im, 1, sizeof *g);
	if (!g)
		return bpg_import_fail(im, BPG_ENOMEM, "not enough memory");
	v->attr = g;
	v->out.type = v->in[0].type;
	BPG_TRY(bpg_resize_name(im, "mode", "nearest", mode, &unused));
	BPG_TRY(bpg_resize_name(im, "keep_aspect_ratio_policy", "stretch", bpg_resize_policies, &unused));
	BPG_TRY(bpg_resize_name(im, "coordinate_transformation_mode", simple ? "asymmetric" : "half_pixel",
	                        bpg_resize_coordinates, &how));
	if (bpg_import_int(im, "antialias", 0) != 0 || how == BPG_TF_HALF_PIXEL_FOR_NN)
		return bpg_import_fail(im, BPG_EUNSUPPORTED, "linear interpolation with antialias or tf_half_pixel_for_nn");
	BPG_TRY(bpg_resize_place(im, v, scale));
	if (!v->in[0].value)
		for (int k = 1; k < v->nin; k++)
			if (!v->in[k].absent)
				BPG_TRY(bpg_import_constant(im, v, k, "the region or the scales"));
	for (int a = 0; a < v->out.shape.rank; a++) {
		int64_t in = v->in[0].shape.dim[a], out = v->out.shape.dim[a];
		if ((in != out || scale[a] != 1) && !set_taps(im, &g->axis[a], (enum bpg_coordinates)how, scale[a], in, out))
			return bpg_import_fail(im, BPG_ENOMEM, "not enough memory");
	}
	return BPG_OK;
}

static void resizelinear_terms(const struct bpg_node *v, int64_t i, struct bpg_terms *t)
{
	const struct resizelinear *g = v->attr;
	int64_t at[BPG_MAX_RANK], base = 0, stride = 1, step[BPG_MAX_RANK];
	double part[BPG_MAX_RANK], err = 0;
	int moving = 0;
	for (int a = v->out.shape.rank - 1; a >= 0; a--) {
		int64_t k = i % v->out.shape.dim[a];
		i /= v->out.shape.dim[a];
		at[a] = g->axis[a].low ? g->axis[a].low[k] : k;
		base += at[a] * stride;
		if (g->axis[a].low && g->axis[a].part[k] != 0) {
			part[moving] = g->axis[a].part[k];
			step[moving++] = stride;
		}
		if (g->axis[a].low)
			err += g->axis[a].err;
		stride *= v->in[0].shape.dim[a];
	}
	for (int corner = 0; corner < 1 << moving; corner++) {
		int64_t from = base;
		double weight = 1;
		for (int a = 0; a < moving; a++) {
			weight *= corner >> a & 1 ? part[a] : 1 - part[a];
			from += corner >> a & 1 ? step[a] : 0;
		}
		if (v->in[0].value)
			bpg_terms_constant(t, weight, err, v->in[0].value, from);
		else if (weight != 0)
			bpg_terms_add(t, 0, from, weight, err);
	}
}

static void resizelinear_sample(struct bpg_rng *rng, struct bpg_sample *s)
{
	static const char *const how[] = { "half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric" };
	static const double scale[] = { 1, 2, 3, 1.5, 0.5, 0.7 };
	int64_t dim[4] = { 1, 1 + bpg_rng_below(rng, 3), 2 + bpg_rng_below(rng, 4), 2 + bpg_rng_below(rng, 4) };
	int64_t size[4], four[1] = { 4 };
	double scales[4] = { 1, 1, (float)scale[bpg_rng_below(rng, 6)], (float)scale[bpg_rng_below(rng, 6)] };
	int form = (int)bpg_rng_below(rng, 3);   /* Upsample, Resize with scales, with sizes */
	for (int i = 0; i < 4; i++)
		size[i] = i < 2 ? dim[i] : 1 + bpg_rng_below(rng, 9);
	bpg_sample_op(s, form == 0 ? "Upsample" : "Resize", form == 0 ? 9 : 13);
	bpg_sample_string(s, "mode", "linear");
	if (form > 0)
		bpg_sample_string(s, "coordinate_transformation_mode", how[bpg_rng_below(rng, 4)]);
	bpg_sample_variable(s, 4, dim);
	if (form > 0)
		bpg_sample_absent(s);
	if (form == 2) {
		bpg_sample_absent(s);
		bpg_sample_integers(s, 4, size);
	} else {
		bpg_sample_constant(s, 1, four, scales);
	}
}

BPG_LINEAR_LAYER(resizelinear, .ops = "Resize Upsample", .import = resizelinear_import, .terms = resizelinear_terms,
                 .sample = resizelinear_sample);
