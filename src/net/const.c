/* const.c - constant tensors: in memory, or still in their file.
 *
 * A large float32 tensor is read from its file when it is used and nothing of it stays: a network whose weights exceed
 * memory can be worked on by panels. A read that fails (the file was cut meanwhile) gives NaN, which every later step
 * treats as a fault. */
#include "net/const.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "weights are little endian and are used as they lie in the file");

#define BLOCK 4096                /* elements converted at a time */
#define LARGE ((int64_t)1 << 18)  /* elements: such a constant stays in its file */

static size_t size_of(enum bpg_dtype type)
{
	return type == BPG_F32 ? sizeof(float) : 8;
}

/* ---- making ---- */

static struct bpg_const *make(struct bpg_arena *arena, enum bpg_dtype type, int64_t n)
{
	struct bpg_const *c = n < 0 || n > BPG_MAX_ELEMENTS ? NULL : bpg_arena_alloc(arena, 1, sizeof *c);
	if (!c)
		return NULL;
	*c = (struct bpg_const){ .type = type, .n = n, .fd = -1, .arena = arena };
	return c;
}

struct bpg_const *bpg_const_new(struct bpg_arena *arena, enum bpg_dtype type, int64_t n, const void *values)
{
	struct bpg_const *c = make(arena, type, n);
	void *mem = c ? bpg_arena_alloc(arena, (size_t)n, size_of(type)) : NULL;
	if (!mem)
		return NULL;
	if (n)
		memcpy(mem, values, (size_t)n * size_of(type));
	c->mem = mem;
	return c;
}

struct bpg_const *bpg_const_in_file(struct bpg_arena *arena, int64_t n, int fd, int64_t offset)
{
	struct bpg_const *c = make(arena, BPG_F32, n);
	if (c) {
		c->fd = fd;
		c->offset = offset;
	}
	return c;
}

/* Is x kept by the type? 2^63 stands for INT64_MAX, which a double cannot hold. */
static bool fits(enum bpg_dtype type, double x)
{
	if (type == BPG_F32)
		return (double)(float)x == x;
	if (type == BPG_I64)
		return x >= -0x1p63 && x <= 0x1p63 && x == trunc(x);
	return true;
}

static bool all_fit(enum bpg_dtype type, int64_t n, const double *values)
{
	for (int64_t i = 0; i < n; i++)
		if (!fits(type, values[i]))
			return false;
	return true;
}

struct bpg_const *bpg_const_from_double(struct bpg_arena *arena, enum bpg_dtype wish, int64_t n, const double *values)
{
	enum bpg_dtype type = n > 0 && all_fit(wish, n, values) ? wish : n ? BPG_F64 : wish;
	if (type == BPG_F64 || n <= 0)
		return bpg_const_new(arena, type, n, values);
	struct bpg_const *c = make(arena, type, n);
	void *mem = c ? bpg_arena_alloc(arena, (size_t)n, size_of(type)) : NULL;
	if (!mem)
		return NULL;
	for (int64_t i = 0; i < n; i++)
		if (type == BPG_F32)
			((float *)mem)[i] = (float)values[i];
		else
			((int64_t *)mem)[i] = values[i] >= 0x1p63 ? INT64_MAX : (int64_t)values[i];
	c->mem = mem;
	return c;
}

bool bpg_const_set_error(struct bpg_const *c, const double *err)
{
	double most = 0;
	for (int64_t i = 0; i < c->n; i++)
		most = err[i] > most || isnan(err[i]) ? (isnan(err[i]) ? INFINITY : err[i]) : most;
	if (most == 0)
		return true;
	c->err = bpg_arena_alloc(c->arena, (size_t)c->n, sizeof *c->err);
	if (!c->err)
		return false;
	c->most_err = most;
	memcpy(c->err, err, (size_t)c->n * sizeof *err);
	return true;
}

double bpg_const_error(const struct bpg_const *c, int64_t i)
{
	return c->err ? c->err[i] : 0;
}

double bpg_const_most_error(const struct bpg_const *c)
{
	return c->most_err;
}

/* ---- reading ---- */

/* Elements of a constant that lies in a file; what cannot be read becomes NaN. */
static void read_file(const struct bpg_const *c, int64_t first, int64_t n, float *to)
{
	char *at = (char *)to;
	size_t left = (size_t)n * sizeof *to;
	off_t offset = (off_t)(c->offset + first * (int64_t)sizeof *to);
	while (left) {
		ssize_t got = pread(c->fd, at, left, offset);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			break;
		at += got;
		offset += got;
		left -= (size_t)got;
	}
	if (left)
		for (int64_t i = (int64_t)((at - (char *)to) / (ptrdiff_t)sizeof *to); i < n; i++)
			to[i] = NAN;
}

static const char *element(const struct bpg_const *c, int64_t i)
{
	return (const char *)c->mem + i * (int64_t)size_of(c->type);
}

/* For a constant in memory. */
static double value_at(const struct bpg_const *c, int64_t i)
{
	const char *p = element(c, i);
	if (c->type == BPG_F32) {
		float f;
		memcpy(&f, p, sizeof f);
		return f;
	}
	if (c->type == BPG_F64) {
		double d;
		memcpy(&d, p, sizeof d);
		return d;
	}
	int64_t k;
	memcpy(&k, p, sizeof k);
	return (double)k;
}

