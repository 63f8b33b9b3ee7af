/* pass_transposed.c - a transposed convolution of stride s is s (on two axes s times s) plain ones between the same channels,
 * whose outputs take turns: output o reads input i by tap k where o + pad = i s + k, so with o + pad = q s + phase only taps
 * k = phase + s j matter, and they read i = q - j. One convolution with a channel for each phase, and elements picked from it, is
 * known to everything that knows convolutions. Weights are moved, none is computed. */
#include <stdlib.h>
#include <string.h>

#include "net/build.h"
#include "net/const.h"

enum { MOST_AXES = 2 };

struct axis {
	int64_t in, out, kernel, stride, pad;
	int64_t taps;             /* of a phase */
	int64_t skip, before, after; /* the convolution: first q, its pads */
	int64_t size;             /* its output */
};

struct transposed {
	int axes;
	struct axis axis[MOST_AXES];
	int64_t phases, groups, ins, outs;
};

/* An attribute with a value for each axis; false: it has not that form. */
static bool read_axes(const struct bpg_import *im, const char *name, int axes, int64_t usual, int64_t to[MOST_AXES])
{
	const int64_t *value;
	int n = bpg_import_ints(im, name, &value);

	if (n >= 0 && n < axes)
		return false;
	for (int a = 0; a < axes; a++) {
		to[a] = n < 0 ? usual : value[a];
		if (to[a] < (usual > 0) || to[a] > (int64_t)1 << 20)
			return false;
	}
	return true;
}

static bool is_given(const struct bpg_import *im, const char *name)
{
	for (int k = 0; k < im->attrs; k++)
		if (!strcmp(im->attr[k].name, name))
			return true;
	return false;
}

/* What the layer makes of the node; false: it stays a transposed convolution (several images, dilated, pads by rule). */
static bool read(struct bpg_build *b, const struct bpg_import *im, int nin, const struct bpg_value *const *in, struct transposed *t)
{
	int64_t stride[MOST_AXES], pad[MOST_AXES], dilation[MOST_AXES];
	struct bpg_import about = *im;
	struct bpg_node v = { .layer = bpg_layer_find("", "ConvTranspose"), .name = im->name, .op = im->op, .nin = nin };

	if (strcmp(im->op, "ConvTranspose") || nin < 2 || !in[0] || !in[1] || in[0]->value || !in[1]->value || !v.layer || is_given(im, "auto_pad") ||
	    is_given(im, "output_shape") || in[0]->shape.rank < 3 || in[0]->shape.rank > 2 + MOST_AXES || in[0]->shape.dim[0] != 1)
		return false;
	v.in = bpg_arena_alloc(b->net->arena, (size_t)nin, sizeof *v.in);
	for (int k = 0; v.in && k < nin; k++)
		v.in[k] = in[k] ? bpg_build_operand(in[k]) : (struct bpg_operand){ .absent = true };
	if (!v.in || bpg_import_run(&about, &v))
		return false; /* the layer will say why */
	t->axes = in[0]->shape.rank - 2;
	t->groups = bpg_import_int(&about, "group", 1);
	t->ins = in[0]->shape.dim[1];
	t->outs = v.out.shape.dim[1];
	t->phases = 1;
	if (!read_axes(&about, "strides", t->axes, 1, stride) || !read_axes(&about, "dilations", t->axes, 1, dilation) || !read_axes(&about, "pads", t->axes, 0, pad))
		return false;
	for (int a = 0; a < t->axes; a++) {
		struct axis *x = &t->axis[a];
		*x = (struct axis){ .in = in[0]->shape.dim[2 + a], .out = v.out.shape.dim[2 + a], .kernel = in[1]->shape.dim[2 + a], .stride = stride[a], .pad = pad[a] };
		if (dilation[a] != 1 && x->kernel > 1)
			return false;
		x->taps = (x->kernel + x->stride - 1) / x->stride;
		x->skip = BPG_MIN(x->pad / x->stride, x->taps - 1);
		x->before = x->taps - 1 - x->skip;
		x->after = BPG_MAX((x->pad + x->out - 1) / x->stride + 1 - x->in, (int64_t)0);
		x->size = x->in + x->before + x->after - x->taps + 1;
		t->phases *= x->stride;
	}
	return true;
}

