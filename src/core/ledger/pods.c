/* Pods of the ledger: the table of them, and where they are attached. */
#include "base/bug.h"
#include "core/ledger/device_table.h"
#include "core/ledger/incident_table.h"
#include "core/ledger/node_table.h"
#include "core/ledger/numbers.h"
#include "core/ledger/pod_table.h"
#include "core/ledger/records.h"
#include "core/ledger/state.h"
#include "core/ledger/tenants.h"
#include "core/ledger/trust.h"
#include "core/ledger/snapshot_iterators.h"
#include "core/request/demand_histogram.h"

#include <stdlib.h>
#include <string.h>

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

uint32_t ledger_pod_add(struct ledger *l, const struct ledger_pod_fact *f, const struct demand *d, int64_t at_ms)
{
    uint32_t i;
    struct pod_entry *p;
    char *at;

    if (l->pod_used_n == l->limits.pods_max) {
        return LEDGER_NONE;
    }
    i = pod_slot(l);
    p = &l->pods[i];
    *p = (struct pod_entry){.used = true,
                            .node = LEDGER_NONE,
                            .unverified_before = LEDGER_NONE,
                            .unverified_after = LEDGER_NONE,
                            .since_ms = at_ms};
    p->text = xmalloc(f->uid.n + f->namespace_.n + f->name.n);
    at = p->text;
    p->uid = str_put(&at, f->uid);
    p->namespace_ = str_put(&at, f->namespace_);
    p->name = str_put(&at, f->name);
    p->demand = demand_copy(d);
    p->space = tenancy_enter(&l->tenancy, p->namespace_);
    l->isolating_n += p->demand->isolate_n > 0;
    l->pod_used_n++;
    l->pods_by_state[p->state]++;
    ledger_iterators_pod_born(l, i);
    hashmap_insert(&l->pod_index, hash_str(l->limits.hash_key, f->uid), i);
    return i;
}

void ledger_pod_free_devices(struct pod_entry *p)
{
    free(p->record_parts);
    p->record_parts = NULL;
    free(p->promised);
    p->promised = NULL;
    free(p->refs);
    p->refs = NULL;
    p->ref_n = 0;
}

void ledger_pod_clear_devices(struct ledger *l, struct pod_entry *p)
{
    if (p->trust != RECORD_UNSIGNED) {
        ledger_trust_set(l, p, RECORD_UNSIGNED, STR_NULL);
    }
    ledger_pod_free_devices(p);
}

void ledger_pod_clear_refs(struct ledger *l, struct pod_entry *p)
{
    ledger_pod_clear_devices(l, p);
    free(p->floors);
    p->floors = NULL;
    p->floor_n = 0;
    p->floor_of_all = (struct charge){0};
    free(p->first_grants);
    p->first_grants = NULL;
    p->first_grant_n = 0;
    p->contested = false;
}

/* Only while the pod is pending; once it has a place the nomination says nothing more. */
void ledger_pod_set_nominated(struct ledger *l, struct pod_entry *p, struct str node_name)
{
    if (l->nominated_n > 0 && !str_eq(str_of(p->nominated), node_name)) {
        ledger_capacity_grew(l); /* nobody has to leave room for it there any more, or for others that it rules out */
    }
    l->nominated_n -= p->nominated != NULL;
    free(p->nominated);
    p->nominated = NULL;
    if (node_name.n > 0) {
        p->nominated = str_dup(node_name);
        l->nominated_n++;
    }
}

void ledger_pod_keep_renominated(struct pod_entry *p, struct str node_name)
{
    free(p->renominated);
    p->renominated = node_name.n > 0 ? str_dup(node_name) : NULL;
}

