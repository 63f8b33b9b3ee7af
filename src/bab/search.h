/* search.h - branch and bound, for what bounds of the whole box leave open.
 *
 * A domain is a smaller box of inputs (boxes.c), or splits of neurons (neurons.c). Domains are bounded in batches, each a subgraph
 * of tasks in which all its domains share the weights; several batches are in flight (pool.h). Which kind of cut serves is
 * measured: both run for a while, and the one that closes more of its search a second goes on. */
#ifndef BPG_SEARCH_H
#define BPG_SEARCH_H

#include "bab/attack.h"
#include "bab/record.h"
#include "graph/model.h"

struct bpg_saver;
struct bpg_snapshot;
struct bpg_spill;

struct bpg_search {
	const struct bpg_net *net;
	const struct bpg_spec *spec;
	struct bpg_rt *rt;
	struct bpg_bound_options bound; /* method, slope, precision, ...; the search sets what concerns batches */
	enum bpg_branching branching;
	int batch;                /* domains of a batch; 0: chosen */
	bool synchronous;         /* one batch after the other: the same domains in the same order */
	/* Told as domains are decided; null: nobody. */
	void (*progress)(void *arg, int64_t domains, int64_t waiting, double worst, int depth, size_t bytes, size_t spilled);
	void *progress_arg;
	struct bpg_saver *saver;  /* told where the search is, to write checkpoints; null: none are written */
	struct bpg_snapshot **resume; /* to go on from, freed when that has begun; null, or of null: from the start */
	/* Waiting domains of more than so many bytes (but for those of a batch) go to disk; null: all stay in memory. */
	struct bpg_spill *spill;
	size_t frontier_bytes;
	int group, groups;        /* of several groups of ranks that search together this is one (groups.h); groups 1: there is no other */
	uint64_t number;          /* of this search among those of the run: the same at all groups */
	/* Results; counts go on from what they hold. */
	int64_t domains, tasks;   /* of this group */
	int64_t moved;            /* domains that came from other groups */
	size_t frontier_peak;     /* bytes of domains that waited in memory, at most */
	int depth;
	double worst;             /* least bound of what was still open at the end; infinite: nothing */
	struct bpg_witness witness; /* of the arena given */
};

enum bpg_search_end {
	BPG_SEARCH_PROVED,        /* every open disjunct is refuted on every domain */
	BPG_SEARCH_FOUND,         /* a witness */
	BPG_SEARCH_OPEN,          /* domains are left that cannot be cut further */
};

/* A search at one moment: its domains, and how far it is. */
struct bpg_searching;
/* Null when memory is short, or something was lost that cannot be had again. */
struct bpg_snapshot *bpg_snapshot_take(struct bpg_searching *s);
struct bpg_snapshot *bpg_snapshot_copy(const struct bpg_snapshot *shot);
void bpg_snapshot_write(struct bpg_sink *to, const struct bpg_snapshot *shot);
/* A source that is bad afterwards had none. BPG_ENOMEM. */
enum bpg_status bpg_snapshot_read(struct bpg_ctx *ctx, struct bpg_source *from, struct bpg_snapshot **shot);
void bpg_snapshot_free(struct bpg_snapshot *shot);

/* Searches the box of disjuncts open[0..opens), which all have the same one. root: the model that bounded it (null: inputs are
 * cut alone). BPG_ECANCELLED: out of time, or stopped. BPG_EFILE: what is to be resumed is no search of this box. */
enum bpg_status bpg_search_box(struct bpg_ctx *ctx, struct bpg_search *search, struct bpg_model *root, const int32_t *open, int opens,
                               struct bpg_arena *arena, enum bpg_search_end *end);

#endif
