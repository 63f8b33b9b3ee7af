/* search.c - which kind of cut a search uses, by measured progress; its state in checkpoints. See search.h. */
#include "bab/search.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bab/checkpoint.h"
#include "bab/groups.h"
#include "bab/pool.h"
#include "bab/questions.h"
#include "bab/spill.h"

/* Both kinds run for a slice each, slices double, and the one that has closed more a second goes on alone after some. */
static const double first_slice = 0.5;
enum { SLICES = 3, FEW_INPUTS = 8, KINDS = BPG_KINDS };

struct bpg_searching {
	struct bpg_search *x;
	struct bpg_model *root;
	uint64_t root_hash;
	int64_t first, last;      /* disjuncts of the box: first .. last - 1 */
	pthread_mutex_t lock;     /* of both pools, and of what follows */
	struct bpg_search_pool pool[KINDS]; /* splits of neurons, boxes */
	bool has[KINDS];
	int turn;                 /* slices that have been run */
	int alone;                /* the kind that goes on; -1: not decided */
};

static double rate(const struct bpg_search_pool *p)
{
	return p->closed / fmax(p->seconds, 1e-3);
}

/* Where one is clear from the start: with very few inputs boxes shrink fast. */
static bool boxes_alone(const struct bpg_search *x, const struct bpg_box *box)
{
	int64_t moving = 0;

	for (int64_t i = 0; i < x->net->in_count; i++)
		moving += box->lo[i] < box->up[i];
	return moving <= FEW_INPUTS;
}

static enum bpg_search_end end_of(const struct bpg_search *x, const struct bpg_search_pool *p)
{
	return x->witness.found ? BPG_SEARCH_FOUND : p->stuck ? BPG_SEARCH_OPEN : BPG_SEARCH_PROVED;
}

/* ---- snapshots ---- */

/* What a checkpoint says of a pool before its domains. */
struct pool_record {
	int64_t has, made, stuck, count, contracted, gained, batches;
	double closed, seconds, left;
};

struct search_record {
	int64_t first, last, turn, alone, domains, depth;
	uint64_t root;            /* hash of the root's bounds, which parameters belong to; 0: none */
};

struct bpg_snapshot {
	struct search_record search;
	struct pool_record pool[KINDS];
	struct bpg_domain **domain[KINDS];
	int64_t domains[KINDS];   /* in memory; the rest of the pool's are in chunks */
	struct bpg_chunk **chunk[KINDS];
	int64_t chunks[KINDS];
};

static int by_number(const void *a, const void *b)
{
	const struct bpg_domain *const *x = a, *const *y = b;

	return ((*x)->number > (*y)->number) - ((*x)->number < (*y)->number);
}

/* Chunks never change: to hold them is to have them. */
static bool take_chunks(struct bpg_snapshot *shot, int k, struct bpg_chunk *const *chunk, int64_t chunks)
{
	shot->chunk[k] = bpg_calloc((size_t)chunks + 1, sizeof(struct bpg_chunk *));
	for (int64_t i = 0; shot->chunk[k] && i < chunks; i++)
		bpg_chunk_hold(shot->chunk[k][shot->chunks[k]++] = chunk[i]);
	return shot->chunk[k];
}

struct bpg_snapshot *bpg_snapshot_take(struct bpg_searching *s)
{
	struct bpg_snapshot *shot = bpg_calloc(1, sizeof *shot);
	bool whole = shot;

