/* case.c - see case.h. */
#include "case.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

void *host(struct run *r, int64_t n, size_t size)
{
	void *p = calloc((size_t)n + 1, size);

	if (!p || r->hosts == MOST_BLOCKS)
		abort();
	return r->host[r->hosts++] = p;
}

static void settled(const struct run *r, int status)
{
	if (!status)
		return;
	fprintf(stderr, "memory of the device, or a kernel: %s\n", r->b->error(status));
	exit(1);
}

void *put(struct run *r, const void *from, int64_t n, size_t size)
{
	if (r->devices == MOST_BLOCKS)
		abort();
	void *p = r->device[r->devices++] = r->b->alloc((size_t)n * size);
	if (!p)
		abort();
	settled(r, r->b->move(p, from, (size_t)n * size, NULL));
	settled(r, r->b->sync(NULL));
	return p;
}

bool case_end(struct run *r)
{
	while (r->hosts > 0)
		free(r->host[--r->hosts]);
	while (r->devices > 0)
		r->b->drop(r->device[--r->devices]);
	return r->ok;
}

int below(struct run *r, int n) { return (int)bpg_rng_below(r->rng, n); }
double uniform(struct run *r, double lo, double up) { return lo + (up - lo) * bpg_rng_uniform(r->rng); }

float value(struct run *r)
{
	int kind = below(r, 16);
	double x = uniform(r, -1, 1);

	return (float)(kind == 0 ? 0 : kind == 1 ? x * 0x1p-140 : kind == 2 ? x * 0x1p-80 : kind == 3 ? x * 1e6 : x);
}

void fill(struct run *r, bool wide, void *to, int64_t n)
{
	for (int64_t i = 0; i < n; i++)
		if (wide)
			((double *)to)[i] = value(r) * (1 + (below(r, 2) ? 0x1p-40 : 0));
		else
			((float *)to)[i] = value(r);
}

double element(bool wide, const void *x, int64_t i) { return wide ? ((const double *)x)[i] : (double)((const float *)x)[i]; }

void compare(struct run *r, const char *what, bool wide, const void *must, const void *device, int64_t n)
{
	size_t size = wide ? sizeof(double) : sizeof(float);
	void *got = host(r, n, size);

	settled(r, r->b->move(got, device, (size_t)n * size, NULL));
	settled(r, r->b->sync(NULL));
	*r->hash = bpg_hash(*r->hash, got, (size_t)n * size);
	for (int64_t i = 0; r->ok && i < n; i++) {
		double x = element(wide, got, i), y = element(wide, must, i);
		if ((x == y && signbit(x) == signbit(y)) || (isnan(x) && isnan(y)))
			continue;
		snprintf(r->why, 256, "%s, element %lld of %lld: %.17g, on the CPU %.17g", what, (long long)i, (long long)n, x,
		         y);
		r->ok = false;
	}
}

void started(struct run *r, const char *what, int status)
{
	if (status && r->ok) {
		snprintf(r->why, 256, "%s: error %d", what, status);
		r->ok = false;
	}
}

struct bpg_columns list(struct run *r, int64_t n, int64_t mixed)
{
	struct bpg_columns k = {
		.n = n, .count = n, .mixed = mixed, .index = host(r, n, sizeof *k.index), .slot = host(r, n, sizeof *k.slot)
	};

	for (int64_t i = 0; i < n; i++)
		k.index[i] = k.slot[i] = (int32_t)i;
	return k;
}

struct bpg_columns grid(struct run *r, int64_t channels, int64_t height, int64_t width)
{
	struct bpg_columns k = { .grid = true,
		                 .n = channels * height * width,
		                 .channels = (int32_t)channels,
		                 .size = { (int32_t)height, (int32_t)width } };

	if (below(r, 2))
		k.stride[0] = height * width, k.stride[1] = width, k.stride[2] = 1;
	else
		k.stride[0] = 1, k.stride[1] = channels * width, k.stride[2] = channels;
	return k;
}

