/* Bounds against values in 113 bits: networks made to break rounding. Weights of all sizes and below the least normal
 * number, sums that cancel, boxes one step wide, long chains of scales, constants that are folded; every node's interval
 * and the rows asked must hold what the network takes at corners and points inside. BPG_CASES sets how many networks,
 * BPG_SEED which one alone. The second half: networks that once had a wrong bound. */
#include <check.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "builder.h"
#include "outcome.h"
#include "require.h"

#if LDBL_MANT_DIG >= 113
typedef long double quad;
#else
__extension__ typedef __float128 quad;
#endif

enum { MOST = 400, NODES = 40, ROWS = 4, POINTS = 40 };

/* ---- a network as this test knows it ---- */

enum op { INPUT, DENSE, SCALE, SHIFT, DIVIDE, NORM, RELU, LEAKY, CLIP, ADD, SUB, MEAN, CONV, POOL_MEAN, POOL_MAX, FLAT };

struct node {
	enum op op;
	int a, b, tensor;
	int n;
	float *w, *v;             /* DENSE: W [n, ins], bias; others: [n] */
	double alpha;             /* DENSE: of Gemm; LEAKY: slope */
	float *mean, *var, eps;   /* NORM */
	quad *fold;               /* weights that are folded: in place of w */
	int64_t dim[3];           /* of images: channels, height, width */
	struct build_window window;
	quad x[MOST];
	double err[MOST];         /* of x as computed here */
};

struct scene {
	uint64_t seed;
	struct build b;
	struct bpg_arena *arena;
	int nodes, outputs, output[3];
	struct node node[NODES];
	double lo[MOST], up[MOST];
	struct bpg_question_row row[ROWS];
};

static struct scene *s;

static double uniform(double lo, double up) { return lo + (up - lo) * bpg_rng_uniform(&s->b.rng); }
static int below(int n) { return (int)bpg_rng_below(&s->b.rng, n); }

static void *get(int64_t n, size_t size)
{
	void *p = bpg_arena_alloc(s->arena, (size_t)n + 1, size);
	REQUIRE(p, "memory");
	return p;
}

static quad qabs(quad x) { return x < 0 ? -x : x; }

/* ---- values ---- */

static const double tiny = 0x1p-108;

/* Element i of a convolution or pool: over the taps that lie on the input. */
static void evaluate_window(const struct node *v, const struct node *a, int i, quad *y, quad *size, double *e)
{
	const struct build_window *w = &v->window;
	int64_t W = v->dim[2], at[2] = { i / W % v->dim[1], i % W }, oc = i / W / v->dim[1];
	int64_t first = v->op == CONV ? 0 : oc, last = v->op == CONV ? a->dim[0] : oc + 1;
	quad all = v->op == POOL_MEAN ? w->kernel[0] * w->kernel[1] : 1;
	bool any = false;

	*y = *size = *e = 0;
	for (int64_t ic = first; ic < last; ic++)
		for (int64_t k = 0; k < w->kernel[0] * w->kernel[1]; k++) {
			int64_t r = at[0] * w->stride[0] - w->pad[0] + k / w->kernel[1] * w->dilation[0];
			int64_t c = at[1] * w->stride[1] - w->pad[1] + k % w->kernel[1] * w->dilation[1];
			if (r < 0 || c < 0 || r >= a->dim[1] || c >= a->dim[2])
				continue;
			int64_t from = (ic * a->dim[1] + r) * a->dim[2] + c;
			if (v->op == POOL_MAX) {
				*e = fmax(*e, a->err[from]);
				*y = !any || a->x[from] > *y ? a->x[from] : *y;
				any = true;
				continue;
			}
			quad q = v->op == CONV ? (quad)v->w[(oc * a->dim[0] + ic) * w->kernel[0] * w->kernel[1] + k] : 1 / all;
			*y += q * a->x[from];
			*size += qabs(q * a->x[from]);
			*e += (double)qabs(q) * a->err[from];
		}
	if (v->op == CONV)
		*y += v->v[oc], *size += qabs(v->v[oc]);
}

