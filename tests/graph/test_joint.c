/* The joint objective: derivatives of the sum of the rows asked by every parameter on the way, also those of intermediate rows, against
 * central differences; bounds in little memory.
 *
 * Parameters are set, and the gradients of the first step (a tenth of which is its first moment) are read, by wrapping the bodies of
 * tasks. Bounds are taken as the present parameters have them, whatever was known before: derivatives pass as if it were so.
 * Rows are in double; points are floats. */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "builder.h"
#include "codelets/task_alpha.h"
#include "graph/tighten.h"
#include "net/sample.h"
#include "outcome.h"
#include "require.h"

enum { ROWS = 6, ARRAYS = 64, TRIES = 60 };

static struct bpg_ctx *ctx;
static struct bpg_rt *rt;
static bool probing;          /* else bodies are left as they are */

/* Parameters of one tile at one node. Stages come one after the other: it is the node's first tile, its second, ... */
struct params {
	const struct bpg_node *v;
	int which;
	bool begun;               /* in this run */
	void *alpha;
	int n, sides, side;       /* floats; of each line */
	double *width, *base, *place, *gradient;
};

static struct {
	bool draw;                /* parameters are drawn, else as they were then: ranges follow from bounds */
	int arrays;
	struct params of[ARRAYS];
	uint64_t seed;
	int array, number;        /* what is moved (array -1: nothing), */
	double by;                /* by how much, a share of its range, */
	double bound;             /* and the sum of the rows asked */
} probe;

#define WRAPPED(name) \
	bpg_task_fn __real_##name, __wrap_##name; \
	void __wrap_##name(struct bpg_rt *runtime, void *const *buffer, const void *arg)

void __real_bpg_take_bounds(double lo, double up, double *l, double *u);
void __wrap_bpg_take_bounds(double lo, double up, double *l, double *u);
void __wrap_bpg_take_bounds(double lo, double up, double *l, double *u)
{
	if (!probing)
		__real_bpg_take_bounds(lo, up, l, u);
	else
		*l = lo, *u = up;
}

static struct params *begin(const struct bpg_node *v)
{
	int which = 0, i = 0;

	for (int k = 0; k < probe.arrays; k++)
		which += probe.of[k].v == v && probe.of[k].begun;
	while (i < probe.arrays && !(probe.of[i].v == v && probe.of[i].which == which))
		i++;
	REQUIRE(i < ARRAYS && (i < probe.arrays || probe.draw), "too many tiles");
	probe.of[i].v = v;
	probe.of[i].which = which;
	probe.of[i].begun = true;
	probe.arrays = BPG_MAX(probe.arrays, i + 1);
	return &probe.of[i];
}

WRAPPED(bpg_task_alpha_start)
{
	const struct bpg_arg_alpha *a = arg;
	const struct bpg_node *v = a->hop->v;
	const double *bounds = buffer[1];
	int64_t n = a->hop->out->n;
	struct bpg_rng rng;

	__real_bpg_task_alpha_start(runtime, buffer, arg);
	if (!probing)
		return;
	struct params *p = begin(v);
	int side = (int)(a->tile.strips * a->at.count * BPG_LANES), sides = a->free ? 1 : 2;
	REQUIRE(probe.draw || (p->side == side && p->sides == sides), "another tile of '%s'", v->name);
	p->alpha = buffer[2];
	p->side = side;
	p->sides = sides;
	p->n = p->side * p->sides;
	p->base = realloc(p->base, (size_t)p->n * sizeof *p->base);
	p->width = realloc(p->width, (size_t)p->n * sizeof *p->width);
	p->place = realloc(p->place, (size_t)p->n * sizeof *p->place);
	p->gradient = realloc(p->gradient, (size_t)p->n * sizeof *p->gradient);
	bpg_rng_seed(&rng, probe.seed + (uint64_t)(p - probe.of));
	for (int i = 0; i < p->n; i++) {
		int64_t x = bpg_columns_element(a->hop->out, a->at.place[i % p->side / BPG_LANES % a->at.count]);
		double l = bounds[BPG_LOWER * n + x], u = bounds[BPG_UPPER * n + x], least = 0, most = a->free, start;
		if (!a->free && v->layer->unary->alpha_range)
			v->layer->unary->alpha_range(l, u, i >= p->side, v->attr, &least, &most, &start);
		if (probe.draw) {
			p->base[i] = least + (0.25 + 0.5 * bpg_rng_uniform(&rng)) * (most - least);
			p->width[i] = most - least;
		}
		double place = p->base[i];
		if (p - probe.of == probe.array && probe.number == i)
			place += probe.by * p->width[i];
		p->place[i] = ((float *)p->alpha)[i] = (float)place;
	}
}

