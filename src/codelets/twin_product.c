/* twin_product.c - twins of products: dense panels, convolutions by lists of runs, sparse maps; back and forward. */
#include <stdlib.h>
#include <string.h>

#include "codelets/conv_sums.h"
#include "codelets/gather_terms.h"
#include "codelets/twin.h"

/* Blocks of a sum side by side, where that takes no more room than this. */
static const int64_t space_most = (int64_t)64 << 20;

/* ---- dense ---- */

void bpg_twin_gemm_dense(struct bpg_rt *rt, void *const *buffer, const void *arg, struct bpg_device *d)
{
	const struct bpg_arg_gemm *a = arg;
	int64_t K = bpg_columns_places(a->hop->out), N = bpg_columns_places(a->hop->in[0]), mixed = a->pair ? a->hop->out->mixed : 0;
	int64_t real = bpg_real(a->from.wide), strips = a->from.strips;
	struct bpg_cuda_product p = { .wide = a->from.wide, .columns = a->c1 - a->c0, .A = buffer[1], .W = buffer[0],
		                      .C = (char *)buffer[2] + a->c0 * BPG_LANES * real, .a_strip = K * BPG_LANES, .w_group = K * BPG_GROUP,
		                      .c_strip = N * BPG_LANES, .block = a->hop->block, .cells = 1, .sets = 1, .accumulate = a->add };
	int64_t space = (K + p.block - 1) / p.block * strips * p.columns * BPG_LANES * real;

	(void)rt;
	if (K > p.block && space <= space_most && !(p.space = bpg_device_room(d, (size_t)space)))
		return;
	/* Rows that are opposite beyond the mixed columns: one product for both, then the mixed columns of all. */
	bool opposite = a->pair && mixed < K;
	if (opposite) {
		p.strips = a->pair, p.k0 = mixed, p.k1 = K;
		struct bpg_cuda_copy minus = { .wide = p.wide, .negative = true, .strips = a->pair, .channels = p.columns, .from_up = { 1, 1 },
			                       .to_up = { 1, 1 }, .from = p.C, .to = (char *)p.C + a->pair * p.c_strip * real,
			                       .from_strip = p.c_strip, .to_strip = p.c_strip };
		if (!bpg_device_started(d, d->kernel->product(&p, d->stream)) || !bpg_device_started(d, d->kernel->copy(&minus, d->stream)))
			return;
		p.accumulate = true;
	}
	if (!opposite || mixed > 0) {
		p.strips = strips, p.k0 = 0, p.k1 = a->pair ? mixed : K;
		bpg_device_started(d, d->kernel->product(&p, d->stream));
	}
}

void bpg_twin_forward_dense(struct bpg_rt *rt, void *const *buffer, const void *arg, struct bpg_device *d)
{
	const struct bpg_arg_forward *a = arg;
	int64_t K = bpg_columns_places(a->hop->out), N = bpg_columns_places(a->hop->in[0]);
	struct bpg_cuda_adjoint p = { .accumulate = !a->first, .strips = a->from.strips, .columns = a->c1 - a->c0, .n = K,
		                      .H = (const float *)buffer[1] + a->c0 * BPG_LANES, .W = buffer[0], .Z = buffer[2], .h_strip = N * BPG_LANES,
		                      .w_group = K * BPG_GROUP, .z_strip = K * BPG_LANES };

	(void)rt;
	bpg_device_started(d, d->kernel->adjoint(&p, d->stream));
}

/* ---- convolutions ---- */

struct lists {
	const struct bpg_conv *v;
	const struct bpg_window *from, *to;
	int64_t block;            /* 0: forward */
};

static bool make_lists(const void *arg, struct bpg_table *t)
{
	const struct lists *x = arg;
	struct bpg_conv_sums s;
	bool ok = x->block ? bpg_conv_sums_init(&s, x->v, x->from, x->to, x->block) : bpg_conv_sums_forward(&s, x->v, x->from, x->to);

	if (!ok) {
		bpg_conv_sums_fini(&s);
		return false;
	}
	*t = (struct bpg_table){ .part = { s.first, s.end, s.run },
		                 .bytes = { (size_t)(s.positions + 1) * sizeof *s.first, (size_t)s.blocks * sizeof *s.end, (size_t)s.runs * sizeof *s.run } };
	return true;
}

