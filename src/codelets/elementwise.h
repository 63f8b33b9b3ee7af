/* elementwise.h - what operators with two broadcast operands share. */
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

#endif
