/* condition.h - what a reader says of conditions, bracket by bracket, becomes bounds of inputs and rows over the outputs.
 *
 * A stack of open brackets that grows with the text, never recursion. Every comparison is turned into a bound or a row as soon
 * as its bracket closes. Each reader has its own grammar; arithmetic, its rounding and the normal form are here. */
#ifndef BPG_CONDITION_H
#define BPG_CONDITION_H

#include "spec/linear.h"
#include "spec/normal.h"

enum bpg_operator {
	BPG_OP_ASSERT, BPG_OP_AND, BPG_OP_OR,
	BPG_OP_LE, BPG_OP_LT, BPG_OP_GE, BPG_OP_GT, BPG_OP_EQ, BPG_OP_NE,
	BPG_OP_ADD, BPG_OP_SUB, BPG_OP_MUL, BPG_OP_DIV,
};

static inline bool bpg_op_compares(enum bpg_operator op) { return op >= BPG_OP_LE && op <= BPG_OP_NE; }
static inline bool bpg_op_joins(enum bpg_operator op) { return op <= BPG_OP_OR; }  /* its operands are conditions */

/* An open bracket. */
struct bpg_frame {
	enum bpg_operator op;
	int64_t line, operands;
	struct bpg_linear acc;    /* arithmetic: result so far; comparison: the operand before */
};

/* Variables are numbered: inputs 0 .. inputs-1, then outputs. The first members are the reader's to set. */
struct bpg_conditions {
	struct bpg_ctx *ctx;
	const char *path;
	struct bpg_spec *spec;    /* rows go into its arena */
	struct bpg_normal *normal; /* null: conditions are looked at and not kept */
	int64_t inputs, outputs;
	int64_t depth_most;       /* brackets inside each other; 0: no limit but memory */
	bool relations;           /* rows may speak of inputs: input i is output `outputs + i` there. False: they are refused */
	void (*name)(const void *arg, int64_t var, char buf[128]); /* of a variable, for messages */
	const void *arg;

	struct bpg_frame *frame;
	int64_t depth, room;      /* frames in use */
	bool related;             /* a row that speaks of an input was kept */
	int64_t *same;            /* [inputs] an input that is always equal, itself where there is none; null: nowhere */
	struct bpg_linear value, difference;
	int64_t noted;            /* line of the first condition beyond what is supported, when none is kept; 0: none */
	char *note;
};

/* FILE:LINE: ... */
enum bpg_status bpg_fail_line(struct bpg_ctx *ctx, enum bpg_status code, const char *path, int64_t line, const char *format, ...)
	BPG_PRINTF(5, 6);
enum bpg_status bpg_vfail_line(struct bpg_ctx *ctx, enum bpg_status code, const char *path, int64_t line, const char *format,
                               va_list ap);

void bpg_conditions_fini(struct bpg_conditions *c);

/* For well-formed text that is beyond what is supported: a failure, or the note when conditions are not kept. */
enum bpg_status bpg_conditions_unsupported(struct bpg_conditions *c, int64_t line, const char *format, ...) BPG_PRINTF(3, 4);

/* The bracket under which operands come now. */
static inline struct bpg_frame *bpg_conditions_top(struct bpg_conditions *c) { return &c->frame[c->depth - 1]; }

/* '(' and an operator; for BPG_OP_ASSERT no bracket may be open. */
enum bpg_status bpg_conditions_open(struct bpg_conditions *c, enum bpg_operator op, int64_t line);
/* ')' in `line`. */
enum bpg_status bpg_conditions_close(struct bpg_conditions *c, int64_t line);
/* Operands. */
enum bpg_status bpg_conditions_variable(struct bpg_conditions *c, int64_t var, int64_t line);
enum bpg_status bpg_conditions_number(struct bpg_conditions *c, struct bpg_num k, int64_t line);
enum bpg_status bpg_conditions_truth(struct bpg_conditions *c, bool yes, int64_t line);

/* The input that stands for input x: the least one of those equal to it. Where `same` is null it is x. */
int64_t bpg_conditions_root(const struct bpg_conditions *c, int64_t x);

#endif
