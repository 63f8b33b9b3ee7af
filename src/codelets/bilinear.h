/* bilinear.h - products of two variables: intervals, and McCormick planes. */
#ifndef BPG_BILINEAR_H
#define BPG_BILINEAR_H

#include "codelets/plane.h"

/* One factor: element `index` of operand `input`, in its range. */
struct bpg_factor {
	int input;
	int64_t index;
	struct bpg_range in;
};

/* Least and greatest product, rounded outward. */
struct bpg_range bpg_product_range(struct bpg_range x, struct bpg_range y);
/* The same of x*x. */
struct bpg_range bpg_square_range(struct bpg_range x);

/* Adds planes below and above x*y (x*x where `same`: both factors are one variable) to sums of such. */
void bpg_product_planes(const struct bpg_factor *x, const struct bpg_factor *y, bool same, struct bpg_terms *lower,
                        struct bpg_terms *upper);

/* Adds the other plane number `which` of one side: McCormick's other corner, or another tangent of a square. False, and nothing
 * is added: there is no more. */
bool bpg_product_other(const struct bpg_factor *x, const struct bpg_factor *y, bool same, int side, int which, struct bpg_terms *t);

/* Least (BPG_BELOW) or greatest value of x*y - a*x - b*y over the box, outward; infinite where numbers are too large. */
double bpg_product_bias(struct bpg_range x, struct bpg_range y, double a, double b, int side);

/* Do the arrays say that operands j and k of a node are one tensor? Then equal elements are one variable. */
static inline bool bpg_same_tensor(const double *const *l, const double *const *u, int j, int k)
{
	return l[j] && l[j] == l[k] && u[j] == u[k];
}

#endif
