#include "demo/scenarios/scenarios_internal.h"

static const struct scenario_node nodes[] = {
    {"dgx-1", .model = "NVIDIA-A100-SXM4-80GB", .gpu_n = 3, .mem_mib = 81920},
};

static const struct scenario_step steps[] = {
    SAY("Annotations of Run:ai on fgpu's scheduler: two pods with gpu-fraction 0.5 share one GPU. Each pod gets "
        "the GPU and its memory limit by annotations."),
    CREATE("half", 2, .annotations = "gpu-fraction: 0.5"),
    BOUND("half-*"),
    TOGETHER("half-*"),
    HOLDS("half-*", 1, 500, 40950),
    TOLD("half-*", "fgpu.io/visible-devices.c0: GPU-dgx-1-*; fgpu.io/mps-pinned-device-mem-limit.c0: *40950M"),

    SAY("Eight pods with an eighth each share the second GPU."),
    CREATE("eighth", 8, .annotations = "gpu-fraction: 0.125"),
    BOUND("eighth-*"),
    TOGETHER("eighth-*"),
    HOLDS("eighth-*", 1, 125, 10237),

    SAY("gpu-memory asks in MiB: 20480 are 260 thousandths, rounded up as in Run:ai. 0.75 on the same GPU is too "
        "much and waits; 0.7 fits."),
    CREATE("memory", 1, .annotations = "gpu-memory: 20480"),
    BOUND("memory"),
    HOLDS("memory", 1, 260, 20480),
    CREATE("three-quarters", 1, .annotations = "gpu-fraction: 0.75"),
    REFUSED("three-quarters", "too few GPUs with enough free"),
    CREATE("seven-tenths", 1, .annotations = "gpu-fraction: 0.7"),
    BOUND("seven-tenths"),

    SAY("An invalid fraction is refused with the reason, on every node at once."),
    CREATE("not-a-number", 1, .annotations = "gpu-fraction: NaN"),
    CREATE("nothing", 1, .annotations = "gpu-fraction: 0"),
    CREATE("too-much", 1, .annotations = "gpu-fraction: 1.5"),
    CREATE("both", 1, .annotations = "gpu-fraction: 0.1; gpu-memory: 100"),
    REFUSED("not-a-number", "annotation gpu-fraction is not possible"),
    REFUSED("nothing", "annotation gpu-fraction is not possible"),
    REFUSED("too-much", "annotation gpu-fraction is not possible"),
    REFUSED("both", "use annotation gpu-fraction or gpu-memory but not both"),

    SAY("The two halves end. A pod with the same fraction of two different GPUs starts, and so does the pod that "
        "waited."),
    DELETE("half-*"),
    BOUND("three-quarters"),
    DELETE("eighth-*"),
    CREATE("pair", 1, .annotations = "gpu-fraction: 0.2; gpu-fraction-num-devices: 2"),
    BOUND("pair"),
    HOLDS("pair", 2, 200, 16380),
};

const struct scenario scenario_runai = {
    .name = "runai",
    .line = "Run:ai and KAI: gpu-fraction and gpu-memory, many pods on one GPU",
    .example = "runai.yaml",
    SCENARIO_NODES(nodes),
    SCENARIO_STEPS(steps),
};