void ledger_pod_drop(struct ledger *l, uint32_t pod)
{
    struct pod_entry *p = &l->pods[pod];
    uint32_t node = p->node;

    ledger_pod_set_nominated(l, p, STR_NULL);
    ledger_decision_gone(l, p);
    ledger_pod_detach(l, pod);
    if (node != LEDGER_NONE) {
        ledger_node_drop_if_empty(l, node);
    }
    tenancy_hold(&l->tenancy, p->space, p->held, (struct holding){0});
    tenancy_leave(&l->tenancy, p->space);
    hashmap_remove(&l->pod_index, hash_str(l->limits.hash_key, p->uid), pod);
    l->isolating_n -= p->demand->isolate_n > 0;
    l->pods_by_state[p->state]--;
    ledger_pod_clear_refs(l, p);
    free(p->text);
    free(p->renominated);
    free(p->decision_id);
    free(p->demand);
    free(p->latest);
    free(p->proof);
    free(p->labels);
    free(p->tolerations);
    free(p->leftovers);
    free(p->charges);
    *p = (struct pod_entry){.used = false};
    l->free_pods[l->free_pod_n++] = pod;
    l->pod_used_n--;
}

void ledger_pod_end(struct ledger *l, uint32_t pod)
{
    const struct pod_entry *p = &l->pods[pod];

    if (p->counted && p->node != LEDGER_NONE) {
        demand_histogram_departed(l->demand_histogram, p->demand);
    }
    ledger_pod_drop(l, pod);
}

void ledger_pod_attach(struct ledger *l, uint32_t pod, uint32_t node)
{
    struct pod_entry *p = &l->pods[pod];
    struct node_entry *n = &l->nodes[node];

    BUG_ON(p->node != LEDGER_NONE);
    ledger_pod_keep_renominated(p, str_of(p->nominated));
    ledger_pod_set_nominated(l, p, STR_NULL);
    if (n->pod_n == n->pod_cap) {
        n->pod_cap = n->pod_cap == 0 ? 8 : n->pod_cap * 2;
        n->pods = xreallocarray(n->pods, n->pod_cap, sizeof(*n->pods));
    }
    p->node = node;
    p->attached = l->generation + 1;
    p->node_slot = n->pod_n;
    n->pods[n->pod_n++] = pod;
    if (p->record_parts != NULL) {
        ledger_keep_granted(l, node);
    }
    ledger_recompute(l, node);
}

void ledger_pod_take_off(struct ledger *l, struct pod_entry *p)
{
    struct node_entry *n = &l->nodes[p->node];

    n->pods[p->node_slot] = n->pods[--n->pod_n];
    l->pods[n->pods[p->node_slot]].node_slot = p->node_slot;
    p->node = LEDGER_NONE;
    p->charge_n = 0;
    ledger_count_pod(l, p);
}

void ledger_pod_follow_take_off(struct ledger *l, uint32_t node)
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
        ledger_pod_take_off(l, p);
        ledger_pod_follow_take_off(l, node);
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

static bool same_isolation(const struct demand *a, const struct demand *b)
{
    return a->isolate_n == b->isolate_n &&
           (a->isolate_n == 0 || memcmp(a->isolate, b->isolate, a->isolate_n * sizeof(*a->isolate)) == 0);
}

void ledger_pod_set_demand(struct ledger *l, struct pod_entry *p, const struct demand *d)
{
    if (demand_equal(p->demand, d)) {
        return;
    }
    if (p->nominated != NULL ||
        ((p->demand->isolate_n > 0 || ledger_less_may_be_more(l)) && !same_isolation(p->demand, d))) {
        ledger_capacity_grew(l);
    }
    l->isolating_n -= p->demand->isolate_n > 0;
    free(p->demand);
    p->demand = demand_copy(d);
    l->isolating_n += p->demand->isolate_n > 0;
}

/* Whoever keeps away from pods with the old ones may share with this one now. */
void ledger_pod_set_labels(struct ledger *l, struct pod_entry *p, const uint64_t *labels, size_t n)
{
    if (n == p->label_n && (n == 0 || memcmp(labels, p->labels, n * sizeof(*labels)) == 0)) {
        return;
    }
    if ((p->label_n > 0 || ledger_less_may_be_more(l)) && p->node != LEDGER_NONE) {
        ledger_capacity_grew(l);
    }
    p->rewritten = true;
    free(p->labels);
    p->labels = xmalloc(n * sizeof(*labels));
    p->label_n = n;
    if (n > 0) {
        memcpy(p->labels, labels, n * sizeof(*labels));
    }
}
