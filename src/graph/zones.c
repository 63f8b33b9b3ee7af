/* zones.c - see zones.h. */
#include "graph/zones.h"

#include <math.h>

static const int64_t length_step = 8; /* units that packed weights hold together */

int bpg_zones_room(int nodes)
{
	return nodes / 2 * BPG_ZONE_NODES * BPG_ZONE_SEGMENTS;
}

/* ---- pairs ---- */

static bool inner(const struct bpg_model_node *v)
{
	return v->consumers == 1 && !v->output && !v->zone;
}

static bool product(const struct bpg_model_node *v)
{
	return v->hop.kind == BPG_HOP_DENSE || (v->hop.kind == BPG_HOP_CONV && v->hop.conv.groups == 1);
}

/* The zone that ends with v; false: none does. */
static bool zone_of(const struct bpg_model *m, const struct bpg_model_node *v, struct bpg_zone *z)
{
	if (!product(v) || v->zone)
		return false;
	const struct bpg_model_node *a = &m->node[v->src[0]];
	*z = (struct bpg_zone){ .act = -1, .row = v->id };
	if (a->hop.kind == BPG_HOP_UNARY && inner(a)) {
		z->act = a->id;
		a = &m->node[a->src[0]];
	}
	if (!product(a) || !inner(a))
		return false;
	const struct bpg_columns *k = &a->columns;
	int64_t units = k->grid ? k->channels : k->n, length = (units + BPG_ZONE_SEGMENTS - 1) / BPG_ZONE_SEGMENTS;
	z->col = a->id;
	z->length = (length + length_step - 1) / length_step * length_step;
	z->segments = (int)((units + z->length - 1) / z->length);
	return z->segments > 1;
}

/* A node of a zone in one segment: all of the whole but columns, weights and what is made of them. */
static void part_new(struct bpg_model *m, const struct bpg_model_node *whole, int segment, struct bpg_model_node *part)
{
	*part = (struct bpg_model_node){ .net = whole->net, .id = (int)(part - m->node), .whole = whole->id, .zone = whole->zone, .segment = segment,
		                         .hop = whole->hop, .src = whole->src };
	part->hop.out = &part->columns;
}

static enum bpg_status zone_new(struct bpg_ctx *ctx, struct bpg_model *m, struct bpg_zone *z)
{
	int node[BPG_ZONE_NODES] = { z->col, z->act, z->row };

	z->first = m->nodes + m->zones++ * BPG_ZONE_NODES * BPG_ZONE_SEGMENTS;
	for (int k = 0; k < BPG_ZONE_NODES; k++) {
		if (node[k] < 0)
			continue;
		struct bpg_model_node *whole = &m->node[node[k]];
		whole->zone = z;
		for (int s = 0; s < z->segments; s++)
			part_new(m, whole, s, &m->node[z->first + s * BPG_ZONE_NODES + k]);
	}
	for (int s = 0; s < z->segments; s++) {
		struct bpg_model_node *row = bpg_zone_part(m, &m->node[z->row], s);
		row->hop.out = &m->node[z->row].columns;
		row->hop.in = bpg_arena_alloc(m->arena, 1, sizeof *row->hop.in);
		if (!row->hop.in)
			return bpg_nomem(ctx, "the bound graph");
		row->hop.in[0] = &bpg_zone_hidden(m, z, s)->columns;
	}
	return BPG_OK;
}

enum bpg_status bpg_zones_find(struct bpg_ctx *ctx, struct bpg_model *m)
{
	for (int i = 0; i < m->nodes; i++) {
		struct bpg_zone found, *z;
		if (!zone_of(m, &m->node[i], &found))
			continue;
		z = bpg_arena_alloc(m->arena, 1, sizeof *z);
		if (!z)
			return bpg_nomem(ctx, "the bound graph");
		*z = found;
		BPG_TRY(zone_new(ctx, m, z));
	}
	if (!m->zones)
		return bpg_fail(ctx, BPG_EUNSUPPORTED, "%s: --placement tp: no two matrices or convolutions of more than 8 hidden units follow each other with at most an elementwise layer between them; choose --placement rows",
		                m->net->path);
	return BPG_OK;
}

/* ---- segments ---- */

int bpg_zone_owner(const struct bpg_model *m, const struct bpg_zone *z, int segment)
{
	return (int)((int64_t)segment * m->options.owners / z->segments);
}

struct bpg_model_node *bpg_zone_part(const struct bpg_model *m, const struct bpg_model_node *v, int segment)
{
	const struct bpg_zone *z = v->zone;
	int k = v->whole == z->col ? 0 : v->whole == z->act ? 1 : 2;

	return &m->node[z->first + segment * BPG_ZONE_NODES + k];
}

struct bpg_model_node *bpg_zone_hidden(const struct bpg_model *m, const struct bpg_zone *z, int segment)
{
	return bpg_zone_part(m, &m->node[z->act >= 0 ? z->act : z->col], segment);
}

