/* zones.h - tensor parallelism: pairs of linear nodes whose weights are cut along the axis between them, and never gathered.
 *
 * A zone is  x -> col -> (act) -> row -> y : two matrices or convolutions, at most one elementwise node between them, nobody else
 * reads what lies between. The hidden axis (elements, or channels of a feature map) is cut into at most 16 segments of equal length, a
 * multiple of 8: a function of the network alone. Of each node of the zone every segment has a *part*: a node of the model of its own,
 * numbered behind those of the network, whose hop has the segment's share of the columns. Vectors (bounds) are those of the whole.
 *
 * Owner o of P has the segments s with s P / segments = o, rounded down: an interval, rising with o. */
#ifndef BPG_ZONES_H
#define BPG_ZONES_H

#include "graph/model.h"

enum { BPG_ZONE_SEGMENTS = 16, BPG_ZONE_NODES = 3 };

struct bpg_zone {
	int col, act, row;        /* nodes; act -1: none */
	int64_t length;           /* units of a segment: elements or channels; the last may have less */
	int segments;
	int first;                /* the first part; those of a segment are consecutive: col, act, row */
	bool cut;                 /* the parts have columns */
};

/* Pairs nodes from the inputs on; the message says where there is none. Before bounds, when consumers are counted. */
enum bpg_status bpg_zones_find(struct bpg_ctx *ctx, struct bpg_model *m);
/* Nodes that the model must have room for behind its own. */
int bpg_zones_room(int nodes);

int bpg_zone_owner(const struct bpg_model *m, const struct bpg_zone *z, int segment);
/* The part of a zone's node in a segment. */
struct bpg_model_node *bpg_zone_part(const struct bpg_model *m, const struct bpg_model_node *v, int segment);
/* The part over whose elements hidden rows lie. */
struct bpg_model_node *bpg_zone_hidden(const struct bpg_model *m, const struct bpg_zone *z, int segment);
/* Parts into which rows of a walk that starts at v fall, 1: v is no `col`. And the one of an element. */
int bpg_zone_parts(const struct bpg_model_node *v);
int bpg_zone_part_of(const struct bpg_model_node *v, int64_t element);

/* Gives the parts of v's zone their columns, once those of the hidden node are known; else, and without a zone, nothing. */
enum bpg_status bpg_zone_cut(struct bpg_ctx *ctx, struct bpg_model *m, const struct bpg_model_node *v);
/* Bounds and prices of the whole are those of its parts. */
void bpg_zone_refresh(const struct bpg_model *m, const struct bpg_model_node *v);

/* Roundings that one product of `col` meets (see set_gammas): in blocks of `block` inside segments of `terms` products at most, `blocks`
 * of them, and from segment to segment. */
double bpg_zone_roundings(const struct bpg_zone *z, double block, double terms, double blocks);

#endif
