/* checkpoint.c - see checkpoint.h. */
#include "bab/checkpoint.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Head, position, rows, perhaps a search, and the sum of all that. */
static const char magic[24] = "bpgraph checkpoint 1\n";
static const uint64_t order = 0x0102030405060708ull; /* of bytes */

struct position_record {
	uint64_t fingerprint;
	int64_t first, attacked, unsure, all, domains, rows, searching;
};

struct bpg_saver {
	struct bpg_saver_options options;
	pthread_mutex_t lock;     /* of what follows */
	pthread_cond_t changed;
	pthread_t thread;
	struct bpg_position at;
	struct bpg_searching *search;
	const struct bpg_snapshot *pending; /* of the start */
	bool stop, over;          /* the thread ends; nothing is written any more */
	pthread_mutex_t writing;  /* one at a time */
	double seconds;           /* that the last one took */
	int error;                /* of the last one, 0: none */
};

/* ---- writing ---- */

static void put_all(struct bpg_sink *to, const struct bpg_saver_options *o, const struct bpg_position *at, const struct bpg_snapshot *shot)
{
	const struct position_record r = { o->fingerprint, at->first, at->attacked, at->unsure, at->all, at->domains, at->rows, shot != NULL };

	bpg_put(to, magic, sizeof magic);
	bpg_put(to, &order, sizeof order);
	bpg_put(to, &r, sizeof r);
	bpg_put(to, at->lower, (size_t)at->rows * sizeof *at->lower);
	bpg_put(to, at->upper, (size_t)at->rows * sizeof *at->upper);
	if (shot)
		bpg_snapshot_write(to, shot);
	uint64_t sum = to->sum;
	bpg_put(to, &sum, sizeof sum);
}

/* A name is on the disk when its folder is. */
static void flush_folder(const char *path)
{
	char *copy = strdup(path);
	int fd = copy ? open(dirname(copy), O_RDONLY | O_DIRECTORY) : -1;

	if (fd >= 0) {
		fsync(fd);
		close(fd);
	}
	free(copy);
}

/* errno of the failure; 0: written. */
static int write_file(const struct bpg_saver_options *o, const struct bpg_position *at, const struct bpg_snapshot *shot)
{
	size_t n = strlen(o->path) + sizeof ".part";
	char *part = malloc(n);
	struct bpg_sink to = { .sum = BPG_HASH_START };
	int error = 0;

	if (!part)
		return ENOMEM;
	snprintf(part, n, "%s.part", o->path);
	to.to = fopen(part, "wb");
	if (!to.to) {
		error = errno;
		free(part);
		return error;
	}
	put_all(&to, o, at, shot);
	if (to.bad || fflush(to.to) || fsync(fileno(to.to)))
		error = errno ? errno : EIO;
	if (fclose(to.to) && !error)
		error = errno;
	if (!error && rename(part, o->path))
		error = errno;
	if (error)
		unlink(part);
	else
		flush_folder(o->path);
	free(part);
	return error;
}

static int save(struct bpg_saver *s, bool last)
{
	double start = bpg_now();
	int error = 0;

	pthread_mutex_lock(&s->writing);
	pthread_mutex_lock(&s->lock);
	bool over = s->over;
	s->over = over || last;
	if (over) {
		pthread_mutex_unlock(&s->lock);
		pthread_mutex_unlock(&s->writing);
		return 0;
	}
	struct bpg_position at = s->at;
	struct bpg_snapshot *shot = s->search ? bpg_snapshot_take(s->search) : s->pending ? bpg_snapshot_copy(s->pending) : NULL;
	if ((s->search || s->pending) && !shot)
		error = ENOMEM;
	pthread_mutex_unlock(&s->lock);
	if (!error)
		error = write_file(&s->options, &at, shot);
	bpg_snapshot_free(shot);
	s->seconds = bpg_now() - start;
	s->error = error;
	pthread_mutex_unlock(&s->writing);
	return error;
}

/* ---- when ---- */

/* Writing takes a tenth of the time at most. */
enum { SHARE = 9 };

