/* model.c - from the network to hops: which product each node is, and in which order tiles hold its elements. */
#include "graph/model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "codelets/family_unary.h"
#include "graph/estimate.h"
#include "graph/panels.h"
#include "graph/sparse.h"
#include "graph/zones.h"

/* ---- groups of nodes that must share columns (an elementwise layer works in place) ---- */

static int find(int *group, int i)
{
	while (group[i] != i)
		i = group[i] = group[group[i]];
	return i;
}

static bool same_grid(const struct bpg_columns *a, const struct bpg_columns *b)
{
	return a->channels == b->channels && a->size[0] == b->size[0] && a->size[1] == b->size[1] && a->stride[0] == b->stride[0]
	       && (a->size[0] == 1 || a->stride[1] == b->stride[1]) && (a->size[1] == 1 || a->stride[2] == b->stride[2]);
}

/* The grid a convolution sees; false when places are not a simple function of elements. */
static bool grid_of(int64_t n, int64_t channels, const int64_t size[2], const int64_t stride[3], struct bpg_columns *k)
{
	*k = (struct bpg_columns){ .grid = true, .n = n, .channels = (int32_t)channels, .size = { (int32_t)size[0], (int32_t)size[1] },
		                   .stride = { stride[0], stride[1], stride[2] } };
	if (channels * size[0] * size[1] != n || channels > 1 << 20 || size[0] > 1 << 20 || size[1] > 1 << 20)
		return false;
	bool channels_first = (size[1] == 1 || stride[2] == 1) && (size[0] == 1 || stride[1] == size[1]) && stride[0] == size[0] * size[1];
	bool channels_last = stride[0] == 1 && (size[1] == 1 || stride[2] == channels) && (size[0] == 1 || stride[1] == channels * size[1]);
	if (channels_last)
		k->stride[2] = channels, k->stride[1] = channels * size[1];
	else if (channels_first)
		k->stride[2] = 1, k->stride[1] = size[1];
	return channels_first || channels_last;
}

/* Every output is one input element of the same number times a coefficient, or the sum of two such. */
static bool is_element(const struct bpg_node *v, const struct bpg_sparse *s)
{
	for (int k = 0; k < v->nin; k++)
		if (!v->in[k].value && !v->in[k].absent && v->in[k].n != v->out.n)
			return false;
	for (int64_t i = 0; i < s->rows; i++)
		for (int64_t t = s->first[i]; t < s->first[i + 1]; t++) {
			if (s->index[t] != i)
				return false;
			for (int64_t q = s->first[i]; q < t; q++)
				if (s->operand[q] == s->operand[t])
					return false;
		}
	return true;
}

/* Every output is the plain sum of all n operands. */
static bool all_one(const struct bpg_sparse *s, int n)
{
	for (int64_t t = 0; t < s->nonzeros; t++)
		if (s->coef[t] != 1)
			return false;
	return s->nonzeros == n * s->rows;
}

/* No output has two terms, and no input element is used twice. */
static bool is_single(const struct bpg_sparse *s)
{
	if (s->most_fan > 1)
		return false;
	for (int64_t i = 0; i < s->rows; i++)
		if (s->first[i + 1] - s->first[i] > 1)
			return false;
	return true;
}

static enum bpg_status node_new(struct bpg_ctx *ctx, struct bpg_model *m, int id)
{
	const struct bpg_net_node *nn = &m->net->node[id];
	struct bpg_model_node *v = &m->node[id];
	struct bpg_hop *h = &v->hop;
	int nin = nn->v.layer ? nn->v.nin : 0;

