/* test_gates.c - activations that are spelled out become one node (net/pass_gate.c), PRelu with a slope per element becomes
 * Relu and linear nodes (net/pass_prelu.c), squares and normalisations are seen (net/pass_square.c, pass_norm.c,
 * pass_normalization.c), constants added to products become biases (net/pass_bias.c), slices that move are kept to indices (net/pass_window.c): the nodes of the network, and its values. */
#include <check.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "net/build.h"
#include "net/const.h"

static struct bpg_ctx *ctx;

static void setup(void)
{
	ctx = bpg_ctx_new();
	ck_assert(ctx != NULL);
}

static void teardown(void) { bpg_ctx_free(ctx); }

enum { N = 6 };               /* elements of the input, as 2 x 3 */

struct net {
	struct bpg_build b;
	struct bpg_value value[32];
	int values;
};

static void start(struct net *n)
{
	struct bpg_shape shape = { .rank = 2, .dim = { 2, 3 } };
	memset(n, 0, sizeof *n);
	ck_assert(bpg_build_start(&n->b, ctx, "test.onnx") == BPG_OK);
	ck_assert(bpg_build_input(&n->b, "x", &shape, &n->value[n->values++]) == BPG_OK);
}

static int constant(struct net *n, int count, const double *c)
{
	struct bpg_value v = { .tensor = "c", .known = true, .node = -1, .type = BPG_F32 };
	float f[N];
	for (int i = 0; i < count; i++)
		f[i] = (float)c[i];
	if (count > 1)
		v.shape = (struct bpg_shape){ .rank = 1, .dim = { count } };
	v.value = bpg_const_new(n->b.net->arena, BPG_F32, count, f);
	ck_assert(v.value != NULL);
	n->value[n->values] = v;
	return n->values++;
}

static int number(struct net *n, double c) { return constant(n, 1, &c); }

/* A node; operands by number, the last one negative. */
static int node(struct net *n, const char *op, ...)
{
	struct bpg_import im = { .ctx = ctx, .arena = n->b.net->arena, .path = "test.onnx", .name = "node", .op = op, .opset = 18,
		                 .output_count = 1 };
	const struct bpg_value *in[4];
	int nin = 0;
	va_list ap;
	va_start(ap, op);
	for (int k = va_arg(ap, int); k >= 0; k = va_arg(ap, int))
		in[nin++] = &n->value[k];
	va_end(ap);
	enum bpg_status st = bpg_build_node(&n->b, &im, bpg_layer_find("", op), nin, in, "t", &n->value[n->values]);
	ck_assert_msg(st == BPG_OK, "%s", bpg_ctx_message(ctx));
	return n->values++;
}

static const double x[N] = { -3.5, -1, -0.2, 0, 0.7, 4 };

/* Checks the operators of the network, blank separated in order, and its values; frees it. */
static void finish(struct net *n, int output, const char *ops, double (*f)(double x, int i))
{
	char found[256] = "";
	double y[N];
	ck_assert(bpg_build_output(&n->b, "y", &n->value[output]) == BPG_OK && bpg_build_finish(&n->b) == BPG_OK);
	const struct bpg_net *net = n->b.net;
	for (int i = 1; i < net->nodes; i++) {
		strncat(found, i > 1 ? " " : "", sizeof found - strlen(found) - 1);
		strncat(found, net->node[i].v.op, sizeof found - strlen(found) - 1);
	}
	ck_assert_str_eq(found, ops);
	ck_assert(bpg_net_output(ctx, net, x, y) == BPG_OK);
	for (int i = 0; i < N; i++)
		ck_assert_msg(fabs(y[i] - f(x[i], i)) <= 1e-14 * (1 + fabs(y[i])), "%s at %g: %.17g, not %.17g", ops, x[i], y[i],
		              f(x[i], i));
	bpg_net_free(n->b.net);
}

static double root_two(void) { return (float)M_SQRT2; }
static double gelu(double x, int i) { (void)i; return x * (1 + erf(x / root_two())) / 2; }
static double gelu_mul(double x, int i) { (void)i; return x * (1 + erf(x * (float)M_SQRT1_2)) / 2; }
static double minus_three_gelu(double x, int i) { return -3 * gelu(x, i); }
static double gelu_inside(double x, int i) { return gelu(2 * x + 1, i); }
static double not_gelu(double x, int i) { (void)i; return x * (2 + erf(x / root_two())); }
static double other_argument(double x, int i) { (void)i; return x * (1 + erf((x + 1) / root_two())); }
static double silu(double x, int i) { (void)i; return x / (1 + exp(-x)); }
static double quick_gelu(double x, int i) { (void)i; return x / (1 + exp(-(double)1.702f * x)); }
static double hardswish(double x, int i) { (void)i; return x * fmin(fmax(x + 3, 0), 6) / 6; }
static double mish(double x, int i) { (void)i; return x * tanh(log1p(exp(x))); }