static void evaluate(struct node *v)
{
	const struct node *a = v->op == INPUT ? v : &s->node[v->a], *b = v->op == ADD || v->op == SUB ? &s->node[v->b] : v;

	for (int i = 0; i < v->n && v->op != INPUT; i++) {
		quad x = a->n == v->n ? a->x[i] : 0, y = 0, size = 0;
		double e = a->n == v->n ? a->err[i] : 0;

		switch (v->op) {
		case DENSE:
			e = 0;
			for (int k = 0; k < a->n; k++) {
				quad w = (v->fold ? v->fold[i * a->n + k] : (quad)v->w[i * a->n + k]) * v->alpha;
				y += w * a->x[k];
				size += qabs(w * a->x[k]);
				e += (double)qabs(w) * a->err[k];
			}
			y += v->v[i];
			size += qabs(v->v[i]);
			break;
		case SCALE:
			y = x * (v->fold ? v->fold[i] : (quad)v->w[i]);
			e *= (double)qabs(v->fold ? v->fold[i] : (quad)v->w[i]);
			break;
		case SHIFT:
			y = x + (v->fold ? v->fold[i] : (quad)v->w[i]);
			size = qabs(x) + qabs(v->fold ? v->fold[i] : (quad)v->w[i]);
			break;
		case DIVIDE:
			y = x / v->w[i];
			e /= fabs((double)v->w[i]);
			break;
		case NORM: {
			/* The root by Newton from the double one. */
			quad var = (quad)v->var[i] + (double)v->eps, r = sqrt((double)var);
			r = (r + var / r) / 2;
			r = (r + var / r) / 2;
			y = (x - v->mean[i]) / r * v->w[i] + v->v[i];
			size = qabs((qabs(x) + qabs(v->mean[i])) / r * v->w[i]) + qabs(v->v[i]);
			e *= (double)qabs(v->w[i] / r);
			break;
		}
		case RELU: y = x > 0 ? x : 0; break;
		case LEAKY: y = x >= 0 ? x : x * (float)v->alpha; break;
		case CLIP: y = x < -1 ? -1 : x > (quad)(float)0.7 ? (quad)(float)0.7 : x; break;
		case ADD: y = x + b->x[i], e += b->err[i], size = qabs(x) + qabs(b->x[i]); break;
		case SUB: y = x - b->x[i], e += b->err[i], size = qabs(x) + qabs(b->x[i]); break;
		case MEAN:
			y = size = e = 0;
			for (int k = 0; k < a->n; k++)
				y += a->x[k] / a->n, size += qabs(a->x[k]) / a->n, e += a->err[k] / a->n;
			break;
		case FLAT: y = x; break;
		default: evaluate_window(v, a, i, &y, &size, &e); break;
		}
		v->x[i] = y;
		v->err[i] = (e + (double)(size + qabs(y)) * tiny) * (1 + 0x1p-20);
	}
}

/* ---- drawing ---- */

/* Weights of one kind for a whole layer. */
static float weight(int kind, double scale)
{
	static const float near[] = { 1, -1, 0x1p-24f, 0x1p-25f, 0x1.8p-25f, 0x1p-23f, 0x1.000002p0f, 0x1.fffffep-1f };
	double x = uniform(-1, 1);

	switch (kind) {
	case 0: return (float)(scale * x);
	case 1: return (float)(scale * near[below(8)]);
	case 2: return (float)(scale * ldexp(x, below(60) - 30));
	case 3: return (float)(scale * (below(2) ? 0x1p-12f : x));
	case 4: return below(3) ? 0 : (float)(scale * x);
	default: return (float)(scale * bpg_rng_normal(&s->b.rng));
	}
}

static struct node *add(enum op op, int a, int n)
{
	struct node *v = &s->node[s->nodes++];

	memset(v, 0, sizeof *v);
	v->op = op, v->a = a, v->n = n;
	return v;
}

/* Sizes of what a node may take, about: to keep numbers in range and biases where kinks are. */
static double size_of(const struct node *v)
{
	quad most = 0;

	for (int i = 0; i < v->n; i++)
		most = qabs(v->x[i]) > most ? qabs(v->x[i]) : most;
	return (double)most;
}

