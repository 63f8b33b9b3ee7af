/* region.h - the inputs asked about when there is no property: a box, or a ball in the 2- or 1-norm.
 *
 * What a user writes are real numbers (decimals); a region encloses what they mean: bounds are rounded outward, centre
 * and radius of a ball are doubles such that the ball holds the one that was written. */
#ifndef BPG_REGION_H
#define BPG_REGION_H

#include "base/options.h"
#include "spec/spec.h"

/* The points of the box that lie in the ball: sum |x - center|^p <= radius^p. Without a ball: the box. */
struct bpg_region {
	enum bpg_norm norm;
	bool ball;                /* norm 2 or 1 */
	int64_t n;
	double *lo, *up;          /* [n] box, outward; may be infinite */
	double *center;           /* [n] exact; null when the region was not given by its centre */
	double radius;            /* rounded up */
};

/* Numbers as bpg_numbers_read gives them. lo, up null: the values are exact. */
struct bpg_numbers {
	const char *name;         /* file or option, for messages */
	int64_t n;
	const double *value, *lo, *up;
};

/* Centre and radius in a norm, cut with [clip[0], clip[1]] in every element (clip null: not cut; rounded outward by the
 * caller). epsilon_up >= the number given. Refused: not `n` numbers, numbers that are not finite, a negative radius, an
 * element the cut leaves empty. */
enum bpg_status bpg_region_ball(struct bpg_ctx *ctx, enum bpg_norm norm, int64_t n, const struct bpg_numbers *center,
                                double epsilon_up, const double clip[2], struct bpg_region **region);
/* Refused: not `n` numbers, NaN, lower > upper (names the element). Infinite bounds are taken. */
enum bpg_status bpg_region_box(struct bpg_ctx *ctx, int64_t n, const struct bpg_numbers *lower, const struct bpg_numbers *upper,
                               struct bpg_region **region);
/* [0, 1] in every element: what is asked when nothing is given. */
enum bpg_status bpg_region_unit(struct bpg_ctx *ctx, int64_t n, struct bpg_region **region);
void bpg_region_free(struct bpg_region *region);

#endif
