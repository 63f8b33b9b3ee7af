/* numbers.c - arrays of numbers: NumPy's .npy (told by its first bytes) and plain text. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "spec/bytes.h"

enum { HEADER_MOST = 1 << 20, WORD_MOST = 1 << 20 };

/* What is read, and where it goes. */
struct reader {
	struct bpg_ctx *ctx;
	const char *path;
	int64_t wanted;           /* < 0: any number */
	bool sides;
	int64_t n;
	double *value, *lo, *up;
	int64_t value_room, lo_room, up_room;
	char *word;
	int64_t len, word_room;
	struct bpg_bytes bytes;
};

static enum bpg_status put(struct reader *r, double value, double lo, double up)
{
	if (r->n >= BPG_MAX_ELEMENTS || !bpg_grow(&r->value, &r->value_room, r->n + 1, sizeof *r->value)
	    || (r->sides && (!bpg_grow(&r->lo, &r->lo_room, r->n + 1, sizeof *r->lo)
	                     || !bpg_grow(&r->up, &r->up_room, r->n + 1, sizeof *r->up))))
		return bpg_nomem(r->ctx, r->path);
	r->value[r->n] = value;
	if (r->sides) {
		r->lo[r->n] = lo;
		r->up[r->n] = up;
	}
	r->n++;
	return BPG_OK;
}

/* ---- .npy ---- */

enum kind { KIND_NONE, KIND_F4, KIND_F8, KIND_I1, KIND_I2, KIND_I4, KIND_I8, KIND_U1, KIND_U2, KIND_U4, KIND_U8 };

static const struct {
	const char *name;
	enum kind kind;
	int size;
} kinds[] = {
	{ "<f4", KIND_F4, 4 }, { "<f8", KIND_F8, 8 }, { "|i1", KIND_I1, 1 }, { "<i1", KIND_I1, 1 }, { "<i2", KIND_I2, 2 },
	{ "<i4", KIND_I4, 4 }, { "<i8", KIND_I8, 8 }, { "|u1", KIND_U1, 1 }, { "<u1", KIND_U1, 1 }, { "<u2", KIND_U2, 2 },
	{ "<u4", KIND_U4, 4 }, { "<u8", KIND_U8, 8 }, { "|b1", KIND_U1, 1 },
};

static enum bpg_status bad_npy(struct reader *r, const char *what)
{
	return bpg_fail(r->ctx, BPG_EFILE, "%s: damaged .npy file: %s", r->path, what);
}

/* Exactly n bytes, or false: the file ends, or is damaged (message written). */
static bool take_bytes(struct reader *r, unsigned char *to, int64_t n)
{
	for (int64_t i = 0; i < n; i++) {
		int c = bpg_bytes_peek(&r->bytes);
		if (c < 0)
			return false;
		to[i] = (unsigned char)c;
		bpg_bytes_take(&r->bytes);
	}
	return true;
}

static enum bpg_status cut_npy(struct reader *r, const char *what)
{
	return r->bytes.damaged ? bpg_stream_status(r->bytes.stream) : bad_npy(r, what);
}

/* Text behind 'key': in the header's dictionary; null when absent. */
static const char *find_key(const char *header, const char *key)
{
	const char *at = strstr(header, key);
	if (!at)
		return NULL;
	at += strlen(key);
	while (*at == ' ')
		at++;
	if (*at != ':')
		return NULL;
	at++;
	while (*at == ' ')
		at++;
	return at;
}

/* (2, 3), (4,), (): rank and number of elements. */
static bool parse_shape(const char *at, int *rank, int64_t *count)
{
	*rank = 0;
	*count = 1;
	if (*at++ != '(')
		return false;
	for (;;) {
		while (*at == ' ' || *at == ',')
			at++;
		if (*at == ')')
			return true;
		int64_t d = 0;
		if (!isdigit((unsigned char)*at))
			return false;
		for (; isdigit((unsigned char)*at); at++)
			if ((d = d * 10 + (*at - '0')) > BPG_MAX_ELEMENTS)
				return false;
		if (*at == 'L')
			at++;
		if (d && *count > BPG_MAX_ELEMENTS / d)
			return false;
		*count *= d;
		++*rank;
	}
}

