/* eval.c - concrete runs, one node after the other: the reference for everything, and the replay of witnesses. */
#include <stdlib.h>
#include <string.h>

#include "net/const.h"
#include "net/net.h"

#define KEEP 8192                 /* constants up to this size stay in memory once they have been read */

static enum bpg_status node_failed(struct bpg_ctx *ctx, const struct bpg_net *net, int i, enum bpg_status st, const char *what)
{
	char name[128], op[128];
	if (st == BPG_ENOMEM)
		return bpg_nomem(ctx, net->path);
	return bpg_fail(ctx, st, "%s: node '%s' (%s): %s could not be computed", net->path,
	                bpg_printable(net->node[i].v.name, name), bpg_printable(net->node[i].v.op, op), what);
}

/* Last node that reads node i; nodes (a number past the end) for outputs, so that they stay. */
static int *last_readers(const struct bpg_net *net)
{
	int *last = bpg_calloc((size_t)net->nodes, sizeof *last);
	if (!last)
		return NULL;
	for (int i = 0; i < net->nodes; i++)
		last[i] = i;
	for (int i = 0; i < net->nodes; i++)
		for (int k = 0; k < net->node[i].v.nin; k++)
			if (net->node[i].src[k] >= 0)
				last[net->node[i].src[k]] = i;
	for (int k = 0; k < net->outputs; k++)
		last[net->output[k]] = net->nodes;
	return last;
}

/* Frees what node i was the last to read. An operand may stand twice: free the second time is of null. */
static void drop_read(const struct bpg_net *net, const int *last, int i, void (*drop)(void *run, int node), void *run)
{
	for (int k = 0; k < net->node[i].v.nin; k++)
		if (net->node[i].src[k] >= 0 && last[net->node[i].src[k]] == i)
			drop(run, net->node[i].src[k]);
	if (last[i] == i && net->node[i].input < 0)
		drop(run, i);
}

static int widest(const struct bpg_net *net)
{
	int most = 0;
	for (int i = 0; i < net->nodes; i++)
		most = BPG_MAX(most, net->node[i].v.nin);
	return most;
}

void bpg_net_hold(const struct bpg_net *net, int64_t bytes)
{
	int64_t sum = 0;

	for (int pass = 0; pass < 2 && sum <= bytes; pass++)
		for (int i = 0; i < net->nodes; i++)
			for (int k = 0; k < net->node[i].v.nin; k++) {
				struct bpg_const *c = net->node[i].v.in[k].value;
				if (!c || c->mem)
					continue;
				if (pass)
					bpg_const_pin_f32(c);
				else
					sum += bpg_const_count(c) * (int64_t)sizeof(float);
			}
}

/* ---- operands in double ---- */

/* Operand arrays of one node. Constants that are large are read into memory that lives for this node only. */
struct operands {
	const double **x;
	double **own;
	int n;
};

static bool operands_init(struct operands *o, const struct bpg_net *net)
{
	int most = widest(net);
	o->n = 0;
	o->x = bpg_calloc((size_t)most, sizeof *o->x);
	o->own = bpg_calloc((size_t)most, sizeof *o->own);
	return o->x && o->own;
}

static void operands_clear(struct operands *o)
{
	for (int k = 0; k < o->n; k++) {
		free(o->own[k]);
		o->own[k] = NULL;
	}
	o->n = 0;
}

static void operands_fini(struct operands *o)
{
	operands_clear(o);
	free(o->x);
	free(o->own);
}

static bool operand_constant(struct operands *o, int k, const struct bpg_operand *in)
{
	if (in->n <= KEEP) {
		o->x[k] = bpg_const_pin(in->value);
		return o->x[k];
	}
	o->own[k] = bpg_calloc((size_t)in->n, sizeof *o->own[k]);
	if (!o->own[k])
		return false;
	bpg_const_read(in->value, 0, in->n, o->own[k]);
	o->x[k] = o->own[k];
	return true;
}

