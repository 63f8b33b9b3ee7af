/* joint.h - the joint objective of alpha-CROWN: the bounds of the rows asked are optimised over the parameters of all stages. */
#ifndef BPG_JOINT_H
#define BPG_JOINT_H

#include "graph/rounds.h"

/* Rows asked, over intermediate bounds that plain walks have found; nodes are settled. In each iteration all stages have a walk, in
 * the order of nodes, each over what is best known of the nodes before; then the rows asked, with a chain that also says how the sum of
 * their bounds changes with each intermediate bound; then the stages have their chains, backwards. `look` as in bpg_stage_run. */
enum bpg_status bpg_joint_run(struct bpg_ctx *ctx, struct bpg_model *m, struct bpg_stage *question, bpg_look_fn *look, void *arg);

#endif
