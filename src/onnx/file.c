/* file.c - the files of a model: the model itself, and external data that must not lead out of its folder. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "onnx/read.h"
#include "spec/spec.h"

#define MOST_UNPACKED ((int64_t)1 << 31)  /* protobuf allows no larger message */

struct bpg_onnx_files *bpg_onnx_files_new(void)
{
	return bpg_calloc(1, sizeof(struct bpg_onnx_files));
}

void bpg_onnx_files_close(void *p)
{
	struct bpg_onnx_files *files = p;
	if (!files)
		return;
	for (int i = 0; i < files->n; i++)
		close(files->file[i].fd);
	free(files->file);
	free(files);
}

bool bpg_onnx_read(int fd, int64_t offset, void *to, int64_t n)
{
	char *at = to;
	while (n > 0) {
		ssize_t got = pread(fd, at, (size_t)BPG_MIN(n, (int64_t)1 << 30), (off_t)offset);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return false;
		at += got;
		offset += got;
		n -= got;
	}
	return true;
}

/* Opens a regular file for reading. O_NONBLOCK: a named pipe must not hang. Null: fine, else what is wrong with it. */
static const char *open_regular(const char *path, int *fd, struct stat *st)
{
	*fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (*fd < 0)
		return strerror(errno);
	const char *wrong = NULL;
	if (fstat(*fd, st))
		wrong = strerror(errno);
	else if (S_ISDIR(st->st_mode))
		wrong = "is a directory, not a file";
	else if (!S_ISREG(st->st_mode))
		wrong = "is not a regular file";
	else if (!st->st_size)
		wrong = "is empty";
	if (!wrong)
		return NULL;
	close(*fd);
	*fd = -1;
	return wrong;
}

/* Takes the descriptor over, also when it fails. */
static enum bpg_status add(struct bpg_ctx *ctx, const char *path, struct bpg_onnx_files *files, int fd, const struct stat *st)
{
	if (!bpg_grow(&files->file, &files->room, (int64_t)files->n + 1, sizeof *files->file)) {
		close(fd);
		return bpg_nomem(ctx, path);
	}
	files->file[files->n++] = (struct bpg_onnx_fd){ fd, st->st_size, st->st_dev, st->st_ino };
	return BPG_OK;
}

/* ---- the model ---- */

static bool is_gzip(const char *path, int fd)
{
	unsigned char magic[2] = { 0 };
	size_t n = strlen(path);
	return (n > 3 && !strcmp(path + n - 3, ".gz")) ||
	       (bpg_onnx_read(fd, 0, magic, 2) && magic[0] == 0x1f && magic[1] == 0x8b);
}

static bool write_all(int fd, const char *at, int64_t n)
{
	while (n > 0) {
		ssize_t put = write(fd, at, (size_t)n);
		if (put < 0 && errno == EINTR)
			continue;
		if (put <= 0)
			return false;
		at += put;
		n -= put;
	}
	return true;
}

static enum bpg_status copy_stream(struct bpg_ctx *ctx, const char *path, struct bpg_stream *stream, int fd)
{
	static const int64_t block = 1 << 18;
	char *buffer = malloc((size_t)block);
	enum bpg_status st = buffer ? BPG_OK : bpg_nomem(ctx, path);
	int64_t got = 0, total = 0;
	while (!st && (got = bpg_stream_read(stream, buffer, block)) > 0) {
		total += got;
		if (total > MOST_UNPACKED)
			st = bpg_fail(ctx, BPG_EFILE, "%s: more than 2 GiB when unpacked, more than a model can have", path);
		else if (!write_all(fd, buffer, got))
			st = bpg_fail(ctx, BPG_ENOMEM, "%s: no room to unpack it (%s); unpack it with gunzip", path,
			              strerror(errno));
	}
	if (!st && got < 0 && bpg_stream_status(stream) == BPG_ECANCELLED)
		st = BPG_ECANCELLED;
	else if (!st && got < 0)
		st = bpg_fail(ctx, BPG_EFILE, "%s: damaged compressed file; copy it again", path);
	free(buffer);
	return st;
}

