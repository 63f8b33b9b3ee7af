/* onnx.h - ONNX file to network. The only folder that sees protobuf-c. */
#ifndef BPG_ONNX_H
#define BPG_ONNX_H

#include "net/net.h"

/* Reads a model (also .onnx.gz). All unsupported nodes are named in one message. Owned by the caller (bpg_net_free). */
enum bpg_status bpg_onnx_load(struct bpg_ctx *ctx, const char *path, struct bpg_net **net);
enum bpg_status bpg_onnx_load_as(struct bpg_ctx *ctx, const char *path, const struct bpg_net_wish *wish, struct bpg_net **net);

/* The same for `bpgraph info`: a description that does not need every operator to be supported. Printed to `to`. */
enum bpg_status bpg_onnx_describe(struct bpg_ctx *ctx, const char *path, void *to /* FILE */);

#endif
