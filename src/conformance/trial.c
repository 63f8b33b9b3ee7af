/* trial.c - random instances of layers: boxes and points, and what several properties ask of them. */
#include "conformance/trial.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/const.h"

enum bpg_status bpg_trial_fail(struct bpg_trial *t, const char *format, ...)
{
	char what[512];
	va_list ap;
	va_start(ap, format);
	vsnprintf(what, sizeof what, format, ap);
	va_end(ap);
	return bpg_fail(t->ctx, BPG_ENUMERIC, "layer %s, op %s, seed %llu: %s", t->layer->name, t->v.op ? t->v.op : "?",
	                (unsigned long long)t->seed, what);
}

void *bpg_trial_alloc(struct bpg_trial *t, int64_t n, size_t size)
{
	void *p = bpg_arena_alloc(t->arena, (size_t)n + 1, size);
	if (!p)
		abort();
	return p;
}

bool bpg_trial_variable(const struct bpg_trial *t, int k)
{
	return !t->v.in[k].absent && !t->v.in[k].value;
}

double bpg_trial_uniform(struct bpg_trial *t, double lo, double up)
{
	return lo + (up - lo) * bpg_rng_uniform(&t->rng);
}

/* ---- boxes and points ---- */

static void draw_operand(struct bpg_trial *t, int k)
{
	static const double width[] = { 0, 1e-12, 0.1, 1, 3 };
	int64_t n = t->v.in[k].n;
	t->l[k] = bpg_trial_alloc(t, n, sizeof **t->l);
	t->u[k] = bpg_trial_alloc(t, n, sizeof **t->u);
	for (int64_t i = 0; i < n; i++) {
		double a = bpg_trial_uniform(t, t->s.lo, t->s.up);
		double w = width[bpg_rng_below(&t->rng, (int64_t)BPG_LEN(width))] * bpg_rng_uniform(&t->rng);
		t->l[k][i] = a;
		t->u[k][i] = fmin(a + w, fmax(a, t->s.up));
	}
}

void bpg_trial_box(struct bpg_trial *t)
{
	for (int k = 0; k < t->v.nin; k++) {
		int64_t n = t->v.in[k].n;
		t->l[k] = t->u[k] = t->x[k] = NULL;
		if (t->v.in[k].absent)
			continue;
		t->x[k] = bpg_trial_alloc(t, n, sizeof **t->x);
		if (t->v.in[k].value)
			bpg_const_read(t->v.in[k].value, 0, n, t->x[k]);
		else
			draw_operand(t, k);
	}
}

void bpg_trial_point(struct bpg_trial *t, bool corner)
{
	for (int k = 0; k < t->v.nin; k++)
		for (int64_t i = 0; bpg_trial_variable(t, k) && i < t->v.in[k].n; i++) {
			double l = t->l[k][i], u = t->u[k][i];
			double x = corner ? (bpg_rng_below(&t->rng, 2) ? l : u) : bpg_trial_uniform(t, l, u);
			t->x[k][i] = fmin(fmax(x, l), u);
		}
}

void bpg_trial_part(struct bpg_trial *t, double part, double **l, double **u)
{
	for (int k = 0; k < t->v.nin; k++) {
		l[k] = u[k] = NULL;
		if (!bpg_trial_variable(t, k))
			continue;
		l[k] = bpg_trial_alloc(t, t->v.in[k].n, sizeof **l);
		u[k] = bpg_trial_alloc(t, t->v.in[k].n, sizeof **u);
		for (int64_t i = 0; i < t->v.in[k].n; i++) {
			double a = bpg_trial_uniform(t, t->l[k][i], t->u[k][i]), b = bpg_trial_uniform(t, t->l[k][i], t->u[k][i]);
			b = a + part * (b - a);
			l[k][i] = fmin(fmax(fmin(a, b), t->l[k][i]), t->u[k][i]);
			u[k][i] = fmax(fmin(fmax(a, b), t->u[k][i]), t->l[k][i]);
		}
	}
}

/* ---- callbacks ---- */

enum bpg_status bpg_trial_interval(struct bpg_trial *t, double *const *l, double *const *u, int64_t first, int64_t n,
                                   double *lo, double *up)
{
	enum bpg_status st = bpg_node_interval(&t->v, (const double *const *)l, (const double *const *)u, first, n, lo, up);
	BPG_REQUIRE(t, st == BPG_OK, "interval failed with %d", (int)st);
	return BPG_OK;
}

enum bpg_status bpg_trial_eval(struct bpg_trial *t, double *const *x, double *y)
{
	enum bpg_status st = bpg_node_eval(&t->v, (const double *const *)x, y);
	BPG_REQUIRE(t, st == BPG_OK, "eval failed with %d", (int)st);
	return BPG_OK;
}

