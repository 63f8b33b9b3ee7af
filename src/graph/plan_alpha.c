/* plan_alpha.c - the steps of alpha-CROWN: slopes of every tile, kept coefficients, the forward chain (see task_alpha.h).
 *
 * Each row optimises its own bound: rows never mix, so a tile's slopes, moments and points are its own. A pass is a backward
 * walk with the slopes and, but for the last, a forward chain that steps them. Slopes and moments outlive the wave: a tile has
 * its passes in rounds (see rounds.h). */
#include <stdlib.h>
#include <string.h>

#include "graph/panels.h"
#include "graph/plan_internal.h"

/* Of one tile at one node; -1: none. */
struct slot {
	int alpha, moments, kept; /* UNARY with columns that have two planes; weights of other planes: none kept */
	int rows;                 /* coefficients kept whole: inputs, sparse planes */
	int point, readers;       /* forward chain */
	struct bpg_alpha_columns at;
};

struct alpha_plan {
	struct slot *slot;        /* [tiles][nodes] */
	bool *need;               /* [nodes] the forward chain passes here */
};

#define SLOT(t, v) (x->alpha->slot[(size_t)((t) - x->first) * (size_t)x->m->nodes + (size_t)(v)])

static bool has_choices(const struct bpg_hop *h)
{
	return h->kind == BPG_HOP_UNARY || h->other[0] || h->other[1];
}

/* Columns of the tile with two planes at node v. LIST: the first ones, the same for all tiles. */
static bool find_columns(struct writer *x, const struct bpg_model_node *v, const struct bpg_window *w, struct bpg_alpha_columns *to)
{
	const struct bpg_columns *k = &v->columns;
	int64_t columns = bpg_columns_in(k, w), n = 0, most = 0;
	for (int64_t c = 0; c < columns; c++)
		most += v->choice[bpg_columns_at(k, w, c)] != 0;
	int32_t *column = bpg_arena_alloc(x->s->arena, (size_t)most + 1, sizeof *column), *place = bpg_arena_alloc(x->s->arena, (size_t)most + 1, sizeof *place);

	if (!column || !place) {
		x->st = bpg_nomem(x->ctx, "the slopes of a tile");
		return false;
	}
	for (int64_t c = 0; c < columns; c++) {
		int64_t at = bpg_columns_at(k, w, c);
		if (!v->choice[at])
			continue;
		column[n] = (int32_t)c;
		place[n++] = (int32_t)at;
	}
	*to = (struct bpg_alpha_columns){ n, column, place, bpg_unique() };
	return true;
}

/* Bytes of parameters or of what waits for a chain are there from now on. */
static void lasts(struct writer *x, size_t bytes)
{
	x->live_alpha += bytes;
	x->w->alpha_bytes = BPG_MAX(x->w->alpha_bytes, x->live_alpha);
}

static int params(struct writer *x, int tile, int node, int arrays, struct bpg_tensor **home)
{
	int b = bpg_plan_buffer(x, tile, node);

	if (b < 0)
		return -1;
	struct bpg_buffer *f = &x->w->buffer[b];
	const struct bpg_tile *t = &x->s->tile[tile];
	size_t bytes = (size_t)(arrays * t->strips * BPG_LANES) * (size_t)SLOT(tile, node).at.count * sizeof(float);
	x->live[t->owner] += bytes - f->bytes;
	x->w->most_bytes[t->owner] = BPG_MAX(x->w->most_bytes[t->owner], x->live[t->owner]);
	f->bytes = bytes;
	f->at = SLOT(tile, node).at;
	f->home = home;
	lasts(x, bytes);
	return b;
}

/* Whether what a walk keeps waits for the chain of another wave. */
static bool stores(const struct writer *x)
{
	return x->s->phase != BPG_PHASE_WHOLE && !x->s->recompute;
}

/* Coefficients of a node that has slopes: each, or with each its line (see task_alpha.h). */
static int kept(struct writer *x, int tile, int node)
{
	struct bpg_lasting *l = &x->s->tile[tile].lasting[node];

	return params(x, tile, node, l->arrays == 1 ? 1 : 3, stores(x) ? &l->kept : NULL);
}

/* What the tile keeps at a node from round to round; null after a failure. */
static struct bpg_lasting *lasting(struct writer *x, int tile, int node)
{
	struct bpg_tile *t = &x->s->tile[tile];

