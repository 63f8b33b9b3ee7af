/* plan_domains.c - the steps of a batch of domains: those of alpha-CROWN over the rows asked, with a list of splits at each
 * node that has some; then what is handed on. And their tasks. */
#include <math.h>
#include <stdlib.h>

#include "codelets/twin.h"
#include "graph/domains_internal.h"
#include "graph/lower.h"

/* ---- steps ---- */

static int sized(struct writer *x, int tile, int node, size_t bytes)
{
	int b = bpg_plan_buffer(x, tile, node);

	if (b < 0)
		return -1;
	x->live[x->s->tile[tile].owner] += bytes - x->w->buffer[b].bytes;
	x->w->most_bytes[x->s->tile[tile].owner] = BPG_MAX(x->w->most_bytes[x->s->tile[tile].owner], x->live[x->s->tile[tile].owner]);
	x->w->buffer[b].bytes = bytes;
	return b;
}

/* Where each node's parameters lie in a row, and memory for those that are handed on. All tiles have the same windows. */
static void set_parameters(struct writer *x, struct bpg_batch *b)
{
	int alpha[4];

	for (int v = 0; v < x->m->nodes; v++) {
		bpg_alpha_buffers(x, x->first, v, alpha);
		b->first[v] = b->parameters;
		if (alpha[0] >= 0)
			b->parameters += (int64_t)(x->w->buffer[alpha[0]].bytes / sizeof(float)) / (x->s->tile[x->first].strips * BPG_LANES);
	}
	for (int t = 0; t < b->stage.tiles; t++) {
		struct batch_tile *tile = &b->tile[t];
		int64_t n = 0;

		for (int s = 0; s < tile->shares; s++)
			for (int r = tile->share[s].first; r < tile->share[s].first + tile->share[s].rows; r++) {
				tile->lane[r].out = n;
				n += b->parameters + b->in[tile->domain[s]].splits;
			}
		if (!bpg_mine(x->m, b->stage.tile[t].owner))
			continue;
		tile->params = bpg_arena_alloc(b->arena, (size_t)n + 1, sizeof *tile->params);
		tile->params_t = tile->params ? bpg_tensor_new(x->m->rt, (size_t)n * sizeof *tile->params, tile->params, 0) : NULL;
		if (!tile->params_t) {
			x->st = bpg_nomem(x->ctx, "the parameters of domains");
			return;
		}
		b->bytes += (size_t)n * sizeof *tile->params;
	}
}

/* Where the last bounds are attained: from the coefficients over the inputs that the walk has left. */
static void take_points(struct writer *x, int tile)
{
	for (int i = 0; i < x->s->cone && !x->st; i++) {
		int id = x->s->visit[i], buffer[4];

		bpg_alpha_buffers(x, tile, id, buffer);
		if (buffer[3] < 0 || !bpg_stage_ends(x->m, x->s, id))
			continue;
		int point = bpg_alpha_point(x, tile, id);
		bpg_plan_step(x, (struct bpg_step){ .kind = BPG_STEP_CORNER, .node = id, .tile = tile, .from = buffer[3], .to = point });
		bpg_plan_step(x, (struct bpg_step){ .kind = BPG_STEP_BETA_POINTS, .node = id, .tile = tile, .from = point, .to = -1 });
		bpg_plan_free(x, tile, id, point);
	}
}

static void save(struct writer *x, int tile)
{
	for (int i = 0; i < x->s->cone && !x->st; i++) {
		int id = x->s->visit[i], buffer[4];

		bpg_alpha_buffers(x, tile, id, buffer);
		if (buffer[0] >= 0)
			bpg_plan_step(x, (struct bpg_step){ .kind = BPG_STEP_BETA_SAVE, .node = id, .tile = tile, .from = -1, .to = -1,
			                                    .extra = { buffer[0], buffer[1], buffer[2] } });
	}
}

void bpg_batch_plan(struct writer *x, int count)
{
	struct bpg_batch *b = x->s->batch;
	int buffer[4];

	x->alpha = bpg_alpha_plan_new(x, count);
	if (!x->st)
		set_parameters(x, b);
	for (int t = x->first; !x->st && t < x->first + count; t++)
		for (int v = 0; v < x->m->nodes; v++) {
			struct batch_node *n = &b->tile[t].node[v];
			bpg_alpha_buffers(x, t, v, buffer);
			n->list = n->best = -1;
			if (buffer[0] >= 0) {
				n->best = sized(x, t, v, x->w->buffer[buffer[0]].bytes);
				n->list = n->splits ? sized(x, t, v, (size_t)n->splits * sizeof(struct bpg_beta)) : -1;
			}
		}
	for (int pass = 0; !x->st && pass <= x->s->iterations; pass++) {
		bpg_plan_backward(x, count, pass, -1);
		for (int t = x->first; !x->st && pass == x->s->iterations && t < x->first + count; t++)
			take_points(x, t);
		if (!x->st)
			bpg_alpha_forward(x, count, pass); /* the last one finds places to split */
	}
	for (int t = x->first; !x->st && t < x->first + count; t++)
		save(x, t);
	for (int t = x->first; !x->st && t < x->first + count; t++)
		for (int v = 0; v < x->m->nodes; v++) {
			const struct batch_node *n = &b->tile[t].node[v];
			if (n->best >= 0)
				bpg_plan_free(x, t, v, n->best);
			if (n->list >= 0)
				bpg_plan_free(x, t, v, n->list);
		}
	bpg_alpha_plan_free(x, x->alpha, count);
}

