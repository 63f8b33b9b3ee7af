/* test_layers.c - conformance: every layer of the registry, and the template, on random legal instances.
 *
 * Then: damaged instances are refused, quotients contain the true ones, descriptions are complete. A failure of conformance
 * prints the layer and the seed: BPG_SEED=<seed> repeats that instance alone. */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "conformance/conformance.h"
#include "conformance/trial.h"
#include "net/const.h"
#include "net/net.h"

extern const struct bpg_layer bpg_layer_template;

enum { INSTANCES = 80 };

static int layers(void) { return bpg_layer_count() + 1; }

static const struct bpg_layer *layer_at(int i) { return i < bpg_layer_count() ? bpg_layer_get(i) : &bpg_layer_template; }

/* Every layer keeps what layer.h promises (src/conformance). */
START_TEST(conformance)
{
	const struct bpg_layer *layer = layer_at(_i);
	const char *one = getenv("BPG_SEED");
	FILE *file = tmpfile();
	struct bpg_ctx *ctx = bpg_ctx_new();
	ck_assert(file && ctx);
	for (int i = 0; i < (one ? 1 : INSTANCES); i++) {
		uint64_t seed = one ? strtoull(one, NULL, 10) : bpg_conformance_seed(layer) + (uint64_t)i;
		enum bpg_status st = bpg_conformance(ctx, layer, seed, fileno(file));
		ck_assert_msg(st == BPG_OK, "%s", bpg_ctx_message(ctx));
	}
	bpg_ctx_free(ctx);
	fclose(file);
}
END_TEST

/* ---- damage ---- */

/* A CONSTANT layer has no sampler: any of its operators, with operands of small integers. */
static void draw_constant(struct bpg_trial *t)
{
	int words = 0;
	for (const char *p = t->layer->ops; *p; p++)
		words += *p == ' ';
	const char *op = t->layer->ops;
	for (int64_t skip = bpg_rng_below(&t->rng, words + 1); skip > 0; skip--)
		op = strchr(op, ' ') + 1;
	t->s = (struct bpg_sample){ .arena = t->arena, .fd = -1, .opset = 15, .output_count = 1, .lo = -3, .up = 3,
		                    .op = bpg_arena_strn(t->arena, op, strcspn(op, " ")) };
	static const char *const name[] = { "value_int", "value_ints", "start", "end" };
	for (int k = 0; k < 4; k++) {
		int64_t values[3] = { bpg_rng_below(&t->rng, 4), bpg_rng_below(&t->rng, 4), bpg_rng_below(&t->rng, 4) };
		if (k == 1)
			bpg_sample_ints(&t->s, name[k], 3, values);
		else if (bpg_rng_below(&t->rng, 2))
			bpg_sample_int(&t->s, name[k], values[0]);
		if (k < 3 && bpg_rng_below(&t->rng, 3))
			bpg_sample_integers(&t->s, (int)bpg_rng_below(&t->rng, 4) - 1, values);
	}
}

static int64_t odd_number(struct bpg_rng *rng)
{
	static const int64_t odd[] = { 0, -1, 1, 2, 3, 7, -3, 100, -100, 4096, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN,
		                       (int64_t)1 << 20, (int64_t)1 << 33, (int64_t)1 << 40, -((int64_t)1 << 62) };
	return odd[bpg_rng_below(rng, (int64_t)BPG_LEN(odd))];
}

static void damage_attribute(struct bpg_rng *rng, struct bpg_sample *s, struct bpg_import_attr *a)
{
	static const char *const name[] = { "axis", "axes", "pads", "to", "group", "ceil_mode", "auto_pad", "alpha" };
	int64_t *ints = bpg_arena_alloc(s->arena, (size_t)a->n + 4, sizeof *ints);
	switch (bpg_rng_below(rng, 5)) {
	case 0:
		a->i = odd_number(rng);
		a->f = bpg_rng_below(rng, 2) ? (double)odd_number(rng) : NAN;
		break;
	case 1:
		a->kind = (enum bpg_attr_kind)bpg_rng_below(rng, 7);
		break;
	case 2:
		a->name = name[bpg_rng_below(rng, (int64_t)BPG_LEN(name))];
		break;
	default:   /* the list: longer, shorter, another number */
		if (a->kind != BPG_ATTR_INTS)
			break;
		for (int i = 0; i < a->n; i++)
			ints[i] = a->ints[i];
		if (bpg_rng_below(rng, 3) == 0)
			a->n += (int)bpg_rng_below(rng, 3) - (a->n > 0);
		if (a->n > 0)
			ints[bpg_rng_below(rng, a->n)] = odd_number(rng);
		a->ints = ints;
	}
	if (a->kind == BPG_ATTR_INTS && !a->ints)
		a->n = 0;
	if (a->kind == BPG_ATTR_FLOATS && !a->floats)
		a->n = 0;
	if (a->kind == BPG_ATTR_TENSOR && !a->tensor)
		a->kind = BPG_ATTR_OTHER;
}

