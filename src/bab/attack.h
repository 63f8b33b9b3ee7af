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

/* Tries the disjuncts, each from its centre and from `restarts` random points, as tasks. Deterministic in `seed`. */
enum bpg_status bpg_attack(struct bpg_ctx *ctx, const struct bpg_net *net, const struct bpg_spec *spec, struct bpg_rt *rt, uint64_t seed,
                           struct bpg_arena *arena, struct bpg_witness *w);

/* A point is a witness when it is float32, inside the box, and the assertions hold both in the float32 replay and in
 * outward double arithmetic. y: [outputs], written. 1: witness, 0: none, -1: only one of the two holds. */
int bpg_witness_check(struct bpg_ctx *ctx, const struct bpg_net *net, const struct bpg_spec *spec, const float *x, float *y);

/* The same, but a point that fails the replay is not looked at further: 0. For points that are tried by the thousand. */
int bpg_witness_try(struct bpg_ctx *ctx, const struct bpg_net *net, const struct bpg_spec *spec, const float *x, float *y);
/* Nearest float inside [lo, up]; lo when there is none. */
float bpg_inside(double v, double lo, double up);

#endif
