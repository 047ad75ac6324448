/* extender/follow_machine.h - may this process send Bindings, which has a kube-scheduler beside it that takes part in
 * an election of its own? (election: follow-scheduler, decision 0102)
 *
 * An I/O-free state machine; time is an argument. The driver (extender/elector.h) makes the GETs that it is told,
 * reports the answers, and asks again. Nothing is ever written: whoever leads among the schedulers decides who decides
 * here. Times are as in extender/lease_machine.h, of a clock that never jumps and goes on while the machine sleeps.
 *
 * The gate is open while two things hold at this very moment:
 *   - a GET that was *sent* at most FOLLOW_AGE_MS ago named the scheduler beside: its holder is our host name, `_` and
 *     something without `_`;
 *   - the Lease has changed within renewDeadline: that scheduler lives. Counted from the GET that did not show the
 *     change yet.
 * It opens FOLLOW_AGE_MS after the first look that shows ours named. Every other process that goes by these
 * rules has sent its last GET that named its scheduler before that, so its gate is closed by then. (That the Lease was
 * seen to be nobody's before proves nothing: somebody may have been named, and looked, since.) This needs no clock of
 * others and nothing of what the Lease says of times, and no assumption but that clocks run at one speed.
 *
 * What a tenure is: client-go counts leaseTransitions up whenever the Lease goes from one identity to another. So as
 * long as holder, uid and leaseTransitions are the same, nobody else had it. A scheduler that restarts in place has
 * another identity under the same host name and the next number: nobody came in between, the earlier one is dead (the
 * container of one name runs once), and its fgpu is this process. So this goes on, with the gate closed in between. An
 * empty holder of the same number (the scheduler ended in order) closes the gate too, and it is left open who comes
 * next. Everything else (another holder, a number in between, another uid, no Lease) is a loss, for good: the process
 * ends, for others decide now, and the ledger of whoever decides begins with a list. Before the gate was open for the
 * first time nothing has begun, so nothing ends.
 *
 * While the gate was closed for want of answers an administrator may have given the Lease away and back, by hand, with
 * the same number. So it opens again FOLLOW_AGE_MS after the next look, too.
 */
#ifndef EXTENDER_FOLLOW_MACHINE_H
#define EXTENDER_FOLLOW_MACHINE_H

#include "extender/lease_machine.h"

#define FOLLOW_AGE_MS 2000     /* of a GET that counts; the same in all replicas and versions */
#define FOLLOW_LOOK_MS_MAX 500 /* between two looks: three in the age, and one that takes long */
#define FOLLOW_CALL_MS 1500    /* for the answer of one */

struct follow_options {
    const char *host; /* of the scheduler beside, as its os.Hostname() says; not "" */
    /* As in the file of the scheduler; lease_options has the ranges. */
    int64_t duration_ms, renew_deadline_ms, retry_ms;
};

/* FOLLOW_NAMED: the scheduler beside has the Lease, or had it last and nobody else since. */
enum follow_phase { FOLLOW_OTHERS, FOLLOW_NAMED, FOLLOW_HAS_LOST };

struct follow_machine {
    struct follow_options o;
    enum follow_phase phase;
    bool looked, exists;      /* `seen` holds, if both */
    bool has_led;             /* in FOLLOW_NAMED: the gate was open before */
    struct lease_record seen; /* as it was read last */
    int64_t asked_ns;         /* when the GET was sent that is under way, or was last */
    int64_t seen_asked_ns;    /* ... whose answer `seen` is */
    int64_t named_ns;         /* when the last GET was sent that named us; INT64_MIN: the last answer did not */
    int64_t alive_ns;         /* the Lease has changed after that; INT64_MIN: we have seen no change */
    bool is_free;             /* in FOLLOW_OTHERS: it was nobody's when we looked last */
    int64_t held_until_ns;   /* until then the scheduler that was named last, another one, may have had its fgpu send */
    int64_t others_until_ns; /* in FOLLOW_NAMED: until then the gate of another one may be open */
    /* In FOLLOW_NAMED: from then on nothing was sent by others that went by the renewals we saw; for the hold-off. */
    int64_t silent_since_ns;
    int64_t wake_ns;
    const char *why; /* of FOLLOW_HAS_LOST: static text */
};

void follow_machine_init(struct follow_machine *m, const struct follow_options *o);

/* LEASE_GET, LEASE_WAIT (until m->wake_ns) or LEASE_LOST; the caller does it at once. */
enum lease_step follow_machine_next(struct follow_machine *m, int64_t now_ns);
/* The answer to the GET, which came at `now_ns`: LEASE_ANSWER_OBJECT with the object, _MISSING or _LOST. */
void follow_machine_answered(struct follow_machine *m, enum lease_answer a, const struct lease_record *r,
                             int64_t now_ns);

/* The span in which Bindings may be sent, by what is known now: from `*ret_from_ns` to before `*ret_until_ns`. */
void follow_machine_span(const struct follow_machine *m, int64_t *ret_from_ns, int64_t *ret_until_ns);

#endif
