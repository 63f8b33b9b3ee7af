/* The gradients that alpha-CROWN climbs are those of the bound: for every layer that has parameters, and for networks of
 * several, against differences of the bound itself, on boxes and balls.
 *
 * One step of the optimiser is run. Parameters are set, one of them is moved, and the bound of the first pass and the
 * gradient behind the first step (a tenth of which is its first moment) are read by wrapping the bodies of tasks. Rows are in
 * double, so bounds are; points, hence gradients, are sums of some floats, to a relative 1e-5 of the largest of a row. With
 * one interval after the other for all but the rows asked, no other bound depends on the parameters. */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "builder.h"
#include "codelets/task_alpha.h"
#include "net/sample.h"
#include "outcome.h"
#include "require.h"
#include "spec/region.h"

enum { ROWS = BPG_LANES, NODES = 16, MOST = 512, TRIES = 10 };

/* ---- the parameters, by place within their range: 0 to 1 ---- */

/* Of one node: numbers in the order of its arrays, [count][16]. */
struct params {
	const struct bpg_node *v;
	int count;
	double width[MOST];       /* of the range; 0: not a parameter here */
	double place[MOST], gradient[MOST][ROWS];
};

static struct {
	bool drawn;               /* places are drawn, else where the layer starts */
	uint64_t seed;
	const struct bpg_node *moved;
	int number;               /* which parameter of that node is moved, */
	double by;                /* and by how much; */
	double place;             /* where it was then, as a float */
	int nodes;
	struct params of[NODES];
	double bound[ROWS];
} probe;

static struct params *params_of(const struct bpg_node *v)
{
	for (int i = 0; i < probe.nodes; i++)
		if (probe.of[i].v == v)
			return &probe.of[i];
	REQUIRE(probe.nodes < NODES, "too many nodes");
	probe.of[probe.nodes].v = v;
	return &probe.of[probe.nodes++];
}

/* Sets number n, which lies in [least, most] and starts where it is. */
static void set(struct params *p, int n, float *at, double least, double most, struct bpg_rng *rng, double lowest, double highest)
{
	double width = p->width[n] = most - least, draw = lowest + (highest - lowest) * bpg_rng_uniform(rng);
	double place = width > 0 && !probe.drawn ? ((double)*at - least) / width : draw;

	if (probe.moved == p->v && probe.number == n)
		place += probe.by;
	for (int e = 0; e < ROWS && width > 0; e++)
		at[e] = (float)(least + place * width);
	p->place[n] = width > 0 ? ((double)*at - least) / width : 0;
	if (probe.moved == p->v && probe.number == n)
		probe.place = p->place[n];
}

#define WRAPPED(name) \
	bpg_task_fn __real_##name, __wrap_##name; \
	void __wrap_##name(struct bpg_rt *rt, void *const *buffer, const void *arg)

WRAPPED(bpg_task_alpha_start)
{
	const struct bpg_arg_alpha *a = arg;
	const struct bpg_node *v = a->hop->v;
	struct params *p = params_of(v);
	struct bpg_rng rng;
	int64_t n = a->hop->out->n;

	__real_bpg_task_alpha_start(rt, buffer, arg);
	bpg_rng_seed(&rng, probe.seed);
	p->count = (a->free ? 1 : 2) * (int)a->at.count;
	REQUIRE(a->tile.strips == 1 && p->count <= MOST, "%d parameters in %d strips", p->count, a->tile.strips);
	for (int i = 0; i < p->count; i++) {
		int64_t x = bpg_columns_element(a->hop->out, a->at.place[i % a->at.count]);
		const double *bounds = buffer[1];
		double l = bounds[BPG_LOWER * n + x], u = bounds[BPG_UPPER * n + x], least = 0, most = a->free, start;
		if (!a->free && v->layer->unary->alpha_range && l < u)
			v->layer->unary->alpha_range(l, u, i >= a->at.count, v->attr, &least, &most, &start);
		set(p, i, (float *)buffer[2] + i * BPG_LANES, least, most, &rng, 0.15, 0.85);
	}
}

WRAPPED(bpg_task_weights_start)
{
	const struct bpg_arg_weights *a = arg;
	struct params *p = params_of(a->hop->v);
	struct bpg_rng rng;

	__real_bpg_task_weights_start(rt, buffer, arg);
	bpg_rng_seed(&rng, probe.seed);
	p->count = (int)a->others;
	REQUIRE(a->tile.strips == 1 && p->count <= MOST, "%d parameters in %d strips", p->count, a->tile.strips);
	for (int i = 0; i < p->count; i++) /* together less than 1 */
		set(p, i, (float *)buffer[0] + i * BPG_LANES, 0, 1, &rng, 0.02, 0.12);
}

