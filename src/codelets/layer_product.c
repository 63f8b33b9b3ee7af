/* layer_product.c - Mul of two variables, with broadcasting: McCormick planes. Where both operands are one tensor, its
 * elements are squared: x * x is at least 0 and touched by its tangents. */
#include "codelets/bilinear.h"
#include "codelets/elementwise.h"

static enum bpg_status product_import(const struct bpg_import *im, struct bpg_node *v)
{
	BPG_TRY(bpg_elementwise_import(im, v));
	if (v->in[0].value || v->in[1].value)
		return bpg_import_fail(im, BPG_EUNSUPPORTED, "an operand is constant");
	return BPG_OK;
}

static enum bpg_status product_eval(const struct bpg_node *v, const double *const *x, double *y)
{
	for (int64_t i = 0; i < v->out.n; i++)
		y[i] = x[0][bpg_elementwise_index(v, 0, i)] * x[1][bpg_elementwise_index(v, 1, i)];
	return BPG_OK;
}

static enum bpg_status product_eval_f32(const struct bpg_node *v, const float *const *x, float *y)
{
	for (int64_t i = 0; i < v->out.n; i++)
		y[i] = x[0][bpg_elementwise_index(v, 0, i)] * x[1][bpg_elementwise_index(v, 1, i)];
	return BPG_OK;
}

static enum bpg_status product_gradient(const struct bpg_node *v, const double *const *x, const double *gy, double *const *gx)
{
	for (int64_t i = 0; i < v->out.n; i++) {
		int64_t a = bpg_elementwise_index(v, 0, i), b = bpg_elementwise_index(v, 1, i);
		if (gx[0])
			gx[0][a] += gy[i] * x[1][b];
		if (gx[1])
			gx[1][b] += gy[i] * x[0][a];
	}
	return BPG_OK;
}

static enum bpg_status product_interval(const struct bpg_node *v, const double *const *l, const double *const *u, int64_t first,
                                        int64_t n, double *lo, double *up)
{
	bool one = bpg_same_tensor(l, u, 0, 1);
	for (int64_t i = 0; i < n; i++) {
		int64_t a = bpg_elementwise_index(v, 0, first + i), b = bpg_elementwise_index(v, 1, first + i);
		struct bpg_range p = bpg_range_of(v, l, u, 0, a), q = bpg_range_of(v, l, u, 1, b);
		struct bpg_range r = one && a == b ? bpg_square_range(p) : bpg_product_range(p, q);
		lo[i] = r.l;
		up[i] = r.u;
	}
	return BPG_OK;
}

/* The factors of element i; true: they are one variable. */
static bool factors(const struct bpg_node *v, const double *const *l, const double *const *u, int64_t i, struct bpg_factor f[2])
{
	for (int k = 0; k < 2; k++) {
		f[k] = (struct bpg_factor){ .input = k, .index = bpg_elementwise_index(v, k, i) };
		f[k].in = bpg_range_of(v, l, u, k, f[k].index);
	}
	return bpg_same_tensor(l, u, 0, 1) && f[0].index == f[1].index;
}

static void product_planes(const struct bpg_node *v, const double *const *l, const double *const *u, int64_t i,
                           struct bpg_terms *lower, struct bpg_terms *upper)
{
	struct bpg_factor f[2];
	bool one = factors(v, l, u, i, f);
	bpg_product_planes(&f[0], &f[1], one, lower, upper);
}

static bool product_others(const struct bpg_node *v, const double *const *l, const double *const *u, int64_t i, int side, int which,
                           struct bpg_terms *t)
{
	struct bpg_factor f[2];
	bool one = factors(v, l, u, i, f);
	return bpg_product_other(&f[0], &f[1], one, bpg_plane_side(side), which, t);
}

static void product_sample(struct bpg_rng *rng, struct bpg_sample *s)
{
	bpg_sample_op(s, "Mul", 13);
	bpg_elementwise_sample(rng, s, false, false);
}

BPG_GENERAL_LAYER(product, .ops = "Mul", .traits = BPG_NEEDS_SMOOTH, .import = product_import, .eval = product_eval,
                  .eval_f32 = product_eval_f32, .interval = product_interval, .gradient = product_gradient,
                  .planes = product_planes, .others = product_others, .sample = product_sample);
