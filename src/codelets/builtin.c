/* builtin.c - the table of layers. layers.def has one line for each entry of layers.am and is made by the build. */
#include <bpgraph/layer.h>

extern const struct bpg_layer *const bpg_builtin_layers[];
extern const int bpg_builtin_count;

#define BPG_BUILTIN(name) extern const struct bpg_layer bpg_layer_##name;
#include "codelets/layers.def"
#undef BPG_BUILTIN

#define BPG_BUILTIN(name) &bpg_layer_##name,
const struct bpg_layer *const bpg_builtin_layers[] = {
#include "codelets/layers.def"
	0
};
#undef BPG_BUILTIN

const int bpg_builtin_count = (int)(sizeof bpg_builtin_layers / sizeof *bpg_builtin_layers) - 1;
