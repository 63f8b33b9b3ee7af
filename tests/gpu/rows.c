/* rows.c - what is done to the rows of a tile: relaxations, joins, tolls, the region, the optimiser's step. */
#include "case.h"

#include "codelets/task_alpha.h"

/* Another tile of the same shape. */
static void *like(struct run *r, const struct tile *t)
{
	void *x = host(r, t->rows * t->columns, size_of(t->view.wide));

	fill(r, t->view.wide, x, t->rows * t->columns);
	return x;
}

static struct bpg_cuda_relax relax_of(struct run *r, const struct tile *t, bool slack, double under)
{
	return (struct bpg_cuda_relax){ .wide = t->view.wide,
		                        .slack = slack,
		                        .strips = t->view.strips,
		                        .columns = t->columns,
		                        .at = t->at,
		                        .tile = PUT_TILE(*t),
		                        .state = PUT_STATE(*t),
		                        .segment = PUT_SEGMENTS(*t),
		                        .planes = PUT_PLANES(*t),
		                        .places = t->places,
		                        .under = under };
}

/* A relaxation; half of the time a second tile is added first. */
CASE(gpu_relax)
{
	RUN();
	struct tile t;
	draw_tile(r, &t, 1500);
	struct bpg_hop hop = { .kind = BPG_HOP_UNARY, .out = &t.k };
	struct bpg_arg_relax a = { &hop, t.view, below(r, 2), 1e-9 };
	struct bpg_cuda_relax p = relax_of(r, &t, a.slack, a.under);

	if (below(r, 2)) {
		void *second = like(r, &t);
		struct bpg_cuda_relax join = p;
		join.at = (struct bpg_cuda_spans){ t.at.row, 0, t.at.row };
		join.second = put(r, second, t.rows * t.columns, size_of(t.view.wide));
		join.tile_columns = t.columns, join.bounds = PUT_BOUNDS(t), join.n = t.k.n, join.element = PUT_ELEMENTS(t);
		bpg_task_add_relax(NULL, (void *[]){ t.planes, t.data, t.state, t.bounds, second }, &a);
		started(r, "join", b->relax(&join, NULL));
	} else {
		bpg_task_relax(NULL, (void *[]){ t.planes, t.data, t.state }, &a);
	}
	started(r, "relaxation", b->relax(&p, NULL));
	compare(r, "relaxation, tile", t.view.wide, t.data, p.tile, t.rows * t.columns);
	compare(r, "relaxation, state", true, t.state, p.state, BPG_STATES * t.rows);
	return case_end(r);
}

/* Rows that are opposite beyond the first columns. */
CASE(gpu_opposite)
{
	RUN();
	struct tile t;
	draw_tile(r, &t, 1500);
	while (t.k.grid)
		draw_tile(r, &t, 1500);
	struct bpg_hop hop = { .kind = BPG_HOP_UNARY, .out = &t.k };
	int apart = (t.view.strips + 1) / 2, pairs = t.view.strips / 2;
	struct bpg_arg_relax a = { &hop, t.view, below(r, 2), 1e-9 };
	struct bpg_cuda_relax p = relax_of(r, &t, a.slack, a.under);

	p.mixed = t.k.mixed = below(r, (int)t.columns + 1), p.pairs = pairs, p.apart = apart;
	for (int s = 0; s < pairs; s++)
		bpg_relax_opposite(&a, t.planes, t.data, s, s + apart, t.state);
	if (pairs)
		started(r, "relaxation", b->relax(&p, NULL));
	compare(r, "opposite rows, tile", t.view.wide, t.data, p.tile, t.rows * t.columns);
	compare(r, "opposite rows, state", true, t.state, p.state, BPG_STATES * t.rows);
	return case_end(r);
}