	v->net = nn;
	v->id = v->whole = id;
	v->segment = -1;
	h->v = &nn->v;
	h->out = &v->columns;
	v->columns.n = nn->v.out.n;
	h->in = bpg_arena_alloc(m->arena, (size_t)nin + 1, sizeof *h->in);
	h->operand = bpg_arena_alloc(m->arena, (size_t)nin + 1, sizeof *h->operand);
	v->src = bpg_arena_alloc(m->arena, (size_t)nin + 1, sizeof *v->src);
	if (!h->in || !h->operand || !v->src)
		return bpg_nomem(ctx, "the bound graph");
	if (nn->v.out.n >= INT32_MAX)
		return bpg_fail(ctx, BPG_EUNSUPPORTED, "%s: node '%s' (%s): a tensor of %lld elements is too large", m->net->path, nn->v.name, nn->v.op, (long long)nn->v.out.n);
	for (int k = 0; k < nin; k++) {
		if (nn->src[k] < 0)
			continue;
		h->operand[h->nin] = k;
		h->in[h->nin] = &m->node[nn->src[k]].columns;
		v->src[h->nin++] = nn->src[k];
	}
	h->kind = BPG_HOP_INPUT;
	if (!nn->v.layer)
		return BPG_OK;
	if (nn->v.layer->family == BPG_UNARY)
		h->kind = BPG_HOP_UNARY;
	else if (nn->v.layer->family != BPG_LINEAR)
		h->kind = BPG_HOP_PLANES;
	else if (h->nin == 1 && nn->v.layer->dense && nn->v.layer->dense(&nn->v, &h->dense))
		h->kind = BPG_HOP_DENSE;
	else if (h->nin == 1 && nn->v.layer->conv && nn->v.layer->conv(&nn->v, &h->conv))
		h->kind = BPG_HOP_CONV;
	else
		h->kind = BPG_HOP_TERMS;
	if (h->kind == BPG_HOP_DENSE)
		h->inexact = fabs(h->dense.scale) != 1 || !bpg_const_is_f32(h->dense.weight);
	if (h->kind == BPG_HOP_CONV)
		h->inexact = !bpg_const_is_f32(h->conv.weight);
	return BPG_OK;
}

/* shares: its columns are those of its operands, if it is elementwise. */
static enum bpg_status use_terms(struct bpg_ctx *ctx, struct bpg_model *m, struct bpg_model_node *v, bool shares)
{
	v->hop.terms = bpg_sparse_linear(v->hop.v);
	if (!v->hop.terms)
		return bpg_fail(ctx, BPG_ENOMEM, "%s: node '%s' (%s): memory is short for its sparse form", m->net->path, v->hop.v->name, v->hop.v->op);
	v->hop.kind = shares && is_element(v->hop.v, v->hop.terms) ? BPG_HOP_ELEMENT : BPG_HOP_TERMS;
	return BPG_OK;
}

/* Grids spread from convolutions through elementwise layers; a convolution that disagrees is taken by its terms. */
static enum bpg_status set_grids(struct bpg_ctx *ctx, struct bpg_model *m)
{
	int *group = bpg_arena_alloc(m->arena, (size_t)m->nodes + 1, sizeof *group);
	struct bpg_columns *grid = bpg_arena_alloc(m->arena, (size_t)m->nodes + 1, sizeof *grid);

	if (!group || !grid)
		return bpg_nomem(ctx, "the bound graph");
	for (int i = 0; i < m->nodes; i++)
		group[i] = i;
	for (int i = 0; i < m->nodes; i++) {
		struct bpg_model_node *v = &m->node[i];
		if (v->hop.kind == BPG_HOP_UNARY || v->hop.kind == BPG_HOP_ELEMENT)
			for (int k = 0; k < v->hop.nin; k++)
				group[find(group, v->src[k])] = find(group, i);
	}
	for (int i = 0; i < m->nodes; i++) {
		struct bpg_model_node *v = &m->node[i];
		const struct bpg_conv *c = &v->hop.conv;
		struct bpg_columns out, in;

		if (v->hop.kind != BPG_HOP_CONV)
			continue;
		struct bpg_columns *go = &grid[find(group, i)], *gi = &grid[find(group, v->src[0])];
		if (!grid_of(v->columns.n, c->out_channels, c->out_size, c->out_stride, &out)
		    || !grid_of(m->node[v->src[0]].columns.n, c->in_channels, c->in_size, c->in_stride, &in)
		    || (go->grid && !same_grid(go, &out)) || (gi->grid && !same_grid(gi, &in)) || (go == gi && !same_grid(&in, &out))) {
			BPG_TRY(use_terms(ctx, m, v, false));
			continue;
		}
		*go = out;
		*gi = in;
	}
	for (int i = 0; i < m->nodes; i++)
		grid[find(group, i)].solid |= m->node[i].hop.kind == BPG_HOP_DENSE;
	for (int i = 0; i < m->nodes; i++)
		if (grid[find(group, i)].grid) {
			m->node[i].columns = grid[find(group, i)];
			m->node[i].columns_set = true;
		}
	return BPG_OK;
}

