/* question.c - regions and rows from files and options. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <bpgraph/bpgraph.h>

#include "spec/question.h"

struct bpg_question *bpg_question_new(int64_t n, int64_t m)
{
	struct bpg_arena *arena = bpg_arena_new();
	struct bpg_question *q = arena ? bpg_arena_alloc(arena, 1, sizeof *q) : NULL;
	if (!q) {
		bpg_arena_free(arena);
		return NULL;
	}
	*q = (struct bpg_question){ .arena = arena, .n = n, .outputs = m, .rows = m };
	return q;
}

void bpg_question_free(struct bpg_question *q)
{
	if (!q)
		return;
	bpg_spec_free(q->spec);
	bpg_region_free(q->region);
	bpg_arena_free(q->arena);
}

/* ---- numbers from files ---- */

/* Numbers with the doubles around each; freed by fini. */
struct list {
	int64_t n;
	double *value, *lo, *up;
};

static void list_fini(struct list *l)
{
	free(l->value);
	free(l->lo);
	free(l->up);
}

/* n: how many must be there, -1: any number. */
static enum bpg_status list_read(struct bpg_ctx *ctx, const char *path, int64_t n, struct list *l)
{
	return bpg_numbers_read(ctx, path, n, &l->n, &l->value, &l->lo, &l->up);
}

static struct bpg_numbers numbers(const char *name, const struct list *l)
{
	return (struct bpg_numbers){ .name = name, .n = l->n, .value = l->value, .lo = l->lo, .up = l->up };
}

/* ---- region ---- */

static enum bpg_status set_box(struct bpg_ctx *ctx, const struct bpg_options *o, struct bpg_question *q)
{
	struct list l = { 0 }, u = { 0 };
	enum bpg_status st = list_read(ctx, o->lower, q->n, &l);
	if (!st)
		st = list_read(ctx, o->upper, q->n, &u);
	if (!st) {
		struct bpg_numbers lower = numbers(o->lower, &l), upper = numbers(o->upper, &u);
		st = bpg_region_box(ctx, q->n, &lower, &upper, &q->region);
	}
	list_fini(&l);
	list_fini(&u);
	return st;
}

/* "LO,HI", rounded outward. */
static enum bpg_status read_clip(struct bpg_ctx *ctx, const char *text, double to[2])
{
	char left[64];
	double at, inner_lo, inner_up;
	size_t n = strcspn(text, ",");
	if (n < sizeof left && text[n] == ',') {
		memcpy(left, text, n);
		left[n] = 0;
		if (bpg_decimal(left, &at, &to[0], &inner_lo) && bpg_decimal(text + n + 1, &at, &inner_up, &to[1]) && to[0] <= to[1])
			return BPG_OK;
	}
	return bpg_fail(ctx, BPG_EUSAGE, "--clip=%s: give two numbers LO,HI", text);
}

static enum bpg_status set_ball(struct bpg_ctx *ctx, const struct bpg_options *o, struct bpg_question *q)
{
	struct list c = { 0 };
	double nearest, below, epsilon, clip[2];
	if (!bpg_decimal(o->text[BPG_OPT_epsilon], &nearest, &below, &epsilon))
		return bpg_fail(ctx, BPG_EUSAGE, "--epsilon=%s: give a number", o->text[BPG_OPT_epsilon]);
	if (o->clip)
		BPG_TRY(read_clip(ctx, o->clip, clip));
	enum bpg_status st = list_read(ctx, o->center, q->n, &c);
	if (!st) {
		struct bpg_numbers center = numbers(o->center, &c);
		st = bpg_region_ball(ctx, (enum bpg_norm)o->norm, q->n, &center, epsilon, o->clip ? clip : NULL, &q->region);
	}
	list_fini(&c);
	return st;
}

static bool given(const struct bpg_options *o, int id)
{
	return o->source[id] != BPG_FROM_DEFAULT;
}

static enum bpg_status set_region(struct bpg_ctx *ctx, const struct bpg_options *o, struct bpg_question *q)
{
	if (!o->lower != !o->upper)
		return bpg_fail(ctx, BPG_EUSAGE, "--lower and --upper belong together; give %s, too", o->lower ? "--upper" : "--lower");
	if (!o->center != !given(o, BPG_OPT_epsilon))
		return bpg_fail(ctx, BPG_EUSAGE, "--center and --epsilon belong together; give %s, too", o->center ? "--epsilon" : "--center");
	if (o->center && o->lower)
		return bpg_fail(ctx, BPG_EUSAGE, "--center and --lower are two regions; leave one out");
	if (!o->center && (o->clip || o->norm != BPG_NORM_INF))
		return bpg_fail(ctx, BPG_EUSAGE, "%s needs --center and --epsilon", o->clip ? "--clip" : "--norm");
	if (o->lower)
		return set_box(ctx, o, q);
	if (o->center)
		return set_ball(ctx, o, q);
	q->unit = true;
	return bpg_region_unit(ctx, q->n, &q->region);
}