int64_t bpg_const_count(const struct bpg_const *c)
{
	return c->n;
}

enum bpg_dtype bpg_const_type(const struct bpg_const *c)
{
	return c->type;
}

double bpg_const_at(const struct bpg_const *c, int64_t i)
{
	if (c->mem)
		return value_at(c, i);
	const float *pin = __atomic_load_n(&c->pin_f32, __ATOMIC_ACQUIRE);
	if (pin)
		return pin[i];
	float f;
	read_file(c, i, 1, &f);
	return f;
}

void bpg_const_read(const struct bpg_const *c, int64_t first, int64_t n, double *to)
{
	if (c->mem && c->type == BPG_F64) {
		if (n > 0)
			memcpy(to, element(c, first), (size_t)n * sizeof *to);
	} else if (c->mem) {
		for (int64_t i = 0; i < n; i++)
			to[i] = value_at(c, first + i);
	} else {
		float block[BLOCK];
		for (int64_t i = 0; i < n; i += BLOCK) {
			int64_t some = BPG_MIN(BLOCK, n - i);
			read_file(c, first + i, some, block);
			for (int64_t k = 0; k < some; k++)
				to[i + k] = block[k];
		}
	}
}

static bool aligned(const void *p, size_t size)
{
	return (uintptr_t)p % size == 0;
}

/* All elements as floats, if they are in memory as such; another thread may be pinning them. */
static const float *floats(const struct bpg_const *c)
{
	return c->mem && c->type == BPG_F32 && aligned(c->mem, sizeof(float)) ? c->mem : __atomic_load_n(&c->pin_f32, __ATOMIC_ACQUIRE);
}

void bpg_const_read_f32(const struct bpg_const *c, int64_t first, int64_t n, float *to)
{
	const float *here = floats(c);

	if (n <= 0)
		return;
	if (here)
		memcpy(to, here + first, (size_t)n * sizeof *to);
	else if (!c->mem)
		read_file(c, first, n, to);
	else if (c->type == BPG_F32)
		memcpy(to, element(c, first), (size_t)n * sizeof *to);
	else
		for (int64_t i = 0; i < n; i++)
			to[i] = (float)value_at(c, first + i);
}

void bpg_const_block_f32(const struct bpg_const *c, int64_t row0, int64_t rows, int64_t stride, int64_t col0, int64_t cols,
                         float *to)
{
	if (cols == stride) {
		bpg_const_read_f32(c, row0 * stride + col0, rows * cols, to);
		return;
	}
	for (int64_t r = 0; r < rows; r++)
		bpg_const_read_f32(c, (row0 + r) * stride + col0, cols, to + r * cols);
}

const float *bpg_const_rows_f32(const struct bpg_const *c, int64_t row0, int64_t rows, int64_t stride, int64_t col0, int64_t cols,
                                float *room)
{
	const float *here = cols == stride || rows == 1 ? floats(c) : NULL;

	if (here)
		return here + row0 * stride + col0;
	bpg_const_block_f32(c, row0, rows, stride, col0, cols, room);
	return room;
}

/* ---- pinning ---- */

/* Tasks of several threads may pin the same constant. */
static pthread_mutex_t pin_lock = PTHREAD_MUTEX_INITIALIZER;

const float *bpg_const_pin_f32(struct bpg_const *c)
{
	if (c->mem && c->type == BPG_F32 && aligned(c->mem, sizeof(float)))
		return c->mem;
	pthread_mutex_lock(&pin_lock);
	float *p = c->pin_f32;
	if (!p && (p = bpg_arena_alloc(c->arena, (size_t)c->n, sizeof *p))) {
		bpg_const_read_f32(c, 0, c->n, p);
		__atomic_store_n(&c->pin_f32, p, __ATOMIC_RELEASE);
	}
	pthread_mutex_unlock(&pin_lock);
	return p;
}

const float *bpg_const_lend_f32(struct bpg_const *c, float **copy)
{
	*copy = NULL;
	if (c->mem || c->n < LARGE || __atomic_load_n(&c->pin_f32, __ATOMIC_ACQUIRE))
		return bpg_const_pin_f32(c);
	*copy = malloc((size_t)c->n * sizeof **copy);
	if (*copy)
		bpg_const_read_f32(c, 0, c->n, *copy);
	return *copy;
}

const double *bpg_const_pin(struct bpg_const *c)
{
	if (c->mem && c->type == BPG_F64 && aligned(c->mem, sizeof(double)))
		return c->mem;
	pthread_mutex_lock(&pin_lock);
	double *p = c->pin;
	if (!p && (p = bpg_arena_alloc(c->arena, (size_t)c->n, sizeof *p))) {
		bpg_const_read(c, 0, c->n, p);
		c->pin = p;
	}
	pthread_mutex_unlock(&pin_lock);
	return p;
}

bool bpg_const_is_f32(const struct bpg_const *c)
{
	if (c->type == BPG_F32)
		return true;
	for (int64_t i = 0; i < c->n; i++)
		if (!fits(BPG_F32, value_at(c, i)))
			return false;
	return true;
}
