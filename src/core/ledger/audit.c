#include "core/ledger/audit.h"

#include "base/bug.h"
#include "core/ledger/node_table.h"
#include "core/ledger/pod_table.h"
#include "core/ledger/records.h"
#include "core/ledger/state.h"
#include "core/ledger/trust.h"
#include "core/ledger/turned_away.h"

#include <string.h>

const char *ledger_drift_name(enum ledger_drift d)
{
    static const char *const names[DRIFT__MAX] = {
        [DRIFT_NONE] = "none",
        [DRIFT_POD_MISSING] = "pod_missing",
        [DRIFT_POD_GONE] = "pod_gone",
        [DRIFT_POD_FINISHED] = "pod_finished",
        [DRIFT_POD_NODE] = "pod_node",
        [DRIFT_POD_UNBOUND] = "pod_unbound",
        [DRIFT_POD_STATE] = "pod_state",
        [DRIFT_POD_ASSIGNMENT] = "pod_assignment",
        [DRIFT_POD_DEMAND] = "pod_demand",
        [DRIFT_POD_DETAILS] = "pod_details",
        [DRIFT_NODE_MISSING] = "node_missing",
        [DRIFT_NODE_GONE] = "node_gone",
        [DRIFT_NODE_INVENTORY] = "node_inventory",
        [DRIFT_NODE_DETAILS] = "node_details",
    };

    BUG_ON((unsigned)d >= DRIFT__MAX);
    return names[d];
}

struct ledger *ledger_audit_scratch(const struct ledger *l)
{
    struct ledger_limits limits = l->limits; /* the same hash key, so that device references compare */

    limits.nodes_max = limits.pods_max = 0;
    return ledger_new(&limits);
}

/* ---- pods ---- */

static void must_apply(struct ledger *scratch, const struct ledger_op *op)
{
    BUG_ON(ledger_apply(scratch, op, NULL) != 0); /* it holds one pod: no bound is near */
}

static void *copy_of(const void *p, size_t n, size_t size)
{
    void *copy = xcalloc(n + 1, size);

    if (n > 0) {
        memcpy(copy, p, n * size);
    }
    return copy;
}

static void put_grant(struct ledger *scratch, struct pod_entry *copy, const struct pod_entry *p)
{
    ledger_trust_set(scratch, copy, p->trust, ledger_pod_proof(p));
    if (p->record_refused) {
        copy->record_refused = true;
        copy->proof = copy_of(p->proof, p->proof_n, 1);
        copy->proof_n = p->proof_n;
    }
    copy->record_parts = ledger_granted_copy(p);
    copy->promised = p->promised == NULL ? NULL : copy_of(p->promised, p->ref_n, sizeof(*p->promised));
    copy->latest = p->latest != NULL && p->trust == RECORD_PROVISIONAL ? demand_copy(p->latest) : NULL;
}

/* The one pod, as the ledger has it, alone in `scratch`. */
static void put_pod(struct ledger *scratch, const struct ledger *l, const struct pod_entry *p)
{
    const struct ledger_op seen = {.kind = LEDGER_POD_OBSERVED,
                                   .pod = {.uid = p->uid,
                                           .namespace_ = p->namespace_,
                                           .name = p->name,
                                           .nominated_node = str_of(p->nominated),
                                           .deleting = p->deleting,
                                           .priority = p->priority,
                                           .claims_record = p->claims_record,
                                           .demand = p->demand,
                                           .label_hashes = p->labels,
                                           .label_n = p->label_n,
                                           .tolerations = p->tolerations,
                                           .toleration_n = p->toleration_n,
                                           .annotation_bytes = p->annotation_bytes,
                                           .leftovers = str_of(p->leftovers)}};
    struct pod_entry *copy;
    uint32_t i;

    must_apply(scratch, &seen);
    i = ledger_pod_lookup(scratch, p->uid);
    BUG_ON(i == LEDGER_NONE);
    copy = &scratch->pods[i];
    ledger_pod_set_state(scratch, copy, p->state, p->since_ms);
    copy->reserved_here = p->reserved_here;
    copy->qos = p->qos;
    copy->conflict = p->conflict;
    if (p->decision_id != NULL) {
        copy->decision_id = copy_of(p->decision_id, strlen(p->decision_id), 1);
    }
    if (p->refs != NULL) {
        copy->refs = copy_of(p->refs, p->ref_n, sizeof(*p->refs));
        copy->ref_n = p->ref_n;
    }
    put_grant(scratch, copy, p);
    if (p->floors != NULL) {
        copy->floors = copy_of(p->floors, p->floor_n, sizeof(*p->floors));
        copy->floor_n = p->floor_n;
        copy->floor_of_all = p->floor_of_all;
    }
    if (p->contested) {
        copy->contested = true;
        copy->first_grants = copy_of(p->first_grants, p->first_grant_n, sizeof(*p->first_grants));
        copy->first_grant_n = p->first_grant_n;
    }
    if (p->node != LEDGER_NONE) {
        uint32_t node = ledger_node_add(scratch, l->names[p->node]);

        BUG_ON(node == LEDGER_NONE);
        ledger_pod_attach(scratch, i, node);
    }
}

