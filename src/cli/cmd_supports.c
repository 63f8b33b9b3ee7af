/* cmd_supports.c - what a tool may ask of a solver (VNN-LIB 2, command-line interface), one answer a line. */
#include <stdio.h>
#include <string.h>

#include "cli/cmd.h"
#include "net/net.h"

static void opsets(void)
{
	printf("%d\n%d\n", BPG_OPSET_FIRST, BPG_OPSET_LAST);
}

/* Several layers may share an operator: it is printed by the first. */
static bool seen(int layer, const char *op, size_t n)
{
	for (int i = 0; i < layer; i++)
		for (const char *s = bpg_layer_get(i)->ops + strspn(bpg_layer_get(i)->ops, " "); *s; s += strspn(s, " ")) {
			size_t m = strcspn(s, " ");
			if (m == n && !strncmp(s, op, n))
				return true;
			s += m;
		}
	return false;
}

/* ONNX's own, without those of other domains ("domain::Op") and those that passes make ("bpgraph:Op"). */
static void operators(void)
{
	for (int i = 0; i < bpg_layer_count(); i++)
		for (const char *op = bpg_layer_get(i)->ops + strspn(bpg_layer_get(i)->ops, " "); *op; op += strspn(op, " ")) {
			size_t n = strcspn(op, " ");
			if (!memchr(op, ':', n) && !seen(i, op, n))
				printf("%.*s\n", (int)n, op);
			op += n;
		}
}

static const struct {
	const char *name;
	const char *answer;       /* null: `print` says it */
	void (*print)(void);
} capabilities[] = {
	{ "--onnx-opset-versions", NULL, opsets },
	/* Proofs are about real arithmetic with the weights as stored, not about the rounding of a runtime. */
	{ "--onnx-element-types", "real", NULL },
	{ "--onnx-operators", NULL, operators },
	{ "--vnnlib-versions", "2.0\n2.1", NULL },
	{ "--hidden-node-theories", "NH\nH", NULL },
	{ "--multiple-input-output-theories", "SIO\nMIO", NULL },
	{ "--multiple-network-theories", "SNET\nMENET\nMINET\nMNET", NULL },
	{ "--multiple-node-comparison-theories", "SNC\nMNC", NULL },
	{ "--arithmetic-complexity-theories", "BND\nOUTC\nLIN", NULL },
	{ "--optimised-disjunctive-reasoning", "false", NULL },
	{ "--serialise-assignments", "false", NULL },
};

static enum bpg_status answer(struct bpg_ctx *ctx, const char *name)
{
	char shown[128];
	for (size_t i = 0; i < BPG_LEN(capabilities); i++) {
		if (!name)
			printf("%s\n", capabilities[i].name);
		if (!name || strcmp(name, capabilities[i].name))
			continue;
		if (capabilities[i].print)
			capabilities[i].print();
		else
			printf("%s\n", capabilities[i].answer);
		return BPG_OK;
	}
	return name ? bpg_fail(ctx, BPG_EUSAGE, "%s: no such capability; bpgraph supports lists them", bpg_printable(name, shown))
	            : BPG_OK;
}

int cmd_supports(int argc, char **argv)
{
	struct bpg_ctx *ctx = bpg_ctx_new();
	enum bpg_status st = BPG_OK;

	if (argc && (!strcmp(argv[0], "--help") || !strcmp(argv[0], "-h")))
		cmd_help("supports");
	else if (argc > 1)
		st = bpg_fail(ctx, BPG_EUSAGE, "supports: give one capability; bpgraph supports lists them");
	else
		st = answer(ctx, argc ? argv[0] : NULL);
	if (!st && (fflush(stdout) || ferror(stdout)))
		st = bpg_fail(ctx, BPG_EFILE, "standard output cannot be written");
	int code = cmd_end(ctx, st);
	bpg_ctx_free(ctx);
	return code;
}
