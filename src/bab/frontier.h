/* frontier.h - the domains of a search that wait for their turn: the one with the worst bound comes first. */
#ifndef BPG_FRONTIER_H
#define BPG_FRONTIER_H

#include <stdatomic.h>

#include "bab/record.h"
#include "base/base.h"
#include "graph/domains.h"

/* Parameters that a domain leaves to both its children: [rows][each]. */
struct bpg_params {
	atomic_int holders;
	int64_t rows, each;
	const int *rank;          /* [rows] which has those of a row; null: all are here */
	bool here;                /* of some row they are; else v is not there */
	float v[];
};
/* Held once. Null when memory is short. */
struct bpg_params *bpg_params_new(int64_t rows, int64_t each);
/* Of several ranks this is `me`. rank: [rows], copied; null: all are here. */
struct bpg_params *bpg_params_dealt(int64_t rows, int64_t each, const int *rank, int me);
void bpg_params_drop(struct bpg_params *p);

/* A part of the input box on which some disjuncts are open: a smaller box, or the whole one less what splits of neurons cut off.
 * One piece of memory, but for the parameters. It does not change once it waits in a frontier; who still reads it when it has left, holds it. */
struct bpg_domain {
	atomic_int holders;
	double bound;             /* least, over open disjuncts, of the best lower bound that the parent had */
	double share;             /* of the search: half of the parent's */
	int64_t number;           /* in the order of their making: breaks ties */
	int depth;
	bool dived;               /* it is one of those that a dive goes on with */
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
	struct bpg_params *params; /* the parent's; null: as the layers start */
};

/* A box of n inputs; splits for one disjunct. Held once. Null when memory is short. */
struct bpg_domain *bpg_domain_box(int64_t n, int opens);
struct bpg_domain *bpg_domain_splits(int32_t disjunct, int splits, int rows);
/* The domain takes a holding of its own. */
void bpg_domain_give(struct bpg_domain *d, struct bpg_params *params);
void bpg_domain_hold(struct bpg_domain *d);
void bpg_domain_drop(struct bpg_domain *d);

/* A domain in a file. `before`: the one that was written before it, which may have the same parameters; null: none. Null when the
 * source is bad or memory is short. */
void bpg_domain_write(struct bpg_sink *to, const struct bpg_domain *d, const struct bpg_domain *before);
struct bpg_domain *bpg_domain_read(struct bpg_source *from, const struct bpg_domain *before);

struct bpg_chunk;
struct bpg_spill;

/* Domains in memory, and where there is a limit the later half of those that go over it on disk (spill.h). Which come first does not
 * depend on where they are. */
struct bpg_frontier {
	struct bpg_domain **heap;
	int64_t count, room;      /* in memory */
	size_t bytes, peak;       /* of those, and at most */
	struct bpg_spill *spill;  /* null: all stay in memory */
	size_t limit;             /* of bytes */
	int64_t least;            /* domains that stay in memory whatever they take */
	struct bpg_chunk **chunk; /* [chunks] domains on disk */
	int64_t chunks, chunk_room, first; /* first: the chunk with the domain that comes first of them; -1: none */
	int64_t spilled;          /* domains in chunks */
	size_t spilled_bytes;
	bool failed;              /* the disk did: what is on it is not popped, what is in memory stays there */
};

static inline int64_t bpg_frontier_waiting(const struct bpg_frontier *f)
{
	return f->count + f->spilled;
}
/* The least bound of what waits; infinite: nothing does. */
double bpg_frontier_worst(const struct bpg_frontier *f);
/* Takes the domain over; false when memory is short (the domain stays the caller's). Where the disk fails the domain is there, and
 * f->failed set. */
bool bpg_frontier_push(struct bpg_frontier *f, struct bpg_domain *d);
/* Whether a comes before b: the worse bound, then the older. */
bool bpg_domain_before(const struct bpg_domain *a, const struct bpg_domain *b);
/* The worst; null when there is none, or f->failed. */
struct bpg_domain *bpg_frontier_pop(struct bpg_frontier *f);
void bpg_frontier_fini(struct bpg_frontier *f);

#endif
