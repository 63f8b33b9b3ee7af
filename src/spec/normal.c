/* normal.c - conditions to normal form.
 *
 * A stack of nodes, `and` and `or` in turn (an `and` inside an `and` is the same node). An `and` holds its own bounds and
 * rows and, for each `or` inside it, the list of that or's cubes; a cube is a conjunction that is done. */
#include "spec/normal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct cube {
	int64_t bounds, rows;
	struct bpg_bound *bound;  /* by input, one each */
	struct bpg_row *row;
};

struct list {
	struct cube *cube;
	int64_t n, room;
};

struct node {
	bool is_or;
	bool dead;                /* `and`: false whatever follows */
	int64_t same;             /* nodes of its kind opened directly inside it */
	struct bpg_bound *bound;
	int64_t bounds, bound_room;
	struct bpg_row *row;
	int64_t rows, row_room;
	struct list *factor;      /* `and`: one per disjunction inside it */
	int64_t factors, factor_room;
	struct list cubes;        /* `or` */
};

struct bpg_normal {
	struct bpg_ctx *ctx;
	const char *path;
	struct bpg_spec *spec;
	struct bpg_arena *scratch;    /* bounds of cubes */
	struct bpg_box *box;          /* of node 0, dense */
	struct node *node;
	int64_t nodes, room;
	int64_t conditions;           /* made so far */
	const int64_t *to;            /* new numbers of inputs, null: the old ones */
};

static struct node *top(struct bpg_normal *f) { return &f->node[f->nodes - 1]; }

static enum bpg_status no_memory(struct bpg_normal *f) { return bpg_nomem(f->ctx, f->path); }

static enum bpg_status too_many(struct bpg_normal *f, int64_t line, int64_t most, const char *what)
{
	return bpg_fail(f->ctx, BPG_EUNSUPPORTED,
	                "%s:%lld: the disjunctions multiply out to more than %lld %s; split the property",
	                f->path, (long long)line, (long long)most, what);
}

/* ---- boxes ---- */

static struct bpg_box *box_new(struct bpg_arena *arena, int64_t n)
{
	struct bpg_box *b = bpg_arena_alloc(arena, 1, sizeof *b);
	double *all = b ? bpg_arena_alloc(arena, (size_t)n, 4 * sizeof *all) : NULL;
	if (!all)
		return NULL;
	b->n = n;
	b->lo = all;
	b->up = all + n;
	b->in_lo = all + 2 * n;
	b->in_up = all + 3 * n;
	return b;
}

static void intersect(struct bpg_bound *a, const struct bpg_bound *b)
{
	a->lo = fmax(a->lo, b->lo);
	a->up = fmin(a->up, b->up);
	a->in_lo = fmax(a->in_lo, b->in_lo);
	a->in_up = fmin(a->in_up, b->in_up);
}

static struct bpg_bound box_get(const struct bpg_box *box, int64_t i)
{
	return (struct bpg_bound){ i, box->lo[i], box->up[i], box->in_lo[i], box->in_up[i] };
}

static void box_set(struct bpg_box *box, const struct bpg_bound *b)
{
	box->lo[b->x] = b->lo;
	box->up[b->x] = b->up;
	box->in_lo[b->x] = b->in_lo;
	box->in_up[b->x] = b->in_up;
}

static int by_input(const void *a, const void *b)
{
	const struct bpg_bound *s = a, *t = b;
	return s->x < t->x ? -1 : s->x > t->x;
}

/* One bound per input, in order. */
static int64_t tidy(struct bpg_bound *b, int64_t n)
{
	bool sorted = true;
	for (int64_t i = 1; i < n && sorted; i++)
		sorted = b[i - 1].x < b[i].x;
	if (sorted)
		return n;
	qsort(b, (size_t)n, sizeof *b, by_input);
	int64_t m = 0;
	for (int64_t i = 0; i < n; i++) {
		if (m && b[m - 1].x == b[i].x)
			intersect(&b[m - 1], &b[i]);
		else
			b[m++] = b[i];
	}
	return m;
}

/* ---- nodes ---- */

/* f->box, without ends. */
static enum bpg_status whole_box(struct bpg_normal *f)
{
	struct bpg_bound all = { 0, -INFINITY, INFINITY, -INFINITY, INFINITY };
	f->box = box_new(f->spec->arena, f->spec->inputs);
	if (!f->box)
		return no_memory(f);
	for (all.x = 0; all.x < f->spec->inputs; all.x++)
		box_set(f->box, &all);
	return BPG_OK;
}

