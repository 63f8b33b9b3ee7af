/* step.h - the optimiser's step, and the points at which its gradient is taken; one element by one thread. */
#ifndef BPG_CUDA_STEP_H
#define BPG_CUDA_STEP_H

#include "cuda/body.h"
#include "cuda/cuda.h"
#include "cuda/relax.h"

/* Element i of the point. See step_column in task_alpha.c. */
BODY void step_element(const struct bpg_cuda_step *p, int64_t i)
{
	int64_t e = i % BPG_LANES, j = i / BPG_LANES % p->columns, strip = i / BPG_LANES / p->columns;
	const double *f = p->planes + p->at.first + j / p->at.row * p->at.step + j % p->at.row;
	float up_slope = (float)f[BPG_SLOPE_UP * p->places], up_old = (float)f[BPG_TIMES_OLD_UP * p->places], z = p->z[i];
	int choice = p->choice[j];

	if (choice < 0 || !relax_free(p->bounds, p->n, p->element[j])) {
		p->z[i] = up_slope * z + up_old;
		return;
	}
	int64_t n = p->strips * p->choices * BPG_LANES, k = (strip * p->choices + choice) * BPG_LANES + e;
	float c = (float)p->bounds[BPG_CENTRE * p->n + p->element[j]], d = (float)-f[BPG_TIMES_OLD_LO * p->places],
	      kept = p->kept[k], alpha = p->alpha[k];
	float at = z + c, weight = p->weight ? p->weight[strip * BPG_LANES + e] : 1, g = kept > 0 ? kept * at * weight : 0;
	float m = 0.9f * p->moments[k] + 0.1f * g, v = 0.999f * p->moments[n + k] + 0.001f * g * g;

	p->z[i] = kept >= 0 ? alpha * at - d : up_slope * z + up_old;
	p->moments[k] = m;
	p->moments[n + k] = v;
	alpha += p->rate * (m * p->bias1) / (sqrtf(v * p->bias2) + 1e-8f);
	alpha = alpha < 0 ? 0 : alpha;
	p->alpha[k] = alpha > 1 ? 1 : alpha;
}

/* Element i of the tile. */
BODY void corner_element(const struct bpg_cuda_corner *p, int64_t i)
{
	int64_t e = i % BPG_LANES, j = i / BPG_LANES % p->columns, strip = i / BPG_LANES / p->columns,
	        rows = p->strips * BPG_LANES;
	double v = p->wide ? ((const double *)p->tile)[i] : (double)((const float *)p->tile)[i],
	       radius = p->bounds[BPG_RADIUS * p->n + p->element[j]];

	if (!p->norm) {
		float r = (float)radius;
		p->z[i] = v > 0 ? -r : v < 0 ? r : 0;
		return;
	}
	double box = p->state[BPG_BOX * rows + strip * BPG_LANES + e], ball = p->state[BPG_BALL * rows + strip * BPG_LANES + e];
	double far = p->norm == 2 ? sqrt(ball) : ball;
	bool on_ball = far * p->size < box;
	double scale = on_ball && far > 0 ? p->size / far : 0;

	if (!on_ball)
		p->z[i] = (float)(v > 0 ? -radius : v < 0 ? radius : 0);
	else if (p->norm == 2)
		p->z[i] = (float)(-v * scale);
	else
		p->z[i] = (float)(fabs(v) >= ball ? (v > 0 ? -p->size : p->size) : 0);
}

#endif
