/* builder.c - see builder.h. */
#include "builder.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "onnx/onnx.h"

static void die(const char *what)
{
	fprintf(stderr, "builder: %s\n", what);
	abort();
}

void build_start(struct build *b, uint64_t seed)
{
	memset(b, 0, sizeof *b);
	bpg_rng_seed(&b->rng, seed);
}

double build_uniform(struct build *b, double lo, double up)
{
	return lo + (up - lo) * bpg_rng_uniform(&b->rng);
}

int build_below(struct build *b, int n)
{
	return (int)bpg_rng_below(&b->rng, n);
}

static int64_t count(int rank, const int64_t *dim)
{
	int64_t n = 1;

	for (int i = 0; i < rank; i++)
		n *= dim[i];
	return n;
}

int64_t build_count(const struct build *b, int x)
{
	return count(b->t[x].rank, b->t[x].dim);
}

/* Drawn weights keep values of a layer near 1: variance 1/fan. */
const char *build_constant(struct build *b, int rank, const int64_t *dim, const float *values)
{
	static char names[8][16];
	char *name = names[b->constants % 8];
	int64_t n = count(rank, dim), fan = rank > 1 ? n / dim[0] : 4;
	float *drawn = NULL;

	snprintf(name, sizeof names[0], "c%d", b->constants++);
	if (!values) {
		drawn = malloc((size_t)(n + 1) * sizeof *drawn);
		if (!drawn)
			die("memory is short");
		for (int64_t i = 0; i < n; i++)
			drawn[i] = (float)((b->scale > 0 ? b->scale : 1) * bpg_rng_normal(&b->rng) * sqrt(1.5 / (double)fan));
	}
	ow_add_tensor(&b->graph, ow_floats(name, rank, dim, drawn ? drawn : values));
	free(drawn);
	return name;
}

static int tensor(struct build *b, int rank, const int64_t *dim)
{
	struct build_tensor *t = &b->t[b->tensors];

	if (b->tensors == BUILD_TENSORS)
		die("too many tensors");
	snprintf(t->name, sizeof t->name, "t%d", b->tensors);
	t->rank = rank;
	for (int i = 0; i < rank; i++)
		t->dim[i] = dim[i];
	return b->tensors++;
}

struct ow build_node(struct build *b, const char *op, const char *inputs)
{
	char out[16];

	snprintf(out, sizeof out, "t%d", b->tensors);
	return ow_node(op, out, inputs, out);
}

int build_add(struct build *b, struct ow node, int rank, const int64_t *dim)
{
	ow_add_node(&b->graph, node);
	return tensor(b, rank, dim);
}

/* A node that reads tensor x, then what `more` names. */
static struct ow reads(struct build *b, const char *op, int x, const char *more)
{
	char inputs[128];

	b->t[x].read = true;
	snprintf(inputs, sizeof inputs, "%s %s", b->t[x].name, more);
	return build_node(b, op, inputs);
}

int build_input(struct build *b, int rank, const int64_t *dim)
{
	int x = tensor(b, rank, dim);

	ow_add_input(&b->graph, b->t[x].name, rank, dim);
	return x;
}

int build_vector(struct build *b, int64_t n)
{
	return build_input(b, 2, (int64_t[]){ 1, n });
}

int build_dense(struct build *b, int x, int64_t outs, const float *W, const float *bias)
{
	char more[64];
	const char *w = build_constant(b, 2, (int64_t[]){ outs, b->t[x].dim[1] }, W), *c = build_constant(b, 1, &outs, bias);

	snprintf(more, sizeof more, "%s %s", w, c);
	struct ow node = reads(b, "Gemm", x, more);
	ow_attr_int(&node, "transB", 1);
	return build_add(b, node, 2, (int64_t[]){ 1, outs });
}

int build_unary(struct build *b, const char *op, int x)
{
	return build_add(b, reads(b, op, x, ""), b->t[x].rank, b->t[x].dim);
}

