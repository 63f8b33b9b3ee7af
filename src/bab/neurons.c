/* neurons.c - domains that are splits of neurons, bounded by beta-CROWN over the root's model: each has one disjunct, of which one
 * row that cannot hold is enough. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bab/pool.h"
#include "bab/questions.h"
#include "graph/domains.h"
#include "graph/leaf.h"

enum { BATCH = 256, MOST = 1024, LEAST = 16, BATCH_FLOATS = 1 << 24 };
/* Steps of the optimiser for a domain that inherits its parent's parameters, and rates: measured on trained networks. */
enum { STEPS = 12 };
/* Places that are tried for a domain, and steps for a child on trial. */
enum { PLACES = 3, TRIAL_STEPS = 3 };
static const double leaf_seconds = 10; /* that a linear program may take */
static const double slope_rate = 0.1, decay = 0.98;

bool bpg_neurons_suit(const struct bpg_model *m)
{
	for (int i = 0; i < m->nodes; i++)
		if (m->node[i].hop.kind == BPG_HOP_UNARY)
			return true;
	return false;
}

/* What the children of a domain have in common: its parameters. */
static struct bpg_params *params_of(const struct bpg_search_pool *pool, const struct bpg_domain_out *out, int64_t rows)
{
	struct bpg_params *p = bpg_params_dealt(rows, (int64_t)(out->params_bytes / sizeof *p->v), out->rank, pool->root->options.rank);

	for (int64_t r = 0; p && r < rows; r++)
		if (out->params[r])
			memcpy(p->v + r * p->each, out->params[r], out->params_bytes);
	return p;
}

/* Where an open domain is split, and what is known of its children below and above the point. */
struct choice {
	int at;                   /* in the batch */
	const struct bpg_branch *place;
	const double *known[2];   /* [rows] */
	bool closed[2];
};

/* The child of a domain on one side of a split: 0 below the point, 1 above. */
static struct bpg_domain *child_of(const struct bpg_domain *d, const struct choice *choice, struct bpg_params *params, int side)
{
	struct bpg_domain *c = bpg_domain_splits(d->open[0], d->splits + 1, d->rows);
	const struct bpg_branch *b = choice->place;

	if (!c)
		return NULL;
	if (d->splits)
		memcpy(c->split, d->split, (size_t)d->splits * sizeof *c->split);
	c->split[d->splits] = (struct bpg_split){ b->node, b->element, b->point, side ? 1 : -1 };
	c->held = d->splits;
	c->depth = d->depth + 1;
	c->share = d->share / 2;
	c->bound = -INFINITY;
	for (int r = 0; r < c->rows; r++) {
		c->known[r] = choice->known[side][r];
		c->bound = fmax(c->bound, c->known[r]);
	}
	bpg_domain_give(c, params);
	return c;
}

static struct bpg_domain_options optimiser(const struct bpg_driver *v, int iterations)
{
	return (struct bpg_domain_options){ .iterations = iterations, .rate = slope_rate, .beta_rate = v->p->x->bound.beta_rate, .decay = decay,
		                            .group = v->group };
}

/* The rows of the domain's disjunct, and what it has inherited. */
static bool ask(struct bpg_driver *v, const struct bpg_domain *d, struct bpg_domain_in *in)
{
	struct bpg_question_row *row = bpg_arena_alloc(v->arena, (size_t)d->rows, sizeof *row);
	const struct bpg_question_row **at = bpg_arena_alloc(v->arena, (size_t)d->rows, sizeof *at);
	const float **params = bpg_arena_alloc(v->arena, (size_t)d->rows, sizeof *params);

	if (!row || !at || !params || !bpg_questions_ask(v->arena, &v->p->x->spec->disjunct[d->open[0]], row))
		return false;
	for (int r = 0; r < d->rows; r++)
		at[r] = &row[r], params[r] = d->params && d->params->here ? d->params->v + r * d->params->each : NULL;
	*in = (struct bpg_domain_in){ .splits = d->splits, .split = d->split, .rows = d->rows, .row = at, .any = true,
		                      .params = d->params ? params : NULL, .held = d->held, .known = d->depth ? d->known : NULL };
	if (d->params) {
		in->rank = d->params->rank;
		in->params_bytes = (size_t)d->params->each * sizeof(float);
	}
	return true;
}

/* Bounds of the batch, by one graph of tasks. */
static enum bpg_status bound(struct bpg_driver *v, struct bpg_domain **d, int count, struct bpg_batch **batch, struct bpg_domain_out *out)
{
	struct bpg_search_pool *p = v->p;
	struct bpg_domain_in *in = bpg_arena_alloc(v->arena, (size_t)count, sizeof *in);
	const struct bpg_domain_options o = optimiser(v, STEPS);

