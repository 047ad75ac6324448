/* The ledger under any sequence of ops at all, also such as no cluster would produce: records that
 * contradict each other, devices that change under their pods, forged placements, brackets within
 * brackets. After every op: the invariants, a failure changes nothing, an observation never fails,
 * the same fact again changes nothing, a reservation ends only by what may end it, a pod whose record was
 * refused is never again believed unverified, and what is told of one pod takes nothing from another.
 *
 * First byte: honest or not, other factors, small tables. Whatever the tables hold, a pod that was last seen bound is
 * on its node there, or the node takes nothing: an oracle follows the observations alone. In an honest run nodes are
 * described once and pods are placed by reservations only; then no device is ever over-committed, and what was granted
 * first, added up by an oracle that reads nothing but records, is never more than a device has.
 */
#include "support/input_rng.h"

#include "base/rng.h"
#include "core/ledger/ledger.h"
#include "core/ledger/snapshot.h"
#include "core/ledger/view.h"
#include "core/request/demand_histogram.h"
#include "core/support/first_grants.h"
#include "core/support/random_demand.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NODES 4
#define PODS 8
#define DEVICES 6
#define GPU_REQUESTS 4
#define OPS_MAX 200
#define MEMORY (4U << 20)

static const struct str node_names[NODES] = {{"n0", 2}, {"n1", 2}, {"n2", 2}, {"n3", 2}};
static const struct str uids[PODS] = {{"u0", 2}, {"u1", 2}, {"u2", 2}, {"u3", 2},
                                      {"u4", 2}, {"u5", 2}, {"u6", 2}, {"u7", 2}};
static const struct str uuids[DEVICES + 1] = {{"", 0},      {"GPU-a", 5}, {"GPU-b", 5}, {"GPU-c", 5},
                                              {"GPU-d", 5}, {"GPU-e", 5}, {"GPU-f", 5}};
static const struct str proofs[] = {{"", 0}, {"p", 1}, {"q", 1}};
static const struct container inits[] = {{.name = {"side", 4}, .sidecar = true}, {.name = {"init", 4}}};
static const struct str namespaces[] = {{"d", 1}, {"e", 1}};
static const struct str container_names[GPU_REQUESTS] = {{"main", 4}, {"side", 4}, {"init", 4}, {"more", 4}};

struct run {
    struct ledger *l;
    struct fuzz_input *in;
    struct rng unused;
    bool honest;
    bool described[NODES];
    enum { FREE, RESERVED, CONFIRMED } held[PODS];
    bool missed[PODS];  /* reserved, but not in the list that ended since */
    bool seen[PODS];    /* in the present bracket */
    size_t bound[PODS]; /* the node where it was last seen using GPUs; NODES: nowhere, or nobody knows */
    bool refused[PODS]; /* a record of it was, and none was verified since */
    struct first_grants grants;
    /* storage of the present op */
    struct device devices[DEVICES];
    struct inventory inventory;
    struct gpu_request gpu_requests[GPU_REQUESTS];
    struct demand demand;
    uint64_t isolate[2], labels[2];
    struct assigned_device assigned[GPU_REQUESTS][DEVICES];
    struct assigned_container containers[GPU_REQUESTS];
    struct assignment record;
    struct placement placement;
};

static int64_t draw_mem(struct run *r)
{
    static const int64_t amounts[] = {0, 1, 1024, 16384, 81920, INT32_MAX};

    return amounts[fuzz_below(r->in, ARRAY_LEN(amounts))];
}

static void draw_inventory(struct run *r)
{
    static const int32_t slots[] = {1, 2, 16, 32767};
    bool by_uuid = fuzz_bool(r->in); /* an inventory knows all UUIDs or none (core/inventory/inventory.h) */
    uint32_t used = 0;
    int32_t index = 0;

    r->inventory = (struct inventory){.source = INVENTORY_ANNOTATION, .devices = r->devices};
    r->inventory.device_n = fuzz_below(r->in, DEVICES + 1);
    r->inventory.plugin_managed_n = fuzz_below(r->in, 4) == 0 ? (int32_t)fuzz_below(r->in, 5) : 0;
    for (size_t i = 0; i < r->inventory.device_n; i++) {
        uint32_t uuid = by_uuid ? 1 + fuzz_below(r->in, DEVICES) : 0;

        while (by_uuid && (used >> uuid & 1) != 0) {
            uuid = uuid == DEVICES ? 1 : uuid + 1;
        }
        used |= UINT32_C(1) << uuid;
        index += (int32_t)fuzz_below(r->in, 3);
        r->devices[i] = (struct device){.uuid = uuids[uuid],
                                        .index = index++,
                                        .minor = -1,
                                        .model = fuzz_bool(r->in) ? STR("A") : STR("B"),
                                        .mem_mib = draw_mem(r),
                                        .slot_n = slots[fuzz_below(r->in, ARRAY_LEN(slots))],
                                        .numa = -1,
                                        .healthy = fuzz_below(r->in, 8) != 0};
    }
}