struct bpg_window window(struct run *r, const struct bpg_columns *k)
{
	struct bpg_window w = { { 0, 0 }, { 0, 0 } };

	for (int a = 0; k->grid && a < 2; a++) {
		w.lo[a] = below(r, k->size[a]);
		w.up[a] = w.lo[a] + 1 + below(r, k->size[a] - w.lo[a]);
	}
	return w;
}

void draw_tile(struct run *r, struct tile *t, int64_t most)
{
	*t = (struct tile){ .k = below(r, 2) ? list(r, 1 + below(r, (int)most), 0)
		                             : grid(r, 1 + below(r, below(r, 3) ? 4 : 200), 1 + below(r, 5), 1 + below(r, 5)) };
	struct bpg_columns *k = &t->k;
	t->view = (struct bpg_view_tile){ .strips = 1 + below(r, 17), .wide = below(r, 3) == 0, .window = window(r, k) };
	t->columns = bpg_columns_in(k, &t->view.window);
	t->places = bpg_columns_places(k);
	t->rows = (int64_t)t->view.strips * BPG_LANES;
	t->segments = 1 + below(r, 3);
	t->segment = host(r, t->view.strips, sizeof *t->segment);
	for (int s = 0; s < t->view.strips; s++)
		t->segment[s] = below(r, t->segments);
	t->view.segment = t->segment;
	t->data = host(r, t->rows * t->columns, size_of(t->view.wide));
	fill(r, t->view.wide, t->data, t->rows * t->columns);
	if (below(r, 8) == 0 && t->view.wide)
		((double *)t->data)[below(r, (int)(t->rows * t->columns))] = below(r, 2) ? NAN : INFINITY;
	else if (below(r, 8) == 0 && !t->view.wide)
		((float *)t->data)[below(r, (int)(t->rows * t->columns))] = below(r, 2) ? NAN : INFINITY;
	t->state = host(r, BPG_STATES * t->rows, sizeof *t->state);
	for (int64_t i = 0; i < BPG_STATES * t->rows; i++)
		t->state[i] = i / t->rows == BPG_P ? uniform(r, -2, 2) : uniform(r, 0, 1);
	t->bounds = host(r, t->segments * BPG_FIELDS * k->n, sizeof *t->bounds);
	for (int64_t i = 0; i < t->segments * BPG_FIELDS * k->n; i++)
		t->bounds[i] = i / k->n % BPG_FIELDS == BPG_CENTRE ? uniform(r, -2, 2) : below(r, 6) ? uniform(r, 0, 1) : 0;
	t->planes = host(r, t->segments * BPG_PLANE_FIELDS * t->places, sizeof *t->planes);
	for (int64_t i = 0; i < t->segments * BPG_PLANE_FIELDS * t->places; i++) {
		int64_t field = i / t->places % BPG_PLANE_FIELDS;
		t->planes[i] = field == BPG_LINE           ? below(r, 3)
		               : field <= BPG_SLOPE_UP     ? (double)(float)uniform(r, -1, 1)
		               : field <= BPG_TIMES_OLD_UP ? uniform(r, -1, 1)
		                                           : uniform(r, 0, 1e-3);
	}
	t->element = host(r, t->columns, sizeof *t->element);
	for (int64_t j = 0; j < t->columns; j++)
		t->element[j] = (int32_t)bpg_columns_element(k, bpg_columns_at(k, &t->view.window, j));
	const struct bpg_window *w = &t->view.window;
	t->at = !k->grid ? (struct bpg_cuda_spans){ k->count, 0, 0 }
	                 : (struct bpg_cuda_spans){ (int64_t)(w->up[1] - w->lo[1]) * k->channels,
		                                    ((int64_t)w->lo[0] * k->size[1] + w->lo[1]) * k->channels,
		                                    (int64_t)k->size[1] * k->channels };
}
