/* extender/policy_set.h - which policy the use cases go by, while it changes under them.
 *
 * A `struct rules` is one policy made ready for use: immutable and counted. A verb takes the
 * current rules once and goes by them to its end, second looks and retries included.
 *
 * A policy that only prefers otherwise (strategies, candidates) is current at once. One under which
 * pods or nodes mean something else (resource names, units, sizes, templates, reserve) is
 * *announced* first: both feeds list again and read what they see by the new rules, while verbs
 * still go by the old ones. Only when both lists are complete do the rules become current. So verbs
 * never search by rules under which the ledger has not counted everybody: a resource name that the
 * new rules know would else look free on a node where its pods have run for days. For the same reason bind refuses a
 * pod that asks for something else by the two (defect F148): what it reserves by is the ledger, which has read the pod
 * by the new ones. That is a transition of the store (extender/store.h): it begins before anything is read by the new
 * rules and ends after they have become current, and the store compares it where devices are chosen (decision 0110).
 *
 * Facts are always read by the newest rules, announced or current; a feed takes new ones only where
 * a list begins, so that a complete list is read by one set of rules.
 *
 * Who announces must ask for the relists. Thread-safe; the lock is the set's own and is held for a
 * few assignments, but for policy_set_observe.
 */
#ifndef EXTENDER_POLICY_SET_H
#define EXTENDER_POLICY_SET_H

#include "extender/ingest.h"
#include "extender/placement.h"
#include "kube/reflector.h"

#include <stdbool.h>

struct rules {
    struct placement_context placement;
    struct ingest ingest;
    uint64_t generation; /* the caller's number, for display */
    struct rules_count *count;
};

/* `release` is called with `owner` when nobody goes by the rules any more; it may be NULL. On
 * failure nothing was taken over. ERR_INVALID names an unknown strategy. */
WARN_UNUSED int rules_new(const struct ingest *facts, uint64_t generation, void (*release)(void *owner), void *owner,
                          const struct rules **ret, struct err *reterr);
void rules_put(const struct rules *r); /* NULL is fine */

struct policy_set;

/* Takes `first` over: current, and the one that facts are read by. All rules of a set are over one store, which it
 * borrows, and a store has one set. */
struct policy_set *policy_set_new(const struct rules *first);
void policy_set_free(struct policy_set *b); /* NULL is fine */

/* The current rules; end with rules_put. */
const struct rules *policy_set_take(struct policy_set *b);
/* The newest rules, for reading a list; end with rules_put. */
const struct rules *policy_set_take_newest(struct policy_set *b);

/* Current from now on, and nothing is announced any more. Takes `next` over. Only for rules that
 * read facts like the newest ones. */
void policy_set_publish(struct policy_set *b, const struct rules *next);
/* Facts are read by `next` from now on; forgets what was announced before. Takes `next` over. */
void policy_set_announce(struct policy_set *b, const struct rules *next);
bool policy_set_is_waiting(struct policy_set *b); /* something is announced and not current yet */

enum policy_set_progress {
    POLICY_SET_IDLE,    /* nothing is announced */
    POLICY_SET_STALE,   /* the list was read by older rules: it must be read again */
    POLICY_SET_PARTIAL, /* the other resource is missing */
    POLICY_SET_CURRENT, /* that was the last one: the announced rules are current now */
};
/* A complete list of this resource was read by these rules. */
enum policy_set_progress policy_set_listed(struct policy_set *b, enum kube_resource resource, const struct rules *by);

/* ingest_pod_read() by the newest rules for an object that no list brought. No announcement comes
 * between choosing the rules and applying the fact, so the relist that follows one has the last
 * word. */
WARN_UNUSED int policy_set_observe(struct policy_set *b, struct arena *a, const struct pod *pod, struct err *reterr);

#endif
