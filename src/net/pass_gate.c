/* pass_gate.c - a tensor times a gate of itself, as exporters spell activations that older opsets lack:
 *
 *   z * (1 + erf(r z))             Gelu, any r, any factors before or after: x * 0.5 * (1 + erf(x / sqrt 2)), ...
 *   z * sigmoid(r z)               Swish (SiLU)
 *   z * clip(z + 3, 0, 6)          HardSwish
 *   z * tanh(softplus(z))          Mish
 *
 * As a product the two factors would be relaxed apart; as one function of z nothing is lost. Factors and shifts are followed
 * through Mul, Div, Add, Sub and Neg with uniform constants as fractions in double; where one of them would be rounded the
 * product stays as it is. */
#include <math.h>
#include <string.h>

#include "net/build.h"
#include "net/const.h"

#define MOST_STEPS 16
#define MOST_UNIFORM (1 << 16)

/* (num * value of the node + shift) / den */
struct affine {
	int node;
	double num, shift, den;
	bool exact;
};

/* Is operand k a constant of equal elements? */
static bool uniform(const struct bpg_node *v, int k, double *c)
{
	const struct bpg_operand *in = &v->in[k];
	if (!in->value || in->n < 1 || in->n > MOST_UNIFORM || bpg_const_most_error(in->value) > 0)
		return false;
	*c = bpg_const_at(in->value, 0);
	for (int64_t i = 1; i < in->n; i++)
		if (bpg_const_at(in->value, i) != *c)
			return false;
	return isfinite(*c);
}

static double times(struct affine *a, double x, double y)
{
	double p = x * y;
	if (!isfinite(p) || fma(x, y, -p) != 0 || (p != 0 && fabs(p) < 0x1p-900))
		a->exact = false;
	return p;
}

static double plus(struct affine *a, double x, double y)
{
	double s = x + y, z = s - x;
	if ((x - (s - z)) + (y - z) != 0)
		a->exact = false;
	return s;
}

/* One node further up; false: the node is no such step. */
static bool step(const struct bpg_net *net, struct affine *a)
{
	const struct bpg_net_node *node = &net->node[a->node];
	const struct bpg_node *v = &node->v;
	double c = 0;

	if (node->input >= 0 || !v->layer)
		return false;
	if (v->nin == 1 && !strcmp(v->op, "Neg") && node->src[0] >= 0) {
		a->num = -a->num;
		a->node = node->src[0];
		return true;
	}
	bool mul = !strcmp(v->op, "Mul"), div = !strcmp(v->op, "Div"), add = !strcmp(v->op, "Add"), sub = !strcmp(v->op, "Sub");
	if (v->nin != 2 || !(mul || div || add || sub))
		return false;
	int variable = v->in[0].value ? 1 : 0;
	if (node->src[variable] < 0 || v->in[variable].n != v->out.n || !uniform(v, 1 - variable, &c))
		return false;
	if (mul) {
		a->num = times(a, a->num, c);
	} else if (div) {
		if (variable == 1 || c == 0)
			return false;
		a->den = times(a, a->den, c);
		a->shift = times(a, a->shift, c);
	} else { /* num (x + c) + shift, num (x - c) + shift, num (c - x) + shift */
		a->shift = plus(a, a->shift, times(a, a->num, sub && variable == 0 ? -c : c));
		if (sub && variable == 1)
			a->num = -a->num;
	}
	a->node = node->src[variable];
	return true;
}

static struct affine itself(int node)
{
	return (struct affine){ .node = node, .num = 1, .den = 1, .exact = true };
}

/* Is `a`, followed upward, a function of node z? */
static bool reaches(const struct bpg_net *net, struct affine *a, int z)
{
	for (int k = 0; k < MOST_STEPS && a->node != z; k++)
		if (a->node < z || !step(net, a))
			return false;
	return a->node == z && a->exact;
}

static bool is_op(const struct bpg_net *net, int node, const char *op)
{
	return node >= 0 && net->node[node].input < 0 && net->node[node].v.layer && !strcmp(net->node[node].v.op, op);
}

/* What a gate is: op of the layer that the product becomes, times factor, with the parameter num/den. */
struct found {
	const char *op, *num_name, *den_name;
	double num, den, factor;
};

/* The layers know their errors for such parameters. */
static bool is_scale(const struct affine *a, struct found *f)
{
	f->num = a->num;
	f->den = a->den;
	return a->shift == 0 && a->num / a->den >= 0.1 && a->num / a->den <= 10;
}

