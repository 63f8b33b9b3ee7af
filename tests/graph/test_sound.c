/* Random small networks: whatever is reached at points of the region lies inside the bounds, of every node and of every
 * row, by every method in both precisions. BPG_SEED=<seed> repeats one network. */
#include <check.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "builder.h"
#include "outcome.h"
#include "require.h"

enum { NETS = 12, GROUPS = 6, POINTS = 24, CLIMBS = 6, STEPS = 8, ROWS = 5 };

/* ---- networks ---- */

static int pick(struct build *b, int rank)
{
	int at[BUILD_TENSORS], n = 0;

	for (int i = 0; i < b->tensors; i++)
		if (b->t[i].rank == rank)
			at[n++] = i;
	/* Mostly the latest, so that networks are deep; the others make joins. */
	return n == 0 ? -1 : build_below(b, 4) ? at[n - 1] : at[build_below(b, n)];
}

/* Another tensor of the same shape; x itself when there is none. */
static int partner(struct build *b, int x)
{
	int at[BUILD_TENSORS], n = 0;

	for (int i = 0; i < b->tensors; i++)
		if (b->t[i].rank == b->t[x].rank && !memcmp(b->t[i].dim, b->t[x].dim, (size_t)b->t[x].rank * sizeof b->t[x].dim[0]))
			at[n++] = i;
	return at[build_below(b, n)];
}

static bool draw_window(struct build *b, int x, bool dilate, struct build_window *w)
{
	for (int a = 0; a < 2; a++) {
		w->kernel[a] = 1 + build_below(b, 3);
		w->stride[a] = 1 + build_below(b, 3);
		w->dilation[a] = dilate ? 1 + build_below(b, 2) : 1;
		w->pad[a] = build_below(b, (int)w->kernel[a]);
		w->pad[2 + a] = build_below(b, (int)w->kernel[a]);
		if (build_out_size(w, b->t[x].dim[2 + a], a) < 1)
			return false;
	}
	return true;
}

/* Places that pads take away may be too many. */
static void transposed(struct build *b, int x, int64_t outs, int64_t groups, const struct build_window *w)
{
	int64_t extra[2] = { build_below(b, (int)w->stride[0]), build_below(b, (int)w->stride[1]) };

	for (int a = 0; a < 2; a++)
		if (w->stride[a] * (b->t[x].dim[2 + a] - 1) + extra[a] + w->kernel[a] - w->pad[a] - w->pad[2 + a] < 1)
			return;
	build_conv_transpose(b, x, outs, groups, w, extra);
}

/* The same elements as an image of other channels, rows and columns, each channel scaled: a convolution that is elementwise. */
static void regrouped(struct build *b, int x)
{
	const int64_t *d = b->t[x].dim + 1, shape[4][3] = { { d[1], d[0], d[2] }, { d[0], d[2], d[1] }, { d[0] * d[1], 1, d[2] }, { 1, d[0] * d[1], d[2] } };
	struct build_window one = { { 1, 1 }, { 1, 1 }, { 0 }, { 1, 1 } };

	x = build_image(b, x, shape[build_below(b, 4)]);
	build_conv(b, x, b->t[x].dim[1], b->t[x].dim[1], &one, NULL, NULL);
}

/* Such a one between convolutions of two images of different shape. */
static void two_grids(struct build *b)
{
	struct build_window w = { { 3, 3 }, { 1, 1 }, { 1, 1, 1, 1 }, { 1, 1 } };
	int x = build_conv(b, pick(b, 4), 1, 1, &w, NULL, NULL);

	regrouped(b, x);
	x = build_unary(b, "Relu", build_conv(b, pick(b, 4), 1 + build_below(b, 3), 1, &w, NULL, NULL));
	if (build_below(b, 2))
		build_conv(b, x, 1 + build_below(b, 2), 1, &w, NULL, NULL);
}

