/* plan.c - the cut into tiles, and the steps of a wave. */
#include "graph/domains_internal.h"
#include "graph/panels.h"
#include "graph/zones.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Rows of a tile: enough to reuse a panel from the second-level cache, few enough that two workers stay busy. */
enum { TILE_ROWS = 256, TILE_ROWS_LEAST = 64, TILE_ROWS_MOST = 2048, TILES_LEAST = 4 };
/* Narrow networks take more rows, of which a tile has this many bytes. */
static const int64_t tile_bytes_narrow = (int64_t)1 << 18;
/* What submitting and starting a task costs, in multiplications of a strip (some 5 us at 4 a ns). */
static const double task_cost = 20000;
static const size_t tile_bytes_most = (size_t)64 << 20;

bool bpg_stage_ends(const struct bpg_model *m, const struct bpg_stage *s, int node)
{
	enum bpg_hop_kind kind = m->node[node].hop.kind;

	return kind == BPG_HOP_INPUT || (s->stop && (kind == BPG_HOP_UNARY || kind == BPG_HOP_PLANES));
}

/* ---- the cone ---- */

enum bpg_status bpg_plan_cone(struct bpg_ctx *ctx, struct bpg_model *m, struct bpg_arena *arena, struct bpg_stage *s)
{
	unsigned char *in = bpg_arena_alloc(arena, (size_t)m->nodes + 1, 1);

	s->visit = bpg_arena_alloc(arena, (size_t)m->nodes + 1, sizeof *s->visit);
	s->reads = bpg_arena_alloc(arena, (size_t)m->nodes + 1, sizeof *s->reads);
	if (!in || !s->visit || !s->reads)
		return bpg_nomem(ctx, "the plan of a walk");
	for (int i = 0; i < s->starts; i++) {
		in[s->start[i]] = 1;
		s->reads[s->start[i]]++;
	}
	for (int v = m->nodes - 1; v >= 0; v--) {
		if (!in[v])
			continue;
		s->visit[s->cone++] = v;
		m->plan_hash = bpg_hash(m->plan_hash, &v, sizeof v);
		if (bpg_stage_ends(m, s, v)) {
			s->concretized += bpg_columns_places(&m->node[v].columns) + (m->node[v].zone ? m->node[v].zone->segments : 0);
			continue;
		}
		for (int k = 0; k < m->node[v].hop.nin; k++) {
			in[m->node[v].src[k]] = 1;
			s->reads[m->node[v].src[k]]++;
		}
	}
	return BPG_OK;
}

/* ---- windows of a tile at every node of the cone ---- */

static void widen(struct bpg_window *w, const struct bpg_window *by)
{
	if (by->lo[0] >= by->up[0] || by->lo[1] >= by->up[1])
		return;
	if (w->lo[0] >= w->up[0] || w->lo[1] >= w->up[1]) {
		*w = *by;
		return;
	}
	for (int a = 0; a < 2; a++) {
		w->lo[a] = BPG_MIN(w->lo[a], by->lo[a]);
		w->up[a] = BPG_MAX(w->up[a], by->up[a]);
	}
}

static struct bpg_window whole(const struct bpg_columns *k)
{
	return (struct bpg_window){ { 0, 0 }, { k->size[0], k->size[1] } };
}

/* By what terms of rows [row, end) touch of operand k. */
static void widen_by_terms(const struct bpg_hop *h, int k, const struct bpg_sparse *s, int64_t row, int64_t end, struct bpg_window *r)
{
	const struct bpg_columns *in = h->in[k];

	for (int64_t t = s->first[row]; t < s->first[end]; t++) {
		if (s->operand[t] != h->operand[k])
			continue;
		int64_t at = bpg_columns_place(in, s->index[t]) / in->channels;
		int32_t y = (int32_t)(at / in->size[1]), x = (int32_t)(at % in->size[1]);
		widen(r, &(struct bpg_window){ { y, x }, { y + 1, x + 1 } });
	}
}

/* Window of inputs that terms of the columns in `w` touch, in all segments; with s->of those of all their rows. */
static struct bpg_window terms_window(const struct bpg_hop *h, int k, const struct bpg_sparse *s, const struct bpg_window *w)
{
	const struct bpg_columns *o = h->out, *in = h->in[k];
	struct bpg_window r = { { 0, 0 }, { 0, 0 } };
	int64_t segments = s->of ? 1 : s->rows / o->n;

	if (!o->grid)
		return whole(in);
	for (int32_t y = w->lo[0]; y < w->up[0]; y++)
		for (int32_t x = w->lo[1]; x < w->up[1]; x++)
			for (int32_t c = 0; c < o->channels; c++) {
				int64_t i = bpg_columns_element(o, ((int64_t)y * o->size[1] + x) * o->channels + c);
				for (int64_t g = 0; g < segments; g++, i += o->n)
					widen_by_terms(h, k, s, s->of ? s->of[i] : i, s->of ? s->of[i + 1] : i + 1, &r);
			}
	return r;
}

static struct bpg_window conv_window(const struct bpg_conv *c, const struct bpg_window *w)
{
	struct bpg_window r;

	for (int a = 0; a < 2; a++) {
		int64_t lo = w->lo[a] * c->stride[a] - c->pad[a];
		int64_t up = (w->up[a] - 1) * c->stride[a] - c->pad[a] + (c->kernel[a] - 1) * c->dilation[a] + 1;
		r.lo[a] = (int32_t)BPG_MIN(BPG_MAX(lo, (int64_t)0), c->in_size[a]);
		r.up[a] = (int32_t)BPG_MIN(BPG_MAX(up, (int64_t)0), c->in_size[a]);
	}
	return r;
}

