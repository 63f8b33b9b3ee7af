/* task_rows.c - relax, toll, map, add, copy, concretize, finish: what a walk does to a tile besides products.
 *
 * doc/numbers.md proves that the state after each task still bounds the row. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "codelets/clones.h"
#include "codelets/lanes.h"
#include "codelets/tasks.h"

#define REAL float
#define REAL_ABS fabsf
#define NAME(x) x##_f32
#include "codelets/tile_rows.inc"
#undef REAL
#undef REAL_ABS
#undef NAME
#define REAL double
#define REAL_ABS fabs
#define NAME(x) x##_f64
#include "codelets/tile_rows.inc"
#undef REAL
#undef REAL_ABS
#undef NAME

/* Calls the float or the double version with tiles as char pointers. */
#define BY_TYPE(wide, call32, call64) ((wide) ? (call64) : (call32))
#define F32(p) ((float *)(void *)(p))
#define F64(p) ((double *)(void *)(p))

static size_t lane_bytes(bool wide)
{
	return BPG_LANES * (wide ? sizeof(double) : sizeof(float));
}

/* ---- runs of a tile's columns that are consecutive canonical positions ---- */

struct span {
	int64_t column, place, n;
	int32_t y;
};

static bool next_span(const struct bpg_columns *k, const struct bpg_window *w, struct span *s)
{
	if (!k->grid) {
		if (s->n)
			return false;
		*s = (struct span){ .n = k->count };
		return k->count > 0;
	}
	s->y = s->n ? s->y + 1 : w->lo[0];
	if (s->y >= w->up[0] || w->lo[1] >= w->up[1])
		return false;
	s->n = (int64_t)(w->up[1] - w->lo[1]) * k->channels;
	s->column = (int64_t)(s->y - w->lo[0]) * s->n;
	s->place = ((int64_t)s->y * k->size[1] + w->lo[1]) * k->channels;
	return true;
}

/* Values of a field of bounds in the order of a tile's columns. */
static void by_column(const struct bpg_columns *k, const struct bpg_window *w, const double *field, double *to)
{
	if (!k->grid) {
		for (int64_t j = 0; j < k->count; j++)
			to[j] = field[k->index[j]];
		return;
	}
	for (int64_t y = w->lo[0]; y < w->up[0]; y++)
		for (int64_t x = w->lo[1]; x < w->up[1]; x++) {
			const double *f = field + k->base + y * k->stride[1] + x * k->stride[2];
			for (int32_t c = 0; c < k->channels; c++)
				*to++ = f[c * k->stride[0]];
		}
}

/* A strip that does not go on with the segment of the one before. */
static bool other_segment(const struct bpg_view_tile *t, int strip)
{
	return strip == 0 || bpg_segment_of(t, strip) != bpg_segment_of(t, strip - 1);
}

/* ---- relax ---- */

void bpg_relax_columns(bool wide, void *x, int64_t n, const double *planes, int64_t places, int64_t at, bool slack, double *sum, double *dear)
{
	if (wide)
		relax_columns_f64(x, n, planes, places, at, slack, sum, dear);
	else
		relax_columns_f32(x, n, planes, places, at, slack, sum, dear);
}

void bpg_relax_strip(const struct bpg_arg_relax *r, const double *planes, void *tile, int strip, double *state, int64_t rows)
{
	const struct bpg_columns *k = r->hop->out;
	int64_t columns = bpg_columns_in(k, &r->tile.window), places = bpg_columns_places(k);
	planes = bpg_segment_planes(k, planes, bpg_segment_of(&r->tile, strip));
	double *p = state + BPG_P * rows + strip * BPG_LANES, *slack = state + BPG_SLACK * rows + strip * BPG_LANES;
	char *a = (char *)tile + strip * columns * (int64_t)lane_bytes(r->tile.wide);
	double sum[BPG_LANES] = { 0 }; /* from zero: the size of p would enter every rounding */

	for (struct span s = { 0 }; next_span(k, &r->tile.window, &s);) {
		bpg_relax_columns(r->tile.wide, a + s.column * (int64_t)lane_bytes(r->tile.wide), s.n, planes, places, s.place, r->slack, sum, slack);
	}
	for (int e = 0; e < BPG_LANES; e++)
		p[e] += sum[e];
	if (r->slack)
		for (int e = 0; e < BPG_LANES; e++)
			slack[e] += 8 * BPG_U64 * fabs(p[e]) + r->under + (double)columns * 0x1p-140; /* prices summed in float underflow */
}

