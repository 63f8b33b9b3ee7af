/* frontier.c - domains, and a binary heap of them. */
#include "bab/frontier.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bab/spill.h"

/* ---- domains ---- */

struct bpg_params *bpg_params_dealt(int64_t rows, int64_t each, const int *rank, int me)
{
	bool here = !rank;

	for (int64_t r = 0; rank && r < rows; r++)
		here |= rank[r] == me;
	size_t floats = here ? (size_t)(rows * each) : 0;
	struct bpg_params *p = malloc(sizeof *p + floats * sizeof *p->v + (rank ? (size_t)rows * sizeof *rank : 0));
	if (!p)
		return NULL;
	atomic_init(&p->holders, 1);
	p->rows = rows;
	p->each = each;
	p->here = here;
	p->rank = rank ? memcpy(p->v + floats, rank, (size_t)rows * sizeof *rank) : NULL;
	return p;
}

struct bpg_params *bpg_params_new(int64_t rows, int64_t each)
{
	return bpg_params_dealt(rows, each, NULL, 0);
}

/* Floats that are here. */
static size_t params_count(const struct bpg_params *p)
{
	return p->here ? (size_t)(p->rows * p->each) : 0;
}

void bpg_params_drop(struct bpg_params *p)
{
	if (p && atomic_fetch_sub(&p->holders, 1) == 1)
		free(p);
}

struct bpg_domain *bpg_domain_box(int64_t n, int opens)
{
	size_t bytes = sizeof(struct bpg_domain) + (size_t)(2 * n) * sizeof(double) + (size_t)opens * sizeof(int32_t);
	struct bpg_domain *d = bpg_calloc(1, bytes);

	if (!d)
		return NULL;
	atomic_init(&d->holders, 1);
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
	size_t bytes = sizeof(struct bpg_domain) + (size_t)splits * sizeof(struct bpg_split) + (size_t)rows * sizeof(double) + sizeof(int32_t);
	struct bpg_domain *d = bpg_calloc(1, bytes);

	if (!d)
		return NULL;
	atomic_init(&d->holders, 1);
	d->bytes = bytes;
	d->splits = splits;
	d->rows = rows;
	d->opens = 1;
	d->split = (struct bpg_split *)(d + 1);
	d->known = (double *)(d->split + splits);
	d->open = (int32_t *)(d->known + rows);
	d->open[0] = disjunct;
	return d;
}

void bpg_domain_give(struct bpg_domain *d, struct bpg_params *params)
{
	atomic_fetch_add(&params->holders, 1);
	d->params = params;
	/* Two children have them as a rule. */
	d->bytes += (sizeof *params + params_count(params) * sizeof *params->v) / 2;
}

void bpg_domain_hold(struct bpg_domain *d)
{
	atomic_fetch_add(&d->holders, 1);
}

void bpg_domain_drop(struct bpg_domain *d)
{
	if (!d || atomic_fetch_sub(&d->holders, 1) != 1)
		return;
	bpg_params_drop(d->params);
	free(d);
}

/* ---- in a file ---- */

enum { NO_PARAMS, OWN_PARAMS, SAME_PARAMS, DIVED = 16, DEALT = 32, AWAY = 64 }; /* DEALT: ranks come first. AWAY: nothing else does */

/* A domain, without what has a size of its own. */
struct head {
	double bound, share;
	int64_t number, n, each;
	int32_t depth, opens, splits, held, rows, params;
};

struct split_record {
	int64_t node, element, side;
	double point;
};

void bpg_domain_write(struct bpg_sink *to, const struct bpg_domain *d, const struct bpg_domain *before)
{
	const struct head h = { .bound = d->bound, .share = d->share, .number = d->number, .n = d->n, .each = d->params ? d->params->each : 0,
		                .depth = d->depth, .opens = d->opens, .splits = d->splits, .held = d->held, .rows = d->rows,
		                .params = !d->params ? NO_PARAMS : before && before->params == d->params ? SAME_PARAMS : OWN_PARAMS };
	struct head flagged = h;

	flagged.params |= d->dived ? DIVED : 0;
	if (h.params == OWN_PARAMS)
		flagged.params |= (d->params->rank ? DEALT : 0) | (d->params->here ? 0 : AWAY);
	bpg_put(to, &flagged, sizeof flagged);
	bpg_put(to, d->open, (size_t)d->opens * sizeof *d->open);
	bpg_put(to, d->lo, (size_t)d->n * sizeof *d->lo);
	bpg_put(to, d->up, (size_t)d->n * sizeof *d->up);
	for (int i = 0; i < d->splits; i++) {
		const struct bpg_split *s = &d->split[i];
		bpg_put(to, &(struct split_record){ s->node, s->element, s->side, s->point }, sizeof(struct split_record));
	}
	bpg_put(to, d->known, (size_t)d->rows * sizeof *d->known);
	if (h.params == OWN_PARAMS) {
		bpg_put(to, d->params->rank, d->params->rank ? (size_t)d->params->rows * sizeof *d->params->rank : 0);
		bpg_put(to, d->params->v, params_count(d->params) * sizeof *d->params->v);
	}
}

