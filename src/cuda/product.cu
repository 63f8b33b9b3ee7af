// product.cu - starts the product: the shape of a block of threads is chosen so that all processors have one.
#include "cuda/launch.h"
#include "cuda/product.h"

#define PRODUCT(shape, strips, groups, together)                                                                             \
	static __global__ void __launch_bounds__(2 * strips * groups, together) product_##shape(const __grid_constant__ struct bpg_cuda_product p) \
	{                                                                                                                    \
		extern __shared__ float4 shared[];                                                                           \
		product_block_##shape(&p, blockIdx.x, (struct product_shared_##shape *)shared);                              \
	}
PRODUCT(f32_large, 8, 16, 2)
PRODUCT(f32_middle, 4, 8, 6)
PRODUCT(f32_small, 2, 8, 8)
PRODUCT(f64_middle, 4, 8, 2)
PRODUCT(f64_small, 2, 8, 4)

#define START(shape, strips, groups)                                                                                                    \
	bpg_start(product_##shape, product_blocks_of(p, strips, groups), 2 * strips * groups, sizeof(struct product_shared_##shape), stream, *p)

static int64_t product_blocks_of(const struct bpg_cuda_product *p, int strips, int groups)
{
	int64_t down = (p->strips + strips - 1) / strips, across = (p->columns + groups * BPG_GROUP - 1) / (groups * BPG_GROUP);
	return down * across * p->sets * p->cells;
}

extern "C" int bpg_cuda_product(const struct bpg_cuda_product *p, void *stream)
{
	int processors = bpg_processors(), shape = p->shape;

	if (shape == BPG_SHAPE_AUTO)
		shape = product_blocks_of(p, 8, 16) >= processors && p->columns > 64 ? BPG_SHAPE_LARGE
		        : product_blocks_of(p, 4, 8) >= 2 * processors ? BPG_SHAPE_MIDDLE : BPG_SHAPE_SMALL;
	if (p->wide)
		return shape == BPG_SHAPE_SMALL ? START(f64_small, 2, 8) : START(f64_middle, 4, 8);
	return shape == BPG_SHAPE_SMALL ? START(f32_small, 2, 8) : shape == BPG_SHAPE_MIDDLE ? START(f32_middle, 4, 8) : START(f32_large, 8, 16);
}