	if (!in)
		return bpg_nomem(v->ctx, "a batch of domains");
	for (int i = 0; i < count; i++)
		if (!ask(v, d[i], &in[i]))
			return bpg_nomem(v->ctx, "a batch of domains");
	BPG_TRY(bpg_domains_submit(v->ctx, p->root, in, count, &o, batch));
	BPG_TRY(bpg_group_wait(v->group, v->ctx));
	bpg_pool_count(p, bpg_batch_tasks(*batch));
	BPG_TRY(bpg_domains_collect(v->ctx, *batch, out));
	int wanted[BPG_TRIES], n = 0;
	for (int i = 0; i < count && n < BPG_TRIES; i++)
		if (!out[i].empty && !bpg_questions_refute(&p->x->spec->disjunct[d[i]->open[0]], out[i].lower))
			wanted[n++] = i;
	return bpg_domains_points(v->ctx, *batch, out, wanted, n);
}

static bool try_at(struct bpg_driver *v, const float *point)
{
	const struct bpg_net *net = v->p->x->net;
	float *x = bpg_arena_alloc(v->arena, (size_t)(net->in_count + net->out_count) + 1, sizeof *x);

	if (!x || !point)
		return false;
	bpg_pool_inside(v->p, point, x);
	return bpg_pool_try(v, x, x + net->in_count);
}

/* ---- domains with nothing left to split: linear programs ---- */

struct leaf_task {
	const struct bpg_model *model;
	struct bpg_leaf leaf;
	const struct bpg_domain *d;
	const struct bpg_domain_out *out; /* of the bounds that left it open */
};

static void solve(struct bpg_rt *rt, void *const *buffer, const void *arg)
{
	struct leaf_task *x = *(struct leaf_task *const *)arg;

	(void)rt, (void)buffer;
	bpg_leaf_solve(x->model, &x->leaf, leaf_seconds);
}

/* The sum of rows that the program weighs, with its multipliers behind the slopes that there are. */
static bool ask_again(struct bpg_driver *v, const struct leaf_task *x, struct bpg_domain_in *in)
{
	struct bpg_question_row *row = bpg_arena_alloc(v->arena, 1, sizeof *row);
	const struct bpg_question_row **rows = bpg_arena_alloc(v->arena, 1, sizeof *rows);
	float *params = bpg_arena_alloc(v->arena, x->out->params_bytes + 1, 1);
	const float **at = bpg_arena_alloc(v->arena, 1, sizeof *at);
	int64_t slopes = (int64_t)(x->out->params_bytes / sizeof *params) - x->leaf.splits;

	if (!row || !rows || !params || !at || !bpg_questions_sum(v->arena, x->leaf.disjunct, x->leaf.weight, row))
		return false;
	if (x->out->params[x->out->row])
		memcpy(params, x->out->params[x->out->row], x->out->params_bytes);
	for (int i = 0; i < x->leaf.splits; i++)
		params[slopes + i] = (float)x->leaf.beta[i];
	*rows = row;
	*at = params;
	*in = (struct bpg_domain_in){ .splits = x->leaf.splits, .split = x->leaf.split, .rows = 1, .row = rows, .any = true, .params = at,
		                      .held = x->leaf.splits, .rank = x->out->rank ? x->out->rank + x->out->row : NULL, .params_bytes = x->out->params_bytes };
	return true;
}

/* Bounds with the multipliers of the programs, in double; what stays open is stuck, unless the program's point is a counterexample. */
static enum bpg_status bound_leaves(struct bpg_driver *v, struct leaf_task **leaf, int count)
{
	struct bpg_domain_in *in = bpg_arena_alloc(v->arena, (size_t)count + 1, sizeof *in);
	struct bpg_domain_out *out = bpg_arena_alloc(v->arena, (size_t)count + 1, sizeof *out);
	struct bpg_domain_options o = optimiser(v, 0);
	struct bpg_batch *batch = NULL;
	enum bpg_status st = BPG_OK;

