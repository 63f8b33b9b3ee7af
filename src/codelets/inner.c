/* inner.c - the index arithmetic of matrix products and Einstein sums. */
#include "codelets/inner.h"

#include <string.h>

enum { LABELS = 52 + BPG_MAX_RANK, MOST_PRODUCTS = 1 << 26 };

/* An axis that is summed over: size and strides. */
struct axis {
	int64_t dim, stride[2];
};

/* Lists the products of one output element. */
static enum bpg_status set_steps(const struct bpg_import *im, struct bpg_inner *g, const struct axis *axis, int axes)
{
	g->count = 1;
	for (int a = 0; a < axes; a++)
		g->count = bpg_size_mul(g->count, axis[a].dim);
	if (g->count < 0 || g->count > MOST_PRODUCTS)
		return bpg_import_fail(im, BPG_EUNSUPPORTED, "an output element is a sum of more than %d products",
		                       (int)MOST_PRODUCTS);
	for (int k = 0; k < 2; k++)
		if (!(g->step[k] = bpg_import_alloc(im, (size_t)g->count + 1, sizeof *g->step[k])))
			return bpg_import_fail(im, BPG_ENOMEM, "not enough memory");
	for (int64_t i = 0; i < g->count; i++) {
		int64_t rest = i;
		for (int a = axes - 1; a >= 0; a--) {
			for (int k = 0; k < 2; k++)
				g->step[k][i] += rest % axis[a].dim * axis[a].stride[k];
			rest /= axis[a].dim;
		}
	}
	return BPG_OK;
}

static struct bpg_inner *inner_new(const struct bpg_import *im, struct bpg_node *v)
{
	struct bpg_inner *g = bpg_import_alloc(im, 1, sizeof *g);
	v->attr = g;
	return g;
}

/* ---- matrix product ---- */

enum bpg_status bpg_inner_matmul(const struct bpg_import *im, struct bpg_node *v)
{
	BPG_TRY(bpg_import_operands(im, v, 2, 2));
	struct bpg_inner *g = inner_new(im, v);
	if (!g)
		return bpg_import_fail(im, BPG_ENOMEM, "not enough memory");
	int64_t stride[2][BPG_MAX_RANK];
	struct bpg_shape lead[2], *out = &v->out.shape;
	for (int k = 0; k < 2; k++) {
		const struct bpg_shape *s = &v->in[k].shape;
		if (s->rank < 1)
			return bpg_import_fail(im, BPG_EFILE, "an operand is a scalar, expected a vector, matrix or more");
		bpg_shape_strides(s, stride[k]);
		lead[k] = *s;
		lead[k].rank = s->rank > 2 ? s->rank - 2 : 0;
	}
	const struct bpg_shape *a = &v->in[0].shape, *b = &v->in[1].shape;
	int row = b->rank == 1 ? 0 : b->rank - 2;
	if (a->dim[a->rank - 1] != b->dim[row])
		return bpg_import_fail(im, BPG_EFILE, "inner sizes differ: %lld and %lld", (long long)a->dim[a->rank - 1],
		                       (long long)b->dim[row]);
	if (!bpg_shape_broadcast(&lead[0], &lead[1], out))
		return bpg_import_fail(im, BPG_EFILE, "the leading axes of the operands do not broadcast");
	for (int i = 0; i < out->rank; i++)
		for (int k = 0; k < 2; k++) {
			int from = i - (out->rank - lead[k].rank);
			g->stride[k][i] = from >= 0 && lead[k].dim[from] != 1 ? stride[k][from] : 0;
		}
	if (a->rank > 1) {
		g->stride[0][out->rank] = stride[0][a->rank - 2];
		out->dim[out->rank++] = a->dim[a->rank - 2];
	}
	if (b->rank > 1) {
		g->stride[1][out->rank] = stride[1][b->rank - 1];
		out->dim[out->rank++] = b->dim[b->rank - 1];
	}
	g->axes = out->rank;
	memcpy(g->dim, out->dim, sizeof g->dim);
	v->out.type = bpg_common_type(v, 0, 1);
	struct axis inner = { a->dim[a->rank - 1], { 1, stride[1][row] } };
	return set_steps(im, g, &inner, 1);
}

