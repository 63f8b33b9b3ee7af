/* task_planes.c - rows over a node with sparse planes (products, maxima, softmax, ...) to rows over its inputs: the lower
 * plane where the coefficient is >= 0, the upper one where it is negative. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "codelets/clones.h"
#include "codelets/tasks.h"

/* What a column's two planes are at the reference values, and what rounding costs a unit of its coefficient. */
struct plane {
	double at[2], price[2];
};

/* Coefficient of one input column in the lower and in the upper plane; columns are those of the target tile. */
struct term {
	int32_t column;
	float lower, upper;
};

#define REAL float
#define NAME(x) x##_f32
#include "codelets/plane_rows.inc"
#undef REAL
#undef NAME
#define REAL double
#define NAME(x) x##_f64
#include "codelets/plane_rows.inc"
#undef REAL
#undef NAME

/* Element of column j of a tile over k. */
static int64_t element_of(const struct bpg_columns *k, const struct bpg_window *w, int64_t j)
{
	if (!k->grid)
		return k->index[j];
	int64_t width = w->up[1] - w->lo[1], at = j / k->channels;
	int64_t place = ((w->lo[0] + at / width) * k->size[1] + w->lo[1] + at % width) * k->channels + j % k->channels;
	return bpg_columns_element(k, place);
}

static struct plane plane_of(const struct bpg_hop *h, int64_t i, void *const *bounds, const double *own, double unit, double sums, bool slack)
{
	const struct bpg_sparse *side[2] = { h->lower, h->upper };
	double fan = (double)h->lower->most_fan + (double)h->upper->most_fan, c = own[BPG_CENTRE * h->out->n + i];
	struct plane p;

	for (int b = 0; b < 2; b++) {
		double at = side[b]->bias[i] - c, size = fabs(side[b]->bias[i]) + fabs(c), gross = 0;
		int64_t terms = side[b]->first[i + 1] - side[b]->first[i];

		for (int64_t t = side[b]->first[i]; t < side[b]->first[i + 1]; t++) {
			int in = 0;
			while (h->operand[in] != side[b]->operand[t])
				in++;
			const double *f = bounds[in];
			int64_t n = h->in[in]->n;
			double q = side[b]->coef[t], x = f[BPG_CENTRE * n + side[b]->index[t]], r = f[BPG_RADIUS * n + side[b]->index[t]];
			at += q * x;
			size += fabs(q * x);
			gross += fabs(q) * r;
		}
		p.at[b] = at;
		p.price[b] = slack ? bpg_gamma(fan + 4, unit) * gross * 1.0001 + bpg_gamma(sums + (double)terms, BPG_U64) * size : 0;
	}
	return p;
}

/* Terms of column i's planes in operand k, lower and upper ones of the same input together. */
static int64_t terms_of(const struct bpg_arg_map *m, int64_t i, struct term *to)
{
	const struct bpg_columns *d = m->hop->in[m->k];
	int64_t n = 0;

	for (int b = 0; b < 2; b++) {
		const struct bpg_sparse *s = b ? m->hop->upper : m->hop->lower;
		int64_t guess = 0;

		for (int64_t t = s->first[i]; t < s->first[i + 1]; t++) {
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
			to[n++] = (struct term){ (int32_t)c, b ? 0 : s->coef[t], b ? s->coef[t] : 0 };
		}
	}
	return n;
}

void bpg_task_map_planes(struct bpg_rt *rt, void *const *buffer, const void *arg)
{
	const struct bpg_arg_map_planes *a = arg;
	const struct bpg_arg_map *m = &a->map;
	const struct bpg_hop *h = m->hop;
	const struct bpg_columns *k = h->out;
	bool wide = m->from.wide;
	int64_t columns = bpg_columns_in(k, &m->from.window), target = bpg_columns_in(h->in[m->k], &m->to.window), most = 0;
	int64_t rows = (int64_t)m->from.strips * BPG_LANES, lane = BPG_LANES * (int64_t)(wide ? sizeof(double) : sizeof(float));
	const char *from = buffer[1 + h->nin];
	char *to = buffer[3 + h->nin];
	double *state = buffer[2 + h->nin];
	int64_t *first = malloc((size_t)(columns + 1) * sizeof *first);
	struct plane *plane = m->k == 0 ? malloc((size_t)(columns + 1) * sizeof *plane) : NULL;
	struct term *term = NULL;

	for (int64_t j = 0; j < columns; j++) {
		int64_t i = element_of(k, &m->from.window, j);
		most += h->lower->first[i + 1] - h->lower->first[i] + h->upper->first[i + 1] - h->upper->first[i];
	}
	term = malloc((size_t)(most + 1) * sizeof *term);
	if (!first || !term || (m->k == 0 && !plane)) {
		bpg_rt_fault(rt, BPG_ENOMEM, "node '%s' (%s): memory is short for its planes", h->v->name, h->v->op);
		goto out;
	}
	first[0] = 0;
	for (int64_t j = 0; j < columns; j++) {
		int64_t i = element_of(k, &m->from.window, j);
		first[j + 1] = first[j] + terms_of(m, i, term + first[j]);
		if (plane)
			plane[j] = plane_of(h, i, buffer + 1, buffer[0], wide ? BPG_U64 : BPG_U32, (double)columns + 16, a->slack);
	}
	memset(to, 0, (size_t)(m->to.strips * target * lane));
	for (int q = 0; q < m->from.strips; q++) {
		const void *x = from + q * columns * lane;
		void *y = to + q * target * lane;

		if (wide)
			plane_terms_f64(x, columns, first, term, y);
		else
			plane_terms_f32(x, columns, first, term, y);
		if (!plane)
			continue;
		double *p = state + BPG_P * rows + q * BPG_LANES, *slack = state + BPG_SLACK * rows + q * BPG_LANES;
		double dear[BPG_LANES] = { 0 }, sum[BPG_LANES] = { 0 }; /* from zero: the size of p would enter every rounding */
		if (wide)
			plane_state_f64(x, columns, plane, sum, dear);
		else
			plane_state_f32(x, columns, plane, sum, dear);
		for (int e = 0; e < BPG_LANES; e++) {
			p[e] += sum[e];
			if (a->slack)
				slack[e] += dear[e] * (1 + 0x1p-12) + 8 * BPG_U64 * fabs(p[e]) + h->under;
		}
	}
out:
	free(first);
	free(plane);
	free(term);
}
