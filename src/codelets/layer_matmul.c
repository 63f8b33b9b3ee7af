/* layer_matmul.c - numpy's matrix product, one side constant: Y[.., i, j] = sum_k A[.., i, k] B[.., k, j].
 * Operands of rank 1 are a row (left) or a column (right); leading axes broadcast.
 *
 * bpgraph:MatMulAdd, made by a pass, has a third, constant operand: a bias for each output of the constant matrix, or one
 * for all, along the axis of those outputs. */
#include <string.h>

#include "codelets/family.h"

struct matmul {
	int64_t m, n, k;
	struct bpg_shape batch_a, batch_b, batch;   /* leading axes */
	int64_t bias_stride;                        /* 0: one number for all outputs */
};

static void leading(const struct bpg_shape *s, struct bpg_shape *batch)
{
	batch->rank = s->rank > 2 ? s->rank - 2 : 0;
	for (int i = 0; i < batch->rank; i++)
		batch->dim[i] = s->dim[i];
}

static bool matmul_dense(const struct bpg_node *v, struct bpg_dense *d);
static bool matmul_conv(const struct bpg_node *v, struct bpg_conv *c);

/* The bias lies along the axis of the outputs: the last one, or for a constant on the left the one before it. */
static bool bias_fits(const struct bpg_node *v, struct matmul *g)
{
	const struct bpg_operand *bias = &v->in[2];
	bool left = v->in[0].value != NULL;
	int axis = v->out.shape.rank - (left && v->in[1].shape.rank > 1 ? 2 : 1), ahead = v->out.shape.rank - bias->shape.rank;

	if (!bias->value || ahead < 0)
		return false;
	g->bias_stride = bias->n == 1 ? 0 : 1;
	if (bias->n == 1 || v->in[left ? 0 : 1].shape.rank == 1) /* a vector: one output, without an axis */
		return bias->n == 1;
	return axis >= ahead && bias->n == v->out.shape.dim[axis] && bias->shape.dim[axis - ahead] == bias->n;
}

static enum bpg_status matmul_import(const struct bpg_import *im, struct bpg_node *v)
{
	bool adds = !strcmp(v->op, "bpgraph:MatMulAdd");
	BPG_TRY(bpg_import_operands(im, v, adds ? 3 : 2, adds ? 3 : 2));
	struct matmul *g = bpg_import_alloc(im, 1, sizeof *g);
	if (!g)
		return bpg_import_fail(im, BPG_ENOMEM, "not enough memory");
	v->attr = g;
	const struct bpg_shape *a = &v->in[0].shape, *b = &v->in[1].shape;
	if (a->rank < 1 || b->rank < 1)
		return bpg_import_fail(im, BPG_EFILE, "an operand is a scalar, expected a vector, matrix or more");
	g->m = a->rank == 1 ? 1 : a->dim[a->rank - 2];
	g->k = a->dim[a->rank - 1];
	g->n = b->rank == 1 ? 1 : b->dim[b->rank - 1];
	int64_t k = b->dim[b->rank == 1 ? 0 : b->rank - 2];
	if (k != g->k)
		return bpg_import_fail(im, BPG_EFILE, "inner sizes differ: %lld and %lld", (long long)g->k, (long long)k);
	leading(a, &g->batch_a);
	leading(b, &g->batch_b);
	if (!bpg_shape_broadcast(&g->batch_a, &g->batch_b, &g->batch))
		return bpg_import_fail(im, BPG_EFILE, "the leading axes of the operands do not broadcast");
	if (!v->in[0].value && !v->in[1].value)
		return bpg_import_fail(im, BPG_EUNSUPPORTED, "both operands depend on the input; one must be a constant");
	v->out.shape = g->batch;
	if (a->rank > 1)
		v->out.shape.dim[v->out.shape.rank++] = g->m;
	if (b->rank > 1)
		v->out.shape.dim[v->out.shape.rank++] = g->n;
	v->out.type = bpg_common_type(v, 0, 1);
	if (adds && !bias_fits(v, g))
		return bpg_import_fail(im, BPG_EUNSUPPORTED, "the bias is not one number per output");
	struct bpg_dense d;
	struct bpg_conv c;
	if (matmul_dense(v, &d) || matmul_conv(v, &c))   /* read by rows */
		return BPG_OK;
	return bpg_import_pin(im, v);
}

