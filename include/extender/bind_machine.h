/* extender/bind_machine.h - what to do next about one Binding, without doing it.
 *
 * An I/O-free state machine over the replies of contract.md 4.2 to 4.4. The driver (extender/binder.h)
 * performs the action it is told, reports the outcome, and asks again. Time is an argument (monotonic
 * nanoseconds); it paces the tries and ends the caller's waiting, and proves nothing.
 *
 * A read never proves that a write will not land (design.md 3.1, rule 4; decision 0033): an API server may hand
 * our transaction to etcd, stall, answer anything or nothing, and commit any time later. So:
 *   - every send carries the pod's uid and resourceVersion ("version") as preconditions. It can land on exactly
 *     that version of the pod and on no other;
 *   - only 201 is a success. 400, 401, 403, 404, 422 and 429 settle a send only while no earlier one is unknown.
 *     A conflict, the first one too, any 5xx, a lost reply and any other status leave it unknown, and what comes
 *     after that settles nothing;
 *   - what is unknown ends in four ways: (a) the pod is seen bound; (b) it is gone, or another one has its name;
 *     (c) it is seen unbound at a version greater than all that were sent, in a quorum GET submitted when the
 *     reply or failure of the last send was known, or in an observation of the watch: then none of the sends can
 *     land any more; (d) the same Binding, of the same version, is sent again and answered 201. Anything else
 *     than 201 leads to the GET of (c);
 *   - a server that does not look at preconditions (before 1.23) makes (c) void, and so does not knowing the
 *     server's version, and a send that had no version to carry;
 *   - a new version is sent only after (c), only while a caller waits, and only if the decision still holds for
 *     that very object;
 *   - the reservation is released only when nothing that was sent can land. Until then it stays, for ever if need
 *     be; the same Binding is sent again, ever more calmly, and that is safe because it stands;
 *   - a caller is answered once, at the latest at the deadline; another one may join later (bind_machine_join).
 */
#ifndef EXTENDER_BIND_MACHINE_H
#define EXTENDER_BIND_MACHINE_H

#include "kube/binding.h"

#include <stdbool.h>
#include <stdint.h>

/* So many times one bind goes on with a new version, within its deadline. */
#define BIND_RENEWALS_MAX 8

enum bind_action {
    BIND_POST, /* send the Binding with m->version */
    BIND_GET,  /* quorum GET of the pod */
    BIND_WAIT, /* until m->wake_ns */
    BIND_END,  /* nothing any more: see m->resolution */
};

/* How the pod was seen, by a GET or by the watch. */
enum bind_sight_kind {
    BIND_SEEN_GONE, /* 404, or another UID under this name */
    BIND_SEEN_UNBOUND,
    BIND_SEEN_OURS,         /* on our node with our decision */
    BIND_SEEN_OTHER_RECORD, /* on our node, but not by this decision; the ledger has taken it in */
    BIND_SEEN_ELSEWHERE,    /* on another node */
    BIND_SEEN_NOTHING,      /* no usable answer */
    BIND_SEEN__MAX
};

struct bind_sight {
    enum bind_sight_kind kind;
    /* The rest is of UNBOUND. */
    uint64_t version;   /* resourceVersion of that object; 0: not known */
    bool as_decided;    /* what was decided is still right for that object */
    bool versions_hold; /* the API server is known to look at the preconditions of a Binding */
};

enum bind_resolution {
    BIND_OPEN,       /* not resolved: the reservation stands */
    BIND_CONFIRMED,  /* apply LEDGER_CONFIRM */
    BIND_RELEASED,   /* apply LEDGER_RELEASE */
    BIND_SUPERSEDED, /* apply nothing: the pod is on our node with another record, and what the ledger has seen
                        says what is charged */
};

struct bind_machine {
    int64_t deadline_ns;
    int64_t wake_ns;
    enum bind_action next; /* after the wait */
    enum bind_resolution resolution;
    uint64_t version;      /* what the next send carries; 0: not known */
    uint64_t sent_version; /* the greatest that was sent; 0: none */
    bool sent_without;     /* a send had no version */
    bool unknown;          /* something that was sent may still land */
    bool answered;
    bool unauthorized_once;
    uint32_t renewal_n;
    uint32_t pause_n;  /* pauses made so far, */
    uint32_t calm_n;   /* and those after the deadline */
    const char *error; /* static text of the answer; NULL: success */
};

void bind_machine_init(struct bind_machine *m, uint64_t version, int64_t deadline_ns);

/* How long to wait before try `n` + 2 (`n` counts the pauses before this one): 200 ms, doubling up to 2 s. */
int64_t bind_pause_ns(uint32_t n);
/* The same when no caller waits: 2 s, doubling up to 30 s. */
int64_t bind_calm_pause_ns(uint32_t n);

/* What to do now. The caller performs it at once. */
enum bind_action bind_machine_next(struct bind_machine *m, int64_t now_ns);

/* The outcome of the POST. */
void bind_machine_posted(struct bind_machine *m, const struct bind_answer *answer, int64_t now_ns);
/* The outcome of the GET; or what the watch has shown while no POST is in flight. */
void bind_machine_seen(struct bind_machine *m, const struct bind_sight *s, int64_t now_ns);

/* Is something unknown that this sight of the unbound pod would end, by (c)? */
bool bind_machine_is_settled_by(const struct bind_machine *m, const struct bind_sight *s);

/* Resolved and not answered yet? Gives NULL for success, else the error text, once. */
bool bind_machine_take_answer(struct bind_machine *m, const char **ret_error);
/* Past the deadline, not resolved and not answered yet? Gives the text "outcome unknown", once. */
bool bind_machine_expire(struct bind_machine *m, int64_t now_ns, const char **ret_error);
/* A caller asks again for what is not resolved: its deadline holds from now on, and there is no more waiting. */
void bind_machine_join(struct bind_machine *m, int64_t deadline_ns, int64_t now_ns);

#endif
