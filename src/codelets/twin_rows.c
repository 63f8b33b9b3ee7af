/* twin_rows.c - twins of what a walk does to a tile besides products (task_rows.c), and of unit rows. */
#include <stdlib.h>

#include "codelets/twin.h"

/* ---- relax, joins ---- */

static struct bpg_window whole(const struct bpg_columns *k)
{
	return (struct bpg_window){ { 0, 0 }, { k->size[0], k->size[1] } };
}

bool bpg_twin_relaxation(struct bpg_device *d, const struct bpg_arg_relax *r, const void *planes, void *tile, void *state, struct bpg_cuda_relax *p)
{
	const struct bpg_columns *k = r->hop->out;
	struct bpg_window all = whole(k);

	*p = (struct bpg_cuda_relax){ .wide = r->tile.wide, .slack = r->slack, .strips = r->tile.strips, .columns = bpg_columns_in(k, &r->tile.window),
		                      .at = bpg_twin_spans(k, &r->tile.window, &all), .tile = tile, .state = state, .planes = planes,
		                      .places = bpg_columns_places(k), .under = r->under };
	p->segment = bpg_twin_segments(d, &r->tile);
	return p->segment || !r->tile.segment;
}

/* tile over window `to` += second over `from`. */
static bool join(struct bpg_device *d, const struct bpg_arg_add *a, const void *bounds, const void *second, void *tile, void *state)
{
	const struct bpg_columns *k = a->hop->out;
	struct bpg_cuda_relax p = { .wide = a->from.wide, .slack = a->slack, .strips = a->from.strips, .columns = bpg_columns_in(k, &a->from.window),
		                    .at = bpg_twin_spans(k, &a->from.window, &a->to.window), .tile = tile, .state = state,
		                    .places = bpg_columns_places(k), .second = second, .tile_columns = bpg_columns_in(k, &a->to.window),
		                    .bounds = bounds, .n = k->n, .element = bpg_twin_elements(d, k, &a->from.window) };

	p.segment = bpg_twin_segments(d, &a->from);
	return p.element && (p.segment || !a->from.segment) && bpg_device_started(d, d->kernel->relax(&p, d->stream));
}

bool bpg_twin_relax_tile(struct bpg_device *d, const struct bpg_arg_relax *r, const void *planes, void *tile, void *state, const void *second,
                         const void *bounds)
{
	struct bpg_arg_add a = { r->hop, r->tile, r->tile, r->slack };
	struct bpg_cuda_relax p;

	return (!second || join(d, &a, bounds, second, tile, state)) && bpg_twin_relaxation(d, r, planes, tile, state, &p)
	       && bpg_device_started(d, d->kernel->relax(&p, d->stream));
}

void bpg_twin_relax(struct bpg_rt *rt, void *const *buffer, const void *arg, struct bpg_device *d)
{
	(void)rt;
	bpg_twin_relax_tile(d, arg, buffer[0], buffer[1], buffer[2], NULL, NULL);
}

void bpg_twin_add_relax(struct bpg_rt *rt, void *const *buffer, const void *arg, struct bpg_device *d)
{
	(void)rt;
	bpg_twin_relax_tile(d, arg, buffer[0], buffer[1], buffer[2], buffer[4], buffer[3]);
}

void bpg_twin_add(struct bpg_rt *rt, void *const *buffer, const void *arg, struct bpg_device *d)
{
	(void)rt;
	join(d, arg, buffer[0], buffer[1], buffer[2], buffer[3]);
}

