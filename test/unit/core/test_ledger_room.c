/* Room for a refused pod appears for any cause => a wake follows (ledger_capacity_generation() moves).
 *
 * The property: a pod that is refused on every node before an op and fits on one after it was made room for. Nodes and
 * pods change in every way in which a fact can change them; who asks stays the same. The causes that were once
 * forgotten have tests of their own. */
#include "core/ledger/state.h"
#include "core/support/ledger_fixture.h"
#include "model/mig.h"

#include "base/rng.h"
#include "support/cmocka.h"
#include "support/seeds.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SEEDS 600 /* others: support/seeds.h */
#define STEPS 250
#define NODES 2
#define DEVICES 3
#define PODS 6
#define PROBES 14
#define GIB 1024

static const struct str node_names[NODES] = {{"n0", 2}, {"n1", 2}};
static const struct str uids[PODS] = {{"u0", 2}, {"u1", 2}, {"u2", 2}, {"u3", 2}, {"u4", 2}, {"u5", 2}};
static const struct str namespaces[] = {{"d", 1}, {"e", 1}};
static const struct str models[] = {{"A", 1}, {"B", 1}, {"C", 1}};
static const char *const uuid_texts[] = {"GPU-a", "GPU-b", "GPU-c", "GPU-d", "GPU-e", "GPU-f"};

struct node_spec {
    bool there, schedulable, closed, by_uuid, grouped;
    uint64_t rules;
    struct inventory inventory;
    struct device devices[DEVICES];
    size_t device_n;
};

struct pod_spec {
    struct gpu_request gpu_requests[2];
    struct demand demand;
    uint64_t isolate[1], labels[1];
    struct str nominated;
    int32_t priority;
    bool deleting, there;
    size_t node; /* bound to; NODES: pending */
    bool recorded;
    struct assigned_device device;
    struct assigned_container container;
    struct assignment record;
};

struct probe {
    const char *what;
    struct gpu_request gpu_requests[2];
    struct demand demand;
    uint64_t isolate[1], labels[1];
    struct device_pattern pattern;
    struct str namespace_;
    int32_t priority;
    bool fitted;
};

static struct run {
    struct ledger *l;
    struct rng rng;
    struct node_spec nodes[NODES];
    struct pod_spec pods[PODS];
    struct probe probes[PROBES];
    struct tenant tenant;
    struct str tenant_spaces[1];
    uint64_t capacity;
    unsigned appeared; /* how often a refused pod came to fit */
    const char *doing;
    uint64_t seed;
    unsigned step;
} r;

static unsigned below(unsigned n)
{
    return (unsigned)rng_below(&r.rng, n);
}

static bool chance(unsigned percent)
{
    return below(100) < percent;
}

/* ---- who asks ---- */

static struct probe *add_probe(size_t *n, const char *what, struct gpu_request gpu_request)
{
    struct probe *p = &r.probes[(*n)++];

    assert_true(*n <= PROBES);
    gpu_request.container = STR("main");
    gpu_request.phases = 1;
    p->what = what;
    p->gpu_requests[0] = gpu_request;
    p->demand = (struct demand){.dialect = "native", .gpu_requests = p->gpu_requests, .gpu_request_n = 1};
    p->namespace_ = namespaces[0];
    return p;
}

