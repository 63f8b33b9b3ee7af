/* twin_planes.c - the twin of rows through sparse planes (task_planes.c). Which terms meet where is a table; what planes are at the
 * reference values depends on bounds, which are on the device, and is made there for each task. */
#include <stdlib.h>
#include <string.h>

#include "codelets/gather_terms.h"
#include "codelets/plane_columns.h"
#include "codelets/twin.h"

/* ---- tables ---- */

struct planes_key {
	int64_t what, operand;
	uint64_t id[4];           /* lower, upper, others below, above */
	struct bpg_twin_columns from, to;
};

/* Of what does not depend on the operand, `to` is left out. */
static struct planes_key key_of(int64_t what, const struct bpg_arg_map_planes *a, bool operand)
{
	const struct bpg_arg_map *m = &a->map;
	const struct bpg_hop *h = m->hop;
	struct planes_key key;

	memset(&key, 0, sizeof key);
	key.what = what;
	key.id[0] = h->lower->id;
	key.id[1] = h->upper->id;
	for (int side = 0; a->chosen && side < 2; side++)
		key.id[2 + side] = h->other[side] ? h->other[side]->id : 0;
	key.from = bpg_twin_columns(h->out, &m->from.window);
	if (!operand)
		return key;
	key.operand = h->operand[m->k];
	key.to = bpg_twin_columns(h->in[m->k], &m->to.window);
	return key;
}

static int64_t segments_of(const struct bpg_hop *h)
{
	return h->out->n ? h->lower->rows / h->out->n : 1;
}

/* Terms by target column, segment by segment: first [segments][columns + 1], terms. */
static bool make_terms(const void *arg, struct bpg_table *t)
{
	const struct bpg_arg_map_planes *a = arg;
	const struct bpg_hop *h = a->map.hop;
	int64_t columns = bpg_columns_in(h->in[a->map.k], &a->map.to.window), segments = segments_of(h), terms = 0, room = 0;
	int64_t *first = malloc((size_t)(segments * (columns + 1)) * sizeof *first);
	struct bpg_plane_term *term = NULL;
	bool ok = first != NULL;

	for (int64_t s = 0; ok && s < segments; s++) {
		struct bpg_plane_columns c = { 0 };
		struct bpg_gather_terms g = { 0 };
		ok = bpg_plane_columns_set(&c, a, NULL, s) && bpg_gather_terms_turn(&g, c.count + c.others, c.first, c.term, columns)
		     && bpg_grow(&term, &room, terms + g.first[columns] + 1, sizeof *term);
		for (int64_t j = 0; ok && j <= columns; j++)
			first[s * (columns + 1) + j] = terms + g.first[j];
		if (ok) {
			memcpy(term + terms, g.term, (size_t)g.first[columns] * sizeof *term);
			terms += g.first[columns];
		}
		bpg_gather_terms_fini(&g);
		bpg_plane_columns_free(&c);
	}
	*t = (struct bpg_table){ .part = { first, term }, .bytes = { (size_t)(segments * (columns + 1)) * sizeof *first, (size_t)terms * sizeof *term } };
	return ok;
}

/* Other planes of a tile's columns: where those of a column begin, how many are below; of each its row, its element, its side. */
static bool make_others(const void *arg, struct bpg_table *t)
{
	const struct bpg_arg_map_planes *a = arg;
	const struct bpg_hop *h = a->map.hop;
	const struct bpg_window *w = &a->map.from.window;
	int64_t columns = bpg_columns_in(h->out, w), others = bpg_others_in(h, w);
	int32_t *begin = bpg_calloc((size_t)columns + 1, sizeof *begin), *below = bpg_calloc((size_t)columns + 1, sizeof *below);
	int64_t *row = bpg_calloc((size_t)others + 1, sizeof *row), n = 0;
	int32_t *of = bpg_calloc((size_t)others + 1, sizeof *of), *side = bpg_calloc((size_t)others + 1, sizeof *side);

	*t = (struct bpg_table){ .part = { begin, below, row, of, side },
		                 .bytes = { (size_t)(columns + 1) * sizeof *begin, (size_t)(columns + 1) * sizeof *below, (size_t)(others + 1) * sizeof *row,
		                            (size_t)(others + 1) * sizeof *of, (size_t)(others + 1) * sizeof *side } };
	if (!begin || !below || !row || !of || !side)
		return false;
	for (int64_t j = 0; j < columns; j++) {
		int64_t i = bpg_columns_element(h->out, bpg_columns_at(h->out, w, j));
		below[j] = bpg_others_of(h, 0, i);
		for (int s = 0; s < 2; s++)
			for (int o = 0; o < bpg_others_of(h, s, i); o++, n++)
				row[n] = h->other[s]->of[i] + o, of[n] = (int32_t)i, side[n] = s;
		begin[j + 1] = (int32_t)n;
	}
	return true;
}

