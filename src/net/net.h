/* net.h - a network in normal form.
 *
 * A DAG of nodes, one output tensor each, in topological order. Constants are operands, not nodes; what depends on
 * constants alone has been folded; identities are gone. Elements of a tensor are numbered row-major; a leading batch
 * dimension is there only where the ONNX file has it, and is 1. */
#ifndef BPG_NET_H
#define BPG_NET_H

#include <bpgraph/layer.h>

#include "base/base.h"

struct bpg_net_node {
	struct bpg_node v;        /* what layers see; v.layer is null for a network input */
	const char *tensor;       /* ONNX name of the output tensor */
	int *src;                 /* [v.nin] node that makes operand k, -1: constant or absent */
	const char **read;        /* [v.nin] ONNX name of operand k as this node reads it: a reshape has no node, but a name */
	int input;                /* number of the network input, -1 otherwise */
};

struct bpg_net {
	struct bpg_arena *arena;
	const char *path;
	int nodes;
	struct bpg_net_node *node;
	int inputs, *input;       /* nodes, in graph order */
	int outputs, *output;     /* nodes, in graph order; a node may stand twice */
	int64_t in_count, out_count;   /* elements, all inputs / outputs concatenated */
	int64_t *in_first, *out_first; /* [inputs], [outputs] first element of each */
	struct bpg_shape *out_shape;   /* [outputs] as the file has them: a node may have another one, since reshapes are no nodes */
	int *in_type, *out_type;       /* [inputs], [outputs] element types, by their ONNX numbers; 0: not known. null: none are */
	int64_t parameters;       /* constants of F32 or F64 in the file, elements */
	int opset;
	void *file;               /* the mapped file(s), closed with the network */
	void (*close)(void *file);
};

void bpg_net_free(struct bpg_net *net);

/* Operator sets that are read. */
#define BPG_OPSET_FIRST 7
#define BPG_OPSET_LAST 21

/* What is asked of a file beyond what it is. */
struct bpg_net_wish {
	int inputs;               /* 0: sizes that the file leaves open are 1 on the first axis, and refused elsewhere */
	const struct bpg_shape *shape; /* [inputs] where these sizes are taken */
	int tensors;
	const char *const *tensor; /* [tensors] become outputs, behind those of the file */
};

/* bpg_net_open with wishes; null: none. */
enum bpg_status bpg_net_open_as(struct bpg_ctx *ctx, const char *path, const struct bpg_net_wish *wish, struct bpg_net **net);

/* ---- several networks as one ---- */

struct bpg_net_part {
	const struct bpg_net *net; /* may stand several times */
	const char *name;         /* stands before names of tensors when there are several parts */
};

/* Networks side by side: inputs and outputs one part behind the other.
 *
 *   same   [elements of all inputs] number of an element that this one always equals, itself where there is none, and then the least
 *          one; null: all are themselves. Only those are inputs of the result, in their order
 *   pass   the elements of all inputs of all parts stand once more behind the outputs
 *
 * Where equal parts get equal operands there is one node for both. The parts are borrowed and must live longer than the result. */
enum bpg_status bpg_net_join(struct bpg_ctx *ctx, int parts, const struct bpg_net_part *part, const int64_t *same, bool pass,
                             struct bpg_net **net);

/* ---- building (src/onnx calls this) ---- */

/* Finds the first layer that lists an operator of the given domain ("" and "ai.onnx" are the same; others are listed as
 * "domain::Op"); null: unsupported. */
const struct bpg_layer *bpg_layer_find(const char *domain, const char *op);
/* The next layer that lists the operator, after `layer`: a product of two variables is another layer than one with a
 * constant. Null: no more. */
const struct bpg_layer *bpg_layer_next(const struct bpg_layer *layer, const char *op);
/* The layer of an operator that passes make, listed as "bpgraph:Op": no node of a file can name it. */
const struct bpg_layer *bpg_layer_internal(const char *op);
/* Every layer, built in order of layers.am, then added ones. */
int bpg_layer_count(void);
const struct bpg_layer *bpg_layer_get(int i);
/* Where an added layer comes from; null for built ones. */
const char *bpg_layer_source(const struct bpg_layer *layer);
/* Adds the layers of one source. Each must have all its family needs, and no operator that another source has. */
enum bpg_status bpg_layers_add(struct bpg_ctx *ctx, const char *source, int n, const struct bpg_layer *const *layer);
/* Fails with what is missing unless the layer has a name, operators, and the callbacks its family needs. */
enum bpg_status bpg_layer_check(struct bpg_ctx *ctx, const char *source, const struct bpg_layer *layer);

/* ---- concrete runs ---- */

/* Who evaluates many points: constants that would be read from their files each time stay in memory from now on, if they have no more
 * bytes than that together. */
void bpg_net_hold(const struct bpg_net *net, int64_t bytes);

/* Values of all nodes at the point x (concatenated inputs). `value[i]` is null on entry, or memory for node i's values;
 * null ones are allocated from `arena`. */
enum bpg_status bpg_net_eval(struct bpg_ctx *ctx, const struct bpg_net *net, const double *x, struct bpg_arena *arena, double **value);
/* Outputs alone, concatenated. */
enum bpg_status bpg_net_output(struct bpg_ctx *ctx, const struct bpg_net *net, const double *x, double *y);
enum bpg_status bpg_net_output_f32(struct bpg_ctx *ctx, const struct bpg_net *net, const float *x, float *y);
/* Outward intervals of the outputs on a box; with lower == upper the proof that a witness holds in real arithmetic. */
enum bpg_status bpg_net_interval(struct bpg_ctx *ctx, const struct bpg_net *net, const double *lower, const double *upper, double *lo, double *up);
/* Gradient of sum_j gy[j] * output[j] at the point whose node values are `value`. */
enum bpg_status bpg_net_gradient(struct bpg_ctx *ctx, const struct bpg_net *net, double *const *value, const double *gy, double *gx);

#endif
