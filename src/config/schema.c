#include "config/schema_internal.h"

#include "base/bug.h"
#include "base/compiler.h"
#include "model/device.h"

#include <stdio.h>

#define MIB_PER_TIB INT64_C(1048576)
#define DEVICE_MIB_MAX (16 * MIB_PER_TIB)
#define ENTRIES_MAX 1000 /* sizes, node templates */

/* Column order of a row: name, C type and member it is stored in, range, what it is. */
#define IN(type_, member_) .offset = offsetof(type_, member_)
#define AT(member_) IN(struct config, member_)
#define KEY(name_, type_, at_, ...)                                                                \
    {                                                                                              \
        .name = (name_), .type = (type_), at_, __VA_ARGS__                                         \
    }
#define RANGE(min_, max_) .min = (min_), .max = (max_)
#define HELP(text_) .help = (text_)
/* Without one of these a change needs a restart. */
#define NOW .reload = CONFIG_RELOAD_NOW
#define RELIST .reload = CONFIG_RELOAD_RELIST
#define ROWS(table_) .sub = (table_), .sub_n = ARRAY_LEN(table_)
#define SECTION(name_, table_, ...)                                                                \
    {                                                                                              \
        .name = (name_), .type = SCHEMA_SECTION, ROWS(table_), __VA_ARGS__                         \
    }
#define ITEMS(item_, t_, at_n_, max_)                                                              \
    .offset2 = offsetof(struct config, at_n_), .sub = (item_), .item_size = sizeof(t_),            \
    .max = (max_)

/* The same for a list in an element. */
#define IN_ITEMS(item_, t_, in_, at_n_, min_, max_)                                                \
    .offset2 = offsetof(in_, at_n_), .sub = (item_), .item_size = sizeof(t_), .min = (min_),       \
    .max = (max_)

static const char *const api_version_words[] = {CONFIG_API_VERSION, NULL};
static const char *const kind_words[] = {CONFIG_KIND, NULL};
static const char *const election_words[] = {[ELECTION_NONE] = "none", NULL};
static const char *const election_later[] = {"follow-scheduler", "lease", NULL};
static const char *const ops_authorization_words[] = {
    [OPS_AUTHORIZATION_REMOTE] = "remote", [OPS_AUTHORIZATION_ALWAYS] = "always", NULL};
static const char *const memory_only_words[] = {
    [MEMORY_ONLY_SHARE] = "share", [MEMORY_ONLY_FREE] = "free", NULL};
static const char *const dialect_words[] = {
    [DIALECT_IGNORE] = "ignore", [DIALECT_SERVE] = "serve", NULL};
static const char *const qos_words[] = {[QOS_FIXED_SHARE] = "fixed-share",
                                        [QOS_BEST_EFFORT] = "best-effort",
                                        [QOS_EQUAL_SHARE] = "equal-share",
                                        NULL};
static const char *const lending_words[] = {
    [LEND_ALLOW] = "allow", [LEND_FORBID] = "forbid", NULL};
static const char *const signing_words[] = {[SIGNING_ON] = "on", [SIGNING_OFF] = "off", NULL};
static const char *const log_format_words[] = {
    [LOG_FORMAT_TEXT] = "text", [LOG_FORMAT_JSON] = "json", NULL};

/* The reader stores an enum as an unsigned int. */
_Static_assert(sizeof(enum memory_only_mode) == sizeof(unsigned int) &&
                   sizeof(enum dialect_mode) == sizeof(unsigned int) &&
                   sizeof(enum qos) == sizeof(unsigned int) &&
                   sizeof(enum lending) == sizeof(unsigned int) &&
                   sizeof(enum election_mode) == sizeof(unsigned int) &&
                   sizeof(enum log_format) == sizeof(unsigned int) &&
                   sizeof(enum signing_mode) == sizeof(unsigned int) &&
                   sizeof(enum ops_authorization) == sizeof(unsigned int) &&
                   sizeof(enum tls_on_loopback) == sizeof(unsigned int),
               "enums are not unsigned int");

static const char *const above_one_gpu_words[] = {
    [ABOVE_REFUSE] = "refuse", [ABOVE_SPAN] = "span", NULL};
