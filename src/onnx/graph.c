/* graph.c - names to numbers: who makes which tensor, which nodes the outputs need, and an order to import them in.
 *
 * Nodes may stand in any order and chains may be long: nothing here recurses. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "onnx/read.h"

/* ---- table of tensor names ---- */

struct entry {
	const char *name;         /* null: free */
	uint64_t hash;
	struct bpg_onnx_maker maker;
};

struct table {
	struct entry *entry;
	uint64_t mask;
};

static bool table_init(struct table *t, int64_t names)
{
	uint64_t size = 16;
	while (size < 2 * (uint64_t)names)
		size *= 2;
	t->mask = size - 1;
	t->entry = bpg_calloc(size, sizeof *t->entry);
	return t->entry;
}

/* The entry of a name, or the free one where it belongs. */
static struct entry *table_find(const struct table *t, const char *name)
{
	uint64_t hash = bpg_hash_str(BPG_HASH_START, name);
	for (uint64_t i = hash ^ hash >> 32;; i++) {
		struct entry *e = &t->entry[i & t->mask];
		if (!e->name || (e->hash == hash && !strcmp(e->name, name)))
			return e;
	}
}

static bool table_add(struct table *t, const char *name, struct bpg_onnx_maker maker)
{
	struct entry *e = table_find(t, name);
	if (e->name)
		return false;
	*e = (struct entry){ name, bpg_hash_str(BPG_HASH_START, name), maker };
	return true;
}

/* ---- filling it ---- */

static const char *text(const char *s)
{
	return s ? s : "";
}

static enum bpg_status twice(const struct bpg_onnx_graph *g, const char *tensor)
{
	char name[128];
	return bpg_fail(g->model->ctx, BPG_EFILE, "%s: tensor '%s' is defined twice; export the model again", g->model->path,
	                bpg_printable(tensor, name));
}

static enum bpg_status add_constants(struct bpg_onnx_graph *g, struct table *t)
{
	if (g->proto->n_sparse_initializer)
		return bpg_fail(g->model->ctx, BPG_EUNSUPPORTED,
		                "%s: sparse initialisers are not supported; export dense weights", g->model->path);
	int first = (int)g->proto->n_input;
	for (int i = 0; i < (int)g->proto->n_initializer; i++) {
		const char *name = text(g->proto->initializer[i]->name);
		if (*name && !table_add(t, name, (struct bpg_onnx_maker){ BPG_ONNX_INITIALIZER, i, first + i }))
			return twice(g, name);
	}
	return BPG_OK;
}

/* Up to IR version 3 initialisers are inputs, too: such an input is no input. */
static enum bpg_status add_inputs(struct bpg_onnx_graph *g, struct table *t)
{
	for (int i = 0; i < (int)g->proto->n_input; i++) {
		const char *name = text(g->proto->input[i]->name);
		if (!*name)
			return bpg_fail(g->model->ctx, BPG_EFILE, "%s: input %d has no name", g->model->path, i);
		if (table_add(t, name, (struct bpg_onnx_maker){ BPG_ONNX_INPUT, i, i }))
			continue;
		if (table_find(t, name)->maker.made != BPG_ONNX_INITIALIZER)
			return twice(g, name);
		g->constant_input[i] = true;
	}
	return BPG_OK;
}

static enum bpg_status add_nodes(struct bpg_onnx_graph *g, struct table *t)
{
	for (int i = 0; i < g->nodes; i++) {
		const Onnx__NodeProto *node = g->proto->node[i];
		for (int k = 0; k < (int)node->n_output; k++) {
			const char *name = text(node->output[k]);
			if (*name && !table_add(t, name, (struct bpg_onnx_maker){ BPG_ONNX_NODE, i, g->first_value[i] + k }))
				return twice(g, name);
		}
	}
	return BPG_OK;
}

/* ---- what is needed ---- */

const char *bpg_onnx_output_name(const struct bpg_onnx_graph *g, int k)
{
	int own = (int)g->proto->n_output;
	return k < own ? text(g->proto->output[k]->name) : g->model->wish->tensor[k - own];
}

static bool wished(const struct bpg_onnx_graph *g, const char *tensor)
{
	for (int k = (int)g->proto->n_output; k < g->outputs; k++)
		if (bpg_onnx_output_name(g, k) == tensor)
			return true;
	return false;
}

