/* layer_cast.c - conversion of types. Between float types of variables: the identity (bounds are about real numbers, a
 * network computed in another precision is another network only by rounding). Constants are converted as C does. */
#include <math.h>

#include "codelets/family.h"

/* Numbers of the ONNX data types. */
enum { FLOAT = 1, UINT8 = 2, INT8, UINT16, INT16, INT32, INT64, STRING, BOOL, FLOAT16, DOUBLE, UINT32, UINT64, BFLOAT16 = 16 };

static enum bpg_status cast_import(const struct bpg_import *im, struct bpg_node *v)
{
	BPG_TRY(bpg_import_operands(im, v, 1, 1));
	int64_t *to = bpg_import_alloc(im, 1, sizeof *to);
	if (!to)
		return bpg_import_fail(im, BPG_ENOMEM, "not enough memory");
	v->attr = to;
	*to = bpg_import_int(im, "to", 0);
	switch (*to) {
	case DOUBLE:
		v->out.type = BPG_F64;
		break;
	case FLOAT: case FLOAT16: case BFLOAT16:
		v->out.type = BPG_F32;
		break;
	case UINT8: case INT8: case UINT16: case INT16: case INT32: case INT64: case UINT32: case UINT64: case BOOL:
		v->out.type = BPG_I64;
		break;
	default:
		return bpg_import_fail(im, BPG_EUNSUPPORTED, "cast to ONNX type %lld", (long long)*to);
	}
	v->out.shape = v->in[0].shape;
	bool integer = v->out.type == BPG_I64 && v->in[0].type != BPG_I64;
	if (!v->in[0].value && (integer || *to == BOOL || *to == FLOAT16 || *to == BFLOAT16))
		return bpg_import_fail(im, BPG_EUNSUPPORTED, "cast of a tensor that depends on the input to an integer, bool or 16-bit type");
	return BPG_OK;
}

/* Nearest number with `bits` bits after the leading one, least exponent `least`. */
static double round_to(double x, int bits, int least)
{
	int exponent;
	if (x == 0 || !isfinite(x))
		return x;
	frexp(x, &exponent);
	double quantum = ldexp(1, (exponent - 1 > least ? exponent - 1 : least) - bits);
	return rint(x / quantum) * quantum;
}

static double convert(double x, int64_t to)
{
	switch (to) {
	case DOUBLE: return x;
	case FLOAT: return (float)x;
	case FLOAT16: return round_to(x, 10, -14);
	case BFLOAT16: return round_to(x, 7, -126);
	case BOOL: return x != 0;
	default: return trunc(x);
	}
}

static void cast_terms(const struct bpg_node *v, int64_t i, struct bpg_terms *t)
{
	if (v->in[0].value)
		t->bias = convert(bpg_const_at(v->in[0].value, i), *(const int64_t *)v->attr);
	else
		bpg_terms_add(t, 0, i, 1, 0);
}

static void cast_sample(struct bpg_rng *rng, struct bpg_sample *s)
{
	int64_t dim[2] = { 1 + bpg_rng_below(rng, 3), 1 + bpg_rng_below(rng, 4) };
	bpg_sample_op(s, "Cast", 13);
	bpg_sample_int(s, "to", bpg_rng_below(rng, 2) ? FLOAT : DOUBLE);
	bpg_sample_variable(s, 2, dim);
}

BPG_LINEAR_LAYER(cast, .ops = "Cast", .traits = BPG_SELECT, .import = cast_import, .terms = cast_terms, .sample = cast_sample);
