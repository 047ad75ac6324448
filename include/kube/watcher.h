/* kube/watcher.h - a reflector on a thread of its own: does what kube/reflector.h says, decides
 * nothing.
 *
 * The handler's callbacks run on that thread, one at a time.
 *
 * ResourceSlices are asked for from KUBE_SLICES_V1 on: 404 means that the server does not have this version, and the
 * next one is tried. When it has none, and after a 403, the handler is told, and there is a pause.
 */
#ifndef KUBE_WATCHER_H
#define KUBE_WATCHER_H

#include "base/clock.h"
#include "base/compiler.h"
#include "base/err.h"
#include "kube/reflector.h"
#include "kube/transport.h"

#define KUBE_WATCHER_ABSENT_MS (5 * 60 * 1000)
#define KUBE_WATCHER_FORBIDDEN_MS (60 * 1000)

struct kube_watcher;

/* All zero is fine. */
struct kube_watcher_options {
    const struct clock *clock; /* NULL: the system's */
    int64_t stale_after_ms;    /* 0: a silent watch is not looked after (kube/reflector.h, contact) */
    /* Told whenever something was heard or failed, on the thread of the watcher; NULL: nobody. */
    void (*news)(void *ctx, enum kube_resource resource, const struct reflector_stats *stats);
    void *ctx;
    bool held; /* asks for nothing before kube_watcher_release() */
};

/* Borrows `client`; copies `handler` and `options` (NULL: all zero). */
WARN_UNUSED int kube_watcher_start(struct kube_client *client, enum kube_resource resource,
                                   const struct reflector_handler *handler, const struct kube_watcher_options *options,
                                   struct kube_watcher **ret, struct err *reterr);

/* Ends the exchange in progress, joins the thread and frees. No callback runs after it returned.
 * NULL is fine. Not from a callback. */
void kube_watcher_stop(struct kube_watcher *w);

/* Of one that is held: its first list may begin. From any thread. */
void kube_watcher_release(struct kube_watcher *w);

/* Lists afresh as soon as possible (an audit), then watches on; ends a pause after a refusal. From any thread. Returns
 * the number of the order, counted from 1. */
uint64_t kube_watcher_relist(struct kube_watcher *w);
/* The number of the last such order that the next list to begin follows. In a handler's list_begin: of the one that
 * begins. */
uint64_t kube_watcher_relists_taken(struct kube_watcher *w);

/* As of the last exchange or chunk of bytes. From any thread. */
void kube_watcher_stats(struct kube_watcher *w, struct reflector_stats *ret);

#endif