/* `constants` false: the callback reads constants from the node itself, as the defaults of the families do. */
static bool operands_set(struct operands *o, const struct bpg_net_node *node, double *const *value, bool constants)
{
	operands_clear(o);
	o->n = node->v.nin;
	for (int k = 0; k < node->v.nin; k++) {
		o->x[k] = node->src[k] >= 0 ? value[node->src[k]] : NULL;
		if (constants && node->src[k] < 0 && !node->v.in[k].absent && !operand_constant(o, k, &node->v.in[k]))
			return false;
	}
	return true;
}

static bool has_default(const struct bpg_layer *layer)
{
	return layer->family == BPG_LINEAR || layer->family == BPG_UNARY;
}

/* ---- values in double ---- */

static enum bpg_status eval_node(struct bpg_ctx *ctx, const struct bpg_net *net, int i, const double *x, struct operands *o,
                                 double *const *value)
{
	const struct bpg_net_node *node = &net->node[i];
	if (node->input >= 0) {
		memcpy(value[i], x + net->in_first[node->input], (size_t)node->v.out.n * sizeof *x);
		return BPG_OK;
	}
	if (!operands_set(o, node, value, node->v.layer->eval || !has_default(node->v.layer)))
		return bpg_nomem(ctx, net->path);
	enum bpg_status st = bpg_node_eval(&node->v, o->x, value[i]);
	return st ? node_failed(ctx, net, i, st, "its value") : BPG_OK;
}

enum bpg_status bpg_net_eval(struct bpg_ctx *ctx, const struct bpg_net *net, const double *x, struct bpg_arena *arena,
                             double **value)
{
	enum bpg_status st = BPG_OK;
	struct operands o;
	if (!operands_init(&o, net))
		st = bpg_nomem(ctx, net->path);
	for (int i = 0; !st && i < net->nodes; i++) {
		if (!value[i])
			value[i] = bpg_arena_alloc(arena, (size_t)net->node[i].v.out.n, sizeof **value);
		st = value[i] ? eval_node(ctx, net, i, x, &o, value) : bpg_nomem(ctx, net->path);
	}
	operands_fini(&o);
	return st;
}

static void drop_double(void *run, int node)
{
	double **value = run;
	free(value[node]);
	value[node] = NULL;
}

static void copy_outputs(const struct bpg_net *net, double *const *value, double *y)
{
	for (int k = 0; k < net->outputs; k++)
		memcpy(y + net->out_first[k], value[net->output[k]], (size_t)net->node[net->output[k]].v.out.n * sizeof *y);
}

enum bpg_status bpg_net_output(struct bpg_ctx *ctx, const struct bpg_net *net, const double *x, double *y)
{
	enum bpg_status st = BPG_OK;
	struct operands o;
	double **value = bpg_calloc((size_t)net->nodes, sizeof *value);
	int *last = last_readers(net);
	if (!operands_init(&o, net) || !value || !last)
		st = bpg_nomem(ctx, net->path);
	for (int i = 0; !st && i < net->nodes; i++) {
		value[i] = bpg_calloc((size_t)net->node[i].v.out.n, sizeof **value);
		st = value[i] ? eval_node(ctx, net, i, x, &o, value) : bpg_nomem(ctx, net->path);
		drop_read(net, last, i, drop_double, value);
	}
	if (!st)
		copy_outputs(net, value, y);
	operands_fini(&o);
	for (int i = 0; value && i < net->nodes; i++)
		free(value[i]);
	free(value);
	free(last);
	return st;
}

/* ---- values in float ---- */

static void drop_float(void *run, int node)
{
	float **value = run;
	free(value[node]);
	value[node] = NULL;
}

/* Operand arrays of one node in float; `own` gets the constants, to be freed by the caller. */
static bool operands_float(const struct bpg_net_node *node, float *const *value, const float **x, float **own)
{
	const struct bpg_layer *layer = node->v.layer;
	bool constants = layer->eval_f32 || !has_default(layer);
	for (int k = 0; k < node->v.nin; k++) {
		const struct bpg_operand *in = &node->v.in[k];
		x[k] = node->src[k] >= 0 ? value[node->src[k]] : NULL;
		if (!constants || node->src[k] >= 0 || in->absent)
			continue;
		own[k] = bpg_calloc((size_t)in->n, sizeof *own[k]);
		if (!own[k])
			return false;
		bpg_const_read_f32(in->value, 0, in->n, own[k]);
		x[k] = own[k];
	}
	return true;
}