static void find_windows(const struct bpg_model *m, const struct bpg_stage *s, const struct bpg_tile *t, struct bpg_window *at)
{
	for (int i = 0; i < s->cone; i++)
		at[s->visit[i]] = (struct bpg_window){ { 0, 0 }, { 0, 0 } };
	for (int i = 0; i < s->starts; i++) {
		const struct bpg_model_node *v = &m->node[s->start[i]];
		at[v->id] = s->start[i] == s->node && v->columns.grid ? t->start : whole(&v->columns);
	}
	for (int i = 0; i < s->cone; i++) {
		const struct bpg_model_node *v = &m->node[s->visit[i]];
		const struct bpg_window *w = &at[v->id];

		if (bpg_stage_ends(m, s, v->id))
			continue;
		for (int k = 0; k < v->hop.nin; k++) {
			struct bpg_window *x = &at[v->src[k]];
			const struct bpg_columns *in = v->hop.in[k];
			struct bpg_window r;

			if (!in->grid)
				continue;
			if (in->solid || v->hop.kind == BPG_HOP_DENSE)
				r = whole(in);
			else if (v->hop.kind == BPG_HOP_CONV)
				r = conv_window(&v->hop.conv, w);
			else if (v->hop.out->grid && (v->hop.kind == BPG_HOP_UNARY || v->hop.kind == BPG_HOP_ELEMENT))
				r = *w;
			else if (v->hop.kind == BPG_HOP_TERMS || v->hop.kind == BPG_HOP_ELEMENT)
				r = terms_window(&v->hop, k, v->hop.terms, w);
			else if (v->hop.kind == BPG_HOP_PLANES) {
				struct bpg_window up = terms_window(&v->hop, k, v->hop.upper, w);
				r = terms_window(&v->hop, k, v->hop.lower, w);
				widen(&r, &up);
				for (int side = 0; s->iterations && side < 2; side++)
					if (v->hop.other[side]) {
						struct bpg_window more = terms_window(&v->hop, k, v->hop.other[side], w);
						widen(&r, &more);
					}
			} else
				r = whole(in);
			widen(x, &r);
		}
	}
}

/* Passes of the optimiser: as asked, where the walk meets a slope or a plane to choose. */
static int choices(const struct bpg_model *m, const struct bpg_stage *s)
{
	for (int i = 0; m->options.iterations && i < s->cone; i++) {
		const struct bpg_model_node *v = &m->node[s->visit[i]];
		bool slopes = v->hop.kind == BPG_HOP_UNARY && v->hop.v->layer->unary->alpha_range;
		bool planes = (v->hop.other[0] && v->hop.other[0]->rows) || (v->hop.other[1] && v->hop.other[1]->rows);
		if ((slopes || planes) && !bpg_stage_ends(m, s, v->id))
			return m->options.iterations;
	}
	return 0;
}

/* ---- tiles ---- */

static size_t widest(const struct bpg_model *m, const struct bpg_stage *s)
{
	int64_t most = 1;

	for (int i = 0; i < s->cone; i++)
		most = BPG_MAX(most, bpg_columns_places(&m->node[s->visit[i]].columns));
	return (size_t)most;
}

/* Elements (or rows asked) of a tile, a multiple of 16. */
static int tile_elements(const struct bpg_model *m, const struct bpg_stage *s, int64_t count, int sides, bool wide)
{
	int per = sides == 3 ? 2 : 1;
	int64_t total = count * per, rows = m->options.tile;
	size_t column = widest(m, s) * (wide ? sizeof(double) : sizeof(float));

	if (rows <= 0) { /* even shares; small nodes still give two workers something to do */
		int64_t whole = BPG_MIN(BPG_MAX(tile_bytes_narrow / (int64_t)column, (int64_t)TILE_ROWS), (int64_t)TILE_ROWS_MOST);
		int64_t tiles = BPG_MAX((total + whole - 1) / whole, BPG_MIN((int64_t)TILES_LEAST, (total + TILE_ROWS_LEAST - 1) / TILE_ROWS_LEAST));
		rows = (total + tiles - 1) / BPG_MAX(tiles, (int64_t)1);
		rows = (rows + BPG_LANES * per - 1) / (BPG_LANES * per) * (BPG_LANES * per);
	}
	while (rows > BPG_LANES * per && (size_t)rows * column > tile_bytes_most)
		rows /= 2;
	int64_t n = rows / per / BPG_LANES * BPG_LANES;
	return (int)BPG_MAX(n, (int64_t)BPG_LANES);
}

/* apart: the upper sides begin with a strip of their own, so that a product may serve + and - strips together. */
static struct bpg_tile *tile_new(struct bpg_stage *s, struct bpg_arena *arena, int count, int sides, bool wide, bool apart)
{
	struct bpg_tile *t = &s->tile[s->tiles++];

	t->count = count;
	t->sides = sides;
	t->wide = wide;
	t->apart = apart;
	t->minus = sides != 3 ? 0 : apart ? (count + BPG_LANES - 1) / BPG_LANES * BPG_LANES : count;
	t->strips = (t->minus + count + BPG_LANES - 1) / BPG_LANES;
	size_t rows = (size_t)t->strips * BPG_LANES;
	t->result = bpg_arena_alloc(arena, rows, sizeof *t->result);
	t->met = bpg_arena_alloc(arena, (size_t)count, 1);
	if (s->iterations) {
		t->plain = bpg_arena_alloc(arena, rows, sizeof *t->plain);
		t->before = bpg_arena_alloc(arena, rows, sizeof *t->before);
		if (!t->plain || !t->before)
			return NULL;
	}
	return t->result && t->met ? t : NULL;
}

int bpg_tile_owner(const struct bpg_model *m, int tile)
{
	return m->placement == BPG_PLACEMENT_FSDP ? m->options.rank : tile % m->options.owners;
}

static void finish_tiles(struct bpg_model *m, struct bpg_stage *s)
{
	for (int i = 0; i < s->tiles; i++) {
		struct bpg_tile *t = &s->tile[i];
		int64_t cut[3] = { s->node, t->count, t->sides };
		t->owner = s->node >= 0 && bpg_zone_parts(&m->node[s->node]) > 1 ? bpg_zone_owner(m, m->node[s->node].zone, t->part) : bpg_tile_owner(m, i);
		m->plan_hash = bpg_hash(m->plan_hash, cut, sizeof cut);
		if (t->element)
			m->plan_hash = bpg_hash(m->plan_hash, t->element, (size_t)t->count * sizeof *t->element);
	}
}

/* ---- tiles of a grid: neurons of a window of positions ---- */

struct spot {
	int64_t window, element;
	int32_t segment;
};

