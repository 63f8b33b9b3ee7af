/* const.h - constant tensors: in memory, or still in their file. */
#ifndef BPG_CONST_H
#define BPG_CONST_H

#include <bpgraph/layer.h>

#include "base/base.h"

/* A constant of F32 whose raw bytes (little endian) lie in an open file is left there (`fd` >= 0) and read by rows;
 * all others are in memory. `mem` may be unaligned when it points into a mapped file: accessors copy by memcpy. */
struct bpg_const {
	enum bpg_dtype type;
	int64_t n;
	const void *mem;          /* F32: float, F64: double, I64: int64_t; null: in the file */
	int fd;
	int64_t offset;           /* of element 0 in the file */
	float *pin_f32;           /* filled by bpg_const_pin_f32 when mem cannot serve; freed with the constant's arena */
	double *pin;
	struct bpg_arena *arena;
	bool finite_checked;
	double *err, most_err;    /* null: exact; [n] bounds on |meant - held|, and the largest of them */
};

/* Constant in memory, allocated from the arena; values are copied. */
struct bpg_const *bpg_const_new(struct bpg_arena *arena, enum bpg_dtype type, int64_t n, const void *values);
/* From doubles: stored as I64 or F32 when asked for and exact, else F64. */
struct bpg_const *bpg_const_from_double(struct bpg_arena *arena, enum bpg_dtype wish, int64_t n, const double *values);
/* Takes errors of a computed constant; nothing when all are 0. False when memory is short. */
bool bpg_const_set_error(struct bpg_const *c, const double *err);
/* F32 data that stays in an open file. */
struct bpg_const *bpg_const_in_file(struct bpg_arena *arena, int64_t n, int fd, int64_t offset);

/* All of a constant as floats for a while: a large one that lies in its file is read into *copy, which the caller frees; others
 * are pinned. Null when memory is short. */
const float *bpg_const_lend_f32(struct bpg_const *c, float **copy);

/* Reads a block of a matrix with row stride `stride`: rows row0 .. row0+rows-1, columns col0 .. col0+cols-1 into `to`
 * (rows x cols, dense). No caching: memory stays that of the caller. */
void bpg_const_block_f32(const struct bpg_const *c, int64_t row0, int64_t rows, int64_t stride, int64_t col0, int64_t cols, float *to);
/* The same block where it lies, when it is in memory as that; else it is read into `room`. */
const float *bpg_const_rows_f32(const struct bpg_const *c, int64_t row0, int64_t rows, int64_t stride, int64_t col0, int64_t cols, float *room);

#endif
