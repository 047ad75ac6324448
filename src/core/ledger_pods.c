/* Pods of the ledger: what observations of the API server make of them. */
#include "base/bug.h"
#include "core/ledger_internal.h"
#include "core/mix.h"

#include <stdlib.h>
#include <string.h>

static const char CONFLICT_RECORD[] = "the assignment annotation was changed after binding; ignored";
static const char CONFLICT_REQUEST[] =
    "the request annotations were changed after binding; the larger charge stays";
static const char CONFLICT_READING[] =
    "the configuration reads its request differently since it was bound; the larger charge stays";
const char ledger_conflict_no_record[] =
    "bound without an assignment by fgpu; counted on every device of its node";
static const char CONFLICT_DEFECT[] =
    "bound although its request is malformed; counted as whole devices";

static bool pod_has_uid(const void *owner, uint32_t value, const void *key)
{
    const struct ledger *l = owner;
    const struct str *uid = key;

    return str_eq(l->pods[value].uid, *uid);
}

uint32_t ledger_pod_lookup(const struct ledger *l, struct str uid)
{
    return hashmap_find(&l->pod_index, hash_str(l->limits.hash_key, uid), pod_has_uid, l, &uid);
}

static struct str text_put(char **at, struct str s)
{
    struct str copy = {*at, s.n};

    if (s.n > 0) {
        memcpy(*at, s.p, s.n);
    }
    *at += s.n;
    return copy;
}

static uint32_t pod_slot(struct ledger *l)
{
    uint32_t cap;

    if (l->free_pod_n > 0) {
        return l->free_pods[--l->free_pod_n];
    }
    if (l->pod_n == l->pod_cap) {
        cap = l->pod_cap == 0 ? 256 : l->pod_cap * 2;
        l->pods = xreallocarray(l->pods, cap, sizeof(*l->pods));
        l->free_pods = xreallocarray(l->free_pods, cap, sizeof(*l->free_pods));
        l->pod_cap = cap;
    }
    return l->pod_n++;
}

static uint32_t pod_add(struct ledger *l, const struct ledger_pod_fact *f, int64_t at_ms)
{
    uint32_t i;
    struct pod_entry *p;
    char *at;

    if (l->pod_used_n == LEDGER_PODS_MAX) {
        return LEDGER_NONE;
    }
    i = pod_slot(l);
    p = &l->pods[i];
    *p = (struct pod_entry){.used = true, .node = LEDGER_NONE, .since_ms = at_ms};
    p->text = xmalloc(f->uid.n + f->namespace_.n + f->name.n);
    at = p->text;
    p->uid = text_put(&at, f->uid);
    p->namespace_ = text_put(&at, f->namespace_);
    p->name = text_put(&at, f->name);
    p->demand = demand_copy(f->demand);
    p->space = tenancy_enter(&l->tenancy, p->namespace_);
    l->isolating_n += p->demand->isolate_n > 0;
    l->pod_used_n++;
    l->pods_by_state[p->state]++;
    ledger_walks_pod_born(l, i);
    hashmap_insert(&l->pod_index, hash_str(l->limits.hash_key, f->uid), i);
    return i;
}

static void clear_refs(struct pod_entry *p)
{
    free(p->refs);
    p->refs = NULL;
    p->ref_n = 0;
}

void ledger_pod_clear_refs(struct pod_entry *p)
{
    clear_refs(p);
    free(p->floors);
    p->floors = NULL;
    p->floor_n = 0;
}

/* Only while the pod is pending; once it has a place the nomination says nothing more. */
static void pod_set_nominated(struct ledger *l, struct pod_entry *p, struct str node_name)
{
    l->nominated_n -= p->nominated != NULL;
    free(p->nominated);
    p->nominated = NULL;
    if (node_name.n > 0) {
        p->nominated = str_dup(node_name);
        l->nominated_n++;
    }
}

void ledger_pod_drop(struct ledger *l, uint32_t pod)
{
    struct pod_entry *p = &l->pods[pod];
    uint32_t node = p->node;

    pod_set_nominated(l, p, STR_NULL);
    ledger_pod_detach(l, pod);
    if (node != LEDGER_NONE) {
        ledger_node_drop_if_empty(l, node);
    }
    tenancy_hold(&l->tenancy, p->space, p->held, (struct holding){0});
    tenancy_leave(&l->tenancy, p->space);
    hashmap_remove(&l->pod_index, hash_str(l->limits.hash_key, p->uid), pod);
    l->isolating_n -= p->demand->isolate_n > 0;
    l->pods_by_state[p->state]--;
    ledger_pod_clear_refs(p);
    free(p->text);
    free(p->decision_id);
    free(p->demand);
    free(p->latest);
    free(p->labels);
    free(p->charges);
    *p = (struct pod_entry){.used = false};
    l->free_pods[l->free_pod_n++] = pod;
    l->pod_used_n--;
}

