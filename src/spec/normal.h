/* normal.h - building the normal form OR of (box, AND of rows) while conditions arrive one by one.
 *
 * Conditions come as a walk over nested and/or: open, conditions, close. The whole is an `and`. Bounds of inputs are
 * intersected at once and disjunctions are multiplied out when the `and` around them closes, so memory is that of the
 * normal form, never that of the text. */
#ifndef BPG_NORMAL_H
#define BPG_NORMAL_H

#include "spec/spec.h"

/* Most disjuncts of a property, and most bounds and rows in all of them together (those on the way included, what several
 * disjuncts share once). */
#define BPG_DISJUNCTS_MOST ((int64_t)1 << 21)
#define BPG_CONDITIONS_MOST ((int64_t)1 << 24)
/* Most numbers in boxes of disjuncts: 1 GiB. */
#define BPG_BOX_NUMBERS_MOST ((int64_t)1 << 27)

/* One input between bounds; infinite where there is none. The four as in struct bpg_box. */
struct bpg_bound {
	int64_t x;
	double lo, up, in_lo, in_up;
};

struct bpg_normal;

/* Rows go into the arena of `spec`; spec->inputs is known. */
enum bpg_status bpg_normal_new(struct bpg_ctx *ctx, const char *path, struct bpg_spec *spec, struct bpg_normal **normal);
void bpg_normal_free(struct bpg_normal *normal);

/* `line` is for messages. */
enum bpg_status bpg_normal_open(struct bpg_normal *normal, bool is_or, int64_t line);
enum bpg_status bpg_normal_close(struct bpg_normal *normal, int64_t line);

/* Conditions of the open `and`. */
enum bpg_status bpg_normal_bound(struct bpg_normal *normal, const struct bpg_bound *bound);
enum bpg_status bpg_normal_row(struct bpg_normal *normal, const struct bpg_row *row);
void bpg_normal_false(struct bpg_normal *normal);
/* No `or` is open: what is said now holds in every disjunct. */
bool bpg_normal_outermost(const struct bpg_normal *normal);

/* Inputs are numbered anew before the end: input x becomes to[x] < n, several of them perhaps the same one. `to` is borrowed. */
void bpg_normal_renumber(struct bpg_normal *normal, const int64_t *to, int64_t n);
/* All is closed: fills spec->disjuncts and spec->disjunct. Equal boxes are one box, and its disjuncts follow each other. */
enum bpg_status bpg_normal_finish(struct bpg_normal *normal, int64_t line);

#endif
