/* layer_identity.c - Identity, and Dropout as inference does it: the operand itself. */
#include <string.h>

#include "codelets/family.h"

static enum bpg_status identity_import(const struct bpg_import *im, struct bpg_node *v)
{
	bool dropout = !strcmp(v->op, "Dropout");
	BPG_TRY(bpg_import_operands(im, v, 1, dropout ? 3 : 1));
	if (dropout) {
		if (bpg_import_output_index(im) != 0)
			return bpg_import_fail(im, BPG_EUNSUPPORTED, "the mask is used; export the model for inference");
		bool training = bpg_given(v, 2) && (!v->in[2].value || (v->in[2].n > 0 && bpg_const_at(v->in[2].value, 0) != 0));
		if (training || (bpg_import_opset(im) < 7 && bpg_import_int(im, "is_test", 0) == 0))
			return bpg_import_fail(im, BPG_EUNSUPPORTED, "training mode; export the model for inference");
	}
	v->out.shape = v->in[0].shape;
	v->out.type = v->in[0].type;
	return BPG_OK;
}

static void identity_terms(const struct bpg_node *v, int64_t i, struct bpg_terms *t) { bpg_terms_take(v, t, 0, i); }

static void identity_sample(struct bpg_rng *rng, struct bpg_sample *s)
{
	int64_t dim[2] = { 1 + bpg_rng_below(rng, 3), 1 + bpg_rng_below(rng, 4) };
	bpg_sample_op(s, bpg_rng_below(rng, 2) ? "Identity" : "Dropout", 13);
	bpg_sample_variable(s, 2, dim);
}

BPG_LINEAR_LAYER(identity, .ops = "Identity Dropout", .traits = BPG_SELECT, .import = identity_import, .terms = identity_terms,
                 .sample = identity_sample);
