/* margin.c - see margin.h. */
#include "bab/margin.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bab/attack.h"

enum { STEPS = 8, ROUNDINGS = 16 };
static const double first_rate = 1.0 / 32, wanted_share = 1e-5;

/* How far the rows of a disjunct hold at a point. */
struct margin {
	double share;             /* the least, over rows, of what is left below 0 as a share of the row's terms; negative: one does not hold */
	int row;                  /* which has it; -1: there are no rows */
	bool enough;
};

/* y: float32 outputs. exact: in double, which tell their rounding; null: not needed. */
static struct margin margin_of(const struct bpg_disjunct *d, const float *y, const double *exact)
{
	struct margin m = { INFINITY, -1, true };

	for (int r = 0; r < d->rows; r++) {
		const struct bpg_row *row = &d->row[r];
		double sum = row->offset, terms = fabs(row->offset), rounding = 0;
		for (int t = 0; t < row->n; t++) {
			double v = y[row->index[t]];
			sum += row->coef[t] * v;
			terms += fabs(row->coef[t] * v);
			if (exact)
				rounding += fabs(row->coef[t] * (exact[row->index[t]] - v));
		}
		double share = terms > 0 ? -sum / terms : sum < 0 ? INFINITY : 0;
		if (m.row < 0 || share < m.share)
			m.share = share, m.row = r;
		m.enough = m.enough && -sum >= wanted_share * terms + ROUNDINGS * rounding;
	}
	return m;
}

static bool inside(const struct bpg_box *b, const float *x)
{
	for (int64_t i = 0; i < b->n; i++)
		if (!((double)x[i] >= b->in_lo[i] && (double)x[i] <= b->in_up[i]))
			return false;
	return true;
}

/* The disjunct that the witness violates by most; null: none by any margin that could be told. */
static const struct bpg_disjunct *violated(const struct bpg_spec *spec, const float *x, const float *y)
{
	const struct bpg_disjunct *best = NULL;
	double most = -1;

	for (int64_t i = 0; i < spec->disjuncts; i++) {
		const struct bpg_disjunct *d = &spec->disjunct[i];
		struct margin m = margin_of(d, y, NULL);
		if (m.share >= 0 && m.share > most && inside(d->box, x))
			best = d, most = m.share;
	}
	return best;
}

/* Where the witness is, and where it may go. */
struct step {
	double *point, *gradient, *gy, *exact, **value;
	float *x, *y;
	struct bpg_arena *arena;
};

static bool step_new(struct step *s, const struct bpg_net *net)
{
	size_t n = (size_t)net->in_count, m = (size_t)net->out_count;

	*s = (struct step){ .arena = bpg_arena_new() };
	if (!s->arena)
		return false;
	s->point = bpg_arena_alloc(s->arena, 2 * (n + m) + 1, sizeof *s->point);
	s->x = bpg_arena_alloc(s->arena, n + m + 1, sizeof *s->x);
	s->value = bpg_arena_alloc(s->arena, (size_t)net->nodes + 1, sizeof *s->value);
	if (!s->point || !s->x || !s->value)
		return false;
	s->gradient = s->point + n, s->gy = s->gradient + n, s->exact = s->gy + m;
	s->y = s->x + n;
	return true;
}

static bool evaluate(struct bpg_ctx *ctx, const struct bpg_net *net, struct step *s, const float *x)
{
	for (int64_t i = 0; i < net->in_count; i++)
		s->point[i] = x[i];
	if (bpg_net_eval(ctx, net, s->point, s->arena, s->value))
		return false;
	for (int o = 0; o < net->outputs; o++)
		memcpy(s->exact + net->out_first[o], s->value[net->output[o]], (size_t)net->node[net->output[o]].v.out.n * sizeof *s->exact);
	return true;
}

/* s->x: the point one step down the row. False: it is the same point. */
static bool move(const struct bpg_net *net, const struct bpg_box *box, double rate, struct step *s, const float *x)
{
	bool moved = false;

	for (int64_t i = 0; i < net->in_count; i++) {
		double lo = box->in_lo[i], up = box->in_up[i], width = isfinite(up - lo) ? up - lo : 1, g = s->gradient[i];
		s->x[i] = g != 0 ? bpg_inside((double)x[i] - (g > 0 ? 1 : -1) * rate * width, lo, up) : x[i];
		moved |= s->x[i] != x[i];
	}
	return moved;
}

void bpg_witness_deepen(struct bpg_ctx *ctx, const struct bpg_net *net, const struct bpg_spec *spec, const struct bpg_rt *rt, double until,
                        float *x, float *y)
{
	const struct bpg_disjunct *d = violated(spec, x, y);
	double rate = first_rate;
	bool fresh = true;        /* the gradient is not that of x */
	struct step s;

	if (!d || !step_new(&s, net))
		d = NULL;
	for (int k = 0; d && k < STEPS && !bpg_rt_stopped(rt) && !(until > 0 && bpg_now() >= until); k++) {
		if (fresh) {
			if (!evaluate(ctx, net, &s, x))
				break;
			struct margin m = margin_of(d, y, s.exact);
			if (m.enough || m.row < 0)
				break;
			memset(s.gy, 0, (size_t)net->out_count * sizeof *s.gy);
			memset(s.gradient, 0, (size_t)net->in_count * sizeof *s.gradient);
			for (int t = 0; t < d->row[m.row].n; t++)
				s.gy[d->row[m.row].index[t]] += d->row[m.row].coef[t];
			if (bpg_net_gradient(ctx, net, s.value, s.gy, s.gradient))
				break;
		}
		if (!move(net, d->box, rate, &s, x))
			break;
		fresh = bpg_witness_try(ctx, net, spec, s.x, s.y) > 0 && margin_of(d, s.y, NULL).share > margin_of(d, y, NULL).share;
		if (fresh) {
			memcpy(x, s.x, (size_t)net->in_count * sizeof *x);
			memcpy(y, s.y, (size_t)net->out_count * sizeof *y);
			rate *= 2;
		} else {
			rate /= 4;
		}
	}
	if (d)
		bpg_arena_free(s.arena);
}