static void image_step(struct build *b)
{
	static const char *const unary[] = { "Relu", "Relu", "Relu", "LeakyRelu", "Sigmoid", "Tanh", "Neg" };
	int x = pick(b, 4), parts[2];
	struct build_window w;
	int64_t channels, groups;

	if (x < 0)
		return;
	channels = b->t[x].dim[1];
	switch (build_below(b, 13)) {
	case 0: case 1: case 2:
		groups = channels % 2 == 0 && build_below(b, 2) ? 2 : 1;
		if (draw_window(b, x, true, &w))
			build_conv(b, x, groups * (1 + build_below(b, 3)), groups, &w, NULL, NULL);
		return;
	case 3: case 4: case 5:
		build_unary(b, unary[build_below(b, (int)BPG_LEN(unary))], x);
		return;
	case 6:
		if (draw_window(b, x, false, &w))
			build_pool(b, build_below(b, 2) ? "MaxPool" : "AveragePool", x, &w, build_below(b, 2));
		return;
	case 7:
		build_join(b, build_below(b, 2) ? "Add" : "Sub", x, partner(b, x));
		return;
	case 8:
		if (channels > 1) {
			build_split(b, x, 1, 1 + build_below(b, (int)channels - 1), parts);
			if (build_below(b, 2))
				build_concat(b, parts[1], parts[0], 1);
		}
		return;
	case 9:
		if (b->t[x].dim[3] > 1)
			build_slice(b, x, 3, b->t[x].dim[3] - 1, -b->t[x].dim[3] - 1, -1);
		return;
	case 10:
		groups = channels % 2 == 0 && build_below(b, 2) ? 2 : 1;
		if (draw_window(b, x, false, &w) && b->t[x].dim[2] * b->t[x].dim[3] <= 36)
			transposed(b, x, groups * (1 + build_below(b, 2)), groups, &w);
		return;
	case 11:
		regrouped(b, x);
		return;
	default:
		build_concat(b, x, partner(b, x), 1);
	}
}

static void vector_step(struct build *b)
{
	static const char *const unary[] = { "Relu", "Relu", "Relu", "LeakyRelu", "Sigmoid", "Tanh", "Softmax" };
	static const char *const join[] = { "Add", "Sub", "Mul", "Max", "Min" };
	int x = pick(b, 2), parts[2];
	int64_t n;

	if (x < 0)
		return;
	n = b->t[x].dim[1];
	switch (build_below(b, 10)) {
	case 0: case 1: case 2:
		build_dense(b, x, 1 + build_below(b, 8), NULL, NULL);
		return;
	case 3: case 4: case 5:
		build_unary(b, unary[build_below(b, (int)BPG_LEN(unary))], x);
		return;
	case 6:
		build_join(b, join[build_below(b, (int)BPG_LEN(join))], x, partner(b, x));
		return;
	case 7:
		build_scale(b, build_below(b, 2) ? "Mul" : "Add", x, build_below(b, 2) ? 1 : n, NULL);
		return;
	case 8:
		if (n > 1) {
			build_split(b, x, 1, 1 + build_below(b, (int)n - 1), parts);
			if (build_below(b, 2))
				build_slice(b, x, 1, build_below(b, (int)n), n, 1 + build_below(b, 2));
		}
		return;
	default:
		if (n < 12)
			build_concat(b, x, partner(b, x), 1);
	}
}

static struct bpg_net *draw_net(struct bpg_ctx *ctx, uint64_t seed)
{
	struct build b;
	struct bpg_net *net;
	bool image;