/* Rounding of one application of each linear node: a sum of n products in blocks of b, then n/b blocks one after the
 * other, errs by gamma_(b + n/b). Rounding adds up over nonlinear layers, so that deep networks get shorter blocks. */
static void set_gammas(struct bpg_model_node *v, int depth)
{
	struct bpg_hop *h = &v->hop;
	const struct bpg_zone *z = v->zone && v->zone->col == v->id ? v->zone : NULL;
	double length;

	if (h->kind == BPG_HOP_DENSE) {
		double terms = (double)h->dense.outs;
		h->block = depth > 3 ? BPG_BLOCK / 2 : BPG_BLOCK;
		/* Pairs (see gemm) begin a second round of blocks. */
		length = terms <= h->block ? terms + 1 : h->block + ceil(terms / h->block) + 2;
		if (z) {
			terms = h->out->grid ? (double)(h->out->n / h->out->channels * z->length) : (double)z->length;
			length = bpg_zone_roundings(z, h->block, terms, ceil(terms / h->block));
		}
	} else if (h->kind == BPG_HOP_CONV) {
		double run = (double)(z ? z->length : h->conv.out_channels / h->conv.groups), taps = (double)(h->conv.kernel[0] * h->conv.kernel[1]);
		h->block = BPG_BLOCK / 2;
		double whole = run <= h->block ? floor(h->block / run) * run : h->block;   /* products of a block */
		double blocks = run <= h->block ? ceil(taps / floor(h->block / run)) : taps * ceil(run / h->block);
		length = z ? bpg_zone_roundings(z, whole, run * taps, blocks) : blocks <= 1 ? run * taps : whole + blocks;
	} else if (h->kind == BPG_HOP_TERMS || h->kind == BPG_HOP_ELEMENT) {
		length = h->terms->unit ? h->terms->most_fan - 1 : h->terms->most_fan + 1;
	} else {
		return;
	}
	h->gamma32 = length > 0 ? bpg_gamma(length + 1, BPG_U32) : 0;
	h->gamma64 = length > 0 ? bpg_gamma(length + 1, BPG_U64) : 0;
}

void bpg_model_vectors(struct bpg_model *m, size_t bytes)
{
	for (int o = 0; o < (m->options.ranks > 1 ? m->options.owners : 1); o++)
		m->fixed_bytes[o] += bytes;
}

