/* comm.c - see comm.h. */
#include "rt/comm.h"

#include "config.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "rt/rt_internal.h"

/* The variable by which a launcher tells a process how many there are, null: there is no launcher. ranks 0: it does not say. */
static const char *launched_as(int *ranks)
{
	static const char *const name[] = { "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MPI_LOCALNRANKS" };

	for (size_t i = 0; i < BPG_LEN(name); i++) {
		const char *value = getenv(name[i]);
		if (value && *value) {
			*ranks = atoi(value);
			return name[i];
		}
	}
	*ranks = 0;
	return getenv("PMIX_RANK") ? "PMIX_RANK" : NULL;
}

#ifndef BPG_HAVE_MPI

enum bpg_status bpg_comm_start(struct bpg_ctx *ctx)
{
	int ranks;
	const char *name = launched_as(&ranks);

	if (name && ranks != 1)
		return bpg_fail(ctx, BPG_EUNSUPPORTED, "started as one of several ranks (%s is set), but built without MPI; install libopenmpi-dev and configure again", name);
	return BPG_OK;
}

int bpg_comm_rank(void) { return 0; }

int bpg_comm_ranks(void) { return 1; }

int bpg_comm_neighbours(void) { return 1; }

int bpg_comm_neighbour(void) { return 0; }

enum bpg_status bpg_comm_agree(struct bpg_ctx *ctx, enum bpg_status st)
{
	(void)ctx;
	return st;
}

bool bpg_comm_share(const void *mine, void *all, size_t bytes)
{
	memcpy(all, mine, bytes);
	return true;
}

void bpg_comm_attach(struct bpg_rt *rt) { (void)rt; }

int bpg_comm_end(int code) { return code; }

enum bpg_status bpg_rt_transfer(struct bpg_rt *rt, struct bpg_tensor *tensor, size_t bytes, int from, int to, int node)
{
	(void)rt, (void)tensor, (void)bytes, (void)from, (void)to, (void)node;
	return BPG_OK;
}

void bpg_comm_post(int to, void *data, size_t bytes)
{
	(void)to, (void)bytes;
	free(data);
}

void bpg_comm_listen(bpg_letter_fn *fn, void *arg) { (void)fn, (void)arg; }

#else

#include <mpi.h>

enum { TAG_STOP = 1, TAG_LETTER = 1, TAG_MASK = 0x3fffffff };
/* After a stop, sends that nobody takes any more are given up after so many seconds; so is the end of MPI. */
static const double patience = 1, patience_at_end = 5;

/* What a stopped rank tells the others. */
struct stop {
	int code;
	char message[512];
};

struct transfer {
	struct bpg_rt *rt;
	starpu_data_handle_t handle; /* the tensor may be released meanwhile */
	void *at;
	size_t bytes;
	int peer, tag, node;
	bool send;
	double start;
	MPI_Request request;
	struct transfer *next;
};

struct letter {
	int peer;
	size_t bytes;
	void *data;
	MPI_Request request;
	struct letter *next;
};

/* First come, first served. */
struct letters {
	struct letter *first, **end;
};

/* A collective call that a thread waits for. Ranks need not come for the same: one whose time is over comes to agree on that while others
 * come to share something. Then nothing is shared, and the one waits until the others come to agree, too. */
struct meeting {
	enum { AGREE, SHARE, END } what;
	const void *mine;
	void *all;
	size_t bytes;
	bool done, held;          /* held: all came for this */
};

