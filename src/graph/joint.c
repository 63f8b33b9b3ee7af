/* joint.c - see joint.h.
 *
 * How a chain serves other stages: the bound of a row changes with the interval [l,u] of a neuron as its line does, at the point where
 * the chain meets it, times the row's coefficient. Summed over rows that is how much each row of that neuron counts:
 * its lower bound is the bound of a row, its upper one the negated bound of another. Where an interval or an earlier walk had the
 * better bound, derivatives pass as if the present walk's had been taken.
 *
 * Columns, tiles and sparse planes are those of the plain bounds. What is known only grows tighter, so they hold. */
#include "graph/joint.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "graph/crown.h"
#include "graph/lower.h"
#include "graph/panels.h"
#include "graph/tighten.h"

struct part {
	struct bpg_stage s;
	struct bpg_model_node *v; /* null: the rows asked */
	int size;                 /* tiles of a wave */
};

struct joint {
	struct bpg_ctx *ctx;
	struct bpg_model *m;
	struct bpg_arena *arena;
	struct part *part;        /* [parts] rising, the rows asked last */
	int parts;
	double **known;           /* [nodes] of nodes with nonlinear readers: [2][n], the best bounds */
	bool *moved;              /* [nodes] bounds or reference are not what they were when planes and intervals were made of them */
	size_t *others;           /* [owners] bytes held beside a wave's own part */
};

/* ---- stages ---- */

static bool has_nonlinear_reader(const struct bpg_model *m, const struct bpg_model_node *v)
{
	for (int c = 0; c < v->consumers; c++) {
		enum bpg_hop_kind kind = m->node[v->consumer[c]].hop.kind;
		if (kind == BPG_HOP_UNARY || kind == BPG_HOP_PLANES)
			return true;
	}
	return false;
}

/* Every element of a row's tile has both sides, and what it is known by. */
static void set_known(const struct bpg_model_node *v, struct bpg_stage *s)
{
	for (int t = 0; t < s->tiles; t++) {
		struct bpg_tile *tile = &s->tile[t];
		for (int i = 0; i < tile->count; i++)
			for (int side = 0; side < 2; side++) {
				int row = bpg_tile_row(tile, i, side);
				double b = side ? -bpg_field(v, BPG_UPPER)[tile->element[i]] : bpg_field(v, BPG_LOWER)[tile->element[i]];
				tile->result[row] = tile->plain[row] = tile->before[row] = b;
			}
	}
	s->bounded = true;
}

static enum bpg_status add_stage(struct joint *x, struct bpg_model_node *v)
{
	struct bpg_model *m = x->m;
	size_t n = (size_t)v->columns.n + 1;
	int64_t *element = bpg_arena_alloc(x->arena, n, sizeof *element);
	int32_t *segment = bpg_arena_alloc(x->arena, n, sizeof *segment);
	struct part *p = &x->part[x->parts];

	x->known[v->id] = bpg_arena_alloc(x->arena, 2 * n, sizeof **x->known);
	if (!element || !segment || !x->known[v->id])
		return bpg_nomem(x->ctx, "the rows of a node");
	memcpy(x->known[v->id], bpg_field(v, BPG_LOWER), (n - 1) * sizeof(double));
	memcpy(x->known[v->id] + n - 1, bpg_field(v, BPG_UPPER), (n - 1) * sizeof(double));
	int64_t count = v->exact ? 0 : bpg_wanted(m, v, 0, element);
	if (!count)
		return BPG_OK;
	BPG_TRY(bpg_stage_rows(x->ctx, m, x->arena, v->id, element, segment, count, false, &p->s));
	if (!p->s.iterations)
		return BPG_OK; /* nothing to choose on the way */
	p->v = v;
	p->s.joint = true;
	set_known(v, &p->s);
	v->by_bounds_rank = -1;
	v->by_bounds = bpg_arena_alloc(m->arena, 4 * n, sizeof *v->by_bounds);
	if (v->by_bounds && !m->dry)
		v->by_bounds_t = bpg_tensor_new(m->rt, 4 * (size_t)v->columns.n * sizeof *v->by_bounds, v->by_bounds, 0);
	if (!v->by_bounds || (!m->dry && !v->by_bounds_t))
		return bpg_nomem(x->ctx, "the rows of a node");
	bpg_model_vectors(m, 4 * (size_t)v->columns.n * sizeof *v->by_bounds);
	x->parts++;
	return BPG_OK;
}

/* ---- memory ---- */

/* What tiles of all parts but `own` hold: parameters, and where chains are still to come, what walks have stored. */
static void count_others(const struct joint *x, const struct part *own)
{
	for (int o = 0; o < x->m->options.owners; o++)
		x->others[o] = 0;
	for (int i = 0; i < x->parts; i++)
		x->others[0] += &x->part[i] == own ? 0 : x->part[i].s.shared_bytes;
	for (int i = 0; i < x->parts; i++)
		for (int t = 0; &x->part[i] != own && t < x->part[i].s.tiles; t++) {
			const struct bpg_tile *tile = &x->part[i].s.tile[t];
			x->others[tile->owner] += bpg_tile_lasting(x->m, tile) + bpg_tile_stored(x->m, tile);
		}
}