	build_start(&b, seed);
	image = build_below(&b, 2);
	bool decoder = image && build_below(&b, 3) == 0; /* an image made of a vector by a matrix */
	if (decoder) {
		int64_t dim[3] = { 1 + build_below(&b, 2), 2 + build_below(&b, 3), 2 + build_below(&b, 3) };
		int x = build_dense(&b, build_vector(&b, 1 + build_below(&b, 4)), dim[0] * dim[1] * dim[2], NULL, NULL);
		build_image(&b, build_below(&b, 2) ? build_unary(&b, "Relu", x) : x, dim);
	}
	for (int inputs = decoder ? 0 : 1 + build_below(&b, 2); inputs > 0; inputs--)
		if (image)
			build_input(&b, 4, (int64_t[]){ 1, 1 + build_below(&b, 2), 2 + build_below(&b, 3), 2 + build_below(&b, 3) });
		else
			build_vector(&b, 1 + build_below(&b, 5));
	if (image && !decoder && build_below(&b, 3) == 0)
		two_grids(&b);
	for (int steps = 3 + build_below(&b, 8); steps > 0; steps--)
		if (image)
			image_step(&b);
		else
			vector_step(&b);
	if (image) {
		int x = build_flatten(&b, pick(&b, 4));
		build_dense(&b, x, 1 + build_below(&b, 5), NULL, NULL);
		for (int steps = build_below(&b, 4); steps > 0; steps--)
			vector_step(&b);
	}
	int outs = 0;
	for (int i = b.tensors - 1; i >= 0; i--)
		if (!b.t[i].read || i == b.tensors - 1) { /* what nobody reads is an output */
			build_output(&b, i);
			outs++;
		}
	if (outs == 1 && build_below(&b, 2))
		build_output(&b, build_below(&b, b.tensors));
	enum bpg_status st = build_net(&b, ctx, &net);
	REQUIRE(!st, "seed %llu: %s", (unsigned long long)seed, bpg_ctx_message(ctx));
	return net;
}

/* ---- regions and points ---- */

struct trial {
	uint64_t seed;
	struct bpg_ctx *ctx;
	struct bpg_rt *rt;
	struct bpg_rng rng;
	const struct bpg_net *net;
	const char *kind;
	struct bpg_region region;
	struct bpg_question_row row[ROWS];
	int points;
	double **value;           /* [points * nodes] values of every node at every point */
	struct bpg_arena *arena;
};

static double uniform(struct trial *t, double lo, double up) { return lo + (up - lo) * bpg_rng_uniform(&t->rng); }

static void *get(struct trial *t, int64_t n, size_t size)
{
	void *p = bpg_arena_alloc(t->arena, (size_t)n + 1, size);
	ck_assert_ptr_nonnull(p);
	return p;
}

static const char *const kinds[] = { "box", "tiny box", "point", "L2 ball", "L1 ball", "half-infinite box" };

static void draw_region(struct trial *t, int kind)
{
	int64_t n = t->net->in_count;
	struct bpg_region *g = &t->region;

	t->kind = kinds[kind];
	*g = (struct bpg_region){ .norm = BPG_NORM_INF, .n = n, .lo = get(t, n, sizeof(double)), .up = get(t, n, sizeof(double)) };
	if (kind == 3 || kind == 4) {
		g->ball = true;
		g->norm = kind == 3 ? BPG_NORM_2 : BPG_NORM_1;
		g->radius = uniform(t, 0.01, 1);
		g->center = get(t, n, sizeof(double));
	}
	for (int64_t i = 0; i < n; i++) {
		double c = uniform(t, -1, 1), r = kind == 1 ? 1e-6 : kind == 2 ? 0 : uniform(t, 0, 1);
		if (bpg_rng_below(&t->rng, 4) == 0)
			r = 0;            /* a constant in x */
		if (g->ball) {
			g->center[i] = c;
			r = g->radius;
		}
		g->lo[i] = c - r, g->up[i] = c + r;
		if (g->ball && bpg_rng_below(&t->rng, 4) == 0)
			g->up[i] = c + r / 2; /* cut */
		if (kind == 5 && bpg_rng_below(&t->rng, 3) == 0)
			g->up[i] = INFINITY;
	}
}