/* ---- Einstein sum ---- */

struct equation {
	int n[3], label[3][BPG_MAX_RANK];   /* operands and output; label: 0 .. 51 letters, then axes of the ellipsis */
	bool dots[3];
	int operands;
	bool given;                          /* the output is spelled out */
};

static int letter(char c)
{
	return c >= 'a' && c <= 'z' ? c - 'a' : c >= 'A' && c <= 'Z' ? c - 'A' + 26 : -1;
}

/* Splits the text into terms. The ellipsis is kept as label -1. */
static enum bpg_status parse(const struct bpg_import *im, const char *s, struct equation *e)
{
	int t = 0;
	memset(e, 0, sizeof *e);
	for (; *s; s++) {
		if (*s == ' ')
			continue;
		if (*s == ',' && !e->given && t == 0) {
			t = 1;
		} else if (s[0] == '-' && s[1] == '>' && !e->given) {
			e->operands = t + 1;
			e->given = true;
			t = 2;
			s++;
		} else if (s[0] == '.' && s[1] == '.' && s[2] == '.' && !e->dots[t] && e->n[t] < BPG_MAX_RANK) {
			e->dots[t] = true;
			e->label[t][e->n[t]++] = -1;
			s += 2;
		} else if (letter(*s) >= 0 && e->n[t] < BPG_MAX_RANK) {
			e->label[t][e->n[t]++] = letter(*s);
		} else {
			return bpg_import_fail(im, BPG_EUNSUPPORTED,
			                       "the equation has more than two operands or %d axes, or is damaged", BPG_MAX_RANK);
		}
	}
	if (!e->given)
		e->operands = t + 1;
	return BPG_OK;
}

/* Replaces the ellipsis of term t by `count` labels, the last ones of the `width` that the widest has. */
static bool spread(struct equation *e, int t, int count, int width)
{
	int label[BPG_MAX_RANK], n = 0;
	for (int i = 0; i < e->n[t]; i++) {
		if (n + (e->label[t][i] < 0 ? count : 1) > BPG_MAX_RANK)
			return false;
		if (e->label[t][i] >= 0)
			label[n++] = e->label[t][i];
		else
			for (int k = 0; k < count; k++)
				label[n++] = 52 + width - count + k;
	}
	e->n[t] = n;
	memcpy(e->label[t], label, sizeof label);
	return true;
}

