/* wire.c - fields of a protobuf message, one after the other, every length checked. */
#include "onnx/read.h"

bool bpg_wire_varint(const uint8_t **at, const uint8_t *end, uint64_t *value)
{
	uint64_t v = 0;
	for (int shift = 0; shift < 70 && *at < end; shift += 7) {
		uint8_t b = *(*at)++;
		v |= shift < 64 ? (uint64_t)(b & 0x7f) << shift : 0;
		if (!(b & 0x80)) {
			*value = v;
			return true;
		}
	}
	return false;
}

static bool take(const uint8_t **at, const uint8_t *end, struct bpg_wire *field, uint64_t n)
{
	if (n > (uint64_t)(end - *at))
		return false;
	field->data = *at;
	field->n = (int64_t)n;
	*at += n;
	return true;
}

bool bpg_wire_next(const uint8_t **at, const uint8_t *end, struct bpg_wire *field)
{
	uint64_t tag, n;
	*field = (struct bpg_wire){ .start = *at };
	if (!bpg_wire_varint(at, end, &tag) || *at - field->start > 5 || tag >> 32 || !(tag >> 3))
		return false;
	field->number = (uint32_t)(tag >> 3);
	field->type = (int)(tag & 7);
	switch (field->type) {
	case 0:
		field->data = *at;
		if (!bpg_wire_varint(at, end, &field->value))
			return false;
		field->n = *at - field->data;
		return true;
	case 1:
		return take(at, end, field, 8);
	case 2:
		return bpg_wire_varint(at, end, &n) && take(at, end, field, n);
	case 5:
		return take(at, end, field, 4);
	default: /* groups are not used by ONNX */
		return false;
	}
}
