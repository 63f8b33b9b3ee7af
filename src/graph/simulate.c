/* simulate.c - see simulate.h. */
#include "graph/simulate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Tasks in flight: of each owner, and at most. */
enum { WINDOW = 4096, WINDOW_MOST = 1 << 18 };

/* A task that may have ended: its place is another's then. */
struct ref {
	int place;
	int64_t id;
};

struct data {
	struct ref writer, *reader;
	int64_t readers, room;
	double written, read;     /* ends of the longest chains: of its writer, of all that use it since */
	int next;                 /* free ones */
};

struct job {
	int64_t id;               /* 0: free */
	enum bpg_sim_lane lane;
	int owner, from, copies, priority, waiting, next;
	double seconds, bytes, release;
	int *then;                /* [thens] places of tasks that wait for it */
	int64_t thens, room;
};

/* A binary heap: least key first, then least id. */
struct entry {
	double key;
	int64_t id;
	int place, what;
};
struct heap {
	struct entry *entry;
	int64_t n, room;
};
enum { READY, ENDED, BEGUN, ARRIVED };

struct owner {
	struct heap ready[BPG_SIM_LINK];
	int idle[BPG_SIM_LINK], arriving;
	double out, in;           /* when its links are free */
	double submitter;         /* when the thread that submits is */
	double since, busy, moving, both; /* last change; seconds of workers with a task; with a transfer to it; with both */
};

struct bpg_sim {
	const struct bpg_machine *machine;
	int owners, seats, nodes, here, workers; /* here: owners of a node */
	bool together, crowded, failed;
	double now, base;         /* base: end of the longest chain at the last wait */
	double longest, work;
	int64_t ids, flying, tasks, transfers, waits;
	struct owner *owner;      /* [seats] */
	int *busy;                /* [nodes] units with a task */
	struct heap events;
	struct job *job;
	int64_t jobs, job_room;
	struct data *data;
	int64_t datas, data_room;
	int free_job, free_data;  /* -1: none */
};

/* ---- heaps ---- */

static bool before(const struct entry *a, const struct entry *b)
{
	return a->key < b->key || (a->key == b->key && a->id < b->id);
}

static bool push(struct heap *h, struct entry e)
{
	if (!bpg_grow(&h->entry, &h->room, h->n + 1, sizeof *h->entry))
		return false;
	int64_t i = h->n++;
	for (; i && before(&e, &h->entry[(i - 1) / 2]); i = (i - 1) / 2)
		h->entry[i] = h->entry[(i - 1) / 2];
	h->entry[i] = e;
	return true;
}

static struct entry pop(struct heap *h)
{
	struct entry top = h->entry[0], e = h->entry[--h->n];
	int64_t i = 0, k;

	for (; (k = 2 * i + 1) < h->n; i = k) {
		k += k + 1 < h->n && before(&h->entry[k + 1], &h->entry[k]);
		if (!before(&h->entry[k], &e))
			break;
		h->entry[i] = h->entry[k];
	}
	h->entry[i] = e;
	return top;
}

static void event(struct bpg_sim *s, double at, int place, int what)
{
	s->failed |= !push(&s->events, (struct entry){ at, ++s->ids, place, what });
}

/* ---- the machine ---- */

static int owners_here(const struct bpg_machine *m, int owners)
{
	return (int)BPG_MIN((double)owners, m->owners);
}

int bpg_sim_workers_of(const struct bpg_machine *m, int owners, bool together, int workers)
{
	if (m->gpu)
		return 1;
	return workers > 0 ? workers : (int)BPG_MAX(m->units / (together ? 1 : owners_here(m, owners)), 1.0);
}

bool bpg_sim_crowded(const struct bpg_machine *m, int owners, int workers)
{
	return !m->gpu && owners_here(m, owners) * bpg_sim_workers_of(m, owners, false, workers) > m->units;
}

struct bpg_sim *bpg_sim_new(const struct bpg_machine *m, int owners, int simulated, bool together, int workers)
{
	struct bpg_sim *s = bpg_calloc(1, sizeof *s);

