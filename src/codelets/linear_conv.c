/* linear_conv.c - LINEAR layers that are a convolution, or one matrix applied at many positions.
 *
 * Two loops. Along space: outputs of one channel that lie side by side are summed together, one weight at a time, weight
 * rows read per channel. Along channels (kernel 1, channels innermost in the output: tokens times a matrix): the matrix is
 * read once in blocks, as in linear_dense.c, and applied at every position. */
#include "codelets/linear.h"

#include <math.h>
#include <stdlib.h>

#include "base/base.h"
#include "codelets/dot.h"
#include "codelets/outward.h"
#include "net/const.h"

#define BLOCK ((int64_t)1 << 18)

/* What is computed along the way; `sum` and `abs` are rows of outputs. */
enum mode { VALUE, VALUE_F32, BOX, GRADIENT };

struct job {
	const struct bpg_conv *c;
	enum mode mode;
	int64_t first, n;         /* outputs wanted */
	const double *x, *r;      /* VALUE: x; BOX: centre and radius */
	const float *xf;
	double *y, *abs;          /* VALUE: y; BOX: sums of w*mid and |w|*rad, [n] */
	float *yf;
	const double *gy;
	double *gx;
};

static int64_t taps(const struct bpg_conv *c) { return c->in_channels / c->groups * c->kernel[0] * c->kernel[1]; }

static bool pointwise(const struct bpg_conv *c)
{
	for (int a = 0; a < 2; a++)
		if (c->kernel[a] != 1 || c->stride[a] != 1 || c->pad[a] != 0 || c->out_size[a] != c->in_size[a])
			return false;
	return c->groups == 1;
}

/* The axes of the output (0 channel, 1, 2 space), outermost first; axes of size 1 come first, they do not matter. */
static void order_of(const struct bpg_conv *c, int order[3])
{
	int64_t size[3] = { c->out_channels, c->out_size[0], c->out_size[1] };
	for (int a = 0; a < 3; a++)
		order[a] = a;
	for (int i = 0; i < 3; i++)
		for (int j = 0; j + 1 < 3; j++) {
			int a = order[j], b = order[j + 1];
			bool swap = size[b] == 1 ? size[a] != 1 : size[a] != 1 && c->out_stride[b] > c->out_stride[a];
			if (swap) {
				order[j] = b;
				order[j + 1] = a;
			}
		}
}

/* Channels innermost, and a weight matrix that lies in rows. */
static bool along_channels(const struct bpg_conv *c)
{
	int order[3];
	order_of(c, order);
	return order[2] == 0 && c->out_channels > 1 && pointwise(c) && (c->w_stride[0] == 1 || c->w_stride[1] == 1);
}

bool bpg_conv_fits(const struct bpg_conv *c)
{
	if (bpg_const_type(c->weight) != BPG_F32)
		return false;
	int order[3];
	order_of(c, order);
	return along_channels(c) || order[2] != 0 || c->out_channels == 1 || (c->out_size[0] == 1 && c->out_size[1] == 1);
}

/* ---- along space ---- */

/* One weight times `n` inputs from x0 with step `step`, into the outputs at y0 with step `ystep` (1 but for GRADIENT). */
static void apply(const struct job *s, double w, int64_t x0, int64_t step, int64_t y0, int64_t n)
{
	switch (s->mode) {
	case VALUE: {
		double *restrict y = s->y + y0;
		const double *x = s->x + x0;
		for (int64_t i = 0; i < n; i++)
			y[i] += w * x[i * step];
		break;
	}
	case VALUE_F32: {
		float *restrict y = s->yf + y0, wf = (float)w;
		const float *x = s->xf + x0;
		for (int64_t i = 0; i < n; i++)
			y[i] += wf * x[i * step];
		break;
	}
	case BOX: {
		double *restrict y = s->y + y0, *restrict abs = s->abs + y0, aw = fabs(w);
		const double *x = s->x + x0, *r = s->r + x0;
		if (step == 1) {
			for (int64_t i = 0; i < n; i++) {
				y[i] += w * x[i];
				abs[i] += aw * r[i];
			}
			break;
		}
		for (int64_t i = 0; i < n; i++) {
			y[i] += w * x[i * step];
			abs[i] += aw * r[i * step];
		}
		break;
	}
	case GRADIENT: {
		double *restrict gx = s->gx + x0;
		const double *gy = s->gy + y0;
		for (int64_t i = 0; i < n; i++)
			gx[i * step] += w * gy[i];
		break;
	}
	}
}