/* x * 0.5 * (1 + erf(x / sqrt 2)) in every order. */
START_TEST(test_gelu)
{
	struct net n;
	for (int k = 0; k < 32; k++) {
		start(&n);
		bool by_mul = k & 1, swap = k & 2, swap_add = k & 4;
		int c = number(&n, by_mul ? (float)M_SQRT1_2 : root_two()), one = number(&n, 1), half = number(&n, 0.5);
		int z = by_mul ? (swap ? node(&n, "Mul", c, 0, -1) : node(&n, "Mul", 0, c, -1)) : node(&n, "Div", 0, c, -1);
		int e = node(&n, "Erf", z, -1), a = swap_add ? node(&n, "Add", one, e, -1) : node(&n, "Add", e, one, -1), y;
		switch (k >> 3) {
		case 0: /* (x (1 + erf)) 0.5: the product is twice the function, then halved */
			y = node(&n, "Mul", swap ? a : 0, swap ? 0 : a, -1);
			y = node(&n, "Mul", y, half, -1);
			finish(&n, y, "Gelu Mul Mul", by_mul ? gelu_mul : gelu);
			break;
		case 1: /* (x 0.5) (1 + erf) */
			y = node(&n, "Mul", 0, half, -1);
			y = node(&n, "Mul", swap ? a : y, swap ? y : a, -1);
			finish(&n, y, "Gelu", by_mul ? gelu_mul : gelu);
			break;
		case 2: /* x (0.5 (1 + erf)) */
			y = node(&n, "Mul", half, a, -1);
			y = node(&n, "Mul", swap ? y : 0, swap ? 0 : y, -1);
			finish(&n, y, "Gelu", by_mul ? gelu_mul : gelu);
			break;
		default: /* x (0.5 + erf 0.5) */
			y = node(&n, "Mul", e, half, -1);
			y = node(&n, "Add", half, y, -1);
			y = node(&n, "Mul", 0, y, -1);
			finish(&n, y, "Gelu", by_mul ? gelu_mul : gelu);
		}
	}
}
END_TEST

/* Factors and signs outside; arguments that are themselves sums; products that only look alike. */
START_TEST(test_gelu_around)
{
	struct net n;
	start(&n);
	int e = node(&n, "Erf", node(&n, "Div", 0, number(&n, root_two()), -1), -1), a = node(&n, "Add", e, number(&n, 1), -1);
	int y = node(&n, "Mul", node(&n, "Neg", node(&n, "Mul", 0, number(&n, 1.5), -1), -1), a, -1);
	finish(&n, y, "Gelu Mul", minus_three_gelu);

	start(&n);
	int z = node(&n, "Add", node(&n, "Mul", 0, number(&n, 2), -1), number(&n, 1), -1);
	e = node(&n, "Erf", node(&n, "Div", z, number(&n, root_two()), -1), -1);
	a = node(&n, "Add", e, number(&n, 1), -1);
	y = node(&n, "Mul", node(&n, "Mul", z, number(&n, 0.5), -1), a, -1);
	finish(&n, y, "Mul Add Gelu", gelu_inside);
}
END_TEST

/* Not one of the functions: the product stays, or is refused, but never becomes another one. */
START_TEST(test_not_gelu)
{
	for (int k = 0; k < 2; k++) {
		struct net n;
		struct bpg_import im = {
		        .ctx = ctx, .path = "test.onnx", .name = "node", .op = "Mul", .opset = 18, .output_count = 1};
		start(&n);
		int z = k ? node(&n, "Add", 0, number(&n, 1), -1) : 0;
		int e = node(&n, "Erf", node(&n, "Div", z, number(&n, root_two()), -1), -1),
		    a = node(&n, "Add", e, number(&n, 2 - k), -1);
		const struct bpg_value *in[2] = { &n.value[0], &n.value[a] };
		im.arena = n.b.net->arena;
		if (bpg_build_node(&n.b, &im, bpg_layer_find("", "Mul"), 2, in, "t", &n.value[n.values])) {
			bpg_net_free(n.b.net);
			continue;
		}
		finish(&n, n.values, k ? "Add Div Erf Add Mul" : "Div Erf Add Mul", k ? other_argument : not_gelu);
	}
}
END_TEST

