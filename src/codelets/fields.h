/* fields.h - how tiles, bounds and planes lie in memory, in numbers alone: read by C, by C++ and by CUDA. */
#ifndef BPG_FIELDS_H
#define BPG_FIELDS_H

#include <stdint.h>

/* A tile's strip has 16 rows, a group of packed weights 8 columns; a sum is cut into blocks of at most 256. */
enum { BPG_LANES = 16, BPG_GROUP = 8, BPG_BLOCK = 256 };

/* A run of the summed index: columns a .. a+n-1 of the tile against packed weights w .. w+n-1. */
struct bpg_run {
	int64_t a, w;
	int n;
};

/* ---- bounds of a node: fields of n doubles each, by element ---- */

enum bpg_field {
	BPG_LOWER, BPG_UPPER,     /* l <= value <= u in real arithmetic */
	BPG_CENTRE,               /* the reference c */
	BPG_RADIUS,               /* >= |value - c| */
	BPG_GROSS,                /* LINEAR: sum of |coefficient| * radius of the input, what rounding is proportional to */
	BPG_EXTRA,                /* LINEAR: error of c, and of the coefficients as held, per unit of |Lambda| */
	BPG_FIELDS
};

/* ---- planes of a nonlinear node, by canonical position of its columns ---- */

enum bpg_plane_field {
	BPG_SLOPE_LO, BPG_SLOPE_UP,
	BPG_TIMES_NEW_LO, BPG_TIMES_NEW_UP,  /* p += new coefficient * this */
	BPG_TIMES_OLD_LO, BPG_TIMES_OLD_UP,  /* p += old coefficient * this */
	BPG_PRICE_OLD,                       /* slack per unit of |old coefficient| */
	BPG_PRICE_NEW32, BPG_PRICE_NEW64,    /* slack per unit of |new coefficient|, rows in float, in double */
	BPG_LINE,                            /* enum bpg_line, as a double */
	BPG_PLANE_FIELDS
};

/* NONE: nothing passes, and the output is its reference value. SAME: slope 1 on both sides. TWO: anything. */
enum bpg_line { BPG_LINE_NONE, BPG_LINE_SAME, BPG_LINE_TWO };

/* ---- rows through sparse planes ---- */

/* What a column's two planes (lower, upper) are at the reference values, and what rounding costs a unit of its coefficient. */
struct bpg_plane_at {
	double at[2], price[2];
};

/* Coefficient of one column in the lower and in the upper plane. */
struct bpg_plane_term {
	int32_t column;
	float lower, upper;
};

/* ---- state of a tile's rows: fields of `rows` doubles (rows: strips * 16) ---- */

enum bpg_state { BPG_P, BPG_SLACK, BPG_BOX, BPG_BALL, BPG_STATES };

#endif
