/* layer.h - how to write a layer.
 *
 * A layer is one file and one constant `struct bpg_layer`. It sees shapes, attributes, constants and plain arrays,
 * never the runtime: what it states here is turned into tasks elsewhere. Scalar callbacks work in double, always.
 *
 * Four families:
 *   LINEAR   y = sum of coefficient * x + constant. The layer states the row of one output element (`terms`), and
 *            may say that the whole map is a dense matrix or a convolution; value, interval, backward, adjoint and
 *            supports are derived.
 *   UNARY    y_i = f(x_i). The layer states f, slopes of lines below and above it, and where f(x) - s*x can have an
 *            extreme; intercepts are computed outward by the family.
 *   GENERAL  everything else: own interval and sparse planes.
 *   CONSTANT known as soon as shapes and constant operands are known (Shape, Range, ConstantOfShape, Equal, ...):
 *            folded while the network is built, never part of it.
 *
 * A constant operand of any family is given as `value`; operands whose `value` is null are variable. When all
 * operands of a LINEAR, UNARY or GENERAL layer are constant the builder folds it with `eval`.
 *
 * Rounding contract: `interval` encloses every real value f takes on the box, for the constants as stored. Planes
 * enclose in real arithmetic, too, and their coefficients are float32 numbers. */
#ifndef BPGRAPH_LAYER_H
#define BPGRAPH_LAYER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <bpgraph/error.h>

