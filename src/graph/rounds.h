/* rounds.h - a stage from start to end: its waves, and where rows are optimised, rounds of iterations between which rows leave. */
#ifndef BPG_ROUNDS_H
#define BPG_ROUNDS_H

#include "graph/plan.h"

/* Asked when all tiles of `stage` have been bounded some more: uses their results, and sets tile.met[i] of every element (or row)
 * that needs no more. */
typedef enum bpg_status bpg_look_fn(struct bpg_ctx *ctx, struct bpg_model *m, const struct bpg_stage *stage, void *arg);

/* Bounds the rows of a stage. `look` is asked at the end of every round, once for every element at least, and for those that have
 * left no more. An element leaves when it is met, or when --patience iterations brought its rows less than a hundredth of what all
 * brought; the others are packed into fewer tiles. Both are functions of its own rows, so that no bound depends on tiles or waves.
 *
 * With a memory limit a wave has all of its rounds before the next begins. BPG_ECANCELLED: what `look` has seen is sound. */
enum bpg_status bpg_stage_run(struct bpg_ctx *ctx, struct bpg_model *m, struct bpg_stage *stage, bpg_look_fn *look, void *arg);

#endif
