/* opt.c - the command line, --help and the manual page, all from the table of options. */
#include <ctype.h>
#include <string.h>

#include "config.h"

#include "cli/opt.h"

/* "--name value", "--name=value", "--flag". Moves *i on when the value is the next word. */
static enum bpg_status take(struct bpg_ctx *ctx, const char *command, int takes, int argc, char **argv, int *i, struct bpg_options *o)
{
	const char *word = argv[*i] + 2, *equals = strchr(word, '=');
	size_t length = equals ? (size_t)(equals - word) : strlen(word);
	char safe[128], name[32];

	int id = bpg_option_find(word, length);
	if (id < 0)
		return bpg_fail(ctx, BPG_EUSAGE, "%s: no such option; see bpgraph %s --help", bpg_printable(argv[*i], safe), command);
	const struct bpg_option *x = bpg_option_get(id);
	if (!(x->where & takes))
		return bpg_fail(ctx, BPG_EUSAGE, "--%s is no option of bpgraph %s; see bpgraph %s --help", bpg_option_name(id, name), command, command);
	if (equals)
		return bpg_option_set(ctx, o, id, equals + 1, BPG_FROM_LINE);
	if (x->kind == BPG_OPTION_FLAG || x->kind == BPG_OPTION_LATER)
		return bpg_option_set(ctx, o, id, "on", BPG_FROM_LINE);
	if (*i + 1 >= argc || !strncmp(argv[*i + 1], "--", 2))
		return bpg_fail(ctx, BPG_EUSAGE, "--%s needs a value (%s)", bpg_option_name(id, name), x->arg);
	return bpg_option_set(ctx, o, id, argv[++*i], BPG_FROM_LINE);
}

enum bpg_status opt_parse(struct bpg_ctx *ctx, const char *command, int takes, int argc, char **argv, struct bpg_options *o,
                          int least, int most, const char **file, int *files, bool *help)
{
	bool only_files = false;
	char safe[128];

	*files = 0;
	*help = false;
	for (int i = 0; i < argc; i++)
		if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h"))
			*help = true;
	if (*help)
		return BPG_OK;
	for (int i = 0; i < argc; i++) {
		if (!only_files && !strcmp(argv[i], "--")) {
			only_files = true;
		} else if (!only_files && !strncmp(argv[i], "--", 2)) {
			BPG_TRY(take(ctx, command, takes, argc, argv, &i, o));
		} else if (!only_files && argv[i][0] == '-' && argv[i][1]) {
			return bpg_fail(ctx, BPG_EUSAGE, "%s: options begin with two dashes; see bpgraph %s --help", bpg_printable(argv[i], safe), command);
		} else if (*files == most) {
			return bpg_fail(ctx, BPG_EUSAGE, "%s: one file too many; see bpgraph %s --help", bpg_printable(argv[i], safe), command);
		} else {
			file[(*files)++] = argv[i];
		}
	}
	if (*files < least)
		return bpg_fail(ctx, BPG_EUSAGE, "give a network (NET.onnx); see bpgraph %s --help", command);
	return bpg_options_environment(ctx, o, takes);
}

/* ---- texts ---- */

/* Rows of the table with the titles between them. */
static const struct {
	const char *title;        /* null: an option */
	int id;
} lines[] = {
#define BPG_GROUP(t) { t, -1 },
#define BPG_CHOICE(f, ...) { NULL, BPG_OPT_##f },
#define BPG_WHOLE(f, ...) { NULL, BPG_OPT_##f },
#define BPG_REAL(f, ...) { NULL, BPG_OPT_##f },
#define BPG_SIZE(f, ...) { NULL, BPG_OPT_##f },
#define BPG_FLAG(f, ...) { NULL, BPG_OPT_##f },
#define BPG_TEXT(f, ...) { NULL, BPG_OPT_##f },
#define BPG_LIST(f, ...) { NULL, BPG_OPT_##f },
#define BPG_LATER(f, ...)
#include "base/options.def"
};

/* "auto|ibp|crown", what is built of it. */
static void alternatives(int id, char *to, size_t room)
{
	char word[32];
	bool built;
	size_t n = 0;
	to[0] = 0;
	for (int v = 0; bpg_option_word(id, v, word, &built); v++)
		if (built && n < room)
			n += (size_t)snprintf(to + n, room - n, "%s%s", n ? "|" : "", word);
}

static void value_text(int id, char *to, size_t room)
{
	const struct bpg_option *x = bpg_option_get(id);
	if (x->kind == BPG_OPTION_CHOICE)
		alternatives(id, to, room);
	else
		snprintf(to, room, "%s", x->arg ? x->arg : "");
}

