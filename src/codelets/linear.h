/* linear.h - the fast paths of the LINEAR family, for family_linear.c alone. */
#ifndef BPG_LINEAR_H
#define BPG_LINEAR_H

#include "codelets/family.h"

/* Centre and radius of a box for products with weights: |x - mid| <= r, and rad = r + gamma*|mid|, rounded up, so that
 * one sum of |w|*rad covers both the box and the rounding of the sum of w*mid. Numbers near 0 are enlarged so that no
 * product with a float32 underflows. False when a bound is infinite or so large that a sum could overflow: then sums are
 * made one by one, outward. */
bool bpg_linear_centre(int64_t n, const double *l, const double *u, double gamma, double *mid, double *rad);

/* From the computed sums of w*mid and |w|*rad, the enclosure of the real sum of w*x. */
void bpg_linear_enclose(double sum, double abs, double gamma, double *lo, double *up);

/* What the errors of computed weights can make of one output, whose inputs are among these n: 0 where there are none. */
double bpg_linear_held(const struct bpg_const *weight, int64_t n, const double *l, const double *u);

/* Whether dense and conv can run the map (float32 weights in a usable order); otherwise terms do. */
bool bpg_dense_fits(const struct bpg_dense *d);
enum bpg_status bpg_dense_eval(const struct bpg_dense *d, const double *x, double *y);
enum bpg_status bpg_dense_eval_f32(const struct bpg_dense *d, const float *x, float *y);
enum bpg_status bpg_dense_interval(const struct bpg_dense *d, const double *l, const double *u, int64_t first, int64_t n,
                                   double *lo, double *up);
enum bpg_status bpg_dense_gradient(const struct bpg_dense *d, const double *gy, double *gx);

bool bpg_conv_fits(const struct bpg_conv *c);
enum bpg_status bpg_conv_eval(const struct bpg_conv *c, const double *x, double *y);
enum bpg_status bpg_conv_eval_f32(const struct bpg_conv *c, const float *x, float *y);
/* *tame false: nothing was done, the box is unbounded. */
enum bpg_status bpg_conv_interval(const struct bpg_conv *c, const double *l, const double *u, int64_t first, int64_t n,
                                  double *lo, double *up, bool *tame);
enum bpg_status bpg_conv_gradient(const struct bpg_conv *c, const double *gy, double *gx);

#endif
