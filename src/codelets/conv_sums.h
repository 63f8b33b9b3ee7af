/* conv_sums.h - what each input position of a convolution sums on the way back: runs of output channels in blocks.
 *
 * An input position sums, over the taps through which output positions read it, a run of output channels. Columns are
 * channel-last, so a run is contiguous in the tile and nothing is gathered. Blocks of the sum are fixed groups of taps
 * (or parts of one), whichever of them lie in the window: the bits do not depend on the window. */
#ifndef BPG_CONV_SUMS_H
#define BPG_CONV_SUMS_H

#include <bpgraph/layer.h>

#include "codelets/hop.h"

/* Position i of the window, row by row: blocks first[i] .. first[i+1]-1; block b: runs end[b-1] .. end[b]-1 (0 before the first).
 * Runs are those of channel group 0. */
struct bpg_conv_sums {
	int64_t positions, blocks, runs;
	int *first, *end;
	struct bpg_run *run;
};

/* Those of the input positions of window t, from a tile over the window f of the output; blocks of at most `block` products.
 * False when memory is short; bpg_conv_sums_fini is called in any case. */
bool bpg_conv_sums_init(struct bpg_conv_sums *s, const struct bpg_conv *v, const struct bpg_window *f, const struct bpg_window *t,
                        int64_t block);
/* The other way: what each output position of window t sums of a tile over window f of the input, runs of input channels, all in
 * one block. */
bool bpg_conv_sums_forward(struct bpg_conv_sums *s, const struct bpg_conv *v, const struct bpg_window *f,
                           const struct bpg_window *t);
void bpg_conv_sums_fini(struct bpg_conv_sums *s);

#endif
