/* sexpr.c - tokens of an s-expression file. */
#include "spec/sexpr.h"

#include <stdlib.h>

void bpg_sexpr_init(struct bpg_sexpr *s, struct bpg_ctx *ctx, const char *path, struct bpg_stream *stream)
{
	s->ctx = ctx;
	s->path = path;
	s->status = BPG_OK;
	s->line = 1;
	s->word = NULL;
	s->len = s->room = 0;
	bpg_bytes_init(&s->bytes, stream);
}

void bpg_sexpr_fini(struct bpg_sexpr *s)
{
	free(s->word);
	s->word = NULL;
}

static enum bpg_token bad(struct bpg_sexpr *s, const char *what)
{
	s->status = bpg_fail(s->ctx, BPG_EFILE, "%s:%lld: %s", s->path, (long long)s->line, what);
	return BPG_TOKEN_BAD;
}

/* The stream has written its message. */
static enum bpg_token damaged(struct bpg_sexpr *s)
{
	s->status = bpg_stream_status(s->bytes.stream);
	return BPG_TOKEN_BAD;
}

static bool put(struct bpg_sexpr *s, int c)
{
	if (s->len == s->room && !bpg_grow(&s->word, &s->room, s->len + 64, 1))
		return false;
	s->word[s->len++] = (char)c;
	return true;
}

static enum bpg_token no_memory(struct bpg_sexpr *s)
{
	s->status = bpg_nomem(s->ctx, s->path);
	return BPG_TOKEN_BAD;
}

static bool blank(int c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

/* May stand in a word: printable, and whatever a name in UTF-8 is made of (refused later, by name). */
static bool wordy(int c) { return c > ' ' && c != 0x7f && c != '(' && c != ')' && c != ';' && c != '"'; }

static int skip_blanks(struct bpg_sexpr *s)
{
	bool comment = false;
	for (;;) {
		int c = bpg_bytes_peek(&s->bytes);
		if (c < 0)
			return c;
		if (c == '\n' || c == '\r')
			comment = false;
		else if (c == ';')
			comment = true;
		else if (!comment && !blank(c))
			return c;
		bpg_bytes_take(&s->bytes);
	}
}

static enum bpg_token take_word(struct bpg_sexpr *s)
{
	for (int c; (c = bpg_bytes_peek(&s->bytes)) >= 0 && wordy(c);) {
		int64_t n = bpg_bytes_run(&s->bytes, wordy);
		if (s->len + n > BPG_SEXPR_WORD_MOST)
			return bad(s, "a word of more than a million characters");
		if (!bpg_grow(&s->word, &s->room, s->len + n, 1))
			return no_memory(s);
		bpg_bytes_copy(&s->bytes, s->word + s->len, n);
		s->len += n;
	}
	if (s->bytes.damaged)
		return damaged(s);
	return put(s, 0) ? BPG_TOKEN_WORD : no_memory(s);
}

/* Two quotes inside a string stand for one, which matters to nobody here: they make two strings. */
static enum bpg_token take_string(struct bpg_sexpr *s)
{
	bpg_bytes_take(&s->bytes);
	for (;;) {
		int c = bpg_bytes_peek(&s->bytes);
		if (c == BPG_BYTES_DAMAGED)
			return damaged(s);
		if (c < 0)
			return bad(s, "a string without its closing quote");
		if (!put(s, c == '"' ? 0 : c))
			return no_memory(s);
		if (s->len > BPG_SEXPR_WORD_MOST)
			return bad(s, "a string of more than a million characters");
		bpg_bytes_take(&s->bytes);
		if (c == '"')
			return BPG_TOKEN_STRING;
	}
}

enum bpg_token bpg_sexpr_next(struct bpg_sexpr *s)
{
	s->len = 0;
	int c = skip_blanks(s);
	s->line = s->bytes.line;
	switch (c) {
	case BPG_BYTES_DAMAGED:
		return damaged(s);
	case BPG_BYTES_END:
		return BPG_TOKEN_END;
	case '(':
		bpg_bytes_take(&s->bytes);
		return BPG_TOKEN_OPEN;
	case ')':
		bpg_bytes_take(&s->bytes);
		return BPG_TOKEN_CLOSE;
	case '"':
		return take_string(s);
	default:
		return wordy(c) ? take_word(s) : bad(s, "a control character; this is not a text file");
	}
}
