#include "extender/run_keeper.h"

#include "base/bug.h"
#include "base/rng.h"
#include "base/sync.h"
#include "kube/transport.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    EXCHANGE_MS_MIN = 50,
    EXCHANGE_MS_MAX = 2000,
    PAUSE_MS_MIN = 50,
    PAUSE_MS_MAX = 1000,
    BODY_BYTES_MAX = 4096,
};

/* One call at a time of each kind. */
struct exchange {
    struct run_keeper *of;
    bool under_way;
    enum run_answer answer;
    struct run_object object; /* of ANSWER_OBJECT */
};

struct run_keeper {
    struct run_keeper_options o;
    struct run_claim claim; /* of the thread; after run_keeper_stop() of whoever calls */
    char wake[RUN_REVISION_BYTES];
    struct thread thread;
    bool joined;

    struct mutex lock; /* of the rest */
    struct condvar changed;
    bool stopping;
    struct exchange run, wake_read;
};

/* ---- exchanges ---- */

static enum run_answer classify(const struct kube_response *response, struct run_object *ret)
{
    if (response->outcome.kind != KUBE_ANSWERED) {
        return RUN_ANSWER_LOST;
    }
    switch (response->outcome.http_status) {
    case 200:
        return run_object_read(response->body, ret, NULL) == 0 ? RUN_ANSWER_OBJECT : RUN_ANSWER_LOST;
    case 404:
        return RUN_ANSWER_MISSING;
    case 401:
    case 403:
    case 405:
    case 422:
        return RUN_ANSWER_FORBIDDEN;
    case 409:
        return RUN_ANSWER_CONFLICT;
    default:
        return RUN_ANSWER_LOST;
    }
}

static void answered(void *ctx, const struct kube_response *response)
{
    struct exchange *x = ctx;
    struct run_object object = {.state = RUN_ILLEGIBLE};
    const enum run_answer answer = classify(response, &object);

    mutex_lock(&x->of->lock);
    x->answer = answer;
    x->object = object;
    x->under_way = false;
    condvar_broadcast(&x->of->changed);
    mutex_unlock(&x->of->lock);
}

static void submit(struct run_keeper *k, struct exchange *x, const struct kube_request *request)
{
    mutex_lock(&k->lock);
    BUG_ON(x->under_way);
    x->under_way = true;
    x->answer = RUN_ANSWER_LOST;
    mutex_unlock(&k->lock);
    if (kube_client_submit(k->o.client, request, answered, x, NULL) != 0) {
        mutex_lock(&k->lock);
        x->under_way = false;
        mutex_unlock(&k->lock);
    }
}

static void submit_get(struct run_keeper *k, struct exchange *x, void (*path_of)(struct str, struct strbuf *),
                       struct str object, const char *resource, uint32_t deadline_ms)
{
    struct kube_request request = {.method = "GET", .deadline_ms = deadline_ms, .verb = "get", .resource = resource};
    struct strbuf path;

    strbuf_init(&path, RUN_OBJECT_PATH_MAX);
    path_of(object, &path);
    request.path = path.p;
    submit(k, x, &request);
    strbuf_fini(&path);
}

static void submit_patch(struct run_keeper *k, enum run_state state, uint32_t deadline_ms)
{
    struct kube_request request = {.method = "PATCH",
                                   .content_type = "application/merge-patch+json",
                                   .deadline_ms = deadline_ms,
                                   .verb = "patch",
                                   .resource = "configmaps"};
    struct strbuf path, body;

    strbuf_init(&path, RUN_OBJECT_PATH_MAX);
    strbuf_init(&body, BODY_BYTES_MAX);
    run_object_path(k->o.run_object, &path);
    run_object_patch(&k->claim.seen, state, k->claim.process, k->wake, k->o.version, clock_wall_ms(k->o.clock), &body);
    request.path = path.p;
    request.body = strbuf_view(&body);
    submit(k, &k->run, &request);
    strbuf_fini(&path);
    strbuf_fini(&body);
}

/* False: we are stopping, and the answers may still come. */
static bool wait_for_answers(struct run_keeper *k)
{
    bool complete;

    mutex_lock(&k->lock);
    while ((k->run.under_way || k->wake_read.under_way) && !k->stopping) {
        condvar_wait(&k->changed, &k->lock);
    }
    complete = !k->run.under_way && !k->wake_read.under_way;
    mutex_unlock(&k->lock);
    return complete;
}

static void read_wake(struct run_keeper *k)
{
    if (k->wake_read.answer == RUN_ANSWER_OBJECT) {
        snprintf(k->wake, sizeof(k->wake), "%s", k->wake_read.object.revision);
    }
}

