/* panels.c - see panels.h. */
#include "graph/panels.h"

#include <stdlib.h>

#include "graph/estimate.h"
#include "graph/lower.h"
#include "graph/zones.h"
#include "rt/comm.h"

enum { PANEL_COLUMNS = 128, PANELS_A_TASK = 8 };
static const size_t panel_bytes_most = (size_t)16 << 20;

int64_t bpg_panel_columns(const struct bpg_model_node *v, int panel)
{
	return BPG_MIN(v->panel_width, bpg_columns_places(v->hop.in[0]) - panel * v->panel_width);
}

/* Floats of a kernel, whose `many` channels are padded to groups of eight, each with `few`. */
static size_t kernel_bytes(const struct bpg_conv *c, int64_t many, int64_t few)
{
	int64_t padded = (many / c->groups + BPG_GROUP - 1) / BPG_GROUP * BPG_GROUP;

	return (size_t)(c->groups * padded * c->kernel[0] * c->kernel[1] * (few / c->groups)) * sizeof(float);
}

size_t bpg_panel_bytes(const struct bpg_model_node *v, int panel)
{
	const struct bpg_conv *c = &v->hop.conv;

	if (panel == BPG_PANEL_FORWARD)
		return kernel_bytes(c, c->out_channels, c->in_channels);
	if (v->hop.kind == BPG_HOP_CONV)
		return kernel_bytes(c, c->in_channels, c->out_channels);
	int64_t columns = (bpg_panel_columns(v, panel) + BPG_GROUP - 1) / BPG_GROUP * BPG_GROUP;
	return (size_t)BPG_MAX(columns * bpg_columns_places(v->hop.out), (int64_t)1) * sizeof(float);
}

static int owner_of(const struct bpg_model_node *v, int panel)
{
	return panel == BPG_PANEL_FORWARD ? v->forward_owner : v->panel_owner[panel];
}

bool bpg_panels_stream(const struct bpg_model *m)
{
	return m->placement == BPG_PLACEMENT_OFFLOAD;
}

bool bpg_panel_foreign(const struct bpg_model *m, const struct bpg_model_node *v, int panel, int owner)
{
	return bpg_panels_stream(m) || owner_of(v, panel) != owner;
}

/* ---- the cut ---- */

/* To whom has least of them, from the one behind whom had the last: equal panels go round. Those of a zone have their owner. */
static int deal(struct bpg_model *m, const struct bpg_model_node *v, size_t bytes)
{
	int owners = m->options.owners, best = v->zone ? bpg_zone_owner(m, v->zone, v->segment) : m->next_owner;

	for (int i = 0; !v->zone && i < owners; i++) {
		int o = (m->next_owner + i) % owners;
		if (m->panel_bytes[o] < m->panel_bytes[best])
			best = o;
	}
	if (!v->zone)
		m->next_owner = (best + 1) % owners;
	m->panel_bytes[best] += bytes;
	if (!bpg_panels_stream(m))
		m->fixed_bytes[best] += bytes;
	return best;
}

/* Panels of fixed width. */
static enum bpg_status cut_panels(struct bpg_ctx *ctx, struct bpg_model *m, struct bpg_model_node *v)
{
	int64_t N = bpg_columns_places(v->hop.in[0]), K = bpg_columns_places(v->hop.out);
	int64_t width = m->options.panel > 0 ? (m->options.panel + BPG_GROUP - 1) / BPG_GROUP * BPG_GROUP : PANEL_COLUMNS;

