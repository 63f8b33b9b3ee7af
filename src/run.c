/* run.c - one question from start to end: runtime, bounds or verdict, result. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include <bpgraph/bpgraph.h>

#include "bab/decide.h"
#include "bab/fingerprint.h"
#include "bab/questions.h"
#include "base/options.h"
#include "graph/crown.h"
#include "codelets/kernel.h"
#include "graph/dot.h"
#include "graph/estimate.h"
#include "graph/fill.h"
#include "net/plugin.h"
#include "report/output.h"
#include "report/plan.h"
#include "report/progress.h"
#include "report/result.h"
#include "rt/comm.h"
#include "spec/question.h"

struct run {
	struct bpg_ctx *ctx;
	const struct bpg_net *net;
	const struct bpg_question *q;
	const struct bpg_options *o;
	struct bpg_rt *rt;
	struct bpg_bound_options bound;
	struct bpg_result *r;
	double deadline;
	FILE *dot;
	struct bpg_machine machine; /* described by --machine */
	struct bpg_progress progress;
};

/* Slopes are optimised from the start. Splits need a property: without one beta-crown is alpha-crown. */
static bool optimised(const struct bpg_options *o)
{
	return o->method == BPG_METHOD_ALPHA || o->method == BPG_METHOD_BETA;
}

/* Processes that are here, or planned for. */
static int ranks(const struct bpg_options *o)
{
	return BPG_MAX(bpg_comm_ranks(), (int)o->ranks);
}

static int owners(const struct bpg_options *o)
{
	return ranks(o) > 1 ? ranks(o) : (int)o->shards;
}

/* STARPU_NCPU, as the runtime reads it; 0: not set. */
static int workers_asked(void)
{
	const char *value = getenv("STARPU_NCPU");

	return value ? atoi(value) : 0;
}

/* The model's work goes to a simulation, too, where a machine is described. */
static enum bpg_status begin_estimate(struct run *x, struct bpg_model *m)
{
	if (!x->o->machine)
		return BPG_OK;
	m->estimate = bpg_estimate_new(m, &x->machine, workers_asked());
	return m->estimate ? BPG_OK : bpg_nomem(x->ctx, "an estimate");
}

static void end_estimate(struct run *x, struct bpg_model *m)
{
	struct bpg_result_estimate *e = m->estimate ? bpg_arena_alloc(x->r->arena, 1, sizeof *e) : NULL;

	if (e) {
		bpg_estimate_result(m->estimate, e);
		e->machine = bpg_arena_str(x->r->arena, x->machine.name);
		e->memory = x->machine.memory / (x->machine.gpu ? 1 : BPG_MIN(x->machine.owners, (double)owners(x->o)));
		x->r->estimate = e;
	}
	bpg_estimate_free(m->estimate);
	m->estimate = NULL;
}

/* One owner and several do not go together. */
static enum bpg_status check_placement(const struct run *x)
{
	if (x->o->placement == BPG_PLACEMENT_SINGLE && owners(x->o) > 1)
		return bpg_fail(x->ctx, BPG_EUSAGE, "--placement single has one owner, %d are asked for; choose rows or fsdp, or one rank and no --shards", owners(x->o));
	if (ranks(x->o) > 1 && x->o->shards > 1)
		return bpg_fail(x->ctx, BPG_EUSAGE, "--shards are owners inside one process, here each of %d ranks is one; leave --shards out", ranks(x->o));
	bool tp = x->o->placement == BPG_PLACEMENT_TP;
	if (tp && optimised(x->o))
		return bpg_fail(x->ctx, BPG_EUNSUPPORTED, "--placement tp bounds by ibp, crown-ibp and crown in this version, not by %s; choose one of these, or --placement rows", x->r->method);
	if (!tp && x->o->tp_bounds && x->o->source[BPG_OPT_tp_bounds] >= BPG_FROM_LINE)
		return bpg_fail(x->ctx, BPG_EUSAGE, "--tp-bounds says how --placement tp bounds; give that, or leave it out");
	if (tp && (x->o->checkpoint || x->o->resume))
		return bpg_fail(x->ctx, BPG_EUNSUPPORTED, "--placement tp decides by bounds, without a search, in this version; leave --checkpoint and --resume out");
	if (bpg_comm_ranks() > 1 && (x->o->checkpoint || x->o->resume))
		return bpg_fail(x->ctx, BPG_EUNSUPPORTED, "a search over ranks is not saved in this version; leave --checkpoint and --resume out, or start one rank");
	if (x->o->groups > 1 && x->o->groups != bpg_comm_ranks())
		return bpg_fail(x->ctx, BPG_EUNSUPPORTED, "--groups %lld: each rank is a group in this version, or all are one; here there are %d", (long long)x->o->groups, bpg_comm_ranks());
	if (x->o->groups > 1 && x->o->force_synchronous)
		return bpg_fail(x->ctx, BPG_EUSAGE, "--force-synchronous: %lld groups have no common order; leave --groups out", (long long)x->o->groups);
	if (bpg_comm_ranks() > 1 && x->o->alpha_sharing && optimised(x->o))
		return bpg_fail(x->ctx, BPG_EUNSUPPORTED, "--alpha-sharing node sums over the rows of all ranks, which is not built yet; leave it out");
	return BPG_OK;
}

