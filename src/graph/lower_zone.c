/* lower_zone.c - the steps of a zone (plan_zone.c) as tasks and transfers. */
#include "graph/lower_internal.h"

#include "graph/panels.h"
#include "graph/zones.h"
#include "rt/comm.h"

bool bpg_step_of_zone(enum bpg_step_kind kind)
{
	return kind == BPG_STEP_ENTER || kind == BPG_STEP_LEAVE || kind == BPG_STEP_MOVE || kind == BPG_STEP_MOVE_STATE || kind == BPG_STEP_STATE || kind == BPG_STEP_ROWS;
}

enum bpg_status bpg_lower_planes_of_parts(struct bpg_ctx *ctx, struct bpg_model *m, struct bpg_model_node *v)
{
	bpg_zone_refresh(m, v);
	for (int s = 0; s < v->zone->segments; s++)
		BPG_TRY(bpg_lower_planes(ctx, m, bpg_zone_part(m, v, s)));
	return BPG_OK;
}

/* A task that only waits: for what the stay will hold or has held, and for the berth. */
static enum bpg_status lower_berth(struct lowering *x, const struct bpg_step *p)
{
	bool enters = p->kind == BPG_STEP_ENTER;
	int sum = enters ? p->to : p->from, rows = p->extra[0], owner = sum >= 0 ? x->w->buffer[sum].owner : x->w->buffer[rows].owner;
	struct bpg_tensor *b[4];
	enum bpg_access mode[4];
	int n = 0;

	if (!bpg_mine(x->m, owner))
		return BPG_OK;
	if (enters) {
		if (sum >= 0)
			BPG_TRY(bpg_lower_need(x, sum));
		if (rows >= 0)
			BPG_TRY(bpg_lower_need(x, rows));
		mode[n] = BPG_READ_WRITE, b[n++] = x->state[p->tile - x->first];
	}
	if (sum >= 0)
		mode[n] = enters ? BPG_WRITE : BPG_READ_WRITE, b[n++] = x->buffer[sum];
	if (rows >= 0)
		mode[n] = enters && p->extra[1] ? BPG_WRITE : BPG_READ_WRITE, b[n++] = x->buffer[rows];
	if (p->k >= 0) {
		mode[n] = BPG_WRITE;
		b[n] = bpg_guest_berth(x->m, x->slots, owner, p->k);
		if (!b[n++])
			return bpg_nomem(x->ctx, "a wave");
	}
	return bpg_model_submit(x->m, BPG_TASK_STEP, bpg_task_nothing, NULL, 0, n, b, mode, p->priority, p->node, p->tile, 0);
}

/* Within a process a copy, between processes a transfer, which all of them name. */
static enum bpg_status lower_move(struct lowering *x, const struct bpg_step *p)
{
	const struct bpg_buffer *from = &x->w->buffer[p->from], *to = &x->w->buffer[p->to];
	bool apart = x->m->options.ranks > 1 && from->owner != to->owner;
	struct bpg_arg_gather a = { to->bytes };

	if (bpg_mine(x->m, to->owner))
		BPG_TRY(bpg_lower_need(x, p->to));
	x->written[p->to] = true;
	if (apart)
		return bpg_rt_transfer(x->m->rt, bpg_mine(x->m, to->owner) ? x->buffer[p->to] : x->buffer[p->from], to->bytes, from->owner, to->owner, p->node);
	if (!bpg_mine(x->m, to->owner))
		return BPG_OK;
	struct bpg_tensor *b[] = { x->buffer[p->from], x->buffer[p->to] };
	static const enum bpg_access r_w[] = { BPG_READ, BPG_WRITE };
	return bpg_model_submit(x->m, BPG_TASK_GATHER, bpg_task_gather, &a, sizeof a, 2, b, r_w, p->priority, p->node, p->tile, 0);
}

