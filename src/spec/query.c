/* query.c - the assertions of a VNN-LIB 2 query: names, types and numbers of operands are looked at here, what they say becomes
 * bounds and rows in condition.c. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "spec/query_reader.h"

/* ---- messages ---- */

enum bpg_status bpg_query_wrong(struct bpg_query_reader *r, int64_t line, const char *format, ...)
{
	va_list ap;
	va_start(ap, format);
	enum bpg_status st = bpg_vfail_line(r->ctx, BPG_EFILE, r->path, line, format, ap);
	va_end(ap);
	return st;
}

enum bpg_status bpg_query_note(struct bpg_query_reader *r, int64_t line, const char *format, ...)
{
	struct bpg_query *q = r->query;
	char text[1024];
	if (q->note)
		return BPG_OK;
	va_list ap;
	va_start(ap, format);
	vsnprintf(text, sizeof text, format, ap);
	va_end(ap);
	q->note_line = line;
	q->note = bpg_arena_str(q->arena, text);
	return q->note ? BPG_OK : bpg_nomem(r->ctx, r->path);
}

/* ---- types: all operands of a comparison have one ---- */

/* Are constants as seen so far compared with this kind? */
static bool fits(const struct bpg_query_reader *r, enum bpg_query_kind kind)
{
	switch (kind) {
	case BPG_QUERY_FLOAT: return !r->whole;
	case BPG_QUERY_SIGNED: return !r->fraction;
	case BPG_QUERY_UNSIGNED: return !r->fraction && !r->negative;
	case BPG_QUERY_NO_NUMBER: return !r->fraction && !r->whole;
	case BPG_QUERY_ANY: break;
	}
	return true;
}

static enum bpg_status mismatch(struct bpg_query_reader *r)
{
	const char *want = bpg_query_kind(r->type) == BPG_QUERY_FLOAT ? "with a decimal point (1.0)" :
	                   bpg_query_kind(r->type) == BPG_QUERY_SIGNED ? "without a decimal point (1)" :
	                   bpg_query_kind(r->type) == BPG_QUERY_UNSIGNED ? "without sign and decimal point (1)" : NULL;
	char name[128], type[128];
	bpg_printable(r->typed->name, name);
	bpg_printable(r->type, type);
	if (!want)
		return bpg_query_wrong(r, r->tokens.line, "'%s' has the element type %s, which is compared with no number", name,
		                       type);
	return bpg_query_wrong(r, r->tokens.line, "'%s' has the element type %s, so numbers in this comparison are written %s",
	                     name, type, want);
}

static enum bpg_status see_variable(struct bpg_query_reader *r, const struct bpg_query_variable *v)
{
	char a[128], b[128];
	if (!r->type) {
		r->typed = v;
		r->type = v->type;
		return fits(r, bpg_query_kind(v->type)) ? BPG_OK : mismatch(r);
	}
	if (v->type == r->type || bpg_query_same_type(v->type, r->type))
		return BPG_OK;
	return bpg_query_wrong(r, r->tokens.line, "'%s' and '%s' in one comparison have different element types",
	                     bpg_printable(r->typed->name, a), bpg_printable(v->name, b));
}

static enum bpg_status see_number(struct bpg_query_reader *r, const char *word)
{
	bool point = strchr(word, '.') != NULL;
	r->fraction |= point;
	r->whole |= !point;
	r->negative |= !point && word[0] == '-';
	if (r->fraction && r->whole)
		return bpg_query_wrong(r, r->tokens.line, "numbers with and without a decimal point in one comparison; write 1.0 "
		                     "for a network of floating point numbers");
	return !r->type || fits(r, bpg_query_kind(r->type)) ? BPG_OK : mismatch(r);
}

/* ---- elements ---- */

static void name_element(const void *arg, int64_t var, char buf[128])
{
	const struct bpg_query_reader *r = arg;
	const struct bpg_query *q = r->query;
	bool input = var < q->inputs;
	int64_t at = input ? var : var - q->inputs, i = 0;
	const struct bpg_query_variable *v = r->variable;
	while ((v[i].side == BPG_QUERY_INPUT) != input || at < v[i].first || at >= v[i].first + v[i].n)
		i++;
	v += i;
	at -= v->first;
	int64_t stride[BPG_MAX_RANK];
	bpg_shape_strides(&v->shape, stride);
	char name[128];
	int n = snprintf(buf, 128, "%.40s", bpg_printable(v->name, name));
	for (int k = 0; k < v->shape.rank && n < 120; k++) {
		n += snprintf(buf + n, (size_t)(128 - n), "%s%lld%s", k ? "," : "[", (long long)(at / stride[k]),
		              k + 1 < v->shape.rank ? "" : "]");
		at %= stride[k];
	}
}

