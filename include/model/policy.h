/* model/policy.h - the part of the configuration that decides: immutable once loaded.
 *
 * config/load.h builds it from YAML; core reads it. Text and arrays belong to the arena of the configuration
 * it came from. Zero is not a valid policy: policy_defaults() gives the built-in one.
 */
#ifndef MODEL_POLICY_H
#define MODEL_POLICY_H

#include "base/str.h"
#include "model/device.h"
#include "model/kv.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* More units than one GPU has, and no multiple of them. */
enum above_one_gpu {
    ABOVE_REFUSE,
    ABOVE_SPAN, /* whole GPUs, and the rest of one more: decision 0028 */
};

/* Whose units they are: of GPUs that fgpu picks, or of a device plugin, which leaves it to kubelet. */
enum who_picks { PICKS_FGPU, PICKS_KUBELET };

/* A resource name counted in units of one GPU's compute: fgpu.io/gpu-milli has 1000 a GPU. */
struct compute_resource {
    struct str name;
    int32_t units_per_gpu; /* 1..1000000 */
    enum above_one_gpu above_one_gpu;
    enum who_picks picks;
};

/* What is behind a name that a device plugin publishes. A name that can be shared may make devices for shares of fgpu.
 */
struct plugin_resource {
    struct str name;
    enum gpu_vendor vendor;
    bool shareable;
};

/* The GPU requests of a size for pods of some namespaces. */
struct size_variant {
    const struct str *namespaces; /* names; '*' in them matches any text */
    size_t namespace_n;
    int32_t milli;
    int64_t mem_mib;
    int32_t count;
};

#define SIZE_VARIANTS_MAX 100

/* fgpu.io/size: NAME. Exactly the GPU requests a pod may write itself; 0 = not given. */
struct named_size {
    struct str name;
    int32_t milli;
    int64_t mem_mib;
    int32_t count;
    const struct str *namespaces; /* whose pods may use it; none: all */
    size_t namespace_n;
    const struct size_variant *variants; /* the first that names the namespace holds instead */
    size_t variant_n;
};

/* Does the admin say that the whole GPUs which a plugin offers in allocatable are GPUs, and not parts of them? */
enum allocatable_word { ALLOCATABLE_IGNORE, ALLOCATABLE_WHOLE_GPUS };
#define POLICY_WHOLE_GPUS "whole-gpus" /* how it is written, here and as a label of a node */

/* GPUs of nodes that publish none themselves: every node whose label `label` has `value`. */
struct node_template {
    struct str label;
    struct str value;
    int32_t gpu_n;    /* 0: those of allocatable, which is then ALLOCATABLE_WHOLE_GPUS */
    int64_t mem_mib;  /* as on the card, before the reserve */
    struct str model; /* may be empty */
    enum allocatable_word allocatable;
};

/* Namespaces that may together hold a part of all GPUs. At most one of the two numbers is given for
 * compute, and for memory; TENANT_UNLIMITED: not given. */
struct tenant {
    struct str name;
    const struct str *namespaces; /* names; '*' in them matches any text */
    size_t namespace_n;
    int32_t gpu_permille; /* of all compute */
    int32_t milli;
    int32_t mem_permille; /* of all device memory */
    int64_t mem_mib;
};

#define TENANT_UNLIMITED (-1)
#define TENANTS_MAX 100

enum node_pool_state { NODE_POOL_OPEN, NODE_POOL_CLOSED };

/* Every node that has all these labels; of several entries that a node is in, the last one holds. A closed
 * node takes no new pods with GPUs. */
struct node_pool {
    struct kv_list selector; /* not empty */
    enum node_pool_state state;
    struct str name;           /* empty: none */
    const struct str *command; /* with its arguments; see extender/pool_commands.h */
    size_t command_n;          /* 0: none; else there is a name */
    int32_t timeout_ms;        /* of one run */
};

/* What is done about pods that hold up a change-over. */
enum drain_mode {
    DRAIN_NONE,  /* they are waited for */
    DRAIN_EVICT, /* those that fgpu bound are evicted (extender/evictor.h) */
};

/* Pools whose machines share hardware: at most one of them is open at a time (core/time/change_over.h). */
struct change_over_group {
    struct str name;
    const struct str *pools; /* names of node pools, each in one group only */
    size_t pool_n;
    enum drain_mode drain;
    int32_t evict_after_ms; /* from when pods are waited for */
};

#define CHANGE_OVER_POOLS_MAX 16 /* of one group */
#define GATED_POOLS_MAX 64       /* of all groups */

/* A vocabulary of another system, in which pods may ask. */
enum dialect_mode {
    DIALECT_IGNORE, /* its keys mean nothing here */
    DIALECT_SERVE,
};

/* Several node strategies at once. With weights their scores are added up (core/placement/plan.h); without, each
 * further one decides among equals of those before. */
#define CRITERIA_MAX 4
struct criteria {
    struct str names[CRITERIA_MAX];
    int32_t weights_milli[CRITERIA_MAX]; /* all 0: a chain */
    size_t n;                            /* 0: one strategy alone */
};

#define PACKING_RULES_MAX 64
#define PACKING_SELECTOR_MAX 16

/* Other strategies for some pods, on some nodes. What is empty leaves it open: every namespace, pod, node; the
 * strategy of the packing section. */
struct packing_rule {
    const struct str *namespaces; /* names; '*' in them matches any text */
    size_t namespace_n;
    struct kv_list pod_selector;
    struct kv_list node_selector;
    struct str node_strategy; /* with criteria the first of them */
    struct criteria node_criteria;
    struct str device_strategy;
};

