/* layer_truncate.c - Cast of a variable to an integer type, toward zero, or to bool (0 or 1). What the type cannot hold is
 * converted in many ways: nothing is known of it.
 *
 * Planes: x - 1 < trunc(x) < x + 1, and on one side of 0 trunc(x) is no further from 0 than x; or constants. */
#include "codelets/plane.h"

/* Numbers of the ONNX data types. */
enum { UINT8 = 2, INT8, UINT16, INT16, INT32, INT64, BOOL = 9, UINT32 = 12, UINT64 };

static const struct bpg_range whole[] = {
	[UINT8] = { 0, 255 }, [INT8] = { -128, 127 }, [UINT16] = { 0, 65535 }, [INT16] = { -32768, 32767 },
	[INT32] = { -0x1p31, 0x1p31 - 1 }, [INT64] = { -0x1p62, 0x1p62 }, [UINT32] = { 0, 0x1p32 - 1 }, [UINT64] = { 0, 0x1p62 },
};

static enum bpg_status truncate_import(const struct bpg_import *im, struct bpg_node *v)
{
	BPG_TRY(bpg_import_same_shape(im, v));
	int64_t *to = bpg_import_alloc(im, 1, sizeof *to);
	if (!to)
		return bpg_import_fail(im, BPG_ENOMEM, "not enough memory");
	v->attr = to;
	*to = bpg_import_int(im, "to", 0);
	bool integer = (*to >= UINT8 && *to <= INT64) || *to == UINT32 || *to == UINT64;
	if (v->in[0].value || (!integer && *to != BOOL))
		return bpg_import_fail(im, BPG_EUNSUPPORTED, "cast to ONNX type %lld", (long long)*to);
	v->out.type = BPG_I64;
	return BPG_OK;
}

static enum bpg_status truncate_eval(const struct bpg_node *v, const double *const *x, double *y)
{
	for (int64_t i = 0; i < v->out.n; i++)
		y[i] = *(const int64_t *)v->attr == BOOL ? x[0][i] != 0 : trunc(x[0][i]);
	return BPG_OK;
}

static enum bpg_status truncate_gradient(const struct bpg_node *v, const double *const *x, const double *gy, double *const *gx)
{
	(void)v, (void)x, (void)gy, (void)gx;
	return BPG_OK;
}

static struct bpg_range range_of(const struct bpg_node *v, const double *const *l, const double *const *u, int64_t i)
{
	int64_t to = *(const int64_t *)v->attr;
	struct bpg_range x = bpg_range_of(v, l, u, 0, i);
	if (to == BOOL)
		return (struct bpg_range){ x.l > 0 || x.u < 0, x.l != 0 || x.u != 0 };
	struct bpg_range r = { trunc(x.l), trunc(x.u) };
	return r.l >= whole[to].l && r.u <= whole[to].u ? r : (struct bpg_range){ -INFINITY, INFINITY };
}

static enum bpg_status truncate_interval(const struct bpg_node *v, const double *const *l, const double *const *u, int64_t first,
                                         int64_t n, double *lo, double *up)
{
	for (int64_t i = 0; i < n; i++) {
		struct bpg_range r = range_of(v, l, u, first + i);
		lo[i] = r.l;
		up[i] = r.u;
	}
	return BPG_OK;
}

static void truncate_planes(const struct bpg_node *v, const double *const *l, const double *const *u, int64_t i,
                            struct bpg_terms *lower, struct bpg_terms *upper)
{
	struct bpg_range x = bpg_range_of(v, l, u, 0, i), r = range_of(v, l, u, i);
	double below = x.u <= 0 ? 0 : -1, above = x.l >= 0 ? 0 : 1, middle = bpg_range_middle(x);
	bool line = *(const int64_t *)v->attr != BOOL && isfinite(r.l) && isfinite(r.u);
	bpg_plane_constant(lower, r.l);
	bpg_plane_constant(upper, r.u);
	if (line && middle + below > r.l) {
		bpg_terms_add(lower, 0, i, 1, 0);
		lower->bias = below;
	}
	if (line && middle + above < r.u) {
		bpg_terms_add(upper, 0, i, 1, 0);
		upper->bias = above;
	}
}

/* The line where the plane is a constant, and the constant where it is the line. */
static bool truncate_others(const struct bpg_node *v, const double *const *l, const double *const *u, int64_t i, int side, int which,
			    struct bpg_terms *t)
{
	struct bpg_range x = bpg_range_of(v, l, u, 0, i), r = range_of(v, l, u, i);
	if (*(const int64_t *)v->attr == BOOL || which > 1)
		return false;
	bpg_plane_constant(t, side ? r.u : r.l);
	if (which == 0) {
		bpg_terms_add(t, 0, i, 1, 0);
		t->bias = side ? (x.l >= 0 ? 0 : 1) : x.u <= 0 ? 0 : -1;
	}
	return isfinite(r.l) && isfinite(r.u);
}

static void truncate_sample(struct bpg_rng *rng, struct bpg_sample *s)
{
	static const int64_t to[] = { INT32, INT64, BOOL, INT8 };
	bpg_sample_op(s, "Cast", 13);
	bpg_sample_int(s, "to", to[bpg_rng_below(rng, 4)]);
	bpg_sample_box(rng, s);
}

BPG_GENERAL_LAYER(truncate, .ops = "Cast", .traits = BPG_NEEDS_SMOOTH, .import = truncate_import, .eval = truncate_eval,
                  .interval = truncate_interval, .gradient = truncate_gradient, .planes = truncate_planes,
                  .others = truncate_others,
                  .sample = truncate_sample);
