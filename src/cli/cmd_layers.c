/* cmd_layers.c - supported ONNX operators, from the registry. */
#include <stdio.h>
#include <string.h>

#include "cli/cmd.h"
#include "net/net.h"

static const char *const families[] = { "linear", "unary", "general", "constant" };

/* How a nonlinear operator is bounded, in words; linear ones are exact. */
static const char *bounds(const struct bpg_layer *y)
{
	if (y->family == BPG_LINEAR)
		return "exact";
	if (y->family == BPG_CONSTANT)
		return "folded";
	return y->traits & BPG_PIECEWISE ? "planes, exact pieces" : "planes";
}

static void print_operators(const struct bpg_layer *y)
{
	for (const char *op = y->ops; *op;) {
		size_t n = strcspn(op, " ");
		bool internal = memchr(op, ':', n) != NULL; /* made by passes, in no file */
		if (!internal)
			printf("%-20.*s %-16s %-10s %s\n", (int)n, op, y->name, families[y->family], bounds(y));
		op += n;
		op += strspn(op, " ");
	}
}

int cmd_layers(int argc, char **argv)
{
	(void)argv;
	if (argc > 0) {
		if (!strcmp(argv[0], "--help")) {
			cmd_help("layers");
			return EXIT_DONE;
		}
		fprintf(stderr, "bpgraph: layers takes no arguments\n");
		return EXIT_ERROR;
	}
	printf("%-20s %-16s %-10s %s\n", "operator", "layer", "family", "bounds");
	for (int i = 0; i < bpg_layer_count(); i++)
		print_operators(bpg_layer_get(i));
	return fflush(stdout) || ferror(stdout) ? EXIT_ERROR : EXIT_DONE;
}
