/* describe.c - what is in a model, for `bpgraph info`; unsupported operators do not stop it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "onnx/read.h"

#define MOST_OPERATORS 200        /* listed as unsupported; listing all would be quadratic */

static const char *text(const char *s)
{
	return s ? s : "";
}

static void print_shape(FILE *to, const struct bpg_value *v)
{
	if (!v->known) {
		fprintf(to, "?");
		return;
	}
	fprintf(to, "[");
	for (int i = 0; i < v->shape.rank; i++)
		fprintf(to, "%s%lld", i ? "," : "", (long long)v->shape.dim[i]);
	fprintf(to, "]");
}

static void print_tensor(FILE *to, const char *what, const char *tensor, const struct bpg_value *v)
{
	char name[128];
	fprintf(to, "%-11s %s ", what, bpg_printable(tensor, name));
	print_shape(to, v);
	fprintf(to, "\n");
}

static void print_head(FILE *to, const struct bpg_onnx_graph *g, const struct bpg_value *value)
{
	const struct bpg_onnx_model *m = g->model;
	char producer[128];
	fprintf(to, "network     %s\n", m->path);
	fprintf(to, "opset       %d (IR version %lld%s%s)\n", m->opset, (long long)m->proto->ir_version,
	        *text(m->proto->producer_name) ? ", made by " : "", bpg_printable(m->proto->producer_name, producer));
	fprintf(to, "parameters  %lld\n", (long long)m->parameters);
	for (size_t i = 0; i < g->proto->n_input; i++)
		if (value[i].known)
			print_tensor(to, "input", text(g->proto->input[i]->name), &value[i]);
	for (size_t k = 0; k < g->proto->n_output; k++)
		print_tensor(to, "output", text(g->proto->output[k]->name), &value[g->out[k].value]);
}

static const char *fate(const struct bpg_onnx_graph *g, int i, int k, const struct bpg_value *v)
{
	if (!g->needed[i] || !g->used[g->first_value[i] + k])
		return "  not needed";
	if (!bpg_onnx_supported(g->proto->node[i]))
		return "  NOT SUPPORTED";
	return v->value ? "  constant" : "";
}

static void print_nodes(FILE *to, const struct bpg_onnx_graph *g, const struct bpg_value *value)
{
	char label[128], op[128];
	fprintf(to, "nodes       %d, of which the outputs need %d\n", g->nodes, g->ordered);
	for (int i = 0; i < g->nodes; i++) {
		const Onnx__NodeProto *node = g->proto->node[i];
		for (int k = 0; k < (int)node->n_output; k++) {
			const struct bpg_value *v = &value[g->first_value[i] + k];
			if (!*text(node->output[k]))
				continue;
			fprintf(to, "  %-24s %-20s ", bpg_printable(g->label[i], label), bpg_printable(node->op_type, op));
			print_shape(to, v);
			fprintf(to, "%s\n", fate(g, i, k, v));
		}
	}
}

static bool same_operator(const Onnx__NodeProto *a, const Onnx__NodeProto *b)
{
	return !strcmp(text(a->op_type), text(b->op_type)) && !strcmp(text(a->domain), text(b->domain));
}

/* One line for each unsupported operator, with the nodes that use it. */
static void print_unsupported(FILE *to, const struct bpg_onnx_graph *g, bool *listed)
{
	char label[128], op[128], domain[128];
	int operators = 0;
	for (int i = 0; i < g->nodes; i++) {
		const Onnx__NodeProto *node = g->proto->node[i];
		if (!g->needed[i] || listed[i] || bpg_onnx_supported(node))
			continue;
		if (++operators > MOST_OPERATORS) {
			fprintf(to, "unsupported ...\n");
			return;
		}
		fprintf(to, "unsupported %s%s%s:", bpg_printable(node->domain, domain), *text(node->domain) ? "::" : "",
		        bpg_printable(node->op_type, op));
		for (int k = i; k < g->nodes; k++)
			if (g->needed[k] && !listed[k] && same_operator(node, g->proto->node[k])) {
				listed[k] = true;
				fprintf(to, " '%s'", bpg_printable(g->label[k], label));
			}
		fprintf(to, "\n");
	}
	if (!operators)
		fprintf(to, "unsupported none\n");
}

/* Supported operators used in a way that is not: the layer's own words. */
static void print_refused(FILE *to, const struct bpg_onnx_graph *g, const char *const *why)
{
	for (int k = 0; k < g->ordered; k++) {
		int i = g->order[k];
		if (why[i] && bpg_onnx_supported(g->proto->node[i]) && !strstr(why[i], "depends on a node that is not supported"))
			fprintf(to, "refused     %s\n", why[i]);
	}
}

static enum bpg_status describe(struct bpg_onnx_model *m, struct bpg_build *b, struct bpg_arena *scratch, FILE *to)
{
	struct bpg_onnx_graph g;
	BPG_TRY(bpg_onnx_parse(m));
	BPG_TRY(bpg_onnx_graph_init(m, scratch, &g));
	struct bpg_value *value = bpg_arena_alloc(scratch, (size_t)g.values, sizeof *value);
	const char **why = bpg_arena_alloc(scratch, (size_t)g.nodes, sizeof *why);
	bool *listed = bpg_arena_alloc(scratch, (size_t)g.nodes, sizeof *listed);
	if (!value || !why || !listed)
		return bpg_nomem(m->ctx, m->path);
	BPG_TRY(bpg_onnx_import(&g, b, scratch, true, value, why));
	print_head(to, &g, value);
	print_nodes(to, &g, value);
	print_unsupported(to, &g, listed);
	print_refused(to, &g, why);
	return BPG_OK;
}

enum bpg_status bpg_onnx_describe(struct bpg_ctx *ctx, const char *path, void *to)
{
	struct bpg_build b = { 0 };
	struct bpg_onnx_model m = { .ctx = ctx, .path = path };
	struct bpg_arena *scratch = bpg_arena_new();
	enum bpg_status st;

	if (!scratch)
		BPG_TRY_TO(bpg_nomem(ctx, path), out);
	BPG_TRY_TO(bpg_onnx_begin(&m, &b), out);
	st = describe(&m, &b, scratch, to);
out:
	bpg_onnx_parse_end(&m);
	bpg_arena_free(scratch);
	bpg_net_free(b.net);
	return st;
}
