/* extender/requeue_trigger.h - pods that were refused are tried again when room appears.
 *
 * kube-scheduler tries a refused pod again after events of its own watch: a pod is gone, a node changed.
 * Its watch can be ahead of ours. Then it asks while our ledger still holds the old charge, we refuse, and
 * when our watch has caught up nobody asks again before some other event, or kube-scheduler's flush after
 * five minutes. The same holds for room that no object of the API shows, as after a refused Binding.
 *
 * So whenever room appears after a refusal, we cause an event: a PATCH of an annotation of one
 * CSIStorageCapacity of ours. kube-scheduler watches these objects and tries every pod that an extender
 * refused after a change of any of them (contract.md 9.2); nothing else looks at ours, its storage class does
 * not exist. The object comes with the manifests, and one role lets us patch that one object: no right over
 * nodes or pods is needed (decision 0014).
 *
 * At most one PATCH in REQUEUE_TRIGGER_PAUSE_MS; none while nobody was refused since the last. When it fails, the log
 * says so once, with the remedy, and it is tried again later; scheduling goes on as it would without.
 *
 * Where room is not new but was not among the nodes that kube-scheduler has sampled, extender/elsewhere.h asks for the
 * same PATCH. Several attempts may be needed then, so the first follow each other quickly: after each the pause is
 * longer, from REQUEUE_TRIGGER_ELSEWHERE_PAUSE_MS to REQUEUE_TRIGGER_PAUSE_MS. It is doubled after as many as lead
 * through the cluster twice, so that a search that goes as it should never waits long, and a quarter of that number is
 * forgiven for each REQUEUE_TRIGGER_PAUSE_MS that pass. Everybody who asks shares them: one PATCH is for all.
 * After a failure such a PATCH is sent again after REQUEUE_TRIGGER_ELSEWHERE_FAILED_MS, then after twice as long each
 * time: nobody else has the pod tried again.
 *
 * One thread; everything is thread-safe.
 */
#ifndef EXTENDER_REQUEUE_TRIGGER_H
#define EXTENDER_REQUEUE_TRIGGER_H

#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/str.h"
#include "extender/store.h"

#include <stdint.h>

#define REQUEUE_TRIGGER_PAUSE_MS 1000
#define REQUEUE_TRIGGER_FAILED_PAUSE_MAX_MS 60000
#define REQUEUE_TRIGGER_ELSEWHERE_PAUSE_MS 20
#define REQUEUE_TRIGGER_ELSEWHERE_FAILED_MS 250
/* So many PATCHes, and the pause is doubled: twice the samples of the cluster, within these. kube-scheduler's own
 * samples are a twentieth of it and more; who is shown less is kept from most nodes, and is no reason to hurry. */
#define REQUEUE_TRIGGER_ELSEWHERE_STEP_MIN 4
#define REQUEUE_TRIGGER_ELSEWHERE_STEP_MAX 40

struct requeue_trigger;
struct kube_client;

enum wake_result {
    WAKE_DONE,
    WAKE_FAILED,     /* perhaps the next one works */
    WAKE_IMPOSSIBLE, /* the object or the right to patch it is missing */
};

/* Starts one PATCH and returns; requeue_trigger_sent() follows exactly once, from any thread, also from inside. */
typedef void requeue_trigger_send_fn(void *ctx, struct requeue_trigger *w);

/* Borrows everything. Puts itself behind store_watch_capacity(). */
WARN_UNUSED int requeue_trigger_new(struct store *store, const struct clock *clock, const struct log *log,
                                    requeue_trigger_send_fn *send, void *send_ctx, struct requeue_trigger **ret,
                                    struct err *reterr);
/* No PATCH starts any more; the store calls nothing here any more. */
void requeue_trigger_stop(struct requeue_trigger *w); /* NULL is fine */
/* Everything sent must have been answered: free it after the API client. NULL is fine. */
void requeue_trigger_free(struct requeue_trigger *w);

/* Another process may have refused pods before this one began, and they wait as if we had done it. So the room that
 * the first list shows wakes too, once, as soon as the store is ready, so that somebody who asks is answered. */
void requeue_trigger_follows(struct requeue_trigger *w);

/* A pod was refused on a ledger of this generation, for want of room or because of what its nodes are: both may change
 * (kube-scheduler before 1.32 does not try again for every new node). */
void requeue_trigger_refused(struct requeue_trigger *w, uint64_t generation);

struct policy_set;
/* The same, by rules of this generation: those that are current by now may let the pod in, and whoever made them so may
 * have said requeue_trigger_capacity() already. */
void requeue_trigger_refused_by(struct requeue_trigger *w, uint64_t generation, struct policy_set *policies,
                                uint64_t rules_generation);

/* A pod was refused because rules of this generation can make nothing of its request: no room helps it, but other rules
 * may, such as those of a file in which its size stands. */
void requeue_trigger_malformed(struct requeue_trigger *w, struct policy_set *policies, uint64_t rules_generation);

/* Room appeared that no op of the ledger shows: another policy holds. */
void requeue_trigger_capacity(struct requeue_trigger *w); /* NULL is fine */

/* Not before `delay_ms` from now (0: as soon as may be): a pod was refused beside a node that takes it. `twice`: and
 * once more behind it, without a pause (extender/elsewhere.h says why). `sample_n`: so many samples make the cluster.
 */
void requeue_trigger_elsewhere(struct requeue_trigger *w, int64_t delay_ms, bool twice, size_t sample_n);

/* When, by the clock, the next PATCH is due as far as anybody has asked; INT64_MAX: none. Waits while one is under way,
 * and has the thread look at the clock again. For tests. */
int64_t requeue_trigger_due_ns(struct requeue_trigger *w);

/* `detail` is for the log, valid during the call. */
void requeue_trigger_sent(struct requeue_trigger *w, enum wake_result result, const char *detail);

/* ---- what is sent ---- */

/* `object` is "NAMESPACE/NAME". */
struct requeue_trigger_patch {
    struct kube_client *client;
    const struct clock *clock;
    struct str object;
};
requeue_trigger_send_fn requeue_trigger_patch_send; /* ctx: struct requeue_trigger_patch */

#endif
