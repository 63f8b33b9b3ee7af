/* bpgraph-gpu-check: the kernels of src/cuda on a device against the CPU's tasks, bit by bit; rates against cuBLAS; the same bits
 * in every run; AllGather by NCCL over the devices there are. Prints a table. Needs no StarPU.
 *
 *   bpgraph-gpu-check [--shapes N] [--seed N] [--no-rates]
 *
 * Exit status: 0 all equal, 1 something differs, 77 no device. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cases.h"
#include "codelets/conv_sums.h"
#include "rt/rt.h"
#include <bpgraph/layer.h>

static int bad;

/* One line of the table. */
__attribute__((format(printf, 3, 4))) static void line(const char *what, bool ok, const char *format, ...)
{
	va_list ap;

	printf("%-28s %-6s ", what, ok ? "ok" : "FAILED");
	va_start(ap, format);
	vprintf(format, ap);
	va_end(ap);
	printf("\n");
	fflush(stdout);
	bad += !ok;
}

static _Noreturn void give_up(const char *what, int status)
{
	line(what, false, "%s", bpg_cuda_error(status));
	exit(1);
}

/* The tasks' faults: memory on the host is short. */
void bpg_rt_fault(struct bpg_rt *rt, enum bpg_status code, const char *format, ...)
{
	(void)rt, (void)code;
	fprintf(stderr, "bpgraph-gpu-check: %s\n", format);
	exit(1);
}

/* ---- memory of the device ---- */

static void *put(const void *host, size_t bytes)
{
	void *p = bpg_cuda_alloc(bytes);
	int e = p ? bpg_cuda_put(p, host, bytes) : 2;

	if (e)
		give_up("memory of the device", e);
	return p;
}

static void get(void *host, const void *device, size_t bytes)
{
	int e = bpg_cuda_get(host, device, bytes);

	if (e)
		give_up("a kernel", e);
}

/* ---- bits ---- */

/* Every case twice, from the same seed. */
static void check_bits(int shapes, uint64_t seed)
{
	for (int c = 0; c < gpu_case_count; c++) {
		uint64_t hash[2] = { BPG_HASH_START, BPG_HASH_START };
		char why[256] = "";
		bool ok = true;
		int i = 0;

		for (int again = 0; ok && again < 2; again++) {
			struct bpg_rng rng;
			bpg_rng_seed(&rng, seed);
			for (i = 0; ok && i < shapes; i++)
				ok = gpu_cases[c].run(&bpg_kernels_device, &rng, &hash[again], why);
		}
		if (!ok)
			line(gpu_cases[c].name, false, "shape %d of seed %llu: %s", i - 1, (unsigned long long)seed, why);
		else
			line(gpu_cases[c].name, hash[0] == hash[1], "%d shapes have the bits of the CPU, twice %016llx, %016llx",
			     shapes, (unsigned long long)hash[0], (unsigned long long)hash[1]);
	}
}

/* ---- rates ---- */

struct rate {
	struct bpg_cuda_product p;
	void *blas;
	int64_t m, n, k;
	const float *A, *B;
	float *C;
};

static int own_product(void *x) { return bpg_cuda_product(&((struct rate *)x)->p, NULL); }

static int blas_product(void *x)
{
	const struct rate *r = x;
	return bpg_cuda_blas_product(r->blas, r->m, r->n, r->k, r->A, r->B, false, r->C);
}

static void *noise(int64_t n, size_t size)
{
	struct bpg_rng rng;
	char *p = malloc((size_t)n * size);

	if (!p)
		give_up("memory of the host", 2);
	bpg_rng_seed(&rng, 1);
	for (int64_t i = 0; i < n; i++) {
		double v = 2 * bpg_rng_uniform(&rng) - 1;
		if (size == sizeof(double))
			((double *)(void *)p)[i] = v;
		else
			((float *)(void *)p)[i] = (float)v;
	}
	void *d = put(p, (size_t)n * size);
	free(p);
	return d;
}

