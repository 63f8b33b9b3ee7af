/* family_max.c - planes of the maximum of elements x_j in [l_j, u_j]; of the minimum by mirroring.
 *
 * Let L be the largest lower bound. Where no other element can exceed the one that has it, the maximum is that element.
 * Else
 *   below  any of them; the one with the largest middle is the highest on the mean (for a constant and a variable this is
 *          the adaptive slope of a Relu);
 *   above  the concave envelope of the maximum over the box is the least, over t >= L, of
 *          t + sum_j max(u_j - t, 0) (x_j - l_j)/(u_j - l_j)
 *          (at a vertex the maximum is at most t, or some u_j > t with x_j at its end). Its value at the centre is least
 *          for t between the third and the second largest u, and among these t = u_2 alone never exceeds u_1, the constant
 *          bound: y <= u_2 + (u_1 - u_2)(x_1 - l_1)/(u_1 - l_1), one coefficient.
 * The coefficient c is rounded to float32 first; the bias for c in [0,1] is the exact maximum over the box of
 * max_j x_j - c x_1, which is max((1 - c) u_1, u_2 - c l_1), rounded up. */
#include "codelets/family_max.h"

#include "codelets/family_unary.h"

void bpg_peak_start(struct bpg_peak *p, bool least)
{
	*p = (struct bpg_peak){ .least = least, .second = -INFINITY };
}

static double middle(const struct bpg_peer *e)
{
	double m = 0.5 * e->in.l + 0.5 * e->in.u;
	return isnan(m) ? -INFINITY : m;
}

void bpg_peak_add(struct bpg_peak *p, int operand, int64_t index, double l, double u)
{
	double a = isnan(l) ? -INFINITY : l, b = isnan(u) ? INFINITY : u;
	struct bpg_peer e = { operand, index, { p->least ? -b : a, p->least ? -a : b } };
	bool first = p->count == 0;
	if (first || e.in.l > p->low.in.l || (e.in.l == p->low.in.l && e.in.u > p->low.in.u))
		p->low = e;
	if (first || middle(&e) > middle(&p->mid))
		p->mid = e;
	if (first || e.in.u > p->high.in.u) {
		p->second = first ? -INFINITY : p->high.in.u;
		p->high = e;
	} else if (e.in.u > p->second) {
		p->second = e.in.u;
	}
	p->count = first ? 1 : 2;
}

static bool is_same(const struct bpg_peer *a, const struct bpg_peer *b)
{
	return a->operand == b->operand && a->index == b->index;
}

/* The maximum is element `low`. */
static bool is_exact(const struct bpg_peak *p)
{
	double others = is_same(&p->low, &p->high) ? p->second : p->high.in.u;
	return p->count == 1 || p->low.in.l >= others;
}

struct bpg_range bpg_peak_range(const struct bpg_peak *p)
{
	struct bpg_range r = { p->low.in.l, p->high.in.u };
	return p->least ? (struct bpg_range){ -r.u, -r.l } : r;
}

/* The plane that is one element. A constant that is no number in the range counts by it. */
static void take(const struct bpg_peer *e, bool least, bool upper, struct bpg_terms *t)
{
	double c = upper ? e->in.u : e->in.l;
	t->bias = e->operand >= 0 ? 0 : least ? -c : c;
	if (e->operand >= 0)
		bpg_terms_add(t, e->operand, e->index, 1, 0);
}

/* Below the maximum; mirrored, above the minimum. */
static void below(const struct bpg_peak *p, struct bpg_terms *t)
{
	take(is_exact(p) ? &p->low : &p->mid, p->least, false, t);
}

static void above(const struct bpg_peak *p, struct bpg_terms *t)
{
	if (is_exact(p)) {
		take(&p->low, p->least, true, t);
		return;
	}
	double l = p->high.in.l, u = p->high.in.u, sign = p->least ? -1 : 1;
	float c = isfinite(l) && isfinite(u) && u > l && p->high.operand >= 0 ? (float)((u - p->second) / (u - l)) : 0;
	if (!(c > 0 && c <= 1)) { /* also where the upper bounds are equal */
		t->bias = sign * u;
		return;
	}
	bpg_terms_add(t, p->high.operand, p->high.index, c, 0);
	t->bias = sign * fmax(bpg_line_above(u, 0, c, u), bpg_line_above(p->second, 0, c, l));
}

void bpg_peak_below(const struct bpg_peak *p, struct bpg_terms *t)
{
	p->least ? above(p, t) : below(p, t);
}

void bpg_peak_above(const struct bpg_peak *p, struct bpg_terms *t)
{
	p->least ? below(p, t) : above(p, t);
}

void bpg_peaks_interval(bpg_peak_collect *collect, const struct bpg_node *v, const double *const *l, const double *const *u,
                        int64_t first, int64_t n, double *lo, double *up)
{
	struct bpg_peak p;

	for (int64_t i = 0; i < n; i++) {
		collect(v, l, u, first + i, true, &p);
		lo[i] = bpg_peak_range(&p).l;
		collect(v, l, u, first + i, false, &p);
		up[i] = bpg_peak_range(&p).u;
	}
}

void bpg_peaks_planes(bpg_peak_collect *collect, const struct bpg_node *v, const double *const *l, const double *const *u, int64_t i,
                      struct bpg_terms *lower, struct bpg_terms *upper)
{
	struct bpg_peak p;

	collect(v, l, u, i, true, &p);
	bpg_peak_below(&p, lower);
	collect(v, l, u, i, false, &p);
	bpg_peak_above(&p, upper);
}
