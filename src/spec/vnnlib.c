/* vnnlib.c - VNN-LIB 1.0: declarations and assertions, read as they come. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "spec/condition.h"
#include "spec/sexpr.h"

/* Brackets inside brackets. Real properties have about five. */
enum { DEPTH_MOST = 256 };

static const struct {
	const char *word;
	enum bpg_operator op;
} operators[] = {
	{ "<=", BPG_OP_LE }, { ">=", BPG_OP_GE }, { "and", BPG_OP_AND }, { "or", BPG_OP_OR }, { "<", BPG_OP_LT }, { ">", BPG_OP_GT },
	{ "=", BPG_OP_EQ }, { "==", BPG_OP_EQ }, { "+", BPG_OP_ADD }, { "-", BPG_OP_SUB }, { "*", BPG_OP_MUL }, { "/", BPG_OP_DIV },
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
	struct bpg_conditions conditions;
};

#define FAIL_AT(p, code, line, ...) bpg_fail_line((p)->ctx, code, (p)->path, line, __VA_ARGS__)

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
		return FAIL_AT(p, BPG_EFILE, p->tokens.line, "the file ends before the bracket opened in line %lld is closed",
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
	return FAIL_AT(p, BPG_EFILE, line,
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
			return FAIL_AT(p, BPG_EFILE, input ? p->last_in_line : p->last_out_line,
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
		return FAIL_AT(p, BPG_EFILE, line, "'%s' is declared twice", shown(p, buf));
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
		return FAIL_AT(p, BPG_EFILE, p->tokens.line, "a declaration without a name; write %s", form);
	if (!parse_name(p->tokens.word, &input, &index))
		return FAIL_AT(p, BPG_EUNSUPPORTED, p->tokens.line,
		               "variable '%s': inputs are X_0, X_1, ..., outputs Y_0, Y_1, ...",
		               shown(p, buf));
	BPG_TRY(declare(p, input, index, p->tokens.line));
	for (int k = 0; fun && k < 2; k++) {
		BPG_TRY(next(p, line, &t));
		if (t != (k ? BPG_TOKEN_CLOSE : BPG_TOKEN_OPEN))
			return FAIL_AT(p, BPG_EUNSUPPORTED, p->tokens.line,
			               "a function with arguments or without '()'; write %s", form);
	}
	BPG_TRY(next(p, line, &t));
	if (t != BPG_TOKEN_WORD)
		return FAIL_AT(p, BPG_EFILE, p->tokens.line, "a declaration without a type; write %s", form);
	if (strcmp(p->tokens.word, "Real"))
		return FAIL_AT(p, BPG_EUNSUPPORTED, p->tokens.line, "type '%s': variables must be Real", shown(p, buf));
	BPG_TRY(next(p, line, &t));
	if (t != BPG_TOKEN_CLOSE)
		return FAIL_AT(p, BPG_EFILE, p->tokens.line, "the declaration should end here; write %s", form);
	return BPG_OK;
}

/* ---- assertions ---- */

static void name_var(const void *arg, int64_t var, char buf[128])
{
	const struct parser *p = arg;
	bool input = var < p->in_count;
	snprintf(buf, 128, "%c_%lld", input ? 'X' : 'Y', (long long)(input ? var : var - p->in_count));
}

/* '(' was read. */
static enum bpg_status open_bracket(struct parser *p)
{
	enum bpg_token t;
	char buf[128];
	int64_t line = p->tokens.line;
	BPG_TRY(next(p, line, &t));
	if (t != BPG_TOKEN_WORD)
		return FAIL_AT(p, BPG_EFILE, p->tokens.line, "an operator belongs after '('");
	for (size_t k = 0; k < BPG_LEN(operators); k++)
		if (!strcmp(p->tokens.word, operators[k].word))
			return bpg_conditions_open(&p->conditions, operators[k].op, p->tokens.line);
	return FAIL_AT(p, BPG_EUNSUPPORTED, p->tokens.line,
	               "operator '%s' is not supported; and, or, <=, <, >=, >, =, +, -, *, / are",
	               shown(p, buf));
}

static enum bpg_status variable(struct parser *p, bool input, int64_t index)
{
	char buf[128];
	int64_t var = input ? index : p->in_count + index;
	if (index >= (input ? p->in_count : p->out_count) || !p->declared[var])
		return FAIL_AT(p, BPG_EFILE, p->tokens.line,
		               "'%s' is not declared before its use (declared so far: %lld inputs, %lld outputs)",
		               shown(p, buf), (long long)p->spec->inputs, (long long)p->spec->outputs);
	return bpg_conditions_variable(&p->conditions, var, p->tokens.line);
}

static enum bpg_status number(struct parser *p)
{
	char buf[128];
	struct bpg_num k;
	if (!bpg_decimal(p->tokens.word, &k.v, &k.lo, &k.up))
		return FAIL_AT(p, BPG_EFILE, p->tokens.line, "'%s' is neither a variable X_i or Y_i nor a number",
		               shown(p, buf));
	if (!isfinite(k.lo) || !isfinite(k.up))
		return FAIL_AT(p, BPG_EUNSUPPORTED, p->tokens.line, "number '%s' is outside the range of double precision",
		               shown(p, buf));
	return bpg_conditions_number(&p->conditions, k, p->tokens.line);
}

static enum bpg_status truth(struct parser *p)
{
	char buf[128];
	bool yes = !strcmp(p->tokens.word, "true");
	if (!yes && strcmp(p->tokens.word, "false"))
		return FAIL_AT(p, BPG_EFILE, p->tokens.line, "a condition belongs here, not '%s'", shown(p, buf));
	return bpg_conditions_truth(&p->conditions, yes, p->tokens.line);
}

static enum bpg_status operand(struct parser *p)
{
	bool input;
	int64_t index;
	if (bpg_op_joins(bpg_conditions_top(&p->conditions)->op))
		return truth(p);
	return parse_name(p->tokens.word, &input, &index) ? variable(p, input, index) : number(p);
}

/* "assert" was read: up to its closing bracket. */
static enum bpg_status parse_assert(struct parser *p, int64_t line)
{
	enum bpg_token t;
	p->asserted = true;
	BPG_TRY(check_excess(p));
	BPG_TRY(bpg_conditions_open(&p->conditions, BPG_OP_ASSERT, line));
	while (p->conditions.depth) {
		BPG_TRY(next(p, bpg_conditions_top(&p->conditions)->line, &t));
		if (t == BPG_TOKEN_OPEN)
			BPG_TRY(open_bracket(p));
		else if (t == BPG_TOKEN_CLOSE)
			BPG_TRY(bpg_conditions_close(&p->conditions, p->tokens.line));
		else if (t == BPG_TOKEN_WORD)
			BPG_TRY(operand(p));
		else
			return FAIL_AT(p, BPG_EFILE, p->tokens.line, "a string cannot stand in a condition");
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
		return FAIL_AT(p, BPG_EFILE, p->tokens.line, "a command belongs after '(': declare-const or assert");
	if (!strcmp(w, "assert"))
		return parse_assert(p, line);
	if (!strcmp(w, "declare-const") || !strcmp(w, "declare-fun"))
		return parse_declaration(p, w[8] == 'f', line);
	for (size_t k = 0; k < BPG_LEN(idle); k++)
		if (!strcmp(w, idle[k]))
			return skip(p, line);
	if (!strcmp(w, "vnnlib-version") || !strcmp(w, "declare-network"))
		return FAIL_AT(p, BPG_EUNSUPPORTED, line, "'%s': this is a VNN-LIB 2 query, a VNN-LIB 1.0 property is needed",
		               w);
	return FAIL_AT(p, BPG_EUNSUPPORTED, line, "command '%s' is not supported; declare-const, declare-fun and assert are",
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
				return FAIL_AT(p, BPG_EFILE, p->tokens.line,
				               "no assertion; a property without one says nothing");
			return bpg_normal_finish(p->normal, p->tokens.line);
		case BPG_TOKEN_OPEN:
			BPG_TRY(parse_command(p));
			break;
		case BPG_TOKEN_CLOSE:
			return FAIL_AT(p, BPG_EFILE, p->tokens.line, "a ')' that closes nothing");
		default:
			return FAIL_AT(p, BPG_EFILE, p->tokens.line, "'%s' outside of brackets", shown(p, buf));
		}
	}
}

static void parser_free(struct parser *p)
{
	if (!p)
		return;
	bpg_sexpr_fini(&p->tokens);
	bpg_normal_free(p->normal);
	bpg_conditions_fini(&p->conditions);
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
	p->conditions = (struct bpg_conditions){ .ctx = p->ctx, .path = p->path, .spec = s, .normal = p->normal, .inputs = in_count,
		                                 .outputs = out_count, .depth_most = DEPTH_MOST, .name = name_var, .arg = p };
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
