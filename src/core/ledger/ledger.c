#include "core/ledger/ledger.h"

#include "base/bug.h"
#include "core/ledger/change.h"
#include "core/ledger/device_table.h"
#include "core/ledger/host_group.h"
#include "core/ledger/incident_table.h"
#include "core/ledger/cpu_only_pods.h"
#include "core/ledger/node_table.h"
#include "core/ledger/numbers.h"
#include "core/ledger/observe.h"
#include "core/ledger/overcommit.h"
#include "core/ledger/pod_table.h"
#include "core/ledger/reserve.h"
#include "core/ledger/state.h"
#include "core/ledger/tenants.h"
#include "core/ledger/trust.h"
#include "core/ledger/turned_away.h"
#include "core/ledger/snapshot_iterators.h"
#include "core/request/demand_histogram.h"

#include <stdlib.h>
#include <string.h>

struct ledger_limits ledger_limits_of(const struct policy *p, struct hash_key hash_key)
{
    return (struct ledger_limits){.hash_key = hash_key,
                                  .overcommit_milli = p->overcommit_milli,
                                  .overcommit_mem_milli = p->overcommit_mem_milli,
                                  .refuses_host_groups = p->consistency == CONSISTENCY_STRICT};
}

struct ledger *ledger_new(const struct ledger_limits *limits)
{
    struct ledger *l = xcalloc(1, sizeof(*l));

    BUG_ON(limits->overcommit_milli < 1000 || limits->overcommit_mem_milli < 1000);
    l->limits = *limits;
    l->limits.nodes_max = limits->nodes_max > 0 ? limits->nodes_max : LEDGER_NODES_MAX;
    l->limits.pods_max = limits->pods_max > 0 ? limits->pods_max : LEDGER_PODS_MAX;
    l->texts_count = true;
    l->unverified_first = l->unverified_last = LEDGER_NONE;
    l->models = intern_new(limits->hash_key, LEDGER_MODELS_MAX);
    l->demand_histogram = demand_histogram_new();
    hashmap_init(&l->node_index);
    hashmap_init(&l->host_groups);
    hashmap_init(&l->pod_index);
    tenancy_init(&l->tenancy, limits->hash_key);
    ledger_states_grow(l); /* never NULL: a node without devices points to its beginning */
    return l;
}

void ledger_free(struct ledger *l)
{
    if (l == NULL) {
        return;
    }
    BUG_ON(l->iterators != NULL);
    for (uint32_t i = 0; i < l->pod_n; i++) {
        if (l->pods[i].used) {
            l->pods[i].node = LEDGER_NONE; /* the nodes go too: no need to recompute them */
            ledger_pod_drop(l, i);
        }
    }
    for (uint32_t i = 0; i < l->node_n; i++) {
        ledger_node_free(l, i);
    }
    for (size_t i = 0; i < NODES_LEFT_MAX; i++) {
        shared_text_drop(l->node_left[i].name);
    }
    for (size_t i = 0; i < DEVICES_PER_NODE_MAX + 1; i++) {
        free(l->free_extents[i]);
    }
    free(l->nodes);
    free(l->rows);
    free(l->names);
    node_briefs_fini(&l->briefs);
    free(l->by_name);
    free(l->free_nodes);
    free(l->recomputed);
    ledger_drop_overcommits(l->overcommits, l->overcommit_n);
    free(l->overcommits);
    incidents_free(l->incidents.news);
    free(l->states);
    free(l->pods);
    free(l->free_pods);
    free(l->cpu_only.slots);
    free(l->turned_away.text);
    hashmap_fini(&l->node_index);
    hashmap_fini(&l->host_groups);
    hashmap_fini(&l->pod_index);
    tenancy_fini(&l->tenancy);
    intern_free(l->models);
    demand_histogram_free(l->demand_histogram);
    free(l);
}

/* Does it exist, as of a list of this version that has just ended? A pod that was only read by itself meanwhile, at a
 * version that the list should have shown, has gone since; a newer one is charged until the watch says more of it. */
static bool is_listed(const struct ledger *l, const struct pod_entry *p, uint64_t version)
{
    return p->epoch == l->pod_epoch ||
           (p->read_epoch == l->pod_epoch && (version == 0 || p->version == 0 || p->version > version));
}

static void pods_end(struct ledger *l, uint64_t version)
{
    for (uint32_t i = 0; i < l->pod_n; i++) {
        struct pod_entry *p = &l->pods[i];

        if (!p->used || is_listed(l, p, version)) {
            continue;
        }
        /* The Binding of a reservation decides, not this sweep; but when it does, the pod is gone. */
        if (p->state == LEDGER_RESERVED) {
            p->missed = true;
        } else {
            ledger_iterators_pod_changes(l, i);
            ledger_pod_end(l, i);
            ledger_change_follow(l, LEDGER_PODS_END);
        }
    }
    ledger_cpu_only_sweep(l);
    ledger_turned_away_list_ends(l);
    l->pods_synced = true;
    l->texts_count = l->texts_count && ledger_turned_away_come_again(l);
    ledger_cpu_only_synced(l);
}

static void nodes_end(struct ledger *l)
{
    for (uint32_t i = 0; i < l->node_n; i++) {
        if (l->nodes[i].used && l->nodes[i].described && l->nodes[i].epoch != l->node_epoch) {
            ledger_iterators_node_changes(l, i);
            ledger_node_gone(l, i);
            ledger_change_follow(l, LEDGER_NODES_END);
        }
    }
    l->nodes_synced = true;
    ledger_cpu_only_synced(l);
}

