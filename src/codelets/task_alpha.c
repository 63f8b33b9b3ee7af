/* task_alpha.c - see task_alpha.h. */
#include "codelets/task_alpha.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "codelets/clones.h"
#include "codelets/conv_sums.h"
#include "codelets/family_unary.h"

#define LANES_DO for (int e = 0; e < BPG_LANES; e++)

/* ---- the relaxation with free slopes ---- */

#define REAL float
#define REAL_ABS fabsf
#define NAME(x) x##_f32
#include "codelets/alpha_rows.inc"
#undef REAL
#undef REAL_ABS
#undef NAME
#define REAL double
#define REAL_ABS fabs
#define NAME(x) x##_f64
#include "codelets/alpha_rows.inc"
#include "net/const.h"
#undef REAL
#undef REAL_ABS
#undef NAME

/* Range and start of the parameter of one line of a layer on [l,u]. */
struct range {
	double least, most, start;
};

static struct range range_of(const struct bpg_arg_alpha *a, const double *x, int64_t element, int side)
{
	const struct bpg_node *v = a->hop->v;
	const double *l = x + BPG_LOWER * a->hop->out->n, *u = x + BPG_UPPER * a->hop->out->n;
	struct range r = { 0, 0, 0 };

	if (v->layer->unary->alpha_range && l[element] < u[element])
		v->layer->unary->alpha_range(l[element], u[element], side, v->attr, &r.least, &r.most, &r.start);
	return r;
}

/* A float of the range near x: past an end by no more than rounding, a line may be much worse. */
static float within(double x, const struct range *r)
{
	float f = (float)(x < r->least ? r->least : x > r->most ? r->most : x);

	return f < r->least ? nextafterf(f, INFINITY) : f > r->most ? nextafterf(f, -INFINITY) : f;
}

/* The same where there is a range. */
static float nearest(float x, const struct range *r)
{
	return r->most > r->least ? within(x, r) : x;
}

void bpg_task_alpha_start(struct bpg_rt *rt, void *const *buffer, const void *arg)
{
	const struct bpg_arg_alpha *a = arg;
	const struct bpg_columns *k = a->hop->out;
	int64_t places = bpg_columns_places(k), n = a->tile.strips * a->at.count * BPG_LANES;
	const double *slope = (const double *)buffer[0] + BPG_SLOPE_LO * places;
	float *alpha = buffer[2];
	int sides = a->free ? 1 : 2;

	(void)rt;
	for (int side = 0; side < sides; side++)
		for (int64_t j = 0; j < a->at.count; j++) {
			struct range r = { 0, 1, slope[a->at.place[j]] };
			if (!a->free)
				r = range_of(a, buffer[1], bpg_columns_element(k, a->at.place[j]), side);
			for (int q = 0; q < a->tile.strips; q++)
				LANES_DO alpha[side * n + (q * a->at.count + j) * BPG_LANES + e] = within(r.start, &r);
		}
	memset(buffer[3], 0, (size_t)(2 * sides * n) * sizeof(float));
}

/* ---- layers whose planes depend on their parameters in any way ---- */

/* Whether a column that had a lower slope to choose still has: its bounds may have come nearer since. */
static bool still_free(const struct bpg_columns *k, const double *x, int64_t element)
{
	return x[BPG_LOWER * k->n + element] < 0 && x[BPG_UPPER * k->n + element] > 0;
}

