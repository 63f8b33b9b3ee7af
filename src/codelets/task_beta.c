/* task_beta.c - see task_beta.h. */
#include "codelets/task_beta.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "codelets/clones.h"
#include "codelets/family_unary.h"

#define LANES_DO for (int e = 0; e < BPG_LANES; e++)

static const double none[2] = { NAN, NAN };

/* Canonical place of a column of the tile. */
static int64_t place_at(const struct bpg_columns *k, const struct bpg_window *w, int64_t column)
{
	if (!k->grid)
		return column;
	int64_t width = w->up[1] - w->lo[1], p = column / k->channels;
	return ((w->lo[0] + p / width) * k->size[1] + w->lo[1] + p % width) * k->channels + column % k->channels;
}

/* ---- start ---- */

/* Number of a column among those with a choice; -1: it has none. */
static int64_t choice_of(const struct bpg_alpha_columns *at, int64_t column)
{
	int64_t lo = 0, up = at->count;

	while (lo < up) {
		int64_t m = (lo + up) / 2;
		if (at->column[m] < column)
			lo = m + 1;
		else
			up = m;
	}
	return lo < at->count && at->column[lo] == column ? lo : -1;
}

static int by_place(const void *a, const void *b)
{
	const struct bpg_beta *x = a, *y = b;

	if (x->at != y->at)
		return x->at < y->at ? -1 : 1;
	return (x->number > y->number) - (x->number < y->number);
}

/* Multipliers as given; a new one is set when the walk meets it. Sound whatever is given: not below zero, not NaN. */
static float multiplier(const struct bpg_arg_beta *a, const struct bpg_lane_split *s)
{
	const float *in = a->lane[s->row].in;

	if (!in || !s->given)
		return NAN;
	return in[a->parameters + s->number] >= 0 ? in[a->parameters + s->number] : 0;
}

/* What is the same for all splits of one element in one lane. */
static void set_lines(const struct bpg_arg_beta *a, void *const *buffer, struct bpg_beta *b, int n, bool old)
{
	const struct bpg_node *v = a->alpha.hop->v;
	const struct bpg_columns *k = a->alpha.hop->out;
	const double *planes = buffer[0], *x = buffer[1], *y = buffer[2];
	const float *alpha = buffer[3];
	bool wide = a->alpha.tile.wide;
	int64_t places = bpg_columns_places(k), place = place_at(k, &a->alpha.tile.window, b->column), i = b->element;
	int64_t j = b->choice = (int32_t)choice_of(&a->alpha.at, b->column);
	double l = x[BPG_LOWER * k->n + i], u = x[BPG_UPPER * k->n + i], c = x[BPG_CENTRE * k->n + i], d = y[BPG_CENTRE * k->n + i];
	double sums = bpg_gamma(2.0 * a->lane[b->row].splits + 40, BPG_U64), was_l = l, was_u = u;
	struct bpg_planes1 p;

	for (int s = 0; s < n; s++) {
		double q = b[s].point;
		if (b[s].side > 0)
			l = q > l ? q : l, was_l = !isnan(b[s].beta) && q > was_l ? q : was_l;
		else
			u = q < u ? q : u, was_u = !isnan(b[s].beta) && q < was_u ? q : was_u;
		b[s].far = b[s].side * (q - c);
		b[s].far_price = sums * fabs(b[s].far) + 4 * BPG_U64 * (fabs(q) + fabs(c)) + 0x1p-60;
	}
	if (old || j < 0) {
		bpg_unary_planes(v, was_l, was_u, none, a->alpha.rule, wide, &p);
		b->was[0] = p.lo_slope, b->was[1] = p.up_slope;
	} else {
		int64_t at = ((b->row / BPG_LANES) * a->alpha.at.count + j) * BPG_LANES + b->row % BPG_LANES;
		int64_t all = a->alpha.tile.strips * a->alpha.at.count * BPG_LANES;
		double choice[2] = { alpha[at], a->alpha.free ? NAN : alpha[all + at] };
		bpg_unary_planes(v, was_l, was_u, choice, a->alpha.rule, wide, &p);
		b->was[0] = p.lo_slope, b->was[1] = p.up_slope;
	}
	bpg_unary_planes(v, l, u, none, a->alpha.rule, wide, &p);
	b->l = l, b->u = u;
	b->radius = x[BPG_RADIUS * k->n + i];
	b->toll = planes[(wide ? BPG_PRICE_NEW64 : BPG_PRICE_NEW32) * places + place];
	for (int up = 0; up < 2; up++) {
		double s = up ? p.up_slope : p.lo_slope, t = up ? p.up_bias : p.lo_bias;
		b->slope[up] = s;
		b->old[up] = s * c + t - d;
		b->price[up] = sums * fabs(b->old[up]) + 4 * BPG_U64 * (fabs(s * c) + fabs(t) + fabs(d)) + 0x1p-60;
	}
}

