/* family.c - what a node does: the layer's callback, or the default of its family. */
#include "codelets/family.h"

#include <stdlib.h>
#include <string.h>

#include "base/base.h"

enum bpg_status bpg_node_eval(const struct bpg_node *v, const double *const *x, double *y)
{
	const struct bpg_layer *layer = v->layer;
	if (layer->eval)
		return layer->eval(v, x, y);
	if (layer->family == BPG_UNARY)
		return bpg_unary_default_eval(v, x, y);
	if (layer->family == BPG_LINEAR)
		return bpg_linear_default_eval(v, x, y);
	return BPG_EUNSUPPORTED;
}

/* Layers of the other families that state only the double value: computed from it, rounded once. */
static enum bpg_status eval_f32_by_double(const struct bpg_node *v, const float *const *x, float *y)
{
	enum bpg_status st = BPG_ENOMEM;
	double **wide = bpg_calloc((size_t)v->nin + 1, sizeof *wide);
	if (!wide)
		return st;
	for (int k = 0; k < v->nin; k++) {
		if (v->in[k].absent || !x[k])
			continue;
		wide[k] = bpg_calloc((size_t)v->in[k].n + 1, sizeof **wide);
		if (!wide[k])
			goto out;
		for (int64_t i = 0; i < v->in[k].n; i++)
			wide[k][i] = x[k][i];
	}
	wide[v->nin] = bpg_calloc((size_t)v->out.n + 1, sizeof **wide);
	if (!wide[v->nin])
		goto out;
	BPG_TRY_TO(bpg_node_eval(v, (const double *const *)wide, wide[v->nin]), out);
	for (int64_t i = 0; i < v->out.n; i++)
		y[i] = (float)wide[v->nin][i];
out:
	for (int k = 0; k <= v->nin; k++)
		free(wide[k]);
	free(wide);
	return st;
}

enum bpg_status bpg_node_eval_f32(const struct bpg_node *v, const float *const *x, float *y)
{
	const struct bpg_layer *layer = v->layer;
	if (layer->eval_f32)
		return layer->eval_f32(v, x, y);
	if (layer->family == BPG_UNARY)
		return bpg_unary_default_eval_f32(v, x, y);
	if (layer->family == BPG_LINEAR)
		return bpg_linear_default_eval_f32(v, x, y);
	return eval_f32_by_double(v, x, y);
}

enum bpg_status bpg_node_interval(const struct bpg_node *v, const double *const *l, const double *const *u,
                                  int64_t first, int64_t n, double *lo, double *up)
{
	const struct bpg_layer *layer = v->layer;
	if (layer->interval)
		return layer->interval(v, l, u, first, n, lo, up);
	if (layer->family == BPG_UNARY)
		return bpg_unary_default_interval(v, l, u, first, n, lo, up);
	if (layer->family == BPG_LINEAR)
		return bpg_linear_default_interval(v, l, u, first, n, lo, up);
	return BPG_EUNSUPPORTED;
}

enum bpg_status bpg_node_gradient(const struct bpg_node *v, const double *const *x, const double *gy, double *const *gx)
{
	const struct bpg_layer *layer = v->layer;
	if (layer->gradient)
		return layer->gradient(v, x, gy, gx);
	if (layer->family == BPG_UNARY)
		return bpg_unary_default_gradient(v, x, gy, gx);
	if (layer->family == BPG_LINEAR)
		return bpg_linear_default_gradient(v, x, gy, gx);
	return BPG_EUNSUPPORTED;
}

/* ---- import ---- */

enum bpg_status bpg_import_same_shape(const struct bpg_import *im, struct bpg_node *v)
{
	BPG_TRY(bpg_import_operands(im, v, 1, 1));
	v->out.shape = v->in[0].shape;
	v->out.type = v->in[0].type;
	return BPG_OK;
}

enum bpg_status bpg_import_operands(const struct bpg_import *im, const struct bpg_node *v, int least, int most)
{
	int given = v->nin;
	while (given > 0 && v->in[given - 1].absent)
		given--;
	if (given < least || given > most)
		return bpg_import_fail(im, BPG_EFILE, "%d operands, expected %s%d", given, least < most ? "up to " : "",
		                       given < least ? least : most);
	for (int k = 0; k < least; k++)
		if (v->in[k].absent)
			return bpg_import_fail(im, BPG_EFILE, "operand %d is missing", k);
	return BPG_OK;
}

