/* round.c - outward arithmetic. Round to nearest is in force; results are moved by steps of the last place, on the bits,
 * so that a thread that flushes small numbers to zero moves them, too. */
#include "base/base.h"

#include <fenv.h>
#include <math.h>
#include <string.h>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

static uint64_t bits_of(double x)
{
	uint64_t b;
	memcpy(&b, &x, sizeof b);
	return b;
}

static double of_bits(uint64_t b)
{
	double x;
	memcpy(&x, &b, sizeof x);
	return x;
}

#define SIGN (1ull << 63)
#define INFINITE 0x7ff0000000000000ull

double bpg_next_up(double x)
{
	uint64_t b = bits_of(x);
	if ((b & ~SIGN) > INFINITE || b == INFINITE) /* NaN, and +inf */
		return x;
	if (!(b & ~SIGN))
		return of_bits(1);
	return of_bits(b & SIGN ? b - 1 : b + 1);
}

double bpg_next_down(double x)
{
	return -bpg_next_up(-x);
}

float bpg_float_up(double x)
{
	float f = (float)x;
	return (double)f < x ? nextafterf(f, INFINITY) : f;
}

float bpg_float_down(double x)
{
	float f = (float)x;
	return (double)f > x ? nextafterf(f, -INFINITY) : f;
}

bool bpg_float_mode(void)
{
#if defined(__SSE2__)
	const unsigned flush = 0x8000, zeros = 0x40, direction = 0x6000;
	unsigned mode = _mm_getcsr();

	if (!(mode & (flush | zeros | direction)))
		return false;
	_mm_setcsr(mode & ~(flush | zeros | direction));
	return true;
#else
	volatile double tiny = 0x1p-1022;
	if (fegetround() == FE_TONEAREST && tiny / 2 > 0)
		return false;
	fesetenv(FE_DFL_ENV);
	return true;
#endif
}

double bpg_gamma(double n, double u)
{
	if (!(n > 0))
		return 0;
	double nu = bpg_next_up(n * u); /* n*u is exact for u a power of two, but u may be anything */
	if (!(nu < 1))
		return INFINITY;
	double below = bpg_next_down(1 - nu);
	return below > 0 ? bpg_next_up(nu / below) : INFINITY;
}