void ledger_pod_end(struct ledger *l, uint32_t pod)
{
    const struct pod_entry *p = &l->pods[pod];

    if (p->counted && p->node != LEDGER_NONE) {
        mix_departed(l->mix, p->demand);
    }
    ledger_pod_drop(l, pod);
}

void ledger_pod_attach(struct ledger *l, uint32_t pod, uint32_t node)
{
    struct pod_entry *p = &l->pods[pod];
    struct node_entry *n = &l->nodes[node];

    BUG_ON(p->node != LEDGER_NONE);
    pod_set_nominated(l, p, STR_NULL);
    if (n->pod_n == n->pod_cap) {
        n->pod_cap = n->pod_cap == 0 ? 8 : n->pod_cap * 2;
        n->pods = xreallocarray(n->pods, n->pod_cap, sizeof(*n->pods));
    }
    p->node = node;
    p->node_slot = n->pod_n;
    n->pods[n->pod_n++] = pod;
    ledger_recompute(l, node);
}

static void take_off(struct ledger *l, struct pod_entry *p)
{
    struct node_entry *n = &l->nodes[p->node];

    n->pods[p->node_slot] = n->pods[--n->pod_n];
    l->pods[n->pods[p->node_slot]].node_slot = p->node_slot;
    p->node = LEDGER_NONE;
    if (p->charge_n > 0 || p->demand->unsteered_n > 0) {
        ledger_made_room(l);
    }
    p->charge_n = 0;
    ledger_count_pod(l, p);
}

static void follow_take_off(struct ledger *l, uint32_t node)
{
    if (node != LEDGER_NONE) {
        ledger_node_forget_lost(l, node);
        ledger_recompute(l, node);
    }
}

void ledger_pod_detach(struct ledger *l, uint32_t pod)
{
    struct pod_entry *p = &l->pods[pod];
    uint32_t node = p->node;

    if (node != LEDGER_NONE) {
        take_off(l, p);
        follow_take_off(l, node);
    }
}

void ledger_pod_set_state(struct ledger *l, struct pod_entry *p, enum ledger_pod_state state, int64_t at_ms)
{
    if (p->state != state) {
        l->pods_by_state[p->state]--;
        l->pods_by_state[state]++;
        p->state = state;
        p->since_ms = at_ms;
    }
}

void ledger_pod_set_demand(struct ledger *l, struct pod_entry *p, const struct demand *d)
{
    if (demand_equal(p->demand, d)) {
        return;
    }
    l->isolating_n -= p->demand->isolate_n > 0;
    free(p->demand);
    p->demand = demand_copy(d);
    l->isolating_n += p->demand->isolate_n > 0;
}

static void pod_set_labels(struct pod_entry *p, const uint64_t *labels, size_t n)
{
    if (n == p->label_n && (n == 0 || memcmp(labels, p->labels, n * sizeof(*labels)) == 0)) {
        return;
    }
    p->rewritten = true;
    free(p->labels);
    p->labels = xmalloc(n * sizeof(*labels));
    p->label_n = n;
    if (n > 0) {
        memcpy(p->labels, labels, n * sizeof(*labels));
    }
}

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

static int64_t charged(const struct pod_entry *p)
{
    int64_t sum = 0;

    for (size_t i = 0; i < p->charge_n; i++) {
        sum += (int64_t)p->charges[i].charge.milli + p->charges[i].charge.mem_mib + p->charges[i].charge.slots;
    }
    return sum;
}

/* Same containers with the same numbers of devices, so that the devices held still answer to the wishes? */
static bool same_shape(const struct demand *a, const struct demand *b)
{
    bool same = a->defect == DEMAND_OK && b->defect == DEMAND_OK && a->wish_n == b->wish_n &&
                a->unsteered_n == b->unsteered_n && a->source == b->source;

    for (size_t w = 0; same && w < a->wish_n; w++) {
        same = a->wishes[w].init == b->wishes[w].init && a->wishes[w].count == b->wishes[w].count &&
               str_eq(a->wishes[w].container, b->wishes[w].container);
    }
    return same;
}

/* A request in resources cannot be edited: when its amounts read differently, the configuration has changed
 * (resource names, units). The pod runs with what it was given then, so the charge of that day becomes its
 * floor. */
