/* Bounds against those of an independent implementation (README.md here says which and how they were made): bounds that
 * are unique numbers are equal or tighter, others no looser on average, and no value that was reached lies outside. */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../graph/outcome.h"
#include "../graph/require.h"
#include "onnx/onnx.h"

static const char *const cases[] = {
	"avgpool_net", "concat_slice_split", "conv1d", "conv_asym_group_dilated", "conv_bn", "conv_sigmoid", "conv_small", "deconv_net",
	"dense_concat_mlp", "gemm_variants", "hardtanh_relu6", "maxpool_net", "mlp_2x50_l1ball", "mlp_2x50_l2ball", "mlp_2x50_relu",
	"mlp_3x50_sigmoid", "mlp_3x50_tanh", "mlp_3x60_leaky", "mlp_4x40_untrained_wide_eps", "mlp_acas_6x50_box", "mlp_batchless",
	"mlp_residual", "mlp_scalar_out", "relu_multiuse", "resnet_2b", "resnet_4b_gap_3x16", "shape_ops", "upsample_net",
};

/* ---- a case: named lists of numbers ---- */

enum { ENTRIES = 128 };

struct entry {
	char name[64], text[64];
	int64_t n;
	double *value;
};

struct golden {
	struct entry entry[ENTRIES];
	int entries;
};

static void golden_read(struct golden *g, const char *path)
{
	FILE *f = fopen(path, "r");
	long long n;

	REQUIRE(f != NULL, "%s cannot be read", path);
	memset(g, 0, sizeof *g);
	for (struct entry *e = g->entry; fscanf(f, "%63s %lld", e->name, &n) == 2; e = &g->entry[++g->entries]) {
		ck_assert_int_lt(g->entries, ENTRIES - 1);
		e->n = n;
		e->value = calloc((size_t)n + 1, sizeof *e->value);
		for (int64_t i = 0; i < n; i++)
			ck_assert_int_eq(fscanf(f, "%lf", &e->value[i]), 1);
		if (!n)
			ck_assert_int_eq(fscanf(f, "%63s", e->text), 1);
	}
	REQUIRE(feof(f), "%s: bad number after %d entries", path, g->entries);
	fclose(f);
}

static void golden_fini(struct golden *g)
{
	for (int i = 0; i < g->entries; i++)
		free(g->entry[i].value);
}

static const struct entry *find(const struct golden *g, const char *name)
{
	for (int i = 0; i < g->entries; i++)
		if (!strcmp(g->entry[i].name, name))
			return &g->entry[i];
	return NULL;
}

static const struct entry *get(const struct golden *g, const char *name)
{
	const struct entry *e = find(g, name);
	REQUIRE(e != NULL, "no %s in the case", name);
	return e;
}

static double number(const struct golden *g, const char *name)
{
	return get(g, name)->value[0];
}

/* ---- what is asked ---- */

static struct bpg_region *region(struct bpg_ctx *ctx, const struct golden *g, int64_t n)
{
	struct bpg_region *r = NULL;
	enum bpg_status st;

	if (number(g, "norm") == 0) {
		struct bpg_numbers l = { "lower", n, get(g, "lower")->value, NULL, NULL }, u = { "upper", n, get(g, "upper")->value, NULL,
		        NULL };
		st = bpg_region_box(ctx, n, &l, &u, &r);
	} else {
		struct bpg_numbers c = { "center", n, get(g, "center")->value, NULL, NULL };
		st = bpg_region_ball(ctx, number(g, "norm") == 2 ? BPG_NORM_2 : BPG_NORM_1, n, &c, number(g, "radius"), NULL, &r);
	}
	REQUIRE(!st, "%s", bpg_ctx_message(ctx));
	return r;
}

/* Rows of both specifications in one question: every output, then output[label] - output[j] for the other j. */
static int64_t questions(const struct golden *g, int64_t outs, struct bpg_question_row *row, int64_t *index)
{
	static const double one[] = { 1, -1 };
	int64_t n = 0, label = (int64_t)number(g, "label");

	for (int64_t j = 0; j < outs; j++, n++) {
		index[2 * n] = j;
		row[n] = (struct bpg_question_row){ .n = 1, .index = index + 2 * n, .coef = one };
	}
	for (int64_t j = 0; j < outs && find(g, "margin.attack.lower"); j++) {
		if (j == label)
			continue;
		index[2 * n] = label;
		index[2 * n + 1] = j;
		row[n] = (struct bpg_question_row){ .n = 2, .index = index + 2 * n, .coef = one };
		n++;
	}
	return n;
}

/* ---- comparisons ---- */

