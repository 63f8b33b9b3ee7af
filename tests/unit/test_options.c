/* Options: every kind is set from text, what is wrong is named together with where it came from, the line wins. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "base/options.h"

static struct bpg_ctx *ctx;
static struct bpg_options o;

static void setup(void)
{
	ctx = bpg_ctx_new();
	bpg_options_init(&o);
}

static void teardown(void)
{
	bpg_options_fini(&o);
	bpg_ctx_free(ctx);
}

static enum bpg_status set(const char *name, const char *value)
{
	int id = bpg_option_find(name, strlen(name));
	ck_assert_msg(id >= 0, "no option %s", name);
	return bpg_option_set(ctx, &o, id, value, BPG_FROM_LINE);
}

static void refused(const char *name, const char *value, const char *part)
{
	ck_assert_msg(set(name, value) != BPG_OK, "--%s=%s was taken", name, value ? value : "(null)");
	ck_assert_msg(strstr(bpg_ctx_message(ctx), part) != NULL, "'%s' lacks '%s'", bpg_ctx_message(ctx), part);
}

/* The words of the table and the enums of options.h are two lists in one order. */
START_TEST(test_words_are_enums)
{
	static const struct {
		const char *name, *value;
		size_t at;
		int is;
	} t[] = {
		{ "method", "auto", offsetof(struct bpg_options, method), BPG_METHOD_AUTO },
		{ "method", "ibp", offsetof(struct bpg_options, method), BPG_METHOD_IBP },
		{ "method", "crown-ibp", offsetof(struct bpg_options, method), BPG_METHOD_CROWN_IBP },
		{ "method", "crown", offsetof(struct bpg_options, method), BPG_METHOD_CROWN },
		{ "norm", "2", offsetof(struct bpg_options, norm), BPG_NORM_2 },
		{ "norm", "1", offsetof(struct bpg_options, norm), BPG_NORM_1 },
		{ "norm", "inf", offsetof(struct bpg_options, norm), BPG_NORM_INF },
		{ "sides", "lower", offsetof(struct bpg_options, sides), BPG_SIDES_LOWER },
		{ "sides", "upper", offsetof(struct bpg_options, sides), BPG_SIDES_UPPER },
		{ "precision", "float64", offsetof(struct bpg_options, precision), BPG_PRECISION_F64 },
		{ "sound", "off", offsetof(struct bpg_options, sound), BPG_SOUND_OFF },
		{ "sound", "real", offsetof(struct bpg_options, sound), BPG_SOUND_REAL },
		{ "attack", "off", offsetof(struct bpg_options, attack), BPG_ATTACK_OFF },
		{ "placement", "single", offsetof(struct bpg_options, placement), BPG_PLACEMENT_SINGLE },
		{ "placement", "rows", offsetof(struct bpg_options, placement), BPG_PLACEMENT_ROWS },
	};
	for (size_t i = 0; i < BPG_LEN(t); i++) {
		ck_assert_msg(set(t[i].name, t[i].value) == BPG_OK, "%s", bpg_ctx_message(ctx));
		ck_assert_int_eq(*(int *)((char *)&o + t[i].at), t[i].is);
	}
}
END_TEST

START_TEST(test_defaults)
{
	ck_assert_int_eq(o.method, BPG_METHOD_AUTO);
	ck_assert_int_eq(o.seed, 1);
	ck_assert_int_eq(o.shards, 1);
	ck_assert_int_eq(o.memory, 0);
	ck_assert(o.timeout == 0);
	ck_assert(o.center == NULL && !o.quiet);
}
END_TEST

START_TEST(test_numbers)
{
	ck_assert_int_eq(set("shards", "4"), BPG_OK);
	ck_assert_int_eq(o.shards, 4);
	ck_assert_int_eq(set("timeout", "1.5e1"), BPG_OK);
	ck_assert(o.timeout == 15);
	ck_assert_int_eq(set("epsilon", "0.1"), BPG_OK);
	ck_assert(o.epsilon == 0.1);
	ck_assert_str_eq(o.text[BPG_OPT_epsilon], "0.1");
	refused("shards", "0", "--shards=0");
	refused("shards", "4x", "whole number");
	refused("shards", "99999999999999999999", "4096");
	refused("seed", "99999999999999999999", "whole number");
	refused("timeout", "-1", "--timeout=-1");
	refused("timeout", "nan", "number");
	refused("timeout", "inf", "number");
	refused("timeout", "0x10", "number");
	refused("timeout", "1e400", "number");
	refused("epsilon", "", "empty");
}
END_TEST

START_TEST(test_sizes)
{
	ck_assert_int_eq(set("memory", "512M"), BPG_OK);
	ck_assert_int_eq(o.memory, (int64_t)512 << 20);
	ck_assert_int_eq(set("memory", "4GiB"), BPG_OK);
	ck_assert_int_eq(o.memory, (int64_t)4 << 30);
	ck_assert_int_eq(set("memory", "1.5k"), BPG_OK);
	ck_assert_int_eq(o.memory, 1536);
	ck_assert_int_eq(set("memory", "100"), BPG_OK);
	ck_assert_int_eq(o.memory, 100);
	refused("memory", "-1", "size");
	refused("memory", "4X", "size");
	refused("memory", "M", "size");
	refused("memory", "1e30T", "size");
	refused("memory", "infG", "size");
}
END_TEST