/* Of ranks that search: all together where that saves memory that somebody cares for, or order matters; else each for itself. */
static int groups(const struct bpg_options *o)
{
	bool one = o->force_synchronous || o->memory > 0 || o->placement == BPG_PLACEMENT_ROWS || o->placement == BPG_PLACEMENT_FSDP;

	return o->groups ? (int)o->groups : one ? 1 : bpg_comm_ranks();
}

static const char *placement_name(const struct bpg_options *o)
{
	static const char *const name[] = { [BPG_PLACEMENT_SINGLE] = "single", [BPG_PLACEMENT_ROWS] = "rows", [BPG_PLACEMENT_FSDP] = "fsdp",
		                            [BPG_PLACEMENT_OFFLOAD] = "offload", [BPG_PLACEMENT_TP] = "tp" };

	return name[o->placement ? o->placement : owners(o) > 1 ? BPG_PLACEMENT_ROWS : BPG_PLACEMENT_SINGLE];
}

static void set_bound_options(struct run *x)
{
	const struct bpg_options *o = x->o;
	static const int sides[] = { [BPG_SIDES_BOTH] = 3, [BPG_SIDES_LOWER] = 1, [BPG_SIDES_UPPER] = 2 };

	x->bound = (struct bpg_bound_options){
		.method = o->method == BPG_METHOD_AUTO || optimised(o) ? BPG_METHOD_CROWN : (enum bpg_method)o->method,
		.iterations = optimised(o) ? (int)o->iterations : 0,
		.objective = (enum bpg_objective)o->objective,
		.rate = o->lr,
		.decay = o->lr_decay,
		.beta_rate = o->lr_beta,
		.sharing = o->alpha_sharing != 0,
		.patience = (int)o->patience,
		.goal = INFINITY,
		.slope = (enum bpg_slope_rule)o->slope,
		.wide = o->precision == BPG_PRECISION_F64,
		.slack = o->sound != BPG_SOUND_OFF,
		.sides = sides[o->sides],
		.panel = o->panel,
		.tile = o->tile,
		.wave = o->wave,
		.placement = (enum bpg_placement)o->placement,
		.zone_intervals = o->tp_bounds == BPG_TP_IBP,
		.owners = owners(o),
		.ranks = ranks(o),
		.rank = bpg_comm_rank(),
		.memory = (size_t)o->memory,
		.progress = bpg_progress_step,
		.progress_arg = &x->progress,
	};
}

/* The rows of a question without a property; null: the outputs themselves. */
static enum bpg_status question_rows(struct run *x, struct bpg_question_row **rows, int64_t *count)
{
	const struct bpg_question *q = x->q;
	int64_t n = x->net->out_count, *index;

