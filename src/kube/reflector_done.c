/* kube/reflector_done.c - how an exchange ended, and what that means for the next one. */
#include "reflector_internal.h"

#include "base/bug.h"
#include "base/clock.h"

#include <stdio.h>
#include <string.h>

#define WATCH_SHORT_NS (1000 * NS_PER_MS)

enum { PAGE_FAILURES_MAX = 5, RETRY_AFTER_MAX_S = 3600 };

static const char *verb_of(enum reflector_busy was)
{
    return was == BUSY_FILLING || was == BUSY_WATCHING ? "watch" : "list";
}

static void wait_after_failure(struct reflector *r, int64_t now_ns, const struct kube_outcome *o)
{
    reflector_trouble(r, verb_of(r->was), o);
    int64_t delay_ms = backoff_next_ms(&r->backoff, now_ns, r->rng);
    if (o->retry_after_ms > delay_ms) {
        delay_ms = o->retry_after_ms;
    }
    /* of an ERROR event; the same time in an HTTP reply has a header of its own */
    int64_t told_s = r->status.retry_after_s;
    told_s = told_s > RETRY_AFTER_MAX_S ? RETRY_AFTER_MAX_S : told_s;
    if (told_s * 1000 > delay_ms) {
        delay_ms = told_s * 1000;
    }
    r->not_before_ns = now_ns + delay_ms * NS_PER_MS;
}

void reflector_note_error(struct reflector *r, const struct kube_outcome *o)
{
    char *text = r->stats.last_error;
    if (r->refused.code != ERR_OK) {
        snprintf(text, ERR_MSG_MAX, "%s", r->refused.msg);
    } else if (o->kind == KUBE_ANSWERED) {
        snprintf(text, ERR_MSG_MAX, "HTTP status %d %s", o->http_status, o->detail);
    } else {
        snprintf(text, ERR_MSG_MAX, "%s: %s", kube_outcome_name(o->kind), o->detail);
    }
}

/* Forgets the list in progress, if any, and lists again. */
static void start_over(struct reflector *r)
{
    r->need_list = true;
    if (r->bracket_open) {
        r->bracket_open = false;
        if (r->handler.list_end != NULL) {
            r->handler.list_end(r->handler.ctx, false, STR_NULL);
        }
    }
}

static void expired(struct reflector *r, int64_t now_ns, const struct kube_outcome *o)
{
    r->stats.expired_n++;
    start_over(r);
    if (r->relisted_at_once) {
        wait_after_failure(r, now_ns, o);
    }
    r->relisted_at_once = true;
}

/* A 410 as HTTP status, or as ERROR event inside a watch. */
static bool is_expired(const struct reflector *r, const struct kube_outcome *o)
{
    return (o->kind == KUBE_ANSWERED && o->http_status == 410) || r->refused.code == ERR_EXPIRED;
}

static bool is_passing(const struct kube_outcome *o)
{
    switch (o->kind) {
    case KUBE_ANSWERED:
        return o->http_status == 401 || o->http_status == 429 || o->http_status >= 500;
    case KUBE_NOT_SENT:
    case KUBE_LOST:
    case KUBE_TIMED_OUT:
    case KUBE_SILENT:
        return true;
    case KUBE_ABORTED:
    case KUBE_TOO_LARGE:
    case KUBE_CANCELLED:
    case KUBE_OUTCOME_KIND__MAX:
        break;
    }
    return false;
}

void reflector_list_complete(struct reflector *r, int64_t now_ns)
{
    bool first = !r->stats.synced;
    memcpy(r->stats.resource_version, r->list_version, RV_MAX);
    r->stats.list_n++;
    r->stats.synced = true;
    r->stats.last_heard_ns = now_ns;
    r->stats.last_error[0] = '\0';
    r->bracket_open = false;
    r->need_list = false;
    r->need_probe = false;
    r->pages_next = false;
    if (r->handler.list_end != NULL) {
        r->handler.list_end(r->handler.ctx, true, str_of(r->stats.resource_version));
    }
    if (first && r->handler.synced != NULL) {
        r->handler.synced(r->handler.ctx);
    }
}

