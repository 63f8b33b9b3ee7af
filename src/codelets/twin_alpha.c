/* twin_alpha.c - twins of optimised slopes (task_alpha.c), where the lower slope is free. */
#include <stdlib.h>

#include "codelets/twin.h"

static bool make_choice(const void *arg, struct bpg_table *t)
{
	const struct bpg_arg_alpha *a = arg;
	int64_t columns = bpg_columns_in(a->hop->out, &a->tile.window);
	int32_t *choice = malloc((size_t)(columns + 1) * sizeof *choice);

	for (int64_t j = 0; choice && j < columns; j++)
		choice[j] = -1;
	for (int64_t i = 0; choice && i < a->at.count; i++)
		choice[a->at.column[i]] = (int32_t)i;
	t->part[0] = choice;
	t->bytes[0] = (size_t)(columns + 1) * sizeof *choice;
	return choice != NULL;
}

/* Number of the choice of each column, -1: none; null: a fault is set. */
static const int32_t *choice_of(struct bpg_device *d, const struct bpg_arg_alpha *a)
{
	struct {
		int64_t what, columns;
		uint64_t id;
	} key = { 'a', bpg_columns_in(a->hop->out, &a->tile.window), a->at.count ? a->at.id : 0 };
	const struct bpg_table *t = bpg_device_table(d, &key, sizeof key, make_choice, a);

	return t ? t->part[0] : NULL;
}

void bpg_twin_relax_alpha(struct bpg_rt *rt, void *const *buffer, const void *arg, struct bpg_device *d)
{
	const struct bpg_arg_alpha *a = arg;
	const struct bpg_columns *k = a->hop->out;
	struct bpg_arg_relax relax = { a->hop, a->tile, a->slack, a->under };
	struct bpg_cuda_relax p;

	(void)rt;
	if (!bpg_twin_relaxation(d, &relax, buffer[0], buffer[1], buffer[2], &p))
		return;
	p.segment = NULL;
	p.choices = a->at.count;
	p.choice = choice_of(d, a);
	p.alpha = buffer[3];
	p.kept = a->keep ? buffer[4] : NULL;
	p.bounds = buffer[a->keep ? 5 : 4];
	p.n = k->n;
	p.element = bpg_twin_elements(d, k, &a->tile.window);
	if (p.choice && p.element)
		bpg_device_started(d, d->kernel->relax(&p, d->stream));
}

void bpg_twin_alpha_step(struct bpg_rt *rt, void *const *buffer, const void *arg, struct bpg_device *d)
{
	const struct bpg_arg_alpha *a = arg;
	const struct bpg_columns *k = a->hop->out;
	struct bpg_window all = { { 0, 0 }, { k->size[0], k->size[1] } };
	bool any = a->at.count > 0;
	struct bpg_cuda_step p = { .strips = a->tile.strips, .columns = bpg_columns_in(k, &a->tile.window), .choices = a->at.count,
		                   .places = bpg_columns_places(k), .at = bpg_twin_spans(k, &a->tile.window, &all), .choice = choice_of(d, a),
		                   .planes = buffer[0], .bounds = buffer[1], .n = k->n, .element = bpg_twin_elements(d, k, &a->tile.window),
		                   .z = buffer[2], .kept = any ? buffer[3] : NULL, .alpha = any ? buffer[4] : NULL, .moments = any ? buffer[5] : NULL,
		                   .weight = a->weighed ? buffer[6] : NULL, .rate = (float)a->rate, .bias1 = (float)a->bias1, .bias2 = (float)a->bias2 };

	(void)rt;
	if (p.choice && p.element)
		bpg_device_started(d, d->kernel->step(&p, d->stream));
}

void bpg_twin_corner(struct bpg_rt *rt, void *const *buffer, const void *arg, struct bpg_device *d)
{
	const struct bpg_arg_corner *a = arg;
	const struct bpg_columns *k = a->hop->out;
	struct bpg_cuda_corner p = { .wide = a->tile.wide, .norm = a->norm, .strips = a->tile.strips, .columns = bpg_columns_in(k, &a->tile.window),
		                     .size = a->radius, .tile = buffer[1], .state = buffer[2], .bounds = buffer[0], .n = k->n,
		                     .element = bpg_twin_elements(d, k, &a->tile.window), .z = buffer[3] };

	(void)rt;
	if (p.element)
		bpg_device_started(d, d->kernel->corner(&p, d->stream));
}

void bpg_twin_weights_start(struct bpg_rt *rt, void *const *buffer, const void *arg, struct bpg_device *d)
{
	const struct bpg_arg_weights *a = arg;
	size_t bytes = (size_t)(a->tile.strips * a->others * BPG_LANES) * sizeof(float);

	(void)rt;
	bpg_device_started(d, d->kernel->clear(buffer[0], bytes, d->stream));
	bpg_device_started(d, d->kernel->clear(buffer[1], 2 * bytes, d->stream));
}
