/* plugin.h - layers from outside the tree (bpg_plugin_load is in bpgraph.h). */
#ifndef BPG_PLUGIN_H
#define BPG_PLUGIN_H

#include <bpgraph/layer.h>

/* Loads every file of a list option (lines, some perhaps empty; null: none). */
enum bpg_status bpg_plugins_load(struct bpg_ctx *ctx, const char *list);

/* Fails when the thread's rounding is not what bounds rely on, and puts it right: called after code from outside may have
 * run. `where` begins the message. */
enum bpg_status bpg_plugin_float_mode(struct bpg_ctx *ctx, const char *where);

#endif