/* The page is complete: 0, or why it is not acceptable. */
static int page_complete(struct reflector *r, struct list_meta *meta, struct err *reterr)
{
    arena_reset(&r->arena);
    int rc = list_decoder_end(r->list, &r->reader, &r->arena, meta, reterr);
    if (rc != 0) {
        return rc;
    }
    if (meta->resource_version.n >= RV_MAX || meta->continue_.n > REFLECTOR_CONTINUE_MAX) {
        return err_set(reterr, ERR_LIMIT, "resourceVersion or continue token too long");
    }
    if (r->list_version[0] == '\0') {
        memcpy(r->list_version, meta->resource_version.p, meta->resource_version.n);
        r->list_version[meta->resource_version.n] = '\0';
    }
    return 0;
}

static void list_done(struct reflector *r, int64_t now_ns, const struct kube_outcome *o)
{
    struct list_meta meta;
    if (o->kind == KUBE_ANSWERED && o->http_status == 200 && r->refused.code == ERR_OK &&
        page_complete(r, &meta, &r->refused) == 0) {
        r->page_failure_n = 0;
        strbuf_reset(&r->continue_);
        strbuf_add_str(&r->continue_, meta.continue_);
        if (meta.continue_.n == 0) {
            reflector_list_complete(r, now_ns);
        }
        return;
    }
    r->stats.list_failed_n++;
    reflector_note_error(r, o);
    if (is_expired(r, o)) {
        expired(r, now_ns, o);
        return;
    }
    if (!is_passing(o) || ++r->page_failure_n >= PAGE_FAILURES_MAX) {
        start_over(r);
    }
    wait_after_failure(r, now_ns, o);
}

/* ---- a WatchList that ended before its list did ---- */

/* What servers say that do not have it: 422 with the feature gate off (contract.md 5.2), the others
 * out of caution towards what stands between. */
static bool refuses_watch_list(const struct kube_outcome *o)
{
    switch (o->http_status) {
    case 400:
    case 405:
    case 406:
    case 422:
    case 501:
        return o->kind == KUBE_ANSWERED;
    default:
        return false;
    }
}

static void fill_done(struct reflector *r, int64_t now_ns, const struct kube_outcome *o)
{
    if (refuses_watch_list(o)) {
        r->watch_list_off = true; /* nothing was delivered: the pages come within this bracket */
        return;
    }
    if (o->kind == KUBE_ANSWERED && o->http_status == 200) {
        err_set(&r->refused, ERR_UNAVAILABLE, "the WatchList ended before its list was complete");
    }
    r->stats.list_failed_n++;
    reflector_note_error(r, o);
    if (is_expired(r, o)) {
        r->pages_next = true;
        expired(r, now_ns, o);
        return;
    }
    bool answered = o->kind == KUBE_ANSWERED;
    bool begun =
        answered ? o->http_status == 200 : o->kind == KUBE_SILENT || o->kind == KUBE_ABORTED || r->watch.event_n > 0;
    if (begun && ++r->fill_failed_n >= REFLECTOR_FILL_FAILURES_MAX) {
        r->watch_list_off = true;
    }
    r->pages_next = begun || !is_passing(o);
    start_over(r);
    wait_after_failure(r, now_ns, o);
}

/* ---- watches ---- */

enum watch_next { WATCH_ON, WATCH_ON_LATER, LIST_LATER };

