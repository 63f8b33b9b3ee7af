/* pool.c - see pool.h. */
#include "bab/pool.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bab/groups.h"
#include "bab/margin.h"
#include "bab/spill.h"

enum {
	DRIVERS = 3,              /* batches in flight */
	DIVE = 16, DIVE_EVERY = 4, /* domains of a dive at most; it has one batch in so many */
};

static const double quick_seconds = 0.1; /* a batch that takes less may be larger */

static void fail(struct bpg_search_pool *p, enum bpg_status st, const char *message)
{
	if (!p->status) {
		p->status = st;
		snprintf(p->message, sizeof p->message, "%s", message);
	}
	p->stop = true;
}

bool bpg_pool_may_try(const struct bpg_driver *v)
{
	double took = bpg_now() - v->began - v->tried;

	return !bpg_rt_stopped(v->p->x->rt) && (v->tries < BPG_TRIES || (!v->p->x->synchronous && v->tried < bpg_tried_share * took));
}

bool bpg_pool_try(struct bpg_driver *v, const float *x, float *y)
{
	struct bpg_search_pool *p = v->p;
	const struct bpg_net *net = p->x->net;
	double start = bpg_now();
	int answer = bpg_witness_try(v->ctx, net, p->x->spec, x, y);

	v->tries++;
	v->tried += bpg_now() - start;
	if (answer <= 0)
		return false;
	pthread_mutex_lock(p->lock);
	p->stop = true;
	if (!p->x->witness.found) {
		memcpy(p->x->witness.x, x, (size_t)net->in_count * sizeof *x);
		memcpy(p->x->witness.y, y, (size_t)net->out_count * sizeof *y);
		bpg_witness_deepen(v->ctx, net, p->x->spec, p->x->rt, 0, p->x->witness.x, p->x->witness.y);
		p->x->witness.found = true;
		if (p->groups)
			bpg_groups_found(p->groups);
	}
	pthread_cond_broadcast(&p->changed);
	pthread_mutex_unlock(p->lock);
	return true;
}

void bpg_pool_closed(struct bpg_driver *v, const struct bpg_domain *d)
{
	v->closed += d->share;
}

void bpg_pool_stuck(struct bpg_driver *v, const struct bpg_domain *d)
{
	v->stuck = true;
	v->left = fmin(v->left, d->bound);
}

void bpg_pool_count(struct bpg_search_pool *p, int64_t tasks)
{
	pthread_mutex_lock(p->lock);
	p->x->tasks += tasks;
	pthread_mutex_unlock(p->lock);
}

static int dive_width(const struct bpg_search_pool *p)
{
	return BPG_MIN(p->batch, (int)DIVE);
}

/* What is on disk may be lost, so nothing is proved any more. */
static void disk_failed(struct bpg_search_pool *p)
{
	if (p->frontier.failed) {
		fail(p, BPG_EFILE, bpg_spill_message(p->frontier.spill));
		p->lost = true;
	}
}

/* Of a dive that goes on, all; else the worst, and while there are few, every driver's share of them. */
static void take_some(struct bpg_driver *v)
{
	struct bpg_search_pool *p = v->p;
	int64_t waiting = bpg_frontier_waiting(&p->frontier), share = p->x->synchronous ? waiting : (waiting + DRIVERS - 1) / DRIVERS;
	struct bpg_domain *d;
	int most = (int)BPG_MIN((int64_t)p->batch, share);

	v->diving = p->batches % DIVE_EVERY == DIVE_EVERY - 1;
	if (p->dives && (v->diving || !waiting)) {
		v->diving = true;
		for (; v->count < p->dives; v->count++)
			v->taken[v->count] = p->dive[v->count];
		p->dives = 0;
		return;
	}
	if (v->diving)
		most = BPG_MIN(most, dive_width(p));
	while (v->count < most && (d = bpg_frontier_pop(&p->frontier)))
		v->taken[v->count++] = d;
	disk_failed(p);
}

/* Until there are some, or the search ends. Other groups may give some, so that only they end it, or the time that is given, or a stop. */
static void wait_for_some(struct bpg_driver *v)
{
	struct bpg_search_pool *p = v->p;

	while (!p->stop && !bpg_pool_waiting(p) && (p->busy || p->groups)) {
		if (!p->groups) {
			pthread_cond_wait(&p->changed, p->lock);
			continue;
		}
		bpg_cond_wait_for(&p->changed, p->lock, 0.02);
		enum bpg_status st = bpg_rt_stopped(p->x->rt) ? bpg_group_wait(v->group, v->ctx) : BPG_OK;
		if (st)
			fail(p, st, bpg_ctx_message(v->ctx));
		else if (p->until > 0 && bpg_now() >= p->until)
			return;
	}
}

