/* cuda.h - the kernels for GPUs, behind a plain C interface: no type of CUDA, no type of StarPU.
 *
 * Layouts are those of the CPU's tasks (codelets/kernel.h, codelets/fields.h), and so is the order of every sum: the bits of
 * what a kernel writes are those that the CPU's task writes (but for the payload of a NaN). Each kernel has a structure of
 * arguments; pointers are to memory of the device, aligned to 16 bytes. bpg_cuda_X(args, stream) starts the kernel on a stream
 * (null: the default one) and returns 0 or an error number of CUDA; bpg_host_X(args) runs the same text on the host, over memory
 * of the host.
 *
 * `wide` tiles are of double, others of float. A tile over `columns` is [strips][columns][16]. */
#ifndef BPG_CUDA_CUDA_H
#define BPG_CUDA_CUDA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "codelets/fields.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- the device ---- */

struct bpg_cuda_device {
	char name[256];
	int64_t bytes;
	int processors, major, minor, driver, runtime;
};
/* Devices on which a kernel runs; *why: what CUDA says where there is none. */
int bpg_cuda_devices(const char **why);
/* Those that the driver shows; nothing is started on them. */
int bpg_cuda_count(void);
/* Of device 0. */
void bpg_cuda_describe(struct bpg_cuda_device *d);
/* Memory of the current device; null when it is short. */
void *bpg_cuda_alloc(size_t bytes);
void bpg_cuda_free(void *p);
int bpg_cuda_put(void *device, const void *host, size_t bytes);
int bpg_cuda_get(void *host, const void *device, size_t bytes);
/* In the order of the stream: a copy, from and to memory of any device or of the host; zeros. */
int bpg_cuda_move(void *to, const void *from, size_t bytes, void *stream);
int bpg_cuda_clear(void *p, size_t bytes, void *stream);
int bpg_cuda_sync(void *stream);
/* Memory of the host that devices read and write by themselves; null when it is short. */
void *bpg_cuda_pinned(size_t bytes);
void bpg_cuda_unpin(void *p);
const char *bpg_cuda_error(int error);
/* Seconds of one call of `work` on the default stream, the mean of `times` after one that is not counted; -1: it failed. */
double bpg_cuda_time(int (*work)(void *), void *arg, int times);

/* ---- products ---- */

/* Of a block of threads; bits do not depend on it. */
enum bpg_cuda_shape { BPG_SHAPE_AUTO, BPG_SHAPE_LARGE, BPG_SHAPE_MIDDLE, BPG_SHAPE_SMALL };

/* C[s][c] (=, or accumulate: +=) sum over k of A[s][k] W[c / 8][k][c % 8], in blocks.
 * Dense: k0 .. k1-1 in blocks of `block`; one cell, one set. Convolution (run not null): `cells` input positions, `sets` channel
 * groups; cell i sums blocks first[i] .. first[i+1]-1, block b runs end[b-1] .. end[b]-1 (0 before the first), as
 * codelets/conv_sums.h lists them. A cell or an empty range without products is 0. */
struct bpg_cuda_product {
	bool wide, accumulate;
	int shape;               /* enum bpg_cuda_shape */
	int64_t strips, columns; /* columns: of a set */
	const void *A;           /* `a_strip` elements from strip to strip */
	const float *W;          /* floats, also for wide tiles; `w_group` of them from group to group of 8 columns */
	void *C;
	int64_t a_strip, w_group, c_strip;
	int64_t k0, k1, block; /* dense */
	void *space; /* dense: null, or room for (blocks of the sum) * strips * columns * 16 numbers, so that blocks can be
	                computed side by side where there are few threads otherwise; they are added in order all the same */
	int64_t cells, sets;
	int64_t a_set, w_set, c_set; /* columns of A, floats of W, columns of C from set to set */
	int64_t c_cell;              /* columns of C from cell to cell */
	const int *first, *end;
	const struct bpg_run *run;
};
int bpg_cuda_product(const struct bpg_cuda_product *p, void *stream);
void bpg_host_product(const struct bpg_cuda_product *p);

/* Z[s][o] = (accumulate ? Z[s][o] : 0) + sum over j < columns of H[s][j] W[j / 8][o][j % 8], o < n, float; fused, j rising. */
struct bpg_cuda_adjoint {
	bool accumulate;
	int64_t strips, columns, n;
	const float *H, *W;
	float *Z;
	int64_t h_strip, w_group, z_strip;
};
int bpg_cuda_adjoint(const struct bpg_cuda_adjoint *p, void *stream);
void bpg_host_adjoint(const struct bpg_cuda_adjoint *p);

/* ---- rows ---- */

/* Places of a tile's columns: column j lies at first + j / row * step + j % row. A list: { columns, 0, 0 }. */
struct bpg_cuda_spans {
	int64_t row, first, step;
};

