// sums.cu - starts sums into the state: a block of threads for each strip.
#include "cuda/launch.h"
#include "cuda/sums.h"

static __global__ void __launch_bounds__(S_THREADS) sums(const __grid_constant__ struct bpg_cuda_sums p)
{
	__shared__ struct sums_shared shared;

	if (p.wide)
		sums_block_f64(&p, blockIdx.x, &shared);
	else
		sums_block_f32(&p, blockIdx.x, &shared);
}

extern "C" int bpg_cuda_sums(const struct bpg_cuda_sums *p, void *stream)
{
	return bpg_start(sums, p->strips, S_THREADS, 0, stream, *p);
}
