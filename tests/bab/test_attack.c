/* A witness holds by a margin: whatever the order in which a float32 program adds the terms of its sums, it replays there. */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../graph/builder.h"
#include "../graph/require.h"
#include "bab/attack.h"

enum { IN = 24, HIDDEN = 96, OUT = 2, ORDERS = 60 };

struct weights {
	float a[HIDDEN * IN], b[HIDDEN * HIDDEN], c[OUT * HIDDEN], none[HIDDEN];
};

static void draw(struct weights *w, uint64_t seed)
{
	struct bpg_rng rng;

	memset(w, 0, sizeof *w);
	bpg_rng_seed(&rng, seed);
	for (size_t i = 0; i < sizeof w->a / sizeof *w->a; i++)
		w->a[i] = (float)bpg_rng_normal(&rng);
	for (size_t i = 0; i < sizeof w->b / sizeof *w->b; i++)
		w->b[i] = (float)bpg_rng_normal(&rng);
	for (size_t i = 0; i < sizeof w->c / sizeof *w->c; i++)
		w->c[i] = (float)bpg_rng_normal(&rng);
}

/* y = W x in float32, terms in a shuffled order; relu where asked. */
static void layer(const float *W, int outs, int ins, const float *x, float *y, bool relu, struct bpg_rng *rng)
{
	int order[HIDDEN];

	for (int o = 0; o < outs; o++) {
		float sum = 0;
		for (int i = 0; i < ins; i++)
			order[i] = i;
		for (int i = ins - 1; i > 0; i--) {
			int k = (int)bpg_rng_below(rng, (uint64_t)i + 1), was = order[i];
			order[i] = order[k];
			order[k] = was;
		}
		for (int i = 0; i < ins; i++)
			sum += W[o * ins + order[i]] * x[order[i]];
		y[o] = relu && sum < 0 ? 0 : sum;
	}
}

static void replay(const struct weights *w, const float *x, float *y, struct bpg_rng *rng)
{
	float h[HIDDEN], g[HIDDEN];

	layer(w->a, HIDDEN, IN, x, h, true, rng);
	layer(w->b, HIDDEN, HIDDEN, h, g, true, rng);
	layer(w->c, OUT, HIDDEN, g, y, false, rng);
}

/* Orders of sums in which the point does not violate "y0 <= limit[0] and y1 <= limit[1]". */
static int failures(const struct weights *w, const float *x, const float *limit)
{
	struct bpg_rng rng;
	int bad = 0;
	float y[OUT];

	bpg_rng_seed(&rng, 5);
	for (int k = 0; k < ORDERS; k++) {
		replay(w, x, y, &rng);
		bad += !(y[0] <= limit[0] && y[1] <= limit[1]);
	}
	return bad;
}

static struct bpg_net *network(struct bpg_ctx *ctx, const struct weights *w)
{
	struct bpg_net *net;
	struct build b;

	build_start(&b, 1);
	int x = build_unary(&b, "Relu", build_dense(&b, build_vector(&b, IN), HIDDEN, w->a, w->none));
	x = build_unary(&b, "Relu", build_dense(&b, x, HIDDEN, w->b, w->none));
	build_output(&b, build_dense(&b, x, OUT, w->c, w->none));
	REQUIRE(!build_net(&b, ctx, &net), "%s", bpg_ctx_message(ctx));
	return net;
}

