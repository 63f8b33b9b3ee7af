/* The simulation of tasks: schedules known by hand; on random graphs the bounds that hold for every list schedule (Graham 1966), and time
 * that scales with the machine. */
#include <check.h>
#include <math.h>
#include <stdlib.h>

#include "graph/simulate.h"
#include "require.h"

enum { TASKS = 400, DATA = 24, OWNERS = 3 };

static struct bpg_machine machine(double units)
{
	return (struct bpg_machine){ .units = units, .owners = 1, .host = 1, .gemm_float32 = 1, .shared = 1, .task = 0x1p-20, .submit = 0x1p-30, .wait = 0x1p-10, .message = 0x1p-18,
		                     .link_latency = 0x1p-14, .link = 0x1p20, .network_latency = 0x1p-12, .network = 0x1p18 };
}

static void submit(struct bpg_sim *s, int owner, double seconds, int priority, int data, bool write)
{
	bpg_sim_submit(s, &(struct bpg_sim_task){ .lane = BPG_SIM_WORKER, .owner = owner, .seconds = seconds, .priority = priority, .uses = data >= 0,
	                                          .use = &(struct bpg_sim_use){ data, write } });
}

static double end(struct bpg_sim *s)
{
	struct bpg_sim_outcome x;

	REQUIRE(bpg_sim_wait(s, 0), "memory is short");
	bpg_sim_outcome(s, &x);
	bpg_sim_free(s);
	return x.seconds;
}

static bool near(double x, double y)
{
	return fabs(x - y) < 1e-4 * (1 + fabs(y));
}

/* Writers follow each other, readers go side by side, the last one waits for both. */
START_TEST(test_data)
{
	struct bpg_machine m = machine(2);
	struct bpg_sim *s = bpg_sim_new(&m, 1, 1, true, 0);
	int d = bpg_sim_data(s);

	ck_assert_int_eq(bpg_sim_workers(s), 2);
	submit(s, 0, 1, 0, d, true);
	submit(s, 0, 2, 0, d, false);
	submit(s, 0, 3, 0, d, false);
	submit(s, 0, 1, 0, d, true);
	ck_assert_double_eq_tol(end(s), 1 + 3 + 1, 1e-4);
}
END_TEST

/* One worker: the urgent task goes before those that were there first. Its reader ends last of all otherwise. */
START_TEST(test_priority)
{
	struct bpg_machine m = machine(1);
	for (int urgent = 0; urgent < 2; urgent++) {
		struct bpg_sim *s = bpg_sim_new(&m, 2, 2, false, 1);
		int d = bpg_sim_data(s);
		submit(s, 0, 1, 0, -1, false);
		for (int i = 0; i < 4; i++)
			submit(s, 0, 1, 0, -1, false);
		submit(s, 0, 1, urgent, d, true);
		submit(s, 1, 8, 0, d, false); /* the other owner waits for it */
		double seconds = end(s);
		ck_assert_msg(near(seconds, urgent ? 2 + 8 : 6 + 8), "%g s", seconds);
	}
}
END_TEST

/* A transfer goes on while its owner works; two to one owner follow each other; other nodes are slower. */
START_TEST(test_links)
{
	for (int near_by = 0; near_by < 2; near_by++) {
		struct bpg_machine m = machine(3);
		m.owners = near_by ? 3 : 1;
		struct bpg_sim *s = bpg_sim_new(&m, 3, 3, false, 1);
		double rate = near_by ? m.link : m.network;
		int got[2] = { bpg_sim_data(s), bpg_sim_data(s) };
		struct bpg_sim_outcome x;
		submit(s, 0, 1, 0, -1, false);
		for (int i = 0; i < 2; i++)
			bpg_sim_submit(s, &(struct bpg_sim_task){ .lane = BPG_SIM_LINK, .owner = 0, .from = 1 + i, .bytes = 2 * rate, .uses = 1, .use = &(struct bpg_sim_use){ got[i], true } });
		submit(s, 0, 1, 0, got[1], false);
		ck_assert(bpg_sim_wait(s, 0));
		bpg_sim_outcome(s, &x);
		ck_assert_msg(near(x.seconds, 5), "%g s", x.seconds);
		ck_assert_msg(near(x.overlap, 1.0 / 4), "overlap %g", x.overlap); /* of four seconds of transfers one beside the first task */
		ck_assert_msg(near(x.waiting, 1 - 2.0 / 15), "waiting %g", x.waiting);
		ck_assert_int_eq(x.transfers, 2);
		bpg_sim_free(s);
	}
}
END_TEST

/* Cores that owners share are taken by turns, and slow each other down. */
START_TEST(test_crowd)
{
	struct bpg_machine m = machine(2);
	m.owners = 4;
	ck_assert(bpg_sim_crowded(&m, 4, 1) && !bpg_sim_crowded(&m, 2, 1));
	struct bpg_sim *s = bpg_sim_new(&m, 4, 4, false, 1);
	for (int o = 0; o < 4; o++)
		submit(s, o, 1, 0, -1, false);
	ck_assert_double_eq_tol(end(s), 2, 1e-4);
	m.shared = 0.5;
	s = bpg_sim_new(&m, 2, 2, false, 1);
	submit(s, 0, 1, 0, -1, false);
	submit(s, 1, 1, 0, -1, false);
	double seconds = end(s);
	ck_assert_msg(near(seconds, 2), "%g s", seconds);
}
END_TEST

