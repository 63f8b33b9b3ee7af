/* query_declare.c - the declarations of a VNN-LIB 2 query. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "spec/query_reader.h"

/* Networks of a query, and hidden tensors of a network: each is compared with each. */
enum { NETWORKS_MOST = 1000, HIDDEN_MOST = 1000 };

/* ---- tokens ---- */

const char *bpg_query_shown(const struct bpg_query_reader *r, char buf[128])
{
	const struct bpg_query_lexer *s = &r->tokens;
	static const char *const marks[] = {
		[BPG_QT_OPEN] = "(", [BPG_QT_CLOSE] = ")", [BPG_QT_LEFT] = "[", [BPG_QT_RIGHT] = "]", [BPG_QT_COMMA] = ","
	};
	static const char *const operators[] = { "assert", "and", "or", "<=", "<", ">=", ">", "==", "!=", "+", "-", "*", "/" };
	if (s->token == BPG_QT_END)
		return strcpy(buf, "the end of the file");
	if (s->token == BPG_QT_OPERATOR) {
		snprintf(buf, 128, "'%s'", operators[s->op]);
		return buf;
	}
	bool mark = (size_t)s->token < BPG_LEN(marks) && marks[s->token];
	char word[128];
	snprintf(buf, 128, "%s%.100s%s", s->token >= BPG_QT_VERSION ? "'(" : "'",
	         mark ? marks[s->token] : bpg_printable(s->word, word), "'");
	return buf;
}

enum bpg_status bpg_query_expected(struct bpg_query_reader *r, const char *what)
{
	char shown[128];
	bpg_query_shown(r, shown);
	return bpg_query_wrong(r, r->tokens.line, "%s belongs here, not %s", what, shown);
}

enum bpg_status bpg_query_next(struct bpg_query_reader *r) { return bpg_query_lexer_next(&r->tokens); }

/* The present token is this one; goes on to the next. */
static enum bpg_status pass(struct bpg_query_reader *r, enum bpg_query_token token, const char *what)
{
	return r->tokens.token == token ? bpg_query_next(r) : bpg_query_expected(r, what);
}

static enum bpg_status no_memory(struct bpg_query_reader *r) { return bpg_nomem(r->ctx, r->path); }

/* ---- names ---- */

/* The slot of a name, or the free one where it belongs. */
static int *slot(struct bpg_query_reader *r, const char *name)
{
	for (uint64_t h = bpg_hash_str(BPG_HASH_START, name);; h++) {
		int *at = &r->slot[(h ^ h >> 32) & (uint64_t)(r->slots - 1)];
		if (!*at || !strcmp(r->variable[*at - 1].name, name))
			return at;
	}
}

int bpg_query_find(const struct bpg_query_reader *r, const char *name)
{
	return r->slots ? *slot((struct bpg_query_reader *)r, name) - 1 : -1;
}

static enum bpg_status more_slots(struct bpg_query_reader *r)
{
	if (2 * (int64_t)(r->query->variables + 1) <= r->slots)
		return BPG_OK;
	free(r->slot);
	r->slots = r->slots ? 2 * r->slots : 64;
	r->slot = bpg_calloc((size_t)r->slots, sizeof *r->slot);
	if (!r->slot) {
		r->slots = 0;
		return no_memory(r);
	}
	for (int i = 0; i < r->query->variables; i++)
		*slot(r, r->variable[i].name) = i + 1;
	return BPG_OK;
}

static int find_network(const struct bpg_query_reader *r, const char *name, int before)
{
	for (int i = 0; i < before; i++)
		if (!strcmp(r->network[i].name, name))
			return i;
	return -1;
}

/* ---- types ---- */