static bool same_refs(const struct pod_entry *a, const struct pod_entry *b)
{
    bool same = (a->refs == NULL) == (b->refs == NULL) && a->ref_n == b->ref_n;

    for (size_t i = 0; same && i < a->ref_n; i++) {
        same = a->refs[i].uuid_hash == b->refs[i].uuid_hash && a->refs[i].index == b->refs[i].index;
    }
    return same;
}

static bool same_grant(const struct pod_entry *a, const struct pod_entry *b)
{
    bool same = a->trust == b->trust && (a->record_parts == NULL) == (b->record_parts == NULL) &&
                str_eq(ledger_pod_proof(a), ledger_pod_proof(b)) &&
                (a->trust != RECORD_PROVISIONAL || demand_equal(a->latest, b->latest));

    for (size_t i = 0; same && a->record_parts != NULL && i < a->ref_n; i++) {
        same = charge_equal(&a->record_parts[i].charge, &b->record_parts[i].charge);
    }
    return same;
}

static bool same_floors(const struct pod_entry *a, const struct pod_entry *b)
{
    bool same = a->floor_n == b->floor_n && charge_equal(&a->floor_of_all, &b->floor_of_all);

    for (size_t i = 0; same && i < a->floor_n; i++) {
        same = charge_equal(&a->floors[i].charge, &b->floors[i].charge);
    }
    return same;
}

static bool same_text(const char *a, const char *b)
{
    return str_eq(str_of(a), str_of(b)); /* NULL is "" */
}

static bool same_details(const struct pod_entry *a, const struct pod_entry *b)
{
    return a->deleting == b->deleting && a->priority == b->priority && a->claims_record == b->claims_record &&
           same_text(a->nominated, b->nominated) && a->annotation_bytes == b->annotation_bytes &&
           a->label_n == b->label_n &&
           tolerations_equal(a->tolerations, a->toleration_n, b->tolerations, b->toleration_n) &&
           (a->label_n == 0 || memcmp(a->labels, b->labels, a->label_n * sizeof(*a->labels)) == 0);
}

/* What the observation made of the copy `b` of `a`. */
static enum ledger_drift pod_difference(const struct ledger *l, const struct pod_entry *a, const struct ledger *scratch,
                                        const struct pod_entry *b, const struct demand *seen)
{
    bool contradicts;

    if (b == NULL) {
        return DRIFT_POD_DEMAND; /* it asks for nothing any more */
    }
    if (a->node != LEDGER_NONE && b->node != LEDGER_NONE && !str_eq(l->names[a->node], scratch->names[b->node])) {
        return DRIFT_POD_NODE;
    }
    if (a->state != b->state) {
        return DRIFT_POD_STATE;
    }
    contradicts = !same_text(a->conflict, b->conflict);
    if (!demand_equal(a->demand, b->demand) || (contradicts && !demand_equal(a->demand, seen))) {
        return DRIFT_POD_DEMAND;
    }
    if (contradicts || !same_refs(a, b) || !same_grant(a, b) || !same_text(a->decision_id, b->decision_id)) {
        return DRIFT_POD_ASSIGNMENT;
    }
    if (!same_floors(a, b)) {
        return DRIFT_POD_DEMAND;
    }
    return same_details(a, b) ? DRIFT_NONE : DRIFT_POD_DETAILS;
}

