/* questions.h - a disjunct as linear questions: its rows, and sums of two of them. All rows must hold at the same point, so where
 * they are <= 0 any sum with weights >= 0 is, too, and a sum may be refuted where no row alone is. */
#ifndef BPG_QUESTIONS_H
#define BPG_QUESTIONS_H

#include "graph/model.h"
#include "spec/spec.h"

/* How many: the rows come first. */
int64_t bpg_questions(const struct bpg_disjunct *d);
/* q[bpg_questions(d)] is written; what sums point to lives in the arena. False when memory is short. */
bool bpg_questions_ask(struct bpg_arena *arena, const struct bpg_disjunct *d, struct bpg_question_row *q);
/* The sum of the rows with weights >= 0, which is <= 0 where all rows are. False when memory is short. */
bool bpg_questions_sum(struct bpg_arena *arena, const struct bpg_disjunct *d, const double *weight, struct bpg_question_row *q);
/* Whether lower bounds of the questions show that the disjunct cannot hold: one is > 0, or >= 0 and strict. */
bool bpg_questions_refute(const struct bpg_disjunct *d, const double *lower);

#endif