START_TEST(test_others)
{
	struct net n;
	start(&n);
	finish(&n, node(&n, "Mul", 0, node(&n, "Sigmoid", 0, -1), -1), "Swish", silu);
	start(&n);
	finish(&n, node(&n, "Mul", node(&n, "Sigmoid", node(&n, "Mul", number(&n, 1.702f), 0, -1), -1), 0, -1), "Swish",
	       quick_gelu);
	start(&n);
	finish(&n, node(&n, "Mul", 0, node(&n, "Tanh", node(&n, "Softplus", 0, -1), -1), -1), "Mish", mish);
	for (int k = 0; k < 2; k++) {
		start(&n);
		int six = number(&n, 6), c = node(&n, "Clip", node(&n, "Add", number(&n, 3), 0, -1), number(&n, 0), six, -1), y;
		if (k)
			y = node(&n, "Mul", 0, node(&n, "Div", c, six, -1), -1);
		else
			y = node(&n, "Div", node(&n, "Mul", c, 0, -1), six, -1);
		finish(&n, y, k ? "HardSwish" : "HardSwish Mul Div", hardswish);
	}
}
END_TEST

/* A slope per column, and one for all. */
static const double slopes[] = { 0.25, -0.5, 1.5 };
static double prelu(double x, int i) { return x > 0 ? x : slopes[i % 3] * x; }
static double leaky(double x, int i) { (void)i; return x > 0 ? x : 0.25 * x; }

START_TEST(test_prelu)
{
	struct net n;
	start(&n);
	finish(&n, node(&n, "PRelu", 0, constant(&n, 3, slopes), -1), "Mul Relu Mul Add", prelu);
	start(&n);
	finish(&n, node(&n, "PRelu", 0, number(&n, 0.25), -1), "PRelu", leaky);
}
END_TEST

/* ---- products and quotients of a tensor with itself ---- */

static double mean_square(void)
{
	double sum = 0;
	for (int i = 0; i < N; i++)
		sum += x[i] * x[i];
	return sum / N;
}

static double square(double z, int i) { (void)i; return z * z; }
static double rms(double z, int i) { (void)i; return z / sqrt(mean_square() + 0.001f); }

/* Over the last axis: rows of three. */
static double layer_norm(double z, int i)
{
	const double *row = x + i / 3 * 3;
	double mean = (row[0] + row[1] + row[2]) / 3, var = 0;
	for (int k = 0; k < 3; k++)
		var += (row[k] - mean) * (row[k] - mean) / 3;
	return (z - mean) / sqrt(var + (double)1e-5f) * slopes[i % 3];
}

/* Width of the interval of y = z / sqrt(mean(w * w) + 0.001) over a box of width 20. */
static double width(struct net *n, int z, int w)
{
	double lower[N], upper[N], lo[N], up[N];
	int mean = node(n, "ReduceMean", node(n, "Mul", w, w, -1), -1);
	int y = node(n, "Div", z, node(n, "Sqrt", node(n, "Add", mean, number(n, 0.001), -1), -1), -1);
	for (int i = 0; i < N; i++) {
		lower[i] = -10;
		upper[i] = 10;
	}
	ck_assert(bpg_build_output(&n->b, "y", &n->value[y]) == BPG_OK && bpg_build_finish(&n->b) == BPG_OK);
	ck_assert(bpg_net_interval(ctx, n->b.net, lower, upper, lo, up) == BPG_OK);
	bpg_net_free(n->b.net);
	return up[0] - lo[0];
}

/* A square is one function; a tensor over the root of its own mean square is at most sqrt(n), over that of another it is not. */
START_TEST(test_squares)
{
	struct net n;
	start(&n);
	finish(&n, node(&n, "Mul", 0, 0, -1), "Pow", square);
	start(&n);
	int mean = node(&n, "ReduceMean", node(&n, "Mul", 0, 0, -1), -1);
	int root = node(&n, "Sqrt", node(&n, "Add", mean, number(&n, 0.001), -1), -1);
	finish(&n, node(&n, "Div", 0, root, -1), "Pow ReduceMean Add Sqrt Div", rms);

	start(&n);
	double own = width(&n, 0, 0);
	ck_assert_msg(own >= 2 * sqrt(N) && own < 2 * sqrt(N) * (1 + 1e-12), "width %.17g", own);
	start(&n);
	double other = width(&n, node(&n, "Add", 0, number(&n, 1), -1), 0);
	ck_assert_msg(other > 100, "width %.17g", other);
}
END_TEST

