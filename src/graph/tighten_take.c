/* tighten_take.c - which of two bounds counts; on its own so that a test can put another rule in its place. */
#include "graph/tighten.h"

void bpg_take_bounds(double lo, double up, double *l, double *u)
{
	if (lo > *l)
		*l = lo;
	if (up < *u)
		*u = up;
}
