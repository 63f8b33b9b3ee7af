/* layer_sign.c - y = -1, 0, 1 by the sign of x, elementwise. */
#include "codelets/family_curve.h"

static double sign_f(double x, const void *attr)
{
	(void)attr;
	return x > 0 ? 1 : x < 0 ? -1 : x;
}

static double sign_df(double x, const void *attr)
{
	(void)x;
	(void)attr;
	return 0;
}

static struct bpg_corners sign_corners(double l, double u)
{
	struct bpg_corners c = { 0 };
	bpg_corners_add(&c, l, sign_f(l, 0), l == 0 && u > 0 ? 1 : sign_f(l, 0));
	if (l < 0 && u > 0)
		bpg_corners_add(&c, 0, -1, 1);
	bpg_corners_add(&c, u, u == 0 && l < 0 ? -1 : sign_f(u, 0), sign_f(u, 0));
	return c;
}

static struct bpg_slopes sign_slopes(double l, double u, const double alpha[2], int rule, const void *attr)
{
	(void)alpha;
	(void)rule;
	(void)attr;
	struct bpg_corners c = sign_corners(l, u);
	return bpg_corners_slopes(&c, 0, 0);
}

static double sign_intercept(double s, double l, double u, int side, const void *attr)
{
	(void)attr;
	struct bpg_corners c = sign_corners(l, u);
	return bpg_corners_intercept(&c, s, side);
}

/* An end at 0 is left to itself: cutting there again would change nothing. */
static int sign_kinks(double l, double u, const void *attr, double at[4])
{
	(void)attr;
	if (!(l < 0 && u > 0))
		return 0;
	at[0] = 0;
	return 1;
}

static const struct bpg_unary sign_unary = {
	.f = sign_f,
	.df = sign_df,
	.slopes = sign_slopes,
	.intercept = sign_intercept,
	.kinks = sign_kinks,
};

BPG_UNARY_LAYER(sign, .ops = "Sign", .traits = BPG_MONOTONE | BPG_NEEDS_KINK, .unary = &sign_unary);
