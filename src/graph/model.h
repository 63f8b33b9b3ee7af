/* model.h - a network with what bound propagation needs at each node: hops, columns, bounds, packed weights. */
#ifndef BPG_MODEL_H
#define BPG_MODEL_H

#include "base/options.h"
#include "base/progress.h"
#include "codelets/tasks.h"
#include "net/net.h"
#include "spec/region.h"

struct bpg_zone;

struct bpg_model_node {
	const struct bpg_net_node *net;
	int id;
	struct bpg_zone *zone;    /* tensor parallelism (zones.h): null: in none */
	int whole, segment;       /* a part of node `whole`; of itself: segment -1 */
	struct bpg_hop hop;
	struct bpg_columns columns;
	int *src;                 /* [hop.nin] nodes of the variable operands */
	int consumers, *consumer; /* nodes, once per operand that reads this one */

	double *bounds;           /* [segments][BPG_FIELDS * n] home of bounds_t */
	struct bpg_tensor *bounds_t, *planes_t;
	int panels;               /* packed weights: dense: panels of panel_width columns; convolution: one */
	int64_t panel_width;
	struct bpg_tensor **panel; /* null where nobody keeps them, and at other ranks */
	int *panel_owner;
	double *by_bounds;        /* joint objective: [2][2][n] home of by_bounds_t, derivatives of the sum of the rows asked by lower and by
	                             upper bounds (bpg_task_alpha_step); null: nobody asks */
	struct bpg_tensor *by_bounds_t;
	int by_bounds_rank;       /* with several ranks: the one that has the sum so far; -1: all have */
	double radii;             /* sum of radii, for underflow */
	bool columns_set, charged; /* charged: its toll is part of the relaxation of its only consumer */
	bool sum;                 /* ELEMENT on a grid, all coefficients 1: rows pass unchanged to every operand */
	bool single;              /* every element depends on at most one input element, no two on the same */
	bool output;              /* an output of the network */
	bool exact;               /* its interval is exact on a box: one linear map of a `single` node */
	bool straight;            /* only linear layers between the inputs and this node */
	int64_t unstable;         /* elements that needed rows */
	unsigned char *choice;    /* [places] UNARY: two different planes there; null: not known yet */
	bool forward;             /* a forward chain needs the kernel, */
	int forward_owner;
	struct bpg_tensor *forward_t; /* packed for it */
};


struct bpg_bound_options {
	enum bpg_method method;
	enum bpg_slope_rule slope;
	bool wide;                /* --precision float64 */
	bool slack;               /* --sound is not off */
	int iterations;           /* of alpha-crown; 0: other methods */
	enum bpg_objective objective; /* whose bounds they are */
	double rate, decay;       /* of Adam: learning rate, and its factor from step to step */
	double beta_rate;         /* of multipliers in a search, see bpg_domain_options */
	int sides;                /* of the rows asked: 1 lower, 2 upper, 3 both */
	int64_t panel;            /* columns of a panel; 0: default */
	int64_t tile;             /* rows of a tile; 0: default */
	int64_t wave;             /* tiles in flight; 0: default */
	int workers;              /* of a process that the plan is for; 0: those of the runtime */
	enum bpg_placement placement; /* auto: rows where there are several owners */
	bool zone_intervals;      /* tp: neurons inside a zone have intervals alone */
	int owners;
	int ranks, rank;          /* more than 1: each owner is a process, this one is `rank` */
	size_t memory;            /* limit in bytes, 0: none */
	int segments;             /* regions bounded together, 0: 1; more only without iterations */
	struct bpg_group *group;  /* tasks are waited for in this group; null: all tasks are */
	/* [segments * rows asked][inputs + 1] written for lower sides; null: not wanted. A row is at least
	 * sum coef * (x - centre) + constant (the last one) for every x of its region; centres are those of bpg_lower_input. */
	double *input_planes;
	bool sharing;             /* all rows of a side of a stage share slopes and tangent points */
	int patience;             /* iterations without gain after which a row leaves; 0: never */
	double goal;              /* a row asked whose lower bound is above it leaves; infinite: none does */
	bpg_progress_fn *progress; /* null: nobody is told */
	void *progress_arg;
};

