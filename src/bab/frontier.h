/* frontier.h - the domains of a search that wait for their turn: the one with the worst bound comes first. */
#ifndef BPG_FRONTIER_H
#define BPG_FRONTIER_H

#include "base/base.h"
#include "graph/domains.h"

/* A part of the input box on which some disjuncts are open: a smaller box, or the whole one less what splits of neurons cut off.
 * One piece of memory, but for the parameters. */
struct bpg_domain {
	double bound;             /* least, over open disjuncts, of the best lower bound that the parent had */
	double share;             /* of the search: half of the parent's */
	int64_t number;           /* in the order of their making: breaks ties */
	int depth;
	size_t bytes;
	int opens;
	int32_t *open;            /* [opens] disjuncts that are not refuted here */
	/* A box: */
	int64_t n;                /* inputs; 0: splits */
	double *lo, *up;          /* [n] */
	/* Splits: */
	int splits, held, rows;   /* held: splits that the parent had; rows of its disjunct */
	struct bpg_split *split;
	double *known;            /* [rows] the parent's bounds */
	float **params;           /* [rows] the parent's parameters, a piece of memory each */
};

/* A box of n inputs; splits for one disjunct. Null when memory is short. */
struct bpg_domain *bpg_domain_box(int64_t n, int opens);
struct bpg_domain *bpg_domain_splits(int32_t disjunct, int splits, int rows);
void bpg_domain_free(struct bpg_domain *d);

struct bpg_frontier {
	struct bpg_domain **heap;
	int64_t count, room;
	size_t bytes;
};

/* Takes the domain over; false when memory is short (the domain stays the caller's). */
bool bpg_frontier_push(struct bpg_frontier *f, struct bpg_domain *d);
/* The worst; null when there is none. */
struct bpg_domain *bpg_frontier_pop(struct bpg_frontier *f);
void bpg_frontier_fini(struct bpg_frontier *f);

#endif