static void make_probes(void)
{
    const struct gpu_request tiny = {.count = 1, .kind = GPU_REQUEST_BOTH, .milli = 1, .mem_mib = 1},
                             large = {.count = 1, .kind = GPU_REQUEST_BOTH, .milli = 600, .mem_mib = 8 * GIB},
                             whole = {.count = 1, .kind = GPU_REQUEST_WHOLE, .milli = 1000},
                             memory = {.count = 1, .kind = GPU_REQUEST_MEMORY, .mem_mib = 8 * GIB},
                             two = {.count = 2, .kind = GPU_REQUEST_MILLI, .milli = 300},
                             part = {.count = 1,
                                     .kind = GPU_REQUEST_WHOLE,
                                     .milli = 1000,
                                     .profile = mig_profile_parse(STR("1g.10gb"))};
    struct probe *p;
    size_t n = 0;

    (void)add_probe(&n, "tiny", tiny);
    (void)add_probe(&n, "large", large);
    (void)add_probe(&n, "whole", whole);
    (void)add_probe(&n, "memory", memory);
    (void)add_probe(&n, "two", two);
    (void)add_probe(&n, "instance", part);
    p = add_probe(&n, "of a tenant", large);
    p->namespace_ = namespaces[1];
    p = add_probe(&n, "keeps away", tiny);
    p->isolate[0] = 1;
    p->demand.isolate = p->isolate;
    p->demand.isolate_n = 1;
    p = add_probe(&n, "kept away", tiny);
    p->labels[0] = 2;
    p = add_probe(&n, "of a model", tiny);
    p->pattern = (struct device_pattern){.text = STR("B")};
    p->demand.models = &p->pattern;
    p->demand.model_n = 1;
    p = add_probe(&n, "of no model A", tiny);
    p->pattern = (struct device_pattern){.text = STR("A"), .exclude = true};
    p->demand.models = &p->pattern;
    p->demand.model_n = 1;
    p = add_probe(&n, "of a UUID", tiny);
    p->pattern = (struct device_pattern){.text = STR("GPU-c")};
    p->demand.uuids = &p->pattern;
    p->demand.uuid_n = 1;
    p = add_probe(&n, "of a plugin", tiny);
    p->demand = (struct demand){.dialect = "native", .plugin_managed_n = 1, .plugin_managed_names = 1};
    p = add_probe(&n, "important", large);
    p->priority = 5;
}

static bool fits_somewhere(const struct probe *p)
{
    static const struct strategy *tight;
    struct pack_params params;
    struct pack_result results[NODES];
    struct ledger_view v;
    struct view_pod pod = {.uid = STR("probe"),
                           .namespace_ = p->namespace_,
                           .priority = p->priority,
                           .demand = &p->demand,
                           .label_hashes = p->labels,
                           .label_n = p->labels[0] != 0};
    bool fits = false;
    struct arena a;

    tight = tight == NULL ? strategy_find(STR("tight-fit")) : tight;
    params = (struct pack_params){.node_strategy = tight, .device_strategy = tight};
    arena_init(&a, 1 << 20);
    assert_int_equal(ledger_view(r.l, &a, &pod, &v, NULL), 0);
    fixture_pack(&v, &params, NULL, 0, node_names, NODES, results);
    for (size_t i = 0; i < NODES; i++) {
        /* kube-scheduler does not ask for nodes that are cordoned */
        fits = fits || (results[i].verdict == VERDICT_FITS && r.nodes[i].schedulable);
    }
    arena_fini(&a);
    return fits;
}

/* ---- ops ---- */

static int apply(struct ledger_op *op, const char *doing)
{
    int rc;

    op->at_ms = 1;
    r.doing = doing;
    rc = ledger_apply(r.l, op, NULL);
    if (ledger_check(r.l) != NULL) {
        fail_msg("seed %llu, step %u, %s: %s", (unsigned long long)r.seed, r.step, doing, ledger_check(r.l));
    }
    return rc;
}

static void tell_node(size_t i, const char *doing)
{
    struct node_spec *n = &r.nodes[i];
    struct ledger_op op = {.kind = n->there ? LEDGER_NODE_DESCRIBED : LEDGER_NODE_GONE};
    struct device devices[DEVICES];

    if (!n->there) {
        op.name = node_names[i];
    } else {
        memcpy(devices, n->devices, sizeof(devices));
        for (size_t k = 0; k < n->device_n; k++) {
            devices[k].uuid = n->by_uuid ? n->devices[k].uuid : STR_NULL;
        }
        n->inventory.devices = devices;
        n->inventory.device_n = n->device_n;
        op.node = (struct ledger_node_fact){.name = node_names[i],
                                            .uid = node_names[i],
                                            .schedulable = n->schedulable,
                                            .closed = n->closed,
                                            .host_group = n->grouped ? STR("host") : STR_NULL,
                                            .rules = n->rules,
                                            .inventory = &n->inventory};
    }
    assert_int_equal(apply(&op, doing), 0);
}

