/* sparse.c - linear layers and planes as sparse matrices, by rows. */
#include "graph/sparse.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void bpg_sparse_free(struct bpg_sparse *s)
{
	if (!s)
		return;
	free(s->first);
	free(s->operand);
	free(s->index);
	free(s->coef);
	free(s->bias);
	free(s->of);
	free(s);
}

static struct bpg_sparse *sparse_new(int64_t rows)
{
	struct bpg_sparse *s = bpg_calloc(1, sizeof *s);

	if (!s)
		return NULL;
	s->id = bpg_unique();
	s->rows = rows;
	s->unit = true;
	s->first = bpg_calloc((size_t)rows + 1, sizeof *s->first);
	if (!s->first) {
		free(s);
		return NULL;
	}
	return s;
}

static bool append(struct bpg_sparse *s, int64_t *room, const struct bpg_terms *t)
{
	if (s->nonzeros + t->n > *room) {
		int64_t want = BPG_MAX(*room * 2, s->nonzeros + t->n + 1024);
		void *a = realloc(s->operand, (size_t)want * sizeof *s->operand);
		if (a)
			s->operand = a;
		void *b = realloc(s->index, (size_t)want * sizeof *s->index);
		if (b)
			s->index = b;
		void *c = realloc(s->coef, (size_t)want * sizeof *s->coef);
		if (c)
			s->coef = c;
		if (!a || !b || !c)
			return false;
		*room = want;
	}
	for (int k = 0; k < t->n; k++) {
		if (t->coef[k] == 0)
			continue;
		s->operand[s->nonzeros] = t->input[k];
		s->index[s->nonzeros] = (int32_t)t->index[k];
		s->coef[s->nonzeros] = (float)t->coef[k];
		s->unit = s->unit && fabs(t->coef[k]) == 1;
		s->nonzeros++;
	}
	return true;
}

/* Most terms that meet in one input element, in any segment. */
static bool count_fan(struct bpg_sparse *s, const struct bpg_node *v, int segments)
{
	int64_t rows = s->rows / segments;

	for (int k = 0; k < v->nin; k++) {
		if (v->in[k].value || v->in[k].absent)
			continue;
		int32_t *fan = bpg_calloc((size_t)v->in[k].n + 1, sizeof *fan);
		if (!fan)
			return false;
		for (int g = 0; g < segments; g++) {
			for (int64_t t = s->first[g * rows]; t < s->first[(g + 1) * rows]; t++)
				if (s->operand[t] == k && ++fan[s->index[t]] > s->most_fan)
					s->most_fan = fan[s->index[t]];
			memset(fan, 0, (size_t)v->in[k].n * sizeof *fan);
		}
		free(fan);
	}
	return true;
}

struct bpg_sparse *bpg_sparse_linear(const struct bpg_node *v)
{
	struct bpg_sparse *s = sparse_new(v->out.n);
	struct bpg_terms t;
	int64_t room = 0;
	bool ok = s != NULL;

	bpg_terms_init(&t);
	for (int64_t i = 0; ok && i < v->out.n; i++) {
		bpg_terms_reset(&t);
		v->layer->terms(v, i, &t);
		ok = !t.failed && append(s, &room, &t);
		s->first[i + 1] = s->nonzeros;
	}
	bpg_terms_fini(&t);
	if (ok && count_fan(s, v, 1))
		return s;
	bpg_sparse_free(s);
	return NULL;
}

bool bpg_sparse_planes(const struct bpg_node *v, int segments, const double *const *l, const double *const *u, struct bpg_sparse **lower,
                       struct bpg_sparse **upper)
{
	int64_t rows = segments * v->out.n;
	struct bpg_sparse *s[2] = { sparse_new(rows), sparse_new(rows) };
	struct bpg_terms t[2];
	int64_t room[2] = { 0, 0 };
	bool ok = s[0] && s[1];

