/* family_curve.h - lines below and above a function of one variable whose curvature changes sign at known points.
 *
 * A layer states f, f', f'' and the points where its curvature changes sign (bends); everything a unary layer needs about
 * lines follows: slopes, parameters, derivatives, and intercepts that hold for any slope. */
#ifndef BPG_FAMILY_CURVE_H
#define BPG_FAMILY_CURVE_H

#include "codelets/family_unary.h"

#define BPG_BENDS 8

struct bpg_curve {
	const struct bpg_unary *unary;
	double (*ddf)(double x, const void *attr);    /* for speed and for derivatives of slopes only: no accuracy needed */
	double df_ulp, df_abs;    /* error of unary->df as computed, as in bpg_unary; also what f' changes over one unit in the
	                             last place of a bend's position */
	/* Bends in (l,u), rising: inflections, and kinks where f' jumps against the curvature beside it. curl[i] tells the
	 * piece left of bend i, curl[n] the last: 1 convex, -1 concave, 0 straight; f' is continuous inside, but may jump the way
	 * it moves anyway. -1: too many (f must have `range`). Null: one piece, its curl is `curl`. */
	int (*bends)(double l, double u, const void *attr, double at[BPG_BENDS], int curl[BPG_BENDS + 1]);
	int curl;
	double far, tail; /* f is within `tail` of a straight line beyond far, of another one beyond -far; 0: not stated */
	double lead;              /* the default lower tangent touches at most this far from l; 0: no limit */
};

struct bpg_slopes bpg_curve_slopes(const struct bpg_curve *c, double l, double u, const double alpha[2], const void *attr);
void bpg_curve_alpha_range(const struct bpg_curve *c, double l, double u, int side, const void *attr, double *least,
                           double *most, double *start);
double bpg_curve_intercept(const struct bpg_curve *c, double s, double l, double u, int side, const void *attr);

/* The bends of a list that lie in (l,u): `n` points, curls of the n+1 pieces. */
int bpg_curve_list(int n, const double *point, const int *piece, double l, double u, double at[BPG_BENDS],
                   int curl[BPG_BENDS + 1]);

/* Defines id_unary from id_f, id_df and the curve id_curve, which follows; the rest are further members. */
#define BPG_CURVE_UNARY(id, ...)                                                                                       \
	static const struct bpg_curve id##_curve;                                                                      \
	static struct bpg_slopes id##_slopes(double l, double u, const double alpha[2], int rule, const void *attr)    \
	{                                                                                                              \
		(void)rule;                                                                                            \
		return bpg_curve_slopes(&id##_curve, l, u, alpha, attr);                                               \
	}                                                                                                              \
	static void id##_alpha_range(double l, double u, int side, const void *attr, double *least, double *most,      \
	                             double *start)                                                                    \
	{                                                                                                              \
		bpg_curve_alpha_range(&id##_curve, l, u, side, attr, least, most, start);                              \
	}                                                                                                              \
	static double id##_intercept(double s, double l, double u, int side, const void *attr)                         \
	{                                                                                                              \
		return bpg_curve_intercept(&id##_curve, s, l, u, side, attr);                                          \
	}                                                                                                              \
	static const struct bpg_unary id##_unary = { .f = id##_f, .df = id##_df, .slopes = id##_slopes,                \
		                                     .alpha_range = id##_alpha_range, .enters = BPG_ALPHA_TANGENT,     \
		                                     .intercept = id##_intercept, __VA_ARGS__ }

/* ---- straight pieces ---- */

/* A function made of straight pieces between corners, with or without jumps: at x[i] (rising; the first is l, the last u)
 * its values and one-sided limits within [l,u] have lo[i] and up[i] as extremes, up to err. */
struct bpg_corners {
	int n;
	double x[8], lo[8], up[8], err;
};

void bpg_corners_add(struct bpg_corners *c, double x, double lo, double up);
/* Least or greatest value of f(x) - s*x: attained, or approached, at a corner. */
double bpg_corners_intercept(const struct bpg_corners *c, double s, int side);
/* The line below (side 1) or above (-1) that is closest at the middle; *first, *last: corners it passes through. */
double bpg_corners_slope(const struct bpg_corners *c, int side, int *first, int *last);
/* Slopes of both lines with their derivatives; dl, du: slope of f at l and at u. */
struct bpg_slopes bpg_corners_slopes(const struct bpg_corners *c, double dl, double du);

#endif