static void *watch(void *arg)
{
	struct bpg_saver *s = arg;
	double pause = BPG_MIN(s->options.every, 1.0);

	pthread_mutex_lock(&s->lock);
	while (!s->stop) {
		double due = bpg_now() + BPG_MAX(pause, SHARE * s->seconds);
		struct timespec at = { .tv_sec = (time_t)due, .tv_nsec = (long)((due - (double)(time_t)due) * 1e9) };
		while (!s->stop && bpg_now() < due)
			pthread_cond_timedwait(&s->changed, &s->lock, &at);
		if (s->stop)
			break;
		pthread_mutex_unlock(&s->lock);
		save(s, false);
		pthread_mutex_lock(&s->lock);
		pause = BPG_MIN(s->options.every, 2 * pause);
	}
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

static enum bpg_status unwritable(struct bpg_ctx *ctx, const struct bpg_saver *s)
{
	return bpg_fail(ctx, BPG_EFILE, "--checkpoint: %s cannot be written: %s", s->options.path, strerror(s->error));
}

static void saver_free(struct bpg_saver *s)
{
	pthread_mutex_destroy(&s->lock);
	pthread_mutex_destroy(&s->writing);
	pthread_cond_destroy(&s->changed);
	free(s);
}

enum bpg_status bpg_saver_start(struct bpg_ctx *ctx, const struct bpg_saver_options *options, const struct bpg_position *position,
                                const struct bpg_snapshot *search, struct bpg_saver **saver)
{
	struct bpg_saver *s = bpg_calloc(1, sizeof *s);
	pthread_condattr_t monotonic;

	*saver = NULL;
	if (!s)
		return bpg_nomem(ctx, "checkpoints");
	s->options = *options;
	s->at = *position;
	s->pending = search;
	pthread_mutex_init(&s->lock, NULL);
	pthread_mutex_init(&s->writing, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&s->changed, &monotonic);
	pthread_condattr_destroy(&monotonic);
	enum bpg_status st = save(s, false) ? unwritable(ctx, s) : BPG_OK;
	if (!st && pthread_create(&s->thread, NULL, watch, s))
		st = bpg_fail(ctx, BPG_ENOMEM, "no thread could be started for checkpoints");
	if (st)
		saver_free(s);
	else
		*saver = s;
	return st;
}

void bpg_saver_position(struct bpg_saver *s, const struct bpg_position *position)
{
	if (!s)
		return;
	pthread_mutex_lock(&s->lock);
	s->at = *position;
	pthread_mutex_unlock(&s->lock);
}

void bpg_saver_search(struct bpg_saver *s, struct bpg_searching *search)
{
	if (!s)
		return;
	pthread_mutex_lock(&s->lock);
	s->search = search;
	s->pending = NULL;
	pthread_mutex_unlock(&s->lock);
}

void bpg_saver_last(struct bpg_saver *s)
{
	static const double no_time = 0.2;

	if (!s)
		return;
	if ((s->options.interrupt && *s->options.interrupt) || s->seconds < no_time)
		save(s, true);
	pthread_mutex_lock(&s->lock);
	s->over = true;
	pthread_mutex_unlock(&s->lock);
}

enum bpg_status bpg_saver_stop(struct bpg_ctx *ctx, struct bpg_saver *s)
{
	if (!s)
		return BPG_OK;
	pthread_mutex_lock(&s->lock);
	s->stop = true;
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
	pthread_join(s->thread, NULL);
	enum bpg_status st = s->error ? unwritable(ctx, s) : BPG_OK;
	saver_free(s);
	return st;
}

/* ---- reading ---- */

static enum bpg_status torn(struct bpg_ctx *ctx, const char *path)
{
	return bpg_fail(ctx, BPG_EFILE, "--resume: %s is damaged, or no checkpoint; start without it", path);
}

/* The sum of a file of words, compared with its last one. */
static bool sum_right(FILE *f, int64_t bytes)
{
	uint64_t word[8192], sum = BPG_HASH_START, said;

	for (int64_t left = bytes - (int64_t)sizeof said; left > 0;) {
		size_t n = (size_t)BPG_MIN(left, (int64_t)sizeof word);
		if (fread(word, 1, n, f) != n)
			return false;
		sum = bpg_record_sum(sum, word, n);
		left -= (int64_t)n;
	}
	return fread(&said, sizeof said, 1, f) == 1 && said == sum;
}

static enum bpg_status read_head(struct bpg_ctx *ctx, const char *path, uint64_t fingerprint, int64_t rows, struct bpg_source *from,
                                 struct bpg_resume *x, bool *searching)
{
	struct position_record r;
	char word[sizeof magic];
	uint64_t bytes;

	bpg_get(from, word, sizeof word);
	bpg_get(from, &bytes, sizeof bytes);
	bpg_get(from, &r, sizeof r);
	if (from->bad || memcmp(word, magic, sizeof magic))
		return torn(ctx, path);
	if (bytes != order)
		return bpg_fail(ctx, BPG_EFILE, "--resume: %s was written on another kind of machine", path);
	if (r.fingerprint != fingerprint)
		return bpg_fail(ctx, BPG_EFILE, "--resume: %s is of another network, property, version or option; give those that it was written with", path);
	if (r.rows < 0 || r.rows > rows || r.first < 0)
		return torn(ctx, path);
	*x = (struct bpg_resume){ .first = r.first, .rows = r.rows, .domains = r.domains, .attacked = r.attacked, .unsure = r.unsure, .all = r.all };
	*searching = r.searching;
	return BPG_OK;
}

static enum bpg_status read_file(struct bpg_ctx *ctx, const char *path, FILE *f, uint64_t fingerprint, int64_t rows, double *lower, double *upper,
                                 struct bpg_resume *x)
{
	struct bpg_source from = { .from = f };
	bool searching = false;
	int64_t bytes;

	if (fseek(f, 0, SEEK_END) || (bytes = ftell(f)) < (int64_t)sizeof magic || bytes % 8 || fseek(f, 0, SEEK_SET) || !sum_right(f, bytes)
	    || fseek(f, 0, SEEK_SET))
		return torn(ctx, path);
	from.left = bytes - (int64_t)sizeof(uint64_t);
	BPG_TRY(read_head(ctx, path, fingerprint, rows, &from, x, &searching));
	bpg_get(&from, lower, (size_t)x->rows * sizeof *lower);
	bpg_get(&from, upper, (size_t)x->rows * sizeof *upper);
	if (searching)
		BPG_TRY(bpg_snapshot_read(ctx, &from, &x->search));
	return from.bad ? torn(ctx, path) : BPG_OK;
}

enum bpg_status bpg_resume_read(struct bpg_ctx *ctx, const char *path, uint64_t fingerprint, int64_t rows, double *lower, double *upper,
                                struct bpg_resume *x)
{
	FILE *f = fopen(path, "rb");

	*x = (struct bpg_resume){ 0 };
	if (!f)
		return bpg_fail(ctx, BPG_EFILE, "--resume: %s cannot be read: %s", path, strerror(errno));
	enum bpg_status st = read_file(ctx, path, f, fingerprint, rows, lower, upper, x);
	fclose(f);
	if (st) {
		bpg_snapshot_free(x->search);
		x->search = NULL;
	}
	return st;
}