	if (!s)
		return NULL;
	*s = (struct bpg_sim){ .machine = m, .owners = owners, .seats = together ? 1 : simulated, .together = together, .free_job = -1, .free_data = -1 };
	s->here = together ? owners : owners_here(m, owners);
	s->nodes = (s->seats + s->here - 1) / s->here;
	s->workers = bpg_sim_workers_of(m, owners, together, workers);
	s->crowded = (together ? 1 : s->here) * s->workers > m->units && !m->gpu;
	s->owner = bpg_calloc((size_t)s->seats, sizeof *s->owner);
	s->busy = bpg_calloc((size_t)s->nodes, sizeof *s->busy);
	if (!s->owner || !s->busy) {
		bpg_sim_free(s);
		return NULL;
	}
	for (int o = 0; o < s->seats; o++) {
		s->owner[o].idle[BPG_SIM_WORKER] = s->workers;
		s->owner[o].idle[BPG_SIM_HOST] = m->gpu ? (int)m->host : 0;
	}
	return s;
}

int bpg_sim_workers(const struct bpg_sim *s)
{
	return s->workers;
}

void bpg_sim_free(struct bpg_sim *s)
{
	if (!s)
		return;
	for (int o = 0; s->owner && o < s->seats; o++)
		for (int l = 0; l < BPG_SIM_LINK; l++)
			free(s->owner[o].ready[l].entry);
	for (int64_t i = 0; i < s->jobs; i++)
		free(s->job[i].then);
	for (int64_t i = 0; i < s->datas; i++)
		free(s->data[i].reader);
	free(s->owner);
	free(s->busy);
	free(s->events.entry);
	free(s->job);
	free(s->data);
	free(s);
}

/* ---- data ---- */

int bpg_sim_data(struct bpg_sim *s)
{
	int d = s->free_data;

	if (d >= 0) {
		s->free_data = s->data[d].next;
	} else if (s->datas < INT32_MAX && bpg_grow(&s->data, &s->data_room, s->datas + 1, sizeof *s->data)) {
		d = (int)s->datas++;
		s->data[d] = (struct data){ .reader = NULL };
	} else {
		s->failed = true;
		return -1;
	}
	struct data *x = &s->data[d];
	x->writer = (struct ref){ 0, 0 };
	x->readers = 0;
	x->written = x->read = 0;
	return d;
}

void bpg_sim_forget(struct bpg_sim *s, int d)
{
	if (d < 0)
		return;
	s->data[d].next = s->free_data;
	s->free_data = d;
}

static bool flies(const struct bpg_sim *s, struct ref r)
{
	return r.id && s->job[r.place].id == r.id;
}

static void wait_for(struct bpg_sim *s, int place, struct ref r)
{
	struct job *j = &s->job[r.place];

	if (!flies(s, r) || r.place == place)
		return;
	if (!bpg_grow(&j->then, &j->room, j->thens + 1, sizeof *j->then)) {
		s->failed = true;
		return;
	}
	j->then[j->thens++] = place;
	s->job[place].waiting++;
}

/* A further reader; those that have ended are dropped where there is no room. */
static void add_reader(struct bpg_sim *s, struct data *d, struct ref r)
{
	if (d->readers == d->room) {
		int64_t n = 0;
		for (int64_t i = 0; i < d->readers; i++)
			if (flies(s, d->reader[i]))
				d->reader[n++] = d->reader[i];
		d->readers = n;
	}
	if (!bpg_grow(&d->reader, &d->room, BPG_MAX(2 * d->readers, d->readers + 1), sizeof *d->reader)) {
		s->failed = true;
		return;
	}
	d->reader[d->readers++] = r;
}

/* ---- events ---- */

/* Time passes for an owner, before what it does changes. */
static void pass(struct bpg_sim *s, struct owner *o)
{
	double t = s->now - o->since;
	int busy = s->workers - o->idle[BPG_SIM_WORKER];

	o->busy += t * busy;
	if (o->arriving)
		o->moving += t, o->both += busy ? t : 0;
	o->since = s->now;
}

