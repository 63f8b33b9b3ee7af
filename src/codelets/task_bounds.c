/* task_bounds.c - forward: the interval of a node, its reference value, and what rounding is proportional to; and the
 * planes of a unary node. All in double, outward. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "codelets/clones.h"
#include "codelets/family_unary.h"
#include "codelets/tasks.h"
#include "net/const.h"

/* Sums over one row of weights: w c, |w| r, |w||c|. */
struct triple {
	double s, g, m;
};

/* Sixteen lanes in a fixed order: the same bits on every instruction set. */
CLONES static struct triple dot(int64_t n, const float *w, const double *c, const double *r)
{
	double s[16] = { 0 }, g[16] = { 0 }, m[16] = { 0 };
	int64_t i = 0;

	for (; i + 16 <= n; i += 16)
		for (int e = 0; e < 16; e++) {
			double x = w[i + e], t = x * c[i + e], a = x < 0 ? -x : x;
			s[e] += t;
			m[e] += t < 0 ? -t : t;
			g[e] += a * r[i + e];
		}
	for (int e = 0; i < n; i++, e++) {
		double x = w[i], t = x * c[i], a = x < 0 ? -x : x;
		s[e] += t;
		m[e] += t < 0 ? -t : t;
		g[e] += a * r[i];
	}
	for (int h = 8; h; h /= 2)
		for (int e = 0; e < h; e++)
			s[e] += s[e + h], g[e] += g[e + h], m[e] += m[e + h];
	return (struct triple){ s[0], g[0], m[0] };
}

/* The same of one input for many outputs. */
CLONES static void axpy(int64_t n, const float *restrict w, double c, double r, double *restrict s, double *restrict g, double *restrict m)
{
	double ac = fabs(c);
	int64_t i = 0;

	for (; i + 16 <= n; i += 16)
		for (int e = 0; e < 16; e++) {
			double x = w[i + e], a = fabs(x);
			s[i + e] += x * c;
			g[i + e] += a * r;
			m[i + e] += a * ac;
		}
	for (; i < n; i++) {
		s[i] += w[i] * c;
		g[i] += fabs((double)w[i]) * r;
		m[i] += fabs((double)w[i]) * ac;
	}
}

/* What a task computes for its elements first .. first+n-1, all arrays of n. */
struct share {
	double *l, *u, *c, *r, *g, *e;
	double *m;                /* magnitude of the sums behind c, scratch */
};

/* Radius from an interval about a reference. */
static double radius(double l, double u, double c)
{
	double a = bpg_next_up(u - c), b = bpg_next_up(c - l);

	if (l == u && c == l)
		return 0;
	return a > b ? a : b;
}

static double middle(double l, double u)
{
	if (isinf(l) || isinf(u))
		return isinf(l) ? (isinf(u) ? 0 : u) : l;
	double c = l + (u - l) / 2;
	return c < l ? l : c > u ? u : c;
}

/* Weights held as floats: relative errors of rounding the weight, the scale and their product, and what an input can make
 * of weights that are below the floats. */
static const double held = 3 * BPG_U32;

static double held_below(const double *c, const double *r, int64_t n, double scale)
{
	double sum = 0;

	for (int64_t i = 0; i < n; i++)
		sum += fabs(c[i]) + r[i];
	return 0x1p-149 * (1 + scale) * sum * (1 + 0x1p-20);
}

/* What errors of computed weights can make of one element. */
static double computed(const struct bpg_const *weight, const double *c, const double *r, int64_t n)
{
	double most = bpg_const_most_error(weight), sum = 0;

	for (int64_t i = 0; most > 0 && i < n; i++)
		sum += fabs(c[i]) + r[i];
	return most > 0 ? most * sum * (1 + 0x1p-20) + 0x1p-1070 : 0;
}

