/* Writes a network on which a run takes long: make_net OUT.onnx INPUTS WIDTH LAYERS OUTPUTS. All hidden layers share one
 * matrix, so that the file stays small; its rows are short enough that deep networks do not overflow. */
#include <stdio.h>
#include <stdlib.h>

#include <bpgraph/layer.h>

#include "base/base.h"

#include "../unit/onnx_writer.h"

static void add_matrix(struct ow *g, struct bpg_rng *rng, const char *name, int64_t in, int64_t out)
{
	int64_t dim[2] = { in, out };
	float *w = malloc((size_t)(in * out) * sizeof *w);
	if (!w)
		exit(99);
	for (int64_t i = 0; i < in * out; i++)
		w[i] = (float)((4 * bpg_rng_uniform(rng) - 2) / (double)in);
	ow_add_tensor(g, ow_floats(name, 2, dim, w));
	free(w);
}

int main(int argc, char **argv)
{
	if (argc != 6)
		return 99;
	int64_t in = atoll(argv[2]), width = atoll(argv[3]), layers = atoll(argv[4]), out = atoll(argv[5]);
	int64_t x[2] = { 1, in }, y[2] = { 1, out };
	struct ow g = { 0 };
	struct bpg_rng rng;
	char from[32], to[32], pair[48];

	bpg_rng_seed(&rng, 1);
	ow_add_input(&g, "x", 2, x);
	ow_add_output(&g, "y", 2, y);
	add_matrix(&g, &rng, "first", in, width);
	add_matrix(&g, &rng, "hidden", width, width);
	add_matrix(&g, &rng, "last", width, out);
	ow_add_node(&g, ow_node("MatMul", "", "x first", "h0"));
	for (int i = 0; i < layers; i++) {
		snprintf(from, sizeof from, "h%d", i);
		snprintf(to, sizeof to, "r%d", i);
		ow_add_node(&g, ow_node("Relu", "", from, to));
		snprintf(pair, sizeof pair, "%s hidden", to);
		snprintf(to, sizeof to, "h%d", i + 1);
		ow_add_node(&g, ow_node("MatMul", "", pair, to));
	}
	snprintf(pair, sizeof pair, "h%d last", (int)layers);
	ow_add_node(&g, ow_node("MatMul", "", pair, "y"));
	struct ow model = ow_model(&g, 13);
	ow_write(argv[1], model.data, model.n);
	ow_free(&model);
	return 0;
}
