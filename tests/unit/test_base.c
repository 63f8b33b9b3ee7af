/* Base: arenas, messages, hashes, random numbers, outward steps. */
#include <check.h>
#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <bpgraph/layer.h>

#include "base/base.h"
#include "base/lp.h"

static bool all_are(const unsigned char *p, size_t n, int value)
{
	for (size_t k = 0; k < n; k++)
		if (p[k] != value)
			return false;
	return true;
}

/* Memory of an arena is aligned, zeroed, and of no other owner, for small and large requests mixed. */
START_TEST(test_arena)
{
	struct bpg_arena *arena = bpg_arena_new();
	struct bpg_rng rng;
	unsigned char *p[500];
	size_t size[500];
	bpg_rng_seed(&rng, 1);
	for (int i = 0; i < 500; i++) {
		size[i] = (size_t)bpg_rng_below(&rng, i % 50 ? 300 : 3000000);
		p[i] = bpg_arena_alloc(arena, size[i], 1);
		ck_assert_ptr_nonnull(p[i]);
		ck_assert_uint_eq((uintptr_t)p[i] % 64, 0);
		ck_assert(all_are(p[i], size[i], 0));
		memset(p[i], i & 255, size[i]);
	}
	for (int i = 0; i < 500; i++)
		ck_assert(all_are(p[i], size[i], i & 255));
	ck_assert_str_eq(bpg_arena_str(arena, "abc"), "abc");
	ck_assert_str_eq(bpg_arena_strn(arena, "abc", 2), "ab");
	bpg_arena_free(arena);
	bpg_arena_free(NULL);
}
END_TEST

/* Sizes that overflow are refused, not wrapped. */
START_TEST(test_absurd_sizes)
{
	struct bpg_arena *arena = bpg_arena_new();
	ck_assert_ptr_null(bpg_arena_alloc(arena, SIZE_MAX / 2, 4));
	ck_assert_ptr_null(bpg_arena_alloc(arena, SIZE_MAX, 1));
	ck_assert_ptr_null(bpg_arena_alloc(arena, (size_t)PTRDIFF_MAX - 32, 1));
	ck_assert_ptr_null(bpg_calloc(SIZE_MAX / 2, 4));
	bpg_arena_free(arena);

	double *array = NULL;
	int64_t room = 0;
	ck_assert(!bpg_grow(&array, &room, INT64_MAX, sizeof *array));
	ck_assert(bpg_grow(&array, &room, 3, sizeof *array));
	ck_assert_int_ge(room, 3);
	array[2] = 5;
	ck_assert(bpg_grow(&array, &room, 1000, sizeof *array));
	ck_assert(array[2] == 5);
	free(array);
}
END_TEST

/* A message is one line, whatever a name holds; the last one counts, and may quote the one before. */
START_TEST(test_messages)
{
	struct bpg_ctx *ctx = bpg_ctx_new();
	char buf[128], old[300];
	ck_assert_str_eq(bpg_ctx_message(ctx), "");
	ck_assert_int_eq(bpg_fail(ctx, BPG_EFILE, "a %d\nb\tc", 3), BPG_EFILE);
	ck_assert_str_eq(bpg_ctx_message(ctx), "a 3?b?c");
	bpg_fail(ctx, BPG_EFILE, "[%s]", bpg_ctx_message(ctx));
	ck_assert_str_eq(bpg_ctx_message(ctx), "[a 3?b?c]");
	ck_assert_int_eq(bpg_fail(NULL, BPG_ENOMEM, "x"), BPG_ENOMEM);
	ck_assert_int_eq(bpg_nomem(ctx, "f"), BPG_ENOMEM);
	bpg_ctx_free(ctx);
	bpg_ctx_free(NULL);

	memset(old, 'x', sizeof old);
	old[299] = 0;
	ck_assert_uint_le(strlen(bpg_printable(old, buf)), 120);
	ck_assert_str_eq(bpg_printable("a\x1b[2J\n", buf), "a?[2J?");
	ck_assert_str_eq(bpg_printable(NULL, buf), "");
	strcpy(old + 115, "\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4"); /* never half a character */
	ck_assert_int_ne(bpg_printable(old, buf)[strlen(buf) - 4] & 0xc0, 0xc0);
}
END_TEST