static void *copy_of(const void *from, size_t bytes)
{
	void *to = malloc(bytes + 1);

	if (to)
		memcpy(to, from, bytes);
	return to;
}

struct matrix {
	const struct bpg_hop *h;
	const struct bpg_sparse *s;
};

/* A list of planes as it stands, with operands by their number among the inputs. */
static bool make_list(const void *arg, struct bpg_table *t)
{
	const struct matrix *x = arg;
	const struct bpg_sparse *s = x->s;
	int32_t *in = bpg_calloc((size_t)s->nonzeros + 1, sizeof *in);
	size_t each[] = { sizeof *s->first, sizeof *in, sizeof *s->index, sizeof *s->coef, sizeof *s->bias };
	int64_t many[] = { s->rows + 1, s->nonzeros, s->nonzeros, s->nonzeros, s->rows };
	const void *from[] = { s->first, in, s->index, s->coef, s->bias };
	bool ok = in != NULL;

	for (int64_t e = 0; in && e < s->nonzeros; e++)
		while (x->h->operand[in[e]] != s->operand[e])
			in[e]++;
	for (int p = 0; p < BPG_TABLE_PARTS; p++) {
		t->bytes[p] = (size_t)many[p] * each[p];
		t->part[p] = in ? copy_of(from[p], t->bytes[p]) : NULL;
		ok = ok && t->part[p];
	}
	free(in);
	return ok;
}

static bool list_of(struct bpg_device *d, const struct bpg_hop *h, const struct bpg_sparse *s, struct bpg_cuda_planes *to)
{
	struct {
		int64_t what;
		uint64_t id;
	} key = { 'l', s->id };
	const struct bpg_table *t = bpg_device_table(d, &key, sizeof key, make_list, &(struct matrix){ h, s });

	if (t)
		*to = (struct bpg_cuda_planes){ t->part[0], t->part[1], t->part[2], t->part[3], t->part[4] };
	return t != NULL;
}

struct terms_most {
	int64_t columns, most;
};

/* What a sum of t terms of a plane loses, beside the sum over all columns. */
static bool make_gamma(const void *arg, struct bpg_table *t)
{
	const struct terms_most *x = arg;
	double *gamma = malloc((size_t)(x->most + 1) * sizeof *gamma);

	for (int64_t n = 0; gamma && n <= x->most; n++)
		gamma[n] = bpg_gamma((double)x->columns + 16 + (double)n, BPG_U64);
	t->part[0] = gamma;
	t->bytes[0] = (size_t)(x->most + 1) * sizeof *gamma;
	return gamma != NULL;
}

static int64_t most_terms(const struct bpg_sparse *s)
{
	int64_t most = 0;

	for (int64_t r = 0; s && r < s->rows; r++)
		most = BPG_MAX(most, s->first[r + 1] - s->first[r]);
	return most;
}

/* ---- the task ---- */