void bpg_relax_opposite(const struct bpg_arg_relax *r, const double *planes, void *tile, int plus, int minus, double *state)
{
	const struct bpg_columns *k = r->hop->out;
	int64_t lane = (int64_t)lane_bytes(r->tile.wide), rows = (int64_t)r->tile.strips * BPG_LANES;
	double both[BPG_LANES] = { 0 }, both_dear[BPG_LANES] = { 0 };
	const int strip[2] = { plus, minus };

	planes = bpg_segment_planes(k, planes, bpg_segment_of(&r->tile, plus));
	bpg_relax_columns(r->tile.wide, (char *)tile + (plus * k->count + k->mixed) * lane, k->count - k->mixed, planes, k->count, k->mixed, r->slack,
	                  both, both_dear);
	for (int side = 0; side < 2; side++) {
		double *p = state + BPG_P * rows + strip[side] * BPG_LANES, *slack = state + BPG_SLACK * rows + strip[side] * BPG_LANES;
		double sum[BPG_LANES] = { 0 }, dear[BPG_LANES] = { 0 };

		bpg_relax_columns(r->tile.wide, (char *)tile + strip[side] * k->count * lane, k->mixed, planes, k->count, 0, r->slack, sum, dear);
		for (int e = 0; e < BPG_LANES; e++) {
			p[e] += sum[e] + (side ? -both[e] : both[e]);
			if (r->slack)
				slack[e] += dear[e] + both_dear[e] + 8 * BPG_U64 * fabs(p[e]) + r->under + (double)k->count * 0x1p-140;
		}
	}
}

void bpg_task_relax(struct bpg_rt *rt, void *const *buffer, const void *arg)
{
	const struct bpg_arg_relax *r = arg;

	(void)rt;
	for (int s = 0; s < r->tile.strips; s++)
		bpg_relax_strip(r, buffer[0], buffer[1], s, buffer[2], (int64_t)r->tile.strips * BPG_LANES);
}

void bpg_task_nothing(struct bpg_rt *rt, void *const *buffer, const void *arg)
{
	(void)rt, (void)buffer, (void)arg;
}

/* ---- toll ---- */

void bpg_task_toll(struct bpg_rt *rt, void *const *buffer, const void *arg)
{
	const struct bpg_arg_relax *r = arg;
	const struct bpg_columns *k = r->hop->out;
	double gamma = r->tile.wide ? r->hop->gamma64 : r->hop->gamma32, *state = buffer[2];
	int64_t columns = bpg_columns_in(k, &r->tile.window), rows = (int64_t)r->tile.strips * BPG_LANES;
	double *price = malloc((size_t)(2 * columns + 1) * sizeof *price), *more = price + columns;

	if (!price) {
		bpg_rt_fault(rt, BPG_ENOMEM, "memory is short for %lld columns", (long long)columns);
		return;
	}
	for (int s = 0; s < r->tile.strips; s++) {
		if (other_segment(&r->tile, s)) {
			const double *bounds = bpg_segment_bounds(k, buffer[0], bpg_segment_of(&r->tile, s));
			by_column(k, &r->tile.window, bounds + BPG_EXTRA * k->n, price);
			if (gamma > 0) {
				by_column(k, &r->tile.window, bounds + BPG_GROSS * k->n, more);
				for (int64_t j = 0; j < columns; j++)
					price[j] += gamma * more[j];
			}
		}
		const char *a = (const char *)buffer[1] + s * columns * (int64_t)lane_bytes(r->tile.wide);
		double *slack = state + BPG_SLACK * rows + s * BPG_LANES;
		BY_TYPE(r->tile.wide, toll_columns_f32(F32(a), columns, price, slack), toll_columns_f64(F64(a), columns, price, slack));
		for (int e = 0; e < BPG_LANES; e++)
			slack[e] += r->under;
	}
	free(price);
}

