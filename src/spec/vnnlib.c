/* vnnlib.c - VNN-LIB 1.0: declarations and assertions, read as they come.
 *
 * One explicit stack of open brackets; every comparison is turned into a bound of one input or a row over the outputs as
 * soon as its bracket closes. Whatever is not understood is refused with its line, never skipped. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "spec/linear.h"
#include "spec/normal.h"
#include "spec/sexpr.h"

/* Brackets inside brackets. Real properties have about five. */
enum { DEPTH_MOST = 256 };

enum kind { K_ASSERT, K_AND, K_OR, K_LE, K_LT, K_GE, K_GT, K_EQ, K_ADD, K_SUB, K_MUL, K_DIV };

static const struct {
	const char *word;
	enum kind kind;
} operators[] = {
	{ "<=", K_LE }, { ">=", K_GE }, { "and", K_AND }, { "or", K_OR }, { "<", K_LT }, { ">", K_GT }, { "=", K_EQ },
	{ "==", K_EQ }, { "+", K_ADD }, { "-", K_SUB }, { "*", K_MUL }, { "/", K_DIV },
};

static const char *const words[] = { "assert", "and", "or", "<=", "<", ">=", ">", "=", "+", "-", "*", "/" };

/* An open bracket. */
struct frame {
	enum kind kind;
	int64_t line, operands;
	struct bpg_linear acc;    /* arithmetic: result so far; comparison: the operand before */
};

struct parser {
	struct bpg_ctx *ctx;
	const char *path;
	struct bpg_spec *spec;
	struct bpg_normal *normal;
	struct bpg_sexpr tokens;
	unsigned char *declared;  /* by variable */
	int64_t in_count, out_count, last_in_line, last_out_line;
	bool asserted;
	int64_t depth;            /* frames in use */
	struct bpg_linear value, difference;
	struct frame frame[DEPTH_MOST];
};

static enum bpg_status fail_at(struct parser *p, enum bpg_status code, int64_t line, const char *format, ...) BPG_PRINTF(4, 5);

static enum bpg_status fail_at(struct parser *p, enum bpg_status code, int64_t line, const char *format, ...)
{
	char *text = NULL;
	va_list ap, again;
	va_start(ap, format);
	va_copy(again, ap);
	int n = vsnprintf(NULL, 0, format, ap);
	if (n >= 0 && (text = malloc((size_t)n + 1)))
		vsnprintf(text, (size_t)n + 1, format, again);
	va_end(again);
	va_end(ap);
	bpg_fail(p->ctx, code, "%s:%lld: %s", p->path, (long long)line, text ? text : "error");
	free(text);
	return code;
}

static enum bpg_status no_memory(struct parser *p) { return bpg_nomem(p->ctx, p->path); }

/* The last word, fit for a message. */
static const char *shown(struct parser *p, char buf[128]) { return bpg_printable(p->tokens.word, buf); }

/* Next token; the end of the file is an error that names `inside`. */
static enum bpg_status next(struct parser *p, int64_t open_line, enum bpg_token *t)
{
	*t = bpg_sexpr_next(&p->tokens);
	if (*t == BPG_TOKEN_BAD)
		return p->tokens.status;
	if (*t == BPG_TOKEN_END)
		return fail_at(p, BPG_EFILE, p->tokens.line, "the file ends before the bracket opened in line %lld is closed",
		               (long long)open_line);
	return BPG_OK;
}

/* ---- variables ---- */

/* X_12, Y_3: *var and whether it is an input. False: something else. */
static bool parse_name(const char *w, bool *input, int64_t *index)
{
	if ((w[0] != 'X' && w[0] != 'Y') || w[1] != '_' || w[2] < '0' || w[2] > '9' || (w[2] == '0' && w[3]))
		return false;
	*input = w[0] == 'X';
	*index = 0;
	for (w += 2; *w >= '0' && *w <= '9'; w++)
		if ((*index = *index * 10 + (*w - '0')) > BPG_MAX_ELEMENTS)
			return false;
	return !*w;
}

static enum bpg_status wrong_counts(struct parser *p, bool input, int64_t line)
{
	struct bpg_spec *s = p->spec;
	return fail_at(p, BPG_EFILE, line,
	               "the property declares %lld %s (%c_i), the network has %lld; use the property of this network",
	               (long long)(input ? s->inputs : s->outputs), input ? "inputs" : "outputs", input ? 'X' : 'Y',
	               (long long)(input ? p->in_count : p->out_count));
}

