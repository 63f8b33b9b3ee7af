/* decimal.c - decimal texts as the doubles around them.
 *
 * Most numbers have at most 19 digits and a small negative exponent: m / 10^k. Then a candidate v = M * 2^e is compared
 * with the number exactly, M * 10^k against m * 2^-e, in 128 bits. Everything else goes through the C library, which
 * rounds decimals correctly in every rounding mode. The point is '.', whatever the locale. */
#define _GNU_SOURCE
#include <fenv.h>
#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>

#include "spec/spec.h"

__extension__ typedef unsigned __int128 wide;

/* sign * m * 10^exponent, when m holds all digits. */
struct parts {
	bool negative, small;     /* small: m and exponent are complete */
	uint64_t m;
	int64_t exponent;
};

static bool digit(char c) { return c >= '0' && c <= '9'; }

static const char *take_digits(const char *s, struct parts *p, int64_t step)
{
	for (; digit(*s); s++) {
		if (p->m > (UINT64_MAX - 9) / 10)
			p->small = false;
		else {
			p->m = p->m * 10 + (uint64_t)(*s - '0');
			p->exponent += step;
		}
	}
	return s;
}

/* Takes a text apart; false: not a number. */
static bool take_apart(const char *s, struct parts *p)
{
	*p = (struct parts){ .small = true };
	p->negative = *s == '-';
	if (*s == '-' || *s == '+')
		s++;
	const char *whole = s;
	s = take_digits(s, p, 0);
	int64_t digits = s - whole;
	if (*s == '.') {
		const char *part = ++s;
		s = take_digits(s, p, -1);
		digits += s - part;
	}
	if (!digits)
		return false;
	if (*s == 'e' || *s == 'E') {
		s++;
		bool minus = *s == '-';
		if (*s == '-' || *s == '+')
			s++;
		if (!digit(*s))
			return false;
		int64_t e = 0;
		for (; digit(*s); s++)
			e = BPG_MIN(e * 10 + (*s - '0'), 1000000000);
		p->exponent += minus ? -e : e;
	}
	return !*s;
}

static pthread_once_t once = PTHREAD_ONCE_INIT;
static locale_t c_locale;
static void make_locale(void) { c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0); }

static double convert(const char *text)
{
	pthread_once(&once, make_locale);
	return c_locale ? strtod_l(text, NULL, c_locale) : strtod(text, NULL);
}

static double convert_in_mode(const char *text, int mode)
{
	int before = fegetround();
	fesetround(mode);
	double v = convert(text);
	fesetround(before);
	return v;
}

static const double ten[] = { 1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
	1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22 };

static wide wide_ten(int64_t k)
{
	wide w = 1;
	while (k-- > 0)
		w *= 10;
	return w;
}

/* Sign of v - m/10^k for v > 0 near m/10^k, 0 < m, k <= 22; 2 when 128 bits do not hold it. */
static int compare(double v, uint64_t m, int64_t k)
{
	int e;
	double f = frexp(v, &e);
	uint64_t mantissa = (uint64_t)ldexp(f, 53);
	e -= 53;
	int bits = 64 - __builtin_clzll(m);
	if (e > 0 || bits - e > 128)
		return 2;
	wide a = mantissa * wide_ten(k), b = (wide)m << -e;   /* mantissa * 10^k < 2^(53 + 74) */
	return a < b ? -1 : a > b;
}

/* Neighbours of m / 10^k; false: not decided here. */
static bool quick(const char *text, const struct parts *p, double *nearest, double *lo, double *up)
{
	int64_t k = -p->exponent;
	if (!p->small || k < 0 || k >= (int64_t)BPG_LEN(ten) || p->m == 0)
		return false;
	/* Both exact: the quotient is correctly rounded. */
	double v = p->m <= (uint64_t)1 << 53 ? (double)p->m / ten[k] : fabs(convert(text));
	int sign = compare(v, p->m, k);
	if (sign == 2)
		return false;
	double l = sign > 0 ? bpg_next_down(v) : v, u = sign < 0 ? bpg_next_up(v) : v;
	*nearest = p->negative ? -v : v;
	*lo = p->negative ? -u : l;
	*up = p->negative ? -l : u;
	return true;
}

bool bpg_decimal(const char *text, double *nearest, double *lo, double *up)
{
	struct parts p;
	if (!take_apart(text, &p))
		return false;
	if (p.m == 0 && p.small) {
		*nearest = *lo = *up = 0;
		return true;
	}
	if (quick(text, &p, nearest, lo, up))
		return true;
	*nearest = convert(text);
	*lo = convert_in_mode(text, FE_DOWNWARD);
	*up = convert_in_mode(text, FE_UPWARD);
	return true;
}
