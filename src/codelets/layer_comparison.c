/* layer_comparison.c - comparisons and logic of tensors that depend on the input: 0 or 1, known where the ranges decide. A
 * number other than 0 is true. Planes are constant, the output jumps. */
#include <string.h>

#include "codelets/elementwise.h"
#include "codelets/plane.h"

enum how { EQUAL, LESS, GREATER, LESS_EQUAL, GREATER_EQUAL, AND, OR, XOR, NOT };

static enum bpg_status comparison_import(const struct bpg_import *im, struct bpg_node *v)
{
	static const char *const name[] = {"Equal", "Less", "Greater", "LessOrEqual", "GreaterOrEqual",
	                                   "And",   "Or",   "Xor",     "Not"};
	enum how *how = bpg_import_alloc(im, 1, sizeof *how);
	if (!how)
		return bpg_import_fail(im, BPG_ENOMEM, "not enough memory");
	while (*how < NOT && strcmp(v->op, name[*how]))
		++*how;
	BPG_TRY(*how == NOT ? bpg_import_same_shape(im, v) : bpg_elementwise_import(im, v));
	v->attr = how;
	v->out.type = BPG_I64;
	return BPG_OK;
}

/* Bit 0: it may be false; bit 1: it may be true. */
static int less(struct bpg_range a, struct bpg_range b) { return (a.u >= b.l ? 1 : 0) | (a.l < b.u ? 2 : 0); }

static int swap(int may) { return (may & 1) << 1 | may >> 1; }

static int truth(struct bpg_range a) { return (a.l <= 0 && a.u >= 0 ? 1 : 0) | (a.l != 0 || a.u != 0 ? 2 : 0); }

static int equal(struct bpg_range a, struct bpg_range b)
{
	bool one = a.l == a.u && b.l == b.u && a.l == b.l;
	return (one ? 0 : 1) | (a.l <= b.u && b.l <= a.u ? 2 : 0);
}

static int may_hold(enum how how, struct bpg_range a, struct bpg_range b)
{
	int p = truth(a), q = truth(b);
	switch (how) {
	case EQUAL: return equal(a, b);
	case LESS: return less(a, b);
	case GREATER: return less(b, a);
	case LESS_EQUAL: return swap(less(b, a));
	case GREATER_EQUAL: return swap(less(a, b));
	case AND: return ((p | q) & 1) | (p & q & 2);
	case OR: return (p & q & 1) | ((p | q) & 2);
	case XOR: return p == 3 || q == 3 ? 3 : p != q ? 2 : 1;
	default: return swap(p);
	}
}

static struct bpg_range operand(const struct bpg_node *v, const double *const *l, const double *const *u, int k, int64_t i)
{
	return k < v->nin ? bpg_range_of(v, l, u, k, bpg_elementwise_index(v, k, i)) : (struct bpg_range){ 0, 0 };
}

static enum bpg_status comparison_interval(const struct bpg_node *v, const double *const *l, const double *const *u, int64_t first,
                                           int64_t n, double *lo, double *up)
{
	for (int64_t i = 0; i < n; i++) {
		int may = may_hold(*(const enum how *)v->attr, operand(v, l, u, 0, first + i), operand(v, l, u, 1, first + i));
		lo[i] = may & 1 ? 0 : 1;
		up[i] = may & 2 ? 1 : 0;
	}
	return BPG_OK;
}

static enum bpg_status comparison_eval(const struct bpg_node *v, const double *const *x, double *y)
{
	for (int64_t i = 0; i < v->out.n; i++) {
		double a = x[0][bpg_elementwise_index(v, 0, i)], b = v->nin > 1 ? x[1][bpg_elementwise_index(v, 1, i)] : 0;
		y[i] = may_hold(*(const enum how *)v->attr, (struct bpg_range){ a, a }, (struct bpg_range){ b, b }) == 2;
	}
	return BPG_OK;
}

static enum bpg_status comparison_gradient(const struct bpg_node *v, const double *const *x, const double *gy, double *const *gx)
{
	(void)v, (void)x, (void)gy, (void)gx;
	return BPG_OK;
}

static void comparison_planes(const struct bpg_node *v, const double *const *l, const double *const *u, int64_t i,
                              struct bpg_terms *lower, struct bpg_terms *upper)
{
	double lo, up;
	comparison_interval(v, l, u, i, 1, &lo, &up);
	bpg_plane_constant(lower, lo);
	bpg_plane_constant(upper, up);
}

static void comparison_sample(struct bpg_rng *rng, struct bpg_sample *s)
{
	static const char *const name[] = {"Equal", "Less", "Greater", "LessOrEqual", "GreaterOrEqual",
	                                   "And",   "Or",   "Xor",     "Not"};
	int how = (int)bpg_rng_below(rng, 9), constants = (int)bpg_rng_below(rng, 3);
	bpg_sample_op(s, name[how], 16);
	if (how == NOT)
		bpg_sample_box(rng, s);
	else
		bpg_elementwise_sample(rng, s, constants == 1, constants == 2);
}

BPG_GENERAL_LAYER(comparison, .ops = "Equal Less Greater LessOrEqual GreaterOrEqual And Or Xor Not", .import = comparison_import,
                  .eval = comparison_eval, .interval = comparison_interval, .gradient = comparison_gradient,
                  .planes = comparison_planes, .sample = comparison_sample);
