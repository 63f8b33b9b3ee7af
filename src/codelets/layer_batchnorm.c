/* layer_batchnorm.c - BatchNormalization as inference does it: y = scale (x - mean) / sqrt(var + eps) + shift, per channel.
 *
 * coef = scale / sqrt(var + eps): the sum has a relative error of u, the root half of that and u of its own, the quotient
 * u again: less than 3u, 4u is counted. bias = shift - mean coef: 6u (|shift| + |mean coef|) is counted for 5u of the
 * product and u of the difference. */
#include <math.h>

#include "codelets/family.h"

struct batchnorm {
	int64_t channels, inner;  /* elements of one channel of one sample */
	double *coef, *bias, *coef_err, *bias_err;
};

/* Parameters that were computed: d(1/root) <= 2 d(var) / var / root as long as d(var) <= var/2. */
static void add_errors(const struct bpg_node *v, struct batchnorm *g, int64_t c, double root, double mean)
{
	double scale = bpg_const_error(v->in[1].value, c), shift = bpg_const_error(v->in[2].value, c);
	double centre = bpg_const_error(v->in[3].value, c), var = bpg_const_error(v->in[4].value, c);
	if (!(scale > 0) && !(shift > 0) && !(centre > 0) && !(var > 0))
		return;
	double part = var / (root * root), more = scale / root;
	if (var > 0)
		more = part <= 0.5 ? 2 * more + 2 * fabs(g->coef[c]) * part : INFINITY;
	more = more * (1 + 0x1p-40) + 0x1p-1000;
	g->coef_err[c] = (g->coef_err[c] + more) * (1 + 0x1p-40);
	more = shift + mean * more + centre * (fabs(g->coef[c]) + g->coef_err[c]) + 0x1p-1000;
	g->bias_err[c] = (g->bias_err[c] + more) * (1 + 0x1p-40);
}

static enum bpg_status coefficients(const struct bpg_import *im, const struct bpg_node *v, struct batchnorm *g)
{
	const double u = 0x1p-53, tiny = 0x1p-1070;
	double eps = bpg_import_float(im, "epsilon", (double)1e-5f);
	int64_t n = g->channels;
	double *all = bpg_import_alloc(im, (size_t)n, 4 * sizeof *all);
	if (!all)
		return bpg_import_fail(im, BPG_ENOMEM, "not enough memory");
	g->coef = all;
	g->bias = all + n;
	g->coef_err = all + 2 * n;
	g->bias_err = all + 3 * n;
	for (int64_t c = 0; c < n; c++) {
		double scale = bpg_const_at(v->in[1].value, c), shift = bpg_const_at(v->in[2].value, c);
		double mean = bpg_const_at(v->in[3].value, c), var = bpg_const_at(v->in[4].value, c);
		if (!(var + eps > 0) || !isfinite(var + eps))
			return bpg_import_fail(im, BPG_EFILE, "variance + epsilon of channel %lld is %g, not positive", (long long)c, var + eps);
		g->coef[c] = scale / sqrt(var + eps);
		g->coef_err[c] = 4 * u * fabs(g->coef[c]) + tiny;
		g->bias[c] = shift - mean * g->coef[c];
		g->bias_err[c] = 6 * u * (fabs(shift) + fabs(mean * g->coef[c])) + tiny * (1 + fabs(mean));
		if (scale == 0)
			g->coef_err[c] = 0;
		add_errors(v, g, c, sqrt(var + eps), fabs(mean));
		if (!isfinite(g->coef[c]) || !isfinite(g->bias[c]))
			return bpg_import_fail(im, BPG_ENUMERIC, "the scale or shift of channel %lld is not finite", (long long)c);
	}
	return BPG_OK;
}

static enum bpg_status batchnorm_import(const struct bpg_import *im, struct bpg_node *v)
{
	static const char *const what[] = { "", "the scale", "the shift", "the mean", "the variance" };
	BPG_TRY(bpg_import_operands(im, v, 5, 5));
	struct batchnorm *g = bpg_import_alloc(im, 1, sizeof *g);
	if (!g)
		return bpg_import_fail(im, BPG_ENOMEM, "not enough memory");
	v->attr = g;
	const struct bpg_shape *x = &v->in[0].shape;
	if (bpg_import_int(im, "training_mode", 0) != 0 || bpg_import_output_index(im) != 0)
		return bpg_import_fail(im, BPG_EUNSUPPORTED, "training mode; export the model for inference");
	if (bpg_import_int(im, "spatial", 1) == 0)
		return bpg_import_fail(im, BPG_EUNSUPPORTED, "spatial=0 is not supported");
	if (x->rank < 2)
		return bpg_import_fail(im, BPG_EFILE, "an operand of rank %d has no channels", x->rank);
	g->channels = x->dim[1];
	g->inner = 1;
	for (int i = 2; i < x->rank; i++)
		g->inner *= x->dim[i];
	for (int k = 1; k < 5; k++) {
		BPG_TRY(bpg_import_constant(im, v, k, what[k]));
		if (v->in[k].n != g->channels)
			return bpg_import_fail(im, BPG_EFILE, "%s has %lld values for %lld channels", what[k], (long long)v->in[k].n,
			                       (long long)g->channels);
	}
	v->out.shape = *x;
	return coefficients(im, v, g);
}

static void batchnorm_terms(const struct bpg_node *v, int64_t i, struct bpg_terms *t)
{
	const struct batchnorm *g = v->attr;
	int64_t c = i / g->inner % g->channels;
	t->bias = g->bias[c];
	t->bias_err = g->bias_err[c];
	if (v->in[0].value)
		bpg_terms_constant(t, g->coef[c], g->coef_err[c], v->in[0].value, i);
	else
		bpg_terms_add(t, 0, i, g->coef[c], g->coef_err[c]);
}

static void batchnorm_sample(struct bpg_rng *rng, struct bpg_sample *s)
{
	int64_t dim[4];
	double variance[4];
	for (int i = 0; i < 4; i++) {
		dim[i] = 1 + bpg_rng_below(rng, i ? 4 : 2);
		variance[i] = (float)fabs(bpg_rng_normal(rng));
	}
	bpg_sample_op(s, "BatchNormalization", 9 + (int)bpg_rng_below(rng, 6));
	if (bpg_rng_below(rng, 2))
		bpg_sample_float(s, "epsilon", (float)(1e-3 * bpg_rng_uniform(rng)));
	bpg_sample_variable(s, 2 + (int)bpg_rng_below(rng, 3), dim);
	for (int k = 1; k < 5; k++)
		bpg_sample_constant(s, 1, dim + 1, k == 4 ? variance : NULL);
}

BPG_LINEAR_LAYER(batchnorm, .ops = "BatchNormalization", .import = batchnorm_import, .terms = batchnorm_terms,
                 .sample = batchnorm_sample);
