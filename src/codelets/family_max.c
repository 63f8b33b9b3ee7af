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
 * max_j x_j - c x_1, which is max((1 - c) u_1, u_2 - c l_1), rounded up.
 *
 * Others: below, any other element that may be the largest; above, t at the third largest u, the fourth, ..., at last at L.
 * Coefficients c_j again are rounded first: for c_j in [0,1] the maximum over the box of max_i x_i - sum_j c_j x_j has x_i at
 * its upper end and the others at their lower ones: max_i (u_i - c_i (u_i - l_i)) - sum_j c_j l_j (c_i = 0 for the rest). */
#include "codelets/family_max.h"

#include "codelets/family_unary.h"

void bpg_peak_start(struct bpg_peak *p, bool least)
{
	p->least = least;
	p->count = p->kept = 0;
	p->next = -INFINITY;
}

static double middle(const struct bpg_peer *e)
{
	double m = 0.5 * e->in.l + 0.5 * e->in.u;
	return isnan(m) ? -INFINITY : m;
}

static double highest(const struct bpg_peer *e)
{
	return e->in.u;
}

/* Into a list that falls by `key`, behind equals; a full list loses its last. */
static void insert(struct bpg_peer *list, int n, const struct bpg_peer *e, double (*key)(const struct bpg_peer *e))
{
	int k = n < BPG_PEERS ? n : BPG_PEERS - 1;
	if (n == BPG_PEERS && !(key(e) > key(&list[k])))
		return;
	for (; k > 0 && key(e) > key(&list[k - 1]); k--)
		list[k] = list[k - 1];
	list[k] = *e;
}

void bpg_peak_add(struct bpg_peak *p, int operand, int64_t index, double l, double u)
{
	double a = isnan(l) ? -INFINITY : l, b = isnan(u) ? INFINITY : u;
	struct bpg_peer e = { operand, index, { p->least ? -b : a, p->least ? -a : b } };
	bool first = p->count == 0, full = p->kept == BPG_PEERS;
	if (first || e.in.l > p->low.in.l || (e.in.l == p->low.in.l && e.in.u > p->low.in.u))
		p->low = e;
	if (full) /* the last of the list, or this one, drops out */
		p->next = fmax(p->next, fmin(e.in.u, p->high[BPG_PEERS - 1].in.u));
	insert(p->mid, p->kept, &e, middle);
	insert(p->high, p->kept, &e, highest);
	p->kept += !full;
	p->count = first ? 1 : 2;
}

static bool is_same(const struct bpg_peer *a, const struct bpg_peer *b)
{
	return a->operand == b->operand && a->index == b->index;
}

/* Largest upper bound behind the k highest. */
static double behind(const struct bpg_peak *p, int k)
{
	return k < p->kept ? p->high[k].in.u : p->next;
}

/* The maximum is element `low`. */
static bool is_exact(const struct bpg_peak *p)
{
	double others = is_same(&p->low, &p->high[0]) ? behind(p, 1) : p->high[0].in.u;
	return p->count == 1 || p->low.in.l >= others;
}

struct bpg_range bpg_peak_range(const struct bpg_peak *p)
{
	struct bpg_range r = { p->low.in.l, p->high[0].in.u };
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
	take(is_exact(p) ? &p->low : &p->mid[0], p->least, false, t);
}

/* Any other element that can be the largest. */
static bool other_below(const struct bpg_peak *p, int which, struct bpg_terms *t)
{
	for (int k = 1; k < p->kept && !is_exact(p); k++)
		if (p->mid[k].in.u > p->low.in.l && which-- == 0) {
			take(&p->mid[k], p->least, false, t);
			return true;
		}
	return false;
}

static void above(const struct bpg_peak *p, struct bpg_terms *t)
{
	if (is_exact(p)) {
		take(&p->low, p->least, true, t);
		return;
	}
	const struct bpg_peer *high = &p->high[0];
	double l = high->in.l, u = high->in.u, second = behind(p, 1), sign = p->least ? -1 : 1;
	float c = isfinite(l) && isfinite(u) && u > l && high->operand >= 0 ? (float)((u - second) / (u - l)) : 0;
	if (!(c > 0 && c <= 1)) { /* also where the upper bounds are equal */
		t->bias = sign * u;
		return;
	}
	bpg_terms_add(t, high->operand, high->index, c, 0);
	t->bias = sign * fmax(bpg_line_above(u, 0, c, u), bpg_line_above(second, 0, c, l));
}

/* The plane at t with the n highest elements, the others are at most t. */
static void envelope(const struct bpg_peak *p, int n, double t, struct bpg_terms *to)
{
	double most = behind(p, n), sign = p->least ? -1 : 1, down = 0;
	for (int k = 0; k < n; k++) {
		const struct bpg_peer *e = &p->high[k];
		double width = bpg_add_down(e->in.u, -e->in.l);
		float c = e->operand >= 0 && isfinite(width) && width > 0 ? (float)((e->in.u - t) / width) : 0;
		c = c > 0 ? BPG_MIN(c, 1.0f) : 0;
		most = fmax(most, bpg_add_up(e->in.u, -bpg_mul_down(c, width)));
		if (c > 0) {
			bpg_terms_add(to, e->operand, e->index, c, 0);
			down = bpg_add_down(down, bpg_mul_down(c, e->in.l));
		}
	}
	to->bias = sign * bpg_add_up(most, -down);
}

static bool other_above(const struct bpg_peak *p, int which, struct bpg_terms *t)
{
	double last = behind(p, 1);
	for (int n = 2; n <= p->kept && !is_exact(p) && p->high[n - 1].in.u > p->low.in.l; n++) {
		double at = fmax(p->low.in.l, behind(p, n));
		if (at < last && which-- == 0) {
			envelope(p, n, at, t);
			return true;
		}
		last = at;
	}
	return false;
}

void bpg_peak_below(const struct bpg_peak *p, struct bpg_terms *t)
{
	p->least ? above(p, t) : below(p, t);
}

void bpg_peak_above(const struct bpg_peak *p, struct bpg_terms *t)
{
	p->least ? below(p, t) : above(p, t);
}

bool bpg_peak_other(const struct bpg_peak *p, int side, int which, struct bpg_terms *t)
{
	return p->least == (side == 0) ? other_above(p, which, t) : other_below(p, which, t);
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

bool bpg_peaks_other(bpg_peak_collect *collect, const struct bpg_node *v, const double *const *l, const double *const *u, int64_t i,
                     int side, int which, struct bpg_terms *t)
{
	struct bpg_peak p;

	collect(v, l, u, i, side == 0, &p);
	return bpg_peak_other(&p, side, which, t);
}
