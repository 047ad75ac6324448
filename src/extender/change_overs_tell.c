/* What people are told of change-overs, in the log and by Events. */
#include "extender/change_overs_internal.h"

#include "base/strbuf.h"
#include "extender/notices.h"

#include <stdio.h>

#define PODS_TOLD 3 /* in an Event */

struct str change_overs_pool_name(const struct change_over_now *g, int32_t pool)
{
    return pool >= 0 ? str_of(g->pools[pool]) : STR_NULL;
}

static void tell(const struct change_overs *c, const struct change_over_now *g, bool warns, const char *what)
{
    char note[EVENT_NOTE_MAX];

    snprintf(note, sizeof(note), "Change-over of %s: %s", g->name, what);
    if (warns) {
        LOG_WARNING(c->o.log, "Node pools do not change over", LOG_CSTR("group", g->name), LOG_CSTR("why", what));
    } else {
        LOG_INFO(c->o.log, "Node pools change over", LOG_CSTR("group", g->name), LOG_CSTR("step", what));
    }
    notice_self(c->o.events, warns ? EVENT_CHANGE_OVER_HELD : EVENT_CHANGE_OVER, note);
}

static void tell_waiting(const struct change_overs *c, const struct change_over_now *g)
{
    struct strbuf text;

    strbuf_init(&text, EVENT_NOTE_MAX / 2);
    strbuf_addf(&text, "waits for %zu %s with GPUs on the nodes that leave:", g->pod_n, g->pod_n == 1 ? "pod" : "pods");
    for (size_t i = 0; i < g->shown_n && i < PODS_TOLD; i++) {
        strbuf_addf(&text, "%s %.*s/%.*s on %.*s", i > 0 ? "," : "", STR_ARG(g->pods[i].namespace_),
                    STR_ARG(g->pods[i].name), STR_ARG(g->pods[i].node_name));
    }
    if (g->pod_n > PODS_TOLD) {
        strbuf_add_cstr(&text, ", ...");
    }
    tell(c, g, false, text.p);
    strbuf_fini(&text);
}

void change_overs_tell_step(const struct change_overs *c, const struct change_over_now *g)
{
    const struct str wanted = change_overs_pool_name(g, g->machine.wanted);
    char text[256];

    switch (g->machine.step) {
    case CHANGE_OVER_WAITING:
        tell_waiting(c, g);
        break;
    case CHANGE_OVER_OPEN:
        snprintf(text, sizeof(text), "%.*s is open", STR_ARG(wanted));
        tell(c, g, false, text);
        break;
    case CHANGE_OVER_CLOSED:
        tell(c, g, false, "all of its pools are closed");
        break;
    case CHANGE_OVER_CONFLICT:
        tell(c, g, true,
             "the configuration has several of its pools open now, so none of them takes pods; let one alone be "
             "open at a time");
        break;
    case CHANGE_OVER_CLOSING:
    case CHANGE_OVER_CLOSE_COMMANDS:
    case CHANGE_OVER_OPEN_COMMAND:
    case CHANGE_OVER_OPENING:
    case CHANGE_OVER_STEP__MAX:
        LOG_INFO(c->o.log, "Node pools change over", LOG_CSTR("group", g->name),
                 LOG_CSTR("step", change_over_step_name(g->machine.step)), LOG_STR("opens", wanted));
        break;
    }
}

void change_overs_tell_failure(const struct change_overs *c, const struct change_over_now *g)
{
    char text[ERR_MSG_MAX + 256];

    snprintf(text, sizeof(text), "the command of %s with \"%s\" failed and will be run again; until it succeeds %s: %s",
             g->pools[g->failed], g->machine.orders[g->failed] == POOL_RUN_OPEN ? "open" : "closed",
             g->machine.admitted == CHANGE_OVER_NOBODY ? "no pool takes pods"
                                                       : "the machines may not be as they should",
             g->error);
    tell(c, g, true, text);
}
