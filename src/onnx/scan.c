/* scan.c - the model without its weights.
 *
 * protobuf-c copies what it parses and recurses on nested messages. So it never sees the file: this scanner walks the
 * messages that matter, without recursion, and writes a small copy. Weights become a pointer to where they lie; subgraphs,
 * functions, documentation and everything unknown are left out, so that no file can nest deeper than the table below. */
#include <stdlib.h>
#include <string.h>

#include "onnx/read.h"

#define MOST_REST ((int64_t)256 << 20)   /* bytes of the small copy */
#define MOST_MESSAGES (2 << 20)          /* protobuf-c takes some 200 bytes for each, which may be two in the file */

enum { MODEL, GRAPH, NODE, ATTRIBUTE, TENSOR, SEGMENT, PAIR, SPARSE, VALUE, TYPE, TENSOR_TYPE, SHAPE, DIM, OPSET, MESSAGES };

/* What to do with a field. A CHILD is a message of its own; ONE: it may stand there once only, since protobuf would merge
 * several. */
#define DROP 0
#define COPY 1
#define CHILD(message) (2 + (message))
#define ONE 0x80

#define FIELDS 26

static const uint8_t rule[MESSAGES][FIELDS] = {
	[MODEL] = { [1] = COPY, [2] = COPY, [7] = ONE | CHILD(GRAPH), [8] = CHILD(OPSET) },
	[GRAPH] = { [1] = CHILD(NODE), [2] = COPY, [5] = CHILD(TENSOR), [11] = CHILD(VALUE), [12] = CHILD(VALUE),
	            [15] = CHILD(SPARSE) },
	[NODE] = { [1] = COPY, [2] = COPY, [3] = COPY, [4] = COPY, [5] = CHILD(ATTRIBUTE), [7] = COPY },
	[ATTRIBUTE] = { [1] = COPY, [2] = COPY, [3] = COPY, [4] = COPY, [5] = ONE | CHILD(TENSOR), [7] = COPY, [8] = COPY,
	                [9] = COPY, [20] = COPY, [21] = COPY },
	[TENSOR] = { [1] = COPY, [2] = COPY, [3] = ONE | CHILD(SEGMENT), [8] = COPY, [13] = CHILD(PAIR), [14] = COPY },
	[SEGMENT] = { [1] = COPY, [2] = COPY },
	[PAIR] = { [1] = COPY, [2] = COPY },
	[SPARSE] = { [1] = ONE | CHILD(TENSOR) },
	[VALUE] = { [1] = COPY, [2] = ONE | CHILD(TYPE) },
	[TYPE] = { [1] = ONE | CHILD(TENSOR_TYPE) },
	[TENSOR_TYPE] = { [1] = COPY, [2] = ONE | CHILD(SHAPE) },
	[SHAPE] = { [1] = CHILD(DIM) },
	[DIM] = { [1] = COPY, [2] = COPY },
	[OPSET] = { [1] = COPY, [2] = COPY },
};

#define DEPTH 8                   /* of the table, with room to spare */
#define LENGTH_BYTES 5            /* lengths are written when a message ends, into varints of this size */

struct frame {
	int message;
	uint32_t seen;            /* ONE fields that stood there */
	const uint8_t *begin, *end;
	int64_t length_at;        /* in the copy */
};

struct scan {
	const uint8_t *data;
	uint8_t *copy;
	int64_t n, room;
	int messages, top;
	struct frame frame[DEPTH];
};

enum verdict { FINE, DAMAGED, TOO_LARGE, NO_MEMORY };

static enum verdict put(struct scan *s, const void *bytes, int64_t n)
{
	if (n > MOST_REST - s->n)
		return TOO_LARGE;
	if (!bpg_grow(&s->copy, &s->room, s->n + n, 1))
		return NO_MEMORY;
	memcpy(s->copy + s->n, bytes, (size_t)n);
	s->n += n;
	return FINE;
}

