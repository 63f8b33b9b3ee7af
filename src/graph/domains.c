/* domains.c - see domains.h. How the rows of domains are dealt to tiles, and what comes back. */
#include "graph/domains_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "graph/lower.h"
#include "graph/panels.h"

/* Rows of a tile: tasks that are worth their submission, and still two tiles for a batch that has enough. More of them where they are
 * short. */
enum { ROWS = 256, ROWS_SHORT = 512, ROWS_LEAST = 64 };
static const size_t tile_bytes_short = (size_t)2 << 20, tile_bytes_most = (size_t)64 << 20;

/* ---- the cut ---- */

static int tile_rows(const struct bpg_model *m, const struct bpg_stage *s, int64_t rows, bool wide)
{
	int64_t n = m->options.tile, widest = 1;

	for (int i = 0; i < s->cone; i++)
		widest = BPG_MAX(widest, bpg_columns_places(&m->node[s->visit[i]].columns));
	size_t row_bytes = (size_t)widest * (wide ? sizeof(double) : sizeof(float));
	if (n <= 0) {
		int64_t most = ROWS_SHORT * row_bytes <= tile_bytes_short ? ROWS_SHORT : ROWS;
		int64_t tiles = BPG_MAX((rows + most - 1) / most, BPG_MIN((int64_t)2, rows / ROWS_LEAST));
		n = tiles ? (rows + tiles - 1) / tiles : 1;
	}
	n = (n + BPG_LANES - 1) / BPG_LANES * BPG_LANES;
	while (n > BPG_LANES && (size_t)n * row_bytes > tile_bytes_most)
		n = (n / 2 + BPG_LANES - 1) / BPG_LANES * BPG_LANES;
	return (int)n;
}

/* Deals rows out: a domain is kept in one tile where it fits into one. */
struct deal {
	struct bpg_ctx *ctx;
	struct bpg_batch *b;
	int room;                 /* rows of a tile */
	int parts, parts_room, tiles_room;
};

static struct bpg_tile *tile_new(struct deal *x)
{
	struct bpg_batch *b = x->b;
	struct bpg_stage *s = &b->stage;
	struct bpg_question_row *row = bpg_arena_alloc(b->arena, (size_t)x->room, sizeof *row);
	struct batch_tile *tile = &b->tile[s->tiles];
	struct bpg_tile *t = &s->tile[s->tiles];

	tile->node = bpg_arena_alloc(b->arena, (size_t)b->m->nodes + 1, sizeof *tile->node);
	tile->lane = bpg_arena_alloc(b->arena, (size_t)x->room, sizeof *tile->lane);
	tile->share = bpg_arena_alloc(b->arena, (size_t)x->room, sizeof *tile->share);
	tile->domain = bpg_arena_alloc(b->arena, (size_t)x->room, sizeof *tile->domain);
	if (!row || !tile->node || !tile->lane || !tile->share || !tile->domain)
		return NULL;
	*t = (struct bpg_tile){ .row = row, .sides = 1, .wide = b->options.wide || b->m->options.wide, .owner = bpg_tile_owner(b->m, s->tiles) };
	s->tiles++;
	return t;
}

/* Rows [from, from + n) of domain d. */
static bool deal_part(struct deal *x, int d, int from, int n)
{
	struct bpg_batch *b = x->b;
	const struct bpg_domain_in *in = &b->in[d];
	struct bpg_tile *t = b->stage.tiles ? &b->stage.tile[b->stage.tiles - 1] : NULL;

	if ((!t || t->count + n > x->room) && !(t = tile_new(x)))
		return false;
	struct batch_tile *tile = &b->tile[b->stage.tiles - 1];
	int part = from == 0 ? d : x->parts++;
	if (from > 0) {
		int last = d;
		while (b->part[last].next >= 0)
			last = b->part[last].next;
		b->part[last].next = part;
	}
	b->part[part] = (struct batch_part){ b->stage.tiles - 1, tile->shares, -1 };
	tile->domain[tile->shares] = d;
	tile->share[tile->shares++] = (struct bpg_share){ t->count, n, in->any };
	for (int r = 0; r < n; r++) {
		((struct bpg_question_row *)t->row)[t->count] = *in->row[from + r];
		tile->lane[t->count++] = (struct bpg_lane){ in->params ? in->params[from + r] : NULL, 0, in->splits };
	}
	for (int i = 0; i < in->splits; i++)
		tile->node[in->split[i].node].splits += n;
	return true;
}

