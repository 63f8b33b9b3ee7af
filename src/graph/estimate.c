/* estimate.c - see estimate.h. */
#include "graph/estimate.h"

#include <stdlib.h>
#include <string.h>

#include "graph/lower.h"
#include "graph/panels.h"
#include "graph/simulate.h"

/* Of a task, at most: blocks of a join, and the whole. */
enum { USES = 20 };

/* Data of a node: bounds by copy; panels, then the kernel of the forward chain. */
struct node_data {
	int *bounds, *panel;
};

struct estimate_berths {
	int *data;
	int64_t count, room;
};

/* Memory of a process for tiles: bytes in use, and at most. */
struct pages {
	double live, most;
};

struct bpg_estimate {
	const struct bpg_machine *machine;
	struct bpg_sim *sim;
	int owners, simulated, copies; /* copies: owners that do the same, as many as share units; else one stands for all */
	bool ranks, fsdp, failed;
	int nodes;
	struct node_data *node;
	int *slot;                /* [simulated][2] */
	struct estimate_berths *berths; /* [simulated] */
	struct pages *pages;      /* [simulated] */
	double fresh;             /* bytes written for the first time */
	struct bpg_work_done work[BPG_WORKS];
};

static int copies_of(const struct bpg_machine *machine, int owners, bool ranks, int workers)
{
	return ranks && bpg_sim_crowded(machine, owners, workers) ? (int)BPG_MIN((double)owners, machine->owners) : 1;
}

struct bpg_estimate *bpg_estimate_new(const struct bpg_model *m, const struct bpg_machine *machine, int workers)
{
	struct bpg_estimate *e = bpg_calloc(1, sizeof *e);

	if (!e)
		return NULL;
	*e = (struct bpg_estimate){ .machine = machine, .owners = m->options.owners, .nodes = m->nodes, .ranks = m->options.ranks > 1 };
	e->fsdp = e->ranks && m->placement == BPG_PLACEMENT_FSDP;
	e->copies = copies_of(machine, e->owners, e->ranks, workers);
	e->simulated = e->fsdp ? e->copies : e->owners;
	e->sim = bpg_sim_new(machine, e->owners, e->simulated, !e->ranks && !machine->gpu, workers);
	e->node = bpg_calloc((size_t)m->nodes + 1, sizeof *e->node);
	e->slot = bpg_calloc(2 * (size_t)e->simulated, sizeof *e->slot);
	e->berths = bpg_calloc((size_t)e->simulated, sizeof *e->berths);
	e->pages = bpg_calloc((size_t)e->simulated, sizeof *e->pages);
	if (!e->sim || !e->node || !e->slot || !e->berths || !e->pages) {
		bpg_estimate_free(e);
		return NULL;
	}
	for (int i = 0; i < 2 * e->simulated; i++)
		e->slot[i] = bpg_sim_data(e->sim);
	if (e->ranks)
		bpg_sim_wait(e->sim, machine->begin);
	return e;
}

void bpg_estimate_free(struct bpg_estimate *e)
{
	if (!e)
		return;
	for (int v = 0; e->node && v < e->nodes; v++) {
		free(e->node[v].bounds);
		free(e->node[v].panel);
	}
	for (int o = 0; e->berths && o < e->simulated; o++)
		free(e->berths[o].data);
	free(e->node);
	free(e->slot);
	free(e->pages);
	free(e->berths);
	bpg_sim_free(e->sim);
	free(e);
}

int bpg_estimate_workers(const struct bpg_machine *machine, int owners, bool ranks, int workers)
{
	return bpg_sim_workers_of(machine, owners, !ranks, workers);
}

/* ---- work and data ---- */