static enum bpg_status check_excess(struct parser *p)
{
	if (p->spec->inputs > p->in_count)
		return wrong_counts(p, true, p->last_in_line);
	if (p->spec->outputs > p->out_count)
		return wrong_counts(p, false, p->last_out_line);
	return BPG_OK;
}

static enum bpg_status check_counts(struct parser *p)
{
	if (p->spec->inputs != p->in_count)
		return wrong_counts(p, true, p->last_in_line);
	if (p->spec->outputs != p->out_count)
		return wrong_counts(p, false, p->last_out_line);
	/* Right numbers, but a hole: X_0, X_2. */
	for (int64_t i = 0; i < p->in_count + p->out_count; i++) {
		bool input = i < p->in_count;
		int64_t index = input ? i : i - p->in_count, count = input ? p->in_count : p->out_count;
		if (!p->declared[i])
			return fail_at(p, BPG_EFILE, input ? p->last_in_line : p->last_out_line,
			               "%c_%lld is not declared, but a higher index is; the network has %lld %s", input ? 'X' : 'Y',
			               (long long)index, (long long)count, input ? "inputs" : "outputs");
	}
	return BPG_OK;
}

static enum bpg_status declare(struct parser *p, bool input, int64_t index, int64_t line)
{
	char buf[128];
	struct bpg_spec *s = p->spec;
	*(input ? &s->inputs : &s->outputs) += 1;
	*(input ? &p->last_in_line : &p->last_out_line) = line;
	if (index >= (input ? p->in_count : p->out_count))
		return BPG_OK;   /* the numbers cannot agree in the end; by then both are known */
	unsigned char *d = &p->declared[input ? index : p->in_count + index];
	if (*d)
		return fail_at(p, BPG_EFILE, line, "'%s' is declared twice", shown(p, buf));
	*d = 1;
	return BPG_OK;
}

/* declare-const NAME Real) and declare-fun NAME () Real). */
static enum bpg_status parse_declaration(struct parser *p, bool fun, int64_t line)
{
	const char *form = fun ? "(declare-fun X_0 () Real)" : "(declare-const X_0 Real)";
	char buf[128];
	enum bpg_token t;
	bool input;
	int64_t index;
	BPG_TRY(next(p, line, &t));
	if (t != BPG_TOKEN_WORD)
		return fail_at(p, BPG_EFILE, p->tokens.line, "a declaration without a name; write %s", form);
	if (!parse_name(p->tokens.word, &input, &index))
		return fail_at(p, BPG_EUNSUPPORTED, p->tokens.line,
		               "variable '%s': inputs are X_0, X_1, ..., outputs Y_0, Y_1, ...",
		               shown(p, buf));
	BPG_TRY(declare(p, input, index, p->tokens.line));
	for (int k = 0; fun && k < 2; k++) {
		BPG_TRY(next(p, line, &t));
		if (t != (k ? BPG_TOKEN_CLOSE : BPG_TOKEN_OPEN))
			return fail_at(p, BPG_EUNSUPPORTED, p->tokens.line,
			               "a function with arguments or without '()'; write %s", form);
	}
	BPG_TRY(next(p, line, &t));
	if (t != BPG_TOKEN_WORD)
		return fail_at(p, BPG_EFILE, p->tokens.line, "a declaration without a type; write %s", form);
	if (strcmp(p->tokens.word, "Real"))
		return fail_at(p, BPG_EUNSUPPORTED, p->tokens.line, "type '%s': variables must be Real", shown(p, buf));
	BPG_TRY(next(p, line, &t));
	if (t != BPG_TOKEN_CLOSE)
		return fail_at(p, BPG_EFILE, p->tokens.line, "the declaration should end here; write %s", form);
	return BPG_OK;
}

/* ---- comparisons to bounds and rows ---- */

static void name_var(const struct parser *p, int64_t var, char buf[32])
{
	bool input = var < p->in_count;
	snprintf(buf, 32, "%c_%lld", input ? 'X' : 'Y', (long long)(input ? var : var - p->in_count));
}

static enum bpg_status refuse_relation(struct parser *p, const struct bpg_linear *d, int64_t line)
{
	char a[32], b[32];
	bool inputs = d->term[1].var < p->in_count;
	name_var(p, d->term[0].var, a);
	name_var(p, d->term[1].var, b);
	return fail_at(p, BPG_EUNSUPPORTED, line,
	               "a relation between %s %s and %s%s is not supported; inputs take bounds only, relations "
	               "are for outputs", inputs ? "inputs" : "input", a, inputs ? "" : "output ", b);
}

