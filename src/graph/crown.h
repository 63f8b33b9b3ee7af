/* crown.h - bounds of the rows asked: IBP, CROWN-IBP and CROWN. */
#ifndef BPG_CROWN_H
#define BPG_CROWN_H

#include "graph/model.h"

/* Bounds of every node, then of the rows: those of each segment, one behind the other.
 *
 *   row     [count] rows over the concatenated outputs; null: every output itself (count is set to their number)
 *   lower   [segments * count] written; lower[i] <= c_i y + d_i for every x of the region, in real arithmetic; -infinity: unknown
 *   upper   likewise from above
 *
 * Waits for its tasks. BPG_ENUMERIC: bounds crossed at the root or NaN; BPG_ECANCELLED: nothing was proved beyond
 * intervals that were ready (lower, upper hold what is sound). */
enum bpg_status bpg_bounds(struct bpg_ctx *ctx, struct bpg_model *m, const struct bpg_question_row *row, int64_t count, double *lower, double *upper);

/* Elements of node v whose bounds its consumers would use tighter in a segment: element[] ascending, returns their number. v's
 * interval is known. */
int64_t bpg_wanted(const struct bpg_model *m, const struct bpg_model_node *v, int segment, int64_t *element);

#endif