static void matmul_terms(const struct bpg_node *v, int64_t i, struct bpg_terms *t)
{
	const struct matmul *g = v->attr;
	int64_t col = i % g->n, row = i / g->n % g->m, batch = i / g->n / g->m;
	int64_t ia = (bpg_broadcast_index(&g->batch_a, &g->batch, batch) * g->m + row) * g->k;
	int64_t ib = bpg_broadcast_index(&g->batch_b, &g->batch, batch) * g->k * g->n + col;
	const struct bpg_const *a = v->in[0].value, *b = v->in[1].value;
	for (int64_t k = 0; k < g->k; k++, ia++, ib += g->n) {
		if (a && b)
			bpg_terms_constant(t, bpg_const_at(a, ia), bpg_const_error(a, ia), b, ib);
		else if (a)
			bpg_terms_add(t, 1, ib, bpg_const_at(a, ia), bpg_const_error(a, ia));
		else
			bpg_terms_add(t, 0, ia, bpg_const_at(b, ib), bpg_const_error(b, ib));
	}
	if (v->nin > 2)
		bpg_terms_constant(t, 1, 0, v->in[2].value, (a ? row : col) * g->bias_stride);
}

static bool matmul_dense(const struct bpg_node *v, struct bpg_dense *d)
{
	const struct matmul *g = v->attr;
	bool left = v->in[0].value != NULL;
	if ((left && v->in[1].value) || bpg_shape_count(&g->batch) != 1 || (left ? g->n : g->m) != 1)
		return false;
	*d = (struct bpg_dense){ .operand = left ? 1 : 0, .weight = v->in[left ? 0 : 1].value, .ins = g->k,
		                 .outs = left ? g->m : g->n, .scale = 1, .bias_scale = 1 };
	d->stride_out = left ? g->k : 1;
	d->stride_in = left ? 1 : g->n;
	d->bias = v->nin > 2 ? v->in[2].value : NULL;
	d->bias_stride = g->bias_stride;
	return true;
}

/* One matrix for all positions: rows of A (constant right) or columns of B (constant left) in every batch. */
static bool matmul_conv(const struct bpg_node *v, struct bpg_conv *c)
{
	const struct matmul *g = v->attr;
	bool left = v->in[0].value != NULL;
	if ((left && v->in[1].value) || bpg_shape_count(left ? &g->batch_a : &g->batch_b) != 1)
		return false;
	int64_t batch = bpg_shape_count(&g->batch), outs = left ? g->m : g->n, positions = left ? g->n : g->m;
	if (v->nin > 2 && g->bias_stride == 0 && outs > 1)
		return false;
	*c = (struct bpg_conv){ .operand = left ? 1 : 0, .weight = v->in[left ? 0 : 1].value,
		                .bias = v->nin > 2 ? v->in[2].value : NULL, .in_channels = g->k, .out_channels = outs, .in_size = { batch, positions }, .out_size = { batch, positions },
		                .in_stride = { left ? g->n : 1, g->k * positions, left ? 1 : g->k },
		                .out_stride = { left ? g->n : 1, outs * positions, left ? 1 : g->n },
		                .kernel = { 1, 1 }, .stride = { 1, 1 }, .dilation = { 1, 1 }, .groups = 1,
		                .w_stride = { left ? g->k : 1, left ? 1 : g->n, 1, 1 } };
	return true;
}

static void matmul_sample(struct bpg_rng *rng, struct bpg_sample *s)
{
	int64_t m = 1 + bpg_rng_below(rng, 5), n = 1 + bpg_rng_below(rng, 5), k = 1 + bpg_rng_below(rng, 35);
	int64_t p = 1 + bpg_rng_below(rng, 3), q = 1 + bpg_rng_below(rng, 3);
	int64_t a[4] = { bpg_rng_below(rng, 2) ? p : 1, bpg_rng_below(rng, 2) ? q : 1, m, k };
	int64_t b[4] = { bpg_rng_below(rng, 2) ? p : 1, bpg_rng_below(rng, 2) ? q : 1, k, n };
	int skip_a = (int)bpg_rng_below(rng, 4), skip_b = (int)bpg_rng_below(rng, 4);
	const int64_t *da = skip_a == 3 ? a + 3 : a + skip_a, *db = skip_b == 3 ? b + 2 : b + skip_b;
	bool adds = bpg_rng_below(rng, 2), left = bpg_rng_below(rng, 2);
	bpg_sample_op(s, adds ? "bpgraph:MatMulAdd" : "MatMul", 13);
	if (left) {
		bpg_sample_constant(s, 4 - skip_a, da, NULL);
		bpg_sample_variable(s, 4 - skip_b, db);
	} else {
		bpg_sample_variable(s, 4 - skip_a, da);
		bpg_sample_constant(s, 4 - skip_b, db, NULL);
	}
	if (adds) {
		int64_t wide = left ? (skip_a == 3 ? 1 : m) : (skip_b == 3 ? 1 : n), dim[2] = { bpg_rng_below(rng, 3) ? wide : 1, 1 };
		bpg_sample_constant(s, dim[0] == 1 ? 0 : left && skip_b != 3 ? 2 : 1, dim, NULL);
	}
}

BPG_LINEAR_LAYER(matmul, .ops = "MatMul bpgraph:MatMulAdd", .import = matmul_import, .terms = matmul_terms, .dense = matmul_dense,
                 .conv = matmul_conv, .sample = matmul_sample);
