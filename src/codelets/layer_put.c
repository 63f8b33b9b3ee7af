/* layer_put.c - ScatterND at indices that depend on the input: an output element is the operand's, or that of an update that
 * may lie there; the last one stays. An index that is NaN, or infinite, hits nothing: it is not there (layer_window.c). */
#include <string.h>

#include "codelets/family_max.h"

struct put {
	int64_t depth, rows, inner; /* numbers of an index, updates, elements of one */
	int64_t dim[BPG_MAX_RANK];  /* of the indexed axes */
};

static enum bpg_status put_import(const struct bpg_import *im, struct bpg_node *v)
{
	BPG_TRY(bpg_import_operands(im, v, 3, 3));
	struct put *g = bpg_import_alloc(im, 1, sizeof *g);
	if (!g)
		return bpg_import_fail(im, BPG_ENOMEM, "not enough memory");
	v->attr = g;
	const struct bpg_shape *in = &v->in[0].shape, *at = &v->in[1].shape;
	struct bpg_shape want = { 0 };
	g->depth = at->rank > 0 ? at->dim[at->rank - 1] : 0;
	if (v->in[1].value || strcmp(bpg_import_string(im, "reduction", "none"), "none"))
		return bpg_import_fail(im, BPG_EUNSUPPORTED, "constant indices, or a reduction");
	if (g->depth < 1 || g->depth > in->rank || at->rank - 1 + in->rank - g->depth > BPG_MAX_RANK)
		return bpg_import_fail(im, BPG_EFILE, "indices of depth %lld do not fit an operand of rank %d",
		                       (long long)g->depth, in->rank);
	g->inner = 1;
	for (int a = 0; a < at->rank - 1; a++)
		want.dim[want.rank++] = at->dim[a];
	for (int a = 0; a < in->rank; a++) {
		if (a < g->depth) {
			g->dim[a] = in->dim[a];
			continue;
		}
		want.dim[want.rank++] = in->dim[a];
		g->inner *= in->dim[a];
	}
	if (!bpg_shape_equal(&want, &v->in[2].shape))
		return bpg_import_fail(im, BPG_EFILE, "the shapes of operand, indices and updates do not fit");
	g->rows = v->in[1].n / g->depth;
	v->out.shape = *in;
	v->out.type = v->in[0].type;
	if (g->rows > 0 && v->in[0].n > ((int64_t)1 << 32) / g->rows)
		return bpg_import_fail(im, BPG_EUNSUPPORTED, "too many updates at indices that depend on the input");
	return bpg_import_pin(im, v);
}

/* Bit 0: update `row` may miss the position of output i; bit 1: it may lie there. */
static int may_hit(const struct put *g, const double *l, const double *u, int64_t row, int64_t i)
{
	int64_t place = i / g->inner;
	int may = 2;
	for (int64_t a = g->depth - 1; a >= 0; a--) {
		double p = (double)(place % g->dim[a]), q = p - (double)g->dim[a];
		double low = trunc(l[row * g->depth + a]), high = trunc(u[row * g->depth + a]);
		place /= g->dim[a];
		if (!(low <= p && p <= high) && !(low <= q && q <= high))
			return 1;
		if (low != high)
			may |= 1;
	}
	return may;
}

/* The update that stays at output i, -1: none. */
static int64_t winner(const struct put *g, const double *index, int64_t i)
{
	for (int64_t row = g->rows - 1; row >= 0; row--)
		if (may_hit(g, index, index, row, i) == 2)
			return row;
	return -1;
}

static enum bpg_status put_eval(const struct bpg_node *v, const double *const *x, double *y)
{
	const struct put *g = v->attr;
	for (int64_t i = 0; i < v->out.n; i++) {
		int64_t row = winner(g, x[1], i);
		y[i] = row < 0 ? x[0][i] : x[2][row * g->inner + i % g->inner];
	}
	return BPG_OK;
}

static enum bpg_status put_gradient(const struct bpg_node *v, const double *const *x, const double *gy, double *const *gx)
{
	const struct put *g = v->attr;
	for (int64_t i = 0; i < v->out.n; i++) {
		int64_t row = winner(g, x[1], i);
		if (row < 0 && gx[0])
			gx[0][i] += gy[i];
		else if (row >= 0 && gx[2])
			gx[2][row * g->inner + i % g->inner] += gy[i];
	}
	return BPG_OK;
}

static void collect(const struct bpg_node *v, const double *const *l, const double *const *u, int64_t i, bool least,
                    struct bpg_peak *p)
{
	const struct put *g = v->attr;
	struct bpg_range r;
	bool over = false; /* what came before is surely replaced */
	bpg_peak_start(p, least);
	for (int64_t row = g->rows - 1; row >= 0 && !over; row--) {
		int may = may_hit(g, l[1], u[1], row, i);
		int64_t at = row * g->inner + i % g->inner;
		if (!(may & 2))
			continue;
		r = bpg_range_of(v, l, u, 2, at);
		bpg_peak_add(p, v->in[2].value ? -1 : 2, at, r.l, r.u);
		over = may == 2;
	}
	if (over)
		return;
	r = bpg_range_of(v, l, u, 0, i);
	bpg_peak_add(p, v->in[0].value ? -1 : 0, i, r.l, r.u);
}

static enum bpg_status put_interval(const struct bpg_node *v, const double *const *l, const double *const *u, int64_t first,
                                       int64_t n, double *lo, double *up)
{
	bpg_peaks_interval(collect, v, l, u, first, n, lo, up);
	return BPG_OK;
}

static void put_planes(const struct bpg_node *v, const double *const *l, const double *const *u, int64_t i,
                          struct bpg_terms *lower, struct bpg_terms *upper)
{
	bpg_peaks_planes(collect, v, l, u, i, lower, upper);
}

static bool put_others(const struct bpg_node *v, const double *const *l, const double *const *u, int64_t i, int side, int which,
		       struct bpg_terms *t)
{
	return bpg_peaks_other(collect, v, l, u, i, side, which, t);
}

static void put_sample(struct bpg_rng *rng, struct bpg_sample *s)
{
	int64_t dim[3], at[2] = { 1 + bpg_rng_below(rng, 3), 1 + bpg_rng_below(rng, 3) }, updates[4] = { at[0] };
	int rank = 1;
	for (int a = 0; a < 3; a++)
		dim[a] = 1 + bpg_rng_below(rng, 4);
	for (int a = (int)at[1]; a < 3; a++)
		updates[rank++] = dim[a];
	bpg_sample_op(s, "ScatterND", 16);
	if (bpg_rng_below(rng, 3))
		bpg_sample_variable(s, 3, dim);
	else
		bpg_sample_constant(s, 3, dim, NULL);
	bpg_sample_variable(s, 2, at);
	if (bpg_rng_below(rng, 3))
		bpg_sample_variable(s, rank, updates);
	else
		bpg_sample_constant(s, rank, updates, NULL);
}

BPG_GENERAL_LAYER(put, .ops = "ScatterND", .traits = BPG_NEEDS_SMOOTH, .import = put_import, .eval = put_eval,
                  .interval = put_interval, .gradient = put_gradient, .planes = put_planes,
                  .others = put_others, .sample = put_sample);
