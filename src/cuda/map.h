/* map.h - sparse maps and weights of planes, for both types. */
#ifndef BPG_CUDA_MAP_H
#define BPG_CUDA_MAP_H

#include "cuda/body.h"
#include "cuda/cuda.h"

#define REAL float
#define ABS fabsf
#define NAME(x) x##_f32
#include "cuda/map.inc"
#undef REAL
#undef ABS
#undef NAME
#define REAL double
#define ABS fabs
#define NAME(x) x##_f64
#include "cuda/map.inc"
#undef REAL
#undef ABS
#undef NAME

#endif
