#include "kube/events.h"

#include "base/arena.h"
#include "base/bug.h"
#include "base/rng.h"
#include "base/strbuf.h"
#include "base/sync.h"
#include "kube/event_machine.h"
#include "kube/transport.h"

#include <stdlib.h>

#define CALL_MS_MAX 10000
#define CALL_MS_MIN 50
#define TEXT_BYTES_MAX 16384

struct events {
    struct kube_client *client;
    const struct clock *clock;
    const struct log *log;
    struct events_options options;
    struct arena texts; /* of options */

    struct mutex lock;
    struct condvar wake;
    struct thread thread;
    bool stopping;
    bool silent;
    bool joined;
    int64_t deadline_ns;
    struct event_machine *machine;

    struct strbuf path, body;
    bool busy; /* a call is in flight; outlives the thread when the deadline comes first */
    struct event_answer answer;
    int http_status; /* of the answer; 0: none */
};

const char *event_outcome_name(enum event_outcome f)
{
    static const char *const names[EVENT_OUTCOME__MAX] = {
        [EVENT_POSTED] = "posted",       [EVENT_COUNTED] = "counted",       [EVENT_REPEATED] = "repeated",
        [EVENT_LIMITED] = "limited",     [EVENT_QUEUE_FULL] = "queue_full", [EVENT_SILENCED] = "silenced",
        [EVENT_FORBIDDEN] = "forbidden", [EVENT_REJECTED] = "rejected",     [EVENT_GAVE_UP] = "gave_up",
        [EVENT_NOWHERE] = "nowhere",
    };

    BUG_ON((unsigned)f >= EVENT_OUTCOME__MAX);
    return names[f];
}

/* ---- recording ---- */

void events_record(struct events *e, const struct event *event)
{
    struct event own = *event;
    enum event_outcome lost = EVENT_OUTCOME__MAX;

    if (e == NULL) {
        return;
    }
    if (own.regarding.kind == EVENT_OBJECT_SELF) {
        own.regarding = e->options.self;
    }
    mutex_lock(&e->lock);
    if (e->stopping || e->silent) {
        lost = EVENT_SILENCED;
    } else if (own.regarding.kind == EVENT_OBJECT_NONE) {
        lost = EVENT_NOWHERE;
    } else {
        event_machine_record(e->machine, &own, clock_mono_ns(e->clock), clock_wall_ms(e->clock));
        condvar_signal(&e->wake);
    }
    mutex_unlock(&e->lock);
    if (lost != EVENT_OUTCOME__MAX && e->options.observe != NULL) {
        e->options.observe(e->options.observe_ctx, own.reason, lost);
    }
}

void events_silence(struct events *e, bool silent)
{
    if (e != NULL) {
        mutex_lock(&e->lock);
        e->silent = silent;
        mutex_unlock(&e->lock);
    }
}

/* ---- the thread ---- */

static void answered(void *ctx, const struct kube_response *response)
{
    struct events *e = ctx;

    mutex_lock(&e->lock);
    e->busy = false;
    e->answer = event_classify(&response->outcome, response->body);
    e->http_status = response->outcome.http_status;
    condvar_signal(&e->wake);
    mutex_unlock(&e->lock);
}

static bool is_over(const struct events *e)
{
    return e->stopping && (clock_mono_ns(e->clock) >= e->deadline_ns || event_machine_is_idle(e->machine));
}

static void submit(struct events *e, enum event_call call)
{
    bool post = call == EVENT_CALL_POST;
    struct kube_request request = {
        .method = post ? "POST" : "PATCH",
        .path = e->path.p,
        .body = strbuf_view(&e->body),
        .content_type = post ? NULL : EVENT_PATCH_TYPE,
        .deadline_ms = CALL_MS_MAX,
        .verb = post ? "create" : "patch",
        .resource = "events",
    };

    if (e->stopping) {
        int64_t left_ms = (e->deadline_ns - clock_mono_ns(e->clock)) / NS_PER_MS;

        request.deadline_ms = (uint32_t)(left_ms > CALL_MS_MIN ? left_ms : CALL_MS_MIN);
    }
    e->answer = (struct event_answer){.reply = EVENT_REPLY_RETRY};
    e->http_status = 0;
    e->busy = kube_client_submit(e->client, &request, answered, e, NULL) == 0;
}

