/* twin.h - tasks on devices: the twin of each body that has a kernel, and what twins share. A twin turns the argument of its task into
 * those of kernels and starts them; sums keep the order of the body, so bits are the same. doc/gpu.md lists who has one. */
#ifndef BPG_TWIN_H
#define BPG_TWIN_H

#include "codelets/task_alpha.h"
#include "rt/device.h"

/* Gives the task its twin, if its body has one for this argument. */
void bpg_twin_set(struct bpg_task *task);

/* ---- for twins ---- */

bpg_twin_fn bpg_twin_relax, bpg_twin_add_relax, bpg_twin_add, bpg_twin_toll, bpg_twin_concretize, bpg_twin_copy, bpg_twin_start_unit;
bpg_twin_fn bpg_twin_gather, bpg_twin_gemm_dense, bpg_twin_gemm_conv, bpg_twin_map, bpg_twin_map_planes;
bpg_twin_fn bpg_twin_relax_alpha, bpg_twin_alpha_step, bpg_twin_corner, bpg_twin_forward_dense, bpg_twin_forward_conv, bpg_twin_forward_map,
        bpg_twin_weights_start;

static inline int64_t bpg_real(bool wide)
{
	return wide ? (int64_t)sizeof(double) : (int64_t)sizeof(float);
}

/* The columns of a tile, in a key. */
struct bpg_twin_columns {
	uint64_t id;
	int64_t base, stride[3];
	int32_t channels, size[2];
	struct bpg_window window;
	int32_t padding;
};
struct bpg_twin_columns bpg_twin_columns(const struct bpg_columns *k, const struct bpg_window *w);

/* Places of the columns of a tile over window `from` among those of window `to` of the same node, which holds it. */
struct bpg_cuda_spans bpg_twin_spans(const struct bpg_columns *k, const struct bpg_window *from, const struct bpg_window *to);
/* Element of each column; null: a fault is set. */
const int32_t *bpg_twin_elements(struct bpg_device *d, const struct bpg_columns *k, const struct bpg_window *w);
/* Segment of each strip; null where there is one segment (or a fault is set). */
const int32_t *bpg_twin_segments(struct bpg_device *d, const struct bpg_view_tile *t);
/* The relaxation of a tile with these planes; false: a fault is set. */
bool bpg_twin_relaxation(struct bpg_device *d, const struct bpg_arg_relax *r, const void *planes, void *tile, void *state, struct bpg_cuda_relax *p);
/* Starts: relax, after tile += second where that is not null, bounds being those of the node. */
bool bpg_twin_relax_tile(struct bpg_device *d, const struct bpg_arg_relax *r, const void *planes, void *tile, void *state, const void *second,
                         const void *bounds);
/* Starts the toll of a tile. */
bool bpg_twin_toll_tile(struct bpg_device *d, const struct bpg_arg_relax *r, const void *bounds, const void *tile, void *state);

#endif
