// product.cu - starts the product: the shape of a block of threads, and whether blocks of the sum are computed side by side, are
// chosen so that all processors have work.
#include "cuda/launch.h"
#include "cuda/product.h"

#define PRODUCT(shape, strips, groups, together) \
	static __global__ void __launch_bounds__(2 * strips * groups, together) \
	        product_##shape(const __grid_constant__ struct bpg_cuda_product p) \
	{ \
		extern __shared__ float4 shared[]; \
		product_block_##shape(&p, blockIdx.x, (struct product_shared_##shape *)shared); \
	}
PRODUCT(f32_large, 8, 16, 2)
PRODUCT(f32_middle, 4, 8, 6)
PRODUCT(f32_small, 2, 8, 8)
PRODUCT(f64_middle, 4, 8, 2)
PRODUCT(f64_small, 2, 8, 4)

enum { FOLD_THREADS = 256 };

static __global__ void __launch_bounds__(FOLD_THREADS) fold(const __grid_constant__ struct bpg_cuda_product p)
{
	int64_t i = (int64_t)blockIdx.x * FOLD_THREADS + threadIdx.x;

	if (i < p.strips * p.columns * BPG_LANES)
		product_fold(&p, i);
}

static int64_t tiles(int64_t n, int64_t each)
{
	return (n + each - 1) / each;
}

// Blocks of threads of a shape for one block of the sum.
static int64_t count(const struct bpg_cuda_product *p, int strips, int groups)
{
	return tiles(p->strips, strips) * tiles(p->columns, groups * BPG_GROUP) * p->sets * p->cells;
}

static const struct {
	int strips, groups, together; // together: on a processor
} shapes[] = { { 8, 16, 2 }, { 8, 16, 2 }, { 4, 8, 6 }, { 2, 8, 8 } };

// The largest shape of which all processors get some; else the largest of which they do when blocks of the sum are taken apart;
// else the smallest.
static int choose(const struct bpg_cuda_product *p, int64_t parts, bool *split)
{
	int processors = bpg_processors(), first = p->wide || p->columns <= 8 * BPG_GROUP ? BPG_SHAPE_MIDDLE : BPG_SHAPE_LARGE;

	*split = false;
	for (int s = first; s <= BPG_SHAPE_MIDDLE; s++)
		if (2 * count(p, shapes[s].strips, shapes[s].groups) >= processors * shapes[s].together)
			return s;
	*split = parts > 1;
	for (int s = first; s <= BPG_SHAPE_MIDDLE; s++)
		if (p->strips >= shapes[s].strips &&
		    2 * parts * count(p, shapes[s].strips, shapes[s].groups) >= processors * shapes[s].together)
			return s;
	return BPG_SHAPE_SMALL;
}

#define START(shape, strips, groups) \
	bpg_start(product_##shape, count(&q, strips, groups) * (q.space ? parts : 1), 2 * strips * groups, \
	          sizeof(struct product_shared_##shape), stream, q)

extern "C" int bpg_cuda_product(const struct bpg_cuda_product *p, void *stream)
{
	struct bpg_cuda_product q = *p;
	int64_t parts = p->run || !p->space || p->k1 <= p->k0 ? 1 : tiles(p->k1 - p->k0, p->block);
	bool split = parts > 1;
	int shape = p->shape == BPG_SHAPE_AUTO ? choose(p, parts, &split) : p->shape, e;

	if (!split)
		q.space = NULL;
	if (p->wide)
		e = shape == BPG_SHAPE_SMALL ? START(f64_small, 2, 8) : START(f64_middle, 4, 8);
	else
		e = shape == BPG_SHAPE_SMALL    ? START(f32_small, 2, 8)
		    : shape == BPG_SHAPE_MIDDLE ? START(f32_middle, 4, 8)
		                                : START(f32_large, 8, 16);
	if (e || !split)
		return e;
	return bpg_start(fold, tiles(q.strips * q.columns * BPG_LANES, FOLD_THREADS), FOLD_THREADS, 0, stream, q);
}