/* The next domains; 0: nothing more is to be done. */
static int take(struct bpg_driver *v)
{
	struct bpg_search_pool *p = v->p;

	pthread_mutex_lock(p->lock);
	wait_for_some(v);
	if (p->until > 0 && bpg_now() >= p->until)
		p->stop = true;
	v->closed = 0;
	v->contracted = v->gained = 0;
	v->left = INFINITY;
	v->stuck = false;
	if (!p->stop)
		take_some(v);
	p->busy += v->count > 0;
	pthread_mutex_unlock(p->lock);
	return v->count;
}

static void push(struct bpg_search_pool *p, struct bpg_domain *d)
{
	if (d->dived)
		d->dived = false;
	if (bpg_frontier_push(&p->frontier, d)) {
		disk_failed(p);
		return;
	}
	fail(p, BPG_ENOMEM, "memory is short for the domains of the search");
	p->lost = true;
	bpg_domain_drop(d);
}

void bpg_pool_wait(struct bpg_search_pool *p, struct bpg_domain *d)
{
	if (d->dived && p->dives < dive_width(p))
		p->dive[p->dives++] = d;
	else
		push(p, d);
}

double bpg_pool_worst(const struct bpg_search_pool *p)
{
	double worst = bpg_frontier_worst(&p->frontier);

	for (int i = 0; i < p->dives; i++)
		worst = fmin(worst, p->dive[i]->bound);
	return worst;
}

static int by_bound(const void *a, const void *b)
{
	const struct bpg_domain *const *x = a, *const *y = b;

	return bpg_domain_before(*x, *y) ? -1 : bpg_domain_before(*y, *x);
}

/* The children of a dive go on with it, the worst ones where there are too many; all others wait in the frontier. */
static void put_children(struct bpg_driver *v, struct bpg_domain **child, int children)
{
	struct bpg_search_pool *p = v->p;

	for (int i = 0; i < children; i++)
		child[i]->number = p->made++;
	if (v->diving)
		qsort(child, (size_t)children, sizeof(struct bpg_domain *), by_bound);
	for (int i = 0; i < children; i++) {
		child[i]->dived = v->diving && p->dives < dive_width(p);
		bpg_pool_wait(p, child[i]);
	}
}

/* What a batch costs beside its bounds, as the tasks' own overhead, counts where these take little time. */
static void widen(struct bpg_search_pool *p, const struct bpg_driver *v)
{
	if (v->count == p->batch && bpg_now() - v->began < quick_seconds)
		p->batch = BPG_MIN(2 * p->batch, p->most);
}

/* The batch, done: its children wait. */
static void give(struct bpg_driver *v, struct bpg_domain **child, int children)
{
	struct bpg_search_pool *p = v->p;

	for (int i = 0; i < v->count; i++)
		p->x->depth = BPG_MAX(p->x->depth, v->taken[i]->depth);
	put_children(v, child, children);
	widen(p, v);
	p->batches++;
	p->x->domains += v->count;
	p->closed += v->closed;
	p->contracted += v->contracted;
	p->gained += v->gained;
	p->left = fmin(p->left, v->left);
	p->stuck |= v->stuck;
}

/* A batch that failed, or was left when a witness was found: as if it had not been taken. */
static void give_back(struct bpg_driver *v, enum bpg_status st, struct bpg_domain **child, int children)
{
	struct bpg_search_pool *p = v->p;

	if (st)
		fail(p, st, bpg_ctx_message(v->ctx));
	else
		p->x->domains += v->count;
	for (int i = 0; i < v->count; i++) {
		bpg_domain_hold(v->taken[i]);
		bpg_pool_wait(p, v->taken[i]);
	}
	for (int i = 0; i < children; i++)
		bpg_domain_drop(child[i]);
}

static void tell(const struct bpg_search_pool *p)
{
	if (p->groups)
		bpg_groups_worked(p->groups, p);
	else if (p->x->progress)
		p->x->progress(p->x->progress_arg, p->x->domains, bpg_pool_waiting(p), bpg_pool_worst(p), p->x->depth, p->frontier.bytes, p->frontier.spilled_bytes);
}

