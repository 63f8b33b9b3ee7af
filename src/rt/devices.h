/* devices.h - the devices of a run, for the files of rt. */
#ifndef BPG_DEVICES_H
#define BPG_DEVICES_H

#include "rt/device.h"
#include "rt/rt_internal.h"

/* What BPGRAPH_TWINS says. */
enum bpg_status bpg_devices_ask(struct bpg_ctx *ctx, struct bpg_rt *rt);
/* Before StarPU starts, and when it has started (its codelets are set). */
void bpg_devices_configure(const struct bpg_rt *rt, struct starpu_conf *conf);
void bpg_devices_start(struct bpg_rt *rt);
/* No task runs any more. */
void bpg_devices_stop(struct bpg_rt *rt);
/* Says where a task runs, and notes where what it writes then is. */
void bpg_devices_place(struct bpg_rt *rt, const struct bpg_task *t, struct starpu_task *task);
/* Starts a twin on the device of the worker that calls. */
void bpg_devices_run(struct bpg_rt *rt, bpg_twin_fn *twin, void *const *buffer, const void *arg);
/* Whose bytes those are that data of `owner` take on a memory node; -1: nobody's, as memory of devices is what counts. */
int bpg_devices_owner(const struct bpg_rt *rt, int owner, unsigned node);

#endif
