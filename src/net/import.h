/* import.h - one ONNX node while it is imported: the attributes as plain data, so that layers see no protobuf.
 *
 * The reader fills the structure (as an automatic or arena object, never a const one), fills v->in, v->name and v->op of
 * the node, and calls bpg_import_run. */
#ifndef BPG_IMPORT_H
#define BPG_IMPORT_H

#include <bpgraph/layer.h>

#include "base/base.h"

enum bpg_attr_kind {
	BPG_ATTR_INT,
	BPG_ATTR_FLOAT,
	BPG_ATTR_STRING,
	BPG_ATTR_INTS,
	BPG_ATTR_FLOATS,
	BPG_ATTR_TENSOR,
	BPG_ATTR_OTHER,           /* graphs, strings, sparse tensors: present, but never readable */
};

/* Everything pointed to lives at least as long as the import; `tensor` as long as the network. */
struct bpg_import_attr {
	const char *name;
	enum bpg_attr_kind kind;
	int64_t i;                /* INT */
	double f;                 /* FLOAT */
	const char *s;            /* STRING, null-terminated */
	int n;                    /* INTS, FLOATS */
	const int64_t *ints;
	const float *floats;
	struct bpg_const *tensor; /* TENSOR */
	struct bpg_shape shape;
};

struct bpg_import {
	struct bpg_ctx *ctx;
	struct bpg_arena *arena;  /* of the network */
	const char *path;         /* of the model, for messages */
	const char *name, *op;    /* of the node, for messages */
	int opset;
	int output_index, output_count;
	int attrs;
	const struct bpg_import_attr *attr;
	const char *wrong;        /* an attribute that was asked for and has another type; null at the start */
};

/* Calls layer->import (or the default), then checks what no layer needs to check: attribute types, the rank and the
 * number of elements of the output. Sets v->attr, v->out (out.n too). v->layer, v->in, v->nin, v->name, v->op are given. */
enum bpg_status bpg_import_run(struct bpg_import *im, struct bpg_node *v);

#endif
