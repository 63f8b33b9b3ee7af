/* base.h - what every part may use: memory, arenas, strings, hashes, random numbers, clocks. Knows no layer, no StarPU. */
#ifndef BPG_BASE_H
#define BPG_BASE_H

#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <bpgraph/error.h>

#define BPG_LEN(array) (sizeof(array) / sizeof *(array))
#define BPG_MIN(a, b) ((a) < (b) ? (a) : (b))
#define BPG_MAX(a, b) ((a) > (b) ? (a) : (b))

/* Largest tensor that is believed: elements. What is larger is a damaged file. */
#define BPG_MAX_ELEMENTS ((int64_t)1 << 33)

/* ---- memory ---- */

/* Zeroed array, null when memory is short or count*size overflows. Free with free(). */
void *bpg_calloc(size_t count, size_t size);
/* Grows an array to hold at least `need` elements, doubling; false when memory is short (the array is unchanged). */
bool bpg_grow(void *array, int64_t *room, int64_t need, size_t size);

/* Things that live and die together: one free for all. Memory is zeroed and 64-byte aligned. */
struct bpg_arena;
struct bpg_arena *bpg_arena_new(void);
void bpg_arena_free(struct bpg_arena *arena);
void *bpg_arena_alloc(struct bpg_arena *arena, size_t count, size_t size);
char *bpg_arena_str(struct bpg_arena *arena, const char *s);
char *bpg_arena_strn(struct bpg_arena *arena, const char *s, size_t n);

/* ---- text ---- */

/* A copy with control characters made harmless, for messages; at most 120 characters. buf holds 128. */
const char *bpg_printable(const char *s, char buf[128]);

/* ---- hashing (FNV-1a, 64 bits) ---- */

#define BPG_HASH_START 14695981039346656037ull
uint64_t bpg_hash(uint64_t h, const void *data, size_t n);
uint64_t bpg_hash_str(uint64_t h, const char *s);
/* A number that no other call in this process returns; not 0. */
uint64_t bpg_unique(void);

/* ---- random numbers (splitmix64; the public functions are in layer.h) ---- */

struct bpg_rng {
	uint64_t state;
};
void bpg_rng_seed(struct bpg_rng *rng, uint64_t seed);
uint64_t bpg_rng_next(struct bpg_rng *rng);

/* ---- clocks, in seconds ---- */

double bpg_now(void);           /* monotonic */
double bpg_thread_cpu(void);    /* of the calling thread */
double bpg_process_start(void); /* monotonic time when the process began */
/* With the lock held: until the condition is signalled, or so long. */
void bpg_cond_wait_for(pthread_cond_t *condition, pthread_mutex_t *lock, double seconds);

/* ---- failures ---- */

enum bpg_status bpg_vfail(struct bpg_ctx *ctx, enum bpg_status code, const char *format, va_list ap);
enum bpg_status bpg_nomem(struct bpg_ctx *ctx, const char *what);

/* ---- reading long files ends early ---- */

/* From now on bpg_ctx_stopped is true once bpg_now() has passed `deadline` (0: never) or *cancel is not zero (null: never). */
void bpg_ctx_limit(struct bpg_ctx *ctx, double deadline, const volatile int *cancel);
bool bpg_ctx_stopped(const struct bpg_ctx *ctx);

/* ---- outward arithmetic: round to nearest is in force, results are moved outward by steps of the last place ---- */

double bpg_next_down(double x);
double bpg_next_up(double x);
/* Nearest float not below / not above x. */
float bpg_float_up(double x);
float bpg_float_down(double x);

#define BPG_U32 0x1p-24         /* unit roundoff of float32 */
#define BPG_U64 0x1p-53

/* Round to nearest, small numbers kept, for this thread: some library may have set it otherwise. True when one had. */
bool bpg_float_mode(void);

/* gamma_n = n u / (1 - n u), rounded up. */
double bpg_gamma(double n, double u);

#endif
