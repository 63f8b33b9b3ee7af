/* task_product.c - packing of dense weights, start of walks, and the products of dense nodes. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "codelets/tasks.h"
#include "net/const.h"

void bpg_relax_strip(const struct bpg_arg_relax *r, const double *planes, void *tile, int strip, double *state, int64_t rows);

/* ---- gather: panels ---- */

/* Rows (or, for weights stored by input, columns) that are read at a time: a block stays in the second-level cache. */
enum { PACK_FLOATS = 1 << 16 };

struct packing {
	const struct bpg_dense *d;
	void *const *panel;
	int64_t K, n, width;      /* summed index, columns, columns of a panel */
	int32_t *element, *row;   /* input element of a column, output element of a summed index */
};

/* The eight floats of summed index k, group g. */
static float *packed(const struct packing *x, int64_t k, int64_t g)
{
	int64_t c = g * BPG_GROUP;

	return (float *)x->panel[c / x->width] + (c % x->width / BPG_GROUP * x->K + k) * BPG_GROUP;
}

static void range_of(const int32_t *v, int64_t n, int64_t *least, int64_t *most)
{
	*least = INT64_MAX, *most = -1;
	for (int64_t i = 0; i < n; i++)
		*least = BPG_MIN(*least, (int64_t)v[i]), *most = BPG_MAX(*most, (int64_t)v[i]);
}

/* Weights stored by output: a few rows of them, of each the span that the columns need; then group by group, so that
 * writes are long. */
static bool pack_by_output(const struct packing *x)
{
	int64_t least, most, groups = (x->n + BPG_GROUP - 1) / BPG_GROUP;

	range_of(x->element, x->n, &least, &most);
	int64_t span = most - least + 1, rows = BPG_MAX((int64_t)1, BPG_MIN(x->K, PACK_FLOATS / span));
	float *w = malloc((size_t)(rows * span) * sizeof *w);
	if (!w)
		return false;
	for (int64_t k0 = 0; k0 < x->K; k0 += rows) {
		int64_t m = BPG_MIN(rows, x->K - k0);
		for (int64_t k = 0; k < m; k++)
			bpg_const_read_f32(x->d->weight, x->d->base + x->row[k0 + k] * x->d->stride_out + least, span, w + k * span);
		for (int64_t g = 0; g < groups; g++) {
			float *to = packed(x, k0, g);
			int columns = (int)BPG_MIN(x->n - g * BPG_GROUP, (int64_t)BPG_GROUP);
			const int32_t *e = x->element + g * BPG_GROUP;
			for (int64_t k = 0; k < m; k++, to += BPG_GROUP)
				for (int j = 0; j < BPG_GROUP; j++)
					to[j] = j < columns ? w[k * span + e[j] - least] : 0;
		}
	}
	free(w);
	return true;
}

/* Weights stored by input: a group of eight input rows of them, then transposed. */
static bool pack_by_input(const struct packing *x)
{
	int64_t least, most;

	range_of(x->row, x->K, &least, &most);
	int64_t span = most - least + 1;
	float *w = x->K ? malloc((size_t)(BPG_GROUP * span) * sizeof *w) : NULL;
	if (x->K && !w)
		return false;
	for (int64_t g = 0; x->K && g * BPG_GROUP < x->n; g++) {
		int columns = (int)BPG_MIN(x->n - g * BPG_GROUP, (int64_t)BPG_GROUP);
		float *to = packed(x, 0, g);

		for (int j = 0; j < columns; j++) {
			int64_t at = x->d->base + x->element[g * BPG_GROUP + j] * x->d->stride_in;
			if (x->d->stride_out == 1)
				bpg_const_read_f32(x->d->weight, at + least, span, w + j * span);
			else
				for (int64_t k = 0; k < span; k++)
					bpg_const_read_f32(x->d->weight, at + (least + k) * x->d->stride_out, 1, w + j * span + k);
		}
		for (int64_t k = 0; k < x->K; k++, to += BPG_GROUP)
			for (int j = 0; j < BPG_GROUP; j++)
				to[j] = j < columns ? w[j * span + x->row[k] - least] : 0;
	}
	free(w);
	return true;
}

