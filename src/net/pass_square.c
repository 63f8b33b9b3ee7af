/* pass_square.c - a tensor times itself is its square: one function of one variable, never negative. */
#include <string.h>

#include "net/build.h"
#include "net/const.h"

enum bpg_status bpg_pass_square(struct bpg_build *b, const struct bpg_import *im, int nin, const struct bpg_value *const *in,
                                const char *tensor, struct bpg_value *out, bool *done)
{
	const struct bpg_layer *power = bpg_layer_find("", "Pow");
	*done = false;
	if (!power || strcmp(im->op, "Mul") || nin != 2 || !in[0] || !in[1] || in[0]->node < 0 || in[0]->node != in[1]->node ||
	    !bpg_shape_equal(&in[0]->shape, &in[1]->shape))
		return BPG_OK;
	static const double two = 2;
	struct bpg_value exponent = { .tensor = "", .known = true, .node = -1, .type = BPG_F64 };
	struct bpg_import about = *im;
	const struct bpg_value *operand[2] = { in[0], &exponent };
	exponent.value = bpg_const_new(b->net->arena, BPG_F64, 1, &two);
	about.op = bpg_arena_str(b->net->arena, "Pow");
	if (!exponent.value || !about.op)
		return bpg_nomem(b->ctx, b->net->path);
	about.opset = 15;
	about.attrs = 0;
	*done = true;
	return bpg_build_node(b, &about, power, 2, operand, tensor, out);
}