/* Tap of the kernel that a phase has at place j of its own, turned round; -1: none. */
static int64_t tap(const struct axis *x, int64_t phase, int64_t j)
{
	int64_t k = phase + x->stride * (x->taps - 1 - j);

	return k < x->kernel ? k : -1;
}

/* [outputs, phases][inputs of a group][taps]. */
static enum bpg_status weights(struct bpg_build *b, const struct transposed *t, const struct bpg_value *old, struct bpg_value *to)
{
	const struct axis unit = { .kernel = 1, .stride = 1, .taps = 1 }, *y = t->axes > 1 ? &t->axis[0] : &unit, *x = &t->axis[t->axes - 1];
	int64_t per_in = t->ins / t->groups, per_out = t->outs / t->groups, area = y->kernel * x->kernel, taps = y->taps * x->taps;
	int64_t n = t->outs * t->phases * per_in * taps, at = 0;
	double *w = n > BPG_MAX_ELEMENTS ? NULL : bpg_calloc((size_t)n + 1, sizeof *w), *err = w ? bpg_calloc((size_t)n + 1, sizeof *err) : NULL;
	const struct bpg_const *from = old->value;

	for (int64_t c = 0; err && c < t->outs; c++)
		for (int64_t phase = 0; phase < t->phases; phase++)
			for (int64_t i = 0; i < per_in; i++)
				for (int64_t j = 0; j < taps; j++, at++) {
					int64_t ky = tap(y, phase / x->stride, j / x->taps), kx = tap(x, phase % x->stride, j % x->taps);
					int64_t k = ((c / per_out * per_in + i) * per_out + c % per_out) * area + ky * x->kernel + kx;
					if (ky < 0 || kx < 0)
						continue;
					w[at] = bpg_const_at(from, k);
					err[at] = bpg_const_error(from, k);
				}
	*to = (struct bpg_value){ .tensor = old->tensor, .known = true, .node = -1, .type = old->type, .shape = { .rank = 2 + t->axes, .dim = { t->outs * t->phases, per_in } } };
	for (int a = 0; a < t->axes; a++)
		to->shape.dim[2 + a] = t->axis[a].taps;
	to->value = err ? bpg_const_from_double(b->net->arena, bpg_const_type(from), n, w) : NULL;
	bool ok = to->value && bpg_const_set_error(to->value, err);
	free(w);
	free(err);
	return ok ? BPG_OK : bpg_nomem(b->ctx, b->net->path);
}

/* The bias of every phase. */
static enum bpg_status biases(struct bpg_build *b, const struct transposed *t, const struct bpg_value *old, struct bpg_value *to)
{
	int64_t n = t->outs * t->phases;
	double *c = bpg_calloc((size_t)(2 * n) + 1, sizeof *c), *err = c + n;

	for (int64_t i = 0; c && i < n; i++) {
		c[i] = bpg_const_at(old->value, i / t->phases);
		err[i] = bpg_const_error(old->value, i / t->phases);
	}
	*to = *old;
	to->shape = (struct bpg_shape){ .rank = 1, .dim = { n } };
	to->value = c ? bpg_const_from_double(b->net->arena, bpg_const_type(old->value), n, c) : NULL;
	bool ok = to->value && bpg_const_set_error(to->value, err);
	free(c);
	return ok ? BPG_OK : bpg_nomem(b->ctx, b->net->path);
}

/* Number of the convolution's element that is element i of the result. */
static int64_t source(const struct transposed *t, int64_t i)
{
	int64_t at[MOST_AXES], phase = 0, place = 0, positions = 1;

	for (int a = t->axes - 1; a >= 0; a--) {
		at[a] = i % t->axis[a].out + t->axis[a].pad - t->axis[a].skip * t->axis[a].stride;
		i /= t->axis[a].out;
	}
	for (int a = 0; a < t->axes; a++) {
		phase = phase * t->axis[a].stride + at[a] % t->axis[a].stride;
		place = place * t->axis[a].size + at[a] / t->axis[a].stride;
		positions *= t->axis[a].size;
	}
	return (i * t->phases + phase) * positions + place;
}

