/* search.c - see search.h. */
#include "bab/search.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "bab/clip.h"
#include "bab/frontier.h"
#include "bab/decide.h"
#include "graph/crown.h"

enum {
	BATCH = 64,               /* domains of a batch that share tasks, at most */
	BATCH_ELEMENTS = 1 << 18, /* and their bounded elements, in all */
	DRIVERS = 3,              /* batches in flight */
	MOST_INPUTS = 64,         /* that move */
	CLIPS = 2,                /* rounds over the rows of a disjunct */
};

/* What the drivers share; lock guards all of it. */
struct pool {
	struct bpg_search *x;
	const struct bpg_disjunct *disjunct; /* [spec] */
	const struct bpg_box *whole;
	bool together;            /* a batch is one model of several segments */
	int batch;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct bpg_frontier frontier;
	int busy;                 /* drivers at work on domains */
	bool stop, stuck;         /* nothing more is begun; a domain could not be cut */
	int64_t made;
	enum bpg_status status;   /* the first failure */
	char message[512];
	double left;              /* least bound of the domains given up */
};

/* A driver's own things. */
struct driver {
	struct pool *p;
	struct bpg_ctx *ctx;
	struct bpg_group *group;
	struct bpg_arena *arena;  /* of a batch */
};

bool bpg_search_suits(const struct bpg_net *net, const struct bpg_box *box)
{
	int64_t moving = 0;

	for (int64_t i = 0; i < net->in_count; i++) {
		if (!isfinite(box->lo[i]) || !isfinite(box->up[i]))
			return false;
		moving += box->lo[i] < box->up[i];
	}
	return moving <= MOST_INPUTS;
}

/* ---- one domain behind its bounds ---- */

/* What a batch found out about one domain. */
struct bounds {
	const double *lower;      /* [rows] */
	const double *plane;      /* [rows][n + 1] coefficients and constant, about centre */
	const double *centre;     /* [n] */
	const int *first;         /* [open] first row of each of its open disjuncts */
};

static bool refuted(const struct bpg_disjunct *d, const double *lower)
{
	for (int r = 0; r < d->rows; r++)
		if (lower[r] > 0 || (lower[r] == 0 && d->row[r].strict))
			return true;
	return false;
}

static double best_of(const struct bpg_disjunct *d, const double *lower, int *row)
{
	*row = 0;
	for (int r = 1; r < d->rows; r++)
		if (lower[r] > lower[*row])
			*row = r;
	return lower[*row];
}

/* The part of the box where all rows of the disjunct may be <= 0; false: none. */
static bool clip(const struct bpg_disjunct *d, int64_t n, const double *plane, const double *centre, double *lo, double *up)
{
	for (int round = 0; round < CLIPS; round++)
		for (int r = 0; r < d->rows; r++)
			if (!bpg_clip(n, plane + r * (n + 1), centre, plane[r * (n + 1) + n], lo, up))
				return false;
	return true;
}

/* Leaves the disjuncts that are open and the hull of where they are; false: none is. */
static bool shrink(const struct pool *p, struct bpg_domain *d, const struct bounds *b, double *scratch, int *first)
{
	int64_t n = d->n;
	double *lo = scratch, *up = lo + n, *hull_lo = up + n, *hull_up = hull_lo + n, bound = INFINITY;
	int opens = 0, row;

	for (int i = 0; i < d->opens; i++) {
		const struct bpg_disjunct *q = &p->disjunct[d->open[i]];
		const double *lower = b->lower + b->first[i];

		if (refuted(q, lower))
			continue;
		memcpy(lo, d->lo, (size_t)n * sizeof *lo);
		memcpy(up, d->up, (size_t)n * sizeof *up);
		if (!clip(q, n, b->plane + b->first[i] * (n + 1), b->centre, lo, up))
			continue;
		for (int64_t j = 0; j < n; j++) {
			hull_lo[j] = opens ? BPG_MIN(hull_lo[j], lo[j]) : lo[j];
			hull_up[j] = opens ? BPG_MAX(hull_up[j], up[j]) : up[j];
		}
		bound = fmin(bound, best_of(q, lower, &row));
		first[opens] = b->first[i];
		d->open[opens++] = d->open[i];
	}
	d->opens = opens;
	d->bound = bound;
	if (!opens)
		return false;
	memcpy(d->lo, hull_lo, (size_t)n * sizeof *lo);
	memcpy(d->up, hull_up, (size_t)n * sizeof *up);
	return true;
}

