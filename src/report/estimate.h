/* estimate.h - what work planned would take on a machine, as text and JSON. */
#ifndef BPG_REPORT_ESTIMATE_H
#define BPG_REPORT_ESTIMATE_H

#include "report/json.h"
#include "report/result.h"

/* bytes: [owners] that each needs. */
void bpg_estimate_text(FILE *to, const struct bpg_result_estimate *e, const int64_t *bytes, int owners);
/* An object "estimate". */
void bpg_estimate_json(struct bpg_json *j, const struct bpg_result_estimate *e);

#endif