void bpg_twin_copy(struct bpg_rt *rt, void *const *buffer, const void *arg, struct bpg_device *d)
{
	const struct bpg_arg_add *a = arg;
	const struct bpg_columns *k = a->hop->out;
	struct bpg_cuda_copy p = { .wide = a->from.wide, .strips = a->from.strips, .channels = k->grid ? k->channels : k->count, .from_up = { 1, 1 },
		                   .to_up = { 1, 1 }, .from = buffer[0], .to = buffer[1], .from_strip = bpg_columns_in(k, &a->from.window) * BPG_LANES,
		                   .to_strip = bpg_columns_in(k, &a->to.window) * BPG_LANES };

	(void)rt;
	for (int x = 0; k->grid && x < 2; x++) {
		p.from_lo[x] = a->from.window.lo[x], p.from_up[x] = a->from.window.up[x];
		p.to_lo[x] = a->to.window.lo[x], p.to_up[x] = a->to.window.up[x];
	}
	bpg_device_started(d, d->kernel->copy(&p, d->stream));
}

/* ---- sums over columns ---- */

/* What sums over the columns of a tile have in common; false: a fault is set. */
static bool sums(struct bpg_device *d, const struct bpg_columns *k, const struct bpg_view_tile *t, const void *bounds, const void *tile, void *state,
                 struct bpg_cuda_sums *p)
{
	p->wide = t->wide;
	p->strips = t->strips;
	p->columns = bpg_columns_in(k, &t->window);
	p->tile = tile;
	p->state = state;
	p->bounds = bounds;
	p->n = k->n;
	p->segment = bpg_twin_segments(d, t);
	p->element = bpg_twin_elements(d, k, &t->window);
	return p->element && (p->segment || !t->segment);
}

bool bpg_twin_toll_tile(struct bpg_device *d, const struct bpg_arg_relax *r, const void *bounds, const void *tile, void *state)
{
	struct bpg_cuda_sums p = { .kind = BPG_SUM_TOLL, .slack = true, .gamma = r->tile.wide ? r->hop->gamma64 : r->hop->gamma32, .under = r->under };

	return sums(d, r->hop->out, &r->tile, bounds, tile, state, &p) && bpg_device_started(d, d->kernel->sums(&p, d->stream));
}

void bpg_twin_toll(struct bpg_rt *rt, void *const *buffer, const void *arg, struct bpg_device *d)
{
	(void)rt;
	bpg_twin_toll_tile(d, arg, buffer[0], buffer[1], buffer[2]);
}

void bpg_twin_concretize(struct bpg_rt *rt, void *const *buffer, const void *arg, struct bpg_device *d)
{
	const struct bpg_arg_concretize *a = arg;
	struct bpg_cuda_sums p = { .kind = BPG_SUM_REGION, .norm = a->norm };

	(void)rt;
	if (sums(d, a->hop->out, &a->tile, buffer[0], buffer[1], buffer[2], &p))
		bpg_device_started(d, d->kernel->sums(&p, d->stream));
}

/* ---- unit rows ---- */

void bpg_twin_start_unit(struct bpg_rt *rt, void *const *buffer, const void *arg, struct bpg_device *d)
{
	const struct bpg_arg_start *a = arg;
	const struct bpg_columns *k = a->hop->out;
	int64_t columns = bpg_columns_in(k, &a->tile.window), *column = malloc((size_t)(a->count + 1) * sizeof *column);
	struct bpg_cuda_start p = { .wide = a->tile.wide, .strips = a->tile.strips, .columns = columns, .count = a->count, .sides = a->sides, .minus = a->minus,
		                    .c1 = columns, .upper_columns = columns, .tile = buffer[1], .state = buffer[2], .bounds = buffer[0], .n = k->n };

	if (!column) {
		bpg_rt_fault(rt, BPG_ENOMEM, "memory is short for %d rows", a->count);
		return;
	}
	for (int i = 0; i < a->count; i++)
		column[i] = bpg_columns_column(k, &a->tile.window, bpg_columns_place(k, a->element[i]));
	p.segment = bpg_twin_segments(d, &a->tile);
	p.element = bpg_device_send(d, a->element, (size_t)a->count * sizeof *a->element);
	p.column = bpg_device_send(d, column, (size_t)a->count * sizeof *column);
	if (p.element && p.column && (p.segment || !a->tile.segment))
		bpg_device_started(d, d->kernel->start(&p, d->stream));
	free(column);
}
