/* Checkpoints: a search that is interrupted again and again, and gone on with each time, comes to the verdict of one that is left
 * alone, and where batches follow each other to the same number of domains. Whatever byte of a checkpoint is wrong, it is refused. */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../graph/builder.h"
#include "../graph/require.h"
#include "bab/checkpoint.h"
#include "bab/decide.h"

enum { INPUTS = 10, SAMPLES = 4000 };

struct question {
	struct bpg_ctx *ctx;
	struct bpg_net *net;
	struct bpg_box box[2];
	double lo[2][INPUTS], up[2][INPUTS];
	struct bpg_row row[2];
	struct bpg_disjunct disjunct[2];
	struct bpg_spec spec;
};

static double one = 1, zero;
static int64_t first_output;

/* "the output is <= what points reach, less a margin" on two boxes: unsat unless the net dips between points. */
static void draw(struct question *q, uint64_t seed, double margin)
{
	struct bpg_arena *arena = bpg_arena_new();
	struct bpg_rng rng;
	struct build b;

	memset(q, 0, sizeof *q);
	q->ctx = bpg_ctx_new();
	build_start(&b, seed);
	int x = build_vector(&b, INPUTS);
	x = build_unary(&b, "Relu", build_dense(&b, x, 24, NULL, NULL));
	x = build_unary(&b, "Relu", build_dense(&b, x, 24, NULL, NULL));
	build_output(&b, build_dense(&b, x, 1, NULL, NULL));
	REQUIRE(!build_net(&b, q->ctx, &q->net), "%s", bpg_ctx_message(q->ctx));
	bpg_rng_seed(&rng, seed);
	double **value = bpg_arena_alloc(arena, (size_t)q->net->nodes + 1, sizeof *value);
	for (int k = 0; k < 2; k++) {
		double least = INFINITY, at[INPUTS];
		for (int i = 0; i < INPUTS; i++)
			q->lo[k][i] = k ? 0 : -1, q->up[k][i] = k ? 0.8 : 1;
		for (int p = 0; p < SAMPLES; p++) {
			for (int i = 0; i < INPUTS; i++)
				at[i] = p % 2 ? q->lo[k][i] + (q->up[k][i] - q->lo[k][i]) * bpg_rng_uniform(&rng) : bpg_rng_below(&rng, 2) ? q->lo[k][i] : q->up[k][i];
			REQUIRE(!bpg_net_eval(q->ctx, q->net, at, arena, value), "%s", bpg_ctx_message(q->ctx));
			least = fmin(least, value[q->net->output[0]][0]);
		}
		q->box[k] = (struct bpg_box){ INPUTS, q->lo[k], q->up[k], q->lo[k], q->up[k] };
		q->row[k] = (struct bpg_row){ .n = 1, .index = &first_output, .coef = &one, .coef_err = &zero, .offset = -(least - margin) };
		q->disjunct[k] = (struct bpg_disjunct){ &q->box[k], 1, &q->row[k] };
	}
	q->spec = (struct bpg_spec){ .inputs = INPUTS, .outputs = 1, .disjuncts = 2, .disjunct = q->disjunct };
	bpg_arena_free(arena);
}

static void fini(struct question *q)
{
	bpg_net_free(q->net);
	bpg_ctx_free(q->ctx);
}

/* Interrupts after some domains. */
struct breaker {
	volatile int flag;
	int64_t after;
};

static void count(void *arg, int64_t domains, int64_t waiting, double worst, int depth, size_t bytes, size_t spilled)
{
	struct breaker *b = arg;

	(void)waiting, (void)worst, (void)depth, (void)bytes, (void)spilled;
	if (b->after >= 0 && domains >= b->after && !b->flag) {
		b->flag = 1;
		usleep(120000); /* the flag is looked at 20 times a second */
	}
}

struct way {
	enum bpg_branching branching;
	bool synchronous;
	size_t memory;            /* limit; 0: none. With one, domains wait on disk */
};

