/* read.h - parts of the ONNX reader. Only for files of this folder. */
#ifndef BPG_ONNX_READ_H
#define BPG_ONNX_READ_H

#include "net/build.h"
#include "onnx/onnx.h"
#include "onnx/onnx.pb-c.h"

/* ---- files (file.c) ---- */

/* Open files of a network: the model, and its external data. Closed with the network. */
struct bpg_onnx_files {
	int n;
	int64_t room;
	struct bpg_onnx_fd {
		int fd;
		int64_t size;
		uint64_t device, inode;
	} *file;                  /* the first one is the model */
};

struct bpg_onnx_files *bpg_onnx_files_new(void);
void bpg_onnx_files_close(void *files);

/* Opens the model, unpacked first when it is compressed. */
enum bpg_status bpg_onnx_open(struct bpg_ctx *ctx, const char *path, struct bpg_onnx_files *files);
/* Opens a file of external data: `location` must stay inside the folder of the model. *number in `files`. */
enum bpg_status bpg_onnx_open_external(struct bpg_ctx *ctx, const char *path, const char *tensor, const char *location,
                                       struct bpg_onnx_files *files, int *number);
/* All bytes, or false. */
bool bpg_onnx_read(int fd, int64_t offset, void *to, int64_t n);

/* ---- protobuf (wire.c, scan.c) ---- */

/* One field of a message. */
struct bpg_wire {
	uint32_t number;
	int type;                 /* 0 varint, 1 eight bytes, 2 bytes, 5 four bytes */
	const uint8_t *start;     /* of its tag */
	const uint8_t *data;      /* after tag and length; the value itself for types 1 and 5 */
	int64_t n;                /* bytes of data */
	uint64_t value;           /* type 0 */
};

/* Reads the field at *at and moves on; false when it is damaged or reaches past `end`. */
bool bpg_wire_next(const uint8_t **at, const uint8_t *end, struct bpg_wire *field);
bool bpg_wire_varint(const uint8_t **at, const uint8_t *end, uint64_t *value);

/* The model without what is large or not needed. The raw_data of each tensor is replaced by the struct bpg_onnx_place of
 * its message. *rest is malloced. */
struct bpg_onnx_place {
	int64_t begin, end;       /* bytes of the file */
};
enum bpg_status bpg_onnx_scan(struct bpg_ctx *ctx, const char *path, const uint8_t *data, int64_t size, uint8_t **rest,
                              int64_t *length);

/* ---- the model while it is read ---- */

struct bpg_onnx_model {
	struct bpg_ctx *ctx;
	const char *path;
	struct bpg_onnx_files *files;
	const uint8_t *map;       /* the model, mapped */
	int64_t size;
	Onnx__ModelProto *proto;
	int opset;
	struct bpg_arena *arena;  /* of the network */
	int64_t parameters;
	const struct bpg_net_wish *wish; /* null: none */
};

/* Begins a network and opens the file, which the network closes. ctx and path are given. */
enum bpg_status bpg_onnx_begin(struct bpg_onnx_model *m, struct bpg_build *b);
/* Maps, scans and parses; checks opset and that there is a graph. Fields files and arena are given. */
enum bpg_status bpg_onnx_parse(struct bpg_onnx_model *m);
void bpg_onnx_parse_end(struct bpg_onnx_model *m);

/* ONNX's own domain has two names. */
bool bpg_onnx_is_default(const char *domain);
/* Version of a domain's operators; 1 where the file says none. */
int bpg_onnx_opset(const struct bpg_onnx_model *m, const char *domain);

/* ---- tensors (tensor.c) ---- */

/* A constant. `name` is for messages. NaN and infinities are refused. */
enum bpg_status bpg_onnx_tensor(struct bpg_onnx_model *m, const Onnx__TensorProto *t, const char *name, struct bpg_value *out);

/* ---- attributes (attr.c) ---- */

/* Attributes of a node as plain data; what they point to lives in `scratch`, in the parsed model or in the network. */
enum bpg_status bpg_onnx_attributes(struct bpg_onnx_model *m, const Onnx__NodeProto *node, const char *label,
                                    struct bpg_arena *scratch, struct bpg_import *im);
/* Value of a Constant node. */
enum bpg_status bpg_onnx_constant(struct bpg_onnx_model *m, const struct bpg_import *im, struct bpg_value *out);

/* ---- the graph (graph.c) ---- */

enum bpg_onnx_made { BPG_ONNX_NOBODY, BPG_ONNX_INPUT, BPG_ONNX_INITIALIZER, BPG_ONNX_NODE };

/* Who makes a tensor. */
struct bpg_onnx_maker {
	enum bpg_onnx_made made;
	int number;               /* of the input, initialiser or node */
	int value;                /* where its struct bpg_value is */
};

struct bpg_onnx_graph {
	struct bpg_onnx_model *model;
	Onnx__GraphProto *proto;
	int nodes, values;
	int *first_value;         /* [nodes] value of output 0 of a node */
	char **label;             /* [nodes] name, or OP_number */
	struct bpg_onnx_maker **in; /* [nodes][n_input], made NOBODY: absent */
	int outputs;              /* of the graph, then tensors that are wished for */
	struct bpg_onnx_maker *out; /* [outputs] */
	bool *constant_input;     /* [n_input] an initialiser, which old files list among the inputs */
	bool *needed;             /* [nodes] */
	bool *used;               /* [values] */
	int *order;               /* [ordered] needed nodes, operands first */
	int ordered;
};

/* Resolves names, finds what the outputs need, and its order. */
enum bpg_status bpg_onnx_graph_init(struct bpg_onnx_model *m, struct bpg_arena *arena, struct bpg_onnx_graph *g);
/* Is there a layer for it? Constant is read here, not by a layer. */
const struct bpg_layer *bpg_onnx_layer(const Onnx__NodeProto *node);
bool bpg_onnx_is_constant(const Onnx__NodeProto *node);
bool bpg_onnx_supported(const Onnx__NodeProto *node);
/* Name of output k. */
const char *bpg_onnx_output_name(const struct bpg_onnx_graph *g, int k);
/* Shape of a graph input; `number` among those that are no constants. */
enum bpg_status bpg_onnx_input_shape(struct bpg_onnx_model *m, const Onnx__ValueInfoProto *input, int number, struct bpg_shape *shape);

/* ---- nodes (nodes.c) ---- */

/* Fills value[] of all needed nodes. tolerant: a node that cannot be imported leaves its value unknown and its message in
 * why[node] (from `arena`), instead of ending the import. */
enum bpg_status bpg_onnx_import(struct bpg_onnx_graph *g, struct bpg_build *b, struct bpg_arena *arena, bool tolerant,
                                struct bpg_value *value, const char **why);

#endif
