/* shape.c - shapes: counts, strides, broadcasting. */
#include <bpgraph/layer.h>

#include <string.h>

#include "base/base.h"

/* -1 when a dimension is negative or the tensor absurdly large. */
int64_t bpg_shape_count(const struct bpg_shape *shape)
{
	int64_t n = 1;
	bool empty = false, absurd = false;
	for (int i = 0; i < shape->rank; i++) {
		int64_t d = shape->dim[i];
		if (d < 0)
			return -1;
		if (!d)
			empty = true;
		else if (n > BPG_MAX_ELEMENTS / d)
			absurd = true;
		else
			n *= d;
	}
	return empty ? 0 : absurd ? -1 : n;
}

bool bpg_shape_equal(const struct bpg_shape *a, const struct bpg_shape *b)
{
	return a->rank == b->rank && (!a->rank || !memcmp(a->dim, b->dim, (size_t)a->rank * sizeof *a->dim));
}

void bpg_shape_strides(const struct bpg_shape *shape, int64_t stride[BPG_MAX_RANK])
{
	int64_t s = 1;
	for (int i = shape->rank - 1; i >= 0; i--) {
		stride[i] = s;
		s *= shape->dim[i];
	}
}

bool bpg_shape_broadcast(const struct bpg_shape *a, const struct bpg_shape *b, struct bpg_shape *out)
{
	struct bpg_shape r = { .rank = BPG_MAX(a->rank, b->rank) };
	for (int i = 0; i < r.rank; i++) { /* i counts from the last axis */
		int64_t da = i < a->rank ? a->dim[a->rank - 1 - i] : 1;
		int64_t db = i < b->rank ? b->dim[b->rank - 1 - i] : 1;
		if (da != db && da != 1 && db != 1)
			return false;
		r.dim[r.rank - 1 - i] = da == 1 ? db : da;
	}
	*out = r;
	return true;
}

int64_t bpg_broadcast_index(const struct bpg_shape *in, const struct bpg_shape *out, int64_t i)
{
	int64_t index = 0, stride = 1;
	for (int k = out->rank - 1, j = in->rank - 1; k >= 0 && j >= 0; k--, j--) {
		int64_t at = i % out->dim[k];
		i /= out->dim[k];
		if (in->dim[j] != 1)
			index += at * stride;
		stride *= in->dim[j];
	}
	return index;
}
