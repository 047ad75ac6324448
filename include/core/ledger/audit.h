/* core/ledger/audit.h - does the ledger say what the API server says? One object at a time.
 *
 * The facts of a fresh list are ops like those of the watch. An op that would change the ledger is a difference; what
 * the rules of core/ledger/ledger.h forbid a fact to change (a forged record, a smaller charge) is none. So the
 * comparison knows no rule of its own: it applies the op to a copy of the one entry.
 *
 * A difference is not yet drift. List and watch are two readings at two times, so a difference may be an event on its
 * way, in either direction. `touched` tells them apart: it is the ledger's generation after the last op about the
 * object. An entry touched after the list was asked for may be newer than the list; an entry that stays untouched while
 * the difference lasts has missed something. Waiting and looking again are the caller's (extender/audit.h).
 *
 * A reservation is never a difference: its Binding decides. Pods without GPUs are not compared: nothing is decided by
 * them, and the next list puts them right.
 *
 * One comparison looks at one entry, so an audit can be cut into short sections. Lock: as the ledger.
 */
#ifndef CORE_LEDGER_AUDIT_H
#define CORE_LEDGER_AUDIT_H

#include "core/ledger/ledger.h"

/* The ways in which the ledger can be wrong; names are labels of a metric. */
enum ledger_drift {
    DRIFT_NONE,
    DRIFT_POD_MISSING,    /* exists and asks for GPUs; not in the ledger */
    DRIFT_POD_GONE,       /* in the ledger; the object is deleted */
    DRIFT_POD_FINISHED,   /* in the ledger; Succeeded or Failed */
    DRIFT_POD_NODE,       /* bound to another node */
    DRIFT_POD_UNBOUND,    /* bound in the ledger only: the cluster's state went back (a restored backup) */
    DRIFT_POD_STATE,      /* bound, which the ledger does not know, or not as it is */
    DRIFT_POD_ASSIGNMENT, /* other devices, or a contradiction that the ledger has not seen */
    DRIFT_POD_DEMAND,     /* other amounts or constraints */
    DRIFT_POD_DETAILS,    /* deletion mark, labels, priority, nomination, tolerations, other annotations */
    DRIFT_NODE_MISSING,
    DRIFT_NODE_GONE,
    DRIFT_NODE_INVENTORY,
    DRIFT_NODE_DETAILS, /* uid, schedulable, closed, source of the inventory, note, cores and memory, taints */
    DRIFT__MAX
};
const char *ledger_drift_name(enum ledger_drift d); /* "pod_missing" */

/* An empty ledger to work in, for ledger_drift(); its content means nothing afterwards. */
struct ledger *ledger_audit_scratch(const struct ledger *l);

/* What POD_OBSERVED, POD_GONE, NODE_DESCRIBED or NODE_GONE would find wrong. Changes nothing but `scratch`.
 * *ret_touched: of the entry; 0 when the ledger has none. */
enum ledger_drift ledger_drift(const struct ledger *l, struct ledger *scratch, const struct ledger_op *op,
                               uint64_t *ret_touched);

/* Applies the op that ledger_drift() found `drift` with. A pod that is not bound any more is forgotten first, because
 * no observation takes a charge away. Fails as ledger_apply() does. */
WARN_UNUSED int ledger_repair(struct ledger *l, const struct ledger_op *op, enum ledger_drift drift,
                              struct err *reterr);

/* What the ledger holds, for finding what a list does not have. Borrowed until the next op. */
struct ledger_audit_entry {
    struct str id;               /* a pod's UID, a node's name */
    struct str namespace_, name; /* of a pod */
    uint64_t touched;
};

/* Hands out entries from slot *at on, at most `max` slots, and moves *at behind them; false at the end. Reservations
 * are left out, and nodes that are known through their pods only. An entry keeps its slot while it lives, so one that
 * is there all the time is seen exactly once, whatever happens between two calls. */
bool ledger_audit_pods(const struct ledger *l, uint32_t *at, uint32_t max,
                       void (*fn)(void *ctx, const struct ledger_audit_entry *e), void *ctx);
bool ledger_audit_nodes(const struct ledger *l, uint32_t *at, uint32_t max,
                        void (*fn)(void *ctx, const struct ledger_audit_entry *e), void *ctx);

#endif