static enum bpg_status lower_move_state(struct lowering *x, const struct bpg_step *p)
{
	const struct bpg_tile *t = &x->s->tile[p->tile];
	struct bpg_tensor **state = &x->state[p->tile - x->first];
	size_t bytes = (size_t)(BPG_STATES * t->strips * BPG_LANES) * sizeof(double);
	int from = p->extra[0], to = p->extra[1];

	if (x->m->options.ranks < 2)
		return BPG_OK;
	if (bpg_mine(x->m, to))
		BPG_TRY(bpg_lower_state(x, p->tile));
	BPG_TRY(bpg_rt_transfer(x->m->rt, *state, bytes, from, to, p->node));
	if (bpg_mine(x->m, from) && !bpg_mine(x->m, t->owner)) {
		bpg_tensor_release(*state);
		*state = NULL;
	}
	return BPG_OK;
}

static struct bpg_arg_start start_arg(const struct lowering *x, const struct bpg_model_node *v, const struct bpg_tile *t)
{
	return (struct bpg_arg_start){ .hop = &v->hop, .element = t->element, .count = t->count, .sides = t->sides, .minus = t->minus, .slack = x->m->options.slack,
		                       .tile = { .strips = t->strips, .wide = t->wide, .segment = t->segment } };
}

/* The state of the rows, at home. */
static enum bpg_status lower_start_state(struct lowering *x, const struct bpg_step *p)
{
	const struct bpg_model_node *v = &x->m->node[p->node];
	const struct bpg_tile *t = &x->s->tile[p->tile];
	struct bpg_arg_start a = start_arg(x, v, t);
	struct bpg_tensor *b[3] = { v->bounds_t };
	enum bpg_access mode[3] = { BPG_READ, BPG_WRITE };

	if (!bpg_mine(x->m, t->owner))
		return BPG_OK;
	BPG_TRY(bpg_lower_state(x, p->tile));
	b[1] = x->state[p->tile - x->first];
	int n = bpg_lower_moor(x, p->tile, b, mode, 2);
	return bpg_model_submit(x->m, BPG_TASK_START, bpg_task_start_state, &a, sizeof a, n, b, mode, p->priority, p->node, p->tile, 0);
}

/* The rows over one segment. */
static enum bpg_status lower_rows(struct lowering *x, const struct bpg_step *p)
{
	struct bpg_model *m = x->m;
	const struct bpg_model_node *v = &m->node[p->node], *hidden = bpg_zone_hidden(m, v->zone, v->segment);
	struct bpg_arg_start a = start_arg(x, v, &x->s->tile[p->tile]);
	struct bpg_tensor *b[4] = { m->node[v->whole].bounds_t };
	enum bpg_access mode[4] = { BPG_READ };
	int n = 1;

	if (!bpg_mine(m, x->w->buffer[p->to].owner))
		return BPG_OK;
	BPG_TRY(bpg_lower_need(x, p->to));
	a.tile = bpg_lower_view(x, p->to);
	a.begun = true;
	if (p->k) {
		a.relax = &hidden->hop;
		a.under = bpg_relax_under(m, hidden);
		mode[n] = BPG_READ, b[n++] = hidden->planes_t;
	}
	mode[n] = BPG_WRITE, b[n++] = x->buffer[p->to];
	mode[n] = BPG_READ_WRITE, b[n++] = x->state[p->tile - x->first];
	return bpg_model_submit(m, BPG_TASK_START, bpg_task_start_dense, &a, sizeof a, n, b, mode, p->priority, p->node, p->tile, 0);
}

enum bpg_status bpg_lower_zone_step(struct lowering *x, const struct bpg_step *p)
{
	switch (p->kind) {
	case BPG_STEP_MOVE:
		return lower_move(x, p);
	case BPG_STEP_MOVE_STATE:
		return lower_move_state(x, p);
	case BPG_STEP_STATE:
		return lower_start_state(x, p);
	case BPG_STEP_ROWS:
		return lower_rows(x, p);
	default:
		return lower_berth(x, p);
	}
}