/* Element types of ONNX, and real; some texts of the standard's own write Real. */
static const struct {
	const char *name;
	enum bpg_query_kind kind;
	bool supported;
} types[] = {
	{ "real", BPG_QUERY_FLOAT, true },           { "Real", BPG_QUERY_FLOAT, true },
	{ "float32", BPG_QUERY_FLOAT, true },        { "float64", BPG_QUERY_FLOAT, true },
	{ "float16", BPG_QUERY_FLOAT, true },        { "bfloat16", BPG_QUERY_FLOAT, true },
	{ "float8e4m3fn", BPG_QUERY_FLOAT, false },  { "float8e4m3fnuz", BPG_QUERY_FLOAT, false },
	{ "float8e5m2", BPG_QUERY_FLOAT, false },    { "float8e5m2fnuz", BPG_QUERY_FLOAT, false },
	{ "float4e2m1", BPG_QUERY_FLOAT, false },    { "int4", BPG_QUERY_SIGNED, false },
	{ "int8", BPG_QUERY_SIGNED, false },         { "int16", BPG_QUERY_SIGNED, false },
	{ "int32", BPG_QUERY_SIGNED, false },        { "int64", BPG_QUERY_SIGNED, false },
	{ "uint4", BPG_QUERY_UNSIGNED, false },      { "uint8", BPG_QUERY_UNSIGNED, false },
	{ "uint16", BPG_QUERY_UNSIGNED, false },     { "uint32", BPG_QUERY_UNSIGNED, false },
	{ "uint64", BPG_QUERY_UNSIGNED, false },     { "bool", BPG_QUERY_NO_NUMBER, false },
	{ "complex64", BPG_QUERY_NO_NUMBER, false }, { "complex128", BPG_QUERY_NO_NUMBER, false },
	{ "string", BPG_QUERY_NO_NUMBER, false },
};

static int find_type(const char *name)
{
	for (size_t i = 0; i < BPG_LEN(types); i++)
		if (!strcmp(types[i].name, name))
			return (int)i;
	return -1;
}

/* A name that is no type may be one of a later ONNX: whatever is compared with it passes, and it is not supported. */
enum bpg_query_kind bpg_query_kind(const char *type)
{
	int i = find_type(type);
	return i < 0 ? BPG_QUERY_ANY : types[i].kind;
}

bool bpg_query_same_type(const char *a, const char *b)
{
	return !strcmp(a, b) || (!strcmp(a, "real") && !strcmp(b, "Real")) || (!strcmp(a, "Real") && !strcmp(b, "real"));
}

static enum bpg_status check_type(struct bpg_query_reader *r, const struct bpg_query_variable *v)
{
	int i = find_type(v->type);
	char name[128], type[128];
	bpg_printable(v->name, name);
	bpg_printable(v->type, type);
	if (i >= 0 && types[i].supported)
		return BPG_OK;
	return bpg_query_note(r, v->line,
	                      i < 0 ? "'%s' has the type '%s', which is no element type of ONNX; real, float32, float64, float16 "
	                              "and bfloat16 are supported"
	                            : "'%s' has the element type %s; real, float32, float64, float16 and bfloat16 "
	                              "are supported",
	                      name, type);
}

/* ---- shapes ---- */

bool bpg_query_whole(const char *word, int64_t *to)
{
	*to = 0;
	for (; *word >= '0' && *word <= '9'; word++)
		if ((*to = *to * 10 + (*word - '0')) > BPG_MAX_ELEMENTS)
			return false;
	return !*word;
}

/* '[' is the present token; up to the token behind ']'. */
static enum bpg_status read_shape(struct bpg_query_reader *r, struct bpg_shape *shape)
{
	*shape = (struct bpg_shape){ 0 };
	BPG_TRY(pass(r, BPG_QT_LEFT, "a shape, as [1,3],"));
	if (r->tokens.token == BPG_QT_RIGHT)
		return bpg_query_next(r);
	for (;;) {
		int64_t d;
		char shown[128];
		if (r->tokens.token != BPG_QT_NUMBER)
			return bpg_query_expected(r, "a size");
		if (!bpg_query_whole(r->tokens.word, &d) || d < 1)
			return bpg_query_wrong(r, r->tokens.line, "size %s: sizes are whole numbers from 1, up to 2^33",
			                     bpg_printable(r->tokens.word, shown));
		if (shape->rank == BPG_MAX_RANK)
			return bpg_fail_line(r->ctx, BPG_EUNSUPPORTED, r->path, r->tokens.line, "a shape of more than %d sizes",
			                     BPG_MAX_RANK);
		shape->dim[shape->rank++] = d;
		BPG_TRY(bpg_query_next(r));
		if (r->tokens.token == BPG_QT_RIGHT)
			return bpg_query_next(r);
		BPG_TRY(pass(r, BPG_QT_COMMA, "',' or ']'"));
	}
}

