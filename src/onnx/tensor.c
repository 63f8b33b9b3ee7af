/* tensor.c - constants of a model: every encoding, inside the file or beside it.
 *
 * Large float32 tensors stay where they are; they are only read through once, for NaN and infinities. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "net/const.h"
#include "onnx/read.h"

#define IN_FILE ((int64_t)64 << 10)       /* bytes from which a float32 tensor stays in its file */
#define BLOCK 16384                       /* floats checked at a time */

enum { FLOAT = 1, UINT8, INT8, UINT16, INT16, INT32, INT64, STRING, BOOL, FLOAT16, DOUBLE, UINT32, UINT64, COMPLEX64, COMPLEX128,
       BFLOAT16, UINT4 = 21, INT4 = 22 };

/* Bits of an element in raw data, the field of typed data, and the type it gets here. */
static const struct kind {
	const char *name;
	int bits, field;
	enum bpg_dtype type;
} kinds[] = {
	[FLOAT] = { "float", 32, 4, BPG_F32 },
	[UINT8] = { "uint8", 8, 5, BPG_I64 },
	[INT8] = { "int8", 8, 5, BPG_I64 },
	[UINT16] = { "uint16", 16, 5, BPG_I64 },
	[INT16] = { "int16", 16, 5, BPG_I64 },
	[INT32] = { "int32", 32, 5, BPG_I64 },
	[INT64] = { "int64", 64, 7, BPG_I64 },
	[STRING] = { "string", 0, 0, BPG_I64 },
	[BOOL] = { "bool", 8, 5, BPG_I64 },
	[FLOAT16] = { "float16", 16, 5, BPG_F32 },
	[DOUBLE] = { "double", 64, 10, BPG_F64 },
	[UINT32] = { "uint32", 32, 11, BPG_I64 },
	[UINT64] = { "uint64", 64, 11, BPG_I64 },
	[COMPLEX64] = { "complex64", 0, 0, BPG_F32 },
	[COMPLEX128] = { "complex128", 0, 0, BPG_F64 },
	[BFLOAT16] = { "bfloat16", 16, 5, BPG_F32 },
	[UINT4] = { "uint4", 4, 5, BPG_I64 },
	[INT4] = { "int4", 4, 5, BPG_I64 },
};

/* One tensor while it is read. */
struct tensor {
	struct bpg_onnx_model *m;
	const Onnx__TensorProto *t;
	const char *name;
	int code;                 /* ONNX data type */
	const struct kind *kind;
	struct bpg_shape shape;
	int64_t n;
};

static enum bpg_status fail(const struct tensor *t, enum bpg_status code, const char *what)
{
	char name[128];
	return bpg_fail(t->m->ctx, code, "%s: tensor '%s': %s", t->m->path, bpg_printable(t->name, name), what);
}

/* ---- elements ---- */

static float of_bits(uint32_t bits)
{
	float f;
	memcpy(&f, &bits, sizeof f);
	return f;
}

static float half_to_float(uint16_t h)
{
	int exponent = h >> 10 & 31, mantissa = h & 1023;
	float size = exponent == 31 ? (mantissa ? NAN : INFINITY)
	           : exponent ? ldexpf((float)(mantissa + 1024), exponent - 25) : ldexpf((float)mantissa, -24);
	return h & 0x8000 ? -size : size;
}

/* Element i of an array being filled, from the bits that a file has for it. False: it does not fit. */
static bool store(int code, uint64_t bits, void *to, int64_t i)
{
	int64_t k;
	switch (code) {
	case FLOAT: ((float *)to)[i] = of_bits((uint32_t)bits); return true;
	case FLOAT16: ((float *)to)[i] = half_to_float((uint16_t)bits); return true;
	case BFLOAT16: ((float *)to)[i] = of_bits((uint32_t)(uint16_t)bits << 16); return true;
	case DOUBLE: memcpy((double *)to + i, &bits, sizeof bits); return true;
	case UINT8: k = (uint8_t)bits; break;
	case INT8: k = (int8_t)bits; break;
	case UINT16: k = (uint16_t)bits; break;
	case INT16: k = (int16_t)bits; break;
	case INT32: k = (int32_t)bits; break;
	case UINT32: k = (uint32_t)bits; break;
	case BOOL: k = bits != 0; break;
	case UINT4: k = bits & 15; break;
	case INT4: k = (int64_t)((bits & 15) ^ 8) - 8; break;
	case UINT64:
		if (bits > INT64_MAX)
			return false;
		k = (int64_t)bits;
		break;
	default: k = (int64_t)bits; break;
	}
	((int64_t *)to)[i] = k;
	return true;
}

