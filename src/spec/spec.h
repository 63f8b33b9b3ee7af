/* spec.h - the question: regions and rows.
 *
 * Normal form of a VNN-LIB property: the unsafe set is an OR of disjuncts, each a box of inputs AND rows over the
 * outputs that must all hold. A disjunct is refuted when its box is empty, or some row cannot hold on the box. */
#ifndef BPG_SPEC_H
#define BPG_SPEC_H

#include "base/base.h"

/* Decimal bounds of an input as doubles: lo <= true lower, true upper <= up (for proofs); in_lo >= true lower,
 * in_up <= true upper (for witnesses). The four differ by rounding only. */
struct bpg_box {
	int64_t n;
	double *lo, *up, *in_lo, *in_up;
};

/* A row over the concatenated outputs: sum coef*y + offset <= 0 (< 0 when strict) is the condition that must be
 * refuted. coef and offset are nearest doubles; coef_err, offset_err bound what the decimals differ by. */
struct bpg_row {
	int n;
	int64_t *index;
	double *coef, *coef_err;
	double offset, offset_err;
	bool strict;
	int line;
};

struct bpg_disjunct {
	struct bpg_box *box;      /* shared by disjuncts that do not change it */
	int rows;
	struct bpg_row *row;      /* none: every point of the box is unsafe */
};

struct bpg_spec {
	struct bpg_arena *arena;
	const char *path;
	int64_t inputs, outputs;  /* declared */
	int64_t disjuncts;
	struct bpg_disjunct *disjunct;
};

/* Reads a VNN-LIB 1.0 file (also .gz). The declared numbers of variables must be in_count and out_count.
 * Errors name file and line. Relations between inputs are refused by name. An unbounded input is infinite. */
enum bpg_status bpg_vnnlib_read(struct bpg_ctx *ctx, const char *path, int64_t in_count, int64_t out_count, struct bpg_spec **spec);
void bpg_spec_free(struct bpg_spec *spec);

/* Outputs that always are equal become one: to[i] <= i is the one that stands for output i, and for itself. */
enum bpg_status bpg_spec_merge(struct bpg_ctx *ctx, struct bpg_spec *spec, const int64_t *to);

/* Is the point in the unsafe set? In exact terms: x inside [in_lo, in_up] (or, where the box fixes an element at a
 * decimal that no double holds, the nearest float32 number), and every row of a disjunct holds for all y
 * in [lo, up] (outward rounding; pass lo == up for one point). */
bool bpg_spec_holds(const struct bpg_spec *spec, const double *x, const double *lo, const double *up);
/* The rows alone: all of them hold for every y in [lo, up]. */
bool bpg_disjunct_rows_hold(const struct bpg_disjunct *disjunct, const double *lo, const double *up);

/* Reads `n` numbers (n < 0: any number) from a .npy file (float32/float64/integers, C order) or text (blanks, commas or
 * line ends between; also .gz). *count numbers in *values, to be freed by the caller. NaN is refused; text numbers may be
 * asked for with their outward neighbours: *lo <= decimal <= *up (equal to *values for .npy); null: not wanted. */
enum bpg_status bpg_numbers_read(struct bpg_ctx *ctx, const char *path, int64_t n, int64_t *count, double **values, double **lo, double **up);

/* A decimal text as the doubles around it: *lo <= number <= *up, neighbours or equal. False: not a number. `text` must
 * be a whole number (sign, digits, point, exponent), nothing else. */
bool bpg_decimal(const char *text, double *nearest, double *lo, double *up);

/* A file that may be compressed: whole content in memory-like stream. */
struct bpg_stream;
enum bpg_status bpg_stream_open(struct bpg_ctx *ctx, const char *path, struct bpg_stream **stream);
/* Next bytes, at most `room`; 0 at the end, -1 on a damaged file and when the context says stop (the message is written). */
int64_t bpg_stream_read(struct bpg_stream *stream, void *to, int64_t room);
/* Why it gave -1. */
enum bpg_status bpg_stream_status(const struct bpg_stream *stream);
void bpg_stream_close(struct bpg_stream *stream);

#endif
