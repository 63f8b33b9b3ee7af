/* net.c - putting a network together, and its end. */
#include "net/net.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "net/build.h"
#include "net/const.h"

/* While a network is built its growing arrays are malloced; bpg_build_finish moves them into the arena. */
struct growing {
	struct bpg_net net;
	bool finished;
};

void bpg_net_free(struct bpg_net *net)
{
	if (!net)
		return;
	struct growing *g = (struct growing *)net;
	if (!g->finished) {
		free(net->node);
		free(net->input);
		free(net->output);
		free(net->out_shape);
	}
	if (net->close)
		net->close(net->file);
	bpg_arena_free(net->arena);
	free(g);
}

enum bpg_status bpg_build_start(struct bpg_build *b, struct bpg_ctx *ctx, const char *path)
{
	*b = (struct bpg_build){ .ctx = ctx };
	struct growing *g = bpg_calloc(1, sizeof *g);
	if (!g)
		return bpg_nomem(ctx, path);
	b->net = &g->net;
	b->net->arena = bpg_arena_new();
	b->net->path = b->net->arena ? bpg_arena_str(b->net->arena, path) : NULL;
	return b->net->path ? BPG_OK : bpg_nomem(ctx, path);
}

static enum bpg_status nomem(const struct bpg_build *b)
{
	return bpg_nomem(b->ctx, b->net->path);
}

/* Room for one more node; its number is net->nodes. */
static enum bpg_status node_room(struct bpg_build *b)
{
	if (b->net->nodes == INT_MAX - 1)
		return bpg_fail(b->ctx, BPG_EUNSUPPORTED, "%s: too many nodes", b->net->path);
	return bpg_grow(&b->net->node, &b->node_room, (int64_t)b->net->nodes + 1, sizeof *b->net->node) ? BPG_OK : nomem(b);
}

static enum bpg_status push(struct bpg_build *b, int **list, int *n, int64_t *room, int value)
{
	if (!bpg_grow(list, room, (int64_t)*n + 1, sizeof **list))
		return nomem(b);
	(*list)[(*n)++] = value;
	return BPG_OK;
}

enum bpg_status bpg_build_input(struct bpg_build *b, const char *tensor, const struct bpg_shape *shape, struct bpg_value *out)
{
	struct bpg_net *net = b->net;
	BPG_TRY(node_room(b));
	struct bpg_net_node *node = &net->node[net->nodes];
	*node = (struct bpg_net_node){
		.v = { .name = tensor, .op = "Input", .out = { .shape = *shape, .n = bpg_shape_count(shape), .type = BPG_F32 } },
		.tensor = tensor,
		.input = net->inputs,
	};
	BPG_TRY(push(b, &net->input, &net->inputs, &b->input_room, net->nodes));
	*out = (struct bpg_value){ .tensor = tensor, .known = true, .node = net->nodes++, .shape = *shape, .type = BPG_F32 };
	return BPG_OK;
}

static enum bpg_status append(struct bpg_build *b, const struct bpg_node *v, const char *tensor,
                              const struct bpg_value *const *in, int *number)
{
	struct bpg_net *net = b->net;
	int *src = bpg_arena_alloc(net->arena, (size_t)v->nin, sizeof *src);
	const char **read = bpg_arena_alloc(net->arena, (size_t)v->nin, sizeof *read);
	if (!src || !read)
		return nomem(b);
	for (int k = 0; k < v->nin; k++) {
		src[k] = in[k] ? in[k]->node : -1;
		read[k] = in[k] && in[k]->tensor ? in[k]->tensor : "";
	}
	BPG_TRY(node_room(b));
	net->node[net->nodes] = (struct bpg_net_node){ .v = *v, .tensor = tensor, .src = src, .read = read, .input = -1 };
	*number = net->nodes++;
	return BPG_OK;
}

struct bpg_operand bpg_build_operand(const struct bpg_value *v)
{
	return (struct bpg_operand){ .shape = v->shape, .n = bpg_shape_count(&v->shape), .type = v->type, .value = v->value };
}

static bool all_constant(const struct bpg_node *v)
{
	for (int k = 0; k < v->nin; k++)
		if (!v->in[k].absent && !v->in[k].value)
			return false;
	return true;
}

/* Only LINEAR layers count errors of computed constants; functions take their parameters as they are. */
static bool takes_errors(const struct bpg_node *v)
{
	for (int k = 0; k < v->nin && v->layer->family != BPG_LINEAR; k++)
		if (v->in[k].value && bpg_const_most_error(v->in[k].value) > 0)
			return false;
	return true;
}

/* Folded, renamed, or a node of the network. */
static enum bpg_status settle(struct bpg_build *b, const struct bpg_node *v, const struct bpg_value *const *in, const char *tensor,
                              bool fold, struct bpg_value *out)
{
	int operand = -1;
	*out = (struct bpg_value){ .tensor = tensor, .known = true, .node = -1, .shape = v->out.shape, .type = v->out.type };
	if (fold) {
		BPG_TRY(bpg_pass_fold(b, v, &out->value));
		out->type = out->value->type;
		return BPG_OK;
	}
	if (bpg_pass_rename(b, v, &operand)) {
		out->node = in[operand]->node;
		return BPG_OK;
	}
	return append(b, v, tensor, in, &out->node);
}

