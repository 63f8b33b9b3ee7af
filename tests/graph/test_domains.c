/* Domains of a search. What is proved of one never lies above what its points reach: against the exact minimum of small
 * networks, and against points of networks of all kinds. A domain's bits do not depend on its batch; gradients of multipliers
 * are those of differences; parameters handed on are taken up. BPG_SEED=<seed> repeats one network. */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "builder.h"
#include "codelets/task_beta.h"
#include "graph/domains.h"
#include "outcome.h"
#include "require.h"

enum { MOST_SPLITS = 12, CORNERS = 64 };

static struct bpg_ctx *ctx;
static struct bpg_rt *rt;

static void start(void)
{
	struct bpg_rt_options o = { .workers = 2, .owners = 1 };

	ctx = bpg_ctx_new();
	ck_assert_msg(!bpg_rt_start(ctx, &o, &rt), "%s", bpg_ctx_message(ctx));
}

static void stop(void)
{
	bpg_rt_stop(rt);
	bpg_ctx_free(ctx);
}

/* ---- a network on which domains are asked ---- */

struct scene {
	uint64_t seed;
	struct build b;
	struct bpg_net *net;
	struct bpg_region g;
	struct outcome o;
	struct bpg_question_row row[3];
	const struct bpg_question_row *rows[3];
	int64_t *index;
	double *coef;
};

static const struct build_window three = { { 3, 3 }, { 1, 1 }, { 1, 1, 1, 1 }, { 1, 1 } }, two = { { 2, 2 }, { 2, 2 }, { 0, 0, 0, 0 }, { 1, 1 } };

static int mlp(struct build *b, int ins, int layers, int width, const char *op)
{
	int x = build_vector(b, ins);

	for (int l = 0; l < layers; l++)
		x = build_unary(b, op, build_dense(b, x, width, NULL, NULL));
	return x;
}

static void residual(struct build *b)
{
	int x = build_unary(b, "Relu", build_dense(b, build_vector(b, 5), 9, NULL, NULL));
	int y = build_dense(b, build_unary(b, "Relu", build_dense(b, x, 11, NULL, NULL)), 9, NULL, NULL);

	x = build_unary(b, "Relu", build_join(b, "Add", x, y));
	y = build_unary(b, "Tanh", x); /* two readers of one node */
	build_output(b, build_dense(b, build_join(b, "Add", x, y), 3, NULL, NULL));
}

static void images(struct build *b, bool pool)
{
	int x = build_unary(b, "Relu", build_conv(b, build_input(b, 4, (int64_t[]){ 1, 2, 6, 6 }), 4, 1, &three, NULL, NULL));
	int y = build_conv(b, build_unary(b, "Relu", build_conv(b, x, 4, 2, &three, NULL, NULL)), 4, 1, &three, NULL, NULL);

	x = build_unary(b, "Relu", build_join(b, "Add", x, y));
	if (pool)
		x = build_pool(b, "MaxPool", x, &two, false);
	build_output(b, build_dense(b, build_flatten(b, x), 3, NULL, NULL));
}

/* Layers with sparse planes, which rows of an optimised root weigh. */
static void products(struct build *b)
{
	int x = build_dense(b, build_vector(b, 4), 6, NULL, NULL), y = build_unary(b, "Relu", x);

	y = build_unary(b, "Relu", build_dense(b, build_join(b, "Mul", build_join(b, "Max", x, y), y), 6, NULL, NULL));
	build_output(b, build_dense(b, y, 3, NULL, NULL));
}

static const char *const kinds[] = { "ReLU", "deep ReLU", "residual", "convolutions", "max pool", "sigmoid", "tanh", "leaky ReLU",
	                             "ReLU over a ball", "HardSigmoid", "Softplus", "products" };

static void make_net(struct build *b, int kind)
{
	switch (kind) {
	case 2:
		residual(b);
		return;
	case 3:
	case 4:
		images(b, kind == 4);
		return;
	case 1:
		build_output(b, build_dense(b, mlp(b, 4, 4, 8, "Relu"), 3, NULL, NULL));
		return;
	case 11:
		products(b);
		return;
	default: {
		static const char *const op[] = { [0] = "Relu", [5] = "Sigmoid", [6] = "Tanh", [7] = "LeakyRelu", [8] = "Relu", [9] = "HardSigmoid",
			                          [10] = "Softplus" };
		build_output(b, build_dense(b, mlp(b, 3, 2, 7, op[kind]), 3, NULL, NULL));
	}
	}
}

static double uniform(struct scene *s, double lo, double up)
{
	return lo + (up - lo) * bpg_rng_uniform(&s->b.rng);
}

