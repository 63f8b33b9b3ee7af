/* machine.h - a machine as estimates see it: what a node has, how fast it is, what lies between. doc/machine.md has the format. */
#ifndef BPG_MACHINE_H
#define BPG_MACHINE_H

#include "base/base.h"

/* A unit is a core, or a GPU that has `host` cores beside it. Owners are dealt to nodes, `owners` to each; a GPU is an owner, the cores
 * of a node are shared out among its owners. Rates are those of one unit. */
struct bpg_machine {
	char *name;               /* as the file has it */
	bool gpu;
	double units, owners, host;
	double memory;            /* bytes of an owner; 0: not said */
	double gemm_float32, gemm_float64, conv, adjoint; /* operations a second: dense products, convolutions, the forward chain's */
	double tiles, starts;     /* bytes of tiles a second: passes over them; first rows made from weights */
	double intervals;         /* multiplications of interval arithmetic a second (of a core) */
	double packing, packing_ranks, upload; /* bytes of weights a second: packed; panel by panel, as ranks do; to a GPU */
	double fresh;             /* bytes a second of memory that is written for the first time; 0: at no cost */
	double file;              /* bytes a second that a node reads from the network's file; 0: it is in memory */
	double shared;            /* rate of a unit while all of its node work, over that while it works alone */
	double task, submit, wait; /* seconds: a task costs its worker, its submission; a wait for all tasks */
	double begin;             /* seconds until ranks that were started together all work */
	double message;           /* seconds that a transfer costs the thread which communicates */
	double turn;              /* seconds that it waits for its turn where a node has more workers than cores; 0: none */
	double link_latency, link, network_latency, network; /* inside a node, between nodes: seconds, bytes a second of an owner and direction */
};

/* Reads a file. Failures name file and line. */
enum bpg_status bpg_machine_read(struct bpg_ctx *ctx, const char *path, struct bpg_machine *machine);
void bpg_machine_fini(struct bpg_machine *machine);

#endif