/* ---- rows ---- */

static enum bpg_status rows_alloc(struct bpg_ctx *ctx, struct bpg_question *q, int64_t rows)
{
	size_t n = (size_t)(rows * q->outputs);
	q->rows = rows;
	q->C = bpg_arena_alloc(q->arena, n, sizeof *q->C);
	q->C_err = bpg_arena_alloc(q->arena, n, sizeof *q->C_err);
	q->d = bpg_arena_alloc(q->arena, (size_t)rows, sizeof *q->d);
	q->d_err = bpg_arena_alloc(q->arena, (size_t)rows, sizeof *q->d_err);
	return q->C && q->C_err && q->d && q->d_err ? BPG_OK : bpg_nomem(ctx, "the rows");
}

/* The written number lies within err of value. */
static void copy_numbers(const struct list *l, double *value, double *err)
{
	for (int64_t i = 0; i < l->n; i++) {
		value[i] = l->value[i];
		err[i] = l->up[i] > l->lo[i] ? bpg_next_up(l->up[i] - l->lo[i]) : 0;
	}
}

/* Without --rows an offset is added to the outputs. */
static void identity(struct bpg_question *q)
{
	for (int64_t i = 0; i < q->rows; i++)
		q->C[i * q->outputs + i] = 1;
}

static enum bpg_status set_rows(struct bpg_ctx *ctx, const struct bpg_options *o, struct bpg_question *q)
{
	struct list rows = { 0 }, offset = { 0 };
	enum bpg_status st = BPG_OK;
	if (o->rows) {
		BPG_TRY_TO(list_read(ctx, o->rows, -1, &rows), out);
		if (!rows.n || rows.n % q->outputs) {
			st = bpg_fail(ctx, BPG_EUSAGE, "%s: has %lld numbers; rows of %lld are needed, one number for each output", o->rows,
			              (long long)rows.n, (long long)q->outputs);
			goto out;
		}
	}
	BPG_TRY_TO(rows_alloc(ctx, q, o->rows ? rows.n / q->outputs : q->outputs), out);
	if (o->rows)
		copy_numbers(&rows, q->C, q->C_err);
	else
		identity(q);
	if (o->offset) {
		BPG_TRY_TO(list_read(ctx, o->offset, q->rows, &offset), out);
		copy_numbers(&offset, q->d, q->d_err);
	}
out:
	list_fini(&rows);
	list_fini(&offset);
	return st;
}

enum bpg_status bpg_question_rows(struct bpg_ctx *ctx, struct bpg_question *q, int64_t rows, const double *C, const double *d)
{
	if (q->spec)
		return bpg_fail(ctx, BPG_EUSAGE, "a property has rows of its own");
	if (rows < 1 || rows > BPG_MAX_ELEMENTS / BPG_MAX(q->outputs, 1))
		return bpg_fail(ctx, BPG_EUSAGE, "%lld rows cannot be asked", (long long)rows);
	for (int64_t i = 0; i < rows * q->outputs; i++)
		if (!isfinite(C[i]) || (d && !isfinite(d[i / q->outputs])))
			return bpg_fail(ctx, BPG_EUSAGE, "row %lld has a number that is not finite", (long long)(i / q->outputs));
	BPG_TRY(rows_alloc(ctx, q, rows));
	memcpy(q->C, C, (size_t)(rows * q->outputs) * sizeof *C);
	if (d)
		memcpy(q->d, d, (size_t)rows * sizeof *d);
	return BPG_OK;
}

/* ---- from options ---- */

enum bpg_status bpg_question_no_region(struct bpg_ctx *ctx, const struct bpg_options *o)
{
	static const int ids[] = { BPG_OPT_center, BPG_OPT_epsilon, BPG_OPT_norm, BPG_OPT_clip, BPG_OPT_lower, BPG_OPT_upper, BPG_OPT_rows, BPG_OPT_offset };
	char name[32];
	for (size_t i = 0; i < BPG_LEN(ids); i++)
		if (given(o, ids[i]))
			return bpg_fail(ctx, BPG_EUSAGE, "--%s: the property has its own region and rows; leave one of them out", bpg_option_name(ids[i], name));
	return BPG_OK;
}

enum bpg_status bpg_question_from_options(struct bpg_ctx *ctx, const struct bpg_options *o, int64_t n, int64_t m, struct bpg_question **q)
{
	enum bpg_status st = BPG_OK;
	struct bpg_question *made = bpg_question_new(n, m);
	*q = NULL;
	if (!made)
		return bpg_nomem(ctx, "the question");
	BPG_TRY_TO(set_region(ctx, o, made), out);
	if (o->rows || o->offset)
		BPG_TRY_TO(set_rows(ctx, o, made), out);
	*q = made;
	return BPG_OK;
out:
	bpg_question_free(made);
	return st;
}
