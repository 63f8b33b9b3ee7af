/* sexpr.h - brackets and words of an s-expression file, one at a time: the file is never held.
 *
 * Comments run from ';' to the end of the line. A string "..." is a token of its own. */
#ifndef BPG_SEXPR_H
#define BPG_SEXPR_H

#include "spec/bytes.h"

enum bpg_token { BPG_TOKEN_OPEN, BPG_TOKEN_CLOSE, BPG_TOKEN_WORD, BPG_TOKEN_STRING, BPG_TOKEN_END, BPG_TOKEN_BAD };

/* Longest word or string, so that a damaged file does not fill the memory. */
#define BPG_SEXPR_WORD_MOST (1 << 20)

struct bpg_sexpr {
	struct bpg_ctx *ctx;
	const char *path;
	enum bpg_status status;   /* of BPG_TOKEN_BAD; the message is written */
	int64_t line;             /* of the last token */
	char *word;               /* text of the last word or string */
	int64_t len, room;
	struct bpg_bytes bytes;
};

void bpg_sexpr_init(struct bpg_sexpr *s, struct bpg_ctx *ctx, const char *path, struct bpg_stream *stream);
void bpg_sexpr_fini(struct bpg_sexpr *s);
enum bpg_token bpg_sexpr_next(struct bpg_sexpr *s);

#endif