/* Shapes of variables are anything a file may say; constants keep their number of elements. */
static void damage_operand(struct bpg_rng *rng, struct bpg_sample *s, struct bpg_operand *in)
{
	if (bpg_rng_below(rng, 4) == 0) {   /* other values, or none */
		double values[8];
		for (int i = 0; i < 8; i++)
			values[i] = (double)odd_number(rng);
		in->n = bpg_rng_below(rng, 9);
		in->shape = (struct bpg_shape){ .rank = 1, .dim = { in->n } };
		in->type = bpg_rng_below(rng, 2) ? BPG_I64 : BPG_F64;
		in->value = bpg_const_from_double(s->arena, in->type, in->n, values);
		in->absent = false;
		return;
	}
	if (in->value) {
		int64_t n = in->n;
		in->shape.rank = (int)bpg_rng_below(rng, BPG_MAX_RANK + 1);
		for (int i = 0; i < in->shape.rank; i++)
			in->shape.dim[i] = 1;
		if (in->shape.rank == 0 && n != 1)
			in->shape.rank = 1;
		if (in->shape.rank > 0)
			in->shape.dim[bpg_rng_below(rng, in->shape.rank)] = n;
		return;
	}
	if (bpg_rng_below(rng, 3) == 0)
		in->shape.rank = (int)bpg_rng_below(rng, BPG_MAX_RANK + 1);
	for (int i = 0; i < in->shape.rank; i++)
		in->shape.dim[i] = bpg_rng_below(rng, 3) ? 1 + bpg_rng_below(rng, 4) : bpg_rng_below(rng, 2) ? 0 : 1 + bpg_rng_below(rng, 64);
	in->n = bpg_shape_count(&in->shape);
	in->absent = in->absent && bpg_rng_below(rng, 2);
	if (in->absent)
		in->n = 0;
}

static void works(const struct bpg_trial *t, enum bpg_status st)
{
	ck_assert_msg(st == BPG_OK, "%s", bpg_ctx_message(t->ctx));
}

static void run_damaged(struct bpg_trial *t)
{
	int64_t total = t->v.out.n;
	for (int k = 0; k < t->v.nin; k++)
		total += t->v.in[k].n;
	if (total > 20000)
		return;
	t->n = t->v.out.n;
	bpg_trial_box(t);
	t->lo = bpg_trial_alloc(t, t->n, sizeof *t->lo);
	t->up = bpg_trial_alloc(t, t->n, sizeof *t->up);
	double *y = bpg_trial_alloc(t, t->n, sizeof *y);
	if (t->layer->family == BPG_CONSTANT) {
		ck_assert_int_le(t->layer->eval(&t->v, (const double *const *)t->x, y), BPG_ECANCELLED);
		return;
	}
	bool folded = true;   /* nothing variable: the builder asks for the value alone */
	for (int k = 0; k < t->v.nin; k++)
		folded = folded && !bpg_trial_variable(t, k);
	if (!folded)
		works(t, bpg_trial_interval(t, t->l, t->u, 0, t->n, t->lo, t->up));
	works(t, bpg_trial_eval(t, t->x, y));
}

/* A damaged node is refused with a message, or works: no crash, no absurd size. (Sanitizers see the rest.) */
START_TEST(damage)
{
	const struct bpg_layer *layer = layer_at(_i);
	uint64_t seed = bpg_hash_str(BPG_HASH_START, layer->name) >> 16;
	for (int i = 0; i < 400; i++) {
		struct bpg_trial t = { .layer = layer, .seed = seed + (uint64_t)i, .ctx = bpg_ctx_new(), .arena = bpg_arena_new() };
		bpg_rng_seed(&t.rng, t.seed * 5 + 2);
		if (layer->family == BPG_CONSTANT)
			draw_constant(&t);
		else
			bpg_sample_node(t.ctx, t.arena, layer, t.seed, -1, &t.s, &t.v);
		for (int64_t k = bpg_rng_below(&t.rng, 3); k >= 0; k--) {
			if (t.s.attrs && bpg_rng_below(&t.rng, 2))
				damage_attribute(&t.rng, &t.s, &t.s.attr[bpg_rng_below(&t.rng, t.s.attrs)]);
			else if (t.s.nin && bpg_rng_below(&t.rng, 5))
				damage_operand(&t.rng, &t.s, &t.s.in[bpg_rng_below(&t.rng, t.s.nin)]);
			else
				t.s.nin += t.s.nin ? (int)bpg_rng_below(&t.rng, 2) * 2 - 1 : 1;
		}
		enum bpg_status st = bpg_sample_import(t.ctx, &t.s, &t.v, layer);
		if (st == BPG_OK) {
			run_damaged(&t);
		} else {
			ck_assert_msg(*bpg_ctx_message(t.ctx), "layer %s, seed %llu: refused with %d without a message", layer->name,
			              (unsigned long long)t.seed, st);
		}
		bpg_arena_free(t.arena);
		bpg_ctx_free(t.ctx);
	}
}
END_TEST

