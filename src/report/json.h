/* json.h - writes JSON. Numbers read back exactly; infinite ones are null, a NaN makes the whole document fail. */
#ifndef BPG_JSON_H
#define BPG_JSON_H

#include <stdio.h>

#include "base/base.h"

/* Open objects and arrays; deeper ones are our own mistake. */
#define BPG_JSON_DEPTH 16

struct bpg_json {
	FILE *to;
	const char *path;
	bool nan;                 /* a NaN came by */
	int depth;
	bool any[BPG_JSON_DEPTH]; /* something stands at this level already */
	char end[BPG_JSON_DEPTH];
};

/* Writes to the file, "-": standard output. The document is one object, opened here and closed by bpg_json_close. */
enum bpg_status bpg_json_open(struct bpg_ctx *ctx, struct bpg_json *j, const char *path);
/* Ends the document. On failure (NaN, disk full) a file is removed. */
enum bpg_status bpg_json_close(struct bpg_ctx *ctx, struct bpg_json *j);

/* key: null inside arrays. */
void bpg_json_object(struct bpg_json *j, const char *key);
void bpg_json_array(struct bpg_json *j, const char *key);
void bpg_json_end(struct bpg_json *j);
void bpg_json_number(struct bpg_json *j, const char *key, double x);
void bpg_json_whole(struct bpg_json *j, const char *key, int64_t x);
void bpg_json_bool(struct bpg_json *j, const char *key, bool x);
/* Bytes that are not UTF-8 are written as U+FFFD; null as null. */
void bpg_json_string(struct bpg_json *j, const char *key, const char *s);
void bpg_json_hex(struct bpg_json *j, const char *key, uint64_t x);
void bpg_json_numbers(struct bpg_json *j, const char *key, const double *x, int64_t n);
/* float32 values, written so that a reader of doubles has them exactly, too. */
void bpg_json_floats(struct bpg_json *j, const char *key, const float *x, int64_t n);
void bpg_json_wholes(struct bpg_json *j, const char *key, const int64_t *x, int64_t n);

#endif
