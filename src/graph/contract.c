/* contract.c - see contract.h. */
#include "graph/contract.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "codelets/family_unary.h"
#include "codelets/outward.h"

enum { ROUNDS = 16 };
/* A further round pays when some input has lost this share of its width. */
static const double worth = 0.1;

struct term {
	int32_t node;             /* whose element it is */
	int32_t index;
	double coef, err;         /* |true - coef| <= err */
};

/* y = sum of terms + bias. */
struct sum {
	int64_t first, count;
	double bias, bias_err;
};

struct map {
	struct sum *row;          /* LINEAR: one for each element; null: other families */
};

struct bpg_contractor {
	const struct bpg_net *net;
	struct bpg_arena *arena;
	struct map *map;          /* [nodes] */
	struct term *term;
	int64_t terms, room;
	int64_t *first;           /* [nodes + 1] number of a node's first element */
	int32_t *out_node, *out_index; /* [outputs] */
};

/* ---- the network as sums ---- */

static bool add_row(struct bpg_contractor *c, const struct bpg_net_node *node, const struct bpg_terms *t, struct sum *row)
{
	if (t->failed || !bpg_grow(&c->term, &c->room, c->terms + t->n, sizeof *c->term))
		return false;
	*row = (struct sum){ .first = c->terms, .bias = t->bias, .bias_err = t->bias_err };
	for (int k = 0; k < t->n; k++)
		if (t->coef[k] != 0 || t->err[k] != 0)
			c->term[c->terms++] = (struct term){ node->src[t->input[k]], (int32_t)t->index[k], t->coef[k], t->err[k] };
	row->count = c->terms - row->first;
	return true;
}

static enum bpg_status add_node(struct bpg_ctx *ctx, struct bpg_contractor *c, int i, int64_t most)
{
	const struct bpg_net_node *node = &c->net->node[i];
	struct bpg_terms t;
	bool right = true;

	if (!node->v.layer || node->v.layer->family != BPG_LINEAR)
		return BPG_OK;
	c->map[i].row = bpg_arena_alloc(c->arena, (size_t)node->v.out.n + 1, sizeof(struct sum));
	if (!c->map[i].row)
		return bpg_nomem(ctx, "the network as sums");
	bpg_terms_init(&t);
	for (int64_t j = 0; right && j < node->v.out.n && c->terms <= most; j++) {
		bpg_terms_reset(&t);
		node->v.layer->terms(&node->v, j, &t);
		right = add_row(c, node, &t, &c->map[i].row[j]);
	}
	bpg_terms_fini(&t);
	return right ? BPG_OK : bpg_nomem(ctx, "the network as sums");
}

enum bpg_status bpg_contractor_new(struct bpg_ctx *ctx, const struct bpg_net *net, int64_t most, struct bpg_contractor **to)
{
	struct bpg_contractor *c = bpg_calloc(1, sizeof *c);
	enum bpg_status st = BPG_OK;

	*to = NULL;
	if (!c)
		return bpg_nomem(ctx, "the network as sums");
	c->arena = bpg_arena_new();
	if (!c->arena)
		BPG_TRY_TO(bpg_nomem(ctx, "the network as sums"), out);
	c->net = net;
	c->map = bpg_arena_alloc(c->arena, (size_t)net->nodes + 1, sizeof *c->map);
	c->first = bpg_arena_alloc(c->arena, (size_t)net->nodes + 1, sizeof *c->first);
	c->out_node = bpg_arena_alloc(c->arena, (size_t)net->out_count + 1, sizeof *c->out_node);
	c->out_index = bpg_arena_alloc(c->arena, (size_t)net->out_count + 1, sizeof *c->out_index);
	if (!c->map || !c->first || !c->out_node || !c->out_index)
		BPG_TRY_TO(bpg_nomem(ctx, "the network as sums"), out);
	for (int i = 0; i < net->nodes; i++)
		c->first[i + 1] = c->first[i] + net->node[i].v.out.n;
	for (int k = 0; k < net->outputs; k++)
		for (int64_t j = 0; j < net->node[net->output[k]].v.out.n; j++) {
			c->out_node[net->out_first[k] + j] = net->output[k];
			c->out_index[net->out_first[k] + j] = (int32_t)j;
		}
	for (int i = 0; i < net->nodes && c->terms <= most && c->first[net->nodes] <= most; i++)
		BPG_TRY_TO(add_node(ctx, c, i, most), out);
	if (c->terms <= most && c->first[net->nodes] <= most) {
		*to = c;
		c = NULL;
	}
out:
	bpg_contractor_free(c);
	return st;
}

