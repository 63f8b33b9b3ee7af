/* layer_maxpool.c - maximum over windows of up to three spatial axes; windows may overlap, padding counts as minus infinity.
 * Planes are those of the maximum of the inputs of a window (family_max.c). */
#include <math.h>
#include <string.h>

#include "codelets/family_max.h"

enum { AXES = 3, MOST = 1 << 20 };

/* Axes that the operator does not have come first, with size, kernel and stride 1. */
struct maxpool {
	int64_t in[AXES], out[AXES], kernel[AXES], stride[AXES], pad[AXES], dilation[AXES];
	int64_t in_count, out_count; /* of one channel */
};

/* ---- import ---- */

static enum bpg_status read_axes(const struct bpg_import *im, const char *name, int n, int64_t least, int64_t otherwise,
                                 int64_t *to)
{
	const int64_t *value = NULL;
	int count = bpg_import_ints(im, name, &value);

	if (count >= 0 && count != n)
		return bpg_import_fail(im, BPG_EFILE, "%s has %d numbers where %d are needed; re-export the network", name, count, n);
	for (int i = 0; i < n; i++) {
		to[i] = count < 0 ? otherwise : value[i];
		if (to[i] < least || to[i] > MOST)
			return bpg_import_fail(im, BPG_EUNSUPPORTED, "%s is outside %d..%d; use ordinary sizes", name, (int)least,
			                       (int)MOST);
	}
	return BPG_OK;
}

/* Padding of the axes, begin and end, under auto_pad; *same: the output is ceil(in / stride). The standard and its
 * runtimes disagree on SAME with dilations, and on VALID with ceil_mode: refused, as a bound would hold for one only. */
static enum bpg_status read_pads(const struct bpg_import *im, const struct maxpool *p, int n, int64_t *pads, bool *same)
{
	const char *mode = bpg_import_string(im, "auto_pad", "NOTSET");
	bool upper = !strcmp(mode, "SAME_UPPER");

	*same = upper || !strcmp(mode, "SAME_LOWER");
	if (!strcmp(mode, "NOTSET"))
		return read_axes(im, "pads", 2 * n, 0, 0, pads);
	if (!*same && strcmp(mode, "VALID"))
		return bpg_import_fail(im, BPG_EFILE, "auto_pad has an unknown value; re-export the network with explicit pads");

	for (int i = 0; i < n; i++) {
		int a = AXES - n + i;
		int64_t outs = (p->in[a] - 1) / p->stride[a] + 1, total = (outs - 1) * p->stride[a] + p->kernel[a] - p->in[a];
		if (*same && p->dilation[a] > 1)
			return bpg_import_fail(im, BPG_EUNSUPPORTED, "auto_pad with dilations; re-export the network with explicit pads");
		if (!*same || total < 0)
			total = 0;
		pads[i] = upper ? total / 2 : total - total / 2;
		pads[n + i] = total - pads[i];
	}
	return BPG_OK;
}

/* First kernel position of window o that lies on the input, and how many do. */
static int64_t hits(const struct maxpool *p, int a, int64_t o, int64_t *first)
{
	int64_t start = o * p->stride[a] - p->pad[a], d = p->dilation[a];
	int64_t k0 = start >= 0 ? 0 : (-start + d - 1) / d, room = p->in[a] - start;
	int64_t k1 = room <= 0 ? 0 : (room + d - 1) / d;

	if (k1 > p->kernel[a])
		k1 = p->kernel[a];
	*first = k0;
	return k1 > k0 ? k1 - k0 : 0;
}

/* Size of the output along axis a; every window must hold an input. */
static enum bpg_status set_axis(const struct bpg_import *im, struct maxpool *p, int a, int64_t pad_end, bool ceiling, bool same,
                                bool valid)
{
	int64_t span = (p->kernel[a] - 1) * p->dilation[a] + 1, room = p->in[a] + p->pad[a] + pad_end - span, first;

	if (p->pad[a] >= span || pad_end >= span)
		return bpg_import_fail(im, BPG_EUNSUPPORTED, "padding is not smaller than the kernel; re-export with smaller pads");
	if (room < 0)
		return bpg_import_fail(im, BPG_EFILE, "the kernel is larger than the padded input; re-export the network");
	p->out[a] = same ? (p->in[a] - 1) / p->stride[a] + 1 : room / p->stride[a] + 1;
	if (ceiling && valid && room % p->stride[a])
		return bpg_import_fail(im, BPG_EUNSUPPORTED, "auto_pad=VALID with ceil_mode; re-export the network with explicit pads");
	/* A last window that is cut off at the end counts unless it starts in the padding there. */
	if (ceiling && !same && room % p->stride[a] && p->out[a] * p->stride[a] < p->in[a] + p->pad[a])
		p->out[a]++;
	/* With such pads no step of a window jumps over the whole input, unless the dilation is larger than it. */
	for (int64_t o = 0; p->in[a] < p->dilation[a] && o < p->out[a]; o++)
		if (!hits(p, a, o, &first))
			return bpg_import_fail(im, BPG_EUNSUPPORTED, "a window lies in the padding alone; re-export with smaller pads");
	return BPG_OK;
}

