/* result.c - a result as text, JSON and exit status. */
#include <inttypes.h>
#include <math.h>

#include "net/net.h"
#include "report/estimate.h"
#include "report/json.h"
#include "report/number.h"
#include "report/output.h"
#include "report/result.h"
#include "report/versions.h"

static const char *const words[] = { "bounds", "unsat", "sat", "unknown", "timeout" };
static const int exits[] = { 0, 0, 1, 3, 4 };

const char *bpg_verdict_word(enum bpg_verdict verdict)
{
	return words[verdict];
}

/* Out of time without a property: the bounds so far are printed, and only the status says so. */
int bpg_result_exit(const struct bpg_result *r)
{
	return exits[r->verdict];
}

static bool any_nan(const double *x, int64_t n)
{
	for (int64_t i = 0; x && i < n; i++)
		if (isnan(x[i]))
			return true;
	return false;
}

static bool any_nan_f32(const float *x, int64_t n)
{
	for (int64_t i = 0; x && i < n; i++)
		if (isnan(x[i]))
			return true;
	return false;
}

enum bpg_status bpg_result_check(struct bpg_ctx *ctx, const struct bpg_result *r)
{
	bool nan = any_nan(r->lower, r->rows) || any_nan(r->upper, r->rows) || any_nan_f32(r->witness_in, r->inputs)
	           || any_nan_f32(r->witness_out, r->outputs);
	for (int k = 0; k < r->layers; k++)
		nan |= any_nan(r->layer[k].lower, r->layer[k].n) || any_nan(r->layer[k].upper, r->layer[k].n);
	if (nan)
		return bpg_fail(ctx, BPG_ENUMERIC, "%s: a bound is NaN, so nothing can be said", r->network);
	return BPG_OK;
}

/* ---- text ---- */

static void print_bounds(const struct bpg_result *r, FILE *to)
{
	char l[32], u[32];
	for (int64_t i = 0; i < r->rows; i++)
		fprintf(to, "Y_%" PRId64 " %s %s\n", i, bpg_number(r->lower[i], l), bpg_number(r->upper[i], u));
}

static void print_point(FILE *to, char letter, const float *x, int64_t n, const char *open, const char *close)
{
	char buf[32];
	for (int64_t i = 0; i < n; i++)
		fprintf(to, "%s(%c_%" PRId64 " %s)%s", i ? " " : open, letter, i, bpg_number((double)x[i], buf), i + 1 < n ? "\n" : close);
}

/* VNN-LIB 2: "NAME TYPE [2,3]", then a value on each line. */
static void print_tensor(FILE *to, const struct bpg_result_tensor *t)
{
	char buf[32];
	fprintf(to, "%s %s [", t->name, t->type);
	for (int k = 0; k < t->shape.rank; k++)
		fprintf(to, "%s%" PRId64, k ? "," : "", t->shape.dim[k]);
	fputs("]\n", to);
	for (int64_t i = 0; i < bpg_shape_count(&t->shape); i++)
		fprintf(to, "%s\n", bpg_number((double)t->value[i], buf));
}

static void print_witness(const struct bpg_result *r, FILE *to)
{
	for (int k = 0; k < r->tensors; k++)
		print_tensor(to, &r->tensor[k]);
	if (r->tensors)
		return;
	print_point(to, 'X', r->witness_in, r->inputs, "(", "\n");
	print_point(to, 'Y', r->witness_out, r->outputs, " ", ")\n");
}

static void print(const struct bpg_result *r, FILE *to)
{
	if (!r->property && r->verdict != BPG_VERDICT_UNKNOWN) { /* an interrupt leaves no bounds worth printing */
		print_bounds(r, to);
		return;
	}
	fprintf(to, "%s\n", words[r->verdict]);
	if (r->verdict == BPG_VERDICT_SAT)
		print_witness(r, to);
}

enum bpg_status bpg_result_text(struct bpg_ctx *ctx, const struct bpg_result *r, const char *path)
{
	FILE *to;
	BPG_TRY(bpg_output_open(ctx, path, &to));
	print(r, to);
	return bpg_output_close(ctx, path, to, true);
}

/* ---- JSON ---- */

static void write_layers(struct bpg_json *j, const struct bpg_result *r)
{
	bpg_json_array(j, "layers");
	for (int k = 0; k < r->layers; k++) {
		const struct bpg_result_layer *y = &r->layer[k];
		bpg_json_object(j, NULL);
		bpg_json_string(j, "tensor", y->tensor);
		bpg_json_string(j, "op", y->op);
		bpg_json_whole(j, "size", y->n);
		bpg_json_whole(j, "unstable", y->unstable);
		if (y->lower) {
			bpg_json_numbers(j, "lower", y->lower, y->n);
			bpg_json_numbers(j, "upper", y->upper, y->n);
		}
		bpg_json_end(j);
	}
	bpg_json_end(j);
}

