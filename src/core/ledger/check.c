/* Every invariant of the ledger, slow and complete. */
#include "base/bug.h"
#include "core/ledger/host_group.h"
#include "core/ledger/host_sums.h"
#include "core/ledger/cpu_only_pods.h"
#include "core/ledger/node_table.h"
#include "core/ledger/numbers.h"
#include "core/ledger/overcommit.h"
#include "core/ledger/pod_table.h"
#include "core/ledger/state.h"
#include "core/ledger/tenants.h"
#include "core/ledger/turned_away.h"

#include <stdlib.h>
#include <string.h>

static const char *check_pod(const struct ledger *l, uint32_t i)
{
    const struct pod_entry *p = &l->pods[i];

    if (ledger_pod_lookup(l, p->uid) != i) {
        return "a pod is not found by its UID";
    }
    if ((p->state == LEDGER_PENDING) != (p->node == LEDGER_NONE)) {
        return "a pod is attached to a node although it is pending, or is not although it is bound";
    }
    if (p->node != LEDGER_NONE &&
        (p->node >= l->node_n || !l->nodes[p->node].used || p->node_slot >= l->nodes[p->node].pod_n ||
         l->nodes[p->node].pods[p->node_slot] != i)) {
        return "a pod is not in the list of its node";
    }
    if (p->state == LEDGER_PENDING && (p->charge_n > 0 || p->ref_n > 0)) {
        return "a pending pod holds devices";
    }
    if ((p->state == LEDGER_RESERVED || p->state == LEDGER_CONFIRMED) && p->ref_n == 0 &&
        p->demand->plugin_managed_n == 0 && !demand_may_be_counted(p->demand)) {
        return "a reservation names no devices";
    }
    return NULL;
}

static const char *check_pod_counts(const struct ledger *l)
{
    uint32_t used = 0, isolating = 0, by_state[LEDGER_POD_STATE__MAX] = {0};

    for (uint32_t i = 0; i < l->pod_n; i++) {
        const struct pod_entry *p = &l->pods[i];

        if (p->used) {
            used++;
            by_state[p->state]++;
            isolating += p->demand->isolate_n > 0;
        }
    }
    if (used != l->pod_used_n || used > l->limits.pods_max || l->pod_index.used_n != used) {
        return "the number of pods is wrong";
    }
    if (memcmp(by_state, l->pods_by_state, sizeof(by_state)) != 0) {
        return "the number of pods in some state is wrong";
    }
    return isolating == l->isolating_n ? NULL : "the number of isolating pods is wrong";
}

/* Sums of charges again, from the pods; and no device is too small for what was granted here alone, unless it has
 * shrunk. Whatever else is on it excuses nothing (core/ledger/excess.h). */
static const char *check_device(const struct ledger *l, const struct node_entry *n, uint32_t ordinal,
                                const struct device_state *s)
{
    struct device_state again = ledger_empty_state(n, &n->devices[ordinal]);
    const struct ledger_device *d = &n->devices[ordinal];

    again.flags |= s->flags & (DEVICE_BLOCKED | DEVICE_GROUP_TAKEN);
    for (uint32_t i = 0; i < n->pod_n; i++) {
        const struct pod_entry *p = &l->pods[n->pods[i]];

        for (size_t j = 0; j < p->charge_n; j++) {
            if (p->charges[j].ordinal == ordinal) {
                device_take(&again, &p->charges[j].charge);
            }
        }
    }
    if (!device_equal(&again, s)) {
        return "the free amounts of a device are not its capacity less its charges";
    }
    if (!device_is_overcommitted(s)) {
        return d->shrunk || d->overbooked ? "a device is within its capacity and said to be over-committed" : NULL;
    }
    if (d->overbooked) {
        return "a reservation took more of a device than was free";
    }
    return !d->shrunk && ledger_grants_exceed(l, n, ordinal) ? "a device is over-committed by pods that fgpu placed"
                                                             : NULL;
}

static const char *check_node(const struct ledger *l, uint32_t node)
{
    const struct node_entry *n = &l->nodes[node];
    const struct node_state *row = &l->rows[node];
    int64_t plugin_managed = 0;
    int32_t shares = 0;

    if (ledger_node_find(l, l->names[node]) != node) {
        return "a node is not found by its name";
    }
    if (!str_eq(l->names[node], node_briefs_name(&l->briefs, node))) {
        return "the copy of a node's name says another one";
    }
    if (l->briefs.briefs[node].version != row->version || l->briefs.briefs[node].name_order != row->name_order) {
        return "the copy of a node's version, or of the order of its name, is another one";
    }
    if (row->device_n != n->device_n || n->extent_n != n->device_n || row->first_device + row->device_n > l->state_n) {
        return "a node does not own its device states";
    }
    if (!n->described && n->slices_note == NULL && n->pod_n == 0 && n->cpu_only_n == 0) {
        return "an unknown node without pods is kept";
    }
    for (uint32_t i = 0; i < n->pod_n; i++) {
        const struct pod_entry *p = &l->pods[n->pods[i]];

        if (!p->used || p->node != node) {
            return "a node lists a pod that is elsewhere";
        }
        plugin_managed += p->demand->plugin_managed_n;
        shares += demand_takes_shares(p->demand);
    }
    if (plugin_managed != row->plugin_managed_used || shares != row->share_pod_n) {
        return "a node's sums over its pods are wrong";
    }
    for (uint32_t i = 0; i < n->device_n; i++) {
        const char *why = check_device(l, n, i, &l->states[row->first_device + i]);

        if (why != NULL) {
            return why;
        }
    }
    return ledger_host_group_check(l, node);
}

