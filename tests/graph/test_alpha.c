/* alpha-CROWN's loop: who leaves it, and when; what it says on the way; how it ends. */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "builder.h"
#include "outcome.h"
#include "require.h"

enum { STEPS = 12, NETS = 3 };

static struct bpg_ctx *ctx;
static struct bpg_rt *rt;
static volatile int cancel;

static void start(void)
{
	struct bpg_rt_options o = { .workers = 2, .owners = 1, .cancel = &cancel };

	cancel = 0;
	ctx = bpg_ctx_new();
	REQUIRE(!bpg_rt_start(ctx, &o, &rt), "%s", bpg_ctx_message(ctx));
}

static void stop(void)
{
	bpg_rt_stop(rt);
	bpg_ctx_free(ctx);
}

/* Three layers, convolutions with a join, or with max pools, whose planes have weights. */
static struct bpg_net *make(int which)
{
	static const struct build_window three = { { 3, 3 }, { 1, 1 }, { 1, 1, 1, 1 }, { 1, 1 } };
	struct build b;
	struct bpg_net *net;

	build_start(&b, 11 + (uint64_t)which);
	if (which == 0) {
		int x = build_vector(&b, 12);
		for (int l = 0; l < 3; l++)
			x = build_unary(&b, "Relu", build_dense(&b, x, 40, NULL, NULL));
		build_output(&b, build_dense(&b, x, 20, NULL, NULL));
	} else if (which == 2) {
		static const struct build_window two = { { 2, 2 }, { 1, 1 }, { 0, 0, 0, 0 }, { 1, 1 } };
		int x = build_unary(&b, "Relu", build_conv(&b, build_input(&b, 4, (int64_t[]){ 1, 2, 6, 6 }), 4, 1, &three, NULL, NULL));
		x = build_pool(&b, "MaxPool", build_conv(&b, build_pool(&b, "MaxPool", x, &two, false), 4, 1, &three, NULL, NULL), &two, false);
		build_output(&b, build_dense(&b, build_flatten(&b, x), 6, NULL, NULL));
	} else {
		int x = build_unary(&b, "Relu", build_conv(&b, build_input(&b, 4, (int64_t[]){ 1, 2, 6, 6 }), 5, 1, &three, NULL, NULL));
		int y = build_conv(&b, build_unary(&b, "Relu", build_conv(&b, x, 5, 1, &three, NULL, NULL)), 5, 1, &three, NULL, NULL);
		x = build_unary(&b, "Relu", build_join(&b, "Add", x, y));
		build_output(&b, build_dense(&b, build_flatten(&b, x), 6, NULL, NULL));
	}
	REQUIRE(!build_net(&b, ctx, &net), "%s", bpg_ctx_message(ctx));
	return net;
}

static struct bpg_region box(int64_t n)
{
	struct bpg_region g = { .norm = BPG_NORM_INF, .n = n, .lo = calloc((size_t)n, sizeof *g.lo), .up = calloc((size_t)n, sizeof *g.up) };

	for (int64_t i = 0; i < n; i++)
		g.lo[i] = -0.1 - 0.01 * (double)(i % 7), g.up[i] = 0.12 + 0.02 * (double)(i % 5);
	return g;
}

static struct bpg_bound_options alpha(enum bpg_objective objective, int iterations, int patience)
{
	struct bpg_bound_options o = outcome_options(BPG_METHOD_CROWN, false);

	o.objective = objective;
	o.iterations = iterations;
	o.patience = patience;
	o.tile = 16;
	return o;
}