static void draw_demand(struct run *r)
{
    uint32_t how = fuzz_below(r->in, 12);
    size_t gpu_request_n = 1 + fuzz_below(r->in, GPU_REQUESTS);

    r->demand = (struct demand){.dialect = "native", .gpu_requests = r->gpu_requests};
    r->demand.source = !r->honest && fuzz_bool(r->in) ? DEMAND_FROM_ANNOTATIONS : DEMAND_FROM_RESOURCES;
    if (how == 0) {
        r->demand.dialect = "";
        return; /* asks for nothing */
    }
    if (how == 1) {
        r->demand.defect = DEMAND_COUNT;
        return;
    }
    if (how == 2) {
        r->demand.plugin_managed_n = 1 + (int32_t)fuzz_below(r->in, 4);
        return;
    }
    for (size_t i = 0; i < gpu_request_n; i++) {
        r->gpu_requests[i] = random_gpu_request(&r->unused, 3);
        r->gpu_requests[i].container = container_names[i];
        r->gpu_requests[i].init = i == 2;
        r->gpu_requests[i].position = i == 2 ? 0 : (uint16_t)i;
        r->gpu_requests[i].phases = i == 2 ? 2 : 1;
    }
    r->demand.gpu_request_n = gpu_request_n;
    if (how == 3) {
        r->isolate[0] = 1 + fuzz_below(r->in, 3);
        r->demand.isolate = r->isolate;
        r->demand.isolate_n = 1;
    }
}

static const struct assignment *draw_record(struct run *r)
{
    size_t n = fuzz_below(r->in, GPU_REQUESTS + 1);

    if (n == 0) {
        return NULL;
    }
    r->record = (struct assignment){STR("d"), r->containers, n};
    for (size_t i = 0; i < n; i++) {
        size_t device_n = fuzz_below(r->in, 4);
        uint32_t used = 0;
        int32_t index = 0;

        r->containers[i] = (struct assigned_container){
            .name = container_names[i], .init = i == 2, .devices = r->assigned[i], .device_n = device_n};
        for (size_t k = 0; k < device_n; k++) {
            uint32_t uuid = fuzz_below(r->in, ARRAY_LEN(uuids));

            uuid = (used >> uuid & 1) != 0 ? 0 : uuid;
            used |= UINT32_C(1) << uuid;
            index += (int32_t)fuzz_below(r->in, 3);
            r->assigned[i][k] =
                (struct assigned_device){uuids[uuid], index++, (int32_t)(fuzz_below(r->in, 8) * 250), draw_mem(r)};
            r->assigned[i][k].exclusive = fuzz_bool(r->in);
        }
    }
    return &r->record;
}

static struct ledger_op draw_observation(struct run *r, size_t pod)
{
    struct ledger_op op = {.kind = LEDGER_POD_OBSERVED};

    draw_demand(r);
    op.pod = (struct ledger_pod_fact){.uid = uids[pod],
                                      .namespace_ = namespaces[pod % 2],
                                      .name = uids[pod],
                                      .deleting = fuzz_below(r->in, 6) == 0,
                                      .demand = &r->demand,
                                      .label_hashes = r->labels,
                                      .label_n = fuzz_below(r->in, 3)};
    r->labels[0] = 1 + fuzz_below(r->in, 3);
    r->demand.host = (struct host_request){500 * (int32_t)r->labels[0], INT32_MAX / (int32_t)r->labels[0]};
    r->labels[1] = 4;
    if (!r->honest && fuzz_bool(r->in)) {
        op.pod.node_name = node_names[fuzz_below(r->in, NODES)];
        op.pod.assignment = draw_record(r);
        op.pod.record_trust = (enum record_trust)fuzz_below(r->in, 3);
        op.pod.proof = proofs[fuzz_below(r->in, ARRAY_LEN(proofs))];
        op.pod.init_containers = inits;
        op.pod.init_container_n = fuzz_below(r->in, ARRAY_LEN(inits) + 1);
        if (op.pod.record_trust == RECORD_PROVISIONAL && demand_is_empty(&r->demand)) {
            op.pod.record_trust =
                RECORD_VERIFIED; /* not told before (ledger_must_verify): refused, it leaves no memory */
        }
    }
    return op;
}