/* Everything but the network's nodes; wide: all inputs in [-1, wide]; 0: drawn. */
static void ask(struct scene *s, bool ball, double wide)
{
	struct bpg_region *g = &s->g;
	struct bpg_bound_options options = outcome_options(BPG_METHOD_CROWN, false);
	int64_t n, m;

	options.iterations = s->seed % 2 ? 3 : 0;
	REQUIRE(!build_net(&s->b, ctx, &s->net), "seed %llu: %s", (unsigned long long)s->seed, bpg_ctx_message(ctx));
	n = s->net->in_count, m = s->net->out_count;
	*g = (struct bpg_region){ .norm = ball ? BPG_NORM_2 : BPG_NORM_INF, .ball = ball, .n = n, .radius = 0.7 };
	g->lo = calloc((size_t)n, sizeof *g->lo), g->up = calloc((size_t)n, sizeof *g->up), g->center = calloc((size_t)n, sizeof *g->center);
	for (int64_t i = 0; i < n; i++) {
		double r = ball ? g->radius : uniform(s, 0.1, 0.8);
		g->center[i] = uniform(s, -1, 1);
		g->lo[i] = wide > 0 ? -1 : g->center[i] - r, g->up[i] = wide > 0 ? wide : g->center[i] + r;
	}
	if (!ball)
		free(g->center), g->center = NULL;
	s->index = calloc((size_t)m, sizeof *s->index);
	s->coef = calloc((size_t)(3 * m), sizeof *s->coef);
	for (int r = 0; r < 3; r++) {
		for (int64_t j = 0; j < m; j++) {
			s->index[j] = j;
			s->coef[r * m + j] = uniform(s, -1, 1);
		}
		s->row[r] = (struct bpg_question_row){ .n = (int)m, .index = s->index, .coef = s->coef + r * m, .offset = uniform(s, -1, 1) };
		s->rows[r] = &s->row[r];
	}
	REQUIRE(!outcome_run(&s->o, ctx, rt, s->net, g, &options, s->row, 3), "seed %llu: %s", (unsigned long long)s->seed, bpg_ctx_message(ctx));
	REQUIRE(!bpg_domains_prepare(ctx, s->o.m), "seed %llu: %s", (unsigned long long)s->seed, bpg_ctx_message(ctx));
}

static void draw(struct scene *s, int kind, uint64_t seed)
{
	*s = (struct scene){ .seed = seed };
	build_start(&s->b, seed);
	make_net(&s->b, kind);
	ask(s, kind == 8, 0);
}

static void fini(struct scene *s)
{
	outcome_fini(&s->o);
	bpg_net_free(s->net);
	free(s->g.lo), free(s->g.up), free(s->g.center);
	free(s->index), free(s->coef);
}

static double row_at(const struct scene *s, int r, double *const *value)
{
	double y = s->row[r].offset;

	for (int i = 0; i < s->row[r].n; i++)
		y += s->row[r].coef[i] * value[s->net->output[0]][i];
	return y;
}

static void values(const struct scene *s, const double *x, struct bpg_arena *arena, double **value)
{
	memset(value, 0, (size_t)s->net->nodes * sizeof *value);
	REQUIRE(!bpg_net_eval(ctx, s->net, x, arena, value), "%s", bpg_ctx_message(ctx));
}

static void into(const struct bpg_region *g, double *x)
{
	double far = 0;

	for (int64_t i = 0; i < g->n; i++) {
		x[i] = fmin(fmax(x[i], g->lo[i]), g->up[i]);
		far += g->ball ? (x[i] - g->center[i]) * (x[i] - g->center[i]) : 0;
	}
	for (int64_t i = 0; g->ball && sqrt(far) > g->radius && i < g->n; i++)
		x[i] = g->center[i] + (x[i] - g->center[i]) * (g->radius * (1 - 1e-12) / sqrt(far));
}

/* Splits that the point `x` satisfies, of elements that are not one line already. */
static int draw_splits(struct scene *s, const double *x, int count, struct bpg_split *split)
{
	const struct bpg_model *m = s->o.m;
	struct bpg_arena *arena = bpg_arena_new();
	double *value[BUILD_TENSORS];
	int n = 0, unary[BUILD_TENSORS], nodes = 0;

	values(s, x, arena, value);
	for (int i = 0; i < m->nodes; i++)
		if (m->node[i].hop.kind == BPG_HOP_UNARY)
			unary[nodes++] = i;
	for (int tries = 0; nodes && tries < 20 * count && n < count; tries++) {
		int v = unary[build_below(&s->b, nodes)];
		const struct bpg_model_node *in = &m->node[m->node[v].src[0]];
		const struct bpg_unary *f = m->node[v].hop.v->layer->unary;
		int64_t e = build_below(&s->b, (int)in->columns.n);
		double l = bpg_field(in, BPG_LOWER)[e], u = bpg_field(in, BPG_UPPER)[e], at[4], q = uniform(s, l, u);
		int kinks = f->kinks ? f->kinks(l, u, m->node[v].hop.v->attr, at) : 0;

		if (!(l < u) || (f->kinks && !kinks && build_below(&s->b, 4)))
			continue;
		if (kinks && build_below(&s->b, 4))
			q = at[build_below(&s->b, kinks)];
		split[n++] = (struct bpg_split){ v, e, q, value[m->node[v].src[0]][e] >= q ? 1 : -1 };
	}
	bpg_arena_free(arena);
	return n;
}

