/* panels.h - packed weights: how those of a node are cut, who owns each panel, and copies of what others own.
 *
 * A panel is a fixed block of columns of a matrix, or a whole kernel of a convolution; the cut depends on network and options
 * alone. Panels are dealt to the owners so that all have about the same bytes. A tile reads its owner's panels where they lie and
 * foreign ones from a *slot*, into which a gather has copied (or, where nobody keeps panels, packed) them. An owner has two slots,
 * so that one panel is fetched while another is multiplied, and never more than two. */
#ifndef BPG_PANELS_H
#define BPG_PANELS_H

#include "graph/plan.h"

/* Number of the panel that holds a convolution's kernel for the forward chain; the others are those of the walk. */
enum { BPG_PANEL_FORWARD = 1 << 24 };

int64_t bpg_panel_columns(const struct bpg_model_node *v, int panel);
size_t bpg_panel_bytes(const struct bpg_model_node *v, int panel);
/* Nobody keeps packed weights: they are packed anew for each use. */
bool bpg_panels_stream(const struct bpg_model *m);
/* A tile of `owner` must gather this panel. */
bool bpg_panel_foreign(const struct bpg_model *m, const struct bpg_model_node *v, int panel, int owner);

/* Cuts, and unless the model is dry packs, the weights of every node that the stage passes and that has none yet. */
enum bpg_status bpg_lower_panels(struct bpg_ctx *ctx, struct bpg_model *m, const struct bpg_stage *s);
/* The same for the kernels that forward chains of the stage need. */
enum bpg_status bpg_lower_forward_panels(struct bpg_ctx *ctx, struct bpg_model *m, const struct bpg_stage *s);
/* They may be cut anew, for other owners. */
void bpg_panels_free(struct bpg_model_node *v);

/* Bytes of each slot of each owner in a stage: its largest foreign panel. bytes: [owners]. */
void bpg_slot_bytes(const struct bpg_model *m, const struct bpg_stage *s, size_t *bytes);

/* Those that are there stay if they are as large as the stage needs. */
enum bpg_status bpg_slots_init(struct bpg_ctx *ctx, const struct bpg_model *m, const struct bpg_stage *s, struct bpg_slots *slots);
/* Berth number `i` of an owner; null when memory is short. */
struct bpg_tensor *bpg_berth(const struct bpg_model *m, struct bpg_slots *slots, int owner, int i);
/* The same for a tile that is on its way through a zone. */
struct bpg_tensor *bpg_guest_berth(const struct bpg_model *m, struct bpg_slots *slots, int owner, int i);
/* What has been submitted may still read them. */
void bpg_slots_fini(struct bpg_slots *slots);

/* Submits a gather: the panel into slot p->k of the tile's owner. */
enum bpg_status bpg_lower_gather(struct bpg_ctx *ctx, struct bpg_model *m, struct bpg_slots *slots, const struct bpg_step *p, int owner);
/* Where a product finds its weights: slot 0: where they lie, else in slot - 1 of the owner. */
struct bpg_tensor *bpg_panel_at(const struct bpg_model_node *v, const struct bpg_slots *slots, int panel, int slot, int owner);

#endif
