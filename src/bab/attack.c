/* attack.c - projected gradient descent on the worst row of a disjunct, from the centre and from random points.
 * A property is violated where all rows of some disjunct are <= 0, so the largest of them is made small. */
#include "bab/attack.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "bab/margin.h"
#include "graph/contract.h"

enum { STEPS = 40, RESTARTS = 6, MOST_DISJUNCTS = 256, BATCH = 64 };

static int check(struct bpg_ctx *ctx, const struct bpg_net *net, const struct bpg_spec *spec, const float *x, float *y, bool quick)
{
	int64_t n = net->in_count, m = net->out_count;
	double *point = malloc((size_t)(n + 3 * m + 1) * sizeof *point), *out = point + n, *lo = out + m, *up = lo + m;
	int answer = 0;

	if (!point)
		return 0;
	for (int64_t i = 0; i < n; i++)
		point[i] = x[i];
	if (!bpg_net_output_f32(ctx, net, x, y)) {
		bool replay, exact = false;
		for (int64_t j = 0; j < m; j++)
			out[j] = y[j];
		replay = bpg_spec_holds(spec, point, out, out);
		if ((replay || !quick) && !bpg_net_interval(ctx, net, point, point, lo, up))
			exact = bpg_spec_holds(spec, point, lo, up);
		/* Where an assertion holds with equality the rounding that bounds of long sums count is too much. */
		if (replay && !exact && bpg_contract_point(ctx, net, point, lo, up))
			exact = bpg_spec_holds(spec, point, lo, up);
		answer = replay && exact ? 1 : replay || exact ? -1 : 0;
	}
	free(point);
	return answer;
}

int bpg_witness_check(struct bpg_ctx *ctx, const struct bpg_net *net, const struct bpg_spec *spec, const float *x, float *y)
{
	return check(ctx, net, spec, x, y, false);
}

int bpg_witness_try(struct bpg_ctx *ctx, const struct bpg_net *net, const struct bpg_spec *spec, const float *x, float *y)
{
	return check(ctx, net, spec, x, y, true);
}

/* ---- one attempt ---- */

struct shared {
	const struct bpg_net *net;
	const struct bpg_spec *spec;
	double until;
	struct bpg_rt *rt;
	pthread_mutex_t lock;
	_Atomic int64_t best;     /* lowest attempt that found a witness, INT64_MAX: none */
	float *x, *y;
	atomic_bool unsure, cut;
};

struct arg {
	struct shared *s;
	uint64_t seed;
	int64_t attempt, disjunct;
	int restart;              /* 0: from the centre */
};

float bpg_inside(double v, double lo, double up)
{
	float f = (float)(v < lo ? lo : v > up ? up : v);

	if (f < lo)
		f = bpg_float_up(lo);
	if (f > up)
		f = bpg_float_down(up);
	return f;
}

static double row_value(const struct bpg_row *r, const double *y)
{
	double sum = r->offset;

	for (int t = 0; t < r->n; t++)
		sum += r->coef[t] * y[r->index[t]];
	return sum;
}

/* An earlier attempt has found a witness: which one is given does not depend on who is first. */
static bool beaten(const struct arg *a)
{
	return atomic_load(&a->s->best) < a->attempt;
}

static void keep(const struct arg *a, const float *x, const float *y)
{
	struct shared *s = a->s;

	pthread_mutex_lock(&s->lock);
	if (a->attempt <= atomic_load(&s->best)) {
		atomic_store(&s->best, a->attempt);
		memcpy(s->x, x, (size_t)s->net->in_count * sizeof *x);
		memcpy(s->y, y, (size_t)s->net->out_count * sizeof *y);
	}
	pthread_mutex_unlock(&s->lock);
}

/* x moves where it is a witness. */
static bool try_point(const struct arg *a, struct bpg_ctx *ctx, float *x, float *y)
{
	int answer = bpg_witness_check(ctx, a->s->net, a->s->spec, x, y);

	if (answer > 0) {
		keep(a, x, y);
		bpg_witness_deepen(ctx, a->s->net, a->s->spec, a->s->rt, a->s->until, x, y);
		keep(a, x, y);
	} else if (answer < 0) {
		atomic_store(&a->s->unsure, true);
	}
	return answer > 0;
}

/* Is time over? */
static bool over(struct shared *s)
{
	if (!(s->until > 0 && bpg_now() >= s->until))
		return false;
	atomic_store(&s->cut, true);
	return true;
}

static double finite_end(double v, double other, double sign)
{
	return isfinite(v) ? v : isfinite(other) ? other + sign : sign;
}