	if (!shot)
		return NULL;
	pthread_mutex_lock(&s->lock);
	shot->search = (struct search_record){ .first = s->first, .last = s->last, .turn = s->turn, .alone = s->alone, .domains = s->x->domains,
		                               .depth = s->x->depth, .root = s->root_hash };
	for (int k = 0; k < KINDS && whole; k++) {
		const struct bpg_search_pool *p = &s->pool[k];
		shot->pool[k] = (struct pool_record){ .has = s->has[k], .made = p->made, .stuck = p->stuck, .closed = p->closed, .seconds = p->seconds, .left = p->left,
			                           .contracted = p->contracted, .gained = p->gained, .batches = p->batches };
		if (s->has[k])
			whole = !p->lost && (shot->domain[k] = bpg_pool_all(p, &shot->domains[k])) && take_chunks(shot, k, p->frontier.chunk, p->frontier.chunks);
		shot->pool[k].count = shot->domains[k] + p->frontier.spilled;
	}
	pthread_mutex_unlock(&s->lock);
	/* Children of one parent, which have the same parameters, follow each other. */
	for (int k = 0; k < KINDS; k++)
		if (shot->domain[k])
			qsort(shot->domain[k], (size_t)shot->domains[k], sizeof(struct bpg_domain *), by_number);
	if (whole)
		return shot;
	bpg_snapshot_free(shot);
	return NULL;
}

static void write_chunk(struct bpg_sink *to, const struct bpg_chunk *c)
{
	struct bpg_domain **d = bpg_calloc((size_t)c->count, sizeof *d);

	if (d && bpg_chunk_read(c, d)) {
		for (int64_t i = 0; i < c->count; i++)
			bpg_domain_write(to, d[i], i ? d[i - 1] : NULL);
		for (int64_t i = 0; i < c->count; i++)
			bpg_domain_drop(d[i]);
	} else {
		to->bad = true;
		errno = d ? EIO : ENOMEM;
	}
	free(d);
}

void bpg_snapshot_write(struct bpg_sink *to, const struct bpg_snapshot *shot)
{
	bpg_put(to, &shot->search, sizeof shot->search);
	for (int k = 0; k < KINDS; k++) {
		bpg_put(to, &shot->pool[k], sizeof shot->pool[k]);
		for (int64_t i = 0; i < shot->domains[k]; i++)
			bpg_domain_write(to, shot->domain[k][i], i ? shot->domain[k][i - 1] : NULL);
		for (int64_t i = 0; i < shot->chunks[k]; i++)
			write_chunk(to, shot->chunk[k][i]);
	}
}

struct bpg_snapshot *bpg_snapshot_copy(const struct bpg_snapshot *from)
{
	struct bpg_snapshot *shot = bpg_calloc(1, sizeof *shot);
	bool whole = true;

	if (!shot)
		return NULL;
	*shot = *from;
	for (int k = 0; k < KINDS; k++) {
		shot->chunks[k] = 0;
		whole &= take_chunks(shot, k, from->chunk[k], from->chunks[k]);
		shot->domain[k] = bpg_calloc((size_t)from->domains[k] + 1, sizeof(struct bpg_domain *));
		for (int64_t i = 0; shot->domain[k] && i < from->domains[k]; i++)
			bpg_domain_hold(shot->domain[k][i] = from->domain[k][i]);
		whole &= shot->domain[k] != NULL;
	}
	if (whole)
		return shot;
	bpg_snapshot_free(shot);
	return NULL;
}

/* Domains come in order of their numbers, at most as many as the file has bytes for. */
static void read_pool(struct bpg_source *from, struct bpg_snapshot *shot, int k)
{
	struct pool_record r;

	if (!bpg_get(from, &r, sizeof r) || !bpg_get_room(from, r.count, sizeof(double)))
		return;
	shot->pool[k] = r;
	shot->pool[k].count = 0;
	shot->domain[k] = bpg_calloc((size_t)r.count + 1, sizeof(struct bpg_domain *));
	for (int64_t i = 0; shot->domain[k] && !from->bad && i < r.count; i++) {
		shot->domain[k][i] = bpg_domain_read(from, i ? shot->domain[k][i - 1] : NULL);
		if (!shot->domain[k][i])
			break;
		shot->domains[k] = ++shot->pool[k].count;
	}
	from->short_of_memory |= !from->bad && shot->pool[k].count < r.count;
}