static double rate(const struct bpg_estimate *e, enum bpg_work kind)
{
	const struct bpg_machine *m = e->machine;
	double packing = e->ranks ? m->packing_ranks : m->packing;
	const double all[BPG_WORKS] = { [BPG_WORK_GEMM32] = m->gemm_float32, [BPG_WORK_GEMM64] = m->gemm_float64, [BPG_WORK_CONV] = m->conv,
		                        [BPG_WORK_ADJOINT] = m->adjoint, [BPG_WORK_TILES] = m->tiles, [BPG_WORK_STARTS] = m->starts,
		                        [BPG_WORK_INTERVALS] = m->intervals, [BPG_WORK_PACKING] = packing };
	return all[kind];
}

/* Seconds of so much work, which is counted. */
static double work(struct bpg_estimate *e, enum bpg_work kind, double amount)
{
	e->work[kind].tasks++;
	e->work[kind].amount += amount;
	return amount / rate(e, kind);
}

/* So many new data, null when memory is short. */
static int *data_new(struct bpg_estimate *e, int n)
{
	int *d = bpg_calloc((size_t)n + 1, sizeof *d);

	for (int i = 0; d && i < n; i++)
		d[i] = bpg_sim_data(e->sim);
	e->failed |= !d;
	return d;
}

static int *bounds_of(struct bpg_estimate *e, int node)
{
	struct node_data *x = &e->node[node];

	if (!x->bounds)
		x->bounds = data_new(e, e->copies);
	return x->bounds;
}

static int *panels_of(struct bpg_estimate *e, const struct bpg_model_node *v)
{
	struct node_data *x = &e->node[v->id];

	if (!x->panel)
		x->panel = data_new(e, v->panels + 1);
	return x->panel;
}

static int panel_data(struct bpg_estimate *e, const struct bpg_model_node *v, int panel)
{
	const int *d = panels_of(e, v);

	return d ? d[panel == BPG_PANEL_FORWARD ? v->panels : panel] : -1;
}

/* Bytes that packing n panels reads and writes, on a core; then they go to the GPU. */
static double packing_seconds(struct bpg_estimate *e, double bytes)
{
	return work(e, BPG_WORK_PACKING, bytes) + (e->machine->gpu ? bytes / e->machine->upload : 0);
}

/* ---- arrays of nodes ---- */

void bpg_estimate_fill(struct bpg_estimate *e, const struct bpg_model *m, const struct bpg_model_node *v, bool planes, int64_t n, int fields,
                       double amount, int blocks)
{
	struct bpg_sim_use use[USES + 1];
	int part[USES];

	if (!e || e->failed)
		return;
	bool dense = v->hop.kind == BPG_HOP_DENSE && !planes;
	bool dealt = e->ranks && blocks > 1 && !planes && (dense || v->hop.kind == BPG_HOP_CONV);
	double bytes = (double)fields * (double)n * sizeof(double) / blocks;
	double readers = BPG_MIN((double)blocks, e->machine->units * (e->machine->gpu ? e->machine->host : 1));
	for (int b = 0; b < blocks; b++) {
		/* What all do is done by each copy, what is dealt by one. */
		for (int c = 0; c < (dealt ? 1 : e->copies); c++) {
			int owner = dealt ? b % e->owners : c, uses = 0;
			for (int k = 0; k < v->hop.nin && uses + 1 < USES; k++) {
				const int *in = bounds_of(e, v->src[k]);
				if (in)
					use[uses++] = (struct bpg_sim_use){ in[owner < e->copies ? owner : 0], false };
			}
			const int *own = bounds_of(e, v->id);
			if (!own)
				return;
			if (planes)
				use[uses++] = (struct bpg_sim_use){ own[c], false };
			int result = blocks > 1 ? bpg_sim_data(e->sim) : planes ? -1 : own[c];
			if (result >= 0)
				use[uses++] = (struct bpg_sim_use){ result, true };
			double seconds = work(e, BPG_WORK_INTERVALS, amount / blocks);
			if (dense && e->machine->file > 0)
				seconds += 4 * amount / blocks / (e->machine->file / readers);
			if (owner < e->simulated)
				bpg_sim_submit(e->sim, &(struct bpg_sim_task){ .lane = BPG_SIM_HOST, .owner = owner, .seconds = seconds, .priority = m->nodes, .uses = uses, .use = use });
			if (blocks > 1 && c == 0)
				part[b] = result;
			else if (blocks > 1)
				bpg_sim_forget(e->sim, result);
			if (dealt && e->owners > 1) /* all have it then */
				bpg_sim_submit(e->sim, &(struct bpg_sim_task){ .lane = BPG_SIM_LINK, .owner = -1, .from = BPG_MIN(owner, e->simulated - 1), .bytes = bytes,
				                                               .copies = e->owners - 1, .priority = m->nodes, .uses = 1, .use = &(struct bpg_sim_use){ result, true } });
		}
	}
	if (blocks < 2)
		return;
	for (int c = 0; c < e->copies; c++) { /* joined */
		int uses = 0;
		for (int b = 0; b < blocks; b++)
			use[uses++] = (struct bpg_sim_use){ part[b], false };
		if (!planes)
			use[uses++] = (struct bpg_sim_use){ bounds_of(e, v->id)[c], true };
		bpg_sim_submit(e->sim, &(struct bpg_sim_task){ .lane = BPG_SIM_HOST, .owner = c, .seconds = work(e, BPG_WORK_TILES, bytes * blocks), .priority = m->nodes,
		                                               .uses = uses, .use = use });
	}
	for (int b = 0; b < blocks; b++)
		bpg_sim_forget(e->sim, part[b]);
}

