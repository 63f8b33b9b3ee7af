/* conformance.c - which properties an instance of each family must have. */
#include "conformance/conformance.h"

#include "base/base.h"
#include "conformance/trial.h"

uint64_t bpg_conformance_seed(const struct bpg_layer *layer)
{
	return bpg_hash_str(BPG_HASH_START, layer->name) >> 16;
}

static enum bpg_status check_family(struct bpg_trial *t)
{
	switch (t->layer->family) {
	case BPG_LINEAR:
		BPG_TRY(bpg_keeps_dense(t));
		BPG_TRY(bpg_keeps_conv(t));
		return bpg_keeps_ways(t);
	case BPG_UNARY:
		BPG_TRY(bpg_keeps_lines(t));
		BPG_TRY(bpg_keeps_extremes(t));
		return bpg_keeps_slopes(t);
	case BPG_GENERAL:
		return bpg_keeps_planes(t);
	case BPG_CONSTANT:
		break;
	}
	return BPG_OK;
}

static enum bpg_status check(struct bpg_trial *t)
{
	BPG_TRY(bpg_keeps_values(t));
	if (t->n > 0)
		BPG_TRY(bpg_keeps_pieces(t));
	BPG_TRY(bpg_keeps_nesting(t));
	BPG_TRY(bpg_keeps_infinite(t));
	BPG_TRY(bpg_keeps_gradient(t));
	return check_family(t);
}

enum bpg_status bpg_conformance(struct bpg_ctx *ctx, const struct bpg_layer *layer, uint64_t seed, int fd)
{
	struct bpg_trial t;
	if (layer->family == BPG_CONSTANT)
		return BPG_OK;
	enum bpg_status st = bpg_trial_open(&t, ctx, layer, seed, fd);
	if (!st)
		st = check(&t);
	bpg_trial_close(&t);
	return st;
}
