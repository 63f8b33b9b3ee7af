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

void bpg_progress_step(void *progress, int node, int nodes, int64_t rows)
{
	struct bpg_progress *p = progress;
	double now = bpg_now();

	if ((!p->live && !p->plain) || now < p->next)
		return;
	p->next = now + PERIOD;
	p->shown = p->live;
	fprintf(stderr, "%sbpgraph: node %d of %d, %lld rows, %.1f s%s", p->live ? "\r" : "", node, nodes, (long long)rows, now - p->start,
	        p->live ? "\033[K" : "\n");
	fflush(stderr);
}

void bpg_progress_end(struct bpg_progress *p)
{
	if (p->shown)
		fputs("\r\033[K", stderr);
	p->shown = false;
}
