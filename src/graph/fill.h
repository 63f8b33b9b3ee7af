/* fill.h - what a finished propagation says in the result. */
#ifndef BPG_FILL_H
#define BPG_FILL_H

#include "graph/model.h"
#include "report/result.h"

/* Layers, hashes, tasks and predicted bytes; the rows are in the result already. Hashes and tasks of several
 * propagations add up. */
enum bpg_status bpg_result_fill(struct bpg_ctx *ctx, struct bpg_result *r, const struct bpg_model *m, bool layer_bounds);

#endif
