/* layer_where.c - elements of one of two operands, chosen by a constant condition. */
#include "codelets/family.h"

static enum bpg_status where_import(const struct bpg_import *im, struct bpg_node *v)
{
	BPG_TRY(bpg_import_operands(im, v, 3, 3));
	BPG_TRY(bpg_import_constant(im, v, 0, "the condition"));
	struct bpg_shape both;
	if (!bpg_shape_broadcast(&v->in[1].shape, &v->in[2].shape, &both) ||
	    !bpg_shape_broadcast(&both, &v->in[0].shape, &v->out.shape))
		return bpg_import_fail(im, BPG_EFILE, "the shapes of the operands do not broadcast");
	v->out.type = bpg_common_type(v, 1, 2);
	return bpg_import_pin(im, v);
}

static void where_terms(const struct bpg_node *v, int64_t i, struct bpg_terms *t)
{
	bool first = bpg_const_at(v->in[0].value, bpg_broadcast_index(&v->in[0].shape, &v->out.shape, i)) != 0;
	int k = first ? 1 : 2;
	bpg_terms_take(v, t, k, bpg_broadcast_index(&v->in[k].shape, &v->out.shape, i));
}

static void where_sample(struct bpg_rng *rng, struct bpg_sample *s)
{
	int64_t dim[3][3], n = 1;
	double condition[64];
	for (int a = 0; a < 3; a++) {
		int64_t size = 1 + bpg_rng_below(rng, 4);
		for (int k = 0; k < 3; k++)
			dim[k][a] = bpg_rng_below(rng, 4) ? size : 1;
		n *= dim[0][a];
	}
	for (int i = 0; i < n; i++)
		condition[i] = (double)bpg_rng_below(rng, 2);
	bpg_sample_op(s, "Where", 9);
	bpg_sample_constant(s, 3, dim[0], condition);
	bool constant = bpg_rng_below(rng, 2);
	bpg_sample_variable(s, 3, dim[1]);
	if (constant)
		bpg_sample_constant(s, 3, dim[2], NULL);
	else
		bpg_sample_variable(s, 3, dim[2]);
}

BPG_LINEAR_LAYER(where, .ops = "Where", .traits = BPG_SELECT, .import = where_import, .terms = where_terms,
                 .sample = where_sample);
