/* Nodes that share physical GPUs: the groups, and which devices others leave no room for. */
#include "core/ledger/host_group.h"

#include "base/bug.h"
#include "core/ledger/change.h"
#include "core/ledger/device_table.h"
#include "core/ledger/node_table.h"
#include "core/ledger/overcommit.h"
#include "core/ledger/snapshot_iterators.h"
#include "core/ledger/state.h"

#include <string.h>

/* ---- groups ---- */

static bool is_of_group(const void *owner, uint32_t value, const void *key)
{
    const struct ledger *l = owner;

    return str_eq(l->nodes[value].host_group, *(const struct str *)key);
}

static uint64_t hash_of(const struct ledger *l, struct str group)
{
    return hash_name(l->limits.hash_key, group);
}

static uint32_t some_member(const struct ledger *l, struct str group)
{
    return hashmap_find(&l->host_groups, hash_of(l, group), is_of_group, l, &group);
}

static uint32_t member_count(const struct ledger *l, struct str group)
{
    return l->nodes[some_member(l, group)].group_n;
}

/* Then nobody looks at what its nodes hold, and none of them takes anything. */
static bool is_overfull(const struct ledger *l, const struct node_entry *n)
{
    return n->host_group.n > 0 && member_count(l, n->host_group) > HOST_GROUP_NODES_MAX;
}

/* Of a node that has others beside it in the ring. */
static void unlink_from_ring(struct ledger *l, uint32_t node)
{
    const struct node_entry *n = &l->nodes[node];

    l->nodes[n->group_next].group_before = n->group_before;
    l->nodes[n->group_before].group_next = n->group_next;
    ledger_overcommit_note(l, n->group_next); /* those that stay may have more room */
}

void ledger_host_group_leave(struct ledger *l, uint32_t node)
{
    struct node_entry *n = &l->nodes[node];

    if (n->host_group.n > 0) {
        const uint64_t hash = hash_of(l, n->host_group);
        const uint32_t left_n = member_count(l, n->host_group) - 1;

        if (some_member(l, n->host_group) == node) {
            hashmap_remove(&l->host_groups, hash, node);
            if (left_n > 0) {
                hashmap_insert(&l->host_groups, hash, n->group_next);
            }
        }
        if (left_n > 0) {
            unlink_from_ring(l, node);
            l->nodes[some_member(l, n->host_group)].group_n = left_n;
        }
    }
    shared_text_drop(n->host_group);
    n->host_group = STR_NULL;
    n->group_mem_mib = 0;
}

static void join(struct ledger *l, uint32_t node, struct str group)
{
    struct node_entry *n = &l->nodes[node];
    const uint32_t first = some_member(l, group);

    n->host_group = shared_text_new(group);
    if (first == HASHMAP_NONE) {
        n->group_next = n->group_before = node;
        n->group_n = 1;
        hashmap_insert(&l->host_groups, hash_of(l, group), node);
    } else {
        n->group_next = first;
        n->group_before = l->nodes[first].group_before;
        l->nodes[n->group_before].group_next = node;
        l->nodes[first].group_before = node;
        l->nodes[first].group_n++;
    }
}

void ledger_host_group_set(struct ledger *l, uint32_t node, struct str group, int64_t mem_mib)
{
    struct node_entry *n = &l->nodes[node];

    if (!str_eq(n->host_group, group)) {
        ledger_host_group_leave(l, node);
        if (group.n > 0) {
            join(l, node, group);
        }
    }
    n->group_mem_mib = mem_mib;
}

/* ---- physical GPUs ---- */

/* Index of the GPU that the device is, or is cut from; -1: nobody knows, so it could be any. */
static int32_t gpu_of(const struct ledger_device *d)
{
    return d->profile != 0 && d->profile != DEVICE_IN_MIG_MODE ? d->gpu_index : d->ref.index;
}

/* How many GPUs the node sees, by the highest index. */
static int32_t gpu_count(const struct node_entry *n)
{
    int32_t last = -1;

    for (uint32_t i = 0; i < n->device_n; i++) {
        last = gpu_of(&n->devices[i]) > last ? gpu_of(&n->devices[i]) : last;
    }
    return last + 1;
}