/* Dense: rows of weights against centres and radii of the input. */
static bool dense_sums(const struct bpg_hop *h, const double *c, const double *r, int64_t first, int64_t n, struct share *s)
{
	const struct bpg_dense *d = &h->dense;
	double scale = fabs(d->scale), below = h->inexact ? held_below(c, r, d->ins, scale) : 0;
	double made = computed(d->weight, c, r, d->ins) * scale * (1 + 0x1p-50);

	memset(s->c, 0, (size_t)n * sizeof *s->c);
	memset(s->g, 0, (size_t)n * sizeof *s->g);
	memset(s->m, 0, (size_t)n * sizeof *s->m);
	if (d->stride_in == 1) {
		int64_t block = BPG_MAX((int64_t)1, ((int64_t)1 << 18) / BPG_MAX(d->ins, (int64_t)1));
		float *w = malloc((size_t)(block * d->ins + 1) * sizeof *w);
		if (!w)
			return false;
		for (int64_t o = 0; o < n; o += block) {
			int64_t b = BPG_MIN(block, n - o);
			if (d->stride_out == d->ins)
				bpg_const_read_f32(d->weight, d->base + (first + o) * d->ins, b * d->ins, w);
			else
				for (int64_t i = 0; i < b; i++)
					bpg_const_read_f32(d->weight, d->base + (first + o + i) * d->stride_out, d->ins, w + i * d->ins);
			for (int64_t i = 0; i < b; i++) {
				struct triple t = dot(d->ins, w + i * d->ins, c, r);
				s->c[o + i] = t.s, s->g[o + i] = t.g, s->m[o + i] = t.m;
			}
		}
		free(w);
	} else {
		float *w = malloc((size_t)(n + 1) * sizeof *w);
		if (!w)
			return false;
		for (int64_t k = 0; k < d->ins; k++) {
			if (d->stride_out == 1)
				bpg_const_read_f32(d->weight, d->base + first + k * d->stride_in, n, w);
			else
				for (int64_t i = 0; i < n; i++)
					bpg_const_read_f32(d->weight, d->base + (first + i) * d->stride_out + k * d->stride_in, 1, w + i);
			axpy(n, w, c[k], r[k], s->c, s->g, s->m);
		}
		free(w);
	}
	for (int64_t i = 0; i < n; i++) {
		double b = d->bias ? d->bias_scale * bpg_const_at(d->bias, (first + i) * d->bias_stride) : 0;
		s->c[i] = s->c[i] * d->scale + b;
		s->g[i] *= scale;
		s->m[i] = s->m[i] * scale + fabs(b);
		s->e[i] = 4 * BPG_U64 * s->m[i] + (h->inexact ? held * (s->m[i] + s->g[i]) + below : 0);
		if (made > 0 || (d->bias && bpg_const_most_error(d->bias) > 0))
			s->e[i] = (s->e[i] + made + (d->bias ? fabs(d->bias_scale) * bpg_const_error(d->bias, (first + i) * d->bias_stride) : 0)) * (1 + 0x1p-40) + 0x1p-1000;
	}
	return true;
}

/* Convolution: one output row at a time, terms in the order (channel, ky, kx). */
static bool conv_sums(const struct bpg_hop *h, const double *c, const double *r, int64_t first, int64_t n, struct share *s)
{
	const struct bpg_conv *v = &h->conv;
	float *copy;
	const float *w = bpg_const_lend_f32(v->weight, &copy);
	int64_t icg = v->in_channels / v->groups, ocg = v->out_channels / v->groups;
	const struct bpg_columns *k = h->out;
	int64_t W = v->out_size[1];
	double *acc = malloc((size_t)(3 * W + 1) * sizeof *acc), below = h->inexact ? held_below(c, r, h->in[0]->n, 1) : 0;
	double made = computed(v->weight, c, r, h->in[0]->n);

	if (!w || !acc) {
		free(acc);
		free(copy);
		return false;
	}
	/* The elements asked for are a range of flat numbers; rows that lie in it in part are computed whole. */
	for (int64_t oc = 0; oc < v->out_channels; oc++)
		for (int64_t py = 0; py < v->out_size[0]; py++) {
			int64_t e0 = oc * v->out_stride[0] + py * v->out_stride[1], e1 = e0 + (W - 1) * v->out_stride[2];
			if (e1 < first || e0 >= first + n)
				continue;
			double *sum = acc, *gross = acc + W, *size = acc + 2 * W;
			memset(acc, 0, (size_t)(3 * W) * sizeof *acc);
			for (int64_t ic = 0; ic < icg; ic++)
				for (int64_t ky = 0; ky < v->kernel[0]; ky++) {
					int64_t y = py * v->stride[0] - v->pad[0] + ky * v->dilation[0];
					if (y < 0 || y >= v->in_size[0])
						continue;
					int64_t row = (oc / ocg * icg + ic) * v->in_stride[0] + y * v->in_stride[1];
					for (int64_t kx = 0; kx < v->kernel[1]; kx++) {
						double q = w[oc * v->w_stride[0] + ic * v->w_stride[1] + ky * v->w_stride[2] + kx * v->w_stride[3]], a = fabs(q);
						int64_t off = kx * v->dilation[1] - v->pad[1], px0 = off < 0 ? (-off + v->stride[1] - 1) / v->stride[1] : 0;
						int64_t px1 = v->in_size[1] - off <= 0 ? 0 : BPG_MIN(W, (v->in_size[1] - off + v->stride[1] - 1) / v->stride[1]);
						const double *cc = c + row + off * v->in_stride[2], *rr = r + row + off * v->in_stride[2];
						int64_t step = v->stride[1] * v->in_stride[2];
						if (step == 1)
							for (int64_t px = px0; px < px1; px++) {
								double t = q * cc[px];
								sum[px] += t, size[px] += fabs(t), gross[px] += a * rr[px];
							}
						else
							for (int64_t px = px0; px < px1; px++) {
								double t = q * cc[px * step];
								sum[px] += t, size[px] += fabs(t), gross[px] += a * rr[px * step];
							}
					}
				}
			double b = v->bias ? bpg_const_at(v->bias, oc) : 0, wrong = made + (v->bias ? bpg_const_error(v->bias, oc) : 0);
			for (int64_t px = 0; px < W; px++) {
				int64_t i = e0 + px * v->out_stride[2] - first;
				if (i < 0 || i >= n)
					continue;
				s->c[i] = sum[px] + b, s->g[i] = gross[px], s->m[i] = size[px] + fabs(b);
				s->e[i] = (h->inexact ? held * (s->m[i] + gross[px]) + below : 0) + 4 * BPG_U64 * s->m[i] + wrong * (1 + 0x1p-40);
			}
		}
	(void)k;
	free(copy);
	free(acc);
	return true;
}