static bool satisfies(const struct scene *s, const struct bpg_split *split, int n, double *const *value)
{
	for (int i = 0; i < n; i++) {
		double z = value[s->o.m->node[split[i].node].src[0]][split[i].element];
		if (split[i].side > 0 ? z < split[i].point : z > split[i].point)
			return false;
	}
	return true;
}

static const struct bpg_domain_options usual = { 12, 0.1, 1, 0.98, false, NULL };

static struct bpg_batch *bound(const struct scene *s, const struct bpg_domain_in *in, int count, const struct bpg_domain_options *o,
                               struct bpg_domain_out *out)
{
	struct bpg_batch *b;

	REQUIRE(!bpg_domains_submit(ctx, s->o.m, in, count, o, &b), "seed %llu: %s", (unsigned long long)s->seed, bpg_ctx_message(ctx));
	REQUIRE(!bpg_rt_wait(rt, ctx), "seed %llu: %s", (unsigned long long)s->seed, bpg_ctx_message(ctx));
	REQUIRE(!bpg_domains_collect(ctx, b, out), "%s", bpg_ctx_message(ctx));
	return b;
}

static void first_point(struct scene *s, double *x)
{
	for (int64_t i = 0; i < s->g.n; i++)
		x[i] = uniform(s, s->g.lo[i], s->g.up[i]);
	into(&s->g, x);
}

/* ---- points of domains ---- */

/* No point of a domain lies below its bound, whatever the layers, in float and in double, with and without steps. */
START_TEST(test_points)
{
	for (int net = 0; net < 6; net++) {
		const char *given = getenv("BPG_SEED");
		struct scene s;
		struct bpg_domain_in in[4];
		struct bpg_domain_out out[4];
		struct bpg_split split[4][MOST_SPLITS];
		double *base[4], *value[BUILD_TENSORS];
		int met = 0;

		draw(&s, _i, given ? strtoull(given, NULL, 10) : 1000 * (uint64_t)_i + (uint64_t)net);
		double *x = calloc((size_t)s.g.n, sizeof *x);
		for (int d = 0; d < 4; d++) {
			base[d] = calloc((size_t)s.g.n, sizeof *x);
			first_point(&s, base[d]);
			in[d] = (struct bpg_domain_in){ .splits = draw_splits(&s, base[d], 1 + d * 3, split[d]), .split = split[d], .rows = 3, .row = s.rows };
		}
		for (int way = 0; way < 3; way++) {
			struct bpg_domain_options o = usual;
			o.iterations = way == 1 ? 0 : 12;
			o.wide = way == 2;
			struct bpg_batch *b = bound(&s, in, 4, &o, out);
			for (int d = 0; d < 4; d++) {
				REQUIRE(!out[d].empty, "%s, seed %llu: a domain with a point is empty", kinds[_i], (unsigned long long)s.seed);
				for (int p = 0; p < 60; p++) {
					struct bpg_arena *arena = bpg_arena_new();
					double scale = pow(10, -p % 4);
					for (int64_t i = 0; i < s.g.n; i++)
						x[i] = p % 5 == 4 && out[d].point ? (double)out[d].point[i] : base[d][i] + scale * uniform(&s, -1, 1);
					if (p == 0)
						memcpy(x, base[d], (size_t)s.g.n * sizeof *x);
					into(&s.g, x);
					values(&s, x, arena, value);
					if (satisfies(&s, in[d].split, in[d].splits, value)) {
						met++;
						for (int r = 0; r < 3; r++) {
							double y = row_at(&s, r, value);
							REQUIRE(out[d].lower[r] <= y + 1e-13 * (1 + fabs(y)),
							        "%s, seed %llu, way %d: a point of domain %d reaches %.17g under %.17g", kinds[_i],
							        (unsigned long long)s.seed, way, d, y, out[d].lower[r]);
						}
					}
					bpg_arena_free(arena);
				}
			}
			bpg_batch_free(b);
		}
		REQUIRE(met > 100, "%s, seed %llu: only %d points were met", kinds[_i], (unsigned long long)s.seed, met);
		for (int d = 0; d < 4; d++)
			free(base[d]);
		free(x);
		fini(&s);
	}
}
END_TEST