/* Into the region, by moving toward its centre. */
static void pull(const struct bpg_region *g, double *x)
{
	for (int64_t i = 0; i < g->n; i++)
		x[i] = fmin(fmax(x[i], g->lo[i]), g->up[i]);
	if (!g->ball)
		return;
	double far = 0;
	for (int64_t i = 0; i < g->n; i++)
		far += g->norm == BPG_NORM_2 ? (x[i] - g->center[i]) * (x[i] - g->center[i]) : fabs(x[i] - g->center[i]);
	far = g->norm == BPG_NORM_2 ? sqrt(far) : far;
	if (far > g->radius * (1 - 1e-12))
		for (int64_t i = 0; i < g->n; i++)
			x[i] = g->center[i] + (x[i] - g->center[i]) * (g->radius * (1 - 1e-12) / far);
}

static void draw_point(struct trial *t, double *x)
{
	const struct bpg_region *g = &t->region;
	int how = (int)bpg_rng_below(&t->rng, 3);

	for (int64_t i = 0; i < g->n; i++) {
		double up = isinf(g->up[i]) ? g->lo[i] + uniform(t, 0, 1000) : g->up[i];
		x[i] = how == 0 ? uniform(t, g->lo[i], up) : bpg_rng_below(&t->rng, 2) ? g->lo[i] : up;
		if (g->ball && how == 2 && i != (int64_t)bpg_rng_below(&t->rng, g->n))
			x[i] = g->center[i];
	}
	pull(g, x);
}

static void keep(struct trial *t, const double *x)
{
	double **value = t->value + (int64_t)t->points * t->net->nodes;

	REQUIRE(!bpg_net_eval(t->ctx, t->net, x, t->arena, value), "%s", bpg_ctx_message(t->ctx));
	t->points++;
}

/* Toward the least (sign 1) or greatest (-1) value of a row: to where the gradient points, as far as the region goes. */
static void climb(struct trial *t, const struct bpg_question_row *row, double sign)
{
	const struct bpg_region *g = &t->region;
	double *x = get(t, g->n, sizeof *x), *gx = get(t, g->n, sizeof *gx), *gy = get(t, t->net->out_count, sizeof *gy);

	for (int i = 0; i < row->n; i++)
		gy[row->index[i]] += sign * row->coef[i];
	draw_point(t, x);
	for (int s = 0; s < STEPS; s++) {
		keep(t, x);
		memset(gx, 0, (size_t)g->n * sizeof *gx);
		REQUIRE(!bpg_net_gradient(t->ctx, t->net, t->value + (int64_t)(t->points - 1) * t->net->nodes, gy, gx), "%s",
		        bpg_ctx_message(t->ctx));
		double two = 0, most = 0;
		for (int64_t i = 0; i < g->n; i++)
			two += gx[i] * gx[i], most = fmax(most, fabs(gx[i]));
		for (int64_t i = 0; i < g->n; i++) {
			if (g->ball && g->norm == BPG_NORM_2)
				x[i] = g->center[i] - (two > 0 ? gx[i] / sqrt(two) * g->radius : 0);
			else if (g->ball)
				x[i] = g->center[i] - (fabs(gx[i]) == most && most > 0 ? copysign(g->radius, gx[i]) : 0);
			else if (gx[i] != 0)
				x[i] = gx[i] > 0 ? g->lo[i] : fmin(g->up[i], g->lo[i] + 1000);
		}
		pull(g, x);
	}
}

/* Rows over the outputs: unit rows, sums, offsets. */
static void draw_rows(struct trial *t)
{
	int64_t outs = t->net->out_count;

	for (int r = 0; r < ROWS; r++) {
		int64_t *index = get(t, outs, sizeof *index);
		double *coef = get(t, outs, sizeof *coef);
		int n = 0;
		for (int64_t j = 0; j < outs; j++)
			if (r == 0 ? j == (int64_t)bpg_rng_below(&t->rng, outs) || (n == 0 && j == outs - 1) : bpg_rng_below(&t->rng, 2) == 0) {
				index[n] = j;
				coef[n++] = r == 0 ? 1 : uniform(t, -2, 2);
			}
		t->row[r] = (struct bpg_question_row){ .n = n, .index = index, .coef = coef, .offset = r % 2 ? uniform(t, -3, 3) : 0 };
	}
}

