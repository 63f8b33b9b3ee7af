/* price.h - sparse planes at the reference values, and what rounding costs there; one side of one column by one thread. See take_plane in
 * task_planes.c. */
#ifndef BPG_CUDA_PRICE_H
#define BPG_CUDA_PRICE_H

#include "cuda/body.h"
#include "cuda/cuda.h"

/* Row of a list as a plane of element i. */
BODY void price_plane(const struct bpg_cuda_price *p, const struct bpg_cuda_planes *list, int64_t segment, int64_t row, int64_t i, double *at,
                      double *price)
{
	double c = p->bounds[(segment * BPG_FIELDS + BPG_CENTRE) * p->n + i], bias = list->bias[row], sum = bias - c, size = fabs(bias) + fabs(c),
	       gross = 0;

	for (int64_t t = list->first[row]; t < list->first[row + 1]; t++) {
		int64_t n = p->inputs[list->in[t]];
		const double *f = p->input[list->in[t]] + segment * BPG_FIELDS * n + list->index[t];
		double q = (double)list->coef[t], x = f[BPG_CENTRE * n], r = f[BPG_RADIUS * n];

		sum += q * x;
		size += fabs(q * x);
		gross += fabs(q) * r;
	}
	*at = sum;
	*price = p->slack ? p->gross * gross * 1.0001 + p->gamma[list->first[row + 1] - list->first[row]] * size : 0;
}

BODY void price_element(const struct bpg_cuda_price *p, int64_t i)
{
	int64_t all = p->columns + p->others, side = i % 2, c = i / 2 % all, segment = i / 2 / all;
	struct bpg_plane_at *to = p->to + segment * all + c;

	if (c < p->columns) {
		int64_t element = p->element[c];
		price_plane(p, &p->list[side], segment, segment * p->n + element, element, &to->at[side], &to->price[side]);
	} else if (p->side[c - p->columns] == side) {
		price_plane(p, &p->list[2 + side], segment, p->other[c - p->columns], p->of[c - p->columns], &to->at[side], &to->price[side]);
	} else {
		to->at[side] = to->price[side] = 0;
	}
}

#endif