/* ---- the exact minimum over two inputs ---- */

struct polygon {
	int n;
	double x[CORNERS][2];
};

struct form {                     /* a x + b y + c */
	double a, b, c;
};

static double form_at(const struct form *f, const double x[2])
{
	return f->a * x[0] + f->b * x[1] + f->c;
}

/* The part where sign (f - q) >= 0. */
static struct polygon cut(const struct polygon *p, const struct form *f, double q, double sign)
{
	struct polygon r = { 0 };

	for (int i = 0; i < p->n; i++) {
		const double *x = p->x[i], *y = p->x[(i + 1) % p->n];
		double at = sign * (form_at(f, x) - q), to = sign * (form_at(f, y) - q);
		if (at >= 0)
			memcpy(r.x[r.n++], x, sizeof r.x[0]);
		if ((at > 0 && to < 0) || (at < 0 && to > 0)) {
			double t = at / (at - to);
			r.x[r.n][0] = x[0] + t * (y[0] - x[0]), r.x[r.n][1] = x[1] + t * (y[1] - x[1]);
			r.n++;
		}
	}
	return r;
}

enum { LAYERS = 2, WIDTH = 5 };

struct exact {
	float W[LAYERS][WIDTH * WIDTH], bias[LAYERS][WIDTH], out[WIDTH];
	int node[LAYERS];
	const struct bpg_split *split;
	int splits;
	double least;
};

/* Neuron `at` and those behind it on a part of the box where all before are affine: `in` are the outputs of the layer before. */
static void descend(struct exact *e, int layer, int at, const struct polygon *p, const struct form *in, struct form *out)
{
	if (p->n == 0)
		return;
	if (layer == LAYERS) {
		for (int i = 0; i < p->n; i++) {
			double y = 0;
			for (int j = 0; j < WIDTH; j++)
				y += e->out[j] * form_at(&in[j], p->x[i]);
			e->least = fmin(e->least, y);
		}
		return;
	}
	if (at == WIDTH) {
		struct form next[WIDTH];
		descend(e, layer + 1, 0, p, out, next);
		return;
	}
	struct form z = { 0, 0, e->bias[layer][at] };
	int n = layer ? WIDTH : 2;
	for (int j = 0; j < n; j++) {
		double w = e->W[layer][at * n + j];
		z.a += w * in[j].a, z.b += w * in[j].b, z.c += w * in[j].c;
	}
	struct polygon part = *p;
	for (int i = 0; i < e->splits; i++)
		if (e->split[i].node == e->node[layer] && e->split[i].element == at)
			part = cut(&part, &z, e->split[i].point, e->split[i].side);
	for (int side = -1; side <= 1; side += 2) {
		struct polygon half = cut(&part, &z, 0, side);
		out[at] = side > 0 ? z : (struct form){ 0, 0, 0 };
		struct form kept[WIDTH];
		memcpy(kept, out, sizeof kept);
		descend(e, layer, at + 1, &half, in, kept);
	}
}

