/* rounds.c - see rounds.h. */
#include "graph/rounds.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "graph/dot.h"
#include "graph/estimate.h"
#include "graph/lower.h"
#include "graph/panels.h"
#include "rt/comm.h"

/* Iterations of a round where nobody's patience says otherwise: a deadline is looked at in between. */
enum { ROUND = 10 };
static const double little = 0.01; /* share of all that was gained */

static void say(const struct bpg_model *m, const struct bpg_stage *s)
{
	struct bpg_progress_point p = { .node = s->node < 0 ? m->nodes : s->node + 1, .nodes = m->nodes, .rows = m->rows, .iteration = s->from,
		                        .iterations = s->iterations, .worst = INFINITY };

	if (!m->options.progress)
		return;
	for (int t = 0; s->from && t < s->tiles; t++)
		for (int i = 0; i < s->tile[t].count; i++)
			for (int side = 0; side < 2; side++) {
				int row = bpg_tile_row(&s->tile[t], i, side);
				if (row >= 0 && s->tile[t].before[row] < p.worst)
					p.worst = s->tile[t].before[row];
			}
	m->options.progress(m->options.progress_arg, &p);
}

/* Adds a wave to what the plan says: bytes, work, traffic. `beside`: parameters of tiles that are not in it. */
static void account(struct bpg_model *m, const struct bpg_stage *s, const struct bpg_wave *w, const size_t *beside)
{
	bool alike = m->placement == BPG_PLACEMENT_FSDP && m->options.ranks > 1; /* each rank has planned for itself */
	for (int o = 0; o < m->options.owners; o++) {
		int as = alike ? m->options.rank : o;
		m->most_bytes[o] = BPG_MAX(m->most_bytes[o], m->fixed_bytes[o] + w->most_bytes[as] + beside[as] + (o ? 0 : s->shared_bytes));
		m->traffic[o] += w->gathered[as];
	}
	for (int64_t i = 0; i < w->steps; i++) {
		m->flops += bpg_step_flops(m, s, w, &w->step[i]);
		m->planned += w->step[i].kind != BPG_STEP_FREE;
	}
	size_t alpha = w->alpha_bytes + s->shared_bytes;
	for (int o = 0; o < m->options.owners; o++)
		alpha += beside[o];
	m->alpha_bytes = BPG_MAX(m->alpha_bytes, alpha);
}

/* Packing moves one node after the other. */
static void account_packing(struct bpg_model *m, const struct bpg_stage *s, const size_t *others)
{
	size_t *bytes = bpg_calloc((size_t)m->options.owners, sizeof *bytes), all = 0;

	for (int o = 0; bytes && others && o < m->options.owners; o++)
		bytes[o] = others[o];
	for (int t = 0; bytes && t < s->tiles; t++)
		bytes[s->tile[t].owner] += bpg_tile_packing(m, &s->tile[t]);
	for (int o = 0; bytes && o < m->options.owners; o++)
		m->most_bytes[o] = BPG_MAX(m->most_bytes[o], m->fixed_bytes[o] + bytes[o]), all += bytes[o];
	m->alpha_bytes = BPG_MAX(m->alpha_bytes, all);
	free(bytes);
}

/* ---- one round ---- */

static enum bpg_status results_new(struct bpg_ctx *ctx, struct bpg_model *m, struct bpg_stage *s)
{
	for (int t = 0; !m->dry && t < s->tiles; t++) {
		struct bpg_tile *tile = &s->tile[t];
		size_t rows = (size_t)tile->strips * BPG_LANES;
		tile->result_t = bpg_tensor_new(m->rt, rows * sizeof *tile->result, tile->result, tile->owner);
		if (tile->keep)
			tile->keep_t = bpg_tensor_new(m->rt, rows * (size_t)(m->net->in_count + 1) * sizeof *tile->keep, tile->keep, tile->owner);
		if (!tile->result_t || (tile->keep && !tile->keep_t))
			return bpg_nomem(ctx, "a tile");
	}
	return BPG_OK;
}

