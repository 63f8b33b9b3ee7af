/* resize.c - scales and output shape of Resize and Upsample. */
#include "codelets/resize.h"

#include <string.h>

const char *const bpg_resize_coordinates[] = {"half_pixel", "pytorch_half_pixel",   "align_corners",
                                              "asymmetric", "tf_half_pixel_for_nn", NULL};
const char *const bpg_resize_policies[] = { "stretch", NULL };

enum bpg_status bpg_resize_name(const struct bpg_import *im, const char *attribute, const char *otherwise, const char *const *name,
                                int *which)
{
	const char *given = bpg_import_string(im, attribute, otherwise);
	for (*which = 0; name[*which]; ++*which)
		if (!strcmp(given, name[*which]))
			return BPG_OK;
	return bpg_import_fail(im, BPG_EUNSUPPORTED, "%s=%s is not supported", attribute, given);
}

/* The numbers that say how large the output is: scales (a float list) or sizes; -1 where not given. */
static enum bpg_status read_scales(const struct bpg_import *im, const struct bpg_node *v, float scale[BPG_MAX_RANK], int *count)
{
	const float *list;
	int operand = v->nin > 2 ? 2 : 1;
	*count = bpg_import_floats(im, "scales", &list);
	if (*count < 0 && bpg_given(v, operand)) {
		BPG_TRY(bpg_import_constant(im, v, operand, "the scales"));
		*count = v->in[operand].n > BPG_MAX_RANK ? BPG_MAX_RANK + 1 : (int)v->in[operand].n;
	}
	if (*count > BPG_MAX_RANK)
		return bpg_import_fail(im, BPG_EUNSUPPORTED, "more than %d scales", BPG_MAX_RANK);
	for (int i = 0; i < *count; i++) {
		scale[i] = list ? list[i] : (float)bpg_const_at(v->in[operand].value, i);
		if (!(scale[i] > 0) || !(scale[i] < 0x1p33f))
			return bpg_import_fail(im, BPG_EFILE, "a scale of %g", (double)scale[i]);
	}
	return BPG_OK;
}

enum bpg_status bpg_resize_place(const struct bpg_import *im, struct bpg_node *v, double scale[BPG_MAX_RANK])
{
	const struct bpg_shape *in = &v->in[0].shape;
	float given[BPG_MAX_RANK];
	int64_t size[BPG_MAX_RANK], axes[BPG_MAX_RANK];
	int scales, sizes = -1, named;
	BPG_TRY(read_scales(im, v, given, &scales));
	BPG_TRY(bpg_import_list(im, v, "axes", -1, axes, BPG_MAX_RANK, &named));
	if (scales <= 0 && v->nin > 3)
		BPG_TRY(bpg_import_list(im, v, NULL, 3, size, BPG_MAX_RANK, &sizes));
	if (named < 0)
		for (named = 0; named < in->rank; named++)
			axes[named] = named;
	if ((scales > 0 ? scales : sizes) != named)
		return bpg_import_fail(im, BPG_EFILE, "%d scales or sizes for %d axes", scales > 0 ? scales : sizes, named);
	v->out.shape = *in;
	for (int a = 0; a < in->rank; a++)
		scale[a] = 1;
	for (int i = 0; i < named; i++) {
		int axis;
		BPG_TRY(bpg_import_axis(im, axes[i], in->rank, &axis));
		int64_t d = in->dim[axis];
		if (scales > 0 && !(given[i] * (float)d < 0x1p33f))
			return bpg_import_fail(im, BPG_EFILE, "a scale of %g", (double)given[i]);
		v->out.shape.dim[axis] = scales > 0 ? (int64_t)(given[i] * (float)d) : size[i];
		scale[axis] = scales > 0 ? (double)given[i] : (double)size[i] / (double)d;
		if (v->out.shape.dim[axis] < 0 || v->out.shape.dim[axis] > (int64_t)1 << 33 ||
		    (d == 0 && v->out.shape.dim[axis] > 0))
			return bpg_import_fail(im, BPG_EFILE, "a size of %lld", (long long)v->out.shape.dim[axis]);
	}
	if (bpg_shape_count(&v->out.shape) < 0)
		return bpg_import_fail(im, BPG_EFILE, "the output would have too many elements");
	return BPG_OK;
}