static const char *const picks_words[] = {
    [PICKS_FGPU] = "fgpu", [PICKS_KUBELET] = "kubelet", NULL};
static const struct schema_field driver_item = {.type = SCHEMA_NAME};
static const struct schema_field namespace_item = {.type = SCHEMA_NAMESPACE};

static const struct schema_field compute_rows[] = {
    KEY("name", SCHEMA_RESOURCE, IN(struct compute_resource, name), .required = true,
        HELP("resource that counts shares of a GPU's compute")),
    KEY("unitsPerGPU", SCHEMA_INT, IN(struct compute_resource, units_per_gpu), .required = true,
        RANGE(1, 1000000), HELP("units that make one GPU")),
    KEY("picks", SCHEMA_WORD, IN(struct compute_resource, picks), .words = picks_words,
        HELP("who picks the GPU: fgpu, or kubelet for a device plugin that publishes the resource")),
    KEY("aboveOneGPU", SCHEMA_WORD, IN(struct compute_resource, above_one_gpu),
        .words = above_one_gpu_words,
        HELP("requests above one GPU that are not a multiple of it; span takes whole GPUs and a part of one more")),
};
static const struct compute_resource compute_absent = {.above_one_gpu = ABOVE_REFUSE};
static const struct schema_field compute_item = {.type = SCHEMA_SECTION,
                                                 ROWS(compute_rows),
                                                 .item_absent = &compute_absent,
                                                 .check = schema_check_compute};
static const struct schema_field resource_item = {.type = SCHEMA_RESOURCE};

static const struct schema_field resources_rows[] = {
    KEY("compute", SCHEMA_LIST, AT(policy.compute_resources),
        ITEMS(&compute_item, struct compute_resource, policy.compute_resource_n,
              SCHEMA_RESOURCES_MAX),
        RELIST, HELP("resources that count shares of a GPU's compute")),
    KEY("memory", SCHEMA_LIST, AT(policy.memory_resources),
        ITEMS(&resource_item, struct str, policy.memory_resource_n, SCHEMA_RESOURCES_MAX),
        RELIST, HELP("resources that count MiB of device memory")),
    KEY("count", SCHEMA_LIST, AT(policy.count_resources),
        ITEMS(&resource_item, struct str, policy.count_resource_n, SCHEMA_RESOURCES_MAX),
        RELIST, HELP("resources that count GPUs assigned by fgpu")),
    KEY("whole", SCHEMA_LIST, AT(policy.whole_resources),
        ITEMS(&resource_item, struct str, policy.whole_resource_n, SCHEMA_RESOURCES_MAX),
        RELIST, HELP("resources that count whole GPUs, or replicas, offered by a device plugin")),
    KEY("sliceDrivers", SCHEMA_LIST, AT(policy.slice_drivers),
        ITEMS(&driver_item, struct str, policy.slice_driver_n, SCHEMA_RESOURCES_MAX),
        HELP("drivers of dynamic resource allocation whose ResourceSlices publish GPUs")),
};

static const struct schema_field variant_rows[] = {
    KEY("namespaces", SCHEMA_LIST, IN(struct size_variant, namespaces), .required = true,
        IN_ITEMS(&namespace_item, struct str, struct size_variant, namespace_n, 1, ENTRIES_MAX),
        HELP("namespaces of the pods, '*' for any text")),
    KEY("milli", SCHEMA_INT, IN(struct size_variant, milli),
        RANGE(1, DEVICES_PER_NODE_MAX * DEVICE_MILLI), HELP("thousandths of a GPU's compute")),
    KEY("memory", SCHEMA_MIB, IN(struct size_variant, mem_mib), RANGE(1, DEVICE_MIB_MAX),
        HELP("device memory on each GPU")),
    KEY("count", SCHEMA_INT, IN(struct size_variant, count), RANGE(1, DEVICES_PER_NODE_MAX),
        HELP("number of GPUs")),
};
static const struct schema_field variant_item = {
    .type = SCHEMA_SECTION, ROWS(variant_rows), .check = schema_check_variant};

