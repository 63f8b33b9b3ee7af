/* lower.c - from plan to tasks: gives every step its body, argument, buffers and access modes. Names no layer. */
#include "graph/lower.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "codelets/twin.h"
#include "graph/domains_internal.h"
#include "graph/estimate.h"
#include "graph/lower_internal.h"
#include "graph/panels.h"
#include "graph/sparse.h"
#include "graph/zones.h"
#include "rt/comm.h"

/* Work of a block of an interval task: multiplications. */
static const int64_t interval_block = (int64_t)1 << 18;
/* Work of the planes of a place in the same unit. */
static const int64_t planes_work = 256;
enum { MOST_BLOCKS = 16 };

enum bpg_status bpg_model_submit(struct bpg_model *m, enum bpg_task_kind kind, bpg_task_fn *run, const void *arg, size_t bytes, int buffers,
                                 struct bpg_tensor *const *tensor, const enum bpg_access *access, int priority, int node, int tile, double flops)
{
	struct bpg_task t = { .kind = kind, .run = run, .arg = arg, .arg_bytes = bytes, .buffers = buffers, .tensor = tensor, .access = access,
		              .priority = priority, .node = node, .tile = tile, .flops = flops, .group = m->options.group };

	if (bpg_rt_devices(m->rt))
		bpg_twin_set(&t);
	m->steps++;
	return bpg_rt_submit(m->rt, &t);
}

static enum bpg_status home(struct bpg_ctx *ctx, struct bpg_model *m, struct bpg_model_node *v)
{
	if (!v->bounds_t)
		v->bounds_t = bpg_tensor_new(m->rt, (size_t)(m->segments * BPG_FIELDS * v->columns.n) * sizeof *v->bounds, v->bounds, 0);
	return v->bounds_t ? BPG_OK : bpg_nomem(ctx, "the bounds of a node");
}

/* ---- forward ---- */

static void input_bounds(const struct bpg_model *m, const struct bpg_model_node *v, const struct bpg_region *g, double *f)
{
	int64_t n = v->columns.n, first = m->net->in_first[v->net->input];

	for (int64_t i = 0; i < n; i++) {
		double l = g->lo[first + i], u = g->up[first + i], c;

		if (g->center)
			c = g->center[first + i];
		else
			c = isinf(l) || isinf(u) ? (isinf(l) ? (isinf(u) ? 0 : u) : l) : l + (u - l) / 2;
		/* The clip of a ball's box may leave its centre outside: any reference is right, one inside the box is better. */
		if (!g->ball)
			c = c < l ? l : c > u ? u : c;
		double a = bpg_next_up(u - c), b = bpg_next_up(c - l);
		f[BPG_LOWER * n + i] = l;
		f[BPG_UPPER * n + i] = u;
		f[BPG_CENTRE * n + i] = c;
		f[BPG_RADIUS * n + i] = l == u && c == l ? 0 : a > b ? a : b;
	}
}

enum bpg_status bpg_lower_input(struct bpg_ctx *ctx, struct bpg_model *m, struct bpg_model_node *v)
{
	for (int s = 0; s < m->segments; s++)
		input_bounds(m, v, &m->region[s], v->bounds + s * BPG_FIELDS * v->columns.n);
	return home(ctx, m, v);
}

/* Multiplications for one element of the node. */
static double element_work(const struct bpg_model_node *v)
{
	const struct bpg_hop *h = &v->hop;

	if (h->kind == BPG_HOP_DENSE)
		return (double)h->dense.ins;
	if (h->kind == BPG_HOP_CONV)
		return 4.0 * (double)(h->conv.in_channels / h->conv.groups * h->conv.kernel[0] * h->conv.kernel[1]);
	if (h->terms)
		return 32.0 * ((double)h->terms->nonzeros / (double)BPG_MAX(h->terms->rows, (int64_t)1) + 1);
	return 64;
}

/* A task that fills arrays of n elements, cut into blocks where that is worth it: every block has arrays of its own, which
 * are joined. */
struct filling {
	enum bpg_task_kind kind;
	bpg_task_fn *run;
	void *arg;
	size_t arg_bytes;
	int64_t *first, *n;       /* inside the argument: the elements of a block */
	int fields;
	double work;
	struct bpg_tensor **t;    /* [reads + 1] what is read, then what is filled */
	int reads, node;
	bool dealt;               /* its blocks, to the ranks: each reads the weights of its own */
};

static enum bpg_status fill(struct bpg_ctx *ctx, struct bpg_model *m, const struct filling *f)
{
	/* Several segments are filled in one task each node: other models fill the workers. */
	int64_t n = *f->n, blocks = m->segments > 1 ? 1 : (int64_t)BPG_MIN(f->work / (double)interval_block, (double)MOST_BLOCKS);
	int64_t block = blocks > 1 ? (n + blocks - 1) / blocks : n;
	enum bpg_access join_mode[MOST_BLOCKS + 1], *mode = bpg_calloc((size_t)f->reads + 1, sizeof *mode);
	struct bpg_tensor *part[MOST_BLOCKS + 1], *whole = f->t[f->reads];
	enum bpg_status st = mode ? BPG_OK : bpg_nomem(ctx, "a task");
	int parts = 0;

	bpg_estimate_fill(m->estimate, m, &m->node[f->node], f->kind == BPG_TASK_PLANES, n, f->fields, f->work, block < n ? (int)((n + block - 1) / block) : 1);
	for (int k = 0; !st && k < f->reads; k++)
		mode[k] = BPG_READ;
	if (!st)
		mode[f->reads] = BPG_WRITE;
	if (!st && block >= n) {
		st = bpg_model_submit(m, f->kind, f->run, f->arg, f->arg_bytes, f->reads + 1, f->t, mode, m->nodes, f->node, -1, 0);
		free(mode);
		return st;
	}
	for (int64_t at = 0; !st && at < n; at += block) {
		*f->first = at;
		*f->n = BPG_MIN(block, n - at);
		part[parts] = f->t[f->reads] = bpg_tensor_new(m->rt, (size_t)(f->fields * *f->n) * sizeof(double), NULL, 0);
		if (!part[parts]) {
			st = bpg_nomem(ctx, "a task");
			break;
		}
		join_mode[parts++] = BPG_READ;
		int rank = f->dealt ? (parts - 1) % m->options.ranks : m->options.rank;
		if (rank == m->options.rank)
			st = bpg_model_submit(m, f->kind, f->run, f->arg, f->arg_bytes, f->reads + 1, f->t, mode, m->nodes, f->node, parts - 1, 0);
		for (int r = 0; f->dealt && !st && r < m->options.ranks; r++)
			st = bpg_rt_transfer(m->rt, part[parts - 1], (size_t)(f->fields * *f->n) * sizeof(double), rank, r, f->node);
	}
	if (!st) {
		struct bpg_arg_join j = { n, block, f->fields };
		part[parts] = whole;
		join_mode[parts] = BPG_WRITE;
		st = bpg_model_submit(m, BPG_TASK_REDUCE, bpg_task_join, &j, sizeof j, parts + 1, part, join_mode, m->nodes, f->node, -1, 0);
	}
	for (int p = 0; p < parts; p++)
		bpg_tensor_release(part[p]);
	free(mode);
	return st;
}

