/* extender/lease_machine.h - who of several processes may send Bindings: what to do next about the Lease, without doing
 * it.
 *
 * An I/O-free state machine; time and randomness are arguments. The driver (extender/elector.h) performs the step it
 * is told, reports the outcome, and asks again. Times are nanoseconds of one clock of this machine that never jumps
 * and goes on while it sleeps (CLOCK_BOOTTIME); others' times are never compared with it.
 *
 * It is the algorithm of client-go (contract.md 6.1): a copy of the Lease is kept with the moment at which this process
 * first saw it so. It is acquired when it does not exist, when its holder is empty, or when it has been the same for
 * its own leaseDurationSeconds; the holder renews it every `retry_ms`. Every write is conditional on the revision that
 * was read. What is stricter than client-go, so that no two ever lead at once as long as clocks run at one speed:
 *
 *   - who leads, leads until `renew_deadline_ms` after it *sent* its last write that was answered with success, not
 *     after the answer. A read renews nothing;
 *   - how another one may have led is bounded by what was seen: who wrote the record that we saw at T had sent it by
 *     then, so it leads until T + its renewDeadline at most (others_until_ns). Who takes a Lease over that did not
 *     run out (it was missing, an administrator has emptied or edited it) waits for that. Only one that was released
 *     counts at once: an empty holder with leaseDurationSeconds 1, which is written when nothing will be sent any more,
 *     and never before we know that nobody before us leads either;
 *   - who leads and finds that anything has become of the Lease that it did not write itself (another holder, another
 *     uid, other times, gone) has lost it. It never takes it back: its process ends.
 *
 * The renewDeadline of others is not in the Lease. It is taken for our own where leaseDurationSeconds is our own, and
 * for as long as that says otherwise; so a renewDeadline is changed together with the leaseDuration. Of a Lease that is
 * missing nobody knows whose it was: it is taken for one of our own.
 */
#ifndef EXTENDER_LEASE_MACHINE_H
#define EXTENDER_LEASE_MACHINE_H

#include "kube/lease.h"

#include <stdbool.h>
#include <stdint.h>

#define LEASE_RELEASED_S 1      /* leaseDurationSeconds of one that was released, as client-go writes it */
#define LEASE_JITTER_PERCENT 20 /* of retry_ms, while somebody else leads */

struct lease_options {
    const char *identity; /* unique per process; shorter than LEASE_HOLDER_BYTES */
    int64_t duration_ms;  /* whole seconds; > renew_deadline_ms > 1.2 x retry_ms > 0 */
    int64_t renew_deadline_ms, retry_ms;
};

enum lease_step {
    LEASE_GET,
    LEASE_CREATE,   /* POST m->next */
    LEASE_UPDATE,   /* PUT m->next over the revision that was read last */
    LEASE_WAIT,     /* until m->wake_ns */
    LEASE_LOST,     /* for good: end the process */
    LEASE_RELEASED, /* for good: it was given back, or there was nothing to give back */
};

enum lease_answer {
    LEASE_ANSWER_OBJECT,   /* success, with the object as it is now */
    LEASE_ANSWER_MISSING,  /* 404 */
    LEASE_ANSWER_CONFLICT, /* 409: it did not take effect, or did so by an earlier copy of the request */
    LEASE_ANSWER_LOST,     /* anything else: a write may have taken effect, or may do so later */
};

enum lease_phase { LEASE_FOLLOWS, LEASE_LEADS, LEASE_GIVES_BACK, LEASE_HAS_LOST, LEASE_HAS_ENDED };

struct lease_machine {
    struct lease_options o;
    enum lease_phase phase;
    enum lease_step step;     /* told last */
    bool looked;              /* something is known of the Lease */
    bool exists;              /* `seen` holds */
    bool must_look;           /* a GET comes before the next write */
    bool unconfirmed;         /* `next` was sent and not answered: it may have landed or may still */
    struct lease_record seen; /* as it was read last */
    struct lease_record next; /* what is, or was, sent */
    int64_t seen_ns;          /* when it was first seen so */
    int64_t others_until_ns;  /* until then somebody else may believe that it leads */
    int64_t sent_ns;          /* of the write that is under way */
    int64_t leads_until_ns;   /* INT64_MIN: never led */
    int64_t wake_ns;
    int64_t last_renewed_us; /* wall time that was written last */
    const char *why;         /* of LEASE_HAS_LOST: static text */
};

void lease_machine_init(struct lease_machine *m, const struct lease_options *o);

/* What to do now; the caller does it at once. `wall_us` is for people, `random` any number. */
enum lease_step lease_machine_next(struct lease_machine *m, int64_t now_ns, int64_t wall_us);
/* The answer to the step that was told last. `now_ns` is when it came, of LEASE_ANSWER_OBJECT with the object. */
void lease_machine_answered(struct lease_machine *m, enum lease_answer a, const struct lease_record *r, int64_t now_ns,
                            uint32_t random);
/* Nothing will be sent any more by this process: to be given back. False: there is nothing to give back, or it would
 * not be true (somebody before us may still lead); LEASE_RELEASED is the next step then. */
bool lease_machine_give_back(struct lease_machine *m, int64_t now_ns);

/* May a Binding be sent at this moment? From m->others_until_ns, if the Lease is ours, to m->leads_until_ns. */
static inline bool lease_machine_leads(const struct lease_machine *m, int64_t now_ns)
{
    return m->phase == LEASE_LEADS && now_ns >= m->others_until_ns && now_ns < m->leads_until_ns;
}

#endif