/* One column: each row has its own plane. kept: coefficients, then slopes, then what they are at the reference values. */
static void relax_any(const struct bpg_arg_alpha *a, void *x, const double *planes, int64_t places, int64_t at, const double *bx, const double *by,
                      const float *alpha, int64_t n, float *kept, int64_t kept_n, double *sum, double *slack)
{
	const struct bpg_columns *k = a->hop->out;
	int64_t i = bpg_columns_element(k, at);
	double l = bx[BPG_LOWER * k->n + i], u = bx[BPG_UPPER * k->n + i], c = bx[BPG_CENTRE * k->n + i], r = bx[BPG_RADIUS * k->n + i];
	double d = by[BPG_CENTRE * k->n + i], unit = a->tile.wide ? BPG_U64 : BPG_U32, sums = bpg_gamma(2.0 * (double)places + 32, BPG_U64);
	double toll = planes[(a->tile.wide ? BPG_PRICE_NEW64 : BPG_PRICE_NEW32) * places + at];
	struct range range[2] = { { 0, 0, 0 }, { 0, 0, 0 } };

	for (int side = 0; a->summed && side < 2; side++) /* else bounds are as they were at the last step */
		range[side] = range_of(a, bx, i, side);

	LANES_DO {
		double v = a->tile.wide ? ((double *)x)[e] : (double)((float *)x)[e];
		double choice[2] = { nearest(alpha[e], &range[0]), nearest(alpha[n + e], &range[1]) };
		struct bpg_planes1 p;

		bpg_unary_planes(a->hop->v, l, u, choice, a->rule, a->tile.wide, &p);
		double s = v >= 0 ? p.lo_slope : p.up_slope, t = v >= 0 ? p.lo_bias : p.up_bias, old = s * c + t - d;
		double y = a->tile.wide ? v * s : (double)((float)v * (float)s);
		kept[e] = (float)v;
		kept[kept_n + e] = (float)s;
		kept[2 * kept_n + e] = (float)old;
		sum[e] += v * old;
		if (a->slack)
			slack[e] += (fabs(v) * (sums * fabs(old) + 4 * BPG_U64 * (fabs(s * c) + fabs(t) + fabs(d)) + 0x1p-60)
			             + fabs(y) * (unit * r * (1 + 0x1p-20) + toll)) * (1 + 0x1p-12);
		if (a->tile.wide)
			((double *)x)[e] = y;
		else
			((float *)x)[e] = (float)y;
	}
}

/* Derivative, by the parameter, of the value at z of the line on one side. */
static double line_derivative(const struct bpg_arg_alpha *a, double l, double u, int side, double alpha, double z, const struct range *r)
{
	const struct bpg_node *v = a->hop->v;
	double choice[2] = { NAN, NAN };

	choice[side] = alpha;
	if (v->layer->unary->enters == BPG_ALPHA_TANGENT) { /* f(d) + f'(d) (z - d) */
		struct bpg_slopes s = v->layer->unary->slopes(l, u, choice, a->rule, v->attr);
		return (side ? s.dup_dalpha : s.dlo_dalpha) * (z - alpha);
	}
	/* A slope through a point that the layer knows: straight in the parameter. */
	double h = 1e-3 * (r->most - r->least), b = alpha + h <= r->most ? alpha + h : alpha, c = b - h;
	struct bpg_planes1 p, q;
	choice[side] = b;
	bpg_unary_planes(v, l, u, choice, a->rule, true, &p);
	choice[side] = c;
	bpg_unary_planes(v, l, u, choice, a->rule, true, &q);
	double at_b = side ? p.up_slope * z + p.up_bias : p.lo_slope * z + p.lo_bias, at_c = side ? q.up_slope * z + q.up_bias : q.lo_slope * z + q.lo_bias;
	double g = (at_b - at_c) / h;
	return isfinite(g) ? g : 0;
}

/* ---- derivatives by bounds ---- */

/* A sum whose bits do not depend on the order of its terms: their parts that are multiples of 2^-12 and, of the rest, of 2^-48 are added
 * one by one without rounding (below 2^41, and 2^18 terms). What is less does not count: Adam adds 1e-8 to every size. */
struct total {
	double coarse, fine;
};

/* The parts of one term. */
static inline double coarse_of(double t)
{
	double x = t >= -0x1p+38 ? t : -0x1p+38;

	x = x <= 0x1p+38 ? x : 0x1p+38;
	x = t == t ? x : 0;
	return x + 0x1.8p+40 - 0x1.8p+40;
}

static inline double fine_of(double t, double coarse)
{
	double rest = t - coarse; /* exact; of a term that was cut much too large */

	rest = rest >= -0x1p-12 ? rest : 0;
	rest = rest <= 0x1p-12 ? rest : 0;
	return rest + 0x1.8p+4 - 0x1.8p+4;
}

/* The sum of all lanes goes to lane 0. */
static inline void add_lanes(double *restrict x)
{
	for (int e = 0; e < 8; e++)
		x[e] += x[e + 8];
	for (int e = 0; e < 4; e++)
		x[e] += x[e + 4];
	for (int e = 0; e < 2; e++)
		x[e] += x[e + 2];
	x[0] += x[1];
}

/* One term from each lane. */
CLONES static void add_terms(const double *restrict t, struct total *sum)
{
	double coarse[BPG_LANES], fine[BPG_LANES];

	LANES_DO coarse[e] = coarse_of(t[e]);
	LANES_DO fine[e] = fine_of(t[e], coarse[e]);
	add_lanes(coarse);
	add_lanes(fine);
	sum->coarse += coarse[0];
	sum->fine += fine[0];
}

