/* layer_max.c - Max and Min of any number of tensors, with broadcasting; any of them may be constant. */
#include <string.h>

#include "codelets/family_max.h"

static bool is_least(const struct bpg_node *v) { return !strcmp(v->op, "Min"); }

static enum bpg_status max_import(const struct bpg_import *im, struct bpg_node *v)
{
	BPG_TRY(bpg_import_operands(im, v, 1, v->nin));
	v->out.shape.rank = 0;
	for (int k = 0; k < v->nin; k++) {
		struct bpg_shape so_far = v->out.shape;
		if (v->in[k].absent)
			return bpg_import_fail(im, BPG_EFILE, "operand %d is missing", k);
		if (!bpg_shape_broadcast(&so_far, &v->in[k].shape, &v->out.shape))
			return bpg_import_fail(im, BPG_EFILE, "the shapes of the operands do not broadcast");
	}
	v->out.type = bpg_common_type(v, 0, v->nin - 1);
	return bpg_import_pin(im, v);
}

static int64_t index_of(const struct bpg_node *v, int k, int64_t i)
{
	return v->in[k].n == v->out.n ? i : bpg_broadcast_index(&v->in[k].shape, &v->out.shape, i);
}

/* Operand of the largest element (the first of equals); a NaN counts as the largest. */
static int winner(const struct bpg_node *v, const double *const *x, int64_t i, double *y)
{
	double sign = is_least(v) ? -1 : 1;
	int best = 0;
	*y = x[0][index_of(v, 0, i)];
	for (int k = 1; k < v->nin; k++) {
		double z = x[k][index_of(v, k, i)];
		if (!(sign * z <= sign * *y) && !isnan(*y)) {
			*y = z;
			best = k;
		}
	}
	return best;
}

static enum bpg_status max_eval(const struct bpg_node *v, const double *const *x, double *y)
{
	for (int64_t i = 0; i < v->out.n; i++)
		winner(v, x, i, &y[i]);
	return BPG_OK;
}

static enum bpg_status max_gradient(const struct bpg_node *v, const double *const *x, const double *gy, double *const *gx)
{
	for (int64_t i = 0; i < v->out.n; i++) {
		double y;
		int k = winner(v, x, i, &y);
		if (gx[k])
			gx[k][index_of(v, k, i)] += gy[i];
	}
	return BPG_OK;
}

static void collect(const struct bpg_node *v, const double *const *l, const double *const *u, int64_t i, struct bpg_peak *p)
{
	bpg_peak_start(p, is_least(v));
	for (int k = 0; k < v->nin; k++) {
		int64_t at = index_of(v, k, i);
		struct bpg_range r = bpg_range_of(v, l, u, k, at);
		bpg_peak_add(p, v->in[k].value ? -1 : k, at, r.l, r.u);
	}
}

static enum bpg_status max_interval(const struct bpg_node *v, const double *const *l, const double *const *u, int64_t first,
                                    int64_t n, double *lo, double *up)
{
	for (int64_t i = 0; i < n; i++) {
		struct bpg_peak p;
		collect(v, l, u, first + i, &p);
		struct bpg_range r = bpg_peak_range(&p);
		lo[i] = r.l;
		up[i] = r.u;
	}
	return BPG_OK;
}

static void max_planes(const struct bpg_node *v, const double *const *l, const double *const *u, int64_t i,
                       struct bpg_terms *lower, struct bpg_terms *upper)
{
	struct bpg_peak p;
	collect(v, l, u, i, &p);
	bpg_peak_below(&p, lower);
	bpg_peak_above(&p, upper);
}

static void max_sample(struct bpg_rng *rng, struct bpg_sample *s)
{
	int64_t size[3], dim[3];
	int count = 1 + (int)bpg_rng_below(rng, 4), variable = (int)bpg_rng_below(rng, count);
	for (int a = 0; a < 3; a++)
		size[a] = 1 + bpg_rng_below(rng, 4);
	bpg_sample_op(s, bpg_rng_below(rng, 2) ? "Max" : "Min", 13);
	for (int k = 0; k < count; k++) {
		int skip = (int)bpg_rng_below(rng, 4);
		for (int a = 0; a < 3; a++)
			dim[a] = bpg_rng_below(rng, 4) ? size[a] : 1;
		if (k == variable || bpg_rng_below(rng, 3))
			bpg_sample_variable(s, 3 - skip, dim + skip);
		else
			bpg_sample_constant(s, 3 - skip, dim + skip, NULL);
	}
}

BPG_GENERAL_LAYER(max, .ops = "Max Min", .traits = BPG_PIECEWISE | BPG_NEEDS_SMOOTH, .import = max_import, .eval = max_eval,
                  .interval = max_interval, .gradient = max_gradient, .planes = max_planes, .sample = max_sample);
