/* machine.c - reads the description of a machine: a name and a number in each line. */
#include "base/machine.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Kinds of values. A RATE or TIME of 0 or less, or infinite, is none. */
enum kind { COUNT, SIZE, RATE, TIME, SHARE };

static const struct key {
	const char *name;
	enum kind kind;
	size_t at;
	double start;             /* NAN: must be given */
} keys[] = {
#define KEY(field, kind, start) { #field, kind, offsetof(struct bpg_machine, field), start }
	KEY(units, COUNT, NAN), KEY(owners, COUNT, 0), KEY(host, COUNT, 1), KEY(memory, SIZE, 0),
	KEY(gemm_float32, RATE, NAN), KEY(gemm_float64, RATE, NAN), KEY(conv, RATE, NAN), KEY(adjoint, RATE, NAN),
	KEY(tiles, RATE, NAN), KEY(starts, RATE, NAN), KEY(intervals, RATE, NAN), KEY(packing, RATE, NAN), KEY(packing_ranks, RATE, 0), KEY(upload, RATE, 0),
	KEY(fresh, RATE, 0), KEY(file, RATE, 0), KEY(shared, SHARE, 1), KEY(task, TIME, NAN), KEY(submit, TIME, NAN), KEY(wait, TIME, NAN), KEY(begin, TIME, 0), KEY(message, TIME, NAN), KEY(turn, TIME, 0),
	KEY(link_latency, TIME, NAN), KEY(link, RATE, NAN), KEY(network_latency, TIME, NAN), KEY(network, RATE, NAN),
#undef KEY
};

static double *field(struct bpg_machine *m, const struct key *k)
{
	return (double *)(void *)((char *)m + k->at);
}

/* What is wrong with a value, null: nothing. Units of a size or a rate are powers of ten. */
static const char *parse(enum kind kind, const char *text, double *value)
{
	static const char scale[] = "kMGTP";
	char *end;

	errno = 0;
	*value = strtod(text, &end);
	if (end == text || errno)
		return "no number";
	const char *unit = *end && kind != COUNT && kind != SHARE && kind != TIME ? strchr(scale, *end) : NULL;
	if (unit) {
		*value *= pow(1000, (double)(unit - scale) + 1);
		end++;
	}
	if (*end)
		return "no number";
	if (kind == COUNT && !(*value >= 1 && *value <= 1 << 20 && *value == floor(*value)))
		return "not a whole number from 1 to 1048576";
	if (kind == SHARE && !(*value > 0 && *value <= 1))
		return "not above 0 and at most 1";
	return *value > 0 && isfinite(*value) ? NULL : "not above 0 and finite";
}

static enum bpg_status read_line(struct bpg_ctx *ctx, const char *path, int line, char *text, struct bpg_machine *m, bool *given)
{
	char a[128], b[128], *name, *value, *rest;
	const char *wrong = NULL;

	text[strcspn(text, "#\r\n")] = 0;
	name = text + strspn(text, " \t");
	if (!*name)
		return BPG_OK;
	value = name + strcspn(name, " \t");
	if (*value)
		*value++ = 0;
	value += strspn(value, " \t");
	for (rest = value + strlen(value); rest > value && strchr(" \t", rest[-1]); rest--)
		rest[-1] = 0;
	if (!*value)
		return bpg_fail(ctx, BPG_EFILE, "%s:%d: '%s' has no value", path, line, bpg_printable(name, a));
	if (!strcmp(name, "machine")) {
		free(m->name);
		m->name = strdup(value);
		return m->name ? BPG_OK : bpg_nomem(ctx, path);
	}
	if (!strcmp(name, "unit")) {
		m->gpu = !strcmp(value, "gpu");
		return m->gpu || !strcmp(value, "core") ? BPG_OK : bpg_fail(ctx, BPG_EFILE, "%s:%d: unit '%s': expected core or gpu", path, line, bpg_printable(value, a));
	}
	for (size_t i = 0; i < BPG_LEN(keys); i++) {
		if (strcmp(name, keys[i].name))
			continue;
		if (given[i])
			return bpg_fail(ctx, BPG_EFILE, "%s:%d: %s stands here for the second time", path, line, name);
		given[i] = true;
		wrong = parse(keys[i].kind, value, field(m, &keys[i]));
		return wrong ? bpg_fail(ctx, BPG_EFILE, "%s:%d: %s '%s': %s", path, line, name, bpg_printable(value, b), wrong) : BPG_OK;
	}
	return bpg_fail(ctx, BPG_EFILE, "%s:%d: unknown word '%s'", path, line, bpg_printable(name, a));
}

enum bpg_status bpg_machine_read(struct bpg_ctx *ctx, const char *path, struct bpg_machine *m)
{
	bool given[BPG_LEN(keys)] = { false };
	char text[512];
	int line = 0;
	FILE *f = fopen(path, "r");
	enum bpg_status st = BPG_OK;

	*m = (struct bpg_machine){ .name = NULL };
	if (!f)
		return bpg_fail(ctx, BPG_EFILE, "%s: %s", path, strerror(errno));
	while (!st && fgets(text, sizeof text, f)) {
		line++;
		size_t n = strlen(text);
		if (n + 1 == sizeof text && text[n - 1] != '\n')
			st = bpg_fail(ctx, BPG_EFILE, "%s:%d: the line is too long", path, line);
		else if (n == 0 || (text[n - 1] != '\n' && !feof(f)))
			st = bpg_fail(ctx, BPG_EFILE, "%s:%d: a byte of 0: this is no text", path, line);
		else
			st = read_line(ctx, path, line, text, m, given);
	}
	if (!st && ferror(f))
		st = bpg_fail(ctx, BPG_EFILE, "%s: cannot be read: %s", path, strerror(errno));
	fclose(f);
	for (size_t i = 0; !st && i < BPG_LEN(keys); i++)
		if (!given[i] && isnan(*field(m, &keys[i]) = keys[i].start))
			st = bpg_fail(ctx, BPG_EFILE, "%s:%d: the file ends, and '%s' is missing", path, BPG_MAX(line, 1), keys[i].name);
	if (!st && !m->name && !(m->name = strdup(path)))
		st = bpg_nomem(ctx, path);
	if (!st && m->packing_ranks == 0)
		m->packing_ranks = m->packing;
	if (!st && m->owners == 0)
		m->owners = m->gpu ? m->units : 1;
	if (!st && m->gpu && m->owners != m->units)
		st = bpg_fail(ctx, BPG_EFILE, "%s: %g owners on a node of %g GPUs: each GPU is one; leave owners out", path, m->owners, m->units);
	if (!st && m->gpu && m->upload == 0)
		st = bpg_fail(ctx, BPG_EFILE, "%s:%d: the file ends, and 'upload' is missing: bytes a second to a GPU", path, line);
	if (st)
		bpg_machine_fini(m);
	return st;
}

void bpg_machine_fini(struct bpg_machine *m)
{
	free(m->name);
	m->name = NULL;
}
