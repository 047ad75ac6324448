/* What an observation of the API server makes of a pod. */
#include "base/bug.h"
#include "core/ledger/host_sums.h"
#include "core/ledger/cpu_only_pods.h"
#include "core/ledger/node_table.h"
#include "core/ledger/numbers.h"
#include "core/ledger/observe.h"
#include "core/ledger/pod_table.h"
#include "core/ledger/records.h"
#include "core/ledger/reserve.h"
#include "core/ledger/state.h"
#include "core/ledger/turned_away.h"
#include "core/request/demand_histogram.h"

#include <stdlib.h>

/* Nothing at all could be read of its request, not even which vocabulary it is in. */
static bool is_unreadable(const struct demand *d)
{
    return d->defect != DEMAND_OK && d->source == DEMAND_FROM_RESOURCES;
}

/* What the pod asks for as far as that counts without its record (rule 3.1.8): annotations that nobody saw while it
 * was unbound, or in the first list, are its tenant's text and charge nobody's GPU. `p` NULL: it is not known. */
static const struct demand *counted_request(const struct ledger *l, const struct pod_entry *p,
                                            const struct ledger_pod_fact *f, struct demand *nothing)
{
    bool judged_as_before = f->assignment != NULL && f->record_trust == RECORD_UNSIGNED;
    const struct demand *counted;

    if (l->texts_count || f->node_name.n == 0 || f->demand->source != DEMAND_FROM_ANNOTATIONS || judged_as_before) {
        return f->demand;
    }
    if (p == NULL) {
        *nothing = (struct demand){.dialect = "", .host = f->demand->host};
        return nothing;
    }
    counted = p->trust == RECORD_PROVISIONAL ? p->latest : p->demand;
    return is_unreadable(counted) ? f->demand : counted;
}

/* Was it bound by the decision that the ledger holds for it? If the API server said so, or the record has the
 * id of the decision, then a record that says anything else was edited afterwards. */
static bool is_our_binding(const struct pod_entry *p, const struct assignment *as)
{
    if (p->state == LEDGER_CONFIRMED) {
        return true;
    }
    return p->state == LEDGER_RESERVED && as != NULL && str_eq(as->id, str_of(p->decision_id));
}

/* Would adopting the pod again make of it what it is already? A list says so of every foreign pod, and adopting
 * computes the whole node twice. */
static bool is_foreign_as_before(const struct pod_entry *p, const struct ledger_pod_fact *f, const struct demand *asked)
{
    return p->state == LEDGER_FOREIGN && p->ref_n == 0 && f->assignment == NULL && f->known_n == 0 &&
           str_of(p->decision_id).n == 0 && !demand_is_empty(asked) && demand_equal(p->demand, asked);
}

/* Somebody else writes records of this pod: from now on only verified ones count. */
static bool is_refused(const struct pod_entry *p, const struct ledger_pod_fact *f)
{
    return p->record_refused && f->record_trust == RECORD_PROVISIONAL;
}

/* A signed record without containers is fgpu's, of a pod whose GPUs kubelet picks. */
static bool names_containers(const struct ledger_pod_fact *f)
{
    return f->record_trust != RECORD_UNSIGNED && f->assignment != NULL && f->assignment->container_n > 0;
}

static void pod_seen_bound(struct ledger *l, uint32_t pod, const struct ledger_pod_fact *seen, int64_t at_ms)
{
    uint32_t node = ledger_node_named(l, seen->node_name);
    struct pod_entry *p = &l->pods[pod];
    struct ledger_pod_fact f = *seen;
    const struct demand *asked;
    struct demand nothing;
    bool lands;

    BUG_ON(node == LEDGER_NONE);
    if (is_refused(p, seen) || (names_containers(seen) && !ledger_fact_grants(seen))) {
        f.assignment = NULL;
    }
    asked = counted_request(l, p, &f, &nothing);
    lands = p->node == node && is_our_binding(p, f.assignment);
    if (lands) {
        ledger_pod_set_state(l, p, LEDGER_BOUND, at_ms);
    }
    if (p->node == node && p->state == LEDGER_BOUND) {
        ledger_pod_reobserve(l, pod, &f, asked, at_ms);
        if (lands && p->record_parts == NULL) {
            ledger_recompute(l, node); /* what was promised counted until now (recompute.c) */
        }
    } else if (p->node != node || !is_foreign_as_before(p, &f, asked)) {
        ledger_pod_adopt(l, pod, &f, asked, node, at_ms);
    }
}

static void pod_seen_pending(struct ledger *l, uint32_t pod, const struct ledger_pod_fact *f)
{
    struct pod_entry *p = &l->pods[pod];

    if (p->state != LEDGER_PENDING) {
        /* An event from before our Binding. The reservation stands; what it says is remembered for a release. */
        free(p->latest);
        p->latest = demand_copy(f->demand);
        ledger_pod_keep_renominated(p, f->nominated_node);
        p->rewritten = p->rewritten || !demand_equal(p->demand, f->demand);
    } else if (demand_is_empty(f->demand)) {
        ledger_pod_drop(l, pod);
    } else {
        ledger_pod_set_demand(l, p, f->demand);
        ledger_pod_set_nominated(l, p, f->nominated_node);
    }
}

