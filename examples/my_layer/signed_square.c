/* signed_square.c - y = x |x|, elementwise, as a layer from outside: the ONNX operator SignedSquare of the domain
 * org.example. Concave left of 0, convex right of it. */
#include <math.h>

#include <bpgraph/layer.h>

static double f(double x, const void *attr)
{
	(void)attr;
	return x * fabs(x);
}

static double df(double x, const void *attr)
{
	(void)attr;
	return 2 * fabs(x);
}

/* On one side of 0 the chord has the slope |l + u|, and so has the tangent at the middle. Across 0 the lower line leaves
 * (l, f(l)) and touches the curve at p, p^2 - 2 l p - l^2 = 0; the upper line is its mirror image. */
static struct bpg_slopes slopes(double l, double u, const double alpha[2], int rule, const void *attr)
{
	const double part = 0.41421356237309505; /* sqrt(2) - 1 */
	(void)alpha;
	(void)rule;
	double chord = l >= 0 || u <= 0 ? fabs(l + u) : (f(u, attr) - f(l, attr)) / (u - l);
	struct bpg_slopes s = { .lo = chord, .up = chord };
	if (l < 0 && u > 0 && part * -l < u)
		s.lo = 2 * part * -l;
	if (l < 0 && u > 0 && part * u < -l)
		s.up = 2 * part * u;
	s.lo = isfinite(s.lo) ? s.lo : 0;
	s.up = isfinite(s.up) ? s.up : 0;
	return s;
}

/* Solutions of f'(x) = s. */
static int extremes(double s, double l, double u, const void *attr, double at[8])
{
	int n = 0;
	(void)attr;
	if (s > 0 && -s / 2 > l && -s / 2 < u)
		at[n++] = -s / 2;
	if (s > 0 && s / 2 > l && s / 2 < u)
		at[n++] = s / 2;
	return n;
}

static const struct bpg_unary unary = { .f = f, .ulp = 1, .df = df, .curvature = 2, .slopes = slopes, .extremes = extremes };

static BPG_UNARY_LAYER(signed_square, .ops = "org.example::SignedSquare", .traits = BPG_MONOTONE | BPG_NEEDS_SMOOTH,
                       .unary = &unary);

BPG_LAYER_PLUGIN("an example", &bpg_layer_signed_square);
