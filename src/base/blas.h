/* blas.h - a serial CBLAS, for products whose bits may depend on the library: the float32 replay of a network. Bounds
 * never come from here. */
#ifndef BPG_BLAS_H
#define BPG_BLAS_H

#include <stdint.h>

/* Chooses the kernel and one thread. Every function here calls it by itself. */
void bpg_blas_init(void);
const char *bpg_blas_name(void);
/* The kernel that the library chose for this processor. */
const char *bpg_blas_kernel(void);

/* y = A x + (beta) y, float32; A [m, n], element (i,k) at a[i*lda + k]. beta is 0 or 1. */
void bpg_blas_gemv_f32(int64_t m, int64_t n, const float *a, int64_t lda, const float *x, float beta, float *y);

#endif