static enum bpg_status count(struct bpg_query_reader *r, struct bpg_query_variable *v)
{
	char name[128];
	v->n = 1;
	for (int i = 0; i < v->shape.rank; i++) {
		if (v->shape.dim[i] > BPG_MAX_ELEMENTS / v->n)
			return bpg_fail_line(r->ctx, BPG_EUNSUPPORTED, r->path, v->line, "'%s' has more than 2^33 elements",
			                     bpg_printable(v->name, name));
		v->n *= v->shape.dim[i];
	}
	return BPG_OK;
}

/* ---- variables ---- */

static enum bpg_status keep_word(struct bpg_query_reader *r, const char **to)
{
	*to = bpg_arena_str(r->query->arena, r->tokens.word);
	return *to ? bpg_query_next(r) : no_memory(r);
}

static enum bpg_status name_free(struct bpg_query_reader *r, const char *name, int64_t line)
{
	char shown[128];
	int before = bpg_query_find(r, name);
	if (before < 0)
		return BPG_OK;
	return bpg_query_wrong(r, line, "'%s' is declared twice, first in line %lld", bpg_printable(name, shown),
	                     (long long)r->variable[before].line);
}

/* The token behind "(declare-input" and the like is the present one. */
static enum bpg_status read_variable(struct bpg_query_reader *r, enum bpg_query_side side)
{
	struct bpg_query *q = r->query;
	BPG_TRY(more_slots(r));
	if (!bpg_grow(&r->variable, &r->variable_room, (int64_t)q->variables + 1, sizeof *r->variable))
		return no_memory(r);
	struct bpg_query_variable *v = &r->variable[q->variables];
	*v = (struct bpg_query_variable){ .side = side, .line = r->tokens.line };
	if (r->tokens.token != BPG_QT_NAME)
		return bpg_query_expected(r, "a name (a letter, then letters, digits and _)");
	BPG_TRY(name_free(r, r->tokens.word, v->line));
	BPG_TRY(keep_word(r, &v->name));
	if (r->tokens.token != BPG_QT_NAME)
		return bpg_query_expected(r, "an element type");
	BPG_TRY(keep_word(r, &v->type));
	BPG_TRY(read_shape(r, &v->shape));
	BPG_TRY(count(r, v));
	if (side == BPG_QUERY_HIDDEN) {
		if (r->tokens.token != BPG_QT_STRING)
			return bpg_query_expected(r, "the ONNX name of the hidden tensor, in quotes,");
		BPG_TRY(keep_word(r, &v->tensor));
	}
	BPG_TRY(check_type(r, v));
	while (side == BPG_QUERY_INPUT && r->tokens.token == BPG_QT_NAME && !strcmp(r->tokens.word, "initialized") &&
	       r->minor > 0) {
		char shown[128];
		BPG_TRY(bpg_query_note(
		        r, v->line,
		        "input '%s' takes its default from the network ('initialized'), which is not supported; state its "
		        "values by assertions",
		        bpg_printable(v->name, shown)));
		BPG_TRY(bpg_query_next(r));
	}
	BPG_TRY(pass(r, BPG_QT_CLOSE, "the ')' of the declaration"));
	q->variables++;
	*slot(r, v->name) = q->variables;
	return BPG_OK;
}

/* Elements of the variables of one side, behind those before. */
static enum bpg_status number(struct bpg_query_reader *r, const struct bpg_query_network *n, enum bpg_query_side side,
                              int64_t *count)
{
	for (int i = n->first; i < n->first + n->variables; i++) {
		struct bpg_query_variable *v = &r->variable[i];
		if (v->side != side)
			continue;
		v->first = *count;
		if (*count > BPG_MAX_ELEMENTS - v->n)
			return bpg_fail_line(r->ctx, BPG_EUNSUPPORTED, r->path, v->line, "more than 2^33 elements in all");
		*count += v->n;
	}
	return BPG_OK;
}

/* ---- networks ---- */