/* Where an owner's tiles are while they are in flight: a tile begins when the one that had its berth in the wave before has ended,
 * so that waves follow each other without a wait and without more tiles than a wave has. */
struct bpg_berths {
	struct bpg_tensor **tensor;
	int64_t count, room;
};

/* Copies of panels, see panels.h; and berths. */
struct bpg_slots {
	struct bpg_berths *berths; /* [owners] */
	struct bpg_berths *guests; /* [owners] of tiles of others, on their way through a zone */
	struct bpg_tensor **tensor; /* [owners][2] */
	size_t *bytes;            /* [owners] of a slot */
	int owners;
};

struct bpg_model {
	const struct bpg_net *net;
	struct bpg_rt *rt;
	struct bpg_arena *arena;
	const struct bpg_region *region; /* [segments], all boxes where there are several */
	int segments;
	struct bpg_bound_options options;
	int nodes, zones;
	struct bpg_model_node *node; /* [nodes], then the parts of zones */
	bool dry;                 /* plan only: intervals are computed, no walk is run */
	uint64_t plan_hash;
	int64_t steps, planned;   /* tasks submitted; steps of walks planned */
	int64_t rows;             /* of walks submitted, each pass counted */
	int iterations;           /* that the rows asked have had */
	size_t alpha_bytes;       /* of slopes, moments and coefficients at most, of all owners */
	int kept_stages, recomputed_stages; /* optimised, by whether coefficients were kept or recomputed */
	enum bpg_placement placement; /* not auto */
	int next_owner;           /* of panels */
	size_t *panel_bytes;      /* [owners] dealt so far */
	struct bpg_slots slots;
	size_t *fixed_bytes, *most_bytes; /* [owners] predicted: bounds, planes and panels; most at any time */
	size_t least_bytes;       /* with a memory limit: what one tile at a time takes */
	double flops;             /* of the products planned */
	int64_t *traffic;         /* [owners] bytes of panels that each gathers */
	FILE *dot;                /* steps are drawn here when set */
	struct bpg_estimate *estimate; /* hears of all work when set */
};

/* This process does the work of the owner. */
static inline bool bpg_mine(const struct bpg_model *m, int owner)
{
	return m->options.ranks <= 1 || owner == m->options.rank;
}

/* Vectors of a node count for owner 0, or at each rank. */
void bpg_model_vectors(struct bpg_model *m, size_t bytes);

/* What follows is this process's alone: it packs all weights, or streams them, and does all rows. Bounds stay as they are. */
void bpg_model_alone(struct bpg_model *model);
/* The same of options. */
void bpg_options_alone(struct bpg_bound_options *options);

/* Does not start any work. The network, region and runtime outlive the model. */
enum bpg_status bpg_model_new(struct bpg_ctx *ctx, const struct bpg_net *net, struct bpg_rt *rt, const struct bpg_region *region,
                              const struct bpg_bound_options *options, struct bpg_model **model);
void bpg_model_free(struct bpg_model *model);

static inline const double *bpg_segment_field(const struct bpg_model_node *v, enum bpg_field f, int segment)
{
	return v->bounds + (segment * BPG_FIELDS + f) * v->columns.n;
}

static inline const double *bpg_field(const struct bpg_model_node *v, enum bpg_field f)
{
	return bpg_segment_field(v, f, 0);
}

/* Waits for the tasks of the model (or for all, see options). */
enum bpg_status bpg_model_wait(struct bpg_ctx *ctx, const struct bpg_model *model);

/* Sets the columns of a LIST node: the elements that can move, by its own final bounds (x null), or by those of the
 * pre-activation x that shares its columns; then those with two planes come first. */
enum bpg_status bpg_model_columns(struct bpg_ctx *ctx, struct bpg_model *model, struct bpg_model_node *y, struct bpg_model_node *x);

/* Hash of all bounds. */
uint64_t bpg_model_hash(const struct bpg_model *model);

/* Fills v->choice of a unary node whose input bounds are final. */
enum bpg_status bpg_model_choices(struct bpg_ctx *ctx, struct bpg_model *model, struct bpg_model_node *v);

#endif
