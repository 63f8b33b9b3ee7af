/* condition.c - see condition.h. Whatever is not understood is refused with its line, never skipped. */
#include "spec/condition.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static const char *const words[] = { "assert", "and", "or", "<=", "<", ">=", ">", "=", "!=", "+", "-", "*", "/" };

/* ---- messages ---- */

static char *write_text(const char *format, va_list ap)
{
	va_list again;
	va_copy(again, ap);
	int n = vsnprintf(NULL, 0, format, ap);
	char *text = n < 0 ? NULL : malloc((size_t)n + 1);
	if (text)
		vsnprintf(text, (size_t)n + 1, format, again);
	va_end(again);
	return text;
}

enum bpg_status bpg_vfail_line(struct bpg_ctx *ctx, enum bpg_status code, const char *path, int64_t line, const char *format,
                               va_list ap)
{
	char *text = write_text(format, ap);
	bpg_fail(ctx, code, "%s:%lld: %s", path, (long long)line, text ? text : "error");
	free(text);
	return code;
}

enum bpg_status bpg_fail_line(struct bpg_ctx *ctx, enum bpg_status code, const char *path, int64_t line, const char *format, ...)
{
	va_list ap;
	va_start(ap, format);
	bpg_vfail_line(ctx, code, path, line, format, ap);
	va_end(ap);
	return code;
}

enum bpg_status bpg_conditions_unsupported(struct bpg_conditions *c, int64_t line, const char *format, ...)
{
	enum bpg_status st = BPG_OK;
	va_list ap;
	va_start(ap, format);
	if (c->normal)
		st = bpg_vfail_line(c->ctx, BPG_EUNSUPPORTED, c->path, line, format, ap);
	else if (!c->note && !(c->note = write_text(format, ap)))
		st = bpg_nomem(c->ctx, c->path);
	else if (!c->noted)
		c->noted = line;
	va_end(ap);
	return st;
}

static enum bpg_status no_memory(struct bpg_conditions *c) { return bpg_nomem(c->ctx, c->path); }

void bpg_conditions_fini(struct bpg_conditions *c)
{
	/* Beyond c->depth lie frames whose terms are kept for reuse, zeroed or valid. */
	for (int64_t k = 0; k < c->room; k++)
		bpg_linear_fini(&c->frame[k].acc);
	free(c->frame);
	free(c->same);
	free(c->note);
	bpg_linear_fini(&c->value);
	bpg_linear_fini(&c->difference);
}

/* ---- inputs that are equal ---- */

int64_t bpg_conditions_root(const struct bpg_conditions *c, int64_t x)
{
	while (c->same && c->same[x] != x)
		x = c->same[x];
	return x;
}

/* With halved paths. */
static int64_t find(int64_t *same, int64_t x)
{
	while (same[x] != x)
		x = same[x] = same[same[x]];
	return x;
}

static enum bpg_status unite(struct bpg_conditions *c, int64_t a, int64_t b)
{
	if (!c->same) {
		c->same = bpg_calloc((size_t)c->inputs, sizeof *c->same);
		if (!c->same)
			return no_memory(c);
		for (int64_t i = 0; i < c->inputs; i++)
			c->same[i] = i;
	}
	a = find(c->same, a);
	b = find(c->same, b);
	c->same[BPG_MAX(a, b)] = BPG_MIN(a, b);
	return BPG_OK;
}

static bool exactly(struct bpg_num a, double v) { return a.lo == v && a.up == v; }

/* c x_a - c x_b = 0 in every disjunct: one variable. Any other equality stays two rows. */
static bool equates(const struct bpg_conditions *c, const struct bpg_linear *d)
{
	return c->relations && c->normal && bpg_normal_outermost(c->normal) && d->n == 2 && d->term[1].var < c->inputs &&
	       exactly(d->k, 0) && exactly(d->term[0].c, d->term[0].c.v) && exactly(d->term[1].c, -d->term[0].c.v);
}

/* ---- comparisons to bounds and rows ---- */

