/* rt_internal.h - shared by the files of rt. */
#ifndef BPG_RT_INTERNAL_H
#define BPG_RT_INTERNAL_H

#include <pthread.h>
#include <starpu.h>
#include <stdatomic.h>

#include "rt/pool.h"
#include "rt/rt.h"

enum { BPG_MAX_WORKERS = STARPU_NMAXWORKERS + 1 };

struct bpg_record {
	enum bpg_task_kind kind;
	int node, tile;
	double start, end;
};

struct bpg_move {
	bool send;
	int node, peer;
	size_t bytes;
	double start, end;
};

/* A device: its worker and memory node. */
struct bpg_device_place {
	int worker, node;
};

struct bpg_worker {
	struct bpg_device *device; /* null: it has started no twin */
	struct bpg_rt_stats stats;
	struct bpg_record *record;
	int64_t records, room;
} __attribute__((aligned(64)));

struct bpg_rt {
	struct bpg_rt_options options;
	const char *scheduler;
	char folder[512];
	int workers, owners, hook;
	double started;
	struct starpu_codelet codelet[BPG_TASK_KINDS];
	const struct bpg_kernels *kernels; /* that twins start; null: none */
	int devices;
	struct bpg_device_place device[STARPU_MAXCUDADEVS + 1];
	struct starpu_codelet apart[STARPU_MAXCUDADEVS + 2]; /* the first buffer is read where it is: in main memory, on device i - 1 */
	struct bpg_pool *pool;
	_Atomic size_t *bytes, *peak;     /* [owners + 1] registered data; the last: parameters, of all owners */
	atomic_int stop, running;
	_Atomic int64_t submitted, ended;
	pthread_mutex_t lock;             /* guards fault, message, ending */
	pthread_cond_t wake;
	pthread_t watchdog;
	bool watching, ending;
	/* Transfers; the first two under the lock. */
	int64_t moving;
	pthread_cond_t still;             /* none is on its way */
	uint64_t transfers;               /* named so far, by all ranks alike */
	struct bpg_move *move;            /* the record, of the thread that communicates */
	int64_t moves, move_room;
	_Atomic int64_t moved[2];         /* bytes received, sent */
	enum bpg_status fault;
	char message[512];
	struct bpg_worker worker[BPG_MAX_WORKERS];
};

/* StarPU's view of a tensor on one memory node. */
struct bpg_block {
	uintptr_t ptr;
	size_t bytes;
	struct bpg_rt *rt;
	int owner;
	bool parameters;
};

struct bpg_tensor {
	starpu_data_handle_t handle;
	struct bpg_rt *rt;
	size_t bytes;
	int owner;
	int at;                   /* where the last task that writes it leaves it: 0: in main memory, i: on device i - 1 */
	bool home;
};

void bpg_rt_trampoline(void *descr[], void *arg);
/* A transfer has ended. */
void bpg_rt_moved(struct bpg_rt *rt, const struct bpg_move *move);
/* The run that stops of other ranks reach; null: none. */
void bpg_comm_attach(struct bpg_rt *rt);
void bpg_rt_count(struct bpg_rt *rt, int owner, size_t bytes, bool add);

#endif