static void tell_pod(size_t i, const char *doing)
{
    struct pod_spec *p = &r.pods[i];
    struct ledger_op op = {.kind = p->there ? LEDGER_POD_OBSERVED : LEDGER_POD_GONE};

    if (!p->there) {
        op.name = uids[i];
    } else {
        p->demand.gpu_requests = p->gpu_requests;
        p->demand.isolate = p->isolate;
        p->demand.isolate_n = p->isolate[0] != 0;
        op.pod = (struct ledger_pod_fact){.uid = uids[i],
                                          .namespace_ = namespaces[i % 2],
                                          .name = uids[i],
                                          .node_name = p->node < NODES ? node_names[p->node] : STR_NULL,
                                          .nominated_node = p->node < NODES ? STR_NULL : p->nominated,
                                          .deleting = p->deleting,
                                          .priority = p->priority,
                                          .demand = &p->demand,
                                          .assignment = p->node < NODES && p->recorded ? &p->record : NULL,
                                          .label_hashes = p->labels,
                                          .label_n = p->labels[0] != 0};
    }
    assert_int_equal(apply(&op, doing), 0);
}

static struct device draw_device(int32_t index)
{
    return (struct device){.uuid = str_of(uuid_texts[(size_t)index * 2]),
                           .index = index,
                           .minor = -1,
                           .model = models[below(2)],
                           .mem_mib = 16 * GIB,
                           .slot_n = 4,
                           .gpu_index = -1,
                           .start = -1,
                           .healthy = true};
}

static void draw_node(struct node_spec *n)
{
    *n = (struct node_spec){.there = true, .schedulable = true, .by_uuid = chance(80), .device_n = 1 + below(DEVICES)};
    n->inventory.source = INVENTORY_ANNOTATION;
    for (size_t i = 0; i < n->device_n; i++) {
        n->devices[i] = draw_device((int32_t)i);
    }
}

static void change_node(void)
{
    size_t i = below(NODES);
    struct node_spec *n = &r.nodes[i];
    struct device *d = &n->devices[below(DEVICES) % (n->device_n == 0 ? 1 : n->device_n)];
    const char *doing = "a node";

    if (!n->there || chance(8)) {
        bool gone = n->there && chance(50);

        draw_node(n);
        n->there = !gone;
        tell_node(i, gone ? "a node goes" : "a node comes");
        return;
    }
    switch (below(21)) {
    case 20:
        n->grouped = !n->grouped;
        doing = "a host group";
        break;
    case 0:
        n->schedulable = !n->schedulable;
        doing = "a cordon";
        break;
    case 1:
        n->closed = !n->closed;
        doing = "a node pool";
        break;
    case 2:
        n->rules ^= 1;
        doing = "a packing rule";
        break;
    case 3:
        d->healthy = !d->healthy;
        doing = "health";
        break;
    case 4:
        d->model = models[below(3)];
        doing = "a model";
        break;
    case 5:
        d->uuid = str_of(uuid_texts[(size_t)d->index * 2 + below(2)]);
        doing = "a UUID";
        break;
    case 6:
        n->by_uuid = !n->by_uuid;
        doing = "UUIDs become known or unknown";
        break;
    case 7:
        d->mem_mib = (int64_t)(4 + 4 * below(8)) * GIB;
        doing = "memory";
        break;
    case 8:
        d->slot_n = 1 + (int32_t)below(5);
        doing = "sharers";
        break;
    case 9:
        n->inventory.overcommit_milli = 1000 + 500 * (int32_t)below(2);
        doing = "over-commit of compute";
        break;
    case 10:
        n->inventory.overcommit_mem_milli = 1000 + 500 * (int32_t)below(2);
        doing = "over-commit of memory";
        break;
    case 11:
        n->inventory.memory_only = chance(50) ? MEMORY_ONLY_FREE : MEMORY_ONLY_SHARE;
        doing = "memory-only";
        break;
    case 12:
        n->inventory.qos = chance(50) ? QOS_EQUAL_SHARE : QOS_FIXED_SHARE;
        doing = "quality of service";
        break;
    case 13:
        n->inventory.plugin_managed_n = (int32_t)below(4);
        doing = "a plugin's GPUs";
        break;
    case 14:
        n->inventory.plugin_managed_names = below(4);
        doing = "a plugin's names";
        break;
    case 15:
        n->inventory.mig_changing = !n->inventory.mig_changing;
        doing = "a MIG layout that changes";
        break;
    case 16:
        d->slice = d->profile == 0 && !d->slice;
        doing = "a virtual GPU";
        break;
    case 17:
        d->slice = false;
        d->profile = d->profile == 0 ? (chance(50) ? mig_profile_parse(STR("1g.10gb")) : DEVICE_IN_MIG_MODE) : 0;
        d->counted = d->profile != 0 && d->profile != DEVICE_IN_MIG_MODE && chance(50);
        doing = "MIG mode";
        break;
    case 18:
        n->inventory.plugin_managed_one = !n->inventory.plugin_managed_one;
        doing = "one unit a container";
        break;
    default:
        n->device_n = below(DEVICES + 1);
        for (size_t k = 0; k < n->device_n; k++) {
            n->devices[k] = n->devices[k].uuid.n == 0 ? draw_device((int32_t)k) : n->devices[k];
        }
        doing = "another number of GPUs";
        break;
    }
    tell_node(i, doing);
}