static struct {
	int rank, ranks, neighbours, neighbour;
	bool started, agreed, ending;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t wake, done;
	enum bpg_status st;       /* of the start */
	struct bpg_rt *rt;        /* that runs now */
	struct transfer *waiting, **last; /* ready, not begun */
	struct meeting *meeting;
	struct letters out;       /* not begun */
	struct stop stop;         /* to be told to the others, when `tell` */
	bool tell, told;
	struct stop heard;        /* from another rank, when `halt` */
	bool halt;
	/* Of the thread: */
	MPI_Comm data, control;
	struct transfer **active;
	MPI_Request *request;
	int64_t count, room, request_room;
	double stopped, late;     /* when a stop was seen first (0: not); when the end waits no more for letters to leave */
	MPI_Comm mail;
	struct letters leaving;
	struct letter *coming;
	pthread_mutex_t reading;  /* of what follows, and while the listener is at work; taken before any other */
	struct letters in;        /* come, not read */
	bpg_letter_fn *listener;
	void *listener_arg;
	bool look;                /* letters that waited may be read now */
} comm = { .ranks = 1, .neighbours = 1, .lock = PTHREAD_MUTEX_INITIALIZER, .wake = PTHREAD_COND_INITIALIZER, .done = PTHREAD_COND_INITIALIZER,
           .reading = PTHREAD_MUTEX_INITIALIZER };

/* ---- the thread ---- */

static void finish(struct transfer *t, bool good)
{
	struct bpg_rt *rt = t->rt;

	if (good)
		bpg_rt_moved(rt, &(struct bpg_move){ t->send, t->node, t->peer, t->bytes, t->start, bpg_now() });
	starpu_data_release_on_node(t->handle, STARPU_MAIN_RAM);
	free(t);
	pthread_mutex_lock(&rt->lock);
	if (!--rt->moving)
		pthread_cond_broadcast(&rt->still);
	pthread_mutex_unlock(&rt->lock);
}

static void begin(struct transfer *t)
{
	if (bpg_rt_stopped(t->rt) || !bpg_grow(&comm.active, &comm.room, comm.count + 1, sizeof *comm.active)
	    || !bpg_grow(&comm.request, &comm.request_room, comm.count + 1, sizeof *comm.request)) {
		if (!bpg_rt_stopped(t->rt))
			bpg_rt_fault(t->rt, BPG_ENOMEM, "memory is short for a transfer");
		finish(t, false);
		return;
	}
	t->start = bpg_now();
	if (t->send)
		MPI_Isend(t->at, (int)t->bytes, MPI_BYTE, t->peer, t->tag, comm.data, &t->request);
	else
		MPI_Irecv(t->at, (int)t->bytes, MPI_BYTE, t->peer, t->tag, comm.data, &t->request);
	comm.active[comm.count++] = t;
}

/* Looks at all that are under way; true when one has ended. */
static bool progress(void)
{
	bool any = false;
	int64_t left = 0;

	for (int64_t i = 0; i < comm.count; i++) {
		struct transfer *t = comm.active[i];
		int done = 0;
		MPI_Test(&t->request, &done, MPI_STATUS_IGNORE);
		if (!done && comm.stopped > 0 && (!t->send || bpg_now() > comm.stopped + patience)) {
			if (!t->send) {
				MPI_Cancel(&t->request);
				MPI_Wait(&t->request, MPI_STATUS_IGNORE);
			} else {
				MPI_Request_free(&t->request);
			}
			finish(t, false);
			any = true;
		} else if (done) {
			finish(t, true);
			any = true;
		} else {
			comm.active[left++] = t;
		}
	}
	comm.count = left;
	return any;
}

/* ---- letters ---- */

static void append(struct letters *to, struct letter *l)
{
	if (!to->first)
		to->end = &to->first;
	l->next = NULL;
	*to->end = l;
	to->end = &l->next;
}

static struct letter *take_first(struct letters *from)
{
	struct letter *l = from->first;

	if (l && !(from->first = l->next))
		from->end = &from->first;
	return l;
}

static void letter_free(struct letter *l)
{
	free(l->data);
	free(l);
}

/* One that is lost may have held a part of the search. */
static void letter_lost(void)
{
	pthread_mutex_lock(&comm.lock);
	if (comm.rt)
		bpg_rt_fault(comm.rt, BPG_ENOMEM, "memory is short for a message");
	pthread_mutex_unlock(&comm.lock);
}

