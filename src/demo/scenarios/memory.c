#include "demo/scenarios/scenarios_internal.h"

static const struct scenario_node nodes[] = {
    {"inference-1", .model = "NVIDIA-L40S", .gpu_n = 1, .mem_mib = 46068},
};

static const struct scenario_step steps[] = {
    SAY("Models ask only for the memory that they need. Two models share one L40S: 20 GiB and 22 GiB of its 45 "
        "GiB. Both may use all of its compute."),
    CREATE("model-a", 1, .annotations = "fgpu.io/gpu-memory: 20Gi"),
    CREATE("model-b", 1, .annotations = "fgpu.io/gpu-memory: 22Gi"),
    BOUND("model-*"),
    TOGETHER("model-*"),
    HOLDS("model-a", 1, 0, 20480),
    HOLDS("model-b", 1, 0, 22528),

    SAY("After the reserve for the driver 2.5 GiB are left. So a model of 4 GiB is refused, even if the GPU is "
        "idle."),
    CREATE("model-c", 1, .annotations = "fgpu.io/gpu-memory: 4Gi"),
    REFUSED("model-c", "too few GPUs with enough free memory"),
    CREATE("too-large", 1, .annotations = "fgpu.io/gpu-memory: 45Gi"),
    REFUSED("too-large", "every GPU has less memory than the pod asks for"),

    SAY("The first model ends, and the model that waited starts."),
    DELETE("model-a"),
    BOUND("model-c"),
    TOGETHER("model-*"),

    SAY("A limit of sharers keeps time slices short: here eight containers on one GPU. Two models run, six small "
        "ones join them, and the ninth waits although there is memory."),
    CREATE("small", 6, .annotations = "fgpu.io/gpu-memory: 1Gi"),
    BOUND("small-*"),
    TOGETHER("small-*"),
    CREATE("ninth", 1, .annotations = "fgpu.io/gpu-memory: 1Gi"),
    REFUSED("ninth", "GPUs with room already have the maximum number of sharers"),
};

const struct scenario scenario_memory = {
    .name = "memory",
    .line = "Placement by memory (Clarifai): pods say how much memory they need, and all share the compute",
    .example = "memory-only.yaml",
    SCENARIO_NODES(nodes),
    SCENARIO_STEPS(steps),
};
