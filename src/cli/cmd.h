/* cmd.h - the commands. Each gets the words behind its name and returns the exit status. */
#ifndef BPG_CLI_CMD_H
#define BPG_CLI_CMD_H

#include "base/base.h"

enum { EXIT_DONE = 0, EXIT_ERROR = 2 };

int cmd_run(int argc, char **argv);
int cmd_eval(int argc, char **argv);
int cmd_plan(int argc, char **argv);
int cmd_info(int argc, char **argv);
int cmd_layers(int argc, char **argv);
int cmd_verify(int argc, char **argv);
int cmd_supports(int argc, char **argv);

/* Prints "bpgraph: message" and gives EXIT_ERROR; with BPG_OK nothing and EXIT_DONE. */
int cmd_end(const struct bpg_ctx *ctx, enum bpg_status st);
struct bpg_net;
struct bpg_options;
struct bpg_question;
struct bpg_result;
/* Before a run: interrupts and --timeout end it, also while files are read, and its result is still written; a note about idle cores. */
void cmd_begin(struct bpg_ctx *ctx, struct bpg_options *o);
/* In place of a run when files were not read to their end: writes "timeout" or "unknown". */
enum bpg_status cmd_stopped(struct bpg_ctx *ctx, const struct bpg_options *o, const char *network, const char *property, int *code);
/* After it: all outputs that were asked for. */
enum bpg_status cmd_write(struct bpg_ctx *ctx, const struct bpg_options *o, const struct bpg_result *r);
/* The question of the property file (null: none) or of the region options; says so when nobody chose a region. */
enum bpg_status cmd_question(struct bpg_ctx *ctx, const struct bpg_options *o, const char *property, const struct bpg_net *net, struct bpg_question **q);
/* Refuses outputs that are inputs of this run, one file for two outputs, and files that cannot be written. file: what stands
 * beside the options. */
enum bpg_status cmd_outputs(struct bpg_ctx *ctx, const struct bpg_options *o, int files, const char *const *file);
/* "Usage" of a command. */
void cmd_help(const char *name);

#endif