/* Adds to sum[2] how the rows' sum changes with the bounds l and u of x through this column's lines. */
static void bounds_derivative(const struct bpg_arg_alpha *a, double l, double u, const float *z, double c, const float *kept, const float *weight,
                              const float *alpha, int64_t n, const struct range *r, struct total *sum)
{
	double h = 1e-4 * (u - l), term[2][BPG_LANES] = { { 0 } };

	if (!(h > 0 && h < INFINITY))
		return;
	LANES_DO {
		int side = kept[e] < 0;
		double by = (double)kept[e] * weight[e], choice[2] = { NAN, NAN }, x = z[e] + c;
		if (by == 0)
			continue;
		choice[side] = nearest(alpha[side * n + e], &r[side]);
		for (int end = 0; end < 2; end++) {
			double at[2];
			for (int k = 0; k < 2; k++) {
				struct bpg_planes1 p;
				double d = k ? h : -h;
				bpg_unary_planes(a->hop->v, end ? l : l + d, end ? u + d : u, choice, a->rule, true, &p);
				at[k] = side ? p.up_slope * x + p.up_bias : p.lo_slope * x + p.lo_bias;
			}
			term[end][e] = by * (at[1] - at[0]) / (2 * h);
		}
	}
	add_terms(term[0], &sum[0]);
	add_terms(term[1], &sum[1]);
}

/* A step of one parameter; g: derivative by a share of its range. */
static void adam(const struct bpg_arg_alpha *a, double g, double share, const struct range *r, float *alpha, float *m, float *v)
{
	double mm = 0.9 * *m + 0.1 * g, vv = 0.999 * *v + 0.001 * g * g;
	double to = *alpha + share * (r->most - r->least) * a->rate * mm * a->bias1 / (sqrt(vv * a->bias2) + 1e-8);

	*m = (float)mm;
	*v = (float)vv;
	*alpha = within(to, r);
}

/* Adam's rate is made for parameters in [0,1]: a step is a share of the range. Good slopes are often at its ends, good tangent points
 * inside, where long steps overshoot. */
static double share_of(const struct bpg_arg_alpha *a)
{
	return a->hop->v->layer->unary->enters == BPG_ALPHA_TANGENT ? 0.4 : 1;
}

/* moments null: parameters are shared, and their derivatives go to by[2][16] by line and lane. */
static void step_any(const struct bpg_arg_alpha *a, float *z, int64_t at, const double *bx, const float *kept, int64_t kept_n, float *alpha,
                     float *moments, int64_t n, const float *weight, struct total *sum, double by[2][BPG_LANES])
{
	const struct bpg_columns *k = a->hop->out;
	int64_t i = bpg_columns_element(k, at);
	double l = bx[BPG_LOWER * k->n + i], u = bx[BPG_UPPER * k->n + i], c = bx[BPG_CENTRE * k->n + i];
	struct range r[2] = { range_of(a, bx, i, 0), range_of(a, bx, i, 1) };
	double share = share_of(a);

	if (sum)
		bounds_derivative(a, l, u, z, c, kept, weight, alpha, n, r, sum);
	LANES_DO {
		int side = kept[e] < 0;
		float *al = alpha + side * n + e;
		double width = r[side].most - r[side].least;

		if (width > 0 && width < INFINITY && kept[e] != 0) {
			*al = within(*al, &r[side]);
			double g = width * kept[e] * weight[e] * line_derivative(a, l, u, side, *al, z[e] + c, &r[side]);
			if (moments)
				adam(a, g, share, &r[side], al, moments + 2 * side * n + e, moments + (2 * side + 1) * n + e);
			else
				by[side][e] = g;
		}
		z[e] = kept[kept_n + e] * z[e] + kept[2 * kept_n + e];
	}
}

/* Canonical place of a column of the tile, and how many columns from there are consecutive places. */
static int64_t place_of(const struct bpg_columns *k, const struct bpg_window *w, int64_t column, int64_t *run)
{
	if (!k->grid) {
		*run = k->count - column;
		return column;
	}
	int64_t row = (int64_t)(w->up[1] - w->lo[1]) * k->channels, y = column / row;
	*run = row - column % row;
	return ((w->lo[0] + y) * k->size[1] + w->lo[1]) * k->channels + column % row;
}

/* ---- parameters that all rows share ---- */

static int lines_of(const struct bpg_arg_alpha *a)
{
	return a->free ? 1 : 2;
}

/* Side of a row of the tile. */
static int side_of(const struct bpg_arg_alpha *a, int row)
{
	return a->sides == 3 ? row >= a->minus : a->sides == 2;
}