/* m rows, n columns, k summed. */
static void rate(void *blas, int64_t m, int64_t n, int64_t k, bool wide)
{
	size_t size = wide ? sizeof(double) : sizeof(float);
	struct rate r = { .blas = blas, .m = m, .n = n, .k = k };
	void *A = noise(m * k, size), *C = noise(m * n, size);
	float *W = noise(n * k, sizeof *W);
	int64_t parts = (k + BPG_BLOCK - 1) / BPG_BLOCK;
	void *space = parts * m * n < 1 << 28 ? bpg_cuda_alloc((size_t)(parts * m * n) * size) : NULL;
	double flops = 2.0 * (double)m * (double)n * (double)k, best[4] = { 0 }, blas_rate = 0;
	int times = flops > 1e11 ? 5 : 20;
	char what[64];

	r.p = (struct bpg_cuda_product){ .wide = wide,
		                         .strips = m / BPG_LANES,
		                         .columns = n,
		                         .A = A,
		                         .W = W,
		                         .C = C,
		                         .a_strip = k * BPG_LANES,
		                         .w_group = k * BPG_GROUP,
		                         .c_strip = n * BPG_LANES,
		                         .k1 = k,
		                         .block = BPG_BLOCK,
		                         .cells = 1,
		                         .sets = 1 };
	for (int shape = BPG_SHAPE_AUTO; shape <= BPG_SHAPE_SMALL; shape++) {
		r.p.shape = shape;
		r.p.space = shape == BPG_SHAPE_AUTO ? space : NULL;
		double s = bpg_cuda_time(own_product, &r, times);
		best[shape] = s > 0 ? flops / s * 1e-12 : 0;
	}
	if (!wide) {
		r.A = A, r.B = W, r.C = C;
		double s = bpg_cuda_time(blas_product, &r, times);
		blas_rate = s > 0 ? flops / s * 1e-12 : 0;
	}
	snprintf(what, sizeof what, "%s %lldx%lldx%lld", wide ? "f64" : "f32", (long long)m, (long long)n, (long long)k);
	if (wide)
		line(what, best[0] > 0, "product %.2f TFLOP/s (middle %.2f, small %.2f)", best[0], best[2], best[3]);
	else
		line(what, best[0] > 0 && blas_rate > 0,
		     "product %.2f TFLOP/s (large %.2f, middle %.2f, small %.2f), cublasSgemm pedantic %.2f: %.0f %%", best[0],
		     best[1], best[2], best[3], blas_rate, 100 * best[0] / blas_rate);
	bpg_cuda_free(A), bpg_cuda_free(C), bpg_cuda_free(W), bpg_cuda_free(space);
}

static int own_adjoint(void *x) { return bpg_cuda_adjoint(x, NULL); }
static int own_relax(void *x) { return bpg_cuda_relax(x, NULL); }
static int own_sums(void *x) { return bpg_cuda_sums(x, NULL); }
static int own_conv(void *x) { return bpg_cuda_product(x, NULL); }