static double largest(const struct entry *l, const struct entry *u)
{
	double m = 0;

	for (int64_t i = 0; i < l->n; i++)
		m = fmax(m, fmax(fabs(l->value[i]), fabs(u->value[i])));
	return m;
}

static double mean_width(const double *l, const double *u, int64_t n)
{
	double w = 0;

	for (int64_t i = 0; i < n; i++)
		w += u[i] - l[i];
	return w / (double)n;
}

/* Where bounds are tighter than the reference's, and why: it takes pure CROWN bounds at every node (C) where we intersect
 * with intervals, and adds up the intervals of branches (B) or of a last linear layer (L) that we merge first. Elsewhere
 * they must be equal. */
static const struct {
	const char *name, *method;
} tighter[] = {
	{ "concat_slice_split", "crown" },      /* C */
	{ "concat_slice_split", "crown.one" },  /* C */
	{ "concat_slice_split", "crown.zero" }, /* C */
	{ "conv_asym_group_dilated", "crown.one" }, /* C */
	{ "deconv_net", "ibp" },                /* L */
	{ "dense_concat_mlp", "crown.one" },    /* C */
	{ "mlp_4x40_untrained_wide_eps", "crown.one" }, /* C */
	{ "relu_multiuse", "ibp" },             /* B */
	{ "relu_multiuse", "crown.one" },       /* C */
	{ "resnet_4b_gap_3x16", "crown.one" },  /* C */
	{ "shape_ops", "crown" },               /* C */
	{ "shape_ops", "crown.one" },           /* C */
	{ "upsample_net", "ibp" },              /* L */
};

static bool may_be_tighter(const char *name, const char *method)
{
	for (size_t i = 0; i < BPG_LEN(tighter); i++)
		if (!strcmp(tighter[i].name, name) && !strcmp(tighter[i].method, method))
			return true;
	return false;
}

struct way {
	const char *method;       /* as in the case */
	bool wide, slack;
	double tolerance;         /* of unique bounds, times 1 + the largest one */
};

/* No bound is looser than the reference's by more than rounding (unique ones), or 1 % of the mean width (others). */
static void compare(const char *name, const struct golden *g, const char *spec, const struct way *w, const double *lower,
        const double *upper)
{
	char key[96];

	snprintf(key, sizeof key, "%s.attack.lower", spec);
	const struct entry *al = get(g, key);
	snprintf(key, sizeof key, "%s.attack.upper", spec);
	const struct entry *au = get(g, key);
	snprintf(key, sizeof key, "%s.%s.lower", spec, w->method);
	const struct entry *l = get(g, key);
	snprintf(key, sizeof key, "%s.%s.upper", spec, w->method);
	const struct entry *u = get(g, key);
	double tolerance = w->tolerance * (1 + largest(l, u));

	for (int64_t i = 0; i < al->n; i++) {
		double rounding = 1e-9 * (1 + fabs(al->value[i]) + fabs(au->value[i])); /* values reached are rounded, too */
		REQUIRE(lower[i] <= al->value[i] + rounding && upper[i] >= au->value[i] - rounding,
		              "%s, %s, %s, row %lld: [%.17g, %.17g] leaves out values reached, [%.17g, %.17g]", name, spec, w->method,
		        (long long)i, lower[i],
		              upper[i], al->value[i], au->value[i]);
		if (number(g, "unique") && !w->slack && strcmp(w->method, "crown.same") != 0)
			REQUIRE(lower[i] >= l->value[i] - tolerance && upper[i] <= u->value[i] + tolerance,
			              "%s, %s, %s, %s, row %lld: [%.17g, %.17g] is looser than [%.17g, %.17g]", name, spec, w->method,
			        w->wide ? "float64" : "float32",
			              (long long)i, lower[i], upper[i], l->value[i], u->value[i]);
		if (number(g, "unique") && !w->slack && strcmp(w->method, "crown.same") != 0 && !may_be_tighter(name, w->method))
			REQUIRE(lower[i] <= l->value[i] + tolerance && upper[i] >= u->value[i] - tolerance,
			              "%s, %s, %s, %s, row %lld: [%.17g, %.17g] should equal [%.17g, %.17g]", name, spec, w->method,
			        w->wide ? "float64" : "float32",
			              (long long)i, lower[i], upper[i], l->value[i], u->value[i]);
	}
	/* `same` takes its slopes from the bounds before the node: tighter ones may make a single row looser. */
	if (!number(g, "unique") || !strcmp(w->method, "crown.same"))
		REQUIRE(mean_width(lower, upper, al->n) <= 1.01 * mean_width(l->value, u->value, al->n),
		              "%s, %s, %s: mean width %.9g is more than 1 %% over %.9g", name, spec, w->method, mean_width(lower, upper, al->n),
		              mean_width(l->value, u->value, al->n));
}