static uint64_t raw_bits(const uint8_t *raw, int bits, int64_t i)
{
	uint64_t v = 0;
	if (bits == 4)
		return raw[i / 2] >> (i % 2 ? 4 : 0) & 15;
	memcpy(&v, raw + i * (bits / 8), (size_t)(bits / 8));
	return v;
}

static int64_t raw_length(const struct tensor *t)
{
	return t->kind->bits == 4 ? (t->n + 1) / 2 : t->n * (t->kind->bits / 8);
}

/* ---- checks ---- */

static enum bpg_status not_finite(const struct tensor *t, int64_t i, double x)
{
	char name[128];
	return bpg_fail(t->m->ctx, BPG_ENUMERIC, "%s: tensor '%s': element %lld is %s; the network cannot be analysed",
	                t->m->path, bpg_printable(t->name, name), (long long)i, isnan(x) ? "NaN" : "infinite");
}

static enum bpg_status check_floats(const struct tensor *t, const float *x, int64_t n, int64_t first)
{
	for (int64_t i = 0; i < n; i++)
		if (!isfinite(x[i]))
			return not_finite(t, first + i, x[i]);
	return BPG_OK;
}

static enum bpg_status check_values(const struct tensor *t, enum bpg_dtype type, const void *values)
{
	if (type == BPG_F32)
		return check_floats(t, values, t->n, 0);
	for (int64_t i = 0; type == BPG_F64 && i < t->n; i++)
		if (!isfinite(((const double *)values)[i]))
			return not_finite(t, i, ((const double *)values)[i]);
	return BPG_OK;
}

/* By reads, not through the map: pages that are only passed through must not stay. */
static enum bpg_status check_file(const struct tensor *t, int fd, int64_t offset)
{
	float *block = malloc(BLOCK * sizeof *block);
	enum bpg_status st = block ? BPG_OK : bpg_nomem(t->m->ctx, t->m->path);
	for (int64_t i = 0; !st && i < t->n; i += BLOCK) {
		int64_t some = BPG_MIN(BLOCK, t->n - i);
		if (bpg_onnx_read(fd, offset + i * 4, block, some * 4))
			st = check_floats(t, block, some, i);
		else
			st = fail(t, BPG_EFILE, "cannot be read; the file may be changing");
	}
	free(block);
	return st;
}

/* ---- making the constant ---- */

static enum bpg_status finish(const struct tensor *t, struct bpg_const *c, struct bpg_value *out)
{
	if (!c)
		return bpg_nomem(t->m->ctx, t->m->path);
	*out = (struct bpg_value){ .known = true, .node = -1, .value = c, .shape = t->shape, .type = t->kind->type };
	return BPG_OK;
}

/* From an array of the element type of t->kind->type, which is malloced and taken over. */
static enum bpg_status from_values(const struct tensor *t, void *values, struct bpg_value *out)
{
	enum bpg_status st = check_values(t, t->kind->type, values);
	if (!st)
		st = finish(t, bpg_const_new(t->m->arena, t->kind->type, t->n, values), out);
	free(values);
	return st;
}

static void *new_values(const struct tensor *t)
{
	return bpg_calloc((size_t)t->n, t->kind->type == BPG_F32 ? sizeof(float) : 8);
}

static enum bpg_status from_raw(const struct tensor *t, const uint8_t *raw, struct bpg_value *out)
{
	void *values = new_values(t);
	if (!values)
		return bpg_nomem(t->m->ctx, t->m->path);
	for (int64_t i = 0; i < t->n; i++)
		if (!store(t->code, raw_bits(raw, t->kind->bits, i), values, i)) {
			free(values);
			return fail(t, BPG_EUNSUPPORTED, "has integers beyond 2^63");
		}
	return from_values(t, values, out);
}

/* Float32 bytes in an open file: they stay there. */
static enum bpg_status from_file(const struct tensor *t, int fd, int64_t offset, struct bpg_value *out)
{
	BPG_TRY(check_file(t, fd, offset));
	struct bpg_const *c = bpg_const_in_file(t->m->arena, t->n, fd, offset);
	if (c)
		c->finite_checked = true;
	return finish(t, c, out);
}

static bool stays(const struct tensor *t)
{
	return t->code == FLOAT && t->n * 4 >= IN_FILE;
}

static enum bpg_status wrong_length(const struct tensor *t, int64_t got, int64_t expected, const char *unit)
{
	char name[128];
	return bpg_fail(t->m->ctx, BPG_EFILE, "%s: tensor '%s': %lld %s of data, its shape needs %lld; the file is damaged",
	                t->m->path, bpg_printable(t->name, name), (long long)got, unit, (long long)expected);
}

/* ---- data inside the model ---- */

