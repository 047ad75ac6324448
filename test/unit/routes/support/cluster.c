#include "routes/support/cluster.h"

#include <stdio.h>

static void read_cursors(void *ctx, struct state_cursors *ret)
{
    const struct cluster *c = ctx;

    *ret = c->cursors;
}

static bool read_ready(void *ctx)
{
    const struct cluster *c = ctx;

    return c->ready;
}

static bool read_leader(void *ctx)
{
    const struct cluster *c = ctx;

    return c->leader;
}

void cluster_init_unsynced(struct cluster *c)
{
    const struct ledger_limits limits = {.hash_key = {1, 2}, .overcommit_milli = 1000, .overcommit_mem_milli = 1000};
    struct config *config = config_defaults();

    memset(c, 0, sizeof(*c));
    snprintf(config->hash, sizeof(config->hash), "0123456789abcdef");
    c->config = config_slot_new(config, NULL, 0);
    clock_manual_init(&c->clock, 1000000000, 1795161600123);
    c->store = store_new(&limits, &c->clock.clock);
    c->ready = true;
    c->leader = true;
    c->cursors = (struct state_cursors){"101", "77"};
    c->context = (struct state_context){
        .store = c->store,
        .clock = &c->clock.clock,
        .cursors = read_cursors,
        .is_ready = read_ready,
        .is_leader = read_leader,
        .ctx = c,
        .config = c->config,
        .version = "v9.8.7",
    };
}

void cluster_init(struct cluster *c)
{
    cluster_init_unsynced(c);
    cluster_op(c, LEDGER_NODES_BEGIN, NULL);
    cluster_op(c, LEDGER_NODES_END, NULL);
    cluster_op(c, LEDGER_PODS_BEGIN, NULL);
    cluster_op(c, LEDGER_PODS_END, NULL);
}

void cluster_fini(struct cluster *c)
{
    const char *why = store_check(c->store);

    if (why != NULL) {
        fail_msg("%s", why);
    }
    assert_int_equal(atomic_load(&c->context.reader_n), 0);
    store_free(c->store);
    config_slot_free(c->config);
}

static void apply(struct cluster *c, struct ledger_op *op)
{
    struct err err = {.code = ERR_OK};

    if (store_apply(c->store, op, &err) != 0) {
        fail_msg("%s", err.msg);
    }
}

void cluster_op(struct cluster *c, enum ledger_op_kind kind, const char *name)
{
    struct ledger_op op = {.kind = kind, .name = str_of(name)};

    apply(c, &op);
}

void cluster_node(struct cluster *c, const struct node_spec *spec)
{
    struct device devices[DEVICES_PER_NODE_MAX];
    char texts[DEVICES_PER_NODE_MAX][64], uid[64];
    struct inventory inventory = {.source = spec->source,
                                  .devices = devices,
                                  .device_n = (size_t)spec->gpu_n,
                                  .plugin_managed_n = spec->plugin_managed_n};
    struct ledger_op op = {.kind = LEDGER_NODE_DESCRIBED,
                           .node = {.name = str_of(spec->name),
                                    .schedulable = !spec->cordoned,
                                    .host = spec->host,
                                    .inventory = &inventory,
                                    .note = spec->note}};

    for (int i = 0; i < spec->gpu_n; i++) {
        snprintf(texts[i], sizeof(texts[i]), "GPU-%s-%d", spec->name, i);
        devices[i] = (struct device){.uuid = spec->no_uuids ? STR_NULL : str_of(texts[i]),
                                     .index = i,
                                     .minor = i,
                                     .model = STR("A100"),
                                     .mem_mib = spec->mem_mib,
                                     .slot_n = 16,
                                     .numa = -1,
                                     .healthy = true};
    }
    snprintf(uid, sizeof(uid), "uid-%s", spec->name);
    op.node.uid = str_of(uid);
    apply(c, &op);
}

void cluster_pod(struct cluster *c, const struct pod_spec *spec)
{
    struct gpu_request gpu_request = {.container = STR("main"),
                                      .count = 1,
                                      .kind = GPU_REQUEST_BOTH,
                                      .milli = spec->milli,
                                      .mem_mib = spec->mem_mib,
                                      .phases = 1};
    struct demand demand = {.dialect = "native",
                            .gpu_requests = &gpu_request,
                            .gpu_request_n = 1,
                            .plugin_managed_n = spec->whole_n,
                            .host = spec->host};
    struct assigned_device device = {str_of(spec->uuid), spec->index, spec->milli, spec->mem_mib};
    struct assigned_container container = {.name = STR("main"), .devices = &device, .device_n = 1};
    struct assignment record = {str_of(spec->decision), &container, 1};
    struct ledger_op op = {.kind = LEDGER_POD_OBSERVED,
                           .pod = {.namespace_ = str_of(spec->namespace_),
                                   .name = str_of(spec->name),
                                   .node_name = str_of(spec->node),
                                   .deleting = spec->deleting,
                                   .demand = &demand,
                                   .assignment = spec->uuid != NULL ? &record : NULL}};
    char uid[64];

    demand.gpu_request_n = spec->whole_n > 0 || spec->defect != DEMAND_OK || spec->cpu_only ? 0 : 1;
    demand.defect = spec->defect;
    snprintf(uid, sizeof(uid), "uid-%s", spec->name);
    op.pod.uid = str_of(uid);
    apply(c, &op);
}

void cluster_reserve(struct cluster *c, const char *uid, const char *node, unsigned ordinal, const char *decision)
{
    struct placement at = {.gpu_request_devices = {UINT64_C(1) << ordinal}};
    struct ledger_op op = {
        .kind = LEDGER_RESERVE,
        .reserve = {.uid = str_of(uid), .node_name = str_of(node), .decision_id = str_of(decision), .placement = &at}};

    apply(c, &op);
}

char *cluster_state_text(struct cluster *c, const char *node, const char *namespace_)
{
    struct state_document *d;
    struct strbuf out;

    d = state_document_new(&c->context, str_of(node), str_of(namespace_));
    strbuf_init(&out, 256 << 20);
    while (state_document_next(d, &out) == STATE_MORE) {
    }
    assert_int_equal(state_document_next(d, &out), STATE_COMPLETE);
    state_document_free(d);
    assert_false(out.overflowed);
    return strbuf_take(&out, NULL);
}

cJSON *cluster_state(struct cluster *c, const char *node, const char *namespace_)
{
    char *text = cluster_state_text(c, node, namespace_);
    cJSON *json = json_of(text, strlen(text));

    free(text);
    return json;
}
