/* family_max.h - the largest (or smallest) of some elements: interval and planes, from their ranges one after the other. */
#ifndef BPG_FAMILY_MAX_H
#define BPG_FAMILY_MAX_H

#include "codelets/plane.h"

/* An element; operand -1: a constant. */
struct bpg_peer {
	int operand;
	int64_t index;
	struct bpg_range in;
};

/* Elements remembered: what the other planes take. */
enum { BPG_PEERS = BPG_OTHERS + 1 };

struct bpg_peak {
	bool least;               /* the smallest is wanted; ranges are mirrored then */
	int count;                /* elements so far, 2 for more */
	int kept;                 /* of the two lists */
	struct bpg_peer low;      /* of the largest lower bound (ties: the larger upper one) */
	struct bpg_peer mid[BPG_PEERS];  /* of the largest middles, falling */
	struct bpg_peer high[BPG_PEERS]; /* of the largest upper bounds, falling */
	double next;              /* largest upper bound of those that are not in `high` */
};

void bpg_peak_start(struct bpg_peak *p, bool least);
/* NaN bounds count as infinite ones. */
void bpg_peak_add(struct bpg_peak *p, int operand, int64_t index, double l, double u);
/* Exact interval of what was added. */
struct bpg_range bpg_peak_range(const struct bpg_peak *p);
void bpg_peak_below(const struct bpg_peak *p, struct bpg_terms *t);
void bpg_peak_above(const struct bpg_peak *p, struct bpg_terms *t);
/* Their other planes, as in `others`. */
bool bpg_peak_other(const struct bpg_peak *p, int side, int which, struct bpg_terms *t);

/* For an output that is one of some elements: between the smallest and the largest of those that `collect` says it may be;
 * `least` asks for those of the lower side, started as such. */
typedef void bpg_peak_collect(const struct bpg_node *v, const double *const *l, const double *const *u, int64_t i, bool least,
                              struct bpg_peak *p);
void bpg_peaks_interval(bpg_peak_collect *collect, const struct bpg_node *v, const double *const *l, const double *const *u,
                        int64_t first, int64_t n, double *lo, double *up);
void bpg_peaks_planes(bpg_peak_collect *collect, const struct bpg_node *v, const double *const *l, const double *const *u, int64_t i,
                      struct bpg_terms *lower, struct bpg_terms *upper);
bool bpg_peaks_other(bpg_peak_collect *collect, const struct bpg_node *v, const double *const *l, const double *const *u, int64_t i,
                     int side, int which, struct bpg_terms *t);

#endif