static int64_t spilled;           /* bytes that were on disk, over all decisions */

static enum bpg_verdict decide(const struct question *q, struct bpg_rt *rt, struct way way, const char *to, const char *from, struct breaker *b,
                               int64_t *domains, enum bpg_status *status)
{
	const struct bpg_rt_options two = { .workers = 2, .owners = 1, .cancel = &b->flag };
	struct bpg_arena *arena = bpg_arena_new();
	struct bpg_result r = { .arena = arena, .owners = 1 };
	struct bpg_decide d = { .ctx = q->ctx, .net = q->net, .spec = &q->spec, .rt = rt, .search = true, .branching = way.branching, .batch = 4,
		                .synchronous = way.synchronous, .result = &r, .checkpoint = to, .checkpoint_every = 0.02, .resume = from, .fingerprint = 7,
		                .interrupt = &b->flag, .search_progress = count, .search_progress_arg = b,
		                .bound = { .method = BPG_METHOD_CROWN, .slack = true, .owners = 1, .rate = 0.5, .decay = 0.98, .beta_rate = 1, .memory = way.memory } };

	b->flag = 0;
	REQUIRE(!bpg_rt_again(q->ctx, rt, &two), "%s", bpg_ctx_message(q->ctx));
	*status = bpg_decide(&d);
	*domains = r.domains;
	spilled += r.spilled_bytes;
	enum bpg_verdict v = r.verdict;
	bpg_arena_free(arena);
	return v;
}

enum { MEMORY = 40000, MEMORY_OF_BOXES = 75000 };

static const struct way ways[] = {
	{ BPG_BRANCHING_NEURON, true, 0 },       { BPG_BRANCHING_INPUT, true, 0 },       { BPG_BRANCHING_AUTO, true, 0 }, { BPG_BRANCHING_NEURON, false, 0 },
	{ BPG_BRANCHING_AUTO, false, 0 },        { BPG_BRANCHING_NEURON, true, MEMORY }, { BPG_BRANCHING_INPUT, true, MEMORY_OF_BOXES },
	{ BPG_BRANCHING_NEURON, false, MEMORY }, { BPG_BRANCHING_FSB, true, 0 },
};

START_TEST(test_interrupted)
{
	const struct bpg_rt_options two = { .workers = 2, .owners = 1 };
	struct way way = ways[_i];
	struct question q;
	struct breaker b;
	struct bpg_rt *rt;
	struct bpg_rng rng;
	char file[] = "/tmp/bpgraph-checkpoint-XXXXXX";
	enum bpg_status st;
	int64_t alone, domains = 0;
	int fd = mkstemp(file), breaks = 0;

	ck_assert_int_ge(fd, 0);
	close(fd);
	bpg_rng_seed(&rng, 11 + (uint64_t)_i);
	draw(&q, 5, way.branching == BPG_BRANCHING_INPUT ? 2.5 : 1);
	REQUIRE(!bpg_rt_start(q.ctx, &two, &rt), "%s", bpg_ctx_message(q.ctx));
	b.after = -1;
	enum bpg_verdict v = decide(&q, rt, way, NULL, NULL, &b, &alone, &st);
	REQUIRE(!st && v == BPG_VERDICT_UNSAT, "left alone: verdict %d: %s", (int)v, bpg_ctx_message(q.ctx));
	if (way.memory && way.synchronous) { /* the limit changes no domain */
		int64_t unlimited;
		v = decide(&q, rt, (struct way){ way.branching, true, 0 }, NULL, NULL, &b, &unlimited, &st);
		REQUIRE(!st && v == BPG_VERDICT_UNSAT && unlimited == alone, "%lld domains with a limit, %lld without", (long long)alone, (long long)unlimited);
	}
	REQUIRE(alone > 20, "too small a search to interrupt: %lld domains", (long long)alone);
	for (int run = 0; run < 100; run++) {
		b.after = domains + 1 + (int64_t)bpg_rng_below(&rng, (uint64_t)(alone / 4));
		v = decide(&q, rt, way, file, run ? file : NULL, &b, &domains, &st);
		REQUIRE(!st, "run %d: %s", run, bpg_ctx_message(q.ctx));
		if (v == BPG_VERDICT_UNSAT)
			break;
		REQUIRE(v == BPG_VERDICT_TIMEOUT, "run %d: verdict %d", run, (int)v);
		breaks++;
	}
	REQUIRE(v == BPG_VERDICT_UNSAT && breaks > 0, "verdict %d after %d interrupts", (int)v, breaks);
	REQUIRE(!way.synchronous || domains == alone, "%lld domains with %d interrupts, %lld without", (long long)domains, breaks, (long long)alone);
	REQUIRE(!way.memory || spilled > 0, "nothing went to disk");
	bpg_rt_stop(rt);
	unlink(file);
	fini(&q);
}
END_TEST