void bpg_contractor_free(struct bpg_contractor *c)
{
	if (!c)
		return;
	free(c->term);
	bpg_arena_free(c->arena);
	free(c);
}

/* ---- passes ---- */

struct work {
	const struct bpg_contractor *c;
	double *lo, *up;          /* of all elements */
	bool empty;
};

/* Crossed sound bounds: no point is there. */
static void cut(struct work *w, int64_t at, double lo, double up)
{
	if (lo > w->lo[at])
		w->lo[at] = lo;
	if (up < w->up[at])
		w->up[at] = up;
	w->empty |= w->lo[at] > w->up[at];
}

static int64_t element(const struct work *w, const struct term *t)
{
	return w->c->first[t->node] + t->index;
}

/* Enclosure of one term. */
static void enclose(const struct work *w, const struct term *t, double *lo, double *up)
{
	int64_t at = element(w, t);

	*lo = *up = 0;
	bpg_axpy_outward(t->coef, t->err, w->lo[at], w->up[at], lo, up);
}

static void enclose_sum(const struct work *w, const struct sum *s, double *lo, double *up)
{
	*lo = bpg_add_down(s->bias, -s->bias_err);
	*up = bpg_add_up(s->bias, s->bias_err);
	for (int64_t k = s->first; k < s->first + s->count; k++) {
		double l, u;
		enclose(w, &w->c->term[k], &l, &u);
		*lo = bpg_add_down(*lo, l);
		*up = bpg_add_up(*up, u);
	}
}

/* coef x lies in [lo, up], where |true coef - coef| <= err. */
static void cut_term(struct work *w, const struct term *t, double lo, double up)
{
	int64_t at = element(w, t);

	if (t->err > 0) {
		double more = bpg_mul_up(t->err, fmax(fabs(w->lo[at]), fabs(w->up[at])));
		lo = bpg_add_down(lo, -more);
		up = bpg_add_up(up, more);
	}
	if (t->coef > 0)
		cut(w, at, bpg_div_down(lo, t->coef), bpg_div_up(up, t->coef));
	else if (t->coef < 0)
		cut(w, at, bpg_div_down(up, t->coef), bpg_div_up(lo, t->coef));
}

/* The sum lies in [lo, up]: each term in what the others leave. all_lo, all_up: enclosure of the sum as its terms are. A term taken away
 * from a sum that was rounded down leaves less than the others add up to. */
static void cut_sum(struct work *w, const struct term *term, int64_t count, double all_lo, double all_up, double lo, double up)
{
	if (lo <= all_lo && up >= all_up)
		return;
	for (int64_t k = 0; k < count && !w->empty; k++) {
		double l, u;
		enclose(w, &term[k], &l, &u);
		double others_lo = isfinite(l) ? bpg_add_down(all_lo, -l) : -INFINITY, others_up = isfinite(u) ? bpg_add_up(all_up, -u) : INFINITY;
		/* The term has been cut meanwhile where it stands twice: its enclosure is part of the one that was summed up, so the others are
		 * taken to be less than they are. */
		cut_term(w, &term[k], bpg_add_down(lo, -others_up), bpg_add_up(up, -others_lo));
	}
}

