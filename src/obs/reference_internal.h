/* obs/reference_internal.h - the tables of metrics, for reference.c. */
#ifndef OBS_REFERENCE_INTERNAL_H
#define OBS_REFERENCE_INTERNAL_H

#include "obs/metrics.h"

const struct metric_def *catalog_defs(size_t *ret_n);
const struct metric_def *node_catalog_defs(size_t *ret_n);

#endif