enum bpg_status bpg_model_new(struct bpg_ctx *ctx, const struct bpg_net *net, struct bpg_rt *rt, const struct bpg_region *region,
                              const struct bpg_bound_options *options, struct bpg_model **out)
{
	struct bpg_model *m = bpg_calloc(1, sizeof *m);
	enum bpg_status st = BPG_OK;

	*out = NULL;
	if (!m || !(m->arena = bpg_arena_new())) {
		free(m);
		return bpg_nomem(ctx, "the bound graph");
	}
	m->net = net;
	m->rt = rt;
	m->region = region;
	m->options = *options;
	m->segments = BPG_MAX(options->segments, 1);
	m->nodes = net->nodes;
	m->plan_hash = BPG_HASH_START;
	m->placement = options->placement ? options->placement : options->owners > 1 ? BPG_PLACEMENT_ROWS : BPG_PLACEMENT_SINGLE;
	bool tp = m->placement == BPG_PLACEMENT_TP;
	m->node = bpg_arena_alloc(m->arena, (size_t)(m->nodes + (tp ? bpg_zones_room(m->nodes) : 0)) + 1, sizeof *m->node);
	m->fixed_bytes = bpg_arena_alloc(m->arena, (size_t)options->owners, sizeof *m->fixed_bytes);
	m->most_bytes = bpg_arena_alloc(m->arena, (size_t)options->owners, sizeof *m->most_bytes);
	m->panel_bytes = bpg_arena_alloc(m->arena, (size_t)options->owners, sizeof *m->panel_bytes);
	m->traffic = bpg_arena_alloc(m->arena, (size_t)options->owners, sizeof *m->traffic);
	if (!m->node || !m->fixed_bytes || !m->most_bytes || !m->panel_bytes || !m->traffic)
		BPG_TRY_TO(bpg_nomem(ctx, "the bound graph"), fail);
	for (int i = 0; i < m->nodes; i++) {
		BPG_TRY_TO(node_new(ctx, m, i), fail);
		if (m->node[i].hop.kind == BPG_HOP_TERMS)
			BPG_TRY_TO(use_terms(ctx, m, &m->node[i], true), fail);
	}
	BPG_TRY_TO(set_grids(ctx, m), fail);
	for (int o = 0; o < net->outputs; o++)
		m->node[net->output[o]].output = true;
	int depth = 0;
	for (int i = 0; i < m->nodes; i++) {
		depth += m->node[i].hop.kind == BPG_HOP_UNARY || m->node[i].hop.kind == BPG_HOP_PLANES;
		for (int k = 0; k < m->node[i].hop.nin; k++)
			m->node[m->node[i].src[k]].consumers++;
	}
	if (tp)
		BPG_TRY_TO(bpg_zones_find(ctx, m), fail);
	for (int i = 0; i < m->nodes; i++) {
		struct bpg_model_node *v = &m->node[i];
		v->consumer = bpg_arena_alloc(m->arena, (size_t)v->consumers + 1, sizeof *v->consumer);
		v->bounds = bpg_calloc((size_t)(m->segments * BPG_FIELDS * v->columns.n), sizeof *v->bounds);
		if (!v->consumer || !v->bounds)
			BPG_TRY_TO(bpg_nomem(ctx, "the bounds of a node"), fail);
		bpg_model_vectors(m, (size_t)(m->segments * BPG_FIELDS * v->columns.n) * sizeof *v->bounds);
		v->consumers = 0;
		set_gammas(v, depth);
		for (int k = 0; k < v->hop.nin; k++) {
			struct bpg_model_node *x = &m->node[v->src[k]];
			x->consumer[x->consumers++] = i;
		}
		/* What is known of the interval: exact after one linear map of elements that are inputs. */
		v->sum = v->hop.kind == BPG_HOP_ELEMENT && v->columns.grid && all_one(v->hop.terms, v->hop.nin);
		bool linear = v->hop.kind != BPG_HOP_UNARY && v->hop.kind != BPG_HOP_PLANES;
		bool ball = region && region->ball;
		v->straight = v->hop.kind == BPG_HOP_INPUT || linear;
		v->single = v->hop.kind == BPG_HOP_INPUT || (linear && v->hop.terms && v->hop.nin == 1 && is_single(v->hop.terms));
		bool from_single = v->hop.nin == 1;
		for (int k = 0; k < v->hop.nin; k++) {
			const struct bpg_model_node *x = &m->node[v->src[k]];
			v->straight = v->straight && x->straight;
			v->single = v->single && x->single;
			from_single = from_single && x->single;
		}
		v->exact = !ball && (v->single || (linear && from_single));
		if (v->straight && v->single && ball)
			v->exact = true; /* one coordinate of a ball: its box is exact */
	}
	*out = m;
	return BPG_OK;
fail:
	bpg_model_free(m);
	return st;
}

