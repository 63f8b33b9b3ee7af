/* Contraction: no point that meets the rows is lost, whatever layers lie between; clauses of a satisfiability problem are propagated as a
 * solver of such problems would; a sum that is exact in double is seen to be. */
#include <check.h>
#include <math.h>
#include <stdlib.h>

#include "builder.h"
#include "graph/contract.h"
#include "require.h"

enum { INPUTS = 4, OUTPUTS = 2, POINTS = 600 };

static struct bpg_net *draw(struct bpg_ctx *ctx, uint64_t seed)
{
	static const char *const unary[] = { "Relu", "Tanh", "Abs", "LeakyRelu", "Sigmoid", "Exp" };
	struct bpg_net *net;
	struct build b;

	build_start(&b, seed);
	int x = build_vector(&b, INPUTS);
	int y = build_unary(&b, unary[seed % BPG_LEN(unary)], build_dense(&b, x, 6, NULL, NULL));
	int z = seed % 3 ? y : build_unary(&b, unary[seed / 3 % BPG_LEN(unary)], build_dense(&b, y, 6, NULL, NULL));
	float sum[6 * OUTPUTS], zero[OUTPUTS] = { 0 };
	if (seed % 2)
		z = build_join(&b, seed % 4 == 1 ? "Add" : "Mul", y, z);
	for (int i = 0; i < 6 * OUTPUTS; i++) /* of one sign: intervals of such sums are narrow */
		sum[i] = (float)build_uniform(&b, 0, 1);
	build_output(&b, build_dense(&b, z, OUTPUTS, sum, zero));
	REQUIRE(!build_net(&b, ctx, &net), "%s", bpg_ctx_message(ctx));
	return net;
}

static void sample(struct bpg_ctx *ctx, const struct bpg_net *net, struct bpg_rng *rng, struct bpg_arena *arena, double **value, double *x, double *y)
{
	for (int i = 0; i < INPUTS; i++)
		x[i] = bpg_rng_below(rng, 4) ? 2 * bpg_rng_uniform(rng) - 1 : bpg_rng_below(rng, 2) ? -1 : 1;
	REQUIRE(!bpg_net_eval(ctx, net, x, arena, value), "%s", bpg_ctx_message(ctx));
	for (int r = 0; r < OUTPUTS; r++)
		y[r] = value[net->output[0]][r];
}

START_TEST(test_keeps)
{
	struct bpg_ctx *ctx = bpg_ctx_new();
	double one = 1, err = 0x1p-40;
	int64_t index[OUTPUTS] = { 0, 1 };
	int cut = 0, none = 0;

	for (uint64_t seed = 1; seed <= 60; seed++) {
		struct bpg_net *net = draw(ctx, seed);
		struct bpg_arena *arena = bpg_arena_new();
		struct bpg_contractor *c;
		struct bpg_rng rng;
		double **value = bpg_arena_alloc(arena, (size_t)net->nodes + 1, sizeof *value), x[INPUTS], y[OUTPUTS], least[OUTPUTS] = { INFINITY, INFINITY };

		REQUIRE(!bpg_contractor_new(ctx, net, 1 << 20, &c) && c, "seed %llu: %s", (unsigned long long)seed, bpg_ctx_message(ctx));
		bpg_rng_seed(&rng, seed);
		for (int p = 0; p < POINTS; p++) {
			sample(ctx, net, &rng, arena, value, x, y);
			for (int r = 0; r < OUTPUTS; r++)
				least[r] = fmin(least[r], y[r]);
		}
		for (int trial = 0; trial < 5; trial++) {
			struct bpg_row row[OUTPUTS];
			struct bpg_disjunct d = { .rows = OUTPUTS, .row = row };
			double lo[INPUTS], up[INPUTS];
			for (int i = 0; i < INPUTS; i++)
				lo[i] = -1, up[i] = 1;
			for (int r = 0; r < OUTPUTS; r++) /* "the output is at most a little more than the least that was met" */
				row[r] = (struct bpg_row){ .n = 1, .index = &index[r], .coef = &one, .coef_err = &err, .offset = -(least[r] + (trial - 1) * 0.3) };
			bool some = bpg_contract(c, &d, lo, up);
			for (int i = 0; some && i < INPUTS; i++)
				cut += lo[i] > -1 || up[i] < 1;
			none += !some;
			bpg_rng_seed(&rng, seed);
			for (int p = 0; p < POINTS; p++) {
				sample(ctx, net, &rng, arena, value, x, y);
				bool in = some, meets = true;
				for (int r = 0; r < OUTPUTS; r++)
					meets = meets && y[r] + row[r].offset <= -1e-9;
				for (int i = 0; in && i < INPUTS; i++)
					in = x[i] >= lo[i] && x[i] <= up[i];
				REQUIRE(in || !meets, "seed %llu, trial %d: a point is lost", (unsigned long long)seed, trial);
			}
		}
		bpg_contractor_free(c);
		bpg_arena_free(arena);
		bpg_net_free(net);
	}
	ck_assert_int_gt(cut, 20);
	ck_assert_int_gt(none, 0);
	bpg_ctx_free(ctx);
}
END_TEST

