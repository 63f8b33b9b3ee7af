/* plan_internal.h - writing the steps of a wave; for plan.c and plan_alpha.c. */
#ifndef BPG_PLAN_INTERNAL_H
#define BPG_PLAN_INTERNAL_H

#include "graph/plan.h"

struct alpha_plan;

/* What the slots of an owner hold (see panels.h); `next` is filled next. */
struct fetched {
	int node[2], panel[2], next;
};

struct writer {
	struct bpg_ctx *ctx;
	struct bpg_model *m;
	const struct bpg_stage *s;
	struct bpg_wave *w;
	int first;
	int *held;                /* [tiles][nodes] buffer of a tile at a node, -1: none yet */
	int *pending;             /* [tiles][nodes] a second contribution that is not added yet, -1: none */
	int *relax;               /* [tiles][nodes] a unary node whose relaxation is left to this convolution, -1: none */
	struct bpg_window *window; /* [tiles][nodes] */
	struct alpha_plan *alpha; /* null: plain CROWN */
	size_t *live;             /* [owners] */
	size_t live_alpha;
	struct fetched *fetched;  /* [owners] */
	bool again;               /* this walk is for one node's coefficients */
	enum bpg_status st;
};

#define HELD(t, v) (x->held[(size_t)((t) - x->first) * (size_t)x->m->nodes + (size_t)(v)])
#define PENDING(t, v) (x->pending[(size_t)((t) - x->first) * (size_t)x->m->nodes + (size_t)(v)])
#define RELAX(t, v) (x->relax[(size_t)((t) - x->first) * (size_t)x->m->nodes + (size_t)(v)])
#define WINDOW(t, v) (x->window[(size_t)((t) - x->first) * (size_t)x->m->nodes + (size_t)(v)])

void bpg_plan_step(struct writer *x, struct bpg_step s);
/* A new buffer for a tile at a node; -1 after a failure. */
int bpg_plan_buffer(struct writer *x, int tile, int node);
/* The same, also over a part, for any owner. guest: of a stay in a zone. */
int bpg_plan_buffer_of(struct writer *x, int tile, int node, int owner, bool guest);
void bpg_plan_free(struct writer *x, int tile, int node, int buffer);
/* Rows over a node are ready. */
void bpg_plan_deliver(struct writer *x, int tile, int node, int buffer);

/* The tile is going to read this panel: 0: where it lies, else 1 + the slot of its owner that holds it then. */
int bpg_plan_gather(struct writer *x, int tile, int node, int panel);

/* Sets what a walk from the starts of the stage visits. */
enum bpg_status bpg_plan_cone(struct bpg_ctx *ctx, struct bpg_model *m, struct bpg_arena *arena, struct bpg_stage *s);

/* One backward pass of all tiles, from their starts to their bounds; k: number of the pass. until >= 0: only to this unary node,
 * where bpg_alpha_meet takes the coefficients. */
void bpg_plan_backward(struct writer *x, int count, int pass, int until);

/* ---- zones (plan_zone.c) ---- */

/* The walk starts between the nodes of a zone. */
bool bpg_zone_starts(const struct bpg_model *m, const struct bpg_stage *s);
void bpg_zone_start(struct writer *x, int tile);
/* From rows over the zone's output to rows over its input, which are delivered. */
void bpg_zone_walk(struct writer *x, int tile, const struct bpg_model_node *row, int buffer);
/* Bytes of the guests that each owner may have at once in a wave of `count` tiles are added to live[]. */
void bpg_zone_guests(struct writer *x, int count);

/* ---- alpha ---- */

/* Slopes of every tile; null after a failure. */
struct alpha_plan *bpg_alpha_plan_new(struct writer *x, int count);
void bpg_alpha_plan_free(struct writer *x, struct alpha_plan *a, int count);
/* The relaxation of a unary node with its slopes; false: the node has none. */
bool bpg_alpha_relax(struct writer *x, int tile, int node, int buffer);
/* The weights for the other planes of a node; -1: it has none. */
int bpg_alpha_weights(const struct writer *x, int tile, int node);
/* The walk has come to the node whose coefficients were to be recomputed. */
void bpg_alpha_meet(struct writer *x, int tile, int node, int buffer);
/* Coefficients over an end of the walk, or over a node with sparse planes, that the forward chain will need. */
void bpg_alpha_keep(struct writer *x, int tile, int node, int buffer);
/* After a walk of the joint objective: what the chain will need stays. */
void bpg_alpha_store(struct writer *x, int count);
/* The forward chain of all tiles, with a step of every slope. */
void bpg_alpha_forward(struct writer *x, int count, int pass);
/* Buffers of a tile at a node: slopes, moments, coefficients kept of a choice, and whole; -1: none. */
void bpg_alpha_buffers(const struct writer *x, int tile, int node, int buffer[4]);
/* A buffer for a point over a node. */
int bpg_alpha_point(struct writer *x, int tile, int node);

#endif
