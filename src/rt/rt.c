/* rt.c - start and end of StarPU, submission, the stop word, the watchdog, the record of what ran. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* sched_getaffinity */
#endif
#include "rt/rt.h"

#include <dirent.h>
#include <errno.h>
#include <hwloc.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <starpu.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "rt/comm.h"
#include "rt/devices.h"

/* A run in which tasks wait and none has ended for so long is stuck. */
enum { WATCHDOG_SECONDS = 300 };

/* More tasks than this are not in flight: handles and arguments of waiting tasks cost memory. */
enum { WINDOW = 4096, WINDOW_TIGHT = 1024 };

static const char *const kind_name[] = {
#define BPG_TASK_KIND(id, text) text,
#include "rt/task_kinds.def"
#undef BPG_TASK_KIND
};

const char *bpg_task_kind_name(enum bpg_task_kind kind)
{
	return kind_name[kind];
}

/* ---- StarPU's private folder ---- */

/* StarPU aborts when it cannot write its performance models; they are of no use to a process that ends. */
static bool make_folder(struct bpg_rt *rt)
{
	const char *tmp = getenv("TMPDIR");
	const char *const at[] = { tmp && *tmp ? tmp : "/tmp", "/tmp", "/dev/shm", "/var/tmp", "." };

	for (size_t i = 0; i < BPG_LEN(at); i++) {
		if (snprintf(rt->folder, sizeof rt->folder, "%s/bpgraph-XXXXXX", at[i]) >= (int)sizeof rt->folder)
			continue;
		if (mkdtemp(rt->folder))
			return true;
	}
	rt->folder[0] = 0;
	return false;
}

static void remove_tree(const char *path, int depth)
{
	char name[sizeof(((struct bpg_rt *)0)->folder) + 300];
	DIR *d = depth < 8 ? opendir(path) : NULL;

	if (d) {
		for (struct dirent *e; (e = readdir(d));) {
			if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
				continue;
			if (snprintf(name, sizeof name, "%s/%s", path, e->d_name) >= (int)sizeof name)
				continue;
			if (unlink(name))
				remove_tree(name, depth + 1);
		}
		closedir(d);
	}
	rmdir(path);
}

/* ---- watchdog and deadline ---- */

static void *watch(void *arg)
{
	struct bpg_rt *rt = arg;
	int64_t last = -1;
	double since = bpg_now();

	pthread_mutex_lock(&rt->lock);
	while (!rt->ending) {
		double now = bpg_now(), wake = now + (rt->options.cancel ? 0.05 : 1);
		struct timespec t;

		if (rt->options.deadline > 0 && rt->options.deadline < wake)
			wake = BPG_MAX(rt->options.deadline, now + 0.001);
		t.tv_sec = (time_t)wake;
		t.tv_nsec = (long)((wake - (double)t.tv_sec) * 1e9);
		pthread_cond_timedwait(&rt->wake, &rt->lock, &t);
		now = bpg_now();
		if (rt->options.deadline > 0 && now >= rt->options.deadline)
			atomic_store(&rt->stop, 1);
		if (rt->options.cancel && *rt->options.cancel)
			atomic_store(&rt->stop, 1);
		int64_t ended = atomic_load(&rt->ended);
		if (ended != last || atomic_load(&rt->submitted) == ended || atomic_load(&rt->running) > 0) {
			last = ended;
			since = now;
		} else if (now - since > WATCHDOG_SECONDS) {
			fprintf(stderr, "bpgraph: no task has run for %d s while %lld wait; the runtime is stuck, stopping\n",
			        WATCHDOG_SECONDS, (long long)(atomic_load(&rt->submitted) - ended));
			_exit(2);
		}
	}
	pthread_mutex_unlock(&rt->lock);
	return NULL;
}

/* ---- start and stop ---- */

/* Workers of one rank of several on this machine: the cores that its launcher left it, or else its part of all. */
static int share_of_cores(void)
{
	cpu_set_t mine;
	long all = sysconf(_SC_NPROCESSORS_ONLN);
	int own = sched_getaffinity(0, sizeof mine, &mine) ? (int)all : CPU_COUNT(&mine);

	if (own >= all)
		own = (int)(all / bpg_comm_neighbours());
	return BPG_MIN(BPG_MAX(own, 1), STARPU_MAXCPUS);
}

