/* extender/elsewhere.h - pods that were refused on a sample of the nodes while another node would take them.
 *
 * kube-scheduler looks at a part of a large cluster, by default, and asks fgpu about that part alone (contract.md
 * 2.10). If fgpu refuses all of it, the pod counts as unschedulable, also beside an empty node, and is tried again only
 * after some event. Its next attempt begins behind the last node that the attempt before, of any pod, has looked at. So
 * as long as there is a node that takes the pod and that it was not asked about, it is worth an event: the same PATCH
 * by which pods are woken when room appears (extender/requeue_trigger.h). About ceil(nodes / sample) + 1 attempts lead
 * to any node.
 *
 * But kube-scheduler also leaves out nodes that it refuses itself, for a selector, a port, cores or memory, and then no
 * attempt will name them. Each PATCH has every pod tried again that an extender has refused, so they must end:
 *
 * - *What was tried.* Of each pod those nodes are remembered that it was asked about, or that do not take it, until
 *   they gain something (ledger_node_gained_since()); what only takes room is no news. Only others are a reason. An
 *   attempt that has named no new node is the sign that the rest is not named at all; ELSEWHERE_STALE_MAX such attempts
 *   in a row, with growing pauses in between, and what is left counts as tried, too. So a ledger in which nothing gains
 *   leads to a bounded number of PATCHes, whatever kube-scheduler refuses.
 * - *What is spent.* Where nodes gain without end, a pod has 2 x ceil(nodes / sample) + ELSEWHERE_SPARE PATCHes of its
 *   own. Then it shares with all others of its kind one in ELSEWHERE_REFILL_MS, and while these lead to nothing, one
 *   after twice as long each time, up to ELSEWHERE_VAIN_PAUSE_MAX_MS. It is short again as soon as a pod that was woken
 *   is shown a new node, or nobody asks any more because they are bound. What nobody asks for is kept, as much as a pod
 *   has. All pods together share the pauses of requeue_trigger_elsewhere() as well.
 *
 * More than ELSEWHERE_PODS_MAX pods share one memory: what one was asked about, or what does not take it, is tried for
 * all of them. Then a small one may wait beside a node that a large one was refused for, until that gains something.
 *
 * Two pods that take turns can be shown the same nodes again and again: with ten samples to a cluster, each of the two
 * sees every other sample. So every other PATCH after attempts without a new node is followed by a second one without a
 * pause: whoever is tried between the two is tried once more, and the turns shift. That is no promise: where all pods
 * that take turns are let in on the same part of the cluster, each turn begins in that part.
 *
 * Nothing is done below ELSEWHERE_NAMES_MIN names: kube-scheduler never stops at fewer, so it has looked at all nodes.
 * (Unless another extender before fgpu has taken names away; then it must be told to look at all nodes, contract.md
 * R15.)
 *
 * The search is done by one thread, after the answer. Nothing of safety depends on it: it changes nothing but when
 * kube-scheduler asks. A restart forgets everything. Everything is thread-safe; the lock is a leaf.
 */
#ifndef EXTENDER_ELSEWHERE_H
#define EXTENDER_ELSEWHERE_H

#include "base/clock.h"
#include "base/compiler.h"
#include "base/err.h"
#include "base/log.h"
#include "extender/placement.h"
#include "extender/policy_set.h"
#include "extender/requeue_trigger.h"

#include <stdint.h>

#define ELSEWHERE_NAMES_MIN 100 /* kube-scheduler: minFeasibleNodesToFind */
#define ELSEWHERE_PODS_MAX 1024 /* that are remembered, each by itself */
#define ELSEWHERE_STALE_MAX 16
#define ELSEWHERE_STALE_PAUSE_MS                                                                                       \
    50 /* after the first attempt without a new node; doubled for each further one, up to: */
#define ELSEWHERE_REFILL_MS 10000
#define ELSEWHERE_VAIN_PAUSE_MAX_MS 300000 /* kube-scheduler tries every pod again after as long */
#define ELSEWHERE_SPARE 8

struct elsewhere;

/* Borrows everything. */
WARN_UNUSED int elsewhere_new(struct store *store, struct policy_set *policies, const struct clock *clock,
                              const struct log *log, struct requeue_trigger *trigger, struct elsewhere **ret,
                              struct err *reterr);
/* Ends the thread; before the trigger is freed. NULL is fine. */
void elsewhere_free(struct elsewhere *e);

/* Filter has answered FILTER_NONE_FITS. Copies what it needs; takes a few microseconds. NULL is fine. */
void elsewhere_refused(struct elsewhere *e, const struct filter_result *result);

struct elsewhere_counts {
    uint64_t searched_n; /* refused pods that were looked at */
    uint64_t woken_n;    /* of these there was a node, and a PATCH was asked for */
    uint64_t given_up_n; /* times that nodes were given up because kube-scheduler does not name them */
    uint64_t dropped_n;  /* that came faster than they could be looked at */
};
void elsewhere_counts(struct elsewhere *e, struct elsewhere_counts *ret);
/* Waits until everybody who was refused has been looked at: for tests. */
void elsewhere_drain(struct elsewhere *e);

#endif
