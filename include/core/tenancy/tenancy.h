/* core/tenancy/tenancy.h - what each namespace holds of all GPUs, and how much its tenant may hold.
 *
 * A tenant is a group of namespaces (struct tenant of model/policy.h); a namespace belongs to the first
 * tenant one of whose patterns matches it, or to none, and then nothing limits it.
 *
 * What a pod holds is what the ledger charges for it, reservations and pessimistic charges included. A
 * whole GPU of a plugin, which the ledger does not see by itself, counts as the largest GPU of its node
 * (tenancy_unit()). What there is in all are the capacities of the known nodes, over-commit factors
 * included; a limit in percent is of that, and moves with it.
 *
 * A limit refuses pods, it evicts none: a tenant may be above it after a change of the policy, when nodes
 * have left, or through pods bound past fgpu.
 *
 * Sums are kept, not computed: whoever changes what a pod holds says so. No lock: part of the ledger.
 */
#ifndef CORE_TENANCY_TENANCY_H
#define CORE_TENANCY_TENANCY_H

#include "base/hash.h"
#include "base/hashmap.h"
#include "base/str.h"
#include "core/fit/device_state.h"
#include "core/fit/placement.h"
#include "core/request/demand.h"
#include "model/policy.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Parts of GPUs, added up over devices. */
struct holding {
    int64_t milli;
    int64_t mem_mib;
};

#define TENANCY_NONE UINT32_MAX

/* A namespace that pods of the ledger live in. */
struct tenancy_space {
    char *name; /* NULL: free */
    struct str text;
    uint32_t pod_n;
    uint32_t holder_n; /* of these, pods that hold anything */
    uint32_t tenant;   /* TENANCY_NONE: of none */
    struct holding held;
};

struct tenancy_tenant {
    struct tenant limits; /* text and patterns are copies */
    struct holding held;  /* of its namespaces together */
    uint32_t holder_n;
    struct holding residual_before; /* when the op at hand first touched it */
    bool touched;
};

struct tenancy {
    struct hash_key hash_key;
    struct tenancy_tenant *tenants;
    uint32_t tenant_n;
    struct tenancy_space *spaces;
    uint32_t space_n; /* in use or free, below space_cap */
    uint32_t space_cap;
    uint32_t *free_spaces;
    uint32_t free_space_n;
    struct hashmap space_index;
    struct holding total;        /* what there is */
    struct holding total_before; /* at the end of the last op */
};

void tenancy_init(struct tenancy *t, struct hash_key hash_key);
void tenancy_fini(struct tenancy *t);

/* Other tenants from now on; copies. What is held stays. */
void tenancy_set(struct tenancy *t, const struct tenant *tenants, size_t n);

/* A pod of this namespace comes; the number stands for the namespace until it leaves again. */
uint32_t tenancy_enter(struct tenancy *t, struct str namespace_);
void tenancy_leave(struct tenancy *t, uint32_t space); /* it holds nothing any more */
/* A pod of the namespace held `before` and holds `now`. */
void tenancy_hold(struct tenancy *t, uint32_t space, struct holding before, struct holding now);
/* A node offered `before` and offers `now`. */
void tenancy_offer(struct tenancy *t, struct holding before, struct holding now);
/* At the end of an op: has a tenant more room than before it? Begins the next one. */
bool tenancy_follow(struct tenancy *t);

/* The tenant of a namespace, whether it has pods or not; TENANCY_NONE: nothing limits it. */
uint32_t tenancy_find(const struct tenancy *t, struct str namespace_);
/* The same from the patterns of the tenants, whatever is remembered of the namespace. */
uint32_t tenancy_match(const struct tenancy *t, struct str namespace_);
/* What the tenant may hold: INT64_MAX where nothing limits it. */
struct holding tenancy_limit(const struct tenancy *t, uint32_t tenant);
/* What it may hold beside what it holds; negative above the limit. Everything for TENANCY_NONE. */
struct holding tenancy_residual(const struct tenancy *t, uint32_t tenant);

/* Does it fit into what is left? What asks for nothing in a dimension may pass there. */
static inline bool holding_fits(struct holding wanted, struct holding residual)
{
    return (wanted.milli == 0 || wanted.milli <= residual.milli) &&
           (wanted.mem_mib == 0 || wanted.mem_mib <= residual.mem_mib);
}

/* What one whole GPU of a plugin counts for on a node with these devices. */
struct holding tenancy_unit(const struct device_state *devices, uint32_t device_n);
/* What n GPUs, replicas or units of the node's plugin count for: of replicas and units their part of a GPU. */
struct holding tenancy_plugin(const struct node_state *n, const struct device_state *devices, int32_t unit_n);
/* What a node offers. */
struct holding tenancy_node_total(const struct node_state *n, const struct device_state *devices);
/* What a pod with this placement will hold; equals the charges of the ledger once it is reserved. */
struct holding tenancy_wanted(const struct demand *d, const struct placement *at, const struct node_state *n,
                              const struct device_state *devices);
/* No placement on devices up to `largest` holds more: a cheap bound, far too high for pods whose
 * containers take turns. `may_be_all`: some node has virtual GPUs of a fixed profile, or divides GPUs evenly, and
 * charges more than is asked for. */
struct holding tenancy_wanted_at_most(const struct demand *d, struct holding largest, bool may_be_all);

#endif
