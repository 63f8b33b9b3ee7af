/* plugin.c - loads shared objects with layers.
 *
 * A plugin resolves bpg_* from the program that loads it: the program exports them, or is itself linked with
 * libbpgraph.so. What is accepted stays loaded until the process ends. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE               /* dladdr */
#endif
#include "net/plugin.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bpgraph/bpgraph.h>

#include "net/net.h"

static void **loaded;
static int64_t room;
static int count;

enum bpg_status bpg_plugin_float_mode(struct bpg_ctx *ctx, const char *where)
{
	if (!bpg_float_mode())
		return BPG_OK;
	return bpg_fail(ctx, BPG_EFAULT, "%s: the rounding of this thread was changed, or small numbers are flushed to zero, so "
	                "bounds would not hold; a layer loaded by --layer does that (compiled with -ffast-math or -Ofast?)", where);
}

/* The file that holds an address; null: none. */
static const void *base_of(const void *address)
{
	Dl_info info;
	return address && dladdr(address, &info) ? info.dli_fbase : NULL;
}

static const void *own_base(void)
{
	static const char here;
	return base_of(&here);
}

/* Hosts that load libbpgraph.so for themselves alone (an interpreter) hide its symbols from plugins; this shows them. */
static void show_symbols(void)
{
	static const char here;
	Dl_info info;
	if (dladdr(&here, &info) && info.dli_fname && *info.dli_fname)
		dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_GLOBAL);
}

static enum bpg_status check_sizes(struct bpg_ctx *ctx, const char *path, const struct bpg_layer_plugin *p)
{
	if (p->abi != BPG_LAYER_ABI)
		return bpg_fail(ctx, BPG_EUSAGE, "%s: made for layer ABI %d, this bpgraph has %d; compile it again with the "
		                "installed headers", path, p->abi, BPG_LAYER_ABI);
	const struct {
		const char *what;
		int theirs;
		size_t ours;
	} t[] = {
		{ "bpg_layer", p->layer_size, sizeof(struct bpg_layer) },
		{ "bpg_unary", p->unary_size, sizeof(struct bpg_unary) },
		{ "bpg_node", p->node_size, sizeof(struct bpg_node) },
	};
	for (size_t i = 0; i < BPG_LEN(t); i++)
		if (t[i].theirs != (int)t[i].ours)
			return bpg_fail(ctx, BPG_EUSAGE, "%s: struct %s has %d bytes there and %zu here, with the same ABI %d; "
			                "compile it again with the installed headers", path, t[i].what, t[i].theirs, t[i].ours,
			                BPG_LAYER_ABI);
	if (p->layers < 1 || !p->layer)
		return bpg_fail(ctx, BPG_EFILE, "%s: holds no layers; list them in BPG_LAYER_PLUGIN", path);
	return BPG_OK;
}

static enum bpg_status take(struct bpg_ctx *ctx, const char *path, void *file)
{
	/* dlsym looks into the file and what it was linked with, not into the program. */
	const void *second = dlsym(file, "bpg_plugin_load");
	if (second && base_of(second) != own_base())
		return bpg_fail(ctx, BPG_EUSAGE, "%s: brings another copy of bpgraph; link it without -lbpgraph", path);
	const struct bpg_layer_plugin *p = dlsym(file, "bpg_layer_plugin");
	if (!p)
		return bpg_fail(ctx, BPG_EFILE, "%s: has no symbol bpg_layer_plugin, so it is no plugin of bpgraph; end its source "
		                "with BPG_LAYER_PLUGIN", path);
	BPG_TRY(check_sizes(ctx, path, p));
	if (!bpg_grow(&loaded, &room, (int64_t)count + 1, sizeof *loaded))
		return bpg_nomem(ctx, path);
	BPG_TRY(bpg_layers_add(ctx, path, p->layers, p->layer));
	loaded[count++] = file;
	return BPG_OK;
}

/* The loader's own words, without the path that they begin with mostly. */
static const char *reason(const char *path)
{
	const char *text = dlerror();
	size_t n = strlen(path);
	if (!text)
		return "unknown reason";
	return !strncmp(text, path, n) && !strncmp(text + n, ": ", 2) ? text + n + 2 : text;
}

static bool is_loaded(const void *file)
{
	for (int i = 0; i < count; i++)
		if (loaded[i] == file)
			return true;
	return false;
}

/* The thread's rounding is right before, and after; a file that changes it when loaded is not kept. */
static enum bpg_status load(struct bpg_ctx *ctx, const char *path)
{
	char name[128];
	show_symbols();
	bpg_float_mode();
	void *file = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	bool changed = bpg_float_mode();
	if (!file)
		return bpg_fail(ctx, BPG_EFILE, "%s: cannot be loaded: %s", bpg_printable(path, name), reason(path));
	if (is_loaded(file)) {
		dlclose(file);
		return BPG_OK;
	}
	enum bpg_status st;
	if (changed)
		st = bpg_fail(ctx, BPG_EUSAGE, "%s: changes how this process rounds when it is loaded (flush-to-zero?), so no "
		              "bound would hold; compile and link it without -ffast-math and -Ofast", path);
	else
		st = take(ctx, path, file);
	if (st)
		dlclose(file);
	bpg_float_mode();
	return st;
}

/* A name without a slash is a file of this folder, not of the system's libraries. */
enum bpg_status bpg_plugin_load(struct bpg_ctx *ctx, const char *path)
{
	size_t room_for = strlen(path) + 3;
	char *here = malloc(room_for);
	if (!here)
		return bpg_nomem(ctx, path);
	snprintf(here, room_for, "%s%s", strchr(path, '/') ? "" : "./", path);
	enum bpg_status st = load(ctx, here);
	free(here);
	return st;
}

enum bpg_status bpg_plugins_load(struct bpg_ctx *ctx, const char *list)
{
	while (list && *list) {
		size_t n = strcspn(list, "\n");
		char *path = malloc(n + 1);
		if (!path)
			return bpg_nomem(ctx, "the list of layers");
		memcpy(path, list, n);
		path[n] = 0;
		enum bpg_status st = n ? bpg_plugin_load(ctx, path) : BPG_OK;
		free(path);
		BPG_TRY(st);
		list += n + (list[n] != 0);
	}
	return BPG_OK;
}
