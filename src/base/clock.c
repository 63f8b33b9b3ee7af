/* clock.c - clocks, in seconds. */
#include "base/base.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static double read_clock(clockid_t id)
{
	struct timespec t;
	if (clock_gettime(id, &t))
		return 0;
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

double bpg_now(void)
{
	return read_clock(CLOCK_MONOTONIC);
}

void bpg_cond_wait_for(pthread_cond_t *condition, pthread_mutex_t *lock, double seconds)
{
	double end = read_clock(CLOCK_REALTIME) + seconds;
	struct timespec at = { .tv_sec = (time_t)end, .tv_nsec = (long)((end - (double)(time_t)end) * 1e9) };

	pthread_cond_timedwait(condition, lock, &at);
}

double bpg_thread_cpu(void)
{
	return read_clock(CLOCK_THREAD_CPUTIME_ID);
}

/* Field 22 of /proc/self/stat: clock ticks between boot and the start of the process; 0 when it cannot be read. */
static unsigned long long start_ticks(void)
{
	char text[1024];
	FILE *f = fopen("/proc/self/stat", "r");
	if (!f)
		return 0;
	size_t n = fread(text, 1, sizeof text - 1, f);
	fclose(f);
	text[n] = 0;
	char *s = strrchr(text, ')'); /* the name before it may hold anything */
	unsigned long long ticks = 0;
	if (!s || sscanf(s + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu", &ticks) != 1)
		return 0;
	return ticks;
}

double bpg_process_start(void)
{
	double now = bpg_now(), since_boot = read_clock(CLOCK_BOOTTIME);
	long per_second = sysconf(_SC_CLK_TCK);
	unsigned long long ticks = start_ticks();
	double age = per_second > 0 && ticks ? since_boot - (double)ticks / (double)per_second : 0;
	return age > 0 ? now - age : now;
}
