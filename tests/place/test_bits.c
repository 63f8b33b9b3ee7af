/* The same bits, whoever computes: workers, schedulers, waves, owners and twins change nothing in bounds and plan; panel widths,
 * tile heights and instruction sets change no bound.
 *
 * StarPU starts once in a process, and the kernel is chosen when it begins: every setting runs in a process of its own,
 * which is this program with arguments. */
#include <check.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../graph/builder.h"
#include "../graph/outcome.h"
#include "../graph/require.h"
#include "graph/domains.h"

struct setting {
	const char *name, *kernel, *scheduler;
	int workers, owners, wave, panel, tile;
	bool same_plan;
	enum bpg_placement placement;
	bool twins;               /* tasks run as on a device, by the kernels' text for the host */
};

static const struct setting settings[] = {
	/*                    kernel      scheduler workers owners wave panel tile same plan, placement, twins */
	{ "one worker",       "avx512",   "lws",    1, 1, 0, 0, 0, true, 0, false }, /* what the others are compared with */
	{ "two workers",      "avx512",   "lws",    2, 1, 0, 0, 0, true, 0, false },
	{ "eager",            "avx512",   "eager",  2, 1, 0, 0, 0, true, 0, false },
	{ "prio",             "avx512",   "prio",   2, 1, 0, 0, 0, true, 0, false },
	{ "dmdas",            "avx512",   "dmdas",  2, 1, 0, 0, 0, true, 0, false },
	{ "--wave 1",         "avx512",   "lws",    2, 1, 1, 0, 0, true, 0, false },
	{ "--wave 2",         "avx512",   "lws",    2, 1, 2, 0, 0, true, 0, false },
	{ "--wave 7",         "avx512",   "lws",    1, 1, 7, 0, 0, true, 0, false },
	{ "--shards 2",       "avx512",   "lws",    2, 2, 0, 0, 0, true, 0, false },
	{ "--shards 4",       "avx512",   "prio",   2, 4, 3, 0, 0, true, 0, false },
	{ "--shards 3",       "avx512",   "lws",    2, 3, 0, 0, 0, true, 0, false },
	{ "fsdp, 2 shards",       "avx512",   "lws",    2, 2, 0, 0, 0, true, BPG_PLACEMENT_FSDP, false },
	{ "fsdp, 3 shards",       "avx512",   "lws",    2, 3, 2, 0, 0, true, BPG_PLACEMENT_FSDP, false },
	{ "offload",         "avx512",   "lws",    2, 1, 0, 0, 0, true, BPG_PLACEMENT_OFFLOAD, false },
	{ "offload, 4 shards", "avx512", "prio",   2, 4, 3, 0, 0, true, BPG_PLACEMENT_OFFLOAD, false },
	{ "--panel 8",        "avx512",   "lws",    2, 1, 0, 8, 0, false, 0, false },
	{ "--panel 40",       "avx512",   "lws",    2, 1, 0, 40, 0, false, 0, false },
	{ "--panel 1000",     "avx512",   "lws",    2, 1, 0, 1000, 0, false, 0, false },
	{ "--tile 16",        "avx512",   "lws",    2, 1, 0, 0, 16, false, 0, false },
	{ "--tile 48",        "avx512",   "lws",    2, 1, 0, 0, 48, false, 0, false },
	{ "--tile 512",       "avx512",   "lws",    2, 1, 0, 24, 512, false, 0, false },
	{ "AVX2 kernel",      "avx2",     "lws",    2, 1, 0, 0, 0, true, 0, false },
	{ "portable kernel",  "portable", "lws",    2, 1, 0, 0, 0, true, 0, false },
	{ "twins",            "avx512",   "lws",    2, 1, 0, 0, 0, true, 0, true },
	{ "twins, 2 shards",  "avx512",   "lws",    2, 2, 0, 0, 0, true, 0, true },
	{ "twins, fsdp, 2 shards", "avx512", "prio", 2, 2, 0, 0, 0, true, BPG_PLACEMENT_FSDP, true },
	{ "twins, offload, 2 shards", "avx512", "lws", 2, 2, 3, 0, 0, true, BPG_PLACEMENT_OFFLOAD, true },
};

/* ---- networks ---- */

