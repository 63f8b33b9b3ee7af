/* frontier.h - the domains of a search that wait for their turn: the one with the worst bound comes first. */
#ifndef BPG_FRONTIER_H
#define BPG_FRONTIER_H

#include "base/base.h"

/* A part of the input box on which some disjuncts are open. */
struct bpg_domain {
	double bound;             /* least, over open disjuncts, of the best lower bound that the parent had */
	int64_t number;           /* in the order of their making: breaks ties */
	int depth;
	int64_t n;                /* inputs */
	double *lo, *up;          /* [n] */
	int opens;
	int32_t *open;            /* [opens] disjuncts that are not refuted here */
};

/* A domain with room for n inputs and `opens` disjuncts, in one piece of memory for free(). Null when memory is short. */
struct bpg_domain *bpg_domain_new(int64_t n, int opens);
size_t bpg_domain_bytes(const struct bpg_domain *d);

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
