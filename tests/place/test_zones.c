/* Tensor parallelism: the bits of one owner for any number of them, bounds that hold and differ from those of `single` by rounding
 * alone, bytes within the plan and shared out. BPG_SEED=<seed> draws other weights. */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../graph/builder.h"
#include "../graph/outcome.h"
#include "../graph/require.h"
#include "graph/zones.h"

enum { MOST_OWNERS = 17, POINTS = 200, BERTHS = 64 }; /* a berth is a handle of 64 bytes, which the plan does not count */

static uint64_t seed = 5;
static struct bpg_ctx *ctx;
static struct bpg_rt *rt;

static void start(void)
{
	struct bpg_rt_options o = { .workers = 2, .owners = MOST_OWNERS };

	ctx = bpg_ctx_new();
	ck_assert_int_eq(bpg_rt_start(ctx, &o, &rt), BPG_OK);
}

static void stop(void)
{
	bpg_rt_stop(rt);
	bpg_ctx_free(ctx);
}

/* ---- networks ---- */

static const struct build_window three = { { 3, 3 }, { 1, 1 }, { 1, 1, 1, 1 }, { 1, 1 } }, two = { { 2, 3 }, { 2, 1 }, { 0, 1, 1, 0 }, { 1, 1 } },
	one = { { 1, 1 }, { 1, 1 }, { 0 }, { 1, 1 } };

static int dense(struct build *b, int x, int64_t outs)
{
	return build_dense(b, x, outs, NULL, NULL);
}

static int conv(struct build *b, int x, int64_t outs, const struct build_window *w)
{
	return build_conv(b, x, outs, 1, w, NULL, NULL);
}

static int relu(struct build *b, int x)
{
	return build_unary(b, "Relu", x);
}

/* Two pairs, with segments of unequal lengths, and a layer in neither. */
static void mlp(struct build *b)
{
	int x = dense(b, relu(b, dense(b, build_vector(b, 20), 300)), 90);

	x = dense(b, build_unary(b, "Sigmoid", dense(b, relu(b, x), 130)), 40);
	build_output(b, dense(b, relu(b, x), 7));
}

/* Nothing between the two matrices. */
static void straight(struct build *b)
{
	build_output(b, dense(b, relu(b, dense(b, dense(b, build_vector(b, 20), 100), 60)), 9));
}

/* Pairs inside of residual blocks, of 3 by 3 and of 1 by 1; the second has a stride. */
static void residual(struct build *b)
{
	int x = relu(b, conv(b, build_input(b, 4, (int64_t[]){ 1, 2, 8, 7 }), 12, &three));

	x = relu(b, build_join(b, "Add", x, conv(b, relu(b, conv(b, x, 20, &three)), 12, &three)));
	x = relu(b, build_join(b, "Add", conv(b, x, 10, &two), conv(b, relu(b, conv(b, x, 36, &one)), 10, &two)));
	build_output(b, dense(b, relu(b, dense(b, build_flatten(b, x), 40)), 4));
}

/* A feature map between a convolution and a matrix, and between a matrix and a convolution. */
static void mixed(struct build *b)
{
	int x = dense(b, build_flatten(b, relu(b, conv(b, build_input(b, 4, (int64_t[]){ 1, 1, 6, 6 }), 24, &two))), 30);

	x = build_image(b, relu(b, dense(b, relu(b, x), 256)), (int64_t[]){ 16, 4, 4 });
	build_output(b, dense(b, build_flatten(b, relu(b, conv(b, x, 5, &three))), 3));
}

/* The outputs are a zone's: rows end inside it where intervals are all there is. */
static void image(struct build *b)
{
	int x = build_unary(b, "Relu", build_conv(b, build_input(b, 4, (int64_t[]){ 1, 2, 6, 6 }), 24, 1, &three, NULL, NULL));

	build_output(b, build_conv(b, x, 3, 1, &three, NULL, NULL));
}

static const struct {
	const char *name;
	void (*make)(struct build *b);
	bool ball;
	int zones;
} nets[] = { { "MLP", mlp, false, 2 }, { "MLP over a ball", mlp, true, 2 }, { "two matrices", straight, false, 1 }, { "residual", residual, false, 3 }, { "mixed", mixed, false, 2 },
	     { "image", image, false, 1 } };

struct subject {
	struct build b;
	struct bpg_net *net;
	struct bpg_region g;
};

