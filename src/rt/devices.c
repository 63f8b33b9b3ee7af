/* devices.c - which devices a run has, and which of its tasks run there. Kind and number of the device are functions of the task
 * alone: owner k has device k mod devices, and the scheduler chooses nothing. */
#include "rt/devices.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"
#include "rt/comm.h"

/* Tables that a worker's device keeps, beyond what StarPU counts. */
static const size_t tables_bytes = (size_t)128 << 20;

enum bpg_status bpg_devices_ask(struct bpg_ctx *ctx, struct bpg_rt *rt)
{
	const char *twins = getenv("BPGRAPH_TWINS");

	if (!twins || !*twins)
		return BPG_OK;
	if (strcmp(twins, "host"))
		return bpg_fail(ctx, BPG_EUSAGE, "BPGRAPH_TWINS: '%s' is not known; host is", twins);
	rt->kernels = &bpg_kernels_host;
	rt->devices = 1;
	return BPG_OK;
}

#if BPG_DEVICES

/* Those of this rank, of several on a machine: dealt one by one, or shared where there are fewer than ranks. */
static void choose(struct starpu_conf *conf)
{
	int all = bpg_cuda_count(), ranks = bpg_comm_neighbours(), me = bpg_comm_neighbour(), n = 0;

	if (ranks < 2 || all < 1)
		return;
	for (int d = all < ranks ? me % all : me; d < all && n < STARPU_MAXCUDADEVS; d += ranks)
		conf->workers_cuda_gpuid[n++] = (unsigned)d;
	conf->use_explicit_workers_cuda_gpuid = 1;
	conf->ncuda = n;
}

/* StarPU waits for ever for memory beyond its limit, and takes it in chunks of 32 MiB: so the limit is what the plan proves to be enough,
 * and some chunks. */
static void limit(const struct bpg_rt *rt)
{
	size_t devices = (size_t)BPG_MAX(bpg_cuda_count(), 1), owners = bpg_comm_ranks() > 1 ? 1 : ((size_t)rt->owners + devices - 1) / devices;
	char mib[32];

	snprintf(mib, sizeof mib, "%zu", (owners * rt->options.device_bytes >> 20) + 128);
	setenv("STARPU_LIMIT_CUDA_MEM", mib, 0);
}

void bpg_devices_configure(const struct bpg_rt *rt, struct starpu_conf *conf)
{
	conf->ncuda = rt->kernels ? 0 : -1;
	if (rt->kernels)
		return;
	choose(conf);
	if (rt->options.device_bytes)
		limit(rt);
}

void bpg_devices_start(struct bpg_rt *rt)
{
	int worker[STARPU_NMAXWORKERS];

	if (rt->kernels)
		return;
	rt->devices = BPG_MIN(starpu_worker_get_ids_by_type(STARPU_CUDA_WORKER, worker, STARPU_NMAXWORKERS), STARPU_MAXCUDADEVS);
	if (rt->devices <= 0) {
		rt->devices = 0;
		return;
	}
	rt->kernels = &bpg_kernels_device;
	bpg_pool_pin(rt->pool, starpu_memory_pin, starpu_memory_unpin);
	for (int k = 0; k < BPG_TASK_KINDS; k++) {
		rt->codelet[k].cuda_funcs[0] = bpg_rt_trampoline;
		rt->codelet[k].cuda_flags[0] = STARPU_CUDA_ASYNC;
	}
	for (int d = 0; d < rt->devices; d++)
		rt->device[d] = (struct bpg_device_place){ worker[d], (int)starpu_worker_get_memory_node((unsigned)worker[d]) };
	for (int d = -1; d < rt->devices; d++) {
		struct starpu_codelet *cl = &rt->apart[d + 1];
		*cl = rt->codelet[BPG_TASK_GATHER];
		cl->specific_nodes = 1;
		cl->nodes[0] = d < 0 ? STARPU_MAIN_RAM : rt->device[d].node;
		for (int i = 1; i < STARPU_NMAXBUFS; i++)
			cl->nodes[i] = -1; /* where the task runs */
	}
}

static void *stream(const struct bpg_rt *rt)
{
	return rt->kernels == &bpg_kernels_device ? starpu_cuda_get_local_stream() : NULL;
}

#else

void bpg_devices_configure(const struct bpg_rt *rt, struct starpu_conf *conf)
{
	(void)rt;
	conf->ncuda = 0;
}

void bpg_devices_start(struct bpg_rt *rt)
{
	(void)rt;
}

static void *stream(const struct bpg_rt *rt)
{
	(void)rt;
	return NULL;
}

#endif

void bpg_devices_stop(struct bpg_rt *rt)
{
	for (int w = 0; w < BPG_MAX_WORKERS; w++)
		bpg_device_free(rt->worker[w].device);
	bpg_pool_pin(rt->pool, NULL, NULL);
}

int bpg_rt_devices(const struct bpg_rt *rt)
{
	return rt->devices;
}

/* Number of the device of a task: several owners have one each, tiles of a single owner are dealt to all. */
static int device_of(const struct bpg_rt *rt, const struct bpg_task *t)
{
	int owner = 0;

	if (rt->owners < 2 || bpg_comm_ranks() > 1)
		return t->tile > 0 ? t->tile % rt->devices : 0;
	for (int i = t->buffers - 1; i >= 0; i--)
		if (t->access[i] != BPG_READ)
			owner = t->tensor[i]->owner;
	return owner % rt->devices;
}

/* There are workers of devices: else CPU workers run twins. */
static bool apart(const struct bpg_rt *rt)
{
	return rt->devices > 0 && rt->kernels != &bpg_kernels_host;
}

int bpg_devices_owner(const struct bpg_rt *rt, int owner, unsigned node)
{
	if (!apart(rt))
		return owner;
	for (int d = 0; d < rt->devices; d++)
		if (rt->device[d].node == (int)node)
			return owner % rt->devices == d || d >= rt->owners ? owner : d; /* a vector of another owner: the reader's */
	return -1;
}

void bpg_devices_place(struct bpg_rt *rt, const struct bpg_task *t, struct starpu_task *task)
{
	int d = t->twin && apart(rt) ? device_of(rt, t) : -1;

	if (!apart(rt))
		return;
	task->where = t->twin ? STARPU_CUDA : STARPU_CPU;
	if (t->twin) {
		task->execute_on_a_specific_worker = 1;
		task->workerid = (unsigned)rt->device[d].worker;
		if (t->in_place)
			task->cl = &rt->apart[t->tensor[0]->at];
	}
	for (int i = 0; i < t->buffers; i++)
		if (t->access[i] != BPG_READ)
			t->tensor[i]->at = d + 1;
}

void bpg_devices_run(struct bpg_rt *rt, bpg_twin_fn *twin, void *const *buffer, const void *arg)
{
	struct bpg_worker *w = &rt->worker[starpu_worker_get_id()];

	if (!w->device && !(w->device = bpg_device_new(rt, rt->kernels, tables_bytes))) {
		bpg_rt_fault(rt, BPG_ENOMEM, "memory is short for a worker's device");
		return;
	}
	bpg_device_begin(w->device, stream(rt));
	twin(rt, buffer, arg, w->device);
}
