/* groups.c - see groups.h. Letters are read by the thread that communicates; that of group 0 keeps the books. */
#include "bab/groups.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bab/pool.h"
#include "rt/comm.h"

enum what { WANT, ASK, GIVE, NONE, STATE, FOUND, ALONE, OVER };

/* A letter begins with it; behind it are domains or a witness. */
struct message {
	int32_t what, kind;
	int32_t group;            /* ASK, NONE: the one that wants */
	int32_t more;             /* WANT: something is stuck. OVER: how it ended */
	uint64_t search, root;
	int64_t count;            /* GIVE: domains */
	struct bpg_group_state state;
};

/* Of a package: what a group has done with before it could be idle long, and what goes in one letter. */
enum { MOST_DOMAINS = 4096 };
static const size_t most_bytes = (size_t)16 << 20;
static const double state_seconds = 0.05;

static void post(const struct bpg_groups *g, int to, struct message m, const void *more, size_t bytes)
{
	char *data = malloc(sizeof m + bytes);

	m.search = g->search;
	if (!data) {
		bpg_rt_fault(g->x->rt, BPG_ENOMEM, "memory is short for a message");
		return;
	}
	memcpy(data, &m, sizeof m);
	if (bytes)
		memcpy(data + sizeof m, more, bytes);
	bpg_comm_post(to, data, sizeof m + bytes);
}

static void post_to_others(const struct bpg_groups *g, struct message m, const void *more, size_t bytes)
{
	for (int i = 0; i < g->count; i++)
		if (i != g->mine)
			post(g, i, m, more, bytes);
}

/* ---- what a group says of itself ---- */

static struct bpg_group_state state_of(const struct bpg_groups *g)
{
	struct bpg_group_state s = { .domains = g->x->domains, .depth = g->x->depth, .worst = INFINITY };

	for (int k = 0; k < BPG_KINDS; k++) {
		const struct bpg_search_pool *p = &g->pool[k];
		if (!g->has[k])
			continue;
		s.waiting[k] = bpg_frontier_waiting(&p->frontier);
		s.closed[k] = p->closed;
		s.worst = fmin(s.worst, bpg_pool_worst(p));
		s.bytes += (int64_t)p->frontier.bytes;
		s.spilled += (int64_t)p->frontier.spilled_bytes;
	}
	return s;
}

static void tell_state(struct bpg_groups *g)
{
	struct message m = { .what = STATE, .state = state_of(g) };

	g->told = m.state;
	g->told_at = bpg_now();
	post(g, 0, m, NULL, 0);
}

/* Nothing is here that a failure may have left. */
static bool dry(const struct bpg_search_pool *p)
{
	return !p->busy && !bpg_pool_waiting(p) && !p->status && !p->lost && !p->x->witness.found;
}

void bpg_groups_worked(struct bpg_groups *g, const struct bpg_search_pool *p)
{
	int kind = (int)(p - g->pool);

	if (dry(p) && !g->wanting[kind]) {
		g->wanting[kind] = true;
		post(g, 0, (struct message){ .what = WANT, .kind = kind, .more = p->stuck, .state = state_of(g) }, NULL, 0);
	} else if (bpg_now() > g->told_at + state_seconds || (bpg_frontier_waiting(&p->frontier) > 1 && g->told.waiting[kind] < 2)) {
		tell_state(g); /* at once when there is something to give that was not there before */
	}
}

void bpg_groups_found(struct bpg_groups *g)
{
	const struct bpg_net *net = g->x->net;
	size_t n = (size_t)(net->in_count + net->out_count);
	float *at = bpg_calloc(n + 1, sizeof *at);

	if (!at) {
		bpg_rt_fault(g->x->rt, BPG_ENOMEM, "memory is short for a message");
		return;
	}
	memcpy(at, g->x->witness.x, (size_t)net->in_count * sizeof *at);
	memcpy(at + net->in_count, g->x->witness.y, (size_t)net->out_count * sizeof *at);
	post(g, 0, (struct message){ .what = FOUND }, at, n * sizeof *at);
	free(at);
}

/* ---- domains go ---- */

/* Every other one of those that come first, at most half of all; while a batch is at work, also the last one. */
static int spare(struct bpg_search_pool *p, struct bpg_domain **give)
{
	int64_t waiting = bpg_frontier_waiting(&p->frontier);
	int most = (int)BPG_MIN((waiting + (p->busy > 0)) / 2, (int64_t)MOST_DOMAINS), n = 0, kept = 0;
	struct bpg_domain *keep[MOST_DOMAINS], *d;
	size_t bytes = 0;

	if (p->status || p->lost || p->x->witness.found)
		return 0;
	for (bool mine = waiting > 1; n < most && bytes < most_bytes && (d = bpg_frontier_pop(&p->frontier)); mine = !mine) {
		if (mine && kept < MOST_DOMAINS) {
			keep[kept++] = d;
		} else {
			bytes += d->bytes;
			give[n++] = d;
		}
	}
	for (int i = 0; i < kept; i++)
		bpg_pool_wait(p, keep[i]);
	return n;
}

