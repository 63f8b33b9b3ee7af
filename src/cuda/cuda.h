/* cuda.h - the kernels for GPUs, behind a plain C interface: no type of CUDA, no type of StarPU.
 *
 * Layouts are those of the CPU's tasks (codelets/kernel.h, codelets/fields.h), and so is the order of every sum: the bits of
 * what a kernel writes are those that the CPU's task writes (NaN is NaN, -0 may be 0). Each kernel has a structure of arguments; pointers
 * are to memory of the device, aligned to 16 bytes. bpg_cuda_X(args, stream) starts the kernel on a stream (null: the default one) and returns
 * 0 or an error number of CUDA; bpg_host_X(args) runs the same text on the host, over memory of the host.
 *
 * `wide` tiles are of double, others of float. A tile over `columns` is [strips][columns][16]. */
#ifndef BPG_CUDA_CUDA_H
#define BPG_CUDA_CUDA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "codelets/fields.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- the device ---- */

struct bpg_cuda_device {
	char name[256];
	int64_t bytes;
	int processors, major, minor, driver, runtime;
};
/* Devices on which a kernel runs; *why: what CUDA says where there is none. */
int bpg_cuda_devices(const char **why);
/* Of device 0. */
void bpg_cuda_describe(struct bpg_cuda_device *d);
/* Memory of the current device; null when it is short. */
void *bpg_cuda_alloc(size_t bytes);
void bpg_cuda_free(void *p);
int bpg_cuda_put(void *device, const void *host, size_t bytes);
int bpg_cuda_get(void *host, const void *device, size_t bytes);
int bpg_cuda_sync(void *stream);
const char *bpg_cuda_error(int error);
/* Seconds of one call of `work` on the default stream, the mean of `times` after one that is not counted; -1: it failed. */
double bpg_cuda_time(int (*work)(void *), void *arg, int times);

/* ---- products ---- */

enum bpg_cuda_shape { BPG_SHAPE_AUTO, BPG_SHAPE_LARGE, BPG_SHAPE_MIDDLE, BPG_SHAPE_SMALL }; /* of a block of threads; never of bits */

/* C[s][c] (=, or accumulate: +=) sum over k of A[s][k] W[c / 8][k][c % 8], in blocks.
 * Dense: k0 .. k1-1 in blocks of `block`; one cell, one set. Convolution (run not null): `cells` input positions, `sets` channel groups;
 * cell i sums blocks first[i] .. first[i+1]-1, block b runs end[b-1] .. end[b]-1 (0 before the first), as codelets/conv_sums.h lists them.
 * A cell or an empty range without products is 0. */
struct bpg_cuda_product {
	bool wide, accumulate;
	int shape;                /* enum bpg_cuda_shape */
	int64_t strips, columns;  /* columns: of a set */
	const void *A;            /* `a_strip` elements from strip to strip */
	const float *W;           /* floats, also for wide tiles; `w_group` of them from group to group of 8 columns */
	void *C;
	int64_t a_strip, w_group, c_strip;
	int64_t k0, k1, block;    /* dense */
	int64_t cells, sets;
	int64_t a_set, w_set, c_set; /* columns of A, floats of W, columns of C from set to set */
	int64_t c_cell;           /* columns of C from cell to cell */
	const int *first, *end;
	const struct bpg_run *run;
};
int bpg_cuda_product(const struct bpg_cuda_product *p, void *stream);
void bpg_host_product(const struct bpg_cuda_product *p);

/* Z[s][o] = (accumulate ? Z[s][o] : 0) + sum over j < columns of H[s][j] W[j / 8][o][j % 8], o < n, float; fused, j rising. */
struct bpg_cuda_adjoint {
	bool accumulate;
	int64_t strips, columns, n;
	const float *H, *W;
	float *Z;
	int64_t h_strip, w_group, z_strip;
};
int bpg_cuda_adjoint(const struct bpg_cuda_adjoint *p, void *stream);
void bpg_host_adjoint(const struct bpg_cuda_adjoint *p);

/* ---- cuBLAS, for rates and where bits do not matter. 0 or a status of cuBLAS ---- */

/* A handle of one's own, with `bytes` of device memory as its only workspace (4 MiB do; 32 on sm_90). */
int bpg_cuda_blas_open(void **handle, void *workspace, size_t bytes);
void bpg_cuda_blas_close(void *handle);
/* What a task does with the handle of its worker before it uses it: its stream, this workspace, pedantic arithmetic, no atomics. */
int bpg_cuda_blas_prepare(void *handle, void *stream, void *workspace, size_t bytes);
/* C [m,n] (=, accumulate: +=) A [m,k] B [k,n], row by row. */
int bpg_cuda_blas_product(void *handle, int64_t m, int64_t n, int64_t k, const float *A, const float *B, bool accumulate, float *C);

/* ---- NCCL ---- */

/* A communicator over devices 0 .. devices-1 of this process, with a stream on each. null: *why says it in NCCL's words. */
struct bpg_cuda_ring;
struct bpg_cuda_ring *bpg_cuda_ring_new(int devices, const char **why);
void bpg_cuda_ring_free(struct bpg_cuda_ring *r);
/* panel[i] on device i = the shards of all devices, `bytes` of each, in order; one group of calls by one thread, which waits for them.
 * Calls on one ring must not overlap. 0, an error of CUDA, or minus one of NCCL. */
int bpg_cuda_ring_gather(struct bpg_cuda_ring *r, const void *const *shard, void *const *panel, size_t bytes);
int bpg_cuda_nccl_version(void);

#ifdef __cplusplus
}
#endif

#endif
