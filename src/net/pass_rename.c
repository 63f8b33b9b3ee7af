/* pass_rename.c - nodes that only pass their operand on: Identity, Dropout, Reshape, Flatten, a Slice of everything, ...
 *
 * They are recognised by what they do, not by their names. Their consumers read the source and keep the reshaped operand:
 * the flat order is the same. */
#include "net/build.h"

/* Elements looked at in one network. Far more than a network needs; a file that claims more keeps its nodes. */
#define MOST_COMPARED ((int64_t)1 << 28)

static bool passes_on(const struct bpg_node *v, int64_t i, struct bpg_terms *t, int *operand)
{
	bpg_terms_reset(t);
	v->layer->terms(v, i, t);
	if (t->failed || t->n != 1 || t->index[0] != i || t->coef[0] != 1 || t->err[0] != 0 || t->bias != 0 || t->bias_err != 0)
		return false;
	if (i == 0)
		*operand = t->input[0];
	return t->input[0] == *operand;
}

bool bpg_pass_rename(struct bpg_build *b, const struct bpg_node *v, int *operand)
{
	if (v->layer->family != BPG_LINEAR || !(v->layer->traits & BPG_SELECT) || !v->layer->terms || v->out.n < 1)
		return false;
	if (b->compared > MOST_COMPARED - v->out.n)
		return false;
	struct bpg_terms t;
	bool same = true;
	bpg_terms_init(&t);
	for (int64_t i = 0; same && i < v->out.n; i++, b->compared++)
		same = passes_on(v, i, &t, operand);
	bpg_terms_fini(&t);
	return same && *operand >= 0 && *operand < v->nin && !v->in[*operand].value && v->in[*operand].n == v->out.n;
}
