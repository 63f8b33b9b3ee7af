/* layer_abs.c - y = |x|, elementwise. Around the kink the upper line is the chord, the lower one of any slope in [-1,1]
 * passes through the origin; its slope is the parameter. */
#include <math.h>

#include <bpgraph/layer.h>

static double abs_f(double x, const void *attr)
{
	(void)attr;
	return fabs(x);
}

static double abs_df(double x, const void *attr)
{
	(void)attr;
	return x >= 0 ? 1 : -1;
}

static int abs_kinks(double l, double u, const void *attr, double at[4])
{
	(void)attr;
	if (!(l < 0 && u > 0))
		return 0;
	at[0] = 0;
	return 1;
}

static int abs_turns(double l, double u, const void *attr, double at[8])
{
	return abs_kinks(l, u, attr, at);
}

static int abs_extremes(double s, double l, double u, const void *attr, double at[8])
{
	(void)s;
	return abs_kinks(l, u, attr, at);
}

/* The line closest on average follows the longer side. */
static double abs_start(double l, double u)
{
	return u > -l ? 1 : u < -l ? -1 : 0;
}

static struct bpg_slopes abs_slopes(double l, double u, const double alpha[2], int rule, const void *attr)
{
	(void)attr;
	if (l >= 0)
		return (struct bpg_slopes){ .lo = 1, .up = 1 };
	if (u <= 0)
		return (struct bpg_slopes){ .lo = -1, .up = -1 };
	double w = u - l, k = isinf(w) ? 0 : (u + l) / w, k_dl = 2 * u / w / w, k_du = -2 * l / w / w;
	struct bpg_slopes s = { .up = k, .dup_dl = k_dl, .dup_du = k_du };
	if (!isnan(alpha[0])) {
		s.lo = fmin(fmax(alpha[0], -1), 1);
		s.dlo_dalpha = alpha[0] >= -1 && alpha[0] <= 1;
	} else if (rule == BPG_SLOPE_SAME) {
		s.lo = k;
		s.dlo_dl = k_dl;
		s.dlo_du = k_du;
	} else {
		s.lo = rule == BPG_SLOPE_ZERO ? 0 : rule == BPG_SLOPE_ONE ? 1 : abs_start(l, u);
	}
	return s;
}

static void abs_alpha_range(double l, double u, int side, const void *attr, double *least, double *most, double *start)
{
	(void)attr;
	*least = *most = *start = 0;
	if (side == 1 || !(l < 0 && u > 0))
		return;
	*least = -1;
	*most = 1;
	*start = abs_start(l, u);
}

static const struct bpg_unary abs_unary = {
	.f = abs_f,
	.df = abs_df,
	.slopes = abs_slopes,
	.alpha_range = abs_alpha_range,
	.enters = BPG_ALPHA_SLOPE,
	.extremes = abs_extremes,
	.turns = abs_turns,
	.kinks = abs_kinks,
};

BPG_UNARY_LAYER(abs, .ops = "Abs", .traits = BPG_CONVEX | BPG_PIECEWISE | BPG_NEEDS_SMOOTH, .unary = &abs_unary);
