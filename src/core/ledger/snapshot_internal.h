/* core/ledger/snapshot_internal.h - copying nodes and pods out of the ledger, shared by snapshot.c, snapshot_nodes.c
 * and snapshot_iterator.c only. */
#ifndef CORE_LEDGER_SNAPSHOT_INTERNAL_H
#define CORE_LEDGER_SNAPSHOT_INTERNAL_H

#include "core/ledger/snapshot.h"
#include "core/ledger/state.h"

/* Where copies go. An arena that overflows is seen by its flag once all is done. */
struct snapshot_taker {
    const struct ledger *l;
    struct arena *a;
    struct str namespace_;     /* only its pods; empty: all */
    struct str node_name;      /* copied: of the node that is being taken */
    struct snapshot_pod *pods; /* has room for every pod that is taken */
    size_t pod_n;
};

/* Is the pod of the wanted namespace? */
bool snapshot_wants(const struct snapshot_taker *t, const struct pod_entry *p);
/* Appends one pod. */
void snapshot_take_pod(struct snapshot_taker *t, const struct pod_entry *p);
/* Is the node part of what people see? Others have pods without GPUs and nothing else. */
bool snapshot_shows_node(const struct ledger *l, uint32_t node);
/* One node; appends the wanted pods attached to it. */
void snapshot_take_node(struct snapshot_taker *t, uint32_t node, struct snapshot_node *ret);

#endif