static bool forward(struct work *w, const double **l, const double **u)
{
	const struct bpg_contractor *c = w->c;

	for (int i = 0; i < c->net->nodes && !w->empty; i++) {
		const struct bpg_net_node *node = &c->net->node[i];
		int64_t first = c->first[i];

		if (!node->v.layer)
			continue;
		for (int64_t j = 0; c->map[i].row && j < node->v.out.n; j++) {
			double lo, up;
			enclose_sum(w, &c->map[i].row[j], &lo, &up);
			cut(w, first + j, lo, up);
		}
		for (int64_t j = 0; node->v.layer->family == BPG_UNARY && j < node->v.out.n; j++) {
			double lo, up;
			bpg_unary_range(&node->v, w->lo[c->first[node->src[0]] + j], w->up[c->first[node->src[0]] + j], &lo, &up);
			cut(w, first + j, lo, up);
		}
		if (c->map[i].row || node->v.layer->family == BPG_UNARY)
			continue;
		double *to = bpg_calloc((size_t)(2 * node->v.out.n) + 1, sizeof *to);
		for (int k = 0; k < node->v.nin; k++) {
			l[k] = node->src[k] < 0 ? NULL : w->lo + c->first[node->src[k]];
			u[k] = node->src[k] < 0 ? NULL : w->up + c->first[node->src[k]];
		}
		bool right = to && !bpg_node_interval(&node->v, l, u, 0, node->v.out.n, to, to + node->v.out.n);
		for (int64_t j = 0; right && j < node->v.out.n; j++)
			cut(w, first + j, to[j], to[node->v.out.n + j]);
		free(to);
		if (!right)
			return false;
	}
	return true;
}

/* s x + t <= y_up (side 1), or >= y_lo (side -1). */
static void cut_line(struct work *w, int64_t at, double s, double t, double y, int side)
{
	double room = side > 0 ? bpg_add_up(y, -t) : bpg_add_down(y, -t);

	if (s == 0 || !isfinite(t))
		return;
	if ((s > 0) == (side > 0))
		cut(w, at, -INFINITY, bpg_div_up(room, s));
	else
		cut(w, at, bpg_div_down(room, s), INFINITY);
}

/* Lines below the function, of every kind that its parameter may give, must stay below the upper end of y; lines above it above the lower. */
static void back_unary(struct work *w, const struct bpg_node *v, int64_t from, int64_t to)
{
	const struct bpg_unary *f = v->layer->unary;
	double l = w->lo[to], u = w->up[to], choice[3][2] = { { NAN, NAN }, { NAN, NAN }, { NAN, NAN } };
	int choices = 1;

	if (!(l < u) || isinf(l) || isinf(u))
		return;
	if (f->alpha_range) {
		double start;
		for (int side = 0; side < 2; side++)
			f->alpha_range(l, u, side, v->attr, &choice[1][side], &choice[2][side], &start);
		choices = 3;
	}
	for (int k = 0; k < choices; k++) {
		struct bpg_planes1 p;
		bpg_unary_planes(v, l, u, choice[k], BPG_SLOPE_ADAPTIVE, true, &p);
		cut_line(w, to, p.lo_slope, p.lo_bias, w->up[from], 1);
		cut_line(w, to, p.up_slope, p.up_bias, w->lo[from], -1);
	}
}

static void backward(struct work *w)
{
	const struct bpg_contractor *c = w->c;

	for (int i = c->net->nodes - 1; i >= 0 && !w->empty; i--) {
		const struct bpg_net_node *node = &c->net->node[i];

		for (int64_t j = 0; c->map[i].row && j < node->v.out.n && !w->empty; j++) {
			const struct sum *s = &c->map[i].row[j];
			double lo, up;
			enclose_sum(w, s, &lo, &up);
			cut_sum(w, c->term + s->first, s->count, lo, up, w->lo[c->first[i] + j], w->up[c->first[i] + j]);
		}
		for (int64_t j = 0; node->v.layer && node->v.layer->family == BPG_UNARY && j < node->v.out.n && !w->empty; j++)
			back_unary(w, &node->v, c->first[i] + j, c->first[node->src[0]] + j);
	}
}

/* The rows: sums of outputs that are at most 0. False: memory is short. */
static bool cut_rows(struct work *w, const struct bpg_disjunct *d, struct term **room, int64_t *rooms)
{
	const struct bpg_contractor *c = w->c;

	for (int r = 0; r < d->rows && !w->empty; r++) {
		const struct bpg_row *q = &d->row[r];
		double lo = bpg_add_down(q->offset, -q->offset_err), up = bpg_add_up(q->offset, q->offset_err);

		if (!bpg_grow(room, rooms, q->n, sizeof **room))
			return false;
		for (int k = 0; k < q->n; k++) {
			double l, u;
			(*room)[k] = (struct term){ c->out_node[q->index[k]], c->out_index[q->index[k]], q->coef[k], q->coef_err[k] };
			enclose(w, &(*room)[k], &l, &u);
			lo = bpg_add_down(lo, l);
			up = bpg_add_up(up, u);
		}
		w->empty |= lo > 0;
		cut_sum(w, *room, q->n, lo, up, -INFINITY, 0);
	}
	return true;
}

