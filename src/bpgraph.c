/* bpgraph.c - the public interface: network, question, options, run, result. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <bpgraph/bpgraph.h>

#include "net/plugin.h"
#include "onnx/onnx.h"
#include "report/result.h"
#include "rt/comm.h"
#include "rt/rt.h"
#include "spec/question.h"

/* ---- machine ---- */

int bpg_idle_cores(void)
{
	struct bpg_rt_facts f;
	const char *chosen = getenv("STARPU_NCPU");
	if (chosen && *chosen)
		return 0;
	bpg_rt_facts(&f);
	return BPG_MAX(f.cores - f.max_cpus, 0);
}

void bpg_machine_print(FILE *to)
{
	struct bpg_rt_facts f;
	int idle = bpg_idle_cores();
	bpg_rt_facts(&f);
	fprintf(to, "machine: %d cores, %d NUMA nodes, L2 %lld KiB, L3 %lld KiB\n", f.cores, f.numa_nodes, (long long)f.l2_bytes / 1024,
	        (long long)f.l3_bytes / 1024);
	if (idle)
		fprintf(to, "%d cores stay idle: this StarPU has at most %d CPU workers; a StarPU 1.4 built with --enable-maxcpus=%d has more\n", idle,
		        f.max_cpus, f.cores);
}

/* ---- ranks ---- */

enum bpg_status bpg_ranks_start(struct bpg_ctx *ctx)
{
	return bpg_comm_start(ctx);
}

int bpg_rank(void)
{
	return bpg_comm_rank();
}

enum bpg_status bpg_ranks_agree(struct bpg_ctx *ctx, enum bpg_status status)
{
	return bpg_comm_agree(ctx, status);
}

int bpg_ranks_end(int code)
{
	return bpg_comm_end(code);
}

/* ---- network ---- */

enum bpg_status bpg_net_open(struct bpg_ctx *ctx, const char *path, struct bpg_net **net)
{
	return bpg_net_open_as(ctx, path, NULL, net);
}

enum bpg_status bpg_net_open_as(struct bpg_ctx *ctx, const char *path, const struct bpg_net_wish *wish, struct bpg_net **net)
{
	*net = NULL;
	return bpg_onnx_load_as(ctx, path, wish, net);
}

void bpg_net_close(struct bpg_net *net)
{
	bpg_net_free(net);
}

enum bpg_status bpg_net_describe(struct bpg_ctx *ctx, const char *path, FILE *to)
{
	return bpg_onnx_describe(ctx, path, to);
}

int64_t bpg_net_in_count(const struct bpg_net *net)
{
	return net->in_count;
}

int64_t bpg_net_out_count(const struct bpg_net *net)
{
	return net->out_count;
}

enum bpg_status bpg_net_values(struct bpg_ctx *ctx, const struct bpg_net *net, const float *x, float *y)
{
	BPG_TRY(bpg_net_output_f32(ctx, net, x, y));
	return bpg_plugin_float_mode(ctx, net->path);
}

/* ---- question ---- */

enum bpg_status bpg_question_property(struct bpg_ctx *ctx, const struct bpg_net *net, const char *path, struct bpg_question **q)
{
	struct bpg_question *made = bpg_question_new(net->in_count, net->out_count);
	*q = NULL;
	if (!made)
		return bpg_nomem(ctx, "the question");
	enum bpg_status st = bpg_vnnlib_read(ctx, path, net->in_count, net->out_count, &made->spec);
	if (st)
		bpg_question_free(made);
	else
		*q = made;
	return st;
}

enum bpg_status bpg_question_box(struct bpg_ctx *ctx, const struct bpg_net *net, const double *lower, const double *upper, struct bpg_question **q)
{
	const struct bpg_numbers l = { .name = "lower", .n = net->in_count, .value = lower };
	const struct bpg_numbers u = { .name = "upper", .n = net->in_count, .value = upper };
	struct bpg_question *made = bpg_question_new(net->in_count, net->out_count);
	*q = NULL;
	if (!made)
		return bpg_nomem(ctx, "the question");
	enum bpg_status st = bpg_region_box(ctx, made->n, &l, &u, &made->region);
	if (st)
		bpg_question_free(made);
	else
		*q = made;
	return st;
}

/* ---- options ---- */

struct bpg_options *bpg_options_new(void)
{
	struct bpg_options *o = malloc(sizeof *o);
	if (o)
		bpg_options_init(o);
	return o;
}

void bpg_options_free(struct bpg_options *o)
{
	if (o)
		bpg_options_fini(o);
	free(o);
}

enum bpg_status bpg_options_set(struct bpg_ctx *ctx, struct bpg_options *o, const char *name, const char *value)
{
	char safe[128];
	int id = name ? bpg_option_find(name, strlen(name)) : -1;
	if (!name)
		return bpg_fail(ctx, BPG_EUSAGE, "an option without a name; give one of those of bpgraph run --help");
	if (id < 0)
		return bpg_fail(ctx, BPG_EUSAGE, "%s: no such option", bpg_printable(name, safe));
	BPG_TRY(bpg_option_set(ctx, o, id, value, BPG_FROM_CALL));
	return id == BPG_OPT_layer ? bpg_plugin_load(ctx, value) : BPG_OK; /* networks are opened without options, so at once */
}

void bpg_options_cancel(struct bpg_options *o, const volatile int *flag)
{
	o->cancel = flag;
}

/* ---- result ---- */

void bpg_result_free(struct bpg_result *r)
{
	if (r)
		bpg_arena_free(r->arena);
}

enum bpg_verdict bpg_result_verdict(const struct bpg_result *r)
{
	return r->verdict;
}

int64_t bpg_result_rows(const struct bpg_result *r)
{
	return r->rows;
}

const double *bpg_result_lower(const struct bpg_result *r)
{
	return r->lower;
}

const double *bpg_result_upper(const struct bpg_result *r)
{
	return r->upper;
}

const float *bpg_result_witness(const struct bpg_result *r)
{
	return r->witness_in;
}

const float *bpg_result_witness_outputs(const struct bpg_result *r)
{
	return r->witness_out;
}

double bpg_result_stat(const struct bpg_result *r, const char *name)
{
	for (int i = 0; i < r->stats; i++)
		if (!strcmp(r->stat[i].name, name))
			return r->stat[i].value;
	return NAN;
}

const char *bpg_result_stat_name(const struct bpg_result *r, int i)
{
	return i >= 0 && i < r->stats ? r->stat[i].name : NULL;
}
