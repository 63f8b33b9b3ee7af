/* layer_sum.c - Sum and Mean of any number of tensors, with broadcasting. */
#include <string.h>

#include "codelets/elementwise.h"

static void sum_terms(const struct bpg_node *v, int64_t i, struct bpg_terms *t)
{
	int n = v->nin;
	double coef = strcmp(v->op, "Mean") ? 1 : 1.0 / n, err = coef != 1 && (n & (n - 1)) ? coef * 0x1p-53 : 0;
	for (int k = 0; k < n; k++) {
		int64_t at = bpg_elementwise_index(v, k, i);
		if (!v->in[k].value) {
			bpg_terms_add(t, k, at, coef, err);
			continue;
		}
		bpg_terms_constant(t, coef, err, v->in[k].value, at);
	}
}

static void sum_sample(struct bpg_rng *rng, struct bpg_sample *s)
{
	bpg_sample_op(s, bpg_rng_below(rng, 2) ? "Sum" : "Mean", 13);
	bpg_variadic_sample(rng, s);
}

BPG_LINEAR_LAYER(sum, .ops = "Sum Mean", .import = bpg_variadic_import, .terms = sum_terms, .sample = sum_sample);
