/* Several regions of one network bounded together: each gets the bounds it gets alone, up to rounding, and the rows' linear
 * bounds over the inputs hold at sampled points. */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "builder.h"
#include "outcome.h"
#include "require.h"

enum { SEGMENTS = 5, NETS = 8, MOST_INPUTS = 64, POINTS = 40 };

static int dense_net(struct build *b)
{
	int x = build_vector(b, 2 + build_below(b, 5)), layers = 1 + build_below(b, 3);

	for (int i = 0; i < layers; i++)
		x = build_unary(b, (const char *const[]){ "Relu", "Relu", "Sigmoid", "LeakyRelu" }[build_below(b, 4)], build_dense(b, x, 3 + build_below(b, 25), NULL, NULL));
	int y = build_unary(b, "Relu", build_dense(b, x, build_count(b, x), NULL, NULL));
	return build_dense(b, build_join(b, "Add", x, y), 3, NULL, NULL);
}

/* Layers whose planes are sparse and differ from region to region. */
static int product_net(struct build *b)
{
	int x = build_vector(b, 2 + build_below(b, 4)), width = 2 + build_below(b, 6);
	int y = build_unary(b, "Relu", build_dense(b, x, width, NULL, NULL)), z = build_dense(b, x, width, NULL, NULL);
	int p = build_join(b, (const char *const[]){ "Mul", "Mul", "Max", "Min" }[build_below(b, 4)], y, z);

	if (build_below(b, 2))
		p = build_unary(b, "Softmax", p);
	return build_dense(b, build_unary(b, "Relu", build_dense(b, p, 4, NULL, NULL)), 2, NULL, NULL);
}

static int pooled_net(struct build *b)
{
	struct build_window w = { { 3, 3 }, { 1, 1 }, { 1, 1, 1, 1 }, { 1, 1 } }, pool = { { 3, 3 }, { 2, 2 }, { 1, 1, 1, 1 }, { 1, 1 } };
	int x = build_input(b, 4, (int64_t[]){ 1, 1, 6, 6 });
	int y = build_pool(b, "MaxPool", build_conv(b, x, 2, 1, &w, NULL, NULL), &pool, false);

	y = build_unary(b, "Relu", build_conv(b, y, 2, 1, &w, NULL, NULL));
	return build_dense(b, build_flatten(b, y), 2, NULL, NULL);
}

static int image_net(struct build *b)
{
	struct build_window w = { { 3, 3 }, { 1, 1 }, { 1, 1, 1, 1 }, { 1, 1 } }, half = { { 3, 3 }, { 2, 2 }, { 1, 1, 1, 1 }, { 1, 1 } };
	int x = build_input(b, 4, (int64_t[]){ 1, 1, 6, 6 });
	int y = build_unary(b, "Relu", build_conv(b, x, 2 + build_below(b, 3), 1, &half, NULL, NULL));
	int z = build_conv(b, build_unary(b, "Relu", build_conv(b, y, b->t[y].dim[1], 1, &w, NULL, NULL)), b->t[y].dim[1], 1, &w, NULL, NULL);

	z = build_unary(b, "Relu", build_join(b, "Add", y, z));
	return build_dense(b, build_unary(b, "Relu", build_dense(b, build_flatten(b, z), 10, NULL, NULL)), 2, NULL, NULL);
}

static double row_at(const struct bpg_net *net, struct bpg_ctx *ctx, const struct bpg_question_row *row, const double *x)
{
	struct bpg_arena *arena = bpg_arena_new();
	double **value = bpg_arena_alloc(arena, (size_t)net->nodes + 1, sizeof *value), sum = row->offset;

	REQUIRE(!bpg_net_eval(ctx, net, x, arena, value), "%s", bpg_ctx_message(ctx));
	for (int t = 0; t < row->n; t++)
		sum += row->coef[t] * value[net->output[0]][row->index[t]];
	bpg_arena_free(arena);
	return sum;
}

static void close_to(double a, double b, uint64_t seed, const char *what)
{
	REQUIRE(a == b || fabs(a - b) <= 2e-5 * (1 + fabs(a)), "seed %llu: %s: %.17g together, %.17g alone", (unsigned long long)seed, what, a, b);
}

static int (*const kind[])(struct build *) = { dense_net, image_net, product_net, pooled_net };
enum { KINDS = sizeof kind / sizeof *kind };