static const struct schema_field dialect_rows[] = {
    KEY("kai", SCHEMA_WORD, AT(policy.kai), .words = dialect_words, RELIST,
        HELP("annotations gpu-fraction and gpu-memory, as in Run:ai and KAI-Scheduler")),
};

static const struct schema_field size_rows[] = {
    KEY("milli", SCHEMA_INT, IN(struct named_size, milli),
        RANGE(1, DEVICES_PER_NODE_MAX * DEVICE_MILLI), HELP("thousandths of a GPU's compute")),
    KEY("memory", SCHEMA_MIB, IN(struct named_size, mem_mib), RANGE(1, DEVICE_MIB_MAX),
        HELP("device memory on each GPU")),
    KEY("count", SCHEMA_INT, IN(struct named_size, count), RANGE(1, DEVICES_PER_NODE_MAX),
        HELP("number of GPUs")),
    KEY("namespaces", SCHEMA_LIST, IN(struct named_size, namespaces),
        IN_ITEMS(&namespace_item, struct str, struct named_size, namespace_n, 1, ENTRIES_MAX),
        HELP("namespaces whose pods may use the size, '*' for any text")),
    KEY("variants", SCHEMA_LIST, IN(struct named_size, variants),
        IN_ITEMS(&variant_item, struct size_variant, struct named_size, variant_n, 1,
                 SIZE_VARIANTS_MAX),
        HELP("other values for pods of some namespaces; the first element that names the namespace applies")),
};
static const struct schema_field size_key = KEY("", SCHEMA_NAME, IN(struct named_size, name));
static const struct schema_field size_item = {.type = SCHEMA_SECTION,
                                              ROWS(size_rows),
                                              .check = schema_check_size};

static const char *const allocatable_words[] = {
    [ALLOCATABLE_IGNORE] = "ignore", [ALLOCATABLE_WHOLE_GPUS] = POLICY_WHOLE_GPUS, NULL};

static const struct schema_field template_rows[] = {
    KEY("label", SCHEMA_LABEL, IN(struct node_template, label),
        .offset2 = offsetof(struct node_template, value), .required = true,
        HELP("every node with this label")),
    KEY("gpus", SCHEMA_INT, IN(struct node_template, gpu_n),
        RANGE(1, DEVICES_PER_NODE_MAX), HELP("number of GPUs")),
    KEY("allocatable", SCHEMA_WORD, IN(struct node_template, allocatable), .words = allocatable_words,
        HELP("use it instead of gpus: whole-gpus says that allocatable counts whole GPUs on these nodes")),
    KEY("memory", SCHEMA_MIB, IN(struct node_template, mem_mib), .required = true,
        RANGE(1, DEVICE_MIB_MAX), HELP("memory of each GPU")),
    KEY("model", SCHEMA_TEXT, IN(struct node_template, model), RANGE(0, 128),
        HELP("model name, for fgpu.io/gpu-model")),
};
static const struct schema_field template_item = {.type = SCHEMA_SECTION,
                                                  ROWS(template_rows),
                                                  .check = schema_check_template};

static const char *const pool_state_words[] = {
    [NODE_POOL_OPEN] = "open", [NODE_POOL_CLOSED] = "closed", NULL};

static const struct schema_field label_key = KEY("", SCHEMA_LABEL_KEY, IN(struct kv, key));
static const struct schema_field label_value = {.type = SCHEMA_LABEL_VALUE, IN(struct kv, value)};
#define SELECTOR(name_, in_, member_, ...)                                                         \
    KEY(name_, SCHEMA_MAP, IN(in_, member_.items),                                                 \
        IN_ITEMS(&label_value, struct kv, in_, member_.n, 1, PACKING_SELECTOR_MAX), .key = &label_key,     \
        __VA_ARGS__)