static void draw_request(struct pod_spec *p)
{
    static const struct gpu_request kinds[] = {
        {.count = 1, .kind = GPU_REQUEST_BOTH, .milli = 500, .mem_mib = 8 * GIB},
        {.count = 1, .kind = GPU_REQUEST_BOTH, .milli = 100, .mem_mib = 14 * GIB},
        {.count = 1, .kind = GPU_REQUEST_WHOLE, .milli = 1000},
        {.count = 1, .kind = GPU_REQUEST_MEMORY, .mem_mib = 12 * GIB},
        {.count = 2, .kind = GPU_REQUEST_MILLI, .milli = 900},
    };

    p->gpu_requests[0] = kinds[below(sizeof(kinds) / sizeof(kinds[0]))];
    p->gpu_requests[0].container = STR("main");
    p->gpu_requests[0].phases = 1;
    if (chance(10)) {
        p->gpu_requests[0] = (struct gpu_request){.container = STR("main"),
                                                  .phases = 1,
                                                  .count = 1,
                                                  .kind = GPU_REQUEST_WHOLE,
                                                  .milli = 1000,
                                                  .profile = mig_profile_parse(STR("1g.10gb"))};
    }
    p->demand = (struct demand){.dialect = "native", .gpu_requests = p->gpu_requests, .gpu_request_n = 1};
    p->demand.source = chance(50) ? DEMAND_FROM_ANNOTATIONS : DEMAND_FROM_RESOURCES;
    if (chance(15)) {
        p->demand = (struct demand){
            .dialect = "native", .gpu_requests = p->gpu_requests, .plugin_managed_n = 1, .plugin_managed_names = 1};
    }
}

static void draw_record(struct pod_spec *p)
{
    const struct gpu_request *w = &p->gpu_requests[0];
    int32_t index = (int32_t)below(DEVICES);

    p->recorded = chance(70);
    p->device = (struct assigned_device){chance(70) ? str_of(uuid_texts[(size_t)index * 2]) : STR_NULL, index, w->milli,
                                         w->mem_mib};
    p->container = (struct assigned_container){.name = STR("main"), .devices = &p->device, .device_n = 1};
    p->record = (struct assignment){.id = STR("other"), .containers = &p->container, .container_n = 1};
}

static void change_pod(void)
{
    size_t i = below(PODS);
    struct pod_spec *p = &r.pods[i];
    const char *doing = "a pod";

    if (!p->there) {
        *p = (struct pod_spec){.there = true, .node = NODES, .priority = (int32_t)below(8)};
        draw_request(p);
        p->labels[0] = below(3);
        p->isolate[0] = chance(30) ? 2 : 0;
        if (chance(40)) {
            p->node = below(NODES);
            draw_record(p);
        }
        tell_pod(i, "a pod comes");
        return;
    }
    switch (below(9)) {
    case 0:
        p->there = false;
        doing = "a pod goes";
        break;
    case 1:
        p->labels[0] = below(3);
        doing = "labels";
        break;
    case 2:
        p->isolate[0] = p->isolate[0] == 0 ? 2 : chance(50) ? 0 : 3;
        doing = "isolate-from";
        break;
    case 3:
        p->deleting = !p->deleting;
        doing = "a pod terminates";
        break;
    case 4:
        p->nominated = chance(50) ? node_names[below(NODES)] : STR_NULL;
        doing = "a nomination";
        break;
    case 5:
        p->priority = (int32_t)below(8);
        doing = "a priority";
        break;
    case 6:
        draw_request(p);
        doing = "a request";
        break;
    case 7:
        if (p->node == NODES) {
            p->node = below(NODES);
        }
        draw_record(p);
        doing = "a record";
        break;
    default:
        doing = "the same again";
        break;
    }
    tell_pod(i, doing);
}

