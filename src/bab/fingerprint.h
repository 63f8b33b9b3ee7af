/* fingerprint.h - what a decision depends on, in one number: who goes on from a checkpoint must ask the same. */
#ifndef BPG_FINGERPRINT_H
#define BPG_FINGERPRINT_H

#include "base/options.h"
#include "net/net.h"
#include "spec/spec.h"

/* Hash of the version, the network with all its weights and the bytes of its files, the property as it was understood, and the options
 * that bounds and domains depend on. BPG_EFILE: a file cannot be read any more. */
enum bpg_status bpg_fingerprint(struct bpg_ctx *ctx, const struct bpg_net *net, const struct bpg_spec *spec, const struct bpg_options *options,
                                uint64_t *fingerprint);

#endif