/* Field numbers of the table are below 32: one or two bytes. */
static enum verdict put_tag(struct scan *s, uint32_t number, int type)
{
	uint32_t tag = number << 3 | (uint32_t)type;
	uint8_t two[2] = { (uint8_t)(tag & 0x7f) | 0x80, (uint8_t)(tag >> 7) };
	uint8_t one = (uint8_t)tag;
	return tag < 0x80 ? put(s, &one, 1) : put(s, two, 2);
}

static void put_length(struct scan *s, int64_t at, int64_t n)
{
	for (int i = 0; i < LENGTH_BYTES; i++)
		s->copy[at + i] = (uint8_t)((n >> (7 * i) & 0x7f) | (i < LENGTH_BYTES - 1 ? 0x80 : 0));
}

static enum verdict enter(struct scan *s, int message, uint32_t number, const uint8_t *begin, const uint8_t *end)
{
	static const uint8_t zero[LENGTH_BYTES];
	if (s->top + 1 == DEPTH || ++s->messages > MOST_MESSAGES)
		return TOO_LARGE;
	enum verdict bad = put_tag(s, number, 2);
	if (bad)
		return bad;
	s->frame[++s->top] = (struct frame){ .message = message, .begin = begin, .end = end, .length_at = s->n };
	return put(s, zero, LENGTH_BYTES);
}

static enum verdict leave(struct scan *s)
{
	struct frame *f = &s->frame[s->top--];
	if (f->message == TENSOR) {
		struct bpg_onnx_place place = { f->begin - s->data, f->end - s->data };
		uint8_t n = sizeof place;
		enum verdict bad = put_tag(s, 9, 2);
		if (!bad)
			bad = put(s, &n, 1);
		if (!bad)
			bad = put(s, &place, n);
		if (bad)
			return bad;
	}
	put_length(s, f->length_at, s->n - f->length_at - LENGTH_BYTES);
	return FINE;
}

/* One field; *at moves behind it, or to the first field inside. */
static enum verdict step(struct scan *s, const uint8_t **at)
{
	struct frame *f = &s->frame[s->top];
	struct bpg_wire field;
	if (!bpg_wire_next(at, f->end, &field))
		return DAMAGED;
	int what = field.number < FIELDS ? rule[f->message][field.number] : DROP;
	if (what & ONE) {
		if (f->seen & 1u << field.number)
			return DAMAGED;
		f->seen |= 1u << field.number;
		what &= ~ONE;
	}
	if (what == DROP)
		return FINE;
	if (what == COPY)
		return put(s, field.start, *at - field.start);
	if (field.type != 2)
		return DAMAGED;
	*at = field.data;
	return enter(s, what - CHILD(0), field.number, field.data, field.data + field.n);
}

static enum verdict scan(struct scan *s, int64_t size)
{
	const uint8_t *at = s->data;
	enum verdict bad = FINE;
	s->frame[0] = (struct frame){ .message = MODEL, .begin = at, .end = at + size };
	while (!bad) {
		if (at < s->frame[s->top].end)
			bad = step(s, &at);
		else if (s->top)
			bad = leave(s);
		else
			break;
	}
	return bad;
}

enum bpg_status bpg_onnx_scan(struct bpg_ctx *ctx, const char *path, const uint8_t *data, int64_t size, uint8_t **rest,
                              int64_t *length)
{
	struct scan s = { .data = data };
	enum verdict bad = scan(&s, size);
	if (!bad) {
		*rest = s.copy;
		*length = s.n;
		return BPG_OK;
	}
	free(s.copy);
	if (bad == NO_MEMORY)
		return bpg_nomem(ctx, path);
	if (bad == TOO_LARGE)
		return bpg_fail(ctx, BPG_EUNSUPPORTED,
		                "%s: the model has more than %d million parts, or over %d MiB of them without its weights",
		                path, MOST_MESSAGES >> 20, (int)(MOST_REST >> 20));
	return bpg_fail(ctx, BPG_EFILE, "%s: not an ONNX model, or damaged or cut short; export or copy it again", path);
}