#ifdef __cplusplus
extern "C" {
#endif

#define BPG_LAYER_ABI 2
#define BPG_MAX_RANK 8

/* Formulas that are compiled for the host and for devices. */
#if defined(__CUDACC__)
#define BPG_SCALAR static inline __host__ __device__
#else
#define BPG_SCALAR static inline
#endif

/* ---- tensors as a layer sees them ---- */

/* Constants are held in one of these; other ONNX types are converted when read (float16, bfloat16 to F32; integers and
 * bool to I64), exactly. */
enum bpg_dtype { BPG_F32, BPG_F64, BPG_I64 };

struct bpg_shape {
	int rank;
	int64_t dim[BPG_MAX_RANK];
};

BPG_API int64_t bpg_shape_count(const struct bpg_shape *shape);
BPG_API bool bpg_shape_equal(const struct bpg_shape *a, const struct bpg_shape *b);
/* Row-major strides in elements. */
BPG_API void bpg_shape_strides(const struct bpg_shape *shape, int64_t stride[BPG_MAX_RANK]);
/* Multidirectional (numpy) broadcast of two shapes; false when they do not fit. */
BPG_API bool bpg_shape_broadcast(const struct bpg_shape *a, const struct bpg_shape *b, struct bpg_shape *out);
/* Index into an operand of shape `in`, broadcast to `out`, of the flat output element i. */
BPG_API int64_t bpg_broadcast_index(const struct bpg_shape *in, const struct bpg_shape *out, int64_t i);

/* A constant tensor; large ones stay in their file. */
struct bpg_const;

BPG_API int64_t bpg_const_count(const struct bpg_const *c);
BPG_API enum bpg_dtype bpg_const_type(const struct bpg_const *c);
/* Element i. Any element of any constant, but made for small ones: a large one is read from its file each time. */
BPG_API double bpg_const_at(const struct bpg_const *c, int64_t i);
/* Elements first .. first+n-1 as double, or as float (nearest where the constant is not F32). */
BPG_API void bpg_const_read(const struct bpg_const *c, int64_t first, int64_t n, double *to);
BPG_API void bpg_const_read_f32(const struct bpg_const *c, int64_t first, int64_t n, float *to);
/* All elements in memory, for constants that are read over and over (kernels of convolutions). Owned by the
 * constant. Null when memory is short. */
BPG_API const float *bpg_const_pin_f32(struct bpg_const *c);
BPG_API const double *bpg_const_pin(struct bpg_const *c);
/* Bound on what element i, and on what any element, differs from the number meant: not 0 for constants that were computed
 * from others and rounded. Layers count it where they state errors (terms); it is 0 for everything a file holds. */
BPG_API double bpg_const_error(const struct bpg_const *c, int64_t i);
BPG_API double bpg_const_most_error(const struct bpg_const *c);
/* True when every element is a float32 number, so that reading it as float loses nothing. */
BPG_API bool bpg_const_is_f32(const struct bpg_const *c);

struct bpg_operand {
	struct bpg_shape shape;
	int64_t n;                /* elements; 0 also for an optional operand that is absent */
	bool absent;              /* optional operand not given */
	enum bpg_dtype type;      /* I64: integer arithmetic (division truncates) */
	struct bpg_const *value;  /* null: variable */
};

/* A node, one output each: a node of several outputs (Split) is imported once per output. */
struct bpg_layer;

struct bpg_node {
	const struct bpg_layer *layer;
	const char *name;         /* for messages; the ONNX name, or OP_number where it has none */
	const char *op;           /* ONNX operator */
	int nin;
	struct bpg_operand *in;
	struct bpg_operand out;
	void *attr;               /* the layer's own, from bpg_import_alloc */
};

/* ---- reading attributes ---- */

struct bpg_import;            /* one node while it is imported */

BPG_API int bpg_import_opset(const struct bpg_import *im);
BPG_API int bpg_import_output_index(const struct bpg_import *im); /* which output of the ONNX node this is */
BPG_API int bpg_import_output_count(const struct bpg_import *im);
BPG_API bool bpg_import_has(const struct bpg_import *im, const char *attribute);
BPG_API int64_t bpg_import_int(const struct bpg_import *im, const char *attribute, int64_t otherwise);
BPG_API double bpg_import_float(const struct bpg_import *im, const char *attribute, double otherwise);
/* Null when absent; lives as long as the import. */
BPG_API const char *bpg_import_string(const struct bpg_import *im, const char *attribute, const char *otherwise);
/* Number of integers, -1 when absent; *ints lives as long as the import. */
BPG_API int bpg_import_ints(const struct bpg_import *im, const char *attribute, const int64_t **ints);
BPG_API int bpg_import_floats(const struct bpg_import *im, const char *attribute, const float **floats);
/* Tensor attribute (Constant, ConstantOfShape); null when absent. Shape of it in *shape. Owned by the network. */
BPG_API struct bpg_const *bpg_import_tensor(const struct bpg_import *im, const char *attribute, struct bpg_shape *shape);
/* Zeroed memory with the network's lifetime; null when memory is short or size is absurd. */
BPG_API void *bpg_import_alloc(const struct bpg_import *im, size_t count, size_t size);
/* "FILE: node 'NAME' (OP): ..." */
BPG_API enum bpg_status bpg_import_fail(const struct bpg_import *im, enum bpg_status code, const char *format, ...) BPG_PRINTF(3, 4);

/* Integer list that is an attribute in old opsets and operand `operand` in new ones (axes, pads, split, ...).
 * Number of integers (at most `most`), -1 when given in neither way; fails when the operand is variable or longer. */
BPG_API enum bpg_status bpg_import_list(const struct bpg_import *im, const struct bpg_node *v, const char *attribute, int operand,
                                        int64_t *to, int most, int *count);
/* Axis in -rank .. rank-1 made non-negative; fails otherwise. */
BPG_API enum bpg_status bpg_import_axis(const struct bpg_import *im, int64_t axis, int rank, int *to);

/* ---- LINEAR ---- */

/* The row of one output element: y_i = sum_t coef[t] * x[input[t]][index[t]] + bias, in real arithmetic up to
 * |true coefficient - coef[t]| <= err[t] and |true bias - bias| <= bias_err. */
struct bpg_terms {
	int n, room;
	int *input;               /* operand number */
	int64_t *index;           /* flat element of that operand */
	double *coef, *err;
	double bias, bias_err;
	bool failed;              /* memory was short while adding */
};

BPG_API void bpg_terms_init(struct bpg_terms *t);
BPG_API void bpg_terms_fini(struct bpg_terms *t);
BPG_API void bpg_terms_reset(struct bpg_terms *t);   /* no terms, no bias; keeps the memory */
BPG_API void bpg_terms_add(struct bpg_terms *t, int input, int64_t index, double coef, double err);

/* y[o] = sum_k W[o,k] x[k] + b[o], one variable operand; W[o,k] = scale * value[base + o*stride_out + k*stride_in].
 * scale other than 1 or -1 is rounded into the weights, which the caller of `dense` counts. */
struct bpg_dense {
	int operand;              /* the variable one */
	struct bpg_const *weight;
	int64_t outs, ins, base, stride_out, stride_in;
	double scale;
	struct bpg_const *bias;   /* null: none; element (o * bias_stride) */
	int64_t bias_stride;
	double bias_scale;
};

/* Convolution over up to two spatial axes, or one matrix shared by many positions (a MatMul over tokens: kernel 1).
 * Element (c,y,x) of the variable operand is at c*in_stride[0] + y*in_stride[1] + x*in_stride[2], likewise the output.
 * y[oc,py,px] = b[oc] + sum_{ic,ky,kx} W * x[g*in_channels/groups + ic, py*stride[0] - pad[0] + ky*dilation[0], ...]
 * W at oc*w_stride[0] + ic*w_stride[1] + ky*w_stride[2] + kx*w_stride[3], ic within the group of oc. */
struct bpg_conv {
	int operand;
	struct bpg_const *weight;
	struct bpg_const *bias;   /* per output channel; null: none */
	int64_t in_channels, in_size[2], in_stride[3];
	int64_t out_channels, out_size[2], out_stride[3];
	int64_t kernel[2], stride[2], pad[2], dilation[2], groups;  /* pad: before; what lies outside the input is zero */
	int64_t w_stride[4];
};

/* ---- UNARY ---- */

struct bpg_slopes {
	double lo, up;            /* slopes of a line below and of a line above f on [l,u] */
	double dlo_dl, dlo_du, dlo_dalpha, dup_dl, dup_du, dup_dalpha; /* derivatives, for the alpha gradient; 0 by default */
};

enum bpg_alpha_enters { BPG_ALPHA_NONE, BPG_ALPHA_SLOPE, BPG_ALPHA_TANGENT };

struct bpg_unary {
	double (*f)(double x, const void *attr);
	double ulp;               /* error of f as computed, in units in the last place of the double result */
	double abs_err;           /* and an absolute one (libm functions near 0, cancellations); 0 mostly */
	double (*df)(double x, const void *attr);                   /* derivative, any subgradient at a kink */
	double curvature;         /* max |f''| away from kinks; 0: piecewise linear */
	/* Slopes for l < u (widths 0 never come here). alpha[0], alpha[1]: parameter of the lower and of the upper line;
	 * NaN: the layer's default. `rule` is enum bpg_slope_rule. */
	struct bpg_slopes (*slopes)(double l, double u, const double alpha[2], int rule, const void *attr);
	/* Legal range and start value of the parameter of the lower (side 0) or upper (side 1) line. Null: no parameter. */
	void (*alpha_range)(double l, double u, int side, const void *attr, double *least, double *most, double *start);
	enum bpg_alpha_enters enters;
	/* Points of (l,u) where f(x) - s*x may have an extreme: kinks, and solutions of f'(x) = s to a relative error of
	 * 1e-6 (curvature covers the rest). At most 8; returns how many. Null: none inside. */
	int (*extremes)(double s, double l, double u, const void *attr, double at[8]);
	/* Points where a monotone piece ends (for the interval of a function that is not monotone); at most 8. */
	int (*turns)(double l, double u, const void *attr, double at[8]);
	/* In place of f at the ends and at `turns`, where those do not say it: sets an outward interval of f over [l,u] and
	 * returns true. Everything from -infinity to infinity: f has a pole or no value somewhere in [l,u], nothing is known. */
	bool (*range)(double l, double u, const void *attr, double *lo, double *up);
	/* In place of `extremes`: the least (side 1) or greatest (side -1) value of f(x) - s*x over [l,u], outward. */
	double (*intercept)(double s, double l, double u, int side, const void *attr);
	/* Points where a split makes the function simpler on each side; at most 4. Null or 0: not branchable there. */
	int (*kinks)(double l, double u, const void *attr, double at[4]);
};

/* Lower slope of an unstable neuron before optimisation. ADAPTIVE: 1 if u > -l, else 0. */
enum bpg_slope_rule { BPG_SLOPE_ADAPTIVE, BPG_SLOPE_ZERO, BPG_SLOPE_ONE, BPG_SLOPE_SAME };

/* ---- GENERAL ---- */

/* Linear functions of all variable operands below and above output element i over the box l,u of each operand
 * (arrays per operand; null for constants): sum of coef*x + bias. coef are float32 numbers, err is 0, bias is rounded
 * outward (bias_err 0). An infinite bias says: no bound. */
typedef void bpg_planes_fn(const struct bpg_node *v, const double *const *l, const double *const *u, int64_t i,
                           struct bpg_terms *lower, struct bpg_terms *upper);

/* Another linear function below (side 0) or above (side 1) output element i, as valid as that of `planes`: McCormick's other
 * corner of a product, another element of a maximum, a tangent at another point. `which` counts from 0; false: there is no
 * more (t is left as it may be). At most BPG_OTHERS are asked for. A mean of planes below is a plane below, so an optimiser
 * gives each row weights of its own for them; `planes` is where it starts. Infinite planes are left out. */
enum { BPG_OTHERS = 8 };
typedef bool bpg_others_fn(const struct bpg_node *v, const double *const *l, const double *const *u, int64_t i, int side,
                           int which, struct bpg_terms *t);

/* ---- the layer ---- */

enum bpg_family { BPG_LINEAR, BPG_UNARY, BPG_GENERAL, BPG_CONSTANT };

enum bpg_traits {
	BPG_MONOTONE = 1,         /* UNARY: never falls */
	BPG_CONVEX = 2,
	BPG_CONCAVE = 4,
	BPG_PIECEWISE = 8,        /* piecewise linear */
	BPG_FREE_SLOPE = 16,      /* UNARY: with [l,u] around its kink, the lower line of any slope between 0 and 1 through
	                             the origin is valid (ReLU): a rounded coefficient is itself such a slope */
	BPG_SELECT = 32,          /* LINEAR: every output is one input element, 0 or a constant */
	BPG_NEEDS_KINK = 64,      /* needs tight bounds only of inputs whose interval contains a kink */
	BPG_NEEDS_SMOOTH = 128,   /* needs tight bounds of every input that is not constant */
};

struct bpg_rng;
BPG_API double bpg_rng_uniform(struct bpg_rng *rng);             /* [0,1) */
BPG_API int64_t bpg_rng_below(struct bpg_rng *rng, int64_t n);   /* 0 .. n-1 */
BPG_API double bpg_rng_normal(struct bpg_rng *rng);

/* A random legal instance for the conformance suite, as an ONNX node: operator, attributes and operands. */
struct bpg_sample;
BPG_API void bpg_sample_op(struct bpg_sample *s, const char *op, int opset);
BPG_API void bpg_sample_int(struct bpg_sample *s, const char *attribute, int64_t value);
BPG_API void bpg_sample_float(struct bpg_sample *s, const char *attribute, double value);
BPG_API void bpg_sample_string(struct bpg_sample *s, const char *attribute, const char *value);
BPG_API void bpg_sample_ints(struct bpg_sample *s, const char *attribute, int n, const int64_t *values);
BPG_API void bpg_sample_variable(struct bpg_sample *s, int rank, const int64_t *dim);
BPG_API void bpg_sample_constant(struct bpg_sample *s, int rank, const int64_t *dim, const double *values); /* null: random */
BPG_API void bpg_sample_integers(struct bpg_sample *s, int n, const int64_t *values);     /* I64, rank 1; n < 0: one, rank 0 */
/* The node has `count` outputs, this is number `index` (default: 1, 0). */
BPG_API void bpg_sample_outputs(struct bpg_sample *s, int count, int index);
BPG_API void bpg_sample_absent(struct bpg_sample *s);
/* Boxes are drawn inside lo..up (default -3..3). */
BPG_API void bpg_sample_domain(struct bpg_sample *s, double lo, double up);

struct bpg_layer {
	const char *name;         /* "relu" */
	const char *ops;          /* ONNX operators it imports, blank separated: "Gemm" or "MaxPool"; of a domain that is not
	                             ONNX's own "org.example::Bump", which is also what the node's `op` says then */
	enum bpg_family family;
	unsigned traits;

	/* Checks attributes and operands, sets v->attr, v->out.shape (and out.type; F32 by default, out.n is set by the
	 * caller). Refuses what it cannot do exactly. Null: bpg_import_same_shape. */
	enum bpg_status (*import)(const struct bpg_import *im, struct bpg_node *v);

	/* Concrete values: x[k] is operand k (constants too), y the output. eval in double; eval_f32 as a float32 runtime
	 * would (the replay of witnesses). LINEAR and UNARY have family defaults for these and for interval and gradient.
	 * CONSTANT: eval only, y in double, called with the constant operands that have values. */
	enum bpg_status (*eval)(const struct bpg_node *v, const double *const *x, double *y);
	enum bpg_status (*eval_f32)(const struct bpg_node *v, const float *const *x, float *y);

	/* Interval of output elements first .. first+n-1 from boxes of the operands, outward. l[k], u[k] null: constant. */
	enum bpg_status (*interval)(const struct bpg_node *v, const double *const *l, const double *const *u,
	                            int64_t first, int64_t n, double *lo, double *up);

	/* Gradient of a scalar: gx[k] += J_k^T gy at the point x (double; for attacks). */
	enum bpg_status (*gradient)(const struct bpg_node *v, const double *const *x, const double *gy, double *const *gx);

	/* LINEAR */
	void (*terms)(const struct bpg_node *v, int64_t i, struct bpg_terms *t);
	bool (*dense)(const struct bpg_node *v, struct bpg_dense *d);
	bool (*conv)(const struct bpg_node *v, struct bpg_conv *c);

	/* UNARY */
	const struct bpg_unary *unary;

	/* GENERAL */
	bpg_planes_fn *planes;
	bpg_others_fn *others;    /* null: none */

	/* Random legal instance, required for the tests. UNARY default: bpg_sample_box. CONSTANT layers need none. */
	void (*sample)(struct bpg_rng *rng, struct bpg_sample *s);
};

/* What a node does, family defaults in place of callbacks that are null. */
BPG_API enum bpg_status bpg_node_eval(const struct bpg_node *v, const double *const *x, double *y);
BPG_API enum bpg_status bpg_node_eval_f32(const struct bpg_node *v, const float *const *x, float *y);
BPG_API enum bpg_status bpg_node_interval(const struct bpg_node *v, const double *const *l, const double *const *u,
                                          int64_t first, int64_t n, double *lo, double *up);
BPG_API enum bpg_status bpg_node_gradient(const struct bpg_node *v, const double *const *x, const double *gy, double *const *gx);

/* Import of a layer without attributes whose output has the shape of operand 0. */
BPG_API enum bpg_status bpg_import_same_shape(const struct bpg_import *im, struct bpg_node *v);
/* Sampler: one variable operand of random shape. */
BPG_API void bpg_sample_box(struct bpg_rng *rng, struct bpg_sample *s);

#define BPG_LAYER(id, fam, ...) const struct bpg_layer bpg_layer_##id = { .name = #id, .family = fam, __VA_ARGS__ }
#define BPG_LINEAR_LAYER(id, ...) BPG_LAYER(id, BPG_LINEAR, __VA_ARGS__)
#define BPG_UNARY_LAYER(id, ...) BPG_LAYER(id, BPG_UNARY, __VA_ARGS__)
#define BPG_GENERAL_LAYER(id, ...) BPG_LAYER(id, BPG_GENERAL, __VA_ARGS__)
#define BPG_CONSTANT_LAYER(id, ...) BPG_LAYER(id, BPG_CONSTANT, __VA_ARGS__)

/* ---- layers from outside: a shared object with this symbol, loaded by --layer FILE.so or bpg_plugin_load ----
 *
 * Do not link it with libbpgraph: the functions above are those of the program that loads it, and a second copy of them
 * is refused. It keeps the rounding of the thread as it is (never -ffast-math or -Ofast). Operators that are there
 * already are refused. Layers may not keep state: callbacks run on many threads at once. */
struct bpg_layer_plugin {
	int abi;                  /* BPG_LAYER_ABI: read first */
	int layer_size, unary_size, node_size; /* of struct bpg_layer, bpg_unary, bpg_node, as compiled */
	const char *name;         /* for people */
	int layers;
	const struct bpg_layer *const *layer;
};
extern BPG_API const struct bpg_layer_plugin bpg_layer_plugin;

/* BPG_LAYER_PLUGIN("name", &bpg_layer_mine, &bpg_layer_other); */
#define BPG_LAYER_PLUGIN(text, ...)                                                                                        \
	static const struct bpg_layer *const bpg_plugin_list[] = { __VA_ARGS__ };                                          \
	const struct bpg_layer_plugin bpg_layer_plugin = { BPG_LAYER_ABI, (int)sizeof(struct bpg_layer),                   \
		(int)sizeof(struct bpg_unary), (int)sizeof(struct bpg_node), text,                                         \
		(int)(sizeof bpg_plugin_list / sizeof *bpg_plugin_list), bpg_plugin_list }

#ifdef __cplusplus
}
#endif
#endif
