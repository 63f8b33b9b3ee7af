/* plan.h - the walks of one wave of tiles as pure data: steps over numbered buffers.
 *
 * A stage asks for rows over some node (or over the outputs). Its rows are cut into tiles, tiles advance in waves; a wave
 * is a list of steps in which every buffer is written, read and freed in order. The cut is a function of network,
 * question and options; who runs a step, and when, is not in it. */
#ifndef BPG_PLAN_H
#define BPG_PLAN_H

#include "codelets/task_alpha.h"
#include "graph/model.h"

enum bpg_step_kind {
	BPG_STEP_START,           /* unit rows of the start node -> to */
	BPG_STEP_QUESTION,        /* the rows asked, over one output node -> to */
	BPG_STEP_TOLL,            /* slack of passing `node` */
	BPG_STEP_RELAX,           /* in place on from, to which `to` (if any) is added first */
	BPG_STEP_GATHER,          /* panel -> slot k of the tile's owner, whose content goes */
	/* Products: extra[2] is 0, or 1 + the slot that holds the panel; extra[3]: 1: to what `to` holds. */
	BPG_STEP_GEMM,            /* from -> to, panel */
	BPG_STEP_CONV,            /* from -> to; k: with the toll; extra[0]: unary node whose relaxation comes first, -1: none, and
	                             extra[1]: the buffer that is added before */
	BPG_STEP_MAP,             /* from -> to, operand k */
	BPG_STEP_PLANES,          /* the same for planes; extra[0]: weights of the other planes, -1: none */
	BPG_STEP_ADD,             /* to += from */
	BPG_STEP_COPY,            /* from -> to */
	BPG_STEP_CONCRETIZE,
	BPG_STEP_FINISH,
	BPG_STEP_FREE,            /* from is not needed any more */
	/* alpha-CROWN: extra[] are the slopes (or weights of planes, -1: none), their moments, the coefficients kept */
	BPG_STEP_ALPHA_START,     /* slopes as the layer chooses them, weights 0 */
	BPG_STEP_ALPHA_RELAX,     /* in place on from, with the slopes */
	BPG_STEP_ALPHA_STEP,      /* the point in from meets the node: a step of Adam; k: which; the point goes on */
	BPG_STEP_CORNER,          /* from: coefficients over an input -> to: where the bound is attained */
	BPG_STEP_FORWARD,         /* the point over operand k of node: from -> to; panel (BPG_PANEL_FORWARD: a kernel). Planes: the points over all operands,
	                             with the coefficients in from; extra[2]: where they are listed; a step of Adam for the
	                             weights; k: which */
	BPG_STEP_ROW_WEIGHTS,     /* joint: of the tile's rows, from the derivatives by the bounds of their node */
	/* Domains; extra[] as above. */
	BPG_STEP_BETA_SAVE,       /* the best parameters */
	BPG_STEP_BETA_POINTS,     /* where the bounds are attained, from `from`, the points over an input */
	/* Zones (plan_zone.c). A tile's stay at an owner has berth k of those for guests; k -1: at home, none. */
	BPG_STEP_ENTER,           /* the stay begins: to: the rows that are summed there, -1: none; extra[0]: rows over the zone's output,
	                             -1: none; extra[1]: 1: these will be moved there, 0: they are there */
	BPG_STEP_LEAVE,           /* the stay ends: from: as to, extra[0] as above */
	BPG_STEP_MOVE,            /* from -> to, which belongs to another owner */
	BPG_STEP_MOVE_STATE,      /* from owner extra[0] to owner extra[1] */
	BPG_STEP_STATE,           /* of rows that start at the zone's output */
	BPG_STEP_ROWS,            /* these over the part's hidden columns -> to; relaxed there when k */
};

struct bpg_step {
	enum bpg_step_kind kind;
	int node, tile, panel, k;
	int from, to;             /* buffers, -1: none */
	int priority;
	int extra[4];
};