static void subject_init(struct subject *s, int i)
{
	build_start(&s->b, seed + (uint64_t)i);
	nets[i].make(&s->b);
	REQUIRE(!build_net(&s->b, ctx, &s->net), "%s", bpg_ctx_message(ctx));
	int64_t n = s->net->in_count;
	s->g = (struct bpg_region){ .norm = nets[i].ball ? BPG_NORM_2 : BPG_NORM_INF, .ball = nets[i].ball, .n = n, .radius = 0.2 };
	s->g.lo = calloc((size_t)n, sizeof *s->g.lo), s->g.up = calloc((size_t)n, sizeof *s->g.up), s->g.center = calloc((size_t)n, sizeof *s->g.center);
	for (int64_t k = 0; k < n; k++) {
		double r = nets[i].ball ? s->g.radius : build_uniform(&s->b, 0, 0.2);
		s->g.center[k] = build_uniform(&s->b, -1, 1);
		s->g.lo[k] = s->g.center[k] - r, s->g.up[k] = s->g.center[k] + r;
	}
}

static void subject_fini(struct subject *s)
{
	free(s->g.lo), free(s->g.up), free(s->g.center);
	bpg_net_free(s->net);
}

static void bound(struct subject *s, const struct bpg_bound_options *o, struct outcome *out)
{
	REQUIRE(!bpg_rt_again(ctx, rt, &(struct bpg_rt_options){ .workers = 2, .owners = MOST_OWNERS, .tight = true }), "%s", bpg_ctx_message(ctx));
	REQUIRE(!outcome_run(out, ctx, rt, s->net, &s->g, o, NULL, 0), "%s", bpg_ctx_message(ctx));
}

static struct bpg_bound_options tp(enum bpg_method method, bool wide, int owners)
{
	struct bpg_bound_options o = outcome_options(method, wide);

	o.placement = BPG_PLACEMENT_TP;
	o.owners = owners;
	return o;
}

/* ---- what must be ---- */

/* Whoever owns the segments, and however rows and panels are cut. */
START_TEST(test_bits)
{
	static const int owners[] = { 2, 3, 4, 5, 16, 17 };
	static const enum bpg_method methods[] = { BPG_METHOD_IBP, BPG_METHOD_CROWN_IBP, BPG_METHOD_CROWN };
	struct subject s;

	subject_init(&s, _i);
	for (int w = 0; w < 4; w++) {
		enum bpg_method method = methods[BPG_MIN(w, 2)];
		struct bpg_bound_options o = tp(method, w == 3, 1);
		struct outcome first, out;
		bound(&s, &o, &first);
		ck_assert_int_eq(first.m->zones, nets[_i].zones);
		outcome_fini(&first); /* its data would count */
		for (size_t k = 0; k < BPG_LEN(owners) + 3; k++) {
			bool cut = k >= BPG_LEN(owners);
			o = tp(method, w == 3, cut ? 3 : owners[k]);
			o.tile = k == BPG_LEN(owners) ? 16 : 0, o.panel = k == BPG_LEN(owners) + 1 ? 24 : 0, o.wave = k == BPG_LEN(owners) + 2 ? 1 : 0;
			bound(&s, &o, &out);
			REQUIRE(out.bounds_hash == first.bounds_hash, "%s, method %d, setting %zu: other bounds", nets[_i].name, w, k);
			REQUIRE(cut || out.plan_hash == first.plan_hash, "%s, method %d, setting %zu: another plan", nets[_i].name, w, k);
			for (int p = 0; p < o.owners; p++)
				REQUIRE(bpg_rt_peak_bytes(rt, p) <= out.m->most_bytes[p] + BERTHS * 64, "%s, method %d, setting %zu: owner %d of %d has %zu bytes, planned %zu", nets[_i].name, w, k,
				        p, o.owners, bpg_rt_peak_bytes(rt, p), out.m->most_bytes[p]);
			outcome_fini(&out);
		}
	}
	subject_fini(&s);
}
END_TEST

