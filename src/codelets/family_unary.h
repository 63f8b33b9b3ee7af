/* family_unary.h - y_i = f(x_i): values, intervals and lines below and above, derived from a layer's f and slopes.
 *
 * A layer proposes slopes only. They are rounded to float32 here, and the intercept is then computed outward for the
 * slope as rounded, so that a clumsy slope costs tightness, never soundness. */
#ifndef BPG_FAMILY_UNARY_H
#define BPG_FAMILY_UNARY_H

#include <bpgraph/layer.h>

/* Planes of a unary layer on [l,u]: y >= lo_slope*x + lo_bias and y <= up_slope*x + up_bias for all x in [l,u] in real
 * arithmetic. Slopes are float32 numbers (or double when `wide`), biases are rounded outward. */
struct bpg_planes1 {
	double lo_slope, lo_bias, up_slope, up_bias;
};

/* Slopes are finite always; an infinite bias says: no bound. l == u gives slopes 0 and the outward value. alpha: see
 * bpg_unary.slopes; null means both NaN. NaN or crossed ends count as "nothing known". */
void bpg_unary_planes(const struct bpg_node *v, double l, double u, const double alpha[2], int rule, bool wide,
                      struct bpg_planes1 *p);

/* Outward value interval of f over [l,u]. */
void bpg_unary_range(const struct bpg_node *v, double l, double u, double *lo, double *up);

/* |f(x) - f as computed| where f was computed as y. */
double bpg_unary_error(const struct bpg_unary *f, double y);

/* Lower and upper bound of y - s*x for |true y - y| <= err, to one unit in the last place of the result; what
 * overflows is infinite on the safe side. */
double bpg_line_below(double y, double err, double s, double x);
double bpg_line_above(double y, double err, double s, double x);

/* ---- S-shapes: odd-symmetric about (0, f(0)), rising, convex on the left, concave on the right ---- */

struct bpg_sshape {
	double (*f)(double x);
	double (*df)(double x);
	double (*ddf)(double x);
	double far;               /* df vanishes beyond, for all purposes */
};

/* Parameters are the tangent points of the two lines. */
struct bpg_slopes bpg_sshape_slopes(const struct bpg_sshape *g, double l, double u, const double alpha[2]);
void bpg_sshape_alpha_range(const struct bpg_sshape *g, double l, double u, int side, double *least, double *most,
                            double *start);

#endif