enum bpg_status bpg_lower_interval(struct bpg_ctx *ctx, struct bpg_model *m, struct bpg_model_node *v)
{
	struct bpg_arg_interval a = { .hop = &v->hop, .n = v->columns.n, .centred = true, .segments = m->segments };
	struct filling f = { .kind = BPG_TASK_INTERVAL, .run = bpg_task_interval, .arg = &a, .arg_bytes = sizeof a, .first = &a.first, .n = &a.n,
		             .fields = BPG_FIELDS, .work = element_work(v) * (double)v->columns.n, .reads = v->hop.nin, .node = v->id };
	enum bpg_status st = home(ctx, m, v);

	if (st)
		return st;
	f.t = bpg_calloc((size_t)v->hop.nin + 1, sizeof *f.t);
	if (!f.t)
		return bpg_nomem(ctx, "a task");
	f.dealt = m->options.ranks > 1 && bpg_comm_ranks() > 1 && (v->hop.kind == BPG_HOP_DENSE || v->hop.kind == BPG_HOP_CONV);
	for (int k = 0; k < v->hop.nin; k++) {
		const struct bpg_model_node *x = &m->node[v->src[k]];
		f.t[k] = x->bounds_t;
		a.centred = a.centred && x->hop.kind != BPG_HOP_DENSE && x->hop.kind != BPG_HOP_CONV && x->hop.kind != BPG_HOP_ELEMENT
		            && x->hop.kind != BPG_HOP_TERMS && !(x->hop.kind == BPG_HOP_INPUT && m->region->ball);
	}
	f.t[v->hop.nin] = v->bounds_t;
	st = fill(ctx, m, &f);
	free(f.t);
	return st;
}

/* Sparse planes live outside handles (their size is known only afterwards); the planes handle stands for them. */
struct arg_sparse {
	struct bpg_hop *hop;
	int segments;
	bool others;
};

static void task_sparse_planes(struct bpg_rt *rt, void *const *buffer, const void *arg)
{
	const struct arg_sparse *a = arg;
	struct bpg_hop *h = a->hop;
	int operands = h->v->nin;
	const double **l = calloc((size_t)(2 * a->segments * operands + 1), sizeof *l), **u = l + a->segments * operands;

	for (int s = 0; l && s < a->segments; s++)
		for (int k = 0; k < h->nin; k++) {
			const double *bounds = bpg_segment_bounds(h->in[k], buffer[k], s);
			l[s * operands + h->operand[k]] = bounds + BPG_LOWER * h->in[k]->n;
			u[s * operands + h->operand[k]] = bounds + BPG_UPPER * h->in[k]->n;
		}
	if (!l || !bpg_sparse_planes(h->v, a->segments, l, u, &h->lower, &h->upper) || (a->others && !bpg_sparse_others(h->v, l, u, h->lower, h->upper, h->other)))
		bpg_rt_fault(rt, BPG_ENOMEM, "node '%s' (%s): memory is short for its planes", h->v->name, h->v->op);
	free(l);
}

static enum bpg_status lower_sparse_planes(struct bpg_ctx *ctx, struct bpg_model *m, struct bpg_model_node *v)
{
	struct arg_sparse a = { &v->hop, m->segments, m->options.iterations > 0 };
	struct bpg_tensor **t = bpg_calloc((size_t)v->hop.nin + 1, sizeof *t);
	enum bpg_access *mode = bpg_calloc((size_t)v->hop.nin + 1, sizeof *mode);
	enum bpg_status st = BPG_OK;

	bpg_estimate_fill(m->estimate, m, v, true, v->columns.n, BPG_PLANE_FIELDS, (double)(planes_work * v->columns.n), 1);
	v->planes_t = bpg_tensor_new(m->rt, 64, NULL, 0);
	if (!t || !mode || !v->planes_t)
		st = bpg_nomem(ctx, "the planes of a node");
	for (int k = 0; !st && k < v->hop.nin; k++) {
		t[k] = m->node[v->src[k]].bounds_t;
		mode[k] = BPG_READ;
	}
	if (!st) {
		t[v->hop.nin] = v->planes_t;
		mode[v->hop.nin] = BPG_WRITE;
		st = bpg_model_submit(m, BPG_TASK_PLANES, task_sparse_planes, &a, sizeof a, v->hop.nin + 1, t, mode, m->nodes, v->id, -1, 0);
	}
	free(t);
	free(mode);
	return st;
}

enum bpg_status bpg_lower_planes(struct bpg_ctx *ctx, struct bpg_model *m, struct bpg_model_node *v)
{
	if (v->hop.kind == BPG_HOP_PLANES)
		return lower_sparse_planes(ctx, m, v);
	struct bpg_model_node *x = &m->node[v->src[0]];
	bool linear = x->hop.kind != BPG_HOP_INPUT && x->hop.kind != BPG_HOP_UNARY && x->hop.kind != BPG_HOP_PLANES;
	int64_t places = bpg_columns_places(&v->columns);
	struct bpg_arg_planes a = { .hop = &v->hop, .n = places, .rule = m->options.slope, .wide = m->options.wide, .slack = m->options.slack,
		                    .segments = m->segments };
	size_t bytes = (size_t)(m->segments * BPG_PLANE_FIELDS * places) * sizeof(double);
	int owner = v->zone ? bpg_zone_owner(m, v->zone, v->segment) : -1; /* -1: everybody's, as bounds are */

	x->charged = linear && x->consumers == 1;
	if (v->zone && v->segment < 0)
		return bpg_lower_planes_of_parts(ctx, m, v);
	a.producer = x->charged ? &x->hop : NULL;
	if (!v->planes_t) {
		if (owner < 0)
			bpg_model_vectors(m, bytes);
		else
			m->fixed_bytes[owner] += bytes;
		if (owner >= 0 && !bpg_mine(m, owner))
			return BPG_OK;
		v->planes_t = bpg_tensor_new(m->rt, bytes, NULL, BPG_MAX(owner, 0));
		if (!v->planes_t)
			return bpg_nomem(ctx, "the planes of a node");
	}
	struct bpg_tensor *t[3] = { x->bounds_t, v->bounds_t, v->planes_t };
	struct filling f = { .kind = BPG_TASK_PLANES, .run = bpg_task_planes, .arg = &a, .arg_bytes = sizeof a, .first = &a.first, .n = &a.n,
		             .fields = BPG_PLANE_FIELDS, .work = (double)(planes_work * places), .t = t, .reads = 2, .node = v->id };
	return fill(ctx, m, &f);
}

/* ---- waves ---- */

/* Whether the product right behind a relaxed start serves both sides at once (see gemm). */
static bool pairs(const struct bpg_model *m, const struct bpg_stage *s, const struct bpg_tile *t, int node)
{
	const struct bpg_model_node *v = &m->node[node];

	/* Shares of several segments are added one after the other, which are not opposite. */
	return s->opposite && t->sides == 3 && v->hop.kind == BPG_HOP_DENSE && s->reads[v->whole] == 1 && m->node[s->start[0]].src[0] == v->whole
	       && !(v->zone && v->zone->col == v->whole);
}

