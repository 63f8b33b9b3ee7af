/* boxes.c - domains that are boxes of inputs: a batch is bounded as one model of several segments, the rows' linear bounds over
 * the inputs shrink what stays open and say where it is cut. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bab/clip.h"
#include "bab/pool.h"
#include "bab/questions.h"
#include "graph/crown.h"

enum {
	BATCH = 1024,             /* domains that share tasks, at most */
	BATCH_ELEMENTS = 1 << 18, /* and their bounded elements, in all */
	MOST_INPUTS = 128,        /* that move */
	MOST_TERMS = 1 << 17,     /* nonzero weights of a network that boxes are contracted by */
	ROWS_TRIED = 4,           /* whose least points are tried as counterexamples */
	CLIPS = 2,                /* rounds over the rows of a disjunct */
};

bool bpg_boxes_suit(const struct bpg_net *net, const struct bpg_box *box)
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

static double best_of(const struct bpg_disjunct *d, const double *lower, int *row)
{
	*row = 0;
	for (int r = 1; r < bpg_questions(d); r++)
		if (lower[r] > lower[*row])
			*row = r;
	return lower[*row];
}

/* The part of the box where all rows of the disjunct may be <= 0; false: none. */
static bool clip(const struct bpg_disjunct *d, int64_t n, const double *plane, const double *centre, double *lo, double *up)
{
	for (int round = 0; round < CLIPS; round++)
		for (int r = 0; r < bpg_questions(d); r++)
			if (!bpg_clip(n, plane + r * (n + 1), centre, plane[r * (n + 1) + n], lo, up))
				return false;
	return true;
}