	if (!t->lasting && !(t->lasting = bpg_arena_alloc(x->s->arena, (size_t)x->m->nodes, sizeof *t->lasting))) {
		x->st = bpg_nomem(x->ctx, "the slopes of a tile");
		return NULL;
	}
	return &t->lasting[node];
}

size_t bpg_tile_packing(const struct bpg_model *m, const struct bpg_tile *t)
{
	size_t most = 0;

	for (int v = 0; t->lasting && v < m->nodes; v++)
		most = BPG_MAX(most, bpg_lasting_bytes(t->strips, &t->lasting[v], 3));
	return bpg_tile_lasting(m, t) + most;
}

size_t bpg_tile_lasting(const struct bpg_model *m, const struct bpg_tile *t)
{
	size_t bytes = 0;

	for (int v = 0; t->lasting && v < m->nodes; v++)
		bytes += bpg_lasting_bytes(t->strips, &t->lasting[v], 3);
	return bytes;
}

size_t bpg_tile_stored(const struct bpg_model *m, const struct bpg_tile *t)
{
	size_t bytes = 0;

	for (int v = 0; t->lasting && v < m->nodes; v++)
		bytes += t->lasting[v].stored;
	return bytes;
}

struct alpha_plan *bpg_alpha_plan_new(struct writer *x, int count)
{
	struct alpha_plan *a = bpg_calloc(1, sizeof *a);
	struct bpg_model *m = x->m;
	bool stays = !x->s->batch; /* a batch has its passes in one wave */
	bool first = !x->s->from && x->s->phase != BPG_PHASE_CHAIN, last = x->s->from == x->s->iterations && x->s->phase != BPG_PHASE_WHOLE;

	if (!a || !(a->slot = bpg_calloc((size_t)count * (size_t)m->nodes + 1, sizeof *a->slot)) || !(a->need = bpg_calloc((size_t)m->nodes + 1, 1))) {
		x->st = bpg_nomem(x->ctx, "the slopes of a wave");
		return a;
	}
	x->alpha = a;
	for (size_t i = 0; i < (size_t)count * (size_t)m->nodes; i++)
		a->slot[i] = (struct slot){ -1, -1, -1, -1, -1, 0, { 0, NULL, NULL, 0 } };
	/* Falling: a node is needed by itself or by one that reads it on the walk. */
	for (int i = 0; i < x->s->cone; i++) {
		const struct bpg_model_node *v = &m->node[x->s->visit[i]];
		if (bpg_stage_ends(m, x->s, v->id))
			continue;
		a->need[v->id] |= has_choices(&v->hop);
		for (int k = 0; a->need[v->id] && k < v->hop.nin; k++)
			a->need[v->src[k]] = true;
	}
	for (int t = x->first; !x->st && t < x->first + count; t++)
		for (int i = 0; !x->st && i < x->s->cone; i++) {
			const struct bpg_model_node *v = &m->node[x->s->visit[i]];
			if (!has_choices(&v->hop) || bpg_stage_ends(m, x->s, v->id))
				continue;
			struct slot *s = &SLOT(t, v->id);
			const struct bpg_window *w = &x->window[(size_t)(t - x->first) * (size_t)m->nodes + (size_t)v->id];
			struct bpg_lasting *l = lasting(x, t, v->id);
			if (!l)
				continue;
			if (v->hop.kind == BPG_HOP_PLANES) {
				if (!(l->at.count = bpg_others_in(&v->hop, w)))
					continue;
				l->arrays = 1;
				s->at = l->at;
				s->alpha = params(x, t, v->id, 1, stays ? &l->alpha : NULL);
				s->moments = params(x, t, v->id, 2, stays ? &l->moments : NULL);
				if (first)
					bpg_plan_step(x, (struct bpg_step){ BPG_STEP_ALPHA_START, v->id, t, 0, 0, -1, -1, 0, { s->alpha, s->moments, -1 } });
				continue;
			}
			if ((!l->at.column && !find_columns(x, v, w, &l->at)) || !l->at.count)
				continue;
			bool free_slope = v->hop.v->layer->traits & BPG_FREE_SLOPE;
			l->arrays = free_slope ? 1 : 2;
			s->at = l->at;
			l->shared = x->s->shared != NULL;
			s->alpha = params(x, t, v->id, l->shared ? 0 : l->arrays, stays && !l->shared ? &l->alpha : NULL); /* shared: stands for the stage's */
			s->moments = params(x, t, v->id, l->shared ? 0 : 2 * l->arrays, stays && !l->shared ? &l->moments : NULL);
			if (!x->s->recompute && !last)
				s->kept = kept(x, t, v->id);
			if (first && !l->shared)
				bpg_plan_step(x, (struct bpg_step){ BPG_STEP_ALPHA_START, v->id, t, 0, 0, -1, -1, 0, { s->alpha, s->moments, s->kept } });
		}
	return a;
}

