/* host.c - the kernels on the host: block after block, thread after thread. */
#include "cuda/host.h"

#include <stdlib.h>

#include "cuda/product.h"

_Thread_local bool bpg_host_backward, bpg_host_late;

void bpg_host_order(bool backward, bool late)
{
	bpg_host_backward = backward;
	bpg_host_late = late;
}

/* ---- copies that are under way ---- */

enum { COPIES = 1 << 14, BATCHES = 8 };

static _Thread_local struct copy {
	void *to;
	const void *from;
} copy[COPIES];
static _Thread_local int copies, batch_end[BATCHES], batches;

static void arrive(int n)
{
	for (int i = 0; i < n; i++)
		memcpy(copy[i].to, copy[i].from, 16);
	memmove(copy, copy + n, (size_t)(copies - n) * sizeof *copy);
	copies -= n;
}

void bpg_host_copy(void *to, const void *from)
{
	if (!bpg_host_late) {
		memcpy(to, from, 16);
		return;
	}
	if (copies == COPIES)
		abort(); /* a body that never waits */
	copy[copies++] = (struct copy){ to, from };
}

void bpg_host_copy_end(void)
{
	if (batches == BATCHES)
		abort();
	batch_end[batches++] = copies;
}

void bpg_host_copy_wait(int n)
{
	int done = batches - n;

	if (done <= 0)
		return;
	int gone = batch_end[done - 1];
	arrive(gone);
	for (int i = done; i < batches; i++)
		batch_end[i - done] = batch_end[i] - gone;
	batches = batches > n ? n : batches;
}

static void forget(void)
{
	copies = batches = 0;
}

/* ---- kernels ---- */

#define PRODUCT(shape, strips, groups)                                                      \
	do {                                                                                \
		struct product_shared_##shape *shared = malloc(sizeof *shared);             \
		if (!shared)                                                                \
			abort();                                                            \
		memset(shared, 0xff, sizeof *shared); /* NaN: what is not there is seen */  \
		for (int64_t b = 0; b < product_blocks(p, strips, groups); b++) {           \
			forget();                                                           \
			product_block_##shape(p, b, shared);                                \
		}                                                                           \
		free(shared);                                                               \
	} while (0)

void bpg_host_product(const struct bpg_cuda_product *p)
{
	if (p->wide && p->shape == BPG_SHAPE_SMALL)
		PRODUCT(f64_small, 2, 8);
	else if (p->wide)
		PRODUCT(f64_middle, 4, 8);
	else if (p->shape == BPG_SHAPE_SMALL)
		PRODUCT(f32_small, 2, 8);
	else if (p->shape == BPG_SHAPE_MIDDLE)
		PRODUCT(f32_middle, 4, 8);
	else
		PRODUCT(f32_large, 8, 16);
}