static bool is_held(const struct node_state *row, const struct device_state *s)
{
    return (s->flags & DEVICE_IN_USE) != 0 || row->plugin_managed_used > 0;
}

/* Pods of a node without devices hold nobody knows what. */
static bool holds_anything(const struct node_entry *n, const struct node_state *row)
{
    return n->device_n == 0 && (n->pod_n > 0 || row->plugin_managed_used > 0);
}

/* Of one physical GPU: its memory, and what devices take of it. */
struct gpu {
    const struct ledger_device *d; /* any device that is a part of it, */
    int32_t count;                 /* on a node with so many GPUs */
    int64_t mem_mib;
    int64_t others_mib, own_mib, own_held_mib;
};

/* Is this device, of a node with `count` GPUs, a part of it? Rather too often. An index counts where both nodes see as
 * many GPUs: the only GPU of a machine may be any of those of its host. */
static bool is_of_gpu(const struct gpu *g, int32_t count, const struct ledger_device *d)
{
    return (g->d->ref.uuid_hash != 0 && g->d->ref.uuid_hash == d->ref.uuid_hash) || g->count != count ||
           gpu_of(g->d) == gpu_of(d) || gpu_of(g->d) < 0 || gpu_of(d) < 0;
}

static void see_size(struct gpu *g, const struct node_entry *n)
{
    const int32_t count = gpu_count(n);

    for (uint32_t i = 0; i < n->device_n; i++) {
        const struct ledger_device *d = &n->devices[i];

        if (is_of_gpu(g, count, d) && d->mem_mib > g->mem_mib) {
            g->mem_mib = d->mem_mib;
        }
    }
}

/* What the nodes say, the smallest, or the largest device. */
static void find_size(const struct ledger *l, uint32_t node, struct gpu *g)
{
    uint32_t i = node;
    int64_t said = 0;

    do {
        const struct node_entry *n = &l->nodes[i];

        if (n->group_mem_mib > 0 && (said == 0 || n->group_mem_mib < said)) {
            said = n->group_mem_mib;
        }
        see_size(g, n);
        i = n->group_next;
    } while (i != node);
    g->mem_mib = said > 0 ? said : g->mem_mib;
    g->mem_mib = g->mem_mib > 0 ? g->mem_mib : 1; /* nobody knows: one device at a time */
}

static int64_t part_of(const struct gpu *g, const struct ledger_device *d)
{
    return d->mem_mib > 0 && d->mem_mib < g->mem_mib ? d->mem_mib : g->mem_mib;
}

static int64_t sum_held(const struct gpu *g, const struct node_entry *n, const struct node_state *row,
                        const struct device_state *states, bool held_only)
{
    const int32_t count = gpu_count(n);
    int64_t sum = 0;

    for (uint32_t i = 0; i < n->device_n; i++) {
        const struct ledger_device *d = &n->devices[i];

        if (d->profile != DEVICE_IN_MIG_MODE && is_of_gpu(g, count, d) && (!held_only || is_held(row, &states[i]))) {
            sum += part_of(g, d);
        }
    }
    return sum + (holds_anything(n, row) ? g->mem_mib : 0);
}

static struct gpu look_at(const struct ledger *l, uint32_t node, const struct node_state *row,
                          const struct device_state *states, const struct ledger_device *d)
{
    const struct node_entry *n = &l->nodes[node];
    struct gpu g = {.d = d, .count = gpu_count(n)};

    find_size(l, node, &g);
    g.own_mib = sum_held(&g, n, row, states, false);
    g.own_held_mib = sum_held(&g, n, row, states, true);
    for (uint32_t i = n->group_next; i != node; i = l->nodes[i].group_next) {
        g.others_mib += sum_held(&g, &l->nodes[i], &l->rows[i], &l->states[l->rows[i].first_device], true);
    }
    return g;
}