/* Imported by the first layer that lists the operator and does not say that this is beyond it. */
static enum bpg_status import_node(struct bpg_import *im, struct bpg_node *v)
{
	const struct bpg_layer *next;
	enum bpg_status st = bpg_import_run(im, v);
	while (st == BPG_EUNSUPPORTED && !im->wrong && (next = bpg_layer_next(v->layer, im->op))) {
		v->layer = next;
		st = bpg_import_run(im, v);
	}
	return st;
}

enum bpg_status bpg_build_node(struct bpg_build *b, struct bpg_import *im, const struct bpg_layer *layer, int nin,
                               const struct bpg_value *const *in, const char *tensor, struct bpg_value *out)
{
	/* Nodes that become other nodes. */
	static enum bpg_status (*const pass[])(struct bpg_build *, const struct bpg_import *, int, const struct bpg_value *const *,
	                                       const char *, struct bpg_value *, bool *) = {
		bpg_pass_gate, bpg_pass_prelu, bpg_pass_square, bpg_pass_norm, bpg_pass_normalization, bpg_pass_window,
		bpg_pass_bias, bpg_pass_transposed,
	};
	for (size_t k = 0; k < BPG_LEN(pass); k++) {
		bool done;
		BPG_TRY(pass[k](b, im, nin, in, tensor, out, &done));
		if (done)
			return BPG_OK;
	}
	struct bpg_node v = { .layer = layer, .name = im->name, .op = im->op, .nin = nin };
	v.in = bpg_arena_alloc(b->net->arena, (size_t)nin, sizeof *v.in);
	if (!v.in)
		return nomem(b);
	for (int k = 0; k < nin; k++)
		v.in[k] = in[k] ? bpg_build_operand(in[k]) : (struct bpg_operand){ .absent = true };
	BPG_TRY(import_node(im, &v));
	bool fold = v.layer->family == BPG_CONSTANT || (nin > 0 && all_constant(&v));
	if (!fold && !v.out.n)
		return bpg_import_fail(im, BPG_EUNSUPPORTED, "the output has no elements");
	if (!fold && !takes_errors(&v))
		return bpg_import_fail(im, BPG_EUNSUPPORTED, "a parameter is computed and not exact in double; simplify the model before export");
	return settle(b, &v, in, tensor, fold, out);
}

enum bpg_status bpg_build_output(struct bpg_build *b, const char *tensor, const struct bpg_value *value)
{
	struct bpg_net *net = b->net;
	int node = value->node;
	if (bpg_shape_count(&value->shape) < 1)
		return bpg_fail(b->ctx, BPG_EUNSUPPORTED, "%s: output '%s' has no elements", net->path, tensor);
	if (value->value) {
		struct bpg_node v;
		BPG_TRY(bpg_pass_constant_output(b, tensor, value, &v));
		BPG_TRY(append(b, &v, tensor, &value, &node));
	}
	if (!bpg_grow(&net->out_shape, &b->shape_room, (int64_t)net->outputs + 1, sizeof *net->out_shape))
		return nomem(b);
	net->out_shape[net->outputs] = value->shape;
	return push(b, &net->output, &net->outputs, &b->output_room, node);
}

/* First element of each of the nodes when they are concatenated, and how many there are. */
static enum bpg_status number_elements(struct bpg_build *b, int n, const int *nodes, int64_t **first, int64_t *count)
{
	*first = bpg_arena_alloc(b->net->arena, (size_t)n, sizeof **first);
	if (!*first)
		return nomem(b);
	*count = 0;
	for (int k = 0; k < n; k++) {
		(*first)[k] = *count;
		*count += b->net->node[nodes[k]].v.out.n;
		if (*count > BPG_MAX_ELEMENTS)
			return bpg_fail(b->ctx, BPG_EUNSUPPORTED, "%s: too many inputs or outputs", b->net->path);
	}
	return BPG_OK;
}

enum bpg_status bpg_build_finish(struct bpg_build *b)
{
	struct bpg_net *net = b->net;
	BPG_TRY(bpg_pass_dead(b->ctx, net));
	BPG_TRY(bpg_pass_window_uses(b->ctx, net));
	BPG_TRY(number_elements(b, net->inputs, net->input, &net->in_first, &net->in_count));
	BPG_TRY(number_elements(b, net->outputs, net->output, &net->out_first, &net->out_count));

	/* All or none, so that bpg_net_free knows what is malloced. */
	struct bpg_net_node *node = bpg_arena_alloc(net->arena, (size_t)net->nodes, sizeof *node);
	int *input = bpg_arena_alloc(net->arena, (size_t)net->inputs, sizeof *input);
	int *output = bpg_arena_alloc(net->arena, (size_t)net->outputs, sizeof *output);
	struct bpg_shape *shape = bpg_arena_alloc(net->arena, (size_t)net->outputs, sizeof *shape);
	if (!node || !input || !output || !shape)
		return nomem(b);
	memcpy(node, net->node, (size_t)net->nodes * sizeof *node);
	memcpy(input, net->input, (size_t)net->inputs * sizeof *input);
	memcpy(output, net->output, (size_t)net->outputs * sizeof *output);
	memcpy(shape, net->out_shape, (size_t)net->outputs * sizeof *shape);
	free(net->node);
	free(net->input);
	free(net->output);
	free(net->out_shape);
	net->node = node;
	net->input = input;
	net->output = output;
	net->out_shape = shape;
	((struct growing *)net)->finished = true;
	return BPG_OK;
}
