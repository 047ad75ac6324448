#include "demo/scenarios/scenarios_internal.h"

#define PLACED "slices: placed"
#define SOLD "slices: sold"

static const struct scenario_node nodes[] = {
    {"placed-1", .labels = PLACED, .model = "NVIDIA-A10", .gpu_n = 1, .mem_mib = 24576},
    {"sold-1",
     .labels = SOLD "; nvidia.com/gpu.count: 2; nvidia.com/gpu.memory: 24576; nvidia.com/gpu.replicas: 10; "
                    "nvidia.com/gpu.sharing-strategy: time-slicing; nvidia.com/gpu.product: NVIDIA-A10-SHARED",
     .allocatable = "nvidia.com/gpu: 20", .model = "NVIDIA-A10", .gpu_n = 2, .mem_mib = 24576, .secret = true},
};

static const struct scenario_step steps[] = {
    SAY("Twenty slices are a GPU of 24 GB. Where fgpu places, 4 slices are 0.2 of the GPU and 4.8 GB, 10 slices "
        "are half of it, and 6 slices are 0.3: together the whole GPU."),
    CREATE("four", 1, .limits = "nvidia.com/gpu.shared: 4", .selector = PLACED),
    CREATE("ten", 1, .limits = "nvidia.com/gpu.shared: 10", .selector = PLACED),
    CREATE("six", 1, .limits = "nvidia.com/gpu.shared: 6", .selector = PLACED),
    BOUND("*"),
    TOGETHER("*"),
    HOLDS("four", 1, 200, 4915),
    HOLDS("ten", 1, 500, 12288),
    HOLDS("six", 1, 300, 7372),

    SAY("These shares are real: each container gets its GPU, its memory and its part of the compute for CUDA MPS. "
        "The twenty-first slice is refused."),
    TOLD("four", "fgpu.io/visible-devices.c0: GPU-placed-1-0; "
                 "fgpu.io/mps-pinned-device-mem-limit.c0: *4915M; "
                 "fgpu.io/mps-active-thread-percentage.c0: 20"),
    CREATE("one-more", 1, .limits = "nvidia.com/gpu.shared: 1", .selector = PLACED),
    REFUSED("one-more", "too few GPUs with enough free compute"),
    DELETE("six"),
    BOUND("one-more"),

    SAY("Where NVIDIA's plugin offers replicas, 10 of each of two GPUs, kubelet picks the GPU. fgpu only counts "
        "and says so. 4, 10 and 6 replicas are all of them."),
    CREATE("sold-four", 1, .limits = "nvidia.com/gpu: 4", .selector = SOLD),
    CREATE("sold-ten", 1, .limits = "nvidia.com/gpu: 10", .selector = SOLD),
    CREATE("sold-six", 1, .limits = "nvidia.com/gpu: 6", .selector = SOLD),
    BOUND_TO("sold-*", "sold-1"),
    HOLDS("sold-*", 0, 0, 0),
    CREATE("late", 1, .limits = "nvidia.com/gpu: 1", .selector = SOLD),
    REFUSED("late", "whole GPUs of the device plugin are taken"),

    SAY("fgpu places no shares on those GPUs, because nobody knows which of them has room. When a replica becomes "
        "free, the pod that waited gets it."),
    CREATE("share", 1, .limits = "fgpu.io/gpu-milli: 100", .selector = SOLD),
    REFUSED("share", "pods with whole GPUs of a device plugin run here"),
    DELETE("sold-six"),
    BOUND_TO("late", "sold-1"),
};

const struct scenario scenario_time_slicing = {
    .name = "time-slicing",
    .line = "Time-slicing and MPS: slices that fgpu places, and replicas that the plugin offers",
    .example = "slices.yaml",
    SCENARIO_NODES(nodes),
    SCENARIO_STEPS(steps),
};
