/* family.h - what the families offer to each other, to layers, and to bpg_node_* (family.c). */
#ifndef BPG_FAMILY_H
#define BPG_FAMILY_H

#include <bpgraph/layer.h>

/* ---- UNARY defaults (family_unary.c) ---- */

enum bpg_status bpg_unary_default_eval(const struct bpg_node *v, const double *const *x, double *y);
enum bpg_status bpg_unary_default_eval_f32(const struct bpg_node *v, const float *const *x, float *y);
enum bpg_status bpg_unary_default_interval(const struct bpg_node *v, const double *const *l, const double *const *u,
                                           int64_t first, int64_t n, double *lo, double *up);
enum bpg_status bpg_unary_default_gradient(const struct bpg_node *v, const double *const *x, const double *gy,
                                           double *const *gx);

/* ---- LINEAR defaults (family_linear.c): constants are read from the node, x[k], l[k], u[k] of them never ---- */

enum bpg_status bpg_linear_default_eval(const struct bpg_node *v, const double *const *x, double *y);
enum bpg_status bpg_linear_default_eval_f32(const struct bpg_node *v, const float *const *x, float *y);
enum bpg_status bpg_linear_default_interval(const struct bpg_node *v, const double *const *l, const double *const *u,
                                            int64_t first, int64_t n, double *lo, double *up);
enum bpg_status bpg_linear_default_gradient(const struct bpg_node *v, const double *const *x, const double *gy,
                                           double *const *gx);

/* The same from `terms` alone, the reference of the fast paths. */
enum bpg_status bpg_linear_terms_eval(const struct bpg_node *v, const double *const *x, double *y);
enum bpg_status bpg_linear_terms_interval(const struct bpg_node *v, const double *const *l, const double *const *u,
                                          int64_t first, int64_t n, double *lo, double *up);

/* ---- for layers ---- */

/* Fails unless least <= operands <= most and the first `least` are there. */
enum bpg_status bpg_import_operands(const struct bpg_import *im, const struct bpg_node *v, int least, int most);

/* Fails unless operand k is a constant; the message calls it `what`. */
enum bpg_status bpg_import_constant(const struct bpg_import *im, const struct bpg_node *v, int k, const char *what);

/* Keeps the constants of a node that has a variable operand in memory: for layers that read them element by element. */
enum bpg_status bpg_import_pin(const struct bpg_import *im, const struct bpg_node *v);

/* True when operand k is given (constant or variable). */
static inline bool bpg_given(const struct bpg_node *v, int k) { return k < v->nin && !v->in[k].absent; }

/* The output type of an operator that moves or combines elements: integer when all given operands are. */
enum bpg_dtype bpg_common_type(const struct bpg_node *v, int first, int last);

/* Adds 1 * (element `index` of operand k): a term when it is variable, part of the bias when it is constant. Exact as
 * long as the bias was 0. */
void bpg_terms_take(const struct bpg_node *v, struct bpg_terms *t, int k, int64_t index);

/* Adds coef * (constant b) to the bias, the rounding to bias_err. */
void bpg_terms_bias(struct bpg_terms *t, double coef, double b);

/* Adds coef * (element i of the constant c), |true coef - coef| <= coef_err; the rounding and the errors to bias_err. */
void bpg_terms_constant(struct bpg_terms *t, double coef, double coef_err, const struct bpg_const *c, int64_t i);

/* Multiplies; -1 when the product would pass 2^40 or a factor is negative: sizes that no tensor has. */
int64_t bpg_size_mul(int64_t a, int64_t b);

#endif
