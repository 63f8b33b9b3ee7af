/* cases.h - kernels of src/cuda against the CPU's tasks, bit by bit, over random odd shapes. Kernels
 * run on the host (test_host.c), or on a device (gpu_check.c). */
#ifndef GPU_CASES_H
#define GPU_CASES_H

#include "base/base.h"
#include "cuda/kernels.h"

/* One random shape; false: something differs, `why` says what. Results go into *hash, to compare repeated runs. */
struct gpu_case {
	const char *name;
	bool (*run)(const struct bpg_kernels *b, struct bpg_rng *rng, uint64_t *hash, char why[256]);
};
extern const struct gpu_case gpu_cases[];
extern const int gpu_case_count;

#endif
