/* pass_bias.c - a constant added to a product with a constant matrix becomes that product's bias, as exporters without Gemm
 * spell a dense layer: MatMul, Add. One node then stands where rows of bounds start, and they start from the matrix itself
 * and not from unit rows behind it. The plain product goes when nothing else reads it. */
#include <string.h>

#include "net/build.h"

enum bpg_status bpg_pass_bias(struct bpg_build *b, const struct bpg_import *im, int nin, const struct bpg_value *const *in,
                              const char *tensor, struct bpg_value *out, bool *done)
{
	const struct bpg_layer *layer = bpg_layer_internal("bpgraph:MatMulAdd");

	*done = false;
	if (!layer || strcmp(im->op, "Add") || nin != 2 || !in[0] || !in[1] || !in[0]->value == !in[1]->value)
		return BPG_OK;
	const struct bpg_value *sum = in[in[0]->value ? 1 : 0], *bias = in[in[0]->value ? 0 : 1];
	const struct bpg_net_node *product = sum->node >= 0 ? &b->net->node[sum->node] : NULL;
	if (!product || product->input >= 0 || strcmp(product->v.op, "MatMul") || product->v.layer->family != BPG_LINEAR ||
	    !bpg_shape_equal(&sum->shape, &product->v.out.shape) || sum->type != bias->type)
		return BPG_OK;

	struct bpg_value operand[2];
	const struct bpg_value *all[3] = { &operand[0], &operand[1], bias };
	for (int k = 0; k < 2; k++) {
		const struct bpg_operand *x = &product->v.in[k];
		operand[k] = (struct bpg_value){ .tensor = product->read[k], .known = true, .node = product->src[k], .value = x->value,
			                         .shape = x->shape, .type = x->type };
	}
	struct bpg_import about = *im;
	about.op = "bpgraph:MatMulAdd";
	enum bpg_status st = bpg_build_node(b, &about, layer, 3, all, tensor, out);
	*done = st != BPG_EUNSUPPORTED; /* a bias of another shape: the sum stays what it is */
	return *done ? st : BPG_OK;
}