static int by_window(const void *a, const void *b)
{
	const struct spot *x = a, *y = b;

	if (x->window != y->window)
		return x->window < y->window ? -1 : 1;
	if (x->segment != y->segment)
		return x->segment < y->segment ? -1 : 1;
	return (x->element > y->element) - (x->element < y->element);
}

/* Multiplications of one strip's walk from a window of edge x edge positions in the middle of the grid. */
static double walk_cost(const struct bpg_model *m, const struct bpg_stage *s, int edge, struct bpg_window *at)
{
	const struct bpg_columns *k = &m->node[s->node].columns;
	struct bpg_tile t = { .count = 0 };
	double cost = 0;

	for (int a = 0; a < 2; a++) {
		t.start.lo[a] = k->size[a] / 2 / edge * edge;
		t.start.up[a] = BPG_MIN(t.start.lo[a] + edge, k->size[a]);
	}
	find_windows(m, s, &t, at);
	for (int i = 0; i < s->cone; i++) {
		const struct bpg_model_node *v = &m->node[s->visit[i]];
		double columns = (double)bpg_columns_in(&v->columns, &at[v->id]), work = 4; /* per column: relax, add, ... */

		if (v->hop.kind == BPG_HOP_CONV)
			work += (double)(v->hop.conv.in_channels / v->hop.conv.groups * v->hop.conv.kernel[0] * v->hop.conv.kernel[1]);
		else if (v->hop.kind == BPG_HOP_DENSE)
			work += (double)v->hop.dense.ins;
		cost += columns * work;
	}
	return cost;
}

/* Window of an element, for windows of edge x edge positions. */
static int64_t window_of(const struct bpg_columns *k, int edge, int64_t element)
{
	int64_t across = (k->size[1] + edge - 1) / edge, at = bpg_columns_place(k, element) / k->channels;

	return at / k->size[1] / edge * across + at % k->size[1] / edge;
}

/* That, and the part of a zone that the element is in: rows of a tile have both in common. Windows of the first part come first. */
static int64_t place_of(const struct bpg_model_node *v, int edge, int64_t element)
{
	const struct bpg_columns *k = &v->columns;
	int64_t windows = (int64_t)((k->size[0] + edge - 1) / edge) * ((k->size[1] + edge - 1) / edge);

	return bpg_zone_part_of(v, element) * windows + window_of(k, edge, element);
}

/* Small windows keep supports small, large ones fill the lanes when few neurons need rows: the cheaper edge. */
static int choose_edge(const struct bpg_model *m, const struct bpg_stage *s, const int64_t *element, int64_t count, int most, int32_t *inside,
                       struct bpg_window *at)
{
	const struct bpg_model_node *v = &m->node[s->node];
	const struct bpg_columns *k = &v->columns;
	int best = 1, longest = BPG_MAX(k->size[0], k->size[1]);
	double least = INFINITY;

	if (k->solid)
		return longest;

	for (int edge = 1; edge < 2 * longest; edge *= 2) {
		int64_t windows = (int64_t)((k->size[0] + edge - 1) / edge) * ((k->size[1] + edge - 1) / edge) * bpg_zone_parts(v);
		double strips = 0, tiles = 0;

		memset(inside, 0, (size_t)windows * sizeof *inside);
		for (int64_t i = 0; i < count; i++)
			inside[place_of(v, edge, element[i])]++;
		for (int64_t w = 0; w < windows; w++)
			for (int64_t n = inside[w]; n > 0; n -= most) {
				strips += (double)((2 * BPG_MIN(n, (int64_t)most) + BPG_LANES - 1) / BPG_LANES);
				tiles++;
			}
		double cost = strips * walk_cost(m, s, edge, at) + tiles * s->cone * task_cost;
		if (cost < least) {
			least = cost;
			best = edge;
		}
	}
	return best;
}

/* Elements or rows by segment, in the order of the tiles: each segment (and window) fills its last strip by repeating. */
struct order {
	int64_t *element;         /* or index of a row */
	int32_t *segment;
	int64_t *window;          /* null: none */
	int64_t n;
	bool filled;              /* strips are filled up */
};

static bool order_init(struct order *o, const struct bpg_model *m, struct bpg_arena *arena, int64_t count, bool windows)
{
	size_t most = (size_t)count * (m->segments > 1 ? BPG_LANES : 1) + 1;

	*o = (struct order){ .filled = m->segments > 1 };
	o->element = bpg_arena_alloc(arena, most, sizeof *o->element);
	o->segment = bpg_arena_alloc(arena, most, sizeof *o->segment);
	o->window = windows ? bpg_arena_alloc(arena, most, sizeof *o->window) : NULL;
	return o->element && o->segment && (o->window || !windows);
}

static void order_put(struct order *o, int64_t element, int32_t segment, int64_t window)
{
	o->element[o->n] = element;
	o->segment[o->n] = segment;
	if (o->window)
		o->window[o->n] = window;
	o->n++;
}

static void order_add(struct order *o, int64_t element, int32_t segment, int64_t window)
{
	int64_t last = o->n - 1;

	if (o->filled && last >= 0 && (o->segment[last] != segment || (o->window && o->window[last] != window)))
		while (o->n % BPG_LANES)
			order_put(o, o->element[last], o->segment[last], o->window ? o->window[last] : 0);
	order_put(o, element, segment, window);
}

static void order_end(struct order *o)
{
	int64_t last = o->n - 1;

	while (o->filled && o->n % BPG_LANES)
		order_put(o, o->element[last], o->segment[last], o->window ? o->window[last] : 0);
}

/* Says which segment each strip of the tile belongs to, from that of its elements. */
static bool set_segments(const struct order *o, struct bpg_arena *arena, struct bpg_tile *t, int64_t first)
{
	if (!o->filled)
		return true;
	int32_t *segment = bpg_arena_alloc(arena, (size_t)t->strips + 1, sizeof *segment);
	if (!segment)
		return false;
	for (int q = 0; q < t->strips; q++) {
		int row = q * BPG_LANES;
		segment[q] = o->segment[first + (t->sides == 3 && row >= t->minus ? row - t->minus : row)];
	}
	t->segment = segment;
	return true;
}

