/* bilinear.c - products of two variables over a box [xl,xu] x [yl,yu].
 *
 * For any a and b the function x y - a x - b y is linear in either variable, so its extremes lie at the four corners: they
 * are the biases of the planes a x + b y + bias, whatever a and b were rounded to. McCormick's planes are those with
 *   below  a = yu + r (yl - yu), b = xu + r (xl - xu)        above  a = yl + r (yu - yl), b = xu + r (xl - xu)
 * for r in [0,1]. Over the box all have the same mean distance from the product, (xu - xl)(yu - yl)/4. */
#include "codelets/bilinear.h"

struct bpg_range bpg_product_range(struct bpg_range x, struct bpg_range y)
{
	return (struct bpg_range){
		fmin(fmin(bpg_mul_down(x.l, y.l), bpg_mul_down(x.l, y.u)), fmin(bpg_mul_down(x.u, y.l), bpg_mul_down(x.u, y.u))),
		fmax(fmax(bpg_mul_up(x.l, y.l), bpg_mul_up(x.l, y.u)), fmax(bpg_mul_up(x.u, y.l), bpg_mul_up(x.u, y.u))),
	};
}

struct bpg_range bpg_square_range(struct bpg_range x)
{
	double near = x.l > 0 ? x.l : x.u < 0 ? x.u : 0, far = fmax(fabs(x.l), fabs(x.u));
	return (struct bpg_range){ bpg_mul_down(near, near), bpg_mul_up(far, far) };
}

static double largest(struct bpg_range x)
{
	return fmax(fabs(x.l), fabs(x.u));
}

/* At one of the four corners. Five operations, each within half a unit in the last place of what it computes. */
double bpg_product_bias(struct bpg_range x, struct bpg_range y, double a, double b, int side)
{
	double size = largest(x) * largest(y) + fabs(a) * largest(x) + fabs(b) * largest(y), worst = INFINITY;
	if (!(size < 0x1p1000))
		return side * INFINITY;
	for (int i = 0; i < 4; i++) {
		double s = i & 1 ? x.u : x.l, t = i & 2 ? y.u : y.l, e = (s * t - a * s) - b * t;
		worst = fmin(worst, -side * e);
	}
	return -side * bpg_next_down(worst - (8 * BPG_U64 * size + 0x1p-1060));
}

static void plane(const struct bpg_factor *x, const struct bpg_factor *y, double a, double b, int side, struct bpg_terms *t)
{
	a = bpg_plane_round(a);
	b = bpg_plane_round(b);
	double bias = bpg_product_bias(x->in, y->in, a, b, side);
	if (!isfinite(bias)) {
		struct bpg_range r = bpg_product_range(x->in, y->in);
		bpg_plane_bias(t, side, r.l, r.u);
		return;
	}
	if (a != 0)
		bpg_terms_add(t, x->input, x->index, a, 0);
	if (b != 0)
		bpg_terms_add(t, y->input, y->index, b, 0);
	bpg_plane_bias(t, side, bias, bias);
}

/* Below x^2: x^2 - s x is at least -s^2/4, with s = 2 at. */
static void tangent(const struct bpg_factor *x, double at, struct bpg_terms *lower)
{
	double slope = bpg_plane_round(2 * at), bias = bpg_mul_down(-0.5 * slope, 0.5 * slope);
	if (slope != 0)
		bpg_terms_add(lower, x->input, x->index, slope, 0);
	bpg_plane_bias(lower, BPG_BELOW, bias, bias);
}

/* x^2 - s x: the greatest is at an end. */
static void square(const struct bpg_factor *x, struct bpg_terms *lower, struct bpg_terms *upper)
{
	struct bpg_range in = x->in, r = bpg_square_range(in);
	double high = bpg_plane_round(in.l + in.u);
	if (!(largest(in) < 0x1p500)) {
		bpg_plane_bias(lower, BPG_BELOW, r.l, r.u);
		bpg_plane_bias(upper, BPG_ABOVE, r.l, r.u);
		return;
	}
	tangent(x, bpg_range_middle(in), lower);
	if (high != 0)
		bpg_terms_add(upper, x->input, x->index, high, 0);
	/* x (x - s) */
	double left = bpg_mul_up(in.l, in.l < 0 ? bpg_add_down(in.l, -high) : bpg_add_up(in.l, -high));
	double right = bpg_mul_up(in.u, in.u < 0 ? bpg_add_down(in.u, -high) : bpg_add_up(in.u, -high));
	bpg_plane_bias(upper, BPG_ABOVE, 0, fmax(left, right));
}

/* The end nearer to 0. */
static double near(struct bpg_range r)
{
	return fabs(r.l) <= fabs(r.u) ? r.l : r.u;
}

/* Which planes: r = 0 or 1, such that one factor has the same coefficient below and above. That coefficient is best small,
 * an end of the other factor near to 0, and best of all of a factor that keeps its sign: a probability, a gate. (On the
 * test networks with products, never looser than r = 1 throughout, up to 6 % tighter; 1/2 was looser by up to 6 %.) True: the
 * plane whose coefficient of x is the lower end of y. */
static bool takes_low(struct bpg_range x, struct bpg_range y, int side)
{
	if (x.l < 0 && x.u > 0 && (y.l >= 0 || y.u <= 0))
		return near(y) == y.l;
	return (near(x) == x.l) == (side == BPG_BELOW);
}

/* McCormick's plane of that end. */
static void corner(const struct bpg_factor *x, const struct bpg_factor *y, bool low, int side, struct bpg_terms *t)
{
	plane(x, y, low ? y->in.l : y->in.u, low == (side == BPG_BELOW) ? x->in.l : x->in.u, side, t);
}

static bool is_finite(struct bpg_range x, struct bpg_range y)
{
	return isfinite(x.l) && isfinite(x.u) && isfinite(y.l) && isfinite(y.u);
}

void bpg_product_planes(const struct bpg_factor *x, const struct bpg_factor *y, bool same, struct bpg_terms *lower,
                        struct bpg_terms *upper)
{
	if (same) {
		square(x, lower, upper);
		return;
	}
	if (!is_finite(x->in, y->in)) {
		struct bpg_range r = bpg_product_range(x->in, y->in);
		bpg_plane_bias(lower, BPG_BELOW, r.l, r.u);
		bpg_plane_bias(upper, BPG_ABOVE, r.l, r.u);
		return;
	}
	corner(x, y, takes_low(x->in, y->in, BPG_BELOW), BPG_BELOW, lower);
	corner(x, y, takes_low(x->in, y->in, BPG_ABOVE), BPG_ABOVE, upper);
}

/* ---- the other planes ---- */

/* Where other tangents of a square touch, as parts of its range. */
static const double touch[] = { 0, 0.25, 0.75, 1 };

bool bpg_product_other(const struct bpg_factor *x, const struct bpg_factor *y, bool same, int side, int which, struct bpg_terms *t)
{
	if (same ? side == BPG_ABOVE || which >= (int)BPG_LEN(touch) : which > 0)
		return false;
	if (same)
		tangent(x, (1 - touch[which]) * x->in.l + touch[which] * x->in.u, t);
	else if (is_finite(x->in, y->in))
		corner(x, y, !takes_low(x->in, y->in, side), side, t);
	else
		return false;
	return true;
}
