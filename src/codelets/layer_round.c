/* layer_round.c - Floor, Ceil and Round (half to even), elementwise: steps of height 1.
 *
 * Between integers so large that a double cannot name the next one, y lies within x - 1 and x + 1. */
#include <math.h>
#include <string.h>

#include "codelets/family_curve.h"

enum { FLOOR, CEIL, ROUND };

static enum bpg_status round_import(const struct bpg_import *im, struct bpg_node *v)
{
	BPG_TRY(bpg_import_same_shape(im, v));
	int *kind = bpg_import_alloc(im, 1, sizeof *kind);
	if (!kind)
		return bpg_import_fail(im, BPG_ENOMEM, "not enough memory");
	*kind = !strcmp(v->op, "Floor") ? FLOOR : !strcmp(v->op, "Ceil") ? CEIL : ROUND;
	v->attr = kind;
	return BPG_OK;
}

static double round_f(double x, const void *attr)
{
	int kind = *(const int *)attr;
	return kind == FLOOR ? floor(x) : kind == CEIL ? ceil(x) : nearbyint(x);
}

static double round_df(double x, const void *attr)
{
	(void)x;
	(void)attr;
	return 0;
}

/* The value just left and just right of x. */
static double left_limit(double x, int kind)
{
	return kind == FLOOR ? ceil(x) - 1 : kind == CEIL ? ceil(x) : ceil(x - 0.5);
}

static double right_limit(double x, int kind)
{
	return kind == FLOOR ? floor(x) : kind == CEIL ? floor(x) + 1 : floor(x + 0.5);
}

/* First jump right of x, last one left of it. */
static double next_jump(double x, int kind)
{
	return kind == ROUND ? floor(x - 0.5) + 1.5 : floor(x) + 1;
}

static double last_jump(double x, int kind)
{
	return kind == ROUND ? ceil(x - 0.5) - 0.5 : ceil(x) - 1;
}

static void add_jump(struct bpg_corners *c, double x, int kind)
{
	double left = kind == FLOOR ? x - 1 : kind == CEIL ? x : x - 0.5;
	bpg_corners_add(c, x, left, left + 1);
}

static struct bpg_corners round_corners(double l, double u, const void *attr)
{
	int kind = *(const int *)attr;
	struct bpg_corners c = { 0 };

	if (!(fabs(l) < 0x1p51 && fabs(u) < 0x1p51)) {
		bpg_corners_add(&c, l, l, l);
		bpg_corners_add(&c, u, u, u);
		c.err = 1;
		return c;
	}
	double first = next_jump(l, kind), last = last_jump(u, kind), a = round_f(l, attr), b = round_f(u, attr);
	bpg_corners_add(&c, l, a, u > l ? fmax(a, right_limit(l, kind)) : a);
	if (first < u)
		add_jump(&c, first, kind);
	if (last > first)
		add_jump(&c, last, kind);
	bpg_corners_add(&c, u, u > l ? fmin(b, left_limit(u, kind)) : b, b);
	return c;
}

static struct bpg_slopes round_slopes(double l, double u, const double alpha[2], int rule, const void *attr)
{
	(void)alpha;
	(void)rule;
	struct bpg_corners c = round_corners(l, u, attr);
	return bpg_corners_slopes(&c, 0, 0);
}

static double round_intercept(double s, double l, double u, int side, const void *attr)
{
	struct bpg_corners c = round_corners(l, u, attr);
	return bpg_corners_intercept(&c, s, side);
}

/* The jump nearest the middle. */
static int round_kinks(double l, double u, const void *attr, double at[4])
{
	int kind = *(const int *)attr;
	double m = l + (u - l) / 2, a = last_jump(m, kind), b = next_jump(a, kind);

	if (!(fabs(l) < 0x1p51 && fabs(u) < 0x1p51))
		return 0;
	at[0] = b < u && b - m < m - a ? b : a > l ? a : b;
	return at[0] > l && at[0] < u;
}

static void round_sample(struct bpg_rng *rng, struct bpg_sample *s)
{
	static const char *const op[] = { "Floor", "Ceil", "Round" };
	bpg_sample_op(s, op[bpg_rng_below(rng, 3)], 13);
	bpg_sample_box(rng, s);
}

static const struct bpg_unary round_unary = {
	.f = round_f,
	.df = round_df,
	.slopes = round_slopes,
	.intercept = round_intercept,
	.kinks = round_kinks,
};

BPG_UNARY_LAYER(round, .ops = "Floor Ceil Round", .traits = BPG_MONOTONE | BPG_NEEDS_KINK, .import = round_import,
                .unary = &round_unary, .sample = round_sample);