static void make_list(const struct bpg_arg_beta *a, void *const *buffer)
{
	const struct bpg_columns *k = a->alpha.hop->out;
	const struct bpg_view_tile *t = &a->alpha.tile;
	int64_t columns = bpg_columns_in(k, &t->window);
	struct bpg_beta *list = buffer[5];

	for (int64_t i = 0; i < a->splits; i++) {
		const struct bpg_lane_split *s = &a->split[i];
		int64_t c = bpg_columns_column(k, &t->window, bpg_columns_place(k, s->element));
		/* What has no column is known without splits: there a split adds nothing. */
		int64_t at = c < 0 ? -1 : ((int64_t)(s->row / BPG_LANES) * columns + c) * BPG_LANES + s->row % BPG_LANES;
		float beta = c < 0 ? 0 : multiplier(a, s);
		list[i] = (struct bpg_beta){ .at = at, .row = s->row, .column = (int32_t)c, .number = s->number, .element = (int32_t)s->element, .beta = beta,
			                     .best = 0, .side = s->side, .point = s->point };
	}
	qsort(list, (size_t)a->splits, sizeof *list, by_place);
	for (int64_t i = 0, j; i < a->splits; i = j) {
		bool old = false;
		for (j = i; j < a->splits && (j == i || (list[j].at == list[i].at && list[i].at >= 0)); j++)
			old = old || !isnan(list[j].beta);
		list[i].followers = (int32_t)(j - i - 1);
		if (list[i].at >= 0)
			set_lines(a, buffer, &list[i], (int)(j - i), old);
	}
}

void bpg_task_beta_start(struct bpg_rt *rt, void *const *buffer, const void *arg)
{
	const struct bpg_arg_beta *a = arg;
	const struct bpg_alpha_columns *at = &a->alpha.at;
	int64_t n = a->alpha.tile.strips * at->count * BPG_LANES;
	void *const plain[] = { buffer[0], buffer[1], buffer[3], buffer[4] };
	float *alpha = buffer[3];

	if (a->alpha.hop->kind == BPG_HOP_PLANES) {
		memset(alpha, 0, (size_t)n * sizeof *alpha);
		memset(buffer[4], 0, (size_t)(2 * n) * sizeof *alpha);
	} else {
		bpg_task_alpha_start(rt, plain, &a->alpha);
	}
	for (int r = 0; r < a->rows; r++) {
		const float *in = a->lane[r].in ? a->lane[r].in + a->first : NULL;
		for (int side = 0; in && side < (a->alpha.free ? 1 : 2); side++) {
			float *to = alpha + side * n + (int64_t)(r / BPG_LANES) * at->count * BPG_LANES + r % BPG_LANES;
			for (int64_t j = 0; j < at->count; j++, in++)
				to[j * BPG_LANES] = !a->alpha.free ? *in : *in <= 0 ? 0 : *in >= 1 ? 1 : *in == *in ? *in : 0;
		}
	}
	if (a->splits)
		make_list(a, buffer);
}

/* ---- relax ---- */

/* New multipliers begin where the row leaves the node as it did without their splits: the bound is then none the worse. */
static void begin(struct bpg_beta *b, int n, double v, int side)
{
	double more = v * b->slope[side] - v * b->was[side];

	for (int s = 0; s < n; s++)
		if (isnan(b[s].beta)) {
			float beta = (float)(b[s].side * more);
			b[s].beta = beta > 0 && beta < INFINITY ? beta : 0;
			more -= b[s].side * b[s].beta;
		}
}

