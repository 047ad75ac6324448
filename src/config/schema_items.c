/* The keys of the elements of lists and maps, in the order of the file. */
#include "config/schema_rows.h"

static const struct schema_field namespace_item = {SCALAR(SCHEMA_NAMESPACE)};
static const struct schema_field argument_item = {SCALAR(SCHEMA_TEXT), RANGE(0, FILE_NAME_MAX)};
static const struct schema_field days_item = {SCALAR(SCHEMA_DAYS)};
static const struct schema_field label_key = KEY("", SCHEMA_LABEL_KEY, IN(struct kv, key));
static const struct schema_field label_value = {SCALAR(SCHEMA_LABEL_VALUE), IN(struct kv, value)};

#define NAMESPACES(in_, ...)                                                                                           \
    KEY("namespaces", SCHEMA_LIST, IN(in_, namespaces),                                                                \
        IN_ITEMS(&namespace_item, struct str, in_, namespace_n, 1, ENTRIES_MAX), __VA_ARGS__)
#define SELECTOR(name_, in_, member_, ...)                                                                             \
    KEY(name_, SCHEMA_MAP, IN(in_, member_.items),                                                                     \
        IN_ITEMS(&label_value, struct kv, in_, member_.n, 1, PACKING_SELECTOR_MAX), .key = &label_key, __VA_ARGS__)
/* How much a size is, or a variant of it. */
#define AMOUNT_KEYS(in_, check_milli_)                                                                                 \
    KEY("milli", SCHEMA_INT, IN(in_, milli), RANGE(1, DEVICES_PER_NODE_MAX *DEVICE_MILLI), .check = (check_milli_),    \
        HELP("thousandths of a GPU's compute")),                                                                       \
        KEY("memory", SCHEMA_MIB, IN(in_, mem_mib), RANGE(1, DEVICE_MIB_MAX), HELP("device memory on each GPU")),      \
        KEY("count", SCHEMA_INT, IN(in_, count), RANGE(1, DEVICES_PER_NODE_MAX), HELP("number of GPUs"))

static const struct schema_field compute_rows[] = {
    KEY("name", SCHEMA_RESOURCE, IN(struct compute_resource, name), .required = true,
        HELP("resource that counts shares of a GPU's compute")),
    KEY("unitsPerGPU", SCHEMA_INT, IN(struct compute_resource, units_per_gpu), .required = true, RANGE(1, 1000000),
        HELP("units that make one GPU")),
    KEY("picks", SCHEMA_WORD, IN(struct compute_resource, picks),
        WORDS([PICKS_FGPU] = "fgpu", [PICKS_KUBELET] = "kubelet"),
        HELP("who picks the GPU: fgpu, or kubelet for a device plugin that publishes the resource")),
    KEY("aboveOneGPU", SCHEMA_WORD, IN(struct compute_resource, above_one_gpu),
        WORDS([ABOVE_REFUSE] = "refuse", [ABOVE_SPAN] = "span"),
        HELP("requests above one GPU that are not a multiple of it; span takes whole GPUs and a part of one more")),
};
static const struct compute_resource compute_absent = {.above_one_gpu = ABOVE_REFUSE};
const struct schema_field schema_compute_item =
    ELEMENT(compute_rows, .item_absent = &compute_absent, .check = schema_check_compute);

static const struct schema_field plugin_rows[] = {
    KEY("name", SCHEMA_RESOURCE, IN(struct plugin_resource, name), .required = true,
        HELP("resource of a device plugin, from resources.whole or resources.compute")),
    KEY("vendor", SCHEMA_WORD, IN(struct plugin_resource, vendor), .required = true,
        WORDS([VENDOR_NVIDIA] = "nvidia", [VENDOR_AMD] = "amd", [VENDOR_INTEL] = "intel", [VENDOR_OTHER] = "other"),
        HELP("whose devices they are")),
    KEY("shareable", SCHEMA_FLAG, IN(struct plugin_resource, shareable),
        HELP("pods may share these GPUs, as far as allocatable counts them")),
};
static const struct plugin_resource plugin_absent = {.vendor = VENDOR_NVIDIA};
const struct schema_field schema_plugin_item = ELEMENT(plugin_rows, .item_absent = &plugin_absent);

static const struct schema_field variant_rows[] = {
    NAMESPACES(struct size_variant, .required = true, HELP("namespaces of the pods, '*' for any text")),
    AMOUNT_KEYS(struct size_variant, schema_check_variant_milli),
};
static const struct schema_field variant_item = ELEMENT(variant_rows, .check = schema_check_variant);