/* Planes of the tile's columns at the reference values, and their prices; null: a fault is set. */
static const struct bpg_plane_at *prices(struct bpg_device *d, const struct bpg_arg_map_planes *a, void *const *buffer, const struct bpg_table *others,
                                         int64_t columns, int64_t more)
{
	const struct bpg_hop *h = a->map.hop;
	const struct bpg_sparse *list[4] = { h->lower, h->upper, more ? h->other[0] : NULL, more ? h->other[1] : NULL };
	int64_t all = columns + more, *inputs = bpg_calloc((size_t)h->nin + 1, sizeof *inputs);
	struct bpg_cuda_price p = { .slack = a->slack, .segments = segments_of(h), .columns = columns, .others = more, .bounds = buffer[0], .n = h->out->n,
		                    .gross = bpg_gamma(bpg_planes_fan(h) + 4, a->map.from.wide ? BPG_U64 : BPG_U32) };
	struct {
		int64_t what;
		struct terms_most x;
	} key = { 'g', { all, 0 } };
	bool ok = inputs != NULL;

	for (int k = 0; ok && k < 4; k++) {
		key.x.most = BPG_MAX(key.x.most, most_terms(list[k]));
		ok = !list[k] || list_of(d, h, list[k], &p.list[k]);
	}
	for (int k = 0; ok && k < h->nin; k++)
		inputs[k] = h->in[k]->n;
	const struct bpg_table *gamma = ok ? bpg_device_table(d, &key, sizeof key, make_gamma, &key.x) : NULL;
	if (gamma) {
		p.gamma = gamma->part[0];
		p.element = bpg_twin_elements(d, h->out, &a->map.from.window);
		p.input = bpg_device_send(d, buffer + 1, (size_t)h->nin * sizeof *buffer);
		p.inputs = bpg_device_send(d, inputs, (size_t)h->nin * sizeof *inputs);
		p.to = bpg_device_room(d, (size_t)(p.segments * all) * sizeof *p.to);
		if (others)
			p.other = others->part[2], p.of = others->part[3], p.side = others->part[4];
	}
	free(inputs);
	ok = gamma && p.element && p.input && p.inputs && p.to && bpg_device_started(d, d->kernel->price(&p, d->stream));
	return ok ? p.to : NULL;
}

void bpg_twin_map_planes(struct bpg_rt *rt, void *const *buffer, const void *arg, struct bpg_device *d)
{
	const struct bpg_arg_map_planes *a = arg;
	const struct bpg_arg_map *m = &a->map;
	const struct bpg_hop *h = m->hop;
	int64_t columns = bpg_columns_in(h->out, &m->from.window), more = a->chosen ? bpg_others_in(h, &m->from.window) : 0;
	int64_t strips = m->from.strips, real = bpg_real(m->from.wide);
	struct planes_key terms_key = key_of('p', a, true), others_key = key_of('o', a, false);
	const struct bpg_table *terms = bpg_device_table(d, &terms_key, sizeof terms_key, make_terms, a);
	const struct bpg_table *others = more ? bpg_device_table(d, &others_key, sizeof others_key, make_others, a) : NULL;
	const int32_t *segment = bpg_twin_segments(d, &m->from);
	const void *tile = buffer[1 + h->nin];
	double *lost = NULL;

	(void)rt;
	if (!terms || (more && !others) || (m->from.segment && !segment))
		return;
	if (more) {
		struct bpg_cuda_deal deal = { .wide = m->from.wide, .strips = strips, .columns = columns, .others = more, .from = tile,
			                      .weight = buffer[4 + h->nin], .to = bpg_device_room(d, (size_t)(strips * (columns + more) * BPG_LANES * real)),
			                      .lost = bpg_device_room(d, (size_t)(strips * columns * BPG_LANES) * sizeof *lost), .other = others->part[0],
			                      .below = others->part[1] };
		if (!deal.to || !deal.lost || !bpg_device_started(d, d->kernel->deal(&deal, d->stream)))
			return;
		tile = deal.to;
		lost = deal.lost;
	}
	struct bpg_cuda_map map = { .wide = m->from.wide, .two = true, .strips = strips, .from_columns = columns + more,
		                    .to_columns = bpg_columns_in(h->in[m->k], &m->to.window), .from = tile, .to = buffer[3 + h->nin], .segment = segment,
		                    .first = terms->part[0], .term = terms->part[1] };
	if (!bpg_device_started(d, d->kernel->map(&map, d->stream)) || m->k)
		return;
	struct bpg_cuda_sums sums = { .kind = BPG_SUM_PLANES, .wide = m->from.wide, .slack = a->slack, .strips = strips, .columns = columns + more, .tile = tile,
		                      .state = buffer[2 + h->nin], .segment = segment, .element = bpg_twin_elements(d, h->out, &m->from.window),
		                      .bounds = buffer[0], .n = h->out->n, .under = h->under, .plane = prices(d, a, buffer, others, columns, more),
		                      .lost_columns = columns, .lost = lost };
	if (sums.plane && sums.element)
		bpg_device_started(d, d->kernel->sums(&sums, d->stream));
}