/* A coefficient through the lines and multipliers of its lane; adds to p and to the slack. */
static double pass(const struct bpg_beta *b, int n, double v, int side, bool wide, double *p, double *slack)
{
	double s = b->slope[side], unit = (wide ? BPG_U64 : BPG_U32) * (1 + 0x1p-20) * b->radius;
	double y = wide ? v * s : (double)((float)v * (float)s);

	*p += v * b->old[side];
	*slack += fabs(v) * b->price[side] + (s == 0 || s == 1 || s == -1 ? 0 : fabs(y) * unit);
	for (int i = 0; i < n; i++) {
		y = wide ? y - b[i].side * b[i].beta : (double)((float)y - (float)b[i].side * b[i].beta);
		*p += b[i].beta * b[i].far;
		*slack += b[i].beta * b[i].far_price + (b[i].beta > 0 ? fabs(y) * unit : 0);
	}
	*slack += fabs(y) * b->toll;
	return y;
}

/* Multipliers are as large as coefficients, whose scale is the network's affair. 1 where a row has none. */
static bool set_units(const struct bpg_arg_beta *a, const float *kept, struct bpg_beta *list)
{
	int64_t count = a->alpha.at.count, rows = (int64_t)a->alpha.tile.strips * BPG_LANES;
	double *sum = bpg_calloc((size_t)rows, sizeof *sum);

	if (!sum)
		return false;
	for (int q = 0; q < a->alpha.tile.strips; q++)
		for (int64_t j = 0; j < count; j++, kept += BPG_LANES)
			LANES_DO sum[q * BPG_LANES + e] += (double)kept[e] * (double)kept[e];
	for (int64_t i = 0; i < a->splits; i += list[i].followers + 1)
		sum[list[i].row] += list[i].kept * list[i].kept;
	for (int64_t i = 0; i < a->splits; i += list[i].followers + 1) {
		double unit = sqrt(sum[list[i].row] / (double)(count + 1));
		for (int s = 0; s <= list[i].followers; s++)
			list[i + s].unit = unit > 0 && unit < INFINITY ? (float)unit : 1;
	}
	free(sum);
	return true;
}

void bpg_task_beta_relax(struct bpg_rt *rt, void *const *buffer, const void *arg)
{
	const struct bpg_arg_beta *a = arg;
	bool wide = a->alpha.tile.wide;
	int64_t rows = (int64_t)a->alpha.tile.strips * BPG_LANES;
	struct bpg_beta *list = buffer[7];
	float *x32 = buffer[1];
	double *x64 = buffer[1], *state = buffer[2], *sum = a->splits ? bpg_calloc((size_t)(2 * rows), sizeof *sum) : NULL, *dear = sum + rows;

	if (a->splits && !sum) {
		bpg_rt_fault(rt, BPG_ENOMEM, "memory is short for the splits of a tile");
		return;
	}
	for (int64_t i = 0; i < a->splits; i += list[i].followers + 1) {
		struct bpg_beta *b = &list[i];
		int n = b->followers + 1;
		if (b->at < 0)
			continue;
		double v = wide ? x64[b->at] : (double)x32[b->at];
		int side = !(v >= 0);
		b->kept = v;
		if (a->step == 0)
			begin(b, n, v, side);
		b->held = pass(b, n, v, side, wide, &sum[b->row], &dear[b->row]);
		if (wide)
			x64[b->at] = 0;
		else
			x32[b->at] = 0;
	}
	bpg_task_relax_alpha(rt, buffer, &a->alpha);
	if (a->step == 0 && sum && !set_units(a, buffer[4], list))
		bpg_rt_fault(rt, BPG_ENOMEM, "memory is short for the splits of a tile");
	for (int64_t i = 0; i < a->splits; i += list[i].followers + 1) {
		const struct bpg_beta *b = &list[i];
		if (b->at >= 0 && wide)
			x64[b->at] = b->held;
		else if (b->at >= 0)
			x32[b->at] = (float)b->held;
	}
	for (int64_t r = 0; sum && r < rows; r++) {
		double *p = state + BPG_P * rows + r, *slack = state + BPG_SLACK * rows + r;
		*p += sum[r];
		if (a->alpha.slack && dear[r] != 0)
			*slack += dear[r] * (1 + 0x1p-12) + 8 * BPG_U64 * fabs(*p);
	}
	free(sum);
}

