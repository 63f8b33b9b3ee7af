/* device.h - twins: tasks on a device. A twin has the buffers and the argument of its task, with the buffers in memory of the device,
 * starts kernels on the worker's stream, and returns; it waits for nothing.
 *
 * BPGRAPH_TWINS=host lets the CPU's workers run twins with the kernels' text for the host, so that all but the devices is tested where
 * there are none. Bits are those of the bodies, so nothing but time changes. */
#ifndef BPG_DEVICE_H
#define BPG_DEVICE_H

#include "cuda/kernels.h"
#include "rt/rt.h"

/* What a worker has of its device. */
struct bpg_device {
	const struct bpg_kernels *kernel;
	void *stream;
	struct bpg_rt *rt;
	struct bpg_device_memory *memory;
};

/* Memory that is the task's until its kernels have run; null when it is short (a fault is set). Content undefined. */
void *bpg_device_room(struct bpg_device *d, size_t bytes);
/* The same with a copy of what the host has there: arguments that are arrays. */
void *bpg_device_send(struct bpg_device *d, const void *host, size_t bytes);
/* Notes what a kernel's start returned; true: it was started. */
bool bpg_device_started(struct bpg_device *d, int status);

/* Arrays that many tasks need, and that take time to make: where sums begin, which terms meet where. */
enum { BPG_TABLE_PARTS = 5 };
struct bpg_table {
	void *part[BPG_TABLE_PARTS];
	size_t bytes[BPG_TABLE_PARTS];
};
/* Makes a table on the host, its parts by malloc; false when memory is short. */
typedef bool bpg_table_fn(const void *arg, struct bpg_table *table);
/* The table of this key, which says all that its content depends on (bytes of padding are 0): made by the first task that asks, then
 * kept on the device while there is room. It stays until the task ends. Null when memory is short (a fault is set).
 *
 * A key is content, not an address, so it is never out of date, and serves all models of a search. */
const struct bpg_table *bpg_device_table(struct bpg_device *d, const void *key, size_t bytes, bpg_table_fn *make, const void *arg);

/* ---- for rt.c ---- */

/* Null when memory is short. tables: bytes of tables that are kept. */
struct bpg_device *bpg_device_new(struct bpg_rt *rt, const struct bpg_kernels *kernel, size_t tables);
/* Nothing runs on it. */
void bpg_device_free(struct bpg_device *d);
/* A task begins; those before it were started on the same stream. */
void bpg_device_begin(struct bpg_device *d, void *stream);

#endif
