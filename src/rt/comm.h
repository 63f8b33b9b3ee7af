/* comm.h - ranks: the processes of a run that an MPI launcher has started. Without a launcher there is one rank, and MPI is not
 * touched (its start costs half a second).
 *
 * All ranks do the same in the same order: they submit the same plan, of which each runs its own tasks. Data move by
 * transfers, which every rank names in that order; the two that it concerns take part. A transfer waits for the data like a task
 * (sequential consistency), but no worker waits for it: one thread of the process makes all calls of MPI. Nothing collective
 * happens inside a run.
 *
 * What a rank has to say at a time that no other can know goes in letters: bytes that no task waits for. The same thread sends and
 * receives them and hands them to a listener.
 *
 * Why not StarPU-MPI: in 1.3 it hangs now and then in its first wait, a dependent hop takes 8 to 16 ms where processes share cores,
 * and a received panel is freed only by flushes, so that the number resident is that of what was submitted ahead. Here the receiver's
 * slot bounds it. */
#ifndef BPG_COMM_H
#define BPG_COMM_H

#include "rt/rt.h"

/* Joins the other ranks when a launcher has started this process; else nothing. */
enum bpg_status bpg_comm_start(struct bpg_ctx *ctx);
int bpg_comm_rank(void);
int bpg_comm_ranks(void);
/* Of them on this machine. */
int bpg_comm_neighbours(void);
/* This one's number among these. */
int bpg_comm_neighbour(void);

/* Each rank brings its outcome; all get the worst: the same status, and the message of the first rank that has it. A rank
 * that failed stops the runs of the others first. Once in the life of the process; later calls return their own status. */
enum bpg_status bpg_comm_agree(struct bpg_ctx *ctx, enum bpg_status st);
/* all[rank * bytes ...] := what each rank has in mine[bytes]. False: another rank has come to agree on its outcome instead, as this one
 * should do next. */
bool bpg_comm_share(const void *mine, void *all, size_t bytes);
/* The exit status of rank 0, which all return; leaves MPI. */
int bpg_comm_end(int code);

/* The first `bytes` bytes of the tensor go from rank `from` to rank `to`; a rank that is neither has nothing to do. */
enum bpg_status bpg_rt_transfer(struct bpg_rt *rt, struct bpg_tensor *tensor, size_t bytes, int from, int to, int node);

/* ---- letters ---- */

/* Sends the bytes to a rank, which may be this one, and returns at once. The data, of malloc, are taken over. Letters from one rank to
 * another come in the order in which they were sent. */
void bpg_comm_post(int to, void *data, size_t bytes);
/* Reads a letter, in the thread that communicates. False: not yet; it waits until somebody else listens, or bpg_comm_listen is called. */
typedef bool bpg_letter_fn(void *arg, int from, const void *data, size_t bytes);
/* From now on letters are handed to `fn`, beginning with those that have waited; null: they wait. When this returns no other function
 * is at work. Not to be called with a lock that `fn` takes. */
void bpg_comm_listen(bpg_letter_fn *fn, void *arg);

#endif
