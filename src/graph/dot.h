/* dot.h - the steps of a wave as a Graphviz graph. */
#ifndef BPG_DOT_GRAPH_H
#define BPG_DOT_GRAPH_H

#include <stdio.h>

#include "graph/plan.h"

/* Head and tail of the document around any number of waves. */
void bpg_dot_begin(FILE *to);
void bpg_dot_end(FILE *to);
/* One subgraph: a box for each step, an arrow for each buffer it reads from an earlier one. */
void bpg_wave_dot(const struct bpg_model *m, const struct bpg_stage *s, const struct bpg_wave *w, FILE *to);

#endif
