/* simulate.h - tasks over data on the workers and links of a machine that is not there: a list scheduler in events.
 *
 * It does as the runtime does: tasks are submitted in order and wait for the data that they read and write (sequential
 * consistency), a worker that is free takes the ready task of its owner with the highest priority, transfers follow each other on
 * the links of the two owners they concern, and no more than a window of tasks is in flight. Knows no network. */
#ifndef BPG_SIMULATE_H
#define BPG_SIMULATE_H

#include "base/machine.h"

/* Who runs a task. */
enum bpg_sim_lane {
	BPG_SIM_WORKER,           /* a worker of its owner: a core, or the GPU */
	BPG_SIM_HOST,             /* a core beside the GPU; the same as a worker where there is none */
	BPG_SIM_LINK,             /* nobody: a transfer */
	BPG_SIM_LANES
};

struct bpg_sim_use {
	int data;
	bool write;
};

struct bpg_sim_task {
	enum bpg_sim_lane lane;
	int owner;                /* who works; of a transfer: to whom it goes, -1: to all others */
	int from;                 /* of a transfer: whose the data are; -1: somebody's who is not simulated */
	double bytes;             /* of a transfer */
	int copies;               /* of a transfer: as many the sender has to send until this one has gone, at least 1 */
	double seconds;           /* of a task, beside what each costs */
	int priority;
	int uses;
	const struct bpg_sim_use *use;
};

struct bpg_sim;

/* owners: all of them. simulated: those who have tasks; the others are like these. together: all owners are in one process whose
 * workers run the tasks of all. workers: of a process, 0: as many units as its node has for each. The machine outlives the simulation.
 * Null when memory is short. */
struct bpg_sim *bpg_sim_new(const struct bpg_machine *machine, int owners, int simulated, bool together, int workers);
void bpg_sim_free(struct bpg_sim *sim);

/* Workers of an owner, or of the one process. */
int bpg_sim_workers(const struct bpg_sim *sim);
int bpg_sim_workers_of(const struct bpg_machine *machine, int owners, bool together, int workers);
/* A node has fewer units than its owners have workers. */
bool bpg_sim_crowded(const struct bpg_machine *machine, int owners, int workers);

/* A datum, -1: memory is short; and its end: tasks submitted before may still use it. */
int bpg_sim_data(struct bpg_sim *sim);
void bpg_sim_forget(struct bpg_sim *sim, int data);

/* Failures for want of memory show at the next wait. */
void bpg_sim_submit(struct bpg_sim *sim, const struct bpg_sim_task *task);
/* All tasks end; then `seconds` pass in which nobody works. False: memory was short. */
bool bpg_sim_wait(struct bpg_sim *sim, double seconds);

struct bpg_sim_outcome {
	double seconds;
	double work;              /* seconds of all tasks, were each alone, over all workers */
	double critical;          /* of the longest chain of tasks, transfers and waits, each alone */
	double waiting;           /* share of the time in which a worker has no task */
	double overlap;           /* share of the time of transfers to an owner in which it works; infinite: there are none */
	int64_t tasks, transfers, waits;
};
/* After a wait. */
void bpg_sim_outcome(const struct bpg_sim *sim, struct bpg_sim_outcome *outcome);

#endif