static enum bpg_status nobody(const struct bpg_onnx_graph *g, int node, const char *tensor)
{
	char name[128], label[128], op[128];
	if (node < 0 && wished(g, tensor))
		return bpg_fail(g->model->ctx, BPG_EFILE, "%s: no tensor of this network is named '%s', as the query says of a hidden one", g->model->path,
		                bpg_printable(tensor, name));
	if (node < 0)
		return bpg_fail(g->model->ctx, BPG_EFILE, "%s: output '%s' is made by no node; the file is damaged",
		                g->model->path, bpg_printable(tensor, name));
	return bpg_fail(g->model->ctx, BPG_EFILE,
	                "%s: node '%s' (%s): reads tensor '%s', which nothing makes; the file is damaged",
	                g->model->path, bpg_printable(g->label[node], label), bpg_printable(g->proto->node[node]->op_type, op),
	                bpg_printable(tensor, name));
}

/* Finds the maker of a tensor; puts its node on the stack when it is a new one. */
static enum bpg_status need(struct bpg_onnx_graph *g, const struct table *t, int reader, const char *tensor,
                            struct bpg_onnx_maker *maker, int *stack, int *n)
{
	const struct entry *e = table_find(t, tensor);
	if (!e->name)
		return nobody(g, reader, tensor);
	*maker = e->maker;
	g->used[maker->value] = true;
	if (maker->made == BPG_ONNX_NODE && !g->needed[maker->number]) {
		g->needed[maker->number] = true;
		stack[(*n)++] = maker->number;
	}
	return BPG_OK;
}

static enum bpg_status find_needed(struct bpg_onnx_graph *g, const struct table *t, int *stack)
{
	int n = 0;
	for (int k = 0; k < g->outputs; k++)
		BPG_TRY(need(g, t, -1, bpg_onnx_output_name(g, k), &g->out[k], stack, &n));
	while (n) {
		int i = stack[--n];
		const Onnx__NodeProto *node = g->proto->node[i];
		for (size_t k = 0; k < node->n_input; k++)
			if (*text(node->input[k]))
				BPG_TRY(need(g, t, i, node->input[k], &g->in[i][k], stack, &n));
	}
	return BPG_OK;
}

/* ---- order ---- */

struct visit {
	int node, next;           /* operand to look at next */
};

enum { NEW, OPEN, DONE };

/* The open nodes from `node` to the top of the stack depend on each other in a ring. */
static enum bpg_status cycle(const struct bpg_onnx_graph *g, const struct visit *stack, int top, int node)
{
	char list[512] = "", label[128];
	int shown = 0;
	for (int i = top; i >= 0 && shown < 4; i--, shown++) {
		size_t n = strlen(list);
		snprintf(list + n, sizeof list - n, "%s'%s'", n ? ", " : "", bpg_printable(g->label[stack[i].node], label));
		if (stack[i].node == node)
			break;
	}
	return bpg_fail(g->model->ctx, BPG_EFILE, "%s: nodes depend on their own output in a cycle (%s%s); the file is damaged",
	                g->model->path, list, shown == 4 ? ", ..." : "");
}

/* Depth first; nodes that are in order already stay in the order of the file. */
static enum bpg_status visit(struct bpg_onnx_graph *g, int root, struct visit *stack, unsigned char *state)
{
	int top = 0;
	stack[0] = (struct visit){ root, 0 };
	state[root] = OPEN;
	while (top >= 0) {
		struct visit *v = &stack[top];
		const Onnx__NodeProto *node = g->proto->node[v->node];
		if ((size_t)v->next == node->n_input) {
			state[v->node] = DONE;
			g->order[g->ordered++] = v->node;
			top--;
			continue;
		}
		const struct bpg_onnx_maker *m = &g->in[v->node][v->next++];
		if (m->made != BPG_ONNX_NODE || state[m->number] == DONE)
			continue;
		if (state[m->number] == OPEN)
			return cycle(g, stack, top, m->number);
		state[m->number] = OPEN;
		stack[++top] = (struct visit){ m->number, 0 };
	}
	return BPG_OK;
}

