/* cmd_verify.c - the verdict on a VNN-LIB 2 query. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bpgraph/bpgraph.h>

#include "cli/cmd.h"
#include "cli/files.h"
#include "cli/opt.h"
#include "net/plugin.h"
#include "report/result.h"
#include "spec/question.h"

struct verify {
	struct bpg_ctx *ctx;
	struct bpg_options o;
	struct bpg_query *query;
	struct files files;
	struct bpg_net *joined;   /* null: the query is about one network as it is */
	struct bpg_query_spec said;
	struct bpg_question *question;
	struct bpg_result *result;
};

/* Without networks a query is read all the same: who asks that wants to know whether it is one. */
static enum bpg_status no_network(struct verify *x)
{
	struct bpg_query *q = x->query;
	BPG_TRY(bpg_query_check(x->ctx, q));
	char *wanted = files_wanted(q);
	enum bpg_status st = BPG_OK;
	if (!wanted)
		st = bpg_nomem(x->ctx, q->path);
	else if (q->note)
		st = bpg_fail(x->ctx, BPG_EUNSUPPORTED, "%s:%lld: %s; nor is a network given (%s)", q->path,
		              (long long)q->note_line, q->note, wanted);
	else
		st = bpg_fail(x->ctx, BPG_EUSAGE, "%s: a query for which no network is given; add %s", q->path, wanted);
	free(wanted);
	return st;
}

static enum bpg_status look_at_outputs(struct verify *x)
{
	const char **file = bpg_calloc((size_t)x->files.given + 1, sizeof *file);
	if (!file)
		return bpg_nomem(x->ctx, x->query->path);
	file[0] = x->query->path;
	for (int i = 0; i < x->files.given; i++)
		file[i + 1] = x->files.path[i];
	enum bpg_status st = cmd_outputs(x->ctx, &x->o, x->files.given + 1, file);
	free(file);
	return st;
}

/* One network for the whole query, where it relates inputs or is about several. */
static enum bpg_status join(struct verify *x)
{
	const struct bpg_query *q = x->query;
	if (q->networks == 1 && !x->said.related && !x->said.same)
		return BPG_OK;
	struct bpg_net_part *part = bpg_calloc((size_t)q->networks, sizeof *part);
	if (!part)
		return bpg_nomem(x->ctx, q->path);
	for (int i = 0; i < q->networks; i++)
		part[i] = (struct bpg_net_part){ x->files.net[i], q->network[i].name };
	enum bpg_status st = bpg_net_join(x->ctx, q->networks, part, x->said.same, x->said.related, &x->joined);
	free(part);
	return st;
}

/* Outputs that one node makes are one, and so are inputs that are equal, where they stand behind the outputs. */
static enum bpg_status merge(struct verify *x)
{
	const struct bpg_net *net = x->joined;
	int64_t *to = net ? bpg_calloc((size_t)net->out_count, sizeof *to) : NULL, own = x->query->outputs;
	if (!net)
		return BPG_OK;
	if (!to)
		return bpg_nomem(x->ctx, x->query->path);
	for (int k = 0; k < net->outputs; k++) {
		int first = 0;
		while (net->output[first] != net->output[k])
			first++;
		for (int64_t i = 0; i < net->node[net->output[k]].v.out.n; i++)
			to[net->out_first[k] + i] = net->out_first[first] + i;
	}
	for (int64_t i = 0; x->said.related && x->said.same && i < x->query->inputs; i++)
		to[own + i] = to[own + x->said.same[i]];
	enum bpg_status st = bpg_spec_merge(x->ctx, x->said.spec, to);
	free(to);
	return st;
}

static enum bpg_status ask(struct verify *x)
{
	const struct bpg_net *net = x->joined ? x->joined : x->files.net[0];
	x->question = bpg_question_new(x->said.spec->inputs, x->said.spec->outputs);
	if (!x->question)
		return bpg_nomem(x->ctx, x->query->path);
	x->question->spec = x->said.spec;
	x->said.spec = NULL;
	return bpg_run(x->ctx, net, x->question, &x->o, &x->result);
}

/* The witness in the words of the query: every input has a value again, and rows no longer stand among the outputs. */
static enum bpg_status name_witness(struct verify *x)
{
	const struct bpg_query *q = x->query;
	struct bpg_result *r = x->result;
	if (r->verdict != BPG_VERDICT_SAT)
		return BPG_OK;
	float *in = bpg_arena_alloc(r->arena, (size_t)q->inputs, sizeof *in);
	struct bpg_result_tensor *t = bpg_arena_alloc(r->arena, (size_t)q->variables, sizeof *t);
	if (!in || !t)
		return bpg_nomem(x->ctx, q->path);
	for (int64_t i = 0; i < q->inputs; i++)
		in[i] = r->witness_in[x->said.to[i]];
	for (int i = 0; i < q->variables; i++) {
		const struct bpg_query_variable *v = &q->variable[i];
		t[i] = (struct bpg_result_tensor){ v->name, v->type, v->shape,
			                           (v->side == BPG_QUERY_INPUT ? in : r->witness_out) + v->first };
	}
	r->witness_in = in;
	r->inputs = q->inputs;
	r->outputs = q->outputs;
	r->tensors = q->variables;
	r->tensor = t;
	return BPG_OK;
}

static enum bpg_status verify(struct verify *x, int *code)
{
	BPG_TRY(bpg_plugins_load(x->ctx, x->o.layer));
	BPG_TRY(files_open(&x->files));
	BPG_TRY(bpg_query_read(x->ctx, x->query, &x->said));
	BPG_TRY(join(x));
	BPG_TRY(merge(x));
	BPG_TRY(ask(x));
	BPG_TRY(name_witness(x));
	BPG_TRY(cmd_write(x->ctx, &x->o, x->result));
	*code = bpg_result_exit(x->result);
	return BPG_OK;
}

int cmd_verify(int argc, char **argv)
{
	struct verify x = { .ctx = bpg_ctx_new() };
	const char *path = NULL;
	int files, code = 0;
	bool help;
	enum bpg_status st = BPG_OK;

	bpg_options_init(&x.o);
	BPG_TRY_TO(opt_parse(x.ctx, "verify", BPG_COMMAND_VERIFY, argc, argv, &x.o, 0, 1, &path, &files, &help), out);
	if (help) {
		cmd_help("verify");
		goto out;
	}
	if (!files)
		BPG_TRY_TO(bpg_fail(x.ctx, BPG_EUSAGE, "give a query (QUERY.vnnlib); see bpgraph verify --help"), out);
	cmd_begin(x.ctx, &x.o);
	BPG_TRY_TO(bpg_query_open(x.ctx, path, &x.query), out);
	if (!x.o.network)
		BPG_TRY_TO(no_network(&x), out);
	BPG_TRY_TO(bpg_query_supported(x.ctx, x.query), out);
	BPG_TRY_TO(files_match(&x.files, x.ctx, x.query, x.o.network), out);
	BPG_TRY_TO(look_at_outputs(&x), out);
	st = verify(&x, &code);
out:
	st = bpg_ranks_agree(x.ctx, st);
	if (st == BPG_ECANCELLED)
		st = cmd_stopped(x.ctx, &x.o, x.files.given ? x.files.path[0] : NULL, path, &code);
	if (st)
		code = cmd_end(x.ctx, st);
	bpg_result_free(x.result);
	bpg_question_free(x.question);
	bpg_spec_free(x.said.spec);
	bpg_net_close(x.joined);
	files_close(&x.files);
	bpg_query_close(x.query);
	bpg_options_fini(&x.o);
	bpg_ctx_free(x.ctx);
	return code;
}
