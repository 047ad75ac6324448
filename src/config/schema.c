/* The keys of the file, in its order. */
#include "config/schema_rows.h"

#include "base/bug.h"

#include <stdio.h>

/* The reader stores an enum as an unsigned int. */
_Static_assert(sizeof(enum memory_only_mode) == sizeof(unsigned int) &&
                   sizeof(enum dialect_mode) == sizeof(unsigned int) && sizeof(enum qos) == sizeof(unsigned int) &&
                   sizeof(enum lending) == sizeof(unsigned int) && sizeof(enum hand_off) == sizeof(unsigned int) &&
                   sizeof(enum election_mode) == sizeof(unsigned int) &&
                   sizeof(enum consistency) == sizeof(unsigned int) &&
                   sizeof(enum drain_mode) == sizeof(unsigned int) && sizeof(enum log_format) == sizeof(unsigned int) &&
                   sizeof(enum signing_mode) == sizeof(unsigned int) &&
                   sizeof(enum ops_authorization) == sizeof(unsigned int) &&
                   sizeof(enum tls_on_loopback) == sizeof(unsigned int),
               "enums are not unsigned int");

static const struct schema_field resource_item = {SCALAR(SCHEMA_RESOURCE)};
static const struct schema_field driver_item = {SCALAR(SCHEMA_NAME)};
static const struct schema_field name_item = {SCALAR(SCHEMA_TEXT), RANGE(0, 255)}; /* of a certificate */
static const struct schema_field host_item = {SCALAR(SCHEMA_TEXT), RANGE(0, 253)};
static const struct schema_field file_item = {SCALAR(SCHEMA_TEXT), RANGE(0, FILE_NAME_MAX)};

static const struct schema_field resources_rows[] = {
    KEY("compute", SCHEMA_LIST, AT(policy.compute_resources),
        ITEMS(&schema_compute_item, struct compute_resource, policy.compute_resource_n, SCHEMA_RESOURCES_MAX), RELIST,
        HELP("resources that count shares of a GPU's compute")),
    KEY("memory", SCHEMA_LIST, AT(policy.memory_resources),
        ITEMS(&resource_item, struct str, policy.memory_resource_n, SCHEMA_RESOURCES_MAX), RELIST,
        HELP("resources that count MiB of device memory")),
    KEY("count", SCHEMA_LIST, AT(policy.count_resources),
        ITEMS(&resource_item, struct str, policy.count_resource_n, SCHEMA_RESOURCES_MAX), RELIST,
        HELP("resources that count GPUs assigned by fgpu")),
    KEY("whole", SCHEMA_LIST, AT(policy.whole_resources),
        ITEMS(&resource_item, struct str, policy.whole_resource_n, SCHEMA_RESOURCES_MAX), RELIST,
        HELP("resources that count whole GPUs, or replicas, offered by a device plugin")),
    KEY("plugins", SCHEMA_LIST, AT(policy.plugins),
        ITEMS(&schema_plugin_item, struct plugin_resource, policy.plugin_n, SCHEMA_RESOURCES_MAX), RELIST,
        HELP("what is behind resources of device plugins, where fgpu does not know it by the domain")),
    KEY("sliceDrivers", SCHEMA_LIST, AT(policy.slice_drivers),
        ITEMS(&driver_item, struct str, policy.slice_driver_n, SCHEMA_RESOURCES_MAX),
        HELP("drivers of dynamic resource allocation whose ResourceSlices publish GPUs")),
};

static const struct schema_field dialect_rows[] = {
    KEY("kai", SCHEMA_WORD, AT(policy.kai), WORDS([DIALECT_IGNORE] = "ignore", [DIALECT_SERVE] = "serve"), RELIST,
        HELP("annotations gpu-fraction and gpu-memory, as in Run:ai and KAI-Scheduler")),
};

#define AT_POLICY(member_) AT(policy.member_)

static const struct schema_field overcommit_rows[] = {
    OVERCOMMIT_KEYS(AT_POLICY, RELIST),
};

static const struct schema_field devices_rows[] = {
    SHARING_KEYS(AT_POLICY, RELIST),
    SECTION("overcommit", overcommit_rows),
    KEY("overrides", SCHEMA_LIST, AT(policy.overrides),
        ITEMS(&schema_override_item, struct device_override, policy.override_n, DEVICE_OVERRIDES_MAX),
        .clash = &schema_clash_overrides, RELIST,
        HELP("other settings for the GPUs of some nodes; the first element that selects a node applies")),
};

static const struct schema_field shadow_rows[] = {
    KEY("nodeStrategy", SCHEMA_STRATEGY, AT(policy.shadow_node_strategy), WORDS(POLICY_NO_SHADOW), NOW,
        HELP("preference among nodes to try without using it; none means the one in use")),
    KEY("deviceStrategy", SCHEMA_STRATEGY, AT(policy.shadow_device_strategy), WORDS(POLICY_NO_SHADOW), NOW,
        HELP("preference among the GPUs of a node to try without using it; none means the one in use")),
};

