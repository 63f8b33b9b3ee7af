/* pool.h - a search that is under way: its frontier, and the drivers that bound batches of it.
 *
 * Several batches are in flight, each driven by a thread of its own that waits for its own tasks alone, so that workers have
 * tasks of one while another is decided on. What a domain is, is told by the pool's `work`. */
#ifndef BPG_POOL_OF_SEARCH_H
#define BPG_POOL_OF_SEARCH_H

#include <pthread.h>

#include "bab/frontier.h"
#include "bab/search.h"
#include "graph/contract.h"

struct bpg_search_pool;
struct bpg_groups;

enum { BPG_TRIES = 4 };           /* points of a batch that are always tried */
/* Of the time that a batch takes, what its points may take. */
static const double bpg_tried_share = 0.1;

/* A driver's own things. */
struct bpg_driver {
	struct bpg_search_pool *p;
	struct bpg_ctx *ctx;
	struct bpg_group *group;
	struct bpg_arena *arena;  /* of a batch */
	double began, tried;      /* when its bounds were asked for; seconds spent on points since they are there */
	int tries;
	/* What the batch has come to; the pool's when it is given back, with its children: so at any time the frontier and what drivers
	 * have taken are a whole search. */
	struct bpg_domain **taken;
	int count;
	bool diving;
	double closed, left;
	bool stuck;
	int64_t contracted, gained;
};

/* Bounds domains d[0..count) and decides on each: tells the driver of those that are closed or stuck, and gives the children of the
 * others, at most two each. The domains stay the pool's, as they are. Of a batch that fails nothing counts. */
typedef enum bpg_status bpg_work_fn(struct bpg_driver *v, struct bpg_domain **d, int count, struct bpg_domain **child, int *children);

/* lock guards everything below it but what is set before the drivers start. Pools that run by turns have the same. */
struct bpg_search_pool {
	struct bpg_search *x;
	bpg_work_fn *work;
	const struct bpg_box *whole;
	struct bpg_model *root;   /* neurons: bounds of the whole box */
	bool leaves;              /* neurons: domains with nothing left to split are solved as linear programs */
	struct bpg_contractor *contractor; /* boxes; null: none */
	int most;                 /* domains that a batch may have */
	struct bpg_groups *groups; /* that work on this search; null: one process does */
	pthread_mutex_t *lock;
	pthread_cond_t changed;
	bool ready;               /* changed is there */
	struct bpg_driver *driver; /* [drivers] at work */
	int drivers;
	int batch;                /* domains of the next one: more while batches are quick */
	struct bpg_frontier frontier;
	/* One batch in some dives: it goes on with the children of the last dive, so that some domains become small soon. What has to be
	 * refuted has to be in any order; what is to be found may be found sooner. */
	struct bpg_domain **dive; /* [dives] room for a batch */
	int dives;
	int64_t batches;          /* done */
	int busy;                 /* drivers at work on domains */
	bool stop, stuck;         /* nothing more is begun; a domain could not be cut */
	bool lost;                /* memory was short for a domain: what waits is no whole search any more */
	double until;             /* no batch is begun after this time */
	int64_t made;
	double closed;            /* share of the search that is closed: halved with each cut */
	double seconds;           /* it has run */
	int64_t contracted, gained; /* boxes: domains, and those of them that lost something worth the time */
	enum bpg_status status;   /* the first failure */
	char message[512];
	double left;              /* least bound of the domains given up */
};

/* Takes the domains over. */
enum bpg_status bpg_pool_begin(struct bpg_ctx *ctx, struct bpg_search_pool *p, struct bpg_domain **root, int roots);
/* Works until nothing is left, a witness is found, or `until` (0: no limit). */
void bpg_search_run(struct bpg_search_pool *p, double until);
void bpg_pool_fini(struct bpg_search_pool *p);
/* With the lock held: the domains that wait in memory or are at work, each held once more; their number in *count. Null when memory is
 * short. Those on disk are in the frontier's chunks. */
struct bpg_domain **bpg_pool_all(const struct bpg_search_pool *p, int64_t *count);
static inline int64_t bpg_pool_waiting(const struct bpg_search_pool *p)
{
	return bpg_frontier_waiting(&p->frontier) + p->dives;
}
/* The least bound of what waits; infinite: nothing does. */
double bpg_pool_worst(const struct bpg_search_pool *p);
/* With the lock held. Takes the domain over: it waits again where it did. */
void bpg_pool_wait(struct bpg_search_pool *p, struct bpg_domain *d);
/* Nothing waits any more. */
static inline bool bpg_pool_done(const struct bpg_search_pool *p)
{
	return p->status || p->x->witness.found || !bpg_pool_waiting(p);
}

/* For `work`. True when the driver may try another point of its batch: a tenth of the time that the bounds took, or four points. */
bool bpg_pool_may_try(const struct bpg_driver *v);
/* A witness, if x [inputs] is one: kept, and the search ends. y: [outputs]. */
bool bpg_pool_try(struct bpg_driver *v, const float *x, float *y);
/* x [inputs] := the point, rounded to the nearest floats of the whole box. */
void bpg_pool_inside(const struct bpg_search_pool *p, const float *point, float *x);
/* Tries points [inputs] by tasks, as many as a tenth of the batch's time is enough for, or four: the number of one that is a witness, to
 * be tried once more; -1: none. */
int bpg_pool_try_all(struct bpg_driver *v, const float *const *point, int count);
void bpg_pool_closed(struct bpg_driver *v, const struct bpg_domain *d);
void bpg_pool_stuck(struct bpg_driver *v, const struct bpg_domain *d);
void bpg_pool_count(struct bpg_search_pool *p, int64_t tasks);

/* ---- what a domain may be ---- */

/* Boxes: whether cutting inputs has a prospect, as few of them move; the search of the box of disjuncts open[0..opens). */
bool bpg_boxes_suit(const struct bpg_net *net, const struct bpg_box *box);
enum bpg_status bpg_boxes_begin(struct bpg_ctx *ctx, struct bpg_search_pool *p, const int32_t *open, int opens);
/* Neurons: whether some can be split; the search over splits of the root's neurons. `root`: bounds of the box, of the caller. */
bool bpg_neurons_suit(const struct bpg_model *root);
enum bpg_status bpg_neurons_begin(struct bpg_ctx *ctx, struct bpg_search_pool *p, struct bpg_model *root, const int32_t *open, int opens);

#endif
