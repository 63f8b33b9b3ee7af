/* layer_gemm.c - Y = alpha A' B' + beta C, one of A and B constant. */
#include <math.h>

#include "codelets/family.h"

struct gemm {
	int64_t m, n, k;
	bool trans_a, trans_b;
	double alpha, beta;
};

static bool gemm_dense(const struct bpg_node *v, struct bpg_dense *d);
static bool gemm_conv(const struct bpg_node *v, struct bpg_conv *c);

static enum bpg_status gemm_import(const struct bpg_import *im, struct bpg_node *v)
{
	BPG_TRY(bpg_import_operands(im, v, 2, 3));
	struct gemm *g = bpg_import_alloc(im, 1, sizeof *g);
	if (!g)
		return bpg_import_fail(im, BPG_ENOMEM, "not enough memory");
	v->attr = g;
	g->trans_a = bpg_import_int(im, "transA", 0) != 0;
	g->trans_b = bpg_import_int(im, "transB", 0) != 0;
	g->alpha = bpg_import_float(im, "alpha", 1);
	g->beta = bpg_import_float(im, "beta", 1);
	if (!isfinite(g->alpha) || !isfinite(g->beta))
		return bpg_import_fail(im, BPG_EFILE, "alpha or beta is not a finite number");
	const struct bpg_shape *a = &v->in[0].shape, *b = &v->in[1].shape;
	if (a->rank != 2 || b->rank != 2)
		return bpg_import_fail(im, BPG_EFILE, "operands have rank %d and %d, expected matrices", a->rank, b->rank);
	g->m = a->dim[g->trans_a];
	g->k = a->dim[!g->trans_a];
	g->n = b->dim[!g->trans_b];
	if (b->dim[g->trans_b] != g->k)
		return bpg_import_fail(im, BPG_EFILE, "inner sizes of the matrices differ: %lld and %lld", (long long)g->k,
		                       (long long)b->dim[g->trans_b]);
	if (!v->in[0].value && !v->in[1].value)
		return bpg_import_fail(im, BPG_EUNSUPPORTED, "both matrices depend on the input; one must be a constant");
	v->out.shape = (struct bpg_shape){ .rank = 2, .dim = { g->m, g->n } };
	v->out.type = bpg_common_type(v, 0, 1);
	struct bpg_shape all;
	if (bpg_given(v, 2) && (!bpg_shape_broadcast(&v->in[2].shape, &v->out.shape, &all) || !bpg_shape_equal(&all, &v->out.shape)))
		return bpg_import_fail(im, BPG_EFILE, "operand C does not broadcast to %lld x %lld", (long long)g->m, (long long)g->n);
	struct bpg_dense d;
	struct bpg_conv c;
	if (gemm_dense(v, &d) || gemm_conv(v, &c))   /* read by rows */
		return BPG_OK;
	return bpg_import_pin(im, v);
}

static void gemm_terms(const struct bpg_node *v, int64_t i, struct bpg_terms *t)
{
	const struct gemm *g = v->attr;
	int64_t row = i / g->n, col = i % g->n;
	const struct bpg_const *a = v->in[0].value, *b = v->in[1].value;
	for (int64_t k = 0; k < g->k; k++) {
		int64_t ia = g->trans_a ? k * g->m + row : row * g->k + k;
		int64_t ib = g->trans_b ? col * g->k + k : k * g->n + col;
		double w = bpg_const_at(a ? a : b, a ? ia : ib), coef = g->alpha * w, held = bpg_const_error(a ? a : b, a ? ia : ib);
		bool exact = fabs(g->alpha) == 1 || w == 0 || g->alpha == 0;
		double err = exact ? 0 : fabs(coef) * 0x1p-52 + 0x1p-1074;
		if (held > 0)
			err = (err + fabs(g->alpha) * held + 0x1p-1070) * (1 + 0x1p-50);
		if (a && b)
			bpg_terms_constant(t, coef, err, b, ib);
		else
			bpg_terms_add(t, a ? 1 : 0, a ? ib : ia, coef, err);
	}
	if (!bpg_given(v, 2) || g->beta == 0)
		return;
	int64_t ic = bpg_broadcast_index(&v->in[2].shape, &v->out.shape, i);
	if (v->in[2].value)
		bpg_terms_constant(t, g->beta, 0, v->in[2].value, ic);
	else
		bpg_terms_add(t, 2, ic, g->beta, 0);
}

/* C as one number per row (axis 0) or per column (axis 1) of Y; false when it is neither. */
static bool bias_along(const struct bpg_node *v, int axis, struct bpg_const **bias, int64_t *stride)
{
	*bias = NULL;
	*stride = 0;
	const struct gemm *g = v->attr;
	if (!bpg_given(v, 2) || g->beta == 0)
		return true;
	const struct bpg_operand *c = &v->in[2];
	int64_t size[2] = { c->shape.rank < 2 ? 1 : c->shape.dim[0], c->shape.rank < 1 ? 1 : c->shape.dim[c->shape.rank - 1] };
	if (!c->value || size[1 - axis] != 1)
		return false;
	*bias = c->value;
	*stride = size[axis] == 1 ? 0 : 1;
	return true;
}