void bpg_options_alone(struct bpg_bound_options *o)
{
	o->owners = o->ranks = 1;
	o->rank = 0;
	if (o->placement != BPG_PLACEMENT_OFFLOAD)
		o->placement = BPG_PLACEMENT_SINGLE;
}

void bpg_model_alone(struct bpg_model *m)
{
	if (m->options.ranks <= 1)
		return;
	for (int i = 0; i < m->nodes; i++)
		bpg_panels_free(&m->node[i]);
	bpg_slots_fini(&m->slots);
	bpg_options_alone(&m->options);
	m->placement = m->options.placement;
	m->next_owner = 0;
	m->panel_bytes[0] = 0;
}

enum bpg_status bpg_model_wait(struct bpg_ctx *ctx, const struct bpg_model *m)
{
	BPG_TRY(bpg_estimate_wait(ctx, m->estimate));
	return m->options.group ? bpg_group_wait(m->options.group, ctx) : bpg_rt_wait(m->rt, ctx);
}

void bpg_model_free(struct bpg_model *m)
{
	if (!m)
		return;
	for (int i = 0; m->node && i < m->nodes; i++) {
		struct bpg_model_node *v = &m->node[i];
		bpg_tensor_release(v->bounds_t);
		bpg_tensor_release(v->planes_t);
		bpg_tensor_release(v->by_bounds_t);
		bpg_panels_free(v);
		bpg_sparse_free(v->hop.terms);
		bpg_sparse_free(v->hop.lower);
		bpg_sparse_free(v->hop.upper);
		bpg_sparse_free(v->hop.other[0]);
		bpg_sparse_free(v->hop.other[1]);
		free(v->bounds);
	}
	for (int i = m->nodes; m->node && i < m->nodes + m->zones * BPG_ZONE_NODES * BPG_ZONE_SEGMENTS; i++) {
		bpg_tensor_release(m->node[i].planes_t);
		bpg_panels_free(&m->node[i]);
	}
	bpg_slots_fini(&m->slots);
	bpg_arena_free(m->arena);
	free(m);
}

/* ---- columns of LIST nodes ---- */

enum standing { CONSTANT, SINGLE, MIXED };

/* Is element i of v, whose range is [l, u], one number, and what elementwise functions make of it, too? Their errors make
 * ranges of points, and they share the columns of v. */
static bool still(const struct bpg_model *m, const struct bpg_model_node *v, double l, double u, int depth)
{
	if (!(l == u) || depth > 16)
		return false;
	for (int c = 0; c < v->consumers; c++) {
		const struct bpg_model_node *y = &m->node[v->consumer[c]];
		double lo, up;

		if (y->hop.kind != BPG_HOP_UNARY)
			continue;
		bpg_unary_range(y->hop.v, l, u, &lo, &up);
		if (!still(m, y, lo, up, depth + 1))
			return false;
	}
	return true;
}

/* What the planes of y make of element i of its pre-activation in a segment: nothing (y is one number), one line, or two. */
static enum standing standing_in(const struct bpg_model *m, const struct bpg_model_node *y, const struct bpg_model_node *x, int segment, int64_t i)
{
	static const double none[2] = { NAN, NAN };
	double l = bpg_segment_field(x, BPG_LOWER, segment)[i], u = bpg_segment_field(x, BPG_UPPER, segment)[i], lo, up;
	struct bpg_planes1 p;

	bpg_unary_planes(y->hop.v, l, u, none, m->options.slope, m->options.wide, &p);
	if (p.lo_slope != p.up_slope || p.lo_bias != p.up_bias)
		return MIXED;
	if (p.lo_slope != 0 || x->consumers != 1 || x->output)
		return SINGLE;
	bpg_unary_range(y->hop.v, l, u, &lo, &up);
	return still(m, y, lo, up, 0) ? CONSTANT : SINGLE;
}

/* The most that any segment needs. */
static enum standing standing(const struct bpg_model *m, const struct bpg_model_node *y, const struct bpg_model_node *x, int64_t i)
{
	enum standing most = CONSTANT;