/* Input along which the best rows of the open disjuncts vary most; -1: none can be cut. */
static int64_t choose(const struct pool *p, const struct bpg_domain *d, const struct bounds *b, const int *first)
{
	int64_t at = -1;
	double most = -1;

	for (int64_t j = 0; j < d->n; j++) {
		double width = d->up[j] - d->lo[j], mid = d->lo[j] + width / 2, score = 0;
		if (!(mid > d->lo[j] && mid < d->up[j]))
			continue;
		for (int i = 0; i < d->opens; i++) {
			int row;
			best_of(&p->disjunct[d->open[i]], b->lower + first[i], &row);
			const double *a = b->plane + (first[i] + row) * (d->n + 1);
			double largest = 0;
			for (int64_t k = 0; k < d->n; k++)
				largest = fmax(largest, fabs(a[k]));
			/* A row that does not depend on an input may still depend on where the relaxations are loose. */
			score = fmax(score, fmax(fabs(a[j]), 0.01 * largest) * width);
		}
		score = isfinite(score) ? score : width;
		if (score > most || at < 0)
			most = score, at = j;
	}
	return at;
}

/* Tries the point where the worst open disjunct's best row is least. */
static bool try_corner(struct driver *v, const struct bpg_domain *d, const struct bounds *b, const int *first)
{
	struct pool *p = v->p;
	const struct bpg_net *net = p->x->net;
	float *x = bpg_arena_alloc(v->arena, (size_t)(net->in_count + net->out_count) + 1, sizeof *x), *y = x + net->in_count;
	int worst = 0, row;
	double least = INFINITY;

	if (!x)
		return false;
	for (int i = 0; i < d->opens; i++) {
		double at = best_of(&p->disjunct[d->open[i]], b->lower + first[i], &row);
		if (at < least)
			least = at, worst = i;
	}
	best_of(&p->disjunct[d->open[worst]], b->lower + first[worst], &row);
	const double *a = b->plane + (first[worst] + row) * (d->n + 1);
	for (int64_t j = 0; j < d->n; j++)
		x[j] = bpg_inside(a[j] > 0 ? d->lo[j] : a[j] < 0 ? d->up[j] : d->lo[j] + (d->up[j] - d->lo[j]) / 2, p->whole->in_lo[j], p->whole->in_up[j]);
	if (bpg_witness_try(v->ctx, net, p->x->spec, x, y) <= 0)
		return false;
	pthread_mutex_lock(&p->lock);
	if (!p->x->witness.found) {
		memcpy(p->x->witness.x, x, (size_t)net->in_count * sizeof *x);
		memcpy(p->x->witness.y, y, (size_t)net->out_count * sizeof *y);
		p->x->witness.found = true;
	}
	p->stop = true;
	pthread_cond_broadcast(&p->changed);
	pthread_mutex_unlock(&p->lock);
	return true;
}

static struct bpg_domain *half(const struct bpg_domain *d, int64_t at, bool upper)
{
	struct bpg_domain *c = bpg_domain_new(d->n, d->opens);
	double mid = d->lo[at] + (d->up[at] - d->lo[at]) / 2;

	if (!c)
		return NULL;
	memcpy(c->lo, d->lo, (size_t)d->n * sizeof *c->lo);
	memcpy(c->up, d->up, (size_t)d->n * sizeof *c->up);
	memcpy(c->open, d->open, (size_t)d->opens * sizeof *c->open);
	c->bound = d->bound;
	c->depth = d->depth + 1;
	(upper ? c->lo : c->up)[at] = mid;
	return c;
}

/* ---- a batch ---- */