int build_join(struct build *b, const char *op, int x, int y)
{
	b->t[y].read = true;
	return build_add(b, reads(b, op, x, b->t[y].name), b->t[x].rank, b->t[x].dim);
}

int build_scale(struct build *b, const char *op, int x, int64_t n, const float *values)
{
	const char *c = build_constant(b, 1, &n, values);

	return build_add(b, reads(b, op, x, c), b->t[x].rank, b->t[x].dim);
}

int build_flatten(struct build *b, int x)
{
	struct ow node = reads(b, "Flatten", x, "");

	ow_attr_int(&node, "axis", 1);
	return build_add(b, node, 2, (int64_t[]){ 1, build_count(b, x) });
}

/* ---- windows ---- */

int64_t build_out_size(const struct build_window *w, int64_t in, int a)
{
	int64_t room = in + w->pad[a] + w->pad[2 + a] - (w->dilation[a] * (w->kernel[a] - 1) + 1);

	return room < 0 ? 0 : room / w->stride[a] + 1;
}

static void window_attributes(struct ow *node, const struct build_window *w, bool dilations)
{
	ow_attr_ints(node, "kernel_shape", 2, w->kernel);
	ow_attr_ints(node, "strides", 2, w->stride);
	ow_attr_ints(node, "pads", 4, w->pad);
	if (dilations)
		ow_attr_ints(node, "dilations", 2, w->dilation);
}

int build_conv(struct build *b, int x, int64_t outs, int64_t groups, const struct build_window *w, const float *W,
        const float *bias)
{
	char more[64];
	const struct build_tensor t = b->t[x];
	const char *k = build_constant(b, 4, (int64_t[]){ outs, t.dim[1] / groups, w->kernel[0], w->kernel[1] }, W),
	        *c = build_constant(b, 1, &outs, bias);

	snprintf(more, sizeof more, "%s %s", k, c);
	struct ow node = reads(b, "Conv", x, more);
	window_attributes(&node, w, true);
	ow_attr_int(&node, "group", groups);
	return build_add(b, node, 4, (int64_t[]){ 1, outs, build_out_size(w, t.dim[2], 0), build_out_size(w, t.dim[3], 1) });
}

int build_conv_transpose(struct build *b, int x, int64_t outs, int64_t groups, const struct build_window *w, const int64_t extra[2])
{
	struct build_tensor t = b->t[x];
	char more[40];
	const char *k = build_constant(b, 4, (int64_t[]){ t.dim[1], outs / groups, w->kernel[0], w->kernel[1] }, NULL), *c = build_constant(b, 1, &outs, NULL);
	int64_t dim[4] = { 1, outs };

	snprintf(more, sizeof more, "%s %s", k, c);
	struct ow node = reads(b, "ConvTranspose", x, more);
	window_attributes(&node, w, false);
	ow_attr_int(&node, "group", groups);
	ow_attr_ints(&node, "output_padding", 2, extra);
	for (int a = 0; a < 2; a++)
		dim[2 + a] = w->stride[a] * (t.dim[2 + a] - 1) + extra[a] + w->kernel[a] - w->pad[a] - w->pad[2 + a];
	return build_add(b, node, 4, dim);
}

int build_pool(struct build *b, const char *op, int x, const struct build_window *w, bool count_padding)
{
	struct ow node = reads(b, op, x, "");
	const struct build_tensor *t = &b->t[x];
	bool max = !strcmp(op, "MaxPool");

	window_attributes(&node, w, max);
	if (!max)
		ow_attr_int(&node, "count_include_pad", count_padding);
	return build_add(b, node, 4, (int64_t[]){ 1, t->dim[1], build_out_size(w, t->dim[2], 0), build_out_size(w, t->dim[3], 1) });
}

