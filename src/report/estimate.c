/* estimate.c - see estimate.h. */
#include "report/estimate.h"

#include <inttypes.h>
#include <math.h>

static const char *const work_name[BPG_WORKS] = {
	[BPG_WORK_GEMM32] = "gemm_float32", [BPG_WORK_GEMM64] = "gemm_float64", [BPG_WORK_CONV] = "conv", [BPG_WORK_ADJOINT] = "adjoint",
	[BPG_WORK_TILES] = "tiles", [BPG_WORK_STARTS] = "starts", [BPG_WORK_INTERVALS] = "intervals", [BPG_WORK_PACKING] = "packing"
};

void bpg_estimate_text(FILE *to, const struct bpg_result_estimate *e, const int64_t *bytes, int owners)
{
	int64_t most = 0;

	for (int o = 0; o < owners; o++)
		most = BPG_MAX(most, bytes[o]);
	fprintf(to, "machine    %s, %d workers an owner\n", e->machine, e->workers);
	fprintf(to, "estimate   %.3g s; at least %.3g by all work, %.3g by its longest chain\n", e->seconds, e->work, e->critical);
	fprintf(to, "waiting    %.0f %% of the workers' time\n", 100 * e->waiting);
	if (isfinite(e->overlap))
		fprintf(to, "overlap    %.0f %% of the time of %" PRId64 " transfers\n", 100 * e->overlap, e->transfers);
	if (e->memory > 0)
		fprintf(to, "memory     %.1f of %.1f MB of an owner%s\n", 1e-6 * (double)most, 1e-6 * e->memory, (double)most > e->memory ? ": too little" : "");
}

void bpg_estimate_json(struct bpg_json *j, const struct bpg_result_estimate *e)
{
	bpg_json_object(j, "estimate");
	bpg_json_string(j, "machine", e->machine);
	bpg_json_number(j, "seconds", e->seconds);
	bpg_json_number(j, "work_seconds", e->work);
	bpg_json_number(j, "critical_seconds", e->critical);
	bpg_json_number(j, "waiting", e->waiting);
	bpg_json_number(j, "overlap", e->overlap);
	bpg_json_number(j, "memory_bytes", e->memory > 0 ? e->memory : INFINITY);
	bpg_json_whole(j, "workers", e->workers);
	bpg_json_whole(j, "tasks", e->tasks);
	bpg_json_whole(j, "transfers", e->transfers);
	bpg_json_whole(j, "waits", e->waits);
	bpg_json_number(j, "fresh_bytes", e->fresh);
	bpg_json_object(j, "work");
	for (int k = 0; k < BPG_WORKS; k++) {
		bpg_json_object(j, work_name[k]);
		bpg_json_whole(j, "tasks", e->done[k].tasks);
		bpg_json_number(j, "amount", e->done[k].amount);
		bpg_json_end(j);
	}
	bpg_json_end(j);
	bpg_json_end(j);
}