static const struct schema_field argument_item = {.type = SCHEMA_TEXT, RANGE(0, 4095)};
static const struct schema_field pool_rows[] = {
    KEY("name", SCHEMA_NAME, IN(struct node_pool, name), HELP("name of the pool, which its command gets")),
    SELECTOR("nodeSelector", struct node_pool, selector, .required = true,
             HELP("every node with all these labels")),
    KEY("state", SCHEMA_WORD, IN(struct node_pool, state), .words = pool_state_words,
        .required = true, HELP("closed nodes take no new pods with GPUs")),
    KEY("command", SCHEMA_LIST, IN(struct node_pool, command),
        IN_ITEMS(&argument_item, struct str, struct node_pool, command_n, 1, 64),
        HELP("program and arguments; fgpu adds the pool's name and state, and runs it when the state changes")),
    KEY("timeout", SCHEMA_DURATION, IN(struct node_pool, timeout_ms), RANGE(1000, 3600000),
        HELP("time for one run of the command")),
};
static const struct node_pool pool_absent = {.timeout_ms = 300000};
static const struct schema_field pool_item = {.type = SCHEMA_SECTION,
                                              ROWS(pool_rows),
                                              .item_absent = &pool_absent,
                                              .check = schema_check_pool};

static const struct schema_field overcommit_rows[] = {
    KEY("compute", SCHEMA_FACTOR, AT(policy.overcommit_milli), RANGE(1000, 10000),
        RELIST, HELP("factor for the part of a GPU's compute that pods may get; 1.5 is 150 %")),
    KEY("memory", SCHEMA_FACTOR, AT(policy.overcommit_mem_milli), RANGE(1000, 10000),
        RELIST, HELP("factor for the part of a GPU's memory that pods may get; 1.5 is 150 %")),
};

static const struct schema_field override_overcommit_rows[] = {
    KEY("compute", SCHEMA_FACTOR, IN(struct device_override, settings.overcommit_milli),
        RANGE(1000, 10000), HELP("factor for the part of a GPU's compute that pods may get; 1.5 is 150 %")),
    KEY("memory", SCHEMA_FACTOR, IN(struct device_override, settings.overcommit_mem_milli),
        RANGE(1000, 10000), HELP("factor for the part of a GPU's memory that pods may get; 1.5 is 150 %")),
};
static const struct schema_field override_rows[] = {
    SELECTOR("nodeSelector", struct device_override, node_selector, .required = true,
             HELP("labels that a node must have, all of them")),
    KEY("memoryReserve", SCHEMA_MIB, IN(struct device_override, settings.mem_reserve_mib),
        RANGE(0, MIB_PER_TIB), HELP("reserved memory of every GPU, which no pod gets")),
    KEY("maxSharers", SCHEMA_INT, IN(struct device_override, settings.max_sharers),
        RANGE(1, DEVICE_MILLI),
        HELP("number of containers that may share a GPU, if the GPU publishes no number itself")),
    KEY("memoryOnly", SCHEMA_WORD, IN(struct device_override, settings.memory_only),
        .words = memory_only_words, HELP("compute that a pod takes if it asks for memory only")),
    KEY("qos", SCHEMA_WORD, IN(struct device_override, settings.qos), .words = qos_words,
        HELP("how containers divide a GPU if their pods do not say it")),
    KEY("lendIdleCompute", SCHEMA_WORD, IN(struct device_override, settings.lending),
        .words = lending_words, HELP("whether containers may use idle compute of others")),
    SECTION("overcommit", override_overcommit_rows),
};
static const struct device_override override_absent = {
    .settings = {DEVICES_AS_ELSEWHERE, DEVICES_AS_ELSEWHERE, DEVICES_AS_ELSEWHERE,
                 DEVICES_AS_ELSEWHERE, MEMORY_ONLY__MAX, QOS__MAX, LEND__MAX}};
static const struct schema_field override_item = {.type = SCHEMA_SECTION,
                                                  ROWS(override_rows),
                                                  .item_absent = &override_absent,
                                                  .check = schema_check_override};

