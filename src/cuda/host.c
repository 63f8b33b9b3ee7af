/* host.c - the kernels on the host: block after block, thread after thread. */
#include "cuda/host.h"

#include <stdlib.h>

#include "codelets/clones.h"
#include "cuda/adjoint.h"
#include "cuda/map.h"
#include "cuda/place.h"
#include "cuda/price.h"
#include "cuda/product.h"
#include "cuda/relax.h"
#include "cuda/step.h"
#include "cuda/sums.h"

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

/* Block after block of `blocks`, each on shared memory of this type. */
#define BLOCKS(block, type, blocks)                     \
	do {                                            \
		type *shared = malloc(sizeof *shared);  \
		if (!shared)                            \
			abort();                        \
		memset(shared, 0xff, sizeof *shared); /* NaN: what is not there is seen */ \
		for (int64_t b = 0; b < (blocks); b++) { \
			forget();                       \
			block(p, b, shared);            \
		}                                       \
		free(shared);                           \
	} while (0)

#define PRODUCT(shape, strips, groups) \
	BLOCKS(product_block_##shape, struct product_shared_##shape, product_blocks(p, strips, groups))

/* Clones: what is fused is one instruction there, and a call of the library in the plain one. */
CLONES void bpg_host_product(const struct bpg_cuda_product *p)
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
	for (int64_t i = 0; product_splits(p) && i < p->strips * p->columns * BPG_LANES; i++)
		product_fold(p, i);
}

CLONES void bpg_host_adjoint(const struct bpg_cuda_adjoint *p)
{
	BLOCKS(adjoint_block, struct adjoint_shared, adjoint_blocks(p));
}

void bpg_host_relax(const struct bpg_cuda_relax *p)
{
	if (p->pairs > 0 && p->wide)
		BLOCKS(relax_pair_f64, struct relax_shared_f64, p->pairs);
	else if (p->pairs > 0)
		BLOCKS(relax_pair_f32, struct relax_shared_f32, p->pairs);
	else if (p->wide)
		BLOCKS(relax_block_f64, struct relax_shared_f64, p->strips);
	else
		BLOCKS(relax_block_f32, struct relax_shared_f32, p->strips);
}

void bpg_host_sums(const struct bpg_cuda_sums *p)
{
	if (p->wide)
		BLOCKS(sums_block_f64, struct sums_shared, p->strips);
	else
		BLOCKS(sums_block_f32, struct sums_shared, p->strips);
}

#define ELEMENTS(name, n)                                \
	for (int64_t i = 0, n_ = (n); i < n_; i++) {     \
		if (p->wide)                             \
			name##_f64(p, i);                \
		else                                     \
			name##_f32(p, i);                \
	}

void bpg_host_map(const struct bpg_cuda_map *p)
{
	ELEMENTS(map_element, p->strips * p->to_columns * BPG_LANES)
}

void bpg_host_deal(const struct bpg_cuda_deal *p)
{
	ELEMENTS(deal_element, p->strips * p->columns * BPG_LANES)
}

void bpg_host_copy_rows(const struct bpg_cuda_copy *p)
{
	ELEMENTS(copy_element, p->strips * (p->to_up[0] - p->to_lo[0]) * (p->to_up[1] - p->to_lo[1]) * p->channels * BPG_LANES)
}

void bpg_host_start(const struct bpg_cuda_start *p)
{
	for (int64_t row = 0; p->state && row < p->strips * BPG_LANES; row++)
		start_state(p, row);
	ELEMENTS(start_element, p->strips * (p->c1 - p->c0) * BPG_LANES)
}

void bpg_host_step(const struct bpg_cuda_step *p)
{
	for (int64_t i = 0; i < p->strips * p->columns * BPG_LANES; i++)
		step_element(p, i);
}

void bpg_host_corner(const struct bpg_cuda_corner *p)
{
	for (int64_t i = 0; i < p->strips * p->columns * BPG_LANES; i++)
		corner_element(p, i);
}

void bpg_host_price(const struct bpg_cuda_price *p)
{
	for (int64_t i = 0; i < p->segments * (p->columns + p->others) * 2; i++)
		price_element(p, i);
}
