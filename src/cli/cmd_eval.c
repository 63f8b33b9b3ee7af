/* cmd_eval.c - outputs at a point, as a float32 runtime computes them. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bpgraph/bpgraph.h>

#include "cli/cmd.h"
#include "cli/opt.h"
#include "net/plugin.h"
#include "report/json.h"
#include "report/number.h"
#include "spec/spec.h"

static enum bpg_status print(struct bpg_ctx *ctx, const float *y, int64_t n, const char *path)
{
	char buf[32];
	for (int64_t i = 0; i < n; i++)
		if (isnan(y[i]))
			return bpg_fail(ctx, BPG_ENUMERIC, "%s: output %" PRId64 " is NaN at this point", path, i);
	for (int64_t i = 0; i < n; i++)
		printf("Y_%" PRId64 " %s\n", i, bpg_number((double)y[i], buf));
	return fflush(stdout) || ferror(stdout) ? bpg_fail(ctx, BPG_EFILE, "standard output cannot be written") : BPG_OK;
}

static enum bpg_status write_json(struct bpg_ctx *ctx, const float *y, int64_t n, const char *path, const char *to)
{
	struct bpg_json j;
	BPG_TRY(bpg_json_open(ctx, &j, to));
	bpg_json_string(&j, "bpgraph", bpg_version());
	bpg_json_string(&j, "network", path);
	bpg_json_floats(&j, "output", y, n);
	return bpg_json_close(ctx, &j);
}

static enum bpg_status eval(struct bpg_ctx *ctx, const struct bpg_options *o, const char *path)
{
	struct bpg_net *net = NULL;
	double *point = NULL;
	float *x = NULL, *y = NULL;
	int64_t n, m, count;
	enum bpg_status st = BPG_OK;

	if (!o->input)
		return bpg_fail(ctx, BPG_EUSAGE, "eval: give the point by --input FILE");
	BPG_TRY_TO(bpg_plugins_load(ctx, o->layer), out);
	BPG_TRY_TO(bpg_net_open(ctx, path, &net), out);
	n = bpg_net_in_count(net);
	m = bpg_net_out_count(net);
	BPG_TRY_TO(bpg_numbers_read(ctx, o->input, n, &count, &point, NULL, NULL), out);
	x = bpg_calloc((size_t)n, sizeof *x);
	y = bpg_calloc((size_t)m, sizeof *y);
	if (!x || !y) {
		st = bpg_nomem(ctx, "the outputs");
		goto out;
	}
	for (int64_t i = 0; i < n; i++)
		x[i] = (float)point[i];
	BPG_TRY_TO(bpg_net_values(ctx, net, x, y), out);
	if (o->json)
		BPG_TRY_TO(write_json(ctx, y, m, path, o->json), out);
	if (!o->json || strcmp(o->json, "-"))
		BPG_TRY_TO(print(ctx, y, m, path), out);
out:
	free(x);
	free(y);
	free(point);
	bpg_net_close(net);
	return st;
}

int cmd_eval(int argc, char **argv)
{
	struct bpg_ctx *ctx = bpg_ctx_new();
	struct bpg_options o;
	const char *file[1];
	int files;
	bool help;

	bpg_options_init(&o);
	enum bpg_status st = opt_parse(ctx, "eval", BPG_COMMAND_EVAL, argc, argv, &o, 1, 1, file, &files, &help);
	if (!st && help)
		cmd_help("eval");
	else if (!st)
		st = eval(ctx, &o, file[0]);
	int code = cmd_end(ctx, st);
	bpg_options_fini(&o);
	bpg_ctx_free(ctx);
	return code;
}