/* Of d, a copy, leaves the disjuncts that are open and the hull of where they are; false: none is. */
static bool shrink(const struct bpg_search_pool *p, struct bpg_domain *d, const struct bounds *b, double *scratch, int *first)
{
	int64_t n = d->n;
	double *lo = scratch, *up = lo + n, *hull_lo = up + n, *hull_up = hull_lo + n, bound = INFINITY;
	int opens = 0, row;

	for (int i = 0; i < d->opens; i++) {
		const struct bpg_disjunct *q = &p->x->spec->disjunct[d->open[i]];
		const double *lower = b->lower + b->first[i];

		if (bpg_questions_refute(q, lower))
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

static bool cuttable(const struct bpg_domain *d, int64_t j)
{
	double mid = d->lo[j] + (d->up[j] - d->lo[j]) / 2;

	return mid > d->lo[j] && mid < d->up[j];
}

/* The input that the rows of the first open disjunct may vary with most, whatever linear bounds say; -1: none can be cut. */
static int64_t choose_by_smear(struct bpg_driver *v, const struct bpg_domain *d)
{
	const struct bpg_search_pool *p = v->p;
	double *score = bpg_arena_alloc(v->arena, (size_t)d->n + 1, sizeof *score);
	int64_t at = -1;

	if (!score || !bpg_contract_smear(p->contractor, &p->x->spec->disjunct[d->open[0]], d->lo, d->up, score))
		return -1;
	for (int64_t j = 0; j < d->n; j++)
		if (cuttable(d, j) && (at < 0 || score[j] > score[at]))
			at = j;
	return at;
}

/* Linear bounds that vary so little over the box, compared with what they would if they were as steep along the widest input as they
 * are along the steepest, do not say where to cut. */
static const double telling = 0.01;

/* Input along which the best rows of the open disjuncts vary most; -1: none can be cut. */
static int64_t choose(struct bpg_driver *v, const struct bpg_domain *d, const struct bounds *b, const int *first)
{
	const struct bpg_search_pool *p = v->p;
	int64_t at = -1;
	double most = -1;
	bool told = !p->contractor;

	for (int64_t j = 0; j < d->n; j++) {
		double width = d->up[j] - d->lo[j], score = 0;
		if (!cuttable(d, j))
			continue;
		for (int i = 0; i < d->opens; i++) {
			int row;
			best_of(&p->x->spec->disjunct[d->open[i]], b->lower + first[i], &row);
			const double *a = b->plane + (first[i] + row) * (d->n + 1);
			double largest = 0;
			for (int64_t k = 0; k < d->n; k++)
				largest = fmax(largest, fabs(a[k]));
			/* A row that does not depend on an input may still depend on where the relaxations are loose. */
			score = fmax(score, fmax(fabs(a[j]), telling * largest) * width);
			told |= fabs(a[j]) > telling * largest;
		}
		score = isfinite(score) ? score : width;
		if (score > most || at < 0)
			most = score, at = j;
	}
	if (!told && at >= 0) {
		int64_t other = choose_by_smear(v, d);
		return other >= 0 ? other : at;
	}
	return at;
}

/* How the bound of the best row changes along input j; of the sum of the other rows where it does not. */
static double along(const struct bpg_domain *d, const double *plane, int rows, int row, int64_t j)
{
	double sum = plane[row * (d->n + 1) + j];

	if (sum == 0)
		for (int r = 0; r < rows; r++)
			sum += plane[r * (d->n + 1) + j];
	return sum;
}

/* Where a row of the disjunct is least, and with it the others. */
static bool try_row(struct bpg_driver *v, const struct bpg_domain *d, const struct bpg_disjunct *q, const double *plane, int row, float *x)
{
	const struct bpg_box *whole = v->p->whole;

	for (int64_t j = 0; j < d->n; j++) {
		double a = along(d, plane, q->rows, row, j);
		x[j] = bpg_inside(a > 0 ? d->lo[j] : a < 0 ? d->up[j] : d->lo[j] + (d->up[j] - d->lo[j]) / 2, whole->in_lo[j], whole->in_up[j]);
	}
	return bpg_pool_try(v, x, x + d->n);
}

/* Tries the point where the worst open disjunct's best row is least, then those of its other rows. */
static bool try_corner(struct bpg_driver *v, const struct bpg_domain *d, const struct bounds *b, const int *first)
{
	struct bpg_search_pool *p = v->p;
	float *x = bpg_arena_alloc(v->arena, (size_t)(p->x->net->in_count + p->x->net->out_count) + 1, sizeof *x);
	int worst = 0, row;
	double least = INFINITY;

	if (!x)
		return false;
	for (int i = 0; i < d->opens; i++) {
		double at = best_of(&p->x->spec->disjunct[d->open[i]], b->lower + first[i], &row);
		if (at < least)
			least = at, worst = i;
	}
	const struct bpg_disjunct *q = &p->x->spec->disjunct[d->open[worst]];
	const double *plane = b->plane + first[worst] * (d->n + 1);
	best_of(q, b->lower + first[worst], &row);
	if (try_row(v, d, q, plane, row, x))
		return true;
	for (int r = 0; r < q->rows && r < ROWS_TRIED; r++)
		if (r != row && bpg_pool_may_try(v) && try_row(v, d, q, plane, r, x))
			return true;
	return false;
}

static struct bpg_domain *half(const struct bpg_domain *d, int64_t at, bool upper)
{
	struct bpg_domain *c = bpg_domain_box(d->n, d->opens);
	double mid = d->lo[at] + (d->up[at] - d->lo[at]) / 2;

	if (!c)
		return NULL;
	memcpy(c->lo, d->lo, (size_t)d->n * sizeof *c->lo);
	memcpy(c->up, d->up, (size_t)d->n * sizeof *c->up);
	memcpy(c->open, d->open, (size_t)d->opens * sizeof *c->open);
	c->bound = d->bound;
	c->depth = d->depth + 1;
	c->share = d->share / 2;
	(upper ? c->lo : c->up)[at] = mid;
	return c;
}

/* ---- a batch ---- */

/* Rows of all disjuncts that are open on some domain of the batch; at[disjunct]: its first row. */
static struct bpg_question_row *batch_rows(struct bpg_driver *v, struct bpg_domain *const *d, int count, int *at, int64_t *rows)
{
	const struct bpg_search_pool *p = v->p;
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
				if (pass && !bpg_questions_ask(v->arena, &p->x->spec->disjunct[q], row + n))
					return NULL;
				n += bpg_questions(&p->x->spec->disjunct[q]);
			}
	}
	*rows = n;
	return row;
}

/* Bounds of domains d[0..count), as one model when they are several. */
static enum bpg_status bound_domains(struct bpg_driver *v, struct bpg_domain *const *d, int count, const struct bpg_question_row *row, int64_t rows,
                                     double *lower, double *plane, double *centre)
{
	struct bpg_search_pool *p = v->p;
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
	o.memory -= BPG_MIN(o.memory, p->x->frontier_bytes);
	BPG_TRY(bpg_model_new(v->ctx, net, p->x->rt, region, &o, &m));
	st = bpg_bounds(v->ctx, m, row, rows, lower, upper);
	for (int i = 0; !st && i < count; i++)
		for (int k = 0; k < m->nodes; k++) {
			const struct bpg_model_node *in = &m->node[k];
			if (in->hop.kind == BPG_HOP_INPUT)
				memcpy(centre + i * net->in_count + net->in_first[in->net->input], bpg_segment_field(in, BPG_CENTRE, i),
				       (size_t)in->columns.n * sizeof *centre);
		}
	bpg_pool_count(p, m->steps);
	bpg_model_free(m);
	return st;
}

/* A copy in the arena of the batch, of what may shrink. */
static struct bpg_domain *copy(struct bpg_driver *v, const struct bpg_domain *d)
{
	struct bpg_domain *to = bpg_arena_alloc(v->arena, 1, sizeof *to);