static const struct schema_field packing_rows[] = {
    KEY("nodeStrategy", SCHEMA_CRITERIA, AT(policy.node_strategy),
        .offset2 = offsetof(struct config, policy.node_criteria), NOW, HELP("preference among nodes")),
    KEY("deviceStrategy", SCHEMA_STRATEGY, AT(policy.device_strategy), NOW,
        HELP("preference among the GPUs of a node")),
    KEY("rules", SCHEMA_LIST, AT(policy.rules),
        ITEMS(&schema_rule_item, struct packing_rule, policy.rule_n, PACKING_RULES_MAX), .clash = &schema_clash_rules,
        RELIST, HELP("other strategies for some pods, on some nodes; the first rule that matches applies")),
    KEY("candidates", SCHEMA_INT, AT(policy.candidates), RANGE(0, 100000), NOW,
        HELP("number of nodes in a filter reply, 0 for all")),
    KEY("hold", SCHEMA_DURATION, AT(policy.tentative_ms), RANGE(0, 60000), NOW,
        HELP("time during which a node that was ranked first for one pod scores lower for the next pods")),
    SECTION("candidate", shadow_rows),
};

static const struct schema_field plan_ahead_rows[] = {
    KEY("enabled", SCHEMA_FLAG, AT(policy.plan_ahead), RELIST,
        HELP(
            "whether fgpu nominates waiting pods to nodes, so that kube-scheduler looks at one node for each of them")),
};

static const struct schema_field tls_rows[] = {
    KEY("certFile", SCHEMA_TEXT, AT(serving.tls.cert_file), RANGE(0, FILE_NAME_MAX),
        HELP("PEM file with the certificate, then its intermediates; empty for no TLS")),
    KEY("keyFile", SCHEMA_TEXT, AT(serving.tls.key_file), RANGE(0, FILE_NAME_MAX), HELP("PEM file with its key")),
    KEY("clientCAFile", SCHEMA_TEXT, AT(serving.tls.client_ca_file), RANGE(0, FILE_NAME_MAX),
        HELP("PEM file with the CAs of the callers' certificates")),
    KEY("allowedNames", SCHEMA_LIST, AT(serving.tls.allowed_names),
        ITEMS(&name_item, struct str, serving.tls.allowed_name_n, 64),
        HELP("common or alternative names of the certificates that may call")),
    KEY("onLoopback", SCHEMA_WORD, AT(serving.tls.on_loopback),
        WORDS([TLS_ON_LOOPBACK_OFF] = "plain", [TLS_ON_LOOPBACK_ON] = "tls"),
        HELP("protocol on loopback addresses, plain HTTP or TLS")),
};

static const struct schema_field serving_rows[] = {
    KEY("verbsAddress", SCHEMA_ADDRESS, AT(serving.verbs),
        HELP("filter, prioritize and bind; kube-scheduler calls here")),
    KEY("opsAddress", SCHEMA_ADDRESS, AT(serving.ops), HELP("metrics, state, configz and version")),
    KEY("opsAuthorization", SCHEMA_WORD, AT(serving.ops_authorization),
        WORDS([OPS_AUTHORIZATION_REMOTE] = "remote", [OPS_AUTHORIZATION_ALWAYS] = "always"),
        HELP("when callers of ops need a token: remote means on all addresses except loopback, always means on all")),
    KEY("opsAllowedHosts", SCHEMA_LIST, AT(serving.ops_hosts), ITEMS(&host_item, struct str, serving.ops_host_n, 64),
        HELP("host names that callers of ops may use over plain HTTP, beside addresses and localhost")),
    KEY("healthAddress", SCHEMA_ADDRESS, AT(serving.health), HELP("livez, readyz and healthz; the kubelet calls here")),
    KEY("metricsAddress", SCHEMA_ADDRESS_OR_NONE, AT(serving.metrics),
        HELP("metrics alone, for Prometheus; elsewhere than on loopback with TLS and a token")),
    KEY("bindsAllPods", SCHEMA_FLAG, AT(serving.binds_all_pods), NOW,
        HELP("whether bind also accepts pods that ask for no GPU")),
    SECTION("tls", tls_rows),
};