/* The mean of optimised bounds is no looser than the reference's after as many steps by more than 1 % of the width. */
static void compare_alpha(const char *name, const struct golden *g, const struct bpg_bound_options *b, const struct outcome *o, int64_t first)
{
	const char *spec = first ? "margin" : "identity", *way = b->objective == BPG_OBJECTIVE_FIXED ? "alpha.fixed" : "alpha.all";
	char key[96];

	snprintf(key, sizeof key, "%s.attack.lower", spec);
	const struct entry *al = get(g, key);
	snprintf(key, sizeof key, "%s.attack.upper", spec);
	const struct entry *au = get(g, key);
	snprintf(key, sizeof key, "%s.%s.lower", spec, way);
	const struct entry *l = get(g, key);
	snprintf(key, sizeof key, "%s.%s.upper", spec, way);
	const struct entry *u = get(g, key);
	double width = mean_width(l->value, u->value, l->n), sum[2] = { 0, 0 };

	for (int64_t i = 0; i < l->n; i++) {
		double lo = o->lower[first + i], up = o->upper[first + i];
		double rounding = 1e-9 * (1 + fabs(al->value[i]) + fabs(au->value[i]));
		REQUIRE(lo <= al->value[i] + rounding && up >= au->value[i] - rounding, "%s, %s, row %lld: [%.17g, %.17g] leaves out values reached, "
		        "[%.17g, %.17g]", name, way, (long long)i, lo, up, al->value[i], au->value[i]);
		sum[0] += (lo - l->value[i]) / (double)l->n, sum[1] += (u->value[i] - up) / (double)l->n;
	}
	for (int side = 0; side < 2; side++)
		REQUIRE(sum[side] >= -0.01 * width, "%s, %s, %s bounds: on average looser by %.3g, %.3g of the width", name, way,
		        side ? "upper" : "lower", -sum[side], -sum[side] / width);
}

/* Bounds before a nonlinear node: no looser where the node may bend, on the right side elsewhere. */
static void compare_inside(const char *name, const struct golden *g, const struct outcome *o, int *compared)
{
	char key[64];
	const struct entry *e;

	for (int t = 0; snprintf(key, sizeof key, "tensor.%d", t), (e = find(g, key)); t++) {
		const struct bpg_model_node *v = outcome_node(o, e->text);
		if (!v)
			continue;
		snprintf(key, sizeof key, "tensor.%d.lower", t);
		const struct entry *l = get(g, key);
		snprintf(key, sizeof key, "tensor.%d.upper", t);
		const struct entry *u = get(g, key);
		double tolerance = 1e-6 * (1 + largest(l, u));

		ck_assert_int_eq(v->columns.n, l->n);
		for (int64_t i = 0; i < l->n; i++) {
			double a = bpg_field(v, BPG_LOWER)[i], b = bpg_field(v, BPG_UPPER)[i];
			if ((l->value[i] >= 0 && a >= -tolerance) || (u->value[i] <= 0 && b <= tolerance))
				continue;
			REQUIRE(a >= l->value[i] - tolerance && b <= u->value[i] + tolerance,
			              "%s: %s, element %lld: [%.17g, %.17g] is looser than [%.17g, %.17g]", name, e->text, (long long)i, a, b,
			        l->value[i],
			              u->value[i]);
		}
		++*compared;
	}
}

static int depth(const struct bpg_model *m)
{
	int n = 0;

	for (int i = 0; i < m->nodes; i++)
		n += m->node[i].hop.kind == BPG_HOP_UNARY || m->node[i].hop.kind == BPG_HOP_PLANES;
	return n;
}

static const struct way ways[] = {
	{ "ibp", true, false, 1e-6 },        { "crown-ibp", true, false, 1e-6 },  { "crown", true, false, 1e-6 },
	{ "crown.same", true, false, 1e-6 }, { "crown.zero", true, false, 1e-6 }, { "crown.one", true, false, 1e-6 },
	{ "ibp", false, false, 1e-4 },       { "crown-ibp", false, false, 1e-4 }, { "crown", false, false, 1e-4 },
	{ "ibp", true, true, 0 },            { "crown-ibp", true, true, 0 },      { "crown", true, true, 0 },
	{ "ibp", false, true, 0 },           { "crown-ibp", false, true, 0 },     { "crown", false, true, 0 },
};

static struct bpg_bound_options options(const struct way *w)
{
	static const char *const slope[] = { "crown.", "crown.zero", "crown.one", "crown.same" };
	struct bpg_bound_options o = outcome_options(!strcmp(w->method, "ibp") ? BPG_METHOD_IBP
	                                             : !strcmp(w->method, "crown-ibp") ? BPG_METHOD_CROWN_IBP : BPG_METHOD_CROWN,
	        w->wide);

