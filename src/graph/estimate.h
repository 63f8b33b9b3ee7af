/* estimate.h - how long a plan takes on a machine that need not be there: its steps become tasks of a simulation (simulate.h) as
 * lower.c makes tasks of them, each as long as its work at the machine's rates. doc/machine.md says what is approximated. */
#ifndef BPG_ESTIMATE_H
#define BPG_ESTIMATE_H

#include "base/machine.h"
#include "graph/plan.h"
#include "report/result.h"

struct bpg_estimate;

/* Of the model, from its first bounds on: belongs to the caller, who has set m->estimate to it. workers: of each process, 0: as many
 * as the machine has for it. The machine outlives the estimate. Null when memory is short. */
struct bpg_estimate *bpg_estimate_new(const struct bpg_model *m, const struct bpg_machine *machine, int workers);
void bpg_estimate_free(struct bpg_estimate *e);
/* Workers that each process would have, for the plan of a machine that is not there. */
int bpg_estimate_workers(const struct bpg_machine *machine, int owners, bool ranks, int workers);

/* What the model does, as it does it. A null `e` hears nothing. */

/* An array of `fields` x n doubles for node v is filled in so many blocks: its intervals, or its planes. */
void bpg_estimate_fill(struct bpg_estimate *e, const struct bpg_model *m, const struct bpg_model_node *v, bool planes, int64_t n, int fields,
                       double work, int blocks);
/* Panels first .. first+n-1 of v are packed where they belong; BPG_PANEL_FORWARD: a kernel. */
void bpg_estimate_pack(struct bpg_estimate *e, const struct bpg_model *m, const struct bpg_model_node *v, int first, int n);
void bpg_estimate_wave(struct bpg_estimate *e, const struct bpg_model *m, const struct bpg_stage *s, const struct bpg_wave *w);
/* Results of tiles [first, end) go from rank to rank. */
void bpg_estimate_results(struct bpg_estimate *e, const struct bpg_model *m, const struct bpg_stage *s, int first, int end);
enum bpg_status bpg_estimate_wait(struct bpg_ctx *ctx, struct bpg_estimate *e);

/* After a wait. */
void bpg_estimate_result(const struct bpg_estimate *e, struct bpg_result_estimate *result);

#endif