static const struct schema_field lease_rows[] = {
    KEY("object", SCHEMA_OBJECT, AT(lease.object),
        HELP("Lease by which replicas elect one of them; the same for all; with follow-scheduler that of the "
             "schedulers")),
    KEY("schedulerHost", SCHEMA_TEXT, AT(lease.scheduler_host), RANGE(0, 64), /* as the kernel has them */
        HELP("with follow-scheduler: the host name of the kube-scheduler beside; empty: that of this machine or pod")),
    KEY("leaseDuration", SCHEMA_DURATION, AT(lease.duration_ms), RANGE(1000, 3600000),
        HELP("time after which a Lease that nobody renews is taken over, in whole seconds")),
    KEY("renewDeadline", SCHEMA_DURATION, AT(lease.renew_deadline_ms), RANGE(100, 3600000),
        HELP("time after its last renewal in which a replica stops, less than leaseDuration")),
    KEY("retryPeriod", SCHEMA_DURATION, AT(lease.retry_ms), RANGE(10, 3600000),
        HELP("time between two renewals, or two attempts to get the Lease")),
};

static const struct schema_field client_rows[] = {
    KEY("bindDeadline", SCHEMA_DURATION, AT(client.bind_deadline_ms), RANGE(1000, 9000), NOW,
        HELP("time for one bind, including retries")),
    KEY("holdOff", SCHEMA_DURATION, AT(client.hold_off_ms), RANGE(0, 600000),
        HELP("time after the start in which no GPU is promised, because writes of an earlier fgpu may still arrive")),
    KEY("maxInFlightBinds", SCHEMA_INT, AT(client.binds_in_flight_max), RANGE(1, 10000), NOW,
        HELP("number of bindings sent to the API server at the same time")),
    KEY("staleAfter", SCHEMA_DURATION, AT(client.stale_after_ms), RANGE(1000, 300000),
        HELP("time without news from the API server after which no GPU is promised")),
    KEY("runObject", SCHEMA_OBJECT, AT(client.run_object),
        HELP("ConfigMap in which fgpu says that it runs or has ended in order, so that the next start needs no "
             "holdOff")),
    KEY("intentObjects", SCHEMA_OBJECT, AT(client.intent_objects),
        HELP("namespace, and first part of the name, of the Leases of consistency: strict, one for each node")),
    KEY("wakeObject", SCHEMA_OBJECT, AT(client.wake_object),
        HELP("CSIStorageCapacity that fgpu changes when room becomes free, so that refused pods are tried again")),
};

static const struct schema_field events_rows[] = {
    KEY("podWaitsAfter", SCHEMA_DURATION, AT(events.pod_waits_after_ms), RANGE(0, 86400000), NOW,
        HELP("time without a node with GPUs for a pod after which an Event says why it waits, 0 for no such Events")),
};

static const struct schema_field audit_rows[] = {
    KEY("interval", SCHEMA_DURATION, AT(audit.interval_ms), RANGE(0, 86400000),
        HELP("time between two comparisons of the ledger with a fresh list, 0 for none")),
    KEY("settle", SCHEMA_DURATION, AT(audit.settle_ms), RANGE(100, 60000),
        HELP("time that a difference must last, without news from the watch, to be an error")),
};

static const struct schema_field recorder_rows[] = {
    KEY("memory", SCHEMA_BYTES, AT(recorder.bytes), RANGE(0, INT64_C(1) << 30),
        HELP("memory for the last changes and decisions, which fgpu trace shows, 0 for none")),
};

static const struct schema_field signing_rows[] = {
    KEY("mode", SCHEMA_WORD, AT(signing.mode), WORDS([SIGNING_ON] = "on", [SIGNING_OFF] = "off"),
        HELP("whether fgpu signs records and believes only signed records")),
    KEY("privateKey", SCHEMA_TEXT, AT(signing.private_key), RANGE(0, FILE_NAME_MAX),
        HELP("PEM file with the key that signs new records")),
    KEY("publicKeys", SCHEMA_LIST, AT(signing.public_keys), ITEMS(&file_item, struct str, signing.public_key_n, 64),
        HELP("PEM files, or directories of *.pub, with further public keys that fgpu believes")),
    KEY("acceptUnsignedBefore", SCHEMA_INSTANT, AT(signing.accept_unsigned_before), RELIST,
        HELP("records of pods created before this time need no signature")),
};

static const struct schema_field logging_rows[] = {
    KEY("format", SCHEMA_WORD, AT(logging.format), WORDS([LOG_FORMAT_TEXT] = "text", [LOG_FORMAT_JSON] = "json"),
        HELP("form of the log lines")),
    KEY("verbosity", SCHEMA_INT, AT(logging.verbosity), RANGE(0, 10), NOW,
        HELP("0 events, 2 steady state, 4 decisions, 6 wire")),
};

static const struct schema_field limits_rows[] = {
    KEY("bodyBytes", SCHEMA_BYTES, AT(limits.body_bytes), RANGE(65536, INT64_C(256) << 20), NOW,
        HELP("largest request body")),
    KEY("bytesInFlight", SCHEMA_BYTES, AT(limits.bytes_in_flight), RANGE(65536, INT64_C(16) << 30), NOW,
        HELP("memory for all request bodies at one time, together with what is read from them")),
    KEY("connections", SCHEMA_INT, AT(limits.connections), RANGE(16, 65536),
        HELP("number of connections to the verbs")),
    KEY("connectionsPerAddress", SCHEMA_INT, AT(limits.connections_per_address), RANGE(0, 65536),
        HELP("how many of these connections one address may have, loopback not counted; 0 for all")),
};

