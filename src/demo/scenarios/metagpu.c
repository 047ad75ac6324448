#include "demo/scenarios/scenarios_internal.h"

static const struct scenario_node nodes[] = {
    {"meta-1", .model = "NVIDIA-A10", .gpu_n = 3, .mem_mib = 24576},
};

static const struct scenario_step steps[] = {
    SAY("cnvrg.io/metagpu counts hundredths of a GPU. 30 and 70 together are one GPU, and each pod has its share "
        "of the memory."),
    CREATE("notebook", 1, .limits = "cnvrg.io/metagpu: 30"),
    BOUND("notebook"),
    CREATE("trainer", 1, .limits = "cnvrg.io/metagpu: 70"),
    BOUND("trainer"),
    TOGETHER("*"),
    HOLDS("notebook", 1, 300, 7372),
    HOLDS("trainer", 1, 700, 17203),

    SAY("150 units span two GPUs: one whole GPU and half of another one."),
    CREATE("spans", 1, .limits = "cnvrg.io/metagpu: 150"),
    BOUND("spans"),
    CREATE("too-much", 1, .limits = "cnvrg.io/metagpu: 51"),
    REFUSED("too-much", "too few GPUs with enough free compute"),
    CREATE("half", 1, .limits = "cnvrg.io/metagpu: 50"),
    BOUND("half"),
    HOLDS("half", 1, 500, 12288),

    SAY("All three GPUs are full: 1 more unit is refused until the notebook ends."),
    DELETE("too-much"),
    CREATE("late", 1, .limits = "cnvrg.io/metagpu: 1"),
    REFUSED("late", "too few GPUs with enough free compute"),
    DELETE("notebook"),
    BOUND("late"),
    HOLDS("late", 1, 10, 245),

    SAY("fgpu's own request format uses the same GPUs: 290 milli, or 29 units, are left of that GPU."),
    CREATE("native", 1, .limits = "fgpu.io/gpu-milli: 290"),
    BOUND("native"),
    CREATE("too-late", 1, .limits = "cnvrg.io/metagpu: 1"),
    REFUSED("too-late", "too few GPUs with enough free compute"),
};

const struct scenario scenario_metagpu = {
    .name = "metagpu",
    .line = "MetaGPU: cnvrg.io/metagpu in hundredths of a GPU",
    .example = "metagpu.yaml",
    SCENARIO_NODES(nodes),
    SCENARIO_STEPS(steps),
};
