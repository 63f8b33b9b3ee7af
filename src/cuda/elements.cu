// elements.cu - starts the kernels in which a thread makes one element.
#include "cuda/launch.h"
#include "cuda/map.h"
#include "cuda/place.h"
#include "cuda/price.h"
#include "cuda/step.h"

enum { THREADS = 256 };

#define BOTH(name, args)                                                                                            \
	static __global__ void __launch_bounds__(THREADS) name(const __grid_constant__ struct args p, int64_t n)    \
	{                                                                                                           \
		int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;                                            \
		if (i < n && p.wide)                                                                                \
			name##_f64(&p, i);                                                                          \
		else if (i < n)                                                                                     \
			name##_f32(&p, i);                                                                          \
	}
#define ONE(name, args)                                                                                             \
	static __global__ void __launch_bounds__(THREADS) name(const __grid_constant__ struct args p, int64_t n)    \
	{                                                                                                           \
		int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;                                            \
		if (i < n)                                                                                          \
			name##_one(&p, i);                                                                          \
	}

BOTH(map_element, bpg_cuda_map)
BOTH(deal_element, bpg_cuda_deal)
BOTH(copy_element, bpg_cuda_copy)
BOTH(start_element, bpg_cuda_start)
#define start_rows_one start_state
#define step_points_one step_element
#define corner_points_one corner_element
#define price_planes_one price_element
ONE(start_rows, bpg_cuda_start)
ONE(step_points, bpg_cuda_step)
ONE(corner_points, bpg_cuda_corner)
ONE(price_planes, bpg_cuda_price)

template <typename Args>
static int each(void (*kernel)(Args, int64_t), int64_t n, void *stream, const Args &p)
{
	int64_t blocks = (n + THREADS - 1) / THREADS;

	if (n == 0)
		return 0;
	if (blocks > INT32_MAX)
		return cudaErrorInvalidConfiguration;
	kernel<<<(unsigned)blocks, THREADS, 0, (cudaStream_t)stream>>>(p, n);
	return cudaGetLastError();
}

extern "C" int bpg_cuda_map(const struct bpg_cuda_map *p, void *stream)
{
	return each(map_element, p->strips * p->to_columns * BPG_LANES, stream, *p);
}

extern "C" int bpg_cuda_deal(const struct bpg_cuda_deal *p, void *stream)
{
	return each(deal_element, p->strips * p->columns * BPG_LANES, stream, *p);
}

extern "C" int bpg_cuda_copy(const struct bpg_cuda_copy *p, void *stream)
{
	int64_t positions = (int64_t)(p->to_up[0] - p->to_lo[0]) * (p->to_up[1] - p->to_lo[1]);
	return each(copy_element, p->strips * positions * p->channels * BPG_LANES, stream, *p);
}

extern "C" int bpg_cuda_start(const struct bpg_cuda_start *p, void *stream)
{
	int e = p->state ? each(start_rows, p->strips * BPG_LANES, stream, *p) : 0;
	return e ? e : each(start_element, p->strips * (p->c1 - p->c0) * BPG_LANES, stream, *p);
}

extern "C" int bpg_cuda_step(const struct bpg_cuda_step *p, void *stream)
{
	return each(step_points, p->strips * p->columns * BPG_LANES, stream, *p);
}

extern "C" int bpg_cuda_corner(const struct bpg_cuda_corner *p, void *stream)
{
	return each(corner_points, p->strips * p->columns * BPG_LANES, stream, *p);
}

extern "C" int bpg_cuda_price(const struct bpg_cuda_price *p, void *stream)
{
	return each(price_planes, p->segments * (p->columns + p->others) * 2, stream, *p);
}
