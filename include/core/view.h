/* core/view.h - a read-only copy of the ledger's hot numbers for one decision.
 *
 * Copied in one go (a few memcpy), then used without any lock: what lives behind it is either in the copy
 * or append-only for the life of the ledger (interned names). The copy belongs to the request's arena.
 *
 * A view is made for one demand: devices that are out of bounds for it because of a UUID list or because of
 * isolation carry flags; models are checked through `allowed_models`.
 */
#ifndef CORE_VIEW_H
#define CORE_VIEW_H

#include "base/arena.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/hashmap.h"
#include "base/str.h"
#include "core/demand.h"
#include "core/device_state.h"
#include "core/ledger.h"

#include <stdint.h>

/* A pending pod that kube-scheduler has promised a node, because it evicts others there or has just chosen it
 * (status.nominatedNodeName). Nobody of lower priority may take its room (contract.md R24). */
struct view_nomination {
    uint32_t node; /* index into nodes */
    const struct demand *demand;
    struct node_state row; /* the node once its terminating pods are gone */
    const struct device_state *devices;
};

struct ledger_view {
    uint64_t generation;
    const struct node_state *nodes;
    uint32_t node_n;
    const struct device_state *devices;
    uint32_t device_n;
    const uint8_t *allowed_models; /* by model_id; NULL: every model is allowed */
    struct hash_key hash_key;
    struct hashmap index;          /* node name -> index into nodes; read-only copy */
    const struct str *names;       /* node names by index into nodes; text is append-only */
    const struct view_nomination *nominations; /* of other pods with at least the priority of this one */
    size_t nomination_n;
};

/* The pod that asks. */
struct view_pod {
    struct str uid; /* left out of isolation checks and nominations: it does not stand in its own way */
    struct str namespace_;
    int32_t priority;
    const struct demand *demand;
    const uint64_t *label_hashes;
    size_t label_n;
};

/* ERR_LIMIT when the arena is full. */
WARN_UNUSED int ledger_view(const struct ledger *l, struct arena *a, const struct view_pod *pod,
                            struct ledger_view *ret, struct err *reterr);

/* NULL when the ledger has not seen the node. */
const struct node_state *ledger_view_find(const struct ledger_view *v, struct str node_name);

#endif
