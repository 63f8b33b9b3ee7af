/* task_weights.c - the forward chain through sparse planes, and the weights of each row for the other planes of an element.
 *
 * With weights w_k a row stands for v (plane_0 + sum of w_k (plane_k - plane_0)), v its coefficient, so that its bound changes
 * by v (plane_k - plane_0) with w_k, both at the row's point. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "codelets/task_alpha.h"

#define LANES_DO for (int e = 0; e < BPG_LANES; e++)

enum { PLANES = 2 * (1 + BPG_OTHERS) };

void bpg_task_weights_start(struct bpg_rt *rt, void *const *buffer, const void *arg)
{
	const struct bpg_arg_weights *a = arg;
	size_t n = (size_t)(a->tile.strips * a->others * BPG_LANES);

	(void)rt;
	memset(buffer[0], 0, n * sizeof(float));
	memset(buffer[1], 0, 2 * n * sizeof(float));
}

/* A term of a plane: where the point of its input is in the first strip, and how far apart strips are. */
struct reach {
	const float *x;
	int64_t strip;
	float coef;
};

/* All planes of an element: lower, upper, the others below, those above. */
struct bundle {
	int count, others[2];
	float at[PLANES];         /* at the reference values, less the element's own */
	int64_t first[PLANES + 1];
	struct reach *reach;
};

static void add_plane(const struct bpg_arg_weights *a, void *const *buffer, const struct bpg_sparse *s, int64_t row, double own, struct bundle *b)
{
	const struct bpg_hop *h = a->hop;
	double at = s->bias[row] - own;
	int64_t n = b->first[b->count];

	for (int64_t t = s->first[row]; t < s->first[row + 1]; t++) {
		int in = 0;
		while (h->operand[in] != s->operand[t])
			in++;
		const struct bpg_columns *d = h->in[in];
		int64_t j = bpg_columns_column(d, &a->in[in], bpg_columns_place(d, s->index[t]));
		at += s->coef[t] * ((const double *)buffer[1 + in])[BPG_CENTRE * d->n + s->index[t]];
		if (j >= 0)
			b->reach[n++] = (struct reach){ (const float *)buffer[2 + h->nin + in] + j * BPG_LANES, bpg_columns_in(d, &a->in[in]) * BPG_LANES, s->coef[t] };
	}
	b->at[b->count++] = (float)at;
	b->first[b->count] = n;
}

static void collect(const struct bpg_arg_weights *a, void *const *buffer, int64_t i, struct bundle *b)
{
	const struct bpg_hop *h = a->hop;
	double own = ((const double *)buffer[0])[BPG_CENTRE * h->out->n + i];

	b->count = 0;
	b->first[0] = 0;
	add_plane(a, buffer, h->lower, i, own, b);
	add_plane(a, buffer, h->upper, i, own, b);
	for (int side = 0; side < 2; side++) {
		b->others[side] = a->others ? bpg_others_of(h, side, i) : 0;
		for (int o = 0; o < b->others[side]; o++)
			add_plane(a, buffer, h->other[side], h->other[side]->of[i] + o, own, b);
	}
}

/* Values of all planes at the points of a strip. */
static void values(const struct bundle *b, int strip, float value[PLANES][BPG_LANES])
{
	for (int p = 0; p < b->count; p++) {
		float *restrict y = value[p];
		LANES_DO y[e] = b->at[p];
		for (int64_t t = b->first[p]; t < b->first[p + 1]; t++) {
			const float *restrict x = b->reach[t].x + strip * b->reach[t].strip, c = b->reach[t].coef;
			LANES_DO y[e] += c * x[e];
		}
	}
}

/* To the nearest weights that are at least 0 and 1 at most together. */
static void project(double *w, int n)
{
	double sum = 0, over = 0;
	bool in[BPG_OTHERS];
	int left = 0;

	for (int k = 0; k < n; k++) {
		w[k] = w[k] > 0 ? w[k] : 0;
		sum += w[k];
		in[k] = w[k] > 0;
		left += in[k];
	}
	if (sum <= 1)
		return;
	for (bool again = true; again;) { /* all lose the same, those that have no more drop out */
		again = false;
		over = (sum - 1) / left;
		for (int k = 0; k < n; k++)
			if (in[k] && w[k] <= over) {
				sum -= w[k];
				w[k] = 0;
				in[k] = false;
				left--;
				again = true;
			}
	}
	for (int k = 0; k < n; k++)
		w[k] = in[k] ? w[k] - over : 0;
}