/* Domains of a small ReLU network against their exact minimum: never above it, and near it when every neuron is decided. */
START_TEST(test_exact)
{
	int decided = 0, near = 0;

	for (int net = 0; net < 30; net++) {
		struct scene s = { .seed = 500 + (uint64_t)net };
		struct exact e;
		struct bpg_split split[16][2 * LAYERS * WIDTH];
		struct bpg_domain_in in[16];
		struct bpg_domain_out out[16];
		struct bpg_domain_options o = { 200, 0.1, 1, 0.98, false, NULL };
		bool all[16];

		build_start(&s.b, s.seed);
		for (int l = 0; l < LAYERS; l++)
			for (int i = 0; i < WIDTH * WIDTH; i++) {
				e.W[l][i] = (float)build_uniform(&s.b, -1, 1);
				if (i < WIDTH)
					e.bias[l][i] = (float)build_uniform(&s.b, -0.4, 0.4), e.out[i] = (float)build_uniform(&s.b, -1, 1);
			}
		int x = build_vector(&s.b, 2);
		for (int l = 0; l < LAYERS; l++)
			x = build_unary(&s.b, "Relu", build_dense(&s.b, x, WIDTH, e.W[l], e.bias[l]));
		build_output(&s.b, build_dense(&s.b, x, 1, e.out, (float[]){ 0 }));
		ask(&s, false, 0);
		const struct bpg_model *m = s.o.m;
		for (int i = 0, l = 0; i < m->nodes; i++)
			if (m->node[i].hop.kind == BPG_HOP_UNARY)
				e.node[l++] = i;
		s.coef[0] = 1, s.row[0].offset = 0;
		for (int d = 0; d < 16; d++) {
			int n = 0;
			all[d] = d % 2;
			for (int l = 0; l < LAYERS; l++)
				for (int i = 0; i < WIDTH; i++) {
					const struct bpg_model_node *z = &m->node[m->node[e.node[l]].src[0]];
					double low = bpg_field(z, BPG_LOWER)[i], up = bpg_field(z, BPG_UPPER)[i];
					if (low < 0 && up > 0 && (all[d] || build_below(&s.b, 2)))
						split[d][n++] = (struct bpg_split){ e.node[l], i, !all[d] && build_below(&s.b, 3) == 0 ? uniform(&s, low, up) : 0,
							                           build_below(&s.b, 2) ? 1 : -1 };
				}
			in[d] = (struct bpg_domain_in){ .splits = n, .split = split[d], .rows = 1, .row = s.rows };
		}
		struct bpg_batch *b = bound(&s, in, 16, &o, out);
		for (int d = 0; d < 16; d++) {
			struct polygon box = { 4, { { s.g.lo[0], s.g.lo[1] }, { s.g.up[0], s.g.lo[1] }, { s.g.up[0], s.g.up[1] }, { s.g.lo[0], s.g.up[1] } } };
			struct form ins[2] = { { 1, 0, 0 }, { 0, 1, 0 } }, outs[WIDTH];
			e.split = split[d], e.splits = in[d].splits, e.least = INFINITY;
			descend(&e, 0, 0, &box, ins, outs);
			REQUIRE(out[d].lower[0] <= e.least + 1e-12, "seed %llu: domain %d: %.17g is proved, %.17g is reached", (unsigned long long)s.seed, d,
			        out[d].lower[0], e.least);
			if (all[d] && e.least < INFINITY) {
				REQUIRE(out[d].branches == 0, "seed %llu: domain %d: all is decided, and there is something to split", (unsigned long long)s.seed, d);
				decided++;
				near += out[d].lower[0] > e.least - 0.02;
			}
		}
		bpg_batch_free(b);
		fini(&s);
	}
	REQUIRE(decided > 40 && near > 0.9 * decided, "of %d domains in which all is decided %d are bounded well", decided, near);
}
END_TEST

/* ---- bits ---- */

static void same_out(const struct scene *s, const struct bpg_domain_in *in, const struct bpg_domain_out *a, const struct bpg_domain_out *b)
{
	size_t inputs = (size_t)s->net->in_count;

	REQUIRE(!memcmp(a->lower, b->lower, (size_t)in->rows * sizeof *a->lower), "seed %llu: other bounds", (unsigned long long)s->seed);
	REQUIRE(a->row == b->row && a->branches == b->branches && a->params_bytes == b->params_bytes, "seed %llu: other results", (unsigned long long)s->seed);
	REQUIRE(!memcmp(a->point, b->point, inputs * sizeof *a->point), "seed %llu: another point", (unsigned long long)s->seed);
	for (int i = 0; i < a->branches; i++)
		REQUIRE(a->branch[i].node == b->branch[i].node && a->branch[i].element == b->branch[i].element && a->branch[i].point == b->branch[i].point
		                && a->branch[i].score == b->branch[i].score,
		        "seed %llu: other places to split", (unsigned long long)s->seed);
	for (int r = 0; r < in->rows; r++)
		if (!(a->lower[r] > 0))
			REQUIRE(!memcmp(a->params[r], b->params[r], a->params_bytes), "seed %llu: other parameters", (unsigned long long)s->seed);
}

/* A domain alone and among 36 others, in tiles of another height: the same bits. */
START_TEST(test_bits)
{
	enum { MANY = 37 };
	struct scene s;
	struct bpg_domain_in in[MANY];
	struct bpg_domain_out out[MANY], alone;
	static struct bpg_split split[MANY][MOST_SPLITS];

	draw(&s, _i, 7000 + (uint64_t)_i);
	double *x = calloc((size_t)s.g.n, sizeof *x);
	for (int d = 0; d < MANY; d++) {
		first_point(&s, x);
		in[d] = (struct bpg_domain_in){ .splits = draw_splits(&s, x, d % MOST_SPLITS, split[d]), .split = split[d], .rows = 1 + d % 3, .row = s.rows };
	}
	struct bpg_batch *all = bound(&s, in, MANY, &usual, out);
	for (int d = 0; d < MANY; d += 3) {
		s.o.m->options.tile = d % 2 ? 16 : 0;
		struct bpg_batch *one = bound(&s, &in[d], 1, &usual, &alone);
		same_out(&s, &in[d], &out[d], &alone);
		bpg_batch_free(one);
	}
	s.o.m->options.tile = 16;
	struct bpg_domain_out low[MANY];
	struct bpg_batch *b = bound(&s, in, MANY, &usual, low);
	for (int d = 0; d < MANY; d++)
		same_out(&s, &in[d], &out[d], &low[d]);
	bpg_batch_free(b);
	bpg_batch_free(all);
	free(x);
	fini(&s);
}
END_TEST