/* Y = relu(a) + relu(b - a) + relu(c - b) with Y <= 0 says a = b = c = 0, one after the other; c >= 0.5 then says that there is no point. */
START_TEST(test_propagates)
{
	static const float W[] = { 1, 0, 0, -1, 1, 0, 0, -1, 1 }, sum[] = { 1, 1, 1 }, zero[3];
	struct bpg_ctx *ctx = bpg_ctx_new();
	double one = 1, none = 0, lo[] = { 0, 0, 0 }, up[] = { 1, 1, 1 };
	int64_t index = 0;
	struct bpg_row row = { .n = 1, .index = &index, .coef = &one, .coef_err = &none };
	struct bpg_disjunct d = { .rows = 1, .row = &row };
	struct bpg_contractor *c;
	struct bpg_net *net;
	struct build b;

	build_start(&b, 1);
	int x = build_unary(&b, "Relu", build_dense(&b, build_vector(&b, 3), 3, W, zero));
	build_output(&b, build_dense(&b, x, 1, sum, zero));
	REQUIRE(!build_net(&b, ctx, &net), "%s", bpg_ctx_message(ctx));
	REQUIRE(!bpg_contractor_new(ctx, net, 100, &c) && c, "%s", bpg_ctx_message(ctx));
	ck_assert(bpg_contract(c, &d, lo, up));
	for (int i = 0; i < 3; i++)
		ck_assert(lo[i] == 0 && up[i] >= 0 && up[i] < 1e-300);
	lo[2] = 0.5, up[0] = up[1] = up[2] = 1;
	ck_assert(!bpg_contract(c, &d, lo, up));
	bpg_contractor_free(c);
	/* Too many terms: there is no contractor, and that is no failure. */
	ck_assert(!bpg_contractor_new(ctx, net, 3, &c) && !c);
	bpg_net_free(net);
	bpg_ctx_free(ctx);
}
END_TEST

/* Small whole numbers: the outputs are exactly what they are. */
START_TEST(test_exact)
{
	enum { N = 40 };
	struct bpg_ctx *ctx = bpg_ctx_new();
	struct bpg_net *net;
	struct bpg_rng rng;
	struct build b;
	float W[N * N], bias[N], V[N], zero = 0;
	double x[N], lo, up, y;

	bpg_rng_seed(&rng, 5);
	for (int i = 0; i < N * N; i++)
		W[i] = (float)(bpg_rng_below(&rng, 5) - 2);
	for (int i = 0; i < N; i++)
		bias[i] = (float)(bpg_rng_below(&rng, 9) - 4), V[i] = (float)(bpg_rng_below(&rng, 3) - 1), x[i] = (double)bpg_rng_below(&rng, 2);
	build_start(&b, 1);
	int h = build_unary(&b, "Relu", build_dense(&b, build_vector(&b, N), N, W, bias));
	build_output(&b, build_dense(&b, h, 1, V, &zero));
	REQUIRE(!build_net(&b, ctx, &net), "%s", bpg_ctx_message(ctx));
	REQUIRE(!bpg_net_output(ctx, net, x, &y), "%s", bpg_ctx_message(ctx));
	ck_assert(bpg_contract_point(ctx, net, x, &lo, &up));
	ck_assert(lo == y && up == y);
	x[3] = 0.1; /* no sum of it is exact */
	ck_assert(bpg_contract_point(ctx, net, x, &lo, &up) && !bpg_net_output(ctx, net, x, &y));
	ck_assert(lo <= y && y <= up && up - lo < 1e-10);
	bpg_net_free(net);
	bpg_ctx_free(ctx);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("contract");
	TCase *t = tcase_create("contract");

	tcase_set_timeout(t, 60);
	tcase_add_test(t, test_keeps);
	tcase_add_test(t, test_propagates);
	tcase_add_test(t, test_exact);
	suite_add_tcase(s, t);
	SRunner *r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	int failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
