/* layer_inner.c - sums of products of two variables (attention): MatMul and Einsum whose operands both depend on the input.
 *
 * Interval: the sum of the exact intervals of the products (four corners each, as if all elements were independent; the
 * products are never stored). Every sum is made plainly, in a fixed order, which is monotone; all roundings together are
 * at most gamma of the magnitudes. Planes: the sum of those of the products. */
#include <string.h>

#include "codelets/bilinear.h"
#include "codelets/inner.h"

static enum bpg_status inner_import(const struct bpg_import *im, struct bpg_node *v)
{
	BPG_TRY(!strcmp(v->op, "MatMul") ? bpg_inner_matmul(im, v) : bpg_inner_einsum(im, v));
	if (v->nin != 2 || v->in[0].value || v->in[1].value)
		return bpg_import_fail(im, BPG_EUNSUPPORTED, "an operand is constant");
	return BPG_OK;
}

static enum bpg_status inner_eval(const struct bpg_node *v, const double *const *x, double *y)
{
	const struct bpg_inner *g = v->attr;
	for (int64_t i = 0; i < v->out.n; i++) {
		int64_t at[2];
		double sum = 0;
		bpg_inner_start(g, i, at);
		for (int64_t k = 0; k < g->count; k++)
			sum += x[0][at[0] + g->step[0][k]] * x[1][at[1] + g->step[1][k]];
		y[i] = sum;
	}
	return BPG_OK;
}

static enum bpg_status inner_eval_f32(const struct bpg_node *v, const float *const *x, float *y)
{
	const struct bpg_inner *g = v->attr;
	for (int64_t i = 0; i < v->out.n; i++) {
		int64_t at[2];
		float sum = 0;
		bpg_inner_start(g, i, at);
		for (int64_t k = 0; k < g->count; k++)
			sum += x[0][at[0] + g->step[0][k]] * x[1][at[1] + g->step[1][k]];
		y[i] = sum;
	}
	return BPG_OK;
}

static enum bpg_status inner_gradient(const struct bpg_node *v, const double *const *x, const double *gy, double *const *gx)
{
	const struct bpg_inner *g = v->attr;
	for (int64_t i = 0; i < v->out.n; i++) {
		int64_t at[2];
		bpg_inner_start(g, i, at);
		for (int64_t k = 0; gy[i] != 0 && k < g->count; k++) {
			int64_t a = at[0] + g->step[0][k], b = at[1] + g->step[1][k];
			if (gx[0])
				gx[0][a] += gy[i] * x[1][b];
			if (gx[1])
				gx[1][b] += gy[i] * x[0][a];
		}
	}
	return BPG_OK;
}

/* ---- interval ---- */

/* One sum, every operation rounded outward: for what is infinite, huge or tiny. */
static struct bpg_range sum_outward(const struct bpg_inner *g, const double *const *l, const double *const *u, const int64_t at[2],
                                    bool one)
{
	struct bpg_range sum = { 0, 0 };
	for (int64_t k = 0; k < g->count; k++) {
		int64_t a = at[0] + g->step[0][k], b = at[1] + g->step[1][k];
		struct bpg_range p = { l[0][a], u[0][a] }, q = { l[1][b], u[1][b] };
		struct bpg_range r = one && a == b ? bpg_square_range(p) : bpg_product_range(p, q);
		sum.l = bpg_add_down(sum.l, r.l);
		sum.u = bpg_add_up(sum.u, r.u);
	}
	return sum;
}

static struct bpg_range sum_plain(const struct bpg_inner *g, const double *const *l, const double *const *u, const int64_t at[2],
                                  bool one)
{
	double lo = 0, up = 0, size = 0;
	for (int64_t k = 0; k < g->count; k++) {
		int64_t a = at[0] + g->step[0][k], b = at[1] + g->step[1][k];
		double p = l[0][a], q = u[0][a], r = l[1][b], s = u[1][b], c[4] = { p * r, p * s, q * r, q * s };
		double least = fmin(fmin(c[0], c[1]), fmin(c[2], c[3])), most = fmax(fmax(c[0], c[1]), fmax(c[2], c[3]));
		if (one && a == b)
			least = p > 0 ? p * p : q < 0 ? q * q : 0;
		lo += least;
		up += most;
		size += fmax(-least, most);
	}
	/* A product that underflows is no smaller than 2^-900 after all. */
	if (!(size < 0x1p900) || size < 0x1p-900)
		return sum_outward(g, l, u, at, one);
	double slack = bpg_mul_up(bpg_gamma((double)g->count + 8, BPG_U64), bpg_mul_up(size, 1 + 0x1p-20));
	return (struct bpg_range){ bpg_add_down(lo, -slack), bpg_add_up(up, slack) };
}