static const struct schema_field size_rows[] = {
    AMOUNT_KEYS(struct named_size, schema_check_size_milli),
    NAMESPACES(struct named_size, HELP("namespaces whose pods may use the size, '*' for any text")),
    KEY("variants", SCHEMA_LIST, IN(struct named_size, variants),
        IN_ITEMS(&variant_item, struct size_variant, struct named_size, variant_n, 1, SIZE_VARIANTS_MAX),
        HELP("other values for pods of some namespaces; the first element that names the namespace applies")),
};
const struct schema_field schema_size_key = KEY("", SCHEMA_NAME, IN(struct named_size, name));
const struct schema_field schema_size_item = ELEMENT(size_rows, .check = schema_check_size);

static const struct schema_field template_rows[] = {
    KEY("label", SCHEMA_LABEL, IN(struct node_template, label), .offset2 = offsetof(struct node_template, value),
        .required = true, HELP("every node with this label")),
    KEY("gpus", SCHEMA_INT, IN(struct node_template, gpu_n), RANGE(1, DEVICES_PER_NODE_MAX), HELP("number of GPUs")),
    KEY("allocatable", SCHEMA_WORD, IN(struct node_template, allocatable),
        WORDS([ALLOCATABLE_IGNORE] = "ignore", [ALLOCATABLE_WHOLE_GPUS] = POLICY_WHOLE_GPUS),
        HELP("use it instead of gpus: whole-gpus says that allocatable counts whole GPUs on these nodes")),
    KEY("memory", SCHEMA_MIB, IN(struct node_template, mem_mib), .required = true, RANGE(1, DEVICE_MIB_MAX),
        HELP("memory of each GPU")),
    KEY("model", SCHEMA_TEXT, IN(struct node_template, model), RANGE(0, 128),
        HELP("model name, for fgpu.io/gpu-model")),
};
const struct schema_field schema_template_item = ELEMENT(template_rows, .check = schema_check_template);

#define AT_SETTINGS(member_) IN(struct device_override, settings.member_)

static const struct schema_field override_overcommit_rows[] = {
    OVERCOMMIT_KEYS(AT_SETTINGS, RESTART),
};
static const struct schema_field override_rows[] = {
    SELECTOR("nodeSelector", struct device_override, node_selector, .required = true,
             HELP("labels that a node must have, all of them")),
    SHARING_KEYS(AT_SETTINGS, RESTART),
    SECTION("overcommit", override_overcommit_rows),
};
static const struct device_override override_absent = {
    .settings = {DEVICES_AS_ELSEWHERE, DEVICES_AS_ELSEWHERE, DEVICES_AS_ELSEWHERE, DEVICES_AS_ELSEWHERE,
                 MEMORY_ONLY__MAX, QOS__MAX, LEND__MAX, HAND_OFF__MAX}};
const struct schema_field schema_override_item =
    ELEMENT(override_rows, .item_absent = &override_absent, .check = schema_check_override);

static const struct schema_field rule_rows[] = {
    NAMESPACES(struct packing_rule, HELP("namespaces of the pods, '*' for any text")),
    SELECTOR("podSelector", struct packing_rule, pod_selector, HELP("labels that a pod must have, all of them")),
    SELECTOR("nodeSelector", struct packing_rule, node_selector, HELP("labels that a node must have, all of them")),
    KEY("nodeStrategy", SCHEMA_CRITERIA, IN(struct packing_rule, node_strategy),
        .offset2 = offsetof(struct packing_rule, node_criteria), HELP("preference among nodes")),
    KEY("deviceStrategy", SCHEMA_STRATEGY, IN(struct packing_rule, device_strategy),
        HELP("preference among the GPUs of a node")),
};
static const struct packing_rule rule_absent = {.namespace_n = 0};
const struct schema_field schema_rule_item =
    ELEMENT(rule_rows, .item_absent = &rule_absent, .check = schema_check_rule);

static const struct schema_field tenant_rows[] = {
    KEY("name", SCHEMA_NAME, IN(struct tenant, name), .required = true,
        HELP("name of the tenant in /state and metrics")),
    NAMESPACES(struct tenant, .required = true, HELP("its namespaces, '*' for any text")),
    KEY("gpuShare", SCHEMA_PERCENT, IN(struct tenant, gpu_permille), RANGE(0, PERMILLE_MAX),
        HELP("part of the compute of all GPUs that the tenant may hold")),
    KEY("milli", SCHEMA_INT, IN(struct tenant, milli), RANGE(0, 1000000000),
        HELP("compute that the tenant may hold, in thousandths of a GPU")),
    KEY("memory", SCHEMA_MIB_OR_PERCENT, IN(struct tenant, mem_mib), .offset2 = offsetof(struct tenant, mem_permille),
        RANGE(0, INT64_C(1) << 40), HELP("device memory that the tenant may hold, an amount or a part of all memory")),
};
static const struct tenant tenant_absent = {.gpu_permille = TENANT_UNLIMITED,
                                            .milli = TENANT_UNLIMITED,
                                            .mem_permille = TENANT_UNLIMITED,
                                            .mem_mib = TENANT_UNLIMITED};
