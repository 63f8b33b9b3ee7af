/* region.c - regions from numbers of the command line. */
#include "spec/region.h"

#include <stdlib.h>
#include <string.h>

#include "spec/directed.h"

static double low(const struct bpg_numbers *a, int64_t i) { return a->lo ? a->lo[i] : a->value[i]; }
static double high(const struct bpg_numbers *a, int64_t i) { return a->up ? a->up[i] : a->value[i]; }

static enum bpg_status region_new(struct bpg_ctx *ctx, int64_t n, bool centred, struct bpg_region **region)
{
	struct bpg_region *r = *region = bpg_calloc(1, sizeof *r);
	if (!r)
		return bpg_nomem(ctx, "region");
	r->n = n;
	r->lo = bpg_calloc((size_t)n, sizeof *r->lo);
	r->up = bpg_calloc((size_t)n, sizeof *r->up);
	r->center = centred ? bpg_calloc((size_t)n, sizeof *r->center) : NULL;
	if (r->lo && r->up && (r->center || !centred))
		return BPG_OK;
	bpg_region_free(r);
	*region = NULL;
	return bpg_nomem(ctx, "region");
}

void bpg_region_free(struct bpg_region *r)
{
	if (!r)
		return;
	free(r->lo);
	free(r->up);
	free(r->center);
	free(r);
}

static enum bpg_status check_count(struct bpg_ctx *ctx, int64_t n, const struct bpg_numbers *a)
{
	if (a->n == n)
		return BPG_OK;
	return bpg_fail(ctx, BPG_EUSAGE, "%s: %lld numbers, the network has %lld inputs", a->name, (long long)a->n,
	                (long long)n);
}

static enum bpg_status check_center(struct bpg_ctx *ctx, const struct bpg_numbers *center)
{
	for (int64_t i = 0; i < center->n; i++)
		if (!isfinite(center->value[i]) || !isfinite(low(center, i)) || !isfinite(high(center, i)))
			return bpg_fail(ctx, BPG_EUSAGE, "%s: element %lld of the centre is not finite", center->name,
			                (long long)i);
	return BPG_OK;
}

/* Ball about the stored centre that holds the ball about the written one: the radius grows by the distance of the two. */
static double ball_radius(enum bpg_norm norm, const struct bpg_numbers *center, double epsilon)
{
	double sum = 0;
	for (int64_t i = 0; i < center->n; i++) {
		double e = fmax(bpg_add_up(high(center, i), -center->value[i]), bpg_add_up(center->value[i], -low(center, i)));
		sum = norm == BPG_NORM_INF ? fmax(sum, e) : bpg_add_up(sum, norm == BPG_NORM_2 ? bpg_mul_up(e, e) : e);
	}
	/* sqrt is correctly rounded: one step up covers it. */
	return bpg_add_up(epsilon, norm == BPG_NORM_2 && sum > 0 ? bpg_next_up(sqrt(sum)) : sum);
}

enum bpg_status bpg_region_ball(struct bpg_ctx *ctx, enum bpg_norm norm, int64_t n, const struct bpg_numbers *center,
                                double epsilon_up, const double clip[2], struct bpg_region **region)
{
	*region = NULL;
	BPG_TRY(check_count(ctx, n, center));
	BPG_TRY(check_center(ctx, center));
	if (!(epsilon_up >= 0) || !isfinite(epsilon_up))
		return bpg_fail(ctx, BPG_EUSAGE, "epsilon %g: a finite number that is not negative is needed", epsilon_up);
	if (clip && !(clip[0] <= clip[1]))
		return bpg_fail(ctx, BPG_EUSAGE, "clip %g,%g: the lower end must not be above the upper end", clip[0], clip[1]);
	struct bpg_region *r;
	BPG_TRY(region_new(ctx, n, true, &r));
	r->norm = norm;
	r->ball = norm != BPG_NORM_INF;
	if (n)
		memcpy(r->center, center->value, (size_t)n * sizeof *r->center);
	r->radius = ball_radius(norm, center, epsilon_up);
	for (int64_t i = 0; i < n; i++) {
		double lo = bpg_add_down(low(center, i), -epsilon_up), up = bpg_add_up(high(center, i), epsilon_up);
		r->lo[i] = clip ? fmax(lo, clip[0]) : lo;
		r->up[i] = clip ? fmin(up, clip[1]) : up;
		if (r->lo[i] <= r->up[i])
			continue;
		bpg_region_free(r);
		return bpg_fail(ctx, BPG_EUSAGE, "%s: element %lld: [%.17g, %.17g] does not meet the clip range [%.17g, %.17g]",
		                center->name, (long long)i, lo, up, clip[0], clip[1]);
	}
	*region = r;
	return BPG_OK;
}

/* Compares the written numbers: value is monotone in them, and lower > upper by less than a rounding is a box of one
 * double or two neighbours, which encloses nothing wrong. */
static enum bpg_status check_sides(struct bpg_ctx *ctx, int64_t i, const struct bpg_numbers *lower,
                                   const struct bpg_numbers *upper)
{
	double l = lower->value[i], u = upper->value[i];
	if (isnan(l) || isnan(u))
		return bpg_fail(ctx, BPG_EUSAGE, "%s: element %lld is NaN", isnan(l) ? lower->name : upper->name, (long long)i);
	if (l > u)
		return bpg_fail(ctx, BPG_EUSAGE, "%s: element %lld: lower bound %.17g is above upper bound %.17g (%s)",
		                lower->name, (long long)i, l, u, upper->name);
	if (l == INFINITY || u == -INFINITY)
		return bpg_fail(ctx, BPG_EUSAGE, "%s: element %lld: no number lies beyond infinity",
		                l > 0 ? lower->name : upper->name, (long long)i);
	return BPG_OK;
}

enum bpg_status bpg_region_box(struct bpg_ctx *ctx, int64_t n, const struct bpg_numbers *lower, const struct bpg_numbers *upper,
                               struct bpg_region **region)
{
	*region = NULL;
	BPG_TRY(check_count(ctx, n, lower));
	BPG_TRY(check_count(ctx, n, upper));
	for (int64_t i = 0; i < n; i++)
		BPG_TRY(check_sides(ctx, i, lower, upper));
	struct bpg_region *r;
	BPG_TRY(region_new(ctx, n, false, &r));
	for (int64_t i = 0; i < n; i++) {
		r->lo[i] = low(lower, i);
		r->up[i] = high(upper, i);
	}
	*region = r;
	return BPG_OK;
}

enum bpg_status bpg_region_unit(struct bpg_ctx *ctx, int64_t n, struct bpg_region **region)
{
	BPG_TRY(region_new(ctx, n, false, region));
	for (int64_t i = 0; i < n; i++)
		(*region)->up[i] = 1;
	return BPG_OK;
}
