/* kube/reflector_contact.c - how old our news are, and asking when a watch says nothing. */
#include "reflector_internal.h"

#include "base/bug.h"
#include "base/clock.h"

#include <string.h>

enum { CHECKS_PER_STALE = 4 };

void reflector_set_stale_after(struct reflector *r, int64_t stale_after_ns)
{
    r->stale_after_ns = stale_after_ns;
}

void reflector_opened(struct reflector *r)
{
    r->watch_open = r->busy == BUSY_WATCHING || r->busy == BUSY_FILLING;
}

static void contact(struct reflector *r, int64_t at_ns)
{
    r->stats.last_contact_ns = at_ns;
    r->stats.trouble = REFLECTOR_FINE;
    r->check_failed = false;
}

void reflector_contact(struct reflector *r, int64_t now_ns)
{
    r->watch_open = true;
    contact(r, now_ns);
}

static enum reflector_trouble trouble_of(const struct reflector *r, const struct kube_outcome *o)
{
    if (r->refused.code == ERR_PARSE || r->refused.code == ERR_LIMIT || r->refused.code == ERR_INVALID) {
        return REFLECTOR_UNREADABLE;
    }
    if (o->http_status == 401 || o->http_status == 403) {
        return REFLECTOR_FORBIDDEN;
    }
    return o->kind == KUBE_ANSWERED || o->kind == KUBE_ABORTED || o->kind == KUBE_TOO_LARGE ? REFLECTOR_REFUSED
                                                                                            : REFLECTOR_UNREACHABLE;
}

void reflector_trouble(struct reflector *r, const char *verb, const struct kube_outcome *o)
{
    r->stats.trouble = trouble_of(r, o);
    r->stats.trouble_n++;
    r->stats.trouble_verb = verb;
    memcpy(r->stats.trouble_text, r->stats.last_error, ERR_MSG_MAX);
}

int64_t reflector_check_due_ns(const struct reflector *r)
{
    if (r->stale_after_ns == 0 || r->checking || r->busy != BUSY_WATCHING || !r->watch_open) {
        return INT64_MAX;
    }
    int64_t last_ns = r->stats.last_contact_ns > r->check_begun_ns ? r->stats.last_contact_ns : r->check_begun_ns;
    return last_ns + r->stale_after_ns / CHECKS_PER_STALE;
}

uint32_t reflector_check_ms(const struct reflector *r)
{
    int64_t ms = r->stale_after_ns / CHECKS_PER_STALE / NS_PER_MS;
    return ms < 100 ? 100 : (uint32_t)ms;
}

const char *reflector_begin_check(struct reflector *r, int64_t now_ns)
{
    BUG_ON(r->checking);
    r->checking = true;
    r->check_watch = r->stats.watch_n;
    r->check_begun_ns = now_ns;
    r->stats.check_n++;
    return kube_watched[r->resource].check;
}

/* An object that is larger than we care to read was answered by a living server, too. */
static bool is_answer(const struct kube_outcome *o)
{
    return (o->kind == KUBE_ANSWERED || o->kind == KUBE_TOO_LARGE) && o->http_status == 200;
}

int reflector_checked(struct reflector *r, int64_t now_ns, const struct kube_outcome *o, struct err *reterr)
{
    (void)now_ns;
    BUG_ON(!r->checking);
    r->checking = false;
    if (o->kind == KUBE_CANCELLED || r->busy != BUSY_WATCHING || r->check_watch != r->stats.watch_n) {
        return 0; /* of a watch that is over */
    }
    if (!is_answer(o)) {
        r->check_failed = true;
        reflector_note_error(r, o);
        reflector_trouble(r, "check", o);
        return 0;
    }
    if (r->check_failed) {
        r->replace = true;
        return err_set(reterr, ERR_UNAVAILABLE, "the API server was away while the watch was silent");
    }
    /* the answer is as new as the question */
    if (r->check_begun_ns > r->stats.last_contact_ns) {
        contact(r, r->check_begun_ns);
        r->stats.last_error[0] = '\0';
    }
    return 0;
}
