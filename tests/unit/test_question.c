/* Questions: regions and rows from options contain what was written, in real arithmetic, and nonsense is refused. */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpgraph/bpgraph.h>

#include "spec/question.h"

static struct bpg_ctx *ctx;
static struct bpg_options o;
static struct bpg_question *q;
static char dir[64], path[8][96];
static int paths;

static void setup(void)
{
	ctx = bpg_ctx_new();
	bpg_options_init(&o);
	q = NULL;
	paths = 0;
	strcpy(dir, "/tmp/bpgraph-question-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(dir));
}

static void teardown(void)
{
	for (int i = 0; i < paths; i++)
		unlink(path[i]);
	rmdir(dir);
	bpg_question_free(q);
	bpg_options_fini(&o);
	bpg_ctx_free(ctx);
}

/* A file of numbers. */
static const char *file(const char *numbers)
{
	char *p = path[paths];
	snprintf(p, sizeof path[0], "%s/%d", dir, paths);
	paths++;
	FILE *f = fopen(p, "w");
	fputs(numbers, f);
	fclose(f);
	return p;
}

static void set(int id, const char *value)
{
	ck_assert_msg(bpg_option_set(ctx, &o, id, value, BPG_FROM_LINE) == BPG_OK, "%s", bpg_ctx_message(ctx));
}

static void ask(int64_t n, int64_t m)
{
	enum bpg_status st = bpg_question_from_options(ctx, &o, n, m, &q);
	ck_assert_msg(st == BPG_OK, "%s", bpg_ctx_message(ctx));
}

static void refused(int64_t n, int64_t m, const char *part)
{
	ck_assert(bpg_question_from_options(ctx, &o, n, m, &q) != BPG_OK);
	ck_assert_ptr_null(q);
	ck_assert_msg(strstr(bpg_ctx_message(ctx), part) != NULL, "'%s' lacks '%s'", bpg_ctx_message(ctx), part);
}

START_TEST(test_unit_box)
{
	ask(2, 3);
	ck_assert(q->unit && q->region->lo[1] == 0 && q->region->up[1] == 1 && q->rows == 3 && !q->C);
}
END_TEST

/* 0.1 and 0.3 are no doubles: the ends must lie outside the decimals. */
START_TEST(test_ball_is_outward)
{
	set(BPG_OPT_center, file("0.3, -0.1\n"));
	set(BPG_OPT_epsilon, "0.1");
	ask(2, 1);
	ck_assert(q->region->lo[0] < 0.2 && q->region->lo[0] > 0.2 - 1e-15);
	ck_assert(q->region->up[0] > 0.4 && q->region->up[0] < 0.4 + 1e-15);
	ck_assert(q->region->lo[1] <= -0.2 && q->region->up[1] >= 0.0);
	ck_assert(!q->unit && q->region->norm == BPG_NORM_INF);
}
END_TEST

START_TEST(test_point)
{
	set(BPG_OPT_center, file("0.5 0.25"));
	set(BPG_OPT_epsilon, "0");
	ask(2, 1);
	ck_assert(q->region->lo[0] == 0.5 && q->region->up[0] == 0.5 && q->region->lo[1] == 0.25 && q->region->up[1] == 0.25);
}
END_TEST

START_TEST(test_two_norm)
{
	set(BPG_OPT_center, file("1 0.1"));
	set(BPG_OPT_epsilon, "0.5");
	set(BPG_OPT_norm, "2");
	ask(2, 1);
	ck_assert(q->region->norm == BPG_NORM_2 && q->region->radius >= 0.5 && q->region->radius < 0.5 + 1e-15 && q->region->center[0] == 1);
	ck_assert(q->region->lo[0] <= 0.5 && q->region->up[0] >= 1.5);
}
END_TEST

START_TEST(test_clip)
{
	set(BPG_OPT_center, file("0.9 0.5"));
	set(BPG_OPT_epsilon, "0.25");
	set(BPG_OPT_clip, "0,1");
	ask(2, 1);
	ck_assert(q->region->up[0] == 1 && q->region->lo[0] < 0.65 && q->region->up[1] >= 0.75);
}
END_TEST

START_TEST(test_clip_refused)
{
	set(BPG_OPT_center, file("5"));
	set(BPG_OPT_epsilon, "0.25");
	set(BPG_OPT_clip, "0,1");
	refused(1, 1, "clip");
	set(BPG_OPT_clip, "1,0");
	refused(1, 1, "--clip=1,0");
	set(BPG_OPT_clip, "1");
	refused(1, 1, "--clip=1");
}
END_TEST

START_TEST(test_box)
{
	set(BPG_OPT_lower, file("0.1 1"));
	set(BPG_OPT_upper, file("0.1 2"));
	ask(2, 1);
	ck_assert(q->region->lo[0] <= 0.1 && q->region->up[0] >= 0.1 && q->region->lo[0] < q->region->up[0] && q->region->lo[1] == 1 && q->region->up[1] == 2);
}
END_TEST

START_TEST(test_box_refused)
{
	set(BPG_OPT_lower, file("0 3"));
	refused(2, 1, "--upper");
	set(BPG_OPT_upper, file("1 2"));
	refused(2, 1, "above");
	refused(3, 1, path[0]);
	set(BPG_OPT_center, file("1 2"));
	set(BPG_OPT_epsilon, "1");
	refused(2, 1, "two regions");
}
END_TEST

START_TEST(test_halves_refused)
{
	set(BPG_OPT_norm, "2");
	refused(1, 1, "--norm");
	set(BPG_OPT_epsilon, "1");
	refused(1, 1, "--center");
	ck_assert(bpg_question_no_region(ctx, &o) != BPG_OK);
}
END_TEST

START_TEST(test_rows)
{
	set(BPG_OPT_rows, file("1 -1\n0.1 2\n3 4\n"));
	set(BPG_OPT_offset, file("0 0.1 2"));
	ask(1, 2);
	ck_assert_int_eq(q->rows, 3);
	ck_assert(q->C[1] == -1 && q->C_err[1] == 0 && q->C[2] == 0.1 && q->C_err[2] > 0 && q->C_err[2] < 1e-15);
	ck_assert(q->d[2] == 2 && q->d[1] == 0.1 && q->d_err[1] > 0);
}
END_TEST

START_TEST(test_offset_alone)
{
	set(BPG_OPT_offset, file("5 6"));
	ask(1, 2);
	ck_assert(q->rows == 2 && q->C[0] == 1 && q->C[1] == 0 && q->C[3] == 1 && q->d[1] == 6);
}
END_TEST

START_TEST(test_rows_refused)
{
	set(BPG_OPT_rows, file("1 2 3"));
	refused(1, 2, "rows of 2");
	set(BPG_OPT_rows, file("1 2"));
	set(BPG_OPT_offset, file("1 2"));
	refused(1, 2, path[2]);
}
END_TEST

START_TEST(test_call)
{
	const double C[] = { 1, 2, 3, 4 }, bad[] = { 1, HUGE_VAL };
	q = bpg_question_new(1, 2);
	ck_assert_int_eq(bpg_question_rows(ctx, q, 2, C, NULL), BPG_OK);
	ck_assert(q->rows == 2 && q->C[3] == 4 && q->d[1] == 0);
	ck_assert_int_eq(bpg_question_rows(ctx, q, 1, bad, NULL), BPG_EUSAGE);
	ck_assert_int_eq(bpg_question_rows(ctx, q, INT64_MAX, C, NULL), BPG_EUSAGE);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("question");
	TCase *t = tcase_create("question");
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, test_unit_box);
	tcase_add_test(t, test_ball_is_outward);
	tcase_add_test(t, test_point);
	tcase_add_test(t, test_two_norm);
	tcase_add_test(t, test_clip);
	tcase_add_test(t, test_clip_refused);
	tcase_add_test(t, test_box);
	tcase_add_test(t, test_box_refused);
	tcase_add_test(t, test_halves_refused);
	tcase_add_test(t, test_rows);
	tcase_add_test(t, test_offset_alone);
	tcase_add_test(t, test_rows_refused);
	tcase_add_test(t, test_call);
	suite_add_tcase(s, t);
	SRunner *r = srunner_create(s);
	srunner_run_all(r, CK_ENV);
	int failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