/* Unpacks into memory that has no name and goes with its descriptor. */
static enum bpg_status unpack(struct bpg_ctx *ctx, const char *path, int *fd, struct stat *stat)
{
	struct bpg_stream *stream;
	BPG_TRY(bpg_stream_open(ctx, path, &stream));
	*fd = memfd_create("bpgraph", MFD_CLOEXEC);
	enum bpg_status st = *fd < 0 ? bpg_fail(ctx, BPG_ENOMEM, "%s: cannot be unpacked: %s", path, strerror(errno))
	                             : copy_stream(ctx, path, stream, *fd);
	bpg_stream_close(stream);
	if (!st && fstat(*fd, stat))
		st = bpg_fail(ctx, BPG_EFILE, "%s: %s", path, strerror(errno));
	if (!st && !stat->st_size)
		st = bpg_fail(ctx, BPG_EFILE, "%s: is empty when unpacked; expected an ONNX model", path);
	if (st && *fd >= 0)
		close(*fd);
	return st;
}

enum bpg_status bpg_onnx_open(struct bpg_ctx *ctx, const char *path, struct bpg_onnx_files *files)
{
	struct stat st;
	int fd;
	const char *wrong = open_regular(path, &fd, &st);
	if (wrong)
		return bpg_fail(ctx, BPG_EFILE, "%s: %s; expected an ONNX model", path, wrong);
	if (is_gzip(path, fd)) {
		close(fd);
		BPG_TRY(unpack(ctx, path, &fd, &st));
	}
	return add(ctx, path, files, fd, &st);
}

/* ---- external data ---- */

static bool climbs(const char *location)
{
	for (const char *s = location; *s; s += strcspn(s, "/"), s += strspn(s, "/"))
		if (s[0] == '.' && s[1] == '.' && (!s[2] || s[2] == '/'))
			return true;
	return false;
}

/* Both with all symbolic links resolved. */
static bool inside(const char *folder, const char *file)
{
	size_t n = strlen(folder);
	return !strncmp(folder, file, n) && (file[n] == '/' || (n && folder[n - 1] == '/'));
}

/* The folder of the model and the real path of the file; both malloced, null where there is none. */
static bool resolve(const char *path, const char *location, char **folder, char **file)
{
	const char *slash = strrchr(path, '/');
	size_t n = slash ? (size_t)(slash - path) : 0;
	char *name = malloc(n + strlen(location) + 8);
	if (!name)
		return false;
	memcpy(name, path, n);
	strcpy(name + n, slash ? "/" : ".");
	*folder = realpath(name, NULL);
	sprintf(name + strlen(name), "%s%s", slash ? "" : "/", location);
	*file = realpath(name, NULL);
	free(name);
	return true;
}

static int find_open(const struct bpg_onnx_files *files, const struct stat *st)
{
	for (int i = 0; i < files->n; i++)
		if (files->file[i].device == st->st_dev && files->file[i].inode == st->st_ino)
			return i;
	return -1;
}

enum bpg_status bpg_onnx_open_external(struct bpg_ctx *ctx, const char *path, const char *tensor, const char *location,
                                       struct bpg_onnx_files *files, int *number)
{
	char name[128], where[128];
	char *folder = NULL, *file = NULL;
	const char *wrong = NULL;
	struct stat st;
	int fd = -1;
	enum bpg_status code = BPG_OK;

	if (!*location || *location == '/' || climbs(location))
		wrong = "leads out of the model's folder; keep the data beside the model";
	else if (!resolve(path, location, &folder, &file))
		code = bpg_nomem(ctx, path);
	else if (!folder || !file)
		wrong = strerror(errno);
	else if (!inside(folder, file))
		wrong = "leads out of the model's folder; keep the data beside the model";
	else
		wrong = open_regular(file, &fd, &st);
	free(folder);
	free(file);
	if (code)
		return code;
	if (wrong)
		return bpg_fail(ctx, BPG_EFILE, "%s: tensor '%s' lies in the external file '%s': %s", path,
		                bpg_printable(tensor, name), bpg_printable(location, where), wrong);
	*number = find_open(files, &st);
	if (*number >= 0) {
		close(fd);
		return BPG_OK;
	}
	*number = files->n;
	return add(ctx, path, files, fd, &st);
}