static enum bpg_status maxpool_import(const struct bpg_import *im, struct bpg_node *v)
{
	BPG_TRY(bpg_import_operands(im, v, 1, 1));
	if (bpg_import_output_index(im) != 0)
		return bpg_import_fail(im, BPG_EUNSUPPORTED, "the indices are asked for; re-export without them");
	if (bpg_import_int(im, "storage_order", 0) != 0)
		return bpg_import_fail(im, BPG_EUNSUPPORTED, "storage_order is not 0; re-export in row order");
	const struct bpg_shape *x = &v->in[0].shape;
	int n = x->rank - 2;
	if (n < 1 || n > AXES)
		return bpg_import_fail(im, BPG_EUNSUPPORTED, "the input has rank %d; windows of 1 to %d spatial axes are supported",
		                       x->rank, (int)AXES);
	if (!bpg_import_has(im, "kernel_shape"))
		return bpg_import_fail(im, BPG_EFILE, "kernel_shape is missing; re-export the network");
	struct maxpool *p = bpg_import_alloc(im, 1, sizeof *p);
	if (!p)
		return bpg_import_fail(im, BPG_ENOMEM, "not enough memory");

	int skip = AXES - n;
	int64_t pads[2 * AXES];
	for (int a = 0; a < AXES; a++) {
		p->in[a] = a < skip ? 1 : x->dim[2 + a - skip];
		p->out[a] = p->kernel[a] = p->stride[a] = p->dilation[a] = 1;
		if (p->in[a] < 1 || p->in[a] > INT64_C(1) << 33)
			return bpg_import_fail(im, BPG_EFILE, "the input is empty or too large");
	}
	BPG_TRY(read_axes(im, "kernel_shape", n, 1, 1, p->kernel + skip));
	BPG_TRY(read_axes(im, "strides", n, 1, 1, p->stride + skip));
	BPG_TRY(read_axes(im, "dilations", n, 1, 1, p->dilation + skip));
	bool same, ceiling = bpg_import_int(im, "ceil_mode", 0) != 0;
	bool valid = !strcmp(bpg_import_string(im, "auto_pad", "NOTSET"), "VALID");
	BPG_TRY(read_pads(im, p, n, pads, &same));
	v->out.shape = *x;
	for (int i = 0; i < n; i++) {
		int a = skip + i;
		p->pad[a] = pads[i];
		BPG_TRY(set_axis(im, p, a, pads[n + i], ceiling, same, valid));
		v->out.shape.dim[2 + i] = p->out[a];
	}
	p->in_count = p->out_count = 1;
	for (int a = 0; a < AXES; a++) {
		p->in_count = bpg_size_mul(p->in_count, p->in[a]);
		p->out_count = bpg_size_mul(p->out_count, p->out[a]);
	}
	if (p->in_count < 0 || p->out_count < 0)
		return bpg_import_fail(im, BPG_EFILE, "the output is too large; re-export with smaller pads");
	v->attr = p;
	v->out.type = v->in[0].type;
	return BPG_OK;
}

/* ---- windows ---- */

/* Inputs of one output element: start + i*step[0] + j*step[1] + k*step[2]. */
struct window {
	int64_t start, count[AXES], step[AXES];
	int64_t i, j, k;
};

static struct window window_of(const struct bpg_node *v, int64_t o)
{
	const struct maxpool *p = v->attr;
	struct window w = { .start = o / p->out_count * p->in_count };
	int64_t at = o % p->out_count, scale = 1;

	for (int a = AXES - 1; a >= 0; a--) {
		int64_t pos = at % p->out[a], first;
		at /= p->out[a];
		w.count[a] = hits(p, a, pos, &first);
		w.step[a] = p->dilation[a] * scale;
		w.start += (pos * p->stride[a] - p->pad[a] + first * p->dilation[a]) * scale;
		scale *= p->in[a];
	}
	return w;
}

/* Steps through the window in ascending order; false at its end, and the window is then at its start again. */
static bool window_next(struct window *w, int64_t *j)
{
	if (w->i == w->count[0]) {
		w->i = 0;
		return false;
	}
	*j = w->start + w->i * w->step[0] + w->j * w->step[1] + w->k * w->step[2];
	if (++w->k == w->count[2]) {
		w->k = 0;
		if (++w->j == w->count[1]) {
			w->j = 0;
			w->i++;
		}
	}
	return true;
}

/* ---- values ---- */