	if (v->hop.kind == BPG_HOP_CONV)
		width = BPG_MAX(N, (int64_t)1);
	else if (m->options.panel <= 0 && K <= 2 * BPG_BLOCK)
		width *= 2; /* a task should be worth its submission */
	while (v->hop.kind == BPG_HOP_DENSE && width > 16 && (size_t)(width * K) * sizeof(float) > panel_bytes_most)
		width = (width / 2 + BPG_GROUP - 1) / BPG_GROUP * BPG_GROUP;
	v->panel_width = width;
	v->panels = (int)BPG_MAX((N + width - 1) / width, (int64_t)1); /* one even where no column is left: the walk goes on */
	v->panel = bpg_arena_alloc(m->arena, (size_t)v->panels, sizeof *v->panel);
	v->panel_owner = bpg_arena_alloc(m->arena, (size_t)v->panels, sizeof *v->panel_owner);
	if (!v->panel || !v->panel_owner)
		return bpg_nomem(ctx, "packed weights");
	m->plan_hash = bpg_hash(m->plan_hash, (int64_t[]){ v->id, width, N, K }, 4 * sizeof(int64_t));
	for (int p = 0; p < v->panels; p++)
		v->panel_owner[p] = deal(m, v, bpg_panel_bytes(v, p));
	return BPG_OK;
}

/* ---- packing ---- */

/* Panels first .. first+n-1 of a node into these tensors. */
static enum bpg_status pack(struct bpg_model *m, struct bpg_model_node *v, int first, int n, struct bpg_tensor *const *to)
{
	struct bpg_arg_pack a = { .hop = &v->hop, .width = v->panel_width };
	enum bpg_access mode[PANELS_A_TASK];
	bpg_task_fn *run = first == BPG_PANEL_FORWARD ? bpg_task_pack_conv_forward : v->hop.kind == BPG_HOP_DENSE ? bpg_task_pack_dense : bpg_task_pack_conv;

	for (int i = 0; i < n; i++)
		mode[i] = BPG_WRITE;
	if (run == bpg_task_pack_dense) {
		a.c0 = first * a.width;
		a.c1 = BPG_MIN(bpg_columns_places(v->hop.in[0]), (first + n) * a.width);
	}
	return bpg_model_submit(m, BPG_TASK_GATHER, run, &a, sizeof a, n, to, mode, 2 * m->nodes, v->id, first == BPG_PANEL_FORWARD ? 0 : first, 0);
}

/* The same where panels stay on devices: packed by the CPU, then brought there, so that main memory keeps none. */
static enum bpg_status pack_for_devices(struct bpg_ctx *ctx, struct bpg_model *m, struct bpg_model_node *v, int first, int n, struct bpg_tensor *const *to)
{
	static const enum bpg_access r_w[] = { BPG_READ, BPG_WRITE };
	struct bpg_tensor *packed[PANELS_A_TASK] = { NULL };
	enum bpg_status st = BPG_OK;

	for (int i = 0; i < n; i++)
		if (!(packed[i] = bpg_tensor_new(m->rt, bpg_panel_bytes(v, first + i), NULL, 0)))
			st = bpg_nomem(ctx, "packed weights");
	if (!st)
		st = pack(m, v, first, n, packed);
	for (int i = 0; !st && i < n; i++) {
		struct bpg_arg_gather a = { bpg_panel_bytes(v, first + i) };
		struct bpg_tensor *b[] = { packed[i], to[i] };
		st = bpg_model_submit(m, BPG_TASK_GATHER, bpg_task_gather, &a, sizeof a, 2, b, r_w, 2 * m->nodes, v->id, -1, 0);
	}
	for (int i = 0; i < n; i++)
		bpg_tensor_release(packed[i]);
	return st;
}

/* Panels that their owners keep. */
static enum bpg_status pack_to_keep(struct bpg_ctx *ctx, struct bpg_model *m, struct bpg_model_node *v, int first, int n, struct bpg_tensor *const *to)
{
	return bpg_rt_devices(m->rt) ? pack_for_devices(ctx, m, v, first, n, to) : pack(m, v, first, n, to);
}

static enum bpg_status pack_all(struct bpg_ctx *ctx, struct bpg_model *m, struct bpg_model_node *v)
{
	int several = m->options.ranks > 1 ? 1 : PANELS_A_TASK;