const struct schema_field schema_tenant_item =
    ELEMENT(tenant_rows, .item_absent = &tenant_absent, .check = schema_check_tenant);

static const struct schema_field pool_rows[] = {
    KEY("name", SCHEMA_NAME, IN(struct node_pool, name), HELP("name of the pool, which its command gets")),
    SELECTOR("nodeSelector", struct node_pool, selector, .required = true, HELP("every node with all these labels")),
    KEY("state", SCHEMA_WORD, IN(struct node_pool, state),
        WORDS([NODE_POOL_OPEN] = "open", [NODE_POOL_CLOSED] = "closed"), .required = true,
        HELP("closed nodes take no new pods with GPUs")),
    KEY("command", SCHEMA_LIST, IN(struct node_pool, command),
        IN_ITEMS(&argument_item, struct str, struct node_pool, command_n, 1, 64), .check = schema_check_command,
        HELP("program and arguments; fgpu adds the pool's name and state, and runs it when the state changes")),
    KEY("timeout", SCHEMA_DURATION, IN(struct node_pool, timeout_ms), RANGE(1000, 3600000),
        HELP("time for one run of the command")),
};
static const struct node_pool pool_absent = {.timeout_ms = 300000};
const struct schema_field schema_pool_item =
    ELEMENT(pool_rows, .item_absent = &pool_absent, .check = schema_check_pool);

static const struct schema_field pool_name_item = {SCALAR(SCHEMA_NAME)};
static const struct schema_field change_over_rows[] = {
    KEY("name", SCHEMA_NAME, IN(struct change_over_group, name), .required = true,
        HELP("name of the group in /state and Events")),
    KEY("pools", SCHEMA_LIST, IN(struct change_over_group, pools),
        IN_ITEMS(&pool_name_item, struct str, struct change_over_group, pool_n, 2, CHANGE_OVER_POOLS_MAX),
        .required = true, HELP("names of node pools that share hardware, so that only one of them may be open")),
    KEY("drain", SCHEMA_WORD, IN(struct change_over_group, drain),
        WORDS([DRAIN_NONE] = "none", [DRAIN_EVICT] = "evict"),
        HELP("what fgpu does about pods that hold up a change: nothing, or evict those that fgpu bound")),
    KEY("evictAfter", SCHEMA_DURATION, IN(struct change_over_group, evict_after_ms), RANGE(0, 86400000),
        HELP("time for which fgpu waits for pods before it evicts them")),
};
static const struct change_over_group change_over_absent = {.evict_after_ms = 300000};
const struct schema_field schema_change_over_item = ELEMENT(change_over_rows, .item_absent = &change_over_absent);

#define OVERLAY(name_)                                                                                                 \
    KEY(name_, SCHEMA_OVERLAY, IN(struct config_window, holds),                                                        \
        HELP("values that replace those of the file while the window is open"))

static const struct schema_field window_rows[] = {
    KEY("name", SCHEMA_NAME, IN(struct config_window, name), .required = true,
        HELP("name of the window in /state and Events")),
    KEY("days", SCHEMA_LIST, IN(struct config_window, days),
        IN_ITEMS(&days_item, uint32_t, struct config_window, day_n, 0, 7),
        HELP("days on which the window opens; without this key every day")),
    KEY("from", SCHEMA_TIME, IN(struct config_window, from_min), RANGE(0, DAY_MIN - 1), .required = true,
        HELP("time at which the window opens")),
    KEY("to", SCHEMA_TIME, IN(struct config_window, to_min), RANGE(1, DAY_MIN), .required = true,
        HELP("time at which the window closes; on the next day if it is not later than from")),
    KEY("timeZone", SCHEMA_ZONE, IN(struct config_window, zone), .required = true,
        HELP("time zone of from and to, with its daylight-saving rules")),
    OVERLAY("sizes"),
    OVERLAY("devices"),
    OVERLAY("packing"),
    OVERLAY("tenants"),
    OVERLAY("nodePools"),
};
const struct schema_field schema_window_item = ELEMENT(window_rows, .check = schema_check_window);