/* A constant made by two others: quotients, products and sums that a double rounds. */
static const char *folded(struct node *v, int rank, const int64_t *dim, int n, int kind, double scale)
{
	static const char *const op[] = { "Div", "Mul", "Add", "Sub" };
	int which = below(4);
	float *x = get(n, sizeof *x), *y = get(n, sizeof *y);
	char reads[64];

	v->fold = get(n, sizeof *v->fold);
	for (int i = 0; i < n; i++) {
		x[i] = weight(kind, scale);
		y[i] = (float)uniform(1, 2);
		if (which > 1)
			y[i] = (float)ldexp(y[i] * scale, -30 - below(40));
		quad p = x[i], q = y[i];
		v->fold[i] = which == 0 ? p / q : which == 1 ? p * q : which == 2 ? p + q : p - q;
	}
	const char *p = build_constant(&s->b, rank, dim, x), *q = build_constant(&s->b, rank, dim, y);
	snprintf(reads, sizeof reads, "%s %s", p, q);
	return s->b.t[build_add(&s->b, build_node(&s->b, op[which], reads), rank, dim)].name;
}

static struct node *dense(int x, int outs)
{
	const struct node *a = &s->node[x];
	int kind = below(6), ins = a->n, fold = below(4) == 0;
	double from = size_of(a), to = ldexp(uniform(0.5, 1), below(5) ? below(4) - 2 : below(140) - 70);
	struct node *v = add(DENSE, x, outs);
	double scale = from > 0 ? to / from / sqrt(ins) : 1;

	scale = scale > 0x1p100 ? 0x1p100 : scale < 0x1p-140 ? 0x1p-140 : scale;
	v->alpha = below(5) ? 1 : below(2) ? (float)uniform(0.1, 3) : -1;
	v->w = get((int64_t)outs * ins, sizeof *v->w);
	v->v = get(outs, sizeof *v->v);
	char reads[80], w[16];
	const char *c;
	if (fold)
		snprintf(w, sizeof w, "%s", folded(v, 2, (int64_t[]){ outs, ins }, outs * ins, kind, scale));
	for (int i = 0; !fold && i < outs * ins; i++)
		v->w[i] = weight(kind, scale);
	if (!fold)
		snprintf(w, sizeof w, "%s", build_constant(&s->b, 2, (int64_t[]){ outs, ins }, v->w));
	evaluate(v);
	int bias = below(4);
	for (int i = 0; i < outs; i++)   /* none, one that cancels, nearly, any */
		v->v[i] = bias == 0 ? 0 : bias == 1 ? -(float)v->x[i] : bias == 2 ? -(float)(v->x[i] * (1 + uniform(-1,
		        1) * 0x1p-10)) : (float)(to * uniform(-1, 1));
	c = build_constant(&s->b, 1, (int64_t[]){ outs }, v->v);
	snprintf(reads, sizeof reads, "%s %s %s", s->b.t[a->tensor].name, w, c);
	struct ow node = build_node(&s->b, "Gemm", reads);
	ow_attr_int(&node, "transB", 1);
	ow_attr_float(&node, "alpha", (float)v->alpha);
	v->tensor = build_add(&s->b, node, 2, (int64_t[]){ 1, outs });
	return v;
}

static struct node *elementwise(int x)
{
	const struct node *a = &s->node[x];
	int n = a->n, which = below(9);
	char reads[80];
	struct node *v;

