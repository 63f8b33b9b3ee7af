/* outcome.h - one bound propagation as tests see it: rows, the model behind them, hashes. */
#ifndef OUTCOME_H
#define OUTCOME_H

#include "base/base.h"
#include "graph/crown.h"

struct outcome {
	struct bpg_ctx *ctx;
	struct bpg_model *m;      /* its nodes' bounds can be read */
	int64_t rows;
	double *lower, *upper;
	uint64_t bounds_hash, plan_hash;
};

/* What `bpgraph run` would take, with these. */
struct bpg_bound_options outcome_options(enum bpg_method method, bool wide);

/* Changes a model that is about to run. */
typedef void outcome_poke(struct bpg_model *m, const void *arg);

/* Bounds of `row` (null: of all outputs; count is ignored) over the region; BPG_OK, or the message is in `ctx`. The
 * result is released by outcome_fini in either case. */
enum bpg_status outcome_run(struct outcome *o, struct bpg_ctx *ctx, struct bpg_rt *rt, const struct bpg_net *net,
        const struct bpg_region *region,
                            const struct bpg_bound_options *options, const struct bpg_question_row *row, int64_t count);
enum bpg_status outcome_poked(struct outcome *o, struct bpg_ctx *ctx, struct bpg_rt *rt, const struct bpg_net *net,
        const struct bpg_region *region,
                              const struct bpg_bound_options *options, const struct bpg_question_row *row, int64_t count,
        outcome_poke *poke,
                              const void *arg);
void outcome_fini(struct outcome *o);

/* The node whose ONNX tensor has this name; null: there is none. */
const struct bpg_model_node *outcome_node(const struct outcome *o, const char *tensor);

#endif
