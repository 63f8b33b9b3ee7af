/* neurons.c - domains that are splits of neurons, bounded by beta-CROWN over the root's model: each has one disjunct, of which one
 * row that cannot hold is enough. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bab/pool.h"
#include "bab/questions.h"
#include "graph/domains.h"

enum { BATCH = 256, LEAST = 16, BATCH_FLOATS = 1 << 24 };
/* Steps of the optimiser for a domain that inherits its parent's parameters, and rates: measured on trained networks. */
enum { STEPS = 12 };
static const double slope_rate = 0.1, multiplier_rate = 1, decay = 0.98;

bool bpg_neurons_suit(const struct bpg_model *m)
{
	for (int i = 0; i < m->nodes; i++)
		if (m->node[i].hop.kind == BPG_HOP_UNARY)
			return true;
	return false;
}

/* What the children of a domain have in common: its parameters. */
static struct bpg_params *params_of(const struct bpg_domain_out *out, int64_t rows)
{
	struct bpg_params *p = bpg_params_new(rows, (int64_t)(out->params_bytes / sizeof *p->v));

	for (int64_t r = 0; p && r < rows; r++)
		memcpy(p->v + r * p->each, out->params[r], out->params_bytes);
	return p;
}

/* The child of a domain on one side of a split. */
static struct bpg_domain *child_of(const struct bpg_domain *d, const struct bpg_domain_out *out, struct bpg_params *params, int side)
{
	struct bpg_domain *c = bpg_domain_splits(d->open[0], d->splits + 1, d->rows);
	const struct bpg_branch *b = &out->branch[0];

	if (!c)
		return NULL;
	if (d->splits)
		memcpy(c->split, d->split, (size_t)d->splits * sizeof *c->split);
	c->split[d->splits] = (struct bpg_split){ b->node, b->element, b->point, side };
	c->held = d->splits;
	c->depth = d->depth + 1;
	c->share = d->share / 2;
	c->bound = -INFINITY;
	for (int r = 0; r < c->rows; r++) {
		c->known[r] = out->lower[r];
		c->bound = fmax(c->bound, out->lower[r]);
	}
	bpg_domain_give(c, params);
	return c;
}

/* Bounds of the batch, by one graph of tasks. */
static enum bpg_status bound(struct bpg_driver *v, struct bpg_domain **d, int count, struct bpg_batch **batch, struct bpg_domain_out *out)
{
	struct bpg_search_pool *p = v->p;
	struct bpg_domain_in *in = bpg_arena_alloc(v->arena, (size_t)count, sizeof *in);
	struct bpg_domain_options o = { .iterations = STEPS, .rate = slope_rate, .beta_rate = multiplier_rate, .decay = decay, .group = v->group };

	if (!in)
		return bpg_nomem(v->ctx, "a batch of domains");
	for (int i = 0; i < count; i++) {
		const struct bpg_disjunct *q = &p->x->spec->disjunct[d[i]->open[0]];
		struct bpg_question_row *row = bpg_arena_alloc(v->arena, (size_t)d[i]->rows, sizeof *row);
		const struct bpg_question_row **at = bpg_arena_alloc(v->arena, (size_t)d[i]->rows, sizeof *at);
		const float **params = bpg_arena_alloc(v->arena, (size_t)d[i]->rows, sizeof *params);
		if (!row || !at || !params || !bpg_questions_ask(v->arena, q, row))
			return bpg_nomem(v->ctx, "a batch of domains");
		for (int r = 0; r < d[i]->rows; r++)
			at[r] = &row[r], params[r] = d[i]->params ? d[i]->params->v + r * d[i]->params->each : NULL;
		in[i] = (struct bpg_domain_in){ .splits = d[i]->splits, .split = d[i]->split, .rows = d[i]->rows, .row = at, .any = true,
			                        .params = d[i]->params ? params : NULL, .held = d[i]->held,
			                        .known = d[i]->depth ? d[i]->known : NULL };
	}
	BPG_TRY(bpg_domains_submit(v->ctx, p->root, in, count, &o, batch));
	BPG_TRY(bpg_group_wait(v->group, v->ctx));
	bpg_pool_count(p, bpg_batch_tasks(*batch));
	return bpg_domains_collect(v->ctx, *batch, out);
}

/* Tries where the bound is attained, and its neighbours in float32. */
static bool try_point(struct bpg_driver *v, const struct bpg_domain_out *out)
{
	const struct bpg_net *net = v->p->x->net;
	const struct bpg_box *box = v->p->whole;
	float *x = bpg_arena_alloc(v->arena, (size_t)(net->in_count + net->out_count) + 1, sizeof *x);

	if (!x || !out->point)
		return false;
	for (int64_t i = 0; i < net->in_count; i++)
		x[i] = bpg_inside(out->point[i], box->in_lo[i], box->in_up[i]);
	return bpg_pool_try(v, x, x + net->in_count);
}

static enum bpg_status work_on(struct bpg_driver *v, struct bpg_domain **d, int count, struct bpg_domain **child, int *children)
{
	struct bpg_search_pool *p = v->p;
	struct bpg_domain_out *out = bpg_arena_alloc(v->arena, (size_t)count, sizeof *out);
	struct bpg_batch *batch = NULL;
	enum bpg_status st = out ? bound(v, d, count, &batch, out) : bpg_nomem(v->ctx, "a batch of domains");

	if (st)
		bpg_group_wait(v->group, NULL);
	for (int i = 0; !st && i < count; i++) {
		const struct bpg_disjunct *q = &p->x->spec->disjunct[d[i]->open[0]];

		if (out[i].empty || bpg_questions_refute(q, out[i].lower)) {
			bpg_pool_closed(v, d[i]);
			continue;
		}
		if (bpg_pool_may_try(v) && try_point(v, &out[i]))
			break;
		if (!out[i].branches) {
			bpg_pool_stuck(v, d[i]);
			continue;
		}
		struct bpg_params *params = params_of(&out[i], d[i]->rows);
		for (int side = -1; side <= 1 && !st; side += 2) {
			struct bpg_domain *c = params ? child_of(d[i], &out[i], params, side) : NULL;
			if (c)
				child[(*children)++] = c;
			else
				st = bpg_nomem(v->ctx, "a domain");
		}
		bpg_params_drop(params);
	}
	bpg_batch_free(batch);
	return st;
}

enum bpg_status bpg_neurons_begin(struct bpg_ctx *ctx, struct bpg_search_pool *p, struct bpg_model *root, const int32_t *open, int opens)
{
	struct bpg_domain **d = bpg_calloc((size_t)opens + 1, sizeof *d);
	int64_t columns = 1;
	enum bpg_status st = d ? BPG_OK : bpg_nomem(ctx, "the search");

	p->root = root;
	p->work = work_on;
	for (int i = 0; i < root->nodes; i++)
		columns = BPG_MAX(columns, bpg_columns_places(&root->node[i].columns));
	p->batch = p->x->batch > 0 ? p->x->batch : p->x->bound.memory ? LEAST : (int)BPG_MAX(BPG_MIN(BATCH_FLOATS / columns, (int64_t)BATCH), (int64_t)LEAST);
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
