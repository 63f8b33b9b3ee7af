/* error.h - status codes and messages.
 *
 * Every function that can fail returns a status; the message is written once, where the cause is known, into the
 * context. Callers only pass the code on (BPG_TRY). A message is one line, names file, line or node, and says what
 * to do. */
#ifndef BPGRAPH_ERROR_H
#define BPGRAPH_ERROR_H

#if defined(__GNUC__)
#define BPG_API __attribute__((visibility("default")))
#define BPG_PRINTF(f, a) __attribute__((format(printf, f, a)))
#else
#define BPG_API
#define BPG_PRINTF(f, a)
#endif

#ifdef __cplusplus
extern "C" {
#endif

enum bpg_status {
	BPG_OK = 0,
	BPG_EUSAGE,       /* an option or an argument is wrong */
	BPG_EFILE,        /* a file cannot be read, or its content is not what it says it is */
	BPG_EUNSUPPORTED, /* well formed, but outside what bpgraph can do */
	BPG_ENOMEM,       /* memory, or the limit on it */
	BPG_ENUMERIC,     /* NaN, or bounds that cross at the root */
	BPG_EFAULT,       /* a task failed, or the run made no progress */
	BPG_ECANCELLED,   /* an interrupt, or a time limit */
};

/* Holds the first message of a failure; nothing global. Not shared between threads. */
struct bpg_ctx;

BPG_API struct bpg_ctx *bpg_ctx_new(void);
BPG_API void bpg_ctx_free(struct bpg_ctx *ctx);

/* The message of the last failure, "" when there is none; lives as long as the context. */
BPG_API const char *bpg_ctx_message(const struct bpg_ctx *ctx);

/* Writes the message and returns `code`, so that `return bpg_fail(...)` reads well. */
BPG_API enum bpg_status bpg_fail(struct bpg_ctx *ctx, enum bpg_status code, const char *format, ...) BPG_PRINTF(3, 4);

#define BPG_TRY(call)                                   \
	do {                                            \
		enum bpg_status bpg_status_ = (call);   \
		if (bpg_status_)                        \
			return bpg_status_;             \
	} while (0)

/* For functions with one exit: sets `st` and jumps. */
#define BPG_TRY_TO(call, label)                         \
	do {                                            \
		st = (call);                            \
		if (st)                                 \
			goto label;                     \
	} while (0)

#ifdef __cplusplus
}
#endif
#endif
