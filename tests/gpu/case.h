/* case.h - what a case is made of: memory of both sides that dies with it, random tiles, comparison bit by bit. */
#ifndef GPU_CASE_H
#define GPU_CASE_H

#include "cases.h"
#include "codelets/tasks.h"

enum { MOST_BLOCKS = 96 };

struct run {
	const struct bpg_kernels *b;
	struct bpg_rng *rng;
	uint64_t *hash;
	char *why;
	bool ok;
	int hosts, devices;
	void *host[MOST_BLOCKS], *device[MOST_BLOCKS];
};

/* What a case begins and ends with; the parameters have these names in all of them. */
#define CASE(name) bool name(const struct bpg_kernels *b, struct bpg_rng *rng, uint64_t *hash, char why[256])
#define RUN() struct run run = { b, rng, hash, why, true, 0, 0, { NULL }, { NULL } }, *r = &run
bool case_end(struct run *r);

/* n zeros on the host; a copy on the device. */
void *host(struct run *r, int64_t n, size_t size);
void *put(struct run *r, const void *from, int64_t n, size_t size);
/* Equal bits; NaN is NaN. `wide`: doubles, else floats. */
void compare(struct run *r, const char *what, bool wide, const void *must, const void *device, int64_t n);
/* A kernel was started, or its error is noted. */
void started(struct run *r, const char *what, int status);

int below(struct run *r, int n);
double uniform(struct run *r, double lo, double up);
/* Values of many sizes, some tiny, some zero. */
float value(struct run *r);
void fill(struct run *r, bool wide, void *to, int64_t n);

static inline size_t size_of(bool wide) { return wide ? sizeof(double) : sizeof(float); }

/* Columns of a list: all n elements, the first `mixed` may have two planes. Of a grid, channels first or last. */
struct bpg_columns list(struct run *r, int64_t n, int64_t mixed);
struct bpg_columns grid(struct run *r, int64_t channels, int64_t height, int64_t width);
struct bpg_window window(struct run *r, const struct bpg_columns *k);

/* A tile over a window of a node, in segments. */
struct tile {
	struct bpg_columns k;
	struct bpg_view_tile view;
	int64_t columns, rows, places;
	int segments;
	int32_t *segment;
	void *data;
	double *state, *bounds, *planes; /* of all segments */
	int32_t *element;                /* of each column */
	struct bpg_cuda_spans at;
};
void draw_tile(struct run *r, struct tile *t, int64_t most);

#define PUT_SEGMENTS(t) put(r, (t).segment, (t).view.strips, sizeof *(t).segment)
#define PUT_BOUNDS(t) put(r, (t).bounds, (t).segments *BPG_FIELDS *(t).k.n, sizeof *(t).bounds)
#define PUT_PLANES(t) put(r, (t).planes, (t).segments *BPG_PLANE_FIELDS *(t).places, sizeof *(t).planes)
#define PUT_TILE(t) put(r, (t).data, (t).rows *(t).columns, size_of((t).view.wide))
#define PUT_STATE(t) put(r, (t).state, BPG_STATES *(t).rows, sizeof *(t).state)
#define PUT_ELEMENTS(t) put(r, (t).element, (t).columns, sizeof *(t).element)

/* products.c, rows.c, maps.c, starts.c */
CASE(gpu_dense);
CASE(gpu_conv);
CASE(gpu_adjoint);
CASE(gpu_conv_forward);
CASE(gpu_relax);
CASE(gpu_opposite);
CASE(gpu_choice);
CASE(gpu_sums);
CASE(gpu_join);
CASE(gpu_map);
CASE(gpu_map_forward);
CASE(gpu_planes);
CASE(gpu_unit_rows);
CASE(gpu_matrix_rows);

#endif