/* What devices would run has the bits of the CPU's bodies. */
START_TEST(test_twins)
{
	uint64_t hash[2][4];
	struct subject s;

	for (int twins = 0; twins < 2; twins++) {
		if (twins) {
			stop();
			setenv("BPGRAPH_TWINS", "host", 1);
			start();
		}
		subject_init(&s, _i);
		for (int w = 0; w < 4; w++) {
			struct bpg_bound_options o = tp((enum bpg_method)(BPG_METHOD_IBP + BPG_MIN(w, 2)), w == 3, 3);
			struct outcome out;
			bound(&s, &o, &out);
			hash[twins][w] = out.bounds_hash;
			outcome_fini(&out);
		}
		subject_fini(&s);
	}
	unsetenv("BPGRAPH_TWINS");
	for (int w = 0; w < 4; w++)
		REQUIRE(hash[0][w] == hash[1][w], "%s, setting %d: other bounds by twins", nets[_i].name, w);
}
END_TEST

/* Without slack the sums differ in the last places; with it the bounds are about as wide. */
START_TEST(test_single)
{
	struct subject s;

	subject_init(&s, _i);
	for (int slack = 0; slack < 2; slack++)
		for (int method = BPG_METHOD_IBP; method <= BPG_METHOD_CROWN; method++) {
			struct bpg_bound_options single = outcome_options((enum bpg_method)method, false), shared = tp((enum bpg_method)method, false, 3);
			struct outcome a, b;
			single.slack = shared.slack = slack;
			bound(&s, &single, &a);
			bound(&s, &shared, &b);
			for (int64_t i = 0; i < a.rows; i++) {
				double width = a.upper[i] - a.lower[i], off = fmax(fabs(a.lower[i] - b.lower[i]), fabs(a.upper[i] - b.upper[i]));
				REQUIRE(off <= (slack ? 1e-2 : 1e-5) * width, "%s, method %d, row %lld: %.3g of the width apart", nets[_i].name, method, (long long)i, off / width);
			}
			outcome_fini(&a);
			outcome_fini(&b);
		}
	subject_fini(&s);
}
END_TEST

/* Every node at points of the region, mostly corners. */
static void encloses(struct subject *s, const struct outcome *o, const char *what)
{
	struct bpg_arena *arena = bpg_arena_new();
	double *x = bpg_arena_alloc(arena, (size_t)s->g.n, sizeof *x), **value = bpg_arena_alloc(arena, (size_t)s->net->nodes, sizeof *value);

	for (int p = 0; p < POINTS; p++) {
		double far = 0;
		for (int64_t i = 0; i < s->g.n; i++) {
			x[i] = p % 4 ? build_below(&s->b, 2) ? s->g.lo[i] : s->g.up[i] : build_uniform(&s->b, s->g.lo[i], s->g.up[i]);
			far += (x[i] - s->g.center[i]) * (x[i] - s->g.center[i]);
		}
		for (int64_t i = 0; s->g.ball && i < s->g.n; i++)
			x[i] = s->g.center[i] + (x[i] - s->g.center[i]) * (s->g.radius * (1 - 1e-12) / sqrt(far));
		REQUIRE(!bpg_net_eval(ctx, s->net, x, arena, value), "%s", bpg_ctx_message(ctx));
		for (int v = 0; v < o->m->nodes; v++)
			for (int64_t i = 0; i < o->m->node[v].columns.n; i++) {
				double y = value[v][i], doubt = 1e-12 * (1 + fabs(y));
				REQUIRE(bpg_field(&o->m->node[v], BPG_LOWER)[i] <= y + doubt && bpg_field(&o->m->node[v], BPG_UPPER)[i] >= y - doubt, "%s: element %lld of '%s' reaches %.17g", what,
				        (long long)i, o->m->node[v].net->tensor, y);
			}
		for (int64_t i = 0; i < o->rows; i++) {
			double y = value[s->net->output[0]][i], doubt = 1e-12 * (1 + fabs(y));
			REQUIRE(o->lower[i] <= y + doubt && o->upper[i] >= y - doubt, "%s: output %lld reaches %.17g", what, (long long)i, y);
		}
	}
	bpg_arena_free(arena);
}

