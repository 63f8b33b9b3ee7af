/* layer_einsum.c - Einsum with one variable operand: transpositions, diagonals, sums, products with constants. */
#include "codelets/inner.h"

static enum bpg_status einsum_import(const struct bpg_import *im, struct bpg_node *v)
{
	BPG_TRY(bpg_inner_einsum(im, v));
	if (v->nin == 2 && !v->in[0].value && !v->in[1].value)
		return bpg_import_fail(im, BPG_EUNSUPPORTED, "both operands depend on the input");
	return bpg_import_pin(im, v);
}

static void einsum_terms(const struct bpg_node *v, int64_t i, struct bpg_terms *t)
{
	const struct bpg_inner *g = v->attr;
	int64_t at[2];
	int variable = v->in[0].value && v->nin == 2 ? 1 : 0;
	bpg_inner_start(g, i, at);
	for (int64_t k = 0; k < g->count; k++) {
		int64_t x = at[variable] + g->step[variable][k], y = at[1 - variable] + g->step[1 - variable][k];
		double c = v->nin == 2 ? bpg_const_at(v->in[1 - variable].value, y) : 1;
		double err = v->nin == 2 ? bpg_const_error(v->in[1 - variable].value, y) : 0;
		if (v->in[variable].value)
			bpg_terms_constant(t, c, err, v->in[variable].value, x);
		else
			bpg_terms_add(t, variable, x, c, err);
	}
}

static void einsum_sample(struct bpg_rng *rng, struct bpg_sample *s)
{
	int operands = 1 + (int)bpg_rng_below(rng, 2);
	bool left = operands == 2 && bpg_rng_below(rng, 2);
	bpg_sample_op(s, "Einsum", 13);
	bpg_inner_sample_einsum(rng, s, operands, left, operands == 2 && !left);
}

BPG_LINEAR_LAYER(einsum, .ops = "Einsum", .import = einsum_import, .terms = einsum_terms, .sample = einsum_sample);