static enum bpg_status refuse_bound(struct parser *p, int64_t x, const char *why, int64_t line)
{
	char name[32];
	name_var(p, x, name);
	return fail_at(p, BPG_EUNSUPPORTED, line, why, name);
}

/* c*x + k <= 0. Strict: a proof may use the closed box, a witness must lie inside. */
static enum bpg_status emit_bound(struct parser *p, const struct bpg_linear *d, bool strict, int64_t line)
{
	struct bpg_num c = d->term[0].c, q = d->k;
	struct bpg_bound b = { d->term[0].var, -INFINITY, INFINITY, -INFINITY, INFINITY };
	if (bpg_num_contains_zero(c))
		return refuse_bound(p, b.x, "the coefficients of input %s cancel up to rounding; simplify the comparison",
		                    line);
	/* Nearly always c is 1 or -1. */
	if (c.lo != -1 || c.up != -1)
		q = bpg_num_divide(bpg_num_negate(q), c);
	if (!isfinite(q.lo) || !isfinite(q.up))
		return refuse_bound(p, b.x, "the bound of input %s is outside the range of double precision", line);
	if (c.lo > 0) {
		b.up = q.up;
		b.in_up = strict ? bpg_next_down(q.lo) : q.lo;
	} else {
		b.lo = q.lo;
		b.in_lo = strict ? bpg_next_up(q.up) : q.up;
	}
	return bpg_normal_bound(p->normal, &b);
}

static enum bpg_status emit_row(struct parser *p, const struct bpg_linear *d, bool strict, int64_t line)
{
	if (d->n > INT32_MAX || line > INT32_MAX)
		return fail_at(p, BPG_EUNSUPPORTED, line, "more than 2^31 terms or lines");
	struct bpg_row row = { .n = (int)d->n, .strict = strict, .line = (int)line };
	/* One block for the three arrays. */
	char *block = bpg_arena_alloc(p->spec->arena, (size_t)d->n, sizeof *row.index + 2 * sizeof *row.coef);
	if (!block)
		return no_memory(p);
	row.index = (int64_t *)(void *)block;
	row.coef = (double *)(void *)(row.index + d->n);
	row.coef_err = row.coef + d->n;
	for (int64_t i = 0; i < d->n; i++) {
		row.index[i] = d->term[i].var - p->in_count;
		row.coef[i] = d->term[i].c.v;
		row.coef_err[i] = bpg_num_error(d->term[i].c);
	}
	row.offset = d->k.v;
	row.offset_err = bpg_num_error(d->k);
	return bpg_normal_row(p->normal, &row);
}

/* The condition d <= 0, or d < 0. */
static enum bpg_status emit(struct parser *p, const struct bpg_linear *d, bool strict, int64_t line)
{
	if (!bpg_linear_finite(d))
		return fail_at(p, BPG_EUNSUPPORTED, line,
		               "a number in this comparison is outside the range of double precision");
	if (d->n && d->term[0].var < p->in_count)
		return d->n == 1 ? emit_bound(p, d, strict, line) : refuse_relation(p, d, line);
	if (!d->n && (strict ? d->k.up < 0 : d->k.up <= 0))
		return BPG_OK;
	if (!d->n && (strict ? d->k.lo >= 0 : d->k.lo > 0)) {
		bpg_normal_false(p->normal);
		return BPG_OK;
	}
	/* Also a comparison of constants that rounding leaves open: a row without terms, neither refuted nor met. */
	return emit_row(p, d, strict, line);
}

/* a REL b. a is used up: in a chain the next operand is compared with b. */
static enum bpg_status compare(struct parser *p, enum kind kind, struct bpg_linear *a, const struct bpg_linear *b, int64_t line)
{
	struct bpg_linear *d = &p->difference;
	bool strict = kind == K_LT || kind == K_GT;
	if (!bpg_linear_copy(d, b))
		return no_memory(p);
	bpg_linear_negate(d);
	if (!bpg_linear_add(d, a))
		return no_memory(p);
	bpg_linear_merge(d);
	if (kind == K_GE || kind == K_GT)
		bpg_linear_negate(d);
	BPG_TRY(emit(p, d, strict, line));
	if (kind != K_EQ)
		return BPG_OK;
	bpg_linear_negate(d);
	return emit(p, d, false, line);
}

