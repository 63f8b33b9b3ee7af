/* reduce.h - operators that reduce some axes of one tensor: which elements meet in one output. */
#ifndef BPG_REDUCE_H
#define BPG_REDUCE_H

#include "codelets/family.h"

struct bpg_reduce {
	bool mean;                /* for the layer */
	int64_t count;            /* elements of one output */
	int kept, gone;           /* axes that stay, axes that go: sizes and strides in the operand */
	int64_t kept_dim[BPG_MAX_RANK], kept_step[BPG_MAX_RANK], gone_dim[BPG_MAX_RANK], gone_step[BPG_MAX_RANK];
};

/* Reads axes (attribute, or operand 1 in new opsets), keepdims and noop_with_empty_axes; `spatial`: all axes from the third
 * on, kept, in place of these. Sets v->attr, and the output with the type of the operand. */
static inline enum bpg_status bpg_reduce_import(const struct bpg_import *im, struct bpg_node *v, bool spatial,
                                                struct bpg_reduce **to)
{
	BPG_TRY(bpg_import_operands(im, v, 1, spatial ? 1 : 2));
	struct bpg_reduce *g = *to = bpg_import_alloc(im, 1, sizeof *g);
	if (!g)
		return bpg_import_fail(im, BPG_ENOMEM, "not enough memory");
	v->attr = g;
	const struct bpg_shape *in = &v->in[0].shape;
	int64_t stride[BPG_MAX_RANK], axes[BPG_MAX_RANK];
	bool keep = spatial || bpg_import_int(im, "keepdims", 1) != 0, gone[BPG_MAX_RANK] = { false };
	int count = 0;
	if (spatial && in->rank < 2)
		return bpg_import_fail(im, BPG_EFILE, "an operand of rank %d has no channels", in->rank);
	for (int i = 2; spatial && i < in->rank; i++)
		gone[i] = true;
	if (bpg_given(v, 1))
		BPG_TRY(bpg_import_constant(im, v, 1, "the axes"));
	if (!spatial)
		BPG_TRY(bpg_import_list(im, v, "axes", 1, axes, BPG_MAX_RANK, &count));
	bool all = !spatial && count <= 0 && bpg_import_int(im, "noop_with_empty_axes", 0) == 0;
	for (int i = 0; all && i < in->rank; i++)
		gone[i] = true;
	for (int i = 0; i < count; i++) {
		int axis;
		BPG_TRY(bpg_import_axis(im, axes[i], in->rank, &axis));
		gone[axis] = true;
	}
	bpg_shape_strides(in, stride);
	g->count = 1;
	v->out.shape.rank = 0;
	v->out.type = v->in[0].type;
	for (int i = 0; i < in->rank; i++) {
		if (gone[i]) {
			g->count *= in->dim[i];
			g->gone_dim[g->gone] = in->dim[i];
			g->gone_step[g->gone++] = stride[i];
		} else {
			g->kept_dim[g->kept] = in->dim[i];
			g->kept_step[g->kept++] = stride[i];
		}
		if (!gone[i] || keep)
			v->out.shape.dim[v->out.shape.rank++] = gone[i] ? 1 : in->dim[i];
	}
	return BPG_OK;
}

static inline int64_t bpg_reduce_at(int64_t i, int axes, const int64_t *dim, const int64_t *step)
{
	int64_t at = 0;
	for (int a = axes - 1; a >= 0; a--) {
		at += i % dim[a] * step[a];
		i /= dim[a];
	}
	return at;
}

/* Output element i reads base + offset(0 .. count-1). */
static inline int64_t bpg_reduce_base(const struct bpg_reduce *g, int64_t i)
{
	return bpg_reduce_at(i, g->kept, g->kept_dim, g->kept_step);
}

static inline int64_t bpg_reduce_offset(const struct bpg_reduce *g, int64_t k)
{
	return bpg_reduce_at(k, g->gone, g->gone_dim, g->gone_step);
}

/* A random node: axes as the opset has them. `spatial`: as above. */
static inline void bpg_reduce_sample(struct bpg_rng *rng, struct bpg_sample *s, const char *op, int opset, bool operand,
                                     bool spatial)
{
	int64_t dim[4], axes[2];
	int rank = 2 + (int)bpg_rng_below(rng, 3), count = (int)bpg_rng_below(rng, 3);
	for (int i = 0; i < 4; i++)
		dim[i] = 1 + bpg_rng_below(rng, 4);
	axes[0] = bpg_rng_below(rng, rank) - (bpg_rng_below(rng, 2) ? rank : 0);
	axes[1] = bpg_rng_below(rng, rank);
	bpg_sample_op(s, op, opset);
	if (!spatial) {
		bpg_sample_int(s, "keepdims", bpg_rng_below(rng, 2));
		if (operand && bpg_rng_below(rng, 2))
			bpg_sample_int(s, "noop_with_empty_axes", 1);
		if (count && !operand)
			bpg_sample_ints(s, "axes", count, axes);
	}
	bpg_sample_variable(s, rank, dim);
	if (!spatial && operand && (count || bpg_rng_below(rng, 2)))
		bpg_sample_integers(s, count, axes);
}

#endif
