/* core/ledger/mirror.h - the numbers of all nodes of a ledger, copied: for looking at them for longer than a decision
 * may take (what is shown about fragmentation, shadow strategies).
 *
 * Following is cheap: only nodes whose version has changed are copied again. A mirror follows one ledger all its life.
 * Names are its own while it shows them, whatever has become of their nodes.
 *
 * Lock: mirror_follow() and mirror_without() read the ledger, so they need its lock; all else needs none. Memory is
 * added by mirror_grow(), outside the lock. It owns its arrays.
 */
#ifndef CORE_LEDGER_MIRROR_H
#define CORE_LEDGER_MIRROR_H

#include "base/compiler.h"
#include "core/fit/device_state.h"
#include "core/ledger/ledger.h"

#include <stdbool.h>
#include <stdint.h>

/* Indexes of nodes are those of the ledger while names_version is the same. */
struct mirror {
    uint64_t generation;
    uint64_t names_version;
    uint32_t node_n;
    struct node_state *nodes; /* first_device: into `devices` */
    struct str *names;        /* shared; empty: the place is free */
    bool *open;               /* described, not cordoned, and takes pods */
    uint64_t *rules;          /* bits of the packing rules that select it (core/placement/plan.h) */
    uint32_t *pod_n;          /* pods on it, those without GPUs too */
    struct device_state *devices;
    uint32_t node_cap, device_cap;
    uint32_t node_want, device_want; /* after a `false` of mirror_follow() */
};

void mirror_init(struct mirror *m);
void mirror_fini(struct mirror *m);

/* Brings it up to date. False: there is no room; mirror_grow() first, which needs nobody's lock. */
WARN_UNUSED bool mirror_follow(struct mirror *m, const struct ledger *l);
void mirror_grow(struct mirror *m);

/* Takes the pod off the mirror, until the next mirror_follow(): its node gets the numbers that it would have without
 * the pod, and no version. Nothing happens when the ledger does not know the pod, or the pod holds nothing. */
void mirror_without(struct mirror *m, const struct ledger *l, struct str uid);

/* Of a node that the caller changes by himself (core/plan/head.h): until the next mirror_follow(), which brings it
 * back. */
static inline void mirror_changed(struct mirror *m, uint32_t node)
{
    m->nodes[node].version = 0;
}

static inline const struct device_state *mirror_devices(const struct mirror *m, uint32_t node)
{
    return m->devices + m->nodes[node].first_device;
}

#endif