enum bpg_status bpg_normal_new(struct bpg_ctx *ctx, const char *path, struct bpg_spec *spec, struct bpg_normal **normal)
{
	struct bpg_normal *f = *normal = bpg_calloc(1, sizeof *f);
	if (!f)
		return bpg_nomem(ctx, path);
	f->ctx = ctx;
	f->path = path;
	f->spec = spec;
	f->scratch = bpg_arena_new();
	if (!f->scratch)
		return no_memory(f);
	BPG_TRY(whole_box(f));
	return bpg_normal_open(f, false, 0);
}

static void node_fini(struct node *v)
{
	for (int64_t i = 0; i < v->factors; i++)
		free(v->factor[i].cube);
	free(v->factor);
	free(v->cubes.cube);
	free(v->bound);
	free(v->row);
}

/* For the next node at this depth: the arrays stay. */
static void node_reset(struct node *v, bool is_or)
{
	for (int64_t i = 0; i < v->factors; i++)
		free(v->factor[i].cube);
	v->is_or = is_or;
	v->dead = false;
	v->same = v->bounds = v->rows = v->factors = 0;
	v->cubes.n = 0;
}

void bpg_normal_free(struct bpg_normal *f)
{
	if (!f)
		return;
	/* Beyond f->nodes lie arrays kept for reuse, zeroed or valid. */
	for (int64_t i = 0; i < f->room; i++)
		node_fini(&f->node[i]);
	free(f->node);
	bpg_arena_free(f->scratch);
	free(f);
}

enum bpg_status bpg_normal_open(struct bpg_normal *f, bool is_or, int64_t line)
{
	(void)line;
	if (f->nodes && top(f)->is_or == is_or) {
		top(f)->same++;
		return BPG_OK;
	}
	int64_t before = f->room;
	if (!bpg_grow(&f->node, &f->room, f->nodes + 1, sizeof *f->node))
		return no_memory(f);
	if (f->room > before)
		memset(f->node + before, 0, (size_t)(f->room - before) * sizeof *f->node);
	node_reset(&f->node[f->nodes++], is_or);
	return BPG_OK;
}

void bpg_normal_false(struct bpg_normal *f) { top(f)->dead = true; }

bool bpg_normal_outermost(const struct bpg_normal *f) { return f->nodes == 1; }

enum bpg_status bpg_normal_bound(struct bpg_normal *f, const struct bpg_bound *b)
{
	struct node *v = top(f);
	if (f->nodes == 1) {
		struct bpg_bound all = box_get(f->box, b->x);
		intersect(&all, b);
		box_set(f->box, &all);
		return BPG_OK;
	}
	/* The two sides of an input usually follow each other. */
	if (v->bounds && v->bound[v->bounds - 1].x == b->x) {
		intersect(&v->bound[v->bounds - 1], b);
		return BPG_OK;
	}
	if (!bpg_grow(&v->bound, &v->bound_room, v->bounds + 1, sizeof *v->bound))
		return no_memory(f);
	v->bound[v->bounds++] = *b;
	return BPG_OK;
}

enum bpg_status bpg_normal_row(struct bpg_normal *f, const struct bpg_row *row)
{
	struct node *v = top(f);
	if (!bpg_grow(&v->row, &v->row_room, v->rows + 1, sizeof *v->row))
		return no_memory(f);
	v->row[v->rows++] = *row;
	return BPG_OK;
}

/* ---- multiplying out ---- */

/* The conditions of an `and` itself, copied once for all combinations that add nothing to them. */
struct own {
	struct bpg_row *row;
	struct bpg_bound *bound;
	int64_t bounds;
};

/* Rows of `and` v and of the chosen cubes, in the spec's arena; shared where only one of them has rows. */
static bool join_rows(struct bpg_normal *f, const struct node *v, struct cube *const *chosen, struct own *own, struct cube *to)
{
	int64_t n = v->rows, sources = 0;
	struct bpg_row *only = own->row;
	for (int64_t i = 0; i < v->factors; i++) {
		n += chosen[i]->rows;
		sources += chosen[i]->rows > 0;
		only = chosen[i]->rows ? chosen[i]->row : only;
	}
	to->rows = n;
	to->row = only;
	if (!n || (!v->rows && sources == 1) || (!sources && own->row))
		return true;
	struct bpg_row *at = to->row = bpg_arena_alloc(f->spec->arena, (size_t)n, sizeof *at);
	if (!at)
		return false;
	f->conditions += n;
	if (!sources)
		own->row = at;
	if (v->rows)
		memcpy(at, v->row, (size_t)v->rows * sizeof *at);
	at += v->rows;
	for (int64_t i = 0; i < v->factors; i++) {
		if (chosen[i]->rows)
			memcpy(at, chosen[i]->row, (size_t)chosen[i]->rows * sizeof *at);
		at += chosen[i]->rows;
	}
	return true;
}

