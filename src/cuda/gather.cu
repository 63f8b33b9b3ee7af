// gather.cu - AllGather of shards over the devices of one process by NCCL: one thread, one group of calls.
#include <nccl.h>
#include <stdlib.h>

#include "cuda/launch.h"

struct bpg_cuda_ring {
	int devices;
	int *device;
	ncclComm_t *comm;
	cudaStream_t *stream;
};

extern "C" void bpg_cuda_ring_free(struct bpg_cuda_ring *r)
{
	if (!r)
		return;
	for (int i = 0; i < r->devices; i++) {
		if (r->comm[i])
			ncclCommDestroy(r->comm[i]);
		if (r->stream[i])
			cudaStreamDestroy(r->stream[i]);
	}
	free(r->device);
	free(r->comm);
	free(r->stream);
	free(r);
}

extern "C" struct bpg_cuda_ring *bpg_cuda_ring_new(int devices, const char **why)
{
	struct bpg_cuda_ring *r = (struct bpg_cuda_ring *)calloc(1, sizeof *r);
	int before = 0;
	bool ok;

	*why = "memory is short";
	if (!r)
		return NULL;
	r->device = (int *)calloc(devices, sizeof *r->device);
	r->comm = (ncclComm_t *)calloc(devices, sizeof *r->comm);
	r->stream = (cudaStream_t *)calloc(devices, sizeof *r->stream);
	r->devices = r->device && r->comm && r->stream ? devices : 0;
	ok = r->devices > 0 && cudaGetDevice(&before) == cudaSuccess;
	for (int i = 0; i < r->devices; i++)
		r->device[i] = i;
	if (ok) {
		ncclResult_t e = ncclCommInitAll(r->comm, devices, r->device);
		ok = e == ncclSuccess;
		*why = ncclGetErrorString(e);
	}
	for (int i = 0; ok && i < devices; i++)
		ok = cudaSetDevice(i) == cudaSuccess &&
		     cudaStreamCreateWithFlags(&r->stream[i], cudaStreamNonBlocking) == cudaSuccess;
	cudaSetDevice(before);
	if (ok)
		return r;
	bpg_cuda_ring_free(r);
	return NULL;
}

extern "C" int bpg_cuda_ring_gather(struct bpg_cuda_ring *r, const void *const *shard, void *const *panel, size_t bytes)
{
	int before = 0;
	ncclResult_t e = ncclGroupStart();
	cudaError_t c = cudaGetDevice(&before);

	for (int i = 0; e == ncclSuccess && i < r->devices; i++)
		e = ncclAllGather(shard[i], panel[i], bytes, ncclChar, r->comm[i], r->stream[i]);
	if (e == ncclSuccess)
		e = ncclGroupEnd();
	else
		ncclGroupEnd();
	for (int i = 0; e == ncclSuccess && c == cudaSuccess && i < r->devices; i++) {
		c = cudaSetDevice(i);
		if (c == cudaSuccess)
			c = cudaStreamSynchronize(r->stream[i]);
	}
	cudaSetDevice(before);
	return e == ncclSuccess ? (int)c : -(int)e;
}

extern "C" int bpg_cuda_nccl_version(void)
{
	int v = 0;
	ncclGetVersion(&v);
	return v;
}