/* "(equal-to NAME)", several times where the text is wrong. */
static enum bpg_status read_equivalence(struct bpg_query_reader *r, struct bpg_query_network *n)
{
	while (r->tokens.token == BPG_QT_EQUAL_TO || r->tokens.token == BPG_QT_ISOMORPHIC_TO) {
		bool equal = r->tokens.token == BPG_QT_EQUAL_TO;
		char shown[128];
		if (n->base >= 0)
			BPG_TRY(bpg_query_note(r, r->tokens.line,
			                       "network '%s' is declared equal or isomorphic twice; once is enough",
			                       bpg_printable(n->name, shown)));
		BPG_TRY(bpg_query_next(r));
		if (r->tokens.token != BPG_QT_NAME)
			return bpg_query_expected(r, "the name of a network");
		n->equal = equal;
		n->base = find_network(r, r->tokens.word, r->query->networks);
		if (n->base < 0)
			return bpg_query_wrong(r, r->tokens.line, "no network '%s' is declared before this line",
			                     bpg_printable(r->tokens.word, shown));
		if (r->network[n->base].base >= 0)
			return bpg_query_wrong(r, r->tokens.line,
			                       "network '%s' is itself declared equal or isomorphic to another; name that one",
			                       bpg_printable(r->tokens.word, shown));
		BPG_TRY(bpg_query_next(r));
		BPG_TRY(pass(r, BPG_QT_CLOSE, "')'"));
	}
	return BPG_OK;
}

static enum bpg_status differ(struct bpg_query_reader *r, const struct bpg_query_network *n, const struct bpg_query_variable *v,
                              const char *what)
{
	char name[128], other[128], mine[128];
	return bpg_query_wrong(r, v->line, "network '%s' is declared %s to '%s', but %s of '%s' differs",
	                       bpg_printable(n->name, name), n->equal ? "equal" : "isomorphic",
	                       bpg_printable(r->network[n->base].name, other), what, bpg_printable(v->name, mine));
}

/* Inputs and outputs in order, hidden ones by the tensor they name. */
static enum bpg_status compare(struct bpg_query_reader *r, const struct bpg_query_network *n, enum bpg_query_side side)
{
	const struct bpg_query_network *b = &r->network[n->base];
	int k = b->first;
	for (int i = n->first; i < n->first + n->variables; i++) {
		const struct bpg_query_variable *v = &r->variable[i], *w;
		if (v->side != side)
			continue;
		while (r->variable[k].side != side)
			k++;
		w = &r->variable[k++];
		if (!bpg_query_same_type(v->type, w->type))
			return differ(r, n, v, "the element type");
		if (!bpg_shape_equal(&v->shape, &w->shape))
			return differ(r, n, v, "the shape");
	}
	return BPG_OK;
}

static enum bpg_status compare_hidden(struct bpg_query_reader *r, const struct bpg_query_network *n)
{
	const struct bpg_query_network *b = &r->network[n->base];
	for (int i = n->first + n->inputs; i < n->first + n->inputs + n->hidden; i++)
		for (int k = b->first + b->inputs; n->equal && k < b->first + b->inputs + b->hidden; k++) {
			const struct bpg_query_variable *v = &r->variable[i], *w = &r->variable[k];
			if (!strcmp(v->tensor, w->tensor) &&
			    (!bpg_query_same_type(v->type, w->type) || !bpg_shape_equal(&v->shape, &w->shape)))
				return differ(r, n, v, "the declaration");
		}
	return BPG_OK;
}

static enum bpg_status check_equivalence(struct bpg_query_reader *r, const struct bpg_query_network *n)
{
	char name[128], other[128];
	if (n->base < 0)
		return BPG_OK;
	const struct bpg_query_network *b = &r->network[n->base];
	if (n->inputs != b->inputs || n->outputs != b->outputs)
		return bpg_query_wrong(r, n->line, "network '%s' has %d inputs and %d outputs, '%s' has %d and %d",
		                       bpg_printable(n->name, name), n->inputs, n->outputs, bpg_printable(b->name, other),
		                       b->inputs, b->outputs);
	BPG_TRY(compare(r, n, BPG_QUERY_INPUT));
	BPG_TRY(compare(r, n, BPG_QUERY_OUTPUT));
	return compare_hidden(r, n);
}

static enum bpg_status read_variables(struct bpg_query_reader *r, struct bpg_query_network *n)
{
	static const struct {
		enum bpg_query_token token;
		enum bpg_query_side side;
		const char *missing;  /* null: there need not be one */
	} part[] = {
		{ BPG_QT_INPUT, BPG_QUERY_INPUT, "'(declare-input'" },
		{ BPG_QT_HIDDEN, BPG_QUERY_HIDDEN, NULL },
		{ BPG_QT_OUTPUT, BPG_QUERY_OUTPUT, "'(declare-output'" },
	};
	int *count[] = { &n->inputs, &n->hidden, &n->outputs };
	for (size_t k = 0; k < BPG_LEN(part); k++) {
		if (part[k].missing && r->tokens.token != part[k].token)
			return bpg_query_expected(r, part[k].missing);
		while (r->tokens.token == part[k].token) {
			BPG_TRY(bpg_query_next(r));
			BPG_TRY(read_variable(r, part[k].side));
			++*count[k];
		}
	}
	return BPG_OK;
}