void bpg_estimate_pack(struct bpg_estimate *e, const struct bpg_model *m, const struct bpg_model_node *v, int first, int n)
{
	struct bpg_sim_use use[USES];
	double bytes = 0;
	int owner = first == BPG_PANEL_FORWARD ? v->forward_owner : v->panel_owner[first];

	if (!e || e->failed || owner >= e->simulated)
		return;
	for (int i = 0; i < n; i++) {
		bytes += (double)bpg_panel_bytes(v, first + i);
		use[i] = (struct bpg_sim_use){ panel_data(e, v, first + i), true };
	}
	if (!e->failed)
		bpg_sim_submit(e->sim, &(struct bpg_sim_task){ .lane = BPG_SIM_HOST, .owner = owner, .seconds = packing_seconds(e, bytes), .priority = 2 * m->nodes,
		                                               .uses = n, .use = use });
}

/* ---- waves ---- */

struct wave {
	struct bpg_estimate *e;
	const struct bpg_model *m;
	const struct bpg_stage *s;
	const struct bpg_wave *w;
	int first, copy;
	int *buffer, *state, *berth; /* of this copy: buffers; tiles of the wave */
	struct bpg_sim_use use[USES];
	int uses;
	int owner;                /* of the step */
	double fresh;             /* bytes of memory that it is the first to write */
};

static void uses(struct wave *x, int data, bool write)
{
	if (data >= 0 && x->uses < USES)
		x->use[x->uses++] = (struct bpg_sim_use){ data, write };
}

/* A buffer that is new takes memory that others have left, or memory never used before. */
static void uses_buffer(struct wave *x, int b, bool write)
{
	if (b < 0)
		return;
	if (x->buffer[b] < 0) {
		struct pages *p = &x->e->pages[x->e->ranks ? x->owner : 0];
		x->buffer[b] = bpg_sim_data(x->e->sim);
		p->live += (double)x->w->buffer[b].bytes;
		x->fresh += BPG_MAX(p->live - p->most, 0.0);
		p->most = BPG_MAX(p->most, p->live);
	}
	uses(x, x->buffer[b], write);
}

static double bytes_of(const struct wave *x, int b)
{
	return b < 0 ? 0 : (double)x->w->buffer[b].bytes;
}

/* A panel of a product: where it lies, or its slot. */
static void uses_panel(struct wave *x, const struct bpg_step *p, int owner)
{
	uses(x, p->extra[2] > 0 ? x->e->slot[2 * owner + p->extra[2] - 1] : panel_data(x->e, &x->m->node[p->node], p->panel), false);
}