/* The product by these lists; false: a fault is set. */
static bool by_lists(struct bpg_device *d, const struct lists *x, struct bpg_cuda_product *p)
{
	const struct bpg_conv *v = x->v;
	int64_t icg = v->in_channels / v->groups, ocg = v->out_channels / v->groups, taps = v->kernel[0] * v->kernel[1];
	int64_t from = x->block ? ocg : icg, to = x->block ? icg : ocg, groups8 = (to + BPG_GROUP - 1) / BPG_GROUP;
	struct {
		int64_t what, block, channels[3], in_size[2], out_size[2], kernel[2], stride[2], pad[2], dilation[2];
		struct bpg_window from, to;
	} key = { 'c', x->block, { v->in_channels, v->out_channels, v->groups }, { v->in_size[0], v->in_size[1] }, { v->out_size[0], v->out_size[1] },
		  { v->kernel[0], v->kernel[1] }, { v->stride[0], v->stride[1] }, { v->pad[0], v->pad[1] }, { v->dilation[0], v->dilation[1] },
		  *x->from, *x->to };
	const struct bpg_table *t = bpg_device_table(d, &key, sizeof key, make_lists, x);

	if (!t)
		return false;
	p->first = t->part[0], p->end = t->part[1], p->run = t->part[2];
	p->columns = to;
	p->w_group = taps * from * BPG_GROUP;
	p->cells = (int64_t)(x->to->up[0] - x->to->lo[0]) * (x->to->up[1] - x->to->lo[1]);
	p->sets = v->groups;
	p->a_set = from;
	p->w_set = groups8 * p->w_group;
	p->c_set = to;
	p->c_cell = to * v->groups;
	return true;
}

void bpg_twin_gemm_conv(struct bpg_rt *rt, void *const *buffer, const void *arg, struct bpg_device *d)
{
	const struct bpg_arg_gemm *a = arg;
	struct lists lists = { &a->hop->conv, &a->from.window, &a->to.window, a->hop->block };
	struct bpg_arg_relax relax = { a->relax, a->from, a->slack, a->under }, toll = { a->hop, a->from, true, a->hop->under };
	struct bpg_cuda_product p = { .wide = a->from.wide, .strips = a->from.strips, .A = buffer[1], .W = buffer[0], .C = buffer[2],
		                      .a_strip = bpg_columns_in(a->hop->out, &a->from.window) * BPG_LANES,
		                      .c_strip = bpg_columns_in(a->hop->in[0], &a->to.window) * BPG_LANES, .accumulate = a->add };

	(void)rt;
	if (a->relax && !bpg_twin_relax_tile(d, &relax, buffer[5], buffer[1], buffer[4], a->second ? buffer[7] : NULL, a->second ? buffer[6] : NULL))
		return;
	if (by_lists(d, &lists, &p) && bpg_device_started(d, d->kernel->product(&p, d->stream)) && a->toll)
		bpg_twin_toll_tile(d, &toll, buffer[3], buffer[1], buffer[4]);
}

void bpg_twin_forward_conv(struct bpg_rt *rt, void *const *buffer, const void *arg, struct bpg_device *d)
{
	const struct bpg_arg_forward *a = arg;
	struct lists lists = { &a->hop->conv, &a->from.window, &a->to.window, 0 };
	struct bpg_cuda_product p = { .strips = a->from.strips, .A = buffer[1], .W = buffer[0], .C = buffer[2],
		                      .a_strip = bpg_columns_in(a->hop->in[0], &a->from.window) * BPG_LANES,
		                      .c_strip = bpg_columns_in(a->hop->out, &a->to.window) * BPG_LANES };

	(void)rt;
	if (by_lists(d, &lists, &p))
		bpg_device_started(d, d->kernel->product(&p, d->stream));
}

/* ---- sparse maps ---- */

