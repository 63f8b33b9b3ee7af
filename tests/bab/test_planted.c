/* Counterexamples that are hard to find: a narrow spike is planted into a random network, flat all around, so that gradients do not lead
 * to it. What a network with one has must never be proved, whatever decides it. */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../graph/builder.h"
#include "../graph/require.h"
#include "bab/attack.h"
#include "bab/decide.h"

enum { INPUTS = 3, RANDOM = 6, SPIKE = 2 * INPUTS, FIRST = RANDOM + SPIKE, SECOND = RANDOM + 1, SAMPLES = 3000, NETS = 6 };
static const double seconds = 1.5; /* of a search: it may end without an answer */

struct planted {
	struct bpg_ctx *ctx;
	struct bpg_net *net;
	double at[INPUTS], lo[INPUTS], up[INPUTS];
	struct bpg_box box;
	struct bpg_row row;
	struct bpg_disjunct disjunct;
	struct bpg_spec spec;
};

static double one = 1, zero;
static int64_t first_output;

static double value_at(struct planted *q, const double *x)
{
	double y;

	REQUIRE(!bpg_net_output(q->ctx, q->net, x, &y), "%s", bpg_ctx_message(q->ctx));
	return y;
}

/* y = what a random network says, less a spike of height 2 and width `reach` at a random point; "y <= what is at its top and a little". */
static void plant(struct planted *q, uint64_t seed, double reach)
{
	float W1[FIRST * INPUTS] = { 0 }, b1[FIRST], W2[SECOND * FIRST] = { 0 }, b2[SECOND], W3[SECOND], b3 = 0;
	struct build b;
	double least = INFINITY, x[INPUTS];

	memset(q, 0, sizeof *q);
	q->ctx = bpg_ctx_new();
	build_start(&b, seed);
	for (int i = 0; i < INPUTS; i++)
		q->lo[i] = -1, q->up[i] = 1, q->at[i] = (float)build_uniform(&b, -0.9, 0.9);
	for (int h = 0; h < RANDOM; h++) {
		b1[h] = (float)build_uniform(&b, -0.5, 0.5), b2[h] = (float)build_uniform(&b, -0.5, 0.5), W3[h] = (float)build_uniform(&b, -0.3, 0.3);
		for (int i = 0; i < INPUTS; i++)
			W1[h * INPUTS + i] = (float)build_uniform(&b, -0.7, 0.7);
		for (int i = 0; i < RANDOM; i++)
			W2[h * FIRST + i] = (float)build_uniform(&b, -0.4, 0.4);
	}
	/* |x_i - at_i| is a sum of two neurons; the spike is on where the sum of all is small. */
	for (int i = 0; i < INPUTS; i++)
		for (int side = 0; side < 2; side++) {
			int h = RANDOM + 2 * i + side;
			W1[h * INPUTS + i] = side ? -1 : 1;
			b1[h] = (float)(side ? q->at[i] : -q->at[i]);
			W2[RANDOM * FIRST + h] = (float)(-1 / reach);
		}
	b2[RANDOM] = 1;
	W3[RANDOM] = -2;
	int y = build_unary(&b, "Relu", build_dense(&b, build_vector(&b, INPUTS), FIRST, W1, b1));
	y = build_unary(&b, "Relu", build_dense(&b, y, SECOND, W2, b2));
	build_output(&b, build_dense(&b, y, 1, W3, &b3));
	REQUIRE(!build_net(&b, q->ctx, &q->net), "%s", bpg_ctx_message(q->ctx));
	for (int p = 0; p < SAMPLES; p++) {
		for (int i = 0; i < INPUTS; i++)
			x[i] = build_uniform(&b, -1, 1);
		least = fmin(least, value_at(q, x));
	}
	double top = value_at(q, q->at);
	ck_assert(top < least); /* a random point does not meet it */
	q->box = (struct bpg_box){ INPUTS, q->lo, q->up, q->lo, q->up };
	q->row = (struct bpg_row){ .n = 1, .index = &first_output, .coef = &one, .coef_err = &zero, .offset = -(top + 1e-4) };
	q->disjunct = (struct bpg_disjunct){ &q->box, 1, &q->row };
	q->spec = (struct bpg_spec){ .inputs = INPUTS, .outputs = 1, .disjuncts = 1, .disjunct = &q->disjunct };
}

