/* ONNX reader: encodings, structure, and files that are damaged or hostile. Models are made here, byte by byte. */
#include <check.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "net/const.h"
#include "onnx/onnx.h"
#include "onnx_writer.h"

static struct bpg_ctx *ctx;
static struct bpg_net *net;
static char folder[64], path[128];

static void setup(void)
{
	ctx = bpg_ctx_new();
	net = NULL;
	strcpy(folder, "/tmp/bpgraph-onnx-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(folder));
	snprintf(path, sizeof path, "%s/net.onnx", folder);
}

static void teardown(void)
{
	char command[160];
	bpg_net_free(net);
	bpg_ctx_free(ctx);
	snprintf(command, sizeof command, "rm -rf '%s'", folder);
	ck_assert_int_eq(system(command), 0);
}

/* ---- help ---- */

static const int64_t four[] = { 1, 4 };

static enum bpg_status load(void)
{
	bpg_net_free(net);
	net = NULL;
	return bpg_onnx_load(ctx, path, &net);
}

/* Writes the model of the graph and loads it; the graph is freed. */
static enum bpg_status load_graph(struct ow *graph, int opset)
{
	struct ow model = ow_model(graph, opset);
	ow_write(path, model.data, model.n);
	ow_free(&model);
	return load();
}

static void must_load(struct ow *graph, int opset)
{
	enum bpg_status st = load_graph(graph, opset);
	ck_assert_msg(!st, "%s", bpg_ctx_message(ctx));
}

/* Fails with this status and one line that starts with the file and has these words. */
static void must_fail(enum bpg_status st, enum bpg_status expected, const char *words)
{
	const char *message = bpg_ctx_message(ctx);
	ck_assert_msg(st == expected, "status %d, expected %d: %s", st, expected, message);
	ck_assert_ptr_null(net);
	ck_assert_msg(!strncmp(message, path, strlen(path)), "no file in: %s", message);
	ck_assert_msg(strstr(message, words) != NULL, "no '%s' in: %s", words, message);
	ck_assert_ptr_null(strchr(message, '\n'));
}

/* X [1,4] -> Y [1,4] around the nodes that the caller adds. */
static struct ow four_in_four_out(void)
{
	struct ow g = { 0 };
	ow_add_input(&g, "X", 2, four);
	ow_add_output(&g, "Y", 2, four);
	return g;
}

/* Y = X + c for the tensor c. */
static struct ow add_tensor(struct ow tensor)
{
	struct ow g = four_in_four_out();
	ow_add_node(&g, ow_node("Add", "add", "X c", "Y"));
	ow_add_tensor(&g, tensor);
	return g;
}

static void expect_outputs(const double *x, int n, const double *y)
{
	double got[32];
	ck_assert_int_eq(net->out_count, n);
	ck_assert_msg(!bpg_net_output(ctx, net, x, got), "%s", bpg_ctx_message(ctx));
	for (int i = 0; i < n; i++)
		ck_assert_msg(got[i] == y[i], "output %d is %.17g, expected %.17g", i, got[i], y[i]);
}

static const double zeros[8];

/* ---- encodings ---- */

struct encoding {
	int type, field;          /* field 9: raw */
	int size;                 /* bytes of an element, 0: varints */
	uint64_t bits[4];
	double value[4];
};

static const struct encoding encodings[] = {
	{ OW_FLOAT, 9, 4, { 0x3fc00000, 0xc0100000, 0, 0x00000001 }, { 1.5, -2.25, 0, 0x1p-149 } },
	{ OW_FLOAT, 4, 4, { 0x3fc00000, 0xc0100000, 0, 0x7f7fffff }, { 1.5, -2.25, 0, 0x1.fffffep127 } },
	{ OW_DOUBLE, 9, 8, { 0x3ff8000000000000, 0xc002000000000000, 1, 0x3fb999999999999a }, { 1.5, -2.25, 0x1p-1074, 0.1 } },
	{ OW_DOUBLE, 10, 8, { 0x3ff8000000000000, 0xc002000000000000, 1, 0x3fb999999999999a }, { 1.5, -2.25, 0x1p-1074, 0.1 } },
	{ OW_FLOAT16, 9, 2, { 0x3e00, 0xc080, 0x0001, 0x7bff }, { 1.5, -2.25, 0x1p-24, 65504 } },
	{ OW_FLOAT16, 5, 0, { 0x3e00, 0xc080, 0x8400, 0x03ff }, { 1.5, -2.25, -0x1p-14, 0x1.ff8p-15 } },
	{ OW_BFLOAT16, 9, 2, { 0x3fc0, 0xc010, 0, 0x0001 }, { 1.5, -2.25, 0, 0x1p-133 } },
	{ OW_BFLOAT16, 5, 0, { 0x3fc0, 0xc010, 0, 0x4049 }, { 1.5, -2.25, 0, 3.140625 } },
	{ OW_INT8, 9, 1, { 1, 255, 127, 128 }, { 1, -1, 127, -128 } },
	{ OW_INT8, 5, 0, { 1, (uint64_t)-1, 127, (uint64_t)-128 }, { 1, -1, 127, -128 } },
	{ OW_UINT8, 9, 1, { 1, 255, 127, 128 }, { 1, 255, 127, 128 } },
	{ OW_UINT8, 5, 0, { 1, 255, 127, 128 }, { 1, 255, 127, 128 } },
	{ OW_INT16, 9, 2, { 1, 0xffff, 0x7fff, 0x8000 }, { 1, -1, 32767, -32768 } },
	{ OW_INT16, 5, 0, { 1, (uint64_t)-1, 32767, (uint64_t)-32768 }, { 1, -1, 32767, -32768 } },
	{ OW_UINT16, 9, 2, { 1, 0xffff, 0x7fff, 0x8000 }, { 1, 65535, 32767, 32768 } },
	{ OW_UINT16, 5, 0, { 1, 65535, 32767, 32768 }, { 1, 65535, 32767, 32768 } },
	{ OW_INT32, 9, 4, { 1, 0xffffffff, 0x7fffffff, 0x80000000 }, { 1, -1, 2147483647, -2147483648.0 } },
	{ OW_INT32, 5, 0, { 1, (uint64_t)-1, 2147483647, (uint64_t)-2147483648 }, { 1, -1, 2147483647, -2147483648.0 } },
	{ OW_UINT32, 9, 4, { 1, 0xffffffff, 0x7fffffff, 0x80000000 }, { 1, 4294967295.0, 2147483647, 2147483648.0 } },
	{ OW_UINT32, 11, 0, { 1, 0xffffffff, 0x7fffffff, 0x80000000 }, { 1, 4294967295.0, 2147483647, 2147483648.0 } },
	{ OW_INT64, 9, 8, { 1, (uint64_t)-1, 1ull << 52, (uint64_t)-5 }, { 1, -1, 0x1p52, -5 } },
	{ OW_INT64, 7, 0, { 1, (uint64_t)-1, 1ull << 52, (uint64_t)-5 }, { 1, -1, 0x1p52, -5 } },
	{ OW_UINT64, 9, 8, { 1, 2, 1ull << 52, 4 }, { 1, 2, 0x1p52, 4 } },
	{ OW_UINT64, 11, 0, { 1, 2, 1ull << 52, 4 }, { 1, 2, 0x1p52, 4 } },
	{ OW_BOOL, 9, 1, { 1, 0, 0, 1 }, { 1, 0, 0, 1 } },
	{ OW_BOOL, 5, 0, { 1, 0, 0, 1 }, { 1, 0, 0, 1 } },
	{ OW_UINT4, 9, 0, { 0x21, 0xf3 }, { 1, 2, 3, 15 } },
	{ OW_INT4, 9, 0, { 0x21, 0xf8 }, { 1, 2, -8, -1 } },
};

static struct ow encode(const struct encoding *e, bool packed)
{
	struct ow t = ow_tensor("c", e->type, 2, four), data = { 0 };
	bool four_bits = e->type == OW_UINT4 || e->type == OW_INT4;
	for (int i = 0; i < (four_bits ? 2 : 4); i++) {
		if (!packed)
			ow_varint(&t, (uint64_t)e->field << 3 | (e->size == 4 ? 5 : e->size == 8 ? 1 : 0));
		if (four_bits)
			ow_raw(&data, &e->bits[i], 1);
		else if (e->size)
			ow_raw(packed ? &data : &t, &e->bits[i], (size_t)e->size);
		else
			ow_varint(packed ? &data : &t, e->bits[i]);
	}
	if (packed)
		ow_message(&t, e->field, &data);
	return t;
}

/* Every element type, raw and typed, packed and not: the same numbers, exactly. Integers go through a Cast. */
START_TEST(test_encodings)
{
	for (int packed = 1; packed >= 0; packed--) {
		const struct encoding *e = &encodings[_i];
		if (!packed && e->field == 9)
			continue;
		struct ow g = four_in_four_out(), cast = ow_node("Cast", "", "c", "f");
		ow_attr_int(&cast, "to", OW_DOUBLE);
		ow_add_node(&g, cast);
		ow_add_node(&g, ow_node("Add", "", "X f", "Y"));
		ow_add_tensor(&g, encode(e, packed));
		must_load(&g, 21);
		expect_outputs(zeros, 4, e->value);
	}
}
END_TEST

/* Types that are not numbers we can hold are refused by name. */
START_TEST(test_refused_types)
{
	static const int64_t one[] = { 1, 1 };
	int types[] = { OW_COMPLEX64, OW_COMPLEX128, OW_STRING, 0, 17, 99, -3 };
	for (size_t i = 0; i < BPG_LEN(types); i++) {
		struct ow t = ow_tensor("c", types[i], 2, one);
		ow_bytes(&t, 9, zeros, 16);
		struct ow g = add_tensor(t);
		must_fail(load_graph(&g, 13), BPG_EUNSUPPORTED, "tensor 'c'");
	}
	struct ow t = ow_tensor("c", OW_UINT64, 2, one);
	ow_bytes(&t, 9, "\xff\xff\xff\xff\xff\xff\xff\xff", 8);
	struct ow g = add_tensor(t);
	must_fail(load_graph(&g, 13), BPG_EUNSUPPORTED, "2^63");
}
END_TEST

/* Data that does not fit the shape, sits in the wrong field, or comes twice. */
START_TEST(test_wrong_data)
{
	static const int64_t negative[] = { -1, 4 }, huge[] = { 1ll << 40, 1ll << 40 }, wrap[] = { 1ll << 32, 1ll << 32 };
	static const float values[8];
	struct ow t, g;

	for (size_t n = 0; n <= 20; n++) {
		if (n == 16)
			continue;
		t = ow_tensor("c", OW_FLOAT, 2, four);
		ow_bytes(&t, 9, values, n);
		g = add_tensor(t);
		must_fail(load_graph(&g, 13), BPG_EFILE, "its shape needs 16");
	}
	t = ow_tensor("c", OW_FLOAT, 2, four);
	ow_bytes(&t, 4, values, 12);
	g = add_tensor(t);
	must_fail(load_graph(&g, 13), BPG_EFILE, "3 elements of data, its shape needs 4");
	t = ow_tensor("c", OW_FLOAT, 2, four);
	ow_bytes(&t, 4, values, 13);
	g = add_tensor(t);
	must_fail(load_graph(&g, 13), BPG_EFILE, "damaged data");
	t = ow_tensor("c", OW_FLOAT, 2, four);
	ow_bytes(&t, 7, values, 4);
	g = add_tensor(t);
	must_fail(load_graph(&g, 13), BPG_EFILE, "does not belong to its type");
	t = ow_tensor("c", OW_FLOAT, 2, four);
	ow_bytes(&t, 4, values, 16);
	ow_bytes(&t, 9, values, 16);
	g = add_tensor(t);
	must_fail(load_graph(&g, 13), BPG_EFILE, "raw and typed");

	const int64_t *dims[] = { negative, huge, wrap };
	for (int i = 0; i < 3; i++) {
		t = ow_tensor("c", OW_FLOAT, 2, dims[i]);
		ow_bytes(&t, 9, values, 16);
		g = add_tensor(t);
		must_fail(load_graph(&g, 13), BPG_EFILE, "absurd size");
	}
	static const int64_t nine[] = { 1, 1, 1, 1, 1, 1, 1, 1, 4 };
	g = add_tensor(ow_floats("c", 9, nine, values));
	must_fail(load_graph(&g, 13), BPG_EUNSUPPORTED, "more than 8 dimensions");
}
END_TEST

/* NaN and infinities are found and named, in small tensors and in those that stay in the file. */
START_TEST(test_not_finite)
{
	static float big[4 * 32768];
	static const int64_t dims[] = { 32768, 4 };
	float small[4] = { 0, 0, NAN, 0 };
	struct ow g = add_tensor(ow_floats("c", 2, four, small));
	must_fail(load_graph(&g, 13), BPG_ENUMERIC, "tensor 'c': element 2 is NaN");
	memset(big, 0, sizeof big);
	big[100000] = -INFINITY;
	g = (struct ow){ 0 };
	ow_add_input(&g, "X", 2, (const int64_t[]){ 1, 32768 });
	ow_add_output(&g, "Y", 2, four);
	ow_add_node(&g, ow_node("MatMul", "", "X w", "Y"));
	ow_add_tensor(&g, ow_floats("w", 2, dims, big));
	must_fail(load_graph(&g, 13), BPG_ENUMERIC, "tensor 'w': element 100000 is infinite");

	struct ow constant = ow_node("Constant", "k", "", "c");
	ow_attr_float(&constant, "value_float", INFINITY);
	g = four_in_four_out();
	ow_add_node(&g, constant);
	ow_add_node(&g, ow_node("Add", "", "X c", "Y"));
	must_fail(load_graph(&g, 13), BPG_ENUMERIC, "node 'k'");
}
END_TEST

/* A large matrix is not read into memory: it is still in its file, and right. */
START_TEST(test_large_stays_in_file)
{
	enum { N = 300, M = 100 };
	static float w[N * M];
	static double x[N], y[M], got[M];
	struct ow g = { 0 };
	for (int i = 0; i < N * M; i++)
		w[i] = (float)(i % 7 - 3);
	for (int i = 0; i < N; i++)
		x[i] = i % 5;
	for (int j = 0; j < M; j++)
		for (int i = 0; i < N; i++)
			y[j] += x[i] * (double)w[i * M + j];
	for (int typed = 0; typed < 2; typed++) {
		struct ow t = ow_tensor("w", OW_FLOAT, 2, (const int64_t[]){ N, M });
		ow_bytes(&t, typed ? 4 : 9, w, sizeof w);
		ow_add_input(&g, "X", 2, (const int64_t[]){ 1, N });
		ow_add_output(&g, "Y", 2, (const int64_t[]){ 1, M });
		ow_add_node(&g, ow_node("MatMul", "", "X w", "Y"));
		ow_add_tensor(&g, t);
		must_load(&g, 13);
		ck_assert_int_eq(net->parameters, N * M);
		const struct bpg_const *c = net->node[net->output[0]].v.in[1].value;
		ck_assert(c->mem == NULL && c->fd >= 0);
		ck_assert_int_eq(bpg_net_output(ctx, net, x, got), BPG_OK);
		for (int j = 0; j < M; j++)
			ck_assert(got[j] == y[j]);
		float block[6];
		bpg_const_block_f32(c, 3, 2, M, 10, 3, block);
		for (int i = 0; i < 6; i++)
			ck_assert(block[i] == w[(3 + i / 3) * M + 10 + i % 3]);
	}
}
END_TEST

/* ---- structure ---- */

/* All forms of Constant, and shape arithmetic that folds away. */
START_TEST(test_constants_fold)
{
	static const float values[4] = { 1, 2, 3, 4 };
	static const int64_t dims[] = { 4, 1 };
	struct ow g = four_in_four_out();
	struct ow a = ow_node("Constant", "", "", "a"), b = ow_node("Constant", "", "", "b"), c = ow_node("Constant", "", "",
	                                                                                                  "c");
	struct ow d = ow_node("Constant", "", "", "d"), e = ow_node("Constant", "", "", "e"), cat = ow_node("Concat", "", "d e",
	                                                                                                    "shape");
	struct ow tensor = ow_floats("", 2, dims, values);
	ow_attr_float(&a, "value_float", 0.5f);
	ow_attr_floats(&b, "value_floats", 4, values);
	ow_attr_tensor(&c, "value", &tensor);
	ow_attr_ints(&d, "value_ints", 1, (const int64_t[]){ 1 });
	ow_attr_ints(&e, "value_ints", 1, (const int64_t[]){ -1 });
	ow_attr_int(&cat, "axis", 0);
	ow_add_node(&g, a);
	ow_add_node(&g, b);
	ow_add_node(&g, c);
	ow_add_node(&g, d);
	ow_add_node(&g, e);
	ow_add_node(&g, cat);
	ow_add_node(&g, ow_node("Reshape", "", "c shape", "flat"));
	ow_add_node(&g, ow_node("Add", "", "X a", "s"));
	ow_add_node(&g, ow_node("Add", "", "s b", "t"));
	ow_add_node(&g, ow_node("Add", "", "t flat", "Y"));
	must_load(&g, 13);
	ck_assert_int_eq(net->nodes, 4);
	expect_outputs(zeros, 4, (const double[]){ 2.5, 4.5, 6.5, 8.5 });
}
END_TEST

/* Nodes in any order, unnamed or of one name; names for messages are made. */
START_TEST(test_any_order)
{
	struct ow g = four_in_four_out();
	ow_add_node(&g, ow_node("Relu", "same", "b", "Y"));
	ow_add_node(&g, ow_node("Neg", "", "X", "a"));
	ow_add_node(&g, ow_node("Neg", "same", "c", "b"));
	ow_add_node(&g, ow_node("Neg", "same", "a", "c"));
	must_load(&g, 13);
	ck_assert_int_eq(net->nodes, 5);
	ck_assert_str_eq(net->node[1].v.name, "Neg_1");
	expect_outputs((const double[]){ 1, -2, 3, -4 }, 4, (const double[]){ 0, 2, 0, 4 });
}
END_TEST

/* Several inputs and outputs, in graph order; an output that is an input, a constant, a reshape, or stands twice. */
START_TEST(test_inputs_and_outputs)
{
	static const int64_t two[] = { 2, 2 }, one[] = { 2 };
	static const float k[2] = { 0.5, 0.25 };
	struct ow g = { 0 };
	ow_add_input(&g, "X", 2, four);
	ow_add_input(&g, "Z", 2, two);
	ow_add_output(&g, "w", 2, two);
	ow_add_output(&g, "i", 2, four);
	ow_add_output(&g, "kk", 1, one);
	ow_add_output(&g, "v", 2, two);
	ow_add_output(&g, "X", 2, four);
	ow_add_output(&g, "w", 2, two);
	ow_add_tensor(&g, ow_integers("s", 2, two));
	ow_add_tensor(&g, ow_floats("k", 1, one, k));
	ow_add_node(&g, ow_node("Relu", "", "X", "r"));
	ow_add_node(&g, ow_node("Reshape", "", "r s", "v"));
	ow_add_node(&g, ow_node("Add", "", "v Z", "w"));
	ow_add_node(&g, ow_node("Identity", "", "X", "i"));
	ow_add_node(&g, ow_node("Add", "", "k k", "kk"));
	must_load(&g, 13);
	ck_assert_int_eq(net->inputs, 2);
	ck_assert_int_eq(net->outputs, 6);
	ck_assert_str_eq(net->node[net->output[0]].read[0], "v"); /* the reshape is gone, its name is not */
	ck_assert_int_eq(net->in_first[1], 4);
	expect_outputs((const double[]){ -1, 2, -3, 4, 10, 20, 30, 40 }, 22,
	               (const double[]){ 10, 22, 30, 44, -1, 2, -3, 4, 1, 0.5, 0, 2, 0, 4, -1, 2, -3, 4, 10, 22, 30, 44 });
}
END_TEST

/* Batches: symbolic, absent, and inputs of rank 1; other symbolic sizes are refused by name. */
START_TEST(test_symbolic_sizes)
{
	static const int64_t batch[] = { -1, 4 }, zero[] = { 0, 4 }, other[] = { 1, -1 };
	for (int i = 0; i < 2; i++) {
		struct ow g = { 0 };
		ow_add_input(&g, "X", 2, i ? zero : batch);
		ow_add_output(&g, "Y", 2, batch);
		ow_add_node(&g, ow_node("Neg", "", "X", "Y"));
		must_load(&g, 13);
		ck_assert_int_eq(net->in_count, 4);
		ck_assert_int_eq(net->node[0].v.out.shape.dim[0], 1);
	}
	struct ow g = { 0 };
	ow_add_input(&g, "X", 1, &four[1]);
	ow_add_output(&g, "Y", 1, &four[1]);
	ow_add_node(&g, ow_node("Neg", "", "X", "Y"));
	must_load(&g, 13);
	ck_assert_int_eq(net->node[0].v.out.shape.rank, 1);

	g = (struct ow){ 0 };
	ow_add_input(&g, "X", 2, other);
	ow_add_output(&g, "Y", 2, other);
	ow_add_node(&g, ow_node("Neg", "", "X", "Y"));
	must_fail(load_graph(&g, 13), BPG_EUNSUPPORTED, "input 'X': axis 1 has the symbolic size 'N'");
}
END_TEST

/* Old files list initialisers among the inputs; nodes that no output needs are dropped, supported or not. */
START_TEST(test_only_what_is_needed)
{
	static const float c[4] = { 1, 2, 3, 4 };
	struct ow g = { 0 };
	ow_add_input(&g, "c", 2, four);
	ow_add_input(&g, "X", 2, four);
	ow_add_output(&g, "Y", 2, four);
	ow_add_tensor(&g, ow_floats("c", 2, four, c));
	ow_add_node(&g, ow_node("Add", "", "X c", "Y"));
	ow_add_node(&g, ow_node("Nonsense", "", "X nowhere", "dead"));
	must_load(&g, 8);
	ck_assert_int_eq(net->inputs, 1);
	ck_assert_int_eq(net->nodes, 2);
	expect_outputs(zeros, 4, (const double[]){ 1, 2, 3, 4 });
}
END_TEST

/* Split is imported once for each output that is used; second outputs of others are refused. */
START_TEST(test_several_outputs)
{
	static const int64_t sizes[] = { 1, 2, 1 };
	struct ow g = { 0 }, split = ow_node("Split", "", "X sizes", "p unused q");
	ow_add_input(&g, "X", 2, four);
	ow_add_output(&g, "Y", 2, (const int64_t[]){ 1, 1 });
	ow_attr_int(&split, "axis", 1);
	ow_add_tensor(&g, ow_integers("sizes", 3, sizes));
	ow_add_node(&g, ow_node("Sub", "", "q p", "Y"));
	ow_add_node(&g, split);
	must_load(&g, 13);
	expect_outputs((const double[]){ 1, 2, 4, 8 }, 1, (const double[]){ 7 });

	g = four_in_four_out();
	ow_add_node(&g, ow_node("Dropout", "drop", "X", "a mask"));
	ow_add_node(&g, ow_node("Add", "", "a mask", "Y"));
	must_fail(load_graph(&g, 13), BPG_EUNSUPPORTED, "node 'drop' (Dropout): its output 1 is used");
}
END_TEST

/* All unsupported operators in one line, those of other domains with the domain. */
START_TEST(test_unsupported)
{
	struct ow g = four_in_four_out(), other = ow_node("Relu", "", "a", "b");
	ow_string(&other, 7, "com.example");
	ow_add_node(&g, ow_node("Foo", "first", "X", "a"));
	ow_add_node(&g, other);
	ow_add_node(&g, ow_node("Bar", "", "b", "Y"));
	must_fail(load_graph(&g, 13), BPG_EUNSUPPORTED,
	          "3 nodes use operators outside the supported set: node 'first' (Foo), "
	          "node 'Relu_1' (com.example::Relu), node 'Bar_2' (Bar)");

	/* A description does not mind. */
	char *text = NULL;
	size_t n = 0;
	FILE *f = open_memstream(&text, &n);
	ck_assert_int_eq(bpg_onnx_describe(ctx, path, f), BPG_OK);
	fclose(f);
	ck_assert_ptr_nonnull(strstr(text, "unsupported Foo: 'first'"));
	ck_assert_ptr_nonnull(strstr(text, "unsupported com.example::Relu: 'Relu_1'"));
	free(text);
}
END_TEST

/* What passes of ours name, operators and attributes that state what was proved, a file cannot. */
START_TEST(test_internal_names)
{
	static const char *const op[] = { "ConstantValue", "bpgraph:ConstantValue", "bpgraph::ConstantValue" };
	const float c[] = { 1, 2, 3, 4 };
	for (size_t i = 0; i < 2 * BPG_LEN(op); i++) {
		struct ow g = four_in_four_out(), node = ow_node(op[i / 2], "", "c", "Y");
		ow_add_tensor(&g, ow_floats("c", 2, four, c));
		if (i & 1)
			ow_string(&node, 7, "bpgraph");
		ow_add_node(&g, node);
		must_fail(load_graph(&g, 13), BPG_EUNSUPPORTED, "outside the supported set");
	}
	const double x[] = { -1, 0, 0.5, 3 };
	double y[2][4];
	for (int i = 0; i < 2; i++) {
		struct ow g = four_in_four_out(), node = ow_node("Gelu", "", "X", "Y");
		if (i) {
			ow_attr_float(&node, "bpg_scale", 2);
			ow_attr_float(&node, "bpg_divisor", 1);
		}
		ow_add_node(&g, node);
		must_load(&g, 20);
		ck_assert_int_eq(bpg_net_output(ctx, net, x, y[i]), BPG_OK);
	}
	ck_assert_mem_eq(y[0], y[1], sizeof y[0]);
}
END_TEST

START_TEST(test_operator_sets)
{
	struct ow g;
	for (int opset = 7; opset <= 21; opset++) {
		g = four_in_four_out();
		ow_add_node(&g, ow_node("Relu", "", "X", "Y"));
		must_load(&g, opset);
		ck_assert_int_eq(net->opset, opset);
	}
	g = four_in_four_out();
	ow_add_node(&g, ow_node("Relu", "", "X", "Y"));
	must_fail(load_graph(&g, 0), BPG_EFILE, "opset_import");
	g = four_in_four_out();
	ow_add_node(&g, ow_node("Relu", "", "X", "Y"));
	must_fail(load_graph(&g, 6), BPG_EUNSUPPORTED, "operator set 6, supported are 7 to 21");
}
END_TEST

/* ---- damaged graphs ---- */

START_TEST(test_broken_graphs)
{
	static const float c[4];
	struct ow g = four_in_four_out();
	ow_add_node(&g, ow_node("Add", "one", "X b", "a"));
	ow_add_node(&g, ow_node("Neg", "two", "a", "b"));
	ow_add_node(&g, ow_node("Neg", "", "b", "Y"));
	must_fail(load_graph(&g, 13), BPG_EFILE, "cycle ('two', 'one')");

	g = four_in_four_out();
	ow_add_node(&g, ow_node("Add", "self", "X Y", "Y"));
	must_fail(load_graph(&g, 13), BPG_EFILE, "cycle ('self')");

	g = four_in_four_out();
	ow_add_node(&g, ow_node("Add", "n", "X nowhere", "Y"));
	must_fail(load_graph(&g, 13), BPG_EFILE, "node 'n' (Add): reads tensor 'nowhere'");

	g = four_in_four_out();
	must_fail(load_graph(&g, 13), BPG_EFILE, "output 'Y' is made by no node");

	g = four_in_four_out();
	ow_add_node(&g, ow_node("Neg", "", "X", "Y"));
	ow_add_node(&g, ow_node("Relu", "", "X", "Y"));
	must_fail(load_graph(&g, 13), BPG_EFILE, "tensor 'Y' is defined twice");

	g = add_tensor(ow_floats("c", 2, four, c));
	ow_add_tensor(&g, ow_floats("c", 2, four, c));
	must_fail(load_graph(&g, 13), BPG_EFILE, "tensor 'c' is defined twice");

	g = four_in_four_out();
	ow_add_node(&g, ow_node("Neg", "", "X", "X"));
	must_fail(load_graph(&g, 13), BPG_EFILE, "tensor 'X' is defined twice");

	g = (struct ow){ 0 };
	ow_add_input(&g, "X", 2, four);
	ow_add_node(&g, ow_node("Neg", "", "X", "Y"));
	must_fail(load_graph(&g, 13), BPG_EFILE, "no outputs");

	struct ow fill = ow_node("ConstantOfShape", "fill", "s", "c");
	g = four_in_four_out();
	ow_add_tensor(&g, ow_integers("s", 2, (const int64_t[]){ 1 << 16, 1 << 16 }));
	ow_add_node(&g, fill);
	ow_add_node(&g, ow_node("ReduceSum", "", "c", "k"));
	ow_add_node(&g, ow_node("Add", "", "X k", "Y"));
	must_fail(load_graph(&g, 13), BPG_EUNSUPPORTED, "node 'fill' (ConstantOfShape): its constant value is too large");
}
END_TEST

/* A chain of 200000 nodes, last one first: no recursion, no quadratic search. */
START_TEST(test_long_chain)
{
	enum { N = 200000 };
	struct ow g = { 0 };
	char a[32], b[32];
	ow_add_input(&g, "t0", 2, four);
	snprintf(a, sizeof a, "t%d", N);
	ow_add_output(&g, a, 2, four);
	for (int i = N; i > 0; i--) {
		snprintf(a, sizeof a, "t%d", i - 1);
		snprintf(b, sizeof b, "t%d", i);
		ow_add_node(&g, ow_node("Neg", "", a, b));
	}
	must_load(&g, 13);
	ck_assert_int_eq(net->nodes, N + 1);
	expect_outputs((const double[]){ 1, 2, 3, 4 }, 4, (const double[]){ 1, 2, 3, 4 });
}
END_TEST

/* ---- damaged files ---- */

static struct ow small_model(void)
{
	static const float w[16] = { 1, 2, 3 }, b[4];
	static const int64_t dims[] = { 4, 4 };
	struct ow g = four_in_four_out(), gemm = ow_node("Gemm", "g", "X w b", "h");
	ow_attr_float(&gemm, "alpha", 2);
	ow_attr_int(&gemm, "transB", 1);
	ow_add_node(&g, gemm);
	ow_add_node(&g, ow_node("Relu", "", "h", "Y"));
	ow_add_tensor(&g, ow_floats("w", 2, dims, w));
	ow_add_tensor(&g, ow_floats("b", 1, dims, b));
	return ow_model(&g, 13);
}

/* Cut at every byte: always one line that names the file. */
START_TEST(test_truncated)
{
	struct ow m = small_model();
	for (size_t n = 0; n < m.n; n++) {
		ow_write(path, m.data, n);
		must_fail(load(), BPG_EFILE, "");
	}
	ow_write(path, m.data, m.n);
	ck_assert_int_eq(load(), BPG_OK);
	ow_free(&m);
}
END_TEST

/* Bytes changed at random: an error, or a network that runs. */
START_TEST(test_flipped_bytes)
{
	struct ow m = small_model();
	struct bpg_rng rng;
	double y[64];
	bpg_rng_seed(&rng, 11);
	for (int i = 0; i < 4000; i++) {
		uint8_t *copy = malloc(m.n);
		memcpy(copy, m.data, m.n);
		for (int64_t k = 1 + bpg_rng_below(&rng, 3); k > 0; k--)
			copy[bpg_rng_below(&rng, (int64_t)m.n)] = (uint8_t)bpg_rng_next(&rng);
		ow_write(path, copy, m.n);
		free(copy);
		if (load())
			ck_assert(!strncmp(bpg_ctx_message(ctx), path, strlen(path)));
		else if (net->in_count <= 8 && net->out_count <= 64)
			bpg_net_output(ctx, net, zeros, y);
	}
	ow_free(&m);
}
END_TEST

START_TEST(test_no_model)
{
	ow_write(path, "", 0);
	must_fail(load(), BPG_EFILE, "is empty");
	ow_write(path, "hello, world\n", 13);
	must_fail(load(), BPG_EFILE, "not an ONNX model");
	ow_write(path, "\x08\x08", 2);
	must_fail(load(), BPG_EFILE, "holds no graph");
	unlink(path);
	must_fail(load(), BPG_EFILE, "No such file");
	ck_assert_int_eq(mkdir(path, 0700), 0);
	must_fail(load(), BPG_EFILE, "is a directory");
	rmdir(path);
	ck_assert_int_eq(mkfifo(path, 0600), 0); /* must not wait for a writer */
	must_fail(load(), BPG_EFILE, "not a regular file");
	unlink(path);
	strcpy(path + strlen(path), ".gz");
	ow_write(path, "\x1f\x8b\x08\x00garbage", 11);
	must_fail(load(), BPG_EFILE, "");
}
END_TEST

/* Messages inside messages, 100000 deep: in a subgraph, in a type, and where nothing belongs. */
START_TEST(test_deep_nesting)
{
	static const int fields[][2] = { { 7, 1 }, { 1, 5 }, { 6, 1 }, { 11, 2 }, { 4, 1 }, { 20, 20 } };
	enum { DEPTH = 100000 };
	for (size_t i = 0; i < BPG_LEN(fields); i++) {
		/* From the inside out, written backwards: a length and a tag before what there is. */
		uint8_t *data = malloc(8 * DEPTH), *at = data + 8 * DEPTH;
		for (int d = 0; d < DEPTH; d++) {
			size_t n = (size_t)(data + 8 * DEPTH - at);
			struct ow head = { 0 };
			ow_varint(&head, (uint64_t)(d == DEPTH - 1 ? 7 : fields[i][d % 2]) << 3 | 2);
			ow_varint(&head, n);
			at -= head.n;
			memcpy(at, head.data, head.n);
			ow_free(&head);
		}
		ow_write(path, at, (size_t)(data + 8 * DEPTH - at));
		free(data);
		must_fail(load(), BPG_EFILE, "");
	}
}
END_TEST

/* Lengths that are not there, varints without an end, groups, fields of number 0. */
START_TEST(test_bad_wire)
{
	static const struct {
		const char *bytes;
		size_t n;
	} cases[] = {
		{ "\x3a\xff\xff\xff\xff\x0f", 6 }, { "\x3a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11 },
		{ "\x3a\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff",
		  12 }, { "\x08\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", 13 },
		{ "\x3b\x3c", 2 }, { "\x02\x00", 2 }, { "\x3a\x02\x0a\x05", 4 }, { "\x3a\x00\x3a\x00", 4 }, { "\x38\x00", 2 },
		{ "\xff\xff\xff\xff\xff\x01\x00", 7 }, { "\x3d\x00\x00", 3 }, { "\x39\x00", 2 },
	};
	for (size_t i = 0; i < BPG_LEN(cases); i++) {
		ow_write(path, cases[i].bytes, cases[i].n);
		must_fail(load(), BPG_EFILE, "");
	}
	/* Far more messages than a model can have are refused before memory is spent on them. */
	size_t n = 6 << 20;
	uint8_t *many = malloc(n + 16);
	struct ow head = { 0 };
	ow_varint(&head, 7 << 3 | 2);
	ow_varint(&head, n);
	memcpy(many, head.data, head.n);
	for (size_t i = 0; i < n; i += 2)
		memcpy(many + head.n + i, "\x0a\x00", 2);
	ow_write(path, many, head.n + n);
	must_fail(load(), BPG_EUNSUPPORTED, "million parts");
	ow_free(&head);
	free(many);
}
END_TEST

/* ---- external data ---- */

static enum bpg_status load_external(const char *location, const char *offset, const char *length)
{
	struct ow g = add_tensor(ow_external("c", 2, four, location, offset, length));
	return load_graph(&g, 13);
}

static const char *beside(const char *name)
{
	static char at[256];
	snprintf(at, sizeof at, "%s/%s", folder, name);
	return at;
}

START_TEST(test_external)
{
	static const float data[8] = { 9, 1, 2, 3, 4, 9, 9, 9 };
	ow_write(beside("w.data"), data, sizeof data);
	ck_assert_msg(!load_external("w.data", "4", "16"), "%s", bpg_ctx_message(ctx));
	expect_outputs(zeros, 4, (const double[]){ 1, 2, 3, 4 });
	ck_assert_int_eq(load_external("./w.data", "4", NULL), BPG_OK);
	ck_assert_int_eq(mkdir(beside("sub"), 0700), 0);
	ow_write(beside("sub/v.data"), data, sizeof data);
	ck_assert_int_eq(load_external("sub/v.data", NULL, "16"), BPG_OK);
	expect_outputs(zeros, 4, (const double[]){ 9, 1, 2, 3 });

	must_fail(load_external("w.data", "20", "16"), BPG_EFILE, "needs bytes 20 to 36");
	must_fail(load_external("w.data", "999999999999999999", NULL), BPG_EFILE, "w.data");
	must_fail(load_external("w.data", "99999999999999999999999", NULL), BPG_EFILE, "no number");
	must_fail(load_external("w.data", "-4", NULL), BPG_EFILE, "no number");
	must_fail(load_external("w.data", "0", "12"), BPG_EFILE, "its shape needs 16");
	must_fail(load_external("gone.data", NULL, NULL), BPG_EFILE, "'gone.data': No such file");
	must_fail(load_external("sub", NULL, NULL), BPG_EFILE, "directory");
	must_fail(load_external(NULL, NULL, NULL), BPG_EFILE, "without a location");
}
END_TEST

/* No path leads out of the folder of the model. */
START_TEST(test_external_escape)
{
	static const char *const out[] = { "/etc/passwd", "../x", "..", "sub/../../x", "a/..", "", "link", "sub/link",
	                                   "linkdir/passwd" };
	ck_assert_int_eq(mkdir(beside("sub"), 0700), 0);
	ck_assert_int_eq(symlink("/etc/passwd", beside("link")), 0);
	ck_assert_int_eq(symlink("/etc/passwd", beside("sub/link")), 0);
	ck_assert_int_eq(symlink("/etc", beside("linkdir")), 0);
	for (size_t i = 0; i < BPG_LEN(out); i++)
		must_fail(load_external(out[i], NULL, NULL), BPG_EFILE, "leads out of the model's folder");

	/* A folder whose name begins like that of the model's is another folder. */
	char other[128], link[160];
	snprintf(other, sizeof other, "%sx", folder);
	ck_assert_int_eq(mkdir(other, 0700), 0);
	snprintf(link, sizeof link, "%s/w.data", other);
	ow_write(link, zeros, 64);
	ck_assert_int_eq(symlink(link, beside("near")), 0);
	must_fail(load_external("near", NULL, NULL), BPG_EFILE, "leads out of the model's folder");
	unlink(link);
	rmdir(other);

	/* A link that stays inside is fine. */
	ow_write(beside("w.data"), zeros, 64);
	ck_assert_int_eq(symlink("../w.data", beside("sub/inside")), 0);
	ck_assert_int_eq(load_external("sub/inside", NULL, NULL), BPG_OK);
}
END_TEST

/* ---- runs ---- */

/* On one point the outward interval holds the value, in double and in float. The gradient is that of differences. */
START_TEST(test_runs_agree)
{
	static const float w[16] = { 0.1f, -0.2f, 0.3f, 0.7f, 0.5f, -0.6f, 0.7f, 0.8f, -0.9f, 1, 1.1f, -1.2f, 1.3f, 1.4f, -1.5f,
	                             1.6f };
	static const int64_t dims[] = { 4, 4 };
	double x[4] = { 0.3, -0.7, 0.9, 0.1 }, y[4], lo[4], up[4], gx[4], plus[4], minus[4];
	float xf[4] = { 0.3f, -0.7f, 0.9f, 0.1f }, yf[4];
	const double gy[4] = { 1, -2, 0.5, 3 };
	struct ow g = four_in_four_out();
	ow_add_tensor(&g, ow_floats("w", 2, dims, w));
	ow_add_node(&g, ow_node("MatMul", "", "X w", "a"));
	ow_add_node(&g, ow_node("Relu", "", "a", "b"));
	ow_add_node(&g, ow_node("Add", "", "b X", "c"));
	ow_add_node(&g, ow_node("Add", "", "c c", "Y"));
	must_load(&g, 13);
	ck_assert_int_eq(bpg_net_output(ctx, net, x, y), BPG_OK);
	ck_assert_int_eq(bpg_net_output_f32(ctx, net, xf, yf), BPG_OK);
	ck_assert_int_eq(bpg_net_interval(ctx, net, x, x, lo, up), BPG_OK);
	for (int i = 0; i < 4; i++) {
		ck_assert(lo[i] <= y[i] && y[i] <= up[i] && up[i] - lo[i] < 1e-13);
		ck_assert(fabs((double)yf[i] - y[i]) < 1e-6);
	}
	struct bpg_arena *arena = bpg_arena_new();
	double *value[16] = { 0 };
	ck_assert_int_le(net->nodes, 16);
	ck_assert_int_eq(bpg_net_eval(ctx, net, x, arena, value), BPG_OK);
	ck_assert_int_eq(bpg_net_gradient(ctx, net, value, gy, gx), BPG_OK);
	for (int i = 0; i < 4; i++) {
		double h = 1e-6, keep = x[i], slope = 0;
		x[i] = keep + h;
		bpg_net_output(ctx, net, x, plus);
		x[i] = keep - h;
		bpg_net_output(ctx, net, x, minus);
		x[i] = keep;
		for (int k = 0; k < 4; k++)
			slope += gy[k] * (plus[k] - minus[k]) / (2 * h);
		ck_assert_msg(fabs(slope - gx[i]) < 1e-7, "%g %g", slope, gx[i]); /* no kink is near */
	}
	bpg_arena_free(arena);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("onnx");
	TCase *t = tcase_create("onnx");
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_set_timeout(t, 60);
	tcase_add_loop_test(t, test_encodings, 0, (int)BPG_LEN(encodings));
	tcase_add_test(t, test_refused_types);
	tcase_add_test(t, test_wrong_data);
	tcase_add_test(t, test_not_finite);
	tcase_add_test(t, test_large_stays_in_file);
	tcase_add_test(t, test_constants_fold);
	tcase_add_test(t, test_any_order);
	tcase_add_test(t, test_inputs_and_outputs);
	tcase_add_test(t, test_symbolic_sizes);
	tcase_add_test(t, test_only_what_is_needed);
	tcase_add_test(t, test_several_outputs);
	tcase_add_test(t, test_unsupported);
	tcase_add_test(t, test_internal_names);
	tcase_add_test(t, test_operator_sets);
	tcase_add_test(t, test_broken_graphs);
	tcase_add_test(t, test_long_chain);
	tcase_add_test(t, test_truncated);
	tcase_add_test(t, test_flipped_bytes);
	tcase_add_test(t, test_no_model);
	tcase_add_test(t, test_deep_nesting);
	tcase_add_test(t, test_bad_wire);
	tcase_add_test(t, test_external);
	tcase_add_test(t, test_external_escape);
	tcase_add_test(t, test_runs_agree);
	suite_add_tcase(s, t);
	SRunner *r = srunner_create(s);
	srunner_run_all(r, CK_ENV);
	int failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