static bool deal_all(struct deal *x)
{
	struct bpg_batch *b = x->b;

	for (int d = 0; d < b->count; d++)
		for (int r = 0; r < b->in[d].rows; r += x->room)
			if (!deal_part(x, d, r, BPG_MIN(x->room, b->in[d].rows - r)))
				return false;
	for (int t = 0; t < b->stage.tiles; t++)
		b->stage.tile[t].strips = (b->stage.tile[t].count + BPG_LANES - 1) / BPG_LANES;
	return true;
}

/* Splits of every tile at every node, by row. */
static bool list_splits(struct bpg_batch *b)
{
	for (int t = 0; t < b->stage.tiles; t++) {
		struct batch_tile *tile = &b->tile[t];

		for (int v = 0; v < b->m->nodes; v++) {
			struct batch_node *n = &tile->node[v];
			if (n->splits && !(n->split = bpg_arena_alloc(b->arena, (size_t)n->splits, sizeof *n->split)))
				return false;
			n->splits = 0;
		}
		for (int s = 0; s < tile->shares; s++) {
			const struct bpg_domain_in *in = &b->in[tile->domain[s]];
			for (int r = tile->share[s].first; r < tile->share[s].first + tile->share[s].rows; r++)
				for (int i = 0; i < in->splits; i++) {
					const struct bpg_split *q = &in->split[i];
					struct batch_node *n = &tile->node[q->node];
					n->split[n->splits++] = (struct bpg_lane_split){ q->element, q->point, r, q->side, i, i < in->held };
				}
		}
	}
	return true;
}

/* Do two splits, or a split and the root's bounds, leave nothing? Both are proved. */
static bool is_empty(const struct bpg_model *m, const struct bpg_domain_in *in)
{
	for (int i = 0; i < in->splits; i++) {
		const struct bpg_split *s = &in->split[i];
		const struct bpg_model_node *x = &m->node[m->node[s->node].src[0]];
		double l = bpg_field(x, BPG_LOWER)[s->element], u = bpg_field(x, BPG_UPPER)[s->element];

		if (s->side > 0 ? s->point > u : s->point < l)
			return true;
		for (int j = 0; s->side > 0 && j < in->splits; j++) {
			const struct bpg_split *q = &in->split[j];
			if (q->side < 0 && q->node == s->node && q->element == s->element && q->point < s->point)
				return true;
		}
	}
	return false;
}

/* Input nodes that no walk reaches stay where they are. */
static void fill_points(const struct bpg_batch *b, const struct batch_tile *tile)
{
	const struct bpg_model *m = b->m;

	for (int i = 0; i < m->nodes; i++) {
		const struct bpg_model_node *v = &m->node[i];
		if (v->hop.kind != BPG_HOP_INPUT || b->stage.reads[i])
			continue;
		for (int s = 0; s < tile->shares; s++)
			for (int64_t j = 0; j < v->columns.n; j++)
				tile->points[s * m->net->in_count + m->net->in_first[v->net->input] + j] = (float)bpg_field(v, BPG_CENTRE)[j];
	}
}

static struct bpg_tensor *at_home(struct bpg_batch *b, size_t count, size_t size, void *memory)
{
	void *p = bpg_arena_alloc(b->arena, count + 1, size);

	*(void **)memory = p;
	b->bytes += count * size;
	return p ? bpg_tensor_new(b->m->rt, (count + 1) * size, p, 0) : NULL;
}

static bool make_homes(struct bpg_batch *b)
{
	for (int t = 0; t < b->stage.tiles; t++) {
		struct batch_tile *tile = &b->tile[t];
		struct bpg_tile *s = &b->stage.tile[t];
		size_t rows = (size_t)s->strips * BPG_LANES;

		s->result_t = at_home(b, 2 * rows, sizeof *tile->results, &tile->results);
		tile->place_t = at_home(b, rows * BPG_PLACES, sizeof *tile->place, &tile->place);
		if (!s->result_t || !tile->place_t)
			return false;
		s->result = tile->results;
		for (size_t r = 0; r < rows * BPG_PLACES; r++)
			tile->place[r].node = -1;
		if (!bpg_mine(b->m, s->owner))
			continue;
		tile->points_t = at_home(b, (size_t)tile->shares * (size_t)b->m->net->in_count, sizeof *tile->points, &tile->points);
		if (!tile->points_t)
			return false;
		fill_points(b, tile);
	}
	return true;
}