/* ---- a step ---- */

/* Lanes of a strip whose bound is better than before: their parameters are the best ones. */
CLONES static void keep_best(int64_t n, const float *restrict alpha, const int32_t *restrict better, float *restrict best)
{
	for (int64_t j = 0; j < n; j += BPG_LANES)
		LANES_DO best[j + e] = better[e] ? alpha[j + e] : best[j + e];
}

static void keep_best_of_tile(const struct bpg_arg_beta *a, const float *alpha, const double *results, float *best, struct bpg_beta *list)
{
	int64_t rows = (int64_t)a->alpha.tile.strips * BPG_LANES, n = a->alpha.at.count * BPG_LANES;

	for (int64_t i = 0; i < a->splits; i++)
		if (results[rows + list[i].row] != 0)
			list[i].best = list[i].beta;

	for (int side = 0; side < (a->alpha.free ? 1 : 2); side++)
		for (int q = 0; q < a->alpha.tile.strips; q++, alpha += n, best += n) {
			int32_t better[BPG_LANES], some = 0;
			LANES_DO some += better[e] = results[rows + q * BPG_LANES + e] != 0;
			if (some)
				keep_best(n, alpha, better, best);
		}
}

void bpg_task_beta_keep(struct bpg_rt *rt, void *const *buffer, const void *arg)
{
	(void)rt;
	keep_best_of_tile(arg, buffer[0], buffer[2], buffer[1], buffer[3]);
}

void bpg_task_beta_step(struct bpg_rt *rt, void *const *buffer, const void *arg)
{
	const struct bpg_arg_beta *a = arg;
	struct bpg_beta *list = buffer[8];
	float *z = buffer[2];

	keep_best_of_tile(a, buffer[4], buffer[7], buffer[6], list);
	for (int64_t i = 0; i < a->splits; i += list[i].followers + 1)
		if (list[i].at >= 0)
			list[i].held = z[list[i].at];
	bpg_task_alpha_step(rt, buffer, &a->alpha);
	for (int64_t i = 0; i < a->splits; i += list[i].followers + 1) {
		struct bpg_beta *b = &list[i];
		int side = b->kept < 0;
		if (b->at < 0)
			continue;
		for (int s = 0; s <= b->followers; s++) {
			/* d bound / d beta = side (q - z) at the point. */
			float g = (float)(b[s].far - b[s].side * b->held), beta = b[s].beta;
			b[s].m = 0.9f * b[s].m + 0.1f * g;
			b[s].v = 0.999f * b[s].v + 0.001f * g * g;
			beta += b[s].unit * (float)a->beta_rate * (b[s].m * (float)a->alpha.bias1) / (sqrtf(b[s].v * (float)a->alpha.bias2) + 1e-8f);
			b[s].beta = beta > 0 ? beta : 0;
		}
		z[b->at] = (float)(b->slope[side] * b->held + b->old[side]);
	}
}

void bpg_task_beta_finish(struct bpg_rt *rt, void *const *buffer, const void *arg)
{
	struct bpg_arg_finish a = *(const struct bpg_arg_finish *)arg;
	bool first = !a.best;
	double *best = buffer[1], *now = bpg_calloc((size_t)a.rows, sizeof *now);
	void *const plain[] = { buffer[0], now };

	if (!now) {
		bpg_rt_fault(rt, BPG_ENOMEM, "memory is short for the bounds of a tile");
		return;
	}
	a.best = false;
	bpg_task_finish(rt, plain, &a);
	for (int r = 0; r < a.rows; r++) {
		bool better = first || now[r] > best[r];
		if (better)
			best[r] = now[r];
		best[a.rows + r] = better;
	}
	free(now);
}

/* ---- what is handed on ---- */

