/* obs/metrics_internal.h - layout of the registry, for metrics.c and exposition.c. */
#ifndef OBS_METRICS_INTERNAL_H
#define OBS_METRICS_INTERNAL_H

#include "base/sync.h"
#include "obs/metrics.h"

#include <stdatomic.h>
#include <stdbool.h>

#define METRIC_BUCKETS_MAX 24

struct metric {
    const struct metric_def *def;
    char *values[METRIC_LABELS_MAX];
    _Atomic int64_t value;                           /* of a histogram: the sum */
    _Atomic int64_t buckets[METRIC_BUCKETS_MAX + 1]; /* not cumulative; the last used one is +Inf */
};

struct metric_family {
    const struct metric_def *def;
    uint32_t label_n;
    uint32_t series_max;
    struct metric **series; /* [series_n] are complete and never change */
    _Atomic uint32_t series_n;
    struct metric *overflow;
    atomic_bool overflow_used;
};

const char *metric_type_name(enum metric_type type);

struct metrics {
    struct metric_family *families;
    uint32_t family_n;
    struct mutex grow;   /* adding a series */
    struct mutex scrape; /* one rendering at a time; collectors */
    struct {
        metrics_collect_fn *collect;
        void *ctx;
    } collectors[METRICS_COLLECTORS_MAX];
    uint32_t collector_n;
};

#endif