	if (which < 3) {
		v = add(which == 0 ? SCALE : which == 1 ? SHIFT : DIVIDE, x, n);
		v->w = get(n, sizeof *v->w);
		double size = which == 1 ? size_of(a) : 1;
		for (int i = 0; i < n; i++)
			v->w[i] = which == 2 ? (float)uniform(0.5, 3) : (float)(size * (below(3) ? uniform(-2, 2) : ldexp(uniform(-1, 1),
			        -below(30))));
		int64_t dim = n;
		if (which < 2 && below(2))
			snprintf(reads, sizeof reads, "%s %s", s->b.t[a->tensor].name, folded(v, 1, &dim, n, 0, size));
		else
			snprintf(reads, sizeof reads, "%s %s", s->b.t[a->tensor].name, build_constant(&s->b, 1, &dim, v->w));
		v->tensor = build_add(&s->b, build_node(&s->b, which == 0 ? "Mul" : which == 1 ? "Add" : "Div", reads), 2, (int64_t[]){ 1, n });
		return v;
	}
	if (which == 3) {
		v = add(NORM, x, n);
		float **f[] = { &v->w, &v->v, &v->mean, &v->var };
		for (int k = 0; k < 4; k++)
			*f[k] = get(n, sizeof **f[k]);
		double size = size_of(a);
		size = size > 0x1p60 ? 0x1p60 : size < 0x1p-60 ? 0x1p-60 : size;
		for (int i = 0; i < n; i++) {
			v->w[i] = (float)uniform(-1, 1), v->v[i] = (float)uniform(-1, 1),
			        v->mean[i] = below(2) ? (float)a->x[i] : (float)(size * uniform(-1, 1));
			v->var[i] = (float)(size * size * uniform(0.01, 1));
		}
		v->eps = (float)1e-5;
		v->tensor = build_batchnorm(&s->b, a->tensor, v->w, v->v, v->mean, v->var, v->eps);
		return v;
	}
	if (which == 4) {
		v = add(LEAKY, x, n);
		v->alpha = (float)uniform(-0.5, 1.5);
		struct ow node = build_node(&s->b, "LeakyRelu", s->b.t[a->tensor].name);
		ow_attr_float(&node, "alpha", (float)v->alpha);
		v->tensor = build_add(&s->b, node, 2, (int64_t[]){ 1, n });
		return v;
	}
	if (which == 5) {
		v = add(CLIP, x, n);
		const char *l = build_constant(&s->b, 0, NULL, (float[]){ -1 });
		char end[40];
		snprintf(end, sizeof end, "%s", l);
		snprintf(reads, sizeof reads, "%s %s %s", s->b.t[a->tensor].name, end, build_constant(&s->b, 0, NULL, (float[]){ 0.7f }));
		v->tensor = build_add(&s->b, build_node(&s->b, "Clip", reads), 2, (int64_t[]){ 1, n });
		return v;
	}
	if (which == 6 && n > 1 && n < 40) {
		v = add(MEAN, x, 1);
		struct ow node = build_node(&s->b, "ReduceMean", s->b.t[a->tensor].name);
		ow_attr_ints(&node, "axes", 1, (int64_t[]){ 1 });
		v->tensor = build_add(&s->b, node, 2, (int64_t[]){ 1, 1 });
		return v;
	}
	if (which == 7) /* two of the same size */
		for (int y = s->nodes - 1; y >= 0; y--)
			if (y != x && s->node[y].n == n && s->b.t[s->node[y].tensor].rank == 2 && below(2)) {
				v = add(below(2) ? ADD : SUB, x, n);
				v->b = y;
				v->tensor = build_join(&s->b, v->op == ADD ? "Add" : "Sub", a->tensor, s->node[y].tensor);
				return v;
			}
	v = add(RELU, x, n);
	v->tensor = build_unary(&s->b, "Relu", a->tensor);
	return v;
}

/* A few convolutions, pools and ReLUs of an image; then a vector again. */
static void images(void)
{
	for (int layers = 1 + below(3); layers >= 0; layers--) {
		int x = s->nodes - 1, which = layers ? below(5) : 5;
		struct node *a = &s->node[x], *v;
		struct build_window w = { { 1 + below(3), 1 + below(3) }, { 1 + below(2), 1 + below(2) }, { 0 }, { 1, 1 } };

		for (int k = 0; k < 4; k++)
			w.pad[k] = below((int)w.kernel[k % 2]);
		int64_t h = build_out_size(&w, a->dim[1], 0), width = build_out_size(&w, a->dim[2], 1), channels = 1 + below(3);
		if (which < 4 && (h < 1 || width < 1 || channels * h * width > MOST))
			continue;
		if (which < 2) {
			v = add(CONV, x, (int)(channels * h * width));
			double from = size_of(a), to = ldexp(1, below(4) ? below(4) - 2 : below(100) - 50), scale = from > 0 ? to / from : 1;
			int kind = below(6), n = (int)(channels * a->dim[0] * w.kernel[0] * w.kernel[1]);
			scale = scale > 0x1p100 ? 0x1p100 : scale < 0x1p-140 ? 0x1p-140 : scale;
			v->w = get(n, sizeof *v->w);
			v->v = get(channels, sizeof *v->v);
			for (int i = 0; i < n; i++)
				v->w[i] = weight(kind, scale);
			for (int i = 0; i < channels && kind % 2; i++)
				v->v[i] = (float)(to * uniform(-1, 1));
			v->tensor = build_conv(&s->b, a->tensor, channels, 1, &w, v->w, v->v);
		} else if (which < 4) {
			channels = a->dim[0];
			v = add(which == 2 ? POOL_MEAN : POOL_MAX, x, (int)(channels * h * width));
			v->tensor = build_pool(&s->b, which == 2 ? "AveragePool" : "MaxPool", a->tensor, &w, true);
		} else {
			v = add(which == 4 ? RELU : FLAT, x, a->n);
			channels = a->dim[0], h = a->dim[1], width = a->dim[2];
			v->tensor = which == 4 ? build_unary(&s->b, "Relu", a->tensor) : build_flatten(&s->b, a->tensor);
		}
		v->window = w;
		v->dim[0] = channels, v->dim[1] = h, v->dim[2] = width;
		evaluate(v);
	}
}