/* ---- the stack ---- */

static bool is_comparison(enum kind k) { return k >= K_LE && k <= K_EQ; }
static bool wants_condition(enum kind k) { return k <= K_OR; }

static enum bpg_status push(struct parser *p, enum kind kind, int64_t line)
{
	if (p->depth == DEPTH_MOST)
		return fail_at(p, BPG_EUNSUPPORTED, line, "more than %d brackets inside each other; flatten the property",
		               (int)DEPTH_MOST);
	if (p->depth && wants_condition(p->frame[p->depth - 1].kind) == (kind >= K_ADD))
		return fail_at(p, BPG_EFILE, line, "'%s' makes a %s, but a %s belongs here", words[kind],
		               kind >= K_ADD ? "number" : "condition", kind >= K_ADD ? "condition" : "number");
	struct frame *f = &p->frame[p->depth++];
	f->kind = kind;
	f->line = line;
	f->operands = 0;
	bpg_linear_clear(&f->acc);
	if (kind == K_ASSERT || kind >= K_ADD)
		return BPG_OK;
	return bpg_normal_open(p->normal, kind == K_OR, line);
}

/* One more operand of a frame that takes conditions. */
static enum bpg_status count_condition(struct parser *p)
{
	struct frame *f = &p->frame[p->depth - 1];
	if (++f->operands > 1 && f->kind == K_ASSERT)
		return fail_at(p, BPG_EFILE, p->tokens.line, "assert takes one condition; join them with 'and'");
	return BPG_OK;
}

/* acc := acc * value or acc / value. */
static enum bpg_status multiply(struct parser *p, struct frame *f, struct bpg_linear *value)
{
	bpg_linear_merge(value);
	bpg_linear_merge(&f->acc);
	if (f->kind == K_MUL && !f->acc.n)
		bpg_linear_swap(&f->acc, value);
	if (value->n && f->kind == K_MUL)
		return fail_at(p, BPG_EUNSUPPORTED, p->tokens.line, "a product of variables; only linear terms are supported");
	if (f->kind == K_MUL) {
		bpg_linear_scale(&f->acc, value->k);
		return BPG_OK;
	}
	if (value->n || bpg_num_contains_zero(value->k))
		return fail_at(p, BPG_EUNSUPPORTED, p->tokens.line, "a division by %s; only linear terms are supported",
		               value->n ? "a variable" : "zero");
	bpg_linear_divide(&f->acc, value->k);
	return BPG_OK;
}

/* p->value is an operand of the top frame. */
static enum bpg_status take_value(struct parser *p)
{
	struct frame *f = &p->frame[p->depth - 1];
	bool first = f->operands++ == 0;
	if (is_comparison(f->kind)) {
		if (!first)
			BPG_TRY(compare(p, f->kind, &f->acc, &p->value, f->line));
		bpg_linear_swap(&f->acc, &p->value);
		return BPG_OK;
	}
	if (first) {
		bpg_linear_swap(&f->acc, &p->value);
		return BPG_OK;
	}
	if (f->kind == K_MUL || f->kind == K_DIV)
		return multiply(p, f, &p->value);
	if (f->kind == K_SUB)
		bpg_linear_negate(&p->value);
	return bpg_linear_add(&f->acc, &p->value) ? BPG_OK : no_memory(p);
}

static enum bpg_status pop(struct parser *p)
{
	struct frame *f = &p->frame[p->depth - 1];
	int64_t least = is_comparison(f->kind) || f->kind == K_DIV ? 2 : 1;
	if (f->operands < least)
		return fail_at(p, BPG_EFILE, p->tokens.line, "'%s' needs %s, it has %s", words[f->kind],
		               least == 2 ? "two operands" : "an operand", f->operands ? "one" : "none");
	p->depth--;
	if (f->kind == K_ASSERT)
		return BPG_OK;
	if (f->kind < K_ADD) {
		BPG_TRY(bpg_normal_close(p->normal, f->line));
		return count_condition(p);
	}
	if (f->kind == K_SUB && f->operands == 1)
		bpg_linear_negate(&f->acc);
	bpg_linear_swap(&p->value, &f->acc);
	return take_value(p);
}

