/* opt.h - the command line: options of the table, files, and the texts made from the table. */
#ifndef BPG_CLI_OPT_H
#define BPG_CLI_OPT_H

#include <stdio.h>

#include "base/options.h"

/* Reads argv (without program and command) and the environment. `file` receives at most `most` file names, *files says
 * how many; fewer than `least` is an error. *help: --help was asked for, nothing else matters. */
enum bpg_status opt_parse(struct bpg_ctx *ctx, const char *command, int takes, int argc, char **argv, struct bpg_options *o,
                          int least, int most, const char **file, int *files, bool *help);

/* Options that a command takes (0: every option). */
void opt_help(FILE *to, int takes);
/* The manual page, in roff. */
void opt_manual(FILE *to);

/* The commands, for --help and the manual. */
struct command {
	const char *name;
	const char *args;
	const char *help;
	int takes;
	int (*run)(int argc, char **argv);
};
extern const struct command commands[];
extern const int command_count;

#endif
