/* pass_dead.c - drops nodes that no output needs, such as what only gave its shape. Inputs stay: they are the question. */
#include <stdlib.h>
#include <string.h>

#include "net/build.h"

/* Nodes are in topological order: one sweep from the end finds all. */
static void mark(const struct bpg_net *net, bool *live)
{
	for (int k = 0; k < net->outputs; k++)
		live[net->output[k]] = true;
	for (int k = 0; k < net->inputs; k++)
		live[net->input[k]] = true;
	for (int i = net->nodes - 1; i >= 0; i--)
		for (int k = 0; live[i] && k < net->node[i].v.nin; k++)
			if (net->node[i].src[k] >= 0)
				live[net->node[i].src[k]] = true;
}

static void compact(struct bpg_net *net, const bool *live, int *number)
{
	int n = 0;
	for (int i = 0; i < net->nodes; i++) {
		if (!live[i])
			continue;
		struct bpg_net_node *node = &net->node[i];
		for (int k = 0; k < node->v.nin; k++)
			if (node->src[k] >= 0)
				node->src[k] = number[node->src[k]];
		number[i] = n;
		net->node[n++] = *node;
	}
	net->nodes = n;
	for (int k = 0; k < net->outputs; k++)
		net->output[k] = number[net->output[k]];
	for (int k = 0; k < net->inputs; k++)
		net->input[k] = number[net->input[k]];
}

enum bpg_status bpg_pass_dead(struct bpg_ctx *ctx, struct bpg_net *net)
{
	bool *live = bpg_calloc((size_t)net->nodes, sizeof *live);
	int *number = bpg_calloc((size_t)net->nodes, sizeof *number);
	enum bpg_status st = live && number ? BPG_OK : bpg_nomem(ctx, net->path);
	if (!st) {
		mark(net, live);
		compact(net, live, number);
	}
	free(live);
	free(number);
	return st;
}
