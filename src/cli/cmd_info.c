/* cmd_info.c - what is in a network, whether it can be run or not. */
#include <stdio.h>

#include <bpgraph/bpgraph.h>

#include "cli/cmd.h"
#include "cli/opt.h"
#include "net/plugin.h"

int cmd_info(int argc, char **argv)
{
	struct bpg_ctx *ctx = bpg_ctx_new();
	struct bpg_options o;
	const char *file[1];
	int files;
	bool help;

	bpg_options_init(&o);
	enum bpg_status st = opt_parse(ctx, "info", BPG_COMMAND_INFO, argc, argv, &o, 1, 1, file, &files, &help);
	if (!st && help)
		cmd_help("info");
	else if (!st)
		st = bpg_plugins_load(ctx, o.layer);
	if (!st && !help)
		st = bpg_net_describe(ctx, file[0], stdout);
	if (!st && (fflush(stdout) || ferror(stdout)))
		st = bpg_fail(ctx, BPG_EFILE, "standard output cannot be written");
	int code = cmd_end(ctx, st);
	bpg_options_fini(&o);
	bpg_ctx_free(ctx);
	return code;
}