double bpg_step_flops(const struct bpg_model *m, const struct bpg_stage *s, const struct bpg_wave *w, const struct bpg_step *p)
{
	const struct bpg_model_node *v = &m->node[p->node];
	const struct bpg_tile *t = &s->tile[p->tile];

	if (p->kind == BPG_STEP_GEMM) {
		double K = (double)bpg_columns_places(v->hop.out), rows = t->strips * K;
		if (pairs(m, s, t, p->node))
			rows = t->minus / BPG_LANES * (K + (double)v->hop.out->mixed);
		return 2.0 * BPG_LANES * (double)bpg_panel_columns(v, p->panel) * rows;
	}
	if (p->kind == BPG_STEP_CONV) {
		const struct bpg_conv *c = &v->hop.conv;
		return 2.0 * BPG_LANES * t->strips
		       * (double)(bpg_columns_in(v->hop.out, &w->buffer[p->from].window) * (c->in_channels / c->groups) * c->kernel[0] * c->kernel[1]);
	}
	return 0;
}

/* The weights of a product, where they lie or as they were gathered. */
static struct bpg_tensor *panel_of(const struct lowering *x, const struct bpg_step *p)
{
	return bpg_panel_at(&x->m->node[p->node], x->slots, p->panel, p->extra[2], x->s->tile[p->tile].owner);
}

struct bpg_view_tile bpg_lower_view(const struct lowering *x, int b)
{
	const struct bpg_buffer *f = &x->w->buffer[b];
	const struct bpg_tile *t = &x->s->tile[f->tile];

	return (struct bpg_view_tile){ .strips = t->strips, .wide = t->wide && !f->point, .window = f->window, .segment = t->segment };
}

enum bpg_status bpg_lower_need(struct lowering *x, int b)
{
	struct bpg_tensor **home = x->w->buffer[b].home;

	if (!x->buffer[b] && home)
		x->buffer[b] = *home;
	if (!x->buffer[b])
		x->buffer[b] = (bpg_buffer_lasts(&x->w->buffer[b]) ? bpg_tensor_parameters(x->m->rt, x->w->buffer[b].bytes, x->w->buffer[b].owner)
		                                                   : bpg_tensor_new(x->m->rt, x->w->buffer[b].bytes, NULL, x->w->buffer[b].owner));
	if (home)
		*home = x->buffer[b];
	return x->buffer[b] ? BPG_OK : bpg_nomem(x->ctx, "a tile");
}

enum bpg_status bpg_lower_state(struct lowering *x, int tile)
{
	struct bpg_tensor **at = &x->state[tile - x->first];
	const struct bpg_tile *t = &x->s->tile[tile];

	if (!*at)
		*at = bpg_tensor_new(x->m->rt, (size_t)(BPG_STATES * t->strips * BPG_LANES) * sizeof(double), NULL, t->owner);
	return *at ? BPG_OK : bpg_nomem(x->ctx, "a tile");
}

double bpg_relax_under(const struct bpg_model *m, const struct bpg_model_node *v)
{
	const struct bpg_model_node *in = &m->node[v->src[0]];

	return v->hop.under + (in->charged ? in->hop.under : 0);
}

int bpg_lower_moor(const struct lowering *x, int tile, struct bpg_tensor **b, enum bpg_access *mode, int n)
{
	if (!x->berth || !x->berth[tile - x->first])
		return n;
	b[n] = x->berth[tile - x->first];
	mode[n] = BPG_WRITE; /* nobody reads it: its tasks follow each other */
	return n + 1;
}

/* Berths of the wave's tiles; with one owner of everything tiles of the next wave may begin early. */
static enum bpg_status berths(struct lowering *x)
{
	struct bpg_model *m = x->m;
	int last = x->first, *count = bpg_calloc((size_t)m->options.owners, sizeof *count);
	enum bpg_status st = count ? BPG_OK : bpg_nomem(x->ctx, "a wave");

	for (int64_t i = 0; i < x->w->steps; i++)
		last = BPG_MAX(last, x->w->step[i].tile);
	x->berth = bpg_calloc((size_t)(last - x->first) + 1, sizeof *x->berth);
	if (!x->berth)
		st = bpg_nomem(x->ctx, "a wave");
	for (int t = x->first; !st && t <= last; t++) {
		int owner = x->s->tile[t].owner;
		if (bpg_mine(m, owner) && !(x->berth[t - x->first] = bpg_berth(m, x->slots, owner, count[owner]++)))
			st = bpg_nomem(x->ctx, "a wave");
	}
	x->last = last;
	free(count);
	return st;
}

/* A tile that is optimised goes on after its bound, until its slopes have had their last step in the wave: then the berth is left. */
static enum bpg_status leave_berth(struct lowering *x, int tile)
{
	struct bpg_tensor **b = bpg_calloc((size_t)x->w->buffers + 1, sizeof *b);
	enum bpg_access *mode = bpg_calloc((size_t)x->w->buffers + 1, sizeof *mode);
	enum bpg_status st = b && mode ? BPG_OK : bpg_nomem(x->ctx, "a task");
	int n = 0;

	for (int64_t i = 0; !st && i < x->w->buffers; i++)
		if (x->w->buffer[i].home && x->w->buffer[i].tile == tile && x->buffer[i])
			mode[n] = BPG_READ, b[n++] = x->buffer[i];
	if (n) {
		n = bpg_lower_moor(x, tile, b, mode, n);
		st = bpg_model_submit(x->m, BPG_TASK_STEP, bpg_task_nothing, NULL, 0, n, b, mode, 0, -1, tile, 0);
	}
	free(b);
	free(mode);
	return st;
}

static enum bpg_status lower_start(struct lowering *x, const struct bpg_step *p, const struct bpg_tile *t)
{
	struct bpg_model *m = x->m;
	struct bpg_model_node *v = &m->node[p->node], *own = x->s->node < 0 ? v : &m->node[x->s->node];
	bool first = x->s->node >= 0 || p->k == 0;

