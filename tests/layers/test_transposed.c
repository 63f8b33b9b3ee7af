/* test_transposed.c - transposed convolutions against the definition of the operator, also as convolutions with elements picked
 * from them (net/pass_transposed.c): kernels, strides, pads, further places, groups, one axis and two. */
#include <check.h>
#include <math.h>
#include <string.h>

#include "base/base.h"
#include "net/build.h"
#include "net/const.h"

enum { NETS = 400, MOST = 6000 };

struct layer {
	int axes;
	int64_t groups, per_in, per_out, in[2], out[2], kernel[2], stride[2], dilation[2], pad[4], extra[2];
	double w[MOST], bias[64], x[MOST], y[MOST];
	bool biased;
};

static void draw(struct bpg_rng *rng, struct layer *t)
{
	memset(t, 0, sizeof *t);
	t->axes = 1 + (int)bpg_rng_below(rng, 2);
	t->groups = 1 + bpg_rng_below(rng, 2);
	t->per_in = 1 + bpg_rng_below(rng, 3);
	t->per_out = 1 + bpg_rng_below(rng, 3);
	t->biased = bpg_rng_below(rng, 2);
	for (int a = 0; a < 2; a++) {
		bool used = a < t->axes;
		do {
			t->in[a] = used ? 1 + bpg_rng_below(rng, 5) : 1;
			t->kernel[a] = used ? 1 + bpg_rng_below(rng, 5) : 1;
			t->stride[a] = used ? 1 + bpg_rng_below(rng, 4) : 1;
			t->dilation[a] = used && bpg_rng_below(rng, 6) == 0 ? 2 : 1;
			if (used)
				t->pad[a] = bpg_rng_below(rng, 5), t->pad[t->axes + a] = bpg_rng_below(rng, 5);
			t->extra[a] = used ? bpg_rng_below(rng, t->stride[a]) : 0;
			t->out[a] = t->stride[a] * (t->in[a] - 1) + t->extra[a] + (t->kernel[a] - 1) * t->dilation[a] + 1 - (used ? t->pad[a] + t->pad[t->axes + a] : 0);
		} while (t->out[a] < 1);
	}
}

/* Every input adds its multiple of the kernel. */
static void reference(struct bpg_rng *rng, struct layer *t)
{
	int64_t ins = t->groups * t->per_in, outs = t->groups * t->per_out, at = 0;

	for (int64_t i = 0; i < outs; i++)
		t->bias[i] = (float)bpg_rng_normal(rng);
	for (int64_t o = 0; o < outs * t->out[0] * t->out[1]; o++)
		t->y[o] = t->biased ? t->bias[o / (t->out[0] * t->out[1])] : 0;
	for (int64_t i = 0; i < ins * t->in[0] * t->in[1]; i++)
		t->x[i] = bpg_rng_normal(rng);
	for (int64_t c = 0; c < ins; c++)
		for (int64_t m = 0; m < t->per_out; m++)
			for (int64_t ky = 0; ky < t->kernel[0]; ky++)
				for (int64_t kx = 0; kx < t->kernel[1]; kx++, at++) {
					t->w[at] = (float)bpg_rng_normal(rng);
					for (int64_t p = 0; p < t->in[0] * t->in[1]; p++) {
						int64_t y = p / t->in[1] * t->stride[0] - t->pad[0] + ky * t->dilation[0];
						int64_t x = p % t->in[1] * t->stride[1] - (t->axes > 1 ? t->pad[1] : 0) + kx * t->dilation[1];
						if (y >= 0 && y < t->out[0] && x >= 0 && x < t->out[1])
							t->y[((c / t->per_in * t->per_out + m) * t->out[0] + y) * t->out[1] + x] += t->w[at] * t->x[c * t->in[0] * t->in[1] + p];
					}
				}
}

static struct bpg_value constant(struct bpg_build *b, int rank, const int64_t *dim, const double *values)
{
	struct bpg_value v = { .tensor = "c", .known = true, .node = -1, .type = BPG_F32, .shape = { .rank = rank } };

	memcpy(v.shape.dim, dim, (size_t)rank * sizeof *dim);
	v.value = bpg_const_from_double(b->net->arena, BPG_F32, bpg_shape_count(&v.shape), values);
	ck_assert_ptr_nonnull(v.value);
	return v;
}

START_TEST(test_definition)
{
	static struct layer t;
	static double y[MOST];
	struct bpg_ctx *ctx = bpg_ctx_new();
	struct bpg_rng rng;
	int plain = 0;

	bpg_rng_seed(&rng, 11);
	for (int i = 0; i < NETS; i++) {
		struct bpg_build b;
		struct bpg_value x, w, c, out;
		draw(&rng, &t);
		reference(&rng, &t);
		int64_t ins = t.groups * t.per_in, outs = t.groups * t.per_out;
		struct bpg_shape shape = { .rank = 2 + t.axes, .dim = { 1, ins, t.in[0], t.in[1] } };
		int64_t kernel[4] = { ins, t.per_out, t.kernel[0], t.kernel[1] };
		struct bpg_import_attr attr[5] = { { .name = "strides", .kind = BPG_ATTR_INTS, .n = t.axes, .ints = t.stride },
			                           { .name = "pads", .kind = BPG_ATTR_INTS, .n = 2 * t.axes, .ints = t.pad },
			                           { .name = "output_padding", .kind = BPG_ATTR_INTS, .n = t.axes, .ints = t.extra },
			                           { .name = "dilations", .kind = BPG_ATTR_INTS, .n = t.axes, .ints = t.dilation },
			                           { .name = "group", .kind = BPG_ATTR_INT, .i = t.groups } };
		struct bpg_import im = { .ctx = ctx, .path = "test.onnx", .name = "node", .op = "ConvTranspose", .opset = 13, .output_count = 1, .attrs = 5, .attr = attr };
		ck_assert(!bpg_build_start(&b, ctx, "test.onnx") && !bpg_build_input(&b, "x", &shape, &x));
		im.arena = b.net->arena;
		w = constant(&b, 2 + t.axes, kernel, t.w);
		c = constant(&b, 1, &outs, t.bias);
		const struct bpg_value *in[3] = { &x, &w, &c };
		enum bpg_status st = bpg_build_node(&b, &im, bpg_layer_find("", "ConvTranspose"), t.biased ? 3 : 2, in, "y", &out);
		ck_assert_msg(!st, "net %d: %s", i, bpg_ctx_message(ctx));
		ck_assert_int_eq(bpg_shape_count(&out.shape), outs * t.out[0] * t.out[1]);
		ck_assert(!bpg_build_output(&b, "y", &out) && !bpg_build_finish(&b));
		plain += !strcmp(b.net->node[1].v.op, "Conv");
		ck_assert_msg(!bpg_net_output(ctx, b.net, t.x, y), "%s", bpg_ctx_message(ctx));
		for (int64_t k = 0; k < b.net->out_count; k++)
			ck_assert_msg(fabs(y[k] - t.y[k]) <= 1e-9 * (1 + fabs(t.y[k])), "net %d: element %lld is %.17g, not %.17g", i, (long long)k, y[k], t.y[k]);
		bpg_net_free(b.net);
	}
	ck_assert_int_gt(plain, NETS / 2);
	bpg_ctx_free(ctx);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("transposed");
	TCase *t = tcase_create("definition");

	tcase_set_timeout(t, 60);
	tcase_add_test(t, test_definition);
	suite_add_tcase(s, t);
	SRunner *r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	int failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