/* Positions p of [p0, p1) whose input p*stride - pad + k*dilation lies inside 0 .. size-1. */
static void clip_positions(const struct bpg_conv *c, int a, int64_t k, int64_t *p0, int64_t *p1)
{
	int64_t shift = k * c->dilation[a] - c->pad[a], s = c->stride[a];
	if (shift < 0)
		*p0 = BPG_MAX(*p0, (-shift + s - 1) / s);
	int64_t room = c->in_size[a] - 1 - shift;
	*p1 = room < 0 ? *p0 : BPG_MIN(*p1, room / s + 1);
	*p1 = BPG_MAX(*p0, *p1);
}

/* Outputs of channel oc at [p0, p1) of axis `run` and `at` of the other axis; the first is element y0 of the job. */
static void run_segment(const struct job *s, const double *w, int64_t oc, int run, int64_t at, int64_t p0, int64_t p1, int64_t y0)
{
	const struct bpg_conv *c = s->c;
	int other = 1 - run;
	int64_t per = c->in_channels / c->groups, ic0 = oc / (c->out_channels / c->groups) * per;
	int64_t step = c->stride[run] * c->in_stride[1 + run];
	for (int64_t ic = 0; ic < per; ic++)
		for (int64_t ko = 0; ko < c->kernel[other]; ko++) {
			int64_t in = at * c->stride[other] - c->pad[other] + ko * c->dilation[other];
			if (in < 0 || in >= c->in_size[other])
				continue;
			int64_t base = (ic0 + ic) * c->in_stride[0] + in * c->in_stride[1 + other];
			for (int64_t kr = 0; kr < c->kernel[run]; kr++) {
				int64_t a = p0, b = p1, ky = run == 1 ? ko : kr, kx = run == 1 ? kr : ko;
				clip_positions(c, run, kr, &a, &b);
				double weight = w[(ic * c->kernel[0] + ky) * c->kernel[1] + kx];
				int64_t x0 = base + (a * c->stride[run] - c->pad[run] + kr * c->dilation[run]) * c->in_stride[1 + run];
				if (a < b && weight != 0)
					apply(s, weight, x0, step, y0 + a - p0, b - a);
			}
		}
}

/* Weights of output channel oc, [ic][ky][kx]. */
static void read_weights(const struct bpg_conv *c, int64_t oc, double *w)
{
	const int64_t *st = c->w_stride, *k = c->kernel;
	int64_t base = oc * st[0], per = c->in_channels / c->groups;
	if (st[3] == 1 && st[2] == k[1] && st[1] == k[0] * k[1]) {
		bpg_const_read(c->weight, base, taps(c), w);
		return;
	}
	for (int64_t ic = 0; ic < per; ic++)
		for (int64_t y = 0; y < k[0]; y++)
			for (int64_t x = 0; x < k[1]; x++)
				*w++ = bpg_const_at(c->weight, base + ic * st[1] + y * st[2] + x * st[3]);
}

static enum bpg_status along_space_run(const struct job *s)
{
	const struct bpg_conv *c = s->c;
	int order[3];
	order_of(c, order);
	int run = order[2] == 0 ? 1 : order[2] - 1;   /* all axes of size 1: any */
	double *w = bpg_calloc((size_t)taps(c) + 1, sizeof *w);
	if (!w)
		return BPG_ENOMEM;
	int64_t have = -1;
	for (int64_t i = s->first; i < s->first + s->n;) {
		int64_t at[3] = { 0 }, rest = i;
		for (int a = 0; a < 3; a++) {
			int axis = order[a];
			if ((axis == 0 ? c->out_channels : c->out_size[axis - 1]) == 1)
				continue;
			at[axis] = rest / c->out_stride[axis];
			rest %= c->out_stride[axis];
		}
		int64_t p0 = at[1 + run], p1 = BPG_MIN(c->out_size[run], p0 + s->first + s->n - i);
		if (have != at[0])
			read_weights(c, have = at[0], w);
		run_segment(s, w, at[0], run, at[2 - run], p0, p1, i - s->first);
		i += p1 - p0;
	}
	free(w);
	return BPG_OK;
}

/* ---- along channels ---- */

/* Element (position p, channel ch) of an array with the layout of the input. */
static int64_t input_at(const struct bpg_conv *c, int64_t p, int64_t ch)
{
	return ch * c->in_stride[0] + p / c->in_size[1] * c->in_stride[1] + p % c->in_size[1] * c->in_stride[2];
}

/* Position p as stored: outputs of position p are at out_first(p) .. +channels-1. */
static int64_t out_first(const struct bpg_conv *c, int64_t p)
{
	return p / c->out_size[1] * c->out_stride[1] + p % c->out_size[1] * c->out_stride[2];
}

/* One row of the matrix, columns from col0, at one position: the row belongs to an output channel (w_stride[1] == 1), or
 * else to an input channel. Channels c0 .. c1-1 of the outputs are wanted. Inputs lie packed at `x`. */
