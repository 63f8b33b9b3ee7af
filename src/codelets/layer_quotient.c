/* layer_quotient.c - Div by a variable, with broadcasting; the dividend may be constant. A divisor whose range holds 0 has no
 * bounds, and says so: the interval and both planes are infinite.
 *
 * Planes for y > 0 (for y < 0 both operands are negated). Any a and b will do: h = x/y - a x - b y is linear in x, so its
 * least value has x at an end X; as a function of y that is X/y - b y - a X, least at an end of y as well, but where X > 0
 * and b < 0 have it least at y = sqrt(X/-b) inside, with X/y - b y = 2 sqrt(-X b), which is never more than the true
 * minimum for any y > 0. The greatest value of h is minus the least of the same with -X and -b.
 * Where the divisor is known to be the root of a mean of squares that has the dividend in it, |x/y| <= most (net/pass_norm.c).
 * The slopes are McCormick's for x times 1/y, with 1/y between its tangent in the middle and its chord. */
#include <string.h>

#include "codelets/elementwise.h"
#include "codelets/plane.h"

/* The normalisations end in a division; they are spelled out while the network is built and never come here. */
static enum bpg_status quotient_import(const struct bpg_import *im, struct bpg_node *v)
{
	if (strcmp(v->op, "Div"))
		return bpg_import_fail(im, BPG_EUNSUPPORTED, "not spelled out");
	BPG_TRY(bpg_elementwise_import(im, v));
	if (v->in[1].value)
		return bpg_import_fail(im, BPG_EUNSUPPORTED, "the divisor is constant");
	if (v->out.type == BPG_I64)
		return bpg_import_fail(im, BPG_EUNSUPPORTED, "integer division by a tensor that depends on the input");
	double *most = bpg_import_alloc(im, 1, sizeof *most);
	if (!most)
		return bpg_import_fail(im, BPG_ENOMEM, "not enough memory");
	v->attr = most;
	*most = bpg_import_float(im, "bpg_most", INFINITY);
	return BPG_OK;
}

static enum bpg_status quotient_eval(const struct bpg_node *v, const double *const *x, double *y)
{
	for (int64_t i = 0; i < v->out.n; i++)
		y[i] = x[0][bpg_elementwise_index(v, 0, i)] / x[1][bpg_elementwise_index(v, 1, i)];
	return BPG_OK;
}

static enum bpg_status quotient_eval_f32(const struct bpg_node *v, const float *const *x, float *y)
{
	for (int64_t i = 0; i < v->out.n; i++)
		y[i] = x[0][bpg_elementwise_index(v, 0, i)] / x[1][bpg_elementwise_index(v, 1, i)];
	return BPG_OK;
}

static enum bpg_status quotient_gradient(const struct bpg_node *v, const double *const *x, const double *gy, double *const *gx)
{
	for (int64_t i = 0; i < v->out.n; i++) {
		int64_t a = bpg_elementwise_index(v, 0, i), b = bpg_elementwise_index(v, 1, i);
		double p = x[0][a], q = x[1][b];
		if (gx[0])
			gx[0][a] += gy[i] / q;
		if (gx[1])
			gx[1][b] -= gy[i] * p / q / q;
	}
	return BPG_OK;
}

/* ---- interval ---- */

static bool holds_zero(struct bpg_range y)
{
	return !(y.l > 0) && !(y.u < 0);
}

/* No more than `most`, either way. */
static struct bpg_range divide(struct bpg_range x, struct bpg_range y, double most)
{
	if (holds_zero(y))
		return (struct bpg_range){ -most, most };
	struct bpg_range r = {
		fmin(fmin(bpg_div_down(x.l, y.l), bpg_div_down(x.l, y.u)), fmin(bpg_div_down(x.u, y.l), bpg_div_down(x.u, y.u))),
		fmax(fmax(bpg_div_up(x.l, y.l), bpg_div_up(x.l, y.u)), fmax(bpg_div_up(x.u, y.l), bpg_div_up(x.u, y.u))),
	};
	if (r.l <= most)
		r.l = fmax(r.l, -most);
	if (r.u >= -most)
		r.u = fmin(r.u, most);
	return r;
}

static enum bpg_status quotient_interval(const struct bpg_node *v, const double *const *l, const double *const *u, int64_t first,
                                         int64_t n, double *lo, double *up)
{
	for (int64_t i = 0; i < n; i++) {
		struct bpg_range r =
		        divide(bpg_range_of(v, l, u, 0, bpg_elementwise_index(v, 0, first + i)),
		               bpg_range_of(v, l, u, 1, bpg_elementwise_index(v, 1, first + i)), *(const double *)v->attr);
		lo[i] = r.l;
		up[i] = r.u;
	}
	return BPG_OK;
}

/* ---- planes ---- */

/* X/y - a X - b y at an end of y, rounded down. */
static double at_end(double x, double y, double a, double b)
{
	return bpg_add_down(bpg_add_down(bpg_div_down(x, y), -bpg_mul_up(a, x)), -bpg_mul_up(b, y));
}

static double least_at(double x, struct bpg_range y, double a, double b)
{
	double least = fmin(at_end(x, y.l, a, b), at_end(x, y.u, a, b));
	if (!(x > 0) || !(b < 0))
		return least;
	double inside = sqrt(x / -b); /* its own rounding: far less than the margin */
	if (inside > y.l * (1 - 1e-9) && inside < y.u * (1 + 1e-9))
		least = fmin(least, bpg_add_down(2 * bpg_sqrt_down(bpg_mul_down(x, -b)), -bpg_mul_up(a, x)));
	return least;
}

