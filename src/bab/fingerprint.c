/* fingerprint.c - see fingerprint.h. */
#include "config.h"

#include "bab/fingerprint.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bab/record.h"
#include "net/const.h"

enum { BLOCK = 1 << 16 };

static uint64_t add(uint64_t h, const void *data, size_t n)
{
	return bpg_record_sum(h, data, n);
}

static uint64_t add_int(uint64_t h, int64_t v)
{
	return add(h, &v, sizeof v);
}

/* ---- the network ---- */

/* Attributes are the layers' own: the bytes of the file have them. */
static enum bpg_status add_file(struct bpg_ctx *ctx, const char *path, uint64_t *h)
{
	FILE *f = fopen(path, "rb");
	char *block = malloc(BLOCK);
	size_t n;
	bool bad = !f || !block;

	while (!bad && (n = fread(block, 1, BLOCK, f)) > 0)
		*h = add_int(add(*h, block, n), (int64_t)n);
	bad = bad || ferror(f);
	if (f)
		fclose(f);
	free(block);
	return bad ? bpg_fail(ctx, BPG_EFILE, "%s: cannot be read for a checkpoint: %s", path, strerror(errno)) : BPG_OK;
}

/* A list of NAME=FILE or FILE, in lines. */
static enum bpg_status add_files(struct bpg_ctx *ctx, const char *list, bool named, uint64_t *h)
{
	while (list && *list) {
		size_t n = strcspn(list, "\n"), skip = 0;
		char *path = strndup(list, n);
		enum bpg_status st = path ? BPG_OK : bpg_nomem(ctx, list);
		if (path && named) {
			while (isalnum((unsigned char)path[skip]) || path[skip] == '_')
				skip++;
			skip = skip && path[skip] == '=' ? skip + 1 : 0;
		}
		if (!st && n)
			st = add_file(ctx, path + skip, h);
		free(path);
		BPG_TRY(st);
		list += n + (list[n] == '\n');
	}
	return BPG_OK;
}

/* Weights may lie in further files. */
static uint64_t add_const(uint64_t h, const struct bpg_const *c)
{
	float block[4096];

	h = add_int(add_int(h, c->type), c->n);
	if (c->mem)
		return add(h, c->mem, (size_t)c->n * (c->type == BPG_F32 ? sizeof(float) : 8));
	for (int64_t i = 0; i < c->n; i += (int64_t)BPG_LEN(block)) {
		int64_t n = BPG_MIN((int64_t)BPG_LEN(block), c->n - i);
		bpg_const_block_f32(c, 0, 1, c->n, i, n, block);
		h = add(h, block, (size_t)n * sizeof *block);
	}
	return h;
}

static uint64_t add_net(uint64_t h, const struct bpg_net *net)
{
	h = add_int(h, net->nodes);
	for (int i = 0; i < net->nodes; i++) {
		const struct bpg_node *v = &net->node[i].v;
		h = add_int(add_int(h, v->nin), v->out.n);
		if (v->layer)
			h = bpg_hash_str(h, v->layer->name);
		for (int k = 0; k < v->nin; k++) {
			h = add_int(h, net->node[i].src[k]);
			if (v->in[k].value)
				h = add_const(h, v->in[k].value);
		}
	}
	for (int i = 0; i < net->outputs; i++)
		h = add_int(h, net->output[i]);
	return h;
}

/* ---- the property ---- */

static uint64_t add_spec(uint64_t h, const struct bpg_spec *spec)
{
	const struct bpg_box *last = NULL;

	h = add_int(add_int(add_int(h, spec->inputs), spec->outputs), spec->disjuncts);
	for (int64_t i = 0; i < spec->disjuncts; i++) {
		const struct bpg_disjunct *d = &spec->disjunct[i];
		h = add_int(add_int(h, d->rows), d->box == last);
		if (d->box != last) {
			h = add(h, d->box->lo, (size_t)d->box->n * sizeof *d->box->lo);
			h = add(h, d->box->up, (size_t)d->box->n * sizeof *d->box->up);
		}
		last = d->box;
		for (int r = 0; r < d->rows; r++) {
			const struct bpg_row *q = &d->row[r];
			h = add_int(add_int(h, q->n), q->strict);
			h = add(h, q->index, (size_t)q->n * sizeof *q->index);
			h = add(h, q->coef, (size_t)q->n * sizeof *q->coef);
			h = add(h, &q->offset, sizeof q->offset);
		}
	}
	return h;
}

/* ---- options ---- */

/* All but those that bounds and domains do not depend on. */
static uint64_t add_options(uint64_t h, const struct bpg_options *o)
{
	const int64_t whole[] = { o->method, o->slope, o->objective, o->iterations, o->patience, o->precision, o->sound, o->branching };
	const double real[] = { o->lr, o->lr_decay, o->lr_beta };

	return add(add(h, whole, sizeof whole), real, sizeof real);
}

enum bpg_status bpg_fingerprint(struct bpg_ctx *ctx, const struct bpg_net *net, const struct bpg_spec *spec, const struct bpg_options *o,
                                uint64_t *fingerprint)
{
	uint64_t h = bpg_hash_str(BPG_HASH_START, PACKAGE_VERSION);

	h = add_spec(add_options(h, o), spec);
	h = add_net(h, net);
	if (o->network)
		BPG_TRY(add_files(ctx, o->network, true, &h));
	else
		BPG_TRY(add_file(ctx, net->path, &h));
	BPG_TRY(add_files(ctx, o->layer, false, &h));
	*fingerprint = h;
	return BPG_OK;
}