/* '(' was read. */
static enum bpg_status open_bracket(struct parser *p)
{
	enum bpg_token t;
	char buf[128];
	int64_t line = p->tokens.line;
	BPG_TRY(next(p, line, &t));
	if (t != BPG_TOKEN_WORD)
		return fail_at(p, BPG_EFILE, p->tokens.line, "an operator belongs after '('");
	for (size_t k = 0; k < BPG_LEN(operators); k++)
		if (!strcmp(p->tokens.word, operators[k].word))
			return push(p, operators[k].kind, p->tokens.line);
	return fail_at(p, BPG_EUNSUPPORTED, p->tokens.line,
	               "operator '%s' is not supported; and, or, <=, <, >=, >, =, +, -, *, / are",
	               shown(p, buf));
}

static enum bpg_status variable(struct parser *p, bool input, int64_t index)
{
	char buf[128];
	int64_t var = input ? index : p->in_count + index;
	if (index >= (input ? p->in_count : p->out_count) || !p->declared[var])
		return fail_at(p, BPG_EFILE, p->tokens.line,
		               "'%s' is not declared before its use (declared so far: %lld inputs, %lld outputs)",
		               shown(p, buf), (long long)p->spec->inputs, (long long)p->spec->outputs);
	return bpg_linear_set_var(&p->value, var) ? BPG_OK : no_memory(p);
}

static enum bpg_status number(struct parser *p)
{
	char buf[128];
	struct bpg_num *k = &p->value.k;
	bpg_linear_clear(&p->value);
	if (!bpg_decimal(p->tokens.word, &k->v, &k->lo, &k->up))
		return fail_at(p, BPG_EFILE, p->tokens.line, "'%s' is neither a variable X_i or Y_i nor a number",
		               shown(p, buf));
	if (!isfinite(k->lo) || !isfinite(k->up))
		return fail_at(p, BPG_EUNSUPPORTED, p->tokens.line, "number '%s' is outside the range of double precision",
		               shown(p, buf));
	return BPG_OK;
}

static enum bpg_status truth(struct parser *p)
{
	char buf[128];
	bool yes = !strcmp(p->tokens.word, "true");
	if (!yes && strcmp(p->tokens.word, "false"))
		return fail_at(p, BPG_EFILE, p->tokens.line, "a condition belongs here, not '%s'", shown(p, buf));
	BPG_TRY(bpg_normal_open(p->normal, false, p->tokens.line));
	if (!yes)
		bpg_normal_false(p->normal);
	BPG_TRY(bpg_normal_close(p->normal, p->tokens.line));
	return count_condition(p);
}

static enum bpg_status operand(struct parser *p)
{
	bool input;
	int64_t index;
	if (wants_condition(p->frame[p->depth - 1].kind))
		return truth(p);
	if (parse_name(p->tokens.word, &input, &index))
		BPG_TRY(variable(p, input, index));
	else
		BPG_TRY(number(p));
	return take_value(p);
}

/* "assert" was read: up to its closing bracket. */
static enum bpg_status parse_assert(struct parser *p, int64_t line)
{
	enum bpg_token t;
	p->asserted = true;
	BPG_TRY(check_excess(p));
	p->depth = 0;
	BPG_TRY(push(p, K_ASSERT, line));
	while (p->depth) {
		BPG_TRY(next(p, p->frame[p->depth - 1].line, &t));
		if (t == BPG_TOKEN_OPEN)
			BPG_TRY(open_bracket(p));
		else if (t == BPG_TOKEN_CLOSE)
			BPG_TRY(pop(p));
		else if (t == BPG_TOKEN_WORD)
			BPG_TRY(operand(p));
		else
			return fail_at(p, BPG_EFILE, p->tokens.line, "a string cannot stand in a condition");
	}
	return BPG_OK;
}

/* ---- commands ---- */

/* Commands of SMT-LIB that say nothing about the property: up to the closing bracket. */
static enum bpg_status skip(struct parser *p, int64_t line)
{
	enum bpg_token t;
	for (int64_t depth = 1; depth;) {
		BPG_TRY(next(p, line, &t));
		depth += t == BPG_TOKEN_OPEN ? 1 : t == BPG_TOKEN_CLOSE ? -1 : 0;
	}
	return BPG_OK;
}