/* The rest of a walk through a layer of n neurons, for m rows. */
static void rows_rate(int64_t m, int64_t n)
{
	int64_t strips = m / BPG_LANES;
	float *tile = noise(m * n, sizeof *tile), *z = noise(m * n, sizeof *z), *W = noise(n * n, sizeof *W);
	double *state = noise(BPG_STATES * m, sizeof *state), *planes = malloc((size_t)(BPG_PLANE_FIELDS * n) * sizeof *planes),
	       s;
	int32_t *element = malloc((size_t)n * sizeof *element);

	if (!planes || !element)
		give_up("memory of the host", 2);
	for (int64_t i = 0; i < BPG_PLANE_FIELDS * n; i++)
		planes[i] = i / n == BPG_LINE ? BPG_LINE_TWO : 0.5;
	for (int64_t i = 0; i < n; i++)
		element[i] = (int32_t)i;
	double *d_planes = put(planes, (size_t)(BPG_PLANE_FIELDS * n) * sizeof *planes);
	int32_t *d_element = put(element, (size_t)n * sizeof *element);
	struct bpg_cuda_adjoint a = { .strips = strips,
		                      .columns = n,
		                      .n = n,
		                      .H = tile,
		                      .W = W,
		                      .Z = z,
		                      .h_strip = n * BPG_LANES,
		                      .w_group = n * BPG_GROUP,
		                      .z_strip = n * BPG_LANES };
	struct bpg_cuda_relax x = { .slack = true,
		                    .strips = strips,
		                    .columns = n,
		                    .at = { n, 0, 0 },
		                    .tile = tile,
		                    .state = state,
		                    .planes = d_planes,
		                    .places = n };
	struct bpg_cuda_sums b = { .kind = BPG_SUM_REGION,
		                   .norm = 2,
		                   .strips = strips,
		                   .columns = n,
		                   .tile = tile,
		                   .state = state,
		                   .element = d_element,
		                   .bounds = d_planes,
		                   .n = n };
	char what[64];

	snprintf(what, sizeof what, "adjoint %lldx%lldx%lld", (long long)m, (long long)n, (long long)n);
	s = bpg_cuda_time(own_adjoint, &a, 20);
	line(what, s > 0, "%.2f TFLOP/s", s > 0 ? 2e-12 * (double)m * (double)n * (double)n / s : 0);
	snprintf(what, sizeof what, "relaxation %lldx%lld", (long long)m, (long long)n);
	s = bpg_cuda_time(own_relax, &x, 20);
	line(what, s > 0, "%.1f us, %.0f GB/s of the tile", s * 1e6, s > 0 ? 8e-9 * (double)m * (double)n / s : 0);
	snprintf(what, sizeof what, "region %lldx%lld", (long long)m, (long long)n);
	s = bpg_cuda_time(own_sums, &b, 20);
	line(what, s > 0, "%.1f us, %.0f GB/s of the tile", s * 1e6, s > 0 ? 4e-9 * (double)m * (double)n / s : 0);
	bpg_cuda_free(tile), bpg_cuda_free(z), bpg_cuda_free(W), bpg_cuda_free(state), bpg_cuda_free(d_planes),
	        bpg_cuda_free(d_element);
	free(planes), free(element);
}

/* A convolution of 3 x 3 between maps of the same size and channels, for m rows over all of it. */
static void conv_rate(int64_t m, int64_t channels, int32_t size)
{
	struct bpg_conv v = { .in_channels = channels,
		              .out_channels = channels,
		              .groups = 1,
		              .in_size = { size, size },
		              .out_size = { size, size },
		              .kernel = { 3, 3 },
		              .stride = { 1, 1 },
		              .pad = { 1, 1 },
		              .dilation = { 1, 1 } };
	struct bpg_window w = { { 0, 0 }, { size, size } };
	struct bpg_conv_sums sums;
	int64_t n = channels * size * size, k = 9 * channels, products = 0;
	char what[64];

	if (!bpg_conv_sums_init(&sums, &v, &w, &w, 128))
		give_up("memory of the host", 2);
	for (int64_t i = 0; i < sums.runs; i++)
		products += sums.run[i].n;
	float *A = noise(m * n, sizeof *A), *C = noise(m * n, sizeof *C), *W = noise(k * channels, sizeof *W);
	int *first = put(sums.first, (size_t)(sums.positions + 1) * sizeof *first),
	    *end = put(sums.end, (size_t)sums.blocks * sizeof *end);
	struct bpg_run *run = put(sums.run, (size_t)sums.runs * sizeof *run);
	struct bpg_cuda_product p = { .strips = m / BPG_LANES,
		                      .columns = channels,
		                      .A = A,
		                      .W = W,
		                      .C = C,
		                      .a_strip = n * BPG_LANES,
		                      .w_group = k * BPG_GROUP,
		                      .c_strip = n * BPG_LANES,
		                      .cells = sums.positions,
		                      .sets = 1,
		                      .c_cell = channels,
		                      .first = first,
		                      .end = end,
		                      .run = run };
	double s = bpg_cuda_time(own_conv, &p, 10);

	snprintf(what, sizeof what, "conv 3x3 %lldx(%lldx%dx%d)", (long long)m, (long long)channels, size, size);
	line(what, s > 0, "%.2f TFLOP/s", s > 0 ? 2e-12 * (double)m * (double)channels * (double)products / s : 0);
	bpg_conv_sums_fini(&sums);
	bpg_cuda_free(A), bpg_cuda_free(C), bpg_cuda_free(W), bpg_cuda_free(first), bpg_cuda_free(end), bpg_cuda_free(run);
}

