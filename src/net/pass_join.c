/* pass_join.c - networks side by side as one network, for questions that relate them.
 *
 * Nodes are copied with their constants shared. An input that always equals earlier ones is no input of the result: it is one of
 * those, or chosen from them element by element. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/build.h"
#include "net/const.h"

/* An input tensor of a part. */
struct source {
	const struct bpg_net_node *node;
	int part;
	int64_t first, n;         /* elements, counted over all parts */
	int64_t own;              /* elements that are inputs of the result */
	struct bpg_value value;   /* all elements */
	struct bpg_value free;    /* those that are its own */
};

struct join {
	struct bpg_build b;
	struct bpg_ctx *ctx;
	int parts;
	const struct bpg_net_part *part;
	const int64_t *same;      /* null: every element is its own */
	struct source *source;
	int sources;
	int64_t elements;
	int **number;             /* [parts][nodes] where a node went */
};

static enum bpg_status no_memory(const struct join *j) { return bpg_nomem(j->ctx, j->part[0].net->path); }

static int64_t root(const struct join *j, int64_t element) { return j->same ? j->same[element] : element; }

/* "f:tensor" where there are several parts. */
static const char *label(const struct join *j, int part, const char *tensor)
{
	struct bpg_arena *arena = j->b.net->arena;
	if (j->parts == 1)
		return bpg_arena_str(arena, tensor);
	size_t n = strlen(j->part[part].name) + strlen(tensor) + 2;
	char *s = bpg_arena_alloc(arena, n, 1);
	if (s)
		snprintf(s, n, "%s:%s", j->part[part].name, tensor);
	return s;
}

/* ---- inputs ---- */

static enum bpg_status list_sources(struct join *j)
{
	for (int p = 0; p < j->parts; p++)
		j->sources += j->part[p].net->inputs;
	j->source = bpg_calloc((size_t)j->sources, sizeof *j->source);
	if (!j->source)
		return no_memory(j);
	struct source *s = j->source;
	for (int p = 0; p < j->parts; p++)
		for (int k = 0; k < j->part[p].net->inputs; k++, s++) {
			s->node = &j->part[p].net->node[j->part[p].net->input[k]];
			s->part = p;
			s->first = j->elements;
			s->n = s->node->v.out.n;
			for (int64_t i = s->first; i < s->first + s->n; i++)
				s->own += root(j, i) == i;
			j->elements += s->n;
		}
	return BPG_OK;
}

/* The source that holds an element. */
static struct source *holder(const struct join *j, int64_t element)
{
	int low = 0, high = j->sources;
	while (high - low > 1) {
		int middle = (low + high) / 2;
		if (element < j->source[middle].first)
			high = middle;
		else
			low = middle;
	}
	return &j->source[low];
}

/* All elements of s are those of one earlier tensor, in order. */
static const struct source *alias(const struct join *j, const struct source *s)
{
	const struct source *of = holder(j, root(j, s->first));
	if (s->own || of->n != s->n)
		return NULL;
	for (int64_t i = 0; i < s->n; i++)
		if (root(j, s->first + i) != root(j, of->first + i))
			return NULL;
	return of;
}

static struct bpg_value flat(struct bpg_value v)
{
	v.shape = (struct bpg_shape){ .rank = 1, .dim = { bpg_shape_count(&v.shape) } };
	return v;
}

static enum bpg_status internal(struct join *j, const struct source *s, const char *op, int nin,
                                const struct bpg_value *const *in, struct bpg_value *out)
{
	const struct bpg_import_attr axis = { .name = "axis", .kind = BPG_ATTR_INT, .i = 0 };
	struct bpg_import im = { .ctx = j->ctx,
		                 .arena = j->b.net->arena,
		                 .path = j->b.net->path,
		                 .op = op,
		                 .opset = BPG_OPSET_LAST,
		                 .output_count = 1,
		                 .attrs = 1,
		                 .attr = &axis };
	im.name = label(j, s->part, s->node->tensor);
	if (!im.name)
		return no_memory(j);
	return bpg_build_node(&j->b, &im, bpg_layer_find("", op), nin, in, im.name, out);
}

