/* crown.c - the driver: nodes in topological order; intervals first, then rows for what the intervals leave open. */
#include "graph/crown.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "graph/joint.h"
#include "graph/lower.h"
#include "graph/rounds.h"
#include "graph/tighten.h"
#include "graph/zones.h"

/* ---- which elements need rows ---- */

static bool straddles(const struct bpg_node *v, double l, double u)
{
	const struct bpg_unary *f = v->layer->unary;
	double at[4];

	return l < u && f->kinks && f->kinks(l, u, v->attr, at) > 0;
}

static void want_from(const struct bpg_model_node *v, const struct bpg_model_node *y, int segment, unsigned char *want)
{
	const double *l = bpg_segment_field(v, BPG_LOWER, segment), *u = bpg_segment_field(v, BPG_UPPER, segment);
	const struct bpg_layer *layer = y->hop.v->layer;

	if (y->hop.kind != BPG_HOP_UNARY && y->hop.kind != BPG_HOP_PLANES)
		return;
	bool kink = y->hop.kind == BPG_HOP_UNARY && (layer->traits & BPG_NEEDS_KINK);
	for (int64_t i = 0; i < v->columns.n; i++)
		want[i] |= kink ? straddles(y->hop.v, l[i], u[i]) : l[i] < u[i];
}

int64_t bpg_wanted(const struct bpg_model *m, const struct bpg_model_node *v, int segment, int64_t *element)
{
	unsigned char *want = bpg_calloc((size_t)v->columns.n + 1, 1);
	int64_t count = 0;

	for (int c = 0; want && c < v->consumers; c++)
		want_from(v, &m->node[v->consumer[c]], segment, want);
	for (int64_t i = 0; i < v->columns.n; i++)
		if (!want || want[i])
			element[count++] = i;
	free(want);
	return count;
}

static bool has_nonlinear_reader(const struct bpg_model *m, const struct bpg_model_node *v)
{
	for (int c = 0; c < v->consumers; c++) {
		enum bpg_hop_kind kind = m->node[v->consumer[c]].hop.kind;
		if (kind == BPG_HOP_UNARY || kind == BPG_HOP_PLANES)
			return true;
	}
	return false;
}

/* ---- stages ---- */

/* Of all segments, one after the other. */
static int64_t wanted(const struct bpg_model *m, const struct bpg_model_node *v, int64_t *element, int32_t *segment)
{
	int64_t count = 0;

	for (int s = 0; s < m->segments; s++)
		for (int64_t end = count + bpg_wanted(m, v, s, element + count); count < end; count++)
			segment[count] = s;
	return count;
}

struct node_look {
	struct bpg_model_node *v;
	int64_t *element;         /* [n] scratch */
	unsigned char *wanted;    /* [n] scratch */
};

static enum bpg_status look_at_node(struct bpg_ctx *ctx, struct bpg_model *m, const struct bpg_stage *s, void *arg)
{
	const struct node_look *look = arg;

	BPG_TRY(bpg_tighten(ctx, m, look->v, s));
	if (!s->iterations)
		return BPG_OK;
	memset(look->wanted, 0, (size_t)look->v->columns.n);
	for (int64_t i = bpg_wanted(m, look->v, 0, look->element) - 1; i >= 0; i--)
		look->wanted[look->element[i]] = 1;
	for (int t = 0; t < s->tiles; t++)
		for (int i = 0; i < s->tile[t].count; i++)
			s->tile[t].met[i] = !look->wanted[s->tile[t].element[i]];
	return BPG_OK;
}

/* What the plain pass has found. */
static void set_plain(const struct bpg_model_node *v, struct bpg_stage *s)
{
	for (int t = 0; t < s->tiles; t++) {
		struct bpg_tile *tile = &s->tile[t];
		for (int i = 0; i < tile->count; i++) {
			int lo = bpg_tile_row(tile, i, false), up = bpg_tile_row(tile, i, true);
			tile->plain[lo] = tile->before[lo] = bpg_field(v, BPG_LOWER)[tile->element[i]];
			tile->plain[up] = tile->before[up] = -bpg_field(v, BPG_UPPER)[tile->element[i]];
		}
	}
	s->bounded = true;
}

