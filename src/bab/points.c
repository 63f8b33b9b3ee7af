/* points.c - where the bounds of a batch are attained, tried as counterexamples by tasks. See pool.h. */
#include <stdlib.h>

#include "bab/attack.h"
#include "bab/pool.h"

enum { TASKS = 2 };               /* of a batch */

struct trial {
	const struct bpg_search_pool *p;
	const float *const *point;
	int count;
	double seconds;           /* of each task */
	atomic_int found;         /* number of the first point that is a witness; count: none is */
};

struct arg {
	struct trial *t;
	int first;
};

void bpg_pool_inside(const struct bpg_search_pool *p, const float *point, float *x)
{
	for (int64_t i = 0; i < p->x->net->in_count; i++)
		x[i] = bpg_inside(point[i], p->whole->in_lo[i], p->whole->in_up[i]);
}

static void try_some(struct bpg_rt *rt, void *const *buffer, const void *arg)
{
	const struct arg *a = arg;
	struct trial *t = a->t;
	const struct bpg_net *net = t->p->x->net;
	struct bpg_ctx *ctx = bpg_ctx_new();
	float *x = malloc((size_t)(net->in_count + net->out_count + 1) * sizeof *x);
	double until = bpg_now() + t->seconds;

	(void)buffer;
	for (int i = a->first; ctx && x && i < atomic_load(&t->found) && !bpg_rt_stopped(rt); i += TASKS) {
		if (i >= BPG_TRIES && bpg_now() >= until)
			break;
		bpg_pool_inside(t->p, t->point[i], x);
		int first = atomic_load(&t->found);
		if (bpg_witness_try(ctx, net, t->p->x->spec, x, x + net->in_count) > 0)
			while (i < first && !atomic_compare_exchange_weak(&t->found, &first, i))
				;
	}
	free(x);
	bpg_ctx_free(ctx);
}

int bpg_pool_try_all(struct bpg_driver *v, const float *const *point, int count)
{
	struct trial t = { .p = v->p, .point = point, .count = count, .found = count };

	if (!v->p->x->synchronous)
		t.seconds = bpg_tried_share * (bpg_now() - v->began) / TASKS;
	for (int k = 0; k < BPG_MIN(count, (int)TASKS); k++) {
		struct arg a = { &t, k };
		struct bpg_task task = { .kind = BPG_TASK_ATTACK, .run = try_some, .arg = &a, .arg_bytes = sizeof a, .node = -1, .tile = k, .group = v->group };
		if (bpg_rt_submit(v->p->x->rt, &task))
			break;
	}
	bpg_group_wait(v->group, NULL);
	int found = atomic_load(&t.found);
	return found < count ? found : -1;
}