enum bpg_status bpg_stage_rows(struct bpg_ctx *ctx, struct bpg_model *m, struct bpg_arena *arena, int node, const int64_t *element,
                               const int32_t *segment, int64_t count, bool stop, struct bpg_stage *s)
{
	struct bpg_model_node *v = &m->node[node];
	const struct bpg_columns *k = &v->columns;
	bool dense = v->hop.kind == BPG_HOP_DENSE, wide = m->options.wide, windows = k->grid && !dense;
	struct order order;
	int edge = 0;
	int64_t across = 0;

	memset(s, 0, sizeof *s);
	s->arena = arena;
	s->node = node;
	s->stop = stop;
	s->starts = 1;
	s->start = bpg_arena_alloc(arena, 1, sizeof *s->start);
	if (!s->start || !order_init(&order, m, arena, count, windows))
		return bpg_nomem(ctx, "the tiles of a node");
	s->start[0] = dense ? v->src[0] : node;
	BPG_TRY(bpg_plan_cone(ctx, m, arena, s));
	const struct bpg_model_node *in = &m->node[s->start[0]];
	s->opposite = dense && in->hop.kind == BPG_HOP_UNARY && !bpg_stage_ends(m, s, in->id);
	s->iterations = choices(m, s);
	s->relaxed_start = s->opposite && !s->iterations;
	int most = tile_elements(m, s, count, 3, wide);

	if (windows) {
		struct spot *spot = bpg_arena_alloc(arena, (size_t)count + 1, sizeof *spot);
		struct bpg_window *at = bpg_arena_alloc(arena, (size_t)m->nodes + 1, sizeof *at);
		int32_t *inside = bpg_arena_alloc(arena, (size_t)bpg_zone_parts(v) * (size_t)k->size[0] * (size_t)k->size[1] + 1, sizeof *inside);
		if (!spot || !at || !inside)
			return bpg_nomem(ctx, "the tiles of a node");
		most = BPG_MAX(most, 64);
		edge = choose_edge(m, s, element, count, most, inside, at);
		across = (k->size[1] + edge - 1) / edge;
		for (int64_t i = 0; i < count; i++)
			spot[i] = (struct spot){ place_of(v, edge, element[i]), element[i], segment[i] };
		qsort(spot, (size_t)count, sizeof *spot, by_window);
		for (int64_t i = 0; i < count; i++)
			order_add(&order, spot[i].element, spot[i].segment, spot[i].window);
	} else {
		for (int64_t i = 0; i < count; i++)
			order_add(&order, element[i], segment[i], 0);
	}
	order_end(&order);
	s->tile = bpg_arena_alloc(arena, (size_t)order.n + 1, sizeof *s->tile);
	if (!s->tile)
		return bpg_nomem(ctx, "the tiles of a node");
	for (int64_t i = 0, j; i < order.n; i = j) {
		int part = bpg_zone_part_of(v, order.element[i]);
		for (j = i; j < order.n && j - i < most && (!windows || order.window[j] == order.window[i]) && bpg_zone_part_of(v, order.element[j]) == part; j++)
			;
		struct bpg_tile *t = tile_new(s, arena, (int)(j - i), 3, wide, dense || order.filled);
		if (!t || !set_segments(&order, arena, t, i))
			return bpg_nomem(ctx, "the tiles of a node");
		t->element = order.element + i;
		t->part = part;
		if (windows) {
			int64_t at = window_of(k, edge, order.element[i]);
			int32_t y = (int32_t)(at / across) * edge, x = (int32_t)(at % across) * edge;
			t->start = (struct bpg_window){ { y, x }, { BPG_MIN(y + edge, k->size[0]), BPG_MIN(x + edge, k->size[1]) } };
		}
	}
	finish_tiles(m, s);
	return BPG_OK;
}

enum bpg_status bpg_stage_question(struct bpg_ctx *ctx, struct bpg_model *m, struct bpg_arena *arena, const struct bpg_question_row *row,
                                   int64_t count, bool stop, struct bpg_stage *s)
{
	int sides = m->options.sides;
	struct order order;

	memset(s, 0, sizeof *s);
	s->arena = arena;
	s->node = -1;
	s->stop = stop;
	s->start = bpg_arena_alloc(arena, (size_t)m->net->outputs + 1, sizeof *s->start);
	if (!s->start || !order_init(&order, m, arena, m->segments * count, false))
		return bpg_nomem(ctx, "the tiles of the rows asked");
	for (int i = 0; i < m->net->outputs; i++)
		s->start[s->starts++] = m->net->output[i];
	BPG_TRY(bpg_plan_cone(ctx, m, arena, s));
	s->iterations = choices(m, s);
	for (int g = 0; g < m->segments; g++)
		for (int64_t i = 0; i < count; i++)
			order_add(&order, i, g, 0);
	order_end(&order);
	s->tile = bpg_arena_alloc(arena, (size_t)order.n + 2, sizeof *s->tile);
	struct bpg_question_row *asked = bpg_arena_alloc(arena, (size_t)order.n + 1, sizeof *asked);
	if (!s->tile || !asked)
		return bpg_nomem(ctx, "the tiles of the rows asked");
	for (int64_t i = 0; i < order.n; i++) {
		asked[i] = row[order.element[i]];
		order.element[i] += order.segment[i] * count;
	}
	/* Rows asked are few: they are carried in double, where the rounding of coefficients does not count. Not in a search, which
	 * asks them of many regions. */
	bool wide = (order.n <= 512 && m->segments == 1) || m->options.wide;
	int most = tile_elements(m, s, order.n, sides, wide);
	/* One strip of rows would be one chain of tasks: its two sides are two. */
	bool apart = sides == 3 && order.n <= BPG_LANES;
	for (int64_t i = 0; i < order.n; i += most)
		for (int side = apart ? 1 : sides; side <= (apart ? 2 : sides); side++) {
			struct bpg_tile *t = tile_new(s, arena, (int)BPG_MIN(order.n - i, (int64_t)most), side, wide, order.filled);
			if (!t || !set_segments(&order, arena, t, i))
				return bpg_nomem(ctx, "the tiles of the rows asked");
			t->row = asked + i;
			t->asked = order.element + i;
			if (m->options.input_planes && (side & 1)) {
				t->keep = bpg_arena_alloc(arena, (size_t)(t->strips * BPG_LANES) * (size_t)(m->net->in_count + 1), sizeof *t->keep);
				if (!t->keep)
					return bpg_nomem(ctx, "the tiles of the rows asked");
			}
		}
	finish_tiles(m, s);
	return BPG_OK;
}

