/* lp.h - linear programs, by a solver from outside. What it answers is a guess: nothing is concluded from it that is not computed again. */
#ifndef BPG_LP_H
#define BPG_LP_H

#include "base/base.h"

/* Least cost * x over lo <= x <= up (finite or infinite) with a[i] * x >= least[i] for every row. */
struct bpg_lp {
	int columns, rows;
	const double *lo, *up, *cost; /* [columns] */
	const double *a;          /* [rows][columns] */
	const double *least;      /* [rows] */
};

/* x [columns] is the solution found, multiplier [rows] what its cost rises by per unit of `least`, >= 0. False: there is none, it takes
 * longer than `seconds`, or memory is short. May be called by several threads at a time. */
bool bpg_lp_solve(const struct bpg_lp *lp, double seconds, double *x, double *multiplier);

/* Name and version of the solver. */
const char *bpg_lp_solver(void);

#endif
