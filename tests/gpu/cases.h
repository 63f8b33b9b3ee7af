/* cases.h - kernels of src/cuda against the CPU's tasks, bit by bit, over random odd shapes. Who runs the kernels is a backend: the
 * host (test_host.c), a device (gpu_check.c). */
#ifndef GPU_CASES_H
#define GPU_CASES_H

#include "base/base.h"
#include "cuda/cuda.h"

struct gpu_backend {
	const char *name;
	void *(*put)(const void *host, size_t bytes); /* a copy of the host's memory */
	void (*get)(void *host, const void *device, size_t bytes);
	void (*drop)(void *device);
	/* Each returns 0, or an error number. */
	int (*product)(const struct bpg_cuda_product *p);
	int (*adjoint)(const struct bpg_cuda_adjoint *p);
	int (*relax)(const struct bpg_cuda_relax *p);
	int (*sums)(const struct bpg_cuda_sums *p);
	int (*map)(const struct bpg_cuda_map *p);
	int (*deal)(const struct bpg_cuda_deal *p);
	int (*copy)(const struct bpg_cuda_copy *p);
	int (*start)(const struct bpg_cuda_start *p);
	int (*step)(const struct bpg_cuda_step *p);
	int (*corner)(const struct bpg_cuda_corner *p);
};

/* One random shape; false: something differs, `why` says what. Results go into *hash, to compare repeated runs. */
struct gpu_case {
	const char *name;
	bool (*run)(const struct gpu_backend *b, struct bpg_rng *rng, uint64_t *hash, char why[256]);
};
extern const struct gpu_case gpu_cases[];
extern const int gpu_case_count;

#endif
