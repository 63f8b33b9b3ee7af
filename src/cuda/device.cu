// device.cu - the device itself: whether there is one, its memory, streams and clocks.
#include "cuda/launch.h"

static __global__ void probe(int *x)
{
	*x = 1;
}

// A device counts when a kernel runs on it.
extern "C" int bpg_cuda_devices(const char **why)
{
	int n = 0, *x = NULL;
	cudaError_t e = cudaGetDeviceCount(&n);

	if (e == cudaSuccess && n > 0)
		e = cudaMalloc(&x, sizeof *x);
	if (e == cudaSuccess && n > 0) {
		probe<<<1, 1>>>(x);
		e = cudaDeviceSynchronize();
		cudaFree(x);
	}
	*why = e == cudaSuccess ? "" : cudaGetErrorString(e);
	return e == cudaSuccess ? n : 0;
}

extern "C" int bpg_cuda_count(void)
{
	int n = 0;

	if (cudaGetDeviceCount(&n) == cudaSuccess)
		return n;
	cudaGetLastError();
	return 0;
}

extern "C" void bpg_cuda_describe(struct bpg_cuda_device *d)
{
	cudaDeviceProp p;
	int driver = 0, runtime = 0;

	memset(d, 0, sizeof *d);
	if (cudaGetDeviceProperties(&p, 0) != cudaSuccess)
		return;
	cudaDriverGetVersion(&driver);
	cudaRuntimeGetVersion(&runtime);
	snprintf(d->name, sizeof d->name, "%s", p.name);
	d->bytes = (int64_t)p.totalGlobalMem;
	d->processors = p.multiProcessorCount;
	d->major = p.major, d->minor = p.minor;
	d->driver = driver, d->runtime = runtime;
}

extern "C" void *bpg_cuda_alloc(size_t bytes)
{
	void *p = NULL;

	if (cudaMalloc(&p, bytes ? bytes : 16) == cudaSuccess)
		return p;
	cudaGetLastError(); // the next launch must not be blamed
	return NULL;
}

extern "C" void bpg_cuda_free(void *p)
{
	cudaFree(p);
}

extern "C" int bpg_cuda_put(void *device, const void *host, size_t bytes)
{
	return cudaMemcpy(device, host, bytes, cudaMemcpyHostToDevice);
}

extern "C" int bpg_cuda_get(void *host, const void *device, size_t bytes)
{
	return cudaMemcpy(host, device, bytes, cudaMemcpyDeviceToHost);
}

extern "C" int bpg_cuda_move(void *to, const void *from, size_t bytes, void *stream)
{
	return cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, (cudaStream_t)stream);
}

extern "C" int bpg_cuda_clear(void *p, size_t bytes, void *stream)
{
	return cudaMemsetAsync(p, 0, bytes, (cudaStream_t)stream);
}

extern "C" void *bpg_cuda_pinned(size_t bytes)
{
	void *p = NULL;

	if (cudaHostAlloc(&p, bytes ? bytes : 16, cudaHostAllocPortable) == cudaSuccess)
		return p;
	cudaGetLastError();
	return NULL;
}

extern "C" void bpg_cuda_unpin(void *p)
{
	cudaFreeHost(p);
}

extern "C" int bpg_cuda_sync(void *stream)
{
	return cudaStreamSynchronize((cudaStream_t)stream);
}

extern "C" const char *bpg_cuda_error(int error)
{
	return cudaGetErrorString((cudaError_t)error);
}

extern "C" double bpg_cuda_time(int (*work)(void *), void *arg, int times)
{
	cudaEvent_t begin, end;
	float ms = 0;
	int bad = 0;

	if (work(arg) || cudaEventCreate(&begin) != cudaSuccess || cudaEventCreate(&end) != cudaSuccess)
		return -1;
	cudaDeviceSynchronize();
	cudaEventRecord(begin);
	for (int i = 0; i < times && !bad; i++)
		bad = work(arg);
	cudaEventRecord(end);
	if (cudaEventSynchronize(end) != cudaSuccess || cudaEventElapsedTime(&ms, begin, end) != cudaSuccess)
		bad = 1;
	cudaEventDestroy(begin);
	cudaEventDestroy(end);
	return bad ? -1 : ms * 1e-3 / times;
}
