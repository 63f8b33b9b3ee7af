/* sample.c - what layers say about a random legal instance, kept as an ONNX node. In the library, because layers refer to
 * it; the tests alone call it. Memory is not checked here: a test that runs out of it may as well stop. */
#include "net/sample.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "net/const.h"

static void *keep(struct bpg_sample *s, const void *data, size_t n, size_t size)
{
	void *to = bpg_arena_alloc(s->arena, n + 1, size);
	if (!to)
		abort();
	if (n)
		memcpy(to, data, n * size);
	return to;
}

static struct bpg_import_attr *add_attr(struct bpg_sample *s, const char *name, enum bpg_attr_kind kind)
{
	if (s->attrs == (int)BPG_LEN(s->attr))
		abort();
	struct bpg_import_attr *a = &s->attr[s->attrs++];
	*a = (struct bpg_import_attr){ .name = bpg_arena_str(s->arena, name), .kind = kind };
	return a;
}

static struct bpg_operand *add_operand(struct bpg_sample *s, int rank, const int64_t *dim)
{
	if (s->nin == (int)BPG_LEN(s->in))
		abort();
	struct bpg_operand *in = &s->in[s->nin++];
	*in = (struct bpg_operand){ .shape = { .rank = rank } };
	for (int i = 0; i < rank; i++)
		in->shape.dim[i] = dim[i];
	in->n = bpg_shape_count(&in->shape);
	return in;
}

void bpg_sample_op(struct bpg_sample *s, const char *op, int opset)
{
	s->op = bpg_arena_str(s->arena, op);
	s->opset = opset;
}

void bpg_sample_int(struct bpg_sample *s, const char *attribute, int64_t value)
{
	add_attr(s, attribute, BPG_ATTR_INT)->i = value;
}

/* ONNX keeps float32. */
void bpg_sample_float(struct bpg_sample *s, const char *attribute, double value)
{
	add_attr(s, attribute, BPG_ATTR_FLOAT)->f = (float)value;
}

void bpg_sample_string(struct bpg_sample *s, const char *attribute, const char *value)
{
	add_attr(s, attribute, BPG_ATTR_STRING)->s = bpg_arena_str(s->arena, value);
}

void bpg_sample_ints(struct bpg_sample *s, const char *attribute, int n, const int64_t *values)
{
	struct bpg_import_attr *a = add_attr(s, attribute, BPG_ATTR_INTS);
	a->n = n;
	a->ints = keep(s, values, (size_t)n, sizeof *values);
}

void bpg_sample_variable(struct bpg_sample *s, int rank, const int64_t *dim)
{
	add_operand(s, rank, dim)->type = BPG_F32;
}

/* A constant of floats, sometimes left in the file. */
static struct bpg_const *float_constant(struct bpg_sample *s, int64_t n, const double *values)
{
	struct bpg_const *c = bpg_const_from_double(s->arena, BPG_F32, n, values);
	if (!c)
		abort();
	size_t size = (size_t)n * sizeof(float);
	if (s->fd < 0 || n == 0 || c->type != BPG_F32 || bpg_rng_below(&s->rng, 3))
		return c;
	s->end += (int64_t)bpg_rng_below(&s->rng, 7);   /* unaligned */
	if (pwrite(s->fd, c->mem, size, (off_t)s->end) != (ssize_t)size)
		return c;
	struct bpg_const *filed = bpg_const_in_file(s->arena, n, s->fd, s->end);
	s->end += (int64_t)size;
	return filed ? filed : c;
}

void bpg_sample_constant(struct bpg_sample *s, int rank, const int64_t *dim, const double *values)
{
	struct bpg_operand *in = add_operand(s, rank, dim);
	bool wide = !values && bpg_rng_below(&s->rng, 8) == 0;   /* doubles that are no floats */
	double *drawn = NULL;
	if (!values) {
		values = drawn = keep(s, NULL, 0, sizeof *drawn * (size_t)(in->n + 1));
		for (int64_t i = 0; i < in->n; i++) {
			double x = bpg_rng_normal(&s->rng);
			if (x == 0)
				x = 1;
			drawn[i] = wide ? x : (float)x;
		}
	}
	in->type = wide ? BPG_F64 : BPG_F32;
	in->value = wide ? bpg_const_from_double(s->arena, BPG_F64, in->n, values) : float_constant(s, in->n, values);
	if (!in->value)
		abort();
}

void bpg_sample_integers(struct bpg_sample *s, int n, const int64_t *values)
{
	int64_t length = n;
	struct bpg_operand *in = add_operand(s, n < 0 ? 0 : 1, &length);
	in->type = BPG_I64;
	in->value = bpg_const_new(s->arena, BPG_I64, in->n, values);
	if (!in->value)
		abort();
}

void bpg_sample_outputs(struct bpg_sample *s, int count, int index)
{
	s->output_count = count;
	s->output_index = index;
}

void bpg_sample_absent(struct bpg_sample *s)
{
	int64_t none = 0;
	add_operand(s, 1, &none)->absent = true;
}

void bpg_sample_domain(struct bpg_sample *s, double lo, double up)
{
	s->lo = lo;
	s->up = up;
}

void bpg_sample_box(struct bpg_rng *rng, struct bpg_sample *s)
{
	int64_t dim[3];
	int rank = 1 + (int)bpg_rng_below(rng, 3);
	for (int i = 0; i < rank; i++)
		dim[i] = 1 + bpg_rng_below(rng, 4);
	bpg_sample_variable(s, rank, dim);
}

enum bpg_status bpg_sample_node(struct bpg_ctx *ctx, struct bpg_arena *arena, const struct bpg_layer *layer, uint64_t seed,
                                int fd, struct bpg_sample *s, struct bpg_node *v)
{
	struct bpg_rng rng;
	*s = (struct bpg_sample){ .arena = arena, .fd = fd, .opset = 13, .output_count = 1, .lo = -3, .up = 3 };
	bpg_rng_seed(&rng, seed);
	bpg_rng_seed(&s->rng, ~seed);
	s->op = bpg_arena_strn(arena, layer->ops, strcspn(layer->ops, " "));   /* until the layer says otherwise */
	(layer->sample ? layer->sample : bpg_sample_box)(&rng, s);
	return bpg_sample_import(ctx, s, v, layer);
}

enum bpg_status bpg_sample_import(struct bpg_ctx *ctx, struct bpg_sample *s, struct bpg_node *v, const struct bpg_layer *layer)
{
	struct bpg_import im = { .ctx = ctx, .arena = s->arena, .path = "sample.onnx", .name = layer->name, .op = s->op,
		                 .opset = s->opset, .output_index = s->output_index, .output_count = s->output_count,
		                 .attrs = s->attrs, .attr = s->attr };
	*v = (struct bpg_node){ .layer = layer, .name = layer->name, .op = s->op, .nin = s->nin, .in = s->in };
	return bpg_import_run(&im, v);
}