/* A slope for each row at some of the columns, then the optimiser's step with it. */
CASE(gpu_choice)
{
	RUN();
	struct tile t;
	draw_tile(r, &t, 1200);
	t.view.segment = NULL; /* there are none with optimised slopes */
	struct bpg_hop hop = { .kind = BPG_HOP_UNARY, .out = &t.k };
	int32_t *column = host(r, t.columns, sizeof *column), *chosen = host(r, t.columns, sizeof *chosen);
	int64_t count = 0, one_in = 1 + below(r, 40);
	struct bpg_arg_alpha a = { .hop = &hop,
		                   .tile = t.view,
		                   .free = true,
		                   .slack = below(r, 2),
		                   .under = 1e-9,
		                   .keep = below(r, 4),
		                   .rate = 0.1,
		                   .bias1 = 10,
		                   .bias2 = 1000,
		                   .weighed = below(r, 2) };

	for (int64_t j = 0; j < t.columns; j++) {
		chosen[j] = -1;
		if (below(r, (int)one_in) == 0)
			chosen[j] = (int32_t)count, column[count++] = (int32_t)j;
	}
	a.at = (struct bpg_alpha_columns){ count, column, NULL, 0 };
	int64_t n = t.view.strips * count * BPG_LANES;
	float *alpha = host(r, n, sizeof *alpha), *kept = host(r, n, sizeof *kept), *moments = host(r, 2 * n, sizeof *moments);
	float *z = host(r, t.rows * t.columns, sizeof *z);
	for (int64_t i = 0; i < n; i++)
		alpha[i] = (float)uniform(r, 0, 1), kept[i] = value(r), moments[i] = (float)uniform(r, -1, 1),
		moments[n + i] = (float)uniform(r, 0, 1);
	fill(r, false, z, t.rows * t.columns);
	struct bpg_cuda_relax p = relax_of(r, &t, a.slack, a.under);
	float *d_kept = put(r, kept, n, sizeof *kept);
	p.segment = NULL, p.choices = count, p.choice = put(r, chosen, t.columns, sizeof *chosen),
	p.alpha = put(r, alpha, n, sizeof *alpha);
	p.kept = a.keep ? d_kept : NULL;
	for (int64_t i = 0; i < t.k.n; i++) /* most are on both sides of 0 */
		t.bounds[BPG_LOWER * t.k.n + i] = uniform(r, -1, 0.2);
	p.bounds = PUT_BOUNDS(t), p.n = t.k.n, p.element = PUT_ELEMENTS(t);
	if (a.keep)
		bpg_task_relax_alpha(NULL, (void *[]){ t.planes, t.data, t.state, alpha, kept, t.bounds, NULL }, &a);
	else
		bpg_task_relax_alpha(NULL, (void *[]){ t.planes, t.data, t.state, alpha, t.bounds, NULL }, &a);
	started(r, "relaxation", b->relax(&p, NULL));
	compare(r, "chosen slopes, tile", t.view.wide, t.data, p.tile, t.rows * t.columns);
	compare(r, "chosen slopes, state", true, t.state, p.state, BPG_STATES * t.rows);
	compare(r, "chosen slopes, kept", false, kept, d_kept, n);

	float *weight = host(r, t.rows, sizeof *weight);
	for (int64_t i = 0; i < t.rows; i++)
		weight[i] = (float)uniform(r, -1, 1);
	struct bpg_cuda_step s = { .strips = t.view.strips,
		                   .columns = t.columns,
		                   .choices = count,
		                   .places = t.places,
		                   .at = t.at,
		                   .choice = p.choice,
		                   .planes = p.planes,
		                   .bounds = p.bounds,
		                   .n = p.n,
		                   .element = p.element,
		                   .weight = a.weighed ? put(r, weight, t.rows, sizeof *weight) : NULL,
		                   .z = put(r, z, t.rows * t.columns, sizeof *z),
		                   .kept = d_kept,
		                   .alpha = put(r, alpha, n, sizeof *alpha),
		                   .moments = put(r, moments, 2 * n, sizeof *moments),
		                   .rate = (float)a.rate,
		                   .bias1 = (float)a.bias1,
		                   .bias2 = (float)a.bias2 };
	bpg_task_alpha_step(NULL, (void *[]){ t.planes, t.bounds, z, kept, alpha, moments, weight }, &a);
	started(r, "step", b->step(&s, NULL));
	compare(r, "step, point", false, z, s.z, t.rows * t.columns);
	compare(r, "step, slopes", false, alpha, s.alpha, n);
	compare(r, "step, moments", false, moments, s.moments, 2 * n);
	return case_end(r);
}