WRAPPED(bpg_task_alpha_step)
{
	const struct bpg_arg_alpha *a = arg;
	int i = 0;

	if (probing && a->at.count) {
		while (i < probe.arrays && probe.of[i].alpha != buffer[4])
			i++;
		REQUIRE(i < probe.arrays, "a step of unknown parameters");
	}
	__real_bpg_task_alpha_step(runtime, buffer, arg);
	if (!probing || !a->at.count)
		return;
	struct params *p = &probe.of[i];
	for (int k = 0; k < p->n; k++) /* first moments of a line, then its second ones */
		p->gradient[k] = ((const float *)buffer[5])[k / p->side * 2 * p->side + k % p->side] / 0.1;
}

WRAPPED(bpg_task_finish)
{
	const struct bpg_arg_finish *a = arg;

	__real_bpg_task_finish(runtime, buffer, arg);
	if (!probing || a->best)
		return;
	probe.bound = 0; /* the rows asked are the last */
	for (int i = 0; i < ROWS; i++)
		probe.bound += ((const double *)buffer[1])[i];
}

/* ---- questions ---- */

static void dense_net(struct build *b, const char *one, const char *two)
{
	int x = build_unary(b, one, build_dense(b, build_vector(b, 5), 9, NULL, NULL));

	x = build_unary(b, two, build_dense(b, x, 8, NULL, NULL));
	x = build_unary(b, one, build_dense(b, x, 9, NULL, NULL));
	build_output(b, build_dense(b, x, ROWS, NULL, NULL));
}

/* A join, and a convolution whose rows start in windows. */
static void conv_net(struct build *b, const char *one, const char *two)
{
	static const struct build_window three = { { 3, 3 }, { 1, 1 }, { 1, 1, 1, 1 }, { 1, 1 } };
	int x = build_unary(b, one, build_conv(b, build_input(b, 4, (int64_t[]){ 1, 1, 4, 4 }), 2, 1, &three, NULL, NULL));
	int y = build_conv(b, build_unary(b, two, build_conv(b, x, 2, 1, &three, NULL, NULL)), 2, 1, &three, NULL, NULL);

	x = build_unary(b, one, build_join(b, "Add", x, y));
	build_output(b, build_dense(b, build_flatten(b, x), ROWS, NULL, NULL));
}

static const struct {
	void (*make)(struct build *b, const char *one, const char *two);
	const char *one, *two;
} net[] = { { dense_net, "Relu", "Relu" }, { dense_net, "Relu", "Tanh" }, { dense_net, "Sigmoid", "LeakyRelu" }, { conv_net, "Relu", "Relu" } };

static struct bpg_region region(int64_t n, int kind)
{
	struct bpg_region g = { .norm = kind == 0 ? BPG_NORM_INF : kind == 1 ? BPG_NORM_1 : BPG_NORM_2, .ball = kind > 0, .n = n, .radius = 0.6 };
	double r = kind ? g.radius : 0.3;

	g.lo = calloc((size_t)n, sizeof *g.lo), g.up = calloc((size_t)n, sizeof *g.up), g.center = calloc((size_t)n, sizeof *g.center);
	for (int64_t i = 0; i < n; i++)
		g.center[i] = 0.1 * (double)(i % 5) - 0.2, g.lo[i] = g.center[i] - r, g.up[i] = g.center[i] + r;
	if (!kind)
		free(g.center), g.center = NULL;
	return g;
}

static void region_fini(struct bpg_region *g)
{
	free(g->lo), free(g->up), free(g->center);
}

static void setup(void)
{
	struct bpg_rt_options one = { .workers = 1, .owners = 1 };

	ctx = bpg_ctx_new();
	REQUIRE(!bpg_rt_start(ctx, &one, &rt), "%s", bpg_ctx_message(ctx));
}

static void teardown(void)
{
	bpg_rt_stop(rt);
	bpg_ctx_free(ctx);
}

