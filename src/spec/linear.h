/* linear.h - linear terms over decimals, each number between two doubles that never lie. */
#ifndef BPG_LINEAR_H
#define BPG_LINEAR_H

#include "base/base.h"

/* lo <= the real number <= up, and v between them: the nearest double where the number is a decimal as written. */
struct bpg_num {
	double v, lo, up;
};

struct bpg_term {
	int64_t var;
	struct bpg_num c;
};

/* Sum of terms and a constant k. */
struct bpg_linear {
	struct bpg_term *term;
	int64_t n, room;
	struct bpg_num k;
};

void bpg_linear_fini(struct bpg_linear *l);
void bpg_linear_clear(struct bpg_linear *l);
void bpg_linear_swap(struct bpg_linear *a, struct bpg_linear *b);
/* These return false when memory is short. */
bool bpg_linear_set_var(struct bpg_linear *l, int64_t var);
bool bpg_linear_copy(struct bpg_linear *to, const struct bpg_linear *from);
/* to += from; from is left in an unknown state. */
bool bpg_linear_add(struct bpg_linear *to, struct bpg_linear *from);
void bpg_linear_negate(struct bpg_linear *l);
void bpg_linear_scale(struct bpg_linear *l, struct bpg_num c);
/* c does not contain zero. */
void bpg_linear_divide(struct bpg_linear *l, struct bpg_num c);
/* One term per variable, in order; terms that are exactly zero are gone. */
void bpg_linear_merge(struct bpg_linear *l);
/* Neither an overflow nor a NaN happened. */
bool bpg_linear_finite(const struct bpg_linear *l);

struct bpg_num bpg_num_divide(struct bpg_num a, struct bpg_num b);
struct bpg_num bpg_num_negate(struct bpg_num a);
bool bpg_num_contains_zero(struct bpg_num a);
/* Distance from v to the farther end, rounded up. */
double bpg_num_error(struct bpg_num a);

#endif