static enum bpg_status refuse_relation(struct bpg_conditions *c, const struct bpg_linear *d, int64_t line)
{
	char a[128], b[128];
	bool inputs = d->term[1].var < c->inputs;
	c->name(c->arg, d->term[0].var, a);
	c->name(c->arg, d->term[1].var, b);
	return bpg_conditions_unsupported(
	        c, line,
	        "a relation between %s %s and %s%s is not supported; inputs take bounds only, relations "
	        "are for outputs",
	        inputs ? "inputs" : "input", a, inputs ? "" : "output ", b);
}

/* `why` names the input. */
static enum bpg_status refuse_bound(struct bpg_conditions *c, int64_t x, const char *before, const char *behind, int64_t line)
{
	char name[128];
	c->name(c->arg, x, name);
	return bpg_conditions_unsupported(c, line, "%s %s %s", before, name, behind);
}

/* a*x + k <= 0. Strict: a proof may use the closed box, a witness must lie inside. */
static enum bpg_status emit_bound(struct bpg_conditions *c, const struct bpg_linear *d, bool strict, int64_t line)
{
	struct bpg_num a = d->term[0].c, q = d->k;
	struct bpg_bound b = { d->term[0].var, -INFINITY, INFINITY, -INFINITY, INFINITY };
	if (bpg_num_contains_zero(a))
		return refuse_bound(c, b.x, "the coefficients of input", "cancel up to rounding; simplify the comparison", line);
	/* Nearly always a is 1 or -1. */
	if (a.lo != -1 || a.up != -1)
		q = bpg_num_divide(bpg_num_negate(q), a);
	if (!isfinite(q.lo) || !isfinite(q.up))
		return refuse_bound(c, b.x, "the bound of input", "is outside the range of double precision", line);
	if (a.lo > 0) {
		b.up = q.up;
		b.in_up = strict ? bpg_next_down(q.lo) : q.lo;
	} else {
		b.lo = q.lo;
		b.in_lo = strict ? bpg_next_up(q.up) : q.up;
	}
	return c->normal ? bpg_normal_bound(c->normal, &b) : BPG_OK;
}

static enum bpg_status emit_row(struct bpg_conditions *c, const struct bpg_linear *d, bool strict, int64_t line)
{
	if (d->n > INT32_MAX || line > INT32_MAX)
		return bpg_conditions_unsupported(c, line, "more than 2^31 terms or lines");
	if (!c->normal)
		return BPG_OK;
	struct bpg_row row = { .n = (int)d->n, .strict = strict, .line = (int)line };
	/* One block for the three arrays. */
	char *block = bpg_arena_alloc(c->spec->arena, (size_t)d->n, sizeof *row.index + 2 * sizeof *row.coef);
	if (!block)
		return no_memory(c);
	row.index = (int64_t *)(void *)block;
	row.coef = (double *)(void *)(row.index + d->n);
	row.coef_err = row.coef + d->n;
	for (int64_t i = 0; i < d->n; i++) {
		int64_t var = d->term[i].var;
		c->related |= var < c->inputs;
		row.index[i] = var < c->inputs ? c->outputs + var : var - c->inputs;
		row.coef[i] = d->term[i].c.v;
		row.coef_err[i] = bpg_num_error(d->term[i].c);
	}
	row.offset = d->k.v;
	row.offset_err = bpg_num_error(d->k);
	return bpg_normal_row(c->normal, &row);
}

/* The condition d <= 0, or d < 0. */
static enum bpg_status emit(struct bpg_conditions *c, const struct bpg_linear *d, bool strict, int64_t line)
{
	if (!bpg_linear_finite(d))
		return bpg_conditions_unsupported(c, line,
		                                  "a number in this comparison is outside the range of double precision");
	if (d->n == 1 && d->term[0].var < c->inputs)
		return emit_bound(c, d, strict, line);
	if (d->n && d->term[0].var < c->inputs && !c->relations)
		return refuse_relation(c, d, line);
	if (!d->n && (strict ? d->k.up < 0 : d->k.up <= 0))
		return BPG_OK;
	if (!d->n && (strict ? d->k.lo >= 0 : d->k.lo > 0)) {
		if (c->normal)
			bpg_normal_false(c->normal);
		return BPG_OK;
	}
	/* Also a comparison of constants that rounding leaves open: a row without terms, neither refuted nor met. */
	return emit_row(c, d, strict, line);
}

