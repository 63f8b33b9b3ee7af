/* files.h - the networks of a query: which file belongs to which declaration, and do they fit? */
#ifndef BPG_CLI_FILES_H
#define BPG_CLI_FILES_H

#include "net/net.h"
#include "spec/query.h"

struct files {
	struct bpg_ctx *ctx;
	const struct bpg_query *query;
	int given;                /* options --network */
	char *text;               /* they, with zeros for their ends */
	const char **path;        /* [given] */
	const char **of;          /* [networks] the file of a network, also of one that is equal to another */
	struct bpg_net **net;     /* [networks]; one file is opened once, unless other tensors are hidden or other sizes chosen */
};

/* `list`: lines NAME=FILE. Every network that is not equal to another needs a file, and no other has one. */
enum bpg_status files_match(struct files *f, struct bpg_ctx *ctx, const struct bpg_query *query, const char *list);
/* Opens them and compares inputs and outputs with the declarations. */
enum bpg_status files_open(struct files *f);
void files_close(struct files *f);

/* "--network f=NET.onnx --network g=NET.onnx": what a query needs. Malloced, null when memory is short. */
char *files_wanted(const struct bpg_query *query);

#endif
