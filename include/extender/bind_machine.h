/* extender/bind_machine.h - what to do next about one Binding, without doing it.
 *
 * An I/O-free state machine over the replies of contract.md 4.2 to 4.4. The driver (extender/binder.h)
 * performs the action it is told, reports the outcome, and asks again. Time is an argument (monotonic
 * nanoseconds).
 *
 * What it guarantees:
 *   - the caller is answered once, at the latest at the deadline;
 *   - success is answered only when the API server has accepted this Binding or shows the pod on this node
 *     with this decision;
 *   - a reservation is released only on proof: a definitive refusal when no earlier send can still be
 *     applied, the pod gone or bound elsewhere, or unbound in a quorum GET sent BIND_PROOF_NS or more after
 *     the last send whose reply was lost (the server bounds its own work by ?timeout=4s);
 *   - everything else stays charged and is asked about again, for as long as it takes;
 *   - tries before the deadline lie ever further apart (bind_pause_ns), so that a server that fails for good
 *     sees a handful of requests for a pod.
 */
#ifndef EXTENDER_BIND_MACHINE_H
#define EXTENDER_BIND_MACHINE_H

#include "kube/binding.h"

#include <stdbool.h>
#include <stdint.h>

#define BIND_PROOF_NS (INT64_C(6000) * 1000000)

enum bind_action {
    BIND_POST, /* send the Binding */
    BIND_GET,  /* quorum GET of the pod */
    BIND_WAIT, /* until m->wake_ns */
    BIND_END,  /* nothing any more: see m->resolution */
};

enum bind_get_outcome {
    BIND_GET_GONE,      /* 404, or another UID under this name */
    BIND_GET_UNBOUND,
    BIND_GET_OURS,      /* on our node with our decision */
    BIND_GET_ELSEWHERE, /* bound, but not by this decision */
    BIND_GET_FAILED,    /* no usable answer */
    BIND_GET__MAX
};

enum bind_resolution {
    BIND_OPEN,      /* not resolved: the reservation stands */
    BIND_CONFIRMED, /* apply LEDGER_CONFIRM */
    BIND_RELEASED,  /* apply LEDGER_RELEASE */
};

struct bind_machine {
    int64_t deadline_ns;
    int64_t last_unsure_ns; /* last send whose effect is unknown; INT64_MIN: none */
    int64_t sent_ns;        /* the action in flight */
    int64_t wake_ns;
    enum bind_action next; /* after the wait */
    enum bind_resolution resolution;
    bool answered;
    bool unauthorized_once;
    uint32_t pause_n;       /* pauses made so far */
    const char *error;      /* static text of the answer; NULL: success */
};

void bind_machine_init(struct bind_machine *m, int64_t deadline_ns);

/* How long to wait before try `n` + 2 (`n` counts the pauses before this one): 200 ms, doubling up to 2 s. */
int64_t bind_pause_ns(uint32_t n);

/* What to do now. The caller performs it at once. */
enum bind_action bind_machine_next(struct bind_machine *m, int64_t now_ns);

/* The outcome of the last action. */
void bind_machine_posted(struct bind_machine *m, const struct bind_answer *answer, int64_t now_ns);
void bind_machine_got(struct bind_machine *m, enum bind_get_outcome o, int64_t now_ns);

/* Resolved and not answered yet? Gives NULL for success, else the error text, once. */
bool bind_machine_take_answer(struct bind_machine *m, const char **ret_error);
/* Past the deadline, not resolved and not answered yet? Gives the text "outcome unknown", once. */
bool bind_machine_expire(struct bind_machine *m, int64_t now_ns, const char **ret_error);

#endif