static void check_rates(void)
{
	const size_t bytes = 32 << 20;
	void *blas = NULL, *space = bpg_cuda_alloc(bytes);
	int e = space ? bpg_cuda_blas_open(&blas, space, bytes) : 2;

	line("cuBLAS", e == 0, e ? "status %d" : "pedantic arithmetic, a fixed workspace", e);
	if (e == 0) {
		rate(blas, 16, 4096, 4096, false);
		rate(blas, 128, 1024, 1024, false);
		rate(blas, 512, 512, 512, false);
		rate(blas, 1024, 1024, 1024, false);
		rate(blas, 1024, 4096, 4096, false);
		rate(blas, 4096, 4096, 4096, false);
		rate(blas, 8192, 8192, 8192, false);
		rate(blas, 16, 4096, 4096, true);
		rate(blas, 1024, 2048, 2048, true);
	}
	rows_rate(256, 1024);
	rows_rate(1024, 4096);
	conv_rate(128, 16, 32);
	conv_rate(128, 64, 16);
	conv_rate(128, 256, 8);
	bpg_cuda_blas_close(blas);
	bpg_cuda_free(space);
}

/* ---- AllGather ---- */

static void check_gather(int devices)
{
#ifdef BPG_NCCL
	enum { MOST = 16, BYTES = 4096 };
	const char *why = "";
	int n = devices < MOST ? devices : MOST;
	struct bpg_cuda_ring *ring = bpg_cuda_ring_new(n, &why);
	const void *shard[MOST];
	void *panel[MOST];
	static char host[MOST][BYTES], got[MOST * BYTES], zero[MOST * BYTES];
	bool ok = ring != NULL;
	int e = 0;

	if (n == 1 && ok) { /* memory of other devices would have to be theirs: only one is tried here */
		for (int i = 0; i < BYTES; i++)
			host[0][i] = (char)(i * 7);
		shard[0] = put(host[0], BYTES);
		panel[0] = put(zero, BYTES);
		e = bpg_cuda_ring_gather(ring, shard, panel, BYTES);
		get(got, panel[0], BYTES);
		ok = e == 0 && !memcmp(got, host[0], BYTES);
	}
	line("NCCL AllGather", ok, "version %d, size %d%s: %s", bpg_cuda_nccl_version(), n, n > 1 ? " (communicators only)" : "",
	     !ring ? why
	     : e   ? bpg_cuda_error(e > 0 ? e : 0)
	     : ok  ? "the panel is the shards"
	           : "the panel differs");
	bpg_cuda_ring_free(ring);
#else
	(void)devices;
	printf("%-28s        not built\n", "NCCL AllGather");
#endif
}

int main(int argc, char **argv)
{
	const char *why = "";
	int devices, shapes = 200;
	uint64_t seed = 30;
	bool rates = true;
	struct bpg_cuda_device d;

	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--shapes") && i + 1 < argc) {
			shapes = atoi(argv[++i]);
		} else if (!strcmp(argv[i], "--seed") && i + 1 < argc) {
			seed = strtoull(argv[++i], NULL, 10);
		} else if (!strcmp(argv[i], "--no-rates")) {
			rates = false;
		} else {
			fprintf(stderr, "usage: bpgraph-gpu-check [--shapes N] [--seed N] [--no-rates]\n");
			return 2;
		}
	}
	devices = bpg_cuda_devices(&why);
	if (devices == 0) {
		printf("no CUDA device that runs these kernels: nothing was checked on a GPU (CUDA: %s)\n",
		       *why ? why : "none is visible");
		return 77;
	}
	bpg_cuda_describe(&d);
	line("device", true, "%s, sm_%d%d, %d processors, %.1f GiB, %d in all; driver %d, runtime %d", d.name, d.major, d.minor,
	     d.processors, (double)d.bytes / (1 << 30), devices, d.driver, d.runtime);
	check_bits(shapes, seed);
	if (rates)
		check_rates();
	check_gather(devices);
	printf("%s\n", bad ? "FAILED" : "all ok");
	return bad != 0;
}