	*rows = NULL;
	*count = q->C ? q->rows : n;
	if (!q->C)
		return BPG_OK;
	index = bpg_arena_alloc(x->r->arena, (size_t)n + 1, sizeof *index);
	*rows = bpg_arena_alloc(x->r->arena, (size_t)q->rows + 1, sizeof **rows);
	if (!*rows || !index)
		return bpg_nomem(x->ctx, "the rows asked");
	for (int64_t j = 0; j < n; j++)
		index[j] = j;
	for (int64_t i = 0; i < q->rows; i++)
		(*rows)[i] = (struct bpg_question_row){ .n = (int)n, .index = index, .coef = q->C + i * n, .offset = q->d[i],
			                                .coef_err = q->C_err ? q->C_err + i * n : NULL, .offset_err = q->d_err ? q->d_err[i] : 0 };
	return BPG_OK;
}

/* Bounds by a method that takes less time, before those that take long: what a run that is out of time can still say. A failure
 * is that of the run itself, which comes to it again. */
static void bound_early(struct run *x, enum bpg_method method, const struct bpg_question_row *row, double *lo, double *up)
{
	struct bpg_bound_options o = x->bound;
	struct bpg_model *m = NULL;

	o.method = method;
	o.iterations = 0;
	o.progress = NULL;
	if (bpg_model_new(x->ctx, x->net, x->rt, x->q->region, &o, &m))
		return;
	if (bpg_bounds(x->ctx, m, row, x->r->rows, lo, up))
		for (int64_t i = 0; i < x->r->rows; i++)
			lo[i] = -INFINITY, up[i] = INFINITY;
	x->r->tasks += m->steps;
	bpg_model_free(m);
}

static void tighter(int64_t rows, double *lo, double *up, const double *l, const double *u)
{
	for (int64_t i = 0; i < rows; i++)
		lo[i] = BPG_MAX(lo[i], l[i]), up[i] = BPG_MIN(up[i], u[i]);
}

/* Bounds of the rows of a question without a property. */
static enum bpg_status bounds(struct run *x)
{
	struct bpg_result *r = x->r;
	struct bpg_model *m = NULL;
	struct bpg_question_row *row = NULL;
	double *lo, *up, *early_lo, *early_up;
	enum bpg_status st;

	BPG_TRY(question_rows(x, &row, &r->rows));
	lo = bpg_arena_alloc(r->arena, (size_t)r->rows + 1, sizeof *lo);
	up = bpg_arena_alloc(r->arena, (size_t)r->rows + 1, sizeof *up);
	early_lo = bpg_arena_alloc(r->arena, (size_t)r->rows + 1, sizeof *early_lo);
	early_up = bpg_arena_alloc(r->arena, (size_t)r->rows + 1, sizeof *early_up);
	if (!lo || !up || !early_lo || !early_up)
		return bpg_nomem(x->ctx, "the result");
	r->lower = lo;
	r->upper = up;
	for (int64_t i = 0; i < r->rows; i++)
		lo[i] = early_lo[i] = -INFINITY, up[i] = early_up[i] = INFINITY;
	double start = bpg_now();
	if (x->deadline > 0 && x->bound.method != BPG_METHOD_IBP)
		bound_early(x, BPG_METHOD_IBP, row, early_lo, early_up);
	if (x->deadline > 0 && x->bound.iterations) {
		bound_early(x, x->bound.method, row, lo, up);
		tighter(r->rows, early_lo, early_up, lo, up);
	}
	BPG_TRY(bpg_model_new(x->ctx, x->net, x->rt, x->q->region, &x->bound, &m));
	m->dot = x->dot;
	st = begin_estimate(x, m);
	if (!st)
		st = bpg_bounds(x->ctx, m, row, r->rows, lo, up);
	r->seconds.bound = bpg_now() - start;
	end_estimate(x, m);
	r->verdict = st == BPG_ECANCELLED ? BPG_VERDICT_TIMEOUT : BPG_VERDICT_BOUNDS;
	if (st == BPG_ECANCELLED) {
		st = BPG_OK;
		tighter(r->rows, lo, up, early_lo, early_up);
	}
	if (!st)
		st = bpg_result_fill(x->ctx, r, m, x->o->layer_bounds);
	bpg_model_free(m);
	return st;
}

static void add_stat(struct bpg_result *r, struct bpg_stat *stat, const char *what, const char *kind, double value)
{
	char name[64];
	snprintf(name, sizeof name, "%s%s%s", what, kind ? "." : "", kind ? kind : "");
	const char *kept = bpg_arena_str(r->arena, name);
	if (kept)
		stat[r->stats++] = (struct bpg_stat){ kept, value };
}