static void arrived(struct letter *l)
{
	pthread_mutex_lock(&comm.reading);
	append(&comm.in, l);
	comm.look = true;
	pthread_mutex_unlock(&comm.reading);
}

static void send_letter(struct letter *l)
{
	if (l->peer == comm.rank) {
		arrived(l);
		return;
	}
	MPI_Isend(l->data, (int)l->bytes, MPI_BYTE, l->peer, TAG_LETTER, comm.mail, &l->request);
	append(&comm.leaving, l);
}

/* Those that have left are forgotten. */
static bool see_letters_off(void)
{
	struct letters left = { NULL, NULL };
	struct letter *l;
	bool any = false;

	while ((l = take_first(&comm.leaving))) {
		int done = 0;
		MPI_Test(&l->request, &done, MPI_STATUS_IGNORE);
		any |= done;
		if (done)
			letter_free(l);
		else
			append(&left, l);
	}
	comm.leaving = left;
	return any;
}

/* One comes at a time, so that those of a rank stay in order. */
static bool receive_letter(void)
{
	MPI_Message message;
	MPI_Status status;
	int there = 0, bytes;

	if (comm.coming) {
		MPI_Test(&comm.coming->request, &there, MPI_STATUS_IGNORE);
		if (there) {
			arrived(comm.coming);
			comm.coming = NULL;
		}
		return there;
	}
	MPI_Improbe(MPI_ANY_SOURCE, TAG_LETTER, comm.mail, &there, &message, &status);
	if (!there)
		return false;
	MPI_Get_count(&status, MPI_BYTE, &bytes);
	struct letter *l = bpg_calloc(1, sizeof *l);
	void *data = malloc((size_t)bytes + 1);
	if (!l || !data) {
		free(l);
		free(data);
		letter_lost();
		return false;
	}
	*l = (struct letter){ .peer = status.MPI_SOURCE, .bytes = (size_t)bytes, .data = data };
	MPI_Imrecv(data, bytes, MPI_BYTE, &message, &l->request);
	comm.coming = l;
	return true;
}

/* Hands over what has come; what is not for this listener waits in order. */
static void read_letters(void)
{
	struct letters wait = { NULL, NULL };
	struct letter *l;

	pthread_mutex_lock(&comm.reading);
	if (comm.look && comm.listener) {
		comm.look = false;
		while ((l = take_first(&comm.in)))
			if (comm.listener(comm.listener_arg, l->peer, l->data, l->bytes))
				letter_free(l);
			else
				append(&wait, l);
		comm.in = wait;
	}
	pthread_mutex_unlock(&comm.reading);
}

void bpg_comm_post(int to, void *data, size_t bytes)
{
	struct letter *l = bpg_calloc(1, sizeof *l);

	if (!l) {
		free(data);
		letter_lost();
		return;
	}
	*l = (struct letter){ .peer = to, .bytes = bytes, .data = data };
	pthread_mutex_lock(&comm.lock);
	append(&comm.out, l);
	pthread_cond_signal(&comm.wake);
	pthread_mutex_unlock(&comm.lock);
}

void bpg_comm_listen(bpg_letter_fn *fn, void *arg)
{
	pthread_mutex_lock(&comm.reading);
	comm.listener = fn;
	comm.listener_arg = arg;
	comm.look = true;
	pthread_mutex_unlock(&comm.reading);
	pthread_mutex_lock(&comm.lock);
	pthread_cond_signal(&comm.wake);
	pthread_mutex_unlock(&comm.lock);
}

/* ---- stops ---- */

static void tell_all(const struct stop *s)
{
	for (int r = 0; r < comm.ranks; r++) {
		MPI_Request q;
		if (r == comm.rank)
			continue;
		/* Small, so that it leaves at once; its memory stays. */
		MPI_Isend(s, (int)sizeof *s, MPI_BYTE, r, TAG_STOP, comm.control, &q);
		MPI_Request_free(&q);
	}
}

