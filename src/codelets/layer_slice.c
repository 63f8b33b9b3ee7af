/* layer_slice.c - start:end:step along some axes; attributes before opset 10, operands since. */
#include "codelets/strided.h"

/* One axis, clamped as the ONNX specification says; INT64 extremes mean "to the end". */
static int64_t slice_axis(int64_t size, int64_t start, int64_t end, int64_t step, int64_t *first)
{
	*first = 0;
	if (size == 0)
		return 0;
	if (start < 0)
		start += size;
	if (end < 0)
		end += size;
	if (step > 0) {
		start = start < 0 ? 0 : start > size ? size : start;
		end = end < 0 ? 0 : end > size ? size : end;
	} else {
		start = start < 0 ? 0 : start > size - 1 ? size - 1 : start;
		end = end < -1 ? -1 : end > size - 1 ? size - 1 : end;
	}
	*first = start;
	int64_t span = step > 0 ? end - start : start - end;
	if (span <= 0)
		return 0;
	uint64_t stride = step > 0 ? (uint64_t)step : 0 - (uint64_t)step;   /* INT64_MIN has no negative */
	return (int64_t)(((uint64_t)span - 1) / stride + 1);
}

static enum bpg_status slice_import(const struct bpg_import *im, struct bpg_node *v)
{
	struct bpg_strided *map;
	int64_t start[BPG_MAX_RANK], end[BPG_MAX_RANK], axes[BPG_MAX_RANK], step[BPG_MAX_RANK], stride[BPG_MAX_RANK];
	bool cut[BPG_MAX_RANK] = { false };
	int starts, ends, named, steps;
	BPG_TRY(bpg_import_operands(im, v, 1, 5));
	BPG_TRY(bpg_strided_import(im, v, &map));
	BPG_TRY(bpg_import_list(im, v, "starts", 1, start, BPG_MAX_RANK, &starts));
	BPG_TRY(bpg_import_list(im, v, "ends", 2, end, BPG_MAX_RANK, &ends));
	BPG_TRY(bpg_import_list(im, v, "axes", 3, axes, BPG_MAX_RANK, &named));
	BPG_TRY(bpg_import_list(im, v, NULL, 4, step, BPG_MAX_RANK, &steps));
	const struct bpg_shape *in = &v->in[0].shape;
	if (starts < 0 || ends != starts || (named >= 0 && named != starts) || (steps >= 0 && steps != starts) || starts > in->rank)
		return bpg_import_fail(im, BPG_EFILE, "starts, ends, axes and steps do not have the same length");
	v->out.shape = *in;
	bpg_shape_strides(in, stride);
	for (int i = 0; i < starts; i++) {
		int64_t first, by = steps >= 0 ? step[i] : 1;
		int axis;
		BPG_TRY(bpg_import_axis(im, named >= 0 ? axes[i] : i, in->rank, &axis));
		if (by == 0)
			return bpg_import_fail(im, BPG_EFILE, "a step of 0");
		if (by < 0 && (end[i] == INT32_MAX || end[i] == INT64_MAX))
			return bpg_import_fail(im, BPG_EUNSUPPORTED, "a negative step to the end INT_MAX, which runtimes read in two ways; "
			                                             "end at INT_MIN");
		if (cut[axis])
			return bpg_import_fail(im, BPG_EFILE, "axis %d is given twice", axis);
		cut[axis] = true;
		v->out.shape.dim[axis] = slice_axis(in->dim[axis], start[i], end[i], by, &first);
		if (v->out.shape.dim[axis] == 0)
			continue;
		map->base += first * stride[axis];
		map->step[axis] = v->out.shape.dim[axis] > 1 ? by * stride[axis] : 0;
	}
	return BPG_OK;
}

static void slice_sample(struct bpg_rng *rng, struct bpg_sample *s)
{
	static const int64_t extreme[] = { INT64_MAX, INT64_MIN, INT32_MAX, INT32_MIN };
	int64_t dim[3], start[2], end[2], axes[2], step[2];
	bool attribute = bpg_rng_below(rng, 3) == 0;
	for (int i = 0; i < 3; i++)
		dim[i] = 1 + bpg_rng_below(rng, 6);
	axes[0] = bpg_rng_below(rng, 3);
	axes[1] = (axes[0] + 1) % 3 - 3;
	for (int i = 0; i < 2; i++) {
		step[i] = attribute || bpg_rng_below(rng, 2) ? 1 : bpg_rng_below(rng, 7) - 3;
		step[i] = step[i] ? step[i] : -1;
		start[i] = bpg_rng_below(rng, 10) - 5;
		end[i] = bpg_rng_below(rng, 3) ? bpg_rng_below(rng, 12) - 6 : extreme[(step[i] < 0) + 2 * bpg_rng_below(rng, 2)];
	}
	bpg_sample_op(s, "Slice", attribute ? 9 : 13);
	if (attribute) {
		bpg_sample_ints(s, "starts", 2, start);
		bpg_sample_ints(s, "ends", 2, end);
		bpg_sample_ints(s, "axes", 2, axes);
	}
	bpg_sample_variable(s, 3, dim);
	if (attribute)
		return;
	bpg_sample_integers(s, 2, start);
	bpg_sample_integers(s, 2, end);
	bpg_sample_integers(s, 2, axes);
	bpg_sample_integers(s, 2, step);
}

BPG_LINEAR_LAYER(slice, .ops = "Slice", .traits = BPG_SELECT, .import = slice_import, .terms = bpg_strided_terms,
                 .sample = slice_sample);