static bool is_read_differently(const struct pod_entry *p, const struct demand *d)
{
    bool same = same_shape(p->demand, d);

    if (p->demand->source != DEMAND_FROM_RESOURCES || p->demand->defect != DEMAND_OK ||
        d->defect != DEMAND_OK) {
        return false;
    }
    for (size_t w = 0; same && w < d->wish_n; w++) {
        same = p->demand->wishes[w].kind == d->wishes[w].kind &&
               p->demand->wishes[w].milli == d->wishes[w].milli &&
               p->demand->wishes[w].mem_mib == d->wishes[w].mem_mib &&
               p->demand->wishes[w].profile == d->wishes[w].profile;
    }
    return !same;
}

static void keep_charges(const struct ledger *l, struct pod_entry *p)
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

/* Puts the pod onto the node where it is seen for the first time, or where nobody knows its devices yet:
 * takes them from the record if it matches. What it was charged on this node before stays its floor. */
static void pod_adopt(struct ledger *l, uint32_t pod, const struct ledger_pod_fact *f, uint32_t node,
                      int64_t at_ms)
{
    struct pod_entry *p = &l->pods[pod];
    struct wish wishes[DEMAND_WISHES_MAX];
    struct demand recorded = {0};
    uint32_t before = p->node;
    bool withdrawn =
        before == node && demand_is_empty(f->demand) &&
        (p->demand->source == DEMAND_FROM_ANNOTATIONS || p->demand->defect == DEMAND_OK);
    bool reread = before == node && is_read_differently(p, f->demand);
    const struct demand *d = withdrawn ? p->demand : f->demand;
    uint64_t room_before = l->room_generation;
    int64_t charged_before = charged(p);

    if (reread) {
        keep_charges(l, p);
    }
    if (before != LEDGER_NONE) {
        take_off(l, p); /* devices that it alone holds stay: the record may name them, too */
    }
    if (before == node) {
        clear_refs(p);
    } else {
        ledger_pod_clear_refs(p);
    }
    p->reserved_here = false;
    d = ledger_read_record(l, p, d, f->assignment, wishes, &recorded);
    for (size_t i = 0; i < f->known_n; i++) {
        ledger_floor_raise(p, ledger_device_ref(l, f->known[i].uuid, f->known[i].index), &f->known[i].charge);
    }
    p->conflict = NULL;
    if (d == &recorded || withdrawn) { /* as pod_reobserve() would say of the same observation */
        p->conflict = withdrawn && d != &recorded && reread ? CONFLICT_READING : CONFLICT_REQUEST;
    }
    if (demand_is_empty(d)) { /* what it asked for while it was pending counts for nothing */
        bool counted = p->counted;

        ledger_pod_drop(l, pod);
        follow_take_off(l, before);
        ledger_light_observed(l, f, counted);
        forget_nodes(l, before, node);
        return;
    }
    ledger_pod_set_demand(l, p, d);
    p->qos = qos_of(d, f->assignment);
    pod_keep_decision(p, f->assignment == NULL ? STR_NULL : f->assignment->id);
    if (p->refs == NULL && d->unsteered_n == 0 && !demand_may_be_counted(d)) {
        p->conflict = d->defect != DEMAND_OK ? CONFLICT_DEFECT : ledger_conflict_no_record;
        ledger_pod_set_state(l, p, LEDGER_FOREIGN, at_ms);
    } else {
        ledger_pod_set_state(l, p, LEDGER_BOUND, at_ms);
    }
    ledger_pod_attach(l, pod, node);
    follow_take_off(l, before);
    if (before == node && charged(p) >= charged_before) {
        l->room_generation = room_before; /* taken away and given back */
    }
    forget_nodes(l, before, node); /* only now: they may be known through this pod alone */
}

