/* domains.h - bounds of many domains at once: the root's region less what splits of neurons cut off (beta-CROWN).
 *
 * A domain differs from the root by its splits alone: intermediate bounds, planes, references and panels are the root's. A split
 * cuts the interval of its element inside the domain, which gives it better lines, and adds a multiplier to every row. Slopes and
 * multipliers are optimised row by row. All of it is one graph of tasks without a wait inside; several batches may be in
 * flight. A domain's results do not depend on the others in its batch.
 *
 * Over several ranks all submit the same batches in the same order, one at a time, and have the same results; but parameters stay with the
 * rank that had the rows, and points (bpg_domains_points). */
#ifndef BPG_DOMAINS_H
#define BPG_DOMAINS_H

#include "graph/model.h"

/* x >= point (side 1) or x <= point (side -1) on an element of the input x of a unary node. */
struct bpg_split {
	int node;                 /* the unary node */
	int64_t element;
	double point;
	int side;
};

/* Borrowed until the batch is freed, `split` only by the call. */
struct bpg_domain_in {
	int splits;
	const struct bpg_split *split;
	int rows;
	const struct bpg_question_row *const *row;
	bool any;                 /* one proved row is enough: the row nearest to a proof says where to split. Else the farthest */
	/* [rows] parameters to begin with, as bpg_domain_out.params of a domain of the same model, which had the first `held` of these
	 * splits. Null: as the layers start. */
	const float *const *params;
	/* Between ranks: [rows] who has the parameters of a row; elsewhere its place in `params` is null. With their bytes in each row. Null: all
	 * are here. */
	const int *rank;
	size_t params_bytes;
	int held;
	const double *known;      /* [rows] bounds that are proved already, such as those of a domain that holds this one; null: none */
};

/* Where to split next, and how much that may help, for every unary layer: |coefficient| times the distance of the line in force
 * from the function, the geometric mean of that at the point where the last bound is attained and of the greatest one; a lower line
 * whose slope is free counts less, as the optimiser moves it. The point is the layer's kink nearest to the middle of the interval, for
 * smooth layers the middle. */
struct bpg_branch {
	int node;
	int64_t element;
	double point, score;
};

enum { BPG_BRANCHES = 4 }; /* BPG_PLACES */

/* Memory belongs to the batch. */
struct bpg_domain_out {
	const double *lower;      /* [rows] sound, the best of all walks and of what was known; -infinity: nothing is. Proved when > 0 */
	bool empty;               /* no point satisfies the splits; `lower` is then infinity */
	int row;                  /* which says where to split, see `any` */
	int branches;             /* falling score; 0: nothing is left to split */
	struct bpg_branch branch[BPG_BRANCHES];
	const float *point;       /* [inputs] where the last bound of that row is attained, inside the box: perhaps a counterexample */
	const float *const *params; /* [rows] the best ones, of rows that are not proved (what proved ones have means nothing) */
	const int *rank;          /* [rows] which has them, and the point of that row; null: all are here */
	size_t params_bytes;      /* of each row: a float for every neuron with two lines (two where both have a parameter), for every
	                             other plane of layers with planes where the root was optimised, and for every split */
};

struct bpg_domain_options {
	int iterations;           /* steps of the optimiser: a walk more than that */
	/* Of Adam: learning rates of slopes (in a search 0.1 does well), and of multipliers in units of the row's coefficients at the node
	 * (1 to 2), and their factor from step to step (0.98). */
	double rate, beta_rate, decay;
	bool wide;                /* rows in double: where the slack alone decides */
	struct bpg_group *group;  /* of the tasks; null: none */
};

struct bpg_batch;

/* What all batches of a model share. Once, after bpg_bounds; the model is not changed by what follows. */
enum bpg_status bpg_domains_prepare(struct bpg_ctx *ctx, struct bpg_model *model);
/* Submits the tasks of `count` domains of a prepared model, and returns without waiting (but for the window of the runtime).
 * Several threads may do that at a time, with a context each. BPG_ENOMEM; faults inside tasks are those of the wait. */
enum bpg_status bpg_domains_submit(struct bpg_ctx *ctx, struct bpg_model *model, const struct bpg_domain_in *in, int count,
                                   const struct bpg_domain_options *options, struct bpg_batch **batch);
/* out[count], when the batch's tasks have ended without a fault. */
enum bpg_status bpg_domains_collect(struct bpg_ctx *ctx, struct bpg_batch *batch, struct bpg_domain_out *out);
/* What rank `from` has in memory goes to all ranks of the model, which wait for it; with one nothing happens. */
enum bpg_status bpg_domains_tell(struct bpg_ctx *ctx, struct bpg_batch *batch, void *data, size_t bytes, int from);
/* The points of these domains, at all ranks. */
enum bpg_status bpg_domains_points(struct bpg_ctx *ctx, struct bpg_batch *batch, struct bpg_domain_out *out, const int *domain, int count);
/* When the batch's tasks have ended, one way or the other. */
void bpg_batch_free(struct bpg_batch *batch);
/* Bytes of its tiles, lists and results at most. */
size_t bpg_batch_bytes(const struct bpg_batch *batch);
/* Tasks submitted for it. */
int64_t bpg_batch_tasks(const struct bpg_batch *batch);

#endif
