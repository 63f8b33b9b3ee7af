/* json.c - writes JSON. */
#include <assert.h>
#include <inttypes.h>
#include <math.h>

#include "report/json.h"
#include "report/number.h"
#include "report/output.h"

enum bpg_status bpg_json_open(struct bpg_ctx *ctx, struct bpg_json *j, const char *path)
{
	*j = (struct bpg_json){ .path = path };
	BPG_TRY(bpg_output_open(ctx, path, &j->to));
	fputc('{', j->to);
	j->end[0] = '}';
	return BPG_OK;
}

enum bpg_status bpg_json_close(struct bpg_ctx *ctx, struct bpg_json *j)
{
	assert(j->depth == 0);
	fputs("}\n", j->to);
	BPG_TRY(bpg_output_close(ctx, j->path, j->to, !j->nan));
	if (j->nan)
		return bpg_fail(ctx, BPG_ENUMERIC, "a result is NaN, so nothing can be said; the network leaves the range of its number type");
	return BPG_OK;
}

/* Length of the UTF-8 sequence at s; 0: not one. */
static int sequence(const unsigned char *s)
{
	int n = s[0] < 0x80 ? 1 : s[0] >= 0xc2 && s[0] < 0xe0 ? 2 : s[0] >= 0xe0 && s[0] < 0xf0 ? 3 : s[0] >= 0xf0 && s[0] < 0xf5 ? 4 : 0;
	for (int i = 1; i < n; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	/* Overlong forms, surrogates, beyond U+10FFFF. */
	if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) || (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f))
		return 0;
	return n;
}

static void quoted(FILE *to, const char *text)
{
	const unsigned char *s = (const unsigned char *)text;
	fputc('"', to);
	while (*s) {
		int n = sequence(s);
		if (!n) {
			fputs("\\ufffd", to);
			n = 1;
		} else if (*s == '"' || *s == '\\') {
			fprintf(to, "\\%c", *s);
		} else if (*s < 0x20 || *s == 0x7f) {
			fprintf(to, "\\u%04x", *s);
		} else {
			fwrite(s, 1, (size_t)n, to);
		}
		s += n;
	}
	fputc('"', to);
}

static void begin(struct bpg_json *j, const char *key)
{
	if (j->any[j->depth])
		fputs(j->end[j->depth] == '}' ? (j->depth ? ", " : ",\n ") : ", ", j->to);
	j->any[j->depth] = true;
	if (key) {
		quoted(j->to, key);
		fputs(": ", j->to);
	}
}

static void open_level(struct bpg_json *j, const char *key, char first, char last)
{
	begin(j, key);
	fputc(first, j->to);
	j->depth++;
	assert(j->depth < BPG_JSON_DEPTH);
	j->any[j->depth] = false;
	j->end[j->depth] = last;
}

void bpg_json_object(struct bpg_json *j, const char *key)
{
	open_level(j, key, '{', '}');
}

void bpg_json_array(struct bpg_json *j, const char *key)
{
	open_level(j, key, '[', ']');
}

void bpg_json_end(struct bpg_json *j)
{
	assert(j->depth > 0);
	fputc(j->end[j->depth--], j->to);
}

void bpg_json_number(struct bpg_json *j, const char *key, double x)
{
	char buf[32];
	begin(j, key);
	j->nan |= isnan(x);
	fputs(isfinite(x) ? bpg_number(x, buf) : "null", j->to);
}

void bpg_json_whole(struct bpg_json *j, const char *key, int64_t x)
{
	begin(j, key);
	fprintf(j->to, "%" PRId64, x);
}

void bpg_json_bool(struct bpg_json *j, const char *key, bool x)
{
	begin(j, key);
	fputs(x ? "true" : "false", j->to);
}

void bpg_json_string(struct bpg_json *j, const char *key, const char *s)
{
	begin(j, key);
	if (s)
		quoted(j->to, s);
	else
		fputs("null", j->to);
}

void bpg_json_hex(struct bpg_json *j, const char *key, uint64_t x)
{
	begin(j, key);
	fprintf(j->to, "\"%016" PRIx64 "\"", x);
}

void bpg_json_numbers(struct bpg_json *j, const char *key, const double *x, int64_t n)
{
	bpg_json_array(j, key);
	for (int64_t i = 0; i < n; i++)
		bpg_json_number(j, NULL, x[i]);
	bpg_json_end(j);
}

void bpg_json_floats(struct bpg_json *j, const char *key, const float *x, int64_t n)
{
	bpg_json_array(j, key);
	for (int64_t i = 0; i < n; i++)
		bpg_json_number(j, NULL, (double)x[i]);
	bpg_json_end(j);
}

void bpg_json_wholes(struct bpg_json *j, const char *key, const int64_t *x, int64_t n)
{
	bpg_json_array(j, key);
	for (int64_t i = 0; i < n; i++)
		bpg_json_whole(j, NULL, x[i]);
	bpg_json_end(j);
}
