/* progress.c - how far a run is: a live line on a terminal, plain lines elsewhere. */
#include "report/progress.h"

#include <stdio.h>
#include <unistd.h>

#include "base/base.h"

#define PERIOD 0.1

void bpg_progress_start(struct bpg_progress *p, bool live, bool plain)
{
	bool terminal = (live || plain) && isatty(STDERR_FILENO);

	*p = (struct bpg_progress){ .live = live && terminal, .plain = plain && !terminal, .start = bpg_now() };
	p->next = p->start + (p->live ? PERIOD : 0); /* a short run shows no line */
}

/* True when a line is due; it is begun. */
static bool due(struct bpg_progress *p, double now)
{
	if ((!p->live && !p->plain) || now < p->next)
		return false;
	p->next = now + PERIOD;
	p->shown = p->live;
	fputs(p->live ? "\rbpgraph: " : "bpgraph: ", stderr);
	return true;
}

static void end(const struct bpg_progress *p)
{
	fputs(p->live ? "\033[K" : "\n", stderr);
	fflush(stderr);
}

/* Iterations a second, counted from where the same rows were first seen. */
static double rate(struct bpg_progress *p, const struct bpg_progress_point *at, double now)
{
	if (at->node != p->node || at->iteration < p->iteration) {
		p->node = at->node;
		p->iteration = at->iteration;
		p->since = now;
	}
	return now > p->since ? (at->iteration - p->iteration) / (now - p->since) : 0;
}

void bpg_progress_step(void *progress, const struct bpg_progress_point *at)
{
	struct bpg_progress *p = progress;
	double now = bpg_now();

	double a_second = rate(p, at, now);

	if (!due(p, now))
		return;
	fprintf(stderr, "node %d of %d", at->node, at->nodes);
	if (at->iteration)
		fprintf(stderr, ", iteration %d of %d, worst row %.4g, %.3g iterations/s", at->iteration, at->iterations, at->worst, a_second);
	fprintf(stderr, ", %lld rows, %.1f s", (long long)at->rows, now - p->start);
	end(p);
}

void bpg_progress_search(void *progress, int64_t domains, int64_t waiting, double worst, int depth, size_t bytes, size_t spilled)
{
	struct bpg_progress *p = progress;
	double now = bpg_now();

	if (!due(p, now))
		return;
	if (!p->searching) { /* a search that is gone on with has some already */
		p->searching = now;
		p->domains = domains;
	}
	fprintf(stderr, "%lld domains, %lld open, worst bound %.4g, depth %d, %.0f domains/s, %.1f MB", (long long)domains, (long long)waiting,
	        worst, depth, now > p->searching ? (double)(domains - p->domains) / (now - p->searching) : 0, 1e-6 * (double)bytes);
	if (spilled)
		fprintf(stderr, " and %.1f MB on disk", 1e-6 * (double)spilled);
	fprintf(stderr, ", %.1f s", now - p->start);
	end(p);
}

void bpg_progress_end(struct bpg_progress *p)
{
	if (p->shown)
		fputs("\r\033[K", stderr);
	p->shown = false;
}
