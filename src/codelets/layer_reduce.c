/* layer_reduce.c - ReduceSum, ReduceMean, GlobalAveragePool: sums and means over some axes. */
#include <string.h>

#include "codelets/reduce.h"

static enum bpg_status reduce_import(const struct bpg_import *im, struct bpg_node *v)
{
	struct bpg_reduce *g;
	bool spatial = !strcmp(v->op, "GlobalAveragePool");
	BPG_TRY(bpg_reduce_import(im, v, spatial, &g));
	g->mean = strcmp(v->op, "ReduceSum") != 0;
	if (g->mean && v->in[0].type == BPG_I64)
		v->out.type = BPG_F32;
	if (g->mean && g->count == 0)
		return bpg_import_fail(im, BPG_EFILE, "the mean of no elements");
	return BPG_OK;
}

static void reduce_terms(const struct bpg_node *v, int64_t i, struct bpg_terms *t)
{
	const struct bpg_reduce *g = v->attr;
	int64_t base = bpg_reduce_base(g, i);
	double coef = g->mean ? 1 / (double)g->count : 1, err = g->mean && (g->count & (g->count - 1)) ? coef * 0x1p-53 : 0;
	for (int64_t k = 0; k < g->count; k++) {
		int64_t at = base + bpg_reduce_offset(g, k);
		if (v->in[0].value)
			bpg_terms_constant(t, coef, err, v->in[0].value, at);
		else
			bpg_terms_add(t, 0, at, coef, err);
	}
}

static void reduce_sample(struct bpg_rng *rng, struct bpg_sample *s)
{
	static const char *const op[] = { "ReduceSum", "ReduceMean", "GlobalAveragePool" };
	int which = (int)bpg_rng_below(rng, 3);
	bpg_reduce_sample(rng, s, op[which], 13, which == 0, which == 2); /* axes: an attribute until opset 12 (sum), 17 (mean) */
}

BPG_LINEAR_LAYER(reduce, .ops = "ReduceSum ReduceMean GlobalAveragePool", .import = reduce_import, .terms = reduce_terms,
                 .sample = reduce_sample);