void bpg_task_beta_save(struct bpg_rt *rt, void *const *buffer, const void *arg)
{
	const struct bpg_arg_beta *a = arg;
	const struct bpg_alpha_columns *at = &a->alpha.at;
	int64_t n = a->alpha.tile.strips * at->count * BPG_LANES;
	const double *results = buffer[1];
	const struct bpg_beta *list = buffer[2];
	float *out = buffer[a->splits ? 3 : 2];

	(void)rt;
	for (int r = 0; r < a->rows; r++) {
		float *to = out + a->lane[r].out + a->first;
		const float *from = (const float *)buffer[0] + (int64_t)(r / BPG_LANES) * at->count * BPG_LANES + r % BPG_LANES;
		if (results[r] > 0)
			continue;
		for (int side = 0; side < (a->alpha.free ? 1 : 2); side++)
			for (int64_t j = 0; j < at->count; j++)
				*to++ = from[side * n + j * BPG_LANES];
	}
	for (int64_t i = 0; i < a->splits; i++)
		out[a->lane[list[i].row].out + a->parameters + list[i].number] = list[i].best;
}

/* ---- where to split ---- */

/* A free lower slope is moved by the optimiser, an upper line is not: what it loses counts less. Of a line that touches the function
 * at the point a share of the greatest distance is left. Added to coefficients, `nothing` decides where all are 0. */
static const double lower_weight = 0x1p-5, share = 0x1p-10, nothing = 0x1p-80;

/* Distance of the line y = s x + t, below (side 0) or above f, from f. */
static double gap_at(const struct bpg_node *v, double x, double s, double t, int side)
{
	double g = v->layer->unary->f(x, v->attr) - (s * x + t);

	return fmax(side ? -g : g, 0);
}

/* The greatest on [l,u]. Infinite ends are far. */
static double gap_of(const struct bpg_node *v, double l, double u, double s, double t, int side)
{
	const struct bpg_unary *f = v->layer->unary;
	double at[12], gap = 0;
	int n = 0;

	if (isinf(l) || isinf(u))
		return INFINITY;
	if (f->extremes)
		n = f->extremes(s, l, u, v->attr, at);
	else if (f->kinks)
		n = f->kinks(l, u, v->attr, at);
	at[n++] = l, at[n++] = u, at[n++] = l / 2 + u / 2;
	for (int i = 0; i < n; i++)
		gap = fmax(gap, gap_at(v, at[i], s, t, side));
	return gap;
}

/* The kink nearest the middle; the middle where the function is smooth. NaN: none inside. */
static double point_of(const struct bpg_node *v, double l, double u)
{
	const struct bpg_unary *f = v->layer->unary;
	double at[4], middle = l / 2 + u / 2, best = NAN;

	for (int i = f->kinks ? f->kinks(l, u, v->attr, at) - 1 : -1; i >= 0; i--)
		if (at[i] > l && at[i] < u && !(fabs(at[i] - middle) > fabs(best - middle)))
			best = at[i];
	if (isnan(best) && middle > l && middle < u && u - l > 1e-6 * (1 + fabs(l) + fabs(u)))
		best = middle;
	return best;
}

static void offer(struct bpg_place *best, int node, int64_t element, double point, double score)
{
	int i = BPG_PLACES - 1;

	if (!(score > best[i].score) || isnan(point))
		return;
	for (; i > 0 && score > best[i - 1].score; i--)
		best[i] = best[i - 1];
	best[i] = (struct bpg_place){ node, (int32_t)element, point, score };
}

struct column {
	double l, u, c, d, point;
	double slope, up, gap;    /* the upper line of a layer with free slopes: s z + up, its greatest distance */
};

/* Scores of a column whose lower slope is alpha, for a strip whose points are z. There f is max(x, 0). */
CLONES static void score_free(const struct column *c, const float *restrict z, const float *restrict alpha, const float *restrict kept, float *restrict score)
{
	const float l = (float)c->l, u = (float)c->u, at = (float)c->c, s = (float)c->slope, t = (float)c->up, gap = (float)c->gap;
	const float low = (float)lower_weight, part = (float)share, least = (float)nothing;

	LANES_DO {
		float k = kept[e], x = z[e] + at, f = x > 0 ? x : 0, a = -alpha[e] * l, b = u - alpha[e] * u;
		float most = k < 0 ? gap : a > b ? a : b, here = k < 0 ? s * x + t - f : f - alpha[e] * x;
		float weight = k < 0 ? -k : low * k + least;

		here = here > 0 ? here : 0;
		score[e] = weight * (__builtin_sqrtf(here * most) + part * most);
	}
}

