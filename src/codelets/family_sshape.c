/* family_sshape.c - slopes for functions that rise, are odd-symmetric about (0, f(0)), convex left and concave right.
 *
 * Only the lower line is written down: f(x) = 2 f(0) - f(-x), so the upper line on [l,u] is the lower one on [-u,-l].
 * Where the chord does not lie below f, the best lines are tangents at d in [l, d_low], d_low <= 0 being the point whose
 * tangent meets (u, f(u)). */
#include <math.h>

#include "codelets/family_unary.h"

/* A lower line and derivatives of its slope. */
struct side {
	double s, dl, du, dalpha;
};

/* Slope of the chord; kept within the slopes that f has on [l,u], which it leaves only by rounding. */
static double chord(const struct bpg_sshape *g, double l, double u)
{
	double a = g->df(l), b = g->df(u), k = (g->f(u) - g->f(l)) / (u - l);
	double most = l < 0 && u > 0 ? g->df(0) : fmax(a, b);
	return !(k > fmin(a, b)) ? fmin(a, b) : fmin(k, most);
}

static struct side chord_side(const struct bpg_sshape *g, double l, double u, double k)
{
	return (struct side){ .s = k, .dl = (k - g->df(l)) / (u - l), .du = (g->df(u) - k) / (u - l) };
}

/* d_low: the root of h(d) = f(d) + f'(d) (u - d) - f(u), which rises on d < 0 (h' = f''(d) (u - d)), with h(l) < 0 < h(0).
 * Newton's method, halving the bracket where it would leave it. The left end is returned, whose tangent is valid. */
static double touch_low(const struct bpg_sshape *g, double l, double u)
{
	double lo = fmax(l, -g->far), up = 0, fu = g->f(u), d = fmax(lo, -1);
	if (d <= lo)
		d = lo / 2;

	for (int i = 0; i < 100 && up - lo > 1e-10 * (1e-3 - lo); i++) {
		double h = g->f(d) + g->df(d) * (u - d) - fu, next = d - h / (g->ddf(d) * (u - d));
		if (h <= 0)
			lo = d;
		else
			up = d;
		/* A step that hits the root leaves one end of the bracket far away: aim a little to its other side. */
		double nudge = 0.4e-10 * (1e-3 - d);
		next += h <= 0 ? nudge : -nudge;
		d = next > lo && next < up ? next : lo + (up - lo) / 2;
	}
	return lo;
}

/* Tangents at `least` .. `most` are valid; `chord`: no parameter, k is the slope. */
struct choice {
	bool chord, touches;      /* touches: `most` is d_low */
	double least, most, start, k;
};

static struct choice choose(const struct bpg_sshape *g, double l, double u)
{
	double m = l + (u - l) / 2;
	struct choice c = { .least = l, .most = u, .start = m };

	if (!isfinite(m))
		m = c.start = isfinite(l) ? l : isfinite(u) ? u : 0;
	if (u <= 0)
		return c;
	c.k = chord(g, l, u);
	if (l >= 0 || c.k <= g->df(l)) {
		c.chord = true;
		return c;
	}
	c.touches = true;
	c.most = touch_low(g, l, u);
	c.start = fmin(m, c.most);
	return c;
}

static struct side lower_side(const struct bpg_sshape *g, double l, double u, double alpha)
{
	struct choice c = choose(g, l, u);
	if (c.chord)
		return chord_side(g, l, u, c.k);

	double d = isnan(alpha) ? c.start : fmin(fmax(alpha, c.least), c.most), curve = g->ddf(d);
	struct side s = { .s = g->df(d) };
	bool inside = alpha >= c.least && alpha <= c.most; /* an end counts: the parameter can leave it */
	if (inside) {
		s.dalpha = curve;
	} else if (c.touches && d == c.most) {
		s.du = (g->df(u) - s.s) / (u - d); /* implicit derivative of h(d, u) = 0 */
	} else if (isnan(alpha)) {
		s.dl = s.du = curve / 2;
	} else {
		s.dl = alpha < c.least ? curve : 0;
		s.du = alpha > c.most ? curve : 0;
	}
	return s;
}

struct bpg_slopes bpg_sshape_slopes(const struct bpg_sshape *g, double l, double u, const double alpha[2])
{
	if (isinf(l) && isinf(u))
		return (struct bpg_slopes){ 0 };
	struct side lo = lower_side(g, l, u, alpha[0]), up = lower_side(g, -u, -l, -alpha[1]);

	return (struct bpg_slopes){ .lo = lo.s, .dlo_dl = lo.dl, .dlo_du = lo.du, .dlo_dalpha = lo.dalpha,
	                            .up = up.s, .dup_dl = -up.du, .dup_du = -up.dl, .dup_dalpha = -up.dalpha };
}

void bpg_sshape_alpha_range(const struct bpg_sshape *g, double l, double u, int side, double *least, double *most,
                            double *start)
{
	struct choice c = side == 0 ? choose(g, l, u) : choose(g, -u, -l);
	if (c.chord)
		c.least = c.most = c.start;
	*least = side == 0 ? c.least : -c.most;
	*most = side == 0 ? c.most : -c.least;
	*start = side == 0 ? c.start : -c.start;
}
