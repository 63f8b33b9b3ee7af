/* build.h - putting a network together, node by node, in topological order.
 *
 * What depends on constants alone is folded at once, and nodes that only rename their operand are never added, so that
 * later nodes are imported on the normal form. The reader of a file format needs nothing else. */
#ifndef BPG_BUILD_H
#define BPG_BUILD_H

#include "net/import.h"
#include "net/net.h"

/* A tensor while the network is built. */
struct bpg_value {
	const char *tensor;       /* ONNX name */
	bool known;               /* false: made by a node that could not be imported (only in descriptions) */
	int node;                 /* that makes it, -1: constant */
	struct bpg_const *value;  /* null: depends on the input */
	struct bpg_shape shape;
	enum bpg_dtype type;
};

struct bpg_build {
	struct bpg_ctx *ctx;
	struct bpg_net *net;
	int64_t node_room, input_room, output_room, shape_room;
	int64_t folded;           /* elements of folded constants so far */
	int64_t compared;         /* elements looked at to find renames */
};

/* An empty network; b->net is the caller's, to be freed with bpg_net_free also when building fails. */
enum bpg_status bpg_build_start(struct bpg_build *b, struct bpg_ctx *ctx, const char *path);

enum bpg_status bpg_build_input(struct bpg_build *b, const char *tensor, const struct bpg_shape *shape, struct bpg_value *out);

/* Imports a node. `im` holds its attributes and names, in[k] is null where an optional operand is absent. Names must live
 * as long as the network. */
enum bpg_status bpg_build_node(struct bpg_build *b, struct bpg_import *im, const struct bpg_layer *layer, int nin,
                               const struct bpg_value *const *in, const char *tensor, struct bpg_value *out);

/* A tensor as an operand. */
struct bpg_operand bpg_build_operand(const struct bpg_value *v);

enum bpg_status bpg_build_output(struct bpg_build *b, const char *tensor, const struct bpg_value *value);

/* Removes nodes that no output needs and numbers inputs and outputs. */
enum bpg_status bpg_build_finish(struct bpg_build *b);

/* ---- passes ---- */

/* True when every output element is the same element of one variable operand, whose number goes to *operand. */
bool bpg_pass_rename(struct bpg_build *b, const struct bpg_node *v, int *operand);
/* The value of a node whose operands are all constant, or that belongs to the family CONSTANT. */
enum bpg_status bpg_pass_fold(struct bpg_build *b, const struct bpg_node *v, struct bpg_const **value);
/* The node for an output that is a constant: linear, without variable operands. */
enum bpg_status bpg_pass_constant_output(struct bpg_build *b, const char *tensor, const struct bpg_value *value,
                                         struct bpg_node *v);
/* Nodes that are spelled out, or split up, before they are imported: *done says that the node has become *out. A tensor
 * times a gate of itself (Gelu, Swish, ...), and PRelu with a slope per element. */
enum bpg_status bpg_pass_gate(struct bpg_build *b, const struct bpg_import *im, int nin, const struct bpg_value *const *in,
                              const char *tensor, struct bpg_value *out, bool *done);
enum bpg_status bpg_pass_prelu(struct bpg_build *b, const struct bpg_import *im, int nin, const struct bpg_value *const *in,
                               const char *tensor, struct bpg_value *out, bool *done);
/* A tensor times itself. */
enum bpg_status bpg_pass_square(struct bpg_build *b, const struct bpg_import *im, int nin, const struct bpg_value *const *in,
                                const char *tensor, struct bpg_value *out, bool *done);
/* A constant added to a product with a constant matrix. */
enum bpg_status bpg_pass_bias(struct bpg_build *b, const struct bpg_import *im, int nin, const struct bpg_value *const *in,
                              const char *tensor, struct bpg_value *out, bool *done);
/* A tensor over the root of a mean of its squares. */
enum bpg_status bpg_pass_norm(struct bpg_build *b, const struct bpg_import *im, int nin, const struct bpg_value *const *in,
                              const char *tensor, struct bpg_value *out, bool *done);
/* Normalisations of one node, spelled out. */
enum bpg_status bpg_pass_normalization(struct bpg_build *b, const struct bpg_import *im, int nin, const struct bpg_value *const *in,
                                       const char *tensor, struct bpg_value *out, bool *done);
/* A transposed convolution. */
enum bpg_status bpg_pass_transposed(struct bpg_build *b, const struct bpg_import *im, int nin, const struct bpg_value *const *in,
                                    const char *tensor, struct bpg_value *out, bool *done);
/* A slice of fixed length at a variable position. */
enum bpg_status bpg_pass_window(struct bpg_build *b, const struct bpg_import *im, int nin, const struct bpg_value *const *in,
                                const char *tensor, struct bpg_value *out, bool *done);
/* Refuses a network that uses such a slice as anything but indices of updates. */
enum bpg_status bpg_pass_window_uses(struct bpg_ctx *ctx, const struct bpg_net *net);
/* Drops nodes that no output needs; keeps inputs. */
enum bpg_status bpg_pass_dead(struct bpg_ctx *ctx, struct bpg_net *net);

#endif
