/* device.c - see device.h. A worker has a device of its own and starts everything on one stream: what is written for a task there comes
 * behind what the tasks before it read. So nothing is locked, and room is used again without a wait. */
#include "rt/device.h"

#include <stdlib.h>
#include <string.h>

enum { CHUNK = 1 << 20, ALIGN = 256, BUCKETS = 1024 };

struct chunk {
	char *at;
	size_t bytes, used;
};

struct entry {
	struct entry *next;       /* of the bucket */
	struct bpg_table table;
	size_t bytes, key_bytes;
	uint64_t hash, used;      /* used: number of the last task that asked */
	char key[];
};

struct bpg_device_memory {
	struct chunk *chunk;      /* room of the task; the last has some left */
	int64_t chunks, chunk_room;
	char *staging;            /* pinned; what is sent goes through here */
	size_t staging_bytes, staged;
	struct entry *bucket[BUCKETS];
	size_t tables, keep;      /* bytes */
	uint64_t task;
};

struct bpg_device *bpg_device_new(struct bpg_rt *rt, const struct bpg_kernels *kernel, size_t tables)
{
	struct bpg_device *d = bpg_calloc(1, sizeof *d);
	struct bpg_device_memory *m = bpg_calloc(1, sizeof *m);

	if (!d || !m) {
		free(d);
		free(m);
		return NULL;
	}
	m->keep = tables;
	*d = (struct bpg_device){ .kernel = kernel, .rt = rt, .memory = m };
	return d;
}

static void drop_entry(struct bpg_device *d, struct entry *e)
{
	for (int p = 0; p < BPG_TABLE_PARTS; p++)
		d->kernel->drop(e->table.part[p]);
	d->memory->tables -= e->bytes;
	free(e);
}

static void drop_chunks(struct bpg_device *d)
{
	struct bpg_device_memory *m = d->memory;

	while (m->chunks > 0)
		d->kernel->drop(m->chunk[--m->chunks].at);
}

void bpg_device_free(struct bpg_device *d)
{
	if (!d)
		return;
	struct bpg_device_memory *m = d->memory;
	for (int b = 0; b < BUCKETS; b++)
		for (struct entry *e = m->bucket[b], *next; e; e = next) {
			next = e->next;
			drop_entry(d, e);
		}
	drop_chunks(d);
	free(m->chunk);
	d->kernel->unpin(m->staging);
	free(m);
	free(d);
}

static void wait_for_stream(struct bpg_device *d)
{
	bpg_device_started(d, d->kernel->sync(d->stream));
}

void bpg_device_begin(struct bpg_device *d, void *stream)
{
	struct bpg_device_memory *m = d->memory;

	d->stream = stream;
	m->task++;
	if (m->chunks > 1) { /* one that holds as much as the largest task so far */
		size_t all = 0;
		for (int64_t c = 0; c < m->chunks; c++)
			all += m->chunk[c].bytes;
		wait_for_stream(d);
		drop_chunks(d);
		bpg_device_room(d, all);
	}
	if (m->chunks)
		m->chunk[0].used = 0;
}

bool bpg_device_started(struct bpg_device *d, int status)
{
	if (status)
		bpg_rt_fault(d->rt, BPG_EFAULT, "the GPU does not do its work: %s", d->kernel->error(status));
	return !status;
}

/* ---- room ---- */

static void *out_of_memory(struct bpg_device *d, size_t bytes)
{
	bpg_rt_fault(d->rt, BPG_ENOMEM, "memory of the device is short for %zu bytes", bytes);
	return NULL;
}

void *bpg_device_room(struct bpg_device *d, size_t bytes)
{
	struct bpg_device_memory *m = d->memory;
	size_t want = (bytes / ALIGN + 1) * ALIGN;
	struct chunk *c = m->chunks ? &m->chunk[m->chunks - 1] : NULL;

	if (!c || c->used + want > c->bytes) {
		if (!bpg_grow(&m->chunk, &m->chunk_room, m->chunks + 1, sizeof *m->chunk))
			return out_of_memory(d, bytes);
		c = &m->chunk[m->chunks];
		*c = (struct chunk){ .bytes = want > CHUNK ? want : CHUNK };
		if (!(c->at = d->kernel->alloc(c->bytes)))
			return out_of_memory(d, bytes);
		m->chunks++;
	}
	c->used += want;
	return c->at + c->used - want;
}

