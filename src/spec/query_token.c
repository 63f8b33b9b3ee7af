/* query_token.c - see query_token.h. */
#include "spec/query_token.h"

#include <stdlib.h>
#include <string.h>

static const struct {
	const char *word;
	enum bpg_query_token token;
} commands[] = {
	{ "assert", BPG_QT_ASSERT }, { "declare-network", BPG_QT_NETWORK }, { "declare-input", BPG_QT_INPUT },
	{ "declare-output", BPG_QT_OUTPUT }, { "declare-hidden", BPG_QT_HIDDEN }, { "equal-to", BPG_QT_EQUAL_TO },
	{ "isomorphic-to", BPG_QT_ISOMORPHIC_TO }, { "vnnlib-version", BPG_QT_VERSION },
};

void bpg_query_lexer_init(struct bpg_query_lexer *s, struct bpg_ctx *ctx, const char *path, struct bpg_stream *stream)
{
	s->ctx = ctx;
	s->path = path;
	s->status = BPG_OK;
	s->token = BPG_QT_END;
	s->line = 1;
	s->word = NULL;
	s->len = s->room = 0;
	s->waiting = false;
	bpg_bytes_init(&s->bytes, stream);
}

void bpg_query_lexer_fini(struct bpg_query_lexer *s)
{
	free(s->word);
	s->word = NULL;
}

static enum bpg_status stop(struct bpg_query_lexer *s, enum bpg_status st)
{
	s->token = BPG_QT_BAD;
	return s->status = st;
}

static enum bpg_status bad(struct bpg_query_lexer *s, const char *what)
{
	return stop(s, bpg_fail_line(s->ctx, BPG_EFILE, s->path, s->line, "%s", what));
}

/* The stream has written its message. */
static enum bpg_status damaged(struct bpg_query_lexer *s)
{
	return stop(s, bpg_stream_status(s->bytes.stream));
}

