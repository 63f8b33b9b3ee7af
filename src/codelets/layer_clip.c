/* layer_clip.c - y = min(max(x, c), d), elementwise; c and d constant, either may be absent.
 *
 * Lines, for c < d (elsewhere the function is constant):
 *   l < c, u > d    lower through (c,c), slope in [0, (d-c)/(u-c)]; upper through (d,d), slope in [0, (d-c)/(d-l)]
 *   l < c < u <= d  lower through (c,c), slope in [0,1]; upper is the chord
 *   c <= l < d < u  lower is the chord; upper through (d,d), slope in [0,1]
 * (a ReLU at each kink; the free slopes are the parameters). */
#include <math.h>

#include "codelets/family.h"

struct clip {
	double c, d;
};

/* One end, from operand k, or from an attribute in opsets before 11. */
static enum bpg_status clip_end(const struct bpg_import *im, const struct bpg_node *v, int k, const char *name, double *to)
{
	if (bpg_import_opset(im) < 11) {
		*to = bpg_import_float(im, name, *to);
	} else if (bpg_given(v, k)) {
		BPG_TRY(bpg_import_constant(im, v, k, name));
		if (v->in[k].n != 1)
			return bpg_import_fail(im, BPG_EFILE, "%s is not a single number; re-export the network", name);
		*to = bpg_const_at(v->in[k].value, 0);
	}
	if (isnan(*to))
		return bpg_import_fail(im, BPG_EFILE, "%s is not a number; re-export the network", name);
	return BPG_OK;
}

static enum bpg_status clip_import(const struct bpg_import *im, struct bpg_node *v)
{
	BPG_TRY(bpg_import_operands(im, v, 1, bpg_import_opset(im) < 11 ? 1 : 3));
	struct clip *p = bpg_import_alloc(im, 1, sizeof *p);
	if (!p)
		return bpg_import_fail(im, BPG_ENOMEM, "not enough memory");
	*p = (struct clip){ -INFINITY, INFINITY };
	BPG_TRY(clip_end(im, v, 1, "min", &p->c));
	BPG_TRY(clip_end(im, v, 2, "max", &p->d));
	v->attr = p;
	v->out.shape = v->in[0].shape;
	v->out.type = v->in[0].type;
	return BPG_OK;
}

static double clip_f(double x, const void *attr)
{
	const struct clip *p = attr;
	double y = x < p->c ? p->c : x;
	return y > p->d ? p->d : y;
}

static double clip_df(double x, const void *attr)
{
	const struct clip *p = attr;
	return p->c < p->d && x >= p->c && x <= p->d;
}

static int clip_kinks(double l, double u, const void *attr, double at[4])
{
	const struct clip *p = attr;
	int n = 0;
	if (!(p->c < p->d))
		return 0;
	if (l < p->c && p->c < u)
		at[n++] = p->c;
	if (l < p->d && p->d < u)
		at[n++] = p->d;
	return n;
}

static int clip_extremes(double s, double l, double u, const void *attr, double at[8])
{
	(void)s;
	return clip_kinks(l, u, attr, at);
}

/* The free slope of one line: from 0 to `most`; a parameter, or by rule with `same` as the slope of the chord of the
 * ReLU at the kink. dl, du: derivatives of `most`. */
struct freedom {
	double most, dl, du, same, same_dl, same_du;
};

static double free_slope(const struct freedom *f, double alpha, int rule, double *dl, double *du, double *dalpha)
{
	*dl = *du = *dalpha = 0;
	if (!isnan(alpha)) {
		if (alpha > f->most) {
			*dl = f->dl;
			*du = f->du;
			return f->most;
		}
		*dalpha = alpha >= 0;
		return alpha < 0 ? 0 : alpha;
	}
	if (rule == BPG_SLOPE_SAME && f->same < f->most) {
		*dl = f->same_dl;
		*du = f->same_du;
		return f->same;
	}
	if (rule == BPG_SLOPE_ZERO || (rule == BPG_SLOPE_ADAPTIVE && f->most == 1 && f->same <= 0.5))
		return 0;
	*dl = f->dl;
	*du = f->du;
	return f->most;
}