/* Whom no observation could enter, no repair can. */
static bool would_be_turned_away(const struct ledger *l, const struct pod_entry *p, const struct ledger_pod_fact *f)
{
    return p == NULL ? !ledger_has_room_for(l, f)
                     : p->state == LEDGER_PENDING && f->node_name.n > 0 && !ledger_node_has_room(l, f->node_name);
}

static enum ledger_drift pod_drift(const struct ledger *l, struct ledger *scratch, const struct ledger_op *op,
                                   const struct pod_entry *p)
{
    const struct ledger_op gone = {.kind = LEDGER_POD_GONE, .name = op->pod.uid};
    enum ledger_drift d;
    uint32_t after;

    if ((p != NULL && p->state == LEDGER_RESERVED) || would_be_turned_away(l, p, &op->pod)) {
        return DRIFT_NONE;
    }
    if (p != NULL && p->state != LEDGER_PENDING && op->pod.node_name.n == 0) {
        return DRIFT_POD_UNBOUND;
    }
    scratch->texts_count = l->texts_count; /* what a request counts for depends on it */
    if (p != NULL) {
        put_pod(scratch, l, p);
    }
    must_apply(scratch, op);
    after = ledger_pod_lookup(scratch, op->pod.uid);
    if (p == NULL) {
        d = after == LEDGER_NONE ? DRIFT_NONE : DRIFT_POD_MISSING;
    } else {
        d = pod_difference(l, p, scratch, after == LEDGER_NONE ? NULL : &scratch->pods[after], op->pod.demand);
    }
    must_apply(scratch, &gone);
    return d;
}

/* ---- nodes ---- */

static bool same_device(const struct ledger *l, const struct ledger_device *a, const struct device *b)
{
    return str_eq(a->uuid, b->uuid) && a->ref.index == b->index &&
           str_eq(intern_text(l->models, a->model_id), b->model) && a->slot_n == b->slot_n &&
           a->mem_mib == b->mem_mib && a->healthy == b->healthy && a->profile == b->profile && a->start == b->start &&
           a->counted == b->counted && a->slice == b->slice && a->part_milli == b->part_milli &&
           a->gpu_index == b->gpu_index;
}

/* Lost devices stand behind those of the inventory, and are nobody's fact. */
static bool same_settings(const struct ledger *l, const struct node_entry *n, const struct inventory *inv)
{
    return n->memory_only == inv->memory_only && n->qos == inv->qos && n->lending == inv->lending &&
           n->hand_off == inv->hand_off && n->needs_agent == inv->needs_agent && n->vendor == inv->vendor &&
           n->overcommit_milli == (inv->overcommit_milli > 0 ? inv->overcommit_milli : l->limits.overcommit_milli) &&
           n->overcommit_mem_milli ==
               (inv->overcommit_mem_milli > 0 ? inv->overcommit_mem_milli : l->limits.overcommit_mem_milli);
}

static bool same_inventory(const struct ledger *l, uint32_t node, const struct inventory *inv)
{
    const struct node_entry *n = &l->nodes[node];
    uint32_t listed = 0;

    while (listed < n->device_n && !n->devices[listed].lost) {
        listed++;
    }
    if (listed != inv->device_n || !same_settings(l, n, inv) || !ledger_same_plugin(&l->rows[node], inv) ||
        l->rows[node].hand_off != ledger_hand_off_of(inv)) {
        return false;
    }
    for (uint32_t i = 0; i < listed; i++) {
        if (!same_device(l, &n->devices[i], &inv->devices[i])) {
            return false;
        }
    }
    return true;
}

static bool same_host(const struct host_capacity *a, const struct host_capacity *b)
{
    return a->cpu_milli == b->cpu_milli && a->mem_mib == b->mem_mib;
}

/* One that cannot be read is where it was. */
static bool same_places(const struct node_entry *n, const struct ledger_node_fact *f)
{
    return n->unreadable == f->unreadable &&
           (f->unreadable || (n->pools == f->pools && n->pools_layout == f->pools_layout &&
                              str_eq(n->host_group, f->host_group) && n->group_mem_mib == f->host_gpu_mem_mib));
}

