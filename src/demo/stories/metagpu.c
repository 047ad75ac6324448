#include "demo/stories/stories_internal.h"

static const struct story_node nodes[] = {
    {"meta-1", .model = "NVIDIA-A10", .gpu_n = 3, .mem_mib = 24576},
};

static const struct story_step steps[] = {
    SAY("cnvrg.io/metagpu counts hundredths of a GPU: 30 and 70 are one GPU together, and each has "
        "its share of the "
        "memory."),
    CREATE("notebook", 1, .limits = "cnvrg.io/metagpu: 30"),
    BOUND("notebook"),
    CREATE("trainer", 1, .limits = "cnvrg.io/metagpu: 70"),
    BOUND("trainer"),
    TOGETHER("*"),
    HOLDS("notebook", 1, 300, 7372),
    HOLDS("trainer", 1, 700, 17203),

    SAY("200 units are two whole GPUs, two different ones."),
    CREATE("pair", 1, .limits = "cnvrg.io/metagpu: 200"),
    BOUND("pair"),
    HOLDS("pair", 2, 1000, 24576),

    SAY("Nothing is left of three GPUs: 1 unit more is refused, until the notebook goes."),
    CREATE("late", 1, .limits = "cnvrg.io/metagpu: 1"),
    REFUSED("late", "too few GPUs with enough free compute"),
    DELETE("notebook"),
    BOUND("late"),
    HOLDS("late", 1, 10, 245),

    SAY("fgpu's own vocabulary draws from the same GPUs: 290 milli and 29 units are left of that "
        "GPU, not both."),
    CREATE("native", 1, .limits = "fgpu.io/gpu-milli: 290"),
    BOUND("native"),
    CREATE("too-late", 1, .limits = "cnvrg.io/metagpu: 1"),
    REFUSED("too-late", "too few GPUs with enough free compute"),
};

const struct story story_metagpu = {
    .name = "metagpu",
    .line = "MetaGPU: cnvrg.io/metagpu in hundredths of a GPU",
    .example = "metagpu.yaml",
    STORY_NODES(nodes),
    STORY_STEPS(steps),
};