static bool digit(int c) { return c >= '0' && c <= '9'; }
static bool letter(int c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
static bool in_name(int c) { return letter(c) || digit(c) || c == '_'; }
static bool in_command(int c) { return in_name(c) || c == '-'; }
static bool in_number(int c) { return digit(c) || c == '.'; }
static bool blank(int c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f'; }

static int peek(struct bpg_query_lexer *s) { return bpg_bytes_peek(&s->bytes); }
static void take(struct bpg_query_lexer *s) { bpg_bytes_take(&s->bytes); }

static enum bpg_status too_long(struct bpg_query_lexer *s)
{
	return bad(s, "a name, number or string of more than a million characters");
}

static enum bpg_status put(struct bpg_query_lexer *s, int c)
{
	if (s->len == BPG_QT_WORD_MOST)
		return too_long(s);
	if (s->len == s->room && !bpg_grow(&s->word, &s->room, s->len + 64, 1))
		return stop(s, bpg_nomem(s->ctx, s->path));
	s->word[s->len++] = (char)c;
	return BPG_OK;
}

/* Appends characters of a kind to the word. */
static inline enum bpg_status run(struct bpg_query_lexer *s, bool (*kind)(int c))
{
	while (kind(peek(s))) {
		int64_t n = bpg_bytes_run(&s->bytes, kind);
		if (s->len + n > BPG_QT_WORD_MOST)
			return too_long(s);
		if (!bpg_grow(&s->word, &s->room, s->len + n, 1))
			return stop(s, bpg_nomem(s->ctx, s->path));
		bpg_bytes_copy(&s->bytes, s->word + s->len, n);
		s->len += n;
	}
	return s->bytes.damaged ? damaged(s) : BPG_OK;
}

/* Ends the word. */
static enum bpg_status give(struct bpg_query_lexer *s, enum bpg_query_token token)
{
	BPG_TRY(put(s, 0));
	s->token = token;
	return BPG_OK;
}

static enum bpg_status one(struct bpg_query_lexer *s, enum bpg_query_token token)
{
	take(s);
	s->token = token;
	return BPG_OK;
}

static int skip_blanks(struct bpg_query_lexer *s)
{
	bool comment = false;
	for (int c;; take(s)) {
		c = peek(s);
		if (c < 0)
			return c;
		if (c == '\n' || c == '\r')
			comment = false;
		else if (c == ';')
			comment = true;
		else if (!comment && !blank(c))
			return c;
	}
}

/* "and" and "or" are no names. */
static enum bpg_status give_name(struct bpg_query_lexer *s)
{
	BPG_TRY(give(s, BPG_QT_NAME));
	bool and = !strcmp(s->word, "and");
	if (!and && strcmp(s->word, "or"))
		return BPG_OK;
	s->token = BPG_QT_OPERATOR;
	s->op = and ? BPG_OP_AND : BPG_OP_OR;
	return BPG_OK;
}

/* A bracket: of a command, when the word of one follows at once. Any other word waits for the next call. */
static enum bpg_status open_bracket(struct bpg_query_lexer *s)
{
	take(s);
	s->token = BPG_QT_OPEN;
	if (!letter(peek(s)))
		return s->bytes.damaged ? damaged(s) : BPG_OK;
	BPG_TRY(run(s, in_command));
	BPG_TRY(put(s, 0));
	for (size_t k = 0; k < BPG_LEN(commands); k++)
		if (!strcmp(s->word, commands[k].word)) {
			s->token = commands[k].token;
			return BPG_OK;
		}
	if (strchr(s->word, '-')) {
		char shown[128];
		return stop(s,
		            bpg_fail_line(s->ctx, BPG_EFILE, s->path, s->line,
		                          "'(%s': no command of VNN-LIB 2; vnnlib-version, declare-network, "
		                          "declare-input, declare-hidden, declare-output, equal-to, isomorphic-to and assert are",
		                          bpg_printable(s->word, shown)));
	}
	s->len--;
	s->waiting = true;
	return BPG_OK;
}

/* The digits of a number whose sign, if it has one, was taken. */
static enum bpg_status take_number(struct bpg_query_lexer *s)
{
	BPG_TRY(run(s, digit));
	if (peek(s) == '.') {
		take(s);
		BPG_TRY(put(s, '.'));
		if (!digit(peek(s)))
			return bad(s, "a number ends with its point; write 1.0");
		BPG_TRY(run(s, digit));
	}
	int c = peek(s);
	if (c == 'e' || c == 'E')
		return bad(s, "a number with an exponent; VNN-LIB 2 has none, write 0.001");
	if (c == '.')
		return bad(s, "a number with two points");
	return give(s, BPG_QT_NUMBER);
}

static enum bpg_status minus(struct bpg_query_lexer *s)
{
	take(s);
	if (digit(peek(s))) {
		BPG_TRY(put(s, '-'));
		return take_number(s);
	}
	s->token = BPG_QT_OPERATOR;
	s->op = BPG_OP_SUB;
	return s->bytes.damaged ? damaged(s) : BPG_OK;
}

static enum bpg_status give_operator(struct bpg_query_lexer *s, enum bpg_operator op)
{
	s->token = BPG_QT_OPERATOR;
	s->op = op;
	return BPG_OK;
}

/* < <= > >= == !=, and the number of a version: <2.0>. */
static enum bpg_status comparison(struct bpg_query_lexer *s, int first)
{
	bool version = s->token == BPG_QT_VERSION;
	take(s);
	if (peek(s) == '=') {
		take(s);
		return give_operator(s, first == '<'   ? BPG_OP_LE
		                        : first == '>' ? BPG_OP_GE
		                        : first == '=' ? BPG_OP_EQ
		                                       : BPG_OP_NE);
	}
	if (s->bytes.damaged)
		return damaged(s);
	if (first == '=')
		return bad(s, "'=' is no operator of VNN-LIB 2; write '=='");
	if (first == '!')
		return bad(s, "'!' is no operator of VNN-LIB 2; '!=' is");
	if (!version || first == '>')
		return give_operator(s, first == '<' ? BPG_OP_LT : BPG_OP_GT);
	BPG_TRY(run(s, in_number));
	if (peek(s) != '>')
		return s->bytes.damaged ? damaged(s) : bad(s, "a version is written <2.0>");
	take(s);
	return give(s, BPG_QT_RELEASE);
}

/* Escapes: \" \\ \n \t. */
static enum bpg_status take_string(struct bpg_query_lexer *s)
{
	take(s);
	for (int c; (c = peek(s)) != '"';) {
		if (c == BPG_BYTES_DAMAGED)
			return damaged(s);
		if (c < 0)
			return bad(s, "a string without its closing quote");
		take(s);
		if (c == '\\') {
			c = peek(s);
			if (c != '"' && c != '\\' && c != 'n' && c != 't')
				return s->bytes.damaged ? damaged(s)
				                        : bad(s, "a backslash in a string that stands before none of \" \\ n t");
			take(s);
			c = c == 'n' ? '\n' : c == 't' ? '\t' : c;
		}
		if (!c)
			return bad(s, "a string with a null character");
		BPG_TRY(put(s, c));
	}
	take(s);
	return give(s, BPG_QT_STRING);
}

static enum bpg_status strange(struct bpg_query_lexer *s, int c)
{
	if (c > ' ' && c < 0x7f)
		return stop(s, bpg_fail_line(s->ctx, BPG_EFILE, s->path, s->line, "the character '%c' has no meaning here", c));
	return stop(s, bpg_fail_line(s->ctx, BPG_EFILE, s->path, s->line,
	                             "a character (byte %d) that VNN-LIB 2 has only in comments and strings", c));
}

enum bpg_status bpg_query_lexer_next(struct bpg_query_lexer *s)
{
	if (s->waiting) {
		s->waiting = false;
		return give_name(s);
	}
	s->len = 0;
	int c = skip_blanks(s);
	s->line = s->bytes.line;
	switch (c) {
	case BPG_BYTES_DAMAGED: return damaged(s);
	case BPG_BYTES_END: s->token = BPG_QT_END; return BPG_OK;
	case '(': return open_bracket(s);
	case ')': return one(s, BPG_QT_CLOSE);
	case '[': return one(s, BPG_QT_LEFT);
	case ']': return one(s, BPG_QT_RIGHT);
	case ',': return one(s, BPG_QT_COMMA);
	case '"': return take_string(s);
	case '-': return minus(s);
	case '+': take(s); return give_operator(s, BPG_OP_ADD);
	case '*': take(s); return give_operator(s, BPG_OP_MUL);
	case '<': case '>': case '=': case '!': return comparison(s, c);
	default:
		if (digit(c))
			return take_number(s);
		if (!letter(c))
			return strange(s, c);
		BPG_TRY(run(s, in_name));
		return give_name(s);
	}
}