/* Those of a strip's rows at one place, [lines][16]. */
static void gather(const struct bpg_arg_alpha *a, int strip, const float *shared, int64_t places, int64_t at, float *own)
{
	int lines = lines_of(a);

	for (int line = 0; line < lines; line++)
		LANES_DO own[line * BPG_LANES + e] = shared[(side_of(a, strip * BPG_LANES + e) * lines + line) * places + at];
}

/* Derivatives of a strip's rows, [lines][16], by the parameters at one column; total: [2 sides][lines] of the column. */
static void scatter(const struct bpg_arg_alpha *a, int strip, double by[2][BPG_LANES], struct total *total)
{
	int lines = lines_of(a), first = side_of(a, strip * BPG_LANES), last = side_of(a, strip * BPG_LANES + BPG_LANES - 1);

	for (int line = 0; line < lines; line++)
		for (int side = first; side <= last; side++) {
			double own[BPG_LANES];
			LANES_DO own[e] = side_of(a, strip * BPG_LANES + e) == side ? by[line][e] : 0;
			add_terms(own, &total[side * lines + line]);
		}
}

void bpg_task_shared_start(struct bpg_rt *rt, void *const *buffer, const void *arg)
{
	const struct bpg_arg_alpha *a = arg;
	int64_t places = bpg_columns_places(a->hop->out);
	const double *slope = (const double *)buffer[0] + BPG_SLOPE_LO * places;
	int lines = lines_of(a);

	(void)rt;
	for (int i = 0; i < 2 * lines; i++)
		for (int64_t at = 0; at < places; at++) {
			struct range r = { 0, 1, slope[at] };
			if (!a->free)
				r = range_of(a, buffer[1], bpg_columns_element(a->hop->out, at), i % lines);
			((float *)buffer[2])[i * places + at] = within(r.start, &r);
		}
	memset(buffer[3], 0, (size_t)(4 * lines * places) * sizeof(float));
	memset(buffer[4], 0, (size_t)(4 * lines * places) * sizeof(double));
}

void bpg_task_shared_step(struct bpg_rt *rt, void *const *buffer, const void *arg)
{
	const struct bpg_arg_alpha *a = arg;
	int64_t places = bpg_columns_places(a->hop->out);
	int lines = lines_of(a);

	(void)rt;
	for (int i = 0; i < 2 * lines; i++) {
		float *alpha = (float *)buffer[1] + i * places, *moments = (float *)buffer[2] + 2 * i * places;
		double *by = (double *)buffer[3] + 2 * i * places;
		for (int64_t at = 0; at < places; at++) {
			struct range r = { 0, 1, 0 };
			double g = by[at] + by[places + at];
			if (g == 0 && moments[at] == 0)
				continue;
			if (!a->free)
				r = range_of(a, buffer[0], bpg_columns_element(a->hop->out, at), i % lines);
			if (a->free || r.most > r.least)
				adam(a, g, a->free ? 1 : share_of(a), &r, &alpha[at], &moments[at], &moments[places + at]);
		}
	}
	memset(buffer[3], 0, (size_t)(4 * lines * places) * sizeof(double));
}