	if (v->segment >= 0)
		own = v;
	BPG_TRY(bpg_lower_state(x, p->tile));
	struct bpg_tensor *state = x->state[p->tile - x->first];
	if (x->s->node < 0) {
		int64_t at = 0;
		for (int o = 0; o < m->net->outputs; o++)
			if (o == p->k)
				at = m->net->out_first[o];
		struct bpg_arg_question a = { .hop = &v->hop, .first_output = at, .row = t->row, .count = t->count, .sides = t->sides, .minus = t->minus,
			                      .tile = bpg_lower_view(x, p->to), .first = first, .slack = m->options.slack };
		struct bpg_tensor *b[4] = { v->bounds_t, x->buffer[p->to], state };
		enum bpg_access mode[4] = { BPG_READ, BPG_WRITE, first ? BPG_WRITE : BPG_READ_WRITE };
		return bpg_model_submit(m, BPG_TASK_START, bpg_task_start_question, &a, sizeof a, bpg_lower_moor(x, p->tile, b, mode, 3), b, mode, p->priority, p->node, p->tile, 0);
	}
	struct bpg_arg_start a = { .hop = &own->hop, .element = t->element, .count = t->count, .sides = t->sides, .minus = t->minus, .tile = bpg_lower_view(x, p->to),
		                   .relax = x->s->relaxed_start ? &v->hop : NULL, .slack = m->options.slack,
		                   .pair = x->s->relaxed_start && pairs(m, x->s, t, v->src[0]), .under = x->s->relaxed_start ? bpg_relax_under(m, v) : 0 };
	bool dense = own->hop.kind == BPG_HOP_DENSE;
	struct bpg_tensor *b[5] = { own->bounds_t };
	enum bpg_access mode[5] = { BPG_READ };
	int n = 1;
	if (a.relax)
		mode[n] = BPG_READ, b[n++] = v->planes_t;
	mode[n] = BPG_WRITE, b[n++] = x->buffer[p->to];
	mode[n] = BPG_WRITE, b[n++] = state;
	n = bpg_lower_moor(x, p->tile, b, mode, n);
	return bpg_model_submit(m, BPG_TASK_START, dense ? bpg_task_start_dense : bpg_task_start_unit, &a, sizeof a, n, b, mode, p->priority, own->id, p->tile, 0);
}

static enum bpg_status lower_gemm(struct lowering *x, const struct bpg_step *p, const struct bpg_tile *t, struct bpg_tensor *state)
{
	struct bpg_model *m = x->m;
	struct bpg_model_node *v = &m->node[p->node];
	struct bpg_arg_gemm a = { .hop = &v->hop, .from = bpg_lower_view(x, p->from), .to = bpg_lower_view(x, p->to) };
	bool first = !x->written[p->to];

	x->written[p->to] = true;
	if (p->kind == BPG_STEP_GEMM) {
		a.c0 = p->panel * v->panel_width;
		a.c1 = a.c0 + bpg_panel_columns(v, p->panel);
		a.pair = pairs(m, x->s, t, p->node) ? t->minus / BPG_LANES : 0;
	}
	a.add = p->extra[3] != 0;
	struct bpg_tensor *b[8] = { panel_of(x, p), x->buffer[p->from], x->buffer[p->to], v->bounds_t, state };
	enum bpg_access mode[8] = { BPG_READ, BPG_READ, first ? BPG_WRITE : BPG_READ_WRITE, BPG_READ, BPG_READ_WRITE, BPG_READ, BPG_READ, BPG_READ };
	int n = 3;
	if (p->kind == BPG_STEP_CONV) {
		a.toll = p->k && m->options.slack;
		a.slack = m->options.slack;
		if (a.toll || p->extra[0] >= 0)
			n = 5;
		if (p->extra[0] >= 0) {
			const struct bpg_model_node *y = &m->node[p->extra[0]];
			a.relax = &y->hop;
			a.under = bpg_relax_under(m, y);
			mode[1] = BPG_READ_WRITE;
			b[n++] = y->planes_t;
			a.second = p->extra[1] >= 0;
			if (a.second)
				b[n++] = y->bounds_t, b[n++] = x->buffer[p->extra[1]];
		}
	}
	return bpg_model_submit(m, BPG_TASK_GEMM, p->kind == BPG_STEP_GEMM ? bpg_task_gemm_dense : bpg_task_gemm_conv, &a, sizeof a, n, b, mode, p->priority, p->node,
	              p->tile, bpg_step_flops(m, x->s, x->w, p));
}

static enum bpg_status lower_planes_step(struct lowering *x, const struct bpg_step *p, struct bpg_tensor *state)
{
	struct bpg_model *m = x->m;
	struct bpg_model_node *v = &m->node[p->node];
	int nin = v->hop.nin;
	struct bpg_arg_map_planes a = { { &v->hop, p->k, bpg_lower_view(x, p->from), bpg_lower_view(x, p->to) }, m->options.slack, p->extra[0] >= 0 };
	struct bpg_tensor **b = bpg_calloc((size_t)nin + 6, sizeof *b);
	enum bpg_access *mode = bpg_calloc((size_t)nin + 6, sizeof *mode);
	enum bpg_status st = BPG_ENOMEM;
	int n = 0;

	if (a.chosen)
		BPG_TRY_TO(bpg_lower_need(x, p->extra[0]), out);
	if (b && mode) {
		mode[n] = BPG_READ, b[n++] = v->bounds_t;
		for (int k = 0; k < nin; k++)
			mode[n] = BPG_READ, b[n++] = m->node[v->src[k]].bounds_t;
		mode[n] = BPG_READ, b[n++] = x->buffer[p->from];
		mode[n] = BPG_READ_WRITE, b[n++] = state;
		mode[n] = BPG_WRITE, b[n++] = x->buffer[p->to];
		if (a.chosen)
			mode[n] = BPG_READ, b[n++] = x->buffer[p->extra[0]];
		mode[n] = BPG_READ, b[n++] = v->planes_t;
		st = bpg_model_submit(m, BPG_TASK_RELAX, bpg_task_map_planes, &a, sizeof a, n, b, mode, p->priority, p->node, p->tile, 0);
	}
out:
	free(b);
	free(mode);
	return st;
}

/* ---- alpha ---- */

/* What is recomputed begins when the step before has ended, as the plan counts bytes: tasks of the chain pass the state on. */
static int in_order(const struct lowering *x, struct bpg_tensor *state, struct bpg_tensor **b, enum bpg_access *mode, int n)
{
	if (!x->s->recompute)
		return n;
	b[n] = state;
	mode[n] = BPG_READ_WRITE;
	return n + 1;
}

static void set_rate(const struct bpg_model *m, struct bpg_arg_alpha *a, int pass)
{
	a->rate = m->options.rate * pow(m->options.decay, pass);
	a->bias1 = 1 / (1 - pow(0.9, pass + 1));
	a->bias2 = 1 / (1 - pow(0.999, pass + 1));
}

static enum bpg_status lower_alpha(struct lowering *x, const struct bpg_step *p, struct bpg_tensor *state)
{
	struct bpg_model *m = x->m;
	struct bpg_model_node *v = &m->node[p->node];
	struct bpg_arg_alpha a = { .hop = &v->hop, .free = (v->hop.v->layer->traits & BPG_FREE_SLOPE) != 0, .rule = m->options.slope, .slack = m->options.slack,
		                   .under = bpg_relax_under(m, v) };
	struct bpg_tensor *extra[3] = { NULL };

	set_rate(m, &a, p->k);

