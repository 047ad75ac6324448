/* kube/lister.h - one complete list on the caller's thread, decoded item by item; and nothing after
 * it.
 *
 * The same state machine as the watches use (kube/reflector.h): pages, resumed and begun again, so
 * the handler hears list_begin more than once when a list had to start over, and what it heard
 * before counts for nothing then. Memory is bounded by the largest item. Always the most recent
 * state, never that of a cache: without resourceVersion.
 */
#ifndef KUBE_LISTER_H
#define KUBE_LISTER_H

#include "base/clock.h"
#include "base/compiler.h"
#include "base/err.h"
#include "base/rng.h"
#include "kube/reflector.h"
#include "kube/transport.h"

#include <stdbool.h>

/* Exchanges that may fail before the list is given up. */
#define KUBE_LISTER_FAILURES_MAX 3

struct kube_lister {
    struct kube_stream *stream;
    const struct clock *clock;
    struct rng *rng;
    /* Pauses between failures: returns at that monotonic time, or earlier with false, to give up.
     * Asked before every exchange too. */
    bool (*wait)(void *ctx, int64_t until_ns);
    void *ctx;
};

/* Blocks. Interrupted by kube_stream_interrupt(); `wait` must say false from then on.
 *   ERR_CANCELLED    `wait` said false
 *   ERR_UNAVAILABLE  too many failures; the last one is the text */
WARN_UNUSED int kube_list(const struct kube_lister *l, enum kube_resource resource,
                          const struct reflector_handler *handler, struct err *reterr);

/* One object by name, whatever its phase; not there: no call of the handler's `object`. Also
 * ERR_INVALID (reflector_new_one). */
WARN_UNUSED int kube_list_one(const struct kube_lister *l, enum kube_resource resource, struct str namespace_,
                              struct str name, const struct reflector_handler *handler, struct err *reterr);

#endif