	if (!to)
		return NULL;
	to->bound = d->bound;
	to->share = d->share;
	to->depth = d->depth;
	to->n = d->n;
	to->opens = d->opens;
	to->lo = bpg_arena_alloc(v->arena, (size_t)(2 * d->n) + 1, sizeof *to->lo);
	to->open = bpg_arena_alloc(v->arena, (size_t)d->opens + 1, sizeof *to->open);
	if (!to->lo || !to->open)
		return NULL;
	to->up = to->lo + d->n;
	memcpy(to->lo, d->lo, (size_t)d->n * sizeof *to->lo);
	memcpy(to->up, d->up, (size_t)d->n * sizeof *to->up);
	memcpy(to->open, d->open, (size_t)d->opens * sizeof *to->open);
	return to;
}

/* ---- contraction before bounds ---- */

struct contraction {
	const struct bpg_contractor *c;
	const struct bpg_spec *spec;
	struct bpg_domain *d;     /* shrinks; opens 0: nothing is left */
	bool gained;
};

/* Halvings of the box, counted over its inputs. */
static double halvings(const struct bpg_domain *d, const double *lo, const double *up)
{
	double sum = 0;

	for (int64_t j = 0; j < d->n; j++) {
		double was = d->up[j] - d->lo[j], now = up[j] - lo[j];
		if (was > 0)
			sum += now > was / 256 ? log2(was / now) : 8;
	}
	return sum;
}

static void contract(struct bpg_rt *rt, void *const *buffer, const void *arg)
{
	struct contraction *x = *(struct contraction *const *)arg;
	struct bpg_domain *d = x->d;
	size_t n = (size_t)d->n;
	double *lo = bpg_calloc(4 * n + 1, sizeof *lo), *up = lo + n, *hull_lo = up + n, *hull_up = hull_lo + n;
	int opens = 0;

	(void)buffer;
	if (!lo) {
		bpg_rt_fault(rt, BPG_ENOMEM, "memory is short for a domain");
		return;
	}
	for (int i = 0; i < d->opens; i++) {
		memcpy(lo, d->lo, n * sizeof *lo);
		memcpy(up, d->up, n * sizeof *up);
		if (!bpg_contract(x->c, &x->spec->disjunct[d->open[i]], lo, up))
			continue;
		for (size_t j = 0; j < n; j++) {
			hull_lo[j] = opens ? BPG_MIN(hull_lo[j], lo[j]) : lo[j];
			hull_up[j] = opens ? BPG_MAX(hull_up[j], up[j]) : up[j];
		}
		d->open[opens++] = d->open[i];
	}
	x->gained = opens < d->opens || halvings(d, hull_lo, hull_up) > 0.5;
	d->opens = opens;
	if (opens) {
		memcpy(d->lo, hull_lo, n * sizeof *lo);
		memcpy(d->up, hull_up, n * sizeof *up);
	}
	free(lo);
}

enum { TRIALS = 16, ONE_IN = 4 };  /* domains that are contracted to see what it gains; and then one in so many must have gained */

static bool contracting(const struct bpg_search_pool *p)
{
	bool pays;

	if (!p->contractor)
		return false;
	pthread_mutex_lock(p->lock);
	pays = p->contracted < TRIALS || p->gained * ONE_IN >= p->contracted;
	pthread_mutex_unlock(p->lock);
	return pays;
}

static enum bpg_status contract_all(struct bpg_driver *v, struct bpg_domain *const *d, int count)
{
	struct bpg_search_pool *p = v->p;
	struct contraction *x = bpg_arena_alloc(v->arena, (size_t)count, sizeof *x);

	if (!x)
		return bpg_nomem(v->ctx, "a batch of domains");
	for (int i = 0; i < count; i++) {
		struct contraction *at = &x[i];
		*at = (struct contraction){ p->contractor, p->x->spec, d[i], false };
		struct bpg_task t = { .kind = BPG_TASK_CONTRACT, .run = contract, .arg = &at, .arg_bytes = sizeof at, .node = -1, .tile = i, .group = v->group };
		BPG_TRY(bpg_rt_submit(p->x->rt, &t));
	}
	BPG_TRY(bpg_group_wait(v->group, v->ctx));
	bpg_pool_count(p, count);
	for (int i = 0; i < count; i++)
		v->gained += x[i].gained;
	v->contracted = count;
	return BPG_OK;
}

/* ---- a batch that is bounded ---- */

/* What is left of a box that is open on rows[first...]: two children, unless it cannot be cut. False: memory is short. */
static bool branch(struct bpg_driver *v, const struct bpg_domain *d, const struct bounds *b, const int *first, struct bpg_domain **child, int *children)
{
	int64_t cut = choose(v, d, b, first);

	if (cut < 0) {
		bpg_pool_stuck(v, d);
		return true;
	}
	for (int s = 0; s < 2; s++) {
		struct bpg_domain *c = half(d, cut, s);
		if (!c)
			return false;
		child[(*children)++] = c;
	}
	return true;
}

