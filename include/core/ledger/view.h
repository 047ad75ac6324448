/* core/ledger/view.h - what one decision reads of the ledger.
 *
 * A view is borrowed: it points into the ledger and is valid until the next op, so it lives as long as the caller keeps
 * the ledger from changing (extender/store.c: one short section under the lock).
 *
 * A view is made for one demand: devices that are out of bounds for it because of a UUID list or because of isolation
 * carry flags in what ledger_view_devices() gives; models are checked through `allowed_models`.
 */
#ifndef CORE_LEDGER_VIEW_H
#define CORE_LEDGER_VIEW_H

#include "base/arena.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/str.h"
#include "core/fit/device_state.h"
#include "core/ledger/ledger.h"
#include "core/request/demand.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* A pending pod that kube-scheduler has promised a node, because it evicts others there or has just chosen it
 * (status.nominatedNodeName). Nobody of lower priority may take its room (contract.md R24). */
struct view_nomination {
    uint32_t node; /* index into nodes */
    const struct demand *demand;
    struct node_state row; /* the node once its terminating pods are gone */
    const struct device_state *devices;
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

/* What is asked of each of thousands of nodes first, side by side: copies of what is elsewhere in the ledger. A free
 * place is all zero. */
struct node_brief {
    uint32_t name_at, name_n; /* the bytes of its name, in name_text of the view */
    uint64_t version;         /* of struct node_state, as the next one */
    uint32_t name_order;
};

struct ledger_view {
    uint64_t generation;
    uint64_t names_version; /* equal: an index of a node still means the same node */
    uint64_t version;       /* the last one that a node's numbers were given: a later change has a greater one */
    const struct ledger *ledger;
    const struct node_state *nodes;
    const struct str *names;
    const struct node_brief
        *briefs; /* of the ledger's nodes; NULL in a view that is no ledger's, which knows no names */
    const char *name_text;
    uint32_t node_n;
    const struct device_state *devices;
    const uint8_t *allowed_models;             /* by model_id; NULL: every model is allowed */
    const struct view_nomination *nominations; /* of other pods with at least the priority of this one */
    size_t nomination_n;
    struct view_pod pod;
    bool flags_devices;             /* some device may get a flag for this demand */
    struct holding tenant_residual; /* of the pod's tenant */
    bool limits_tenant;             /* some placement may be too much for it */
    bool slack_matters;             /* between nodes: core/fit/slack.h */
    bool isolates;                  /* it may depend on other pods, not only on the node's own numbers */
};

/* Borrows what `pod` points at. ERR_LIMIT when the arena is full. */
WARN_UNUSED int ledger_view(const struct ledger *l, struct arena *a, const struct view_pod *pod,
                            struct ledger_view *ret, struct err *reterr);

/* The same without nominations, which cost a pass over the pods: for a look at single nodes. */
WARN_UNUSED int ledger_view_unnominated(const struct ledger *l, struct arena *a, const struct view_pod *pod,
                                        struct ledger_view *ret, struct err *reterr);

/* The place of a node in `nodes`, LEDGER_VIEW_NONE when the ledger has not seen it. */
#define LEDGER_VIEW_NONE UINT32_MAX
uint32_t ledger_view_index(const struct ledger_view *v, const struct str *node_name);
const struct node_state *ledger_view_find(const struct ledger_view *v, struct str node_name); /* NULL: not seen */

/* Has the node of this brief that name? A free place has none. Compared without a call unless it is very short. */
static inline bool ledger_view_is_named(const struct ledger_view *v, const struct node_brief *brief,
                                        const struct str *name)
{
    const char *a = name->p, *b = v->name_text + brief->name_at;
    const size_t n = name->n;

    if (n != brief->name_n || n == 0) {
        return false;
    }
    if (n < 8) {
        return memcmp(a, b, n) == 0;
    }
    for (size_t i = 0; n - i > 16; i += 8) {
        if (hash_load(a + i) != hash_load(b + i)) {
            return false;
        }
    }
    /* of 8 to 16 that are left two words, which may overlap */
    const size_t last = n > 16 ? n - 16 : 0;

    return hash_load(a + last) == hash_load(b + last) && hash_load(a + n - 8) == hash_load(b + n - 8);
}

/* The same, with a guess that is tried first, and LEDGER_VIEW_NEAR behind it. Callers tend to name nodes in the order
 * in which they, and we, were told of them, less those that somebody has ruled out. */
#define LEDGER_VIEW_NEAR 3
uint32_t ledger_view_index_from(const struct ledger_view *v, const struct str *node_name, uint32_t guess);

/* The same, quickly when the guess is right. */
static inline uint32_t ledger_view_index_near(const struct ledger_view *v, const struct str *node_name, uint32_t guess)
{
    if (guess < v->node_n && ledger_view_is_named(v, &v->briefs[guess], node_name)) {
        return guess;
    }
    return ledger_view_index_from(v, node_name, guess + 1);
}

/* For names in an order that is not ours: ret[i] is a guess where names[i] is, right unless two hashes are equal, or
 * LEDGER_VIEW_NONE. What looking there will need is on its way from memory then. At most LEDGER_VIEW_GUESSES names. */
#define LEDGER_VIEW_GUESSES 16
void ledger_view_guess(const struct ledger_view *v, const struct str *names, size_t n, uint32_t *ret);

/* Is some pod of the view's nominations promised this node? */
bool ledger_view_is_nominated(const struct ledger_view *v, uint32_t node);

/* Bits of the packing rules that select the node (core/placement/plan.h). */
uint64_t ledger_view_rules(const struct ledger_view *v, uint32_t node);

/* The node's devices with the flags for this demand: the ledger's own, or a copy in `buffer`. */
const struct device_state *ledger_view_devices(const struct ledger_view *v, const struct node_state *n,
                                               struct device_state buffer[DEVICES_PER_NODE_MAX]);

#endif