	o.wide = true;
	if (!in || !out)
		return bpg_nomem(v->ctx, "linear programs");
	for (int i = 0; i < count; i++)
		if (!ask_again(v, leaf[i], &in[i]))
			return bpg_nomem(v->ctx, "linear programs");
	BPG_TRY_TO(bpg_domains_submit(v->ctx, v->p->root, in, count, &o, &batch), out);
	BPG_TRY_TO(bpg_group_wait(v->group, v->ctx), out);
	bpg_pool_count(v->p, bpg_batch_tasks(batch));
	BPG_TRY_TO(bpg_domains_collect(v->ctx, batch, out), out);
	for (int i = 0; i < count; i++)
		BPG_TRY_TO(bpg_domains_points(v->ctx, batch, out, &i, 1), out);
	for (int i = 0; i < count; i++) {
		if (out[i].empty || out[i].lower[0] > 0)
			bpg_pool_closed(v, leaf[i]->d);
		else if (try_at(v, leaf[i]->leaf.point) || try_at(v, out[i].point))
			break;
		else
			bpg_pool_stuck(v, leaf[i]->d);
	}
out:
	if (st)
		bpg_group_wait(v->group, NULL);
	bpg_batch_free(batch);
	return st;
}

/* Who has the row of a leaf solves it, and tells the others: how far a program comes in its time is no longer a matter of each. */
static int solver_of(const struct leaf_task *x)
{
	return x->out->rank ? x->out->rank[x->out->row] : x->model->options.rank;
}

static enum bpg_status tell_leaf(struct bpg_driver *v, struct bpg_batch *batch, struct leaf_task *x)
{
	struct bpg_leaf *l = &x->leaf;
	int from = solver_of(x);

	BPG_TRY(bpg_domains_tell(v->ctx, batch, &l->solved, sizeof l->solved, from));
	BPG_TRY(bpg_domains_tell(v->ctx, batch, l->weight, (size_t)l->disjunct->rows * sizeof *l->weight, from));
	BPG_TRY(bpg_domains_tell(v->ctx, batch, l->beta, (size_t)l->splits * sizeof *l->beta, from));
	return bpg_domains_tell(v->ctx, batch, l->point, (size_t)v->p->x->net->in_count * sizeof *l->point, from);
}

static enum bpg_status settle_leaves(struct bpg_driver *v, struct bpg_batch *batch, struct leaf_task **leaf, int count)
{
	struct bpg_search_pool *p = v->p;
	int solved = 0;

	for (int i = 0; i < count; i++) {
		struct bpg_leaf *x = &leaf[i]->leaf;
		x->weight = bpg_arena_alloc(v->arena, (size_t)x->disjunct->rows + 1, sizeof *x->weight);
		x->beta = bpg_arena_alloc(v->arena, (size_t)x->splits + 1, sizeof *x->beta);
		x->point = bpg_arena_alloc(v->arena, (size_t)p->x->net->in_count + 1, sizeof *x->point);
		if (!x->weight || !x->beta || !x->point)
			return bpg_nomem(v->ctx, "linear programs");
		if (solver_of(leaf[i]) != p->root->options.rank)
			continue;
		struct bpg_task t = { .kind = BPG_TASK_LP, .run = solve, .arg = &leaf[i], .arg_bytes = sizeof leaf[i], .node = -1, .tile = i, .group = v->group };
		BPG_TRY(bpg_rt_submit(p->x->rt, &t));
	}
	BPG_TRY(bpg_group_wait(v->group, v->ctx));
	bpg_pool_count(p, count);
	for (int i = 0; i < count; i++)
		BPG_TRY(tell_leaf(v, batch, leaf[i]));
	for (int i = 0; i < count; i++)
		if (leaf[i]->leaf.solved)
			leaf[solved++] = leaf[i];
		else
			bpg_pool_stuck(v, leaf[i]->d);
	return solved ? bound_leaves(v, leaf, solved) : BPG_OK;
}

/* ---- where to split (filtered smart branching, De Palma et al. 2021) ---- */

/* The children of a domain at all places on trial: they have its best parameters and bounds. */
static bool try_places(struct bpg_driver *v, const struct bpg_domain *d, const struct bpg_domain_out *out, struct bpg_domain_in *in, int *trials)
{
	struct bpg_domain_in whole;

	if (!ask(v, d, &whole))
		return false;
	whole.params = out->params;
	whole.rank = out->rank;
	whole.params_bytes = out->params_bytes;
	whole.known = out->lower;
	whole.held = d->splits;
	whole.splits = d->splits + 1;
	for (int k = 0; k < 2 * BPG_MIN(out->branches, PLACES); k++) {
		struct bpg_split *split = bpg_arena_alloc(v->arena, (size_t)whole.splits, sizeof *split);
		const struct bpg_branch *b = &out->branch[k / 2];
		if (!split)
			return false;
		if (d->splits)
			memcpy(split, d->split, (size_t)d->splits * sizeof *split);
		split[d->splits] = (struct bpg_split){ b->node, b->element, b->point, k % 2 ? 1 : -1 };
		in[*trials] = whole;
		in[(*trials)++].split = split;
	}
	return true;
}

