/* pass_window.c - a slice from s to s + n along one axis, where s depends on the input: where it begins varies, how long it is
 * does not. It becomes a node of two operands, with the axis and the length as attributes. */
#include <string.h>

#include "net/build.h"
#include "net/const.h"

static bool one_number(const struct bpg_value *v, double *x)
{
	if (!v || !v->value || bpg_shape_count(&v->shape) != 1)
		return false;
	*x = bpg_const_at(v->value, 0);
	return true;
}

/* n, where node `end` is node `start` plus the whole number n; 0: it is not. */
static int64_t length(const struct bpg_net *net, int start, int end)
{
	const struct bpg_net_node *n = &net->node[end];
	if (n->input >= 0 || !n->v.layer || strcmp(n->v.op, "Add") || n->v.nin != 2)
		return 0;
	int variable = n->v.in[0].value ? 1 : 0;
	const struct bpg_operand *c = &n->v.in[1 - variable];
	double x = c->value && c->n == 1 ? bpg_const_at(c->value, 0) : 0;
	return n->src[variable] == start && x >= 1 && x < 0x1p31 && x == (double)(int64_t)x ? (int64_t)x : 0;
}

enum bpg_status bpg_pass_window(struct bpg_build *b, const struct bpg_import *im, int nin, const struct bpg_value *const *in,
                                const char *tensor, struct bpg_value *out, bool *done)
{
	double axis = 0, step = 1;
	*done = false;
	if (strcmp(im->op, "Slice") || nin < 3 || !in[0] || !in[1] || !in[2] || in[1]->node < 0 || in[2]->node < 0 || im->attrs > 0 ||
	    bpg_shape_count(&in[1]->shape) != 1)
		return BPG_OK;
	if ((nin > 3 && in[3] && !one_number(in[3], &axis)) || (nin > 4 && in[4] && !one_number(in[4], &step)) || step != 1)
		return BPG_OK;
	int64_t n = length(b->net, in[1]->node, in[2]->node);
	if (n < 1 || !(axis >= -BPG_MAX_RANK && axis < BPG_MAX_RANK))
		return BPG_OK;
	struct bpg_import_attr attr[2] = { { .name = "bpg_axis", .kind = BPG_ATTR_INT, .i = (int64_t)axis },
		                           { .name = "bpg_length", .kind = BPG_ATTR_INT, .i = n } };
	struct bpg_import about = *im;
	about.attrs = 2;
	about.attr = attr;
	*done = true;
	return bpg_build_node(b, &about, bpg_layer_find("", "Slice"), 2, in, tensor, out);
}