/* The gate (b: what is left outside) applied to z. */
static bool gate(const struct bpg_net *net, const struct affine *b, int z, struct found *f)
{
	const struct bpg_net_node *node = &net->node[b->node];
	int src = node->v.nin >= 1 && node->input < 0 ? node->src[0] : -1;
	struct affine a = itself(src);
	double lo, up;

	if (src < 0)
		return false;
	if (is_op(net, b->node, "Erf") && b->shift == b->num && reaches(net, &a, z)) {
		*f = (struct found){ .op = "Gelu", .num_name = "bpg_scale", .den_name = "bpg_divisor", .factor = 2 };
		return is_scale(&a, f);
	}
	if (b->shift != 0)
		return false;
	if (is_op(net, b->node, "Sigmoid") && reaches(net, &a, z)) {
		*f = (struct found){ .op = "Swish", .num_name = "alpha", .factor = 1 };
		double quotient = a.num / a.den; /* it has one number for it */
		bool exact = fma(quotient, a.den, -a.num) == 0;
		a.num = quotient;
		a.den = 1;
		return exact && is_scale(&a, f);
	}
	if (is_op(net, b->node, "Clip") && node->v.nin == 3 && uniform(&node->v, 1, &lo) && uniform(&node->v, 2, &up) &&
	    lo == 0 && up == 6 && reaches(net, &a, z)) {
		*f = (struct found){ .op = "HardSwish", .factor = 6 };
		return a.num == 1 && a.den == 1 && a.shift == 3;
	}
	if (is_op(net, b->node, "Tanh") && is_op(net, src, "Softplus") && net->node[src].src[0] == z) {
		*f = (struct found){ .op = "Mish", .factor = 1 };
		return true;
	}
	return false;
}

/* A product left * right; on success left is factor num/den of node z. */
static bool match(const struct bpg_net *net, int left, int right, struct affine *z, struct affine *b, struct found *f)
{
	*b = itself(right);
	for (int i = 0; i < MOST_STEPS; i++) {
		*z = itself(left);
		for (int k = 0; k < MOST_STEPS && z->shift == 0; k++) {
			if (z->exact && b->exact && gate(net, b, z->node, f))
				return true;
			if (!step(net, z))
				break;
		}
		if (!step(net, b))
			break;
	}
	return false;
}

/* ---- replacement ---- */

struct chain {
	struct bpg_build *b;
	const struct bpg_import *im;  /* the product */
	const char *tensor;
	struct bpg_value value;
};

/* The layer that was found, or (null) op with a constant. */
static enum bpg_status apply(struct chain *c, const struct found *f, const char *op, double constant, bool last)
{
	struct bpg_net *net = c->b->net;
	const struct bpg_layer *layer = bpg_layer_find("", op);
	struct bpg_import im = *c->im;
	struct bpg_value number = { .tensor = "", .known = true, .node = -1, .type = BPG_F64 }, out;
	const struct bpg_value *in[2] = { &c->value, &number };
	const char *name = last ? c->tensor : bpg_arena_str(net->arena, "");

	if (!layer)
		return bpg_fail(c->b->ctx, BPG_EUNSUPPORTED, "%s: no layer imports %s", net->path, op);
	if (!f)
		number.value = bpg_const_new(net->arena, BPG_F64, 1, &constant);
	im.op = bpg_arena_str(net->arena, op);
	if (!name || !im.op || (!f && !number.value))
		return bpg_nomem(c->b->ctx, net->path);
	struct bpg_import_attr attr[2] = { { .kind = BPG_ATTR_FLOAT }, { .kind = BPG_ATTR_FLOAT } };
	im.opset = 24;
	im.output_index = 0;
	im.output_count = 1;
	im.attrs = 0;
	im.attr = attr;
	if (f && f->num_name) {
		attr[im.attrs].name = f->num_name;
		attr[im.attrs++].f = f->num;
	}
	if (f && f->den_name) {
		attr[im.attrs].name = f->den_name;
		attr[im.attrs++].f = f->den;
	}
	BPG_TRY(bpg_build_node(c->b, &im, layer, f ? 1 : 2, in, name, &out));
	c->value = out;
	return BPG_OK;
}

enum bpg_status bpg_pass_gate(struct bpg_build *b, const struct bpg_import *im, int nin, const struct bpg_value *const *in,
                              const char *tensor, struct bpg_value *out, bool *done)
{
	struct affine z, g;
	struct found f;

	*done = false;
	if (strcmp(im->op, "Mul") || nin != 2 || !in[0] || !in[1] || in[0]->node < 0 || in[1]->node < 0 ||
	    !bpg_shape_equal(&in[0]->shape, &in[1]->shape))
		return BPG_OK;
	if (!match(b->net, in[0]->node, in[1]->node, &z, &g, &f) && !match(b->net, in[1]->node, in[0]->node, &z, &g, &f))
		return BPG_OK;
	struct affine check = itself(z.node);
	double num = times(&check, times(&check, z.num, g.num), f.factor), den = times(&check, z.den, g.den);
	if (!check.exact)
		return BPG_OK;
	const struct bpg_net_node *source = &b->net->node[z.node];
	struct chain c = { .b = b, .im = im, .tensor = tensor,
		           .value = { .tensor = source->tensor, .known = true, .node = z.node, .shape = in[0]->shape,
		                      .type = source->v.out.type } };
	if (num == den)
		num = den = 1;
	*done = true;
	BPG_TRY(apply(&c, &f, f.op, 0, num == 1 && den == 1));
	if (num != 1)
		BPG_TRY(apply(&c, NULL, "Mul", num, den == 1));
	if (den != 1)
		BPG_TRY(apply(&c, NULL, "Div", den, true));
	*out = c.value;
	return BPG_OK;
}
