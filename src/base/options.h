/* options.h - the options of a run, one field for each line of options.def. */
#ifndef BPG_OPTIONS_H
#define BPG_OPTIONS_H

#include "base/base.h"

/* Choices, in the order of options.def. BPG_SLOPE_* are in layer.h. */
enum bpg_method { BPG_METHOD_AUTO, BPG_METHOD_IBP, BPG_METHOD_CROWN_IBP, BPG_METHOD_CROWN, BPG_METHOD_ALPHA, BPG_METHOD_BETA };
enum bpg_objective { BPG_OBJECTIVE_LOCAL, BPG_OBJECTIVE_FIXED, BPG_OBJECTIVE_JOINT };
enum bpg_norm { BPG_NORM_INF, BPG_NORM_2, BPG_NORM_1 };
enum bpg_sides { BPG_SIDES_BOTH, BPG_SIDES_LOWER, BPG_SIDES_UPPER };
enum bpg_precision { BPG_PRECISION_F32, BPG_PRECISION_F64 };
enum bpg_sound { BPG_SOUND_REAL, BPG_SOUND_DEPLOYED, BPG_SOUND_OFF };
enum bpg_attack { BPG_ATTACK_ON, BPG_ATTACK_OFF };
enum bpg_branching { BPG_BRANCHING_AUTO, BPG_BRANCHING_INPUT, BPG_BRANCHING_NEURON, BPG_BRANCHING_FSB };
enum bpg_placement {
	BPG_PLACEMENT_AUTO, BPG_PLACEMENT_SINGLE, BPG_PLACEMENT_ROWS, BPG_PLACEMENT_FSDP, BPG_PLACEMENT_TP, BPG_PLACEMENT_OFFLOAD
};
enum bpg_tp_bounds { BPG_TP_EXACT, BPG_TP_IBP };
enum bpg_collective { BPG_COLLECTIVE_STARPU, BPG_COLLECTIVE_NCCL };

enum bpg_command { BPG_COMMAND_RUN = 1, BPG_COMMAND_PLAN = 2, BPG_COMMAND_EVAL = 4, BPG_COMMAND_INFO = 8, BPG_COMMAND_LAYERS = 16, BPG_COMMAND_VERIFY = 32 };

/* A list keeps what several options, or one variable with colons, have given: lines of a text, some perhaps empty. */
enum bpg_option_kind {
	BPG_OPTION_CHOICE, BPG_OPTION_WHOLE, BPG_OPTION_REAL, BPG_OPTION_SIZE, BPG_OPTION_FLAG, BPG_OPTION_TEXT, BPG_OPTION_LIST, BPG_OPTION_LATER
};

/* Where a value came from; the later one wins. */
enum bpg_option_source { BPG_FROM_DEFAULT, BPG_FROM_ENVIRONMENT, BPG_FROM_LINE, BPG_FROM_CALL };

#define BPG_GROUP(title)
#define BPG_CHOICE(field, where, choices, help) BPG_OPT_##field,
#define BPG_WHOLE(field, where, start, least, most, arg, help) BPG_OPT_##field,
#define BPG_REAL(field, where, start, least, most, arg, help) BPG_OPT_##field,
#define BPG_SIZE(field, where, arg, help) BPG_OPT_##field,
#define BPG_FLAG(field, where, help) BPG_OPT_##field,
#define BPG_TEXT(field, where, arg, help) BPG_OPT_##field,
#define BPG_LIST(field, where, arg, help) BPG_OPT_##field,
#define BPG_LATER(field, where) BPG_OPT_##field,
enum bpg_option_id {
#include "base/options.def"
	BPG_OPTIONS
};

#define BPG_GROUP(title)
#define BPG_CHOICE(field, where, choices, help) int field;
#define BPG_WHOLE(field, where, start, least, most, arg, help) int64_t field;
#define BPG_REAL(field, where, start, least, most, arg, help) double field;
#define BPG_SIZE(field, where, arg, help) int64_t field;
#define BPG_FLAG(field, where, help) bool field;
#define BPG_TEXT(field, where, arg, help) const char *field;
#define BPG_LIST(field, where, arg, help) const char *field;
#define BPG_LATER(field, where)
struct bpg_options {
#include "base/options.def"
	/* What was given, null for a default: decimals are read from it with their rounding. */
	char *text[BPG_OPTIONS];
	enum bpg_option_source source[BPG_OPTIONS];
	/* Not zero: stop as soon as possible. Set by a signal handler or another thread; null: never. */
	const volatile int *cancel;
	bool live;                /* a program for people: a live line on a terminal while it runs */
};

/* A line of the table. */
struct bpg_option {
	const char *field;        /* "layer_bounds" */
	size_t at;                /* of the field in struct bpg_options */
	enum bpg_option_kind kind;
	int where;                /* commands that take it, bits of enum bpg_command */
	const char *choices;      /* blank separated, a star behind what is not built yet */
	double start, least, most; /* of numbers */
	const char *arg;          /* name of the value in --help; null: takes none */
	const char *help;
};

const struct bpg_option *bpg_option_get(int id);
/* Number of an option by its name without leading dashes; -1: there is none. */
int bpg_option_find(const char *name, size_t length);
/* "layer-bounds" and "BPGRAPH_LAYER_BOUNDS". */
const char *bpg_option_name(int id, char buf[32]);
const char *bpg_option_variable(int id, char buf[48]);
/* The word of value `value` of a choice, and whether it is built; null: no such value. */
const char *bpg_option_word(int id, int value, char buf[32], bool *built);

/* Options in place: defaults, and release of what was set. */
void bpg_options_init(struct bpg_options *o);
void bpg_options_fini(struct bpg_options *o);

/* Sets an option from text. The message of a failure names the value and where it came from. */
enum bpg_status bpg_option_set(struct bpg_ctx *ctx, struct bpg_options *o, int id, const char *value, enum bpg_option_source source);

/* Sets what `command` takes and the environment has, where nothing stronger was set. An empty variable counts as unset. */
enum bpg_status bpg_options_environment(struct bpg_ctx *ctx, struct bpg_options *o, int command);

#endif