/* Bytes of all parameters, and of all that walks store; of the largest tile while it is walked, or has its chain. */
static enum bpg_status count_bytes(struct joint *x, bool recompute, size_t *last, size_t *tile)
{
	*last = *tile = 0;
	for (int i = 0; i < x->parts; i++) {
		struct part *p = &x->part[i];
		enum bpg_phase phase = p->v ? BPG_PHASE_WALK : BPG_PHASE_WHOLE, end = p->v ? BPG_PHASE_CHAIN : BPG_PHASE_WHOLE;
		p->s.recompute = recompute;
		*last += p->s.shared_bytes;
		for (; phase <= end; phase++) {
			size_t bytes;
			p->s.phase = phase;
			BPG_TRY(bpg_stage_tile_bytes(x->ctx, x->m, &p->s, &bytes));
			*tile = BPG_MAX(*tile, bytes);
		}
		for (int t = 0; t < p->s.tiles; t++)
			*last += bpg_tile_lasting(x->m, &p->s.tile[t]) + bpg_tile_stored(x->m, &p->s.tile[t]);
	}
	return BPG_OK;
}

/* Tiles in flight, and whether coefficients are kept from walk to chain. */
static enum bpg_status set_waves(struct joint *x)
{
	struct bpg_model *m = x->m;
	int want = bpg_wave_tiles(m);
	size_t fixed = 0, last, tile, limit = m->options.memory;
	bool recompute = false;

	if (limit) {
		for (int o = 0; o < m->options.owners; o++)
			fixed += m->fixed_bytes[o];
		BPG_TRY(count_bytes(x, false, &last, &tile));
		recompute = fixed + last + tile > limit;
		if (recompute)
			BPG_TRY(count_bytes(x, true, &last, &tile));
		m->least_bytes = BPG_MAX(m->least_bytes, fixed + last + tile);
		if (m->least_bytes > limit)
			m->dry = true;
		else
			want = (int)BPG_MIN((size_t)want, BPG_MAX((limit - fixed - last) / BPG_MAX(tile, (size_t)1), (size_t)1));
	}
	for (int i = 0; i < x->parts; i++) {
		x->part[i].size = want;
		m->kept_stages += !recompute;
		m->recomputed_stages += recompute;
	}
	return BPG_OK;
}

/* ---- an iteration ---- */

static enum bpg_status run_part(struct joint *x, struct part *p, enum bpg_phase phase, int pass)
{
	p->s.phase = phase;
	p->s.from = pass;
	p->s.to = pass + 1;
	count_others(x, p);
	enum bpg_status st = bpg_round_run(x->ctx, x->m, &p->s, p->size, x->others);
	for (int t = 0; phase == BPG_PHASE_CHAIN && t < p->s.tiles; t++)
		for (int v = 0; p->s.tile[t].lasting && v < x->m->nodes; v++)
			p->s.tile[t].lasting[v].stored = 0;
	return st;
}

/* Who is stable needs no more. */
static enum bpg_status set_met(struct joint *x, struct part *p)
{
	size_t n = (size_t)p->v->columns.n;
	int64_t *element = bpg_calloc(n + 1, sizeof *element);
	unsigned char *wanted = bpg_calloc(n + 1, 1);

	if (element && wanted) {
		for (int64_t i = bpg_wanted(x->m, p->v, 0, element) - 1; i >= 0; i--)
			wanted[element[i]] = 1;
		for (int t = 0; t < p->s.tiles; t++)
			for (int i = 0; i < p->s.tile[t].count; i++)
				p->s.tile[t].met[i] = !wanted[p->s.tile[t].element[i]];
	}
	free(element);
	free(wanted);
	return element && wanted ? BPG_OK : bpg_nomem(x->ctx, "the rows of a node");
}

/* Bounds of one node by what is known now of those before it; p: its rows, null: none. */
static enum bpg_status walk_node(struct joint *x, struct bpg_model_node *v, struct part *p, int pass)
{
	struct bpg_model *m = x->m;
	double *known = x->known[v->id];
	size_t n = (size_t)v->columns.n;
	bool moved = false;

	for (int k = 0; k < v->hop.nin; k++)
		moved |= x->moved[v->src[k]];
	if (moved) {
		BPG_TRY(bpg_lower_interval(x->ctx, m, v));
		if (v->hop.kind == BPG_HOP_UNARY)
			BPG_TRY(bpg_lower_planes(x->ctx, m, v));
		v->radii = v->hop.under = 0;
	}
	x->moved[v->id] = moved;
	if (!known)
		return BPG_OK;
	if (moved) {
		BPG_TRY(bpg_model_wait(x->ctx, m));
		BPG_TRY(bpg_tighten_by(x->ctx, m, v, known));
	}
	if (p) {
		BPG_TRY(bpg_lower_panels(x->ctx, m, &p->s));
		BPG_TRY(run_part(x, p, BPG_PHASE_WALK, pass));
		if (!m->dry) {
			BPG_TRY(bpg_tighten(x->ctx, m, v, &p->s));
			BPG_TRY(set_met(x, p));
		}
	}
	const double *l = bpg_field(v, BPG_LOWER), *u = bpg_field(v, BPG_UPPER);
	x->moved[v->id] = moved || memcmp(known, l, n * sizeof *l) || memcmp(known + n, u, n * sizeof *u);
	memcpy(known, l, n * sizeof *l);
	memcpy(known + n, u, n * sizeof *u);
	return BPG_OK;
}