static const struct schema_field devices_rows[] = {
    KEY("memoryReserve", SCHEMA_MIB, AT(policy.mem_reserve_mib), RANGE(0, MIB_PER_TIB),
        RELIST, HELP("reserved memory of every GPU, which no pod gets")),
    KEY("maxSharers", SCHEMA_INT, AT(policy.max_sharers), RANGE(1, DEVICE_MILLI),
        RELIST, HELP("number of containers that may share a GPU, if the GPU publishes no number itself")),
    KEY("memoryOnly", SCHEMA_WORD, AT(policy.memory_only), .words = memory_only_words,
        RELIST, HELP("compute that a pod takes if it asks for memory only")),
    KEY("qos", SCHEMA_WORD, AT(policy.qos), .words = qos_words,
        RELIST, HELP("how containers divide a GPU if their pods do not say it")),
    KEY("lendIdleCompute", SCHEMA_WORD, AT(policy.lending), .words = lending_words,
        RELIST, HELP("whether containers may use idle compute of others")),
    SECTION("overcommit", overcommit_rows),
    KEY("overrides", SCHEMA_LIST, AT(policy.overrides),
        ITEMS(&override_item, struct device_override, policy.override_n, DEVICE_OVERRIDES_MAX),
        .check = schema_check_overrides, RELIST,
        HELP("other settings for the GPUs of some nodes; the first element that selects a node applies")),
};

static const struct schema_field rule_rows[] = {
    KEY("namespaces", SCHEMA_LIST, IN(struct packing_rule, namespaces),
        IN_ITEMS(&namespace_item, struct str, struct packing_rule, namespace_n, 1, ENTRIES_MAX),
        HELP("namespaces of the pods, '*' for any text")),
    SELECTOR("podSelector", struct packing_rule, pod_selector, HELP("labels that a pod must have, all of them")),
    SELECTOR("nodeSelector", struct packing_rule, node_selector, HELP("labels that a node must have, all of them")),
    KEY("nodeStrategy", SCHEMA_CRITERIA, IN(struct packing_rule, node_strategy),
        .offset2 = offsetof(struct packing_rule, node_criteria), HELP("preference among nodes")),
    KEY("deviceStrategy", SCHEMA_STRATEGY, IN(struct packing_rule, device_strategy),
        HELP("preference among the GPUs of a node")),
};
static const struct packing_rule rule_absent = {.namespace_n = 0};
static const struct schema_field rule_item = {.type = SCHEMA_SECTION,
                                              ROWS(rule_rows),
                                              .item_absent = &rule_absent,
                                              .check = schema_check_rule};
static const char *const no_candidate_words[] = {POLICY_NO_CANDIDATE, NULL};

static const struct schema_field candidate_rows[] = {
    KEY("nodeStrategy", SCHEMA_STRATEGY, AT(policy.candidate_node_strategy), .words = no_candidate_words, NOW,
        HELP("preference among nodes to try without using it; none means the one in use")),
    KEY("deviceStrategy", SCHEMA_STRATEGY, AT(policy.candidate_device_strategy), .words = no_candidate_words, NOW,
        HELP("preference among the GPUs of a node to try without using it; none means the one in use")),
};

static const struct schema_field packing_rows[] = {
    KEY("nodeStrategy", SCHEMA_CRITERIA, AT(policy.node_strategy),
        .offset2 = offsetof(struct config, policy.node_criteria), NOW,
        HELP("preference among nodes")),
    KEY("deviceStrategy", SCHEMA_STRATEGY, AT(policy.device_strategy),
        NOW, HELP("preference among the GPUs of a node")),
    KEY("rules", SCHEMA_LIST, AT(policy.rules),
        ITEMS(&rule_item, struct packing_rule, policy.rule_n, PACKING_RULES_MAX),
        .check = schema_check_rules, RELIST,
        HELP("other strategies for some pods, on some nodes; the first rule that matches applies")),
    KEY("candidates", SCHEMA_INT, AT(policy.candidates), RANGE(0, 100000),
        NOW, HELP("number of nodes in a filter reply, 0 for all")),
    KEY("hold", SCHEMA_DURATION, AT(policy.hold_ms), RANGE(0, 60000),
        NOW, HELP("time during which a node that was ranked first for one pod scores lower for the next pods")),
    SECTION("candidate", candidate_rows),
};