static void mlp(struct build *b, const char *activation)
{
	int x = build_vector(b, 20);

	for (int l = 0; l < 3; l++)
		x = build_unary(b, activation, build_dense(b, x, l == 1 ? 300 : 90, NULL, NULL));
	build_output(b, build_dense(b, x, 7, NULL, NULL));
}

static const struct build_window three = { { 3, 3 }, { 1, 1 }, { 1, 1, 1, 1 }, { 1, 1 } }, two = { { 2, 3 }, { 2, 1 }, { 0, 1, 1,
        0 }, { 1, 1 } };

/* Two blocks with joins; the second goes through a convolution on both ways. */
static void conv_net(struct build *b)
{
	int x = build_unary(b, "Relu", build_conv(b, build_input(b, 4, (int64_t[]){ 1, 2, 8, 7 }), 6, 2, &three, NULL, NULL));
	int y = build_conv(b, build_unary(b, "Relu", build_conv(b, x, 6, 1, &three, NULL, NULL)), 6, 3, &three, NULL, NULL);

	x = build_unary(b, "Relu", build_join(b, "Add", x, y));
	y = build_conv(b, build_unary(b, "Relu", build_conv(b, x, 5, 1, &two, NULL, NULL)), 5, 1, &three, NULL, NULL);
	x = build_unary(b, "Relu", build_join(b, "Add", build_conv(b, x, 5, 1, &two, NULL, NULL), y));
	build_output(b, build_dense(b, build_flatten(b, x), 4, NULL, NULL));
}

/* The second convolution's kernel is larger for chains forward than any other one for rows. */
static void pool_net(struct build *b)
{
	static const struct build_window five = { { 5, 5 }, { 1, 1 }, { 2, 2, 2, 2 }, { 1, 1 } };
	int x = build_unary(b, "Relu", build_conv(b, build_input(b, 4, (int64_t[]){ 1, 1, 8, 8 }), 4, 1, &three, NULL, NULL));

	x = build_pool(b, "MaxPool", x, &two, false);
	x = build_pool(b, "AveragePool", build_unary(b, "Relu", build_conv(b, x, 1, 1, &five, NULL, NULL)), &two, false);
	build_output(b, build_dense(b, build_flatten(b, x), 5, NULL, NULL));
}

/* Layers with planes, whose rows have weights: a product of two, a maximum, a softmax. */
static void plane_net(struct build *b)
{
	int x = build_dense(b, build_vector(b, 20), 40, NULL, NULL), y = build_unary(b, "Sigmoid", build_dense(b, x, 40, NULL, NULL));

	y = build_dense(b, build_join(b, "Mul", build_join(b, "Max", x, y), y), 40, NULL, NULL);
	build_output(b, build_dense(b, build_join(b, "Min", build_unary(b, "Softmax", y), x), 7, NULL, NULL));
}

enum { NETS = 6, WAYS = 7, HASHES = 2 * NETS * WAYS };
static const char *const net_name[NETS] = { "MLP", "convolutions with joins", "max pool", "sigmoid", "MLP over a ball", "planes" };
static const char *const way_name[WAYS] = { "crown, float32", "crown, float64", "ibp, float32", "alpha-crown, float32", "domains with splits",
	"alpha-crown, joint", "alpha-crown, shared" };

static void make(struct build *b, int net)
{
	build_start(b, 77 + (uint64_t)net);
	if (net == 1)
		conv_net(b);
	else if (net == 2)
		pool_net(b);
	else if (net == 5)
		plane_net(b);
	else
		mlp(b, net == 3 ? "Sigmoid" : "Relu");
}

/* ---- one setting ---- */

static struct bpg_region region(struct build *b, int64_t n, bool ball)
{
	struct bpg_region g = { .norm = ball ? BPG_NORM_2 : BPG_NORM_INF, .ball = ball, .n = n, .radius = 0.1 };

	g.lo = calloc((size_t)n, sizeof *g.lo), g.up = calloc((size_t)n, sizeof *g.up), g.center = calloc((size_t)n, sizeof *g.center);
	for (int64_t i = 0; i < n; i++) {
		double c = build_uniform(b, -1, 1), r = ball ? g.radius : build_uniform(b, 0, 0.1);
		g.lo[i] = c - r, g.up[i] = c + r, g.center[i] = c;
	}
	if (!ball)
		free(g.center), g.center = NULL;
	return g;
}