static enum bpg_status eval_node_float(struct bpg_ctx *ctx, const struct bpg_net *net, int i, const float *x, const float **in,
                                       float **own, float *const *value)
{
	const struct bpg_net_node *node = &net->node[i];
	if (node->input >= 0) {
		memcpy(value[i], x + net->in_first[node->input], (size_t)node->v.out.n * sizeof *x);
		return BPG_OK;
	}
	enum bpg_status st = BPG_ENOMEM;
	if (operands_float(node, value, in, own))
		st = bpg_node_eval_f32(&node->v, in, value[i]);
	for (int k = 0; k < node->v.nin; k++) {
		free(own[k]);
		own[k] = NULL;
	}
	return st ? node_failed(ctx, net, i, st, "its value") : BPG_OK;
}

enum bpg_status bpg_net_output_f32(struct bpg_ctx *ctx, const struct bpg_net *net, const float *x, float *y)
{
	enum bpg_status st = BPG_OK;
	int most = widest(net);
	const float **in = bpg_calloc((size_t)most, sizeof *in);
	float **own = bpg_calloc((size_t)most, sizeof *own);
	float **value = bpg_calloc((size_t)net->nodes, sizeof *value);
	int *last = last_readers(net);
	if (!in || !own || !value || !last)
		st = bpg_nomem(ctx, net->path);
	for (int i = 0; !st && i < net->nodes; i++) {
		value[i] = bpg_calloc((size_t)net->node[i].v.out.n, sizeof **value);
		st = value[i] ? eval_node_float(ctx, net, i, x, in, own, value) : bpg_nomem(ctx, net->path);
		drop_read(net, last, i, drop_float, value);
	}
	for (int k = 0; !st && k < net->outputs; k++)
		memcpy(y + net->out_first[k], value[net->output[k]], (size_t)net->node[net->output[k]].v.out.n * sizeof *y);
	for (int i = 0; value && i < net->nodes; i++)
		free(value[i]);
	free(value);
	free(last);
	free(own);
	free(in);
	return st;
}

/* ---- intervals ---- */

struct boxes {
	double **lo, **up;
	const double **l, **u;    /* operands of one node */
};

static void drop_box(void *run, int node)
{
	struct boxes *b = run;
	drop_double(b->lo, node);
	drop_double(b->up, node);
}

static bool boxes_init(struct boxes *b, const struct bpg_net *net)
{
	int most = widest(net);
	b->lo = bpg_calloc((size_t)net->nodes, sizeof *b->lo);
	b->up = bpg_calloc((size_t)net->nodes, sizeof *b->up);
	b->l = bpg_calloc((size_t)most, sizeof *b->l);
	b->u = bpg_calloc((size_t)most, sizeof *b->u);
	return b->lo && b->up && b->l && b->u;
}

static void boxes_fini(struct boxes *b, const struct bpg_net *net)
{
	for (int i = 0; i < net->nodes; i++) {
		if (b->lo)
			free(b->lo[i]);
		if (b->up)
			free(b->up[i]);
	}
	free(b->lo);
	free(b->up);
	free(b->l);
	free(b->u);
}

static enum bpg_status box_node(struct bpg_ctx *ctx, const struct bpg_net *net, int i, const double *lower, const double *upper,
                                struct boxes *b)
{
	const struct bpg_net_node *node = &net->node[i];
	int64_t n = node->v.out.n;
	b->lo[i] = bpg_calloc((size_t)n, sizeof **b->lo);
	b->up[i] = bpg_calloc((size_t)n, sizeof **b->up);
	if (!b->lo[i] || !b->up[i])
		return bpg_nomem(ctx, net->path);
	if (node->input >= 0) {
		memcpy(b->lo[i], lower + net->in_first[node->input], (size_t)n * sizeof *lower);
		memcpy(b->up[i], upper + net->in_first[node->input], (size_t)n * sizeof *upper);
		return BPG_OK;
	}
	for (int k = 0; k < node->v.nin; k++) {
		b->l[k] = node->src[k] >= 0 ? b->lo[node->src[k]] : NULL;
		b->u[k] = node->src[k] >= 0 ? b->up[node->src[k]] : NULL;
	}
	enum bpg_status st = bpg_node_interval(&node->v, b->l, b->u, 0, n, b->lo[i], b->up[i]);
	return st ? node_failed(ctx, net, i, st, "its interval") : BPG_OK;
}

