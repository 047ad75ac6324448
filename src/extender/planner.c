#include "extender/planner_internal.h"

#include "base/bug.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RETRY_MS = 250, RETRY_MAX_MS = 5000, FORBIDDEN_MS = 60000, REFUSED_MS = 60000 };

static const char TEXT_FORBIDDEN[] =
    "fgpu may not patch pods/status; apply manifests/plan-ahead, or set planAhead.enabled: false";
static const char TEXT_REFUSED[] =
    "the API server refuses nominations; the policy of manifests/plan-ahead names the users and schedulers that it "
    "allows";

/* ---- life ---- */

struct planner *planner_new(const struct planner_options *o)
{
    struct planner *p = xcalloc(1, sizeof(*p));

    p->options = *o;
    p->last_bind_ns = p->not_before_ns = p->looked_ns = p->poor_until_ns = p->asked_ns = p->answered_ns = PLANNER_NEVER;
    p->settle_ns = PLANNER_SETTLE_MS * NS_PER_MS;
    p->hits_permille = 1000;
    mutex_init(&p->lock, "planner");
    condvar_init(&p->changed, "planner changed");
    condvar_init(&p->held_changed, "planner held changed");
    hashmap_init(&p->by_uid);
    p->keepers = keepers_new();
    return p;
}

void planner_free(struct planner *p)
{
    if (p == NULL) {
        return;
    }
    planner_stop(p);
    BUG_ON(p->in_flight_n > 0);
    while (p->pod_n > 0) {
        planner_remove(p, p->pods[p->pod_n - 1]);
    }
    hashmap_fini(&p->by_uid);
    keepers_free(p->keepers);
    condvar_destroy(&p->changed);
    condvar_destroy(&p->held_changed);
    mutex_destroy(&p->lock);
    free(p);
}

/* A turn, and then nothing until something happens, the turn's own time, or `until_ns`. With the lock, which is given
 * up meanwhile. */
static void turn_and_wait(struct planner *p, int64_t until_ns)
{
    const uint64_t news_n = p->news_n;
    int64_t wake_ns;

    mutex_unlock(&p->lock);
    wake_ns = planner_turn(p);
    mutex_lock(&p->lock);
    if (p->news_n == news_n) {
        (void)condvar_wait_until(&p->changed, &p->lock, wake_ns < until_ns ? wake_ns : until_ns);
    }
}

static void *planner_main(void *arg)
{
    struct planner *p = arg;
    int64_t end_ns;

    mutex_lock(&p->lock);
    while (!p->stopping) {
        turn_and_wait(p, INT64_MAX);
    }
    end_ns = clock_mono_ns(clock_system()) + PLANNER_STOP_MS * NS_PER_MS;
    turn_and_wait(p, 0);
    while (p->outstanding_n + p->in_flight_n > 0 && clock_mono_ns(clock_system()) < end_ns) {
        turn_and_wait(p, end_ns);
    }
    mutex_unlock(&p->lock);
    return NULL;
}

int planner_start(struct planner *p, struct err *reterr)
{
    int rc = thread_start(&p->pace, "planner-pace", planner_pace_main, p, reterr);

    p->paces = rc == 0;
    if (rc == 0) {
        rc = thread_start(&p->thread, "planner", planner_main, p, reterr);
        p->started = rc == 0;
    }
    return rc;
}

void planner_stop(struct planner *p)
{
    if (p == NULL) {
        return;
    }
    mutex_lock(&p->lock);
    p->stopping = true;
    planner_note_news(p);
    condvar_signal(&p->held_changed);
    mutex_unlock(&p->lock);
    if (p->paces) {
        p->paces = false;
        thread_join(&p->pace);
    }
    if (p->started) {
        p->started = false;
        thread_join(&p->thread);
    }
}

void planner_enable(struct planner *p, bool enabled)
{
    if (p == NULL) {
        return;
    }
    mutex_lock(&p->lock);
    if (p->enabled != enabled) {
        p->enabled = enabled;
        p->status.trouble[0] = '\0';
        planner_note_news(p);
    }
    mutex_unlock(&p->lock);
}

/* ---- answers ---- */

/* Most likely for all pods of its scheduler, which the policy does not list; those of others are planned as before. */
static void refused(struct planner *p, struct planned_pod *w, int64_t now_ns)
{
    struct planned_scheduler *s = planner_scheduler(p, w->seen->pod->scheduler_name);

    planner_let_wait(w, now_ns);
    if (s != NULL) {
        s->not_before_ns = now_ns + REFUSED_MS * NS_PER_MS;
    }
}

static bool is_trouble(enum nomination_reply r)
{
    return r == NOMINATION_FORBIDDEN || r == NOMINATION_REFUSED || r == NOMINATION_FAILED;
}

static void nominated(struct planner *p, struct planned_pod *w, const struct nomination_answer *a, int64_t now_ns)
{
    p->status.made_n += a->reply == NOMINATION_DONE;
    if (a->reply == NOMINATION_CHANGED) { /* most likely the scheduler was faster */
        planner_note_hit(p, false, now_ns);
    }
    if (a->reply == NOMINATION_DONE) {
        p->pause_ms = 0;
        p->not_before_ns = PLANNER_NEVER;
    } else if (is_trouble(a->reply) && a->reply != NOMINATION_REFUSED) {
        planner_pause(p, now_ns, a->reply == NOMINATION_FORBIDDEN ? FORBIDDEN_MS : a->retry_after_ms);
    }
    if (w == NULL || w->nominated != NOMINATED_SENT || a->reply == NOMINATION_DONE || a->reply == NOMINATION_FAILED) {
        return; /* what is done, or may be, is seen on the watch, or taken back in time */
    }
    planner_set_nominated(p, w, NOMINATED_NOT, STR_NULL);
    planner_set_our_node(w, STR_NULL);
    if (a->reply == NOMINATION_REFUSED) {
        refused(p, w, now_ns);
    } else {
        w->not_before_ns = now_ns + RETRY_MS * NS_PER_MS;
    }
}

