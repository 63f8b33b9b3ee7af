/* plan_zone.c - steps of a walk through a zone: rows go to the weights.
 *
 *   rows over y ──► owner 0: for each of its segments s            owner 1: the same, added on        ... ──► home
 *                   rows · row_s, relaxed by act_s, · col_s ──► sum ──────► sum
 *
 * Owners are visited in rising order, so that the sum over segments has one order whoever they are. What travels are the rows over
 * the zone's output, the sum over its input and the rows' state. A stay at an owner has a berth: it begins when the tile that had
 * the berth has left, so that an owner has no more guests than berths. Owners are visited upwards only, and a tile that goes home needs
 * no berth there: nobody waits for one that waits for it. */
#include "graph/plan_internal.h"
#include "graph/zones.h"

int bpg_step_owner(const struct bpg_stage *s, const struct bpg_wave *w, const struct bpg_step *p)
{
	int buffer = p->to >= 0 ? p->to : p->from;

	return buffer >= 0 ? w->buffer[buffer].owner : s->tile[p->tile].owner;
}

/* Berths of an owner. */
static int guests(const struct bpg_model *m)
{
	return BPG_MAX(bpg_rt_workers(m->rt), 2);
}

/* A tile on its way. */
struct trip {
	struct writer *x;
	const struct bpg_zone *z;
	int tile, at;             /* its owner, or where it stays */
	int rows, sum;            /* buffers, -1: none */
	bool staying, summed;
};

static void step(const struct trip *t, struct bpg_step s)
{
	s.tile = t->tile;
	bpg_plan_step(t->x, s);
}

/* A buffer's content goes to another one, over the same node. */
static int move(const struct trip *t, int from, int to)
{
	struct bpg_wave *w = t->x->w;
	int node = w->buffer[from].node;

	step(t, (struct bpg_step){ .kind = BPG_STEP_MOVE, .node = node, .from = from, .to = to });
	w->gathered[w->buffer[to].owner] += (int64_t)w->buffer[to].bytes;
	return to;
}

static void leave(const struct trip *t)
{
	step(t, (struct bpg_step){ .kind = BPG_STEP_LEAVE, .node = t->z->row, .k = (t->tile - t->x->first) % guests(t->x->m), .from = t->sum, .to = -1, .extra = { t->rows } });
}

/* To the next owner, with or without sums. */
static void go_to(struct trip *t, int owner)
{
	struct writer *x = t->x;
	struct trip before = *t;
	bool moved = owner != t->at;
	int input = x->m->node[t->z->col].src[0];
	bool ends = t->z->act >= 0 && bpg_stage_ends(x->m, x->s, t->z->act);

	if (moved)
		step(t, (struct bpg_step){ .kind = BPG_STEP_MOVE_STATE, .node = t->z->row, .from = -1, .to = -1, .extra = { t->at, owner } });
	t->at = owner;
	t->sum = ends ? -1 : bpg_plan_buffer_of(x, t->tile, input, owner, true);
	if (t->rows >= 0 && moved)
		t->rows = bpg_plan_buffer_of(x, t->tile, t->z->row, owner, true);
	if (x->st)
		return;
	step(t, (struct bpg_step){ .kind = BPG_STEP_ENTER, .node = t->z->row, .k = (t->tile - x->first) % guests(x->m), .from = -1, .to = t->sum, .extra = { t->rows, moved } });
	if (before.rows >= 0 && moved)
		move(t, before.rows, t->rows);
	if (before.sum >= 0)
		move(t, before.sum, t->sum);
	if (before.staying)
		leave(&before);
	if (before.rows >= 0 && moved)
		bpg_plan_free(x, t->tile, t->z->row, before.rows);
	if (before.sum >= 0)
		bpg_plan_free(x, t->tile, input, before.sum);
	t->staying = true;
}

static void go_home(struct trip *t)
{
	struct writer *x = t->x;
	int home = x->s->tile[t->tile].owner, input = x->m->node[t->z->col].src[0], sum = t->sum;

	if (home != t->at)
		step(t, (struct bpg_step){ .kind = BPG_STEP_MOVE_STATE, .node = t->z->row, .from = -1, .to = -1, .extra = { t->at, home } });
	if (sum >= 0) { /* a place of its own at home: the berth is left */
		int own = bpg_plan_buffer(x, t->tile, input);
		if (x->st)
			return;
		/* Not before the state has come: buffers of tiles that are far ahead would lie there empty. */
		step(t, (struct bpg_step){ .kind = BPG_STEP_ENTER, .node = t->z->row, .k = -1, .from = -1, .to = own, .extra = { -1 } });
		sum = move(t, sum, own);
	}
	leave(t);
	if (t->sum >= 0)
		bpg_plan_free(x, t->tile, input, t->sum);
	if (t->rows >= 0)
		bpg_plan_free(x, t->tile, t->z->row, t->rows);
	if (sum >= 0)
		bpg_plan_deliver(x, t->tile, input, sum);
}

static void product(const struct trip *t, const struct bpg_model_node *part, int from, int to, bool add)
{
	if (part->hop.kind == BPG_HOP_CONV) {
		step(t, (struct bpg_step){ .kind = BPG_STEP_CONV, .node = part->id, .from = from, .to = to, .extra = { -1, -1, 0, add } });
		return;
	}
	for (int p = 0; p < part->panels; p++)
		step(t, (struct bpg_step){ .kind = BPG_STEP_GEMM, .node = part->id, .panel = p, .from = from, .to = to, .extra = { 0, 0, 0, add } });
}