/* Rows of all disjuncts that are open on some domain of the batch; at[disjunct]: its first row. */
static struct bpg_question_row *batch_rows(struct driver *v, struct bpg_domain *const *d, int count, int *at, int64_t *rows)
{
	const struct pool *p = v->p;
	struct bpg_question_row *row = NULL;
	int64_t n = 0;

	for (int pass = 0; pass < 2; pass++) {
		if (pass && !(row = bpg_arena_alloc(v->arena, (size_t)n + 1, sizeof *row)))
			return NULL;
		n = 0;
		for (int i = 0; i < count; i++)
			for (int k = 0; k < d[i]->opens; k++)
				at[d[i]->open[k]] = -1;
		for (int i = 0; i < count; i++)
			for (int k = 0; k < d[i]->opens; k++) {
				int q = d[i]->open[k];
				if (at[q] >= 0)
					continue;
				at[q] = (int)n;
				if (pass)
					bpg_decide_rows(&p->disjunct[q], row + n);
				n += p->disjunct[q].rows;
			}
	}
	*rows = n;
	return row;
}

/* Bounds of domains d[0..count), as one model when they are several. */
static enum bpg_status bound_domains(struct driver *v, struct bpg_domain *const *d, int count, const struct bpg_question_row *row, int64_t rows,
                                     double *lower, double *plane, double *centre)
{
	struct pool *p = v->p;
	const struct bpg_net *net = p->x->net;
	struct bpg_bound_options o = p->x->bound;
	struct bpg_region *region = bpg_arena_alloc(v->arena, (size_t)count, sizeof *region);
	double *upper = bpg_arena_alloc(v->arena, (size_t)(count * rows) + 1, sizeof *upper);
	struct bpg_model *m;
	enum bpg_status st;

	if (!region || !upper)
		return bpg_nomem(v->ctx, "a batch of domains");
	for (int i = 0; i < count; i++)
		region[i] = (struct bpg_region){ .n = net->in_count, .lo = d[i]->lo, .up = d[i]->up };
	o.segments = count;
	o.group = v->group;
	o.input_planes = plane;
	o.iterations = 0;
	o.sides = 1;
	o.progress = NULL;
	BPG_TRY(bpg_model_new(v->ctx, net, p->x->rt, region, &o, &m));
	st = bpg_bounds(v->ctx, m, row, rows, lower, upper);
	for (int i = 0; !st && i < count; i++)
		for (int k = 0; k < m->nodes; k++) {
			const struct bpg_model_node *in = &m->node[k];
			if (in->hop.kind == BPG_HOP_INPUT)
				memcpy(centre + i * net->in_count + net->in_first[in->net->input], bpg_segment_field(in, BPG_CENTRE, i),
				       (size_t)in->columns.n * sizeof *centre);
		}
	pthread_mutex_lock(&p->lock);
	p->x->tasks += m->steps;
	pthread_mutex_unlock(&p->lock);
	bpg_model_free(m);
	return st;
}

/* Bounds a batch and decides on each domain; the children of those that stay open are in child[0..*children). Domains are
 * freed. */
static enum bpg_status work_on(struct driver *v, struct bpg_domain **d, int count, struct bpg_domain **child, int *children)
{
	struct pool *p = v->p;
	int64_t n = p->x->net->in_count, rows;
	int *at = bpg_arena_alloc(v->arena, (size_t)p->x->spec->disjuncts + 1, sizeof *at);
	double *scratch = bpg_arena_alloc(v->arena, (size_t)(4 * n) + 1, sizeof *scratch);
	struct bpg_question_row *row = at ? batch_rows(v, d, count, at, &rows) : NULL;
	double *lower = row ? bpg_arena_alloc(v->arena, (size_t)(count * rows) + 1, sizeof *lower) : NULL;
	double *plane = row ? bpg_arena_alloc(v->arena, (size_t)(count * rows * (n + 1)) + 1, sizeof *plane) : NULL;
	double *centre = bpg_arena_alloc(v->arena, (size_t)(count * n) + 1, sizeof *centre);
	enum bpg_status st = BPG_OK;

