/* attr.c - attributes as plain data, and Constant nodes, which are nothing but an attribute. */
#include <math.h>
#include <string.h>

#include "net/const.h"
#include "onnx/read.h"

/* The type, or what was there before types were written (IR version 1). */
static int type_of(const Onnx__AttributeProto *a)
{
	if (a->type)
		return (int)a->type;
	return a->has_f ? 1 : a->has_i ? 2 : a->has_s ? 3 : a->t ? 4 : a->n_floats ? 6 : a->n_ints ? 7 : 0;
}

static enum bpg_status convert(struct bpg_onnx_model *m, const Onnx__AttributeProto *a, const char *label,
                               struct bpg_arena *scratch, struct bpg_import_attr *to)
{
	*to = (struct bpg_import_attr){ .name = a->name ? a->name : "", .kind = BPG_ATTR_OTHER };
	if (!strncmp(to->name, "bpg_", 4)) /* names that passes give: what they say has been proved */
		to->name = "";
	if (a->ref_attr_name && *a->ref_attr_name)
		return BPG_OK;
	switch (type_of(a)) {
	case 1:
		to->kind = BPG_ATTR_FLOAT;
		to->f = a->f;
		break;
	case 2:
		to->kind = BPG_ATTR_INT;
		to->i = a->i;
		break;
	case 3:
		to->kind = BPG_ATTR_STRING;
		to->s = bpg_arena_strn(scratch, a->s.data ? (const char *)a->s.data : "", a->s.data ? a->s.len : 0);
		return to->s ? BPG_OK : bpg_nomem(m->ctx, m->path);
	case 4:
		if (!a->t)
			break;
		to->kind = BPG_ATTR_TENSOR;
		struct bpg_value value;
		BPG_TRY(bpg_onnx_tensor(m, a->t, a->t->name && *a->t->name ? a->t->name : label, &value));
		to->tensor = value.value;
		to->shape = value.shape;
		break;
	case 6:
		to->kind = BPG_ATTR_FLOATS;
		to->floats = a->floats;
		to->n = (int)BPG_MIN(a->n_floats, INT32_MAX);
		break;
	case 7:
		to->kind = BPG_ATTR_INTS;
		to->ints = a->ints;
		to->n = (int)BPG_MIN(a->n_ints, INT32_MAX);
		break;
	}
	return BPG_OK;
}

enum bpg_status bpg_onnx_attributes(struct bpg_onnx_model *m, const Onnx__NodeProto *node, const char *label,
                                    struct bpg_arena *scratch, struct bpg_import *im)
{
	struct bpg_import_attr *attr = bpg_arena_alloc(scratch, node->n_attribute, sizeof *attr);
	if (!attr || node->n_attribute > INT32_MAX)
		return bpg_nomem(m->ctx, m->path);
	for (size_t i = 0; i < node->n_attribute; i++)
		BPG_TRY(convert(m, node->attribute[i], label, scratch, &attr[i]));
	im->attrs = (int)node->n_attribute;
	im->attr = attr;
	return BPG_OK;
}

/* ---- Constant ---- */

static enum bpg_status list(struct bpg_onnx_model *m, const struct bpg_import *im, enum bpg_dtype type, int rank, int n,
                            const void *values, struct bpg_value *out)
{
	for (int i = 0; type == BPG_F32 && i < n; i++)
		if (!isfinite(((const float *)values)[i]))
			return bpg_import_fail(im, BPG_ENUMERIC, "its value is not finite");
	*out = (struct bpg_value){ .known = true, .node = -1, .shape = { .rank = rank, .dim = { n } }, .type = type };
	out->value = bpg_const_new(m->arena, type, n, values);
	return out->value ? BPG_OK : bpg_nomem(m->ctx, m->path);
}

enum bpg_status bpg_onnx_constant(struct bpg_onnx_model *m, const struct bpg_import *im, struct bpg_value *out)
{
	for (int i = 0; i < im->attrs; i++) {
		const struct bpg_import_attr *a = &im->attr[i];
		float f = (float)a->f;
		if (!strcmp(a->name, "value") && a->kind == BPG_ATTR_TENSOR) {
			*out = (struct bpg_value){ .known = true, .node = -1, .value = a->tensor, .shape = a->shape,
			                           .type = bpg_const_type(a->tensor) };
			return BPG_OK;
		}
		if (!strcmp(a->name, "value_float") && a->kind == BPG_ATTR_FLOAT)
			return list(m, im, BPG_F32, 0, 1, &f, out);
		if (!strcmp(a->name, "value_int") && a->kind == BPG_ATTR_INT)
			return list(m, im, BPG_I64, 0, 1, &a->i, out);
		if (!strcmp(a->name, "value_floats") && a->kind == BPG_ATTR_FLOATS)
			return list(m, im, BPG_F32, 1, a->n, a->floats, out);
		if (!strcmp(a->name, "value_ints") && a->kind == BPG_ATTR_INTS)
			return list(m, im, BPG_I64, 1, a->n, a->ints, out);
		if (!strncmp(a->name, "value", 5) || !strcmp(a->name, "sparse_value"))
			return bpg_import_fail(im, BPG_EUNSUPPORTED, "attribute '%s' of this kind is not supported", a->name);
	}
	return bpg_import_fail(im, BPG_EFILE, "has no value");
}
