/* bpgraph.h - certified bounds and verdicts, for programs.
 *
 *   struct bpg_ctx *ctx = bpg_ctx_new();
 *   bpg_net_open(ctx, "net.onnx", &net);
 *   bpg_question_property(ctx, net, "prop.vnnlib", &q);
 *   bpg_run(ctx, net, q, NULL, &result);
 *
 * Every function that can fail returns a status; bpg_ctx_message(ctx) is then one line for people. Objects that were
 * not made are null, and freeing null does nothing. One run at a time in a process: the runtime is shared. */
#ifndef BPGRAPH_BPGRAPH_H
#define BPGRAPH_BPGRAPH_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <bpgraph/error.h>

#ifdef __cplusplus
extern "C" {
#endif

BPG_API const char *bpg_version(void);
/* Lines about this machine: cores, caches, and cores that StarPU's limit on workers leaves idle. */
BPG_API void bpg_machine_print(FILE *to);
/* Cores beyond that limit; 0 where somebody chose the workers (STARPU_NCPU). */
BPG_API int bpg_idle_cores(void);

/* ---- network ---- */

struct bpg_net;

/* Reads an ONNX file (also .onnx.gz). */
BPG_API enum bpg_status bpg_net_open(struct bpg_ctx *ctx, const char *path, struct bpg_net **net);
BPG_API void bpg_net_close(struct bpg_net *net);

/* Prints what is in the file: nodes, shapes, operators that are not supported. */
BPG_API enum bpg_status bpg_net_describe(struct bpg_ctx *ctx, const char *path, FILE *to);

/* Elements of all inputs, and of all outputs; several tensors stand one behind the other, each row-major. */
BPG_API int64_t bpg_net_in_count(const struct bpg_net *net);
BPG_API int64_t bpg_net_out_count(const struct bpg_net *net);

/* Outputs y[out_count] at the point x[in_count], as a float32 runtime computes them. */
BPG_API enum bpg_status bpg_net_values(struct bpg_ctx *ctx, const struct bpg_net *net, const float *x, float *y);

/* Loads layers from a shared object, for the rest of the process; before networks that need them are opened, and not while
 * other threads use the library. doc/layers.md says how such a file is made. */
BPG_API enum bpg_status bpg_plugin_load(struct bpg_ctx *ctx, const char *path);

/* ---- question ---- */

struct bpg_question;

/* A VNN-LIB property (also .vnnlib.gz): it describes inputs and outputs that must not occur together. */
BPG_API enum bpg_status bpg_question_property(struct bpg_ctx *ctx, const struct bpg_net *net, const char *path, struct bpg_question **q);
/* Bounds of the outputs over the box lower[i] <= x[i] <= upper[i]. Arrays are copied. */
BPG_API enum bpg_status bpg_question_box(struct bpg_ctx *ctx, const struct bpg_net *net, const double *lower, const double *upper,
                                         struct bpg_question **q);
/* Bounds of C y + d in place of the outputs themselves: C [rows, out_count], d [rows] or null. Not for properties. */
BPG_API enum bpg_status bpg_question_rows(struct bpg_ctx *ctx, struct bpg_question *q, int64_t rows, const double *C, const double *d);
BPG_API void bpg_question_free(struct bpg_question *q);

/* ---- options ---- */

struct bpg_options;

BPG_API struct bpg_options *bpg_options_new(void);
BPG_API void bpg_options_free(struct bpg_options *o);
/* Names and values of the command line, without dashes: ("method", "crown"), ("timeout", "60"). Flags take "on" or "off". */
BPG_API enum bpg_status bpg_options_set(struct bpg_ctx *ctx, struct bpg_options *o, const char *name, const char *value);
/* A run ends soon after *flag is not zero. A signal handler or another thread may set it. */
BPG_API void bpg_options_cancel(struct bpg_options *o, const volatile int *flag);

/* ---- run ---- */

enum bpg_verdict {
	BPG_VERDICT_BOUNDS,       /* the question was no property */
	BPG_VERDICT_UNSAT,        /* the property holds, in real arithmetic */
	BPG_VERDICT_SAT,          /* a counterexample was found and replayed */
	BPG_VERDICT_UNKNOWN,
	BPG_VERDICT_TIMEOUT,      /* out of time; bounds so far are sound */
};
BPG_API const char *bpg_verdict_word(enum bpg_verdict verdict);

struct bpg_result;

/* Several processes that were started together by an MPI launcher are the ranks of one run. Each calls bpg_ranks_start before and
 * bpg_ranks_end at the end, and asks the same in between; results are the same at all, rank 0 is meant to print. Where a rank may
 * fail alone on the way to bpg_run, bpg_ranks_agree tells the others, who are in it: all get a failure. Without a launcher, and in
 * a build without MPI, there is one rank, number 0, and nothing happens. bpg_ranks_end returns what rank 0 gives it. */
BPG_API enum bpg_status bpg_ranks_start(struct bpg_ctx *ctx);
BPG_API int bpg_rank(void);
BPG_API enum bpg_status bpg_ranks_agree(struct bpg_ctx *ctx, enum bpg_status status);
BPG_API int bpg_ranks_end(int code);

/* Starting the runtime costs 10 to 50 ms. A program that asks many questions holds it: then every run uses the workers and
 * the memory of the last one. options: shards (null: defaults). */
BPG_API enum bpg_status bpg_runtime_hold(struct bpg_ctx *ctx, const struct bpg_options *options);
BPG_API void bpg_runtime_release(void);

/* Answers the question. options null: defaults. No failure and no limit ever gives BPG_VERDICT_UNSAT. */
BPG_API enum bpg_status bpg_run(struct bpg_ctx *ctx, const struct bpg_net *net, const struct bpg_question *q,
                                const struct bpg_options *options, struct bpg_result **result);
BPG_API void bpg_result_free(struct bpg_result *r);

BPG_API enum bpg_verdict bpg_result_verdict(const struct bpg_result *r);
/* Bounds of the rows asked (of a property: its rows), infinite where nothing is known. Owned by the result. */
BPG_API int64_t bpg_result_rows(const struct bpg_result *r);
BPG_API const double *bpg_result_lower(const struct bpg_result *r);
BPG_API const double *bpg_result_upper(const struct bpg_result *r);
/* Counterexample and the outputs there; null unless the verdict is sat. */
BPG_API const float *bpg_result_witness(const struct bpg_result *r);
BPG_API const float *bpg_result_witness_outputs(const struct bpg_result *r);

/* What the run cost, by name: "flops" (useful ones, of products), "workers", "bound_seconds", "search_seconds", and for each
 * kind of task that ran "tasks.KIND", "seconds.KIND" (inside tasks, all workers) and "cpu.KIND" (the same as CPU time; with
 * the option verbose or trace). NaN: no such figure. */
BPG_API double bpg_result_stat(const struct bpg_result *r, const char *name);
/* The name of figure i; null past the last one. */
BPG_API const char *bpg_result_stat_name(const struct bpg_result *r, int i);

#ifdef __cplusplus
}
#endif
#endif
