/* sample.h - random legal instances of layers, for the conformance suite. */
#ifndef BPG_SAMPLE_H
#define BPG_SAMPLE_H

#include "net/import.h"

/* A node that a layer has drawn. Lives in the arena. */
struct bpg_sample {
	struct bpg_arena *arena;
	struct bpg_rng rng;       /* for the values of constants */
	int fd;                   /* some constants are written here and stay there; -1: none */
	int64_t end;              /* bytes in that file */
	const char *op;
	int opset, output_index, output_count;
	double lo, up;            /* domain of the operands */
	int attrs, nin;
	struct bpg_import_attr attr[32];
	struct bpg_operand in[32];
};

/* Draws an instance of the layer and imports it. The message of a failure is in the context. */
enum bpg_status bpg_sample_node(struct bpg_ctx *ctx, struct bpg_arena *arena, const struct bpg_layer *layer, uint64_t seed,
                                int fd, struct bpg_sample *s, struct bpg_node *v);

/* Imports what was drawn, or changed since. */
enum bpg_status bpg_sample_import(struct bpg_ctx *ctx, struct bpg_sample *s, struct bpg_node *v, const struct bpg_layer *layer);

#endif