static enum bpg_status sort(struct bpg_onnx_graph *g)
{
	enum bpg_status st = BPG_OK;
	struct visit *stack = bpg_calloc((size_t)g->nodes + 1, sizeof *stack);
	unsigned char *state = bpg_calloc((size_t)g->nodes + 1, 1);
	if (!stack || !state)
		st = bpg_nomem(g->model->ctx, g->model->path);
	for (int i = 0; !st && i < g->nodes; i++)
		if (g->needed[i] && state[i] == NEW)
			st = visit(g, i, stack, state);
	free(stack);
	free(state);
	return st;
}

/* ---- all ---- */

static char *make_label(struct bpg_arena *arena, const Onnx__NodeProto *node, int i)
{
	char label[160], op[128];
	if (*text(node->name))
		return bpg_arena_str(arena, node->name);
	snprintf(label, sizeof label, "%s_%d", bpg_printable(node->op_type, op), i);
	return bpg_arena_str(arena, label);
}

static bool allocate(struct bpg_onnx_graph *g, struct bpg_arena *arena)
{
	size_t nodes = (size_t)g->nodes, inputs = 0;
	for (size_t i = 0; i < nodes; i++)
		inputs += g->proto->node[i]->n_input;
	struct bpg_onnx_maker *in = bpg_arena_alloc(arena, inputs, sizeof *in);
	g->in = bpg_arena_alloc(arena, nodes, sizeof *g->in);
	g->out = bpg_arena_alloc(arena, (size_t)g->outputs, sizeof *g->out);
	g->constant_input = bpg_arena_alloc(arena, g->proto->n_input, sizeof *g->constant_input);
	g->needed = bpg_arena_alloc(arena, nodes, sizeof *g->needed);
	g->used = bpg_arena_alloc(arena, (size_t)g->values, sizeof *g->used);
	g->order = bpg_arena_alloc(arena, nodes, sizeof *g->order);
	g->label = bpg_arena_alloc(arena, nodes, sizeof *g->label);
	if (!in || !g->in || !g->out || !g->constant_input || !g->needed || !g->used || !g->order || !g->label)
		return false;
	for (size_t i = 0; i < nodes; in += g->proto->node[i++]->n_input) {
		g->in[i] = in;
		g->label[i] = make_label(arena, g->proto->node[i], (int)i);
		if (!g->label[i])
			return false;
	}
	return true;
}

static enum bpg_status count_values(struct bpg_onnx_graph *g, struct bpg_arena *arena)
{
	size_t n = g->proto->n_input + g->proto->n_initializer;
	if (g->proto->n_node > INT_MAX / 4 || n > INT_MAX / 4 || g->proto->n_output > INT_MAX / 4)
		return bpg_fail(g->model->ctx, BPG_EUNSUPPORTED, "%s: too many nodes", g->model->path);
	g->nodes = (int)g->proto->n_node;
	g->outputs = (int)g->proto->n_output + (g->model->wish ? g->model->wish->tensors : 0);
	g->first_value = bpg_arena_alloc(arena, (size_t)g->nodes, sizeof *g->first_value);
	if (!g->first_value)
		return bpg_nomem(g->model->ctx, g->model->path);
	for (int i = 0; i < g->nodes; i++) {
		g->first_value[i] = (int)n;
		n += g->proto->node[i]->n_output;
		if (n > INT_MAX / 2)
			return bpg_fail(g->model->ctx, BPG_EUNSUPPORTED, "%s: too many tensors", g->model->path);
	}
	g->values = (int)n;
	return BPG_OK;
}

static enum bpg_status resolve(struct bpg_onnx_graph *g)
{
	enum bpg_status st = BPG_OK;
	struct table t = { 0 };
	int *stack = bpg_calloc((size_t)g->nodes + 1, sizeof *stack);
	if (!table_init(&t, g->values) || !stack) {
		st = bpg_nomem(g->model->ctx, g->model->path);
		goto out;
	}
	BPG_TRY_TO(add_constants(g, &t), out);
	BPG_TRY_TO(add_inputs(g, &t), out);
	BPG_TRY_TO(add_nodes(g, &t), out);
	st = find_needed(g, &t, stack);
out:
	free(t.entry);
	free(stack);
	return st;
}