static void draw_point(int how)
{
	struct node *x = &s->node[0];

	for (int i = 0; i < x->n; i++) {
		double l = s->lo[i], u = s->up[i], t = x->n < 6 && how < (1 << x->n) ? how >> i & 1 : below(3) ? below(2) : uniform(0, 1);
		double v = t == 0 ? l : t == 1 ? u : l + t * (u - l);
		x->x[i] = v < l ? l : v > u ? u : v;
		x->err[i] = 0;
	}
	for (int v = 1; v < s->nodes; v++)
		evaluate(&s->node[v]);
}

static void draw(void)
{
	int ins = 1 + below(4), depth = 1 + below(below(8) == 0 ? 24 : 8), kind = below(6);
	bool image = below(4) == 0;
	int64_t c = 1 + below(2), h = 2 + below(5), w = 2 + below(5);
	struct node *x = add(INPUT, 0, ins = image ? (int)(c * h * w) : ins);

	x->dim[0] = c, x->dim[1] = h, x->dim[2] = w;
	x->tensor = image ? build_input(&s->b, 4, (int64_t[]){ 1, c, h, w }) : build_vector(&s->b, ins);
	double size = below(3) ? 1 : ldexp(1, below(160) - 80);
	for (int i = 0; i < ins; i++) {
		double c = size * uniform(-1, 1);
		float f = (float)c;
		double r = kind == 0 ? 0 : kind == 1 ? 0x1p-50 * fabs(c) : kind == 2 ? 1e-6 * fabs(c) : kind == 3 ? size : size * uniform(0,
		        0.5);
		if (below(4) == 0)
			r = 0;
		s->lo[i] = (kind == 4 ? f : c) - r;
		s->up[i] = kind == 1 && below(2) ? bpg_next_up(s->lo[i]) : (kind == 4 ? f : c) + r;
		x->x[i] = s->lo[i] + (s->up[i] - s->lo[i]) / 2;
	}
	if (image)
		images();
	int vector = s->nodes - 1; /* what lies before is an image */
	for (int d = 0; d < depth && s->nodes < NODES - 2; d++) {
		int last = s->nodes - 1;
		struct node *v;
		if (below(2))
			v = dense(last, below(12) == 0 ? 200 + below(200) : 1 + below(6));
		else
			v = elementwise(below(4) ? last : vector + below(s->nodes - vector));
		evaluate(v);
	}
	s->output[s->outputs++] = s->nodes - 1;
	if (below(3) == 0)
		s->output[s->outputs++] = vector + below(s->nodes - vector);
	if (below(8) == 0)
		s->output[s->outputs++] = s->nodes - 1;
}

static int64_t outs(void)
{
	int64_t n = 0;
	for (int o = 0; o < s->outputs; o++)
		n += s->node[s->output[o]].n;
	return n;
}

static const struct node *out_of(int64_t j, int *i)
{
	int o = 0;
	while (j >= s->node[s->output[o]].n)
		j -= s->node[s->output[o++]].n;
	*i = (int)j;
	return &s->node[s->output[o]];
}

static void draw_rows(void)
{
	int64_t n = outs();

	for (int r = 0; r < ROWS; r++) {
		int64_t *index = get(n, sizeof *index);
		double *coef = get(n, sizeof *coef);
		int m = 0;
		for (int64_t j = 0; j < n; j++)
			if (r == 0 ? j == n - 1 : below(2) || j == 0) {
				index[m] = j;
				coef[m++] = r == 0 ? 1 : r == 1 ? (below(2) ? 1 : -1) : uniform(-1, 1);
			}
		double *err = get(n, sizeof *err);
		for (int t = 0; t < m && r == 3; t++)   /* decimals that no double holds */
			err[t] = fabs(coef[t]) * uniform(0, 0x1p-52);
		s->row[r] = (struct bpg_question_row){ .n = m, .index = index, .coef = coef, .coef_err = r == 3 ? err : NULL,
			                               .offset = r == 2 ? uniform(-1, 1) : 0 };
	}
}