static void change_reservation(void)
{
    size_t i = below(PODS);
    struct placement at;
    struct ledger_pod known;
    struct ledger_op op = {.kind = chance(50) ? LEDGER_RELEASE : LEDGER_CONFIRM, .name = uids[i]};

    if (!ledger_find_pod(r.l, uids[i], &known) || known.demand->defect != DEMAND_OK) {
        return;
    }
    if (known.state == LEDGER_PENDING) {
        op = (struct ledger_op){
            .kind = LEDGER_RESERVE,
            .reserve = {
                .uid = uids[i], .node_name = node_names[below(NODES)], .decision_id = STR("ours"), .placement = &at}};
        if (ledger_place_pod(r.l, op.reserve.node_name, uids[i],
                             &(struct pack_params){.node_strategy = strategy_find(STR("tight-fit")),
                                                   .device_strategy = strategy_find(STR("tight-fit"))},
                             &at) != VERDICT_FITS) {
            return;
        }
    }
    (void)apply(&op, "a Binding");
}

static void set_tenants(void)
{
    struct ledger_op op = {.kind = LEDGER_TENANTS};

    r.tenant_spaces[0] = namespaces[1];
    r.tenant = (struct tenant){.name = STR("t"),
                               .namespaces = r.tenant_spaces,
                               .namespace_n = 1,
                               .milli = chance(50) ? 700 + 500 * (int32_t)below(4) : -1,
                               .mem_mib = -1,
                               .gpu_permille = chance(50) ? 300 : -1,
                               .mem_permille = -1};
    op.tenants.items = &r.tenant;
    op.tenants.n = chance(80);
    (void)apply(&op, "a tenant's limit");
}

/* A list of all pods, some of which are gone meanwhile. */
static void list_pods(void)
{
    struct ledger_op begin = {.kind = LEDGER_PODS_BEGIN}, end = {.kind = LEDGER_PODS_END};

    (void)apply(&begin, "a list");
    for (size_t i = 0; i < PODS; i++) {
        r.pods[i].there = r.pods[i].there && chance(80);
        if (r.pods[i].there) {
            tell_pod(i, "a list of pods");
        }
    }
    (void)apply(&end, "the end of a list");
}

static void look(void)
{
    uint64_t capacity = ledger_capacity_generation(r.l);

    for (size_t i = 0; i < PROBES; i++) {
        bool fits = fits_somewhere(&r.probes[i]);

        if (fits && !r.probes[i].fitted) {
            r.appeared++;
            if (capacity == r.capacity) {
                fail_msg("seed %llu, step %u: %s made room for the pod \"%s\", and nobody is woken",
                         (unsigned long long)r.seed, r.step, r.doing, r.probes[i].what);
            }
        }
        r.probes[i].fitted = fits;
    }
    r.capacity = capacity;
}

static void random__room_for_a_refused_pod_from_any_cause__a_wake_follows(void **state)
{
    const struct ledger_limits limits = {.hash_key = {1, 2}, .overcommit_milli = 1000, .overcommit_mem_milli = 1000};
    const struct seeds seeds = seeds_of_test(1, SEEDS);

    for (uint64_t seed = seeds.first; seed < seeds.end; seed++) {
        memset(&r.nodes, 0, sizeof(r.nodes));
        memset(&r.pods, 0, sizeof(r.pods));
        memset(&r.probes, 0, sizeof(r.probes));
        rng_init(&r.rng, seed);
        r.l = ledger_new(&limits);
        r.capacity = 0;
        r.seed = seed;
        make_probes();
        for (unsigned i = 0; i < STEPS; i++) {
            unsigned how = below(100);

            r.step = i;

            if (how < 40) {
                change_node();
            } else if (how < 75) {
                change_pod();
            } else if (how < 96) {
                change_reservation();
            } else if (how < 98) {
                set_tenants();
            } else {
                list_pods();
            }
            look();
        }
        ledger_free(r.l);
    }
    assert_true(seeds.n < SEEDS || r.appeared > 10 * seeds.n); /* it is not idle */
}

/* ---- the causes that were once forgotten ---- */