/* By what it asks for, where that can be read: its record may say it in other words. */
static void count_once(struct ledger *l, struct pod_entry *p, const struct demand *asked)
{
    if (p->used && !p->counted && p->demand->defect == DEMAND_OK) {
        p->counted = true;
        demand_histogram_arrived(
            l->demand_histogram,
            p->record_parts != NULL && asked->defect == DEMAND_OK && !demand_is_empty(asked) ? asked : p->demand);
    }
}

static void set_leftovers(struct pod_entry *p, struct str leftovers)
{
    if (!str_eq(str_of(p->leftovers), leftovers)) {
        p->rewritten = true; /* a Binding that was prepared does not overwrite them */
        free(p->leftovers);
        p->leftovers = leftovers.n > 0 ? str_dup(leftovers) : NULL;
    }
}

/* A pod that is not in the table. LEDGER_NONE: it is not kept there, because it uses no GPUs, or is turned away. */
static uint32_t enter_pod(struct ledger *l, const struct ledger_pod_fact *f, const struct demand *asked, int64_t at_ms)
{
    bool bound = f->node_name.n > 0, counted;
    uint32_t pod;

    if (demand_is_empty(asked) && !(bound && f->assignment != NULL && f->assignment->container_n > 0)) {
        if (bound) { /* what is seen pending is older than what was seen bound, and holds nothing */
            ledger_cpu_only_observed(l, f, false);
        }
        return LEDGER_NONE;
    }
    counted = ledger_cpu_only_forget(l, f->uid);
    if (!ledger_has_room_for(l, f)) {
        ledger_turn_away(l, f);
        return LEDGER_NONE;
    }
    pod = ledger_pod_add(l, f, asked, at_ms);
    l->pods[pod].counted = counted;
    return pod;
}

/* A pod of the table is seen where there is no room for the name. It has left wherever it was, which may make that
 * room. If not, it is turned away, and what it asked for while it was pending stays known: when there is room, that
 * counts. */
static uint32_t leave_for_nowhere(struct ledger *l, uint32_t pod, const struct ledger_pod_fact *f, int64_t at_ms)
{
    if (l->pods[pod].node != LEDGER_NONE) {
        ledger_pod_unplace(l, pod, at_ms);
        pod = ledger_pod_lookup(l, f->uid);
    }
    if (pod != LEDGER_NONE && !ledger_node_has_room(l, f->node_name)) {
        ledger_pod_set_nominated(l, &l->pods[pod], STR_NULL);
        ledger_turn_away(l, f);
    }
    return pod;
}

void ledger_pod_observed(struct ledger *l, const struct ledger_pod_fact *f, int64_t at_ms)
{
    uint32_t pod = ledger_pod_lookup(l, f->uid);
    bool bound = f->node_name.n > 0;
    struct demand nothing;

    if (pod != LEDGER_NONE && bound && !ledger_node_has_room(l, f->node_name)) {
        pod = leave_for_nowhere(l, pod, f, at_ms);
    }
    if (pod == LEDGER_NONE) {
        pod = enter_pod(l, f, counted_request(l, NULL, f, &nothing), at_ms);
    }
    if (pod == LEDGER_NONE) {
        return;
    }
    ledger_pod_set_host(l, &l->pods[pod], f->demand->host);
    *(f->read ? &l->pods[pod].read_epoch : &l->pods[pod].epoch) = l->pod_epoch;
    l->pods[pod].touched = l->generation + 1;
    l->pods[pod].missed = false;
    if (l->nominated_n > 0 && (l->pods[pod].deleting != f->deleting || l->pods[pod].priority != f->priority)) {
        ledger_capacity_grew(l); /* what nominations ask of others depends on both */
    }
    l->pods[pod].deleting = f->deleting;
    l->pods[pod].claims_record = f->claims_record;
    l->pods[pod].priority = f->priority;
    l->pods[pod].created_ms = f->created_ms;
    l->pods[pod].annotation_bytes = f->annotation_bytes;
    l->pods[pod].version = f->version;
    set_leftovers(&l->pods[pod], f->leftovers);
    ledger_pod_set_labels(l, &l->pods[pod], f->label_hashes, f->label_n);
    tolerations_replace(&l->pods[pod].tolerations, &l->pods[pod].toleration_n, f->tolerations,
                        bound ? 0 : f->toleration_n);
    if (!bound) {
        pod_seen_pending(l, pod, f);
    } else if (ledger_node_has_room(l, f->node_name)) {
        pod_seen_bound(l, pod, f, at_ms);
    }
    count_once(l, &l->pods[pod], f->demand);
}

bool ledger_must_verify(const struct ledger *l, const struct ledger_pod_fact *f)
{
    uint32_t pod = ledger_pod_lookup(l, f->uid);
    const struct pod_entry *p = pod == LEDGER_NONE ? NULL : &l->pods[pod];
    struct demand nothing;

    if (p == NULL) {
        return demand_is_empty(counted_request(l, NULL, f, &nothing));
    }
    return (p->record_refused || p->trust == RECORD_PROVISIONAL) && !str_eq(ledger_pod_proof(p), f->proof);
}