static double score_one(const struct bpg_node *v, double l, double u, double x, double s, double t, double k)
{
	double most = gap_of(v, l, u, s, t, k < 0);

	return (fabs(k) + nothing) * (sqrt(gap_at(v, x, s, t, k < 0) * most) + share * most);
}

/* The point goes on through the lower lines. (Through lines in force, as in a step of the optimiser, searches of mnist-net_256x4 take
 * two to three times as many domains, through the function itself a quarter to three quarters more.) */
CLONES static void lower_line(float *restrict z, const float *restrict alpha, float slope, float c, float t)
{
	if (alpha)
		LANES_DO z[e] = alpha[e] * (z[e] + c) + t;
	else
		LANES_DO z[e] = slope * (z[e] + c) + t;
}

static void go_on(struct bpg_rt *rt, const struct bpg_arg_beta *a, const double *planes, const double *x, const float *alpha, const struct bpg_beta *list, float *z)
{
	const struct bpg_columns *k = a->alpha.hop->out;
	const struct bpg_alpha_columns *at = &a->alpha.at;
	int64_t places = bpg_columns_places(k), columns = bpg_columns_in(k, &a->alpha.tile.window), next = 0;
	float *own = a->splits ? bpg_calloc((size_t)a->splits, sizeof *own) : NULL;

	if (a->splits && !own) {
		bpg_rt_fault(rt, BPG_ENOMEM, "memory is short for the splits of a tile");
		return;
	}
	for (int64_t i = 0; i < a->splits; i += list[i].followers + 1)
		own[i] = list[i].at >= 0 ? (float)(list[i].slope[0] * (double)z[list[i].at] + list[i].old[0]) : 0;
	for (int64_t j = 0; j < columns; j++) {
		int64_t place = place_at(k, &a->alpha.tile.window, j);
		double c = x[BPG_CENTRE * k->n + bpg_columns_element(k, place)], s = planes[BPG_SLOPE_LO * places + place];
		/* p gains new * s + old at the reference: that is s c and the rest. */
		double t = planes[BPG_TIMES_OLD_LO * places + place] + s * (planes[BPG_TIMES_NEW_LO * places + place] - c);
		bool chosen = next < at->count && at->column[next] == j;

		for (int q = 0; q < a->alpha.tile.strips; q++)
			lower_line(z + (q * columns + j) * BPG_LANES, chosen && a->alpha.free ? alpha + (q * at->count + next) * BPG_LANES : NULL, (float)s, (float)c,
			           (float)t);
		next += chosen;
	}
	for (int64_t i = 0; i < a->splits; i += list[i].followers + 1)
		if (list[i].at >= 0)
			z[list[i].at] = own[i];
	free(own);
}

