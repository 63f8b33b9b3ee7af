/* tighten.h - where bounds of a node meet others of the same node. */
#ifndef BPG_TIGHTEN_H
#define BPG_TIGHTEN_H

#include "graph/plan.h"

/* The node's bounds and those of its rows, as a stage has left them: the tighter ones count, and radii follow. Finite bounds that
 * cross are a fault of ours or of the machine, never a proof: BPG_ENUMERIC; without rounding terms their middle is taken. */
enum bpg_status bpg_tighten(struct bpg_ctx *ctx, const struct bpg_model *m, struct bpg_model_node *v, const struct bpg_stage *s);

/* The same with bounds that were known before, [2][n], of a model of one region. */
enum bpg_status bpg_tighten_by(struct bpg_ctx *ctx, const struct bpg_model *m, struct bpg_model_node *v, const double *known);

/* The tighter of two sound bounds, on both sides. */
void bpg_take_bounds(double lo, double up, double *l, double *u);

#endif
