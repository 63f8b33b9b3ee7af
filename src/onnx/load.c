/* load.c - an ONNX file becomes a network. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/plugin.h"
#include "onnx/read.h"

#define MOST_LISTED 1000          /* unsupported nodes in one message */

/* Appends to a malloced text; false when memory is short. */
static bool append(char **text, int64_t *room, int64_t *n, const char *s)
{
	int64_t more = (int64_t)strlen(s);
	if (!bpg_grow(text, room, *n + more + 1, 1))
		return false;
	memcpy(*text + *n, s, (size_t)more + 1);
	*n += more;
	return true;
}

/* "node 'a' (Foo)", with the domain where it is not the default one. */
static void describe_node(const struct bpg_onnx_graph *g, int i, char *to, size_t room)
{
	const Onnx__NodeProto *node = g->proto->node[i];
	char label[128], op[128], domain[128];
	bool foreign = !bpg_onnx_is_default(node->domain);
	snprintf(to, room, "node '%s' (%s%s%s)", bpg_printable(g->label[i], label),
	         foreign ? bpg_printable(node->domain, domain) : "", foreign ? "::" : "", bpg_printable(node->op_type, op));
}

/* All unsupported nodes at once: one run shows everything that has to change. */
static enum bpg_status check_operators(const struct bpg_onnx_graph *g)
{
	char *list = NULL, one[512];
	int64_t room = 0, n = 0;
	int found = 0;
	bool memory = true;
	for (int i = 0; i < g->nodes; i++) {
		if (!g->needed[i] || bpg_onnx_supported(g->proto->node[i]) || ++found > MOST_LISTED)
			continue;
		describe_node(g, i, one, sizeof one);
		memory = memory && append(&list, &room, &n, found > 1 ? ", " : "") && append(&list, &room, &n, one);
	}
	enum bpg_status st = BPG_OK;
	if (found && memory)
		st = bpg_fail(g->model->ctx, BPG_EUNSUPPORTED, "%s: %d node%s operators outside the supported set: %s%s",
		              g->model->path, found, found > 1 ? "s use" : " uses", list, found > MOST_LISTED ? ", ..." : "");
	else if (found)
		st = bpg_nomem(g->model->ctx, g->model->path);
	free(list);
	return st;
}

static enum bpg_status add_outputs(const struct bpg_onnx_graph *g, struct bpg_build *b, const struct bpg_value *value)
{
	for (int k = 0; k < g->outputs; k++) {
		const char *name = bpg_arena_str(b->net->arena, bpg_onnx_output_name(g, k));
		if (!name)
			return bpg_nomem(b->ctx, b->net->path);
		BPG_TRY(bpg_build_output(b, name, &value[g->out[k].value]));
	}
	return BPG_OK;
}

static int element_type(const Onnx__ValueInfoProto *v)
{
	bool tensor = v->type && v->type->value_case == ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE;
	return tensor ? v->type->tensor_type->elem_type : 0;
}

/* What the file says; nothing of tensors that are wished for. */
static enum bpg_status keep_types(const struct bpg_onnx_graph *g, struct bpg_net *net)
{
	int *in = bpg_arena_alloc(net->arena, (size_t)net->inputs, sizeof *in), *out = bpg_arena_alloc(net->arena, (size_t)net->outputs, sizeof *out);
	if (!in || !out)
		return bpg_nomem(g->model->ctx, g->model->path);
	for (size_t i = 0, k = 0; i < g->proto->n_input; i++)
		if (!g->constant_input[i])
			in[k++] = element_type(g->proto->input[i]);
	for (size_t k = 0; k < g->proto->n_output; k++)
		out[k] = element_type(g->proto->output[k]);
	net->in_type = in;
	net->out_type = out;
	return BPG_OK;
}

static enum bpg_status build(struct bpg_onnx_model *m, struct bpg_build *b, struct bpg_arena *scratch)
{
	struct bpg_onnx_graph g;
	BPG_TRY(bpg_onnx_parse(m));
	BPG_TRY(bpg_onnx_graph_init(m, scratch, &g));
	BPG_TRY(check_operators(&g));
	struct bpg_value *value = bpg_arena_alloc(scratch, (size_t)g.values, sizeof *value);
	const char **why = bpg_arena_alloc(scratch, (size_t)g.nodes, sizeof *why);
	if (!value || !why)
		return bpg_nomem(m->ctx, m->path);
	BPG_TRY(bpg_onnx_import(&g, b, scratch, false, value, why));
	BPG_TRY(add_outputs(&g, b, value));
	BPG_TRY(bpg_build_finish(b));
	BPG_TRY(keep_types(&g, b->net));
	b->net->opset = m->opset;
	b->net->parameters = m->parameters;
	return bpg_plugin_float_mode(m->ctx, m->path);
}

enum bpg_status bpg_onnx_load(struct bpg_ctx *ctx, const char *path, struct bpg_net **net)
{
	return bpg_onnx_load_as(ctx, path, NULL, net);
}

enum bpg_status bpg_onnx_load_as(struct bpg_ctx *ctx, const char *path, const struct bpg_net_wish *wish, struct bpg_net **net)
{
	struct bpg_build b = { 0 };
	struct bpg_onnx_model m = { .ctx = ctx, .path = path, .wish = wish };
	struct bpg_arena *scratch = bpg_arena_new();
	enum bpg_status st;

	*net = NULL;
	if (!scratch)
		BPG_TRY_TO(bpg_nomem(ctx, path), out);
	BPG_TRY_TO(bpg_onnx_begin(&m, &b), out);
	st = build(&m, &b, scratch);
out:
	bpg_onnx_parse_end(&m);
	bpg_arena_free(scratch);
	if (st)
		bpg_net_free(b.net);
	else
		*net = b.net;
	return st;
}
