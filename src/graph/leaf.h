/* leaf.h - domains in which every nonlinear element has one line left: there the network is linear, and the question a linear program.
 *
 * Its multipliers are handed to beta-CROWN as parameters, which computes the bound anew, outward; its point is a candidate. */
#ifndef BPG_LEAF_H
#define BPG_LEAF_H

#include "graph/domains.h"
#include "spec/spec.h"

/* A domain of the root's region, and what its program says; memory of the caller. */
struct bpg_leaf {
	const struct bpg_disjunct *disjunct;
	int splits;
	const struct bpg_split *split;
	/* Written: */
	bool solved;
	double *weight;           /* [rows of the disjunct] >= 0, of a sum that cannot be <= 0 where the domain has no point at all */
	double *beta;             /* [splits] >= 0, of that sum */
	float *point;             /* [inputs] where the largest row is least */
};

/* Whether the networks's linear form over its inputs is small enough to be written down. */
bool bpg_leaf_suits(const struct bpg_model *model);
/* The body of a task: solves *leaf. `seconds`: the most it may take. */
void bpg_leaf_solve(const struct bpg_model *model, struct bpg_leaf *leaf, double seconds);

#endif