/* All ranks decide by all results. */
static enum bpg_status share_results(struct bpg_model *m, const struct bpg_stage *s, int first, int end)
{
	if (m->options.ranks < 2 || m->placement == BPG_PLACEMENT_FSDP) /* there each has them */
		return BPG_OK;
	for (int t = first; t < end; t++) {
		const struct bpg_tile *tile = &s->tile[t];
		size_t rows = (size_t)(tile->strips * BPG_LANES);
		for (int r = 0; r < m->options.ranks; r++) {
			BPG_TRY(bpg_rt_transfer(m->rt, tile->result_t, rows * sizeof *tile->result, tile->owner, r, s->node));
			if (tile->keep)
				BPG_TRY(bpg_rt_transfer(m->rt, tile->keep_t, rows * (size_t)(m->net->in_count + 1) * sizeof *tile->keep, tile->owner, r, s->node));
		}
	}
	return BPG_OK;
}

enum bpg_status bpg_round_run(struct bpg_ctx *ctx, struct bpg_model *m, struct bpg_stage *s, int size, const size_t *others)
{
	struct bpg_wave wave = { 0 };
	bool bounds = s->phase != BPG_PHASE_CHAIN;
	size_t *beside = bpg_calloc((size_t)m->options.owners, sizeof *beside);
	enum bpg_status st = !beside ? bpg_nomem(ctx, "the plan of a wave") : bounds ? results_new(ctx, m, s) : BPG_OK;

	for (int t = 0; !st && t < s->tiles; t += size) {
		int end = BPG_MIN(t + size, s->tiles);

		st = bpg_wave_plan(ctx, m, s, t, end - t, &wave);
		if (st)
			break;
		for (int o = 0; o < m->options.owners; o++)
			beside[o] = others ? others[o] : 0;
		for (int i = 0; i < s->tiles; i++)
			if (i < t || i >= end)
				beside[s->tile[i].owner] += bpg_tile_lasting(m, &s->tile[i]) + (s->joint ? bpg_tile_stored(m, &s->tile[i]) : 0);
		account(m, s, &wave, beside);
		bpg_estimate_wave(m->estimate, m, s, &wave);
		if (m->dot)
			bpg_wave_dot(m, s, &wave, m->dot);
		if (!m->dry)
			st = bpg_lower_wave(ctx, m, s, &wave);
		if (bounds)
			bpg_estimate_results(m->estimate, m, s, t, end);
		if (!m->dry && !st && bounds)
			st = share_results(m, s, t, end);
		if (!st && m->options.memory) /* tiles of the next wave would begin beside those of this one */
			st = bpg_model_wait(ctx, m);
		for (int i = t; bounds && i < end; i++)
			m->rows += (int64_t)(s->to - s->from) * s->tile[i].count * (1 + (s->tile[i].sides == 3));
		if (bounds)
			say(m, s);
	}
	enum bpg_status waited = bounds || st ? bpg_model_wait(ctx, m) : BPG_OK;
	for (int t = 0; t < s->tiles; t++) {
		bpg_tensor_release(s->tile[t].result_t);
		bpg_tensor_release(s->tile[t].keep_t);
		s->tile[t].result_t = s->tile[t].keep_t = NULL;
	}
	bpg_wave_fini(&wave);
	free(beside);
	return waited ? waited : st;
}

/* ---- who leaves ---- */

/* Nothing worth its time came in this round. */
static bool stopped(const struct bpg_tile *t, int row)
{
	if (row < 0)
		return true;
	double all = t->result[row] - t->plain[row], now = t->result[row] - t->before[row];
	return !(now > little * all || all == INFINITY);
}

/* Marks who leaves in met[]; true when anyone does. gains: those who gain no more leave, too. */
static bool anyone_leaves(struct bpg_model *m, struct bpg_stage *s, bool gains)
{
	bool any = false, counted = gains && (s->from || s->bounded);

	for (int t = 0; t < s->tiles; t++) {
		struct bpg_tile *tile = &s->tile[t];
		for (int i = 0; i < tile->count; i++) {
			if (m->options.patience && counted && stopped(tile, bpg_tile_row(tile, i, false)) && stopped(tile, bpg_tile_row(tile, i, true)))
				tile->met[i] = 1;
			any |= tile->met[i] != 0;
		}
		memcpy(tile->before, tile->result, (size_t)(tile->strips * BPG_LANES) * sizeof *tile->before);
	}
	return any;
}

