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

/* ---- parts of it, for the joint objective ---- */

/* Passes [from, to) of all tiles, `size` of them in a wave. Bounds are there on return; in the phase of chains tasks are submitted
 * only. others: [owners] bytes that other stages hold; null: none. */
enum bpg_status bpg_round_run(struct bpg_ctx *ctx, struct bpg_model *m, struct bpg_stage *stage, int size, const size_t *others);
/* The pass before which the round that begins at `from` ends. */
int bpg_round_end(const struct bpg_model *m, const struct bpg_stage *stage);
/* Gains count from the present results. */
void bpg_round_plain(struct bpg_stage *stage);
/* Elements that are met leave, with `gains` also those that gain no more; tiles are replaced where any does. others: as above. */
enum bpg_status bpg_round_pack(struct bpg_ctx *ctx, struct bpg_model *m, struct bpg_stage *stage, bool gains, const size_t *others);

#endif