/* The figures of bpg_result_stat. A result without them is a result all the same, so memory that is short is no failure. */
static void keep_stats(struct run *x)
{
	struct bpg_result *r = x->r;
	struct bpg_stat *stat = bpg_arena_alloc(r->arena, 4 + 3 * BPG_TASK_KINDS, sizeof *stat);
	struct bpg_rt_stats s;

	if (!stat)
		return;
	r->stat = stat;
	bpg_rt_stats(x->rt, &s);
	add_stat(r, stat, "workers", NULL, r->workers);
	add_stat(r, stat, "bound_seconds", NULL, r->seconds.bound);
	add_stat(r, stat, "search_seconds", NULL, r->seconds.search);
	add_stat(r, stat, "flops", NULL, s.flops);
	for (int k = 0; k < BPG_TASK_KINDS; k++) {
		const char *kind = bpg_task_kind_name((enum bpg_task_kind)k);
		if (!s.tasks[k])
			continue;
		add_stat(r, stat, "tasks", kind, (double)s.tasks[k]);
		add_stat(r, stat, "seconds", kind, s.seconds[k]);
		if (x->o->trace || x->o->verbose)
			add_stat(r, stat, "cpu", kind, s.cpu[k]);
	}
}

static void keep_kinds(struct run *x)
{
	struct bpg_result_kind *kind = bpg_arena_alloc(x->r->arena, BPG_TASK_KINDS, sizeof *kind);
	struct bpg_rt_stats s;

	x->r->devices = bpg_rt_devices(x->rt);
	if (!kind || !x->r->devices)
		return;
	x->r->kind = kind;
	bpg_rt_stats(x->rt, &s);
	for (int k = 0; k < BPG_TASK_KINDS; k++)
		if (s.tasks[k])
			kind[x->r->kinds++] = (struct bpg_result_kind){ bpg_task_kind_name((enum bpg_task_kind)k), s.tasks[k], s.twins[k] };
}

/* What each rank tells the others at the end. */
struct figures {
	int64_t peak, rss, tasks, received, sent, domains, moved, frontier, spilled, parameters;
	double waiting;
};

/* Share of the time of bounds and search in which workers ran no task. */
static double waiting(const struct run *x)
{
	double all = (x->r->seconds.bound + x->r->seconds.search) * bpg_rt_workers(x->rt), busy = 0;
	struct bpg_rt_stats s;

	bpg_rt_stats(x->rt, &s);
	for (int k = 0; k < BPG_TASK_KINDS; k++)
		busy += s.seconds[k];
	return all > 0 ? BPG_MAX(1 - busy / all, 0.0) : 0;
}