static double forward_seconds(struct wave *x, const struct bpg_step *p)
{
	const struct bpg_model_node *v = &x->m->node[p->node];
	const struct bpg_conv *c = &v->hop.conv;
	double rows = 2.0 * BPG_LANES * x->s->tile[p->tile].strips;

	if (v->hop.kind == BPG_HOP_DENSE)
		return work(x->e, BPG_WORK_ADJOINT, rows * (double)bpg_panel_columns(v, p->panel) * (double)bpg_columns_places(v->hop.out));
	if (v->hop.kind == BPG_HOP_CONV)
		return work(x->e, BPG_WORK_ADJOINT, rows * (double)(bpg_columns_in(v->hop.out, &x->w->buffer[p->to].window) * (c->in_channels / c->groups) * c->kernel[0] * c->kernel[1]));
	return work(x->e, BPG_WORK_TILES, bytes_of(x, p->from) + bytes_of(x, p->to));
}

/* A convolution computes input channels in groups, and relaxes or charges its rows on the way; in double it is as much slower as other
 * products. */
static double conv_seconds(struct wave *x, const struct bpg_step *p)
{
	const struct bpg_machine *m = x->e->machine;
	const struct bpg_conv *c = &x->m->node[p->node].hop.conv;
	double in = (double)(c->in_channels / c->groups), padded = (double)((c->in_channels / c->groups + BPG_GROUP - 1) / BPG_GROUP * BPG_GROUP);
	double flops = bpg_step_flops(x->m, x->s, x->w, p) * padded / in, rows = p->k || p->extra[0] >= 0 ? bytes_of(x, p->from) : 0;

	if (p->extra[0] >= 0)
		rows += bytes_of(x, p->extra[1]);
	return work(x->e, BPG_WORK_CONV, x->s->tile[p->tile].wide ? flops * m->gemm_float32 / m->gemm_float64 : flops) + rows / m->tiles;
}

static double product_seconds(struct wave *x, const struct bpg_step *p)
{
	return p->kind == BPG_STEP_CONV ? conv_seconds(x, p)
	                                : work(x->e, x->s->tile[p->tile].wide ? BPG_WORK_GEMM64 : BPG_WORK_GEMM32, bpg_step_flops(x->m, x->s, x->w, p));
}

/* Between ranks, and between GPUs, a panel goes from its owner to the one that reads it; else it is copied. */
static void gather(struct wave *x, const struct bpg_step *p, int owner)
{
	struct bpg_estimate *e = x->e;
	const struct bpg_model_node *v = &x->m->node[p->node];
	double bytes = (double)bpg_panel_bytes(v, p->panel);
	int home = p->panel == BPG_PANEL_FORWARD ? v->forward_owner : v->panel_owner[p->panel];

	if (bpg_panels_stream(x->m)) {
		uses(x, e->slot[2 * owner + p->k], true);
		bpg_sim_submit(e->sim, &(struct bpg_sim_task){ .lane = BPG_SIM_HOST, .owner = owner, .seconds = packing_seconds(e, bytes), .priority = 2 * x->m->nodes,
		                                               .uses = x->uses, .use = x->use });
		return;
	}
	if (home == owner)
		return;
	uses(x, panel_data(e, v, p->panel), false);
	uses(x, e->slot[2 * owner + p->k], true);
	if (!e->ranks && !e->machine->gpu)
		bpg_sim_submit(e->sim, &(struct bpg_sim_task){ .lane = BPG_SIM_WORKER, .owner = owner, .seconds = work(e, BPG_WORK_TILES, 2 * bytes), .priority = 2 * x->m->nodes,
		                                               .uses = x->uses, .use = x->use });
	else /* one that stands for all has its copy when all have */
		bpg_sim_submit(e->sim, &(struct bpg_sim_task){ .lane = BPG_SIM_LINK, .owner = owner, .from = home < e->simulated ? home : -1, .bytes = bytes,
		                                               .copies = home < e->simulated ? 1 : e->owners - 1, .uses = x->uses, .use = x->use });
}