void bpg_alpha_plan_free(struct writer *x, struct alpha_plan *a, int count)
{
	for (int t = x->first; a && a->slot && t < x->first + count; t++)
		for (int v = 0; v < x->m->nodes; v++) {
			struct slot *s = &a->slot[(size_t)(t - x->first) * (size_t)x->m->nodes + (size_t)v];
			if (s->kept >= 0 && x->s->phase != BPG_PHASE_WALK)
				bpg_plan_free(x, t, v, s->kept);
			if (s->alpha >= 0 && !x->w->buffer[s->alpha].home) { /* else they stay */
				bpg_plan_free(x, t, v, s->alpha);
				bpg_plan_free(x, t, v, s->moments);
			}
		}
	if (a) {
		free(a->slot);
		free(a->need);
	}
	free(a);
	x->alpha = NULL;
}

bool bpg_alpha_relax(struct writer *x, int tile, int node, int buffer)
{
	if (!x->alpha || SLOT(tile, node).alpha < 0)
		return false;
	const struct slot *s = &SLOT(tile, node);
	bpg_plan_step(x, (struct bpg_step){ BPG_STEP_ALPHA_RELAX, node, tile, 0, 0, buffer, -1, 0, { s->alpha, s->moments, s->kept } });
	return true;
}

int bpg_alpha_weights(const struct writer *x, int tile, int node)
{
	return x->alpha ? SLOT(tile, node).alpha : -1;
}

void bpg_alpha_buffers(const struct writer *x, int tile, int node, int buffer[4])
{
	const struct slot *s = &SLOT(tile, node);

	buffer[0] = s->alpha, buffer[1] = s->moments, buffer[2] = s->kept, buffer[3] = s->rows;
}

void bpg_alpha_meet(struct writer *x, int tile, int node, int buffer)
{
	if (SLOT(tile, node).alpha < 0)
		return;
	SLOT(tile, node).kept = kept(x, tile, node);
	bpg_alpha_relax(x, tile, node, buffer);
}

void bpg_alpha_keep(struct writer *x, int tile, int node, int buffer)
{
	if (x->alpha && !x->again)
		SLOT(tile, node).rows = buffer;
	else
		bpg_plan_free(x, tile, node, buffer);
}

/* ---- forward ---- */

static int point(struct writer *x, int tile, int node)
{
	int b = bpg_plan_buffer(x, tile, node);

	if (b < 0)
		return -1;
	struct bpg_buffer *f = &x->w->buffer[b];
	const struct bpg_tile *t = &x->s->tile[tile];
	f->point = true;
	if (t->wide) {
		f->bytes /= 2;
		x->live[t->owner] -= f->bytes;
	}
	return b;
}

/* One more reader of the point has been served. */
static void served(struct writer *x, int tile, int node)
{
	struct slot *s = &SLOT(tile, node);

	if (--s->readers > 0)
		return;
	if (s->point >= 0)
		bpg_plan_free(x, tile, node, s->point);
	s->point = -1;
}

/* Where the points over the inputs of v are listed. */
static int list_points(struct writer *x, int tile, const struct bpg_model_node *v)
{
	struct bpg_wave *w = x->w;
	int first = (int)w->points;

	if (x->st)
		return -1;
	if (!bpg_grow(&w->point, &w->point_room, w->points + v->hop.nin, sizeof *w->point)) {
		x->st = bpg_nomem(x->ctx, "the points of a wave");
		return -1;
	}
	for (int k = 0; k < v->hop.nin; k++)
		w->point[w->points++] = SLOT(tile, v->src[k]).point;
	return first;
}