static void region_fini(struct bpg_region *g)
{
	free(g->lo), free(g->up), free(g->center);
}

/* Children of some domains with splits, after so many steps of the optimiser: everything that they hand on. */
static bool domains_after(int steps, struct bpg_ctx *ctx, struct bpg_rt *rt, struct bpg_model *m, uint64_t *hash)
{
	enum { COUNT = 40, SPLITS = 3 };
	struct bpg_split split[COUNT][SPLITS];
	struct bpg_domain_in in[COUNT];
	struct bpg_domain_out out[COUNT];
	const double one[] = { 1, -1 };
	const int64_t index[] = { 0, 1 };
	struct bpg_question_row row = { .n = 2, .index = index, .coef = one };
	const struct bpg_question_row *rows[] = { &row };
	struct bpg_domain_options o = { steps, 0.1, 1, 0.98, false, NULL };
	struct bpg_batch *b;
	int unary = 0, node[96];

	for (int v = 0; v < m->nodes; v++)
		if (m->node[v].hop.kind == BPG_HOP_UNARY)
			node[unary++] = v;
	for (int d = 0; d < COUNT; d++) {
		for (int i = 0; i < SPLITS; i++) {
			const struct bpg_model_node *x = &m->node[m->node[node[(d + i) % unary]].src[0]];
			int64_t e = (7 * d + 3 * i) % x->columns.n;
			double l = bpg_field(x, BPG_LOWER)[e], u = bpg_field(x, BPG_UPPER)[e];
			split[d][i] = (struct bpg_split){ node[(d + i) % unary], e, l < 0 && u > 0 ? 0 : l / 2 + u / 2, (d + i) % 2 ? 1 : -1 };
		}
		in[d] = (struct bpg_domain_in){ .splits = SPLITS, .split = split[d], .rows = 1, .row = rows };
	}
	if (bpg_domains_prepare(ctx, m) || bpg_domains_submit(ctx, m, in, COUNT, &o, &b))
		return false;
	bool ok = !bpg_rt_wait(rt, ctx) && !bpg_domains_collect(ctx, b, out);
	for (int d = 0; ok && d < COUNT; d++) {
		*hash = bpg_hash(*hash, out[d].lower, sizeof *out[d].lower);
		*hash = bpg_hash(*hash, out[d].point, (size_t)m->net->in_count * sizeof *out[d].point);
		if (!(out[d].lower[0] > 0))
			*hash = bpg_hash(*hash, out[d].params[0], out[d].params_bytes);
		for (int i = 0; i < out[d].branches; i++)
			*hash = bpg_hash(*hash, &out[d].branch[i].score, sizeof out[d].branch[i].score);
	}
	bpg_batch_free(b);
	return ok;
}

static bool domains(struct bpg_ctx *ctx, struct bpg_rt *rt, struct bpg_model *m, uint64_t *hash)
{
	*hash = BPG_HASH_START;
	return domains_after(0, ctx, rt, m, hash) && domains_after(4, ctx, rt, m, hash);
}

/* Products and sparse maps are twins, all of them; of the other kinds those are that no function of a library enters. */
static bool ran_as_twins(const struct bpg_rt *rt, const struct setting *s)
{
	static const enum bpg_task_kind all[] = { BPG_TASK_GEMM, BPG_TASK_MAP },
	                                some[] = { BPG_TASK_RELAX, BPG_TASK_REDUCE, BPG_TASK_START, BPG_TASK_CONCRETIZE, BPG_TASK_STEP, BPG_TASK_ADJOINT };
	struct bpg_rt_stats stats;
	bool good = true;

	bpg_rt_stats(rt, &stats);
	for (size_t i = 0; i < BPG_LEN(all); i++)
		good = good && stats.tasks[all[i]] > 0 && stats.twins[all[i]] == (s->twins ? stats.tasks[all[i]] : 0);
	for (size_t i = 0; i < BPG_LEN(some); i++)
		good = good && (stats.twins[some[i]] > 0) == s->twins;
	return good;
}