static enum bpg_status parse_command(struct parser *p)
{
	static const char *const idle[] = { "set-logic", "set-info", "set-option", "check-sat", "get-model" };
	char buf[128];
	enum bpg_token t;
	int64_t line = p->tokens.line;
	BPG_TRY(next(p, line, &t));
	const char *w = p->tokens.word;
	if (t != BPG_TOKEN_WORD)
		return fail_at(p, BPG_EFILE, p->tokens.line, "a command belongs after '(': declare-const or assert");
	if (!strcmp(w, "assert"))
		return parse_assert(p, line);
	if (!strcmp(w, "declare-const") || !strcmp(w, "declare-fun"))
		return parse_declaration(p, w[8] == 'f', line);
	for (size_t k = 0; k < BPG_LEN(idle); k++)
		if (!strcmp(w, idle[k]))
			return skip(p, line);
	if (!strcmp(w, "vnnlib-version") || !strcmp(w, "declare-network"))
		return fail_at(p, BPG_EUNSUPPORTED, line, "'%s': this is a VNN-LIB 2 query, a VNN-LIB 1.0 property is needed",
		               w);
	return fail_at(p, BPG_EUNSUPPORTED, line, "command '%s' is not supported; declare-const, declare-fun and assert are",
	               shown(p, buf));
}

static enum bpg_status parse_file(struct parser *p)
{
	char buf[128];
	for (;;) {
		switch (bpg_sexpr_next(&p->tokens)) {
		case BPG_TOKEN_BAD:
			return p->tokens.status;
		case BPG_TOKEN_END:
			BPG_TRY(check_counts(p));
			if (!p->asserted)
				return fail_at(p, BPG_EFILE, p->tokens.line,
				               "no assertion; a property without one says nothing");
			return bpg_normal_finish(p->normal, p->tokens.line);
		case BPG_TOKEN_OPEN:
			BPG_TRY(parse_command(p));
			break;
		case BPG_TOKEN_CLOSE:
			return fail_at(p, BPG_EFILE, p->tokens.line, "a ')' that closes nothing");
		default:
			return fail_at(p, BPG_EFILE, p->tokens.line, "'%s' outside of brackets", shown(p, buf));
		}
	}
}

static void parser_free(struct parser *p)
{
	if (!p)
		return;
	bpg_sexpr_fini(&p->tokens);
	bpg_normal_free(p->normal);
	for (int k = 0; k < DEPTH_MOST; k++)
		bpg_linear_fini(&p->frame[k].acc);
	bpg_linear_fini(&p->value);
	bpg_linear_fini(&p->difference);
	free(p->declared);
	free(p);
}

/* Everything that holds memory; on failure parser_free and bpg_spec_free clear up. */
static enum bpg_status prepare(struct parser *p, int64_t in_count, int64_t out_count)
{
	struct bpg_arena *arena = bpg_arena_new();
	struct bpg_spec *s = p->spec = arena ? bpg_arena_alloc(arena, 1, sizeof *s) : NULL;
	if (!s) {
		bpg_arena_free(arena);
		return no_memory(p);
	}
	s->arena = arena;
	s->path = bpg_arena_str(arena, p->path);
	p->in_count = in_count;
	p->out_count = out_count;
	p->last_in_line = p->last_out_line = 1;
	p->declared = bpg_calloc((size_t)(in_count + out_count), 1);
	if (!s->path || !p->declared)
		return no_memory(p);
	s->inputs = in_count;    /* for the box; counted from 0 while the file is read */
	BPG_TRY(bpg_normal_new(p->ctx, p->path, s, &p->normal));
	s->inputs = 0;
	return BPG_OK;
}

enum bpg_status bpg_vnnlib_read(struct bpg_ctx *ctx, const char *path, int64_t in_count, int64_t out_count,
                                struct bpg_spec **spec)
{
	*spec = NULL;
	struct bpg_stream *stream;
	BPG_TRY(bpg_stream_open(ctx, path, &stream));
	enum bpg_status st = BPG_OK;
	struct parser *p = bpg_calloc(1, sizeof *p);
	if (!p) {
		bpg_stream_close(stream);
		return bpg_nomem(ctx, path);
	}
	p->ctx = ctx;
	p->path = path;
	bpg_sexpr_init(&p->tokens, ctx, path, stream);
	BPG_TRY_TO(prepare(p, in_count, out_count), out);
	BPG_TRY_TO(parse_file(p), out);
	*spec = p->spec;
	p->spec = NULL;
out:
	bpg_spec_free(p->spec);
	parser_free(p);
	bpg_stream_close(stream);
	return st;
}
