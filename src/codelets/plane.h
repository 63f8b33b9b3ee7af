/* plane.h - linear functions below and above an output element, with float32 coefficients.
 *
 * A layer proves its plane for the coefficients as stored, or adds terms with coefficients in double, known up to an
 * error; what rounding a coefficient changes over the box goes into the bias, outward. `side` is BPG_BELOW or BPG_ABOVE. */
#ifndef BPG_PLANE_H
#define BPG_PLANE_H

#include "codelets/family.h"
#include "codelets/outward.h"

enum { BPG_BELOW = -1, BPG_ABOVE = 1 };

/* From the sides of `others`, 0 and 1. */
static inline int bpg_plane_side(int side) { return side ? BPG_ABOVE : BPG_BELOW; }

/* Adds a number that lies between lo and up. */
static inline void bpg_plane_bias(struct bpg_terms *t, int side, double lo, double up)
{
	t->bias = side < 0 ? bpg_add_down(t->bias, lo) : bpg_add_up(t->bias, up);
}

/* No plane better than the interval. */
static inline void bpg_plane_constant(struct bpg_terms *t, double bias)
{
	t->n = 0;
	t->bias = bias;
}

/* A float32 coefficient near c; 0 where there is none, or where numbers are so small that products of them vanish. */
static inline double bpg_plane_round(double c)
{
	float f = (float)c;
	return isfinite(f) && fabsf(f) >= 0x1p-100f ? (double)f : 0;
}

/* Adds c*x for some c with |c - coef| <= err and x in [l,u]. */
static inline void bpg_plane_add(struct bpg_terms *t, int side, int input, int64_t index, double coef, double err, double l,
                                 double u)
{
	double f = bpg_plane_round(coef), lo = 0, up = 0;
	if (f != 0)
		bpg_terms_add(t, input, index, f, 0);
	if (coef == f && err == 0)
		return;
	bpg_axpy_outward(coef - f, err, l, u, &lo, &up); /* the difference is exact */
	bpg_plane_bias(t, side, lo, up);
}

/* Element i of operand k over the box; a constant is its own box. */
struct bpg_range {
	double l, u;
};

static inline struct bpg_range bpg_range_of(const struct bpg_node *v, const double *const *l, const double *const *u, int k,
                                            int64_t i)
{
	if (!v->in[k].value)
		return (struct bpg_range){ isnan(l[k][i]) ? -INFINITY : l[k][i], isnan(u[k][i]) ? INFINITY : u[k][i] };
	double c = bpg_const_at(v->in[k].value, i), err = bpg_const_error(v->in[k].value, i);
	return err > 0 ? (struct bpg_range){ bpg_next_down(c - err), bpg_next_up(c + err) } : (struct bpg_range){ c, c };
}

/* Middle of the box, finite. */
static inline double bpg_range_middle(struct bpg_range r)
{
	if (isinf(r.l) || isinf(r.u))
		return isfinite(r.l) ? r.l : isfinite(r.u) ? r.u : 0;
	return 0.5 * r.l + 0.5 * r.u;
}

#endif