/* Positions of the elements of s in `list` of tensors of free elements, one behind the other. */
static enum bpg_status positions(const struct join *j, const struct source *s, struct source *const *list, int n,
                                 struct bpg_const **at)
{
	int64_t *to = bpg_calloc((size_t)s->n, sizeof *to), *index = bpg_calloc((size_t)j->elements, sizeof *index), count = 0;
	enum bpg_status st = BPG_OK;
	if (!to || !index)
		BPG_TRY_TO(no_memory(j), out);
	for (int k = 0; k < n; k++)
		for (int64_t i = list[k]->first; i < list[k]->first + list[k]->n; i++)
			if (root(j, i) == i)
				index[i] = count++;
	for (int64_t i = 0; i < s->n; i++)
		to[i] = index[root(j, s->first + i)];
	*at = bpg_const_new(j->b.net->arena, BPG_I64, s->n, to);
	if (!*at)
		st = no_memory(j);
out:
	free(to);
	free(index);
	return st;
}

/* Chooses the elements of s from the tensors that hold them. */
static enum bpg_status choose(struct join *j, struct source *s)
{
	struct source **list = bpg_calloc((size_t)j->sources, sizeof *list);
	struct bpg_value *free_one = bpg_calloc((size_t)j->sources, sizeof *free_one);
	const struct bpg_value **in = bpg_calloc((size_t)j->sources, sizeof *in);
	struct bpg_value all, at = { .known = true, .node = -1, .shape = { .rank = 1, .dim = { s->n } }, .type = BPG_I64 };
	enum bpg_status st = BPG_OK;
	int n = 0;
	if (!list || !in || !free_one)
		BPG_TRY_TO(no_memory(j), out);
	for (struct source *t = j->source; t <= s; t++) {
		bool asked = false;
		for (int64_t i = 0; t->own && !asked && i < s->n; i++) {
			int64_t r = root(j, s->first + i);
			asked = r >= t->first && r < t->first + t->n;
		}
		if (!asked)
			continue;
		free_one[n] = flat(t->free);
		in[n] = &free_one[n];
		list[n++] = t;
	}
	BPG_TRY_TO(positions(j, s, list, n, &at.value), out);
	if (n == 1)
		all = free_one[0];
	else
		BPG_TRY_TO(internal(j, s, "Concat", n, in, &all), out);
	BPG_TRY_TO(internal(j, s, "Gather", 2, (const struct bpg_value *const[]){ &all, &at }, &s->value), out);
out:
	free(list);
	free(free_one);
	free(in);
	return st;
}

/* Free elements first: nodes that choose from them come later. */
static enum bpg_status make_inputs(struct join *j)
{
	for (struct source *s = j->source; s < j->source + j->sources; s++) {
		struct bpg_shape shape = s->node->v.out.shape;
		const char *tensor = label(j, s->part, s->node->tensor);
		if (!tensor)
			return no_memory(j);
		if (s->own < s->n)
			shape = (struct bpg_shape){ .rank = 1, .dim = { s->own } };
		if (s->own)
			BPG_TRY(bpg_build_input(&j->b, tensor, &shape, &s->free));
		if (s->own == s->n)
			s->value = s->free;
	}
	for (struct source *s = j->source; s < j->source + j->sources; s++) {
		const struct source *of = s->own < s->n ? alias(j, s) : NULL;
		if (of)
			s->value = of->value;
		else if (s->own < s->n)
			BPG_TRY(choose(j, s));
	}
	return BPG_OK;
}

/* ---- nodes ---- */

/* A copy whose operands are numbered src[]. */
static enum bpg_status append(struct join *j, int part, const struct bpg_net_node *old, const int *src)
{
	struct bpg_net *net = j->b.net;
	if (!bpg_grow(&net->node, &j->b.node_room, (int64_t)net->nodes + 1, sizeof *net->node))
		return no_memory(j);
	struct bpg_net_node *to = &net->node[net->nodes];
	*to = *old;
	to->src = bpg_arena_alloc(net->arena, (size_t)old->v.nin, sizeof *to->src);
	to->read = bpg_arena_alloc(net->arena, (size_t)old->v.nin, sizeof *to->read);
	to->tensor = label(j, part, old->tensor);
	if (!to->src || !to->read || !to->tensor)
		return no_memory(j);
	for (int k = 0; k < old->v.nin; k++) {
		to->src[k] = src[k];
		to->read[k] = label(j, part, old->read[k]);
		if (!to->read[k])
			return no_memory(j);
	}
	net->nodes++;
	return BPG_OK;
}