static struct ledger_op draw_reservation(struct run *r, size_t pod)
{
    struct ledger_op op = {.kind = LEDGER_RESERVE};
    struct ledger_pod known;
    bool placeable = ledger_find_pod(r->l, uids[pod], &known) && known.demand->defect == DEMAND_OK;
    bool forged = fuzz_below(r->in, 5) == 0 || !placeable;

    op.reserve = (struct ledger_reserve){.uid = uids[pod],
                                         .node_name = node_names[fuzz_below(r->in, NODES)],
                                         .decision_id = STR("ours"),
                                         .placement = &r->placement};
    memset(&r->placement, 0, sizeof(r->placement));
    if (!forged &&
        ledger_place_pod(r->l, op.reserve.node_name, uids[pod],
                         &(struct pack_params){.node_strategy = strategies[0], .device_strategy = strategies[0]},
                         &r->placement) != VERDICT_FITS) {
        forged = true;
    }
    for (size_t i = 0; forged && i < GPU_REQUESTS; i++) {
        r->placement.gpu_request_devices[i] = fuzz_u8(r->in);
    }
    return op;
}

static struct ledger_op draw_verdict(struct run *r, size_t pod)
{
    return (struct ledger_op){
        .kind = LEDGER_RECORD_JUDGED,
        .judged = {.uid = uids[pod], .proof = proofs[fuzz_below(r->in, ARRAY_LEN(proofs))], .valid = fuzz_bool(r->in)}};
}

static struct ledger_op draw_op(struct run *r, size_t *ret_pod)
{
    static const enum ledger_op_kind names_only[] = {LEDGER_POD_GONE, LEDGER_CONFIRM, LEDGER_RELEASE};
    static const enum ledger_op_kind brackets[] = {LEDGER_PODS_BEGIN, LEDGER_PODS_END, LEDGER_NODES_BEGIN,
                                                   LEDGER_NODES_END};
    uint32_t how = fuzz_below(r->in, 17);
    size_t pod = *ret_pod = fuzz_below(r->in, PODS);
    size_t node = fuzz_below(r->in, NODES);

    if (how < 3 && !(r->honest && r->described[node])) {
        r->described[node] = true;
        draw_inventory(r);
        return (struct ledger_op){.kind = LEDGER_NODE_DESCRIBED,
                                  .node = {.name = node_names[node],
                                           .uid = node_names[node],
                                           .schedulable = fuzz_bool(r->in),
                                           .host = {1000 * (int32_t)r->inventory.device_n, 4096},
                                           .inventory = &r->inventory}};
    }
    if (how < 4 && !r->honest) {
        return (struct ledger_op){.kind = LEDGER_NODE_GONE, .name = node_names[node]};
    }
    if (how < 8) {
        return draw_observation(r, pod);
    }
    if (how < 11) {
        return draw_reservation(r, pod);
    }
    if (how < 14) {
        return (struct ledger_op){.kind = names_only[how - 11], .name = uids[pod]};
    }
    if (how == 16) {
        return draw_verdict(r, pod);
    }
    if (how == 15 && fuzz_below(r->in, 4) == 0) {
        return (struct ledger_op){.kind = LEDGER_SLICES,
                                  .slices = {node_names[node], fuzz_bool(r->in) ? "slices" : NULL}};
    }
    return (struct ledger_op){.kind = brackets[fuzz_below(r->in, r->honest ? 2 : 4)]};
}

