/* stream.c - files that may be compressed with gzip, told by their first bytes, never by trust in their name.
 *
 * zlib's gzread passes plain text through and forgives a cut or padded end; here each of these is an error. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <stdlib.h>
#include <unistd.h>

#include <zlib.h>

#include "spec/spec.h"

enum { STREAM_CHUNK = 1 << 16 };

struct bpg_stream {
	struct bpg_ctx *ctx;
	char *path;
	int fd;
	bool gzip, inside;        /* compressed; inside a member */
	bool failed, stopped, ended;
	z_stream z;
	int64_t at, end;          /* bytes read from the file and not used yet */
	unsigned char in[STREAM_CHUNK];
};

static int64_t damaged(struct bpg_stream *s, const char *what)
{
	s->failed = true;
	bpg_fail(s->ctx, BPG_EFILE, "%s: %s", s->path, what);
	return -1;
}

static int64_t read_file(struct bpg_stream *s, void *to, int64_t room)
{
	ssize_t n;
	do
		n = read(s->fd, to, (size_t)room);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return damaged(s, strerror(errno));
	return n;
}

/* At least one unused byte; 0 at the end of the file, -1 on failure. */
static int64_t fill(struct bpg_stream *s)
{
	if (s->at < s->end)
		return s->end - s->at;
	s->at = 0;
	s->end = 0;
	int64_t n = read_file(s, s->in, sizeof s->in);
	if (n > 0)
		s->end = n;
	return n;
}

static bool ends_with(const char *path, const char *tail)
{
	size_t n = strlen(path), m = strlen(tail);
	return n >= m && !strcmp(path + n - m, tail);
}

/* Looks at the first two bytes. */
static int64_t detect(struct bpg_stream *s)
{
	while (s->end < 2) {
		int64_t n = read_file(s, s->in + s->end, (int64_t)sizeof s->in - s->end);
		if (n < 0)
			return n;
		if (!n)
			break;
		s->end += n;
	}
	s->gzip = s->end >= 2 && s->in[0] == 0x1f && s->in[1] == 0x8b;
	if (!s->gzip && ends_with(s->path, ".gz"))
		return damaged(s, "the name ends with .gz, but this is not a gzip file");
	if (s->gzip) {
		if (inflateInit2(&s->z, 15 + 16) != Z_OK) {
			s->gzip = false;
			return damaged(s, "zlib cannot be started");
		}
		s->inside = true;
	}
	return 0;
}

enum bpg_status bpg_stream_open(struct bpg_ctx *ctx, const char *path, struct bpg_stream **stream)
{
	*stream = NULL;
	struct bpg_stream *s = bpg_calloc(1, sizeof *s);
	if (!s)
		return bpg_nomem(ctx, path);
	s->ctx = ctx;
	s->path = strdup(path);
	s->fd = -1;
	if (!s->path) {
		bpg_stream_close(s);
		return bpg_nomem(ctx, path);
	}
	s->fd = open(path, O_RDONLY | O_CLOEXEC);
	if (s->fd < 0)
		damaged(s, strerror(errno));
	if (s->fd < 0 || detect(s)) {
		bpg_stream_close(s);
		return BPG_EFILE;
	}
	*stream = s;
	return BPG_OK;
}

/* Between two members: the end of the file, zeros up to it (padding of tapes), or another member. */
static int64_t next_member(struct bpg_stream *s)
{
	int64_t n = fill(s);
	if (n <= 0) {
		s->ended = n == 0;
		return n;
	}
	if (s->in[s->at] == 0) {
		while ((n = fill(s)) > 0)
			if (s->in[s->at++])
				return damaged(s, "damaged gzip data: something follows the compressed content");
		s->ended = n == 0;
		return n;
	}
	if (inflateReset(&s->z) != Z_OK)
		return damaged(s, "zlib cannot be started");
	s->inside = true;
	return n;
}

static int64_t read_gzip(struct bpg_stream *s, void *to, int64_t room)
{
	s->z.next_out = to;
	s->z.avail_out = (uInt)BPG_MIN(room, 1 << 30);
	uInt wanted = s->z.avail_out;
	while (s->z.avail_out == wanted && !s->ended) {
		if (!s->inside) {
			if (next_member(s) < 0)
				return -1;
			continue;
		}
		int64_t n = fill(s);
		if (n < 0)
			return n;
		if (!n)
			return damaged(s, "damaged gzip data: the file is cut off");
		s->z.next_in = s->in + s->at;
		s->z.avail_in = (uInt)n;
		int rc = inflate(&s->z, Z_NO_FLUSH);
		s->at = s->end - (int64_t)s->z.avail_in;
		if (rc == Z_STREAM_END)
			s->inside = false;
		else if (rc == Z_MEM_ERROR)
			return damaged(s, "not enough memory to decompress");
		else if (rc != Z_OK)
			return damaged(s, "damaged gzip data");
	}
	return wanted - s->z.avail_out;
}

enum bpg_status bpg_stream_status(const struct bpg_stream *s) { return s->stopped ? BPG_ECANCELLED : BPG_EFILE; }

int64_t bpg_stream_read(struct bpg_stream *s, void *to, int64_t room)
{
	if (s->failed)
		return -1;
	if (room <= 0)
		return 0;
	if (bpg_ctx_stopped(s->ctx)) {
		s->failed = s->stopped = true;
		bpg_fail(s->ctx, BPG_ECANCELLED, "%s: stopped while it was read", s->path);
		return -1;
	}
	if (s->gzip)
		return read_gzip(s, to, room);
	if (s->at < s->end) {
		int64_t n = BPG_MIN(room, s->end - s->at);
		memcpy(to, s->in + s->at, (size_t)n);
		s->at += n;
		return n;
	}
	return read_file(s, to, room);
}

void bpg_stream_close(struct bpg_stream *s)
{
	if (!s)
		return;
	if (s->gzip)
		inflateEnd(&s->z);
	if (s->fd >= 0)
		close(s->fd);
	free(s->path);
	free(s);
}