/* FNV-1a as published; strings keep their ends apart. */
START_TEST(test_hash)
{
	ck_assert_uint_eq(bpg_hash(BPG_HASH_START, "a", 1), 0xaf63dc4c8601ec8cull);
	ck_assert_uint_eq(bpg_hash(BPG_HASH_START, "foobar", 6), 0x85944171f73967e8ull);
	ck_assert_uint_ne(bpg_hash_str(bpg_hash_str(BPG_HASH_START, "ab"), "c"), bpg_hash_str(bpg_hash_str(BPG_HASH_START, "a"),
	                                                                                      "bc"));
}
END_TEST

/* splitmix64 as published for seed 1234567; uniform, below and normal have the right range and moments. */
START_TEST(test_random)
{
	struct bpg_rng rng;
	bpg_rng_seed(&rng, 1234567);
	ck_assert_uint_eq(bpg_rng_next(&rng), 6457827717110365317ull);
	ck_assert_uint_eq(bpg_rng_next(&rng), 3203168211198807973ull);
	double sum = 0, square = 0;
	int count[7] = { 0 };
	for (int i = 0; i < 70000; i++) {
		double u = bpg_rng_uniform(&rng), g = bpg_rng_normal(&rng);
		int64_t k = bpg_rng_below(&rng, 7);
		ck_assert(u >= 0 && u < 1 && isfinite(g) && k >= 0 && k < 7);
		sum += g;
		square += g * g;
		count[k]++;
	}
	ck_assert(fabs(sum / 70000) < 0.02 && fabs(square / 70000 - 1) < 0.03); /* 5 standard deviations */
	for (int k = 0; k < 7; k++)
		ck_assert_int_lt(abs(count[k] - 10000), 500);
	ck_assert_int_eq(bpg_rng_below(&rng, 0), 0);
}
END_TEST

/* Steps of the last place are those of nextafter, everywhere. */
START_TEST(test_steps)
{
	double special[] = { 0.0, -0.0, 0x1p-1074, -0x1p-1074, DBL_MIN, -DBL_MIN, 1, -1, DBL_MAX, -DBL_MAX };
	struct bpg_rng rng;
	for (size_t i = 0; i < BPG_LEN(special); i++) {
		ck_assert(bpg_next_up(special[i]) == nextafter(special[i], INFINITY));
		ck_assert(bpg_next_down(special[i]) == nextafter(special[i], -INFINITY));
	}
	ck_assert(bpg_next_up(INFINITY) == INFINITY && bpg_next_down(-INFINITY) == -INFINITY);
	ck_assert(isnan(bpg_next_up(NAN)) && isnan(bpg_next_down(NAN)));
	bpg_rng_seed(&rng, 2);
	for (int i = 0; i < 100000; i++) {
		uint64_t bits = bpg_rng_next(&rng);
		double x;
		memcpy(&x, &bits, sizeof x);
		if (!isfinite(x))
			continue;
		ck_assert(bpg_next_up(x) == nextafter(x, INFINITY) && bpg_next_down(x) == nextafter(x, -INFINITY));
		ck_assert((double)bpg_float_up(x) >= x && (double)bpg_float_down(x) <= x);
		ck_assert(bpg_float_up(x) == bpg_float_down(x) || bpg_float_up(x) == nextafterf(bpg_float_down(x), INFINITY));
	}
	ck_assert(bpg_float_up(1e300) == INFINITY && bpg_float_down(1e300) == FLT_MAX && bpg_float_up(1.5) == 1.5f);
}
END_TEST