/* Buffers are consecutive panels. */
void bpg_task_pack_dense(struct bpg_rt *rt, void *const *buffer, const void *arg)
{
	const struct bpg_arg_pack *a = arg;
	const struct bpg_dense *d = &a->hop->dense;
	struct packing x = { .d = d, .panel = buffer, .K = bpg_columns_places(a->hop->out), .n = a->c1 - a->c0, .width = a->width };
	bool ok;

	x.element = malloc((size_t)(x.n + 1) * sizeof *x.element);
	x.row = malloc((size_t)(x.K + 1) * sizeof *x.row);
	ok = x.element && x.row;
	for (int64_t c = 0; ok && c < x.n; c++)
		x.element[c] = (int32_t)bpg_columns_element(a->hop->in[0], a->c0 + c);
	for (int64_t k = 0; ok && k < x.K; k++)
		x.row[k] = (int32_t)bpg_columns_element(a->hop->out, k);
	if (ok && x.n)
		ok = d->stride_in == 1 ? pack_by_output(&x) : pack_by_input(&x);
	if (ok && d->scale != 1)
		for (int64_t g = 0; g * BPG_GROUP < x.n; g++)
			for (int64_t i = 0; i < x.K * BPG_GROUP; i++)
				packed(&x, 0, g)[i] *= (float)d->scale;
	if (!ok)
		bpg_rt_fault(rt, BPG_ENOMEM, "memory is short while weights are packed");
	free(x.element);
	free(x.row);
}

void bpg_task_gather(struct bpg_rt *rt, void *const *buffer, const void *arg)
{
	const struct bpg_arg_gather *a = arg;

	(void)rt;
	memcpy(buffer[1], buffer[0], a->bytes);
}

/* ---- start ---- */

/* Weights of some outputs as floats: of output i and input k at i*output + k*input. */
struct weights {
	int64_t output, input;
	float *w;
};

enum { READ_FLOATS = 1 << 20 }; /* scratch of a task that starts rows, unless a strip needs more */

/* Inputs [first, end) that columns stand for. */
struct inputs {
	int64_t first, end;
};

static struct inputs inputs_of(const struct bpg_columns *k)
{
	struct inputs r = { INT64_MAX, 0 };

	for (int64_t c = 0; c < bpg_columns_places(k); c++) {
		int64_t i = bpg_columns_element(k, c);
		r.first = BPG_MIN(r.first, i), r.end = BPG_MAX(r.end, i + 1);
	}
	r.first = BPG_MIN(r.first, r.end);
	return r;
}

/* Outputs that are read together: few where an output's weights lie side by side in the file, many where an input's do,
 * as what is read at once is then a piece of a row of the file. */
static int together(const struct bpg_dense *d, const struct inputs *r)
{
	int64_t strips = d->stride_in == 1 ? 1 : (READ_FLOATS / BPG_LANES) / BPG_MAX(r->end - r->first, (int64_t)1);
	return (int)BPG_MAX(1, BPG_MIN(strips, 8)) * BPG_LANES;
}

static struct weights layout_of(const struct bpg_dense *d, const struct inputs *r, float *w)
{
	return d->stride_in == 1 ? (struct weights){ r->end - r->first, 1, w } : (struct weights){ 1, together(d, r), w };
}

static bool read_outputs(const struct bpg_dense *d, const struct inputs *r, const int64_t *element, int count, const struct weights *to)
{
	int64_t lo = element[0], hi = element[0], ins = r->end - r->first, base = d->base + r->first * d->stride_in;
	for (int i = 1; i < count; i++)
		lo = BPG_MIN(lo, element[i]), hi = BPG_MAX(hi, element[i]);

	if (d->stride_in == 1) {
		for (int i = 0; i < count; i++)
			bpg_const_read_f32(d->weight, base + element[i] * d->stride_out, ins, to->w + i * to->output);
	} else if (d->stride_out == 1) {
		float *piece = malloc((size_t)(hi - lo + 1) * sizeof *piece);
		for (int64_t k = 0; piece && k < ins; k++) {
			bpg_const_read_f32(d->weight, base + lo + k * d->stride_in, hi - lo + 1, piece);
			for (int i = 0; i < count; i++)
				to->w[k * to->input + i] = piece[element[i] - lo];
		}
		if (!piece)
			return false;
		free(piece);
	} else {
		for (int64_t k = 0; k < ins; k++)
			for (int i = 0; i < count; i++)
				bpg_const_read_f32(d->weight, base + element[i] * d->stride_out + k * d->stride_in, 1, to->w + k * to->input + i);
	}
	if (d->scale != 1)
		for (int64_t k = 0; k < ins; k++)
			for (int i = 0; i < count; i++)
				to->w[i * to->output + k * to->input] *= (float)d->scale;
	return true;
}

