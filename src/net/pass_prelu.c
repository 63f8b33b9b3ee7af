/* pass_prelu.c - PRelu with a slope per element: y = s x + (1 - s) relu(x).
 *
 * Lines of the sum are those of the function itself, since s x is linear: nothing is lost. With one slope for all it is
 * a LeakyRelu and stays. */
#include <math.h>
#include <string.h>

#include "net/build.h"
#include "net/const.h"

static bool is_uniform(const struct bpg_value *s)
{
	int64_t n = bpg_shape_count(&s->shape);
	for (int64_t i = 1; i < n; i++)
		if (bpg_const_at(s->value, i) != bpg_const_at(s->value, 0))
			return false;
	return true;
}

/* 1 - s, exactly; null when short of memory or not exact. */
static struct bpg_const *complement(struct bpg_build *b, const struct bpg_value *s, bool *exact)
{
	int64_t n = bpg_shape_count(&s->shape);
	double *c = bpg_arena_alloc(b->net->arena, (size_t)n, sizeof *c);
	*exact = true;
	for (int64_t i = 0; c && i < n; i++) {
		double x = bpg_const_at(s->value, i);
		c[i] = 1 - x;
		*exact = *exact && isfinite(x) && 1 - c[i] == x;
	}
	return c && *exact ? bpg_const_new(b->net->arena, BPG_F64, n, c) : NULL;
}

static enum bpg_status add_node(struct bpg_build *b, const struct bpg_import *like, const char *op, const struct bpg_value *x,
                            const struct bpg_value *y, const char *tensor, struct bpg_value *out)
{
	const struct bpg_layer *layer = bpg_layer_find("", op);
	const struct bpg_value *in[2] = { x, y };
	struct bpg_import im = *like;

	if (!layer)
		return bpg_fail(b->ctx, BPG_EUNSUPPORTED, "%s: no layer imports %s", b->net->path, op);
	im.op = bpg_arena_str(b->net->arena, op);
	if (!im.op)
		return bpg_nomem(b->ctx, b->net->path);
	im.opset = 13;
	return bpg_build_node(b, &im, layer, y ? 2 : 1, in, tensor, out);
}

enum bpg_status bpg_pass_prelu(struct bpg_build *b, const struct bpg_import *im, int nin, const struct bpg_value *const *in,
                               const char *tensor, struct bpg_value *out, bool *done)
{
	*done = false;
	if (strcmp(im->op, "PRelu") || nin != 2 || !in[0] || !in[1] || in[0]->node < 0 || !in[1]->value || is_uniform(in[1]))
		return BPG_OK;
	bool exact;
	struct bpg_value rest = *in[1], line, relu, part;
	rest.type = BPG_F64;
	rest.value = complement(b, in[1], &exact);
	if (!exact || bpg_const_most_error(in[1]->value) > 0)
		return bpg_import_fail(im, BPG_EUNSUPPORTED,
		                       "a slope s that is tiny or not finite: 1 - s must be exact in double");
	if (!rest.value)
		return bpg_nomem(b->ctx, b->net->path);
	*done = true;
	BPG_TRY(add_node(b, im, "Mul", in[0], in[1], "", &line));
	BPG_TRY(add_node(b, im, "Relu", in[0], NULL, "", &relu));
	BPG_TRY(add_node(b, im, "Mul", &relu, &rest, "", &part));
	return add_node(b, im, "Add", &line, &part, tensor, out);
}