/* ---- tiles packed anew ---- */

/* The next elements that stay, into one tile; old tiles are walked in order, by tile and index. */
static void fill_packed(const struct bpg_stage *s, struct bpg_tile *t, int64_t *element, struct bpg_question_row *row, int *tile, int *index)
{
	for (int i = 0; i < t->count; ++*index) {
		while (*index >= s->tile[*tile].count || s->tile[*tile].owner != t->owner)
			++*tile, *index = 0;
		const struct bpg_tile *old = &s->tile[*tile];
		if (old->met[*index])
			continue;
		element[i] = old->row ? old->asked[*index] : old->element[*index];
		if (old->row)
			row[i] = old->row[*index];
		t->from_tile[i] = *tile;
		t->from_index[i] = *index;
		for (int side = 0; side < 2; side++) {
			int to = bpg_tile_row(t, i, side), from = bpg_tile_row(old, *index, side);
			if (to < 0)
				continue;
			t->result[to] = old->result[from];
			t->plain[to] = old->plain[from];
			t->before[to] = old->before[from];
		}
		i++;
	}
}

static bool packs_with(const struct bpg_tile *a, const struct bpg_tile *b)
{
	return a->sides == b->sides && !memcmp(&a->start, &b->start, sizeof a->start);
}

/* Tiles first .. end-1 of one owner. Rows stay with their owner, and with them what belongs to them. */
static enum bpg_status repack_owner(struct bpg_ctx *ctx, const struct bpg_stage *s, struct bpg_stage *p, int first, int end, int owner)
{
	struct bpg_arena *arena = s->arena;
	int64_t stay = 0;
	int most = 0, tile = first, index = 0;

	for (int b = first; b < end; b++) {
		if (s->tile[b].owner != owner)
			continue;
		most = BPG_MAX(most, s->tile[b].count);
		for (int i = 0; i < s->tile[b].count; i++)
			stay += !s->tile[b].met[i];
	}
	for (int64_t tiles = most ? (stay + most - 1) / most : 0; stay > 0; tiles--) { /* even shares, no more tiles than before */
		int64_t n = (stay + tiles - 1) / tiles;
		n = BPG_MIN((n + BPG_LANES - 1) / BPG_LANES * BPG_LANES, stay);
		struct bpg_tile *t = tile_new(p, arena, (int)n, s->tile[first].sides, s->tile[first].wide, s->tile[first].apart);
		int64_t *element = bpg_arena_alloc(arena, (size_t)n, sizeof *element);
		struct bpg_question_row *row = bpg_arena_alloc(arena, (size_t)n, sizeof *row);
		if (!t || !element || !row
		    || !(t->from_tile = bpg_arena_alloc(arena, (size_t)n, sizeof *t->from_tile))
		    || !(t->from_index = bpg_arena_alloc(arena, (size_t)n, sizeof *t->from_index)))
			return bpg_nomem(ctx, "the tiles of a node");
		t->start = s->tile[first].start;
		t->owner = owner;
		fill_packed(s, t, element, row, &tile, &index);
		if (s->tile[first].row)
			t->row = row, t->asked = element;
		else
			t->element = element;
		stay -= n;
	}
	return BPG_OK;
}

enum bpg_status bpg_stage_repack(struct bpg_ctx *ctx, struct bpg_model *m, const struct bpg_stage *s, struct bpg_stage *p)
{
	*p = *s;
	p->tiles = 0;
	p->tile = bpg_arena_alloc(s->arena, (size_t)s->tiles + 1, sizeof *p->tile);
	if (!p->tile)
		return bpg_nomem(ctx, "the tiles of a node");
	for (int a = 0, b; a < s->tiles; a = b) {
		for (b = a; b < s->tiles && packs_with(&s->tile[a], &s->tile[b]); b++)
			;
		for (int o = 0; o < m->options.owners; o++)
			BPG_TRY(repack_owner(ctx, s, p, a, b, o));
	}
	return BPG_OK;
}

/* ---- steps ---- */

void bpg_plan_step(struct writer *x, struct bpg_step s)
{
	struct bpg_wave *w = x->w;

	if (x->st)
		return;
	if (!bpg_grow(&w->step, &w->step_room, w->steps + 1, sizeof *w->step)) {
		x->st = bpg_nomem(x->ctx, "the steps of a wave");
		return;
	}
	s.priority = x->m->nodes - x->m->node[s.node].whole;
	w->step[w->steps++] = s;
	if (s.kind == BPG_STEP_FREE) {
		if (!w->buffer[s.from].guest)
			x->live[w->buffer[s.from].owner] -= w->buffer[s.from].bytes;
		if (bpg_buffer_lasts(&w->buffer[s.from]))
			x->live_alpha -= w->buffer[s.from].bytes;
	}
}

int bpg_plan_buffer_of(struct writer *x, int tile, int node, int owner, bool guest)
{
	struct bpg_wave *w = x->w;
	const struct bpg_tile *t = &x->s->tile[tile];
	struct bpg_buffer b = { .node = node, .tile = tile, .owner = owner, .guest = guest, .window = WINDOW(tile, x->m->node[node].whole) };

	if (x->st)
		return -1;
	if (!bpg_grow(&w->buffer, &w->buffer_room, w->buffers + 1, sizeof *w->buffer)) {
		x->st = bpg_nomem(x->ctx, "the buffers of a wave");
		return -1;
	}
	b.bytes = (size_t)(t->strips * BPG_LANES * bpg_columns_in(&x->m->node[node].columns, &b.window)) * (t->wide ? sizeof(double) : sizeof(float));
	w->buffer[w->buffers] = b;
	if (!guest)
		x->live[owner] += b.bytes;
	w->most_bytes[owner] = BPG_MAX(w->most_bytes[owner], x->live[owner]);
	return (int)w->buffers++;
}