/* One lane: its n weights, every 16th number, their moments, and what the bound changes by with each. */
static void step(const struct bpg_arg_weights *a, int n, const double *gradient, float *weight, float *m, float *v)
{
	double w[BPG_OTHERS];

	for (int k = 0; k < n; k++) {
		double g = isfinite(gradient[k]) ? gradient[k] : 0, mm = 0.9 * m[k * BPG_LANES] + 0.1 * g, vv = 0.999 * v[k * BPG_LANES] + 0.001 * g * g;
		w[k] = weight[k * BPG_LANES] + a->rate * mm * a->bias1 / (sqrt(vv * a->bias2) + 1e-8);
		m[k * BPG_LANES] = (float)mm;
		v[k * BPG_LANES] = (float)vv;
	}
	project(w, n);
	for (int k = 0; k < n; k++)
		weight[k * BPG_LANES] = (float)w[k];
}

/* A column of a strip: the point over it, and the step of its weights. rows: how much each row counts; null: all alike. */
static void pass(const struct bpg_arg_weights *a, const struct bundle *b, float value[PLANES][BPG_LANES], const double *v, const float *rows,
                 float *weight, float *m, float *moment2, float *z)
{
	LANES_DO {
		int side = v[e] < 0, n = b->others[side], skip = side ? b->others[0] : 0;
		float base = value[side][e], sum = base;
		double gradient[BPG_OTHERS];

		for (int k = 0; k < n; k++) {
			float d = value[2 + skip + k][e] - base;
			sum += weight[(skip + k) * BPG_LANES + e] * d;
			gradient[k] = (rows ? v[e] * rows[e] : v[e]) * d;
		}
		z[e] = sum;
		if (n && v[e] != 0)
			step(a, n, gradient, weight + skip * BPG_LANES + e, m + skip * BPG_LANES + e, moment2 + skip * BPG_LANES + e);
	}
}

/* Most terms that the planes of one element have together. */
static int64_t most_terms(const struct bpg_arg_weights *a)
{
	const struct bpg_hop *h = a->hop;
	int64_t most = 0;

	for (int64_t i = 0; i < h->out->n; i++) {
		int64_t n = h->lower->first[i + 1] - h->lower->first[i] + h->upper->first[i + 1] - h->upper->first[i];
		for (int side = 0; a->others && side < 2; side++)
			if (h->other[side])
				n += h->other[side]->first[h->other[side]->of[i + 1]] - h->other[side]->first[h->other[side]->of[i]];
		most = BPG_MAX(most, n);
	}
	return most;
}

void bpg_task_forward_planes(struct bpg_rt *rt, void *const *buffer, const void *arg)
{
	const struct bpg_arg_weights *a = arg;
	const struct bpg_hop *h = a->hop;
	const struct bpg_columns *k = h->out;
	int64_t columns = bpg_columns_in(k, &a->tile.window), n = a->tile.strips * a->others * BPG_LANES, other = 0;
	float *weights = a->others ? buffer[3 + 2 * h->nin] : NULL, *moments = a->others ? buffer[4 + 2 * h->nin] : NULL;
	const float *rows = a->weighed ? buffer[(a->others ? 5 : 3) + 2 * h->nin] : NULL;
	float value[PLANES][BPG_LANES];
	struct bundle b = { .reach = malloc((size_t)(most_terms(a) + 1) * sizeof *b.reach) };

	if (!b.reach) {
		bpg_rt_fault(rt, BPG_ENOMEM, "node '%s' (%s): memory is short for its planes", h->v->name, h->v->op);
		return;
	}
	for (int64_t c = 0; c < columns; c++) {
		collect(a, buffer, bpg_columns_element(k, bpg_columns_at(k, &a->tile.window, c)), &b);
		for (int q = 0; q < a->tile.strips; q++) {
			int64_t at = (q * columns + c) * BPG_LANES, w = (q * a->others + other) * BPG_LANES;
			const void *x = buffer[1 + h->nin];
			double v[BPG_LANES];

			LANES_DO v[e] = a->tile.wide ? ((const double *)x)[at + e] : (double)((const float *)x)[at + e];
			values(&b, q, value);
			pass(a, &b, value, v, rows ? rows + q * BPG_LANES : NULL, weights ? weights + w : NULL, weights ? moments + w : NULL, weights ? moments + n + w : NULL,
			     (float *)buffer[2 + 2 * h->nin] + at);
		}
		other += b.others[0] + b.others[1];
	}
	free(b.reach);
}