/* ---- sparse maps ---- */

/* Scatters the terms of every column: to[term] += from[column] * coef, columns in ascending order. An element without a column is its
 * reference value, but a window holds all that its terms touch. */
static void scatter(struct bpg_rt *rt, const struct bpg_arg_map *m, const struct bpg_sparse *sp, const char *from, char *to)
{
	const struct bpg_columns *k = m->hop->out, *d = m->hop->in[m->k];
	int64_t fc = bpg_columns_in(k, &m->from.window), tc = bpg_columns_in(d, &m->to.window);
	int64_t lane = (int64_t)lane_bytes(m->from.wide);

	for (struct span s = { 0 }; next_span(k, &m->from.window, &s);)
		for (int64_t j = 0; j < s.n; j++) {
			int64_t i = bpg_columns_element(k, s.place + j);
			for (int64_t t = sp->first[i]; t < sp->first[i + 1]; t++) {
				if (sp->operand[t] != m->hop->operand[m->k])
					continue;
				int64_t c = bpg_columns_column(d, &m->to.window, bpg_columns_place(d, sp->index[t]));
				if (c < 0 && d->grid)
					bpg_rt_fault(rt, BPG_ENUMERIC, "node '%s' (%s): a term lies outside of its window", m->hop->v->name, m->hop->v->op);
				for (int q = 0; c >= 0 && q < m->from.strips; q++) {
					const char *x = from + (q * fc + s.column + j) * lane;
					char *y = to + (q * tc + c) * lane;
					BY_TYPE(m->from.wide, axpy_f32(F32(y), F32(x), sp->coef[t]), axpy_f64(F64(y), F64(x), sp->coef[t]));
				}
			}
		}
}

static void clear(const struct bpg_columns *k, const struct bpg_view_tile *t, void *tile)
{
	memset(tile, 0, (size_t)(t->strips * bpg_columns_in(k, &t->window)) * lane_bytes(t->wide));
}

void bpg_task_map(struct bpg_rt *rt, void *const *buffer, const void *arg)
{
	const struct bpg_arg_map *m = arg;

	clear(m->hop->in[m->k], &m->to, buffer[1]);
	scatter(rt, m, m->hop->terms, buffer[0], buffer[1]);
}

/* ---- joins ---- */

/* Prices of the sum at a join, by column of `from`. */
double *bpg_join_prices(struct bpg_rt *rt, const struct bpg_columns *k, const struct bpg_view_tile *from, int strip, const double *bounds, bool slack,
                        double *price)
{
	const double *radius = bpg_segment_bounds(k, bounds, bpg_segment_of(from, strip)) + BPG_RADIUS * k->n;
	int64_t columns = bpg_columns_in(k, &from->window);
	double unit = from->wide ? BPG_U64 : BPG_U32;

	if (price && !other_segment(from, strip))
		return price;
	free(price);
	price = bpg_calloc((size_t)columns + 1, sizeof *price);
	if (!price)
		bpg_rt_fault(rt, BPG_ENOMEM, "memory is short for %lld columns", (long long)columns);
	if (price && slack) {
		by_column(k, &from->window, radius, price);
		for (int64_t j = 0; j < columns; j++)
			price[j] = unit * price[j] + 0x1p-60;
	}
	return price;
}