static void withdrawn(struct planner *p, struct planned_pod *w, const struct nomination_answer *a, int64_t now_ns)
{
    int64_t ms;

    p->status.withdrawn_n += a->reply == NOMINATION_DONE;
    if (w == NULL) {
        return;
    }
    if (a->reply == NOMINATION_DONE || a->reply == NOMINATION_GONE) {
        w->failed_n = 0;
        planner_let_wait(w, now_ns);
        planner_set_nominated(p, w, NOMINATED_NOT, STR_NULL);
        return;
    }
    /* A version that is not known yet is on its way to us; of all else nothing tells. */
    ms =
        a->reply == NOMINATION_CHANGED || w->failed_n == 0 ? RETRY_MS : RETRY_MS << (w->failed_n < 5 ? w->failed_n : 5);
    w->failed_n += a->reply != NOMINATION_CHANGED;
    w->retry_ns = now_ns + (ms < RETRY_MAX_MS ? ms : RETRY_MAX_MS) * NS_PER_MS;
}

/* True: the log is to say so; as long as it lasts, once. */
static bool note_trouble(struct planner *p, enum nomination_reply r, const char *detail)
{
    const char *text = r == NOMINATION_FORBIDDEN ? TEXT_FORBIDDEN
                       : r == NOMINATION_REFUSED ? TEXT_REFUSED
                                                 : "the API server gives no usable answer to nominations";
    const bool say = is_trouble(r) && !p->told;

    if (r == NOMINATION_DONE) {
        p->told = false;
        p->status.trouble[0] = '\0';
    } else if (is_trouble(r)) {
        p->told = true;
        snprintf(p->status.trouble, sizeof(p->status.trouble), "%s%s%.80s", text, detail[0] != '\0' ? ": " : "",
                 detail);
    }
    return say;
}

void planner_sent(struct planner *p, struct planner_call *c, const struct nomination_answer *a, const char *detail)
{
    const int64_t now_ns = clock_mono_ns(p->options.clock);
    char trouble[PLANNER_TROUBLE_MAX];
    struct planned_pod *w;
    uint32_t lead;
    bool say;

    /* Where the pod has changed, the scheduler most likely took it before, and filter has promised it a node. */
    if (!c->withdraws && a->reply != NOMINATION_DONE && a->reply != NOMINATION_FAILED &&
        a->reply != NOMINATION_CHANGED) {
        p->options.promise(p->options.ctx, c->seen->pod, STR_NULL);
    }
    mutex_lock(&p->lock);
    p->in_flight_n--;
    w = planner_find(p, c->patch.pod_uid);
    if (w != NULL) {
        w->busy = false;
        w->landed_ns = now_ns;
    }
    if (a->reply != NOMINATION_DONE) {
        p->status.failed_n[a->reply]++;
    } else {
        p->patch_ns = p->patch_ns == 0 ? now_ns - c->sent_ns : p->patch_ns + (now_ns - c->sent_ns - p->patch_ns) / 8;
    }
    if (c->withdraws) {
        withdrawn(p, w, a, now_ns);
    } else {
        nominated(p, w, a, now_ns);
    }
    say = note_trouble(p, a->reply, detail) && !p->stopping;
    memcpy(trouble, p->status.trouble, sizeof(trouble));
    planner_note_news(p);
    planner_seen_put(c->seen);
    lead = planner_lead(p, now_ns);
    mutex_unlock(&p->lock);
    LOG_V(p->options.log, 5, c->withdraws ? "Withdrew a nomination" : "Nominated",
          LOG_STR("namespace", c->patch.namespace_), LOG_STR("pod", c->patch.pod_name),
          LOG_STR("node", c->patch.node_name), LOG_I64("ms", (now_ns - c->sent_ns) / NS_PER_MS),
          LOG_CSTR("reply", nomination_reply_name(a->reply)), LOG_I64("lead", lead));
    free(c->text);
    free(c);
    if (say) {
        LOG_WARNING(p->options.log, "Cannot plan ahead; pods are scheduled as without", LOG_CSTR("err", trouble));
    }
}

/* ---- what is shown ---- */

void planner_read(struct planner *p, struct planner_status *ret)
{
    *ret = (struct planner_status){0};
    if (p == NULL) {
        return;
    }
    mutex_lock(&p->lock);
    *ret = p->status;
    ret->enabled = p->enabled;
    ret->waiting_n = p->pod_n;
    ret->outstanding_n = p->outstanding_n;
    ret->lead_n = planner_lead(p, clock_mono_ns(p->options.clock));
    ret->patch_us = (int32_t)(p->patch_ns / 1000 < INT32_MAX ? p->patch_ns / 1000 : INT32_MAX);
    ret->hits_permille = p->hits_permille;
    mutex_unlock(&p->lock);
}
