/* layer_split.c - one part of the operand along an axis: the node stands once for each output. */
#include "codelets/strided.h"

enum { PARTS = 4096 };

/* Sizes: given, or equal ones rounded up with what is left in the last. */
static enum bpg_status split_import(const struct bpg_import *im, struct bpg_node *v)
{
	struct bpg_strided *map;
	int64_t *size = bpg_import_alloc(im, PARTS, sizeof *size), first = 0, total = 0;
	int given, axis, which = bpg_import_output_index(im), parts = bpg_import_output_count(im);
	BPG_TRY(bpg_import_operands(im, v, 1, 2));
	BPG_TRY(bpg_strided_import(im, v, &map));
	if (!size)
		return bpg_import_fail(im, BPG_ENOMEM, "not enough memory");
	const struct bpg_shape *in = &v->in[0].shape;
	BPG_TRY(bpg_import_axis(im, bpg_import_int(im, "axis", 0), in->rank, &axis));
	BPG_TRY(bpg_import_list(im, v, "split", 1, size, PARTS, &given));
	if (parts > PARTS || which >= parts || (given >= 0 && given != parts))
		return bpg_import_fail(im, BPG_EFILE, "%d sizes for %d outputs", given, parts);
	if (given < 0 && bpg_import_int(im, "num_outputs", parts) != parts)
		return bpg_import_fail(im, BPG_EFILE, "num_outputs is not the number of outputs, %d", parts);
	int64_t equal = (in->dim[axis] + parts - 1) / parts;
	for (int i = 0; i < parts; i++) {
		int64_t left = in->dim[axis] - total;
		if (given < 0)
			size[i] = left < equal ? left : equal;
		if (size[i] < 0 || size[i] > left)
			return bpg_import_fail(im, BPG_EFILE, "the sizes do not add up to %lld", (long long)in->dim[axis]);
		first = i == which ? total : first;
		total += size[i];
	}
	if (total != in->dim[axis])
		return bpg_import_fail(im, BPG_EFILE, "the sizes do not add up to %lld", (long long)in->dim[axis]);
	v->out.shape = *in;
	v->out.shape.dim[axis] = size[which];
	map->base = first * map->step[axis];
	return BPG_OK;
}

static void split_sample(struct bpg_rng *rng, struct bpg_sample *s)
{
	int64_t dim[3] = { 1 + bpg_rng_below(rng, 3), 0, 1 + bpg_rng_below(rng, 3) }, size[3];
	int axis = (int)bpg_rng_below(rng, 3), form = (int)bpg_rng_below(rng, 3);
	for (int i = 0; i < 3; i++)
		size[i] = 1 + bpg_rng_below(rng, 4);
	dim[1] = 1 + bpg_rng_below(rng, 3);
	dim[axis] = form < 2 ? size[0] + size[1] + size[2] : 5;
	bpg_sample_op(s, "Split", form == 0 ? 11 : form == 1 ? 13 : 18);
	bpg_sample_int(s, "axis", bpg_rng_below(rng, 2) ? axis : axis - 3);
	if (form == 0)
		bpg_sample_ints(s, "split", 3, size);
	if (form == 2)
		bpg_sample_int(s, "num_outputs", 3);
	bpg_sample_outputs(s, 3, (int)bpg_rng_below(rng, 3));
	bpg_sample_variable(s, 3, dim);
	if (form == 1)
		bpg_sample_integers(s, 3, size);
}

BPG_LINEAR_LAYER(split, .ops = "Split", .traits = BPG_SELECT, .import = split_import, .terms = bpg_strided_terms,
                 .sample = split_sample);