void bpg_task_relax_alpha(struct bpg_rt *rt, void *const *buffer, const void *arg)
{
	const struct bpg_arg_alpha *a = arg;
	const struct bpg_columns *k = a->hop->out;
	int64_t columns = bpg_columns_in(k, &a->tile.window), places = bpg_columns_places(k), rows = (int64_t)a->tile.strips * BPG_LANES;
	const double *planes = buffer[0];
	double *state = buffer[2];
	int64_t all = a->tile.strips * a->at.count * BPG_LANES, kept_all = a->keep ? all : BPG_LANES, next_kept = a->keep ? BPG_LANES : 0;
	void *const *bounds = buffer + (a->keep ? 5 : 4); /* of x, of y */
	float dropped[3 * BPG_LANES];

	(void)rt;
	for (int q = 0; q < a->tile.strips; q++) {
		double *p = state + BPG_P * rows + q * BPG_LANES, *slack = state + BPG_SLACK * rows + q * BPG_LANES, sum[BPG_LANES] = { 0 };
		const float *alpha = (const float *)buffer[3] + (a->shared ? 0 : q * a->at.count * BPG_LANES);
		int64_t next_alpha = a->shared ? 0 : BPG_LANES, between = a->shared ? BPG_LANES : all;
		float *kept = a->keep ? (float *)buffer[4] + q * a->at.count * BPG_LANES : dropped;
		int64_t next = 0;

		for (int64_t c = 0; c < columns;) {
			int64_t run, at = place_of(k, &a->tile.window, c, &run);
			size_t lane = BPG_LANES * (a->tile.wide ? sizeof(double) : sizeof(float));
			void *x = (char *)buffer[1] + (size_t)(q * columns + c) * lane;
			bool chosen = next < a->at.count && a->at.column[next] == c;
			float own[2 * BPG_LANES];
			const float *mine = own;

			if (!a->shared)
				mine = alpha;
			else if (chosen)
				gather(a, q, alpha, places, at, own);
			if (chosen && !a->free) {
				relax_any(a, x, planes, places, at, bounds[0], bounds[1], mine, between, kept, kept_all, sum, slack);
				alpha += next_alpha, kept += next_kept, next++, c++;
				continue;
			}
			if (chosen && !still_free(k, bounds[0], bpg_columns_element(k, at))) {
				bpg_relax_columns(a->tile.wide, x, 1, planes, places, at, a->slack, sum, slack);
				LANES_DO kept[e] = 0;
				alpha += next_alpha, kept += next_kept, next++, c++;
				continue;
			}
			if (chosen) {
				if (a->tile.wide)
					relax_choice_f64(x, planes, places, at, mine, kept, sum, slack);
				else
					relax_choice_f32(x, planes, places, at, mine, kept, sum, slack);
				alpha += next_alpha, kept += next_kept, next++, c++;
				continue;
			}
			int64_t n = next < a->at.count ? BPG_MIN(run, a->at.column[next] - c) : run;
			bpg_relax_columns(a->tile.wide, x, n, planes, places, at, a->slack, sum, slack);
			c += n;
		}
		LANES_DO p[e] += sum[e];
		if (a->slack)
			LANES_DO slack[e] += 8 * BPG_U64 * fabs(p[e]) + a->under + (double)columns * 0x1p-140;
		else
			LANES_DO slack[e] = 0;
	}
}

/* ---- Adam, and the chosen lines ---- */

CLONES static void step_column(float *restrict z, const float *restrict kept, float *restrict alpha, float *restrict m, float *restrict v,
                               const float *restrict weight, float c, float d, float up_slope, float up_old, float rate, float bias1, float bias2)
{
	LANES_DO {
		float at = z[e] + c, k = kept[e], g = k > 0 ? k * at * weight[e] : 0, al = alpha[e];
		float line = k >= 0 ? al * at - d : up_slope * z[e] + up_old;
		float mm = 0.9f * m[e] + 0.1f * g, vv = 0.999f * v[e] + 0.001f * g * g;

		m[e] = mm;
		v[e] = vv;
		al += rate * (mm * bias1) / (__builtin_sqrtf(vv * bias2) + 1e-8f);
		al = al < 0 ? 0 : al;
		alpha[e] = al > 1 ? 1 : al;
		z[e] = line;
	}
}

/* The same with a slope that others share: no step, its derivative alone. */
CLONES static void pass_column(float *restrict z, const float *restrict kept, const float *restrict alpha, const float *restrict weight, float c,
                               float d, float up_slope, float up_old, double *restrict by)
{
	LANES_DO {
		float at = z[e] + c, k = kept[e];

		by[e] = k > 0 ? (double)k * at * weight[e] : 0;
		z[e] = k >= 0 ? alpha[e] * at - d : up_slope * z[e] + up_old;
	}
}

/* The upper line u (x - l) / (u - l) changes with l by u (x - u) / (u - l)^2, with u by -l (x - l) / (u - l)^2; the lower one does
 * not. */
CLONES static void free_derivative(const float *restrict z, const float *restrict kept, const float *restrict weight, double c, double l, double u,
                                   struct total *restrict sum)
{
	double left = u / (u - l) / (u - l), right = -l / (u - l) / (u - l), coarse[2][BPG_LANES], fine[2][BPG_LANES];

	LANES_DO {
		double by = kept[e] < 0 ? (double)kept[e] * weight[e] : 0, x = z[e] + c, t = by * left * (x - u), s = by * right * (x - l);
		coarse[0][e] = coarse_of(t);
		fine[0][e] = fine_of(t, coarse[0][e]);
		coarse[1][e] = coarse_of(s);
		fine[1][e] = fine_of(s, coarse[1][e]);
	}
	for (int end = 0; end < 2; end++) {
		add_lanes(coarse[end]);
		add_lanes(fine[end]);
		sum[end].coarse += coarse[end][0];
		sum[end].fine += fine[end][0];
	}
}