/* ---- parameters ---- */

/* A walk with the parameters that another handed on gives its bound again; further steps lose nothing, nor do children, to
 * which the bound of their parent is known. */
START_TEST(test_handing_on)
{
	for (int net = 0; net < 4; net++) {
		struct scene s;
		struct bpg_split split[MOST_SPLITS];
		struct bpg_domain_options o = usual;
		struct bpg_domain_out out, again, more, child[2];

		draw(&s, _i, 300 + 10 * (uint64_t)_i + (uint64_t)net);
		double *x = calloc((size_t)s.g.n, sizeof *x);
		first_point(&s, x);
		struct bpg_domain_in in = { .splits = draw_splits(&s, x, 4, split), .split = split, .rows = 3, .row = s.rows };
		struct bpg_batch *b = bound(&s, &in, 1, &o, &out), *c, *d, *e;
		struct bpg_domain_in next = in;
		next.params = out.params, next.held = in.splits;
		o.iterations = 0;
		c = bound(&s, &next, 1, &o, &again);
		d = bound(&s, &next, 1, &usual, &more);
		for (int r = 0; r < 3; r++) {
			REQUIRE(out.lower[r] > 0 || again.lower[r] == out.lower[r], "%s, seed %llu: %.17g, and %.17g with the same parameters", kinds[_i],
			        (unsigned long long)s.seed, out.lower[r], again.lower[r]);
			REQUIRE(out.lower[r] > 0 || more.lower[r] >= out.lower[r], "%s, seed %llu: further steps lose", kinds[_i], (unsigned long long)s.seed);
		}
		if (out.branches) {
			struct bpg_domain_in two[2] = { next, next };
			struct bpg_split below[MOST_SPLITS], above[MOST_SPLITS];
			memcpy(below, split, sizeof below);
			below[in.splits] = (struct bpg_split){ out.branch[0].node, out.branch[0].element, out.branch[0].point, -1 };
			memcpy(above, below, sizeof above);
			above[in.splits].side = 1;
			two[0].split = below, two[1].split = above;
			two[0].splits = two[1].splits = in.splits + 1;
			two[0].known = two[1].known = out.lower;
			e = bound(&s, two, 2, &usual, child);
			for (int i = 0; i < 2; i++)
				for (int r = 0; r < 3; r++)
					REQUIRE(child[i].lower[r] >= out.lower[r], "%s, seed %llu: a child has less than its parent", kinds[_i], (unsigned long long)s.seed);
			bpg_batch_free(e);
		}
		bpg_batch_free(b), bpg_batch_free(c), bpg_batch_free(d);
		free(x);
		fini(&s);
	}
}
END_TEST

/* Bound of one domain for given multipliers, slopes as the layers start. */
static double bound_at(const struct scene *s, const struct bpg_domain_in *in, float *params, int which, float value)
{
	struct bpg_domain_options o = { 0, 0, 0, 1, true, NULL };
	struct bpg_domain_in d = *in;
	struct bpg_domain_out out;
	const float *const rows[] = { params };
	float was = params[which];

	params[which] = value;
	d.params = rows, d.held = d.splits;
	struct bpg_batch *b = bound(s, &d, 1, &o, &out);
	double lower = out.lower[0];
	bpg_batch_free(b);
	params[which] = was;
	return lower;
}