/* StarPU's idle workers spin. Where there are no more cores than workers they keep the thread that plans the next tasks
 * (and everybody else's) off the processor for a whole slice, so a worker steps aside whenever it looks for work. */
static unsigned step_aside(void *arg)
{
	(void)arg;
	sched_yield();
	return 1;
}

static bool known_scheduler(const char *name)
{
	struct starpu_sched_policy **p = starpu_sched_get_predefined_policies();

	for (; p && *p; p++)
		if ((*p)->policy_name && !strcmp((*p)->policy_name, name))
			return true;
	return false;
}

/* StarPU aborts when one of its variables is not the number it must be. */
static const char *wrong_number(void)
{
	static const char *const name[] = { "STARPU_NCPU", "STARPU_NCPUS", "STARPU_NCUDA", "STARPU_NOPENCL", "STARPU_NWORKER_PER_CUDA",
		"STARPU_CALIBRATE", "STARPU_BUS_CALIBRATE", "STARPU_WORKERS_NOBIND", "STARPU_RESERVE_NCPU", "STARPU_MAIN_THREAD_BIND",
		"STARPU_SINGLE_COMBINED_WORKER", "STARPU_DISABLE_ASYNCHRONOUS_COPY", "STARPU_PROFILING", "STARPU_STATS",
		"STARPU_LIMIT_CPU_MEM", "STARPU_LIMIT_MAX_SUBMITTED_TASKS", "STARPU_LIMIT_MIN_SUBMITTED_TASKS" };

	for (size_t i = 0; i < BPG_LEN(name); i++) {
		const char *value = getenv(name[i]);
		char *end;
		if (!value || !*value)
			continue;
		errno = 0;
		long n = strtol(value, &end, 10);
		if (errno || *end || end == value || n < 0 || n > INT_MAX)
			return name[i];
	}
	return NULL;
}

enum bpg_status bpg_rt_start(struct bpg_ctx *ctx, const struct bpg_rt_options *options, struct bpg_rt **out)
{
	struct bpg_rt *rt = bpg_calloc(1, sizeof *rt);
	const char *sched = options->scheduler ? options->scheduler : getenv("STARPU_SCHED");
	struct starpu_conf conf;
	pthread_condattr_t attr;
	int err;

	*out = NULL;
	if (!rt)
		return bpg_nomem(ctx, "the runtime");
	rt->options = *options;
	if (sched && !*sched)
		sched = NULL;
	if (!sched)
		sched = "lws";
	if (!known_scheduler(sched)) {
		free(rt);
		return bpg_fail(ctx, BPG_EUSAGE, "STARPU_SCHED: unknown scheduler '%s'; known are eager, lws, prio, dmda, dmdas and others", sched);
	}
	if (wrong_number()) {
		free(rt);
		return bpg_fail(ctx, BPG_EUSAGE, "%s: expected a whole number from 0 on", wrong_number());
	}
	enum bpg_status asked = bpg_devices_ask(ctx, rt);
	if (asked) {
		free(rt);
		return asked;
	}
	if (!make_folder(rt)) {
		free(rt);
		return bpg_fail(ctx, BPG_EFILE, "no folder for temporary files can be made; set TMPDIR to one that can be written");
	}
	setenv("STARPU_HOME", rt->folder, 1);
	setenv("STARPU_PERF_MODEL_DIR", rt->folder, 1);
	setenv("STARPU_SILENT", "1", 0);
	setenv("STARPU_WORKERS_NOBIND", "1", 0);
	starpu_conf_init(&conf);
	conf.catch_signals = 0;
	conf.nopencl = 0;
	bpg_devices_configure(rt, &conf);
	conf.sched_policy_name = rt->scheduler = sched;
	if (options->workers > 0)
		conf.ncpus = options->workers;
	else if (bpg_comm_neighbours() > 1 && !getenv("STARPU_NCPU") && !getenv("STARPU_NCPUS"))
		conf.ncpus = share_of_cores();
	rt->pool = bpg_pool_new(options->pool_bytes ? options->pool_bytes : (size_t)64 << 20, options->tight);
	rt->owners = BPG_MAX(options->owners, 1);
	rt->bytes = bpg_calloc((size_t)rt->owners + 1, sizeof *rt->bytes);
	rt->peak = bpg_calloc((size_t)rt->owners + 1, sizeof *rt->peak);
	err = rt->pool && rt->bytes && rt->peak ? starpu_init(&conf) : -ENOMEM;
	if (err) {
		enum bpg_status st = err == -ENODEV ? bpg_fail(ctx, BPG_EUSAGE, "StarPU has no worker to run on; check STARPU_NCPU")
		                                    : bpg_fail(ctx, BPG_EFAULT, "StarPU did not start: %s", strerror(-err));
		remove_tree(rt->folder, 0);
		bpg_pool_free(rt->pool);
		free(rt->bytes);
		free(rt->peak);
		free(rt);
		return st;
	}
	rt->workers = (int)starpu_cpu_worker_get_count();
	rt->hook = starpu_idle_hook_register(step_aside, NULL);
	for (int i = 0; i < BPG_TASK_KINDS; i++) {
		struct starpu_codelet *cl = &rt->codelet[i];
		starpu_codelet_init(cl);
		cl->cpu_funcs[0] = bpg_rt_trampoline;
		cl->cpu_funcs_name[0] = "bpg_rt_trampoline";
		cl->nbuffers = STARPU_VARIABLE_NBUFFERS;
		cl->name = kind_name[i];
	}
	bpg_devices_start(rt);
	pthread_mutex_init(&rt->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&rt->wake, &attr);
	pthread_cond_init(&rt->still, NULL);
	pthread_condattr_destroy(&attr);
	rt->watching = pthread_create(&rt->watchdog, NULL, watch, rt) == 0;
	rt->started = bpg_now();
	bpg_comm_attach(rt);
	*out = rt;
	return BPG_OK;
}

