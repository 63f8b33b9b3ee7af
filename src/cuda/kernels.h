/* kernels.h - the kernels and what they need of memory, as a table: those of a device, or the same text on the host, whose "device" is
 * memory of the host and whose stream is null. Functions return 0 or an error number (see `error`). */
#ifndef BPG_CUDA_KERNELS_H
#define BPG_CUDA_KERNELS_H

#include "cuda/cuda.h"

struct bpg_kernels {
	int (*product)(const struct bpg_cuda_product *p, void *stream);
	int (*adjoint)(const struct bpg_cuda_adjoint *p, void *stream);
	int (*relax)(const struct bpg_cuda_relax *p, void *stream);
	int (*sums)(const struct bpg_cuda_sums *p, void *stream);
	int (*price)(const struct bpg_cuda_price *p, void *stream);
	int (*map)(const struct bpg_cuda_map *p, void *stream);
	int (*deal)(const struct bpg_cuda_deal *p, void *stream);
	int (*copy)(const struct bpg_cuda_copy *p, void *stream);
	int (*start)(const struct bpg_cuda_start *p, void *stream);
	int (*step)(const struct bpg_cuda_step *p, void *stream);
	int (*corner)(const struct bpg_cuda_corner *p, void *stream);
	/* Memory of the device, and of the host that it reads without a copy in between; null when it is short. */
	void *(*alloc)(size_t bytes);
	void (*drop)(void *p);
	void *(*pinned)(size_t bytes);
	void (*unpin)(void *p);
	/* From anywhere to anywhere, in the order of the stream. */
	int (*move)(void *to, const void *from, size_t bytes, void *stream);
	int (*clear)(void *p, size_t bytes, void *stream);
	int (*sync)(void *stream);
	const char *(*error)(int error);
};

extern const struct bpg_kernels bpg_kernels_host;
/* Where the build has devices. */
extern const struct bpg_kernels bpg_kernels_device;

#endif