/* The walk from the outputs to the inputs. */
static enum bpg_status set_stage(struct bpg_ctx *ctx, struct bpg_model *m, struct bpg_arena *arena, struct bpg_stage *s)
{
	*s = (struct bpg_stage){ .arena = arena, .node = -1, .start = bpg_arena_alloc(arena, (size_t)m->net->outputs + 1, sizeof *s->start) };
	if (!s->start)
		return bpg_nomem(ctx, "a batch of domains");
	for (int i = 0; i < m->net->outputs; i++)
		s->start[s->starts++] = m->net->output[i];
	return bpg_plan_cone(ctx, m, arena, s);
}

enum bpg_status bpg_domains_prepare(struct bpg_ctx *ctx, struct bpg_model *m)
{
	struct bpg_arena *arena = bpg_arena_new();
	uint64_t hash = m->plan_hash; /* of the root's own bounds: which domains there are is the search's affair */
	struct bpg_stage s;
	enum bpg_status st = arena ? set_stage(ctx, m, arena, &s) : bpg_nomem(ctx, "a batch of domains");

	for (int i = 0; !st && i < s.cone; i++) {
		struct bpg_model_node *v = &m->node[s.visit[i]];
		if (v->hop.kind == BPG_HOP_UNARY && !v->choice)
			st = bpg_model_choices(ctx, m, v);
	}
	if (!st)
		st = bpg_lower_panels(ctx, m, &s);
	if (!st)
		st = bpg_lower_forward_panels(ctx, m, &s);
	m->plan_hash = hash;
	bpg_arena_free(arena);
	return st;
}

static enum bpg_status batch_new(struct bpg_ctx *ctx, struct bpg_model *m, const struct bpg_domain_in *in, int count,
                                 const struct bpg_domain_options *options, struct bpg_batch **out)
{
	struct bpg_batch *b = bpg_calloc(1, sizeof *b);
	struct bpg_stage *s;
	int64_t rows = 0;

	if (!b || !(b->arena = bpg_arena_new())) {
		free(b);
		return bpg_nomem(ctx, "a batch of domains");
	}
	*out = b;
	b->model = *m;
	b->m = m = &b->model;
	b->model.slots = (struct bpg_slots){ 0 }; /* its own */
	m->options.group = options->group;
	m->options.rate = options->rate;
	m->options.decay = options->decay;
	m->steps = 0;
	b->in = in;
	b->count = count;
	b->options = *options;
	s = &b->stage;
	b->first = bpg_arena_alloc(b->arena, (size_t)m->nodes + 1, sizeof *b->first);
	b->empty = bpg_arena_alloc(b->arena, (size_t)count + 1, sizeof *b->empty);
	if (!b->first || !b->empty)
		return bpg_nomem(ctx, "a batch of domains");
	BPG_TRY(set_stage(ctx, m, b->arena, s));
	s->iterations = options->iterations;
	s->batch = b;
	for (int d = 0; d < count; d++) {
		rows += in[d].rows;
		b->empty[d] = is_empty(m, &in[d]);
	}
	struct deal deal = { .ctx = ctx, .b = b, .parts = count };
	deal.room = tile_rows(m, s, rows, options->wide || m->options.wide);
	/* A tile is begun when a domain does not fit: two in a row hold more than one has room for. */
	size_t tiles = (size_t)(2 * rows / deal.room) + 2;
	s->tile = bpg_arena_alloc(b->arena, tiles, sizeof *s->tile);
	b->tile = bpg_arena_alloc(b->arena, tiles, sizeof *b->tile);
	b->part = bpg_arena_alloc(b->arena, (size_t)count + tiles, sizeof *b->part);
	if (!s->tile || !b->tile || !b->part || !deal_all(&deal) || !list_splits(b) || !make_homes(b))
		return bpg_nomem(ctx, "a batch of domains");
	return BPG_OK;
}