/* y = s x in place, and what it adds to p and slack; planes are those of segment[strip], `places` doubles a field.
 *
 *   choice   not null: column j with choice[j] >= 0 has a lower slope of each row, alpha[strip][choice[j]][lane] in [0,1], where the
 *            bounds of its element are on both sides of 0, and x (else 0) goes to `kept` (null: dropped) at the same place; then
 *            without `slack` slack becomes 0
 *   second   not null: a join; nothing is relaxed: second's columns are added to the tile's columns `at`, `columns` are second's, and
 *            slack grows by (unit radius + 2^-60) |sum|
 *   bounds   of the node, n elements a field, and element[j] that of column j: for a join, and for choices (one segment then)
 *   pairs    > 0: strips s and s + apart, s < pairs, are opposite on columns mixed .. columns-1, of which the second has none (a
 *            list) */
struct bpg_cuda_relax {
	bool wide, slack;
	int64_t strips, columns;
	struct bpg_cuda_spans at;
	void *tile;
	double *state;
	const int32_t *segment; /* [strips]; null: 0 */
	const double *planes;
	int64_t places;
	double under;
	int64_t choices; /* columns with a choice */
	const int32_t *choice;
	const float *alpha;
	float *kept;
	const void *second;
	int64_t tile_columns; /* second: columns of the tile */
	const double *bounds;
	int64_t n;
	const int32_t *element;
	int64_t pairs, apart, mixed;
};
int bpg_cuda_relax(const struct bpg_cuda_relax *p, void *stream);
void bpg_host_relax(const struct bpg_cuda_relax *p);

/* Sums over the columns of a tile, in order, into the state.
 * TOLL: slack += |x| (extra + gamma gross), + under. REGION: box += |x| radius, ball: squares (norm 2), the largest (norm 1),
 * none (0). PLANES: p += x+ at[0] + x- at[1], slack += what they cost, with planes of segment[strip]; lost (null: none):
 * [strips][lost_columns][16], what of the first columns was not dealt out, at the price of their radius. */
enum bpg_cuda_sum { BPG_SUM_TOLL, BPG_SUM_REGION, BPG_SUM_PLANES };
struct bpg_cuda_sums {
	enum bpg_cuda_sum kind;
	bool wide, slack;
	int norm;
	int64_t strips, columns;
	const void *tile;
	double *state;
	const int32_t *segment, *element; /* element of a column */
	const double *bounds;
	int64_t n;
	double gamma, under;
	const struct bpg_plane_at *plane; /* [segments][columns] */
	int64_t lost_columns;
	const double *lost;
};
int bpg_cuda_sums(const struct bpg_cuda_sums *p, void *stream);
void bpg_host_sums(const struct bpg_cuda_sums *p);

/* Sparse planes by rows: terms first[r] .. first[r+1]-1 of row r, on element index[] of input number in[]. */
struct bpg_cuda_planes {
	const int64_t *first;
	const int32_t *in, *index;
	const float *coef;
	const double *bias;
};
/* What the planes of a tile's columns are at the reference values, and their prices: to[segments][columns + others]. Column c < columns
 * has row segment n + element[c] of list 0 below and of list 1 above; other o is row other[o] of list 2 + side[o], one of element of[o].
 * Bounds: of the node, n elements a field; of input k: inputs[k] elements a field at input[k]. gross: price of a unit of sum |coefficient|
 * radius; gamma[t]: of a unit of what t terms sum up. */
struct bpg_cuda_price {
	bool slack;
	int64_t segments, columns, others;
	struct bpg_cuda_planes list[4];
	const int32_t *element;
	const int64_t *other;
	const int32_t *of, *side;
	const double *bounds;
	int64_t n;
	const double *const *input;
	const int64_t *inputs;
	double gross;
	const double *gamma;
	struct bpg_plane_at *to;
};
int bpg_cuda_price(const struct bpg_cuda_price *p, void *stream);
void bpg_host_price(const struct bpg_cuda_price *p);

/* to[s][c] = (accumulate: to[s][c]) + sum over the terms of c, in order, of from[s][column] lower; two: lower where the
 * coefficient is >= 0, upper where it is negative. Terms of column c for segment g: first[g (to_columns+1) + c] .. first[... +
 * 1]-1. */
struct bpg_cuda_map {
	bool wide, accumulate, two;
	int64_t strips, from_columns, to_columns;
	const void *from;
	void *to;
	const int32_t *segment;
	const int64_t *first;
	const struct bpg_plane_term *term; /* column: of `from` */
};
int bpg_cuda_map(const struct bpg_cuda_map *p, void *stream);
void bpg_host_map(const struct bpg_cuda_map *p);

/* Coefficients [strips][columns] dealt out by the weights of each row: what is left at the same column of `to`, parts of column j
 * at columns other[j] .. other[j+1]-1 behind, the first below[j] of them below; weight: [strips][other[columns]][16]; to:
 * [strips][columns + others]; lost: [strips][columns][16], what rounding leaves undealt, exact. */