static void finish(struct run *x)
{
	struct bpg_result *r = x->r;
	int ranks = bpg_comm_ranks();
	struct rusage use;
	int64_t *peak = bpg_arena_alloc(r->arena, (size_t)r->owners + 1, sizeof *peak), *rss = bpg_arena_alloc(r->arena, (size_t)ranks, sizeof *rss);
	int64_t *parameters = bpg_arena_alloc(r->arena, (size_t)ranks, sizeof *parameters);
	int64_t *received = bpg_arena_alloc(r->arena, (size_t)r->owners + 1, sizeof *received);
	double *idle = bpg_arena_alloc(r->arena, (size_t)ranks, sizeof *idle);
	bool counts = r->groups != 1 || bpg_comm_rank() == 0; /* ranks of one group have the same domains */
	struct figures mine = { .tasks = r->tasks, .domains = counts ? r->domains : 0, .moved = r->moved, .frontier = r->frontier_bytes, .spilled = r->spilled_bytes,
	                        .waiting = waiting(x) }, *all = bpg_calloc((size_t)ranks, sizeof *all);

	getrusage(RUSAGE_SELF, &use);
	mine.parameters = (int64_t)bpg_rt_peak_parameters(x->rt);
	mine.rss = (int64_t)use.ru_maxrss * 1024;
	mine.peak = (int64_t)bpg_rt_peak_bytes(x->rt, ranks > 1 ? bpg_comm_rank() : 0);
	bpg_rt_traffic(x->rt, &mine.received, &mine.sent);
	if (all)
		bpg_comm_share(&mine, all, sizeof mine);
	if (peak && rss && parameters && received && idle && all) {
		for (int i = 0; ranks > 1 && i < ranks; i++)
			peak[i] = all[i].peak, received[i] = all[i].received;
		for (int i = 0; ranks == 1 && i < r->owners; i++)
			peak[i] = (int64_t)bpg_rt_peak_bytes(x->rt, i);
		r->tasks = r->domains = r->moved = r->frontier_bytes = r->spilled_bytes = 0;
		for (int i = 0; i < ranks; i++) {
			rss[i] = all[i].rss;
			parameters[i] = all[i].parameters;
			idle[i] = all[i].waiting;
			r->tasks += all[i].tasks;
			r->domains += all[i].domains;
			r->moved += all[i].moved;
			r->frontier_bytes += all[i].frontier;
			r->spilled_bytes += all[i].spilled;
		}
		r->peak_bytes = peak;
		r->peak_rss_bytes = rss;
		r->parameter_bytes = parameters;
		r->waiting = idle;
		r->ranks = ranks;
		r->received_bytes = ranks > 1 ? received : NULL;
	}
	free(all);
	r->workers = bpg_rt_workers(x->rt);
	r->scheduler = bpg_arena_str(r->arena, bpg_rt_scheduler(x->rt));
	keep_stats(x);
	keep_kinds(x);
	r->seconds.total = bpg_now() - bpg_process_start();
}

/* Rows and region that a plan is made for: those of the question, or of the first disjunct of a property. */
static enum bpg_status plan(struct run *x, struct bpg_plan *to)
{
	const struct bpg_disjunct *d = x->q->spec && x->q->spec->disjuncts ? &x->q->spec->disjunct[0] : NULL;
	struct bpg_region of_property = { 0 };
	struct bpg_question_row *row = NULL;
	struct bpg_model *m = NULL;
	int64_t count;
	enum bpg_status st;

	if (x->q->spec && (!d || !d->rows))
		return bpg_fail(x->ctx, BPG_EUNSUPPORTED, "%s: nothing to plan: the property asks for no bounds", x->q->spec->path);
	if (d) {
		of_property = (struct bpg_region){ .n = d->box->n, .lo = d->box->lo, .up = d->box->up };
		count = bpg_questions(d);
		row = bpg_arena_alloc(x->r->arena, (size_t)count + 1, sizeof *row);
		if (!row || !bpg_questions_ask(x->r->arena, d, row))
			return bpg_nomem(x->ctx, "the rows asked");
		x->bound.sides = 1;
	} else {
		BPG_TRY(question_rows(x, &row, &count));
	}
	double *lo = bpg_arena_alloc(x->r->arena, (size_t)count + 1, sizeof *lo), *up = bpg_arena_alloc(x->r->arena, (size_t)count + 1, sizeof *up);
	if (!lo || !up)
		return bpg_nomem(x->ctx, "the rows asked");
	BPG_TRY(bpg_model_new(x->ctx, x->net, x->rt, d ? &of_property : x->q->region, &x->bound, &m));
	m->dry = true;
	m->dot = x->dot;
	st = begin_estimate(x, m);
	if (!st)
		st = bpg_bounds(x->ctx, m, row, count, lo, up);
	end_estimate(x, m);
	if (!st)
		st = bpg_result_fill(x->ctx, x->r, m, false);
	bool dealt = m->options.ranks > 1 && m->placement != BPG_PLACEMENT_FSDP; /* rows are */
	int64_t *traffic = bpg_arena_alloc(x->r->arena, (size_t)m->options.owners, sizeof *traffic);
	if (!st && !traffic)
		st = bpg_nomem(x->ctx, "the plan");
	if (!st) {
		memcpy(traffic, m->traffic, (size_t)m->options.owners * sizeof *traffic);
		*to = (struct bpg_plan){ .owners = m->options.owners, .predicted_bytes = x->r->predicted_bytes, .alpha_bytes = x->r->alpha_bytes,
			                 .shared = x->bound.sharing, .kept_stages = x->r->kept_stages, .recomputed_stages = x->r->recomputed_stages, .traffic_bytes = traffic, .tasks = m->planned,
			                 .flops = m->flops, .plan_hash = x->r->plan_hash,
			                 .estimate = x->r->estimate,
			                 .seconds = x->r->estimate ? x->r->estimate->seconds : m->flops / (1e9 * bpg_kernel_rate() * bpg_rt_workers(x->rt) * (dealt ? m->options.ranks : 1)) };
	}
	bpg_model_free(m);
	return st;
}