enum bpg_status bpg_snapshot_read(struct bpg_ctx *ctx, struct bpg_source *from, struct bpg_snapshot **out)
{
	struct bpg_snapshot *shot = *out = bpg_calloc(1, sizeof *shot);

	if (!shot)
		return bpg_nomem(ctx, "the search of a checkpoint");
	bpg_get(from, &shot->search, sizeof shot->search);
	for (int k = 0; k < KINDS; k++)
		read_pool(from, shot, k);
	return from->short_of_memory ? bpg_nomem(ctx, "the search of a checkpoint") : BPG_OK;
}

void bpg_snapshot_free(struct bpg_snapshot *shot)
{
	for (int k = 0; shot && k < KINDS; k++) {
		for (int64_t i = 0; shot->domain[k] && i < shot->domains[k]; i++)
			bpg_domain_drop(shot->domain[k][i]);
		for (int64_t i = 0; i < shot->chunks[k]; i++)
			bpg_chunk_drop(shot->chunk[k][i]);
		free(shot->domain[k]);
		free(shot->chunk[k]);
	}
	free(shot);
}

/* Does the domain belong to this search? The sum of the file says that it was written so, not what this program was asked. */
static bool belongs(const struct bpg_searching *s, const struct bpg_domain *d, int kind)
{
	for (int i = 0; i < d->opens; i++)
		if (d->open[i] < s->first || d->open[i] >= s->last)
			return false;
	if (kind)
		return d->n == s->x->net->in_count;
	for (int i = 0; i < d->splits; i++) {
		const struct bpg_split *q = &d->split[i];
		if (d->n || q->node >= s->root->nodes || s->root->node[q->node].hop.kind != BPG_HOP_UNARY || q->element < 0
		    || q->element >= s->root->node[s->root->node[q->node].src[0]].columns.n)
			return false;
	}
	return !d->n && d->rows == bpg_questions(&s->x->spec->disjunct[d->open[0]]);
}

static bool restore_pool(struct bpg_searching *s, int kind, const struct bpg_snapshot *shot)
{
	const struct pool_record *r = &shot->pool[kind];
	struct bpg_search_pool *p = &s->pool[kind];
	bool same_root = shot->search.root == s->root_hash;

	if (!r->has)
		return true;
	if (!s->has[kind])
		return false;
	while (p->frontier.count)
		bpg_domain_drop(bpg_frontier_pop(&p->frontier));
	for (int64_t i = 0; i < r->count; i++) {
		struct bpg_domain *d = shot->domain[kind][i];
		if (!belongs(s, d, kind))
			return false;
		if (!same_root) { /* parameters belong to other bounds: sizes may differ */
			bpg_params_drop(d->params);
			d->params = NULL;
		}
		bpg_domain_hold(d);
		bpg_pool_wait(p, d);
	}
	p->made = r->made;
	p->stuck = r->stuck != 0;
	p->closed = r->closed;
	p->seconds = r->seconds;
	p->left = r->left;
	p->contracted = r->contracted;
	p->gained = r->gained;
	p->batches = r->batches;
	return true;
}

static enum bpg_status restore(struct bpg_ctx *ctx, struct bpg_searching *s)
{
	const struct bpg_snapshot *shot = *s->x->resume;
	const struct search_record *r = &shot->search;
	bool right = r->first == s->first && r->last == s->last && r->turn >= 0 && r->alone >= -1 && r->alone < KINDS && (r->alone < 0 || s->has[r->alone]);

	for (int k = 0; k < KINDS && right; k++)
		right = restore_pool(s, k, shot);
	if (!right)
		return bpg_fail(ctx, BPG_EFILE, "the checkpoint holds no search of this property; start without it");
	s->turn = (int)BPG_MIN(r->turn, (int64_t)KINDS * SLICES);
	s->alone = (int)r->alone;
	s->x->domains = r->domains;
	s->x->depth = (int)r->depth;
	return BPG_OK;
}

