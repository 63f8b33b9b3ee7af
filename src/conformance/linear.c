/* linear.c - LINEAR layers: a matrix, a convolution and every way to an interval are the rows that `terms` states. */
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "codelets/family.h"
#include "conformance/trial.h"

struct entry {
	int64_t index;
	double coef;
};

static int by_index(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;
	return x->index < y->index ? -1 : x->index > y->index;
}

/* Entries of row i for one operand, sorted, zeros left out. */
static int64_t row_entries(const struct bpg_trial *t, int64_t i, struct entry *to)
{
	int64_t n = 0;
	for (int k = 0; k < t->row[i].n; k++)
		if (t->row[i].coef[k] != 0)
			to[n++] = (struct entry){ t->row[i].index[k], t->row[i].coef[k] };
	qsort(to, (size_t)n, sizeof *to, by_index);
	return n;
}

static enum bpg_status compare_row(struct bpg_trial *t, int64_t i, struct entry *got, int64_t n, double bias)
{
	struct entry *want = bpg_trial_alloc(t, t->row[i].n, sizeof *want);
	int64_t m = row_entries(t, i, want);
	qsort(got, (size_t)n, sizeof *got, by_index);
	BPG_REQUIRE(t, n == m, "row %lld has %lld entries, terms %lld", (long long)i, (long long)n, (long long)m);
	for (int64_t k = 0; k < n; k++)
		BPG_REQUIRE(t, got[k].index == want[k].index &&
		            fabs(got[k].coef - want[k].coef) <= 4 * DBL_EPSILON * fabs(want[k].coef),
		            "row %lld: %a at %lld, terms %a at %lld", (long long)i, got[k].coef, (long long)got[k].index, want[k].coef,
		            (long long)want[k].index);
	BPG_REQUIRE(t, fabs(bias - t->row[i].bias) <= 4 * DBL_EPSILON * fabs(bias), "row %lld: bias %a, terms %a", (long long)i, bias,
	            t->row[i].bias);
	return BPG_OK;
}

enum bpg_status bpg_keeps_dense(struct bpg_trial *t)
{
	struct bpg_dense d;
	if (!t->layer->dense || !t->layer->dense(&t->v, &d))
		return BPG_OK;
	BPG_REQUIRE(t, d.outs == t->n && d.ins == t->v.in[d.operand].n, "dense is %lld x %lld", (long long)d.outs, (long long)d.ins);
	for (int64_t i = 0; i < t->n; i++) {
		struct entry *got = bpg_trial_alloc(t, d.ins, sizeof *got);
		int64_t n = 0;
		for (int64_t k = 0; k < d.ins; k++) {
			double w = d.scale * bpg_const_at(d.weight, d.base + i * d.stride_out + k * d.stride_in);
			if (w != 0)
				got[n++] = (struct entry){ k, w };
		}
		BPG_TRY(compare_row(t, i, got, n, d.bias ? d.bias_scale * bpg_const_at(d.bias, i * d.bias_stride) : 0));
	}
	return BPG_OK;
}

/* Output k of the convolution, channels first. */
static enum bpg_status compare_window(struct bpg_trial *t, const struct bpg_conv *c, int64_t k)
{
	int64_t per = c->in_channels / c->groups, taps = per * c->kernel[0] * c->kernel[1], n = 0;
	int64_t px = k % c->out_size[1], py = k / c->out_size[1] % c->out_size[0], oc = k / c->out_size[1] / c->out_size[0];
	struct entry *got = bpg_trial_alloc(t, taps, sizeof *got);
	for (int64_t j = 0; j < taps; j++) {
		int64_t kx = j % c->kernel[1], ky = j / c->kernel[1] % c->kernel[0], ic = j / c->kernel[1] / c->kernel[0];
		int64_t y = py * c->stride[0] - c->pad[0] + ky * c->dilation[0];
		int64_t x = px * c->stride[1] - c->pad[1] + kx * c->dilation[1];
		double w = bpg_const_at(c->weight, oc * c->w_stride[0] + ic * c->w_stride[1] + ky * c->w_stride[2] +
		                        kx * c->w_stride[3]);
		int64_t channel = oc / (c->out_channels / c->groups) * per + ic;
		if (w != 0 && y >= 0 && y < c->in_size[0] && x >= 0 && x < c->in_size[1])
			got[n++] = (struct entry){ channel * c->in_stride[0] + y * c->in_stride[1] + x * c->in_stride[2], w };
	}
	int64_t i = oc * c->out_stride[0] + py * c->out_stride[1] + px * c->out_stride[2];
	BPG_REQUIRE(t, i >= 0 && i < t->n, "conv output %lld", (long long)i);
	return compare_row(t, i, got, n, c->bias ? bpg_const_at(c->bias, oc) : 0);
}

enum bpg_status bpg_keeps_conv(struct bpg_trial *t)
{
	struct bpg_conv c;
	if (!t->layer->conv || !t->layer->conv(&t->v, &c))
		return BPG_OK;
	int64_t outs = c.out_channels * c.out_size[0] * c.out_size[1];
	BPG_REQUIRE(t, outs == t->n, "conv has %lld outputs", (long long)outs);
	for (int64_t k = 0; k < outs; k++)
		BPG_TRY(compare_window(t, &c, k));
	return BPG_OK;
}

/* The interval by terms and the one by a fast path enclose each other up to rounding. */
enum bpg_status bpg_keeps_ways(struct bpg_trial *t)
{
	double *lo = bpg_trial_alloc(t, t->n, sizeof *lo), *up = bpg_trial_alloc(t, t->n, sizeof *up);
	enum bpg_status st = bpg_linear_terms_interval(&t->v, (const double *const *)t->l, (const double *const *)t->u, 0, t->n,
	                                               lo, up);
	BPG_REQUIRE(t, st == BPG_OK, "interval by terms failed with %d", (int)st);
	for (int64_t i = 0; i < t->n; i++) {
		double room = bpg_trial_rounding(t, i);
		BPG_REQUIRE(t, fabs(lo[i] - t->lo[i]) <= room && fabs(up[i] - t->up[i]) <= room,
		            "interval %lld is [%a, %a], by terms [%a, %a]", (long long)i, t->lo[i], t->up[i], lo[i], up[i]);
	}
	return BPG_OK;
}