/* What the op means for reservations, from include/core/ledger/ledger.h alone. */
static void follow(struct run *r, const struct ledger_op *op, size_t pod)
{
    switch (op->kind) {
    case LEDGER_POD_OBSERVED:
        r->seen[pod] = true;
        r->missed[pod] = false;
        r->bound[pod] = NODES;
        if (op->pod.node_name.n > 0) {
            r->held[pod] = FREE; /* bound, whatever was reserved */
            if (op->pod.demand->source == DEMAND_FROM_RESOURCES && !demand_is_empty(op->pod.demand)) {
                r->bound[pod] = (size_t)(op->pod.node_name.p[1] - '0');
            }
        }
        return;
    case LEDGER_POD_GONE:
        r->held[pod] = FREE;
        r->bound[pod] = NODES;
        return;
    case LEDGER_RESERVE:
        r->held[pod] = RESERVED;
        return;
    case LEDGER_CONFIRM:
        r->held[pod] = r->held[pod] == RESERVED ? (r->missed[pod] ? FREE : CONFIRMED) : r->held[pod];
        return;
    case LEDGER_RELEASE:
        r->held[pod] = r->held[pod] == RESERVED ? FREE : r->held[pod];
        return;
    case LEDGER_PODS_BEGIN:
        memset(r->seen, 0, sizeof(r->seen));
        return;
    case LEDGER_PODS_END:
        for (size_t i = 0; i < PODS; i++) {
            r->missed[i] = r->missed[i] || (!r->seen[i] && r->held[i] == RESERVED);
            r->held[i] = !r->seen[i] && r->held[i] == CONFIRMED ? FREE : r->held[i];
            r->bound[i] = r->seen[i] ? r->bound[i] : NODES;
        }
        return;
    case LEDGER_NODE_DESCRIBED:
    case LEDGER_NODE_GONE:
    case LEDGER_NODES_BEGIN:
    case LEDGER_NODES_END:
    case LEDGER_TENANTS:
    case LEDGER_RECORD_JUDGED:
    case LEDGER_SLICES:
        return;
    case LEDGER_OP__MAX:
        break;
    }
    fuzz_fail(__FILE__, __LINE__, "no such op");
}

static void check_held(const struct run *r)
{
    for (size_t i = 0; i < PODS; i++) {
        struct ledger_pod p;
        bool known = ledger_find_pod(r->l, uids[i], &p);

        FUZZ_CHECK(r->held[i] != RESERVED || (known && p.state == LEDGER_RESERVED));
        FUZZ_CHECK(r->held[i] != CONFIRMED || (known && p.state == LEDGER_CONFIRMED));
        FUZZ_CHECK(r->held[i] != FREE || !(known && (p.state == LEDGER_RESERVED || p.state == LEDGER_CONFIRMED)));
    }
}

/* Who uses GPUs of a node that takes pods is charged there. */
static void check_bound(const struct run *r)
{
    const struct gpu_request any = {
        .container = {"main", 4}, .phases = 1, .count = 1, .kind = GPU_REQUEST_MILLI, .milli = 1};
    const struct demand d = {.dialect = "native", .gpu_requests = &any, .gpu_request_n = 1};
    const struct pack_params params = {.node_strategy = strategies[0], .device_strategy = strategies[0]};

    for (size_t i = 0; i < PODS; i++) {
        struct str node = r->bound[i] < NODES ? node_names[r->bound[i]] : STR_NULL;
        struct placement at;
        struct ledger_pod p;

        if (node.n == 0 || !ledger_has_node(r->l, node) ||
            ledger_place(r->l, node, namespaces[0], &d, NULL, 0, &params, &at) == VERDICT_UNCOUNTED) {
            continue;
        }
        FUZZ_CHECK(ledger_find_pod(r->l, uids[i], &p));
        FUZZ_SAME(p.node_name, node);
    }
}

/* Does a record of the pod wait for its verdict, one with this proof? NULL: with any. */
static bool waits(const struct run *r, size_t pod, const struct str *proof)
{
    struct ledger_unverified all[PODS];
    struct arena a;
    bool found = false;
    size_t n;

    arena_init(&a, MEMORY);
    n = ledger_unverified(r->l, STR_NULL, &a, all, PODS);
    for (size_t i = 0; i < n; i++) {
        found = found || (str_eq(all[i].uid, uids[pod]) && (proof == NULL || str_eq(all[i].proof, *proof)));
    }
    arena_fini(&a);
    return found;
}