static void *drive(void *arg)
{
	struct bpg_driver *v = arg;
	struct bpg_search_pool *p = v->p;
	struct bpg_domain **child = v->taken + p->most;

	bpg_float_mode();
	while (take(v) > 0) {
		int children = 0;
		enum bpg_status st = BPG_ENOMEM;

		v->arena = bpg_arena_new();
		v->began = bpg_now();
		v->tried = 0;
		v->tries = 0;
		if (v->arena)
			st = p->work(v, v->taken, v->count, child, &children);
		bpg_arena_free(v->arena);
		pthread_mutex_lock(p->lock);
		if (st || p->x->witness.found)
			give_back(v, st, child, children);
		else
			give(v, child, children);
		for (int i = 0; i < v->count; i++)
			bpg_domain_drop(v->taken[i]);
		v->count = 0;
		p->busy--;
		tell(p);
		pthread_cond_broadcast(&p->changed);
		pthread_mutex_unlock(p->lock);
	}
	return NULL;
}
enum bpg_status bpg_pool_begin(struct bpg_ctx *ctx, struct bpg_search_pool *p, struct bpg_domain **root, int roots)
{
	enum bpg_status st = BPG_OK;

	pthread_cond_init(&p->changed, NULL);
	p->ready = true;
	p->left = INFINITY;
	p->frontier.spill = p->x->spill;
	p->frontier.limit = p->x->frontier_bytes;
	p->frontier.least = p->batch;
	p->most = BPG_MAX(p->most, p->batch);
	p->dive = bpg_calloc((size_t)p->most, sizeof(struct bpg_domain *));
	if (!p->dive)
		st = bpg_nomem(ctx, "the search");
	for (int i = 0; i < roots; i++) {
		root[i]->number = p->made++;
		if (st || !bpg_frontier_push(&p->frontier, root[i])) {
			bpg_domain_drop(root[i]);
			st = bpg_nomem(ctx, "the search");
		}
	}
	return st;
}

void bpg_search_run(struct bpg_search_pool *p, double until)
{
	struct bpg_driver driver[DRIVERS];
	pthread_t thread[DRIVERS];
	/* Under a memory limit one batch has all of it. */
	int drivers = p->x->synchronous || p->x->bound.memory ? 1 : DRIVERS, started = 0;
	double start = bpg_now();

	for (int i = 0; i < drivers; i++)
		driver[i] = (struct bpg_driver){ .p = p, .ctx = bpg_ctx_new(), .group = bpg_group_new(p->x->rt),
			                         .taken = bpg_calloc((size_t)(3 * p->most), sizeof(struct bpg_domain *)) };
	pthread_mutex_lock(p->lock);
	p->stop = p->status || p->x->witness.found || (p->groups && p->groups->over);
	p->until = until;
	p->driver = driver;
	p->drivers = drivers;
	pthread_mutex_unlock(p->lock);
	for (int i = 0; i < drivers; i++) {
		if (!driver[i].ctx || !driver[i].group || !driver[i].taken || pthread_create(&thread[i], NULL, drive, &driver[i]))
			break;
		started++;
	}
	for (int i = 0; i < started; i++)
		pthread_join(thread[i], NULL);
	pthread_mutex_lock(p->lock);
	if (!started)
		fail(p, BPG_ENOMEM, "no thread could be started for the search");
	p->driver = NULL;
	p->drivers = 0;
	p->seconds += bpg_now() - start;
	pthread_mutex_unlock(p->lock);
	for (int i = 0; i < drivers; i++) {
		bpg_group_free(driver[i].group);
		bpg_ctx_free(driver[i].ctx);
		free(driver[i].taken);
	}
}

struct bpg_domain **bpg_pool_all(const struct bpg_search_pool *p, int64_t *count)
{
	int64_t n = p->frontier.count + p->dives;
	struct bpg_domain **all;

	for (int i = 0; i < p->drivers; i++)
		n += p->driver[i].count;
	all = bpg_calloc((size_t)n + 1, sizeof(struct bpg_domain *));
	if (!all)
		return NULL;
	n = 0;
	for (int64_t i = 0; i < p->frontier.count; i++)
		all[n++] = p->frontier.heap[i];
	for (int i = 0; i < p->dives; i++)
		all[n++] = p->dive[i];
	for (int i = 0; i < p->drivers; i++)
		for (int k = 0; k < p->driver[i].count; k++)
			all[n++] = p->driver[i].taken[k];
	for (int64_t i = 0; i < n; i++)
		bpg_domain_hold(all[i]);
	*count = n;
	return all;
}

void bpg_pool_fini(struct bpg_search_pool *p)
{
	bpg_frontier_fini(&p->frontier);
	for (int i = 0; i < p->dives; i++)
		bpg_domain_drop(p->dive[i]);
	free(p->dive);
	bpg_contractor_free(p->contractor);
	if (p->ready)
		pthread_cond_destroy(&p->changed);
}
