/* lanes.h - the sixteen lanes of a column as four vectors, for *_rows.inc with REAL and NAME defined.
 *
 * Sums that live across a loop over columns are named vectors: an array of sixteen stays in memory there (gcc 12), and each
 * addition then waits for the store of the one before. The vectors are those of AVX2; other instruction sets split or
 * halve them, with the same bits. No alignment is assumed: received buffers have none. */
#ifndef BPG_LANES_H
#define BPG_LANES_H

#include <stdint.h>

typedef float bpg_quarter_f32 __attribute__((vector_size(16), aligned(4), may_alias));
typedef double bpg_quarter_f64 __attribute__((vector_size(32), aligned(8), may_alias));
typedef int32_t bpg_mask_f32 __attribute__((vector_size(16)));
typedef int64_t bpg_mask_f64 __attribute__((vector_size(32)));

#define QUARTERS(X) X(0) X(1) X(2) X(3)

#define QUARTER NAME(bpg_quarter)
#define QUARTER_D bpg_quarter_f64
#define AT(x, q) (*(QUARTER *)((x) + 4 * (q)))
#define AT_D(x, q) (*(QUARTER_D *)((x) + 4 * (q)))
#define TO_D(v) __builtin_convertvector(v, QUARTER_D)
#define ALL(c) ((c) - (QUARTER){ 0 })
#define ALL_D(c) ((c) - (QUARTER_D){ 0 })
/* yes where the mask is set, no elsewhere; bit by bit, so that NaN and -0 pass. */
#define PICK_OF(value, mask, m, yes, no) ((value)((mask)(no) ^ (((mask)(yes) ^ (mask)(no)) & (m))))
#define PICK(m, yes, no) PICK_OF(QUARTER, NAME(bpg_mask), m, yes, no)
#define PICK_D(m, yes, no) PICK_OF(QUARTER_D, bpg_mask_f64, m, yes, no)
#define ABS(v) ((QUARTER)((NAME(bpg_mask))(v) & ~(NAME(bpg_mask))(ALL((REAL)-0.0))))

#endif
