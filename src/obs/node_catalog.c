/* obs/node_catalog.c - the table of the metrics of fgpu-node. Names are a contract: dashboards and alerts use them. */
#include "obs/node_catalog.h"

#include "base/build_info.h"
#include "obs/catalog_internal.h"
#include "obs/process_internal.h"

/* 50 us to 400 ms; the runtime waits 2 s, the target is 5 ms */
#define STEP_BUCKETS .bucket_first = 50000, .bucket_n = 14

static const struct metric_def CATALOG[NODE_METRIC__MAX] = {
    GAUGE(NODE_RUNTIME_CONNECTED, "fgpu_node_runtime_connected",
          "1 while the container runtime asks this agent about containers and has told what runs."),
    COUNTER(NODE_RUNTIME_CONNECTIONS_TOTAL, "fgpu_node_runtime_connections_total",
            "Connections to the container runtime on which it told what runs."),
    COUNTER(NODE_RUNTIME_REQUESTS_TOTAL, "fgpu_node_runtime_requests_total",
            "Requests of the container runtime that were answered."),
    COUNTER(NODE_CONTAINERS_REFUSED_TOTAL, "fgpu_node_containers_refused_total",
            "Containers that were not created or not started, because their record does not hold or their GPU has no "
            "room. Kubelet tries again."),
    COUNTER(NODE_UNREADABLE_TOTAL, "fgpu_node_unreadable_total",
            "Pods, containers and requests of the container runtime that could not be read."),
    HISTOGRAM(NODE_CONTAINER_STEP_DURATION_SECONDS, "fgpu_node_container_step_duration_seconds",
              "Time to decide about the creation or the start of a container.", .unit = METRIC_UNIT_NS, STEP_BUCKETS,
              .labels = {{"step", CLOSED("create", "start")}}),
    GAUGE(NODE_SLOWEST_ANSWER_SECONDS, "fgpu_node_slowest_answer_seconds",
          "The longest time from a request of the container runtime to its answer.", .unit = METRIC_UNIT_NS),
    GAUGE(NODE_DRIVER_FOUND, "fgpu_node_driver_found",
          "1 if the driver's library was found; without it the node has no GPUs."),
    GAUGE(NODE_GPUS, "fgpu_node_gpus", "GPUs and MIG instances of the node."),
    GAUGE(NODE_CONTAINERS, "fgpu_node_containers", "Containers that hold GPUs now."),

    COUNTER(NODE_USAGE_LOOKS_TOTAL, "fgpu_node_usage_looks_total",
            "How often the agent looked which processes use a GPU, by GPU and result.",
            .labels = {{"result", CLOSED("ok", "failed")}}),
    GAUGE(NODE_USAGE_LOOK_SECONDS, "fgpu_node_usage_look_seconds", "Time of the last look at all GPUs.",
          .unit = METRIC_UNIT_NS),
    GAUGE(NODE_FOREIGN_PROCESSES, "fgpu_node_foreign_processes",
          "Processes on GPUs that containers hold by fgpu, which are in none of these containers."),
    COUNTER(NODE_OVER_LIMIT_TOTAL, "fgpu_node_over_limit_total",
            "How often a container began to use more memory of a GPU than its record gives it."),
    COUNTER(NODE_PROCESSES_KILLED_TOTAL, "fgpu_node_processes_killed_total",
            "Processes killed because their container used more memory of a GPU than its record gives it."),

    COUNTER(NODE_LOG_DROPPED_TOTAL, "fgpu_node_log_dropped_total",
            "Log records lost because their reader was too slow."),
    GAUGE(NODE_BUILD_INFO, "fgpu_node_build_info", "Always 1; the labels describe the build.",
          .labels = {{"version", NULL}, {"revision", NULL}, {"compiler", NULL}}, .series_max = 1),
    PROCESS_FIGURES(NODE_PROCESS_FIGURES),
};

struct metrics *node_catalog_metrics_new(void)
{
    static uint32_t figures = NODE_PROCESS_FIGURES;
    struct metrics *m = metrics_new(CATALOG, NODE_METRIC__MAX);

    metric_set(METRIC(m, NODE_BUILD_INFO, FGPU_VERSION, build_commit, BUILD_COMPILER), 1);
    metrics_add_collector(m, process_collect, &figures);
    return m;
}