static void dispatch(struct bpg_sim *s, int seat)
{
	struct owner *o = &s->owner[seat];
	const struct bpg_machine *m = s->machine;
	int *busy = &s->busy[seat / s->here];

	for (int lane = 0; lane < BPG_SIM_LINK; lane++)
		while (o->ready[lane].n && o->idle[lane] && (lane || !s->crowded || *busy < m->units)) {
			int place = pop(&o->ready[lane]).place;
			double seconds = s->job[place].seconds;
			pass(s, o);
			o->idle[lane]--;
			if (lane == BPG_SIM_WORKER) {
				++*busy;
				if (m->units > 1 && !m->gpu)
					seconds /= 1 - (1 - m->shared) * BPG_MIN((*busy - 1) / (m->units - 1), 1.0);
			}
			event(s, s->now + seconds, place, ENDED);
		}
}

struct way {
	double all, one, latency; /* seconds that all copies keep the sender's links busy, the last of them the receiver's */
};

static struct way way_of(const struct bpg_sim *s, const struct job *j)
{
	const struct bpg_machine *m = s->machine;
	int here = j->from < 0 || j->owner < 0 ? BPG_MIN(j->copies, s->here - 1) : j->from / s->here == j->owner / s->here;
	int away = j->copies - here; /* of the copies that the sender makes, how many leave its node */

	return (struct way){ .all = j->copies * m->message + BPG_MAX(here * j->bytes / m->link, away * j->bytes / m->network),
		             .one = m->message + j->bytes / (away ? m->network : m->link), .latency = (away ? m->network_latency : m->link_latency) + (s->crowded ? m->turn : 0) };
}

static void begin_transfer(struct bpg_sim *s, int place)
{
	struct job *j = &s->job[place];
	struct owner *from = j->from >= 0 && j->from < s->seats ? &s->owner[j->from] : NULL;
	struct owner *to = j->owner >= 0 && j->owner < s->seats ? &s->owner[j->owner] : NULL;
	struct way w = way_of(s, j);
	double start = BPG_MAX(s->now, BPG_MAX(from ? from->out : 0, to ? to->in : 0));

	if (from)
		from->out = start + w.all;
	if (to)
		to->in = start + w.one;
	if (start > s->now && to)
		event(s, start, place, BEGUN);
	else if (to)
		pass(s, to), to->arriving++;
	event(s, start + w.all + w.latency, place, ARRIVED);
}

static void ready(struct bpg_sim *s, int place)
{
	struct job *j = &s->job[place];

	if (j->release > s->now) {
		event(s, j->release, place, READY);
	} else if (j->lane == BPG_SIM_LINK) {
		begin_transfer(s, place);
	} else {
		s->failed |= !push(&s->owner[j->owner].ready[j->lane], (struct entry){ -j->priority, j->id, place, READY });
		dispatch(s, j->owner);
	}
}

static void end(struct bpg_sim *s, int place)
{
	int64_t n = s->job[place].thens;

	s->job[place].id = 0;
	s->flying--;
	for (int64_t i = 0; i < n; i++) {
		int next = s->job[place].then[i];
		if (!--s->job[next].waiting)
			ready(s, next);
	}
	s->job[place].next = s->free_job;
	s->free_job = place;
}

/* The next event. */
static void advance(struct bpg_sim *s)
{
	struct entry e = pop(&s->events);
	struct job *j = &s->job[e.place];
	struct owner *o = j->owner >= 0 && j->owner < s->seats ? &s->owner[j->owner] : NULL;
	int seat = j->owner;

	s->now = BPG_MAX(s->now, e.key);
	if (e.what == READY) {
		ready(s, e.place);
	} else if (e.what == BEGUN) {
		pass(s, o), o->arriving++;
	} else if (e.what == ARRIVED) {
		if (o)
			pass(s, o), o->arriving--;
		end(s, e.place);
	} else {
		pass(s, o);
		o->idle[j->lane]++;
		if (j->lane == BPG_SIM_WORKER)
			s->busy[seat / s->here]--;
		end(s, e.place);
		dispatch(s, seat);
		for (int k = 1; s->crowded && k < s->here; k++) { /* a unit is free for the others of the node, too */
			int first = seat / s->here * s->here, next = first + (seat - first + k) % s->here;
			if (next < s->seats)
				dispatch(s, next);
		}
	}
}