	if (x->s->batch && p->extra[0] >= 0)
		return bpg_batch_lower(x->ctx, x->s->batch, x->w, p, x->buffer, state);
	a.shared = x->s->shared && p->extra[0] >= 0;
	a.minus = x->s->tile[p->tile].minus;
	a.sides = x->s->tile[p->tile].sides;
	if (a.shared) {
		extra[0] = x->s->shared[p->node].alpha;
		extra[1] = x->s->shared[p->node].sums;
		a.at = x->w->buffer[p->extra[0]].at;
	}
	if (p->extra[0] >= 0)
		for (int i = a.shared ? 2 : 0; i < 3 && p->extra[i] >= 0; i++) {
			BPG_TRY(bpg_lower_need(x, p->extra[i]));
			extra[i] = x->buffer[p->extra[i]];
			a.at = x->w->buffer[p->extra[i]].at;
		}
	a.tile = bpg_lower_view(x, p->from >= 0 ? p->from : p->extra[0]);
	a.summed = x->s->joint;
	struct bpg_tensor *from = p->from >= 0 ? x->buffer[p->from] : NULL;
	if (p->kind == BPG_STEP_ALPHA_START) {
		struct bpg_tensor *b[] = { v->planes_t, m->node[v->src[0]].bounds_t, extra[0], extra[1] };
		static const enum bpg_access mode[] = { BPG_READ, BPG_READ, BPG_WRITE, BPG_WRITE };
		return bpg_model_submit(m, BPG_TASK_STEP, bpg_task_alpha_start, &a, sizeof a, 4, b, mode, p->priority, p->node, p->tile, 0);
	}
	if (p->kind == BPG_STEP_ALPHA_RELAX) {
		struct bpg_tensor *b[7] = { v->planes_t, from, state, extra[0] };
		enum bpg_access mode[7] = { BPG_READ, BPG_READ_WRITE, BPG_READ_WRITE, BPG_READ };
		int n = 4;
		a.keep = extra[2] != NULL;
		if (a.keep)
			mode[n] = BPG_WRITE, b[n++] = extra[2];
		mode[n] = BPG_READ, b[n++] = m->node[v->src[0]].bounds_t;
		mode[n] = BPG_READ, b[n++] = v->bounds_t;
		return bpg_model_submit(m, BPG_TASK_RELAX, bpg_task_relax_alpha, &a, sizeof a, n, b, mode, p->priority, p->node, p->tile, 0);
	}
	struct bpg_tensor *b[9] = { v->planes_t, m->node[v->src[0]].bounds_t, from, extra[2], extra[0], extra[1] };
	enum bpg_access mode[9] = { BPG_READ, BPG_READ, BPG_READ_WRITE, BPG_READ, BPG_READ_WRITE, BPG_READ_WRITE };
	int n = a.at.count ? 6 : 3;
	struct bpg_tensor *weights = x->weights[p->tile - x->first], *by_bounds = m->node[v->src[0]].by_bounds_t;
	if (a.shared)
		mode[4] = BPG_READ;
	a.weighed = a.at.count && weights;
	a.summed = a.at.count && x->s->joint && by_bounds; /* of all tiles in their order, as they are submitted */
	if (a.weighed)
		mode[n] = BPG_READ, b[n++] = weights;
	if (a.summed)
		mode[n] = BPG_READ_WRITE, b[n++] = by_bounds;
	n = in_order(x, state, b, mode, n);
	return bpg_model_submit(m, BPG_TASK_STEP, bpg_task_alpha_step, &a, sizeof a, n, b, mode, p->priority, p->node, p->tile, 0);
}

static enum bpg_status lower_forward(struct lowering *x, const struct bpg_step *p, struct bpg_tensor *state)
{
	struct bpg_model *m = x->m;
	struct bpg_model_node *v = &m->node[p->node];
	struct bpg_arg_forward a = { .hop = &v->hop, .k = p->k, .from = bpg_lower_view(x, p->from), .to = bpg_lower_view(x, p->to), .first = !x->written[p->to] };
	struct bpg_tensor *from = x->buffer[p->from], *to = x->buffer[p->to];
	enum bpg_access out = a.first ? BPG_WRITE : BPG_READ_WRITE;

	x->written[p->to] = true;
	if (v->hop.kind == BPG_HOP_DENSE) {
		a.c0 = p->panel * v->panel_width;
		a.c1 = a.c0 + bpg_panel_columns(v, p->panel);
		struct bpg_tensor *b[4] = { panel_of(x, p), from, to };
		enum bpg_access mode[4] = { BPG_READ, BPG_READ, out };
		double flops = 2.0 * BPG_LANES * a.from.strips * (double)(a.c1 - a.c0) * (double)bpg_columns_places(v->hop.out);
		return bpg_model_submit(m, BPG_TASK_ADJOINT, bpg_task_forward_dense, &a, sizeof a, in_order(x, state, b, mode, 3), b, mode, p->priority, p->node, p->tile, flops);
	}
	if (v->hop.kind == BPG_HOP_CONV) {
		struct bpg_tensor *b[4] = { panel_of(x, p), from, to };
		enum bpg_access mode[4] = { BPG_READ, BPG_READ, out };
		return bpg_model_submit(m, BPG_TASK_ADJOINT, bpg_task_forward_conv, &a, sizeof a, in_order(x, state, b, mode, 3), b, mode, p->priority, p->node, p->tile, 0);
	}
	struct bpg_tensor *b[3] = { from, to };
	enum bpg_access mode[3] = { BPG_READ, out };
	return bpg_model_submit(m, BPG_TASK_ADJOINT, bpg_task_forward_map, &a, sizeof a, in_order(x, state, b, mode, 2), b, mode, p->priority, p->node, p->tile, 0);
}

/* Through planes, all operands at once; the weights of the rows start, or have their step. */
static enum bpg_status lower_weights(struct lowering *x, const struct bpg_step *p, struct bpg_tensor *state)
{
	struct bpg_model *m = x->m;
	struct bpg_model_node *v = &m->node[p->node];
	int nin = v->hop.nin, n = 0;
	size_t bytes = sizeof(struct bpg_arg_weights) + (size_t)nin * sizeof(struct bpg_window);
	struct bpg_arg_weights *a = bpg_calloc(1, bytes);
	struct bpg_tensor **b = bpg_calloc(2 * (size_t)nin + 8, sizeof *b);
	enum bpg_access *mode = bpg_calloc(2 * (size_t)nin + 8, sizeof *mode);
	enum bpg_status st = a && b && mode ? BPG_OK : bpg_nomem(x->ctx, "a task");
	bool start = p->kind == BPG_STEP_ALPHA_START;

	for (int i = 0; !st && i < 2 && p->extra[i] >= 0; i++)
		st = bpg_lower_need(x, p->extra[i]);
	if (st)
		goto out;
	*a = (struct bpg_arg_weights){ .hop = &v->hop, .others = p->extra[0] >= 0 ? x->w->buffer[p->extra[0]].at.count : 0,
		                       .rate = m->options.rate * pow(m->options.decay, p->k), .bias1 = 1 / (1 - pow(0.9, p->k + 1)),
		                       .bias2 = 1 / (1 - pow(0.999, p->k + 1)) };
	a->tile = bpg_lower_view(x, start ? p->extra[0] : p->from);
	if (!start) {
		mode[n] = BPG_READ, b[n++] = v->bounds_t;
		for (int k = 0; k < nin; k++)
			mode[n] = BPG_READ, b[n++] = m->node[v->src[k]].bounds_t;
		mode[n] = BPG_READ, b[n++] = x->buffer[p->from];
		for (int k = 0; k < nin; k++) {
			int point = x->w->point[p->extra[2] + k];
			a->in[k] = x->w->buffer[point].window;
			mode[n] = BPG_READ, b[n++] = x->buffer[point];
		}
		mode[n] = BPG_WRITE, b[n++] = x->buffer[p->to];
	}
	for (int i = 0; i < 2 && p->extra[i] >= 0; i++)
		mode[n] = start ? BPG_WRITE : BPG_READ_WRITE, b[n++] = x->buffer[p->extra[i]];
	if (!start) {
		struct bpg_tensor *weights = x->weights[p->tile - x->first];
		a->weighed = weights != NULL;
		if (weights)
			mode[n] = BPG_READ, b[n++] = weights;
		mode[n] = BPG_READ, b[n++] = v->planes_t;
		n = in_order(x, state, b, mode, n);
	}
	st = bpg_model_submit(m, start ? BPG_TASK_STEP : BPG_TASK_ADJOINT, start ? bpg_task_weights_start : bpg_task_forward_planes, a, bytes, n, b, mode, p->priority,
	            p->node, p->tile, 0);
out:
	free(a);
	free(b);
	free(mode);
	return st;
}

