/* bytes.h - a stream byte by byte, with the number of the line. Lines end with LF, CRLF or CR. */
#ifndef BPG_BYTES_H
#define BPG_BYTES_H

#include <string.h>

#include "spec/spec.h"

enum { BPG_BYTES_END = -1, BPG_BYTES_DAMAGED = -2 };

struct bpg_bytes {
	struct bpg_stream *stream;
	int64_t at, end;
	int64_t line;             /* of the byte to come, from 1 */
	bool ended, damaged, cr;
	unsigned char buffer[1 << 16];
};

static inline void bpg_bytes_init(struct bpg_bytes *b, struct bpg_stream *stream)
{
	b->stream = stream;
	b->at = b->end = 0;
	b->line = 1;
	b->ended = b->damaged = b->cr = false;
}

/* Reads on; false at the end and on a damaged file (the message is written). */
static inline bool bpg_bytes_fill(struct bpg_bytes *b)
{
	if (b->ended || b->damaged)
		return false;
	int64_t n = bpg_stream_read(b->stream, b->buffer, sizeof b->buffer);
	b->at = 0;
	b->end = n > 0 ? n : 0;
	b->ended = n == 0;
	b->damaged = n < 0;
	return n > 0;
}

/* The byte to come, not taken. */
static inline int bpg_bytes_peek(struct bpg_bytes *b)
{
	if (b->at == b->end && !bpg_bytes_fill(b))
		return b->damaged ? BPG_BYTES_DAMAGED : BPG_BYTES_END;
	return b->buffer[b->at];
}

/* Takes the byte that was peeked. */
static inline void bpg_bytes_take(struct bpg_bytes *b)
{
	int c = b->buffer[b->at++];
	if (c == '\r' || (c == '\n' && !b->cr))
		b->line++;
	b->cr = c == '\r';
}

/* How many of the bytes in the buffer pass; none of these ends a line. 0 also at the end of the buffer: peek then fills it. */
static inline int64_t bpg_bytes_run(const struct bpg_bytes *b, bool (*pass)(int c))
{
	int64_t n = 0, most = b->end - b->at;
	while (n < most && pass(b->buffer[b->at + n]))
		n++;
	return n;
}

/* Copies n bytes of such a run and takes them. */
static inline void bpg_bytes_copy(struct bpg_bytes *b, char *to, int64_t n)
{
	memcpy(to, b->buffer + b->at, (size_t)n);
	b->at += n;
	b->cr = false;
}

#endif