/* Counts what the readers of v want tighter, and with `rows` bounds it by a walk. */
static enum bpg_status refine(struct bpg_ctx *ctx, struct bpg_model *m, struct bpg_model_node *v, bool rows)
{
	struct bpg_arena *arena = bpg_arena_new();
	size_t most = (size_t)m->segments * (size_t)v->columns.n + 1;
	int64_t *element = arena ? bpg_arena_alloc(arena, most, sizeof *element) : NULL;
	int32_t *segment = arena ? bpg_arena_alloc(arena, most, sizeof *segment) : NULL;
	struct node_look look = { v, arena ? bpg_arena_alloc(arena, (size_t)v->columns.n + 1, sizeof *element) : NULL,
		                  arena ? bpg_arena_alloc(arena, (size_t)v->columns.n + 1, 1) : NULL };
	struct bpg_stage stage;
	enum bpg_status st = element && segment && look.element && look.wanted ? BPG_OK : bpg_nomem(ctx, "the rows of a node");
	int64_t count;
	int asked = m->options.iterations, steps = m->options.objective == BPG_OBJECTIVE_LOCAL ? asked : 0;

	if (st)
		goto out;
	count = v->unstable = wanted(m, v, element, segment);
	if (m->options.method != BPG_METHOD_CROWN) { /* intervals go on from here: every element counts */
		count = 0;
		for (int s = 0; s < m->segments; s++)
			for (int64_t i = 0; i < v->columns.n; i++, count++)
				element[count] = i, segment[count] = s;
	}
	/* Before rows are optimised a plain pass retires those that need no more. */
	for (int round = steps ? 0 : 1; !st && rows && round < 2; round++) {
		m->options.iterations = round ? steps : 0;
		if (round && steps)
			count = wanted(m, v, element, segment);
		if (!count)
			break;
		st = bpg_stage_rows(ctx, m, arena, v->id, element, segment, count, false, &stage);
		if (!st && stage.iterations)
			set_plain(v, &stage);
		if (!st)
			st = bpg_stage_run(ctx, m, &stage, look_at_node, &look);
	}
out:
	m->options.iterations = asked;
	bpg_arena_free(arena);
	return st;
}

/* ---- nodes ---- */

/* Interval, rows where wanted, columns, planes of one node. */
static enum bpg_status settle(struct bpg_ctx *ctx, struct bpg_model *m, struct bpg_model_node *v)
{
	bool crown = m->options.method == BPG_METHOD_CROWN;

	if (v->hop.kind == BPG_HOP_INPUT) {
		BPG_TRY(bpg_lower_input(ctx, m, v));
		return v->columns_set ? BPG_OK : bpg_model_columns(ctx, m, v, NULL);
	}
	BPG_TRY(bpg_lower_interval(ctx, m, v));
	BPG_TRY(bpg_zone_cut(ctx, m, v)); /* feature maps have their columns from the start */
	bool read = has_nonlinear_reader(m, v), unary = v->hop.kind == BPG_HOP_UNARY;
	if (unary) { /* the bounds of its input are final: nothing to wait for */
		BPG_TRY(bpg_model_columns(ctx, m, v, &m->node[v->src[0]]));
		BPG_TRY(bpg_zone_cut(ctx, m, v));
		if (m->options.iterations)
			BPG_TRY(bpg_model_choices(ctx, m, v));
		BPG_TRY(bpg_lower_planes(ctx, m, v));
	}
	if (v->hop.kind == BPG_HOP_PLANES)
		BPG_TRY(bpg_lower_planes(ctx, m, v));
	else if (!read && v->columns_set)
		return BPG_OK; /* nothing to decide: the task's result is awaited by its readers */
	BPG_TRY(bpg_model_wait(ctx, m)); /* bounds are decided on; windows of walks follow the terms of planes */
	/* Dense with one nonlinear reader: its columns are those of the reader, which come when its own bounds are final (its
	 * rows start one node further down). All others need theirs now, as a walk may start here. */
	bool shared = v->hop.kind == BPG_HOP_DENSE && v->consumers == 1 && m->node[v->consumer[0]].hop.kind == BPG_HOP_UNARY;
	if (!v->columns_set && !shared)
		BPG_TRY(bpg_model_columns(ctx, m, v, NULL));
	BPG_TRY(bpg_zone_cut(ctx, m, v));
	/* A ball is not a product of intervals: there rows pay even where everything before is linear. */
	bool rows = read && !v->exact && (crown || (m->region->ball && v->straight));
	if (m->options.zone_intervals && bpg_zone_parts(v) > 1)
		rows = false;
	return read ? refine(ctx, m, v, rows) : BPG_OK;
}

