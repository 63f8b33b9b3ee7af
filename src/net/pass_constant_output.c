/* pass_constant_output.c - an output that does not depend on the input. Constants are operands everywhere else; here they
 * need a node, so that every output has one. */
#include "net/build.h"

enum bpg_status bpg_pass_constant_output(struct bpg_build *b, const char *tensor, const struct bpg_value *value,
                                         struct bpg_node *v)
{
	struct bpg_net *net = b->net;
	struct bpg_import im = { .ctx = b->ctx, .arena = net->arena, .path = net->path, .name = tensor, .op = "Constant",
	                         .output_count = 1 };
	*v = (struct bpg_node){ .layer = bpg_layer_internal("bpgraph:ConstantValue"), .name = tensor, .op = "Constant", .nin = 1 };
	if (!v->layer)
		return bpg_fail(b->ctx, BPG_EUNSUPPORTED, "%s: output '%s' does not depend on the input", net->path, tensor);
	v->in = bpg_arena_alloc(net->arena, 1, sizeof *v->in);
	if (!v->in)
		return bpg_nomem(b->ctx, net->path);
	v->in[0] = bpg_build_operand(value);
	return bpg_import_run(&im, v);
}