/* ---- the property ---- */

#define WHERE "seed %llu, method %d, float%d: "
#define ARGS (unsigned long long)s->seed, (int)b->method, b->wide ? 64 : 32

static void check_point(const struct outcome *o, const struct bpg_bound_options *b)
{
	for (int v = 0; v < s->nodes; v++) {
		const struct node *own = &s->node[v];
		const struct bpg_model_node *m = outcome_node(o, s->b.t[own->tensor].name);
		for (int i = 0; m && i < own->n; i++) {
			const double *l = bpg_field(m, BPG_LOWER), *u = bpg_field(m, BPG_UPPER), *c = bpg_field(m, BPG_CENTRE), *r = bpg_field(m,
			        BPG_RADIUS);
			quad y = own->x[i];
			REQUIRE(y >= l[i] - own->err[i] && y <= u[i] + own->err[i],
			        WHERE "node %d (op %d), element %d: %.17g is outside [%.17g, %.17g] by %.3g", ARGS, v,
			        own->op, i, (double)y, l[i], u[i], (double)(y < l[i] ? l[i] - y : y - u[i]));
			REQUIRE(qabs(y - c[i]) <= (quad)r[i] + own->err[i],
			        WHERE "node %d (op %d), element %d: %.17g is further from %.17g than %.17g", ARGS, v, own->op, i,
			        (double)y, c[i], r[i]);
		}
	}
	for (int k = 0; k < ROWS; k++) {
		const struct bpg_question_row *q = &s->row[k];
		quad y = q->offset, size = qabs(y), any = 0;
		double e = 0;
		for (int t = 0; t < q->n; t++) {
			int i;
			const struct node *v = out_of(q->index[t], &i);
			y += q->coef[t] * v->x[i];
			any += q->coef_err ? q->coef_err[t] * qabs(v->x[i]) : 0;
			size += qabs(q->coef[t] * v->x[i]);
			e += fabs(q->coef[t]) * v->err[i];
		}
		e += (double)size * tiny;
		REQUIRE(o->lower[k] <= y - any + e && o->upper[k] >= y + any - e, WHERE "row %d: %.17g is outside [%.17g, %.17g] by %.3g of %.3g",
		        ARGS, k, (double)y, o->lower[k],
		        o->upper[k], (double)(y < o->lower[k] ? o->lower[k] - y : y - o->upper[k]), (double)size);
	}
}

static void try_scene(struct bpg_ctx *ctx, struct bpg_rt *rt, uint64_t seed)
{
	struct bpg_net *net;

	s = calloc(1, sizeof *s);
	REQUIRE(s, "memory");
	s->seed = seed;
	s->arena = bpg_arena_new();
	build_start(&s->b, seed);
	draw();
	draw_rows();
	for (int o = 0; o < s->outputs; o++)
		build_output(&s->b, s->node[s->output[o]].tensor);
	enum bpg_status st = build_net(&s->b, ctx, &net);
	REQUIRE(!st || st == BPG_EFILE || st == BPG_ENUMERIC || st == BPG_EUNSUPPORTED, "seed %llu: %s", (unsigned long long)seed,
	        bpg_ctx_message(ctx));
	struct bpg_region g = { .n = s->node[0].n, .lo = s->lo, .up = s->up };
	for (int way = 0; !st && way < 8; way++) { /* the last two: with parameters */
		struct bpg_bound_options b = outcome_options((enum bpg_method)(BPG_METHOD_IBP + (way < 6 ? way / 2 : 2)), way % 2);
		struct outcome o;
		b.iterations = way < 6 ? 0 : 2;
		b.slope = (enum bpg_slope_rule)below(4);
		enum bpg_status ran = outcome_run(&o, ctx, rt, net, &g, &b, s->row, ROWS);
		REQUIRE(!ran, "seed %llu, method %d, float%d: %s", (unsigned long long)seed, (int)b.method, b.wide ? 64 : 32,
		        bpg_ctx_message(ctx));
		for (int p = 0; p < POINTS; p++) {
			draw_point(p);
			check_point(&o, &b);
		}
		outcome_fini(&o);
	}
	if (!st)
		bpg_net_free(net);
	bpg_arena_free(s->arena);
	free(s);
}

