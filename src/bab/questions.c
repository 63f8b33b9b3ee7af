/* questions.c - see questions.h. */
#include "bab/questions.h"

#include <math.h>

static void rows(const struct bpg_disjunct *d, struct bpg_question_row *q)
{
	for (int r = 0; r < d->rows; r++)
		q[r] = (struct bpg_question_row){ .n = d->row[r].n, .index = d->row[r].index, .coef = d->row[r].coef, .coef_err = d->row[r].coef_err,
			                          .offset = d->row[r].offset, .offset_err = d->row[r].offset_err };
}

/* Conjuncts must hold at the same point, so they can be refuted together: where all rows are <= 0, any sum with weights
 * >= 0 is, too. These weights of a pair are tried. */
static const double weight[][2] = { { 1, 1 }, { 1, 3 }, { 3, 1 } };

enum { MOST_PAIRED = 4 }; /* rows of a disjunct beyond which pairs are not tried */

static int64_t pairs(const struct bpg_disjunct *d)
{
	return d->rows < 2 || d->rows > MOST_PAIRED ? 0 : (int64_t)d->rows * (d->rows - 1) / 2 * (int64_t)BPG_LEN(weight);
}

/* sum w[i] row[i], with the rounding of its coefficients in their errors. */
static bool combine(struct bpg_arena *arena, int rows, const struct bpg_row *const *row, const double *w, struct bpg_question_row *q)
{
	int n = 0, used = 0;
	double offset = 0, size = 0, offset_err = 0;

	for (int i = 0; i < rows; i++)
		n += row[i]->n;
	int64_t *index = bpg_arena_alloc(arena, (size_t)n + 1, sizeof *index);
	double *coef = bpg_arena_alloc(arena, (size_t)n + 1, sizeof *coef), *err = bpg_arena_alloc(arena, (size_t)n + 1, sizeof *err);

	if (!index || !coef || !err)
		return false;
	for (int i = 0; i < rows; i++) {
		const struct bpg_row *r = row[i];
		double x = w[i] * r->offset;
		for (int t = 0; t < r->n; t++) {
			double c = w[i] * r->coef[t], e = w[i] * r->coef_err[t] + BPG_U64 * fabs(c);
			int k = 0;
			while (k < used && index[k] != r->index[t])
				k++;
			if (k == used)
				index[used++] = r->index[t];
			coef[k] += c;
			err[k] = (err[k] + e + 2 * BPG_U64 * fabs(coef[k])) * (1 + 0x1p-40) + 0x1p-1060;
		}
		offset += x;
		size += fabs(x);
		offset_err = (offset_err + w[i] * r->offset_err) * (1 + 0x1p-40) + 0x1p-1060;
	}
	*q = (struct bpg_question_row){ .n = used, .index = index, .coef = coef, .coef_err = err, .offset = offset };
	q->offset_err = (offset_err + 2 * (rows + 1) * BPG_U64 * size) * (1 + 0x1p-40);
	return true;
}

bool bpg_questions_sum(struct bpg_arena *arena, const struct bpg_disjunct *d, const double *weight, struct bpg_question_row *q)
{
	const struct bpg_row **row = bpg_arena_alloc(arena, (size_t)d->rows + 1, sizeof *row);
	double *w = bpg_arena_alloc(arena, (size_t)d->rows + 1, sizeof *w);
	int n = 0;

	if (!row || !w)
		return false;
	for (int r = 0; r < d->rows; r++)
		if (weight[r] > 0) {
			w[n] = weight[r];
			row[n++] = &d->row[r];
		}
	return combine(arena, n, row, w, q);
}

/* Questions about sums of pairs of the disjunct's rows. */
static bool pair_questions(struct bpg_arena *arena, const struct bpg_disjunct *d, struct bpg_question_row *q)
{
	for (int i = 0; pairs(d) && i < d->rows; i++)
		for (int j = i + 1; j < d->rows; j++)
			for (size_t w = 0; w < BPG_LEN(weight); w++)
				if (!combine(arena, 2, (const struct bpg_row *[]){ &d->row[i], &d->row[j] }, weight[w], q++))
					return false;
	return true;
}

int64_t bpg_questions(const struct bpg_disjunct *d)
{
	return d->rows + pairs(d);
}

bool bpg_questions_ask(struct bpg_arena *arena, const struct bpg_disjunct *d, struct bpg_question_row *q)
{
	rows(d, q);
	return pair_questions(arena, d, q + d->rows);
}

bool bpg_questions_refute(const struct bpg_disjunct *d, const double *lower)
{
	for (int64_t r = 0; r < bpg_questions(d); r++)
		if (lower[r] > 0 || (r < d->rows && lower[r] == 0 && d->row[r].strict))
			return true;
	return false;
}