/* The pod is where we know it to be. What may still change: amounts and constraints, and contradictions. */
static void pod_reobserve(struct ledger *l, uint32_t pod, const struct ledger_pod_fact *f)
{
    struct pod_entry *p = &l->pods[pod];

    /* What is wrong with the request stays the conflict that is shown: the same observation twice must change
     * nothing. */
    if (p->ref_n > 0 && !ledger_record_is_ours(l, p, f->assignment)) {
        if (p->conflict != CONFLICT_REQUEST && p->conflict != CONFLICT_READING) {
            p->conflict = CONFLICT_RECORD;
        }
    } else if (p->conflict == CONFLICT_RECORD) {
        p->conflict = NULL;
    }
    if (demand_equal(p->demand, f->demand)) {
        return;
    }
    if (is_read_differently(p, f->demand)) {
        p->conflict = CONFLICT_READING;
        keep_charges(l, p);
    } else if (p->demand->source == DEMAND_FROM_ANNOTATIONS || !same_shape(p->demand, f->demand)) {
        p->conflict = CONFLICT_REQUEST;
    }
    if (same_shape(p->demand, f->demand)) {
        ledger_pod_set_demand(l, p, f->demand); /* floors keep the larger charge */
        if (f->demand->says_qos && f->demand->qos == QOS_EQUAL_SHARE) {
            p->qos = QOS_EQUAL_SHARE;
        }
        ledger_recompute(l, p->node);
    }
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
static bool is_foreign_as_before(const struct pod_entry *p, const struct ledger_pod_fact *f)
{
    return p->state == LEDGER_FOREIGN && p->ref_n == 0 && f->assignment == NULL && f->known_n == 0 &&
           str_of(p->decision_id).n == 0 && !demand_is_empty(f->demand) && demand_equal(p->demand, f->demand);
}

static int pod_seen_bound(struct ledger *l, uint32_t pod, const struct ledger_pod_fact *f, int64_t at_ms,
                          struct err *reterr)
{
    uint32_t node = ledger_node_add(l, f->node_name);
    struct pod_entry *p = &l->pods[pod];

    if (node == LEDGER_NONE) {
        return err_set(reterr, ERR_LIMIT, "more than %d nodes", LEDGER_NODES_MAX);
    }
    if (p->node == node && is_our_binding(p, f->assignment)) {
        ledger_pod_set_state(l, p, LEDGER_BOUND, at_ms);
    }
    if (p->node == node && p->state == LEDGER_BOUND) {
        pod_reobserve(l, pod, f);
    } else if (p->node != node || !is_foreign_as_before(p, f)) {
        pod_adopt(l, pod, f, node, at_ms);
    }
    return 0;
}

static void pod_seen_pending(struct ledger *l, uint32_t pod, const struct ledger_pod_fact *f)
{
    struct pod_entry *p = &l->pods[pod];

    if (p->state != LEDGER_PENDING) {
        /* An event from before our Binding. The reservation stands; remember the request for a release. */
        free(p->latest);
        p->latest = demand_copy(f->demand);
        p->rewritten = p->rewritten || !demand_equal(p->demand, f->demand);
    } else if (demand_is_empty(f->demand)) {
        ledger_pod_drop(l, pod);
    } else {
        ledger_pod_set_demand(l, p, f->demand);
        pod_set_nominated(l, p, f->nominated_node);
    }
}

static void count_once(struct ledger *l, struct pod_entry *p)
{
    if (p->used && !p->counted && p->demand->defect == DEMAND_OK) {
        p->counted = true;
        mix_arrived(l->mix, p->demand);
    }
}

int ledger_pod_observed(struct ledger *l, const struct ledger_pod_fact *f, int64_t at_ms,
                        struct err *reterr)
{
    uint32_t pod = ledger_pod_lookup(l, f->uid);
    bool bound = f->node_name.n > 0;
    int r;

    if (pod == LEDGER_NONE) {
        if (demand_is_empty(f->demand) &&
            !(bound && f->assignment != NULL && f->assignment->container_n > 0)) {
            if (bound) { /* what is seen pending is older than what was seen bound, and holds nothing */
                ledger_light_observed(l, f, false);
            }
            return 0;
        }
        pod = pod_add(l, f, at_ms);
        if (pod == LEDGER_NONE) {
            return err_set(reterr, ERR_LIMIT, "more than %d pods that use GPUs", LEDGER_PODS_MAX);
        }
        l->pods[pod].counted = ledger_light_forget(l, f->uid);
    }
    ledger_pod_set_host(l, &l->pods[pod], f->demand->host);
    l->pods[pod].epoch = l->pod_epoch;
    l->pods[pod].touched = l->generation + 1;
    l->pods[pod].missed = false;
    l->pods[pod].deleting = f->deleting;
    l->pods[pod].claims_record = f->claims_record;
    l->pods[pod].priority = f->priority;
    l->pods[pod].annotation_bytes = f->annotation_bytes;
    l->pods[pod].version = f->version;
    pod_set_labels(&l->pods[pod], f->label_hashes, f->label_n);
    if (!bound) {
        pod_seen_pending(l, pod, f);
    } else if ((r = pod_seen_bound(l, pod, f, at_ms, reterr)) != 0) {
        return r;
    }
    count_once(l, &l->pods[pod]);
    return 0;
}