struct inline_data {
	const uint8_t *raw;       /* raw_data; or the only packed float_data, which has the same bytes */
	int64_t raw_n;
	int64_t typed;            /* elements in typed fields */
	int chunks;
	const uint8_t *chunk;     /* the last one, packed */
	int64_t chunk_n;
};

static bool is_data(uint32_t field)
{
	return field == 4 || field == 5 || field == 6 || field == 7 || field == 10 || field == 11;
}

/* Width of an element in a typed field; 0: varints. */
static int typed_width(uint32_t field)
{
	return field == 4 ? 4 : field == 10 ? 8 : 0;
}

/* One element of typed data at *at. */
static bool typed_bits(uint32_t field, const uint8_t **at, const uint8_t *end, uint64_t *bits)
{
	int width = typed_width(field);
	if (!width)
		return bpg_wire_varint(at, end, bits);
	if (end - *at < width)
		return false;
	*bits = 0;
	memcpy(bits, *at, (size_t)width);
	*at += width;
	return true;
}

/* Elements of one field of typed data: packed, or one of them. -1: damaged. With `to` they are stored from `first` on. */
static int64_t typed_elements(const struct tensor *t, const struct bpg_wire *f, void *to, int64_t first)
{
	const uint8_t *at = f->data, *end = f->data + f->n;
	int64_t n = 0;
	int single = f->number == 4 ? 5 : f->number == 10 ? 1 : 0;
	if (f->type != 2 && f->type != single)
		return -1;
	for (uint64_t bits; at < end; n++) {
		if (!typed_bits(f->number, &at, end, &bits))
			return -1;
		if (to && !store(t->code, bits, to, first + n))
			return -1;
	}
	return n;
}

/* Finds the data of the tensor's message and counts typed elements. */
static enum bpg_status find_data(const struct tensor *t, const uint8_t *at, const uint8_t *end, struct inline_data *d)
{
	*d = (struct inline_data){ 0 };
	for (struct bpg_wire f; at < end; ) {
		if (!bpg_wire_next(&at, end, &f))
			return fail(t, BPG_EFILE, "damaged data");
		if (f.number == 9 && f.type == 2) {
			d->raw = f.data;
			d->raw_n = f.n;
		}
		if (!is_data(f.number) || (f.type == 2 && !f.n))
			continue;
		if ((int)f.number != t->kind->field)
			return fail(t, BPG_EFILE, "has data in a field that does not belong to its type");
		int width = typed_width(f.number);
		int64_t n = width && f.type == 2 && f.n % width == 0 ? f.n / width : typed_elements(t, &f, NULL, 0);
		if (n < 0)
			return fail(t, BPG_EFILE, "damaged data");
		d->typed += n;
		d->chunks++;
		d->chunk = f.type == 2 ? f.data : NULL;
		d->chunk_n = f.n;
	}
	if (d->raw && d->raw_n && d->typed)
		return fail(t, BPG_EFILE, "has raw and typed data");
	return BPG_OK;
}

/* Typed elements; `n` of them were counted. In a 4-bit type one of int32_data holds two. */
static enum bpg_status from_typed(const struct tensor *t, const uint8_t *at, const uint8_t *end, struct bpg_value *out)
{
	void *values = new_values(t);
	if (!values)
		return bpg_nomem(t->m->ctx, t->m->path);
	int64_t n = 0;
	for (struct bpg_wire f; at < end && bpg_wire_next(&at, end, &f); ) {
		if (!is_data(f.number))
			continue;
		int64_t some = typed_elements(t, &f, values, n);
		if (some < 0) {
			free(values);
			return fail(t, BPG_EUNSUPPORTED, "has integers beyond 2^63");
		}
		n += some;
	}
	return from_values(t, values, out);
}

static enum bpg_status inline_tensor(const struct tensor *t, struct bpg_value *out)
{
	struct bpg_onnx_place place;
	if (t->t->raw_data.len != sizeof place)
		return fail(t, BPG_EFILE, "damaged data");
	memcpy(&place, t->t->raw_data.data, sizeof place);
	const uint8_t *begin = t->m->map + place.begin, *end = t->m->map + place.end;

	struct inline_data d;
	BPG_TRY(find_data(t, begin, end, &d));
	if (d.typed && t->kind->bits == 4)
		return fail(t, BPG_EUNSUPPORTED, "has 4-bit integers as typed data; only raw data is read");
	if (d.typed && d.typed != t->n)
		return wrong_length(t, d.typed, t->n, "elements");
	if (d.typed && t->code == FLOAT && d.chunks == 1 && d.chunk) {
		d.raw = d.chunk;
		d.raw_n = d.chunk_n;
	} else if (d.typed) {
		return from_typed(t, begin, end, out);
	}
	if (d.raw_n != raw_length(t))
		return wrong_length(t, d.raw_n, raw_length(t), "bytes");
	if (stays(t))
		return from_file(t, t->m->files->file[0].fd, d.raw - t->m->map, out);
	return from_raw(t, d.raw, out);
}