struct bpg_buffer {
	int node, tile, owner;
	struct bpg_window window;
	size_t bytes;
	bool guest;               /* of a tile's stay in a zone: counted with its berth */
	bool point;               /* of the forward chain: float whatever the tile is */
	struct bpg_alpha_columns at; /* slopes, moments, kept: their columns */
	struct bpg_tensor **home; /* slopes, moments: where they stay from wave to wave; null: the wave's own */
};

/* Parameters, moments, or what waits for a chain. */
static inline bool bpg_buffer_lasts(const struct bpg_buffer *b)
{
	return b->at.count || b->home;
}

/* Parameters at a node that all rows of a stage share (bpg_task_shared_start). */
struct bpg_shared {
	struct bpg_tensor *alpha, *moments, *sums;
};

/* What a tile keeps from round to round at a node: [arrays][strips][count][16] floats. */
struct bpg_lasting {
	struct bpg_alpha_columns at;
	int arrays;               /* of parameters; moments are twice as many; 0: none here */
	bool shared;              /* they are the stage's, not the tile's */
	struct bpg_tensor *alpha, *moments;
	/* The joint objective, from the walk back to the chain forward: coefficients kept of choices or whole, the point over an input. */
	struct bpg_tensor *kept, *rows, *point;
	size_t stored;            /* bytes of these, once a walk has been planned */
};

/* A pass is a walk back and a chain forward; in the joint objective chains come when the rows of all stages have been bounded. */
enum bpg_phase { BPG_PHASE_WHOLE, BPG_PHASE_WALK, BPG_PHASE_CHAIN };

struct bpg_tile {
	const int64_t *element;   /* [count] elements of the start node */
	const struct bpg_question_row *row; /* [count] instead, for the rows asked */
	const int64_t *asked;     /* [count] of these: their place among the bounds of all */
	const int32_t *segment;   /* [strips]; null: one segment. Else strips are filled up by repeating */
	int count, sides, strips, owner;
	int part;                 /* of a zone's first node, in which all its elements are; 0: of another node */
	int minus;                /* first row of the upper sides; those of the lower sides begin at 0 */
	bool wide, apart;         /* apart: upper sides begin with a strip of their own */
	double *result;           /* [strips * 16] lower bounds of its rows; an upper side is a negated row */
	struct bpg_tensor *result_t; /* handle of it while the stage runs */
	double *keep;             /* [strips * 16][inputs + 1] see input_planes; null: not wanted */
	struct bpg_tensor *keep_t;
	struct bpg_window start;  /* GRID start nodes */
	/* Where rows are optimised: */
	struct bpg_lasting *lasting; /* [nodes], null: nothing yet */
	double *plain, *before;   /* [strips * 16] bounds before the first iteration, before this round */
	unsigned char *met;       /* [count] needs no more */
	int *from_tile, *from_index; /* [count] a packed tile: where its elements were */
};

/* Bytes of `arrays` times its parameters: 1 themselves, 2 moments, 3 both. */
static inline size_t bpg_lasting_bytes(int strips, const struct bpg_lasting *l, int arrays)
{
	return l->shared ? 0 : (size_t)(arrays * l->arrays * strips * BPG_LANES) * (size_t)l->at.count * sizeof(float);
}

/* Row of the lower or upper side of element i; -1: not asked. */
static inline int bpg_tile_row(const struct bpg_tile *t, int i, bool upper)
{
	return !(t->sides & (upper ? 2 : 1)) ? -1 : upper ? t->minus + i : i;
}

struct bpg_batch;

