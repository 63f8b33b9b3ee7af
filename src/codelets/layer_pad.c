/* layer_pad.c - elements added around the operand: a constant, the edge repeated, or the operand mirrored. Negative pads
 * cut elements off. */
#include <math.h>
#include <string.h>

#include "codelets/family.h"

enum mode { CONSTANT, EDGE, REFLECT, WRAP };

struct pad {
	enum mode mode;
	int64_t before[BPG_MAX_RANK];
	double value, value_err;
};

static enum bpg_status read_mode(const struct bpg_import *im, enum mode *mode)
{
	static const char *const name[] = { "constant", "edge", "reflect", "wrap" };
	const char *given = bpg_import_string(im, "mode", "constant");
	for (int i = 0; i < 4; i++)
		if (!strcmp(given, name[i])) {
			*mode = (enum mode)i;
			return BPG_OK;
		}
	return bpg_import_fail(im, BPG_EUNSUPPORTED, "unknown mode; constant, edge, reflect and wrap are supported");
}

static enum bpg_status read_value(const struct bpg_import *im, const struct bpg_node *v, double *value, double *err)
{
	*err = 0;
	*value = bpg_import_float(im, "value", 0);
	if (bpg_given(v, 2)) {
		BPG_TRY(bpg_import_constant(im, v, 2, "the value"));
		*value = v->in[2].n > 0 ? bpg_const_at(v->in[2].value, 0) : 0;
		*err = bpg_const_most_error(v->in[2].value);
	}
	if (!isfinite(*value))
		return bpg_import_fail(im, BPG_EUNSUPPORTED, "the value is not finite");
	return BPG_OK;
}

/* One axis: the sizes must fit the mode. */
static enum bpg_status check_axis(const struct bpg_import *im, enum mode mode, int64_t size, int64_t before, int64_t after)
{
	const int64_t most = (int64_t)1 << 33;
	if (before < -most || before > most || after < -most || after > most || size + before + after < 0)
		return bpg_import_fail(im, BPG_EFILE, "pads %lld and %lld of an axis of size %lld", (long long)before, (long long)after,
		                       (long long)size);
	if (mode == CONSTANT || (before <= 0 && after <= 0))
		return BPG_OK;
	if (before < 0 || after < 0)
		return bpg_import_fail(im, BPG_EUNSUPPORTED, "an axis that is cut on one side and mirrored on the other");
	if (size == 0 || (mode == REFLECT && (before >= size || after >= size)))
		return bpg_import_fail(im, BPG_EUNSUPPORTED, "pads %lld and %lld of an axis of size %lld are too large", (long long)before,
		                       (long long)after, (long long)size);
	return BPG_OK;
}

static enum bpg_status pad_import(const struct bpg_import *im, struct bpg_node *v)
{
	BPG_TRY(bpg_import_operands(im, v, 1, 4));
	struct pad *g = bpg_import_alloc(im, 1, sizeof *g);
	if (!g)
		return bpg_import_fail(im, BPG_ENOMEM, "not enough memory");
	v->attr = g;
	const struct bpg_shape *in = &v->in[0].shape;
	int64_t pads[2 * BPG_MAX_RANK], axes[BPG_MAX_RANK], after[BPG_MAX_RANK] = { 0 };
	int count, named;
	BPG_TRY(read_mode(im, &g->mode));
	BPG_TRY(bpg_import_list(im, v, bpg_import_has(im, "paddings") ? "paddings" : "pads", 1, pads, 2 * BPG_MAX_RANK, &count));
	BPG_TRY(bpg_import_list(im, v, NULL, 3, axes, BPG_MAX_RANK, &named));
	BPG_TRY(read_value(im, v, &g->value, &g->value_err));
	if (named < 0)
		for (named = 0; named < in->rank; named++)
			axes[named] = named;
	if (count != 2 * named)
		return bpg_import_fail(im, BPG_EFILE, "%d pads for %d axes", count, named);
	for (int i = 0; i < named; i++) {
		int axis;
		BPG_TRY(bpg_import_axis(im, axes[i], in->rank, &axis));
		g->before[axis] = pads[i];
		after[axis] = pads[named + i];
	}
	v->out.shape = *in;
	for (int a = 0; a < in->rank; a++) {
		BPG_TRY(check_axis(im, g->mode, in->dim[a], g->before[a], after[a]));
		v->out.shape.dim[a] = in->dim[a] + g->before[a] + after[a];
	}
	v->out.type = v->in[0].type;
	return BPG_OK;
}

/* Index on an axis of the operand that the padded index reads, -1: none. */
static int64_t source(enum mode mode, int64_t at, int64_t size)
{
	if (at >= 0 && at < size)
		return at;
	switch (mode) {
	case EDGE: return at < 0 ? 0 : size - 1;
	case REFLECT: return at < 0 ? -at : 2 * (size - 1) - at;
	case WRAP: return (at % size + size) % size;
	default: return -1;
	}
}

static void pad_terms(const struct bpg_node *v, int64_t i, struct bpg_terms *t)
{
	const struct pad *g = v->attr;
	const struct bpg_shape *in = &v->in[0].shape, *out = &v->out.shape;
	int64_t at = 0, stride = 1;
	for (int a = out->rank - 1; a >= 0; a--) {
		int64_t from = source(g->mode, i % out->dim[a] - g->before[a], in->dim[a]);
		i /= out->dim[a];
		if (from < 0) {
			t->bias = g->value;
			t->bias_err = g->value_err;
			return;
		}
		at += from * stride;
		stride *= in->dim[a];
	}
	bpg_terms_take(v, t, 0, at);
}

static void pad_sample(struct bpg_rng *rng, struct bpg_sample *s)
{
	static const char *const mode[] = { "constant", "edge", "reflect", "wrap" };
	int64_t dim[3], pads[6], axes[2] = { 2, -2 }, scalar[1] = { 1 };
	int which = (int)bpg_rng_below(rng, 4), form = which == 3 ? 2 : (int)bpg_rng_below(rng, 3), named = form == 2 ? 2 : 3;
	double value = 0.25;
	for (int i = 0; i < 3; i++)
		dim[i] = 4 + bpg_rng_below(rng, 3);
	for (int i = 0; i < named; i++) {
		bool cut = bpg_rng_below(rng, 3) == 0;
		for (int side = 0; side < 2; side++)
			pads[side * named + i] = cut ? -bpg_rng_below(rng, 3) : bpg_rng_below(rng, 4);
	}
	bpg_sample_op(s, "Pad", form == 0 ? 10 : form == 1 ? 13 : 19);
	bpg_sample_string(s, "mode", mode[which]);
	if (form == 0)
		bpg_sample_ints(s, "pads", 6, pads);
	if (form == 0 && which == 0)
		bpg_sample_float(s, "value", value);
	bpg_sample_variable(s, 3, dim);
	if (form == 0)
		return;
	bpg_sample_integers(s, 2 * named, pads);
	if (which == 0 && bpg_rng_below(rng, 2))
		bpg_sample_constant(s, 0, scalar, &value);
	else if (form == 2)
		bpg_sample_absent(s);
	if (form == 2)
		bpg_sample_integers(s, 2, axes);
}

BPG_LINEAR_LAYER(pad, .ops = "Pad", .traits = BPG_SELECT, .import = pad_import, .terms = pad_terms, .sample = pad_sample);
