/* dot.c - see dot.h. Each loop is written once with vector types of the compiler and built for the plain instruction set
 * and, on x86-64, for AVX2. */
#include "codelets/dot.h"

#include <math.h>
#include <string.h>

#define LANES 16
#define INLINE static inline __attribute__((always_inline))

typedef double v4d __attribute__((vector_size(32)));
typedef int64_t v4l __attribute__((vector_size(32)));
typedef float v4f __attribute__((vector_size(16)));
typedef float v8f __attribute__((vector_size(32)));

/* Sums of the lanes in a fixed tree. */
INLINE double tree(const double lane[LANES])
{
	double t[LANES / 2];
	for (int i = 0; i < LANES / 2; i++)
		t[i] = lane[i] + lane[i + LANES / 2];
	for (int n = LANES / 4; n > 0; n /= 2)
		for (int i = 0; i < n; i++)
			t[i] = t[i] + t[i + n];
	return t[0];
}

INLINE void dot_pair_body(int64_t k, const float *w, const double *m, const double *r, struct bpg_dot_pair *out)
{
	v4d sum[4] = { 0 }, abs[4] = { 0 };
	double lane[LANES];
	int64_t i = 0;
	for (; i + LANES <= k; i += LANES)
#pragma GCC unroll 4
		for (int j = 0; j < 4; j++) {
			v4f wf;
			v4d mv, rv;
			memcpy(&wf, w + i + 4 * j, sizeof wf);
			memcpy(&mv, m + i + 4 * j, sizeof mv);
			memcpy(&rv, r + i + 4 * j, sizeof rv);
			v4d wd = __builtin_convertvector(wf, v4d);
			v4l bits = (v4l)wd & INT64_MAX;
			sum[j] += wd * mv;
			abs[j] += (v4d)bits * rv;
		}
	memcpy(lane, sum, sizeof lane);
	for (int64_t t = i; t < k; t++)
		lane[t - i] += (double)w[t] * m[t];
	out->sum = tree(lane);
	memcpy(lane, abs, sizeof lane);
	for (int64_t t = i; t < k; t++)
		lane[t - i] += fabs((double)w[t]) * r[t];
	out->abs = tree(lane);
}

INLINE double dot_body(int64_t k, const float *w, const double *x)
{
	v4d sum[4] = { 0 };
	double lane[LANES];
	int64_t i = 0;
	for (; i + LANES <= k; i += LANES)
#pragma GCC unroll 4
		for (int j = 0; j < 4; j++) {
			v4f wf;
			v4d xv;
			memcpy(&wf, w + i + 4 * j, sizeof wf);
			memcpy(&xv, x + i + 4 * j, sizeof xv);
			sum[j] += __builtin_convertvector(wf, v4d) * xv;
		}
	memcpy(lane, sum, sizeof lane);
	for (int64_t t = i; t < k; t++)
		lane[t - i] += (double)w[t] * x[t];
	return tree(lane);
}

INLINE float dot_f32_body(int64_t k, const float *w, const float *x)
{
	v8f sum[2] = { 0 };
	float lane[LANES];
	int64_t i = 0;
	for (; i + LANES <= k; i += LANES)
#pragma GCC unroll 2
		for (int j = 0; j < 2; j++) {
			v8f wv, xv;
			memcpy(&wv, w + i + 8 * j, sizeof wv);
			memcpy(&xv, x + i + 8 * j, sizeof xv);
			sum[j] += wv * xv;
		}
	memcpy(lane, sum, sizeof lane);
	for (int64_t t = i; t < k; t++)
		lane[t - i] += w[t] * x[t];
	for (int n = LANES / 2; n > 0; n /= 2)
		for (int t = 0; t < n; t++)
			lane[t] = lane[t] + lane[t + n];
	return lane[0];
}

