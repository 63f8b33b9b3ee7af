/* twin.c - which body has which twin, and what twins share. */
#include "codelets/twin.h"

#include <stdlib.h>
#include <string.h>

static void nothing(struct bpg_rt *rt, void *const *buffer, const void *arg, struct bpg_device *d)
{
	(void)rt, (void)buffer, (void)arg, (void)d;
}

/* Bodies that have one whatever their argument is. */
static const struct {
	bpg_task_fn *run;
	bpg_twin_fn *twin;
} twins[] = {
	{ bpg_task_relax, bpg_twin_relax },
	{ bpg_task_add_relax, bpg_twin_add_relax },
	{ bpg_task_add, bpg_twin_add },
	{ bpg_task_toll, bpg_twin_toll },
	{ bpg_task_copy, bpg_twin_copy },
	{ bpg_task_start_unit, bpg_twin_start_unit },
	{ bpg_task_gather, bpg_twin_gather },
	{ bpg_task_gemm_dense, bpg_twin_gemm_dense },
	{ bpg_task_gemm_conv, bpg_twin_gemm_conv },
	{ bpg_task_map, bpg_twin_map },
	{ bpg_task_map_planes, bpg_twin_map_planes },
	{ bpg_task_corner, bpg_twin_corner },
	{ bpg_task_forward_dense, bpg_twin_forward_dense },
	{ bpg_task_forward_conv, bpg_twin_forward_conv },
	{ bpg_task_forward_map, bpg_twin_forward_map },
	{ bpg_task_weights_start, bpg_twin_weights_start },
	{ bpg_task_nothing, nothing },
};

void bpg_twin_set(struct bpg_task *t)
{
	const struct bpg_arg_alpha *alpha = t->arg;

	for (size_t i = 0; i < BPG_LEN(twins); i++)
		if (twins[i].run == t->run)
			t->twin = twins[i].twin;
	/* Coefficients over inputs that are kept for a search go to the host. */
	if (t->run == bpg_task_concretize && !((const struct bpg_arg_concretize *)t->arg)->inputs)
		t->twin = bpg_twin_concretize;
	/* Lines of other layers are functions of the C library. */
	if (t->run == bpg_task_relax_alpha && alpha->free && !alpha->shared)
		t->twin = bpg_twin_relax_alpha;
	if (t->run == bpg_task_alpha_step && (alpha->free || !alpha->at.count) && !alpha->shared && !alpha->summed)
		t->twin = bpg_twin_alpha_step;
	t->in_place = t->twin == bpg_twin_gather;
}

/* ---- what twins share ---- */

struct bpg_twin_columns bpg_twin_columns(const struct bpg_columns *k, const struct bpg_window *w)
{
	struct bpg_twin_columns key;

	memset(&key, 0, sizeof key);
	if (!k->grid) {
		key.id = k->id;
		return key;
	}
	key.base = k->base;
	memcpy(key.stride, k->stride, sizeof key.stride);
	memcpy(key.size, k->size, sizeof key.size);
	key.channels = k->channels;
	key.window = *w;
	return key;
}

struct bpg_cuda_spans bpg_twin_spans(const struct bpg_columns *k, const struct bpg_window *from, const struct bpg_window *to)
{
	if (!k->grid)
		return (struct bpg_cuda_spans){ k->count, 0, 0 };
	int64_t step = (int64_t)(to->up[1] - to->lo[1]) * k->channels;
	return (struct bpg_cuda_spans){ (int64_t)(from->up[1] - from->lo[1]) * k->channels,
		                        (from->lo[0] - to->lo[0]) * step + (int64_t)(from->lo[1] - to->lo[1]) * k->channels, step };
}

struct tile_columns {
	const struct bpg_columns *k;
	const struct bpg_window *w;
};

static bool make_elements(const void *arg, struct bpg_table *t)
{
	const struct tile_columns *x = arg;
	int64_t n = bpg_columns_in(x->k, x->w);
	int32_t *element = malloc((size_t)(n + 1) * sizeof *element);

	for (int64_t j = 0; element && j < n; j++)
		element[j] = (int32_t)bpg_columns_element(x->k, bpg_columns_at(x->k, x->w, j));
	t->part[0] = element;
	t->bytes[0] = (size_t)(n + 1) * sizeof *element;
	return element != NULL;
}

const int32_t *bpg_twin_elements(struct bpg_device *d, const struct bpg_columns *k, const struct bpg_window *w)
{
	struct {
		int64_t what;
		struct bpg_twin_columns columns;
	} key = { 'e', bpg_twin_columns(k, w) };
	const struct bpg_table *t = bpg_device_table(d, &key, sizeof key, make_elements, &(struct tile_columns){ k, w });

	return t ? t->part[0] : NULL;
}

const int32_t *bpg_twin_segments(struct bpg_device *d, const struct bpg_view_tile *t)
{
	return t->segment ? bpg_device_send(d, t->segment, (size_t)t->strips * sizeof *t->segment) : NULL;
}

void bpg_twin_gather(struct bpg_rt *rt, void *const *buffer, const void *arg, struct bpg_device *d)
{
	(void)rt;
	bpg_device_started(d, d->kernel->move(buffer[1], buffer[0], ((const struct bpg_arg_gather *)arg)->bytes, d->stream));
}
