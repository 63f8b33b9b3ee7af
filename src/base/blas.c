/* blas.c - a serial CBLAS: BLIS, OpenBLAS or MKL. */
#include "config.h"

#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#ifdef BPG_BLAS_MKL
#include <mkl_cblas.h>
#include <mkl_service.h>
#else
#include <cblas.h>
#endif

#include "base/blas.h"
#include "base/base.h"

#ifdef BPG_BLAS_BLIS
/* From blis.h, which does not go well with other headers; dim_t is 64 bits wide on every platform we know. */
extern void bli_thread_set_num_threads(int64_t threads);
extern int bli_arch_query_id(void);
extern const char *bli_arch_string(int id);

#if defined(__x86_64__)
/* The kernel that BLIS up to 0.9 should take, null: it finds the right one. It knows processors by family and model
 * number. AMD processors past family 0x19 (Zen 3) get plain C code, a third of the speed; newer Intel processors with
 * AVX-512 get the kernel for AVX2, 3/5 of the speed. */
static const char *better_kernel(void)
{
	unsigned a, b, c, d, family;

	if (!__get_cpuid(0, &a, &b, &c, &d))
		return NULL;
	bool amd = b == signature_AMD_ebx && c == signature_AMD_ecx && d == signature_AMD_edx;
	bool intel = b == signature_INTEL_ebx && c == signature_INTEL_ecx && d == signature_INTEL_edx;
	if (!__get_cpuid(1, &a, &b, &c, &d))
		return NULL;
	family = ((a >> 8) & 15) + ((a >> 20) & 255);
	if (amd && family > 0x19 && __builtin_cpu_supports("avx2"))
		return "zen3";
	if (intel && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
	    __builtin_cpu_supports("avx512vl"))
		return "skx";
	return NULL;
}
#endif

/* BLIS reads a number from the environment, once, at its first call; a value the user chose stays. */
static void choose_kernel(void)
{
#if defined(__x86_64__)
	const char *kernel = better_kernel(), *name = "";
	char number[16];

	for (int id = 0; kernel && strcmp(name, "generic"); id++) { /* generic is the last of its table */
		name = bli_arch_string(id);
		if (strcmp(name, kernel))
			continue;
		snprintf(number, sizeof number, "%d", id);
		setenv("BLIS_ARCH_TYPE", number, 0);
		return;
	}
#endif
}
#endif

static void init_once(void)
{
#if defined(BPG_BLAS_BLIS)
	choose_kernel();
	bli_thread_set_num_threads(1);
#elif defined(BPG_BLAS_OPENBLAS)
	openblas_set_num_threads(1);
#else
	mkl_set_num_threads(1);
#endif
}

void bpg_blas_init(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, init_once);
}

const char *bpg_blas_name(void)
{
#if defined(BPG_BLAS_BLIS)
	return "BLIS";
#elif defined(BPG_BLAS_OPENBLAS)
	return "OpenBLAS";
#else
	return "MKL";
#endif
}

const char *bpg_blas_kernel(void)
{
	bpg_blas_init();
#if defined(BPG_BLAS_BLIS)
	return bli_arch_string(bli_arch_query_id());
#elif defined(BPG_BLAS_OPENBLAS)
	return openblas_get_corename();
#else
	return "chosen by MKL";
#endif
}

void bpg_blas_gemv_f32(int64_t m, int64_t n, const float *a, int64_t lda, const float *x, float beta, float *y)
{
	const int64_t most = INT_MAX / 2;
	bpg_blas_init();
	if (n == 0) {
		for (int64_t i = 0; i < m && !beta; i++)
			y[i] = 0;
		return;
	}
	/* The interface has 32 bit integers; the stride of a matrix of one row means nothing. */
	if (m == 1)
		lda = n;
	if (n <= most && lda <= most) {
		for (int64_t i = 0; i < m; i += most)
			cblas_sgemv(CblasRowMajor, CblasNoTrans, (int)BPG_MIN(m - i, most), (int)n, 1, a + i * lda, (int)BPG_MAX(lda, 1), x, 1, beta, y + i, 1);
		return;
	}
	for (int64_t i = 0; i < m; i++) {
		float sum = beta ? y[i] : 0;
		for (int64_t k = 0; k < n; k += most)
			sum += cblas_sdot((int)BPG_MIN(n - k, most), a + i * lda + k, 1, x + k, 1);
		y[i] = sum;
	}
}