static void begin(void)
{
    const struct ledger_limits limits = {.hash_key = {1, 2}, .overcommit_milli = 1000, .overcommit_mem_milli = 1000};

    memset(&r, 0, sizeof(r));
    rng_init(&r.rng, 1);
    r.l = ledger_new(&limits);
    make_probes();
    r.nodes[0] = (struct node_spec){.there = true, .schedulable = true, .by_uuid = true, .device_n = 1};
    r.nodes[0].devices[0] = draw_device(0);
    r.nodes[0].devices[0].model = models[0];
    tell_node(0, "a node comes");
    r.pods[0] = (struct pod_spec){
        .there = true,
        .node = 0,
        .gpu_requests = {{.container = STR("main"), .phases = 1, .count = 1, .kind = GPU_REQUEST_MILLI, .milli = 100}}};
    r.pods[0].demand = (struct demand){.dialect = "native", .gpu_requests = r.pods[0].gpu_requests, .gpu_request_n = 1};
    r.pods[0].labels[0] = 1;
    r.pods[0].isolate[0] = 2;
    tell_pod(0, "a pod comes");
}

static bool fits(const char *what)
{
    for (size_t i = 0; i < PROBES; i++) {
        if (strcmp(r.probes[i].what, what) == 0) {
            return fits_somewhere(&r.probes[i]);
        }
    }
    fail_msg("no such pod: %s", what);
    return false;
}

static uint64_t begin_without_room_for(const char *what)
{
    begin();
    assert_false(fits(what));
    return ledger_capacity_generation(r.l);
}

static void expect_woken(const char *what, uint64_t residual_before)
{
    assert_true(fits(what));
    assert_true(ledger_capacity_generation(r.l) > residual_before);
    ledger_free(r.l);
}

static void label_that_others_keep_away_from__removed__a_wake_follows(void **state)
{
    uint64_t capacity = begin_without_room_for("keeps away");

    r.pods[0].labels[0] = 0;
    tell_pod(0, "labels");
    expect_woken("keeps away", capacity);
}

static void isolate_from_of_a_running_pod__removed__a_wake_follows(void **state)
{
    uint64_t capacity = begin_without_room_for("kept away");

    r.pods[0].isolate[0] = 0;
    tell_pod(0, "isolate-from");
    expect_woken("kept away", capacity);
}

static void model_of_a_device__changed__a_wake_follows(void **state)
{
    uint64_t capacity = begin_without_room_for("of a model");

    r.nodes[0].devices[0].model = STR("B");
    tell_node(0, "a model");
    expect_woken("of a model", capacity);
}

static void uuid_of_a_device__replaced__a_wake_follows(void **state)
{
    uint64_t capacity = begin_without_room_for("of a UUID");

    r.nodes[0].devices[0].uuid = STR("GPU-c");
    tell_node(0, "a UUID");
    expect_woken("of a UUID", capacity);
}

static void facts_said_again__nobody_is_woken(void **state)
{
    uint64_t capacity;

    begin();
    capacity = ledger_capacity_generation(r.l);
    tell_node(0, "the same again");
    tell_pod(0, "the same again");
    assert_int_equal(ledger_capacity_generation(r.l), capacity);
    ledger_free(r.l);
}

/* Labels wake whoever keeps away from them, and nobody else: not where there were none, nor those of a pod that waits.
 */
static void labels_that_nobody_kept_away_from__changed__nobody_is_woken(void **state)
{
    const uint64_t labels[] = {1, 2};
    struct ledger_op op = fixture_observation("w", &r.pods[0].demand, NULL, NULL);
    uint64_t capacity;

    begin();
    r.pods[0].labels[0] = 0;
    tell_pod(0, "labels");
    op.pod.label_hashes = &labels[0];
    op.pod.label_n = 1;
    assert_int_equal(ledger_apply(r.l, &op, NULL), 0);
    capacity = ledger_capacity_generation(r.l);
    op.pod.label_hashes = &labels[1];
    assert_int_equal(ledger_apply(r.l, &op, NULL), 0); /* it is on no node */
    assert_int_equal(ledger_capacity_generation(r.l), capacity);
    r.pods[0].labels[0] = 1;
    tell_pod(0, "labels"); /* it had none */
    assert_int_equal(ledger_capacity_generation(r.l), capacity);
    ledger_free(r.l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(label_that_others_keep_away_from__removed__a_wake_follows),
        cmocka_unit_test(isolate_from_of_a_running_pod__removed__a_wake_follows),
        cmocka_unit_test(model_of_a_device__changed__a_wake_follows),
        cmocka_unit_test(uuid_of_a_device__replaced__a_wake_follows),
        cmocka_unit_test(facts_said_again__nobody_is_woken),
        cmocka_unit_test(labels_that_nobody_kept_away_from__changed__nobody_is_woken),
        cmocka_unit_test(random__room_for_a_refused_pod_from_any_cause__a_wake_follows),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
