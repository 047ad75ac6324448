/* extender/run_claim.h - may this process bind at once, or may Bindings of an earlier one still land?
 *
 * An I/O-free state machine over the run object (kube/run_object.h). The driver (extender/run_keeper.h) asks for the
 * object, sends the claim, and reports what came of it.
 *
 * The claim: this process writes that it runs, by compare and swap on the very revision that it has read. What stood in
 * that revision says what was before. The hold-off is not needed in two cases:
 *   - RUN_HAS_ENDED: it says `ended`, which its writer wrote when it had stopped sending for good and every Binding
 *     it ever sent was resolved (design.md 3.1.4), it and those before it have waited as long for theirs as this
 * process would, and the wake object has not been changed since. A process that knows nothing of the run object, or may
 * not write it, leaves the `ended` of another one there while it binds; but every version changes the wake object when
 * it begins to answer (extender/requeue_trigger.h);
 *   - RUN_NONE: nobody has ever written it, and the list of pods that is read after the claim shows no trace of
 *     anybody (extender/feed.h, traces). The list is the driver's matter.
 * and in both only if the claim of that revision was certainly the one that took effect, and the only one ever sent.
 * Anything else keeps the hold-off: `running`, whoever wrote it; an object that is missing, forbidden, illegible, or
 * that somebody changed meanwhile.
 *
 * `running` lets nobody skip, so a claim that lands late hurts nobody, and a claim of `running` is made in any case,
 * hold-off or not: whoever comes next must not find an older `ended` while this process binds. That may also come later
 * from a second process that somebody started by mistake and ended again. So a process that runs looks from time to
 * time (run_claim_look) and claims again; and one that has taken the object over from a `running` of somebody else may
 * write `ended` only after everybody who lives must have looked. The list of interleavings is in decision 0091, the
 * model in test/unit/extender/test_run_model.c.
 */
#ifndef EXTENDER_RUN_CLAIM_H
#define EXTENDER_RUN_CLAIM_H

#include "kube/run_object.h"

#include <stdbool.h>
#include <stdint.h>

/* Why there is a hold-off, or none. */
enum run_reason {
    RUN_NOT_KNOWN, /* not asked yet; or nothing legible, no answer, changes by others while it was claimed */
    RUN_HAS_ENDED, /* no hold-off */
    RUN_NONE,      /* no hold-off, if the first list shows no trace */
    RUN_TRACES,    /* ... but it does. The machine does not say this; its driver does */
    RUN_RUNS,      /* an earlier process did not end in order, or does still run */
    RUN_SHORTER,   /* the one that ended answers for a shorter hold-off than this process has */
    RUN_UNAWARE,   /* after the one that ended, somebody ran who did not write the run object */
    RUN_NO_WAKE,   /* whether that is so cannot be told, because the wake object cannot be read */
    RUN_MISSING,   /* there is no run object */
    RUN_FORBIDDEN, /* it may not be read or written */
    RUN_OFF,       /* clientConnection.runObject is empty, or this is a rehearsal. The driver's, too */
    RUN_REASON__MAX
};
const char *run_reason_name(enum run_reason r); /* "ended", for /state and logs */
const char *run_reason_text(enum run_reason r); /* a sentence for people, with the remedy where there is one */

enum run_step {
    RUN_ASK,      /* GET the run object (and the wake object, if its revision is not known) */
    RUN_SEND,     /* PATCH c->seen to RUN_RUNNING of c->process */
    RUN_CLAIMED,  /* done; see run_claim_is_skipped() */
    RUN_HELPLESS, /* it cannot be claimed: the hold-off stays, and nothing will be written at the end */
};

enum run_answer {
    RUN_ANSWER_OBJECT,    /* 200 with an object that can be read */
    RUN_ANSWER_MISSING,   /* 404 */
    RUN_ANSWER_FORBIDDEN, /* 401, 403, 405, 422: it will not change by itself */
    RUN_ANSWER_CONFLICT,  /* 409 */
    RUN_ANSWER_LOST,      /* anything else: what was sent may have taken effect, or may do so later */
};

struct run_claim {
    char process[RUN_ID_BYTES];
    enum run_step step;
    enum run_reason reason; /* by what was read last */
    bool doubtful;          /* something came between */
    bool has_sent;
    int64_t hold_off_ms;       /* of this process */
    int64_t ended_hold_off_ms; /* of RUN_HAS_ENDED: by which those before answer for theirs */
    bool is_ours;              /* as far as is known, the object says that this process runs; `seen` is that then */
    bool takes_over;           /* the claim replaces what may be of a process that lives; the driver clears it */
    bool again;                /* after run_claim_look() */
    struct run_object seen;    /* that the claim is of; when CLAIMED: the claim itself */
};

void run_claim_init(struct run_claim *c, const char *process, int64_t hold_off_ms);
/* CLAIMED or HELPLESS, and some time has passed: to be asked, and claimed again if it is not ours any more. Nothing of
 * this leads to a decision about the hold-off. */
void run_claim_look(struct run_claim *c);

/* The outcome of the GET. `o` of ANSWER_OBJECT; `wake`: the revision of the wake object now, "" if not known. */
void run_claim_asked(struct run_claim *c, enum run_answer a, const struct run_object *o, const char *wake);
/* The outcome of the PATCH. `o` of ANSWER_OBJECT: what it has become. */
void run_claim_sent(struct run_claim *c, enum run_answer a, const struct run_object *o);

/* Claimed, and what was there before proves that no hold-off is needed (RUN_NONE: by what the list shows)? */
bool run_claim_is_skipped(const struct run_claim *c);

#endif