int bpg_zone_parts(const struct bpg_model_node *v)
{
	return v->zone && v->id == v->zone->col ? v->zone->segments : 1;
}

static int segment_of(const struct bpg_zone *z, const struct bpg_columns *k, int64_t element)
{
	int64_t unit = k->grid ? bpg_columns_place(k, element) % k->channels : element;

	return (int)(unit / z->length);
}

int bpg_zone_part_of(const struct bpg_model_node *v, int64_t element)
{
	return bpg_zone_parts(v) > 1 ? segment_of(v->zone, &v->columns, element) : 0;
}

/* ---- columns of parts ---- */

/* A feature map: some of its channels. */
static void cut_grid(const struct bpg_zone *z, const struct bpg_columns *k, int segment, struct bpg_columns *to)
{
	*to = *k;
	to->base = k->base + segment * z->length * k->stride[0];
	to->channels = (int32_t)BPG_MIN(z->length, k->channels - segment * z->length);
}

/* A list: the order of the whole, so that elements with two planes come first. `slot` serves all segments. */
static enum bpg_status cut_list(struct bpg_ctx *ctx, struct bpg_model *m, const struct bpg_zone *z, const struct bpg_columns *k, struct bpg_columns *to)
{
	int32_t *slot = bpg_arena_alloc(m->arena, (size_t)k->n + 1, sizeof *slot), *index = bpg_arena_alloc(m->arena, (size_t)k->count + 1, sizeof *index);

	if (!slot || !index)
		return bpg_nomem(ctx, "the columns of a node");
	for (int64_t i = 0; i < k->n; i++)
		slot[i] = -1;
	for (int s = 0; s < z->segments; s++) {
		to[s] = (struct bpg_columns){ .n = k->n, .slot = slot, .index = index, .id = bpg_unique() };
		for (int64_t c = 0; c < k->count; c++) {
			if (segment_of(z, k, k->index[c]) != s)
				continue;
			slot[k->index[c]] = (int32_t)to[s].count;
			to[s].index[to[s].count++] = k->index[c];
			to[s].mixed += c < k->mixed;
		}
		index += to[s].count;
	}
	return BPG_OK;
}

/* Kernels of the parts: the segment's output channels of col, input channels of row. */
static void cut_kernels(const struct bpg_zone *z, struct bpg_model_node *col, struct bpg_model_node *row, const struct bpg_columns *hidden)
{
	int64_t first = col->segment * z->length;

	if (col->hop.kind == BPG_HOP_CONV) {
		col->hop.kernel_at = first * col->hop.conv.w_stride[0];
		col->hop.conv.out_channels = hidden->channels;
	}
	if (row->hop.kind == BPG_HOP_CONV) {
		row->hop.kernel_at = first * row->hop.conv.w_stride[1];
		row->hop.conv.in_channels = hidden->channels;
	}
}

enum bpg_status bpg_zone_cut(struct bpg_ctx *ctx, struct bpg_model *m, const struct bpg_model_node *v)
{
	struct bpg_zone *z = v->zone;
	struct bpg_columns part[BPG_ZONE_SEGMENTS];

	if (!z || z->cut)
		return BPG_OK;
	const struct bpg_model_node *hidden = &m->node[z->act >= 0 ? z->act : z->col];
	if (!hidden->columns_set)
		return BPG_OK;
	if (!hidden->columns.grid)
		BPG_TRY(cut_list(ctx, m, z, &hidden->columns, part));
	for (int s = 0; s < z->segments; s++) {
		struct bpg_model_node *col = bpg_zone_part(m, &m->node[z->col], s), *row = bpg_zone_part(m, &m->node[z->row], s);
		if (hidden->columns.grid)
			cut_grid(z, &hidden->columns, s, &part[s]);
		col->columns = part[s];
		bpg_zone_hidden(m, z, s)->columns = part[s];
		cut_kernels(z, col, row, &part[s]);
	}
	z->cut = true;
	return BPG_OK;
}

void bpg_zone_refresh(const struct bpg_model *m, const struct bpg_model_node *v)
{
	for (int s = 0; s < v->zone->segments; s++) {
		struct bpg_model_node *part = bpg_zone_part(m, v, s);
		part->bounds_t = v->bounds_t;
		part->charged = v->charged;
		part->hop.under = v->hop.under;
		part->hop.gamma32 = v->hop.gamma32;
		part->hop.gamma64 = v->hop.gamma64;
		part->hop.block = v->hop.block;
	}
}

double bpg_zone_roundings(const struct bpg_zone *z, double block, double terms, double blocks)
{
	/* A product is the first or a later one of its block: fmin(block, terms) roundings at most. The block is added to the sum, and so
	 * is every block that comes later, of this segment or the others. */
	return fmin(block, terms) + z->segments * blocks;
}
