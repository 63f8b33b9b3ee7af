/* layer_add.c - Add and Sub with broadcasting; each side variable or constant. */
#include <string.h>

#include "codelets/elementwise.h"

static void add_terms(const struct bpg_node *v, int64_t i, struct bpg_terms *t)
{
	double sign = !strcmp(v->op, "Sub") ? -1 : 1;
	for (int k = 0; k < 2; k++) {
		double coef = k == 1 ? sign : 1;
		int64_t at = bpg_elementwise_index(v, k, i);
		if (v->in[k].value)
			bpg_terms_constant(t, coef, 0, v->in[k].value, at);
		else
			bpg_terms_add(t, k, at, coef, 0);
	}
}

static void add_sample(struct bpg_rng *rng, struct bpg_sample *s)
{
	int constants = (int)bpg_rng_below(rng, 3);   /* 0: none, 1: left, 2: right */
	bpg_sample_op(s, bpg_rng_below(rng, 2) ? "Add" : "Sub", 13);
	bpg_elementwise_sample(rng, s, constants == 1, constants == 2);
}

BPG_LINEAR_LAYER(add, .ops = "Add Sub", .import = bpg_elementwise_import, .terms = add_terms, .sample = add_sample);
