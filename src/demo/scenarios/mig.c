#include "demo/scenarios/scenarios_internal.h"

#define A100 .model = "NVIDIA-A100-SXM4-40GB", .mem_mib = 40960

static const struct scenario_node nodes[] = {
    {"a100-sevenths", A100, .gpu_n = 1, .mig = "1g.5gb@0 1g.5gb@1 1g.5gb@2 1g.5gb@3 1g.5gb@4 1g.5gb@5 1g.5gb@6"},
    {"a100-thirds", A100, .gpu_n = 1, .mig = "2g.10gb@0 2g.10gb@2 2g.10gb@4"},
    {"a100-mixed", A100, .gpu_n = 2, .mig = "3g.20gb@4 1g.5gb@0; -"},
};

static const struct scenario_step steps[] = {
    SAY("An A100 of 40 GB is cut into seven 1g.5gb and serves seven pods. Each pod gets its own instance."),
    CREATE("seventh", 7, .limits = "nvidia.com/mig-1g.5gb: 1", .selector = "kubernetes.io/hostname: a100-sevenths"),
    BOUND_TO("seventh-*", "a100-sevenths"),
    APART("seventh-*"),
    TOLD("seventh-*", "fgpu.io/visible-devices.c0: MIG-a100-sevenths-0-*"),

    SAY("One workload per instance: the eighth waits until one is free."),
    CREATE("eighth", 1, .limits = "nvidia.com/mig-1g.5gb: 1", .selector = "kubernetes.io/hostname: a100-sevenths"),
    REFUSED("eighth", "MIG instances of the profile are taken"),
    DELETE("seventh-3"),
    BOUND_TO("eighth", "a100-sevenths"),

    SAY("Some texts name four 2g.10gb on one A100, but they do not exist: 2g starts at slot 0, 2 or 4. Three fit, "
        "and the fourth is refused."),
    CREATE("third", 3, .limits = "nvidia.com/mig-2g.10gb: 1"),
    BOUND_TO("third-*", "a100-thirds"),
    APART("third-*"),
    CREATE("fourth", 1, .limits = "nvidia.com/mig-2g.10gb: 1"),
    REFUSED("fourth", "MIG instances of the profile are taken"),
    CREATE("four-at-once", 1, .limits = "nvidia.com/mig-2g.10gb: 4"),
    REFUSED("four-at-once", "GPUs cannot be cut into so many instances of the MIG profile"),

    SAY("A request for memory alone gets the smallest instance that has it. If no instance is left, it gets a "
        "share of a GPU."),
    CREATE("small", 1, .annotations = "fgpu.io/gpu-memory: 4Gi", .selector = "kubernetes.io/hostname: a100-mixed"),
    TOLD("small", "fgpu.io/visible-devices.c0: MIG-a100-mixed-0-0"),
    CREATE("large", 1, .annotations = "fgpu.io/gpu-memory: 12Gi", .selector = "kubernetes.io/hostname: a100-mixed"),
    TOLD("large", "fgpu.io/visible-devices.c0: MIG-a100-mixed-0-4"),
    CREATE("rest", 1, .annotations = "fgpu.io/gpu-memory: 4Gi", .selector = "kubernetes.io/hostname: a100-mixed"),
    TOLD("rest", "fgpu.io/visible-devices.c0: GPU-a100-mixed-1"),

    SAY("The MIG manager changes the layout of a node. In that time the node takes no new pods."),
    PATCH("a100-thirds", "{\"metadata\":{\"labels\":{\"nvidia.com/mig.config.state\":\"pending\"}}}"),
    DELETE("third-1"),
    REFUSED("fourth", "MIG layout of the node is being changed"),
    PATCH("a100-thirds", "{\"metadata\":{\"labels\":{\"nvidia.com/mig.config.state\":\"success\"}}}"),
    BOUND_TO("fourth", "a100-thirds"),
};

const struct scenario scenario_mig = {
    .name = "mig",
    .line = "MIG: instances of A100s, one workload per instance, the smallest instance that fits",
    SCENARIO_NODES(nodes),
    SCENARIO_STEPS(steps),
};