/* Seconds of a step, and what it uses; false: it is no task of a worker. */
static bool take(struct wave *x, const struct bpg_step *p, double *seconds)
{
	struct bpg_estimate *e = x->e;
	int tile = p->tile - x->first, owner = x->owner;
	double passed = bytes_of(x, p->from) + bytes_of(x, p->to);
	bool state = false;

	switch (p->kind) {
	case BPG_STEP_FREE:
		if (x->buffer[p->from] >= 0)
			e->pages[e->ranks ? owner : 0].live -= bytes_of(x, p->from);
		return false;
	case BPG_STEP_GATHER:
		gather(x, p, owner);
		return false;
	case BPG_STEP_START:
	case BPG_STEP_QUESTION:
		uses_buffer(x, p->to, true);
		*seconds = work(e, p->kind == BPG_STEP_START ? BPG_WORK_STARTS : BPG_WORK_TILES, passed);
		uses(x, x->berth[tile], true);
		state = true;
		break;
	case BPG_STEP_GEMM:
	case BPG_STEP_CONV:
		uses_panel(x, p, owner);
		uses_buffer(x, p->from, p->kind == BPG_STEP_CONV && p->extra[0] >= 0);
		uses_buffer(x, p->to, true);
		if (p->kind == BPG_STEP_CONV && p->extra[0] >= 0)
			uses_buffer(x, p->extra[1], false);
		state = p->kind == BPG_STEP_CONV && (p->k || p->extra[0] >= 0);
		*seconds = product_seconds(x, p);
		break;
	case BPG_STEP_FORWARD:
		if (x->m->node[p->node].hop.kind == BPG_HOP_DENSE || x->m->node[p->node].hop.kind == BPG_HOP_CONV)
			uses_panel(x, p, owner);
		uses_buffer(x, p->from, false);
		uses_buffer(x, p->to, true);
		*seconds = forward_seconds(x, p);
		break;
	case BPG_STEP_ALPHA_START:
	case BPG_STEP_ALPHA_RELAX:
	case BPG_STEP_ALPHA_STEP:
		for (int i = 0; i < 3; i++) {
			passed += bytes_of(x, p->extra[i]);
			uses_buffer(x, p->extra[i], p->kind == BPG_STEP_ALPHA_RELAX ? i == 2 : i < 2);
		}
		uses_buffer(x, p->from, true);
		state = p->kind == BPG_STEP_ALPHA_RELAX;
		*seconds = work(e, BPG_WORK_TILES, passed);
		break;
	case BPG_STEP_FINISH:
		uses(x, x->berth[tile], true);
		state = true;
		*seconds = 0;
		break;
	default: /* a pass over tiles */
		uses_buffer(x, p->from, p->kind == BPG_STEP_RELAX);
		uses_buffer(x, p->to, p->kind != BPG_STEP_RELAX);
		state = p->kind != BPG_STEP_MAP && p->kind != BPG_STEP_COPY && p->kind != BPG_STEP_CORNER;
		*seconds = work(e, BPG_WORK_TILES, passed);
	}
	if (state)
		uses(x, x->state[tile], true);
	return true;
}

static int berth(struct bpg_estimate *e, int owner, int i)
{
	struct estimate_berths *b = &e->berths[owner];

	if (!bpg_grow(&b->data, &b->room, i + 1, sizeof *b->data)) {
		e->failed = true;
		return -1;
	}
	for (; b->count <= i; b->count++)
		b->data[b->count] = bpg_sim_data(e->sim);
	return b->data[i];
}