int bpg_plan_buffer(struct writer *x, int tile, int node)
{
	return bpg_plan_buffer_of(x, tile, node, x->s->tile[tile].owner, false);
}

void bpg_plan_free(struct writer *x, int tile, int node, int buffer)
{
	bpg_plan_step(x, (struct bpg_step){ .kind = BPG_STEP_FREE, .node = node, .tile = tile, .from = buffer, .to = -1 });
}

int bpg_plan_gather(struct writer *x, int tile, int node, int panel)
{
	int owner = x->s->tile[tile].owner;
	const struct bpg_model_node *v = &x->m->node[node];
	struct fetched *f = &x->fetched[owner];

	bool foreign = bpg_panel_foreign(x->m, v, panel, owner);
	/* Ranks of fsdp all do the same: each has the gathers of all, and of its own panels sends them. */
	if (!foreign && (x->m->placement != BPG_PLACEMENT_FSDP || x->m->options.ranks < 2))
		return 0;
	for (int k = 0; k < 2; k++)
		if (f->node[k] == node && f->panel[k] == panel)
			return foreign ? 1 + k : 0;
	int k = f->next;
	f->next = !k;
	f->node[k] = node;
	f->panel[k] = panel;
	bpg_plan_step(x, (struct bpg_step){ BPG_STEP_GATHER, node, tile, panel, k, -1, -1, 0, { 0 } });
	x->w->gathered[owner] += foreign ? (int64_t)bpg_panel_bytes(v, panel) : 0;
	return foreign ? 1 + k : 0;
}

static bool same_window(const struct bpg_columns *k, const struct bpg_window *a, const struct bpg_window *b)
{
	return !k->grid || !memcmp(a, b, sizeof *a);
}

static void add_pending(struct writer *x, int tile, int v)
{
	int b = PENDING(tile, v);

	if (b < 0)
		return;
	PENDING(tile, v) = -1;
	bpg_plan_step(x, (struct bpg_step){ BPG_STEP_ADD, v, tile, 0, 0, b, HELD(tile, v), 0, { 0 } });
	bpg_plan_step(x, (struct bpg_step){ BPG_STEP_FREE, v, tile, 0, 0, b, -1, 0, { 0 } });
}

/* Rows over node v are ready in buffer b: the first contribution is the node's, others are added; the last one of a
 * node that will be relaxed is added there. */
void bpg_plan_deliver(struct writer *x, int tile, int v, int b)
{
	if (x->st)
		return;
	bool same = same_window(&x->m->node[v].columns, &x->w->buffer[b].window, &WINDOW(tile, v));
	if (!same && HELD(tile, v) < 0) {
		int wide = bpg_plan_buffer(x, tile, v);
		bpg_plan_step(x, (struct bpg_step){ BPG_STEP_COPY, v, tile, 0, 0, b, wide, 0, { 0 } });
		bpg_plan_step(x, (struct bpg_step){ BPG_STEP_FREE, v, tile, 0, 0, b, -1, 0, { 0 } });
		b = wide;
	}
	if (HELD(tile, v) < 0) {
		HELD(tile, v) = b;
		return;
	}
	add_pending(x, tile, v);
	PENDING(tile, v) = b;
	if (!same)
		add_pending(x, tile, v);
}

static bool is_start(const struct bpg_stage *s, int node)
{
	for (int i = 0; i < s->starts; i++)
		if (s->start[i] == node)
			return true;
	return false;
}

/* A convolution whose rows come from this relaxation alone can do it on the way. */
static bool leaves_relaxing(const struct writer *x, int tile, const struct bpg_model_node *v)
{
	const struct bpg_model_node *in = &x->m->node[v->src[0]];

	return !x->alpha && in->hop.kind == BPG_HOP_CONV && !in->zone && x->s->reads[in->id] == 1 && !is_start(x->s, in->id) && !bpg_stage_ends(x->m, x->s, in->id)
	       && same_window(&v->columns, &WINDOW(tile, v->id), &WINDOW(tile, in->id));
}

/* One node for one tile, all kinds but dense (whose panels go around the tiles). */
static void visit(struct writer *x, int tile, int id)
{
	const struct bpg_model_node *v = &x->m->node[id];
	const struct bpg_hop *h = &v->hop;
	int b = HELD(tile, id);

	if (b < 0)
		return;
	bool relaxed = x->s->relaxed_start && id == x->s->start[0], ends = bpg_stage_ends(x->m, x->s, id);
	if (h->kind != BPG_HOP_UNARY || relaxed || ends || x->alpha)
		add_pending(x, tile, id);
	if (ends) {
		bpg_plan_step(x, (struct bpg_step){ BPG_STEP_CONCRETIZE, id, tile, 0, 0, b, -1, 0, { 0 } });
		bpg_alpha_keep(x, tile, id, b);
		return;
	}
	if (h->kind == BPG_HOP_UNARY) {
		int second = PENDING(tile, id);
		if (!relaxed && leaves_relaxing(x, tile, v)) {
			RELAX(tile, v->src[0]) = id;
			bpg_plan_deliver(x, tile, v->src[0], b);
			return;
		}
		if (!relaxed && !bpg_alpha_relax(x, tile, id, b))
			bpg_plan_step(x, (struct bpg_step){ BPG_STEP_RELAX, id, tile, 0, 0, b, second, 0, { 0 } });
		if (second >= 0)
			bpg_plan_step(x, (struct bpg_step){ BPG_STEP_FREE, id, tile, 0, 0, second, -1, 0, { 0 } });
		bpg_plan_deliver(x, tile, v->src[0], b);
		return;
	}
	if (h->kind == BPG_HOP_PLANES) {
		for (int k = 0; k < h->nin; k++) {
			int to = bpg_plan_buffer(x, tile, v->src[k]);
			bpg_plan_step(x, (struct bpg_step){ BPG_STEP_PLANES, id, tile, 0, k, b, to, 0, { bpg_alpha_weights(x, tile, id), -1, -1 } });
			bpg_plan_deliver(x, tile, v->src[k], to);
		}
		bpg_alpha_keep(x, tile, id, b);
		return;
	}
	bool toll = !v->charged || is_start(x->s, id); /* a walk that begins here has met no relaxation that charged it */
	if (toll && (h->kind != BPG_HOP_CONV || v->zone))
		bpg_plan_step(x, (struct bpg_step){ BPG_STEP_TOLL, id, tile, 0, 0, b, -1, 0, { 0 } });
	if (v->zone) {
		bpg_zone_walk(x, tile, v, b);
		return;
	}
	if (h->kind == BPG_HOP_DENSE)
		return;
	if (h->kind == BPG_HOP_CONV) {
		int to = bpg_plan_buffer(x, tile, v->src[0]);
		int relax = RELAX(tile, id), second = relax >= 0 ? PENDING(tile, relax) : -1;
		int slot = bpg_plan_gather(x, tile, id, 0);
		bpg_plan_step(x, (struct bpg_step){ BPG_STEP_CONV, id, tile, 0, toll, b, to, 0, { relax, second, slot } });
		if (second >= 0)
			bpg_plan_free(x, tile, relax, second);
		bpg_plan_deliver(x, tile, v->src[0], to);
	} else if (v->sum) {
		/* y = a + b: the rows over y are those over each operand; the last takes them, the others get copies. */
		for (int k = 0; k + 1 < h->nin; k++) {
			int to = bpg_plan_buffer(x, tile, v->src[k]);
			bpg_plan_step(x, (struct bpg_step){ BPG_STEP_COPY, v->src[k], tile, 0, 0, b, to, 0, { 0 } });
			bpg_plan_deliver(x, tile, v->src[k], to);
		}
		bpg_plan_deliver(x, tile, v->src[h->nin - 1], b);
		return;
	} else {
		for (int k = 0; k < h->nin; k++) {
			int to = bpg_plan_buffer(x, tile, v->src[k]);
			bpg_plan_step(x, (struct bpg_step){ BPG_STEP_MAP, id, tile, 0, k, b, to, 0, { 0 } });
			bpg_plan_deliver(x, tile, v->src[k], to);
		}
	}
	bpg_plan_step(x, (struct bpg_step){ BPG_STEP_FREE, id, tile, 0, 0, b, -1, 0, { 0 } });
}

