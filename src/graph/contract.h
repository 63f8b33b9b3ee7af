/* contract.h - what an assertion about the outputs says of the inputs, by intervals: forward through the network, then backward from the
 * rows to the inputs (constraint propagation; HC4 of Benhamou et al. 1999). It costs two passes over the nonzero weights, and finds what
 * linear bounds of sums do not: that terms of one sign which must add up to nothing are nothing, one by one. */
#ifndef BPG_CONTRACT_H
#define BPG_CONTRACT_H

#include "net/net.h"
#include "spec/spec.h"

/* The network as sparse maps. Null in *to: it has more than `most` terms. The network outlives it. */
struct bpg_contractor;
enum bpg_status bpg_contractor_new(struct bpg_ctx *ctx, const struct bpg_net *net, int64_t most, struct bpg_contractor **to);
void bpg_contractor_free(struct bpg_contractor *c);

/* The points of the box [lo, up] where all rows of the disjunct may hold lie in the box as it is left. False: there are none. What
 * is found is proved, rounding included; memory that is short, or a number that is none, leaves the box as it is. */
bool bpg_contract(const struct bpg_contractor *c, const struct bpg_disjunct *d, double *lo, double *up);

/* Outputs at a point, outward, where sums that are exact in double stay exact: an assertion that holds with equality is seen to hold.
 * False: the network has too many terms, or memory is short. lo, up: [outputs] */
bool bpg_contract_point(struct bpg_ctx *ctx, const struct bpg_net *net, const double *x, double *lo, double *up);

/* How much the rows may vary with each input: their derivatives by it, in magnitudes, where each nonlinear element counts as much as it
 * is likely to be on (its slope, expected over the box, as if its input were normally distributed), times the width of the input. No
 * bound of anything. False: memory is short. score: [inputs] */
bool bpg_contract_smear(const struct bpg_contractor *c, const struct bpg_disjunct *d, const double *lo, const double *up, double *score);

#endif
