/* onnx_writer.h - small ONNX files for tests, written field by field: also ones that no exporter would write. */
#ifndef ONNX_WRITER_H
#define ONNX_WRITER_H

#include <stddef.h>
#include <stdint.h>

/* A growing protobuf message. Starts as all zeros; memory is freed by ow_free, or by the call that takes it over. */
struct ow {
	uint8_t *data;
	size_t n, room;
};

void ow_free(struct ow *m);

/* ---- fields ---- */

void ow_bytes(struct ow *m, int field, const void *data, size_t n);
void ow_string(struct ow *m, int field, const char *s);
void ow_int(struct ow *m, int field, int64_t value);
void ow_float(struct ow *m, int field, float value);
/* A message inside; `inner` is freed. */
void ow_message(struct ow *m, int field, struct ow *inner);
/* Raw wire data, for damaged files. */
void ow_varint(struct ow *m, uint64_t value);
void ow_raw(struct ow *m, const void *data, size_t n);

/* ---- tensors ---- */

enum { OW_FLOAT = 1, OW_UINT8, OW_INT8, OW_UINT16, OW_INT16, OW_INT32, OW_INT64, OW_STRING, OW_BOOL, OW_FLOAT16, OW_DOUBLE,
       OW_UINT32,
       OW_UINT64, OW_COMPLEX64, OW_COMPLEX128, OW_BFLOAT16, OW_UINT4 = 21, OW_INT4 = 22 };

/* Name, type and shape; the data is added by the caller (field 9: raw). */
struct ow ow_tensor(const char *name, int type, int rank, const int64_t *dim);
struct ow ow_floats(const char *name, int rank, const int64_t *dim, const float *values);
struct ow ow_integers(const char *name, int n, const int64_t *values);
/* External data; offset and length may be null. */
struct ow ow_external(const char *name, int rank, const int64_t *dim, const char *location, const char *offset,
                      const char *length);

/* ---- graphs ---- */

/* Names blank separated, "-" for an empty one. Attributes are added to the result. */
struct ow ow_node(const char *op, const char *name, const char *inputs, const char *outputs);
void ow_attr_int(struct ow *node, const char *name, int64_t value);
void ow_attr_float(struct ow *node, const char *name, float value);
void ow_attr_string(struct ow *node, const char *name, const char *value);
void ow_attr_ints(struct ow *node, const char *name, int n, const int64_t *values);
void ow_attr_floats(struct ow *node, const char *name, int n, const float *values);
void ow_attr_tensor(struct ow *node, const char *name, struct ow *tensor);

/* A dimension of -1 is symbolic ("N"). */
struct ow ow_value(const char *name, int rank, const int64_t *dim);

void ow_add_node(struct ow *graph, struct ow node);
void ow_add_tensor(struct ow *graph, struct ow tensor);
void ow_add_input(struct ow *graph, const char *name, int rank, const int64_t *dim);
void ow_add_output(struct ow *graph, const char *name, int rank, const int64_t *dim);

/* The model; the graph is freed. Operator set 0: none is named. */
struct ow ow_model(struct ow *graph, int opset);

void ow_write(const char *path, const void *data, size_t n);

#endif
