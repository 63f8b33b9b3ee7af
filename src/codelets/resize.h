/* resize.h - what Resize and Upsample share: names, scales, output shape. */
#ifndef BPG_RESIZE_H
#define BPG_RESIZE_H

#include "codelets/family.h"

enum bpg_coordinates { BPG_HALF_PIXEL, BPG_PYTORCH_HALF_PIXEL, BPG_ALIGN_CORNERS, BPG_ASYMMETRIC, BPG_TF_HALF_PIXEL_FOR_NN };

/* Null-terminated, in the order of the enumeration. */
extern const char *const bpg_resize_coordinates[], *const bpg_resize_policies[];

/* Number of the attribute's value among the names. */
enum bpg_status bpg_resize_name(const struct bpg_import *im, const char *attribute, const char *otherwise, const char *const *name,
                                int *which);

/* Sets the output shape, and the scale of each axis (of those in `axes`, the others keep their size). */
enum bpg_status bpg_resize_place(const struct bpg_import *im, struct bpg_node *v, double scale[BPG_MAX_RANK]);

#endif
