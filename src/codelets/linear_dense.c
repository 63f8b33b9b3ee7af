/* linear_dense.c - LINEAR layers that are one matrix: y = scale*W*x + bias_scale*b.
 *
 * The matrix may be far larger than memory: it is read in blocks of whole rows as they lie in the file, and each row is
 * used once, either as the weights of one output (dot product) or of one input (added to all outputs). */
#include "codelets/linear.h"

#include <stdlib.h>

#include "base/base.h"
#include "base/blas.h"
#include "codelets/dot.h"
#include "codelets/outward.h"
#include "net/const.h"

#define BLOCK ((int64_t)1 << 18)  /* floats read at a time: 1 MiB */

/* Rows of the file are outputs, or (else) inputs. */
static bool by_output(const struct bpg_dense *d) { return d->stride_in == 1 || d->ins <= 1; }

bool bpg_dense_fits(const struct bpg_dense *d)
{
	return bpg_const_type(d->weight) == BPG_F32 && (by_output(d) || d->stride_out == 1 || d->outs <= 1);
}

/* Calls `use` for rows row0 .. row1-1 of the file, columns col0 .. col1-1, in order, a block of rows at a time. */
typedef void use_rows(void *job, int64_t row, int64_t rows, const float *w);

static enum bpg_status each_block(const struct bpg_dense *d, int64_t row0, int64_t row1, int64_t col0, int64_t col1,
                                  use_rows *use, void *job)
{
	int64_t cols = col1 - col0, rows = row1 - row0, stride = by_output(d) ? d->stride_out : d->stride_in;
	if (rows <= 0)
		return BPG_OK;
	int64_t most = BPG_MIN(rows, BPG_MAX(1, BLOCK / BPG_MAX(cols, 1)));
	float *room = malloc(((size_t)(most * cols) + 1) * sizeof *room);
	if (!room)
		return BPG_ENOMEM;
	for (int64_t row = row0; row < row1; row += most) {
		int64_t now = BPG_MIN(most, row1 - row);
		use(job, row, now, bpg_const_rows_f32(d->weight, row, now, stride, d->base + col0, cols, room));
	}
	free(room);
	return BPG_OK;
}

/* The same a row at a time. */
typedef void use_row(void *job, int64_t row, const float *w);

struct single {
	use_row *use;
	void *job;
	int64_t cols;
};

static void use_singly(void *job, int64_t row, int64_t rows, const float *w)
{
	const struct single *s = job;
	for (int64_t i = 0; i < rows; i++)
		s->use(s->job, row + i, w + i * s->cols);
}

static enum bpg_status each_row(const struct bpg_dense *d, int64_t row0, int64_t row1, int64_t col0, int64_t col1,
                                use_row *use, void *job)
{
	struct single s = { .use = use, .job = job, .cols = col1 - col0 };
	return each_block(d, row0, row1, col0, col1, use_singly, &s);
}

static double bias_at(const struct bpg_dense *d, int64_t o)
{
	return d->bias ? bpg_const_at(d->bias, o * d->bias_stride) : 0;
}

/* ---- values ---- */

struct values {
	int64_t k, n;
	const double *x;
	double *y;
	const float *xf;
	float *yf;
};

static void value_dot(void *job, int64_t row, const float *w)
{
	struct values *s = job;
	s->y[row] = bpg_dot(s->k, w, s->x);
}

static void value_axpy(void *job, int64_t row, const float *w)
{
	struct values *s = job;
	bpg_axpy(s->n, s->x[row], w, s->y);
}

/* By a BLAS, as a float32 runtime does it: what a replay stands for. */
static void value_gemv_f32(void *job, int64_t row, int64_t rows, const float *w)
{
	struct values *s = job;
	bpg_blas_gemv_f32(rows, s->k, w, s->k, s->xf, 0, s->yf + row);
}

static void value_axpy_f32(void *job, int64_t row, const float *w)
{
	struct values *s = job;
	bpg_axpy_f32(s->n, s->xf[row], w, s->yf);
}

enum bpg_status bpg_dense_eval(const struct bpg_dense *d, const double *x, double *y)
{
	struct values s = { .k = d->ins, .n = d->outs, .x = x, .y = y };
	for (int64_t o = 0; o < d->outs; o++)
		y[o] = 0;
	if (by_output(d))
		BPG_TRY(each_row(d, 0, d->outs, 0, d->ins, value_dot, &s));
	else
		BPG_TRY(each_row(d, 0, d->ins, 0, d->outs, value_axpy, &s));
	for (int64_t o = 0; o < d->outs; o++)
		y[o] = d->scale * y[o] + d->bias_scale * bias_at(d, o);
	return BPG_OK;
}

enum bpg_status bpg_dense_eval_f32(const struct bpg_dense *d, const float *x, float *y)
{
	struct values s = { .k = d->ins, .n = d->outs, .xf = x, .yf = y };
	for (int64_t o = 0; o < d->outs; o++)
		y[o] = 0;
	if (by_output(d))
		BPG_TRY(each_block(d, 0, d->outs, 0, d->ins, value_gemv_f32, &s));
	else
		BPG_TRY(each_row(d, 0, d->ins, 0, d->outs, value_axpy_f32, &s));
	for (int64_t o = 0; o < d->outs; o++)
		y[o] = (float)d->scale * y[o] + (float)d->bias_scale * (float)bias_at(d, o);
	return BPG_OK;
}