void bpg_task_row_weights(struct bpg_rt *rt, void *const *buffer, const void *arg)
{
	const struct bpg_arg_row_weights *a = arg;
	const double *by_lower = buffer[0], *by_upper = by_lower + 2 * a->n;
	float *weight = buffer[1];

	(void)rt;
	memset(weight, 0, (size_t)(a->strips * BPG_LANES) * sizeof *weight);
	for (int i = 0; i < a->count; i++) {
		int64_t j = a->element[i];
		weight[i] = (float)(by_lower[j] + by_lower[a->n + j]);
		weight[a->minus + i] = (float)-(by_upper[j] + by_upper[a->n + j]);
	}
}

void bpg_task_alpha_step(struct bpg_rt *rt, void *const *buffer, const void *arg)
{
	const struct bpg_arg_alpha *a = arg;
	const struct bpg_columns *k = a->hop->out;
	int64_t columns = bpg_columns_in(k, &a->tile.window), places = bpg_columns_places(k), n = a->tile.strips * a->at.count * BPG_LANES;
	const double *f = buffer[0], *x = buffer[1];
	static const float ones[BPG_LANES] = { 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 };
	const float *weights = a->weighed ? buffer[6] : NULL;
	struct total *sums = a->summed ? bpg_calloc(2 * (size_t)a->at.count + 1, sizeof *sums) : NULL;

	int per = 2 * lines_of(a); /* shared derivatives of a column */
	struct total *total = a->shared ? bpg_calloc((size_t)(per * a->at.count) + 1, sizeof *total) : NULL;

	if ((a->summed && !sums) || (a->shared && !total)) {
		free(sums);
		free(total);
		bpg_rt_fault(rt, BPG_ENOMEM, "memory is short for derivatives by bounds");
		return;
	}
	for (int q = 0; q < a->tile.strips; q++) {
		int64_t next = 0, base = q * a->at.count * BPG_LANES;
		const float *weight = weights ? weights + q * BPG_LANES : ones;
		for (int64_t c = 0; c < columns; c++) {
			int64_t run, at = place_of(k, &a->tile.window, c, &run);
			float *z = (float *)buffer[2] + (q * columns + c) * BPG_LANES;
			float s = (float)f[BPG_SLOPE_UP * places + at], old = (float)f[BPG_TIMES_OLD_UP * places + at];

			if (next < a->at.count && a->at.column[next] == c) {
				double centre = x[BPG_CENTRE * k->n + bpg_columns_element(k, at)], d = -f[BPG_TIMES_OLD_LO * places + at];
				int64_t i = base + next * BPG_LANES, element = bpg_columns_element(k, at);
				struct total *sum = sums ? sums + 2 * next : NULL;
				next++;
				float own[2 * BPG_LANES];
				double by[2][BPG_LANES] = { { 0 } };
				if (a->shared)
					gather(a, q, buffer[4], places, at, own);
				if (!a->free) {
					if (!a->shared) {
						step_any(a, z, at, x, (const float *)buffer[3] + i, n, (float *)buffer[4] + i, (float *)buffer[5] + i, n, weight, sum, by);
						continue;
					}
					step_any(a, z, at, x, (const float *)buffer[3] + i, n, own, NULL, BPG_LANES, weight, sum, by);
					scatter(a, q, by, total + per * (next - 1));
					continue;
				}
				if (!still_free(k, x, element)) {
					LANES_DO z[e] = s * z[e] + old;
					continue;
				}
				if (sum)
					free_derivative(z, (const float *)buffer[3] + i, weight, centre, x[BPG_LOWER * k->n + element],
					                x[BPG_UPPER * k->n + element], sum);
				if (a->shared) {
					pass_column(z, (const float *)buffer[3] + i, own, weight, (float)centre, (float)d, s, old, by[0]);
					scatter(a, q, by, total + per * (next - 1));
					continue;
				}
				step_column(z, (const float *)buffer[3] + i, (float *)buffer[4] + i, (float *)buffer[5] + i, (float *)buffer[5] + n + i,
				            weight, (float)centre, (float)d, s, old, (float)a->rate, (float)a->bias1, (float)a->bias2);
				continue;
			}
			/* One line. */
			LANES_DO z[e] = s * z[e] + old;
		}
	}
	double *by_bounds = sums ? buffer[a->weighed ? 7 : 6] : NULL;
	for (int64_t j = 0; sums && j < a->at.count; j++)
		for (int end = 0; end < 2; end++) {
			double *to = by_bounds + 2 * end * k->n + bpg_columns_element(k, a->at.place[j]);
			to[0] += sums[2 * j + end].coarse;
			to[k->n] += sums[2 * j + end].fine;
		}
	double *shared = total ? buffer[5] : NULL;
	for (int64_t j = 0; shared && j < a->at.count; j++)
		for (int i = 0; i < per; i++) {
			double *to = shared + 2 * i * places + a->at.place[j];
			to[0] += total[per * j + i].coarse;
			to[places] += total[per * j + i].fine;
		}
	free(sums);
	free(total);
}