/* Bounds domains, which are the driver's own, and decides on each. */
static enum bpg_status bound_and_branch(struct bpg_driver *v, struct bpg_domain **d, int count, struct bpg_domain **child, int *children)
{
	struct bpg_search_pool *p = v->p;
	int64_t n = p->x->net->in_count, rows;
	int *at = bpg_arena_alloc(v->arena, (size_t)p->x->spec->disjuncts + 1, sizeof *at);
	double *scratch = bpg_arena_alloc(v->arena, (size_t)(4 * n) + 1, sizeof *scratch);
	struct bpg_question_row *row = at ? batch_rows(v, d, count, at, &rows) : NULL;
	double *lower = row ? bpg_arena_alloc(v->arena, (size_t)(count * rows) + 1, sizeof *lower) : NULL;
	double *plane = row ? bpg_arena_alloc(v->arena, (size_t)(count * rows * (n + 1)) + 1, sizeof *plane) : NULL;
	double *centre = bpg_arena_alloc(v->arena, (size_t)(count * n) + 1, sizeof *centre);

	if (!scratch || !lower || !plane || !centre)
		return bpg_nomem(v->ctx, "a batch of domains");
	BPG_TRY(bound_domains(v, d, count, row, rows, lower, plane, centre));
	for (int i = 0; i < count; i++) {
		int *first = bpg_arena_alloc(v->arena, (size_t)(2 * d[i]->opens) + 1, sizeof *first), *left = first ? first + d[i]->opens : NULL;
		struct bounds b = { lower + i * rows, plane + i * rows * (n + 1), centre + i * n, first };

		if (!first)
			return bpg_nomem(v->ctx, "a batch of domains");
		for (int k = 0; k < d[i]->opens; k++)
			first[k] = at[d[i]->open[k]];
		if (!shrink(p, d[i], &b, scratch, left)) {
			bpg_pool_closed(v, d[i]);
			continue;
		}
		if (bpg_pool_may_try(v) && try_corner(v, d[i], &b, left))
			break;
		if (!branch(v, d[i], &b, left, child, children))
			return bpg_nomem(v->ctx, "a domain");
	}
	return BPG_OK;
}

/* The children of those of a batch that stay open are in child[0..*children). */
static enum bpg_status work_on(struct bpg_driver *v, struct bpg_domain **d, int count, struct bpg_domain **child, int *children)
{
	struct bpg_domain **part = bpg_arena_alloc(v->arena, (size_t)count, sizeof *part);
	int left = 0;

	*children = 0;
	for (int i = 0; part && i < count; i++)
		if (!(part[i] = copy(v, d[i])))
			part = NULL;
	if (!part)
		return bpg_nomem(v->ctx, "a batch of domains");
	if (contracting(v->p))
		BPG_TRY(contract_all(v, part, count));
	for (int i = 0; i < count; i++)
		if (part[i]->opens)
			part[left++] = part[i];
		else
			bpg_pool_closed(v, part[i]);
	return left ? bound_and_branch(v, part, left, child, children) : BPG_OK;
}

/* Domains of a batch: large networks have work enough in one. */
static int batch_size(const struct bpg_net *net)
{
	int64_t elements = 1;

	for (int i = 0; i < net->nodes; i++)
		elements += net->node[i].v.out.n;
	return (int)BPG_MAX(BPG_MIN(BATCH_ELEMENTS / elements, (int64_t)BATCH), (int64_t)1);
}

enum bpg_status bpg_boxes_begin(struct bpg_ctx *ctx, struct bpg_search_pool *p, const int32_t *open, int opens)
{
	const struct bpg_box *box = p->x->spec->disjunct[open[0]].box;
	struct bpg_domain *root = bpg_domain_box(box->n, opens);

	p->batch = p->x->batch > 0 ? p->x->batch : !p->x->bound.memory ? batch_size(p->x->net) : 1;
	p->work = work_on;
	if (!root)
		return bpg_nomem(ctx, "the search");
	enum bpg_status st = bpg_contractor_new(ctx, p->x->net, MOST_TERMS, &p->contractor);
	if (st) {
		bpg_domain_drop(root);
		return st;
	}
	memcpy(root->lo, box->lo, (size_t)box->n * sizeof *root->lo);
	memcpy(root->up, box->up, (size_t)box->n * sizeof *root->up);
	memcpy(root->open, open, (size_t)opens * sizeof *root->open);
	root->bound = -INFINITY;
	root->share = 1;
	return bpg_pool_begin(ctx, p, &root, 1);
}
