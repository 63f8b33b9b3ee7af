/* bench_sgemm.c - the rate of cblas_sgemm on this machine at this minute, as the measure of what our products reach.
 *
 *   bench_sgemm THREADS
 *
 * Each thread multiplies matrices of its own, side by side, as workers do. A line of JSON: GFLOP/s of one thread, by its
 * CPU time, of the best product, averaged over threads. */
#include "config.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#ifdef BPG_BLAS_MKL
#include <mkl_cblas.h>
#else
#include <cblas.h>
#endif

#include "base/base.h"
#include "base/blas.h"

enum { N = 1536, MOST_THREADS = 1024 };
static const double SECONDS = 0.4;

static pthread_barrier_t together;

static void *multiply(void *arg)
{
	const size_t size = (size_t)N * N;
	float *a = malloc(3 * size * sizeof *a), *b = a + size, *c = b + size;
	double best = HUGE_VAL, total = 0;

	for (size_t i = 0; a && i < 3 * size; i++)
		a[i] = (float)(i % 7) - 3;
	pthread_barrier_wait(&together);
	for (int i = 0; a && (i < 2 || total < SECONDS); i++) {
		double start = bpg_thread_cpu();
		cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, N, N, N, 1, a, N, b, N, 0, c, N);
		double took = bpg_thread_cpu() - start;
		best = BPG_MIN(best, took);
		total += took;
	}
	free(a);
	*(double *)arg = 2e-9 * N * N * N / best;
	return NULL;
}

int main(int argc, char **argv)
{
	int threads = argc > 1 ? atoi(argv[1]) : 1;
	pthread_t thread[MOST_THREADS];
	double rate[MOST_THREADS], sum = 0;

	if (threads < 1 || threads > MOST_THREADS) {
		fprintf(stderr, "usage: bench_sgemm THREADS\n");
		return 2;
	}
	bpg_blas_init();
	pthread_barrier_init(&together, NULL, (unsigned)threads);
	for (int i = 0; i < threads; i++)
		if (pthread_create(&thread[i], NULL, multiply, &rate[i])) {
			fprintf(stderr, "bench_sgemm: no thread %d\n", i);
			return 2;
		}
	for (int i = 0; i < threads; i++) {
		pthread_join(thread[i], NULL);
		sum += rate[i];
	}
	printf("{\"blas\": \"%s\", \"kernel\": \"%s\", \"threads\": %d, \"n\": %d, \"gflops\": %.2f}\n", bpg_blas_name(),
	       bpg_blas_kernel(), threads, N, sum / threads);
	return 0;
}