static const struct schema_field tenant_rows[] = {
    KEY("name", SCHEMA_NAME, IN(struct tenant, name), .required = true,
        HELP("name of the tenant in /state and metrics")),
    KEY("namespaces", SCHEMA_LIST, IN(struct tenant, namespaces), .required = true,
        IN_ITEMS(&namespace_item, struct str, struct tenant, namespace_n, 1, ENTRIES_MAX),
        HELP("its namespaces, '*' for any text")),
    KEY("gpuShare", SCHEMA_PERCENT, IN(struct tenant, gpu_permille),
        HELP("part of the compute of all GPUs that the tenant may hold")),
    KEY("milli", SCHEMA_INT, IN(struct tenant, milli), RANGE(0, 1000000000),
        HELP("compute that the tenant may hold, in thousandths of a GPU")),
    KEY("memory", SCHEMA_MIB_OR_PERCENT, IN(struct tenant, mem_mib),
        .offset2 = offsetof(struct tenant, mem_permille), RANGE(0, INT64_C(1) << 40),
        HELP("device memory that the tenant may hold, an amount or a part of all memory")),
};
static const struct tenant tenant_absent = {.gpu_permille = TENANT_UNLIMITED,
                                            .milli = TENANT_UNLIMITED,
                                            .mem_permille = TENANT_UNLIMITED,
                                            .mem_mib = TENANT_UNLIMITED};
static const struct schema_field tenant_item = {.type = SCHEMA_SECTION,
                                                ROWS(tenant_rows),
                                                .item_absent = &tenant_absent,
                                                .check = schema_check_tenant};

static const char *const on_loopback_words[] = {
    [TLS_ON_LOOPBACK_OFF] = "plain", [TLS_ON_LOOPBACK_ON] = "tls", NULL};

static const struct schema_field name_item = {.type = SCHEMA_TEXT, RANGE(0, 255)};

static const struct schema_field tls_rows[] = {
    KEY("certFile", SCHEMA_TEXT, AT(serving.tls.cert_file), RANGE(0, 4095),
        HELP("PEM file with the certificate, then its intermediates; empty for no TLS")),
    KEY("keyFile", SCHEMA_TEXT, AT(serving.tls.key_file), RANGE(0, 4095),
        HELP("PEM file with its key")),
    KEY("clientCAFile", SCHEMA_TEXT, AT(serving.tls.client_ca_file), RANGE(0, 4095),
        HELP("PEM file with the CAs of the callers' certificates")),
    KEY("allowedNames", SCHEMA_LIST, AT(serving.tls.allowed_names),
        ITEMS(&name_item, struct str, serving.tls.allowed_name_n, 64),
        HELP("common or alternative names of the certificates that may call")),
    KEY("onLoopback", SCHEMA_WORD, AT(serving.tls.on_loopback), .words = on_loopback_words,
        HELP("protocol on loopback addresses, plain HTTP or TLS")),
};

static const struct schema_field host_item = {.type = SCHEMA_TEXT, RANGE(0, 253)};

static const struct schema_field serving_rows[] = {
    KEY("verbsAddress", SCHEMA_ADDRESS, AT(serving.verbs),
        HELP("filter, prioritize and bind; kube-scheduler calls here")),
    KEY("opsAddress", SCHEMA_ADDRESS, AT(serving.ops),
        HELP("metrics, state, configz and version")),
    KEY("opsAuthorization", SCHEMA_WORD, AT(serving.ops_authorization),
        .words = ops_authorization_words,
        HELP("when callers of ops need a token: remote means on all addresses except loopback, always means on all")),
    KEY("opsAllowedHosts", SCHEMA_LIST, AT(serving.ops_hosts),
        ITEMS(&host_item, struct str, serving.ops_host_n, 64),
        HELP("host names that callers of ops may use over plain HTTP, beside addresses and localhost")),
    KEY("healthAddress", SCHEMA_ADDRESS, AT(serving.health),
        HELP("livez, readyz and healthz; the kubelet calls here")),
    KEY("bindsAllPods", SCHEMA_FLAG, AT(serving.binds_all_pods), NOW,
        HELP("whether bind also accepts pods that ask for no GPU")),
    SECTION("tls", tls_rows),
};

