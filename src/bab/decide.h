/* decide.h - the verdict on a property: attack first, then bounds of its rows. */
#ifndef BPG_DECIDE_H
#define BPG_DECIDE_H

#include "graph/model.h"
#include "report/result.h"
#include "spec/spec.h"

struct bpg_decide {
	struct bpg_ctx *ctx;
	const struct bpg_net *net;
	const struct bpg_spec *spec;
	struct bpg_rt *rt;
	struct bpg_bound_options bound;
	bool attack;
	int then_iterations;      /* of alpha-crown after plain bounds have not decided; 0: never */
	bool search;              /* by branch and bound what is open then */
	enum bpg_branching branching; /* see search.h */
	int batch;
	bool synchronous;
	void (*search_progress)(void *arg, int64_t domains, int64_t waiting, double worst, int depth, size_t bytes, size_t spilled);
	void *search_progress_arg;
	uint64_t seed;
	double deadline;          /* bpg_now() at which the run is cancelled; 0: none */
	/* The decision is saved there, as often as said, and gone on with from there; null: not. With the fingerprint of the question. */
	const char *checkpoint, *resume;
	double checkpoint_every;
	const char *spill;        /* folder where domains wait beyond their share of bound.memory; null: TMPDIR's, or /tmp */
	uint64_t fingerprint;
	const volatile int *interrupt; /* not zero: the run ends by an interrupt; null: never */
	/* Several processes decide together, in step: the first tries points, and `share` gives all of them what it has. null: one process. */
	bool (*share)(void *data, size_t bytes); /* false: another has stopped */
	bool follows;             /* this is not the first */
	int group, groups;        /* of so many groups of ranks that search together this is one; see groups.h. 1: all ranks search in step */
	FILE *dot;                /* steps are drawn here; null: not */
	bool layer_bounds;        /* keep those of the last box */
	struct bpg_result *result; /* verdict, rows, witness, seconds, tasks are filled */
};

/* `unsat` only when every disjunct is refuted by sound bounds: its box is empty, or a row cannot hold. */
enum bpg_status bpg_decide(struct bpg_decide *d);

#endif