/* The run ends, now or when it begins, if another rank's has ended. */
static void halt(void)
{
	if (!comm.rt || !comm.halt)
		return;
	if (comm.heard.code)
		bpg_rt_fault(comm.rt, (enum bpg_status)comm.heard.code, "%s", comm.heard.message);
	atomic_store(&comm.rt->stop, 1);
}

/* A stop of this rank's run is told to the others, once; one of theirs stops it. */
static void look_at_stops(struct stop *in, MPI_Request *listen)
{
	static struct stop out;
	int done = 0;

	pthread_mutex_lock(&comm.lock);
	struct bpg_rt *rt = comm.rt;
	if (rt && bpg_rt_stopped(rt) && !comm.stopped) {
		comm.stopped = bpg_now();
		if (!comm.tell) {
			pthread_mutex_lock(&rt->lock);
			comm.stop.code = rt->fault;
			snprintf(comm.stop.message, sizeof comm.stop.message, "%s", rt->message);
			pthread_mutex_unlock(&rt->lock);
			comm.tell = true;
		}
	}
	bool tell = comm.tell && !comm.told;
	if (tell)
		out = comm.stop;
	comm.told = comm.tell;
	pthread_mutex_unlock(&comm.lock);
	if (tell)
		tell_all(&out);
	MPI_Test(listen, &done, MPI_STATUS_IGNORE);
	if (!done)
		return;
	pthread_mutex_lock(&comm.lock);
	if (!comm.halt)
		comm.heard = *in;
	comm.halt = true;
	halt();
	pthread_mutex_unlock(&comm.lock);
	MPI_Irecv(in, (int)sizeof *in, MPI_BYTE, MPI_ANY_SOURCE, TAG_STOP, comm.control, listen);
}

static void gather_all(const void *mine, void *all, size_t bytes)
{
	MPI_Request r;
	int done = 0;

	MPI_Iallgather(mine, (int)bytes, MPI_BYTE, all, (int)bytes, MPI_BYTE, comm.control, &r);
	while (!done) {
		MPI_Test(&r, &done, MPI_STATUS_IGNORE);
		if (!done)
			usleep(200);
	}
}

static void meet(struct meeting *m)
{
	int what = m->what, *all = bpg_calloc((size_t)comm.ranks, sizeof *all);
	bool same;

	if (!all)
		abort(); /* the others wait for this rank, and cannot be told */
	do {
		gather_all(&what, all, sizeof what);
		same = true;
		for (int r = 0; r < comm.ranks; r++)
			same = same && all[r] == what;
	} while (!same && what != SHARE);
	free(all);
	m->held = same;
	if (same)
		gather_all(m->mine, m->all, m->bytes);
}

