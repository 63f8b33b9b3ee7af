/* groups.h - one search by several groups of ranks, each with a frontier of its own.
 *
 * Every domain is in the hands of one group, or on its way from one to another. Group 0 begins with all of them, and keeps the books: of
 * each kind of cut, which groups want domains. They speak by letters (comm.h), outside of all tasks:
 *
 *   WANT   to the books: nothing waits here and nothing is at work. Sent when that has become so, once, until a GIVE has come
 *   ASK    from the books to a group that has some: give to that one. It does not want any more, in the books
 *   GIVE   some domains, from the one that was asked to the one that wanted; or
 *   NONE   from the one that was asked to the books: there are none to spare. The other wants again
 *   STATE  to the books: how many wait here, and figures for the progress line
 *   FOUND  to the books: a witness
 *   ALONE  from the books: the kind of cut that goes on alone
 *   OVER   from the books: the search has ended, and how
 *
 * A kind of cut is done when all groups want, in the books. Proof. Domains come to a group A by GIVE alone; a GIVE answers an ASK for A,
 * and every ASK has one answer. The books send one only while A wants, and then it does not, until A's next WANT or the NONE that
 * answers this very ASK. So one ASK for A at most has no answer yet, and while A wants none has: a WANT is sent after the GIVE of the last
 * one has come, a NONE is the answer. Nor does A hold a domain while it wants: it held none at its last WANT (or at the start), and nothing
 * has come since. So when all want at once nobody holds a domain and none is on its way; and a domain leaves a group's hands by GIVE, or
 * when it is decided. What could not be decided is said with the WANT. A group that has failed, lost a domain or found a witness sends
 * no WANT; a letter that is lost is a fault of the run, which ends all (bpg_comm_agree); a rank that is killed says nothing. None of
 * that ends in a proof. No group waits for another while it has domains, and nothing here is collective, so nothing can lock. */
#ifndef BPG_GROUPS_H
#define BPG_GROUPS_H

#include <pthread.h>

#include "bab/frontier.h"
#include "bab/search.h"

struct bpg_search_pool;

enum { BPG_KINDS = 2 };           /* of cuts, each with a pool */

/* What a group tells of itself. */
struct bpg_group_state {
	int64_t waiting[BPG_KINDS], domains, depth, bytes, spilled;
	double closed[BPG_KINDS], worst;
};

/* The books, of one group. */
struct bpg_group_books {
	bool wants[BPG_KINDS], stuck[BPG_KINDS];
	int64_t waiting[BPG_KINDS]; /* as far as is known: halved by each ASK */
	struct bpg_group_state state;
};

/* What groups are to each other in one search. The lock of the pools guards it. */
struct bpg_groups {
	struct bpg_search *x;
	int mine, count;
	uint64_t search;          /* its number: the same at all groups */
	uint64_t root;            /* hash of the bounds that parameters belong to */
	struct bpg_search_pool *pool; /* [KINDS] */
	const bool *has;          /* [KINDS] */
	pthread_mutex_t *lock;
	/* Whether a domain that has come is one of this search. */
	bool (*belongs)(const void *arg, const struct bpg_domain *d, int kind);
	const void *arg;
	int alone;                /* the kind that goes on; -1: not known yet */
	bool over;
	enum bpg_search_end end;
	/* Of this group: */
	bool wanting[BPG_KINDS];
	struct bpg_group_state told; /* last, and when */
	double told_at;
	/* At group 0: */
	struct bpg_group_books *books; /* [count] */
	bool done[BPG_KINDS];     /* nothing is left but what is stuck */
};

/* The pools are there; those of other groups than the first are empty. Letters are read from now on. BPG_ENOMEM. */
enum bpg_status bpg_groups_begin(struct bpg_ctx *ctx, struct bpg_groups *g);
/* They are not any more. Without the lock. */
void bpg_groups_end(struct bpg_groups *g);

/* With the lock held: */

/* A batch of the pool has ended, its children wait. */
void bpg_groups_worked(struct bpg_groups *g, const struct bpg_search_pool *p);
/* The witness of the search was found here. */
void bpg_groups_found(struct bpg_groups *g);
/* At group 0: this kind goes on alone. */
void bpg_groups_alone(struct bpg_groups *g, int kind);
/* At group 0: of all groups, as far as is known. */
double bpg_groups_closed(const struct bpg_groups *g, int kind);

#endif
