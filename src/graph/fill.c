/* fill.c - see fill.h. */
#include "graph/fill.h"

#include <string.h>

/* A nonlinear node that reads v, or null. */
static const struct bpg_model_node *nonlinear_reader(const struct bpg_model *m, const struct bpg_model_node *v)
{
	for (int c = 0; c < v->consumers; c++) {
		const struct bpg_model_node *y = &m->node[v->consumer[c]];
		if (y->hop.kind == BPG_HOP_UNARY || y->hop.kind == BPG_HOP_PLANES)
			return y;
	}
	return NULL;
}

static enum bpg_status fill_layers(struct bpg_ctx *ctx, struct bpg_result *r, const struct bpg_model *m, bool bounds)
{
	struct bpg_result_layer *layer = bpg_arena_alloc(r->arena, (size_t)m->nodes + 1, sizeof *layer);

	if (!layer)
		return bpg_nomem(ctx, "the result");
	r->layers = 0;
	r->layer = layer;
	for (int i = 0; i < m->nodes; i++) {
		const struct bpg_model_node *v = &m->node[i], *reader = nonlinear_reader(m, v);
		struct bpg_result_layer *y = &layer[r->layers];

		if (!reader)
			continue;
		*y = (struct bpg_result_layer){ .tensor = bpg_arena_str(r->arena, v->net->tensor), .op = bpg_arena_str(r->arena, reader->hop.v->op),
			                        .n = v->columns.n, .unstable = v->unstable };
		if (bounds) {
			double *l = bpg_arena_alloc(r->arena, (size_t)y->n + 1, sizeof *l), *u = bpg_arena_alloc(r->arena, (size_t)y->n + 1, sizeof *u);
			if (!l || !u)
				return bpg_nomem(ctx, "the result");
			memcpy(l, bpg_field(v, BPG_LOWER), (size_t)y->n * sizeof *l);
			memcpy(u, bpg_field(v, BPG_UPPER), (size_t)y->n * sizeof *u);
			y->lower = l;
			y->upper = u;
		}
		r->layers++;
	}
	return BPG_OK;
}

enum bpg_status bpg_result_fill(struct bpg_ctx *ctx, struct bpg_result *r, const struct bpg_model *m, bool layer_bounds)
{
	uint64_t h = r->bounds_hash ? r->bounds_hash : BPG_HASH_START;
	int64_t *bytes = bpg_arena_alloc(r->arena, (size_t)r->owners + 1, sizeof *bytes);
	int64_t *gathered = bpg_arena_alloc(r->arena, (size_t)r->owners + 1, sizeof *gathered);

	if (!bytes || !gathered)
		return bpg_nomem(ctx, "the result");
	for (int i = 0; i < m->nodes; i++) {
		const struct bpg_model_node *v = &m->node[i];
		h = bpg_hash(h, bpg_field(v, BPG_LOWER), (size_t)v->columns.n * sizeof(double));
		h = bpg_hash(h, bpg_field(v, BPG_UPPER), (size_t)v->columns.n * sizeof(double));
	}
	h = bpg_hash(h, r->lower, (size_t)r->rows * sizeof(double));
	r->bounds_hash = bpg_hash(h, r->upper, (size_t)r->rows * sizeof(double));
	r->plan_hash = bpg_hash(r->plan_hash ? r->plan_hash : BPG_HASH_START, &m->plan_hash, sizeof m->plan_hash);
	r->tasks += m->steps;
	r->iterations += m->iterations;
	r->alpha_bytes = BPG_MAX(r->alpha_bytes, (int64_t)m->alpha_bytes);
	r->kept_stages += m->kept_stages;
	r->recomputed_stages += m->recomputed_stages;
	for (int o = 0; o < r->owners; o++)
		bytes[o] = BPG_MAX((int64_t)m->most_bytes[o], r->predicted_bytes ? r->predicted_bytes[o] : 0);
	r->predicted_bytes = bytes;
	for (int o = 0; o < r->owners; o++)
		gathered[o] = m->traffic[o] + (r->gathered_bytes ? r->gathered_bytes[o] : 0);
	r->gathered_bytes = gathered;
	return fill_layers(ctx, r, m, layer_bounds);
}