static enum bpg_status parse_header(struct reader *r, const char *header, int *kind, int64_t *count)
{
	const char *descr = find_key(header, "'descr'"), *order = find_key(header, "'fortran_order'");
	const char *shape = find_key(header, "'shape'");
	char shown[128], type[16] = "";
	int rank;
	if (!descr || !order || !shape)
		return bad_npy(r, "the header has no descr, fortran_order or shape");
	if (!parse_shape(shape, &rank, count))
		return bad_npy(r, "the shape is not readable");
	if (strncmp(order, "False", 5) && rank > 1)
		return bpg_fail(r->ctx, BPG_EUNSUPPORTED, "%s: the array is in Fortran order; save it in C order", r->path);
	if (*descr == '\'')
		sscanf(descr, "'%15[^']", type);
	*kind = -1;
	for (size_t k = 0; k < BPG_LEN(kinds); k++)
		if (!strcmp(type, kinds[k].name))
			*kind = (int)k;
	if (*kind < 0)
		return bpg_fail(r->ctx, BPG_EUNSUPPORTED,
		                "%s: elements of type '%s'; save the array as float32 or float64, little endian",
		                r->path, bpg_printable(*type ? type : "structure", shown));
	return BPG_OK;
}

/* False: the integer is not a double. */
static bool element(enum kind kind, const unsigned char *b, double *v)
{
	uint64_t u = 0;
	int64_t i;
	float f;
	int size = 0;
	for (size_t k = 0; k < BPG_LEN(kinds); k++)
		if (kinds[k].kind == kind)
			size = kinds[k].size;
	for (int k = 0; k < size; k++)
		u |= (uint64_t)b[k] << (8 * k);
	switch (kind) {
	case KIND_F4: {
		uint32_t w = (uint32_t)u;
		memcpy(&f, &w, sizeof f);
		*v = f;
		return true;
	}
	case KIND_F8:
		memcpy(v, &u, sizeof *v);
		return true;
	case KIND_I1: case KIND_I2: case KIND_I4: case KIND_I8:
		if (size < 8 && u >> (8 * size - 1))
			u |= ~(uint64_t)0 << (8 * size);
		memcpy(&i, &u, sizeof i);
		*v = (double)i;
		return i <= (int64_t)1 << 53 && i >= -((int64_t)1 << 53);
	default:
		*v = (double)u;
		return u <= (uint64_t)1 << 53;
	}
}

static enum bpg_status read_npy(struct reader *r)
{
	unsigned char head[12];
	if (!take_bytes(r, head, 8))
		return cut_npy(r, "it is cut off");
	if (memcmp(head, "\x93NUMPY", 6))
		return bad_npy(r, "it does not begin with \\x93NUMPY");
	int wide = head[6] >= 2 ? 4 : 2;
	if (head[6] < 1 || head[6] > 3)
		return bpg_fail(r->ctx, BPG_EUNSUPPORTED, "%s: .npy version %d.%d; versions 1 to 3 are read", r->path, head[6],
		                head[7]);
	if (!take_bytes(r, head + 8, wide))
		return cut_npy(r, "it is cut off");
	int64_t n = head[8] | head[9] << 8;
	if (wide == 4)
		n |= (int64_t)head[10] << 16 | (int64_t)head[11] << 24;
	if (n > HEADER_MOST)
		return bad_npy(r, "its header is too long");
	char *header = bpg_calloc((size_t)n + 1, 1);
	if (!header)
		return bpg_nomem(r->ctx, r->path);
	enum bpg_status st = BPG_OK;
	int kind = -1;
	int64_t count = 0;
	if (!take_bytes(r, (unsigned char *)header, n))
		st = cut_npy(r, "it is cut off");
	else
		st = parse_header(r, header, &kind, &count);
	free(header);
	BPG_TRY(st);
	if (r->wanted >= 0 && count != r->wanted)
		return bpg_fail(r->ctx, BPG_EFILE, "%s: %lld numbers, %lld are needed", r->path, (long long)count,
		                (long long)r->wanted);
	for (int64_t i = 0; i < count; i++) {
		unsigned char b[8];
		double v;
		if (!take_bytes(r, b, kinds[kind].size))
			return cut_npy(r, "it is cut off");
		if (!element(kinds[kind].kind, b, &v))
			return bpg_fail(r->ctx, BPG_EUNSUPPORTED,
			                "%s: element %lld is an integer beyond 2^53; save the array as float64",
			                r->path, (long long)i);
		if (isnan(v))
			return bpg_fail(r->ctx, BPG_EFILE, "%s: element %lld is NaN", r->path, (long long)i);
		BPG_TRY(put(r, v, v, v));
	}
	int c = bpg_bytes_peek(&r->bytes);
	if (c == BPG_BYTES_DAMAGED)
		return bpg_stream_status(r->bytes.stream);
	return c < 0 ? BPG_OK : bad_npy(r, "something follows the last element");
}