/* Over fixed intermediate bounds a row that leaves has the bound, bit by bit, of a run with fewer iterations; some row does leave. */
START_TEST(test_leave)
{
	struct bpg_net *net = make(_i);
	struct bpg_region g = box(net->in_count);
	struct outcome at[STEPS + 1], left;
	bool any = false;

	for (int n = 0; n <= STEPS; n++) {
		struct bpg_bound_options o = alpha(BPG_OBJECTIVE_FIXED, n, 0);
		REQUIRE(!outcome_run(&at[n], ctx, rt, net, &g, &o, NULL, 0), "%s", bpg_ctx_message(ctx));
	}
	struct bpg_bound_options o = alpha(BPG_OBJECTIVE_FIXED, STEPS, 1);
	REQUIRE(!outcome_run(&left, ctx, rt, net, &g, &o, NULL, 0), "%s", bpg_ctx_message(ctx));
	for (int64_t i = 0; i < left.rows; i++)
		for (int side = 0; side < 2; side++) {
			double x = side ? left.upper[i] : left.lower[i], last = side ? at[STEPS].upper[i] : at[STEPS].lower[i];
			int n = 0;
			while (n <= STEPS && (side ? at[n].upper[i] : at[n].lower[i]) != x)
				n++;
			REQUIRE(n <= STEPS, "row %lld, side %d: %.17g is no bound of up to %d iterations", (long long)i, side, x, STEPS);
			any |= x != last;
		}
	REQUIRE(any, "nobody has left");
	outcome_fini(&left);
	for (int n = 0; n <= STEPS; n++)
		outcome_fini(&at[n]);
	free(g.lo), free(g.up);
	bpg_net_free(net);
}
END_TEST

/* A row that is above the goal is left where it first was; the others have every iteration. */
START_TEST(test_goal)
{
	struct bpg_net *net = make(_i);
	struct bpg_region g = box(net->in_count);
	struct bpg_bound_options o = alpha(BPG_OBJECTIVE_FIXED, 0, 0);
	struct outcome plain, full, goal;
	int above = 0, open = 0;

	o.sides = 1;
	REQUIRE(!outcome_run(&plain, ctx, rt, net, &g, &o, NULL, 0), "%s", bpg_ctx_message(ctx));
	o.iterations = STEPS;
	REQUIRE(!outcome_run(&full, ctx, rt, net, &g, &o, NULL, 0), "%s", bpg_ctx_message(ctx));
	o.goal = 0;
	for (int64_t i = 0; i < plain.rows; i++) /* the mean: some are above */
		o.goal += plain.lower[i] / (double)plain.rows;
	REQUIRE(!outcome_run(&goal, ctx, rt, net, &g, &o, NULL, 0), "%s", bpg_ctx_message(ctx));
	for (int64_t i = 0; i < plain.rows; i++)
		if (plain.lower[i] > o.goal) {
			/* A walk with weights of planes has a little more slack. */
			REQUIRE(fabs(goal.lower[i] - plain.lower[i]) <= 1e-6 * (1 + fabs(plain.lower[i])), "row %lld was met, and went on: %.17g, %.17g", (long long)i, goal.lower[i], plain.lower[i]);
			above++;
		} else {
			REQUIRE(goal.lower[i] == full.lower[i] || goal.lower[i] > o.goal, "row %lld was not met, and left", (long long)i);
			open++;
		}
	REQUIRE(above && open, "%d rows above the goal, %d below", above, open);
	outcome_fini(&plain), outcome_fini(&full), outcome_fini(&goal);
	free(g.lo), free(g.up);
	bpg_net_free(net);
}
END_TEST

static void count_iterations(void *arg, const struct bpg_progress_point *at)
{
	int *most = arg;

	if (at->iteration > *most)
		*most = at->iteration;
	if (at->iterations > 0 && at->iteration > 0)
		REQUIRE(isfinite(at->worst), "iteration %d: no worst row", at->iteration);
}

static void cancel_later(void *arg, const struct bpg_progress_point *at)
{
	if (at->node == at->nodes && at->iteration > 0)
		cancel = 1;
	(void)arg;
}

