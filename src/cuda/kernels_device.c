/* kernels_device.c - the table of what runs on a device. */
#include "cuda/kernels.h"

const struct bpg_kernels bpg_kernels_device = {
	.product = bpg_cuda_product,
	.adjoint = bpg_cuda_adjoint,
	.relax = bpg_cuda_relax,
	.sums = bpg_cuda_sums,
	.price = bpg_cuda_price,
	.map = bpg_cuda_map,
	.deal = bpg_cuda_deal,
	.copy = bpg_cuda_copy,
	.start = bpg_cuda_start,
	.step = bpg_cuda_step,
	.corner = bpg_cuda_corner,
	.alloc = bpg_cuda_alloc,
	.drop = bpg_cuda_free,
	.pinned = bpg_cuda_pinned,
	.unpin = bpg_cuda_unpin,
	.move = bpg_cuda_move,
	.clear = bpg_cuda_clear,
	.sync = bpg_cuda_sync,
	.error = bpg_cuda_error,
};