static bool write_package(struct bpg_domain **d, int count, char **data, size_t *bytes)
{
	struct bpg_sink to = { .to = open_memstream(data, bytes), .sum = BPG_HASH_START };

	if (!to.to)
		return false;
	for (int i = 0; i < count; i++)
		bpg_domain_write(&to, d[i], i ? d[i - 1] : NULL);
	return !fclose(to.to) && !to.bad;
}

/* Written without the lock: who is at work on a batch need not wait for that. */
static void give(struct bpg_groups *g, int kind, int to)
{
	struct bpg_search_pool *p = &g->pool[kind];
	struct bpg_domain *d[MOST_DOMAINS];
	char *data = NULL;
	size_t bytes = 0;

	pthread_mutex_lock(g->lock);
	int n = spare(p, d);
	pthread_mutex_unlock(g->lock);
	bool whole = !n || write_package(d, n, &data, &bytes);
	pthread_mutex_lock(g->lock);
	if (!whole) {
		for (int i = 0; i < n; i++) {
			bpg_domain_hold(d[i]);
			bpg_pool_wait(p, d[i]);
		}
		bpg_rt_fault(g->x->rt, BPG_ENOMEM, "memory is short for domains that go to another group");
	} else if (n) {
		post(g, to, (struct message){ .what = GIVE, .kind = kind, .count = n, .root = g->root }, data, bytes);
	} else {
		post(g, 0, (struct message){ .what = NONE, .kind = kind, .group = to }, NULL, 0);
	}
	tell_state(g);
	pthread_mutex_unlock(g->lock);
	for (int i = 0; i < n; i++)
		bpg_domain_drop(d[i]);
	free(data);
}

/* ---- and come ---- */

static bool take_in(struct bpg_groups *g, const struct message *m, struct bpg_source *from)
{
	struct bpg_search_pool *p = &g->pool[m->kind];
	struct bpg_domain *before = NULL;
	bool good = m->kind < BPG_KINDS && g->has[m->kind];

	for (int64_t i = 0; good && i < m->count; i++) {
		struct bpg_domain *d = bpg_domain_read(from, before);
		bpg_domain_drop(before);
		before = d;
		good = d && g->belongs(g->arg, d, m->kind);
		if (!good)
			break;
		bpg_domain_hold(d);
		if (m->root != g->root) { /* parameters belong to other bounds */
			bpg_params_drop(d->params);
			d->params = NULL;
		}
		d->number = p->made++;
		d->dived = false;
		bpg_pool_wait(p, d);
	}
	bpg_domain_drop(before);
	return good;
}

static void receive(struct bpg_groups *g, const struct message *m, const void *data, size_t bytes)
{
	struct bpg_search_pool *p = &g->pool[m->kind];
	struct bpg_source from = { .from = fmemopen((void *)data, bytes, "r"), .left = (int64_t)bytes };

	if (!from.from || !take_in(g, m, &from))
		bpg_rt_fault(g->x->rt, from.from && from.bad ? BPG_EFAULT : BPG_ENOMEM, "domains that came from another group cannot be taken in");
	if (from.from)
		fclose(from.from);
	g->wanting[m->kind] = false;
	g->x->moved += m->count;
	pthread_cond_broadcast(&p->changed);
}

/* ---- the books ---- */

/* One that wants is given to by the group with most, as far as is known. */
static void match(struct bpg_groups *g, int kind)
{
	for (int to = 0; to < g->count; to++) {
		int from = -1;
		if (!g->books[to].wants[kind])
			continue;
		for (int i = 0; i < g->count; i++)
			if (g->books[i].waiting[kind] > 0 && !g->books[i].wants[kind] && (from < 0 || g->books[i].waiting[kind] > g->books[from].waiting[kind]))
				from = i;
		if (from < 0)
			return;
		g->books[from].waiting[kind] /= 2;
		g->books[to].wants[kind] = false;
		post(g, from, (struct message){ .what = ASK, .kind = kind, .group = to }, NULL, 0);
	}
}

static void end(struct bpg_groups *g, enum bpg_search_end how, const void *witness, size_t bytes);

/* All want: nothing is left. */
static void settle(struct bpg_groups *g, int kind)
{
	bool stuck = false;

	for (int i = 0; i < g->count; i++) {
		if (!g->books[i].wants[kind])
			return;
		stuck |= g->books[i].stuck[kind];
	}
	g->done[kind] = true;
	if (!stuck)
		end(g, BPG_SEARCH_PROVED, NULL, 0);
	else if (g->has[!kind] && !g->done[!kind]) /* it may have a way out */
		bpg_groups_alone(g, !kind);
	else
		end(g, BPG_SEARCH_OPEN, NULL, 0);
}

