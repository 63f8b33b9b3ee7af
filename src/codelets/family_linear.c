/* family_linear.c - LINEAR layers: y_i = sum coef * x + bias.
 *
 * `terms` defines the layer. Value, interval and gradient follow from it row by row; where the layer says that the whole
 * map is a matrix or a convolution, from that (linear_dense.c, linear_conv.c). Intervals from short rows are rounded
 * outward operation by operation, so that moving elements about, adding 0 or multiplying by a power of two widens
 * nothing. */
#include "codelets/family.h"

#include <math.h>
#include <stdlib.h>

#include "base/base.h"
#include "codelets/linear.h"
#include "codelets/outward.h"

enum { LONG_ROW = 64 };

/* ---- shared by the fast paths ---- */

bool bpg_linear_centre(int64_t n, const double *l, const double *u, double gamma, double *mid, double *rad)
{
	const double tiny = 0x1p-800;
	for (int64_t i = 0; i < n; i++) {
		if (!(fabs(l[i]) < 0x1p500) || !(fabs(u[i]) < 0x1p500))
			return false;
		double m = 0.5 * l[i] + 0.5 * u[i];
		if (fabs(m) < tiny)
			m = 0;
		double r = fmax(bpg_add_up(u[i], -m), bpg_add_up(m, -l[i]));
		r = bpg_add_up(r, bpg_mul_up(gamma, fabs(m)));
		mid[i] = m;
		rad[i] = r > 0 ? fmax(r, tiny) : 0;   /* times a float32 weight: no underflow */
	}
	return true;
}

/* |sum - S| <= gamma*sum|w||mid| and abs >= (1 - gamma) * sum|w|rad, where S is the real sum of w*mid, and |w|rad
 * contains gamma*|w||mid|. 1/(1 - gamma) <= 1 + 2 gamma as long as gamma <= 1/2. */
void bpg_linear_enclose(double sum, double abs, double gamma, double *lo, double *up)
{
	double r = bpg_mul_up(abs, bpg_add_up(1, 2 * gamma));
	*lo = bpg_add_down(sum, -r);
	*up = bpg_add_up(sum, r);
}

double bpg_linear_held(const struct bpg_const *weight, int64_t n, const double *l, const double *u)
{
	double most = bpg_const_most_error(weight), sum = 0;
	for (int64_t i = 0; most > 0 && i < n; i++)
		sum = bpg_add_up(sum, fmax(fabs(l[i]), fabs(u[i])));
	return bpg_mul_up(most, sum);
}

/* ---- from terms ---- */

static enum bpg_status terms_done(struct bpg_terms *t)
{
	bool failed = t->failed;
	bpg_terms_fini(t);
	return failed ? BPG_ENOMEM : BPG_OK;
}

enum bpg_status bpg_linear_terms_eval(const struct bpg_node *v, const double *const *x, double *y)
{
	struct bpg_terms t;
	bpg_terms_init(&t);
	for (int64_t i = 0; i < v->out.n && !t.failed; i++) {
		bpg_terms_reset(&t);
		v->layer->terms(v, i, &t);
		double sum = 0;
		for (int k = 0; k < t.n; k++)
			sum += t.coef[k] * x[t.input[k]][t.index[k]];
		y[i] = t.n ? sum + t.bias : t.bias;
	}
	return terms_done(&t);
}

static enum bpg_status terms_eval_f32(const struct bpg_node *v, const float *const *x, float *y)
{
	struct bpg_terms t;
	bpg_terms_init(&t);
	for (int64_t i = 0; i < v->out.n && !t.failed; i++) {
		bpg_terms_reset(&t);
		v->layer->terms(v, i, &t);
		float sum = 0;
		for (int k = 0; k < t.n; k++)
			sum += (float)t.coef[k] * x[t.input[k]][t.index[k]];
		y[i] = t.n ? sum + (float)t.bias : (float)t.bias;
	}
	return terms_done(&t);
}

/* One row, every operation rounded outward: the tightest, and right for infinite bounds. */
static void row_outward(const struct bpg_terms *t, const double *const *l, const double *const *u, double *lo, double *up)
{
	double a = t->bias, b = t->bias;
	if (t->bias_err > 0) {
		a = bpg_add_down(a, -t->bias_err);
		b = bpg_add_up(b, t->bias_err);
	}
	for (int k = 0; k < t->n; k++)
		bpg_axpy_outward(t->coef[k], t->err[k], l[t->input[k]][t->index[k]], u[t->input[k]][t->index[k]], &a, &b);
	*lo = a;
	*up = b;
}

/* A long row, summed plainly; the rounding of all sums together is at most gamma_(n+2) of the magnitudes, gamma_(n+8) is
 * counted (for underflow, too). False when that does not hold: magnitudes that are infinite, huge or tiny. */
static bool row_plain(const struct bpg_terms *t, const double *const *l, const double *const *u, double *lo, double *up)
{
	double a = t->bias, b = t->bias, magnitude = fabs(t->bias), err = t->bias_err;
	for (int k = 0; k < t->n; k++) {
		double c = t->coef[k], x = l[t->input[k]][t->index[k]], y = u[t->input[k]][t->index[k]];
		double p = c * x, q = c * y, most = fmax(fabs(x), fabs(y));
		a += c >= 0 ? p : q;
		b += c >= 0 ? q : p;
		magnitude += fabs(c) * most;
		err += t->err[k] * most;
	}
	if (!(magnitude < 0x1p900) || magnitude < 0x1p-900)
		return false;
	double slack = bpg_mul_up(bpg_add_up(err, bpg_mul_up(bpg_gamma(t->n + 8.0, BPG_U64), magnitude)),
	                          bpg_add_up(1, 2 * bpg_gamma(t->n + 8.0, BPG_U64)));
	*lo = bpg_add_down(a, -slack);
	*up = bpg_add_up(b, slack);
	return true;
}