static const char *check_extents(const struct ledger *l)
{
    uint64_t owned = 0;

    for (uint32_t i = 0; i < l->node_n; i++) {
        owned += l->nodes[i].used ? l->nodes[i].extent_n : 0;
    }
    for (uint32_t n = 0; n <= DEVICES_PER_NODE_MAX; n++) {
        owned += (uint64_t)n * l->free_extent_n[n];
    }
    return owned == l->state_n ? NULL : "device states are lost or owned twice";
}

/* Every model that is kept is that of some device. */
static const char *check_models(const struct ledger *l)
{
    uint32_t count = intern_count(l->models), used = 0;
    bool *seen = xcalloc(count + 1, sizeof(*seen));
    bool known = true;

    for (uint32_t i = 0; i < l->node_n; i++) {
        for (uint32_t k = 0; l->nodes[i].used && k < l->nodes[i].device_n; k++) {
            uint16_t model = l->nodes[i].devices[k].model_id;

            known = known && model < count;
            used += known && !seen[model];
            seen[known ? model : count] = true;
        }
    }
    free(seen);
    return known && used == intern_used(l->models) ? NULL : "a model is kept that no device has, or is not kept";
}

static const char *check_node_counts(const struct ledger *l)
{
    uint32_t used = 0, described = 0, unroomed = 0;

    for (uint32_t i = 0; i < l->node_n; i++) {
        used += l->nodes[i].used;
        described += l->nodes[i].used && l->nodes[i].described;
        unroomed += l->nodes[i].used && l->nodes[i].unroomed;
    }
    return used == l->node_used_n && used <= l->limits.nodes_max && l->node_index.used_n == used &&
                   described == l->described_n && unroomed == l->unroomed_n
               ? NULL
               : "the number of nodes is wrong";
}

/* ---- cores and memory ---- */

static bool same_sum(const struct host_sum *a, const struct host_sum *b)
{
    return a->cpu_milli == b->cpu_milli && a->mem_mib == b->mem_mib;
}

static const char *check_host_of_node(const struct ledger *l, uint32_t node, const struct cpu_only_sum *counted)
{
    const struct node_entry *n = &l->nodes[node];
    const struct host_state *h = &l->rows[node].host;
    struct host_sum asked = {0};
    struct host_state left;

    for (uint32_t i = 0; i < n->pod_n; i++) {
        host_sum_add(&asked, l->pods[n->pods[i]].demand->host);
    }
    if (counted->pod_n != n->cpu_only_n || counted->uncounted_n != n->cpu_only_uncounted_n ||
        !same_sum(&counted->host, &n->cpu_only_host) || !same_sum(&asked, &n->host_asked)) {
        return "what the pods of a node ask of it is not the sum of what each asks";
    }
    left = ledger_host_left(n, &asked);
    if (h->cpu_cap_milli != left.cpu_cap_milli || h->cpu_free_milli != left.cpu_free_milli ||
        h->mem_cap_mib != left.mem_cap_mib || h->mem_free_mib != left.mem_free_mib) {
        return "cores and memory left are not what the node has less what its pods ask for";
    }
    if (ledger_is_synced(l) && ledger_node_has_gpus(l, node) && n->cpu_only_uncounted_n > 0) {
        return "a pod without GPUs on a node with GPUs is not in the demand histogram";
    }
    return NULL;
}

static const char *check_host(const struct ledger *l)
{
    struct cpu_only_sum *counted = xcalloc((size_t)l->node_n + 1, sizeof(*counted));
    const char *why = ledger_check_cpu_only(l, counted);

    for (uint32_t i = 0; i < l->node_n && why == NULL; i++) {
        why = l->nodes[i].used ? check_host_of_node(l, i, &counted[i]) : NULL;
    }
    free(counted);
    return why;
}

/* ---- in parts ---- */

enum { PODS_A_PART = 512, NODES_A_PART = 32 };

static const char *next_pods(const struct ledger *l, struct ledger_checking *c, bool *ret_over)
{
    const char *why = NULL;

    for (uint32_t end = c->at + PODS_A_PART; c->at < end && c->at < l->pod_n && why == NULL; c->at++) {
        why = l->pods[c->at].used ? check_pod(l, c->at) : NULL;
    }
    *ret_over = c->at >= l->pod_n;
    return why;
}

static const char *next_nodes(const struct ledger *l, struct ledger_checking *c, bool *ret_over)
{
    const char *why = NULL;

    for (uint32_t end = c->at + NODES_A_PART; c->at < end && c->at < l->node_n && why == NULL; c->at++) {
        why = l->nodes[c->at].used ? check_node(l, c->at) : NULL;
        if (why == NULL && c->at < l->node_used_n) {
            why = ledger_order_check(l, c->at);
        }
    }
    *ret_over = c->at >= l->node_n;
    return why;
}

bool ledger_check_some(const struct ledger *l, struct ledger_checking *c, const char **ret_why)
{
    static const char *(*const wholes[])(const struct ledger *l) = {
        check_pod_counts, check_node_counts,    check_extents,           check_models,
        check_host,       ledger_check_tenancy, ledger_check_turned_away};
    enum { PODS, NODES, WHOLES, OVER = WHOLES + sizeof(wholes) / sizeof(wholes[0]) };
    bool over = true;

    if (c->phase == OVER) {
        return false;
    }
    *ret_why = c->phase == PODS    ? next_pods(l, c, &over)
               : c->phase == NODES ? next_nodes(l, c, &over)
                                   : wholes[c->phase - WHOLES](l);
    if (over) {
        c->phase++;
        c->at = 0;
    }
    return *ret_why == NULL;
}

const char *ledger_check(const struct ledger *l)
{
    struct ledger_checking c = {0};
    const char *why = NULL;

    while (ledger_check_some(l, &c, &why)) {
    }
    return why;
}
