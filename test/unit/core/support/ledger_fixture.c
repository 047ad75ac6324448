#include "core/support/ledger_fixture.h"

#include "base/bug.h"
#include "support/cmocka.h"

#include <stdio.h>
#include <string.h>

const struct pack_params *fixture_params(const char *strategy)
{
    static struct pack_params p;
    const struct strategy *s = strategy_find(str_of(strategy));

    assert_non_null(s);
    p = (struct pack_params){.node_strategy = s, .device_strategy = s};
    return &p;
}

void fixture_init(struct ledger_fixture *f)
{
    fixture_init_limited(
        f, &(struct ledger_limits){.hash_key = {1, 2}, .overcommit_milli = 1000, .overcommit_mem_milli = 1000});
}

void fixture_init_limited(struct ledger_fixture *f, const struct ledger_limits *limits)
{
    f->l = ledger_new(limits);
    f->host = (struct host_capacity){0};
    arena_init(&f->arena, 64 << 20);
    fixture_bracket(f, LEDGER_NODES_BEGIN);
    fixture_bracket(f, LEDGER_NODES_END);
    fixture_bracket(f, LEDGER_PODS_BEGIN);
    fixture_bracket(f, LEDGER_PODS_END);
    assert_true(ledger_is_synced(f->l));
}

void fixture_fini(struct ledger_fixture *f)
{
    const char *why = ledger_check(f->l);

    if (why != NULL) {
        fail_msg("%s", why);
    }
    ledger_free(f->l);
    arena_fini(&f->arena);
}

struct ledger_op fixture_description(const char *name, const struct inventory *inventory)
{
    return (struct ledger_op){
        .kind = LEDGER_NODE_DESCRIBED,
        .node = {.name = str_of(name), .uid = str_of(name), .schedulable = true, .inventory = inventory}};
}

static void describe(struct ledger_fixture *f, const char *name, int gpu_n, int64_t mem_mib, int32_t plugin_managed_n,
                     bool uuids)
{
    struct device devices[DEVICES_PER_NODE_MAX];
    char texts[DEVICES_PER_NODE_MAX][64];
    struct inventory inventory = {.source = INVENTORY_ANNOTATION,
                                  .devices = devices,
                                  .device_n = (size_t)gpu_n,
                                  .plugin_managed_n = plugin_managed_n};
    struct ledger_op op = fixture_description(name, &inventory);

    op.node.host = f->host;
    for (int i = 0; i < gpu_n; i++) {
        snprintf(texts[i], sizeof(texts[i]), "GPU-%s-%d", name, i);
        devices[i] = (struct device){.uuid = uuids ? str_of(texts[i]) : STR_NULL,
                                     .index = i,
                                     .minor = i,
                                     .model = STR("A100"),
                                     .mem_mib = mem_mib,
                                     .slot_n = 16,
                                     .numa = -1,
                                     .healthy = true};
    }
    assert_int_equal(ledger_apply(f->l, &op, NULL), 0);
}

void fixture_node(struct ledger_fixture *f, const char *name, int gpu_n, int64_t mem_mib)
{
    describe(f, name, gpu_n, mem_mib, 0, true);
}

void fixture_node_plugin_managed(struct ledger_fixture *f, const char *name, int gpu_n, int64_t mem_mib,
                                 int32_t plugin_managed_n)
{
    describe(f, name, gpu_n, mem_mib, plugin_managed_n, true);
}

void fixture_node_indexes(struct ledger_fixture *f, const char *name, int gpu_n, int64_t mem_mib)
{
    describe(f, name, gpu_n, mem_mib, 0, false);
}

static struct demand demand_of(struct gpu_request *w, struct gpu_request value)
{
    value.container = STR("main");
    value.phases = 1;
    *w = value;
    return (struct demand){.dialect = "native", .gpu_requests = w, .gpu_request_n = 1};
}

struct demand fixture_share(struct gpu_request *w, int32_t milli)
{
    return demand_of(w, (struct gpu_request){.count = 1, .kind = GPU_REQUEST_MILLI, .milli = milli});
}

struct demand fixture_both(struct gpu_request *w, int32_t milli, int64_t mem_mib)
{
    return demand_of(w, (struct gpu_request){.count = 1, .kind = GPU_REQUEST_BOTH, .milli = milli, .mem_mib = mem_mib});
}

struct demand fixture_memory(struct gpu_request *w, int64_t mem_mib)
{
    return demand_of(w, (struct gpu_request){.count = 1, .kind = GPU_REQUEST_MEMORY, .mem_mib = mem_mib});
}

struct demand fixture_whole(struct gpu_request *w, uint16_t count)
{
    return demand_of(w, (struct gpu_request){.count = count, .kind = GPU_REQUEST_WHOLE, .milli = 1000});
}

struct demand fixture_annotated(struct gpu_request *w, int32_t milli)
{
    struct demand d = fixture_share(w, milli);

