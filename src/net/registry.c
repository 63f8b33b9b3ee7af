/* registry.c - which layers import an operator. The table is made from layers.am (codelets/builtin.c). */
#include <string.h>

#include "net/net.h"

extern const struct bpg_layer *const bpg_builtin_layers[];
extern const int bpg_builtin_count;

int bpg_layer_count(void)
{
	return bpg_builtin_count;
}

const struct bpg_layer *bpg_layer_get(int i)
{
	return i >= 0 && i < bpg_builtin_count ? bpg_builtin_layers[i] : NULL;
}

/* Is `op` one of the blank separated words? */
static bool has_word(const char *words, const char *op, size_t n)
{
	while (words) {
		words += strspn(words, " ");
		size_t m = strcspn(words, " ");
		if (!m)
			return false;
		if (m == n && !memcmp(words, op, n))
			return true;
		words += m;
	}
	return false;
}

static const struct bpg_layer *search(int from, const char *op)
{
	for (int i = from; i < bpg_builtin_count; i++)
		if (has_word(bpg_builtin_layers[i]->ops, op, strlen(op)))
			return bpg_builtin_layers[i];
	return NULL;
}

const struct bpg_layer *bpg_layer_find(const char *domain, const char *op)
{
	size_t n = op ? strlen(op) : 0;
	if (!n || strchr(op, ' ') || (domain && *domain && strcmp(domain, "ai.onnx")))
		return NULL;
	return search(0, op);
}

const struct bpg_layer *bpg_layer_next(const struct bpg_layer *layer, const char *op)
{
	int i = 0;
	while (i < bpg_builtin_count && bpg_builtin_layers[i] != layer)
		i++;
	return search(i + 1, op);
}
