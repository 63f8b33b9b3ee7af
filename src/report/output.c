/* output.c - files that are written. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "report/output.h"

enum bpg_status bpg_output_open(struct bpg_ctx *ctx, const char *path, FILE **to)
{
	*to = strcmp(path, "-") ? fopen(path, "w") : stdout;
	if (!*to)
		return bpg_fail(ctx, BPG_EFILE, "%s: cannot be written: %s", path, strerror(errno));
	return BPG_OK;
}

enum bpg_status bpg_output_close(struct bpg_ctx *ctx, const char *path, FILE *to, bool keep)
{
	struct stat s;
	bool regular = to != stdout && !fstat(fileno(to), &s) && S_ISREG(s.st_mode);
	bool bad = fflush(to) || ferror(to);
	int error = errno;
	if (to != stdout && fclose(to) && !bad) {
		bad = true;
		error = errno;
	}
	if ((bad || !keep) && regular)
		unlink(path);
	if (bad)
		return bpg_fail(ctx, BPG_EFILE, "%s: cannot be written: %s", to == stdout ? "standard output" : path, strerror(error));
	return BPG_OK;
}