/* ---- submission ---- */

static int new_job(struct bpg_sim *s)
{
	int place = s->free_job;

	if (place >= 0) {
		s->free_job = s->job[place].next;
		return place;
	}
	if (!bpg_grow(&s->job, &s->job_room, s->jobs + 1, sizeof *s->job))
		return -1;
	s->job[s->jobs] = (struct job){ .id = 0 };
	return (int)s->jobs++;
}

void bpg_sim_submit(struct bpg_sim *s, const struct bpg_sim_task *t)
{
	const struct bpg_machine *m = s->machine;
	int64_t window = BPG_MIN((int64_t)WINDOW * s->seats, (int64_t)WINDOW_MOST);
	bool link = t->lane == BPG_SIM_LINK;

	if (s->flying > window)
		while (s->flying > window / 2)
			advance(s);
	int place = s->failed ? -1 : new_job(s);
	if (place < 0) {
		s->failed = true;
		return;
	}
	struct job *j = &s->job[place];
	j->id = ++s->ids;
	j->lane = t->lane == BPG_SIM_HOST && !m->gpu ? BPG_SIM_WORKER : t->lane;
	j->owner = s->together && t->owner >= 0 ? 0 : t->owner;
	j->from = s->together && t->from >= 0 ? 0 : t->from;
	j->copies = BPG_MAX(t->copies, 1);
	j->priority = t->priority;
	j->bytes = t->bytes;
	j->seconds = t->seconds + m->task;
	j->waiting = 0;
	j->thens = 0;

	struct owner *by = &s->owner[link ? BPG_MAX(BPG_MIN(j->from, s->seats - 1), 0) : j->owner];
	j->release = by->submitter = BPG_MAX(by->submitter, s->now) + m->submit;
	struct ref me = { place, j->id };
	struct way way = way_of(s, j);
	double chain = s->base, alone = link ? way.all + way.latency : j->seconds;
	for (int i = 0; i < t->uses; i++) {
		const struct data *d = &s->data[t->use[i].data];
		wait_for(s, place, d->writer);
		for (int64_t r = 0; t->use[i].write && r < d->readers; r++)
			wait_for(s, place, d->reader[r]);
		chain = BPG_MAX(chain, t->use[i].write ? BPG_MAX(d->written, d->read) : d->written);
	}
	chain += alone;
	for (int i = 0; i < t->uses; i++) {
		struct data *d = &s->data[t->use[i].data];
		if (t->use[i].write) {
			d->writer = me;
			d->readers = 0;
			d->written = d->read = chain;
		} else {
			add_reader(s, d, me);
			d->read = BPG_MAX(d->read, chain);
		}
	}
	s->longest = BPG_MAX(s->longest, chain);
	s->flying++;
	s->tasks += !link;
	s->transfers += link;
	if (j->lane == BPG_SIM_WORKER)
		s->work += j->seconds;
	if (!s->job[place].waiting)
		ready(s, place);
}

bool bpg_sim_wait(struct bpg_sim *s, double seconds)
{
	while (!s->failed && s->flying)
		advance(s);
	for (int o = 0; o < s->seats; o++)
		pass(s, &s->owner[o]);
	s->now += seconds;
	s->waits++;
	s->longest = BPG_MAX(s->longest, s->base);
	s->base = s->longest += seconds;
	return !s->failed;
}

void bpg_sim_outcome(const struct bpg_sim *s, struct bpg_sim_outcome *x)
{
	double busy = 0, moving = 0, both = 0, workers = (double)s->workers * s->seats;

	for (int o = 0; o < s->seats; o++) {
		busy += s->owner[o].busy;
		moving += s->owner[o].moving;
		both += s->owner[o].both;
	}
	double units = s->crowded ? BPG_MIN(workers, s->machine->units * s->nodes) : workers;
	*x = (struct bpg_sim_outcome){ .seconds = s->now, .work = s->work / units, .critical = s->longest, .waiting = s->now > 0 ? 1 - busy / (s->now * units) : 0,
		                       .overlap = moving > 0 ? both / moving : INFINITY, .tasks = s->tasks, .transfers = s->transfers, .waits = s->waits };
}
