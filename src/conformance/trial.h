/* trial.h - one random instance of a layer, with a box and a point in it; the properties are functions of it. */
#ifndef BPG_TRIAL_H
#define BPG_TRIAL_H

#include "base/base.h"
#include "net/sample.h"

enum { BPG_TRIAL_OPERANDS = 32, BPG_TRIAL_POINTS = 12 };

struct bpg_trial {
	struct bpg_ctx *ctx;      /* lent */
	struct bpg_arena *arena;
	const struct bpg_layer *layer;
	uint64_t seed;
	struct bpg_rng rng;
	struct bpg_sample s;
	struct bpg_node v;
	int64_t n;                /* outputs */
	double *l[BPG_TRIAL_OPERANDS], *u[BPG_TRIAL_OPERANDS]; /* box of every variable operand; null for others */
	double *x[BPG_TRIAL_OPERANDS]; /* a point; constants too */
	double *lo, *up;          /* interval of the box */
	struct bpg_terms *row;    /* LINEAR: [n] */
	struct bpg_trial_plane *plane; /* GENERAL: planes below and above each output over the box, the other ones too */
	int64_t planes;
};

/* side 1: a plane below output i, -1: above. which: -1, or the number of the other plane. */
struct bpg_trial_plane {
	int64_t i;
	int side, which;
	struct bpg_terms terms;
};

/* Draws, imports, and takes the interval of a box. bpg_trial_close also after a failure. */
enum bpg_status bpg_trial_open(struct bpg_trial *t, struct bpg_ctx *ctx, const struct bpg_layer *layer, uint64_t seed, int fd);
void bpg_trial_close(struct bpg_trial *t);

/* "layer L, op O, seed S: ..." */
enum bpg_status bpg_trial_fail(struct bpg_trial *t, const char *format, ...) BPG_PRINTF(2, 3);
#define BPG_REQUIRE(t, condition, ...)                             \
	do {                                                       \
		if (!(condition))                                  \
			return bpg_trial_fail(t, __VA_ARGS__);     \
	} while (0)

/* Memory of the trial; ends the program when there is none. */
void *bpg_trial_alloc(struct bpg_trial *t, int64_t n, size_t size);
bool bpg_trial_variable(const struct bpg_trial *t, int k);
double bpg_trial_uniform(struct bpg_trial *t, double lo, double up);

/* A box inside the domain: some elements are points, some very narrow. */
void bpg_trial_box(struct bpg_trial *t);
/* A point of the box into t->x: anywhere, or at a corner. */
void bpg_trial_point(struct bpg_trial *t, bool corner);
/* A box inside the box, `part` of its width at most; l and u of variable operands are allocated, others null. */
void bpg_trial_part(struct bpg_trial *t, double part, double **l, double **u);

enum bpg_status bpg_trial_interval(struct bpg_trial *t, double *const *l, double *const *u, int64_t first, int64_t n,
                                   double *lo, double *up);
enum bpg_status bpg_trial_eval(struct bpg_trial *t, double *const *x, double *y);

/* LINEAR: value of row i at the point, the magnitude of what is summed, and what the row may be off. */
long double bpg_trial_row(const struct bpg_trial *t, int64_t i, long double *magnitude, long double *err);
/* What rounding may add to an interval: fast paths round sums as a whole, 2 gamma of all magnitudes. */
double bpg_trial_rounding(const struct bpg_trial *t, int64_t i);
/* How far the outputs of a GENERAL layer go when its operands move by a relative eps about the point: what rounding them
 * may do, sums that cancel included. *move null for other families. */
enum bpg_status bpg_trial_sway(struct bpg_trial *t, double eps, double **move);

/* ---- properties ---- */

enum bpg_status bpg_keeps_values(struct bpg_trial *t);     /* points: value in the interval, eval and eval_f32 near it */
enum bpg_status bpg_keeps_pieces(struct bpg_trial *t);     /* an interval in pieces is the whole, bit for bit */
enum bpg_status bpg_keeps_nesting(struct bpg_trial *t);    /* intervals of sub-boxes lie inside, of points at the value */
enum bpg_status bpg_keeps_infinite(struct bpg_trial *t);   /* infinite and huge ends: wider, never NaN */
enum bpg_status bpg_keeps_gradient(struct bpg_trial *t);   /* against differences */
enum bpg_status bpg_keeps_dense(struct bpg_trial *t);      /* LINEAR: the matrix, */
enum bpg_status bpg_keeps_conv(struct bpg_trial *t);       /* the convolution */
enum bpg_status bpg_keeps_ways(struct bpg_trial *t);       /* and every way to an interval are the rows */
enum bpg_status bpg_keeps_planes(struct bpg_trial *t);     /* GENERAL: below and above, at points and over sub-boxes, the other ones too */
enum bpg_status bpg_keeps_lines(struct bpg_trial *t);      /* UNARY: the same, with the worst point searched */
enum bpg_status bpg_keeps_extremes(struct bpg_trial *t);   /* UNARY: ends at kinks, huge, tiny, equal, infinite */
enum bpg_status bpg_keeps_slopes(struct bpg_trial *t);     /* UNARY: stated derivatives of slopes against differences */

#endif