/* ---- text ---- */

static enum bpg_status bad_text(struct reader *r, int64_t line, const char *what)
{
	char shown[128];
	return bpg_fail(r->ctx, BPG_EFILE, "%s:%lld: '%s' %s", r->path, (long long)line, bpg_printable(r->word, shown), what);
}

static enum bpg_status number(struct reader *r, int64_t line)
{
	double v, lo, up;
	if (!bpg_decimal(r->word, &v, &lo, &up))
		return bad_text(r, line, "is not a number (finite decimals, with blanks, commas or line ends between)");
	if (!isfinite(v))
		return bad_text(r, line, "is outside the range of double precision");
	if (r->n == r->wanted)
		return bpg_fail(r->ctx, BPG_EFILE, "%s:%lld: more than the %lld numbers that are needed", r->path,
		                (long long)line, (long long)r->wanted);
	return put(r, v, lo, up);
}

/* The rest of a number; the word ends before a blank, comma or '#'. */
static enum bpg_status take_word(struct reader *r)
{
	r->len = 0;
	for (;;) {
		int c = bpg_bytes_peek(&r->bytes);
		bool ends = c < 0 || strchr(" \t\r\n,#", c);
		if (!bpg_grow(&r->word, &r->word_room, r->len + 1, 1))
			return bpg_nomem(r->ctx, r->path);
		r->word[r->len] = ends ? '\0' : (char)c;
		if (c == BPG_BYTES_DAMAGED)
			return bpg_stream_status(r->bytes.stream);
		if (ends)
			return BPG_OK;
		if (++r->len > WORD_MOST)
			return bpg_fail(r->ctx, BPG_EFILE, "%s:%lld: a number of more than %d characters", r->path,
			                (long long)r->bytes.line, (int)WORD_MOST);
		bpg_bytes_take(&r->bytes);
	}
}

static enum bpg_status read_text(struct reader *r)
{
	bool fresh = false, comment = false;    /* a number since the last comma; behind a '#' */
	for (;;) {
		int c = bpg_bytes_peek(&r->bytes);
		int64_t line = r->bytes.line;
		if (c == BPG_BYTES_DAMAGED)
			return bpg_stream_status(r->bytes.stream);
		if (c == BPG_BYTES_END)
			break;
		if (comment ? c != '\n' && c != '\r' : c == ' ' || c == '\t') {
			bpg_bytes_take(&r->bytes);
		} else if (c == '\n' || c == '\r' || c == '#') {
			comment = c == '#';
			bpg_bytes_take(&r->bytes);
		} else if (c == ',') {
			if (!fresh)
				return bpg_fail(r->ctx, BPG_EFILE, "%s:%lld: no number before a comma", r->path,
				                (long long)line);
			fresh = false;
			bpg_bytes_take(&r->bytes);
		} else {
			BPG_TRY(take_word(r));
			BPG_TRY(number(r, line));
			fresh = true;
		}
	}
	if (r->wanted >= 0 && r->n != r->wanted)
		return bpg_fail(r->ctx, BPG_EFILE, "%s: %lld numbers, %lld are needed", r->path, (long long)r->n,
		                (long long)r->wanted);
	return BPG_OK;
}

enum bpg_status bpg_numbers_read(struct bpg_ctx *ctx, const char *path, int64_t n, int64_t *count, double **values, double **lo,
                                 double **up)
{
	struct bpg_stream *stream;
	BPG_TRY(bpg_stream_open(ctx, path, &stream));
	enum bpg_status st = BPG_OK;
	struct reader *r = bpg_calloc(1, sizeof *r);
	if (!r) {
		bpg_stream_close(stream);
		return bpg_nomem(ctx, path);
	}
	r->ctx = ctx;
	r->path = path;
	r->wanted = n;
	r->sides = lo || up;
	bpg_bytes_init(&r->bytes, stream);
	/* A .npy file begins with a byte that no text of numbers has. */
	BPG_TRY_TO(bpg_bytes_peek(&r->bytes) == 0x93 ? read_npy(r) : read_text(r), out);
	*count = r->n;
	*values = r->value;
	r->value = NULL;
	if (lo) {
		*lo = r->lo;
		r->lo = NULL;
	}
	if (up) {
		*up = r->up;
		r->up = NULL;
	}
out:
	free(r->value);
	free(r->lo);
	free(r->up);
	free(r->word);
	free(r);
	bpg_stream_close(stream);
	return st;
}