/* The same for bounds, in scratch memory. */
static bool join_bounds(struct bpg_normal *f, const struct node *v, struct cube *const *chosen, struct own *own, struct cube *to)
{
	int64_t n = v->bounds, sources = 0;
	struct cube only = { .bound = own->bound, .bounds = own->bounds };
	for (int64_t i = 0; i < v->factors; i++) {
		n += chosen[i]->bounds;
		sources += chosen[i]->bounds > 0;
		only = chosen[i]->bounds ? *chosen[i] : only;
	}
	to->bounds = only.bounds;
	to->bound = only.bound;
	if (!n || (!v->bounds && sources == 1) || (!sources && own->bound))
		return true;
	struct bpg_bound *at = to->bound = bpg_arena_alloc(f->scratch, (size_t)n, sizeof *at);
	if (!at)
		return false;
	f->conditions += n;
	if (v->bounds)
		memcpy(at, v->bound, (size_t)v->bounds * sizeof *at);
	at += v->bounds;
	for (int64_t i = 0; i < v->factors; i++) {
		if (chosen[i]->bounds)
			memcpy(at, chosen[i]->bound, (size_t)chosen[i]->bounds * sizeof *at);
		at += chosen[i]->bounds;
	}
	to->bounds = tidy(to->bound, n);
	if (!sources) {
		own->bound = to->bound;
		own->bounds = to->bounds;
	}
	return true;
}

/* Number of choices of one cube per factor; fails beyond the limit. */
static enum bpg_status choices(struct bpg_normal *f, const struct node *v, int64_t line, int64_t *n)
{
	*n = 1;
	for (int64_t i = 0; i < v->factors; i++) {
		if (v->factor[i].n > BPG_DISJUNCTS_MOST / *n)
			return too_many(f, line, BPG_DISJUNCTS_MOST, "disjuncts");
		*n *= v->factor[i].n;
	}
	return BPG_OK;
}

/* Writes the next combination into *to; `at` counts in mixed radix, the last factor fastest. */
static enum bpg_status combine(struct bpg_normal *f, const struct node *v, int64_t *at, struct cube **chosen, struct own *own,
                               int64_t line, struct cube *to)
{
	for (int64_t i = 0; i < v->factors; i++)
		chosen[i] = &v->factor[i].cube[at[i]];
	if (!join_rows(f, v, chosen, own, to) || !join_bounds(f, v, chosen, own, to))
		return no_memory(f);
	if (f->conditions > BPG_CONDITIONS_MOST)
		return too_many(f, line, BPG_CONDITIONS_MOST, "conditions");
	for (int64_t i = v->factors - 1; i >= 0 && ++at[i] == v->factor[i].n; i--)
		at[i] = 0;
	return BPG_OK;
}

/* Appends every combination of `and` v to the list. */
static enum bpg_status expand(struct bpg_normal *f, const struct node *v, int64_t line, struct list *to)
{
	int64_t n;
	BPG_TRY(choices(f, v, line, &n));
	if (to->n + n > BPG_DISJUNCTS_MOST)
		return too_many(f, line, BPG_DISJUNCTS_MOST, "disjuncts");
	if (!bpg_grow(&to->cube, &to->room, to->n + n, sizeof *to->cube))
		return no_memory(f);
	enum bpg_status st = BPG_OK;
	int64_t *at = bpg_calloc((size_t)v->factors, sizeof *at);
	struct cube **chosen = bpg_calloc((size_t)v->factors, sizeof(struct cube *));
	struct own own = { 0 };
	if (!at || !chosen)
		BPG_TRY_TO(no_memory(f), out);
	for (; n > 0; n--) {
		if (n % 4096 == 0 && bpg_ctx_stopped(f->ctx))
			BPG_TRY_TO(
			        bpg_fail(f->ctx, BPG_ECANCELLED, "%s: stopped while disjunctions were multiplied out", f->path),
			        out);
		BPG_TRY_TO(combine(f, v, at, chosen, &own, line, &to->cube[to->n]), out);
		to->n++;
	}
out:
	free(chosen);
	free(at);
	return st;
}

