/* bench_bounds.c - times the bounds of one network on a runtime that is held, and prints one line of JSON.
 *
 *   bench_bounds NET.onnx POINT.f32 EPSILON REPS [--OPTION=VALUE]...
 *
 * POINT.f32 begins with the centre of the box, raw float32. After a first run there are REPS timed ones, more where they
 * take next to no time, then some with the record of tasks on, for the figures of tasks: it is not part of what is timed.
 * All runs must have the same bits. "cpu_s", "gemm_gflops" and shares of CPU time are of the run that took least CPU time,
 * "gemm_share_of_wall" and "outside_share" of the one that took least time. */
#include <bpgraph/bpgraph.h>

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

enum { MOST_REPS = 64, MOST_TRACED = 16 };
static const double TIMED_SECONDS = 0.25, TRACED_SECONDS = 0.1;

struct bench {
	struct bpg_ctx *ctx;
	struct bpg_net *net;
	struct bpg_question *q;
	struct bpg_options *timed, *traced;
	double open_s, hold_s, first_s;
	double warm[MOST_REPS];
	int reps;
	struct bpg_result *first, *leanest, *fastest; /* the last two with the record of tasks on */
	double fastest_s;
};

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static bool read_point(const char *path, double epsilon, int64_t n, double *lower, double *upper)
{
	FILE *f = fopen(path, "rb");
	int64_t i = 0;
	float x;

	if (!f)
		return false;
	for (; i < n && fread(&x, sizeof x, 1, f) == 1; i++)
		lower[i] = x - epsilon, upper[i] = x + epsilon;
	fclose(f);
	return i == n;
}

static enum bpg_status set_options(struct bench *b, int words, char **word)
{
	enum bpg_status st = bpg_options_set(b->ctx, b->traced, "verbose", "on"); /* CPU time is counted then; quiet: not printed */

	for (int i = 0; i < words && !st; i++) {
		char *name = word[i] + (strncmp(word[i], "--", 2) ? 0 : 2), *value = strchr(name, '=');
		if (value)
			*value++ = 0;
		st = bpg_options_set(b->ctx, b->timed, name, value ? value : "on");
		if (!st)
			st = bpg_options_set(b->ctx, b->traced, name, value ? value : "on");
	}
	if (!st)
		st = bpg_options_set(b->ctx, b->timed, "quiet", "on");
	return st ? st : bpg_options_set(b->ctx, b->traced, "quiet", "on");
}

static enum bpg_status ask(struct bench *b, const char *path, const char *point, double epsilon)
{
	double start = now();
	enum bpg_status st = bpg_net_open(b->ctx, path, &b->net);
	b->open_s = now() - start;
	if (st)
		return st;
	int64_t n = bpg_net_in_count(b->net);
	double *lower = calloc((size_t)n + 1, sizeof *lower), *upper = calloc((size_t)n + 1, sizeof *upper);
	if (!lower || !upper || !read_point(point, epsilon, n, lower, upper)) {
		fprintf(stderr, "bench_bounds: %s: %lld float32 numbers are needed\n", point, (long long)n);
		exit(2);
	}
	st = bpg_question_box(b->ctx, b->net, lower, upper, &b->q);
	free(lower);
	free(upper);
	return st;
}

static bool same_bits(const struct bpg_result *a, const struct bpg_result *b)
{
	size_t bytes = (size_t)bpg_result_rows(a) * sizeof(double);
	return bpg_result_rows(a) == bpg_result_rows(b) && !memcmp(bpg_result_lower(a), bpg_result_lower(b), bytes) &&
	       !memcmp(bpg_result_upper(a), bpg_result_upper(b), bytes);
}

static enum bpg_status run(struct bench *b, const struct bpg_options *o, struct bpg_result **r, double *seconds)
{
	double start = now();
	enum bpg_status st = bpg_run(b->ctx, b->net, b->q, o, r);
	*seconds = now() - start;
	if (!st && b->first && !same_bits(b->first, *r)) {
		fprintf(stderr, "bench_bounds: two runs have different bounds\n");
		exit(1);
	}
	return st;
}

static double kinds_sum(const struct bpg_result *r, const char *prefix)
{
	const char *name;
	double sum = 0;
	for (int i = 0; (name = bpg_result_stat_name(r, i)); i++)
		if (!strncmp(name, prefix, strlen(prefix)))
			sum += bpg_result_stat(r, name);
	return sum;
}

static double stat_of(const struct bpg_result *r, const char *name)
{
	double x = bpg_result_stat(r, name);
	return isnan(x) ? 0 : x; /* no task of that kind ran */
}

static void drop(struct bench *b, struct bpg_result *r)
{
	if (r != b->leanest && r != b->fastest && r != b->first)
		bpg_result_free(r);
}

