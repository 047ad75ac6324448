/* One bind under `consistency: strict`: what it waits for, and what follows (extender/intents.h, decision 0103). */
#include "extender/binder_internal.h"

#include "base/clock.h"

static const char TEXT_CONTENDED[] =
    "another fgpu decides for this node at the same time: nothing was bound; try again";
static const char TEXT_LATE[] = "what is on its way to this node could not be found out in time: nothing was bound";

/* The time of the callers is over. What was not sent cannot land, written or not. */
static void give_up(struct bind *b, struct bind_answer_due *due)
{
    const char *why = b->node->error != NULL ? b->node->error : TEXT_LATE;

    if (!b->reserved) {
        bind_settle(b, BIND_OUTCOME_REFUSED, why, due);
        return;
    }
    b->intent = BIND_INTENT_NONE;
    b->machine.error = why;
    (void)bind_machine_next(&b->machine, clock_mono_ns(b->binder->clock)); /* nothing is unknown: that resolves it */
    bind_advance(b, due);
}

void bind_intent_turn(struct bind *b, bool expired, struct bind_answer_due *due)
{
    const bool failed = b->intent == BIND_INTENT_FAILED;

    b->turn = false;
    if (expired) {
        give_up(b, due);
    } else if (failed) {
        b->intent = BIND_INTENT_NONE;
        if (b->again_n++ >= BIND_AGAIN_MAX) {
            bind_answer(b, BIND_OUTCOME_CONFLICT, b->node->error != NULL ? b->node->error : TEXT_CONTENDED, due);
        }
        bind_decide_again(b, due);
    } else if (b->intent == BIND_INTENT_AWAITS_NODE) {
        b->intent = BIND_INTENT_NONE;
        bind_begin(b, due);
    } else {
        bind_node_advance(b->node);
    }
}
