/* error.c - the message of the last failure. Always one line, whatever names a file brings along. */
#include "base/base.h"

#include <stdio.h>
#include <stdlib.h>

struct bpg_ctx {
	char *message;            /* null: none */
	double deadline;          /* of reading; 0: none */
	const volatile int *cancel; /* null: none */
};

static const char no_room[] = "memory ran out while a message was written";

struct bpg_ctx *bpg_ctx_new(void)
{
	return bpg_calloc(1, sizeof(struct bpg_ctx));
}

static void forget(struct bpg_ctx *ctx)
{
	if (ctx->message != no_room)
		free(ctx->message);
	ctx->message = NULL;
}

void bpg_ctx_free(struct bpg_ctx *ctx)
{
	if (ctx)
		forget(ctx);
	free(ctx);
}

const char *bpg_ctx_message(const struct bpg_ctx *ctx)
{
	return ctx && ctx->message ? ctx->message : "";
}

/* The text, control characters replaced; malloced, or no_room. */
static char *write_line(const char *format, va_list ap)
{
	va_list again;
	va_copy(again, ap);
	int n = vsnprintf(NULL, 0, format, ap);
	char *text = n < 0 ? NULL : malloc((size_t)n + 1);
	if (text)
		vsnprintf(text, (size_t)n + 1, format, again);
	va_end(again);
	if (!text)
		return (char *)no_room;
	for (unsigned char *s = (unsigned char *)text; *s; s++)
		if (*s < 0x20 || *s == 0x7f)
			*s = '?';
	return text;
}

void bpg_ctx_limit(struct bpg_ctx *ctx, double deadline, const volatile int *cancel)
{
	ctx->deadline = deadline;
	ctx->cancel = cancel;
}

bool bpg_ctx_stopped(const struct bpg_ctx *ctx)
{
	return ctx && ((ctx->cancel && *ctx->cancel) || (ctx->deadline > 0 && bpg_now() >= ctx->deadline));
}

enum bpg_status bpg_vfail(struct bpg_ctx *ctx, enum bpg_status code, const char *format, va_list ap)
{
	if (!ctx)
		return code;
	/* Written before the old message goes: it may be one of the arguments. */
	char *message = write_line(format, ap);
	forget(ctx);
	ctx->message = message;
	return code;
}

enum bpg_status bpg_fail(struct bpg_ctx *ctx, enum bpg_status code, const char *format, ...)
{
	va_list ap;
	va_start(ap, format);
	bpg_vfail(ctx, code, format, ap);
	va_end(ap);
	return code;
}

enum bpg_status bpg_nomem(struct bpg_ctx *ctx, const char *what)
{
	return bpg_fail(ctx, BPG_ENOMEM, "%s: not enough memory; free some, or use a machine with more", what);
}
