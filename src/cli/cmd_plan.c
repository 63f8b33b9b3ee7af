/* cmd_plan.c - what a run would do. */
#include <stdio.h>

#include "cli/cmd.h"
#include "cli/opt.h"

int cmd_plan(int argc, char **argv)
{
	struct bpg_ctx *ctx = bpg_ctx_new();
	struct bpg_options o;
	const char *file[2];
	int files;
	bool help;

	bpg_options_init(&o);
	enum bpg_status st = opt_parse(ctx, "plan", BPG_COMMAND_PLAN, argc, argv, &o, 1, 2, file, &files, &help);
	if (!st && help)
		cmd_help("plan");
	else if (!st)
		st = bpg_fail(ctx, BPG_EUNSUPPORTED, "plans are not built yet");
	int code = cmd_end(ctx, st);
	bpg_options_fini(&o);
	bpg_ctx_free(ctx);
	return code;
}