static void wait_for_transfers(struct bpg_rt *rt)
{
	pthread_mutex_lock(&rt->lock);
	while (rt->moving > 0)
		pthread_cond_wait(&rt->still, &rt->lock);
	pthread_mutex_unlock(&rt->lock);
}

static void wait_for_all(struct bpg_rt *rt)
{
	starpu_task_wait_for_all();
	wait_for_transfers(rt);
}

enum bpg_status bpg_rt_again(struct bpg_ctx *ctx, struct bpg_rt *rt, const struct bpg_rt_options *options)
{
	if (BPG_MAX(options->owners, 1) > rt->owners)
		return bpg_fail(ctx, BPG_EUSAGE, "the runtime was started for %d owners, %d are asked for", rt->owners, options->owners);
	starpu_task_wait_for_all();
	pthread_mutex_lock(&rt->lock);
	rt->options.deadline = options->deadline;
	rt->options.cancel = options->cancel;
	rt->options.trace = options->trace;
	rt->fault = BPG_OK;
	rt->message[0] = 0;
	atomic_store(&rt->stop, 0);
	for (int o = 0; o <= rt->owners; o++)
		atomic_store(&rt->peak[o], atomic_load(&rt->bytes[o]));
	for (int w = 0; w < BPG_MAX_WORKERS; w++) {
		rt->worker[w].records = 0;
		memset(&rt->worker[w].stats, 0, sizeof rt->worker[w].stats);
	}
	rt->started = bpg_now();
	pthread_cond_signal(&rt->wake);
	pthread_mutex_unlock(&rt->lock);
	return BPG_OK;
}

void bpg_rt_stop(struct bpg_rt *rt)
{
	if (!rt)
		return;
	wait_for_all(rt);
	bpg_comm_attach(NULL);
	pthread_mutex_lock(&rt->lock);
	rt->ending = true;
	pthread_cond_signal(&rt->wake);
	pthread_mutex_unlock(&rt->lock);
	if (rt->watching)
		pthread_join(rt->watchdog, NULL);
	if (rt->hook >= 0)
		starpu_idle_hook_deregister(rt->hook);
	bpg_devices_stop(rt);
	starpu_shutdown();
	remove_tree(rt->folder, 0);
	bpg_pool_free(rt->pool);
	pthread_cond_destroy(&rt->wake);
	pthread_cond_destroy(&rt->still);
	free(rt->move);
	pthread_mutex_destroy(&rt->lock);
	for (int w = 0; w < BPG_MAX_WORKERS; w++)
		free(rt->worker[w].record);
	free(rt->bytes);
	free(rt->peak);
	free(rt);
}

int bpg_rt_workers(const struct bpg_rt *rt)
{
	return rt->workers;
}