/* First moments after the first step; those of each side are followed by its second ones. */
static void read_gradient(struct params *p, const float *moment, int side_count)
{
	for (int i = 0; i < p->count; i++)
		for (int e = 0; e < ROWS; e++)
			p->gradient[i][e] = moment[(i / side_count * 2 * side_count + i % side_count) * BPG_LANES + e] / 0.1;
}

WRAPPED(bpg_task_alpha_step)
{
	const struct bpg_arg_alpha *a = arg;

	__real_bpg_task_alpha_step(rt, buffer, arg);
	if (a->at.count)
		read_gradient(params_of(a->hop->v), buffer[5], (int)a->at.count);
}

WRAPPED(bpg_task_forward_planes)
{
	const struct bpg_arg_weights *a = arg;

	__real_bpg_task_forward_planes(rt, buffer, arg);
	if (a->others)
		read_gradient(params_of(a->hop->v), buffer[4 + 2 * a->hop->nin], (int)a->others);
}

WRAPPED(bpg_task_finish)
{
	const struct bpg_arg_finish *a = arg;

	__real_bpg_task_finish(rt, buffer, arg);
	if (!a->best)
		memcpy(probe.bound, buffer[1], ROWS * sizeof(double));
}

/* ---- questions ---- */

struct question {
	struct bpg_ctx *ctx;
	struct bpg_rt *rt;
	struct bpg_arena *arena;
	const struct bpg_net *net;
	struct bpg_region region;
	struct bpg_question_row row[ROWS];
	const char *what;
	uint64_t seed;
	int kind;                 /* of the region: 0 box, 1, 2 ball */
};

static void *get(struct question *q, int64_t n, size_t size)
{
	void *p = bpg_arena_alloc(q->arena, (size_t)n + 1, size);

	REQUIRE(p, "memory is short");
	return p;
}

/* Inputs lie in [lo, up]. */
static void draw_question(struct question *q, double lo, double up)
{
	int64_t n = q->net->in_count, *index = get(q, q->net->out_count, sizeof *index);
	double *l = get(q, n, sizeof *l), *u = get(q, n, sizeof *u), *c = get(q, n, sizeof *c), radius = 0.15 * (up - lo);
	struct bpg_rng rng;

	bpg_rng_seed(&rng, q->seed * 7 + (uint64_t)q->kind);
	for (int64_t i = 0; i < n; i++) {
		double r = q->kind ? radius : (up - lo) * (0.05 + 0.3 * bpg_rng_uniform(&rng));
		c[i] = lo + r + (up - lo - 2 * r) * bpg_rng_uniform(&rng);
		l[i] = c[i] - r, u[i] = c[i] + r;
	}
	for (int64_t i = 0; i < q->net->out_count; i++)
		index[i] = i;
	q->region = (struct bpg_region){ .norm = q->kind == 0 ? BPG_NORM_INF : q->kind == 1 ? BPG_NORM_1 : BPG_NORM_2, .ball = q->kind > 0, .n = n, .lo = l,
		                         .up = u, .center = q->kind ? c : NULL, .radius = radius };
	for (int r = 0; r < ROWS; r++) {
		double *coef = get(q, q->net->out_count, sizeof *coef);
		for (int64_t i = 0; i < q->net->out_count; i++)
			coef[i] = i >= q->net->node[q->net->output[0]].v.out.n || bpg_rng_below(&rng, 4) ? bpg_rng_normal(&rng) : 0;
		q->row[r] = (struct bpg_question_row){ .n = (int)q->net->out_count, .index = index, .coef = coef };
	}
}

/* Bounds of the first pass, and the gradients, with one parameter moved. */
static void run(struct question *q, const struct bpg_node *moved, int number, double by)
{
	struct bpg_bound_options o = outcome_options(BPG_METHOD_CROWN_IBP, true);
	struct outcome out;

	o.iterations = 1;
	o.sides = 1;
	probe.moved = moved;
	probe.number = number;
	probe.by = by;
	probe.nodes = 0;
	probe.seed = q->seed;
	REQUIRE(!outcome_run(&out, q->ctx, q->rt, q->net, &q->region, &o, q->row, ROWS), "%s, seed %llu: %s", q->what, (unsigned long long)q->seed,
	        bpg_ctx_message(q->ctx));
	outcome_fini(&out);
}

/* What was compared, and how much of it was no kink or curve. */
struct tally {
	int compared, smooth;
};

