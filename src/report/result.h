/* result.h - what a run found, as plain data: the engine fills it, reports and the public interface read it. */
#ifndef BPG_RESULT_H
#define BPG_RESULT_H

#include <bpgraph/bpgraph.h>
#include <bpgraph/layer.h>

#include "base/base.h"

struct bpg_result_layer {
	const char *tensor, *op;  /* the tensor that enters a nonlinear node, and that node's operator */
	int64_t n, unstable;
	const double *lower, *upper; /* null unless --layer-bounds */
};

/* A tensor of the witness under the name that a query gives it. */
struct bpg_result_tensor {
	const char *name, *type;
	struct bpg_shape shape;
	const float *value;
};

/* A figure of what the run cost; bpgraph.h has the names. */
struct bpg_stat {
	const char *name;
	double value;
};

/* Tasks of a kind that have run, and those of them that were twins: on a device. */
struct bpg_result_kind {
	const char *name;
	int64_t tasks, twins;
};

/* Kinds of work that an estimate tells apart: operations, bytes, or multiplications (machine.h). */
enum bpg_work {
	BPG_WORK_GEMM32, BPG_WORK_GEMM64, BPG_WORK_CONV, BPG_WORK_ADJOINT, BPG_WORK_TILES, BPG_WORK_STARTS, BPG_WORK_INTERVALS, BPG_WORK_PACKING, BPG_WORKS
};

/* What the work planned would take on some machine. */
struct bpg_result_estimate {
	const char *machine;
	double seconds;
	double work, critical;    /* neither can be beaten: all work over all workers, the longest chain */
	double waiting, overlap;  /* shares: of the workers' time without a task; of the time of transfers with one; overlap infinite: no transfers */
	double memory;            /* bytes that an owner has, 0: not known */
	double fresh;             /* bytes of tiles that are written for the first time */
	int workers;              /* of an owner */
	int64_t tasks, transfers, waits;
	struct bpg_work_done {
		int64_t tasks;
		double amount;
	} done[BPG_WORKS];
};

/* Everything lives in the arena. */
struct bpg_result {
	struct bpg_arena *arena;
	const char *network, *property; /* paths; property null: none */
	const char *method;       /* the one that was used */
	enum bpg_verdict verdict;
	const char *note;         /* a remark for people, or null */
	int64_t rows;             /* of the question */
	const double *lower, *upper; /* infinite where not asked or not known */
	int layers;
	const struct bpg_result_layer *layer;
	int64_t inputs, outputs;
	const float *witness_in, *witness_out; /* null unless sat */
	int tensors;              /* 0: inputs and outputs are X_i and Y_i */
	const struct bpg_result_tensor *tensor; /* in the order in which they are printed */
	int64_t domains, tasks;
	int groups;               /* of ranks that searched; 0: one process did, or none */
	int64_t moved;            /* domains that went from one group to another */
	int64_t iterations;       /* that the rows asked have had */
	int64_t frontier_bytes, spilled_bytes; /* of domains that waited for a search, at most: in memory, on disk */
	struct {
		double total, load, bound, search;
	} seconds;
	int64_t alpha_bytes;      /* planned for parameters, moments and coefficients, of all owners */
	int kept_stages, recomputed_stages; /* optimised, by whether coefficients are kept or recomputed */
	int owners;
	const int64_t *predicted_bytes, *peak_bytes; /* [owners] */
	int ranks;
	const int64_t *peak_rss_bytes; /* [ranks] */
	const int64_t *parameter_bytes; /* [ranks] registered for slopes, multipliers and moments, at most */
	const double *waiting;    /* [ranks] share of the time in which workers ran no task */
	const int64_t *gathered_bytes; /* [owners] of weights, as planned */
	const int64_t *received_bytes; /* [ranks] from other ranks; null where there is one */
	int stats;
	const struct bpg_stat *stat;
	int workers, devices;
	int kinds;                /* of tasks; 0 where there are no devices */
	const struct bpg_result_kind *kind;
	const char *placement, *scheduler;
	uint64_t plan_hash, bounds_hash;
	const struct bpg_result_estimate *estimate; /* null: no machine was described */
};

/* The verdict and its witness, or a line for each row; path "-": standard output. */
enum bpg_status bpg_result_text(struct bpg_ctx *ctx, const struct bpg_result *r, const char *path);
/* BPG_ENUMERIC when a bound or a witness is NaN: asked before anything is printed. */
enum bpg_status bpg_result_check(struct bpg_ctx *ctx, const struct bpg_result *r);
/* JSON to a file, "-": standard output. */
enum bpg_status bpg_result_json(struct bpg_ctx *ctx, const struct bpg_result *r, const char *path);
/* Exit status of the program. */
int bpg_result_exit(const struct bpg_result *r);

#endif
