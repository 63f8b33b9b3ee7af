/* task_planes.c - rows over a node with sparse planes (products, maxima, softmax, ...) to rows over its inputs: the lower
 * plane where the coefficient is >= 0, the upper one where it is negative. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "codelets/clones.h"
#include "codelets/plane_columns.h"

#define REAL float
#define REAL_ABS fabsf
#define NAME(x) x##_f32
#include "codelets/plane_rows.inc"
#undef REAL
#undef REAL_ABS
#undef NAME
#define REAL double
#define REAL_ABS fabs
#define NAME(x) x##_f64
#include "codelets/plane_rows.inc"
#undef REAL
#undef REAL_ABS
#undef NAME

/* Element of column j of a tile over k. */
static int64_t element_of(const struct bpg_columns *k, const struct bpg_window *w, int64_t j)
{
	return bpg_columns_element(k, bpg_columns_at(k, w, j));
}

/* Where a plane costs what, for all planes of a node. */
struct costs {
	const struct bpg_hop *h;
	void *const *bounds;      /* of the node, of each input */
	int64_t segment;
	double unit, sums, fan;   /* fan: most terms that meet in one input element */
	bool slack;
};

/* Row t of the planes s as one of element i: what it is at the reference values, and its price. */
static void take_plane(const struct costs *k, const struct bpg_sparse *s, int64_t row, int64_t i, double *at, double *price)
{
	const struct bpg_hop *h = k->h;
	double c = bpg_segment_bounds(h->out, k->bounds[0], k->segment)[BPG_CENTRE * h->out->n + i], sum = s->bias[row] - c, size = fabs(s->bias[row]) + fabs(c), gross = 0;
	int64_t terms = s->first[row + 1] - s->first[row];

	for (int64_t t = s->first[row]; t < s->first[row + 1]; t++) {
		int in = 0;
		while (h->operand[in] != s->operand[t])
			in++;
		const double *f = bpg_segment_bounds(h->in[in], k->bounds[1 + in], k->segment);
		int64_t n = h->in[in]->n;
		double q = s->coef[t], x = f[BPG_CENTRE * n + s->index[t]], r = f[BPG_RADIUS * n + s->index[t]];
		sum += q * x;
		size += fabs(q * x);
		gross += fabs(q) * r;
	}
	*at = sum;
	*price = k->slack ? bpg_gamma(k->fan + 4, k->unit) * gross * 1.0001 + bpg_gamma(k->sums + (double)terms, BPG_U64) * size : 0;
}

/* Terms of the planes in row `row` in operand k, lower and upper ones of the same input together. */
static int64_t terms_of(const struct bpg_arg_map *m, int64_t row, struct bpg_plane_term *to)
{
	const struct bpg_columns *d = m->hop->in[m->k];
	int64_t n = 0;

	for (int b = 0; b < 2; b++) {
		const struct bpg_sparse *s = b ? m->hop->upper : m->hop->lower;
		int64_t guess = 0;

		for (int64_t t = s->first[row]; t < s->first[row + 1]; t++) {
			if (s->operand[t] != m->hop->operand[m->k])
				continue;
			int64_t c = bpg_columns_column(d, &m->to.window, bpg_columns_place(d, s->index[t]));
			if (c < 0)
				continue;
			/* Both planes mostly name the same inputs in the same order. Coefficients of one plane are never added: a
			 * float would round them. */
			if (b && guess < n && to[guess].column == (int32_t)c && to[guess].upper == 0) {
				to[guess++].upper = s->coef[t];
				continue;
			}
			to[n++] = (struct bpg_plane_term){ (int32_t)c, b ? 0 : s->coef[t], b ? s->coef[t] : 0 };
		}
	}
	return n;
}