/* Both kinds of bounds hold. The paper's has intervals inside of zones, and is no tighter. */
START_TEST(test_sound)
{
	struct subject s;
	struct bpg_bound_options o = tp(BPG_METHOD_CROWN, false, 4), ibp = tp(BPG_METHOD_IBP, false, 1);
	struct outcome exact, loose, interval;
	double widths[2] = { 0 };

	subject_init(&s, _i);
	bound(&s, &o, &exact);
	encloses(&s, &exact, nets[_i].name);
	o.zone_intervals = true;
	bound(&s, &o, &loose);
	encloses(&s, &loose, nets[_i].name);
	bound(&s, &ibp, &interval);
	for (int v = 0; v < loose.m->nodes; v++) {
		const struct bpg_model_node *x = &loose.m->node[v];
		if (!x->zone || v != x->zone->col || nets[_i].zones > 1)
			continue; /* behind a zone intervals begin from rows */
		REQUIRE(!memcmp(bpg_field(x, BPG_LOWER), bpg_field(&interval.m->node[v], BPG_LOWER), (size_t)x->columns.n * sizeof(double)), "no interval inside of a zone");
	}
	for (int64_t i = 0; i < exact.rows; i++)
		widths[0] += exact.upper[i] - exact.lower[i], widths[1] += loose.upper[i] - loose.lower[i];
	REQUIRE(widths[1] >= widths[0] * (1 - 1e-9), "%s: intervals are tighter: %.17g, rows %.17g", nets[_i].name, widths[1], widths[0]);
	outcome_fini(&exact);
	outcome_fini(&loose);
	outcome_fini(&interval);
	subject_fini(&s);
}
END_TEST

/* Weights of pairs are shared out: an owner has its segments alone, of every matrix. (Dead neurons, which have no columns, are not
 * spread evenly.) */
START_TEST(test_shares)
{
	struct build b;
	struct bpg_net *net;
	struct subject s;

	build_start(&b, 3);
	build_output(&b, dense(&b, relu(&b, dense(&b, build_vector(&b, 64), 1024)), 64));
	REQUIRE(!build_net(&b, ctx, &net), "%s", bpg_ctx_message(ctx));
	s = (struct subject){ .net = net, .g = { .norm = BPG_NORM_INF, .n = 64, .lo = calloc(64, sizeof(double)), .up = calloc(64, sizeof(double)) } };
	for (int i = 0; i < 64; i++)
		s.g.lo[i] = -0.1, s.g.up[i] = 0.1;
	for (int owners = 1; owners <= 16; owners *= 2) {
		struct bpg_bound_options o = tp(BPG_METHOD_CROWN, false, owners);
		struct outcome out;
		bound(&s, &o, &out);
		size_t all = 0;
		for (int p = 0; p < owners; p++)
			all += out.m->panel_bytes[p];
		for (int p = 0; p < owners; p++)
			REQUIRE((double)out.m->panel_bytes[p] <= 1.1 * (double)all / owners, "owner %d of %d has %zu of %zu bytes", p, owners, out.m->panel_bytes[p], all);
		outcome_fini(&out);
	}
	free(s.g.lo), free(s.g.up);
	bpg_net_free(net);
}
END_TEST

/* Where there is no pair it is said. */
START_TEST(test_none)
{
	struct build b;
	struct bpg_net *net;
	struct bpg_bound_options o = tp(BPG_METHOD_CROWN, false, 2);
	double lo[2] = { -1, -1 }, up[2] = { 1, 1 };
	struct bpg_region g = { .norm = BPG_NORM_INF, .n = 2, .lo = lo, .up = up };
	struct outcome out;

	build_start(&b, 3);
	build_output(&b, dense(&b, relu(&b, dense(&b, build_vector(&b, 2), 8)), 2));
	REQUIRE(!build_net(&b, ctx, &net), "%s", bpg_ctx_message(ctx));
	ck_assert_int_eq(outcome_run(&out, ctx, rt, net, &g, &o, NULL, 0), BPG_EUNSUPPORTED);
	ck_assert_ptr_nonnull(strstr(bpg_ctx_message(ctx), "--placement tp"));
	outcome_fini(&out);
	bpg_net_free(net);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("zones");
	TCase *t = tcase_create("tp");

	if (getenv("BPG_SEED"))
		seed = strtoull(getenv("BPG_SEED"), NULL, 10);
	tcase_set_timeout(t, 300);
	tcase_add_checked_fixture(t, start, stop);
	tcase_add_loop_test(t, test_bits, 0, (int)BPG_LEN(nets));
	tcase_add_loop_test(t, test_twins, 0, (int)BPG_LEN(nets));
	tcase_add_loop_test(t, test_single, 0, (int)BPG_LEN(nets));
	tcase_add_loop_test(t, test_sound, 0, (int)BPG_LEN(nets));
	tcase_add_test(t, test_shares);
	tcase_add_test(t, test_none);
	suite_add_tcase(s, t);
	SRunner *r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	int failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
