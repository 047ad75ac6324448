/* obs/node_catalog.c - the table of the metrics of fgpu-node. Names are a contract: dashboards and alerts use them. */
#include "obs/node_catalog.h"

#include "base/build_info.h"
#include "obs/catalog_internal.h"
#include "obs/process_internal.h"
#include "obs/reference_internal.h"

/* 50 us to 400 ms; the runtime waits 2 s, the target is 5 ms */
#define STEP_BUCKETS .bucket_first = 50000, .bucket_n = 14

/* What the labels of a GPU and of a container say. */
#define GPU_LABEL                                                                                                      \
    {                                                                                                                  \
        "gpu", NULL, "UUID"                                                                                            \
    }
#define GPU_LABELS                                                                                                     \
    {                                                                                                                  \
        GPU_LABEL                                                                                                      \
    }
#define CONTAINER_LABELS                                                                                               \
    {                                                                                                                  \
        {"namespace", NULL, "of the pod"}, {"pod", NULL, "its name"}, {"container", NULL, "its name"}, GPU_LABEL       \
    }

static const struct metric_def CATALOG[NODE_METRIC__MAX] = {
    GAUGE(NODE_RUNTIME_CONNECTED, "fgpu_node_runtime_connected",
          "1 while the container runtime asks this agent about containers and has told what runs.",
          .worry = "0 for longer than a minute: containers start without the agent."),
    COUNTER(NODE_RUNTIME_CONNECTIONS_TOTAL, "fgpu_node_runtime_connections_total",
            "Connections to the container runtime on which it told what runs.",
            .worry = "more than one in an hour: runtime or agent starts again and again."),
    COUNTER(NODE_RUNTIME_REQUESTS_TOTAL, "fgpu_node_runtime_requests_total",
            "Requests of the container runtime that were answered."),
    COUNTER(NODE_CONTAINERS_REFUSED_TOTAL, "fgpu_node_containers_refused_total",
            "Containers that were not created or not started, because their record does not hold or their GPU has no "
            "room. Kubelet tries again.",
            .worry = "it rises: Events on the pods say why."),
    COUNTER(NODE_UNREADABLE_TOTAL, "fgpu_node_unreadable_total",
            "Pods, containers and requests of the container runtime that could not be read.", .worry = "it rises."),
    HISTOGRAM(NODE_CONTAINER_STEP_DURATION_SECONDS, "fgpu_node_container_step_duration_seconds",
              "Time to decide about the creation or the start of a container.", .unit = METRIC_UNIT_NS, STEP_BUCKETS,
              .labels = {{"step", CLOSED("create", "start")}},
              .worry = "99 % above 500 ms: container runtimes wait 2 s and then go on without the agent."),
    GAUGE(NODE_SLOWEST_ANSWER_SECONDS, "fgpu_node_slowest_answer_seconds",
          "The longest time from a request of the container runtime to its answer.", .unit = METRIC_UNIT_NS,
          .worry = "above 1 s."),
    GAUGE(NODE_DRIVER_FOUND, "fgpu_node_driver_found",
          "1 if the driver's library was found; without it the node has no GPUs.", .worry = "0 on a node with GPUs."),
    GAUGE(NODE_GPUS, "fgpu_node_gpus", "GPUs and MIG instances of the node.", .worry = "fewer than the node has."),
    GAUGE(NODE_CONTAINERS, "fgpu_node_containers", "Containers that hold GPUs now."),

    COUNTER(NODE_USAGE_LOOKS_TOTAL, "fgpu_node_usage_looks_total",
            "How often the agent looked which processes use a GPU, by GPU and result.",
            .labels = {{"result", CLOSED("ok", "failed")}}, .worry = "failed rises: the driver does not answer."),
    GAUGE(NODE_USAGE_LOOK_SECONDS, "fgpu_node_usage_look_seconds", "Time of the last look at all GPUs.",
          .unit = METRIC_UNIT_NS, .worry = "above --usage-interval."),
    GAUGE(NODE_FOREIGN_PROCESSES, "fgpu_node_foreign_processes",
          "Processes on GPUs that containers hold by fgpu, which are in none of these containers.",
          .worry = "above 0: something uses the GPUs past fgpu."),
    COUNTER(NODE_OVER_LIMIT_TOTAL, "fgpu_node_over_limit_total",
            "How often a container began to use more memory of a GPU than its record gives it.",
            .worry = "it rises: Events on the pods name them."),
    COUNTER(NODE_PROCESSES_KILLED_TOTAL, "fgpu_node_processes_killed_total",
            "Processes killed because their container used more memory of a GPU than its record gives it.",
            .worry = "it rises: users need larger sizes (`fgpu rightsize`)."),

    COUNTER(NODE_LOG_DROPPED_TOTAL, "fgpu_node_log_dropped_total",
            "Log records lost: their reader was too slow, or they could not be written.", .worry = "it rises."),
    GAUGE(NODE_BUILD_INFO, "fgpu_node_build_info", "Always 1; the labels describe the build.",
          .labels = {{"version", NULL, "of fgpu-node"},
                     {"revision", NULL, "of the sources"},
                     {"compiler", NULL, "with its version"}},
          .series_max = 1),
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

const struct metric_def node_gpu_families[NODE_GPU_FAMILY__MAX] = {
    GAUGE(NODE_GPU_MEMORY_BYTES, "fgpu_node_gpu_memory_bytes", "Memory of a GPU or MIG instance that can be used.",
          .labels = GPU_LABELS),
    GAUGE(NODE_GPU_HELD_MEMORY_BYTES, "fgpu_node_gpu_held_memory_bytes",
          "Memory of a GPU or MIG instance that the records of its containers give away.", .labels = GPU_LABELS),
    GAUGE(NODE_GPU_HELD_MILLI, "fgpu_node_gpu_held_milli",
          "Compute of a GPU or MIG instance that the records of its containers give away, in thousandths of a GPU.",
          .labels = GPU_LABELS),
    GAUGE(NODE_GPU_SHARERS, "fgpu_node_gpu_sharers", "Containers that hold a GPU or MIG instance; with 0 it is idle.",
          .labels = GPU_LABELS, .worry = "0 for days: the GPU is idle."),
    GAUGE(NODE_GPU_OVER, "fgpu_node_gpu_over",
          "1 while more of a GPU or MIG instance is held than it has; it admits nobody then.", .labels = GPU_LABELS,
          .worry = "1 for longer than some minutes."),
    GAUGE(NODE_GPU_HEALTHY, "fgpu_node_gpu_healthy", "0 while a GPU or MIG instance is ill; no container gets it then.",
          .labels = GPU_LABELS, .worry = "0: repair the GPU, then start the agent again."),
};

const struct metric_def node_container_families[NODE_CONTAINER_FAMILY__MAX] = {
    GAUGE(NODE_CONTAINER_MEMORY_USED_BYTES, "fgpu_node_container_gpu_memory_used_bytes",
          "Memory of a GPU that the processes of a container use.", .labels = CONTAINER_LABELS,
          .worry = "above what is given."),
    GAUGE(NODE_CONTAINER_MEMORY_PEAK_BYTES, "fgpu_node_container_gpu_memory_peak_bytes",
          "The most memory of a GPU that the processes of a container were seen to use.", .labels = CONTAINER_LABELS),
    GAUGE(NODE_CONTAINER_MEMORY_MEAN_BYTES, "fgpu_node_container_gpu_memory_mean_bytes",
          "Memory of a GPU that the processes of a container used, in the mean over the observed time.",
          .labels = CONTAINER_LABELS),
    GAUGE(NODE_CONTAINER_MEMORY_GIVEN_BYTES, "fgpu_node_container_gpu_memory_given_bytes",
          "Memory of a GPU that the record of a container gives it.", .labels = CONTAINER_LABELS),
    GAUGE(NODE_CONTAINER_UTILIZATION_RATIO, "fgpu_node_container_gpu_utilization_ratio",
          "Part of the time in which the kernels of a container kept the GPU busy, since the last look.",
          .unit = METRIC_UNIT_PERMILLE, .labels = CONTAINER_LABELS),
    GAUGE(NODE_CONTAINER_UTILIZATION_PEAK_RATIO, "fgpu_node_container_gpu_utilization_peak_ratio",
          "The largest part of the time in which the kernels of a container were seen to keep the GPU busy.",
          .unit = METRIC_UNIT_PERMILLE, .labels = CONTAINER_LABELS),
    GAUGE(NODE_CONTAINER_UTILIZATION_MEAN_RATIO, "fgpu_node_container_gpu_utilization_mean_ratio",
          "Part of the time in which the kernels of a container kept the GPU busy, in the mean over the observed time.",
          .unit = METRIC_UNIT_PERMILLE, .labels = CONTAINER_LABELS),
    GAUGE(NODE_CONTAINER_GIVEN_RATIO, "fgpu_node_container_gpu_given_ratio",
          "The part of a GPU that the record of a container gives it.", .unit = METRIC_UNIT_PERMILLE,
          .labels = CONTAINER_LABELS),
    GAUGE(NODE_CONTAINER_OBSERVED_SECONDS, "fgpu_node_container_gpu_observed_seconds",
          "For how long a container was looked at.", .unit = METRIC_UNIT_MS, .labels = CONTAINER_LABELS),
    GAUGE(NODE_CONTAINER_TOUCHED, "fgpu_node_container_gpu_touched",
          "0 if no process of the container was ever seen on the GPU that it holds.", .labels = CONTAINER_LABELS,
          .worry = "0 for hours: the pod holds a GPU and does not use it."),
    GAUGE(NODE_CONTAINER_OVER_LIMIT, "fgpu_node_container_gpu_over_limit",
          "1 while a container that shares a GPU uses more of its memory than its record gives it.",
          .labels = CONTAINER_LABELS, .worry = "1; see `--on-exceed`."),
    GAUGE(NODE_CONTAINER_OVER_LIMIT_SECONDS, "fgpu_node_container_gpu_over_limit_seconds",
          "For how long a container has used more memory of a GPU than its record gives it; 0 if it does not.",
          .unit = METRIC_UNIT_MS, .labels = CONTAINER_LABELS),
    COUNTER(NODE_CONTAINER_CROWDING_SECONDS_TOTAL, "fgpu_node_container_gpu_crowding_seconds_total",
            "Time in which a container used more compute than its share of a busy GPU while another container had less "
            "than its own.",
            .unit = METRIC_UNIT_MS, .labels = CONTAINER_LABELS,
            .worry = "it rises: neighbours get less compute than they were given."),
};

const struct metric_def *node_catalog_defs(size_t *ret_n)
{
    *ret_n = NODE_METRIC__MAX;
    return CATALOG;
}