static enum bpg_status wrong_index(struct bpg_query_reader *r, const struct bpg_query_variable *v, int k)
{
	char name[128], word[128];
	return bpg_query_wrong(r, r->tokens.line, "index %s of '%s': axis %d has the size %lld, so indices are 0 to %lld",
	                     bpg_printable(r->tokens.word, word), bpg_printable(v->name, name), k, (long long)v->shape.dim[k],
	                     (long long)v->shape.dim[k] - 1);
}

static enum bpg_status wrong_rank(struct bpg_query_reader *r, const struct bpg_query_variable *v)
{
	char name[128];
	int rank = v->shape.rank;
	bpg_printable(v->name, name);
	if (!rank)
		return bpg_query_wrong(r, r->tokens.line, "'%s' is a scalar; it has no index", name);
	return bpg_query_wrong(r, r->tokens.line, "'%s' needs %d %s, as its shape has", name, rank,
	                       rank == 1 ? "index" : "indices");
}

/* "[1,2]" behind a name; '[' is the present token. Up to the token behind ']'. */
static enum bpg_status read_index(struct bpg_query_reader *r, const struct bpg_query_variable *v, int64_t *element)
{
	*element = 0;
	for (int k = 0;; k++) {
		int64_t i;
		BPG_TRY(bpg_query_next(r));
		if (r->tokens.token != BPG_QT_NUMBER)
			return bpg_query_expected(r, "an index");
		if (k == v->shape.rank)
			return wrong_rank(r, v);
		if (!bpg_query_whole(r->tokens.word, &i) || i >= v->shape.dim[k])
			return wrong_index(r, v, k);
		*element = *element * v->shape.dim[k] + i;
		BPG_TRY(bpg_query_next(r));
		if (r->tokens.token == BPG_QT_RIGHT) {
			if (k + 1 < v->shape.rank)
				return wrong_rank(r, v);
			return bpg_query_next(r);
		}
		if (r->tokens.token != BPG_QT_COMMA)
			return bpg_query_expected(r, "',' or ']'");
	}
}

static enum bpg_status read_element(struct bpg_query_reader *r)
{
	int64_t element = 0, line = r->tokens.line;
	int number = bpg_query_find(r, r->tokens.word);
	char shown[128];
	if (number < 0)
		return bpg_query_wrong(r, line, "'%s' is not declared", bpg_printable(r->tokens.word, shown));
	const struct bpg_query_variable *v = &r->variable[number];
	BPG_TRY(see_variable(r, v));
	BPG_TRY(bpg_query_next(r));
	if (r->tokens.token == BPG_QT_LEFT)
		BPG_TRY(read_index(r, v, &element));
	else if (v->shape.rank)
		return wrong_rank(r, v);
	element += v->first + (v->side == BPG_QUERY_INPUT ? 0 : r->query->inputs);
	return bpg_conditions_variable(&r->conditions, element, line);
}

static enum bpg_status read_number(struct bpg_query_reader *r)
{
	int64_t line = r->tokens.line;
	char shown[128];
	struct bpg_num k;
	BPG_TRY(see_number(r, r->tokens.word));
	if (!bpg_decimal(r->tokens.word, &k.v, &k.lo, &k.up))
		return bpg_query_expected(r, "a number");
	if (!isfinite(k.lo) || !isfinite(k.up)) {
		BPG_TRY(bpg_conditions_unsupported(&r->conditions, line, "number '%s' is outside the range of double precision",
		                                   bpg_printable(r->tokens.word, shown)));
		k = (struct bpg_num){ 0 };
	}
	BPG_TRY(bpg_query_next(r));
	return bpg_conditions_number(&r->conditions, k, line);
}

/* ---- brackets ---- */

/* Is one more operand too many? A comparison has two. */
static enum bpg_status room(struct bpg_query_reader *r)
{
	const struct bpg_frame *f = bpg_conditions_top(&r->conditions);
	if (f->operands == (f->op == BPG_OP_ASSERT ? 1 : bpg_op_compares(f->op) ? 2 : INT64_MAX))
		return bpg_query_expected(r, "')'");
	return BPG_OK;
}

