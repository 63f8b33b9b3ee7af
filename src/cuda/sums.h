/* sums.h - sums over the columns of a tile into the state of its rows: tolls, the region, sparse planes. */
#ifndef BPG_CUDA_SUMS_H
#define BPG_CUDA_SUMS_H

#include "cuda/body.h"
#include "cuda/cuda.h"

enum { S_THREADS = 256, S_CHUNK = 64 };

struct sums_shared {
	double term[2][2][S_CHUNK * BPG_LANES]; /* chunk, sum, element */
	double p[BPG_LANES];
};

struct sums_strip {
	int64_t strip;
	const double *bounds;
	const struct bpg_plane_at *plane;
};

BODY struct sums_strip sums_strip_of(const struct bpg_cuda_sums *p, int64_t strip)
{
	struct sums_strip s;
	int64_t segment = p->segment ? p->segment[strip] : 0;

	s.strip = strip;
	s.bounds = p->bounds ? p->bounds + segment * BPG_FIELDS * p->n : p->bounds;
	s.plane = p->plane ? p->plane + segment * p->columns : p->plane;
	return s;
}

#define REAL float
#define ABS fabsf
#define NAME(x) x##_f32
#include "cuda/sums.inc"
#undef REAL
#undef ABS
#undef NAME
#define REAL double
#define ABS fabs
#define NAME(x) x##_f64
#include "cuda/sums.inc"
#undef REAL
#undef ABS
#undef NAME

#endif