/* gamma_n is at least n u / (1 - n u), and infinite where that means nothing. */
START_TEST(test_gamma)
{
	for (double n = 1; n < 1e7; n *= 3) {
		long double nu = (long double)n * 0x1p-24L;
		ck_assert((long double)bpg_gamma(n, BPG_U32) >= nu / (1 - nu));
		ck_assert((long double)bpg_gamma(n, BPG_U32) <= nu / (1 - nu) * (1 + 1e-14L));
	}
	ck_assert(bpg_gamma(0, BPG_U32) == 0 && bpg_gamma(0x1p24, BPG_U32) == INFINITY && bpg_gamma(1e300, BPG_U64) == INFINITY);
}
END_TEST

/* Clocks run forward, and the process is older than this line. */
START_TEST(test_clocks)
{
	double a = bpg_now(), cpu = bpg_thread_cpu();
	volatile double x = 1;
	for (int i = 0; i < 1000000; i++)
		x = x * 1.0000001;
	ck_assert(bpg_now() > a && bpg_thread_cpu() > cpu);
	ck_assert(bpg_process_start() <= a + 0.02 && bpg_process_start() > a - 600); /* counted in ticks of 10 ms */
}
END_TEST

/* Random linear programs: the point is feasible, and multipliers times what they are for reach the same cost (strong duality), so both
 * are optimal. A program without a point has no answer. */
START_TEST(test_lp)
{
	enum { N = 6, M = 9 };
	struct bpg_rng rng;
	double lo[N], up[N], cost[N], a[M * N], least[M], x[N], y[M];
	int solved = 0;

	bpg_rng_seed(&rng, 9);
	for (int trial = 0; trial < 200; trial++) {
		struct bpg_lp lp = { N, 1 + (int)bpg_rng_below(&rng, M), lo, up, cost, a, least };
		for (int j = 0; j < N; j++)
			lo[j] = -bpg_rng_uniform(&rng), up[j] = bpg_rng_uniform(&rng), cost[j] = bpg_rng_normal(&rng), x[j] = lo[j] + (up[j] - lo[j]) * bpg_rng_uniform(&rng);
		for (int i = 0; i < lp.rows; i++) {
			least[i] = -0.1 * bpg_rng_uniform(&rng); /* x is feasible */
			for (int j = 0; j < N; j++)
				least[i] += (a[i * N + j] = bpg_rng_below(&rng, 3) ? bpg_rng_normal(&rng) : 0) * x[j];
		}
		ck_assert(bpg_lp_solve(&lp, 10, x, y));
		double primal = 0, dual = 0;
		for (int i = 0; i < lp.rows; i++) {
			double sum = 0;
			for (int j = 0; j < N; j++)
				sum += a[i * N + j] * x[j];
			ck_assert(sum >= least[i] - 1e-6 && y[i] >= 0);
			dual += y[i] * least[i];
		}
		for (int j = 0; j < N; j++) {
			double reduced = cost[j];
			ck_assert(x[j] >= lo[j] - 1e-6 && x[j] <= up[j] + 1e-6);
			for (int i = 0; i < lp.rows; i++)
				reduced -= y[i] * a[i * N + j];
			primal += cost[j] * x[j];
			dual += fmin(reduced * lo[j], reduced * up[j]);
		}
		ck_assert(fabs(primal - dual) < 1e-6 * (1 + fabs(primal)));
		solved++;
	}
	ck_assert_int_eq(solved, 200);
	const struct bpg_lp none = { 1, 1, (double[]){ 0 }, (double[]){ 1 }, (double[]){ 1 }, (double[]){ 1 }, (double[]){ 2 } };
	ck_assert(!bpg_lp_solve(&none, 10, x, y));
}
END_TEST

int main(void)
{
	Suite *s = suite_create("base");
	TCase *t = tcase_create("base");
	tcase_add_test(t, test_arena);
	tcase_add_test(t, test_absurd_sizes);
	tcase_add_test(t, test_messages);
	tcase_add_test(t, test_hash);
	tcase_add_test(t, test_random);
	tcase_add_test(t, test_steps);
	tcase_add_test(t, test_gamma);
	tcase_add_test(t, test_clocks);
	tcase_add_test(t, test_lp);
	suite_add_tcase(s, t);
	SRunner *r = srunner_create(s);
	srunner_run_all(r, CK_ENV);
	int failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