/* Bias of the plane a x + b y. */
static double bias_of(struct bpg_range x, struct bpg_range y, double a, double b, int side)
{
	if (side < 0)
		return fmin(least_at(x.l, y, a, b), least_at(x.u, y, a, b));
	return -fmin(least_at(-x.l, y, a, -b), least_at(-x.u, y, a, -b));
}

struct slopes {
	double a, b, bias, middle; /* plane, and its value in the middle of the box */
};

/* The slope of 1/y times `factor`: its tangent in the middle (0), its chord (1). */
static struct slopes line(struct bpg_range x, struct bpg_range y, double a, double factor, int side, int chord)
{
	double ym = bpg_range_middle(y);
	struct slopes s = { .a = bpg_plane_round(a), .b = bpg_plane_round(factor * (chord ? -1 / y.l / y.u : -1 / (ym * ym))) };
	s.bias = bias_of(x, y, s.a, s.b, side);
	s.middle = s.bias + s.a * bpg_range_middle(x) + s.b * ym;
	return s;
}

/* McCormick's two planes for x times 1/y: the coefficient of x is an end of 1/y, that of 1/y an end of x. */
static struct slopes corner(struct bpg_range x, struct bpg_range y, bool low, int side, int chord)
{
	return line(x, y, low ? 1 / y.u : 1 / y.l, low == (side < 0) ? x.l : x.u, side, chord);
}

/* Which of them: the coefficient of 1/y is the end of x near 0; where x may be 0, that of x is the smaller one. */
static bool takes_low(struct bpg_range x, int side)
{
	return (x.l < 0 && x.u > 0) || (fabs(x.l) <= fabs(x.u)) == (side < 0);
}

/* The operands of element i, mirrored so that y > 0, and what is known of the quotient; tame: enough for planes. */
struct operands {
	int64_t at[2];
	struct bpg_range x, y, range;
	bool mirror, tame;
};

static struct operands operands(const struct bpg_node *v, const double *const *l, const double *const *u, int64_t i)
{
	struct operands o = { .at = { bpg_elementwise_index(v, 0, i), bpg_elementwise_index(v, 1, i) } };
	struct bpg_range x = bpg_range_of(v, l, u, 0, o.at[0]), y = bpg_range_of(v, l, u, 1, o.at[1]);
	o.range = divide(x, y, *(const double *)v->attr);
	o.mirror = y.u < 0;
	o.tame = !holds_zero(y) && isfinite(x.l) && isfinite(x.u) && isfinite(y.l) && isfinite(y.u);
	o.x = o.mirror ? (struct bpg_range){ -x.u, -x.l } : x;
	o.y = o.mirror ? (struct bpg_range){ -y.u, -y.l } : y;
	return o;
}

static void take(const struct bpg_node *v, const struct operands *o, const struct slopes *s, int side, struct bpg_terms *t)
{
	t->bias = isfinite(s->bias) ? s->bias : side < 0 ? o->range.l : o->range.u;
	if (!isfinite(s->bias))
		return;
	if (s->a != 0 && !v->in[0].value)
		bpg_terms_add(t, 0, o->at[0], o->mirror ? -s->a : s->a, 0);
	else if (s->a != 0) /* a constant dividend, up to its error */
		bpg_plane_bias(t, side, fmin(bpg_mul_down(s->a, o->x.l), bpg_mul_down(s->a, o->x.u)),
		               fmax(bpg_mul_up(s->a, o->x.l), bpg_mul_up(s->a, o->x.u)));
	if (s->b != 0)
		bpg_terms_add(t, 1, o->at[1], o->mirror ? -s->b : s->b, 0);
}

static void quotient_planes(const struct bpg_node *v, const double *const *l, const double *const *u, int64_t i,
                            struct bpg_terms *lower, struct bpg_terms *upper)
{
	struct operands o = operands(v, l, u, i);
	for (int side = -1; side <= 1; side += 2) {
		struct slopes s = { .bias = side < 0 ? o.range.l : o.range.u };
		s.middle = fabs(s.bias) == *(const double *)v->attr ? s.bias : side * INFINITY;
		for (int chord = 0; o.tame && chord < 2; chord++) { /* the better in the middle */
			struct slopes c = corner(o.x, o.y, takes_low(o.x, side), side, chord);
			if (side < 0 ? c.middle > s.middle : c.middle < s.middle)
				s = c;
		}
		take(v, &o, &s, side, side < 0 ? lower : upper);
	}
}

/* Both corners with both slopes; one of the four is the plane itself, as a rule. */
static bool quotient_others(const struct bpg_node *v, const double *const *l, const double *const *u, int64_t i, int side, int which,
                            struct bpg_terms *t)
{
	struct operands o = operands(v, l, u, i);
	if (!o.tame || which > 3)
		return false;
	struct slopes s = corner(o.x, o.y, which / 2, bpg_plane_side(side), which % 2);
	take(v, &o, &s, bpg_plane_side(side), t);
	return true;
}

static void quotient_sample(struct bpg_rng *rng, struct bpg_sample *s)
{
	bpg_sample_op(s, "Div", 13);
	bpg_elementwise_sample(rng, s, bpg_rng_below(rng, 3) == 0, false);
	bool negative = bpg_rng_below(rng, 2);
	bpg_sample_domain(s, negative ? -4 : 0.1, negative ? -0.1 : 4);
}

BPG_GENERAL_LAYER(quotient, .ops = "Div LayerNormalization RMSNormalization InstanceNormalization GroupNormalization",
                  .traits = BPG_NEEDS_SMOOTH, .import = quotient_import, .eval = quotient_eval, .eval_f32 = quotient_eval_f32,
                  .interval = quotient_interval, .gradient = quotient_gradient,
                  .planes = quotient_planes, .others = quotient_others, .sample = quotient_sample);