START_TEST(test_layer_normalization)
{
	struct net n;
	start(&n);
	finish(&n, node(&n, "LayerNormalization", 0, constant(&n, 3, slopes), -1), "ReduceMean Sub Pow ReduceMean Add Sqrt Div Mul",
	       layer_norm);
}
END_TEST

static int matrix(struct net *n, int rows, int cols, const float *c)
{
	struct bpg_value v = { .tensor = "c", .known = true, .node = -1, .type = BPG_F32, .shape = { .rank = 2, .dim = { rows, cols } } };
	v.value = bpg_const_new(n->b.net->arena, BPG_F32, rows * cols, c);
	ck_assert(v.value != NULL);
	n->value[n->values] = v;
	return n->values++;
}

static const float by_column[9] = { 1, 0, 0, 0, 2, 0, 0, 0, 3 }, by_row[4] = { 2, 0, 0, 3 }, two_rows[2] = { 5, 7 };
static const double columns[3] = { 10, 20, 30 };
static double right_bias(double x, int i) { return (1 + i % 3) * (x + 10); }
static double right_number(double x, int i) { return (1 + i % 3) * x + 4; }
static double right_rows(double x, int i) { return (1 + i % 3) * x + two_rows[i / 3]; }
static double right_twice(double x, int i) { return (1 + i % 3) * (2 * x + 10); }
static double left_bias(double x, int i) { return (2 + i / 3) * x + two_rows[i / 3]; }
static double left_columns(double x, int i) { return (2 + i / 3) * x + columns[i % 3]; }

/* A bias is one number per output of the constant matrix, or one for all; any other sum stays a node. */
START_TEST(test_bias)
{
	struct net n;
	int p;

	start(&n);
	p = node(&n, "MatMul", 0, matrix(&n, 3, 3, by_column), -1);
	finish(&n, node(&n, "Add", p, constant(&n, 3, columns), -1), "bpgraph:MatMulAdd", right_bias);
	start(&n);
	p = node(&n, "MatMul", 0, matrix(&n, 3, 3, by_column), -1);
	finish(&n, node(&n, "Add", number(&n, 4), p, -1), "bpgraph:MatMulAdd", right_number);
	start(&n);
	p = node(&n, "MatMul", 0, matrix(&n, 3, 3, by_column), -1);
	finish(&n, node(&n, "Add", p, matrix(&n, 2, 1, two_rows), -1), "MatMul Add", right_rows);
	start(&n);
	p = node(&n, "MatMul", matrix(&n, 2, 2, by_row), 0, -1);
	finish(&n, node(&n, "Add", p, matrix(&n, 2, 1, two_rows), -1), "bpgraph:MatMulAdd", left_bias);
	start(&n);
	p = node(&n, "MatMul", matrix(&n, 2, 2, by_row), 0, -1);
	finish(&n, node(&n, "Add", p, constant(&n, 3, columns), -1), "MatMul Add", left_columns);
	start(&n); /* the product has another reader */
	p = node(&n, "MatMul", 0, matrix(&n, 3, 3, by_column), -1);
	int sum = node(&n, "Add", p, constant(&n, 3, columns), -1);
	finish(&n, node(&n, "Add", sum, p, -1), "MatMul bpgraph:MatMulAdd Add", right_twice);
}
END_TEST

/* A slice at a variable position may be empty: it may be an index of updates, but no output. */
START_TEST(test_moving_slice)
{
	struct net n;
	start(&n);
	int first = node(&n, "Slice", 0, constant(&n, 2, (double[]){ 0, 0 }), constant(&n, 2, (double[]){ 1, 1 }), -1);
	int list = node(&n, "Reshape", 0, number(&n, -1), -1);
	int y = node(&n, "Slice", list, first, node(&n, "Add", first, number(&n, 2), -1), -1);
	ck_assert(n.value[y].shape.dim[0] == 2);
	ck_assert(bpg_build_output(&n.b, "y", &n.value[y]) == BPG_OK);
	ck_assert(bpg_build_finish(&n.b) == BPG_EUNSUPPORTED);
	bpg_net_free(n.b.net);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("gates");
	TCase *t = tcase_create("gates");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, test_gelu);
	tcase_add_test(t, test_gelu_around);
	tcase_add_test(t, test_not_gelu);
	tcase_add_test(t, test_others);
	tcase_add_test(t, test_prelu);
	tcase_add_test(t, test_squares);
	tcase_add_test(t, test_layer_normalization);
	tcase_add_test(t, test_bias);
	tcase_add_test(t, test_moving_slice);
	suite_add_tcase(s, t);

	SRunner *r = srunner_create(s);
	srunner_run_all(r, CK_ENV);
	int failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