/* Sizes that the rest of the file may hold. */
static bool plausible(struct bpg_source *from, const struct head *h)
{
	if (h->opens < 1 || h->n < 0 || h->splits < 0 || h->rows < 0 || h->each < 0 || h->held < 0 || h->held > h->splits || h->depth < 0 || (h->n && h->splits)
	    || (!h->n && h->opens != 1))
		from->bad = true;
	return bpg_get_room(from, h->opens, sizeof(int32_t)) && bpg_get_room(from, h->n, 2 * sizeof(double))
	       && bpg_get_room(from, h->splits, sizeof(struct split_record)) && bpg_get_room(from, h->rows, sizeof(double))
	       && (h->params != OWN_PARAMS || (bpg_get_room(from, h->each, sizeof(float)) && bpg_get_room(from, h->rows * h->each, sizeof(float))));
}

static bool read_params(struct bpg_source *from, const struct head *h, int flags, struct bpg_domain *d, const struct bpg_domain *before)
{
	int *rank = NULL, me = 0;

	if (h->params == NO_PARAMS)
		return true;
	if (h->params == SAME_PARAMS) {
		if (!before || !before->params || before->params->rows != h->rows || before->params->each != h->each)
			from->bad = true;
		else
			bpg_domain_give(d, before->params);
		return !from->bad;
	}
	if (flags & DEALT) {
		rank = bpg_calloc((size_t)h->rows + 1, sizeof *rank);
		if (!rank)
			return false;
		bpg_get(from, rank, (size_t)h->rows * sizeof *rank);
		me = flags & AWAY ? -1 : rank[0];
	}
	struct bpg_params *p = bpg_params_dealt(h->rows, h->each, rank, me);
	free(rank);
	if (!p)
		return false;
	bpg_get(from, p->v, params_count(p) * sizeof *p->v);
	bpg_domain_give(d, p);
	bpg_params_drop(p);
	return true;
}

struct bpg_domain *bpg_domain_read(struct bpg_source *from, const struct bpg_domain *before)
{
	struct bpg_domain *d;
	struct head h;

	if (!bpg_get(from, &h, sizeof h))
		return NULL;
	int flags = h.params;
	h.params &= ~(DIVED | DEALT | AWAY);
	if (!plausible(from, &h))
		return NULL;
	d = h.n ? bpg_domain_box(h.n, h.opens) : bpg_domain_splits(0, h.splits, h.rows);
	if (!d)
		return NULL;
	d->bound = h.bound;
	d->share = h.share;
	d->number = h.number;
	d->depth = h.depth;
	d->dived = flags & DIVED;
	d->held = h.held;
	bpg_get(from, d->open, (size_t)d->opens * sizeof *d->open);
	bpg_get(from, d->lo, (size_t)d->n * sizeof *d->lo);
	bpg_get(from, d->up, (size_t)d->n * sizeof *d->up);
	for (int i = 0; i < d->splits; i++) {
		struct split_record s;
		bpg_get(from, &s, sizeof s);
		from->bad |= s.node < 0 || s.node > INT32_MAX || (s.side != 1 && s.side != -1) || s.point != s.point;
		d->split[i] = (struct bpg_split){ (int)s.node, s.element, s.point, (int)s.side };
	}
	bpg_get(from, d->known, (size_t)d->rows * sizeof *d->known);
	if (!read_params(from, &h, flags, d, before) || from->bad) {
		bpg_domain_drop(d);
		return NULL;
	}
	return d;
}

/* ---- the heap ---- */

bool bpg_domain_before(const struct bpg_domain *a, const struct bpg_domain *b)
{
	return a->bound != b->bound ? a->bound < b->bound : a->number < b->number;
}

enum { CHUNKS = 8 };              /* of the limit: a chunk is what comes back from disk at once */

/* Whether the chunk's first domain comes before d. */
static bool chunk_before(const struct bpg_chunk *c, const struct bpg_domain *d)
{
	return c->bound != d->bound ? c->bound < d->bound : c->number < d->number;
}

static void find_first(struct bpg_frontier *f)
{
	f->first = -1;
	for (int64_t i = 0; i < f->chunks; i++) {
		const struct bpg_chunk *c = f->chunk[i], *b = f->first < 0 ? NULL : f->chunk[f->first];
		if (!b || c->bound < b->bound || (c->bound == b->bound && c->number < b->number))
			f->first = i;
	}
}

