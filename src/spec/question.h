/* question.h - what is asked: a property, or a region and rows. */
#ifndef BPG_QUESTION_H
#define BPG_QUESTION_H

#include "base/options.h"
#include "spec/region.h"
#include "spec/spec.h"

/* What was written in decimals is rounded so that the question asked is not smaller than the one written. */
struct bpg_question {
	struct bpg_arena *arena;  /* of the arrays here */
	int64_t n, outputs;       /* elements of the network's inputs and outputs */
	struct bpg_spec *spec;    /* a property; null: the region and the rows below */
	struct bpg_region *region;
	bool unit;                /* nobody chose the region */

	/* Rows C y + d, each number known up to *_err; C null: the outputs themselves. d, d_err are never null with C. */
	int64_t rows;
	double *C, *C_err, *d, *d_err;
};

/* From the region and row options; a network of n inputs and m outputs. */
enum bpg_status bpg_question_from_options(struct bpg_ctx *ctx, const struct bpg_options *o, int64_t n, int64_t m, struct bpg_question **q);
/* Fails when an option speaks of a region although the property has one. */
enum bpg_status bpg_question_no_region(struct bpg_ctx *ctx, const struct bpg_options *o);

/* An empty one, about the outputs themselves. Null when memory is short. */
struct bpg_question *bpg_question_new(int64_t n, int64_t m);

#endif
