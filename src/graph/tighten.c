/* tighten.c - see tighten.h. */
#include "graph/tighten.h"

#include <math.h>

/* One element, in the fields of its segment. */
static enum bpg_status take(struct bpg_ctx *ctx, const struct bpg_model *m, const struct bpg_model_node *v, double *own, int64_t j, double lo, double up)
{
	int64_t n = v->columns.n;
	double *l = own + BPG_LOWER * n, *u = own + BPG_UPPER * n, *c = own + BPG_CENTRE * n, *r = own + BPG_RADIUS * n;

	bpg_take_bounds(lo, up, &l[j], &u[j]);
	if (l[j] > u[j]) {
		if (m->options.slack)
			return bpg_fail(ctx, BPG_ENUMERIC, "%s: node '%s' (%s): the bounds of element %lld cross: %.17g > %.17g", m->net->path, v->hop.v->name,
			                v->hop.v->op, (long long)j, l[j], u[j]);
		l[j] = u[j] = (l[j] + u[j]) / 2;
	}
	double a = bpg_next_up(u[j] - c[j]), b = bpg_next_up(c[j] - l[j]), far = a > b ? a : b;
	if (far < r[j])
		r[j] = far;
	return BPG_OK;
}

enum bpg_status bpg_tighten(struct bpg_ctx *ctx, const struct bpg_model *m, struct bpg_model_node *v, const struct bpg_stage *s)
{
	for (int t = 0; t < s->tiles; t++) {
		const struct bpg_tile *tile = &s->tile[t];
		for (int i = 0; i < tile->count; i++) {
			double *own = v->bounds + (tile->segment ? tile->segment[i / BPG_LANES] : 0) * BPG_FIELDS * v->columns.n;
			BPG_TRY(take(ctx, m, v, own, tile->element[i], tile->result[bpg_tile_row(tile, i, false)], -tile->result[bpg_tile_row(tile, i, true)]));
		}
	}
	return BPG_OK;
}

enum bpg_status bpg_tighten_by(struct bpg_ctx *ctx, const struct bpg_model *m, struct bpg_model_node *v, const double *known)
{
	int64_t n = v->columns.n;

	for (int64_t i = 0; i < n; i++)
		BPG_TRY(take(ctx, m, v, v->bounds, i, known[i], known[n + i]));
	return BPG_OK;
}