	o.slack = w->slack;
	for (int s = 1; s < 4; s++)
		if (!strcmp(w->method, slope[s]))
			o.slope = (enum bpg_slope_rule)s;
	return o;
}

START_TEST(test_case)
{
	const char *name = cases[_i], *folder = getenv("BPG_GOLDEN");
	struct bpg_rt_options one = { .workers = 1, .owners = 1 };
	struct bpg_ctx *ctx = bpg_ctx_new();
	struct golden g;
	struct bpg_net *net;
	struct bpg_rt *rt;
	char path[4096];
	double off[3] = { 0 };    /* mean width by method in float64 without slack */
	int compared = 0;

	REQUIRE(folder != NULL, "BPG_GOLDEN is not set");
	snprintf(path, sizeof path, "%s/%s.txt", folder, name);
	golden_read(&g, path);
	snprintf(path, sizeof path, "%s/%s.onnx", folder, name);
	REQUIRE(!bpg_onnx_load(ctx, path, &net), "%s", bpg_ctx_message(ctx));
	REQUIRE(!bpg_rt_start(ctx, &one, &rt), "%s", bpg_ctx_message(ctx));
	struct bpg_region *r = region(ctx, &g, net->in_count);
	struct bpg_question_row *row = calloc((size_t)(2 * net->out_count), sizeof *row);
	int64_t *index = calloc((size_t)(4 * net->out_count), sizeof *index), outs = net->out_count, n = questions(&g, outs, row, index);

	for (size_t i = 0; i < BPG_LEN(ways); i++) {
		const struct way *w = &ways[i];
		struct bpg_bound_options b = options(w);
		struct outcome o;
		char key[64];

		snprintf(key, sizeof key, "%s.%s.lower", n > outs ? "margin" : "identity", w->method);
		if (!find(&g, key))
			continue;
		REQUIRE(!outcome_run(&o, ctx, rt, net, r, &b, row, n), "%s", bpg_ctx_message(ctx));
		if (b.slope == BPG_SLOPE_ADAPTIVE)
			compare(name, &g, "identity", w, o.lower, o.upper);
		if (n > outs)
			compare(name, &g, "margin", w, o.lower + outs, o.upper + outs);
		if (b.method == BPG_METHOD_CROWN && b.slope == BPG_SLOPE_ADAPTIVE && w->wide && !w->slack && number(&g, "unique"))
			compare_inside(name, &g, &o, &compared);
		double width = mean_width(o.lower, o.upper, n), *plain = &off[b.method - BPG_METHOD_IBP];
		if (w->wide && !w->slack && b.slope == BPG_SLOPE_ADAPTIVE)
			*plain = width;
		/* What soundness in real arithmetic costs: two hidden layers 0.1 %, more of them 1 %. In float64 only folded
		 * constants (batch norm, 1/n) count, which are held as float32. */
		double most = w->wide ? 1e-4 : depth(o.m) <= 2 ? 1e-3 : 1e-2;
		if (w->slack)
			REQUIRE(width <= *plain * (1 + most), "%s, %s, %s: slack widens by %.3g of the width", name, w->method,
			        w->wide ? "float64" : "float32",
			              width / *plain - 1);
		outcome_fini(&o);
	}
	for (int objective = BPG_OBJECTIVE_LOCAL; objective <= BPG_OBJECTIVE_JOINT; objective++) {
		struct bpg_bound_options b = outcome_options(BPG_METHOD_CROWN, false);
		struct outcome o;
		char key[64];

		b.iterations = 20;
		b.objective = (enum bpg_objective)objective;
		snprintf(key, sizeof key, "%s.alpha.%s.lower", n > outs ? "margin" : "identity", objective == BPG_OBJECTIVE_FIXED ? "fixed" : "all");
		if (!find(&g, key))
			continue;
		REQUIRE(!outcome_run(&o, ctx, rt, net, r, &b, row, n), "%s", bpg_ctx_message(ctx));
		compare_alpha(name, &g, &b, &o, n > outs ? outs : 0);
		outcome_fini(&o);
	}
	REQUIRE(!number(&g, "unique") || !find(&g, "tensor.0") || compared > 0, "%s: no tensor inside was compared", name);
	free(row);
	free(index);
	bpg_region_free(r);
	bpg_rt_stop(rt);
	bpg_net_free(net);
	bpg_ctx_free(ctx);
	golden_fini(&g);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("golden");
	TCase *t = tcase_create("cases");

	tcase_set_timeout(t, 120);
	tcase_add_loop_test(t, test_case, 0, (int)BPG_LEN(cases));
	suite_add_tcase(s, t);
	SRunner *r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	int failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