int bpg_alpha_point(struct writer *x, int tile, int node)
{
	return point(x, tile, node);
}

void bpg_alpha_store(struct writer *x, int count)
{
	bool last = x->s->from == x->s->iterations;

	for (int t = x->first; !x->st && t < x->first + count; t++)
		for (int i = 0; !x->st && i < x->s->cone; i++) {
			int id = x->s->visit[i];
			struct slot *s = &SLOT(t, id);
			struct bpg_lasting *l = lasting(x, t, id);
			int store = -1;

			if (!l)
				return;
			l->stored = 0;
			if (s->kept >= 0)
				l->stored += x->w->buffer[s->kept].bytes;
			if (s->rows < 0)
				continue;
			if (stores(x) && !last && x->alpha->need[id]) {
				store = s->rows;
				if (bpg_stage_ends(x->m, x->s, id)) {
					store = point(x, t, id);
					bpg_plan_step(x, (struct bpg_step){ BPG_STEP_CORNER, id, t, 0, 0, s->rows, store, 0, { 0 } });
				}
				if (x->st)
					return;
				x->w->buffer[store].home = store == s->rows ? &l->rows : &l->point;
				l->stored += x->w->buffer[store].bytes;
				lasts(x, x->w->buffer[store].bytes);
			}
			if (store != s->rows)
				bpg_plan_free(x, t, id, s->rows);
			s->rows = -1;
		}
}

/* What the walk has stored at a node, for the chain. */
static void fetch(struct writer *x, int tile, int node)
{
	struct bpg_lasting *l = lasting(x, tile, node);
	struct slot *s = &SLOT(tile, node);
	bool end = bpg_stage_ends(x->m, x->s, node);

	if (!l || !x->alpha->need[node] || (!end && x->m->node[node].hop.kind != BPG_HOP_PLANES))
		return;
	int b = end ? point(x, tile, node) : bpg_plan_buffer(x, tile, node);
	if (b < 0)
		return;
	x->w->buffer[b].home = end ? &l->point : &l->rows;
	lasts(x, x->w->buffer[b].bytes);
	*(end ? &s->point : &s->rows) = b;
}

static void forward_node(struct writer *x, int tile, int id, int pass)
{
	const struct bpg_model_node *v = &x->m->node[id];
	struct slot *s = &SLOT(tile, id);
	int readers = 0;

	for (int i = 0; i < x->s->cone; i++) {
		const struct bpg_model_node *y = &x->m->node[x->s->visit[i]];
		for (int k = 0; x->alpha->need[y->id] && !bpg_stage_ends(x->m, x->s, y->id) && k < y->hop.nin; k++)
			readers += y->src[k] == id;
	}
	s->readers = readers;
	if (bpg_stage_ends(x->m, x->s, id)) {
		if (x->alpha->need[id] && readers && s->point < 0) {
			s->point = point(x, tile, id);
			bpg_plan_step(x, (struct bpg_step){ BPG_STEP_CORNER, id, tile, 0, 0, s->rows, s->point, 0, { 0 } });
			bpg_plan_free(x, tile, id, s->rows);
			s->rows = -1;
		}
		return;
	}
	if (v->hop.kind == BPG_HOP_UNARY) {
		struct slot *in = &SLOT(tile, v->src[0]);
		size_t row = (size_t)(tile - x->first) * (size_t)x->m->nodes;
		bool same = !v->columns.grid || !memcmp(&x->window[row + (size_t)id], &x->window[row + (size_t)v->src[0]], sizeof *x->window);
		if (in->readers > 1 || !same) { /* others read the point, or it is known on more positions */
			s->point = point(x, tile, id);
			bpg_plan_step(x, (struct bpg_step){ BPG_STEP_COPY, id, tile, 0, 0, in->point, s->point, 0, { 0 } });
			served(x, tile, v->src[0]);
		} else {
			s->point = in->point;
			in->point = -1;
			in->readers = 0;
		}
		bpg_plan_step(x, (struct bpg_step){ BPG_STEP_ALPHA_STEP, id, tile, 0, pass, s->point, -1, 0, { s->alpha, s->moments, s->kept } });
	} else if (v->hop.kind == BPG_HOP_PLANES) {
		int points = list_points(x, tile, v);
		s->point = point(x, tile, id);
		bpg_plan_step(x, (struct bpg_step){ BPG_STEP_FORWARD, id, tile, 0, pass, s->rows, s->point, 0, { s->alpha, s->moments, points } });
		for (int k = 0; k < v->hop.nin; k++)
			served(x, tile, v->src[k]);
	} else if (v->hop.kind != BPG_HOP_DENSE) {
		s->point = point(x, tile, id);
		bool kernel = v->hop.kind == BPG_HOP_CONV;
		int panel = kernel ? BPG_PANEL_FORWARD : 0, slot = kernel ? bpg_plan_gather(x, tile, id, panel) : 0;
		for (int k = 0; k < v->hop.nin; k++) {
			bpg_plan_step(x, (struct bpg_step){ BPG_STEP_FORWARD, id, tile, panel, k, SLOT(tile, v->src[k]).point, s->point, 0, { 0, 0, slot } });
			served(x, tile, v->src[k]);
		}
	}
	if (!readers && s->point >= 0) { /* the last node of the chain: its slopes have had their step */
		bpg_plan_free(x, tile, id, s->point);
		s->point = -1;
	}
}

