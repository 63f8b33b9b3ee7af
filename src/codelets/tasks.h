/* tasks.h - the bodies of shared tasks and their arguments. Buffers are listed in the order of the task. */
#ifndef BPG_TASKS_H
#define BPG_TASKS_H

#include "codelets/hop.h"
#include "rt/rt.h"

/* A model may hold several regions of one network, its segments: arrays of bounds and of planes of a node then lie one behind
 * the other, a strip's rows belong to one segment, and weights are shared. */

/* Rows of a tile at one node. */
struct bpg_view_tile {
	int strips;
	bool wide;                /* double */
	struct bpg_window window;
	const int32_t *segment;   /* [strips] of each strip; null: 0 */
};

static inline int64_t bpg_segment_of(const struct bpg_view_tile *t, int strip)
{
	return t->segment ? t->segment[strip] : 0;
}

/* A segment's bounds of a node with columns k, its planes. */
static inline const double *bpg_segment_bounds(const struct bpg_columns *k, const void *bounds, int64_t segment)
{
	return (const double *)bounds + segment * BPG_FIELDS * k->n;
}

static inline const double *bpg_segment_planes(const struct bpg_columns *k, const void *planes, int64_t segment)
{
	return (const double *)planes + segment * BPG_PLANE_FIELDS * bpg_columns_places(k);
}

/* interval: bounds of elements first .. first+n-1 of a node from the bounds of its inputs.
 * buffers: bounds of each variable operand (read), block of the node (write: BPG_FIELDS x n). */
struct bpg_arg_interval {
	const struct bpg_hop *hop;
	int64_t first, n;
	bool centred;             /* the centre of every input is the middle of its interval */
	int segments;             /* more than 1: all elements of each */
};
bpg_task_fn bpg_task_interval;

/* reduce: joins blocks of arrays (bounds, planes) into the whole: `fields` arrays of n elements. buffers: blocks (read), the
 * whole (write). */
struct bpg_arg_join {
	int64_t n, block;
	int fields;
};
bpg_task_fn bpg_task_join;

/* planes of a unary node, places [first, first+n). buffers: bounds of x, bounds of y (read), planes (write, BPG_PLANE_FIELDS
 * x n). */
struct bpg_arg_planes {
	const struct bpg_hop *hop;
	int64_t first, n;
	const struct bpg_hop *producer; /* the hop of x, when its toll is charged together with the relaxation; null: not */
	int rule;
	bool wide, slack;
	int segments;             /* more than 1: all places of each */
};
bpg_task_fn bpg_task_planes;

/* gather: packs columns [c0, c1) of the input of a dense node into consecutive panels.
 * buffers: panels (write: groups of 8 columns x K x 8 floats each). */
struct bpg_arg_pack {
	const struct bpg_hop *hop;
	int64_t c0, c1;           /* columns of the input node, c0 a multiple of width */
	int64_t width;            /* columns of a panel; the task fills as many panels as c0..c1 takes */
};
bpg_task_fn bpg_task_pack_dense;
/* Packs the kernel of a convolution: per group and 8 input channels, taps x output channels of the group x 8. */
bpg_task_fn bpg_task_pack_conv;

/* gather: a copy of a panel for an owner that reads it. buffers: panel (read), slot of at least as many bytes (write). */
struct bpg_arg_gather {
	size_t bytes;
};
bpg_task_fn bpg_task_gather;

/* start: unit rows +-e_j of a node. Dense: rows of the weight matrix over its input (then, when `planes` is set, relaxed).
 * buffers: bounds of the node (read), [planes of the input's nonlinear node (read)], tile (write), state (write). */
struct bpg_arg_start {
	const struct bpg_hop *hop;
	const int64_t *element;   /* [count] */
	int count;
	int sides;                /* 1: lower (+), 2: upper (-), 3: both */
	int minus;                /* first row of the upper sides; the lower sides begin at row 0 */
	struct bpg_view_tile tile;
	const struct bpg_hop *relax; /* hop of the input, relaxed at once; null: not */
	bool pair;                /* relax: the product that follows reads the lower sides alone on columns that are not mixed, so
	                             the upper sides have none there (see bpg_arg_gemm) */
	double under;             /* slack by underflow of that relaxation */
	bool slack;
	bool begun;               /* dense: bpg_task_start_state has been; the state is read and written */
};
bpg_task_fn bpg_task_start_dense;
/* The state of dense rows alone, whose columns come part by part. buffers: bounds of the node (read), state (write). */
bpg_task_fn bpg_task_start_state;
bpg_task_fn bpg_task_start_unit;

/* start: the rows asked, over one output node. buffers: bounds (read), tile (write), state (write or read-write). */
struct bpg_question_row;
struct bpg_arg_question {
	const struct bpg_hop *hop;
	int64_t first_output;     /* of this node in the concatenated outputs */
	const struct bpg_question_row *row;
	int count, sides, minus;
	struct bpg_view_tile tile;
	bool first, slack;
};
struct bpg_question_row {
	int n;
	const int64_t *index;     /* rising not required; an index may not stand twice */
	const double *coef, *coef_err; /* coef_err may be null */
	double offset, offset_err;
};
bpg_task_fn bpg_task_start_question;

/* Nothing: a task that begins when its buffers are there. */
bpg_task_fn bpg_task_nothing;

