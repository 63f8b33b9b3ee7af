/* output.h - files that are written; "-" is standard output. */
#ifndef BPG_OUTPUT_H
#define BPG_OUTPUT_H

#include <stdio.h>

#include "base/base.h"

enum bpg_status bpg_output_open(struct bpg_ctx *ctx, const char *path, FILE **to);
/* Closes (standard output is flushed). keep false, or a failed write: a regular file is removed, so that no half of a
 * document is ever left. Returns the failed write. */
enum bpg_status bpg_output_close(struct bpg_ctx *ctx, const char *path, FILE *to, bool keep);

#endif