enum bpg_status bpg_onnx_graph_init(struct bpg_onnx_model *m, struct bpg_arena *arena, struct bpg_onnx_graph *g)
{
	*g = (struct bpg_onnx_graph){ .model = m, .proto = m->proto->graph };
	if (!g->proto->n_output)
		return bpg_fail(m->ctx, BPG_EFILE, "%s: the graph has no outputs; not a network, or damaged", m->path);
	BPG_TRY(count_values(g, arena));
	if (!allocate(g, arena))
		return bpg_nomem(m->ctx, m->path);
	BPG_TRY(resolve(g));
	return sort(g);
}

/* ---- operators and inputs ---- */

bool bpg_onnx_is_constant(const Onnx__NodeProto *node)
{
	return !strcmp(text(node->op_type), "Constant") && bpg_onnx_is_default(node->domain);
}

const struct bpg_layer *bpg_onnx_layer(const Onnx__NodeProto *node)
{
	return bpg_layer_find(text(node->domain), text(node->op_type));
}

bool bpg_onnx_supported(const Onnx__NodeProto *node)
{
	return bpg_onnx_is_constant(node) || bpg_onnx_layer(node);
}

/* The first axis may be symbolic, absent, or 0 or -1 in old files: the batch, which is 1. wished: the size somebody asked for, 0: none. */
static enum bpg_status input_axis(struct bpg_onnx_model *m, const char *input, int axis,
                                  const Onnx__TensorShapeProto__Dimension *d, int64_t wished, int64_t *to)
{
	char name[128], symbol[128];
	bool given = d->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE;
	*to = given ? d->dim_value : 0;
	if (*to > 0)
		return BPG_OK;
	bool free = axis == 0 || !given;
	*to = wished && free ? wished : 1;
	if (axis == 0 || (wished && free))
		return BPG_OK;
	if (given)
		return bpg_fail(m->ctx, BPG_EFILE, "%s: input '%s': axis %d has size %lld", m->path, bpg_printable(input, name),
		                axis, (long long)d->dim_value);
	bool named = d->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM;
	return bpg_fail(m->ctx, BPG_EUNSUPPORTED,
	                "%s: input '%s': axis %d has the symbolic size '%s'; only the first axis may, export with fixed sizes",
	                m->path, bpg_printable(input, name), axis, named ? bpg_printable(d->dim_param, symbol) : "?");
}

enum bpg_status bpg_onnx_input_shape(struct bpg_onnx_model *m, const Onnx__ValueInfoProto *input, int number, struct bpg_shape *shape)
{
	const struct bpg_shape *wish = m->wish && number < m->wish->inputs ? &m->wish->shape[number] : NULL;
	char name[128];
	bpg_printable(input->name, name);
	const Onnx__TypeProto__Tensor *t = input->type && input->type->value_case == ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE
	                                   ? input->type->tensor_type : NULL;
	if (!t)
		return bpg_fail(m->ctx, BPG_EUNSUPPORTED, "%s: input '%s' is no tensor", m->path, name);
	if (t->elem_type != 1 && t->elem_type != 10 && t->elem_type != 11 && t->elem_type != 16)
		return bpg_fail(m->ctx, BPG_EUNSUPPORTED, "%s: input '%s' does not hold floating point numbers (type %d)",
		                m->path, name, t->elem_type);
	if (!t->shape)
		return bpg_fail(m->ctx, BPG_EUNSUPPORTED, "%s: input '%s' has no shape; export the model with fixed sizes",
		                m->path, name);
	if (t->shape->n_dim > BPG_MAX_RANK)
		return bpg_fail(m->ctx, BPG_EUNSUPPORTED, "%s: input '%s' has more than %d dimensions", m->path, name,
		                BPG_MAX_RANK);
	*shape = (struct bpg_shape){ .rank = (int)t->shape->n_dim };
	for (int i = 0; i < shape->rank; i++)
		BPG_TRY(input_axis(m, input->name, i, t->shape->dim[i], wish && wish->rank == shape->rank ? wish->dim[i] : 0, &shape->dim[i]));
	if (bpg_shape_count(shape) < 0)
		return bpg_fail(m->ctx, BPG_EFILE, "%s: input '%s' has an absurd size; the file is damaged", m->path, name);
	return BPG_OK;
}
