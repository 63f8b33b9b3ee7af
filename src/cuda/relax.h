/* relax.h - the relaxation of rows and the join of tiles, for both types. */
#ifndef BPG_CUDA_RELAX_H
#define BPG_CUDA_RELAX_H

#include "cuda/body.h"
#include "cuda/cuda.h"

enum { R_THREADS = 256, R_CHUNK = 32 };
/* What a column adds, beyond enum bpg_line; the first of a run of consecutive places. */
enum { R_CHOSEN = 3, R_JOIN = 4, R_BEGIN = 8 };

struct relax_strip {
	int64_t strip;
	const double *planes, *bounds; /* of its segment */
};

BODY struct relax_strip relax_strip_of(const struct bpg_cuda_relax *p, int64_t strip)
{
	struct relax_strip s;
	int64_t segment = p->segment ? p->segment[strip] : 0;

	s.strip = strip;
	s.planes = p->second ? p->planes : p->planes + segment * BPG_PLANE_FIELDS * p->places;
	s.bounds = p->second ? p->bounds + segment * BPG_FIELDS * p->n : p->bounds;
	return s;
}

BODY int64_t relax_place(const struct bpg_cuda_spans *at, int64_t j)
{
	return at->first + j / at->row * at->step + j % at->row;
}

/* A column that had a lower slope to choose still has: its bounds may have come nearer since. */
BODY bool relax_free(const double *bounds, int64_t n, int64_t element)
{
	return bounds[BPG_LOWER * n + element] < 0 && bounds[BPG_UPPER * n + element] > 0;
}

/* Prices are summed from zero from here on: consecutive places end, or a column with a choice stands between. */
BODY bool relax_begins(const struct bpg_cuda_relax *p, int64_t j)
{
	return j % p->at.row == 0 || (p->choice && (p->choice[j] >= 0 || p->choice[j - 1] >= 0));
}

#define REAL float
#define ABS fabsf
#define NAME(x) x##_f32
#include "cuda/relax.inc"
#undef REAL
#undef ABS
#undef NAME
#define REAL double
#define ABS fabs
#define NAME(x) x##_f64
#include "cuda/relax.inc"
#undef REAL
#undef ABS
#undef NAME

#endif