/* What the configuration says of the GPUs of one node. */
struct device_settings {
    int64_t mem_reserve_mib;      /* taken off every device */
    int32_t max_sharers;          /* slots of a device that does not publish its own */
    int32_t overcommit_milli;     /* compute factor in thousandths, >= 1000 */
    int32_t overcommit_mem_milli; /* memory factor in thousandths, >= 1000 */
    enum memory_only_mode memory_only;
    enum qos qos;           /* of pods that say nothing themselves: model/qos.h */
    enum lending lending;   /* of idle compute */
    enum hand_off hand_off; /* of decided devices to the containers: model/hand_off.h */
};

/* For nodes with these labels; DEVICES_AS_ELSEWHERE, MEMORY_ONLY__MAX, QOS__MAX, LEND__MAX, HAND_OFF__MAX: not given.
 */
struct device_override {
    struct kv_list node_selector;
    struct device_settings settings;
};

#define DEVICES_AS_ELSEWHERE (-1)
#define DEVICE_OVERRIDES_MAX 1000

#define POLICY_NO_SHADOW "none"
#define POLICY_NAMES_MAX 32 /* in one list of resource names */

/* Resources that device plugins hand out while kubelet picks, a bit each: whole_resources, then compute_resources that
 * kubelet picks. */
#define POLICY_WHOLE_NAME(i) (UINT64_C(1) << (i))
#define POLICY_UNIT_NAME(i) (UINT64_C(1) << (POLICY_NAMES_MAX + (i)))

/* What a Binding needs before it is sent (extender/intents.h). */
enum consistency { CONSISTENCY_DEFAULT, CONSISTENCY_STRICT };

struct policy {
    /* vocabulary of the native dialect */
    const struct compute_resource *compute_resources;
    size_t compute_resource_n;
    const struct str *memory_resources; /* counted in MiB */
    size_t memory_resource_n;
    const struct str *count_resources; /* whole GPUs handed out by fgpu, or the count of shares */
    size_t count_resource_n;
    const struct str *whole_resources; /* whole GPUs, or replicas, handed out by a plugin: nvidia.com/gpu */
    size_t whole_resource_n;
    const struct plugin_resource
        *plugins; /* of whole_resources and compute_resources, where the domain does not say it */
    size_t plugin_n;
    const struct str *slice_drivers; /* whose ResourceSlices publish GPUs (extender/slices.h) */
    size_t slice_driver_n;
    enum dialect_mode kai; /* annotations of Run:ai and KAI-Scheduler (core/dialects/dialect.h) */
    const struct named_size *sizes;
    size_t size_n;
    const struct node_template *templates;
    size_t template_n;
    const struct node_pool *node_pools;
    size_t node_pool_n;
    const struct change_over_group *change_overs;
    size_t change_over_n;
    /* Not from the file: those pools of the groups, in their order, a bit each, that may take pods. The nodes of the
     * others are closed, whatever the entries of node_pools say. */
    uint64_t admitted_pools;

    /* devices */
    enum memory_only_mode memory_only;
    int64_t mem_reserve_mib; /* struct device_settings, where no override says otherwise */
    int32_t max_sharers;
    int32_t overcommit_milli;
    int32_t overcommit_mem_milli;
    enum qos qos;
    enum lending lending;
    enum hand_off hand_off;
    const struct device_override *overrides; /* the first that selects a node holds there */
    size_t override_n;

    const struct tenant *tenants; /* a namespace belongs to the first that names it */
    size_t tenant_n;

    /* packing */
    struct str node_strategy;      /* names from core/fit/strategy.h */
    struct criteria node_criteria; /* node_strategy is the first of them */
    struct str device_strategy;
    const struct packing_rule *rules; /* the first that fits holds: core/placement/plan.h */
    size_t rule_n;
    struct str shadow_node_strategy; /* in the shadow (extender/shadow.h); POLICY_NO_SHADOW: as the one above */
    struct str shadow_device_strategy;
    int32_t candidates;   /* nodes in a filter reply; 0 = all */
    int32_t tentative_ms; /* life of a tentative placement; 0 = none */
    enum consistency consistency;
    bool plan_ahead; /* pods that wait are nominated to nodes (extender/planner.h) */
};

/* The built-in policy: the same values that config/fgpu.yaml shows as defaults. Static storage. */
const struct policy *policy_defaults(void);

/* What a name of whole_resources or compute_resources is: what the configuration says, else the domain. Of an unknown
 * domain a whole resource is of another vendor and cannot be shared; units, whose unitsPerGPU is the word of the admin
 * that GPUs are shared, are NVIDIA's, as fgpu's own. */
struct plugin_resource policy_plugin_of(const struct policy *p, struct str name);

/* What holds for the GPUs of a node with these labels. */
struct device_settings policy_devices_of(const struct policy *p, struct kv_list node_labels);

/* What the size of this name is for pods of a namespace, or, without one, as it stands in the file; only milli,
 * mem_mib and count of the result mean anything. NULL: there is none for them; *ret_elsewhere: there is for
 * others. */
const struct named_size *policy_size_of(const struct policy *p, struct str name, struct str namespace_,
                                        struct named_size *buffer, bool *ret_elsewhere);

/* Does one of these patterns match the namespace? */
bool policy_names_namespace(const struct str *patterns, size_t n, struct str namespace_);

#endif