static const struct schema_field client_rows[] = {
    KEY("bindDeadline", SCHEMA_DURATION, AT(client.bind_deadline_ms), RANGE(1000, 9000),
        NOW, HELP("time for one bind, including retries")),
    KEY("holdOff", SCHEMA_DURATION, AT(client.hold_off_ms), RANGE(0, 600000),
        HELP("time after the start in which no GPU is promised, because writes of an earlier fgpu may still arrive")),
    KEY("maxInFlightBinds", SCHEMA_INT, AT(client.binds_in_flight_max), RANGE(1, 10000),
        NOW, HELP("number of bindings sent to the API server at the same time")),
    KEY("staleAfter", SCHEMA_DURATION, AT(client.stale_after_ms), RANGE(1000, 300000),
        HELP("time without news from the API server after which no GPU is promised")),
    KEY("wakeObject", SCHEMA_OBJECT, AT(client.wake_object),
        HELP("CSIStorageCapacity that fgpu changes when room becomes free, so that refused pods are tried again")),
};

static const struct schema_field audit_rows[] = {
    KEY("interval", SCHEMA_DURATION, AT(audit.interval_ms), RANGE(0, 86400000),
        HELP("time between two comparisons of the ledger with a fresh list, 0 for none")),
    KEY("settle", SCHEMA_DURATION, AT(audit.settle_ms), RANGE(100, 60000),
        HELP("time that a difference must last, without news from the watch, to be an error")),
};

static const struct schema_field file_item = {.type = SCHEMA_TEXT, RANGE(0, 4095)};

static const struct schema_field signing_rows[] = {
    KEY("mode", SCHEMA_WORD, AT(signing.mode), .words = signing_words,
        HELP("whether fgpu signs records and believes only signed records")),
    KEY("privateKey", SCHEMA_TEXT, AT(signing.private_key), RANGE(0, 4095),
        HELP("PEM file with the key that signs new records")),
    KEY("publicKeys", SCHEMA_LIST, AT(signing.public_keys),
        ITEMS(&file_item, struct str, signing.public_key_n, 64),
        HELP("PEM files, or directories of *.pub, with further public keys that fgpu believes")),
    KEY("acceptUnsignedBefore", SCHEMA_INSTANT, AT(signing.accept_unsigned_before), RELIST,
        HELP("records of pods created before this time need no signature")),
};

static const struct schema_field logging_rows[] = {
    KEY("format", SCHEMA_WORD, AT(logging.format), .words = log_format_words,
        HELP("form of the log lines")),
    KEY("verbosity", SCHEMA_INT, AT(logging.verbosity), RANGE(0, 10),
        NOW, HELP("0 events, 2 steady state, 4 decisions, 6 wire")),
};

static const struct schema_field limits_rows[] = {
    KEY("bodyBytes", SCHEMA_BYTES, AT(limits.body_bytes), RANGE(65536, INT64_C(256) << 20),
        NOW, HELP("largest request body")),
    KEY("bytesInFlight", SCHEMA_BYTES, AT(limits.bytes_in_flight), RANGE(65536, INT64_C(16) << 30),
        NOW, HELP("memory for all request bodies at one time, together with what is read from them")),
    KEY("connections", SCHEMA_INT, AT(limits.connections), RANGE(16, 65536),
        HELP("number of connections of one listener")),
    KEY("connectionsPerAddress", SCHEMA_INT, AT(limits.connections_per_address), RANGE(0, 65536),
        HELP("how many of these connections one address may have, loopback not counted; 0 for all")),
};

#define OVERLAY(name_)                                                                             \
    KEY(name_, SCHEMA_OVERLAY, IN(struct config_window, holds),                                    \
        HELP("values that replace those of the file while the window is open"))

