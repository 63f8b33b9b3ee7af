/* nodes.c - from ONNX nodes to nodes of the network. */
#include <stdio.h>
#include <string.h>

#include "onnx/read.h"

struct importer {
	struct bpg_onnx_graph *g;
	struct bpg_build *b;
	struct bpg_arena *arena;  /* for messages that are kept */
	bool tolerant;
	struct bpg_value *value;
	const char **why;
};

static const char *text(const char *s)
{
	return s ? s : "";
}

/* Initialisers are read when a node asks for them: what nobody needs may be damaged. */
static enum bpg_status fetch(struct importer *im, const struct bpg_onnx_maker *maker)
{
	struct bpg_value *v = &im->value[maker->value];
	if (maker->made != BPG_ONNX_INITIALIZER || v->known)
		return BPG_OK;
	const Onnx__TensorProto *t = im->g->proto->initializer[maker->number];
	return bpg_onnx_tensor(im->g->model, t, t->name, v);
}

static enum bpg_status make_inputs(struct importer *im)
{
	struct bpg_onnx_model *m = im->g->model;
	const Onnx__GraphProto *g = im->g->proto;
	for (size_t i = 0; i < g->n_input; i++) {
		if (im->g->constant_input[i])
			continue;
		struct bpg_shape shape;
		BPG_TRY(bpg_onnx_input_shape(m, g->input[i], im->b->net->inputs, &shape));
		const char *name = bpg_arena_str(m->arena, g->input[i]->name);
		if (!name)
			return bpg_nomem(m->ctx, m->path);
		BPG_TRY(bpg_build_input(im->b, name, &shape, &im->value[i]));
	}
	if (!im->b->net->inputs)
		return bpg_fail(m->ctx, BPG_EUNSUPPORTED, "%s: the graph has no inputs; there is nothing to bound", m->path);
	return BPG_OK;
}

/* Operands of a node; *known false when one of them could not be imported. */
static enum bpg_status operands(struct importer *im, int i, struct bpg_arena *scratch, const struct bpg_value ***in, bool *known)
{
	struct bpg_onnx_model *m = im->g->model;
	size_t n = im->g->proto->node[i]->n_input;
	*known = true;
	*in = bpg_arena_alloc(scratch, n, sizeof **in);
	if (!*in)
		return bpg_nomem(m->ctx, m->path);
	for (size_t k = 0; k < n; k++) {
		const struct bpg_onnx_maker *maker = &im->g->in[i][k];
		if (maker->made == BPG_ONNX_NOBODY)
			continue;
		BPG_TRY(fetch(im, maker));
		(*in)[k] = &im->value[maker->value];
		*known = *known && (*in)[k]->known;
	}
	return BPG_OK;
}

/* Only Split has several outputs that are values of the network; masks, indices and statistics are not. */
static enum bpg_status check_output(const struct bpg_import *im, const char *op, int k)
{
	if (k == 0 || !strcmp(op, "Split"))
		return BPG_OK;
	return bpg_import_fail(im, BPG_EUNSUPPORTED, "its output %d is used; only the first is supported, export for inference", k);
}

static enum bpg_status import_outputs(struct importer *im, int i, struct bpg_import *about, const struct bpg_value *const *in)
{
	const Onnx__NodeProto *node = im->g->proto->node[i];
	struct bpg_onnx_model *m = im->g->model;
	const struct bpg_layer *layer = bpg_onnx_layer(node);
	for (int k = 0; k < (int)node->n_output; k++) {
		int at = im->g->first_value[i] + k;
		if (!im->g->used[at])
			continue;
		BPG_TRY(check_output(about, about->op, k));
		about->output_index = k;
		about->wrong = NULL;
		const char *tensor = bpg_arena_str(m->arena, node->output[k]);
		if (!tensor)
			return bpg_nomem(m->ctx, m->path);
		if (bpg_onnx_is_constant(node))
			BPG_TRY(bpg_onnx_constant(m, about, &im->value[at]));
		else if (layer)
			BPG_TRY(bpg_build_node(im->b, about, layer, (int)node->n_input, in, tensor, &im->value[at]));
		else
			return bpg_import_fail(about, BPG_EUNSUPPORTED, "the operator is not supported");
	}
	return BPG_OK;
}

/* "Relu", or "domain::Bump": no other domain's operator is taken for one of ONNX's own. */
static const char *operator_name(struct bpg_arena *arena, const Onnx__NodeProto *node)
{
	if (bpg_onnx_is_default(node->domain))
		return bpg_arena_str(arena, text(node->op_type));
	size_t n = strlen(node->domain) + strlen(text(node->op_type)) + 3;
	char *name = bpg_arena_alloc(arena, n, 1);
	if (name)
		snprintf(name, n, "%s::%s", node->domain, text(node->op_type));
	return name;
}

static enum bpg_status import_node(struct importer *im, int i, struct bpg_arena *scratch)
{
	const Onnx__NodeProto *node = im->g->proto->node[i];
	struct bpg_onnx_model *m = im->g->model;
	struct bpg_import about = {
		.ctx = m->ctx, .arena = m->arena, .path = im->b->net->path, .opset = bpg_onnx_opset(m, node->domain),
		.output_count = (int)node->n_output, .name = bpg_arena_str(m->arena, im->g->label[i]),
		.op = operator_name(m->arena, node),
	};
	const struct bpg_value **in;
	bool known;
	if (!about.name || !about.op)
		return bpg_nomem(m->ctx, m->path);
	BPG_TRY(operands(im, i, scratch, &in, &known));
	if (!known)
		return bpg_import_fail(&about, BPG_EUNSUPPORTED, "depends on a node that is not supported");
	BPG_TRY(bpg_onnx_attributes(m, node, im->g->label[i], scratch, &about));
	return import_outputs(im, i, &about, in);
}

static enum bpg_status note(struct importer *im, int i, enum bpg_status st)
{
	if (!st || !im->tolerant || st == BPG_ENOMEM)
		return st;
	im->why[i] = bpg_arena_str(im->arena, bpg_ctx_message(im->g->model->ctx));
	return im->why[i] ? BPG_OK : bpg_nomem(im->g->model->ctx, im->g->model->path);
}

enum bpg_status bpg_onnx_import(struct bpg_onnx_graph *g, struct bpg_build *b, struct bpg_arena *arena, bool tolerant,
                                struct bpg_value *value, const char **why)
{
	struct importer im = { g, b, arena, tolerant, value, why };
	BPG_TRY(make_inputs(&im));
	for (int k = 0; k < g->ordered; k++) {
		struct bpg_arena *scratch = bpg_arena_new();
		if (!scratch)
			return bpg_nomem(g->model->ctx, g->model->path);
		enum bpg_status st = note(&im, g->order[k], import_node(&im, g->order[k], scratch));
		bpg_arena_free(scratch);
		BPG_TRY(st);
	}
	for (int k = 0; k < g->outputs; k++)
		BPG_TRY(fetch(&im, &g->out[k]));
	return BPG_OK;
}