enum bpg_status bpg_net_interval(struct bpg_ctx *ctx, const struct bpg_net *net, const double *lower, const double *upper,
                                 double *lo, double *up)
{
	enum bpg_status st = BPG_OK;
	struct boxes b;
	int *last = last_readers(net);
	if (!boxes_init(&b, net) || !last)
		st = bpg_nomem(ctx, net->path);
	for (int i = 0; !st && i < net->nodes; i++) {
		st = box_node(ctx, net, i, lower, upper, &b);
		drop_read(net, last, i, drop_box, &b);
	}
	if (!st) {
		copy_outputs(net, b.lo, lo);
		copy_outputs(net, b.up, up);
	}
	boxes_fini(&b, net);
	free(last);
	return st;
}

/* ---- gradient ---- */

static enum bpg_status gradient_node(struct bpg_ctx *ctx, const struct bpg_net *net, int i, double *const *value,
                                     struct operands *o, double **g, double **gx)
{
	const struct bpg_net_node *node = &net->node[i];
	for (int k = 0; k < node->v.nin; k++) {
		int src = node->src[k];
		gx[k] = NULL;
		if (src < 0)
			continue;
		if (!g[src] && !(g[src] = bpg_calloc((size_t)net->node[src].v.out.n, sizeof **g)))
			return bpg_nomem(ctx, net->path);
		gx[k] = g[src];
	}
	if (!operands_set(o, node, value, node->v.layer->gradient || !has_default(node->v.layer)))
		return bpg_nomem(ctx, net->path);
	enum bpg_status st = bpg_node_gradient(&node->v, o->x, g[i], gx);
	return st ? node_failed(ctx, net, i, st, "its gradient") : BPG_OK;
}

/* g[i]: gradient by node i's values, null while nothing has come back to it. */
static enum bpg_status seed_gradient(struct bpg_ctx *ctx, const struct bpg_net *net, const double *gy, double **g)
{
	for (int k = 0; k < net->outputs; k++) {
		int node = net->output[k];
		int64_t n = net->node[node].v.out.n;
		if (!g[node] && !(g[node] = bpg_calloc((size_t)n, sizeof **g)))
			return bpg_nomem(ctx, net->path);
		for (int64_t i = 0; i < n; i++)
			g[node][i] += gy[net->out_first[k] + i];
	}
	return BPG_OK;
}

static void copy_input_gradient(const struct bpg_net *net, double *const *g, double *gx)
{
	for (int k = 0; k < net->inputs; k++) {
		size_t bytes = (size_t)net->node[net->input[k]].v.out.n * sizeof *gx;
		if (g[net->input[k]])
			memcpy(gx + net->in_first[k], g[net->input[k]], bytes);
		else
			memset(gx + net->in_first[k], 0, bytes);
	}
}

enum bpg_status bpg_net_gradient(struct bpg_ctx *ctx, const struct bpg_net *net, double *const *value, const double *gy,
                                 double *gx)
{
	enum bpg_status st = BPG_OK;
	struct operands o;
	double **g = bpg_calloc((size_t)net->nodes, sizeof *g);
	double **to = bpg_calloc((size_t)widest(net), sizeof *to);
	if (!operands_init(&o, net) || !g || !to)
		st = bpg_nomem(ctx, net->path);
	if (!st)
		st = seed_gradient(ctx, net, gy, g);
	for (int i = net->nodes - 1; !st && i >= 0; i--) {
		if (!g[i] || net->node[i].input >= 0)
			continue;
		st = gradient_node(ctx, net, i, value, &o, g, to);
		drop_double(g, i);
	}
	if (!st)
		copy_input_gradient(net, g, gx);
	operands_fini(&o);
	for (int i = 0; g && i < net->nodes; i++)
		free(g[i]);
	free(g);
	free(to);
	return st;
}