/* One GET of each, at once. */
static bool ask(struct run_keeper *k, uint32_t deadline_ms)
{
    if (k->o.wake_object.n > 0 && k->wake[0] == '\0') {
        submit_get(k, &k->wake_read, wake_object_path, k->o.wake_object, "csistoragecapacities", deadline_ms);
    }
    submit_get(k, &k->run, run_object_path, k->o.run_object, "configmaps", deadline_ms);
    if (!wait_for_answers(k)) {
        return false;
    }
    read_wake(k);
    return true;
}

/* ---- the thread ---- */

struct progress {
    int64_t decide_at_ns, settle_at_ns;
    bool told;
    uint32_t lost_n;
};

static void tell(struct run_keeper *k, struct progress *p, bool settled)
{
    struct run_news news = {.settled = settled, .reason = k->claim.reason};

    /* Who was told that there is a hold-off has begun to list by that. */
    news.skips = !p->told && run_claim_is_skipped(&k->claim);
    if (!news.skips && (news.reason == RUN_HAS_ENDED || news.reason == RUN_NONE)) {
        news.reason = RUN_NOT_KNOWN;
    }
    p->told = true;
    k->o.tell(k->o.ctx, &news);
}

static uint32_t exchange_ms(const struct progress *p)
{
    const int64_t end_ns = p->told ? p->settle_at_ns : p->decide_at_ns;
    const int64_t left_ms = (end_ns - sync_in_ns(0)) / NS_PER_MS;

    return (uint32_t)(left_ms < EXCHANGE_MS_MIN   ? EXCHANGE_MS_MIN
                      : left_ms < EXCHANGE_MS_MAX ? left_ms
                                                  : EXCHANGE_MS_MAX);
}

static void pause_until(struct run_keeper *k, int64_t until_ns)
{
    bool in_time = true;

    mutex_lock(&k->lock);
    while (!k->stopping && in_time) {
        in_time = condvar_wait_until(&k->changed, &k->lock, until_ns);
    }
    mutex_unlock(&k->lock);
}

/* Longer each time, but not past what is due. */
static void pause_after_loss(struct run_keeper *k, struct progress *p)
{
    const int64_t pause_ms = (int64_t)PAUSE_MS_MIN << (p->lost_n < 5 ? p->lost_n : 5);
    const int64_t due_ns = p->told ? p->settle_at_ns : p->decide_at_ns;
    const int64_t until_ns = sync_in_ns((pause_ms < PAUSE_MS_MAX ? pause_ms : PAUSE_MS_MAX) * NS_PER_MS);

    p->lost_n++;
    pause_until(k, until_ns < due_ns ? until_ns : due_ns);
}

/* False: stopping. */
static bool make_step(struct run_keeper *k, struct progress *p)
{
    const bool asks = k->claim.step == RUN_ASK;
    enum run_answer answer;

    if (asks ? !ask(k, exchange_ms(p)) : (submit_patch(k, RUN_RUNNING, exchange_ms(p)), !wait_for_answers(k))) {
        return false;
    }
    answer = k->run.answer;
    if (asks) {
        run_claim_asked(&k->claim, answer, &k->run.object, k->wake);
    } else {
        run_claim_sent(&k->claim, answer, &k->run.object);
    }
    if (answer == RUN_ANSWER_LOST || answer == RUN_ANSWER_CONFLICT) {
        pause_after_loss(k, p);
    }
    return true;
}

static bool is_stopping(struct run_keeper *k)
{
    bool stopping;

    mutex_lock(&k->lock);
    stopping = k->stopping;
    mutex_unlock(&k->lock);
    return stopping;
}

static bool is_open(const struct run_keeper *k)
{
    return k->claim.step == RUN_ASK || k->claim.step == RUN_SEND;
}

static void *run_keeper_main(void *ctx)
{
    struct run_keeper *k = ctx;
    struct progress p = {.decide_at_ns = sync_in_ns(RUN_KEEPER_DECIDE_MS * NS_PER_MS),
                         .settle_at_ns = sync_in_ns(RUN_KEEPER_SETTLE_MS * NS_PER_MS)};

    while (is_open(k) && !is_stopping(k) && sync_in_ns(0) < p.settle_at_ns && make_step(k, &p)) {
        if (is_open(k) && !p.told && sync_in_ns(0) >= p.decide_at_ns) {
            tell(k, &p, false);
        }
    }
    if (!is_stopping(k)) {
        tell(k, &p, true);
    }
    return NULL;
}

/* ---- life ---- */

