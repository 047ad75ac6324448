/* obs/process_internal.h - the collector behind the process_* metrics of the catalog. */
#ifndef OBS_PROCESS_INTERNAL_H
#define OBS_PROCESS_INTERNAL_H

#include "obs/metrics.h"

/* metrics_collect_fn; ctx is a static uint32_t, the number of process_start_time_seconds in the table of `m`, where the
 * six stand in the order of obs/catalog.h. What /proc does not tell keeps its last value. */
void process_collect(void *ctx, struct metrics *m);

/* Their rows in such a table, from that number on. */
#define PROCESS_FIGURES(first)                                                                                         \
    [(first)] = {.name = "process_start_time_seconds",                                                                 \
                 .help = "Start time of the process since the Unix epoch.",                                            \
                 .type = METRIC_GAUGE,                                                                                 \
                 .unit = METRIC_UNIT_MS},                                                                              \
    [(first) + 1] = {.name = "process_cpu_seconds_total",                                                              \
                     .help = "User and system CPU time.",                                                              \
                     .type = METRIC_COUNTER,                                                                           \
                     .unit = METRIC_UNIT_MS},                                                                          \
    [(first) + 2] = {.name = "process_resident_memory_bytes", .help = "Resident memory size.", .type = METRIC_GAUGE},  \
    [(first) + 3] = {.name = "process_virtual_memory_bytes", .help = "Virtual memory size.", .type = METRIC_GAUGE},    \
    [(first) + 4] = {.name = "process_open_fds", .help = "Open file descriptors.", .type = METRIC_GAUGE},              \
    [(first) + 5] = {.name = "process_max_fds", .help = "Limit of open file descriptors.", .type = METRIC_GAUGE}

#endif
