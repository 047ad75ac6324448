/* What is wrong with a demand, and kinds of GPU requests, in words. */
#include "base/bug.h"
#include "core/request/demand.h"

struct defect_words {
    const char *name;
    const char *text;
};

#define UNKNOWN_KEY "the pod has a key under fgpu.io/ that fgpu does not know: you probably meant "

static const struct defect_words words[DEMAND_DEFECT__MAX] = {
    [DEMAND_OK] = {"ok", "ok"},
    [DEMAND_QUANTITY] = {"quantity", "GPU request is not a valid amount: use a whole number as resource "
                                     "or a quantity like 0.3 or 4Gi as annotation"},
    [DEMAND_TOO_LARGE] = {"too_large", "GPU request is larger than any machine: check its unit (memory "
                                       "resources count MiB)"},
    [DEMAND_FRACTION] = {"fraction", "GPU share is not possible: use 0.001 to 1 of a GPU in steps of "
                                     "0.001 or a whole number of GPUs"},
    [DEMAND_COUNT] = {"count", "number of GPUs is not possible: use 1 to 64"},
    [DEMAND_TWICE] = {"twice", "GPUs are requested twice: use container resources or annotations or a "
                               "named size but only one of them"},
    [DEMAND_CONTRADICTION] = {"contradiction", "GPU request contradicts itself: with a count or memory give "
                                               "the compute of one GPU"},
    [DEMAND_UNKNOWN_SIZE] = {"unknown_size", "fgpu.io/size names no size of the fgpu configuration: use a name that "
                                             "stands there under sizes"},
    [DEMAND_SIZE_ELSEWHERE] = {"size_elsewhere",
                               "fgpu.io/size names a size that the fgpu configuration keeps for other "
                               "namespaces"},
    [DEMAND_SIZE_AMOUNT] = {"size_amount", "fgpu.io/size.NAME as resource is 1: for more define a size with a count"},
    [DEMAND_UNKNOWN_CONTAINER] = {"unknown_container", "annotation fgpu.io/container names no container "
                                                       "in spec.containers"},
    [DEMAND_MIXED_KINDS] = {"mixed_kinds", "whole GPUs of a device plugin or MIG instances beside shares of "
                                           "fgpu in one pod: "
                                           "use one kind"},
    [DEMAND_CONSTRAINT] = {"constraint", "annotation fgpu.io/gpu-model or gpu-uuid or isolate-from or qos "
                                         "is malformed"},
    [DEMAND_MIG] = {"mig", "MIG request is not possible: ask for one profile like 1g.5gb per container "
                           "and for nothing else"},
    [DEMAND_TOO_MANY] = {"too_many", "more than 64 containers of the pod use GPUs"},
    [DEMAND_VOCABULARIES] = {"vocabularies",
                             "GPUs are requested in two vocabularies: use names of fgpu.io or resources or "
                             "annotation gpu-fraction but only one"},
    [DEMAND_KAI_FRACTION] = {"kai_fraction",
                             "annotation gpu-fraction is not possible: use a number like 0.5 above 0 and below "
                             "1 with at most three decimals"},
    [DEMAND_KAI_MEMORY] = {"kai_memory",
                           "annotation gpu-memory is not possible: use a whole number of MiB without a unit"},
    [DEMAND_KAI_TWICE] = {"kai_twice", "use annotation gpu-fraction or gpu-memory but not both: and "
                                       "gpu-fraction-num-devices only beside one of them"},
    [DEMAND_KAI_CONTAINER] = {"kai_container", "annotation gpu-fraction-container-name names no container of the pod"},
    [DEMAND_MEMORY_UNIT] = {"memory_unit",
                            "annotation fgpu.io/gpu-memory needs a unit and at least 1Mi: 4096 was probably meant "
                            "as 4096Mi"},
    [DEMAND_KEY_ANNOTATION] = {"key_annotation", "the pod has an annotation under fgpu.io/ that fgpu does not know: "
                                                 "correct or remove it"},
    [DEMAND_KEY_RESOURCE] = {"key_resource", "a container asks for a resource under fgpu.io/ that the fgpu "
                                             "configuration does not name"},
    [DEMAND_MEANT_FRACTION] = {"meant_fraction", UNKNOWN_KEY "annotation fgpu.io/gpu-fraction"},
    [DEMAND_MEANT_MEMORY] = {"meant_memory", UNKNOWN_KEY "annotation fgpu.io/gpu-memory"},
    [DEMAND_MEANT_COUNT] = {"meant_count", UNKNOWN_KEY "annotation fgpu.io/gpu-count"},
    [DEMAND_MEANT_SIZE] = {"meant_size", UNKNOWN_KEY "annotation fgpu.io/size"},
    [DEMAND_MEANT_PROFILE] = {"meant_profile", UNKNOWN_KEY "annotation fgpu.io/mig-profile"},
    [DEMAND_MEANT_CONTAINER] = {"meant_container", UNKNOWN_KEY "annotation fgpu.io/container"},
    [DEMAND_MEANT_MODEL] = {"meant_model", UNKNOWN_KEY "annotation fgpu.io/gpu-model"},
    [DEMAND_MEANT_UUID] = {"meant_uuid", UNKNOWN_KEY "annotation fgpu.io/gpu-uuid"},
    [DEMAND_MEANT_ISOLATE] = {"meant_isolate", UNKNOWN_KEY "annotation fgpu.io/isolate-from"},
    [DEMAND_MEANT_QOS] = {"meant_qos", UNKNOWN_KEY "annotation fgpu.io/qos"},
    [DEMAND_MEANT_MILLI_RESOURCE] = {"meant_milli_resource", UNKNOWN_KEY "container resource fgpu.io/gpu-milli"},
    [DEMAND_MEANT_MEMORY_RESOURCE] = {"meant_memory_resource", UNKNOWN_KEY "container resource fgpu.io/gpu-memory-mib"},
    [DEMAND_MEANT_COUNT_RESOURCE] = {"meant_count_resource", UNKNOWN_KEY "container resource fgpu.io/gpu-count"},
};

static const struct defect_words *defect_words_of(enum demand_defect d)
{
    BUG_ON((unsigned)d >= DEMAND_DEFECT__MAX);
    return &words[d];
}

const char *demand_defect_text(enum demand_defect d)
{
    return defect_words_of(d)->text;
}

const char *demand_defect_name(enum demand_defect d)
{
    return defect_words_of(d)->name;
}

const char *gpu_request_kind_name(enum gpu_request_kind k)
{
    static const char *const names[GPU_REQUEST_KIND__MAX] = {
        [GPU_REQUEST_BOTH] = "both",   [GPU_REQUEST_MILLI] = "milli",       [GPU_REQUEST_MEMORY] = "memory",
        [GPU_REQUEST_WHOLE] = "whole", [GPU_REQUEST_FRACTION] = "fraction", [GPU_REQUEST_PORTION] = "portion",
    };

    BUG_ON((unsigned)k >= GPU_REQUEST_KIND__MAX);
    return names[k];
}
