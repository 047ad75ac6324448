/* extender/evictor.h - evicts pods that hold up a change-over, and keeps asking until they go.
 *
 * Whom and since when is the caller's affair (extender/change_overs.h): it says so again and again, as long as the pod
 * is to go, and what has been asked lately is not asked again. A refusal, be it for a PodDisruptionBudget, is tried
 * again after EVICTION_RETRY_MS or what the API server says, whichever is longer; a missing right after
 * EVICTION_FORBIDDEN_MS. Nothing is asked for a pod that nobody names any more.
 *
 * At most EVICTIONS_MAX pods are remembered; beyond that the rest waits its turn. Thread-safe; the lock is a leaf.
 * Never waits for the API server.
 */
#ifndef EXTENDER_EVICTOR_H
#define EXTENDER_EVICTOR_H

#include "base/clock.h"
#include "base/log.h"
#include "core/ledger/pool_use.h"
#include "kube/eviction.h"

#include <stddef.h>

#define EVICTIONS_MAX 256
#define EVICTION_RETRY_MS 10000
#define EVICTION_FORBIDDEN_MS 60000
#define EVICTION_TROUBLE_MAX 256

struct evictor;
struct kube_client;

/* Borrowed for its life. `observe` is told of each answer, on the thread of the client. */
struct evictor *evictor_new(struct kube_client *client, const struct clock *clock, const struct log *log,
                            void (*observe)(void *ctx, enum eviction_reply r), void *ctx);
/* The client has stopped. NULL is fine. */
void evictor_free(struct evictor *e);

/* This pod is to go. */
void evictor_evict(struct evictor *e, const struct pool_pod *pod);
/* Why it could not be evicted the last time, or "". */
void evictor_trouble(struct evictor *e, struct str uid, char ret[EVICTION_TROUBLE_MAX]);

#endif