/* Row number of the lower and of the upper side of element i of a tile. */
static void rows_of(const struct bpg_arg_start *a, int i, int *plus, int *minus)
{
	*plus = a->sides & 1 ? i : -1;
	*minus = a->sides & 2 ? a->minus + i : -1;
}

/* Weights [0,n) of a strip's outputs, in the order of the columns; w begins with input `first`. */
static void fill_strip(const struct bpg_columns *in, const struct weights *w, int64_t first, int m, int64_t n, bool negative, bool wide, void *strip)
{
	float sign = negative ? -1 : 1;

	for (int64_t c = 0; c < n; c++) {
		const float *from = w->w + (bpg_columns_element(in, c) - first) * w->input;
		for (int e = 0; e < BPG_LANES; e++) {
			float v = e < m ? sign * from[e * w->output] : 0;
			if (wide)
				((double *)strip)[c * BPG_LANES + e] = v;
			else
				((float *)strip)[c * BPG_LANES + e] = v;
		}
	}
}

/* p and slack of m rows from element i0 on, of both sides. */
static void start_state(const struct bpg_arg_start *a, int i0, int m, const int row[2], const void *bounds, double *state)
{
	int64_t n = a->hop->out->n, rows = (int64_t)a->tile.strips * BPG_LANES;

	for (int side = 0; side < 2; side++) {
		if (row[side] < 0)
			continue;
		const double *own = bpg_segment_bounds(a->hop->out, bounds, bpg_segment_of(&a->tile, row[side] / BPG_LANES));
		for (int e = 0; e < m; e++) {
			int64_t o = a->element[i0 + e];
			double c = own[BPG_CENTRE * n + o];
			state[BPG_P * rows + row[side] + e] = side ? -c : c;
			state[BPG_SLACK * rows + row[side] + e] = a->slack ? own[BPG_EXTRA * n + o] : 0;
		}
	}
}

void bpg_task_start_state(struct bpg_rt *rt, void *const *buffer, const void *arg)
{
	const struct bpg_arg_start *a = arg;

	(void)rt;
	memset(buffer[1], 0, (size_t)(BPG_STATES * a->tile.strips * BPG_LANES) * sizeof(double));
	for (int i0 = 0; i0 < a->count; i0 += BPG_LANES) {
		int row[2];
		rows_of(a, i0, &row[0], &row[1]);
		start_state(a, i0, BPG_MIN(a->count - i0, (int)BPG_LANES), row, buffer[0], buffer[1]);
	}
}

void bpg_task_start_dense(struct bpg_rt *rt, void *const *buffer, const void *arg)
{
	const struct bpg_arg_start *a = arg;
	const struct bpg_hop *h = a->hop;
	const struct bpg_columns *in = h->in[0];
	char *tile = buffer[a->relax ? 2 : 1];
	double *state = buffer[a->relax ? 3 : 2];
	int64_t columns = bpg_columns_places(in), rows = (int64_t)a->tile.strips * BPG_LANES;
	int64_t bytes = columns * BPG_LANES * (int64_t)(a->tile.wide ? sizeof(double) : sizeof(float));
	struct bpg_arg_relax relax = { .hop = a->relax, .tile = a->tile, .slack = a->slack, .under = a->under };
	struct inputs inputs = inputs_of(in);
	int many = together(&h->dense, &inputs);
	float *w = malloc((size_t)many * (size_t)(inputs.end - inputs.first + 1) * sizeof *w);
	struct weights weights = layout_of(&h->dense, &inputs, w);

	if (!w) {
		bpg_rt_fault(rt, BPG_ENOMEM, "memory is short for %d rows of weights", many);
		return;
	}
	if (!a->begun)
		memset(state, 0, (size_t)(BPG_STATES * rows) * sizeof *state);
	for (int i0 = 0; i0 < a->count; i0 += BPG_LANES) {
		int m = BPG_MIN(a->count - i0, (int)BPG_LANES), row[2];

		if (i0 % many == 0 && !read_outputs(&h->dense, &inputs, a->element + i0, BPG_MIN(a->count - i0, many), &weights)) {
			bpg_rt_fault(rt, BPG_ENOMEM, "memory is short for a row of weights");
			break;
		}
		struct weights own_w = { weights.output, weights.input, w + i0 % many * weights.output };
		rows_of(a, i0, &row[0], &row[1]);
		if (!a->begun)
			start_state(a, i0, m, row, buffer[0], state);
		for (int side = 0; side < 2; side++) {
			if (row[side] < 0)
				continue;
			fill_strip(in, &own_w, inputs.first, m, side && a->pair ? in->mixed : columns, side, a->tile.wide, tile + row[side] / BPG_LANES * bytes);
			if (a->relax && !a->pair)
				bpg_relax_strip(&relax, buffer[1], tile, row[side] / BPG_LANES, state, rows);
		}
		if (a->relax && a->pair)
			bpg_relax_opposite(&relax, buffer[1], tile, row[0] / BPG_LANES, row[1] / BPG_LANES, state);
	}
	free(w);
}

