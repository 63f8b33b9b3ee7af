/* task_alpha.h - optimising slopes: the relaxation with a slope for each row and neuron, and the forward chain that gives
 * its gradient (design: the bound of a row is attained at a point of the region; sent forward through the chosen lines it
 * meets every nonlinear node, and there d bound / d slope = coefficient * value).
 *
 * Points are carried as deviations from the reference values, in float: a wrong gradient costs tightness, never
 * soundness. Layout as tiles: strips of 16 rows. */
#ifndef BPG_TASK_ALPHA_H
#define BPG_TASK_ALPHA_H

#include "codelets/tasks.h"

/* The columns of a tile at one unary node that have a slope to choose. Arrays of parameters are [strips][count][16]. */
struct bpg_alpha_columns {
	int64_t count;
	const int32_t *column, *place; /* [count] rising */
	uint64_t id;              /* of these lists alone (bpg_unique) */
};

struct bpg_arg_alpha {
	const struct bpg_hop *hop;
	struct bpg_view_tile tile;
	struct bpg_alpha_columns at;
	bool free;                /* the lower slope may be anything in [0,1] and is the parameter; else each line of the
	                             layer has one */
	int rule;                 /* enum bpg_slope_rule */
	bool slack;
	double under;             /* relax_alpha: as in bpg_arg_relax */
	bool keep;                /* relax_alpha: there is a buffer for coefficients */
	bool weighed;             /* step: rows count with weights, not all with 1 */
	bool summed;              /* bounds of x come nearer from step to step; derivatives by them are summed over rows */
	double rate, bias1, bias2; /* step: learning rate, 1/(1-beta1^t), 1/(1-beta2^t) of Adam */
	bool shared;              /* parameters are those of all rows of the stage, by their side: see bpg_task_shared_start */
	int minus, sides;         /* shared: which side a row is of, as in bpg_arg_start */
};

/* Parameters as the layer starts them, moments 0. Arrays of a layer that is not free: alpha 2 (lower, upper line), moments 4,
 * kept 3 (coefficient, slope, value at the reference). buffers: planes, bounds of x (read), alpha, moments (write). */
bpg_task_fn bpg_task_alpha_start;
/* relax in place with slopes alpha for coefficients >= 0; keeps the coefficients that met a choice, where asked to.
 * buffers: planes (read), tile (rw), state (rw), alpha (read), [kept (write)], bounds of x, bounds of y (read). */
bpg_task_fn bpg_task_relax_alpha;
/* One Adam step uphill and the projection to [0,1]; then the point goes on through the chosen lines, in place.
 * buffers: planes, bounds of x (read), point (rw), kept (read), alpha, moments (rw), [weights of rows (read: [strips * 16])],
 * [derivatives of the sum of weight * bound by lower and upper bounds of x, to which those of this tile are added, each in two parts
 * whose sum it is, so that the order of tiles does not matter (rw: [2][2][n])]. */
bpg_task_fn bpg_task_alpha_step;

/* ---- parameters that all rows of a stage share: [2 sides of rows][lines][places] floats, lines being 1 where the lower slope is free,
 * else 2. relax_alpha reads them; alpha_step reads them, and in place of moments adds derivatives of the sum of all rows to
 * [2 sides][lines][2 parts][places] doubles (rw), whose parts are as in that sum by bounds ---- */

/* As the layer starts them, the rest 0. buffers: planes, bounds of x (read), parameters, moments (twice as many), derivatives (write). */
bpg_task_fn bpg_task_shared_start;
/* A step of Adam by the derivatives, which are 0 then. buffers: bounds of x (read), parameters, moments, derivatives (rw). */
bpg_task_fn bpg_task_shared_step;

/* Weights of the rows of a tile in a sum of bounds, from the derivatives of that sum by the bounds of their node: a lower bound is that
 * of a row, an upper one the negated bound of its other row. buffers: derivatives (read: [2][2][n]), weights (write: [strips * 16]). */
struct bpg_arg_row_weights {
	const int64_t *element;   /* [count] */
	int count, minus, strips; /* as in bpg_arg_start, both sides */
	int64_t n;                /* elements of the node */
};
bpg_task_fn bpg_task_row_weights;

/* Rows of some elements from one tile's parameters (or moments) to another's: element index[i] there is element to_first + i here.
 * Arrays are [strips][count][16]. buffers: from (read), to (write when `first`, then the rest is 0; else rw). */
struct bpg_arg_move {
	int to_strips, to_minus, to_first, from_strips, from_minus, sides, elements, arrays;
	const int *index;         /* [elements] */
	int64_t count;
	bool first;
};
bpg_task_fn bpg_task_alpha_move;

/* Where the bound is attained. buffers: bounds of the input, tile over it, state (read), point (write). */
struct bpg_arg_corner {
	const struct bpg_hop *hop;
	struct bpg_view_tile tile;
	int norm;                 /* of the region: 0 box, 1, 2 ball */
	double radius;
};
bpg_task_fn bpg_task_corner;

/* Points over the input of a node to points over its output. */
struct bpg_arg_forward {
	const struct bpg_hop *hop;
	int k;                    /* operand */
	struct bpg_view_tile from, to; /* input, output */
	int64_t c0, c1;           /* dense: input columns of the panel */
	bool first;               /* the output is written, else added to */
};
/* buffers: panel as packed for the backward product (read), point in (read), point out (write / rw). */
bpg_task_fn bpg_task_forward_dense;
/* buffers: kernel packed by bpg_task_pack_conv_forward (read), point in (read), point out (write). */
bpg_task_fn bpg_task_forward_conv;
bpg_task_fn bpg_task_pack_conv_forward;
/* Linear terms. buffers: point in (read), point out (write / rw). */
bpg_task_fn bpg_task_forward_map;

/* ---- planes: weights for the other planes of an element (bpg_others_in), [strips][others][16], at least 0 and on a side of an
 * element no more than 1 together; what they leave is the weight of the plane that plain CROWN takes ---- */

struct bpg_arg_weights {
	const struct bpg_hop *hop;
	struct bpg_view_tile tile; /* coefficients over the output */
	int64_t others;           /* of its columns; 0: no weights */
	double rate, bias1, bias2; /* as in bpg_arg_alpha */
	bool weighed;             /* forward: as in bpg_arg_alpha */
	struct bpg_window in[];   /* [nin] of the points */
};
/* Weights and moments 0. buffers: weights, moments (write). */
bpg_task_fn bpg_task_weights_start;
/* Points over all inputs to the point over the output, by the planes that the signs of the coefficients choose and the weights;
 * then these have their step. buffers: bounds of v, bounds of each input, tile over v, point over each input (read), point out
 * (write), [weights, moments (rw)], [weights of rows (read)]. */
bpg_task_fn bpg_task_forward_planes;

#endif
