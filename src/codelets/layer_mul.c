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
	double b = bpg_const_at(v->in[1].value, bpg_elementwise_index(v, 1, i)), coef = 1 / b;
	int exponent;
	if (v->in[0].value)
		bpg_terms_bias(t, 1, quotient(v, bpg_const_at(v->in[0].value, at), b));
	else   /* 1/b is exact for powers of two */
		bpg_terms_add(t, 0, at, coef, fabs(frexp(b, &exponent)) == 0.5 && isnormal(coef) ? 0 : fabs(coef) * 0x1p-53 + 0x1p-1074);
}

static void mul_terms(const struct bpg_node *v, int64_t i, struct bpg_terms *t)
{
	if (!strcmp(v->op, "Div")) {
		div_terms(v, i, t);
		return;
	}
	int variable = v->in[0].value ? 1 : 0;
	int64_t at = bpg_elementwise_index(v, variable, i);
	double c = bpg_const_at(v->in[1 - variable].value, bpg_elementwise_index(v, 1 - variable, i));
	if (v->in[variable].value)
		bpg_terms_bias(t, c, bpg_const_at(v->in[variable].value, at));
	else
		bpg_terms_add(t, variable, at, c, 0);
}

static void mul_sample(struct bpg_rng *rng, struct bpg_sample *s)
{
	bool divide = bpg_rng_below(rng, 2), left = !divide && bpg_rng_below(rng, 2);
	bpg_sample_op(s, divide ? "Div" : "Mul", 13);
	bpg_elementwise_sample(rng, s, left, !left);
}

BPG_LINEAR_LAYER(mul, .ops = "Mul Div", .import = mul_import, .terms = mul_terms, .sample = mul_sample);