/* What each rank of fsdp does is done by each copy, else tiles have owners. */
static void submit(struct wave *x, int copy)
{
	struct bpg_estimate *e = x->e;
	int last = x->first, tiles, *count = bpg_calloc((size_t)e->simulated, sizeof *count);

	for (int64_t i = 0; i < x->w->steps; i++)
		last = BPG_MAX(last, x->w->step[i].tile);
	tiles = last - x->first + 1;
	x->buffer = bpg_calloc((size_t)x->w->buffers + 1, sizeof *x->buffer);
	x->state = data_new(e, tiles);
	x->berth = bpg_calloc((size_t)tiles, sizeof *x->berth);
	e->failed |= !count || !x->buffer || !x->berth;
	for (int64_t b = 0; !e->failed && b < x->w->buffers; b++)
		x->buffer[b] = -1;
	for (int t = 0; !e->failed && t < tiles; t++) {
		int owner = e->fsdp ? copy : x->s->tile[x->first + t].owner;
		x->berth[t] = x->m->placement == BPG_PLACEMENT_SINGLE ? -1 : berth(e, owner, count[owner]++);
	}
	for (int64_t i = 0; !e->failed && i < x->w->steps; i++) {
		const struct bpg_step *p = &x->w->step[i];
		int owner = e->fsdp ? copy : x->s->tile[p->tile].owner;
		bool host = p->kind == BPG_STEP_QUESTION || p->kind == BPG_STEP_FINISH;
		double seconds;
		x->uses = 0;
		x->owner = owner;
		x->fresh = 0;
		if (!take(x, p, &seconds))
			continue;
		e->fresh += x->fresh;
		if (e->machine->fresh > 0)
			seconds += x->fresh / e->machine->fresh;
		bpg_sim_submit(e->sim, &(struct bpg_sim_task){ .lane = host ? BPG_SIM_HOST : BPG_SIM_WORKER, .owner = owner, .seconds = seconds, .priority = p->priority,
		                                               .uses = x->uses, .use = x->use });
	}
	for (int64_t b = 0; x->buffer && b < x->w->buffers; b++)
		bpg_sim_forget(e->sim, x->buffer[b]);
	for (int t = 0; x->state && t < tiles; t++)
		bpg_sim_forget(e->sim, x->state[t]);
	free(count);
	free(x->buffer);
	free(x->state);
	free(x->berth);
}

void bpg_estimate_wave(struct bpg_estimate *e, const struct bpg_model *m, const struct bpg_stage *s, const struct bpg_wave *w)
{
	struct wave x = { .e = e, .m = m, .s = s, .w = w, .first = w->first };

	for (int c = 0; e && !e->failed && w->steps && c < (e->fsdp ? e->copies : 1); c++)
		submit(&x, c);
}

void bpg_estimate_results(struct bpg_estimate *e, const struct bpg_model *m, const struct bpg_stage *s, int first, int end)
{
	if (!e || e->failed || !e->ranks || e->fsdp)
		return;
	for (int t = first; t < end; t++) {
		const struct bpg_tile *tile = &s->tile[t];
		struct bpg_sim_use use = { berth(e, tile->owner, (t - first) / e->owners), false };
		bpg_sim_submit(e->sim, &(struct bpg_sim_task){ .lane = BPG_SIM_LINK, .owner = -1, .from = tile->owner, .bytes = (double)(tile->strips * BPG_LANES) * sizeof(double),
		                                               .copies = e->owners - 1, .priority = m->nodes, .uses = use.data >= 0, .use = &use });
	}
}

enum bpg_status bpg_estimate_wait(struct bpg_ctx *ctx, struct bpg_estimate *e)
{
	if (!e)
		return BPG_OK;
	return bpg_sim_wait(e->sim, e->machine->wait) && !e->failed ? BPG_OK : bpg_nomem(ctx, "an estimate");
}

void bpg_estimate_result(const struct bpg_estimate *e, struct bpg_result_estimate *r)
{
	struct bpg_sim_outcome x;

	bpg_sim_outcome(e->sim, &x);
	*r = (struct bpg_result_estimate){ .seconds = x.seconds, .work = x.work, .critical = x.critical, .waiting = x.waiting, .overlap = x.overlap,
		                           .tasks = x.tasks, .transfers = x.transfers, .waits = x.waits, .fresh = e->fresh, .workers = bpg_sim_workers(e->sim) };
	memcpy(r->done, e->work, sizeof r->done);
}
