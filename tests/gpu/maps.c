/* maps.c - sparse maps and sparse planes. */
#include "case.h"

#include <stdlib.h>
#include <string.h>

#include "codelets/gather_terms.h"
#include "codelets/plane_columns.h"
#include "codelets/task_alpha.h"

static struct bpg_sparse *sparse(struct run *r, int64_t rows, int64_t ins, bool bias)
{
	struct bpg_sparse *s = host(r, 1, sizeof *s);

	s->rows = rows;
	s->first = host(r, rows + 1, sizeof *s->first);
	s->operand = host(r, rows * 3, sizeof *s->operand);
	s->index = host(r, rows * 3, sizeof *s->index);
	s->coef = host(r, rows * 3, sizeof *s->coef);
	s->bias = bias ? host(r, rows, sizeof *s->bias) : NULL;
	s->most_fan = (int32_t)rows * 3;
	for (int64_t i = 0; i < rows; i++) {
		for (int n = below(r, 4); n > 0; n--, s->nonzeros++) {
			s->operand[s->nonzeros] = below(r, 2);
			s->index[s->nonzeros] = below(r, (int)ins);
			s->coef[s->nonzeros] = (float)uniform(r, -1, 1);
		}
		s->first[i + 1] = s->nonzeros;
		if (bias)
			s->bias[i] = uniform(r, -1, 1);
	}
	return s;
}

/* Other planes, up to two for each element. */
static struct bpg_sparse *others(struct run *r, int64_t elements, int64_t ins)
{
	int64_t *of = host(r, elements + 1, sizeof *of);

	for (int64_t i = 0; i < elements; i++)
		of[i + 1] = of[i] + below(r, 3);
	struct bpg_sparse *s = sparse(r, of[elements], ins, true);
	s->of = of;
	return s;
}

static struct bpg_columns target(struct run *r, struct bpg_window *w)
{
	struct bpg_columns k = below(r, 2) ? list(r, 1 + below(r, 60), 0)
	                                   : grid(r, 1 + below(r, 4), 1 + below(r, 4), 1 + below(r, 4));

	*w = window(r, &k);
	return k;
}

CASE(gpu_map)
{
	RUN();
	struct tile t;
	struct bpg_view_tile to;
	draw_tile(r, &t, 300);
	to = t.view;
	struct bpg_columns in = target(r, &to.window);
	if (in.grid) /* of a map, a window holds all that its terms touch */
		to.window = (struct bpg_window){ { 0, 0 }, { in.size[0], in.size[1] } };
	struct bpg_hop hop = { .kind = BPG_HOP_TERMS,
		               .out = &t.k,
		               .nin = 2,
		               .in = (struct bpg_columns *[]){ &in, &in },
		               .operand = (int[]){ 0, 1 },
		               .terms = sparse(r, t.k.n, in.n, false) };
	struct bpg_arg_map a = { &hop, 1, t.view, to };
	int64_t columns = bpg_columns_in(&in, &to.window);
	void *y = host(r, t.rows * columns, size_of(t.view.wide));
	struct bpg_gather_terms g;

	if (!bpg_gather_terms_map(&g, &a))
		abort();
	struct bpg_cuda_map p = { .wide = t.view.wide,
		                  .strips = t.view.strips,
		                  .from_columns = t.columns,
		                  .to_columns = columns,
		                  .from = PUT_TILE(t),
		                  .to = put(r, y, t.rows * columns, size_of(t.view.wide)),
		                  .first = put(r, g.first, columns + 1, sizeof *g.first),
		                  .term = put(r, g.term, g.first[columns], sizeof *g.term) };
	bpg_gather_terms_fini(&g);
	bpg_task_map(NULL, (void *[]){ t.data, y }, &a);
	started(r, "map", b->map(&p, NULL));
	compare(r, "map", t.view.wide, y, p.to, t.rows * columns);
	return case_end(r);
}

