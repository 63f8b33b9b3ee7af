/* query_reader.h - what the parts of the VNN-LIB 2 reader share. Only for query*.c. */
#ifndef BPG_QUERY_READER_H
#define BPG_QUERY_READER_H

#include "spec/query.h"
#include "spec/query_token.h"

/* Which constants a type is compared with. */
enum bpg_query_kind {
	BPG_QUERY_ANY,            /* an unknown type */
	BPG_QUERY_FLOAT,          /* 1.0 */
	BPG_QUERY_SIGNED,         /* 1, -1 */
	BPG_QUERY_UNSIGNED,       /* 1 */
	BPG_QUERY_NO_NUMBER,
};

struct bpg_query_reader {
	struct bpg_ctx *ctx;
	const char *path;
	struct bpg_query *query;
	struct bpg_stream *stream;
	int64_t minor;            /* of the version: <2.minor> */
	struct bpg_query_network *network;   /* growing; the query lends them */
	struct bpg_query_variable *variable;
	int64_t network_room, variable_room;
	int *slot;                /* hashed names of variables: number + 1, 0 free */
	int64_t slots;            /* a power of two */
	/* of the comparison that is open */
	const struct bpg_query_variable *typed; /* a variable of it; null: none yet */
	const char *type;         /* of that */
	bool fraction, whole, negative; /* constants with a point, without one, without one and below zero */
	struct bpg_conditions conditions;
	struct bpg_query_lexer tokens;
};

enum bpg_status bpg_query_next(struct bpg_query_reader *r);
/* FILE:LINE: ... */
enum bpg_status bpg_query_wrong(struct bpg_query_reader *r, int64_t line, const char *format, ...) BPG_PRINTF(3, 4);
/* "WHAT belongs here, not ..." */
enum bpg_status bpg_query_expected(struct bpg_query_reader *r, const char *what);
const char *bpg_query_shown(const struct bpg_query_reader *r, char buf[128]);
/* Keeps the first thing that is not supported. */
enum bpg_status bpg_query_note(struct bpg_query_reader *r, int64_t line, const char *format, ...) BPG_PRINTF(3, 4);

/* Number of a variable, -1: not declared. */
int bpg_query_find(const struct bpg_query_reader *r, const char *name);
enum bpg_query_kind bpg_query_kind(const char *type);
bool bpg_query_same_type(const char *a, const char *b);
/* Digits alone, a number up to BPG_MAX_ELEMENTS. */
bool bpg_query_whole(const char *word, int64_t *to);

/* Up to the first assertion. */
enum bpg_status bpg_query_declarations(struct bpg_query_reader *r);

#endif