/* The first largest input; a NaN is the largest of all. */
static int64_t argmax(const struct bpg_node *v, const double *x, int64_t o)
{
	struct window w = window_of(v, o);
	int64_t j, best = -1;

	while (window_next(&w, &j))
		if (best < 0 || (!(x[j] <= x[best]) && !isnan(x[best])))
			best = j;
	return best;
}

static enum bpg_status maxpool_eval(const struct bpg_node *v, const double *const *x, double *y)
{
	for (int64_t o = 0; o < v->out.n; o++)
		y[o] = x[0][argmax(v, x[0], o)];
	return BPG_OK;
}

static enum bpg_status maxpool_eval_f32(const struct bpg_node *v, const float *const *x, float *y)
{
	for (int64_t o = 0; o < v->out.n; o++) {
		struct window w = window_of(v, o);
		int64_t j;
		float best = -INFINITY;
		while (window_next(&w, &j))
			if (!(x[0][j] <= best) && !isnan(best))
				best = x[0][j];
		y[o] = best;
	}
	return BPG_OK;
}

static enum bpg_status maxpool_gradient(const struct bpg_node *v, const double *const *x, const double *gy, double *const *gx)
{
	if (!gx[0])
		return BPG_OK;
	for (int64_t o = 0; o < v->out.n; o++)
		if (gy[o] != 0)
			gx[0][argmax(v, x[0], o)] += gy[o];
	return BPG_OK;
}

static void collect(const struct bpg_node *v, const double *l, const double *u, int64_t i, struct bpg_peak *p)
{
	struct window w = window_of(v, i);
	int64_t j;
	bpg_peak_start(p, false);
	while (window_next(&w, &j))
		bpg_peak_add(p, 0, j, l[j], u[j]);
}

static enum bpg_status maxpool_interval(const struct bpg_node *v, const double *const *l, const double *const *u,
                                        int64_t first, int64_t n, double *lo, double *up)
{
	for (int64_t i = 0; i < n; i++) {
		struct bpg_peak p;
		collect(v, l[0], u[0], first + i, &p);
		struct bpg_range r = bpg_peak_range(&p);
		lo[i] = r.l;
		up[i] = r.u;
	}
	return BPG_OK;
}

/* ---- planes ---- */

static void maxpool_planes(const struct bpg_node *v, const double *const *l, const double *const *u, int64_t i,
                           struct bpg_terms *lower, struct bpg_terms *upper)
{
	struct bpg_peak p;

	collect(v, l[0], u[0], i, &p);
	bpg_peak_below(&p, lower);
	bpg_peak_above(&p, upper);
}

static bool maxpool_others(const struct bpg_node *v, const double *const *l, const double *const *u, int64_t i, int side, int which,
			   struct bpg_terms *t)
{
	struct bpg_peak p;

	collect(v, l[0], u[0], i, &p);
	return bpg_peak_other(&p, side, which, t);
}

/* ---- tests ---- */

static void maxpool_sample(struct bpg_rng *rng, struct bpg_sample *s)
{
	static const char *const mode[] = { "SAME_UPPER", "SAME_LOWER", "VALID" };
	int n = 1 + (int)bpg_rng_below(rng, 2), automatic = (int)bpg_rng_below(rng, 6);
	int64_t dim[4] = { 1, 1 + bpg_rng_below(rng, 3) }, kernel[2], stride[2], pads[4], dilation[2];

	for (int i = 0; i < n; i++) {
		kernel[i] = 1 + bpg_rng_below(rng, 3);
		stride[i] = 1 + bpg_rng_below(rng, 3);
		dilation[i] = 1 + bpg_rng_below(rng, 2);
		pads[i] = bpg_rng_below(rng, kernel[i]);
		pads[n + i] = bpg_rng_below(rng, kernel[i]);
		/* Large enough for every window to hold an input. */
		dim[2 + i] = (kernel[i] - 1) * dilation[i] + 1 + bpg_rng_below(rng, 4);
	}
	bpg_sample_op(s, "MaxPool", 12);
	bpg_sample_ints(s, "kernel_shape", n, kernel);
	bpg_sample_ints(s, "strides", n, stride);
	if (automatic > 1)
		bpg_sample_ints(s, "dilations", n, dilation);
	if (automatic < 3)
		bpg_sample_string(s, "auto_pad", mode[automatic]);
	else
		bpg_sample_ints(s, "pads", 2 * n, pads);
	if (automatic != 2)
		bpg_sample_int(s, "ceil_mode", bpg_rng_below(rng, 2));
	bpg_sample_variable(s, 2 + n, dim);
}

BPG_GENERAL_LAYER(maxpool, .ops = "MaxPool", .traits = BPG_PIECEWISE | BPG_CONVEX | BPG_NEEDS_SMOOTH,
                  .import = maxpool_import, .eval = maxpool_eval, .eval_f32 = maxpool_eval_f32,
                  .interval = maxpool_interval, .gradient = maxpool_gradient, .planes = maxpool_planes, .others = maxpool_others,
                  .sample = maxpool_sample);
