/* directed.h - double arithmetic rounded down or up, exact where the result is exact.
 *
 * Round to nearest is in force; the sign of the rounding error (two-sum, fused multiply-add) tells whether the result
 * has to be moved. Errors that may have underflowed are not trusted: the result is moved in any case. */
#ifndef BPG_DIRECTED_H
#define BPG_DIRECTED_H

#include <float.h>
#include <math.h>

#include "base/base.h"

/* Below this the error of a product or quotient may not be a double. */
#define BPG_ERROR_TRUSTED 0x1p-900

/* A finite operation that overflowed. */
static inline double bpg_overflow_down(double s) { return s > 0 ? DBL_MAX : s; }
static inline double bpg_overflow_up(double s) { return s < 0 ? -DBL_MAX : s; }

/* Error of s = fl(a + b): a + b - s, exact (Knuth's two-sum). */
static inline double bpg_sum_error(double a, double b, double s)
{
	double bb = s - a;
	return (a - (s - bb)) + (b - bb);
}

static inline double bpg_add_down(double a, double b)
{
	double s = a + b;
	if (!isfinite(s))
		return isfinite(a) && isfinite(b) ? bpg_overflow_down(s) : s;
	double e = bpg_sum_error(a, b, s);
	return e >= 0 ? s : bpg_next_down(s);    /* also when the error is NaN: an inner step overflowed */
}

static inline double bpg_add_up(double a, double b) { return -bpg_add_down(-a, -b); }

static inline double bpg_mul_down(double a, double b)
{
	double p = a * b;
	if (a == 0 || b == 0 || !isfinite(a) || !isfinite(b))
		return p;
	if (!isfinite(p))
		return bpg_overflow_down(p);
	if (fabs(p) < BPG_ERROR_TRUSTED)
		return bpg_next_down(p);
	return fma(a, b, -p) >= 0 ? p : bpg_next_down(p);
}

static inline double bpg_mul_up(double a, double b) { return -bpg_mul_down(-a, b); }

/* b != 0, both finite. */
static inline double bpg_div_down(double a, double b)
{
	double q = a / b;
	if (a == 0)
		return q;
	if (!isfinite(q))
		return bpg_overflow_down(q);
	if (fabs(q) < BPG_ERROR_TRUSTED || fabs(a) < BPG_ERROR_TRUSTED)
		return bpg_next_down(q);
	double e = fma(q, b, -a);                /* (q - a/b) * b */
	return (b > 0 ? e <= 0 : e >= 0) ? q : bpg_next_down(q);
}

static inline double bpg_div_up(double a, double b) { return -bpg_div_down(-a, b); }

#endif
