/* place.h - copies of tiles, starts of rows, for both types. */
#ifndef BPG_CUDA_PLACE_H
#define BPG_CUDA_PLACE_H

#include "cuda/body.h"
#include "cuda/cuda.h"

/* The element whose row this is, -1: none; its upper side. */
struct start_row {
	int64_t i;
	bool upper;
};

BODY struct start_row start_row(const struct bpg_cuda_start *p, int64_t row)
{
	struct start_row r;

	r.upper = !(p->sides & 1 && row < p->count);
	r.i = r.upper ? row - p->minus : row;
	if (r.upper && (!(p->sides & 2) || r.i < 0 || r.i >= p->count))
		r.i = -1, r.upper = false;
	return r;
}

/* The strip that begins with this row holds upper sides. */
BODY bool start_upper(const struct bpg_cuda_start *p, int64_t row)
{
	return p->sides & 2 && row >= p->minus && !(p->sides & 1 && row < p->count);
}

/* The state of one row. */
BODY void start_state(const struct bpg_cuda_start *p, int64_t row)
{
	struct start_row r = start_row(p, row);
	int64_t rows = p->strips * BPG_LANES, segment = p->segment ? p->segment[row / BPG_LANES] : 0;
	const double *f = p->bounds + segment * BPG_FIELDS * p->n + (r.i >= 0 ? p->element[r.i] : 0);
	double c = r.i >= 0 ? f[BPG_CENTRE * p->n] : 0;

	for (int k = 0; k < BPG_STATES; k++)
		p->state[k * rows + row] = 0;
	p->state[BPG_P * rows + row] = r.upper ? -c : c;
	if (r.i >= 0 && p->W && p->slack)
		p->state[BPG_SLACK * rows + row] = f[BPG_EXTRA * p->n];
}

#define REAL float
#define NAME(x) x##_f32
#include "cuda/place.inc"
#undef REAL
#undef NAME
#define REAL double
#define NAME(x) x##_f64
#include "cuda/place.inc"
#undef REAL
#undef NAME

#endif
