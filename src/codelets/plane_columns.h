/* plane_columns.h - the columns of a tile as sparse planes see them. */
#ifndef BPG_PLANE_COLUMNS_H
#define BPG_PLANE_COLUMNS_H

#include "codelets/tasks.h"

/* One for each element of the tile, then one for each other plane of each element; terms are in columns of the target tile. */
struct bpg_plane_columns {
	int64_t count, others, *first; /* [count + others + 1] terms of each */
	struct bpg_plane_at *plane; /* [count + others], null: for operand 0 only */
	struct bpg_plane_term *term;
};

/* Those of a segment, from the buffers of bpg_task_map_planes (null: terms alone); replaces what was there. False when memory is short. */
bool bpg_plane_columns_set(struct bpg_plane_columns *c, const struct bpg_arg_map_planes *a, void *const *buffer, int64_t segment);
void bpg_plane_columns_free(struct bpg_plane_columns *c);

#endif