static void start(struct bpg_ctx **ctx, struct bpg_rt **rt)
{
	struct bpg_rt_options two = { .workers = 2, .owners = 1 };

	*ctx = bpg_ctx_new();
	REQUIRE(!bpg_rt_start(*ctx, &two, rt), "%s", bpg_ctx_message(*ctx));
}

START_TEST(test_random)
{
	const char *seed = getenv("BPG_SEED"), *cases = getenv("BPG_CASES"), *first = getenv("BPG_FIRST");
	int n = cases ? atoi(cases) : 60;
	struct bpg_ctx *ctx;
	struct bpg_rt *rt;

	start(&ctx, &rt);
	if (seed)
		try_scene(ctx, rt, strtoull(seed, NULL, 10));
	for (int i = 0; !seed && i < n; i++)
		try_scene(ctx, rt, (first ? strtoull(first, NULL, 10) : 0) + (uint64_t)i);
	bpg_rt_stop(rt);
	bpg_ctx_free(ctx);
}
END_TEST

/* ---- networks that once had a wrong bound ---- */

static struct bpg_ctx *ctx;
static struct bpg_rt *rt;
static struct build b;
static struct outcome out;

static void setup(void)
{
	start(&ctx, &rt);
	build_start(&b, 1);
}

static void teardown(void)
{
	outcome_fini(&out);
	bpg_rt_stop(rt);
	bpg_ctx_free(ctx);
}

/* Bounds of tensor `node` by rows in float. */
static const struct bpg_model_node *bounds_of(int node, const struct bpg_region *g)
{
	static struct bpg_net *net;
	struct bpg_bound_options o = outcome_options(BPG_METHOD_CROWN, false);

	REQUIRE(!build_net(&b, ctx, &net), "%s", bpg_ctx_message(ctx));
	REQUIRE(!outcome_run(&out, ctx, rt, net, g, &o, NULL, 0), "%s", bpg_ctx_message(ctx));
	return outcome_node(&out, b.t[node].name);
}

#define FIELD(v, f) bpg_field(v, BPG_##f)

/* A function of a fixed number is known up to its error only: no column may be missing then. */
START_TEST(test_function_of_a_point)
{
	double lo[8], up[8];
	struct bpg_region g = { .n = 8, .lo = lo, .up = up };

	for (int i = 0; i < 8; i++)
		lo[i] = 0.1 * (i + 1), up[i] = lo[i] + (i == 7);
	int x = build_vector(&b, 8), y = build_unary(&b, "Sigmoid", _i ? build_unary(&b, "Relu", x) : x);
	build_output(&b, build_dense(&b, y, 1, NULL, NULL));
	const struct bpg_model_node *v = bounds_of(y, &g);
	for (int i = 0; i < 8; i++)
		ck_assert(FIELD(v, LOWER)[i] < FIELD(v, UPPER)[i] && v->columns.slot[i] >= 0);
}
END_TEST

/* Sums of 256 products overflow to both infinities: nothing is known, and not 0. */
START_TEST(test_overflow_on_ball)
{
	static float W[512], V[512], zero[512];
	struct bpg_region g = { .norm = _i ? BPG_NORM_2 : BPG_NORM_1, .ball = true, .n = 1, .lo = (double[]){ -1 }, .up = (double[]){ 1 },
		                .center = (double[]){ 0 }, .radius = 1 };

	for (int i = 0; i < 512; i++)
		W[i] = i < 256 ? 3e38f : -1.5e38f, V[i] = 3e38f;
	int z = build_dense(&b, build_dense(&b, build_vector(&b, 1), 512, W, zero), 1, V, zero);
	build_output(&b, build_unary(&b, "Relu", z));
	const struct bpg_model_node *v = bounds_of(z, &g);
	quad most = 256 * ((quad)W[0] + W[256]) * V[0];
	ck_assert(FIELD(v, LOWER)[0] <= -most && FIELD(v, UPPER)[0] >= most);
}
END_TEST