/* Lower line through (c,c). */
static struct freedom freedom_low(const struct clip *p, double l, double u)
{
	double c = p->c, d = p->d, w = u - l;
	if (u > d)
		return (struct freedom){ .most = (d - c) / (u - c), .du = -(d - c) / (u - c) / (u - c), .same = INFINITY };
	return (struct freedom){ .most = 1, .same = (u - c) / w, .same_dl = (u - c) / w / w, .same_du = (c - l) / w / w };
}

/* Upper line through (d,d). */
static struct freedom freedom_up(const struct clip *p, double l, double u)
{
	double c = p->c, d = p->d, w = u - l;
	if (l < c)
		return (struct freedom){ .most = (d - c) / (d - l), .dl = (d - c) / (d - l) / (d - l), .same = INFINITY };
	return (struct freedom){ .most = 1, .same = (d - l) / w, .same_dl = (d - u) / w / w, .same_du = (l - d) / w / w };
}

static struct bpg_slopes clip_slopes(double l, double u, const double alpha[2], int rule, const void *attr)
{
	const struct clip *p = attr;
	struct bpg_slopes s = { 0 };

	if (!(p->c < p->d) || u <= p->c || l >= p->d)
		return s;
	if (l >= p->c && u <= p->d) {
		s.lo = s.up = 1;
		return s;
	}
	struct freedom low = freedom_low(p, l, u), up = freedom_up(p, l, u);
	if (l < p->c) {
		s.lo = free_slope(&low, alpha[0], rule, &s.dlo_dl, &s.dlo_du, &s.dlo_dalpha);
	} else { /* chord (l,l) - (u,d) */
		s.lo = up.same;
		s.dlo_dl = up.same_dl;
		s.dlo_du = up.same_du;
	}
	if (u > p->d) {
		s.up = free_slope(&up, alpha[1], rule, &s.dup_dl, &s.dup_du, &s.dup_dalpha);
	} else { /* chord (l,c) - (u,u) */
		s.up = low.same;
		s.dup_dl = low.same_dl;
		s.dup_du = low.same_du;
	}
	return s;
}

static void clip_alpha_range(double l, double u, int side, const void *attr, double *least, double *most, double *start)
{
	const struct clip *p = attr;
	double dl, du, dalpha;

	*least = *most = *start = 0;
	if (!(p->c < p->d) || u <= p->c || l >= p->d || (side == 0 ? l >= p->c : u <= p->d))
		return;
	struct freedom f = side == 0 ? freedom_low(p, l, u) : freedom_up(p, l, u);
	*most = f.most;
	*start = free_slope(&f, NAN, BPG_SLOPE_ADAPTIVE, &dl, &du, &dalpha);
}

static void clip_sample(struct bpg_rng *rng, struct bpg_sample *s)
{
	int64_t dim[2] = { 1, 1 + bpg_rng_below(rng, 6) };
	bool old = bpg_rng_below(rng, 2), has_min = bpg_rng_below(rng, 4), has_max = bpg_rng_below(rng, 4);
	double c = bpg_rng_uniform(rng) * 2 - 1.5, d = c + bpg_rng_uniform(rng) * 2 - 0.2;

	bpg_sample_op(s, "Clip", old ? 6 : 13);
	bpg_sample_variable(s, 2, dim);
	if (old) {
		if (has_min)
			bpg_sample_float(s, "min", c);
		if (has_max)
			bpg_sample_float(s, "max", d);
		return;
	}
	if (has_min)
		bpg_sample_constant(s, 0, NULL, &c);
	else if (has_max)
		bpg_sample_absent(s);
	if (has_max)
		bpg_sample_constant(s, 0, NULL, &d);
}

static const struct bpg_unary clip_unary = {
	.f = clip_f,
	.df = clip_df,
	.slopes = clip_slopes,
	.alpha_range = clip_alpha_range,
	.enters = BPG_ALPHA_SLOPE,
	.extremes = clip_extremes,
	.kinks = clip_kinks,
};

BPG_UNARY_LAYER(clip, .ops = "Clip", .traits = BPG_MONOTONE | BPG_PIECEWISE | BPG_NEEDS_SMOOTH, .import = clip_import,
                .unary = &clip_unary, .sample = clip_sample);