/* `refutes`: the op was a verdict that its record does not hold. */
static void follow_records(struct run *r, const struct ledger_op *op, size_t pod, bool refutes)
{
    struct ledger_pod p;

    r->refused[pod] = r->refused[pod] || refutes;
    if (op->kind == LEDGER_POD_OBSERVED && op->pod.record_trust == RECORD_VERIFIED) {
        r->refused[pod] = false;
    }
    for (size_t i = 0; i < PODS; i++) {
        r->refused[i] = r->refused[i] && ledger_find_pod(r->l, uids[i], &p);
        FUZZ_CHECK(!(r->refused[i] && waits(r, i, NULL)));
    }
}

/* In an honest run. */
static void follow_grants(struct run *r, const struct ledger_op *op, size_t pod)
{
    struct ledger_pod p;
    struct assignment as;
    struct arena a;

    arena_init(&a, MEMORY);
    if (op->kind == LEDGER_NODE_DESCRIBED) {
        first_grants_describe(&r->grants, op->node.name, op->node.inventory);
    } else if (op->kind == LEDGER_RESERVE && ledger_chose_devices(r->l, uids[pod])) {
        FUZZ_CHECK(ledger_find_pod(r->l, uids[pod], &p));
        FUZZ_CHECK(ledger_assignment(r->l, uids[pod], &a, &as, NULL) == 0);
        FUZZ_SOUND(first_grants_give(&r->grants, (unsigned)pod, op->reserve.node_name, p.demand, &as));
    }
    for (unsigned i = 0; i < PODS; i++) {
        if (r->held[i] == FREE) {
            first_grants_end(&r->grants, i);
        }
    }
    arena_fini(&a);
}

static struct snapshot take(const struct run *r, struct arena *a)
{
    struct snapshot snap;

    FUZZ_CHECK(snapshot_take(r->l, a, STR_NULL, STR_NULL, &snap, NULL) == 0);
    return snap;
}

static void check_snapshot(const struct run *r, const struct snapshot *s)
{
    struct snapshot totals;
    uint64_t device_n = 0;

    snapshot_totals(r->l, &totals);
    FUZZ_CHECK(totals.milli_charged == s->milli_charged && totals.mem_charged_mib == s->mem_charged_mib &&
               totals.overcommitted_n == s->overcommitted_n);
    FUZZ_CHECK(!r->honest || s->overcommitted_n == 0);
    for (size_t i = 0; i < s->node_n; i++) {
        device_n += s->nodes[i].described ? s->nodes[i].device_n : 0;
        for (size_t k = 0; k < s->nodes[i].device_n; k++) {
            const struct snapshot_device *d = &s->nodes[i].devices[k];

            FUZZ_CHECK(!r->honest || (d->milli_charged <= d->milli_cap && d->slot_charged <= d->slot_cap &&
                                      d->mem_charged_mib <= d->mem_cap_mib));
            FUZZ_CHECK(d->milli_charged >= 0 && d->slot_charged >= 0 && d->mem_charged_mib >= 0);
        }
    }
    FUZZ_CHECK(device_n == totals.device_n);
}

static void check_same(const struct snapshot *a, const struct snapshot *b)
{
    FUZZ_CHECK(a->node_n == b->node_n && a->pod_n == b->pod_n);
    FUZZ_CHECK(a->milli_charged == b->milli_charged && a->mem_charged_mib == b->mem_charged_mib &&
               a->milli_cap == b->milli_cap && a->mem_cap_mib == b->mem_cap_mib);
    for (size_t i = 0; i < a->pod_n; i++) {
        FUZZ_SAME(a->pods[i].uid, b->pods[i].uid);
        FUZZ_SAME(a->pods[i].node_name, b->pods[i].node_name);
        FUZZ_CHECK(a->pods[i].state == b->pods[i].state && a->pods[i].conflict == b->pods[i].conflict);
    }
    for (size_t i = 0; i < a->node_n; i++) {
        FUZZ_SAME(a->nodes[i].name, b->nodes[i].name);
        FUZZ_CHECK(a->nodes[i].device_n == b->nodes[i].device_n);
        FUZZ_CHECK(a->nodes[i].host.cpu_free_milli == b->nodes[i].host.cpu_free_milli &&
                   a->nodes[i].host.mem_free_mib == b->nodes[i].host.mem_free_mib);
        for (size_t k = 0; k < a->nodes[i].device_n; k++) {
            const struct snapshot_device *x = &a->nodes[i].devices[k], *y = &b->nodes[i].devices[k];

            FUZZ_CHECK(x->milli_charged == y->milli_charged && x->slot_charged == y->slot_charged &&
                       x->mem_charged_mib == y->mem_charged_mib && x->exclusive == y->exclusive &&
                       x->allocation_n == y->allocation_n);
        }
    }
}

