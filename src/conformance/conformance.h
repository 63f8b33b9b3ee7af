/* conformance.h - does a layer keep what layer.h promises? Random instances from the layer's sampler, and properties that
 * each of them must have. The reference of a LINEAR layer is its `terms`, summed in long double; of the others `eval`
 * and `interval`. Used by the test suite for built layers and by bpgraph-layer-test for layers from outside. */
#ifndef BPG_CONFORMANCE_H
#define BPG_CONFORMANCE_H

#include <bpgraph/layer.h>

/* Where the seeds of a layer's instances start, so that layers do not share them. */
uint64_t bpg_conformance_seed(const struct bpg_layer *layer);

/* One instance. The message of a failure names layer, operator and seed. fd: some constants are written to this file and
 * read from there; -1: none. CONSTANT layers have no instances and pass. */
enum bpg_status bpg_conformance(struct bpg_ctx *ctx, const struct bpg_layer *layer, uint64_t seed, int fd);

#endif
