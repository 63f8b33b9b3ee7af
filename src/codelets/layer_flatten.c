/* layer_flatten.c - Flatten, Reshape, Squeeze, Unsqueeze: the same elements in another shape. */
#include <string.h>

#include "codelets/family.h"

static enum bpg_status flatten(const struct bpg_import *im, struct bpg_node *v)
{
	const struct bpg_shape *in = &v->in[0].shape;
	int64_t axis = bpg_import_int(im, "axis", 1);
	if (axis < -in->rank || axis > in->rank)
		return bpg_import_fail(im, BPG_EFILE, "axis %lld is outside a tensor of rank %d", (long long)axis, in->rank);
	if (axis < 0)
		axis += in->rank;
	v->out.shape = (struct bpg_shape){ .rank = 2, .dim = { 1, 1 } };
	for (int i = 0; i < in->rank; i++)
		v->out.shape.dim[i >= axis] *= in->dim[i];
	return BPG_OK;
}

/* Sizes: 0 copies the size of the operand (unless allowzero), one -1 is what is left. */
static enum bpg_status reshape(const struct bpg_import *im, struct bpg_node *v)
{
	const struct bpg_shape *in = &v->in[0].shape;
	struct bpg_shape *out = &v->out.shape;
	bool allow_zero = bpg_import_int(im, "allowzero", 0) != 0;
	int64_t known = 1;
	int open = -1;
	BPG_TRY(bpg_import_list(im, v, NULL, 1, out->dim, BPG_MAX_RANK, &out->rank));
	if (out->rank < 0)
		return bpg_import_fail(im, BPG_EFILE, "the new shape is missing");
	for (int i = 0; i < out->rank; i++) {
		if (out->dim[i] == 0 && !allow_zero) {
			if (i >= in->rank)
				return bpg_import_fail(im, BPG_EFILE, "size 0 of axis %d copies an axis that the operand does not have", i);
			out->dim[i] = in->dim[i];
		}
		if (out->dim[i] == -1 && open < 0)
			open = i;
		else
			known = bpg_size_mul(known, out->dim[i]);
		if (known < 0)
			return bpg_import_fail(im, BPG_EFILE, "the new shape has a wrong size %lld at axis %d", (long long)out->dim[i], i);
	}
	if (open >= 0) {
		if (known == 0 || v->in[0].n % known)
			return bpg_import_fail(im, BPG_EFILE, "%lld elements do not fit the new shape", (long long)v->in[0].n);
		out->dim[open] = v->in[0].n / known;
		known *= out->dim[open];
	}
	if (known != v->in[0].n)
		return bpg_import_fail(im, BPG_EFILE, "%lld elements do not fit a shape of %lld", (long long)v->in[0].n,
		                       (long long)known);
	return BPG_OK;
}

static enum bpg_status squeeze(const struct bpg_import *im, struct bpg_node *v)
{
	const struct bpg_shape *in = &v->in[0].shape;
	int64_t axes[BPG_MAX_RANK];
	bool drop[BPG_MAX_RANK] = { false };
	int count;
	BPG_TRY(bpg_import_list(im, v, "axes", 1, axes, BPG_MAX_RANK, &count));
	for (int i = 0; i < count; i++) {
		int axis;
		BPG_TRY(bpg_import_axis(im, axes[i], in->rank, &axis));
		if (in->dim[axis] != 1)
			return bpg_import_fail(im, BPG_EFILE, "axis %d has size %lld, only axes of size 1 can be removed", axis,
			                       (long long)in->dim[axis]);
		drop[axis] = true;
	}
	v->out.shape.rank = 0;
	for (int i = 0; i < in->rank; i++)
		if (count < 0 ? in->dim[i] != 1 : !drop[i])
			v->out.shape.dim[v->out.shape.rank++] = in->dim[i];
	return BPG_OK;
}

static enum bpg_status unsqueeze(const struct bpg_import *im, struct bpg_node *v)
{
	const struct bpg_shape *in = &v->in[0].shape;
	int64_t axes[BPG_MAX_RANK];
	bool fresh[BPG_MAX_RANK] = { false };
	int count, next = 0;
	BPG_TRY(bpg_import_list(im, v, "axes", 1, axes, BPG_MAX_RANK, &count));
	if (count < 0)
		return bpg_import_fail(im, BPG_EFILE, "the axes are missing");
	if (in->rank + count > BPG_MAX_RANK)
		return bpg_import_fail(im, BPG_EUNSUPPORTED, "the output has rank %d, at most %d is supported", in->rank + count,
		                       BPG_MAX_RANK);
	for (int i = 0; i < count; i++) {
		int axis;
		BPG_TRY(bpg_import_axis(im, axes[i], in->rank + count, &axis));
		if (fresh[axis])
			return bpg_import_fail(im, BPG_EFILE, "axis %d is given twice", axis);
		fresh[axis] = true;
	}
	v->out.shape.rank = in->rank + count;
	for (int i = 0; i < v->out.shape.rank; i++)
		v->out.shape.dim[i] = fresh[i] ? 1 : in->dim[next++];
	return BPG_OK;
}

static enum bpg_status flatten_import(const struct bpg_import *im, struct bpg_node *v)
{
	BPG_TRY(bpg_import_operands(im, v, 1, strcmp(v->op, "Flatten") ? 2 : 1));
	v->out.type = v->in[0].type;
	if (!strcmp(v->op, "Flatten"))
		return flatten(im, v);
	if (!strcmp(v->op, "Reshape"))
		return reshape(im, v);
	return !strcmp(v->op, "Squeeze") ? squeeze(im, v) : unsqueeze(im, v);
}

static void flatten_terms(const struct bpg_node *v, int64_t i, struct bpg_terms *t) { bpg_terms_take(v, t, 0, i); }

static void flatten_sample(struct bpg_rng *rng, struct bpg_sample *s)
{
	int64_t dim[4] = { 1, 1 + bpg_rng_below(rng, 4), 1 + bpg_rng_below(rng, 4), 1 };
	int which = (int)bpg_rng_below(rng, 4);
	int64_t reshape[3] = { 0, -1, dim[2] }, squeeze[2] = { -1, 0 }, unsqueeze[2] = { -1, 1 };
	static const char *const op[] = { "Flatten", "Reshape", "Squeeze", "Unsqueeze" };
	bool operand = bpg_rng_below(rng, 2);
	bpg_sample_op(s, op[which], operand ? 13 : 11);
	if (which == 0)
		bpg_sample_int(s, "axis", bpg_rng_below(rng, 9) - 4);
	if (which > 1 && !operand)
		bpg_sample_ints(s, "axes", 2, which == 2 ? squeeze : unsqueeze);
	bpg_sample_variable(s, 4, dim);
	if (which == 1)
		bpg_sample_integers(s, 3, reshape);
	else if (which > 1 && operand)
		bpg_sample_integers(s, 2, which == 2 ? squeeze : unsqueeze);
}

BPG_LINEAR_LAYER(flatten, .ops = "Flatten Reshape Squeeze Unsqueeze", .traits = BPG_SELECT, .import = flatten_import,
                 .terms = flatten_terms, .sample = flatten_sample);
