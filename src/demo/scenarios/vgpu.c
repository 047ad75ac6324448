#include "demo/scenarios/scenarios_internal.h"

#define WHOLE_GPUS "gpus: whole"
#define SLICES "gpus: slices"

static const struct scenario_node nodes[] = {
    {"gpu-node", .labels = WHOLE_GPUS, .model = "Tesla-V100-SXM2-32GB", .gpu_n = 2, .mem_mib = 32768},
    {"slices-8g", .labels = SLICES "; vgpu.type: v100-8q-8GB", .allocatable = "nvidia.com/gpu: 2", .model = "GRID-V100",
     .gpu_n = 2, .mem_mib = 8192, .secret = true},
    {"slices-4g", .labels = SLICES "; virtual.gpu.type: v100-4q-4GB", .allocatable = "nvidia.com/gpu: 2",
     .model = "GRID-V100", .gpu_n = 2, .mem_mib = 4096, .secret = true},
};

static const struct scenario_step steps[] = {
    SAY("nvidia.com/vgpu counts thousandths of a GPU. train-a asks for 300 of 1000 and train-b for 700. Together "
        "they are one GPU."),
    CREATE("train-a", 1, .limits = "nvidia.com/vgpu: 300", .selector = WHOLE_GPUS),
    BOUND("train-a"),
    CREATE("train-b", 1, .limits = "nvidia.com/vgpu: 700", .selector = WHOLE_GPUS),
    TOGETHER("train-*"),
    HOLDS("train-a", 1, 300, 9830),
    HOLDS("train-b", 1, 700, 22937),
    TOLD("train-*", "fgpu.io/visible-devices.c0: GPU-gpu-node-*"),

    SAY("1000 units are a whole GPU, and no other pod gets a part of it. The node is full: 1 more unit is refused."),
    CREATE("whole", 1, .limits = "nvidia.com/vgpu: 1000", .selector = WHOLE_GPUS),
    BOUND_TO("whole", "gpu-node"),
    CREATE("one-more", 1, .limits = "nvidia.com/vgpu: 1", .selector = WHOLE_GPUS),
    REFUSED("one-more", "too few GPUs with enough free compute"),

    SAY("train-a ends, and the pod that waited gets room in its 300 units."),
    DELETE("train-a"),
    BOUND_TO("one-more", "gpu-node"),

    SAY("Quality of service: train-b has a fixed share, 70 percent of the compute and no more. A best-effort pod "
        "is also charged its 200, and may use idle compute."),
    TOLD("train-b", "fgpu.io/mps-active-thread-percentage.c0: 70"),
    CREATE("scavenger", 1, .limits = "nvidia.com/vgpu: 200", .selector = WHOLE_GPUS,
           .annotations = "fgpu.io/qos: best-effort"),
    BOUND("scavenger"),
    HOLDS("scavenger", 1, 200, 6553),
    TOLD("scavenger", "fgpu.io/mps-active-thread-percentage.c0: 100"),

    SAY("Nodes with vGPU software have slices of a fixed profile, and a label names the profile. A pod takes a "
        "slice with nvidia.com/gpu: 1 and a nodeSelector, as before."),
    CREATE("desktop", 2, .limits = "nvidia.com/gpu: 1", .selector = "vgpu.type: v100-8q-8GB"),
    BOUND_TO("desktop-*", "slices-8g"),
    CREATE("latecomer", 1, .limits = "nvidia.com/gpu: 1", .selector = "vgpu.type: v100-8q-8GB"),
    REFUSED("latecomer", "whole GPUs of the device plugin are taken"),

    SAY("New: ask for memory and get the smallest profile that has it. 3 GiB fit into a slice of 4 GB, and the pod "
        "then takes the whole slice."),
    DELETE("desktop-*"),
    BOUND("latecomer"),
    DELETE("latecomer"),
    CREATE("notebook-a", 1, .annotations = "fgpu.io/gpu-memory: 3Gi", .selector = SLICES),
    BOUND_TO("notebook-a", "slices-4g"),
    CREATE("notebook-b", 1, .annotations = "fgpu.io/gpu-memory: 3Gi", .selector = SLICES),
    BOUND_TO("notebook-b", "slices-4g"),
    APART("notebook-*"),
    CREATE("larger", 1, .annotations = "fgpu.io/gpu-memory: 6Gi", .selector = SLICES),
    BOUND_TO("larger", "slices-8g"),

    SAY("fgpu reports an unknown profile and does not guess what its slices have."),
    PATCH("slices-4g", "{\"metadata\":{\"labels\":{\"virtual.gpu.type\":\"v100-4z-4GB\"}}}"),
    EVENT("slices-4g", "does not guess"),
    BOUND_TO("notebook-*", "slices-4g"),
};

const struct scenario scenario_vgpu = {
    .name = "vgpu",
    .line = "K8vGPUSharing: nvidia.com/vgpu in thousandths, quality of runtime, fixed slices",
    .example = "vgpu.yaml",
    SCENARIO_NODES(nodes),
    SCENARIO_STEPS(steps),
};
