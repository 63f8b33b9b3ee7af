// adjoint.cu - starts the product the other way.
#include "cuda/launch.h"
#include "cuda/adjoint.h"

static __global__ void __launch_bounds__(J_THREADS) adjoint(const __grid_constant__ struct bpg_cuda_adjoint p)
{
	__shared__ __align__(16) struct adjoint_shared shared;
	adjoint_block(&p, blockIdx.x, &shared);
}

extern "C" int bpg_cuda_adjoint(const struct bpg_cuda_adjoint *p, void *stream)
{
	int64_t blocks = (p->strips + J_STRIPS - 1) / J_STRIPS * ((p->n + J_OUTPUTS - 1) / J_OUTPUTS);
	return bpg_start(adjoint, blocks, J_THREADS, 0, stream, *p);
}