/* The witness of "y <= limit" over [-radius, radius] about `centre`. */
static void attack(struct bpg_ctx *ctx, const struct bpg_net *net, int workers, const float *centre, double radius, const float *limit, float *x, float *y)
{
	struct bpg_rt_options o = { .workers = workers, .owners = 1 };
	double lo[IN], up[IN], one = 1, zero = 0;
	int64_t index[OUT] = { 0, 1 };
	struct bpg_box box = { IN, lo, up, lo, up };
	struct bpg_row row[OUT];
	struct bpg_disjunct d = { &box, OUT, row };
	struct bpg_spec spec = { .inputs = IN, .outputs = OUT, .disjuncts = 1, .disjunct = &d };
	struct bpg_arena *arena = bpg_arena_new();
	struct bpg_attack_plan plan = { .net = net, .spec = &spec, .seed = 1, .disjuncts = 1 };
	struct bpg_witness w;
	bool cut;

	for (int i = 0; i < IN; i++)
		lo[i] = (double)centre[i] - radius, up[i] = (double)centre[i] + radius;
	for (int r = 0; r < OUT; r++)
		row[r] = (struct bpg_row){ .n = 1, .index = &index[r], .coef = &one, .coef_err = &zero, .offset = -(double)limit[r] };
	REQUIRE(!bpg_rt_start(ctx, &o, &plan.rt), "%s", bpg_ctx_message(ctx));
	REQUIRE(!bpg_attack(ctx, &plan, arena, &w, &cut) && w.found, "no witness: %s", bpg_ctx_message(ctx));
	for (int i = 0; i < IN; i++)
		REQUIRE(w.x[i] >= lo[i] && w.x[i] <= up[i], "the witness has left the box");
	memcpy(x, w.x, IN * sizeof *x);
	memcpy(y, w.y, OUT * sizeof *y);
	REQUIRE(bpg_witness_check(ctx, net, &spec, x, y) == 1, "the witness is none");
	bpg_rt_stop(plan.rt);
	bpg_arena_free(arena);
}

/* Limits are what the replay has at the centre: that is the first point tried, and it is a witness, but not in every order of sums. */
START_TEST(test_margin)
{
	struct bpg_ctx *ctx = bpg_ctx_new();
	struct weights *w = malloc(sizeof *w);
	int thin = 0;

	for (uint64_t seed = 1; seed <= 6; seed++) {
		float centre[IN], limit[OUT], x[IN], y[OUT], again[IN];
		struct bpg_rng rng;

		draw(w, seed);
		struct bpg_net *net = network(ctx, w);
		bpg_rng_seed(&rng, seed + 100);
		for (int i = 0; i < IN; i++)
			centre[i] = (float)bpg_rng_normal(&rng);
		REQUIRE(!bpg_net_output_f32(ctx, net, centre, limit), "%s", bpg_ctx_message(ctx));
		for (int r = 0; r < OUT; r++) /* outward arithmetic has to agree, by what it counts as rounding */
			limit[r] += 1e-9f * fabsf(limit[r]);
		thin += failures(w, centre, limit) > 0;
		attack(ctx, net, 1, centre, 0.05, limit, x, y);
		REQUIRE(failures(w, x, limit) == 0, "seed %llu: the witness fails in %d of %d orders of sums", (unsigned long long)seed, failures(w, x, limit),
		        ORDERS);
		attack(ctx, net, 4, centre, 0.05, limit, again, y);
		REQUIRE(!memcmp(x, again, sizeof x), "seed %llu: another witness with 4 workers", (unsigned long long)seed);
		bpg_net_free(net);
	}
	ck_assert_msg(thin > 0, "the centres hold in all orders: the test shows nothing");
	free(w);
	bpg_ctx_free(ctx);
}
END_TEST

/* A box of one point leaves nowhere to go: the witness is that point. */
START_TEST(test_no_room)
{
	struct bpg_ctx *ctx = bpg_ctx_new();
	struct weights *w = malloc(sizeof *w);
	float centre[IN], limit[OUT], x[IN], y[OUT];

	draw(w, 9);
	struct bpg_net *net = network(ctx, w);
	for (int i = 0; i < IN; i++)
		centre[i] = 0.25f * (float)(i % 5);
	REQUIRE(!bpg_net_output_f32(ctx, net, centre, limit), "%s", bpg_ctx_message(ctx));
	for (int r = 0; r < OUT; r++)
		limit[r] += 1e-6f * fabsf(limit[r]);
	attack(ctx, net, 1, centre, 0, limit, x, y);
	ck_assert(!memcmp(x, centre, sizeof x));
	bpg_net_free(net);
	free(w);
	bpg_ctx_free(ctx);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("attack");
	TCase *t = tcase_create("attack");

	tcase_set_timeout(t, 300);
	tcase_add_test(t, test_margin);
	tcase_add_test(t, test_no_room);
	suite_add_tcase(s, t);
	SRunner *r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	int failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