/* ---- the property ---- */

#define WHERE "seed %llu, %s, %s, %s: "
#define ARGS(t, o) (unsigned long long)(t)->seed, (t)->kind, method_name[(o)->method], (o)->wide ? "float64" : "float32"
static const char *const method_name[] = { [BPG_METHOD_IBP] = "ibp", [BPG_METHOD_CROWN_IBP] = "crown-ibp",
        [BPG_METHOD_CROWN] = "crown" };

/* Rounding of the values in double that they are compared with. */
static double doubt(const double *v, int64_t n)
{
	double most = 0;

	for (int64_t i = 0; i < n; i++)
		most = fmax(most, fabs(v[i]));
	return 1e-13 * (1 + most);
}

static void check_nodes(const struct trial *t, const struct outcome *o, const struct bpg_bound_options *b)
{
	for (int v = 0; v < o->m->nodes; v++)
		for (int p = 0; p < t->points; p++) {
			const struct bpg_model_node *node = &o->m->node[v];
			const double *x = t->value[(int64_t)p * t->net->nodes + v], *l = bpg_field(node, BPG_LOWER), *u = bpg_field(node, BPG_UPPER);
			double rounding = doubt(x, node->columns.n);
			for (int64_t i = 0; i < node->columns.n; i++)
				REQUIRE(l[i] <= x[i] + rounding && u[i] >= x[i] - rounding,
				        WHERE "node '%s' (%s), element %lld reaches %.17g outside [%.17g, %.17g]", ARGS(t, b),
				              node->net->tensor, node->hop.v->op ? node->hop.v->op : "input", (long long)i, x[i], l[i], u[i]);
		}
}

static double row_value(const struct trial *t, const struct bpg_question_row *row, int point)
{
	double y = row->offset;

	for (int i = 0; i < row->n; i++) {
		int o = t->net->outputs - 1;
		while (o > 0 && t->net->out_first[o] > row->index[i])
			o--;
		y += row->coef[i] * t->value[(int64_t)point * t->net->nodes + t->net->output[o]][row->index[i] - t->net->out_first[o]];
	}
	return y;
}

/* Largest value anywhere, which rounding is proportional to. */
static double size_of(const struct trial *t)
{
	double most = 1;

	for (int v = 0; v < t->net->nodes; v++)
		for (int64_t i = 0; i < t->net->node[v].v.out.n; i++)
			most = fmax(most, fabs(t->value[v][i]));
	return most;
}

static void check_rows(const struct trial *t, const struct outcome *o, const struct bpg_bound_options *b)
{
	for (int r = 0; r < ROWS; r++) {
		double least = INFINITY, most = -INFINITY;
		for (int p = 0; p < t->points; p++) {
			double y = row_value(t, &t->row[r], p);
			least = fmin(least, y), most = fmax(most, y);
		}
		double rounding = 1e-13 * (1 + fabs(least) + fabs(most));
		if (b->sides & 1)
			REQUIRE(o->lower[r] <= least + rounding, WHERE "row %d reaches %.17g under %.17g", ARGS(t, b), r, least, o->lower[r]);
		else
			ck_assert(o->lower[r] == -INFINITY);
		if (b->sides & 2)
			REQUIRE(o->upper[r] >= most - rounding, WHERE "row %d reaches %.17g over %.17g", ARGS(t, b), r, most, o->upper[r]);
		else
			ck_assert(o->upper[r] == INFINITY);
		/* At a point nothing is relaxed: the width is rounding. */
		if (!strcmp(t->kind, "point") && b->sides == 3)
			REQUIRE(o->upper[r] - o->lower[r] <= (b->wide ? 1e-11 : 1e-4) * size_of(t), WHERE "row %d at a point has the width %.3g",
			        ARGS(t, b), r,
			              o->upper[r] - o->lower[r]);
	}
}