const char *bpg_rt_scheduler(const struct bpg_rt *rt)
{
	return rt->scheduler;
}

void bpg_rt_facts(struct bpg_rt_facts *f)
{
	hwloc_topology_t t;

	memset(f, 0, sizeof *f);
	starpu_get_version(&f->version[0], &f->version[1], &f->version[2]);
	f->max_cpus = STARPU_MAXCPUS;
	f->max_cuda = STARPU_MAXCUDADEVS;
	f->max_buffers = STARPU_NMAXBUFS;
	if (hwloc_topology_init(&t))
		return;
	if (!hwloc_topology_load(t)) {
		f->cores = hwloc_get_nbobjs_by_type(t, HWLOC_OBJ_CORE);
		f->numa_nodes = hwloc_get_nbobjs_by_type(t, HWLOC_OBJ_NUMANODE);
		hwloc_obj_t l2 = hwloc_get_obj_by_type(t, HWLOC_OBJ_L2CACHE, 0), l3 = hwloc_get_obj_by_type(t, HWLOC_OBJ_L3CACHE, 0);
		f->l2_bytes = l2 ? (int64_t)l2->attr->cache.size : 0;
		f->l3_bytes = l3 ? (int64_t)l3->attr->cache.size : 0;
	}
	hwloc_topology_destroy(t);
}

/* ---- tasks ---- */

struct call {
	struct bpg_rt *rt;
	bpg_task_fn *run;
	bpg_twin_fn *twin;        /* in its place; null: none */
	enum bpg_task_kind kind;
	int node, tile;
	double flops;
	max_align_t arg[];
};

static void record(struct bpg_rt *rt, const struct call *c, double start, double cpu)
{
	int w = starpu_worker_get_id();
	struct bpg_worker *k = &rt->worker[w < 0 || w >= BPG_MAX_WORKERS ? BPG_MAX_WORKERS - 1 : w];
	double end = bpg_now();

	k->stats.tasks[c->kind]++;
	k->stats.twins[c->kind] += c->twin != NULL;
	k->stats.seconds[c->kind] += end - start;
	k->stats.flops += c->flops;
	if (!rt->options.trace)
		return;
	k->stats.cpu[c->kind] += bpg_thread_cpu() - cpu;
	if (!bpg_grow(&k->record, &k->room, k->records + 1, sizeof *k->record))
		return;
	k->record[k->records++] = (struct bpg_record){ c->kind, c->node, c->tile, start, end };
}

void bpg_rt_trampoline(void *descr[], void *arg)
{
	const struct call *c = arg;
	struct bpg_rt *rt = c->rt;

	if (!atomic_load_explicit(&rt->stop, memory_order_relaxed)) {
		struct starpu_task *task = starpu_task_get_current();
		int n = STARPU_TASK_GET_NBUFFERS(task);
		void *buffer[n + BPG_OPTIONAL_BUFFERS];
		double start = bpg_now(), cpu = rt->options.trace ? bpg_thread_cpu() : 0;

		for (int i = 0; i < n; i++)
			buffer[i] = (void *)((struct bpg_block *)descr[i])->ptr;
		for (int i = 0; i < BPG_OPTIONAL_BUFFERS; i++)
			buffer[n + i] = NULL;
		bpg_float_mode(); /* of whoever made this thread */
		atomic_fetch_add_explicit(&rt->running, 1, memory_order_relaxed);
		if (c->twin)
			bpg_devices_run(rt, c->twin, buffer, c->arg);
		else
			c->run(rt, buffer, c->arg);
		if (bpg_float_mode())
			bpg_rt_fault(rt, BPG_EFAULT, "a task (%s) has changed the rounding of its thread, or flushes small numbers to zero: its "
			             "bounds would not hold; a layer loaded by --layer or the BLAS does that", kind_name[c->kind]);
		atomic_fetch_sub_explicit(&rt->running, 1, memory_order_relaxed);
		record(rt, c, start, cpu);
	}
	atomic_fetch_add_explicit(&rt->ended, 1, memory_order_relaxed);
}

struct bpg_group {
	struct bpg_rt *rt;
	pthread_mutex_t lock;
	pthread_cond_t done;
	int64_t running;
};

struct bpg_group *bpg_group_new(struct bpg_rt *rt)
{
	struct bpg_group *g = bpg_calloc(1, sizeof *g);