static bool gemm_dense(const struct bpg_node *v, struct bpg_dense *d)
{
	const struct gemm *g = v->attr;
	bool left = v->in[0].value != NULL;   /* the constant is A */
	if ((left && v->in[1].value) || (left ? g->n : g->m) != 1)
		return false;
	*d = (struct bpg_dense){ .operand = left ? 1 : 0, .weight = v->in[left ? 0 : 1].value, .ins = g->k,
		                 .outs = left ? g->m : g->n, .scale = g->alpha, .bias_scale = g->beta };
	bool rows = left ? !g->trans_a : g->trans_b;   /* an output's weights lie side by side */
	d->stride_out = rows ? g->k : 1;
	d->stride_in = rows ? 1 : d->outs;
	return bias_along(v, left ? 0 : 1, &d->bias, &d->bias_stride);
}

static bool gemm_conv(const struct bpg_node *v, struct bpg_conv *c)
{
	const struct gemm *g = v->attr;
	bool left = v->in[0].value != NULL;
	struct bpg_const *bias;
	int64_t stride;
	if ((left && v->in[1].value) || g->alpha != 1 || !bias_along(v, left ? 0 : 1, &bias, &stride))
		return false;
	int64_t outs = left ? g->m : g->n, positions = left ? g->n : g->m;
	if (bias && (g->beta != 1 || (stride == 0 && outs > 1)))
		return false;
	bool rows = left ? !g->trans_a : g->trans_b;             /* weights of an output side by side */
	bool inner = left ? g->trans_b : !g->trans_a;            /* inputs of a position side by side */
	*c = (struct bpg_conv){ .operand = left ? 1 : 0, .weight = v->in[left ? 0 : 1].value, .bias = bias,
		                .in_channels = g->k, .out_channels = outs, .in_size = { 1, positions }, .out_size = { 1, positions },
		                .kernel = { 1, 1 }, .stride = { 1, 1 }, .dilation = { 1, 1 }, .groups = 1,
		                .w_stride = { rows ? g->k : 1, rows ? 1 : outs, 1, 1 } };
	c->in_stride[0] = inner ? 1 : positions;
	c->in_stride[2] = inner ? g->k : 1;
	c->out_stride[0] = left ? positions : 1;
	c->out_stride[2] = left ? 1 : outs;
	c->in_stride[1] = g->k * positions;
	c->out_stride[1] = outs * positions;
	return true;
}

static void gemm_sample(struct bpg_rng *rng, struct bpg_sample *s)
{
	int64_t m = bpg_rng_below(rng, 2) ? 1 : 1 + bpg_rng_below(rng, 5), n = 1 + bpg_rng_below(rng, 9), k = 1 + bpg_rng_below(rng, 40);
	int trans_a = (int)bpg_rng_below(rng, 2), trans_b = (int)bpg_rng_below(rng, 2), left = (int)bpg_rng_below(rng, 2);
	int64_t a[2] = { trans_a ? k : m, trans_a ? m : k }, b[2] = { trans_b ? n : k, trans_b ? k : n };
	bpg_sample_op(s, "Gemm", 13);
	bpg_sample_int(s, "transA", trans_a);
	bpg_sample_int(s, "transB", trans_b);
	if (bpg_rng_below(rng, 3) == 0)
		bpg_sample_float(s, "alpha", bpg_rng_normal(rng));
	if (bpg_rng_below(rng, 3) == 0)
		bpg_sample_float(s, "beta", bpg_rng_below(rng, 4) ? bpg_rng_normal(rng) : 0);
	if (left)
		bpg_sample_constant(s, 2, a, NULL);
	else
		bpg_sample_variable(s, 2, a);
	if (left)
		bpg_sample_variable(s, 2, b);
	else
		bpg_sample_constant(s, 2, b, NULL);
	int64_t c[2] = { bpg_rng_below(rng, 2) ? m : 1, bpg_rng_below(rng, 3) ? n : 1 };
	int rank = (int)bpg_rng_below(rng, 4);   /* 3: absent */
	const int64_t *dim = rank == 1 ? c + 1 : c;
	if (rank < 3 && bpg_rng_below(rng, 4) == 0)
		bpg_sample_variable(s, rank, dim);
	else if (rank < 3)
		bpg_sample_constant(s, rank, dim, NULL);
}

BPG_LINEAR_LAYER(gemm, .ops = "Gemm", .import = gemm_import, .terms = gemm_terms, .dense = gemm_dense, .conv = gemm_conv,
                 .sample = gemm_sample);
