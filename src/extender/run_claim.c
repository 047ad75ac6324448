#include "extender/run_claim.h"

#include "base/bug.h"

#include <stdio.h>
#include <string.h>

const char *run_reason_name(enum run_reason r)
{
    static const char *const names[RUN_REASON__MAX] = {
        [RUN_NOT_KNOWN] = "unknown",
        [RUN_HAS_ENDED] = "ended",
        [RUN_NONE] = "none",
        [RUN_TRACES] = "traces",
        [RUN_RUNS] = "running",
        [RUN_SHORTER] = "shorter",
        [RUN_UNAWARE] = "unaware",
        [RUN_NO_WAKE] = "noWakeObject",
        [RUN_MISSING] = "noRunObject",
        [RUN_FORBIDDEN] = "forbidden",
        [RUN_OFF] = "off",
    };

    BUG_ON(r >= RUN_REASON__MAX);
    return names[r];
}

const char *run_reason_text(enum run_reason r)
{
    static const char *const texts[RUN_REASON__MAX] = {
        [RUN_NOT_KNOWN] =
            "whether an earlier fgpu has ended in order is not known: the run object could not be read or "
            "written for certain",
        [RUN_HAS_ENDED] = "the last fgpu ended in order",
        [RUN_NONE] = "no fgpu has ever run here",
        [RUN_TRACES] = "nobody has written the run object yet, but pods carry records of fgpu or wait for GPUs, so an "
                       "earlier fgpu may have run without it",
        [RUN_RUNS] = "an earlier fgpu did not end in order, or still runs",
        [RUN_SHORTER] =
            "the last fgpu ended in order, but it, or one before it, had a shorter clientConnection.holdOff",
        [RUN_UNAWARE] = "somebody changed the wake object after the last fgpu had ended: an older fgpu may have run, "
                        "which does not write the run object",
        [RUN_NO_WAKE] =
            "the wake object cannot be read, so whether an older fgpu has run since is not known; apply the "
            "CSIStorageCapacity fgpu-wake and its role from manifests/, and set clientConnection.wakeObject",
        [RUN_MISSING] = "the run object does not exist; apply the ConfigMap fgpu-run and its role from manifests/, or "
                        "set clientConnection.runObject",
        [RUN_FORBIDDEN] = "the run object may not be read or changed; apply the role fgpu-run from manifests/",
        [RUN_OFF] = "clientConnection.runObject names none",
    };

    BUG_ON(r >= RUN_REASON__MAX);
    return texts[r];
}

void run_claim_init(struct run_claim *c, const char *process, int64_t hold_off_ms)
{
    *c = (struct run_claim){.step = RUN_ASK, .reason = RUN_NOT_KNOWN, .hold_off_ms = hold_off_ms};
    BUG_ON(strlen(process) >= sizeof(c->process));
    snprintf(c->process, sizeof(c->process), "%s", process);
}

/* Nothing more is tried. What was sent may still land, and says `running` then. */
static void give_up(struct run_claim *c, enum run_reason why)
{
    c->step = RUN_HELPLESS;
    c->reason = why;
}

void run_claim_look(struct run_claim *c)
{
    BUG_ON(c->step != RUN_CLAIMED && c->step != RUN_HELPLESS);
    c->step = RUN_ASK;
    c->again = true;
    c->doubtful = true;
}

static bool says_ours(const struct run_claim *c, const struct run_object *o)
{
    return o->state == RUN_RUNNING && strcmp(o->process, c->process) == 0;
}

static enum run_reason judge(const struct run_claim *c, const struct run_object *o, const char *wake)
{
    switch (o->state) {
    case RUN_NEVER:
        return RUN_NONE;
    case RUN_RUNNING:
        return RUN_RUNS;
    case RUN_ENDED:
        if (wake[0] == '\0' || o->wake[0] == '\0') {
            return RUN_NO_WAKE;
        }
        if (strcmp(o->wake, wake) != 0) {
            return RUN_UNAWARE;
        }
        return o->hold_off_ms >= c->hold_off_ms ? RUN_HAS_ENDED : RUN_SHORTER;
    case RUN_ILLEGIBLE:
        break;
    }
    return RUN_NOT_KNOWN;
}

/* Where nobody has written, nobody lives who has claimed; unless this process had, and it was taken out. */
static bool may_be_alive(const struct run_claim *c, const struct run_object *o)
{
    return o->state != RUN_ENDED && (o->state != RUN_NEVER || c->again);
}

static void claimed(struct run_claim *c)
{
    c->step = RUN_CLAIMED;
    c->is_ours = true;
}

static void read_object(struct run_claim *c, const struct run_object *o, const char *wake)
{
    if (says_ours(c, o)) {
        /* Ours alone has this id. It was sent for one revision only, or `doubtful` is set. */
        claimed(c);
    } else {
        if (c->has_sent && (strcmp(o->revision, c->seen.revision) != 0 || strcmp(o->uid, c->seen.uid) != 0)) {
            c->doubtful = true; /* the next claim is of another revision than the last */
        }
        c->is_ours = false;
        c->takes_over = c->takes_over || may_be_alive(c, o);
        c->reason = judge(c, o, wake);
        c->ended_hold_off_ms = o->hold_off_ms;
        c->step = RUN_SEND;
    }
    c->seen = *o;
}

void run_claim_asked(struct run_claim *c, enum run_answer a, const struct run_object *o, const char *wake)
{
    BUG_ON(c->step != RUN_ASK);
    switch (a) {
    case RUN_ANSWER_OBJECT:
        read_object(c, o, wake);
        return;
    case RUN_ANSWER_MISSING:
        c->is_ours = false;
        give_up(c, RUN_MISSING);
        return;
    case RUN_ANSWER_FORBIDDEN:
        give_up(c, RUN_FORBIDDEN);
        return;
    case RUN_ANSWER_CONFLICT: /* not to a GET; as no answer */
    case RUN_ANSWER_LOST:
        return;
    }
    BUG("unknown answer to a GET of the run object");
}

void run_claim_sent(struct run_claim *c, enum run_answer a, const struct run_object *o)
{
    BUG_ON(c->step != RUN_SEND);
    c->has_sent = true;
    switch (a) {
    case RUN_ANSWER_OBJECT:
        if (says_ours(c, o)) {
            c->seen = *o;
            claimed(c);
            return;
        }
        break; /* an answer that makes no sense is none */
    case RUN_ANSWER_MISSING:
        give_up(c, RUN_MISSING);
        return;
    case RUN_ANSWER_FORBIDDEN:
        give_up(c, RUN_FORBIDDEN);
        return;
    case RUN_ANSWER_CONFLICT: /* an earlier copy of ours may have landed, or somebody was faster: a GET tells */
    case RUN_ANSWER_LOST:
        break;
    }
    c->step = RUN_ASK;
}

bool run_claim_is_skipped(const struct run_claim *c)
{
    return c->step == RUN_CLAIMED && !c->doubtful && c->has_sent &&
           (c->reason == RUN_HAS_ENDED || c->reason == RUN_NONE);
}