/* Progress is told, with the worst row; a run without end can be stopped, and what was bounded until then counts. */
START_TEST(test_progress_and_stop)
{
	struct bpg_net *net = make(0);
	struct bpg_region g = box(net->in_count);
	struct bpg_bound_options o = alpha(BPG_OBJECTIVE_LOCAL, STEPS, 2);
	struct outcome plain, out;
	int most = 0;

	o.progress = count_iterations;
	o.progress_arg = &most;
	REQUIRE(!outcome_run(&out, ctx, rt, net, &g, &o, NULL, 0), "%s", bpg_ctx_message(ctx));
	REQUIRE(most > 0 && most <= STEPS, "%d iterations were told", most);
	REQUIRE(out.m->iterations > 0 && out.m->iterations <= STEPS, "%d iterations were counted", out.m->iterations);
	outcome_fini(&out);

	o = alpha(BPG_OBJECTIVE_FIXED, 0, 0);
	REQUIRE(!outcome_run(&plain, ctx, rt, net, &g, &o, NULL, 0), "%s", bpg_ctx_message(ctx));
	o.iterations = 1000000;
	o.progress = cancel_later;
	enum bpg_status st = outcome_run(&out, ctx, rt, net, &g, &o, NULL, 0);
	REQUIRE(st == BPG_ECANCELLED, "status %d", st);
	for (int64_t i = 0; i < plain.rows; i++)
		REQUIRE(out.lower[i] >= plain.lower[i] && out.upper[i] <= plain.upper[i], "row %lld: [%.17g, %.17g] was known before, and is lost",
		        (long long)i, plain.lower[i], plain.upper[i]);
	outcome_fini(&plain), outcome_fini(&out);
	free(g.lo), free(g.up);
	bpg_net_free(net);
}
END_TEST

/* Where one row alone is asked, over fixed bounds, it does not matter whether slopes are shared. Else they are worse than a row's own,
 * and better than none. */
START_TEST(test_shared)
{
	struct bpg_net *net = make(_i);
	struct bpg_region g = box(net->in_count);
	struct outcome out[3];
	const double one[] = { 1 };
	const int64_t index[] = { 0 };
	struct bpg_question_row row = { .n = 1, .index = index, .coef = one };
	double width[3] = { 0 };

	for (int alone = 0; alone < 2; alone++) {
		for (int k = 0; k < 3; k++) { /* plain, shared, own */
			struct bpg_bound_options o = alpha(alone ? BPG_OBJECTIVE_FIXED : BPG_OBJECTIVE_LOCAL, k ? STEPS : 0, 0);
			o.sharing = k == 1;
			o.sides = alone ? 1 : 3;
			REQUIRE(!outcome_run(&out[k], ctx, rt, net, &g, &o, alone ? &row : NULL, 1), "%s", bpg_ctx_message(ctx));
			for (int64_t i = 0; !alone && i < out[k].rows; i++)
				width[k] += out[k].upper[i] - out[k].lower[i];
		}
		if (alone) /* steps in double, steps in float */
			REQUIRE(fabs(out[1].lower[0] - out[2].lower[0]) <= 0.02 * fabs(out[2].lower[0] - out[0].lower[0]), "plain %.9g, shared %.9g, own %.9g",
			        out[0].lower[0], out[1].lower[0], out[2].lower[0]);
		else
			REQUIRE(width[2] < width[1] && width[1] < width[0], "widths: plain %.9g, shared %.9g, own %.9g", width[0], width[1], width[2]);
		for (int k = 0; k < 3; k++)
			outcome_fini(&out[k]);
	}
	free(g.lo), free(g.up);
	bpg_net_free(net);
}
END_TEST

/* ---- memory ---- */

static struct bpg_net *wide_net(int which, int width)
{
	struct build b;
	struct bpg_net *net;

	build_start(&b, 5);
	int x = build_vector(&b, 10);
	for (int l = 0; l < 10; l++) /* so deep that the coefficients of all are more than what a walk takes */
		x = build_unary(&b, which ? "Sigmoid" : "Relu", build_dense(&b, x, width, NULL, NULL));
	build_output(&b, build_dense(&b, x, 4, NULL, NULL));
	REQUIRE(!build_net(&b, ctx, &net), "%s", bpg_ctx_message(ctx));
	return net;
}

