/* layer_sum.c - Sum and Mean of any number of tensors, with broadcasting. */
#include <string.h>

#include "codelets/family.h"

static enum bpg_status sum_import(const struct bpg_import *im, struct bpg_node *v)
{
	BPG_TRY(bpg_import_operands(im, v, 1, v->nin));
	v->out.shape.rank = 0;
	for (int k = 0; k < v->nin; k++) {
		struct bpg_shape so_far = v->out.shape;
		if (v->in[k].absent)
			return bpg_import_fail(im, BPG_EFILE, "operand %d is missing", k);
		if (!bpg_shape_broadcast(&so_far, &v->in[k].shape, &v->out.shape))
			return bpg_import_fail(im, BPG_EFILE, "the shapes of the operands do not broadcast");
	}
	v->out.type = bpg_common_type(v, 0, v->nin - 1);
	return bpg_import_pin(im, v);
}

static void sum_terms(const struct bpg_node *v, int64_t i, struct bpg_terms *t)
{
	int n = v->nin;
	double coef = strcmp(v->op, "Mean") ? 1 : 1.0 / n, err = coef != 1 && (n & (n - 1)) ? coef * 0x1p-53 : 0;
	for (int k = 0; k < n; k++) {
		int64_t at = v->in[k].n == v->out.n ? i : bpg_broadcast_index(&v->in[k].shape, &v->out.shape, i);
		if (!v->in[k].value) {
			bpg_terms_add(t, k, at, coef, err);
			continue;
		}
		bpg_terms_constant(t, coef, err, v->in[k].value, at);
	}
}

static void sum_sample(struct bpg_rng *rng, struct bpg_sample *s)
{
	int64_t size[3], dim[3];
	int count = 1 + (int)bpg_rng_below(rng, 4), variable = (int)bpg_rng_below(rng, count);
	for (int a = 0; a < 3; a++)
		size[a] = 1 + bpg_rng_below(rng, 4);
	bpg_sample_op(s, bpg_rng_below(rng, 2) ? "Sum" : "Mean", 13);
	for (int k = 0; k < count; k++) {
		int skip = (int)bpg_rng_below(rng, 4);
		for (int a = 0; a < 3; a++)
			dim[a] = bpg_rng_below(rng, 4) ? size[a] : 1;
		if (k == variable || bpg_rng_below(rng, 3))
			bpg_sample_variable(s, 3 - skip, dim + skip);
		else
			bpg_sample_constant(s, 3 - skip, dim + skip, NULL);
	}
}

BPG_LINEAR_LAYER(sum, .ops = "Sum Mean", .import = sum_import, .terms = sum_terms, .sample = sum_sample);
