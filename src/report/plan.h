/* plan.h - what a run would do: upper limits, from intervals alone. */
#ifndef BPG_REPORT_PLAN_H
#define BPG_REPORT_PLAN_H

#include "report/result.h"
#include "spec/question.h"

struct bpg_plan {
	int owners;
	const int64_t *predicted_bytes; /* [owners] of registered data, at most; lives in the result */
	int64_t alpha_bytes;      /* of these, parameters of alpha-crown, moments and coefficients */
	bool shared;              /* slopes are those of all rows of a side */
	int kept_stages, recomputed_stages; /* optimised, by whether coefficients are kept or recomputed */
	const int64_t *traffic_bytes; /* [owners] weights that each gathers; lives in the result */
	int64_t tasks;            /* steps of walks */
	double flops, seconds;    /* of the products; seconds: an estimate, from the rate of the kernel in use where no machine is described */
	const struct bpg_result_estimate *estimate; /* for a machine, null: none is described; lives in the result */
	uint64_t plan_hash;
};

/* *result owns the arrays; free it after use. */
enum bpg_status bpg_plan_make(struct bpg_ctx *ctx, const struct bpg_net *net, const struct bpg_question *q, const struct bpg_options *options,
                              struct bpg_plan *plan, struct bpg_result **result);

/* Text to standard output, or JSON to a file. */
enum bpg_status bpg_plan_text(struct bpg_ctx *ctx, const struct bpg_plan *plan);
enum bpg_status bpg_plan_json(struct bpg_ctx *ctx, const struct bpg_plan *plan, const char *path);

#endif
