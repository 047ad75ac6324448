#include "demo/stories/stories_internal.h"

static const struct story_node nodes[] = {
    {"inference-1", .model = "NVIDIA-L40S", .gpu_n = 1, .mem_mib = 46068},
};

static const struct story_step steps[] = {
    SAY("Models state the memory they need and nothing else. Two share one L40S: 20 GiB and 22 GiB "
        "of its 45; both may "
        "use all its compute."),
    CREATE("model-a", 1, .annotations = "fgpu.io/gpu-memory: 20Gi"),
    CREATE("model-b", 1, .annotations = "fgpu.io/gpu-memory: 22Gi"),
    BOUND("model-*"),
    TOGETHER("model-*"),
    HOLDS("model-a", 1, 0, 20480),
    HOLDS("model-b", 1, 0, 22528),

    SAY("2.5 GiB are left behind the reserve for the driver: a model of 4 GiB is refused, however "
        "idle the GPU is."),
    CREATE("model-c", 1, .annotations = "fgpu.io/gpu-memory: 4Gi"),
    REFUSED("model-c", "too few GPUs with enough free memory"),
    CREATE("too-large", 1, .annotations = "fgpu.io/gpu-memory: 45Gi"),
    REFUSED("too-large", "every GPU has less memory than the pod asks for"),

    SAY("The first model goes, the one that waited comes."),
    DELETE("model-a"),
    BOUND("model-c"),
    TOGETHER("model-*"),

    SAY("A cap on sharers keeps time slices short: eight on one GPU here. Two models are there, "
        "six small ones join "
        "them, the ninth waits although there is memory."),
    CREATE("small", 6, .annotations = "fgpu.io/gpu-memory: 1Gi"),
    BOUND("small-*"),
    TOGETHER("small-*"),
    CREATE("ninth", 1, .annotations = "fgpu.io/gpu-memory: 1Gi"),
    REFUSED("ninth", "GPUs with room already have the maximum number of sharers"),
};

const struct story story_memory = {
    .name = "memory",
    .line = "Placement by memory (Clarifai): pods say how much memory they need, compute is shared "
            "by all",
    .example = "memory-only.yaml",
    STORY_NODES(nodes),
    STORY_STEPS(steps),
};
