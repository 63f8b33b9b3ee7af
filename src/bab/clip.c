/* clip.c - see clip.h. */
#include "bab/clip.h"

#include <math.h>

/* The most that -a (x - c) reaches over [l, u]. */
static double best(double a, double c, double l, double u)
{
	return a > 0 ? -a * (l - c) : a < 0 ? -a * (u - c) : 0;
}

bool bpg_clip(int64_t n, const double *a, const double *c, double k, double *lo, double *up)
{
	double sum = 0, size = fabs(k);

	for (int64_t i = 0; i < n; i++) {
		double m = best(a[i], c[i], lo[i], up[i]);
		sum += m;
		size += fabs(m);
	}
	/* Terms are right to 3u, each of the n + 4 sums rounds once. */
	double err = bpg_gamma((double)n + 16, BPG_U64) * size + 0x1p-1000;
	if (!isfinite(sum) || !isfinite(k))
		return true;
	if (k - sum > err)
		return false;
	for (int64_t i = 0; i < n; i++) {
		/* a_i (x_i - c_i) <= -k + what the others reach */
		double most = bpg_next_up(sum - best(a[i], c[i], lo[i], up[i]) - k + 2 * err), at = most / a[i];

		if (a[i] == 0 || !isfinite(at))
			continue;
		if (a[i] > 0) {
			double to = bpg_next_up(c[i] + bpg_next_up(at));
			up[i] = to < up[i] ? to : up[i];
		} else {
			double to = bpg_next_down(c[i] + bpg_next_down(at));
			lo[i] = to > lo[i] ? to : lo[i];
		}
		if (lo[i] > up[i])
			return false;
	}
	return true;
}