/* How near the children are to a proof: the farther one, then the nearer one. */
struct prospect {
	double least, most;
};

static bool better(struct prospect a, struct prospect b)
{
	return a.least != b.least ? a.least > b.least : a.most > b.most;
}

/* Bounds of a domain's children, two for each place on trial, say which place is best: the first of equal ones. What they prove
 * is handed on. */
static bool choose_place(struct bpg_driver *v, const struct bpg_domain *d, const struct bpg_domain_out *out, const struct bpg_domain_out *trial,
                         struct choice *c)
{
	const struct bpg_disjunct *q = &v->p->x->spec->disjunct[d->open[0]];
	struct prospect best = { -INFINITY, -INFINITY };
	double *known = bpg_arena_alloc(v->arena, (size_t)(2 * d->rows) + 1, sizeof *known);

	if (!known)
		return false;
	for (int k = 0; k < BPG_MIN(out->branches, PLACES); k++, trial += 2) {
		double value[2] = { -INFINITY, -INFINITY };
		bool closed[2];
		for (int s = 0; s < 2; s++) {
			closed[s] = trial[s].empty || bpg_questions_refute(q, trial[s].lower);
			for (int r = 0; r < d->rows; r++)
				value[s] = closed[s] ? INFINITY : fmax(value[s], trial[s].lower[r]);
		}
		struct prospect at = { fmin(value[0], value[1]), fmax(value[0], value[1]) };
		if (k && !better(at, best))
			continue;
		best = at;
		c->place = &out->branch[k];
		for (int s = 0; s < 2; s++) {
			memcpy(known + s * d->rows, trial[s].lower, (size_t)d->rows * sizeof *known);
			c->known[s] = known + s * d->rows;
			c->closed[s] = closed[s];
		}
	}
	return true;
}

/* All children on trial are one batch. */
static enum bpg_status filter(struct bpg_driver *v, struct bpg_domain **d, const struct bpg_domain_out *out, struct choice *choice, int choices)
{
	const struct bpg_domain_options o = optimiser(v, TRIAL_STEPS);
	size_t most = (size_t)choices * 2 * PLACES;
	struct bpg_domain_in *in = bpg_arena_alloc(v->arena, most, sizeof *in);
	struct bpg_domain_out *trial = bpg_arena_alloc(v->arena, most, sizeof *trial);
	struct bpg_batch *batch = NULL;
	enum bpg_status st = BPG_OK;
	int trials = 0;

	if (!in || !trial)
		return bpg_nomem(v->ctx, "places to split");
	for (int i = 0; i < choices; i++)
		if (!try_places(v, d[choice[i].at], &out[choice[i].at], in, &trials))
			return bpg_nomem(v->ctx, "places to split");
	BPG_TRY_TO(bpg_domains_submit(v->ctx, v->p->root, in, trials, &o, &batch), out);
	BPG_TRY_TO(bpg_group_wait(v->group, v->ctx), out);
	bpg_pool_count(v->p, bpg_batch_tasks(batch));
	BPG_TRY_TO(bpg_domains_collect(v->ctx, batch, trial), out);
	trials = 0;
	for (int i = 0; i < choices && !st; i++) {
		const struct bpg_domain_out *of = &out[choice[i].at];
		if (!choose_place(v, d[choice[i].at], of, trial + trials, &choice[i]))
			st = bpg_nomem(v->ctx, "places to split");
		trials += 2 * BPG_MIN(of->branches, PLACES);
	}
out:
	if (st)
		bpg_group_wait(v->group, NULL);
	bpg_batch_free(batch);
	return st;
}

/* ---- a batch ---- */

static enum bpg_status branch(struct bpg_driver *v, const struct bpg_domain *d, const struct bpg_domain_out *out, const struct choice *choice,
                              struct bpg_domain **child, int *children)
{
	struct bpg_params *params = params_of(v->p, out, d->rows);
	enum bpg_status st = params ? BPG_OK : bpg_nomem(v->ctx, "a domain");

	for (int side = 0; side < 2 && !st; side++) {
		if (choice->closed[side]) {
			v->closed += d->share / 2;
			continue;
		}
		struct bpg_domain *c = child_of(d, choice, params, side);
		if (c)
			child[(*children)++] = c;
		else
			st = bpg_nomem(v->ctx, "a domain");
	}
	bpg_params_drop(params);
	return st;
}