static void try_region(struct trial *t, int kind)
{
	double *x;

	draw_region(t, kind);
	draw_rows(t);
	t->points = 0;
	t->value = get(t, (int64_t)(POINTS + CLIMBS * STEPS) * t->net->nodes, sizeof *t->value);
	x = get(t, t->net->in_count, sizeof *x);
	for (int p = 0; p < POINTS; p++) {
		draw_point(t, x);
		keep(t, x);
	}
	for (int c = 0; c < CLIMBS && kind != 2; c++)
		climb(t, &t->row[c % ROWS], c % 2 ? 1 : -1);
	for (int method = BPG_METHOD_IBP; method <= BPG_METHOD_CROWN + 2; method++) /* the last ones: CROWN with its slopes optimised */
		for (int wide = 0; wide < 2; wide++) {
			struct bpg_bound_options b = outcome_options((enum bpg_method)BPG_MIN(method, (int)BPG_METHOD_CROWN), wide);
			b.iterations = method > BPG_METHOD_CROWN ? 3 : 0;
			b.objective = method > BPG_METHOD_CROWN + 1 ? BPG_OBJECTIVE_JOINT : BPG_OBJECTIVE_LOCAL;
			b.patience = 1;
			b.sharing = bpg_rng_below(&t->rng, 3) == 0;
			struct outcome o;
			int sides = (int)bpg_rng_below(&t->rng, 6);
			b.sides = sides == 1 || sides == 2 ? sides : 3;
			b.slope = (enum bpg_slope_rule)bpg_rng_below(&t->rng, 4);
			b.tile = bpg_rng_below(&t->rng, 3) ? 0 : 16;
			enum bpg_status st = outcome_run(&o, t->ctx, t->rt, t->net, &t->region, &b, t->row, ROWS);
			REQUIRE(!st, WHERE "%s", ARGS(t, &b), bpg_ctx_message(t->ctx));
			check_nodes(t, &o, &b);
			check_rows(t, &o, &b);
			outcome_fini(&o);
		}
}

static void try_regions(struct bpg_ctx *ctx, struct bpg_rt *rt, uint64_t seed, const struct bpg_net *net)
{
	for (int kind = 0; kind < (int)BPG_LEN(kinds); kind++) {
		struct trial t = { .seed = seed, .ctx = ctx, .rt = rt, .net = net, .arena = bpg_arena_new() };
		bpg_rng_seed(&t.rng, seed * 31 + (uint64_t)kind);
		try_region(&t, kind);
		bpg_arena_free(t.arena);
	}
}

static void try_net(struct bpg_ctx *ctx, struct bpg_rt *rt, uint64_t seed)
{
	struct bpg_net *net = draw_net(ctx, seed);

	try_regions(ctx, rt, seed, net);
	bpg_net_free(net);
}

/* Two networks that share some inputs, one twice with the same inputs, and one twice that shares some; inputs may be outputs, too. */
static void try_joined(struct bpg_ctx *ctx, struct bpg_rt *rt, uint64_t seed)
{
	struct bpg_rng rng;
	struct bpg_net *a = draw_net(ctx, seed), *b = draw_net(ctx, seed + 500), *both;

	bpg_rng_seed(&rng, seed);
	for (int k = 0; k < 3; k++) {
		const struct bpg_net_part part[] = { { a, "a" }, { k ? a : b, "b" } };
		int64_t n = a->in_count + part[1].net->in_count, *same = bpg_calloc((size_t)n, sizeof *same);
		ck_assert_ptr_nonnull(same);
		for (int64_t i = 0; i < n; i++) {
			int64_t twin = bpg_rng_below(&rng, i + 1);
			if (k == 1)
				same[i] = i % a->in_count;
			else
				same[i] = twin < i && bpg_rng_below(&rng, 2) ? same[twin] : i;
		}
		enum bpg_status st = bpg_net_join(ctx, 2, part, same, bpg_rng_below(&rng, 2), &both);
		REQUIRE(!st, "seed %llu: %s", (unsigned long long)seed, bpg_ctx_message(ctx));
		try_regions(ctx, rt, seed, both);
		bpg_net_free(both);
		free(same);
	}
	bpg_net_free(b);
	bpg_net_free(a);
}