static enum bpg_status open_node(struct bpg_conditions *c, bool is_or, int64_t line)
{
	return c->normal ? bpg_normal_open(c->normal, is_or, line) : BPG_OK;
}

static enum bpg_status close_node(struct bpg_conditions *c, int64_t line)
{
	return c->normal ? bpg_normal_close(c->normal, line) : BPG_OK;
}

/* d < 0 or d > 0. d is used up. */
static enum bpg_status emit_unequal(struct bpg_conditions *c, struct bpg_linear *d, int64_t line)
{
	BPG_TRY(open_node(c, true, line));
	for (int side = 0; side < 2; side++) {
		BPG_TRY(open_node(c, false, line));
		BPG_TRY(emit(c, d, true, line));
		BPG_TRY(close_node(c, line));
		bpg_linear_negate(d);
	}
	return close_node(c, line);
}

/* a REL b. a is used up: in a chain the next operand is compared with b. */
static enum bpg_status compare(struct bpg_conditions *c, enum bpg_operator op, struct bpg_linear *a, const struct bpg_linear *b,
                               int64_t line)
{
	struct bpg_linear *d = &c->difference;
	bool strict = op == BPG_OP_LT || op == BPG_OP_GT;
	if (!bpg_linear_copy(d, b))
		return no_memory(c);
	bpg_linear_negate(d);
	if (!bpg_linear_add(d, a))
		return no_memory(c);
	bpg_linear_merge(d);
	if (op == BPG_OP_NE)
		return emit_unequal(c, d, line);
	if (op == BPG_OP_EQ && equates(c, d))
		return unite(c, d->term[0].var, d->term[1].var);
	if (op == BPG_OP_GE || op == BPG_OP_GT)
		bpg_linear_negate(d);
	BPG_TRY(emit(c, d, strict, line));
	if (op != BPG_OP_EQ)
		return BPG_OK;
	bpg_linear_negate(d);
	return emit(c, d, false, line);
}

/* ---- the stack ---- */

enum bpg_status bpg_conditions_open(struct bpg_conditions *c, enum bpg_operator op, int64_t line)
{
	bool number = op >= BPG_OP_ADD;
	if (c->depth_most && c->depth == c->depth_most)
		return bpg_fail_line(c->ctx, BPG_EUNSUPPORTED, c->path, line,
		                     "more than %lld brackets inside each other; flatten the property", (long long)c->depth_most);
	if (c->depth && bpg_op_joins(bpg_conditions_top(c)->op) == number)
		return bpg_fail_line(c->ctx, BPG_EFILE, c->path, line, "'%s' makes a %s, but a %s belongs here", words[op],
		                     number ? "number" : "condition", number ? "condition" : "number");
	int64_t before = c->room;
	if (!bpg_grow(&c->frame, &c->room, c->depth + 1, sizeof *c->frame))
		return no_memory(c);
	for (int64_t k = before; k < c->room; k++)
		c->frame[k] = (struct bpg_frame){ 0 };
	struct bpg_frame *f = &c->frame[c->depth++];
	f->op = op;
	f->line = line;
	f->operands = 0;
	bpg_linear_clear(&f->acc);
	if (op == BPG_OP_ASSERT || number)
		return BPG_OK;
	return open_node(c, op == BPG_OP_OR, line);
}

/* One more operand of a frame that takes conditions. */
static enum bpg_status count_condition(struct bpg_conditions *c, int64_t line)
{
	struct bpg_frame *f = bpg_conditions_top(c);
	if (++f->operands > 1 && f->op == BPG_OP_ASSERT)
		return bpg_fail_line(c->ctx, BPG_EFILE, c->path, line, "assert takes one condition; join them with 'and'");
	return BPG_OK;
}