static void apply_row(const struct job *s, int64_t row, const float *w, int64_t p, int64_t c0, int64_t c1)
{
	const struct bpg_conv *c = s->c;
	int64_t k = c->in_channels, x = p * k, y = out_first(c, p) - s->first;
	if (c->w_stride[1] == 1) {
		if (row < c0 || row >= c1)
			return;
		if (s->mode == VALUE) {
			s->y[y + row] = bpg_dot(k, w, s->x + x);
		} else if (s->mode == VALUE_F32) {
			s->yf[y + row] = bpg_dot_f32(k, w, s->xf + x);
		} else if (s->mode == BOX) {
			struct bpg_dot_pair pair = bpg_dot_pair(k, w, s->x + x, s->r + x);
			s->y[y + row] = pair.sum;
			s->abs[y + row] = pair.abs;
		} else {
			bpg_axpy(k, s->gy[y + row], w, s->gx + x);
		}
		return;
	}
	w += c0;
	y += c0;
	if (s->mode == VALUE)
		bpg_axpy(c1 - c0, s->x[x + row], w, s->y + y);
	else if (s->mode == VALUE_F32)
		bpg_axpy_f32(c1 - c0, s->xf[x + row], w, s->yf + y);
	else if (s->mode == BOX)
		bpg_axpy_pair(c1 - c0, s->x[x + row], s->r[x + row], w, s->y + y, s->abs + y);
	else
		s->gx[x + row] += bpg_dot(c1 - c0, w, s->gy + y);
}

static enum bpg_status along_channels_run(const struct job *s)
{
	const struct bpg_conv *c = s->c;
	bool by_output = c->w_stride[1] == 1;
	int64_t rows = by_output ? c->out_channels : c->in_channels, cols = by_output ? c->in_channels : c->out_channels;
	int64_t positions = c->out_size[0] * c->out_size[1], last = s->first + s->n;
	int64_t most = BPG_MIN(BPG_MAX(rows, 1), BPG_MAX(1, BLOCK / BPG_MAX(cols, 1)));
	float *room = malloc(((size_t)(most * cols) + 1) * sizeof *room);
	if (!room)
		return BPG_ENOMEM;
	for (int64_t row = 0; row < rows; row += most) {
		int64_t now = BPG_MIN(most, rows - row);
		const float *w = bpg_const_rows_f32(c->weight, row, now, c->w_stride[by_output ? 0 : 1], 0, cols, room);
		for (int64_t p = 0; p < positions; p++) {
			int64_t at = out_first(c, p);
			int64_t c0 = BPG_MAX(0, s->first - at), c1 = BPG_MIN(c->out_channels, last - at);
			for (int64_t i = 0; i < now && c0 < c1; i++)
				apply_row(s, row + i, w + i * cols, p, c0, c1);
		}
	}
	free(room);
	return BPG_OK;
}

/* Copies between the layout of the input and [position][channel]. */
static bool packed(const struct bpg_conv *c)
{
	return c->in_stride[0] == 1 && c->in_stride[2] == c->in_channels && c->in_stride[1] == c->in_channels * c->in_size[1];
}

static double *pack(const struct bpg_conv *c, const double *x)
{
	int64_t positions = c->in_size[0] * c->in_size[1];
	double *to = bpg_calloc((size_t)(positions * c->in_channels) + 1, sizeof *to);
	for (int64_t p = 0; to && x && p < positions; p++)
		for (int64_t ch = 0; ch < c->in_channels; ch++)
			to[p * c->in_channels + ch] = x[input_at(c, p, ch)];
	return to;
}

/* ---- all ---- */

static enum bpg_status run_job(const struct job *s)
{
	const struct bpg_conv *c = s->c;
	if (!along_channels(c))
		return along_space_run(s);
	if (packed(c))
		return along_channels_run(s);
	struct job t = *s;
	enum bpg_status st = BPG_ENOMEM;
	int64_t positions = c->in_size[0] * c->in_size[1];
	double *x = pack(c, s->x), *r = pack(c, s->r), *gx = pack(c, NULL);
	float *xf = bpg_calloc((size_t)(positions * c->in_channels) + 1, sizeof *xf);
	if (!x || !r || !gx || !xf)
		goto out;
	for (int64_t p = 0; s->xf && p < positions; p++)
		for (int64_t ch = 0; ch < c->in_channels; ch++)
			xf[p * c->in_channels + ch] = s->xf[input_at(c, p, ch)];
	t.x = x;
	t.r = r;
	t.xf = xf;
	t.gx = gx;
	st = along_channels_run(&t);
	for (int64_t p = 0; s->gx && p < positions; p++)
		for (int64_t ch = 0; ch < c->in_channels; ch++)
			s->gx[input_at(c, p, ch)] += gx[p * c->in_channels + ch];
out:
	free(x);
	free(r);
	free(gx);
	free(xf);
	return st;
}