/* ---- the rows asked ---- */

static void rows_from_intervals(const struct bpg_model *m, int segment, const struct bpg_question_row *row, int64_t count, double *lower, double *upper)
{
	for (int64_t i = 0; i < count; i++) {
		const struct bpg_question_row *q = &row[i];
		double lo = bpg_next_down(q->offset - q->offset_err), up = bpg_next_up(q->offset + q->offset_err);
		if (q->offset_err == 0)
			lo = up = q->offset;
		for (int t = 0; t < q->n; t++) {
			int o = m->net->outputs - 1;
			while (o > 0 && m->net->out_first[o] > q->index[t])
				o--;
			const struct bpg_model_node *v = &m->node[m->net->output[o]];
			int64_t j = q->index[t] - m->net->out_first[o];
			double l = bpg_segment_field(v, BPG_LOWER, segment)[j], u = bpg_segment_field(v, BPG_UPPER, segment)[j];
			double err = q->coef_err ? q->coef_err[t] : 0, c = q->coef[t];
			if (c == 0 && err == 0)
				continue;
			double a = c * l, b = c * u, far = fmax(fabs(l), fabs(u));
			bool exact = fabs(c) == 1 && err == 0;
			double x = fmin(a, b), y = fmax(a, b);
			if (!exact) {
				x = bpg_next_down(x), y = bpg_next_up(y);
				if (err > 0) {
					x = bpg_next_down(x - err * far * (1 + 0x1p-40));
					y = bpg_next_up(y + err * far * (1 + 0x1p-40));
				}
			}
			lo = q->n == 1 && exact && q->offset == 0 && q->offset_err == 0 ? x : bpg_next_down(lo + x);
			up = q->n == 1 && exact && q->offset == 0 && q->offset_err == 0 ? y : bpg_next_up(up + y);
		}
		lower[i] = isnan(lo) ? -INFINITY : lo;
		upper[i] = isnan(up) ? INFINITY : up;
	}
}

struct question_look {
	double *lower, *upper;    /* [segments * rows asked] */
};

/* The tighter bound counts. A row of a property that is proved needs no more. */
static enum bpg_status look_at_question(struct bpg_ctx *ctx, struct bpg_model *m, const struct bpg_stage *s, void *arg)
{
	const struct question_look *look = arg;
	int64_t keep = m->net->in_count + 1;

