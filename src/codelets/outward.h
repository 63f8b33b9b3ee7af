/* outward.h - single operations rounded toward minus and plus infinity, by error-free transformations, without touching
 * the rounding mode. Exact results stay exact, so adding 0 or multiplying by 1 widens nothing; all are monotone in their
 * arguments, so that intervals made with them nest. Lower bounds never become NaN or a wrong +infinity: what cannot be
 * bounded is -infinity (lower) or +infinity (upper). 0 * infinity is 0: a bound that is multiplied by an exact zero. */
#ifndef BPG_OUTWARD_H
#define BPG_OUTWARD_H

#include <float.h>
#include <math.h>

#include "base/base.h"

static inline double bpg_add_down(double a, double b)
{
	double s = a + b;
	if (!(fabs(s) <= DBL_MAX)) {
		if (isnan(s) || s < 0)
			return -INFINITY;
		return isinf(a) || isinf(b) ? s : DBL_MAX;
	}
	double t = s - a, e = (a - (s - t)) + (b - t);
	return e >= 0 ? s : bpg_next_down(s);
}

static inline double bpg_add_up(double a, double b) { return -bpg_add_down(-a, -b); }

static inline double bpg_mul_down(double a, double b)
{
	if (a == 0 || b == 0)
		return 0;
	double p = a * b;
	if (!(fabs(p) <= DBL_MAX)) {
		if (isnan(p) || p < 0)
			return -INFINITY;
		return isinf(a) || isinf(b) ? p : DBL_MAX;
	}
	if (fabs(p) < 0x1p-960)   /* the error below could itself be rounded */
		return bpg_next_down(p);
	return fma(a, b, -p) >= 0 ? p : bpg_next_down(p);
}

static inline double bpg_mul_up(double a, double b) { return -bpg_mul_down(-a, b); }

/* b other than 0. x/infinity is 0: a bound of numbers that tend to it. */
static inline double bpg_div_down(double a, double b)
{
	double q = a / b;
	if (!(fabs(q) <= DBL_MAX)) {
		if (isnan(q) || q < 0)
			return -INFINITY;
		return isinf(a) ? q : DBL_MAX;
	}
	if (a == 0 || isinf(b))
		return q;
	if (fabs(q) < 0x1p-960 || fabs(a) < 0x1p-960) /* the remainder below could itself be rounded */
		return bpg_next_down(q);
	double r = fma(-q, b, a); /* a/b = q + r/b */
	return r == 0 || (r > 0) == (b > 0) ? q : bpg_next_down(q);
}

static inline double bpg_div_up(double a, double b) { return -bpg_div_down(-a, b); }

/* Square roots of what is not negative (smaller numbers count as 0). */
static inline double bpg_sqrt_down(double a)
{
	if (!(a > 0))
		return 0;
	double s = sqrt(a);
	return isinf(s) || fma(s, s, -a) <= 0 ? s : bpg_next_down(s);
}

static inline double bpg_sqrt_up(double a)
{
	if (isnan(a))
		return INFINITY;
	if (!(a > 0))
		return 0;
	double s = sqrt(a);
	return isinf(s) || (a > 0x1p-900 && fma(s, s, -a) >= 0) ? s : bpg_next_up(s);
}

/* exp and log of the library are taken to be within 2 units in the last place (glibc states 1). */
static inline double bpg_exp_down(double a)
{
	double y = isnan(a) ? 0 : exp(a);
	if (isinf(y))
		return isinf(a) ? y : DBL_MAX;
	return a == 0 ? 1 : fmax(bpg_next_down(bpg_next_down(y)), 0);
}

static inline double bpg_exp_up(double a)
{
	double y = isnan(a) ? INFINITY : exp(a);
	return a == 0 || a == -INFINITY ? y : bpg_next_up(bpg_next_up(y));
}

static inline double bpg_log_down(double a)
{
	return a == 1 ? 0 : a > 0 ? bpg_next_down(bpg_next_down(log(a))) : -INFINITY;
}

static inline double bpg_log_up(double a)
{
	return a == 1 ? 0 : a > 0 ? bpg_next_up(bpg_next_up(log(a))) : isnan(a) ? INFINITY : -INFINITY;
}

/* Enclosure [*lo, *up] += c * [l, u] with |true c - c| <= err. */
static inline void bpg_axpy_outward(double c, double err, double l, double u, double *lo, double *up)
{
	double down = bpg_mul_down(c, c >= 0 ? l : u), high = bpg_mul_up(c, c >= 0 ? u : l);
	if (err > 0) {
		double slack = bpg_mul_up(err, fmax(fabs(l), fabs(u)));
		down = bpg_add_down(down, -slack);
		high = bpg_add_up(high, slack);
	}
	*lo = bpg_add_down(*lo, down);
	*up = bpg_add_up(*up, high);
}

#endif