    d.source = DEMAND_FROM_ANNOTATIONS;
    return d;
}

struct ledger_op fixture_observation(const char *uid, const struct demand *d, const char *node,
                                     const struct assignment *record)
{
    return (struct ledger_op){.kind = LEDGER_POD_OBSERVED,
                              .at_ms = 1000,
                              .pod = {.uid = str_of(uid),
                                      .namespace_ = STR("default"),
                                      .name = str_of(uid),
                                      .node_name = str_of(node),
                                      .demand = d,
                                      .assignment = record}};
}

void fixture_apply(struct ledger_fixture *f, const struct ledger_op *op)
{
    assert_int_equal(ledger_apply(f->l, op, NULL), 0);
    assert_null(ledger_check(f->l));
}

void fixture_judge(struct ledger_fixture *f, const char *uid, const char *proof, bool valid)
{
    fixture_apply(f, &(struct ledger_op){.kind = LEDGER_RECORD_JUDGED,
                                         .judged = {.uid = str_of(uid), .proof = str_of(proof), .valid = valid}});
}

int fixture_pod(struct ledger_fixture *f, const char *uid, const struct demand *d, const char *node,
                const struct assignment *record)
{
    struct ledger_op op = fixture_observation(uid, d, node, record);

    return ledger_apply(f->l, &op, NULL);
}

int fixture_reserve(struct ledger_fixture *f, const char *uid, const char *node)
{
    struct placement at;
    struct ledger_op op = {
        .kind = LEDGER_RESERVE,
        .at_ms = 2000,
        .reserve = {.uid = str_of(uid), .node_name = str_of(node), .decision_id = str_of(uid), .placement = &at}};
    enum verdict v = ledger_place_pod(f->l, str_of(node), str_of(uid), fixture_params("tight-fit"), &at);

    return v != VERDICT_FITS ? (int)v : ledger_apply(f->l, &op, NULL);
}

int fixture_name_op(struct ledger_fixture *f, enum ledger_op_kind kind, const char *name)
{
    struct ledger_op op = {.kind = kind, .at_ms = 3000, .name = str_of(name)};

    return ledger_apply(f->l, &op, NULL);
}

int fixture_bracket(struct ledger_fixture *f, enum ledger_op_kind kind)
{
    struct ledger_op op = {.kind = kind};

    return ledger_apply(f->l, &op, NULL);
}

struct assignment fixture_record(struct assigned_container *c, struct assigned_device *d, const char *id,
                                 const char *uuid, int32_t index, int32_t milli, int64_t mem_mib)
{
    *d = (struct assigned_device){str_of(uuid), index, milli, mem_mib};
    *c = (struct assigned_container){.name = STR("main"), .devices = d, .device_n = 1};
    return (struct assignment){str_of(id), c, 1};
}

const struct snapshot_node *fixture_state(struct ledger_fixture *f, const char *node)
{
    arena_reset(&f->arena);
    assert_int_equal(snapshot_take(f->l, &f->arena, str_of(node), STR_NULL, &f->snapshot, NULL), 0);
    assert_int_equal(f->snapshot.node_n, 1);
    return &f->snapshot.nodes[0];
}

int32_t fixture_milli_free(struct ledger_fixture *f, const char *node, size_t device)
{
    const struct snapshot_node *n = fixture_state(f, node);

    assert_true(device < n->device_n);
    return n->devices[device].milli_cap - n->devices[device].milli_charged;
}

int64_t fixture_mem_free(struct ledger_fixture *f, const char *node, size_t device)
{
    const struct snapshot_node *n = fixture_state(f, node);

    assert_true(device < n->device_n);
    return n->devices[device].mem_cap_mib - n->devices[device].mem_charged_mib;
}

const struct snapshot_pod *fixture_pod_in(const struct snapshot *s, struct str uid)
{
    for (size_t i = 0; i < s->pod_n; i++) {
        if (str_eq(s->pods[i].uid, uid)) {
            return &s->pods[i];
        }
    }
    return NULL;
}

enum ledger_pod_state fixture_pod_state(struct ledger_fixture *f, const char *uid)
{
    struct ledger_pod pod;

    assert_true(ledger_find_pod(f->l, str_of(uid), &pod));
    return pod.state;
}

bool fixture_knows_pod(struct ledger_fixture *f, const char *uid)
{
    return ledger_find_pod(f->l, str_of(uid), &(struct ledger_pod){0});
}

void fixture_pack(const struct ledger_view *v, const struct pack_params *p, const struct pack_tentative *holds,
                  size_t hold_n, const struct str *names, size_t name_n, struct pack_result *ret)
{
    struct pack_query q;

    pack_query_init(&q, v, p, holds, hold_n);
    name_n = pack_some(v, &q, names, name_n, ret);
    if (p->node_strategy->normalise != NULL) {
        p->node_strategy->normalise(ret, name_n);
    }
}
