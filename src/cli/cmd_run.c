/* cmd_run.c - bounds, or a verdict. */
#include "config.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/cmd.h"
#include "cli/opt.h"
#include "net/net.h"
#include "net/plugin.h"
#include "report/result.h"
#include "spec/question.h"

/* An interrupt ends the run and its result is still written; a second one ends the process at once. */
static volatile int cancelled;

static void interrupt(int number)
{
	(void)number;
	cancelled = 1;
}

static void catch_signals(void)
{
	struct sigaction a = { .sa_handler = interrupt, .sa_flags = (int)SA_RESETHAND }, old;
	sigemptyset(&a.sa_mask);
	sigaction(SIGINT, &a, NULL);
	sigaction(SIGTERM, &a, NULL);
	/* a terminal that closes; nohup asks for it to be ignored */
	if (!sigaction(SIGHUP, NULL, &old) && old.sa_handler != SIG_IGN)
		sigaction(SIGHUP, &a, NULL);
}

enum bpg_status cmd_write(struct bpg_ctx *ctx, const struct bpg_options *o, const struct bpg_result *r)
{
	BPG_TRY(bpg_result_check(ctx, r));
	if (bpg_rank() > 0)
		return BPG_OK;
	if (!o->json || strcmp(o->json, "-"))
		BPG_TRY(bpg_result_text(ctx, r, "-"));
	if (o->json)
		BPG_TRY(bpg_result_json(ctx, r, o->json));
	if (o->results)
		BPG_TRY(bpg_result_text(ctx, r, o->results));
	if (r->note && !o->quiet)
		fprintf(stderr, "bpgraph: note: %s\n", r->note);
	return BPG_OK;
}

enum bpg_status cmd_question(struct bpg_ctx *ctx, const struct bpg_options *o, const char *property, const struct bpg_net *net,
                           struct bpg_question **q)
{
	if (property) {
		BPG_TRY(bpg_question_no_region(ctx, o));
		return bpg_question_property(ctx, net, property, q);
	}
	BPG_TRY(bpg_question_from_options(ctx, o, net->in_count, net->out_count, q));
	if ((*q)->unit && !o->quiet && bpg_rank() == 0)
		fprintf(stderr, "bpgraph: note: no region given, so bounds are for inputs in [0, 1]; choose another by --center and --epsilon, "
		                "or --lower and --upper\n");
	return BPG_OK;
}

/* Cores that StarPU's limit leaves idle. The count of cores takes some milliseconds, so a quick look goes first. */
static void say_idle(void)
{
	if (sysconf(_SC_NPROCESSORS_ONLN) <= BPG_STARPU_MAXCPUS)
		return;
	int idle = bpg_idle_cores();
	if (idle > 0)
		fprintf(stderr, "bpgraph: note: %d cores stay idle, since this StarPU has at most %d CPU workers; a StarPU 1.4 built with a larger "
		                "--enable-maxcpus has more (STARPU_NCPU=%d silences this)\n", idle, BPG_STARPU_MAXCPUS, BPG_STARPU_MAXCPUS);
}

static double deadline(const struct bpg_options *o)
{
	return o->timeout > 0 ? bpg_process_start() + o->timeout : 0;
}

void cmd_begin(struct bpg_ctx *ctx, struct bpg_options *o)
{
	catch_signals();
	if (!o->quiet && bpg_rank() == 0)
		say_idle();
	bpg_options_cancel(o, &cancelled);
	bpg_ctx_limit(ctx, deadline(o), &cancelled);
	o->live = bpg_rank() == 0;
}

enum bpg_status cmd_stopped(struct bpg_ctx *ctx, const struct bpg_options *o, const char *network, const char *property, int *code)
{
	bool late = o->timeout > 0 && bpg_now() >= deadline(o);
	double seconds = bpg_now() - bpg_process_start();
	const struct bpg_result r = { .network = network, .property = property, .verdict = late ? BPG_VERDICT_TIMEOUT : BPG_VERDICT_UNKNOWN,
		                      .seconds = { .total = seconds, .load = seconds } };
	*code = bpg_result_exit(&r);
	return cmd_write(ctx, o, &r);
}

int cmd_run(int argc, char **argv)
{
	struct bpg_ctx *ctx = bpg_ctx_new();
	struct bpg_options o;
	struct bpg_net *net = NULL;
	struct bpg_question *q = NULL;
	struct bpg_result *r = NULL;
	const char *file[2] = { NULL };
	int files, code = 0;
	bool help;
	enum bpg_status st = BPG_OK;

	bpg_options_init(&o);
	BPG_TRY_TO(opt_parse(ctx, "run", BPG_COMMAND_RUN, argc, argv, &o, 1, 2, file, &files, &help), out);
	if (help) {
		cmd_help("run");
		goto out;
	}
	BPG_TRY_TO(cmd_outputs(ctx, &o, files, file), out);
	cmd_begin(ctx, &o);
	BPG_TRY_TO(bpg_plugins_load(ctx, o.layer), out);
	BPG_TRY_TO(bpg_net_open(ctx, file[0], &net), out);
	BPG_TRY_TO(cmd_question(ctx, &o, file[1], net, &q), out);
	BPG_TRY_TO(bpg_run(ctx, net, q, &o, &r), out);
	BPG_TRY_TO(cmd_write(ctx, &o, r), out);
	code = bpg_result_exit(r);
out:
	st = bpg_ranks_agree(ctx, st);
	if (st == BPG_ECANCELLED)
		st = cmd_stopped(ctx, &o, file[0], file[1], &code);
	if (st)
		code = cmd_end(ctx, st);
	bpg_result_free(r);
	bpg_question_free(q);
	bpg_net_close(net);
	bpg_options_fini(&o);
	bpg_ctx_free(ctx);
	return code;
}