int build_batchnorm(struct build *b, int x, const float *scale, const float *shift, const float *mean, const float *var,
        float eps)
{
	char more[80];
	int64_t n = b->t[x].dim[1];
	const char *s = build_constant(b, 1, &n, scale), *t = build_constant(b, 1, &n, shift), *m = build_constant(b, 1, &n, mean),
	        *v = build_constant(b, 1, &n, var);

	snprintf(more, sizeof more, "%s %s %s %s", s, t, m, v);
	struct ow node = reads(b, "BatchNormalization", x, more);
	ow_attr_float(&node, "epsilon", eps);
	return build_add(b, node, b->t[x].rank, b->t[x].dim);
}

/* ---- moving elements ---- */

static const char *integer(struct build *b, int64_t value)
{
	static char names[8][16];
	char *name = names[b->constants % 8];

	snprintf(name, sizeof names[0], "i%d", b->constants++);
	ow_add_tensor(&b->graph, ow_integers(name, 1, &value));
	return name;
}

int build_image(struct build *b, int x, const int64_t dim[3])
{
	int64_t shape[4] = { 1, dim[0], dim[1], dim[2] };
	char name[16];

	snprintf(name, sizeof name, "i%d", b->constants++);
	ow_add_tensor(&b->graph, ow_integers(name, 4, shape));
	return build_add(b, reads(b, "Reshape", x, name), 4, shape);
}

int build_slice(struct build *b, int x, int axis, int64_t from, int64_t to, int64_t step)
{
	char more[80];
	const char *f = integer(b, from), *t = integer(b, to), *a = integer(b, axis), *s = integer(b, step);
	int64_t dim[4];

	snprintf(more, sizeof more, "%s %s %s %s", f, t, a, s);
	memcpy(dim, b->t[x].dim, sizeof dim);
	if (to < -dim[axis]) /* backwards to the start */
		to = -1;
	dim[axis] = (to - from + step - (step > 0 ? 1 : -1)) / step;
	return build_add(b, reads(b, "Slice", x, more), b->t[x].rank, dim);
}

int build_concat(struct build *b, int x, int y, int axis)
{
	struct ow node = reads(b, "Concat", x, b->t[y].name);
	int64_t dim[4];

	b->t[y].read = true;
	ow_attr_int(&node, "axis", axis);
	memcpy(dim, b->t[x].dim, sizeof dim);
	dim[axis] += b->t[y].dim[axis];
	return build_add(b, node, b->t[x].rank, dim);
}

void build_split(struct build *b, int x, int axis, int64_t first, int out[2])
{
	char name[16], outs[32], inputs[40];
	int64_t dim[4], sizes[2] = { first, b->t[x].dim[axis] - first };
	int rank = b->t[x].rank;

	snprintf(name, sizeof name, "s%d", b->constants++);
	ow_add_tensor(&b->graph, ow_integers(name, 2, sizes));
	snprintf(outs, sizeof outs, "t%d t%d", b->tensors, b->tensors + 1);
	snprintf(inputs, sizeof inputs, "%s %s", b->t[x].name, name);
	struct ow node = ow_node("Split", "", inputs, outs);
	ow_attr_int(&node, "axis", axis);
	b->t[x].read = true;
	ow_add_node(&b->graph, node);
	memcpy(dim, b->t[x].dim, sizeof dim);
	for (int i = 0; i < 2; i++) {
		dim[axis] = sizes[i];
		out[i] = tensor(b, rank, dim);
	}
}

/* ---- the end ---- */

void build_output(struct build *b, int x)
{
	b->t[x].read = true;
	ow_add_output(&b->graph, b->t[x].name, b->t[x].rank, b->t[x].dim);
}

enum bpg_status build_net(struct build *b, struct bpg_ctx *ctx, struct bpg_net **net)
{
	char path[] = "/tmp/bpgraph-built-XXXXXX";
	int fd = mkstemp(path);
	struct ow model = ow_model(&b->graph, BUILD_OPSET);

	if (fd < 0)
		die("no temporary file");
	close(fd);
	ow_write(path, model.data, model.n);
	ow_free(&model);
	enum bpg_status st = bpg_onnx_load(ctx, path, net);
	unlink(path);
	return st;
}