	bpg_terms_init(&t[0]);
	bpg_terms_init(&t[1]);
	for (int b = 0; ok && b < 2; b++)
		ok = (s[b]->bias = bpg_calloc((size_t)rows + 1, sizeof *s[b]->bias)) != NULL;
	for (int64_t i = 0; ok && i < rows; i++) {
		int64_t segment = i / v->out.n;
		bpg_terms_reset(&t[0]);
		bpg_terms_reset(&t[1]);
		v->layer->planes(v, l + segment * v->nin, u + segment * v->nin, i % v->out.n, &t[0], &t[1]);
		for (int b = 0; ok && b < 2; b++) {
			ok = !t[b].failed && append(s[b], &room[b], &t[b]);
			s[b]->bias[i] = t[b].bias;
			s[b]->first[i + 1] = s[b]->nonzeros;
		}
	}
	for (int b = 0; b < 2; b++) {
		ok = ok && count_fan(s[b], v, segments);
		bpg_terms_fini(&t[b]);
	}
	if (!ok) {
		bpg_sparse_free(s[0]);
		bpg_sparse_free(s[1]);
		return false;
	}
	*lower = s[0];
	*upper = s[1];
	return true;
}

/* The plane that t is, beside one of row i: another one that is worth a weight. */
static bool is_other(const struct bpg_sparse *s, int64_t i, const struct bpg_terms *t)
{
	int64_t n = 0;
	bool same = t->bias == s->bias[i];

	for (int k = 0; k < t->n; k++) {
		if (t->coef[k] == 0)
			continue;
		int64_t at = s->first[i] + n++;
		same = same && at < s->first[i + 1] && s->operand[at] == t->input[k] && s->index[at] == t->index[k] && s->coef[at] == (float)t->coef[k];
	}
	return isfinite(t->bias) && !(same && n == s->first[i + 1] - s->first[i]);
}

/* Rows are added as they come. */
static bool add_row(struct bpg_sparse *s, int64_t *rows_room, int64_t *room, const struct bpg_terms *t)
{
	int64_t more = *rows_room;

	if (!bpg_grow(&s->first, &more, s->rows + 2, sizeof *s->first) || !bpg_grow(&s->bias, rows_room, s->rows + 2, sizeof *s->bias)
	    || !append(s, room, t))
		return false;
	s->bias[s->rows] = t->bias;
	s->first[++s->rows] = s->nonzeros;
	return true;
}

static struct bpg_sparse *others_of(const struct bpg_node *v, const double *const *l, const double *const *u, const struct bpg_sparse *lower,
                                    const struct bpg_sparse *upper, int side)
{
	struct bpg_sparse *s = sparse_new(0);
	struct bpg_terms t;
	int64_t rows_room = 0, room = 0;
	bool ok = s && (s->of = bpg_calloc((size_t)v->out.n + 1, sizeof *s->of));

	bpg_terms_init(&t);
	for (int64_t i = 0; ok && i < v->out.n; i++) {
		bool finite = isfinite(lower->bias[i]) && isfinite(upper->bias[i]);
		for (int which = 0; ok && finite && which < BPG_OTHERS; which++) {
			bpg_terms_reset(&t);
			if (!v->layer->others(v, l, u, i, side, which, &t))
				break;
			ok = !t.failed && (!is_other(side ? upper : lower, i, &t) || add_row(s, &rows_room, &room, &t));
		}
		s->of[i + 1] = s->rows;
	}
	bpg_terms_fini(&t);
	if (ok && count_fan(s, v, 1))
		return s;
	bpg_sparse_free(s);
	return NULL;
}

bool bpg_sparse_others(const struct bpg_node *v, const double *const *l, const double *const *u, const struct bpg_sparse *lower,
                       const struct bpg_sparse *upper, struct bpg_sparse *other[2])
{
	for (int side = 0; v->layer->others && side < 2; side++)
		if (!(other[side] = others_of(v, l, u, lower, upper, side)))
			return false;
	return true;
}