	for (int p = 0; !bpg_panels_stream(m) && p < v->panels; p += several)
		bpg_estimate_pack(m->estimate, m, v, p, BPG_MIN(v->panels - p, several));
	if (m->dry || bpg_panels_stream(m))
		return BPG_OK;
	for (int p = 0; p < v->panels; p++)
		if (bpg_mine(m, v->panel_owner[p]) && !(v->panel[p] = bpg_tensor_new(m->rt, bpg_panel_bytes(v, p), NULL, v->panel_owner[p])))
			return bpg_nomem(ctx, "packed weights");
	for (int p = 0, n; p < v->panels; p += n) {
		n = BPG_MIN(v->panels - p, several);
		if (v->panel[p])
			BPG_TRY(pack_to_keep(ctx, m, v, p, n, v->panel + p));
	}
	return BPG_OK;
}

/* Underflow of one application: every product may lose 2^-150, times the radius it stands for. */
static void set_under(struct bpg_model *m, struct bpg_model_node *v)
{
	double sum = 0, terms = 1;

	for (int k = 0; k < v->hop.nin; k++) {
		struct bpg_model_node *x = &m->node[v->src[k]];
		double most = 0;
		for (int s = 0; x->radii == 0 && s < m->segments; s++) {
			double own = 0;
			for (int64_t i = 0; i < x->columns.n; i++)
				own += bpg_segment_field(x, BPG_RADIUS, s)[i];
			most = BPG_MAX(most, own);
		}
		x->radii = BPG_MAX(x->radii, most);
		sum += x->radii;
	}
	if (v->hop.kind == BPG_HOP_DENSE)
		terms = (double)v->hop.dense.outs * 1.5 + 8;
	else if (v->hop.kind == BPG_HOP_CONV)
		terms = (double)(v->hop.conv.out_channels * v->hop.conv.kernel[0] * v->hop.conv.kernel[1]) * 1.5 + 8;
	else if (v->hop.terms)
		terms = 2.0 * v->hop.terms->most_fan + 2;
	else if (v->hop.lower)
		terms = 2 * bpg_planes_fan(&v->hop) + 4;
	v->hop.under = m->options.slack ? terms * 0x1p-149 * sum * (1 + 0x1p-20) : 0;
}

static enum bpg_status panels_of(struct bpg_ctx *ctx, struct bpg_model *m, struct bpg_model_node *v)
{
	if (v->panel || (v->hop.kind != BPG_HOP_DENSE && v->hop.kind != BPG_HOP_CONV))
		return BPG_OK;
	BPG_TRY(cut_panels(ctx, m, v));
	return pack_all(ctx, m, v);
}

enum bpg_status bpg_lower_panels(struct bpg_ctx *ctx, struct bpg_model *m, const struct bpg_stage *s)
{
	for (int i = 0; i < s->cone; i++) {
		struct bpg_model_node *v = &m->node[s->visit[i]];

		if (bpg_stage_ends(m, s, v->id))
			continue;
		if (v->hop.under == 0)
			set_under(m, v);
		if (v->zone)
			bpg_zone_refresh(m, v);
		for (int part = 0; part < (v->zone ? v->zone->segments : 1); part++)
			BPG_TRY(panels_of(ctx, m, v->zone ? bpg_zone_part(m, v, part) : v));
	}
	return s->iterations ? bpg_lower_forward_panels(ctx, m, s) : BPG_OK;
}

enum bpg_status bpg_lower_forward_panels(struct bpg_ctx *ctx, struct bpg_model *m, const struct bpg_stage *s)
{
	for (int i = 0; i < s->cone; i++) {
		struct bpg_model_node *v = &m->node[s->visit[i]];

		if (v->hop.kind != BPG_HOP_CONV || bpg_stage_ends(m, s, v->id) || v->forward)
			continue;
		v->forward = true;
		v->forward_owner = deal(m, v, bpg_panel_bytes(v, BPG_PANEL_FORWARD));
		if (!bpg_panels_stream(m))
			bpg_estimate_pack(m->estimate, m, v, BPG_PANEL_FORWARD, 1);
		if (m->dry || bpg_panels_stream(m) || !bpg_mine(m, v->forward_owner))
			continue;
		if (!(v->forward_t = bpg_tensor_new(m->rt, bpg_panel_bytes(v, BPG_PANEL_FORWARD), NULL, v->forward_owner)))
			return bpg_nomem(ctx, "packed weights");
		BPG_TRY(pack_to_keep(ctx, m, v, BPG_PANEL_FORWARD, 1, &v->forward_t));
	}
	return BPG_OK;
}