/* Several options append, the line replaces the environment, and only the variable is cut at colons. */
START_TEST(test_lists)
{
	setenv("BPGRAPH_LAYER", "a.so::b c.so", 1);
	ck_assert_int_eq(bpg_options_environment(ctx, &o, BPG_COMMAND_RUN), BPG_OK);
	ck_assert_str_eq(o.layer, "a.so\n\nb c.so\n");
	ck_assert_int_eq(set("layer", "x:y.so"), BPG_OK);
	ck_assert_str_eq(o.layer, "x:y.so\n");
	ck_assert_int_eq(set("layer", "./z.so"), BPG_OK);
	ck_assert_str_eq(o.layer, "x:y.so\n./z.so\n");
	ck_assert_int_eq(bpg_options_environment(ctx, &o, BPG_COMMAND_RUN), BPG_OK);
	ck_assert_str_eq(o.layer, "x:y.so\n./z.so\n");
	unsetenv("BPGRAPH_LAYER");
	refused("layer", "", "empty");
}
END_TEST

START_TEST(test_flags)
{
	ck_assert_int_eq(set("layer-bounds", "on"), BPG_OK);
	ck_assert(o.layer_bounds);
	ck_assert_int_eq(set("layer-bounds", "0"), BPG_OK);
	ck_assert(!o.layer_bounds);
	refused("quiet", "maybe", "on or off");
	refused("quiet", NULL, "give on or off");
	refused("timeout", NULL, "--timeout has no value");
}
END_TEST

/* What is not built yet is refused, never ignored. */
START_TEST(test_later)
{
	refused("sound", "deployed", "not built yet");
	refused("certificate", "f", "--certificate is not built yet");
	refused("method", "crwon", "auto, ibp, crown-ibp, crown, alpha-crown or beta-crown");
	ck_assert_int_eq(bpg_option_find("layer_bounds", 12), -1);
	ck_assert_int_eq(bpg_option_find("metho", 5), -1);
	ck_assert_int_eq(bpg_option_find("methods", 7), -1);
}
END_TEST

START_TEST(test_environment)
{
	setenv("BPGRAPH_METHOD", "ibp", 1);
	setenv("BPGRAPH_SLOPE", "", 1);
	setenv("BPGRAPH_LAYER_BOUNDS", "1", 1);
	ck_assert_int_eq(bpg_options_environment(ctx, &o, BPG_COMMAND_RUN), BPG_OK);
	ck_assert_int_eq(o.method, BPG_METHOD_IBP);
	ck_assert(o.layer_bounds);
	ck_assert_int_eq(o.source[BPG_OPT_slope], BPG_FROM_DEFAULT);
	ck_assert_int_eq(set("method", "crown"), BPG_OK);
	ck_assert_int_eq(bpg_options_environment(ctx, &o, BPG_COMMAND_RUN), BPG_OK);
	ck_assert_int_eq(o.method, BPG_METHOD_CROWN);

	setenv("BPGRAPH_SLOPE", "steep", 1);
	ck_assert_int_ne(bpg_options_environment(ctx, &o, BPG_COMMAND_RUN), BPG_OK);
	ck_assert_str_eq(bpg_ctx_message(ctx), "environment: BPGRAPH_SLOPE=steep: unknown word; give adaptive, zero, one or same");
	/* A command that does not take the option does not look. */
	ck_assert_int_eq(bpg_options_environment(ctx, &o, BPG_COMMAND_EVAL), BPG_OK);
	setenv("BPGRAPH_SLOPE", "", 1);
	setenv("BPGRAPH_CERTIFICATE", "f", 1);
	ck_assert_int_ne(bpg_options_environment(ctx, &o, BPG_COMMAND_RUN), BPG_OK);
	unsetenv("BPGRAPH_CERTIFICATE");
	unsetenv("BPGRAPH_METHOD");
	unsetenv("BPGRAPH_SLOPE");
	unsetenv("BPGRAPH_LAYER_BOUNDS");
}
END_TEST

/* Every line of the table can be found by its name, has help, and a default that is one of its values. */
START_TEST(test_table)
{
	for (int id = 0; id < BPG_OPTIONS; id++) {
		char name[32], word[32];
		bool built;
		const struct bpg_option *x = bpg_option_get(id);
		bpg_option_name(id, name);
		ck_assert_int_eq(bpg_option_find(name, strlen(name)), id);
		ck_assert(x->where != 0);
		ck_assert(x->kind == BPG_OPTION_LATER || x->help[0]);
		if (x->kind == BPG_OPTION_CHOICE)
			ck_assert(bpg_option_word(id, 0, word, &built) && built);
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("options");
	TCase *t = tcase_create("options");
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, test_words_are_enums);
	tcase_add_test(t, test_defaults);
	tcase_add_test(t, test_numbers);
	tcase_add_test(t, test_sizes);
	tcase_add_test(t, test_lists);
	tcase_add_test(t, test_flags);
	tcase_add_test(t, test_later);
	tcase_add_test(t, test_environment);
	tcase_add_test(t, test_table);
	suite_add_tcase(s, t);
	SRunner *r = srunner_create(s);
	srunner_run_all(r, CK_ENV);
	int failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
