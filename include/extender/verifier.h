/* extender/verifier.h - verifies the signatures of records that were believed provisionally.
 *
 * A verification takes about 0.1 ms, so 50,000 of a first list take seconds: readiness does not wait for them. filter
 * believes a record whose signature names a known key; bind verifies those of its node before it sends anything; a
 * thread does the rest, and looks at the files of keys every VERIFIER_LOOK_MS. A pod has one such advance: what comes
 * after a record that was refuted, or waits, is verified by extender/ingest before the ledger hears of it.
 *
 * Everything is computed without the store's lock. A verdict is an op of the ledger, which ignores it if the pod has
 * another record by then.
 */
#ifndef EXTENDER_VERIFIER_H
#define EXTENDER_VERIFIER_H

#include "extender/policy_set.h"

#define VERIFIER_LOOK_MS 2000

/* Verifies every unverified record of the node (of all nodes, with an empty name). False: after several rounds there
 * were still some, because they keep coming; whoever needs certainty waits. Nothing to do with signing off. */
WARN_UNUSED bool verify_records(const struct ingest *in, struct str node_name);

struct verifier;

struct verifier_options {
    struct policy_set *policies;
    struct signing *signing;
    void (*keys_changed)(void *ctx); /* other records are believed from now on: all pods must be listed again */
    void *ctx;
};
WARN_UNUSED int verifier_start(const struct verifier_options *o, struct verifier **ret, struct err *reterr);
/* Looks at the files of keys now; from any thread. */
void verifier_look(struct verifier *v);
void verifier_stop(struct verifier *v); /* ends the thread and frees; NULL is fine */

#endif
