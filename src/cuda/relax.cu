// relax.cu - starts relaxations and joins: a block of threads for each strip, or each pair of strips.
#include "cuda/launch.h"
#include "cuda/relax.h"

#define RELAX_BOTH(name)                                                                                       \
	static __global__ void __launch_bounds__(R_THREADS) name##_kernel(const __grid_constant__ struct bpg_cuda_relax p) \
	{                                                                                                      \
		__shared__ union {                                                                             \
			struct relax_shared_f32 f32;                                                           \
			struct relax_shared_f64 f64;                                                           \
		} shared;                                                                                      \
		if (p.wide)                                                                                    \
			name##_f64(&p, blockIdx.x, &shared.f64);                                               \
		else                                                                                           \
			name##_f32(&p, blockIdx.x, &shared.f32);                                               \
	}
RELAX_BOTH(relax_block)
RELAX_BOTH(relax_pair)

extern "C" int bpg_cuda_relax(const struct bpg_cuda_relax *p, void *stream)
{
	if (p->pairs > 0)
		return bpg_start(relax_pair_kernel, p->pairs, R_THREADS, 0, stream, *p);
	return bpg_start(relax_block_kernel, p->strips, R_THREADS, 0, stream, *p);
}