/* ---- tiles packed anew ---- */

static void move_row(const struct bpg_arg_move *a, const float *from, int old, float *to, int row)
{
	for (int array = 0; array < a->arrays; array++) {
		const float *x = from + ((int64_t)(array * a->from_strips + old / BPG_LANES) * a->count) * BPG_LANES + old % BPG_LANES;
		float *y = to + ((int64_t)(array * a->to_strips + row / BPG_LANES) * a->count) * BPG_LANES + row % BPG_LANES;
		for (int64_t j = 0; j < a->count; j++)
			y[j * BPG_LANES] = x[j * BPG_LANES];
	}
}

void bpg_task_alpha_move(struct bpg_rt *rt, void *const *buffer, const void *arg)
{
	const struct bpg_arg_move *a = arg;

	(void)rt;
	if (a->first)
		memset(buffer[1], 0, (size_t)(a->arrays * a->to_strips * BPG_LANES * a->count) * sizeof(float));
	for (int i = 0; i < a->elements; i++) {
		if (a->sides & 1)
			move_row(a, buffer[0], a->index[i], buffer[1], a->to_first + i);
		if (a->sides & 2)
			move_row(a, buffer[0], a->from_minus + a->index[i], buffer[1], a->to_minus + a->to_first + i);
	}
}

/* ---- where the bound is attained ---- */

void bpg_task_corner(struct bpg_rt *rt, void *const *buffer, const void *arg)
{
	const struct bpg_arg_corner *a = arg;
	const struct bpg_columns *k = a->hop->out;
	const double *radius = (const double *)buffer[0] + BPG_RADIUS * k->n, *state = buffer[2];
	int64_t columns = bpg_columns_in(k, &a->tile.window), rows = (int64_t)a->tile.strips * BPG_LANES;
	float *z = buffer[3];

	(void)rt;
	for (int q = 0; q < a->tile.strips; q++) {
		const double *box = state + BPG_BOX * rows + q * BPG_LANES, *ball = state + BPG_BALL * rows + q * BPG_LANES;
		bool on_ball[BPG_LANES];
		double scale[BPG_LANES];

		LANES_DO {
			double far = a->norm == 2 ? sqrt(ball[e]) : ball[e];
			on_ball[e] = a->norm && far * a->radius < box[e];
			scale[e] = on_ball[e] && far > 0 ? a->radius / far : 0;
		}
		for (int64_t c = 0; c < columns; c++, z += BPG_LANES) {
			int64_t run, i = bpg_columns_element(k, place_of(k, &a->tile.window, c, &run));
			int64_t at = (q * columns + c) * BPG_LANES;
			if (!a->norm) {
				if (a->tile.wide)
					corner_column_f64((const double *)buffer[1] + at, (float)radius[i], z);
				else
					corner_column_f32((const float *)buffer[1] + at, (float)radius[i], z);
				continue;
			}
			LANES_DO {
				double v = a->tile.wide ? ((const double *)buffer[1])[at + e] : (double)((const float *)buffer[1])[at + e];
				if (!on_ball[e])
					z[e] = (float)(v > 0 ? -radius[i] : v < 0 ? radius[i] : 0);
				else if (a->norm == 2)
					z[e] = (float)(-v * scale[e]);
				else
					z[e] = (float)(fabs(v) >= ball[e] ? (v > 0 ? -a->radius : a->radius) : 0);
			}
		}
	}
}

/* ---- forward through linear nodes ---- */

/* Outputs whose weights stay in the second-level cache while all strips pass. */
enum { FORWARD_OUTPUTS = 96 };

void bpg_task_forward_dense(struct bpg_rt *rt, void *const *buffer, const void *arg)
{
	const struct bpg_arg_forward *a = arg;
	int64_t K = bpg_columns_places(a->hop->out), N = bpg_columns_places(a->hop->in[0]);

	(void)rt;
	for (int64_t o = 0; o < K; o += FORWARD_OUTPUTS)
		bpg_adjoint_f32(a->from.strips, (const float *)buffer[1] + a->c0 * BPG_LANES, N * BPG_LANES, a->c1 - a->c0,
		                (const float *)buffer[0] + o * BPG_GROUP, K * BPG_GROUP, BPG_MIN((int64_t)FORWARD_OUTPUTS, K - o),
		                (float *)buffer[2] + o * BPG_LANES, K * BPG_LANES, !a->first);
}

