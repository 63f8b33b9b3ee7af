/* attack.h - search for a counterexample: points inside the box, moved along gradients. */
#ifndef BPG_ATTACK_H
#define BPG_ATTACK_H

#include "net/net.h"
#include "rt/rt.h"
#include "spec/spec.h"

struct bpg_witness {
	bool found, unsure;       /* unsure: a point where only one of the two replays agrees */
	float *x, *y;             /* [inputs], [outputs]; owned by the arena given */
};

struct bpg_attack_plan {
	const struct bpg_net *net;
	const struct bpg_spec *spec;
	struct bpg_rt *rt;
	uint64_t seed;
	const int32_t *disjunct;  /* [disjuncts] which are tried; null: the first of the property */
	int64_t disjuncts;
	double until;             /* bpg_now() at which no further step is made; 0: none */
};

/* Tries disjuncts, all from their centres first, then from random points, as tasks. Deterministic in the seed where time does not
 * end it; *cut: it did. */
enum bpg_status bpg_attack(struct bpg_ctx *ctx, const struct bpg_attack_plan *plan, struct bpg_arena *arena, struct bpg_witness *w, bool *cut);

/* A point is a witness when it is float32, inside the box, and the assertions hold both in the float32 replay and in
 * outward double arithmetic. y: [outputs], written. 1: witness, 0: none, -1: only one of the two holds. */
int bpg_witness_check(struct bpg_ctx *ctx, const struct bpg_net *net, const struct bpg_spec *spec, const float *x, float *y);

/* The same, but a point that fails the replay is not looked at further: 0. For points that are tried by the thousand. */
int bpg_witness_try(struct bpg_ctx *ctx, const struct bpg_net *net, const struct bpg_spec *spec, const float *x, float *y);
/* Nearest float inside [lo, up]; lo when there is none. */
float bpg_inside(double v, double lo, double up);

#endif