enum bpg_status bpg_domains_submit(struct bpg_ctx *ctx, struct bpg_model *m, const struct bpg_domain_in *in, int count,
                                   const struct bpg_domain_options *options, struct bpg_batch **out)
{
	struct bpg_wave wave = { 0 };
	enum bpg_status st;

	*out = NULL;
	st = batch_new(ctx, m, in, count, options, out);
	if (!st && (*out)->stage.tiles) {
		struct bpg_batch *b = *out;
		st = bpg_batch_move(ctx, b);
		if (!st)
			st = bpg_wave_plan(ctx, b->m, &b->stage, 0, b->stage.tiles, &wave);
		if (!st)
			st = bpg_lower_wave(ctx, b->m, &b->stage, &wave);
		if (!st)
			st = bpg_batch_share(b);
		for (int o = 0; wave.most_bytes && o < m->options.owners; o++)
			b->bytes += wave.most_bytes[o];
		bpg_wave_fini(&wave);
	}
	if (st && *out) {
		bpg_model_wait(NULL, (*out)->m); /* what was submitted reads the batch */
		bpg_batch_free(*out);
		*out = NULL;
	}
	return st;
}

/* ---- what comes back ---- */

static enum bpg_status collect(struct bpg_ctx *ctx, struct bpg_batch *b, int d, struct bpg_domain_out *o)
{
	const struct bpg_domain_in *in = &b->in[d];
	double *lower = bpg_arena_alloc(b->arena, (size_t)in->rows + 1, sizeof *lower);
	const float **params = bpg_arena_alloc(b->arena, (size_t)in->rows + 1, sizeof *params);
	double best = 0;
	int at = 0;

	if (!lower || !params)
		return bpg_nomem(ctx, "the results of a domain");
	*o = (struct bpg_domain_out){ .lower = lower, .empty = b->empty[d], .params = params,
		                      .params_bytes = (size_t)(b->parameters + in->splits) * sizeof **params };
	BPG_TRY(bpg_batch_ranks(ctx, b, d, &o->rank));
	for (int p = in->rows ? d : -1; p >= 0; p = b->part[p].next) {
		const struct batch_tile *tile = &b->tile[b->part[p].tile];
		const struct bpg_share *s = &tile->share[b->part[p].share];
		int r = bpg_share_row(s, tile->results);

		for (int i = 0; i < s->rows; i++) {
			lower[at + i] = b->empty[d] ? INFINITY : tile->results[s->first + i];
			if (in->known && in->known[at + i] > lower[at + i])
				lower[at + i] = in->known[at + i];
			params[at + i] = tile->params ? tile->params + tile->lane[s->first + i].out : NULL;
		}
		double own = tile->results[r];
		if (at == 0 || (in->any ? own > best : own < best)) {
			best = own;
			const struct bpg_place *place = &tile->place[r * BPG_PLACES];
			o->row = at + r - s->first;
			o->point = tile->points ? tile->points + b->part[p].share * b->m->net->in_count : NULL;
			for (o->branches = 0; o->branches < BPG_PLACES && place[o->branches].node >= 0; o->branches++) {
				const struct bpg_place *q = &place[o->branches];
				o->branch[o->branches] = (struct bpg_branch){ q->node, q->element, q->point, q->score };
			}
		}
		at += s->rows;
	}
	return BPG_OK;
}

enum bpg_status bpg_domains_collect(struct bpg_ctx *ctx, struct bpg_batch *b, struct bpg_domain_out *out)
{
	for (int d = 0; d < b->count; d++)
		BPG_TRY(collect(ctx, b, d, &out[d]));
	return BPG_OK;
}

void bpg_batch_free(struct bpg_batch *b)
{
	if (!b)
		return;
	for (int t = 0; t < b->stage.tiles; t++) {
		bpg_tensor_release(b->stage.tile[t].result_t);
		bpg_tensor_release(b->tile[t].place_t);
		bpg_tensor_release(b->tile[t].points_t);
		bpg_tensor_release(b->tile[t].params_t);
	}
	bpg_arena_free(b->arena);
	free(b);
}

size_t bpg_batch_bytes(const struct bpg_batch *b)
{
	return b->bytes;
}

int64_t bpg_batch_tasks(const struct bpg_batch *b)
{
	return b->model.steps;
}