	for (int s = 0; s < m->segments && most != MIXED; s++)
		most = BPG_MAX(most, standing_in(m, y, x, s, i));
	return most;
}

/* Is element i of v one number in every segment, and what elementwise functions make of it? */
static bool fixed(const struct bpg_model *m, const struct bpg_model_node *v, int64_t i)
{
	for (int s = 0; s < m->segments; s++) {
		double at = bpg_segment_field(v, BPG_CENTRE, s)[i];
		if (bpg_segment_field(v, BPG_RADIUS, s)[i] > 0 || !still(m, v, at, at, 0))
			return false;
	}
	return true;
}

enum bpg_status bpg_model_columns(struct bpg_ctx *ctx, struct bpg_model *m, struct bpg_model_node *y, struct bpg_model_node *x)
{
	struct bpg_columns *k = &y->columns;
	int64_t mixed = 0;

	if (y->columns_set)
		return BPG_OK;
	if (x && x->columns_set) { /* a second nonlinear reader of x, or a walk may start there */
		*k = x->columns;
		k->mixed = k->count;
		x->columns.mixed = x->columns.count;
		y->columns_set = true;
		return BPG_OK;
	}
	k->slot = bpg_arena_alloc(m->arena, (size_t)k->n + 1, sizeof *k->slot);
	k->index = bpg_arena_alloc(m->arena, (size_t)k->n + 1, sizeof *k->index);
	if (!k->slot || !k->index)
		return bpg_nomem(ctx, "the columns of a node");
	k->id = bpg_unique();
	/* Mixed ones fill the list from its start, the others wait in `slot` for the second round. */
	for (int64_t i = 0; i < k->n; i++) {
		enum standing s = fixed(m, x ? x : y, i) ? CONSTANT : x ? standing(m, y, x, i) : SINGLE;
		k->slot[i] = s == CONSTANT ? -1 : -2;
		if (s == MIXED) {
			k->slot[i] = (int32_t)mixed;
			k->index[mixed++] = (int32_t)i;
		}
	}
	k->mixed = k->count = mixed;
	for (int64_t i = 0; i < k->n; i++)
		if (k->slot[i] == -2) {
			k->slot[i] = (int32_t)k->count;
			k->index[k->count++] = (int32_t)i;
		}
	y->columns_set = true;
	if (x) {
		x->columns = *k;
		x->columns_set = true;
	}
	return BPG_OK;
}

enum bpg_status bpg_model_choices(struct bpg_ctx *ctx, struct bpg_model *m, struct bpg_model_node *v)
{
	int64_t places = bpg_columns_places(&v->columns);

	v->choice = bpg_arena_alloc(m->arena, (size_t)places + 1, sizeof *v->choice);
	if (!v->choice)
		return bpg_nomem(ctx, "the slopes of a node");
	const struct bpg_model_node *x = &m->node[v->src[0]];
	for (int64_t at = 0; at < places; at++) {
		int64_t i = bpg_columns_element(&v->columns, at);
		v->choice[at] = standing(m, v, x, i) == MIXED;
		/* A line of any slope through the origin: only around the kink, whatever rounding makes of the lines beside it. */
		if (v->hop.v->layer->traits & BPG_FREE_SLOPE)
			v->choice[at] = v->choice[at] && bpg_field(x, BPG_LOWER)[i] < 0 && bpg_field(x, BPG_UPPER)[i] > 0;
	}
	return BPG_OK;
}

uint64_t bpg_model_hash(const struct bpg_model *m)
{
	uint64_t h = BPG_HASH_START;

	for (int i = 0; i < m->nodes; i++) {
		const struct bpg_model_node *v = &m->node[i];
		h = bpg_hash(h, bpg_field(v, BPG_LOWER), (size_t)v->columns.n * sizeof(double));
		h = bpg_hash(h, bpg_field(v, BPG_UPPER), (size_t)v->columns.n * sizeof(double));
	}
	return h;
}
