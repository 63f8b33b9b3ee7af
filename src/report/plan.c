/* plan.c - a plan as text and JSON. */
#include "report/plan.h"

#include <inttypes.h>

#include "report/estimate.h"
#include "report/json.h"
#include "report/output.h"

/* Each of a few owners; of many the range. */
static void print_owners(FILE *to, const struct bpg_plan *p)
{
	int64_t least = p->predicted_bytes[0], most = least;
	double sum = 0;

	for (int o = 0; o < p->owners; o++) {
		if (p->owners <= 16)
			fprintf(to, "owner %-4d %.1f MB\n", o, 1e-6 * (double)p->predicted_bytes[o]);
		least = BPG_MIN(least, p->predicted_bytes[o]);
		most = BPG_MAX(most, p->predicted_bytes[o]);
		sum += (double)p->predicted_bytes[o];
	}
	if (p->owners > 16)
		fprintf(to, "owners     %d: %.1f to %.1f MB, %.1f on average\n", p->owners, 1e-6 * (double)least, 1e-6 * (double)most, 1e-6 * sum / p->owners);
}

enum bpg_status bpg_plan_text(struct bpg_ctx *ctx, const struct bpg_plan *p)
{
	int64_t traffic = 0;
	FILE *to;

	BPG_TRY(bpg_output_open(ctx, "-", &to));
	fprintf(to, "upper limits, from interval bounds\n");
	fprintf(to, "tasks      %" PRId64 "\n", p->tasks);
	fprintf(to, "products   %.3f GFLOP\n", 1e-9 * p->flops);
	fprintf(to, "seconds    %.3g (estimate)\n", p->seconds);
	for (int o = 0; o < p->owners; o++)
		traffic += p->traffic_bytes[o];
	fprintf(to, "traffic    %.1f MB of weights gathered\n", 1e-6 * (double)traffic);
	if (p->kept_stages + p->recomputed_stages)
		fprintf(to, "alpha      %.1f MB, slopes %s; coefficients kept in %d stages, recomputed in %d\n", 1e-6 * (double)p->alpha_bytes,
		        p->shared ? "shared by rows" : "of each row", p->kept_stages, p->recomputed_stages);
	if (p->estimate)
		bpg_estimate_text(to, p->estimate, p->predicted_bytes, p->owners);
	print_owners(to, p);
	fprintf(to, "plan       %016" PRIx64 "\n", p->plan_hash);
	return bpg_output_close(ctx, "-", to, true);
}

enum bpg_status bpg_plan_json(struct bpg_ctx *ctx, const struct bpg_plan *p, const char *path)
{
	struct bpg_json j;

	BPG_TRY(bpg_json_open(ctx, &j, path));
	bpg_json_wholes(&j, "predicted_bytes", p->predicted_bytes, p->owners);
	bpg_json_whole(&j, "alpha_bytes", p->alpha_bytes);
	bpg_json_whole(&j, "recomputed_stages", p->recomputed_stages);
	bpg_json_whole(&j, "tasks", p->tasks);
	bpg_json_wholes(&j, "traffic_bytes", p->traffic_bytes, p->owners);
	bpg_json_number(&j, "flops", p->flops);
	bpg_json_number(&j, "seconds", p->seconds);
	if (p->estimate)
		bpg_estimate_json(&j, p->estimate);
	bpg_json_hex(&j, "plan_hash", p->plan_hash);
	return bpg_json_close(ctx, &j);
}
