/* Reports: numbers read back exactly, strings are escaped, infinite is null, NaN fails; texts of the verdicts. */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpgraph/layer.h>

#include "report/json.h"
#include "report/number.h"
#include "report/result.h"

static struct bpg_ctx *ctx;
static char path[64];
static char text[8192];

static void setup(void)
{
	ctx = bpg_ctx_new();
	strcpy(path, "/tmp/bpgraph-report-XXXXXX");
	close(mkstemp(path));
}

static void teardown(void)
{
	unlink(path);
	bpg_ctx_free(ctx);
}

static const char *content(void)
{
	FILE *f = fopen(path, "r");
	ck_assert_ptr_nonnull(f);
	text[fread(text, 1, sizeof text - 1, f)] = 0;
	fclose(f);
	return text;
}

START_TEST(test_numbers_read_back)
{
	struct bpg_rng rng;
	char buf[32];
	bpg_rng_seed(&rng, 7);
	for (int i = 0; i < 100000; i++) {
		uint64_t bits = bpg_rng_next(&rng);
		double x;
		memcpy(&x, &bits, sizeof x);
		if (isnan(x))
			continue;
		ck_assert(strtod(bpg_number(x, buf), NULL) == x);
		float f = (float)x;
		ck_assert(strtof(bpg_number((double)f, buf), NULL) == f && strtod(buf, NULL) == (double)f);
	}
	ck_assert_str_eq(bpg_number(0.1, buf), "0.1");
	ck_assert_str_eq(bpg_number(-HUGE_VAL, buf), "-inf");
}
END_TEST

START_TEST(test_json)
{
	struct bpg_json j;
	const double x[] = { 0.1, HUGE_VAL, -3 };
	ck_assert_int_eq(bpg_json_open(ctx, &j, path), BPG_OK);
	bpg_json_string(&j, "s", "a\"b\\c\n\x01\xff\xc3\xa9");
	bpg_json_string(&j, "none", NULL);
	bpg_json_object(&j, "o");
	bpg_json_numbers(&j, "x", x, 3);
	bpg_json_bool(&j, "b", true);
	bpg_json_end(&j);
	bpg_json_numbers(&j, "empty", NULL, 0);
	bpg_json_whole(&j, "n", INT64_MIN);
	bpg_json_hex(&j, "h", 255);
	ck_assert_int_eq(bpg_json_close(ctx, &j), BPG_OK);
	ck_assert_str_eq(content(), "{\"s\": \"a\\\"b\\\\c\\u000a\\u0001\\ufffd\xc3\xa9\",\n \"none\": null,\n"
	                            " \"o\": {\"x\": [0.1, null, -3], \"b\": true},\n \"empty\": [],\n"
	                            " \"n\": -9223372036854775808,\n \"h\": \"00000000000000ff\"}\n");
}
END_TEST

START_TEST(test_json_nan)
{
	struct bpg_json j;
	ck_assert_int_eq(bpg_json_open(ctx, &j, path), BPG_OK);
	bpg_json_number(&j, "x", nan(""));
	ck_assert_int_eq(bpg_json_close(ctx, &j), BPG_ENUMERIC);
	ck_assert_msg(access(path, F_OK) != 0, "a half-written file was left");
}
END_TEST

START_TEST(test_json_unwritable)
{
	struct bpg_json j;
	ck_assert_int_eq(bpg_json_open(ctx, &j, "/nowhere/x.json"), BPG_EFILE);
	ck_assert(strstr(bpg_ctx_message(ctx), "/nowhere/x.json") != NULL);
	ck_assert_int_eq(bpg_json_open(ctx, &j, "/dev/full"), BPG_OK);
	bpg_json_whole(&j, "n", 1);
	ck_assert_int_eq(bpg_json_close(ctx, &j), BPG_EFILE);
	ck_assert_msg(access("/dev/full", F_OK) == 0, "a device was removed");
}
END_TEST

static struct bpg_result sample(void)
{
	static const double lower[] = { -1.5, -HUGE_VAL }, upper[] = { 0.1, 2 };
	static const float in[] = { 0.1f, -2 }, out[] = { 3 };
	return (struct bpg_result){ .network = "n.onnx", .method = "crown", .rows = 2, .lower = lower, .upper = upper, .inputs = 2,
	                            .outputs = 1, .witness_in = in, .witness_out = out, .placement = "single", .scheduler = "lws" };
}

static const char *printed(const struct bpg_result *r)
{
	ck_assert_int_eq(bpg_result_text(ctx, r, path), BPG_OK);
	return content();
}

START_TEST(test_result_text)
{
	struct bpg_result r = sample();
	ck_assert_str_eq(printed(&r), "Y_0 -1.5 0.1\nY_1 -inf 2\n");
	ck_assert_int_eq(bpg_result_exit(&r), 0);
	r.property = "p.vnnlib";
	r.verdict = BPG_VERDICT_SAT;
	ck_assert_str_eq(printed(&r), "sat\n((X_0 0.10000000149011612)\n (X_1 -2)\n (Y_0 3))\n");
	ck_assert_int_eq(bpg_result_exit(&r), 1);
	r.verdict = BPG_VERDICT_UNSAT;
	ck_assert_str_eq(printed(&r), "unsat\n");
	ck_assert_int_eq(bpg_result_exit(&r), 0);
	r.verdict = BPG_VERDICT_UNKNOWN;
	ck_assert_int_eq(bpg_result_exit(&r), 3);
	r.verdict = BPG_VERDICT_TIMEOUT;
	ck_assert_str_eq(printed(&r), "timeout\n");
	ck_assert_int_eq(bpg_result_exit(&r), 4);
}
END_TEST

START_TEST(test_result_nan)
{
	struct bpg_result r = sample();
	const double bad[] = { 0, nan("") };
	ck_assert_int_eq(bpg_result_check(ctx, &r), BPG_OK);
	r.upper = bad;
	ck_assert_int_eq(bpg_result_check(ctx, &r), BPG_ENUMERIC);
}
END_TEST

START_TEST(test_result_json)
{
	struct bpg_result r = sample();
	ck_assert_int_eq(bpg_result_json(ctx, &r, path), BPG_OK);
	content();
	ck_assert(strstr(text, "\"verdict\": \"bounds\"") != NULL);
	ck_assert(strstr(text, "\"property\": null") != NULL);
	ck_assert(strstr(text, "\"rows\": {\"lower\": [-1.5, null], \"upper\": [0.1, 2]}") != NULL);
	ck_assert(strstr(text, "\"plan_hash\": \"0000000000000000\"") != NULL);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("report");
	TCase *t = tcase_create("report");
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_set_timeout(t, 60);
	tcase_add_test(t, test_numbers_read_back);
	tcase_add_test(t, test_json);
	tcase_add_test(t, test_json_nan);
	tcase_add_test(t, test_json_unwritable);
	tcase_add_test(t, test_result_text);
	tcase_add_test(t, test_result_nan);
	tcase_add_test(t, test_result_json);
	suite_add_tcase(s, t);
	SRunner *r = srunner_create(s);
	srunner_run_all(r, CK_ENV);
	int failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