void *bpg_device_send(struct bpg_device *d, const void *host, size_t bytes)
{
	struct bpg_device_memory *m = d->memory;
	char *to = bpg_device_room(d, bytes);

	if (!to)
		return NULL;
	if (m->staged + bytes > m->staging_bytes) { /* the copies out of it have to be done before it is written anew */
		wait_for_stream(d);
		m->staged = 0;
		if (bytes > m->staging_bytes) {
			d->kernel->unpin(m->staging);
			m->staging_bytes = 0;
			if (!(m->staging = d->kernel->pinned(2 * bytes + CHUNK)))
				return out_of_memory(d, bytes);
			m->staging_bytes = 2 * bytes + CHUNK;
		}
	}
	char *from = m->staging + m->staged;
	m->staged += (bytes + 15) / 16 * 16;
	if (bytes)
		memcpy(from, host, bytes);
	return bpg_device_started(d, d->kernel->move(to, from, bytes, d->stream)) ? to : NULL;
}

/* ---- tables ---- */

/* Gives up tables that no task has asked for for long, until there is room; never those of this one. */
static void make_room(struct bpg_device *d, size_t bytes)
{
	struct bpg_device_memory *m = d->memory;
	bool waited = false;

	for (uint64_t age = 1 << 16; m->tables + bytes > m->keep && age > 0; age /= 4)
		for (int b = 0; b < BUCKETS && m->tables + bytes > m->keep; b++)
			for (struct entry **at = &m->bucket[b], *e; (e = *at);) {
				if (m->task - e->used < age) {
					at = &e->next;
					continue;
				}
				if (!waited)
					wait_for_stream(d);
				waited = true;
				*at = e->next;
				drop_entry(d, e);
			}
}

/* Parts on the device for those on the host, which go: a table is seldom made, so the copies are waited for. */
static bool upload(struct bpg_device *d, struct bpg_table *t)
{
	void *host[BPG_TABLE_PARTS];
	bool ok = true;

	memcpy(host, t->part, sizeof host);
	for (int p = 0; p < BPG_TABLE_PARTS; p++) {
		t->part[p] = host[p] && ok ? d->kernel->alloc(t->bytes[p]) : NULL;
		if (host[p] && ok && !t->part[p])
			ok = out_of_memory(d, t->bytes[p]) != NULL;
		if (t->part[p])
			ok = bpg_device_started(d, d->kernel->move(t->part[p], host[p], t->bytes[p], d->stream));
	}
	wait_for_stream(d);
	for (int p = 0; p < BPG_TABLE_PARTS; p++)
		free(host[p]);
	return ok;
}

const struct bpg_table *bpg_device_table(struct bpg_device *d, const void *key, size_t bytes, bpg_table_fn *make, const void *arg)
{
	struct bpg_device_memory *m = d->memory;
	uint64_t hash = bpg_hash(BPG_HASH_START, key, bytes);
	struct entry **bucket = &m->bucket[hash % BUCKETS], *e;

	for (e = *bucket; e; e = e->next)
		if (e->hash == hash && e->key_bytes == bytes && !memcmp(e->key, key, bytes)) {
			e->used = m->task;
			return &e->table;
		}
	e = bpg_calloc(1, sizeof *e + bytes);
	if (!e || !make(arg, &e->table)) {
		for (int p = 0; e && p < BPG_TABLE_PARTS; p++)
			free(e->table.part[p]);
		free(e);
		bpg_rt_fault(d->rt, BPG_ENOMEM, "memory is short for a table");
		return NULL;
	}
	e->hash = hash;
	e->key_bytes = bytes;
	e->used = m->task;
	memcpy(e->key, key, bytes);
	for (int p = 0; p < BPG_TABLE_PARTS; p++)
		e->bytes += e->table.part[p] ? e->table.bytes[p] : 0;
	make_room(d, e->bytes);
	m->tables += e->bytes;
	bool ok = upload(d, &e->table);
	e->next = *bucket;
	*bucket = e;
	if (ok)
		return &e->table;
	e->key_bytes = SIZE_MAX; /* is never found, and goes with the others */
	return NULL;
}