/* Parameter i of node p: drawn, it is moved both ways, and the gradient lies between the two differences, whatever kink is
 * near. Where it starts it may be at an end: it is moved away from it by one step and by two, which tells the difference at the
 * start itself unless there is a kink. */
static void compare(struct question *q, const struct params *p, int i, const double *bound, const double *largest, struct tally *t)
{
	static const double step[2][2] = { { 1, 2 }, { 1, -1 } };
	double h = 2e-4, other[2][ROWS], at[2], way = probe.drawn || p->place[i] < 0.5 ? 1 : -1;

	for (int k = 0; k < 2; k++) {
		run(q, p->v, i, way * h * step[probe.drawn][k]);
		memcpy(other[k], probe.bound, sizeof other[k]);
		at[k] = probe.place - p->place[i];
	}
	for (int e = 0; e < ROWS; e++) {
		double a = (other[0][e] - bound[e]) / at[0], b = (other[1][e] - bound[e]) / at[1], g = p->gradient[i][e], size = 0;
		bool smooth = fabs(a - b) <= 1e-2 * largest[e];
		if (g == 0 && a == 0)
			continue;
		t->compared++;
		t->smooth += smooth;
		if (!probe.drawn && !smooth)
			continue;
		if (!probe.drawn)
			b = a + (a - b) * at[0] / (at[1] - at[0]);
		for (int k = 0; k < q->row[e].n; k++)
			size += fabs(q->row[e].coef[k]);
		double room = 1e-5 * largest[e] + 1e-6 * size, off = fmax(fmin(a, b) - g, g - fmax(a, b));
		REQUIRE(off <= room, "%s, seed %llu, region %d, %s: parameter %d of '%s' (%s) at %.6g, row %d: the gradient is %.9g, differences %.9g and %.9g",
		        q->what, (unsigned long long)q->seed, q->kind, probe.drawn ? "drawn" : "at its start", i, p->v->name, p->v->op, p->place[i], e, g, a,
		        b);
	}
}

static struct params all[NODES];

static void try_question(struct question *q, int tries, struct tally *t)
{
	double bound[ROWS], largest[ROWS] = { 0 };
	struct bpg_rng rng;

	run(q, NULL, 0, 0);
	int nodes = probe.nodes;
	memcpy(all, probe.of, sizeof all);
	memcpy(bound, probe.bound, sizeof bound);
	for (int v = 0; v < nodes; v++)
		for (int i = 0; i < all[v].count; i++)
			for (int e = 0; e < ROWS; e++)
				largest[e] = fmax(largest[e], fabs(all[v].gradient[i][e]));
	bpg_rng_seed(&rng, q->seed);
	for (int n = 0; nodes && n < tries; n++) {
		const struct params *p = &all[bpg_rng_below(&rng, nodes)];
		int i = p->count ? (int)bpg_rng_below(&rng, p->count) : 0;
		if (p->count && p->width[i] > 0)
			compare(q, p, i, bound, largest, t);
	}
}

/* ---- one layer ---- */

static bool has_parameters(const struct bpg_layer *y)
{
	return y->others || (y->unary && y->unary->alpha_range);
}

/* A network of this one node: its operands are inputs, and outputs as well, so that rows have slopes of their own there. */
static struct bpg_net *net_of(struct question *q, const struct bpg_sample *s, const struct bpg_node *v)
{
	struct bpg_net *net = get(q, 1, sizeof *net);

	net->arena = q->arena;
	net->path = "sample.onnx";
	net->node = get(q, v->nin + 1, sizeof *net->node);
	net->input = get(q, v->nin, sizeof *net->input);
	net->output = get(q, v->nin + 1, sizeof *net->output);
	net->in_first = get(q, v->nin, sizeof *net->in_first);
	net->out_first = get(q, v->nin + 1, sizeof *net->out_first);
	int *src = get(q, v->nin, sizeof *src);
	for (int k = 0; k < v->nin; k++) {
		src[k] = -1;
		if (v->in[k].value || v->in[k].absent)
			continue;
		struct bpg_net_node *x = &net->node[src[k] = net->nodes++];
		x->v.out = v->in[k];
		x->v.name = x->v.op = x->tensor = "input";
		x->input = net->inputs;
		net->in_first[net->inputs] = net->in_count;
		net->input[net->inputs++] = src[k];
		net->in_count += v->in[k].n;
	}
	net->node[net->nodes++] = (struct bpg_net_node){ .v = *v, .tensor = s->op, .src = src, .input = -1 };
	for (int i = net->nodes - 1; i >= 0; i--) {
		net->out_first[net->outputs] = net->out_count;
		net->output[net->outputs++] = i;
		net->out_count += net->node[i].v.out.n;
	}
	return net;
}