/* ---- tasks ---- */

struct tasks {
	struct bpg_ctx *ctx;
	struct bpg_batch *b;
	const struct bpg_wave *w;
	struct bpg_tensor **buffer;
	int n;                    /* buffers of the task so far */
	struct bpg_tensor *t[10];
	enum bpg_access mode[10];
};

static void add(struct tasks *x, struct bpg_tensor *t, enum bpg_access mode)
{
	x->t[x->n] = t;
	x->mode[x->n++] = mode;
}

static void add_buffer(struct tasks *x, int b, enum bpg_access mode)
{
	if (b < 0)
		return;
	if (!x->buffer[b])
		x->buffer[b] = (bpg_buffer_lasts(&x->w->buffer[b]) ? bpg_tensor_parameters(x->b->m->rt, x->w->buffer[b].bytes, x->b->stage.tile[x->w->buffer[b].tile].owner)
		                                                   : bpg_tensor_new(x->b->m->rt, x->w->buffer[b].bytes, NULL, x->b->stage.tile[x->w->buffer[b].tile].owner));
	add(x, x->buffer[b], mode);
}

static enum bpg_status submit(struct tasks *x, enum bpg_task_kind kind, bpg_task_fn *run, const void *arg, size_t bytes, const struct bpg_step *p)
{
	struct bpg_task t = { .kind = kind, .run = run, .arg = arg, .arg_bytes = bytes, .buffers = x->n, .tensor = x->t, .access = x->mode,
		              .priority = p->priority, .node = p->node, .tile = p->tile, .group = x->b->options.group };

	for (int i = 0; i < x->n; i++)
		if (!x->t[i])
			return bpg_nomem(x->ctx, "a tile");
	if (bpg_rt_devices(x->b->m->rt))
		bpg_twin_set(&t);
	x->b->m->steps++;
	return bpg_rt_submit(x->b->m->rt, &t);
}

/* Parameters of a node are one array, or two: of lower and of upper lines. */
static bool one_array(const struct bpg_batch *b, int node)
{
	const struct bpg_hop *h = &b->m->node[node].hop;

	return h->kind == BPG_HOP_PLANES || (h->v->layer->traits & BPG_FREE_SLOPE);
}

static enum bpg_status lower_points(struct tasks *x, const struct bpg_step *p)
{
	struct bpg_model *m = x->b->m;
	struct bpg_model_node *v = &m->node[p->node];
	struct batch_tile *tile = &x->b->tile[p->tile];
	struct bpg_arg_points a = { .hop = &v->hop, .share = tile->share, .shares = tile->shares, .first = m->net->in_first[v->net->input],
		                    .inputs = m->net->in_count };

	a.tile = (struct bpg_view_tile){ .strips = x->b->stage.tile[p->tile].strips, .window = x->w->buffer[p->from].window };
	add(x, v->bounds_t, BPG_READ);
	add_buffer(x, p->from, BPG_READ);
	add(x, x->b->stage.tile[p->tile].result_t, BPG_READ);
	add(x, tile->points_t, BPG_READ_WRITE);
	return submit(x, BPG_TASK_CONCRETIZE, bpg_task_beta_points, &a, sizeof a, p);
}

enum bpg_status bpg_batch_keep(struct bpg_ctx *ctx, struct bpg_batch *b, const struct bpg_wave *w, const struct bpg_step *p, struct bpg_tensor **buffer)
{
	struct tasks x = { .ctx = ctx, .b = b, .w = w, .buffer = buffer };
	const struct batch_node *n = &b->tile[p->tile].node[p->node];
	struct bpg_arg_beta a = { .splits = n->list >= 0 ? n->splits : 0 };

	a.alpha.at = w->buffer[p->extra[0]].at;
	a.alpha.free = one_array(b, p->node);
	a.alpha.tile.strips = b->stage.tile[p->tile].strips;
	add_buffer(&x, p->extra[0], BPG_READ);
	add_buffer(&x, n->best, p->k == 0 ? BPG_WRITE : BPG_READ_WRITE);
	add(&x, b->stage.tile[p->tile].result_t, BPG_READ);
	add_buffer(&x, n->list, BPG_READ_WRITE);
	return submit(&x, BPG_TASK_STEP, bpg_task_beta_keep, &a, sizeof a, p);
}

static enum bpg_status lower_places(struct tasks *x, const struct bpg_step *p, const struct bpg_arg_beta *a)
{
	struct bpg_model_node *v = &x->b->m->node[p->node];