static int region_norm(const struct bpg_model *m, const struct bpg_model_node *v)
{
	return v->hop.kind != BPG_HOP_INPUT || !m->region->ball ? 0 : m->region->norm == BPG_NORM_2 ? 2 : 1;
}

/* Derivatives by the bounds of v, summed over tiles in their order, go from rank to rank with the tiles; `to` -1: to all, who read them. */
static enum bpg_status pass_on(struct bpg_model *m, struct bpg_model_node *v, int to)
{
	size_t bytes = 4 * (size_t)v->columns.n * sizeof *v->by_bounds;
	int from = v->by_bounds_rank;

	for (int r = to < 0 ? 0 : to; from >= 0 && from != to && r < (to < 0 ? m->options.ranks : to + 1); r++)
		BPG_TRY(bpg_rt_transfer(m->rt, v->by_bounds_t, bytes, from, r, v->id));
	v->by_bounds_rank = to;
	return BPG_OK;
}

static enum bpg_status sum_over_ranks(struct lowering *x, const struct bpg_step *p, int owner)
{
	struct bpg_model *m = x->m;
	struct bpg_model_node *v = &m->node[p->node];

	if (!x->s->joint || m->options.ranks < 2 || m->placement == BPG_PLACEMENT_FSDP)
		return BPG_OK;
	if (p->kind == BPG_STEP_ROW_WEIGHTS)
		return pass_on(m, v, -1);
	if (p->kind != BPG_STEP_ALPHA_STEP || v->hop.kind != BPG_HOP_UNARY || p->extra[0] < 0 || !x->w->buffer[p->extra[0]].at.count)
		return BPG_OK;
	return m->node[v->src[0]].by_bounds_t ? pass_on(m, &m->node[v->src[0]], owner) : BPG_OK;
}

static enum bpg_status lower_step(struct lowering *x, const struct bpg_step *p)
{
	struct bpg_model *m = x->m;
	struct bpg_model_node *v = &m->node[p->node];
	const struct bpg_tile *t = &x->s->tile[p->tile];
	struct bpg_tensor *state = x->state[p->tile - x->first];
	bool slack = m->options.slack;

	BPG_TRY(sum_over_ranks(x, p, t->owner));
	if (bpg_step_of_zone(p->kind))
		return bpg_lower_zone_step(x, p);
	if (p->kind != BPG_STEP_GATHER && !bpg_mine(m, bpg_step_owner(x->s, x->w, p)))
		return BPG_OK;
	if (p->to >= 0)
		BPG_TRY(bpg_lower_need(x, p->to));
	struct bpg_tensor *from = p->from >= 0 ? x->buffer[p->from] : NULL, *to = p->to >= 0 ? x->buffer[p->to] : NULL;
	static const enum bpg_access r_r_rw[] = { BPG_READ, BPG_READ, BPG_READ_WRITE }, r_w[] = { BPG_READ, BPG_WRITE };
	static const enum bpg_access r_r_rw_rw[] = { BPG_READ, BPG_READ, BPG_READ_WRITE, BPG_READ_WRITE };