/* Per group of 8 output channels: taps x input channels of the group x 8. */
void bpg_task_pack_conv_forward(struct bpg_rt *rt, void *const *buffer, const void *arg)
{
	const struct bpg_arg_pack *a = arg;
	const struct bpg_conv *v = &a->hop->conv;
	float *copy;
	const float *w = bpg_const_lend_f32(v->weight, &copy);
	int64_t icg = v->in_channels / v->groups, ocg = v->out_channels / v->groups, taps = v->kernel[0] * v->kernel[1];
	float *to = buffer[0];

	if (!w) {
		bpg_rt_fault(rt, BPG_ENOMEM, "memory is short for the kernel of a convolution");
		return;
	}
	for (int64_t g = 0; g < v->groups; g++)
		for (int64_t b = 0; b < ocg; b += BPG_GROUP)
			for (int64_t t = 0; t < taps; t++)
				for (int64_t ic = 0; ic < icg; ic++)
					for (int64_t j = 0; j < BPG_GROUP; j++, to++)
						*to = b + j >= ocg ? 0
						      : w[(g * ocg + b + j) * v->w_stride[0] + ic * v->w_stride[1] + t / v->kernel[1] * v->w_stride[2]
						          + t % v->kernel[1] * v->w_stride[3]];
	free(copy);
}

void bpg_task_forward_conv(struct bpg_rt *rt, void *const *buffer, const void *arg)
{
	const struct bpg_arg_forward *a = arg;
	const struct bpg_conv *v = &a->hop->conv;
	const struct bpg_window *f = &a->from.window, *t = &a->to.window;
	int64_t icg = v->in_channels / v->groups, ocg = v->out_channels / v->groups, taps = v->kernel[0] * v->kernel[1];
	int64_t from = bpg_columns_in(a->hop->in[0], f) * BPG_LANES, to = bpg_columns_in(a->hop->out, t) * BPG_LANES, groups8 = (ocg + BPG_GROUP - 1) / BPG_GROUP;
	struct bpg_conv_sums sums;

	if (!bpg_conv_sums_forward(&sums, v, f, t))
		bpg_rt_fault(rt, BPG_ENOMEM, "memory is short for the taps of a convolution");
	else
		for (int64_t p = 0; p < sums.positions; p++) {
			int last = sums.first[p + 1], begin = sums.first[p] ? sums.end[sums.first[p] - 1] : 0;
			int runs = last > sums.first[p] ? sums.end[last - 1] - begin : 0;
			float *C = (float *)buffer[2] + p * v->out_channels * BPG_LANES;
			for (int64_t g = 0; g < v->groups; g++)
				for (int64_t b = 0; b < groups8; b++)
					bpg_product_f32(a->from.strips, (const float *)buffer[1] + g * icg * BPG_LANES, from, sums.run + begin, runs,
					                (const float *)buffer[0] + (g * groups8 + b) * taps * icg * BPG_GROUP,
					                C + (g * ocg + b * BPG_GROUP) * BPG_LANES, to, (int)BPG_MIN(ocg - b * BPG_GROUP, (int64_t)BPG_GROUP), false, NULL);
		}
	bpg_conv_sums_fini(&sums);
}

void bpg_task_forward_map(struct bpg_rt *rt, void *const *buffer, const void *arg)
{
	const struct bpg_arg_forward *a = arg;
	const struct bpg_columns *k = a->hop->out, *d = a->hop->in[a->k];
	const struct bpg_sparse *s = a->hop->terms;
	int64_t oc = bpg_columns_in(k, &a->to.window), ic = bpg_columns_in(d, &a->from.window);

	(void)rt;
	for (int64_t c = 0; c < oc; c++) {
		int64_t run, i = bpg_columns_element(k, place_of(k, &a->to.window, c, &run));
		for (int q = 0; q < a->from.strips; q++) {
			float *z = (float *)buffer[1] + (q * oc + c) * BPG_LANES, sum[BPG_LANES];
			LANES_DO sum[e] = a->first ? 0 : z[e];
			for (int64_t t = s->first[i]; t < s->first[i + 1]; t++) {
				if (s->operand[t] != a->hop->operand[a->k])
					continue;
				int64_t j = bpg_columns_column(d, &a->from.window, bpg_columns_place(d, s->index[t]));
				if (j < 0)
					continue;
				const float *x = (const float *)buffer[0] + (q * ic + j) * BPG_LANES, w = s->coef[t];
				LANES_DO sum[e] += w * x[e];
			}
			LANES_DO z[e] = sum[e];
		}
	}
}