static int apply_op(struct ledger *l, const struct ledger_op *op, struct err *reterr)
{
    uint32_t i;

    switch (op->kind) {
    case LEDGER_NODE_DESCRIBED:
        return ledger_node_described(l, &op->node, reterr);
    case LEDGER_NODE_GONE:
        i = ledger_node_find(l, op->name);
        if (i != LEDGER_NONE) {
            ledger_node_gone(l, i);
        }
        return 0;
    case LEDGER_POD_OBSERVED:
        ledger_pod_observed(l, &op->pod, op->at_ms);
        return 0;
    case LEDGER_POD_GONE:
        i = ledger_pod_lookup(l, op->name);
        if (i != LEDGER_NONE) {
            ledger_pod_end(l, i);
        } else {
            ledger_cpu_only_gone(l, op->name);
        }
        return 0;
    case LEDGER_RESERVE:
        return ledger_reserve_apply(l, &op->reserve, op->at_ms, reterr);
    case LEDGER_CONFIRM:
        return ledger_confirm_apply(l, op->name, op->at_ms, reterr);
    case LEDGER_RELEASE:
        return ledger_release_apply(l, op->name, op->at_ms, reterr);
    case LEDGER_PODS_BEGIN:
        l->pod_epoch++;
        ledger_turned_away_list_begins(l);
        l->texts_count = l->texts_count || op->list.reread;
        return 0;
    case LEDGER_PODS_END:
        pods_end(l, op->list.version);
        return 0;
    case LEDGER_NODES_BEGIN:
        l->node_epoch++;
        return 0;
    case LEDGER_NODES_END:
        nodes_end(l);
        return 0;
    case LEDGER_TENANTS:
        tenancy_set(&l->tenancy, op->tenants.items, op->tenants.n);
        ledger_capacity_grew(l); /* refused pods may try again */
        return 0;
    case LEDGER_RECORD_JUDGED:
        return ledger_judged_apply(l, &op->judged, op->at_ms);
    case LEDGER_SLICES:
        return ledger_node_slices(l, op->slices.name, op->slices.note, reterr);
    case LEDGER_OP__MAX:
        break;
    }
    BUG("unknown ledger op");
}

int ledger_apply(struct ledger *l, const struct ledger_op *op, struct err *reterr)
{
    bool open = ledger_decision_is_open(l, op);
    int rc;

    ledger_iterators_op_comes(l, op);
    rc = apply_op(l, op, reterr);
    ledger_decision_observed(l, op, open);
    ledger_host_groups_follow(l);
    ledger_change_follow(l, op->kind);
    ledger_overcommit_follow(l, op->at_ms);
    if (tenancy_follow(&l->tenancy)) {
        ledger_capacity_grew(l);
    }
    if (rc == 0) {
        l->generation++;
    }
    return rc;
}

enum verdict ledger_place(const struct ledger *l, struct str node_name, struct str namespace_, const struct demand *d,
                          const uint64_t *label_hashes, size_t label_n, const struct pack_params *params,
                          struct placement *ret)
{
    struct device_state states[DEVICES_PER_NODE_MAX];
    uint32_t node = ledger_node_find(l, node_name);
    const struct node_state *row;
    uint8_t *allowed;
    enum verdict v;

    if (node == LEDGER_NONE) {
        return VERDICT_NODE_UNKNOWN;
    }
    row = &l->rows[node];
    if (row->device_n > 0) {
        memcpy(states, &l->states[row->first_device], row->device_n * sizeof(states[0]));
    }
    ledger_mark_denied(l, node, states, namespace_, STR_NULL, d, label_hashes, label_n, NULL, NULL);
    allowed = xmalloc(intern_count(l->models) + 1);
    v = choice_make(params, row, states, models_allowed(l->models, d, allowed), d, ret, NULL);
    free(allowed);
    if (v == VERDICT_FITS &&
        !holding_fits(tenancy_wanted(d, ret, row, states), ledger_tenant_residual(l, namespace_))) {
        v = VERDICT_TENANT_LIMIT;
    }
    return v;
}

bool ledger_tolerates(const struct ledger *l, struct str node_name, struct str uid)
{
    uint32_t i = ledger_pod_lookup(l, uid), node = ledger_node_find(l, node_name);

    if (uid.n == 0 && node != LEDGER_NONE) {
        return toleration_admits(NULL, 0, l->nodes[node].taints, l->nodes[node].taint_n);
    }
    return i == LEDGER_NONE || node == LEDGER_NONE ||
           toleration_admits(l->pods[i].tolerations, l->pods[i].toleration_n, l->nodes[node].taints,
                             l->nodes[node].taint_n);
}

enum verdict ledger_place_pod(const struct ledger *l, struct str node_name, struct str uid,
                              const struct pack_params *params, struct placement *ret)
{
    uint32_t i = ledger_pod_lookup(l, uid);
    const struct pod_entry *p;

    BUG_ON(i == LEDGER_NONE);
    p = &l->pods[i];
    if (!ledger_tolerates(l, node_name, uid)) {
        return VERDICT_UNTOLERATED;
    }
    return ledger_place(l, node_name, p->namespace_, p->demand, p->labels, p->label_n, params, ret);
}
