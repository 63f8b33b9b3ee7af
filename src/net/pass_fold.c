/* pass_fold.c - nodes whose operands are constants become constants: shape arithmetic, transposed weights, fills.
 *
 * Values are computed in double, and what that rounds goes along as an error of the constant: bounds hold for the numbers
 * that the file means. What decides by a number (comparisons, integers) must be exact.
 *
 * A file can ask for a constant of any size with a few bytes, so sizes are limited, for each constant and for all
 * together. */
#include <math.h>
#include <stdlib.h>

#include "net/build.h"
#include "net/const.h"

#define MOST_ELEMENTS ((int64_t)1 << 27)
#define MOST_TOGETHER ((int64_t)1 << 28)
#define MOST_WORK 0x1p33          /* multiplications, roughly */

static enum bpg_status fail(const struct bpg_build *b, const struct bpg_node *v, enum bpg_status code, const char *what)
{
	char name[128], op[128];
	return bpg_fail(b->ctx, code, "%s: node '%s' (%s): %s", b->net->path, bpg_printable(v->name, name),
	                bpg_printable(v->op, op), what);
}

/* Operands of a node with every constant in memory: layers read constants element by element, which is no way to read a
 * file. The copies live for one fold. */
struct scratch {
	struct bpg_arena *arena;
	struct bpg_node v;
	const double **x;
};

static bool copy_operand(struct scratch *s, int k)
{
	struct bpg_operand *in = &s->v.in[k];
	if (!in->value)
		return true;
	if (!in->value->mem) {
		const float *all = bpg_const_pin_f32(&(struct bpg_const){ .type = BPG_F32, .n = in->n, .fd = in->value->fd,
		                                     .offset = in->value->offset, .arena = s->arena });
		struct bpg_const *copy = bpg_arena_alloc(s->arena, 1, sizeof *copy);
		if (!all || !copy)
			return false;
		*copy = (struct bpg_const){ .type = BPG_F32, .n = in->n, .mem = all, .fd = -1, .arena = s->arena };
		in->value = copy;
	}
	/* The defaults of these families read constants from the node. */
	if (!s->v.layer->eval && s->v.layer->family == BPG_LINEAR)
		return true;
	double *x = bpg_arena_alloc(s->arena, (size_t)in->n, sizeof *x);
	if (!x)
		return false;
	bpg_const_read(in->value, 0, in->n, x);
	s->x[k] = x;
	return true;
}

static enum bpg_status prepare(struct scratch *s, const struct bpg_build *b, const struct bpg_node *v)
{
	s->v = *v;
	s->v.in = bpg_arena_alloc(s->arena, (size_t)v->nin, sizeof *v->in);
	s->x = bpg_arena_alloc(s->arena, (size_t)v->nin, sizeof *s->x);
	if (!s->v.in || !s->x)
		return bpg_nomem(b->ctx, b->net->path);
	for (int k = 0; k < v->nin; k++) {
		if (v->in[k].value && v->in[k].n > MOST_ELEMENTS)
			return fail(b, v, BPG_EUNSUPPORTED,
			            "an operand is too large to be folded; simplify the model before export");
		s->v.in[k] = v->in[k];
		if (!copy_operand(s, k))
			return bpg_nomem(b->ctx, b->net->path);
	}
	return BPG_OK;
}

/* LINEAR: from the terms of the layer, whose constants carry their errors into the bias. */
static enum bpg_status terms_values(const struct bpg_node *v, double *y, double *err)
{
	struct bpg_terms t;
	bool failed = false;
	bpg_terms_init(&t);
	for (int64_t i = 0; i < v->out.n && !failed; i++) {
		bpg_terms_reset(&t);
		v->layer->terms(v, i, &t);
		y[i] = t.bias;
		err[i] = t.bias_err;
		failed = t.failed;
	}
	bpg_terms_fini(&t);
	return failed ? BPG_ENOMEM : BPG_OK;
}

static enum bpg_status evaluate(const struct bpg_build *b, const struct bpg_node *v, const double *const *x, double *y,
                                double *err)
{
	enum bpg_status st = v->layer->family == BPG_CONSTANT && !v->layer->eval ? BPG_EUNSUPPORTED
	                     : v->layer->family == BPG_LINEAR                    ? terms_values(v, y, err)
	                                                                         : bpg_node_eval(v, x, y);
	if (st == BPG_ENOMEM)
		return bpg_nomem(b->ctx, b->net->path);
	if (st)
		return fail(b, v, st, "its constant value cannot be computed");
	for (int64_t i = 0; i < v->out.n; i++)
		if (!isfinite(y[i]))
			return fail(b, v, BPG_ENUMERIC, "its constant value is not finite");
	return BPG_OK;
}

