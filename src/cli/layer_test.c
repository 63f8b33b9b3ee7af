/* layer_test.c - bpgraph-layer-test: do layers keep what layer.h promises? For layers from outside, and for the built ones. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bpgraph/bpgraph.h>

#include "base/base.h"
#include "conformance/conformance.h"
#include "net/net.h"

enum { PASSED = 0, FAILED = 1, ERROR = 2 };

struct asked {
	const char *file;         /* null: the built layers */
	const char *name;         /* of one layer, null: all */
	int64_t instances;
	bool one;                 /* --seed: that instance alone */
	uint64_t seed;
	FILE *scratch;            /* constants that stay in a file */
};

static void usage(FILE *to)
{
	fputs("bpgraph-layer-test FILE.so|--builtin [NAME] [--instances N] [--seed N]\n"
	      "  Draws random instances of each layer (or of the layer NAME) from its sampler and checks what layer.h promises: values\n"
	      "  inside intervals, intervals that nest, degenerate and extreme boxes, lines and planes that enclose, gradients.\n"
	      "  --instances N   instances of each layer (default 200)\n"
	      "  --seed N        one instance, that of a failure\n"
	      "  Exit status: 0 all passed, 1 a layer failed, 2 an error.\n", to);
}

static bool number(const char *text, uint64_t *to)
{
	char *end;
	*to = text && *text >= '0' && *text <= '9' ? strtoull(text, &end, 10) : 0;
	return text && *text >= '0' && *text <= '9' && !*end;
}

static enum bpg_status parse(struct bpg_ctx *ctx, int argc, char **argv, struct asked *a)
{
	bool builtin = false;
	for (int i = 1; i < argc; i++) {
		uint64_t n;
		if (!strcmp(argv[i], "--builtin")) {
			builtin = true;
		} else if (!strcmp(argv[i], "--instances") || !strcmp(argv[i], "--seed")) {
			bool seed = argv[i][2] == 's';
			if (!number(argv[i + 1], &n) || (!seed && (n < 1 || n > 1000000)))
				return bpg_fail(ctx, BPG_EUSAGE, "%s: give a whole number%s", argv[i], seed ? "" : " from 1 to "
				                "1000000");
			if (seed) {
				a->one = true;
				a->seed = n;
			} else {
				a->instances = (int64_t)n;
			}
			i++;
		} else if (!strncmp(argv[i], "--", 2) || (a->file && a->name) || (builtin && a->name)) {
			return bpg_fail(ctx, BPG_EUSAGE, "%s: not understood; see bpgraph-layer-test --help", argv[i]);
		} else if (!builtin && !a->file) {
			a->file = argv[i];
		} else {
			a->name = argv[i];
		}
	}
	if (builtin == (a->file != NULL))
		return bpg_fail(ctx, BPG_EUSAGE, "give one of FILE.so and --builtin; see bpgraph-layer-test --help");
	return BPG_OK;
}

/* True when all instances passed; prints one line. */
static bool test(struct bpg_ctx *ctx, const struct asked *a, const struct bpg_layer *layer)
{
	int64_t n = a->one ? 1 : a->instances;
	if (layer->family == BPG_CONSTANT) {
		printf("%-16s folded: nothing to test\n", layer->name);
		return true;
	}
	for (int64_t i = 0; i < n; i++) {
		uint64_t seed = a->one ? a->seed : bpg_conformance_seed(layer) + (uint64_t)i;
		bool wrong = bpg_conformance(ctx, layer, seed, a->scratch ? fileno(a->scratch) : -1) != BPG_OK;
		if (wrong || bpg_float_mode()) {
			printf("%-16s FAILED: %s\n", layer->name, wrong ? bpg_ctx_message(ctx) : "it changes how the thread "
			       "rounds");
			return false;
		}
	}
	printf("%-16s passed, %" PRId64 " instance%s\n", layer->name, n, n == 1 ? "" : "s");
	return true;
}

static int run(struct bpg_ctx *ctx, const struct asked *a)
{
	int tested = 0, failed = 0;
	for (int i = 0; i < bpg_layer_count(); i++) {
		const struct bpg_layer *layer = bpg_layer_get(i);
		if (!bpg_layer_source(layer) == (a->file != NULL) || (a->name && strcmp(a->name, layer->name)))
			continue;
		tested++;
		failed += !test(ctx, a, layer);
		fflush(stdout);
	}
	if (!tested) {
		bpg_fail(ctx, BPG_EUSAGE, "%s: no such layer", a->name ? a->name : "");
		return ERROR;
	}
	return failed ? FAILED : PASSED;
}

int main(int argc, char **argv)
{
	struct bpg_ctx *ctx = bpg_ctx_new();
	struct asked a = { .instances = 200 };
	int code = ERROR;

	if (argc > 1 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))) {
		usage(stdout);
		return PASSED;
	}
	if (ctx && !parse(ctx, argc, argv, &a) && (!a.file || !bpg_plugin_load(ctx, a.file))) {
		a.scratch = tmpfile();
		code = run(ctx, &a);
		if (a.scratch)
			fclose(a.scratch);
	}
	if (code == ERROR)
		fprintf(stderr, "bpgraph-layer-test: %s\n", ctx ? bpg_ctx_message(ctx) : "memory is short");
	bpg_ctx_free(ctx);
	return code;
}
