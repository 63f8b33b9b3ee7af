/* host.h - how bodies run on the host; see body.h. */
#ifndef BPG_CUDA_HOST_H
#define BPG_CUDA_HOST_H

#include <stdbool.h>

/* Of this thread, for what it runs next: threads of a block from the last to the first; copies only when they are waited for. */
void bpg_host_order(bool backward, bool late);

#endif
