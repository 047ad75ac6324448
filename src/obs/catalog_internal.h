/* obs/catalog_internal.h - how rows of the tables of metrics are written. */
#ifndef OBS_CATALOG_INTERNAL_H
#define OBS_CATALOG_INTERNAL_H

#include "obs/metrics.h"

/* The values of a label. */
#define CLOSED(...) ((const char *const[]){__VA_ARGS__, NULL})

#define DEF(id, type_, name_, help_, ...) [id] = {.name = name_, .help = help_, .type = type_, ##__VA_ARGS__}
#define COUNTER(id, ...) DEF(id, METRIC_COUNTER, __VA_ARGS__)
#define GAUGE(id, ...) DEF(id, METRIC_GAUGE, __VA_ARGS__)
#define HISTOGRAM(id, ...) DEF(id, METRIC_HISTOGRAM, __VA_ARGS__)

#endif