static const struct schema_field root_rows[] = {
    {.name = "apiVersion",
     SCALAR(SCHEMA_CONST),
     .required = true,
     WORDS(CONFIG_API_VERSION),
     HELP("version of this format")},
    {.name = "kind", SCALAR(SCHEMA_CONST), .required = true, WORDS(CONFIG_KIND), HELP("kind of the file")},
    SECTION("resources", resources_rows, .check = schema_check_resources),
    SECTION("dialects", dialect_rows),
    KEY("sizes", SCHEMA_MAP, AT(policy.sizes), ITEMS(&schema_size_item, struct named_size, policy.size_n, ENTRIES_MAX),
        .key = &schema_size_key, RELIST,
        HELP("requests with a name, for the annotation fgpu.io/size and limits fgpu.io/size.NAME: 1")),
    KEY("nodeTemplates", SCHEMA_LIST, AT(policy.templates),
        ITEMS(&schema_template_item, struct node_template, policy.template_n, ENTRIES_MAX),
        .clash = &schema_clash_templates, RELIST, HELP("GPUs of nodes that do not publish their GPUs")),
    SECTION("devices", devices_rows),
    SECTION("packing", packing_rows),
    SECTION("planAhead", plan_ahead_rows),
    KEY("tenants", SCHEMA_LIST, AT(policy.tenants),
        ITEMS(&schema_tenant_item, struct tenant, policy.tenant_n, TENANTS_MAX), .clash = &schema_clash_names,
        .check = schema_check_tenants, NOW, HELP("limits for groups of namespaces")),
    KEY("nodePools", SCHEMA_LIST, AT(policy.node_pools),
        ITEMS(&schema_pool_item, struct node_pool, policy.node_pool_n, ENTRIES_MAX), .appended = true, RELIST,
        HELP("nodes that are open or closed for new pods with GPUs; of several entries for a node the last "
             "one applies")),
    KEY("changeOvers", SCHEMA_LIST, AT(policy.change_overs),
        ITEMS(&schema_change_over_item, struct change_over_group, policy.change_over_n, GATED_POOLS_MAX / 2),
        .clash = &schema_clash_names, RELIST,
        HELP("groups of node pools of which at most one is open, and which change over step by step")),
    KEY("timeWindows", SCHEMA_LIST, AT(windows),
        ITEMS(&schema_window_item, struct config_window, window_n, TIMETABLE_WINDOWS_MAX), .clash = &schema_clash_names,
        NOW,
        HELP("other values at certain times; if two open windows set the same key, the later one in the file "
             "applies")),
    KEY("timeWindowNotice", SCHEMA_DURATION, AT(window_notice_ms), RANGE(0, 86400000), NOW,
        HELP("how long before a change by time windows fgpu announces it, 0 for no announcement")),
    SECTION("serving", serving_rows, .check = schema_check_serving),
    KEY("election", SCHEMA_WORD, AT(election),
        WORDS([ELECTION_NONE] = "none", [ELECTION_LEASE] = "lease", [ELECTION_FOLLOW_SCHEDULER] = "follow-scheduler"),
        HELP("which of several replicas answers: none means that there is one replica, lease that they elect one by a "
             "Lease, follow-scheduler that the one beside the active kube-scheduler does")),
    SECTION("lease", lease_rows, .check = schema_check_lease),
    KEY("consistency", SCHEMA_WORD, AT(policy.consistency),
        WORDS([CONSISTENCY_DEFAULT] = "default", [CONSISTENCY_STRICT] = "strict"),
        HELP(
            "what a binding needs before it is sent: strict means that it is first written into an object of its node, "
            "so that no other fgpu can give out the same GPU")),
    SECTION("clientConnection", client_rows, .check = schema_check_client),
    SECTION("events", events_rows),
    SECTION("audit", audit_rows),
    SECTION("flightRecorder", recorder_rows),
    SECTION("signing", signing_rows, .alone = true),
    SECTION("logging", logging_rows),
    SECTION("limits", limits_rows, .check = schema_check_limits),
};

/* What sections say together. */
static void check_root(struct decode *c, const struct yaml_doc_node *n, const void *base)
{
    schema_check_change_overs(c, n, base);
    schema_check_election(c, n, base);
}

const struct schema_field schema_root = {SCALAR(SCHEMA_SECTION), ROWS(root_rows), .check = check_root};

static void each_key(const struct schema_field *section, const char *path, schema_visit_fn *visit, void *ctx)
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