/* Copies inputs to (true) or from the box; true: some input has lost a share worth a further round. */
static bool copy_inputs(struct work *w, double *lo, double *up, bool in)
{
	const struct bpg_net *net = w->c->net;
	bool more = false;

	for (int k = 0; k < net->inputs; k++) {
		double *l = w->lo + w->c->first[net->input[k]], *u = w->up + w->c->first[net->input[k]];
		for (int64_t j = 0; j < net->node[net->input[k]].v.out.n; j++) {
			int64_t i = net->in_first[k] + j;
			if (in) {
				l[j] = lo[i], u[j] = up[i];
				continue;
			}
			more |= up[i] - lo[i] > 0 && u[j] - l[j] < (1 - worth) * (up[i] - lo[i]);
			lo[i] = l[j], up[i] = u[j];
		}
	}
	return more;
}

/* False: memory is short. l, u: room for the operands of a node. */
static bool work_init(struct work *w, const struct bpg_contractor *c, const double ***l, const double ***u)
{
	int64_t n = c->first[c->net->nodes];
	int most = 1;

	for (int i = 0; i < c->net->nodes; i++)
		most = BPG_MAX(most, c->net->node[i].v.nin);
	*w = (struct work){ .c = c, .lo = bpg_calloc((size_t)(2 * n) + 1, sizeof *w->lo) };
	*l = bpg_calloc((size_t)(2 * most), sizeof **l);
	if (!w->lo || !*l)
		return false;
	*u = *l + most;
	w->up = w->lo + n;
	for (int64_t i = 0; i < n; i++)
		w->lo[i] = -INFINITY, w->up[i] = INFINITY;
	return true;
}

static void work_fini(struct work *w, const double **l)
{
	free(l);
	free(w->lo);
}

bool bpg_contract(const struct bpg_contractor *c, const struct bpg_disjunct *d, double *lo, double *up)
{
	struct work w;
	const double **l, **u;
	struct term *room = NULL;
	int64_t rooms = 0;
	bool right = work_init(&w, c, &l, &u), more = true;

	if (right)
		copy_inputs(&w, lo, up, true);
	for (int round = 0; right && more && !w.empty && round < ROUNDS; round++) {
		right = forward(&w, l, u) && (w.empty || cut_rows(&w, d, &room, &rooms));
		if (!right || w.empty)
			break;
		backward(&w);
		more = !w.empty && copy_inputs(&w, lo, up, false);
	}
	bool some = !right || !w.empty;
	free(room);
	work_fini(&w, l);
	return some;
}

enum { POINT_TERMS = 1 << 22 };

bool bpg_contract_point(struct bpg_ctx *ctx, const struct bpg_net *net, const double *x, double *lo, double *up)
{
	struct bpg_contractor *c;
	struct work w = { 0 };
	const double **l = NULL, **u;

	if (bpg_contractor_new(ctx, net, POINT_TERMS, &c) || !c)
		return false;
	bool right = work_init(&w, c, &l, &u);
	for (int k = 0; right && k < net->inputs; k++)
		for (int64_t j = 0, at = c->first[net->input[k]]; j < net->node[net->input[k]].v.out.n; j++, at++)
			w.lo[at] = w.up[at] = x[net->in_first[k] + j];
	right = right && forward(&w, l, u) && !w.empty;
	for (int64_t i = 0; right && i < net->out_count; i++) {
		lo[i] = w.lo[c->first[c->out_node[i]] + c->out_index[i]];
		up[i] = w.up[c->first[c->out_node[i]] + c->out_index[i]];
	}
	work_fini(&w, l);
	bpg_contractor_free(c);
	return right;
}

/* ---- where to cut ---- */

/* Mean slope of a unary function about m, over three points of a normal distribution (Gauss and Hermite). For a kink a smooth weight: the
 * share of the distribution on the far side. */
