/* body.h - one text of a kernel for two compilers: nvcc, and a C compiler that runs it on the host as a loop over the
 * threads of a block.
 *
 * A body is a function of one block. What all threads know alike (which chunk comes next) is written plainly; work of
 * threads stands in EACH_THREAD (SKIP_ON_HOST: of a thread whose work nobody reads, which costs a device nothing), what a thread keeps from one of these to the next in an array of PRIVATE, and BARRIER
 * separates those that hand data on through shared memory. On the host threads of a phase run one after the other, forwards
 * or backwards, and copies that are under way arrive as late as they may: a missing barrier or wait then shows in the bits. */
#ifndef BPG_CUDA_BODY_H
#define BPG_CUDA_BODY_H

#include <math.h>
#include <stdint.h>

#include "codelets/fields.h"

#define BPG_LEAST(a, b) ((a) < (b) ? (a) : (b))

#ifdef __CUDACC__

#pragma nv_diag_suppress 550 /* a thread that needs not know which one it is */

#define BODY static __device__ __forceinline__
#define UNROLL _Pragma("unroll")
#define EACH_THREAD(threads, t) for (int t = (int)threadIdx.x, once_ = 1; once_; once_ = 0)
#define BARRIER() __syncthreads()
#define PRIVATE(type, name, threads) type name[1]
#define OWN(name, t) ((void)(t), (name)[0])
#define RESTRICT __restrict__
#define SKIP_ON_HOST(idle)

/* A copy of 16 bytes from global to shared memory that goes on by itself; COPY_END closes a batch, and after COPY_WAIT(n) all but
 * the last n batches of this thread have arrived. */
#define COPY16(to, from) \
	asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"((unsigned)__cvta_generic_to_shared(to)), "l"(from) \
	             : "memory")
#define COPY_END() asm volatile("cp.async.commit_group;" ::: "memory")
#define COPY_WAIT(n) asm volatile("cp.async.wait_group %0;" ::"n"(n) : "memory")

BODY void load4(const float *from, float *to)
{
	float4 v = *(const float4 *)from;
	to[0] = v.x, to[1] = v.y, to[2] = v.z, to[3] = v.w;
}

BODY void load4(const double *from, double *to)
{
	double2 v = *(const double2 *)from, w = *(const double2 *)(from + 2);
	to[0] = v.x, to[1] = v.y, to[2] = w.x, to[3] = w.y;
}

BODY void store4(float *to, const float *from)
{
	*(float4 *)to = make_float4(from[0], from[1], from[2], from[3]);
}

BODY void store4(double *to, const double *from)
{
	*(double2 *)to = make_double2(from[0], from[1]);
	*(double2 *)(to + 2) = make_double2(from[2], from[3]);
}

#else

#include <stdbool.h>
#include <string.h>

#define BODY static inline __attribute__((always_inline))
#define UNROLL
#define RESTRICT restrict
#define EACH_THREAD(threads, t) for (int i_ = 0, t; i_ < (threads) && (t = bpg_host_backward ? (threads) - 1 - i_ : i_, 1); i_++)
#define SKIP_ON_HOST(idle) \
	if (idle)          \
		continue
#define BARRIER() ((void)0)
#define PRIVATE(type, name, threads) type name[threads]
#define OWN(name, t) (name)[t]
#define COPY16(to, from) bpg_host_copy(to, from)
#define COPY_END() bpg_host_copy_end()
#define COPY_WAIT(n) bpg_host_copy_wait(n)

/* Threads run from the last to the first; copies arrive when they are waited for, else at once. */
extern _Thread_local bool bpg_host_backward, bpg_host_late;
void bpg_host_copy(void *to, const void *from);
void bpg_host_copy_end(void);
void bpg_host_copy_wait(int n);

#define load4(from, to) memcpy(to, from, 4 * sizeof *(to))
#define store4(to, from) memcpy(to, from, 4 * sizeof *(to))

#endif

/* The fused operation of the type. */
#define BPG_FMA32(a, b, c) fmaf(a, b, c)
#define BPG_FMA64(a, b, c) fma(a, b, c)

#endif