	add(x, v->planes_t, BPG_READ);
	add(x, x->b->m->node[v->src[0]].bounds_t, BPG_READ);
	add(x, v->bounds_t, BPG_READ);
	add_buffer(x, p->from, BPG_READ_WRITE);
	add_buffer(x, p->extra[0], BPG_READ);
	add_buffer(x, p->extra[2], BPG_READ);
	add_buffer(x, x->b->tile[p->tile].node[p->node].list, BPG_READ);
	add(x, x->b->tile[p->tile].place_t, BPG_READ_WRITE);
	return submit(x, BPG_TASK_CONCRETIZE, bpg_task_beta_places, a, sizeof *a, p);
}

enum bpg_status bpg_batch_lower(struct bpg_ctx *ctx, struct bpg_batch *b, const struct bpg_wave *w, const struct bpg_step *p,
                                struct bpg_tensor **buffer, struct bpg_tensor *state)
{
	struct tasks x = { .ctx = ctx, .b = b, .w = w, .buffer = buffer };
	struct bpg_model *m = b->m;
	struct bpg_model_node *v = &m->node[p->node], *in = &m->node[v->src[0]];
	const struct bpg_tile *t = &b->stage.tile[p->tile];
	struct batch_tile *tile = &b->tile[p->tile];
	const struct batch_node *n = &tile->node[p->node];
	bool first = p->k == 0;

	if (p->kind == BPG_STEP_BETA_POINTS)
		return lower_points(&x, p);

	const struct bpg_buffer *f = &w->buffer[p->extra[0]];
	double decay = pow(b->options.decay, p->k);
	struct bpg_arg_beta a = { .lane = tile->lane, .split = n->split, .splits = n->splits, .first = b->first[p->node], .parameters = b->parameters, .node = p->node,
		                  .rows = t->count, .step = p->k, .beta_rate = b->options.beta_rate * decay };
	a.alpha = (struct bpg_arg_alpha){ .hop = &v->hop, .at = f->at, .free = one_array(b, p->node),
		                          .rule = m->options.slope, .slack = m->options.slack, .under = v->hop.kind == BPG_HOP_UNARY ? bpg_relax_under(m, v) : 0,
		                          .rate = b->options.rate * decay, .bias1 = 1 / (1 - pow(0.9, p->k + 1)),
		                          .bias2 = 1 / (1 - pow(0.999, p->k + 1)) };
	a.alpha.tile = (struct bpg_view_tile){ .strips = t->strips, .wide = t->wide, .window = f->window };
	a.alpha.keep = true;
	switch (p->kind) {
	case BPG_STEP_ALPHA_START:
		add(&x, v->planes_t, BPG_READ);
		add(&x, in->bounds_t, BPG_READ);
		add(&x, v->bounds_t, BPG_READ);
		add_buffer(&x, p->extra[0], BPG_WRITE);
		add_buffer(&x, p->extra[1], BPG_WRITE);
		add_buffer(&x, n->list, BPG_WRITE);
		return submit(&x, BPG_TASK_STEP, bpg_task_beta_start, &a, sizeof a, p);
	case BPG_STEP_ALPHA_RELAX:
		add(&x, v->planes_t, BPG_READ);
		add_buffer(&x, p->from, BPG_READ_WRITE);
		add(&x, state, BPG_READ_WRITE);
		add_buffer(&x, p->extra[0], BPG_READ);
		add_buffer(&x, p->extra[2], BPG_WRITE);
		add(&x, in->bounds_t, BPG_READ);
		add(&x, v->bounds_t, BPG_READ);
		add_buffer(&x, n->list, BPG_READ_WRITE);
		return submit(&x, BPG_TASK_RELAX, bpg_task_beta_relax, &a, sizeof a, p);
	case BPG_STEP_ALPHA_STEP:
		if (p->k == b->options.iterations) {
			BPG_TRY(bpg_batch_keep(ctx, b, w, p, buffer));
			return lower_places(&x, p, &a);
		}
		add(&x, v->planes_t, BPG_READ);
		add(&x, in->bounds_t, BPG_READ);
		add_buffer(&x, p->from, BPG_READ_WRITE);
		add_buffer(&x, p->extra[2], BPG_READ);
		add_buffer(&x, p->extra[0], BPG_READ_WRITE);
		add_buffer(&x, p->extra[1], BPG_READ_WRITE);
		add_buffer(&x, n->best, first ? BPG_WRITE : BPG_READ_WRITE);
		add(&x, t->result_t, BPG_READ);
		add_buffer(&x, n->list, BPG_READ_WRITE);
		return submit(&x, BPG_TASK_STEP, bpg_task_beta_step, &a, sizeof a, p);
	default:
		add_buffer(&x, n->best, BPG_READ);
		add(&x, t->result_t, BPG_READ);
		add_buffer(&x, n->list, BPG_READ);
		add(&x, tile->params_t, BPG_READ_WRITE);
		return submit(&x, BPG_TASK_CONCRETIZE, bpg_task_beta_save, &a, sizeof a, p);
	}
}
