/* pass_normalization.c - LayerNormalization, RMSNormalization, InstanceNormalization and GroupNormalization, spelled out:
 *
 *   d = x - mean(x);  y = d / sqrt(mean(d * d) + epsilon) * scale + bias
 *
 * with means over the last axes, over the spatial axes, or over the axes of a group. The pieces have their own layers and
 * bounds; pass_norm.c sees the division and knows that its result is at most sqrt(n). */
#include <string.h>

#include "net/build.h"
#include "net/const.h"

struct spelling {
	struct bpg_build *b;
	const struct bpg_import *im;
	const char *tensor;       /* name of the result */
	double epsilon;
	int axes;
	int64_t axis[BPG_MAX_RANK];
};

/* One node; `last` gets the name of the result. */
static enum bpg_status node(const struct spelling *s, const char *op, const struct bpg_value *a, const struct bpg_value *c,
                            bool last, struct bpg_value *out)
{
	struct bpg_arena *arena = s->b->net->arena;
	const struct bpg_layer *layer = bpg_layer_find("", op);
	const struct bpg_value *in[2] = { a, c };
	struct bpg_import_attr axes = { .name = "axes", .kind = BPG_ATTR_INTS, .n = s->axes, .ints = s->axis };
	struct bpg_import im = *s->im;
	const char *name = last ? s->tensor : bpg_arena_str(arena, "");
	if (!layer)
		return bpg_fail(s->b->ctx, BPG_EUNSUPPORTED, "%s: no layer imports %s", s->b->net->path, op);
	im.op = bpg_arena_str(arena, op);
	if (!name || !im.op)
		return bpg_nomem(s->b->ctx, s->b->net->path);
	im.opset = 13;
	im.output_index = 0;
	im.output_count = 1;
	im.attrs = c ? 0 : 1;
	im.attr = &axes;
	if (!strcmp(op, "Sqrt"))
		im.attrs = 0;
	return bpg_build_node(s->b, &im, layer, c ? 2 : 1, in, name, out);
}

static enum bpg_status number(const struct spelling *s, double x, struct bpg_value *out)
{
	*out = (struct bpg_value){ .tensor = "", .known = true, .node = -1, .type = BPG_F64 };
	out->value = bpg_const_new(s->b->net->arena, BPG_F64, 1, &x);
	return out->value ? BPG_OK : bpg_nomem(s->b->ctx, s->b->net->path);
}

/* x over the root of its mean square, or (centre) the same of x less its mean. */
static enum bpg_status normalise(const struct spelling *s, const struct bpg_value *x, bool centre, bool last, struct bpg_value *out)
{
	struct bpg_value mean, d = *x, two, e, t;
	if (centre) {
		BPG_TRY(node(s, "ReduceMean", x, NULL, false, &mean));
		BPG_TRY(node(s, "Sub", x, &mean, false, &d));
	}
	BPG_TRY(number(s, 2, &two));
	BPG_TRY(number(s, s->epsilon, &e));
	BPG_TRY(node(s, "Pow", &d, &two, false, &t));
	BPG_TRY(node(s, "ReduceMean", &t, NULL, false, &mean));
	BPG_TRY(node(s, "Add", &mean, &e, false, &t));
	BPG_TRY(node(s, "Sqrt", &t, NULL, false, &mean));
	return node(s, "Div", &d, &mean, last, out);
}

/* The operand as a column per channel (or group) before `spatial` axes: element c is that of channel c. */
static enum bpg_status column(const struct bpg_import *im, const struct bpg_value *v, int64_t count, int spatial,
                              struct bpg_value *out)
{
	*out = *v;
	if (bpg_shape_count(&v->shape) != count)
		return bpg_import_fail(im, BPG_EFILE, "scale or bias has %lld elements, expected %lld",
		                       (long long)bpg_shape_count(&v->shape), (long long)count);
	out->shape = (struct bpg_shape){ .rank = 1 + spatial };
	for (int a = 0; a <= spatial; a++)
		out->shape.dim[a] = a ? 1 : count;
	return BPG_OK;
}

