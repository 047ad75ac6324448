#include "model/policy.h"

#include "base/compiler.h"

static const struct compute_resource default_compute[] = {
    {{"fgpu.io/gpu-milli", 17}, 1000},
};
static const struct str default_memory[] = {{"fgpu.io/gpu-memory-mib", 22}};
static const struct str default_count[] = {{"fgpu.io/gpu-count", 17}};
static const struct str default_whole[] = {{"nvidia.com/gpu", 14}};

static const struct policy defaults = {
    .compute_resources = default_compute,
    .compute_resource_n = ARRAY_LEN(default_compute),
    .memory_resources = default_memory,
    .memory_resource_n = ARRAY_LEN(default_memory),
    .count_resources = default_count,
    .count_resource_n = ARRAY_LEN(default_count),
    .whole_resources = default_whole,
    .whole_resource_n = ARRAY_LEN(default_whole),
    .memory_only = MEMORY_ONLY_SHARE,
    .mem_reserve_mib = 0,
    .max_sharers = 16,
    .overcommit_milli = 1000,
    .overcommit_mem_milli = 1000,
    .node_strategy = {"tight-fit", 9},
    .device_strategy = {"tight-fit", 9},
    .candidates = 100,
    .hold_ms = 3000,
};

const struct policy *policy_defaults(void)
{
    return &defaults;
}

bool policy_names_namespace(const struct str *patterns, size_t n, struct str namespace_)
{
    for (size_t i = 0; i < n; i++) {
        if (str_match_glob(patterns[i], namespace_)) {
            return true;
        }
    }
    return false;
}