static void *communicate(void *arg)
{
	struct stop in;
	MPI_Request listen;
	int level, idle = 0;

	(void)arg;
	bool good = MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &level) == MPI_SUCCESS && level >= MPI_THREAD_FUNNELED;
	pthread_mutex_lock(&comm.lock);
	if (good) {
		MPI_Comm_rank(MPI_COMM_WORLD, &comm.rank);
		MPI_Comm_size(MPI_COMM_WORLD, &comm.ranks);
		MPI_Comm here;
		MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &here);
		MPI_Comm_size(here, &comm.neighbours);
		MPI_Comm_rank(here, &comm.neighbour);
		MPI_Comm_free(&here);
		MPI_Comm_dup(MPI_COMM_WORLD, &comm.data);
		MPI_Comm_dup(MPI_COMM_WORLD, &comm.control);
		MPI_Comm_dup(MPI_COMM_WORLD, &comm.mail);
	}
	comm.st = good ? BPG_OK : BPG_EFAULT;
	comm.started = true;
	pthread_cond_broadcast(&comm.done);
	pthread_mutex_unlock(&comm.lock);
	if (!good)
		return NULL;
	MPI_Irecv(&in, (int)sizeof in, MPI_BYTE, MPI_ANY_SOURCE, TAG_STOP, comm.control, &listen);
	for (bool ending = false; !ending;) {
		pthread_mutex_lock(&comm.lock);
		bool under_way = comm.count || comm.leaving.first || comm.coming;
		if (!comm.waiting && !comm.meeting && !comm.out.first && !comm.ending && (!under_way || idle > 20))
			/* Between looks: long where nothing is under way, else as long as a small message takes. */
			bpg_cond_wait_for(&comm.wake, &comm.lock, under_way ? 1e-4 : 2e-3);
		struct transfer *now = comm.waiting;
		struct meeting *m = comm.meeting;
		struct letter *letter;
		struct letters out = { NULL, NULL };
		comm.waiting = NULL;
		comm.last = &comm.waiting;
		while ((letter = take_first(&comm.out)))
			append(&out, letter);
		ending = comm.ending && !m && (!under_way || bpg_now() > comm.late);
		pthread_mutex_unlock(&comm.lock);
		while (now) {
			struct transfer *next = now->next;
			begin(now);
			now = next;
			idle = 0;
		}
		while ((letter = take_first(&out)))
			send_letter(letter);
		bool moved = progress();
		moved |= see_letters_off();
		moved |= receive_letter();
		idle = moved ? 0 : idle + 1;
		read_letters();
		if (idle && idle <= 20)
			sched_yield();
		look_at_stops(&in, &listen);
		if (m) {
			meet(m);
			pthread_mutex_lock(&comm.lock);
			comm.meeting = NULL;
			m->done = true;
			pthread_cond_broadcast(&comm.done);
			pthread_mutex_unlock(&comm.lock);
		}
	}
	MPI_Cancel(&listen);
	MPI_Request_free(&listen);
	for (struct letter *l = comm.leaving.first; l; l = l->next) /* to a rank that is gone */
		MPI_Request_free(&l->request);
	MPI_Finalize();
	pthread_mutex_lock(&comm.lock);
	comm.started = false;
	pthread_cond_broadcast(&comm.done);
	pthread_mutex_unlock(&comm.lock);
	return NULL;
}

/* ---- ranks ---- */

enum bpg_status bpg_comm_start(struct bpg_ctx *ctx)
{
	int ranks;

	if (comm.started || !launched_as(&ranks) || ranks == 1)
		return BPG_OK;
	comm.last = &comm.waiting;
	if (pthread_create(&comm.thread, NULL, communicate, NULL))
		return bpg_nomem(ctx, "the thread that communicates");
	pthread_mutex_lock(&comm.lock);
	while (!comm.started)
		pthread_cond_wait(&comm.done, &comm.lock);
	pthread_mutex_unlock(&comm.lock);
	if (comm.st)
		return bpg_fail(ctx, comm.st, "MPI did not start");
	return BPG_OK;
}

int bpg_comm_rank(void)
{
	return comm.rank;
}

int bpg_comm_ranks(void)
{
	return comm.ranks;
}

int bpg_comm_neighbours(void)
{
	return comm.neighbours;
}

int bpg_comm_neighbour(void)
{
	return comm.neighbour;
}

static bool hold_meeting(int what, const void *mine, void *all, size_t bytes)
{
	struct meeting m = { .what = what, .mine = mine, .all = all, .bytes = bytes };

	pthread_mutex_lock(&comm.lock);
	comm.meeting = &m;
	pthread_cond_signal(&comm.wake);
	while (!m.done)
		pthread_cond_wait(&comm.done, &comm.lock);
	pthread_mutex_unlock(&comm.lock);
	return m.held;
}

bool bpg_comm_share(const void *mine, void *all, size_t bytes)
{
	if (comm.ranks > 1)
		return hold_meeting(SHARE, mine, all, bytes);
	memcpy(all, mine, bytes);
	return true;
}

enum bpg_status bpg_comm_agree(struct bpg_ctx *ctx, enum bpg_status st)
{
	struct stop mine = { .code = st }, *all;
	int worst = 0;

