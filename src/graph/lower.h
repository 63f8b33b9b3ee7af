/* lower.h - from plan to tasks. */
#ifndef BPG_LOWER_H
#define BPG_LOWER_H

#include "graph/plan.h"

/* Submits a task of the model, in its group. */
enum bpg_status bpg_model_submit(struct bpg_model *m, enum bpg_task_kind kind, bpg_task_fn *run, const void *arg, size_t bytes, int buffers,
                                 struct bpg_tensor *const *tensor, const enum bpg_access *access, int priority, int node, int tile, double flops);

/* Interval and reference of a node from those of its inputs; they arrive in v->bounds. */
enum bpg_status bpg_lower_interval(struct bpg_ctx *ctx, struct bpg_model *m, struct bpg_model_node *v);
/* Planes of a nonlinear node whose input bounds are final; the columns are set. Again, of a unary one, when these have come nearer. */
enum bpg_status bpg_lower_planes(struct bpg_ctx *ctx, struct bpg_model *m, struct bpg_model_node *v);
/* Submits the steps of a wave; results arrive in the tiles' result arrays. */
enum bpg_status bpg_lower_wave(struct bpg_ctx *ctx, struct bpg_model *m, const struct bpg_stage *s, const struct bpg_wave *w);
/* What tiles keep goes to where their elements are now, node by node, and is given up where it was; is given up. */
enum bpg_status bpg_lower_move(struct bpg_ctx *ctx, struct bpg_model *m, const struct bpg_stage *from, const struct bpg_stage *to);
void bpg_lower_leave(struct bpg_model *m, const struct bpg_stage *s);
/* With shared parameters (bpg_bound_options): makes and starts those of a stage; has the step of a pass, whose tiles are all submitted; gives
 * them up. */
enum bpg_status bpg_lower_shared(struct bpg_ctx *ctx, struct bpg_model *m, struct bpg_stage *s);
enum bpg_status bpg_lower_shared_step(struct bpg_model *m, const struct bpg_stage *s, int pass);
void bpg_lower_unshare(const struct bpg_model *m, struct bpg_stage *s);
/* The region's bounds as those of an input node. */
enum bpg_status bpg_lower_input(struct bpg_ctx *ctx, struct bpg_model *m, struct bpg_model_node *v);

/* Underflow of a relaxation and of the linear node before it, when that is charged with it. */
double bpg_relax_under(const struct bpg_model *m, const struct bpg_model_node *v);

/* Useful work of a step that is a product, 0 of others. */
double bpg_step_flops(const struct bpg_model *m, const struct bpg_stage *s, const struct bpg_wave *w, const struct bpg_step *p);

#endif