/* A random graph, of random lengths; with links only where asked. */
static struct bpg_sim_outcome random_graph(const struct bpg_machine *m, uint64_t seed, int owners, bool links, int n)
{
	struct bpg_sim *s = bpg_sim_new(m, owners, owners, false, 0);
	struct bpg_rng rng;
	struct bpg_sim_outcome x;
	int data[DATA];

	bpg_rng_seed(&rng, seed);
	for (int i = 0; i < DATA; i++)
		data[i] = bpg_sim_data(s);
	for (int i = 0; i < n; i++) {
		struct bpg_sim_use use[3];
		int first = (int)(bpg_rng_next(&rng) % (DATA - 3));
		for (int k = 0; k < 3; k++)
			use[k] = (struct bpg_sim_use){ data[first + k], k == 0 && bpg_rng_next(&rng) % 2 };
		bool link = links && bpg_rng_next(&rng) % 4 == 0;
		int owner = (int)(bpg_rng_next(&rng) % (uint64_t)owners);
		/* lengths are powers of two times small numbers: twice the rate is exactly half the time */
		double seconds = (double)(1 + bpg_rng_next(&rng) % 15) / m->gemm_float32;
		bpg_sim_submit(s, &(struct bpg_sim_task){ .lane = link ? BPG_SIM_LINK : BPG_SIM_WORKER, .owner = owner, .from = (owner + 1) % owners,
		                                          .bytes = (double)(1 + bpg_rng_next(&rng) % 7) * 0x1p18, .seconds = seconds, .priority = (int)(bpg_rng_next(&rng) % 5), .uses = 3, .use = use });
		if (i % 97 == 96)
			ck_assert(bpg_sim_wait(s, m->wait));
	}
	ck_assert(bpg_sim_wait(s, m->wait));
	bpg_sim_outcome(s, &x);
	bpg_sim_free(s);
	return x;
}

/* No schedule is shorter than all work over all workers, or than the longest chain; none that leaves no worker idle beside a ready task is
 * longer than both together. */
START_TEST(test_bounds)
{
	for (int units = 1; units <= 4; units++) {
		struct bpg_machine m = machine(units);
		struct bpg_sim_outcome x = random_graph(&m, (uint64_t)_i + 1, 1, false, TASKS), y = random_graph(&m, (uint64_t)_i + 1, OWNERS, true, TASKS);
		REQUIRE(x.seconds >= x.work - 1e-9 && x.seconds >= x.critical - 1e-9, "%g s; work %g, chain %g", x.seconds, x.work, x.critical);
		REQUIRE(x.seconds <= x.work + x.critical + 0.01, "%g s; work %g, chain %g", x.seconds, x.work, x.critical);
		REQUIRE(units > 1 || x.seconds <= x.work + 0.1, "one worker: %g s of %g", x.seconds, x.work); /* never idle but in waits */
		REQUIRE(y.seconds >= y.work - 1e-9 && y.seconds >= y.critical - 1e-9, "links: %g s; work %g, chain %g", y.seconds, y.work, y.critical);
		REQUIRE(y.overlap >= 0 && y.overlap <= 1 && y.waiting >= 0 && y.waiting <= 1, "shares %g, %g", y.overlap, y.waiting);
	}
}
END_TEST

/* A machine that is twice as fast in everything takes half the time, to the last bit. */
START_TEST(test_scale)
{
	struct bpg_machine m = machine(2), fast = m;
	double *time[] = { &fast.task, &fast.submit, &fast.wait, &fast.message, &fast.link_latency, &fast.network_latency };

	fast.gemm_float32 *= 2, fast.link *= 2, fast.network *= 2;
	for (size_t i = 0; i < BPG_LEN(time); i++)
		*time[i] /= 2;
	struct bpg_sim_outcome x = random_graph(&m, (uint64_t)_i + 1, OWNERS, true, TASKS), y = random_graph(&fast, (uint64_t)_i + 1, OWNERS, true, TASKS);
	ck_assert_double_eq(x.seconds, 2 * y.seconds);
	ck_assert_double_eq(x.critical, 2 * y.critical);
	ck_assert_double_eq(x.overlap, y.overlap);
}
END_TEST

/* Many more tasks than are ever in flight. */
START_TEST(test_many)
{
	struct bpg_machine m = machine(4);
	struct bpg_sim_outcome x = random_graph(&m, 1, 1, false, 100 * TASKS);

	ck_assert_int_eq(x.tasks, 100 * TASKS);
	ck_assert(x.seconds <= x.work + x.critical + 1);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("simulate");
	TCase *t = tcase_create("simulate");
	tcase_set_timeout(t, 120);
	tcase_add_test(t, test_data);
	tcase_add_test(t, test_priority);
	tcase_add_test(t, test_links);
	tcase_add_test(t, test_crowd);
	tcase_add_loop_test(t, test_bounds, 0, 20);
	tcase_add_loop_test(t, test_scale, 0, 20);
	tcase_add_test(t, test_many);
	suite_add_tcase(suite, t);
	SRunner *runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