static enum ledger_drift node_drift(const struct ledger *l, const struct ledger_node_fact *f, uint32_t node)
{
    const struct node_entry *n = node == LEDGER_NONE ? NULL : &l->nodes[node];

    if (n == NULL || !n->described) {
        return DRIFT_NODE_MISSING;
    }
    if (!same_inventory(l, node, f->inventory)) {
        return DRIFT_NODE_INVENTORY;
    }
    return str_eq(str_of(n->uid), f->uid) && n->schedulable == f->schedulable && n->closed == f->closed &&
                   n->rules == f->rules && same_places(n, f) && n->elsewhere == f->inventory->elsewhere &&
                   n->unmeasured == f->inventory->unmeasured && n->source == f->inventory->source &&
                   same_text(n->note, f->note) && same_host(&n->host, &f->host) &&
                   taints_equal(n->taints, n->taint_n, f->taints, f->taint_n)
               ? DRIFT_NONE
               : DRIFT_NODE_DETAILS;
}

/* ---- the two questions ---- */

enum ledger_drift ledger_drift(const struct ledger *l, struct ledger *scratch, const struct ledger_op *op,
                               uint64_t *ret_touched)
{
    bool of_pod = op->kind == LEDGER_POD_OBSERVED || op->kind == LEDGER_POD_GONE;
    struct str id = op->kind == LEDGER_POD_OBSERVED     ? op->pod.uid
                    : op->kind == LEDGER_NODE_DESCRIBED ? op->node.name
                                                        : op->name;
    uint32_t i = of_pod ? ledger_pod_lookup(l, id) : ledger_node_find(l, id);
    const struct pod_entry *p = of_pod && i != LEDGER_NONE ? &l->pods[i] : NULL;

    if (of_pod) {
        *ret_touched = p == NULL ? 0 : p->touched;
        if (op->kind == LEDGER_POD_OBSERVED) {
            return pod_drift(l, scratch, op, p);
        }
        return p == NULL || p->state == LEDGER_RESERVED ? DRIFT_NONE : DRIFT_POD_GONE;
    }
    *ret_touched = i == LEDGER_NONE ? 0 : l->nodes[i].touched;
    if (op->kind == LEDGER_NODE_DESCRIBED) {
        return node_drift(l, &op->node, i);
    }
    BUG_ON(op->kind != LEDGER_NODE_GONE);
    return i == LEDGER_NONE || !l->nodes[i].described ? DRIFT_NONE : DRIFT_NODE_GONE;
}

int ledger_repair(struct ledger *l, const struct ledger_op *op, enum ledger_drift drift, struct err *reterr)
{
    if (drift == DRIFT_POD_UNBOUND) {
        const struct ledger_op gone = {.kind = LEDGER_POD_GONE, .at_ms = op->at_ms, .name = op->pod.uid};
        int rc = ledger_apply(l, &gone, reterr);

        if (rc != 0) {
            return rc;
        }
    }
    return ledger_apply(l, op, reterr);
}

/* ---- what the ledger holds ---- */

bool ledger_audit_pods(const struct ledger *l, uint32_t *at, uint32_t max,
                       void (*fn)(void *ctx, const struct ledger_audit_entry *e), void *ctx)
{
    for (uint32_t n = 0; n < max && *at < l->pod_n; n++, ++*at) {
        const struct pod_entry *p = &l->pods[*at];

        if (p->used && p->state != LEDGER_RESERVED) {
            const struct ledger_audit_entry e = {p->uid, p->namespace_, p->name, p->touched};

            fn(ctx, &e);
        }
    }
    return *at < l->pod_n;
}

bool ledger_audit_nodes(const struct ledger *l, uint32_t *at, uint32_t max,
                        void (*fn)(void *ctx, const struct ledger_audit_entry *e), void *ctx)
{
    for (uint32_t n = 0; n < max && *at < l->node_n; n++, ++*at) {
        if (l->nodes[*at].used && l->nodes[*at].described) {
            const struct ledger_audit_entry e = {.id = l->names[*at], .touched = l->nodes[*at].touched};

            fn(ctx, &e);
        }
    }
    return *at < l->node_n;
}