static enum bpg_status draw_rows(struct bpg_trial *t)
{
	t->row = bpg_trial_alloc(t, t->n, sizeof *t->row);
	for (int64_t i = 0; i < t->n; i++) {
		struct bpg_terms *r = &t->row[i];
		bpg_terms_init(r);
		t->layer->terms(&t->v, i, r);
		BPG_REQUIRE(t, !r->failed, "no memory for row %lld", (long long)i);
		for (int k = 0; k < r->n; k++) {
			bool legal = r->input[k] >= 0 && r->input[k] < t->v.nin && bpg_trial_variable(t, r->input[k]);
			legal = legal && r->index[k] >= 0 && r->index[k] < t->v.in[r->input[k]].n && r->err[k] >= 0;
			BPG_REQUIRE(t, legal && isfinite(r->coef[k]), "term %d of row %lld is outside its operand", k, (long long)i);
		}
	}
	return BPG_OK;
}

enum bpg_status bpg_trial_open(struct bpg_trial *t, struct bpg_ctx *ctx, const struct bpg_layer *layer, uint64_t seed, int fd)
{
	memset(t, 0, sizeof *t);
	t->ctx = ctx;
	t->layer = layer;
	t->seed = seed;
	t->arena = bpg_arena_new();
	if (!t->arena)
		return bpg_nomem(ctx, "an instance");
	bpg_rng_seed(&t->rng, seed * 3 + 1);
	enum bpg_status st = bpg_sample_node(ctx, t->arena, layer, seed, fd, &t->s, &t->v);
	if (st) {
		char why[512];
		snprintf(why, sizeof why, "%s", bpg_ctx_message(ctx));
		return bpg_trial_fail(t, "the sampled node was refused: %s", *why ? why : "without a message");
	}
	t->n = t->v.out.n;
	BPG_REQUIRE(t, t->n == bpg_shape_count(&t->v.out.shape), "%lld outputs do not fit the shape", (long long)t->n);
	bpg_trial_box(t);
	t->lo = bpg_trial_alloc(t, t->n, sizeof *t->lo);
	t->up = bpg_trial_alloc(t, t->n, sizeof *t->up);
	BPG_TRY(bpg_trial_interval(t, t->l, t->u, 0, t->n, t->lo, t->up));
	for (int64_t i = 0; i < t->n; i++)
		BPG_REQUIRE(t, t->lo[i] <= t->up[i], "interval %lld is [%a, %a]", (long long)i, t->lo[i], t->up[i]);
	return layer->family == BPG_LINEAR ? draw_rows(t) : BPG_OK;
}

void bpg_trial_close(struct bpg_trial *t)
{
	for (int64_t i = 0; t->row && i < t->n; i++)
		bpg_terms_fini(&t->row[i]);
	for (int64_t k = 0; k < t->planes; k++)
		bpg_terms_fini(&t->plane[k].terms);
	bpg_arena_free(t->arena);
}

/* ---- how near is near ---- */

long double bpg_trial_row(const struct bpg_trial *t, int64_t i, long double *magnitude, long double *err)
{
	const struct bpg_terms *r = &t->row[i];
	long double sum = r->bias;
	*magnitude = fabsl(sum);
	*err = r->bias_err;
	for (int k = 0; k < r->n; k++) {
		long double x = t->x[r->input[k]][r->index[k]], p = (long double)r->coef[k] * x;
		sum += p;
		*magnitude += fabsl(p);
		*err += (long double)r->err[k] * fabsl(x);
	}
	return sum;
}

double bpg_trial_rounding(const struct bpg_trial *t, int64_t i)
{
	if (!t->row || (t->layer->traits & BPG_SELECT))
		return 0;
	const struct bpg_terms *r = &t->row[i];
	double sum = fabs(r->bias), err = r->bias_err;
	for (int k = 0; k < r->n; k++) {
		double x = fmax(fabs(t->l[r->input[k]][r->index[k]]), fabs(t->u[r->input[k]][r->index[k]]));
		sum += 3 * fabs(r->coef[k]) * x;
		err += r->err[k] * x;
	}
	return 4 * (err + (r->n + 16) * DBL_EPSILON * sum);
}

enum bpg_status bpg_trial_sway(struct bpg_trial *t, double eps, double **move)
{
	double *l[BPG_TRIAL_OPERANDS] = { NULL }, *u[BPG_TRIAL_OPERANDS] = { NULL };
	*move = NULL;
	if (t->layer->family != BPG_GENERAL)
		return BPG_OK;
	double *lo = bpg_trial_alloc(t, t->n, sizeof *lo), *up = bpg_trial_alloc(t, t->n, sizeof *up);
	for (int k = 0; k < t->v.nin; k++) {
		if (!bpg_trial_variable(t, k))
			continue;
		l[k] = bpg_trial_alloc(t, t->v.in[k].n, sizeof **l);
		u[k] = bpg_trial_alloc(t, t->v.in[k].n, sizeof **u);
		for (int64_t i = 0; i < t->v.in[k].n; i++) {
			l[k][i] = t->x[k][i] - eps * fabs(t->x[k][i]);
			u[k][i] = t->x[k][i] + eps * fabs(t->x[k][i]);
		}
	}
	BPG_TRY(bpg_trial_interval(t, l, u, 0, t->n, lo, up));
	for (int64_t i = 0; i < t->n; i++)
		up[i] -= lo[i];
	*move = up;
	return BPG_OK;
}