static bool same_places(const struct transposed *t)
{
	for (int a = 0; a < t->axes; a++)
		if (t->axis[a].stride != 1 || t->axis[a].size != t->axis[a].out || t->axis[a].pad != t->axis[a].skip)
			return false;
	return true;
}

static enum bpg_status node(struct bpg_build *b, const struct bpg_import *im, const char *op, int attrs, const struct bpg_import_attr *attr, int nin,
                            const struct bpg_value *const *in, const char *tensor, struct bpg_value *out)
{
	struct bpg_import about = *im;

	about.op = bpg_arena_str(b->net->arena, op);
	about.opset = 13;
	about.attrs = attrs;
	about.attr = attr;
	about.output_index = 0;
	about.output_count = 1;
	if (!about.op || !tensor)
		return bpg_nomem(b->ctx, b->net->path);
	return bpg_build_node(b, &about, bpg_layer_find("", op), nin, in, tensor, out);
}

static enum bpg_status indices(struct bpg_build *b, int64_t n, const struct bpg_shape *shape, int64_t *k, struct bpg_value *to)
{
	*to = (struct bpg_value){ .tensor = "", .known = true, .node = -1, .type = BPG_I64, .shape = *shape };
	to->value = bpg_const_new(b->net->arena, BPG_I64, n, k);
	return to->value ? BPG_OK : bpg_nomem(b->ctx, b->net->path);
}

/* z as one axis, then its elements in the order of the result. */
static enum bpg_status pick(struct bpg_build *b, const struct bpg_import *im, const struct transposed *t, const struct bpg_value *z, const char *tensor,
                            struct bpg_value *out)
{
	struct bpg_shape shape = { .rank = 2 + t->axes, .dim = { 1, t->outs } }, one = { .rank = 1, .dim = { 1 } };
	struct bpg_value flat, length, at;
	int64_t whole = -1;

	for (int a = 0; a < t->axes; a++)
		shape.dim[2 + a] = t->axis[a].out;
	int64_t n = bpg_shape_count(&shape), *k = bpg_calloc((size_t)n + 1, sizeof *k);
	for (int64_t i = 0; k && i < n; i++)
		k[i] = source(t, i);
	enum bpg_status st = k ? indices(b, n, &shape, k, &at) : bpg_nomem(b->ctx, b->net->path);
	free(k);
	BPG_TRY(st);
	BPG_TRY(indices(b, 1, &one, &whole, &length));
	BPG_TRY(node(b, im, "Reshape", 0, NULL, 2, (const struct bpg_value *[]){ z, &length }, bpg_arena_str(b->net->arena, ""), &flat));
	return node(b, im, "Gather", 0, NULL, 2, (const struct bpg_value *[]){ &flat, &at }, tensor, out);
}

enum bpg_status bpg_pass_transposed(struct bpg_build *b, const struct bpg_import *im, int nin, const struct bpg_value *const *in, const char *tensor,
                                    struct bpg_value *out, bool *done)
{
	struct transposed t;
	struct bpg_value w, bias, z;
	int64_t pads[2 * MOST_AXES];

	*done = false;
	if (!read(b, im, nin, in, &t))
		return BPG_OK;
	*done = true;
	for (int a = 0; a < t.axes; a++)
		pads[a] = t.axis[a].before, pads[t.axes + a] = t.axis[a].after;
	const struct bpg_import_attr attr[2] = { { .name = "pads", .kind = BPG_ATTR_INTS, .n = 2 * t.axes, .ints = pads }, { .name = "group", .kind = BPG_ATTR_INT, .i = t.groups } };
	const struct bpg_value *operand[3] = { in[0], &w, &bias };
	bool biased = nin > 2 && in[2], same = same_places(&t);
	BPG_TRY(weights(b, &t, in[1], &w));
	if (biased)
		BPG_TRY(biases(b, &t, in[2], &bias));
	BPG_TRY(node(b, im, "Conv", 2, attr, biased ? 3 : 2, operand, same ? tensor : bpg_arena_str(b->net->arena, ""), same ? out : &z));
	return same ? BPG_OK : pick(b, im, &t, &z, tensor, out);
}
