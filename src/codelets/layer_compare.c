/* layer_compare.c - comparisons and logic of constants, as models use them to compute shapes. */
#include <string.h>

#include "codelets/elementwise.h"

enum how { EQUAL, LESS, GREATER, LESS_EQUAL, GREATER_EQUAL, AND, OR, XOR, NOT };

static enum bpg_status compare_import(const struct bpg_import *im, struct bpg_node *v)
{
	static const char *const name[] = { "Equal", "Less", "Greater", "LessOrEqual", "GreaterOrEqual", "And", "Or", "Xor", "Not" };
	enum how *how = bpg_import_alloc(im, 1, sizeof *how);
	if (!how)
		return bpg_import_fail(im, BPG_ENOMEM, "not enough memory");
	v->attr = how;
	while (*how < NOT && strcmp(v->op, name[*how]))
		++*how;
	BPG_TRY(*how == NOT ? bpg_import_same_shape(im, v) : bpg_elementwise_import(im, v));
	for (int k = 0; k < (*how == NOT ? 1 : 2); k++)
		BPG_TRY(bpg_import_constant(im, v, k, "the operand"));
	v->out.type = BPG_I64;
	return BPG_OK;
}

static bool holds(enum how how, double a, double b)
{
	switch (how) {
	case EQUAL: return a == b;
	case LESS: return a < b;
	case GREATER: return a > b;
	case LESS_EQUAL: return a <= b;
	case GREATER_EQUAL: return a >= b;
	case AND: return a != 0 && b != 0;
	case OR: return a != 0 || b != 0;
	case XOR: return (a != 0) != (b != 0);
	default: return a == 0;
	}
}

static enum bpg_status compare_eval(const struct bpg_node *v, const double *const *x, double *y)
{
	enum how how = *(const enum how *)v->attr;
	for (int64_t i = 0; i < v->out.n; i++)
		y[i] = holds(how, x[0][bpg_elementwise_index(v, 0, i)], how == NOT ? 0 : x[1][bpg_elementwise_index(v, 1, i)]);
	return BPG_OK;
}

BPG_CONSTANT_LAYER(compare, .ops = "Equal Less Greater LessOrEqual GreaterOrEqual And Or Xor Not", .import = compare_import,
                   .eval = compare_eval);