/* A small first step raises the bound by the sum of steps times derivatives, which are those of differences. */
START_TEST(test_gradient)
{
	int seen = 0;

	for (int net = 0; net < 6; net++) {
		struct scene s;
		struct bpg_split split[MOST_SPLITS];
		const double h = 1e-4, rate = 1e-4;
		struct bpg_domain_options plain = { 0, 0, 0, 1, true, NULL }, step = { 1, 0, rate, 1, true, NULL };
		struct bpg_domain_out out;

		draw(&s, _i, 900 + 10 * (uint64_t)_i + (uint64_t)net);
		double *x = calloc((size_t)s.g.n, sizeof *x);
		first_point(&s, x);
		struct bpg_domain_in in = { .splits = draw_splits(&s, x, 5, split), .split = split, .rows = 1, .row = s.rows };
		s.row[0].offset -= 100; /* open: its parameters are handed on */
		struct bpg_batch *b = bound(&s, &in, 1, &plain, &out);
		int n = (int)(out.params_bytes / sizeof(float)), first = n - in.splits;
		float *params = malloc(out.params_bytes);
		memcpy(params, out.params[0], out.params_bytes);
		bpg_batch_free(b);
		for (int i = first; i < n; i++)
			params[i] = 0.25f + 0.01f * (float)(i - first); /* away from the end of their range */
		double slope[MOST_SPLITS], kink = 0, here = bound_at(&s, &in, params, first, params[first]);
		for (int i = first; i < n; i++) {
			double up = bound_at(&s, &in, params, i, params[i] + (float)h) - here, down = here - bound_at(&s, &in, params, i, params[i] - (float)h);
			slope[i - first] = up / (double)((float)(params[i] + (float)h) - params[i]);
			kink = fmax(kink, fabs(up - down));
		}
		const float *const rows[] = { params };
		struct bpg_domain_in d = in;
		d.params = rows, d.held = d.splits;
		b = bound(&s, &d, 1, &step, &out);
		double rise = out.lower[0] - here, expected = 0, most = 0;
		for (int i = first; i < n; i++) {
			expected += slope[i - first] * (double)(out.params[0][i] - params[i]);
			most = fmax(most, fabs((double)(out.params[0][i] - params[i])));
			REQUIRE(slope[i - first] * (double)(out.params[0][i] - params[i]) >= 0, "%s, seed %llu: a step leads down", kinds[_i], (unsigned long long)s.seed);
		}
		if (kink < 1e-3 * h) { /* the bound is straight here */
			REQUIRE(fabs(rise - expected) < 5e-3 * (expected + 1e-2 * most), "%s, seed %llu: the bound rises by %.6g, differences say %.6g", kinds[_i],
			        (unsigned long long)s.seed, rise, expected);
			seen += most > 0;
		}
		bpg_batch_free(b);
		free(params);
		free(x);
		fini(&s);
	}
	REQUIRE(seen >= 2, "%s: the bound was hardly ever straight", kinds[_i]);
}
END_TEST

/* Splits that exclude each other, or the root's bounds: the domain is empty, which is a proof. */
START_TEST(test_empty)
{
	struct scene s;
	struct bpg_domain_in in[3];
	struct bpg_domain_out out[3];

	draw(&s, 0, 4);
	const struct bpg_model *m = s.o.m;
	int v = 0;
	while (m->node[v].hop.kind != BPG_HOP_UNARY)
		v++;
	const struct bpg_model_node *z = &m->node[m->node[v].src[0]];
	int64_t e = 0;
	while (!(bpg_field(z, BPG_LOWER)[e] < 0 && bpg_field(z, BPG_UPPER)[e] > 0))
		e++;
	double u = bpg_field(z, BPG_UPPER)[e];
	struct bpg_split a[] = { { v, e, u / 2, 1 }, { v, e, u / 4, -1 } }, b[] = { { v, e, 2 * u, 1 } }, c[] = { { v, e, u / 2, 1 }, { v, e, u / 2, -1 } };
	in[0] = (struct bpg_domain_in){ .splits = 2, .split = a, .rows = 3, .row = s.rows };
	in[1] = (struct bpg_domain_in){ .splits = 1, .split = b, .rows = 3, .row = s.rows };
	in[2] = (struct bpg_domain_in){ .splits = 2, .split = c, .rows = 3, .row = s.rows };
	struct bpg_batch *batch = bound(&s, in, 3, &usual, out);
	ck_assert(out[0].empty && out[0].lower[0] == INFINITY && out[1].empty && !out[2].empty && out[2].lower[0] < INFINITY);
	bpg_batch_free(batch);
	fini(&s);
}
END_TEST

/* ---- rounding ---- */

enum term { NOTHING, ROUNDED, TOLL };
static enum term without;

/* The linker puts this in place of the task: it leaves a term out of the prices of splits. */
bpg_task_fn __real_bpg_task_beta_start, __wrap_bpg_task_beta_start;
void __wrap_bpg_task_beta_start(struct bpg_rt *run, void *const *buffer, const void *arg)
{
	const struct bpg_arg_beta *a = arg;
	struct bpg_beta *list = a->splits ? buffer[5] : NULL;

	__real_bpg_task_beta_start(run, buffer, arg);
	for (int64_t i = 0; without && i < a->splits; i++) {
		list[i].radius = without == ROUNDED ? 0 : list[i].radius;
		list[i].toll = 0; /* of layers whose slopes round it counts that, too */
	}
}

