/* sliding.h - windows that slide over one or two spatial axes: sizes, pads and auto_pad of Conv and the pools. */
#ifndef BPG_SLIDING_H
#define BPG_SLIDING_H

#include "codelets/family.h"

enum bpg_auto_pad { BPG_PAD_NOTSET, BPG_PAD_VALID, BPG_PAD_SAME_UPPER, BPG_PAD_SAME_LOWER };

/* One spatial axis is axis 1 here; axis 0 is then trivial (sizes 1). */
struct bpg_sliding {
	int axes;
	int64_t in[2], out[2], kernel[2], stride[2], dilation[2];
	int64_t pad[2], pad_end[2];
	enum bpg_auto_pad mode;
};

/* Reads strides, dilations, pads, auto_pad and, when `kernel` is null, kernel_shape, for the spatial axes of `in`
 * ([N, C, ...]); out is not set. Refuses more than two axes. */
enum bpg_status bpg_sliding_import(const struct bpg_import *im, const struct bpg_shape *in, const int64_t *kernel,
                                   struct bpg_sliding *s);

/* Sets pads under auto_pad, and out, for a window that reads the input (Conv, pools). ceil: the last window may hang over. */
enum bpg_status bpg_sliding_place(const struct bpg_import *im, struct bpg_sliding *s, bool ceil);

/* auto_pad SAME of a pool where runtimes differ: dilated, or leaving inputs out at the border. After place. */
bool bpg_sliding_ambiguous(const struct bpg_sliding *s);

/* Output shape [n, c, out...]. */
void bpg_sliding_shape(const struct bpg_sliding *s, int64_t n, int64_t c, struct bpg_shape *out);

/* Random sizes for tests: fills stride, dilation, kernel, pads and a legal input; sets the attributes but kernel_shape.
 * pool: nothing ambiguous. */
void bpg_sliding_sample(struct bpg_rng *rng, struct bpg_sample *s, int axes, struct bpg_sliding *g, bool pool);

#endif