/* Everything else LINEAR: by the definition of the layer. */
static bool term_sums(const struct bpg_hop *h, const double *const *f, int64_t first, int64_t n, struct share *s)
{
	struct bpg_terms t;

	bpg_terms_init(&t);
	for (int64_t i = 0; i < n; i++) {
		double sum = 0, size, gross = 0, extra, below = 0;

		bpg_terms_reset(&t);
		h->v->layer->terms(h->v, first + i, &t);
		sum = t.bias, size = fabs(t.bias), extra = t.bias_err;
		for (int k = 0; k < t.n; k++) {
			const double *x = f[t.input[k]];
			int64_t m = h->v->in[t.input[k]].n;
			double c = x[BPG_CENTRE * m + t.index[k]], r = x[BPG_RADIUS * m + t.index[k]], q = t.coef[k], held = fabs(q - (double)(float)q);
			if (q == 0 && t.err[k] == 0)
				continue;
			below += fabs(q) != 1; /* products may underflow */
			sum += q * c;
			size += fabs(q * c);
			gross += fabs(q) * r;
			if (held > 0)
				extra += held * r;
			if (t.err[k] > 0)
				extra += t.err[k] * (fabs(c) + r);
		}
		s->c[i] = sum, s->g[i] = gross, s->m[i] = size;
		s->e[i] = extra * (1 + 0x1p-20) + (t.n > 1 || t.bias != 0 || size != fabs(sum) ? bpg_gamma(t.n + 4, BPG_U64) * size : 0)
		          + (t.n == 1 && fabs(t.coef[0]) != 1 ? 4 * BPG_U64 * size : 0) + below * 0x1p-1070;
	}
	bool failed = t.failed;
	bpg_terms_fini(&t);
	return !failed;
}

