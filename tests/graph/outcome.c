/* outcome.c - see outcome.h. */
#include "outcome.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "graph/fill.h"

struct bpg_bound_options outcome_options(enum bpg_method method, bool wide)
{
	return (struct bpg_bound_options){ .method = method, .slope = BPG_SLOPE_ADAPTIVE, .wide = wide, .slack = true, .sides = 3, .rate = 0.5, .decay = 0.98, .goal = INFINITY,
	        .owners = 1 };
}

/* The hashes that a report has. */
static enum bpg_status hashes(struct outcome *o)
{
	struct bpg_result r = { .arena = bpg_arena_new(), .rows = o->rows, .lower = o->lower, .upper = o->upper,
	        .owners = o->m->options.owners };
	enum bpg_status st = r.arena ? bpg_result_fill(o->ctx, &r, o->m, false) : bpg_nomem(o->ctx, "a test");

	o->bounds_hash = r.bounds_hash;
	o->plan_hash = r.plan_hash;
	bpg_arena_free(r.arena);
	return st;
}

enum bpg_status outcome_poked(struct outcome *o, struct bpg_ctx *ctx, struct bpg_rt *rt, const struct bpg_net *net,
        const struct bpg_region *region,
                              const struct bpg_bound_options *options, const struct bpg_question_row *row, int64_t count,
        outcome_poke *poke,
                              const void *arg)
{
	*o = (struct outcome){ .ctx = ctx, .rows = row ? count : net->out_count };
	o->lower = calloc((size_t)o->rows + 1, sizeof *o->lower);
	o->upper = calloc((size_t)o->rows + 1, sizeof *o->upper);
	if (!o->lower || !o->upper)
		return bpg_nomem(ctx, "a test");
	BPG_TRY(bpg_model_new(ctx, net, rt, region, options, &o->m));
	if (poke)
		poke(o->m, arg);
	BPG_TRY(bpg_bounds(ctx, o->m, row, o->rows, o->lower, o->upper));
	return hashes(o);
}

enum bpg_status outcome_run(struct outcome *o, struct bpg_ctx *ctx, struct bpg_rt *rt, const struct bpg_net *net,
        const struct bpg_region *region,
                            const struct bpg_bound_options *options, const struct bpg_question_row *row, int64_t count)
{
	return outcome_poked(o, ctx, rt, net, region, options, row, count, NULL, NULL);
}

void outcome_fini(struct outcome *o)
{
	bpg_model_free(o->m);
	free(o->lower);
	free(o->upper);
	o->m = NULL;
	o->lower = o->upper = NULL;
}

const struct bpg_model_node *outcome_node(const struct outcome *o, const char *tensor)
{
	for (int i = 0; i < o->m->nodes; i++)
		if (!strcmp(o->m->node[i].net->tensor, tensor))
			return &o->m->node[i];
	return NULL;
}