int run_keeper_start(const struct run_keeper_options *o, struct run_keeper **ret, struct err *reterr)
{
    struct run_keeper *k = xcalloc(1, sizeof(*k));
    char process[RUN_ID_BYTES];
    uint64_t random[2];
    int rc = rng_os_bytes(random, sizeof(random), reterr);

    if (rc != 0) {
        free(k);
        return rc;
    }
    k->o = *o;
    k->run.of = k;
    k->wake_read.of = k;
    snprintf(process, sizeof(process), "%016" PRIx64 "%016" PRIx64, random[0], random[1]);
    run_claim_init(&k->claim, process);
    mutex_init(&k->lock, "run keeper");
    condvar_init(&k->changed, "run keeper changed");
    rc = thread_start(&k->thread, "run-keeper", run_keeper_main, k, reterr);
    if (rc != 0) {
        condvar_destroy(&k->changed);
        mutex_destroy(&k->lock);
        free(k);
        return rc;
    }
    *ret = k;
    return 0;
}

void run_keeper_stop(struct run_keeper *k)
{
    if (k == NULL || k->joined) {
        return;
    }
    mutex_lock(&k->lock);
    k->stopping = true;
    condvar_broadcast(&k->changed);
    mutex_unlock(&k->lock);
    thread_join(&k->thread);
    k->joined = true;
}

void run_keeper_free(struct run_keeper *k)
{
    if (k == NULL) {
        return;
    }
    run_keeper_stop(k);
    BUG_ON(k->run.under_way || k->wake_read.under_way);
    condvar_destroy(&k->changed);
    mutex_destroy(&k->lock);
    free(k);
}

/* ---- the end ---- */

static bool says_ended(const struct run_keeper *k, const struct run_object *o)
{
    return o->state == RUN_ENDED && strcmp(o->process, k->claim.process) == 0;
}

static bool says_running(const struct run_keeper *k, const struct run_object *o)
{
    return o->state == RUN_RUNNING && strcmp(o->process, k->claim.process) == 0;
}

/* One PATCH, and a GET if that does not tell; true: nothing is left to try. */
static bool try_end(struct run_keeper *k, uint32_t deadline_ms, bool *ret_ended)
{
    submit_patch(k, RUN_ENDED, deadline_ms);
    (void)wait_for_answers(k);
    if (k->run.answer == RUN_ANSWER_OBJECT && says_ended(k, &k->run.object)) {
        *ret_ended = true;
        return true;
    }
    if (k->run.answer == RUN_ANSWER_MISSING || k->run.answer == RUN_ANSWER_FORBIDDEN) {
        return true;
    }
    submit_get(k, &k->run, run_object_path, k->o.run_object, "configmaps", deadline_ms);
    (void)wait_for_answers(k);
    if (k->run.answer != RUN_ANSWER_OBJECT) {
        return false; /* once more, on the same revision */
    }
    *ret_ended = says_ended(k, &k->run.object);
    if (!says_running(k, &k->run.object)) {
        return true; /* done, or another process has it */
    }
    k->claim.seen = k->run.object; /* still ours: somebody has changed something else in it, or nothing has landed */
    return false;
}

bool run_keeper_end(struct run_keeper *k, int64_t wait_ms)
{
    const int64_t end_ns = sync_in_ns(wait_ms * NS_PER_MS);
    bool ended = false;

    BUG_ON(!k->joined);
    if (k->claim.step != RUN_CLAIMED) {
        return false;
    }
    mutex_lock(&k->lock);
    k->stopping = false; /* the thread is gone; whoever waits now waits for the answers */
    mutex_unlock(&k->lock);
    k->wake[0] = '\0'; /* as it is now */
    if (k->o.wake_object.n > 0) {
        submit_get(k, &k->wake_read, wake_object_path, k->o.wake_object, "csistoragecapacities", (uint32_t)wait_ms / 4);
        (void)wait_for_answers(k);
        read_wake(k);
    }
    while (sync_in_ns(0) < end_ns && !try_end(k, (uint32_t)wait_ms / 4, &ended)) {
        pause_until(k, sync_in_ns(PAUSE_MS_MIN * NS_PER_MS));
    }
    if (ended) {
        LOG_INFO(k->o.log, "Wrote into the run object that fgpu has ended in order: the next start needs no hold-off",
                 LOG_CSTR("process", k->claim.process));
    } else {
        LOG_WARNING(k->o.log,
                    "Could not write into the run object that fgpu has ended in order: the next start waits for the "
                    "hold-off",
                    LOG_CSTR("process", k->claim.process));
    }
    return ended;
}