double bpg_frontier_worst(const struct bpg_frontier *f)
{
	double worst = f->count ? f->heap[0]->bound : INFINITY;

	return f->chunks ? fmin(worst, f->chunk[f->first]->bound) : worst;
}

static int by_turn(const void *a, const void *b)
{
	const struct bpg_domain *const *x = a, *const *y = b;

	return bpg_domain_before(*x, *y) ? -1 : bpg_domain_before(*y, *x);
}

/* Domains heap[at...) of at most a chunk's bytes, one at least, go to disk. Their number; 0: they cannot. */
static int64_t spill_chunk(struct bpg_frontier *f, int64_t at)
{
	size_t bytes = 0;
	int64_t n = 0;

	if (!bpg_grow(&f->chunk, &f->chunk_room, f->chunks + 1, sizeof(struct bpg_chunk *)))
		return 0;
	while (at + n < f->count && (!n || bytes + f->heap[at + n]->bytes <= f->limit / CHUNKS))
		bytes += f->heap[at + n++]->bytes;
	struct bpg_chunk *c = bpg_chunk_write(f->spill, f->heap + at, n);
	if (!c)
		return 0;
	f->chunk[f->chunks++] = c;
	f->spilled += n;
	f->spilled_bytes += c->bytes;
	f->bytes -= bytes;
	for (int64_t i = at; i < at + n; i++)
		bpg_domain_drop(f->heap[i]);
	return n;
}

/* The half that comes later leaves memory. A sorted array is a heap. */
static void spill(struct bpg_frontier *f)
{
	size_t kept = 0;
	int64_t first = 0, at;

	qsort(f->heap, (size_t)f->count, sizeof(struct bpg_domain *), by_turn);
	while (first < f->count && (first < f->least || kept + f->heap[first]->bytes <= f->limit / 2))
		kept += f->heap[first++]->bytes;
	for (at = first; at < f->count && !f->failed;) {
		int64_t n = spill_chunk(f, at);
		f->failed = n == 0;
		at += n;
	}
	memmove(f->heap + first, f->heap + at, (size_t)(f->count - at) * sizeof *f->heap);
	f->count -= at - first;
	find_first(f);
}

static bool push(struct bpg_frontier *f, struct bpg_domain *d)
{
	int64_t i = f->count;

	if (!bpg_grow(&f->heap, &f->room, f->count + 1, sizeof(struct bpg_domain *)))
		return false;
	for (; i > 0 && bpg_domain_before(d, f->heap[(i - 1) / 2]); i = (i - 1) / 2)
		f->heap[i] = f->heap[(i - 1) / 2];
	f->heap[i] = d;
	f->count++;
	f->bytes += d->bytes;
	f->peak = BPG_MAX(f->peak, f->bytes);
	return true;
}

bool bpg_frontier_push(struct bpg_frontier *f, struct bpg_domain *d)
{
	if (!push(f, d))
		return false;
	if (f->spill && !f->failed && f->bytes > f->limit && f->count > f->least)
		spill(f);
	return true;
}

/* The first chunk comes back. */
static bool read_first(struct bpg_frontier *f)
{
	struct bpg_chunk *c = f->chunk[f->first];
	struct bpg_domain **d = bpg_calloc((size_t)c->count, sizeof *d);
	int64_t n = 0;

	if (!d || !bpg_grow(&f->heap, &f->room, f->count + c->count, sizeof(struct bpg_domain *)) || !bpg_chunk_read(c, d)) {
		free(d);
		return false;
	}
	while (n < c->count)
		push(f, d[n++]); /* there is room */
	free(d);
	f->chunk[f->first] = f->chunk[--f->chunks];
	f->spilled -= c->count;
	f->spilled_bytes -= c->bytes;
	bpg_chunk_drop(c);
	find_first(f);
	return true;
}

struct bpg_domain *bpg_frontier_pop(struct bpg_frontier *f)
{
	struct bpg_domain *first, *last;
	int64_t i = 0;

	while (!f->failed && f->chunks && (!f->count || chunk_before(f->chunk[f->first], f->heap[0])))
		f->failed = !read_first(f);
	if (!f->count || f->failed)
		return NULL;
	first = f->heap[0];
	last = f->heap[--f->count];
	for (int64_t k; (k = 2 * i + 1) < f->count; i = k) {
		if (k + 1 < f->count && bpg_domain_before(f->heap[k + 1], f->heap[k]))
			k++;
		if (!bpg_domain_before(f->heap[k], last))
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
		bpg_domain_drop(f->heap[i]);
	for (int64_t i = 0; i < f->chunks; i++)
		bpg_chunk_drop(f->chunk[i]);
	free(f->heap);
	free(f->chunk);
	*f = (struct bpg_frontier){ 0 };
}
