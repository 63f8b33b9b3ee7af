/* Descriptions of machines: what is wrong is said with its line, what is right is read. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/machine.h"

#define RATES "gemm_float32 10G\ngemm_float64 5G\nconv 4G\nadjoint 6G\ntiles 8G\nstarts 2G\nintervals 1G\npacking 1.5G\n"
#define COSTS "task 1e-5\nsubmit 2e-6\nwait 1e-4\nmessage 1e-5\nlink_latency 1e-6\nlink 20G\nnetwork_latency 2e-6\nnetwork 10G\n"

static char path[64];
static struct bpg_ctx *ctx;

static void setup(void)
{
	snprintf(path, sizeof path, "/tmp/bpg_test_machine_XXXXXX");
	int fd = mkstemp(path);
	ck_assert_int_ge(fd, 0);
	close(fd);
	ctx = bpg_ctx_new();
	ck_assert_ptr_nonnull(ctx);
}

static void teardown(void)
{
	unlink(path);
	bpg_ctx_free(ctx);
}

static enum bpg_status read_text(const char *text, struct bpg_machine *m)
{
	FILE *f = fopen(path, "w");
	ck_assert_ptr_nonnull(f);
	fputs(text, f);
	fclose(f);
	return bpg_machine_read(ctx, path, m);
}

START_TEST(right)
{
	struct bpg_machine m;

	ck_assert_msg(!read_text("# a comment\n\nmachine  two of them  # and another\r\nunits 2\n" RATES "  shared\t0.5 \nmemory 1.5T\n" COSTS, &m), "%s", bpg_ctx_message(ctx));
	ck_assert_str_eq(m.name, "two of them");
	ck_assert(!m.gpu && m.units == 2 && m.owners == 1 && m.shared == 0.5 && m.memory == 1.5e12);
	ck_assert(m.gemm_float32 == 10e9 && m.packing == 1.5e9 && m.task == 1e-5 && m.network == 10e9 && m.file == 0);
	bpg_machine_fini(&m);
	ck_assert_msg(!read_text("unit gpu\nunits 8\nhost 4\nupload 25G\n" RATES COSTS, &m), "%s", bpg_ctx_message(ctx));
	ck_assert(m.gpu && m.owners == 8 && m.host == 4);
	ck_assert_str_eq(m.name, path);
	bpg_machine_fini(&m);
}
END_TEST

static const struct {
	const char *text, *line, *says;
} bad[] = {
	{ "", ":1: ", "'units' is missing" },
	{ "units 2\n" RATES, ":9: ", "'task' is missing" },
	{ "units 2\nunits 2\n", ":2: ", "second time" },
	{ "units 2.5\n", ":1: ", "whole number" },
	{ "units 0\n", ":1: ", "whole number" },
	{ "units -1\n", ":1: ", "whole number" },
	{ "units 2k\n", ":1: ", "no number" },
	{ "\n\nunits\n", ":3: ", "no value" },
	{ "gemm_float32 fast\n", ":1: ", "no number" },
	{ "gemm_float32 1GG\n", ":1: ", "no number" },
	{ "gemm_float32 -1G\n", ":1: ", "not above 0" },
	{ "gemm_float32 0\n", ":1: ", "not above 0" },
	{ "gemm_float32 inf\n", ":1: ", "not above 0" },
	{ "gemm_float32 nan\n", ":1: ", "not above 0" },
	{ "gemm_float32 1e999\n", ":1: ", "no number" },
	{ "task 1e-400\n", ":1: ", "no number" },
	{ "task 1k\n", ":1: ", "no number" },
	{ "shared 1.5\n", ":1: ", "at most 1" },
	{ "unit tpu\n", ":1: ", "core or gpu" },
	{ "# one\nGEMM 3\n", ":2: ", "unknown word" },
	{ "unit gpu\nunits 8\n" RATES COSTS, ":18: ", "'upload' is missing" },
	{ "unit gpu\nowners 2\nupload 1G\nunits 8\n" RATES COSTS, ": ", "leave owners out" },
	{ "x\033[2Jy 1\n", ":1: ", "unknown word" },
};

START_TEST(wrong)
{
	struct bpg_machine m;
	char begin[96];

	ck_assert_int_eq(read_text(bad[_i].text, &m), BPG_EFILE);
	const char *says = bpg_ctx_message(ctx);
	snprintf(begin, sizeof begin, "%s%s", path, bad[_i].line);
	ck_assert_msg(!strncmp(says, begin, strlen(begin)) && strstr(says, bad[_i].says), "'%s', expected %s ... %s", says, begin, bad[_i].says);
	ck_assert_msg(!strpbrk(says, "\n\033"), "more than a line of plain text");
	ck_assert_ptr_null(m.name);
}
END_TEST

START_TEST(no_file)
{
	struct bpg_machine m;
	char text[700] = "machine ";

	memset(text + 8, 'x', sizeof text - 9);
	ck_assert_int_eq(read_text(text, &m), BPG_EFILE);
	ck_assert_ptr_nonnull(strstr(bpg_ctx_message(ctx), ":1: the line is too long"));
	ck_assert_int_eq(bpg_machine_read(ctx, "/", &m), BPG_EFILE);
	ck_assert_int_eq(bpg_machine_read(ctx, "/nowhere/at/all", &m), BPG_EFILE);
	ck_assert_ptr_nonnull(strstr(bpg_ctx_message(ctx), "/nowhere/at/all: "));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("machine");
	TCase *t = tcase_create("machine");
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, right);
	tcase_add_loop_test(t, wrong, 0, (int)BPG_LEN(bad));
	tcase_add_test(t, no_file);
	suite_add_tcase(suite, t);
	SRunner *runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