static void write_witness(struct bpg_json *j, const struct bpg_result *r)
{
	if (!r->witness_in)
		return;
	bpg_json_object(j, "witness");
	bpg_json_floats(j, "input", r->witness_in, r->inputs);
	bpg_json_floats(j, "output", r->witness_out, r->outputs);
	bpg_json_end(j);
}

static void write_figures(struct bpg_json *j, const struct bpg_result *r)
{
	bpg_json_whole(j, "domains", r->domains);
	if (r->groups) {
		bpg_json_whole(j, "groups", r->groups);
		bpg_json_whole(j, "moved", r->moved);
	}
	bpg_json_whole(j, "iterations", r->iterations);
	bpg_json_whole(j, "tasks", r->tasks);
	bpg_json_object(j, "seconds");
	bpg_json_number(j, "total", r->seconds.total);
	bpg_json_number(j, "load", r->seconds.load);
	bpg_json_number(j, "bound", r->seconds.bound);
	bpg_json_number(j, "search", r->seconds.search);
	if (r->waiting)
		bpg_json_numbers(j, "waiting", r->waiting, r->ranks);
	bpg_json_end(j);
	bpg_json_object(j, "memory");
	bpg_json_wholes(j, "predicted_bytes", r->predicted_bytes, r->owners);
	bpg_json_wholes(j, "peak_bytes", r->peak_bytes, r->owners);
	bpg_json_wholes(j, "gathered_bytes", r->gathered_bytes, r->owners);
	bpg_json_whole(j, "frontier_bytes", r->frontier_bytes);
	bpg_json_whole(j, "spilled_bytes", r->spilled_bytes);
	bpg_json_wholes(j, "peak_rss_bytes", r->peak_rss_bytes, r->ranks);
	bpg_json_wholes(j, "parameter_bytes", r->parameter_bytes, r->ranks);
	if (r->received_bytes)
		bpg_json_wholes(j, "received_bytes", r->received_bytes, r->ranks);
	bpg_json_end(j);
}

/* Files that layers were loaded from: the result rests on their code, too. */
static void write_sources(struct bpg_json *j)
{
	const char *last = NULL;
	bpg_json_array(j, "layer_files");
	for (int i = 0; i < bpg_layer_count(); i++) {
		const char *source = bpg_layer_source(bpg_layer_get(i));
		if (source && source != last)
			bpg_json_string(j, NULL, source);
		last = source;
	}
	bpg_json_end(j);
}

static void write_devices(struct bpg_json *j, const struct bpg_result *r)
{
	bpg_json_whole(j, "devices", r->devices);
	if (!r->devices)
		return;
	bpg_json_object(j, "twins");
	for (int k = 0; k < r->kinds; k++) {
		bpg_json_object(j, r->kind[k].name);
		bpg_json_whole(j, "tasks", r->kind[k].tasks);
		bpg_json_whole(j, "twins", r->kind[k].twins);
		bpg_json_end(j);
	}
	bpg_json_end(j);
}

static void write_environment(struct bpg_json *j, const struct bpg_result *r)
{
	bpg_json_object(j, "environment");
	bpg_json_whole(j, "workers", r->workers);
	write_devices(j, r);
	bpg_json_string(j, "placement", r->placement);
	bpg_json_string(j, "scheduler", r->scheduler);
	bpg_json_hex(j, "plan_hash", r->plan_hash);
	bpg_json_hex(j, "bounds_hash", r->bounds_hash);
	bpg_versions_json(j);
	write_sources(j);
	bpg_json_end(j);
}

enum bpg_status bpg_result_json(struct bpg_ctx *ctx, const struct bpg_result *r, const char *path)
{
	struct bpg_json j;
	BPG_TRY(bpg_json_open(ctx, &j, path));
	bpg_json_string(&j, "bpgraph", bpg_version());
	bpg_json_string(&j, "network", r->network);
	bpg_json_string(&j, "property", r->property);
	bpg_json_string(&j, "verdict", words[r->verdict]);
	bpg_json_string(&j, "method", r->method);
	if (r->note)
		bpg_json_string(&j, "note", r->note);
	bpg_json_object(&j, "rows");
	bpg_json_numbers(&j, "lower", r->lower, r->rows);
	bpg_json_numbers(&j, "upper", r->upper, r->rows);
	bpg_json_end(&j);
	write_layers(&j, r);
	write_witness(&j, r);
	write_figures(&j, r);
	if (r->estimate)
		bpg_estimate_json(&j, r->estimate);
	write_environment(&j, r);
	return bpg_json_close(ctx, &j);
}
