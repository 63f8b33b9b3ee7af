/* layer_shape.c - Shape and Size of a tensor; known without its values. */
#include <string.h>

#include "codelets/family.h"

struct shape {
	int start;
};

static enum bpg_status shape_import(const struct bpg_import *im, struct bpg_node *v)
{
	BPG_TRY(bpg_import_operands(im, v, 1, 1));
	struct shape *g = bpg_import_alloc(im, 1, sizeof *g);
	if (!g)
		return bpg_import_fail(im, BPG_ENOMEM, "not enough memory");
	v->attr = g;
	v->out.type = BPG_I64;
	v->out.shape = (struct bpg_shape){ .rank = 0 };
	if (!strcmp(v->op, "Size"))
		return BPG_OK;
	int64_t rank = v->in[0].shape.rank, start = bpg_import_int(im, "start", 0), end = bpg_import_int(im, "end", rank);
	start = start < -rank ? 0 : start < 0 ? start + rank : start > rank ? rank : start;
	end = end < -rank ? 0 : end < 0 ? end + rank : end > rank ? rank : end;
	g->start = (int)start;
	v->out.shape = (struct bpg_shape){ .rank = 1, .dim = { end > start ? end - start : 0 } };
	return BPG_OK;
}

static enum bpg_status shape_eval(const struct bpg_node *v, const double *const *x, double *y)
{
	const struct shape *g = v->attr;
	(void)x;
	if (!strcmp(v->op, "Size")) {
		y[0] = (double)v->in[0].n;
		return BPG_OK;
	}
	for (int i = 0; i < v->out.shape.dim[0]; i++)
		y[i] = (double)v->in[0].shape.dim[g->start + i];
	return BPG_OK;
}

BPG_CONSTANT_LAYER(shape, .ops = "Shape Size", .import = shape_import, .eval = shape_eval);
