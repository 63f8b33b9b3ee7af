/* gather_terms.c - see gather_terms.h. */
#include "codelets/gather_terms.h"

#include <stdlib.h>

bool bpg_gather_terms_turn(struct bpg_gather_terms *to, int64_t n, const int64_t *first, const struct bpg_plane_term *term,
                           int64_t targets)
{
	*to = (struct bpg_gather_terms){ .columns = targets, .first = bpg_calloc((size_t)targets + 2, sizeof *to->first),
	                                 .term = malloc((size_t)(first[n] + 1) * sizeof *to->term) };
	if (!to->first || !to->term)
		return false;
	/* first[c + 1] counts, then is where the next term of c goes: in the end where c + 1 begins. */
	for (int64_t t = 0; t < first[n]; t++)
		to->first[term[t].column + 2]++;
	for (int64_t c = 0; c < targets; c++)
		to->first[c + 2] += to->first[c + 1];
	for (int64_t j = 0; j < n; j++)
		for (int64_t t = first[j]; t < first[j + 1]; t++)
			to->term[to->first[term[t].column + 1]++] = (struct bpg_plane_term){ (int32_t)j, term[t].lower,
				                                                             term[t].upper };
	return true;
}

bool bpg_gather_terms_map(struct bpg_gather_terms *to, const struct bpg_arg_map *m)
{
	const struct bpg_columns *k = m->hop->out, *d = m->hop->in[m->k];
	const struct bpg_sparse *s = m->hop->terms;
	int64_t n = bpg_columns_in(k, &m->from.window), *first = malloc((size_t)(n + 1) * sizeof *first);
	struct bpg_plane_term *term = malloc((size_t)(s->nonzeros + 1) * sizeof *term);
	bool ok = first && term;

	*to = (struct bpg_gather_terms){ 0 };
	if (ok)
		first[0] = 0;
	for (int64_t j = 0; ok && j < n; j++) {
		int64_t i = bpg_columns_element(k, bpg_columns_at(k, &m->from.window, j));
		first[j + 1] = first[j];
		for (int64_t t = s->first[i]; t < s->first[i + 1]; t++) {
			int64_t c = s->operand[t] == m->hop->operand[m->k]
			                    ? bpg_columns_column(d, &m->to.window, bpg_columns_place(d, s->index[t]))
			                    : -1;
			if (c >= 0)
				term[first[j + 1]++] = (struct bpg_plane_term){ (int32_t)c, s->coef[t], 0 };
		}
	}
	ok = ok && bpg_gather_terms_turn(to, n, first, term, bpg_columns_in(d, &m->to.window));
	free(first);
	free(term);
	return ok;
}

void bpg_gather_terms_fini(struct bpg_gather_terms *t)
{
	free(t->first);
	free(t->term);
}
