/* spill.c - see spill.h. */
#include "bab/spill.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct bpg_spill {
	pthread_mutex_t lock;
	char *folder;
	int file;                 /* -1: not made yet */
	struct bpg_chunk **chunk; /* [count] in the order of their places */
	int64_t count, room;
	size_t bytes, peak;
	bool failed;
	char message[512];
};

static void fail(struct bpg_spill *s, const char *what, const char *why)
{
	if (!s->failed)
		snprintf(s->message, sizeof s->message, "--spill: %s: %s: %s", s->folder, what, why);
	s->failed = true;
}

static bool make_file(struct bpg_spill *s)
{
	size_t n = strlen(s->folder) + sizeof "/bpgraph-XXXXXX";
	char *name = malloc(n);

	if (s->file >= 0 || !name) {
		free(name);
		return s->file >= 0;
	}
	snprintf(name, n, "%s/bpgraph-XXXXXX", s->folder);
	s->file = mkstemp(name);
	if (s->file >= 0)
		unlink(name);
	else
		fail(s, "no file for domains that wait can be made there", strerror(errno));
	free(name);
	return s->file >= 0;
}

enum bpg_status bpg_spill_new(struct bpg_ctx *ctx, const char *folder, bool now, struct bpg_spill **spill)
{
	struct bpg_spill *s = bpg_calloc(1, sizeof *s);
	const char *usual = getenv("TMPDIR");

	*spill = NULL;
	if (!folder)
		folder = usual && *usual ? usual : "/tmp";
	if (s && !(s->folder = strdup(folder))) {
		free(s);
		s = NULL;
	}
	if (!s)
		return bpg_nomem(ctx, "the search");
	pthread_mutex_init(&s->lock, NULL);
	s->file = -1;
	if (now && !make_file(s)) {
		enum bpg_status st = bpg_fail(ctx, BPG_EFILE, "%s", s->failed ? s->message : "memory is short");
		bpg_spill_free(s);
		return st;
	}
	*spill = s;
	return BPG_OK;
}

void bpg_spill_free(struct bpg_spill *s)
{
	if (!s)
		return;
	if (s->file >= 0)
		close(s->file);
	pthread_mutex_destroy(&s->lock);
	free(s->chunk);
	free(s->folder);
	free(s);
}

const char *bpg_spill_message(const struct bpg_spill *s)
{
	return s->failed ? s->message : "memory is short for the domains of the search";
}

size_t bpg_spill_peak(struct bpg_spill *s)
{
	pthread_mutex_lock(&s->lock);
	size_t peak = s->peak;
	pthread_mutex_unlock(&s->lock);
	return peak;
}

/* With the lock held: the chunk has the first gap that is large enough, or the end. */
static bool place(struct bpg_spill *s, struct bpg_chunk *c)
{
	int64_t at = 0, i = 0;

	if (!make_file(s) || !bpg_grow(&s->chunk, &s->room, s->count + 1, sizeof(struct bpg_chunk *)))
		return false;
	for (; i < s->count && s->chunk[i]->at - at < (int64_t)c->bytes; i++)
		at = s->chunk[i]->at + (int64_t)s->chunk[i]->bytes;
	memmove(s->chunk + i + 1, s->chunk + i, (size_t)(s->count - i) * sizeof *s->chunk);
	s->chunk[i] = c;
	s->count++;
	c->at = at;
	s->bytes += c->bytes;
	s->peak = BPG_MAX(s->peak, s->bytes);
	return true;
}

static bool write_at(struct bpg_spill *s, const char *from, size_t bytes, int64_t at)
{
	while (bytes) {
		ssize_t n = pwrite(s->file, from, bytes, at);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			int error = n < 0 ? errno : ENOSPC;
			pthread_mutex_lock(&s->lock);
			fail(s, "domains that wait cannot be written", strerror(error));
			pthread_mutex_unlock(&s->lock);
			return false;
		}
		from += n, bytes -= (size_t)n, at += n;
	}
	return true;
}

static bool read_at(struct bpg_spill *s, char *to, size_t bytes, int64_t at)
{
	while (bytes) {
		ssize_t n = pread(s->file, to, bytes, at);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			int error = n < 0 ? errno : EIO;
			pthread_mutex_lock(&s->lock);
			fail(s, "domains that wait cannot be read back", strerror(error));
			pthread_mutex_unlock(&s->lock);
			return false;
		}
		to += n, bytes -= (size_t)n, at += n;
	}
	return true;
}

struct bpg_chunk *bpg_chunk_write(struct bpg_spill *s, struct bpg_domain *const *d, int64_t count)
{
	struct bpg_chunk *c = bpg_calloc(1, sizeof *c);
	struct bpg_sink sink = { .sum = BPG_HASH_START };
	char *data = NULL;
	size_t bytes = 0;
	bool good = c && count && (sink.to = open_memstream(&data, &bytes));

	for (int64_t i = 0; good && i < count; i++)
		bpg_domain_write(&sink, d[i], i ? d[i - 1] : NULL);
	if (sink.to)
		good = !fclose(sink.to) && good && !sink.bad;
	if (good) {
		*c = (struct bpg_chunk){ .spill = s, .bytes = bytes, .sum = sink.sum, .count = count, .bound = d[0]->bound, .number = d[0]->number };
		atomic_init(&c->holders, 1);
		pthread_mutex_lock(&s->lock);
		good = place(s, c);
		pthread_mutex_unlock(&s->lock);
		if (good && !write_at(s, data, bytes, c->at)) {
			bpg_chunk_drop(c);
			c = NULL;
		}
	}
	free(data);
	if (good)
		return c;
	free(c);
	return NULL;
}

bool bpg_chunk_read(const struct bpg_chunk *c, struct bpg_domain **d)
{
	char *data = malloc(c->bytes + 1);
	struct bpg_source from = { .left = (int64_t)c->bytes };
	int64_t n = 0;
	bool good = data && read_at(c->spill, data, c->bytes, c->at);

	if (good && bpg_record_sum(BPG_HASH_START, data, c->bytes) != c->sum) {
		pthread_mutex_lock(&c->spill->lock);
		fail(c->spill, "domains that wait cannot be read back", "they are not what was written");
		pthread_mutex_unlock(&c->spill->lock);
		good = false;
	}
	good = good && (from.from = fmemopen(data, c->bytes, "r"));
	while (good && n < c->count && (d[n] = bpg_domain_read(&from, n ? d[n - 1] : NULL)))
		n++;
	if (from.from)
		fclose(from.from);
	free(data);
	if (n == c->count)
		return true;
	while (n)
		bpg_domain_drop(d[--n]);
	return false;
}

void bpg_chunk_hold(struct bpg_chunk *c)
{
	atomic_fetch_add(&c->holders, 1);
}

void bpg_chunk_drop(struct bpg_chunk *c)
{
	if (!c || atomic_fetch_sub(&c->holders, 1) != 1)
		return;
	struct bpg_spill *s = c->spill;
	int64_t i = 0;
	pthread_mutex_lock(&s->lock);
	while (s->chunk[i] != c)
		i++;
	s->count--;
	memmove(s->chunk + i, s->chunk + i + 1, (size_t)(s->count - i) * sizeof *s->chunk);
	s->bytes -= c->bytes;
	pthread_mutex_unlock(&s->lock);
	free(c);
}