/* One segment; buffers as those of the task. */
static void interval(struct bpg_rt *rt, void *const *buffer, const struct bpg_arg_interval *a)
{
	const struct bpg_hop *h = a->hop;
	const struct bpg_node *v = h->v;
	int64_t first = a->first, n = a->n;
	double *out = buffer[h->nin], *scratch = malloc((size_t)(n + 1) * sizeof *scratch);
	const double **field = calloc((size_t)(3 * v->nin + 1), sizeof *field), **l = field + v->nin, **u = l + v->nin;
	struct share s = { out + BPG_LOWER * n, out + BPG_UPPER * n, out + BPG_CENTRE * n, out + BPG_RADIUS * n, out + BPG_GROSS * n,
		           out + BPG_EXTRA * n, scratch };
	enum bpg_status st = BPG_OK;
	bool ok = scratch && field, own = false;

	if (!ok)
		goto out;
	for (int k = 0; k < h->nin; k++) {
		int64_t m = v->in[h->operand[k]].n;
		field[h->operand[k]] = buffer[k];
		l[h->operand[k]] = (const double *)buffer[k] + BPG_LOWER * m;
		u[h->operand[k]] = (const double *)buffer[k] + BPG_UPPER * m;
	}
	memset(s.g, 0, (size_t)n * sizeof *s.g);
	memset(s.e, 0, (size_t)n * sizeof *s.e);
	if (h->kind == BPG_HOP_DENSE || h->kind == BPG_HOP_CONV) {
		const double *x = buffer[0];
		int64_t m = v->in[h->operand[0]].n;
		const double *c = x + BPG_CENTRE * m, *r = x + BPG_RADIUS * m;
		double terms = h->kind == BPG_HOP_DENSE ? (double)h->dense.ins
		                                        : (double)(h->conv.in_channels / h->conv.groups * h->conv.kernel[0] * h->conv.kernel[1]);
		ok = h->kind == BPG_HOP_DENSE ? dense_sums(h, c, r, first, n, &s) : conv_sums(h, c, r, first, n, &s);
		if (!ok)
			goto out;
		own = a->centred;
		double gamma = bpg_gamma(terms + 16, BPG_U64);
		gamma *= 1 + 4 * gamma; /* of sums that were rounded themselves */
		for (int64_t i = 0; i < n; i++) {
			s.e[i] += gamma * s.m[i] + terms * 0x1p-1070;
			s.g[i] = s.g[i] * (1 + gamma) + terms * 0x1p-1070;
			s.r[i] = bpg_next_up(s.g[i] + s.e[i]);
			own = own && isfinite(s.c[i]) && s.r[i] < INFINITY; /* else one by one: 0 * infinity is 0 there */
		}
		for (int64_t i = 0; own && i < n; i++) {
			s.l[i] = bpg_next_down(s.c[i] - s.r[i]);
			s.u[i] = bpg_next_up(s.c[i] + s.r[i]);
		}
	} else if (v->layer->family == BPG_LINEAR) {
		ok = term_sums(h, field, first, n, &s);
		if (!ok)
			goto out;
	}
	if (!own) {
		st = bpg_node_interval(v, l, u, first, n, s.l, s.u);
		if (st)
			goto out;
	}
	for (int64_t i = 0; i < n; i++) {
		if (isnan(s.l[i]) || isnan(s.u[i]) || s.l[i] > s.u[i]) {
			bpg_rt_fault(rt, BPG_ENUMERIC, "node '%s' (%s): the interval of element %lld is [%.9g, %.9g]", v->name, v->op,
			             (long long)(first + i), s.l[i], s.u[i]);
			goto out;
		}
		if (v->layer->family != BPG_LINEAR)
			s.c[i] = middle(s.l[i], s.u[i]);
		double far = radius(s.l[i], s.u[i], s.c[i]);
		if (!isfinite(s.c[i])) { /* a sum of infinities: no reference helps */
			s.c[i] = middle(s.l[i], s.u[i]);
			s.e[i] = s.g[i] = INFINITY;
			far = INFINITY;
		}
		s.r[i] = own && s.r[i] <= far ? s.r[i] : far;
		if (isnan(s.e[i]))
			s.e[i] = INFINITY;
		if (isnan(s.g[i]))
			s.g[i] = INFINITY;
	}
out:
	if (!ok || st)
		bpg_rt_fault(rt, st ? st : BPG_ENOMEM, "node '%s' (%s): %s", v->name, v->op, st ? "its interval cannot be computed" : "memory is short");
	free(scratch);
	free(field);
}

void bpg_task_interval(struct bpg_rt *rt, void *const *buffer, const void *arg)
{
	const struct bpg_arg_interval *a = arg;
	const struct bpg_hop *h = a->hop;

	if (a->segments <= 1) {
		interval(rt, buffer, a);
		return;
	}
	void **own = malloc((size_t)(h->nin + 1) * sizeof *own);
	if (!own)
		bpg_rt_fault(rt, BPG_ENOMEM, "node '%s' (%s): memory is short", h->v->name, h->v->op);
	for (int s = 0; own && s < a->segments; s++) {
		for (int k = 0; k < h->nin; k++)
			own[k] = (double *)buffer[k] + s * BPG_FIELDS * h->in[k]->n;
		own[h->nin] = (double *)buffer[h->nin] + s * BPG_FIELDS * h->out->n;
		interval(rt, own, a);
	}
	free(own);
}