/* The devices of its node, lost ones left out, on which the pod has something: bits by index. */
static uint64_t has_there(const struct snapshot *s, struct str uid)
{
    uint64_t has = 0;

    for (size_t i = 0; i < s->node_n; i++) {
        for (size_t k = 0; k < s->nodes[i].device_n; k++) {
            const struct snapshot_device *d = &s->nodes[i].devices[k];

            for (size_t j = 0; j < d->allocation_n && !d->lost; j++) {
                has |= str_eq(s->pods[d->allocations[j].pod].uid, uid) ? UINT64_C(1) << d->index : 0;
            }
        }
    }
    return has;
}

/* The op was about one pod, or told of no node: nobody else who stays where he is has anything else there. */
static void check_others(const struct snapshot *before, const struct snapshot *now, struct str uid)
{
    for (size_t i = 0; i < before->pod_n; i++) {
        const struct snapshot_pod *was = &before->pods[i];

        for (size_t k = 0; k < now->pod_n && !str_eq(was->uid, uid); k++) {
            const struct snapshot_pod *is = &now->pods[k];

            if (str_eq(is->uid, was->uid) && str_eq(is->node_name, was->node_name)) {
                FUZZ_CHECK(has_there(before, was->uid) == has_there(now, was->uid));
            }
        }
    }
}

/* With FUZZ_TRACE in the environment: the ops of a run, for whoever looks into a failure. */
static void trace(const struct run *r, const struct ledger_op *op)
{
    static const char *const kinds[LEDGER_OP__MAX] = {[LEDGER_NODE_DESCRIBED] = "node described",
                                                      [LEDGER_NODE_GONE] = "node gone",
                                                      [LEDGER_POD_OBSERVED] = "pod observed",
                                                      [LEDGER_POD_GONE] = "pod gone",
                                                      [LEDGER_RESERVE] = "reserve",
                                                      [LEDGER_CONFIRM] = "confirm",
                                                      [LEDGER_RELEASE] = "release",
                                                      [LEDGER_PODS_BEGIN] = "pods begin",
                                                      [LEDGER_PODS_END] = "pods end",
                                                      [LEDGER_NODES_BEGIN] = "nodes begin",
                                                      [LEDGER_NODES_END] = "nodes end",
                                                      [LEDGER_TENANTS] = "tenants",
                                                      [LEDGER_RECORD_JUDGED] = "judged",
                                                      [LEDGER_SLICES] = "slices"};
    const struct ledger_pod_fact *p = &op->pod;

    if (getenv("FUZZ_TRACE") == NULL) {
        return;
    }
    fprintf(stderr, "%s", kinds[op->kind]);
    if (op->kind == LEDGER_NODE_DESCRIBED) {
        fprintf(stderr, " %.*s plugin %d:", STR_ARG(op->node.name), r->inventory.plugin_managed_n);
        for (size_t i = 0; i < r->inventory.device_n; i++) {
            const struct device *d = &r->devices[i];

            fprintf(stderr, " %d:%.*s(%lld MiB %d slots)", d->index, STR_ARG(d->uuid), (long long)d->mem_mib,
                    d->slot_n);
        }
    } else if (op->kind == LEDGER_RESERVE) {
        fprintf(stderr, " %.*s on %.*s", STR_ARG(op->reserve.uid), STR_ARG(op->reserve.node_name));
    } else if (op->kind == LEDGER_POD_OBSERVED) {
        fprintf(stderr, " %.*s on \"%.*s\" defect %d plugin %d %s:", STR_ARG(p->uid), STR_ARG(p->node_name),
                (int)p->demand->defect, p->demand->plugin_managed_n,
                p->demand->source == DEMAND_FROM_ANNOTATIONS ? "editable" : "");
        for (size_t i = 0; i < p->demand->gpu_request_n; i++) {
            const struct gpu_request *w = &r->gpu_requests[i];

            fprintf(stderr, " %.*s %ux kind %d (%d, %lld)", STR_ARG(w->container), w->count, (int)w->kind, w->milli,
                    (long long)w->mem_mib);
        }
        for (size_t i = 0; p->assignment != NULL && i < p->assignment->container_n; i++) {
            const struct assigned_container *c = &p->assignment->containers[i];

            fprintf(stderr, "; record %.*s", STR_ARG(c->name));
            for (size_t k = 0; k < c->device_n; k++) {
                fprintf(stderr, " %d:%.*s(%d, %lld)", c->devices[k].index, STR_ARG(c->devices[k].uuid),
                        c->devices[k].milli, (long long)c->devices[k].mem_mib);
            }
        }
    } else if (op->kind == LEDGER_RECORD_JUDGED) {
        fprintf(stderr, " %.*s %d", STR_ARG(op->judged.uid), (int)op->judged.valid);
    } else if (op->name.n > 0) {
        fprintf(stderr, " %.*s", STR_ARG(op->name));
    }
    fprintf(stderr, "\n");
}

