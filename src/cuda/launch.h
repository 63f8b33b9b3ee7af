// launch.h - starting kernels, for .cu files.
#ifndef BPG_CUDA_LAUNCH_H
#define BPG_CUDA_LAUNCH_H

#include <cuda_runtime.h>
#include <stdio.h>
#include <string.h>

#include "cuda/cuda.h"

// Multiprocessors of the current device; 0 when there is none.
static inline int bpg_processors()
{
	static thread_local int known = -1, n;
	int device = -1;

	if (cudaGetDevice(&device) != cudaSuccess)
		return 0;
	if (device != known && cudaDeviceGetAttribute(&n, cudaDevAttrMultiProcessorCount, device) == cudaSuccess)
		known = device;
	return device == known ? n : 0;
}

// One launch; `shared` bytes of shared memory. 0 or the error.
template <typename Args>
static inline int bpg_start(void (*kernel)(Args), int64_t blocks, int threads, size_t shared, void *stream, const Args &args)
{
	if (blocks == 0)
		return 0;
	if (blocks > INT32_MAX)
		return cudaErrorInvalidConfiguration;
	if (shared > 48 << 10) {
		cudaError_t e = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)shared);
		if (e != cudaSuccess)
			return e;
	}
	kernel<<<(unsigned)blocks, threads, shared, (cudaStream_t)stream>>>(args);
	return cudaGetLastError();
}

#endif