/* The runtime frees a buffer a little after the task that read it last, when the next one may have begun. */
static const double LATE = 1.05;

/* Of parameters, moments and coefficients, in the run before. */
static size_t parameters(void)
{
	return bpg_rt_peak_parameters(rt);
}

static bool as_planned(size_t peak, size_t planned)
{
	return (double)peak >= 0.9 * (double)planned && (double)peak <= LATE * (double)planned;
}

/* One run with its own count of bytes. */
static enum bpg_status run_within(struct outcome *out, const struct bpg_net *net, const struct bpg_region *g, enum bpg_objective objective, size_t limit,
                                  size_t *peak)
{
	struct bpg_rt_options again = { .owners = 1, .cancel = &cancel };
	struct bpg_bound_options o = alpha(objective, 4, 2);

	REQUIRE(!bpg_rt_again(ctx, rt, &again), "%s", bpg_ctx_message(ctx));
	size_t others = bpg_rt_peak_bytes(rt, 0); /* of models that are still there */
	o.tile = 0;
	o.memory = limit;
	enum bpg_status st = outcome_run(out, ctx, rt, net, g, &o, NULL, 0);
	*peak = bpg_rt_peak_bytes(rt, 0) - others;
	return st;
}

/* Coefficients are kept where they fit and recomputed where not, with the same bits; the bytes that were planned are those that
 * were there, most of them parameters, moments and coefficients; and a limit is kept. */
START_TEST(test_memory)
{
	const enum bpg_objective what = _i / 2 ? BPG_OBJECTIVE_JOINT : BPG_OBJECTIVE_LOCAL;
	struct bpg_net *net = wide_net(_i % 2, what == BPG_OBJECTIVE_JOINT ? 40 : 60);
	struct bpg_region g = box(net->in_count);
	struct outcome all, none, least, more;
	size_t peak;

	REQUIRE(!run_within(&all, net, &g, what, 0, &peak), "%s", bpg_ctx_message(ctx));
	REQUIRE(as_planned(parameters(), all.m->alpha_bytes), "%zu bytes of parameters, planned %zu", parameters(), all.m->alpha_bytes);
	REQUIRE(all.m->kept_stages > 0 && !all.m->recomputed_stages, "%d stages kept, %d recomputed", all.m->kept_stages, all.m->recomputed_stages);
	REQUIRE(run_within(&none, net, &g, what, 1, &peak) == BPG_ENOMEM, "one byte was enough");
	/* That is a limit for a network whose neurons are all unstable: less will do, until coefficients do not fit. */
	size_t limit = none.m->least_bytes;
	for (;; limit -= limit / (what == BPG_OBJECTIVE_JOINT ? 8 : 20), outcome_fini(&least)) {
		REQUIRE(!run_within(&least, net, &g, what, limit, &peak), "%s", bpg_ctx_message(ctx));
		if (least.m->recomputed_stages)
			break;
	}
	REQUIRE(least.bounds_hash == all.bounds_hash, "other bounds where coefficients are recomputed");
	REQUIRE((double)peak <= LATE * (double)limit, "%zu bytes in a limit of %zu", peak, limit);
	REQUIRE(as_planned(parameters(), least.m->alpha_bytes), "%zu bytes of parameters, planned %zu", parameters(), least.m->alpha_bytes);
	REQUIRE(as_planned(peak, least.m->most_bytes[0]), "%zu bytes, planned %zu", peak, least.m->most_bytes[0]);

	REQUIRE(!run_within(&more, net, &g, what, 2 * limit, &peak), "%s", bpg_ctx_message(ctx));
	REQUIRE(more.bounds_hash == all.bounds_hash, "other bounds in twice the memory");
	REQUIRE(as_planned(peak, more.m->most_bytes[0]), "%zu bytes, planned %zu", peak, more.m->most_bytes[0]);
	REQUIRE(as_planned(parameters(), more.m->alpha_bytes), "%zu bytes of parameters, planned %zu", parameters(), more.m->alpha_bytes);
	REQUIRE(more.m->alpha_bytes > more.m->most_bytes[0] / 3, "%zu bytes of parameters in %zu", more.m->alpha_bytes, more.m->most_bytes[0]);
	outcome_fini(&all), outcome_fini(&none), outcome_fini(&least), outcome_fini(&more);
	free(g.lo), free(g.up);
	bpg_net_free(net);
}
END_TEST

