/* versions.h - what bpgraph was built with. */
#ifndef BPG_VERSIONS_H
#define BPG_VERSIONS_H

#include <stdio.h>

struct bpg_json;

const char *bpg_version(void);
/* A line each: bpgraph, StarPU with its limits, hwloc, BLAS with its kernel, protobuf-c, zlib, MPI, CUDA. */
void bpg_versions_print(FILE *to);
/* The object "versions". */
void bpg_versions_json(struct bpg_json *j);

#endif
