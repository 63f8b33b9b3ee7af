/* decide.c - see decide.h. Disjuncts that share a box share one propagation. */
#include "bab/decide.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bab/attack.h"
#include "bab/search.h"
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

/* Conjuncts must hold at the same point, so they can be refuted together: where all rows are <= 0, any sum with weights
 * >= 0 is, too. These weights of a pair are tried. */
static const double weight[][2] = { { 1, 1 }, { 1, 3 }, { 3, 1 } };

enum { MOST_PAIRED = 4 }; /* rows of a disjunct beyond which pairs are not tried */

static int64_t pairs(const struct bpg_disjunct *d)
{
	return d->rows < 2 || d->rows > MOST_PAIRED ? 0 : (int64_t)d->rows * (d->rows - 1) / 2 * (int64_t)BPG_LEN(weight);
}

/* w[0] a + w[1] b, with the rounding of its coefficients in their errors. */
static bool combine(struct bpg_arena *arena, const struct bpg_row *a, const struct bpg_row *b, const double w[2], struct bpg_question_row *q)
{
	int n = a->n + b->n, used = 0;
	int64_t *index = bpg_arena_alloc(arena, (size_t)n + 1, sizeof *index);
	double *coef = bpg_arena_alloc(arena, (size_t)n + 1, sizeof *coef), *err = bpg_arena_alloc(arena, (size_t)n + 1, sizeof *err);

	if (!index || !coef || !err)
		return false;
	for (int side = 0; side < 2; side++) {
		const struct bpg_row *r = side ? b : a;
		for (int t = 0; t < r->n; t++) {
			double c = w[side] * r->coef[t], e = w[side] * r->coef_err[t] + BPG_U64 * fabs(c);
			int k = 0;
			while (k < used && index[k] != r->index[t])
				k++;
			if (k == used)
				index[used++] = r->index[t];
			coef[k] += c;
			err[k] = (err[k] + e + 2 * BPG_U64 * fabs(coef[k])) * (1 + 0x1p-40);
		}
	}
	double x = w[0] * a->offset, y = w[1] * b->offset;
	*q = (struct bpg_question_row){ .n = used, .index = index, .coef = coef, .coef_err = err, .offset = x + y };
	q->offset_err = (w[0] * a->offset_err + w[1] * b->offset_err + 4 * BPG_U64 * (fabs(x) + fabs(y))) * (1 + 0x1p-40);
	return true;
}

static bool refuted(const struct bpg_disjunct *d, const double *lower)
{
	for (int r = 0; r < d->rows; r++)
		if (lower[r] > 0 || (lower[r] == 0 && d->row[r].strict))
			return true;
	return false;
}

/* Questions about sums of pairs of the disjunct's rows. */
static bool pair_questions(struct bpg_arena *arena, const struct bpg_disjunct *d, struct bpg_question_row *q)
{
	for (int i = 0; pairs(d) && i < d->rows; i++)
		for (int j = i + 1; j < d->rows; j++)
			for (size_t w = 0; w < BPG_LEN(weight); w++)
				if (!combine(arena, &d->row[i], &d->row[j], weight[w], q++))
					return false;
	return true;
}

static bool pair_refuted(const struct bpg_disjunct *d, const double *lower)
{
	for (int64_t p = 0; p < pairs(d); p++)
		if (lower[p] > 0)
			return true;
	return false;
}

/* All disjuncts first .. last-1 have this box. open[0..*opens): those that are not refuted. */
static enum bpg_status bound_box(struct bpg_decide *x, int64_t first, int64_t last, double *lower, double *upper, int32_t *open, int *opens)
{
	const struct bpg_disjunct *d = &x->spec->disjunct[first];
	struct bpg_region region = { .n = d->box->n, .lo = d->box->lo, .up = d->box->up };
	struct bpg_model *m = NULL;
	struct bpg_question_row *row;
	int64_t rows = 0, sums = 0, at = 0, pair;
	enum bpg_status st = BPG_OK;