/* Elementwise: the order does not depend on vectors, the compiler may choose them. */
INLINE void axpy_pair_body(int64_t n, double a, double b, const float *w, double *restrict sum, double *restrict abs)
{
	int64_t i = 0;
	for (; i + 4 <= n; i += 4) {
		v4f wf;
		v4d s, t;
		memcpy(&wf, w + i, sizeof wf);
		memcpy(&s, sum + i, sizeof s);
		memcpy(&t, abs + i, sizeof t);
		v4d wd = __builtin_convertvector(wf, v4d);
		v4l bits = (v4l)wd & INT64_MAX;
		s += a * wd;
		t += b * (v4d)bits;
		memcpy(sum + i, &s, sizeof s);
		memcpy(abs + i, &t, sizeof t);
	}
	for (; i < n; i++) {
		sum[i] += a * (double)w[i];
		abs[i] += b * fabs((double)w[i]);
	}
}

INLINE void axpy_body(int64_t n, double a, const float *w, double *restrict sum)
{
	int64_t i = 0;
	for (; i + 4 <= n; i += 4) {
		v4f wf;
		v4d s;
		memcpy(&wf, w + i, sizeof wf);
		memcpy(&s, sum + i, sizeof s);
		s += a * __builtin_convertvector(wf, v4d);
		memcpy(sum + i, &s, sizeof s);
	}
	for (; i < n; i++)
		sum[i] += a * (double)w[i];
}

INLINE void axpy_f32_body(int64_t n, float a, const float *w, float *restrict sum)
{
	int64_t i = 0;
	for (; i + 8 <= n; i += 8) {
		v8f wv, s;
		memcpy(&wv, w + i, sizeof wv);
		memcpy(&s, sum + i, sizeof s);
		s += a * wv;
		memcpy(sum + i, &s, sizeof s);
	}
	for (; i < n; i++)
		sum[i] += a * w[i];
}

#if defined(__x86_64__) && defined(__GNUC__)
#define WIDE __attribute__((target("avx2")))
/* Defines NAME_wide, and calls it where the processor can. */
#define BUILD(ret, keep, name, params, args)                  \
	WIDE static ret name##_wide params { keep name##_body args; } \
	static ret name##_plain params { keep name##_body args; }
#define CALL(name, args) (__builtin_cpu_supports("avx2") ? name##_wide args : name##_plain args)
#else
#define BUILD(ret, keep, name, params, args) static ret name##_plain params { keep name##_body args; }
#define CALL(name, args) name##_plain args
#endif

BUILD(void, , dot_pair, (int64_t k, const float *w, const double *m, const double *r, struct bpg_dot_pair *out),
      (k, w, m, r, out))
BUILD(double, return, dot, (int64_t k, const float *w, const double *x), (k, w, x))
BUILD(float, return, dot_f32, (int64_t k, const float *w, const float *x), (k, w, x))
BUILD(void, , axpy_pair, (int64_t n, double a, double b, const float *w, double *sum, double *abs), (n, a, b, w, sum, abs))
BUILD(void, , axpy, (int64_t n, double a, const float *w, double *sum), (n, a, w, sum))
BUILD(void, , axpy_f32, (int64_t n, float a, const float *w, float *sum), (n, a, w, sum))

struct bpg_dot_pair bpg_dot_pair(int64_t k, const float *w, const double *m, const double *r)
{
	struct bpg_dot_pair pair;
	CALL(dot_pair, (k, w, m, r, &pair));
	return pair;
}

double bpg_dot(int64_t k, const float *w, const double *x) { return CALL(dot, (k, w, x)); }
float bpg_dot_f32(int64_t k, const float *w, const float *x) { return CALL(dot_f32, (k, w, x)); }

void bpg_axpy_pair(int64_t n, double a, double b, const float *w, double *sum, double *abs)
{
	CALL(axpy_pair, (n, a, b, w, sum, abs));
}

void bpg_axpy(int64_t n, double a, const float *w, double *sum) { CALL(axpy, (n, a, w, sum)); }
void bpg_axpy_f32(int64_t n, float a, const float *w, float *sum) { CALL(axpy_f32, (n, a, w, sum)); }
