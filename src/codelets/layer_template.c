/* layer_template.c - y = x / (1 + |x|), elementwise (softsign). Copy me.
 *
 * This file is compiled and passes the conformance suite, but is not registered. To add a layer of your own: copy it to
 * layer_NAME.c, replace `template` by NAME, write the mathematics, add one line to layers.am, run `make check`. The suite
 * finds the layer through its sampler and checks everything that is stated here against `f`. Outside the tree the same file,
 * with a line BPG_LAYER_PLUGIN("name", &bpg_layer_NAME); at its end, becomes a shared object for --layer: examples/my_layer.
 *
 * The rising function is convex left of 0 and concave right of it. */
#include <math.h>

#include <bpgraph/layer.h>

/* The function, in double. `attr` is what `import` has put into v->attr; this layer has no attributes. Bounds may be
 * infinite: say what f is there, never NaN. */
static double template_f(double x, const void *attr)
{
	(void)attr;
	return isinf(x) ? copysign(1, x) : x / (1 + fabs(x));
}

/* Its derivative; at a kink, any number between the slopes on both sides. */
static double template_df(double x, const void *attr)
{
	(void)attr;
	double d = 1 + fabs(x);
	return 1 / (d * d);
}

/* Slopes of a line below and of a line above f on [l,u], l < u, both perhaps infinite. They need not be right: the family
 * rounds them and computes the intercepts itself, outward, from f. A clumsy slope costs tightness, not soundness.
 *
 * Where f is convex the best line above is the chord and a good one below is a tangent, where it is concave the other way
 * round. Across 0 both lines take the slope of the chord: sound, not tight. A layer whose lines have a parameter reads it
 * from alpha[0] (below) and alpha[1] (above), NaN meaning its own choice, and states `alpha_range`, `enters` and the
 * derivatives of its slopes: see layer_leakyrelu.c. */
static struct bpg_slopes template_slopes(double l, double u, const double alpha[2], int rule, const void *attr)
{
	(void)alpha;
	(void)rule;
	double chord = (template_f(u, attr) - template_f(l, attr)) / (u - l), tangent = template_df(0.5 * l + 0.5 * u, attr);
	if (!isfinite(chord))
		chord = 0;
	if (l >= 0)
		return (struct bpg_slopes){ .lo = chord, .up = isfinite(tangent) ? tangent : 0 };
	if (u <= 0)
		return (struct bpg_slopes){ .lo = isfinite(tangent) ? tangent : 0, .up = chord };
	return (struct bpg_slopes){ .lo = chord, .up = chord };
}

/* Points inside (l,u) where f(x) - s*x may have an extreme: kinks, and solutions of f'(x) = s, here (1 + |x|)^2 = 1/s. The
 * family needs all of them, each to a relative error of 1e-6; `curvature` covers the rest. */
static int template_extremes(double s, double l, double u, const void *attr, double at[8])
{
	(void)attr;
	if (!(s > 0 && s <= 1))
		return 0;
	double r = sqrt(s), x = (1 - s) / (r * (1 + r));   /* 1/r - 1 without cancellation */
	int n = 0;
	if (-x > l && -x < u)
		at[n++] = -x;
	if (x > l && x < u && x != 0)
		at[n++] = x;
	return n;
}

static const struct bpg_unary template_unary = {
	.f = template_f,
	.ulp = 2,              /* two roundings, each at most one unit in the last place of the result */
	.df = template_df,
	.curvature = 2,        /* |f''| = 2 / (1 + |x|)^3 */
	.slopes = template_slopes,
	.extremes = template_extremes,
	/* .turns = ...           where a function that is not monotone turns
	 * .kinks = ...           where a split makes the function simpler on both sides */
};

/* Traits say what drivers ask: BPG_MONOTONE lets the interval be that of the two ends, BPG_NEEDS_SMOOTH asks for tight
 * bounds of every input. The sampler draws a random legal instance with all its attributes; for a layer without
 * attributes the default, one variable operand of random shape, is enough. */
BPG_UNARY_LAYER(template, .ops = "Template", .traits = BPG_MONOTONE | BPG_NEEDS_SMOOTH, .unary = &template_unary,
                .sample = bpg_sample_box);
