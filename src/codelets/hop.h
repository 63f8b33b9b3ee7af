/* hop.h - one node as the backward walk sees it: where its columns are, and how rows over its output become rows over
 * its inputs. Plain data, filled by graph, read by the task bodies.
 *
 * A row over node v stands for  Lambda * (v - c) + p  with c the node's reference value; its distance from the truth is
 * at most `slack`. doc/numbers.md has the proof of every term. */
#ifndef BPG_HOP_H
#define BPG_HOP_H

#include <bpgraph/layer.h>

#include "codelets/kernel.h"

/* ---- columns: the order in which a tile holds the elements of a node ---- */

/* LIST: the elements that can matter, the same for all tiles; the first `mixed` have two different planes at their
 * nonlinear consumer. GRID: channel-last positions; a tile holds all channels of a box of positions (solid: of all, as a matrix
 * makes them). */
struct bpg_columns {
	bool grid, solid;
	int64_t n;                /* elements of the node */
	int64_t count, mixed;     /* LIST: columns */
	int32_t *index;           /* LIST: [count] element of a column */
	int32_t *slot;            /* LIST: [n] column of an element, -1: none */
	uint64_t id;              /* LIST: of this list alone (bpg_unique) */
	int32_t channels, size[2]; /* GRID */
	int64_t base, stride[3];  /* GRID: element = base + c*stride[0] + y*stride[1] + x*stride[2]; base: some of the channels alone */
};

struct bpg_window {               /* positions [lo, up) on both axes; ignored by LIST */
	int32_t lo[2], up[2];
};

static inline int64_t bpg_columns_in(const struct bpg_columns *k, const struct bpg_window *w)
{
	return k->grid ? (int64_t)(w->up[0] - w->lo[0]) * (w->up[1] - w->lo[1]) * k->channels : k->count;
}

/* Canonical position of an element: index into the arrays of planes; -1: not a column. */
static inline int64_t bpg_columns_place(const struct bpg_columns *k, int64_t element)
{
	if (!k->grid)
		return k->slot[element];
	int64_t c, y, x;
	element -= k->base;
	if (k->stride[0] == 1) {        /* channel-last already: element = (y*W + x)*C + c; C: of all channels. One position: all are c */
		int64_t all = k->size[1] > 1 ? k->stride[2] : k->size[0] > 1 ? k->stride[1] : element + 1;
		c = element % all;
		element /= all;
		y = element / k->size[1], x = element % k->size[1];
	} else {
		c = element / k->stride[0];
		element %= k->stride[0];
		y = element / k->size[1], x = element % k->size[1];
	}
	return (y * k->size[1] + x) * k->channels + c;
}

/* Element at a canonical position. */
static inline int64_t bpg_columns_element(const struct bpg_columns *k, int64_t place)
{
	if (!k->grid)
		return k->index[place];
	int64_t c = place % k->channels, at = place / k->channels;
	return k->base + c * k->stride[0] + at / k->size[1] * k->stride[1] + at % k->size[1] * k->stride[2];
}

/* Column of a canonical position inside the window of a tile; -1: outside. */
static inline int64_t bpg_columns_column(const struct bpg_columns *k, const struct bpg_window *w, int64_t place)
{
	if (!k->grid || place < 0)
		return place;
	int64_t c = place % k->channels, at = place / k->channels, y = at / k->size[1], x = at % k->size[1];
	if (y < w->lo[0] || y >= w->up[0] || x < w->lo[1] || x >= w->up[1])
		return -1;
	return ((y - w->lo[0]) * (w->up[1] - w->lo[1]) + (x - w->lo[1])) * k->channels + c;
}

/* Canonical position of column j of a tile. */
static inline int64_t bpg_columns_at(const struct bpg_columns *k, const struct bpg_window *w, int64_t j)
{
	if (!k->grid)
		return j;
	int64_t width = w->up[1] - w->lo[1], at = j / k->channels;
	return ((w->lo[0] + at / width) * k->size[1] + w->lo[1] + at % width) * k->channels + j % k->channels;
}

/* Number of places. */
static inline int64_t bpg_columns_places(const struct bpg_columns *k)
{
	return k->grid ? (int64_t)k->channels * k->size[0] * k->size[1] : k->count;
}

/* ---- sparse linear maps, by rows (output elements) ---- */

struct bpg_sparse {
	uint64_t id;              /* of this matrix alone (bpg_unique) */
	int64_t rows, nonzeros;
	int64_t *first;           /* [rows+1] */
	int32_t *operand, *index;
	float *coef;              /* nearest float */
	int32_t most_fan;         /* most terms that meet in one input element */
	bool unit;                /* all coefficients are 1 or -1 */
	double *bias;             /* planes only: [rows], outward */
	int64_t *of;              /* other planes only: those of element i are the rows of[i] .. of[i+1]-1 */
};

/* ---- hops ---- */

enum bpg_hop_kind { BPG_HOP_INPUT, BPG_HOP_UNARY, BPG_HOP_DENSE, BPG_HOP_CONV, BPG_HOP_ELEMENT, BPG_HOP_TERMS, BPG_HOP_PLANES };

struct bpg_hop {
	enum bpg_hop_kind kind;
	const struct bpg_node *v;
	struct bpg_columns *out;
	int nin;                  /* variable operands */
	struct bpg_columns **in;  /* [nin] */
	int *operand;             /* [nin] operand number of each */
	struct bpg_dense dense;
	struct bpg_conv conv;
	int64_t kernel_at;        /* CONV: where its weights begin, when it has some of the channels alone */
	bool inexact;             /* DENSE: coefficients as held differ from the true ones by a relative u32 */
	struct bpg_sparse *terms; /* ELEMENT, TERMS */
	struct bpg_sparse *lower, *upper; /* PLANES, set when the bounds of the inputs are final; segments one behind the other */
	struct bpg_sparse *other[2]; /* planes as valid as lower (0), upper (1), for rows that choose weights; null: not asked */
	int block;                /* DENSE, CONV: products summed from zero, then added; at most BPG_BLOCK */
	double gamma32, gamma64;  /* rounding of one application, relative to GROSS */
	double under;             /* slack of one application by underflow: (terms) * 2^-149 * sum of radii */
};

/* PLANES: most terms that meet in one input element. */
static inline double bpg_planes_fan(const struct bpg_hop *h)
{
	double fan = (double)h->lower->most_fan + (double)h->upper->most_fan;

	for (int side = 0; side < 2; side++)
		fan += h->other[side] ? h->other[side]->most_fan : 0;
	return fan;
}

#endif
