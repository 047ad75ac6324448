/* Putting a pod onto the node where it was seen bound. */
#include "core/ledger/device_table.h"
#include "core/ledger/cpu_only_pods.h"
#include "core/ledger/node_table.h"
#include "core/ledger/numbers.h"
#include "core/ledger/observe.h"
#include "core/ledger/pod_table.h"
#include "core/ledger/records.h"
#include "core/ledger/state.h"
#include "core/ledger/trust.h"

#include <stdlib.h>

static const char CONFLICT_DEFECT[] = "bound although its request is malformed; counted as whole devices";

/* ---- observations ---- */

static void pod_keep_decision(struct pod_entry *p, struct str id)
{
    free(p->decision_id);
    p->decision_id = str_dup(id);
}

static void forget_nodes(struct ledger *l, uint32_t before, uint32_t now)
{
    if (before != LEDGER_NONE && before != now) {
        ledger_node_drop_if_empty(l, before);
    }
    ledger_node_drop_if_empty(l, now);
}

bool ledger_same_shape(const struct demand *a, const struct demand *b)
{
    bool same = a->defect == DEMAND_OK && b->defect == DEMAND_OK && a->gpu_request_n == b->gpu_request_n &&
                a->plugin_managed_n == b->plugin_managed_n && a->source == b->source;

    for (size_t w = 0; same && w < a->gpu_request_n; w++) {
        same = a->gpu_requests[w].init == b->gpu_requests[w].init &&
               a->gpu_requests[w].count == b->gpu_requests[w].count &&
               str_eq(a->gpu_requests[w].container, b->gpu_requests[w].container);
    }
    return same;
}

bool ledger_is_read_differently(const struct pod_entry *p, const struct demand *d)
{
    bool same = ledger_same_shape(p->demand, d);

    if (p->demand->source != DEMAND_FROM_RESOURCES || p->demand->defect != DEMAND_OK || d->defect != DEMAND_OK) {
        return false;
    }
    for (size_t w = 0; same && w < d->gpu_request_n; w++) {
        same = p->demand->gpu_requests[w].kind == d->gpu_requests[w].kind &&
               p->demand->gpu_requests[w].milli == d->gpu_requests[w].milli &&
               p->demand->gpu_requests[w].mem_mib == d->gpu_requests[w].mem_mib &&
               p->demand->gpu_requests[w].profile == d->gpu_requests[w].profile;
    }
    return !same;
}

void ledger_pod_keep_charges(const struct ledger *l, struct pod_entry *p)
{
    const struct node_entry *n = &l->nodes[p->node];

    for (size_t i = 0; i < p->charge_n; i++) {
        ledger_floor_raise(p, n->devices[p->charges[i].ordinal].ref, &p->charges[i].charge);
    }
}

/* Of a pod that is seen bound: what the record says, unless the pod asks for what is charged more. */
static enum qos qos_of(const struct demand *d, const struct assignment *as)
{
    if (d->says_qos && (as == NULL || d->qos == QOS_EQUAL_SHARE)) {
        return d->qos;
    }
    return as != NULL ? as->qos : QOS_FIXED_SHARE;
}

void ledger_take_grant(struct ledger *l, struct pod_entry *p, const struct ledger_pod_fact *f,
                       const struct demand *asked, int64_t at_ms)
{
    ledger_trust_set(l, p, f->record_trust, f->proof);
    free(p->latest);
    p->latest = f->record_trust == RECORD_PROVISIONAL ? demand_copy(asked) : NULL;
    ledger_grant(l, p, f);
    pod_keep_decision(p, f->assignment->id);
    p->conflict = NULL;
    ledger_pod_set_state(l, p, LEDGER_BOUND, at_ms);
}

/* It takes its devices from the record if it matches, and what it was charged on this node before stays its floor.
 * False: it asks for nothing. */
static bool take_request(struct ledger *l, struct pod_entry *p, const struct ledger_pod_fact *f,
                         const struct demand *asked, bool stays, int64_t at_ms)
{
    struct gpu_request gpu_requests[DEMAND_GPU_REQUESTS_MAX];
    struct demand recorded = {0};
    bool withdrawn = stays && demand_is_empty(asked) &&
                     (p->demand->source == DEMAND_FROM_ANNOTATIONS || p->demand->defect == DEMAND_OK);
    bool reread = stays && ledger_is_read_differently(p, asked);
    const struct demand *d = withdrawn ? p->demand : asked;

    d = ledger_read_record(l, p, d, f->assignment, gpu_requests, &recorded);
    for (size_t i = 0; i < f->known_n; i++) {
        ledger_floor_raise(p, ledger_device_ref(l, f->known[i].uuid, f->known[i].index), &f->known[i].charge);
    }
    p->conflict = demand_equal(asked, f->demand) ? NULL : ledger_conflict_request;
    if (d == &recorded || withdrawn) { /* as ledger_pod_reobserve() would say of the same observation */
        p->conflict = withdrawn && d != &recorded && reread ? ledger_conflict_reading : ledger_conflict_request;
    }
    if (demand_is_empty(d)) {
        return false;
    }
    ledger_pod_set_demand(l, p, d);
    p->qos = qos_of(d, f->assignment);
    pod_keep_decision(p, f->assignment == NULL ? STR_NULL : f->assignment->id);
    if (p->refs == NULL && d->plugin_managed_n == 0 && !demand_may_be_counted(d)) {
        p->conflict = d->defect != DEMAND_OK ? CONFLICT_DEFECT : ledger_conflict_no_record;
        ledger_pod_set_state(l, p, LEDGER_FOREIGN, at_ms);
    } else {
        ledger_pod_set_state(l, p, LEDGER_BOUND, at_ms);
    }
    if (p->contested && p->conflict == NULL) {
        p->conflict = ledger_conflict_record;
    }
    p->conflict = p->record_refused ? ledger_conflict_signature : p->conflict;
    return true;
}

void ledger_pod_adopt(struct ledger *l, uint32_t pod, const struct ledger_pod_fact *f, const struct demand *request,
                      uint32_t node, int64_t at_ms)
{
    struct pod_entry *p = &l->pods[pod];
    struct demand *asked = demand_copy(request); /* it may be the pod's, which changes below */
    uint32_t before = p->node;
    bool stays = before == node && p->record_parts == NULL; /* what it is charged there is of its request */
    bool asks = true;

    /* Its Binding may have landed, and the record been edited before anybody saw it: text frees no device. */
    p->contested = p->contested || (stays && p->state == LEDGER_RESERVED);
    asked->host = f->demand->host; /* always the newest */
    if (stays && ledger_is_read_differently(p, asked)) {
        ledger_pod_keep_charges(l, p);
    }
    if (before != LEDGER_NONE) {
        ledger_pod_take_off(l, p); /* devices that it alone holds stay: the record may name them, too */
    }
    if (stays) {
        ledger_pod_clear_devices(l, p);
    } else {
        ledger_pod_clear_refs(l, p);
    }
    p->reserved_here = false;
    if (ledger_fact_grants(f)) {
        ledger_take_grant(l, p, f, asked, at_ms);
    } else {
        asks = take_request(l, p, f, asked, stays, at_ms);
    }
    free(asked);
    if (asks) {
        ledger_pod_attach(l, pod, node);
        ledger_pod_follow_take_off(l, before);
    } else { /* what it asked for while it was pending counts for nothing */
        bool counted = p->counted;

        ledger_pod_drop(l, pod);
        ledger_pod_follow_take_off(l, before);
        ledger_cpu_only_observed(l, f, counted);
    }
    forget_nodes(l, before, node); /* only now: they may be known through this pod alone */
}
