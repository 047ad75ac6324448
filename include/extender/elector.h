/* extender/elector.h - says whether this process decides, by a Lease: the driver of extender/lease_machine.h, which
 * takes part in an election, or of extender/follow_machine.h, which reads who was elected among the schedulers. On a
 * thread of its own, with a client of its own, so that no queue of Bindings delays a renewal.
 *
 * It tells its owner twice at most: that this process leads, from the moment at which nobody else can, and that it does
 * so no more, which is for good. In between elector_may_write() is what everybody who writes is asked by, right before
 * the request leaves (kube/transport.h, may_write): it is a matter of the clock alone, so a process that was stopped
 * and goes on sends nothing, before any of its threads has found out.
 *
 * The clock is CLOCK_BOOTTIME, which goes on while the machine sleeps.
 */
#ifndef EXTENDER_ELECTOR_H
#define EXTENDER_ELECTOR_H

#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/str.h"
#include "extender/follow_machine.h"
#include "extender/lease_machine.h"

#include <stdbool.h>
#include <stdint.h>

struct kube_client;
struct elector;

/* On the elector's thread, with no lock: renewals wait for it, so it must not. */
struct elector_listener {
    /* `others_until_ns`: by clock_mono_ns() of the system; no other process has sent anything since then (when it
     * follows: as far as the renewals that it saw tell). */
    void (*elected)(void *ctx, int64_t others_until_ns);
    /* No Binding leaves any more; `why` is static text. */
    void (*lost)(void *ctx, const char *why);
    void *ctx;
};

/* Borrowed for its life, but the numbers. The client is for nothing else, and its may_write is not elector_may_write().
 */
struct elector_options {
    struct kube_client *client;
    const struct clock *clock; /* of the wall time that is written */
    const struct log *log;
    struct str lease; /* "NAMESPACE/NAME" */
    bool follows;     /* it is the Lease of the schedulers: only read */
    const char *host; /* begins our identity; if it follows, that of the scheduler beside */
    int64_t duration_ms, renew_deadline_ms, retry_ms; /* of struct lease_options, or follow_options */
    struct elector_listener listener;
};

/* Does nothing before elector_start(). */
WARN_UNUSED int elector_new(const struct elector_options *o, struct elector **ret, struct err *reterr);
WARN_UNUSED int elector_start(struct elector *e, struct err *reterr);

/* May this process change anything at this very moment? From any thread, at any time; takes no lock. */
bool elector_may_write(void *elector);

/* Nobody is told that he is elected any more; returns when no call is under way. What is held is renewed on. */
void elector_decline(struct elector *e);
/* Ends the thread. `give_back`, unless it follows: nothing will be sent any more, all that was sent is answered or
 * given up, so the Lease is given back, for at most `wait_ms`. NULL is fine. */
void elector_stop(struct elector *e, bool give_back, int64_t wait_ms);
/* After kube_client_stop() of its client. NULL is fine. */
void elector_free(struct elector *e);

#endif