static void start(struct bpg_ctx **ctx, struct bpg_rt **rt)
{
	struct bpg_rt_options two = { .workers = 2, .owners = 1 };

	*ctx = bpg_ctx_new();
	REQUIRE(!bpg_rt_start(*ctx, &two, rt), "%s", bpg_ctx_message(*ctx));
}

START_TEST(test_random)
{
	struct bpg_ctx *ctx;
	const char *seed = getenv("BPG_SEED");
	struct bpg_rt *rt;

	start(&ctx, &rt);
	if (seed && _i == 0)
		try_net(ctx, rt, strtoull(seed, NULL, 10));
	for (int n = 0; n < NETS && !seed; n++)
		try_net(ctx, rt, 1000 + (uint64_t)(_i * NETS + n));
	bpg_rt_stop(rt);
	bpg_ctx_free(ctx);
}
END_TEST

/* The same for networks that stand side by side. */
START_TEST(test_joined)
{
	struct bpg_ctx *ctx;
	const char *seed = getenv("BPG_SEED");
	struct bpg_rt *rt;

	start(&ctx, &rt);
	if (seed && _i == 0)
		try_joined(ctx, rt, strtoull(seed, NULL, 10));
	for (int n = 0; n < NETS / 3 && !seed; n++)
		try_joined(ctx, rt, 1000 + (uint64_t)(_i * NETS + n));
	bpg_rt_stop(rt);
	bpg_ctx_free(ctx);
}
END_TEST

/* ---- what random networks have found ---- */

/* A pre-activation that is an output too: its rows need the columns that its ReLU does not. */
START_TEST(test_output_before_relu)
{
	static const float W[] = { 1, -1 }, zero[] = { 0, 0 }, one[] = { 1, 1 };
	struct bpg_region box = { .n = 1, .lo = (double[]){ 1 }, .up = (double[]){ 2 } };
	struct bpg_ctx *ctx;
	struct bpg_rt *rt;
	struct bpg_net *net;
	struct build b;

	start(&ctx, &rt);
	build_start(&b, 1);
	int z = build_dense(&b, build_vector(&b, 1), 2, W, zero), y = build_dense(&b, build_unary(&b, "Relu", z), 1, one, zero);
	build_output(&b, z);
	build_output(&b, y);
	REQUIRE(!build_net(&b, ctx, &net), "%s", bpg_ctx_message(ctx));
	for (int method = BPG_METHOD_IBP; method <= BPG_METHOD_CROWN; method++) {
		struct bpg_bound_options o = outcome_options((enum bpg_method)method, true);
		struct bpg_question_row row = { .n = 3, .index = (int64_t[]){ 0, 1, 2 }, .coef = (double[]){ 1, 1, 1 } }; /* x - x + x */
		struct outcome out;
		REQUIRE(!outcome_run(&out, ctx, rt, net, &box, &o, &row, 1), "%s", bpg_ctx_message(ctx));
		REQUIRE(out.lower[0] <= 1 && out.upper[0] >= 2, "%s: [%.17g, %.17g]", method_name[method], out.lower[0], out.upper[0]);
		outcome_fini(&out);
	}
	bpg_net_free(net);
	bpg_rt_stop(rt);
	bpg_ctx_free(ctx);
}
END_TEST