/* ---- the search ---- */

/* Runs one kind alone, from now on. */
static struct bpg_search_pool *run_alone(struct bpg_searching *s, int kind)
{
	pthread_mutex_lock(&s->lock);
	s->alone = kind;
	pthread_mutex_unlock(&s->lock);
	bpg_search_run(&s->pool[kind], 0);
	return &s->pool[kind];
}

/* The pool that says how the search ended. */
static struct bpg_search_pool *run(struct bpg_searching *s)
{
	bool both = s->has[0] && s->has[1];
	struct bpg_search_pool *p;

	for (; both && !s->x->synchronous && s->alone < 0 && s->turn < KINDS * SLICES;) {
		p = &s->pool[s->turn % KINDS];
		bpg_search_run(p, bpg_now() + ldexp(first_slice, s->turn / KINDS));
		if (bpg_pool_done(p) && !p->stuck)
			return p;
		pthread_mutex_lock(&s->lock);
		s->turn++;
		pthread_mutex_unlock(&s->lock);
	}
	p = run_alone(s, s->alone >= 0 ? s->alone : !s->has[0] || (both && rate(&s->pool[1]) > rate(&s->pool[0])));
	if (both && p->stuck && !s->x->witness.found && !p->status) /* the other may have a way out */
		p = run_alone(s, p == &s->pool[0]);
	return p;
}

/* ---- with other groups ---- */

static bool belongs_here(const void *arg, const struct bpg_domain *d, int kind)
{
	return belongs(arg, d, kind);
}

/* The kind to run next, and until when; -1: the search is over, or has failed here. Group 0 chooses the kind that goes on alone. */
static int next_kind(struct bpg_searching *s, struct bpg_groups *g, double *until)
{
	bool both = s->has[0] && s->has[1];

	pthread_mutex_lock(&s->lock);
	bool leave = g->over || s->pool[0].status || s->pool[1].status || bpg_rt_stopped(s->x->rt);
	if (!leave && g->mine == 0 && g->alone < 0 && (!both || s->turn >= KINDS * SLICES))
		bpg_groups_alone(g, !s->has[0] || (both && bpg_groups_closed(g, 1) / fmax(s->pool[1].seconds, 1e-3) > bpg_groups_closed(g, 0) / fmax(s->pool[0].seconds, 1e-3)));
	int kind = leave ? -1 : g->alone >= 0 ? g->alone : both ? s->turn % KINDS : !s->has[0];
	pthread_mutex_unlock(&s->lock);
	*until = both && g->alone < 0 ? bpg_now() + ldexp(first_slice, BPG_MIN(s->turn / KINDS, (int)SLICES)) : 0;
	s->turn++;
	return kind;
}

/* The witness is known before the end is: the others have to be told. */
static void wait_for_end(struct bpg_searching *s, struct bpg_groups *g)
{
	pthread_mutex_lock(&s->lock);
	while (s->x->witness.found && !g->over && !bpg_rt_stopped(s->x->rt))
		bpg_cond_wait_for(&s->pool[s->has[0] ? 0 : 1].changed, &s->lock, 0.01);
	pthread_mutex_unlock(&s->lock);
}

static enum bpg_status run_with_others(struct bpg_ctx *ctx, struct bpg_searching *s, enum bpg_search_end *end)
{
	struct bpg_search *x = s->x;
	struct bpg_groups g = { .x = x, .mine = x->group, .count = x->groups, .search = x->number, .root = s->root_hash, .pool = s->pool, .has = s->has,
		                .lock = &s->lock, .belongs = belongs_here, .arg = s, .alone = -1 };
	double until;