/* ---- rounds ---- */

int bpg_round_end(const struct bpg_model *m, const struct bpg_stage *s)
{
	int length = m->options.patience > 0 ? BPG_MIN(m->options.patience, ROUND) : ROUND, passes = s->iterations + 1;

	if (!s->iterations)
		return 1;
	/* Gains are counted from a plain pass, here if it has not been. The last pass only bounds, and ends a round. */
	int to = s->from || s->bounded ? s->from + length : 1;
	return to >= s->iterations ? passes : to;
}

void bpg_round_plain(struct bpg_stage *s)
{
	for (int t = 0; t < s->tiles; t++)
		memcpy(s->tile[t].plain, s->tile[t].result, (size_t)(s->tile[t].strips * BPG_LANES) * sizeof *s->tile[t].plain);
}

enum bpg_status bpg_round_pack(struct bpg_ctx *ctx, struct bpg_model *m, struct bpg_stage *s, bool gains, const size_t *others)
{
	struct bpg_stage next;

	if (!anyone_leaves(m, s, gains))
		return BPG_OK;
	account_packing(m, s, others);
	enum bpg_status st = bpg_stage_repack(ctx, m, s, &next);
	if (!st)
		st = bpg_lower_move(ctx, m, s, &next);
	bpg_lower_leave(m, s);
	if (st) /* half is there, half here */
		bpg_lower_leave(m, &next);
	s->tile = next.tile;
	s->tiles = next.tiles;
	return st;
}

/* Passes [from, to). Shared parameters have a step when all tiles have had theirs. */
static enum bpg_status run_passes(struct bpg_ctx *ctx, struct bpg_model *m, struct bpg_stage *s, int size)
{
	if (!s->shared)
		return bpg_round_run(ctx, m, s, size, NULL);
	struct bpg_stage one = *s;
	enum bpg_status st = BPG_OK;

	for (int pass = s->from; !st && pass < s->to; pass++) {
		one.from = pass;
		one.to = pass + 1;
		st = bpg_round_run(ctx, m, &one, size, NULL);
		if (!st && pass < s->iterations)
			st = bpg_lower_shared_step(m, s, pass);
	}
	return st;
}

static enum bpg_status run_tiles(struct bpg_ctx *ctx, struct bpg_model *m, struct bpg_stage *s, int size, bpg_look_fn *look, void *arg)
{
	struct bpg_stage now = *s;
	enum bpg_status st = BPG_OK;

	for (now.from = 0; !st && now.tiles && now.from <= now.iterations; now.from = now.to) {
		now.to = bpg_round_end(m, &now);
		st = run_passes(ctx, m, &now, size);
		if (m->dry)
			continue;
		if (!st)
			st = look(ctx, m, &now, arg);
		if (st || now.to > now.iterations)
			continue;
		if (!now.from && !now.bounded)
			bpg_round_plain(&now);
		st = bpg_round_pack(ctx, m, &now, true, NULL);
	}
	bpg_lower_leave(m, &now);
	if (st)
		bpg_model_wait(ctx, m); /* tasks point into the arena */
	return st;
}

enum bpg_status bpg_stage_run(struct bpg_ctx *ctx, struct bpg_model *m, struct bpg_stage *s, bpg_look_fn *look, void *arg)
{
	int size = 1;
	enum bpg_status st = bpg_lower_panels(ctx, m, s);

	if (!st)
		st = bpg_lower_shared(ctx, m, s);
	if (!st)
		st = bpg_stage_wave_size(ctx, m, s, &size);
	m->kept_stages += s->iterations && !s->recompute;
	m->recomputed_stages += s->recompute;
	int together = m->options.memory && s->iterations && !s->shared ? size : s->tiles;
	for (int t = 0; !st && t < s->tiles; t += together) {
		struct bpg_stage some = *s;
		some.tile = s->tile + t;
		some.tiles = BPG_MIN(together, s->tiles - t);
		st = run_tiles(ctx, m, &some, size, look, arg);
	}
	bpg_lower_unshare(m, s);
	bpg_slots_fini(&m->slots); /* those of the next stage may be of another size; all tasks have been waited for */
	return st;
}
