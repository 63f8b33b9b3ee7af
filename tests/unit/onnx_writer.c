/* onnx_writer.c - small ONNX files for tests. A failure to allocate or to write ends the test. */
#include "onnx_writer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void die(const char *what)
{
	perror(what);
	abort();
}

void ow_free(struct ow *m)
{
	free(m->data);
	*m = (struct ow){ 0 };
}

void ow_raw(struct ow *m, const void *data, size_t n)
{
	if (m->n + n > m->room) {
		m->room = 2 * (m->n + n) + 64;
		m->data = realloc(m->data, m->room);
		if (!m->data)
			die("realloc");
	}
	if (n)
		memcpy(m->data + m->n, data, n);
	m->n += n;
}

void ow_varint(struct ow *m, uint64_t value)
{
	for (; value > 127; value >>= 7)
		ow_raw(m, &(uint8_t){ (uint8_t)(value | 128) }, 1);
	ow_raw(m, &(uint8_t){ (uint8_t)value }, 1);
}

static void tag(struct ow *m, int field, int type)
{
	ow_varint(m, (uint64_t)field << 3 | (uint64_t)type);
}

void ow_bytes(struct ow *m, int field, const void *data, size_t n)
{
	tag(m, field, 2);
	ow_varint(m, n);
	ow_raw(m, data, n);
}

void ow_string(struct ow *m, int field, const char *s)
{
	ow_bytes(m, field, s, strlen(s));
}

void ow_int(struct ow *m, int field, int64_t value)
{
	tag(m, field, 0);
	ow_varint(m, (uint64_t)value);
}

void ow_float(struct ow *m, int field, float value)
{
	tag(m, field, 5);
	ow_raw(m, &value, sizeof value);
}

void ow_message(struct ow *m, int field, struct ow *inner)
{
	ow_bytes(m, field, inner->data, inner->n);
	ow_free(inner);
}

/* ---- tensors ---- */

struct ow ow_tensor(const char *name, int type, int rank, const int64_t *dim)
{
	struct ow t = { 0 };
	for (int i = 0; i < rank; i++)
		ow_int(&t, 1, dim[i]);
	ow_int(&t, 2, type);
	ow_string(&t, 8, name);
	return t;
}

struct ow ow_floats(const char *name, int rank, const int64_t *dim, const float *values)
{
	struct ow t = ow_tensor(name, OW_FLOAT, rank, dim);
	size_t n = 1;
	for (int i = 0; i < rank; i++)
		n *= (size_t)dim[i];
	ow_bytes(&t, 9, values, n * sizeof *values);
	return t;
}

struct ow ow_integers(const char *name, int n, const int64_t *values)
{
	struct ow t = ow_tensor(name, OW_INT64, 1, &(int64_t){ n });
	ow_bytes(&t, 9, values, (size_t)n * sizeof *values);
	return t;
}

static void pair(struct ow *t, const char *key, const char *value)
{
	struct ow p = { 0 };
	if (!value)
		return;
	ow_string(&p, 1, key);
	ow_string(&p, 2, value);
	ow_message(t, 13, &p);
}

struct ow ow_external(const char *name, int rank, const int64_t *dim, const char *location, const char *offset, const char *length)
{
	struct ow t = ow_tensor(name, OW_FLOAT, rank, dim);
	pair(&t, "location", location);
	pair(&t, "offset", offset);
	pair(&t, "length", length);
	ow_int(&t, 14, 1);
	return t;
}

/* ---- graphs ---- */

static void names(struct ow *node, int field, const char *list)
{
	char name[256];
	int n;
	for (; sscanf(list, " %255s%n", name, &n) == 1; list += n)
		ow_string(node, field, strcmp(name, "-") ? name : "");
}

struct ow ow_node(const char *op, const char *name, const char *inputs, const char *outputs)
{
	struct ow node = { 0 };
	names(&node, 1, inputs);
	names(&node, 2, outputs);
	if (*name)
		ow_string(&node, 3, name);
	ow_string(&node, 4, op);
	return node;
}

static struct ow attribute(const char *name, int type)
{
	struct ow a = { 0 };
	ow_string(&a, 1, name);
	ow_int(&a, 20, type);
	return a;
}

void ow_attr_int(struct ow *node, const char *name, int64_t value)
{
	struct ow a = attribute(name, 2);
	ow_int(&a, 3, value);
	ow_message(node, 5, &a);
}

void ow_attr_float(struct ow *node, const char *name, float value)
{
	struct ow a = attribute(name, 1);
	ow_float(&a, 2, value);
	ow_message(node, 5, &a);
}

void ow_attr_string(struct ow *node, const char *name, const char *value)
{
	struct ow a = attribute(name, 3);
	ow_string(&a, 4, value);
	ow_message(node, 5, &a);
}

void ow_attr_ints(struct ow *node, const char *name, int n, const int64_t *values)
{
	struct ow a = attribute(name, 7);
	for (int i = 0; i < n; i++)
		ow_int(&a, 8, values[i]);
	ow_message(node, 5, &a);
}

void ow_attr_floats(struct ow *node, const char *name, int n, const float *values)
{
	struct ow a = attribute(name, 6);
	for (int i = 0; i < n; i++)
		ow_float(&a, 7, values[i]);
	ow_message(node, 5, &a);
}

void ow_attr_tensor(struct ow *node, const char *name, struct ow *tensor)
{
	struct ow a = attribute(name, 4);
	ow_message(&a, 5, tensor);
	ow_message(node, 5, &a);
}

struct ow ow_value(const char *name, int rank, const int64_t *dim)
{
	struct ow shape = { 0 }, tensor = { 0 }, type = { 0 }, value = { 0 };
	for (int i = 0; i < rank; i++) {
		struct ow d = { 0 };
		if (dim[i] == -1)
			ow_string(&d, 2, "N");
		else
			ow_int(&d, 1, dim[i]);
		ow_message(&shape, 1, &d);
	}
	ow_int(&tensor, 1, OW_FLOAT);
	ow_message(&tensor, 2, &shape);
	ow_message(&type, 1, &tensor);
	ow_string(&value, 1, name);
	ow_message(&value, 2, &type);
	return value;
}

void ow_add_node(struct ow *graph, struct ow node) { ow_message(graph, 1, &node); }
void ow_add_tensor(struct ow *graph, struct ow tensor) { ow_message(graph, 5, &tensor); }

void ow_add_input(struct ow *graph, const char *name, int rank, const int64_t *dim)
{
	struct ow v = ow_value(name, rank, dim);
	ow_message(graph, 11, &v);
}

void ow_add_output(struct ow *graph, const char *name, int rank, const int64_t *dim)
{
	struct ow v = ow_value(name, rank, dim);
	ow_message(graph, 12, &v);
}

struct ow ow_model(struct ow *graph, int opset)
{
	struct ow model = { 0 }, set = { 0 };
	ow_int(&model, 1, 8);
	ow_message(&model, 7, graph);
	if (opset) {
		ow_string(&set, 1, "");
		ow_int(&set, 2, opset);
		ow_message(&model, 8, &set);
	}
	return model;
}

void ow_write(const char *path, const void *data, size_t n)
{
	FILE *f = fopen(path, "wb");
	if (!f || fwrite(data, 1, n, f) != n || fclose(f))
		die(path);
}