/* acc := acc * value or acc / value. */
static enum bpg_status multiply(struct bpg_conditions *c, struct bpg_frame *f, struct bpg_linear *value, int64_t line)
{
	bpg_linear_merge(value);
	bpg_linear_merge(&f->acc);
	if (f->op == BPG_OP_MUL && !f->acc.n)
		bpg_linear_swap(&f->acc, value);
	if (value->n && f->op == BPG_OP_MUL) {
		char a[128], b[128];
		c->name(c->arg, f->acc.term[0].var, a);
		c->name(c->arg, value->term[0].var, b);
		bpg_linear_clear(&f->acc);
		return bpg_conditions_unsupported(c, line, "a product of variables (%s and %s); only linear terms are supported",
		                                  a, b);
	}
	if (f->op == BPG_OP_MUL) {
		bpg_linear_scale(&f->acc, value->k);
		return BPG_OK;
	}
	if (value->n || bpg_num_contains_zero(value->k))
		return bpg_conditions_unsupported(c, line, "a division by %s; only linear terms are supported",
		                                  value->n ? "a variable" : "zero");
	bpg_linear_divide(&f->acc, value->k);
	return BPG_OK;
}

/* c->value is an operand of the top frame. */
static enum bpg_status take_value(struct bpg_conditions *c, int64_t line)
{
	struct bpg_frame *f = bpg_conditions_top(c);
	bool first = f->operands++ == 0;
	if (bpg_op_compares(f->op)) {
		if (!first)
			BPG_TRY(compare(c, f->op, &f->acc, &c->value, f->line));
		bpg_linear_swap(&f->acc, &c->value);
		return BPG_OK;
	}
	if (first) {
		bpg_linear_swap(&f->acc, &c->value);
		return BPG_OK;
	}
	if (f->op == BPG_OP_MUL || f->op == BPG_OP_DIV)
		return multiply(c, f, &c->value, line);
	if (f->op == BPG_OP_SUB)
		bpg_linear_negate(&c->value);
	return bpg_linear_add(&f->acc, &c->value) ? BPG_OK : no_memory(c);
}

enum bpg_status bpg_conditions_close(struct bpg_conditions *c, int64_t line)
{
	struct bpg_frame *f = bpg_conditions_top(c);
	int64_t least = bpg_op_compares(f->op) || f->op == BPG_OP_DIV ? 2 : 1;
	if (f->operands < least)
		return bpg_fail_line(c->ctx, BPG_EFILE, c->path, line, "'%s' needs %s, it has %s", words[f->op],
		                     least == 2 ? "two operands" : "an operand", f->operands ? "one" : "none");
	c->depth--;
	if (f->op == BPG_OP_ASSERT)
		return BPG_OK;
	if (f->op < BPG_OP_ADD) {
		BPG_TRY(close_node(c, f->line));
		return count_condition(c, line);
	}
	if (f->op == BPG_OP_SUB && f->operands == 1)
		bpg_linear_negate(&f->acc);
	bpg_linear_swap(&c->value, &f->acc);
	return take_value(c, line);
}

enum bpg_status bpg_conditions_variable(struct bpg_conditions *c, int64_t var, int64_t line)
{
	return bpg_linear_set_var(&c->value, var) ? take_value(c, line) : no_memory(c);
}

enum bpg_status bpg_conditions_number(struct bpg_conditions *c, struct bpg_num k, int64_t line)
{
	bpg_linear_clear(&c->value);
	c->value.k = k;
	return take_value(c, line);
}

enum bpg_status bpg_conditions_truth(struct bpg_conditions *c, bool yes, int64_t line)
{
	BPG_TRY(open_node(c, false, line));
	if (!yes && c->normal)
		bpg_normal_false(c->normal);
	BPG_TRY(close_node(c, line));
	return count_condition(c, line);
}