/* Those of one other plane. */
static int64_t other_terms_of(const struct bpg_arg_map *m, int64_t row, int side, struct bpg_plane_term *to)
{
	const struct bpg_columns *d = m->hop->in[m->k];
	const struct bpg_sparse *s = m->hop->other[side];
	int64_t n = 0;

	for (int64_t t = s->first[row]; t < s->first[row + 1]; t++) {
		int64_t c = s->operand[t] == m->hop->operand[m->k] ? bpg_columns_column(d, &m->to.window, bpg_columns_place(d, s->index[t])) : -1;
		if (c >= 0)
			to[n++] = (struct bpg_plane_term){ (int32_t)c, side ? 0 : s->coef[t], side ? s->coef[t] : 0 };
	}
	return n;
}

int bpg_others_of(const struct bpg_hop *h, int side, int64_t i)
{
	return h->other[side] ? (int)(h->other[side]->of[i + 1] - h->other[side]->of[i]) : 0;
}

int64_t bpg_others_in(const struct bpg_hop *h, const struct bpg_window *w)
{
	int64_t columns = bpg_columns_in(h->out, w), n = 0;

	for (int64_t j = 0; (h->other[0] || h->other[1]) && j < columns; j++) {
		int64_t i = element_of(h->out, w, j);
		n += bpg_others_of(h, 0, i) + bpg_others_of(h, 1, i);
	}
	return n;
}

void bpg_plane_columns_free(struct bpg_plane_columns *c)
{
	free(c->first);
	free(c->plane);
	free(c->term);
	*c = (struct bpg_plane_columns){ 0 };
}

bool bpg_plane_columns_set(struct bpg_plane_columns *c, const struct bpg_arg_map_planes *a, void *const *buffer, int64_t segment)
{
	const struct bpg_arg_map *m = &a->map;
	const struct bpg_hop *h = m->hop;
	const struct bpg_columns *k = h->out;
	int64_t most = 0, row0 = segment * k->n;

	bpg_plane_columns_free(c);
	c->count = bpg_columns_in(k, &m->from.window);
	c->others = a->chosen ? bpg_others_in(h, &m->from.window) : 0;
	for (int64_t j = 0; j < c->count; j++) {
		int64_t i = element_of(k, &m->from.window, j), row = row0 + i;
		most += h->lower->first[row + 1] - h->lower->first[row] + h->upper->first[row + 1] - h->upper->first[row];
		for (int side = 0; c->others && side < 2; side++)
			if (h->other[side])
				most += h->other[side]->first[h->other[side]->of[i + 1]] - h->other[side]->first[h->other[side]->of[i]];
	}
	int64_t all = c->count + c->others;
	c->first = malloc((size_t)(all + 1) * sizeof *c->first);
	c->plane = m->k == 0 && buffer ? bpg_calloc((size_t)all + 1, sizeof *c->plane) : NULL;
	c->term = malloc((size_t)(most + 1) * sizeof *c->term);
	if (!c->first || !c->term || (m->k == 0 && buffer && !c->plane))
		return false;

	struct costs costs = { h, buffer, segment, m->from.wide ? BPG_U64 : BPG_U32, (double)all + 16, bpg_planes_fan(h), a->slack };
	int64_t n = c->count;
	c->first[0] = 0;
	for (int64_t j = 0; j < c->count; j++) {
		int64_t i = element_of(k, &m->from.window, j);
		c->first[j + 1] = c->first[j] + terms_of(m, row0 + i, c->term + c->first[j]);
		for (int side = 0; c->plane && side < 2; side++)
			take_plane(&costs, side ? h->upper : h->lower, row0 + i, i, &c->plane[j].at[side], &c->plane[j].price[side]);
	}
	for (int64_t j = 0; c->others && j < c->count; j++) {
		int64_t i = element_of(k, &m->from.window, j);
		for (int side = 0; side < 2; side++)
			for (int o = 0; o < bpg_others_of(h, side, i); o++, n++) {
				int64_t row = h->other[side]->of[i] + o;
				c->first[n + 1] = c->first[n] + other_terms_of(m, row, side, c->term + c->first[n]);
				if (c->plane)
					take_plane(&costs, h->other[side], row, i, &c->plane[n].at[side], &c->plane[n].price[side]);
			}
	}
	return true;
}