static void try_net(struct bpg_ctx *ctx, struct bpg_rt *rt, uint64_t seed, int which)
{
	double lo[SEGMENTS][MOST_INPUTS], up[SEGMENTS][MOST_INPUTS], *planes, lower[2 * SEGMENTS], upper[2 * SEGMENTS], x[MOST_INPUTS];
	struct bpg_question_row row[2] = { { .n = 2, .index = (int64_t[]){ 0, 1 }, .coef = (double[]){ 1, -1 }, .offset = 0.25 },
		                           { .n = 1, .index = (int64_t[]){ 1 }, .coef = (double[]){ -2 } } };
	struct bpg_bound_options o = outcome_options(BPG_METHOD_CROWN, false);
	struct bpg_region region[SEGMENTS];
	struct bpg_model *m;
	struct bpg_net *net;
	struct build b;

	build_start(&b, seed);
	build_output(&b, kind[which](&b));
	REQUIRE(!build_net(&b, ctx, &net), "seed %llu: %s", (unsigned long long)seed, bpg_ctx_message(ctx));
	int64_t n = net->in_count;
	for (int s = 0; s < SEGMENTS; s++) {
		double radius = build_uniform(&b, 0, 0.4);
		for (int64_t i = 0; i < n; i++) {
			double c = build_uniform(&b, -1, 1), r = build_below(&b, 6) ? radius : 0;
			lo[s][i] = c - r, up[s][i] = c + r;
		}
		region[s] = (struct bpg_region){ .n = n, .lo = lo[s], .up = up[s] };
	}
	planes = calloc((size_t)(2 * SEGMENTS * (n + 1)), sizeof *planes);
	o.segments = SEGMENTS;
	o.sides = 1;
	o.input_planes = planes;
	REQUIRE(!bpg_model_new(ctx, net, rt, region, &o, &m) && !bpg_bounds(ctx, m, row, 2, lower, upper), "seed %llu: %s", (unsigned long long)seed, bpg_ctx_message(ctx));
	o.segments = 1;
	o.input_planes = NULL;
	for (int s = 0; s < SEGMENTS; s++) {
		struct outcome alone;
		REQUIRE(!outcome_run(&alone, ctx, rt, net, &region[s], &o, row, 2), "seed %llu: %s", (unsigned long long)seed, bpg_ctx_message(ctx));
		for (int k = 0; k < m->nodes; k++)
			for (int64_t i = 0; i < m->node[k].columns.n; i++) {
				close_to(bpg_segment_field(&m->node[k], BPG_LOWER, s)[i], bpg_field(&alone.m->node[k], BPG_LOWER)[i], seed, "lower bound");
				close_to(bpg_segment_field(&m->node[k], BPG_UPPER, s)[i], bpg_field(&alone.m->node[k], BPG_UPPER)[i], seed, "upper bound");
			}
		for (int r = 0; r < 2; r++)
			close_to(lower[2 * s + r], alone.lower[r], seed, "row");
		const double *centre = bpg_segment_field(&m->node[0], BPG_CENTRE, s);
		for (int p = 0; p < POINTS; p++) {
			for (int64_t i = 0; i < n; i++)
				x[i] = lo[s][i] + (p < 4 ? build_below(&b, 2) : build_uniform(&b, 0, 1)) * (up[s][i] - lo[s][i]);
			for (int r = 0; r < 2; r++) {
				const double *a = planes + (2 * s + r) * (n + 1);
				double at = a[n], value = row_at(net, ctx, &row[r], x);
				for (int64_t i = 0; i < n; i++)
					at += a[i] * (x[i] - centre[i]);
				REQUIRE(value >= lower[2 * s + r] - 1e-9 && value >= at - 1e-9 * (1 + fabs(at)), "seed %llu: row %d is %.17g, its plane %.17g, its bound %.17g",
				        (unsigned long long)seed, r, value, at, lower[2 * s + r]);
			}
		}
		outcome_fini(&alone);
	}
	bpg_model_free(m);
	bpg_net_free(net);
	free(planes);
}

START_TEST(test_together)
{
	struct bpg_rt_options two = { .workers = 2, .owners = 1 };
	struct bpg_ctx *ctx = bpg_ctx_new();
	struct bpg_rt *rt;

	REQUIRE(!bpg_rt_start(ctx, &two, &rt), "%s", bpg_ctx_message(ctx));
	for (uint64_t seed = 1; seed <= NETS; seed++)
		try_net(ctx, rt, seed + 100 * (uint64_t)_i, _i);
	bpg_rt_stop(rt);
	bpg_ctx_free(ctx);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("segments");
	TCase *t = tcase_create("together");

	tcase_set_timeout(t, 300);
	tcase_add_loop_test(t, test_together, 0, KINDS);
	suite_add_tcase(s, t);
	SRunner *r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	int failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