/* Points forward through a map: lists of the output's own terms. */
CASE(gpu_map_forward)
{
	RUN();
	int strips = 1 + below(r, 17);
	struct bpg_window w[2];
	struct bpg_columns out = target(r, &w[0]), in = target(r, &w[1]);
	struct bpg_hop hop = { .out = &out,
		               .nin = 2,
		               .in = (struct bpg_columns *[]){ &in, &in },
		               .operand = (int[]){ 0, 1 },
		               .terms = sparse(r, out.n, in.n, false) };
	struct bpg_arg_forward a = { .hop = &hop,
		                     .k = 0,
		                     .from = { .strips = strips, .window = w[1] },
		                     .to = { .strips = strips, .window = w[0] },
		                     .first = below(r, 2) };
	int64_t oc = bpg_columns_in(&out, &w[0]), ic = bpg_columns_in(&in, &w[1]), *first = host(r, oc + 1, sizeof *first);
	struct bpg_plane_term *term = host(r, hop.terms->nonzeros, sizeof *term);
	float *x = host(r, strips * ic * BPG_LANES, sizeof *x), *z = host(r, strips * oc * BPG_LANES, sizeof *z);

	for (int64_t c = 0; c < oc; c++) {
		int64_t i = bpg_columns_element(&out, bpg_columns_at(&out, &w[0], c));
		first[c + 1] = first[c];
		for (int64_t t = hop.terms->first[i]; t < hop.terms->first[i + 1]; t++) {
			int64_t j = hop.terms->operand[t] == 0
			                    ? bpg_columns_column(&in, &w[1], bpg_columns_place(&in, hop.terms->index[t]))
			                    : -1;
			if (j >= 0)
				term[first[c + 1]++] = (struct bpg_plane_term){ (int32_t)j, hop.terms->coef[t], 0 };
		}
	}
	fill(r, false, x, strips * ic * BPG_LANES);
	fill(r, false, z, strips * oc * BPG_LANES);
	struct bpg_cuda_map p = { .accumulate = !a.first,
		                  .strips = strips,
		                  .from_columns = ic,
		                  .to_columns = oc,
		                  .from = put(r, x, strips * ic * BPG_LANES, sizeof *x),
		                  .to = put(r, z, strips * oc * BPG_LANES, sizeof *z),
		                  .first = put(r, first, oc + 1, sizeof *first),
		                  .term = put(r, term, first[oc], sizeof *term) };
	bpg_task_forward_map(NULL, (void *[]){ x, z }, &a);
	started(r, "map", b->map(&p, NULL));
	compare(r, "map of points", false, z, p.to, strips * oc * BPG_LANES);
	return case_end(r);
}

/* Sparse planes of several segments, or of one with weights for other planes. */
/* A list of planes on the device; operands by their number among the inputs. */
static struct bpg_cuda_planes list_of(struct run *r, const struct bpg_hop *h, const struct bpg_sparse *s)
{
	int32_t *in = host(r, s->nonzeros, sizeof *in);

	for (int64_t t = 0; t < s->nonzeros; t++)
		while (h->operand[in[t]] != s->operand[t])
			in[t]++;
	return (struct bpg_cuda_planes){ put(r, s->first, s->rows + 1, sizeof *s->first), put(r, in, s->nonzeros, sizeof *in),
		                         put(r, s->index, s->nonzeros, sizeof *s->index), put(r, s->coef, s->nonzeros, sizeof *s->coef),
		                         put(r, s->bias, s->rows, sizeof *s->bias) };
}

