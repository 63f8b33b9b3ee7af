/* elementwise.h - what operators with broadcast operands share: two, or any number. */
#ifndef BPG_ELEMENTWISE_H
#define BPG_ELEMENTWISE_H

#include "codelets/family.h"

/* Two operands, the output shape is that of both broadcast. Also knows the old `axis`/`broadcast` attributes (opset < 7)
 * and refuses them. Output type: integer when both are. */
static inline enum bpg_status bpg_elementwise_import(const struct bpg_import *im, struct bpg_node *v)
{
	BPG_TRY(bpg_import_operands(im, v, 2, 2));
	if (bpg_import_int(im, "broadcast", 0) != 0)
		return bpg_import_fail(im, BPG_EUNSUPPORTED, "attribute 'broadcast' of opsets before 7; convert the model to opset 13");
	if (!bpg_shape_broadcast(&v->in[0].shape, &v->in[1].shape, &v->out.shape))
		return bpg_import_fail(im, BPG_EFILE, "the shapes of the operands do not broadcast");
	v->out.type = bpg_common_type(v, 0, 1);
	return bpg_import_pin(im, v);
}

/* Element of operand k that output element i reads. */
static inline int64_t bpg_elementwise_index(const struct bpg_node *v, int k, int64_t i)
{
	if (v->in[k].n == v->out.n)
		return i;
	return v->in[k].n == 1 ? 0 : bpg_broadcast_index(&v->in[k].shape, &v->out.shape, i);
}

/* Two operands of shapes that broadcast. */
static inline void bpg_elementwise_sample(struct bpg_rng *rng, struct bpg_sample *s, bool left_constant, bool right_constant)
{
	int64_t dim[2][4];
	for (int a = 0; a < 4; a++) {
		int64_t size = 1 + bpg_rng_below(rng, 4);
		int64_t which = bpg_rng_below(rng, 4);
		dim[0][a] = which == 0 ? 1 : size;
		dim[1][a] = which == 1 ? 1 : size;
	}
	for (int k = 0; k < 2; k++) {
		int skip = (int)bpg_rng_below(rng, 5);
		if (k == 0 ? left_constant : right_constant)
			bpg_sample_constant(s, 4 - skip, dim[k] + skip, NULL);
		else
			bpg_sample_variable(s, 4 - skip, dim[k] + skip);
	}
}

/* Any number of operands, at least one; the output shape is that of all broadcast. */
static inline enum bpg_status bpg_variadic_import(const struct bpg_import *im, struct bpg_node *v)
{
	BPG_TRY(bpg_import_operands(im, v, 1, v->nin));
	v->out.shape.rank = 0;
	for (int k = 0; k < v->nin; k++) {
		struct bpg_shape so_far = v->out.shape;
		if (v->in[k].absent)
			return bpg_import_fail(im, BPG_EFILE, "operand %d is missing", k);
		if (!bpg_shape_broadcast(&so_far, &v->in[k].shape, &v->out.shape))
			return bpg_import_fail(im, BPG_EFILE, "the shapes of the operands do not broadcast");
	}
	v->out.type = bpg_common_type(v, 0, v->nin - 1);
	return bpg_import_pin(im, v);
}

/* One to four operands of shapes that broadcast, at least one of them variable. */
static inline void bpg_variadic_sample(struct bpg_rng *rng, struct bpg_sample *s)
{
	int64_t size[3], dim[3];
	int count = 1 + (int)bpg_rng_below(rng, 4), variable = (int)bpg_rng_below(rng, count);
	for (int a = 0; a < 3; a++)
		size[a] = 1 + bpg_rng_below(rng, 4);
	for (int k = 0; k < count; k++) {
		int skip = (int)bpg_rng_below(rng, 4);
		for (int a = 0; a < 3; a++)
			dim[a] = bpg_rng_below(rng, 4) ? size[a] : 1;
		if (k == variable || bpg_rng_below(rng, 3))
			bpg_sample_variable(s, 3 - skip, dim + skip);
		else
			bpg_sample_constant(s, 3 - skip, dim + skip, NULL);
	}
}

#endif