/* What rank 0 has, at all. */
static bool share_first(void *data, size_t bytes)
{
	char *all = malloc((size_t)bpg_comm_ranks() * bytes + 1);

	if (!all)
		abort(); /* the others wait for this rank, and cannot be told */
	bool shared = bpg_comm_share(data, all, bytes);
	if (shared)
		memcpy(data, all, bytes);
	free(all);
	return shared;
}

static enum bpg_status decide(struct run *x)
{
	struct bpg_decide d = { .ctx = x->ctx, .net = x->net, .spec = x->q->spec, .rt = x->rt, .bound = x->bound, .attack = x->o->attack == BPG_ATTACK_ON,
		                .then_iterations = x->o->method == BPG_METHOD_AUTO ? (int)x->o->iterations : 0, .search = x->o->method == BPG_METHOD_AUTO || x->o->method == BPG_METHOD_BETA,
		                .branching = (enum bpg_branching)x->o->branching, .batch = (int)x->o->batch,
		                .synchronous = x->o->force_synchronous, .search_progress = bpg_progress_search, .search_progress_arg = &x->progress,
		                .seed = (uint64_t)x->o->seed, .deadline = x->deadline, .layer_bounds = x->o->layer_bounds, .dot = x->dot, .result = x->r,
		                .spill = x->o->spill, .checkpoint = x->o->checkpoint, .checkpoint_every = x->o->checkpoint_every, .resume = x->o->resume, .interrupt = x->o->cancel };

	if (d.checkpoint || d.resume)
		BPG_TRY(bpg_fingerprint(x->ctx, x->net, d.spec, x->o, &d.fingerprint));
	if (bpg_comm_ranks() > 1) {
		d.share = share_first;
		d.follows = bpg_comm_rank() > 0;
		x->r->groups = d.groups = groups(x->o);
		d.group = d.groups > 1 ? bpg_comm_rank() : 0;
	}
	bool tp = x->bound.placement == BPG_PLACEMENT_TP;
	if (tp) {
		d.then_iterations = 0;
		d.search = false;
	}
	enum bpg_status st = bpg_decide(&d);
	if (!st && tp && x->r->verdict == BPG_VERDICT_UNKNOWN && !x->r->note)
		x->r->note = "--placement tp decides by plain bounds alone, which leave the question open";
	return st;
}

static const char *node_name(const void *arg, int node)
{
	const struct bpg_net *net = arg;

	return node < net->nodes ? net->node[node].tensor : "";
}

/* Of rank 0 under the name asked, of the others with their number behind it: a disk may be theirs alone. */
static enum bpg_status write_trace(struct run *x)
{
	char name[4096];
	FILE *to;

	if (bpg_comm_rank() > 0 && (!strcmp(x->o->trace, "-") || snprintf(name, sizeof name, "%s.%d", x->o->trace, bpg_comm_rank()) >= (int)sizeof name))
		return BPG_OK;
	const char *path = bpg_comm_rank() > 0 ? name : x->o->trace;
	BPG_TRY(bpg_output_open(x->ctx, path, &to));
	enum bpg_status st = bpg_rt_trace_write(x->rt, to, node_name, x->net);
	return bpg_output_close(x->ctx, path, to, !st);
}