CASE(gpu_planes)
{
	RUN();
	struct tile t;
	struct bpg_view_tile view;
	draw_tile(r, &t, 300);
	bool chosen = below(r, 2);
	if (chosen)
		t.segments = 1, memset(t.segment, 0, (size_t)t.view.strips * sizeof *t.segment);
	view = t.view;
	struct bpg_columns in = target(r, &view.window);
	struct bpg_hop hop = { .kind = BPG_HOP_PLANES,
		               .out = &t.k,
		               .nin = 2,
		               .in = (struct bpg_columns *[]){ &in, &in },
		               .operand = (int[]){ 1, 0 },
		               .lower = sparse(r, t.segments * t.k.n, in.n, true),
		               .upper = sparse(r, t.segments * t.k.n, in.n, true),
		               .under = 1e-12 };
	if (chosen)
		hop.other[0] = others(r, t.k.n, in.n), hop.other[1] = others(r, t.k.n, in.n);
	struct bpg_arg_map_planes a = { { &hop, 0, t.view, view }, below(r, 2), chosen };
	int64_t columns = bpg_columns_in(&in, &view.window), more = chosen ? bpg_others_in(&hop, &t.view.window) : 0,
	        all = t.columns + more;
	double *field[2];
	for (int k = 0; k < 2; k++) {
		field[k] = host(r, t.segments * BPG_FIELDS * in.n, sizeof *field[k]);
		for (int64_t i = 0; i < t.segments * BPG_FIELDS * in.n; i++)
			field[k][i] = uniform(r, 0, 1);
	}
	void *y = host(r, t.rows * columns, size_of(t.view.wide)), *dealt = host(r, t.rows * all, size_of(t.view.wide));
	float *weight = host(r, t.rows * more, sizeof *weight);
	double *lost = host(r, t.rows * t.columns, sizeof *lost);
	for (int64_t i = 0; i < t.rows * more; i++)
		weight[i] = below(r, 4) ? (float)uniform(r, 0, 0.5) : 0.5f * (float)below(r, 2);
	void *buffer[] = { t.bounds, field[0], field[1], t.data, t.state, y, weight };

	/* What a device gets: the planes' values by segment, terms by target column, where the parts of a column are. */
	struct bpg_plane_at *plane = host(r, t.segments * all, sizeof *plane);
	int32_t *of = host(r, more, sizeof *of), *side = host(r, more, sizeof *side);
	int64_t *row = host(r, more, sizeof *row);
	int64_t *first = host(r, t.segments * (columns + 1), sizeof *first), terms = 0;
	int32_t *other = host(r, t.columns + 1, sizeof *other), *under = host(r, t.columns, sizeof *under);
	struct bpg_plane_term *term = NULL;
	for (int g = 0; g < t.segments; g++) {
		struct bpg_plane_columns c = { 0 };
		struct bpg_gather_terms turned;
		if (!bpg_plane_columns_set(&c, &a, buffer, g) || !bpg_gather_terms_turn(&turned, all, c.first, c.term, columns))
			abort();
		memcpy(plane + g * all, c.plane, (size_t)all * sizeof *plane);
		term = realloc(term, (size_t)(terms + turned.first[columns] + 1) * sizeof *term);
		memcpy(term + terms, turned.term, (size_t)turned.first[columns] * sizeof *term);
		for (int64_t j = 0; j <= columns; j++)
			first[g * (columns + 1) + j] = terms + turned.first[j];
		terms += turned.first[columns];
		bpg_gather_terms_fini(&turned);
		bpg_plane_columns_free(&c);
	}
	for (int64_t j = 0; j < t.columns; j++) {
		under[j] = bpg_others_of(&hop, 0, t.element[j]);
		other[j + 1] = other[j] + under[j] + bpg_others_of(&hop, 1, t.element[j]);
		for (int32_t o = other[j]; chosen && o < other[j + 1]; o++) {
			side[o] = o - other[j] >= under[j], of[o] = t.element[j];
			row[o] = hop.other[side[o]]->of[of[o]] + o - other[j] - (side[o] ? under[j] : 0);
		}
	}
	const double *input[2] = { put(r, field[0], t.segments * BPG_FIELDS * in.n, sizeof *field[0]),
		                   put(r, field[1], t.segments * BPG_FIELDS * in.n, sizeof *field[1]) };
	double gamma[4];
	for (int n = 0; n < 4; n++)
		gamma[n] = bpg_gamma((double)all + 16 + n, 0x1p-53);
	struct bpg_cuda_price c = { .slack = a.slack,
		                    .segments = t.segments,
		                    .columns = t.columns,
		                    .others = more,
		                    .list = { list_of(r, &hop, hop.lower), list_of(r, &hop, hop.upper) },
		                    .element = PUT_ELEMENTS(t),
		                    .other = put(r, row, more, sizeof *row),
		                    .of = put(r, of, more, sizeof *of),
		                    .side = put(r, side, more, sizeof *side),
		                    .bounds = PUT_BOUNDS(t),
		                    .n = t.k.n,
		                    .input = put(r, input, 2, sizeof *input),
		                    .inputs = put(r, ((const int64_t[]){ in.n, in.n }), 2, sizeof(int64_t)),
		                    .gross = bpg_gamma(bpg_planes_fan(&hop) + 4, t.view.wide ? 0x1p-53 : 0x1p-24),
		                    .gamma = put(r, gamma, 4, sizeof *gamma),
		                    .to = put(r, host(r, t.segments * all, sizeof *plane), t.segments * all, sizeof *plane) };
	for (int k = 0; chosen && k < 2; k++)
		c.list[2 + k] = list_of(r, &hop, hop.other[k]);
	started(r, "prices", b->price(&c, NULL));
	compare(r, "planes at the reference", true, plane, c.to, t.segments * all * 4);
	void *x = PUT_TILE(t);
	double *d_lost = put(r, lost, t.rows * t.columns, sizeof *lost);
	if (more) {
		struct bpg_cuda_deal d = { .wide = t.view.wide,
			                   .strips = t.view.strips,
			                   .columns = t.columns,
			                   .others = more,
			                   .from = x,
			                   .weight = put(r, weight, t.rows * more, sizeof *weight),
			                   .to = put(r, dealt, t.rows * all, size_of(t.view.wide)),
			                   .lost = d_lost,
			                   .other = put(r, other, t.columns + 1, sizeof *other),
			                   .below = put(r, under, t.columns, sizeof *under) };
		started(r, "weights of planes", b->deal(&d, NULL));
		x = d.to;
	}
	struct bpg_cuda_map p = { .wide = t.view.wide,
		                  .two = true,
		                  .strips = t.view.strips,
		                  .from_columns = all,
		                  .to_columns = columns,
		                  .from = x,
		                  .to = put(r, y, t.rows * columns, size_of(t.view.wide)),
		                  .segment = PUT_SEGMENTS(t),
		                  .first = put(r, first, t.segments * (columns + 1), sizeof *first),
		                  .term = put(r, term, terms, sizeof *term) };
	struct bpg_cuda_sums s = { .kind = BPG_SUM_PLANES,
		                   .wide = t.view.wide,
		                   .slack = a.slack,
		                   .strips = t.view.strips,
		                   .columns = all,
		                   .tile = x,
		                   .state = PUT_STATE(t),
		                   .segment = p.segment,
		                   .element = PUT_ELEMENTS(t),
		                   .bounds = PUT_BOUNDS(t),
		                   .n = t.k.n,
		                   .under = hop.under,
		                   .plane = c.to,
		                   .lost_columns = t.columns,
		                   .lost = more ? d_lost : NULL };
	free(term);
	bpg_task_map_planes(NULL, buffer, &a);
	started(r, "planes", b->map(&p, NULL));
	started(r, "planes", b->sums(&s, NULL));
	compare(r, "planes, tile", t.view.wide, y, p.to, t.rows * columns);
	compare(r, "planes, state", true, t.state, s.state, BPG_STATES * t.rows);
	return case_end(r);
}