/* The token behind "(declare-network" is the present one. */
static enum bpg_status read_network(struct bpg_query_reader *r, int64_t line)
{
	struct bpg_query *q = r->query;
	char shown[128];
	if (!bpg_grow(&r->network, &r->network_room, (int64_t)q->networks + 1, sizeof *r->network))
		return no_memory(r);
	if (q->networks == NETWORKS_MOST)
		return bpg_fail_line(r->ctx, BPG_EUNSUPPORTED, r->path, line, "more than %d networks", (int)NETWORKS_MOST);
	struct bpg_query_network *n = &r->network[q->networks];
	*n = (struct bpg_query_network){ .base = -1, .first = q->variables, .line = line };
	if (r->tokens.token != BPG_QT_NAME)
		return bpg_query_expected(r, "the name of the network (a letter, then letters, digits and _)");
	if (find_network(r, r->tokens.word, q->networks) >= 0)
		BPG_TRY(bpg_query_note(r, line,
		                       "two networks are named '%s', so --network %s=NET.onnx cannot say which; rename one",
		                       bpg_printable(r->tokens.word, shown), shown));
	BPG_TRY(keep_word(r, &n->name));
	BPG_TRY(read_equivalence(r, n));
	BPG_TRY(read_variables(r, n));
	if (n->hidden > HIDDEN_MOST)
		return bpg_fail_line(r->ctx, BPG_EUNSUPPORTED, r->path, line, "more than %d hidden tensors in a network",
		                     (int)HIDDEN_MOST);
	BPG_TRY(pass(r, BPG_QT_CLOSE, "the ')' of the network, or another declaration of an output,"));
	n->variables = q->variables - n->first;
	BPG_TRY(check_equivalence(r, n));
	BPG_TRY(number(r, n, BPG_QUERY_INPUT, &q->inputs));
	BPG_TRY(number(r, n, BPG_QUERY_OUTPUT, &q->outputs));
	BPG_TRY(number(r, n, BPG_QUERY_HIDDEN, &q->outputs));
	q->networks++;
	return BPG_OK;
}

/* ---- version ---- */

static enum bpg_status read_version(struct bpg_query_reader *r)
{
	char shown[128];
	int64_t major;
	if (r->tokens.token != BPG_QT_VERSION)
		return bpg_query_expected(r, "'(vnnlib-version <2.0>)'");
	BPG_TRY(bpg_query_next(r));
	if (r->tokens.token != BPG_QT_RELEASE)
		return bpg_query_expected(r, "a version, as <2.0>,");
	char *point = strchr(r->tokens.word, '.');
	if (!point || point == r->tokens.word || !point[1] || strchr(point + 1, '.'))
		return bpg_query_wrong(r, r->tokens.line, "<%s> is no version; write <2.0>",
		                       bpg_printable(r->tokens.word, shown));
	bpg_printable(r->tokens.word, shown);
	*point = 0;
	if (!bpg_query_whole(r->tokens.word, &major) || major != 2 || !bpg_query_whole(point + 1, &r->minor))
		return bpg_query_wrong(r, r->tokens.line, "version <%s> of VNN-LIB; this reader knows <2.0> and what later "
		                     "versions <2.x> have kept", shown);
	BPG_TRY(bpg_query_next(r));
	return pass(r, BPG_QT_CLOSE, "')'");
}

enum bpg_status bpg_query_declarations(struct bpg_query_reader *r)
{
	BPG_TRY(bpg_query_next(r));
	BPG_TRY(read_version(r));
	if (r->tokens.token != BPG_QT_NETWORK)
		return bpg_query_expected(r, "'(declare-network'");
	while (r->tokens.token == BPG_QT_NETWORK) {
		int64_t line = r->tokens.line;
		BPG_TRY(bpg_query_next(r));
		BPG_TRY(read_network(r, line));
	}
	if (r->tokens.token != BPG_QT_ASSERT)
		return bpg_query_expected(r, "'(assert' or '(declare-network'");
	return BPG_OK;
}
