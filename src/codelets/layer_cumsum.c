/* layer_cumsum.c - sums of all elements up to one, along an axis. */
#include "codelets/family.h"

struct cumsum {
	bool exclusive, reverse;
	int64_t size, inner;
};

static enum bpg_status cumsum_import(const struct bpg_import *im, struct bpg_node *v)
{
	BPG_TRY(bpg_import_operands(im, v, 2, 2));
	struct cumsum *g = bpg_import_alloc(im, 1, sizeof *g);
	if (!g)
		return bpg_import_fail(im, BPG_ENOMEM, "not enough memory");
	v->attr = g;
	int64_t given;
	int count, axis;
	BPG_TRY(bpg_import_list(im, v, NULL, 1, &given, 1, &count));
	if (count != 1)
		return bpg_import_fail(im, BPG_EFILE, "the axis is not one number");
	BPG_TRY(bpg_import_axis(im, given, v->in[0].shape.rank, &axis));
	g->exclusive = bpg_import_int(im, "exclusive", 0) != 0;
	g->reverse = bpg_import_int(im, "reverse", 0) != 0;
	g->size = v->in[0].shape.dim[axis];
	g->inner = 1;
	for (int a = axis + 1; a < v->in[0].shape.rank; a++)
		g->inner *= v->in[0].shape.dim[a];
	v->out.shape = v->in[0].shape;
	v->out.type = v->in[0].type;
	return BPG_OK;
}

static void cumsum_terms(const struct bpg_node *v, int64_t i, struct bpg_terms *t)
{
	const struct cumsum *g = v->attr;
	int64_t k = i / g->inner % g->size, base = i - k * g->inner;
	int64_t from = g->reverse ? k + g->exclusive : 0, to = g->reverse ? g->size : k + !g->exclusive;
	for (int64_t j = from; j < to; j++)
		bpg_terms_take(v, t, 0, base + j * g->inner);
}

static void cumsum_sample(struct bpg_rng *rng, struct bpg_sample *s)
{
	int64_t dim[3], axis;
	int rank = 1 + (int)bpg_rng_below(rng, 3);
	for (int i = 0; i < 3; i++)
		dim[i] = 1 + bpg_rng_below(rng, 5);
	axis = bpg_rng_below(rng, 2 * rank) - rank;
	bpg_sample_op(s, "CumSum", 14);
	bpg_sample_int(s, "exclusive", bpg_rng_below(rng, 2));
	bpg_sample_int(s, "reverse", bpg_rng_below(rng, 2));
	bpg_sample_variable(s, rank, dim);
	bpg_sample_integers(s, -1, &axis);
}

BPG_LINEAR_LAYER(cumsum, .ops = "CumSum", .import = cumsum_import, .terms = cumsum_terms, .sample = cumsum_sample);