/* ---- coefficients that are rounded ---- */

/* Interval of element 0 of a node at a point x of its operand 0. */
static void at_point(struct bpg_trial *t, const double *x, double *lo, double *up)
{
	const struct bpg_layer *layer = bpg_layer_find("", t->s.op);
	ck_assert_ptr_nonnull(layer);
	ck_assert_msg(bpg_sample_import(t->ctx, &t->s, &t->v, layer) == BPG_OK, "%s", bpg_ctx_message(t->ctx));
	const double *l[8] = { x };
	ck_assert_int_eq(bpg_node_interval(&t->v, l, l, 0, 1, lo, up), BPG_OK);
}

static double draw_float(struct bpg_rng *rng) { return (float)bpg_rng_normal(rng); }

/* 1/n, 1/c and scale/sqrt(var + eps) are no doubles: the interval of a point contains the true quotient, computed here in
 * long double from the constants of the model. */
START_TEST(quotients)
{
	static const char *const op[] = { "ReduceMean", "Div", "BatchNormalization", "AveragePool" };
	for (int i = 0; i < 4000; i++) {
		struct bpg_trial t = { .ctx = bpg_ctx_new(), .arena = bpg_arena_new() };
		t.s = (struct bpg_sample){ .arena = t.arena, .fd = -1, .opset = 13, .output_count = 1, .op = op[_i] };
		bpg_rng_seed(&t.rng, (uint64_t)i);
		double x[9] = { draw_float(&t.rng) }, c[4], lo, up;
		for (int k = 0; k < 4; k++)
			c[k] = k == 3 ? fabs(draw_float(&t.rng)) : draw_float(&t.rng);
		int64_t n = 2 + bpg_rng_below(&t.rng, 7), one[3] = { 1, 1, 1 }, line[3] = { 1, 1, n };
		long double exact;
		if (_i == 1) {
			bpg_sample_variable(&t.s, 1, one);
			bpg_sample_constant(&t.s, 1, one, c);
			exact = x[0] / (long double)c[0];
		} else if (_i == 2) {
			bpg_sample_float(&t.s, "epsilon", 1e-5f);
			bpg_sample_variable(&t.s, 2, one);
			for (int k = 0; k < 4; k++)
				bpg_sample_constant(&t.s, 1, one, &c[k]);
			exact = (long double)c[0] * ((long double)x[0] - c[2]) / sqrtl((long double)c[3] + 1e-5f) + c[1];
		} else {
			if (_i == 3)
				bpg_sample_ints(&t.s, "kernel_shape", 1, &n);
			bpg_sample_variable(&t.s, 3, line);
			exact = x[0] / (long double)n;
		}
		at_point(&t, x, &lo, &up);
		long double slack = 0x1p-62L * (fabsl(exact) + (_i == 2) * (fabs(c[1]) + fabsl(exact - c[1])));
		ck_assert_msg(exact >= lo - slack && exact <= up + slack, "%s, seed %d: %La is outside [%a, %a]", op[_i], i, exact, lo, up);
		bpg_arena_free(t.arena);
		bpg_ctx_free(t.ctx);
	}
}
END_TEST

/* Does the search for an operator come to this layer, once? */
static bool is_found(const struct bpg_layer *layer, const char *op)
{
	int times = 0;
	for (const struct bpg_layer *y = strncmp(op, "bpgraph:", 8) ? bpg_layer_find("", op) : bpg_layer_internal(op); y; y = bpg_layer_next(y, op))
		times += y == layer;
	return times == 1;
}

/* Descriptions are complete, and every layer is found by its operators. */
START_TEST(description)
{
	const struct bpg_layer *layer = layer_at(_i);
	struct bpg_ctx *ctx = bpg_ctx_new();
	ck_assert_msg(bpg_layer_check(ctx, "the tree", layer) == BPG_OK, "%s", bpg_ctx_message(ctx));
	bpg_ctx_free(ctx);
	if (_i == bpg_layer_count())
		return;
	char ops[512];
	snprintf(ops, sizeof ops, "%s", layer->ops);
	for (char *save, *op = strtok_r(ops, " ", &save); op; op = strtok_r(NULL, " ", &save))
		ck_assert_msg(is_found(layer, op), "%s does not lead to %s", op, layer->name);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("layers");
	TCase *tc = tcase_create("conformance");
	tcase_set_timeout(tc, 120);
	tcase_add_loop_test(tc, description, 0, layers());
	tcase_add_loop_test(tc, conformance, 0, layers());
	tcase_add_loop_test(tc, damage, 0, layers());
	tcase_add_loop_test(tc, quotients, 0, 4);
	suite_add_tcase(suite, tc);
	SRunner *runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
