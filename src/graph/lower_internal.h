/* lower_internal.h - what the submission of a wave's steps goes by; for lower.c and lower_zone.c. */
#ifndef BPG_LOWER_INTERNAL_H
#define BPG_LOWER_INTERNAL_H

#include "graph/lower.h"

struct lowering {
	struct bpg_ctx *ctx;
	struct bpg_model *m;
	const struct bpg_stage *s;
	const struct bpg_wave *w;
	struct bpg_tensor **buffer, **state;
	struct bpg_tensor **weights; /* of the rows of each tile, null: all count alike */
	bool *written;
	int first;
	struct bpg_slots *slots;
	struct bpg_tensor **berth; /* of each tile; null: it may begin at any time */
	int last;                 /* tile */
};

/* Makes the buffer, unless it is there. */
enum bpg_status bpg_lower_need(struct lowering *x, int buffer);
/* The tile's state, made where it is missing. */
enum bpg_status bpg_lower_state(struct lowering *x, int tile);
struct bpg_view_tile bpg_lower_view(const struct lowering *x, int buffer);
/* The tile begins, or ends: its berth as one more buffer of the task. Returns their number. */
int bpg_lower_moor(const struct lowering *x, int tile, struct bpg_tensor **b, enum bpg_access *mode, int n);

/* ---- zones (lower_zone.c) ---- */

bool bpg_step_of_zone(enum bpg_step_kind kind);
/* Planes of a zone's node, each part's with its owner. */
enum bpg_status bpg_lower_planes_of_parts(struct bpg_ctx *ctx, struct bpg_model *m, struct bpg_model_node *v);
enum bpg_status bpg_lower_zone_step(struct lowering *x, const struct bpg_step *p);

#endif