static enum bpg_status scaled(const struct spelling *s, struct bpg_value *y, const struct bpg_value *scale,
                              const struct bpg_value *bias, struct bpg_value *out)
{
	struct bpg_value t;
	BPG_TRY(node(s, "Mul", y, scale, !bias, bias ? &t : out));
	return bias ? node(s, "Add", &t, bias, true, out) : BPG_OK;
}

/* Over the axes from `axis` on. */
static enum bpg_status over_last(struct spelling *s, const struct bpg_value *const *in, int nin, bool centre, struct bpg_value *out)
{
	int first;
	struct bpg_value y;
	const struct bpg_value *bias = nin > 2 ? in[2] : NULL;
	BPG_TRY(bpg_import_axis(s->im, bpg_import_int(s->im, "axis", -1), in[0]->shape.rank, &first));
	for (int a = first; a < in[0]->shape.rank; a++)
		s->axis[s->axes++] = a;
	BPG_TRY(normalise(s, in[0], centre, false, &y));
	return scaled(s, &y, in[1], bias, out);
}

static enum bpg_status over_groups(struct spelling *s, const struct bpg_value *const *in, int64_t groups, bool per_group,
                                   struct bpg_value *out)
{
	struct bpg_shape shape = in[0]->shape;
	struct bpg_value x = *in[0], y, scale, bias;
	int64_t channels = shape.rank > 1 ? shape.dim[1] : 0, batch = shape.rank > 1 ? shape.dim[0] : 0,
	        n = bpg_shape_count(&shape);
	if (channels < 1 || batch < 1 || n < 1 || groups < 1 || channels % groups)
		return bpg_import_fail(s->im, BPG_EFILE, "%lld channels cannot be normalised in %lld groups", (long long)channels,
		                       (long long)groups);
	/* Reshapes keep the order of elements: another view of the same tensor. */
	x.shape = (struct bpg_shape){ .rank = 3, .dim = { batch, groups, n / batch / groups } };
	s->axis[s->axes++] = 2;
	BPG_TRY(normalise(s, &x, true, false, &y));
	if (!per_group)
		y.shape = shape;
	BPG_TRY(column(s->im, in[1], per_group ? groups : channels, per_group ? 1 : shape.rank - 2, &scale));
	BPG_TRY(column(s->im, in[2], per_group ? groups : channels, per_group ? 1 : shape.rank - 2, &bias));
	BPG_TRY(scaled(s, &y, &scale, &bias, out));
	out->shape = shape;
	return BPG_OK;
}

enum bpg_status bpg_pass_normalization(struct bpg_build *b, const struct bpg_import *im, int nin, const struct bpg_value *const *in,
                                       const char *tensor, struct bpg_value *out, bool *done)
{
	bool layer = !strcmp(im->op, "LayerNormalization"), rms = !strcmp(im->op, "RMSNormalization");
	bool instance = !strcmp(im->op, "InstanceNormalization"), group = !strcmp(im->op, "GroupNormalization");
	struct spelling s = { .b = b, .im = im, .tensor = tensor };
	*done = layer || rms || instance || group;
	if (!*done)
		return BPG_OK;
	if (nin < (layer || rms ? 2 : 3) || nin > (rms ? 2 : 3) || !in[0] || !in[1] || (!layer && nin > 2 && !in[2]))
		return bpg_import_fail(im, BPG_EFILE, "%d operands, or one is missing", nin);
	s.epsilon = bpg_import_float(im, "epsilon", 1e-5f);
	if (!(s.epsilon >= 0))
		return bpg_import_fail(im, BPG_EFILE, "epsilon is %g", s.epsilon);
	if (layer || rms)
		return over_last(&s, in, nin, layer, out);
	int64_t groups = instance ? (in[0]->shape.rank > 1 ? in[0]->shape.dim[1] : 0) : bpg_import_int(im, "num_groups", 0);
	return over_groups(&s, in, groups, group && bpg_import_opset(im) < 21, out);
}