	switch (p->kind) {
	case BPG_STEP_START:
	case BPG_STEP_QUESTION:
		return lower_start(x, p, t);
	case BPG_STEP_GEMM:
	case BPG_STEP_CONV:
		return lower_gemm(x, p, t, state);
	case BPG_STEP_PLANES:
		return lower_planes_step(x, p, state);
	case BPG_STEP_TOLL: {
		struct bpg_arg_relax a = { &v->hop, bpg_lower_view(x, p->from), slack, v->hop.under };
		struct bpg_tensor *b[] = { v->bounds_t, from, state };
		return slack ? bpg_model_submit(m, BPG_TASK_CONCRETIZE, bpg_task_toll, &a, sizeof a, 3, b, r_r_rw, p->priority, p->node, p->tile, 0) : BPG_OK;
	}
	case BPG_STEP_RELAX: {
		struct bpg_arg_relax a = { &v->hop, bpg_lower_view(x, p->from), slack, bpg_relax_under(m, v) };
		struct bpg_tensor *b[] = { v->planes_t, from, state, v->bounds_t, to };
		static const enum bpg_access mode[] = { BPG_READ, BPG_READ_WRITE, BPG_READ_WRITE, BPG_READ, BPG_READ };
		return bpg_model_submit(m, BPG_TASK_RELAX, to ? bpg_task_add_relax : bpg_task_relax, &a, sizeof a, to ? 5 : 3, b, mode, p->priority, p->node, p->tile, 0);
	}
	case BPG_STEP_MAP: {
		struct bpg_arg_map a = { &v->hop, p->k, bpg_lower_view(x, p->from), bpg_lower_view(x, p->to) };
		struct bpg_tensor *b[] = { from, to };
		return bpg_model_submit(m, BPG_TASK_MAP, bpg_task_map, &a, sizeof a, 2, b, r_w, p->priority, p->node, p->tile, 0);
	}
	case BPG_STEP_ADD: {
		struct bpg_arg_add a = { &v->hop, bpg_lower_view(x, p->from), bpg_lower_view(x, p->to), slack };
		struct bpg_tensor *b[] = { v->bounds_t, from, to, state };
		return bpg_model_submit(m, BPG_TASK_REDUCE, bpg_task_add, &a, sizeof a, 4, b, r_r_rw_rw, p->priority, p->node, p->tile, 0);
	}
	case BPG_STEP_COPY: {
		struct bpg_arg_add a = { &v->hop, bpg_lower_view(x, p->from), bpg_lower_view(x, p->to), slack };
		struct bpg_tensor *b[] = { from, to };
		return bpg_model_submit(m, BPG_TASK_MAP, bpg_task_copy, &a, sizeof a, 2, b, r_w, p->priority, p->node, p->tile, 0);
	}
	case BPG_STEP_CONCRETIZE: {
		struct bpg_arg_concretize a = { .hop = &v->hop, .tile = bpg_lower_view(x, p->from), .norm = region_norm(m, v) };
		struct bpg_tensor *b[] = { v->bounds_t, from, state, t->keep_t };
		a.inputs = t->keep && v->hop.kind == BPG_HOP_INPUT ? m->net->in_count : 0;
		a.first = a.inputs ? m->net->in_first[v->net->input] : 0;
		return bpg_model_submit(m, BPG_TASK_CONCRETIZE, bpg_task_concretize, &a, sizeof a, a.inputs ? 4 : 3, b, r_r_rw_rw, p->priority, p->node, p->tile, 0);
	}
	case BPG_STEP_FINISH: {
		bool ball = m->region->ball;
		for (int i = 0; i < x->s->cone; i++) /* a walk that ends at other nodes too has no ball */
			if (bpg_stage_ends(m, x->s, x->s->visit[i]) && m->node[x->s->visit[i]].hop.kind != BPG_HOP_INPUT)
				ball = false;
		struct bpg_arg_finish a = { .rows = t->strips * BPG_LANES, .norm = ball ? (m->region->norm == BPG_NORM_2 ? 2 : 1) : 0,
			                    .radius = m->region->radius, .slack = slack, .terms = x->s->concretized };
		a.best = p->k > 0;
		a.inputs = t->keep ? m->net->in_count : 0;
		struct bpg_tensor *b[4] = { state, t->result_t, t->keep_t };
		enum bpg_access mode[4] = { BPG_READ, a.best ? BPG_READ_WRITE : BPG_WRITE, BPG_READ_WRITE };
		int n = bpg_lower_moor(x, p->tile, b, mode, t->keep ? 3 : 2);
		return bpg_model_submit(m, BPG_TASK_CONCRETIZE, x->s->batch ? bpg_task_beta_finish : bpg_task_finish, &a, sizeof a, n, b, mode, p->priority, -1,
		                        p->tile, 0);
	}
	case BPG_STEP_ALPHA_START:
	case BPG_STEP_ALPHA_RELAX:
	case BPG_STEP_ALPHA_STEP:
		return v->hop.kind == BPG_HOP_PLANES && !x->s->batch ? lower_weights(x, p, state) : lower_alpha(x, p, state);
	case BPG_STEP_FORWARD:
		if (x->s->batch && v->hop.kind == BPG_HOP_PLANES && p->extra[0] >= 0)
			BPG_TRY(bpg_batch_keep(x->ctx, x->s->batch, x->w, p, x->buffer));
		return v->hop.kind == BPG_HOP_PLANES ? lower_weights(x, p, state) : lower_forward(x, p, state);
	case BPG_STEP_CORNER: {
		struct bpg_arg_corner a = { &v->hop, bpg_lower_view(x, p->from), region_norm(m, v), m->region->radius };
		struct bpg_tensor *b[] = { v->bounds_t, from, state, to };
		static const enum bpg_access mode[] = { BPG_READ, BPG_READ, BPG_READ, BPG_WRITE };
		return bpg_model_submit(m, BPG_TASK_ADJOINT, bpg_task_corner, &a, sizeof a, 4, b, mode, p->priority, p->node, p->tile, 0);
	}
	case BPG_STEP_ROW_WEIGHTS: {
		struct bpg_arg_row_weights a = { t->element, t->count, t->minus, t->strips, v->columns.n };
		struct bpg_tensor **weights = &x->weights[p->tile - x->first];
		*weights = bpg_tensor_new(m->rt, (size_t)(t->strips * BPG_LANES) * sizeof(float), NULL, t->owner);
		if (!*weights)
			return bpg_nomem(x->ctx, "a tile");
		struct bpg_tensor *b[] = { v->by_bounds_t, *weights };
		return bpg_model_submit(m, BPG_TASK_STEP, bpg_task_row_weights, &a, sizeof a, 2, b, r_w, p->priority, p->node, p->tile, 0);
	}
	case BPG_STEP_BETA_SAVE:
	case BPG_STEP_BETA_POINTS:
		return bpg_batch_lower(x->ctx, x->s->batch, x->w, p, x->buffer, state);
	case BPG_STEP_ENTER:
	case BPG_STEP_LEAVE:
	case BPG_STEP_MOVE:
	case BPG_STEP_MOVE_STATE:
	case BPG_STEP_STATE:
	case BPG_STEP_ROWS:
		break;
	case BPG_STEP_GATHER:
		return bpg_lower_gather(x->ctx, m, x->slots, p, t->owner);
	case BPG_STEP_FREE:
		bpg_tensor_release(x->buffer[p->from]);
		x->buffer[p->from] = NULL;
		if (x->w->buffer[p->from].home)
			*x->w->buffer[p->from].home = NULL;
		return BPG_OK;
	}
	return BPG_OK;
}

enum bpg_status bpg_lower_wave(struct bpg_ctx *ctx, struct bpg_model *m, const struct bpg_stage *s, const struct bpg_wave *w)
{
	/* Waves of a stage follow each other through the same slots; batches of domains go beside each other. */
	struct bpg_slots own = { 0 }, *slots = s->batch ? &own : &m->slots;
	struct lowering x = { .ctx = ctx, .m = m, .s = s, .w = w, .first = w->first, .slots = slots };
	enum bpg_status st = bpg_slots_init(ctx, m, s, slots);

	x.buffer = bpg_calloc((size_t)w->buffers + 1, sizeof *x.buffer);
	x.state = bpg_calloc((size_t)s->tiles + 1, sizeof *x.state);
	x.weights = bpg_calloc((size_t)s->tiles + 1, sizeof *x.weights);
	x.written = bpg_calloc((size_t)w->buffers + 1, sizeof *x.written);
	if (!x.buffer || !x.state || !x.weights || !x.written)
		st = bpg_nomem(ctx, "a wave");
	for (int64_t b = 0; !st && b < w->buffers; b++) /* what is there from the wave before */
		if (w->buffer[b].home)
			x.buffer[b] = *w->buffer[b].home;
	if (!st && !s->batch && m->placement != BPG_PLACEMENT_SINGLE)
		st = berths(&x);
	for (int64_t i = 0; !st && i < w->steps && !bpg_rt_stopped(m->rt); i++)
		st = lower_step(&x, &w->step[i]);
	for (int t = w->first; !st && x.berth && s->iterations && t <= x.last; t++)
		if (x.berth[t - w->first])
			st = leave_berth(&x, t);
	for (int64_t b = 0; x.buffer && b < w->buffers; b++)
		if (!w->buffer[b].home)
			bpg_tensor_release(x.buffer[b]);
	for (int t = 0; x.state && t < s->tiles; t++)
		bpg_tensor_release(x.state[t]);
	for (int t = 0; x.weights && t < s->tiles; t++)
		bpg_tensor_release(x.weights[t]);
	free(x.buffer);
	free(x.state);
	free(x.weights);
	free(x.written);
	free(x.berth);
	bpg_slots_fini(&own);
	return st;
}

/* ---- parameters that rows share ---- */

static struct bpg_arg_alpha shared_arg(const struct bpg_model *m, int node)
{
	const struct bpg_model_node *v = &m->node[node];

	return (struct bpg_arg_alpha){ .hop = &v->hop, .free = (v->hop.v->layer->traits & BPG_FREE_SLOPE) != 0, .rule = m->options.slope, .shared = true };
}