void bpg_task_start_unit(struct bpg_rt *rt, void *const *buffer, const void *arg)
{
	const struct bpg_arg_start *a = arg;
	const struct bpg_columns *k = a->hop->out;
	double *state = buffer[2];
	int64_t columns = bpg_columns_in(k, &a->tile.window), rows = (int64_t)a->tile.strips * BPG_LANES;

	(void)rt;
	memset(state, 0, (size_t)(BPG_STATES * rows) * sizeof *state);
	memset(buffer[1], 0, (size_t)(a->tile.strips * columns * BPG_LANES) * (a->tile.wide ? sizeof(double) : sizeof(float)));
	for (int i = 0; i < a->count; i++) {
		int64_t j = a->element[i], c = bpg_columns_column(k, &a->tile.window, bpg_columns_place(k, j));
		int row[2];

		rows_of(a, i, &row[0], &row[1]);
		for (int side = 0; side < 2; side++) {
			if (row[side] < 0)
				continue;
			int64_t at = ((int64_t)(row[side] / BPG_LANES) * columns + c) * BPG_LANES + row[side] % BPG_LANES;
			const double *own = bpg_segment_bounds(k, buffer[0], bpg_segment_of(&a->tile, row[side] / BPG_LANES));
			state[BPG_P * rows + row[side]] = (side ? -1 : 1) * own[BPG_CENTRE * k->n + j];
			if (c < 0)
				continue; /* no column: the element is its reference value */
			if (a->tile.wide)
				((double *)buffer[1])[at] = side ? -1 : 1;
			else
				((float *)buffer[1])[at] = side ? -1 : 1;
		}
	}
}

void bpg_task_start_question(struct bpg_rt *rt, void *const *buffer, const void *arg)
{
	const struct bpg_arg_question *a = arg;
	const struct bpg_columns *k = a->hop->out;
	double *state = buffer[2];
	int64_t columns = bpg_columns_in(k, &a->tile.window), rows = (int64_t)a->tile.strips * BPG_LANES;
	struct bpg_arg_start side_of = { .tile = a->tile, .sides = a->sides, .minus = a->minus };

	(void)rt;
	if (a->first)
		memset(state, 0, (size_t)(BPG_STATES * rows) * sizeof *state);
	memset(buffer[1], 0, (size_t)(a->tile.strips * columns * BPG_LANES) * (a->tile.wide ? sizeof(double) : sizeof(float)));
	for (int i = 0; i < a->count; i++) {
		const struct bpg_question_row *q = &a->row[i];
		double sum = a->first ? q->offset : 0, size = fabs(sum), extra = a->first ? q->offset_err : 0;
		int row[2];

		rows_of(&side_of, i, &row[0], &row[1]);
		const double *own = bpg_segment_bounds(k, buffer[0], bpg_segment_of(&a->tile, BPG_MAX(row[0], row[1]) / BPG_LANES));
		const double *c = own + BPG_CENTRE * k->n, *r = own + BPG_RADIUS * k->n;
		for (int t = 0; t < q->n; t++) {
			int64_t j = q->index[t] - a->first_output;
			if (j < 0 || j >= k->n)
				continue;
			double coef = q->coef[t], held = a->tile.wide ? coef : (double)(float)coef;
			int64_t col = bpg_columns_column(k, &a->tile.window, bpg_columns_place(k, j));
			sum += coef * c[j];
			size += fabs(coef * c[j]);
			if (q->coef_err && q->coef_err[t] > 0)
				extra += q->coef_err[t] * (fabs(c[j]) + r[j]);
			if (held != coef)
				extra += fabs(held - coef) * r[j] * (1 + 0x1p-20);
			if (col < 0)
				continue;
			for (int side = 0; side < 2; side++) {
				if (row[side] < 0)
					continue;
				int64_t at = ((int64_t)(row[side] / BPG_LANES) * columns + col) * BPG_LANES + row[side] % BPG_LANES;
				if (a->tile.wide)
					((double *)buffer[1])[at] += side ? -coef : coef;
				else
					((float *)buffer[1])[at] += (float)(side ? -held : held);
			}
		}
		for (int side = 0; side < 2; side++)
			if (row[side] >= 0) {
				state[BPG_P * rows + row[side]] += side ? -sum : sum;
				if (a->slack)
					state[BPG_SLACK * rows + row[side]] += extra * (1 + 0x1p-20) + bpg_gamma(q->n + 8.0, BPG_U64) * size;
			}
	}
}

