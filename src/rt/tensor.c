/* tensor.c - data handles: a StarPU interface of plain bytes whose memory comes from our pool. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "rt/comm.h"
#include "rt/devices.h"

void bpg_rt_count(struct bpg_rt *rt, int owner, size_t bytes, bool add)
{
	if (owner < 0)
		return;
	if (!add) {
		atomic_fetch_sub(&rt->bytes[owner], bytes);
		return;
	}
	size_t now = atomic_fetch_add(&rt->bytes[owner], bytes) + bytes, peak = atomic_load(&rt->peak[owner]);
	while (now > peak && !atomic_compare_exchange_weak(&rt->peak[owner], &peak, now))
		;
}

static void block_register(starpu_data_handle_t handle, unsigned home, void *interface)
{
	const struct bpg_block *given = interface;

	for (unsigned node = 0; node < STARPU_MAXNODES; node++) {
		struct bpg_block *b = starpu_data_get_interface_on_node(handle, node);
		*b = *given;
		if (node != home)
			b->ptr = 0;
	}
}

static starpu_ssize_t block_allocate(void *interface, unsigned node)
{
	struct bpg_block *b = interface;
	bool ram = starpu_node_get_kind(node) == STARPU_CPU_RAM;
	void *p = ram ? bpg_pool_get(b->rt->pool, b->bytes) : (void *)starpu_malloc_on_node(node, b->bytes);

	if (!p)
		return -ENOMEM;
	b->ptr = (uintptr_t)p;
	bpg_rt_count(b->rt, bpg_devices_owner(b->rt, b->owner, node), b->bytes, true);
	if (b->parameters)
		bpg_rt_count(b->rt, b->rt->owners, b->bytes, true);
	return (starpu_ssize_t)b->bytes;
}

static void block_free(void *interface, unsigned node)
{
	struct bpg_block *b = interface;

	if (starpu_node_get_kind(node) == STARPU_CPU_RAM)
		bpg_pool_put(b->rt->pool, (void *)b->ptr, b->bytes);
	else
		starpu_free_on_node(node, b->ptr, b->bytes);
	b->ptr = 0;
	bpg_rt_count(b->rt, bpg_devices_owner(b->rt, b->owner, node), b->bytes, false);
	if (b->parameters)
		bpg_rt_count(b->rt, b->rt->owners, b->bytes, false);
}

static int block_copy(void *from, unsigned from_node, void *to, unsigned to_node, void *async)
{
	const struct bpg_block *s = from, *d = to;

	return starpu_interface_copy(s->ptr, 0, from_node, d->ptr, 0, to_node, s->bytes, async);
}

static void *block_pointer(void *interface, unsigned node)
{
	(void)node;
	return (void *)((struct bpg_block *)interface)->ptr;
}

static size_t block_size(starpu_data_handle_t handle)
{
	return ((struct bpg_block *)starpu_data_get_interface_on_node(handle, STARPU_MAIN_RAM))->bytes;
}

static uint32_t block_footprint(starpu_data_handle_t handle)
{
	size_t bytes = block_size(handle);

	return starpu_hash_crc32c_be_n(&bytes, sizeof bytes, 0);
}

static int block_compare(void *a, void *b)
{
	return ((struct bpg_block *)a)->bytes == ((struct bpg_block *)b)->bytes;
}

static void block_display(starpu_data_handle_t handle, FILE *f)
{
	fprintf(f, "%zu\t", block_size(handle));
}

static starpu_ssize_t block_describe(void *interface, char *buf, size_t size)
{
	return snprintf(buf, size, "B%zu", ((struct bpg_block *)interface)->bytes);
}

static const struct starpu_data_copy_methods copy_methods = { .any_to_any = block_copy };

static struct starpu_data_interface_ops ops = {
	.register_data_handle = block_register,
	.allocate_data_on_node = block_allocate,
	.free_data_on_node = block_free,
	.copy_methods = &copy_methods,
	.to_pointer = block_pointer,
	.get_size = block_size,
	.footprint = block_footprint,
	.compare = block_compare,
	.display = block_display,
	.describe = block_describe,
	.interfaceid = STARPU_UNKNOWN_INTERFACE_ID,
	.interface_size = sizeof(struct bpg_block),
	.dontcache = 1,
	.name = "BPG_BLOCK_INTERFACE",
};

static struct bpg_tensor *new(struct bpg_rt *rt, size_t bytes, void *home, int owner, bool parameters)
{
	struct bpg_tensor *t = malloc(sizeof *t);
	struct bpg_block b = { .ptr = (uintptr_t)home, .bytes = bytes ? bytes : 64, .rt = rt, .owner = owner, .parameters = parameters };

	if (!t)
		return NULL;
	if (bpg_comm_ranks() > 1)
		owner = b.owner = bpg_comm_rank();
	if (ops.interfaceid == STARPU_UNKNOWN_INTERFACE_ID)
		ops.interfaceid = (enum starpu_data_interface_id)starpu_data_interface_get_next_id();
	*t = (struct bpg_tensor){ .rt = rt, .bytes = b.bytes, .owner = owner, .home = home != NULL };
	starpu_data_register(&t->handle, home ? STARPU_MAIN_RAM : -1, &b, &ops);
	if (home)
		bpg_rt_count(rt, bpg_devices_owner(rt, owner, STARPU_MAIN_RAM), b.bytes, true);
	return t;
}

struct bpg_tensor *bpg_tensor_new(struct bpg_rt *rt, size_t bytes, void *home, int owner)
{
	return new(rt, bytes, home, owner, false);
}

struct bpg_tensor *bpg_tensor_parameters(struct bpg_rt *rt, size_t bytes, int owner)
{
	return new(rt, bytes, NULL, owner, true);
}

void bpg_tensor_release(struct bpg_tensor *t)
{
	if (!t)
		return;
	if (t->home) {
		starpu_data_unregister(t->handle); /* its memory is the caller's, who may free it next */
		bpg_rt_count(t->rt, bpg_devices_owner(t->rt, t->owner, STARPU_MAIN_RAM), t->bytes, false);
	} else {
		starpu_data_unregister_submit(t->handle);
	}
	free(t);
}