/* A ReLU whose interval ends at its kink is one line: no slope is chosen for it, beside one that has a choice. */
START_TEST(test_alpha_at_kink)
{
	static const float W[] = { 1, -1, 1, 1 }, bias[] = { 0, 0, -0.5f, -0.25f }, V[] = { 1, -2, -1, 1.5f }, zero[] = { 0 };
	struct bpg_region box = { .n = 1, .lo = (double[]){ 0 }, .up = (double[]){ 1 } };
	struct bpg_ctx *ctx;
	struct bpg_rt *rt;
	struct bpg_net *net;
	struct build b;

	start(&ctx, &rt);
	build_start(&b, 1);
	int z = build_dense(&b, build_vector(&b, 1), 4, W, bias);
	int y = build_dense(&b, build_unary(&b, "Relu", z), 1, V, zero);
	build_output(&b, build_dense(&b, build_unary(&b, "Relu", y), 1, (float[]){ _i ? -1 : 1 }, zero));
	REQUIRE(!build_net(&b, ctx, &net), "%s", bpg_ctx_message(ctx));
	for (int slope = BPG_SLOPE_ADAPTIVE; slope <= BPG_SLOPE_SAME; slope++) {
		struct bpg_bound_options o = outcome_options(BPG_METHOD_CROWN, false);
		struct outcome out;

		o.iterations = 20;
		o.slope = (enum bpg_slope_rule)slope;
		REQUIRE(!outcome_run(&out, ctx, rt, net, &box, &o, NULL, 0), "%s", bpg_ctx_message(ctx));
		for (int k = 0; k <= 64; k++) {
			double x = k / 64.0, v = fmax(x, 0) - fmax(x - 0.5, 0) + 1.5 * fmax(x - 0.25, 0), f = (_i ? -1 : 1) * fmax(v, 0);
			REQUIRE(out.lower[0] <= f && f <= out.upper[0], "slope rule %d: %.17g at %.17g, bounds [%.17g, %.17g]", slope, f, x, out.lower[0], out.upper[0]);
		}
		outcome_fini(&out);
	}
	bpg_net_free(net);
	bpg_rt_stop(rt);
	bpg_ctx_free(ctx);
}
END_TEST

/* Nothing but linear layers over a ball: the walk of interval rows ends at the input, too. */
START_TEST(test_linear_on_ball)
{
	static const float W[] = { 3, 4 }, zero[] = { 0 };
	struct bpg_region ball = { .norm = _i ? BPG_NORM_2 : BPG_NORM_1, .ball = true, .n = 2, .lo = (double[]){ -1, -1 },
	        .up = (double[]){ 1, 1 },
		                   .center = (double[]){ 0, 0 }, .radius = 1 };
	double most = _i ? 5 : 4;
	struct bpg_ctx *ctx;
	struct bpg_rt *rt;
	struct bpg_net *net;
	struct build b;

	start(&ctx, &rt);
	build_start(&b, 1);
	build_output(&b, build_dense(&b, build_vector(&b, 2), 1, W, zero));
	REQUIRE(!build_net(&b, ctx, &net), "%s", bpg_ctx_message(ctx));
	for (int method = BPG_METHOD_IBP; method <= BPG_METHOD_CROWN; method++) {
		struct bpg_bound_options o = outcome_options((enum bpg_method)method, true);
		struct outcome out;
		REQUIRE(!outcome_run(&out, ctx, rt, net, &ball, &o, NULL, 0), "%s", bpg_ctx_message(ctx));
		REQUIRE(out.lower[0] <= -most && out.upper[0] >= most, "%s: [%.17g, %.17g]", method_name[method], out.lower[0], out.upper[0]);
		REQUIRE(out.upper[0] <= most * (1 + 1e-12), "%s: %.17g is too wide", method_name[method], out.upper[0]);
		outcome_fini(&out);
	}
	bpg_net_free(net);
	bpg_rt_stop(rt);
	bpg_ctx_free(ctx);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("sound");
	TCase *t = tcase_create("random networks");

	tcase_set_timeout(t, 300);
	tcase_add_loop_test(t, test_random, 0, GROUPS);
	tcase_add_loop_test(t, test_joined, 0, GROUPS);
	tcase_add_test(t, test_output_before_relu);
	tcase_add_loop_test(t, test_alpha_at_kink, 0, 2);
	tcase_add_loop_test(t, test_linear_on_ball, 0, 2);
	suite_add_tcase(s, t);
	SRunner *r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	int failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