/* gemm, dense: columns [c0,c1) of the input node. buffers: panel (read), tile over v (read), tile over input (write / rw). */
struct bpg_arg_gemm {
	const struct bpg_hop *hop;
	int64_t c0, c1;
	struct bpg_view_tile from, to;
	bool add;                 /* to what is there (then rw, and no pair) */
	int pair;                 /* > 0: strips of + rows, equally many of - rows follow, opposite on columns >= mixed */
	/* Convolutions: what is done on the way, strip by strip while it is in the cache. */
	bool toll;                /* charge that of v */
	const struct bpg_hop *relax; /* first relax the tile, in place: it is over this reader of v; null: it is over v */
	bool second, slack;       /* relax: add a second tile before; as in bpg_arg_relax */
	double under;
};
bpg_task_fn bpg_task_gemm_dense;
/* gemm, convolution: all positions. buffers: packed kernel (read), tile over v (read; relax: rw), tile over input (write), bounds
 * of v (read), state (rw), [relax: planes (read), second: bounds of the reader (read), second tile (read)]; without toll and
 * relax only the first three. */
bpg_task_fn bpg_task_gemm_conv;

/* relax in place. buffers: planes (read), tile (rw), state (rw). */
struct bpg_arg_relax {
	const struct bpg_hop *hop;
	struct bpg_view_tile tile;
	bool slack;
	double under;
};
bpg_task_fn bpg_task_relax;
/* Its inner part: n columns at x, whose planes begin at place `at`; adds to sums of p and of slack, by lane. */
void bpg_relax_columns(bool wide, void *x, int64_t n, const double *planes, int64_t places, int64_t at, bool slack, double *sum, double *dear);
/* The same after tile += second. buffers: planes (read), tile (rw), state (rw), bounds of v (read), second (read). */
bpg_task_fn bpg_task_add_relax;
/* One strip of the tile, of both. `second` null: nothing is added; price: what a unit of each column of the sum costs. */
void bpg_add_relax_strip(const struct bpg_arg_relax *r, const double *planes, void *tile, int strip, double *state, const void *second, const double *price);
/* Two strips of rows that are opposite, over columns of a list, of which `minus` holds the mixed ones alone: elsewhere there is
 * one line, and what it adds to one row's state it takes from the other's. */
void bpg_relax_opposite(const struct bpg_arg_relax *r, const double *planes, void *tile, int plus, int minus, double *state);
/* These prices of strip `strip`'s segment, to be freed; null when memory is short (a fault is set). `price` are those of the strip
 * before, or null: they are returned again where the segment is the same, else freed. */
double *bpg_join_prices(struct bpg_rt *rt, const struct bpg_columns *k, const struct bpg_view_tile *tile, int strip, const double *bounds, bool slack,
                        double *price);

/* toll: slack of passing a linear node, where no relaxation charged it. buffers: bounds of v (read), tile (read), state (rw). */
bpg_task_fn bpg_task_toll;

/* map: rows over v to rows over input number k by sparse terms. buffers: tile over v (read), tile over input (write). */
struct bpg_arg_map {
	const struct bpg_hop *hop;
	int k;
	struct bpg_view_tile from, to;
};
bpg_task_fn bpg_task_map;
/* The same for planes: buffers: bounds of v, bounds of each input (read), tile over v (read), state (rw), tile over input k
 * (write), with `chosen` also the weights of each row for the other planes (read). The state is charged when k == 0. */
struct bpg_arg_map_planes {
	struct bpg_arg_map map;
	bool slack, chosen;
};
bpg_task_fn bpg_task_map_planes;
/* Other planes of element i on a side (0 below, 1 above), and of all columns of a tile: the order of weights is column by
 * column, first those below. */
int bpg_others_of(const struct bpg_hop *h, int side, int64_t i);
int64_t bpg_others_in(const struct bpg_hop *h, const struct bpg_window *w);

/* reduce: to += from, columns matched by element. buffers: bounds of the node (read), from (read), to (rw), state (rw). */
struct bpg_arg_add {
	const struct bpg_hop *hop;
	struct bpg_view_tile from, to;
	bool slack;
};
bpg_task_fn bpg_task_add;
/* Into a fresh tile: zero where `from` has no column; columns that `to` has not are left out. buffers: from (read), to (write). */
bpg_task_fn bpg_task_copy;

/* concretize: the share of one input (or of a node at which the walk stops) in the bound.
 * buffers: bounds of the node (read), tile (read), state (rw). */
struct bpg_arg_concretize {
	const struct bpg_hop *hop;
	struct bpg_view_tile tile;
	int norm;                 /* 0: box only; 1, 2: the region is a ball of this norm */
	int64_t inputs, first;    /* > 0: a fourth buffer (rw) is [rows][inputs + 1], coefficients go to the elements first, ... */
};
bpg_task_fn bpg_task_concretize;

/* concretize, the end: lower bounds of the rows. buffers: state (read), result (write, `rows` doubles). */
struct bpg_arg_finish {
	int rows;
	int norm;
	double radius;
	bool slack;
	int64_t terms;            /* columns summed, for the error of the last sum */
	bool best;                /* keep the better of this and what the result holds (then rw) */
	int64_t inputs;           /* > 0: the last of [rows][inputs + 1] of a third buffer (rw) is the row's bound at the centre */
};
bpg_task_fn bpg_task_finish;

#endif