static const struct way {
	enum bpg_branching branching;
	bool wide, attack, synchronous;
	int batch, iterations;
} ways[] = {
	{ BPG_BRANCHING_AUTO, false, true, false, 0, 10 },
	{ BPG_BRANCHING_INPUT, false, false, true, 7, 0 },
	{ BPG_BRANCHING_NEURON, false, false, false, 0, 10 },
	{ BPG_BRANCHING_NEURON, true, false, true, 3, 0 },
	{ BPG_BRANCHING_FSB, false, false, false, 0, 10 },
};

/* Of the network of a seed, by a search of so many seconds; *attacked: a plain attack finds the spike. */
static enum bpg_verdict decide(const struct way *way, uint64_t seed, double seconds, bool *attacked)
{
	const struct bpg_rt_options two = { .workers = 2, .owners = 1 };
	struct planted q;
	struct bpg_rt *rt;

	plant(&q, seed, 0.05);
	struct bpg_arena *arena = bpg_arena_new();
	struct bpg_result r = { .arena = arena, .owners = 1 };
	struct bpg_witness w;
	REQUIRE(!bpg_rt_start(q.ctx, &two, &rt), "%s", bpg_ctx_message(q.ctx));
	const struct bpg_attack_plan plain = { .net = q.net, .spec = &q.spec, .rt = rt, .seed = seed, .disjuncts = 1 };
	bool cut;
	REQUIRE(!bpg_attack(q.ctx, &plain, arena, &w, &cut), "%s", bpg_ctx_message(q.ctx));
	*attacked = w.found;
	const struct bpg_rt_options limited = { .workers = 2, .owners = 1, .deadline = bpg_now() + seconds };
	REQUIRE(!bpg_rt_again(q.ctx, rt, &limited), "%s", bpg_ctx_message(q.ctx));
	struct bpg_decide d = { .ctx = q.ctx, .net = q.net, .spec = &q.spec, .rt = rt, .search = true, .attack = way->attack, .seed = seed,
		                .branching = way->branching, .batch = way->batch, .synchronous = way->synchronous, .then_iterations = way->iterations,
		                .bound = { .method = BPG_METHOD_CROWN, .slack = true, .owners = 1, .rate = 0.5, .decay = 0.98, .beta_rate = 1,
		                           .wide = way->wide },
		                .result = &r };
	REQUIRE(!bpg_decide(&d), "%s", bpg_ctx_message(q.ctx));
	REQUIRE(r.verdict != BPG_VERDICT_UNSAT, "seed %llu: proved, and (%g %g %g) is a counterexample", (unsigned long long)seed, q.at[0], q.at[1],
	        q.at[2]);
	bpg_rt_stop(rt);
	bpg_arena_free(arena);
	bpg_net_free(q.net);
	bpg_ctx_free(q.ctx);
	return r.verdict;
}

START_TEST(test_never_proved)
{
	const struct way *way = &ways[_i];
	int attacked = 0, found = 0;
	bool a;

	for (uint64_t seed = 1; seed <= NETS; seed++) {
		found += decide(way, seed, seconds, &a) == BPG_VERDICT_SAT;
		attacked += a;
	}
	ck_assert_int_le(attacked, NETS / 3); /* else the spikes hide nothing */
	/* Most of them are small enough for a search to end, on a busy machine with more time. */
	found = found < NETS / 2 ? 0 : found;
	for (uint64_t seed = 1; found < NETS / 2 && seed <= NETS; seed++)
		found += decide(way, seed, 20 * seconds, &a) == BPG_VERDICT_SAT;
	ck_assert_int_ge(found, NETS / 2);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("planted");
	TCase *t = tcase_create("planted");

	tcase_set_timeout(t, 600);
	tcase_add_loop_test(t, test_never_proved, 0, (int)BPG_LEN(ways));
	suite_add_tcase(s, t);
	SRunner *r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	int failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
