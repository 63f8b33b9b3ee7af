/* pass_norm.c - a tensor over the root of a mean of its own squares, as exporters spell normalisations that older opsets lack:
 *
 *   d / sqrt(m(d * d) + e)         e >= 0; m linear with coefficients c >= 0: ReduceMean, ReduceSum, ...
 *
 * Then |y_i| <= 1/sqrt(c_i), c_i the coefficient of d_i^2 in its own divisor, whatever d is: sqrt(n) for a mean of n. As a
 * plain quotient nothing would be known where the variance may be near 0. The division stays what it is, with this bound
 * as an attribute of its own. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "net/build.h"
#include "net/const.h"

#define MOST_TERMS ((int64_t)1 << 26)

static const struct bpg_net_node *node_of(const struct bpg_net *net, int node, const char *op)
{
	const struct bpg_net_node *n = node >= 0 ? &net->node[node] : NULL;
	return n && n->input < 0 && n->v.layer && n->v.nin > 0 && !strcmp(n->v.op, op) ? n : NULL;
}

static bool is_square(const struct bpg_net *net, int node, int of)
{
	const struct bpg_net_node *n = node_of(net, node, "Pow");
	return n && n->v.nin == 2 && n->src[0] == of && n->v.in[0].n == n->v.out.n && n->v.in[1].value && n->v.in[1].n == 1 &&
	       bpg_const_at(n->v.in[1].value, 0) == 2 && bpg_const_error(n->v.in[1].value, 0) == 0;
}

/* Below an Add of a constant that is nowhere negative. */
static int skip_epsilon(const struct bpg_net *net, int node)
{
	const struct bpg_net_node *n = node_of(net, node, "Add");
	if (!n || n->v.nin != 2)
		return node;
	int variable = n->v.in[0].value ? 1 : 0;
	const struct bpg_operand *e = &n->v.in[1 - variable];
	if (!e->value || e->n > MOST_TERMS || n->v.in[variable].n != n->v.out.n)
		return node;
	for (int64_t i = 0; i < e->n; i++)
		if (!(bpg_const_at(e->value, i) >= bpg_const_error(e->value, i)))
			return node;
	return n->src[variable];
}

/* Least coefficient of an element of d in its own sum of squares; 0: not all are there, or another one is negative. */
static double least_own(const struct bpg_node *m, const struct bpg_shape *d, const struct bpg_shape *s)
{
	int64_t n = bpg_shape_count(d);
	double least = INFINITY, *own = bpg_calloc((size_t)n, sizeof *own);
	int64_t *row = bpg_calloc((size_t)n, sizeof *row), added = 0;
	struct bpg_terms t;

	bpg_terms_init(&t);
	bool ok = own && row;
	for (int64_t j = 0; ok && j < m->out.n; j++) {
		bpg_terms_reset(&t);
		m->layer->terms(m, j, &t);
		added += t.n;
		ok = !t.failed && added < MOST_TERMS && t.bias - t.bias_err >= 0;
		for (int k = 0; ok && k < t.n; k++) {
			double c = bpg_next_down(t.coef[k] - t.err[k]);
			if (t.coef[k] == 0 && t.err[k] == 0)
				continue;
			ok = c > 0 && t.index[k] < n && own[t.index[k]] == 0;
			if (ok) {
				own[t.index[k]] = c;
				row[t.index[k]] = j;
			}
		}
	}
	for (int64_t i = 0; ok && i < n; i++) {
		ok = own[i] > 0 && row[i] == bpg_broadcast_index(s, d, i);
		least = fmin(least, own[i]);
	}
	bpg_terms_fini(&t);
	free(own);
	free(row);
	return ok ? least : 0;
}

enum bpg_status bpg_pass_norm(struct bpg_build *b, const struct bpg_import *im, int nin, const struct bpg_value *const *in,
                              const char *tensor, struct bpg_value *out, bool *done)
{
	const struct bpg_net *net = b->net;
	struct bpg_shape both;
	*done = false;
	if (strcmp(im->op, "Div") || nin != 2 || !in[0] || !in[1] || in[0]->node < 0 || im->attrs > 0 ||
	    !bpg_shape_broadcast(&in[0]->shape, &in[1]->shape, &both) || !bpg_shape_equal(&both, &in[0]->shape))
		return BPG_OK;
	const struct bpg_net_node *root = node_of(net, in[1]->node, "Sqrt");
	int sum = root ? skip_epsilon(net, root->src[0]) : -1;
	const struct bpg_node *m = sum >= 0 ? &net->node[sum].v : NULL;
	if (!m || net->node[sum].input >= 0 || !m->layer || m->layer->family != BPG_LINEAR || m->nin < 1 ||
	    net->node[sum].src[0] < 0 || !is_square(net, net->node[sum].src[0], in[0]->node) ||
	    bpg_shape_count(&in[1]->shape) != m->out.n || m->in[0].n != bpg_shape_count(&both))
		return BPG_OK;
	for (int k = 1; k < m->nin; k++)
		if (net->node[sum].src[k] >= 0)
			return BPG_OK;
	double least = least_own(m, &in[0]->shape, &in[1]->shape);
	if (!(least > 0x1p-100))
		return BPG_OK;
	struct bpg_import_attr most = {
	        .name = "bpg_most", .kind = BPG_ATTR_FLOAT, .f = bpg_next_up(bpg_next_up(1 / bpg_next_down(sqrt(least))))};
	struct bpg_import about = *im;
	about.attrs = 1;
	about.attr = &most;
	*done = true;
	return bpg_build_node(b, &about, bpg_layer_find("", "Div"), 2, in, tensor, out);
}
