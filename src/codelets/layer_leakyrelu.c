/* layer_leakyrelu.c - LeakyRelu, and PRelu with one slope: y = x where x >= 0, a*x elsewhere, elementwise; a is any finite
 * number. (PRelu with a slope per element: net/pass_prelu.c.)
 * For a <= 1 it is convex: the upper line is the chord, the lower one of any slope in [a,1] passes through the origin; for
 * a > 1 it is concave, and the two change places. */
#include <math.h>
#include <string.h>

#include "codelets/family.h"

struct leakyrelu {
	double a;                 /* a float32 number: slopes that reach it survive rounding */
};

static enum bpg_status prelu_slope(const struct bpg_import *im, const struct bpg_node *v, double *a)
{
	BPG_TRY(bpg_import_operands(im, v, 2, 2));
	BPG_TRY(bpg_import_constant(im, v, 1, "slope"));
	*a = v->in[1].n > 0 ? bpg_const_at(v->in[1].value, 0) : NAN;
	for (int64_t i = 1; i < v->in[1].n; i++)
		if (bpg_const_at(v->in[1].value, i) != *a)
			return bpg_import_fail(im, BPG_EUNSUPPORTED, "slopes of a constant; simplify the model before export");
	if (isfinite(*a) && (float)*a != *a)
		return bpg_import_fail(im, BPG_EUNSUPPORTED, "the slope %.17g is not a float32 number", *a);
	return BPG_OK;
}

static enum bpg_status leakyrelu_import(const struct bpg_import *im, struct bpg_node *v)
{
	bool prelu = !strcmp(v->op, "PRelu");
	struct leakyrelu *p = bpg_import_alloc(im, 1, sizeof *p);
	if (!p)
		return bpg_import_fail(im, BPG_ENOMEM, "not enough memory");
	v->attr = p;
	if (prelu)
		BPG_TRY(prelu_slope(im, v, &p->a));
	else
		BPG_TRY(bpg_import_operands(im, v, 1, 1));
	v->out.shape = v->in[0].shape;
	v->out.type = v->in[0].type;
	if (!prelu)
		p->a = bpg_import_float(im, "alpha", 0.01f);
	p->a = (float)p->a;
	if (!isfinite(p->a))
		return bpg_import_fail(im, BPG_EFILE, "the slope is not a finite number; re-export the network");
	return BPG_OK;
}

static double leakyrelu_f(double x, const void *attr)
{
	const struct leakyrelu *p = attr;
	if (x >= 0 || isnan(x))
		return x;
	return p->a == 0 ? 0 : p->a * x;
}

static double leakyrelu_df(double x, const void *attr)
{
	const struct leakyrelu *p = attr;
	return x > 0 ? 1 : p->a;
}

static int leakyrelu_kinks(double l, double u, const void *attr, double at[4])
{
	(void)attr;
	if (!(l < 0 && u > 0))
		return 0;
	at[0] = 0;
	return 1;
}

static int leakyrelu_extremes(double s, double l, double u, const void *attr, double at[8])
{
	(void)s;
	return leakyrelu_kinks(l, u, attr, at);
}

static int leakyrelu_turns(double l, double u, const void *attr, double at[8])
{
	const struct leakyrelu *p = attr;
	return p->a < 0 ? leakyrelu_kinks(l, u, attr, at) : 0;
}

/* Slope of the chord of an unstable neuron. */
static double leakyrelu_chord(double a, double l, double u)
{
	return (u - a * l) / (u - l);
}

/* The free slope before optimisation: 1 where the chord is steeper than 1/2, else a (Xu et al. 2020, auto_LiRPA). */
static double leakyrelu_start(double a, double l, double u)
{
	return leakyrelu_chord(a, l, u) > 0.5 ? 1 : a;
}

static struct bpg_slopes leakyrelu_slopes(double l, double u, const double alpha[2], int rule, const void *attr)
{
	const struct leakyrelu *p = attr;
	double a = p->a;

	if (l >= 0)
		return (struct bpg_slopes){ .lo = 1, .up = 1 };
	if (u <= 0)
		return (struct bpg_slopes){ .lo = a, .up = a };

	double w = u - l, least = fmin(a, 1), most = fmax(a, 1), parameter = alpha[a > 1], inside = 0;
	double k = leakyrelu_chord(a, l, u), k_dl = (1 - a) * u / w / w, k_du = (a - 1) * l / w / w, slope;
	bool same = false;
	if (!isnan(parameter)) {
		slope = fmin(fmax(parameter, least), most);
		inside = parameter >= least && parameter <= most;
	} else {
		same = rule == BPG_SLOPE_SAME;
		slope = same ? k : rule == BPG_SLOPE_ONE ? 1 : rule == BPG_SLOPE_ZERO ? a : leakyrelu_start(a, l, u);
	}
	struct bpg_slopes free_lo = { .lo = slope, .dlo_dl = same ? k_dl : 0, .dlo_du = same ? k_du : 0, .dlo_dalpha = inside,
		                      .up = k, .dup_dl = k_dl, .dup_du = k_du };
	struct bpg_slopes free_up = { .up = slope, .dup_dl = same ? k_dl : 0, .dup_du = same ? k_du : 0, .dup_dalpha = inside,
		                      .lo = k, .dlo_dl = k_dl, .dlo_du = k_du };
	return a > 1 ? free_up : free_lo;
}

static void leakyrelu_alpha_range(double l, double u, int side, const void *attr, double *least, double *most, double *start)
{
	const struct leakyrelu *p = attr;
	*least = *most = *start = 0;
	if (side != (p->a > 1) || !(l < 0 && u > 0))
		return;
	*least = fmin(p->a, 1);
	*most = fmax(p->a, 1);
	*start = leakyrelu_start(p->a, l, u);
}

static void leakyrelu_sample(struct bpg_rng *rng, struct bpg_sample *s)
{
	int64_t dim[2] = { 1, 1 + bpg_rng_below(rng, 6) };
	double a = (float)(bpg_rng_uniform(rng) * 2 - 0.5);
	bool prelu = bpg_rng_below(rng, 3) == 0;
	bpg_sample_op(s, prelu ? "PRelu" : "LeakyRelu", 16);
	bpg_sample_variable(s, 2, dim);
	if (prelu)
		bpg_sample_constant(s, 0, NULL, &a);
	else if (bpg_rng_below(rng, 4))
		bpg_sample_float(s, "alpha", a);
}

static const struct bpg_unary leakyrelu_unary = {
	.f = leakyrelu_f,
	.ulp = 1,
	.df = leakyrelu_df,
	.slopes = leakyrelu_slopes,
	.alpha_range = leakyrelu_alpha_range,
	.enters = BPG_ALPHA_SLOPE,
	.extremes = leakyrelu_extremes,
	.turns = leakyrelu_turns,
	.kinks = leakyrelu_kinks,
};

BPG_UNARY_LAYER(leakyrelu, .ops = "LeakyRelu PRelu", .traits = BPG_PIECEWISE | BPG_NEEDS_KINK, .import = leakyrelu_import,
                .unary = &leakyrelu_unary, .sample = leakyrelu_sample);
