#include "model/policy.h"

#include "base/compiler.h"

static const struct compute_resource default_compute[] = {
    {{"fgpu.io/gpu-milli", 17}, 1000, ABOVE_REFUSE, PICKS_FGPU},
};
static const struct str default_memory[] = {{"fgpu.io/gpu-memory-mib", 22}};
static const struct str default_count[] = {{"fgpu.io/gpu-count", 17}};
static const struct str default_whole[] = {{"nvidia.com/gpu", 14}, {"nvidia.com/gpu.shared", 21}};

static const struct str default_drivers[] = {{"gpu.nvidia.com", 14}, {"gpu.amd.com", 11}, {"gpu.intel.com", 13}};

static const struct policy defaults = {
    .compute_resources = default_compute,
    .compute_resource_n = ARRAY_LEN(default_compute),
    .memory_resources = default_memory,
    .memory_resource_n = ARRAY_LEN(default_memory),
    .count_resources = default_count,
    .count_resource_n = ARRAY_LEN(default_count),
    .whole_resources = default_whole,
    .whole_resource_n = ARRAY_LEN(default_whole),
    .slice_drivers = default_drivers,
    .slice_driver_n = ARRAY_LEN(default_drivers),
    .kai = DIALECT_IGNORE, /* its keys have no prefix: they may be somebody else's */
    .memory_only = MEMORY_ONLY_SHARE,
    .mem_reserve_mib = 0,
    .max_sharers = 16,
    .overcommit_milli = 1000,
    .overcommit_mem_milli = 1000,
    .qos = QOS_FIXED_SHARE,
    .lending = LEND_ALLOW,
    .hand_off = HAND_OFF_DOWNWARD_API,
    .node_strategy = {"rsp", 3},
    .device_strategy = {"rsp", 3},
    .shadow_node_strategy = {POLICY_NO_SHADOW, 4},
    .shadow_device_strategy = {POLICY_NO_SHADOW, 4},
    .candidates = 100,
    .tentative_ms = 3000,
};

const char *gpu_vendor_name(enum gpu_vendor v)
{
    static const char *const names[VENDOR__MAX] = {
        [VENDOR_NVIDIA] = "nvidia", [VENDOR_AMD] = "amd", [VENDOR_INTEL] = "intel", [VENDOR_OTHER] = "other"};

    return names[v];
}

static bool is_of_units(const struct policy *p, struct str name)
{
    bool found = false;

    for (size_t i = 0; i < p->compute_resource_n; i++) {
        found = found || str_eq(p->compute_resources[i].name, name);
    }
    return found;
}

struct plugin_resource policy_plugin_of(const struct policy *p, struct str name)
{
    static const struct plugin_resource domains[] = {
        {{"nvidia.com/", 11}, VENDOR_NVIDIA, true},
        {{"cnvrg.io/", 9}, VENDOR_NVIDIA, true},
        {{"amd.com/", 8}, VENDOR_AMD, false},
        {{"gpu.intel.com/", 14}, VENDOR_INTEL, false},
    };
    const bool units = is_of_units(p, name);
    struct plugin_resource known = {name, units ? VENDOR_NVIDIA : VENDOR_OTHER, units};

    for (size_t i = 0; i < ARRAY_LEN(domains); i++) {
        if (str_starts(name, domains[i].name)) {
            known = (struct plugin_resource){name, domains[i].vendor, units || domains[i].shareable};
        }
    }
    for (size_t i = 0; i < p->plugin_n; i++) {
        if (str_eq(p->plugins[i].name, name)) {
            known = (struct plugin_resource){name, p->plugins[i].vendor, units || p->plugins[i].shareable};
        }
    }
    return known;
}

const struct policy *policy_defaults(void)
{
    return &defaults;
}

struct device_settings policy_devices_of(const struct policy *p, struct kv_list node_labels)
{
    struct device_settings s = {.mem_reserve_mib = p->mem_reserve_mib,
                                .max_sharers = p->max_sharers,
                                .overcommit_milli = p->overcommit_milli,
                                .overcommit_mem_milli = p->overcommit_mem_milli,
                                .memory_only = p->memory_only,
                                .qos = p->qos,
                                .lending = p->lending,
                                .hand_off = p->hand_off};

    for (size_t i = 0; i < p->override_n; i++) {
        const struct device_settings *o = &p->overrides[i].settings;

        if (!kv_has_all(node_labels, p->overrides[i].node_selector)) {
            continue;
        }
        s.mem_reserve_mib = o->mem_reserve_mib >= 0 ? o->mem_reserve_mib : s.mem_reserve_mib;
        s.max_sharers = o->max_sharers >= 0 ? o->max_sharers : s.max_sharers;
        s.overcommit_milli = o->overcommit_milli >= 0 ? o->overcommit_milli : s.overcommit_milli;
        s.overcommit_mem_milli = o->overcommit_mem_milli >= 0 ? o->overcommit_mem_milli : s.overcommit_mem_milli;
        s.memory_only = o->memory_only != MEMORY_ONLY__MAX ? o->memory_only : s.memory_only;
        s.qos = o->qos != QOS__MAX ? o->qos : s.qos;
        s.lending = o->lending != LEND__MAX ? o->lending : s.lending;
        s.hand_off = o->hand_off != HAND_OFF__MAX ? o->hand_off : s.hand_off;
        break;
    }
    return s;
}

const struct named_size *policy_size_of(const struct policy *p, struct str name, struct str namespace_,
                                        struct named_size *buffer, bool *ret_elsewhere)
{
    const struct named_size *s = NULL;

    *ret_elsewhere = false;
    for (size_t i = 0; i < p->size_n && s == NULL; i++) {
        s = str_eq(p->sizes[i].name, name) ? &p->sizes[i] : NULL;
    }
    if (namespace_.n == 0) {
        return s;
    }
    for (size_t i = 0; s != NULL && i < s->variant_n; i++) {
        const struct size_variant *v = &s->variants[i];

        if (policy_names_namespace(v->namespaces, v->namespace_n, namespace_)) {
            *buffer = (struct named_size){.name = name, .milli = v->milli, .mem_mib = v->mem_mib, .count = v->count};
            return buffer;
        }
    }
    if (s == NULL || s->namespace_n == 0 || policy_names_namespace(s->namespaces, s->namespace_n, namespace_)) {
        return s;
    }
    *ret_elsewhere = true;
    return NULL;
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