/* A strip of coefficients dealt out to all columns; adds what that costs the rows. */
static void deal(const struct bpg_arg_map *m, const void *x, const float *weight, const double *radius, void *to, double *dear)
{
	const struct bpg_hop *h = m->hop;
	int64_t columns = bpg_columns_in(h->out, &m->from.window), other = columns;

	for (int64_t j = 0; j < columns; j++) {
		int64_t i = element_of(h->out, &m->from.window, j), at = j * BPG_LANES, part = other * BPG_LANES;
		int below = bpg_others_of(h, 0, i), above = bpg_others_of(h, 1, i);
		const float *w = weight + (other - columns) * BPG_LANES;
		double lost[BPG_LANES];

		if (m->from.wide)
			deal_column_f64((const double *)x + at, below, above, w, (double *)to + at, (double *)to + part, lost);
		else
			deal_column_f32((const float *)x + at, below, above, w, (float *)to + at, (float *)to + part, lost);
		for (int e = 0; e < BPG_LANES; e++)
			dear[e] += lost[e] > 0 ? lost[e] * radius[i] : 0;
		other += below + above;
	}
}

void bpg_task_map_planes(struct bpg_rt *rt, void *const *buffer, const void *arg)
{
	const struct bpg_arg_map_planes *a = arg;
	const struct bpg_arg_map *m = &a->map;
	const struct bpg_hop *h = m->hop;
	bool wide = m->from.wide;
	int64_t rows = (int64_t)m->from.strips * BPG_LANES, lane = BPG_LANES * (int64_t)(wide ? sizeof(double) : sizeof(float));
	int64_t target = bpg_columns_in(h->in[m->k], &m->to.window);
	const double *radius = (const double *)buffer[0] + BPG_RADIUS * h->out->n; /* of the one segment where planes are chosen */
	const char *from = buffer[1 + h->nin];
	char *to = buffer[3 + h->nin];
	double *state = buffer[2 + h->nin];
	struct bpg_plane_columns c = { 0 };
	void *dealt = NULL;

	memset(to, 0, (size_t)(m->to.strips * target * lane));
	for (int q = 0; q < m->from.strips; q++) {
		int64_t segment = bpg_segment_of(&m->from, q);
		if (q == 0 || segment != bpg_segment_of(&m->from, q - 1)) {
			bool ok = bpg_plane_columns_set(&c, a, buffer, segment);
			if (ok && c.others && !dealt)
				ok = (dealt = malloc((size_t)((c.count + c.others) * lane))) != NULL;
			if (!ok) {
				bpg_rt_fault(rt, BPG_ENOMEM, "node '%s' (%s): memory is short for its planes", h->v->name, h->v->op);
				break;
			}
		}
		int64_t all = c.count + c.others;
		const void *x = from + q * c.count * lane;
		void *y = to + q * target * lane;
		double dear[BPG_LANES] = { 0 }, sum[BPG_LANES] = { 0 }; /* from zero: the size of p would enter every rounding */

		if (c.others) {
			deal(m, x, (const float *)buffer[4 + h->nin] + q * c.others * BPG_LANES, radius, dealt, dear);
			x = dealt;
		}
		if (wide)
			plane_terms_f64(x, all, c.first, c.term, y);
		else
			plane_terms_f32(x, all, c.first, c.term, y);
		if (!c.plane)
			continue;
		double *p = state + BPG_P * rows + q * BPG_LANES, *slack = state + BPG_SLACK * rows + q * BPG_LANES;
		if (wide)
			plane_state_f64(x, all, c.plane, sum, dear);
		else
			plane_state_f32(x, all, c.plane, sum, dear);
		for (int e = 0; e < BPG_LANES; e++) {
			p[e] += sum[e];
			if (a->slack)
				slack[e] += dear[e] * (1 + 0x1p-12) + 8 * BPG_U64 * fabs(p[e]) + h->under;
		}
	}
	free(dealt);
	bpg_plane_columns_free(&c);
}