void bpg_task_join(struct bpg_rt *rt, void *const *buffer, const void *arg)
{
	const struct bpg_arg_join *a = arg;
	int64_t blocks = (a->n + a->block - 1) / a->block;
	double *out = buffer[blocks];

	(void)rt;
	for (int64_t b = 0; b < blocks; b++) {
		int64_t n = BPG_MIN(a->block, a->n - b * a->block);
		for (int f = 0; f < a->fields; f++)
			memcpy(out + f * a->n + b * a->block, (const double *)buffer[b] + f * n, (size_t)n * sizeof *out);
	}
}

/* One segment: bounds x of the input, y of the node, planes f. */
static void planes(const struct bpg_arg_planes *a, const double *x, const double *y, double *f)
{
	const struct bpg_hop *h = a->hop;
	const struct bpg_columns *k = h->out;
	int64_t n = k->n;
	double sums = bpg_gamma(2.0 * (double)bpg_columns_places(k) + 32, BPG_U64);
	static const double none[2] = { NAN, NAN };

	for (int64_t at = 0; at < a->n; at++) {
		int64_t i = bpg_columns_element(k, a->first + at);
		double l = x[BPG_LOWER * n + i], u = x[BPG_UPPER * n + i], c = x[BPG_CENTRE * n + i], r = x[BPG_RADIUS * n + i], d = y[BPG_CENTRE * n + i];
		struct bpg_planes1 p;
		double price = 0, round32 = 0, round64 = 0;

		bpg_unary_planes(h->v, l, u, none, a->rule, a->wide, &p);
		for (int up = 0; up < 2; up++) {
			double s = up ? p.up_slope : p.lo_slope, t = up ? p.up_bias : p.lo_bias, now = 0, old;
			bool free_slope = !up && (h->v->layer->traits & BPG_FREE_SLOPE) && l < 0 && u > 0 && t == 0;

			if (free_slope)
				now = c, old = -d;
			else
				old = s == 1 && t == 0 ? c - d : s * c + t - d;
			f[(up ? BPG_SLOPE_UP : BPG_SLOPE_LO) * a->n + at] = s;
			f[(up ? BPG_TIMES_NEW_UP : BPG_TIMES_NEW_LO) * a->n + at] = now;
			f[(up ? BPG_TIMES_OLD_UP : BPG_TIMES_OLD_LO) * a->n + at] = old;
			double cost = sums * (fabs(old) + fabs(now)) + 4 * BPG_U64 * (fabs(s * c) + fabs(t) + fabs(d));
			if (cost < INFINITY && cost > price) /* an infinite line says so in p */
				price = cost;
			if (s != 0 && s != 1 && s != -1 && !free_slope)
				round32 = BPG_U32 * r * (1 + 0x1p-20), round64 = BPG_U64 * r * (1 + 0x1p-20);
		}
		bool one = p.lo_slope == p.up_slope && p.lo_bias == p.up_bias;
		double old = f[BPG_TIMES_OLD_LO * a->n + at];
		bool plain = f[BPG_TIMES_NEW_LO * a->n + at] == 0;
		f[BPG_LINE * a->n + at] = one && plain && p.lo_slope == 1 ? BPG_LINE_SAME : one && p.lo_slope == 0 && old == 0 && price == 0 ? BPG_LINE_NONE : BPG_LINE_TWO;
		if (a->producer) {
			double gross = x[BPG_GROSS * n + i], extra = x[BPG_EXTRA * n + i];
			round32 += (a->producer->gamma32 > 0 ? a->producer->gamma32 * gross : 0) + extra;
			round64 += (a->producer->gamma64 > 0 ? a->producer->gamma64 * gross : 0) + extra;
		}
		f[BPG_PRICE_OLD * a->n + at] = a->slack ? price + 0x1p-60 : 0;
		f[BPG_PRICE_NEW32 * a->n + at] = a->slack ? round32 + 0x1p-60 : 0;
		f[BPG_PRICE_NEW64 * a->n + at] = a->slack ? round64 + 0x1p-60 : 0;
	}
}

void bpg_task_planes(struct bpg_rt *rt, void *const *buffer, const void *arg)
{
	const struct bpg_arg_planes *a = arg;
	const struct bpg_columns *k = a->hop->out, *in = a->hop->in[0];

	(void)rt;
	for (int s = 0; s < BPG_MAX(a->segments, 1); s++)
		planes(a, bpg_segment_bounds(in, buffer[0], s), bpg_segment_bounds(k, buffer[1], s), (double *)buffer[2] + s * BPG_PLANE_FIELDS * a->n);
}