static void attempt(struct bpg_rt *rt, void *const *buffer, const void *arg)
{
	const struct arg *a = arg;
	const struct bpg_net *net = a->s->net;
	const struct bpg_disjunct *d = &a->s->spec->disjunct[a->disjunct];
	const double *lo = d->box->in_lo, *up = d->box->in_up;
	int64_t n = net->in_count, m = net->out_count;
	struct bpg_arena *arena = bpg_arena_new();
	struct bpg_ctx *ctx = bpg_ctx_new();
	struct bpg_rng rng;
	double **value = NULL, *x = NULL, *g, *gy, *out;
	float *fx = NULL, *fy;

	(void)buffer;
	if (!arena || !ctx || beaten(a) || over(a->s))
		goto out;
	value = bpg_arena_alloc(arena, (size_t)net->nodes + 1, sizeof *value);
	x = bpg_arena_alloc(arena, (size_t)(2 * n + 2 * m + 1), sizeof *x);
	fx = bpg_arena_alloc(arena, (size_t)(n + m + 1), sizeof *fx);
	if (!value || !x || !fx)
		goto out;
	g = x + n, gy = g + n, out = gy + m, fy = fx + n;
	bpg_rng_seed(&rng, a->seed ^ ((uint64_t)a->attempt * 0x9e3779b97f4a7c15ull));
	for (int64_t i = 0; i < n; i++) {
		double l = finite_end(lo[i], up[i], -1), u = finite_end(up[i], lo[i], 1);
		if (!(d->box->lo[i] <= d->box->up[i]))
			goto out; /* no point at all */
		double t = a->restart ? bpg_rng_uniform(&rng) : 0.5;
		if (a->restart == 1)
			t = bpg_rng_uniform(&rng) < 0.5 ? 0 : 1; /* a corner */
		fx[i] = bpg_inside(l + t * (u - l), lo[i], up[i]);
		if (!((double)fx[i] >= lo[i] && (double)fx[i] <= up[i])) /* no float32 number in the box: the nearest one */
			fx[i] = (float)(d->box->lo[i] + (d->box->up[i] - d->box->lo[i]) / 2);
	}
	double rate = 0.25, last = INFINITY;
	for (int k = 0; k < STEPS && !bpg_rt_stopped(rt) && !beaten(a) && (!k || !over(a->s)); k++) {
		int worst = -1;
		double most = -INFINITY;

		for (int64_t i = 0; i < n; i++)
			x[i] = fx[i];
		if (bpg_net_eval(ctx, net, x, arena, value))
			break;
		for (int o = 0; o < net->outputs; o++)
			memcpy(out + net->out_first[o], value[net->output[o]], (size_t)net->node[net->output[o]].v.out.n * sizeof *out);
		for (int r = 0; r < d->rows; r++) {
			double v = row_value(&d->row[r], out);
			if (v > most || worst < 0)
				most = v, worst = r;
		}
		if (worst < 0 || most <= 1e-6 * (1 + fabs(most))) {
			if (try_point(a, ctx, fx, fy) || worst < 0)
				break;
		}
		if (!(most < last))
			rate *= 0.7;
		last = most;
		memset(gy, 0, (size_t)m * sizeof *gy);
		for (int t = 0; t < d->row[worst].n; t++)
			gy[d->row[worst].index[t]] += d->row[worst].coef[t];
		memset(g, 0, (size_t)n * sizeof *g);
		if (bpg_net_gradient(ctx, net, value, gy, g))
			break;
		bool moved = false;
		for (int64_t i = 0; i < n; i++) {
			double l = finite_end(lo[i], up[i], -1), u = finite_end(up[i], lo[i], 1), to = x[i];
			if (g[i] != 0)
				to -= (g[i] > 0 ? 1 : -1) * rate * (u - l);
			float f = (double)fx[i] >= lo[i] && (double)fx[i] <= up[i] ? bpg_inside(to, lo[i], up[i]) : fx[i];
			moved |= f != fx[i];
			fx[i] = f;
		}
		if (!moved) {
			if (k)
				break;
			rate = 1;
		}
	}
out:
	bpg_ctx_free(ctx);
	bpg_arena_free(arena);
}

enum bpg_status bpg_attack(struct bpg_ctx *ctx, const struct bpg_attack_plan *p, struct bpg_arena *arena, struct bpg_witness *w, bool *cut)
{
	struct shared s = { .net = p->net, .spec = p->spec, .until = p->until, .rt = p->rt, .best = INT64_MAX };
	int64_t disjuncts = BPG_MIN(p->disjuncts, (int64_t)MOST_DISJUNCTS), attempts = disjuncts * (RESTARTS + 1);
	enum bpg_status st = BPG_OK;

	*w = (struct bpg_witness){ .found = false };
	s.x = bpg_arena_alloc(arena, (size_t)p->net->in_count + 1, sizeof *s.x);
	s.y = bpg_arena_alloc(arena, (size_t)p->net->out_count + 1, sizeof *s.y);
	if (!s.x || !s.y)
		return bpg_nomem(ctx, "the attack");
	pthread_mutex_init(&s.lock, NULL);
	for (int64_t i = 0; !st && i < attempts && atomic_load(&s.best) == INT64_MAX && !over(&s); i += BATCH) {
		for (int64_t k = i; !st && k < BPG_MIN(attempts, i + BATCH); k++) {
			/* Disjuncts are spread over a long list when there are too many to try all. */
			int64_t d = k % disjuncts * (p->disjuncts / disjuncts);
			struct arg a = { &s, p->seed, k, p->disjunct ? p->disjunct[d] : d, (int)(k / disjuncts) };
			struct bpg_task t = { .kind = BPG_TASK_ATTACK, .run = attempt, .arg = &a, .arg_bytes = sizeof a, .node = -1, .tile = (int)k };
			st = bpg_rt_submit(p->rt, &t);
		}
		enum bpg_status waited = bpg_rt_wait(p->rt, ctx);
		st = waited ? waited : st;
	}
	pthread_mutex_destroy(&s.lock);
	w->found = atomic_load(&s.best) != INT64_MAX;
	w->unsure = atomic_load(&s.unsure);
	w->x = s.x;
	w->y = s.y;
	*cut = atomic_load(&s.cut);
	return w->found ? BPG_OK : st;
}
