/* frontier.c - a binary heap. */
#include "bab/frontier.h"

#include <stdlib.h>

struct bpg_domain *bpg_domain_box(int64_t n, int opens)
{
	size_t bytes = sizeof(struct bpg_domain) + (size_t)(2 * n) * sizeof(double) + (size_t)opens * sizeof(int32_t);
	struct bpg_domain *d = bpg_calloc(1, bytes);

	if (!d)
		return NULL;
	d->bytes = bytes;
	d->n = n;
	d->opens = opens;
	d->lo = (double *)(d + 1);
	d->up = d->lo + n;
	d->open = (int32_t *)(d->up + n);
	return d;
}

struct bpg_domain *bpg_domain_splits(int32_t disjunct, int splits, int rows)
{
	size_t bytes = sizeof(struct bpg_domain) + (size_t)splits * sizeof(struct bpg_split)
	               + (size_t)rows * (sizeof(double) + sizeof(float *)) + sizeof(int32_t);
	struct bpg_domain *d = bpg_calloc(1, bytes);

	if (!d)
		return NULL;
	d->bytes = bytes;
	d->splits = splits;
	d->rows = rows;
	d->opens = 1;
	d->split = (struct bpg_split *)(d + 1);
	d->known = (double *)(d->split + splits);
	d->params = (float **)(d->known + rows);
	d->open = (int32_t *)(d->params + rows);
	d->open[0] = disjunct;
	return d;
}

void bpg_domain_free(struct bpg_domain *d)
{
	for (int r = 0; d && r < d->rows; r++)
		free(d->params[r]);
	free(d);
}

static bool before(const struct bpg_domain *a, const struct bpg_domain *b)
{
	return a->bound != b->bound ? a->bound < b->bound : a->number < b->number;
}

bool bpg_frontier_push(struct bpg_frontier *f, struct bpg_domain *d)
{
	int64_t i = f->count;

	if (!bpg_grow(&f->heap, &f->room, f->count + 1, sizeof(struct bpg_domain *)))
		return false;
	for (; i > 0 && before(d, f->heap[(i - 1) / 2]); i = (i - 1) / 2)
		f->heap[i] = f->heap[(i - 1) / 2];
	f->heap[i] = d;
	f->count++;
	f->bytes += d->bytes;
	return true;
}

struct bpg_domain *bpg_frontier_pop(struct bpg_frontier *f)
{
	struct bpg_domain *first, *last;
	int64_t i = 0;

	if (!f->count)
		return NULL;
	first = f->heap[0];
	last = f->heap[--f->count];
	for (int64_t k; (k = 2 * i + 1) < f->count; i = k) {
		if (k + 1 < f->count && before(f->heap[k + 1], f->heap[k]))
			k++;
		if (!before(f->heap[k], last))
			break;
		f->heap[i] = f->heap[k];
	}
	f->heap[i] = last;
	f->bytes -= first->bytes;
	return first;
}

void bpg_frontier_fini(struct bpg_frontier *f)
{
	for (int64_t i = 0; i < f->count; i++)
		bpg_domain_free(f->heap[i]);
	free(f->heap);
	*f = (struct bpg_frontier){ 0 };
}