void bpg_panels_free(struct bpg_model_node *v)
{
	bpg_tensor_release(v->forward_t);
	for (int p = 0; p < v->panels; p++)
		bpg_tensor_release(v->panel[p]);
	v->forward = false;
	v->forward_t = NULL;
	v->panels = 0;
	v->panel = NULL;
}

/* ---- slots ---- */

/* The largest panel of any owner, and of any other than that one. */
struct largest {
	size_t bytes, others;
	int owner;
};

static void look(struct largest *l, size_t bytes, int owner)
{
	if (owner == l->owner) {
		l->bytes = BPG_MAX(l->bytes, bytes);
	} else if (bytes > l->bytes) {
		l->others = l->bytes;
		l->bytes = bytes;
		l->owner = owner;
	} else {
		l->others = BPG_MAX(l->others, bytes);
	}
}

void bpg_slot_bytes(const struct bpg_model *m, const struct bpg_stage *s, size_t *bytes)
{
	struct largest l = { 0, 0, -1 };

	for (int i = 0; i < s->cone; i++) {
		const struct bpg_model_node *v = &m->node[s->visit[i]];
		if (!v->panel || bpg_stage_ends(m, s, v->id))
			continue;
		for (int p = 0; p < v->panels; p++)
			look(&l, bpg_panel_bytes(v, p), v->panel_owner[p]);
		if (v->forward)
			look(&l, bpg_panel_bytes(v, BPG_PANEL_FORWARD), v->forward_owner);
	}
	for (int o = 0; o < m->options.owners; o++)
		bytes[o] = bpg_panels_stream(m) || o != l.owner ? l.bytes : l.others;
}

enum bpg_status bpg_slots_init(struct bpg_ctx *ctx, const struct bpg_model *m, const struct bpg_stage *s, struct bpg_slots *slots)
{
	size_t *bytes = bpg_calloc((size_t)m->options.owners, sizeof *bytes);
	bool fit = slots->tensor != NULL;

	if (!bytes)
		return bpg_nomem(ctx, "copies of panels");
	bpg_slot_bytes(m, s, bytes);
	for (int o = 0; fit && o < slots->owners; o++)
		fit = bytes[o] <= slots->bytes[o];
	if (fit) {
		free(bytes);
		return BPG_OK;
	}
	bpg_slots_fini(slots);
	slots->owners = m->options.owners;
	slots->bytes = bytes;
	slots->tensor = bpg_calloc(2 * (size_t)slots->owners, sizeof *slots->tensor);
	slots->berths = bpg_calloc((size_t)slots->owners, sizeof *slots->berths);
	slots->guests = bpg_calloc((size_t)slots->owners, sizeof *slots->guests);
	return slots->tensor && slots->berths && slots->guests ? BPG_OK : bpg_nomem(ctx, "copies of panels");
}

static struct bpg_tensor *berth(const struct bpg_model *m, struct bpg_berths *b, int owner, int i)
{
	if (!bpg_grow(&b->tensor, &b->room, i + 1, sizeof *b->tensor))
		return NULL;
	for (; b->count <= i; b->count++)
		if (!(b->tensor[b->count] = bpg_tensor_new(m->rt, 0, NULL, owner)))
			return NULL;
	return b->tensor[i];
}

struct bpg_tensor *bpg_berth(const struct bpg_model *m, struct bpg_slots *slots, int owner, int i)
{
	return berth(m, &slots->berths[owner], owner, i);
}

struct bpg_tensor *bpg_guest_berth(const struct bpg_model *m, struct bpg_slots *slots, int owner, int i)
{
	return berth(m, &slots->guests[owner], owner, i);
}

