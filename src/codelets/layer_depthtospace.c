/* layer_depthtospace.c - DepthToSpace and SpaceToDepth: blocks of positions become channels, or the other way round. */
#include <string.h>

#include "codelets/family.h"

struct blocks {
	bool to_space, columns_first; /* mode CRD */
	int64_t block, deep;          /* channels of the side that has fewer */
	int64_t height, width;        /* of the side that has fewer positions */
};

static enum bpg_status depthtospace_import(const struct bpg_import *im, struct bpg_node *v)
{
	BPG_TRY(bpg_import_operands(im, v, 1, 1));
	struct blocks *g = bpg_import_alloc(im, 1, sizeof *g);
	if (!g)
		return bpg_import_fail(im, BPG_ENOMEM, "not enough memory");
	v->attr = g;
	const struct bpg_shape *in = &v->in[0].shape;
	const char *mode = bpg_import_string(im, "mode", "DCR");
	g->to_space = !strcmp(v->op, "DepthToSpace");
	g->columns_first = g->to_space && !strcmp(mode, "CRD");
	if (g->to_space && !g->columns_first && strcmp(mode, "DCR"))
		return bpg_import_fail(im, BPG_EFILE, "mode=%s is unknown", mode);
	int64_t b = g->block = bpg_import_int(im, "blocksize", 0);
	if (in->rank != 4 || b < 1 || b > 1 << 15)
		return bpg_import_fail(im, BPG_EFILE, "a block of %lld for an operand of rank %d", (long long)b, in->rank);
	if (g->to_space ? in->dim[1] % (b * b) != 0 : in->dim[2] % b != 0 || in->dim[3] % b != 0)
		return bpg_import_fail(im, BPG_EFILE, "sizes are no multiple of the block");
	g->deep = g->to_space ? in->dim[1] / (b * b) : in->dim[1];
	g->height = g->to_space ? in->dim[2] : in->dim[2] / b;
	g->width = g->to_space ? in->dim[3] : in->dim[3] / b;
	int64_t deep = g->to_space ? g->deep : g->deep * b * b, grow = g->to_space ? b : 1;
	v->out.shape = (struct bpg_shape){ .rank = 4, .dim = { in->dim[0], deep, g->height * grow, g->width * grow } };
	v->out.type = v->in[0].type;
	return BPG_OK;
}

static void depthtospace_terms(const struct bpg_node *v, int64_t i, struct bpg_terms *t)
{
	const struct blocks *g = v->attr;
	int64_t b = g->block, dim[4], at[4];
	for (int a = 3; a >= 0; a--) {
		dim[a] = v->in[0].shape.dim[a];
		at[a] = i % v->out.shape.dim[a];
		i /= v->out.shape.dim[a];
	}
	int64_t c = at[1], y = at[2], x = at[3];
	if (g->to_space) {
		int64_t by = y % b, bx = x % b;
		c = g->columns_first ? (c * b + by) * b + bx : (by * b + bx) * g->deep + c;
		y /= b;
		x /= b;
	} else {
		int64_t block = c / g->deep;
		c %= g->deep;
		y = y * b + block / b;
		x = x * b + block % b;
	}
	bpg_terms_take(v, t, 0, ((at[0] * dim[1] + c) * dim[2] + y) * dim[3] + x);
}

static void depthtospace_sample(struct bpg_rng *rng, struct bpg_sample *s)
{
	bool to_space = bpg_rng_below(rng, 2);
	int64_t b = 1 + bpg_rng_below(rng, 3), c = 1 + bpg_rng_below(rng, 3), h = 1 + bpg_rng_below(rng, 3),
	        w = 1 + bpg_rng_below(rng, 3);
	int64_t dim[4] = { 1 + bpg_rng_below(rng, 2), to_space ? c * b * b : c, to_space ? h : h * b, to_space ? w : w * b };
	bpg_sample_op(s, to_space ? "DepthToSpace" : "SpaceToDepth", 13);
	bpg_sample_int(s, "blocksize", b);
	if (to_space && bpg_rng_below(rng, 2))
		bpg_sample_string(s, "mode", bpg_rng_below(rng, 2) ? "CRD" : "DCR");
	bpg_sample_variable(s, 4, dim);
}

BPG_LINEAR_LAYER(depthtospace, .ops = "DepthToSpace SpaceToDepth", .traits = BPG_SELECT, .import = depthtospace_import,
                 .terms = depthtospace_terms, .sample = depthtospace_sample);