/* Bias of output element i. */
static double bias_at(const struct bpg_conv *c, const double *bias, int64_t i)
{
	if (!bias)
		return 0;
	if (c->out_channels == 1)
		return bias[0];
	int64_t rest = i;
	int order[3];
	order_of(c, order);
	for (int a = 0; a < 3; a++) {
		int axis = order[a];
		if ((axis == 0 ? c->out_channels : c->out_size[axis - 1]) == 1)
			continue;
		if (axis == 0)
			return bias[rest / c->out_stride[0]];
		rest %= c->out_stride[axis];
	}
	return bias[0];
}

static enum bpg_status read_bias(const struct bpg_conv *c, double **bias)
{
	*bias = NULL;
	if (!c->bias)
		return BPG_OK;
	*bias = bpg_calloc((size_t)c->out_channels + 1, sizeof **bias);
	if (!*bias)
		return BPG_ENOMEM;
	bpg_const_read(c->bias, 0, c->out_channels, *bias);
	return BPG_OK;
}

static int64_t outputs(const struct bpg_conv *c) { return c->out_channels * c->out_size[0] * c->out_size[1]; }

enum bpg_status bpg_conv_eval(const struct bpg_conv *c, const double *x, double *y)
{
	double *bias;
	BPG_TRY(read_bias(c, &bias));
	struct job s = { .c = c, .mode = VALUE, .n = outputs(c), .x = x, .y = y };
	for (int64_t i = 0; i < s.n; i++)
		y[i] = 0;
	enum bpg_status st = run_job(&s);
	for (int64_t i = 0; bias && i < s.n; i++)
		y[i] += bias_at(c, bias, i);
	free(bias);
	return st;
}

enum bpg_status bpg_conv_eval_f32(const struct bpg_conv *c, const float *x, float *y)
{
	double *bias;
	BPG_TRY(read_bias(c, &bias));
	struct job s = { .c = c, .mode = VALUE_F32, .n = outputs(c), .xf = x, .yf = y };
	for (int64_t i = 0; i < s.n; i++)
		y[i] = 0;
	enum bpg_status st = run_job(&s);
	for (int64_t i = 0; bias && i < s.n; i++)
		y[i] += (float)bias_at(c, bias, i);
	free(bias);
	return st;
}

enum bpg_status bpg_conv_gradient(const struct bpg_conv *c, const double *gy, double *gx)
{
	struct job s = { .c = c, .mode = GRADIENT, .n = outputs(c), .gy = gy, .gx = gx };
	return run_job(&s);
}

enum bpg_status bpg_conv_interval(const struct bpg_conv *c, const double *l, const double *u, int64_t first, int64_t n,
                                  double *lo, double *up, bool *tame)
{
	int64_t ins = c->in_channels * c->in_size[0] * c->in_size[1];
	double gamma = bpg_gamma((double)taps(c) + 8, BPG_U64), *bias = NULL;
	double *mid = bpg_calloc((size_t)ins + 1, sizeof *mid), *rad = bpg_calloc((size_t)ins + 1, sizeof *rad);
	enum bpg_status st = BPG_ENOMEM;
	if (!mid || !rad)
		goto out;
	BPG_TRY_TO(read_bias(c, &bias), out);
	*tame = bpg_linear_centre(ins, l, u, gamma, mid, rad);
	if (!*tame)
		goto out;
	struct job s = { .c = c, .mode = BOX, .first = first, .n = n, .x = mid, .r = rad, .y = lo, .abs = up };
	for (int64_t i = 0; i < n; i++)
		lo[i] = up[i] = 0;
	BPG_TRY_TO(run_job(&s), out);
	double held = bpg_linear_held(c->weight, ins, l, u), err = c->bias ? bpg_const_most_error(c->bias) : 0;
	for (int64_t i = 0; i < n; i++) {
		bpg_linear_enclose(lo[i], up[i], gamma, &lo[i], &up[i]);
		if (held > 0 || err > 0) {
			lo[i] = bpg_add_down(lo[i], -bpg_add_up(held, err));
			up[i] = bpg_add_up(up[i], bpg_add_up(held, err));
		}
		if (bias) {
			double b = bias_at(c, bias, first + i);
			lo[i] = bpg_add_down(lo[i], b);
			up[i] = bpg_add_up(up[i], b);
		}
	}
out:
	free(mid);
	free(rad);
	free(bias);
	return st;
}