enum bpg_status bpg_linear_terms_interval(const struct bpg_node *v, const double *const *l, const double *const *u,
                                          int64_t first, int64_t n, double *lo, double *up)
{
	struct bpg_terms t;
	bpg_terms_init(&t);
	for (int64_t i = 0; i < n && !t.failed; i++) {
		bpg_terms_reset(&t);
		v->layer->terms(v, first + i, &t);
		if (t.n < LONG_ROW || !row_plain(&t, l, u, &lo[i], &up[i]))
			row_outward(&t, l, u, &lo[i], &up[i]);
	}
	return terms_done(&t);
}

static enum bpg_status terms_gradient(const struct bpg_node *v, const double *gy, double *const *gx)
{
	struct bpg_terms t;
	bpg_terms_init(&t);
	for (int64_t i = 0; i < v->out.n && !t.failed; i++) {
		if (gy[i] == 0)
			continue;
		bpg_terms_reset(&t);
		v->layer->terms(v, i, &t);
		for (int k = 0; k < t.n; k++)
			if (gx[t.input[k]])
				gx[t.input[k]][t.index[k]] += t.coef[k] * gy[i];
	}
	return terms_done(&t);
}

/* ---- the fastest way a layer offers ---- */

enum way { BY_TERMS, BY_DENSE, BY_CONV };

static enum way way_of(const struct bpg_node *v, struct bpg_dense *d, struct bpg_conv *c)
{
	if (v->layer->dense && v->layer->dense(v, d) && bpg_dense_fits(d))
		return BY_DENSE;
	if (v->layer->conv && v->layer->conv(v, c) && bpg_conv_fits(c))
		return BY_CONV;
	return BY_TERMS;
}

enum bpg_status bpg_linear_default_eval(const struct bpg_node *v, const double *const *x, double *y)
{
	struct bpg_dense d;
	struct bpg_conv c;
	switch (way_of(v, &d, &c)) {
	case BY_DENSE: return bpg_dense_eval(&d, x[d.operand], y);
	case BY_CONV: return bpg_conv_eval(&c, x[c.operand], y);
	default: return bpg_linear_terms_eval(v, x, y);
	}
}

enum bpg_status bpg_linear_default_eval_f32(const struct bpg_node *v, const float *const *x, float *y)
{
	struct bpg_dense d;
	struct bpg_conv c;
	switch (way_of(v, &d, &c)) {
	case BY_DENSE: return bpg_dense_eval_f32(&d, x[d.operand], y);
	case BY_CONV: return bpg_conv_eval_f32(&c, x[c.operand], y);
	default: return terms_eval_f32(v, x, y);
	}
}

/* A point, and rows so short that they are summed operation by operation: what is exact stays exact, so that a witness
 * may touch a threshold. */
static bool short_at_point(int64_t terms, int64_t n, const double *l, const double *u, int64_t elements)
{
	if (terms >= LONG_ROW || terms * n > 1 << 18)
		return false;
	for (int64_t i = 0; i < elements; i++)
		if (l[i] != u[i])
			return false;
	return true;
}

enum bpg_status bpg_linear_default_interval(const struct bpg_node *v, const double *const *l, const double *const *u,
                                            int64_t first, int64_t n, double *lo, double *up)
{
	struct bpg_dense d;
	struct bpg_conv c;
	bool tame = false;
	switch (way_of(v, &d, &c)) {
	case BY_DENSE:
		if (short_at_point(d.ins, n, l[d.operand], u[d.operand], v->in[d.operand].n))
			return bpg_linear_terms_interval(v, l, u, first, n, lo, up);
		return bpg_dense_interval(&d, l[d.operand], u[d.operand], first, n, lo, up);
	case BY_CONV:
		if (short_at_point(c.in_channels / c.groups * c.kernel[0] * c.kernel[1], n, l[c.operand], u[c.operand], v->in[c.operand].n))
			return bpg_linear_terms_interval(v, l, u, first, n, lo, up);
		BPG_TRY(bpg_conv_interval(&c, l[c.operand], u[c.operand], first, n, lo, up, &tame));
		return tame ? BPG_OK : bpg_linear_terms_interval(v, l, u, first, n, lo, up);
	default:
		return bpg_linear_terms_interval(v, l, u, first, n, lo, up);
	}
}

enum bpg_status bpg_linear_default_gradient(const struct bpg_node *v, const double *const *x, const double *gy, double *const *gx)
{
	struct bpg_dense d;
	struct bpg_conv c;
	(void)x;
	switch (way_of(v, &d, &c)) {
	case BY_DENSE: return gx[d.operand] ? bpg_dense_gradient(&d, gy, gx[d.operand]) : BPG_OK;
	case BY_CONV: return gx[c.operand] ? bpg_conv_gradient(&c, gy, gx[c.operand]) : BPG_OK;
	default: return terms_gradient(v, gy, gx);
	}
}
