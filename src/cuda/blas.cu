// blas.cu - cuBLAS on plain matrices: for comparison of rates, and where bits do not matter.
#include <cublas_v2.h>

#include "cuda/launch.h"

extern "C" int bpg_cuda_blas_open(void **handle, void *workspace, size_t bytes)
{
	cublasHandle_t h = NULL;
	cublasStatus_t e = cublasCreate(&h);

	if (e == CUBLAS_STATUS_SUCCESS)
		e = (cublasStatus_t)bpg_cuda_blas_prepare(h, NULL, workspace, bytes);
	*handle = h;
	return e;
}

extern "C" void bpg_cuda_blas_close(void *handle)
{
	if (handle)
		cublasDestroy((cublasHandle_t)handle);
}

extern "C" int bpg_cuda_blas_prepare(void *handle, void *stream, void *workspace, size_t bytes)
{
	cublasHandle_t h = (cublasHandle_t)handle;
	cublasStatus_t e = cublasSetStream(h, (cudaStream_t)stream);

	/* A stream takes the workspace away, so it is set after it; with a fixed one nothing depends on what else runs. */
	if (e == CUBLAS_STATUS_SUCCESS)
		e = cublasSetWorkspace(h, workspace, bytes);
	if (e == CUBLAS_STATUS_SUCCESS)
		e = cublasSetMathMode(h, CUBLAS_PEDANTIC_MATH); /* neither TF32 nor emulation by narrower types */
	if (e == CUBLAS_STATUS_SUCCESS)
		e = cublasSetAtomicsMode(h, CUBLAS_ATOMICS_NOT_ALLOWED);
	return e;
}

extern "C" int bpg_cuda_blas_product(void *handle, int64_t m, int64_t n, int64_t k, const float *A, const float *B,
                                     bool accumulate, float *C)
{
	const float one = 1, keep = accumulate ? 1 : 0;

	/* cuBLAS counts by columns: C' = B' A'. */
	return cublasSgemm_64((cublasHandle_t)handle, CUBLAS_OP_N, CUBLAS_OP_N, n, m, k, &one, B, n, A, k, &keep, C, n);
}
