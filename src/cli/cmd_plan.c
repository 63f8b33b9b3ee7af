/* cmd_plan.c - what a run would do. */
#include <stdio.h>
#include <string.h>

#include "cli/cmd.h"
#include "cli/opt.h"
#include "net/net.h"
#include "net/plugin.h"
#include "report/plan.h"

int cmd_plan(int argc, char **argv)
{
	struct bpg_ctx *ctx = bpg_ctx_new();
	struct bpg_options o;
	const char *file[2];
	int files;
	bool help;

	bpg_options_init(&o);
	struct bpg_net *net = NULL;
	struct bpg_question *q = NULL;
	struct bpg_result *r = NULL;
	struct bpg_plan plan;
	enum bpg_status st;

	BPG_TRY_TO(opt_parse(ctx, "plan", BPG_COMMAND_PLAN, argc, argv, &o, 1, 2, file, &files, &help), out);
	if (help) {
		cmd_help("plan");
		goto out;
	}
	BPG_TRY_TO(cmd_outputs(ctx, &o, files, file), out);
	BPG_TRY_TO(bpg_plugins_load(ctx, o.layer), out);
	BPG_TRY_TO(bpg_net_open(ctx, file[0], &net), out);
	BPG_TRY_TO(cmd_question(ctx, &o, files > 1 ? file[1] : NULL, net, &q), out);
	BPG_TRY_TO(bpg_plan_make(ctx, net, q, &o, &plan, &r), out);
	st = o.json ? bpg_plan_json(ctx, &plan, o.json) : BPG_OK;
	if (!st && !(o.json && !strcmp(o.json, "-")))
		st = bpg_plan_text(ctx, &plan);
out:;
	int code = cmd_end(ctx, st);
	bpg_result_free(r);
	bpg_question_free(q);
	bpg_net_close(net);
	bpg_options_fini(&o);
	bpg_ctx_free(ctx);
	return code;
}
