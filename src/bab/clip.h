/* clip.h - a linear lower bound of a row shrinks the box: where the row must be <= 0, its bound must be, too.
 * (Clip-and-Verify's closed form for one constraint: each coordinate against the best the others can do.) */
#ifndef BPG_CLIP_H
#define BPG_CLIP_H

#include "base/base.h"

/* The points of [lo, up] with sum a_i (x_i - c_i) + k <= 0 lie in the box as it is left; rounded outward. False: there are none.
 * A bound that is not finite shrinks nothing. */
bool bpg_clip(int64_t n, const double *a, const double *c, double k, double *lo, double *up);

#endif
