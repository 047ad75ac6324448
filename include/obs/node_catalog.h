/* obs/node_catalog.h - the metrics of fgpu-node that are always there, by number. The table with names and help is in
 * node_catalog.c, and so are the families of samples of each GPU and each container, which come and go and are written
 * beside the registry (obs/samples.h, src/cmd_node/samples.c).
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

enum node_gpu_family {
    NODE_GPU_MEMORY_BYTES,
    NODE_GPU_HELD_MEMORY_BYTES,
    NODE_GPU_HELD_MILLI,
    NODE_GPU_SHARERS,
    NODE_GPU_OVER,
    NODE_GPU_HEALTHY,
    NODE_GPU_FAMILY__MAX
};
extern const struct metric_def node_gpu_families[NODE_GPU_FAMILY__MAX];

enum node_container_family {
    NODE_CONTAINER_MEMORY_USED_BYTES,
    NODE_CONTAINER_MEMORY_PEAK_BYTES,
    NODE_CONTAINER_MEMORY_MEAN_BYTES,
    NODE_CONTAINER_MEMORY_GIVEN_BYTES,
    NODE_CONTAINER_UTILIZATION_RATIO,
    NODE_CONTAINER_UTILIZATION_PEAK_RATIO,
    NODE_CONTAINER_UTILIZATION_MEAN_RATIO,
    NODE_CONTAINER_GIVEN_RATIO,
    NODE_CONTAINER_OBSERVED_SECONDS,
    NODE_CONTAINER_TOUCHED,
    NODE_CONTAINER_OVER_LIMIT,
    NODE_CONTAINER_OVER_LIMIT_SECONDS,
    NODE_CONTAINER_CROWDING_SECONDS_TOTAL,
    NODE_CONTAINER_FAMILY__MAX
};
extern const struct metric_def node_container_families[NODE_CONTAINER_FAMILY__MAX];

/* A registry of enum node_metric, with build information and the process's own figures filled in. */
struct metrics *node_catalog_metrics_new(void);

#endif