/* Ends a walk that was for one node: what has come elsewhere is not needed. */
static void meet(struct writer *x, int tile, int until)
{
	add_pending(x, tile, until);
	bpg_alpha_meet(x, tile, until, HELD(tile, until));
	bpg_plan_free(x, tile, until, HELD(tile, until));
	for (int i = 0; i < x->s->cone; i++) {
		int v = x->s->visit[i];
		if (v >= until)
			continue;
		if (HELD(tile, v) >= 0)
			bpg_plan_free(x, tile, v, HELD(tile, v));
		if (PENDING(tile, v) >= 0)
			bpg_plan_free(x, tile, v, PENDING(tile, v));
	}
}

void bpg_plan_backward(struct writer *x, int count, int pass, int until)
{
	const struct bpg_stage *s = x->s;
	struct bpg_model *m = x->m;
	int first = x->first, *to = bpg_calloc((size_t)count + 1, sizeof *to);
	size_t cells = (size_t)count * (size_t)m->nodes;

	if (!to)
		x->st = bpg_nomem(x->ctx, "the plan of a wave");
	for (size_t i = 0; !x->st && i < cells; i++)
		x->held[i] = x->pending[i] = x->relax[i] = -1;
	for (int t = first; !x->st && bpg_zone_starts(m, s) && t < first + count; t++)
		bpg_zone_start(x, t);
	for (int t = first; !x->st && !bpg_zone_starts(m, s) && t < first + count; t++)
		for (int i = 0; i < s->starts; i++) {
			int b = bpg_plan_buffer(x, t, s->start[i]);
			bpg_plan_step(x, (struct bpg_step){ s->node < 0 ? BPG_STEP_QUESTION : BPG_STEP_START, s->start[i], t, 0, i, -1, b, 0, { 0 } });
			bpg_plan_deliver(x, t, s->start[i], b);
		}
	for (int i = 0; !x->st && i < s->cone; i++) {
		int id = s->visit[i];
		const struct bpg_model_node *v = &m->node[id];

		if (id == until) {
			for (int t = first; !x->st && t < first + count; t++)
				meet(x, t, until);
			break;
		}
		for (int t = first; t < first + count; t++)
			visit(x, t, id);
		if (v->hop.kind != BPG_HOP_DENSE || v->zone || bpg_stage_ends(m, s, id))
			continue;
		for (int t = first; !x->st && t < first + count; t++)
			to[t - first] = bpg_plan_buffer(x, t, v->src[0]);
		for (int p = 0; p < v->panels; p++)
			for (int t = first; t < first + count; t++) {
				int slot = bpg_plan_gather(x, t, id, p);
				bpg_plan_step(x, (struct bpg_step){ BPG_STEP_GEMM, id, t, p, 0, HELD(t, id), to[t - first], 0, { 0, 0, slot } });
			}
		for (int t = first; !x->st && t < first + count; t++) {
			bpg_plan_free(x, t, id, HELD(t, id));
			bpg_plan_deliver(x, t, v->src[0], to[t - first]);
		}
	}
	for (int t = first; until < 0 && s->phase != BPG_PHASE_CHAIN && t < first + count; t++)
		bpg_plan_step(x, (struct bpg_step){ BPG_STEP_FINISH, 0, t, 0, pass, -1, -1, 0, { 0 } });
	free(to);
}

/* Slots are there from the first gather to the end of the stage; an owner without tiles has none. */
static void begin_slots(struct writer *x, int count)
{
	size_t *bytes = bpg_calloc((size_t)x->m->options.owners, sizeof *bytes);

	if (!bytes) {
		x->st = bpg_nomem(x->ctx, "the plan of a wave");
		return;
	}
	bpg_slot_bytes(x->m, x->s, bytes);
	for (int t = x->first; t < x->first + count; t++) {
		int o = x->s->tile[t].owner;
		x->live[o] += 2 * bytes[o];
		bytes[o] = 0;
	}
	for (int o = 0; o < x->m->options.owners; o++)
		x->fetched[o] = (struct fetched){ { -1, -1 }, { -1, -1 }, 0 };
	free(bytes);
}