	*children = 0;
	if (!scratch || !lower || !plane || !centre)
		return bpg_nomem(v->ctx, "a batch of domains");
	for (int i = 0, k; !st && i < count; i += k) {
		k = p->together ? count : 1;
		st = bound_domains(v, d + i, k, row, rows, lower + i * rows, plane + i * rows * (n + 1), centre + i * n);
	}
	for (int i = 0; !st && i < count; i++) {
		int *first = bpg_arena_alloc(v->arena, (size_t)(2 * d[i]->opens) + 1, sizeof *first), *left = first ? first + d[i]->opens : NULL;
		struct bounds b = { lower + i * rows, plane + i * rows * (n + 1), centre + i * n, first };

		if (!first)
			return bpg_nomem(v->ctx, "a batch of domains");
		for (int k = 0; k < d[i]->opens; k++)
			first[k] = at[d[i]->open[k]];
		if (!shrink(p, d[i], &b, scratch, left))
			continue;
		if (try_corner(v, d[i], &b, left))
			break;
		int64_t cut = choose(p, d[i], &b, left);
		if (cut < 0) {
			pthread_mutex_lock(&p->lock);
			p->stuck = true;
			p->left = fmin(p->left, d[i]->bound);
			pthread_mutex_unlock(&p->lock);
			continue;
		}
		for (int s = 0; s < 2; s++) {
			struct bpg_domain *c = half(d[i], cut, s);
			if (!c)
				return bpg_nomem(v->ctx, "a domain");
			child[(*children)++] = c;
		}
	}
	return st;
}

/* ---- drivers ---- */

static void fail(struct pool *p, enum bpg_status st, const char *message)
{
	if (!p->status) {
		p->status = st;
		snprintf(p->message, sizeof p->message, "%s", message);
	}
	p->stop = true;
}

/* The next domains; 0: the search has ended. */
static int take(struct pool *p, struct bpg_domain **d)
{
	int count = 0;

	pthread_mutex_lock(&p->lock);
	while (!p->stop && !p->frontier.count && p->busy)
		pthread_cond_wait(&p->changed, &p->lock);
	/* While there are few, every driver takes its share. */
	int most = (int)BPG_MIN((int64_t)p->batch, p->x->synchronous ? p->frontier.count : (p->frontier.count + DRIVERS - 1) / DRIVERS);
	while (!p->stop && count < most)
		d[count++] = bpg_frontier_pop(&p->frontier);
	p->busy += count > 0;
	pthread_mutex_unlock(&p->lock);
	return count;
}

static void give(struct driver *v, enum bpg_status st, struct bpg_domain **d, int count, struct bpg_domain **child, int children)
{
	struct pool *p = v->p;

	pthread_mutex_lock(&p->lock);
	if (st)
		fail(p, st, bpg_ctx_message(v->ctx));
	for (int i = 0; i < count; i++) {
		p->x->depth = BPG_MAX(p->x->depth, d[i]->depth);
		if (p->stop && !p->x->witness.found)
			p->left = fmin(p->left, d[i]->bound);
		free(d[i]);
	}
	for (int i = 0; i < children; i++) {
		child[i]->number = p->made++;
		if (!bpg_frontier_push(&p->frontier, child[i])) {
			fail(p, BPG_ENOMEM, "memory is short for the domains of the search");
			free(child[i]);
		}
	}
	p->x->domains += count;
	p->busy--;
	if (p->x->progress)
		p->x->progress(p->x->progress_arg, p->x->domains, p->frontier.count, p->frontier.count ? p->frontier.heap[0]->bound : INFINITY, p->x->depth,
		               p->frontier.bytes);
	pthread_cond_broadcast(&p->changed);
	pthread_mutex_unlock(&p->lock);
}

