/* kernels_host.c - the table of the kernels on the host: what a run does with a device is tested where there is none. */
#include <stdlib.h>
#include <string.h>

#include "cuda/host.h"
#include "cuda/kernels.h"

#define ON_HOST(name)                                                          \
	static int name(const struct bpg_cuda_##name *p, void *stream)         \
	{                                                                      \
		(void)stream;                                                  \
		bpg_host_##name(p);                                            \
		return 0;                                                      \
	}
ON_HOST(product)
ON_HOST(adjoint)
ON_HOST(relax)
ON_HOST(sums)
ON_HOST(price)
ON_HOST(map)
ON_HOST(deal)
ON_HOST(start)
ON_HOST(step)
ON_HOST(corner)
#define bpg_host_copy bpg_host_copy_rows
ON_HOST(copy)

static void *alloc(size_t bytes)
{
	void *p = aligned_alloc(64, (bytes + 64) / 64 * 64);

	if (p)
		memset(p, 0xff, bytes); /* NaN: what is read before it is written shows */
	return p;
}

static int move(void *to, const void *from, size_t bytes, void *stream)
{
	(void)stream;
	if (bytes)
		memcpy(to, from, bytes);
	return 0;
}

static int clear(void *p, size_t bytes, void *stream)
{
	(void)stream;
	memset(p, 0, bytes);
	return 0;
}

static int sync(void *stream)
{
	(void)stream;
	return 0;
}

static const char *error(int error)
{
	(void)error;
	return "";
}

const struct bpg_kernels bpg_kernels_host = {
	.product = product,
	.adjoint = adjoint,
	.relax = relax,
	.sums = sums,
	.price = price,
	.map = map,
	.deal = deal,
	.copy = copy,
	.start = start,
	.step = step,
	.corner = corner,
	.alloc = alloc,
	.drop = free,
	.pinned = alloc,
	.unpin = free,
	.move = move,
	.clear = clear,
	.sync = sync,
	.error = error,
};