static enum bpg_status iterate(struct joint *x, int pass, bpg_look_fn *look, void *arg)
{
	struct bpg_model *m = x->m;
	struct part *asked = &x->part[x->parts - 1];
	int at = 0;

	for (int v = 0; v < m->nodes; v++) {
		struct part *p = at < x->parts - 1 && x->part[at].v->id == v ? &x->part[at++] : NULL;
		BPG_TRY(walk_node(x, &m->node[v], p && p->s.tiles ? p : NULL, pass));
	}
	for (int i = 0; !m->dry && i < x->parts - 1; i++)
		memset(x->part[i].v->by_bounds, 0, 4 * (size_t)x->part[i].v->columns.n * sizeof(double)), x->part[i].v->by_bounds_rank = -1;
	BPG_TRY(bpg_lower_panels(x->ctx, m, &asked->s));
	BPG_TRY(run_part(x, asked, BPG_PHASE_WHOLE, pass));
	if (!m->dry)
		BPG_TRY(look(x->ctx, m, &asked->s, arg));
	for (int i = x->parts - 1; pass < asked->s.iterations && i >= 0; i--) {
		if (i < x->parts - 1)
			BPG_TRY(run_part(x, &x->part[i], BPG_PHASE_CHAIN, pass));
		BPG_TRY(bpg_lower_shared_step(m, &x->part[i].s, pass));
	}
	return bpg_model_wait(x->ctx, m);
}

static enum bpg_status run(struct joint *x, bpg_look_fn *look, void *arg)
{
	struct bpg_stage *asked = &x->part[x->parts - 1].s;
	int end = bpg_round_end(x->m, asked);

	for (int pass = 0; asked->tiles && pass <= asked->iterations; pass++) {
		BPG_TRY(iterate(x, pass, look, arg));
		if (pass + 1 < end || x->m->dry)
			continue;
		if (!pass)
			bpg_round_plain(asked);
		for (int i = 0; pass < asked->iterations && i < x->parts; i++) {
			count_others(x, &x->part[i]);
			BPG_TRY(bpg_round_pack(x->ctx, x->m, &x->part[i].s, i == x->parts - 1, x->others));
		}
		asked->from = pass + 1;
		end = bpg_round_end(x->m, asked);
	}
	return BPG_OK;
}

enum bpg_status bpg_joint_run(struct bpg_ctx *ctx, struct bpg_model *m, struct bpg_stage *question, bpg_look_fn *look, void *arg)
{
	struct joint x = { .ctx = ctx, .m = m, .arena = question->arena };
	enum bpg_status st = BPG_OK;
	size_t nodes = (size_t)m->nodes;

	x.part = bpg_arena_alloc(x.arena, nodes + 1, sizeof *x.part);
	x.known = bpg_arena_alloc(x.arena, nodes + 1, sizeof *x.known);
	x.moved = bpg_arena_alloc(x.arena, nodes + 1, sizeof *x.moved);
	x.others = bpg_arena_alloc(x.arena, (size_t)m->options.owners, sizeof *x.others);
	if (!x.part || !x.known || !x.moved || !x.others)
		return bpg_nomem(ctx, "the stages of the joint objective");
	for (int v = 0; !st && v < m->nodes; v++)
		if (m->node[v].hop.kind != BPG_HOP_INPUT && has_nonlinear_reader(m, &m->node[v]))
			st = add_stage(&x, &m->node[v]);
	x.part[x.parts].s = *question;
	x.part[x.parts].s.joint = true;
	x.parts++;
	for (int i = 0; !st && i < x.parts; i++) {
		st = bpg_lower_panels(ctx, m, &x.part[i].s);
		if (!st)
			st = bpg_lower_shared(ctx, m, &x.part[i].s);
	}
	if (!st)
		st = set_waves(&x);
	if (!st)
		st = run(&x, look, arg);
	if (st)
		bpg_model_wait(ctx, m); /* tasks point into the arena */
	for (int i = 0; i < x.parts; i++) {
		bpg_lower_leave(m, &x.part[i].s);
		bpg_lower_unshare(m, &x.part[i].s);
	}
	for (int v = 0; v < m->nodes; v++) { /* their home goes with the arena of the question or of the model */
		bpg_tensor_release(m->node[v].by_bounds_t);
		m->node[v].by_bounds_t = NULL;
	}
	return st;
}
