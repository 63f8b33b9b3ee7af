/* layer_constant_node.c - the Constant node: a tensor, number or list of numbers written in the model. */
#include "codelets/family.h"

struct constant {
	struct bpg_const *tensor; /* or */
	double number;            /* or */
	const int64_t *ints;
	const float *floats;
};

static enum bpg_status constant_import(const struct bpg_import *im, struct bpg_node *v)
{
	BPG_TRY(bpg_import_operands(im, v, 0, 0));
	struct constant *g = bpg_import_alloc(im, 1, sizeof *g);
	if (!g)
		return bpg_import_fail(im, BPG_ENOMEM, "not enough memory");
	v->attr = g;
	v->out.shape = (struct bpg_shape){ .rank = 0 };
	g->tensor = bpg_import_tensor(im, "value", &v->out.shape);
	if (g->tensor) {
		v->out.type = bpg_const_type(g->tensor);
		return BPG_OK;
	}
	if (bpg_import_has(im, "value_float")) {
		g->number = bpg_import_float(im, "value_float", 0);
		return BPG_OK;
	}
	if (bpg_import_has(im, "value_int")) {
		g->number = (double)bpg_import_int(im, "value_int", 0);
		v->out.type = BPG_I64;
		return BPG_OK;
	}
	int floats = bpg_import_has(im, "value_floats") ? bpg_import_floats(im, "value_floats", &g->floats) : -1;
	int ints = bpg_import_has(im, "value_ints") ? bpg_import_ints(im, "value_ints", &g->ints) : -1;
	if (floats < 0 && ints < 0)
		return bpg_import_fail(im, BPG_EUNSUPPORTED, "a constant that is not a dense tensor of numbers");
	v->out.type = floats < 0 ? BPG_I64 : BPG_F32;
	v->out.shape = (struct bpg_shape){ .rank = 1, .dim = { floats < 0 ? ints : floats } };
	/* the lists live as long as the import: folding happens within */
	return BPG_OK;
}

static enum bpg_status constant_eval(const struct bpg_node *v, const double *const *x, double *y)
{
	const struct constant *g = v->attr;
	(void)x;
	if (g->tensor)
		bpg_const_read(g->tensor, 0, v->out.n, y);
	for (int64_t i = 0; !g->tensor && i < v->out.n; i++)
		y[i] = g->ints ? (double)g->ints[i] : g->floats ? (double)g->floats[i] : g->number;
	return BPG_OK;
}

BPG_CONSTANT_LAYER(constant_node, .ops = "Constant", .import = constant_import, .eval = constant_eval);
