/* kernel.h - arithmetic on tiles.
 *
 * A tile holds rows of linear bounds in strips of 16: element (strip, column, lane) lies at (strip*columns + column)*16 +
 * lane. A row is a lane of the vector unit: whatever is added for a row is added in the order of columns, so an element's
 * bits depend on its row and its column alone, not on the instruction set, the height of the tile, the row's place in
 * it, or the panel. Weights are broadcast. Types: float, or double for the few rows that are carried in double. */
#ifndef BPG_KERNEL_H
#define BPG_KERNEL_H

#include <stdbool.h>
#include <stdint.h>

#include "codelets/fields.h"

/* Where the next block begins, to be fetched meanwhile: `lines` of 64 bytes of each strip's part of the tile, and as many
 * of the weights for each pair of strips. Only a hint. */
struct bpg_ahead {
	const float *a, *w;
	int lines;
};

/* C[s][j] = (accumulate ? C[s][j] : 0) + sum over the runs of A[s][a+i] * W[w+i][j], for strips s and j < columns <= 8.
 * A, C point at strip 0; `a_strip`, `c_strip` are elements from strip to strip. W is packed: 8 weights per summed index.
 * The sum is one block: fused multiply-adds in ascending order from zero, then one addition. The caller cuts blocks of
 * at most 256. */
void bpg_product_f32(int strips, const float *A, int64_t a_strip, const struct bpg_run *run, int runs, const float *W,
                     float *C, int64_t c_strip, int columns, bool accumulate, const struct bpg_ahead *ahead);
void bpg_product_f64(int strips, const double *A, int64_t a_strip, const struct bpg_run *run, int runs, const double *W,
                     double *C, int64_t c_strip, int columns, bool accumulate);

/* The one or the other: W holds floats, or doubles for a wide tile. */
static inline void bpg_product(bool wide, int strips, const void *A, int64_t a_strip, const struct bpg_run *run, int runs, const void *W,
                               void *C, int64_t c_strip, int columns, bool accumulate, const struct bpg_ahead *ahead)
{
	if (wide)
		bpg_product_f64(strips, A, a_strip, run, runs, W, C, c_strip, columns, accumulate);
	else
		bpg_product_f32(strips, A, a_strip, run, runs, W, C, c_strip, columns, accumulate, ahead);
}

/* The other way: Z[s][o] = (accumulate ? Z[s][o] : 0) + sum over j < columns of H[s][j] * W[j / 8][o][j % 8], for strips s and
 * o < n; fused, j rising. W: groups of 8 columns, `w_group` floats apart, as a panel of the product holds them. The caller cuts
 * n so that the weights stay in a near cache while strips pass. */
void bpg_adjoint_f32(int strips, const float *H, int64_t h_strip, int64_t columns, const float *W, int64_t w_group, int64_t n, float *Z,
                     int64_t z_strip, bool accumulate);

/* Name of the instruction set in use: "avx512", "avx2", "portable". BPGRAPH_KERNEL selects a lesser one (tests). */
const char *bpg_kernel_name(void);
/* Its rate on one core in GFLOP/s, for estimates: a round figure, not a measurement of this machine. */
double bpg_kernel_rate(void);

#endif
