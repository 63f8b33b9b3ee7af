/* layer_choice.c - Where with a condition that depends on the input. Where the condition is decided over the box the output
 * is one operand; else it lies between the smaller and the larger of the two, and so do its planes. */
#include "codelets/family_max.h"

static enum bpg_status choice_import(const struct bpg_import *im, struct bpg_node *v)
{
	BPG_TRY(bpg_import_operands(im, v, 3, 3));
	if (v->in[0].value)
		return bpg_import_fail(im, BPG_EUNSUPPORTED, "the condition is constant");
	struct bpg_shape both;
	if (!bpg_shape_broadcast(&v->in[1].shape, &v->in[2].shape, &both) ||
	    !bpg_shape_broadcast(&both, &v->in[0].shape, &v->out.shape))
		return bpg_import_fail(im, BPG_EFILE, "the shapes of the operands do not broadcast");
	v->out.type = bpg_common_type(v, 1, 2);
	return bpg_import_pin(im, v);
}

static int64_t index_of(const struct bpg_node *v, int k, int64_t i)
{
	return bpg_broadcast_index(&v->in[k].shape, &v->out.shape, i);
}

static enum bpg_status choice_eval(const struct bpg_node *v, const double *const *x, double *y)
{
	for (int64_t i = 0; i < v->out.n; i++) {
		int k = x[0][index_of(v, 0, i)] != 0 ? 1 : 2;
		y[i] = x[k][index_of(v, k, i)];
	}
	return BPG_OK;
}

static enum bpg_status choice_gradient(const struct bpg_node *v, const double *const *x, const double *gy, double *const *gx)
{
	for (int64_t i = 0; i < v->out.n; i++) {
		int k = x[0][index_of(v, 0, i)] != 0 ? 1 : 2;
		if (gx[k])
			gx[k][index_of(v, k, i)] += gy[i];
	}
	return BPG_OK;
}

/* The operands that may be chosen, for the lower or the upper side. */
static void collect(const struct bpg_node *v, const double *const *l, const double *const *u, int64_t i, bool least,
                    struct bpg_peak *p)
{
	struct bpg_range c = bpg_range_of(v, l, u, 0, index_of(v, 0, i));
	bool zero = c.l == 0 && c.u == 0, never = c.l > 0 || c.u < 0;
	bpg_peak_start(p, least);
	for (int k = zero ? 2 : 1; k <= (never ? 1 : 2); k++) {
		int64_t at = index_of(v, k, i);
		struct bpg_range r = bpg_range_of(v, l, u, k, at);
		bpg_peak_add(p, v->in[k].value ? -1 : k, at, r.l, r.u);
	}
}

static enum bpg_status choice_interval(const struct bpg_node *v, const double *const *l, const double *const *u, int64_t first,
                                       int64_t n, double *lo, double *up)
{
	bpg_peaks_interval(collect, v, l, u, first, n, lo, up);
	return BPG_OK;
}

static void choice_planes(const struct bpg_node *v, const double *const *l, const double *const *u, int64_t i,
                          struct bpg_terms *lower, struct bpg_terms *upper)
{
	bpg_peaks_planes(collect, v, l, u, i, lower, upper);
}

static bool choice_others(const struct bpg_node *v, const double *const *l, const double *const *u, int64_t i, int side, int which,
			  struct bpg_terms *t)
{
	return bpg_peaks_other(collect, v, l, u, i, side, which, t);
}

static void choice_sample(struct bpg_rng *rng, struct bpg_sample *s)
{
	int64_t dim[3][3];
	for (int a = 0; a < 3; a++) {
		int64_t size = 1 + bpg_rng_below(rng, 4);
		for (int k = 0; k < 3; k++)
			dim[k][a] = bpg_rng_below(rng, 4) ? size : 1;
	}
	bpg_sample_op(s, "Where", 9);
	for (int k = 0; k < 3; k++) {
		if (k == 0 || bpg_rng_below(rng, 3))
			bpg_sample_variable(s, 3, dim[k]);
		else
			bpg_sample_constant(s, 3, dim[k], NULL);
	}
}

BPG_GENERAL_LAYER(choice, .ops = "Where", .traits = BPG_PIECEWISE | BPG_NEEDS_SMOOTH, .import = choice_import, .eval = choice_eval,
                  .interval = choice_interval, .gradient = choice_gradient, .planes = choice_planes,
                  .others = choice_others, .sample = choice_sample);
