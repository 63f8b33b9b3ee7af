/* outside.c - layers of the other families from outside, for layer.sh: a LINEAR one with an attribute and a GENERAL one with two
 * operands. */
#include <bpgraph/layer.h>

/* ---- y = slope x + 1/3 ---- */

static enum bpg_status line_import(const struct bpg_import *im, struct bpg_node *v)
{
	double *slope = bpg_import_alloc(im, 1, sizeof *slope);
	if (!slope)
		return bpg_import_fail(im, BPG_ENOMEM, "memory is short");
	*slope = bpg_import_float(im, "slope", 1);
	v->attr = slope;
	return bpg_import_same_shape(im, v);
}

static void line_terms(const struct bpg_node *v, int64_t i, struct bpg_terms *t)
{
	const double *slope = v->attr;
	bpg_terms_add(t, 0, i, *slope, 0);
	t->bias = 1.0 / 3;
	t->bias_err = 0x1p-54;
}

static void line_sample(struct bpg_rng *rng, struct bpg_sample *s)
{
	bpg_sample_op(s, "org.example::Line", 1);
	bpg_sample_float(s, "slope", bpg_rng_normal(rng));
	bpg_sample_box(rng, s);
}

static BPG_LINEAR_LAYER(line, .ops = "org.example::Line", .import = line_import, .terms = line_terms, .sample = line_sample);

/* ---- y = max(a, b) of two tensors of one shape ---- */

static double larger(double a, double b) { return a > b ? a : b; }

static enum bpg_status larger_import(const struct bpg_import *im, struct bpg_node *v)
{
	if (v->nin != 2 || v->in[0].value || v->in[1].value || !bpg_shape_equal(&v->in[0].shape, &v->in[1].shape))
		return bpg_import_fail(im, BPG_EUNSUPPORTED, "takes two variable operands of one shape");
	v->out.shape = v->in[0].shape;
	return BPG_OK;
}

static enum bpg_status larger_eval(const struct bpg_node *v, const double *const *x, double *y)
{
	for (int64_t i = 0; i < v->out.n; i++)
		y[i] = larger(x[0][i], x[1][i]);
	return BPG_OK;
}

static enum bpg_status larger_interval(const struct bpg_node *v, const double *const *l, const double *const *u, int64_t first,
                                       int64_t n, double *lo, double *up)
{
	(void)v;
	for (int64_t i = 0; i < n; i++) {
		lo[i] = larger(l[0][first + i], l[1][first + i]);
		up[i] = larger(u[0][first + i], u[1][first + i]);
	}
	return BPG_OK;
}

static enum bpg_status larger_gradient(const struct bpg_node *v, const double *const *x, const double *gy, double *const *gx)
{
	for (int64_t i = 0; i < v->out.n; i++)
		if (gx[x[0][i] < x[1][i]])
			gx[x[0][i] < x[1][i]][i] += gy[i];
	return BPG_OK;
}

/* Above, where either may be the larger one: a constant. Sound, not tight. */
static void larger_planes(const struct bpg_node *v, const double *const *l, const double *const *u, int64_t i,
                          struct bpg_terms *lower, struct bpg_terms *upper)
{
	(void)v;
	bpg_terms_add(lower, l[0][i] + u[0][i] < l[1][i] + u[1][i], i, 1, 0);
	if (l[0][i] >= u[1][i] || l[1][i] >= u[0][i])
		bpg_terms_add(upper, l[1][i] >= u[0][i], i, 1, 0);
	else
		upper->bias = larger(u[0][i], u[1][i]);
}

/* Below, the other one. */
static bool larger_others(const struct bpg_node *v, const double *const *l, const double *const *u, int64_t i, int side, int which,
                          struct bpg_terms *t)
{
	(void)v;
	if (side == 1 || which > 0)
		return false;
	bpg_terms_add(t, l[0][i] + u[0][i] >= l[1][i] + u[1][i], i, 1, 0);
	return true;
}

static void larger_sample(struct bpg_rng *rng, struct bpg_sample *s)
{
	int64_t dim[2] = { 1 + bpg_rng_below(rng, 3), 1 + bpg_rng_below(rng, 5) };
	bpg_sample_variable(s, 2, dim);
	bpg_sample_variable(s, 2, dim);
}

static BPG_GENERAL_LAYER(larger, .ops = "org.example::Larger", .traits = BPG_PIECEWISE | BPG_NEEDS_SMOOTH, .import =
                         larger_import,
                         .eval = larger_eval, .interval = larger_interval, .gradient = larger_gradient, .planes = larger_planes,
                         .others = larger_others, .sample = larger_sample);

BPG_LAYER_PLUGIN("other families", &bpg_layer_line, &bpg_layer_larger);
