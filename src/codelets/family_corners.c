/* family_corners.c - lines for functions made of straight pieces, with or without jumps: everything is known from the
 * values and one-sided limits at the corners. f(x) - s*x is straight between corners, so its infimum and supremum are among
 * them; the envelope is the hull of the corners. */
#include <math.h>

#include "codelets/family_curve.h"

void bpg_corners_add(struct bpg_corners *c, double x, double lo, double up)
{
	c->x[c->n] = x;
	c->lo[c->n] = lo;
	c->up[c->n] = up;
	c->n++;
}

double bpg_corners_intercept(const struct bpg_corners *c, double s, int side)
{
	double least = INFINITY;
	for (int i = 0; i < c->n; i++) {
		double y = side > 0 ? c->lo[i] : -c->up[i], t = side * s;
		double g = isinf(c->x[i]) ? (s == 0 ? y : y - t * c->x[i]) : bpg_line_below(y, c->err, t, c->x[i]);
		if (!(g >= least))
			least = isnan(g) ? -INFINITY : g;
	}
	return side * least;
}

static double corner(const struct bpg_corners *c, int side, int i)
{
	return side > 0 ? c->lo[i] : -c->up[i];
}

/* Height at m of the line of slope s below all corners. */
static double height(const struct bpg_corners *c, int side, double s, double m)
{
	double least = INFINITY;
	for (int i = 0; i < c->n; i++)
		least = fmin(least, corner(c, side, i) + s * (m - c->x[i]));
	return least;
}

double bpg_corners_slope(const struct bpg_corners *c, int side, int *first, int *last)
{
	double l = c->x[0], u = c->x[c->n - 1], m = l + (u - l) / 2, most = -INFINITY, best = 0;

	*first = *last = 0;
	if (!isfinite(u - l))
		return 0;
	for (int i = 0; i < c->n; i++)
		for (int j = i + 1; j < c->n; j++) {
			if (!(c->x[i] <= m && c->x[j] >= m && c->x[i] < c->x[j]))
				continue;
			double s = (corner(c, side, j) - corner(c, side, i)) / (c->x[j] - c->x[i]), y = height(c, side, s, m);
			/* At a corner in the middle many lines meet: the flattest. */
			if (y > most || (y == most && fabs(s) < fabs(best))) {
				most = y;
				best = s;
				*first = i;
				*last = j;
			}
		}
	return side * best;
}

struct bpg_slopes bpg_corners_slopes(const struct bpg_corners *c, double dl, double du)
{
	struct bpg_slopes r = { 0 };
	for (int side = 1; side >= -1; side -= 2) {
		int i, j;
		double s = bpg_corners_slope(c, side, &i, &j), w = c->x[j] - c->x[i];
		double by_l = i == 0 && w > 0 ? (s - dl) / w : 0, by_u = j == c->n - 1 && w > 0 ? (du - s) / w : 0;
		if (side > 0) {
			r.lo = s;
			r.dlo_dl = by_l;
			r.dlo_du = by_u;
		} else {
			r.up = s;
			r.dup_dl = by_l;
			r.dup_du = by_u;
		}
	}
	return r;
}