static const struct schema_field days_item = {.type = SCHEMA_DAYS};
static const struct schema_field window_rows[] = {
    KEY("name", SCHEMA_NAME, IN(struct config_window, name), .required = true,
        HELP("name of the window in /state and Events")),
    KEY("days", SCHEMA_LIST, IN(struct config_window, days),
        .offset2 = offsetof(struct config_window, day_n), .sub = &days_item,
        .item_size = sizeof(uint32_t), .max = 7,
        HELP("days on which the window opens; without this key every day")),
    KEY("from", SCHEMA_TIME, IN(struct config_window, from_min), RANGE(0, DAY_MIN - 1),
        .required = true, HELP("time at which the window opens")),
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
static const struct schema_field window_item = {
    .type = SCHEMA_SECTION, ROWS(window_rows), .check = schema_check_window};

static const struct schema_field root_rows[] = {
    {.name = "apiVersion",
     .type = SCHEMA_CONST,
     .required = true,
     .words = api_version_words,
     HELP("version of this format")},
    {.name = "kind",
     .type = SCHEMA_CONST,
     .required = true,
     .words = kind_words,
     HELP("kind of the file")},
    SECTION("resources", resources_rows, .check = schema_check_resources),
    SECTION("dialects", dialect_rows),
    KEY("sizes", SCHEMA_MAP, AT(policy.sizes),
        ITEMS(&size_item, struct named_size, policy.size_n, ENTRIES_MAX), .key = &size_key,
        RELIST, HELP("requests with a name, for the annotation fgpu.io/size")),
    KEY("nodeTemplates", SCHEMA_LIST, AT(policy.templates),
        ITEMS(&template_item, struct node_template, policy.template_n, ENTRIES_MAX),
        .check = schema_check_templates, RELIST,
        HELP("GPUs of nodes that do not publish their GPUs")),
    SECTION("devices", devices_rows),
    SECTION("packing", packing_rows),
    KEY("tenants", SCHEMA_LIST, AT(policy.tenants),
        ITEMS(&tenant_item, struct tenant, policy.tenant_n, TENANTS_MAX), .check = schema_check_tenants,
        NOW, HELP("limits for groups of namespaces")),
    KEY("nodePools", SCHEMA_LIST, AT(policy.node_pools),
        ITEMS(&pool_item, struct node_pool, policy.node_pool_n, ENTRIES_MAX), .appended = true,
        RELIST, HELP("nodes that are open or closed for new pods with GPUs; of several entries for a node the last "
                     "one applies")),
    KEY("timeWindows", SCHEMA_LIST, AT(windows),
        ITEMS(&window_item, struct config_window, window_n, TIMETABLE_WINDOWS_MAX),
        .check = schema_check_windows, NOW,
        HELP("other values at certain times; if two open windows set the same key, the later one in the file "
             "applies")),
    KEY("timeWindowNotice", SCHEMA_DURATION, AT(window_notice_ms), RANGE(0, 86400000), NOW,
        HELP("how long before a change by time windows fgpu announces it, 0 for no announcement")),
    SECTION("serving", serving_rows, .check = schema_check_serving),
    KEY("election", SCHEMA_WORD, AT(election), .words = election_words, .later = election_later,
        HELP("which of several replicas answers; none means that there is one replica")),
    SECTION("clientConnection", client_rows),
    SECTION("audit", audit_rows),
    SECTION("signing", signing_rows, .alone = true),
    SECTION("logging", logging_rows),
    SECTION("limits", limits_rows, .check = schema_check_limits),
};

const struct schema_field schema_root = {.type = SCHEMA_SECTION, ROWS(root_rows)};

static void each_key(const struct schema_field *section, const char *path, schema_visit_fn *visit,
                     void *ctx)
{
    for (size_t i = 0; i < section->sub_n; i++) {
        const struct schema_field *row = &section->sub[i];
        char key[SCHEMA_PATH_MAX];
        int n = snprintf(key, sizeof(key), "%s%s%s", path, path[0] != '\0' ? "." : "", row->name);

        BUG_ON(n < 0 || (size_t)n >= sizeof(key));
        if (row->type == SCHEMA_SECTION) {
            each_key(row, key, visit, ctx);
        } else {
            visit(ctx, row, key);
        }
    }
}

void schema_each_key(schema_visit_fn *visit, void *ctx)
{
    each_key(&schema_root, "", visit, ctx);
}

static void count_key(void *ctx, const struct schema_field *row, const char *key)
{
    size_t *n = ctx;

    (void)row;
    (void)key;
    (*n)++;
}

size_t schema_key_count(void)
{
    size_t n = 0;

    schema_each_key(count_key, &n);
    return n;
}