/* A weight of 0 ends what is unbounded. */
START_TEST(test_unbounded_times_zero)
{
	struct bpg_region g = { .n = 2, .lo = (double[]){ 0, 0 }, .up = (double[]){ INFINITY, 1 } };
	int z = build_dense(&b, build_vector(&b, 2), 2, (float[]){ 0, 1, 1, 1 }, (float[]){ 1, 1 });

	build_output(&b, build_unary(&b, "Relu", z));
	const struct bpg_model_node *v = bounds_of(z, &g);
	ck_assert(FIELD(v, LOWER)[0] <= 1 && FIELD(v, UPPER)[0] >= 2 && FIELD(v, UPPER)[0] < 2.001 && FIELD(v, UPPER)[1] == INFINITY);
}
END_TEST

/* x * (1/3) and x + (1/3), as a matrix, a scale, a shift, a bias, a convolution; the network means a third. */
START_TEST(test_folded)
{
	struct bpg_region g = { .n = 1, .lo = (double[]){ 1 }, .up = (double[]){ 1 } };
	static const float one[] = { 1 }, three[] = { 3 }, zero[] = { 0 };
	int64_t dim[4] = { 1, 1, 1, 1 };
	int rank = _i == 0 ? 2 : _i == 4 ? 4 : 1, x = _i == 4 ? build_input(&b, 4, dim) : build_vector(&b, 1);
	char reads[64];

	snprintf(reads, sizeof reads, "%s ", build_constant(&b, rank, dim, one));
	strcat(reads, build_constant(&b, rank, dim, three));
	const char *third = b.t[build_add(&b, build_node(&b, "Div", reads), rank, dim)].name;
	/* Through a reshape, which keeps the error. */
	snprintf(reads, sizeof reads, "%s", third);
	third = b.t[build_add(&b, build_node(&b, "Neg", reads), rank, dim)].name;
	if (_i == 3)
		snprintf(reads, sizeof reads, "%s %s %s", b.t[x].name, build_constant(&b, 2, dim, zero), third);
	else
		snprintf(reads, sizeof reads, "%s %s", b.t[x].name, third);
	static const char *const op[] = { "MatMul", "Mul", "Add", "Gemm", "Conv" };
	int y = build_add(&b, build_node(&b, op[_i], reads), _i == 4 ? 4 : 2, dim);
	build_output(&b, build_unary(&b, "Relu", y));
	build_output(&b, y);
	const struct bpg_model_node *v = bounds_of(y, &g);
	quad meant = _i == 2 ? 1 - (quad)1 / 3 : -(quad)1 / 3;
	ck_assert(FIELD(v, LOWER)[0] <= meant && FIELD(v, UPPER)[0] >= meant);
	ck_assert(out.lower[1] <= meant && out.upper[1] >= meant && out.upper[1] - out.lower[1] < 1e-6);
}
END_TEST

/* Functions take their parameters as they are: one that was rounded is refused. */
START_TEST(test_folded_parameter)
{
	struct bpg_net *net;
	char reads[64];
	int x = build_vector(&b, 1);

	snprintf(reads, sizeof reads, "%s ", build_constant(&b, 0, NULL, (float[]){ -1 }));
	strcat(reads, build_constant(&b, 0, NULL, (float[]){ 3 }));
	int third = build_add(&b, build_node(&b, "Div", reads), 0, NULL);
	snprintf(reads, sizeof reads, "%s %s", b.t[x].name, b.t[third].name);
	build_output(&b, build_add(&b, build_node(&b, "Clip", reads), 2, (int64_t[]){ 1, 1 }));
	ck_assert_int_eq(build_net(&b, ctx, &net), BPG_EUNSUPPORTED);
	REQUIRE(strstr(bpg_ctx_message(ctx), "not exact"), "%s", bpg_ctx_message(ctx));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("numbers");
	TCase *t = tcase_create("random networks"), *once = tcase_create("once wrong");

	tcase_set_timeout(t, 3000);
	tcase_add_test(t, test_random);
	suite_add_tcase(suite, t);
	tcase_add_checked_fixture(once, setup, teardown);
	tcase_set_timeout(once, 60);
	tcase_add_loop_test(once, test_function_of_a_point, 0, 2);
	tcase_add_loop_test(once, test_overflow_on_ball, 0, 2);
	tcase_add_test(once, test_unbounded_times_zero);
	tcase_add_loop_test(once, test_folded, 0, 5);
	tcase_add_test(once, test_folded_parameter);
	suite_add_tcase(suite, once);
	SRunner *r = srunner_create(suite);
	srunner_run_all(r, CK_NORMAL);
	int failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