	if (g) {
		g->rt = rt;
		pthread_mutex_init(&g->lock, NULL);
		pthread_cond_init(&g->done, NULL);
	}
	return g;
}

static void group_add(struct bpg_group *g)
{
	pthread_mutex_lock(&g->lock);
	g->running++;
	pthread_mutex_unlock(&g->lock);
}

static void group_ended(void *group)
{
	struct bpg_group *g = group;

	pthread_mutex_lock(&g->lock);
	if (!--g->running)
		pthread_cond_broadcast(&g->done);
	pthread_mutex_unlock(&g->lock);
}

void bpg_group_free(struct bpg_group *g)
{
	if (!g)
		return;
	bpg_group_wait(g, NULL);
	pthread_cond_destroy(&g->done);
	pthread_mutex_destroy(&g->lock);
	free(g);
}

enum bpg_status bpg_rt_submit(struct bpg_rt *rt, const struct bpg_task *t)
{
	struct starpu_task *task;
	struct call *c;
	int64_t flying = atomic_load(&rt->submitted) - atomic_load(&rt->ended);

	int window = rt->options.tight ? WINDOW_TIGHT : WINDOW;
	if (flying > window)
		starpu_task_wait_for_n_submitted((unsigned)window / 2);
	task = starpu_task_create();
	c = malloc(sizeof *c + t->arg_bytes);
	if (!task || !c)
		goto nomem;
	*c = (struct call){ .rt = rt, .run = t->run, .kind = t->kind, .node = t->node, .tile = t->tile, .flops = t->flops };
	if (t->arg_bytes)
		memcpy(c->arg, t->arg, t->arg_bytes);
	task->cl = &rt->codelet[t->kind];
	task->cl_arg = c;
	task->cl_arg_size = sizeof *c + t->arg_bytes;
	task->cl_arg_free = 1;
	task->priority = t->priority;
	task->nbuffers = t->buffers;
	if (t->buffers > STARPU_NMAXBUFS) {
		task->dyn_handles = malloc((size_t)t->buffers * sizeof *task->dyn_handles);
		task->dyn_modes = malloc((size_t)t->buffers * sizeof *task->dyn_modes);
		if (!task->dyn_handles || !task->dyn_modes)
			goto nomem;
	}
	for (int i = 0; i < t->buffers; i++) {
		STARPU_TASK_SET_HANDLE(task, t->tensor[i]->handle, i);
		STARPU_TASK_SET_MODE(task, t->access[i] == BPG_READ ? STARPU_R : t->access[i] == BPG_WRITE ? STARPU_W : STARPU_RW, i);
	}
	if (rt->devices) {
		c->twin = t->twin;
		bpg_devices_place(rt, t, task);
	}
	if (t->group) {
		task->callback_func = group_ended;
		task->callback_arg = t->group;
		group_add(t->group);
	}
	atomic_fetch_add(&rt->submitted, 1);
	if (!starpu_task_submit(task))
		return BPG_OK;
	atomic_fetch_add(&rt->ended, 1);
	if (t->group)
		group_ended(t->group);
	task->destroy = 0;
	starpu_task_destroy(task);
	bpg_rt_fault(rt, BPG_EFAULT, "StarPU has no worker for a task");
	return BPG_EFAULT;
nomem:
	free(c);
	bpg_rt_fault(rt, BPG_ENOMEM, "memory is short for a task");
	return BPG_ENOMEM;
}

/* The first fault, or that the run was stopped. */
static enum bpg_status outcome(struct bpg_rt *rt, struct bpg_ctx *ctx)
{
	enum bpg_status st;

	pthread_mutex_lock(&rt->lock);
	st = rt->fault;
	if (st)
		bpg_fail(ctx, st, "%s", rt->message);
	pthread_mutex_unlock(&rt->lock);
	if (!st && bpg_rt_stopped(rt))
		st = bpg_fail(ctx, BPG_ECANCELLED, "stopped");
	return st;
}

enum bpg_status bpg_rt_wait(struct bpg_rt *rt, struct bpg_ctx *ctx)
{
	wait_for_all(rt);
	return outcome(rt, ctx);
}

