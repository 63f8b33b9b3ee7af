/* builder.h - networks for tests, node by node: shapes are kept, weights are drawn or given, the file is temporary. */
#ifndef BUILDER_H
#define BUILDER_H

#include "base/base.h"
#include "net/net.h"

#include "../unit/onnx_writer.h"

enum { BUILD_TENSORS = 96, BUILD_OPSET = 13 };

struct build_tensor {
	char name[16];
	int rank;
	int64_t dim[4];           /* the first is the batch, 1 */
	bool read;
};

/* Tensors are numbers 0 .. tensors-1. */
struct build {
	struct ow graph;
	struct bpg_rng rng;
	double scale;             /* of drawn weights; 0: 1 */
	int tensors, constants;
	struct build_tensor t[BUILD_TENSORS];
};

void build_start(struct build *b, uint64_t seed);
int64_t build_count(const struct build *b, int x);
double build_uniform(struct build *b, double lo, double up);
int build_below(struct build *b, int n);

/* A constant; values null: drawn. Returns its name, which lives until the next 8 calls. */
const char *build_constant(struct build *b, int rank, const int64_t *dim, const float *values);

/* Any node of one output: constants and tensors by name. Attributes are added by the caller to `node` before build_add. */
struct ow build_node(struct build *b, const char *op, const char *inputs);
int build_add(struct build *b, struct ow node, int rank, const int64_t *dim);

int build_input(struct build *b, int rank, const int64_t *dim);
int build_vector(struct build *b, int64_t n);                       /* input [1,n] */
int build_dense(struct build *b, int x, int64_t outs, const float *W, const float *bias); /* Gemm, W [outs, ins]; null: drawn */
int build_unary(struct build *b, const char *op, int x);
int build_join(struct build *b, const char *op, int x, int y);      /* Add, Sub of equal shapes */
int build_scale(struct build *b, const char *op, int x, int64_t n, const float *values); /* Mul, Div, Add,
        Sub with a constant [n]; n 1 or the last axis */
int build_flatten(struct build *b, int x);

struct build_window {
	int64_t kernel[2], stride[2], pad[4], dilation[2];
};
/* Output size along spatial axis a; < 1: does not fit. */
int64_t build_out_size(const struct build_window *w, int64_t in, int a);
int build_conv(struct build *b, int x, int64_t outs, int64_t groups, const struct build_window *w, const float *W,
        const float *bias);
/* Dilation 1; extra: further places behind the output. */
int build_conv_transpose(struct build *b, int x, int64_t outs, int64_t groups, const struct build_window *w, const int64_t extra[2]);
int build_image(struct build *b, int x, const int64_t dim[3]);      /* a vector as channels, rows, columns */
int build_pool(struct build *b, const char *op, int x, const struct build_window *w, bool count_padding);
int build_batchnorm(struct build *b, int x, const float *scale, const float *shift, const float *mean, const float *var,
        float eps);
int build_slice(struct build *b, int x, int axis, int64_t from, int64_t to, int64_t step);
int build_concat(struct build *b, int x, int y, int axis);
void build_split(struct build *b, int x, int axis, int64_t first, int out[2]);

void build_output(struct build *b, int x);
/* Ends the graph. */
enum bpg_status build_net(struct build *b, struct bpg_ctx *ctx, struct bpg_net **net);

#endif