/* ---- external data ---- */

/* A decimal number, nothing else. */
static bool parse_number(const char *s, int64_t *to)
{
	int64_t v = 0;
	if (!*s)
		return false;
	for (; *s; s++) {
		if (*s < '0' || *s > '9' || v > (INT64_MAX - 9) / 10)
			return false;
		v = v * 10 + (*s - '0');
	}
	*to = v;
	return true;
}

static enum bpg_status external_place(const struct tensor *t, const char **location, int64_t *offset, int64_t *length)
{
	*location = NULL;
	*offset = 0;
	*length = -1;
	for (size_t i = 0; i < t->t->n_external_data; i++) {
		const Onnx__StringStringEntryProto *e = t->t->external_data[i];
		if (!e->key || !e->value)
			continue;
		if (!strcmp(e->key, "location"))
			*location = e->value;
		if ((!strcmp(e->key, "offset") && !parse_number(e->value, offset)) ||
		    (!strcmp(e->key, "length") && !parse_number(e->value, length)))
			return fail(t, BPG_EFILE, "external data with an offset or a length that is no number");
	}
	return *location ? BPG_OK : fail(t, BPG_EFILE, "external data without a location");
}

static enum bpg_status external_tensor(const struct tensor *t, struct bpg_value *out)
{
	const char *location;
	char name[128], where[128];
	int64_t offset, length, need = raw_length(t);
	int number;
	BPG_TRY(external_place(t, &location, &offset, &length));
	if (length >= 0 && length != need)
		return wrong_length(t, length, need, "bytes");
	BPG_TRY(bpg_onnx_open_external(t->m->ctx, t->m->path, t->name, location, t->m->files, &number));
	const struct bpg_onnx_fd *file = &t->m->files->file[number];
	if (offset > file->size || need > file->size - offset)
		return bpg_fail(t->m->ctx, BPG_EFILE,
		                "%s: tensor '%s' needs bytes %lld to %lld of the external file '%s', which has only %lld",
		                t->m->path, bpg_printable(t->name, name), (long long)offset, (long long)(offset + need),
		                bpg_printable(location, where), (long long)file->size);
	if (stays(t))
		return from_file(t, file->fd, offset, out);

	uint8_t *raw = bpg_calloc((size_t)need, 1);
	enum bpg_status st = raw ? BPG_OK : bpg_nomem(t->m->ctx, t->m->path);
	if (!st && !bpg_onnx_read(file->fd, offset, raw, need))
		st = fail(t, BPG_EFILE, "its external file cannot be read");
	if (!st)
		st = from_raw(t, raw, out);
	free(raw);
	return st;
}

/* ---- all ---- */

static enum bpg_status read_shape(struct tensor *t)
{
	if (t->t->n_dims > BPG_MAX_RANK)
		return fail(t, BPG_EUNSUPPORTED, "has more than 8 dimensions");
	t->shape.rank = (int)t->t->n_dims;
	for (int i = 0; i < t->shape.rank; i++)
		t->shape.dim[i] = t->t->dims[i];
	t->n = bpg_shape_count(&t->shape);
	return t->n < 0 ? fail(t, BPG_EFILE, "has a negative or an absurd size; the file is damaged") : BPG_OK;
}

static enum bpg_status read_type(struct tensor *t)
{
	char name[128];
	t->code = t->t->data_type;
	if (t->code > 0 && t->code < (int)BPG_LEN(kinds) && kinds[t->code].bits) {
		t->kind = &kinds[t->code];
		return BPG_OK;
	}
	const char *type = t->code > 0 && t->code < (int)BPG_LEN(kinds) ? kinds[t->code].name : NULL;
	return bpg_fail(t->m->ctx, BPG_EUNSUPPORTED, "%s: tensor '%s' has elements of type %d%s%s%s, which is not supported",
	                t->m->path, bpg_printable(t->name, name), t->code, type ? " (" : "", type ? type : "", type ? ")" : "");
}

enum bpg_status bpg_onnx_tensor(struct bpg_onnx_model *m, const Onnx__TensorProto *proto, const char *name, struct bpg_value *out)
{
	struct tensor t = { .m = m, .t = proto, .name = name };
	BPG_TRY(read_type(&t));
	BPG_TRY(read_shape(&t));
	if (proto->segment)
		return fail(&t, BPG_EUNSUPPORTED, "is stored in segments");
	BPG_TRY(proto->data_location == 1 ? external_tensor(&t, out) : inline_tensor(&t, out));
	if (t.kind->type != BPG_I64)
		m->parameters += t.n;
	return BPG_OK;
}
