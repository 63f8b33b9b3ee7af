/* pass_window.c - a slice from s to s + n along one axis, where s depends on the input: where it begins varies, how long it is
 * does not. It becomes a node of two operands, with the axis and the length as attributes.
 *
 * Behind the end of the axis the slice would be shorter, and so would all that is computed from it. Fixed shapes stand for that
 * where it makes no difference: the slice is moved and repeated as a whole, and ends as indices of a ScatterND, which has
 * fewer updates then. Any other use is refused. */
#include <stdlib.h>
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
	if (strcmp(im->op, "Slice") || nin < 3 || !in[0] || !in[1] || !in[2] || in[1]->node < 0 || in[2]->node < 0 ||
	    im->attrs > 0 || bpg_shape_count(&in[1]->shape) != 1)
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

/* May a node stand between such a slice and a ScatterND? */
static bool carries(const struct bpg_node *v)
{
	static const char *const op[] = { "Add", "Sub", "Expand", "Concat", "Transpose" };
	for (size_t k = 0; v->layer && k < BPG_LEN(op); k++)
		if (!strcmp(v->op, op[k]))
			return true;
	return false;
}

enum bpg_status bpg_pass_window_uses(struct bpg_ctx *ctx, const struct bpg_net *net)
{
	char name[128];
	bool *moved = bpg_calloc((size_t)net->nodes, sizeof *moved);
	enum bpg_status st = moved ? BPG_OK : bpg_nomem(ctx, net->path);
	for (int i = 0; !st && i < net->nodes; i++) {
		const struct bpg_net_node *n = &net->node[i];
		bool reads = false, other = false;
		for (int k = 0; n->input < 0 && k < n->v.nin; k++)
			if (n->src[k] >= 0 && moved[n->src[k]]) {
				reads = true;
				other = other || k != 1;
			}
		bool window = n->input < 0 && n->v.nin == 2 && !strcmp(n->v.op, "Slice") && n->src[1] >= 0;
		bool ends = reads && !other && !strcmp(n->v.op, "ScatterND");
		moved[i] = window || (reads && !ends);
		if (reads && (window || (!ends && !carries(&n->v))))
			st = bpg_fail(ctx, BPG_EUNSUPPORTED,
			              "%s: node '%s': reads a slice at a variable position, which may be shorter than "
			              "it looks; re-export with fixed sizes",
			              net->path, bpg_printable(n->v.name, name));
	}
	for (int k = 0; !st && k < net->outputs; k++)
		if (moved[net->output[k]])
			st = bpg_fail(ctx, BPG_EUNSUPPORTED,
			              "%s: an output is a slice at a variable position; re-export with fixed sizes", net->path);
	free(moved);
	return st;
}
