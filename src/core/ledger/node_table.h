/* core/ledger/node_table.h - what the ledger keeps of a node beside its numbers, and the table of nodes.
 *
 * Their numbers (struct node_state) stand in an array of their own, as do their names; all three have the same index.
 */
#ifndef CORE_LEDGER_NODE_TABLE_H
#define CORE_LEDGER_NODE_TABLE_H

#include "core/inventory/inventory.h"
#include "core/ledger/host_sums.h"
#include "core/ledger/ledger.h"
#include "core/request/toleration.h"
#include "core/tenancy/tenancy.h"

struct ledger_device;

struct node_entry {
    bool used;
    bool described;
    bool schedulable;
    bool closed;
    bool recomputed;     /* in this op */
    bool unroomed;       /* its inventory was left out for want of room */
    bool shut;           /* takes nothing: pods that may be here were turned away (turned_away.h) */
    uint32_t shut_epoch; /* pod_epoch when that was last said */
    enum inventory_source source;
    const char *note;
    const char *slices_note;    /* why ResourceSlices take its devices away from us; NULL: they do not */
    bool slices_anywhere;       /* ledger.slices_anywhere is not NULL */
    bool elsewhere, unmeasured; /* of struct inventory */
    char *uid;
    int32_t overcommit_milli, overcommit_mem_milli; /* >= 1000 */
    enum memory_only_mode memory_only;
    enum qos qos; /* of struct inventory */
    enum lending lending;
    enum hand_off hand_off;
    enum gpu_vendor vendor;
    bool needs_agent;
    struct str host_group; /* shared; empty: none (host_group.h, with the next five) */
    int64_t group_mem_mib;
    uint32_t group_next, group_before; /* a ring of its nodes */
    uint32_t group_n;                  /* how many, at the one that ledger.host_groups has */
    bool group_overbooked;             /* by a reservation, which must never be */
    uint64_t rules;                    /* of the fact */
    uint64_t pools, pools_layout;      /* of the fact; kept when the node is gone, while pods are still on it, */
    bool unreadable;                   /* and when it cannot be read */
    struct taint *taints;              /* of the fact, those that keep pods off; one block */
    size_t taint_n;
    struct ledger_device *devices;
    uint32_t device_n;
    uint32_t extent_n; /* device states owned at rows[].first_device */
    uint32_t *pods;    /* indexes of the pods attached, in order of attachment */
    uint32_t pod_n;
    uint32_t pod_cap;
    uint32_t epoch;
    struct holding offered; /* counted in the tenancy */
    uint64_t touched;       /* generation of the last op about this node's own object */
    uint64_t gained;        /* ledger.version when it last became more, or its object was described anew */
    uint64_t shown_change;  /* generation of the last op that may have changed what is shown of it */
    struct host_capacity host;
    struct host_request host_taken; /* of struct ledger_node_fact */
    struct host_sum host_asked;     /* by the pods attached */
    struct host_sum cpu_only_host;  /* by the pods without GPUs */
    uint32_t cpu_only_n;            /* of these; */
    uint32_t cpu_only_uncounted_n;  /* that are not in the demand histogram */
};

/* A name that the table has given up, for readers that follow changes. */
#define NODES_LEFT_MAX 1024
struct node_left {
    struct str name; /* shared */
    uint64_t at;     /* generation */
};

/* Of struct node_state. */
static inline uint8_t ledger_hand_off_of(const struct inventory *inv)
{
    return (uint8_t)(inv->hand_off_unfit ? HAND_OFF__MAX : inv->hand_off);
}

/* Does another system hand its devices out, whoever said so? */
static inline bool ledger_is_elsewhere(const struct node_entry *n)
{
    return n->elsewhere || n->slices_note != NULL || n->slices_anywhere;
}

/* What people are told about the node, NULL: nothing. Why it takes nothing, or no shares, outweighs what is odd about
 * its GPUs. */
const char *ledger_note_of(const struct ledger *l, const struct node_entry *n);

/* ---- places (lookup.c, node_table.c) ---- */

uint32_t ledger_node_find(const struct ledger *l, struct str name); /* LEDGER_NONE */
uint32_t ledger_node_add(struct ledger *l, struct str name);        /* LEDGER_NONE at a bound */
/* The same for a name that a pod says: nodes that nobody has described take at most half of the table, whoever names
 * them, so that the other half is for those that exist. */
uint32_t ledger_node_named(struct ledger *l, struct str name);
bool ledger_node_has_room(const struct ledger *l, struct str name); /* would that find, or make, one? */
/* What the node owns; its slot is not given back. */
void ledger_node_free(struct ledger *l, uint32_t node);
/* Forgets the node if nothing is known of it and no pod is attached. */
void ledger_node_drop_if_empty(struct ledger *l, uint32_t node);

/* ---- the order of names (order.c): node_state.name_order and by_name ---- */

void ledger_order_add(struct ledger *l, uint32_t node);              /* which has its name, and is not counted yet */
void ledger_order_remove(struct ledger *l, uint32_t node);           /* the same, turned round: still counted */
const char *ledger_order_check(const struct ledger *l, uint32_t at); /* one place of by_name */

/* ---- what is said of nodes (nodes.c, slices.c) ---- */

/* Does the row say of the node's device plugin what the inventory says? */
bool ledger_same_plugin(const struct node_state *row, const struct inventory *inv);
int ledger_node_described(struct ledger *l, const struct ledger_node_fact *f, struct err *reterr);
void ledger_node_gone(struct ledger *l, uint32_t node);
int ledger_node_slices(struct ledger *l, struct str name, const char *note, struct err *reterr);

#endif