static void *drive(void *arg)
{
	struct driver *v = arg;
	struct bpg_domain **d = bpg_calloc((size_t)(3 * v->p->batch), sizeof *d), **child = d + v->p->batch;
	int count;

	if (!d) {
		pthread_mutex_lock(&v->p->lock);
		fail(v->p, BPG_ENOMEM, "memory is short for a batch of domains");
		pthread_mutex_unlock(&v->p->lock);
		return NULL;
	}
	bpg_float_mode();
	while ((count = take(v->p, d)) > 0) {
		int children = 0;
		enum bpg_status st = BPG_ENOMEM;

		v->arena = bpg_arena_new();
		if (v->arena)
			st = work_on(v, d, count, child, &children);
		bpg_arena_free(v->arena);
		give(v, st, d, count, child, children);
	}
	free(d);
	return NULL;
}

/* Domains of a batch: large networks have work enough in one. */
static int batch_size(const struct bpg_net *net)
{
	int64_t elements = 1;

	for (int i = 0; i < net->nodes; i++)
		elements += net->node[i].v.out.n;
	return (int)BPG_MAX(BPG_MIN(BATCH_ELEMENTS / elements, (int64_t)BATCH), (int64_t)1);
}

/* Segments need planes that are known by place: no sparse ones. */
static bool may_share(const struct bpg_net *net)
{
	for (int i = 0; i < net->nodes; i++) {
		const struct bpg_layer *layer = net->node[i].v.layer;
		if (layer && layer->family != BPG_UNARY && layer->family != BPG_LINEAR)
			return false;
	}
	return true;
}

enum bpg_status bpg_search_box(struct bpg_ctx *ctx, struct bpg_search *x, const int32_t *open, int opens, struct bpg_arena *arena,
                               enum bpg_search_end *end)
{
	const struct bpg_box *box = x->spec->disjunct[open[0]].box;
	struct pool pool = { .x = x, .disjunct = x->spec->disjunct, .whole = box, .left = INFINITY }, *p = &pool;
	struct driver driver[DRIVERS] = { { 0 } };
	pthread_t thread[DRIVERS];
	int drivers = x->synchronous ? 1 : DRIVERS, started = 0;
	struct bpg_domain *root = bpg_domain_new(box->n, opens);

	p->together = may_share(x->net);
	p->batch = x->batch > 0 ? x->batch : p->together ? batch_size(x->net) : 1;
	x->witness = (struct bpg_witness){ .x = bpg_arena_alloc(arena, (size_t)x->net->in_count + 1, sizeof(float)),
		                           .y = bpg_arena_alloc(arena, (size_t)x->net->out_count + 1, sizeof(float)) };
	if (!root || !x->witness.x || !x->witness.y || !bpg_frontier_push(&p->frontier, root)) {
		free(root);
		return bpg_nomem(ctx, "the search");
	}
	memcpy(root->lo, box->lo, (size_t)box->n * sizeof *root->lo);
	memcpy(root->up, box->up, (size_t)box->n * sizeof *root->up);
	memcpy(root->open, open, (size_t)opens * sizeof *root->open);
	root->bound = -INFINITY;
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->changed, NULL);
	for (int i = 0; i < drivers; i++) {
		driver[i] = (struct driver){ .p = p, .ctx = bpg_ctx_new(), .group = bpg_group_new(x->rt) };
		if (!driver[i].ctx || !driver[i].group || pthread_create(&thread[i], NULL, drive, &driver[i]))
			break;
		started++;
	}
	if (!started)
		fail(p, BPG_ENOMEM, "no thread could be started for the search");
	for (int i = 0; i < started; i++)
		pthread_join(thread[i], NULL);
	for (int i = 0; i < drivers; i++) {
		bpg_group_free(driver[i].group);
		bpg_ctx_free(driver[i].ctx);
	}
	x->worst = p->left;
	if (p->frontier.count)
		x->worst = fmin(x->worst, p->frontier.heap[0]->bound);
	bpg_frontier_fini(&p->frontier);
	pthread_cond_destroy(&p->changed);
	pthread_mutex_destroy(&p->lock);
	*end = x->witness.found ? BPG_SEARCH_FOUND : p->stuck ? BPG_SEARCH_OPEN : BPG_SEARCH_PROVED;
	if (x->witness.found || !p->status)
		return BPG_OK;
	return bpg_fail(ctx, p->status, "%s", p->message);
}
