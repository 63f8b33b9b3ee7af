/* hello.c - asks whether a property of a network holds.
 *
 *   cc hello.c -o hello $(pkg-config --cflags --libs bpgraph)
 *   ./hello digits.onnx digits_six.vnnlib */
#include <bpgraph/bpgraph.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	const char *path = argc > 1 ? argv[1] : "digits.onnx", *property = argc > 2 ? argv[2] : "digits_six.vnnlib";
	struct bpg_ctx *ctx = bpg_ctx_new();
	struct bpg_net *net = NULL;
	struct bpg_question *q = NULL;
	struct bpg_result *result = NULL;

	enum bpg_status st = bpg_net_open(ctx, path, &net);
	if (!st)
		st = bpg_question_property(ctx, net, property, &q);
	if (!st)
		st = bpg_run(ctx, net, q, NULL, &result);
	if (st)
		fprintf(stderr, "hello: %s\n", bpg_ctx_message(ctx));
	else
		printf("%s: %s\n", property, bpg_verdict_word(bpg_result_verdict(result)));

	bpg_result_free(result);
	bpg_question_free(q);
	bpg_net_close(net);
	bpg_ctx_free(ctx);
	return st ? 2 : 0;
}