static enum bpg_status work_on(struct bpg_driver *v, struct bpg_domain **d, int count, struct bpg_domain **child, int *children)
{
	struct bpg_search_pool *p = v->p;
	struct bpg_domain_out *out = bpg_arena_alloc(v->arena, (size_t)count, sizeof *out);
	struct leaf_task **leaf = bpg_arena_alloc(v->arena, (size_t)count + 1, sizeof *leaf);
	struct choice *choice = bpg_arena_alloc(v->arena, (size_t)count, sizeof *choice);
	const float **point = bpg_arena_alloc(v->arena, (size_t)count, sizeof *point);
	struct bpg_batch *batch = NULL;
	enum bpg_status st = out && leaf && choice && point ? bound(v, d, count, &batch, out) : bpg_nomem(v->ctx, "a batch of domains");
	int leaves = 0, choices = 0, points = 0;

	if (st)
		bpg_group_wait(v->group, NULL);
	for (int i = 0; !st && i < count; i++) {
		const struct bpg_disjunct *q = &p->x->spec->disjunct[d[i]->open[0]];

		if (out[i].empty || bpg_questions_refute(q, out[i].lower)) {
			bpg_pool_closed(v, d[i]);
			continue;
		}
		if ((point[points] = out[i].point))
			points++;
		if (out[i].branches) {
			choice[choices++] = (struct choice){ .at = i, .place = &out[i].branch[0], .known = { out[i].lower, out[i].lower } };
		} else if (!p->leaves) {
			bpg_pool_stuck(v, d[i]);
		} else {
			struct leaf_task *x = leaf[leaves++] = bpg_arena_alloc(v->arena, 1, sizeof *x);
			if (x)
				*x = (struct leaf_task){ p->root, { .disjunct = q, .splits = d[i]->splits, .split = d[i]->split }, d[i], &out[i] };
			else
				st = bpg_nomem(v->ctx, "linear programs");
		}
	}
	int found = st ? -1 : bpg_pool_try_all(v, point, points);
	if (found >= 0)
		try_at(v, point[found]);
	if (!st && choices && !p->x->witness.found && p->x->branching == BPG_BRANCHING_FSB)
		st = filter(v, d, out, choice, choices);
	for (int i = 0; i < choices && !st; i++)
		st = branch(v, d[choice[i].at], &out[choice[i].at], &choice[i], child, children);
	if (!st && leaves && !p->x->witness.found)
		st = settle_leaves(v, batch, leaf, leaves);
	bpg_batch_free(batch);
	return st;
}

enum bpg_status bpg_neurons_begin(struct bpg_ctx *ctx, struct bpg_search_pool *p, struct bpg_model *root, const int32_t *open, int opens)
{
	struct bpg_domain **d = bpg_calloc((size_t)opens + 1, sizeof *d);
	int64_t columns = 1;
	enum bpg_status st = d ? BPG_OK : bpg_nomem(ctx, "the search");

	p->root = root;
	p->leaves = bpg_leaf_suits(root);
	p->work = work_on;
	for (int i = 0; i < root->nodes; i++)
		columns = BPG_MAX(columns, bpg_columns_places(&root->node[i].columns));
	int64_t most = BPG_MIN(BATCH_FLOATS / columns, (int64_t)MOST);
	if (p->x->branching == BPG_BRANCHING_FSB) /* as many are bounded at once */
		most /= 2 * PLACES;
	int64_t batch = BPG_MIN(most, (int64_t)BATCH);
	p->batch = p->x->batch > 0 ? p->x->batch : p->x->bound.memory ? LEAST : (int)BPG_MAX(batch, (int64_t)LEAST);
	if (!p->x->batch && !p->x->bound.memory && !p->x->synchronous)
		p->most = (int)most;
	if (!st)
		st = bpg_domains_prepare(ctx, root);
	for (int i = 0; !st && i < opens; i++) {
		d[i] = bpg_domain_splits(open[i], 0, (int)bpg_questions(&p->x->spec->disjunct[open[i]]));
		if (!d[i]) {
			st = bpg_nomem(ctx, "the search");
			break;
		}
		d[i]->bound = -INFINITY;
		d[i]->share = 1.0 / opens;
	}
	if (!st)
		st = bpg_pool_begin(ctx, p, d, opens);
	else
		for (int i = 0; d && i < opens; i++)
			bpg_domain_drop(d[i]);
	free(d);
	return st;
}
