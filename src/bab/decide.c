/* decide.c - see decide.h. Disjuncts that share a box share one propagation. */
#include "bab/decide.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bab/attack.h"
#include "bab/checkpoint.h"
#include "bab/questions.h"
#include "bab/search.h"
#include "bab/spill.h"
#include "graph/crown.h"
#include "graph/fill.h"

static bool box_empty(const struct bpg_box *b)
{
	for (int64_t i = 0; i < b->n; i++)
		if (b->lo[i] > b->up[i])
			return true;
	return false;
}

/* All disjuncts first .. last-1 have this box. open[0..*opens): those that are not refuted. The model is the caller's; the region is
 * part of it. */
static enum bpg_status bound_box(struct bpg_decide *x, int64_t first, int64_t last, double *lower, double *upper, struct bpg_region *region,
                                 int32_t *open, int *opens, struct bpg_model **model)
{
	const struct bpg_disjunct *d = &x->spec->disjunct[first];
	struct bpg_model *m = NULL;
	int64_t rows = 0, at = 0;
	enum bpg_status st = BPG_OK;

	bpg_model_free(*model);
	*model = NULL;
	*region = (struct bpg_region){ .n = d->box->n, .lo = d->box->lo, .up = d->box->up };
	*opens = 0;
	if (box_empty(d->box))
		return BPG_OK;
	if (!d->rows) {
		open[(*opens)++] = (int32_t)first;
		return BPG_OK;
	}
	for (int64_t i = first; i < last; i++)
		rows += bpg_questions(&x->spec->disjunct[i]);
	struct bpg_question_row *row = bpg_calloc((size_t)rows + 1, sizeof *row);
	double *lo = bpg_calloc((size_t)(2 * rows) + 1, sizeof *lo), *up = lo + rows;
	struct bpg_arena *arena = bpg_arena_new();
	if (!row || !lo || !arena)
		BPG_TRY_TO(bpg_nomem(x->ctx, "the rows of the property"), out);
	for (int64_t i = first; i < last; at += bpg_questions(d), i++) {
		d = &x->spec->disjunct[i];
		if (!bpg_questions_ask(arena, d, row + at))
			BPG_TRY_TO(bpg_nomem(x->ctx, "the rows of the property"), out);
	}
	BPG_TRY_TO(bpg_model_new(x->ctx, x->net, x->rt, region, &x->bound, &m), out);
	m->dot = x->dot;
	BPG_TRY_TO(bpg_bounds(x->ctx, m, row, rows, lo, up), out);
	at = 0;
	for (int64_t i = first; i < last; at += bpg_questions(d), i++) {
		d = &x->spec->disjunct[i];
		memcpy(lower, lo + at, (size_t)d->rows * sizeof *lower);
		memcpy(upper, up + at, (size_t)d->rows * sizeof *upper);
		lower += d->rows, upper += d->rows;
		if (!bpg_questions_refute(d, lo + at))
			open[(*opens)++] = (int32_t)i;
	}
	st = bpg_result_fill(x->ctx, x->result, m, x->layer_bounds);
out:
	*model = m;
	bpg_arena_free(arena);
	free(lo);
	free(row);
	return st;
}

static void sat(struct bpg_decide *x, const struct bpg_witness *w)
{
	x->result->verdict = BPG_VERDICT_SAT;
	x->result->witness_in = w->x;
	x->result->witness_out = w->y;
}

/* A decision that is saved and gone on with. */
struct saved {
	struct bpg_saver *saver;
	struct bpg_spill *spill;  /* null: all domains stay in memory */
	struct bpg_position at;
	struct bpg_resume from;
	bool cut;                 /* the attack had not time enough */
	uint64_t searches;        /* begun */
};

/* Points are tried for a share of the time before bounds and, where it was too short, for as much again on what bounds leave open. In
 * step time decides nothing. */
static const double attack_share = 0.1, attack_seconds = 3;

/* All go on with what the first has found. */
static enum bpg_status share_attack(struct bpg_decide *x, enum bpg_status st, struct bpg_witness *w, bool *cut)
{
	struct {
		int st;
		bool found, unsure, cut;
	} told = { st, w->found, w->unsure, *cut };

	if (!x->share(&told, sizeof told))
		return st ? st : bpg_fail(x->ctx, BPG_ECANCELLED, "stopped");
	*w = (struct bpg_witness){ told.found, told.unsure, w->x, w->y };
	*cut = told.cut;
	if (told.st)
		return x->follows ? bpg_fail(x->ctx, (enum bpg_status)told.st, "stopped") : st;
	if (!w->found)
		return BPG_OK;
	if (x->follows) {
		w->x = bpg_arena_alloc(x->result->arena, (size_t)x->net->in_count + 1, sizeof *w->x);
		w->y = bpg_arena_alloc(x->result->arena, (size_t)x->net->out_count + 1, sizeof *w->y);
		if (!w->x || !w->y)
			return bpg_nomem(x->ctx, "the witness");
	}
	x->share(w->x, (size_t)x->net->in_count * sizeof *w->x);
	x->share(w->y, (size_t)x->net->out_count * sizeof *w->y);
	return BPG_OK;
}