	for (int k = 0; k < KINDS; k++) {
		s->pool[k].groups = &g;
		while (x->group && s->pool[k].frontier.count) /* the first group's */
			bpg_domain_drop(bpg_frontier_pop(&s->pool[k].frontier));
	}
	BPG_TRY(bpg_groups_begin(ctx, &g));
	for (int k; (k = next_kind(s, &g, &until)) >= 0;) {
		bpg_search_run(&s->pool[k], until);
		wait_for_end(s, &g);
	}
	bpg_groups_end(&g);
	for (int k = 0; k < KINDS; k++)
		s->pool[k].groups = NULL;
	*end = g.over ? g.end : BPG_SEARCH_OPEN;
	if (g.over)
		return BPG_OK;
	bpg_saver_last(x->saver);
	for (int k = 0; k < KINDS; k++)
		if (s->pool[k].status)
			return bpg_fail(ctx, s->pool[k].status, "%s", s->pool[k].message);
	return bpg_rt_wait(x->rt, ctx);
}

enum bpg_status bpg_search_box(struct bpg_ctx *ctx, struct bpg_search *x, struct bpg_model *root, const int32_t *open, int opens,
                               struct bpg_arena *arena, enum bpg_search_end *end)
{
	const struct bpg_box *box = x->spec->disjunct[open[0]].box;
	bool boxes = (x->branching == BPG_BRANCHING_AUTO || x->branching == BPG_BRANCHING_INPUT) && bpg_boxes_suit(x->net, box);
	bool neurons = root && x->branching != BPG_BRANCHING_INPUT && bpg_neurons_suit(root);
	enum bpg_status st = BPG_OK;

	*end = BPG_SEARCH_OPEN;
	x->worst = -INFINITY;
	if (!boxes && !neurons)
		return BPG_OK;
	if (x->branching == BPG_BRANCHING_AUTO && boxes && boxes_alone(x, box))
		neurons = false;
	x->witness = (struct bpg_witness){ .x = bpg_arena_alloc(arena, (size_t)x->net->in_count + 1, sizeof(float)),
		                           .y = bpg_arena_alloc(arena, (size_t)x->net->out_count + 1, sizeof(float)) };
	if (!x->witness.x || !x->witness.y)
		return bpg_nomem(ctx, "the search");
	struct bpg_searching s = { .x = x, .root = root, .first = open[0], .last = open[opens - 1] + 1, .has = { neurons, boxes }, .alone = -1,
		                      .root_hash = neurons && (x->saver || x->resume || x->groups > 1) ? bpg_model_hash(root) : 0 };
	pthread_mutex_init(&s.lock, NULL);
	for (int k = 0; k < KINDS; k++)
		s.pool[k] = (struct bpg_search_pool){ .x = x, .whole = box, .lock = &s.lock };
	if (neurons)
		BPG_TRY_TO(bpg_neurons_begin(ctx, &s.pool[0], root, open, opens), out);
	if (boxes)
		BPG_TRY_TO(bpg_boxes_begin(ctx, &s.pool[1], open, opens), out);
	if (x->resume && *x->resume)
		BPG_TRY_TO(restore(ctx, &s), out);
	bpg_saver_search(x->saver, &s);
	if (x->resume) {
		bpg_snapshot_free(*x->resume);
		*x->resume = NULL;
	}
	if (x->groups > 1) {
		st = run_with_others(ctx, &s, end);
		x->worst = fmin(bpg_pool_worst(&s.pool[0]), bpg_pool_worst(&s.pool[1]));
		goto out;
	}
	struct bpg_search_pool *last = run(&s);
	*end = end_of(x, last);
	x->worst = fmin(last->left, bpg_pool_worst(last));
	if (last->status && !x->witness.found) {
		bpg_saver_last(x->saver);
		st = bpg_fail(ctx, last->status, "%s", last->message);
	}
out:
	bpg_saver_search(x->saver, NULL);
	x->frontier_peak = BPG_MAX(s.pool[0].frontier.peak, s.pool[1].frontier.peak);
	bpg_pool_fini(&s.pool[0]);
	bpg_pool_fini(&s.pool[1]);
	pthread_mutex_destroy(&s.lock);
	return st;
}