/* The sum with one parameter moved; where it is then. */
static double moved(const struct bpg_net *n, const struct bpg_region *g, int array, int number, double by, double *place)
{
	struct bpg_bound_options o = outcome_options(BPG_METHOD_CROWN, true);
	struct outcome out;

	o.objective = BPG_OBJECTIVE_JOINT;
	o.iterations = 1;
	o.sides = 1;
	o.slack = false; /* rounding terms change with bounds, too */
	probing = true;
	for (int i = 0; i < probe.arrays; i++)
		probe.of[i].begun = false;
	probe.array = array, probe.number = number, probe.by = by;
	REQUIRE(!outcome_run(&out, ctx, rt, n, g, &o, NULL, 0), "%s", bpg_ctx_message(ctx));
	outcome_fini(&out);
	probing = false;
	if (array >= 0)
		*place = probe.of[array].place[number];
	return probe.bound;
}

/* Away from kinks the gradient is the difference; few are near one. */
START_TEST(test_gradients)
{
	const int kinds = 3, which = _i / kinds, kind = _i % kinds;
	struct build b;
	struct bpg_net *n;
	struct bpg_rng rng;
	int compared = 0, smooth = 0, early = 0;

	build_start(&b, 5 + (uint64_t)_i);
	net[which].make(&b, net[which].one, net[which].two);
	REQUIRE(!build_net(&b, ctx, &n), "%s", bpg_ctx_message(ctx));
	struct bpg_region g = region(n->in_count, kind);
	probe.seed = 100 + (uint64_t)_i;
	probe.draw = true;
	probe.arrays = 0;
	moved(n, &g, -1, 0, 0, NULL);
	probe.draw = false;
	int arrays = probe.arrays;
	double largest = 0, *gradient[ARRAYS], *width[ARRAYS];
	int count[ARRAYS];
	for (int i = 0; i < arrays; i++) {
		struct params *p = &probe.of[i];
		count[i] = p->n;
		gradient[i] = memcpy(malloc((size_t)p->n * sizeof(double)), p->gradient, (size_t)p->n * sizeof(double));
		width[i] = memcpy(malloc((size_t)p->n * sizeof(double)), p->width, (size_t)p->n * sizeof(double));
		for (int k = 0; k < p->n; k++)
			largest = fmax(largest, fabs(p->gradient[k]));
	}
	REQUIRE(arrays > 2 && largest > 0, "%d arrays, largest gradient %g", arrays, largest);
	bpg_rng_seed(&rng, probe.seed);
	for (int t = 0; t < 50 * TRIES && compared < TRIES; t++) {
		int i = (int)bpg_rng_below(&rng, arrays), k = (int)bpg_rng_below(&rng, count[i]);
		if (!(width[i][k] > 0) || (gradient[i][k] == 0 && t % 8))
			continue;
		/* A step of the optimiser is a share of the range, and so is its gradient. */
		double at[2], h = 1e-4, x = moved(n, &g, i, k, h, &at[0]), y = moved(n, &g, i, k, -h, &at[1]), z = moved(n, &g, -1, 0, 0, NULL);
		double mid = probe.of[i].place[k], d = (x - y) / (at[0] - at[1]) * width[i][k];
		double a = (x - z) / (at[0] - mid) * width[i][k], c = (z - y) / (mid - at[1]) * width[i][k];
		compared++;
		if (fabs(a - c) > 1e-3 * fabs(d) + 1e-5 * largest)
			continue; /* a kink is near */
		smooth++;
		early += i < arrays / 2;
		REQUIRE(fabs(d - gradient[i][k]) <= 2e-3 * fabs(d) + 2e-5 * largest, "net %d, region %d, array %d of %d, parameter %d: %.9g, difference %.9g (%.9g, %.9g; largest %.9g)",
		        which, kind, i, arrays, k, gradient[i][k], d, a, c, largest);
	}
	REQUIRE(smooth > TRIES / 2 && early > 3, "of %d compared %d were away from kinks, %d of early stages", compared, smooth, early);
	for (int i = 0; i < arrays; i++)
		free(gradient[i]), free(width[i]);
	region_fini(&g);
	bpg_net_free(n);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("joint");
	TCase *t = tcase_create("gradients");

	tcase_set_timeout(t, 300);
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_loop_test(t, test_gradients, 0, 3 * (int)BPG_LEN(net));
	suite_add_tcase(suite, t);
	SRunner *r = srunner_create(suite);
	srunner_run_all(r, CK_NORMAL);
	int failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