static struct bpg_ctx *ctx;
static struct bpg_rt *rt;

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

static void check_tally(const char *what, const struct tally *t)
{
	REQUIRE(t->compared > 0 && t->smooth > 0.8 * t->compared, "%s: %d gradients were compared, %d away from kinks", what, t->compared, t->smooth);
}

START_TEST(test_layers)
{
	static struct bpg_sample s;

	for (int y = 0; y < bpg_layer_count(); y++) {
		const struct bpg_layer *layer = bpg_layer_get(y);
		struct tally t = { 0 };
		for (int n = 0; has_parameters(layer) && n < 6; n++) {
			struct question q = { .ctx = ctx, .rt = rt, .arena = bpg_arena_new(), .what = layer->name, .seed = 100 + (uint64_t)n, .kind = n % 3 };
			struct bpg_node v;
			REQUIRE(!bpg_sample_node(ctx, q.arena, layer, q.seed, -1, &s, &v), "%s: %s", layer->name, bpg_ctx_message(ctx));
			q.net = net_of(&q, &s, &v);
			draw_question(&q, s.lo, s.up);
			probe.drawn = _i;
			try_question(&q, TRIES, &t);
			bpg_arena_free(q.arena);
		}
		if (has_parameters(layer))
			check_tally(layer->name, &t);
	}
}
END_TEST

/* ---- chains of layers ---- */

static const struct build_window three = { { 3, 3 }, { 1, 1 }, { 1, 1, 1, 1 }, { 1, 1 } }, two = { { 2, 2 }, { 2, 2 }, { 0 }, { 1, 1 } };

static int vector(struct build *b, int n)
{
	return build_dense(b, build_vector(b, 5), n, NULL, NULL);
}

static void smooth_and_straight(struct build *b)
{
	int x = build_unary(b, "Relu", build_dense(b, build_unary(b, "Tanh", vector(b, 8)), 8, NULL, NULL));

	build_output(b, build_dense(b, x, 4, NULL, NULL));
}

static void windows(struct build *b)
{
	int x = build_unary(b, "Relu", build_conv(b, build_input(b, 4, (int64_t[]){ 1, 1, 4, 4 }), 2, 1, &three, NULL, NULL));

	x = build_conv(b, build_pool(b, "MaxPool", x, &two, false), 2, 1, &three, NULL, NULL);
	build_output(b, build_dense(b, build_flatten(b, build_unary(b, "Sigmoid", x)), 4, NULL, NULL));
}

/* x is read by three: points are copied, and rows meet. */
static void products(struct build *b)
{
	int x = vector(b, 6), y = build_dense(b, build_unary(b, "Sigmoid", x), 6, NULL, NULL);
	int z = build_join(b, "Mul", build_join(b, "Max", x, y), build_unary(b, "Softmax", x));

	build_output(b, build_dense(b, build_unary(b, "Gelu", build_dense(b, z, 5, NULL, NULL)), 4, NULL, NULL));
}

START_TEST(test_chains)
{
	static const struct {
		const char *name;
		void (*make)(struct build *b);
	} chain[] = { { "smooth and straight", smooth_and_straight }, { "windows", windows }, { "products", products } };

	for (int c = 0; c < (int)BPG_LEN(chain); c++) {
		struct tally t = { 0 };
		for (int n = 0; n < 3; n++) {
			struct question q = { .ctx = ctx, .rt = rt, .arena = bpg_arena_new(), .what = chain[c].name, .seed = 100 + (uint64_t)n, .kind = n };
			struct bpg_net *net;
			struct build b;
			build_start(&b, q.seed);
			chain[c].make(&b);
			REQUIRE(!build_net(&b, ctx, &net), "%s", bpg_ctx_message(ctx));
			q.net = net;
			draw_question(&q, -1, 1);
			probe.drawn = true; /* with weights 0, what only they reach has coefficients without a sign: a kink */
			try_question(&q, 4 * TRIES, &t);
			bpg_arena_free(q.arena);
			bpg_net_free(net);
		}
		check_tally(chain[c].name, &t);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("gradients");
	TCase *t = tcase_create("differences");

	tcase_set_timeout(t, 300);
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_loop_test(t, test_layers, 0, 2); /* where they start, and anywhere */
	tcase_add_test(t, test_chains);
	suite_add_tcase(suite, t);
	SRunner *r = srunner_create(suite);
	srunner_run_all(r, CK_NORMAL);
	int failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