	if (comm.ranks < 2 || comm.agreed)
		return st;
	comm.agreed = true;
	all = bpg_calloc((size_t)comm.ranks, sizeof *all);
	if (!all)
		abort(); /* a few hundred bytes a rank: nothing can be told any more */
	if (st)
		snprintf(mine.message, sizeof mine.message, "%s", bpg_ctx_message(ctx));
	pthread_mutex_lock(&comm.lock);
	if (st && !comm.tell) {
		comm.stop = mine;
		comm.tell = true;
	}
	pthread_mutex_unlock(&comm.lock);
	hold_meeting(AGREE, &mine, all, sizeof mine);
	for (int r = 0; r < comm.ranks; r++)
		if (all[r].code && (!all[worst].code || (all[worst].code == BPG_ECANCELLED && all[r].code != BPG_ECANCELLED)))
			worst = r;
	st = (enum bpg_status)all[worst].code;
	if (st && worst != comm.rank)
		bpg_fail(ctx, st, "%s", all[worst].message);
	free(all);
	return st;
}

int bpg_comm_end(int code)
{
	if (!comm.started)
		return code;
	if (comm.ranks > 1) {
		int *all = bpg_calloc((size_t)comm.ranks, sizeof *all);
		if (all) {
			hold_meeting(END, &code, all, sizeof code);
			code = all[0];
		}
		free(all);
	}
	fflush(NULL);
	pthread_mutex_lock(&comm.lock);
	comm.ending = true;
	comm.late = bpg_now() + patience;
	pthread_cond_signal(&comm.wake);
	struct timespec t;
	clock_gettime(CLOCK_REALTIME, &t);
	t.tv_sec += (time_t)patience_at_end;
	int late = 0;
	while (comm.started && !late)
		late = pthread_cond_timedwait(&comm.done, &comm.lock, &t);
	pthread_mutex_unlock(&comm.lock);
	if (late)
		_exit(code); /* a rank that is gone keeps MPI from ending */
	pthread_join(comm.thread, NULL);
	return code;
}

void bpg_comm_attach(struct bpg_rt *rt)
{
	pthread_mutex_lock(&comm.lock);
	comm.rt = rt;
	halt();
	pthread_mutex_unlock(&comm.lock);
}

/* ---- transfers ---- */

static void ready(void *arg)
{
	struct transfer *t = arg;

	t->at = (void *)((struct bpg_block *)starpu_data_get_interface_on_node(t->handle, STARPU_MAIN_RAM))->ptr;
	pthread_mutex_lock(&comm.lock);
	*comm.last = t;
	comm.last = &t->next;
	pthread_cond_signal(&comm.wake);
	pthread_mutex_unlock(&comm.lock);
}

enum bpg_status bpg_rt_transfer(struct bpg_rt *rt, struct bpg_tensor *tensor, size_t bytes, int from, int to, int node)
{
	int tag = (int)(rt->transfers++ & TAG_MASK);

	if (from == to || (from != comm.rank && to != comm.rank))
		return BPG_OK;
	struct transfer *t = bpg_calloc(1, sizeof *t);
	if (!t) {
		bpg_rt_fault(rt, BPG_ENOMEM, "memory is short for a transfer");
		return BPG_ENOMEM;
	}
	*t = (struct transfer){ .rt = rt, .handle = tensor->handle, .bytes = bytes, .peer = from == comm.rank ? to : from, .tag = tag, .node = node, .send = from == comm.rank };
	pthread_mutex_lock(&rt->lock);
	rt->moving++;
	pthread_mutex_unlock(&rt->lock);
	if (!starpu_data_acquire_on_node_cb(tensor->handle, STARPU_MAIN_RAM, t->send ? STARPU_R : STARPU_W, ready, t))
		return BPG_OK;
	pthread_mutex_lock(&rt->lock);
	rt->moving--;
	pthread_mutex_unlock(&rt->lock);
	free(t);
	bpg_rt_fault(rt, BPG_EFAULT, "StarPU does not give data to a transfer");
	return BPG_EFAULT;
}

#endif
