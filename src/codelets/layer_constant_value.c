/* layer_constant_value.c - a tensor of the network that is a constant (an output that does not depend on the input): no
 * variable operand, every element is its bias. Not an ONNX operator; the network builder makes it. */
#include "codelets/family.h"

static enum bpg_status constant_value_import(const struct bpg_import *im, struct bpg_node *v)
{
	BPG_TRY(bpg_import_operands(im, v, 1, 1));
	BPG_TRY(bpg_import_constant(im, v, 0, "the operand"));
	v->out.shape = v->in[0].shape;
	v->out.type = v->in[0].type;
	return BPG_OK;
}

static void constant_value_terms(const struct bpg_node *v, int64_t i, struct bpg_terms *t) { bpg_terms_take(v, t, 0, i); }

static void constant_value_sample(struct bpg_rng *rng, struct bpg_sample *s)
{
	int64_t dim[2] = { 1 + bpg_rng_below(rng, 3), 1 + bpg_rng_below(rng, 4) };
	bpg_sample_op(s, "bpgraph:ConstantValue", 13);
	bpg_sample_constant(s, 2, dim, NULL);
}

BPG_LINEAR_LAYER(constant_value, .ops = "bpgraph:ConstantValue", .traits = BPG_SELECT, .import = constant_value_import,
                 .terms = constant_value_terms, .sample = constant_value_sample);
