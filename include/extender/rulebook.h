/* extender/rulebook.h - which policy the use cases go by, while it changes under them.
 *
 * A `struct rules` is one policy made ready for use: immutable and counted. A verb takes the
 * current rules once and goes by them to its end, second looks and retries included.
 *
 * A policy that only prefers otherwise (strategies, candidates) is current at once. One under which
 * pods or nodes mean something else (resource names, units, sizes, templates, reserve) is
 * *announced* first: both feeds list again and read what they see by the new rules, while verbs
 * still go by the old ones. Only when both lists are complete do the rules become current. So verbs
 * never search by rules under which the ledger has not counted everybody: a resource name that the
 * new rules know would else look free on a node where its pods have run for days.
 *
 * Facts are always read by the newest rules, announced or current; a feed takes new ones only where
 * a list begins, so that a complete list is read by one set of rules.
 *
 * Who announces must ask for the relists. Thread-safe; the lock is the book's own and is held for a
 * few assignments, but for rulebook_observe.
 */
#ifndef EXTENDER_RULEBOOK_H
#define EXTENDER_RULEBOOK_H

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
WARN_UNUSED int rules_new(const struct ingest *facts, uint64_t generation,
                          void (*release)(void *owner), void *owner, const struct rules **ret,
                          struct err *reterr);
void rules_put(const struct rules *r); /* NULL is fine */

struct rulebook;

/* Takes `first` over: current, and the one that facts are read by. */
struct rulebook *rulebook_new(const struct rules *first);
void rulebook_free(struct rulebook *b); /* NULL is fine */

/* The current rules; end with rules_put. */
const struct rules *rulebook_take(struct rulebook *b);
/* The newest rules, for reading a list; end with rules_put. */
const struct rules *rulebook_take_newest(struct rulebook *b);

/* Current from now on, and nothing is announced any more. Takes `next` over. Only for rules that
 * read facts like the newest ones. */
void rulebook_publish(struct rulebook *b, const struct rules *next);
/* Facts are read by `next` from now on; forgets what was announced before. Takes `next` over. */
void rulebook_announce(struct rulebook *b, const struct rules *next);
bool rulebook_is_waiting(struct rulebook *b); /* something is announced and not current yet */

enum rulebook_progress {
    RULEBOOK_IDLE,    /* nothing is announced */
    RULEBOOK_STALE,   /* the list was read by older rules: it must be read again */
    RULEBOOK_PARTIAL, /* the other resource is missing */
    RULEBOOK_CURRENT, /* that was the last one: the announced rules are current now */
};
/* A complete list of this resource was read by these rules. */
enum rulebook_progress rulebook_listed(struct rulebook *b, enum kube_resource resource,
                                       const struct rules *by);

/* ingest_pod() by the newest rules for an object that no list brought. No announcement comes
 * between choosing the rules and applying the fact, so the relist that follows one has the last
 * word. */
WARN_UNUSED int rulebook_observe(struct rulebook *b, struct arena *a, const struct pod *pod,
                                 struct err *reterr);

#endif