static bool is_of_node(enum ledger_op_kind kind)
{
    return kind == LEDGER_NODE_DESCRIBED || kind == LEDGER_NODE_GONE || kind == LEDGER_NODES_END ||
           kind == LEDGER_SLICES;
}

static bool is_observation(enum ledger_op_kind kind)
{
    return kind != LEDGER_RESERVE && kind != LEDGER_CONFIRM && kind != LEDGER_RELEASE;
}

static void step(struct run *r)
{
    const struct demand_histogram *demand_histogram = ledger_demand_histogram(r->l);
    uint64_t generation = ledger_generation(r->l), arrived, departed;
    struct snapshot before, once, twice;
    struct ledger_op op;
    struct arena a;
    bool refutes;
    size_t pod;
    int rc;

    op = draw_op(r, &pod);
    op.at_ms = 1;
    refutes = op.kind == LEDGER_RECORD_JUDGED && !op.judged.valid && waits(r, pod, &op.judged.proof);
    trace(r, &op);
    arena_init(&a, MEMORY);
    before = take(r, &a);
    rc = ledger_apply(r->l, &op, NULL);
    FUZZ_SOUND(ledger_check(r->l));
    FUZZ_CHECK(rc == 0 || !is_observation(op.kind));
    FUZZ_CHECK((ledger_generation(r->l) == generation) == (rc != 0));
    if (rc != 0) {
        arena_fini(&a);
        return;
    }
    follow(r, &op, pod);
    follow_records(r, &op, pod, refutes);
    if (r->honest) {
        follow_grants(r, &op, pod);
    }
    check_held(r);
    check_bound(r);
    arrived = demand_histogram_arrived_n(demand_histogram);
    departed = demand_histogram_departed_n(demand_histogram);
    once = take(r, &a);
    check_snapshot(r, &once);
    if (!is_of_node(op.kind)) {
        check_others(&before, &once, uids[pod]);
    }
    if (op.kind != LEDGER_RESERVE) {
        FUZZ_CHECK(ledger_apply(r->l, &op, NULL) == 0 || !is_observation(op.kind));
        FUZZ_SOUND(ledger_check(r->l));
        twice = take(r, &a);
        check_same(&once, &twice);
        FUZZ_CHECK(demand_histogram_arrived_n(demand_histogram) == arrived &&
                   demand_histogram_departed_n(demand_histogram) == departed);
    }
    arena_fini(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct run r;
    struct ledger_limits limits = {.hash_key = {1, 2}, .overcommit_milli = 1000, .overcommit_mem_milli = 1000};
    struct fuzz_input in = {data, size};
    uint8_t how = fuzz_u8(&in);

    memset(&r, 0, sizeof(r));
    r.in = &in;
    r.honest = (how & 1) != 0;
    if ((how & 2) != 0) {
        limits.overcommit_milli = 1500;
        limits.overcommit_mem_milli = 1200;
    }
    if ((how & 4) != 0) { /* a place for each node, but not for all as names that nobody has described */
        limits.nodes_max = NODES;
        limits.pods_max = PODS / 2;
    }
    for (size_t i = 0; i < PODS; i++) {
        r.bound[i] = NODES;
    }
    input_rng_use(&in);
    r.l = ledger_new(&limits);
    first_grants_init(&r.grants, limits.overcommit_milli, limits.overcommit_mem_milli);
    for (unsigned i = 0; i < OPS_MAX && in.n > 0; i++) {
        step(&r);
    }
    ledger_free(r.l);
    return 0;
}
