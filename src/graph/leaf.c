/* leaf.c - see leaf.h. */
#include "graph/leaf.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/lp.h"
#include "codelets/family_unary.h"

enum { MOST_NUMBERS = 1 << 22, MOST_ROWS = 2000 };
/* What it costs in the program to be off a split by one, in units of the largest coefficient of a row. */
static const double penalty = 1e4;

bool bpg_leaf_suits(const struct bpg_model *m)
{
	int64_t elements = 0;

	for (int i = 0; i < m->net->nodes; i++) {
		const struct bpg_node *v = &m->net->node[i].v;
		if (v->layer && v->layer->family != BPG_LINEAR && v->layer->family != BPG_UNARY)
			return false;
		elements += v->out.n;
	}
	return m->segments == 1 && !m->region->ball && elements * (m->net->in_count + 1) <= MOST_NUMBERS;
}

/* Every element as a linear function of the inputs: [inputs] coefficients and a constant. */
struct forms {
	const struct bpg_model *m;
	int64_t width;            /* inputs + 1 */
	double **of;              /* [nodes][elements][width] */
};

static bool add_linear(struct forms *x, const struct bpg_net_node *node, double *to)
{
	struct bpg_terms t;
	bool right = true;

	bpg_terms_init(&t);
	for (int64_t j = 0; right && j < node->v.out.n; j++, to += x->width) {
		bpg_terms_reset(&t);
		node->v.layer->terms(&node->v, j, &t);
		right = !t.failed;
		for (int k = 0; right && k < t.n; k++) {
			const double *from = x->of[node->src[t.input[k]]] + t.index[k] * x->width;
			for (int64_t e = 0; t.coef[k] != 0 && e < x->width; e++)
				to[e] += t.coef[k] * from[e];
		}
		to[x->width - 1] += t.bias;
	}
	bpg_terms_fini(&t);
	return right;
}

/* The lower line of the interval that the splits leave; where one line is left it is the function. */
static void add_unary(struct forms *x, const struct bpg_leaf *leaf, int id, double *to)
{
	const struct bpg_model_node *node = &x->m->node[id], *in = &x->m->node[node->src[0]];
	const double *lower = bpg_field(in, BPG_LOWER), *upper = bpg_field(in, BPG_UPPER);
	const double *from = x->of[node->net->src[0]];

	for (int64_t j = 0; j < node->net->v.out.n; j++, to += x->width, from += x->width) {
		double l = lower[j], u = upper[j];
		struct bpg_planes1 p;
		for (int i = 0; i < leaf->splits; i++)
			if (leaf->split[i].node == id && leaf->split[i].element == j) {
				if (leaf->split[i].side > 0)
					l = fmax(l, leaf->split[i].point);
				else
					u = fmin(u, leaf->split[i].point);
			}
		bpg_unary_planes(&node->net->v, l, u, NULL, BPG_SLOPE_ADAPTIVE, true, &p);
		for (int64_t e = 0; e < x->width; e++)
			to[e] = p.lo_slope * from[e];
		to[x->width - 1] += p.lo_bias;
	}
}

static bool make_forms(struct forms *x, const struct bpg_leaf *leaf)
{
	const struct bpg_net *net = x->m->net;

	for (int i = 0; i < x->m->nodes; i++) {
		const struct bpg_net_node *node = x->m->node[i].net;
		int64_t id = node - net->node;
		double *to = x->of[id] = bpg_calloc((size_t)(node->v.out.n * x->width) + 1, sizeof *to);

		if (!to)
			return false;
		if (!node->v.layer)
			for (int64_t j = 0; j < node->v.out.n; j++)
				to[j * x->width + net->in_first[node->input] + j] = 1;
		else if (node->v.layer->family == BPG_UNARY)
			add_unary(x, leaf, i, to);
		else if (!add_linear(x, node, to))
			return false;
	}
	return true;
}

static const double *output_form(const struct forms *x, int64_t output)
{
	const struct bpg_net *net = x->m->net;
	int k = net->outputs - 1;

	while (output < net->out_first[k])
		k--;
	return x->of[net->output[k]] + (output - net->out_first[k]) * x->width;
}