/* Where the time of the workers went. */
static void print_stats(const struct run *x)
{
	struct bpg_rt_stats s;
	double busy = 0, cpu = 0, wall = x->r->seconds.bound + x->r->seconds.search;

	bpg_rt_stats(x->rt, &s);
	for (int k = 0; k < BPG_TASK_KINDS; k++)
		busy += s.seconds[k], cpu += s.cpu[k];
	for (int k = 0; k < BPG_TASK_KINDS; k++)
		if (s.tasks[k])
			fprintf(stderr, "bpgraph: %-10s %8lld tasks %9.4f s %5.1f %% of CPU time\n", bpg_task_kind_name((enum bpg_task_kind)k),
			        (long long)s.tasks[k], s.seconds[k], cpu > 0 ? 100 * s.cpu[k] / cpu : 0);
	for (int k = 0; k < BPG_TASK_KINDS; k++)
		if (s.twins[k])
			fprintf(stderr, "bpgraph: %-10s %8lld tasks on devices\n", bpg_task_kind_name((enum bpg_task_kind)k), (long long)s.twins[k]);
	if (x->r->kept_stages + x->r->recomputed_stages)
		fprintf(stderr, "bpgraph: alpha      %.1f MB, slopes %s; coefficients kept in %d stages, recomputed in %d\n", 1e-6 * (double)x->r->alpha_bytes,
		        x->bound.sharing ? "shared by rows" : "of each row", x->r->kept_stages, x->r->recomputed_stages);
	if (s.flops > 0)
		fprintf(stderr, "bpgraph: products   %.2f GFLOP, %.1f GFLOP/s of gemm CPU time\n", 1e-9 * s.flops, 1e-9 * s.flops / BPG_MAX(s.cpu[BPG_TASK_GEMM], 1e-9));
	fprintf(stderr, "bpgraph: bound %.4f s on %d workers, %.1f %% of it outside tasks\n", wall, x->r->workers,
	        wall > 0 ? 100 * (1 - busy / (wall * x->r->workers)) : 0);
}

/* The runtime that bpg_runtime_hold keeps; one process has one StarPU. */
static struct bpg_rt *held;

enum bpg_status bpg_runtime_hold(struct bpg_ctx *ctx, const struct bpg_options *options)
{
	struct bpg_rt_options rt = { .owners = options ? (int)options->shards : 1, .pool_bytes = (size_t)1 << 30 };

	if (held)
		return bpg_fail(ctx, BPG_EUSAGE, "the runtime is held already");
	return bpg_rt_start(ctx, &rt, &held);
}

void bpg_runtime_release(void)
{
	bpg_rt_stop(held);
	held = NULL;
}

static enum bpg_status start(struct run *x)
{
	struct bpg_rt_options rt = { .owners = owners(x->o), .tight = strcmp(placement_name(x->o), "single") || x->o->memory > 0,
		                     .trace = x->o->trace != NULL || x->o->verbose, .deadline = x->deadline,
		                     .cancel = x->o->cancel, .device_bytes = (size_t)x->o->memory };

	if (held) {
		x->rt = held;
		return bpg_rt_again(x->ctx, held, &rt);
	}
	return bpg_rt_start(x->ctx, &rt, &x->rt);
}

/* Everything around the work: options, result, runtime, files. `to` set: a plan is made in place of a run. */
static enum bpg_status whole(struct bpg_ctx *ctx, const struct bpg_net *net, const struct bpg_question *q, const struct bpg_options *options,
                             struct bpg_plan *to, struct bpg_result **result)
{
	struct bpg_options defaults;
	struct run x = { .ctx = ctx, .net = net, .q = q, .o = options };
	struct bpg_arena *arena = bpg_arena_new();
	enum bpg_status st = BPG_OK;

