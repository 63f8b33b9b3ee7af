/* task_beta.h - rows of domains: what a lane that has splits does otherwise than its neighbours, multipliers of splits (beta),
 * the best parameters met, and where to split next.
 *
 * The rows of a tile belong to domains: the region of the root, less what splits cut off. A split is z >= q (side 1) or z <= q
 * (side -1) on an element of the input z of a unary node. In its lanes the element has the lines of the interval that the splits
 * leave, and the row gets -beta side (z - q), which is <= 0 on the domain for every beta >= 0 (doc/numbers.md). All else is the
 * root's: planes, panels, references, radii.
 *
 * Splits of a tile at a node are a sorted list. A task takes the lanes of the list out of the tile (their coefficient becomes 0,
 * which passes every line as 0 and adds nothing), has the rest done by the task that knows no splits, and puts in what the list
 * has made of them. */
#ifndef BPG_TASK_BETA_H
#define BPG_TASK_BETA_H

#include "codelets/task_alpha.h"

/* A split as a batch is told of it. */
struct bpg_lane_split {
	int64_t element;          /* of the node's input */
	double point;
	int32_t row;              /* of the tile */
	int32_t side;
	int32_t number;           /* of its multiplier in the row */
	bool given;               /* the row's parameters have it; else it is a new split */
};

/* Rows whose parameters are given, and where they are written. A row's parameters: those of every node with a choice, nodes and
 * columns rising (where each line of a layer has one, first those of the lower, then those of the upper lines), then a
 * multiplier for each split. */
struct bpg_lane {
	const float *in;          /* null: as the layers start */
	int64_t out;              /* offset in the array that is written */
	int splits;               /* of its domain, at all nodes */
};

/* A split in its lane. The first of several on one element has the lines. */
struct bpg_beta {
	int64_t at;               /* element of the tile */
	int32_t row, column, element, number, followers;
	int32_t choice;           /* place among the columns with a choice, -1: none */
	float beta, m, v, best;   /* the multiplier (NaN: new), its moments, its value where the bound was best */
	float unit;               /* of its steps: root mean square of the row's coefficients at the node */
	double side, point;
	double far, far_price;    /* p per unit of beta: side (q - c); slack of it */
	double kept, held;        /* coefficient that met the node; coefficient or value that is put in */
	double l, u;              /* interval that the splits leave */
	double slope[2], old[2], price[2]; /* lower and upper line, as in relax_any: x -> slope x + old; slack per unit of |kept| */
	double was[2];            /* slopes of the lines without the new splits */
	double toll, radius;      /* slack per unit of the coefficient that leaves; of the input */
};

/* The best places to split, for each row. */
struct bpg_place {
	int32_t node;             /* -1: none */
	int32_t element;
	double point, score;
};
enum { BPG_PLACES = 4 };

struct bpg_arg_beta {
	struct bpg_arg_alpha alpha;
	const struct bpg_lane *lane;         /* [rows] */
	const struct bpg_lane_split *split;  /* [splits] of this tile and node, any order */
	int64_t splits;
	int64_t first, parameters; /* the node's first parameter in a row; how many there are before the multipliers */
	int node;
	double beta_rate;
	int rows;                 /* lanes in use */
	int step;                 /* which, from 0 */
};

/* Parameters as given or as the layer starts them (weights of planes: 0), moments 0, the list. buffers: planes, bounds of x, bounds of y (read), alpha,
 * moments, [list] (write). In brackets: where there are splits. */
bpg_task_fn bpg_task_beta_start;
/* bpg_task_relax_alpha with splits. buffers: its seven, [list (rw)]. */
bpg_task_fn bpg_task_beta_relax;
/* bpg_task_alpha_step with splits; before, parameters of rows whose bound has improved are copied to the best ones.
 * buffers: its six, best parameters (write when step is 0, else rw), results (read), [list (rw)]. */
bpg_task_fn bpg_task_beta_step;

/* The end of a walk, as bpg_task_finish. Results: [2 rows] doubles, the best bounds, then 1 where this walk's is better than
 * those before, else 0. buffers: state (read), results (write, from the second pass on rw). */
bpg_task_fn bpg_task_beta_finish;

/* Parameters of rows whose bound has improved are copied to the best ones, as a step does first. buffers: alpha (read), best (write
 * when step is 0, else rw), results (read), [list (rw)]. */
bpg_task_fn bpg_task_beta_keep;
/* The best parameters, of rows that are not proved. buffers: best, results, [list] (read), parameters (rw). */
bpg_task_fn bpg_task_beta_save;

/* Where a split of this node would help a row: |coefficient| times the distance of the line in force from the function, the
 * geometric mean of that at the point and of the greatest one. Where nothing matters to the row the distance alone decides. A
 * lane's BPG_PLACES best, falling; equal scores in the order of nodes as they come, then columns. Then the point goes on,
 * through the lower lines.
 * buffers: planes, bounds of x, bounds of y (read), point (rw), alpha, kept, [list] (read), places (rw). */
bpg_task_fn bpg_task_beta_places;

/* The point where the bound of one row of each domain of the tile is attained, as floats inside the box of the input. */
struct bpg_share {
	int first, rows;          /* of the tile */
	bool any;                 /* the row nearest to a proof; else the one farthest from it */
};
struct bpg_arg_points {
	const struct bpg_hop *hop;
	struct bpg_view_tile tile;
	const struct bpg_share *share;
	int shares;
	int64_t first, inputs;    /* of this input in a point; elements of a point */
};
/* buffers: bounds of the input, point over it, results (read), points (rw; [shares][inputs] floats). */
bpg_task_fn bpg_task_beta_points;

/* The row that a domain is judged by. */
int bpg_share_row(const struct bpg_share *s, const double *bound);

#endif