static void keep(struct bench *b, struct bpg_result *r, double seconds)
{
	struct bpg_result *lean = b->leanest, *fast = b->fastest;

	if (!lean || kinds_sum(r, "cpu.") < kinds_sum(lean, "cpu."))
		b->leanest = r;
	if (!fast || seconds < b->fastest_s)
		b->fastest = r, b->fastest_s = seconds;
	drop(b, r);
	drop(b, lean);
	if (fast != lean)
		drop(b, fast);
}

static enum bpg_status measure(struct bench *b, int reps)
{
	double total = 0, seconds;
	struct bpg_result *r;
	enum bpg_status st = run(b, b->timed, &b->first, &b->first_s);

	while (!st && b->reps < MOST_REPS && (b->reps < reps || total < TIMED_SECONDS)) {
		st = run(b, b->timed, &r, &seconds);
		if (st)
			break;
		total += b->warm[b->reps++] = seconds;
		bpg_result_free(r);
	}
	total = 0;
	for (int i = 0; !st && i < MOST_TRACED && (i < 1 || total < TRACED_SECONDS); i++) {
		st = run(b, b->traced, &r, &seconds);
		if (!st)
			keep(b, r, seconds);
		total += seconds;
	}
	return st;
}

static void number(const char *name, double x)
{
	if (isfinite(x))
		printf("\"%s\": %.9g, ", name, x);
	else
		printf("\"%s\": null, ", name);
}

static void report(const struct bench *b)
{
	const struct bpg_result *lean = b->leanest, *fast = b->fastest;
	double width = 0, cpu = kinds_sum(lean, "cpu."), gflop = 1e-9 * stat_of(lean, "flops");
	double best = b->warm[0], workers = stat_of(lean, "workers");
	double gemm = stat_of(lean, "cpu.gemm"), gemm_wall = stat_of(fast, "seconds.gemm");
	const char *name;
	struct rusage use;

	getrusage(RUSAGE_SELF, &use);
	for (int64_t i = 0; i < bpg_result_rows(lean); i++)
		width += (bpg_result_upper(lean)[i] - bpg_result_lower(lean)[i]) / (double)bpg_result_rows(lean);
	printf("{");
	number("workers", workers);
	number("open_s", b->open_s);
	number("hold_s", b->hold_s);
	number("first_s", b->first_s);
	printf("\"warm_all\": [");
	for (int i = 0; i < b->reps; i++) {
		printf("%s%.6f", i ? ", " : "", b->warm[i]);
		best = fmin(best, b->warm[i]);
	}
	printf("], ");
	number("warm_s", best);
	number("mean_width", width);
	number("peak_rss_mb", (double)use.ru_maxrss / 1024);
	number("cpu_s", cpu);
	number("gflop", gflop);
	number("gemm_gflops", gflop / gemm);
	number("traced_s", b->fastest_s);
	number("gemm_share_of_wall", gemm_wall / (b->fastest_s * workers));
	number("outside_share", 1 - kinds_sum(fast, "seconds.") / (b->fastest_s * workers));
	printf("\"cpu_shares\": {");
	for (int i = 0, any = 0; (name = bpg_result_stat_name(lean, i)); i++)
		if (!strncmp(name, "cpu.", 4))
			printf("%s\"%s\": %.4f", any++ ? ", " : "", name + 4, cpu > 0 ? bpg_result_stat(lean, name) / cpu : 0);
	printf("}, \"stats\": {");
	for (int i = 0; (name = bpg_result_stat_name(fast, i)); i++)
		printf("%s\"%s\": %.9g", i ? ", " : "", name, bpg_result_stat(fast, name));
	printf("}}\n");
}

int main(int argc, char **argv)
{
	struct bench b = { .ctx = bpg_ctx_new(), .timed = bpg_options_new(), .traced = bpg_options_new() };
	int reps = argc > 4 ? atoi(argv[4]) : 0;
	double start;

	if (!b.ctx || !b.timed || !b.traced || reps < 1) {
		fprintf(stderr, "usage: bench_bounds NET.onnx POINT.f32 EPSILON REPS [--OPTION=VALUE]...\n");
		return 2;
	}
	enum bpg_status st = set_options(&b, argc - 5, argv + 5);
	if (!st)
		st = ask(&b, argv[1], argv[2], atof(argv[3]));
	start = now();
	if (!st)
		st = bpg_runtime_hold(b.ctx, b.timed);
	b.hold_s = now() - start;
	if (!st)
		st = measure(&b, reps);
	if (st)
		fprintf(stderr, "bench_bounds: %s\n", bpg_ctx_message(b.ctx));
	else
		report(&b);
	bpg_runtime_release();
	if (b.fastest != b.leanest)
		bpg_result_free(b.fastest);
	bpg_result_free(b.leanest);
	bpg_result_free(b.first);
	bpg_options_free(b.timed);
	bpg_options_free(b.traced);
	bpg_question_free(b.q);
	bpg_net_close(b.net);
	bpg_ctx_free(b.ctx);
	return st ? 2 : 0;
}
