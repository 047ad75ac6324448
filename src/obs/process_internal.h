/* obs/process_internal.h - the collector behind the process_* metrics of the catalog. */
#ifndef OBS_PROCESS_INTERNAL_H
#define OBS_PROCESS_INTERNAL_H

#include "obs/metrics.h"

/* metrics_collect_fn; ctx is not used. What /proc does not tell keeps its last value. */
void process_collect(void *ctx, struct metrics *m);

#endif
