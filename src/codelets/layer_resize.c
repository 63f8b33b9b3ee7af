/* layer_resize.c - Resize and Upsample, nearest neighbour: every output element is one input element.
 *
 * Which one is decided in float32, as runtimes do, so that ties fall the same way. */
#include <math.h>
#include <string.h>

#include "codelets/resize.h"

enum nearest { ROUND_PREFER_FLOOR, ROUND_PREFER_CEIL, FLOOR, CEIL, SIMPLE };

struct resize {
	int64_t *from[BPG_MAX_RANK]; /* [out size] index on the axis of the operand; null: the same */
};

static float coordinate(enum bpg_coordinates how, float x, float scale, int64_t in, int64_t out)
{
	switch (how) {
	case BPG_HALF_PIXEL: return (x + 0.5f) / scale - 0.5f;
	case BPG_PYTORCH_HALF_PIXEL: return out > 1 ? (x + 0.5f) / scale - 0.5f : 0;
	case BPG_ALIGN_CORNERS: return out == 1 ? 0 : x * (float)(in - 1) / (float)(out - 1);
	case BPG_TF_HALF_PIXEL_FOR_NN: return (x + 0.5f) / scale;
	default: return x / scale;
	}
}

static int64_t nearest(enum nearest how, float x, bool down)
{
	switch (how) {
	case ROUND_PREFER_FLOOR: return (int64_t)(x == floorf(x) + 0.5f ? floorf(x) : roundf(x));
	case ROUND_PREFER_CEIL: return (int64_t)roundf(x);
	case FLOOR: return (int64_t)floorf(x);
	case CEIL: return (int64_t)ceilf(x);
	default: return (int64_t)(down ? ceilf(x) : truncf(x));
	}
}

static enum bpg_status resize_import(const struct bpg_import *im, struct bpg_node *v)
{
	static const char *const mode_name[] = { "nearest", NULL };
	static const char *const nearest_name[] = { "round_prefer_floor", "round_prefer_ceil", "floor", "ceil", NULL };
	bool upsample = !strcmp(v->op, "Upsample"), simple = upsample || bpg_import_opset(im) < 11;
	double scale[BPG_MAX_RANK];
	int unused, how, rounding;
	BPG_TRY(bpg_import_operands(im, v, 1, upsample ? 2 : 4));
	struct resize *g = bpg_import_alloc(im, 1, sizeof *g);
	if (!g)
		return bpg_import_fail(im, BPG_ENOMEM, "not enough memory");
	v->attr = g;
	v->out.type = v->in[0].type;
	BPG_TRY(bpg_resize_name(im, "mode", "nearest", mode_name, &unused));
	BPG_TRY(bpg_resize_name(im, "keep_aspect_ratio_policy", "stretch", bpg_resize_policies, &unused));
	BPG_TRY(bpg_resize_name(im, "coordinate_transformation_mode", simple ? "asymmetric" : "half_pixel",
	                        bpg_resize_coordinates, &how));
	BPG_TRY(bpg_resize_name(im, "nearest_mode", "round_prefer_floor", nearest_name, &rounding));
	if (simple)
		rounding = SIMPLE;
	BPG_TRY(bpg_resize_place(im, v, scale));
	for (int a = 0; a < v->out.shape.rank; a++) {
		int64_t in = v->in[0].shape.dim[a], out = v->out.shape.dim[a];
		if (in == out && scale[a] == 1)
			continue;
		g->from[a] = bpg_import_alloc(im, (size_t)out + 1, sizeof *g->from[a]);
		if (!g->from[a])
			return bpg_import_fail(im, BPG_ENOMEM, "not enough memory");
		for (int64_t i = 0; i < out; i++) {
			float x = coordinate((enum bpg_coordinates)how, (float)i, (float)scale[a], in, out);
			int64_t at = nearest((enum nearest)rounding, x, scale[a] < 1);
			g->from[a][i] = at < 0 ? 0 : at >= in ? in - 1 : at;
		}
	}
	return BPG_OK;
}

static void resize_terms(const struct bpg_node *v, int64_t i, struct bpg_terms *t)
{
	const struct resize *g = v->attr;
	int64_t at = 0, stride = 1;
	for (int a = v->out.shape.rank - 1; a >= 0; a--) {
		int64_t k = i % v->out.shape.dim[a];
		i /= v->out.shape.dim[a];
		at += (g->from[a] ? g->from[a][k] : k) * stride;
		stride *= v->in[0].shape.dim[a];
	}
	bpg_terms_take(v, t, 0, at);
}

static void resize_sample(struct bpg_rng *rng, struct bpg_sample *s)
{
	static const char *const how[] = { "half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric" };
	static const char *const nearest[] = { "round_prefer_floor", "round_prefer_ceil", "floor", "ceil" };
	static const double scale[] = { 1, 2, 3, 1.5, 0.5, 0.7 };
	int64_t dim[4] = { 1, 1 + bpg_rng_below(rng, 3), 2 + bpg_rng_below(rng, 4), 2 + bpg_rng_below(rng, 4) };
	int64_t size[4], four[1] = { 4 };
	double scales[4] = { 1, 1, (float)scale[bpg_rng_below(rng, 6)], (float)scale[bpg_rng_below(rng, 6)] };
	int form = (int)bpg_rng_below(rng, 4);   /* Upsample, Resize of opset 10, with scales, with sizes */
	for (int i = 0; i < 4; i++)
		size[i] = i < 2 ? dim[i] : 1 + bpg_rng_below(rng, 9);
	bpg_sample_op(s, form == 0 ? "Upsample" : "Resize", form == 0 ? 9 : form == 1 ? 10 : 13);
	bpg_sample_string(s, "mode", "nearest");
	if (form > 1) {
		bpg_sample_string(s, "coordinate_transformation_mode", how[bpg_rng_below(rng, 4)]);
		bpg_sample_string(s, "nearest_mode", nearest[bpg_rng_below(rng, 4)]);
	}
	bpg_sample_variable(s, 4, dim);
	if (form > 1)
		bpg_sample_absent(s);
	if (form == 3) {
		bpg_sample_absent(s);
		bpg_sample_integers(s, 4, size);
	} else {
		bpg_sample_constant(s, 1, four, scales);
	}
}

BPG_LINEAR_LAYER(resize, .ops = "Resize Upsample", .traits = BPG_SELECT, .import = resize_import, .terms = resize_terms,
                 .sample = resize_sample);