/* An earlier part that is the same network and reads the same there has made this node already; -1: none. */
static int made_before(const struct join *j, int part, int node, const int *src)
{
	const struct bpg_net_node *old = &j->part[part].net->node[node];
	for (int p = 0; p < part; p++) {
		if (j->part[p].net != j->part[part].net)
			continue;
		bool equal = true;
		for (int k = 0; equal && k < old->v.nin; k++)
			equal = old->src[k] < 0 || j->number[p][old->src[k]] == src[k];
		if (equal)
			return j->number[p][node];
	}
	return -1;
}

static enum bpg_status copy_part(struct join *j, int part, struct source *source)
{
	const struct bpg_net *net = j->part[part].net;
	int most = 0;
	for (int i = 0; i < net->nodes; i++)
		most = BPG_MAX(most, net->node[i].v.nin);
	int *number = j->number[part] = bpg_calloc((size_t)net->nodes, sizeof *number),
	    *src = bpg_calloc((size_t)most, sizeof *src);
	enum bpg_status st = number && src ? BPG_OK : no_memory(j);
	for (int i = 0; !st && i < net->nodes; i++) {
		const struct bpg_net_node *old = &net->node[i];
		if (old->input >= 0) {
			number[i] = source[old->input].value.node;
			continue;
		}
		for (int k = 0; k < old->v.nin; k++)
			src[k] = old->src[k] < 0 ? -1 : number[old->src[k]];
		number[i] = made_before(j, part, i, src);
		if (number[i] < 0) {
			number[i] = j->b.net->nodes;
			st = append(j, part, old, src);
		}
	}
	free(src);
	return st;
}

/* ---- outputs ---- */

static enum bpg_status make_outputs(struct join *j, bool pass)
{
	for (int p = 0; p < j->parts; p++)
		for (int k = 0; k < j->part[p].net->outputs; k++) {
			const struct bpg_net *net = j->part[p].net;
			struct bpg_value value = {
				.known = true, .node = j->number[p][net->output[k]], .shape = net->out_shape[k], .type = BPG_F32
			};
			BPG_TRY(bpg_build_output(&j->b, net->node[net->output[k]].tensor, &value));
		}
	for (int k = 0; pass && k < j->sources; k++)
		BPG_TRY(bpg_build_output(&j->b, j->source[k].node->tensor, &j->source[k].value));
	return BPG_OK;
}

static bool first_of_its_net(const struct join *j, int part)
{
	for (int p = 0; p < part; p++)
		if (j->part[p].net == j->part[part].net)
			return false;
	return true;
}

static enum bpg_status join(struct join *j, bool pass)
{
	BPG_TRY(list_sources(j));
	BPG_TRY(make_inputs(j));
	j->number = bpg_calloc((size_t)j->parts, sizeof *j->number);
	if (!j->number)
		return no_memory(j);
	struct source *source = j->source;
	for (int p = 0; p < j->parts; p++) {
		BPG_TRY(copy_part(j, p, source));
		source += j->part[p].net->inputs;
		if (first_of_its_net(j, p))
			j->b.net->parameters += j->part[p].net->parameters;
	}
	BPG_TRY(make_outputs(j, pass));
	return bpg_build_finish(&j->b);
}

enum bpg_status bpg_net_join(struct bpg_ctx *ctx, int parts, const struct bpg_net_part *part, const int64_t *same, bool pass,
                             struct bpg_net **net)
{
	struct join j = { .ctx = ctx, .parts = parts, .part = part, .same = same };
	enum bpg_status st = bpg_build_start(&j.b, ctx, part[0].net->path);
	*net = NULL;
	if (!st)
		st = join(&j, pass);
	for (int p = 0; j.number && p < parts; p++)
		free(j.number[p]);
	free(j.number);
	free(j.source);
	if (st)
		bpg_net_free(j.b.net);
	else
		*net = j.b.net;
	return st;
}
