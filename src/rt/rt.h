/* rt.h - tasks and data handles, on StarPU; with src/codelets/trampoline the only part that sees it.
 *
 * The run has one stop word: a fault, a cancel or a deadline sets it, every task reads it first, and what was computed
 * after it proves nothing. A wait returns the first fault. StarPU itself gives no errors back (misuse aborts, memory
 * that cannot be had spins), so callers add up what they need before they submit. */
#ifndef BPG_RT_H
#define BPG_RT_H

#include <stdio.h>

#include "base/base.h"

struct bpg_rt;

struct bpg_rt_options {
	int workers;              /* CPU workers; 0: as StarPU decides (STARPU_NCPU, cores) */
	const char *scheduler;    /* null: STARPU_SCHED, else lws */
	double deadline;          /* bpg_now() at which the run is cancelled; 0: none */
	bool tight;               /* memory that is free is kept for reuse only as far as it was in use at once */
	size_t pool_bytes;        /* freed tile memory that is kept for reuse; 0: 64 MiB */
	int owners;               /* data owners in this process (--shards), at least 1 */
	bool trace;               /* keep a record of every task */
	const volatile int *cancel; /* not zero: stop; looked at some 20 times a second; null: never */
	size_t device_bytes;      /* of an owner on its device at most; 0: what there is */
};

/* Starts StarPU in a private folder of its own. At most one at a time in a process. */
enum bpg_status bpg_rt_start(struct bpg_ctx *ctx, const struct bpg_rt_options *options, struct bpg_rt **rt);
/* A further run on a started runtime: counts, faults and the record begin anew; workers, scheduler, pool and number of
 * owners stay (asking for more owners fails). */
enum bpg_status bpg_rt_again(struct bpg_ctx *ctx, struct bpg_rt *rt, const struct bpg_rt_options *options);
/* Waits for what is left, ends StarPU, removes the folder. */
void bpg_rt_stop(struct bpg_rt *rt);

int bpg_rt_workers(const struct bpg_rt *rt);
/* Devices that run twins (device.h): 0 where all tasks run on the CPU. */
int bpg_rt_devices(const struct bpg_rt *rt);
const char *bpg_rt_scheduler(const struct bpg_rt *rt);

/* StarPU's version and limits and what this machine has, for --version and the report. */
struct bpg_rt_facts {
	int version[3], max_cpus, max_cuda, max_buffers;
	int cores, numa_nodes;
	int64_t l2_bytes, l3_bytes;
};
void bpg_rt_facts(struct bpg_rt_facts *facts);

/* ---- data ---- */

enum bpg_access { BPG_READ = 1, BPG_WRITE = 2, BPG_READ_WRITE = 3 };

/* A block of bytes with one owner. Temporary ones (no home) come from a pool at the first write and go back after the
 * last reader. */
struct bpg_tensor;

/* home: memory of the caller that outlives the tensor; null: temporary. Null when memory is short. */
struct bpg_tensor *bpg_tensor_new(struct bpg_rt *rt, size_t bytes, void *home, int owner);
/* A temporary one that counts as parameters of an optimiser, too. */
struct bpg_tensor *bpg_tensor_parameters(struct bpg_rt *rt, size_t bytes, int owner);
/* The last reader has been submitted: the data go when it has run. Waits for nothing. */
void bpg_tensor_release(struct bpg_tensor *t);

/* Bytes of registered data at most, by owner. With several ranks everything in a process is its rank's. */
size_t bpg_rt_peak_bytes(const struct bpg_rt *rt, int owner);
/* Of these parameters, of all owners. */
size_t bpg_rt_peak_parameters(const struct bpg_rt *rt);

/* ---- tasks ---- */

enum bpg_task_kind {
#define BPG_TASK_KIND(id, text) BPG_TASK_##id,
#include "rt/task_kinds.def"
#undef BPG_TASK_KIND
	BPG_TASK_KINDS
};
const char *bpg_task_kind_name(enum bpg_task_kind kind);

/* The body of a task: its buffers in the order of `tensor`, nulls for the last ones that it may have and has not, and a copy of its
 * argument. */
enum { BPG_OPTIONAL_BUFFERS = 4 };
typedef void bpg_task_fn(struct bpg_rt *rt, void *const *buffer, const void *arg);
/* The same on a device (device.h). */
struct bpg_device;
typedef void bpg_twin_fn(struct bpg_rt *rt, void *const *buffer, const void *arg, struct bpg_device *device);

struct bpg_task {
	enum bpg_task_kind kind;
	bpg_task_fn *run;
	bpg_twin_fn *twin;        /* where there are devices it runs in place of `run`, on that of the owner of what it writes; null: the
	                             task is the CPU's */
	bool in_place;            /* of a twin: the first buffer is read where it lies, and not brought to the device first */
	const void *arg;
	size_t arg_bytes;
	int buffers;
	struct bpg_tensor *const *tensor;
	const enum bpg_access *access;
	int priority;             /* larger first */
	int node, tile;           /* for the trace; -1: none */
	double flops;             /* useful work of a product; 0 elsewhere */
	struct bpg_group *group;  /* null: none */
};

enum bpg_status bpg_rt_submit(struct bpg_rt *rt, const struct bpg_task *task);
/* Waits for all tasks. The first fault, or BPG_ECANCELLED, or BPG_OK. */
enum bpg_status bpg_rt_wait(struct bpg_rt *rt, struct bpg_ctx *ctx);

/* Tasks that are waited for together while others run: a thread that submits into a group of its own waits for that alone. Null
 * when memory is short. */
struct bpg_group *bpg_group_new(struct bpg_rt *rt);
/* Waits first. */
void bpg_group_free(struct bpg_group *group);
/* Waits for the tasks of the group, and for all transfers between ranks (one group at a time has some); returns as bpg_rt_wait. */
enum bpg_status bpg_group_wait(struct bpg_group *group, struct bpg_ctx *ctx);

/* From inside a task: the first fault is kept. */
void bpg_rt_fault(struct bpg_rt *rt, enum bpg_status code, const char *format, ...) BPG_PRINTF(3, 4);
bool bpg_rt_stopped(const struct bpg_rt *rt);

/* ---- what happened ---- */

struct bpg_rt_stats {
	int64_t tasks[BPG_TASK_KINDS], twins[BPG_TASK_KINDS]; /* all, and those that were twins */
	double seconds[BPG_TASK_KINDS]; /* inside task bodies, all workers */
	double cpu[BPG_TASK_KINDS];     /* the same in CPU time (with trace on) */
	double flops;
};
/* Bytes that came from other ranks, and went there. */
void bpg_rt_traffic(const struct bpg_rt *rt, int64_t *received, int64_t *sent);
void bpg_rt_stats(const struct bpg_rt *rt, struct bpg_rt_stats *stats);
/* Chrome trace events of all tasks; `node_name(arg, node)` names nodes. */
enum bpg_status bpg_rt_trace_write(const struct bpg_rt *rt, FILE *to, const char *(*node_name)(const void *arg, int node), const void *arg);

#endif