/* Prints the hashes, two a line. */
static int run(const struct setting *s)
{
	struct bpg_rt_options o = { .workers = s->workers, .scheduler = s->scheduler, .owners = s->owners };
	struct bpg_ctx *ctx = bpg_ctx_new();
	struct bpg_rt *rt;
	bool bad = bpg_rt_start(ctx, &o, &rt);

	for (int n = 0; n < NETS && !bad; n++) {
		struct build b;
		struct bpg_net *net;
		make(&b, n);
		if (build_net(&b, ctx, &net)) {
			bad = true;
			break;
		}
		struct bpg_region g = region(&b, net->in_count, n == 4);
		for (int w = 0; w < WAYS && !bad; w++) {
			struct bpg_bound_options bound = outcome_options(w == 2 ? BPG_METHOD_IBP : BPG_METHOD_CROWN, w == 1);
			struct outcome out;
			bound.iterations = w == 3 || w > 4 ? 6 : 0;
			bound.sharing = w == 6;
			bound.objective = w == 5 ? BPG_OBJECTIVE_JOINT : BPG_OBJECTIVE_LOCAL;
			bound.placement = s->placement;
			bound.patience = 2; /* some rows leave, the others are packed anew */
			bound.owners = s->owners, bound.wave = s->wave, bound.panel = s->panel, bound.tile = s->tile;
			bad = outcome_run(&out, ctx, rt, net, &g, &bound, NULL, 0);
			if (!bad && w == 4)
				bad = !domains(ctx, rt, out.m, &out.bounds_hash);
			printf("%" PRIx64 " %" PRIx64 "\n", out.bounds_hash, out.plan_hash);
			outcome_fini(&out);
		}
		region_fini(&g);
		bpg_net_free(net);
	}
	if (!bad && !ran_as_twins(rt, s)) {
		fprintf(stderr, "%s: not the tasks that should have been twins\n", s->name);
		return 1;
	}
	if (bad)
		fprintf(stderr, "%s: %s\n", s->name, bpg_ctx_message(ctx));
	else
		bpg_rt_stop(rt);
	bpg_ctx_free(ctx);
	return bad;
}

static const char *program;

/* The hashes of setting i, from a process of its own. */
static void ask(int i, uint64_t hash[HASHES])
{
	char command[4096];

	snprintf(command, sizeof command, "BPGRAPH_TWINS=%s BPGRAPH_KERNEL=%s '%s' %d", settings[i].twins ? "host" : "", settings[i].kernel, program, i);
	FILE *p = popen(command, "r");
	REQUIRE(p != NULL, "%s cannot be run", command);
	for (int h = 0; h < HASHES; h++)
		REQUIRE(fscanf(p, "%" SCNx64, &hash[h]) == 1, "%s: no hash number %d", settings[i].name, h);
	REQUIRE(pclose(p) == 0, "%s fails", settings[i].name);
}

/* Of one worker; asked once. */
static uint64_t first[HASHES];

static void ask_first(void)
{
	ask(0, first);
}

START_TEST(test_setting)
{
	uint64_t hash[HASHES];

	ask(_i, hash);
	for (int n = 0; n < NETS; n++)
		for (int w = 0; w < WAYS; w++) {
			int h = 2 * (n * WAYS + w);
			REQUIRE(hash[h] == first[h], "%s: other bounds for the %s (%s)", settings[_i].name, net_name[n], way_name[w]);
			REQUIRE(!settings[_i].same_plan || hash[h + 1] == first[h + 1], "%s: another plan for the %s (%s)", settings[_i].name,
			        net_name[n], way_name[w]);
		}
}
END_TEST

/* The hash sees everything: other networks, methods and precisions have other ones. */
START_TEST(test_hash)
{
	for (int a = 0; a < HASHES; a += 2)
		for (int b = 0; b < a; b += 2)
			REQUIRE(first[a] != first[b], "hashes %d and %d are equal", a, b);
}
END_TEST

int main(int argc, char **argv)
{
	if (argc > 1)
		return run(&settings[atoi(argv[1])]);
	program = argv[0];
	Suite *s = suite_create("bits");
	TCase *t = tcase_create("settings");

	tcase_set_timeout(t, 120);
	tcase_add_unchecked_fixture(t, ask_first, NULL);
	tcase_add_loop_test(t, test_setting, 1, (int)BPG_LEN(settings));
	tcase_add_test(t, test_hash);
	suite_add_tcase(s, t);
	SRunner *r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	int failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
