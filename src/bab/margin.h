/* margin.h - a witness that holds by more than the rounding of one order of sums. */
#ifndef BPG_MARGIN_H
#define BPG_MARGIN_H

#include "net/net.h"
#include "rt/rt.h"
#include "spec/spec.h"

/* Other programs add the terms of a product in other orders, and a row that holds by a unit in the last place here may not hold there. So
 * a witness (see bpg_witness_check) is moved by a few steps within the box of a disjunct that it violates, down the row that holds by
 * least, until all rows hold by 1e-5 of their terms and by 16 times the rounding that its float32 replay shows. What is found is a witness
 * again, and has a greater margin; where there is none (a network that is constant there), x and y stay.
 *
 *   x [inputs], y [outputs]   the witness and its float32 outputs; replaced together
 *   until                     bpg_now() at which no further step is made; 0: none
 *
 * A serial loop of at most 8 points. The same point for the same x, unless time ends it. */
void bpg_witness_deepen(struct bpg_ctx *ctx, const struct bpg_net *net, const struct bpg_spec *spec, const struct bpg_rt *rt, double until,
                        float *x, float *y);

#endif
