/* query_token.h - tokens of VNN-LIB 2 (the lexical part of the grammar in the standard's repository), one at a time.
 *
 * The longest match wins, so blanks stand only where they must: "(<=X[0]-1.0)" is a comparison. A bracket and the command behind
 * it are one token and have no blank between them: "(assert", "(declare-network". */
#ifndef BPG_QUERY_TOKEN_H
#define BPG_QUERY_TOKEN_H

#include "spec/bytes.h"
#include "spec/condition.h"

enum bpg_query_token {
	BPG_QT_BAD, BPG_QT_END, BPG_QT_OPEN, BPG_QT_CLOSE, BPG_QT_LEFT, BPG_QT_RIGHT, BPG_QT_COMMA, /* ( ) [ ] , */
	BPG_QT_OPERATOR, BPG_QT_NAME, BPG_QT_NUMBER, BPG_QT_STRING, BPG_QT_RELEASE, /* <2.0> */
	/* commands, with their bracket */
	BPG_QT_VERSION, BPG_QT_NETWORK, BPG_QT_EQUAL_TO, BPG_QT_ISOMORPHIC_TO, BPG_QT_INPUT, BPG_QT_HIDDEN, BPG_QT_OUTPUT,
	BPG_QT_ASSERT,
};

/* Longest name, number or string, so that a damaged file does not fill the memory. */
#define BPG_QT_WORD_MOST (1 << 20)

struct bpg_query_lexer {
	struct bpg_ctx *ctx;
	const char *path;
	enum bpg_status status;   /* of BPG_QT_BAD; the message is written */
	enum bpg_query_token token; /* the present one */
	int64_t line;             /* of it */
	enum bpg_operator op;     /* of BPG_QT_OPERATOR */
	char *word;               /* of NAME, NUMBER, STRING (without quotes and escapes), RELEASE and commands */
	int64_t len, room;
	bool waiting;             /* `word` belongs to the name behind the bracket that is the present token */
	struct bpg_bytes bytes;
};

void bpg_query_lexer_init(struct bpg_query_lexer *s, struct bpg_ctx *ctx, const char *path, struct bpg_stream *stream);
void bpg_query_lexer_fini(struct bpg_query_lexer *s);
/* Goes on to the next token. On BPG_QT_BAD the status, else BPG_OK. */
enum bpg_status bpg_query_lexer_next(struct bpg_query_lexer *s);

#endif
