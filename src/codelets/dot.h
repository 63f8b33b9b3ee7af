/* dot.h - sums of float32 weights times doubles or floats: the inner loops of LINEAR layers.
 *
 * Sixteen lanes and a fixed order of additions, multiplications and additions rounded one by one: the same bits on every
 * instruction set. Any of these sums of k products differs from the real sum by at most gamma_k * sum |w||x|, plus
 * k * 2^-1075 for underflow. */
#ifndef BPG_DOT_H
#define BPG_DOT_H

#include <stdint.h>

/* sum w m, and sum |w| r. */
struct bpg_dot_pair {
	double sum, abs;
};
struct bpg_dot_pair bpg_dot_pair(int64_t k, const float *w, const double *m, const double *r);
double bpg_dot(int64_t k, const float *w, const double *x);
float bpg_dot_f32(int64_t k, const float *w, const float *x);

/* sum[i] += a w[i], and abs[i] += b |w[i]|. */
void bpg_axpy_pair(int64_t n, double a, double b, const float *w, double *sum, double *abs);
void bpg_axpy(int64_t n, double a, const float *w, double *sum);
void bpg_axpy_f32(int64_t n, float a, const float *w, float *sum);

#endif
