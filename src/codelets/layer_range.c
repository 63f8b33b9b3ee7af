/* layer_range.c - start, start + delta, ... before limit. */
#include <math.h>

#include "codelets/family.h"

static enum bpg_status range_import(const struct bpg_import *im, struct bpg_node *v)
{
	static const char *const what[] = { "the start", "the limit", "the step" };
	double x[3];
	BPG_TRY(bpg_import_operands(im, v, 3, 3));
	for (int k = 0; k < 3; k++) {
		BPG_TRY(bpg_import_constant(im, v, k, what[k]));
		if (v->in[k].n != 1)
			return bpg_import_fail(im, BPG_EFILE, "%s is not one number", what[k]);
		x[k] = bpg_const_at(v->in[k].value, 0);
	}
	double n = ceil((x[1] - x[0]) / x[2]);
	if (!(n < 0x1p33))   /* a step of 0, too */
		return bpg_import_fail(im, BPG_EFILE, "%g elements from %g to %g by %g", n, x[0], x[1], x[2]);
	v->out.shape = (struct bpg_shape){ .rank = 1, .dim = { n > 0 ? (int64_t)n : 0 } };
	v->out.type = bpg_common_type(v, 0, 2);
	return BPG_OK;
}

/* In the arithmetic of the type, as runtimes do. */
static enum bpg_status range_eval(const struct bpg_node *v, const double *const *x, double *y)
{
	for (int64_t i = 0; i < v->out.n; i++)
		y[i] = v->out.type == BPG_F32 ? (double)((float)x[0][0] + (float)i * (float)x[2][0]) : x[0][0] + (double)i * x[2][0];
	return BPG_OK;
}

BPG_CONSTANT_LAYER(range, .ops = "Range", .import = range_import, .eval = range_eval);