struct bpg_stage {
	struct bpg_arena *arena;  /* of what its tasks point to: lives until they are done */
	int node;                 /* start node, -1: the outputs */
	int starts, *start;       /* start nodes */
	bool stop;                /* end at nonlinear nodes (interval rows) */
	bool opposite;            /* dense start whose input is relaxed next: + and - rows stay opposite where planes are one */
	bool relaxed_start;       /* and it is relaxed at once */
	int tiles;
	struct bpg_tile *tile;
	/* The cone: nodes that the walk visits, falling. */
	int cone, *visit;
	int *reads;               /* [nodes] contributions to each from inside the cone */
	int64_t concretized;      /* columns summed at the end */
	int iterations;           /* steps of the optimiser, 0: plain */
	struct bpg_batch *batch;  /* rows of domains (domains.h); null: of the region */
	int from, to;             /* passes of this round; pass `iterations` is the last */
	struct bpg_shared *shared; /* [nodes]; null: rows have their own */
	size_t shared_bytes;
	bool joint;               /* the joint objective */
	enum bpg_phase phase;     /* of a pass, where it is planned */
	bool bounded;             /* tile.plain is known from the start */
	bool recompute;           /* coefficients that the forward chain needs are walked to once more, in place of kept */
};

struct bpg_wave {
	int first;                /* of its tiles */
	int64_t steps, step_room, buffers, buffer_room, points, point_room;
	struct bpg_step *step;
	struct bpg_buffer *buffer;
	int *point;               /* lists of points over the inputs of a node: buffers */
	size_t *most_bytes;       /* [owners] live at most, in the order of the steps */
	int64_t *gathered;        /* [owners] bytes */
	size_t alpha_bytes;       /* of these slopes, moments and kept coefficients, of all owners */
};

/* Cuts the rows of `node` named by element[0..count) in segment[0..count), rising, into tiles. Elements and tiles live in the
 * arena. */
enum bpg_status bpg_stage_rows(struct bpg_ctx *ctx, struct bpg_model *m, struct bpg_arena *arena, int node, const int64_t *element,
                               const int32_t *segment, int64_t count, bool stop, struct bpg_stage *stage);
/* The rows asked, in every segment. */
enum bpg_status bpg_stage_question(struct bpg_ctx *ctx, struct bpg_model *m, struct bpg_arena *arena, const struct bpg_question_row *row,
                                   int64_t count, bool stop, struct bpg_stage *stage);
/* Tiles [first, first+count) of the stage. Replaces the content of `wave`. */
enum bpg_status bpg_wave_plan(struct bpg_ctx *ctx, struct bpg_model *m, const struct bpg_stage *stage, int first, int count, struct bpg_wave *wave);
void bpg_wave_fini(struct bpg_wave *wave);
/* Bytes of the tile that takes most, alone. */
enum bpg_status bpg_stage_tile_bytes(struct bpg_ctx *ctx, struct bpg_model *m, const struct bpg_stage *stage, size_t *bytes);
/* Who has tile number `tile` of a stage. */
int bpg_tile_owner(const struct bpg_model *m, int tile);
/* Tiles of a wave without a limit. */
int bpg_wave_tiles(const struct bpg_model *m);
/* Tiles in flight that the memory limit allows (at least 1). Where not even one fits, coefficients are recomputed in place of kept;
 * and if that does not help either, the model goes on as a plan, so that its least_bytes are known at the end. */
enum bpg_status bpg_stage_wave_size(struct bpg_ctx *ctx, struct bpg_model *m, struct bpg_stage *stage, int *tiles);

/* Elements that are not met, of tiles that start in the same window, in fewer tiles; results and gains go with them. Tiles live in
 * the stage's arena. */
enum bpg_status bpg_stage_repack(struct bpg_ctx *ctx, struct bpg_model *m, const struct bpg_stage *stage, struct bpg_stage *packed);
/* Bytes of what a tile keeps from round to round, and while it is packed anew, node by node. */
size_t bpg_tile_lasting(const struct bpg_model *m, const struct bpg_tile *tile);
size_t bpg_tile_packing(const struct bpg_model *m, const struct bpg_tile *tile);
/* And from a walk to its chain. */
size_t bpg_tile_stored(const struct bpg_model *m, const struct bpg_tile *tile);

/* Who does the step. */
int bpg_step_owner(const struct bpg_stage *stage, const struct bpg_wave *wave, const struct bpg_step *p);

/* True when the walk ends at this node. */
bool bpg_stage_ends(const struct bpg_model *m, const struct bpg_stage *stage, int node);

#endif
