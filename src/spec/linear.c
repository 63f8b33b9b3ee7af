/* linear.c - linear terms over decimals. Interval arithmetic that is exact where doubles are, so that `(- Y_0 1)` costs
 * no rounding. */
#include "spec/linear.h"

#include <stdlib.h>
#include <string.h>

#include "spec/directed.h"

/* Zero stays +0, which reads better. */
struct bpg_num bpg_num_negate(struct bpg_num a) { return (struct bpg_num){ 0 - a.v, 0 - a.up, 0 - a.lo }; }

bool bpg_num_contains_zero(struct bpg_num a) { return !(a.lo > 0 || a.up < 0); }

static bool zero(struct bpg_num a) { return a.lo == 0 && a.up == 0; }

static struct bpg_num make(double v, double lo, double up)
{
	return (struct bpg_num){ v < lo ? lo : v > up ? up : v, lo, up };
}

static struct bpg_num add(struct bpg_num a, struct bpg_num b)
{
	return make(a.v + b.v, bpg_add_down(a.lo, b.lo), bpg_add_up(a.up, b.up));
}

static struct bpg_num multiply(struct bpg_num a, struct bpg_num b)
{
	double lo = fmin(fmin(bpg_mul_down(a.lo, b.lo), bpg_mul_down(a.lo, b.up)),
	                 fmin(bpg_mul_down(a.up, b.lo), bpg_mul_down(a.up, b.up)));
	double up = fmax(fmax(bpg_mul_up(a.lo, b.lo), bpg_mul_up(a.lo, b.up)),
	                 fmax(bpg_mul_up(a.up, b.lo), bpg_mul_up(a.up, b.up)));
	return make(a.v * b.v, lo, up);
}

struct bpg_num bpg_num_divide(struct bpg_num a, struct bpg_num b)
{
	if (b.lo == 1 && b.up == 1)
		return a;
	double lo = fmin(fmin(bpg_div_down(a.lo, b.lo), bpg_div_down(a.lo, b.up)),
	                 fmin(bpg_div_down(a.up, b.lo), bpg_div_down(a.up, b.up)));
	double up = fmax(fmax(bpg_div_up(a.lo, b.lo), bpg_div_up(a.lo, b.up)),
	                 fmax(bpg_div_up(a.up, b.lo), bpg_div_up(a.up, b.up)));
	return make(a.v / b.v, lo, up);
}

double bpg_num_error(struct bpg_num a)
{
	return a.lo == a.up ? 0 : fmax(bpg_add_up(a.up, -a.v), bpg_add_up(a.v, -a.lo));
}

void bpg_linear_fini(struct bpg_linear *l)
{
	free(l->term);
	*l = (struct bpg_linear){ 0 };
}

void bpg_linear_clear(struct bpg_linear *l)
{
	l->n = 0;
	l->k = (struct bpg_num){ 0 };
}

void bpg_linear_swap(struct bpg_linear *a, struct bpg_linear *b)
{
	struct bpg_linear c = *a;
	*a = *b;
	*b = c;
}

bool bpg_linear_set_var(struct bpg_linear *l, int64_t var)
{
	bpg_linear_clear(l);
	if (!bpg_grow(&l->term, &l->room, 1, sizeof *l->term))
		return false;
	l->term[l->n++] = (struct bpg_term){ var, { 1, 1, 1 } };
	return true;
}

bool bpg_linear_copy(struct bpg_linear *to, const struct bpg_linear *from)
{
	if (!bpg_grow(&to->term, &to->room, from->n, sizeof *to->term))
		return false;
	if (from->n)
		memcpy(to->term, from->term, (size_t)from->n * sizeof *to->term);
	to->n = from->n;
	to->k = from->k;
	return true;
}

/* The shorter one is appended: a deep nest of sums moves its long tail once. */
bool bpg_linear_add(struct bpg_linear *to, struct bpg_linear *from)
{
	if (from->n > to->n)
		bpg_linear_swap(to, from);
	to->k = add(to->k, from->k);
	if (!from->n)
		return true;
	if (!bpg_grow(&to->term, &to->room, to->n + from->n, sizeof *to->term))
		return false;
	memcpy(to->term + to->n, from->term, (size_t)from->n * sizeof *to->term);
	to->n += from->n;
	return true;
}

void bpg_linear_negate(struct bpg_linear *l)
{
	for (int64_t i = 0; i < l->n; i++)
		l->term[i].c = bpg_num_negate(l->term[i].c);
	l->k = bpg_num_negate(l->k);
}

void bpg_linear_scale(struct bpg_linear *l, struct bpg_num c)
{
	if (zero(c)) {
		bpg_linear_clear(l);
		return;
	}
	for (int64_t i = 0; i < l->n; i++)
		l->term[i].c = multiply(l->term[i].c, c);
	l->k = multiply(l->k, c);
}

void bpg_linear_divide(struct bpg_linear *l, struct bpg_num c)
{
	for (int64_t i = 0; i < l->n; i++)
		l->term[i].c = bpg_num_divide(l->term[i].c, c);
	l->k = bpg_num_divide(l->k, c);
}

static int by_var(const void *a, const void *b)
{
	const struct bpg_term *s = a, *t = b;
	return s->var < t->var ? -1 : s->var > t->var;
}

void bpg_linear_merge(struct bpg_linear *l)
{
	bool sorted = true;
	for (int64_t i = 1; i < l->n; i++)
		sorted &= l->term[i - 1].var <= l->term[i].var;
	if (!sorted)
		qsort(l->term, (size_t)l->n, sizeof *l->term, by_var);
	int64_t n = 0;
	for (int64_t i = 0; i < l->n;) {
		struct bpg_term t = l->term[i++];
		for (; i < l->n && l->term[i].var == t.var; i++)
			t.c = add(t.c, l->term[i].c);
		if (!zero(t.c))
			l->term[n++] = t;
	}
	l->n = n;
}

static bool finite_num(struct bpg_num a) { return isfinite(a.lo) && isfinite(a.up) && isfinite(a.v); }

bool bpg_linear_finite(const struct bpg_linear *l)
{
	bool ok = finite_num(l->k);
	for (int64_t i = 0; i < l->n; i++)
		ok &= finite_num(l->term[i].c);
	return ok;
}