enum bpg_status bpg_wave_plan(struct bpg_ctx *ctx, struct bpg_model *m, const struct bpg_stage *s, int first, int count, struct bpg_wave *w)
{
	struct writer writer = { .ctx = ctx, .m = m, .s = s, .w = w, .first = first }, *x = &writer;
	size_t cells = (size_t)count * (size_t)m->nodes;

	w->first = first;
	w->steps = w->buffers = w->points = 0;
	w->alpha_bytes = 0;
	free(w->most_bytes);
	w->most_bytes = bpg_calloc((size_t)m->options.owners, sizeof *w->most_bytes);
	free(w->gathered);
	w->gathered = bpg_calloc((size_t)m->options.owners, sizeof *w->gathered);
	x->live = bpg_calloc((size_t)m->options.owners, sizeof *x->live);
	x->fetched = bpg_calloc((size_t)m->options.owners, sizeof *x->fetched);
	x->held = bpg_calloc(cells + 1, sizeof *x->held);
	x->pending = bpg_calloc(cells + 1, sizeof *x->pending);
	x->relax = bpg_calloc(cells + 1, sizeof *x->relax);
	x->window = bpg_calloc(cells + 1, sizeof *x->window);
	if (!x->held || !x->pending || !x->relax || !x->window || !x->live || !x->fetched || !w->most_bytes || !w->gathered)
		x->st = bpg_nomem(ctx, "the plan of a wave");
	else
		begin_slots(x, count);
	for (int t = first; !x->st && t < first + count; t++) {
		find_windows(m, s, &s->tile[t], &WINDOW(t, 0));
		/* State and results of its rows. */
		x->live[s->tile[t].owner] += (size_t)((BPG_STATES + 1) * s->tile[t].strips * BPG_LANES) * sizeof(double);
		if (s->phase == BPG_PHASE_CHAIN)
			x->live[s->tile[t].owner] += (size_t)(s->tile[t].strips * BPG_LANES) * sizeof(float);
	}
	if (!x->st)
		bpg_zone_guests(x, count);
	if (!x->st && s->batch) {
		bpg_batch_plan(x, count);
	} else if (!x->st && s->iterations) {
		x->alpha = bpg_alpha_plan_new(x, count);
		for (int pass = s->from; !x->st && pass < s->to; pass++) {
			if (s->phase != BPG_PHASE_CHAIN || s->recompute)
				bpg_plan_backward(x, count, pass, -1);
			if (!x->st && s->phase == BPG_PHASE_WALK)
				bpg_alpha_store(x, count);
			else if (!x->st)
				bpg_alpha_forward(x, count, pass);
		}
		bpg_alpha_plan_free(x, x->alpha, count);
	} else if (!x->st) {
		bpg_plan_backward(x, count, 0, -1);
	}
	free(x->live);
	free(x->fetched);
	free(x->held);
	free(x->pending);
	free(x->relax);
	free(x->window);
	return x->st;
}

void bpg_wave_fini(struct bpg_wave *w)
{
	free(w->most_bytes);
	free(w->gathered);
	free(w->step);
	free(w->buffer);
	free(w->point);
	memset(w, 0, sizeof *w);
}

enum bpg_status bpg_stage_tile_bytes(struct bpg_ctx *ctx, struct bpg_model *m, const struct bpg_stage *s, size_t *bytes)
{
	struct bpg_stage two = *s; /* passes: the second is as any other */
	struct bpg_wave one = { 0 };
	enum bpg_status st = BPG_OK;

	two.from = 0;
	two.to = BPG_MIN(s->iterations + 1, 2);
	*bytes = 0;
	for (int t = 0; !st && t < s->tiles; t++) { /* windows differ from tile to tile */
		st = bpg_wave_plan(ctx, m, &two, t, 1, &one);
		for (int o = 0; !st && o < m->options.owners; o++) /* in zones it has several */
			*bytes = BPG_MAX(*bytes, BPG_MAX(one.most_bytes[o], bpg_tile_packing(m, &s->tile[t])));
	}
	bpg_wave_fini(&one);
	return st;
}

/* A wave's tiles in flight keep workers busy while others wait for panels. Ranks save memory: they have fewer. */
int bpg_wave_tiles(const struct bpg_model *m)
{
	bool dealt = m->options.ranks > 1 && m->placement != BPG_PLACEMENT_FSDP;
	int each = dealt && m->placement == BPG_PLACEMENT_ROWS ? 2 : 4;
	int tiles = m->options.wave > 0 ? (int)m->options.wave : each * BPG_MAX(m->options.workers > 0 ? m->options.workers : bpg_rt_workers(m->rt), 1);

	return dealt ? tiles * m->options.ranks : tiles;
}

enum bpg_status bpg_stage_wave_size(struct bpg_ctx *ctx, struct bpg_model *m, struct bpg_stage *s, int *tiles)
{
	int want = bpg_wave_tiles(m);
	size_t fixed = 0, tile = 0, slots = 0, limit = m->options.memory, *slot;

	*tiles = want;
	if (!limit)
		return BPG_OK;
	slot = bpg_calloc((size_t)m->options.owners, sizeof *slot);
	if (!slot)
		return bpg_nomem(ctx, "the plan of a wave");
	bpg_slot_bytes(m, s, slot);
	for (int o = 0; o < m->options.owners; o++) {
		fixed = BPG_MAX(fixed, m->fixed_bytes[o]);
		slots = BPG_MAX(slots, 2 * slot[o]);
	}
	free(slot);
	fixed += s->shared_bytes;
	BPG_TRY(bpg_stage_tile_bytes(ctx, m, s, &tile));
	if (fixed + tile > limit && s->iterations) {
		s->recompute = true;
		BPG_TRY(bpg_stage_tile_bytes(ctx, m, s, &tile));
	}
	m->least_bytes = BPG_MAX(m->least_bytes, fixed + tile);
	if (m->least_bytes > limit)
		m->dry = true; /* no more work: the rest is planned to know the least */
	else if (tile > slots) /* of the bytes of a tile that is alone in its wave */
		*tiles = (int)BPG_MIN((size_t)want, BPG_MAX((limit - fixed - slots) / (tile - slots), (size_t)1) * (size_t)m->options.owners);
	return BPG_OK;
}