static void berths_fini(struct bpg_berths *b, int owners)
{
	for (int o = 0; b && o < owners; o++) {
		for (int64_t i = 0; i < b[o].count; i++)
			bpg_tensor_release(b[o].tensor[i]);
		free(b[o].tensor);
	}
	free(b);
}

void bpg_slots_fini(struct bpg_slots *slots)
{
	for (int i = 0; slots->tensor && i < 2 * slots->owners; i++)
		bpg_tensor_release(slots->tensor[i]);
	berths_fini(slots->berths, slots->owners);
	berths_fini(slots->guests, slots->owners);
	free(slots->tensor);
	free(slots->bytes);
	*slots = (struct bpg_slots){ 0 };
}

/* The slot that this process fills; null: the gather fills none here. */
static enum bpg_status slot_of(struct bpg_ctx *ctx, struct bpg_model *m, struct bpg_slots *slots, int owner, int k, struct bpg_tensor **slot)
{
	struct bpg_tensor **at = &slots->tensor[2 * owner + k];

	if (!*at && !(*at = bpg_tensor_new(m->rt, slots->bytes[owner], NULL, owner)))
		return bpg_nomem(ctx, "a copy of a panel");
	*slot = *at;
	return BPG_OK;
}

/* Between ranks the panel goes from its owner to the one that reads it; under fsdp to all others. */
static enum bpg_status transfer(struct bpg_ctx *ctx, struct bpg_model *m, struct bpg_slots *slots, const struct bpg_step *p, int owner)
{
	struct bpg_model_node *v = &m->node[p->node];
	bool all = m->placement == BPG_PLACEMENT_FSDP;
	int home = owner_of(v, p->panel), me = m->options.rank;
	struct bpg_tensor *own = me == home ? bpg_panel_at(v, NULL, p->panel, 0, me) : NULL;

	if (!own && (all || owner == me))
		BPG_TRY(slot_of(ctx, m, slots, me, p->k, &own));
	for (int r = all ? 0 : owner; r < (all ? m->options.ranks : owner + 1); r++)
		BPG_TRY(bpg_rt_transfer(m->rt, own, bpg_panel_bytes(v, p->panel), home, r, v->id));
	return BPG_OK;
}

enum bpg_status bpg_lower_gather(struct bpg_ctx *ctx, struct bpg_model *m, struct bpg_slots *slots, const struct bpg_step *p, int owner)
{
	struct bpg_model_node *v = &m->node[p->node];
	struct bpg_arg_gather a = { bpg_panel_bytes(v, p->panel) };
	static const enum bpg_access r_w[] = { BPG_READ, BPG_WRITE };
	struct bpg_tensor *b[2] = { NULL };

	if (m->options.ranks > 1 && !bpg_panels_stream(m))
		return transfer(ctx, m, slots, p, owner);
	if (!bpg_mine(m, owner))
		return BPG_OK;
	if (a.bytes > slots->bytes[owner])
		return bpg_fail(ctx, BPG_ENUMERIC, "node '%s' (%s): a panel of %zu bytes does not fit its slot of %zu", v->hop.v->name, v->hop.v->op, a.bytes, slots->bytes[owner]);
	BPG_TRY(slot_of(ctx, m, slots, owner, p->k, &b[1]));
	if (bpg_panels_stream(m))
		return pack(m, v, p->panel, 1, &b[1]);
	b[0] = bpg_panel_at(v, NULL, p->panel, 0, owner);
	return bpg_model_submit(m, BPG_TASK_GATHER, bpg_task_gather, &a, sizeof a, 2, b, r_w, 2 * m->nodes, v->id, p->tile, 0);
}

struct bpg_tensor *bpg_panel_at(const struct bpg_model_node *v, const struct bpg_slots *slots, int panel, int slot, int owner)
{
	if (slot)
		return slots->tensor[2 * owner + slot - 1];
	return panel == BPG_PANEL_FORWARD ? v->forward_t : v->panel[panel];
}
