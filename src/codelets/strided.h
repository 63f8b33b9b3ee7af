/* strided.h - outputs that read one operand along straight lines: element (i0, i1, ...) of the output is element
 * base + i0*step[0] + i1*step[1] + ... of the operand. Transpose, Slice, Split and Expand are such. */
#ifndef BPG_STRIDED_H
#define BPG_STRIDED_H

#include "codelets/family.h"

struct bpg_strided {
	int64_t base, step[BPG_MAX_RANK];
};

/* Allocates the map as the node's attr, with steps of the operand itself. */
static inline enum bpg_status bpg_strided_import(const struct bpg_import *im, struct bpg_node *v, struct bpg_strided **map)
{
	*map = bpg_import_alloc(im, 1, sizeof **map);
	if (!*map)
		return bpg_import_fail(im, BPG_ENOMEM, "not enough memory");
	v->attr = *map;
	v->out.type = v->in[0].type;
	bpg_shape_strides(&v->in[0].shape, (*map)->step);
	return BPG_OK;
}

static inline void bpg_strided_terms(const struct bpg_node *v, int64_t i, struct bpg_terms *t)
{
	const struct bpg_strided *map = v->attr;
	int64_t at = map->base;
	for (int a = v->out.shape.rank - 1; a >= 0; a--) {
		at += i % v->out.shape.dim[a] * map->step[a];
		i /= v->out.shape.dim[a];
	}
	bpg_terms_take(v, t, 0, at);
}

#endif