static enum bpg_status attack(struct bpg_decide *x, const int32_t *disjunct, int64_t disjuncts, uint64_t seed, struct saved *s)
{
	struct bpg_attack_plan plan = { .net = x->net, .spec = x->spec, .rt = x->rt, .seed = seed, .disjunct = disjunct, .disjuncts = disjuncts };
	struct bpg_witness w = { .found = false };
	double now = bpg_now();

	if (!x->synchronous)
		plan.until = now + (x->deadline > 0 ? BPG_MAX(attack_share * (x->deadline - now), 0) : attack_seconds);
	enum bpg_status st = x->follows ? BPG_OK : bpg_attack(x->ctx, &plan, x->result->arena, &w, &s->cut);
	if (x->share)
		st = share_attack(x, st, &w, &s->cut);
	x->result->seconds.search += bpg_now() - now;
	s->at.unsure |= w.unsure;
	if (!st && w.found)
		sat(x, &w);
	return st;
}

enum { FRONTIER_SHARE = 4 };      /* of --memory: one part in so many is for domains that wait */

/* What bounds of the whole box leave open is searched part by part. */
static enum bpg_status search_group(struct bpg_decide *x, struct saved *saved, struct bpg_model *root, const int32_t *open, int *opens)
{
	struct bpg_search s = { .net = x->net, .spec = x->spec, .rt = x->rt, .bound = x->bound, .branching = x->branching, .batch = x->batch,
		                .synchronous = x->synchronous || (x->share && x->groups == 1), /* ranks in step look at no clock */
		                .progress = x->search_progress, .progress_arg = x->search_progress_arg, .domains = x->result->domains,
		                .saver = saved->saver, .resume = &saved->from.search, .spill = saved->spill,
		                .group = x->group, .groups = x->groups, .number = saved->searches++ };
	enum bpg_search_end end;
	double start = bpg_now();

	if (x->groups > 1) {
		bpg_options_alone(&s.bound);
		if (root)
			bpg_model_alone(root);
	}
	if (saved->spill) /* bounds keep what they need at least */
		s.frontier_bytes = BPG_MIN(x->bound.memory / FRONTIER_SHARE,
		                           x->bound.memory - BPG_MIN(root ? root->least_bytes : 0, x->bound.memory));
	enum bpg_status st = bpg_search_box(x->ctx, &s, root, open, *opens, x->result->arena, &end);

	x->result->seconds.search += bpg_now() - start;
	x->result->domains = s.domains;
	x->result->moved += s.moved;
	x->result->frontier_bytes = BPG_MAX(x->result->frontier_bytes, (int64_t)s.frontier_peak);
	x->result->tasks += s.tasks;
	if (st)
		return st;
	if (end == BPG_SEARCH_FOUND)
		sat(x, &s.witness);
	else if (end == BPG_SEARCH_PROVED && x->bound.slack)
		*opens = 0;
	return BPG_OK;
}

/* Plain bounds first; where they leave the question open and optimised ones may be had, those; then the search. */
static enum bpg_status decide_group(struct bpg_decide *x, struct saved *saved, int64_t first, int64_t last, double *lower, double *upper, bool *all)
{
	int asked = x->bound.iterations, opens;
	int32_t *open = bpg_calloc((size_t)(last - first) + 1, sizeof *open);
	bool rows = x->spec->disjunct[first].rows > 0;
	struct bpg_model *model = NULL;
	struct bpg_region region;
	enum bpg_status st;

	if (!open)
		return bpg_nomem(x->ctx, "the rows of the property");
	if (x->then_iterations)
		x->bound.iterations = 0;
	st = bound_box(x, first, last, lower, upper, &region, open, &opens, &model);
	if (!st && opens && x->then_iterations && rows) {
		x->bound.iterations = x->then_iterations;
		st = bound_box(x, first, last, lower, upper, &region, open, &opens, &model);
	}
	x->bound.iterations = asked;
	if (!st && opens && saved->cut)
		st = attack(x, open, opens, x->seed + 1, saved);
	if (!st && opens && x->search && rows && x->result->verdict != BPG_VERDICT_SAT)
		st = search_group(x, saved, model, open, &opens);
	*all = *all && !opens;
	bpg_model_free(model);
	free(open);
	return st;
}

static void drop_search(struct saved *s)
{
	bpg_saver_search(s->saver, NULL);
	bpg_snapshot_free(s->from.search);
	s->from.search = NULL;
}

/* Boxes from the first that is not settled. */
static enum bpg_status decide_from(struct bpg_decide *x, struct saved *saved, double *lower, double *upper)
{
	struct bpg_position *at = &saved->at;

