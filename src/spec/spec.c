/* spec.c - does a point meet a property? Rounded so that a yes is a yes in real arithmetic. */
#include "spec/spec.h"

#include <math.h>
#include <stdlib.h>

#include "spec/directed.h"

void bpg_spec_free(struct bpg_spec *spec)
{
	if (spec)
		bpg_arena_free(spec->arena);
}

/* Coefficients of one output are added into the first of them. Rows of several disjuncts may share their arrays, so nothing moves
 * and doing it twice changes nothing. first: zeros, by output; zeros again at the end. */
static void merge_row(struct bpg_row *r, const int64_t *to, int *first)
{
	for (int i = 0; i < r->n; i++) {
		int64_t out = r->index[i] = to[r->index[i]];
		if (!first[out])
			first[out] = i + 1;
		int k = first[out] - 1;
		if (k == i || (r->coef[i] == 0 && r->coef_err[i] == 0))
			continue;
		double lo = bpg_add_down(r->coef[k], r->coef[i]), up = bpg_add_up(r->coef[k], r->coef[i]),
		       v = r->coef[k] + r->coef[i];
		r->coef_err[k] =
		        bpg_add_up(bpg_add_up(r->coef_err[k], r->coef_err[i]), fmax(bpg_add_up(up, -v), bpg_add_up(v, -lo)));
		r->coef[k] = v;
		r->coef[i] = r->coef_err[i] = 0;
	}
	for (int i = 0; i < r->n; i++)
		first[r->index[i]] = 0;
}

enum bpg_status bpg_spec_merge(struct bpg_ctx *ctx, struct bpg_spec *spec, const int64_t *to)
{
	int *first = bpg_calloc((size_t)spec->outputs, sizeof *first);
	if (!first)
		return bpg_nomem(ctx, spec->path);
	for (int64_t i = 0; i < spec->disjuncts; i++)
		for (int k = 0; k < spec->disjunct[i].rows; k++)
			merge_row(&spec->disjunct[i].row[k], to, first);
	free(first);
	return BPG_OK;
}

/* An element is inside its decimals; where these are one that no double holds (a fixed 0.1), the nearest float32 number is
 * what a float32 network sees, and stands for it. */
static bool element_inside(double x, double lo, double up, double in_lo, double in_up)
{
	if (x >= in_lo && x <= in_up)
		return true;
	bool fixed = lo < up && in_lo == up && in_up == lo; /* one decimal between two neighbouring doubles */
	return fixed && x == (float)(lo + (up - lo) / 2);
}

static bool inside(const struct bpg_box *box, const double *x)
{
	for (int64_t i = 0; i < box->n; i++)
		if (!element_inside(x[i], box->lo[i], box->up[i], box->in_lo[i], box->in_up[i]))
			return false;
	return true;
}

/* Upper end of c*y over c in [cl, cu], y in [lo, up]; an exact zero coefficient is zero even where y is infinite. */
static double term_up(double cl, double cu, double lo, double up)
{
	if (cl == 0 && cu == 0)
		return 0;
	double a = bpg_mul_up(cl, lo), b = bpg_mul_up(cl, up), c = bpg_mul_up(cu, lo), d = bpg_mul_up(cu, up);
	if (isnan(a) || isnan(b) || isnan(c) || isnan(d))
		return INFINITY;
	return fmax(fmax(a, b), fmax(c, d));
}

/* The row holds for every y of the box. */
static bool row_holds(const struct bpg_row *r, const double *lo, const double *up)
{
	double s = bpg_add_up(r->offset, r->offset_err);
	for (int i = 0; i < r->n; i++) {
		double cl = bpg_add_down(r->coef[i], -r->coef_err[i]), cu = bpg_add_up(r->coef[i], r->coef_err[i]);
		s = bpg_add_up(s, term_up(cl, cu, lo[r->index[i]], up[r->index[i]]));
	}
	return r->strict ? s < 0 : s <= 0;    /* false for NaN */
}

bool bpg_disjunct_rows_hold(const struct bpg_disjunct *d, const double *lo, const double *up)
{
	for (int i = 0; i < d->rows; i++)
		if (!row_holds(&d->row[i], lo, up))
			return false;
	return true;
}

bool bpg_spec_holds(const struct bpg_spec *spec, const double *x, const double *lo, const double *up)
{
	/* Neighbours often share their box. */
	const struct bpg_box *last = NULL;
	bool in = false;
	for (int64_t i = 0; i < spec->disjuncts; i++) {
		const struct bpg_disjunct *d = &spec->disjunct[i];
		if (d->box != last)
			in = inside(d->box, x);
		last = d->box;
		if (in && bpg_disjunct_rows_hold(d, lo, up))
			return true;
	}
	return false;
}
