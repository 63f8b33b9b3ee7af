/* product.h - the product's walk through runs and blocks, and its shapes; for product.cu and the host. */
#ifndef BPG_CUDA_PRODUCT_H
#define BPG_CUDA_PRODUCT_H

#include "cuda/body.h"
#include "cuda/cuda.h"

enum { P_DEPTH = 16, P_STAGES = 3 }; /* summed columns of a chunk; chunks in shared memory */

/* What one block of threads computes: strips and columns of one cell. */
struct product_place {
	int64_t cell;
	int64_t strip, group;     /* the first ones */
	int strips, columns;      /* that there are */
	int64_t a, w, c;          /* where a row of A, the weights of group 0, the columns of C begin */
	int64_t part;             /* the one block of the sum that goes to `space`; -1: all, to C */
	void *C;
	int64_t c_strip;
	bool add;                 /* to what C holds */
};

BODY int64_t product_tiles(int64_t n, int64_t each)
{
	return (n + each - 1) / each;
}

/* Blocks of a dense sum. */
BODY int64_t product_parts(const struct bpg_cuda_product *p)
{
	return p->k1 > p->k0 ? product_tiles(p->k1 - p->k0, p->block) : 0;
}

BODY bool product_splits(const struct bpg_cuda_product *p)
{
	return p->space && !p->run && product_parts(p) > 1;
}

/* Blocks run through strips first, so that those that run together share weights. */
BODY int64_t product_blocks(const struct bpg_cuda_product *p, int strips, int groups)
{
	int64_t blocks = product_tiles(p->strips, strips) * product_tiles(p->columns, groups * BPG_GROUP) * p->sets * p->cells;

	return product_splits(p) ? blocks * product_parts(p) : blocks;
}

BODY struct product_place product_place(const struct bpg_cuda_product *p, int64_t block, int strips, int groups)
{
	struct product_place at;
	int64_t down = product_tiles(p->strips, strips), across = product_tiles(p->columns, groups * BPG_GROUP), set;

	at.strip = block % down * strips, block /= down;
	at.group = block % across * groups, block /= across;
	set = block % p->sets, block /= p->sets;
	at.cell = block % p->cells;
	at.part = product_splits(p) ? block / p->cells : -1;
	at.strips = (int)BPG_LEAST((int64_t)strips, p->strips - at.strip);
	at.columns = (int)BPG_LEAST((int64_t)groups * BPG_GROUP, p->columns - at.group * BPG_GROUP);
	at.a = set * p->a_set * BPG_LANES;
	at.w = set * p->w_set;
	at.c = (set * p->c_set + at.cell * p->c_cell + at.group * BPG_GROUP) * BPG_LANES;
	at.C = p->C;
	at.c_strip = p->c_strip;
	at.add = p->accumulate;
	if (at.part >= 0) {
		at.C = (char *)p->space + at.part * p->strips * p->columns * BPG_LANES * (p->wide ? 8 : 4);
		at.c_strip = p->columns * BPG_LANES;
		at.add = false;
	}
	return at;
}

/* A chunk of at most P_DEPTH summed columns; the last one of a block of the sum. */
struct product_step {
	int64_t a, w;
	int n;
	bool last;
};

struct product_walk {
	int64_t block, blocks, run, end; /* block of the sum, how many; next run, where the runs of this block end */
	struct bpg_run left;
};

BODY struct product_walk product_begin(const struct bpg_cuda_product *p, const struct product_place *at)
{
	struct product_walk w;

	w.left.a = w.left.w = 0;
	w.left.n = 0;
	w.block = p->run ? p->first[at->cell] : at->part >= 0 ? at->part : 0;
	w.blocks = p->run ? p->first[at->cell + 1] : at->part >= 0 ? at->part + 1 : product_parts(p);
	w.run = p->run && w.block > 0 ? p->end[w.block - 1] : 0;
	w.end = p->run && w.block < w.blocks ? p->end[w.block] : 0;
	return w;
}

BODY bool product_next(const struct bpg_cuda_product *p, struct product_walk *w, struct product_step *s)
{
	if (w->block == w->blocks)
		return false;
	if (w->left.n == 0) {
		if (p->run) {
			w->left = p->run[w->run++];
		} else {
			w->left.a = w->left.w = p->k0 + w->block * p->block;
			w->left.n = (int)BPG_LEAST((int64_t)p->block, p->k1 - w->left.a);
			w->run = w->end;
		}
	}
	s->a = w->left.a;
	s->w = w->left.w;
	s->n = BPG_LEAST(w->left.n, (int)P_DEPTH);
	w->left.a += s->n;
	w->left.w += s->n;
	w->left.n -= s->n;
	s->last = w->left.n == 0 && w->run == w->end;
	if (s->last) {
		w->block++;
		if (p->run && w->block < w->blocks)
			w->end = p->end[w->block];
	}
	return true;
}

/* Element i of strips x columns x 16: the blocks that were computed side by side, in order. */
BODY void product_fold(const struct bpg_cuda_product *p, int64_t i)
{
	int64_t n = p->strips * p->columns * BPG_LANES, row = p->columns * BPG_LANES, at = i / row * p->c_strip + i % row,
	        parts = product_parts(p);

	if (p->wide) {
		const double *part = (const double *)p->space + i;
		double *c = (double *)p->C + at, sum = p->accumulate ? *c + part[0] : part[0];
		for (int64_t k = 1; k < parts; k++)
			sum = sum + part[k * n];
		*c = sum;
	} else {
		const float *part = (const float *)p->space + i;
		float *c = (float *)p->C + at, sum = p->accumulate ? *c + part[0] : part[0];
		for (int64_t k = 1; k < parts; k++)
			sum = sum + part[k * n];
		*c = sum;
	}
}

/* ---- shapes: large, and smaller ones where few blocks of threads would be left over ---- */

#define FMA BPG_FMA32
#define REAL float
#define NAME(x) x##_f32_large
#define P_STRIPS 8
#define P_GROUPS 16
#include "cuda/product.inc"
#undef NAME
#undef P_STRIPS
#undef P_GROUPS
#define NAME(x) x##_f32_middle
#define P_STRIPS 4
#define P_GROUPS 8
#include "cuda/product.inc"
#undef NAME
#undef P_STRIPS
#undef P_GROUPS
#define NAME(x) x##_f32_small
#define P_STRIPS 2
#define P_GROUPS 8
#include "cuda/product.inc"
#undef NAME
#undef P_STRIPS
#undef P_GROUPS
#undef REAL
#undef FMA
#define FMA BPG_FMA64
#define REAL double
#define NAME(x) x##_f64_middle
#define P_STRIPS 4
#define P_GROUPS 8
#include "cuda/product.inc"
#undef NAME
#undef P_STRIPS
#undef P_GROUPS
#define NAME(x) x##_f64_small
#define P_STRIPS 2
#define P_GROUPS 8
#include "cuda/product.inc"
#undef NAME
#undef P_STRIPS
#undef P_GROUPS
#undef REAL
#undef FMA

#endif