static void note(struct bpg_groups *g, int group, const struct message *m)
{
	struct bpg_search *x = g->x;
	struct bpg_group_state all = { .worst = INFINITY };

	g->books[group].state = m->state;
	for (int k = 0; k < BPG_KINDS; k++)
		g->books[group].waiting[k] = m->state.waiting[k];
	for (int i = 0; i < g->count; i++) {
		const struct bpg_group_state *s = &g->books[i].state;
		all.domains += s->domains;
		all.depth = BPG_MAX(all.depth, s->depth);
		all.bytes += s->bytes;
		all.spilled += s->spilled;
		all.worst = fmin(all.worst, s->worst);
		for (int k = 0; k < BPG_KINDS; k++)
			if (g->alone < 0 || g->alone == k)
				all.waiting[0] += s->waiting[k];
	}
	if (x->progress)
		x->progress(x->progress_arg, all.domains, all.waiting[0], all.worst, (int)all.depth, (size_t)all.bytes, (size_t)all.spilled);
}

double bpg_groups_closed(const struct bpg_groups *g, int kind)
{
	double sum = 0;

	for (int i = 0; i < g->count; i++)
		sum += g->books[i].state.closed[kind];
	return sum;
}

/* ---- ends ---- */

static void stop_pools(struct bpg_groups *g, int but)
{
	for (int k = 0; k < BPG_KINDS; k++)
		if (g->has[k] && k != but) {
			g->pool[k].stop = true;
			pthread_cond_broadcast(&g->pool[k].changed);
		}
}

static void set_alone(struct bpg_groups *g, int kind)
{
	g->alone = kind;
	stop_pools(g, kind);
}

void bpg_groups_alone(struct bpg_groups *g, int kind)
{
	set_alone(g, kind);
	post_to_others(g, (struct message){ .what = ALONE, .kind = kind }, NULL, 0);
}

/* The witness: inputs, then outputs. */
static void set_end(struct bpg_groups *g, enum bpg_search_end how, const float *witness)
{
	struct bpg_search *x = g->x;

	g->over = true;
	g->end = how;
	if (how == BPG_SEARCH_FOUND && !x->witness.found) {
		memcpy(x->witness.x, witness, (size_t)x->net->in_count * sizeof *witness);
		memcpy(x->witness.y, witness + x->net->in_count, (size_t)x->net->out_count * sizeof *witness);
		x->witness.found = true;
	}
	stop_pools(g, -1);
}

static void end(struct bpg_groups *g, enum bpg_search_end how, const void *witness, size_t bytes)
{
	if (g->over)
		return;
	set_end(g, how, witness);
	post_to_others(g, (struct message){ .what = OVER, .more = (int32_t)how }, witness, bytes);
}

/* ---- letters ---- */

static void keep_books(struct bpg_groups *g, int from, const struct message *m, const void *more, size_t bytes)
{
	struct bpg_group_books *b = &g->books[m->what == NONE ? m->group : from];

	switch (m->what) {
	case WANT:
		note(g, from, m);
		b->stuck[m->kind] = m->more;
		/* fallthrough */
	case NONE:
		b->wants[m->kind] = true;
		if (m->what == NONE)
			g->books[from].waiting[m->kind] = 0;
		settle(g, m->kind);
		break;
	case STATE:
		note(g, from, m);
		break;
	default:
		end(g, BPG_SEARCH_FOUND, more, bytes);
	}
	for (int k = 0; k < BPG_KINDS && !g->over; k++)
		match(g, k);
}

static bool listen(void *arg, int from, const void *data, size_t bytes)
{
	struct bpg_groups *g = arg;
	const char *more = (const char *)data + sizeof(struct message);
	struct message m;

	memcpy(&m, data, sizeof m);
	if (m.search != g->search) /* nobody waits for what is left of an earlier one; a later one has not begun here */
		return m.search < g->search;
	if (m.what == ASK) {
		give(g, m.kind, m.group);
		return true;
	}
	pthread_mutex_lock(g->lock);
	if (m.what == GIVE)
		receive(g, &m, more, bytes - sizeof m);
	else if (m.what == ALONE)
		set_alone(g, m.kind);
	else if (m.what == OVER)
		set_end(g, (enum bpg_search_end)m.more, (const float *)more);
	else
		keep_books(g, from, &m, more, bytes - sizeof m);
	pthread_mutex_unlock(g->lock);
	return true;
}

enum bpg_status bpg_groups_begin(struct bpg_ctx *ctx, struct bpg_groups *g)
{
	if (g->mine == 0) {
		g->books = bpg_calloc((size_t)g->count, sizeof *g->books);
		if (!g->books)
			return bpg_nomem(ctx, "the groups of a search");
	}
	for (int k = 0; k < BPG_KINDS; k++) {
		g->wanting[k] = g->mine != 0;
		for (int i = 1; g->books && i < g->count; i++)
			g->books[i].wants[k] = g->has[k];
	}
	bpg_comm_listen(listen, g);
	pthread_mutex_lock(g->lock);
	tell_state(g);
	pthread_mutex_unlock(g->lock);
	return BPG_OK;
}

void bpg_groups_end(struct bpg_groups *g)
{
	bpg_comm_listen(NULL, NULL);
	free(g->books);
}
