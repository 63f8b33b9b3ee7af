/* cmd_layers.c - supported ONNX operators and what each supports, from the registry. */
#include <stdio.h>
#include <string.h>

#include "cli/cmd.h"
#include "cli/opt.h"
#include "net/net.h"
#include "net/plugin.h"

static const char *const families[] = { "linear", "unary", "general", "constant" };

/* What can be had of a layer, its own or by default of its family. */
static bool has_value(const struct bpg_layer *y)
{
	return y->eval || y->family == BPG_LINEAR || y->family == BPG_UNARY;
}

static bool has_interval(const struct bpg_layer *y)
{
	return y->interval || y->family == BPG_LINEAR || y->family == BPG_UNARY;
}

/* Linear layers are their own planes. */
static const char *planes(const struct bpg_layer *y)
{
	if (y->family == BPG_LINEAR)
		return "exact";
	if (y->family == BPG_UNARY)
		return y->traits & BPG_PIECEWISE ? "pieces" : "lines";
	return y->planes ? "planes" : "no";
}

static const char *splittable(const struct bpg_layer *y)
{
	return y->unary && y->unary->kinks ? "yes" : "no";
}

static const char *alpha(const struct bpg_layer *y)
{
	if (y->others)
		return "weights";
	if (!y->unary || !y->unary->alpha_range)
		return "no";
	return y->unary->enters == BPG_ALPHA_TANGENT ? "tangent" : "slope";
}

/* Columns behind the operator; CONSTANT layers are folded while the network is built, so the rest does not arise. */
enum { COLUMNS = 8 };

static void describe(const struct bpg_layer *y, const char *to[COLUMNS])
{
	bool folded = y->family == BPG_CONSTANT;
	to[0] = y->name;
	to[1] = families[y->family];
	to[2] = has_value(y) ? "yes" : "no";
	to[3] = folded ? "-" : has_interval(y) ? "yes" : "no";
	to[4] = folded ? "-" : planes(y);
	to[5] = folded ? "-" : splittable(y);
	to[6] = folded ? "-" : alpha(y);
	to[7] = folded ? "-" : "no";
}

static void row(const char *op, size_t n, const char *const column[COLUMNS], const char *from)
{
	static const int width[COLUMNS] = { 16, 8, 5, 8, 6, 10, 7, 4 };
	printf("%-22.*s", (int)n, op);
	for (int i = 0; i < COLUMNS; i++)
		printf(" %-*s", i == COLUMNS - 1 && !from ? 0 : width[i], column[i]);
	printf("%s%s\n", from ? " " : "", from ? from : "");
}

static void print(void)
{
	static const char *const title[COLUMNS] = { "layer", "family", "value", "interval", "planes", "splittable", "alpha",
		"CUDA" };
	row("operator", 8, title, NULL);
	for (int i = 0; i < bpg_layer_count(); i++) {
		const struct bpg_layer *y = bpg_layer_get(i);
		const char *column[COLUMNS];
		describe(y, column);
		for (const char *op = y->ops + strspn(y->ops, " "); *op; op += strspn(op, " ")) {
			size_t n = strcspn(op, " ");
			if (n <= 8 || strncmp(op, "bpgraph:", 8)) /* made by passes: no file can name it */
				row(op, n, column, bpg_layer_source(y));
			op += n;
		}
	}
}

int cmd_layers(int argc, char **argv)
{
	struct bpg_ctx *ctx = bpg_ctx_new();
	struct bpg_options o;
	const char *file[1];
	int files;
	bool help = false;

	bpg_options_init(&o);
	enum bpg_status st = opt_parse(ctx, "layers", BPG_COMMAND_LAYERS, argc, argv, &o, 0, 0, file, &files, &help);
	if (!st && !help)
		st = bpg_plugins_load(ctx, o.layer);
	if (!st && help)
		cmd_help("layers");
	else if (!st)
		print();
	if (!st && (fflush(stdout) || ferror(stdout)))
		st = bpg_fail(ctx, BPG_EFILE, "standard output cannot be written");
	int code = cmd_end(ctx, st);
	bpg_options_fini(&o);
	bpg_ctx_free(ctx);
	return code;
}
