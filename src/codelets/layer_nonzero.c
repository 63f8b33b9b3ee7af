/* layer_nonzero.c - the indices of the elements of a constant that are not zero, one column each. */
#include "codelets/family.h"

static enum bpg_status nonzero_import(const struct bpg_import *im, struct bpg_node *v)
{
	BPG_TRY(bpg_import_operands(im, v, 1, 1));
	BPG_TRY(bpg_import_constant(im, v, 0, "the operand"));
	int64_t n = 0;
	for (int64_t i = 0; i < v->in[0].n; i++)
		n += bpg_const_at(v->in[0].value, i) != 0;
	int rank = v->in[0].shape.rank;
	v->out.shape = (struct bpg_shape){ .rank = 2, .dim = { rank, n } };
	v->out.type = BPG_I64;
	return BPG_OK;
}

static enum bpg_status nonzero_eval(const struct bpg_node *v, const double *const *x, double *y)
{
	int64_t column = 0, columns = v->out.shape.dim[1];
	for (int64_t i = 0; i < v->in[0].n; i++) {
		if (x[0][i] == 0)
			continue;
		int64_t rest = i;
		for (int a = v->in[0].shape.rank - 1; a >= 0; a--) {
			y[a * columns + column] = (double)(rest % v->in[0].shape.dim[a]);
			rest /= v->in[0].shape.dim[a];
		}
		column++;
	}
	return BPG_OK;
}

BPG_CONSTANT_LAYER(nonzero, .ops = "NonZero", .import = nonzero_import, .eval = nonzero_eval);
