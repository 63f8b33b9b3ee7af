/* layer_trilu.c - the upper or lower triangle of matrices; the rest is 0. */
#include "codelets/family.h"

struct trilu {
	bool upper;
	int64_t k;                /* diagonal where the triangle begins */
};

static enum bpg_status trilu_import(const struct bpg_import *im, struct bpg_node *v)
{
	BPG_TRY(bpg_import_operands(im, v, 1, 2));
	struct trilu *g = bpg_import_alloc(im, 1, sizeof *g);
	if (!g)
		return bpg_import_fail(im, BPG_ENOMEM, "not enough memory");
	v->attr = g;
	int count;
	BPG_TRY(bpg_import_list(im, v, NULL, 1, &g->k, 1, &count));
	g->k = count < 1 ? 0 : g->k > INT32_MAX ? INT32_MAX : g->k < -INT32_MAX ? -INT32_MAX : g->k;
	g->upper = bpg_import_int(im, "upper", 1) != 0;
	if (v->in[0].shape.rank < 2)
		return bpg_import_fail(im, BPG_EFILE, "an operand of rank %d has no triangle", v->in[0].shape.rank);
	v->out.shape = v->in[0].shape;
	v->out.type = v->in[0].type;
	return BPG_OK;
}

static void trilu_terms(const struct bpg_node *v, int64_t i, struct bpg_terms *t)
{
	const struct trilu *g = v->attr;
	const struct bpg_shape *s = &v->out.shape;
	int64_t column = i % s->dim[s->rank - 1], row = i / s->dim[s->rank - 1] % s->dim[s->rank - 2];
	if (g->upper ? column - row >= g->k : column - row <= g->k)
		bpg_terms_take(v, t, 0, i);
}

static void trilu_sample(struct bpg_rng *rng, struct bpg_sample *s)
{
	int64_t dim[3], k = bpg_rng_below(rng, 7) - 3;
	int rank = 2 + (int)bpg_rng_below(rng, 2);
	for (int i = 0; i < 3; i++)
		dim[i] = 1 + bpg_rng_below(rng, 4);
	bpg_sample_op(s, "Trilu", 14);
	bpg_sample_int(s, "upper", bpg_rng_below(rng, 2));
	bpg_sample_variable(s, rank, dim);
	if (bpg_rng_below(rng, 2))
		bpg_sample_integers(s, -1, &k);
}

BPG_LINEAR_LAYER(trilu, .ops = "Trilu", .traits = BPG_SELECT, .import = trilu_import, .terms = trilu_terms, .sample = trilu_sample);
