/* core/ledger/state.h - the layout of the ledger.
 *
 * Tables of nodes, pods, devices, pods without GPUs and incidents; rows[i], names[i] and nodes[i] describe the same
 * node.
 *
 * Flow of every change: facts are stored, pods attached to or detached from nodes, then ledger_recompute()
 * derives the node's numbers from its inventory and its pods.
 */
#ifndef CORE_LEDGER_STATE_H
#define CORE_LEDGER_STATE_H

#include "base/hashmap.h"
#include "base/intern.h"
#include "base/shared_text.h"
#include "core/ledger/change.h"
#include "core/ledger/device_table.h"
#include "core/ledger/incident_table.h"
#include "core/ledger/ledger.h"
#include "core/ledger/node_briefs.h"
#include "core/ledger/cpu_only_pods.h"
#include "core/ledger/node_table.h"
#include "core/ledger/pod_table.h"
#include "core/ledger/turned_away.h"
#include "core/tenancy/tenancy.h"

struct ledger {
    struct ledger_limits limits;
    struct intern *models;
    uint64_t generation;
    uint64_t capacity_generation;
    uint64_t version;                  /* the last one given to a node's numbers, by ledger_next_version() */
    uint32_t changed[CLUSTER_CHANGES]; /* of struct cluster_view */
    uint64_t gpus_version;  /* changes with the memory of GPUs, and with what is taken of their compute for it */
    uint64_t names_version; /* changes when a node comes or goes, so that an index means another name */

    struct node_entry *nodes;
    struct node_state *rows;
    struct str *names; /* shared texts */
    struct node_briefs briefs;
    uint32_t *by_name; /* the node_used_n nodes, smallest name first */
    uint32_t node_n;   /* slots in use or free, below node_cap */
    uint32_t node_cap;
    uint32_t node_used_n;
    uint32_t described_n, unroomed_n, shut_n; /* of these */
    uint32_t *free_nodes;
    uint32_t free_node_n;
    struct hashmap node_index;
    struct hashmap host_groups;  /* one node of each */
    const char *slices_anywhere; /* LEDGER_SLICES of no node in particular; NULL: none */

    struct device_state *states;
    uint32_t state_n;
    uint32_t state_cap;
    uint32_t *free_extents[DEVICES_PER_NODE_MAX + 1]; /* by length: first states of freed extents */
    uint32_t free_extent_n[DEVICES_PER_NODE_MAX + 1];
    uint32_t free_extent_cap[DEVICES_PER_NODE_MAX + 1];

    struct pod_entry *pods;
    uint32_t pod_n;
    uint32_t pod_cap;
    uint32_t pod_used_n;
    uint32_t pods_by_state[LEDGER_POD_STATE__MAX];
    uint32_t *free_pods;
    uint32_t free_pod_n;
    struct hashmap pod_index;
    struct turned_away turned_away;
    struct cpu_only_pods cpu_only;

    uint32_t *recomputed; /* nodes, in this op */
    uint32_t recomputed_n;
    uint32_t recomputed_cap;
    struct ledger_overcommit *overcommits; /* not taken yet */
    uint32_t overcommit_n;
    uint32_t overcommit_cap;
    struct incidents incidents;

    struct tenancy tenancy;
    struct holding largest; /* no GPU that any node ever had is larger */
    bool sliced;            /* some node had fixed slices */
    bool charges_more;      /* some node had devices that charge more than is asked for (model/qos.h; virtual GPUs) */

    uint32_t unverified_first, unverified_last; /* pods with provisional records, oldest first; LEDGER_NONE */

    uint32_t nominated_n; /* pending pods with a nominated node */
    uint32_t isolating_n; /* pods with an isolate-from selector, attached or not */

    struct snapshot_iterator *iterators; /* open */

    uint32_t pod_epoch;
    uint32_t node_epoch;
    struct demand_histogram *demand_histogram;

    bool texts_count; /* annotations of pods that are seen bound: in a first list */
    bool pods_synced;
    bool nodes_synced;

    uint64_t node_left_n;                       /* of all time; the last ones, in a ring: */
    struct node_left node_left[NODES_LEFT_MAX]; /* nodes whose names the table has given up */

    uint32_t before_n;                           /* last, because they are large and no decision reads them */
    struct node_before before[NODES_BEFORE_MAX]; /* of the nodes that this op changes */
};

/* For numbers of this node that are new, or gone: nobody else counts on. */
static inline uint64_t ledger_next_version(struct ledger *l, uint32_t node)
{
    l->version++;
    l->changed[l->version % CLUSTER_CHANGES] = node;
    l->briefs.briefs[node].version = l->version;
    return l->version;
}

/* Said by whoever makes room while an op is applied. */
static inline void ledger_capacity_grew(struct ledger *l)
{
    l->capacity_generation = l->generation + 1;
}

/* Where less may be more. A nomination that cannot be kept keeps nobody away any more, and a tenant's limit refuses the
 * placement that is chosen: then anything may lead to another choice, for which there is room. */
static inline bool ledger_less_may_be_more(const struct ledger *l)
{
    return l->nominated_n > 0 || l->tenancy.tenant_n > 0;
}

#endif
