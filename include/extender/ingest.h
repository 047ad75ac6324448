/* extender/ingest.h - from objects of the API server to facts of the ledger.
 *
 * Interprets outside the lock (dialects, inventory), then applies one op. A pod or node that cannot be
 * interpreted is never dropped silently: nonsense in a request is a defect of that pod, nonsense in an
 * inventory a note on that node.
 */
#ifndef EXTENDER_INGEST_H
#define EXTENDER_INGEST_H

#include "base/arena.h"
#include "base/err.h"
#include "base/log.h"
#include "extender/store.h"
#include "kube/reflector.h"
#include "model/node.h"
#include "model/pod.h"
#include "model/policy.h"

struct events;
struct plan_nodes;
struct planner;
struct signing;
struct warn_limit;

struct ingest {
    struct store *store;
    const struct policy *policy;
    const struct log *log;
    struct events *events;             /* NULL: nobody is told */
    struct signing *signing;           /* the keys that records are judged by; NULL: signing is off */
    int64_t accept_unsigned_before_ms; /* extender/record.h */
    struct planner *planner;           /* of pods that wait; NULL: nobody plans ahead */
    struct plan_nodes *plan_nodes;     /* for it; NULL as well */
    struct warn_limit *warnings;       /* of what tenants write; NULL: all of them are logged */
};

/* What an object says, as an op of the ledger. Points into itself, the arena and the object: not to be
 * copied, nor used longer than those live. */
struct ingest_fact {
    struct ledger_op op;
    struct demand demand;
    struct assignment assignment;
    struct inventory inventory;
};

/* Interpreting only: what the functions below apply. Logs to in->log what it puts up with. A record that nobody may
 * believe before it is verified (ledger_must_verify) is verified here, in 0.1 ms. An object that is not `usable`, or
 * cannot be interpreted, is read as ingest_unusable() does. */
WARN_UNUSED int ingest_read(const struct ingest *in, struct arena *a, const struct kube_object *o, bool usable,
                            struct ingest_fact *ret, struct err *reterr);

/* `a` is scratch, reset by the caller between objects. A terminal pod counts as gone. */
WARN_UNUSED int ingest_pod(const struct ingest *in, struct arena *a, const struct pod *pod, struct err *reterr);
/* The same of a pod that was read by itself. The answer may be older than what lists and the watch have told meanwhile
 * (store_was_told): then it changes nothing, and a pod that they have told the end of does not come back. */
WARN_UNUSED int ingest_pod_read(const struct ingest *in, struct arena *a, const struct pod *pod, struct err *reterr);
WARN_UNUSED int ingest_node(const struct ingest *in, struct arena *a, const struct node *node, struct err *reterr);
/* One of the two. */
WARN_UNUSED int ingest_object(const struct ingest *in, struct arena *a, const struct kube_object *o,
                              struct err *reterr);
/* An object of which only the identity could be read (kube_salvage_pod). A bound pod counts as whole devices until it
 * can be read or is gone; a node offers nothing. ERR_INVALID without a UID or name. */
WARN_UNUSED int ingest_unusable(const struct ingest *in, const struct kube_object *o, struct err *reterr);
WARN_UNUSED int ingest_gone(const struct ingest *in, const struct kube_object *o, struct err *reterr);

#endif