	*opens = 0;
	if (box_empty(d->box))
		return BPG_OK;
	for (int64_t i = first; i < last; i++)
		rows += x->spec->disjunct[i].rows;
	pair = rows;
	if (!rows) {
		open[(*opens)++] = (int32_t)first;
		return BPG_OK;
	}
	for (int64_t i = first; i < last; i++)
		sums += pairs(&x->spec->disjunct[i]);
	row = bpg_calloc((size_t)(rows + sums) + 1, sizeof *row);
	double *lo = bpg_calloc((size_t)(2 * (rows + sums)) + 1, sizeof *lo), *up = lo + rows + sums;
	struct bpg_arena *arena = bpg_arena_new();
	if (!row || !lo || !arena)
		BPG_TRY_TO(bpg_nomem(x->ctx, "the rows of the property"), out);
	for (int64_t i = first; i < last; i++) {
		d = &x->spec->disjunct[i];
		bpg_decide_rows(d, row + at);
		if (!pair_questions(arena, d, row + pair))
			BPG_TRY_TO(bpg_nomem(x->ctx, "the rows of the property"), out);
		at += d->rows;
		pair += pairs(d);
	}
	BPG_TRY_TO(bpg_model_new(x->ctx, x->net, x->rt, &region, &x->bound, &m), out);
	m->dot = x->dot;
	BPG_TRY_TO(bpg_bounds(x->ctx, m, row, rows + sums, lo, up), out);
	memcpy(lower, lo, (size_t)rows * sizeof *lower);
	memcpy(upper, up, (size_t)rows * sizeof *upper);
	at = 0, pair = rows;
	for (int64_t i = first; i < last; i++) {
		d = &x->spec->disjunct[i];
		if (!refuted(d, lo + at) && !pair_refuted(d, lo + pair))
			open[(*opens)++] = (int32_t)i;
		at += d->rows;
		pair += pairs(d);
	}
	st = bpg_result_fill(x->ctx, x->result, m, x->layer_bounds);
out:
	bpg_model_free(m);
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

/* What bounds of the whole box leave open is searched part by part. */
static enum bpg_status search_group(struct bpg_decide *x, const int32_t *open, int *opens)
{
	struct bpg_search s = { .net = x->net, .spec = x->spec, .rt = x->rt, .bound = x->bound, .batch = x->batch, .synchronous = x->synchronous,
		                .progress = x->search_progress, .progress_arg = x->search_progress_arg, .domains = x->result->domains };
	enum bpg_search_end end;
	double start = bpg_now();
	enum bpg_status st = bpg_search_box(x->ctx, &s, open, *opens, x->result->arena, &end);

	x->result->seconds.search += bpg_now() - start;
	x->result->domains = s.domains;
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
static enum bpg_status decide_group(struct bpg_decide *x, int64_t first, int64_t last, double *lower, double *upper, bool *all)
{
	int asked = x->bound.iterations, opens;
	int32_t *open = bpg_calloc((size_t)(last - first) + 1, sizeof *open);
	bool rows = x->spec->disjunct[first].rows > 0;
	enum bpg_status st;

	if (!open)
		return bpg_nomem(x->ctx, "the rows of the property");
	if (x->then_iterations)
		x->bound.iterations = 0;
	st = bound_box(x, first, last, lower, upper, open, &opens);
	if (!st && opens && x->then_iterations && rows) {
		x->bound.iterations = x->then_iterations;
		st = bound_box(x, first, last, lower, upper, open, &opens);
	}
	x->bound.iterations = asked;
	if (!st && opens && x->search && rows && bpg_search_suits(x->net, x->spec->disjunct[first].box))
		st = search_group(x, open, &opens);
	*all = *all && !opens;
	free(open);
	return st;
}

enum bpg_status bpg_decide(struct bpg_decide *x)
{
	struct bpg_result *r = x->result;
	struct bpg_witness w = { .found = false };
	double *lower, *upper, start = bpg_now(), attacked;
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
	r->seconds.search = attacked = bpg_now() - start;
	if (!st && w.found) {
		sat(x, &w);
		return BPG_OK;
	}
	start = bpg_now();
	for (int64_t i = 0, j; !st && i < x->spec->disjuncts && r->verdict != BPG_VERDICT_SAT; i = j) {
		const struct bpg_box *box = x->spec->disjunct[i].box;
		int64_t rows = 0;
		for (j = i; j < x->spec->disjuncts && x->spec->disjunct[j].box == box; j++)
			rows += x->spec->disjunct[j].rows;
		st = decide_group(x, i, j, lower + at, upper + at, &all);
		at += rows;
	}
	r->seconds.bound = bpg_now() - start - (r->seconds.search - attacked);
	if (st == BPG_ECANCELLED) {
		r->verdict = BPG_VERDICT_TIMEOUT;
		return BPG_OK;
	}
	if (st)
		return st;
	if (r->verdict == BPG_VERDICT_SAT)
		return BPG_OK;
	if (all && x->bound.slack)
		r->verdict = BPG_VERDICT_UNSAT;
	else if (all)
		r->note = "--sound=off proves nothing: the bounds would refute the property, rounding is not counted";
	else if (w.unsure)
		r->note = "a point was found where only the float32 replay or only exact arithmetic violates the property";
	return BPG_OK;
}
