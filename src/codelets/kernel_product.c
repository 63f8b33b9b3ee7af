/* kernel_product.c - the product of a tile with packed weights, for AVX-512, AVX2 and plain C: equal bits.
 *
 * Two strips (32 rows) times eight columns in registers on AVX-512, one strip times four columns on AVX2. Weights are
 * read once per strip pair from the first-level cache, tile columns stream. */
#include "codelets/kernel.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

typedef void f32_fn(const float *a, int64_t a_strip, const struct bpg_run *run, int runs, const float *W, float *c,
                    int64_t c_strip, int columns, bool accumulate, const struct bpg_ahead *ahead);
typedef void few_fn(const float *a, int64_t a_strip, const struct bpg_run *run, int runs, const float *W, float *c, int64_t c_strip,
                    int columns, bool accumulate);
typedef void f64_fn(const double *a, const struct bpg_run *run, int runs, const double *W, double *c, int columns, bool accumulate);

/* ---- plain C: the definition ---- */

static void f32_portable(const float *a, int64_t a_strip, const struct bpg_run *run, int runs, const float *W, float *c,
                         int64_t c_strip, int columns, bool accumulate, const struct bpg_ahead *ahead)
{
	(void)a_strip, (void)c_strip, (void)ahead;
	float sum[BPG_GROUP][BPG_LANES] = { 0 };

	for (int r = 0; r < runs; r++)
		for (int i = 0; i < run[r].n; i++) {
			const float *x = a + (run[r].a + i) * BPG_LANES, *w = W + (run[r].w + i) * BPG_GROUP;
			for (int j = 0; j < columns; j++)
				for (int l = 0; l < BPG_LANES; l++)
					sum[j][l] = fmaf(w[j], x[l], sum[j][l]);
		}
	for (int j = 0; j < columns; j++)
		for (int l = 0; l < BPG_LANES; l++)
			c[j * BPG_LANES + l] = accumulate ? c[j * BPG_LANES + l] + sum[j][l] : sum[j][l];
}

static void f64_portable(const double *a, const struct bpg_run *run, int runs, const double *W, double *c, int columns, bool accumulate)
{
	double sum[BPG_GROUP][BPG_LANES] = { 0 };

	for (int r = 0; r < runs; r++)
		for (int i = 0; i < run[r].n; i++) {
			const double *x = a + (run[r].a + i) * BPG_LANES;
			const double *w = W + (run[r].w + i) * BPG_GROUP;
			for (int j = 0; j < columns; j++)
				for (int l = 0; l < BPG_LANES; l++)
					sum[j][l] = fma(w[j], x[l], sum[j][l]);
		}
	for (int j = 0; j < columns; j++)
		for (int l = 0; l < BPG_LANES; l++)
			c[j * BPG_LANES + l] = accumulate ? c[j * BPG_LANES + l] + sum[j][l] : sum[j][l];
}

#if defined(__x86_64__)

/* ---- AVX2: one strip, four columns at a time ---- */

#define COLUMNS3(X) X(0) X(1) X(2)
#define COLUMNS4(X) X(0) X(1) X(2) X(3)
#define COLUMNS8(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7)

