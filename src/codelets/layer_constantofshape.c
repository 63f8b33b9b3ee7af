/* layer_constantofshape.c - a tensor of a given shape, filled with one value. */
#include "codelets/family.h"

static enum bpg_status constantofshape_import(const struct bpg_import *im, struct bpg_node *v)
{
	BPG_TRY(bpg_import_operands(im, v, 1, 1));
	double *value = bpg_import_alloc(im, 1, sizeof *value);
	if (!value)
		return bpg_import_fail(im, BPG_ENOMEM, "not enough memory");
	v->attr = value;
	BPG_TRY(bpg_import_list(im, v, NULL, 0, v->out.shape.dim, BPG_MAX_RANK, &v->out.shape.rank));
	struct bpg_shape shape;
	struct bpg_const *given = bpg_import_tensor(im, "value", &shape);
	if (!given)
		return BPG_OK;
	if (bpg_const_count(given) != 1)
		return bpg_import_fail(im, BPG_EFILE, "attribute 'value' has %lld elements, expected 1", (long long)bpg_const_count(given));
	*value = bpg_const_at(given, 0);
	v->out.type = bpg_const_type(given);
	return BPG_OK;
}

static enum bpg_status constantofshape_eval(const struct bpg_node *v, const double *const *x, double *y)
{
	(void)x;
	for (int64_t i = 0; i < v->out.n; i++)
		y[i] = *(const double *)v->attr;
	return BPG_OK;
}

BPG_CONSTANT_LAYER(constantofshape, .ops = "ConstantOfShape", .import = constantofshape_import, .eval = constantofshape_eval);