/* A device that nobody holds takes all of its own part with it: a pod may take several devices at once. */
static bool is_taken(const struct gpu *g, bool held)
{
    return g->others_mib > 0 && g->others_mib + (held ? g->own_held_mib : g->own_mib) > g->mem_mib;
}

static bool anybody_else_holds(const struct ledger *l, uint32_t node)
{
    bool holds = false;

    for (uint32_t i = l->nodes[node].group_next; i != node && !holds; i = l->nodes[i].group_next) {
        holds = l->nodes[i].pod_n > 0;
    }
    return holds;
}

void ledger_host_group_mark(const struct ledger *l, uint32_t node, struct node_state *row, struct device_state *states)
{
    const struct node_entry *n = &l->nodes[node];

    const bool overfull = is_overfull(l, n);

    row->group_taken = overfull;
    row->not_covered = n->host_group.n > 0 && l->limits.refuses_host_groups;
    if (n->host_group.n == 0) {
        return;
    }
    if (!overfull && n->device_n == 0) {
        row->group_taken = anybody_else_holds(l, node);
    }
    for (uint32_t i = 0; i < n->device_n; i++) {
        bool taken = overfull;

        if (!taken && states[i].profile != DEVICE_IN_MIG_MODE) {
            const struct gpu g = look_at(l, node, row, states, &n->devices[i]);

            taken = is_taken(&g, is_held(row, &states[i]));
        }
        states[i].flags &= (uint16_t)~DEVICE_GROUP_TAKEN;
        states[i].flags |= taken ? DEVICE_GROUP_TAKEN : 0;
        row->group_taken = row->group_taken || taken;
    }
}

/* ---- at the end of an op ---- */

/* The numbers as they should be, in `ret_row` and `ret_states`; false: as they are. */
static bool differs(const struct ledger *l, uint32_t node, struct node_state *ret_row, struct device_state *ret_states)
{
    const struct node_state *row = &l->rows[node];
    bool other;

    *ret_row = *row;
    memcpy(ret_states, &l->states[row->first_device], row->device_n * sizeof(*ret_states));
    ledger_host_group_mark(l, node, ret_row, ret_states);
    other = ret_row->group_taken != row->group_taken;
    for (uint32_t i = 0; i < row->device_n && !other; i++) {
        other = ret_states[i].flags != l->states[row->first_device + i].flags;
    }
    return other;
}

static void follow(struct ledger *l, uint32_t node)
{
    struct device_state states[DEVICES_PER_NODE_MAX];
    struct node_state row;

    if (differs(l, node, &row, states)) {
        ledger_iterators_node_changes(l, node);
        ledger_change_begin(l, node);
        row.version = ledger_next_version(l, node);
        l->rows[node] = row;
        memcpy(&l->states[row.first_device], states, row.device_n * sizeof(*states));
    }
}

void ledger_host_groups_follow(struct ledger *l)
{
    for (uint32_t k = 0; k < l->recomputed_n; k++) {
        const uint32_t first = l->recomputed[k];
        const struct node_entry *n = &l->nodes[first];

        /* Beyond one too many, whoever was there before is closed already. */
        if (!n->used || n->host_group.n == 0 || member_count(l, n->host_group) > HOST_GROUP_NODES_MAX + 1) {
            continue;
        }
        for (uint32_t i = n->group_next;; i = l->nodes[i].group_next) {
            follow(l, i);
            if (i == first) {
                break;
            }
        }
    }
}

const char *ledger_host_group_check(const struct ledger *l, uint32_t node)
{
    const struct node_entry *n = &l->nodes[node];
    struct device_state states[DEVICES_PER_NODE_MAX];
    struct node_state row;

    if (n->host_group.n > 0 &&
        (l->nodes[n->group_next].group_before != node || !str_eq(l->nodes[n->group_next].host_group, n->host_group) ||
         some_member(l, n->host_group) == HASHMAP_NONE)) {
        return "a node is not in its host group";
    }
    if (n->group_overbooked) {
        return "a reservation took more of a physical GPU than its host has";
    }
    return differs(l, node, &row, states) ? "what other nodes leave of a physical GPU is not what they do not hold"
                                          : NULL;
}
