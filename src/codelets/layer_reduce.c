/* layer_reduce.c - ReduceSum, ReduceMean, GlobalAveragePool: sums and means over some axes. */
#include <string.h>

#include "codelets/family.h"

struct reduce {
	bool mean;
	int64_t count;            /* elements summed */
	int kept, gone;           /* axes that stay, axes that are summed: sizes and strides in the operand */
	int64_t kept_dim[BPG_MAX_RANK], kept_step[BPG_MAX_RANK], gone_dim[BPG_MAX_RANK], gone_step[BPG_MAX_RANK];
};

static enum bpg_status read_axes(const struct bpg_import *im, struct bpg_node *v, bool sum[BPG_MAX_RANK])
{
	int64_t axes[BPG_MAX_RANK];
	int count, rank = v->in[0].shape.rank;
	for (int i = 0; i < BPG_MAX_RANK; i++)
		sum[i] = false;
	if (!strcmp(v->op, "GlobalAveragePool")) {
		for (int i = 2; i < rank; i++)
			sum[i] = true;
		return BPG_OK;
	}
	BPG_TRY(bpg_import_list(im, v, "axes", 1, axes, BPG_MAX_RANK, &count));
	bool all = count <= 0 && bpg_import_int(im, "noop_with_empty_axes", 0) == 0;
	for (int i = 0; all && i < rank; i++)
		sum[i] = true;
	for (int i = 0; i < count; i++) {
		int axis;
		BPG_TRY(bpg_import_axis(im, axes[i], rank, &axis));
		sum[axis] = true;
	}
	return BPG_OK;
}

static enum bpg_status reduce_import(const struct bpg_import *im, struct bpg_node *v)
{
	bool global = !strcmp(v->op, "GlobalAveragePool"), sum[BPG_MAX_RANK];
	BPG_TRY(bpg_import_operands(im, v, 1, global ? 1 : 2));
	struct reduce *g = bpg_import_alloc(im, 1, sizeof *g);
	if (!g)
		return bpg_import_fail(im, BPG_ENOMEM, "not enough memory");
	v->attr = g;
	bool keep = global || bpg_import_int(im, "keepdims", 1) != 0;
	const struct bpg_shape *in = &v->in[0].shape;
	int64_t stride[BPG_MAX_RANK];
	if (global && in->rank < 2)
		return bpg_import_fail(im, BPG_EFILE, "an operand of rank %d has no channels", in->rank);
	BPG_TRY(read_axes(im, v, sum));
	bpg_shape_strides(in, stride);
	g->mean = strcmp(v->op, "ReduceSum") != 0;
	g->count = 1;
	v->out.shape.rank = 0;
	v->out.type = g->mean && v->in[0].type == BPG_I64 ? BPG_F32 : v->in[0].type;
	for (int i = 0; i < in->rank; i++) {
		if (sum[i]) {
			g->count *= in->dim[i];
			g->gone_dim[g->gone] = in->dim[i];
			g->gone_step[g->gone++] = stride[i];
		} else {
			g->kept_dim[g->kept] = in->dim[i];
			g->kept_step[g->kept++] = stride[i];
		}
		if (!sum[i] || keep)
			v->out.shape.dim[v->out.shape.rank++] = sum[i] ? 1 : in->dim[i];
	}
	if (g->mean && g->count == 0)
		return bpg_import_fail(im, BPG_EFILE, "the mean of no elements");
	return BPG_OK;
}

static int64_t offset(int64_t i, int axes, const int64_t *dim, const int64_t *step)
{
	int64_t at = 0;
	for (int a = axes - 1; a >= 0; a--) {
		at += i % dim[a] * step[a];
		i /= dim[a];
	}
	return at;
}

static void reduce_terms(const struct bpg_node *v, int64_t i, struct bpg_terms *t)
{
	const struct reduce *g = v->attr;
	int64_t base = offset(i, g->kept, g->kept_dim, g->kept_step);
	double coef = g->mean ? 1 / (double)g->count : 1, err = g->mean && (g->count & (g->count - 1)) ? coef * 0x1p-53 : 0;
	for (int64_t k = 0; k < g->count; k++) {
		int64_t at = base + offset(k, g->gone, g->gone_dim, g->gone_step);
		if (v->in[0].value)
			bpg_terms_bias(t, coef, bpg_const_at(v->in[0].value, at));
		else
			bpg_terms_add(t, 0, at, coef, err);
	}
}

static void reduce_sample(struct bpg_rng *rng, struct bpg_sample *s)
{
	static const char *const op[] = { "ReduceSum", "ReduceMean", "GlobalAveragePool" };
	int64_t dim[4], axes[2];
	int which = (int)bpg_rng_below(rng, 3), rank = 2 + (int)bpg_rng_below(rng, 3);
	for (int i = 0; i < 4; i++)
		dim[i] = 1 + bpg_rng_below(rng, 5);
	axes[0] = bpg_rng_below(rng, rank) - (bpg_rng_below(rng, 2) ? rank : 0);
	axes[1] = bpg_rng_below(rng, rank);
	int count = (int)bpg_rng_below(rng, 3);
	bool operand = which == 0;   /* an attribute until opset 12 (sum), 17 (mean) */
	bpg_sample_op(s, op[which], 13);
	if (which < 2) {
		bpg_sample_int(s, "keepdims", bpg_rng_below(rng, 2));
		if (operand && bpg_rng_below(rng, 2))
			bpg_sample_int(s, "noop_with_empty_axes", 1);
		if (count && !operand)
			bpg_sample_ints(s, "axes", count, axes);
	}
	bpg_sample_variable(s, rank, dim);
	if (which < 2 && operand && (count || bpg_rng_below(rng, 2)))
		bpg_sample_integers(s, count, axes);
}

BPG_LINEAR_LAYER(reduce, .ops = "ReduceSum ReduceMean GlobalAveragePool", .import = reduce_import, .terms = reduce_terms,
                 .sample = reduce_sample);