/* An `or` with one cube is that cube. */
static enum bpg_status absorb(struct bpg_normal *f, const struct cube *c)
{
	for (int64_t i = 0; i < c->bounds; i++)
		BPG_TRY(bpg_normal_bound(f, &c->bound[i]));
	for (int64_t i = 0; i < c->rows; i++)
		BPG_TRY(bpg_normal_row(f, &c->row[i]));
	return BPG_OK;
}

static enum bpg_status close_or(struct bpg_normal *f)
{
	struct node *v = top(f), *up = v - 1;
	f->nodes--;
	if (v->cubes.n == 0) {
		up->dead = true;
		return BPG_OK;
	}
	if (v->cubes.n == 1)
		return absorb(f, &v->cubes.cube[0]);
	if (!bpg_grow(&up->factor, &up->factor_room, up->factors + 1, sizeof *up->factor))
		return no_memory(f);
	up->factor[up->factors++] = v->cubes;
	v->cubes = (struct list){ 0 };
	return BPG_OK;
}

enum bpg_status bpg_normal_close(struct bpg_normal *f, int64_t line)
{
	struct node *v = top(f);
	if (v->same) {
		v->same--;
		return BPG_OK;
	}
	if (v->is_or)
		return close_or(f);
	f->nodes--;
	return v->dead ? BPG_OK : expand(f, v, line, &(v - 1)->cubes);
}

/* ---- boxes of disjuncts: the whole box where nothing changes, one for equal changes ---- */

struct known {
	struct bpg_box *box;      /* null: a free slot */
	int64_t bounds;           /* inputs in which it differs from the whole one */
	int64_t number;           /* in order of the disjuncts */
};

struct boxes {
	struct known *slot;       /* open addressing; room is a power of two */
	int64_t room, n;
	struct bpg_bound *bound;  /* of the cube at hand */
	int64_t bounds, bound_room;
	int64_t *number;          /* [disjuncts] of their boxes; 0: the whole one */
	bool apart;               /* a box came back after another one */
};

/* The bounds of a cube that tighten the whole box. Cubes may share theirs, so they are copied first. */
static enum bpg_status take_bounds(struct bpg_normal *f, struct boxes *k, const struct cube *c)
{
	if (!bpg_grow(&k->bound, &k->bound_room, c->bounds, sizeof *k->bound))
		return no_memory(f);
	if (c->bounds)
		memcpy(k->bound, c->bound, (size_t)c->bounds * sizeof *c->bound);
	int64_t count = c->bounds;
	if (f->to) {
		for (int64_t i = 0; i < count; i++)
			k->bound[i].x = f->to[k->bound[i].x];
		count = tidy(k->bound, count);
	}
	k->bounds = 0;
	for (int64_t i = 0; i < count; i++) {
		struct bpg_bound a = box_get(f->box, k->bound[i].x), b = k->bound[i];
		intersect(&b, &a);
		if (b.lo != a.lo || b.up != a.up || b.in_lo != a.in_lo || b.in_up != a.in_up)
			k->bound[k->bounds++] = b;
	}
	return BPG_OK;
}

/* As many inputs differ from the whole box, and these are as they are in the box. */
static bool same_box(const struct boxes *k, const struct known *s)
{
	bool same = s->bounds == k->bounds;
	for (int64_t i = 0; same && i < k->bounds; i++) {
		struct bpg_bound a = k->bound[i], b = box_get(s->box, a.x);
		same = a.lo == b.lo && a.up == b.up && a.in_lo == b.in_lo && a.in_up == b.in_up;
	}
	return same;
}

static struct known *find(struct boxes *k)
{
	uint64_t h = bpg_hash(BPG_HASH_START, k->bound, (size_t)k->bounds * sizeof *k->bound);
	for (h ^= h >> 29;; h++) {
		struct known *s = &k->slot[h & (uint64_t)(k->room - 1)];
		if (!s->box || same_box(k, s))
			return s;
	}
}

static enum bpg_status box_of(struct bpg_normal *f, struct boxes *k, int64_t line, struct known *found)
{
	*found = (struct known){ .box = f->box };
	if (!k->bounds)
		return BPG_OK;
	struct known *s = find(k);
	if (!s->box) {
		int64_t n = f->spec->inputs;
		if (k->n >= BPG_BOX_NUMBERS_MOST / (4 * n))
			return bpg_fail(f->ctx, BPG_EUNSUPPORTED,
			                "%s:%lld: more than %lld boxes of %lld inputs; split the property", f->path,
			                (long long)line, (long long)k->n, (long long)n);
		struct bpg_box *b = box_new(f->spec->arena, n);
		if (!b)
			return no_memory(f);
		memcpy(b->lo, f->box->lo, 4 * (size_t)n * sizeof *b->lo);    /* the four arrays are one block */
		for (int64_t i = 0; i < k->bounds; i++)
			box_set(b, &k->bound[i]);
		*s = (struct known){ b, k->bounds, ++k->n };
	}
	*found = *s;
	return BPG_OK;
}