/* ---- gemm ---- */

/* Summed columns [k, end) of the panel's product, in blocks; all but the first add to what is there. */
static void blocks(const struct bpg_arg_gemm *a, void *const *buffer, int64_t k, int64_t end, int strips, bool add)
{
	bool wide = a->from.wide;
	int64_t K = bpg_columns_places(a->hop->out), from = K * BPG_LANES, to = bpg_columns_places(a->hop->in[0]) * BPG_LANES;
	int64_t groups = (a->c1 - a->c0 + BPG_GROUP - 1) / BPG_GROUP, block = a->hop->block;
	const float *W = buffer[0];
	double exact[BPG_BLOCK * BPG_GROUP]; /* the block's weights for a wide tile */

	for (; k < end; k += block, add = true) {
		struct bpg_run run = { k, wide ? 0 : k, (int)BPG_MIN(end - k, block) };
		bool more = k + 2 * block <= end && !wide;
		for (int64_t g = 0; g < groups; g++) {
			int64_t c = a->c0 + g * BPG_GROUP;
			const float *w = W + g * K * BPG_GROUP;
			/* While this block is multiplied the next one comes: of the tile a share with each group, of the weights
			 * what this group needs. */
			int lines = (int)(block / 16);
			struct bpg_ahead ahead = { (const float *)buffer[1] + (k + block + g % 16 * lines) * BPG_LANES, w + (k + block) * BPG_GROUP, lines };
			char *C = (char *)buffer[2] + c * BPG_LANES * (int64_t)(wide ? sizeof(double) : sizeof(float));
			for (int64_t i = 0; wide && i < run.n * BPG_GROUP; i++)
				exact[i] = w[k * BPG_GROUP + i];
			bpg_product(wide, strips, buffer[1], from, &run, 1, wide ? (const void *)exact : w, C, to, (int)BPG_MIN(a->c1 - c, (int64_t)BPG_GROUP), add, more ? &ahead : NULL);
		}
	}
}

static void negate(bool wide, int64_t n, const void *from, void *to)
{
	if (wide)
		for (int64_t i = 0; i < n; i++)
			((double *)to)[i] = -((const double *)from)[i];
	else
		for (int64_t i = 0; i < n; i++)
			((float *)to)[i] = -((const float *)from)[i];
}

void bpg_task_gemm_dense(struct bpg_rt *rt, void *const *buffer, const void *arg)
{
	const struct bpg_arg_gemm *a = arg;
	bool wide = a->from.wide;
	int64_t K = bpg_columns_places(a->hop->out), N = bpg_columns_places(a->hop->in[0]);
	int64_t size = wide ? sizeof(double) : sizeof(float), to = N * BPG_LANES;
	int64_t mixed = a->pair ? a->hop->out->mixed : 0;
	char *C = (char *)buffer[2] + a->c0 * BPG_LANES * size;
	bool begun = a->add;

	(void)rt;
	/* Pair: rows +e and -e of a neuron are opposite on the columns that are not mixed; one product serves both. */
	if (a->pair && mixed < K) {
		blocks(a, buffer, mixed, K, a->pair, false);
		for (int s = 0; s < a->pair; s++)
			negate(wide, (a->c1 - a->c0) * BPG_LANES, C + s * to * size, C + (a->pair + s) * to * size);
		begun = true;
	}
	int64_t end = a->pair ? mixed : K;
	if (end > 0) {
		blocks(a, buffer, 0, end, a->from.strips, begun);
		begun = true;
	}
	if (!begun)
		for (int s = 0; s < a->from.strips; s++)
			memset(C + s * to * size, 0, (size_t)((a->c1 - a->c0) * BPG_LANES * size));
}