static enum bpg_status expand_dots(const struct bpg_import *im, const struct bpg_node *v, struct equation *e)
{
	int width = 0, count[3] = { 0 };
	for (int t = 0; t < e->operands; t++) {
		count[t] = e->dots[t] ? v->in[t].shape.rank - (e->n[t] - 1) : 0;
		if (count[t] < 0 || (!e->dots[t] && e->n[t] != v->in[t].shape.rank))
			return bpg_import_fail(im, BPG_EFILE, "the equation does not fit operand %d of rank %d", t,
			                       v->in[t].shape.rank);
		width = count[t] > width ? count[t] : width;
	}
	count[2] = width;
	for (int t = 0; t < 3; t++)
		if (e->dots[t] && !spread(e, t, count[t], width))
			return bpg_import_fail(im, BPG_EUNSUPPORTED, "the equation has more than %d axes", BPG_MAX_RANK);
	if (e->given)
		return BPG_OK;
	/* Implied: the ellipsis, then the letters that stand once, in order. */
	for (int k = 0; k < width; k++)
		e->label[2][e->n[2]++] = 52 + k;
	static const char order[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
	for (int c = 0; c < 52; c++) {
		int times = 0;
		for (int t = 0; t < e->operands; t++)
			for (int i = 0; i < e->n[t]; i++)
				times += e->label[t][i] == letter(order[c]);
		if (times == 1 && e->n[2] == BPG_MAX_RANK)
			return bpg_import_fail(im, BPG_EUNSUPPORTED, "the output has more than %d axes", BPG_MAX_RANK);
		if (times == 1)
			e->label[2][e->n[2]++] = letter(order[c]);
	}
	return BPG_OK;
}

enum bpg_status bpg_inner_einsum(const struct bpg_import *im, struct bpg_node *v)
{
	struct equation e;
	struct axis axis[LABELS];
	bool known[LABELS] = { false }, kept[LABELS] = { false };
	BPG_TRY(bpg_import_operands(im, v, 1, 2));
	struct bpg_inner *g = inner_new(im, v);
	if (!g)
		return bpg_import_fail(im, BPG_ENOMEM, "not enough memory");
	BPG_TRY(parse(im, bpg_import_string(im, "equation", ""), &e));
	if (e.operands != v->nin || v->in[v->nin - 1].absent)
		return bpg_import_fail(im, BPG_EFILE, "the equation has %d operands, the node %d", e.operands, v->nin);
	BPG_TRY(expand_dots(im, v, &e));
	memset(axis, 0, sizeof axis);
	for (int t = 0; t < e.operands; t++) {
		int64_t stride[BPG_MAX_RANK];
		bpg_shape_strides(&v->in[t].shape, stride);
		for (int i = 0; i < e.n[t]; i++) {
			struct axis *x = &axis[e.label[t][i]];
			int64_t d = v->in[t].shape.dim[i];
			if (!known[e.label[t][i]] || x->dim == 1)
				x->dim = d;
			if (d != x->dim && d != 1)
				return bpg_import_fail(im, BPG_EFILE, "a label of the equation has the sizes %lld and %lld",
				                       (long long)d, (long long)x->dim);
			known[e.label[t][i]] = true;
			x->stride[t] += d == 1 ? 0 : stride[i];
		}
	}
	v->out.shape.rank = g->axes = e.n[2];
	for (int i = 0; i < e.n[2]; i++) {
		int c = e.label[2][i];
		if (c < 0 || !known[c] || kept[c])
			return bpg_import_fail(im, BPG_EFILE, "the output of the equation has a label twice, or one of no operand");
		kept[c] = true;
		v->out.shape.dim[i] = g->dim[i] = axis[c].dim;
		g->stride[0][i] = axis[c].stride[0];
		g->stride[1][i] = axis[c].stride[1];
	}
	int gone = 0;
	for (int c = 0; c < LABELS; c++)
		if (known[c] && !kept[c])
			axis[gone++] = axis[c];
	v->out.type = bpg_common_type(v, 0, e.operands - 1);
	return set_steps(im, g, axis, gone);
}

/* ---- tests ---- */

void bpg_inner_sample_einsum(struct bpg_rng *rng, struct bpg_sample *s, int operands, bool left_constant, bool right_constant)
{
	/* Axes as letters; sizes by letter. */
	static const struct {
		const char *equation, *term[2];
	} form[] = {
		{ "bhqd,bhkd->bhqk", { "bhqd", "bhkd" } },
		{ "bqhd,bkhd->bhqk", { "bqhd", "bkhd" } },
		{ "bhqk, bkhd -> bqhd", { "bhqk", "bkhd" } },
		{ "ij,jk", { "ij", "jk" } },
		{ "...ij,...jk->...ik", { "aij", "ajk" } },
		{ "i,i->", { "i", "i" } },
		{ "ii,i->i", { "ii", "i" } },
		{ "i,j->ji", { "i", "j" } },
		{ "bid,bjd->bij", { "bid", "bjd" } },
	}, one[] = {
		{ "ij->ji", { "ij" } },
		{ "ii->i", { "ii" } },
		{ "bij->b", { "bij" } },
		{ "...i->...", { "abi" } },
		{ "ii", { "ii" } },
	};
	int64_t size[128], dim[4];
	int which = (int)bpg_rng_below(rng, operands == 2 ? 9 : 5);
	for (int i = 0; i < 128; i++)
		size[i] = 1 + bpg_rng_below(rng, 4);
	bpg_sample_string(s, "equation", operands == 2 ? form[which].equation : one[which].equation);
	for (int k = 0; k < operands; k++) {
		const char *term = operands == 2 ? form[which].term[k] : one[which].term[k];
		int rank = (int)strlen(term);
		for (int i = 0; i < rank; i++)
			dim[i] = size[(int)term[i]];
		if (k == 0 ? left_constant : right_constant)
			bpg_sample_constant(s, rank, dim, NULL);
		else
			bpg_sample_variable(s, rank, dim);
	}
}