/* Columns: the inputs, the largest row t, how far a split is missed s. Rows: t >= each row; the splits, but for s. */
struct program {
	struct bpg_lp lp;
	double *lo, *up, *cost, *a, *least, *x, *multiplier;
};

static bool state(const struct forms *f, const struct bpg_leaf *leaf, struct bpg_arena *arena, struct program *p)
{
	int64_t n = f->width - 1, columns = n + 2, rows = leaf->disjunct->rows + leaf->splits, at = 0;
	double largest = 0;

	p->lo = bpg_arena_alloc(arena, (size_t)(4 * columns), sizeof *p->lo);
	p->a = bpg_arena_alloc(arena, (size_t)(rows * columns) + 1, sizeof *p->a);
	p->least = bpg_arena_alloc(arena, (size_t)(2 * rows) + 1, sizeof *p->least);
	if (!p->lo || !p->a || !p->least)
		return false;
	p->up = p->lo + columns, p->cost = p->up + columns, p->x = p->cost + columns, p->multiplier = p->least + rows;
	memcpy(p->lo, f->m->region->lo, (size_t)n * sizeof *p->lo);
	memcpy(p->up, f->m->region->up, (size_t)n * sizeof *p->up);
	p->lo[n] = -INFINITY, p->up[n] = INFINITY, p->up[n + 1] = INFINITY;
	for (int r = 0; r < leaf->disjunct->rows; r++, at++) {
		const struct bpg_row *q = &leaf->disjunct->row[r];
		double *a = p->a + at * columns;
		p->least[at] = q->offset;
		for (int k = 0; k < q->n; k++) {
			const double *form = output_form(f, q->index[k]);
			for (int64_t e = 0; e < n; e++)
				a[e] -= q->coef[k] * form[e];
			p->least[at] += q->coef[k] * form[n];
		}
		for (int64_t e = 0; e < n; e++)
			largest = fmax(largest, fabs(a[e]));
		a[n] = 1;
	}
	for (int i = 0; i < leaf->splits; i++, at++) {
		const struct bpg_split *s = &leaf->split[i];
		const double *form = f->of[f->m->node[s->node].net->src[0]] + s->element * f->width;
		double *a = p->a + at * columns;
		for (int64_t e = 0; e < n; e++)
			a[e] = s->side * form[e];
		a[n + 1] = 1;
		p->least[at] = s->side * (s->point - form[n]);
	}
	p->cost[n] = 1;
	p->cost[n + 1] = penalty * (largest > 0 && isfinite(largest) ? largest : 1);
	p->lp = (struct bpg_lp){ (int)columns, (int)rows, p->lo, p->up, p->cost, p->a, p->least };
	return true;
}

static void answer(const struct bpg_leaf *leaf, const struct program *p, int64_t n)
{
	for (int r = 0; r < leaf->disjunct->rows; r++)
		leaf->weight[r] = p->multiplier[r];
	for (int i = 0; i < leaf->splits; i++)
		leaf->beta[i] = p->multiplier[leaf->disjunct->rows + i];
	for (int64_t j = 0; j < n; j++)
		leaf->point[j] = (float)p->x[j];
}

void bpg_leaf_solve(const struct bpg_model *m, struct bpg_leaf *leaf, double seconds)
{
	struct forms f = { .m = m, .width = m->net->in_count + 1, .of = bpg_calloc((size_t)m->net->nodes + 1, sizeof *f.of) };
	struct bpg_arena *arena = bpg_arena_new();
	struct program p;

	leaf->solved = false;
	if (f.of && arena && leaf->splits + leaf->disjunct->rows <= MOST_ROWS && make_forms(&f, leaf) && state(&f, leaf, arena, &p)
	    && bpg_lp_solve(&p.lp, seconds, p.x, p.multiplier)) {
		leaf->solved = true;
		answer(leaf, &p, f.width - 1);
	}
	for (int i = 0; f.of && i < m->net->nodes; i++)
		free(f.of[i]);
	free(f.of);
	bpg_arena_free(arena);
}
