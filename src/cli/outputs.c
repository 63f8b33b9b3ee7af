/* outputs.c - files that will be written are looked at before the work begins: none of them may be an input or another
 * output, and each must be writable. */
#include <errno.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/options.h"
#include "cli/cmd.h"

static const char *const outputs[] = { "json", "results", "trace", "dot", "checkpoint" };
static const char *const inputs[] = { "center", "lower", "upper", "rows", "offset", "input", "resume" };

static const char *given(const struct bpg_options *o, const char *name)
{
	int id = bpg_option_find(name, strlen(name));
	const char *value = id < 0 ? NULL : o->text[id];
	return value && *value && strcmp(value, "-") ? value : NULL;
}

static bool same(const char *a, const char *b)
{
	struct stat s, t;
	if (!a || !b)
		return false;
	if (stat(a, &s) || stat(b, &t))
		return !strcmp(a, b);
	return S_ISREG(s.st_mode) && s.st_dev == t.st_dev && s.st_ino == t.st_ino;
}

static enum bpg_status writable(struct bpg_ctx *ctx, const char *name, const char *path)
{
	char *copy = strdup(path);
	if (!copy)
		return bpg_nomem(ctx, path);
	int wrong = access(path, F_OK) ? access(dirname(copy), W_OK | X_OK) : access(path, W_OK);
	free(copy);
	return wrong ? bpg_fail(ctx, BPG_EUSAGE, "--%s: %s cannot be written: %s", name, path, strerror(errno)) : BPG_OK;
}

enum bpg_status cmd_outputs(struct bpg_ctx *ctx, const struct bpg_options *o, int files, const char *const *file)
{
	for (size_t i = 0; i < BPG_LEN(outputs); i++) {
		const char *path = given(o, outputs[i]);
		if (!path)
			continue;
		for (int k = 0; k < files; k++)
			if (same(path, file[k]))
				return bpg_fail(ctx, BPG_EUSAGE, "--%s: %s is read by this run; give a file of its own", outputs[i], path);
		for (size_t k = 0; k < BPG_LEN(inputs); k++)
			if (same(path, given(o, inputs[k])) && (strcmp(outputs[i], "checkpoint") || strcmp(inputs[k], "resume")))
				return bpg_fail(ctx, BPG_EUSAGE, "--%s: %s is read by this run; give a file of its own", outputs[i], path);
		for (size_t k = 0; k < i; k++)
			if (same(path, given(o, outputs[k])))
				return bpg_fail(ctx, BPG_EUSAGE, "--%s: %s is written by --%s as well; give a file of its own", outputs[i], path, outputs[k]);
		BPG_TRY(writable(ctx, outputs[i], path));
	}
	return BPG_OK;
}