	*result = NULL;
	bpg_options_init(&defaults);
	if (!x.o)
		x.o = &defaults;
	x.r = arena ? bpg_arena_alloc(arena, 1, sizeof *x.r) : NULL;
	if (!x.r)
		BPG_TRY_TO(bpg_nomem(ctx, "the result"), out);
	*x.r = (struct bpg_result){ .arena = arena, .owners = owners(x.o), .inputs = net->in_count, .outputs = net->out_count };
	x.r->network = bpg_arena_str(arena, net->path);
	/* A run may end before there is a plan. */
	x.r->predicted_bytes = bpg_arena_alloc(arena, (size_t)x.r->owners + 1, sizeof *x.r->predicted_bytes);
	x.r->gathered_bytes = bpg_arena_alloc(arena, (size_t)x.r->owners + 1, sizeof *x.r->gathered_bytes);
	if (!x.r->predicted_bytes || !x.r->gathered_bytes)
		BPG_TRY_TO(bpg_nomem(ctx, "the result"), out);
	x.r->property = q->spec ? bpg_arena_str(arena, q->spec->path) : NULL;
	if (!q->spec && (x.o->checkpoint || x.o->resume))
		BPG_TRY_TO(bpg_fail(ctx, BPG_EUSAGE, "--%s: only a search for a verdict is saved; give a property", x.o->checkpoint ? "checkpoint" : "resume"), out);
	if (x.o->spill && !x.o->memory && x.o->source[BPG_OPT_spill] >= BPG_FROM_LINE)
		BPG_TRY_TO(bpg_fail(ctx, BPG_EUSAGE, "--spill: nothing goes to disk without a limit; give --memory"), out);
	if (q->spec && x.o->machine && !to)
		BPG_TRY_TO(bpg_fail(ctx, BPG_EUSAGE, "--machine: bounds are estimated, a search for a verdict is not; leave it or the property out"), out);
	if (x.o->machine)
		BPG_TRY_TO(bpg_machine_read(ctx, x.o->machine, &x.machine), out);
	set_bound_options(&x);
	if (to && x.o->machine)
		x.bound.workers = bpg_estimate_workers(&x.machine, x.bound.owners, x.bound.ranks > 1, workers_asked());
	x.r->method = x.bound.method == BPG_METHOD_IBP ? "ibp" : x.bound.method == BPG_METHOD_CROWN_IBP ? "crown-ibp" : x.o->method == BPG_METHOD_ALPHA ? "alpha-crown" : x.o->method == BPG_METHOD_BETA ? "beta-crown" : "crown";
	x.r->placement = placement_name(x.o);
	BPG_TRY_TO(check_placement(&x), out);
	x.r->seconds.load = bpg_now() - bpg_process_start();
	if (x.o->timeout > 0)
		x.deadline = bpg_process_start() + x.o->timeout;
	if (x.o->dot && bpg_comm_rank() == 0) {
		BPG_TRY_TO(bpg_output_open(ctx, x.o->dot, &x.dot), out);
		bpg_dot_begin(x.dot);
	}
	bool quiet = x.o->quiet || bpg_comm_rank() > 0;
	bpg_progress_start(&x.progress, x.o->live && !quiet, x.o->verbose && !quiet);
	st = start(&x);
	if (!st) {
		bpg_float_mode();
		st = to ? plan(&x, to) : q->spec ? decide(&x) : bounds(&x);
		if (!st)
			st = bpg_plugin_float_mode(ctx, net->path);
		bpg_progress_end(&x.progress);
		st = bpg_comm_agree(ctx, st);
		if (!st && x.r->verdict == BPG_VERDICT_TIMEOUT && !(x.deadline > 0 && bpg_now() >= x.deadline))
			x.r->verdict = BPG_VERDICT_UNKNOWN; /* an interrupt */
		if (!st)
			finish(&x);
		if (!st && x.o->trace)
			st = write_trace(&x);
		if (x.o->verbose && !x.o->quiet && bpg_comm_rank() == 0)
			print_stats(&x);
		if (x.rt != held)
			bpg_rt_stop(x.rt);
	}
	if (x.dot) {
		bpg_dot_end(x.dot);
		enum bpg_status closed = bpg_output_close(ctx, x.o->dot, x.dot, !st);
		st = st ? st : closed;
	}
out:
	bpg_options_fini(&defaults);
	bpg_machine_fini(&x.machine);
	if (st)
		bpg_arena_free(arena);
	else
		*result = x.r;
	return st;
}

enum bpg_status bpg_run(struct bpg_ctx *ctx, const struct bpg_net *net, const struct bpg_question *q, const struct bpg_options *options,
                        struct bpg_result **result)
{
	return whole(ctx, net, q, options, NULL, result);
}

enum bpg_status bpg_plan_make(struct bpg_ctx *ctx, const struct bpg_net *net, const struct bpg_question *q, const struct bpg_options *options,
                              struct bpg_plan *plan, struct bpg_result **result)
{
	return whole(ctx, net, q, options, plan, result);
}