/* ---- gradient: the transposed map ---- */

static void gradient_axpy(void *job, int64_t row, const float *w)
{
	struct values *s = job;
	bpg_axpy(s->n, s->x[row], w, s->y);
}

static void gradient_dot(void *job, int64_t row, const float *w)
{
	struct values *s = job;
	s->y[row] += bpg_dot(s->k, w, s->x);
}

enum bpg_status bpg_dense_gradient(const struct bpg_dense *d, const double *gy, double *gx)
{
	double *g = bpg_calloc((size_t)d->outs + 1, sizeof *g);
	if (!g)
		return BPG_ENOMEM;
	for (int64_t o = 0; o < d->outs; o++)
		g[o] = d->scale * gy[o];
	struct values s = { .k = d->outs, .n = d->ins, .x = g, .y = gx };
	enum bpg_status st = by_output(d) ? each_row(d, 0, d->outs, 0, d->ins, gradient_axpy, &s)
	                                  : each_row(d, 0, d->ins, 0, d->outs, gradient_dot, &s);
	free(g);
	return st;
}

/* ---- intervals ---- */

struct box {
	int64_t k, n, first;
	double gamma;
	const double *mid, *rad;  /* of the operand, tame boxes */
	const double *l, *u;      /* the others */
	double *lo, *up;          /* [n]; for added rows the sums w*mid and |w|*rad until the end */
};

static void box_dot(void *job, int64_t row, const float *w)
{
	struct box *s = job;
	struct bpg_dot_pair p = bpg_dot_pair(s->k, w, s->mid, s->rad);
	bpg_linear_enclose(p.sum, p.abs, s->gamma, &s->lo[row - s->first], &s->up[row - s->first]);
}

static void box_axpy(void *job, int64_t row, const float *w)
{
	struct box *s = job;
	bpg_axpy_pair(s->n, s->mid[row], s->rad[row], w, s->lo, s->up);
}

static void wild_dot(void *job, int64_t row, const float *w)
{
	struct box *s = job;
	double lo = 0, up = 0;
	for (int64_t k = 0; k < s->k; k++)
		bpg_axpy_outward(w[k], 0, s->l[k], s->u[k], &lo, &up);
	s->lo[row - s->first] = lo;
	s->up[row - s->first] = up;
}

static void wild_axpy(void *job, int64_t row, const float *w)
{
	struct box *s = job;
	for (int64_t i = 0; i < s->n; i++)
		bpg_axpy_outward(w[i], 0, s->l[row], s->u[row], &s->lo[i], &s->up[i]);
}

static enum bpg_status box_sums(const struct bpg_dense *d, struct box *s, bool tame)
{
	for (int64_t i = 0; i < s->n; i++)
		s->lo[i] = s->up[i] = 0;
	if (by_output(d))
		return each_row(d, s->first, s->first + s->n, 0, d->ins, tame ? box_dot : wild_dot, s);
	BPG_TRY(each_row(d, 0, d->ins, s->first, s->first + s->n, tame ? box_axpy : wild_axpy, s));
	for (int64_t i = 0; tame && i < s->n; i++)
		bpg_linear_enclose(s->lo[i], s->up[i], s->gamma, &s->lo[i], &s->up[i]);
	return BPG_OK;
}

enum bpg_status bpg_dense_interval(const struct bpg_dense *d, const double *l, const double *u, int64_t first, int64_t n,
                                   double *lo, double *up)
{
	double *mid = bpg_calloc((size_t)d->ins + 1, sizeof *mid), *rad = bpg_calloc((size_t)d->ins + 1, sizeof *rad);
	enum bpg_status st = BPG_ENOMEM;
	if (mid && rad) {
		struct box s = { .k = d->ins, .n = n, .first = first, .gamma = bpg_gamma((double)d->ins + 8, BPG_U64),
			         .mid = mid, .rad = rad, .l = l, .u = u, .lo = lo, .up = up };
		st = box_sums(d, &s, bpg_linear_centre(d->ins, l, u, s.gamma, mid, rad));
	}
	free(mid);
	free(rad);
	BPG_TRY(st);
	double held = bpg_linear_held(d->weight, d->ins, l, u);
	for (int64_t i = 0; i < n; i++) {
		double a = bpg_add_down(lo[i], -held), b = bpg_add_up(up[i], held);
		if (d->scale != 1) {
			double p = a, q = b;
			a = b = 0;
			bpg_axpy_outward(d->scale, 0, p, q, &a, &b);
		}
		if (d->bias) {
			double bias = bias_at(d, first + i), err = bpg_const_error(d->bias, (first + i) * d->bias_stride);
			bpg_axpy_outward(d->bias_scale, 0, bpg_add_down(bias, -err), bpg_add_up(bias, err), &a, &b);
		}
		lo[i] = a;
		up[i] = b;
	}
	return BPG_OK;
}