__attribute__((target("avx2,fma"))) static void f32_avx2(const float *a, int64_t a_strip, const struct bpg_run *run, int runs,
                                                          const float *W, float *c, int64_t c_strip, int columns, bool accumulate,
                                                          const struct bpg_ahead *ahead)
{
	(void)a_strip, (void)c_strip, (void)ahead;
	for (int j0 = 0; j0 < columns; j0 += 4) {
#define ZERO(j) __m256 p##j = _mm256_setzero_ps(), q##j = p##j;
		COLUMNS4(ZERO)
#undef ZERO
		for (int r = 0; r < runs; r++) {
			const float *x = a + run[r].a * BPG_LANES, *w = W + run[r].w * BPG_GROUP + j0;
			for (int i = 0; i < run[r].n; i++, x += BPG_LANES, w += BPG_GROUP) {
				__m256 u = _mm256_loadu_ps(x), v = _mm256_loadu_ps(x + 8), b;
#define STEP(j) b = _mm256_broadcast_ss(w + j); p##j = _mm256_fmadd_ps(b, u, p##j); q##j = _mm256_fmadd_ps(b, v, q##j);
				COLUMNS4(STEP)
#undef STEP
			}
		}
		float *d = c + j0 * BPG_LANES;
#define STORE(j)                                                                                           \
		if (j0 + j < columns) {                                                                    \
			if (accumulate) {                                                                  \
				p##j = _mm256_add_ps(_mm256_loadu_ps(d + j * BPG_LANES), p##j);            \
				q##j = _mm256_add_ps(_mm256_loadu_ps(d + j * BPG_LANES + 8), q##j);        \
			}                                                                                  \
			_mm256_storeu_ps(d + j * BPG_LANES, p##j);                                         \
			_mm256_storeu_ps(d + j * BPG_LANES + 8, q##j);                                     \
		}
		COLUMNS4(STORE)
#undef STORE
	}
}

/* Few columns (the channels of an image): two strips, three columns. */
__attribute__((target("avx2,fma"))) static void f32_avx2_few(const float *a, int64_t a_strip, const struct bpg_run *run, int runs,
                                                              const float *W, float *c, int64_t c_strip, int columns, bool accumulate)
{
#define ZERO(j) __m256 p##j = _mm256_setzero_ps(), q##j = p##j, r##j = p##j, s##j = p##j;
	COLUMNS3(ZERO)
#undef ZERO
	for (int k = 0; k < runs; k++) {
		const float *x = a + run[k].a * BPG_LANES, *w = W + run[k].w * BPG_GROUP;
		for (int i = 0; i < run[k].n; i++, x += BPG_LANES, w += BPG_GROUP) {
			__m256 t = _mm256_loadu_ps(x), u = _mm256_loadu_ps(x + 8), v = _mm256_loadu_ps(x + a_strip);
			__m256 y = _mm256_loadu_ps(x + a_strip + 8), b;
#define STEP(j)                                                                                            \
			b = _mm256_broadcast_ss(w + j);                                                    \
			p##j = _mm256_fmadd_ps(b, t, p##j);                                                \
			q##j = _mm256_fmadd_ps(b, u, q##j);                                                \
			r##j = _mm256_fmadd_ps(b, v, r##j);                                                \
			s##j = _mm256_fmadd_ps(b, y, s##j);
			COLUMNS3(STEP)
#undef STEP
		}
	}
#define PUT(d, v) _mm256_storeu_ps(d, accumulate ? _mm256_add_ps(_mm256_loadu_ps(d), v) : v)
#define STORE(j)                                                                                           \
	if (j < columns) {                                                                                 \
		PUT(c + j * BPG_LANES, p##j);                                                              \
		PUT(c + j * BPG_LANES + 8, q##j);                                                          \
		PUT(c + c_strip + j * BPG_LANES, r##j);                                                    \
		PUT(c + c_strip + j * BPG_LANES + 8, s##j);                                                \
	}
	COLUMNS3(STORE)
#undef STORE
#undef PUT
}

/* Two columns, four registers of rows each. */
__attribute__((target("avx2,fma"))) static void f64_avx2(const double *a, const struct bpg_run *run, int runs, const double *W,
                                                          double *c, int columns, bool accumulate)
{
	for (int j0 = 0; j0 < columns; j0 += 2) {
		__m256d s[2][4];
		for (int j = 0; j < 2; j++)
			for (int l = 0; l < 4; l++)
				s[j][l] = _mm256_setzero_pd();
		for (int r = 0; r < runs; r++) {
			const double *x = a + run[r].a * BPG_LANES;
			const double *w = W + run[r].w * BPG_GROUP + j0;
			for (int i = 0; i < run[r].n; i++, x += BPG_LANES, w += BPG_GROUP) {
				__m256d b0 = _mm256_set1_pd(w[0]), b1 = _mm256_set1_pd(w[1]);
#pragma GCC unroll 4
				for (int l = 0; l < 4; l++) {
					__m256d v = _mm256_loadu_pd(x + 4 * l);
					s[0][l] = _mm256_fmadd_pd(b0, v, s[0][l]);
					s[1][l] = _mm256_fmadd_pd(b1, v, s[1][l]);
				}
			}
		}
		for (int j = 0; j < 2 && j0 + j < columns; j++)
			for (int l = 0; l < 4; l++) {
				double *d = c + (j0 + j) * BPG_LANES + 4 * l;
				_mm256_storeu_pd(d, accumulate ? _mm256_add_pd(_mm256_loadu_pd(d), s[j][l]) : s[j][l]);
			}
	}
}

/* ---- AVX-512: two strips (or one), eight columns ---- */

__attribute__((target("avx512f"))) static void f32_avx512_two(const float *a, int64_t a_strip, const struct bpg_run *run, int runs,
                                                               const float *W, float *c, int64_t c_strip, int columns, bool accumulate,
                                                               const struct bpg_ahead *ahead)
{
#define ZERO(j) __m512 p##j = _mm512_setzero_ps(), q##j = p##j;
	COLUMNS8(ZERO)
#undef ZERO
	const float *na = ahead ? ahead->a : a, *nw = ahead ? ahead->w : W;
	for (int r = 0; r < runs; r++) {
		const float *x = a + run[r].a * BPG_LANES, *y = x + a_strip, *w = W + run[r].w * BPG_GROUP;
		for (int i = 0, n = run[r].n; i < n;) {
			int end = n;

			if (ahead) {
				end = i + 16 < n ? i + 16 : n;
				_mm_prefetch(na, _MM_HINT_T1), _mm_prefetch(na + a_strip, _MM_HINT_T1), _mm_prefetch(nw, _MM_HINT_T1);
				na += 16, nw += 16;
			}
			for (; i < end; i++, x += BPG_LANES, y += BPG_LANES, w += BPG_GROUP) {
				__m512 u = _mm512_loadu_ps(x), v = _mm512_loadu_ps(y), b;
#define STEP(j) b = _mm512_set1_ps(w[j]); p##j = _mm512_fmadd_ps(b, u, p##j); q##j = _mm512_fmadd_ps(b, v, q##j);
				COLUMNS8(STEP)
#undef STEP
			}
		}
	}
	float *d = c + c_strip;
#define STORE(j)                                                                                           \
	if (j < columns) {                                                                                 \
		if (accumulate) {                                                                          \
			p##j = _mm512_add_ps(_mm512_loadu_ps(c + j * BPG_LANES), p##j);                    \
			q##j = _mm512_add_ps(_mm512_loadu_ps(d + j * BPG_LANES), q##j);                    \
		}                                                                                          \
		_mm512_storeu_ps(c + j * BPG_LANES, p##j);                                                 \
		_mm512_storeu_ps(d + j * BPG_LANES, q##j);                                                 \
	}
	COLUMNS8(STORE)
#undef STORE
}

__attribute__((target("avx512f"))) static void f32_avx512(const float *a, int64_t a_strip, const struct bpg_run *run, int runs,
                                                           const float *W, float *c, int64_t c_strip, int columns, bool accumulate,
                                                           const struct bpg_ahead *ahead)
{
	(void)a_strip, (void)c_strip, (void)ahead;
#define ZERO(j) __m512 p##j = _mm512_setzero_ps();
	COLUMNS8(ZERO)
#undef ZERO
	for (int r = 0; r < runs; r++) {
		const float *x = a + run[r].a * BPG_LANES, *w = W + run[r].w * BPG_GROUP;
		for (int i = 0; i < run[r].n; i++, x += BPG_LANES, w += BPG_GROUP) {
			__m512 u = _mm512_loadu_ps(x);
#define STEP(j) p##j = _mm512_fmadd_ps(_mm512_set1_ps(w[j]), u, p##j);
			COLUMNS8(STEP)
#undef STEP
		}
	}
#define STORE(j)                                                                                           \
	if (j < columns) {                                                                                 \
		if (accumulate)                                                                            \
			p##j = _mm512_add_ps(_mm512_loadu_ps(c + j * BPG_LANES), p##j);                    \
		_mm512_storeu_ps(c + j * BPG_LANES, p##j);                                                 \
	}
	COLUMNS8(STORE)
#undef STORE
}

/* Few columns (the channels of an image): four strips, four columns. */
__attribute__((target("avx512f"))) static void f32_avx512_few(const float *a, int64_t a_strip, const struct bpg_run *run, int runs,
                                                               const float *W, float *c, int64_t c_strip, int columns, bool accumulate)
{
#define ZERO(j) __m512 p##j = _mm512_setzero_ps(), q##j = p##j, r##j = p##j, s##j = p##j;
	COLUMNS4(ZERO)
#undef ZERO
	for (int k = 0; k < runs; k++) {
		const float *x = a + run[k].a * BPG_LANES, *w = W + run[k].w * BPG_GROUP;
		for (int i = 0; i < run[k].n; i++, x += BPG_LANES, w += BPG_GROUP) {
			__m512 u = _mm512_loadu_ps(x), v = _mm512_loadu_ps(x + a_strip), y = _mm512_loadu_ps(x + 2 * a_strip);
			__m512 z = _mm512_loadu_ps(x + 3 * a_strip), b;
#define STEP(j)                                                                                            \
			b = _mm512_set1_ps(w[j]);                                                          \
			p##j = _mm512_fmadd_ps(b, u, p##j);                                                \
			q##j = _mm512_fmadd_ps(b, v, q##j);                                                \
			r##j = _mm512_fmadd_ps(b, y, r##j);                                                \
			s##j = _mm512_fmadd_ps(b, z, s##j);
			COLUMNS4(STEP)
#undef STEP
		}
	}
#define PUT(d, v) _mm512_storeu_ps(d, accumulate ? _mm512_add_ps(_mm512_loadu_ps(d), v) : v)
#define STORE(j)                                                                                           \
	if (j < columns) {                                                                                 \
		PUT(c + j * BPG_LANES, p##j);                                                              \
		PUT(c + c_strip + j * BPG_LANES, q##j);                                                    \
		PUT(c + 2 * c_strip + j * BPG_LANES, r##j);                                                \
		PUT(c + 3 * c_strip + j * BPG_LANES, s##j);                                                \
	}
	COLUMNS4(STORE)
#undef STORE
#undef PUT
}

__attribute__((target("avx512f"))) static void f64_avx512(const double *a, const struct bpg_run *run, int runs, const double *W,
                                                           double *c, int columns, bool accumulate)
{
#define ZERO(j) __m512d p##j = _mm512_setzero_pd(), q##j = p##j;
	COLUMNS8(ZERO)
#undef ZERO
	for (int r = 0; r < runs; r++) {
		const double *x = a + run[r].a * BPG_LANES;
		const double *w = W + run[r].w * BPG_GROUP;
		for (int i = 0; i < run[r].n; i++, x += BPG_LANES, w += BPG_GROUP) {
			__m512d u = _mm512_loadu_pd(x), v = _mm512_loadu_pd(x + 8), b;
#define STEP(j) b = _mm512_set1_pd(w[j]); p##j = _mm512_fmadd_pd(b, u, p##j); q##j = _mm512_fmadd_pd(b, v, q##j);
			COLUMNS8(STEP)
#undef STEP
		}
	}
#define STORE(j)                                                                                           \
	if (j < columns) {                                                                                 \
		if (accumulate) {                                                                          \
			p##j = _mm512_add_pd(_mm512_loadu_pd(c + j * BPG_LANES), p##j);                    \
			q##j = _mm512_add_pd(_mm512_loadu_pd(c + j * BPG_LANES + 8), q##j);                \
		}                                                                                          \
		_mm512_storeu_pd(c + j * BPG_LANES, p##j);                                                 \
		_mm512_storeu_pd(c + j * BPG_LANES + 8, q##j);                                             \
	}
	COLUMNS8(STORE)
#undef STORE
}

#endif

/* ---- the adjoint: columns of the input to outputs, six at a time in registers ---- */

typedef void adjoint_fn(const float *h, int64_t h_strip, int64_t columns, const float *W, int64_t w_group, int64_t n, float *z, int64_t z_strip,
                        bool accumulate);

static void adjoint_portable(const float *h, int64_t h_strip, int64_t columns, const float *W, int64_t w_group, int64_t n, float *z,
                             int64_t z_strip, bool accumulate)
{
	(void)h_strip, (void)z_strip;
	for (int64_t o = 0; o < n; o++)
		for (int l = 0; l < BPG_LANES; l++) {
			float s = accumulate ? z[o * BPG_LANES + l] : 0;
			for (int64_t j = 0; j < columns; j++)
				s = fmaf(W[j / BPG_GROUP * w_group + o * BPG_GROUP + j % BPG_GROUP], h[j * BPG_LANES + l], s);
			z[o * BPG_LANES + l] = s;
		}
}

#if defined(__x86_64__)

#define OUTPUTS6(X) X(0) X(1) X(2) X(3) X(4) X(5)
#define OUTPUTS1(X) X(0)

/* One output, or six: BEGIN, STEP and STORE are their registers. The weights of the next group, which lies far away, are fetched
 * meanwhile. */
#define ADJOINT_BLOCK(OUTPUTS)                                                                              \
	float *d = z + o * BPG_LANES;                                                                       \
	OUTPUTS(BEGIN)                                                                                      \
	for (int64_t j0 = 0; j0 < columns; j0 += BPG_GROUP) {                                               \
		const float *w = W + j0 / BPG_GROUP * w_group + o * BPG_GROUP, *x = h + j0 * BPG_LANES;     \
		int m = columns - j0 < BPG_GROUP ? (int)(columns - j0) : BPG_GROUP;                         \
		_mm_prefetch(w + w_group, _MM_HINT_T0);                                                     \
		_mm_prefetch(w + w_group + 16, _MM_HINT_T0);                                                \
		_mm_prefetch(w + w_group + 32, _MM_HINT_T0);                                                \
		for (int j = 0; j < m; j++, w++, x += BPG_LANES) {                                          \
			COLUMN                                                                              \
			OUTPUTS(STEP)                                                                       \
		}                                                                                           \
	}                                                                                                   \
	OUTPUTS(STORE)

#define ADJOINT_BLOCKS                                                                                      \
	int64_t o = 0;                                                                                      \
	for (; o + 6 <= n; o += 6) {                                                                        \
		ADJOINT_BLOCK(OUTPUTS6)                                                                     \
	}                                                                                                   \
	for (; o < n; o++) {                                                                                \
		ADJOINT_BLOCK(OUTPUTS1)                                                                     \
	}

#define BEGIN(i)                                                                                            \
	__m256 p##i = accumulate ? _mm256_loadu_ps(d + i * BPG_LANES) : _mm256_setzero_ps();                \
	__m256 q##i = accumulate ? _mm256_loadu_ps(d + i * BPG_LANES + 8) : _mm256_setzero_ps();
#define COLUMN __m256 u = _mm256_loadu_ps(x), v = _mm256_loadu_ps(x + 8), b;
#define STEP(i) b = _mm256_broadcast_ss(w + i * BPG_GROUP); p##i = _mm256_fmadd_ps(b, u, p##i); q##i = _mm256_fmadd_ps(b, v, q##i);
#define STORE(i) _mm256_storeu_ps(d + i * BPG_LANES, p##i); _mm256_storeu_ps(d + i * BPG_LANES + 8, q##i);
__attribute__((target("avx2,fma"))) static void adjoint_avx2(const float *h, int64_t h_strip, int64_t columns, const float *W, int64_t w_group,
                                                              int64_t n, float *z, int64_t z_strip, bool accumulate)
{
	(void)h_strip, (void)z_strip;
	ADJOINT_BLOCKS
}
#undef BEGIN
#undef COLUMN
#undef STEP
#undef STORE

#define BEGIN(i) __m512 p##i = accumulate ? _mm512_loadu_ps(d + i * BPG_LANES) : _mm512_setzero_ps();
#define COLUMN __m512 u = _mm512_loadu_ps(x);
#define STEP(i) p##i = _mm512_fmadd_ps(_mm512_set1_ps(w[i * BPG_GROUP]), u, p##i);
#define STORE(i) _mm512_storeu_ps(d + i * BPG_LANES, p##i);
__attribute__((target("avx512f"))) static void adjoint_avx512(const float *h, int64_t h_strip, int64_t columns, const float *W, int64_t w_group,
                                                               int64_t n, float *z, int64_t z_strip, bool accumulate)
{
	(void)h_strip, (void)z_strip;
	ADJOINT_BLOCKS
}
#undef BEGIN
#undef COLUMN
#undef STEP
#undef STORE

/* Two strips share the weights. */
#define BEGIN(i)                                                                                            \
	__m512 p##i = accumulate ? _mm512_loadu_ps(d + i * BPG_LANES) : _mm512_setzero_ps();                \
	__m512 q##i = accumulate ? _mm512_loadu_ps(d + z_strip + i * BPG_LANES) : _mm512_setzero_ps();
#define COLUMN __m512 u = _mm512_loadu_ps(x), v = _mm512_loadu_ps(x + h_strip), b;
#define STEP(i) b = _mm512_set1_ps(w[i * BPG_GROUP]); p##i = _mm512_fmadd_ps(b, u, p##i); q##i = _mm512_fmadd_ps(b, v, q##i);
#define STORE(i) _mm512_storeu_ps(d + i * BPG_LANES, p##i); _mm512_storeu_ps(d + z_strip + i * BPG_LANES, q##i);
__attribute__((target("avx512f"))) static void adjoint_avx512_two(const float *h, int64_t h_strip, int64_t columns, const float *W, int64_t w_group,
                                                                   int64_t n, float *z, int64_t z_strip, bool accumulate)
{
	ADJOINT_BLOCKS
}
#undef BEGIN
#undef COLUMN
#undef STEP
#undef STORE

#endif

/* ---- choice ---- */

static struct kernel {
	const char *name;
	f32_fn *f32, *f32_two; /* two: a pair of strips, null: none */
	f64_fn *f64;
	adjoint_fn *adjoint, *adjoint_two;
	few_fn *few;              /* few_strips strips, at most few_columns columns; null: none */
	int few_strips, few_columns;
} chosen = { "portable", f32_portable, NULL, f64_portable, adjoint_portable, NULL, NULL, 0, 0 };

__attribute__((constructor)) static void choose(void)
{
#if defined(__x86_64__)
	const char *most = getenv("BPGRAPH_KERNEL");

	__builtin_cpu_init();
	if (most && !strcmp(most, "portable"))
		return;
	if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
		chosen = (struct kernel){ "avx2", f32_avx2, NULL, f64_avx2, adjoint_avx2, NULL, f32_avx2_few, 2, 3 };
	if (__builtin_cpu_supports("avx512f") && !(most && !strcmp(most, "avx2")))
		chosen = (struct kernel){ "avx512", f32_avx512, f32_avx512_two, f64_avx512, adjoint_avx512, adjoint_avx512_two, f32_avx512_few, 4, 4 };
#endif
}

const char *bpg_kernel_name(void)
{
	return chosen.name;
}

void bpg_adjoint_f32(int strips, const float *H, int64_t h_strip, int64_t columns, const float *W, int64_t w_group, int64_t n, float *Z,
                     int64_t z_strip, bool accumulate)
{
	int s = 0;

	if (chosen.adjoint_two)
		for (; s + 1 < strips; s += 2)
			chosen.adjoint_two(H + s * h_strip, h_strip, columns, W, w_group, n, Z + s * z_strip, z_strip, accumulate);
	for (; s < strips; s++)
		chosen.adjoint(H + s * h_strip, h_strip, columns, W, w_group, n, Z + s * z_strip, z_strip, accumulate);
}

double bpg_kernel_rate(void)
{
	return chosen.f32_two ? 140 : strcmp(chosen.name, "avx2") ? 4 : 80;
}

void bpg_product_f32(int strips, const float *A, int64_t a_strip, const struct bpg_run *run, int runs, const float *W,
                     float *C, int64_t c_strip, int columns, bool accumulate, const struct bpg_ahead *ahead)
{
	int s = 0;

	if (chosen.few && columns <= chosen.few_columns)
		for (; s + chosen.few_strips <= strips; s += chosen.few_strips)
			chosen.few(A + s * a_strip, a_strip, run, runs, W, C + s * c_strip, c_strip, columns, accumulate);
	if (chosen.f32_two)
		for (; s + 1 < strips; s += 2) {
			struct bpg_ahead next;
			if (ahead)
				next = (struct bpg_ahead){ ahead->a + s * a_strip, ahead->w + s / 2 * ahead->lines * BPG_LANES, ahead->lines };
			chosen.f32_two(A + s * a_strip, a_strip, run, runs, W, C + s * c_strip, c_strip, columns, accumulate, ahead ? &next : NULL);
		}
	for (; s < strips; s++)
		chosen.f32(A + s * a_strip, a_strip, run, runs, W, C + s * c_strip, c_strip, columns, accumulate, NULL);
}

void bpg_product_f64(int strips, const double *A, int64_t a_strip, const struct bpg_run *run, int runs, const double *W,
                     double *C, int64_t c_strip, int columns, bool accumulate)
{
	for (int s = 0; s < strips; s++)
		chosen.f64(A + s * a_strip, run, runs, W, C + s * c_strip, columns, accumulate);
}
