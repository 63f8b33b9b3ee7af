/* batch_ranks.c - what ranks exchange of a batch of domains. All have the same domains and the same tiles, and each does its own. Before
 * that, parameters go to the rank that has their rows this time; behind it, results go to all, so that all decide alike. Points
 * are large and seldom wanted: they go when they are asked for. */
#include <string.h>

#include "graph/domains_internal.h"
#include "graph/lower.h"
#include "rt/comm.h"

/* Under fsdp each rank does all rows. */
static bool dealt(const struct bpg_model *m)
{
	return m->options.ranks > 1 && m->placement != BPG_PLACEMENT_FSDP;
}

/* From memory of one rank to that of another; every rank names it. */
static enum bpg_status carry(struct bpg_ctx *ctx, const struct bpg_batch *b, void *data, size_t bytes, int from, int to)
{
	struct bpg_model *m = b->m;
	bool concerned = m->options.rank == from || m->options.rank == to;
	struct bpg_tensor *t = concerned && from != to ? bpg_tensor_new(m->rt, bytes, data, m->options.rank) : NULL;

	if (concerned && from != to && !t)
		return bpg_nomem(ctx, "a message");
	enum bpg_status st = bpg_rt_transfer(m->rt, t, bytes, from, to, b->stage.start[0]);
	bpg_tensor_release(t);
	return st;
}

enum pass { COUNT, PACK, UNPACK };

/* Rows whose parameters another rank has, in the order of domains and rows. n, buffer: [from][to], floats. */
static void visit(struct bpg_batch *b, enum pass pass, size_t *n, float *const *buffer)
{
	int ranks = b->m->options.ranks, me = b->m->options.rank;

	memset(n, 0, (size_t)(ranks * ranks) * sizeof *n);
	for (int d = 0; d < b->count; d++) {
		const struct bpg_domain_in *in = &b->in[d];
		int row = 0;
		for (int p = in->rank && in->rows ? d : -1; p >= 0; p = b->part[p].next) {
			struct batch_tile *tile = &b->tile[b->part[p].tile];
			const struct bpg_share *s = &tile->share[b->part[p].share];
			int to = b->stage.tile[b->part[p].tile].owner;
			for (int i = 0; i < s->rows; i++, row++) {
				int from = in->rank[row], pair = from * ranks + to;
				if (from == to)
					continue;
				if (pass == PACK && from == me)
					memcpy(buffer[pair] + n[pair], in->params[row], in->params_bytes);
				if (pass == UNPACK && to == me)
					tile->lane[s->first + i].in = buffer[pair] + n[pair];
				n[pair] += in->params_bytes / sizeof(float);
			}
		}
	}
}

enum bpg_status bpg_batch_move(struct bpg_ctx *ctx, struct bpg_batch *b)
{
	int ranks = b->m->options.ranks, me = b->m->options.rank;

	if (!dealt(b->m))
		return BPG_OK;
	size_t *n = bpg_arena_alloc(b->arena, (size_t)(ranks * ranks), sizeof *n);
	float **buffer = bpg_arena_alloc(b->arena, (size_t)(ranks * ranks), sizeof *buffer);
	if (!n || !buffer)
		return bpg_nomem(ctx, "the parameters of domains");
	visit(b, COUNT, n, buffer);
	for (int pair = 0; pair < ranks * ranks; pair++)
		if (n[pair] && (pair / ranks == me || pair % ranks == me) && !(buffer[pair] = bpg_arena_alloc(b->arena, n[pair], sizeof(float))))
			return bpg_nomem(ctx, "the parameters of domains");
	visit(b, PACK, n, buffer);
	for (int pair = 0; pair < ranks * ranks; pair++)
		if (n[pair])
			BPG_TRY(carry(ctx, b, buffer[pair], n[pair] * sizeof(float), pair / ranks, pair % ranks));
	visit(b, UNPACK, n, buffer);
	return bpg_model_wait(ctx, b->m);
}

enum bpg_status bpg_batch_share(struct bpg_batch *b)
{
	for (int t = 0; dealt(b->m) && t < b->stage.tiles; t++) {
		const struct bpg_tile *tile = &b->stage.tile[t];
		size_t rows = (size_t)(tile->strips * BPG_LANES);
		for (int r = 0; r < b->m->options.ranks; r++) {
			BPG_TRY(bpg_rt_transfer(b->m->rt, tile->result_t, 2 * rows * sizeof *b->tile[t].results, tile->owner, r, b->stage.start[0]));
			BPG_TRY(bpg_rt_transfer(b->m->rt, b->tile[t].place_t, rows * BPG_PLACES * sizeof *b->tile[t].place, tile->owner, r, b->stage.start[0]));
		}
	}
	return BPG_OK;
}

enum bpg_status bpg_batch_ranks(struct bpg_ctx *ctx, struct bpg_batch *b, int d, const int **rank)
{
	int *r = dealt(b->m) ? bpg_arena_alloc(b->arena, (size_t)b->in[d].rows + 1, sizeof *r) : NULL;
	int at = 0;

	*rank = r;
	if (dealt(b->m) && !r)
		return bpg_nomem(ctx, "the results of a domain");
	for (int p = r && b->in[d].rows ? d : -1; p >= 0; p = b->part[p].next)
		for (int i = 0; i < b->tile[b->part[p].tile].share[b->part[p].share].rows; i++)
			r[at++] = b->stage.tile[b->part[p].tile].owner;
	return BPG_OK;
}

enum bpg_status bpg_domains_tell(struct bpg_ctx *ctx, struct bpg_batch *b, void *data, size_t bytes, int from)
{
	for (int r = 0; dealt(b->m) && bytes && r < b->m->options.ranks; r++)
		BPG_TRY(carry(ctx, b, data, bytes, from, r));
	return dealt(b->m) ? bpg_model_wait(ctx, b->m) : BPG_OK;
}

enum bpg_status bpg_domains_points(struct bpg_ctx *ctx, struct bpg_batch *b, struct bpg_domain_out *out, const int *domain, int count)
{
	size_t inputs = (size_t)b->m->net->in_count;

	for (int i = 0; dealt(b->m) && i < count; i++) {
		struct bpg_domain_out *o = &out[domain[i]];
		int from = o->rank[o->row];
		float *point = bpg_mine(b->m, from) ? (float *)o->point : bpg_arena_alloc(b->arena, inputs, sizeof *point);
		if (!point)
			return bpg_nomem(ctx, "a point");
		BPG_TRY(bpg_domains_tell(ctx, b, point, inputs * sizeof *point, from));
		o->point = point;
	}
	return BPG_OK;
}