static enum bpg_status open_bracket(struct bpg_query_reader *r)
{
	bool condition = bpg_op_joins(bpg_conditions_top(&r->conditions)->op);
	int64_t line = r->tokens.line;
	BPG_TRY(bpg_query_next(r));
	enum bpg_operator op = r->tokens.op;
	if (r->tokens.token != BPG_QT_OPERATOR || (condition ? op >= BPG_OP_ADD : op < BPG_OP_ADD))
		return bpg_query_expected(r, condition ? "and, or, <=, <, >=, >, == or !=" : "+, - or *");
	if (bpg_op_compares(op)) {
		r->typed = NULL;
		r->type = NULL;
		r->fraction = r->whole = r->negative = false;
	}
	BPG_TRY(bpg_query_next(r));
	return bpg_conditions_open(&r->conditions, op, line);
}

static enum bpg_status read_operand(struct bpg_query_reader *r)
{
	bool condition = bpg_op_joins(bpg_conditions_top(&r->conditions)->op);
	BPG_TRY(room(r));
	if (r->tokens.token == BPG_QT_OPEN)
		return open_bracket(r);
	if (!condition && r->tokens.token == BPG_QT_NAME)
		return read_element(r);
	if (!condition && r->tokens.token == BPG_QT_NUMBER)
		return read_number(r);
	return bpg_query_expected(r, condition ? "'(' and a condition" : "an element, a number or '('");
}

static enum bpg_status unclosed(struct bpg_query_reader *r, int64_t line)
{
	return bpg_query_wrong(r, r->tokens.line, "the file ends before the bracket opened in line %lld is closed",
	                       (long long)line);
}

/* "(assert" is the present token; up to the token behind its bracket. */
static enum bpg_status read_assertion(struct bpg_query_reader *r)
{
	struct bpg_conditions *c = &r->conditions;
	BPG_TRY(bpg_conditions_open(c, BPG_OP_ASSERT, r->tokens.line));
	BPG_TRY(bpg_query_next(r));
	while (c->depth) {
		int64_t line = r->tokens.line;
		if (r->tokens.token == BPG_QT_END)
			return unclosed(r, bpg_conditions_top(c)->line);
		if (r->tokens.token != BPG_QT_CLOSE) {
			BPG_TRY(read_operand(r));
			continue;
		}
		BPG_TRY(bpg_query_next(r));
		BPG_TRY(bpg_conditions_close(c, line));
	}
	return BPG_OK;
}

static enum bpg_status read_assertions(struct bpg_query_reader *r)
{
	while (r->tokens.token == BPG_QT_ASSERT)
		BPG_TRY(read_assertion(r));
	if (r->tokens.token == BPG_QT_NETWORK)
		return bpg_query_expected(r, "'(assert' (networks are declared before all assertions)");
	return r->tokens.token == BPG_QT_END ? BPG_OK : bpg_query_expected(r, "'(assert' or the end of the file");
}

enum bpg_status bpg_query_supported(struct bpg_ctx *ctx, const struct bpg_query *q)
{
	return q->note ? bpg_fail_line(ctx, BPG_EUNSUPPORTED, q->path, q->note_line, "%s", q->note) : BPG_OK;
}

enum bpg_status bpg_query_check(struct bpg_ctx *ctx, struct bpg_query *q)
{
	struct bpg_query_reader *r = q->reader;
	BPG_TRY(read_assertions(r));
	if (!r->conditions.note || q->note)
		return BPG_OK;
	q->note_line = r->conditions.noted;
	q->note = bpg_arena_str(q->arena, r->conditions.note);
	return q->note ? BPG_OK : bpg_nomem(ctx, q->path);
}

/* ---- the normal form ---- */

/* Inputs of the question in order: those that stand for themselves. */
static enum bpg_status renumber(struct bpg_query *q, const struct bpg_conditions *c, struct bpg_query_spec *to,
                                int64_t *free_inputs)
{
	int64_t n = 0;
	to->to = bpg_arena_alloc(q->arena, (size_t)q->inputs, sizeof *to->to);
	if (c->same)
		to->same = bpg_arena_alloc(q->arena, (size_t)q->inputs, sizeof *to->same);
	if (!to->to || (c->same && !to->same))
		return bpg_nomem(c->ctx, q->path);
	for (int64_t i = 0; i < q->inputs; i++) {
		int64_t root = bpg_conditions_root(c, i);
		to->to[i] = root == i ? n++ : to->to[root]; /* roots come first */
		if (c->same)
			to->same[i] = root;
	}
	*free_inputs = n;
	return BPG_OK;
}

