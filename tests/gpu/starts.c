/* starts.c - where rows begin. */
#include "case.h"

#include "net/const.h"

/* Unit rows of some elements of a node; one that is no column is its reference value. */
CASE(gpu_unit_rows)
{
	RUN();
	struct tile t;
	draw_tile(r, &t, 300);
	struct bpg_hop hop = { .out = &t.k };
	int sides = 1 + below(r, 3), half = t.view.strips / 2;
	if (sides == 3 && half == 0)
		sides = 1;
	int count = 1 + below(r, (sides == 3 ? half : t.view.strips) * BPG_LANES);
	int64_t *element = host(r, count, sizeof *element), *column = host(r, count, sizeof *column);
	struct bpg_arg_start a = { .hop = &hop,
		                   .element = element,
		                   .count = count,
		                   .sides = sides,
		                   .minus = sides == 3 ? half * BPG_LANES : 0,
		                   .tile = t.view };

	for (int i = 0; i < count; i++) {
		column[i] = below(r, (int)t.columns);
		element[i] = t.element[column[i]];
		if (!t.k.grid && below(r, 8) == 0)
			t.k.slot[element[i]] = -1;
	}
	for (int i = 0; i < count; i++)
		column[i] = bpg_columns_column(&t.k, &t.view.window, bpg_columns_place(&t.k, element[i]));
	struct bpg_cuda_start p = { .wide = t.view.wide,
		                    .strips = t.view.strips,
		                    .columns = t.columns,
		                    .count = count,
		                    .sides = sides,
		                    .minus = a.minus,
		                    .c1 = t.columns,
		                    .upper_columns = t.columns,
		                    .element = put(r, element, count, sizeof *element),
		                    .column = put(r, column, count, sizeof *column),
		                    .tile = PUT_TILE(t),
		                    .state = PUT_STATE(t),
		                    .segment = PUT_SEGMENTS(t),
		                    .bounds = PUT_BOUNDS(t),
		                    .n = t.k.n };
	bpg_task_start_unit(NULL, (void *[]){ t.bounds, t.data, t.state }, &a);
	started(r, "start", b->start(&p, NULL));
	compare(r, "unit rows, tile", t.view.wide, t.data, p.tile, t.rows * t.columns);
	compare(r, "unit rows, state", true, t.state, p.state, BPG_STATES * t.rows);
	return case_end(r);
}

/* Rows of a matrix, from two panels as the products read them. */
CASE(gpu_matrix_rows)
{
	RUN();
	int64_t K = 1 + below(r, 200), N = 1 + below(r, 200), cut[3] = { 0, (1 + below(r, (int)N)) / BPG_GROUP * BPG_GROUP, N };
	int sides = 1 + below(r, 3), count = 1 + below(r, (int)K),
	    strips = (count + BPG_LANES - 1) / BPG_LANES * (sides == 3 ? 2 : 1);
	bool wide = below(r, 3) == 0;
	int64_t rows = strips * BPG_LANES;
	struct bpg_columns out = list(r, K, 0), in = list(r, N, below(r, (int)N + 1));
	float *weight = host(r, K * N, sizeof *weight);
	struct bpg_const held = { .type = BPG_F32, .n = K * N, .mem = weight };
	struct bpg_hop hop = {
		.kind = BPG_HOP_DENSE,
		.out = &out,
		.nin = 1,
		.in = (struct bpg_columns *[]){ &in },
		.dense = { .weight = &held, .outs = K, .ins = N, .stride_out = N, .stride_in = 1, .scale = below(r, 2) ? 1 : 0.3 }
	};
	int64_t *element = host(r, count, sizeof *element);
	double *bounds = host(r, BPG_FIELDS * K, sizeof *bounds), *state = host(r, BPG_STATES * rows, sizeof *state);
	void *tile = host(r, rows * N, size_of(wide));
	struct bpg_arg_start a = { .hop = &hop,
		                   .element = element,
		                   .count = count,
		                   .sides = sides,
		                   .minus = sides == 3 ? (int)(rows / 2) : 0,
		                   .tile = { .strips = strips, .wide = wide },
		                   .slack = below(r, 2) };

	fill(r, false, weight, K * N);
	fill(r, wide, tile, rows * N);
	for (int i = 0; i < count; i++)
		element[i] = below(r, (int)K);
	for (int64_t i = 0; i < BPG_FIELDS * K; i++)
		bounds[i] = uniform(r, -1, 1);
	struct bpg_cuda_start p = { .wide = wide,
		                    .slack = a.slack,
		                    .strips = strips,
		                    .columns = N,
		                    .count = count,
		                    .sides = sides,
		                    .minus = a.minus,
		                    .upper_columns = N,
		                    .element = put(r, element, count, sizeof *element),
		                    .w_group = K * BPG_GROUP,
		                    .tile = put(r, tile, rows * N, size_of(wide)),
		                    .state = put(r, state, BPG_STATES * rows, sizeof *state),
		                    .bounds = put(r, bounds, BPG_FIELDS * K, sizeof *bounds),
		                    .n = K };
	double *d_state = p.state;
	p.column = p.element; /* every output is a summed column, in order */
	bpg_task_start_dense(NULL, (void *[]){ bounds, tile, state }, &a);
	for (int c = 0; c < 2; c++) {
		struct bpg_arg_pack pack = { &hop, cut[c], cut[c + 1],
			                     (cut[c + 1] - cut[c] + BPG_GROUP - 1) / BPG_GROUP * BPG_GROUP };
		float *panel = host(r, pack.width * K, sizeof *panel);
		if (cut[c] == cut[c + 1])
			continue;
		bpg_task_pack_dense(NULL, (void *[]){ panel }, &pack);
		p.c0 = cut[c], p.c1 = cut[c + 1], p.W = put(r, panel, pack.width * K, sizeof *panel);
		started(r, "start", b->start(&p, NULL));
		p.state = NULL;
	}
	compare(r, "rows of a matrix, tile", wide, tile, p.tile, rows * N);
	compare(r, "rows of a matrix, state", true, state, d_state, BPG_STATES * rows);
	return case_end(r);
}