/* Outputs op(z), z = W x or x itself, and x, one input in [-1, 3], whose reference is 1. The row is `coef` times the sum of the
 * first less `less` x; every z is split at 0. */
static double rounded(const char *op, int64_t n, const float *W, float coef, float less, int side, float beta)
{
	struct scene s = { .seed = 1 };
	struct bpg_domain_options o = { 0, 0, 0, 1, false, NULL };
	struct bpg_domain_out out;
	struct bpg_split *split = calloc((size_t)n, sizeof *split);
	static const float none[256];

	build_start(&s.b, 1);
	int x = build_vector(&s.b, W ? 1 : n), y = build_unary(&s.b, op, W ? build_dense(&s.b, x, n, W, none) : x);
	build_output(&s.b, y);
	build_output(&s.b, x);
	ask(&s, false, 3);
	for (int64_t j = 0; j < s.net->out_count; j++)
		s.coef[j] = j < n ? coef : -less;
	s.row[0].offset = 0;
	int v = 0;
	while (s.o.m->node[v].hop.kind != BPG_HOP_UNARY)
		v++;
	for (int64_t i = 0; i < n; i++)
		split[i] = (struct bpg_split){ v, i, 0, side };
	struct bpg_domain_in in = { .splits = (int)n, .split = split, .rows = 1, .row = s.rows };
	struct bpg_batch *b = bound(&s, &in, 1, &o, &out);
	size_t all = out.params_bytes / sizeof(float);
	float *params = calloc(all, sizeof *params);
	const float *const rows[] = { params };
	bpg_batch_free(b);
	for (int64_t i = 0; i < n; i++)
		params[all - (size_t)n + (size_t)i] = beta;
	in.params = rows, in.held = (int)n;
	b = bound(&s, &in, 1, &o, &out);
	double lower = out.lower[0];
	bpg_batch_free(b);
	free(params);
	free(split);
	fini(&s);
	return lower;
}

static double split_multiplier(void)
{
	/* 1 - beta is 0.75 + 2^-26, rounded 0.75. On x >= 0 the row is x / 4: its least value is 0. */
	return rounded("Relu", 8, NULL, 1, 0.75f, 1, 0.25f - 0x1p-26f);
}

static double split_slope(void)
{
	/* 0.01 v rounds down; on x <= 0 the row is a line through 0, below it at -1. */
	float s = 0.01f, v = 1;

	while (!((double)v * (double)s - (double)(v * s) > 0x1p-33))
		v = nextafterf(v, 2);
	return rounded("LeakyRelu", 8, NULL, v, v * s, -1, 0);
}

static double split_product(void)
{
	/* 1 + 199 2^-25, summed in floats: 1. On x >= 0 the row is the rest of it times x. */
	static float W[200];

	for (int i = 0; i < 200; i++)
		W[i] = i ? 0x1p-25f : 1;
	return rounded("Relu", 200, W, 1, 1, 1, 0);
}

/* Each term of the rounding of splits is needed: without it the bound lies above the least value, which is 0 or less. */
START_TEST(test_rounding)
{
	static const struct {
		const char *name;
		double (*run)(void);
		enum term term;
	} scenes[] = { { "multiplier", split_multiplier, ROUNDED }, { "slope", split_slope, ROUNDED }, { "products before it", split_product, TOLL } };

	double with = scenes[_i].run(), missing;
	without = scenes[_i].term;
	missing = scenes[_i].run();
	without = NOTHING;
	REQUIRE(with <= 0 && with > -1e-3, "%s: %.17g is proved, 0 is reached", scenes[_i].name, with);
	REQUIRE(missing > 0, "%s: right without the term, too: %.17g", scenes[_i].name, missing);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("domains");
	TCase *t = tcase_create("domains");
	int n = (int)BPG_LEN(kinds);

	tcase_set_timeout(t, 300);
	tcase_add_unchecked_fixture(t, start, stop);
	tcase_add_test(t, test_exact);
	tcase_add_loop_test(t, test_points, 0, n);
	tcase_add_loop_test(t, test_bits, 0, n);
	tcase_add_loop_test(t, test_handing_on, 0, n);
	tcase_add_loop_test(t, test_gradient, 0, n);
	tcase_add_test(t, test_empty);
	tcase_add_loop_test(t, test_rounding, 0, 3);
	suite_add_tcase(s, t);
	SRunner *r = srunner_create(s);
	srunner_set_fork_status(r, CK_NOFORK);
	srunner_run_all(r, CK_NORMAL);
	int failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