static enum bpg_status spec_new(struct bpg_ctx *ctx, const struct bpg_query *q, struct bpg_spec **spec)
{
	struct bpg_arena *arena = bpg_arena_new();
	struct bpg_spec *s = *spec = arena ? bpg_arena_alloc(arena, 1, sizeof *s) : NULL;
	if (!s) {
		bpg_arena_free(arena);
		return bpg_nomem(ctx, q->path);
	}
	s->arena = arena;
	s->inputs = q->inputs;
	s->outputs = q->outputs;
	s->path = bpg_arena_str(arena, q->path);
	return s->path ? BPG_OK : bpg_nomem(ctx, q->path);
}

enum bpg_status bpg_query_read(struct bpg_ctx *ctx, struct bpg_query *q, struct bpg_query_spec *to)
{
	struct bpg_query_reader *r = q->reader;
	struct bpg_conditions *c = &r->conditions;
	enum bpg_status st = BPG_OK;
	int64_t inputs = 0;
	*to = (struct bpg_query_spec){ 0 };
	BPG_TRY(spec_new(ctx, q, &to->spec));
	BPG_TRY_TO(bpg_normal_new(ctx, q->path, to->spec, &c->normal), out);
	c->spec = to->spec;
	BPG_TRY_TO(read_assertions(r), out);
	BPG_TRY_TO(renumber(q, c, to, &inputs), out);
	if (c->same)
		bpg_normal_renumber(c->normal, to->to, inputs);
	BPG_TRY_TO(bpg_normal_finish(c->normal, r->tokens.line), out);
	to->related = c->related;
	if (c->related)
		to->spec->outputs += q->inputs;
out:
	bpg_normal_free(c->normal);
	c->normal = NULL;
	if (st) {
		bpg_spec_free(to->spec);
		to->spec = NULL;
	}
	return st;
}

/* ---- open and close ---- */

static enum bpg_status reader_new(struct bpg_ctx *ctx, struct bpg_query *q)
{
	struct bpg_query_reader *r = q->reader = bpg_calloc(1, sizeof *r);
	if (!r)
		return bpg_nomem(ctx, q->path);
	r->ctx = ctx;
	r->path = q->path;
	r->query = q;
	BPG_TRY(bpg_stream_open(ctx, q->path, &r->stream));
	bpg_query_lexer_init(&r->tokens, ctx, q->path, r->stream);
	enum bpg_status st = bpg_query_declarations(r);
	q->network = r->network;
	q->variable = r->variable;
	r->conditions = (struct bpg_conditions){ .ctx = ctx,
		                                 .path = q->path,
		                                 .inputs = q->inputs,
		                                 .outputs = q->outputs,
		                                 .relations = true,
		                                 .name = name_element,
		                                 .arg = r };
	return st;
}

enum bpg_status bpg_query_open(struct bpg_ctx *ctx, const char *path, struct bpg_query **query)
{
	struct bpg_arena *arena = bpg_arena_new();
	struct bpg_query *q = arena ? bpg_arena_alloc(arena, 1, sizeof *q) : NULL;
	*query = NULL;
	if (!q) {
		bpg_arena_free(arena);
		return bpg_nomem(ctx, path);
	}
	q->arena = arena;
	q->path = bpg_arena_str(arena, path);
	enum bpg_status st = q->path ? reader_new(ctx, q) : bpg_nomem(ctx, path);
	if (st)
		bpg_query_close(q);
	else
		*query = q;
	return st;
}

void bpg_query_close(struct bpg_query *q)
{
	if (!q)
		return;
	struct bpg_query_reader *r = q->reader;
	if (r) {
		bpg_conditions_fini(&r->conditions);
		bpg_query_lexer_fini(&r->tokens);
		bpg_stream_close(r->stream);
		free(r->network);
		free(r->variable);
		free(r->slot);
		free(r);
	}
	bpg_arena_free(q->arena);
}