	for (int64_t j; at->first < x->spec->disjuncts; at->first = j) {
		const struct bpg_box *box = x->spec->disjunct[at->first].box;
		bool all = at->all;
		int64_t rows = 0;
		for (j = at->first; j < x->spec->disjuncts && x->spec->disjunct[j].box == box; j++)
			rows += x->spec->disjunct[j].rows;
		enum bpg_status st = decide_group(x, saved, at->first, j, lower + at->rows, upper + at->rows, &all);
		if (!st || x->result->verdict == BPG_VERDICT_SAT)
			drop_search(saved); /* of the first box only */
		BPG_TRY(st);
		if (x->result->verdict == BPG_VERDICT_SAT)
			return BPG_OK;
		at->all = all;
		at->rows += rows;
		at->domains = x->result->domains;
		bpg_saver_position(saved->saver, &(struct bpg_position){ j, at->attacked, at->unsure, all, at->domains, at->rows, lower, upper });
	}
	return BPG_OK;
}

enum { HELD_BYTES = 64 << 20 };   /* of weights, so that points are evaluated without reading files */

/* Goes on from a checkpoint, or from the start; and saves. */
static enum bpg_status begin(struct bpg_decide *x, struct saved *s, double *lower, double *upper)
{
	struct bpg_result *r = x->result;

	if (x->bound.owners <= 1 && !x->bound.memory && !x->follows)
		bpg_net_hold(x->net, HELD_BYTES);
	s->at = (struct bpg_position){ .all = true, .lower = lower, .upper = upper };
	if (x->resume) {
		BPG_TRY(bpg_resume_read(x->ctx, x->resume, x->fingerprint, r->rows, lower, upper, &s->from));
		s->at = (struct bpg_position){ s->from.first, s->from.attacked, s->from.unsure, s->from.all, s->from.domains, s->from.rows, lower, upper };
		r->domains = s->at.domains;
	}
	if (x->bound.memory && x->search)
		BPG_TRY(bpg_spill_new(x->ctx, x->spill, x->spill != NULL, &s->spill));
	if (!x->checkpoint)
		return BPG_OK;
	const struct bpg_saver_options o = { x->checkpoint, x->checkpoint_every, x->fingerprint, x->interrupt };
	return bpg_saver_start(x->ctx, &o, &s->at, s->from.search, &s->saver);
}

static enum bpg_status decide(struct bpg_decide *x, struct saved *s, double *lower, double *upper)
{
	struct bpg_result *r = x->result;
	double start, attacked;
	enum bpg_status st = BPG_OK;

	if (x->attack && x->spec->disjuncts && !s->at.attacked)
		st = attack(x, NULL, x->spec->disjuncts, x->seed, s);
	if (r->verdict == BPG_VERDICT_SAT)
		return st;
	start = bpg_now();
	attacked = r->seconds.search;
	if (!st) {
		s->at.attacked = true;
		bpg_saver_position(s->saver, &s->at);
		st = decide_from(x, s, lower, upper);
	}
	r->seconds.bound = bpg_now() - start - (r->seconds.search - attacked);
	if (st == BPG_ECANCELLED) {
		r->verdict = BPG_VERDICT_TIMEOUT;
		bpg_saver_last(s->saver);
		return BPG_OK;
	}
	if (st)
		return st;
	if (r->verdict == BPG_VERDICT_SAT)
		return BPG_OK;
	if (s->at.all && x->bound.slack)
		r->verdict = BPG_VERDICT_UNSAT;
	else if (s->at.all)
		r->note = "--sound=off proves nothing: the bounds would refute the property, rounding is not counted";
	else if (s->at.unsure)
		r->note = "a point was found where only the float32 replay or only exact arithmetic violates the property";
	return BPG_OK;
}

enum bpg_status bpg_decide(struct bpg_decide *x)
{
	struct bpg_result *r = x->result;
	struct saved saved = { 0 };
	double *lower, *upper;

	r->verdict = BPG_VERDICT_UNKNOWN;
	x->bound.sides = 1;
	x->bound.goal = 0;
	for (int64_t i = 0; i < x->spec->disjuncts; i++)
		r->rows += x->spec->disjunct[i].rows;
	lower = bpg_arena_alloc(r->arena, (size_t)r->rows + 1, sizeof *lower);
	upper = bpg_arena_alloc(r->arena, (size_t)r->rows + 1, sizeof *upper);
	if (!lower || !upper)
		return bpg_nomem(x->ctx, "the result");
	for (int64_t i = 0; i < r->rows; i++)
		lower[i] = -INFINITY, upper[i] = INFINITY;
	r->lower = lower;
	r->upper = upper;
	enum bpg_status st = begin(x, &saved, lower, upper);
	if (!st)
		st = decide(x, &saved, lower, upper);
	enum bpg_status written = bpg_saver_stop(x->ctx, saved.saver);
	bpg_snapshot_free(saved.from.search);
	if (saved.spill)
		r->spilled_bytes = (int64_t)bpg_spill_peak(saved.spill);
	bpg_spill_free(saved.spill);
	/* An answer is an answer; that nothing was saved matters where there is none. */
	return st ? st : r->verdict == BPG_VERDICT_UNKNOWN || r->verdict == BPG_VERDICT_TIMEOUT ? written : BPG_OK;
}