	(void)ctx;
	for (int t = 0; t < s->tiles; t++) {
		const struct bpg_tile *tile = &s->tile[t];
		for (int i = 0; i < tile->count; i++) {
			int a = bpg_tile_row(tile, i, false), b = bpg_tile_row(tile, i, true);
			double *lower = &look->lower[tile->asked[i]], *upper = &look->upper[tile->asked[i]];
			if (a >= 0 && tile->result[a] > *lower)
				*lower = tile->result[a];
			if (b >= 0 && -tile->result[b] < *upper)
				*upper = -tile->result[b];
			if (a >= 0 && tile->keep)
				memcpy(m->options.input_planes + tile->asked[i] * keep, tile->keep + a * keep, (size_t)keep * sizeof *tile->keep);
			tile->met[i] = *lower > m->options.goal;
		}
	}
	m->iterations = BPG_MAX(m->iterations, BPG_MIN(s->to, s->iterations));
	return BPG_OK;
}

enum bpg_status bpg_bounds(struct bpg_ctx *ctx, struct bpg_model *m, const struct bpg_question_row *row, int64_t count, double *lower, double *upper)
{
	struct bpg_arena *arena = bpg_arena_new();
	struct bpg_question_row *own = NULL;
	struct bpg_stage stage;
	enum bpg_status st = BPG_OK;
	int sides = m->options.sides;

	for (int64_t i = 0; i < m->segments * count; i++)
		lower[i] = -INFINITY, upper[i] = INFINITY;
	if (!arena)
		return bpg_nomem(ctx, "the rows asked");
	if (!row) {
		int64_t *index = bpg_arena_alloc(arena, (size_t)count + 1, sizeof *index);
		double *one = bpg_arena_alloc(arena, 1, sizeof *one);
		own = bpg_arena_alloc(arena, (size_t)count + 1, sizeof *own);
		if (!index || !one || !own)
			BPG_TRY_TO(bpg_nomem(ctx, "the rows asked"), out);
		*one = 1;
		for (int64_t i = 0; i < count; i++) {
			index[i] = i;
			own[i] = (struct bpg_question_row){ .n = 1, .index = &index[i], .coef = one };
		}
		row = own;
	}
	for (int v = 0; !st && v < m->nodes; v++) {
		if (m->options.progress)
			m->options.progress(m->options.progress_arg, &(struct bpg_progress_point){ v + 1, m->nodes, m->rows, 0, 0, INFINITY });
		st = bpg_rt_stopped(m->rt) ? bpg_model_wait(ctx, m) : settle(ctx, m, &m->node[v]);
	}
	if (!st)
		st = bpg_rt_wait(m->rt, ctx);
	if (st)
		goto out;
	for (int s = 0; s < m->segments; s++)
		rows_from_intervals(m, s, row, count, lower + s * count, upper + s * count);
	BPG_TRY_TO(bpg_stage_question(ctx, m, arena, row, count, m->options.method == BPG_METHOD_IBP, &stage), out);
	struct question_look look = { lower, upper };
	if (m->options.objective == BPG_OBJECTIVE_JOINT && stage.iterations)
		BPG_TRY_TO(bpg_joint_run(ctx, m, &stage, look_at_question, &look), out);
	else
		BPG_TRY_TO(bpg_stage_run(ctx, m, &stage, look_at_question, &look), out);
	if (m->least_bytes > m->options.memory)
		BPG_TRY_TO(bpg_fail(ctx, BPG_ENOMEM, "--memory: %zu bytes are too little; this question needs at least %zu%s", m->options.memory,
		                    m->least_bytes, m->alpha_bytes && !m->options.sharing ? " (--alpha-sharing=node takes less)" : ""), out);
	for (int64_t i = 0; i < m->segments * count; i++) {
		if (!(sides & 1))
			lower[i] = -INFINITY;
		if (!(sides & 2))
			upper[i] = INFINITY;
		if (lower[i] > upper[i]) {
			if (m->options.slack)
				BPG_TRY_TO(bpg_fail(ctx, BPG_ENUMERIC, "%s: the bounds of row %lld cross: %.17g > %.17g", m->net->path, (long long)i, lower[i], upper[i]), out);
			lower[i] = upper[i] = (lower[i] + upper[i]) / 2;
		}
	}
out:
	bpg_arena_free(arena);
	return st;
}