static void add_strip(const struct bpg_arg_add *a, int q, const void *from, void *to, const double *price, double *state)
{
	const struct bpg_columns *k = a->hop->out;
	int64_t fc = bpg_columns_in(k, &a->from.window), tc = bpg_columns_in(k, &a->to.window), lane = (int64_t)lane_bytes(a->from.wide);
	double *slack = state + BPG_SLACK * a->from.strips * BPG_LANES + q * BPG_LANES;

	for (struct span s = { 0 }; next_span(k, &a->from.window, &s);) {
		int64_t c = bpg_columns_column(k, &a->to.window, s.place); /* a span lies in one row of both windows */
		const char *x = (const char *)from + (q * fc + s.column) * lane;
		char *y = (char *)to + (q * tc + c) * lane;
		BY_TYPE(a->from.wide, add_columns_f32(F32(y), F32(x), s.n, price + s.column, slack),
		        add_columns_f64(F64(y), F64(x), s.n, price + s.column, slack));
	}
	for (int e = 0; a->slack && e < BPG_LANES; e++)
		slack[e] += (double)fc * 0x1p-140; /* prices summed in float underflow */
}

void bpg_task_add(struct bpg_rt *rt, void *const *buffer, const void *arg)
{
	const struct bpg_arg_add *a = arg;
	double *price = NULL;

	for (int q = 0; q < a->from.strips; q++) {
		price = bpg_join_prices(rt, a->hop->out, &a->from, q, buffer[0], a->slack, price);
		if (!price)
			return;
		add_strip(a, q, buffer[1], buffer[2], price, buffer[3]);
	}
	free(price);
}

void bpg_add_relax_strip(const struct bpg_arg_relax *r, const double *planes, void *tile, int strip, double *state, const void *second, const double *price)
{
	struct bpg_arg_add a = { r->hop, r->tile, r->tile, r->slack };

	if (second)
		add_strip(&a, strip, second, tile, price, state);
	bpg_relax_strip(r, planes, tile, strip, state, (int64_t)r->tile.strips * BPG_LANES);
}

void bpg_task_add_relax(struct bpg_rt *rt, void *const *buffer, const void *arg)
{
	const struct bpg_arg_relax *r = arg;
	double *price = NULL;

	for (int q = 0; q < r->tile.strips; q++) { /* a strip at a time, while it is in the cache */
		price = bpg_join_prices(rt, r->hop->out, &r->tile, q, buffer[3], r->slack, price);
		if (!price)
			return;
		bpg_add_relax_strip(r, buffer[0], buffer[1], q, buffer[2], buffer[4], price);
	}
	free(price);
}

/* Columns of the larger of two windows of which one holds the other: zero where `from` has none. */
void bpg_task_copy(struct bpg_rt *rt, void *const *buffer, const void *arg)
{
	const struct bpg_arg_add *a = arg;
	const struct bpg_columns *k = a->hop->out;
	int64_t fc = bpg_columns_in(k, &a->from.window), tc = bpg_columns_in(k, &a->to.window), lane = (int64_t)lane_bytes(a->from.wide);
	struct bpg_window both = a->from.window;

	(void)rt;
	if (fc < tc)
		clear(k, &a->to, buffer[1]);
	for (int x = 0; x < 2; x++) {
		both.lo[x] = BPG_MAX(both.lo[x], a->to.window.lo[x]);
		both.up[x] = BPG_MIN(both.up[x], a->to.window.up[x]);
	}
	for (int q = 0; q < a->from.strips; q++)
		for (struct span s = { 0 }; next_span(k, &both, &s);) { /* a span lies in one row of both windows */
			int64_t f = bpg_columns_column(k, &a->from.window, s.place), t = bpg_columns_column(k, &a->to.window, s.place);
			memcpy((char *)buffer[1] + (q * tc + t) * lane, (const char *)buffer[0] + (q * fc + f) * lane, (size_t)(s.n * lane));
		}
}

/* ---- the end of a walk ---- */