static enum watch_next after_watch(struct reflector *r, bool futile, const struct kube_outcome *o)
{
    switch (o->kind) {
    case KUBE_ANSWERED:
        if (o->http_status != 200) {
            return o->http_status == 401 || o->http_status == 429 ? WATCH_ON_LATER : LIST_LATER;
        }
        if (watch_decoder_end(&r->watch, &r->refused) != 0) {
            return LIST_LATER;
        }
        if (futile) {
            err_set(&r->refused, ERR_UNAVAILABLE, "the watch ended immediately, without an event");
            return LIST_LATER;
        }
        return WATCH_ON;
    case KUBE_NOT_SENT:
        return WATCH_ON_LATER;
    case KUBE_LOST:
    case KUBE_TIMED_OUT:
        return futile ? WATCH_ON_LATER : WATCH_ON;
    case KUBE_SILENT:
        return WATCH_ON;
    case KUBE_ABORTED:
        return r->status.code == 429 ? WATCH_ON_LATER : LIST_LATER;
    case KUBE_TOO_LARGE:
        return LIST_LATER;
    case KUBE_CANCELLED:
    case KUBE_OUTCOME_KIND__MAX:
        break;
    }
    BUG("not an end of a watch");
}

static void watch_done(struct reflector *r, int64_t now_ns, const struct kube_outcome *o)
{
    bool brief = now_ns - r->begun_ns < WATCH_SHORT_NS;
    bool futile = brief && r->watch.event_n == 0;
    if (is_expired(r, o)) {
        r->stats.watch_failed_n++;
        reflector_note_error(r, o);
        expired(r, now_ns, o);
        return;
    }
    enum watch_next next = after_watch(r, futile, o);
    if (next == WATCH_ON && brief && r->ended_briefly) {
        r->not_before_ns = r->begun_ns + WATCH_SHORT_NS; /* not ever longer: that would be blindness */
    }
    r->ended_briefly = brief;
    r->need_probe = o->kind != KUBE_ANSWERED && o->kind != KUBE_ABORTED;
    if (next != WATCH_ON) {
        r->stats.watch_failed_n++;
        reflector_note_error(r, o);
        wait_after_failure(r, now_ns, o);
        r->need_list = next == LIST_LATER;
        return;
    }
    r->relisted_at_once = false;
    if (o->kind == KUBE_ANSWERED) {
        r->stats.last_error[0] = '\0';
    } else {
        reflector_note_error(r, o);
    }
}

static void probe_done(struct reflector *r, int64_t now_ns, const struct kube_outcome *o)
{
    if (o->kind == KUBE_ANSWERED && o->http_status == 200) {
        r->need_probe = false;
        return;
    }
    r->stats.watch_failed_n++;
    reflector_note_error(r, o);
    if (is_expired(r, o)) {
        expired(r, now_ns, o);
        return;
    }
    /* 504 is what a cursor from the future gets; other refusals a list will run into as well */
    bool answered = o->kind == KUBE_ANSWERED && o->http_status != 401 && o->http_status != 429;
    r->need_list = answered;
    wait_after_failure(r, now_ns, o);
}

void reflector_done(struct reflector *r, int64_t now_ns, const struct kube_outcome *outcome)
{
    enum reflector_busy was = r->busy;
    struct kube_outcome o = *outcome;
    r->was = was;
    r->busy = BUSY_NOT;
    r->watch_open = false;
    if (r->replace && o.kind == KUBE_ABORTED) {
        o.kind = KUBE_SILENT; /* a probe, and on from the cursor */
    }
    r->stats.watching = false;
    if (outcome->kind == KUBE_CANCELLED) {
        if (was == BUSY_FILLING) {
            start_over(r);
        }
        return;
    }
    switch (was) {
    case BUSY_LISTING:
        list_done(r, now_ns, &o);
        break;
    case BUSY_FILLING:
        fill_done(r, now_ns, &o);
        break;
    case BUSY_WATCHING:
        watch_done(r, now_ns, &o);
        break;
    case BUSY_PROBING:
        probe_done(r, now_ns, &o);
        break;
    case BUSY_NOT:
        BUG("no exchange was in progress");
    }
    r->status = (struct kube_status){.code = 0};
}
