/* registry.c - which layers import an operator: those of layers.am (codelets/builtin.c), then those added from outside. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/net.h"

extern const struct bpg_layer *const bpg_builtin_layers[];
extern const int bpg_builtin_count;

struct added {
	const struct bpg_layer *layer;
	const char *source;
};

/* For the rest of the process, as the code they point to. */
static struct added *added;
static int64_t room;
static int count;

int bpg_layer_count(void)
{
	return bpg_builtin_count + count;
}

const struct bpg_layer *bpg_layer_get(int i)
{
	if (i < 0 || i >= bpg_layer_count())
		return NULL;
	return i < bpg_builtin_count ? bpg_builtin_layers[i] : added[i - bpg_builtin_count].layer;
}

const char *bpg_layer_source(const struct bpg_layer *layer)
{
	for (int i = 0; i < count; i++)
		if (added[i].layer == layer)
			return added[i].source;
	return NULL;
}

/* The next of some blank separated words: its length, 0 at the end. */
static size_t next_word(const char **words, const char **word)
{
	*word = *words + strspn(*words, " ");
	size_t n = strcspn(*word, " ");
	*words = *word + n;
	return n;
}

static bool has_word(const char *words, const char *op, size_t n)
{
	const char *word;
	for (size_t m; (m = next_word(&words, &word));)
		if (m == n && !memcmp(word, op, n))
			return true;
	return false;
}

static const struct bpg_layer *search(int from, const char *op, size_t n)
{
	for (int i = from; i < bpg_layer_count(); i++)
		if (has_word(bpg_layer_get(i)->ops, op, n))
			return bpg_layer_get(i);
	return NULL;
}

const struct bpg_layer *bpg_layer_find(const char *domain, const char *op)
{
	char key[256];
	if (!op || !*op || strpbrk(op, " :"))
		return NULL;
	if (!domain || !*domain || !strcmp(domain, "ai.onnx"))
		return search(0, op, strlen(op));
	if (strpbrk(domain, " :"))
		return NULL;
	size_t n = (size_t)snprintf(key, sizeof key, "%s::%s", domain, op);
	return n < sizeof key ? search(0, key, n) : NULL;
}

const struct bpg_layer *bpg_layer_internal(const char *op)
{
	return search(0, op, strlen(op));
}

const struct bpg_layer *bpg_layer_next(const struct bpg_layer *layer, const char *op)
{
	int i = 0;
	while (i < bpg_layer_count() && bpg_layer_get(i) != layer)
		i++;
	return search(i + 1, op, strlen(op));
}

/* ---- layers from outside ---- */

static const char *missing(const struct bpg_layer *y)
{
	const struct bpg_unary *f = y->unary;
	if (!y->ops || !y->ops[strspn(y->ops, " ")])
		return "ops";
	if (y->family != BPG_UNARY && y->family != BPG_CONSTANT && !y->sample)
		return "sample";
	switch (y->family) {
	case BPG_LINEAR:
		return y->terms ? NULL : "terms";
	case BPG_UNARY:
		return !f ? "unary" : !f->f ? "unary->f" : !f->df ? "unary->df" : !f->slopes ? "unary->slopes" : NULL;
	case BPG_GENERAL:
		return !y->eval ? "eval" : !y->interval ? "interval" : !y->gradient ? "gradient" : !y->planes ? "planes" : NULL;
	case BPG_CONSTANT:
		return y->eval ? NULL : "eval";
	}
	return "family";
}

enum bpg_status bpg_layer_check(struct bpg_ctx *ctx, const char *source, const struct bpg_layer *layer)
{
	char name[128];
	if (!layer || !layer->name || !*layer->name)
		return bpg_fail(ctx, BPG_EFILE, "%s: a layer has no name", source);
	const char *what = missing(layer);
	if (what)
		return bpg_fail(ctx, BPG_EFILE, "%s: layer '%s' lacks '%s', which its family needs; see layer.h", source,
		                bpg_printable(layer->name, name), what);
	return BPG_OK;
}

/* "Op" or "domain::Op": other words no node can have. */
static bool is_operator(const char *word, size_t n)
{
	const char *colon = memchr(word, ':', n);
	if (!colon)
		return true;
	size_t before = (size_t)(colon - word), after = n - before;
	return before > 0 && after > 2 && colon[1] == ':' && !memchr(colon + 2, ':', after - 2) && strncmp(word, "ai.onnx::", 9) != 0;
}

/* Two layers for one operator would be tried in turn; from outside that is refused, so that no file changes what a built
 * operator means. */
static enum bpg_status check_operators(struct bpg_ctx *ctx, const char *source, const struct bpg_layer *layer)
{
	const char *words = layer->ops, *word;
	char name[128], other[128];
	for (size_t n; (n = next_word(&words, &word));) {
		const struct bpg_layer *there = search(0, word, n);
		const char *from = there ? bpg_layer_source(there) : NULL;
		if (!is_operator(word, n))
			return bpg_fail(ctx, BPG_EFILE, "%s: layer '%s': the operator '%.*s' is neither \"Op\" nor \"domain::Op\"", source,
			                bpg_printable(layer->name, name), (int)n, word);
		if (there)
			return bpg_fail(ctx, BPG_EUSAGE, "%s: layer '%s' imports the operator '%.*s', which layer '%s' of %s has "
			                "already; name it \"domain::%.*s\" with a domain of your own", source,
			                bpg_printable(layer->name, name), (int)n, word, bpg_printable(there->name, other), from ? from : "bpgraph", (int)n, word);
	}
	return BPG_OK;
}

enum bpg_status bpg_layers_add(struct bpg_ctx *ctx, const char *source, int n, const struct bpg_layer *const *layer)
{
	for (int i = 0; i < n; i++) {
		BPG_TRY(bpg_layer_check(ctx, source, layer[i]));
		BPG_TRY(check_operators(ctx, source, layer[i]));
	}
	char *kept = malloc(strlen(source) + 1);
	if (!kept || !bpg_grow(&added, &room, (int64_t)count + n, sizeof *added)) {
		free(kept);
		return bpg_nomem(ctx, source);
	}
	strcpy(kept, source);
	for (int i = 0; i < n; i++)
		added[count++] = (struct added){ layer[i], kept };
	return BPG_OK;
}
