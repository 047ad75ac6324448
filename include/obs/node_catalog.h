/* obs/node_catalog.h - the metrics of fgpu-node that are always there, by number. The table with names and help is in
 * node_catalog.c; what there is of each GPU and each container is written beside them (src/cmd_node/samples.c).
 */
#ifndef OBS_NODE_CATALOG_H
#define OBS_NODE_CATALOG_H

#include "obs/metrics.h"

enum node_metric {
    NODE_RUNTIME_CONNECTED,
    NODE_RUNTIME_CONNECTIONS_TOTAL,
    NODE_RUNTIME_REQUESTS_TOTAL,
    NODE_CONTAINERS_REFUSED_TOTAL,
    NODE_UNREADABLE_TOTAL,
    NODE_CONTAINER_STEP_DURATION_SECONDS, /* step: create start; nanoseconds in */
    NODE_SLOWEST_ANSWER_SECONDS,          /* nanoseconds in */
    NODE_DRIVER_FOUND,
    NODE_GPUS,
    NODE_CONTAINERS,

    NODE_USAGE_LOOKS_TOTAL,  /* result: ok failed */
    NODE_USAGE_LOOK_SECONDS, /* nanoseconds in */
    NODE_FOREIGN_PROCESSES,
    NODE_OVER_LIMIT_TOTAL,
    NODE_PROCESSES_KILLED_TOTAL,

    NODE_LOG_DROPPED_TOTAL,
    NODE_BUILD_INFO, /* version, revision, compiler */

    NODE_PROCESS_FIGURES, /* six, as in obs/catalog.h */
    NODE_METRIC__MAX = NODE_PROCESS_FIGURES + 6
};

/* A registry of all of these, with build information and the process's own figures filled in. */
struct metrics *node_catalog_metrics_new(void);

#endif
