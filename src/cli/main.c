/* main.c - finds the command and runs it. */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include <bpgraph/bpgraph.h>

#include "cli/cmd.h"
#include "cli/opt.h"
#include "report/versions.h"

const struct command commands[] = {
	{ "run", "NET.onnx [PROPERTY.vnnlib] [options]", "bounds of the outputs; with a property a verdict: unsat, sat, unknown or timeout",
	  BPG_COMMAND_RUN, cmd_run },
	{ "eval", "NET.onnx --input FILE [--json FILE]", "outputs at a point", BPG_COMMAND_EVAL, cmd_eval },
	{ "plan", "NET.onnx [PROPERTY.vnnlib] [options]", "what a run would do: stages, tiles, memory; computes interval bounds only",
	  BPG_COMMAND_PLAN, cmd_plan },
	{ "info", "NET.onnx", "nodes, shapes, parameters, and operators that are not supported", BPG_COMMAND_INFO, cmd_info },
	{ "layers", "", "supported ONNX operators, and what each supports", BPG_COMMAND_LAYERS, cmd_layers },
	{ "verify", "QUERY.vnnlib --network NAME=NET.onnx [options]", "the verdict on a VNN-LIB 2 query, about one network or several",
	  BPG_COMMAND_VERIFY, cmd_verify },
	{ "supports", "--CAPABILITY", "which VNN-LIB 2 queries and networks can be read; without a capability a list of them", 0, cmd_supports },
};
const int command_count = (int)BPG_LEN(commands);

int cmd_end(const struct bpg_ctx *ctx, enum bpg_status st)
{
	if (!st)
		return EXIT_DONE;
	const char *message = ctx ? bpg_ctx_message(ctx) : "";
	if (bpg_rank() > 0)
		return EXIT_ERROR;
	fflush(stdout);
	fprintf(stderr, "bpgraph: %s\n", *message ? message : "memory is short");
	return EXIT_ERROR;
}

static void usage(FILE *to)
{
	fputs("bpgraph: certified output bounds and verdicts for neural networks\n\n", to);
	for (int i = 0; i < command_count; i++)
		fprintf(to, "  bpgraph %-8s %s\n           %s\n", commands[i].name, commands[i].args, commands[i].help);
	fputs("\n  bpgraph COMMAND --help    the options of a command\n  bpgraph --version         versions and limits\n"
	      "  bpgraph --name            the name of this program, for tools that ask\n", to);
}

void cmd_help(const char *name)
{
	for (int i = 0; i < command_count; i++) {
		if (strcmp(commands[i].name, name))
			continue;
		printf("bpgraph %s %s\n  %s\n", name, commands[i].args, commands[i].help);
		if (commands[i].takes)
			opt_help(stdout, commands[i].takes);
	}
}

static void name(FILE *to)
{
	fputs("bpgraph\n", to);
}

static void versions(FILE *to)
{
	bpg_versions_print(to);
	bpg_machine_print(to);
}

static int text(void (*print)(FILE *to))
{
	print(stdout);
	if (fflush(stdout) || ferror(stdout)) {
		fprintf(stderr, "bpgraph: standard output cannot be written\n");
		return EXIT_ERROR;
	}
	return EXIT_DONE;
}

/* Commands that run on several ranks: one of them speaks for all. */
static int run(const struct command *c, int argc, char **argv)
{
	struct bpg_ctx *ctx;

	if (!(c->takes & (BPG_COMMAND_RUN | BPG_COMMAND_VERIFY)))
		return c->run(argc, argv);
	ctx = bpg_ctx_new();
	int code = cmd_end(ctx, bpg_ranks_start(ctx));
	bpg_ctx_free(ctx);
	if (code)
		return code;
	if (bpg_rank() > 0 && !freopen("/dev/null", "w", stdout))
		return EXIT_ERROR;
	return bpg_ranks_end(c->run(argc, argv));
}

int main(int argc, char **argv)
{
	char safe[128];
	if (argc < 2) {
		fprintf(stderr, "bpgraph: give a command; see bpgraph --help\n");
		return EXIT_ERROR;
	}
	if (!strcmp(argv[1], "--name"))
		return text(name);
	if (!strcmp(argv[1], "--version"))
		return text(versions);
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help"))
		return text(usage);
	if (!strcmp(argv[1], "--man"))
		return text(opt_manual);
	for (int i = 0; i < command_count; i++)
		if (!strcmp(argv[1], commands[i].name))
			return run(&commands[i], argc - 2, argv + 2);
	fprintf(stderr, "bpgraph: %s: no such command; see bpgraph --help\n", bpg_printable(argv[1], safe));
	return EXIT_ERROR;
}
