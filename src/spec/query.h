/* query.h - VNN-LIB 2: networks that a query declares, and assertions about their inputs and outputs.
 *
 * Inputs of all networks are numbered through, network by network in order of declaration, each tensor row-major; so are the
 * outputs, where the hidden tensors of a network stand behind its outputs. Networks are no part of the text: who opens a query
 * compares them with its declarations before the assertions are read, so nothing large is allocated by a size a text states. */
#ifndef BPG_QUERY_H
#define BPG_QUERY_H

#include <bpgraph/layer.h>

#include "spec/spec.h"

enum bpg_query_side { BPG_QUERY_INPUT, BPG_QUERY_HIDDEN, BPG_QUERY_OUTPUT };

struct bpg_query_variable {
	const char *name, *type;
	enum bpg_query_side side;
	const char *tensor;       /* of a hidden one: its name in the network */
	struct bpg_shape shape;
	int64_t n, first;         /* elements; number of the first one among the inputs or the outputs of the query */
	int64_t line;
};

struct bpg_query_network {
	const char *name;
	int base;                 /* the network this one is declared equal or isomorphic to; -1: none */
	bool equal;               /* equal: it has no file of its own */
	int first, variables;     /* its variables: inputs, hidden ones, outputs */
	int inputs, hidden, outputs; /* how many of each */
	int64_t line;
};

struct bpg_query {
	struct bpg_arena *arena;
	const char *path;
	int networks, variables;
	struct bpg_query_network *network;
	struct bpg_query_variable *variable;
	int64_t inputs, outputs;  /* elements */
	int64_t note_line;        /* where the text goes beyond what is supported; 0: nowhere so far */
	const char *note;
	struct bpg_query_reader *reader;
};

/* Reads version and declarations (also .gz). Errors name file and line. What is well-formed and not supported becomes the note.
 */
enum bpg_status bpg_query_open(struct bpg_ctx *ctx, const char *path, struct bpg_query **query);
void bpg_query_close(struct bpg_query *query);

/* Fails on the note. */
enum bpg_status bpg_query_supported(struct bpg_ctx *ctx, const struct bpg_query *query);

/* Reads the assertions for their syntax, names and types alone. */
enum bpg_status bpg_query_check(struct bpg_ctx *ctx, struct bpg_query *query);

/* What the assertions say, in normal form. Inputs that an assertion makes one are one input of the question. */
struct bpg_query_spec {
	struct bpg_spec *spec;    /* owned by the caller */
	bool related;             /* rows speak of inputs, too: input i is output `outputs + i` of the question */
	int64_t *same;            /* [inputs] of the query: the least one it is equal to; null: nowhere; owned by the query */
	int64_t *to; /* [inputs] its number among the inputs of the question, in order of those; owned by the query */
};

/* Reads the assertions of a query without a note. Fails on whatever is not supported. */
enum bpg_status bpg_query_read(struct bpg_ctx *ctx, struct bpg_query *query, struct bpg_query_spec *to);

#endif
