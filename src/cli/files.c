/* files.c - see files.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bpgraph/bpgraph.h>

#include "cli/files.h"

static enum bpg_status no_memory(struct files *f) { return bpg_nomem(f->ctx, f->query->path); }

char *files_wanted(const struct bpg_query *q)
{
	size_t room = 1, n = 0;
	for (int i = 0; i < q->networks; i++)
		room += strlen(q->network[i].name) + 24;
	char *text = bpg_calloc(room, 1);
	for (int i = 0; text && i < q->networks; i++)
		if (!q->network[i].equal)
			n += (size_t)snprintf(text + n, room - n, "%s--network %s=NET.onnx", n ? " " : "", q->network[i].name);
	return text;
}

/* ---- which file belongs where ---- */

static bool name_character(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* Length of NAME in "NAME=FILE"; 0: a file alone. */
static size_t name_length(const char *entry)
{
	size_t n = 0;
	while (name_character(entry[n]))
		n++;
	return entry[n] == '=' ? n : 0;
}

static int find_network(const struct bpg_query *q, const char *name)
{
	for (int i = 0; i < q->networks; i++)
		if (!strcmp(q->network[i].name, name))
			return i;
	return -1;
}

static enum bpg_status refuse(struct files *f, const char *entry, const char *why)
{
	char shown[128], *wanted = files_wanted(f->query);
	enum bpg_status st = bpg_fail(f->ctx, BPG_EUSAGE, "--network %s: %s; this query needs %s", bpg_printable(entry, shown),
	                              why, wanted ? wanted : "");
	free(wanted);
	return st;
}

/* The entry is cut at its '='. A query that needs one file may have it without a name. */
static enum bpg_status match_one(struct files *f, char *entry, const char **path)
{
	const struct bpg_query *q = f->query;
	size_t n = name_length(entry);
	int files = 0, network = -1;
	for (int i = 0; i < q->networks; i++)
		files += !q->network[i].equal;
	*path = n ? entry + n + 1 : entry;
	if (!**path)
		return refuse(f, entry, "no file is given");
	if (n) {
		entry[n] = 0;
		network = find_network(q, entry);
	} else if (files == 1) {
		for (network = 0; q->network[network].equal;)
			network++;
	}
	if (network < 0)
		return refuse(f, entry, n ? "the query declares no network of this name" : "of which network? Write NAME=FILE");
	if (q->network[network].equal)
		return refuse(f, entry, "this network is declared equal to another and has no file of its own");
	if (f->of[network])
		return refuse(f, entry, "this network was given twice");
	f->of[network] = *path;
	return BPG_OK;
}

enum bpg_status files_match(struct files *f, struct bpg_ctx *ctx, const struct bpg_query *q, const char *list)
{
	*f = (struct files){ .ctx = ctx, .query = q };
	for (const char *s = list; *s; s++)
		f->given += *s == '\n';
	f->text = strdup(list);
	f->path = bpg_calloc((size_t)f->given + 1, sizeof *f->path);
	f->of = bpg_calloc((size_t)q->networks, sizeof *f->of);
	f->net = bpg_calloc((size_t)q->networks, sizeof(struct bpg_net *));
	if (!f->text || !f->path || !f->of || !f->net)
		return no_memory(f);
	char *at = f->text;
	for (int i = 0; i < f->given; i++) {
		char *end = strchr(at, '\n');
		*end = 0;
		BPG_TRY(match_one(f, at, &f->path[i]));
		at = end + 1;
	}
	for (int i = 0; i < q->networks; i++) {
		if (q->network[i].equal)
			f->of[i] = f->of[q->network[i].base];
		if (!f->of[i])
			return bpg_fail(ctx, BPG_EUSAGE, "%s: network '%s' has no file; give --network %s=NET.onnx", q->path,
			                q->network[i].name, q->network[i].name);
	}
	return BPG_OK;
}

/* ---- do they fit? ---- */

static const char *type_name(int onnx)
{
	switch (onnx) {
	case 1: return "float32";
	case 10: return "float16";
	case 11: return "float64";
	case 16: return "bfloat16";
	default: return "another element type";
	}
}

static const char *shape_text(const struct bpg_shape *s, char buf[192])
{
	int n = snprintf(buf, 192, "[");
	for (int k = 0; k < s->rank; k++)
		n += snprintf(buf + n, (size_t)(192 - n), "%s%lld", k ? "," : "", (long long)s->dim[k]);
	snprintf(buf + n, (size_t)(192 - n), "]");
	return buf;
}

/* An output may well be of integers in the file and of real numbers in the query. */
static enum bpg_status compare(struct files *f, int network, const struct bpg_query_variable *v, const struct bpg_shape *shape,
                               int type, const char *tensor)
{
	const char *path = f->query->path;
	char name[128], mine[192], its[192], other[128];
	bpg_printable(v->name, name);
	bpg_printable(tensor, other);
	if (!bpg_shape_equal(shape, &v->shape))
		return bpg_fail(f->ctx, BPG_EFILE, "%s:%lld: '%s' is declared with the shape %s, but '%s' of %s has the shape %s",
		                path, (long long)v->line, name, shape_text(&v->shape, mine), other, f->of[network],
		                shape_text(shape, its));
	bool real = !strcmp(v->type, "real") || !strcmp(v->type, "Real");
	if (!real && type && strcmp(v->type, type_name(type)))
		return bpg_fail(f->ctx, BPG_EFILE, "%s:%lld: '%s' is declared with the element type %s, but '%s' of %s has %s",
		                path, (long long)v->line, name, v->type, other, f->of[network], type_name(type));
	return BPG_OK;
}

static enum bpg_status check(struct files *f, int network)
{
	const struct bpg_query_network *n = &f->query->network[network];
	const struct bpg_query_variable *v = &f->query->variable[n->first];
	const struct bpg_net *net = f->net[network];
	if (n->inputs != net->inputs || n->outputs + n->hidden != net->outputs)
		return bpg_fail(f->ctx, BPG_EFILE,
		                "%s:%lld: network '%s' is declared with %d inputs and %d outputs, but %s has %d and %d; declare all, in order",
		                f->query->path, (long long)n->line, n->name, n->inputs, n->outputs, f->of[network], net->inputs,
		                net->outputs - n->hidden);
	for (int k = 0; k < n->inputs; k++, v++)
		BPG_TRY(compare(f, network, v, &net->node[net->input[k]].v.out.shape, net->in_type[k],
		                net->node[net->input[k]].tensor));
	for (int k = 0; k < n->hidden; k++, v++)
		BPG_TRY(compare(f, network, v, &net->out_shape[n->outputs + k], 0, v->tensor));
	for (int k = 0; k < n->outputs; k++, v++)
		BPG_TRY(compare(f, network, v, &net->out_shape[k], net->out_type[k], net->node[net->output[k]].tensor));
	return BPG_OK;
}

/* ---- opening ---- */

/* With the sizes that the query gives, and hidden tensors among the outputs. */
static enum bpg_status open_one(struct files *f, int network)
{
	const struct bpg_query_network *n = &f->query->network[network];
	const struct bpg_query_variable *v = &f->query->variable[n->first];
	struct bpg_shape *shape = bpg_calloc((size_t)n->inputs, sizeof *shape);
	const char **tensor = bpg_calloc((size_t)n->hidden + 1, sizeof *tensor);
	enum bpg_status st = BPG_OK;
	if (!shape || !tensor)
		BPG_TRY_TO(no_memory(f), out);
	for (int k = 0; k < n->inputs; k++)
		shape[k] = v[k].shape;
	for (int k = 0; k < n->hidden; k++)
		tensor[k] = v[n->inputs + k].tensor;
	struct bpg_net_wish wish = { .inputs = n->inputs, .shape = shape, .tensors = n->hidden, .tensor = tensor };
	st = bpg_net_open_as(f->ctx, f->of[network], &wish, &f->net[network]);
out:
	free(shape);
	free(tensor);
	return st;
}

/* An earlier network that was read from the same file in the same way; -1: none. */
static int served_by(const struct files *f, int network)
{
	const struct bpg_query *q = f->query;
	const struct bpg_query_network *n = &q->network[network];
	for (int i = 0; i < network; i++) {
		const struct bpg_query_network *b = &q->network[i];
		bool same = !strcmp(f->of[i], f->of[network]) && n->inputs == b->inputs && n->hidden == b->hidden;
		for (int k = 0; same && k < n->inputs; k++)
			same = bpg_shape_equal(&q->variable[n->first + k].shape, &q->variable[b->first + k].shape);
		for (int k = n->inputs; same && k < n->inputs + n->hidden; k++)
			same = !strcmp(q->variable[n->first + k].tensor, q->variable[b->first + k].tensor);
		if (same)
			return i;
	}
	return -1;
}

enum bpg_status files_open(struct files *f)
{
	for (int i = 0; i < f->query->networks; i++) {
		int before = served_by(f, i);
		if (before >= 0)
			f->net[i] = f->net[before];
		else
			BPG_TRY(open_one(f, i));
		BPG_TRY(check(f, i));
	}
	return BPG_OK;
}

void files_close(struct files *f)
{
	for (int i = 0; f->net && i < f->query->networks; i++) {
		bool again = false;
		for (int k = 0; k < i; k++)
			again |= f->net[k] == f->net[i];
		if (!again)
			bpg_net_close(f->net[i]);
	}
	free(f->net);
	free(f->of);
	free(f->path);
	free(f->text);
}