void bpg_task_beta_places(struct bpg_rt *rt, void *const *buffer, const void *arg)
{
	const struct bpg_arg_beta *a = arg;
	const struct bpg_node *v = a->alpha.hop->v;
	const struct bpg_columns *k = a->alpha.hop->out;
	const struct bpg_alpha_columns *at = &a->alpha.at;
	int64_t places = bpg_columns_places(k), n = at->count * BPG_LANES, all = a->alpha.tile.strips * n;
	int64_t columns = bpg_columns_in(k, &a->alpha.tile.window);
	const double *planes = buffer[0], *x = buffer[1], *y = buffer[2];
	const float *alpha = buffer[4], *kept = buffer[5];
	float *z = buffer[3];
	const struct bpg_beta *list = buffer[6];
	struct bpg_place *best = buffer[a->splits ? 7 : 6];
	uint16_t *split = bpg_calloc((size_t)(a->alpha.tile.strips * at->count) + 1, sizeof *split); /* lanes that have one */

	if (!split) {
		bpg_rt_fault(rt, BPG_ENOMEM, "memory is short for the splits of a tile");
		return;
	}
	for (int64_t i = 0; i < a->splits; i += list[i].followers + 1)
		if (list[i].at >= 0 && list[i].choice >= 0)
			split[list[i].row / BPG_LANES * at->count + list[i].choice] |= (uint16_t)(1 << list[i].row % BPG_LANES);
	for (int64_t j = 0; j < at->count; j++) {
		int64_t i = bpg_columns_element(k, at->place[j]);
		struct column c = { .l = x[BPG_LOWER * k->n + i], .u = x[BPG_UPPER * k->n + i], .c = x[BPG_CENTRE * k->n + i], .d = y[BPG_CENTRE * k->n + i] };

		c.point = point_of(v, c.l, c.u);
		if (isnan(c.point))
			continue;
		c.slope = planes[BPG_SLOPE_UP * places + at->place[j]];
		c.up = planes[BPG_TIMES_OLD_UP * places + at->place[j]] + c.d - c.slope * c.c;
		c.gap = a->alpha.free ? gap_of(v, c.l, c.u, c.slope, c.up, 1) : 0;
		for (int q = 0; q < a->alpha.tile.strips; q++) {
			const float *point = z + (q * columns + at->column[j]) * BPG_LANES, *met = kept + q * n + j * BPG_LANES;
			float score[BPG_LANES];

			if (a->alpha.free)
				score_free(&c, point, alpha + q * n + j * BPG_LANES, met, score);
			for (int e = 0; !a->alpha.free && e < BPG_LANES; e++) {
				double s = met[all + e], t = met[2 * all + e] - s * c.c + c.d;
				score[e] = split[q * at->count + j] >> e & 1 ? 0 : (float)score_one(v, c.l, c.u, point[e] + c.c, s, t, met[e]);
			}
			for (int e = 0; e < BPG_LANES; e++)
				if (!(split[q * at->count + j] >> e & 1))
					offer(best + (q * BPG_LANES + e) * BPG_PLACES, a->node, i, c.point, score[e]);
		}
	}
	/* Split elements may be split again, where lines still differ. */
	for (int64_t i = 0; i < a->splits; i += list[i].followers + 1) {
		const struct bpg_beta *b = &list[i];
		int side = b->kept < 0;
		if (b->at < 0 || (b->slope[0] == b->slope[1] && b->old[0] == b->old[1]))
			continue;
		double c = x[BPG_CENTRE * k->n + b->element], d = y[BPG_CENTRE * k->n + b->element], t = b->old[side] - b->slope[side] * c + d;
		offer(best + (int64_t)b->row * BPG_PLACES, a->node, b->element, point_of(v, b->l, b->u),
		      score_one(v, b->l, b->u, z[b->at] + c, b->slope[side], t, b->kept));
	}
	free(split);
	go_on(rt, a, planes, x, alpha, list, z);
}

/* ---- points ---- */

int bpg_share_row(const struct bpg_share *s, const double *bound)
{
	int best = s->first;

	for (int r = s->first + 1; r < s->first + s->rows; r++)
		if (s->any ? bound[r] > bound[best] : bound[r] < bound[best])
			best = r;
	return best;
}

void bpg_task_beta_points(struct bpg_rt *rt, void *const *buffer, const void *arg)
{
	const struct bpg_arg_points *a = arg;
	const struct bpg_columns *k = a->hop->out;
	const double *l = (const double *)buffer[0] + BPG_LOWER * k->n, *u = (const double *)buffer[0] + BPG_UPPER * k->n;
	const double *c = (const double *)buffer[0] + BPG_CENTRE * k->n;
	const float *z = buffer[1];
	int64_t columns = bpg_columns_in(k, &a->tile.window);

	(void)rt;
	for (int s = 0; s < a->shares; s++) {
		int r = bpg_share_row(&a->share[s], buffer[2]);
		float *to = (float *)buffer[3] + s * a->inputs + a->first;

		for (int64_t i = 0; i < k->n; i++) /* what has no column does not move */
			to[i] = (float)c[i];
		for (int64_t j = 0; j < columns; j++) {
			int64_t i = bpg_columns_element(k, place_at(k, &a->tile.window, j));
			to[i] = (float)(c[i] + z[((int64_t)(r / BPG_LANES) * columns + j) * BPG_LANES + r % BPG_LANES]);
		}
		for (int64_t i = 0; i < k->n; i++) {
			if (to[i] < l[i])
				to[i] = bpg_float_up(l[i]);
			if (to[i] > u[i])
				to[i] = bpg_float_down(u[i]);
		}
	}
}
