/* decide.c - see decide.h. Disjuncts that share a box share one propagation. */
#include "bab/decide.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bab/attack.h"
#include "graph/crown.h"
#include "graph/fill.h"

static bool box_empty(const struct bpg_box *b)
{
	for (int64_t i = 0; i < b->n; i++)
		if (b->lo[i] > b->up[i])
			return true;
	return false;
}

void bpg_decide_rows(const struct bpg_disjunct *d, struct bpg_question_row *q)
{
	for (int r = 0; r < d->rows; r++)
		q[r] = (struct bpg_question_row){ .n = d->row[r].n, .index = d->row[r].index, .coef = d->row[r].coef, .coef_err = d->row[r].coef_err,
			                          .offset = d->row[r].offset, .offset_err = d->row[r].offset_err };
}

static bool refuted(const struct bpg_disjunct *d, const double *lower)
{
	for (int r = 0; r < d->rows; r++)
		if (lower[r] > 0 || (lower[r] == 0 && d->row[r].strict))
			return true;
	return false;
}

/* All disjuncts first .. last-1 have this box. */
static enum bpg_status bound_box(struct bpg_decide *x, int64_t first, int64_t last, double *lower, double *upper, bool *all)
{
	const struct bpg_disjunct *d = &x->spec->disjunct[first];
	struct bpg_region region = { .n = d->box->n, .lo = d->box->lo, .up = d->box->up };
	struct bpg_model *m = NULL;
	struct bpg_question_row *row;
	int64_t rows = 0, at = 0;
	enum bpg_status st;

	if (box_empty(d->box))
		return BPG_OK;
	for (int64_t i = first; i < last; i++)
		rows += x->spec->disjunct[i].rows;
	if (!rows) {
		*all = false;
		return BPG_OK;
	}
	row = bpg_calloc((size_t)rows + 1, sizeof *row);
	if (!row)
		return bpg_nomem(x->ctx, "the rows of the property");
	for (int64_t i = first; i < last; at += x->spec->disjunct[i++].rows)
		bpg_decide_rows(&x->spec->disjunct[i], row + at);
	st = bpg_model_new(x->ctx, x->net, x->rt, &region, &x->bound, &m);
	if (!st)
		m->dot = x->dot;
	if (!st)
		st = bpg_bounds(x->ctx, m, row, rows, lower, upper);
	if (!st) {
		at = 0;
		for (int64_t i = first; i < last; at += x->spec->disjunct[i++].rows)
			if (!refuted(&x->spec->disjunct[i], lower + at))
				*all = false;
		st = bpg_result_fill(x->ctx, x->result, m, x->layer_bounds);
	}
	bpg_model_free(m);
	free(row);
	return st;
}

static void sat(struct bpg_decide *x, const struct bpg_witness *w)
{
	x->result->verdict = BPG_VERDICT_SAT;
	x->result->witness_in = w->x;
	x->result->witness_out = w->y;
}

enum bpg_status bpg_decide(struct bpg_decide *x)
{
	struct bpg_result *r = x->result;
	struct bpg_witness w = { .found = false };
	double *lower, *upper, start = bpg_now();
	enum bpg_status st = BPG_OK;
	bool all = true;
	int64_t at = 0;

	r->verdict = BPG_VERDICT_UNKNOWN;
	x->bound.sides = 1;
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
	if (x->attack && x->spec->disjuncts)
		st = bpg_attack(x->ctx, x->net, x->spec, x->rt, x->seed, r->arena, &w);
	r->seconds.search = bpg_now() - start;
	if (!st && w.found) {
		sat(x, &w);
		return BPG_OK;
	}
	start = bpg_now();
	for (int64_t i = 0, j; !st && i < x->spec->disjuncts; i = j) {
		const struct bpg_box *box = x->spec->disjunct[i].box;
		int64_t rows = 0;
		for (j = i; j < x->spec->disjuncts && x->spec->disjunct[j].box == box; j++)
			rows += x->spec->disjunct[j].rows;
		st = bound_box(x, i, j, lower + at, upper + at, &all);
		at += rows;
	}
	r->seconds.bound = bpg_now() - start;
	if (st == BPG_ECANCELLED) {
		r->verdict = BPG_VERDICT_TIMEOUT;
		return BPG_OK;
	}
	if (st)
		return st;
	if (all && x->bound.slack)
		r->verdict = BPG_VERDICT_UNSAT;
	else if (all)
		r->note = "--sound=off proves nothing: the bounds would refute the property, rounding is not counted";
	else if (w.unsure)
		r->note = "a point was found where only the float32 replay or only exact arithmetic violates the property";
	return BPG_OK;
}