enum bpg_status bpg_group_wait(struct bpg_group *g, struct bpg_ctx *ctx)
{
	pthread_mutex_lock(&g->lock);
	while (g->running > 0)
		pthread_cond_wait(&g->done, &g->lock);
	pthread_mutex_unlock(&g->lock);
	wait_for_transfers(g->rt);
	return outcome(g->rt, ctx);
}

void bpg_rt_fault(struct bpg_rt *rt, enum bpg_status code, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	pthread_mutex_lock(&rt->lock);
	if (!rt->fault) {
		rt->fault = code;
		vsnprintf(rt->message, sizeof rt->message, format, ap);
	}
	pthread_mutex_unlock(&rt->lock);
	va_end(ap);
	atomic_store(&rt->stop, 1);
}

bool bpg_rt_stopped(const struct bpg_rt *rt)
{
	return atomic_load(&rt->stop);
}

/* ---- what happened ---- */

void bpg_rt_moved(struct bpg_rt *rt, const struct bpg_move *move)
{
	atomic_fetch_add(&rt->moved[move->send], (int64_t)move->bytes);
	if (rt->options.trace && bpg_grow(&rt->move, &rt->move_room, rt->moves + 1, sizeof *rt->move))
		rt->move[rt->moves++] = *move;
}

void bpg_rt_traffic(const struct bpg_rt *rt, int64_t *received, int64_t *sent)
{
	*received = atomic_load(&rt->moved[0]);
	*sent = atomic_load(&rt->moved[1]);
}

void bpg_rt_stats(const struct bpg_rt *rt, struct bpg_rt_stats *s)
{
	memset(s, 0, sizeof *s);
	for (int w = 0; w < BPG_MAX_WORKERS; w++) {
		const struct bpg_rt_stats *k = &rt->worker[w].stats;
		for (int i = 0; i < BPG_TASK_KINDS; i++) {
			s->tasks[i] += k->tasks[i];
			s->twins[i] += k->twins[i];
			s->seconds[i] += k->seconds[i];
			s->cpu[i] += k->cpu[i];
		}
		s->flops += k->flops;
	}
}

size_t bpg_rt_peak_bytes(const struct bpg_rt *rt, int owner)
{
	return atomic_load(&rt->peak[owner]);
}

size_t bpg_rt_peak_parameters(const struct bpg_rt *rt)
{
	return atomic_load(&rt->peak[rt->owners]);
}

enum bpg_status bpg_rt_trace_write(const struct bpg_rt *rt, FILE *to, const char *(*node_name)(const void *arg, int node), const void *arg)
{
	bool comma = false;

	fputs("{\"traceEvents\":[", to);
	for (int w = 0; w < BPG_MAX_WORKERS; w++)
		for (int64_t i = 0; i < rt->worker[w].records; i++) {
			const struct bpg_record *r = &rt->worker[w].record[i];
			fprintf(to, "%s\n{\"name\":\"%s\",\"ph\":\"X\",\"pid\":%d,\"tid\":%d,\"ts\":%.3f,\"dur\":%.3f,\"args\":{\"node\":%d,\"tile\":%d",
			        comma ? "," : "", kind_name[r->kind], bpg_comm_rank(), w, 1e6 * (r->start - rt->started), 1e6 * (r->end - r->start), r->node, r->tile);
			if (r->node >= 0 && node_name) {
				fputs(",\"tensor\":\"", to);
				for (const char *s = node_name(arg, r->node); *s; s++)
					if (*s == '"' || *s == '\\')
						fprintf(to, "\\%c", *s);
					else if ((unsigned char)*s >= ' ')
						fputc(*s, to);
				fputc('"', to);
			}
			fputs("}}", to);
			comma = true;
		}
	for (int64_t i = 0; i < rt->moves; i++) {
		const struct bpg_move *v = &rt->move[i];
		fprintf(to, "%s\n{\"name\":\"%s\",\"ph\":\"X\",\"pid\":%d,\"tid\":%d,\"ts\":%.3f,\"dur\":%.3f,\"args\":{\"node\":%d,\"rank\":%d,\"bytes\":%zu}}", comma ? "," : "",
		        v->send ? "send" : "receive", bpg_comm_rank(), BPG_MAX_WORKERS + v->send, 1e6 * (v->start - rt->started), 1e6 * (v->end - v->start), v->node, v->peer, v->bytes);
		comma = true;
	}
	fputs("\n]}\n", to);
	return ferror(to) ? BPG_EFILE : BPG_OK;
}