static void keep_coefficients(const struct bpg_arg_concretize *a, const void *tile, double *keep)
{
	const struct bpg_columns *k = a->hop->out;
	int64_t columns = bpg_columns_in(k, &a->tile.window);

	for (struct span s = { 0 }; next_span(k, &a->tile.window, &s);)
		for (int64_t j = 0; j < s.n; j++) {
			double *to = keep + a->first + bpg_columns_element(k, s.place + j);
			for (int q = 0; q < a->tile.strips; q++)
				for (int e = 0; e < BPG_LANES; e++, to += a->inputs + 1) {
					int64_t at = (q * columns + s.column + j) * BPG_LANES + e;
					*to = a->tile.wide ? ((const double *)tile)[at] : (double)((const float *)tile)[at];
				}
		}
}

void bpg_task_concretize(struct bpg_rt *rt, void *const *buffer, const void *arg)
{
	const struct bpg_arg_concretize *a = arg;
	const struct bpg_columns *k = a->hop->out;
	int64_t columns = bpg_columns_in(k, &a->tile.window), rows = (int64_t)a->tile.strips * BPG_LANES;
	double *state = buffer[2], *radius = malloc((size_t)(columns ? columns : 1) * sizeof *radius);

	if (!radius) {
		bpg_rt_fault(rt, BPG_ENOMEM, "memory is short for %lld columns", (long long)columns);
		return;
	}
	for (int s = 0; s < a->tile.strips; s++) {
		if (other_segment(&a->tile, s))
			by_column(k, &a->tile.window, bpg_segment_bounds(k, buffer[0], bpg_segment_of(&a->tile, s)) + BPG_RADIUS * k->n, radius);
		const char *x = (const char *)buffer[1] + s * columns * (int64_t)lane_bytes(a->tile.wide);
		double *box = state + BPG_BOX * rows + s * BPG_LANES, *ball = state + BPG_BALL * rows + s * BPG_LANES;
		BY_TYPE(a->tile.wide, box_columns_f32(F32(x), columns, radius, box), box_columns_f64(F64(x), columns, radius, box));
		if (a->norm)
			BY_TYPE(a->tile.wide, ball_columns_f32(F32(x), columns, a->norm, ball), ball_columns_f64(F64(x), columns, a->norm, ball));
	}
	free(radius);
	if (a->inputs)
		keep_coefficients(a, buffer[1], buffer[3]);
}

void bpg_task_finish(struct bpg_rt *rt, void *const *buffer, const void *arg)
{
	const struct bpg_arg_finish *a = arg;
	const double *state = buffer[0];
	double *lb = buffer[1], gamma = bpg_gamma((double)a->terms + 16, BPG_U64);
	const double tiny = 0x1p-1000; /* what products in double may have lost below the least number */

	(void)rt;
	for (int r = 0; r < a->rows; r++) {
		double p = state[BPG_P * a->rows + r], slack = state[BPG_SLACK * a->rows + r], far = state[BPG_BOX * a->rows + r];

		if (a->norm) {
			double ball = state[BPG_BALL * a->rows + r];
			ball = (a->norm == 2 ? sqrt(ball + (double)a->terms * 0x1p-1070) : ball) * a->radius;
			if (!(far <= ball) && !isnan(far))
				far = ball;
		}
		double bound = p - far;
		if (a->slack)
			bound = bpg_next_down(bound - (gamma * far + slack * (1 + 0x1p-20) + 8 * BPG_U64 * (fabs(p) + far) + tiny));
		bound = bound > -INFINITY ? bound : -INFINITY; /* NaN (0 * infinity) says nothing about the row */
		if (a->inputs) {
			double at = a->slack ? bpg_next_down(p - (slack * (1 + 0x1p-20) + 8 * BPG_U64 * fabs(p) + tiny)) : p;
			((double *)buffer[2])[r * (a->inputs + 1) + a->inputs] = at > -INFINITY ? at : -INFINITY;
		}
		lb[r] = a->best && lb[r] > bound ? lb[r] : bound;
	}
}