static void notify_events(const struct events *e, enum event_news news)
{
    switch (news) {
    case EVENT_NEWS_FORBIDDEN:
        LOG_WARNING(e->log, "The API server forbids events; going on without them. Grant create and patch on "
                            "events in events.k8s.io, as the manifests do");
        break;
    case EVENT_NEWS_ALLOWED:
        LOG_INFO(e->log, "The API server accepts events again");
        break;
    case EVENT_NEWS_REJECTED:
        LOG_WARNING(e->log, "The API server rejects an event; further ones are only counted",
                    LOG_I64("status", e->http_status), LOG_STR("path", strbuf_view(&e->path)));
        break;
    case EVENT_NEWS_NONE:
        break;
    }
}

static void *post_main(void *arg)
{
    struct events *e = arg;

    mutex_lock(&e->lock);
    while (!is_over(e)) {
        int64_t wake_ns;
        enum event_call call = event_machine_next(e->machine, clock_mono_ns(e->clock), &e->path, &e->body, &wake_ns);

        if (call == EVENT_CALL_NONE) {
            if (!is_over(e)) {
                (void)condvar_wait_until(&e->wake, &e->lock,
                                         e->stopping && e->deadline_ns < wake_ns ? e->deadline_ns : wake_ns);
            }
            continue;
        }
        submit(e, call);
        while (e->busy && !(e->stopping && clock_mono_ns(e->clock) >= e->deadline_ns)) {
            (void)condvar_wait_until(&e->wake, &e->lock, e->stopping ? e->deadline_ns : INT64_MAX);
        }
        if (!e->busy) {
            notify_events(e, event_machine_replied(e->machine, &e->answer, clock_mono_ns(e->clock)));
        }
    }
    event_machine_abandon(e->machine);
    mutex_unlock(&e->lock);
    return NULL;
}

/* ---- start and stop ---- */

/* Texts that are too long for the arena become empty ones. */
static void copy_options(struct events *e, const struct events_options *o)
{
    struct event_object *self = &e->options.self;

    arena_init(&e->texts, TEXT_BYTES_MAX);
    e->options = *o;
    if (o->source.instance != NULL && o->source.instance[0] != '\0') {
        e->options.source.instance = arena_str(&e->texts, str_of(o->source.instance)).p;
    } else {
        e->options.source.instance = "fgpu";
    }
    self->namespace_ = arena_str(&e->texts, o->self.namespace_);
    self->name = arena_str(&e->texts, o->self.name);
    self->uid = arena_str(&e->texts, o->self.uid);
}

static void dispose(struct events *e)
{
    condvar_destroy(&e->wake);
    mutex_destroy(&e->lock);
    event_machine_free(e->machine);
    strbuf_fini(&e->path);
    strbuf_fini(&e->body);
    arena_fini(&e->texts);
    free(e);
}

int events_new(struct kube_client *client, const struct clock *clock, const struct log *log,
               const struct events_options *o, struct events **ret, struct err *reterr)
{
    struct event_machine_options machine = {.observe = o->observe, .observe_ctx = o->observe_ctx};
    struct events *e;
    int rc = rng_os_bytes(&machine.key, sizeof(machine.key), reterr);

    if (rc == 0) {
        rc = rng_os_bytes(&machine.seed, sizeof(machine.seed), reterr);
    }
    if (rc != 0) {
        return rc;
    }
    e = xcalloc(1, sizeof(*e));
    e->client = client;
    e->clock = clock;
    e->log = log;
    copy_options(e, o);
    strbuf_init(&e->path, EVENT_PATH_MAX);
    strbuf_init(&e->body, EVENT_BODY_MAX);
    machine.source = e->options.source;
    e->machine = event_machine_new(&machine);
    mutex_init(&e->lock, "events");
    condvar_init(&e->wake, "events wake");
    rc = thread_start(&e->thread, "events", post_main, e, reterr);
    if (rc != 0) {
        dispose(e);
        return rc;
    }
    *ret = e;
    return 0;
}

void events_stop(struct events *e, int64_t deadline_ms)
{
    if (e == NULL || e->joined) {
        return;
    }
    mutex_lock(&e->lock);
    e->stopping = true;
    e->deadline_ns = clock_mono_ns(e->clock) + deadline_ms * NS_PER_MS;
    event_machine_hurry(e->machine);
    condvar_signal(&e->wake);
    mutex_unlock(&e->lock);
    thread_join(&e->thread);
    e->joined = true;
}

void events_free(struct events *e)
{
    if (e == NULL) {
        return;
    }
    events_stop(e, 0);
    BUG_ON(e->busy); /* the client calls everything back before it has stopped */
    dispose(e);
}
