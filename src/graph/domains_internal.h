/* domains_internal.h - a batch of domains; for domains.c and plan_domains.c. */
#ifndef BPG_DOMAINS_INTERNAL_H
#define BPG_DOMAINS_INTERNAL_H

#include "codelets/task_beta.h"
#include "graph/domains.h"
#include "graph/plan_internal.h"

/* A tile at a unary node. */
struct batch_node {
	int64_t splits;
	struct bpg_lane_split *split;
	int list, best;           /* buffers, -1: none */
};

struct batch_tile {
	struct batch_node *node;  /* [nodes] */
	struct bpg_lane *lane;    /* [count] */
	int shares, *domain;    /* the domain of a share */
	struct bpg_share *share;
	double *results;
	struct bpg_place *place;
	float *params, *points;
	struct bpg_tensor *place_t, *params_t, *points_t;
};

/* The rows of a domain in one tile. */
struct batch_part {
	int tile, share, next;  /* next part, -1: none */
};

struct bpg_batch {
	struct bpg_model model, *m; /* the root's, with counts and options of its own; its nodes are shared */
	struct bpg_arena *arena;
	struct bpg_domain_options options;
	int count;
	const struct bpg_domain_in *in;
	struct bpg_stage stage;
	struct batch_tile *tile;
	struct batch_part *part;  /* the first `count` are the domains' first ones */
	bool *empty;
	int64_t parameters, *first; /* of slopes in a row; [nodes] number of a node's first */
	size_t bytes;
};

/* Between ranks, see batch_ranks.c: parameters to who has the rows, waited for; results to all; who has the rows of a domain (null: all are here). */
enum bpg_status bpg_batch_move(struct bpg_ctx *ctx, struct bpg_batch *b);
enum bpg_status bpg_batch_share(struct bpg_batch *b);
enum bpg_status bpg_batch_ranks(struct bpg_ctx *ctx, struct bpg_batch *b, int domain, const int **rank);
/* The steps of all tiles. */
void bpg_batch_plan(struct writer *x, int count);
/* Before parameters are stepped, or handed on: the best so far are kept. */
enum bpg_status bpg_batch_keep(struct bpg_ctx *ctx, struct bpg_batch *b, const struct bpg_wave *w, const struct bpg_step *p, struct bpg_tensor **buffer);
/* A step at a node with a choice, or one of BPG_STEP_BETA_*. `buffer`: tensors by number. */
enum bpg_status bpg_batch_lower(struct bpg_ctx *ctx, struct bpg_batch *b, const struct bpg_wave *w, const struct bpg_step *p,
                                struct bpg_tensor **buffer, struct bpg_tensor *state);

#endif