/* Rows over the hidden columns of a segment, in `hidden`, relaxed: their product goes to the sum. */
static void to_input(struct trip *t, int segment, int hidden, int sum)
{
	const struct bpg_model *m = t->x->m;
	const struct bpg_model_node *col = bpg_zone_part(m, &m->node[t->z->col], segment);

	if (!m->node[t->z->col].charged || m->node[t->z->col].id == t->x->s->node)
		step(t, (struct bpg_step){ .kind = BPG_STEP_TOLL, .node = col->id, .from = hidden, .to = -1 });
	product(t, col, hidden, sum, t->summed);
	t->summed = true;
}

static void through_segment(struct trip *t, int segment)
{
	struct writer *x = t->x;
	const struct bpg_model *m = x->m;
	const struct bpg_model_node *row = bpg_zone_part(m, &m->node[t->z->row], segment), *hidden = bpg_zone_hidden(m, t->z, segment);
	bool act = t->z->act >= 0, ends = act && bpg_stage_ends(m, x->s, t->z->act), relaxed = t->rows < 0 && act;
	int b = bpg_plan_buffer_of(x, t->tile, hidden->id, t->at, true);

	if (x->st)
		return;
	if (t->rows >= 0)
		product(t, row, t->rows, b, false);
	else
		step(t, (struct bpg_step){ .kind = BPG_STEP_ROWS, .node = row->id, .k = relaxed, .from = -1, .to = b });
	if (ends)
		step(t, (struct bpg_step){ .kind = BPG_STEP_CONCRETIZE, .node = hidden->id, .from = b, .to = -1 });
	else if (act && !relaxed)
		step(t, (struct bpg_step){ .kind = BPG_STEP_RELAX, .node = hidden->id, .from = b, .to = -1 });
	if (!ends)
		to_input(t, segment, b, t->sum);
	bpg_plan_free(x, t->tile, hidden->id, b);
}

void bpg_zone_walk(struct writer *x, int tile, const struct bpg_model_node *row, int buffer)
{
	struct trip t = { .x = x, .z = row->zone, .tile = tile, .at = x->s->tile[tile].owner, .rows = buffer, .sum = -1 };

	for (int s = 0; !x->st && s < t.z->segments; s++) {
		int owner = bpg_zone_owner(x->m, t.z, s);
		if (!t.staying || owner != t.at)
			go_to(&t, owner);
		through_segment(&t, s);
	}
	if (!x->st)
		go_home(&t);
}

/* ---- walks that start inside ---- */

bool bpg_zone_starts(const struct bpg_model *m, const struct bpg_stage *s)
{
	const struct bpg_model_node *v = s->node < 0 ? NULL : &m->node[s->node];

	return v && v->zone && (v->id == v->zone->row ? v->hop.kind == BPG_HOP_DENSE : v->id == v->zone->col && v->hop.kind == BPG_HOP_CONV);
}

/* Rows of a matrix at the end of a zone are its weights over the hidden columns, read part by part. Those of a convolution at the
 * beginning lie in one segment, whose owner is the tile's. */
void bpg_zone_start(struct writer *x, int tile)
{
	struct bpg_model_node *v = &x->m->node[x->s->node];
	struct trip t = { .x = x, .z = v->zone, .tile = tile };

	if (v->id == v->zone->row) {
		step(&t, (struct bpg_step){ .kind = BPG_STEP_STATE, .node = v->id, .from = -1, .to = -1 });
		bpg_zone_walk(x, tile, v, -1);
		return;
	}
	const struct bpg_model_node *part = bpg_zone_part(x->m, v, x->s->tile[tile].part);
	int hidden = bpg_plan_buffer(x, tile, part->id), sum = bpg_plan_buffer(x, tile, v->src[0]);
	step(&t, (struct bpg_step){ .kind = BPG_STEP_START, .node = part->id, .from = -1, .to = hidden });
	to_input(&t, part->segment, hidden, sum);
	bpg_plan_free(x, tile, part->id, hidden);
	bpg_plan_deliver(x, tile, v->src[0], sum);
}

/* ---- bytes ---- */

/* Of a tile's stay at an owner: rows, sum, the hidden rows of all of its segments, which may be there at once, and the state. */
static size_t stay_bytes(const struct writer *x, int tile, const struct bpg_zone *z, int owner)
{
	const struct bpg_model *m = x->m;
	const struct bpg_tile *t = &x->s->tile[tile];
	int input = m->node[z->col].src[0];
	int64_t hidden = 0;

	for (int s = 0; s < z->segments; s++) {
		const struct bpg_model_node *part = bpg_zone_hidden(m, z, s);
		if (bpg_zone_owner(m, z, s) == owner)
			hidden += bpg_columns_in(&part->columns, &WINDOW(tile, part->whole));
	}
	if (!hidden)
		return 0;
	int64_t columns = bpg_columns_in(&m->node[z->row].columns, &WINDOW(tile, z->row)) + bpg_columns_in(&m->node[input].columns, &WINDOW(tile, input)) + hidden;
	return (size_t)(t->strips * BPG_LANES) * ((size_t)columns * (t->wide ? sizeof(double) : sizeof(float)) + BPG_STATES * sizeof(double));
}

void bpg_zone_guests(struct writer *x, int count)
{
	const struct bpg_model *m = x->m;

	for (int o = 0; m->zones && o < m->options.owners; o++) {
		size_t most = 0;
		for (int i = 0; i < x->s->cone; i++) {
			const struct bpg_model_node *v = &m->node[x->s->visit[i]];
			for (int t = x->first; v->zone && (v->id == v->zone->row || v->id == v->zone->col) && t < x->first + count; t++)
				most = BPG_MAX(most, stay_bytes(x, t, v->zone, o));
		}
		/* One more than berths: what the one before held may go a moment later. */
		x->live[o] += (size_t)BPG_MIN(x->s->tiles, guests(m) + 1) * most;
	}
}
