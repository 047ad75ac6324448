/* Pods of the ledger: what observations of the API server make of them. */
#include "base/bug.h"
#include "core/ledger_internal.h"

#include <stdlib.h>
#include <string.h>

static const char CONFLICT_RECORD[] = "the assignment annotation was changed after binding; ignored";
static const char CONFLICT_REQUEST[] =
    "the request annotations were changed after binding; the larger charge stays";
static const char CONFLICT_NO_RECORD[] =
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
    l->isolating_n += p->demand->isolate_n > 0;
    l->pod_used_n++;
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

void ledger_pod_drop(struct ledger *l, uint32_t pod)
{
    struct pod_entry *p = &l->pods[pod];
    uint32_t node = p->node;

    ledger_pod_detach(l, pod);
    if (node != LEDGER_NONE) {
        ledger_node_drop_if_empty(l, node);
    }
    hashmap_remove(&l->pod_index, hash_str(l->limits.hash_key, p->uid), pod);
    l->isolating_n -= p->demand->isolate_n > 0;
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

void ledger_pod_attach(struct ledger *l, uint32_t pod, uint32_t node)
{
    struct pod_entry *p = &l->pods[pod];
    struct node_entry *n = &l->nodes[node];

    BUG_ON(p->node != LEDGER_NONE);
    if (n->pod_n == n->pod_cap) {
        n->pod_cap = n->pod_cap == 0 ? 8 : n->pod_cap * 2;
        n->pods = xreallocarray(n->pods, n->pod_cap, sizeof(*n->pods));
    }
    p->node = node;
    p->node_slot = n->pod_n;
    n->pods[n->pod_n++] = pod;
    ledger_recompute(l, node);
}

void ledger_pod_detach(struct ledger *l, uint32_t pod)
{
    struct pod_entry *p = &l->pods[pod];
    uint32_t node = p->node;
    struct node_entry *n;

    if (node == LEDGER_NONE) {
        return;
    }
    n = &l->nodes[node];
    n->pods[p->node_slot] = n->pods[--n->pod_n];
    l->pods[n->pods[p->node_slot]].node_slot = p->node_slot;
    p->node = LEDGER_NONE;
    p->charge_n = 0;
    ledger_node_forget_lost(l, node);
    ledger_recompute(l, node);
}

void ledger_pod_set_state(struct pod_entry *p, enum ledger_pod_state state, int64_t at_ms)
{
    if (p->state != state) {
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
    free(p->labels);
    p->labels = xmalloc(n * sizeof(*labels));
    p->label_n = n;
    if (n > 0) {
        memcpy(p->labels, labels, n * sizeof(*labels));
    }
}

/* ---- reading a record ---- */

static const struct assigned_container *assigned_to(const struct assignment *as, const struct wish *w)
{
    for (size_t i = 0; i < as->container_n; i++) {
        if (as->containers[i].init == w->init && str_eq(as->containers[i].name, w->container)) {
            return &as->containers[i];
        }
    }
    return NULL;
}

/* The devices of every wish, or NULL when record and demand do not match one to one. */
static struct device_ref *refs_of_record(const struct ledger *l, const struct demand *d,
                                         const struct assignment *as, size_t *ret_n)
{
    struct device_ref *refs;
    size_t n = 0;

    if (as == NULL || d->defect != DEMAND_OK || as->container_n != d->wish_n) {
        return NULL;
    }
    for (size_t w = 0; w < d->wish_n; w++) {
        const struct assigned_container *c = assigned_to(as, &d->wishes[w]);

        if (c == NULL || c->device_n != d->wishes[w].count) {
            return NULL;
        }
        n += c->device_n;
    }
    refs = xmalloc(n * sizeof(*refs));
    *ret_n = 0;
    for (size_t w = 0; w < d->wish_n; w++) {
        const struct assigned_container *c = assigned_to(as, &d->wishes[w]);

        BUG_ON(c == NULL);
        for (size_t i = 0; i < c->device_n; i++) {
            refs[(*ret_n)++] = ledger_device_ref(l, c->devices[i].uuid, c->devices[i].index);
        }
    }
    return refs;
}

/* Raises what is known to have been charged on a device. */
static void floor_raise(struct pod_entry *p, struct device_ref ref, const struct charge *c)
{
    for (size_t i = 0; i < p->floor_n; i++) {
        if (device_ref_equal(p->floors[i].ref, ref)) {
            ledger_charge_max(&p->floors[i].charge, c);
            return;
        }
    }
    p->floors = xreallocarray(p->floors, p->floor_n + 1, sizeof(*p->floors));
    p->floors[p->floor_n++] = (struct pod_floor){ref, *c};
}

/* What the record gives to the containers of one phase, summed up per device. No node has more devices than
 * that: further ones are somebody's invention. */
struct phase_charges {
    struct device_ref refs[DEVICES_PER_NODE_MAX];
    struct charge sums[DEVICES_PER_NODE_MAX];
    size_t n;
};

static void phase_add(struct phase_charges *f, struct device_ref ref, const struct assigned_device *d)
{
    size_t i = 0;

    while (i < f->n && !device_ref_equal(f->refs[i], ref)) {
        i++;
    }
    if (i == DEVICES_PER_NODE_MAX) {
        return;
    }
    if (i == f->n) {
        f->refs[f->n++] = ref;
        f->sums[i] = (struct charge){0};
    }
    f->sums[i].milli += d->milli;
    f->sums[i].mem_mib += d->mem_mib;
    f->sums[i].slots++;
}

/* What the record says was taken: a lower bound of the charge of a pod whose request is in annotations
 * (rule 1). Record and demand match one to one, and `refs` follows their devices. */
static void floors_of_record(struct pod_entry *p, const struct assignment *as, const struct demand *d,
                             const struct device_ref *refs)
{
    uint64_t phases = 0;

    for (size_t w = 0; w < d->wish_n; w++) {
        phases |= d->wishes[w].phases;
    }
    for (; phases != 0; phases &= phases - 1) {
        struct phase_charges f = {.n = 0};
        size_t at = 0;

        for (size_t w = 0; w < d->wish_n; w++) {
            const struct wish *wish = &d->wishes[w];
            const struct assigned_container *c = assigned_to(as, wish);

            for (size_t i = 0; i < wish->count; i++, at++) {
                if ((wish->phases & phases & -phases) != 0) {
                    phase_add(&f, refs[at], &c->devices[i]);
                }
            }
        }
        for (size_t i = 0; i < f.n; i++) {
            floor_raise(p, f.refs[i], &f.sums[i]);
        }
    }
}

/* The demand that a record alone implies, for a bound pod whose request annotations are gone or spoilt.
 * Wishes go to `wishes` (DEMAND_WISHES_MAX). */
static struct demand demand_of_record(const struct assignment *as, struct wish *wishes)
{
    struct demand d = {.source = DEMAND_FROM_ANNOTATIONS, .dialect = "native", .wishes = wishes};

    for (size_t i = 0; i < as->container_n && d.wish_n < DEMAND_WISHES_MAX; i++) {
        const struct assigned_container *c = &as->containers[i];
        struct wish *w = &wishes[d.wish_n];

        if (c->device_n == 0) {
            continue;
        }
        *w = (struct wish){.container = c->name,
                           .init = c->init,
                           .count = (uint16_t)c->device_n,
                           .kind = WISH_BOTH,
                           .phases = 1};
        for (size_t j = 0; j < c->device_n; j++) {
            w->milli = c->devices[j].milli > w->milli ? c->devices[j].milli : w->milli;
            w->mem_mib = c->devices[j].mem_mib > w->mem_mib ? c->devices[j].mem_mib : w->mem_mib;
        }
        d.wish_n++;
    }
    return d;
}

/* ---- observations ---- */

/* Does the annotation still say what we know: same decision, same devices? */
static bool record_is_ours(const struct ledger *l, const struct pod_entry *p, const struct assignment *as)
{
    struct device_ref *refs;
    size_t n = 0;
    bool same;

    if (as == NULL || p->decision_id == NULL || !str_eq(as->id, str_of(p->decision_id))) {
        return false;
    }
    refs = refs_of_record(l, p->demand, as, &n);
    same = refs != NULL && n == p->ref_n;
    for (size_t i = 0; same && i < n; i++) {
        same = device_ref_equal(refs[i], p->refs[i]);
    }
    free(refs);
    return same;
}

static void pod_keep_decision(struct pod_entry *p, struct str id)
{
    free(p->decision_id);
    p->decision_id = xmalloc(id.n + 1);
    if (id.n > 0) {
        memcpy(p->decision_id, id.p, id.n);
    }
    p->decision_id[id.n] = '\0';
}

/* Devices and floors from the record, and the demand to go by: `d`, or, where that is gone or spoilt, the one
 * that the record implies (in *recorded and `wishes`). */
static const struct demand *pod_read_record(const struct ledger *l, struct pod_entry *p,
                                            const struct demand *d, const struct assignment *as,
                                            struct wish *wishes, struct demand *recorded)
{
    bool lost = demand_is_empty(d) || d->defect != DEMAND_OK;
    struct device_ref *refs = refs_of_record(l, d, as, &p->ref_n);
    size_t n = 0;

    p->refs = refs;
    if (as == NULL || (d->source != DEMAND_FROM_ANNOTATIONS && !demand_is_empty(d))) {
        return d;
    }
    if (refs != NULL) {
        floors_of_record(p, as, d, refs);
        return d;
    }
    *recorded = demand_of_record(as, wishes);
    refs = recorded->wish_n > 0 ? refs_of_record(l, recorded, as, &n) : NULL;
    if (refs == NULL) {
        return d;
    }
    floors_of_record(p, as, recorded, refs);
    if (!lost) { /* both count: the request on every device, the record on its own */
        free(refs);
        return d;
    }
    p->refs = refs;
    p->ref_n = n;
    p->conflict = CONFLICT_REQUEST;
    return recorded;
}

static void forget_nodes(struct ledger *l, uint32_t before, uint32_t now)
{
    if (before != LEDGER_NONE && before != now) {
        ledger_node_drop_if_empty(l, before);
    }
    ledger_node_drop_if_empty(l, now);
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
    bool withdrawn = before == node && demand_is_empty(f->demand) &&
                     p->demand->source == DEMAND_FROM_ANNOTATIONS;
    const struct demand *d = withdrawn ? p->demand : f->demand;

    ledger_pod_detach(l, pod);
    if (before == node) {
        clear_refs(p);
    } else {
        ledger_pod_clear_refs(p);
    }
    p->reserved_here = false;
    p->conflict = NULL;
    d = pod_read_record(l, p, d, f->assignment, wishes, &recorded);
    if (demand_is_empty(d)) { /* what it asked for while it was pending counts for nothing */
        ledger_pod_drop(l, pod);
        forget_nodes(l, before, node);
        return;
    }
    ledger_pod_set_demand(l, p, d);
    pod_keep_decision(p, f->assignment == NULL ? STR_NULL : f->assignment->id);
    if (p->refs == NULL && d->unsteered_n == 0) {
        p->conflict = d->defect != DEMAND_OK ? CONFLICT_DEFECT : CONFLICT_NO_RECORD;
        ledger_pod_set_state(p, LEDGER_FOREIGN, at_ms);
    } else {
        ledger_pod_set_state(p, LEDGER_BOUND, at_ms);
    }
    ledger_pod_attach(l, pod, node);
    forget_nodes(l, before, node); /* only now: they may be known through this pod alone */
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

/* The pod is where we know it to be. What may still change: amounts and constraints, and contradictions. */
static void pod_reobserve(struct ledger *l, uint32_t pod, const struct ledger_pod_fact *f)
{
    struct pod_entry *p = &l->pods[pod];

    if (p->ref_n > 0 && !record_is_ours(l, p, f->assignment)) {
        p->conflict = CONFLICT_RECORD;
    } else if (p->conflict == CONFLICT_RECORD) {
        p->conflict = NULL;
    }
    if (demand_equal(p->demand, f->demand)) {
        return;
    }
    if (p->demand->source == DEMAND_FROM_ANNOTATIONS || !same_shape(p->demand, f->demand)) {
        p->conflict = CONFLICT_REQUEST;
    }
    if (same_shape(p->demand, f->demand)) {
        ledger_pod_set_demand(l, p, f->demand); /* floors keep the larger charge */
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

static int pod_seen_bound(struct ledger *l, uint32_t pod, const struct ledger_pod_fact *f, int64_t at_ms,
                          struct err *reterr)
{
    uint32_t node = ledger_node_add(l, f->node_name);
    struct pod_entry *p = &l->pods[pod];

    if (node == LEDGER_NONE) {
        return err_set(reterr, ERR_LIMIT, "more than %d nodes", LEDGER_NODES_MAX);
    }
    if (p->node == node && is_our_binding(p, f->assignment)) {
        ledger_pod_set_state(p, LEDGER_BOUND, at_ms);
    }
    if (p->node == node && p->state == LEDGER_BOUND) {
        pod_reobserve(l, pod, f);
    } else {
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
    } else if (demand_is_empty(f->demand)) {
        ledger_pod_drop(l, pod);
    } else {
        ledger_pod_set_demand(l, p, f->demand);
    }
}

int ledger_pod_observed(struct ledger *l, const struct ledger_pod_fact *f, int64_t at_ms,
                        struct err *reterr)
{
    uint32_t pod = ledger_pod_lookup(l, f->uid);
    bool bound = f->node_name.n > 0;

    if (pod == LEDGER_NONE) {
        if (demand_is_empty(f->demand) &&
            !(bound && f->assignment != NULL && f->assignment->container_n > 0)) {
            return 0;
        }
        pod = pod_add(l, f, at_ms);
        if (pod == LEDGER_NONE) {
            return err_set(reterr, ERR_LIMIT, "more than %d pods that use GPUs", LEDGER_PODS_MAX);
        }
    }
    l->pods[pod].epoch = l->pod_epoch;
    l->pods[pod].missed = false;
    l->pods[pod].deleting = f->deleting;
    l->pods[pod].priority = f->priority;
    l->pods[pod].annotation_bytes = f->annotation_bytes;
    pod_set_labels(&l->pods[pod], f->label_hashes, f->label_n);
    if (bound) {
        return pod_seen_bound(l, pod, f, at_ms, reterr);
    }
    pod_seen_pending(l, pod, f);
    return 0;
}