enum bpg_status bpg_import_constant(const struct bpg_import *im, const struct bpg_node *v, int k, const char *what)
{
	if (v->in[k].value)
		return BPG_OK;
	return bpg_import_fail(im, BPG_EUNSUPPORTED, "%s (operand %d) must be a constant, it depends on the input", what, k);
}

enum bpg_status bpg_import_pin(const struct bpg_import *im, const struct bpg_node *v)
{
	bool variable = false;
	for (int k = 0; k < v->nin; k++)
		variable = variable || (!v->in[k].absent && !v->in[k].value);
	for (int k = 0; variable && k < v->nin; k++)
		if (v->in[k].value && bpg_const_type(v->in[k].value) == BPG_F32 && !bpg_const_pin_f32(v->in[k].value))
			return bpg_import_fail(im, BPG_ENOMEM, "not enough memory for operand %d", k);
	return BPG_OK;
}

enum bpg_dtype bpg_common_type(const struct bpg_node *v, int first, int last)
{
	enum bpg_dtype type = BPG_I64;
	for (int k = first; k <= last && k < v->nin; k++) {
		if (v->in[k].absent || v->in[k].type == BPG_I64)
			continue;
		if (type != BPG_F64)
			type = v->in[k].type;
	}
	return type;
}

int64_t bpg_size_mul(int64_t a, int64_t b)
{
	const int64_t most = (int64_t)1 << 40;
	if (a < 0 || b < 0 || (b > 0 && a > most / b))
		return -1;
	return a * b;
}

/* ---- terms ---- */

void bpg_terms_init(struct bpg_terms *t) { memset(t, 0, sizeof *t); }

void bpg_terms_fini(struct bpg_terms *t)
{
	free(t->input);
	free(t->index);
	free(t->coef);
	free(t->err);
	memset(t, 0, sizeof *t);
}

void bpg_terms_reset(struct bpg_terms *t)
{
	t->n = 0;
	t->bias = t->bias_err = 0;
}

static bool resize(void *array, size_t count, size_t size)
{
	void *old;
	memcpy(&old, array, sizeof old);
	void *p = realloc(old, count * size);
	if (!p)
		return false;
	memcpy(array, &p, sizeof p);
	return true;
}

static bool grow(struct bpg_terms *t)
{
	if (t->room > INT32_MAX / 2 - 8)
		return false;
	size_t room = (size_t)t->room * 2 + 8;
	if (!resize(&t->input, room, sizeof *t->input) || !resize(&t->index, room, sizeof *t->index) ||
	    !resize(&t->coef, room, sizeof *t->coef) || !resize(&t->err, room, sizeof *t->err))
		return false;
	t->room = (int)room;
	return true;
}

void bpg_terms_add(struct bpg_terms *t, int input, int64_t index, double coef, double err)
{
	if (t->n == t->room && !grow(t)) {
		t->failed = true;
		return;
	}
	t->input[t->n] = input;
	t->index[t->n] = index;
	t->coef[t->n] = coef;
	t->err[t->n] = err;
	t->n++;
}

void bpg_terms_take(const struct bpg_node *v, struct bpg_terms *t, int k, int64_t index)
{
	if (v->in[k].value)
		bpg_terms_constant(t, 1, 0, v->in[k].value, index);
	else
		bpg_terms_add(t, k, index, 1, 0);
}

void bpg_terms_bias(struct bpg_terms *t, double coef, double b)
{
	if (t->bias == 0 && (coef == 1 || coef == -1)) {
		t->bias = coef * b;
		return;
	}
	double product = coef * b, sum = t->bias + product;
	double error = coef == 1 || coef == -1 ? 0 : BPG_U64 * (product < 0 ? -product : product) + 0x1p-1074;
	error += BPG_U64 * (sum < 0 ? -sum : sum) + 0x1p-1074;
	t->bias = sum;
	t->bias_err = (t->bias_err + error) * (1 + 8 * BPG_U64);
}

void bpg_terms_constant(struct bpg_terms *t, double coef, double coef_err, const struct bpg_const *c, int64_t i)
{
	double b = bpg_const_at(c, i), err = bpg_const_error(c, i), size = coef < 0 ? -coef : coef;
	bpg_terms_bias(t, coef, b);
	if (err > 0 || coef_err > 0)
		t->bias_err = (t->bias_err + (size + coef_err) * err + coef_err * (b < 0 ? -b : b) + 0x1p-1070) * (1 + 8 * BPG_U64);
}