/* The node of a map, operand, windows. */
struct map_key {
	int64_t what;
	uint64_t id;
	int64_t operand;
	struct bpg_twin_columns from, to;
};

static bool make_map(const void *arg, struct bpg_table *t)
{
	struct bpg_gather_terms g;
	bool ok = bpg_gather_terms_map(&g, arg);

	if (!ok) {
		bpg_gather_terms_fini(&g);
		return false;
	}
	*t = (struct bpg_table){ .part = { g.first, g.term },
		                 .bytes = { (size_t)(g.columns + 1) * sizeof *g.first, (size_t)g.first[g.columns] * sizeof *g.term } };
	return true;
}

void bpg_twin_map(struct bpg_rt *rt, void *const *buffer, const void *arg, struct bpg_device *d)
{
	const struct bpg_arg_map *m = arg;
	const struct bpg_columns *k = m->hop->out, *in = m->hop->in[m->k];
	struct map_key key = { 'm', m->hop->terms->id, m->hop->operand[m->k], bpg_twin_columns(k, &m->from.window), bpg_twin_columns(in, &m->to.window) };
	const struct bpg_table *t = bpg_device_table(d, &key, sizeof key, make_map, m);

	(void)rt;
	if (!t)
		return;
	struct bpg_cuda_map p = { .wide = m->from.wide, .strips = m->from.strips, .from_columns = bpg_columns_in(k, &m->from.window),
		                  .to_columns = bpg_columns_in(in, &m->to.window), .from = buffer[0], .to = buffer[1], .first = t->part[0],
		                  .term = t->part[1] };
	bpg_device_started(d, d->kernel->map(&p, d->stream));
}

/* The terms of each column of the output, as they stand. */
static bool make_map_forward(const void *arg, struct bpg_table *t)
{
	const struct bpg_arg_forward *a = arg;
	const struct bpg_columns *k = a->hop->out, *in = a->hop->in[a->k];
	const struct bpg_sparse *s = a->hop->terms;
	int64_t columns = bpg_columns_in(k, &a->to.window), *first = bpg_calloc((size_t)columns + 1, sizeof *first);
	struct bpg_plane_term *term = malloc((size_t)(s->nonzeros + 1) * sizeof *term);

	for (int64_t c = 0; first && term && c < columns; c++) {
		int64_t i = bpg_columns_element(k, bpg_columns_at(k, &a->to.window, c));
		first[c + 1] = first[c];
		for (int64_t e = s->first[i]; e < s->first[i + 1]; e++) {
			int64_t j = s->operand[e] == a->hop->operand[a->k] ? bpg_columns_column(in, &a->from.window, bpg_columns_place(in, s->index[e])) : -1;
			if (j >= 0)
				term[first[c + 1]++] = (struct bpg_plane_term){ (int32_t)j, s->coef[e], 0 };
		}
	}
	*t = (struct bpg_table){ .part = { first, term },
		                 .bytes = { (size_t)(columns + 1) * sizeof *first, (size_t)(first ? first[columns] : 0) * sizeof *term } };
	return first && term;
}

void bpg_twin_forward_map(struct bpg_rt *rt, void *const *buffer, const void *arg, struct bpg_device *d)
{
	const struct bpg_arg_forward *a = arg;
	const struct bpg_columns *k = a->hop->out, *in = a->hop->in[a->k];
	struct map_key key = { 'f', a->hop->terms->id, a->hop->operand[a->k], bpg_twin_columns(in, &a->from.window), bpg_twin_columns(k, &a->to.window) };
	const struct bpg_table *t = bpg_device_table(d, &key, sizeof key, make_map_forward, a);

	(void)rt;
	if (!t)
		return;
	struct bpg_cuda_map p = { .accumulate = !a->first, .strips = a->from.strips, .from_columns = bpg_columns_in(in, &a->from.window),
		                  .to_columns = bpg_columns_in(k, &a->to.window), .from = buffer[0], .to = buffer[1], .first = t->part[0],
		                  .term = t->part[1] };
	bpg_device_started(d, d->kernel->map(&p, d->stream));
}