struct bpg_cuda_deal {
	bool wide;
	int64_t strips, columns, others;
	const void *from;
	const float *weight;
	void *to;
	double *lost;
	const int32_t *other, *below;
};
int bpg_cuda_deal(const struct bpg_cuda_deal *p, void *stream);
void bpg_host_deal(const struct bpg_cuda_deal *p);

/* Columns of one window to another, channel-last, 0 where `from` has none; negative: the other sign. A list: one position. */
struct bpg_cuda_copy {
	bool wide, negative;
	int64_t strips, channels;
	int32_t from_lo[2], from_up[2], to_lo[2], to_up[2];
	const void *from;
	void *to;
	int64_t from_strip, to_strip; /* elements from strip to strip */
};
int bpg_cuda_copy(const struct bpg_cuda_copy *p, void *stream);
void bpg_host_copy_rows(const struct bpg_cuda_copy *p);

/* The start of rows +-element[i], i < count: lower sides (sides & 1) are rows 0 .., upper ones (sides & 2) rows minus .. .
 * Unit rows (W null): 1 at column[i] (-1: none), else 0. Rows of a matrix: weights of columns c0 .. c1-1 from their panel, summed
 * column column[i]; upper sides have columns below upper_columns alone. state (null: another panel's call writes it): p =
 * +-centre, slack = extra for a matrix. */
struct bpg_cuda_start {
	bool wide, slack;
	int64_t strips, columns, count;
	int sides;
	int64_t minus, c0, c1, upper_columns;
	const int64_t *element, *column;
	const float *W;
	int64_t w_group;
	void *tile;
	double *state;
	const int32_t *segment;
	const double *bounds; /* of the node whose rows they are, n elements a field */
	int64_t n;
};
int bpg_cuda_start(const struct bpg_cuda_start *p, void *stream);
void bpg_host_start(const struct bpg_cuda_start *p);

/* ---- optimised slopes ---- */

/* One Adam step of slopes in [0,1] and the projection; then the point z goes on through the chosen lines, in place. Arrays of
 * parameters are [strips][choices][16], moments twice that. bounds: of the input, n elements a field; columns whose bounds are on
 * one side of 0 choose no longer. weight (null: 1): [strips * 16], how much a row counts. */
struct bpg_cuda_step {
	int64_t strips, columns, choices, places;
	struct bpg_cuda_spans at;
	const int32_t *choice; /* [columns] -1: one line */
	const double *planes, *bounds;
	int64_t n;
	const int32_t *element;
	float *z;
	const float *kept, *weight;
	float *alpha, *moments;
	float rate, bias1, bias2;
};
int bpg_cuda_step(const struct bpg_cuda_step *p, void *stream);
void bpg_host_step(const struct bpg_cuda_step *p);

/* Where the bound of each row is attained: a corner of the box, or a point of the ball where that is nearer. */
struct bpg_cuda_corner {
	bool wide;
	int norm;
	int64_t strips, columns;
	double size; /* of the ball */
	const void *tile;
	const double *state, *bounds; /* of the input, n elements a field */
	int64_t n;
	const int32_t *element; /* of a column */
	float *z;
};
int bpg_cuda_corner(const struct bpg_cuda_corner *p, void *stream);
void bpg_host_corner(const struct bpg_cuda_corner *p);

/* ---- cuBLAS, for rates and where bits do not matter. 0 or a status of cuBLAS ---- */

/* A handle of one's own, with `bytes` of device memory as its only workspace (4 MiB do; 32 on sm_90). */
int bpg_cuda_blas_open(void **handle, void *workspace, size_t bytes);
void bpg_cuda_blas_close(void *handle);
/* What a task does with the handle of its worker before it uses it: its stream, this workspace, pedantic arithmetic, no atomics.
 */
int bpg_cuda_blas_prepare(void *handle, void *stream, void *workspace, size_t bytes);
/* C [m,n] (=, accumulate: +=) A [m,k] B [k,n], row by row. */
int bpg_cuda_blas_product(void *handle, int64_t m, int64_t n, int64_t k, const float *A, const float *B, bool accumulate,
                          float *C);

/* ---- NCCL ---- */

/* A communicator over devices 0 .. devices-1 of this process, with a stream on each. null: *why says it in NCCL's words. */
struct bpg_cuda_ring;
struct bpg_cuda_ring *bpg_cuda_ring_new(int devices, const char **why);
void bpg_cuda_ring_free(struct bpg_cuda_ring *r);
/* panel[i] on device i = the shards of all devices, `bytes` of each, in order; one group of calls by one thread, which waits for
 * them. Calls on one ring must not overlap. 0, an error of CUDA, or minus one of NCCL. */
int bpg_cuda_ring_gather(struct bpg_cuda_ring *r, const void *const *shard, void *const *panel, size_t bytes);
int bpg_cuda_nccl_version(void);

#ifdef __cplusplus
}
#endif

#endif
