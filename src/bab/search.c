/* search.c - which kind of cut a search uses, by measured progress. See search.h. */
#include "bab/search.h"

#include <math.h>
#include <string.h>

#include "bab/pool.h"

/* Both kinds run for a slice each, slices double, and the one that has closed more a second goes on alone after some. */
static const double first_slice = 0.5;
enum { SLICES = 3, FEW_INPUTS = 8 };

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

enum bpg_status bpg_search_box(struct bpg_ctx *ctx, struct bpg_search *x, struct bpg_model *root, const int32_t *open, int opens,
                               struct bpg_arena *arena, enum bpg_search_end *end)
{
	const struct bpg_box *box = x->spec->disjunct[open[0]].box;
	struct bpg_search_pool pool[2] = { { .x = x, .whole = box }, { .x = x, .whole = box } }, *last = NULL;
	bool boxes = x->branching != BPG_BRANCHING_NEURON && bpg_boxes_suit(x->net, box);
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
	if (neurons)
		BPG_TRY_TO(bpg_neurons_begin(ctx, &pool[0], root, open, opens), out);
	if (boxes)
		BPG_TRY_TO(bpg_boxes_begin(ctx, &pool[1], open, opens), out);
	bool both = neurons && boxes;
	double slice = first_slice;
	for (int i = 0; both && !x->synchronous && i < SLICES && !last; i++, slice *= 2)
		for (int k = 0; k < 2 && !last; k++) {
			bpg_search_run(&pool[k], bpg_now() + slice);
			if (bpg_pool_done(&pool[k]) && !pool[k].stuck)
				last = &pool[k];
		}
	if (!last) {
		last = &pool[!neurons || (both && rate(&pool[1]) > rate(&pool[0]))];
		bpg_search_run(last, 0);
		if (both && last->stuck && !x->witness.found && !last->status) { /* the other may have a way out */
			last = &pool[last == &pool[0]];
			bpg_search_run(last, 0);
		}
	}
	*end = end_of(x, last);
	x->worst = last->frontier.count ? fmin(last->left, last->frontier.heap[0]->bound) : last->left;
	if (last->status && !x->witness.found)
		st = bpg_fail(ctx, last->status, "%s", last->message);
out:
	bpg_pool_fini(&pool[0]);
	bpg_pool_fini(&pool[1]);
	return st;
}