static enum bpg_status inner_interval(const struct bpg_node *v, const double *const *l, const double *const *u, int64_t first,
                                      int64_t n, double *lo, double *up)
{
	const struct bpg_inner *g = v->attr;
	bool one = bpg_same_tensor(l, u, 0, 1);
	for (int64_t i = 0; i < n; i++) {
		int64_t at[2];
		bpg_inner_start(g, first + i, at);
		struct bpg_range r = g->count > 1 ? sum_plain(g, l, u, at, one) : sum_outward(g, l, u, at, one);
		lo[i] = r.l;
		up[i] = r.u;
	}
	return BPG_OK;
}

/* ---- planes ---- */

/* The factors of product k of the element that starts at `at`; true: they are one variable. */
static bool factors(const struct bpg_node *v, const double *const *l, const double *const *u, const int64_t at[2], int64_t k,
                    struct bpg_factor f[2])
{
	const struct bpg_inner *g = v->attr;
	for (int j = 0; j < 2; j++) {
		f[j] = (struct bpg_factor){ .input = j, .index = at[j] + g->step[j][k] };
		f[j].in = bpg_range_of(v, l, u, j, f[j].index);
	}
	return bpg_same_tensor(l, u, 0, 1) && f[0].index == f[1].index;
}

static void inner_planes(const struct bpg_node *v, const double *const *l, const double *const *u, int64_t i,
                         struct bpg_terms *lower, struct bpg_terms *upper)
{
	const struct bpg_inner *g = v->attr;
	int64_t at[2];
	bpg_inner_start(g, i, at);
	for (int64_t k = 0; k < g->count; k++) {
		struct bpg_factor f[2];
		bool one = factors(v, l, u, at, k, f);
		bpg_product_planes(&f[0], &f[1], one, lower, upper);
	}
}

/* The other planes of all products together: one weight for each would be as many as there are products. */
static bool inner_others(const struct bpg_node *v, const double *const *l, const double *const *u, int64_t i, int side, int which,
                         struct bpg_terms *t)
{
	const struct bpg_inner *g = v->attr;
	struct bpg_terms none;
	int64_t at[2];
	bool any = false;
	bpg_terms_init(&none);
	bpg_inner_start(g, i, at);
	for (int64_t k = 0; k < g->count; k++) {
		struct bpg_factor f[2];
		bool one = factors(v, l, u, at, k, f), other = bpg_product_other(&f[0], &f[1], one, bpg_plane_side(side), which, t);
		any = any || other;
		bpg_terms_reset(&none);
		if (!other)
			bpg_product_planes(&f[0], &f[1], one, side ? &none : t, side ? t : &none);
	}
	t->failed = t->failed || none.failed;
	bpg_terms_fini(&none);
	return any;
}

/* ---- tests ---- */

static void inner_sample(struct bpg_rng *rng, struct bpg_sample *s)
{
	bool matmul = bpg_rng_below(rng, 2);
	bpg_sample_op(s, matmul ? "MatMul" : "Einsum", 13);
	if (!matmul) {
		bpg_inner_sample_einsum(rng, s, 2, false, false);
		return;
	}
	int64_t m = 1 + bpg_rng_below(rng, 4), n = 1 + bpg_rng_below(rng, 4), k = 1 + bpg_rng_below(rng, 6);
	int64_t p = 1 + bpg_rng_below(rng, 3), q = 1 + bpg_rng_below(rng, 3);
	int64_t a[4] = { bpg_rng_below(rng, 2) ? p : 1, bpg_rng_below(rng, 2) ? q : 1, m, k };
	int64_t b[4] = { bpg_rng_below(rng, 2) ? p : 1, bpg_rng_below(rng, 2) ? q : 1, k, n };
	int skip_a = (int)bpg_rng_below(rng, 4), skip_b = (int)bpg_rng_below(rng, 4);
	bpg_sample_variable(s, 4 - skip_a, skip_a == 3 ? a + 3 : a + skip_a);
	bpg_sample_variable(s, 4 - skip_b, skip_b == 3 ? b + 2 : b + skip_b);
}

BPG_GENERAL_LAYER(inner, .ops = "MatMul Einsum", .traits = BPG_NEEDS_SMOOTH, .import = inner_import, .eval = inner_eval,
                  .eval_f32 = inner_eval_f32, .interval = inner_interval, .gradient = inner_gradient, .planes = inner_planes,
                  .others = inner_others,
                  .sample = inner_sample);