/* "(default 1)" for numbers whose default is one of their values. */
static void default_text(const struct bpg_option *x, char *to, size_t room)
{
	to[0] = 0;
	if ((x->kind == BPG_OPTION_WHOLE || x->kind == BPG_OPTION_REAL) && x->start > 0)
		snprintf(to, room, " (default %g)", x->start);
}

static bool taken(int id, int takes)
{
	return !takes || (bpg_option_get(id)->where & takes);
}

void opt_help(FILE *to, int takes)
{
	const char *title = NULL;
	for (size_t i = 0; i < BPG_LEN(lines); i++) {
		char name[32], value[128], standard[48], left[192];
		if (lines[i].title) {
			title = lines[i].title;
			continue;
		}
		if (!taken(lines[i].id, takes))
			continue;
		if (title)
			fprintf(to, "\n%s:\n", title);
		title = NULL;
		const struct bpg_option *x = bpg_option_get(lines[i].id);
		value_text(lines[i].id, value, sizeof value);
		default_text(x, standard, sizeof standard);
		snprintf(left, sizeof left, "--%s%s%s", bpg_option_name(lines[i].id, name), *value ? " " : "", value);
		if (strlen(left) > 28)
			fprintf(to, "  %s\n  %-28s %s%s\n", left, "", x->help, standard);
		else
			fprintf(to, "  %-28s %s%s\n", left, x->help, standard);
	}
	fprintf(to, "\nEach option is also an environment variable: --layer-bounds is BPGRAPH_LAYER_BOUNDS. The command line wins.\n");
}

/* Roff takes a dash for a hyphen, and a point or quote at the start of a line for a request. */
static void roff(FILE *to, const char *s)
{
	if (*s == '.' || *s == '\'')
		fputs("\\&", to);
	for (; *s; s++) {
		if (*s == '-')
			fputs("\\-", to);
		else if (*s == '\\')
			fputs("\\e", to);
		else
			fputc(*s, to);
	}
}

static void manual_options(FILE *to)
{
	for (size_t i = 0; i < BPG_LEN(lines); i++) {
		char name[32], value[128], standard[48];
		if (lines[i].title) {
			fprintf(to, ".SS %s\n", lines[i].title);
			continue;
		}
		const struct bpg_option *x = bpg_option_get(lines[i].id);
		value_text(lines[i].id, value, sizeof value);
		default_text(x, standard, sizeof standard);
		fputs(".TP\n\\fB\\-\\-", to);
		roff(to, bpg_option_name(lines[i].id, name));
		fputs("\\fR ", to);
		roff(to, value);
		fputc('\n', to);
		roff(to, x->help);
		fprintf(to, "%s\n", standard);
	}
}

void opt_manual(FILE *to)
{
	fputs(".TH BPGRAPH 1 \"\" \"bpgraph " PACKAGE_VERSION "\"\n.SH NAME\nbpgraph \\- certified output bounds and verdicts for neural networks\n"
	      ".SH SYNOPSIS\n", to);
	for (int i = 0; i < command_count; i++) {
		if (!commands[i].run)
			continue;
		fprintf(to, "%s.B bpgraph %s\n", i ? ".br\n" : "", commands[i].name);
		if (commands[i].args[0]) {
			roff(to, commands[i].args);
			fputc('\n', to);
		}
	}
	fputs(".SH DESCRIPTION\nReads a network (ONNX) and computes bounds of its outputs that hold for every input of a region, or says whether a property\n"
	      "(VNN-LIB) holds. The work is a graph of tasks on StarPU. Bounds hold in real arithmetic: rounding is part of them.\n"
	      ".SH COMMANDS\n", to);
	for (int i = 0; i < command_count; i++) {
		fprintf(to, ".TP\n.B %s ", commands[i].name);
		roff(to, commands[i].args);
		fputc('\n', to);
		roff(to, commands[i].help);
		fputc('\n', to);
	}
	fputs(".SH OPTIONS\nOptions are written \\-\\-name value or \\-\\-name=value.\n", to);
	manual_options(to);
	fputs(".SH ENVIRONMENT\nEvery option is also a variable: \\-\\-layer\\-bounds is \\fBBPGRAPH_LAYER_BOUNDS\\fR. The command line wins, and an empty\n"
	      "variable counts as unset. StarPU's own variables (\\fBSTARPU_SCHED\\fR, \\fBSTARPU_NCPU\\fR, ...) work as always.\n"
	      ".SH EXIT STATUS\n"
	      ".TP\n0\nunsat: the property holds; or bounds were computed\n"
	      ".TP\n1\nsat: a counterexample was found\n"
	      ".TP\n2\nan error, said on standard error\n"
	      ".TP\n3\nunknown\n"
	      ".TP\n4\ntimeout\n", to);
}