/* Tolls, the region, its corners. */
CASE(gpu_sums)
{
	RUN();
	struct tile t;
	draw_tile(r, &t, 1500);
	struct bpg_hop hop = { .kind = BPG_HOP_DENSE, .out = &t.k, .gamma32 = below(r, 2) ? 1e-5 : 0, .gamma64 = 1e-9 };
	struct bpg_arg_relax toll = { &hop, t.view, true, 1e-10 };
	struct bpg_arg_concretize region = { .hop = &hop, .tile = t.view, .norm = below(r, 3) };
	struct bpg_cuda_sums p = { .kind = BPG_SUM_TOLL,
		                   .wide = t.view.wide,
		                   .slack = true,
		                   .strips = t.view.strips,
		                   .columns = t.columns,
		                   .tile = PUT_TILE(t),
		                   .state = PUT_STATE(t),
		                   .segment = PUT_SEGMENTS(t),
		                   .element = PUT_ELEMENTS(t),
		                   .bounds = PUT_BOUNDS(t),
		                   .n = t.k.n,
		                   .gamma = t.view.wide ? hop.gamma64 : hop.gamma32,
		                   .under = toll.under };

	bpg_task_toll(NULL, (void *[]){ t.bounds, t.data, t.state }, &toll);
	started(r, "toll", b->sums(&p, NULL));
	compare(r, "toll", true, t.state, p.state, BPG_STATES * t.rows);
	bpg_task_concretize(NULL, (void *[]){ t.bounds, t.data, t.state }, &region);
	p.kind = BPG_SUM_REGION, p.norm = region.norm;
	started(r, "region", b->sums(&p, NULL));
	compare(r, "region", true, t.state, p.state, BPG_STATES * t.rows);

	struct bpg_arg_corner c = { .hop = &hop, .tile = t.view, .norm = region.norm, .radius = uniform(r, 0, 2) };
	float *z = host(r, t.rows * t.columns, sizeof *z);
	struct bpg_cuda_corner q = { .wide = t.view.wide,
		                     .norm = c.norm,
		                     .strips = t.view.strips,
		                     .columns = t.columns,
		                     .size = c.radius,
		                     .tile = p.tile,
		                     .state = p.state,
		                     .bounds = p.bounds,
		                     .n = p.n,
		                     .element = p.element,
		                     .z = put(r, z, t.rows * t.columns, sizeof *z) };
	bpg_task_corner(NULL, (void *[]){ t.bounds, t.data, t.state, z }, &c);
	started(r, "corner", b->corner(&q, NULL));
	compare(r, "corner", false, z, q.z, t.rows * t.columns);
	return case_end(r);
}

/* A tile of a window inside that of another: copied, then added. */
CASE(gpu_join)
{
	RUN();
	struct tile t;
	draw_tile(r, &t, 1500);
	struct bpg_window w = t.view.window;
	for (int x = 0; t.k.grid && x < 2; x++) {
		w.lo[x] -= below(r, w.lo[x] + 1);
		w.up[x] += below(r, t.k.size[x] - w.up[x] + 1);
	}
	struct bpg_hop hop = { .out = &t.k };
	struct bpg_view_tile view = t.view;
	view.window = w;
	struct bpg_arg_add a = { &hop, t.view, view, below(r, 2) };
	int64_t columns = bpg_columns_in(&t.k, &w), n = t.rows * columns;
	void *to = host(r, n, size_of(t.view.wide));
	struct bpg_cuda_copy p = { .wide = t.view.wide,
		                   .strips = t.view.strips,
		                   .channels = t.k.grid ? t.k.channels : t.columns,
		                   .from_up = { 1, 1 },
		                   .to_up = { 1, 1 },
		                   .from = PUT_TILE(t),
		                   .to = put(r, to, n, size_of(t.view.wide)),
		                   .from_strip = t.columns * BPG_LANES,
		                   .to_strip = columns * BPG_LANES };
	for (int x = 0; t.k.grid && x < 2; x++)
		p.from_lo[x] = t.view.window.lo[x], p.from_up[x] = t.view.window.up[x], p.to_lo[x] = w.lo[x],
		p.to_up[x] = w.up[x];

	bpg_task_copy(NULL, (void *[]){ t.data, to }, &a);
	started(r, "copy", b->copy(&p, NULL));
	compare(r, "copy", t.view.wide, to, p.to, n);
	struct bpg_cuda_relax q = relax_of(r, &t, a.slack, 0);
	q.second = p.from, q.tile = p.to, q.tile_columns = columns, q.bounds = PUT_BOUNDS(t), q.n = t.k.n,
	q.element = PUT_ELEMENTS(t);
	q.at = !t.k.grid ? (struct bpg_cuda_spans){ t.columns, 0, 0 }
	                 : (struct bpg_cuda_spans){ t.at.row,
		                                    ((int64_t)(t.view.window.lo[0] - w.lo[0]) * (w.up[1] - w.lo[1]) +
		                                     t.view.window.lo[1] - w.lo[1]) *
		                                            t.k.channels,
		                                    (int64_t)(w.up[1] - w.lo[1]) * t.k.channels };
	bpg_task_add(NULL, (void *[]){ t.bounds, t.data, to, t.state }, &a);
	started(r, "join", b->relax(&q, NULL));
	compare(r, "join, tile", t.view.wide, to, q.tile, n);
	compare(r, "join, state", true, t.state, q.state, BPG_STATES * t.rows);
	return case_end(r);
}
