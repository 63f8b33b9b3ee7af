/* import.c - what a layer may ask while its node is imported. */
#include "net/import.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "net/const.h"

int bpg_import_opset(const struct bpg_import *im) { return im->opset; }
int bpg_import_output_index(const struct bpg_import *im) { return im->output_index; }
int bpg_import_output_count(const struct bpg_import *im) { return im->output_count; }

static const struct bpg_import_attr *find(const struct bpg_import *im, const char *name)
{
	for (int i = 0; i < im->attrs; i++)
		if (!strcmp(im->attr[i].name, name))
			return &im->attr[i];
	return NULL;
}

/* The attribute when it is there and of this kind. Another kind is remembered and ends the import after the layer has
 * returned, so that layers read attributes without a check each. */
static const struct bpg_import_attr *find_kind(const struct bpg_import *im, const char *name, enum bpg_attr_kind kind)
{
	const struct bpg_import_attr *a = find(im, name);
	if (!a || a->kind == kind)
		return a;
	((struct bpg_import *)im)->wrong = a->name;
	return NULL;
}

bool bpg_import_has(const struct bpg_import *im, const char *attribute) { return find(im, attribute) != NULL; }

int64_t bpg_import_int(const struct bpg_import *im, const char *attribute, int64_t otherwise)
{
	const struct bpg_import_attr *a = find_kind(im, attribute, BPG_ATTR_INT);
	return a ? a->i : otherwise;
}

double bpg_import_float(const struct bpg_import *im, const char *attribute, double otherwise)
{
	const struct bpg_import_attr *a = find_kind(im, attribute, BPG_ATTR_FLOAT);
	return a ? a->f : otherwise;
}

const char *bpg_import_string(const struct bpg_import *im, const char *attribute, const char *otherwise)
{
	const struct bpg_import_attr *a = find_kind(im, attribute, BPG_ATTR_STRING);
	return a && a->s ? a->s : otherwise;
}

/* Lists that are empty may come with any kind of list: protobuf does not say which. */
int bpg_import_ints(const struct bpg_import *im, const char *attribute, const int64_t **ints)
{
	const struct bpg_import_attr *a = find_kind(im, attribute, BPG_ATTR_INTS);
	*ints = a ? a->ints : NULL;
	return a ? a->n : -1;
}

int bpg_import_floats(const struct bpg_import *im, const char *attribute, const float **floats)
{
	const struct bpg_import_attr *a = find_kind(im, attribute, BPG_ATTR_FLOATS);
	*floats = a ? a->floats : NULL;
	return a ? a->n : -1;
}

struct bpg_const *bpg_import_tensor(const struct bpg_import *im, const char *attribute, struct bpg_shape *shape)
{
	const struct bpg_import_attr *a = find_kind(im, attribute, BPG_ATTR_TENSOR);
	if (!a || !a->tensor)
		return NULL;
	*shape = a->shape;
	return a->tensor;
}

void *bpg_import_alloc(const struct bpg_import *im, size_t count, size_t size)
{
	return bpg_arena_alloc(im->arena, count, size);
}

enum bpg_status bpg_import_fail(const struct bpg_import *im, enum bpg_status code, const char *format, ...)
{
	char what[512], name[128], op[128];
	va_list ap;
	va_start(ap, format);
	vsnprintf(what, sizeof what, format, ap);
	va_end(ap);
	for (char *p = what; *p; p++)   /* strings of the file may be in it */
		if ((unsigned char)*p < ' ' || *p == 0x7f)
			*p = '?';
	return bpg_fail(im->ctx, code, "%s: node '%s' (%s): %s", im->path, bpg_printable(im->name, name),
	                bpg_printable(im->op, op), what);
}

/* Element i of a constant that holds integers. Doubles cannot carry INT64_MAX, which files use for "to the end". */
static int64_t integer_at(const struct bpg_const *c, int64_t i)
{
	if (c->type == BPG_I64 && c->mem) {
		int64_t value;
		memcpy(&value, (const char *)c->mem + i * (int64_t)sizeof value, sizeof value);
		return value;
	}
	double x = bpg_const_at(c, i);
	return x >= 0x1p63 ? INT64_MAX : x >= -0x1p63 ? (int64_t)x : INT64_MIN;
}

enum bpg_status bpg_import_list(const struct bpg_import *im, const struct bpg_node *v, const char *attribute, int operand,
                                int64_t *to, int most, int *count)
{
	*count = -1;
	if (attribute && bpg_import_has(im, attribute)) {
		const int64_t *ints;
		int n = bpg_import_ints(im, attribute, &ints);
		if (n > most)
			return bpg_import_fail(im, BPG_EUNSUPPORTED, "attribute '%s' has %d values, at most %d can be read", attribute,
			                       n, most);
		for (int i = 0; i < n; i++)
			to[i] = ints[i];
		*count = n;
		return BPG_OK;
	}
	if (operand < 0 || operand >= v->nin || v->in[operand].absent)
		return BPG_OK;
	const struct bpg_operand *in = &v->in[operand];
	if (!in->value)
		return bpg_import_fail(im, BPG_EUNSUPPORTED, "operand %d must be a constant; re-export the model with fixed shapes",
		                       operand);
	if (in->n > most)
		return bpg_import_fail(im, BPG_EUNSUPPORTED, "operand %d has %lld values, at most %d can be read", operand,
		                       (long long)in->n, most);
	for (int i = 0; i < in->n; i++)
		to[i] = integer_at(in->value, i);
	*count = (int)in->n;
	return BPG_OK;
}

enum bpg_status bpg_import_axis(const struct bpg_import *im, int64_t axis, int rank, int *to)
{
	if (axis < -rank || axis >= rank)
		return bpg_import_fail(im, BPG_EFILE, "axis %lld is outside a tensor of rank %d", (long long)axis, rank);
	*to = (int)(axis < 0 ? axis + rank : axis);
	return BPG_OK;
}

enum bpg_status bpg_import_run(struct bpg_import *im, struct bpg_node *v)
{
	v->attr = NULL;
	memset(&v->out, 0, sizeof v->out);
	v->out.type = BPG_F32;
	BPG_TRY(v->layer->import ? v->layer->import(im, v) : bpg_import_same_shape(im, v));
	if (im->wrong) {
		char name[128];
		return bpg_import_fail(im, BPG_EFILE, "attribute '%s' has the wrong type", bpg_printable(im->wrong, name));
	}
	const struct bpg_shape *shape = &v->out.shape;
	if (shape->rank < 0 || shape->rank > BPG_MAX_RANK)
		return bpg_import_fail(im, BPG_EUNSUPPORTED, "the output has rank %d, at most %d is supported", shape->rank,
		                       BPG_MAX_RANK);
	int64_t n = 1, whole = 1;   /* axes of size 0 must not hide absurd ones */
	for (int i = 0; i < shape->rank; i++) {
		int64_t d = shape->dim[i];
		if (d < 0 || (d > 0 && whole > BPG_MAX_ELEMENTS / d))
			return bpg_import_fail(im, BPG_EFILE, "axis %d of the output would have size %lld, or the output too many elements",
			                       i, (long long)d);
		n *= d;
		whole *= d > 0 ? d : 1;
	}
	v->out.n = n;
	return BPG_OK;
}