static bool has_slopes(const struct writer *x, int count, int node)
{
	for (int t = x->first; t < x->first + count; t++)
		if (SLOT(t, node).alpha >= 0)
			return true;
	return false;
}

void bpg_alpha_forward(struct writer *x, int count, int pass)
{
	struct bpg_model *m = x->m;
	int first = x->first;
	bool last = !x->s->batch && pass == x->s->iterations;

	for (int t = first; x->s->phase == BPG_PHASE_CHAIN && !x->st && t < first + count; t++) {
		bpg_plan_step(x, (struct bpg_step){ BPG_STEP_ROW_WEIGHTS, x->s->node, t, 0, 0, -1, -1, 0, { 0 } });
		for (int i = 0; stores(x) && !x->st && i < x->s->cone; i++)
			fetch(x, t, x->s->visit[i]);
	}
	/* Ends first: where the bound is attained follows from the state, which walks to recompute begin anew. */
	for (int i = x->s->cone - 1; !last && !x->st && i >= 0; i--)
		for (int t = first; x->alpha->need[x->s->visit[i]] && bpg_stage_ends(m, x->s, x->s->visit[i]) && t < first + count; t++)
			forward_node(x, t, x->s->visit[i], pass);
	for (int i = x->s->cone - 1; !last && !x->st && i >= 0; i--) {
		int id = x->s->visit[i];
		const struct bpg_model_node *v = &m->node[id];

		if (!x->alpha->need[id] || bpg_stage_ends(m, x->s, id))
			continue;
		if (x->s->recompute && v->hop.kind == BPG_HOP_UNARY && has_slopes(x, count, id)) {
			x->again = true;
			bpg_plan_backward(x, count, pass, id);
			x->again = false;
		}
		for (int t = first; !x->st && t < first + count; t++)
			forward_node(x, t, id, pass);
		for (int t = first; x->s->recompute && !x->st && t < first + count; t++) {
			if (SLOT(t, id).kept >= 0)
				bpg_plan_free(x, t, id, SLOT(t, id).kept);
			SLOT(t, id).kept = -1;
		}
		if (v->hop.kind != BPG_HOP_DENSE)
			continue;
		for (int t = first; !x->st && t < first + count; t++)
			SLOT(t, id).point = point(x, t, id);
		for (int p = 0; p < v->panels; p++)
			for (int t = first; !x->st && t < first + count; t++) {
				int slot = bpg_plan_gather(x, t, id, p);
				bpg_plan_step(x, (struct bpg_step){ BPG_STEP_FORWARD, id, t, p, 0, SLOT(t, v->src[0]).point, SLOT(t, id).point, 0, { 0, 0, slot } });
			}
		for (int t = first; !x->st && t < first + count; t++)
			served(x, t, v->src[0]);
	}
	for (int t = first; !x->st && t < first + count; t++)
		for (int i = 0; i < x->s->cone; i++) {
			struct slot *s = &SLOT(t, x->s->visit[i]);
			if (s->rows >= 0)
				bpg_plan_free(x, t, x->s->visit[i], s->rows);
			s->rows = -1;
			if (s->point >= 0)
				bpg_plan_free(x, t, x->s->visit[i], s->point);
			s->point = -1;
		}
}