/* UNARY, GENERAL: from the interval of the value over what the operands may be. */
static enum bpg_status interval_errors(const struct scratch *s, const struct bpg_node *v, const double *y, double *err)
{
	double **l = bpg_arena_alloc(s->arena, (size_t)v->nin, sizeof *l), **u = bpg_arena_alloc(s->arena, (size_t)v->nin, sizeof *u);
	double *lo = bpg_arena_alloc(s->arena, (size_t)v->out.n, sizeof *lo);
	double *up = bpg_arena_alloc(s->arena, (size_t)v->out.n, sizeof *up);
	if (!l || !u || !lo || !up)
		return BPG_ENOMEM;
	for (int k = 0; k < v->nin; k++) {
		if (!v->in[k].value)
			continue;
		l[k] = bpg_arena_alloc(s->arena, (size_t)v->in[k].n, sizeof **l);
		u[k] = bpg_arena_alloc(s->arena, (size_t)v->in[k].n, sizeof **u);
		if (!l[k] || !u[k])
			return BPG_ENOMEM;
		for (int64_t i = 0; i < v->in[k].n; i++) {
			double x = bpg_const_at(v->in[k].value, i), e = bpg_const_error(v->in[k].value, i);
			l[k][i] = e > 0 ? bpg_next_down(x - e) : x;
			u[k][i] = e > 0 ? bpg_next_up(x + e) : x;
		}
	}
	BPG_TRY(bpg_node_interval(v, (const double *const *)l, (const double *const *)u, 0, v->out.n, lo, up));
	for (int64_t i = 0; i < v->out.n; i++)
		err[i] = lo[i] == y[i] && up[i] == y[i] ? 0 : fmax(bpg_next_up(up[i] - y[i]), bpg_next_up(y[i] - lo[i]));
	return BPG_OK;
}

static enum bpg_status exact_operands(const struct bpg_build *b, const struct bpg_node *v)
{
	for (int k = 0; k < v->nin; k++)
		if (v->in[k].value && bpg_const_most_error(v->in[k].value) > 0)
			return fail(b, v, BPG_EUNSUPPORTED, "an operand is computed and not exact in double; simplify the model before export");
	return BPG_OK;
}

/* Errors of values that a layer has computed its own way: Pow of tensors, comparisons, shapes. */
static enum bpg_status own_errors(const struct bpg_build *b, const struct bpg_node *v, const double *y, double *err)
{
	BPG_TRY(exact_operands(b, v));
	for (int64_t i = 0; i < v->out.n && v->layer->unary; i++) {
		const struct bpg_unary *f = v->layer->unary;
		err[i] = (f->ulp * fabs(y[i]) * 0x1p-52 + f->abs_err) * (1 + 0x1p-50) + (f->ulp > 0 ? 0x1p-1070 : 0);
	}
	return BPG_OK;
}

static enum bpg_status errors(const struct bpg_build *b, const struct scratch *s, const double *y, double *err)
{
	const struct bpg_node *v = &s->v;
	enum bpg_status st = BPG_OK;
	if (v->layer->family == BPG_CONSTANT || (v->layer->family == BPG_UNARY && v->layer->eval))
		return own_errors(b, v, y, err);
	if (v->layer->family == BPG_GENERAL) /* it may have looked at its operands before */
		BPG_TRY(exact_operands(b, v));
	if (v->layer->family != BPG_LINEAR)
		st = interval_errors(s, v, y, err);
	if (st == BPG_ENOMEM)
		return bpg_nomem(b->ctx, b->net->path);
	for (int64_t i = 0; !st && i < v->out.n; i++)
		if (!isfinite(err[i]) || (err[i] > 0 && v->out.type == BPG_I64))
			st = BPG_EUNSUPPORTED;
	return st ? fail(b, v, st, "its constant value cannot be computed closely enough; simplify the model before export") : BPG_OK;
}

/* A guess of the work, right for a product of matrices and too high for sums: sqrt(outputs * all operands). */
static bool too_much_work(const struct bpg_node *v)
{
	double product = (double)v->out.n;
	for (int k = 0; k < v->nin; k++)
		product *= v->in[k].n > 1 ? (double)v->in[k].n : 1;
	return v->layer->family == BPG_LINEAR && !(v->layer->traits & BPG_SELECT) && sqrt(product) > MOST_WORK;
}

enum bpg_status bpg_pass_fold(struct bpg_build *b, const struct bpg_node *v, struct bpg_const **value)
{
	int64_t n = v->out.n;
	if (n > MOST_ELEMENTS || b->folded > MOST_TOGETHER - n || too_much_work(v))
		return fail(b, v, BPG_EUNSUPPORTED,
		            "its constant value is too large to be folded; simplify the model before export");
	b->folded += n;

	enum bpg_status st = BPG_OK;
	struct scratch s = { .arena = bpg_arena_new() };
	double *y = bpg_calloc((size_t)n, sizeof *y), *err = bpg_calloc((size_t)n, sizeof *err);
	if (!s.arena || !y || !err) {
		st = bpg_nomem(b->ctx, b->net->path);
		goto out;
	}
	BPG_TRY_TO(prepare(&s, b, v), out);
	BPG_TRY_TO(evaluate(b, &s.v, s.x, y, err), out);
	BPG_TRY_TO(errors(b, &s, y, err), out);
	*value = bpg_const_from_double(b->net->arena, v->out.type, n, y);
	if (!*value || !bpg_const_set_error(*value, err))
		st = bpg_nomem(b->ctx, b->net->path);
out:
	free(y);
	free(err);
	bpg_arena_free(s.arena);
	return st;
}
