/* layer_cast.c - conversion of types. Between float types of variables: the identity (bounds are about real numbers, a
 * network computed in another precision is another network only by rounding). Constants are converted as C does. */
#include <math.h>

#include "codelets/family.h"

/* Numbers of the ONNX data types. */
enum { FLOAT = 1, UINT8 = 2, INT8, UINT16, INT16, INT32, INT64, STRING, BOOL, FLOAT16, DOUBLE, UINT32, UINT64, BFLOAT16 = 16 };

/* The integers of a type; what does not fit is converted in many ways. */
static bool fits(int64_t to, double x)
{
	static const struct {
		double lo, up;
	} range[] = { [UINT8] = { 0, 255 }, [INT8] = { -128, 127 }, [UINT16] = { 0, 65535 }, [INT16] = { -32768, 32767 },
		      [INT32] = { -0x1p31, 0x1p31 - 1 }, [INT64] = { -0x1p63, 0x1p63 }, [UINT32] = { 0, 0x1p32 - 1 },
		      [UINT64] = { 0, 0x1p63 } };
	return trunc(x) >= range[to].lo && trunc(x) <= range[to].up;
}

static enum bpg_status check_values(const struct bpg_import *im, const struct bpg_operand *in, int64_t to)
{
	double block[256];
	for (int64_t i = 0; i < in->n; i += 256) {
		int64_t n = in->n - i < 256 ? in->n - i : 256;
		bpg_const_read(in->value, i, n, block);
		for (int64_t k = 0; k < n; k++)
			if (!fits(to, block[k]))
				return bpg_import_fail(im, BPG_EUNSUPPORTED, "%g does not fit the integer type", block[k]);
	}
	return BPG_OK;
}

static enum bpg_status cast_import(const struct bpg_import *im, struct bpg_node *v)
{
	BPG_TRY(bpg_import_operands(im, v, 1, 1));
	const struct bpg_operand *in = &v->in[0];
	int64_t *to = bpg_import_alloc(im, 1, sizeof *to);
	if (!to)
		return bpg_import_fail(im, BPG_ENOMEM, "not enough memory");
	v->attr = to;
	*to = bpg_import_int(im, "to", 0);
	v->out.shape = in->shape;
	switch (*to) {
	case DOUBLE:
		v->out.type = BPG_F64;
		break;
	case FLOAT: case FLOAT16: case BFLOAT16:
		v->out.type = BPG_F32;
		break;
	case UINT8: case INT8: case UINT16: case INT16: case INT32: case INT64: case UINT32: case UINT64:
		if (in->value)
			BPG_TRY(check_values(im, in, *to));
		v->out.type = BPG_I64;
		break;
	case BOOL:
		v->out.type = BPG_I64;
		break;
	default:
		return bpg_import_fail(im, BPG_EUNSUPPORTED, "cast to ONNX type %lld", (long long)*to);
	}
	if (!in->value && *to != FLOAT && *to != DOUBLE && (*to != INT64 || in->type != BPG_I64))
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

/* Of what is within err of x. Conversions never fall, but for that to bool. */
static double converted_error(double x, double err, int64_t to)
{
	if (to == BOOL)
		return fabs(x) <= err ? 1 : 0;
	double y = convert(x, to);
	return fmax(convert(x + err, to) - y, y - convert(x - err, to)) * (1 + 0x1p-40);
}

static void cast_terms(const struct bpg_node *v, int64_t i, struct bpg_terms *t)
{
	int64_t to = *(const int64_t *)v->attr;
	if (v->in[0].value) {
		double x = bpg_const_at(v->in[0].value, i), err = bpg_const_error(v->in[0].value, i);
		t->bias = convert(x, to);
		if (err > 0) /* conversions never fall, but for that to bool */
			t->bias_err = converted_error(x, err + fabs(x) * 0x1p-51, to);
	} else
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