static double mean_slope(const struct bpg_node *v, double m, double deviation)
{
	static const double at[] = { -2.8570, -1.3556, 0, 1.3556, 2.8570 }, weight[] = { 0.0113, 0.2221, 0.5333, 0.2221, 0.0113 };
	const struct bpg_unary *f = v->layer->unary;
	double sum = 0;

	if (v->layer->traits & BPG_FREE_SLOPE)
		return deviation > 0 ? 0.5 * erfc(-m / deviation * 0.70710678118654752) : m > 0;
	for (int k = 0; k < 5; k++)
		sum += weight[k] * fabs(f->df ? f->df(m + at[k] * deviation, v->attr) : 1);
	return isfinite(sum) ? sum : 1;
}

struct smear {
	double *mean, *variance, *slope, *g; /* of all elements */
};

static void smear_forward(const struct bpg_contractor *c, const struct smear *x)
{
	for (int i = 0; i < c->net->nodes; i++) {
		const struct bpg_net_node *node = &c->net->node[i];
		for (int64_t j = 0, at = c->first[i]; j < node->v.out.n && node->v.layer; j++, at++) {
			if (c->map[i].row) {
				const struct sum *s = &c->map[i].row[j];
				x->mean[at] = s->bias;
				for (int64_t k = s->first; k < s->first + s->count; k++) {
					const struct term *t = &c->term[k];
					x->mean[at] += t->coef * x->mean[c->first[t->node] + t->index];
					x->variance[at] += t->coef * t->coef * x->variance[c->first[t->node] + t->index];
				}
			} else if (node->v.layer->family == BPG_UNARY) {
				int64_t from = c->first[node->src[0]] + j;
				double deviation = sqrt(x->variance[from]);
				x->slope[at] = mean_slope(&node->v, x->mean[from], deviation);
				x->mean[at] = node->v.layer->unary->f(x->mean[from], node->v.attr);
				x->variance[at] = x->slope[at] * x->slope[at] * x->variance[from];
			}
		}
	}
}

static void smear_back(const struct bpg_contractor *c, const struct smear *x)
{
	for (int i = c->net->nodes - 1; i >= 0; i--) {
		const struct bpg_net_node *node = &c->net->node[i];
		for (int64_t j = 0, at = c->first[i]; j < node->v.out.n && node->v.layer; j++, at++) {
			if (c->map[i].row) {
				const struct sum *s = &c->map[i].row[j];
				for (int64_t k = s->first; k < s->first + s->count; k++)
					x->g[c->first[c->term[k].node] + c->term[k].index] += fabs(c->term[k].coef) * x->g[at];
			} else if (node->v.layer->family == BPG_UNARY) {
				x->g[c->first[node->src[0]] + j] += x->slope[at] * x->g[at];
			} else { /* everything of its operands */
				for (int k = 0; k < node->v.nin; k++)
					for (int64_t e = 0; node->src[k] >= 0 && j == 0 && e < node->v.in[k].n; e++)
						x->g[c->first[node->src[k]] + e] += x->g[at];
			}
		}
	}
}

bool bpg_contract_smear(const struct bpg_contractor *c, const struct bpg_disjunct *d, const double *lo, const double *up, double *score)
{
	const struct bpg_net *net = c->net;
	int64_t n = c->first[net->nodes];
	double *memory = bpg_calloc((size_t)(4 * n) + 1, sizeof *memory);
	struct smear x = { memory, memory + n, memory + 2 * n, memory + 3 * n };

	if (!memory)
		return false;
	for (int k = 0; k < net->inputs; k++)
		for (int64_t j = 0; j < net->node[net->input[k]].v.out.n; j++) {
			double l = lo[net->in_first[k] + j], u = up[net->in_first[k] + j];
			x.mean[c->first[net->input[k]] + j] = l / 2 + u / 2;
			x.variance[c->first[net->input[k]] + j] = (u - l) * (u - l) / 12;
		}
	smear_forward(c, &x);
	for (int r = 0; r < d->rows; r++)
		for (int k = 0; k < d->row[r].n; k++)
			x.g[c->first[c->out_node[d->row[r].index[k]]] + c->out_index[d->row[r].index[k]]] += fabs(d->row[r].coef[k]);
	smear_back(c, &x);
	for (int k = 0; k < net->inputs; k++)
		for (int64_t j = 0; j < net->node[net->input[k]].v.out.n; j++) {
			int64_t i = net->in_first[k] + j;
			score[i] = x.g[c->first[net->input[k]] + j] * (up[i] - lo[i]);
		}
	free(memory);
	return true;
}