/* Most of the image is bright and moves little: there every first neuron is on, while the second ones, whose biases take away what they are
 * at the centre, are not decided. So the first tiles of waves have no slopes, and later ones have. The bits are those of one tile. */
START_TEST(test_first_without)
{
	enum { SIDE = 12, CHANNELS = 3, DARK = 3 };
	static const struct build_window three = { { 3, 3 }, { 1, 1 }, { 1, 1, 1, 1 }, { 1, 1 } };
	float W1[CHANNELS * 9], b1[CHANNELS], W2[2 * CHANNELS * 9], b2[2] = { 0 };
	double lo[SIDE * SIDE], up[SIDE * SIDE];
	struct bpg_region g = { .norm = BPG_NORM_INF, .n = SIDE * SIDE, .lo = lo, .up = up };
	struct bpg_bound_options o = alpha(BPG_OBJECTIVE_LOCAL, 4, 0);
	struct outcome whole, cut;
	struct bpg_net *net;
	struct build b;

	build_start(&b, (uint64_t)_i);
	for (int c = 0; c < CHANNELS; c++) {
		float on = b1[c] = 0.1f;
		for (int t = 0; t < 9; t++)
			on += 5 * (W1[c * 9 + t] = (float)build_uniform(&b, 0, 0.8));
		for (int q = 0; q < 2; q++)
			for (int t = 0; t < 9; t++)
				b2[q] -= on * (W2[(q * CHANNELS + c) * 9 + t] = (float)build_uniform(&b, -0.6, 0.6));
	}
	for (int i = 0; i < SIDE * SIDE; i++) {
		bool dark = i >= (SIDE - DARK) * SIDE;
		double x = dark ? build_uniform(&b, -0.1, 0.1) : 5, r = dark ? 0.3 : 0.02;
		lo[i] = x - r, up[i] = x + r;
	}
	int x = build_unary(&b, "Relu", build_conv(&b, build_input(&b, 4, (int64_t[]){ 1, 1, SIDE, SIDE }), CHANNELS, 1, &three, W1, b1));
	x = build_unary(&b, "Relu", build_conv(&b, x, 2, 1, &three, W2, b2));
	build_output(&b, build_dense(&b, build_flatten(&b, x), 3, NULL, NULL));
	REQUIRE(!build_net(&b, ctx, &net), "%s", bpg_ctx_message(ctx));
	o.tile = 8;
	REQUIRE(!outcome_run(&cut, ctx, rt, net, &g, &o, NULL, 0), "%s", bpg_ctx_message(ctx));
	o.tile = 4096;
	REQUIRE(!outcome_run(&whole, ctx, rt, net, &g, &o, NULL, 0), "%s", bpg_ctx_message(ctx));
	REQUIRE(cut.bounds_hash == whole.bounds_hash, "other bounds by small tiles");
	outcome_fini(&cut), outcome_fini(&whole);
	bpg_net_free(net);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("alpha");
	TCase *t = tcase_create("loop");

	tcase_set_timeout(t, 300);
	tcase_add_checked_fixture(t, start, stop);
	tcase_add_loop_test(t, test_leave, 0, NETS);
	tcase_add_loop_test(t, test_goal, 0, NETS);
	tcase_add_test(t, test_progress_and_stop);
	tcase_add_loop_test(t, test_shared, 0, 2); /* weights of planes are a row's own in any case */
	tcase_add_loop_test(t, test_memory, 0, 4);
	tcase_add_loop_test(t, test_first_without, 0, 8);
	suite_add_tcase(s, t);
	SRunner *r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	int failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
