/* layer_mul.c - Mul and Div with broadcasting, at most one operand variable (the divisor never). */
#include <math.h>
#include <string.h>

#include "codelets/elementwise.h"

/* Every divisor must be other than 0. */
static enum bpg_status check_divisor(const struct bpg_import *im, const struct bpg_node *v)
{
	double block[256];
	for (int64_t i = 0; i < v->in[1].n; i += 256) {
		int64_t n = v->in[1].n - i < 256 ? v->in[1].n - i : 256;
		bpg_const_read(v->in[1].value, i, n, block);
		for (int64_t k = 0; k < n; k++)
			if (block[k] == 0)
				return bpg_import_fail(im, BPG_EFILE, "element %lld of the divisor is 0", (long long)(i + k));
	}
	return BPG_OK;
}

static enum bpg_status mul_import(const struct bpg_import *im, struct bpg_node *v)
{
	BPG_TRY(bpg_elementwise_import(im, v));
	if (!strcmp(v->op, "Mul")) {
		if (!v->in[0].value && !v->in[1].value)
			return bpg_import_fail(im, BPG_EUNSUPPORTED, "product of two tensors that both depend on the input");
		return BPG_OK;
	}
	if (!v->in[1].value)
		return bpg_import_fail(im, BPG_EUNSUPPORTED, "division by a tensor that depends on the input");
	if (v->out.type == BPG_I64 && !v->in[0].value)
		return bpg_import_fail(im, BPG_EUNSUPPORTED, "integer division of a tensor that depends on the input");
	return check_divisor(im, v);
}

/* Integers divide as C does, toward zero. */
static double quotient(const struct bpg_node *v, double a, double b)
{
	if (v->out.type == BPG_I64 && fabs(a) < 0x1p62 && fabs(b) < 0x1p62)
		return (double)((int64_t)a / (int64_t)b);
	return v->out.type == BPG_I64 ? trunc(a / b) : a / b;
}

static void div_terms(const struct bpg_node *v, int64_t i, struct bpg_terms *t)
{
	int64_t at = bpg_elementwise_index(v, 0, i);
	int64_t by = bpg_elementwise_index(v, 1, i);
	double b = bpg_const_at(v->in[1].value, by), coef = 1 / b, err = bpg_const_error(v->in[1].value, by);
	double least = fabs(b) - err;   /* of the divisor */
	int exponent;
	bool exact = fabs(frexp(b, &exponent)) == 0.5 && isnormal(coef);
	if (v->in[0].value) {
		double a = bpg_const_at(v->in[0].value, at), y = quotient(v, a, b), from = bpg_const_error(v->in[0].value, at);
		t->bias = y;
		if (v->out.type == BPG_I64 && err == 0 && from == 0)
			return;
		bool whole = a == 0 || (fabs(a) > 0x1p-900 && fabs(y) > 0x1p-900 && fma(y, b, -a) == 0);
		t->bias_err = whole ? 0 : fabs(y) * 0x1p-53 + 0x1p-1074;
		if (err > 0 || from > 0)
			t->bias_err = least > 0 ? (t->bias_err + (from + fabs(y) * err) / least) * (1 + 0x1p-40) + 0x1p-1000 : INFINITY;
		return;
	}
	double wrong = exact ? 0 : fabs(coef) * 0x1p-53 + 0x1p-1074;   /* 1/b is exact for powers of two */
	if (err > 0)
		wrong = least > 0 ? (wrong + fabs(coef) * err / least) * (1 + 0x1p-40) + 0x1p-1000 : INFINITY;
	bpg_terms_add(t, 0, at, coef, wrong);
}

static void mul_terms(const struct bpg_node *v, int64_t i, struct bpg_terms *t)
{
	if (!strcmp(v->op, "Div")) {
		div_terms(v, i, t);
		return;
	}
	int variable = v->in[0].value ? 1 : 0;
	int64_t at = bpg_elementwise_index(v, variable, i), by = bpg_elementwise_index(v, 1 - variable, i);
	double c = bpg_const_at(v->in[1 - variable].value, by), err = bpg_const_error(v->in[1 - variable].value, by);
	if (v->in[variable].value)
		bpg_terms_constant(t, c, err, v->in[variable].value, at);
	else
		bpg_terms_add(t, variable, at, c, err);
}

static void mul_sample(struct bpg_rng *rng, struct bpg_sample *s)
{
	bool divide = bpg_rng_below(rng, 2), left = !divide && bpg_rng_below(rng, 2);
	bpg_sample_op(s, divide ? "Div" : "Mul", 13);
	bpg_elementwise_sample(rng, s, left, !left);
}

BPG_LINEAR_LAYER(mul, .ops = "Mul Div", .import = mul_import, .terms = mul_terms, .sample = mul_sample);