/* Disjuncts of one box follow each other, in order of the first of them: whoever bounds a box does it once. */
static enum bpg_status group(struct bpg_normal *f, const struct boxes *k)
{
	struct bpg_spec *spec = f->spec;
	int64_t n = spec->disjuncts, *first = bpg_calloc((size_t)k->n + 2, sizeof *first);
	int64_t *order = bpg_calloc((size_t)k->n + 1, sizeof *order), boxes = 0;
	struct bpg_disjunct *to = bpg_arena_alloc(spec->arena, (size_t)n, sizeof *to);
	enum bpg_status st = BPG_OK;
	if (!first || !order || !to)
		BPG_TRY_TO(no_memory(f), out);
	/* Numbers by first appearance, the whole box among them. */
	for (int64_t i = 0; i < n; i++)
		if (!order[k->number[i]])
			order[k->number[i]] = ++boxes;
	for (int64_t i = 0; i < n; i++)
		first[order[k->number[i]]]++;
	for (int64_t b = 0; b < k->n + 1; b++)
		first[b + 1] += first[b];
	for (int64_t i = 0; i < n; i++)
		to[first[order[k->number[i]] - 1]++] = spec->disjunct[i];
	spec->disjunct = to;
out:
	free(order);
	free(first);
	return st;
}

void bpg_normal_renumber(struct bpg_normal *f, const int64_t *to, int64_t n)
{
	f->to = to;
	f->spec->inputs = n;
}

/* The whole box, and with it spec->inputs, by the new numbers. */
static enum bpg_status renumber_box(struct bpg_normal *f)
{
	struct bpg_box *old = f->box;
	BPG_TRY(whole_box(f));
	for (int64_t i = 0; i < old->n; i++) {
		struct bpg_bound b = box_get(f->box, f->to[i]), a = box_get(old, i);
		intersect(&b, &a);
		box_set(f->box, &b);
	}
	return BPG_OK;
}

static enum bpg_status fill(struct bpg_normal *f, struct list *cubes, int64_t line)
{
	struct bpg_spec *spec = f->spec;
	struct boxes k = { .room = 16 };
	struct known found;
	while (k.room < 2 * cubes->n)
		k.room *= 2;
	k.slot = bpg_calloc((size_t)k.room, sizeof *k.slot);
	k.number = bpg_calloc((size_t)cubes->n, sizeof *k.number);
	spec->disjunct = bpg_arena_alloc(spec->arena, (size_t)cubes->n, sizeof *spec->disjunct);
	enum bpg_status st = BPG_OK;
	if (!k.slot || !k.number || !spec->disjunct)
		BPG_TRY_TO(no_memory(f), out);
	for (int64_t i = 0, most = 0; i < cubes->n; i++) {
		const struct cube *c = &cubes->cube[i];
		BPG_TRY_TO(take_bounds(f, &k, c), out);
		BPG_TRY_TO(box_of(f, &k, line, &found), out);
		if (c->rows > INT32_MAX)
			BPG_TRY_TO(too_many(f, line, INT32_MAX, "rows"), out);
		spec->disjunct[i] = (struct bpg_disjunct){ .box = found.box, .rows = (int)c->rows, .row = c->row };
		k.number[i] = found.number;
		k.apart |= i > 0 && found.number != k.number[i - 1] && found.number <= most;
		most = BPG_MAX(most, found.number);
	}
	spec->disjuncts = cubes->n;
	if (k.apart)
		st = group(f, &k);
out:
	free(k.number);
	free(k.bound);
	free(k.slot);
	return st;
}

enum bpg_status bpg_normal_finish(struct bpg_normal *f, int64_t line)
{
	struct node *v = top(f);
	struct list cubes = { 0 };
	enum bpg_status st = BPG_OK;
	if (!v->dead)
		BPG_TRY_TO(expand(f, v, line, &cubes), out);
	if (f->to)
		BPG_TRY_TO(renumber_box(f), out);
	BPG_TRY_TO(fill(f, &cubes, line), out);
out:
	free(cubes.cube);
	return st;
}