static long size_of(FILE *f)
{
	fseek(f, 0, SEEK_END);
	return ftell(f);
}

/* The checkpoint of a search, then one byte of it changed, cut off, or added. */
START_TEST(test_damaged)
{
	const struct bpg_rt_options two = { .workers = 2, .owners = 1 };
	struct question q;
	struct breaker b = { .after = 12 };
	struct bpg_resume resume;
	struct bpg_rt *rt;
	char file[] = "/tmp/bpgraph-checkpoint-XXXXXX";
	double lower[2], upper[2];
	enum bpg_status st;
	int64_t domains;
	int fd = mkstemp(file);

	ck_assert_int_ge(fd, 0);
	close(fd);
	draw(&q, 5, 1);
	REQUIRE(!bpg_rt_start(q.ctx, &two, &rt), "%s", bpg_ctx_message(q.ctx));
	ck_assert_int_eq(decide(&q, rt, ways[0], file, NULL, &b, &domains, &st), BPG_VERDICT_TIMEOUT);
	bpg_rt_stop(rt);
	REQUIRE(!bpg_resume_read(q.ctx, file, 7, 2, lower, upper, &resume) && resume.search, "%s", bpg_ctx_message(q.ctx));
	bpg_snapshot_free(resume.search);
	ck_assert_int_eq(bpg_resume_read(q.ctx, file, 8, 2, lower, upper, &resume), BPG_EFILE);
	FILE *f = fopen(file, "r+b");
	long n = size_of(f);
	for (long at = 0; at < n; at += 1 + n / 97) {
		int was;
		fseek(f, at, SEEK_SET);
		was = fgetc(f);
		fseek(f, at, SEEK_SET);
		fputc(was ^ 1 << at % 8, f);
		fflush(f);
		REQUIRE(bpg_resume_read(q.ctx, file, 7, 2, lower, upper, &resume) == BPG_EFILE, "byte %ld of %ld is wrong, and nobody sees it", at, n);
		fseek(f, at, SEEK_SET);
		fputc(was, f);
		fflush(f);
	}
	REQUIRE(!bpg_resume_read(q.ctx, file, 7, 2, lower, upper, &resume), "%s", bpg_ctx_message(q.ctx));
	bpg_snapshot_free(resume.search);
	fclose(f);
	for (long left = n; left >= 0; left -= left > 40 ? 1 + left / 20 : 1) {
		ck_assert(left == n || !truncate(file, left));
		REQUIRE(left == n || bpg_resume_read(q.ctx, file, 7, 2, lower, upper, &resume) == BPG_EFILE, "%ld of %ld bytes are believed", left, n);
	}
	unlink(file);
	fini(&q);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("checkpoint");
	TCase *t = tcase_create("checkpoint");

	tcase_set_timeout(t, 300);
	tcase_add_loop_test(t, test_interrupted, 0, (int)BPG_LEN(ways));
	tcase_add_test(t, test_damaged);
	suite_add_tcase(s, t);
	SRunner *r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	int failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
