/* layer_neg.c - y = -x. */
#include "codelets/family.h"

static void neg_terms(const struct bpg_node *v, int64_t i, struct bpg_terms *t)
{
	if (v->in[0].value)
		bpg_terms_constant(t, -1, 0, v->in[0].value, i);
	else
		bpg_terms_add(t, 0, i, -1, 0);
}

static void neg_sample(struct bpg_rng *rng, struct bpg_sample *s)
{
	int64_t dim[3] = { 1 + bpg_rng_below(rng, 3), 1 + bpg_rng_below(rng, 4), 1 + bpg_rng_below(rng, 4) };
	bpg_sample_op(s, "Neg", 13);
	bpg_sample_variable(s, (int)bpg_rng_below(rng, 4), dim);
}

BPG_LINEAR_LAYER(neg, .ops = "Neg", .terms = neg_terms, .sample = neg_sample);