enum bpg_status bpg_lower_shared(struct bpg_ctx *ctx, struct bpg_model *m, struct bpg_stage *s)
{
	if (!m->options.sharing || !s->iterations || s->shared)
		return BPG_OK;
	s->shared = bpg_arena_alloc(s->arena, (size_t)m->nodes, sizeof *s->shared);
	if (!s->shared)
		return bpg_nomem(ctx, "the slopes of a node");
	for (int i = 0; i < s->cone; i++) {
		struct bpg_model_node *v = &m->node[s->visit[i]];
		struct bpg_shared *to = &s->shared[v->id];
		if (v->hop.kind != BPG_HOP_UNARY || bpg_stage_ends(m, s, v->id))
			continue;
		struct bpg_arg_alpha a = shared_arg(m, v->id);
		size_t n = (a.free ? 2 : 4) * (size_t)bpg_columns_places(&v->columns), bytes[] = { n * sizeof(float), 2 * n * sizeof(float), 2 * n * sizeof(double) };
		s->shared_bytes += bytes[0] + bytes[1] + bytes[2];
		if (m->dry)
			continue;
		to->alpha = bpg_tensor_parameters(m->rt, bytes[0], 0);
		to->moments = bpg_tensor_parameters(m->rt, bytes[1], 0);
		to->sums = bpg_tensor_parameters(m->rt, bytes[2], 0);
		if (!to->alpha || !to->moments || !to->sums)
			return bpg_nomem(ctx, "the slopes of a node");
		struct bpg_tensor *b[] = { v->planes_t, m->node[v->src[0]].bounds_t, to->alpha, to->moments, to->sums };
		static const enum bpg_access mode[] = { BPG_READ, BPG_READ, BPG_WRITE, BPG_WRITE, BPG_WRITE };
		BPG_TRY(bpg_model_submit(m, BPG_TASK_STEP, bpg_task_shared_start, &a, sizeof a, 5, b, mode, 2 * m->nodes, v->id, -1, 0));
	}
	return BPG_OK;
}

enum bpg_status bpg_lower_shared_step(struct bpg_model *m, const struct bpg_stage *s, int pass)
{
	for (int i = 0; s->shared && !m->dry && i < s->cone; i++) {
		const struct bpg_shared *p = &s->shared[s->visit[i]];
		if (!p->alpha)
			continue;
		struct bpg_model_node *v = &m->node[s->visit[i]];
		struct bpg_arg_alpha a = shared_arg(m, v->id);
		set_rate(m, &a, pass);
		struct bpg_tensor *b[] = { m->node[v->src[0]].bounds_t, p->alpha, p->moments, p->sums };
		static const enum bpg_access mode[] = { BPG_READ, BPG_READ_WRITE, BPG_READ_WRITE, BPG_READ_WRITE };
		BPG_TRY(bpg_model_submit(m, BPG_TASK_STEP, bpg_task_shared_step, &a, sizeof a, 4, b, mode, 2 * m->nodes, v->id, -1, 0));
	}
	return BPG_OK;
}

void bpg_lower_unshare(const struct bpg_model *m, struct bpg_stage *s)
{
	for (int v = 0; s->shared && v < m->nodes; v++) {
		bpg_tensor_release(s->shared[v].alpha);
		bpg_tensor_release(s->shared[v].moments);
		bpg_tensor_release(s->shared[v].sums);
	}
	s->shared = NULL;
	s->shared_bytes = 0;
}

/* ---- from round to round ---- */

/* Parameters and moments of tile t at one node, from the tiles where its elements were. */
static enum bpg_status move_node(struct bpg_ctx *ctx, struct bpg_model *m, const struct bpg_stage *from, const struct bpg_tile *t, int node)
{
	struct bpg_lasting *to = &t->lasting[node];
	const struct bpg_lasting *first = &from->tile[t->from_tile[0]].lasting[node];

	*to = (struct bpg_lasting){ .at = first->at, .arrays = first->arrays, .shared = first->shared };
	if (!first->alpha || !bpg_mine(m, t->owner))
		return BPG_OK;
	to->alpha = bpg_tensor_parameters(m->rt, bpg_lasting_bytes(t->strips, to, 1), t->owner);
	to->moments = bpg_tensor_parameters(m->rt, bpg_lasting_bytes(t->strips, to, 2), t->owner);
	if (!to->alpha || !to->moments)
		return bpg_nomem(ctx, "a tile");
	for (int i = 0, end; i < t->count; i = end) {
		const struct bpg_tile *old = &from->tile[t->from_tile[i]];
		struct bpg_arg_move a = { .to_strips = t->strips, .to_minus = t->minus, .to_first = i, .from_strips = old->strips, .from_minus = old->minus,
			                  .index = t->from_index + i, .sides = t->sides, .count = to->at.count, .first = i == 0 };
		for (end = i; end < t->count && t->from_tile[end] == t->from_tile[i]; end++)
			;
		a.elements = end - i;
		for (int moments = 0; moments < 2; moments++) {
			struct bpg_tensor *b[] = { moments ? old->lasting[node].moments : old->lasting[node].alpha, moments ? to->moments : to->alpha };
			enum bpg_access mode[] = { BPG_READ, a.first ? BPG_WRITE : BPG_READ_WRITE };
			a.arrays = (moments ? 2 : 1) * to->arrays;
			BPG_TRY(bpg_model_submit(m, BPG_TASK_STEP, bpg_task_alpha_move, &a, sizeof a, 2, b, mode, 0, node, -1, 0));
		}
	}
	return BPG_OK;
}

static void leave_node(const struct bpg_stage *s, int node)
{
	for (int t = 0; t < s->tiles; t++) {
		struct bpg_lasting *l = s->tile[t].lasting ? &s->tile[t].lasting[node] : NULL;
		if (!l)
			continue;
		bpg_tensor_release(l->alpha);
		bpg_tensor_release(l->moments);
		bpg_tensor_release(l->kept);
		bpg_tensor_release(l->rows);
		bpg_tensor_release(l->point);
		l->alpha = l->moments = l->kept = l->rows = l->point = NULL;
	}
}

enum bpg_status bpg_lower_move(struct bpg_ctx *ctx, struct bpg_model *m, const struct bpg_stage *from, const struct bpg_stage *to)
{
	for (int i = 0; i < to->tiles; i++)
		if (!(to->tile[i].lasting = bpg_arena_alloc(to->arena, (size_t)m->nodes, sizeof *to->tile[i].lasting)))
			return bpg_nomem(ctx, "a tile");
	for (int v = 0; v < m->nodes; v++) {
		bool any = false;
		for (int i = 0; i < to->tiles; i++) {
			BPG_TRY(move_node(ctx, m, from, &to->tile[i], v));
			any |= to->tile[i].lasting[v].alpha != NULL;
		}
		leave_node(from, v);
		if (any && (m->options.memory || m->placement != BPG_PLACEMENT_SINGLE)) /* the plan counts on one node being there twice, no more */
			BPG_TRY(bpg_model_wait(ctx, m));
	}
	return BPG_OK;
}

void bpg_lower_leave(struct bpg_model *m, const struct bpg_stage *s)
{
	for (int v = 0; v < m->nodes; v++)
		leave_node(s, v);
}
